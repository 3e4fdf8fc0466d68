"""Tensors whose shape is declared: inputs, parameters, constants with their literals.

input x[t,k]                x has the axes t and k
constant A = [[1, 2]]       A has two axes, of 1 and 2 elements
"""

from __future__ import annotations

from collections.abc import Iterable

from indicial.notation import syntax as s
from indicial.notation.literals import numbers
from indicial.notation.printers import name_key
from indicial.program.lowering.context import Variable
from indicial.program.lowering.lower import Lowering
from indicial.program.lowering.places import place
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import capital, index_name, is_capital
from indicial.program.names.naming import Reference
from indicial.program.sizes import Size


def declare(lowering: Lowering) -> None:
    """Tensors whose shape is declared."""
    outline, context = lowering.outline, lowering.context
    declared: list[tuple[Reference, s.Expression | None, str]] = [
        *((r, d, "input") for r, d in outline.inputs.values()),
        *((r, None, "parameter") for r in outline.parameters.values()),
        *((r, None, "constant") for r, _ in outline.constants.values()),
    ]
    vocabularies: dict[str, int] = {}
    for number, (reference, domain, role) in enumerate(declared):
        if reference.key in outline.defined and role == "input":
            continue  # an input that another file of the program defines
        scope = Scope(-1 - number)
        info = lowering.tensor(reference.key, len(reference.items), reference.span)
        info.role = role
        bind_items(lowering, reference.items, scope)
        for axis, item in enumerate(reference.items):
            placed = place(lowering, item, scope)
            lowering.meet(info, axis, placed, item.span)
            info.axes[axis].reads.append((placed.place, placed.variables))
            info.axes[axis].declared = True
            for variable, _ in placed.variables:
                context.classes.prefer(variable.size, capital(variable.family), 2)
        if isinstance(domain, s.Name):
            key = name_key(domain)
            if key not in vocabularies:
                vocabularies[key] = context.classes.new(key, domain.span, 1)
            info.values = vocabularies[key]
    for reference, value in outline.constants.values():
        info = context.tensors[reference.key]
        info.literal = literal_value(value)
        shape = literal_shape(info.literal)
        if info.literal is None or shape is None or len(shape) != len(info.axes):
            lowering.messages.error(
                "literal",
                f"the value of {reference.key} does not have {len(info.axes)} indices"
                if info.axes
                else f"the value of {reference.key} is not a number",
                (value.span, "this value"),
                (reference.span, f"{len(info.axes)} indices" if info.axes else "no index"),
                hint="write `constant λ = 0.1`, or `constant q[i] = [1, 1, 2]`",
            )
            continue
        for one, length in zip(info.axes, shape, strict=True):
            context.classes.bind(one.size, Size.of(length), value.span)


def literal_value(node: s.Expression) -> object:
    """A number, or nested tuples of numbers; None if it is neither."""
    try:
        return numbers(node)
    except TypeError:
        return None


def literal_shape(value: object) -> list[int] | None:
    """The lengths of nested tuples, outermost first; None if they are ragged."""
    if not isinstance(value, tuple):
        return []
    inner = [literal_shape(v) for v in value]
    if inner[0] is None or any(i != inner[0] for i in inner):
        return None
    return [len(value), *inner[0]]


def bind_items(lowering: Lowering, items: Iterable[s.Expression], scope: Scope) -> list[Variable]:
    """Binds the indices of a left side or a declaration."""
    made: list[Variable] = []
    for item in items:
        for name in item_letters(item):
            key = name_key(name)
            if key in scope.variables or key in lowering.outline.labels:
                continue
            variable = scope.bind(lowering.context, name)
            variable.free = True
            made.append(variable)
    return made


def item_letters(item: s.Expression) -> list[s.Name]:
    name = index_name(item)
    if name is not None:
        return [name]
    if isinstance(item, s.Group):
        return item_letters(item.body)
    if isinstance(item, s.TupleLiteral):
        return [n for part in item.items for n in item_letters(part)]
    if isinstance(item, s.Add | s.Product | s.Negative):
        names = [n for child in item.children() if isinstance(child, s.Expression)
                 for n in item_letters(child)]  # fmt: skip
        return [n for n in names if not is_capital(n.base)]
    return []
