r"""An exercise → a handout: in Markdown, as a notebook, or in LaTeX that compiles as it is.

    claim work of h = 2 J^2 T        →       claim work of h = ___  # a1
                                             \text{work of } h = \answer{a1}{}

Answers in words are left out, and so is what the sheet computes below a question; each question has a
place for words of one's own. In LaTeX students write between the last braces of `\answer{a1}{}`, and in words in
`\words{a}{}`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from indicial.claims.notebooks import (
    METADATA,
    Notebook,
    code_cell,
    markdown_cell,
    parts_of,
    pieces,
    with_pictures,
)
from indicial.exercises.asking import BLANK, Exercise, Gap, Line, Unit
from indicial.exercises.reading import with_hole
from indicial.notation.documents import read_text
from indicial.notation.parse import parse_text
from indicial.notation.printers import latex as print_latex
from indicial.notation.signs import LATEX_LETTERS, LATEX_SIGNS, MARKS
from indicial.notation.syntax import Claim, Name, Statement
from indicial.program.explain.latex import SPECIAL, broken_rows

WORDS = "*In words, ({label}):*"
"""The line below which a question is answered in words."""

RULES = """\
**How to answer.** Write in the place of each `___`, and leave the rest of its line as it is, with the
label behind the `#`. Any form that has the same values is right, in this notation or in LaTeX. Where a
line begins `claim ___:`, write `true` or `false`. A bound should be as sharp as you can make it. You may
add lines that define names of your own; what is given stays as it is. There are {points} in all."""


def number(points: float) -> str:
    """`2`, `1.5`: no more digits than it needs."""
    return f"{points:.4g}"


def count_points(points: float) -> str:
    return f"{number(points)} point{'' if points == 1 else 's'}"


def rules(exercise: Exercise) -> str:
    return RULES.format(points=count_points(exercise.points))


def block_text(exercise: Exercise, unit: Unit, answers: Mapping[str, str] | None = None) -> str:
    """The text of a block with its gaps, or with what is answered in their place."""
    text, at, found = exercise.source.text, unit.start, ""
    for line in unit.lines:
        filled = [(answers or {}).get(gap.label) or BLANK for gap in line.gaps]
        found += text[at : line.start] + line.filled(filled) + f"  # {line.labels}"
        at = line.end
    return found + text[at : unit.end]


def markdown(exercise: Exercise, answers: Mapping[str, str] | None = None) -> str:
    """The handout as a text; `answers` by label fill its gaps."""
    found: list[str] = []
    for unit in exercise.units:
        text = block_text(exercise, unit, answers) if unit.lines else unit.text
        if text.strip():
            found.append(text.strip("\n"))
        if unit.kind == "heading" and unit.text.startswith("# "):
            found.append(rules(exercise))
        if unit.question and exercise.questions[unit.question].words:
            found.append(WORDS.format(label=unit.question))
    if not any(u.kind == "heading" and u.text.startswith("# ") for u in exercise.units):
        found.insert(0, rules(exercise))
    return "\n\n".join(found) + "\n"


def notebook(exercise: Exercise, answers: Mapping[str, str] | None = None) -> Notebook:
    """The handout as a notebook: cells with gaps run as soon as these are filled."""
    document = read_text(exercise.source.text, exercise.source.name)
    parts = parts_of(document, pieces(exercise.source.text))
    cells: list[dict[str, Any]] = []
    prose: list[str] = []

    def close() -> None:
        if prose:
            made = markdown_cell("\n\n".join(prose))
            cells.append(with_pictures(made, exercise.path.parent))
            prose.clear()

    for unit in exercise.units:
        text = block_text(exercise, unit, answers) if unit.lines else unit.text
        if not text.strip():
            continue
        if unit.kind in ("heading", "prose"):
            if unit.kind == "heading":
                close()
            prose.append(text.strip("\n"))
            if unit.kind == "heading" and text.startswith("# "):
                prose.append(rules(exercise))
                close()
                cells.append(code_cell("%load_ext indicial"))
            if unit.question and exercise.questions[unit.question].words:
                close()
                cells.append(markdown_cell(WORDS.format(label=unit.question) + "\n\n"))
            continue
        close()
        if unit.kind == "notation":
            part = next((p for p in parts if unit.start <= p.display.body.start < unit.end), None)
            inside = _inside(text)
            first = part.magic if part is not None else "%%indicial"
            cells.append(code_cell(f"{first}\n{inside}"))
        elif unit.kind == "design":
            cells.append(code_cell(f"%%indicial {unit.language}\n{_inside(text)}"))
        else:
            made = [p for p in pieces(text) if p.kind == "code"]
            cells += [code_cell(p.text) for p in made] or [markdown_cell(text)]
    close()
    if not any("%load_ext" in "".join(c["source"]) for c in cells):
        cells[:0] = [markdown_cell(rules(exercise)), code_cell("%load_ext indicial")]
    for place, cell in enumerate(cells, start=1):
        cell["id"] = f"cell-{place}"
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def _inside(block: str) -> str:
    """A fenced block without its fence."""
    return "\n".join(block.strip("\n").splitlines()[1:-1])


BEGINNING = r"""\documentclass[11pt,fleqn]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb,graphicx}
\usepackage[a4paper,margin=2.5cm]{geometry}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.6em}
\setlength{\mathindent}{1.5em}
\setlength{\fboxsep}{4pt}
\setlength{\jot}{5pt}
\allowdisplaybreaks
\sloppy
\providecommand{\cev}[1]{\overleftarrow{#1}}
% Write answers between the last braces: \answer{a1}{2JT}
\newcommand{\answer}[3][2.6ex]{\ensuremath{%
  \boxed{\ifx\relax#3\relax\rule[-0.6ex]{0pt}{#1}\hspace{7em}\else\,#3\,\fi}%
  \;{}_{\text{\sffamily\scriptsize #2}}}}
% and words here: \words{a}{Each step waits for the one before.}
\newcommand{\words}[2]{\par\textit{In words, (#1):} \ifx\relax#2\relax\par\vspace{5.5em}\else #2\par\fi}
"""

LATEX_RULES = r"""\textbf{How to answer.} Fill in each box: in the source of this text, write between the
last braces of \texttt{\textbackslash answer\{\dots\}\{\}}. Any form that has the same values is right.
A box before a colon takes \emph{true} or \emph{false}. A bound should be as sharp as you can make it.
There are %s in all."""

HOLE = "indicialgap"
MANY = 8
"""Columns of a table that is set small."""
_INLINE = re.compile(
    r"(?P<math>\$[^$]+\$)|(?P<code>`[^`]+`)|(?P<bold>\*\*(?P<bolded>[^*]+)\*\*)"
    r"|(?P<italic>\*(?P<emphasised>[^*]+)\*)|!\[[^]]*\]\((?P<picture>[^()\s]+)\)"
    r"|\[(?P<link>[^]]+)\]\([^()\s]*\)"
)
_PROSE_SIGNS = {
    "–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\dots{}", "→": r"$\to$",
    "±": r"$\pm$", "×": r"$\times$", "½": r"$\tfrac12$", "·": r"$\cdot$", "√": r"$\surd$",
}  # fmt: skip
_MATH_SIGNS = {
    "…": r"\dots ", "→": r"\to ", "±": r"\pm ", "×": r"\times ", "·": r"\cdot ", "⊤": r"\top ", "√": r"\surd ",
    "Σ": r"\Sigma ", "∏": r"\prod ", "∂": r"\partial ", "∞": r"\infty ", "½": r"\tfrac12 ", "⊙": r"\odot ",
    "∈": r"\in ", "‖": r"\|", "−": "-",
}  # fmt: skip
_LEVELS = {2: "section*", 3: "subsection*"}


def latex(exercise: Exercise, answers: Mapping[str, str] | None = None) -> str:
    """The handout as a document."""
    found = [BEGINNING, rf"\title{{{prose(exercise.title)}}}", r"\date{}", r"\begin{document}"]
    found += [r"\maketitle", r"\vspace{-4em}", LATEX_RULES % count_points(exercise.points)]
    for unit in exercise.units:
        found += _unit(exercise, unit, answers or {})
    return "\n\n".join([*found, r"\end{document}"]) + "\n"


def _unit(exercise: Exercise, unit: Unit, answers: Mapping[str, str]) -> Iterator[str]:
    if unit.kind == "heading":
        depth = len(unit.text) - len(unit.text.lstrip("#"))
        if depth > 1:
            title = prose(unit.text.lstrip("# ").strip())
            yield rf"\{_LEVELS.get(depth, 'paragraph*')}{{{title}}}"
    elif unit.kind == "prose" and unit.text.strip():
        yield paragraph(unit.text)
        if unit.question and exercise.questions[unit.question].words:
            yield rf"\words{{{unit.question}}}{{}}"
    elif unit.kind == "notation":
        yield from _equations(exercise, unit, answers)
    elif unit.kind == "design":
        yield from _matrices(exercise, unit, answers)
    elif unit.kind == "code" and unit.text.strip():
        yield verbatim("\n".join(unit.text.strip("\n").splitlines()[1:-1]))


# ---------------------------------------------------------------------- formulas


def _equations(exercise: Exercise, unit: Unit, answers: Mapping[str, str]) -> Iterator[str]:
    """The statements of a block, one below the other."""
    lines = {(line.start, line.end): line for line in unit.lines}
    inside = exercise.source.text[unit.start : unit.end].strip("\n").splitlines()[1:-1]
    offset = exercise.source.text.index("\n", unit.start) + 1
    parsed = parse_text("\n".join(inside), "block")
    rows: list[str] = []
    for statement in parsed.statements:
        start, end = statement.span.start + offset, statement.span.end + offset
        line = next((n for (a, b), n in lines.items() if a <= start and end <= b), None)
        rows += _statement(statement, line, answers)
    if rows:
        body = " \\\\\n".join(rows)
        yield f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _statement(statement: Statement, line: Line | None, answers: Mapping[str, str]) -> list[str]:
    """The rows of a statement, flush left, with boxes where gaps are."""
    verdict = ""
    if line is not None:
        for number, gap in enumerate(line.gaps):
            if gap.kind == "verdict" and isinstance(statement, Claim):
                verdict = rf"{_box(gap, answers)}\text{{:}}\quad "
                statement = replace(statement, false=False)
            else:
                statement = with_hole(statement, gap, Name(f"{HOLE}{'abcdefgh'[number]}"))
    rows = [_flush(row) for row in broken_rows(statement)]
    if line is not None:
        rows[0] = rows[0].replace(r"\text{claim } ", "", 1)
        for number, gap in enumerate(line.gaps):
            hole = rf"\text{{{HOLE}{'abcdefgh'[number]}}}"
            rows = [row.replace(hole, _box(gap, answers)) for row in rows]
    rows[0] = verdict + rows[0]
    return ["&" + row for row in rows]


def _flush(row: str) -> str:
    """A row without its mark of alignment, and with room before `within` and `for`."""
    row = re.sub(r"^& ?", "", row, count=1)
    depth = 0
    for match in re.finditer(r"\\begin\{|\\end\{|&", row):
        if match.group() == "&" and depth == 0:
            row = row[: match.start()] + row[match.end() :]
            break
        depth += {"\\begin{": 1, "\\end{": -1}.get(match.group(), 0)
    row = rf"\quad {row}" if row.startswith("=") else row
    return re.sub(r"(?<=\S) \\text\{(within|for|if) \}", r" \\quad\\text{\1 }", row)


def _box(gap: Gap, answers: Mapping[str, str]) -> str:
    said = answers.get(gap.label, "")
    room = "[9ex]" if gap.kind == "matrix" else ""
    return rf"\answer{room}{{{gap.label}}}{{{_answer(gap, said)}}}"


def _answer(gap: Gap, said: str) -> str:
    """An answer of the plain notation as LaTeX."""
    if not said or gap.kind == "verdict":
        return rf"\text{{{said}}}" if said else ""
    for front in ("claim q = ", "constant q[i] = ", "q = "):
        parsed = parse_text(f"{front}{said}", "answer")
        if not parsed.faults and len(parsed.statements) == 1:
            text = print_latex(parsed.statements[0])
            return text.partition("= ")[2].lstrip("& ") or text
    return code_line(said)


def _matrices(exercise: Exercise, unit: Unit, answers: Mapping[str, str]) -> Iterator[str]:
    text, at = exercise.source.text, exercise.source.text.index("\n", unit.start) + 1
    rows: list[str] = []
    end = unit.start + exercise.source.text[unit.start : unit.end].rfind("\n")
    lines = {line.start: line for line in unit.lines}
    while at < end:
        stop = text.find("\n", at)
        line = lines.get(at)
        if line is not None:
            left = math(line.around[0].rstrip("= "))
            rows.append(f"&{left} = {_box(line.gaps[0], answers)}")
        elif text[at:stop].strip():
            rows.append(rf"&\text{{{prose(text[at:stop].strip())}}}")
        at = stop + 1
    yield "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"


# ---------------------------------------------------------------------- prose


def paragraph(text: str) -> str:
    """A paragraph of Markdown: a list, a table, code that is indented, or prose."""
    lines = text.splitlines()
    if all(line.startswith("    ") for line in lines):
        return verbatim("\n".join(line[4:] for line in lines))
    if all(line.lstrip().startswith("|") for line in lines):
        return _table(lines)
    if re.match(r"(?:\d{1,3}[.)]|[-*+])[ \t]", lines[0]):
        return _list(lines)
    return prose(" ".join(lines))


def _list(lines: list[str]) -> str:
    kind = "enumerate" if lines[0][0].isdigit() else "itemize"
    items: list[str] = []
    for line in lines:
        match = re.match(r"(?:\d{1,3}[.)]|[-*+])[ \t]+(.*)", line)
        if match:
            items.append(match[1])
        else:
            items[-1] += " " + line.strip()
    body = "\n".join(rf"\item {prose(item)}" for item in items)
    return f"\\begin{{{kind}}}\n{body}\n\\end{{{kind}}}"


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    rules = next((row for row in rows if all(re.fullmatch(r":?-+:?", cell) for cell in row)), [])
    columns = "".join("r" if cell.endswith(":") else "l" for cell in rules) or "l" * len(rows[0])
    body = [" & ".join(map(prose, row)) + r" \\" for row in rows if row is not rules]
    if rules:
        body.insert(1, r"\hline")
    inside = "\n".join(body)
    small = "small" if len(columns) < MANY else "footnotesize\\setlength{\\tabcolsep}{3pt}"
    return f"{{\\{small}\\begin{{tabular}}{{{columns}}}\n{inside}\n\\end{{tabular}}}}"


def prose(text: str) -> str:
    """Prose of Markdown: formulas stay, markup is translated, all else is text."""
    found, at = "", 0
    for match in _INLINE.finditer(text):
        found += _plain(text[at : match.start()])
        at = match.end()
        if match["math"]:
            found += f"${math(match['math'][1:-1])}$"
        elif match["code"]:
            said = code_line(match["code"][1:-1]).replace("~", " ")  # it may be broken here
            found += rf"\texttt{{{said}}}"
        elif match["bold"]:
            found += rf"\textbf{{{prose(match['bolded'])}}}"
        elif match["italic"]:
            found += rf"\emph{{{prose(match['emphasised'])}}}"
        elif match["picture"]:
            path = match["picture"]
            found += rf"\IfFileExists{{{path}}}{{\includegraphics[width=\linewidth]{{{path}}}}}{{}}"
        else:
            found += prose(match["link"])
    return found + _plain(text[at:])


def _plain(text: str) -> str:
    return "".join(_sign(sign) for sign in unicodedata.normalize("NFC", text))


def _sign(sign: str) -> str:
    if sign in _PROSE_SIGNS:
        return _PROSE_SIGNS[sign]
    if ord(sign) < 0x250:
        return SPECIAL.get(sign, sign)
    made = math(sign)
    return f"${made}$" if made.isascii() else "?"


def math(text: str) -> str:
    """A formula whose letters and signs may be those of Unicode."""
    found = ""
    for sign in unicodedata.normalize("NFD", text):
        if sign in MARKS and found:
            found = f"{found[:-1]}{_accent(sign, found[-1])}"
        elif sign.isascii():
            found += sign
        elif sign in _MATH_SIGNS:
            found += _MATH_SIGNS[sign]
        elif sign in LATEX_LETTERS:
            found += f"{LATEX_LETTERS[sign]} "
        elif sign in LATEX_SIGNS:
            found += f"{LATEX_SIGNS[sign]} "
        else:
            letter = unicodedata.normalize("NFKD", sign)
            found += letter if letter.isascii() else "?"
    return found


def _accent(mark: str, letter: str) -> str:
    return rf"\{MARKS[mark]}{{{letter}}}"


def verbatim(text: str) -> str:
    """Lines as they are, in signs that a font for typewriters need not have."""
    lines = [
        rf"\texttt{{{code_line(line)}}}" if line.strip() else "~" for line in text.splitlines()
    ]
    return (
        "{\\footnotesize\\setlength{\\parskip}{0pt}\\raggedright\n"
        + "\\par\n".join(lines)
        + "\\par}"
    )


def code_line(text: str) -> str:
    found = ""
    for sign in unicodedata.normalize("NFD", text):
        if sign == " ":
            found += "~"
        elif sign in MARKS and found:
            found = f"{found[:-1]}\\ensuremath{{{_accent(sign, found[-1])}}}"
        elif sign in "-'`\"":
            found += f"{sign}{{}}"
        elif ord(sign) < 0x80:
            found += SPECIAL.get(sign, sign)
        else:
            found += rf"\ensuremath{{{math(sign).strip()}}}"
    return found
