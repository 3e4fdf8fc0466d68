"""Recurrences as PyTorch operators, so that autograd, `torch.compile` and `torch.export` know them.

    indicial::scan(arguments, lengths, sizes, key)  →  outputs, and what the gradient needs

There is one operator for all recurrences; the key, made from the equations, says which one is
meant. A recurrence that a program was exported with must be registered (compiled) again before the
exported program runs in another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from indicial.compile.emit.quick import followed
from indicial.compile.emit.running import empty_sizes
from indicial.compile.ground.torch_inside import watched
from indicial.compile.native.recurrence import Recurrence, registered
from indicial.compile.native.routine import REALS

# Written out: not all versions of PyTorch read them off `list[torch.Tensor]`.
SCAN = "(Tensor[] arguments, Tensor[] lengths, SymInt[] sizes, str ragged, str key) -> Tensor[]"
SCAN_GRADIENT = (
    "(Tensor[] arguments, Tensor[] kept, Tensor[] gradients, Tensor[] lengths, SymInt[] sizes, "
    "str ragged, str needed, str key) -> Tensor[]"
)


def run(
    recurrence: Recurrence,
    arguments: Sequence[torch.Tensor],
    sizes: Sequence[int],
    lengths: dict[str, torch.Tensor],
) -> list[torch.Tensor]:
    """The outputs of a recurrence: by its kernels on the processor, else by PyTorch."""
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    return recurrence.together.run(partial(_run_members, recurrence), arguments, by_name, lengths)


def _run_members(
    recurrence: Recurrence,
    arguments: Sequence[torch.Tensor],
    sizes: dict[str, int],
    lengths: dict[str, torch.Tensor],
) -> list[torch.Tensor]:
    if all(map(_suits, arguments)) and not followed(*arguments) and not empty_sizes(sizes):
        return scan(recurrence, arguments, sizes, lengths)
    found = recurrence.plain(arguments, sizes, lengths)
    if empty_sizes(sizes):
        # What has no elements depends on nothing; a gradient of it is still asked for, and is 0.
        nothing = [a.flatten()[:0].sum() for a in arguments if a.is_floating_point()]
        found = [output + sum(nothing) for output in found]
    return found


def _suits(tensor: torch.Tensor) -> bool:
    """Whether kernels take a tensor; one that a transform follows may have no memory besides."""
    return tensor.device.type in ("cpu", "meta") and tensor.dtype in REALS


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
    if _seen_through(arguments):
        found = torch.ops.indicial.scan(list(arguments), ragged, values, which, recurrence.key)
    elif not (torch.is_grad_enabled() and any(a.requires_grad for a in arguments)):
        known = dict(zip(recurrence.arguments, arguments, strict=True))
        own = {n: lengths[n] for n in names if n in lengths}
        outputs = recurrence.outputs_only.run(known, sizes, own)
        return _apart([outputs[name] for name in recurrence.outputs], arguments)
    else:
        found = _Directly.apply(  # type: ignore[no-untyped-call]
            recurrence, values, which, len(arguments), *arguments, *ragged
        )
    return list(found[: len(recurrence.outputs)])


def _seen_through(arguments: Sequence[torch.Tensor]) -> bool:
    """Whether somebody watches operators: a tracer, a mode, a tensor of another kind."""
    if torch.compiler.is_compiling() or watched():
        return True
    plain = (torch.Tensor, torch.nn.Parameter)
    return any(type(a) not in plain or a.device.type == "meta" for a in arguments)


class _Directly(torch.autograd.Function):
    """The same without the dispatcher, which costs more than a short recurrence does."""

    @staticmethod
    def forward(
        ctx: Any, recurrence: Recurrence, sizes: list[int], ragged: str, count: int,
        *tensors: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:  # fmt: skip
        arguments, lengths = tensors[:count], tensors[count:]
        if any(ctx.needs_input_grad):
            _expect_gradient(recurrence, arguments, ctx.needs_input_grad[4:], sizes, ragged)
        found = _run(recurrence, arguments, lengths, sizes, ragged)
        ctx.recurrence, ctx.sizes, ctx.ragged, ctx.count = recurrence, sizes, ragged, count
        ctx.save_for_backward(*tensors, *found)
        ctx.mark_non_differentiable(*found[len(recurrence.outputs) :])
        ctx.set_materialize_grads(False)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[Any, ...]:
        recurrence, count = ctx.recurrence, ctx.count
        saved = ctx.saved_tensors  # once: under checkpoint they are not there a second time
        tensors = len(saved) - len(recurrence.kept)
        arguments, lengths, kept = saved[:count], saved[count:tensors], saved[tensors:]
        which = _needed(recurrence, ctx.needs_input_grad[4 : 4 + count])
        incoming = _whole(recurrence, kept, gradients)
        found = _run_back(
            recurrence, arguments, kept, incoming, lengths, ctx.sizes, ctx.ragged, which,
            plainly=_seen_behind(incoming),
        )  # fmt: skip
        by_name = dict(zip(_chosen(recurrence.arguments, which), found, strict=True))
        own = [by_name.get(name) for name in recurrence.arguments]
        return (None, None, None, None, *own, *(None for _ in lengths))


def _expect_gradient(
    recurrence: Recurrence,
    arguments: Sequence[torch.Tensor],
    needs: Sequence[bool],
    sizes: Sequence[int],
    ragged: str,
) -> None:
    needed = [n for n, need in enumerate(needs[: len(arguments)]) if need]
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    ends = frozenset(_chosen(recurrence.sizes, ragged))
    recurrence.expect(arguments[0].dtype, by_name, ends, needed)


def _needed(recurrence: Recurrence, needs: Sequence[bool]) -> str:
    """The numbers of the arguments whose gradients are needed."""
    pairs = enumerate(zip(recurrence.arguments, needs, strict=True))
    return ",".join(str(n) for n, (a, need) in pairs if need and a in recurrence.differentiable)


def _whole(
    recurrence: Recurrence,
    kept: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor | None],
) -> list[torch.Tensor]:
    """The outputs' gradients, zeros where nobody asked for an output."""
    count = len(recurrence.outputs)
    return [
        torch.zeros_like(value) if gradient is None else gradient
        for value, gradient in zip(kept[:count], gradients[:count], strict=True)
    ]


def _run(
    recurrence: Recurrence,
    arguments: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
) -> list[torch.Tensor]:
    known = dict(zip(recurrence.arguments, arguments, strict=True))
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    found = recurrence.forward.run(known, by_name, _lengths(recurrence, lengths, ragged))
    return _apart([found[name] for name in recurrence.kept], arguments)


def _run_back(
    recurrence: Recurrence,
    arguments: Sequence[torch.Tensor],
    kept: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    needed: str,
    plainly: bool = False,
) -> list[torch.Tensor]:
    """The adjoints of some arguments; `plainly` by PyTorch, which can differentiate them."""
    known = dict(zip(recurrence.arguments, arguments, strict=True))
    known |= dict(zip(recurrence.kept, kept, strict=True))
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    incoming = dict(zip(recurrence.outputs, gradients, strict=True))
    names = _chosen(recurrence.arguments, needed)
    ends = _lengths(recurrence, lengths, ragged)
    if plainly:
        found = recurrence.plain_gradients(known, incoming, by_name, ends, names)
        return [found[name] for name in names]
    found = recurrence.gradients(known, incoming, by_name, ends, names)
    return _apart([found[name] for name in names], [*arguments, *kept, *gradients])


def _seen_behind(gradients: Sequence[torch.Tensor]) -> bool:
    """Whether a gradient is itself looked at: to be differentiated, or many of them at once."""
    return torch.is_grad_enabled() or followed(*gradients)


@torch.library.custom_op("indicial::scan", mutates_args=(), schema=SCAN)
def _scan(
    arguments: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    key: str,
) -> list[torch.Tensor]:
    return _run(registered(key), arguments, lengths, sizes, ragged)


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
    return dict(zip(_chosen(recurrence.sizes, ragged), lengths, strict=True))


@_scan.register_fake
def _(
    arguments: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    key: str,
) -> list[torch.Tensor]:
    recurrence = registered(key)
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    members = recurrence.members(arguments)
    return [
        arguments[0].new_empty(
            [*([members] if name in recurrence.varying else []), *recurrence.shape(name, by_name)]
        )
        for name in recurrence.kept
    ]


@torch.library.custom_op("indicial::scan_gradient", mutates_args=(), schema=SCAN_GRADIENT)
def _scan_gradient(
    arguments: Sequence[torch.Tensor],
    kept: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    needed: str,
    key: str,
) -> list[torch.Tensor]:
    recurrence = registered(key)
    return _run_back(recurrence, arguments, kept, gradients, lengths, sizes, ragged, needed)


def _chosen(names: Sequence[str], which: str) -> tuple[str, ...]:
    """Some of the names: `_chosen(["R", "W"], "1")` → `("W",)`."""
    return tuple(names[int(n)] for n in which.split(",") if n)


@_scan_gradient.register_fake
def _(
    arguments: Sequence[torch.Tensor],
    kept: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    lengths: Sequence[torch.Tensor],
    sizes: Sequence[int],
    ragged: str,
    needed: str,
    key: str,
) -> list[torch.Tensor]:
    recurrence = registered(key)
    by_name = dict(zip(recurrence.arguments, arguments, strict=True))
    return [torch.empty_like(by_name[name]) for name in _chosen(recurrence.arguments, needed)]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    arguments, lengths, ctx.sizes, ctx.ragged, ctx.key = inputs
    ctx.counts = len(arguments), len(lengths)
    ctx.save_for_backward(*arguments, *lengths, *output)


def _gradient(ctx: Any, gradients: list[torch.Tensor | None]) -> tuple[Any, ...]:
    recurrence = registered(ctx.key)
    first, second = ctx.counts
    saved = ctx.saved_tensors
    arguments, lengths = saved[:first], saved[first : first + second]
    kept = saved[first + second :]
    incoming = _whole(recurrence, kept, gradients)
    which = _needed(recurrence, ctx.needs_input_grad[0])
    if _seen_behind(incoming):
        found = _run_back(
            recurrence, arguments, kept, incoming, lengths, ctx.sizes, ctx.ragged, which,
            plainly=True,
        )  # fmt: skip
    else:
        found = torch.ops.indicial.scan_gradient(
            list(arguments), list(kept), incoming, list(lengths), ctx.sizes, ctx.ragged, which,
            ctx.key,
        )  # fmt: skip
    by_name = dict(zip(_chosen(recurrence.arguments, which), found, strict=True))
    return [by_name.get(n) for n in recurrence.arguments], [None] * second, None, None, None


_scan.register_autograd(_gradient, setup_context=_keep)
