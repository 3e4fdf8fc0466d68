r"""A file of answers → what stands in each gap. Nothing of it is run.

    claim work of h = 2 J T^2  # a1        in Markdown and notebooks: what stands in the place of ___
    \answer{a1}{2 J T^2}                   in LaTeX
    a1: 2 J T^2                            a line of one's own

Lines that a student adds to a block with gaps are kept beside its answers, to be read with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from indicial.exercises.asking import BLANK, Exercise, Line
from indicial.exercises.handout import WORDS
from indicial.notation.notebooks import all_cells
from indicial.notation.source import Source
from indicial.program.inputs import Unfit, plain_bytes
from indicial.program.messages import IndicialError

MOST_BYTES = 20_000_000
"""Of a file: notebooks hold pictures."""
MOST_TEXT = 400_000
"""Signs that are read of it, outputs left out."""
MOST_OWN = 40
"""Lines that may be added to a block."""
MOST_WORDS = 5_000
SUFFIXES = (".ipynb", ".md", ".markdown", ".tex", ".ltx", ".txt")
_EDGE = "\ue000"
"""Stands between the cells of a notebook."""


@dataclass
class Answers:
    """What a student handed in."""

    name: str
    filled: dict[str, str] = field(default_factory=dict)
    own: dict[str, list[str]] = field(default_factory=dict)
    """Lines that were added to the block of a gap."""
    words: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list, repr=False)
    """The cells of a notebook that hold Python; they are not run."""


def read_answers(path: Path, exercise: Exercise) -> Answers:
    """The answers in a file."""
    try:
        content = plain_bytes(path, MOST_BYTES)
    except (Unfit, OSError) as error:
        raise IndicialError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    return answers_of(content.decode("utf-8", errors="replace"), path.name, exercise)


def answers_of(text: str, name: str, exercise: Exercise) -> Answers:
    """The answers in a text; the ending of its name says what it is."""
    found = Answers(name)
    if name.lower().endswith(".ipynb"):
        cells, faults = all_cells(Source(name, text))
        if faults and not cells:
            raise IndicialError(f"{name}: {faults[0].message}")
        found.code = [
            text for kind, text in cells if kind == "code" and text.lstrip()[:1] not in "%!"
        ]
        text = f"\n{_EDGE}\n".join(text for _, text in cells)
    if len(text) > MOST_TEXT:
        found.remarks.append(f"only the first {MOST_TEXT:,} of its {len(text):,} signs are read")
        text = text[:MOST_TEXT]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"[^\S\n]+", " ", text)  # so that what is looked for has few ways to fit
    text = re.sub(r" ?\n ?", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", text)
    _fill(found, text, exercise)
    return found


def _fill(found: Answers, text: str, exercise: Exercise) -> None:
    labels = exercise.gaps
    for label, said in _braced(text, "answer"):
        if label in labels:
            found.filled[label] = said
    for label, said in _listed(text):
        if label in labels:
            found.filled[label] = said
    for unit in exercise.units:
        places: list[tuple[int, int]] = []
        for line in unit.lines:
            place = _find(line, text, found)
            if place is not None:
                places.append(place)
        if places:
            own = list(_own(text, places, exercise))
            for line in unit.lines:
                found.own |= {gap.label: own for gap in line.gaps if own}
    found.filled = {n: s for n, s in found.filled.items() if s.strip(" \t\n_")}
    for label in exercise.questions:
        said = _words(text, label)
        if said:
            found.words[label] = said[:MOST_WORDS]


def _find(line: Line, text: str, found: Answers) -> tuple[int, int] | None:
    """The place of a line with its gaps filled: by its label, else by what stands around the gap."""
    labels = r"[ \t]+".join(re.escape(gap.label) for gap in line.gaps)
    # Not beyond another label, block or claim.
    inside = rf"((?:(?!\n[ \t]*(?:claim|constant)\b)[^#`{_EDGE}]){{0,4000}}?)"
    fixed = [_loose(part) for part in line.around]
    pattern = r"\s*".join([fixed[0], *(f"{inside}\\s*{part}" for part in fixed[1:])])
    labelled = re.compile(rf"^[ \t]*{pattern}[ \t]*#[ \t]*{labels}(?![\w.])", re.M)
    matches = list(labelled.finditer(text))
    if not matches:
        one_line = re.compile(rf"^[ \t]*{pattern}[ \t]*$", re.M)
        matches = [m for m in one_line.finditer(text) if "\n" not in m.group().strip()][:1]
    for match in matches:
        for gap, said in zip(line.gaps, match.groups(), strict=True):
            if said.strip(" \t\n_") or gap.label not in found.filled:
                found.filled[gap.label] = said.strip()
    if matches:
        return matches[-1].span()
    place = re.search(rf"#[ \t]*{labels}(?![\w.])", text)
    if place and not all(gap.label in found.filled for gap in line.gaps):
        found.remarks.append(
            f"{line.labels}: the line around the gap was changed; it should be "
            f"`{line.filled([BLANK] * len(line.gaps))}`"
        )
    return None


def _loose(text: str) -> str:
    """A pattern for a text, with blanks anywhere between its words and signs."""
    return r"\s*".join(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", text))


def _own(text: str, places: list[tuple[int, int]], exercise: Exercise) -> Iterator[str]:
    """The lines of the block around some gaps that the handout does not have."""
    start, end = min(a for a, _ in places), max(b for _, b in places)
    opening = max(
        text.rfind("```", 0, start), text.rfind(_EDGE, 0, start), text.rfind("%%", 0, start)
    )
    start = text.find("\n", opening) + 1 if opening >= 0 else start
    closings = [at for at in (text.find("```", end), text.find(_EDGE, end)) if at >= 0]
    end = min(closings, default=len(text))
    given = {_bare(line) for line in exercise.source.text.splitlines()}
    inside = text[start:end]
    for a, b in sorted(places, reverse=True):
        if start <= a <= end:
            inside = inside[: a - start] + "\n" + inside[b - start :]
    count = 0
    for line in inside.splitlines():
        said = line.split("#")[0].strip()
        if "=" in said and not said.startswith("claim") and _bare(said) not in given:
            count += 1
            if count <= MOST_OWN:
                yield said


def _bare(line: str) -> str:
    return "".join(line.split("#")[0].split())


def _braced(text: str, command: str) -> Iterator[tuple[str, str]]:
    r"""`\answer{a1}{\frac{1}{2}}`: braces inside it are matched."""
    behind = 0
    for match in re.finditer(
        rf"\\{command}(?:\[[^][\n]{{0,12}}\])?\{{([^{{}}\n]{{1,12}})\}}\s?\{{", text
    ):
        line = text.rfind("\n", 0, match.start()) + 1
        before = text[max(line, match.start() - 200) : match.start()]
        if match.start() < behind or "newcommand" in before or re.search(r"(?<!\\)%", before):
            continue
        depth, behind = 1, match.end()
        for sign in re.finditer(r"\\.|[{}]", text[behind : behind + MOST_WORDS], re.S):
            depth += {"{": 1, "}": -1}.get(sign.group(), 0)
            if not depth:
                yield match[1].strip(), text[behind : behind + sign.start()].strip()
                behind += sign.end()
                break
        else:
            behind += MOST_WORDS  # it is never closed


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """`a1: 2 J T`, `- **a1** = 2 J T`."""
    pattern = r"^[ \t]*(?:[-*+][ \t]+)?\**\(?([a-z]\d{1,3}|\d{1,3}\.\d{1,3})\)?\**[ \t]*[:=][ \t]*(\S[^\n]{0,4000})$"
    for match in re.finditer(pattern, text, re.M):
        yield match[1], match[2].strip()


def _words(text: str, label: str) -> str:
    """What is written below `*In words, (a):*`, up to the next block, heading or question."""
    for braced, said in _braced(text, "words"):
        if braced == label:
            return said
    mark = WORDS.format(label=label)
    at = text.find(mark)
    if at < 0:
        return ""
    rest = text[at + len(mark) :]
    end = re.search(rf"^(?:#{{1,6}} |```|%%|\*\*\([a-z]\)\*\*|\*In words, )|{_EDGE}", rest, re.M)
    return rest[: end.start() if end else len(rest)].strip()
