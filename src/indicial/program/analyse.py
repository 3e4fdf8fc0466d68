"""From statements to a checked program: the passes, one after the other.

    statements → outline → shapes → lowering → ranges and sizes → roles → Code

Every pass adds messages and goes on, so that all mistakes of a text are found at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import NOWHERE, Span
from indicial.program import ir
from indicial.program.checks.roles import assign_roles
from indicial.program.lowering.claims import lower_tests
from indicial.program.lowering.context import (
    AxisInfo,
    Context,
    Note,
    RawStatement,
    RawTest,
    TensorInfo,
    Variable,
)
from indicial.program.lowering.lower import Lowering
from indicial.program.lowering.places import Placed, describe, place
from indicial.program.lowering.ranges import settle
from indicial.program.lowering.scope import Scope
from indicial.program.messages import Messages
from indicial.program.names import shapes
from indicial.program.names.naming import Reference, capital, index_name, is_capital
from indicial.program.names.outline import Definition, Outline, outline
from indicial.program.sizes import Size


@dataclass
class Analysis:
    """The result: the code, and how it was read."""

    code: ir.Code
    outline: Outline
    notes: list[Note] = field(default_factory=list)
    holes: dict[str, Span] = field(default_factory=dict)
    windows: dict[str, int] = field(default_factory=dict)


def analyse(
    statements: Sequence[s.Statement],
    messages: Messages,
    document: bool = False,
    sketch: Outline | None = None,
) -> Analysis:
    """Checks a program and gives its code; the code is only to be used if there is no error.

    `sketch` is the outline of the program as it was written, used if nothing was rewritten since.
    """
    faulty = any(m.severity == "error" for m in messages.items)
    if sketch is None or not sketch.serves(statements):
        sketch = outline(statements, messages, document)
    context = Context(sketch, messages, faulty=faulty)
    lowering = Lowering(context)
    _survey(lowering, statements)
    _defined_twice(lowering)
    _declare(lowering)
    scopes = _left_sides(lowering)
    for number, (definition, scope) in enumerate(
        zip(context.outline.definitions, scopes, strict=True)
    ):
        if scope is not None:
            _body(lowering, definition, scope, number)
    _draws(lowering)
    lower_tests(lowering, len(context.outline.definitions))
    _stack_inputs(lowering)
    assign_roles(context, lowering)
    code = settle(context, lowering)
    return Analysis(code, context.outline, context.notes, context.holes)


# ---------------------------------------------------------------------- passes


def _survey(lowering: Lowering, statements: Sequence[s.Statement]) -> None:
    """What has to be known of the whole program before any equation is read."""
    outline = lowering.outline
    lowering.bounds = shapes.family_bounds(outline, statements)
    lowering.sizes_named = shapes.sizes_named(outline, statements)
    for definition in outline.definitions:
        lowering.index_keys.update(shapes.left_letters(definition))
        lowering.layered.update(describe(i) for i in definition.items if isinstance(i, s.Add))
    for statement in statements:
        for node in statement.walk():
            if isinstance(node, s.Reduction):
                for under in node.under:
                    for name in under.walk():
                        if isinstance(name, s.Name) and index_name(name) is not None:
                            lowering.index_keys.add(name_key(name))


def _defined_twice(lowering: Lowering) -> None:
    """Two equations for all elements of one name, or for the same ones."""
    seen: dict[tuple[object, ...], Definition] = {}
    for definition in lowering.outline.definitions:
        first = seen.setdefault((definition.key, *definition.special), definition)
        if first is not definition and first.body != definition.body:
            lowering.messages.error(
                "defined-twice",
                f"{definition.key} is defined twice",
                (definition.left.span, "again here"),
                (first.left.span, "defined here"),
                hint="give one of them another name, a number on the left, or a guard (for t > 0)",
            )


def _declare(lowering: Lowering) -> None:
    """Tensors whose shape is declared."""
    outline, context = lowering.outline, lowering.context
    declared: list[tuple[Reference, s.Expression | None, str]] = [
        *((r, d, "input") for r, d in outline.inputs.values()),
        *((r, None, "parameter") for r in outline.parameters.values()),
        *((r, None, "constant") for r, _ in outline.constants.values()),
    ]
    for number, (reference, domain, role) in enumerate(declared):
        if reference.key in outline.defined and role == "input":
            continue  # an input that another file of the program defines
        scope = Scope(-1 - number)
        info = lowering.tensor(reference.key, len(reference.items), reference.span)
        info.role = role
        _bind_items(lowering, reference.items, scope)
        for axis, item in enumerate(reference.items):
            placed = place(lowering, item, scope)
            lowering.meet(info, axis, placed, item.span)
            info.axes[axis].reads.append((placed.place, placed.variables))
            for variable, _ in placed.variables:
                context.classes.prefer(variable.size, capital(variable.family), 2)
        if isinstance(domain, s.Name):
            key = name_key(domain)
            info.values = context.classes.new(key, domain.span, 1)
    for reference, value in outline.constants.values():
        info = context.tensors[reference.key]
        info.literal = _literal(value, lowering)
        shape = literal_shape(info.literal)
        if info.literal is None or shape is None or len(shape) != len(info.axes):
            lowering.messages.error(
                "literal",
                f"the value of {reference.key} does not have its {len(info.axes)} indices",
                (value.span, "this value"),
                (reference.span, f"{len(info.axes)} indices"),
                hint="write `constant λ = 0.1`, or `constant q[i] = [1, 1, 2]`",
            )
            continue
        for one, length in zip(info.axes, shape, strict=True):
            context.classes.bind(one.size, Size.of(length), value.span)


def _literal(node: s.Expression, lowering: Lowering) -> object:
    """A number, or nested tuples of numbers; None with a message if it is neither."""
    if isinstance(node, s.Number):
        try:
            return float(node.text)
        except ValueError:
            return float("inf")
    if isinstance(node, s.Negative):
        inner = _literal(node.body, lowering)
        return -inner if isinstance(inner, float) else None
    if isinstance(node, s.Fraction):
        above, below = _literal(node.above, lowering), _literal(node.below, lowering)
        if isinstance(above, float) and isinstance(below, float) and below:
            return above / below
    if isinstance(node, s.ListLiteral):
        items = tuple(_literal(i, lowering) for i in node.items)
        if not any(i is None for i in items):
            return items
    return None


def literal_shape(value: object) -> list[int] | None:
    """The lengths of nested tuples, outermost first; None if they are ragged."""
    if not isinstance(value, tuple):
        return []
    inner = [literal_shape(v) for v in value]
    if not inner or any(i is None or i != inner[0] for i in inner):
        return None if inner else [0]
    assert inner[0] is not None
    return [len(value), *inner[0]]


def _bind_items(lowering: Lowering, items: Iterable[s.Expression], scope: Scope) -> list[Variable]:
    """Binds the indices of a left side or a declaration."""
    made: list[Variable] = []
    for item in items:
        for name in _item_letters(item):
            key = name_key(name)
            if key in scope.variables or key in lowering.outline.labels:
                continue
            variable = scope.bind(lowering.context, name)
            variable.free = True
            made.append(variable)
    return made


def _item_letters(item: s.Expression) -> list[s.Name]:
    name = index_name(item)
    if name is not None:
        return [name]
    if isinstance(item, s.Group):
        return _item_letters(item.body)
    if isinstance(item, s.TupleLiteral):
        return [n for part in item.items for n in _item_letters(part)]
    if isinstance(item, s.Add | s.Product | s.Negative):
        names = [n for child in item.children() if isinstance(child, s.Expression)
                 for n in _item_letters(child)]  # fmt: skip
        return [n for n in names if not is_capital(n.base)]
    return []


def _left_sides(lowering: Lowering) -> list[Scope | None]:
    """A scope for each definition, with the indices of its left side."""
    outline, context = lowering.outline, lowering.context
    lifted = shapes.lifts(outline)
    with_batch = shapes.batch_lifts(outline)
    arity: dict[str, int] = {}
    for definition in outline.definitions:
        count = _left_count(lowering, definition) + len(lifted.get(definition.key, []))
        arity[definition.key] = max(arity.get(definition.key, 0), count)
    counted = shapes.counts(outline)
    for key, counter in counted.items():
        if key not in arity and key not in context.tensors and key not in lowering.sizes_named:
            arity[key] = max(counter, key=lambda n: (counter[n], n))
    for key, name in with_batch.items():
        _lift_batch(lowering, key, name, arity)
    reads = {k: max(c) for k, c in counted.items()}
    lowering.trailing = shapes.trailing_slices(
        outline, {**reads, **{k: max(v, reads.get(k, 0)) for k, v in arity.items()}}
    )
    for number in lowering.trailing:
        key = outline.definitions[number].key
        if len(outline.definitions[number].items) == arity[key]:
            arity[key] += 1
    for key, count in arity.items():
        if key in outline.defined or (
            key in counted and (counted[key][count] > 1 or len(counted[key]) > 1)
        ):
            spans = [d.left.span for d in outline.definitions if d.key == key]
            full = [d.left.span for d in outline.definitions
                    if d.key == key and _left_count(lowering, d) == count]  # fmt: skip
            definition_span = next(iter(full or spans), None)
            if definition_span is not None or count:
                info = lowering.tensor(
                    key, count, definition_span or _first_span(outline, key, count)
                )
                info.lifted = lifted.get(key, [])
                if key in with_batch and key not in outline.inputs:
                    info.lifted = [with_batch[key]]
    return [_left_side(lowering, d, n) for n, d in enumerate(outline.definitions)]


def _first_span(outline: Outline, key: str, count: int) -> Span:
    """Where a name that is never defined is first read with so many indices."""
    for definition in outline.definitions:
        for use in shapes.uses(outline, definition.body):
            if use.reference.key == key and len(use.reference.items) == count:
                return use.reference.span
    tested = [
        *(side for t in outline.tests for side in t.sides),
        *(part for c in outline.claims for part in (c.comparison, c.guard) if part is not None),
    ]
    for node in (*tested, *(right for _, right, _ in outline.draws)):
        for use in shapes.uses(outline, node):
            if use.reference.key == key and len(use.reference.items) == count:
                return use.reference.span
    return outline.definitions[0].span if outline.definitions else NOWHERE


def _lift_batch(lowering: Lowering, key: str, name: s.Name, arity: dict[str, int]) -> None:
    info = lowering.context.tensors.get(key)
    span = lowering.outline.inputs[key][0].span if key in lowering.outline.inputs else name.span
    if info is not None:
        axis = AxisInfo(lowering.context.classes.new("B", span, 4), "b", span)
        info.axes.insert(0, axis)
        info.lifted = [s.Name("b", span=span)]
    elif key in arity:
        arity[key] += 1
    lowering.messages.warning(
        "batch-index", f"the left side has the batch index b, and {key} is read without it",
        (name.span, "b is written here"),
        *([(_first_read(lowering, key), f"read as {key}[b, …]")]),
        hint=f"write {key}[b, …], or leave b out everywhere: running a program adds it by itself",
    )  # fmt: skip


def _first_read(lowering: Lowering, key: str) -> Span:
    for definition in lowering.outline.definitions:
        if "b" in shapes.left_letters(definition):
            for use in shapes.uses(lowering.outline, definition.body):
                if use.reference.key == key:
                    return use.reference.span
    return lowering.outline.definitions[0].span


def _left_count(lowering: Lowering, definition: Definition) -> int:
    if definition.probability is not None:
        if len(definition.items) != 1 or isinstance(definition.items[0], s.Dots):
            return 0
        token = lowering.token_of(definition.items[0])
        return len(token[0].items) + 1 if token is not None else 1
    if not definition.items:
        shape = (
            literal_shape(_literal(definition.body, lowering))
            if isinstance(definition.body, s.ListLiteral)
            else []
        )
        return len(shape or [])
    return len(definition.items)


def _left_side(lowering: Lowering, definition: Definition, number: int) -> Scope | None:
    context = lowering.context
    scope = Scope(number)
    info = lowering.tensor(definition.key, _left_count(lowering, definition), definition.left.span)
    if info.role == "input":
        info.role = ""
    info.role = info.role or "defined"
    info.probability = definition.probability is not None
    items: list[s.Expression] = [*info.lifted]
    subject: s.Expression | None = None
    if definition.probability is None:
        items.extend(definition.items)
    elif len(definition.items) == 1 and not isinstance(definition.items[0], s.Dots):
        subject = definition.items[0]
        token = lowering.token_of(subject)
        items.extend(token[0].items if token is not None else ())
    scope.left = _bind_items(lowering, items, scope)
    placed = [place(lowering, item, scope) for item in items]
    spans = [item.span for item in items]
    if subject is not None:
        placed.append(_subject(lowering, subject, scope))
        spans.append(subject.span)
    trailing = lowering.trailing.get(number)
    if trailing is not None and len(placed) == len(info.axes) - 1:
        variable = scope.bind(context, trailing)
        variable.free = True
        scope.left.append(variable)
        placed.append(Placed(ir.Affine.of(variable.name), [(variable, 1)]))
        spans.append(definition.left.span)
        lowering.note(
            definition.key,
            f"the trailing index {name_key(trailing)} is left out on both sides",
            definition.left.span,
        )
    if info.lifted:
        shown = ", ".join(name_key(n) for n in info.lifted)
        lowering.note(
            definition.key,
            f"meant per step: {shown} is put in front, because a recurrence runs over it",
            definition.left.span,
        )
    if not definition.items and isinstance(definition.body, s.ListLiteral) and info.axes:
        placed = [Placed(ir.Affine()) for _ in info.axes]
        spans = [definition.left.span] * len(placed)
    if len(placed) != len(info.axes):
        reference = Reference(definition.key, tuple(items), definition.left.span)
        lowering.wrong_count(info, reference, [describe(i) for i in items])
        return None
    for axis, (one, span) in enumerate(zip(placed, spans, strict=True)):
        if isinstance(one.place, ir.Gather):
            lowering.messages.error(
                "index-form",
                f"{span.text} cannot be an index on the left",
                span,
                hint="the left side has indices, numbers, and indices plus a number",
            )
            return None
        _meet_left(lowering, info, axis, one, span, number)
    _subject_behind_bar(lowering, definition)
    info.span = (
        definition.left.span if not info.axes or info.span == definition.left.span else info.span
    )
    return scope


def _subject_behind_bar(lowering: Lowering, definition: Definition) -> None:
    """`P(w_t | …, w_t)`: what is predicted is not given."""
    call = definition.probability
    if call is None or call.given is None or len(call.arguments) != 1:
        return
    subject = lowering.token_of(call.arguments[0])
    for given in call.given:
        token = lowering.token_of(given)
        if subject is not None and token is not None and token[1] == subject[1]:
            lowering.messages.error(
                "given-subject", f"{unicode(given)} is predicted, and stands behind the bar too",
                (given.span, "given"), (call.arguments[0].span, "predicted"),
                hint="one of the two must be another position",
            )  # fmt: skip


def _meet_left(
    lowering: Lowering, info: TensorInfo, axis: int, placed: Placed, span: Span, number: int
) -> None:
    at = placed.place
    assert isinstance(at, ir.Affine | ir.Flat)
    if isinstance(at, ir.Affine) and at.terms and at.shift is None:
        lowering.messages.error(
            "index-form", f"{span.text} cannot stand on the left", span,
            hint="the left side has indices (t), indices plus a number (ℓ+1), and numbers (0)",
        )  # fmt: skip
        placed = Placed(ir.Affine())
        at = ir.Affine()
    plain = [len(v.plain) for v, _ in placed.variables]
    lowering.meet(info, axis, placed, span)
    for (variable, _), before in zip(placed.variables, plain, strict=True):
        del variable.plain[before:]
    info.axes[axis].left.append((at, number))
    for variable, _ in placed.variables:
        lowering.context.classes.prefer(variable.size, capital(variable.family), 2)
        if isinstance(at, ir.Affine) and at.shift is not None:
            variable.shift = at.shift[1]
            info.axes[axis].letter = variable.family


def _subject(lowering: Lowering, subject: s.Expression, scope: Scope) -> Placed:
    """The variable of a P: a token as an index over its vocabulary, or a letter."""
    token = lowering.token_of(subject)
    if token is not None:
        reference, bound = token
        info = lowering.tensor(reference.key, len(reference.items), reference.span)
        size = lowering.token_values(reference.key, reference.span)
        if len(info.axes) == len(info.lifted) + len(reference.items):
            for axis, item in enumerate(reference.items, len(info.lifted)):
                placed = place(lowering, item, scope)
                lowering.meet(info, axis, placed, item.span)
                info.axes[axis].reads.append((placed.place, placed.variables))
        variable = lowering.context.variable(unicode(subject), reference.key, size, subject.span)
        scope.tokens[bound] = variable
    else:
        name = index_name(subject)
        if name is None:
            return Placed(ir.Affine())
        variable = scope.variables.get(name_key(name)) or scope.bind(lowering.context, name)
    variable.free = True
    scope.subject = variable
    scope.left.append(variable)
    return Placed(ir.Affine.of(variable.name), [(variable, 1)])


def _body(lowering: Lowering, definition: Definition, scope: Scope, number: int) -> None:
    context = lowering.context
    info = context.tensors[definition.key]
    variables = list(scope.left)
    left: list[ir.Affine | ir.Flat] = []
    for axis in info.axes:
        at = [p for p, n in axis.left if n == number]
        left.append(at[-1] if at else ir.Affine())
    if isinstance(definition.body, s.ListLiteral):
        literal = _literal(definition.body, lowering)
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
    guard = None
    if definition.equation.guard is not None:
        guard = lowering.condition(definition.equation.guard, scope)
    context.statements.append(
        RawStatement(
            definition.key,
            tuple(left),
            variables,
            body,
            guard,
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
            "literal", "the rows of these numbers differ in length" if shape is None else
            f"these numbers have {len(shape)} indices, and {definition.key} has {len(info.axes)}",
            definition.body.span, (definition.left.span, f"{len(info.axes)} indices"),
            hint="write [1, 2] for a vector, [[1, 2], [3, 4]] for a matrix with rows of one length",
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


def _draws(lowering: Lowering) -> None:
    for reference, right, _ in lowering.outline.draws:
        scope = Scope(-1000)
        info = lowering.tensor(reference.key, len(reference.items), reference.span)
        if info.role in ("", "input"):
            info.role = "draw"
        variables = _bind_items(lowering, reference.items, scope)
        left: list[ir.Affine | ir.Flat] = []
        for axis, item in enumerate(reference.items[: len(info.axes)]):
            placed = place(lowering, item, scope)
            lowering.meet(info, axis, placed, item.span)
            info.axes[axis].reads.append((placed.place, placed.variables))
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


def _stack_inputs(lowering: Lowering) -> None:
    """A stack without its first layer reads that as an input: `L_0`."""
    context = lowering.context
    for key, info in list(context.tensors.items()):
        for number, axis in enumerate(info.axes):
            shifts = [p.shift for p, _ in axis.left if isinstance(p, ir.Affine)]
            if not shifts or any(sh is None or sh[1] <= 0 for sh in shifts):
                continue
            below = [
                v for p, variables in axis.reads if isinstance(p, ir.Affine) and p.shift is not None
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
