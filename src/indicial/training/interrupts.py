"""Ctrl-C, SIGTERM, a closed terminal while a model is trained: the first asks, a second Ctrl-C ends.

>>> with Interrupts() as interrupts:
...     while not interrupts.asked:
...         step()

Only the main thread can listen; elsewhere nothing is ever asked.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupts:
    """Whether somebody wants the training to end."""

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._heard) for one in _heeded()}
        return self

    def __exit__(self, *_: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = signal.Signals(number)


def _heeded() -> list[signal.Signals]:
    """All of them; but `nohup` has a process ignore that its terminal was closed."""
    found = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        found.append(signal.SIGHUP)  # Windows has none
    return found
