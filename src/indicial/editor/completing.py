r"""What may come next: names of the text, functions, words of the language, models of the library.

    h[t,j] = ta▮            tanh
    CELL = ug▮              ugrnn, a model of the library
    ug▮  (a new line)       the equations of ugrnn
    \al▮                    α in plain text, \alpha in LaTeX

In a document there is something to complete only inside a formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from indicial import library
from indicial.editor.texts import FUNCTION, TENSOR, Findings
from indicial.notation.parse import parse_name
from indicial.notation.printers import latex, plain, unicode
from indicial.notation.signs import LATEX_LETTERS
from indicial.notation.syntax import Name
from indicial.notation.vocabulary import KEYWORDS, REDUCTIONS
from indicial.program.names.uses import BUILT_IN

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
    listed = [*_names(found, kind, read_at, line.isascii())]
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


def _names(found: Findings, kind: str, read_at: int, ascii_only: bool) -> Iterator[Completion]:
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
