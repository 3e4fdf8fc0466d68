"""What all kernels are handed: products of matrices, and threads.

Matrix products in C whose right operand is packed once and used in every step.

    find_products("float")  →  a `Products` with the addresses of pack and product

    kernel(ctypes.byref(find_products("float")), …)    to `void kernel(const struct products *, …)`

`products.h` has the products. A kernel can include it, or be handed the struct of
`team.h`, whose functions are compiled once for all kernels. Included, products with any
number of rows take the compiler 0.8 s, those with a constant number (`product(…, 16, n, k, 0)`)
0.3 s; handed over, nothing, and a call costs no more. They are compiled with few optimizations
(`toolchain.QUICK_FLAGS`), in 0.45 s: their vectors, blocks and unrolled loops are written out, and what
comes out is as fast, and the same bit for bit.

**Which product where.** In a loop, these: from 1 to 64 rows they are as fast as MKL called from C or
faster, in float and double. Transposed operands (the adjoint's) are as fast as others, since packing
takes any strides; MKL takes twice as long for them. Packing costs about as much as a product with
8 rows, transposed as one with 32. On one core with AVX512, times as fast as MKL:

    rows×columns×inner   1×16×16  1×256×128  4×128×64  8×256×128  16×512×256  64×512×512
    float                    5.4        1.2       1.4        1.0         1.0         0.95
    double                   6          1.05      1.3        0.95        1.0         1.0

With the core to itself it does 175 GFlop/s in float from 8 rows on, 65 with one row (the weights in
the second cache: 130 GB/s).

Outside of loops PyTorch multiplies, but for gradients of weights, summed over all steps (`outer.py`).

The threads that PyTorch already has, for C kernels.

    find_threads()  →  a `Threads` for `torch.get_num_threads()` threads, or None

    kernel(ctypes.byref(threads), …)     to `void kernel(const struct threads *, …)`

`threads.h` divides work over them. A kernel gets
NULL, and uses one thread, where PyTorch is set to one thread or was built without GNU's OpenMP.

**Why PyTorch's.** Its workers spin for some milliseconds after each operation, so a second pool
would compete with them for the same cores. Shared, they start a kernel in 1 µs (2 µs after an
operation of PyTorch, 3 to 7 µs when they went to sleep). It pays to divide from a few dozen µs of
work a part on.

All this with a free core for each thread. Where other processes use the cores, a start may wait
20 ms until a worker has its turn, as PyTorch's own operations do; a pool of our own that sleeps on
a condition variable took 35 to 230 µs then, and never less. What makes it so long is that they wait
awake, each on a core that another needs: `wait_asleep` has them sleep after some microseconds if
the machine is busy when a program starts.

Threads of Python that run kernels at once each get workers of their own from OpenMP. In a forked
process the workers are gone, and kernels use one thread there.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from indicial.compile.native import toolchain

SOURCE = """
typedef {real} real;
#include "products.h"
const long panel = PRODUCT_PANEL;
void pack(real *packed, const real *b, long k, long n, long row, long column) {{
  product_pack(packed, b, k, n, row, column);
}}
void multiply(real *c, long ldc, const real *a, long lda, const real *packed, long m, long n,
              long k, int add) {{
  product(c, ldc, a, lda, packed, m, n, k, add);
}}
"""


class Products(ctypes.Structure):
    """The `struct products` of team.h."""

    _fields_ = (
        ("panel", ctypes.c_long),
        ("pack", ctypes.c_void_p),
        ("product", ctypes.c_void_p),
    )


def start_products(real: str) -> None:
    """Compile them in the background; `find_products` waits for it."""
    toolchain.start(SOURCE.format(real=real), quick=True)


@functools.cache
def find_products(real: str) -> Products:
    """The products of `real`, "float" or "double"; `NativeError` without a compiler."""
    library = toolchain.load(SOURCE.format(real=real), quick=True)
    addresses = (ctypes.cast(library[name], ctypes.c_void_p) for name in ("pack", "multiply"))
    return Products(ctypes.c_long.in_dll(library, "panel").value, *addresses)


class CallStruct(ctypes.Structure):
    """The `struct call` of kernel.h; `alive` keeps what it points to."""

    alive: tuple[Any, ...]

    _fields_ = (
        ("products", ctypes.c_void_p),
        ("threads", ctypes.c_void_p),
        ("members", ctypes.c_long),
        ("sizes", ctypes.c_void_p),
        ("lengths", ctypes.c_void_p),
        ("tensors", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
        ("team", ctypes.c_void_p),
    )

    @staticmethod
    def of(
        real: str,
        threads: Threads | None,
        members: int,
        sizes: Sequence[int],
        lengths: Sequence[int],
        tensors: Sequence[int],
        rows: Sequence[int],
    ) -> CallStruct:
        """A call with some numbers: sizes, where lengths and tensors are, how far apart rows are."""
        products = find_products(real)
        kinds: tuple[Any, ...] = (ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        given = zip(kinds, (sizes, lengths, tensors, rows), strict=True)
        arrays = [(kind * (len(numbers) + 1))(*numbers) for kind, numbers in given]
        pool = ctypes.addressof(threads) if threads is not None else None
        call = CallStruct(ctypes.addressof(products), pool, members, *map(ctypes.addressof, arrays))
        call.alive = (products, threads, *arrays)  # as long as the call is
        return call


SYMBOLS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
"""What OpenMP's library exports, in the order of the fields."""

TURNS = "1000"
"""How often OpenMP's threads look whether there is work before they sleep, 10 to 40 µs; its own
choice is 300,000 times."""

LOOK = 0.2
"""Seconds for which the machine is watched."""
BUSY = 0.15
"""The share of all cores from which on others are in the way."""

_forked = False


class Threads(ctypes.Structure):
    """The `struct threads` of threads.h."""

    _fields_ = (
        ("parallel", ctypes.c_void_p),
        ("number", ctypes.c_void_p),
        ("count", ctypes.c_void_p),
        ("most", ctypes.c_int),
        ("process", ctypes.c_int),
    )


def wait_asleep() -> None:
    """For programs that run long, where others use the cores: threads of PyTorch that wait sleep.

    To be called before PyTorch is imported. With eight others on two cores a training step of a
    small UGRNN took 15 to 20 times as long with two threads as with one (one of `nn.LSTM` 10 to 20
    times); with this, 1.5 to 2 times. On cores of their own, threads that sleep wake too late: a
    step of a small transformer takes 1.5 times as long. What the environment says goes first.
    """
    chosen = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys()
    if not chosen and "torch" not in sys.modules and busy() > BUSY:
        os.environ["GOMP_SPINCOUNT"] = TURNS


def busy() -> float:
    """The share of all cores that is in use just now; where the kernel does not tell, in the last
    minute."""
    first = _idle()
    if first is None:
        return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0
    time.sleep(LOOK)
    idle, every = (now - then for now, then in zip(_idle() or first, first, strict=True))
    return 1 - idle / every if every else 0.0


def _idle() -> tuple[int, int] | None:
    """Ticks of all cores since the machine started: those without work, and all."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return None
    ticks = [int(number) for number in line.split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def find_threads() -> Threads | None:
    """PyTorch's threads as they are set now, or None if one is all there is."""
    import torch

    count = torch.get_num_threads()
    return None if _forked or count == 1 else _threads(count)


@functools.cache
def _threads(count: int) -> Threads | None:
    from indicial.compile.ground.torch_inside import addresses

    found = addresses(SYMBOLS)
    return Threads(*found, count, os.getpid()) if found else None


def _note_fork() -> None:
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_note_fork)
