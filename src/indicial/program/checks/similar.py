"""Names that are nearly other names.

E[w,I]   beside   e[w,I]              they differ in case
e_{otu}[w,I]   beside   e_{out}[w,I]  they differ in one letter
e[w,I]   beside   e_{in}, e_{out}     the subscript is lost
W^k[k,I,j]   beside   W^K[k,I,j]      the k above is no label, but an index

Weights whose superscript says what they multiply, beside one that multiplies something else:

W^{h,G}[j,I] h[t-1,I] + W^{x,G}[j,K] x[t,K]
W^{h,R}[j,I] h[t-1,I] + W^{x,R}[j,K] h'[t,K]        W^{x,…} multiplies x everywhere else
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.notation.syntax import Equation, Index, Name, Product
from indicial.program.lowering.context import Context, TensorInfo
from indicial.program.names.letters import index_name, is_capital


def undeclared(context: Context, info: TensorInfo) -> bool:
    return info.role in ("parameter", "input") and info.key not in context.outline.declared


def similar(context: Context) -> None:
    """`E[w,I]` beside `e[w,I]`, `e_{otu}` beside `e_{out}`: an undeclared name that is nearly another."""
    said = {m.span for m in context.messages.items if m.severity == "error"}
    by_case, by_word = by(context, lambda key: [uncased(key)]), by(context, slips)
    by_base = by(context, lambda key: [key.partition("_")[0]])
    position = {key: number for number, key in enumerate(context.tensors)}
    for info in context.tensors.values():
        if not undeclared(context, info) or info.hidden or not info.axes or info.span in said:
            continue
        found = {
            other.key: other
            for other in (
                *by_case[uncased(info.key)],
                *(o for slip in slips(info.key) for o in by_word[slip]),
                *by_base[info.key],
            )
        }
        worded = sum(
            1 for o in by_base[info.key]
            if o.key.startswith(info.key + "_{") and len(o.axes) == len(info.axes)
        )  # fmt: skip
        for other in sorted(found.values(), key=lambda o: position[o.key]):
            if other is info or other.hidden or len(other.axes) != len(info.axes):
                continue
            how = ""
            if recased(info.key, other.key):
                how = "differ only in case"
            elif mistyped(info.key, other.key):
                how = "differ in one letter"
            elif info.key == other.key.partition("_")[0] and worded > 1:
                how = "differ only in the subscript, which all others have"
            later = info.span.start >= other.span.start or other.role != info.role
            if how and later:
                context.messages.warning(
                    "similar-names", f"{info.key} and {other.key} {how}",
                    (info.span, f"{info.key} here"), (other.span, f"{other.key} here"),
                    hint=f"did you mean {other.key}? If not, declare `parameter {info.key}[…]`",
                    fix=(info.span, in_place(info.span, other.span)),
                    otherwise=f"if they are two, declare `parameter {info.key}[…]`",
                )  # fmt: skip


def in_place(span: Span, other: Span) -> str:
    """The name that stands at `other`, with the brackets that stand at `span`."""
    return other.text.partition("[")[0] + "".join(span.text.partition("[")[1:])


WORD = re.compile(r"[A-Za-z]{2,}")
MOST_WORDS, LONGEST_WORD = 8, 40


def by(
    context: Context, signs: Callable[[str], Iterable[str]]
) -> defaultdict[str, list[TensorInfo]]:
    """The tensors by what their names have in common with names that are nearly the same."""
    found: defaultdict[str, list[TensorInfo]] = defaultdict(list)
    for key, info in context.tensors.items():
        for sign in signs(key):
            found[sign].append(info)
    return found


def slips(key: str) -> set[str]:
    """What a name shares with every name that is mistyped for it: see `_mistyped`."""
    words = WORD.findall(key)
    if len(words) > MOST_WORDS or any(len(word) > LONGEST_WORD for word in words):
        return set()
    found: set[str] = set()
    gaps = WORD.sub("·", key)
    for number, word in enumerate(words):
        rest = " ".join([gaps, *words[:number], "·", *words[number + 1 :]])
        found.add(f"{rest} {''.join(sorted(word))}")
        found.add(f"{rest} {word}")
        found.update(f"{rest} {word[:n]}{word[n + 1 :]}" for n in range(len(word)))
    return found


def mistyped(one: str, other: str) -> bool:
    """Whether two names differ in one word, by a letter that is missing, doubled or exchanged."""
    words = [WORD.findall(key) for key in (one, other)]
    if WORD.sub("·", one) != WORD.sub("·", other) or len(words[0]) != len(words[1]):
        return False
    different = [(a, b) for a, b in zip(*words, strict=True) if a != b]
    if len(different) != 1:
        return False
    a, b = different[0]
    if len(a) == len(b):
        return len(a) > 2 and sorted(a) == sorted(b)
    short, long = sorted(different[0], key=len)
    return len(long) > 2 and any(long[:n] + long[n + 1 :] == short for n in range(len(long)))


def uncased(key: str) -> str:
    """A name with its letter in one case: see `_recased`."""
    base = key.partition("^")[0].partition("_")[0]
    return f"{base.casefold()} {key[len(base) :]}"


def recased(one: str, other: str) -> bool:
    """Whether two names differ in the case of their letter alone; `W^{h,r}` and `W^{h,R}` do not."""
    bases = [key.partition("^")[0].partition("_")[0] for key in (one, other)]
    tails = one[len(bases[0]) :] == other[len(bases[1]) :]
    return tails and bases[0] != bases[1] and bases[0].casefold() == bases[1].casefold()


# ---------------------------------------------------------------------- scripts of weights

LEAST = 2
"""So many products must say the same before one that does not is a slip."""


@dataclass(frozen=True)
class _Pair:
    """`W^{x,R}[j,K] h'[t,K]`: the weight with its first superscript, and what it multiplies."""

    weight: Index
    says: str
    factor: Index

    @property
    def agrees(self) -> bool:
        return isinstance(self.factor.base, Name) and self.factor.base.base == self.says


def misnamed_factors(context: Context) -> None:
    """Warns of the one weight that multiplies another tensor than its script says."""
    pairs = [
        pair for s in context.outline.statements if isinstance(s, Equation) for pair in _pairs(s)
    ]
    for says in sorted({pair.says for pair in pairs} & context.tensors.keys()):
        own = [pair for pair in pairs if pair.says == says]
        odd = [pair for pair in own if not pair.agrees]
        known = [pair for pair in own if pair.agrees]
        if len(known) < LEAST or len(odd) != 1:
            continue
        (one,) = odd
        assert isinstance(one.weight.base, Name) and isinstance(one.factor.base, Name)
        weight, factor = name_key(one.weight.base), name_key(one.factor.base)
        context.messages.warning(
            "script-factor",
            f"{weight} multiplies {factor} here, and every other weight of that kind multiplies {says}",
            (one.factor.span, f"not {says}"), (known[0].factor.span, f"{says} here"),
            hint=f"did you mean {says}, or is the weight another one?",
        )  # fmt: skip


def own_letters(context: Context) -> None:
    """`W^k[k,I,j]` beside `W^K[k,I,j]`: the k above is no label, but the index of W itself."""
    weights = [
        node for s in context.outline.statements if isinstance(s, Equation)
        for node in s.every(Index) if isinstance(node.base, Name) and len(node.base.sup) == 1
    ]  # fmt: skip
    known = {node.base: node for node in reversed(weights)}
    for node in weights:
        assert isinstance(node.base, Name)
        (script,) = node.base.sup
        if not isinstance(script, Name) or not script.bare or script not in node.items:
            continue
        meant = replace(node.base, sup=(replace(script, base=script.base.upper()),))
        if meant in known and meant != node.base:
            context.messages.warning(
                "similar-names", f"{name_key(node.base)} and {name_key(meant)} differ only in case",
                (node.span, f"{name_key(node.base)} here"), (known[meant].span, f"{name_key(meant)} here"),
                hint=f"did you mean {name_key(meant)}? {script.base} is an index of it",
                fix=(node.span, in_place(node.span, known[meant].span)),
            )  # fmt: skip


def _pairs(equation: Equation) -> Iterator[_Pair]:
    for node in (n for side in equation.sides for n in side.walk()):
        if not isinstance(node, Product):
            continue
        factors = [f for f in node.factors if isinstance(f, Index) and isinstance(f.base, Name)]
        for weight, factor in pairwise(factors):
            assert isinstance(weight.base, Name)
            script = weight.base.sup
            if (
                len(script) == 2
                and isinstance(script[0], Name)
                and _summed(weight) & _summed(factor)
            ):
                # In `W^{h,R}[j,I] G^r[t,I] h[t-1,I]` a gate stands between the weight and its h.
                met = [f for f in factors if _summed(weight) & _summed(f)]
                own = (f for f in met if isinstance(f.base, Name) and f.base.base == script[0].base)
                yield _Pair(weight, script[0].base, next(own, factor))


def _summed(node: Index) -> set[str]:
    names = (index_name(item) for item in node.items)
    return {name_key(name) for name in names if name is not None and is_capital(name.base)}
