r"""Another name for a thing, wherever it stands and however it is spelt there.

    τ → θ       τ[t]  →  θ[t],   tau[t]  →  theta[t],   $\tau_t$  →  $\theta_t$
    t → s       h[t,j], Σ_t, h_{t-1}, T    →    h[s,j], Σ_s, h_{s-1}, S

Nothing but the name is changed. What cannot be renamed safely is refused, with the reason.

Equations with the blanks that the printer gives them, and with nothing else changed.

    h[t, j]=tanh( W[j,I]h[t-1,I] )  # a cell    →    h[t,j] = tanh(W[j,I] h[t-1,I])  # a cell

A line is only changed if the printed one has the same signs and reads as the same equation. What stands
in several lines was broken by its author, and stays as it is; so does whatever does not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indicial.editor.texts import BUILT, LETTER, MODEL, Occurrence
from indicial.notation.parse import parse_name, parse_text
from indicial.notation.printers import latex, name_key, plain, unicode
from indicial.notation.source import Span
from indicial.notation.syntax import Name, Statement
from indicial.notation.vocabulary import FUNCTIONS, KEYWORDS, REDUCTIONS
from indicial.program.names.letters import capital, family, index_name, is_capital, is_letter
from indicial.program.names.uses import BUILT_IN

Change = tuple[int, int, str]
_TAKEN = frozenset([*FUNCTIONS, *KEYWORDS, *REDUCTIONS, *BUILT_IN])


class CannotRename(Exception):
    """Why not, in words for who asked."""


def at(names: Sequence[Occurrence], offset: int) -> Occurrence | None:
    """The name at a place, or directly before it; the innermost one: the t of `h_t`."""
    here = [n for n in names if n.start <= offset <= n.end]
    return min(here, key=lambda n: (n.end - n.start, n.end == offset), default=None)


def together(names: Sequence[Occurrence], one: Occurrence) -> list[Occurrence]:
    """All places of the same name."""
    return [n for n in names if n.thing == one.thing]


def renamed(text: str, names: Sequence[Occurrence], offset: int, wanted: str) -> list[Change]:
    """The changes that give the name at `offset` another one."""
    one = at(names, offset)
    if one is None:
        raise CannotRename("there is no name here")
    if one.kind in (BUILT, MODEL):
        what = "a function of the language" if one.kind == BUILT else "a model of the library"
        raise CannotRename(f"{one.key} is {what}; it has the name that it has")
    new = parse_name(wanted)
    if new is None:
        raise CannotRename(f"{wanted} is no name")
    places = together(names, one)
    lost = next((n for n in places if n.base is None), None)
    if lost is not None:
        written = text[lost.start : lost.end]
        raise CannotRename(f"{one.key} is written by the macro {written}; change that instead")
    of_kind = _letters if one.kind == LETTER else _names
    return [_apart(text, change) for change in of_kind(text, names, one, places, new, wanted)]


def _programs(places: Sequence[Occurrence]) -> set[int]:
    return {n.program for n in places}


def _letters(
    text: str,
    names: Sequence[Occurrence],
    one: Occurrence,
    places: Sequence[Occurrence],
    new: Name,
    wanted: str,
) -> list[Change]:
    """An index: its letter wherever it stands, and its capital."""
    if not new.bare or not is_letter(new.base) or is_capital(new.base) or new.base.startswith("Δ"):
        raise CannotRename("an index is a small letter: its capital stands for its range")
    large = capital(new.base)
    ranged = any(n.capital for n in places)
    if index_name(new) is None or (ranged and not is_capital(large)):
        raise CannotRename(f"{new.base} cannot be such an index: its letter has no capital")
    within = _programs(places)
    others = [n for n in names if n.program in within and n.thing != one.thing]
    for other in others:
        head = other.key.partition("_")[0]
        taken = other.key == new.base or (ranged and other.key == large)
        if taken or (other.kind == LETTER and head == family(new)):
            raise CannotRename(f"{other.key} is a name here already")
    changes = []
    for place in places:
        assert place.base is not None
        base = Name(large if place.capital else new.base)
        changes.append((*place.base, _spelt(base, place, text, wanted)))
    return changes


def _names(
    text: str,
    names: Sequence[Occurrence],
    one: Occurrence,
    places: Sequence[Occurrence],
    new: Name,
    wanted: str,
) -> list[Change]:
    key = name_key(new)
    if new.base in _TAKEN:
        raise CannotRename(f"{new.base} is a word of the language")
    within = _programs(places)
    for other in names:
        letter = other.kind == LETTER and index_name(new) is not None and other.key == family(new)
        if other.program in within and other.thing != one.thing and (other.key == key or letter):
            raise CannotRename(f"{key} is a name here already")
    old = parse_name(one.key)
    same = old is not None and replace(old, base=new.base) == new
    changes = []
    for place in places:
        assert place.base is not None
        if same:
            changes.append((*place.base, _spelt(Name(new.base), place, text, wanted)))
        elif place.bare:
            changes.append((place.start, place.end, _spelt(new, place, text, wanted)))
        else:
            line = text.count("\n", 0, place.start) + 1
            raise CannotRename(
                f"in line {line} it has indices below or above it; only its letter can be changed"
            )
    return changes


def _spelt(name: Name, place: Occurrence, text: str, wanted: str) -> str:
    """The name as it is written around there: LaTeX, ASCII or Unicode; where both are, as it was typed."""
    if place.latex:
        return latex(name)
    written = text[place.start : place.end]
    spelt = plain(name)
    wordless = "\\" in spelt and not text.isascii()  # `h⃗` is a word in no alphabet
    in_ascii = written.isascii() and (wanted.isascii() or not place.key.isascii())
    return spelt if in_ascii and not wordless else unicode(name)


def _apart(text: str, change: Change) -> Change:
    r"""With a blank where the new name would run into its neighbour: `\tau` before `x`."""
    start, end, new = change
    after, before = text[end : end + 1], text[start - 1 : start] if start else ""
    word = re.search(r"[A-Za-z0-9]$", new) is not None
    # Two letters side by side are two names in LaTeX, and one in plain notation.
    runs = bool(re.search(r"\\[A-Za-z]+$", new)) or (word and "\\" not in new and len(new) > 1)
    if runs and after.isalnum():
        new += " "
    if len(new.strip()) > 1 and new[0].isalpha() and before.isalpha():
        new = f" {new}"
    return start, end, new


def formatted(text: str) -> list[tuple[int, int, str]]:
    """What to replace by what: `(start, end, new)`, in the order of the text."""
    parsed = parse_text(text)
    comments = {span.line: span for span in parsed.comments}
    by_line: dict[int, list[Statement]] = {}
    for statement in parsed.statements:
        first, last = statement.span.line, statement.span.source.place(statement.span.end)[0]
        for row in range(first, last + 1):
            by_line.setdefault(row, []).append(statement)
    changes: list[tuple[int, int, str]] = []
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        body = line.removesuffix("\r")
        new = _line(body, start, by_line.get(number, []), comments.get(number))
        if new != body:
            changes.append((start, start + len(body), new))
        start += len(line) + 1
    return changes


def _line(body: str, start: int, statements: list[Statement], comment: Span | None) -> str:
    at = len(body) if comment is None else max(0, comment.start - start)
    code, said = body[:at], body[at:].rstrip()
    if not code.strip():
        return body.rstrip()
    return _code(code, statements) + (f"  {said}" if said else "")


def _code(code: str, statements: list[Statement]) -> str:
    """A line without its comment."""
    kept = code.rstrip()
    if len(statements) != 1:
        return kept
    (statement,) = statements
    printed = plain(statement) if code.isascii() else unicode(statement)
    if "".join(printed.split()) != "".join(code.split()) or "\n" in printed:
        return kept  # other signs, or only a part of what the equation says
    again = parse_text(printed)
    whole = not again.faults and not again.skipped and again.statements == (statement,)
    return printed if whole else kept
