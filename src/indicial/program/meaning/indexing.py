"""Sizes, ranges and places of one example, as numbers.

size(2 J + 1)                 513                      where J is 256
place(ℓ+1, {"ℓ": 2})          3
solve(ℓ+1, 3, env)            env["ℓ"] = 2             the other way round
inside("h", (2, 0))           whether h has such an element
"""

from __future__ import annotations

from collections.abc import Iterator

from indicial.program.ir import Affine, Axis, Code, Flat, Index
from indicial.program.meaning.arrays import BATCH, Given, InterpretError
from indicial.program.rewrite import size_indices
from indicial.program.sizes import Size

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
        return all(value in values for value, values in zip(element, box, strict=True))
