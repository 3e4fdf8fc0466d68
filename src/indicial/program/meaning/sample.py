"""Small random values for a program: what checks and `indicial try` run it on.

>>> drawn = sample(code, {"T": 3, "J": 2, "K": 2}, seed=1)
>>> drawn.inputs["x"].shape
(3, 2)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indicial.program import ir
from indicial.program.sizes import Size, Strided

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass
class Sample:
    """Values for all that a program does not define."""

    sizes: dict[str, int]
    inputs: dict[str, Array] = field(default_factory=dict)
    parameters: dict[str, Array] = field(default_factory=dict)
    draws: dict[str, Array] = field(default_factory=dict)


def least_sizes(code: ir.Code) -> dict[str, int]:
    """How large each size must be for the elements that are named by number to exist."""
    least: dict[str, int] = {}

    def need(axis: ir.Axis, place: ir.Place) -> None:
        if not isinstance(place, ir.Affine) or place.terms:
            return
        number, lower = place.offset.number, axis.lower.number
        name = axis.extent.name
        if number is not None and lower is not None and name is not None and number >= lower:
            least[name] = max(least.get(name, 1), int(number - lower) + 1)

    bodies: list[ir.Expression] = []
    for statement in code.statements:
        bodies.append(statement.body)
        tensor = code.tensors.get(statement.target)
        if tensor is not None:
            for axis, left in zip(tensor.axes, statement.left, strict=False):
                need(axis, left)
    for test in code.tests:
        bodies += [test.left, test.right]
    for body in bodies:
        for node in body.every(ir.Read):
            if node.tensor in code.tensors:
                for axis, place in zip(code.tensors[node.tensor].axes, node.places, strict=False):
                    need(axis, place)
    return least


def small_sizes(code: ir.Code, size: int) -> dict[str, int]:
    """Every size at this value, or as large as it must be."""
    least = least_sizes(code)
    return {name: max(size, least.get(name, 1)) for name in code.sizes}


def work(code: ir.Code, sizes: Mapping[str, int]) -> int:
    """About how many numbers a run at these sizes computes: for not trying what takes too long."""
    total = 0
    for tensor in code.tensors.values():
        total += _volume(tensor.axes, sizes)
    for statement in code.statements:
        total += _nodes(statement.body, _volume(statement.indices, sizes), sizes)
    for test in code.tests:
        for side in (test.left, test.right):
            total += _nodes(side, _volume(test.indices, sizes), sizes)
    return total


def _volume(indices: Iterable[ir.Index | ir.Axis], sizes: Mapping[str, int]) -> int:
    return math.prod(max(1, extent_value(index.extent, sizes)) for index in indices)


def _nodes(body: ir.Expression, times: int, sizes: Mapping[str, int]) -> int:
    """The nodes of an expression, each as often as the reductions around it run."""
    total = 0
    stack = [(body, times)]
    while stack:
        node, times = stack.pop()
        total += times
        if isinstance(node, ir.Reduce | ir.Softmax):
            times *= _volume(node.indices, sizes)
        stack.extend((child, times) for child in node.children())
    return total


def sample(code: ir.Code, sizes: Mapping[str, int], seed: int = 0) -> Sample:
    """Normal values, tokens of the vocabulary, probabilities between 0 and 1."""
    import numpy as np

    random = np.random.default_rng(seed)
    result = Sample(dict(sizes))
    for name, tensor in code.tensors.items():
        if tensor.role == "defined" or name in code.constants:
            continue
        shape = [extent_value(a.extent, sizes) for a in tensor.axes]
        values: Any
        if tensor.values is not None:
            values = random.integers(0, max(1, extent_value(tensor.values, sizes)), shape)
        elif tensor.probability:
            values = random.uniform(0.1, 0.9, shape)
        else:
            values = random.normal(size=shape)
        if tensor.role == "parameter":
            result.parameters[name] = values
        elif tensor.role == "draw":
            if any(d.tensor == name and d.distribution == "dropout" for d in code.draws):
                values = np.ones(shape)
            result.draws[name] = values
        else:
            result.inputs[name] = values
    return result


def extent_value(extent: Size, sizes: Mapping[str, int]) -> int:
    """An extent at these sizes; one that depends on a layer counts as at its longest."""
    if any(isinstance(atom, Strided) and atom.index for atom in extent.atoms):
        extent = extent.mapped(lambda a: a.base if isinstance(a, Strided) and a.index else a)
    return max(0, extent.value(sizes))
