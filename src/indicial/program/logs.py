"""Logarithms that stay finite: what is small or large is never computed, only its logarithm.

ln Σ_i exp(u[i])            →  lse_i u[i]                       the sum in the place of the largest
ln(exp(a) + exp(b))         →  lse(a, b)
ln σ(u), ln(1 - σ(u))       →  -softplus(-u), -softplus(u)
ln(1 + exp(u))              →  softplus(u)
ln ∏_i p[i]                 →  Σ_i ln p[i]
ln(p exp(u) / Σ_i exp(v))   →  ln p + u - lse_i v
ln Σ_i c[i] exp(u[i])       →  m + ln Σ_i c[i] exp(u[i] - m), m the largest u
exp(u[k]) / Σ_{k'} exp(u[k'])  →  softmax_k u[k]

Each rule is an identity of real numbers: a logarithm is divided up only where at most one part may
be negative. `inside` does it within each expression; `through` also where the logarithm is taken of
a name (`p[t] = σ(x[t])`, then `ln p[t]`), if that name is read under logarithms only or costs little.
The logarithm of a softmax stays as it is: everything that runs a program has it as one operation.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace

from indicial.program import ir, rewrite
from indicial.program.cost.conditions import surely_in
from indicial.program.moving import Unmovable, indices_at, moved
from indicial.program.rewrite import rebuild
from indicial.program.sizes import nonnegative

Ranges = dict[str, ir.Index]
Rule = Callable[[ir.Expression, Ranges], ir.Expression | None]
ONE = ir.Constant(1.0)
NOTHING = ir.Constant(-math.inf)
_POSITIVE = ("exp", "σ", "ReLU", "abs", "sqrt", "softplus", *ir.COMPARISONS, "and")
"""Functions whose values are never negative."""


def inside(code: ir.Code) -> ir.Code:
    """The program with the logarithms of all expressions taken apart."""
    return _Logs(code, {}).code


def through(code: ir.Code) -> ir.Code:
    """The same, with logarithms of names taken in the equations of those names, and softmaxes as such."""
    code = replace(code, statements=tuple(map(_with_softmaxes, code.statements)))
    definitions: dict[str, ir.Statement] = {}
    for statement in code.statements:
        if statement.guard is None and len(code.of(statement.target)) == 1:
            definitions[statement.target] = statement
    elsewhere = {
        read.tensor
        for statement in code.statements
        for part in (statement.body, statement.guard)
        if part is not None
        for read in _outside_logarithms(part)
    }
    for name in list(definitions):
        body = definitions[name].body
        costly = bool(body.every(ir.Reduce, ir.Softmax, ir.Join))
        if costly and name in elsewhere:
            del definitions[name]
    return _Logs(code, definitions).code


def _with_softmaxes(statement: ir.Statement) -> ir.Statement:
    """`exp(u[k]) / Σ_{k'} exp(u[k'])` as `softmax_k u[k]`, which is the same and stays finite."""

    def leaf(node: ir.Expression) -> ir.Expression:
        match node:
            case ir.Apply(
                "/",
                (ir.Apply("exp", (u,)), ir.Reduce("sum", (other,), None, ir.Apply("exp", (v,)))),
            ):
                for index in statement.indices:
                    if (index.lower, index.extent) == (other.lower, other.extent):
                        at = {other.name: ir.Affine.of(index.name)}
                        with contextlib.suppress(Unmovable):
                            if moved(v, at) == u:
                                return ir.Softmax((index,), None, u, span=node.span)
        return node

    if not any(node.function == "/" for node in statement.body.every(ir.Apply)):
        return statement
    return replace(statement, body=rebuild(statement.body, leaf=leaf))


def logarithm(code: ir.Code, expression: ir.Expression) -> ir.Expression | None:
    """The logarithm of an expression, if it can be taken without computing the expression."""
    return _Logs(code, {}).log(expression, {})


class _Logs:
    def __init__(self, code: ir.Code, definitions: dict[str, ir.Statement]) -> None:
        self.source = code
        self.definitions = definitions
        self.following: list[str] = []
        self.signs: dict[str, bool] = {}

    @property
    def code(self) -> ir.Code:
        statements = tuple(self.statement(s) for s in self.source.statements)
        tests = tuple(
            replace(test, left=self.rewritten(test.left, r), right=self.rewritten(test.right, r))
            for test in self.source.tests
            for r in [{index.name: index for index in test.indices}]
        )
        return replace(self.source, statements=statements, tests=tests)

    def statement(self, statement: ir.Statement) -> ir.Statement:
        self.following = [statement.target]
        ranges = {index.name: index for index in statement.indices}
        body = self.rewritten(statement.body, ranges)
        return statement if body is statement.body else replace(statement, body=body)

    # ---- expressions in which logarithms may stand ----

    def rewritten(self, node: ir.Expression, ranges: Ranges) -> ir.Expression:
        if not any(n.function == "ln" for n in node.every(ir.Apply)):
            return node
        new = rewrite.inside(node, ranges, self.rewritten)
        if isinstance(new, ir.Apply) and new.function == "ln":
            return self.log(new.arguments[0], ranges) or new
        return new

    # ---- the logarithm of an expression, or nothing where taking it apart gains nothing ----

    def log(self, node: ir.Expression, ranges: Ranges) -> ir.Expression | None:
        match node:
            case ir.Apply("exp", (u,)):
                return u
            case ir.Apply("σ", (u,)):
                return _minus(_softplus(_minus(u)))
            case ir.Apply("+", arguments):
                return self._of_sum(arguments, ranges)
            case ir.Apply("*", arguments):
                return self._of_product(arguments, ranges)
            case ir.Apply("/", (above, below)):
                gains = [self.log(part, ranges) for part in (above, below)]
                if gains == [None, None] or not (self.positive(above) or self.positive(below)):
                    return None
                return _sum(self.ln(above, ranges), _minus(self.ln(below, ranges)))
            case ir.Apply("^", (base, exponent)) if self.positive(base):
                inner = self.log(base, ranges)
                return None if inner is None else ir.Apply("*", (exponent, inner), span=node.span)
            case ir.Apply("sqrt", (base,)):
                inner = self.log(base, ranges)
                return None if inner is None else ir.Apply("*", (ir.Constant(0.5), inner))
            case ir.Reduce():
                return self._of_reduction(node, ranges)
            case ir.Select(branches, otherwise):
                values = [*(v for _, v in branches), otherwise]
                if all(self.log(value, ranges) is None for value in values):
                    return None
                chosen = tuple((c, self.ln(v, ranges)) for c, v in branches)
                return replace(node, branches=chosen, otherwise=self.ln(otherwise, ranges))
            case ir.Softmax():
                return ir.Apply("ln", (node,), span=node.span)
            case ir.Read():
                return self._followed(node, ranges, self.log)
        return None

    def ln(self, node: ir.Expression, ranges: Ranges) -> ir.Expression:
        """The logarithm, taken apart where that is possible."""
        if isinstance(node, ir.Constant) and node.value >= 0:
            return ir.Constant(math.log(node.value)) if node.value > 0 else NOTHING
        return self.log(node, ranges) or ir.Apply("ln", (node,), span=node.span)

    def _of_sum(self, terms: tuple[ir.Expression, ...], ranges: Ranges) -> ir.Expression | None:
        if len(terms) == 2 and ONE in terms:
            other = terms[1 - terms.index(ONE)]
            if isinstance(other, ir.Apply) and other.function == "neg":
                gate = self._gate(other.arguments[0], ranges)
                return None if gate is None else _minus(_softplus(gate))
        if not all(map(self.positive, terms)) or not any(map(_exponential, terms)):
            return None
        if len(terms) == 2 and ONE in terms:
            return _softplus(self.ln(terms[1 - terms.index(ONE)], ranges))
        return ir.Apply("lse", tuple(self.ln(term, ranges) for term in terms))

    def _gate(self, node: ir.Expression, ranges: Ranges) -> ir.Expression | None:
        """The u of σ(u), also where that has a name."""
        if isinstance(node, ir.Read):
            return self._followed(node, ranges, self._gate)
        return node.arguments[0] if isinstance(node, ir.Apply) and node.function == "σ" else None

    def _of_product(
        self, factors: tuple[ir.Expression, ...], ranges: Ranges
    ) -> ir.Expression | None:
        if sum(not self.positive(factor) for factor in factors) > 1:
            return None
        if all(self.log(factor, ranges) is None for factor in factors):
            return None
        return _sum(*(self.ln(factor, ranges) for factor in factors))

    def _of_reduction(self, node: ir.Reduce, ranges: Ranges) -> ir.Expression | None:
        inner = {**ranges, **{index.name: index for index in node.indices}}
        if node.operator == "prod":
            if self.positive(node.body):
                return replace(node, operator="sum", body=self.ln(node.body, inner))
            # Of numbers with any sign: the sign of the product, and how large its factors are.
            signs = replace(node, body=ir.Apply("sign", (node.body,)))
            sizes = ir.Apply("ln", (ir.Apply("abs", (node.body,)),))
            return _sum(ir.Apply("ln", (signs,)), replace(node, operator="sum", body=sizes))
        if node.operator == "mean" and node.condition is None:
            total = self._of_reduction(replace(node, operator="sum"), ranges)
            count = [ir.Apply("ln", (ir.SizeValue(index.extent),)) for index in node.indices]
            return None if total is None else _sum(total, *map(_minus, count))
        if node.operator != "sum":
            return None
        conditions = [] if node.condition is None else [node.condition]
        factors = list(_factors(node.body))
        for factor in [
            f for f in factors if isinstance(f, ir.Apply) and f.function in ir.COMPARISONS
        ]:
            conditions.append(factor)
            factors.remove(factor)
        condition = conditions[0] if len(conditions) == 1 else None
        if len(conditions) > 1:
            condition = ir.Apply("and", tuple(conditions))
        body = factors[0] if len(factors) == 1 else ir.Apply("*", tuple(factors), span=node.span)
        if not factors or not any(map(_exponential, factors)):
            return None
        if self.positive(body):
            return replace(node, operator="lse", condition=condition, body=self.ln(body, inner))
        return _shifted(replace(node, condition=condition, body=body), factors)

    def _followed(self, read: ir.Read, ranges: Ranges, rule: Rule) -> ir.Expression | None:
        """A rule applied to what defines a name, in the indices of the read."""
        statement = self.definitions.get(read.tensor)
        if statement is None or read.tensor in self.following:
            return None
        if isinstance(statement.body, ir.Softmax):
            return ir.Apply("ln", (read,), span=read.span) if rule == self.log else None
        body = _at(statement, read, ranges)
        if body is None:
            return None
        self.following.append(read.tensor)
        found = rule(self.rewritten(body, ranges), ranges)
        self.following.pop()
        return found

    # ---- signs ----

    def positive(self, node: ir.Expression) -> bool:
        """Whether a value is certainly not negative."""
        match node:
            case ir.Constant(value):
                return value >= 0
            case ir.SizeValue(size):
                return nonnegative(size)
            case ir.Apply("+", (ir.Constant(1.0), ir.Apply("neg", (share,)))):
                return self._share(share)
            case ir.Apply("+" | "*" | "/" | "max" | "min", arguments):
                return all(map(self.positive, arguments))
            case ir.Apply("^", (base, ir.Constant(value))):
                return value % 2 == 0 or self.positive(base)
            case ir.Apply(function, _):
                return function in _POSITIVE
            case ir.Softmax():
                return True
            case ir.Reduce(operator, _, _, body):
                return not operator.startswith("arg") and operator != "lse" and self.positive(body)
            case ir.Select(branches, otherwise):
                return all(self.positive(v) for _, v in branches) and self.positive(otherwise)
            case ir.Read(tensor):
                return self._positive_tensor(tensor)
        return False

    def _share(self, node: ir.Expression) -> bool:
        """A number from 0 to 1."""
        if isinstance(node, ir.Read):
            bodies = [s.body for s in self.source.of(node.tensor)]
            return bool(bodies) and all(
                not isinstance(b, ir.Read) and self._share(b) for b in bodies
            )
        return isinstance(node, ir.Softmax) or (isinstance(node, ir.Apply) and node.function == "σ")

    def _positive_tensor(self, name: str) -> bool:
        if name not in self.signs:
            self.signs[name] = True  # where it is read in its own equation, the rest decides
            bodies = [s.body for s in self.source.of(name)]
            found = bool(bodies) and all(map(self.positive, bodies))
            self.signs[name] = found or self.source.tensors[name].probability
        return self.signs[name]


def _exponential(node: ir.Expression) -> bool:
    """Whether something in it grows or shrinks so fast that its logarithm is worth taking."""
    match node:
        case ir.Apply("exp", _) | ir.Reduce("prod", _, _, _):
            return True
        case ir.Apply("*" | "+", arguments):
            return any(map(_exponential, arguments))
        case ir.Apply("/" | "^" | "sqrt", (first, *_)):
            return _exponential(first)
        case ir.Reduce("sum" | "mean", _, _, body):
            return _exponential(body)
    return False


def _shifted(node: ir.Reduce, factors: list[ir.Expression]) -> ir.Expression | None:
    """`m + ln Σ_i c[i] exp(u[i] - m)`, where c may have any sign: m is the largest u, if finite."""
    exponents = [f.arguments[0] for f in factors if isinstance(f, ir.Apply) and f.function == "exp"]
    others = [f for f in factors if not (isinstance(f, ir.Apply) and f.function == "exp")]
    if not exponents:
        return None
    u = _sum(*exponents)
    primed = {index.name: ir.Affine.of(index.name + "'") for index in node.indices}
    indices = tuple(replace(index, name=index.name + "'") for index in node.indices)
    try:
        condition = None if node.condition is None else moved(node.condition, primed)
        top: ir.Expression = ir.Reduce("max", indices, condition, moved(u, primed))
    except Unmovable:
        return None
    top = ir.Apply("stop", (top,))
    finite = ir.Apply(
        "and", (ir.Apply(">", (top, NOTHING)), ir.Apply("<", (top, ir.Constant(math.inf))))
    )
    top = ir.Select(((finite, top),), ir.Constant(0.0))
    body = ir.Apply("*", (*others, ir.Apply("exp", (_sum(u, _minus(top)),))))
    return _sum(top, ir.Apply("ln", (replace(node, body=body),), span=node.span))


def _at(statement: ir.Statement, read: ir.Read, ranges: Ranges) -> ir.Expression | None:
    """The right side of a statement at the places of a read that certainly stays in its ranges."""
    places, own = indices_at(statement, read.places), statement.scope
    if places is None or not all(surely_in(at, ranges, own[n]) for n, at in places.items()):
        return None
    try:
        return moved(statement.body, places)
    except Unmovable:
        return None


def _outside_logarithms(node: ir.Expression) -> list[ir.Read]:
    """The reads of an expression, but for those whose logarithm is taken (or that of 1 less it)."""
    found: list[ir.Read] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, ir.Read):
            found.append(current)
        if isinstance(current, ir.Apply) and current.function == "ln":
            below = current.arguments[0]
            if isinstance(below, ir.Read):
                waiting += [p.read for p in below.places if isinstance(p, ir.Gather)]
                continue
        waiting += current.children()
    return found


def _factors(node: ir.Expression) -> tuple[ir.Expression, ...]:
    return node.arguments if isinstance(node, ir.Apply) and node.function == "*" else (node,)


def _sum(*terms: ir.Expression) -> ir.Expression:
    kept = tuple(t for t in terms if not (isinstance(t, ir.Constant) and t.value == 0))
    return kept[0] if len(kept) == 1 else ir.Apply("+", kept) if kept else ir.Constant(0.0)


def _minus(node: ir.Expression) -> ir.Expression:
    if isinstance(node, ir.Constant):
        return ir.Constant(-node.value)
    if isinstance(node, ir.Apply) and node.function == "neg":
        return node.arguments[0]
    return ir.Apply("neg", (node,))


def _softplus(node: ir.Expression) -> ir.Expression:
    return ir.Apply("softplus", (node,))
