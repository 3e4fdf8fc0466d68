r"""How a stretch of a document was read: one display among the programs of its text.

    $$y_j = \sum_i W_{ji} x_i$$   →   Reading(axes={"y": {1}, "W": {2}, "x": {1}}, sums=(i,), …)

A program is made of several displays, and a display may fall into several programs, where it defines
a name twice. Everything here goes by places in the text: what the code says of them, which rows were
left out, and which messages stand there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.faults import Skipped
from indicial.notation.source import NOWHERE, Span
from indicial.program import ir
from indicial.program.explain.facts import made
from indicial.program.messages import Message, in_order

if TYPE_CHECKING:
    from indicial.program.program import Program

NO_SUMS = ("prod", "max", "min", "argmax", "argmin")
"""The reductions that add nothing up."""


@dataclass
class Reading:
    """What became of a stretch of text."""

    axes: dict[str, set[int]] = field(default_factory=dict)
    """Each name that is read or defined there, with its number of axes: several, if it is several."""
    sums: dict[tuple[Span, str], None] = field(default_factory=dict)
    """The indices that are summed there, each with the place of its sum; written or implied."""
    softmaxes: dict[tuple[Span, str], None] = field(default_factory=dict)
    """The indices that a softmax runs over."""
    letters: set[str] = field(default_factory=set)
    """The letters that are indices or sizes there."""
    equations: int = 0
    """The rows that are equations of a program."""
    functions: int = 0
    """How many of them define a function; the code has those only where they are called."""
    faulty: bool = False
    """Whether a program that it is part of has an error, here or elsewhere: then nobody computes it."""
    skipped: list[Skipped] = field(default_factory=list)
    """The rows that were left out, with the reason."""
    messages: list[Message] = field(default_factory=list)
    """The messages whose first place is there, notes included."""

    @property
    def computed(self) -> bool:
        """Whether anything there is part of a program; if not, it is outside."""
        return bool(self.axes or self.equations)

    @property
    def errors(self) -> list[Message]:
        return [m for m in self.messages if m.severity == "error"]

    @property
    def mistakes(self) -> list[Message]:
        return [m for m in self.messages if m.severity != "note"]


def reading(
    programs: Sequence[Program], start: int, end: int, file: str = "", again: Sequence[Span] = ()
) -> Reading:
    """How the programs of a document read the text from `start` to `end`.

    `file` is the name of the text, if the programs come from several. `again` are the places where
    rows of this text stand first: a repeated row is part of no program, and is read as there.
    """

    def here(span: Span) -> bool:
        named = not file or span.source.name == file
        return named and bool(span.source.text) and start <= span.start and span.end <= end

    def counts(span: Span) -> bool:
        return here(span) or any(span.within(other) for other in again)

    found = Reading()
    known: set[Span] = set()
    said: dict[Message, None] = {}
    left_out: dict[Span, Skipped] = {}
    for program in programs:
        said.update(dict.fromkeys(m for m in program.messages if here(m.span)))
        left_out.update((s.span, s) for s in program.skipped if here(s.span))
        # What a later program takes over is read where it stands.
        units = [unit for unit in _units(program.analysis.code) if counts(unit.span)]
        fresh = [unit for unit in units if unit.span not in known]
        for unit in fresh:
            _add(found, program, unit, counts)
        written = {e.span for e in program.equations if counts(e.span)} - known - set(left_out)
        found.equations += len(written)
        found.faulty = found.faulty or bool((written or fresh) and program.errors)
        found.functions += sum(not any(u.span.within(e) for u in units) for e in written)
        known.update(written, (unit.span for unit in fresh))
    found.messages = in_order(said)
    found.skipped = list(left_out.values())
    return found


Unit = ir.Statement | ir.Test | ir.Draw


def _units(code: ir.Code) -> Iterator[Unit]:
    yield from code.statements
    yield from code.tests
    yield from code.draws


def _add(found: Reading, program: Program, unit: Unit, counts: Callable[[Span], bool]) -> None:
    """Adds what one equation says: its names, its sums, its letters."""
    code = program.analysis.code
    found.letters.update(code.sizes, (index.name for index in unit.indices))
    names = [unit.target] if isinstance(unit, ir.Statement) else []
    names += [unit.tensor] if isinstance(unit, ir.Draw) else []
    unwritten = (
        isinstance(unit, ir.Statement)
        and _unwritten(unit.target, program)
        and (not made(code, code.tensors[unit.target]) or unit.target.startswith("exponential"))
    )
    heads = [st.left for st in program.written if isinstance(st, s.Equation)]
    functions = {head.word for head in heads if isinstance(head, s.Call)}
    calls = s.every(program.written, s.Call)
    called = {c.span for c in calls if c.word in functions} - {NOWHERE}
    for expression in _expressions(unit):
        for node in expression.walk():
            if isinstance(node, ir.Read) and _unwritten(node.tensor, program):
                # A join `[x_t, h_{t-1}]`, an inverse that is written several times is made at its first place.
                names += _read_by(node.tensor, program)
            if not counts(node.span):
                continue  # a function that is written elsewhere
            if node.span in called and isinstance(node, ir.Reduce | ir.Softmax):
                continue  # the last operation of a function that is written elsewhere
            if unwritten and node.span == unit.span:
                continue  # the elimination that an inverse stands for, the series of an exponential
            if isinstance(node, ir.Read):
                names.append(node.tensor)
            elif isinstance(node, ir.Reduce | ir.Softmax):
                found.letters.update(index.name for index in node.indices)
                keys = dict.fromkeys((node.span, index.name) for index in node.indices)
                if isinstance(node, ir.Softmax):
                    found.softmaxes |= keys
                elif node.operator not in NO_SUMS and not _stands_in(node, program.holes):
                    found.sums |= keys
    for name in names:
        if name not in code.tensors or made(code, code.tensors[name]) or _unwritten(name, program):
            continue
        if not _of_hole(name, program.holes):
            written = (
                name if name.startswith("∂") else name.replace("_·", "")
            )  # the L_i of `L = Σ_i L_i`
            found.axes.setdefault(written, set()).add(len(code.tensors[name].axes))


def _unwritten(name: str, program: Program) -> bool:
    """Whether a name is defined, but by no equation that anyone wrote: the identity `I` of vector style."""
    places = [unit.span for unit in program.analysis.code.statements if unit.target == name]
    return bool(places) and not {e.span for e in program.equations} & set(places)


def _read_by(name: str, program: Program) -> list[str]:
    """What the statements of a name read, through all that nobody wrote."""
    code = program.analysis.code
    reached, waiting = {name: None}, [name]
    while waiting:
        target = waiting.pop()
        for statement in code.of(target) if _unwritten(target, program) else ():
            new = [t for t in statement.body.tensors() if t not in reached]
            reached |= dict.fromkeys(new)
            waiting += new
    return list(reached)


def _of_hole(name: str, holes: Sequence[str]) -> bool:
    """Whether a name was made for a function that is only named: `CELL1^{2}`."""
    return any(re.fullmatch(rf"{re.escape(hole)}\d+\^\{{\d+\}}", name) for hole in holes)


def _stands_in(node: ir.Reduce, holes: Sequence[str]) -> bool:
    factors = node.body.children()
    return any(isinstance(f, ir.Read) and _of_hole(f.tensor, holes) for f in factors)


def _expressions(unit: Unit) -> tuple[ir.Expression, ...]:
    if isinstance(unit, ir.Statement):
        return (unit.body,) if unit.guard is None else (unit.body, unit.guard)
    if isinstance(unit, ir.Test):
        return unit.left, unit.right
    return unit.arguments
