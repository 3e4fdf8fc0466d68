"""The products of products.h against numpy: all blocks of rows, partial panels, strides, types."""

import ctypes
import dataclasses

import numpy as np
import pytest

from indicial.compile.native import shared, toolchain

KERNEL = """
typedef {real} real;
#include "team.h"
#include <stdlib.h>
void kernel(const struct products *products, real *c, long ldc, const real *a, long lda,
            const real *b, long row, long column, long m, long n, long k, int add) {{
  const long panels = (n + products->panel - 1) / products->panel;
  real *packed = malloc(sizeof(real) * (panels * products->panel * k + 1));
  products->pack(packed, b, k, n, row, column);
  products->product(c, ldc, a, lda, packed, m, n, k, add);
  free(packed);
}}
"""
TYPES = {np.float32: "float", np.float64: "double"}
SHAPES = [(rows, 40, 19) for rows in range(1, 18)] + [
    (1, 1, 1), (1, 300, 64), (1, 64, 3), (2, 129, 3), (3, 96, 50), (8, 32, 0), (0, 5, 5),
    (4, 0, 5), (16, 48, 48), (33, 200, 31),
]  # fmt: skip

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")


def surrounded(values: np.ndarray) -> np.ndarray:
    """The same matrix, with nan to the right of each row and behind the last."""
    rows, columns = values.shape
    whole = np.full((rows + 1, columns + 3), np.nan, dtype=values.dtype)
    whole[:rows, :columns] = values
    return whole


def check(found: shared.Products, dtype: type) -> None:
    kernel = toolchain.load(KERNEL.format(real=TYPES[dtype])).kernel
    rng = np.random.default_rng(5)
    for m, n, k in SHAPES:
        for transposed, add in ((0, 0), (0, 1), (1, 1)):
            a, b, c = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n), (m, n)))
            result, left = surrounded(c), surrounded(a)
            right = np.ascontiguousarray(b.T) if transposed else b
            strides = (1, k) if transposed else (n, 1)
            pointers = [ctypes.c_void_p(array.ctypes.data) for array in (result, left, right)]
            kernel(
                ctypes.byref(found),
                *(pointers[0], ctypes.c_long(n + 3)),
                *(pointers[1], ctypes.c_long(k + 3)),
                *(pointers[2], *map(ctypes.c_long, strides)),
                *(*map(ctypes.c_long, (m, n, k)), add),
            )
            expected = surrounded((a.astype(float) @ b.astype(float) + add * c).astype(dtype))
            tolerance = 200 * np.finfo(dtype).eps
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TYPES)
def test_products(dtype: type) -> None:
    check(shared.find_products(TYPES[dtype]), dtype)


@pytest.mark.parametrize("without", ["-mno-avx512f", "-mno-avx"])
def test_narrower_vectors(without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = toolchain.find_compiler()
    if "__x86_64__" not in compiler.identity:
        pytest.skip("flags of x86")
    narrow = dataclasses.replace(compiler, flags=(*compiler.flags, without))
    monkeypatch.setattr(toolchain, "find_compiler", lambda: narrow)
    found = shared.find_products.__wrapped__("float")
    assert found.panel == (16 if "#define __AVX__" in compiler.identity and "512" in without else 8)
    check(found, np.float32)


def test_the_header_can_be_included() -> None:
    source = """
    typedef double real;
    #include "products.h"
    void kernel(real *c, const real *a, const real *b, real *packed) {
      product_pack(packed, b, 2, 2, 2, 1);
      product(c, 2, a, 2, packed, 2, 2, 2, 0);
    }
    """
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
    c, packed = np.empty((2, 2)), np.empty(200)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (c, a, b, packed)]
    toolchain.load(source).kernel(*pointers)
    np.testing.assert_array_equal(c, a @ b)


def test_fewer_optimizations_change_no_bit() -> None:
    """A product and a sum are one operation, as with more of them: it is that which is fast."""
    source = shared.SOURCE.format(real="float")
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((7, 37), (37, 70)))
    found = []
    for quick in (True, False):
        library = toolchain.load(source, quick=quick)
        packed, c = np.zeros(96 * 37, np.float32), np.zeros((7, 70), np.float32)
        at = [ctypes.c_void_p(array.ctypes.data) for array in (c, a, b, packed)]
        k, n = ctypes.c_long(37), ctypes.c_long(70)
        library.pack(at[3], at[2], k, n, n, ctypes.c_long(1))
        library.multiply(at[0], n, at[1], k, at[3], ctypes.c_long(7), n, k, 0)
        found.append(c)
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], a @ b, rtol=1e-4, atol=1e-5)
