"""Layers written out: with a known number of them, each is a tensor of its own.

L[ℓ+1,j] = L[ℓ,j] + F[ℓ+1,j],  y[j] = L[L,j]              L = 2

L@1[j] = L@0[j] + F@1[j],  L@2[j] = L@1[j] + F@2[j],  y[j] = L@2[j]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from indicial.compile.schedule.plan import Loop, Run, Step
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Affine, Code, Constant, Expression, Read, Statement, Tensor
from indicial.program.moving import specialised
from indicial.program.rewrite import size_indices, with_reads
from indicial.program.sizes import Size


class NotUnrolled(Exception):
    """Why the layers of a program cannot be written out."""


def unrolled(code: Code, want: Sequence[str], sizes: Mapping[str, int]) -> Code:
    """The statements in an order in which they run, without loops."""
    plan = schedule(code, want)
    return _Unrolling(code, list(plan.loops()), sizes).run(plan.steps)


class _Unrolling:
    def __init__(self, code: Code, loops: Sequence[Loop], sizes: Mapping[str, int]) -> None:
        self.code = code
        self.sizes = sizes
        self.axes: dict[str, int] = {}
        for loop in loops:
            for name, axis in loop.axes.items():
                if name in self.axes:
                    raise NotUnrolled(f"{name} is walked along twice")
                if axis:
                    raise NotUnrolled(f"the layers of {name} are not its first index")
                self.axes[name] = axis
        self.tensors = {n: t for n, t in code.tensors.items() if n not in self.axes}
        self.made: list[Statement] = []

    def run(self, steps: Sequence[Step]) -> Code:
        for statement in self.statements(steps):
            self.made.append(self.flat(statement))
        return replace(self.code, tensors=self.tensors, statements=tuple(self.made))

    def statements(self, steps: Sequence[Step]) -> Iterator[Statement]:
        """Every statement at every value of the loop around it."""
        for step in steps:
            if isinstance(step, Run):
                yield step.statement
            elif isinstance(step, Loop):
                first = step.lower.value(self.sizes)
                values = range(first, first + step.extent.value(self.sizes))
                for value in values[:: step.direction]:
                    for inner in step.steps:
                        if not isinstance(inner, Run):
                            raise NotUnrolled("there is a loop inside a loop")
                        found = self.at(step, inner.statement, value)
                        if found is not None:
                            yield found

    def at(self, loop: Loop, statement: Statement, value: int) -> Statement | None:
        """The statement at one value of the loop's variable; None where it sits out."""
        found = loop.fixed(statement)
        if found is None:
            at = loop.at(statement)
            assert at is not None
            return statement if at.value(self.sizes) == value else None
        name, place = found
        own = value + place.offset.value(self.sizes)
        index = next(i for i in statement.indices if i.name == name)
        first = index.lower.value(self.sizes)
        if not first <= own < first + index.extent.value(self.sizes):
            return None
        return specialised(statement, {name: Affine((), Size.of(own))})

    def flat(self, statement: Statement) -> Statement:
        """The statement with each layer under its own name."""
        result = statement.rebuild(partial(with_reads, change=self.at_layer))
        if statement.target not in self.axes:
            return result
        axis = self.axes[statement.target]
        name = self.layer(statement.target, statement.left[axis])
        left = tuple(p for n, p in enumerate(statement.left) if n != axis)
        return replace(result, target=name, left=left)

    def at_layer(self, node: Read) -> Expression:
        if node.tensor not in self.axes:
            return Constant(0.0, span=node.span) if self.outside(node) else node
        axis = self.axes[node.tensor]
        name = self.layer(node.tensor, node.places[axis])
        places = tuple(p for n, p in enumerate(node.places) if n != axis)
        return replace(node, tensor=name, places=places)

    def outside(self, read: Read) -> bool:
        """Whether a layer is read that there is not: the `W[L]` of a W with L layers, which is 0."""
        tensor = self.code.tensors[read.tensor]
        if self.code.of(read.tensor) or tensor.values is not None:
            return False
        for place, axis in zip(read.places, tensor.axes, strict=True):
            if isinstance(place, Affine) and not place.terms:
                ends = (place.offset, axis.lower, axis.lower + axis.extent)
                if all(end.names <= self.sizes.keys() for end in ends):
                    at, low, high = (end.value(self.sizes) for end in ends)
                    if not low <= at < high:
                        return True
        return False

    def layer(self, tensor: str, place: object) -> str:
        """The name of one layer of a tensor."""
        if not isinstance(place, Affine) or place.terms:
            raise NotUnrolled(f"{tensor} is read at all its layers")
        number = place.offset.value(self.sizes)
        name = f"{tensor}@{number}"
        if name not in self.tensors:
            old = self.code.tensors[tensor]
            axes = tuple(a for n, a in enumerate(old.axes) if n != self.axes[tensor])
            if any(size_indices(a.extent) for a in axes):
                raise NotUnrolled(f"the layers of {tensor} have different sizes")
            self.tensors[name] = Tensor(name, axes, old.role, old.values, old.probability)
        return name
