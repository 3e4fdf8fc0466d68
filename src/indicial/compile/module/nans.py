"""Where a nan comes from: the first equation, in the order of computing, whose value is not finite.

    cell.eq:3:1: error: R[4,17] of example 2 is nan, and all before it is finite [not-finite]
       3 | R[t,j] = ln(W[j,I] h[t-1,I])
         | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ t = 4, j = 17

In a loop an earlier step comes first, within a step the equations in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from indicial.compile.module.checks import inside
from indicial.compile.schedule.plan import Loop, Plan, Run, Step
from indicial.program.ir import Affine, Code, Statement
from indicial.program.messages import IndicialError, Message

Values = Mapping[str, torch.Tensor]
Order = tuple[int, ...]
"""When an element is computed: the number of the step, the value of its loop, the number in it, …"""


def check_given(code: Code, values: Values) -> None:
    """Raises if an input, a parameter or a draw is not finite."""
    for name, value in values.items():
        bad = ~torch.isfinite(value.detach())
        if bool(bad.any()):
            tensor = code.tensors[name]
            place = tuple(int(i) for i in bad.nonzero()[0])
            what = f"{float(value.detach()[place]):g}"
            text = f"the {tensor.role} {name} holds {what} at {list(place)}"
            raise IndicialError(Message("error", "not-finite", text, ((tensor.span, ""),)).render())


def check_found(
    code: Code,
    plan: Plan,
    values: Values,
    sizes: Mapping[str, int],
    ragged: Values,
    batched: bool,
) -> None:
    """Raises if what was computed is not finite: every defined tensor must be among the values."""
    finder = _Finder(code, values, sizes, ragged)
    found = list(finder.walk(plan.steps, (), ()))
    if found:
        _, statement, element = min(found, key=lambda item: item[0])
        raise IndicialError(finder.message(statement, element, batched).render())


class _Finder:
    def __init__(
        self, code: Code, values: Values, sizes: Mapping[str, int], ragged: Values
    ) -> None:
        self.code = code
        self.values = values
        self.sizes = sizes
        self.ragged = ragged

    def walk(
        self, steps: tuple[Step, ...], before: Order, loops: tuple[Loop, ...]
    ) -> Iterator[tuple[Order, Statement, tuple[int, ...]]]:
        for number, step in enumerate(steps):
            if isinstance(step, Loop):
                yield from self.walk(step.steps, (*before, number), (*loops, step))
            elif isinstance(step, Run):
                first = self.first(step.statement, loops)
                if first is not None:
                    times, element = first
                    path = [n for pair in zip(before, times, strict=True) for n in pair]
                    yield (*path, number), step.statement, element

    def first(
        self, statement: Statement, loops: tuple[Loop, ...]
    ) -> tuple[Order, tuple[int, ...]] | None:
        """The first element of a statement that is not finite, the example in front."""
        name = statement.target
        value = self.values[name]
        tensor = self.code.tensors[name]
        if value.dim() == len(tensor.axes):
            value = value.unsqueeze(0)
        bad = ~torch.isfinite(value)
        within = inside(tensor, value, self.ragged)
        if within is not None:
            bad = bad & within
        if not bool(bad.any()):
            return None
        rows = bad.nonzero()
        # A number has no axes, and a tensor of none is of no whole numbers by itself.
        rows[:, 1:] += rows.new_tensor([axis.lower.value(self.sizes) for axis in tensor.axes])
        rows = rows[self.defined(statement, rows)]
        times = []
        for loop in loops:
            steps = loop.direction * (rows[:, 1 + loop.axes[name]] + loop.offsets.get(name, 0))
            rows = rows[steps == steps.min()] if len(rows) else rows
            times += [int(steps.min())] if len(rows) else []
        return (tuple(times), tuple(rows[0].tolist())) if len(rows) else None

    def defined(self, statement: Statement, rows: torch.Tensor) -> torch.Tensor:
        """The elements that match this statement first, of all that define the tensor."""
        free = torch.ones(len(rows), dtype=torch.bool)
        for other in self.code.of(statement.target):
            matches = free.clone()
            for axis, place in enumerate(other.left):
                if isinstance(place, Affine) and not place.terms:
                    matches &= rows[:, 1 + axis] == place.offset.value(self.sizes)
            if other is statement:
                return matches
            free &= ~matches
        return free

    def message(self, statement: Statement, element: tuple[int, ...], batched: bool) -> Message:
        name = statement.target
        value = self.values[name]
        tensor = self.code.tensors[name]
        value = value if value.dim() > len(tensor.axes) else value.unsqueeze(0)
        example, place = element[0], element[1:]
        stored = [at - a.lower.value(self.sizes) for at, a in zip(place, tensor.axes, strict=True)]
        number = float(value[(example, *stored)])
        shown = f"{name}[{','.join(map(str, place))}]" if place else name
        where = f" of example {example}" if batched else ""
        text = f"{shown}{where} is {number:g}, and all before it is finite"
        at = ", ".join(
            f"{axis.letter} = {i}"
            for axis, i in zip(tensor.axes, place, strict=True)
            if axis.letter
        )
        return Message("error", "not-finite", text, ((statement.span, at),))
