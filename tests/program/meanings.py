"""Whether two programs mean the same: tried on random values, up to how parameters are stored.

What counts as the same:
- the outputs (what no equation reads, the loss, the distributions) have equal values for all draws;
- an output is called differently, if it is the only one: nothing else in the text could tell;
- a parameter is called differently, everywhere it is read: `W^{h,R}` → `W^{h,Q}`, read once;
- a parameter is stored with its axes in another order: `W[j,I]` → `W[I,j]`, read once.

Everything else is another meaning: other values, another number of parameters, of inputs or of sizes,
another loss, an output with its axes in another order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from indicial.program import ir
from indicial.program.meaning.arrays import InterpretError
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.machine import CycleError
from indicial.program.meaning.sample import Sample, sample, small_sizes
from indicial.program.program import Program

TRIES = ((2, 1), (3, 2))
"""Sizes and seeds that both are tried on."""
AXES = 5
"""Parameters with more axes are not turned."""


def same_meaning(one: Program, other: Program) -> bool:
    """Whether two programs without errors compute the same; see above."""
    first, second = one.code, other.code
    if (first.loss, first.generated) != (second.loss, second.generated):
        return False
    if len(_free(first)) != len(_free(second)):
        return False
    outputs = _outputs(first), _outputs(second)
    if len(outputs[0]) != len(outputs[1]) or len(set(outputs[0]) ^ set(outputs[1])) > 2:
        return False
    parameters = _matched(first, second, ("parameter",))
    inputs = _matched(first, second, ("input", "draw"))
    if parameters is None or inputs is None or any(a != b for a, b in inputs):
        return False
    return any(
        all(_equal(first, second, turned, size, seed) for size, seed in TRIES)
        for turned in _turns(first, second, parameters)
    )


def _free(code: ir.Code) -> list[str]:
    return [name for name, value in code.sizes.items() if value is None]


def _outputs(code: ir.Code) -> list[str]:
    """What no other equation reads, the loss, and the distributions; in order."""
    read = {
        node.tensor
        for statement in code.statements
        for root in (statement.body, *((statement.guard,) if statement.guard else ()))
        for node in root.walk()
        if isinstance(node, ir.Read) and node.tensor != statement.target
    }
    return [
        name for name, tensor in code.tensors.items()
        if tensor.role == "defined" and (name not in read or tensor.probability or name == code.loss)
    ]  # fmt: skip


def _matched(
    first: ir.Code, second: ir.Code, roles: tuple[str, ...]
) -> list[tuple[str, str]] | None:
    """Names of both programs that stand for each other: equal ones, the others in order."""
    names = [
        [n for n, t in code.tensors.items() if t.role in roles and n not in code.constants]
        for code in (first, second)
    ]
    if len(names[0]) != len(names[1]):
        return None
    common = [n for n in names[0] if n in names[1]]
    rest = [[n for n in side if n not in common] for side in names]
    pairs = [*((n, n) for n in common), *zip(*rest, strict=True)]
    if any(len(first.tensors[a].axes) != len(second.tensors[b].axes) for a, b in pairs):
        return None
    return pairs


Turn = tuple[str, str, tuple[int, ...]]
"""A parameter of the first program, the one it is in the second, and the order of its axes there."""


def _turns(first: ir.Code, second: ir.Code, pairs: list[tuple[str, str]]) -> Iterator[list[Turn]]:
    """The ways to give the first program's parameters to the second: one may be turned."""
    plain: list[Turn] = [(a, b, tuple(range(len(first.tensors[a].axes)))) for a, b in pairs]
    yield plain
    changed = {b for b, order in _orders(second).items() if order != _orders(first).get(b)}
    for number, (a, b, order) in enumerate(plain):
        if b not in changed or not 2 <= len(order) <= AXES:
            continue
        letters = [
            [x.letter for x in code.tensors[k].axes] for code, k in ((first, a), (second, b))
        ]
        for other in itertools.permutations(order):
            if other != order and [letters[0][n] for n in other] == letters[1]:
                yield [*plain[:number], (a, b, other), *plain[number + 1 :]]


def _orders(code: ir.Code) -> dict[str, list[tuple[str, ...]]]:
    """How each tensor is read: the indices at its places, read by read."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for statement in code.statements:
        for node in statement.body.walk():
            if isinstance(node, ir.Read):
                found.setdefault(node.tensor, []).append(tuple(str(p) for p in node.places))
    return found


def _equal(first: ir.Code, second: ir.Code, turns: list[Turn], size: int, seed: int) -> bool:
    sizes = small_sizes(first, size), small_sizes(second, size)
    for name in set(sizes[0]) & set(sizes[1]):
        sizes[0][name] = sizes[1][name] = max(sizes[0][name], sizes[1][name])
    drawn = sample(first, sizes[0], seed)
    other = sample(second, sizes[1], seed)
    for a, b, order in turns:
        array = np.transpose(drawn.parameters[a], order)
        if array.shape != other.parameters[b].shape:
            return False
        other.parameters[b] = array
    for name in drawn.inputs:
        if drawn.inputs[name].shape != other.inputs[name].shape:
            return False
        other.inputs[name] = drawn.inputs[name]
    outputs = _outputs(first), _outputs(second)
    try:
        values = _values(first, drawn, outputs[0]), _values(second, other, outputs[1])
    except (InterpretError, CycleError, ValueError, KeyError):
        return False
    common = [n for n in outputs[0] if n in outputs[1]]
    pairs = [*((n, n) for n in common)]
    pairs += zip(*([n for n in side if n not in common] for side in outputs), strict=True)
    return all(
        values[0][a].shape == values[1][b].shape
        and np.allclose(values[0][a], values[1][b], 1e-9, 1e-12, equal_nan=True)
        for a, b in pairs
    )


def _values(code: ir.Code, drawn: Sample, want: list[str]) -> dict[str, Any]:
    given = {**code.constants, **drawn.inputs}
    result = interpret(
        code, given, drawn.parameters, sizes=drawn.sizes, want=want, draws=drawn.draws
    )
    return {name: np.asarray(result[name]) for name in want}
