"""The BLAS that PyTorch brings along computes the products of blas.h."""

import ctypes
from itertools import product

import numpy as np
import pytest

from indicial.compile import torch_inside
from indicial.compile.native import blas, toolchain

SOURCE = """
#include "blas.h"
void floats(const struct blas *blas, int m, int n, int k, const float *a, int lda, int ta,
            const float *b, int ldb, int tb, float beta, float *c, int ldc) {
  int threads = blas->set_threads(1);
  blas_product_float(blas, m, n, k, a, lda, ta, b, ldb, tb, beta, c, ldc);
  blas->set_threads(threads);
}
void doubles(const struct blas *blas, int m, int n, int k, const double *a, int lda, int ta,
             const double *b, int ldb, int tb, double beta, double *c, int ldc) {
  blas_product_double(blas, m, n, k, a, lda, ta, b, ldb, tb, beta, c, ldc);
}
"""

needs_blas = pytest.mark.skipif(
    not toolchain.available() or blas.find() is None, reason="no C compiler or no BLAS"
)


def padded(rng: np.random.Generator, rows: int, columns: int, dtype: type) -> np.ndarray:
    """A matrix whose rows lie further apart than they are long."""
    return rng.standard_normal((rows, columns + 3)).astype(dtype)[:, :columns]


@needs_blas
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products(dtype: type) -> None:
    library = toolchain.load(SOURCE)
    function = library.floats if dtype is np.float32 else library.doubles
    number = ctypes.c_float if dtype is np.float32 else ctypes.c_double
    rng = np.random.default_rng(1)
    for (m, n, k), ta, tb, beta in product([(1, 5, 3), (4, 1, 7), (6, 17, 33)], *[(0, 1)] * 3):
        a = padded(rng, *((k, m) if ta else (m, k)), dtype)
        b = padded(rng, *((n, k) if tb else (k, n)), dtype)
        c = padded(rng, m, n, dtype)
        expected = beta * c + (a.T if ta else a) @ (b.T if tb else b)
        arguments = []
        for matrix, flag in ((a, (ta,)), (b, (tb, number(beta))), (c, ())):
            row = matrix.strides[0] // matrix.itemsize
            arguments += [ctypes.c_void_p(matrix.ctypes.data), row, *flag]
        function(ctypes.byref(blas.find()), m, n, k, *arguments)
        np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)


@needs_blas
def test_threads_are_set_for_this_thread() -> None:
    found = blas.find()
    assert found is not None
    set_threads = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(found.set_threads)
    before = set_threads(1)
    assert set_threads(before) == 1


def test_a_library_without_a_blas() -> None:
    assert torch_inside.addresses(("no_such_symbol_sgemm_",)) is None
