"""The batch, written out: what depends on an input gets one more index, in front.

    input x[t,k]                              x[b,t,k]
    h[t,j] = tanh(W[j,I] x[t,I])      →       h[b,t,j] = tanh(W[j,I] x[b,t,I])

After this a batch is an index like any other. A program that writes its batch index stays as it is.
Statements that nobody needs go on the way.

The logarithm of a softmax is taken at once: it stays finite where the softmax is too small.

    P[t,w] = softmax_w s[t,w]               log.P[t,w] = ln(softmax_w s[t,w])
    loss   = Σ_t -ln P[t,w[t]]       →      loss       = Σ_t -log.P[t,w[t]]

P itself is computed only if somebody else reads it. At no token P is 1, and its logarithm 0.

Sizes that differ from example to example, or from layer to layer.

    lengths={"T": [3, 7]}       T is (2,) where it is a number; t runs to 7, and t < T is where it counts
    ⌈T/2^ℓ⌉ with ℓ an axis      t runs to T, and t < ⌈T/2^ℓ⌉ is where it counts

A tensor has room for the longest. Beyond an example's own length stands something finite, which
sums, softmaxes and extremes leave out, and which a read that may reach it replaces by 0.

Flattened indices whose extents vary: each example counts with its own.

z[(k,t)] = x[t,k]       of a text of three words, x[t,k] is the element 3k + t
y[t] = z[(k,t)]         and is found there again

The first of the indices may have any extent, as no index counts with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from indicial.compile.emit.nodes import INT, Node
from indicial.compile.emit.numbers import NotEmitted, replaced, strided
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.reads import Array, Pick, Where, positions, read
from indicial.compile.emit.values import (
    Environment,
    Value,
    aligned,
    combined,
    expanded,
    merged_axes,
)
from indicial.compile.passes.simplify import simplified
from indicial.compile.schedule.schedule import Call, Loop, Piece, Plan
from indicial.program import ir
from indicial.program.cost.conditions import joined, surely_in
from indicial.program.meaning.arrays import writes_batch
from indicial.program.meaning.differing import dependent
from indicial.program.rewrite import (
    indexed,
    inside,
    is_constant,
    needed_names,
    size_indices,
    tensors_read,
)
from indicial.program.sizes import Atom, Size, Strided
from indicial.program.verify import verified

MEMBER = ir.Index("b·", Size(), Size.of("B·"))
"""The index of the batch where the text leaves it out."""


def lift(
    code: ir.Code,
    plan: Plan,
    want: Sequence[str],
    ragged: Collection[str] = (),
    draws: Collection[str] = (),
    summed: Collection[str] = (),
) -> tuple[ir.Code, Plan]:
    """The program and its plan with the batch, without what the wanted tensors do not need.

    `summed` are wanted as the sum over the batch, as the gradient of a parameter is.
    """
    simple = simplified(code, draws)
    needed = needed_names(simple.statements, want)
    lifted = _differing(simple, ragged, draws) - set(summed)
    moved = [
        [_lifted(s, lifted, ragged, s.target in summed)] if s.target in needed else []
        for s in simple.statements
    ]
    tensors = dict(code.tensors)
    for name in lifted:
        tensor = tensors[name]
        axis = ir.Axis(MEMBER.name, MEMBER.lower, MEMBER.extent)
        tensors[name] = replace(tensor, axes=(axis, *tensor.axes))

    def axes(loop: Loop) -> Loop:
        return replace(
            loop, axes={name: axis + (name in lifted) for name, axis in loop.axes.items()}
        )

    def slices(of: Sequence[Piece]) -> tuple[Piece, ...]:
        return tuple(Piece(s.tensor, (None, *s.places)) if s.tensor in lifted else s for s in of)

    def call(own: Call) -> Call:
        return replace(own, arguments=slices(own.arguments), results=slices(own.results))

    if lifted:
        code = replace(code, sizes={**code.sizes, str(MEMBER.extent): None})
    return _rewritten(code, plan, moved, tensors, axes, call)


def _rewritten(
    code: ir.Code,
    plan: Plan,
    became: Sequence[Sequence[ir.Statement]],
    tensors: dict[str, ir.Tensor],
    *around: Callable[[Any], Any],
) -> tuple[ir.Code, Plan]:
    """A program and its plan with what became of each statement; a tensor that has none left goes.

    `around` says what becomes of loops and calls.
    """
    statements = tuple(chain(*became))
    there = {statement.target for statement in statements}
    known = {n: t for n, t in tensors.items() if t.role != "defined" or n in there}
    told = replace(code, tensors=known, tests=(), loss=None, generated=None)
    made = verified(replace(told, statements=statements))
    return made, plan.rebuild(code.statements, became, *around)


def _differing(code: ir.Code, ragged: Collection[str], draws: Collection[str]) -> set[str]:
    """The tensors that get the batch: what differs, unless the text writes its batch index."""
    if writes_batch(code):
        return set()
    inputs = {name for name, tensor in code.tensors.items() if tensor.role == "input"}
    drawn = set(draws) if inputs else set()
    return dependent(code, frozenset(inputs | drawn), frozenset(ragged))


def _lifted(
    statement: ir.Statement, lifted: set[str], ragged: Collection[str], summed: bool
) -> ir.Statement:
    result = indexed(statement, MEMBER, lifted)
    if summed:
        return replace(result, body=_over_members(result.body, _there(statement, ragged)))
    return result


def _there(statement: ir.Statement, ragged: Collection[str]) -> tuple[ir.Expression, ...]:
    """What holds of an example that has the element: `t < T`, with its own T."""
    return tuple(
        ir.Apply("<", (ir.IndexValue(ir.Affine.of(i)), ir.SizeValue(i.lower + i.extent)))
        for i in statement.indices
        if i.extent.names & set(ragged)
    )


def _over_members(body: ir.Expression, there: tuple[ir.Expression, ...]) -> ir.Expression:
    """The sum over the batch: inside sums, so that a product over all steps is one product."""
    match body:
        case ir.Apply("+", arguments):
            return replace(body, arguments=tuple(_over_members(a, there) for a in arguments))
        case ir.Apply("neg", (inner,)):
            return replace(body, arguments=(_over_members(inner, there),))
        case ir.Reduce("sum", indices, condition, _):
            conditions = (*there, *([condition] if condition is not None else []))
            return replace(body, indices=(MEMBER, *indices), condition=joined(conditions))
        case ir.Apply("*", (*scale, ir.Reduce("sum") as core)) if all(map(is_constant, scale)):
            return replace(body, arguments=(*scale, _over_members(core, there)))
        case _:
            return ir.Reduce("sum", (MEMBER,), joined(there), body)


def with_logs(code: ir.Code, plan: Plan, want: Sequence[str]) -> tuple[ir.Code, Plan]:
    """Logarithms of softmaxes as tensors of their own."""
    called = {name for call in plan.calls() for name in call.loop.axes}
    softmaxes = {
        s.target: s
        for s in code.statements
        if isinstance(s.body, ir.Softmax) and s.guard is None and len(code.of(s.target)) == 1
        if s.target not in called  # a function that knows no logarithms computes it
    }
    met: dict[str, None] = {}
    moved = [_with_logs(code, s, softmaxes, met) for s in code.statements]
    if not met:
        return code, plan
    kept = tensors_read(s for s in moved if s.target not in met).union(want)
    tensors = dict(code.tensors)
    became: list[list[ir.Statement]] = []
    for old, new in zip(code.statements, moved, strict=True):
        if old.target not in met:
            became.append([new])
            continue
        name = log_name(old.target)
        tensors[name] = replace(tensors[old.target], name=name, probability=False)
        log = replace(old, target=name, body=ir.Apply("ln", (old.body,), span=old.body.span))
        again = replace(old, body=ir.Apply("exp", (ir.Read(name, old.left),)))
        became.append([log, again] if old.target in kept else [log])
    return _rewritten(code, plan, became, tensors, partial(_loop, met))


def log_name(name: str) -> str:
    return f"log.{name}"


def _with_logs(
    code: ir.Code, statement: ir.Statement, softmaxes: dict[str, ir.Statement], met: dict[str, None]
) -> ir.Statement:
    def within(node: ir.Expression, ranges: dict[str, ir.Index]) -> ir.Expression:
        """The expression, where these indices are in scope."""
        if (
            isinstance(node, ir.Apply)
            and node.function == "ln"
            and isinstance(node.arguments[0], ir.Read)
            and node.arguments[0].tensor in softmaxes
            and _inside(code, node.arguments[0], ranges)
        ):
            read = node.arguments[0]
            met[read.tensor] = None
            return replace(read, tensor=log_name(read.tensor))
        return inside(node, ranges, within)

    return replace(statement, body=within(statement.body, statement.scope))


def _inside(code: ir.Code, read: ir.Read, ranges: dict[str, ir.Index]) -> bool:
    """Whether a read certainly stays in the ranges of its tensor: outside, the logarithm is -∞."""
    for place, axis in zip(read.places, code.tensors[read.tensor].axes, strict=True):
        if isinstance(place, ir.Flat):
            return False
        if isinstance(place, ir.Gather):
            if code.tensors[place.read.tensor].values != axis.extent or axis.lower.number != 0:
                return False
            continue
        if not surely_in(place, ranges, axis):
            return False
    return True


def _loop(met: Collection[str], loop: Loop) -> Loop:
    """The loop with logarithms where the softmaxes are."""

    def both(of: dict[str, int]) -> dict[str, int]:
        return of | {log_name(name): of[name] for name in met if name in of}

    return replace(loop, axes=both(loop.axes), offsets=both(loop.offsets))


StartsBeyond = dict[tuple[str, int], list[Size]]
"""Of a tensor and an axis: places beyond its range that a statement defines."""


class Ragged:
    """What is known of sizes that vary. `lengths` are the nodes of those that examples tell."""

    def __init__(self, torch: Torch, member: str, lengths: Mapping[str, Node]) -> None:
        self.torch = torch
        self.member = member
        self.lengths = dict(lengths)

    def varies(self, size: Size, env: Environment) -> bool:
        """Whether a size is not the same for all elements."""
        told = self.member in env.ranges and bool(size.names & self.lengths.keys())
        return told or any(name in env.ranges for name in size_indices(size))

    def value(self, size: Size, env: Environment) -> Value:
        """The size as a tensor of whole numbers, over what it varies with."""
        size = env.size(size)
        zero = Value(self.torch.graph.literal(0))
        total: Value | None = None
        for monomial, coefficient in sorted(size.terms, key=lambda term: term[1] < 0):
            product: Value | None = None
            for atom, power in monomial:
                for _ in range(power):
                    piece = self._atom(atom, env)
                    product = piece if product is None else self.binary("*", product, piece, env)
            factor = abs(int(coefficient))
            number = Value(self.torch.graph.literal(factor))
            if product is None:
                product = number
            elif factor != 1:
                product = self.binary("*", number, product, env)
            if total is None:
                total = product if coefficient > 0 else self.binary("-", zero, product, env)
            else:
                total = self.binary("-" if coefficient < 0 else "+", total, product, env)
        return total if total is not None else zero

    def _atom(self, atom: Atom, env: Environment) -> Value:
        base = atom if isinstance(atom, str) else atom.base
        if base in self.lengths and self.member in env.ranges:
            whole = Value(self.lengths[base], (self.member,))
        else:
            whole = Value(self.torch.sizes.node(Size.of(base)))
        if not isinstance(atom, Strided):
            return whole
        return self._strided(atom, whole, env)

    def _strided(self, atom: Strided, whole: Value, env: Environment) -> Value:
        torch = self.torch
        if atom.index in env.ranges:
            index = env.ranges[atom.index]
            node = torch.arange(index.lower + atom.offset, index.extent, INT, "depth")
            if not torch.sizes.certain(index.lower + atom.offset):
                node = torch.at_least_0(node)
            depth = Value(node, (atom.index,))
        else:
            size = (Size.of(atom.index) if atom.index else Size()) + atom.offset
            depth = Value(torch.sizes.node(size))
        dims = merged_axes([whole, depth], env)
        nodes = aligned(torch, whole, dims), aligned(torch, depth, dims)
        node = strided(torch.graph, nodes[0], atom.stride, nodes[1], env.extents(dims))
        return Value(node, dims)

    def binary(self, sign: str, a: Value, b: Value, env: Environment) -> Value:
        """Arithmetic of whole numbers."""
        return combined(self.torch, sign, a, b, env, "length")

    def place(self, place: ir.Affine, env: Environment) -> Value:
        """Index arithmetic with such a size in it, in whole numbers."""
        if not place.terms:
            return self.value(place.offset, env)
        moving = positions(self.torch, ir.Affine(place.terms), env)
        if not place.offset.terms:
            return moving
        return self.binary("+", moving, self.value(place.offset, env), env)

    # ---- masks ----

    def within(self, index: ir.Index, env: Environment) -> Value | None:
        """Where an index is in its own range; None if that is everywhere."""
        if self.varies(index.lower, env):
            raise NotEmitted(f"{index.name} begins at {index.lower}, which varies")
        upper = index.lower + index.extent
        if not self.varies(upper, env):
            return None
        place = Value(
            self.torch.arange(env.ranges[index.name].lower, env.ranges[index.name].extent, INT),
            (index.name,),
        )
        return self.below(place, upper, env)

    def below(self, place: Value, upper: Size, env: Environment) -> Value:
        """Where a place is below a size that varies."""
        return combined(self.torch, "<", place, self.value(upper, env), env, "inside")

    def before_end(self, index: ir.Index, env: Environment) -> Value:
        """Where an index, be it fixed, is in its own range, which varies."""
        at = self.place(env.affine(ir.Affine.of(index)), env)
        return self.below(at, index.lower + index.extent, env)

    def inside(
        self, position: Value, axis: ir.Axis, starts: Sequence[Size], env: Environment
    ) -> Value | None:
        """Where a place lies in the range of an axis, or at the start of a recurrence."""
        upper = axis.lower + axis.extent
        if not self.varies(upper, env):
            return None
        mask = self.below(position, upper, env)
        for start in starts:
            at = combined(self.torch, "==", position, self.value(start, env), env, "inside")
            mask = combined(self.torch, "|", mask, at, env, "inside")
        return mask


def at_letters(size: Size, axes: Collection[ir.Axis], places: Sequence[object]) -> Size:
    """A size of an axis, with the letters of the axes replaced by where they are read."""
    for axis, place in zip(axes, places, strict=True):
        if axis.letter in size_indices(size) and isinstance(place, ir.Affine):
            by = place.offset
            if len(place.terms) == 1 and place.terms[0][1] == 1:
                by = by + Size.of(place.terms[0][0])
            elif place.terms:
                raise NotEmitted(f"{size} at {place}")
            size = replaced(size, axis.letter, by)
    return size


def with_guarded_starts(
    code: ir.Code, plan: Plan, ragged: Collection[str]
) -> tuple[ir.Code, Plan, StartsBeyond]:
    """`h[T,j] = a[j]` → `h[t,j] = a[j] for t = T`: a place that varies is no place on a left side."""
    starts: StartsBeyond = {}
    moved: list[ir.Statement] = []
    for statement in code.statements:
        axes = code.tensors[statement.target].axes
        for number, (place, axis) in enumerate(zip(statement.left, axes, strict=True)):
            at = ir.number_at(place)
            if at is not None and at.names & set(ragged):
                starts.setdefault((statement.target, number), []).append(at)
                statement = _guarded(statement, number, axis)
        moved.append(statement)
    return *_rewritten(code, plan, [[s] for s in moved], code.tensors), starts


def _guarded(statement: ir.Statement, number: int, axis: ir.Axis) -> ir.Statement:
    place = statement.left[number]
    assert isinstance(place, ir.Affine)
    index = ir.Index(f"{axis.letter}·start", axis.lower, place.offset - axis.lower + 1)
    test = ir.Apply("=", (ir.IndexValue(ir.Affine.of(index)), ir.IndexValue(place)))
    guard = test if statement.guard is None else ir.Apply("and", (test, statement.guard))
    left = list(statement.left)
    left[number] = ir.Affine.of(index)
    return replace(statement, left=tuple(left), indices=(*statement.indices, index), guard=guard)


def varies(ragged: Ragged, place: ir.Flat, env: Environment) -> bool:
    """Whether an index of the place counts with an extent that is not the same for all."""
    return any(ragged.varies(index.extent, env) for index in place.indices[1:])


def position(ragged: Ragged, place: ir.Flat, env: Environment) -> Value:
    """`k T + t`, with each example's own T."""
    total: Value | None = None
    for index in place.indices:
        at = env.affine(ir.Affine.of(index))
        digit = ragged.place(ir.Affine(at.terms, at.offset - index.lower), env)
        if total is not None:
            above = ragged.binary("*", total, ragged.value(index.extent, env), env)
            digit = ragged.binary("+", above, digit, env)
        total = digit
    assert total is not None
    return total


def moved_together(
    torch: Torch, ragged: Ragged, value: Value, place: ir.Flat, env: Environment, flat: str
) -> tuple[Value, Environment]:
    """A value over several indices as one over `flat`: the elements of each example, then zeros."""
    names = [index.name for index in place.indices]
    others = [d for d in value.dims if d not in names]
    dims = [*others, *names]
    node = torch.flatten(expanded(torch, value, dims, env), len(others), len(dims) - 1)
    total = math.prod(env.extents(names), start=Size.of(1))
    env = env.bind([ir.Index(flat, Size(), total)])
    rest = Value(torch.arange(Size(), total, INT), (flat,))
    at: Value | None = None
    stride = Size.of(1)
    for name in reversed(names):
        digit = rest
        if name != names[0]:
            own = ragged.value(env.own[name].extent, env)
            digit, rest = ragged.binary("%", rest, own, env), ragged.binary("//", rest, own, env)
        if stride.number != 1:
            digit = ragged.binary("*", digit, Value(torch.sizes.node(stride)), env)
        at = digit if at is None else ragged.binary("+", digit, at, env)
        stride = stride * env.ranges[name].extent
    assert at is not None
    places: list[Where] = [*map(ir.Affine.of, others), Pick(at)]
    bounds = [(env.ranges[d].lower, env.ranges[d].extent) for d in others]
    return read(torch, Array(node, (*bounds, (Size(), total))), places, env), env
