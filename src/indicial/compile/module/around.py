"""What PyTorch lays around a call: autocast, and full backward hooks.

Under `torch.autocast` matrix products are rounded; sums, functions and recurrences are not.

    with torch.autocast("cuda", dtype=torch.bfloat16):
        module(w=w).loss            products in bfloat16, their results and all else in float32

Plain autocast would go on in the lower precision until some operation asks for more. A program that
walks along its input step by step runs in float32 throughout: errors would grow with every step.

Full backward hooks of a module that is called by name and returns tensors by name.

module.register_full_backward_hook(lambda module, grad_input, grad_output: …)

`grad_input` are the gradients of the inputs in the order in which they were given, `grad_output` those
of the outputs in the order of the result. PyTorch itself looks at positional inputs and at tuples only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import BackwardHook, RemovableHandle

PRODUCTS = {
    F.linear, F.conv1d, F.conv2d, F.conv3d, F.scaled_dot_product_attention, torch.einsum,
    torch.matmul, torch.mm, torch.bmm, torch.mv, torch.addmm, torch.baddbmm,
    torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.mm, torch.Tensor.bmm,
}  # fmt: skip


@contextmanager
def own_precision(walks: bool, like: torch.Tensor) -> Iterator[None]:
    """What a run happens in; nothing special outside autocast, full precision where it `walks`."""
    kind = like.device.type
    if kind == "meta" or not torch.is_autocast_enabled(kind):
        yield
        return
    lower = torch.get_autocast_dtype(kind)
    with torch.autocast(kind, enabled=False):
        if walks or like.dtype != torch.float32:
            yield
            return
        with Rounded(lower):
            yield


class Rounded(TorchFunctionMode):
    """Matrix products of float32 tensors in a lower precision, with results in float32."""

    def __init__(self, lower: torch.dtype) -> None:
        super().__init__()
        self.lower = lower

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func not in PRODUCTS:
            return func(*args, **kwargs)
        rounded = [self.rounded(a) for a in args]
        named = {name: self.rounded(a) for name, a in kwargs.items()}
        return func(*rounded, **named).float()

    def rounded(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
            return value.to(self.lower)
        return value


Hook = Callable[..., Any]


class BackwardHooks:
    """The hooks of one module; `after` are called with both gradients, `before` with the outputs'."""

    def __init__(self) -> None:
        self.after: OrderedDict[int, Hook] = OrderedDict()
        self.before: OrderedDict[int, Hook] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self.after or self.before)

    def call(
        self,
        module: torch.nn.Module,
        compute: Callable[[Mapping[str, Any]], dict[str, torch.Tensor]],
        given: Mapping[str, Any],
    ) -> dict[str, torch.Tensor]:
        """What is computed of what is given, with the hooks on both ends."""
        around = BackwardHook(module, self.after.values(), self.before.values())
        inputs = around.setup_input_hook(tuple(given.values()))  # type: ignore[no-untyped-call]
        found = compute(dict(zip(given, inputs, strict=True)))
        outputs = around.setup_output_hook(tuple(found.values()))  # type: ignore[no-untyped-call]
        return dict(zip(found, outputs, strict=True))


def added(hooks: OrderedDict[int, Hook], hook: Hook, first: bool) -> RemovableHandle:
    """A hook among others; the handle takes it away again."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle
