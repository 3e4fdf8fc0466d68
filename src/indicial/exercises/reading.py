r"""What a student wrote in a gap → the sheet's statement with that in its place, and nothing else.

    claim work of h = ___      2 J^2 T              the claim with another right side
                               $2J^2T$, 2J^{2}T     LaTeX reads the same
                               2 J^2 T for T < 1    refused: more than what stands in the gap

The statement is read as a whole and compared with that of the sheet: all of it must be the same but
for the gap. So an answer can neither add a condition nor define anything that is given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from indicial.exercises.gaps import Gap, Line
from indicial.exercises.vectors import free_letters, indexed
from indicial.notation import syntax as s
from indicial.notation.parse import parse_text
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Source, Span
from indicial.program.ir import Code

LONGEST = 4_000
"""Signs of an answer that are read."""
HOLE = s.Name("gap")
TRUE = {"true", "holds", "yes", "right", "correct", "wahr", "t"}
FALSE = {"false", "fails", "no", "wrong", "f", "not", "does not hold", "doesn't hold"}
_DOLLARS = re.compile(r"^(?:\$\$|\$|\\\(|\\\[)(.*?)(?:\$\$|\$|\\\)|\\\])$", re.DOTALL)

_TEXT = re.compile(r"\\(?:text|mathrm|textrm)\{([^{}]*)\}")


class Unread(Exception):
    """Why an answer does not read, in words for the one who wrote it."""


@dataclass(frozen=True)
class Read:
    """An answer that reads: the statement that it makes."""

    statement: s.Statement
    answer: s.Expression
    source: Source


def cleaned(text: str) -> str:
    """An answer without the dollars around it, on one line, without signs that nobody sees."""
    seen = "".join(
        sign if sign.isspace() or unicodedata.category(sign)[0] != "C" else "" for sign in text
    )
    seen = " ".join(seen.split()).strip("`").strip()
    while (found := _DOLLARS.match(seen)) is not None:
        seen = found[1].strip()
    return seen.strip()


def verdict_word(text: str) -> str | None:
    """`true` or `false` in any of their spellings."""
    word = _TEXT.sub(r"\1", text).strip(" .:*_$").lower()
    return "true" if word in TRUE else "false" if word in FALSE else None


def read_answer(gap: Gap, line: Line, text: str, code: Code | None = None) -> Read:
    """The sheet's statement with an answer in its gap; with `code`, in vector style too."""
    short = cleaned(text)
    if not short:
        raise Unread("there is nothing in it that can be read")
    if len(short) > LONGEST:
        raise Unread(f"it has {len(short):,} signs; {LONGEST:,} is the limit")
    bare = _TEXT.sub(r"\1", short)
    if "\\" not in bare:  # `3 \text{parameters of } h`
        short = bare
    if "\\" in short or re.search(r"[\^_]\{[^{}]*\s[^{}]*\}", short):
        short = _from_latex(short, code)
    if code is not None and gap.kind != "constant":
        short = _with_indices(short, gap, code)
    number = line.gaps.index(gap)
    around = (
        "".join(_around(line, number, before=True)),
        "".join(_around(line, number, before=False)),
    )
    source = Source("answer", f"{around[0]}{short}{around[1]}")
    begins = len(around[0])
    parsed = parse_text(source.text, source.name)
    if parsed.faults:
        fault = parsed.faults[0]
        raise Unread(_told(short, fault.spans[0].start - begins, fault.message, fault.hint))
    if parsed.skipped or len(parsed.statements) != 1:
        raise Unread(f"`{short}` is more than what stands in the place of the gap")
    statement = parsed.statements[0]
    answer, rest = taken(statement, gap)
    known, same = taken(gap.statement, gap)
    if answer is None or known is None or _without(rest) != _without(same):
        raise Unread(
            f"`{short}` is more than what stands in the place of the gap: what is around it stays as "
            "it is"
        )
    return Read(_own(statement, source), answer, source)


def _around(line: Line, number: int, before: bool) -> Sequence[str]:
    """What stands on one side of a gap, other gaps as the sheet answers them."""
    parts = [part for pair in zip(line.around, (*line.gaps, None), strict=True) for part in pair]
    texts = [part.key if isinstance(part, Gap) else part or "" for part in parts]
    at = 2 * number + 1
    return texts[:at] if before else texts[at + 1 :]


def _from_latex(text: str, code: Code | None) -> str:
    """An expression of LaTeX in the plain notation; as it is where that does not read.

    A word is a product of letters there, but students write `Key` for what the sheet calls so.
    """
    for name in code.tensors if code is not None else ():
        if re.fullmatch(r"[A-Za-z]{2,}", name):
            text = re.sub(rf"(?<![\\A-Za-z{{]){name}(?![A-Za-z}}])", rf"\\text{{{name}}}", text)
    parsed = parse_text(f"q = {text}", "answer", latex=True)
    if parsed.faults or parsed.skipped or len(parsed.statements) != 1:
        return text
    statement = parsed.statements[0]
    if not isinstance(statement, s.Equation) or len(statement.sides) != 2 or statement.guard:
        return text
    return unicode(statement.sides[1])


def with_hole(statement: s.Statement, gap: Gap, hole: s.Name) -> s.Statement:
    """The statement with a name in the place of the gap."""
    return taken(statement, gap, hole)[1] or statement


def _with_indices(text: str, gap: Gap, code: Code) -> str:
    """An answer in vector style with the indices of the sheet; any other as it is."""
    parsed = parse_text(f"q = {text}", "answer")
    if (
        parsed.faults
        or len(parsed.statements) != 1
        or not isinstance(parsed.statements[0], s.Equation)
    ):
        return text
    rest = taken(gap.statement, gap)[1]
    other: s.Expression | None = None
    if isinstance(rest, s.Equation):
        other = rest.sides[0]
    elif isinstance(rest, s.Claim):
        other = rest.comparison.operands[1 if gap.side == 0 else gap.side - 1]
    sides = parsed.statements[0].sides
    if other is None or len(sides) != 2:
        return text
    found = indexed(sides[1], free_letters(other, code), code)
    return text if found is None else unicode(found)


def taken(
    statement: s.Statement | None, gap: Gap, hole: s.Name = HOLE
) -> tuple[s.Expression | None, s.Statement | None]:
    """What stands in the gap of a statement, and the statement with a hole there."""
    match statement, gap.kind:
        case s.Claim(comparison=comparison), "value" | "bound":
            operands = list(comparison.operands)
            if gap.side >= len(operands):
                return None, statement
            answer, operands[gap.side] = operands[gap.side], hole
            return answer, replace(
                statement, comparison=replace(comparison, operands=tuple(operands))
            )
        case s.Equation(sides=sides), "definition":
            found = sides[-1] if len(sides) == 2 else sides[1]
            return found, replace(statement, sides=(sides[0], hole), relations=("=",))
        case s.Declaration(value=value), "constant":
            return value, replace(statement, value=hole)
    return None, statement


def _without(statement: s.Statement | None) -> s.Statement | None:
    """Labels take no part in what a statement says."""
    return replace(statement, label="") if isinstance(statement, s.Equation) else statement


def _own(statement: s.Statement, source: Source) -> s.Statement:
    """The statement with a span in the answer, by which it is known."""
    return replace(statement, span=Span(source, 0, len(source.text)))


def _told(text: str, at: int, message: str, hint: str) -> str:
    """A fault with a caret below the place, where that is inside the answer."""
    said = f"it does not read: {message}" + (f" ({hint})" if hint else "")
    if not 0 <= at <= len(text) or len(text) > 72:
        return said
    return f"{said}\n  {text}\n  {' ' * at}^"


def definitions(texts: Sequence[str], known: set[str]) -> tuple[list[s.Statement], list[str]]:
    """The lines that students add: new names are defined; names of the sheet are left alone, and told."""
    kept: list[s.Statement] = []
    refused: list[str] = []
    for text in texts:
        short = cleaned(text)
        if not short or len(short) > LONGEST:
            continue
        latex = "\\" in short
        for statement in parse_text(short, "answer", latex).statements:
            if not isinstance(statement, s.Equation) or statement.relations != ("=",):
                continue
            name = _name(statement.sides[0])
            if name is None:
                continue
            if name in known:
                refused.append(
                    f"{name} is given by the sheet: your line `{short[:60]}` is not used"
                )
            else:
                kept.append(_own(statement, Source("answer", short)))
    return kept, refused


def _name(node: s.Expression) -> str | None:
    while isinstance(node, s.Index | s.Call):
        node = node.base if isinstance(node, s.Index) else node.function
    return name_key(node) if isinstance(node, s.Name) else None
