"""Sums of which few terms are chosen, each choice one batch: what a sorted dispatch to experts does.

y[t,i] = Σ_e [e = a[t]] W[e,i,J] x[t,J]

the places t, sorted by the e that they chose; for each e one product of W[e] with all its x; the results back at
their places. `passes/choices.py` finds such sums, `rowwise` makes the program for one e.

A tracer, for which it is open how many places choose what, gets the sum over all e.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from indicial.compile.emit.doubling import Alone, unseen
from indicial.compile.emit.running import TensorMap, by_kernel, followed
from indicial.compile.passes.choices import Choice
from indicial.compile.passes.new_tensors import index_name
from indicial.compile.passes.scan import Scan, Unsupported, extract, rowwise, sizes_of
from indicial.compile.schedule.schedule import Call, Loop, Plan, Run, Step
from indicial.program.ir import Code, Reduce, index_at


@dataclass(frozen=True)
class Taken:
    """What a place has of an argument: its number, and the axes that a place fixes.

    `axes` has an axis for each index of a place, what is chosen last; -1 where the argument lacks it.
    """

    number: int
    axes: tuple[int, ...]
    members: bool
    """Whether it differs between the members of the batch, and has them in front."""

    @property
    def chosen_alone(self) -> bool:
        return not self.members and set(self.axes[:-1]) <= {-1} and self.axes[-1] >= 0

    @property
    def shared(self) -> bool:
        return not self.members and set(self.axes) <= {-1}


@dataclass(frozen=True)
class Dispatch:
    """What the emitted text calls, with sizes in the order of `names`."""

    names: tuple[str, ...]
    whole: Alone
    """The sum over all choices."""
    rows: Alone
    """What is summed, for one choice."""
    taken: tuple[Taken, ...]
    mask: int
    """The number of the argument that says what is chosen; what is chosen is its last axis."""
    kept: tuple[int, ...]
    """Which indices of a place the result has, in front."""

    def __call__(
        self, arguments: Sequence[Tensor], sizes: Sequence[int], lengths: TensorMap
    ) -> list[Tensor]:
        by_name = dict(zip(self.names, sizes, strict=True))
        chosen = arguments[self.mask]
        if chosen.numel() == 0 or any(map(unseen, arguments)) or followed(*arguments):
            return self.whole.run(arguments, by_name, lengths)
        places = _Places(chosen)
        if not any(places.counts):
            return self.whole.run(arguments, by_name, lengths)
        given = [places.given(arguments[t.number], t) for t in self.taken]
        result = by_kernel("experts", self.rows, given, places.counts, by_name)
        if result is None:
            parts = [places.parts(x, t) for x, t in zip(given, self.taken, strict=True)]
            run = self.rows.of_sizes(by_name)
            chosen_by = [e for e, count in enumerate(places.counts) if count]
            result = torch.cat([run([part[e] for part in parts])[0] for e in chosen_by])
        return [places.back(result, self.kept)]


class _Places:
    """The places that chose something, sorted by what they chose."""

    def __init__(self, chosen: Tensor) -> None:
        found = chosen.movedim(-1, 0).flatten(1) != 0
        self.shape = found.shape[:1] + chosen.shape[:-1]  # what is chosen, members, places
        self.found = found
        self.pair = found.flatten().nonzero().squeeze(1)
        """Choice and place, as one number."""
        choices, count = found.shape
        ends = torch.arange(choices + 1, device=found.device) * count
        begins = torch.searchsorted(self.pair, ends).tolist()
        self.counts = [end - begin for begin, end in pairwise(begins)]
        self.place = self.pair % count
        self.each, rest = divmod(len(self.place), count)
        self.inverse = None if rest or not self.each else self.turned()

    def turned(self) -> Tensor | None:
        """Where each place finds what it chose, the first, the second, …, if all chose equally many."""
        at, count = self.place, self.found.shape[1]
        if self.each > 1:
            ranks = self.found.cumsum(0, dtype=torch.int32) - 1
            at = at + count * ranks.flatten().index_select(0, self.pair)
        numbers = torch.arange(len(at), device=at.device)
        if self.each > 1 and int(at.max()) >= len(at):
            return None
        inverse = torch.full_like(at, -1).scatter_(0, at, numbers)
        return None if int(inverse.min()) < 0 else inverse

    def at(self, axes: Sequence[int]) -> Tensor:
        """Where each place is among some of its axes: those of `shape` but the first, 0 the members."""
        extents = self.shape[1:]
        if list(axes) == list(range(len(extents))):
            return self.place
        found = torch.zeros_like(self.place)
        for axis in axes:
            coordinate = self.place // math.prod(extents[axis + 1 :]) % extents[axis]
            found = found * extents[axis] + coordinate
        return found

    def given(self, argument: Tensor, taken: Taken) -> Tensor:
        """What the places have of an argument: its choices in front, or all of it, or a row for each."""
        if taken.chosen_alone:
            return argument.movedim(taken.axes[-1], 0)
        return argument if taken.shared else self.rows(argument, taken)

    def parts(self, given: Tensor, taken: Taken) -> Sequence[Tensor]:
        """The same apart for each choice."""
        if taken.chosen_alone:
            return given.unbind()
        return [given] * len(self.counts) if taken.shared else torch.split(given, self.counts)

    def rows(self, argument: Tensor, taken: Taken) -> Tensor:
        """The same, one after the other."""
        *before, chosen = [axis if axis < 0 else axis + taken.members for axis in taken.axes]
        axes = [0] * taken.members + [1 + n for n, axis in enumerate(before) if axis >= 0]
        front = [0] * taken.members + [axis for axis in before if axis >= 0]
        index = self.at(axes)
        if chosen >= 0:
            front = [chosen, *front]
            count = math.prod(self.shape[1 + axis] for axis in axes)
            own = index is self.place
            index = self.pair if own else self.pair // self.found.shape[1] * count + index
        back = [n for n in range(argument.dim()) if n not in front]
        moved = argument.permute(*front, *back).flatten(0, len(front) - 1)
        if index is self.place and self.inverse is not None:
            return self.moved(moved, False)
        return moved.index_select(0, index)

    def back(self, results: Tensor, kept: Sequence[int]) -> Tensor:
        """Results at their places, added up where several are of one."""
        axes = [0, *(1 + n for n in kept)]
        extents = [self.shape[1 + axis] for axis in axes]
        index = self.at(axes)
        if index is self.place and self.inverse is not None:
            whole = self.moved(results, True)
        else:
            whole = results.new_zeros(math.prod(extents), *results.shape[1:])
            whole = whole.index_add(0, index, results)
        return whole.reshape(*extents, *results.shape[1:])

    def moved(self, x: Tensor, back: bool) -> Tensor:
        found: Tensor = _Moved.apply(x, self.place, self.inverse, self.each, back)  # type: ignore[no-untyped-call]
        return found


class _Moved(torch.autograd.Function):
    """Rows taken at places, or added up back at these; each is the gradient of the other.

    Where all places are met equally often both are copies of rows, which is quicker than adding up.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, places: Tensor, inverse: Tensor, each: int, back: bool
    ) -> Tensor:
        ctx.save_for_backward(places, inverse)
        ctx.each, ctx.back = each, back
        if not back:
            return x.index_select(0, places)
        found = x.index_select(0, inverse)
        return found if each == 1 else found.view(each, -1, *x.shape[1:]).sum(0)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        moved = _Moved.apply(slope, *ctx.saved_tensors, ctx.each, not ctx.back)  # type: ignore[no-untyped-call]
        return moved, None, None, None, None


def with_dispatch(
    code: Code,
    plan: Plan,
    choices: Sequence[Choice],
    ragged: Collection[str] = (),
) -> Plan:
    """The plan with a call in the place of every sum that was taken apart."""
    by_total = {choice.total: choice for choice in choices}

    def handed(steps: Sequence[Step], around: tuple[Loop, ...]) -> Iterator[Step]:
        targets = {step.statement.target for step in steps if isinstance(step, Run)}
        calls = {
            name: call
            for name, choice in by_total.items()
            if name in targets and choice.members <= targets
            if (call := _call(code, around, steps, choice, ragged)) is not None
        }
        gone = {member for name in calls for member in by_total[name].members}
        for step in steps:
            if isinstance(step, Loop):
                yield replace(step, steps=tuple(handed(step.steps, (*around, step))))
            elif isinstance(step, Run) and step.statement.target in calls:
                yield calls[step.statement.target]
            elif not isinstance(step, Run) or step.statement.target not in gone:
                yield step

    return Plan(tuple(handed(plan.steps, ()))) if choices else plan


def _call(
    code: Code,
    around: tuple[Loop, ...],
    steps: Sequence[Step],
    choice: Choice,
    ragged: Collection[str],
) -> Call | None:
    own = {*choice.members, choice.total}
    inside = tuple(s for s in steps if isinstance(s, Run) and s.statement.target in own)
    (total,) = (s.statement for s in inside if s.statement.target == choice.total)
    assert isinstance(total.body, Reduce)
    chosen = total.body.indices[0]
    loop = Loop(
        chosen.name, index_name(chosen), "chosen", 1, chosen.lower, chosen.extent, {}, inside
    )
    try:
        scan = extract(code, around, loop, (), ragged)
        function = _dispatch(scan, choice)
    except Unsupported:
        return None
    return scan.call(loop, scan.outputs([choice.total]), function.names, function)


def _dispatch(scan: Scan, choice: Choice) -> Dispatch:
    names: Mapping[str, str] = {piece.tensor: name for name, piece in scan.results.items()}
    total, members = names[choice.total], {names[member] for member in choice.members}
    differing = {n for n, t in scan.code.tensors.items() if t.role == "input"}
    found = rowwise(scan.code, total, members, differing)
    numbers = {name: number for number, name in enumerate(scan.arguments)}
    place = [index_at(p) or "" for p in found.mask.places]
    taken = tuple(
        Taken(
            numbers[piece.tensor],
            tuple(piece.fixed.index(name) if name in piece.fixed else -1 for name in place),
            piece.tensor in differing,
        )
        for piece in found.arguments.values()
    )
    same = {n for n in found.arguments if found.code.tensors[n].role == "parameter"}
    return Dispatch(
        sizes_of(scan.code),
        Alone(scan.code, tuple(scan.arguments), (total,), scan.unbatched),
        Alone(found.code, tuple(found.arguments), (found.output,), same),
        taken,
        numbers[found.mask.tensor],
        tuple(place.index(name) for name in found.kept),
    )
