"""The products that a head computes with: what two designs can be compared by.

>>> found = circuits(hand("content"))
>>> found.scores.shape, found.values.shape, found.labels      # tokens A B C, six positions
((1, 9, 9), (1, 3, 9), ('A', 'B', 'C', '0', '1', …))

A head is found in the equations where it is written like this; what is not is refused, with what is in the way:

    α[t_1,t_2] = softmax_{t_2} 1/√I Query[t_1,I] Key[t_2,I]      query, key and scale
    Query[t,i] = W^Q[i,C] x[t,C]                                  a projection
    y[t,o] = α[t,T] Value[T,o]                                    what is mixed
    x[t,C] = token[t,V]; pos[t,P]    or    e[w[t],j] + pos[t,j]   what it reads
    P(w[t] | …) = softmax_{w_t} e[w_t,J] y[t,J]                   what reads it

The factors W^Q and W^K are free up to an invertible change, M W^Q and M^{-⊤} W^K; so are W^O and W^V,
and the vectors of tokens and positions with all that reads them. The products are not:

    scores[k,a,b]    how much head k adds for a query with feature a and a key with feature b
    values[k,o,b]    what head k adds to output o for a key with feature b

A feature is a token, a position, or an element of an input that is given as numbers. Many products
give the same outputs, and one of them stands for all (`settled`). Every place has one token and one position. So the
outputs do not change

    if a number is added to the scores of a query for all tokens, or for all positions;
    if a row is added to the scores that all tokens ask for, and taken from those of all positions;
    if a column is added to the values of all tokens, and taken from those of all positions.

Therefore scores are centred over the key's tokens and over its positions, and what all positions share
is counted with the tokens; values whose outputs go through a softmax themselves are centred too. Two things make it
finer. Where place t reads w[t-1], the first place has a position and no token; so what all tokens share is what all
positions share but the first. And where a place looks back only, scores of a position for a later one are never used:
they are 0 here. As not all positions see the same then, what all tokens share is counted with the positions instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indicial.designs.design import Array, Design
from indicial.inspect.attention import attentions
from indicial.inspect.subjects import NOTHING, readings
from indicial.program import ir
from indicial.program.messages import IndicialError


@dataclass(frozen=True)
class Block:
    """Features of one kind, of which every place has one; or all elements of an input."""

    kind: str
    """`tokens`, `positions` or `inputs`."""
    labels: tuple[str, ...]
    vectors: Array
    """What each of them is in the input of the head: (features, width)."""


@dataclass(frozen=True)
class Projection:
    """`Query[k,t,i] = W^Q[k,i,J] x[t,J]`: the parameter, as (heads, inner, width), and what it reads."""

    parameter: str
    array: Array
    reads: str


@dataclass(frozen=True)
class Output:
    """What becomes of the mixed values: (heads, outputs, inner), and the tensor that it is."""

    parameters: tuple[str, ...]
    """W^O, and what reads the words off, if they are there."""
    array: Array
    tensor: str
    softmax: bool = False
    """Whether the outputs go through a softmax, which does not see what all of them share."""


def _factors(node: ir.Expression) -> list[ir.Expression]:
    """The factors of nested products and of the sums around them."""
    if isinstance(node, ir.Reduce) and node.operator == "sum" and node.condition is None:
        return _factors(node.body)
    if isinstance(node, ir.Apply) and node.function == "*":
        return [factor for argument in node.arguments for factor in _factors(argument)]
    return [node]


def _score(design: Design, name: str) -> tuple[str, str, float]:
    """Query, key, and the number that their product is multiplied by."""
    body = _one(design.program.code, name).body
    if not isinstance(body, ir.Softmax):
        raise IndicialError(f"{name} is not just a softmax; such a head is not compared")
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
        raise IndicialError(f"the scores of {name} are not a product of one query and one key")
    return queries[0].tensor, keys[0].tensor, scale


def _projection(design: Design, name: str) -> Projection:
    """A tensor that is a matrix times the input of the head."""
    statement = _one(design.program.code, name)
    parts = _factors(statement.body)
    reads = [f for f in parts if isinstance(f, ir.Read)]
    owned = [r for r in reads if r.tensor in design.arrays]
    others = [r for r in reads if r.tensor not in design.arrays]
    if len(owned) != 1 or len(others) != 1 or len(reads) != len(parts):
        raise IndicialError(f"{name} is not a matrix times an input; only such heads are compared")
    inner = _index(statement.left[-1])
    letters = [_index(place) for place in owned[0].places]
    summed = [s for s in map(_index, others[0].places) if s in letters]
    heads = [letter for letter in letters if letter not in (inner, *summed)]
    if len(summed) != 1 or inner not in letters or len(heads) > 1:
        raise IndicialError(f"{owned[0].tensor} is not a matrix of one head, or of several heads")
    order = [letters.index(letter) for letter in (*heads, inner, summed[0])]
    array = design.arrays[owned[0].tensor].transpose(order)
    return Projection(owned[0].tensor, array if heads else array[None], others[0].tensor)


def _mixed(code: ir.Code, weights: str) -> tuple[str, str]:
    """The values that the weights are multiplied with, and what that gives."""
    for statement in code.statements:
        reads = [f for f in _factors(statement.body) if isinstance(f, ir.Read)]
        if len(reads) == 2 and weights in (reads[0].tensor, reads[1].tensor):
            other = reads[0] if reads[1].tensor == weights else reads[1]
            return other.tensor, statement.target
    raise IndicialError(f"nothing is {weights} times values")


def _output(design: Design, name: str, value: Array) -> Output:
    """W^O, if there is one, and what reads the words off; without, each head gives its values."""
    heads, inner = value.shape[:2]
    for statement in design.program.code.statements:  # ĥ[t,(k,i)] = h̃[k,t,i]
        if isinstance(statement.body, ir.Read) and statement.body.tensor == name:
            name = statement.target
    joined = Output((), np.broadcast_to(np.eye(inner), (heads, inner, inner)), name)
    for statement in design.program.code.statements:
        reads = [f for f in _factors(statement.body) if isinstance(f, ir.Read)]
        owned = [r.tensor for r in reads if r.tensor in design.arrays]
        if len(reads) == 2 and len(owned) == 1 and name in (r.tensor for r in reads):
            matrix = design.arrays[owned[0]]
            if matrix.ndim != 2 or matrix.shape[1] != heads * inner:
                raise IndicialError(f"{owned[0]} is not a matrix that joins {heads} heads")
            split = matrix.reshape(-1, heads, inner).transpose(1, 0, 2)
            joined = Output((owned[0],), split, statement.target)
            break
    return _read_off(design, joined)


def _read_off(design: Design, found: Output) -> Output:
    """Through `softmax_{w_t} y[t,w_t]` or `softmax_{w_t} e[w_t,J] y[t,J]`, where that is all."""
    for statement in design.program.code.statements:
        if not isinstance(statement.body, ir.Softmax):
            continue
        parts = _factors(statement.body.body)
        reads = [f for f in parts if isinstance(f, ir.Read)]
        owned = [r for r in reads if r.tensor in design.arrays]
        given = [r.tensor for r in reads if r.tensor not in design.arrays]
        if given != [found.tensor] or len(reads) != len(parts) or len(owned) > 1:
            continue
        array = found.array
        if owned:
            matrix = design.arrays[owned[0].tensor]
            over = statement.body.indices[0].name
            letters = [_index(place) for place in owned[0].places]
            if matrix.ndim != 2 or over not in letters:
                continue
            array = (matrix if letters[0] == over else matrix.T) @ array
        names = (*found.parameters, *(r.tensor for r in owned))
        return Output(names, array, statement.target, softmax=True)
    return found


def _blocks(design: Design, name: str) -> list[Block]:
    """What the input of the head is made of, tokens first."""
    code = design.program.code
    tensor = code.tensors[name]
    width = tensor.axes[-1].extent.value(design.sizes)
    if tensor.role == "input" and tensor.values is None:
        labels = tuple(f"{tensor.axes[-1].letter}={n}" for n in range(width))
        return [Block("inputs", labels, np.eye(width))]
    body = _one(code, name).body if code.of(name) else None
    if isinstance(body, ir.Join):
        found = _joined(design, name, body, width)
    else:
        added = body.arguments if isinstance(body, ir.Apply) and body.function == "+" else (body,)
        found = [_part(design, name, part) for part in added]
    found.sort(key=lambda block: block.kind != "tokens")
    if [block.kind for block in found] == ["tokens"] and readings(code)[0].later:
        # Without positions, the place that reads no token has nothing else to be known by.
        silent = np.vstack([found[0].vectors, np.zeros(width)])
        return [Block("tokens", (*found[0].labels, NOTHING), silent)]
    return found


def _joined(design: Design, name: str, body: ir.Join, width: int) -> list[Block]:
    found, start = [], 0
    for part in body.parts:
        size = part.index.extent.value(design.sizes)
        block = _part(design, name, part.body)
        wide = np.zeros((len(block.labels), width))
        wide[:, start : start + size] = block.vectors
        found.append(Block(block.kind, block.labels, wide))
        start += size
    return found


def _part(design: Design, name: str, node: ir.Expression | None) -> Block:
    """Tokens, one-hot or with learned vectors, or the vectors of positions."""
    if isinstance(node, ir.Read) and node.tensor in design.arrays and len(node.places) == 2:
        array = design.arrays[node.tensor]
        if isinstance(node.places[0], ir.Gather):
            return Block("tokens", design.tokens, array)
        return Block("positions", tuple(map(str, range(len(array)))), array)
    statements = design.program.code.of(node.tensor) if isinstance(node, ir.Read) else []
    one_hot = statements[0].body if statements else None
    if isinstance(one_hot, ir.Apply) and one_hot.function == "=":
        return Block("tokens", design.tokens, np.eye(len(design.tokens)))
    raise IndicialError(
        f"{name}, which the head reads, is not made of tokens and positions alone; its elements may "
        "mean something else in each design, and there is nothing to compare. Heads are compared "
        "that read tokens and positions, joined or added, or numbers that are given"
    )


def _one(code: ir.Code, name: str) -> ir.Statement:
    statements = code.of(name)
    if len(statements) != 1:
        raise IndicialError(f"{name} has {len(statements)} equations; a head is read from one each")
    return statements[0]


def _index(place: ir.Place) -> str | None:
    return place.terms[0][0] if isinstance(place, ir.Affine) and len(place.terms) == 1 else None


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
    raise IndicialError("the scores are multiplied by something that is not a number")


@dataclass(frozen=True)
class Circuits:
    scores: Array
    values: Array
    blocks: tuple[tuple[str, slice], ...]
    labels: tuple[str, ...]
    factors: Mapping[str, str]
    """The names of the parameters: `{"query": "W^Q", …}`; `output` where values are multiplied again."""
    applied: Mapping[str, Array]
    """Query, key and value of each feature: (heads, inner, features)."""
    products: Array
    """Query times key, as the matrices are: before one stands for all that give the same outputs."""
    weights: str
    """The name of the attention weights."""
    output: str
    """The name of what the head gives in the end: `y`, or `P`."""
    features: Features
    softmax: bool = False
    """Whether the outputs go through a softmax."""


def circuits(design: Design) -> Circuits:
    """The products of the one attention that a design has."""
    name = _attention(design)
    query_name, key_name, scale = _score(design, name)
    query, key = _projection(design, query_name), _projection(design, key_name)
    value_name, mixed = _mixed(design.program.code, name)
    value = _projection(design, value_name)
    if not query.reads == key.reads == value.reads:
        raise IndicialError(
            f"query, key and value of {name} read different inputs: {query.reads}, {key.reads} and "
            f"{value.reads}; such a head is not compared"
        )
    blocks = _blocks(design, query.reads)
    output = _output(design, mixed, value.array)
    stacked = np.vstack([block.vectors for block in blocks])
    with np.errstate(over="ignore", invalid="ignore"):  # told below
        q, k = query.array @ stacked.T, key.array @ stacked.T
        scores = scale * np.einsum("kia,kib->kab", q, k)
        v = value.array @ stacked.T
        values = output.array @ v
    if not (np.isfinite(scores).all() and np.isfinite(values).all()):
        raise IndicialError(f"the products of {design.name} are larger than numbers can be")
    places, start = [], 0
    for block in blocks:
        places.append((block.kind, slice(start, start + len(block.labels))))
        start += len(block.labels)
    factors = {"query": query.parameter, "key": key.parameter, "value": value.parameter}
    if output.parameters:
        factors["output"] = " ".join(output.parameters)
    if output.softmax:
        values = values - values.mean(1, keepdims=True)
    labels = tuple(label for block in blocks for label in block.labels)
    products = scores
    features = _features(design, name, places)
    scores, values = settled(scores, values, features)
    applied = {"query": q, "key": k, "value": v}
    return Circuits(
        scores, values, tuple(places), labels, factors, applied, products, name, output.tensor,
        features, output.softmax,
    )  # fmt: skip


def _attention(design: Design) -> str:
    """The name of the weights; in layers, or several times, is too much to compare."""
    found = attentions(design.program.code)
    title = design.program.title
    if not found:
        raise IndicialError(
            f"{title} has no attention, which is what two designs or runs are compared by; how well "
            "each of two runs predicts a text, `indicial evaluate` says"
        )
    if len(found) != 1:
        raise IndicialError(f"{title} has {len(found)} attentions; designs with one are compared")
    if found[0].layer is not None:
        raise IndicialError(f"{title} has attention in layers; designs with one are compared")
    return found[0].name


def _features(design: Design, name: str, blocks: list[tuple[str, slice]]) -> Features:
    """Which features stand together at a place, and which place sees which."""
    found = dict(blocks)
    positions = found.get("positions")
    reads = readings(design.program.code)
    silent = reads[0].later if reads else 0
    visible = None
    body = design.program.code.of(name)[0].body
    if positions is not None and isinstance(body, ir.Softmax) and body.condition is not None:
        # With all scores equal, a weight is above 0 exactly where the condition holds.
        zero = replace(design, arrays={n: 0 * a for n, a in design.arrays.items()})
        count = positions.stop - positions.start
        weights = zero.reading([0] * max(1, count - silent)).values([name])[name]
        visible = weights.reshape(-1, *weights.shape[-2:])[0] > 0
    return Features(found.get("tokens"), positions, silent, visible)


@dataclass(frozen=True)
class Features:
    """Which rows and columns are tokens, and which are positions."""

    tokens: slice | None = None
    positions: slice | None = None
    silent: int = 0
    """How many places, the first ones, read no token."""
    visible: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    """Which position sees which; None if each sees all."""


def settled(scores: Array, values: Array, features: Features) -> tuple[Array, Array]:
    """Scores (heads, features, features) and values (heads, outputs, features) that stand for all."""
    scores, values = scores.copy(), values.copy()
    tokens, positions = features.tokens, features.positions
    if tokens is not None and positions is not None:
        later = slice(positions.start + features.silent, positions.stop)
        _move(values, later, tokens)
        mean = _centre(scores[:, :, tokens])
        if features.silent:
            scores[:, :, later] += mean
        rows = scores.transpose(0, 2, 1)
        _move(rows, *((later, tokens) if features.visible is None else (tokens, later)))
    elif tokens is not None:
        _centre(scores[:, :, tokens])
    if positions is not None:
        _centre_positions(scores, features, positions)
    return scores, values


def _centre(block: Array) -> Array:
    """Takes the mean of each row away, in place; gives it."""
    mean: Array = block.mean(-1, keepdims=True)
    block -= mean
    return mean


def _move(array: Array, source: slice, target: slice) -> None:
    """What the columns of one kind share is added to those of the other, in place."""
    array[:, :, target] += _centre(array[:, :, source])


def _centre_positions(scores: Array, features: Features, positions: slice) -> None:
    """Centres the scores for positions, as far as each row sees them."""
    used = np.ones((scores.shape[1], positions.stop - positions.start), bool)
    if features.visible is not None:
        used[positions] = features.visible
        if features.tokens is not None:
            blind = ~features.visible[:, features.silent :].any(-1)
            scores[:, positions][:, blind, features.tokens] = 0  # it sees no token at all
    block = scores[:, :, positions]
    block *= used
    block -= used * (block.sum(-1, keepdims=True) / used.sum(-1)[:, None])
