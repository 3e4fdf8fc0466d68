"""What is computed for the places that chose something, by kernels: the rows of all choices, one after the other.

    h[f] = ReLU(Σ_J U[f,J] x[J]),  y[i] = Σ_F W[i,F] h[F]      the program of one place (`emit/dispatch.py`)

    rows 0…251 with U[0], W[0],  rows 252…530 with U[1], W[1], …

A place is a member of a loop of one step, so that products, functions and the gradient are those of
recurrences. All choices are one function for PyTorch: what it gives, and what it passes back to the rows and
to the weights of each choice, is computed where it is to lie.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from indicial.compile.emit.doubling import Alone
from indicial.compile.emit.running import again, plainly
from indicial.compile.ground.stored import stored
from indicial.compile.native import toolchain
from indicial.compile.native.projections import Values
from indicial.compile.native.recurrence import Recurrence
from indicial.compile.native.routine import REALS, Routine
from indicial.compile.passes.scan import Unsupported
from indicial.compile.schedule.schedule import ScheduleError

LEAST = 48
"""So many rows of a choice are worth the packing of its weights."""


@functools.lru_cache(maxsize=64)
def of_rows(rows: Alone) -> Recurrence | None:
    """The program of one place by kernels, if there are some for it."""

    def make() -> Recurrence:
        from indicial.compile.native.deriving import of_one_place  # only where nothing is stored

        return of_one_place(rows)

    try:
        toolchain.find_compiler()
        asked = rows.code, rows.arguments, rows.outputs, sorted(rows.same)
        return stored(("experts", *asked), make)
    except (Unsupported, ScheduleError, toolchain.NativeError):
        return None


def by_kernels(
    rows: Alone, given: Sequence[Tensor], counts: Sequence[int], sizes: Mapping[str, int]
) -> Tensor | None:
    """The results of all rows, `counts` of each choice; None where kernels are not for them.

    An argument has a row for each place, or the choices in front, or is for all of them.
    """
    if sum(counts) < LEAST * sum(count > 0 for count in counts) or plainly(*given):
        return None
    if any(x.dtype not in REALS or x.dtype != given[0].dtype for x in given):
        return None
    if any(x.device.type != "cpu" for x in given):
        return None
    own = of_rows(rows)
    if own is None:
        return None
    call = _Call(own, tuple(counts), dict(sizes), rows)
    found: Tensor = _Together.apply(*given, call)  # type: ignore[no-untyped-call]
    return found


@dataclass(frozen=True)
class _Call:
    own: Recurrence
    counts: tuple[int, ...]
    sizes: dict[str, int]
    rows: Alone

    @property
    def chosen(self) -> list[int]:
        """What is chosen by some."""
        return [choice for choice, count in enumerate(self.counts) if count]

    def by_choice(self, name: str, x: Tensor) -> bool:
        return x.dim() > len(self.own.code.tensors[name].axes)

    def apart(
        self, names: Sequence[str], given: Iterable[Tensor], like: Sequence[str] = ()
    ) -> list[Values]:
        """Tensors by name, for each choice: its rows, what it has for itself, or all of it.

        Where they are called by other names, `like` are the arguments that they are like.
        """
        found: list[Values] = [{} for _ in self.counts]
        for name, x, own in zip(names, given, like or names, strict=True):
            if own not in self.own.same:
                parts: Sequence[Tensor] = torch.split(x, list(self.counts))
            else:
                parts = x.unbind() if self.by_choice(own, x) else (x,) * len(self.counts)
            for values, part in zip(found, parts, strict=True):
                values[name] = part
        return found

    def plain(self, *given: Tensor) -> Tensor:
        """The same by PyTorch."""
        run, apart = self.rows.of_sizes(self.sizes), self.apart(self.own.arguments, given)
        return torch.cat([run([*apart[choice].values()])[0] for choice in self.chosen])


class _Together(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *every: Any) -> Tensor:
        *given, call = every
        own, (name,) = call.own, call.own.outputs
        output = given[0].new_empty(sum(call.counts), *own.shape(name, call.sizes))
        parts = call.apart(own.arguments, map(_walked(own), own.arguments, given))
        slots = call.apart([name], [output])
        kept = [
            found[name] for found in _runs(own.forward, call, parts, slots) for name in own.kept[1:]
        ]
        result: Tensor = output.squeeze(1)
        ctx.call = call
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(*given, result, *kept)
        return result

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        call, own, saved = ctx.call, ctx.call.own, ctx.saved_tensors
        given, (output, *kept) = saved[: len(own.arguments)], saved[len(own.arguments) :]
        if torch.is_grad_enabled():
            return again(ctx, call.plain, given, slope)
        asked = list(zip(own.arguments, given, ctx.needs_input_grad, strict=False))
        needed = {n: x for n, x, needs in asked if needs and n in own.bars}
        shared = {n for n, x in needed.items() if n in own.same and not call.by_choice(n, x)}
        found = {n: x.new_empty(x.shape) for n, x in needed.items()}
        for n, x in found.items():
            if n in shared or (n in own.same and 0 in call.counts):
                x.zero_()
        names, walked = (*own.arguments, *own.outputs, *own.slopes.values()), _walked(own)
        parts = call.apart(names, map(walked, names, (*given, output, slope)))
        for number, name in enumerate(own.kept[1:]):
            for choice, x in zip(call.chosen, kept[number :: len(own.kept) - 1], strict=True):
                parts[choice][name] = x
        first = {own.bars[n]: n for n in reversed(needed) if n not in shared}
        slots = call.apart(
            [*first], [walked(n, found[n]) for n in first.values()], [*first.values()]
        )
        for result in _runs(own.backward(tuple(needed)), call, parts, slots):
            for n in shared:
                found[n] += result[own.bars[n]]
        for n in needed:
            if (other := first.get(own.bars[n], n)) != n:
                found[n].copy_(found[other])
        return *(found.get(n) for n in own.arguments), None


def _walked(own: Recurrence) -> Callable[[str, Tensor], Tensor]:
    """What has rows, with the step that kernels walk; all of it without gaps."""
    return lambda name, x: (x if name in own.same else x.unsqueeze(1)).contiguous()


def _runs(
    routine: Routine, call: _Call, parts: Sequence[Values], slots: Sequence[Values]
) -> Iterator[Values]:
    """A routine for one choice after the other; `slots` is where its results are to lie."""
    for choice in call.chosen:
        yield routine.run(parts[choice], call.sizes, {}, slots[choice])
