"""What a module returns when nobody says what is wanted: what the program computes in the end.

ugrnn         h           R and G serve h only
lstm          c, h        both go on from step to step
transformer   loss        everything else is on the way to it

A length that is taken as one of the inputs', where nobody sets it, is that of the inputs.

    y[t] = Σ_{s ≤ t} a^(t-s) x[s]       the t of y has a size of its own, T_y: nothing ties it to x's

    one_length(code, given)             the same with T for T_y

So a text that ends earlier than others has fewer steps of y too, and y is computed step by step
along with x.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from indicial.compile.module.sizes import data_lengths, parameters, size_names
from indicial.compile.schedule.plan import Loop, Plan
from indicial.program import ir
from indicial.program.explain.facts import tie
from indicial.program.rewrite import rebuild
from indicial.program.sizes import Size, Strided


def outcomes(code: ir.Code, plan: Plan) -> tuple[str, ...]:
    """The tensors that no other equation goes on with, in the order of the text; the loss is one.

    In a loop it is those that are carried from one step to the next. What is inside a function or a
    cell (`CELL.R`) is not shown.
    """
    found: set[str] = {code.loss} if code.loss is not None else set()
    for step in plan.steps:
        targets = {s.target for s in step.statements()}
        others = [s for s in code.statements if s.target not in targets]
        if not targets & needed_names(others):
            found |= set(carried(step)) if isinstance(step, Loop) else targets
    order = dict.fromkeys(s.target for s in code.statements)
    shown = [name for name in order if name in found and "." not in name]
    return tuple(shown or [name for name in order if name in found] or order)


def carried(loop: Loop) -> Iterator[str]:
    """What is read at another step than the one that it is computed in: the `h[t-1,i]` of a cell."""
    targets = {s.target for s in loop.statements()}
    for statement in loop.statements():
        for read in statement.reads():
            if read.tensor in targets and not same_step(loop, statement, read):
                yield read.tensor
    for step in loop.steps:
        if isinstance(step, Loop):
            yield from carried(step)


def same_step(loop: Loop, reader: ir.Statement, read: ir.Read) -> bool:
    """Whether a statement of a loop reads what the same step computes, and not another."""
    fixed = loop.fixed(reader)
    place = read.places[loop.axes[read.tensor]]
    if fixed is None or not isinstance(place, ir.Affine) or place.shift is None:
        return False
    index, value = fixed
    name, shift = place.shift
    offset = loop.offsets.get(read.tensor, 0)
    return name == index and (value.offset + shift + offset).number == 0


def needed_names(statements: Iterable[ir.Statement]) -> set[str]:
    """The tensors that some statements read."""
    return {read.tensor for statement in statements for read in statement.reads()}


def one_length(code: ir.Code, given: Collection[str] = ()) -> ir.Code:
    """The lengths of inputs have one name each, but for those that are `given` a value of their own."""
    told = {a.extent.name for t in code.tensors.values() if t.role == "input" for a in t.axes}
    widths = {name for tensor in parameters(code) for name in size_names(tensor.axes)}
    lengths = {*data_lengths(code), *(told - widths)}
    ties = {
        name: letter
        for name, letter in tie(code).items()
        if letter in lengths and name not in {*told, *given} and code.sizes[name] is None
    }
    if not ties or any(ties.keys() & _bases(tensor) for tensor in code.tensors.values()):
        return code
    return _Renaming(ties).code(code)


def _bases(tensor: ir.Tensor) -> set[str]:
    """The sizes that its layers halve."""
    sizes: Iterable[Size] = (s for axis in tensor.axes for s in (axis.lower, axis.extent))
    return {atom.base for size in sizes for atom in size.atoms if isinstance(atom, Strided)}


class _Renaming:
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.sizes = {name: Size.of(other) for name, other in names.items()}

    def size(self, size: Size) -> Size:
        return size.substitute(self.sizes)

    def index(self, index: ir.Index) -> ir.Index:
        return ir.Index(index.name, self.size(index.lower), self.size(index.extent))

    def place(self, place: ir.Place) -> ir.Place:
        if isinstance(place, ir.Affine):
            return ir.Affine(place.terms, self.size(place.offset))
        if isinstance(place, ir.Flat):
            return ir.Flat(tuple(map(self.index, place.indices)))
        return place

    def expression(self, expression: ir.Expression) -> ir.Expression:
        return rebuild(expression, index=self.index, place=self.place, size=self.size)

    def left(self, places: Iterable[ir.Affine | ir.Flat]) -> tuple[ir.Affine | ir.Flat, ...]:
        moved = map(self.place, places)
        return tuple(place for place in moved if isinstance(place, ir.Affine | ir.Flat))

    def tensor(self, tensor: ir.Tensor) -> ir.Tensor:
        axes = tuple(
            replace(axis, lower=self.size(axis.lower), extent=self.size(axis.extent))
            for axis in tensor.axes
        )
        values = None if tensor.values is None else self.size(tensor.values)
        return replace(tensor, axes=axes, values=values)

    def statement(self, statement: ir.Statement) -> ir.Statement:
        guard = None if statement.guard is None else self.expression(statement.guard)
        return replace(
            statement,
            left=self.left(statement.left),
            indices=tuple(map(self.index, statement.indices)),
            body=self.expression(statement.body),
            guard=guard,
        )

    def code(self, code: ir.Code) -> ir.Code:
        """Without its tests, which are no part of what runs."""
        draws = tuple(
            replace(
                draw,
                arguments=tuple(map(self.expression, draw.arguments)),
                left=self.left(draw.left),
                indices=tuple(map(self.index, draw.indices)),
            )
            for draw in code.draws
        )
        return replace(
            code,
            tensors={name: self.tensor(tensor) for name, tensor in code.tensors.items()},
            statements=tuple(map(self.statement, code.statements)),
            sizes={name: value for name, value in code.sizes.items() if name not in self.names},
            draws=draws,
            tests=(),
        )
