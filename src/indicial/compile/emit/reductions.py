"""Sums, products, extremes, means and softmaxes over indices, with their conditions.

Σ_{t' ≤ t} a[t,t'] v[t',j]      torch.where(t' <= t, a, 0) @ v
softmax_{t' ≤ t} s[t,t']        F.softmax(s.masked_fill(t' > t, -inf), -1)

Conditions that are bounds: a shorter range in place of a mask.

Σ_{t ≥ 1} x[t]                      x[:, 1:].sum(1)
Σ_{s < t} h[s], at step t           stack(h, 0, t, …).sum(1): what exists, and no more
Σ_{s ≤ t} k[t-s] x[s]               of k what is at 0 or more

Sums and extremes that grow with t: one pass.

Σ_{s < t} x[s]                      F.pad(x.cumsum(1), …)[:, :T]
max_{s ≤ t} x[s]                    running_max(x, 1)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations

from indicial.compile.emit import convolution
from indicial.compile.emit.calls import CONVOLUTION, Attention, Missed, Tell
from indicial.compile.emit.convolution import convolved
from indicial.compile.emit.elementwise import Elementwise
from indicial.compile.emit.nodes import BOOL, FLOAT, INT, NUMBER, Listed, Node
from indicial.compile.emit.numbers import SizeTexts
from indicial.compile.emit.ragged import Ragged
from indicial.compile.emit.reads import Array, Bounds, choose, read
from indicial.compile.emit.tensors import Tensors
from indicial.compile.emit.values import Environment, Factor, Value, aligned, expanded
from indicial.compile.passes.algebra import ranked_by
from indicial.program import ir
from indicial.program.cost.conditions import add, conjuncts, inequality, joined
from indicial.program.rewrite import free_indices, size_indices

_NEUTRAL = {"prod": 1.0, "max": -math.inf, "min": math.inf, "lse": -math.inf}


class Reductions:
    """What runs over indices of its own."""

    def __init__(self, elementwise: Elementwise, tensors: Tensors, tell: Tell) -> None:
        self.elementwise = elementwise
        self.tensors = tensors
        self.tell = tell
        self.torch = tensors.torch
        self.evaluate = elementwise.evaluate
        self.condition = elementwise.condition
        self.attention = Attention(
            tensors, tell, self.evaluate, lambda s, env: self.inside(s.indices, s.condition, env)
        )

    def inside(
        self,
        indices: Sequence[ir.Index],
        condition: ir.Expression | None,
        env: Environment,
        gone: Collection[ir.Index] = (),
        cut: bool = True,
    ) -> tuple[Environment, Value | None]:
        """The environment below a reduction, and where an element counts.

        What is summed is `gone` beyond the ranges of some indices anyway. A range is `cut` to what
        the condition leaves of it, if that may be nothing.
        """
        if cut:
            indices, condition = narrowed(indices, condition, env, self.elementwise.ragged)
        inner = env.bind(indices)
        own = [
            self.elementwise.ragged.within(inner.own[i.name], inner)
            for i in indices
            if i.name not in {g.name for g in gone}
        ]
        masks = [mask for mask in own if mask is not None]
        if condition is not None:
            mask = self.condition(condition, inner)
            if mask.node.kind == NUMBER:
                masks += (
                    [] if mask.node.value else [Value(self.torch.scalar(mask.node, BOOL, "mask"))]
                )
            else:
                masks.append(mask)
        if not masks:
            return inner, None
        every = self.elementwise.all(masks, inner)
        both = [m for m in (inner.mask, every) if m is not None]
        return inner.where(self.elementwise.all(both, inner)), every

    def reduce(self, node: ir.Reduce, env: Environment) -> Value:
        if node.operator in ("sum", "mean") and _apart(node):
            assert isinstance(node.body, ir.Apply)
            terms = tuple(_over(node, term) for term in node.body.arguments)
            return self.evaluate(ir.Apply("+", terms, span=node.span), env)
        gone = [
            i
            for i in node.indices
            if node.operator == "sum" and self.tensors.vanishes(node.body, i)
        ]
        cut = not node.operator.startswith("arg")  # nothing has no place
        if node.operator == "sum":
            value = self.rank(node, env) or self.convolution(node, env, gone)
            if value is not None:
                return value
        growing = self.growing(node, env)
        if growing is not None:
            return growing
        inner, mask = self.inside(node.indices, node.condition, env, gone, cut)
        names = [i.name for i in node.indices]
        if node.operator in ("sum", "mean"):
            return self.sum(node, names, mask, inner, env)
        extreme = self.extreme(node, names, mask, inner)
        if node.operator == "lse":
            return extreme  # which has no slope where it is infinite
        # Of nothing it is infinite, which times a slope of 0 is nan.
        return self.elementwise.harmless(extreme, node, env, 0)

    # ---- sums and means ----

    def growing(self, node: ir.Reduce, env: Environment) -> Value | None:
        """The sum or extreme of what stands before a place, or behind it, for all places in one pass."""
        grows = _grows(node, env)
        if grows is None:
            return None
        index, place, upwards, rest = grows
        own = [i for i in node.indices if i.name != index.name]
        inner, mask = self.inside([index], rest, env, cut=False)
        (lower, extent), ends = inner.own[index.name].range, place.ends(env.own)
        whole = [
            ends[0] - lower,
            lower + extent - 1 - ends[1],
        ]  # how far off the ends all places are
        if node.operator == "sum":
            del whole[0 if upwards else 1]
        if not all(map(self.torch.sizes.certain, whole)) or size_indices(extent):
            return None
        body = replace(node, indices=tuple(own), condition=None) if own else node.body
        value = self.evaluate(body, inner)
        if index.name not in value.dims or value.node.kind != FLOAT:
            return None
        if mask is not None:
            neutral = self.torch.graph.literal(_NEUTRAL.get(node.operator, 0.0))
            value = choose(self.torch, mask, value, neutral, inner)
        value = Value(self._passed(node.operator, value, index.name, upwards), value.dims)
        at = {index.name: place}
        places = [at.get(d, ir.Affine.of(d)) for d in value.dims]
        bounds = tuple(inner.ranges[d].range for d in value.dims)
        found = read(self.torch, Array(value.node, bounds), places, env)
        return found if node.operator == "sum" else self.elementwise.harmless(found, node, env, 0)

    def _passed(self, operator: str, value: Value, name: str, upwards: bool) -> Node:
        """Each element with all before it, or all behind it."""
        torch, axis = self.torch, value.dims.index(name)
        x = value.node if upwards else torch.flip(value.node, axis)
        if operator == "sum":
            x = torch.graph.make(".cumsum", x, axis, shape=x.shape, hint="sums")
        else:
            x = torch.graph.prefix("-", x) if operator == "min" else x
            x = torch.helper("running_max", x, axis, shape=x.shape, kind=FLOAT, hint="largest")
            x = torch.graph.prefix("-", x) if operator == "min" else x
        return x if upwards else torch.flip(x, axis)

    def rank(self, node: ir.Reduce, env: Environment) -> Value | None:
        """Of `top_k`: how many are larger than each, without a tensor of all pairs."""
        ranked = ranked_by(node)
        own = env.own.get(ranked[1]) if ranked is not None else None
        if ranked is None or own is None or self.elementwise.ragged.varies(own.extent, env):
            return None
        other = env.bind(node.indices).own[node.indices[0].name]
        if (own.lower, own.extent) != (other.lower, other.extent):
            return None
        value = self.evaluate(ranked[0], env)
        if own.name not in value.dims:
            return None
        axis, shape = value.dims.index(own.name), value.node.shape
        found = self.torch.helper("rank", value.node, axis, shape=shape, kind=FLOAT, hint="rank")
        return Value(found, value.dims)

    def convolution(
        self, node: ir.Reduce, env: Environment, gone: Collection[ir.Index]
    ) -> Value | None:
        """The sum as a convolution, if it is one; a condition must speak of its window or weights."""
        found = convolution.match(node, env.bind(node.indices))
        condition, bounds = node.condition, None
        if isinstance(found, convolution.Convolution) and found.slides:
            axis = found.windows[0].axis
            place = found.data.places[axis]
            assert isinstance(place, ir.Affine)
            bounds, condition = narrowed_places(
                env.affine(place),
                self.tensors.bounds(found.data.tensor)[axis],
                condition,
                self.torch.sizes,
            )
        inner, mask = self.inside(node.indices, condition, env, gone)
        found = convolution.match(node, inner)
        if mask is not None:
            if bounds is None or not isinstance(found, convolution.Convolution):
                return None
            weights = free_indices(found.weights)
            if not set(mask.dims) <= weights | {self.elementwise.ragged.member}:
                return None
        if isinstance(found, Missed):
            self.tell(CONVOLUTION, "", found.reason)
        if not isinstance(found, convolution.Convolution):
            return None
        call = "fft" if found.slides else f"conv{len(found.windows)}d"
        if not self.tell(CONVOLUTION, call):
            return None
        return convolved(found, bounds, mask, inner, self.elementwise, self.evaluate)

    def sum(
        self,
        node: ir.Reduce,
        names: Sequence[str],
        mask: Value | None,
        env: Environment,
        outer: Environment,
    ) -> Value:
        found = self.elementwise.product(node.body, env)
        if node.operator == "mean" and mask is None:
            plain = self._plain_mean(found.factors, names)
            if plain is not None:
                return self.elementwise.times(plain, found, env)
        factors = list(found.factors)
        if mask is not None:
            factors.append(Factor(mask, mask=True))
        met = {d for f in factors for d in f.value.dims}
        count = [self.torch.sizes.node(env.ranges[n].extent) for n in names if n not in met]
        called = self.attention.product
        total = self.elementwise.contract(factors, names, env, called) if factors else None
        if node.operator == "sum":
            found.over += count
        elif mask is None:
            sizes = [env.ranges[n].extent for n in names if n in met]
            found.under += map(self.torch.sizes.node, sizes)
        else:
            ones = self.elementwise.contract([Factor(mask, mask=True)], names, env)
            ones = self.elementwise.harmless(ones, node, outer, 1)
            assert total is not None
            total = self.elementwise.binary("/", total, ones, env)
        if total is None and node.operator == "mean" and not factors:
            return self.elementwise.times(None, found, env)
        return self.elementwise.times(total, found, env, node)

    def _plain_mean(self, factors: Sequence[Factor], names: Sequence[str]) -> Value | None:
        """The mean of one value that has all the indices."""
        if len(factors) != 1 or factors[0].divides:
            return None
        value = factors[0].value
        if not set(names) <= set(value.dims):
            return None
        axes = sorted(value.dims.index(n) for n in names)
        kept = tuple(d for d in value.dims if d not in names)
        return Value(self.torch.reduce("mean", value.node, axes), kept)

    # ---- products and extremes ----

    def extreme(
        self, node: ir.Reduce, names: Sequence[str], mask: Value | None, env: Environment
    ) -> Value:
        torch = self.torch
        value = self.evaluate(node.body, env)
        others = [d for d in env.ranges if d in value.dims and d not in names]
        if mask is not None:
            others = [d for d in env.ranges if d in (*value.dims, *mask.dims) and d not in names]
        dims = (*others, *names)
        full = Value(
            torch.expand(torch.scalar(aligned(torch, value, dims)), env.extents(dims)), dims
        )
        if value.dims and set(value.dims) == set(dims):
            full = Value(value.node, value.dims)
        if node.operator in ("argmax", "argmin"):
            return self._place(node, full, mask, env)
        if mask is not None:
            neutral = torch.graph.literal(_NEUTRAL[node.operator])
            full = choose(torch, mask, full, neutral, env)
        axes = sorted(full.dims.index(n) for n in names)
        kept = tuple(d for d in full.dims if d not in names)
        if node.operator == "prod":
            return Value(self._product(full.node, axes), kept)
        lse = node.operator == "lse"
        certain = all(torch.sizes.certain(env.ranges[n].extent - 1) for n in names)
        if certain and not lse:
            return Value(torch.reduce(f"a{node.operator}", full.node, axes), kept)
        name, hint = ("log_sum_exp", "logarithm") if lse else ("largest", "largest")
        x = torch.graph.prefix("-", full.node) if node.operator == "min" else full.node
        shape = [s for n, s in enumerate(x.shape) if n not in axes]
        found = torch.helper(name, x, Listed(axes), shape=shape, kind=FLOAT, hint=hint)
        return Value(torch.graph.prefix("-", found) if node.operator == "min" else found, kept)

    def _product(self, x: Node, axes: Sequence[int]) -> Node:
        for axis in reversed(axes):
            x = self.torch.reduce("prod", x, [axis])
        return x

    def _place(self, node: ir.Reduce, full: Value, mask: Value | None, env: Environment) -> Value:
        """The first place of the largest, or smallest, that counts."""
        torch = self.torch
        index = node.indices[0].name
        axis = full.dims.index(index)
        if mask is None:
            found = torch.reduce(node.operator, full.node, [axis], INT)
        else:
            # With the others at -∞, one of them could be found where all that count are at -∞.
            x = torch.graph.prefix("-", full.node) if node.operator == "argmin" else full.node
            shape = [s for n, s in enumerate(x.shape) if n != axis]
            where = aligned(torch, mask, full.dims)
            found = torch.helper(
                "largest_place", x, where, axis, shape=shape, kind=INT, hint="place"
            )
        place = Value(found, tuple(d for d in full.dims if d != index))
        lower = env.ranges[index].lower
        if lower.number == 0:
            return place
        return self.elementwise.binary("+", place, Value(torch.sizes.node(lower)), env)

    # ---- softmax ----

    def softmax(
        self, node: ir.Softmax, env: Environment, function: str = "softmax"
    ) -> tuple[Value, Environment]:
        """The distribution, over its own indices, and their ranges; or its logarithm."""
        torch = self.torch
        inner, mask = self.inside(node.indices, node.condition, env)
        names = [i.name for i in node.indices]
        value = self.evaluate(node.body, inner)
        wanted = [*value.dims, *(mask.dims if mask is not None else ()), *names]
        dims = tuple(d for d in inner.ranges if d in wanted)
        if set(value.dims) == set(dims) and len(names) == 1:
            dims = value.dims
        if len(names) > 1:
            dims = (*(d for d in dims if d not in names), *names)
        full = torch.scalar(aligned(torch, value, dims))
        if full.rank < len(dims) or any(d not in value.dims for d in dims):
            full = torch.expand(full, inner.extents(dims))
        first = dims.index(names[0])
        last = dims.index(names[-1])
        where = expanded(torch, mask, dims, inner) if mask is not None and len(names) > 1 else None
        if mask is not None and where is None:
            where = aligned(torch, mask, dims)
        x = torch.flatten(full, first, last)
        if where is not None:
            where = torch.flatten(where, first, last) if len(names) > 1 else where
        axis = -1 if first == x.rank - 1 else first
        result = self._normalised(x, where, axis, function, node, inner)
        return Value(torch.unflatten(result, first, inner.extents(names)), dims), inner

    def _normalised(
        self,
        x: Node,
        mask: Node | None,
        axis: int,
        function: str,
        node: ir.Softmax,
        env: Environment,
    ) -> Node:
        make = self.torch.graph.make
        if mask is None:
            return make(f"F.{function}", x, axis, shape=x.shape, hint="weights")
        if self._somewhere(node, env):
            low, no = self.torch.graph.literal(-math.inf), self.elementwise.no(Value(mask)).node
            hidden = make(".masked_fill", x, no, low, shape=x.shape, hint="scores")
            return make(f"F.{function}", hidden, axis, shape=x.shape, hint="weights")
        return self.torch.helper(
            f"masked_{function}", x, mask, axis, shape=x.shape, kind=FLOAT, hint="weights"
        )

    def _somewhere(self, node: ir.Softmax, env: Environment) -> bool:
        """Whether the condition certainly holds for some element: `t' ≤ t` does at `t' = t`."""
        if any(self.elementwise.ragged.varies(env.own[i.name].extent, env) for i in node.indices):
            return False
        form = inequality(node.condition)  # at most 0, which it is where two indices are equal
        if form is None or form.offset.terms or len(form.terms) != 2 or len(node.indices) != 1:
            return False
        (one, factor), (two, other) = form.terms
        there = node.indices[0].name in (one, two) and {one, two} <= env.ranges.keys()
        return there and factor + other == 0 and env.ranges[one].range == env.ranges[two].range


def _grows(
    node: ir.Reduce, env: Environment
) -> tuple[ir.Index, ir.Affine, bool, ir.Expression | None] | None:
    """Of `Σ_{s ≤ t+1} x[s]` the index s, the place t+1, that it is the last one, and other conditions."""
    if node.operator not in ("sum", "max", "min"):
        return None
    parts = conjuncts(node.condition)
    for part in parts:
        if (form := inequality(part)) is None:  # at most 0
            continue
        for index in node.indices:
            factors = dict(form.terms)
            sign = factors.pop(index.name, 0)
            rest = joined(p for p in parts if p is not part)
            if abs(sign) != 1 or [*factors.values()] != [-sign]:
                continue
            (other,) = factors
            place = ir.Affine(((other, 1),), form.offset * -sign)
            free = free_indices(replace(node, condition=rest))
            met = size_indices(index.extent) | size_indices(index.lower)
            if other in env.ranges and other not in free | met and env.affine(place) == place:
                return index, place, sign > 0, rest
    return None


def _over(node: ir.Reduce, term: ir.Expression) -> ir.Expression:
    """The reduction of one term, its sign in front."""
    if isinstance(term, ir.Apply) and term.function == "neg":
        return ir.Apply("neg", (_over(node, term.arguments[0]),))
    return replace(node, body=term)


def _apart(node: ir.Reduce) -> bool:
    """Whether a sum of terms is better summed term by term: one of them is a matrix product."""
    if not isinstance(node.body, ir.Apply) or node.body.function != "+":
        return False
    summed = {index.name for index in node.indices}
    return any(_is_product(term, summed) for term in node.body.arguments)


def _is_product(term: ir.Expression, summed: set[str]) -> bool:
    """Two factors, each with an index that is summed and one that the other lacks."""
    if not isinstance(term, ir.Apply):
        return False
    if term.function == "neg":
        return _is_product(term.arguments[0], summed)
    if term.function != "*":
        return False
    found = [free for free in map(free_indices, term.arguments) if free & summed]
    return any(not a <= b and not b <= a for a, b in combinations(found, 2))


def narrowed(
    indices: Sequence[ir.Index], condition: ir.Expression | None, env: Environment, ragged: Ragged
) -> tuple[list[ir.Index], ir.Expression | None]:
    """The indices with the ranges that a condition leaves, and what is left of the condition."""
    result = {index.name: index for index in indices}
    left = []
    for part in conjuncts(condition):
        bound = _bound(part, result, env.bind(result.values()), ragged)
        if bound is None:
            left.append(part)
        else:
            result[bound.name] = bound
    return list(result.values()), joined(left)


def narrowed_places(
    place: ir.Affine, bounds: Bounds, condition: ir.Expression | None, sizes: SizeTexts
) -> tuple[Bounds, ir.Expression | None]:
    """What a condition leaves of the places that are read, and what is left of the condition."""
    lower, extent = bounds
    left = []
    for part in conjuncts(condition):
        form, upper = inequality(part), lower + extent - 1
        least = None if form is None else ir.number_at(add(place, form))  # form ≤ 0: place ≥ least
        most = None if form is None else ir.number_at(add(place, form, -1))
        if least is not None and sizes.certain(lower - least):
            continue
        if most is not None and sizes.certain(most - upper):
            continue
        if least is not None and sizes.certain(least - lower) and sizes.certain(upper - least + 1):
            lower, extent = least, upper - least + 1
        elif most is not None and sizes.certain(upper - most) and sizes.certain(most - lower + 1):
            extent = most - lower + 1
        else:
            left.append(part)
    return (lower, extent), joined(left)


def _bound(
    part: ir.Expression, indices: dict[str, ir.Index], env: Environment, ragged: Ragged
) -> ir.Index | None:
    """The index that a comparison bounds, with its new range; None if that is not certain."""
    told = inequality(part)
    if told is None:
        return None
    form = env.affine(told)  # at most 0
    if len(form.terms) != 1 or ragged.varies(form.offset, env):
        return None
    ((name, factor),) = form.terms
    if name not in indices or abs(factor) != 1:
        return None
    index, own, certain = indices[name], env.own[name], ragged.torch.sizes.certain
    if factor > 0:
        extent = 1 - form.offset - own.lower
        fits = certain(extent) and certain(own.extent - extent)
        varies = ragged.varies(own.extent, env)
        return replace(index, extent=extent) if fits and not varies else None
    lower = form.offset
    extent = own.lower + own.extent - lower
    fits = certain(lower - own.lower) and certain(extent)
    return replace(index, lower=lower, extent=extent) if fits else None
