r"""Where the names of a text stand: every read, definition and declaration, in prose too.

    h[t,j] = tanh(W[j,I] h[t-1,I])
    →  h twice, the first defines it; W once; the letters t, j and i (its capital sums) wherever they stand

A name is one thing where programs share its equations: what a section takes over from the one before
is the same name there. `key` is how the program calls it, so `\tau`, `tau` and `τ` are one.

A text that is being edited: its lines, its offsets, what became of places in it; and what is known of it.

>>> text = Text("a = 1\\nb = 𝔼\\n", units=16)
>>> text.offset(1, 6)          # the end of 𝔼, which is two units of UTF-16
11
>>> edit = text.edit((0, 0), (0, 1), "xyz")
>>> str(text), moved(4, [edit])
('xyz = 1\\nb = 𝔼\\n', 6)

Lines are kept apart, so that an edit costs as much as it is long, and not as the text is. `Findings` are plain
data that goes from one process to another; all places are offsets in the text. Nothing here reads: who answers
an editor starts at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from indicial import library
from indicial.notation import syntax as s
from indicial.notation.commands import interpret_commands
from indicial.notation.documents import Document
from indicial.notation.expressions import ExpressionParser
from indicial.notation.faults import Refusal
from indicial.notation.markup import Display
from indicial.notation.printers import latex, plain, unicode
from indicial.notation.rows import split_rows
from indicial.notation.signs import DOUBLE_LETTERS
from indicial.notation.source import Span
from indicial.notation.tokens import tokenize
from indicial.program.names.letters import family, index_name, is_capital
from indicial.program.names.naming import Naming, Reference
from indicial.program.names.outline import DISTRIBUTIONS
from indicial.program.names.uses import BUILT_IN
from indicial.program.program import Program

LETTER, FUNCTION, BUILT, MODEL, TENSOR = "letter", "function", "built-in", "model", "tensor"
"""What a name can be."""


@dataclass(frozen=True)
class Occurrence:
    """A name at one place of the text."""

    start: int
    end: int
    """The name with its scripts, without its brackets."""
    key: str
    kind: str
    thing: int
    """The same for all occurrences of one name."""
    program: int
    defines: bool = False
    latex: bool = False
    base: tuple[int, int] | None = None
    """Where its letter or word stands; None if a macro stands for it."""
    bare: bool = True
    """It has no indices below or above it, so that all of it is the name."""
    capital: bool = False
    """A letter that stands for its range: the I of `W[j,I]`."""


@dataclass(frozen=True)
class Diagnostic:
    """A message at its place."""

    start: int
    end: int
    severity: str
    code: str
    text: str
    hint: str = ""
    related: tuple[tuple[int, int, str], ...] = ()
    fix: tuple[int, int, str] | None = None
    """What the hint says to write, and where."""


@dataclass(frozen=True)
class Equation:
    """A stretch of the text that defines something, with what it costs."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Shape:
    """The sizes of a name, shown behind its first occurrence."""

    at: int
    text: str
    reason: str


@dataclass
class Findings:
    """Everything that the server answers with."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    names: list[Occurrence] = field(default_factory=list)
    about: dict[tuple[int, str, str], str] = field(default_factory=dict)
    """What there is to say of a name, by its program, kind and key."""
    equations: list[Equation] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    sections: list[tuple[int, int, str]] = field(default_factory=list)
    failure: str = ""
    """Why nothing is known: the text is too much for the checker."""


Position = tuple[int, int]
"""Line and column as an editor counts them: from 0, the column in units of its encoding."""
Edit = tuple[int, int, int]
"""What was replaced, from one offset to another, and how long the new text is."""

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def _lines(text: str) -> list[str]:
    """Lines with their ends, as the protocol divides them: form feeds and the like end none."""
    return _LINES.findall(text)


class Text:
    """`units` is 8, 16 or 32: what a column counts."""

    def __init__(self, text: str, units: int = 16) -> None:
        self.lines = _lines(text)
        self.units = units

    def __str__(self) -> str:
        return "".join(self.lines)

    def offset(self, line: int, column: int) -> int:
        """Where a position is in the whole text; one outside is moved to the nearest inside."""
        return sum(map(len, self.lines[: max(0, line)])) + self._index(line, column)

    def _index(self, line: int, column: int) -> int:
        """How many characters of a line stand before a column."""
        if not 0 <= line < len(self.lines):
            return 0
        text = self.lines[line].rstrip("\r\n")
        if self.units == 32 or text.isascii():
            return max(0, min(column, len(text)))
        for number, character in enumerate(text):
            if column <= 0:
                return number
            column -= self._width(character)
        return len(text)

    def _width(self, character: str) -> int:
        if self.units == 16:
            return 2 if ord(character) > 0xFFFF else 1
        return len(character.encode("utf-8", "surrogatepass")) if self.units == 8 else 1

    def positions(self, offsets: Iterable[int]) -> dict[int, Position]:
        """The positions of offsets; one walk through the lines for all of them."""
        found: dict[int, Position] = {}
        line, start = 0, 0
        for offset in sorted(set(offsets)):
            while line < len(self.lines) and start + len(self.lines[line]) <= offset:
                start += len(self.lines[line])
                line += 1
            before = self.lines[line][: offset - start] if line < len(self.lines) else ""
            wide = self.units != 32 and not before.isascii()
            column = sum(map(self._width, before)) if wide else len(before)
            found[offset] = line, column
        if self.lines and not self.lines[-1].endswith(("\n", "\r")):
            last = len(self.lines) - 1  # behind the last sign of a text that ends without a newline
            end = self.offset(last, 1 << 30)
            width = sum(map(self._width, self.lines[last]))
            found |= {o: (last, width) for o in found if o >= end}
        return found

    def edit(self, start: Position, end: Position, new: str) -> Edit:
        """Replaces what stands between two positions; tells where that was."""
        first, last = (min(max(line, 0), len(self.lines)) for line in (start[0], end[0]))
        last = max(first, last)
        begin, finish = self._index(first, start[1]), self._index(last, end[1])
        before = sum(map(len, self.lines[:first]))
        replaced = self.lines[first : last + 1]
        whole = "".join(replaced)
        stop = max(begin, sum(map(len, replaced[: last - first])) + finish)
        # A line that is cut before its end goes on with the next, and `\r` may meet `\n`.
        changed = whole[:begin] + new + whole[stop:]
        following = self.lines[last + 1 : last + 2]
        if not changed.endswith("\n") and following:
            changed += following[0]
            last += 1
        self.lines[first : last + 1] = _lines(changed)
        if first and self.lines[first - 1].endswith("\r") and changed.startswith("\n"):
            self.lines[first - 1 : first + 1] = _lines("".join(self.lines[first - 1 : first + 1]))
        return before + begin, before + stop, len(new)


def moved(offset: int, edits: Sequence[Edit]) -> int:
    """Where a place is after some edits; one inside of what was replaced is at its beginning."""
    for start, end, length in edits:
        if offset >= end:
            offset += length - (end - start)
        elif offset > start:
            offset = start
    return offset


def before(offset: int, edits: Sequence[Edit]) -> int:
    """Where a place was before some edits: the other way round."""
    for start, end, length in reversed(edits):
        if offset >= start + length:
            offset -= length - (end - start)
        elif offset > start:
            offset = start
    return offset


def touched(start: int, end: int, edits: Sequence[Edit]) -> bool:
    """Whether an edit changed something between two places, or at one of them."""
    for first, last, length in edits:
        if first <= end and start <= last and (last > first or first < end):
            return True
        start, end = (moved(o, [(first, last, length)]) for o in (start, end))
    return False


_SPACES = frozenset(DOUBLE_LETTERS.values())


@dataclass(frozen=True)
class _Found:
    name: s.Name
    reference: Reference
    key: str
    kind: str
    defines: bool


def occurrences(document: Document, programs: Sequence[Program]) -> list[Occurrence]:
    """All of them, in the order of the text."""
    surfaces = sorted((d.body.start, d.body.end, d.surface == "latex") for d in _formulas(document))
    found: dict[tuple[int, int], tuple[_Found, int]] = {}
    same = _Same()
    for number, program in enumerate(programs):
        naming = Naming(program.written)
        for one in _in_program(program, naming):
            span = one.name.span
            if span.source is not document.source or not span.text:
                continue
            place = (span.start, span.end)
            if place in found and found[place][0].key == one.key:
                same.join((found[place][1], one.kind, one.key), (number, one.kind, one.key))
            found.setdefault(place, (one, number))
    for number, one in _in_prose(document, programs, found):
        found.setdefault((one.name.span.start, one.name.span.end), (one, number))
    return [
        _occurrence(one, number, same.number((number, one.kind, one.key)), _is_latex(surfaces, place[0]))
        for place, (one, number) in sorted(found.items(), key=lambda item: item[0])
    ]  # fmt: skip


def _occurrence(one: _Found, number: int, thing: int, is_latex: bool) -> Occurrence:
    name, span = one.name, one.name.span
    scripted = bool(one.reference.items or one.reference.power or one.reference.group)
    return Occurrence(
        span.start, span.end, one.key, one.kind, thing, number, one.defines, is_latex,
        _base(name), not scripted, one.kind == LETTER and is_capital(name.base),
    )  # fmt: skip


def _formulas(document: Document) -> list[Display]:
    own = [d for d in document.displays if d.span.source is document.source]
    return [*own, *document.formulas]


def _is_latex(surfaces: Sequence[tuple[int, int, bool]], offset: int) -> bool:
    return next((x for start, end, x in surfaces if start <= offset < end), False)


def _base(name: s.Name) -> tuple[int, int] | None:
    r"""Where the letter stands in what was written: the h of `\mathbf{h}_t`, the τ of `τ_1`."""
    text = name.span.text
    stem = text
    for sign in "_^'′":
        stem = stem.split(sign, 1)[0]
    word = s.Name(name.base)
    spellings = {name.base, unicode(word), plain(word), latex(word), f"\\{name.base}"}
    for spelling in sorted(spellings, key=len, reverse=True):
        at = stem.rfind(spelling)
        if at >= 0 and spelling:
            return name.span.start + at, name.span.start + at + len(spelling)
    return None


# ---------------------------------------------------------------------- one program


def _in_program(program: Program, naming: Naming) -> Iterator[_Found]:
    code = program.analysis.code
    outline = program.analysis.outline
    for statement in program.written:
        heads = {id(head) for head in _heads(statement)}
        fills = isinstance(statement, s.Equation) and _is_fill(statement)
        drawn = {id(side) for side in _rights(statement)}
        stack: list[tuple[s.Node, bool]] = [(statement, False)]
        while stack:
            node, inside = stack.pop()
            if not isinstance(node, s.Name):
                value: s.Node | None = None  # the one child that is no place
                if isinstance(node, s.Index):
                    value = node.base
                elif isinstance(node, s.Reduction):
                    value = node.body
                for child in node.children():
                    stack.append((child, inside or (value is not None and child is not value)))
                continue
            reference = naming.read(node)
            stack += [(item, True) for item in reference.items]
            stack += [(n, False) for n in (reference.power, reference.group) if n is not None]
            key, letter = reference.key, index_name(node)
            if key in DISTRIBUTIONS and id(node) in drawn:
                continue
            if fills and id(node) not in heads:
                yield _Found(node, reference, node.span.text.strip(), MODEL, False)
            elif key in BUILT_IN and key not in code.tensors and not inside:
                yield _Found(node, reference, key, BUILT, False)
            elif letter is not None and (inside or key not in code.tensors):
                yield _Found(node, reference, family(letter), LETTER, False)
            elif key in code.tensors:
                yield _Found(node, reference, key, TENSOR, id(node) in heads)
            elif key in outline.functions or key in program.holes:
                yield _Found(node, reference, key, FUNCTION, id(node) in heads)
            elif node.base not in _SPACES:
                yield _Found(node, reference, key, TENSOR, id(node) in heads)


def _heads(statement: s.Statement) -> Iterator[s.Expression]:
    """The names that a statement defines or declares."""
    if isinstance(statement, s.Declaration):
        yield from map(_head, statement.items)
    elif isinstance(statement, s.Equation):
        yield _head(statement.sides[0])


def _rights(statement: s.Statement) -> Iterator[s.Expression]:
    """What stands before brackets on the other sides: the N of `k[i] ~ N(0, 1)`."""
    if isinstance(statement, s.Equation):
        yield from map(_head, statement.sides[1:])


def _head(side: s.Expression) -> s.Expression:
    side = s.head(side)
    return side


def _is_fill(statement: s.Equation) -> bool:
    """`CELL = ugrnn`: the right side is a model of the library."""
    right = statement.sides[-1].span.text.strip()
    return len(statement.sides) == 2 and right.isidentifier() and right in library.names()


# ---------------------------------------------------------------------- prose


def _in_prose(
    document: Document,
    programs: Sequence[Program],
    found: Mapping[tuple[int, int], tuple[_Found, int]],
) -> Iterator[tuple[int, _Found]]:
    """Names in formulas that no program has: those inside sentences, of the nearest program."""
    if document.flavour not in ("prose", "tex"):
        return
    at_home: list[tuple[int, int, int]] = []
    for number, program in enumerate(programs):
        spans = [st.span for st in program.written if st.span.source is document.source]
        if spans:
            at_home.append((min(sp.start for sp in spans), max(sp.end for sp in spans), number))
    read = sorted(found)
    namings: dict[int, Naming] = {}
    letters = {(number, one.key) for one, number in found.values() if one.kind == LETTER}
    position = 0
    for formula in document.formulas:
        body = formula.body
        while position < len(read) and read[position][1] <= body.start:
            position += 1
        if position < len(read) and read[position][0] < body.end:
            continue  # a program has it
        section = next(
            (x.span for x in document.sections if x.span.start <= body.start < x.span.end), None
        )
        if section is None:
            continue
        near = [
            (max(start - body.end, body.start - end, 0), number)
            for start, end, number in at_home
            if start < section.end and end > section.start
        ]
        if not near:
            continue
        number = min(near)[1]
        program = programs[number]
        naming = namings.setdefault(number, Naming(program.written))
        for name in names_in(body, formula.surface == "latex"):
            reference = naming.read(name)
            if reference.key in program.analysis.code.tensors:
                yield number, _Found(name, reference, reference.key, TENSOR, False)
                below = [n for item in reference.items for n in item.every(s.Name)]
            else:
                below = [name]
            for one in below:
                letter = index_name(one)
                if letter is not None and (number, family(letter)) in letters:
                    yield number, _Found(one, naming.read(one), family(letter), LETTER, False)


def names_in(body: Span, is_latex: bool) -> Iterator[s.Name]:
    """Every name of a formula, whatever else it says: `$h_t$`, `$x_1, …, x_T$`, `$t = 1$`."""
    tokens = [t for t in tokenize(body.source, body.start, body.end, is_latex) if t.kind != "comment"]  # fmt: skip
    if any(t.kind == "endless" for t in tokens):
        return
    rows, _ = split_rows(interpret_commands(tokens, is_latex), is_latex)
    for row in rows:
        parser = ExpressionParser(row.tokens, is_latex)
        while not parser.done():
            start = parser.i
            try:
                token = parser.peek()
                name, _ = parser.decorate(parser.base_name(), token)
                yield name
            except Refusal:
                parser.i = start + 1
                parser.depth = parser.script_depth = 0


# ---------------------------------------------------------------------- what is the same


class _Same:
    """Which names of which programs are one."""

    def __init__(self) -> None:
        self._above: dict[tuple[int, str, str], tuple[int, str, str]] = {}
        self._numbers: dict[tuple[int, str, str], int] = {}

    def _root(self, thing: tuple[int, str, str]) -> tuple[int, str, str]:
        while thing in self._above:
            thing = self._above[thing]
        return thing

    def join(self, one: tuple[int, str, str], other: tuple[int, str, str]) -> None:
        one, other = self._root(one), self._root(other)
        if one != other:
            self._above[other] = one

    def number(self, thing: tuple[int, str, str]) -> int:
        return self._numbers.setdefault(self._root(thing), len(self._numbers))
