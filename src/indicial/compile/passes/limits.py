"""Within a recurrence, conditions go along with what is taken out from under them.

A[t,r]       = softmax{r where r < t}(sum{J}(c[t-1,J] * c[r,J]))

A^{(1)}[t,r] = sum{J where r < t}(c[t-1,J] * c[r,J])      without it, c would be needed ahead of itself
A[t,r]       = softmax{r where r < t}(A^{(1)}[t,r])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from indicial.compile.passes.algebra import both, otherwise_zero
from indicial.compile.schedule.schedule import ScheduleError, schedule
from indicial.program.ir import Apply, Code, Expression, Index, Join, Read, Reduce, Softmax
from indicial.program.rewrite import free_indices


class Limits:
    """The conditions that hold at a point of an expression."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.conditions: tuple[Expression, ...] = ()

    @contextmanager
    def under(self, condition: Expression | None, indices: Sequence[Index]) -> Iterator[None]:
        """Inside a reduction over some indices, where a condition holds."""
        before = self.conditions
        bound = {index.name for index in indices}
        kept = [c for c in before if not free_indices(c) & bound]
        self.conditions = (*kept, condition) if condition is not None else tuple(kept)
        yield
        self.conditions = before

    def limited(self, body: Expression, target: str, indices: Collection[Index]) -> Expression:
        """A body that is taken out of a statement, with the conditions that its indices tell."""
        names = {index.name for index in indices}
        known = [c for c in self.conditions if free_indices(c) <= names]
        group = self._groups.get(target, frozenset()) if known else frozenset()
        if any(isinstance(node, Read) and node.tensor in group for node in body.walk()):
            return _where(both(*known), body)
        return body

    @cached_property
    def _groups(self) -> dict[str, frozenset[str]]:
        """For each tensor of a recurrence over time, all tensors of it."""
        try:
            loops = list(schedule(self.code).loops())
        except ScheduleError:
            return {}
        return {
            name: frozenset(loop.axes)
            for loop in loops
            if loop.kind == "scanned"
            for name in loop.axes
        }


def _where(condition: Expression | None, body: Expression) -> Expression:
    match body:
        case Reduce():
            return replace(body, condition=both(condition, body.condition))
        case Apply("*" | "neg", (*others, Reduce() as core)):
            return replace(body, arguments=(*others, _where(condition, core)))
        case Softmax() | Join():
            return body
        case _:
            return otherwise_zero(condition, body)
