"""The matrix products that PyTorch brings along, for C kernels: addresses, no linking.

    find()  →  a `Blas` with the addresses of sgemm, dgemm and set_threads, or None

    kernel(ctypes.byref(blas), …)     to a function `void kernel(const struct blas *, …)`

PyTorch's library exports the symbols of the BLAS that it was built with (MKL on x86). `blas.h`
declares the struct, and products of row-major matrices on top of it. A kernel gets NULL where there
is no BLAS, and then uses `products.h`; `products.py` has the rule for choosing.

Called from C, MKL costs 0.04 µs and comes close to the processor's peak from 4×64×64 on; packing
ahead (sgemm_pack) gains nothing. A right operand that is stored transposed (`tb`) takes twice the
time at these sizes: transpose what stays the same once, before the loop.

A BLAS is taken only if it can be told to stay in the calling thread (`set_threads(1)`): kernels
divide their work themselves.
"""

from __future__ import annotations

import ctypes
import functools

from indicial.compile.torch_inside import addresses


class Blas(ctypes.Structure):
    """The `struct blas` of blas.h."""

    _fields_ = (
        ("sgemm", ctypes.c_void_p),
        ("dgemm", ctypes.c_void_p),
        ("set_threads", ctypes.c_void_p),
    )


SYMBOLS = ("sgemm_", "dgemm_", "MKL_Set_Num_Threads_Local")
"""The exported names, in the order of the fields."""


@functools.cache
def find() -> Blas | None:
    """The BLAS of PyTorch's library, or None."""
    found = addresses(SYMBOLS)
    return Blas(*found) if found else None
