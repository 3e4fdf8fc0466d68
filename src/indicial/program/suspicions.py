"""What is well-formed and almost surely a slip: indices that are missing, exchanged, or fixed.

    Value[k,t,i] = W^V[k,J] x[t,J]                  nothing on the right has i
    R[t,j] = tanh(W[j,I] h[t-1,I] + V[j,K] x[t,K] - B)      every other term has j
    h̃[k,t,i] = α[k,T,t] Value[k,T,i]               the weights add up to one along the other axis

All of these are warnings: the equations run, and mean what they say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.notation.syntax import Name
from indicial.program import ir
from indicial.program.context import Context, RawStatement, TensorInfo, Variable
from indicial.program.lower import Lowering
from indicial.program.naming import capital
from indicial.program.rewrite import free_indices
from indicial.program.shapes import recurrences
from indicial.program.spelling import suspect_names
from indicial.program.timing import reads, suspect_times

BATCH = "b"
"""The letter of the batch, which is put in where it is left out."""
NUMBERED = re.compile(r"(.+)_\d \1_\d")
"""`t_1 t_2`: the same letter with two numbers."""


def suspect(context: Context, lowering: Lowering, sequence: set[int]) -> None:
    """Adds warnings about a program; `sequence` are the sizes that change from text to text."""
    over = recurrences(context.outline)
    sequence = sequence | {context.classes.find(v.size) for v in context.variables if v.family in over}
    suspect_names(context, lowering)
    wrong = [site for m in context.messages.items if m.severity == "error" for site, _ in m.sites]
    for statement in context.statements:
        if context.tensors[statement.target].hidden or any(_inside(w, statement.span) for w in wrong):
            continue  # one mistake is enough for one equation
        _constant(context, statement)
        _fixed(context, statement)
        _terms(context, statement, sequence)
        _factors(context, statement, sequence)
        _cancelled(context, statement)
    if wrong:
        return  # what is read how depends on the other equations
    _shared_by_layers(context)
    _numbers(context)
    _order(context)
    _weights(context)
    predicted = {
        token[0].key
        for definition in context.outline.definitions
        if definition.probability is not None and definition.probability.arguments
        if (token := lowering.token_of(definition.probability.arguments[0])) is not None
    }
    predicted |= {reference.key for reference, _, _ in context.outline.generated}
    suspect_times(context, predicted)


def _inside(site: Span, equation: Span) -> bool:
    return (
        site.source is equation.source and site.start < equation.end and equation.start < site.end
    )


def _shown(name: str) -> str:
    """An index as the author wrote it: without the marks of a function's own indices."""
    return name.partition("°")[0]


# ---------------------------------------------------------------------- indices that are missing


def _constant(context: Context, statement: RawStatement) -> None:
    """An index on the left that the right side does not have."""
    body = statement.body
    if not any(isinstance(n, ir.Read) for n in body.walk()):
        return  # `α[t_1,t_2] = 0 for …`
    used = free_indices(body) | (free_indices(statement.guard) if statement.guard else set())
    for variable in statement.variables:
        if variable.name not in used and variable.span.text and variable.family != BATCH:
            context.messages.warning(
                "constant-index",
                f"{statement.target} is the same for all {_shown(variable.name)}: nothing on the right has it",
                (statement.left_span, f"{_shown(variable.name)} here"), (body.span, "and not here"),
                hint=f"is {_shown(variable.name)} missing on the right?",
            )  # fmt: skip


def _fixed(context: Context, statement: RawStatement) -> None:
    """`h[T-1,I]` in an equation for every t: one element for all, where `t-1` may be meant."""
    by_class = {context.classes.find(v.size): v for v in statement.variables}
    for read in reads(statement):
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
                    small, large = _shown(variable.name), capital(variable.family)
                    context.messages.warning(
                        "fixed-index", f"{read.tensor} is read at the same {small} for all {small}",
                        (read.span, f"{large} is a size"), (statement.left_span, f"for all {small}"),
                        hint=f"write {small} in place of {large}, if every {small} reads its own",
                    )  # fmt: skip


def _parameters(context: Context, expression: ir.Expression) -> Iterator[tuple[ir.Read, TensorInfo]]:
    """The reads of parameters that nobody declared."""
    for node in expression.walk():
        if isinstance(node, ir.Read):
            info = context.tensors.get(node.tensor)
            if info is not None and info.role == "parameter" and not info.hidden:
                if node.tensor not in context.outline.parameters:
                    yield node, info


def _variables(context: Context, statement: RawStatement) -> dict[str, Variable]:
    found = {v.name: v for v in statement.variables}
    for node in statement.body.walk():
        if isinstance(node, ir.Reduce | ir.Softmax):
            for index in node.indices:
                number = int((index.extent.name or "#ex0")[3:])
                found.setdefault(index.name, context.variables[number])
    return found


def _terms(context: Context, statement: RawStatement, sequence: set[int]) -> None:
    """A term of a sum without an index that all the other terms have."""
    known = _variables(context, statement)
    for node in statement.body.walk():
        if not isinstance(node, ir.Apply) or node.function != "+":
            continue
        free = [free_indices(a) for a in node.arguments]
        for number, term in enumerate(node.arguments):
            others = [f for n, f in enumerate(free) if n != number]
            missing = set.intersection(*others) - free[number] if others else set()
            at = list(_parameters(context, term))
            for name in sorted(missing):
                variable = known.get(name)
                if variable is None or not at or context.classes.find(variable.size) in sequence:
                    continue
                rest = [a for n, a in enumerate(node.arguments) if n != number]
                context.messages.warning(
                    "term-index",
                    f"this term is the same for all {_shown(name)}, which every other term has",
                    *((read.span, f"no {_shown(name)} here") for read, _ in at),
                    *((a.span, f"{_shown(name)} here") for a in rest),
                    hint=f"is {_shown(name)} missing in {' or '.join(dict.fromkeys(r.tensor for r, _ in at))}?",
                )  # fmt: skip


def _factors(context: Context, statement: RawStatement, sequence: set[int]) -> None:
    """`Σ_i W[j] h[i]`: a parameter inside a sum over an index that only the other factor has."""
    known = _variables(context, statement)
    for node in statement.body.walk():
        if not isinstance(node, ir.Reduce) or not isinstance(node.body, ir.Apply):
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
                    f"the sum runs over {_shown(index.name)}, which {at[0].tensor} does not have",
                    *((read.span, f"no {_shown(index.name)} here") for read in at),
                    (having[0].span, f"only here"),
                    hint=f"is {_shown(index.name)} missing in {at[0].tensor}?",
                )  # fmt: skip


def _cancelled(context: Context, statement: RawStatement) -> None:
    """A term under a softmax without its index: it changes nothing."""
    for node in statement.body.walk():
        if not isinstance(node, ir.Softmax) or not isinstance(node.body, ir.Apply):
            continue
        if node.body.function != "+":
            continue
        names = {i.name for i in node.indices}
        for term in node.body.arguments:
            if not free_indices(term) & names:
                over = ", ".join(sorted(_shown(n) for n in names))
                context.messages.warning(
                    "cancels", f"this term is the same for all {over}, so the softmax cancels it",
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
        for read, _ in _parameters(context, statement.body):
            if free_indices(read) & layers:
                having.setdefault(read.tensor, read.span)
            else:
                lacking.setdefault(read.tensor, (read.span, statement, sorted(layers)[0]))
    if len(lacking) == 1 and len(having) >= 2:
        key, (span, statement, layer) = next(iter(lacking.items()))
        other, at = next(iter(having.items()))
        context.messages.warning(
            "shared-layers", f"{key} is the same in all layers, and no other parameter is",
            (span, f"no {layer} here"), (at, f"{other} has {layer}"),
            hint=f"write {key}_{{{layer}+1}}, or declare `parameter {key}[…]` if it is shared",
        )  # fmt: skip


# ---------------------------------------------------------------------- indices that are exchanged


def _names_of(context: Context, info: TensorInfo) -> tuple[str, ...]:
    """The indices of a tensor as its definition or declaration writes them."""
    if info.key in context.outline.inputs:
        items = context.outline.inputs[info.key][0].items
        return tuple(name_key(i) if isinstance(i, Name) else "" for i in items)
    for statement in context.statements:
        if statement.target == info.key:
            return tuple(p.shift[0] if isinstance(p, ir.Affine) and p.shift else "" for p in statement.left)
    return ()


def _numbers(context: Context) -> None:
    """`α[k,t_2,t_1]` where α is defined as `α[k,t_1,t_2]`; numbers that count down on a left side."""
    for statement in context.statements:
        names = [p.shift[0] if isinstance(p, ir.Affine) and p.shift else "" for p in statement.left]
        if not context.tensors[statement.target].hidden and not isinstance(statement.body, ir.Read):
            for a, b in zip(names, names[1:], strict=False):
                if NUMBERED.fullmatch(f"{a} {b}") and a > b:
                    _say_numbers(context, statement.left_span, a, b, statement.body.span)
        found = list(reads(statement))
        for read in found:
            info = context.tensors.get(read.tensor)
            defined = _names_of(context, info) if info is not None and not info.hidden else ()
            here = _plain(read)
            if len(defined) != len(here) or statement.target == read.tensor:
                continue
            exchanged = [n for n, (x, y) in enumerate(zip(here, defined, strict=True)) if x != y]
            if len(exchanged) != 2 or not all(here[n] in defined for n in exchanged):
                continue
            if any(_plain(o) == defined for o in found if o.tensor == read.tensor):
                continue
            assert info is not None
            context.messages.warning(
                "index-order",
                f"the indices of {read.tensor} are exchanged: it is known as "
                f"{read.tensor}[{', '.join(_shown(n) or '·' for n in defined)}]",
                (read.span, "exchanged here"), (info.span, "known from here"),
                hint="put them in the same order, or use other letters if the exchange is meant",
            )  # fmt: skip


def _say_numbers(context: Context, span: Span, a: str, b: str, body: Span) -> None:
    context.messages.warning(
        "index-order", f"{a} stands before {b} on the left: are the two exchanged?",
        (span, f"{a} before {b}"), (body, ""), hint=f"write {b} first, or call them otherwise",
    )  # fmt: skip


def _plain(read: ir.Read) -> tuple[str, ...]:
    return tuple(
        p.shift[0] if isinstance(p, ir.Affine) and p.shift and not p.shift[1] else "" for p in read.places
    )


def _order(context: Context) -> None:
    """`y[j,t]` in a program whose other tensors have t before j."""
    known: dict[tuple[str, str], TensorInfo] = {}
    seen: list[tuple[TensorInfo, list[str]]] = []
    for info in context.tensors.values():
        declared = info.key in context.outline.parameters
        if info.hidden or not (info.role in ("defined", "input") or declared):
            continue
        letters = [a.letter for a in info.axes if a.letter and not a.letter.startswith("(")]
        if len(set(letters)) == len(letters):
            seen.append((info, letters))
    pairs: Callable[[list[str]], list[tuple[str, str]]] = lambda letters: [
        (a, b) for n, a in enumerate(letters) for b in letters[n + 1 :]
    ]
    for info, letters in seen:
        for pair in pairs(letters):
            known.setdefault(pair, info)
    for info, letters in seen:
        for a, b in pairs(letters):
            other = known.get((b, a))
            if other is None or known[a, b] is not info or other is info:
                continue
            same = sum(1 for i, l in seen if (b, a) in pairs(l))
            mine = sum(1 for i, l in seen if (a, b) in pairs(l))
            if mine > same or (mine == same and info.span.start < other.span.start) or mine > 1:
                continue
            if _copied(context, info.key):
                continue
            context.messages.warning(
                "axis-order", f"{info.key} has {a} before {b}, and {other.key} has {b} before {a}",
                (info.span, f"{a}, {b}"), (other.span, f"{b}, {a}"),
                hint=f"write {b} first here too, if no exchange is meant",
            )  # fmt: skip


def _copied(context: Context, key: str) -> bool:
    """`y[j,t] = x[t,j]`: the exchange is what the equation is for."""
    return any(st.target == key and isinstance(st.body, ir.Read) for st in context.statements)


def _weights(context: Context) -> None:
    """Weights from a softmax that are summed along another axis than the one they add up to one on."""
    normal: dict[str, tuple[set[int], Span]] = {}
    for statement in context.statements:
        if isinstance(statement.body, ir.Softmax):
            names = {i.name for i in statement.body.indices}
            axes = {
                n for n, p in enumerate(statement.left)
                if isinstance(p, ir.Affine) and p.shift and p.shift[0] in names
            }  # fmt: skip
            normal[statement.target] = (axes, statement.left_span)
    for statement in context.statements:
        free = {v.name for v in statement.variables}
        for read in reads(statement):
            if read.tensor not in normal or statement.target == read.tensor:
                continue
            axes, defined = normal[read.tensor]
            letters = [a.letter for a in context.tensors[read.tensor].axes]
            summed = {
                n for n, p in enumerate(read.places)
                if isinstance(p, ir.Affine) and p.terms and not {x for x, _ in p.terms} & free
            }  # fmt: skip
            along = {letters[n] for n in axes}
            wrong = [n for n in summed - axes if letters[n] in along]
            if wrong and not summed & axes:
                context.messages.warning(
                    "weights-axis",
                    f"{read.tensor} adds up to one along its index {min(axes) + 1}, and is summed along "
                    f"its index {wrong[0] + 1}",
                    (read.span, "summed here"), (defined, "its softmax"),
                    hint="exchange the two indices, here or there",
                )  # fmt: skip
