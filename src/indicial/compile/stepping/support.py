"""Where a value is not 0, and that sums need not go further.

    α[t_1,t_2] = softmax_{t_2 ≤ t_1} …;   δ[t_1,t_2] = α[t_1,t_2] - λ |β[t_1,t_2]|
    h̃[t,i] = Σ_T δ[t,T] Value[T,i]      →      h̃[t,i] = Σ_{T ≤ t} δ[t,T] Value[T,i]

Without this the sum would seem to read values of steps that are still to come. It is a property of the
value, however it is written: for each condition that occurs in an expression the expression is computed as
far as it can be where the condition does not hold. There a softmax under it is 0, and so is the share of a
score of -∞; `[t_2 > t_1]` is 1, a product with 0 is 0, and a function of numbers is a number: `exp(α) - 1`
ends where α does, `exp(α)` goes on.

How far an index goes at one step: `t_2 ≤ t_1` ends it at the step itself.

>>> conjuncts(t_2 ≤ t_1 and t_2 > 0)
[t_2 ≤ t_1, t_2 > 0]
>>> upper("t_2", [t_2 ≤ t_1], {"t_1": n + 1})
(n + 1, t_2 ≤ t_1)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from indicial.program import ir
from indicial.program.cost.conditions import (
    add,
    conjuncts,
    constraints,
    inequality,
    joined,
    negation,
)
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.moving import indices_at, moved
from indicial.program.rewrite import free_indices, rebuild
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.compile.stepping.causal import Walk


def with_support(code: ir.Code, walk: Walk) -> ir.Code:
    """The program with its sums ended where they add 0, and what they read defined only there."""
    found = _Supports(code)

    def leaf(node: ir.Expression) -> ir.Expression:
        match node:
            case ir.Reduce("sum"):
                nothing = 0.0
            case ir.Softmax():
                nothing = -math.inf  # what a share is taken of, where it is 0
            case _:
                return node
        names = {i.name for i in node.indices if walk.size in i.extent.names}
        known = conjuncts(node.condition)
        new = [c for c in found.where(node.body, nothing) if free_indices(c) & names]
        return replace(node, condition=joined([*known, *new])) if new else node

    statements = []
    for statement in code.statements:
        guard = statement.guard
        if len(walk.axes(code.tensors[statement.target])) > 1:
            conditions = found.of(statement.target)
            if conditions:
                at = indices_at(code.of(statement.target)[-1], statement.left) or {}
                conditions = [moved(c, at) for c in conditions]
                if any(_truth(guard, inequality(c)) is False for c in conditions):
                    continue  # it says where the tensor is 0, as the ends of the others do now
                guard = joined([*conjuncts(guard), *conditions])
        body = rebuild(statement.body, leaf=leaf)
        statements.append(replace(statement, body=body, guard=guard))
    return replace(code, statements=tuple(statements))


NOTHING = (0.0, -math.inf)
"""What adds nothing to a sum, and to a sum of exponentials."""


@dataclass
class _Supports:
    """The conditions outside of which each tensor is 0, or -∞, in the indices of its last equation."""

    code: ir.Code
    known: dict[tuple[str, float], list[ir.Expression]] = field(default_factory=dict)

    def of(self, name: str, nothing: float = 0.0) -> list[ir.Expression]:
        if (name, nothing) not in self.known:
            self.known[name, nothing] = []  # a tensor that reads itself says nothing more
            self.known[name, nothing] = list(self.defined(self.code.of(name), nothing))
        return self.known[name, nothing]

    def defined(self, statements: list[ir.Statement], nothing: float) -> Iterator[ir.Expression]:
        """Of equations in order of precedence: an element that none of them is about is 0."""
        if not statements or any(indices_at(s, s.left) is None for s in statements):
            return
        cases = []
        for statement in statements:
            at = indices_at(statement, statements[-1].left) or {}
            guard = None if statement.guard is None else moved(statement.guard, at)
            cases.append((guard, moved(statement.body, at)))
        whole = ir.Select(
            tuple((guard, body) for guard, body in cases if guard is not None),
            next((body for guard, body in cases if guard is None), ir.Constant(0.0)),
        )
        yield from self.where(whole, nothing)

    def where(self, expression: ir.Expression, nothing: float) -> Iterator[ir.Expression]:
        """Conditions outside of which the expression is 0, or -∞."""
        for condition in dict.fromkeys(self.conditions(expression)):
            form = inequality(condition)
            if form is not None and self.value(expression, _opposite(form)) == nothing:
                yield condition

    def conditions(self, expression: ir.Expression) -> Iterator[ir.Expression]:
        """All that occur, in what is read too: each comparison of indices, and its opposite."""
        free = free_indices(expression)
        for node in expression.walk():
            found = _comparisons(node)
            if isinstance(node, ir.Read):
                found = (c for nothing in NOTHING for c in self.ends(node, nothing))
            for condition in found:
                if free_indices(condition) <= free:
                    yield condition

    def ends(self, read: ir.Read, nothing: float) -> Iterator[ir.Expression]:
        """The conditions outside of which a read is 0, or -∞."""
        statements = self.code.of(read.tensor)
        at = indices_at(statements[-1], read.places) if statements else None
        if at is not None:
            yield from (moved(c, at) for c in self.of(read.tensor, nothing))

    def value(self, node: ir.Expression, beyond: ir.Affine) -> float | None:
        """The value wherever `beyond ≤ 0`, if it is the same number at all those places."""
        match node:
            case ir.Constant(value):
                return value
            case ir.Apply(function) if function in (*ir.COMPARISONS, *ir.LOGIC):
                truth = _truth(node, beyond)
                return None if truth is None else float(truth)
            case ir.Apply(function, arguments):
                return _applied(function, [self.value(a, beyond) for a in arguments])
            case ir.Softmax(_, condition, body):
                none = _truth(condition, beyond) is False or self.value(body, beyond) == -math.inf
                return 0.0 if none else None
            case ir.Select(branches, otherwise):
                values = set()
                for test, branch in (*branches, (None, otherwise)):  # those that may apply
                    truth = True if test is None else _truth(test, beyond)
                    if truth is not False:
                        values.add(self.value(branch, beyond))
                    if truth:
                        break
                return values.pop() if len(values) == 1 else None
            case ir.Reduce("sum", indices, condition, body):
                if dict(beyond.terms).keys() & {i.name for i in indices}:
                    return None
                none = _truth(condition, beyond) is False or self.value(body, beyond) == 0
                return 0.0 if none else None
            case ir.Read():
                for nothing in NOTHING:
                    if any(_truth(c, beyond) is False for c in self.ends(node, nothing)):
                        return nothing
                return None
            case _:
                return None


def _applied(function: str, values: list[float | None]) -> float | None:
    """A function of numbers, some of which may not be known; what is not known is finite and not 0."""
    if function == "*" and 0 in values and not {math.inf, -math.inf} & {*values}:
        return 0.0
    if function == "+" and -math.inf in values and math.inf not in values:
        return -math.inf
    if function == "/" and values[0] == 0 and values[1] != 0:
        return 0.0
    numbers = [value for value in values if value is not None]
    return FUNCTIONS[function](*numbers) if len(numbers) == len(values) else None


# ---- conditions on indices, as half-spaces ----


def _comparisons(node: ir.Expression) -> Iterator[ir.Expression]:
    """The conditions of one node, each of them one inequality."""
    own = node.condition if isinstance(node, ir.Softmax | ir.Reduce) else node
    for part in conjuncts(own):
        for constraint in constraints(part)[0]:
            if not constraint.differs:
                opposite = negation(part)
                single = len(constraints(part)[0]) == 1 and opposite is not None
                yield part if single else _at_most_0(constraint.form)
                yield opposite if single and opposite else _at_most_0(_opposite(constraint.form))


def _at_most_0(form: ir.Affine) -> ir.Expression:
    return ir.Apply("≤", (ir.IndexValue(form), ir.Constant(0.0)))


def _opposite(form: ir.Affine) -> ir.Affine:
    """`form > 0` as something that is at most 0."""
    return add(ir.Affine((), Size.of(1)), form, -1)


def _truth(condition: ir.Expression | None, beyond: ir.Affine | None) -> bool | None:
    """Whether a condition holds wherever `beyond ≤ 0`; None where it depends, or nobody knows."""
    if beyond is None:
        return None
    found, exact = constraints(condition)
    if any(not c.differs and _follows(_opposite(c.form), beyond) for c in found):
        return False
    every = all(
        _follows(_below(c.form), beyond) or _follows(_opposite(c.form), beyond)
        if c.differs
        else _follows(c.form, beyond)
        for c in found
    )
    return True if exact and every else None


def _below(form: ir.Affine) -> ir.Affine:
    """`form < 0` as something that is at most 0."""
    return add(form, ir.Affine((), Size.of(1)))


def _follows(form: ir.Affine, beyond: ir.Affine) -> bool:
    """Whether `form ≤ 0` wherever `beyond ≤ 0`."""
    apart = add(form, beyond, -1)
    number = apart.offset.number
    return not apart.terms and number is not None and number <= 0


def upper(name: str, conditions: Sequence[ir.Expression]) -> tuple[Size, ir.Expression] | None:
    """The largest value that the conditions leave to an index, and the condition that says so."""
    best: tuple[Size, ir.Expression] | None = None
    for condition in conditions:
        for constraint in constraints(condition)[0]:
            if constraint.differs or constraint.form.terms != ((name, 1),):
                continue
            end = -constraint.form.offset
            if best is None or ((best[0] - end).number or 0) > 0:
                best = end, condition
    return best
