"""What each of several processes runs; in a file of its own, so that they import little."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from indicial import load

SOURCE = """
input x[t,k]
h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K] - B[j])
loss = Σ_{t,j} h[t,j]^2
"""
SIZES = {"J": 6, "K": 3}


def batch() -> torch.Tensor:
    return torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(1))


def train(rank: int, count: int, folder: str) -> None:
    """One step on this process's part of the batch; the gradients are written to a file."""
    dist.init_process_group(
        "gloo", init_method=f"file://{os.path.join(folder, 'meet')}", rank=rank, world_size=count
    )
    torch.manual_seed(0)
    module = DistributedDataParallel(load(SOURCE).compile(**SIZES))
    module(x=batch()[rank::count]).loss.backward()
    torch.save(
        {key: p.grad for key, p in module.module.named_parameters()},
        os.path.join(folder, f"{rank}.pt"),
    )
    dist.destroy_process_group()
