"""What stands behind the bar of a `P`, against what is really read; and whether it is a distribution.

    P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,I] h[t,I]      where h[t] reads w[t]:
                                                                  it looks ahead

The program is run on small random values, and run again with one token changed: a distribution may
change only if that token is listed, and must change for the nearest ones that are. Summed over all
words it must be 1.
"""

from __future__ import annotations

from functools import lru_cache

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.meaning.arrays import InterpretError, gather_given
from indicial.program.meaning.differing import dependent
from indicial.program.meaning.machine import Machine
from indicial.program.meaning.sample import Sample, sample, small_sizes
from indicial.program.messages import Messages
from indicial.program.names.letters import family, index_name, shifted
from indicial.program.names.outline import Definition, Outline
from indicial.program.rewrite import needed_names

Bound = tuple[str, int]
"""A place behind the bar: ("number", 0), ("index", -1) for t-1, ("size", 0) for T."""


def machine_on(code: ir.Code, drawn: Sample) -> Machine:
    """The program, ready to be run on a sample."""
    arrays = {**code.constants, **drawn.inputs, **drawn.parameters, **drawn.draws}
    return Machine(code, gather_given(code, arrays, drawn.sizes, {}))


def check_given(code: ir.Code, outline: Outline, messages: Messages) -> None:
    """Says which tokens a distribution reads and should not, or does not read and should."""
    for definition in outline.definitions:
        call = definition.probability
        if call is None or call.given is None or definition.key not in code.tensors:
            continue
        subject = _token(outline, call.arguments[0])
        if subject is None or subject[0] not in code.tensors:
            continue
        listed = _listed(outline, call.given, subject[0])
        if listed and len(code.tensors[subject[0]].axes) == 1:
            _judge(code, definition, call, subject, listed, messages)


def check_sums(code: ir.Code, outline: Outline, messages: Messages) -> None:
    """Says which `P(w_t | …) = …` does not add up to 1; prose may leave the reason to its words."""
    for definition in outline.definitions:
        call = definition.probability
        if outline.document or call is None or len(call.arguments) != 1:
            continue
        statements = code.of(definition.key)
        if not statements or all(_is_softmax(st) for st in statements):
            continue
        worst = _furthest(code, definition.key)
        if worst is None:
            continue
        at, total = worst
        letters = [axis.letter for axis in code.tensors[definition.key].axes]
        where = ", ".join(f"{letter} = {n}" for letter, n in zip(letters, at, strict=False))
        word = unicode(call.arguments[0])
        said = f"this is not a distribution: {f'at {where} ' if where else ''}it adds up to {total:.3g} over all {word}"
        sites = (
            (definition.left.span, "is to be one"),
            (definition.body.span, "adds up to something else"),
        )
        hint = (
            "mix distributions with weights that add up to 1, `g[t] (softmax_{…} …) + (1 - g[t]) p[t,…]`; without "
            "brackets a softmax reaches to the end"
        )
        if total > 1:
            messages.error("no-distribution", said, *sites, hint=hint)
        else:
            messages.warning("no-distribution", said, *sites, hint=hint)


def _is_softmax(statement: ir.Statement) -> bool:
    """Whether it is a softmax over its last index, as most are: nothing to try."""
    body, over = statement.body, statement.left[-1]
    return (
        isinstance(body, ir.Softmax)
        and isinstance(over, ir.Affine)
        and [i.name for i in body.indices] == [name for name, _ in over.terms]
    )


def _furthest(code: ir.Code, target: str) -> tuple[tuple[int, ...], float] | None:
    """Where the sum over the last axis is furthest above 1, or else below, on random values."""
    import numpy as np

    drawn = sample(code, small_sizes(code, 3), 5)
    try:
        sums = machine_on(code, drawn).array(target).sum(axis=-1)
    except (InterpretError, ValueError, KeyError):
        return None
    off = np.where(np.isfinite(sums), sums - 1, 0)
    if not (abs(off) > 1e-6).any():
        return None
    flat = off.argmax() if off.max() > 1e-6 else off.argmin()
    at = np.unravel_index(int(flat), off.shape)
    lowers = [int(axis.lower.number or 0) for axis in code.tensors[target].axes]
    return tuple(int(n) + low for n, low in zip(at, lowers, strict=False)), float(sums[at])


def _judge(
    code: ir.Code,
    definition: Definition,
    call: s.Call,
    subject: tuple[str, s.Expression],
    listed: list[tuple[Bound, Bound]],
    messages: Messages,
) -> None:
    key, place = subject
    base = index_name(s.terms(place)[0])
    bound = _bound(place)
    if bound is None or bound[0] != "index" or base is None:
        return
    offsets = sorted({b[1] for pair in listed for b in pair if b[0] == "index"})
    changes = (-1, 1, 0) if offsets and offsets[0] < -1 else (-1, 1)
    tried = _dependence(code, definition.key, key, bound[1], changes, 2)
    if tried is None:
        return
    needs, first, last = tried
    name = unicode(call.arguments[0])
    reads = [(span, f"{key} is read here") for span in _token_reads(code, definition.key, key)]
    for t, changed in sorted(needs):
        if needs[t, changed] and not _within(changed, t, listed, last):
            at = _place(family(base), changed - t)
            messages.error(
                "looks-ahead", f"{name} is predicted from {key}[{at}], which is not behind the bar",
                (definition.left.span, "says it depends on no more"),
                (definition.body.span, "depends on it"), *reads,
                hint=f"read {key} or the state one step earlier, or list {key}[{at}] behind the bar",
            )  # fmt: skip
            return
    if _carried(code, definition.key, key):
        return
    for offset in offsets:
        pairs = [p for p in needs if p[1] - p[0] == offset and first <= p[0] <= last]
        if not pairs or any(needs[p] for p in pairs):
            continue
        # A layer norm of two numbers gives 1 and -1 whatever they are: three tell more.
        lower = int(code.tensors[key].axes[0].lower.number or 0)
        those = tuple({place - lower for _, place in pairs})
        again = _dependence(code, definition.key, key, bound[1], those, 3)
        if again is not None and not any(again[0][p] for p in pairs):
            at = _place(family(base), offset)
            messages.warning(
                "given-unused", f"{key}[{at}] is behind the bar, but {name} does not depend on it",
                (definition.left.span, "it is listed here"), (definition.body.span, "but has no effect"), *reads,
                hint=f"is {key}, or something computed from it, read a step too early?",
            )  # fmt: skip
            return


def _carried(code: ir.Code, target: str, tokens: str) -> bool:
    """Whether another input along the text is read: it may carry what the tokens say."""
    letter = code.tensors[tokens].axes[0].letter
    others = needed_names(code.statements, [target]) - {tokens}
    inputs = [t for n, t in code.tensors.items() if n in others and t.role == "input"]
    return any(axis.letter == letter for tensor in inputs for axis in tensor.axes)


def _place(letter: str, offset: int) -> str:
    return f"{letter}{offset:+d}" if offset else letter


def _token_reads(code: ir.Code, target: str, tokens: str) -> list[Span]:
    """Where the equations that a tensor needs read the tokens."""
    needed = needed_names(code.statements, [target])
    statements = [statement for statement in code.statements if statement.target in needed]
    reads = [read for st in statements for read in st.body.every(ir.Read) if read.tensor == tokens]
    return list(dict.fromkeys(read.span for read in reads if read.span.text))[:4]


def _token(outline: Outline, node: s.Expression) -> tuple[str, s.Expression] | None:
    use = outline.use(node) if isinstance(node, s.Name | s.Index) else None
    if use is None or use.kind != "tensor" or len(use.reference.items) != 1:
        return None
    return use.reference.key, use.reference.items[0]


def _listed(
    outline: Outline, given: tuple[s.Expression, ...], key: str
) -> list[tuple[Bound, Bound]] | None:
    """The stretches of tokens behind the bar; None if they cannot be told."""
    result: list[tuple[Bound, Bound]] = []
    position = 0
    while position < len(given):
        token = _token(outline, given[position])
        if token is None or token[0] != key:
            if isinstance(given[position], s.Dots):
                return None
            position += 1
            continue
        first = _bound(token[1])
        last = first
        if position + 2 < len(given) and isinstance(given[position + 1], s.Dots):
            end = _token(outline, given[position + 2])
            if end is None or end[0] != key:
                return None
            last = _bound(end[1])
            position += 2
        position += 1
        if first is None or last is None:
            return None
        result.append((first, last))
    return result


def _bound(node: s.Expression) -> Bound | None:
    if isinstance(node, s.Number) and node.text.isdigit():
        return ("number", int(node.text[:6]))
    found = shifted(node)
    if found is None:
        return None
    return ("size" if found[0].base.isupper() else "index", found[1])


Dependence = tuple[dict[tuple[int, int], bool], int, int]


def _dependence(
    code: ir.Code, target: str, tokens: str, shift: int, changes: tuple[int, ...], size: int
) -> Dependence | None:
    """For places t and c whether P at t changes with the token at c; the first and the last place."""
    needed = {tokens, *needed_names(code.statements, [target])}
    return _tried(
        tuple(code.tensors[name] for name in sorted(needed & code.tensors.keys())),
        tuple(statement for statement in code.statements if statement.target in needed),
        tuple((name, value) for name, value in code.constants.items() if name in needed),
        tuple(draw for draw in code.draws if draw.tensor in needed),
        tuple(sorted(code.sizes)), target, tokens, shift, changes, size,
    )  # fmt: skip


@lru_cache(64)
def _tried(
    tensors: tuple[ir.Tensor, ...],
    statements: tuple[ir.Statement, ...],
    constants: tuple[tuple[str, ir.Literal], ...],
    draws: tuple[ir.Draw, ...],
    names: tuple[str, ...],
    target: str,
    tokens: str,
    shift: int,
    changes: tuple[int, ...],
    size: int,
) -> Dependence | None:
    """The same of equations wherever they stand: it is remembered while one types beside them."""
    known = {tensor.name: tensor for tensor in tensors}
    code = ir.Code(known, statements, dict.fromkeys(names), dict(constants), draws)
    axis = code.tensors[tokens].axes[0]
    length = axis.extent.name
    if length is None:
        return None
    sizes = small_sizes(code, size)
    for tensor in code.tensors.values():
        for number, of in enumerate(tensor.axes):
            if of.letter == "ℓ" and of.extent.name in sizes and number == 0:
                sizes[of.extent.name] = 1  # one layer shows what many would
    import numpy as np

    sizes[length] = max(3, sizes[length])
    vocabulary = code.tensors[tokens].values
    if vocabulary is not None and vocabulary.name is not None:
        sizes[vocabulary.name] = max(3, sizes[vocabulary.name])
    drawn = sample(code, sizes, size + 3)
    lower = int(axis.lower.number or 0)
    start = int(code.tensors[target].axes[0].lower.number or 0)  # `P(w_{t+2} | …)` begins at 2
    needs: dict[tuple[int, int], bool] = {}
    differing = dependent(code, frozenset({tokens}))
    try:
        first = machine_on(code, drawn)
        before = first.array(target)
        for changed in (change % sizes[length] for change in changes):
            count = vocabulary.value(sizes) if vocabulary is not None else 2
            text = drawn.inputs[tokens].copy()
            text[changed] = (text[changed] + 1) % max(2, count)
            other = Sample(sizes, {**drawn.inputs, tokens: text}, drawn.parameters, drawn.draws)
            machine = machine_on(code, other)
            machine.adopt(first, differing)
            after = machine.array(target)
            for position in range(min(len(before), sizes[length])):
                with np.errstate(all="ignore"):  # infinities do not differ
                    differs = bool((abs(before[position] - after[position]) > 1e-12).any())
                needs[position + start - shift, changed + lower] = differs
    except (InterpretError, ValueError, KeyError):
        return None
    return needs, start - shift, sizes[length] + lower - 1


def _within(value: int, t: int, listed: list[tuple[Bound, Bound]], last: int) -> bool:
    def at(bound: Bound) -> int:
        kind, offset = bound
        if kind == "number":
            return offset
        return t + offset if kind == "index" else last + 1 + offset

    return any(at(first) <= value <= at(end) for first, end in listed)
