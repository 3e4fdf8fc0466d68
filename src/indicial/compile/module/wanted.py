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
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from indicial.compile.module.sizes import data_lengths, parameters, size_names
from indicial.compile.schedule.plan import Loop, Plan
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.explain.facts import tie
from indicial.program.rewrite import tensors_read
from indicial.program.sizes import Size, Strided

T = TypeVar("T")


def outcomes(code: ir.Code, plan: Plan) -> tuple[str, ...]:
    """The tensors that no other equation goes on with, in the order of the text; the loss is one.

    In a loop it is those that are carried from one step to the next. What is inside a function or a
    cell (`CELL.R`) is not shown.
    """
    found: set[str] = {code.loss} if code.loss is not None else set()
    for step in plan.steps:
        targets = {s.target for s in step.statements()}
        others = [s for s in code.statements if s.target not in targets]
        if not targets & tensors_read(others):
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
    sizes = {name: value for name, value in code.sizes.items() if name not in ties}
    names = {name: Size.of(letter) for name, letter in ties.items()}
    return replace(_renamed(replace(code, tests=()), names), sizes=sizes)


def _bases(tensor: ir.Tensor) -> set[str]:
    """The sizes that its layers halve."""
    sizes: Iterable[Size] = (s for axis in tensor.axes for s in axis.range)
    return {atom.base for size in sizes for atom in size.atoms if isinstance(atom, Strided)}


def _renamed(value: T, names: Mapping[str, Size]) -> T:
    """A program, or a part of one, with other sizes in the place of some."""
    made: Any = value
    if isinstance(value, Size):
        made = value.substitute(names)
    elif isinstance(value, tuple):
        made = tuple([_renamed(part, names) for part in value])
    elif isinstance(value, dict):
        made = {key: _renamed(part, names) for key, part in value.items()}
    elif is_dataclass(value) and not isinstance(value, type | Span):
        own = [field.name for field in fields(value) if field.init]
        made = replace(value, **{name: _renamed(getattr(value, name), names) for name in own})
    return made  # type: ignore[no-any-return]
