"""The C functions of vector_math.h against the meaning of the language, and against mpmath.

The distance is counted in ulp: spacings of the type at the exact result.
"""

import ctypes
import itertools
import math
import re
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from indicial.compile.native import toolchain
from indicial.program.meaning.functions import FUNCTIONS

UNARY = {
    "exp": "exp", "ln": "ln", "sqrt": "sqrt", "tanh": "tanh", "sigmoid": "σ",
    "softplus": "softplus", "erf": "erf", "gelu": "GELU", "sin": "sin", "cos": "cos",
    "relu": "ReLU", "abs": "abs", "sign": "sign", "floor": "floor",
}  # fmt: skip
BINARY = {"pow": "^", "min": "min", "max": "max"}
EXACT = {"sqrt", "relu", "abs", "sign", "floor", "min", "max"}
BOUND = {"exp": 1.5, "ln": 1.5, "pow": 5, "gelu": 12} | dict.fromkeys(EXACT, 0)
"""In ulp; 3 where nothing else is said. Of sin and cos it is 2 where a processor multiplies and adds at
once, and 3 where it rounds in between, in taking quarter turns off a large number."""

TYPES = {np.float32: "float", np.float64: "double"}
SPECIAL = [0.0, 1.0, 0.5, 1.5, 2.0, 3.0, 1e-40, 1e-30, 1e30, 88.8, 103.5, 1e5, math.inf, math.nan]
SPECIAL += [-value for value in SPECIAL] + [5e-324, 2.2e-308, 1.7e308, 745.0, -745.0, 2.0**53]


SIMD = '_Pragma("omp simd")'
"""Kernels ask for it at every such loop."""


def source() -> str:
    lines = ['#include "vector_math.h"']
    for t in TYPES.values():
        for name in UNARY:
            lines.append(
                f"void all_{name}_{t}(const {t} *restrict x, {t} *restrict y, long n)"
                f" {{ {SIMD} for (long i = 0; i < n; i++) y[i] = {name}_{t}(x[i]); }}"
            )
        for name in BINARY:
            lines.append(
                f"void all_{name}_{t}(const {t} *restrict x, const {t} *restrict z,"
                f" {t} *restrict y, long n)"
                f" {{ {SIMD} for (long i = 0; i < n; i++) y[i] = {name}_{t}(x[i], z[i]); }}"
            )
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    if not toolchain.available():
        pytest.skip("no C compiler")
    return toolchain.load(source())


def run(library: ctypes.CDLL, name: str, *arguments: np.ndarray) -> np.ndarray:
    result = np.empty_like(arguments[0])
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arguments, result)]
    library[f"all_{name}_{TYPES[result.dtype.type]}"](*pointers, ctypes.c_long(result.size))
    return result


def samples(dtype: type, count: int) -> np.ndarray:
    """Random bits, a dense grid, and numbers of all sizes between."""
    rng = np.random.default_rng(7)
    whole = np.uint32 if dtype is np.float32 else np.uint64
    bits = rng.integers(0, np.iinfo(whole).max, count, dtype=whole).view(dtype)
    reach = 130 if dtype is np.float32 else 800
    spread = rng.standard_normal(count) * np.exp(rng.uniform(-30, 6, count))
    parts = [np.linspace(-12, 12, count), rng.uniform(-reach, reach, count), spread]
    return np.concatenate([bits, *(part.astype(dtype) for part in parts)])


def assert_near(
    name: str, got: np.ndarray, exact: list[object], arguments: tuple[np.ndarray, ...]
) -> None:
    """`got` is `exact` up to the bound, or the same infinity, or nan with it."""
    info = np.finfo(got.dtype)
    worst, where = 0.0, -1
    for i, (value, expected) in enumerate(zip(got.tolist(), exact, strict=True)):
        rounded = float(np.asarray(expected, dtype=object).astype(got.dtype))
        if math.isnan(rounded) or math.isinf(rounded) or name in EXACT:
            same = value == rounded or (math.isnan(value) and math.isnan(rounded))
            assert same, (name, [float(a[i]) for a in arguments], value, rounded)
            continue
        exponent = max(math.frexp(rounded)[1] - 1, info.minexp)
        distance = abs(float(value - expected)) / 2.0 ** (exponent - info.nmant)
        assert distance == distance, (name, [float(a[i]) for a in arguments], value)
        worst, where = max((worst, where), (distance, i))
    assert worst <= BOUND.get(name, 3), (name, worst, [float(a[where]) for a in arguments])


def meaning(name: str, *arguments: np.ndarray) -> list[object]:
    function = FUNCTIONS[(UNARY | BINARY)[name]]
    return [function(*map(float, values)) for values in zip(*arguments, strict=True)]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.filterwarnings("ignore:overflow")
def test_floats_against_the_meaning(library: ctypes.CDLL, name: str) -> None:
    x = np.concatenate([samples(np.float32, 4000), np.array(SPECIAL, dtype=np.float32)])
    if name in ("sin", "cos"):
        x = np.concatenate([x[~(abs(x) >= 2.0**51)], np.float32([math.inf, -math.inf])])
    assert_near(name, run(library, name, x), meaning(name, x), (x,))


@pytest.mark.parametrize("name", UNARY)
def test_doubles_at_special_values(library: ctypes.CDLL, name: str) -> None:
    x = np.array(SPECIAL)
    if name in ("sin", "cos"):
        x = x[~((abs(x) >= 2.0**51) & np.isfinite(x))]
    assert_near(name, run(library, name, x), meaning(name, x), (x,))


PRECISE: dict[str, Callable[[mpmath.mpf], mpmath.mpf]] = {
    "exp": mpmath.exp,
    "ln": lambda x: mpmath.log(x) if x > 0 else mpmath.nan,
    "tanh": mpmath.tanh,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(-abs(x))) + max(x, 0),
    "erf": mpmath.erf,
    "gelu": lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2 if abs(x) < 50 else max(x, 0),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
}


@pytest.mark.parametrize("name", PRECISE)
@pytest.mark.filterwarnings("ignore:overflow")
def test_doubles_against_mpmath(library: ctypes.CDLL, name: str) -> None:
    x = samples(np.float64, 250)
    x = x[np.isfinite(x)]
    if name in ("sin", "cos"):
        near_zeros = np.arange(1, 300) * (math.pi / 2)
        x = np.concatenate([x[abs(x) < 2.0**51], near_zeros, near_zeros * 1e7])
    if name == "gelu":  # x times a denormal
        x = x[~((x < -37) & (x > -40))]
    if name == "ln":
        x = abs(x)
    with mpmath.workprec(200):
        exact = [PRECISE[name](mpmath.mpf(float(value))) for value in x]
        assert_near(name, run(library, name, x), exact, (x,))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.filterwarnings("ignore:overflow")
def test_two_arguments_at_special_values(library: ctypes.CDLL, name: str, dtype: type) -> None:
    pairs = np.array(list(itertools.product(SPECIAL, repeat=2)))
    x, y = (np.ascontiguousarray(column.astype(dtype)) for column in pairs.T)
    assert_near(name, run(library, name, x, y), meaning(name, x, y), (x, y))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.filterwarnings("ignore:overflow")
def test_powers_against_mpmath(library: ctypes.CDLL, dtype: type) -> None:
    x = abs(samples(dtype, 250))
    x = x[(x > 0) & np.isfinite(x)]
    rng = np.random.default_rng(3)
    y = (rng.standard_normal(x.size) * np.exp(rng.uniform(-3, 6, x.size))).astype(dtype)
    with mpmath.workprec(200):
        exact = [mpmath.power(*map(float, pair)) for pair in zip(x, y, strict=True)]
        assert_near("pow", run(library, "pow", x, y), exact, (x, y))


@pytest.mark.parametrize("dtype", TYPES)
def test_sine_of_what_is_too_large_is_nan(library: ctypes.CDLL, dtype: type) -> None:
    x = np.array([2.0**51, -1e30, math.inf], dtype=dtype)
    assert np.isnan(run(library, "sin", x)).all()
    assert np.isnan(run(library, "cos", x)).all()


def test_every_loop_vectorises() -> None:
    if not toolchain.available() or "__clang__" in (compiler := toolchain.find_compiler()).identity:
        pytest.skip("no gcc")
    own = compiler.flags
    if "__x86_64__" in compiler.identity:  # whatever this processor is: it need not run
        own = (*(flag for flag in own if not flag.startswith("-m")), "-march=x86-64-v3")
    flags = (*own, "-fopt-info-vec-optimized")
    command = [*compiler.command, *flags, "-x", "c", "-", "-o", "/dev/null"]
    report = toolchain._run(command, toolchain.expand(source())).stderr
    found = {int(line) for line in re.findall(r"kernel\.c:(\d+):\d+: optimized: loop vec", report)}
    assert found == set(range(2, 2 + 2 * (len(UNARY) + len(BINARY))))
