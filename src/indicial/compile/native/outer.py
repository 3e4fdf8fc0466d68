"""Products of tall matrices, as gradients of weights are: `outer(slopes, x)` is `slopes.T @ x`.

    slopes (8192, 256), x (8192, 256)      4.9 ms on two cores of an EPYC, for 6.2 of MKL
           (4096, 64)     (4096, 64)       0.15 ms for 0.21

What is summed are all members and steps, so both matrices are read once, where they lie (`outer.h`), and a
block of the result stays in registers. Where the kernel does not do it, PyTorch multiplies.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import torch

from indicial.compile.native import shared, toolchain

TEXT = """
typedef {real} real;
#include "outer.h"
"""
REALS = {torch.float32: "float", torch.float64: "double"}
WORTH = 1 << 18
"""Multiplications from which on the kernel is worth its call."""


def outer(
    left: torch.Tensor, right: torch.Tensor, into: torch.Tensor | None = None
) -> torch.Tensor:
    """`Σ_m left[m,n] right[m,k]`, as a new tensor or in the memory of one."""
    (rows, high), wide = left.shape, right.shape[1]
    given = left, right
    plain = left.device.type == "cpu" and left.dtype in REALS and left.dtype == right.dtype
    plain = plain and all(x.stride(1) == 1 and x.stride(0) >= x.shape[1] for x in given)
    tall = high >= 4 and wide >= 16 and rows * high * wide >= WORTH
    library = _library(REALS[left.dtype]) if plain and tall else None
    if library is None:
        return torch.mm(left.mT, right, out=into)
    result = left.new_empty(high, wide) if into is None else into
    sizes = [rows, high, wide, left.stride(0), right.stride(0), result.stride(0)]
    pool = shared.find_threads()
    library.outer(
        ctypes.byref(pool) if pool is not None else None,
        (ctypes.c_int64 * 6)(*sizes),
        (ctypes.c_void_p * 3)(left.data_ptr(), right.data_ptr(), result.data_ptr()),
    )
    return result


def start(real: str) -> None:
    """Have it compiled in the background."""
    toolchain.start(TEXT.format(real=real), quick=True)


@functools.cache
def _library(real: str) -> Any:
    """None without a compiler; whether there is one takes as long to find out as a small product."""
    return toolchain.load(TEXT.format(real=real), quick=True) if toolchain.available() else None
