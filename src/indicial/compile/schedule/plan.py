"""The plan: statements in an order in which they can run, and the loops that have to be loops.

    h[ℓ+1,t,j] = … h[ℓ+1,t-1,i] … h[ℓ,t,i] …

    Loop(ℓ, stacked)            one layer after the other
      Loop(t, scanned)          one step after the other
        Run(R), Run(G), Run(h)  all their other indices at once

What a loop's variable means: at value `v` a tensor's element `v - offsets[tensor]` along
`axes[tensor]` is defined. A read of the loop's own tensors at an earlier value is its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from indicial.program.ir import Affine, Statement, index_at
from indicial.program.sizes import Size

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """One statement, for all values of its indices that no loop around it fixes."""

    statement: Statement

    def statements(self) -> Iterator[Statement]:
        yield self.statement


@dataclass(frozen=True)
class Loop:
    """`steps` for one value of `variable` after the other, backwards if `direction` is -1.

    `kind` is "stacked" where the axis is not an axis of an input (layers), else "scanned".
    `lower` and `extent` span the values of the variable for all statements inside; a statement
    whose own range is smaller sits out.
    """

    variable: str
    letter: str
    kind: str
    direction: int
    lower: Size
    extent: Size
    axes: dict[str, int]
    steps: tuple[Step, ...]
    offsets: dict[str, int] = field(default_factory=dict)

    def statements(self) -> Iterator[Statement]:
        for step in self.steps:
            yield from step.statements()

    def fixed(self, statement: Statement) -> tuple[str, Affine] | None:
        """Which index of a statement the loop fixes, and its value in terms of the variable.

        `("ℓ", v-1)` for `h[ℓ+1,t,j] = …`; None where the left side has a number at that axis,
        and the statement runs at one value only (`at`).
        """
        place = statement.left[self.axes[statement.target]]
        assert isinstance(place, Affine)
        if not place.terms:
            return None
        ((name, factor),) = place.terms
        assert factor == 1
        shift = -place.offset - self.offsets.get(statement.target, 0)
        return name, Affine(((self.variable, 1),), shift)

    def at(self, statement: Statement) -> Size | None:
        """The one value of the variable at which a statement with a number on its left runs."""
        place = statement.left[self.axes[statement.target]]
        assert isinstance(place, Affine)
        if place.terms:
            return None
        return place.offset + self.offsets.get(statement.target, 0)


@dataclass(frozen=True)
class Piece:
    """A tensor of the program with some axes fixed by the loops outside: `W[v-1, :, :]`."""

    tensor: str
    places: tuple[Affine | None, ...]

    def rest(self, of: Sequence[T]) -> tuple[T, ...]:
        """Of something for each axis, that for the axes that are not fixed."""
        return tuple(one for one, place in zip(of, self.places, strict=True) if place is None)

    @property
    def fixed(self) -> tuple[str | None, ...]:
        """The index that each axis is fixed at, where it is one alone."""
        return tuple(None if place is None else index_at(place) for place in self.places)


@dataclass(frozen=True)
class Call:
    """A loop that a function runs: from tensors to tensors, all steps at once.

    `function(arguments, sizes, lengths)` gives the results; `sizes` are in the order of `names`.
    `start(dtype, sizes, ragged)` says what it will be called with, so that it can make ready, and
    `expect(dtype, sizes, ragged, arguments)` the numbers of the arguments whose gradients are next.
    """

    loop: Loop
    arguments: tuple[Piece, ...]
    results: tuple[Piece, ...]
    names: tuple[str, ...]
    function: Callable[..., list[Any]]
    start: Callable[..., None] | None = None
    expect: Callable[..., None] | None = None

    def statements(self) -> Iterator[Statement]:
        yield from self.loop.statements()


Step = Run | Loop | Call
Around = tuple[Loop, ...]
"""Loops, the outermost first."""


@dataclass(frozen=True)
class Plan:
    """All statements of a program, each exactly once, in order."""

    steps: tuple[Step, ...]

    def rebuild(
        self,
        old: Sequence[Statement],
        new: Sequence[Sequence[Statement]],
        loop: Callable[[Loop], Loop] = lambda loop: loop,
        call: Callable[[Call], Call] = lambda call: call,
    ) -> Plan:
        """The plan with what became of each of the old statements; a loop that has none left goes."""
        became = dict(zip((s.number for s in old), new, strict=True))

        def rebuilt(steps: Sequence[Step]) -> Iterator[Step]:
            for step in steps:
                if isinstance(step, Run):
                    yield from map(Run, became[step.statement.number])
                elif isinstance(step, Call):
                    for inside in rebuilt((step.loop,)):
                        assert isinstance(inside, Loop)
                        yield call(replace(step, loop=inside))
                elif inner := tuple(rebuilt(step.steps)):
                    yield replace(loop(step), steps=inner)

        return Plan(tuple(rebuilt(self.steps)))

    def exchanged(self, change: Callable[[Step, Around], Step | None]) -> Plan:
        """Other steps in the place of some; a loop that is to stay as it is (None) is looked into."""

        def exchange(steps: Sequence[Step], around: Around) -> Iterator[Step]:
            for step in steps:
                other = change(step, around)
                if other is None and isinstance(step, Loop):
                    other = replace(step, steps=tuple(exchange(step.steps, (*around, step))))
                yield step if other is None else other

        return Plan(tuple(exchange(self.steps, ())))

    def walk(self) -> Iterator[tuple[Step, Around]]:
        """Every step with the loops around it, an outer one before those inside it."""

        def walk(steps: Sequence[Step], around: Around) -> Iterator[tuple[Step, Around]]:
            for step in steps:
                yield step, around
                if isinstance(step, Loop):
                    yield from walk(step.steps, (*around, step))

        return walk(self.steps, ())

    def statements(self) -> Iterator[Statement]:
        for step in self.steps:
            yield from step.statements()

    def loops(self) -> Iterator[Loop]:
        return (step for step, _ in self.walk() if isinstance(step, Loop))

    def calls(self) -> Iterator[Call]:
        """Every loop that a function runs."""
        return (step for step, _ in self.walk() if isinstance(step, Call))
