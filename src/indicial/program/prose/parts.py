"""A display of a document, and what of a document is one program.

    part.displays()                     its own statements, display by display
    part.without({id(st): "why"})       the same without the display that st stands in

A `Part` is never changed: what settles it makes another one, with fewer statements or others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from indicial.notation import syntax as s
from indicial.notation.faults import BESIDE, Fault, Skipped
from indicial.program.messages import Messages
from indicial.program.names.outline import Outline
from indicial.program.names.sorting import outline
from indicial.program.prose.conventions import function_head


@dataclass(frozen=True)
class Block:
    """The statements of one display."""

    title: str
    statements: Sequence[s.Statement]
    faults: Sequence[Fault] = ()
    skipped: Sequence[Skipped] = ()
    strict: bool = True
    """It is a program, and not prose with formulas."""
    level: int = 0
    """That of the heading that it stands under."""
    above: tuple[str, ...] = ()
    """The titles that this heading stands under."""


@dataclass
class Part:
    """The statements of one program, and what was taken from the program before it."""

    title: str
    statements: list[s.Statement] = field(default_factory=list)
    borrowed: list[s.Statement] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    sketch: Outline | None = None
    """All its statements sorted, once somebody has asked."""
    level: int = 0
    """That of its heading."""
    home: Mapping[int, Block] = field(default_factory=dict)
    """The display that each statement of the document stands in, by its identity."""
    lost: Mapping[int, str] = field(default_factory=dict)
    """The displays that are not read, by their identity, and why."""

    @property
    def whole(self) -> list[s.Statement]:
        return [*self.borrowed, *self.statements]

    def prose(self) -> list[s.Statement]:
        """The statements that stand in prose."""
        return [st for st in self.whole if id(st) in self.home and not self.home[id(st)].strict]

    def displays(self) -> list[list[s.Statement]]:
        """Its own statements, display by display."""
        return [
            list(g) for _, g in groupby(self.statements, key=lambda st: id(self.home.get(id(st))))
        ]

    def holding(
        self, statements: list[s.Statement], out: Sequence[Skipped] = (), draws: bool = False
    ) -> Part:
        """The same with these statements and the functions they may call; `out` is no longer read.

        With `draws` what is drawn stays too: the ε of `ε ~ N(0, I)` is a vector, whatever else came before.
        """
        functions = [
            st
            for st in self.borrowed
            if function_head(st) is not None or (draws and isinstance(st, s.Equation) and st.draws)
        ]
        return replace(
            self,
            statements=statements,
            borrowed=functions,
            skipped=[*self.skipped, *out],
            sketch=None,
        )

    def rewritten(self, meant: Mapping[int, s.Statement]) -> Part:
        """The same with other statements in the place of some, by their identity."""
        home = {id(meant[key]): block for key, block in self.home.items() if key in meant}
        statements = [meant.get(id(st), st) for st in self.statements]
        borrowed = [meant.get(id(st), st) for st in self.borrowed]
        home = {**self.home, **home}
        return replace(self, statements=statements, borrowed=borrowed, sketch=None, home=home)

    def without(self, reasons: Mapping[int, str]) -> Part:
        """The same without the statements that have a reason not to be read, and the rest of their displays.

        A display whose heart is not about tensors is not read in part.
        """
        lost = {id(self.home[i]): reason for i, reason in reasons.items()}
        whole = {
            id(st): reasons.get(id(st)) or f"{BESIDE}: {lost[at]}"
            for st in self.statements
            if (at := id(self.home.get(id(st)))) in lost
        }
        out = [Skipped(st.span, whole[id(st)]) for st in self.statements if id(st) in whole]
        kept = self.holding([st for st in self.statements if id(st) not in whole], out)
        # A function of another section that cannot be read with this one is none that it may call.
        borrowed = [st for st in kept.borrowed if id(st) not in reasons]
        return replace(kept, borrowed=borrowed, lost={**self.lost, **lost})

    def without_displays(self, lost: Iterable[int]) -> Part:
        """The same without what stands in these displays, and without what is taken from them."""
        gone = {id(st): BESIDE for st in self.statements if id(self.home.get(id(st))) in lost}
        borrowed = [st for st in self.borrowed if id(self.home.get(id(st))) not in lost]
        if not gone and len(borrowed) == len(self.borrowed):
            return self
        return replace(self.without(gone), borrowed=borrowed, sketch=None)

    def bare(self) -> Part:
        """The same without what is said of it elsewhere."""
        return replace(self, faults=[], skipped=[])

    def outline(self) -> Outline:
        if self.sketch is None:
            self.sketch = outline(self.whole, Messages(), document=True)
        return self.sketch
