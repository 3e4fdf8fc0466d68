"""The products that a head computes with: what two designs can be compared by.

>>> found = circuits(hand("content"))
>>> found.scores.shape, found.values.shape, found.labels      # tokens A B C, six positions
((1, 9, 9), (1, 3, 9), ('A', 'B', 'C', '0', '1', …))

The factors W^Q and W^K are free up to an invertible change, M W^Q and M^{-⊤} W^K; so are W^O and W^V,
and the vectors of positions with all that reads them. The products are not:

    scores[k,a,b]    how much head k adds for a query with feature a and a key with feature b
    values[k,o,b]    what head k adds to output o for a key with feature b

A feature is a token, a position, or an element of an input that is given as numbers. Every place has
one token and one position. So a number that is added to all tokens of the key is added to every
score of a query, where the softmax does not see it: scores are centred over the key's tokens, and
over its positions. And what all positions share is counted with the tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from indicial.designs.arrays import Array
from indicial.inspect.attention import attentions
from indicial.program import ir
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.designs.design import Design


@dataclass(frozen=True)
class Block:
    """Features of one kind, of which every place has one; or all elements of an input."""

    kind: str
    """`tokens`, `positions` or `inputs`."""
    labels: tuple[str, ...]
    vectors: Array
    """What each of them is in the input of the head: (features, width)."""


@dataclass(frozen=True)
class Circuits:
    scores: Array
    values: Array
    blocks: tuple[tuple[str, slice], ...]
    labels: tuple[str, ...]
    factors: Mapping[str, str]
    """The names of the parameters: `{"query": "W^Q", …}`."""
    weights: str
    """The name of the attention weights."""


@dataclass(frozen=True)
class _Map:
    """`Query[k,t,i] = W^Q[k,i,J] x[t,J]`: the parameter, as (heads, inner, width), and what it reads."""

    parameter: str
    array: Array
    reads: str


def circuits(design: Design) -> Circuits:
    """The products of the one attention that a design has."""
    code = design.program.code
    found = attentions(code)
    if len(found) != 1:
        raise IndicialError(
            f"{design.program.title} has {len(found)} attentions; designs with one are compared"
        )
    name = found[0].name
    query_name, key_name, scale = _score(design, name)
    query, key = _projection(design, query_name), _projection(design, key_name)
    value_name, mixed = _mixed(code, name)
    value = _projection(design, value_name)
    if not query.reads == key.reads == value.reads:
        raise IndicialError(
            f"query, key and value of {name} read different inputs: {query.reads}, {key.reads} and "
            f"{value.reads}; such a head is not compared"
        )
    blocks = _blocks(design, query.reads)
    out_name, out = _output(design, mixed, value.array)
    stacked = np.vstack([block.vectors for block in blocks])
    q, k = query.array @ stacked.T, key.array @ stacked.T
    scores = scale * np.einsum("kia,kib->kab", q, k)
    values = out @ (value.array @ stacked.T)
    places, start = [], 0
    for block in blocks:
        places.append((block.kind, slice(start, start + len(block.labels))))
        start += len(block.labels)
    factors = {"query": query.parameter, "key": key.parameter, "value": value.parameter}
    if out_name is not None:
        factors["output"] = out_name
    labels = tuple(label for block in blocks for label in block.labels)
    return Circuits(*_canonical(scores, values, places), tuple(places), labels, factors, name)


def _canonical(
    scores: Array, values: Array, blocks: list[tuple[str, slice]]
) -> tuple[Array, Array]:
    """Without what no output depends on; blocks of numbers are left as they are."""
    scores, values = scores.copy(), values.copy()
    exclusive = [place for kind, place in blocks if kind != "inputs"]
    for place in exclusive:
        scores[:, :, place] -= scores[:, :, place].mean(-1, keepdims=True)
    for place in exclusive[1:]:
        first = exclusive[0]
        shared = scores[:, place].mean(1, keepdims=True)
        scores[:, place] -= shared
        scores[:, first] += shared
        common = values[:, :, place].mean(-1, keepdims=True)
        values[:, :, place] -= common
        values[:, :, first] += common
    return scores, values


# ---------------------------------------------------------------------- reading the equations


def _factors(node: ir.Expression) -> list[ir.Expression]:
    """The factors of nested products and of the sums around them."""
    if isinstance(node, ir.Reduce) and node.operator == "sum" and node.condition is None:
        return _factors(node.body)
    if isinstance(node, ir.Apply) and node.function == "*":
        return [factor for argument in node.arguments for factor in _factors(argument)]
    return [node]


def _one(code: ir.Code, name: str) -> ir.Statement:
    statements = code.of(name)
    if len(statements) != 1:
        raise IndicialError(f"{name} has {len(statements)} equations; a head is read from one each")
    return statements[0]


def _index(place: ir.Place) -> str | None:
    return place.terms[0][0] if isinstance(place, ir.Affine) and len(place.terms) == 1 else None


def _score(design: Design, name: str) -> tuple[str, str, float]:
    """Query, key, and the number that their product is multiplied by."""
    statement = _one(design.program.code, name)
    body = statement.body
    assert isinstance(body, ir.Softmax)
    over = body.indices[0].name
    reads, scale = [], 1.0
    for factor in _factors(body.body):
        if isinstance(factor, ir.Read):
            reads.append(factor)
        else:
            scale *= _number(factor, design.sizes)
    keys = [r for r in reads if over in map(_index, r.places)]
    queries = [r for r in reads if r not in keys]
    if len(keys) != 1 or len(queries) != 1:
        raise IndicialError(f"the scores of {name} are no product of one query and one key")
    return queries[0].tensor, keys[0].tensor, scale


def _number(node: ir.Expression, sizes: Mapping[str, int]) -> float:
    """The value of an expression of sizes and numbers: `1/√I`."""
    match node:
        case ir.Constant(value=value):
            return value
        case ir.SizeValue(size=size):
            return float(size.value(sizes))
        case ir.Apply(function="/", arguments=(above, below)):
            return _number(above, sizes) / _number(below, sizes)
        case ir.Apply(function="sqrt", arguments=(inner,)):
            return math.sqrt(_number(inner, sizes))
        case ir.Apply(function="neg", arguments=(inner,)):
            return -_number(inner, sizes)
    raise IndicialError("the scores are multiplied by something that is no number")


def _projection(design: Design, name: str) -> _Map:
    """A tensor that is a matrix times the input of the head."""
    code = design.program.code
    statement = _one(code, name)
    reads = [f for f in _factors(statement.body) if isinstance(f, ir.Read)]
    owned = [r for r in reads if r.tensor in design.arrays]
    others = [r for r in reads if r.tensor not in design.arrays]
    if len(owned) != 1 or len(others) != 1 or len(reads) != len(_factors(statement.body)):
        raise IndicialError(f"{name} is no matrix times an input; only such heads are compared")
    inner = _index(statement.left[-1])
    letters = [_index(place) for place in owned[0].places]
    summed = [s for s in map(_index, others[0].places) if s in letters]
    heads = [letter for letter in letters if letter not in (inner, *summed)]
    if len(summed) != 1 or inner not in letters or len(heads) > 1:
        raise IndicialError(f"{owned[0].tensor} is no matrix of one head, or of several heads")
    order = [letters.index(letter) for letter in (*heads, inner, summed[0])]
    array = design.arrays[owned[0].tensor].transpose(order)
    return _Map(owned[0].tensor, array if heads else array[None], others[0].tensor)


def _mixed(code: ir.Code, weights: str) -> tuple[str, str]:
    """The values that the weights are multiplied with, and what that gives."""
    for statement in code.statements:
        reads = [f for f in _factors(statement.body) if isinstance(f, ir.Read)]
        if len(reads) == 2 and weights in (reads[0].tensor, reads[1].tensor):
            other = reads[0] if reads[1].tensor == weights else reads[1]
            return other.tensor, statement.target
    raise IndicialError(f"nothing is {weights} times values")


def _output(design: Design, mixed: str, value: Array) -> tuple[str | None, Array]:
    """W^O as (heads, outputs, inner); without one, each head gives its values."""
    heads, inner = value.shape[:2]
    code = design.program.code
    name = mixed
    for statement in code.statements:  # ĥ[t,(k,i)] = h̃[k,t,i]
        if isinstance(statement.body, ir.Read) and statement.body.tensor == name:
            name = statement.target
    for statement in code.statements:
        reads = [f for f in _factors(statement.body) if isinstance(f, ir.Read)]
        owned = [r.tensor for r in reads if r.tensor in design.arrays]
        if len(reads) == 2 and len(owned) == 1 and name in (r.tensor for r in reads):
            matrix = design.arrays[owned[0]]
            if matrix.ndim != 2 or matrix.shape[1] != heads * inner:
                raise IndicialError(f"{owned[0]} is no matrix that joins {heads} heads")
            return owned[0], matrix.reshape(-1, heads, inner).transpose(1, 0, 2)
    return None, np.broadcast_to(np.eye(inner), (heads, inner, inner))


def _blocks(design: Design, name: str) -> list[Block]:
    """What the input of the head is made of."""
    code = design.program.code
    tensor = code.tensors[name]
    width = tensor.axes[-1].extent.value(design.sizes)
    if tensor.role == "input" and tensor.values is None:
        labels = tuple(f"{tensor.axes[-1].letter}={n}" for n in range(width))
        return [Block("inputs", labels, np.eye(width))]
    body = _one(code, name).body if code.of(name) else None
    if not isinstance(body, ir.Join):
        raise IndicialError(
            f"{name}, which the head reads, is learned itself: its elements mean something else in "
            "each design, and there is nothing to compare. Heads are compared that read tokens and "
            "positions joined, or numbers that are given"
        )
    found, start = [], 0
    for part in body.parts:
        assert isinstance(part.body, ir.Read)
        size = part.index.extent.value(design.sizes)
        kind, labels, vectors = _part(design, part.body.tensor, size)
        wide = np.zeros((len(labels), width))
        wide[:, start : start + size] = vectors
        found.append(Block(kind, labels, wide))
        start += size
    return sorted(found, key=lambda block: block.kind != "tokens")


def _part(design: Design, name: str, size: int) -> tuple[str, tuple[str, ...], Array]:
    """One part of a join: one-hot tokens, or the vectors of positions."""
    if name in design.arrays and design.arrays[name].ndim == 2:
        array = design.arrays[name]
        return "positions", tuple(map(str, range(len(array)))), array
    statements = design.program.code.of(name)
    if (
        statements
        and isinstance(statements[0].body, ir.Apply)
        and statements[0].body.function == "="
    ):
        return "tokens", design.tokens, np.eye(size)
    raise IndicialError(f"{name} is neither one-hot tokens nor vectors of positions")
