"""Reductions of many numbers at once, against numpy: all lengths, nan and infinity."""

import ctypes

import numpy as np
import pytest

from indicial.compile.native import toolchain

SOURCE = """
typedef {real} real;
#include "kernel.h"
#define REDUCTION(name, nothing)                                                                   \\
  void name(real *result, const real *x, long n) {{                                                \\
    real y[LANES];                                                                                 \\
    lanes_fill(y, nothing);                                                                        \\
    for (long i = 0; i < n; i++)                                                                   \\
      y[i % LANES] = lanes_##name##_of(y[i % LANES], x[i]);                                        \\
    *result = lanes_##name(y);                                                                     \\
  }}
REDUCTION(sum, 0)
REDUCTION(prod, 1)
REDUCTION(max, -__builtin_inf())
REDUCTION(min, __builtin_inf())
"""

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")


def reduced(name: str, values: np.ndarray) -> float:
    real = {"float32": "float", "float64": "double"}[values.dtype.name]
    result = np.zeros(1, values.dtype)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (result, values)]
    getattr(toolchain.load(SOURCE.format(real=real)), name)(*pointers, ctypes.c_long(len(values)))
    return float(result[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions(name: str, dtype: type) -> None:
    rng = np.random.default_rng(3)
    nothing = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}[name]
    assert reduced(name, np.zeros(0, dtype)) == nothing
    for count in (1, 2, 15, 16, 17, 40):
        values = (rng.standard_normal(count) + 2).astype(dtype)
        expected = getattr(np, name)(values.astype(np.float64))
        assert reduced(name, values) == pytest.approx(expected, rel=float(50 * np.finfo(dtype).eps))
        for special in (np.nan, np.inf, -np.inf):
            for place in {0, count // 2, count - 1}:
                changed = values.copy()
                changed[place] = special
                expected = getattr(np, name)(changed)
                np.testing.assert_equal(reduced(name, changed), float(expected))
