"""Equations as a LaTeX document that compiles as it is.

>>> print(latex_document([Part("rnn: the vanilla RNN", load("rnn").written)]))
\\documentclass{article}
…
\\section*{rnn: the vanilla RNN}
\\[
\\begin{aligned}
h[t,j] &= \\sigma(W^{h,h}[j,I]\\, h[t-1,I] + …
\\end{aligned}
\\]
\\end{document}

Lines are broken to fit 16 cm, before a + or - where no `\\left` is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indicial.notation.parse import parse_text
from indicial.notation.printers import latex, unicode
from indicial.notation.syntax import Statement

WIDEST = 92
"""About so many characters of a formula fit 16 cm."""

BEGINNING = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{amsmath,amssymb}
\usepackage[textwidth=16cm]{geometry}
\providecommand{\cev}[1]{\overleftarrow{#1}}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\begin{document}"""
END = r"\end{document}"

SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A heading with equations below it; without one it goes on with what stands before."""

    title: str
    statements: Sequence[Statement]
    prose: Sequence[str] = ()
    """Paragraphs of LaTeX before the equations."""


def latex_document(parts: Sequence[Part]) -> str:
    """A document with a section for each part."""
    lines = [BEGINNING]
    for part in parts:
        if part.title:
            lines.append(f"\\section*{{{escaped(part.title)}}}")
        lines += [f"{paragraph}\n" for paragraph in part.prose]
        if part.statements:
            # All left sides take the room of the widest of them.
            left = max(map(_left, part.statements))
            rows = [
                row
                for statement in part.statements
                for row in broken_rows(statement, left - _left(statement))
            ]
            lines += [r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"]
    return "\n".join([*lines, END])


def escaped(text: str) -> str:
    """Prose, with the signs that LaTeX would obey, and formulas of Unicode set as such."""
    return "".join(
        _formula(piece)
        if _is_formula(piece)
        else "".join(SPECIAL.get(sign, sign) for sign in piece)
        for piece in re.split(r"(\s+)", text)
    )


def _is_formula(word: str) -> bool:
    """A word that a font for prose does not have, or with an index: `h̄^{in}[t,j]`, `σ`."""
    beyond = any(ord(sign) > 0x24F and sign not in "–—‘’“”…" for sign in word)
    return beyond or ("[" in word and "]" in word)


def _formula(word: str) -> str:
    """`h̄[t,j],` → `$\\bar{h}[t,j]$,`."""
    core = word.rstrip(",.;:")
    parsed = parse_text(f"{core} = 0", "word")
    if parsed.faults or len(parsed.statements) != 1:
        return "".join(SPECIAL.get(sign, sign) for sign in word)
    return f"${latex(parsed.statements[0]).rpartition(' = ')[0]}${word[len(core) :]}"


def broken_rows(statement: Statement, indented: float = 0) -> Iterator[str]:
    """The rows of an alignment that a statement takes; the first has its sign of relation marked.

    `indented` is how many characters stand empty before it.
    """
    for number, row in enumerate(_listed(statement)):
        marked = row if "&" in row or number else f"& {row}"
        yield from _broken(marked, _width(statement), WIDEST - indented)


def _left(statement: Statement) -> float:
    """How many characters are seen before the sign of relation."""
    return max(0, _listed(statement)[0].find("&")) * _width(statement)


def _listed(statement: Statement) -> list[str]:
    text = latex([statement])
    body = text.removeprefix("\\begin{aligned}\n").removesuffix("\n\\end{aligned}")
    return body.split(" \\\\\n")


def _width(statement: Statement) -> float:
    """How many characters are seen for one that is written."""
    rows = _listed(statement)
    seen = max(len(line) for line in unicode([statement]).splitlines())
    return min(1.0, seen / max(map(len, rows)))


def _broken(row: str, share: float, widest: float) -> Iterator[str]:
    """A row in pieces that fit; where it has to be within brackets, `\\right.` and `\\left.` go around."""
    while len(row) * share > widest:
        limit = widest / share
        near, far = [], None
        for opening in _openings(row):  # of a row of many terms only the beginning is looked at
            if opening[1] > limit:
                far = opening
                break
            near.append(opening)
        if near:
            brackets, place = max(near, key=lambda opening: (-opening[0], opening[1]))
        elif far is not None:
            brackets, place = min(_openings(row))
        else:
            break
        yield row[:place].rstrip() + r" \right." * brackets
        row = "&\\qquad " + r"\left. " * brackets + row[place:]
    yield row


def _openings(row: str) -> Iterator[tuple[int, int]]:
    """Where a row may be broken, and in how many brackets: before ` + ` and ` - `, in no braces.

    Not near the beginning: a piece of a few signs is no line.
    """
    braces = brackets = 0
    least = row.find("&") + 20
    for match in re.finditer(r"\\left\b|\\right\b|\\begin|\\end|\\[{}]|[{}]| (?=[+-] )", row):
        sign = match.group()
        if sign in ("{", "}", "\\begin", "\\end"):
            braces += 1 if sign in ("{", "\\begin") else -1
        elif sign in ("\\left", "\\right"):
            brackets += 1 if sign == "\\left" else -1
        elif sign == " " and braces == 0 and match.start() > least:
            yield brackets, match.start() + 1
