"""The steps of a derivation, and what came of them: the data that the other files pass on.

y = (A B)^⊤ x = A^⊤ B^⊤ x          one step: the first `=` says what y is
∂L/∂z = … = p - y                  two steps
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from indicial.notation import syntax as s
from indicial.notation.slopes import WHOLE, derived

COMPARED = ("=", "≈", "≫", "⋙", "≪", "⋘")
"""The relations that are tried."""
HOLDS, CONDITIONAL, REFUTED, UNTRIED = "holds", "conditional", "refuted", "untried"
NOT_FOUND = "it was not found to hold"
"""How the reason begins why a step in a limit is left open: it was tried, but that refutes nothing."""


@dataclass(frozen=True)
class Step:
    """Two sides of an equation that should be the same."""

    equation: s.Equation
    number: int
    """The number of the left one of the two sides."""
    right: int
    relation: str = "="
    given: tuple[s.Equation, ...] = ()
    """What is said above the arrow before it."""

    @property
    def sides(self) -> tuple[s.Expression, s.Expression]:
        return self.equation.sides[self.number], self.equation.sides[self.right]


@dataclass(frozen=True)
class Finding:
    """What came of a step."""

    step: Step
    status: str
    reason: str = ""
    """Under which condition it holds or would hold, or why it was not tried."""
    left: str = ""
    right: str = ""
    place: str = ""
    draw: Mapping[str, str] = field(default_factory=dict)


def joined(statements: Iterable[s.Statement]) -> list[s.Statement]:
    """Rows that begin with `=` go on with the row above."""
    made: list[s.Statement] = []
    for statement in statements:
        if isinstance(statement, s.Equation) and isinstance(statement.sides[0], s.Dots) and made:
            last = made[-1]
            if isinstance(last, s.Equation):
                made[-1] = replace(
                    last,
                    sides=(*last.sides, *statement.sides[1:]),
                    relations=(*last.relations, *statement.relations),
                    span=last.span.to(statement.span),
                )
                continue
        made.append(statement)
    return made


def steps(equation: s.Equation) -> Iterator[Step]:
    """The steps of an equation: all its relations but one that defines a name."""
    if "~" in equation.relations or isinstance(equation.sides[0], s.Dots):
        return
    defines = (
        isinstance(equation.sides[0], s.Name | s.Index | s.Call) and equation.relations[0] == "="
    )
    start = 1 if defines else 0
    for number, relation in enumerate(equation.relations[start:], start):
        ends = equation.sides[number : number + 2]
        if relation in COMPARED and not any(isinstance(side, s.Dots) for side in ends):
            yield Step(equation, number, number + 1, relation)


def is_derivation(equation: s.Equation) -> bool:
    """Whether it derives something: it has several steps, or is about a derivative."""
    return len(equation.relations) > 1 or any(
        side.every(s.Derivative) for side in derived(equation, WHOLE).sides
    )
