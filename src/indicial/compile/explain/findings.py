"""Which library calls were recognised in a program, and which nearly, with their equations.

library calls
  attention: F.scaled_dot_product_attention
    α[t_1,t_2] = softmax_{t_2} Query[t_1,I] Key[t_2,I]
    h̃[t,i] = α[t,T] Value[T,i]
near misses
  attention: the weights are wanted, so they are computed
    α[t_1,t_2] = softmax_{t_2} Query[t_1,I] Key[t_2,I]
    h̃[t,i] = α[t,T] Value[T,i]
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
from indicial.program.ir import Gather, Read, Softmax, Statement


def finding_lines(findings: Iterable[Finding], plan: Plan, width: int) -> Iterator[str]:
    """Two sections; nothing where nothing was found."""
    statements = [s for step in plan.steps for s in step.statements()]
    groups: dict[bool, dict[str, list[Finding]]] = {True: {}, False: {}}
    for finding in findings:
        what = f"F.{finding.call}" if finding.recognised else finding.reason
        group = groups[finding.recognised]
        group.setdefault(f"{finding.pattern}: {what}", []).append(finding)
    for title, recognised in (("library calls", True), ("near misses", False)):
        if groups[recognised]:
            yield from ("", title)
        for what, some in groups[recognised].items():
            yield from (f"  {line}" for line in sentence(what, width - 2))
            found = [equation(s) for finding in some for s in _stands_for(finding, statements)]
            for text in dict.fromkeys(found):
                yield from (f"  {line}" for line in folded(text, width - 2))


def _stands_for(finding: Finding, statements: Sequence[Statement]) -> list[Statement]:
    """The equations that a call stands for."""
    statement = _statement(finding, statements)
    if statement is None:
        return []
    return [*_softmaxes(finding, statement, statements), statement]


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
