r"""An expression of matrix algebra → its value, for one reading of its names and one draw.

    x^\top A x   with x a column, A a matrix   →   a number
    x_i          →   the element i of the column x, or the number x_i
    \partial L / \partial z, with z = W x and L = …   →   the gradient, by differences

Every column has the same length, and so every matrix is square: what holds for all sizes holds for
these too, and nothing has to be known of sizes. A product that does not fit is a `Misfit`: then the names are
to be read otherwise. What has no value here at all is `Unread`, with the reason.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from indicial.derivations.arithmetic import (
    COMPARE,
    ELEMENTWISE,
    STEP,
    Array,
    Misfit,
    Unread,
    Value,
    built_in,
    chained,
    element,
    exponential,
    flattened,
    hadamard,
    inner_product,
    mapped,
    nudged,
    patched,
    quotient,
    shifted,
    slope_of,
    softmax,
    stacked,
    times,
    total,
)
from indicial.derivations.draws import NUMBER, Draw
from indicial.derivations.scope import Rule, Scope
from indicial.notation import syntax as s
from indicial.notation.reasoning import Limit
from indicial.program.names.gradients import LOSSES
from indicial.program.names.letters import index_name, is_capital
from indicial.program.vectors.spelling import convolved

NUMERATOR, DENOMINATOR, MIXED = "numerator", "denominator", "mixed"
"""Where derivatives of a column by a column have the one that is differentiated: in their rows, in their
columns; mixed, where only the derivatives of numbers are as what they are taken by."""

_PICKED: dict[str, Callable[[list[float]], float]] = {
    "max": max,
    "min": min,
    "mean": lambda numbers: sum(numbers) / len(numbers),
}
INDICES = "ijklmnst"
LABELS = 1000
"""Where the numbers of elements begin that only have a name."""
EXPECTATIONS = ("E", "𝔼", "Var", "Cov", "P", "Pr")


class Open(Exception):
    """Something has to be decided first: the kind of a name, or the value of a letter."""

    def __init__(self, what: str, key: str) -> None:
        super().__init__(key)
        self.what, self.key = what, key


@dataclass
class Evaluation:
    """One reading of the names on one draw."""

    scope: Scope
    draw: Draw
    kinds: Mapping[str, str]
    layout: str = MIXED
    rules: bool = True
    """Whether names that have a rule are computed, or free as well."""
    partial: bool = False
    """Whether derivatives leave all other names as they are."""
    over: dict[tuple[str, tuple[int, ...]], Value] = field(default_factory=dict)
    """Values that stand in the place of those that rules or draws give."""
    given: dict[str, Value] = field(default_factory=dict)
    """The arguments of the function that is being evaluated."""
    leaves: set[str] = field(default_factory=set)
    """The free names that were read."""
    guessed: set[str] = field(default_factory=set)
    """The names of which only is known what they depend on."""
    used: set[str] = field(default_factory=set)
    """The names whose rules were used."""
    touched: set[str] = field(default_factory=set)
    """All names that were read."""
    memo: dict[tuple[str, tuple[int, ...]], Value] = field(default_factory=dict)
    dry: bool = False
    """Only what fits is asked: derivatives are zeros of the right shape."""
    begun: set[tuple[str, tuple[int, ...]]] = field(default_factory=set)
    """What is being computed."""
    calling: frozenset[str] = frozenset()
    """The functions whose bodies are being evaluated."""
    inner: bool = False
    """Inside a rule: its letters are its own."""

    # ------------------------------------------------------------------ expressions

    def value(self, node: s.Expression, env: Mapping[str, int]) -> Value:
        self.draw.budget.spend()
        match node:
            case s.Number():
                return self._number(node)
            case s.Name() | s.Index():
                return self._name(node, env)
            case s.Group():
                return self.value(node.body, env)
            case s.Negative():
                return -self.value(node.body, env)
            case s.Add():
                return total([self.value(t, env) for t in node.terms])
            case s.Product(factors=(s.Name() as one, s.Name() as two)) if convolved(one, two):
                raise Unread(f"“{node.span.text}” may be a convolution")
            case s.Product():
                return chained([self.value(f, env) for f in node.factors])
            case s.Hadamard():
                return hadamard([self.value(f, env) for f in node.factors])
            case s.Fraction():
                return quotient(self.value(node.above, env), self.value(node.below, env))
            case s.Power() | s.Transpose() if (call := self._factor(_inside(node))) is not None:
                # `x (a + b)^2`: the bracket is raised, and x stands before it.
                (inside,) = call.arguments
                raised = (
                    replace(node, base=inside) if isinstance(node, s.Power) else s.Transpose(inside)
                )
                return times(self.value(call.function, env), self.value(raised, env))
            case s.Power():
                return self._raise(self.value(node.base, env), node.exponent, env)
            case s.Transpose():
                if isinstance(node.body, s.Number):
                    return np.full((1, self.draw.size), float(node.body.text))
                body = self.value(node.body, env)
                return body if isinstance(body, float) else body.T
            case s.Norm():
                return self._norm(node, env)
            case s.Reduction():
                return self._reduce(node, env)
            case s.Call():
                return self._call(node, env)
            case s.Derivative():
                return self._derivative(node, env)
            case Limit():
                return self._limit(node, env)
            case s.TupleLiteral() if node.inner:
                return inner_product(*(self.value(i, env) for i in node.items))
            case s.ListLiteral(items=parts) | s.Join(parts=parts):
                return stacked([self.value(part, env) for part in parts])
        raise Unread(f"“{node.span.text}” has no value here")

    def _number(self, node: s.Number) -> float:
        if node.text == "∞" and self.draw.growth:
            return math.exp(self.draw.growth)
        if node.text == "∞":
            raise Unread("∞ is not a number")
        return float(node.text)

    def integer(self, node: s.Expression, env: Mapping[str, int]) -> int:
        """The value of an index."""
        match node:
            case s.Number() if node.text.isdigit():
                return int(node.text)
            case s.Group():
                return self.integer(node.body, env)
            case s.Negative():
                return -self.integer(node.body, env)
            case s.Add():
                return sum(self.integer(t, env) for t in node.terms)
            case s.Product():
                return math.prod(self.integer(f, env) for f in node.factors)
            case s.Name():
                key = self.scope.naming.read(node).key
                if key in env:
                    return env[key]
                if key in self.scope.sizes:
                    return self.scope.base + self.draw.size - 1
                label = key not in INDICES and key not in self.scope.naming.bound
                if self.inner and not label:
                    raise Unread(f"{key} is bound nowhere")
                if key in self.scope.bare and key not in INDICES:
                    raise Unread(f"{key} is a value, and stands as an index")
                if label and len(key) == 1 and key.isalpha() and not is_capital(key):
                    return LABELS + ord(key[0])  # the b of u_b: one that has this name
                if index_name(node) is not None and not is_capital(node.base):
                    raise Open("letter", key)
                if index_name(node) is not None:
                    return self.scope.base + self.draw.size - 1
        raise Unread(f"“{node.span.text}” is not an index with a value here")

    # ------------------------------------------------------------------ names

    def _name(self, node: s.Expression, env: Mapping[str, int]) -> Value:
        if isinstance(node, s.Index) and not isinstance(node.base, s.Name):
            whole = self.value(node.base, env)
            return element(whole, tuple(self.integer(i, env) for i in node.items), self.scope.base)
        reference = self.scope.read(node)
        assert reference is not None
        key = reference.key
        if key == "𝔼" or (key in EXPECTATIONS and isinstance(node, s.Index)):
            raise Unread("it holds an expectation")
        if key in ("∂", "∇"):
            raise Unread(f"{key} stands where it takes no derivative")
        if key in env and not reference.items:
            value: Value = float(env[key])
        elif key == "e" and reference.power is not None and "e" not in self.scope.rules:
            return exponential(self.value(reference.power, env))
        elif key == "π":
            value = math.pi
        elif key in self.scope.sizes and not reference.items and key not in self.scope.arrays:
            self.leaves.add(key)
            value = float(self.draw.size)
        elif key == "I" and not reference.items and key not in self.scope.rules:
            value = np.eye(self.draw.size)
        elif key == "δ" and len(reference.items) == 2 and key not in self.scope.rules:
            first, second = (self.integer(i, env) for i in reference.items)
            if (first >= LABELS) != (second >= LABELS):
                raise Unread(
                    "a letter that names one element may be any of those that are numbered"
                )
            value = float(first == second)
        else:
            value = self.named(key, tuple(self.integer(i, env) for i in reference.items))
        return value if reference.power is None else self._raise(value, reference.power, env)

    def named(self, key: str, at: tuple[int, ...]) -> Value:
        """The value of a name at some indices."""
        self.touched.add(key)
        if (key, at) in self.over:
            return self.over[key, at]
        if key in self.given:
            return element(self.given[key], at, self.scope.base)
        for count in range(len(at)):
            if (key, at[:count]) in self.over:
                return element(self.over[key, at[:count]], at[count:], self.scope.base)
        if (key, at) in self.begun:
            raise Unread(f"{key} is computed from itself")
        if (key, at) not in self.memo:
            self.begun.add((key, at))
            try:
                self.memo[key, at] = self._computed(key, at)
            finally:
                self.begun.discard((key, at))
        value = self.memo[key, at]
        for (other, place), cell in self.over.items():
            if other == key and len(place) > len(at) and place[: len(at)] == at:
                value = patched(value, place[len(at) :], cell, self.scope.base)
        return value

    def _computed(self, key: str, at: tuple[int, ...]) -> Value:
        if self.rules and not self.draw.starts(at, False):
            for rule in reversed(self.scope.rules.get(key, ())):
                env = self._matches(rule, at)
                if env is not None:
                    self.used.add(key)
                    return self._within(rule.body, env)
            for count in range(len(at)):  # the element of something that is defined as a whole
                rule_ = self.scope.rule(key, count)
                if rule_ is not None:
                    return element(self.named(key, at[:count]), at[count:], self.scope.base)
        most = max(self.scope.counts.get(key, {len(at)}) | {len(at)})
        missing = most - len(at)
        if missing and missing <= 2 and self.draw.elements(self.kinds.get(key)):
            axes = [range(self.scope.base, self.scope.base + self.draw.size)] * missing
            cells = [self._cell(key, (*at, *place)) for place in itertools.product(*axes)]
            return np.array(cells).reshape((self.draw.size, -1))
        if self.draw.starts(at, self.scope.recurrent(key)):
            return (
                0.0 if self._kind(key) == NUMBER else 0.0 * self.draw.leaf(key, at, self._kind(key))
            )
        return self._leaf(key, at)

    def _kind(self, key: str) -> str:
        if key not in self.kinds:
            raise Open("kind", key)
        return self.kinds[key]

    def _cell(self, key: str, at: tuple[int, ...]) -> float:
        value = self.named(key, at)
        if not isinstance(value, float):
            raise Misfit(f"{key} is an array of arrays")
        return value

    def _matches(self, rule: Rule, at: tuple[int, ...]) -> dict[str, int] | None:
        """The values of a rule's letters at which it gives this element."""
        if len(rule.items) != len(at):
            return None
        env: dict[str, int] = {}
        for item, place in zip(rule.items, at, strict=True):
            shift, letter = shifted(item)
            if letter is None:
                if shift != place:
                    return None
            elif env.setdefault(letter, place - shift) != place - shift:
                return None
            elif place - shift < self.scope.base or place < self.scope.base:
                return None  # before the first: what is there is given
        return env

    def _within(self, body: s.Expression, env: Mapping[str, int]) -> Value:
        """The value of what a rule or a function says."""
        before, self.inner = self.inner, True
        try:
            return self.value(body, env)
        finally:
            self.inner = before

    def _leaf(self, key: str, at: tuple[int, ...]) -> Value:
        kind = self._kind(key)
        causes = self.scope.causes(key)
        if causes and not self.scope.rules.get(key):
            self.guessed.add(key)
            return self.draw.function(key, at, kind, self._causes(causes))
        self.leaves.add(key)
        return self.draw.leaf(key, at, kind)

    def _causes(self, causes: Mapping[str, int]) -> Array:
        """All numbers that something depends on, one behind the other."""
        parts: list[Array] = []
        for key, count in sorted(causes.items()):
            axes = [range(self.scope.base, self.scope.base + self.draw.size)] * count
            self.draw.budget.spend(self.draw.size**count)  # each of them may have causes in turn
            for at in itertools.product(*axes):
                parts.append(np.atleast_1d(np.asarray(self.named(key, at))).ravel())
        return np.concatenate(parts)

    # ------------------------------------------------------------------ operations

    def _raise(self, base: Value, exponent: s.Expression, env: Mapping[str, int]) -> Value:
        power = self.value(exponent, env)
        if not isinstance(power, float):
            raise Misfit("an exponent is a number")
        if isinstance(base, float):
            return float(np.power(base, power)) if base >= 0 or power == int(power) else math.nan
        if base.shape[0] == base.shape[1]:
            if power != int(power):
                raise Unread("a matrix has no such power")
            return np.asarray(np.linalg.matrix_power(base, int(power)))
        return np.asarray(base**power)

    def _norm(self, node: s.Norm, env: Mapping[str, int]) -> float:
        if (
            isinstance(node.body, s.Name)
            and self.scope.naming.read(node.body).key in self.scope.sets
        ):
            return float(self.draw.size)
        body = self.value(node.body, env)
        order = 2.0
        if node.order is not None:
            try:
                found = self.value(node.order, env)
            except (Unread, Open) as error:
                raise Unread("a norm of another order") from error
            order = found if isinstance(found, float) else 0.0
        flat = np.abs(np.atleast_1d(np.asarray(body)).ravel())
        if order == 1.0:
            return float(flat.sum())
        if order != 2.0:
            raise Unread("a norm of another order")
        return float(np.sqrt((flat**2).sum()))

    def _reduce(self, node: s.Reduction, env: Mapping[str, int]) -> Value:
        if node.operator == "softmax" and not node.under:
            return softmax(self.value(node.body, env))
        if not node.under and node.operator in ("max", "min", "mean"):
            return _PICKED[node.operator](list(flattened(self.value(node.body, env))))
        if node.operator == "sum" and not node.under:  # `Σ e^z`, over the entries of a vector
            return float(sum(flattened(self.value(node.body, env))))
        if node.operator not in ("sum", "prod", "max", "min", "mean"):
            raise Unread(f"{node.operator} over an index")
        values = [self.value(node.body, point) for point in self._points(node, env)]
        if node.operator == "sum":
            return total(values) if values else 0.0
        if node.operator == "prod":
            made: Value = 1.0
            for value in values:
                made = times(value, made)  # the last stands in front
            return made
        if not values or not all(isinstance(v, float) for v in values):
            raise Misfit("an extreme of arrays")
        return _PICKED[node.operator]([float(v) for v in values])

    def _points(self, node: s.Reduction, env: Mapping[str, int]) -> list[dict[str, int]]:
        points: list[dict[str, int]] = [dict(env)]
        first, last = self.scope.base, self.scope.base + self.draw.size - 1
        for under in node.under:
            if isinstance(under, s.Name):
                letter = self.scope.naming.read(under).key
                points = [{**p, letter: v} for p in points for v in range(first, last + 1)]
                continue
            if not isinstance(under, s.Comparison) or not isinstance(under.operands[0], s.Name):
                raise Unread(f"a sum over “{under.span.text}”")
            letter = self.scope.naming.read(under.operands[0]).key
            if under.operators == ("=",):
                made: list[dict[str, int]] = []
                for p in points:
                    low = self.integer(under.operands[1], p)
                    high = last if node.upper is None else self.integer(node.upper, p)
                    self.draw.budget.allow(len(made) + high - low)
                    made += [{**p, letter: v} for v in range(low, high + 1)]
                points = made
            elif under.operators == ("∈",):
                points = [{**p, letter: v} for p in points for v in range(first, last + 1)]
            elif len(under.operators) == 1 and under.operators[0] in COMPARE:
                compare = COMPARE[under.operators[0]]
                points = [
                    {**p, letter: v}
                    for p in points
                    for v in range(first, last + 1)
                    if compare(v, self.integer(under.operands[1], p))
                ]
            else:
                raise Unread(f"a sum over “{under.span.text}”")
        return points

    # ------------------------------------------------------------------ functions

    def _call(self, node: s.Call, env: Mapping[str, int]) -> Value:
        if node.given is not None:
            raise Unread(f"“{node.span.text}” is not a function of numbers")
        reference = self.scope.naming.read(node.function)
        name, key = node.function, reference.key
        if key in ELEMENTWISE or (name.base in ELEMENTWISE and not name.sub):
            return self._apply(name, node, env)
        if key in ("diag", "tr", "max", "min"):
            return built_in(key, [self.value(a, env) for a in node.arguments])
        if key in self.scope.functions and self.rules:
            return self._body(key, [self.value(a, env) for a in node.arguments])
        if key in ("P", "p", "Pr", "𝒩", "N") and not (name.sub and self.scope.rules.get(key)):
            raise Unread(f"{key} is a probability")
        if key == "E":
            raise Unread("it may hold an expectation")
        if self._factor(node) is not None:
            inside = node.arguments[0]
            names = s.values(inside) if name.sub else inside.walk()  # `y_k (δ_{km} - p_m)`
            letters = {n.base for n in names if isinstance(n, s.Name) and n.bare}
            if letters & set(env):
                raise Unread(f"{key}(…) may be a call or a product")
            return times(self._name(name, env), self.value(node.arguments[0], env))
        if len(name.base) > 2:
            raise Unread(f"{key} is a function that nothing here defines")
        if len({len(call.arguments) for call in self.scope.calls.get(key, ())}) > 1:
            raise Unread(f"{key} is called with different numbers of arguments")
        kind = f"{key}()"
        if kind not in self.kinds:
            raise Open("kind", kind)
        at = tuple(self.integer(i, env) for i in reference.items)
        return self._opaque(name, at, [self.value(a, env) for a in node.arguments])

    def _factor(self, node: s.Expression) -> s.Call | None:
        """`y (1 - y)`: a name before brackets that is no function."""
        if not isinstance(node, s.Call):
            return None
        key = self.scope.naming.read(node.function).key
        known = key in ELEMENTWISE or (key in self.scope.functions and self.rules)
        return node if key in self.scope.bare and len(node.arguments) == 1 and not known else None

    def _opaque(self, name: s.Name, at: tuple[int, ...], values: list[Value]) -> Value:
        """A function that is only named."""
        key = self.scope.naming.read(name).key
        kind = self.kinds[f"{key}()"]
        if kind != NUMBER and len(values) != 1:
            raise Misfit(f"{key} of several arguments")
        if kind == "elementwise":
            return self._smooth(name, values[0])
        if kind == "times":
            self.leaves.add(key)
            return times(self.draw.leaf(key, at, NUMBER), values[0])
        if name.primes:
            raise Unread("a derivative of a function of arrays")
        self.leaves.add(f"{key}()")
        flat = np.concatenate([flattened(v) for v in values])
        return self.draw.function(key, at, NUMBER, flat)

    def _smooth(self, name: s.Name, value: Value) -> Value:
        """A function that is only named, at each element; with a prime its derivative."""
        plain = replace(name, primes=0)
        key = self.scope.naming.read(plain).key
        self.leaves.add(f"{key}()")
        function = self.draw.curve(key)
        if name.primes > 1:
            raise Unread("a second derivative")
        return mapped(slope_of(function) if name.primes else function, value)

    def _apply(self, name: s.Name, node: s.Call, env: Mapping[str, int]) -> Value:
        function = ELEMENTWISE[name.base]
        power = name.sup[0] if name.sup else None
        if len(node.arguments) != 1 or name.primes > 1:
            raise Unread(f"“{node.span.text}” is not known here")
        if name.primes:
            function = slope_of(function)
        value = mapped(function, self.value(node.arguments[0], env))
        return value if power is None else mapped(lambda x: x ** self._exponent(power, env), value)

    def _exponent(self, power: s.Expression, env: Mapping[str, int]) -> float:
        value = self.value(power, env)
        if not isinstance(value, float) or value < 0:
            raise Unread("an inverse function")
        return value

    def _body(self, key: str, arguments: list[Value]) -> Value:
        return self._inside(key, arguments)._within(self.scope.functions[key][-1].body, {})

    def _inside(self, key: str, arguments: list[Value]) -> Evaluation:
        """The evaluation of a function's body, where its parameters have values."""
        function = self.scope.functions[key][-1]
        if len(function.parameters) != len(arguments):
            raise Unread(f"{key} has another number of arguments")
        if key in self.calling:
            raise Unread(f"{key} is computed from itself")
        self.used.add(key)
        given = dict(zip(function.parameters, arguments, strict=True))
        calling = self.calling | {key}
        return replace(self, given=given, memo={}, begun=set(), calling=calling)

    def _limit(self, node: Limit, env: Mapping[str, int]) -> Value:
        """The value near the limit."""
        key = self.scope.naming.read(node.letter).key
        target = self.value(node.target, env)
        if not isinstance(target, float):
            raise Misfit("a limit is a number")
        near = replace(self, over={**self.over, (key, ()): target + self.draw.close}, memo={})
        return near.value(node.body, env)

    # ------------------------------------------------------------------ derivatives

    def _derivative(self, node: s.Derivative, env: Mapping[str, int]) -> Value:
        reference = self.scope.read(node.below)
        if reference is None or reference.power is not None:
            raise Unread("a derivative of a higher order")
        key, at = reference.key, tuple(self.integer(i, env) for i in reference.items)
        of = self.scope.called(node.above, node.below) or node.above
        if isinstance(of, s.Call) and node.below in of.arguments:
            frozen = self._frozen(of, node.below, env)
            if frozen is not None:
                return frozen

        def above(evaluation: Evaluation) -> Value:
            return evaluation.value(of, env)

        point = self.given[key] if key in self.given and not at else self.named(key, at)
        if self.dry:
            self._require_dependence(of, key, env)
            if isinstance(of, s.Name) and of.base in LOSSES and np.ndim(above(self)):
                raise Misfit(f"{of.base} is a loss, and comes out as no number")
        fixed = self._others(of, key, env) if self.partial else {}
        slope = self._differences(
            lambda number, by: above(self._moved(key, at, point, number, by, fixed)), point
        )
        if self.partial and not np.any(slope):
            raise Unread(f"{key} moves “{of.span.text}” by way of others alone")
        return slope

    def _others(
        self, of: s.Expression, key: str, env: Mapping[str, int]
    ) -> dict[tuple[str, tuple[int, ...]], Value]:
        """The values of what is read for `of`, but for itself and what it is differentiated by."""
        alone = replace(self, memo={}, begun=set())
        alone.value(of, env)
        head = self.scope.read(of)
        own = {key} | ({head.key} if head is not None else set())
        return {place: value for place, value in alone.memo.items() if place[0] not in own}

    def _differences(self, moved: Callable[[int, float], Value], point: Value) -> Value:
        """The derivative of what `moved` gives where an element of the point is moved."""
        columns = []
        if self.dry:
            above = moved(0, 0.0)
            return self._laid_out(
                np.zeros((flattened(above).size, flattened(point).size)), above, point
            )
        for number in range(flattened(point).size):
            a, b, c, d = (flattened(moved(number, step * STEP)) for step in (-2.0, -1.0, 1.0, 2.0))
            columns.append((a - 8 * b + 8 * c - d) / (12 * STEP))
        return self._laid_out(np.stack(columns, axis=1), moved(0, 0.0), point)

    def _frozen(self, call: s.Call, below: s.Expression, env: Mapping[str, int]) -> Value | None:
        """`∂f(x, h, w)/∂w`: the other arguments stay as they are, also if they depend on w."""
        reference = self.scope.naming.read(call.function)
        key = reference.key
        inlined = key in self.scope.functions and self.rules
        if not inlined and (key in ELEMENTWISE or key in self.scope.bare):
            return None
        if not inlined and f"{key}()" not in self.kinds:
            raise Open("kind", f"{key}()")
        values = [self.value(a, env) for a in call.arguments]
        place = call.arguments.index(below)
        at = tuple(self.integer(i, env) for i in reference.items)
        still = self
        if self.partial and inlined:  # the y of `y = X β + ε` is data, whatever it was made of
            inside = self._inside(key, values)
            inside._within(self.scope.functions[key][-1].body, {})
            still = replace(self, over={**self.over, **inside.memo})

        def moved(number: int, by: float) -> Value:
            changed = [*values]
            changed[place] = nudged(values[place], number, by)
            return (
                still._body(key, changed) if inlined else self._opaque(call.function, at, changed)
            )

        return self._differences(moved, values[place])

    def _require_dependence(self, above: s.Expression, key: str, env: Mapping[str, int]) -> None:
        alone = replace(self, touched=set(), memo={}, begun=set())
        alone.value(above, env)
        if key not in alone.touched:
            raise Unread(f"nothing here says how “{above.span.text}” depends on {key}")

    def _moved(
        self,
        key: str,
        at: tuple[int, ...],
        point: Value,
        number: int,
        by: float,
        fixed: Mapping[tuple[str, tuple[int, ...]], Value],
    ) -> Evaluation:
        moved = nudged(point, number, by)
        over = {**self.over, **fixed, (key, at): moved}
        given = {**self.given, key: moved} if key in self.given and not at else self.given
        return replace(self, over=over, given=given, memo={}, begun=set())

    def _laid_out(self, jacobian: Array, above: Value, below: Value) -> Value:
        if isinstance(above, float):
            if isinstance(below, float):
                return float(jacobian[0, 0])
            gradient = jacobian[0].reshape(below.shape)
            return np.asarray(gradient.T if self.layout == NUMERATOR else gradient)
        if isinstance(below, float):
            found = jacobian[:, 0].reshape(above.shape)
            return np.asarray(found.T if self.layout == DENOMINATOR else found)
        if 1 not in above.shape or 1 not in below.shape:
            raise Unread("a derivative with more than two axes")
        return np.asarray(jacobian.T if self.layout == DENOMINATOR else jacobian)


def _inside(node: s.Power | s.Transpose) -> s.Expression:
    return node.base if isinstance(node, s.Power) else node.body
