"""What is walked along: the size that grows step by step, and the axis of each tensor that has it.

input w[t] in V;  α[k,t_1,t_2] = softmax_{t_2 ≤ t_1} …

size T;  w along its axis 0;  α along axis 1 or 2: only along t_1 does nothing look ahead
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indicial.program.ir import Affine, Code, Softmax, Tensor
from indicial.program.messages import IndicialError, Message

WAYS = 64
"""How many assignments of axes are tried at most."""


@dataclass(frozen=True)
class Walk:
    """The size, the letter that it goes by, the first place, the inputs that are given by steps."""

    size: str
    letter: str
    first: int
    inputs: tuple[str, ...]

    def axes(self, tensor: Tensor) -> list[int]:
        """The axes of a tensor that are as long as the walk."""
        return [n for n, axis in enumerate(tensor.axes) if self.size in axis.extent.names]


def walk_of(code: Code, lengths: Sequence[str], along: str | None = None) -> Walk:
    """The walk along the index that is generated, that `along` names, or that the only length has."""
    size = _size(code, lengths, along)
    inputs = []
    letter, first = "", 0
    for tensor in code.tensors.values():
        if tensor.role != "input":
            continue
        found = [n for n, axis in enumerate(tensor.axes) if size in axis.extent.names]
        if not found:
            continue
        axis = tensor.axes[found[0]]
        if len(found) > 1 or axis.extent.name != size or axis.lower.number is None:
            sites = ((tensor.span, f"its shape depends on {size}"),)
            text = f"{tensor.name} cannot be given step by step"
            raise IndicialError(Message("error", "steps", text, sites).render())
        inputs.append(tensor.name)
        letter, first = letter or axis.letter, int(axis.lower.number)
    return Walk(size, letter or size, first, tuple(inputs))


def _size(code: Code, lengths: Sequence[str], along: str | None) -> str:
    tensors = [t for t in code.tensors.values() if t.role == "input"]
    if along is not None:
        for tensor in tensors:
            for axis in tensor.axes:
                if along in (axis.letter, axis.extent.name) and axis.extent.name is not None:
                    return axis.extent.name
        raise IndicialError(f"no input has an axis {along} to walk along")
    if code.generated is not None:
        lengths = [a.extent.name for a in code.tensors[code.generated].axes if a.extent.name]
    if len(lengths) == 1:
        return lengths[0]
    if not lengths:
        raise IndicialError("no input has an axis to walk along, step by step")
    letters = {a.extent.name: a.letter for t in tensors for a in t.axes}
    listed = " or ".join(f'along="{letters[name]}"' for name in lengths)
    raise IndicialError(f"say along which index the steps go: begin({listed})")


def ways(code: Code, walk: Walk) -> Iterator[dict[str, int]]:
    """Each way to choose one axis of every tensor that has the size; the likeliest comes first."""
    choices: dict[str, list[int]] = {
        name: walk.axes(code.tensors[name])[:1] for name in walk.inputs
    }
    for statement in code.statements:
        axes = walk.axes(code.tensors[statement.target])
        if isinstance(statement.body, Softmax):
            # A distribution over steps is had at each step, not one part of it at a time.
            summed = {index.name for index in statement.body.indices}
            places = statement.left
            free = [a for a in axes if not _has(places[a], summed)]
            axes = free or axes
        if axes:
            known = choices.setdefault(statement.target, axes)
            choices[statement.target] = [a for a in known if a in axes] or known
    names = list(choices)
    every = itertools.product(*choices.values())
    for axes_ in itertools.islice(every, WAYS):
        yield dict(zip(names, axes_, strict=True))


def _has(place: object, names: set[str]) -> bool:
    return isinstance(place, Affine) and any(name in names for name, _ in place.terms)
