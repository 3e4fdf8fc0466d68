"""Full backward hooks of a module that is called by name and returns tensors by name.

module.register_full_backward_hook(lambda module, grad_input, grad_output: …)

`grad_input` are the gradients of the inputs in the order in which they were given, `grad_output` those
of the outputs in the order of the result. PyTorch itself looks at positional inputs and at tuples only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils.hooks import BackwardHook, RemovableHandle

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
