r"""Changes of a text that an editor asks for: another name, other blanks, what may come next.

    τ → θ       τ[t]  →  θ[t],   tau[t]  →  theta[t],   $\tau_t$  →  $\theta_t$
    t → s       h[t,j], Σ_t, h_{t-1}, T    →    h[s,j], Σ_s, h_{s-1}, S

A name is changed wherever it stands and however it is spelt there, and nothing else is. What cannot be renamed safely
is refused, with the reason.

    h[t, j]=tanh( W[j,I]h[t-1,I] )  # a cell    →    h[t,j] = tanh(W[j,I] h[t-1,I])  # a cell

A line is only changed if the printed one has the same signs and reads as the same equation. What stands
in several lines was broken by its author, and stays as it is; so does whatever does not read.

    h[t,j] = ta▮            tanh
    CELL = ug▮              ugrnn, a model of the library
    ug▮  (a new line)       the equations of ugrnn
    \al▮                    α in plain text, \alpha in LaTeX

In a document there is something to complete only inside a formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from indicial import library
from indicial.editor.occurrences import BUILT, FUNCTION, LETTER, MODEL, TENSOR, Findings, Occurrence
from indicial.notation.parse import parse_name, parse_text
from indicial.notation.printers import latex, name_key, plain, unicode
from indicial.notation.signs import LATEX_LETTERS
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
    renaming = _Renaming(text, names, one, places, new, wanted)
    changes = renaming.letters() if one.kind == LETTER else renaming.others()
    return [_apart(text, change) for change in changes]


@dataclass(frozen=True)
class _Renaming:
    """One name, with all its places, and what it is to be called."""

    text: str
    names: Sequence[Occurrence]
    one: Occurrence
    places: Sequence[Occurrence]
    new: Name
    wanted: str

    @property
    def beside(self) -> list[Occurrence]:
        """The other names of the programs that it stands in."""
        within = {n.program for n in self.places}
        return [n for n in self.names if n.program in within and n.thing != self.one.thing]

    def letters(self) -> list[Change]:
        """An index: its letter wherever it stands, and its capital."""
        new = self.new
        if not new.bare or not is_letter(new.base) or is_capital(new.base) or new.base[0] == "Δ":
            raise CannotRename("an index is a small letter: its capital stands for its range")
        large = capital(new.base)
        ranged = any(n.capital for n in self.places)
        if index_name(new) is None or (ranged and not is_capital(large)):
            raise CannotRename(f"{new.base} cannot be such an index: its letter has no capital")
        for other in self.beside:
            head = other.key.partition("_")[0]
            taken = other.key == new.base or (ranged and other.key == large)
            if taken or (other.kind == LETTER and head == family(new)):
                raise CannotRename(f"{other.key} is a name here already")
        changes = []
        for place in self.places:
            assert place.base is not None
            base = Name(large if place.capital else new.base)
            changes.append((*place.base, self.spelt(base, place)))
        return changes

    def others(self) -> list[Change]:
        """Anything but an index."""
        new, key = self.new, name_key(self.new)
        if new.base in _TAKEN:
            raise CannotRename(f"{new.base} is a word of the language")
        for other in self.beside:
            letter = index_name(new) is not None and other.key == family(new)
            if other.key == key or (other.kind == LETTER and letter):
                raise CannotRename(f"{key} is a name here already")
        old = parse_name(self.one.key)
        same = old is not None and replace(old, base=new.base) == new
        changes = []
        for place in self.places:
            assert place.base is not None
            if same:
                changes.append((*place.base, self.spelt(Name(new.base), place)))
            elif place.bare:
                changes.append((place.start, place.end, self.spelt(new, place)))
            else:
                line = self.text.count("\n", 0, place.start) + 1
                raise CannotRename(
                    f"in line {line} it has indices below or above it; only its letter can be changed"
                )
        return changes

    def spelt(self, name: Name, place: Occurrence) -> str:
        """The name as it is written around there: LaTeX, ASCII or Unicode; where both are, as it was typed."""
        if place.latex:
            return latex(name)
        written = self.text[place.start : place.end]
        spelt = plain(name)
        wordless = "\\" in spelt and not self.text.isascii()  # `h⃗` is a word in no alphabet
        in_ascii = written.isascii() and (self.wanted.isascii() or not place.key.isascii())
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


REACH = 20_000
"""How far before the cursor the beginning of a formula is looked for."""
_WORD = re.compile(r"(?:\\[A-Za-z]*|[^\W\d_]\w*)\Z")
_FENCE = re.compile(r"^(```+|~~~+)[ \t]*(\S*)", re.MULTILINE)
_BEGIN = re.compile(r"\\(begin|end)\{(equation|align|gather|multline|eqnarray|displaymath|claim)\*?\}")  # fmt: skip


@dataclass(frozen=True)
class Completion:
    """`kind` is variable, function, keyword, module, snippet or text."""

    label: str
    kind: str
    detail: str = ""
    insert: str = ""
    """What is written, if it is not the label."""
    documentation: str = ""


def surface(name: str, text: str, offset: int) -> str:
    """`plain` or `latex`: what is written at a place; empty if it is prose."""
    if PurePath(name).suffix.lower() == ".eq":
        return "plain"
    start = max(0, offset - REACH)
    start = text.find("\n", start) + 1 if start else 0
    before = text[start:offset]
    if PurePath(name).suffix.lower() != ".tex":
        fences = list(_FENCE.finditer(before))
        if len(fences) % 2:
            return "plain" if fences[-1][2].strip("{}.").lower() in ("eq", "indicial") else ""
        before = before[fences[-1].end() :] if fences else before
    paragraph = before[max(before.rfind("\n\n"), 0) :]
    dollars = len(re.findall(r"(?<!\\)\$\$?", paragraph))
    brackets = paragraph.rfind("\\[") > paragraph.rfind("\\]")
    brackets = brackets or paragraph.rfind("\\(") > paragraph.rfind("\\)")
    begun = [match[1] for match in _BEGIN.finditer(before)][-1:] == ["begin"]
    return "latex" if dollars % 2 or brackets or begun else ""


def completions(
    found: Findings, name: str, text: str, offset: int, read_at: int
) -> tuple[int, list[Completion]]:
    """Where the word begins that is being written, and what it may become.

    `read_at` is where the offset was in the text that `found` is about.
    """
    kind = surface(name, text, offset)
    if not kind:
        return offset, []
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    word = _WORD.search(line)
    typed = word[0] if word else ""
    before = line[: len(line) - len(typed)]
    listed = [*_named_things(found, kind, read_at, line.isascii())]
    if kind == "plain" and not before.strip():
        listed += [Completion(w, "keyword", "a declaration") for w in KEYWORDS]
        listed += [Completion("claim", "keyword", "what should hold")]
        listed += _models(whole=True)
    elif kind == "plain" and re.fullmatch(r"\s*\w+\s*=\s*", before):
        listed += _models(whole=False)
    if before.strip() or kind == "latex":
        spelt = latex if kind == "latex" else unicode
        listed += [Completion(spelt(Name(f)), "function") for f in sorted(BUILT_IN)]
        words = REDUCTIONS if kind == "plain" else ()
        listed += [Completion(word, "function", "over an index") for word in words]
    if kind == "plain" and typed.startswith("\\"):
        listed += [Completion(c, "text", sign, sign) for sign, c in LATEX_LETTERS.items()]
    # The word that is being written is a name of the text too, for now.
    fitting = [c for c in listed if c.label.lower().startswith(typed.lower()) and c.label != typed]
    return offset - len(typed), list({c.label: c for c in reversed(fitting)}.values())[::-1]


def _named_things(
    found: Findings, kind: str, read_at: int, ascii_only: bool
) -> Iterator[Completion]:
    """Names of the program at the cursor first, then those of the rest of the text."""
    around = _near(found, read_at)
    seen: set[tuple[str, str]] = set()
    for one in sorted(found.names, key=lambda n: n.program not in around):
        if one.kind not in (TENSOR, FUNCTION) or (one.kind, one.key) in seen:
            continue
        seen.add((one.kind, one.key))
        name = parse_name(one.key)
        said = found.about.get((one.program, one.kind, one.key), "")
        if name is not None and said:
            spelt = latex(name) if kind == "latex" else unicode(name)
            if kind == "plain" and ascii_only and plain(name) != spelt:
                yield Completion(plain(name), "variable", _first(said), documentation=said)
            yield Completion(
                spelt, "function" if one.kind == FUNCTION else "variable", _first(said),
                documentation=said,
            )  # fmt: skip


def _near(found: Findings, offset: int) -> set[int]:
    """The programs that have names in the section at a place."""
    inside = [(a, b) for a, b, _ in found.sections if a <= offset < b]
    return {n.program for n in found.names for a, b in inside if a <= n.start < b}


def _first(markdown: str) -> str:
    return markdown.partition("\n")[0].replace("**", "")


def _models(whole: bool) -> Sequence[Completion]:
    """The models of the library, by name or as the equations themselves."""
    found = []
    for name in library.names():
        text = library.path(name).read_text(encoding="utf-8")
        insert, kind = (text, "snippet") if whole else ("", "module")
        found.append(Completion(name, kind, library.summary(name), insert, f"```eq\n{text}\n```"))
    return found
