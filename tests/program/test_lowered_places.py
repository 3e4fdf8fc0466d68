"""What stands in brackets, beside what it says in numpy."""

from __future__ import annotations

import numpy as np

from indicial import load
from indicial.program import ir


def test_brackets_in_an_index_multiply_out() -> None:
    program = load("input x[i]\ny[i] = x[2 (i - 1) - (i - 2)]\nz[i] = x[3 (i - 1) + 1 - i]")
    assert not program.errors
    found = program.interpret({"x": [1.0, 4.0, 9.0]})
    np.testing.assert_array_equal(found["y"], [1, 4, 9])
    np.testing.assert_array_equal(found["z"], [0, 1])  # x[2i - 2], half as long


def test_a_one_hot_vector_is_as_long_as_the_vocabulary_only() -> None:
    program = load("input w[t] in V\ny[t,v] = onehot(w[t])[v]\nz[t,v] = y[t,v] + onehot(w[t])[v-1]")
    assert not program.errors
    found = program.interpret({"w": [2, 0, 1]}, sizes={"V": 4})
    np.testing.assert_array_equal(found["y"], np.eye(4)[[2, 0, 1]])
    np.testing.assert_array_equal(found["z"], np.eye(4)[[2, 0, 1]] + np.eye(4)[[3, 1, 2]])


def test_what_is_no_set_has_no_members() -> None:
    (_, error) = load("input x[t]\ny[t] = [t ∈ x]").errors
    assert (error.code, error.text) == ("condition", "x is not a set")


def test_a_tolerance_is_not_negative() -> None:
    (error,) = load("input x[t]\nclaim x[t] ≈ 0 within -1").errors
    assert (error.code, error.text) == ("claim-tolerance", "a tolerance must be at least 0")
    assert error.render().count("^") == 2


def test_a_derivative_is_of_one_name_by_another() -> None:
    text = "input x[i]\ny = Σ_i x[i]^2\nclaim ∂y/∂x[i] = 2 x[i]"
    (test,) = load(text).code.tests
    assert isinstance(test.left, ir.Derivative)
    assert (test.left.above.tensor, test.left.below.tensor) == ("y", "x")


def test_a_batch_index_points_at_the_reading_beside_it() -> None:
    found = load("input x[t]\nz[t] = 2 x[t]\ny[b,t] = x[t] + 1").mistakes
    (warning,) = (m for m in found if m.code == "batch-index")
    assert [span.line for span, _ in warning.sites] == [3, 3]
