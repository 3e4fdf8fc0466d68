"""What is wrong with a call, said in terms of the equations before anything is computed.

module(x=x)     x of shape (2, 7, 5)

ugrnn.eq:3:7: error: x has 5 elements along k (axis 2), but W^{x,R} has 4 along
    k (axis 2) [input-shape]
   3 | input x[t,k]
     |       ^^^^^^ x: (2, 7, 5)

Where a nan comes from: the first equation, in the order of computing, whose value is not finite.

    cell.eq:3:1: error: R[4,17] of example 2 is nan, and all before it is finite [not-finite]
       3 | R[t,j] = ln(W[j,I] h[t-1,I])
         | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ t = 4, j = 17

In a loop an earlier step comes first, within a step the equations in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from indicial.compile.emit.running import TensorMap, followed
from indicial.compile.module.sizes import Sizes, resolve, with_indices
from indicial.compile.schedule.schedule import Loop, Plan, Run, Step
from indicial.notation.parse import canonical_name
from indicial.program.ir import Affine, Code, Statement, Tensor
from indicial.program.meaning.arrays import InterpretError
from indicial.program.messages import IndicialError, Message


def refusal(kind: str, text: str, tensor: Tensor | None = None, remark: str = "") -> IndicialError:
    """An error with a caret under the tensor's declaration."""
    sites = ((tensor.span, remark),) if tensor is not None else ()
    return IndicialError(Message("error", kind, text, sites).render())


# ---------------------------------------------------------------------- names


def named_inputs(
    code: Code, positional: Sequence[object], keyword: Mapping[str, object]
) -> dict[str, object]:
    """Inputs by their names: from keywords in any spelling, a mapping, or the only input there is."""
    inputs = [t for t in code.tensors.values() if t.role == "input"]
    given: dict[str, object] = dict(keyword)
    if len(positional) == 1 and isinstance(positional[0], Mapping):
        given = {**positional[0], **given}
    elif positional:
        if len(positional) > 1 or len(inputs) != 1:
            listed = ", ".join(f"{t.name}=…" for t in inputs) or "nothing"
            raise refusal("inputs", f"inputs are given by name: module({listed})")
        given = {inputs[0].name: positional[0], **given}
    if all(name in code.tensors and code.tensors[name].role == "input" for name in given):
        return given
    return {resolve(code, name, ("input",)): value for name, value in given.items()}


def missing_input(code: Code, name: str) -> IndicialError:
    tensor = code.tensors[name]
    return refusal("inputs", f"the input {with_indices(tensor)} was not given", tensor)


# ---------------------------------------------------------------------- types


def as_tensor(
    tensor: Tensor, value: object, like: torch.Tensor, cast: bool = False
) -> torch.Tensor:
    """The values of an input: lists and arrays become tensors, tensors must fit already.

    Tokens may have any integer type; numbers must have the type of the parameters, unless `cast`.
    """
    if not isinstance(value, torch.Tensor):
        return _converted(tensor, value, like)
    if value.device != like.device:
        text = f"{tensor.name} is on {value.device}, but the module is on {like.device}"
        raise refusal("input-device", text, tensor, f'give {tensor.name}.to("{like.device}")')
    if tensor.values is not None:
        if value.dtype is torch.int64:
            return value
        if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
            text = f"{tensor.name} is {_short(value.dtype)}, but tokens are whole numbers"
            raise refusal("input-type", text, tensor, f"{tensor.name}: {_short(value.dtype)}")
        return value.long()
    if value.dtype == like.dtype or (cast and value.is_floating_point()):
        return value.to(like.dtype)
    wanted = _short(like.dtype)
    text = f"{tensor.name} is {_short(value.dtype)}, but the module computes in {wanted}"
    raise refusal("input-type", text, tensor, f"give {tensor.name}.to(torch.{wanted})")


def _converted(tensor: Tensor, value: object, like: torch.Tensor) -> torch.Tensor:
    try:
        values = torch.as_tensor(value, device=like.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise refusal("input-type", f"{tensor.name} is not an array: {error}", tensor) from error
    if tensor.values is None:
        return values.to(like.dtype)
    if values.is_floating_point() and bool((values != values.long()).any()):
        text = f"{tensor.name} holds fractions, but tokens are whole numbers"
        raise refusal("input-type", text, tensor)
    return values.long()


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def check_tokens(
    tensor: Tensor, values: torch.Tensor, count: int, inside: torch.Tensor | None, batched: bool
) -> None:
    """Tokens lie in their vocabulary; where an example has ended, anything may stand."""
    if inside is not None:
        values = torch.where(inside, values, 0)
    if values.numel() == 0:
        return
    low, high = torch.aminmax(values)
    if int(low) >= 0 and int(high) < count:
        return
    example, *place = (int(i) for i in ((values < 0) | (values >= count)).nonzero()[0])
    at = f"{tensor.name}[{','.join(map(str, place))}]" if place else tensor.name
    where = f" of example {example}" if batched else ""
    token = int(values[(example, *place)])
    text = f"{at}{where} is token {token}, outside the vocabulary ({tensor.values} = {count})"
    raise refusal("token", text, tensor)


def check_draw(tensor: Tensor, values: torch.Tensor, shape: Sequence[int]) -> None:
    if values.shape != tuple(shape):
        text = f"{with_indices(tensor)} has the shape {tuple(values.shape)}, not {tuple(shape)}"
        raise refusal("input-shape", text, tensor)


def wrong_axes(tensor: Tensor, values: torch.Tensor) -> IndicialError:
    count, remark = values.dim(), f"{tensor.name}: {tuple(values.shape)}"
    text = (
        f"{tensor.name} was given with {count} {'axis' if count == 1 else 'axes'}, but "
        f"{with_indices(tensor)} has {len(tensor.axes)}"
    )
    return refusal("input-shape", text, tensor, remark)


def misfit(code: Code, error: InterpretError, shapes: Mapping[str, Sequence[int]]) -> IndicialError:
    """Sizes that contradict each other, with the shapes of all inputs."""
    sites = tuple((code.tensors[n].span, f"{n}: {tuple(shape)}") for n, shape in shapes.items())
    return IndicialError(Message("error", "input-shape", str(error), sites).render())


# ---------------------------------------------------------------------- lengths


def before_end(
    tensor: Tensor, values: torch.Tensor, ragged: Mapping[str, torch.Tensor]
) -> torch.Tensor | None:
    """Where the examples have not ended: true at t < T, with each example's own T."""
    result: torch.Tensor | None = None
    for number, axis in enumerate(tensor.axes):
        own = ragged.get(axis.extent.name or "")
        if own is not None:
            place = torch.arange(values.shape[number + 1], device=values.device)
            mask = place < own.unsqueeze(1)
            after = values.dim() - number - 2
            mask = mask.reshape(len(own), *[1] * number, len(place), *[1] * after)
            result = mask if result is None else result & mask
    return result


def named_lengths(
    sizes: Sizes, lengths: Mapping[str, object] | Sequence[int] | torch.Tensor
) -> dict[str, object]:
    """Lengths by the size that they are of, which may be left out where there is one only."""
    if not isinstance(lengths, Mapping):
        if len(sizes.lengths) != 1:
            listed = ", ".join(f'"{name}": …' for name in sizes.lengths)
            raise refusal("lengths", f"say what the lengths are of: lengths={{{listed}}}")
        return {sizes.lengths[0]: lengths}
    found = {}
    for spelling, values in lengths.items():
        name = spelling if spelling in sizes.code.sizes else canonical_name(spelling)
        if name not in sizes.lengths:
            listed = ", ".join(sizes.lengths) or "no size"
            why = (
                "no length of the inputs" if name in sizes.code.sizes else "no size of the program"
            )
            text = f"{name} is {why}; {listed} can differ from example to example"
            raise refusal("lengths", text)
        found[name] = values
    return found


def length_tensor(
    name: str, values: object, most: int, batch: int, device: torch.device, least: int = 1
) -> torch.Tensor:
    """One length for each example, from `least` to the length of the padded input."""
    try:
        result = torch.as_tensor(values, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise refusal("lengths", f"the lengths of {name} are not whole numbers: {error}") from error
    if result.is_floating_point() or result.is_complex() or result.dtype == torch.bool:
        text = f"the lengths of {name} are {_short(result.dtype)}, not whole numbers"
        raise refusal("lengths", text)
    if result.shape != (batch,):
        text = f"the lengths of {name} have the shape {tuple(result.shape)}; there are {batch} examples"
        raise refusal("lengths", text)
    if torch.compiler.is_compiling() or followed(result) or result.numel() == 0:
        return result.long()
    low, high = (int(v) for v in torch.aminmax(result))
    if low < least or high > most:
        bad = low if low < least else high
        example = int((result == bad).nonzero()[0])
        text = (
            f"example {example} has the length {bad}; it can be {least} to {most} ({name} = {most})"
        )
        raise refusal("lengths", text)
    return result.long()


Order = tuple[int, ...]
"""When an element is computed: the number of the step, the value of its loop, the number in it, …"""


def check_given(code: Code, values: TensorMap) -> None:
    """Raises if an input, a parameter or a draw is not finite."""
    for name, value in values.items():
        bad = ~torch.isfinite(value.detach())
        if bool(bad.any()):
            tensor = code.tensors[name]
            place = tuple(int(i) for i in bad.nonzero()[0])
            what = f"{float(value.detach()[place]):g}"
            text = f"the {tensor.role} {name} holds {what} at {list(place)}"
            raise IndicialError(Message("error", "not-finite", text, ((tensor.span, ""),)).render())


def check_found(
    code: Code,
    plan: Plan,
    values: TensorMap,
    sizes: Mapping[str, int],
    ragged: TensorMap,
    batched: bool,
) -> None:
    """Raises if what was computed is not finite: every defined tensor must be among the values."""
    finder = _Finder(code, values, sizes, ragged)
    found = list(finder.walk(plan.steps, (), ()))
    if found:
        _, statement, element = min(found, key=lambda item: item[0])
        raise IndicialError(finder.message(statement, element, batched).render())


@dataclass(frozen=True)
class _Finder:
    code: Code
    values: TensorMap
    sizes: Mapping[str, int]
    ragged: TensorMap

    def walk(
        self, steps: tuple[Step, ...], before: Order, loops: tuple[Loop, ...]
    ) -> Iterator[tuple[Order, Statement, tuple[int, ...]]]:
        for number, step in enumerate(steps):
            if isinstance(step, Loop):
                yield from self.walk(step.steps, (*before, number), (*loops, step))
            elif isinstance(step, Run):
                first = self.first(step.statement, loops)
                if first is not None:
                    times, element = first
                    path = [n for pair in zip(before, times, strict=True) for n in pair]
                    yield (*path, number), step.statement, element

    def first(
        self, statement: Statement, loops: tuple[Loop, ...]
    ) -> tuple[Order, tuple[int, ...]] | None:
        """The first element of a statement that is not finite, the example in front."""
        name = statement.target
        value = self.values[name]
        tensor = self.code.tensors[name]
        if value.dim() == len(tensor.axes):
            value = value.unsqueeze(0)
        bad = ~torch.isfinite(value)
        within = before_end(tensor, value, self.ragged)
        if within is not None:
            bad = bad & within
        if not bool(bad.any()):
            return None
        rows = bad.nonzero()
        # A number has no axes, and a tensor of none is of no whole numbers by itself.
        rows[:, 1:] += rows.new_tensor([axis.lower.value(self.sizes) for axis in tensor.axes])
        rows = rows[self.defined(statement, rows)]
        times = []
        for loop in loops:
            steps = loop.direction * (rows[:, 1 + loop.axes[name]] + loop.offsets.get(name, 0))
            rows = rows[steps == steps.min()] if len(rows) else rows
            times += [int(steps.min())] if len(rows) else []
        return (tuple(times), tuple(rows[0].tolist())) if len(rows) else None

    def defined(self, statement: Statement, rows: torch.Tensor) -> torch.Tensor:
        """The elements that match this statement first, of all that define the tensor."""
        free = torch.ones(len(rows), dtype=torch.bool)
        for other in self.code.of(statement.target):
            matches = free.clone()
            for axis, place in enumerate(other.left):
                if isinstance(place, Affine) and not place.terms:
                    matches &= rows[:, 1 + axis] == place.offset.value(self.sizes)
            if other is statement:
                return matches
            free &= ~matches
        return free

    def message(self, statement: Statement, element: tuple[int, ...], batched: bool) -> Message:
        name = statement.target
        value = self.values[name]
        tensor = self.code.tensors[name]
        value = value if value.dim() > len(tensor.axes) else value.unsqueeze(0)
        example, place = element[0], element[1:]
        stored = [at - a.lower.value(self.sizes) for at, a in zip(place, tensor.axes, strict=True)]
        number = float(value[(example, *stored)])
        shown = f"{name}[{','.join(map(str, place))}]" if place else name
        where = f" of example {example}" if batched else ""
        text = f"{shown}{where} is {number:g}, and all before it is finite"
        at = ", ".join(
            f"{axis.letter} = {i}"
            for axis, i in zip(tensor.axes, place, strict=True)
            if axis.letter
        )
        return Message("error", "not-finite", text, ((statement.span, at),))
