"""Tensors that are divided over several processes, each of which has some rows (FSDP).

>>> parameter.shape, local(parameter).shape          # of two processes
(torch.Size([11, 8]), torch.Size([6, 8]))
>>> whole(parameter).shape                            # every process asks, every process has it
torch.Size([11, 8])
>>> divided(weights, parameter)                       # the rows of `weights` that are here

A tensor that is not divided is its own rows and its own whole, so that whoever calls these need not
ask how many processes there are.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor


def is_divided(tensor: Tensor) -> bool:
    """Whether other processes have the rest of it."""
    # A DTensor; its class takes long to import, and is there only where it is used.
    return hasattr(tensor, "full_tensor")


def local(tensor: Any) -> Tensor:
    """The rows that are here, not a copy."""
    found: Tensor = tensor.to_local() if is_divided(tensor) else tensor
    return found


def whole(tensor: Any) -> Tensor:
    """All rows. All processes must ask for the same tensors in the same order."""
    found: Tensor = tensor.full_tensor() if is_divided(tensor) else tensor
    return found


def divided(value: Tensor, like: Any) -> Tensor:
    """A whole tensor, divided as another one is; each process gives all of it."""
    value = value.to(like.device)
    if not is_divided(like):
        return value
    from torch.distributed.tensor import DTensor, Replicate

    everywhere = DTensor.from_local(value, like.device_mesh, [Replicate()], run_check=False)
    return everywhere.redistribute(placements=like.placements)


def joined(rows: Tensor, like: Any) -> Tensor:
    """All rows of a tensor of which `rows` are here, divided as another one is."""
    if not is_divided(like):
        return rows
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        rows, like.device_mesh, like.placements, shape=like.shape, stride=like.stride()
    ).full_tensor()
