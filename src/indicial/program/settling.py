"""A part of a document → programs that can be relied on: what is in doubt is not read, and said not to be.

    $$h[t,j] = …$$   $$y[t] = …$$   $$h_t = …$$     →     a program of two displays, and one of the third

A display that does not agree with the others is read by itself, with names of its own. What cannot be
read even so is computed nowhere, and listed with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from indicial.notation.faults import Skipped
from indicial.notation.syntax import Statement
from indicial.program.doubts import about
from indicial.program.foreign import foreign, without_names
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.program.sections import Part

Make = Callable[[Part], Program]


def settled(part: Part, make: Make) -> list[Program]:
    """The programs of a part, none of them in doubt."""
    part = _without_foreign(part)
    apart: list[Statement] = []
    while True:
        program = make(part)
        doubts = _doubts(part, program)
        if not doubts:
            break
        if part.borrowed:
            part = part.holding(part.statements)  # what came before may be about something else
            continue
        wrong = {id(statement) for _, statements in doubts for statement in statements}
        displays = part.displays()
        if len(displays) > 1:
            others = [d for d in displays if not any(id(s) in wrong for s in d)] or displays[:1]
            kept = {id(s) for d in others for s in d}
            apart += [s for s in part.statements if id(s) not in kept]
            part = part.holding([s for s in part.statements if id(s) in kept])
        else:
            reasons = {id(s): reason for reason, found in reversed(doubts) for s in found}
            left = [s for s in part.statements if id(s) not in wrong]
            out = [Skipped(s.span, reasons[id(s)]) for s in part.statements if id(s) in wrong]
            part = part.holding(left, out)
    return [program, *(settled(part.holding(apart).bare(), make) if apart else [])]


def _without_foreign(part: Part) -> Part:
    """The part without what is not about tensors."""
    prose = part.holding(part.statements).prose()
    plain = {id(s): without_names(s, part.outline()) for s in prose}
    if any(id(new) != old for old, new in plain.items()):
        home = {id(plain[key]): block for key, block in part.home.items() if key in plain}
        statements = [plain.get(id(s), s) for s in part.statements]
        part = replace(part, statements=statements, sketch=None, home={**part.home, **home})
        prose = part.holding(part.statements).prose()
    reasons = {id(s): reason for s in prose if (reason := foreign(s, part.outline()))}
    if not reasons:
        return part
    out = [Skipped(s.span, reasons[id(s)]) for s in prose if id(s) in reasons]
    kept = [s for s in part.statements if id(s) not in reasons]
    return replace(part.holding(kept, out), borrowed=part.borrowed)


def _doubts(part: Part, program: Program) -> list[tuple[str, list[Statement]]]:
    """Why the program is in doubt, and which statements are to blame."""
    try:
        found = program.doubts
    except (IndicialError, RecursionError, LookupError, ValueError, TypeError, AssertionError):
        # Whatever an author writes, the other displays of the document are read.
        return [("it is not understood", list(part.prose()))] if part.prose() else []
    return [(m.text, about(part.prose(), m) or list(part.prose())) for m in found if part.prose()]
