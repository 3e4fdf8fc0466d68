"""Indices in another order than elsewhere.

h[t,j] = …   beside   W[j,I] h[I,t-1]           exchanged: h is h[t, j]
α[k,t_1,t_2] = …   beside   α[k,t_2,t_1]         the numbers say that they are exchanged
y[j,t] = …   beside   x[t,j]                     t stands before j in all other tensors
h̃[k,t,i] = α[k,T,t] Value[k,T,i]                the weights add up to one along the other axis
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.notation.syntax import Name
from indicial.program import ir
from indicial.program.context import Context, TensorInfo
from indicial.program.places import describe
from indicial.program.shapes import recurrences
from indicial.program.timing import reads

NUMBERED = re.compile(r"(.+)_\d \1_\d")
"""`t_1 t_2`: the same letter with two numbers."""


def shown(name: str) -> str:
    """An index as the author wrote it: without the marks of a function's own indices."""
    return name.partition("°")[0]


Occurrence = tuple[Span, tuple[str, ...], int]
"""Where a tensor stands, the families of its indices there, and the number of the equation."""


def exchanged(context: Context) -> bool:
    """`h[j,t]` where h is `h[t,j]` elsewhere: the same indices in another order."""
    positions = _positions(context)
    found = False
    for info in context.tensors.values():
        occurrences = [] if info.hidden else _occurrences(context, info)
        if len({families for _, families, _ in occurrences}) < 2:
            continue
        for odd, usual in (*_moved(occurrences, positions), *_permuted(occurrences)):
            found = True
            letters = ", ".join(usual[1]).replace("@", "…")
            context.messages.error(
                "index-order",
                f"the indices of {info.key} are exchanged: elsewhere it is {info.key}[{letters}]",
                (odd[0], "exchanged here"), (usual[0], "known from here"),
                hint="put them in the same order, or use other letters if the exchange is meant",
            )  # fmt: skip
    return found


def _positions(context: Context) -> set[str]:
    """The families that say where in a text, an image, a batch or a stack something stands."""
    found = recurrences(context.outline) | {"b", "@"}
    for reference, domain in context.outline.inputs.values():
        items = reference.items if domain is not None else reference.items[:-1]
        found |= {describe(i) for i in items}
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
    """Occurrences with the same letters as a more frequent one, in another order."""
    counts = Counter(families for _, families, _ in found)
    for number, one in enumerate(found):
        for earlier, other in enumerate(found):
            rarer = (counts[other[1]], -earlier) > (counts[one[1]], -number)
            if one[1] != other[1] and sorted(one[1]) == sorted(other[1]) and rarer:
                # `A[I,J] A[J,I]`: one equation that reads both ways means it.
                if one[2] != other[2]:
                    yield one, other
                    break


def _occurrences(context: Context, info: TensorInfo) -> list[Occurrence]:
    """Where a tensor is declared, defined and read: the families of its indices, and the statement."""
    outline = context.outline
    found: list[Occurrence] = []
    declared = [r for r, _ in outline.inputs.values()] + list(outline.parameters.values())
    for reference in declared:
        if reference.key == info.key:
            found.append((reference.span, tuple(describe(i) for i in reference.items), -1))
    for number, definition in enumerate(outline.definitions):
        if definition.key == info.key and definition.probability is None:
            families = tuple(describe(i) for i in (*info.lifted, *definition.items))
            found.append((definition.left.span, families, -2 - number))
    found.extend(info.reads)
    return [o for o in found if len(o[1]) == len(info.axes)]


def _names_of(context: Context, info: TensorInfo) -> tuple[str, ...]:
    """The indices of a tensor as its definition or declaration writes them."""
    if info.key in context.outline.inputs:
        items = context.outline.inputs[info.key][0].items
        return tuple(name_key(i) if isinstance(i, Name) else "" for i in items)
    for statement in context.statements:
        if statement.target == info.key:
            return tuple(
                p.shift[0] if isinstance(p, ir.Affine) and p.shift else "" for p in statement.left
            )
    return ()


def numbers(context: Context) -> None:
    """`α[k,t_2,t_1]` where α is defined as `α[k,t_1,t_2]`; numbers that count down on a left side."""
    for statement in context.statements:
        names = [p.shift[0] if isinstance(p, ir.Affine) and p.shift else "" for p in statement.left]
        if not context.tensors[statement.target].hidden and not isinstance(statement.body, ir.Read):
            for a, b in pairwise(names):
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
                f"{read.tensor}[{', '.join(shown(n) or '·' for n in defined)}]",
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
        p.shift[0] if isinstance(p, ir.Affine) and p.shift and not p.shift[1] else ""
        for p in read.places
    )


def order(context: Context) -> None:
    """`y[j,t]` in a program whose other tensors have t before j."""
    known: dict[tuple[str, str], TensorInfo] = {}
    seen: list[tuple[TensorInfo, list[str]]] = []
    for info in context.tensors.values():
        declared = info.key in context.outline.parameters
        if info.hidden or not (info.role in ("defined", "input") or declared):
            continue
        letters = [a.letter for a in info.axes if a.letter and not a.letter.startswith("(")]
        seen.append((info, letters))
    counts = Counter(pair for _, letters in seen for pair in _pairs(letters))
    for info, letters in seen:
        for pair in _pairs(letters):
            known.setdefault(pair, info)
    for info, letters in seen:
        for a, b in _pairs(letters):
            other = known.get((b, a))
            if other is None or known[a, b] is not info or other is info:
                continue
            mine, same = counts[a, b], counts[b, a]
            if mine > same or (mine == same and info.span.start < other.span.start) or mine > 1:
                continue
            if _copied(context, info.key):
                continue
            context.messages.warning(
                "axis-order", f"{info.key} has {a} before {b}, and {other.key} has {b} before {a}",
                (info.span, f"{a}, {b}"), (other.span, f"{b}, {a}"),
                hint=f"write {b} first here too, if no exchange is meant",
            )  # fmt: skip


def _pairs(letters: list[str]) -> Iterator[tuple[str, str]]:
    """Each two letters of which the one stands wholly before the other."""
    last = {letter: number for number, letter in enumerate(letters)}
    for first in dict.fromkeys(letters):
        for second in dict.fromkeys(letters):
            if first != second and last[first] < letters.index(second):
                yield first, second


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
