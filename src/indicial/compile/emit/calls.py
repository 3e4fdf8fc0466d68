"""Library calls, known by the indices of an expression while it is evaluated; and what is told of them.

α[k,t,s] = softmax_{s ≤ t} q[k,t,I] c[k,s,I]/√I
h[k,t,i] = Σ_s α[k,t,s] v[k,s,i]                F.scaled_dot_product_attention(q, c, v, is_causal=True)

s is summed, t is that of the weights alone, i that of the values alone, and all others are heads.

x (1 + erf(x/√2))/2                             F.gelu(x)
x (1 + tanh(√(2/π) (x + 0.044715 x³)))/2        F.gelu(x, approximate="tanh")
g[j] (x[t,j] - mean_J x[t,J]) / √(mean_J (x[t,J] - mean_I x[t,I])² + ε) + b[j]
                                                F.layer_norm(x, (J,), g, b)

Gain and offset are there or not; means and deviations may be tensors of their own. Convolutions are in
`convolution`, the logarithm of a softmax at a token in `expressions`, linear maps in `maps`. Where it is
almost a call, it is told why not.

recognised: attention (scaled_dot_product_attention)
near miss: attention, because the weights are wanted, so they are computed
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from indicial.compile.emit.nodes import NUMBER, Node, Operand
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.tensors import Tensors
from indicial.compile.emit.values import Environment, Factor, Value, aligned
from indicial.compile.passes.algebra import ONE, flat, scaled, times
from indicial.program import ir
from indicial.program.cost.conditions import add, inequality
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.moving import Unmovable, canonical, definition, moved
from indicial.program.rewrite import free_indices, is_constant

ATTENTION, CONVOLUTION, CROSS_ENTROPY = "attention", "convolution", "cross entropy"
GELU, LAYER_NORM = "GELU", "layer norm"
BIAS, EMBEDDING = "linear with a bias", "embedding"
MERGED, IN_PLACE = "one product for several", "ReLU in place"
NAMES = frozenset(
    {ATTENTION, CONVOLUTION, CROSS_ENTROPY, GELU, LAYER_NORM, BIAS, EMBEDDING, MERGED, IN_PLACE}
)
"""All that is looked for."""


@dataclass(frozen=True)
class Missed:
    """Almost a match, and what is in its way."""

    reason: str


@dataclass(frozen=True)
class Finding:
    """What to tell: which call was recognised in the equation of a tensor, or why it was not."""

    pattern: str
    call: str
    tensor: str
    reason: str = ""

    @property
    def recognised(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        if self.recognised:
            return f"recognised: {self.pattern} ({self.call})"
        return f"near miss: {self.pattern}, because {self.reason}"


Tell = Callable[..., bool]
"""`tell(pattern, call, reason)`: what was found while an expression was evaluated."""


NO_PRODUCT = Missed("the scores are not products of queries and keys, head by head")


@dataclass(frozen=True)
class Scores:
    """Queries and keys, the index that they are summed over, and what their product is scaled by."""

    query: Value
    key: Value
    index: ir.Index
    scale: Node


@dataclass(frozen=True)
class Attention:
    """Products of weights and values, in any environment; `masked` says where a softmax counts."""

    tensors: Tensors
    tell: Tell
    evaluate: Callable[[ir.Expression, Environment], Value]
    masked: Callable[[ir.Softmax, Environment], tuple[Environment, Value | None]]

    @property
    def torch(self) -> Torch:
        return self.tensors.torch

    def product(
        self, one: Factor, two: Factor, summed: Collection[str], env: Environment
    ) -> Value | None:
        """The sum of a product over some indices, if it is attention."""
        for weights, values in ((one, two), (two, one)):
            for read in weights.sources:
                softmax = definition(self.tensors.code, read) if isinstance(read, ir.Read) else None
                if not isinstance(softmax, ir.Softmax) or len(softmax.indices) > 1:
                    continue
                if softmax.indices[0].name not in summed or len(summed) > 1:
                    continue
                if len(weights.sources) > 1:
                    reason = "the weights are multiplied by something before the values are"
                    self.tell(ATTENTION, "", reason)
                    return None
                if not weights.made:
                    return self.attended(softmax, read, weights.value, values.value, env)
        return None

    def attended(
        self,
        softmax: ir.Softmax,
        read: ir.Expression,
        weights: Value,
        values: Value,
        env: Environment,
    ) -> Value | None:
        """The weights times the values, by the library."""
        (index,) = softmax.indices
        own, others = set(weights.dims) - {index.name}, set(values.dims) - {index.name}
        both = [d for d in env.ranges if d in own & others]
        inner, mask = self.masked(softmax, env)
        if len(own - others) != 1 or len(others - own) != 1:
            return None
        if inner.ranges[index.name] != env.ranges[index.name]:
            return None
        (row,), (column,) = own - others, others - own
        scores = self.scores(softmax.body, (*both, row), (*both, index.name), inner)
        reason = scores.reason if isinstance(scores, Missed) else ""
        if not reason and not self.tensors.serves_once(read, env):
            reason = "the weights are wanted, so they are computed"
        reason = reason or ("" if both else "there is no batch")
        if not self.tell(ATTENTION, "scaled_dot_product_attention", reason):
            return None
        assert isinstance(scores, Scores)
        options: dict[str, Operand] = {}
        if mask is not None:
            where = aligned(self.torch, mask, (*both, row, index.name))
            causal = self.is_causal(softmax, row, env)
            options["is_causal" if causal else "attn_mask"] = True if causal else where
        if not self.is_usual(scores, inner):
            options["scale"] = scores.scale
        operands = [
            aligned(self.torch, value, (*both, *dims))
            for value, dims in (
                (scores.query, (row, scores.index.name)),
                (scores.key, (index.name, scores.index.name)),
                (values, (index.name, column)),
            )
        ]
        dims = (*both, row, column)
        made = self.torch.graph.make(
            "F.scaled_dot_product_attention", *operands, options=options,
            shape=env.extents(dims), hint="attended",
        )  # fmt: skip
        return Value(made, dims)

    def scores(
        self, body: ir.Expression, rows: Sequence[str], columns: Sequence[str], env: Environment
    ) -> Scores | Missed:
        """What a softmax is of, if it is a product of queries and keys."""
        scale, rest = scaled(body)
        under: ir.Expression = ONE
        named: list[ir.Read] = []
        while isinstance(rest, ir.Read) or (
            isinstance(rest, ir.Apply) and rest.function == "/" and is_constant(rest.arguments[1])
        ):
            if isinstance(rest, ir.Read):
                inside = definition(self.tensors.code, rest)
                if inside is None or rest.tensor in [read.tensor for read in named]:
                    return NO_PRODUCT
                named.append(rest)
            else:
                inside, divisor = rest.arguments
                under = times(under, divisor)
            more, rest = scaled(inside)
            scale = times(scale, more)
        match rest:
            case ir.Apply("+"):
                return Missed("something is added to the products of queries and keys")
            case ir.Apply("*" | "/"):
                return Missed("the scores are not a product with a number")
            case ir.Reduce("sum", (index,), None, product):
                factors = flat("*", (product,))
            case _:
                return NO_PRODUCT
        sides = [f for f in factors if not is_constant(f)]
        scale = times(scale, *(f for f in factors if is_constant(f)))
        if len(sides) != 2:
            return NO_PRODUCT
        inner = env.bind([index])
        query, key = sorted(sides, key=lambda side: columns[-1] in free_indices(side))
        q, k, over, below = (self.evaluate(e, inner) for e in (query, key, scale, under))
        if {*q.dims} != {*rows, index.name} or {*k.dims} != {*columns, index.name}:
            return NO_PRODUCT
        if over.node.kind != NUMBER or below.node.kind != NUMBER:
            return Missed("the scores are not a product with a number")
        if not all(self.tensors.serves_once(read, env) for read in named):
            return Missed("the scores are wanted, so they are computed")
        divided = self.torch.graph.binary("/", over.node, below.node)
        return Scores(q, k, index, over.node if below.node.value == 1 else divided)

    def is_usual(self, scores: Scores, env: Environment) -> bool:
        """Whether the scale is 1/√I, which the call has by itself."""
        graph, size = self.torch.graph, self.torch.sizes.node(env.size(scores.index.extent))
        root = graph.number("math.sqrt", size, positive=True)
        return scores.scale is graph.binary("/", graph.literal(1), root)

    def is_causal(self, softmax: ir.Softmax, row: str, env: Environment) -> bool:
        """`s ≤ t` with both over all of one range, and nothing else."""
        form, column = inequality(softmax.condition), softmax.indices[0].name
        plain = form is not None and form == add(ir.Affine.of(column), ir.Affine.of(row), -1)
        same = env.ranges[row].range == env.ranges[column].range
        return plain and same and not self.tensors.ragged.varies(env.own[column].extent, env)


CUBE = 0.044715


@dataclass
class Fraction:
    """A product taken apart: a number, and the factors above and below that are none."""

    number: float = 1.0
    above: list[ir.Expression] = field(default_factory=list)
    below: list[ir.Expression] = field(default_factory=list)

    @staticmethod
    def of(node: ir.Expression) -> Fraction:
        found = Fraction()
        found.take(node, 1)
        return found

    def take(self, node: ir.Expression, power: int) -> None:
        value = number_of(node)
        match node:
            case _ if value:
                self.number *= value**power
            case ir.Apply("*", factors):
                for factor in factors:
                    self.take(factor, power)
            case ir.Apply("/", (above, below)):
                self.take(above, power)
                self.take(below, -power)
            case _:
                (self.above if power > 0 else self.below).append(node)


def number_of(node: ir.Expression) -> float | None:
    """The value of an expression that is made of numbers."""
    match node:
        case ir.Constant(value):
            return value
        case ir.Apply(function, arguments) if not node.tensors():
            values = [number_of(argument) for argument in arguments]
            return None if None in values else FUNCTIONS[function](*values)
    return None


class WrittenOut:
    """Finds such functions while expressions are evaluated."""

    def __init__(
        self, tensors: Tensors, tell: Tell, evaluate: Callable[[ir.Expression, Environment], Value]
    ) -> None:
        self.code = tensors.code
        self.torch = tensors.torch
        self.tell = tell
        self.evaluate = evaluate

    def called(self, node: ir.Apply, env: Environment) -> Value | None:
        """The value of a sum, a product or a quotient by one call, if it is one of these."""
        for name, call, match in (
            (GELU, "gelu", self.gelu),
            (LAYER_NORM, "layer_norm", self.layer_norm),
        ):
            try:
                found = match(node, env)
            except Unmovable:
                continue
            if isinstance(found, Missed):
                self.tell(name, call, found.reason)
            elif found is not None and self.tell(name, call):
                return found
        return None

    def gelu(self, node: ir.Apply, env: Environment) -> Value | Missed | None:
        parts = Fraction.of(node)
        if len(parts.above) != 2 or parts.below or not math.isclose(parts.number, 0.5):
            return None
        for x, other in (parts.above, parts.above[::-1]):
            terms = other.arguments if isinstance(other, ir.Apply) and other.function == "+" else ()
            match [term for term in terms if number_of(term) != 1], len(terms):
                case [ir.Apply("erf" | "tanh" as function, (inner,))], 2:
                    found = (_tanh if function == "tanh" else _erf)(x, inner)
                    if not isinstance(found, dict):
                        return found
                    value = self.evaluate(x, env)
                    shape = value.node.shape
                    made = self.torch.graph.make(
                        "F.gelu", value.node, options=found, shape=shape, hint="activated"
                    )
                    return Value(made, value.dims)
        return None

    def layer_norm(self, node: ir.Apply, env: Environment) -> Value | Missed | None:
        terms = node.arguments if node.function == "+" else (node,)
        for term, *offset in (terms, terms[::-1]) if len(terms) < 3 else ():
            parts = Fraction.of(term)
            roots = [e for e in map(self.opened, parts.below) if isinstance(e, ir.Apply)]
            if parts.number != 1 or len(parts.above) > 2 or [e.function for e in roots] != ["sqrt"]:
                continue
            for deviation in parts.above:
                weights = [e for e in parts.above if e is not deviation] + offset
                found = self.centred(deviation)
                if found is None or len(weights) == len(offset) == 1:
                    continue
                x, name = found
                epsilon = self.epsilon(roots[0].arguments[0], deviation, name)
                value, *others = (self.evaluate(e, env) for e in (x, *weights))
                if value.dims[-1:] != (name,):
                    return Missed("the mean is not over the last axis") if not offset else None
                if epsilon is None:
                    reason = "what is under the root is not the variance and a number"
                    return Missed(reason) if not offset else None
                if all(other.dims == (name,) for other in others):
                    return self.normed(value, [other.node for other in others], epsilon)
        return None

    def normed(self, x: Value, weights: Sequence[Node], epsilon: float) -> Value:
        size, graph = self.torch.sizes.node(x.node.shape[-1]), self.torch.graph
        options: dict[str, Operand] = {} if epsilon == 1e-5 else {"eps": graph.literal(epsilon)}
        made = graph.make(
            "F.layer_norm", x.node, (size,), *weights,
            options=options, shape=x.node.shape, hint="normed",
        )  # fmt: skip
        return Value(made, x.dims)

    def centred(self, node: ir.Expression) -> tuple[ir.Expression, str] | None:
        """`x - mean x`: x, and the index that the mean is over."""
        match self.opened(node):
            case ir.Apply("+", (x, ir.Apply("neg", (mean,)))) if (
                over := self.mean(mean)
            ) is not None:
                for name in free_indices(x) - (free_indices(over[1]) - {over[0].name}):
                    if self.same(moved(x, {name: ir.Affine.of(over[0])}), over[1]):
                        return x, name
        return None

    def epsilon(self, under: ir.Expression, deviation: ir.Expression, name: str) -> float | None:
        """What is added to the variance, the mean of a deviation's square; None if it is not that."""
        match self.opened(under):
            case ir.Apply("+", (variance, added)) if (over := self.mean(variance)) is not None:
                match self.opened(over[1]):
                    case ir.Apply("^", (base, ir.Constant(2.0))):
                        there = moved(deviation, {name: ir.Affine.of(over[0])})
                        return number_of(added) if self.same(base, there) else None
        return None

    def opened(self, node: ir.Expression) -> ir.Expression:
        """What a tensor is by its equation; any other expression as it is."""
        found = definition(self.code, node) if isinstance(node, ir.Read) else None
        return node if found is None else found

    def mean(self, node: ir.Expression) -> tuple[ir.Index, ir.Expression] | None:
        """What a mean is of, and its index; `Σ_j x[j] / J` is one too."""
        inside = self.opened(node)
        parts = Fraction.of(inside)
        match inside, parts.above, parts.below:
            case ir.Reduce("mean", (index,), None, body), _, _:
                return index, body
            case _, [ir.Reduce("sum", (index,), None, body)], [ir.SizeValue(size)]:
                return (index, body) if parts.number == 1 and size == index.extent else None
        return None

    def same(self, one: ir.Expression, two: ir.Expression) -> bool:
        """Whether two expressions are the same but for the names that are bound in them."""
        order = sorted(free_indices(one) | free_indices(two))
        if canonical(one, order) == canonical(two, order):
            return True
        return canonical(self.opened(one), order) == canonical(self.opened(two), order)


def _erf(x: ir.Expression, inner: ir.Expression) -> dict[str, Operand] | None:
    parts = Fraction.of(inner)
    fits = math.isclose(parts.number, math.sqrt(0.5), rel_tol=1e-12)
    return {} if fits and parts.above == [x] and not parts.below else None


def _tanh(x: ir.Expression, inner: ir.Expression) -> dict[str, Operand] | Missed | None:
    parts = Fraction.of(inner)
    match parts.above, parts.below:
        case [ir.Apply("+", (one, two))], []:
            cubes = [Fraction.of(term) for term in (one, two) if term != x]
            if len(cubes) != 1 or cubes[0].above != [ir.Apply("^", (x, ir.Constant(3.0)))]:
                return None
            factor, weight = parts.number, cubes[0].number
            if math.isclose(factor, math.sqrt(2 / math.pi), rel_tol=1e-12) and weight == CUBE:
                return {"approximate": "tanh"}
            return Missed(f"its numbers are {factor:g} and {weight:g}, not √(2/π) and {CUBE}")
    return None
