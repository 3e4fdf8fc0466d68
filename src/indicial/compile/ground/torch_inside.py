"""What is private to PyTorch or changes between its versions, each with a public way to the same.

    >>> transformed(tensor)             inside a transform of `torch.func`, where it has no memory
    False
    >>> scale_([a, b], [2.0, 0.5])      `torch._foreach_mul_`, or one tensor after the other

Nothing else in this package uses a name of PyTorch that begins with an underscore
(`tests/compile/test_torch_inside.py`). Such names are quicker, and may be gone in another version;
they are looked up when they are used, and what is missing is done by what is documented. The
versions that were tried stand in CONTRIBUTING.md.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def _private(path: str) -> Any:
    """`torch.<path>`, or None in a version without it."""
    found: Any = torch
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


# ------------------------------------------------------------------ who looks on


def transformed(*tensors: Tensor) -> bool:
    """Whether one is inside a transform of `torch.func`: others' numbers, no memory of its own."""
    known = _private("_C._functorch.is_functorch_wrapped_tensor")
    batched = _private("_C._functorch.is_legacy_batchedtensor")  # gradients of many at once
    if known is not None and batched is not None:
        return any(known(tensor) or batched(tensor) for tensor in tensors)
    try:
        for tensor in tensors:
            tensor.data_ptr()
    except RuntimeError:
        return True
    return False


def transforming() -> bool:
    """Whether forward mode or a transform of `torch.func` is at work; yes, where it cannot be known."""
    level = _private("autograd.forward_ad._current_level")
    stack = _private("_C._functorch.peek_interpreter_stack")
    return level is None or stack is None or level >= 0 or stack() is not None


def differentiated() -> Any:
    """The node of autograd whose gradient is being computed; None where it cannot be known."""
    known = _private("_C._current_autograd_node")
    return None if known is None else known()


def watched() -> bool:
    """Whether a mode wants to see every operator; yes, where it cannot be known."""
    known = _private("_C._len_torch_dispatch_stack")
    return known is None or known() > 0


def intercepted() -> bool:
    """Whether a mode wants to see every call of a function; yes, where it cannot be known."""
    known = _private("_C._len_torch_function_stack")
    return known is None or known() > 0


def register_container(
    kind: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any], name: str
) -> None:
    """Let `torch.export` and `torch.func` look into a container; without it they take it for a leaf."""
    try:
        from torch.utils import _pytree as pytree
    except ImportError:
        return
    pytree.register_pytree_node(kind, flatten, unflatten, serialized_type_name=name)


# ------------------------------------------------------------------ all tensors in one call


def scale_(tensors: list[Tensor], factors: Sequence[float]) -> None:
    """Multiply each by its factor, in place."""
    if (known := _private("_foreach_mul_")) is not None:
        known(tensors, list(factors))
        return
    for tensor, factor in zip(tensors, factors, strict=True):
        tensor.mul_(factor)


def add_(tensors: list[Tensor], others: list[Tensor], times: float) -> None:
    """Add `times` the other to each, in place."""
    if (known := _private("_foreach_add_")) is not None:
        known(tensors, others, alpha=times)
        return
    for tensor, other in zip(tensors, others, strict=True):
        tensor.add_(other, alpha=times)


def move_(tensors: list[Tensor], towards: list[Tensor], share: float) -> None:
    """Move each a share of the way towards the other, in place."""
    if (known := _private("_foreach_lerp_")) is not None:
        known(tensors, towards, share)
        return
    for tensor, other in zip(tensors, towards, strict=True):
        tensor.lerp_(other, share)


def norms(tensors: list[Tensor]) -> list[Tensor]:
    """The length of each."""
    if (known := _private("_foreach_norm")) is not None:
        return list(known(tensors))
    return [torch.linalg.vector_norm(tensor) for tensor in tensors]


def adamw_(
    values: list[Tensor],
    gradients: list[Tensor],
    means: list[Tensor],
    squares: list[Tensor],
    steps: list[Tensor],
    *,
    learning_rate: float,
    betas: tuple[float, float],
    decay: float,
    epsilon: float,
) -> None:
    """A step of AdamW, in place; its state is counted and moved on as well."""
    try:
        from torch.optim.adamw import adamw
    except ImportError:
        every = zip(values, gradients, means, squares, steps, strict=True)
        for value, gradient, mean, square, count in every:
            count.add_(1)
            first, second = (1 - beta ** count.item() for beta in betas)
            value.mul_(1 - learning_rate * decay)
            mean.lerp_(gradient, 1 - betas[0])
            square.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
            size = (square / second).sqrt().add_(epsilon)
            value.addcdiv_(mean, size, value=-learning_rate / first)
        return
    adamw(
        values, gradients, means, squares, [], steps,
        fused=True, amsgrad=False, maximize=False,
        beta1=betas[0], beta2=betas[1], lr=learning_rate, weight_decay=decay, eps=epsilon,
    )  # fmt: skip


# ------------------------------------------------------------------ the library behind it


@functools.cache
def torch_library() -> ctypes.CDLL | None:
    """PyTorch's own library, which exports its matrix products and threads; None if it is elsewhere."""
    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        if (folder / name).exists():
            try:
                return ctypes.CDLL(str(folder / name))
            except OSError:
                return None
    return None


def addresses(symbols: Sequence[str]) -> tuple[int | None, ...] | None:
    """Where these symbols of the library lie, or None if one of them is missing."""
    found = torch_library()
    if found is None:
        return None
    try:
        return tuple(ctypes.cast(found[symbol], ctypes.c_void_p).value for symbol in symbols)
    except AttributeError:
        return None
