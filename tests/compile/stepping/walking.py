"""Programs step by step, beside all steps at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.stepping.decoder import Decoder
from indicial.compile.stepping.state import State


def parts(decoder: Decoder, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a decoder begins with, and what it is handed step by step."""
    stepped = {n: v for n, v in given.items() if n in decoder.walk.inputs}
    return {n: v for n, v in given.items() if n not in stepped}, stepped


def decoder(module: ProgramModule, want: list[str] | None = None) -> Decoder:
    """The decoder that `begin` is going to use."""
    key = None if want is None else tuple(want), None, frozenset[str]()
    if key not in module._decoders:
        module._decoders[key] = Decoder(module, *key)
    return module._decoders[key]


def walk(
    module: ProgramModule,
    given: Mapping[str, Any],
    batch: tuple[int, ...] = (),
    want: list[str] | None = None,
) -> Iterator[State]:
    """The state before the first step, then after each step that there is room for."""
    made = decoder(module, want)
    first, stepped = parts(made, given)
    # The t of h[ℓ,t,j] is its second axis; it goes to the front.
    axes = {name: made.walk.axes(module.code.tensors[name])[0] for name in stepped}
    stepped = {n: v.movedim(axes[n] + len(batch), len(batch)) for n, v in stepped.items()}
    state = module.begin(first, want=want)
    yield state
    steps = next(iter(stepped.values())).shape[len(batch)]
    for number in range(steps):
        most = state.frame.decoder.most
        if most is not None and number >= most:
            return
        state, out = module.step(state, **at(stepped, number, batch))
        assert out is state.out
        yield state


def at(stepped: Mapping[str, Any], number: int, batch: tuple[int, ...] = ()) -> dict[str, Any]:
    """The inputs of one step."""
    return {name: value.select(len(batch), number) for name, value in stepped.items()}


def compare(state: State, whole: Mapping[str, Any], batch: tuple[int, ...] = ()) -> int:
    """What is out now is what is there at the step, all steps at once; how many could be compared."""
    stepping = state.frame.decoder.stepping
    compared = 0
    for name, value in state.out.items():
        expected = torch.as_tensor(whole[name])
        front = expected.dim() - value.dim() - 1 + len(batch) * (state.batch is not None)
        axis = stepping.causal.axes[name] + front
        place = state.steps - 1 + stepping.causal.offsets[name]
        if place >= expected.shape[axis]:
            continue
        expected = expected.select(axis, place)
        if expected.dim() < value.dim():  # the same for all members
            expected = expected.expand(*batch, *expected.shape)
        elif value.dim() < expected.dim():
            value = value.expand(*batch, *value.shape)
        torch.testing.assert_close(value, _seen(expected, value), atol=1e-9, rtol=1e-9)
        compared += 1
    return compared


def every(decoder: Decoder, steps: int, length: int) -> int:
    """How many outputs of so many steps there are to compare, in a text of some length."""
    ahead = [decoder.stepping.causal.offsets[name] for name in decoder.stepping.outputs]
    return sum(min(length, steps + offset) for offset in ahead)


def _seen(expected: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Of attention weights those of steps so far; the others are 0."""
    for axis, (whole, part) in enumerate(zip(expected.shape, value.shape, strict=True)):
        if part < whole:
            assert not expected.narrow(axis, part, whole - part).any()
            expected = expected.narrow(axis, 0, part)
    return expected
