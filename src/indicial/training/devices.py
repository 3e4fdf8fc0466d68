"""`--device` → the device that a training runs on.

>>> best_device(None)          # the best there is
'cpu'

Too little memory → one sentence that says for what, and what to make smaller.

>>> with enough_memory("for a step of 64 x 128 tokens; make --batch-size smaller"):
...     loss.backward()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from indicial.program.messages import IndicialError


def best_device(said: str | None, processes: int = 1) -> str:
    """The device that was asked for, if it is there; else the best there is."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if said is None:
        if processes > 1:  # they cannot share the one GPU that mps is
            return "cuda" if there["cuda"] else "cpu"
        return next((name for name, is_there in there.items() if is_there), "cpu")
    kind, colon, number = said.partition(":")
    try:
        torch.device(said)
    except RuntimeError:
        kind = ""
    if kind not in ("cpu", *there):
        raise IndicialError(f"--device must be cpu, cuda, cuda:1 or mps, not {said}")
    if not there.get(kind, True):
        raise IndicialError(f"--device {said}: torch finds no such device here")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if colon and (kind == "cpu" or int(number) >= count):  # torch takes any number for the CPU
        counted = f"are {count}, from cuda:0 on" if count > 1 else f"is one {kind}"
        raise IndicialError(f"--device {said}: there {counted}; use --device {kind}")
    return said


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """While this lasts, an error of PyTorch or NumPy about memory is told in these words."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        # PyTorch's words for it differ from device to device.
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        raise IndicialError(f"there is no memory {what}") from error
