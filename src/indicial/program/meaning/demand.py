"""Things that need each other, each computed once, when it is needed, and in the right order.

    compute(("h", (2, 0)))  →  asks for ("h", (1, 0)), which is not known: it is noted, and the
                               attempt is given up; ("h", (1, 0)) first, then ("h", (2, 0)) again

Nothing recurses: what waits stands on a list, so a recurrence of any length is no matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

Unit = tuple[str | int, tuple[int, ...]]
"""What is computed once: an element, `("h", (2, 0))`, or a reduction or softmax, by the id of the
node, at the values of its free indices."""


class _Pause(Exception):
    """What comes next depends on a value that is not yet known."""


class Demand(ABC):
    """Known units, and how those that are asked for become known."""

    def __init__(self) -> None:
        self.operations = 0
        self.known: dict[Unit, Any] = {}
        self.missing: dict[Unit, None] = {}

    @abstractmethod
    def compute(self, unit: Unit) -> Any:
        """The value of a unit, by way of `require`; worthless if anything was missing."""

    @abstractmethod
    def cycle(self, units: list[Unit]) -> Exception:
        """What to raise about units of which each needs the next, and the last the first."""

    def settle(self, attempt: Callable[[], float]) -> float:
        """What an attempt gives when everything that it asks for is known."""
        while True:
            self.missing, before = {}, self.operations
            with suppress(_Pause):
                result = attempt()
            if not self.missing:
                return result
            self.operations = before
            for unit in list(self.missing):
                self.demand(unit)

    def demand(self, wanted: Unit) -> None:
        """Compute a unit. Those that wait for others stay on the list below what they wait for."""
        waiting = [wanted]
        begun: dict[Unit, None] = {}
        while waiting:
            unit = waiting[-1]
            if unit in self.known:
                waiting.pop()
                continue
            self.missing, before = {}, self.operations
            with suppress(_Pause):
                result = self.compute(unit)
            if not self.missing:
                self.known[unit] = result
                begun.pop(unit, None)
                waiting.pop()
                continue
            self.operations = before  # this attempt had to guess, and is made again
            begun[unit] = None
            for need in self.missing:
                # All that has begun is a chain, each waiting for the next.
                if need in begun:
                    chain = list(begun)
                    raise self.cycle(chain[chain.index(need) :])
            waiting.extend(reversed(self.missing))

    def require(self, unit: Unit) -> Any:
        """A unit's value; one that is not known is noted, and gives None for now."""
        if unit in self.known:
            return self.known[unit]
        self.missing[unit] = None
        return None

    @contextmanager
    def decisive(self) -> Iterator[None]:
        """Around what decides where to go on: no guessing, it could lead to what nobody needs."""
        earlier, self.missing = self.missing, {}
        try:
            yield
        finally:
            here = self.missing
            self.missing = {**earlier, **here}
        if here:
            raise _Pause
