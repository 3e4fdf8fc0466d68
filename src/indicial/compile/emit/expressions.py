"""An expression of the program → a value: the rule of each node.

    G[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]   →   G * h[t - 1] + (1 - G) * R

Sums, products and softmaxes are in `reductions`; functions of numbers in `elementwise`.

A statement → its definition: the right side, with the axes of the left side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from indicial.compile.emit.calls import CROSS_ENTROPY, EMBEDDING, Tell, WrittenOut
from indicial.compile.emit.elementwise import Elementwise, singular
from indicial.compile.emit.nodes import BOOL, FLOAT, INT, NUMBER
from indicial.compile.emit.ragged import at_letters, moved_together, varies
from indicial.compile.emit.reads import Array, Pick, Where, choose, read, shaped
from indicial.compile.emit.reductions import Reductions
from indicial.compile.emit.storage import Definition, Store
from indicial.compile.emit.tensors import Tensors
from indicial.compile.emit.values import Environment, Value, aligned, expanded, merged_axes
from indicial.compile.passes.algebra import ZERO
from indicial.compile.passes.batch import log_name
from indicial.compile.passes.elements import overlap
from indicial.program import ir
from indicial.program.cost.conditions import linear
from indicial.program.moving import Unmovable, indices_at, moved
from indicial.program.sizes import Size

PART = "part·"
"""The axis along which the parts of a join stand."""


def at_token(code: ir.Code, read: ir.Read) -> tuple[ir.Expression, ir.Index, ir.Gather] | None:
    """Of `ln softmax_v s[t,v]` at v = w[t]: s[t,v], v and w[t]."""
    (statement,) = code.of(read.tensor)
    tokens = {n: p for n, p in enumerate(read.places) if isinstance(p, ir.Gather)}
    match statement.body, [*tokens.items()]:
        case ir.Apply("ln", (ir.Softmax((index,), None, body),)), [(at, token)]:
            own = replace(index, name=f"{index.name}·token")
            places = [ir.Affine.of(own) if n == at else p for n, p in enumerate(read.places)]
            moves = indices_at(statement, places)
            if moves is not None and ir.index_at(statement.left[at]) == index.name:
                with suppress(Unmovable):
                    return moved(body, moves), own, token
    return None


class Evaluator:
    """Expressions → values. `usual` says how large sizes are; `tell` hears of library calls."""

    def __init__(self, tensors: Tensors, usual: dict[str, int], tell: Tell) -> None:
        self.code = tensors.code
        self.tensors = tensors
        self.tell = tell
        self.torch = tensors.torch
        self.ragged = tensors.ragged
        self.reader = tensors.read
        self.elementwise = Elementwise(tensors, usual, self.evaluate, self.condition, tell)
        self.reductions = Reductions(self.elementwise, tensors, tell)
        self.written_out = WrittenOut(tensors, tell, self.evaluate)
        self.rules: dict[type[ir.Expression], Callable[[Any, Environment], Value]] = {
            ir.Constant: lambda e, env: Value(self.torch.graph.literal(e.value)),
            ir.SizeValue: self.size,
            ir.IndexValue: self.index,
            ir.Read: self.read,
            ir.Apply: self.apply,
            ir.Reduce: self.reductions.reduce,
            ir.Softmax: self.softmax,
            ir.Select: self.select,
            ir.Join: self.join,
        }

    def evaluate(self, expression: ir.Expression, env: Environment) -> Value:
        """The value, a tensor of numbers or a number."""
        value = self.rules[type(expression)](expression, env)
        return Value(self.torch.floating(value.node), value.dims)

    def token(self, expression: ir.Expression, env: Environment) -> Value:
        """The value of a token tensor, in whole numbers."""
        value = self.rules[type(expression)](expression, env)
        if value.node.kind in (INT, NUMBER):
            return value
        return Value(self.torch.whole(value.node, "token"), value.dims)

    def condition(self, expression: ir.Expression, env: Environment) -> Value:
        """The truth of a condition: a tensor of truths, or something that Python can decide."""
        match expression:
            case ir.Apply("and", arguments):
                return self.elementwise.all([self.condition(a, env) for a in arguments], env)
            case ir.Apply(function, (a, b)) if function in self.elementwise.comparisons:
                sides = [self.whole(side, env) or self.evaluate(side, env) for side in (a, b)]
                return self.elementwise.compare(function, sides, env)
            case _:
                value = self.evaluate(expression, env)
                zero = Value(self.torch.graph.literal(0))
                return self.elementwise.compare("≠", [value, zero], env)

    def whole(self, expression: ir.Expression, env: Environment) -> Value | None:
        """An expression of indices and tokens in whole numbers, or None."""
        match expression:
            case ir.IndexValue(place):
                return self.index_value(place, env, INT)
            case ir.SizeValue():
                return self.size(expression, env)
            case ir.Constant():
                return self.evaluate(expression, env)
            case ir.Read():
                value = self.reader(expression, env)
                return value if value.node.kind == INT else None
            case _:
                # `t_1 - 3` too: in bfloat16 256 and 257 are the same step.
                form = linear(expression)
                return None if form is None else self.index_value(form, env, INT)

    def read(self, node: ir.Read, env: Environment) -> Value:
        if not node.tensor.startswith(log_name("")):
            value = self.reader(node, env)
            if value.node.operation == EMBEDDING:
                self.tell(EMBEDDING, EMBEDDING)
            return value
        value = self.likelihood(node, env) or self.reader(node, env)
        # Where nothing counts it may be -∞, whose gradient would be nan however it is left out.
        return self.elementwise.harmless(value, node, env, 0.0)

    def likelihood(self, node: ir.Read, env: Environment) -> Value | None:
        """The logarithm of a softmax at a token, from the scores, if nothing else of it is needed."""
        found = at_token(self.code, node)
        if found is None or not self.tensors.is_current(node, env):
            return None
        body, index, gather = found
        token, inner = self.tensors.place(gather, env), env.bind([index])
        assert isinstance(token, Pick)
        dims, scores = token.position.dims, self.evaluate(body, inner)
        varies = self.ragged.varies(inner.own[index.name].extent, inner)
        if varies or token.present is None or set(scores.dims) != {*dims, index.name}:
            return None
        reads = {r for s in self.code.statements for r in s.reads() if r.tensor == node.tensor}
        more = (
            "" if reads == {node} else "the other logarithms of the distribution are needed as well"
        )
        if not self.tell(CROSS_ENTROPY, "cross_entropy", more):
            return None
        x, w = aligned(self.torch, scores, (*dims, index.name)), token.position.node
        made = self.torch.helper(
            "log_likelihood", x, w, shape=w.shape, kind=FLOAT, hint="likelihood"
        )
        return Value(made, dims)

    def size(self, node: ir.SizeValue, env: Environment) -> Value:
        if self.ragged.varies(node.size, env):
            return self.ragged.value(node.size, env)
        return Value(self.torch.sizes.node(env.size(node.size)))

    def index(self, node: ir.IndexValue, env: Environment) -> Value:
        return self.index_value(node.place, env, FLOAT)

    def index_value(self, place: ir.Affine, env: Environment, kind: str) -> Value:
        return self.elementwise.affine(env.affine(place), env, kind)

    def apply(self, node: ir.Apply, env: Environment) -> Value:
        match node:
            case ir.Apply("ln", (ir.Softmax() as softmax,)):
                value, inner = self.reductions.softmax(softmax, env, "log_softmax")
                return self.here(value, softmax.indices, inner, env)
            case ir.Apply("+" | "*" | "/"):
                return self.written_out.called(node, env) or self.elementwise.apply(node, env)
            case _:
                return self.elementwise.apply(node, env)

    # ---- what stands along an axis of its own, read at the current place ----

    def softmax(self, node: ir.Softmax, env: Environment) -> Value:
        value, inner = self.reductions.softmax(node, env)
        return self.here(value, node.indices, inner, env)

    def here(
        self, value: Value, indices: Sequence[ir.Index], inner: Environment, env: Environment
    ) -> Value:
        """A value over its own indices, at the places where these stand outside."""
        names = [i.name for i in indices]
        if all(n in env.ranges and env.ranges[n] == inner.ranges[n] for n in names):
            return value
        bounds = [(inner.ranges[d].lower, inner.ranges[d].extent) for d in value.dims]
        places: list[Where] = [
            env.fixed[d] if d in env.fixed and d in names else ir.Affine.of(d) for d in value.dims
        ]
        return read(self.torch, Array(value.node, tuple(bounds)), places, env)

    def join(self, node: ir.Join, env: Environment) -> Value:
        values = []
        for part in node.parts:
            inner = env.bind([part.index])
            value = self.evaluate(part.body, inner)
            dims = tuple(PART if d == part.index.name else d for d in value.dims)
            values.append((Value(value.node, dims), inner.ranges[part.index.name]))
        if any(self.ragged.varies(env.size(p.index.extent), env) for p in node.parts[:-1]):
            return self.apart(node, values, env)
        others = {d for value, _ in values for d in value.dims if d != PART}
        dims = (*(d for d in env.ranges if d in others), PART)
        nodes = []
        for value, index in values:
            inner = env.bind([ir.Index(PART, index.lower, index.extent)])
            nodes.append(expanded(self.torch, value, dims, inner))
        joined = self.torch.cat(nodes, len(dims) - 1) if len(nodes) > 1 else nodes[0]
        bounds = [(env.ranges[d].lower, env.ranges[d].extent) for d in dims[:-1]]
        place = env.affine(node.place)
        array = Array(joined, (*bounds, (Size(), joined.shape[-1])))
        return read(self.torch, array, [*map(ir.Affine.of, dims[:-1]), place], env)

    def apart(
        self, node: ir.Join, values: Sequence[tuple[Value, ir.Index]], env: Environment
    ) -> Value:
        """A join whose parts begin at places that vary: each is read where it begins."""
        place = self.index_value(node.place, env, INT)
        result: Value | None = None
        ends = [Size()]
        for part in node.parts:
            ends.append(ends[-1] + env.size(part.index.extent))
        for number, (value, index) in reversed(list(enumerate(values))):
            start = self.ragged.value(ends[number], env)
            at = self.elementwise.binary("-", place, start, env) if number else place
            dims = value.dims
            bounds = [
                (Size(), index.extent) if d == PART else (env.ranges[d].lower, env.ranges[d].extent)
                for d in dims
            ]
            places: list[Where] = [Pick(at) if d == PART else ir.Affine.of(d) for d in dims]
            found = read(self.torch, Array(value.node, tuple(bounds)), places, env)
            if result is None:
                result = found
                continue
            end = self.ragged.value(ends[number + 1], env)
            test = self.elementwise.compare("<", [place, end], env)
            result = self.choose(test, found, result, env)
        assert result is not None
        return result

    def select(self, node: ir.Select, env: Environment) -> Value:
        tests: list[Value] = []
        chosen: list[tuple[Value, Value]] = []
        for condition, body in node.branches:
            test = self.condition(condition, env)
            here = self.elementwise.all([*map(self.elementwise.no, tests), test], env)
            chosen.append((test, self.evaluate(body, self.within(env, here))))
            tests.append(test)
        last = self.within(env, self.elementwise.all([*map(self.elementwise.no, tests)], env))
        result = self.evaluate(node.otherwise, last)
        for test, value in reversed(chosen):
            result = self.choose(test, value, result, env)
        return result

    def within(self, env: Environment, test: Value) -> Environment:
        """The environment where a condition holds as well."""
        if test.node.kind != BOOL:
            return env
        masks = [m for m in (env.mask, test) if m is not None]
        return env.where(self.elementwise.all(masks, env))

    def choose(self, test: Value, value: Value, other: Value, env: Environment) -> Value:
        torch = self.torch
        if test.node.kind == NUMBER:
            dims = merged_axes([value, other], env)
            nodes = [expanded(torch, v, dims, env) if dims else v.node for v in (value, other)]
            if any(n.kind != NUMBER for n in nodes):
                nodes = [torch.scalar(n) for n in nodes]
            return Value(torch.choose(test.node, *nodes), dims)
        dims = merged_axes([test, value, other], env)
        nodes = [aligned(torch, v, dims) for v in (test, value, other)]
        return Value(torch.where(nodes[0], nodes[1], nodes[2], env.extents(dims)), dims)

    # ---- statements ----

    def define(
        self, statement: ir.Statement, order: int, store: Store, env: Environment
    ) -> Definition:
        """The right side, with its axes as the left side has them."""
        mask: Value | None = None
        inner = env
        if statement.guard is not None:
            mask = self.condition(statement.guard, env)
            inner = self.within(env, mask)
        if singular(statement.body):
            inner = self.counting(statement, order, inner)
        if self.code.tensors[statement.target].values is not None:
            value = self.token(statement.body, inner)
        else:
            value = self.evaluate(statement.body, inner)
        value = self.owned(statement, value, env)
        places: list[ir.Affine | ir.Flat] = []
        for axis in store.axes:
            place = env.place(statement.left[axis])
            assert isinstance(place, ir.Affine | ir.Flat)
            if isinstance(place, ir.Flat) and varies(self.ragged, place, env):
                flat, before = f"flat·{axis}", env
                value, env = moved_together(self.torch, self.ragged, value, place, before, flat)
                if mask is not None and mask.node.kind != NUMBER:
                    holds = Value(self.torch.floating(mask.node), mask.dims)
                    holds, _ = moved_together(self.torch, self.ragged, holds, place, before, flat)
                    nothing = Value(self.torch.graph.literal(0))
                    mask = self.elementwise.compare("≠", [holds, nothing], env)
                place = ir.Affine.of(flat)
            places.append(place)
        array = shaped(self.torch, value, places, env)
        if mask is None:
            return Definition(order, array)
        if mask.node.kind == NUMBER:
            return Definition(order, array, None, mask.node)
        return Definition(order, array, shaped(self.torch, mask, places, env).node)

    def counting(self, statement: ir.Statement, order: int, env: Environment) -> Environment:
        """The environment where the statement says what an element is, and the element is there."""
        for earlier in self.code.of(statement.target)[:order]:
            test = overlap(earlier, statement)
            if test is not None and test != ZERO:
                elsewhere = self.elementwise.no(self.condition(test, env))
                env = self.within(env, elsewhere)
        for index in statement.indices:
            own = env.own[index.name]
            if self.ragged.varies(own.lower + own.extent, env):
                env = self.within(env, self.ragged.before_end(own, env))
        return env

    def owned(self, statement: ir.Statement, value: Value, env: Environment) -> Value:
        """The value, with zeros where an example's own range ends before that of the axis."""
        axes = self.code.tensors[statement.target].axes
        zero = self.torch.graph.literal(-1 if value.node.kind == INT else 0)
        for place, axis in zip(statement.left, axes, strict=True):
            if isinstance(place, ir.Flat) or not place.terms:
                continue
            index = env.own[place.terms[0][0]]
            upper = index.lower + index.extent
            end = at_letters(axis.lower + axis.extent, axes, statement.left)
            if upper + place.offset != env.size(end) and self.ragged.varies(upper, env):
                mask = self.ragged.before_end(index, env)
                value = choose(self.torch, mask, value, zero, env)
        return value
