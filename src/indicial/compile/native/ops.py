"""Recurrences as PyTorch operators, so that autograd, `torch.compile` and `torch.export` know them.

    indicial::scan(arguments, lengths, sizes, key)  →  outputs, and what the gradient needs

There is one operator for all recurrences; the key, made from the equations, says which one is
meant. A recurrence that a program was exported with must be registered (compiled) again before the
exported program runs in another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from indicial.compile.native.recurrence import Recurrence

_recurrences: dict[str, Recurrence] = {}


def register(recurrence: Recurrence) -> Recurrence:
    """Make a recurrence known under its key; an equal one that is known already is taken instead."""
    return _recurrences.setdefault(recurrence.key, recurrence)


def scan(
    recurrence: Recurrence,
    arguments: Sequence[torch.Tensor],
    sizes: dict[str, int],
    lengths: dict[str, torch.Tensor],
) -> list[torch.Tensor]:
    """The outputs of a recurrence, differentiable."""
    names = recurrence.sizes
    ragged = [lengths[n] for n in names if n in lengths]
    which = ",".join(str(names.index(n)) for n in names if n in lengths)
    values = [sizes[n] for n in names]
    found = torch.ops.indicial.scan(list(arguments), ragged, values, which, recurrence.key)
    outputs = found[: len(recurrence.outputs)]
    # What no input enters is computed for one member, and is the same for all.
    return list(outputs) if recurrence.differs else [output[0] for output in outputs]


@torch.library.custom_op("indicial::scan", mutates_args=())
def _scan(
    arguments: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    key: str,
) -> list[torch.Tensor]:
    recurrence = _recurrences[key]
    known = dict(zip(recurrence.arguments, arguments, strict=True))
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    found = recurrence.forward.run(known, by_name, _lengths(recurrence, lengths, ragged))
    return _apart([found[name] for name in recurrence.kept], arguments)


def _apart(found: Sequence[torch.Tensor], given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """An operator's results must not share memory with each other or with its arguments."""
    taken = {tensor.untyped_storage().data_ptr() for tensor in given}
    result = []
    for tensor in found:
        own = tensor.clone() if tensor.untyped_storage().data_ptr() in taken else tensor
        taken.add(own.untyped_storage().data_ptr())
        result.append(own)
    return result


def _lengths(
    recurrence: Recurrence, lengths: Sequence[torch.Tensor], ragged: str
) -> dict[str, torch.Tensor]:
    names = [recurrence.sizes[int(n)] for n in ragged.split(",") if n]
    return dict(zip(names, lengths, strict=True))


@_scan.register_fake
def _(
    arguments: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    key: str,
) -> list[torch.Tensor]:
    recurrence = _recurrences[key]
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    members = recurrence.members(arguments)
    like = next(a for a in arguments if a.is_floating_point())
    return [like.new_empty([members, *recurrence.shape(name, by_name)]) for name in recurrence.kept]


@torch.library.custom_op("indicial::scan_gradient", mutates_args=())
def _scan_gradient(
    arguments: Sequence[torch.Tensor],
    kept: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    key: str,
) -> list[torch.Tensor]:
    recurrence = _recurrences[key]
    known = dict(zip(recurrence.arguments, arguments, strict=True))
    known |= dict(zip(recurrence.kept, kept, strict=True))
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    incoming = dict(zip(recurrence.outputs, gradients, strict=True))
    found = recurrence.gradients(known, incoming, by_name, _lengths(recurrence, lengths, ragged))
    return _apart(
        [found[name] for name in recurrence.differentiable], [*arguments, *kept, *gradients]
    )


@_scan_gradient.register_fake
def _(
    arguments: Sequence[torch.Tensor],
    kept: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    key: str,
) -> list[torch.Tensor]:
    recurrence = _recurrences[key]
    by_name = dict(zip(recurrence.arguments, arguments, strict=True))
    return [torch.empty_like(by_name[name]) for name in recurrence.differentiable]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    arguments, lengths, ctx.sizes, ctx.ragged, ctx.key = inputs
    ctx.counts = len(arguments), len(lengths)
    ctx.save_for_backward(*arguments, *lengths, *output)


def _gradient(ctx: Any, gradients: list[torch.Tensor | None]) -> tuple[Any, ...]:
    recurrence = _recurrences[ctx.key]
    first, second = ctx.counts
    arguments = ctx.saved_tensors[:first]
    lengths = ctx.saved_tensors[first : first + second]
    kept = ctx.saved_tensors[first + second :]
    outputs = len(recurrence.outputs)
    incoming = [
        torch.zeros_like(value) if gradient is None else gradient
        for value, gradient in zip(kept[:outputs], gradients[:outputs], strict=True)
    ]
    found = torch.ops.indicial.scan_gradient(
        list(arguments), list(kept), incoming, list(lengths), ctx.sizes, ctx.ragged, ctx.key
    )
    by_name = dict(zip(recurrence.differentiable, found, strict=True))
    return [by_name.get(n) for n in recurrence.arguments], [None] * second, None, None, None


_scan.register_autograd(_gradient, setup_context=_keep)
