"""Slips: all the ways to break a correct text in one place.

h[t,j] = G[t,j] h[t-1,j] + …   →   h[t,j] = G[t,j] h[t-1] + …        an index dropped

Six kinds: an index dropped, the case of an index swapped, a name misspelt, a time shifted, a bracket
lost, two indices exchanged. They are made on the syntax tree, whose spans say where to edit the text.
"""

from __future__ import annotations

import hashlib
import itertools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from indicial import library
from indicial.library.loading import resolve
from indicial.notation import syntax as s
from indicial.notation.displays import parse_document
from indicial.notation.documents import read_text
from indicial.program.names.letters import GROUPS, index_name
from indicial.program.program import Program

KINDS = (
    "index dropped",
    "case swapped",
    "name misspelt",
    "time shifted",
    "bracket lost",
    "exchanged",
)
TIMES = "tsℓ"
"""The letters of positions and layers: what can be off by one."""
LOOKALIKES = {"α": "a", "β": "b", "λ": "l", "μ": "u", "π": "n", "ε": "e", "ℒ": "L", "σ": "o"}
RESTATED = Path(__file__).resolve().parent / "restated"


@dataclass(frozen=True)
class Original:
    """A correct text."""

    name: str
    text: str


@dataclass(frozen=True)
class Mutant:
    """A text with one slip. `place` is the stretch of the broken text where it should be noticed."""

    original: Original
    kind: str
    text: str
    place: tuple[int, int]
    shown: str

    @property
    def rank(self) -> str:
        """Decides which mutants a sample holds: arbitrary, and the same on every run."""
        return hashlib.sha256(f"{self.original.name}{self.shown}".encode()).hexdigest()


def originals() -> list[Original]:
    """The library, and the correct equations of the seed documents restated."""
    found = [
        Original(f"{n}.eq", library.path(n).read_text(encoding="utf-8")) for n in library.names()
    ]
    found += [
        Original(f"restated_{p.name}", p.read_text(encoding="utf-8"))
        for p in sorted(RESTATED.iterdir())
    ]
    return found


def program(text: str, name: str) -> Program:
    """The program that a text holds."""
    document = read_text(text, name)
    parsed = [p for _, _, p in parse_document(document)]
    return Program(
        [st for p in parsed for st in p.statements],
        title=name,
        faults=[*document.faults, *(f for p in parsed for f in p.faults)],
        document=not name.endswith(".eq"),
        resolve=resolve,
    )


@dataclass(frozen=True)
class _Edit:
    kind: str
    start: int
    end: int
    new: str
    holder: tuple[int, int]
    """The reference that holds the edit."""


def mutants(original: Original) -> list[Mutant]:
    """All the ways to break a text in one place."""
    found: dict[str, Mutant] = {}
    text = original.text
    for edit in _edits(original):
        broken = text[: edit.start] + edit.new + text[edit.end :]
        if broken == text or broken in found:
            continue
        growth = len(edit.new) - (edit.end - edit.start)
        if edit.kind == "bracket lost":
            first = text.rfind("\n", 0, edit.start) + 1
            last = text.find("\n", edit.end)
            place = (first, (last if last >= 0 else len(text)) + growth)
        else:
            place = (edit.holder[0], edit.holder[1] + growth)
        line = broken.count("\n", 0, edit.start) + 1
        old = text[edit.holder[0] : edit.holder[1]]
        new = broken[edit.holder[0] : edit.holder[1] + growth]
        shown = f"{original.name}:{line}:{edit.start}: {edit.kind}: {old} → {new}"
        found[broken] = Mutant(original, edit.kind, broken, place, shown)
    return list(found.values())


def _edits(original: Original) -> Iterator[_Edit]:
    source = program(original.text, original.name)
    for statement in source.written:
        if not isinstance(statement, s.Equation):
            continue
        holders = _holders(statement)
        for node in statement.walk():
            if node.span.source.text != original.text:
                continue
            holder = holders.get(id(node), (node.span.start, node.span.end))
            if isinstance(node, s.Index):
                yield from _items(original.text, node.items, holder)
            elif isinstance(node, s.Reduction):
                for under in node.under:
                    yield from _cases(under, (under.span.start, under.span.end))
            elif isinstance(node, s.Name):
                yield from _name(original.text, node, holder, id(node) in holders)
        start, end = statement.span.start, statement.span.end
        for position in range(start, end):
            if original.text[position] in "()[]{}":
                yield _Edit("bracket lost", position, position + 1, "", (position, position + 1))


def _holders(statement: s.Statement) -> dict[int, tuple[int, int]]:
    """For each node inside the indices of a reference: the innermost reference; and its own name."""
    holders: dict[int, tuple[int, int]] = {}
    for node in statement.walk():
        if isinstance(node, s.Index):
            own = (node.span.start, node.span.end)
            holders[id(node)] = own
            holders[id(node.base)] = own
            for item in node.items:
                for inner in item.walk():
                    holders[id(inner)] = own
        elif isinstance(node, s.Name):
            own = holders.get(id(node), (node.span.start, node.span.end))
            for script in (*node.sub, *node.sup):
                for inner in script.walk():
                    holders[id(inner)] = own
    return holders


def _items(text: str, items: tuple[s.Expression, ...], holder: tuple[int, int]) -> Iterator[_Edit]:
    """What can go wrong between the brackets of a reference."""
    spans = [(i.span.start, i.span.end) for i in items]
    for number, (start, end) in enumerate(spans):
        if len(items) == 1:
            yield _Edit("index dropped", start - 1, end + 1, "", holder)
        elif number:
            yield _Edit("index dropped", spans[number - 1][1], end, "", holder)
        else:
            yield _Edit("index dropped", start, spans[1][0], "", holder)
        yield from _cases(items[number], holder)
        yield from _shifts(text, items[number], holder)
    for (a, b), (c, d) in itertools.combinations(spans, 2):
        yield _Edit("exchanged", a, d, text[c:d] + text[b:c] + text[a:b], holder)


def _cases(item: s.Expression, holder: tuple[int, int]) -> Iterator[_Edit]:
    """`I` → `i`, `ℓ` → `L`, `t_1` → `T_1`."""
    for node in item.walk():
        name = index_name(node) if isinstance(node, s.Expression) else None
        if name is None:
            continue
        start, text = name.span.start, name.span.text
        if text.startswith(("\\ell", "ℓ")):
            old, new = ("\\ell" if text.startswith("\\") else "ℓ"), "L"
        else:
            window = next(w for w in ("\\Delta ", "Δ", "") if text.startswith(w))
            start += len(window)
            old = text[len(window) : len(window) + 1]
            new = old.swapcase()
        yield _Edit("case swapped", start, start + len(old), new, holder)


def _shifts(text: str, item: s.Expression, holder: tuple[int, int]) -> Iterator[_Edit]:
    """`t-1` → `t`; `t` → `t-1`, `t+1`."""
    start, end = item.span.start, item.span.end
    if isinstance(item, s.Add) and len(item.terms) == 2:
        name = index_name(item.terms[0])
        if name is not None and name.base in TIMES and isinstance(
            item.terms[1], s.Number | s.Negative
        ):  # fmt: skip
            yield _Edit("time shifted", start, end, name.span.text, holder)
    name = index_name(item)
    if name is not None and name.base in TIMES:
        open_, close = ("{", "}") if text[start - 1] == "_" else ("", "")
        for shift in ("-1", "+1"):
            yield _Edit("time shifted", start, end, open_ + text[start:end] + shift + close, holder)


def _name(text: str, node: s.Name, holder: tuple[int, int], indexed: bool) -> Iterator[_Edit]:
    """What can go wrong in a name: its letters, its decorations, the indices below it."""
    if index_name(node) is not None and not indexed:
        return
    if node.base in GROUPS or node.base in ("P", "…"):
        return
    for script in node.sub:
        if _is_index(script):
            start, end = script.span.start, script.span.end
            if text[start - 1] == "{" and text[end : end + 1] == "}":
                start, end = start - 1, end + 1
            yield _Edit("index dropped", start - 1, end, "", holder)
            yield from _cases(script, holder)
            yield from _shifts(text, script, holder)
    if _inside_index(node, holder, text):
        return
    yield from _misspelt(text, node, holder)


def _is_index(script: s.Expression) -> bool:
    name = index_name(script.terms[0] if isinstance(script, s.Add) else script)
    return name is not None and len(name.span.text) > 0 and not name.base.isdigit()


def _inside_index(node: s.Name, holder: tuple[int, int], text: str) -> bool:
    """Whether the name is a plain index of the reference that holds it."""
    return index_name(node) is not None and node.span.start != holder[0]


def _misspelt(text: str, node: s.Name, holder: tuple[int, int]) -> Iterator[_Edit]:
    start = node.span.start
    written = node.span.text
    at = written.find(node.base)
    for command in ("\\alpha", "\\sigma", "\\tanh", "\\ln"):
        if written.startswith(command):
            return
    if at >= 0 and node.base not in ("ln",):
        for new in _respelt(node.base):
            yield _Edit("name misspelt", start + at, start + at + len(node.base), new, holder)
    for position, character in enumerate(written):
        if unicodedata.combining(character):
            yield _Edit("name misspelt", start + position, start + position + 1, "", holder)
            break
    if node.accents and written.startswith("\\"):
        word = written[: written.find("}") + 1]
        yield _Edit("name misspelt", start, start + len(word), node.base, holder)
    decorations = [p for p in (*node.sup, *node.sub) if isinstance(p, s.Name) and not _is_index(p)]
    decorations += [p for p in node.sup if isinstance(p, s.Name) and p not in decorations]
    for part in decorations:
        inside = part.span.text.find(part.base)
        if inside >= 0:
            begin = part.span.start + inside
            for new in _respelt(part.base)[:1]:
                yield _Edit("name misspelt", begin, begin + len(part.base), new, holder)
    for group in (node.sup, tuple(p for p in node.sub if p in decorations)):
        if group:
            begin, end = group[0].span.start, group[-1].span.end
            if text[begin - 1] == "{" and text[end : end + 1] == "}":
                begin, end = begin - 1, end + 1
            if text[begin - 1] in "^_":
                yield _Edit("name misspelt", begin - 1, end, "", holder)
    if node.primes and "'" in written:
        position = written.find("'")
        yield _Edit("name misspelt", start + position, start + position + 1, "", holder)


def _respelt(word: str) -> list[str]:
    """`Query` → `Qeury`, `Quer`; `G` → `F`, `g`."""
    if len(word) >= 3:
        return [word[0] + word[2] + word[1] + word[3:], word[:-1]]
    if word in LOOKALIKES:
        return [LOOKALIKES[word]]
    if len(word) == 1 and word.isascii() and word.isalpha():
        before = chr(ord(word) - 1) if word not in "aA" else chr(ord(word) + 1)
        return [before, word.swapcase()]
    return [word[0]] if len(word) == 2 else []
