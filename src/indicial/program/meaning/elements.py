"""What the machine asks for: elements that need each other, and elements of arrays at places.

Things that need each other, each computed once, when it is needed, and in the right order.

    compute(("h", (2, 0)))  →  asks for ("h", (1, 0)), which is not known: it is noted, and the
                               attempt is given up; ("h", (1, 0)) first, then ("h", (2, 0)) again

Nothing recurses: what waits stands on a list, so a recurrence of any length is no matter.

Sizes, ranges and places of one example, as numbers.

size(2 J + 1)                 513                      where J is 256
place(ℓ+1, {"ℓ": 2})          3
solve(ℓ+1, 3, env)            env["ℓ"] = 2             the other way round
inside("h", (2, 0))           whether h has such an element
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from indicial.program.ir import Affine, Axis, Code, Flat, Index
from indicial.program.meaning.arrays import BATCH, Given, InterpretError
from indicial.program.rewrite import size_indices
from indicial.program.sizes import Size

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


Environment = dict[str, int]
"""The values of indices."""


class Indexing:
    """The sizes of one example, and all that follows from them.

    What does not depend on indices is found once and kept by identity, which is faster than by
    value; what is kept with it keeps the identity alive.
    """

    def __init__(self, code: Code, given: Given) -> None:
        self.code = code
        self.sizes = given.sizes
        self.lengths = given.lengths  # by the value of a written batch index
        self.fixed: dict[int, tuple[Size, int]] = {}
        self.ranges: dict[int, tuple[Index | Axis, range]] = {}
        self.first: dict[str, tuple[int, ...]] = {}
        self.boxes: dict[str, list[range] | None] = {}

    # ---- sizes and ranges ----

    def size(self, size: Size, env: Environment) -> int:
        found = self.fixed.get(id(size))
        if found is not None:
            return found[1]
        names = size.names
        sizes = self.sizes
        if self.lengths and BATCH in env:
            own = {
                n: of[env[BATCH]] for n, of in self.lengths.items() if env[BATCH] in range(len(of))
            }
            sizes = {**sizes, **own}
        if not names <= sizes.keys():
            unknown = ", ".join(sorted(names - sizes.keys()))
            raise InterpretError(f"the size {unknown} does not follow from what was given")
        try:
            value = size.value(sizes, env)
        except ValueError as error:
            raise InterpretError(str(error)) from None
        except KeyError as error:
            raise InterpretError(f"{size} needs {error.args[0]}, which is not given") from None
        if not self.varies(size):
            self.fixed[id(size)] = (size, value)
        return value

    def varies(self, size: Size) -> bool:
        """Whether a size depends on the values of indices."""
        return bool(size_indices(size)) or not size.names.isdisjoint(self.lengths)

    def range(self, index: Index | Axis, env: Environment) -> range:
        found = self.ranges.get(id(index))
        if found is not None:
            return found[1]
        lower = self.size(index.lower, env)
        values = range(lower, lower + self.size(index.extent, env))
        if not self.varies(index.lower) and not self.varies(index.extent):
            self.ranges[id(index)] = (index, values)
        return values

    def domain(self, indices: tuple[Index, ...], env: Environment) -> Iterator[None]:
        """Bind the indices in `env` to all their values in turn, the last one fastest."""
        if not indices:
            yield
            return
        first, *rest = indices
        for value in self.range(first, env):
            env[first.name] = value
            yield from self.domain(tuple(rest), env)

    # ---- places ----

    def place(self, place: Affine | Flat, env: Environment) -> int:
        if isinstance(place, Flat):
            value = 0
            for index in place.indices:
                values = self.range(index, env)
                value = value * len(values) + env[index.name] - values.start
            return value
        value = self.size(place.offset, env) if place.offset.terms else 0
        for name, factor in place.terms:
            value += factor * env[name]
        return value

    def solve(self, place: Affine | Flat, value: int, env: Environment) -> bool:
        """Let the place have this value, if it can: `ℓ+1` at 3 makes `ℓ` 2 in the environment."""
        if isinstance(place, Flat):
            for index in reversed(place.indices):
                values = self.range(index, env)
                if not values:
                    return False
                value, digit = divmod(value, len(values))
                if env.setdefault(index.name, values[digit]) != values[digit]:
                    return False
            return value == 0
        rest = value - self.size(place.offset, env)
        if not place.terms:
            return rest == 0
        ((name, factor),) = place.terms
        if rest % factor:
            return False
        return env.setdefault(name, rest // factor) == rest // factor

    def lowers(self, name: str) -> tuple[int, ...]:
        """Where each axis of a tensor begins."""
        if name not in self.first:
            axes = self.code.tensors[name].axes
            self.first[name] = tuple(self.size(axis.lower, {}) for axis in axes)
        return self.first[name]

    def inside(self, name: str, element: tuple[int, ...]) -> bool:
        axes = self.code.tensors[name].axes
        if name not in self.boxes:
            sizes = [size for axis in axes for size in (axis.lower, axis.extent)]
            same = not any(self.varies(size) for size in sizes)
            self.boxes[name] = [self.range(axis, {}) for axis in axes] if same else None
        box = self.boxes[name]
        if box is None:
            env = {axis.letter: value for axis, value in zip(axes, element, strict=True)}
            box = [self.range(axis, env) for axis in axes]
        return all(map(range.__contains__, box, element))
