"""One attention head as equations have it: which matrices it is made of, and what it reads.

    α[t_1,t_2] = softmax_{t_2} 1/√I Query[t_1,I] Key[t_2,I]      query, key and scale
    Query[t,i] = W^Q[i,C] x[t,C]                                  a projection
    y[t,o] = α[t,T] Value[T,o]                                    what is mixed
    x[t,C] = token[t,V]; pos[t,P]    or    e[w[t],j] + pos[t,j]   what it reads
    P(w[t] | …) = softmax_{w_t} e[w_t,J] y[t,J]                   what reads it

`circuits.py` multiplies them. What is not written like this is refused, with what is in the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from indicial.designs.arrays import Array
from indicial.inspect.readings import NOTHING, readings
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


def factors(node: ir.Expression) -> list[ir.Expression]:
    """The factors of nested products and of the sums around them."""
    if isinstance(node, ir.Reduce) and node.operator == "sum" and node.condition is None:
        return factors(node.body)
    if isinstance(node, ir.Apply) and node.function == "*":
        return [factor for argument in node.arguments for factor in factors(argument)]
    return [node]


def score(design: Design, name: str) -> tuple[str, str, float]:
    """Query, key, and the number that their product is multiplied by."""
    body = _one(design.program.code, name).body
    if not isinstance(body, ir.Softmax):
        raise IndicialError(f"{name} is not just a softmax; such a head is not compared")
    over = body.indices[0].name
    reads, scale = [], 1.0
    for factor in factors(body.body):
        if isinstance(factor, ir.Read):
            reads.append(factor)
        else:
            scale *= _number(factor, design.sizes)
    keys = [r for r in reads if over in map(_index, r.places)]
    queries = [r for r in reads if r not in keys]
    if len(keys) != 1 or len(queries) != 1:
        raise IndicialError(f"the scores of {name} are not a product of one query and one key")
    return queries[0].tensor, keys[0].tensor, scale


def projection(design: Design, name: str) -> Projection:
    """A tensor that is a matrix times the input of the head."""
    statement = _one(design.program.code, name)
    parts = factors(statement.body)
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


def mixed(code: ir.Code, weights: str) -> tuple[str, str]:
    """The values that the weights are multiplied with, and what that gives."""
    for statement in code.statements:
        reads = [f for f in factors(statement.body) if isinstance(f, ir.Read)]
        if len(reads) == 2 and weights in (reads[0].tensor, reads[1].tensor):
            other = reads[0] if reads[1].tensor == weights else reads[1]
            return other.tensor, statement.target
    raise IndicialError(f"nothing is {weights} times values")


def output(design: Design, name: str, value: Array) -> Output:
    """W^O, if there is one, and what reads the words off; without, each head gives its values."""
    heads, inner = value.shape[:2]
    for statement in design.program.code.statements:  # ĥ[t,(k,i)] = h̃[k,t,i]
        if isinstance(statement.body, ir.Read) and statement.body.tensor == name:
            name = statement.target
    joined = Output((), np.broadcast_to(np.eye(inner), (heads, inner, inner)), name)
    for statement in design.program.code.statements:
        reads = [f for f in factors(statement.body) if isinstance(f, ir.Read)]
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
        parts = factors(statement.body.body)
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


def blocks(design: Design, name: str) -> list[Block]:
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
