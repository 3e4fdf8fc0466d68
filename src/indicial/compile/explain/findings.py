"""Which library calls were recognised in a program, and which nearly, with their equations.

library calls
  attention         h̃[t,i] = α[t,T'] Value[T',i]
                    F.scaled_dot_product_attention
near misses
  attention         y[t,i] = α[t,T'] Value[T',i]
                    the weights are wanted, so they are computed
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from indicial.compile.emit.patterns.attention import ATTENTION
from indicial.compile.emit.patterns.cross_entropy import CROSS_ENTROPY
from indicial.compile.emit.patterns.embedding import EMBEDDING
from indicial.compile.emit.patterns.pattern import Finding
from indicial.compile.explain.blackboard import equation
from indicial.compile.explain.gradient import folded, sentence
from indicial.compile.schedule.plan import Plan
from indicial.program.explain.page import pad
from indicial.program.ir import Gather, Read, Softmax, Statement
from indicial.program.messages import columns

INDENT = "  "


def finding_lines(findings: Iterable[Finding], plan: Plan, width: int) -> Iterator[str]:
    """Two sections; nothing where nothing was found."""
    statements = [s for step in plan.steps for s in step.statements()]
    found = list(dict.fromkeys(findings))
    label = max((columns(f.pattern) for f in found), default=0) + 2 * len(INDENT)
    for title, some in (
        ("library calls", [f for f in found if f.recognised]),
        ("near misses", [f for f in found if not f.recognised]),
    ):
        if some:
            yield from ("", title)
        for finding in some:
            head = INDENT + finding.pattern
            for line in _lines(finding, statements, width - label):
                yield pad(head, label) + line
                head = ""


def _lines(finding: Finding, statements: Sequence[Statement], room: int) -> list[str]:
    """The equation, and the call that stands for it or why none does."""
    what = sentence(f"F.{finding.call}" if finding.recognised else finding.reason, room)
    statement = _statement(finding, statements)
    if statement is None:
        return what
    whole = [*_softmaxes(finding, statement, statements), statement]
    # An equation is folded with a margin, which is not wanted here.
    lines = [line for s in whole for line in folded(equation(s), room + len(INDENT))]
    return [*(line.removeprefix(INDENT) for line in lines), *what]


def _softmaxes(
    finding: Finding, statement: Statement, statements: Sequence[Statement]
) -> list[Statement]:
    """The distributions that a call computes along with what reads them."""
    if finding.pattern not in (ATTENTION.name, CROSS_ENTROPY.name):
        return []
    read = {n.tensor for n in statement.body.walk() if isinstance(n, Read)}
    return [s for s in statements if s.target in read and isinstance(s.body, Softmax)]


def _statement(finding: Finding, statements: Sequence[Statement]) -> Statement | None:
    """The equation in which something was found: of several for one tensor, the one that fits."""
    own = [s for s in statements if s.target == finding.tensor]
    gathers = [s for s in own if _gathers(s)]
    if finding.pattern == EMBEDDING.name:
        return gathers[0] if gathers else None
    rest = [s for s in own if s not in gathers] or own
    return rest[-1] if rest else None


def _gathers(statement: Statement) -> bool:
    reads = [n for n in statement.body.walk() if isinstance(n, Read)]
    return any(isinstance(place, Gather) for read in reads for place in read.places)
