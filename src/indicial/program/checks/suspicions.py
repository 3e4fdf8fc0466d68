"""What is well-formed and almost surely a slip: indices that are missing, exchanged, or fixed.

    Value[k,t,i] = W^V[k,J] x[t,J]                  nothing on the right has i
    R[t,j] = tanh(W[j,I] h[t-1,I] + V[j,K] x[t,K] - B)      every other term has j
    h̃[k,t,i] = α[k,T,t] Value[k,T,i]               the weights add up to one along the other axis
    α_{ℓ+1}[…] = softmax_{t_2} Query_ℓ[…] …         Query has layers from 1 on
    softmax_{t_2 ≤ T} …                             t_2 never exceeds T
    W[t] ~ P(w_t | …)                               the distribution is one of w[t]

All of these are warnings: the equations run, and mean what they say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from indicial.notation.source import Source, Span
from indicial.notation.syntax import Number
from indicial.program import ir
from indicial.program.checks.orders import numbers, order, shown, weights
from indicial.program.checks.similar import misnamed_factors
from indicial.program.checks.spelling import suspect_names
from indicial.program.checks.timing import expanded, suspect_times
from indicial.program.lowering.context import Context, RawStatement, TensorInfo, Variable
from indicial.program.lowering.lower import Lowering
from indicial.program.names.letters import MATRICES, capital
from indicial.program.names.occurrences import recurrences
from indicial.program.rewrite import free_indices

BATCH = "b"
"""The letter of the batch, which is put in where it is left out."""


def suspect(context: Context, lowering: Lowering, sequence: set[int]) -> None:
    """Adds warnings about a program; `sequence` are the sizes that change from text to text."""
    over = recurrences(context.outline)
    sequence = sequence | {
        context.classes.find(v.size) for v in context.variables if v.family in over
    }
    suspect_names(context, lowering)
    misnamed_factors(context)
    wrong = [site for m in context.messages.items if m.severity == "error" for site, _ in m.sites]
    touched = _touched(wrong, context.statements)
    for statement in context.statements:
        if statement.span in touched:
            continue  # one mistake is enough for one equation
        if not context.tensors[statement.target].hidden and not _fixed(context, statement):
            _constant(context, statement)
        vacuous(context, statement)
        _terms(context, statement, sequence)
        _factors(context, statement, sequence)
        _cancelled(context, statement)
    generated(context, lowering)
    if wrong:
        return  # what is read how depends on the other equations
    if first_layers(context):
        return
    _shared_by_layers(context)
    _cells_of_numbers(context, over)
    numbers(context)
    order(context)
    weights(context)
    predicted = {
        token[0].key
        for definition in context.outline.definitions
        if definition.probability is not None and definition.probability.arguments
        if (token := lowering.token_of(definition.probability.arguments[0])) is not None
    }
    predicted |= {reference.key for reference, _, _ in context.outline.generated}
    suspect_times(context, predicted)


def _cells_of_numbers(context: Context, over: set[str]) -> None:
    """`h[t] = tanh(W h[t-1] + U x[t])`: brackets hold all indices, so that each of these is a number."""
    if context.document:
        return
    for number, statement in enumerate(context.statements):
        target = context.tensors[statement.target]
        steps = [axis for axis in statement.variables if axis.family in over]
        if len(statement.left) != 1 or len(steps) != 1:
            continue
        weights = [
            (span, "a number")
            for info in context.tensors.values()
            if info.key[:1] in MATRICES and info.guess and not info.axes
            for span, _, at in info.reads if at == number
        ]  # fmt: skip
        if weights:
            letter = steps[0].name
            context.messages.warning(
                "cell-of-numbers", f"{target.key} is one number at each {letter}, and so are its weights",
                (statement.left_span, f"{target.key} has the index {letter} and no other"), *weights,
                hint=f"write {target.key}[{letter},j] and W[j,I] for a vector of units, or leave out the brackets: "
                f"{target.key}_{letter} = W {target.key}_{{{letter}-1}}",
            )  # fmt: skip


def _touched(sites: list[Span], statements: list[RawStatement]) -> set[Span]:
    """The spans of the equations that a site stands in."""
    found: set[Span] = set()
    starts: dict[Source, list[Span]] = {}
    for site in sorted(sites, key=lambda site: site.start):
        starts.setdefault(site.source, []).append(site)
    ends = {source: list(accumulate((s.end for s in all_), max)) for source, all_ in starts.items()}
    for span in (statement.span for statement in statements):
        before = bisect_left(starts.get(span.source, []), span.end, key=lambda site: site.start)
        # Of the sites that begin before the equation ends, one ends behind its beginning.
        if before and ends[span.source][before - 1] > span.start:
            found.add(span)
    return found


# ---------------------------------------------------------------------- indices that are missing


def _constant(context: Context, statement: RawStatement) -> None:
    """An index on the left that the right side does not have."""
    body = statement.body
    if not body.every(ir.Read):
        return  # `α[t_1,t_2] = 0 for …`
    used = free_indices(body) | (free_indices(statement.guard) if statement.guard else set())
    for variable in statement.variables:
        if variable.name not in used and variable.span.text and variable.family != BATCH:
            context.messages.warning(
                "constant-index",
                f"{statement.target} is the same for all {shown(variable.name)}: nothing on the right depends on it",
                (statement.left_span, f"{shown(variable.name)} here"), (body.span, "but not here"),
                hint=f"is {shown(variable.name)} missing on the right?",
            )  # fmt: skip


def _fixed(context: Context, statement: RawStatement) -> bool:
    """`h[T-1,I]` in an equation for every t: one element for all, where `t-1` may be meant."""
    by_class = {context.classes.find(v.size): v for v in statement.variables}
    found = False
    for read in expanded(context, statement):
        for place in read.places:
            if not isinstance(place, ir.Affine) or place.terms or place.offset.number is not None:
                continue
            if place.offset.name is not None:
                continue  # `L_L`, the top layer
            for atom in place.offset.atoms:
                if not isinstance(atom, str) or not atom.startswith("#"):
                    continue
                variable = by_class.get(context.classes.find(int(atom[1:])))
                if variable is not None:
                    found = True
                    small, large = shown(variable.name), capital(variable.family)
                    context.messages.warning(
                        "fixed-index", f"{read.tensor} is read at the same place for every {small}",
                        (read.span, f"{large} is a size"), (statement.left_span, f"for every {small}"),
                        hint=f"write {small} instead of {large} if each {small} should read its own",
                    )  # fmt: skip
    return found


def _parameters(
    context: Context, expression: ir.Expression
) -> Iterator[tuple[ir.Read, TensorInfo]]:
    """The reads of parameters that nobody declared."""
    for node in expression.every(ir.Read):
        if _is_parameter(context, node):
            yield node, context.tensors[node.tensor]


def _learned(context: Context, expression: ir.Expression) -> set[str]:
    """The indices of all parameters of an expression."""
    return {
        name for node in expression.walk()
        if isinstance(node, ir.Read) and node.tensor in context.tensors
        and context.tensors[node.tensor].role == "parameter"
        for name in free_indices(node)
    }  # fmt: skip


def _is_parameter(context: Context, read: ir.Read) -> bool:
    info = context.tensors.get(read.tensor)
    usual = info is not None and info.role == "parameter" and not info.hidden
    return usual and read.tensor not in context.outline.parameters


def _terms(context: Context, statement: RawStatement, sequence: set[int]) -> None:
    """A term of a sum without an index that all the other terms have."""
    known = variables_of(context, statement)
    for node in statement.body.every(ir.Apply):
        if node.function != "+":
            continue
        free = [free_indices(a) for a in node.arguments]
        counts = Counter(name for names in free for name in names)
        nearly = {name for name, count in counts.items() if count == len(free) - 1}
        if not nearly:
            continue
        learned = {name for a in node.arguments for name in _learned(context, a)}
        for number, term in enumerate(node.arguments):
            missing = nearly - free[number]
            others = set[str]().union(*(names for n, names in enumerate(free) if n != number))
            if not missing or free[number] - others:  # `W e[j] + U d[i]`: each has its own
                continue
            at = list(_parameters(context, term))
            rest = [a for n, a in enumerate(node.arguments) if n != number]
            # What the term does not have, its parameters do not have either.
            for name in sorted(missing & learned):
                variable = known.get(name)
                if variable is None or not at or variable.shift:
                    continue
                if context.classes.find(variable.size) in sequence:
                    continue
                letter = shown(name)
                summed = letter in {shown(i.name) for r in term.every(ir.Reduce) for i in r.indices}
                what = f"sums over {letter}" if summed else f"is the same for all {letter}"
                names = " or ".join(dict.fromkeys(r.tensor for r, _ in at))
                context.messages.warning(
                    "term-index",
                    f"this term {what}, but every other term depends on it",
                    *((read.span, "summed" if summed else f"no {letter} here") for read, _ in at),
                    *((a.span, f"{letter} here") for a in rest),
                    hint=f"write ⊙ for the products at each {letter}" if summed
                    else f"is {letter} missing in {names}?",
                )  # fmt: skip


def _factors(context: Context, statement: RawStatement, sequence: set[int]) -> None:
    """`Σ_i W[j] h[i]`: a parameter inside a sum over an index that only the other factor has."""
    known = variables_of(context, statement)
    for node in statement.body.every(ir.Reduce):
        if not isinstance(node.body, ir.Apply):
            continue
        if node.operator not in ("sum", "mean") or node.body.function != "*":
            continue
        for index in node.indices:
            having = [a for a in node.body.arguments if index.name in free_indices(a)]
            variable = known[index.name]
            if len(having) != 1 or context.classes.find(variable.size) in sequence:
                continue
            lacking = [a for a in node.body.arguments if a is not having[0]]
            at = [read for a in lacking for read, info in _parameters(context, a) if info.axes]
            if at:
                context.messages.warning(
                    "term-index",
                    f"the sum runs over {shown(index.name)}, which {at[0].tensor} does not have",
                    *((read.span, f"no {shown(index.name)} here") for read in at),
                    (having[0].span, "only here"),
                    hint=f"is {shown(index.name)} missing in {at[0].tensor}?",
                )  # fmt: skip


def _cancelled(context: Context, statement: RawStatement) -> None:
    """A term under a softmax without its index: it changes nothing."""
    for node in statement.body.every(ir.Softmax):
        if not isinstance(node.body, ir.Apply):
            continue
        if node.body.function != "+":
            continue
        names = {i.name for i in node.indices}
        for term in node.body.arguments:
            if not free_indices(term) & names:
                over = ", ".join(sorted(shown(n) for n in names))
                context.messages.warning(
                    "cancels", f"this term is the same for all {over}, so it cancels in the softmax",
                    (term.span, f"no {over} here"), (node.span, f"softmax over {over}"),
                    hint=f"is {over} missing here?",
                )  # fmt: skip


def _shared_by_layers(context: Context) -> None:
    """One parameter without ℓ, in equations for every layer, where all others have it."""
    having: dict[str, Span] = {}
    lacking: dict[str, tuple[Span, RawStatement, str]] = {}
    for statement in context.statements:
        layers = {v.name for v in statement.variables if v.shift > 0 and v.free}
        if not layers or context.tensors[statement.target].hidden:
            continue
        for read in expanded(context, statement):
            if not _is_parameter(context, read):
                continue
            if free_indices(read) & layers:
                having.setdefault(read.tensor, read.span)
            else:
                lacking.setdefault(read.tensor, (read.span, statement, sorted(layers)[0]))
    if len(lacking) == 1 and having:
        key, (span, statement, layer) = next(iter(lacking.items()))
        other, at = next(iter(having.items()))
        context.messages.warning(
            "shared-layers", f"{key} is the same in all layers, unlike every other parameter",
            (span, f"no {layer} here"), (at, f"{other} has {layer}"),
            hint=f"write {key}_{{{layer}+1}}, or declare `parameter {key}[…]` if it is shared",
        )  # fmt: skip


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
