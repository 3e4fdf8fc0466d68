"""Matrix products in C whose right operand is packed once and used in every step.

    find("float")  →  a `Products` with the addresses of pack and product

    kernel(ctypes.byref(find("float")), …)    to `void kernel(const struct products *, …)`

`products.h` has the products. A kernel can include it, or be handed the struct of
`shared_products.h`, whose functions are compiled once for all kernels. Included, products with any
number of rows take the compiler 0.8 s, those with a constant number (`product(…, 16, n, k, 0)`)
0.3 s; handed over, nothing, and a call costs no more. They are compiled with few optimizations
(`toolchain.QUICK`), in 0.45 s: their vectors, blocks and unrolled loops are written out, and what
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

Outside of loops, where nothing is used twice (the gradient of a weight, summed over all steps),
PyTorch multiplies.
"""

from __future__ import annotations

import ctypes
import functools

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
    """The `struct products` of shared_products.h."""

    _fields_ = (
        ("panel", ctypes.c_long),
        ("pack", ctypes.c_void_p),
        ("product", ctypes.c_void_p),
    )


def start(real: str) -> None:
    """Compile them in the background; `find` waits for it."""
    toolchain.start(SOURCE.format(real=real), quick=True)


@functools.cache
def find(real: str) -> Products:
    """The products of `real`, "float" or "double"; `NativeError` without a compiler."""
    library = toolchain.load(SOURCE.format(real=real), quick=True)
    addresses = (ctypes.cast(library[name], ctypes.c_void_p) for name in ("pack", "multiply"))
    return Products(ctypes.c_long.in_dll(library, "panel").value, *addresses)
