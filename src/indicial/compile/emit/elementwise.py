"""Functions of numbers, element by element; products, quotients and what guards them.

    1/√I q[I]             q / math.sqrt(I)
    a[t,j] b[j] / c[t]    a * b / c[:, None]

Where only some elements count (a condition, a case), a function that has a singularity sees a
harmless number at the others: so neither the value nor the gradient of what is left out matters.

Truths: comparisons, several at once, and their opposites; by tensors, or by Python.

t' ≤ t        t <= t[:, None]       a tensor, if an index is an axis
ℓ > 0         l > 0                 Python's, if a loop has fixed the index
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from indicial.compile.emit.calls import BIAS, Tell
from indicial.compile.emit.maps import with_offset, with_scale
from indicial.compile.emit.nodes import BOOL, FLOAT, INT, NUMBER, TORCH_FUNCTIONS, Listed, Node
from indicial.compile.emit.numbers import SIGNS, number
from indicial.compile.emit.reads import positions
from indicial.compile.emit.tensors import Tensors
from indicial.compile.emit.values import (
    Called,
    Contraction,
    Environment,
    Factor,
    Value,
    aligned,
    combined,
    expanded,
    merged_axes,
)
from indicial.program.ir import COMPARISONS, Affine, Apply, Expression, Read, Reduce

Evaluate = Callable[[Expression, Environment], Value]

_HARMLESS = {"ln": 1.0, "sqrt": 1.0, "exp": 0.0}
"""What a function sees where its value does not count, so that its slope is finite there."""


def singular(expression: Expression) -> bool:
    """Whether it has a function in it that needs a harmless argument where nothing counts."""
    names = {*_HARMLESS, "/", "^"}
    return any(
        (isinstance(n, Apply) and n.function in names)
        or (isinstance(n, Reduce) and n.operator in ("mean", "max", "min"))
        for n in expression.walk()
    )


@dataclass
class Factored:
    """A product taken apart: factors, divisors, and whether it is negative."""

    factors: list[Factor] = field(default_factory=list)
    over: list[Node] = field(default_factory=list)
    under: list[Node] = field(default_factory=list)
    negative: bool = False


class Term(NamedTuple):
    """What is added, or taken away."""

    expression: Expression
    value: Value
    minus: bool


_INVERSE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
WIDE = 32
"""So many terms are added one after the other."""


class Elementwise:
    """Applications of functions, in any environment."""

    comparisons = COMPARISONS

    def __init__(
        self,
        tensors: Tensors,
        usual: dict[str, int],
        evaluate: Evaluate,
        condition: Evaluate,
        tell: Tell,
    ) -> None:
        self.tensors = tensors
        self.tell = tell
        self.torch = tensors.torch
        self.ragged = tensors.ragged
        self.usual = usual
        self.evaluate = evaluate
        self.condition = condition

    def apply(self, node: Apply, env: Environment) -> Value:
        match node:
            case Apply(function, _) if function in COMPARISONS or function == "and":
                truth = self.condition(node, env)
                return Value(self.torch.floating(truth.node), truth.dims)
            case Apply("*" | "/" | "neg", _):
                return self.scaled(self.product(node, env), env)
            case Apply("+", arguments):
                return self.sum(arguments, env)
            case Apply("^", (base, exponent)):
                return self.power(base, exponent, env)
            case Apply("min" | "max" as function, arguments):
                return self.extreme(function, [self.evaluate(a, env) for a in arguments], env)
            case Apply("lse", arguments):
                return self.log_add_exp([self.evaluate(a, env) for a in arguments], env)
            case Apply(function, (argument,)):
                return self.call(function, self.argument(function, argument, env))
            case _:
                raise TypeError(f"unknown application of {node.function}")

    def argument(self, function: str, expression: Expression, env: Environment) -> Value:
        value = self.evaluate(expression, env)
        if function in _HARMLESS:
            return self.harmless(value, expression, env, _HARMLESS[function])
        return value

    def call(self, function: str, value: Value) -> Value:
        node = value.node
        if node.kind == NUMBER:
            plain = number(self.torch.graph, function, [node])
            if plain is not None:
                return Value(plain)
            node = self.torch.scalar(node)
        operation = TORCH_FUNCTIONS[function]
        natural = function in ("exp", "σ", "ReLU", "abs", "softplus") or (
            function == "sqrt" and node.natural
        )
        result = self.torch.graph.make(
            operation, node, options={"threshold": 40} if function == "softplus" else {},
            shape=node.shape, natural=natural, positive=function == "sqrt" and node.positive,
            hint=operation.rpartition(".")[2],
        )  # fmt: skip
        return Value(result, value.dims)

    def harmless(
        self, value: Value, expression: Expression, env: Environment, instead: float
    ) -> Value:
        """The value, but a harmless number where nothing counts."""
        mask = env.mask
        reads = bool(expression.every(Read))
        if mask is None or value.node.kind != FLOAT or not reads:
            return value
        if value.node.positive and instead == 1:
            return value
        gone = [n for n, d in enumerate(mask.dims) if d not in value.dims]
        if mask.dims and len(gone) == len(mask.dims):
            return value
        kept = tuple(d for d in mask.dims if d in value.dims)
        seen = Value(self.torch.reduce("any", mask.node, gone), kept)
        nodes = aligned(self.torch, seen, value.dims), value.node
        literal = self.torch.graph.literal(instead)
        return Value(self.torch.where(*nodes, literal, value.node.shape), value.dims)

    def number(self, function: str, *values: Value) -> Value:
        """A function that Python can surely compute, of numbers."""
        plain = number(self.torch.graph, function, [v.node for v in values])
        assert plain is not None
        return Value(plain)

    # ---- truths, by tensors or by Python ----

    def compare(self, function: str, sides: Sequence[Value], env: Environment) -> Value:
        a, b = sides
        if a.node.kind == NUMBER and b.node.kind == NUMBER:
            return self.number(function, a, b)
        return combined(self.torch, SIGNS[function], a, b, env, "mask")

    def all(self, truths: Sequence[Value], env: Environment) -> Value:
        numbers = [t.node for t in truths if t.node.kind == NUMBER]
        tensors = [t for t in truths if t.node.kind != NUMBER]
        plain = number(self.torch.graph, "and", numbers) if numbers else None
        total: Value | None = None
        for truth in tensors:
            if total is None:
                total = truth
                continue
            total = combined(self.torch, "&", total, truth, env, "mask")
        if plain is None or plain.value:
            return total if total is not None else Value(self.torch.graph.literal(1))
        if total is None or plain.value == 0:
            return Value(plain)
        none = self.torch.zeros(total.node.shape, BOOL)
        return Value(self.torch.choose(plain, total.node, none), total.dims)

    def no(self, truth: Value) -> Value:
        """Where it does not hold."""
        node = truth.node
        if node.value is not None:
            return Value(self.torch.graph.literal(float(not node.value)))
        inverse = _INVERSE.get(node.operation)
        if inverse is not None and all(a.kind in (INT, NUMBER) for a in node.arguments):
            a, b = node.arguments
            made = self.torch.graph.binary(inverse, a, b, node.shape, "mask")
            return Value(made, truth.dims)
        if node.kind == NUMBER:
            return Value(self.torch.graph.prefix("not ", node))
        return Value(self.torch.graph.prefix("~", node, "mask"), truth.dims)

    # ---- sums, powers, extremes ----

    def sum(self, arguments: Sequence[Expression], env: Environment) -> Value:
        """From left to right; a long sum is one of shorter ones, so that no chain is deep."""
        total: Value | None = None
        if len(arguments) > WIDE:
            size = -(-len(arguments) // WIDE)
            for at in range(0, len(arguments), size):
                part = self.sum(arguments[at : at + size], env)
                total = part if total is None else self.plus(total, part, False, env)
            assert total is not None
            return total
        terms: list[Term] = []
        for argument in arguments:
            minus = isinstance(argument, Apply) and argument.function == "neg"
            inner = argument.arguments[0] if isinstance(argument, Apply) and minus else argument
            terms.append(Term(inner, self.evaluate(inner, env), minus))
        for term in terms[:]:
            if term in terms:  # which may have got a bias itself
                self.put_into_a_map(term, terms, env)
        for _, value, minus in terms:
            total = value if total is None and not minus else self.plus(total, value, minus, env)
        return total if total is not None else Value(self.torch.graph.literal(0))

    def put_into_a_map(self, term: Term, terms: list[Term], env: Environment) -> None:
        """A term that is the bias of another one, which is a linear map that nobody else computes."""
        at = terms.index(term)
        for other in (*reversed(terms[:at]), *terms[at + 1 :]):
            both = (
                None
                if other.minus
                else with_offset(self.torch, other.value, term.value, term.minus)
            )
            if both is None or not self.tensors.is_alone(other.expression, env):
                continue
            if self.tell(BIAS, "linear"):
                first, last = sorted((at, terms.index(other)))
                terms[last] = other._replace(value=both)
                del terms[first]
            return

    def plus(self, total: Value | None, value: Value, minus: bool, env: Environment) -> Value:
        if total is None:
            return self.negated(value)
        if total.node.kind == NUMBER and value.node.kind == NUMBER:
            return self.number("+", total, self.negated(value) if minus else value)
        return self.binary("-" if minus else "+", total, value, env)

    def binary(self, sign: str, a: Value, b: Value, env: Environment) -> Value:
        return combined(self.torch, sign, a, b, env, "total" if sign in "+-" else "product")

    def negated(self, value: Value) -> Value:
        node = value.node
        if node.kind == NUMBER:
            return self.number("neg", value)
        return Value(self.torch.graph.prefix("-", node, "negative"), value.dims)

    def power(self, base: Expression, exponent: Expression, env: Environment) -> Value:
        a, b = self.evaluate(base, env), self.evaluate(exponent, env)
        if a.node.kind == NUMBER and b.node.kind == NUMBER:
            plain = number(self.torch.graph, "^", [a.node, b.node])
            if plain is not None:
                return Value(plain)
            a = Value(self.torch.scalar(a.node))
        natural = b.node.value is not None and b.node.value >= 1
        if not natural:
            a = self.harmless(a, base, env, 1.0)
            # The a of a^(t-s) has no s to be harmless at: where s > t it would be raised to -∞.
            b = self.harmless(b, Apply("^", (base, exponent)), env, 1.0)
        if a.node.kind == NUMBER and not a.node.positive:
            a = Value(self.torch.scalar(a.node))
        dims = merged_axes([a, b], env)
        nodes = aligned(self.torch, a, dims), aligned(self.torch, b, dims)
        node = self.torch.graph.binary(
            "**", *nodes, env.extents(dims), "square" if b.node.value == 2 else "power",
            a.node.positive, b.node.value is not None and b.node.value % 2 == 0,
        )  # fmt: skip
        return Value(node, dims)

    def extreme(self, function: str, values: Sequence[Value], env: Environment) -> Value:
        if all(v.node.kind == NUMBER for v in values):
            return self.number(function, *values)
        dims = merged_axes(values, env)
        shape = env.extents(dims)
        if len(values) == 2:
            nodes = [self.torch.scalar(aligned(self.torch, v, dims)) for v in values]
            operation = f"torch.{function}imum"
            made = self.torch.graph.make(operation, *nodes, shape=shape, hint="bound")
        else:
            # So that those that tie have equal shares of the gradient.
            terms = self.side_by_side(values, dims, env)
            made = self.torch.graph.make(f".a{function}", terms, 0, shape=shape, hint="bound")
        return Value(made, dims)

    def log_add_exp(self, values: Sequence[Value], env: Environment) -> Value:
        dims = merged_axes(values, env)
        terms, shape = self.side_by_side(values, dims, env), env.extents(dims)
        made = self.torch.helper(
            "log_sum_exp", terms, Listed([0]), shape=shape, kind=FLOAT, hint="logarithm"
        )
        return Value(made, dims)

    def side_by_side(self, values: Sequence[Value], dims: Sequence[str], env: Environment) -> Node:
        nodes = [self.torch.scalar(expanded(self.torch, v, dims, env)) for v in values]
        return self.torch.stack(nodes, "terms")

    def affine(self, place: Affine, env: Environment, kind: str) -> Value:
        """Index arithmetic as numbers."""
        torch = self.torch
        if self.ragged.varies(place.offset, env):
            value = self.ragged.place(place, env)
            return value if kind == INT else Value(torch.floating(value.node), value.dims)
        if not place.terms:
            return Value(torch.sizes.node(place.offset))
        return positions(torch, place, env, kind)

    # ---- products ----

    def product(self, node: Expression, env: Environment) -> Factored:
        """The node taken apart as a product."""
        found = Factored()
        self._collect(node, env, found, divides=False)
        return found

    def _collect(self, node: Expression, env: Environment, found: Factored, divides: bool) -> None:
        match node:
            case Apply("neg", (inner,)):
                found.negative = not found.negative
                self._collect(inner, env, found, divides)
            case Apply("*", arguments):
                for argument in arguments:
                    self._collect(argument, env, found, divides)
            case Apply("/", (a, b)):
                self._collect(a, env, found, divides)
                self._collect(b, env, found, not divides)
            case _:
                value = self.evaluate(node, env)
                if value.node.kind == NUMBER:
                    (found.under if divides else found.over).append(value.node)
                    return
                if divides:
                    value = self.harmless(value, node, env, 1.0)
                found.factors.append(Factor(value, divides, sources=(node,), made=divides))

    def scaled(self, found: Factored, env: Environment) -> Value:
        value = self.contract(found.factors, (), env) if found.factors else None
        sources = [source for factor in found.factors for source in factor.sources]
        return self.times(value, found, env, *sources)

    def contract(
        self,
        factors: Sequence[Factor],
        summed: Sequence[str],
        env: Environment,
        called: Called | None = None,
    ) -> Value:
        return Contraction(self.torch, env, self.usual, called).sum(factors, summed)

    def times(
        self, value: Value | None, found: Factored, env: Environment, *sources: Expression
    ) -> Value:
        """With the numbers of a product, its sign among them; `sources` are what the value is of."""
        graph = self.torch.graph
        over = number(graph, "*", found.over) if found.over else graph.literal(1)
        under = number(graph, "*", found.under) if found.under else graph.literal(1)
        assert over is not None and under is not None
        if value is None:
            quotient = number(graph, "/", [over, under])
            if quotient is None:
                quotient = self.binary("/", Value(self.torch.scalar(over)), Value(under), env).node
            return self.negated(Value(quotient)) if found.negative else Value(quotient)
        if found.negative and over.value != 1:
            over, found = self.negated(Value(over)).node, Factored()
        for sign, factor in (("*", over), ("/", under)):
            if factor.value == 1:
                continue
            made = with_scale(self.torch, value, sign, factor)
            if made is None or not all(self.tensors.is_alone(s, env) for s in sources):
                pair = (Value(factor), value) if sign == "*" else (value, Value(factor))
                made = self.binary(sign, *pair, env)
            value = made
        return self.negated(value) if found.negative else value
