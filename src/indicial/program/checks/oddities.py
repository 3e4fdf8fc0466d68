"""Layers without a beginning, conditions that decide nothing, draws of something else.

α_{ℓ+1}[…] = softmax_{t_2} Query_ℓ[…] …       Query has layers from 1 on
softmax_{t_2 ≤ T} …                           t_2 never exceeds T
W[t] ~ P(w_t | …)                             the distribution is one of w[t]
"""

from __future__ import annotations

from indicial.notation.syntax import Number
from indicial.program import ir
from indicial.program.checks.orders import shown
from indicial.program.checks.timing import expanded
from indicial.program.lowering.context import Context, RawStatement, Variable
from indicial.program.lowering.lower import Lowering
from indicial.program.names.letters import capital

FIRST_LAYER = "the first layer of"
"""How the guess begins that makes an input of the layer below a stack."""


def variables_of(context: Context, statement: RawStatement) -> dict[str, Variable]:
    found = {v.name: v for v in statement.variables}
    for node in statement.body.every(ir.Reduce, ir.Softmax):
        for index in node.indices:
            number = int((index.extent.name or "#ex0")[3:])
            found.setdefault(index.name, context.variables[number])
    return found


def first_layers(context: Context) -> bool:
    """A tensor read at ℓ that only has layers from 1 on, where another tensor has a layer 0."""
    made = [
        i
        for k, i in context.tensors.items()
        if i.role == "input" and i.guess.startswith(FIRST_LAYER)
    ]
    started = [
        d for d in context.outline.definitions if d.items and isinstance(d.items[0], Number)
    ]  # fmt: skip
    declared = [
        r for r, _ in context.outline.inputs.values() if r.items and isinstance(r.items[0], Number)
    ]
    if context.document or not made or not (started or declared or len(made) > 1):
        return False
    stated = {r.key for r in declared}
    for info in made:
        key = info.key.removesuffix("_0")
        if key in stated:
            continue
        spans = [
            (read.span, statement.left_span)
            for statement in context.statements
            for read in expanded(context, statement)
            if read.tensor == key and statement.target != key and _below(statement, read)
        ]
        context.messages.warning(
            "first-layer", f"{key} is read one layer down, but nothing says what {info.key} is",
            *((span, "a layer down") for span, _ in spans), (info.span, "from layer 1 on"),
            hint=f"did you mean {key}_{{ℓ+1}}? If not, write an equation for {info.key}, or `input {info.key}[…]`",
        )  # fmt: skip
    return any(info.key.removesuffix("_0") not in stated for info in made)


def _below(statement: RawStatement, read: ir.Read) -> bool:
    layers = {v.name: v.shift for v in statement.variables if v.shift > 0}
    shifts = [p.shift for p in read.places if p.shift is not None]
    return any(name in layers and by < layers[name] for name, by in shifts)


def vacuous(context: Context, statement: RawStatement) -> None:
    """`t' ≤ T` below a softmax: it always holds."""
    for node in statement.body.walk():
        condition = node.condition if isinstance(node, ir.Reduce | ir.Softmax) else None
        for part in condition.walk() if condition is not None else ():
            if not isinstance(part, ir.Apply) or part.function not in ("≤", "<", "≥", ">"):
                continue
            one, two = part.arguments
            if isinstance(one, ir.SizeValue):
                one, two = two, one
            if not isinstance(one, ir.IndexValue) or not isinstance(two, ir.SizeValue):
                continue
            known = variables_of(context, statement)
            name = one.place.shift[0] if one.place.shift else ""
            atom = two.size.name or ""
            if name not in known or not atom.startswith("#"):
                continue
            if context.classes.find(int(atom[1:])) == context.classes.find(known[name].size):
                large = capital(known[name].family)
                context.messages.warning(
                    "condition", f"{shown(name)} never exceeds {large}, its own size: this condition never varies",
                    (part.span, "the same for all"), hint="did you mean an index instead of the size?",
                )  # fmt: skip


def generated(context: Context, lowering: Lowering) -> None:
    """`W[t] ~ P(w_t | …)`: what is drawn is not what P is about."""
    for reference, call, equation in context.outline.generated:
        token = lowering.token_of(call.arguments[0]) if call.arguments else None
        if token is None:
            continue
        if token[0].key != reference.key or token[0].items != reference.items:
            context.messages.error(
                "draw", "what is drawn is not the variable of the distribution",
                (equation.sides[0].span, "drawn"), (call.arguments[0].span, "the variable"),
                hint=f"write {call.arguments[0].span.text} ~ {call.span.text}",
            )  # fmt: skip
