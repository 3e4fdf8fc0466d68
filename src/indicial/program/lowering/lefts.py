"""Left sides → tensors with their axes, and the scope in which each right side is read.

h[t,j] = …          h has the axes t and j; t and j are bound
P(w_t | …) = …      P has the axes t and w_t
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import NOWHERE, Span
from indicial.program import ir
from indicial.program.lowering.context import AxisInfo, TensorInfo
from indicial.program.lowering.declarations import bind_items, literal_shape, literal_value
from indicial.program.lowering.lower import Lowering
from indicial.program.lowering.places import Placed, describe, place
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import MADE_FAMILY, capital, index_name
from indicial.program.names.naming import Reference
from indicial.program.names.occurrences import computed_uses, counts, left_letters, uses
from indicial.program.names.omissions import batch_lifts, lifts, trailing_slices
from indicial.program.names.outline import Definition, Outline


def lower_left_sides(lowering: Lowering) -> list[Scope | None]:
    """A scope for each definition, with the indices of its left side."""
    outline, context = lowering.outline, lowering.context
    lifted = lifts(outline)
    with_batch = batch_lifts(outline)
    arity: dict[str, int] = {}
    for definition in outline.definitions:
        count = _left_count(lowering, definition) + len(lifted.get(definition.key, []))
        arity[definition.key] = max(arity.get(definition.key, 0), count)
    counted = counts(outline)
    for key, counter in counted.items():
        if key not in arity and key not in context.tensors and key not in lowering.sizes_named:
            arity[key] = max(counter, key=lambda n: (counter[n], n))
    for key, name in with_batch.items():
        _lift_batch(lowering, key, name, arity)
    reads = {k: max(c) for k, c in counted.items()}
    lowering.trailing = trailing_slices(
        outline, {**reads, **{k: max(v, reads.get(k, 0)) for k, v in arity.items()}}
    )
    for number in lowering.trailing:
        key = outline.definitions[number].key
        if len(outline.definitions[number].items) == arity[key]:
            arity[key] += 1
    written: dict[str, list[Definition]] = {}
    for definition in outline.definitions:
        written.setdefault(definition.key, []).append(definition)
    for key, count in arity.items():
        if key in outline.defined or (
            key in counted and (counted[key][count] > 1 or len(counted[key]) > 1)
        ):
            own = written.get(key, [])
            full = (d.left.span for d in own if _left_count(lowering, d) == count)
            definition_span = next(full, own[0].left.span if own else None)
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
    for use in computed_uses(outline):
        if use.reference.key == key and len(use.reference.items) == count:
            return use.reference.span
    return outline.definitions[0].span if outline.definitions else NOWHERE


def _lift_batch(lowering: Lowering, key: str, name: s.Name, arity: dict[str, int]) -> None:
    info = lowering.context.tensors.get(key)
    if info is not None:
        axis = AxisInfo(lowering.context.classes.new("B", name.span, 4), "b", name.span)
        info.axes.insert(0, axis)
        info.lifted = [name]
    elif key in arity:
        arity[key] += 1
    read = _first_read(lowering, key)
    everywhere = "leave b out everywhere: running a program adds it by itself"
    lowering.messages.warning(
        "batch-index", f"the left side has the batch index b, and {key} is read without it",
        (name.span, "b is written here"), (read, f"read as {key}[b, …]"),
        hint=f"write {key}[b, …], or {everywhere}", otherwise=everywhere,
        fix=(read, read.text.replace("[", "[b, ", 1)) if "[" in read.text else None,
    )  # fmt: skip


def _first_read(lowering: Lowering, key: str) -> Span:
    for definition in lowering.outline.definitions:
        if "b" in left_letters(definition):
            for use in uses(lowering.outline, definition.body):
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
            literal_shape(literal_value(definition.body))
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
    scope.left = bind_items(lowering, items, scope)
    placed = [place(lowering, item, scope) for item in items]
    spans = [item.span for item in items]
    if subject is not None:
        placed.append(_subject(lowering, subject, scope))
        spans.append(subject.span)
        if definition.value is not None and scope.subject is not None:
            scope.variables[name_key(definition.value)] = scope.subject
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
            over = _other_variable(lowering, definition, subject[1])
            hint = "one of the two must be another position"
            lowering.messages.error(
                "given-subject", f"{unicode(given)} is predicted, but is also behind the bar",
                (given.span, "given"), (call.arguments[0].span, "predicted"),
                hint=f"{hint}: the softmax is over {over}" if over else hint,
                fix=(call.arguments[0].span, over) if over else None, otherwise=hint,
            )  # fmt: skip


def _other_variable(lowering: Lowering, definition: Definition, subject: object) -> str:
    """The `w_{t+2}` of a softmax below which another token stands than the one that is predicted."""
    for node in definition.body.walk():
        for under in node.under if isinstance(node, s.Reduction) else ():
            token = lowering.token_of(under) if isinstance(under, s.Name | s.Index) else None
            if token is not None and token[1] != subject:
                return under.span.text
    return ""


def _meet_left(
    lowering: Lowering, info: TensorInfo, axis: int, placed: Placed, span: Span, number: int
) -> None:
    at = placed.place
    assert isinstance(at, ir.Affine | ir.Flat)
    if isinstance(at, ir.Affine) and at.terms and at.shift is None:
        lowering.messages.error(
            "index-form", f"{span.text} cannot be on the left", span,
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
        priority = 8 if variable.family == MADE_FAMILY else 2
        lowering.context.classes.prefer(variable.size, capital(variable.family), priority)
        if at.shift is not None:
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
