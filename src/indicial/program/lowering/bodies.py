"""Right sides → raw statements; draws; the inputs that stacks read at their bottom.

h[t,j] = tanh(W[j,I] x[t,I])      a statement for h, with the indices t and j of its left side
h_{ℓ+1}[t,j] = … h_ℓ[t,j] …       and no h_0: an input h_0[t,j]
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.program import ir
from indicial.program.lowering.cases import guard
from indicial.program.lowering.context import AxisInfo, RawStatement, RawTest, TensorInfo, Variable
from indicial.program.lowering.declarations import bind_items, literal_shape, literal_value
from indicial.program.lowering.lower import Lowering
from indicial.program.lowering.places import place
from indicial.program.lowering.scope import Scope
from indicial.program.names.outline import Definition
from indicial.program.sizes import Size


def lower_body(lowering: Lowering, definition: Definition, scope: Scope, number: int) -> None:
    context = lowering.context
    info = context.tensors[definition.key]
    variables = list(scope.left)
    left: list[ir.Affine | ir.Flat] = []
    for axis in info.axes:
        at = [p for p, n in axis.left if n == number]
        left.append(at[-1] if at else ir.Affine())
    if isinstance(definition.body, s.ListLiteral):
        literal = literal_value(definition.body)
        if literal is not None:
            _literal_definition(lowering, definition, info, literal)
            return
    body = lowering.whole(definition.body, scope)
    if number in lowering.flattened and isinstance(definition.body, s.Join):
        joined, over, within = lowering.flattened[number]
        left = [
            ir.Flat((over.index, within.index))
            if isinstance(p, ir.Affine) and p.terms == ((joined.name, 1),)
            else p
            for p in left
        ]
        variables = [v for v in variables if v is not joined] + [over, within]
    if isinstance(body, ir.Reduce) and body.operator in ("argmax", "argmin"):
        # What is found is a value of that index: it can gather from an axis of that size.
        over = context.variables[int((body.indices[0].extent.name or "#ex0")[3:])]
        context.classes.union(
            lowering.token_values(definition.key, definition.span), over.size, body.span
        )
    given = definition.equation.guard
    context.statements.append(
        RawStatement(
            definition.key,
            tuple(left),
            variables,
            body,
            guard(lowering, given, scope) if given is not None else None,
            definition.span,
            definition.left.span,
        )
    )
    _chain(lowering, definition, scope, body)


def _literal_definition(
    lowering: Lowering, definition: Definition, info: TensorInfo, literal: object
) -> None:
    """`q = [1, 1, 2]`: a constant, whose lengths are sizes."""
    shape = literal_shape(literal)
    if shape is None or len(shape) != len(info.axes):
        lowering.messages.error(
            "literal", "these rows of numbers differ in length" if shape is None else
            f"these numbers have {len(shape)} indices, and {definition.key} has {len(info.axes)}",
            definition.body.span, (definition.left.span, f"{len(info.axes)} indices"),
            hint="write [1, 2] for a vector, [[1, 2], [3, 4]] for a matrix with rows of equal length",
        )  # fmt: skip
        return
    info.role, info.literal = "constant", literal
    for axis, length in zip(info.axes, shape, strict=True):
        axis.left.clear()
        lowering.context.classes.bind(axis.size, Size.of(length), definition.body.span)


def _chain(lowering: Lowering, definition: Definition, scope: Scope, body: ir.Expression) -> None:
    """The sides between the first and the last are claims: each equals the one behind it."""
    if not definition.between:
        return
    sides: list[tuple[str, s.Expression, ir.Expression]] = []
    for _, side in definition.between:
        inner = scope.child()
        inner.capitals = {}
        sides.append(("=", side, lowering.whole(side, inner)))
    relations = [r for r, _ in definition.between[1:]] + [definition.relation]
    following = [e for _, _, e in sides[1:]] + [body]
    for (_, side, expression), relation, after in zip(sides, relations, following, strict=True):
        lowering.context.tests.append(
            RawTest(expression, relation, after, list(scope.left), side.span)
        )


def lower_draws(lowering: Lowering) -> None:
    for reference, right, _ in lowering.outline.draws:
        scope = Scope(-1000)
        info = lowering.tensor(reference.key, len(reference.items), reference.span)
        if info.role in ("", "input"):
            info.role = "draw"
        variables = bind_items(lowering, reference.items, scope)
        left: list[ir.Affine | ir.Flat] = []
        for axis, item in enumerate(reference.items[: len(info.axes)]):
            placed = place(lowering, item, scope)
            lowering.meet(info, axis, placed, item.span)
            info.axes[axis].drawn.append((placed.place, placed.variables))
            left.append(placed.place if not isinstance(placed.place, ir.Gather) else ir.Affine())
        base = right.function if isinstance(right, s.Call) else right
        assert isinstance(base, s.Name)
        if base.base == "permutation" and info.axes:
            values = lowering.token_values(reference.key, reference.span)
            lowering.context.classes.union(values, info.axes[-1].size, reference.span)
        arguments = right.arguments if isinstance(right, s.Call) else ()
        lowered = tuple(lowering.whole(a, scope) for a in arguments)
        indices = tuple(variable.index for variable in variables)
        lowering.context.draws.append(
            ir.Draw(reference.key, base.base, lowered, reference.span, tuple(left), indices)
        )


def add_stack_inputs(lowering: Lowering) -> None:
    """A stack without its first layer reads that as an input: `L_0`."""
    context = lowering.context
    for key, info in list(context.tensors.items()):
        for number, axis in enumerate(info.axes):
            shifts = [p.shift for p, _ in axis.left if isinstance(p, ir.Affine)]
            if not shifts or any(sh is None or sh[1] <= 0 for sh in shifts):
                continue
            below = [
                v for p, variables in axis.reads if p.shift is not None
                for v, _ in variables if v.free and v.shift > 0 and p.shift[1] < v.shift
            ]  # fmt: skip
            if below:
                _stack_input(lowering, key, info, number)


def _stack_input(lowering: Lowering, key: str, info: TensorInfo, layer: int) -> None:
    context = lowering.context
    first = f"{key}_0"
    if first in context.tensors:
        return
    variables: list[Variable] = []
    axes: list[AxisInfo] = []
    left: list[ir.Affine | ir.Flat] = []
    number = len(lowering.outline.definitions) + 10_000
    for position, axis in enumerate(info.axes):
        if position == layer:
            left.append(ir.Affine())
            axis.left.append((ir.Affine(), number))
            continue
        variable = context.variable(
            axis.letter or f"i{position}", axis.letter, axis.size, info.span
        )
        variable.free = True
        variables.append(variable)
        new = AxisInfo(axis.size, axis.letter, info.span)
        new.reads.append((ir.Affine.of(variable.name), [(variable, 1)]))
        axes.append(new)
        left.append(ir.Affine.of(variable.name))
    context.tensors[first] = TensorInfo(
        first,
        axes,
        info.span,
        role="input",
        guess=f"the first layer of {key}, which no equation gives",
    )
    read = ir.Read(first, tuple(ir.Affine.of(v.name) for v in variables), span=info.span)
    context.statements.append(
        RawStatement(key, tuple(left), variables, read, None, info.span, info.span)
    )
