"""Indices in another order than elsewhere.

h[t,j] = …   beside   W[j,I] h[I,t-1]           exchanged: h is h[t, j]
α[k,t_1,t_2] = …   beside   α[k,t_2,t_1]         the numbers say that they are exchanged
y[j,t] = …   beside   x[t,j]                     t stands before j in all other tensors
h̃[k,t,i] = α[k,T,t] Value[k,T,i]                the weights add up to one along the other axis
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.notation.syntax import Name
from indicial.program import ir
from indicial.program.checks.timing import reads
from indicial.program.lowering.context import Context, RawStatement, TensorInfo
from indicial.program.lowering.places import describe
from indicial.program.names.occurrences import recurrences

FEATURES = "cdfijkmn"
"""Letters that may number the rows of a matrix as well as its columns."""
NUMBERED = re.compile(r"(.+)_\d \1_\d")
"""`t_1 t_2`: the same letter with two numbers."""


TURNED = re.compile(r"⊤|\\top|\^\{?-?T")
"""`A^⊤[i,j]`, which is A[j,i] on purpose."""


def shown(name: str) -> str:
    """An index as the author wrote it: without the marks of a function's own indices."""
    return name.partition("°")[0]


Occurrence = tuple[Span, tuple[str, ...], int]
"""Where a tensor stands, the families of its indices there, and the number of the equation."""


def exchanged(context: Context) -> bool:
    """`h[j,t]` where h is `h[t,j]` elsewhere: the same indices in another order."""
    positions = _positions(context)
    written = _written(context)
    found = False
    for info in context.tensors.values():
        occurrences = [] if info.hidden else _occurrences(info, written)
        if len({families for _, families, _ in occurrences}) < 2:
            continue
        for odd, usual in (*_moved(occurrences, positions), *_permuted(occurrences)):
            if TURNED.search(odd[0].text) or _meant(context, info, odd, usual, occurrences):
                continue
            found = True
            letters = ", ".join(usual[1]).replace("@", "…")
            context.messages.error(
                "index-order",
                f"the indices of {info.key} are swapped: elsewhere it is {info.key}[{letters}]",
                (odd[0], "swapped here"), (usual[0], "as it is here"),
                hint="put them in the same order, or use other letters if the swap is intended",
            )  # fmt: skip
    return found


def _meant(
    context: Context, info: TensorInfo, odd: Occurrence, usual: Occurrence, found: list[Occurrence]
) -> bool:
    """`claim a[t,s] = a[s,t]`, `a[t,s] - a[s,t]`: read both ways in one line, which means it: in a
    claim, and in an equation if the two letters stand at one place of another tensor as well."""
    _, families, number = odd
    both = any(f == usual[1] and n == number for _, f, n in found)
    if not both or sorted(families) != sorted(usual[1]):
        return False
    if number >= len(context.outline.definitions):
        return True
    exchanged = {f for f, g in zip(families, usual[1], strict=True) if f != g}
    for other in context.tensors.values():
        if other is not info and not other.hidden:
            for place in zip(
                *(f for _, f, _ in other.reads if len(f) == len(other.axes)), strict=True
            ):
                if exchanged <= set(place):
                    return True
    return False


def _positions(context: Context) -> set[str]:
    """The families that say where in a text, an image, a batch or a stack something stands."""
    found = recurrences(context.outline) | {"b", "@"}
    for reference, domain in context.outline.inputs.values():
        items = reference.items if domain is not None else reference.items[:-1]
        found |= {f for f in map(describe, items) if domain is not None or f[0] not in FEATURES}
    return found - {"#"}


def _moved(found: list[Occurrence], positions: set[str]) -> Iterator[tuple[Occurrence, Occurrence]]:
    """Occurrences that have a position's letter at another place than most, each with a usual one."""
    for letter in sorted(positions):
        at = [
            (tuple(n for n, f in enumerate(o[1]) if f == letter), o)
            for o in found
            if letter in o[1]
        ]
        counts = Counter(places for places, _ in at)
        if len(counts) < 2:
            continue
        most = max(counts, key=lambda places: counts[places])
        usual = next(o for places, o in at if places == most)
        for places, one in at:
            if len(places) == len(most) and places != most:
                yield one, usual


def _permuted(found: list[Occurrence]) -> Iterator[tuple[Occurrence, Occurrence]]:
    """Occurrences with the same letters as more frequent ones, in another order."""
    counts = Counter(families for _, families, _ in found)
    usual: dict[tuple[str, ...], tuple[str, ...]] = {}
    for families in counts:
        key = tuple(sorted(families))
        usual[key] = max(usual.get(key, families), families, key=lambda f: counts[f])
    home = {families: occurrence for occurrence in reversed(found) for families in [occurrence[1]]}
    equations = {(families, number) for _, families, number in found}
    for one in found:
        most = usual[tuple(sorted(one[1]))]
        # `A[I,J] A[J,I]`: an equation that reads it both ways means it.
        if one[1] != most and (most, one[2]) not in equations:
            yield one, home[most]


def _written(context: Context) -> dict[str, list[Occurrence]]:
    """Where each name is declared and defined, without what was put in front of its indices."""
    outline = context.outline
    found: dict[str, list[Occurrence]] = {}
    for reference in (*(r for r, _ in outline.inputs.values()), *outline.parameters.values()):
        families = tuple(describe(i) for i in reference.items)
        found.setdefault(reference.key, []).append((reference.span, families, -1))
    for number, definition in enumerate(outline.definitions):
        if definition.probability is None:
            families = tuple(describe(i) for i in definition.items)
            one = (definition.left.span, families, -2 - number)
            found.setdefault(definition.key, []).append(one)
    return found


def _occurrences(info: TensorInfo, written: dict[str, list[Occurrence]]) -> list[Occurrence]:
    """Where a tensor is declared, defined and read: the families of its indices, and the statement."""
    lifted = tuple(describe(i) for i in info.lifted)
    found = [
        (span, families if number == -1 else (*lifted, *families), number)
        for span, families, number in written.get(info.key, ())
    ]
    found.extend(info.reads)
    return [o for o in found if len(o[1]) == len(info.axes)]


def _names_of(
    context: Context, info: TensorInfo, firsts: dict[str, RawStatement]
) -> tuple[str, ...]:
    """The indices of a tensor as its definition or declaration writes them."""
    if info.key in context.outline.inputs:
        items = context.outline.inputs[info.key][0].items
        return tuple(name_key(i) if isinstance(i, Name) else "" for i in items)
    if info.key not in firsts:
        return ()
    left = firsts[info.key].left
    return tuple(p.shift[0] if p.shift else "" for p in left)


def numbers(context: Context) -> None:
    """`α[k,t_2,t_1]` where α is defined as `α[k,t_1,t_2]`; numbers that count down on a left side."""
    firsts: dict[str, RawStatement] = {}
    for statement in context.statements:
        firsts.setdefault(statement.target, statement)
    for statement in context.statements:
        names = [p.shift[0] if p.shift else "" for p in statement.left]
        if not context.tensors[statement.target].hidden and not isinstance(statement.body, ir.Read):
            for a, b in pairwise(names):
                if NUMBERED.fullmatch(f"{a} {b}") and a > b:
                    _say_numbers(context, statement.left_span, a, b, statement.body.span)
        found = list(reads(statement))
        for read in found:
            info = context.tensors.get(read.tensor)
            defined = (
                _names_of(context, info, firsts) if info is not None and not info.hidden else ()
            )
            here = _plain(read)
            if len(defined) != len(here) or statement.target == read.tensor:
                continue
            exchanged = [n for n, (x, y) in enumerate(zip(here, defined, strict=True)) if x != y]
            if len(exchanged) != 2 or not all(here[n] in defined for n in exchanged):
                continue
            if TURNED.search(read.span.text):
                continue
            if any(_plain(o) == defined for o in found if o.tensor == read.tensor):
                continue
            assert info is not None
            context.messages.warning(
                "index-order",
                f"the indices of {read.tensor} are swapped: elsewhere it is "
                f"{read.tensor}[{', '.join(shown(n) or '·' for n in defined)}]",
                (read.span, "swapped here"), (info.span, "as it is here"),
                hint="put them in the same order, or use other letters if the swap is intended",
            )  # fmt: skip


def _say_numbers(context: Context, span: Span, a: str, b: str, body: Span) -> None:
    context.messages.warning(
        "index-order", f"{a} stands before {b} on the left: are the two swapped?",
        (span, f"{a} before {b}"), (body, ""), hint=f"write {b} first, or rename them",
    )  # fmt: skip


def _plain(read: ir.Read) -> tuple[str, ...]:
    return tuple(p.shift[0] if p.shift and not p.shift[1] else "" for p in read.places)


def order(context: Context) -> None:
    """`y[j,t]` in a program whose other tensors of these letters are `x[t,j]`."""
    found: dict[tuple[str, ...], list[tuple[tuple[str, ...], TensorInfo]]] = defaultdict(list)
    for info in context.tensors.values():
        declared = info.key in context.outline.parameters
        letters = tuple(a.letter for a in info.axes)
        if not info.hidden and (info.role in ("defined", "input") or declared) and all(letters):
            found[tuple(sorted(letters))].append((letters, info))
    for group in found.values():
        counts = Counter(letters for letters, _ in group)
        most = max(counts, key=lambda letters: counts[letters])
        usual = next(info for letters, info in group if letters == most)
        for letters, info in group:
            if letters == most or counts[letters] > 1 or _copied(context, info.key):
                continue
            context.messages.warning(
                "axis-order",
                f"{info.key}[{', '.join(letters)}] and {usual.key}[{', '.join(most)}] have the same "
                f"indices in different orders",
                (info.span, "here"), (usual.span, "and here"),
                hint=f"write [{', '.join(most)}] here too, unless the swap is intended",
            )  # fmt: skip


def _copied(context: Context, key: str) -> bool:
    """`y[j,t] = x[t,j]`: the exchange is what the equation is for."""
    return any(st.target == key and isinstance(st.body, ir.Read) for st in context.statements)


def weights(context: Context) -> None:
    """Weights from a softmax that are summed along another axis than the one they add up to one on."""
    normal: dict[str, tuple[set[int], Span]] = {}
    for statement in context.statements:
        if isinstance(statement.body, ir.Softmax):
            names = {i.name for i in statement.body.indices}
            axes = {
                n for n, p in enumerate(statement.left)
                if p.shift and p.shift[0] in names
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
                    f"{read.tensor} adds up to one along its index {min(axes) + 1}, but is summed along "
                    f"its index {wrong[0] + 1}",
                    (read.span, "summed here"), (defined, "its softmax"),
                    hint="swap the two indices, here or there",
                )  # fmt: skip
