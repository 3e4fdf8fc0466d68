"""Kernels that are written by hand: attention, and products of tall matrices.

    attend(query, key, value, causal=True, scale=0.125)      (B, K, T, I), and its gradient

Weights of a block of rows at a time, by the products of all kernels. PyTorch's fused call takes 1.3 times as
long for 128 keys, 1.9 times for 512, 1.4 times for 1,024. Where the kernel does not do it, None is given, and
who asked calls PyTorch.

    outer_product(slopes, x)            slopes.T @ x, as gradients of weights are

    slopes (8192, 256), x (8192, 256)      4.9 ms on two cores of an EPYC, for 6.2 of MKL
           (4096, 64)     (4096, 64)       0.15 ms for 0.21

What is summed are all members and steps, so both matrices are read once, where they lie (`outer.h`), and a
block of the result stays in registers. Where the kernel does not do it, PyTorch multiplies.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import torch
from torch import Tensor

from indicial.compile.emit.running import again, plainly, written_out
from indicial.compile.native import shared, toolchain
from indicial.compile.native.shared import CallStruct

REALS = {torch.float32: "float", torch.float64: "double"}

ATTENTION = """
typedef {real} real;
#define EXP exp_{real}
#define LN ln_{real}
#define WAY {way}
#include "attention.h"
"""
FORWARD, BACKWARD = "attend", "attend_back"


def _suits(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether the kernel computes it: several queries, a batch of heads, plain memory of one type."""
    given = query, key, value
    if query.dim() != 4 or query.shape[-2] < 2 or query.device.type != "cpu":
        return False
    if query.dtype not in REALS or any(x.dtype != query.dtype for x in given):
        return False
    same = query.shape[:2] == key.shape[:2] == value.shape[:2] and 0 not in query.shape
    whole = key.shape[2] == value.shape[2] > 0 and query.shape[3] == key.shape[3] and value.shape[3]
    return bool(same and whole) and not plainly(*given) and toolchain.available()


def attend(
    query: Tensor, key: Tensor, value: Tensor, causal: bool, scale: float | None
) -> Tensor | None:
    """What `F.scaled_dot_product_attention` gives, for tensors that suit."""
    if not _suits(query, key, value):
        return None
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    found: Tensor = _Attention.apply(query, key, value, causal, scale)  # type: ignore[no-untyped-call]
    return found


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, causal: bool, scale: float
    ) -> Tensor:
        given = [_in_rows(x) for x in (query, key, value)]
        out = _heads(query, value.shape[3])
        total = query.new_empty(query.shape[:3])
        _run(FORWARD, causal, scale, given, [out, total])
        ctx.save_for_backward(query, key, value, out, total)
        ctx.way = causal, scale
        return out

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, out, total = ctx.saved_tensors
        causal, scale = ctx.way
        if torch.is_grad_enabled():
            return again(
                ctx,
                lambda q, k, v: written_out(q, k, v, None, causal, scale),
                (query, key, value),
                slope,
            )
        given = [_in_rows(x) for x in (query, key, value, out, slope)]
        results = _side_by_side(query, key, value)
        _run(BACKWARD, causal, scale, given[:3], [given[3], total, given[4], *results])
        return *results, None, None


def _in_rows(x: Tensor) -> Tensor:
    """The tensor itself, if its rows have no gaps; else a copy."""
    return x if x.stride(3) == 1 or x.shape[3] == 1 else x.contiguous()


def _heads(like: Tensor, width: int) -> Tensor:
    """Memory for what has its heads side by side at each step, as what is made of them reads it."""
    members, heads, steps, _ = like.shape
    return like.new_empty(members, steps, heads, width).transpose(1, 2)


def _side_by_side(*like: Tensor) -> list[Tensor]:
    """Memory for gradients, in one row for each step: who joins what they are of need not copy them."""
    if like[0].shape[2] != like[1].shape[2]:
        return [_heads(x, x.shape[3]) for x in like]
    members, heads, steps, _ = like[0].shape
    widths = [heads * x.shape[3] for x in like]
    parts = torch.split(like[0].new_empty(members, steps, sum(widths)), widths, -1)
    return [part.view(members, steps, heads, -1).transpose(1, 2) for part in parts]


def _run(way: str, causal: bool, scale: float, given: list[Tensor], others: list[Tensor]) -> None:
    query, key, value = given
    every = [*given, query.new_tensor([scale]), *others]
    members, heads, queries, width = query.shape
    sizes = [heads, queries, key.shape[2], width, value.shape[3], int(causal)]
    for x in every:
        sizes += [*x.stride()[:2], x.stride(2)] if x.dim() > 2 else [0, 0, 0]
    real, memory = REALS[query.dtype], [x.data_ptr() for x in every]
    call = CallStruct.of(real, shared.find_threads(), members * heads, sizes, (), memory, ())
    _attending(real, way).run(ctypes.byref(call))


@functools.cache
def _attending(real: str, way: str) -> ctypes.CDLL:
    if way == FORWARD:  # the other one will be asked for soon
        toolchain.start(ATTENTION.format(real=real, way=BACKWARD))
    library = toolchain.load(ATTENTION.format(real=real, way=way))
    library.run.argtypes = [ctypes.POINTER(CallStruct)]
    return library


OUTER = """
typedef {real} real;
#include "outer.h"
"""
WORTH = 1 << 18
"""Multiplications from which on the kernel is worth its call."""


def outer_product(left: Tensor, right: Tensor, into: Tensor | None = None) -> Tensor:
    """`Σ_m left[m,n] right[m,k]`, as a new tensor or in the memory of one."""
    (rows, high), wide = left.shape, right.shape[1]
    given = left, right
    plain = left.device.type == "cpu" and left.dtype in REALS and left.dtype == right.dtype
    plain = plain and all(x.stride(1) == 1 and x.stride(0) >= x.shape[1] for x in given)
    tall = high >= 4 and wide >= 16 and rows * high * wide >= WORTH
    library = _multiplying(REALS[left.dtype]) if plain and tall else None
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


def start_outer(real: str) -> None:
    """Have it compiled in the background."""
    toolchain.start(OUTER.format(real=real), quick=True)


@functools.cache
def _multiplying(real: str) -> Any:
    """None without a compiler; whether there is one takes as long to find out as a small product."""
    return toolchain.load(OUTER.format(real=real), quick=True) if toolchain.available() else None
