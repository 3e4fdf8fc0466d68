"""Names that are nearly other names.

E[w,I]   beside   e[w,I]              they differ in case
e_{otu}[w,I]   beside   e_{out}[w,I]  they differ in one letter
e[w,I]   beside   e_{in}, e_{out}     the subscript is lost
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from indicial.notation.source import Span
from indicial.program.lowering.context import Context, TensorInfo


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
