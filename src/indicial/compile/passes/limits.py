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
from indicial.compile.schedule.plan import Loop
from indicial.compile.schedule.schedule import ScheduleError, schedule
from indicial.program.ir import Apply, Code, Expression, Index, Join, Read, Reduce, Softmax
from indicial.program.rewrite import free_in_place, free_indices


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
        """A body that is taken out of a statement, with the conditions that say what it may read."""
        names = {index.name for index in indices}
        known = [c for c in self.conditions if free_indices(c) <= names]
        steps = self._steps_read(body, target) if known else set()
        return _where(both(*(c for c in known if free_indices(c) & steps)), body)

    def _steps_read(self, body: Expression, target: str) -> set[str]:
        """The indices that say which steps of its own recurrence a body reads."""
        return {
            name
            for loop in self._loops
            if target in loop.axes
            for node in body.walk()
            if isinstance(node, Read) and node.tensor in loop.axes
            for name in free_in_place(node.places[loop.axes[node.tensor]])
        }

    @cached_property
    def _loops(self) -> list[Loop]:
        try:
            return list(schedule(self.code).loops())
        except ScheduleError:
            return []


def _where(condition: Expression | None, body: Expression) -> Expression:
    if condition is None:
        return body
    match body:
        case Reduce():
            return replace(body, condition=both(condition, body.condition))
        case Apply("*" | "neg", (*others, Reduce() as core)):
            return replace(body, arguments=(*others, _where(condition, core)))
        case Softmax() | Join():
            return body
        case _:
            return otherwise_zero(condition, body)
