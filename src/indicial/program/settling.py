"""A part of a document → programs that can be relied on: what is in doubt is not read, and said not to be.

    $$h[t,j] = …$$   $$y[t] = …$$   $$h_t = …$$     →     a program of two displays, and one of the third

A display that does not agree with the others is read by itself, with names of its own. What cannot be
read even so is computed nowhere, and listed with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from indicial.notation.syntax import Statement
from indicial.program.doubts import about
from indicial.program.foreign import foreign, without_names
from indicial.program.names.sorting import says_what
from indicial.program.program import Program
from indicial.program.sections import Part

Make = Callable[[Part], Program]


def settle(parts: list[Part], make: Make) -> list[Program]:
    """The programs of a document's parts."""
    about_tensors = _without_lost_displays([_without_foreign(part) for part in parts])
    return [program for part in about_tensors for program in settled(part, make)]


def settled(part: Part, make: Make) -> list[Program]:
    """The programs of a part, none of them in doubt."""
    apart: list[Statement] = []
    while True:
        program, doubts = _attempt(part, make)
        if program is not None and not doubts:
            break
        if part.borrowed:
            part = part.holding(part.statements)  # what came before may be about something else
            continue
        wrong = {id(statement) for _, statements in doubts for statement in statements}
        said = [s for s in part.statements if says_what(s)]  # `x ∈ ℝ^d` holds for all of them
        displays = [d for d in part.displays() if not all(map(says_what, d))]
        if len(displays) > 1:
            others = [d for d in displays if not any(id(s) in wrong for s in d)] or displays[:1]
            kept = {id(s) for d in (said, *others) for s in d}
            apart += [s for s in part.statements if id(s) not in kept]
            part = part.holding([s for s in part.statements if id(s) in kept])
        else:
            part = part.without(
                {id(s): reason for reason, found in reversed(doubts) for s in found}
            )
    said = [s for s in part.statements if says_what(s)]
    rest = part.holding([*said, *apart]).bare()
    return [program, *(settled(rest, make) if apart else [])]


def _attempt(part: Part, make: Make) -> tuple[Program | None, list[tuple[str, list[Statement]]]]:
    """The program of a part; why it is in doubt, and which statements are to blame."""
    prose = part.prose()
    try:
        program = make(part)
        found = program.doubts if prose else []
        return program, [(m.text, about(prose, m) or list(prose)) for m in found]
    except Exception:
        # Whatever an author writes, the other displays of the document are read.
        if not prose:
            raise
        return None, [("it is not understood", list(prose))]


def _without_lost_displays(parts: list[Part]) -> list[Part]:
    """A display that two parts share is read by both of them or by none."""
    lost = {at for part in parts for at in part.lost}
    return [part.without_displays(lost) for part in parts] if lost else parts


def _without_foreign(part: Part) -> Part:
    """The part without what is not about tensors."""
    own = part.holding(part.statements).prose()
    plain = {id(s): without_names(s, part.outline()) for s in own}
    if any(id(new) != old for old, new in plain.items()):
        home = {id(plain[key]): block for key, block in part.home.items() if key in plain}
        statements = [plain.get(id(s), s) for s in part.statements]
        part = replace(part, statements=statements, sketch=None, home={**part.home, **home})
        own = part.holding(part.statements).prose()
    reasons = {id(s): reason for s in own if (reason := foreign(s, part.outline()))}
    return replace(part.without(reasons), borrowed=part.borrowed) if reasons else part
