"""The functions of the IR are numpy's, element by element."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from indicial.program.meaning.functions import FUNCTIONS

NUMPY = {
    "+": np.add,
    "*": np.multiply,
    "/": np.divide,
    "^": np.float_power,  # np.power takes the square root where b is 0.5: of -inf that is nan
    "neg": np.negative,
    "tanh": np.tanh,
    "exp": np.exp,
    "ln": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "cos": np.cos,
    "sin": np.sin,
    "floor": np.floor,
    "min": np.minimum,
    "max": np.maximum,
    "ReLU": lambda a: np.maximum(a, 0.0),
    "softplus": lambda a: np.logaddexp(0.0, a),
}
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    3.0,
    -3.0,
    710.0,
    -1e308,
    1e308,
    math.inf,
    -math.inf,
    math.nan,
]


@pytest.mark.parametrize("name", NUMPY)
@given(
    st.one_of(st.floats(), st.sampled_from(SPECIAL)),
    st.one_of(st.floats(), st.sampled_from(SPECIAL)),
)
@example(-math.inf, 0.5)
def test_functions_are_numpys(name: str, a: float, b: float) -> None:
    arguments = (a, b) if getattr(NUMPY[name], "nin", 1) == 2 else (a,)
    with np.errstate(all="ignore"):
        expected = NUMPY[name](*map(np.float64, arguments))
    np.testing.assert_allclose(FUNCTIONS[name](*arguments), expected, rtol=1e-12)


@given(st.floats(allow_nan=False))
def test_sigmoid_and_gelu_stay_in_bounds(a: float) -> None:
    assert 0 <= FUNCTIONS["σ"](a) <= 1
    assert math.isclose(FUNCTIONS["σ"](a) + FUNCTIONS["σ"](-a), 1)
    assert FUNCTIONS["GELU"](a) >= -0.17
    if abs(a) < 5:
        exact = 0.5 * a * (1 + math.erf(a / math.sqrt(2)))
        assert math.isclose(FUNCTIONS["GELU"](a), exact, rel_tol=1e-6, abs_tol=1e-12)
