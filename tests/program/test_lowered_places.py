"""What stands in brackets, beside what it says in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from indicial import load
from indicial.program import ir
from indicial.program.lowering.cases import conjoin


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


def test_a_softmax_and_a_one_hot_vector_without_an_index_are_along_the_last() -> None:
    text = "input x[k,t,s]\ninput w[t] in V\na[k,t,s] = softmax x[k,t,s]\ny[t,v] = onehot(w[t])"
    x = np.arange(24.0).reshape(2, 3, 4) % 5
    found = load(text).interpret({"x": x, "w": [2, 0, 1]}, sizes={"V": 4})
    np.testing.assert_allclose(found["a"], np.exp(x) / np.exp(x).sum(-1, keepdims=True))
    np.testing.assert_array_equal(found["y"], np.eye(4)[[2, 0, 1]])


def test_a_place_may_be_a_product_of_sizes() -> None:
    text = "input x[k,j]\nrange n = 0..2 K J - 1\ny[n] = n\nz[k,j] = x[k,j] + y[2 K J - 1]"
    found = load(text).interpret({"x": np.zeros((2, 3))})
    np.testing.assert_array_equal(found["y"], np.arange(12))
    np.testing.assert_array_equal(found["z"], np.full((2, 3), 11))


def test_a_stride_on_the_left_and_a_size_that_is_said() -> None:
    (error,) = load("y[2t] = 1").errors
    assert (error.code, error.text) == ("index-form", "2t cannot be on the left")
    said = load("size J = 4\ninput x[j]\ny[j] = x[j]")
    assert said.code.sizes == {"J": 4} and not said.messages


@pytest.mark.parametrize("number", ["2.5", "10000000000", "1000000000"])
def test_a_size_is_a_whole_number_that_fits(number: str) -> None:
    (error,) = load(f"size J = {number}\ninput x[j]\ny[j] = x[j]").errors
    assert error.text == "the size J must be a whole number below 10⁹"


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("1000000000 t", "1000000000"),
        ("3 K 1000000000", "1000000000"),
        ("t - 0.5", "0.5"),
        ("99999 99999 t", "99999 · 99999t"),
        ("t - 99999 (K - 99999)", "t - 99999 (K - 99999)"),
    ],
)
def test_a_number_in_a_place_fits_into_a_machine(place: str, wrong: str) -> None:
    (error,) = load(f"input x[t]\nparameter a[k]\ny[t,k] = a[k] x[{place}]").errors
    assert (error.code, error.text) == ("index-form", f"{wrong} is not a valid index")


def test_large_numbers_in_a_place() -> None:
    program = load("input x[t]\ny[t] = x[999999999 t]\nz[t] = x[t - 9999 9999 + 2 - 1]")
    found = program.interpret({"x": [2.0, 3.0]})
    np.testing.assert_array_equal(found["y"], [2])
    np.testing.assert_array_equal(found["z"], [0, 0])


@pytest.mark.parametrize("body", ["Σ_k u[k]", "Σ_k a[k] u[k]", "max_k u[k]"])
def test_an_index_of_a_function_is_as_long_as_its_argument(body: str) -> None:
    program = load(f"input x[j]\ninput a[i]\nf(u[I]) = {body}\ny = f(x[J])")
    assert not program.errors and "K" not in program.code.sizes
    x, a = np.array([1.0, 4.0, 9.0]), np.array([3.0, 2.0, 0.5])
    expected = {"Σ_k u[k]": x.sum(), "Σ_k a[k] u[k]": a @ x, "max_k u[k]": 9.0}[body]
    np.testing.assert_allclose(program.interpret({"x": x, "a": a})["y"], expected)


def test_a_softmax_over_a_token_that_is_not_on_the_left() -> None:
    errors = load("input w[t] in V\ny[t] = softmax_{w[t]} a[w[t]]").errors
    (error,) = (e for e in errors if e.code == "softmax-variable")
    assert error.text == "softmax runs over w[t], which is not the variable on the left"
    assert error.hint == "bind it on the left"


def test_one_condition_is_itself() -> None:
    one, other = ir.Constant(1.0), ir.Constant(0.0)
    assert conjoin([]) is None and conjoin([one]) is one
    assert conjoin([one, other]) == ir.Apply("and", (one, other))


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("Σ_{s=1}^{3} y[s]", [1, 2, 3]),
        ("Σ_{t=0}^{T-2} y[t]", [0, 1, 2, 3]),
        ("Σ_t y[t]", [0, 1, 2, 3, 4]),
    ],
)
def test_a_sum_over_what_is_defined_keeps_the_ends_it_says(line: str, steps: list[int]) -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    program = load(f"input x[t]\ny[t] = 3 x[t]\nz = {line}\n")
    assert program.interpret({"x": x})["z"] == 3 * x[steps].sum()


def test_a_capital_that_a_function_leaves_open_is_told() -> None:
    (error,) = load("input x[t,j]\ny[t] = layernorm(x[t,J])\n").errors
    assert "J occurs only once in this product" in error.render()


def test_of_two_sizes_the_one_that_is_better_known_by_a_letter_has_it() -> None:
    """`1/√I` says whose size I is: that of the queries, not that of the values."""
    sizes = load("perceiver").code.sizes
    assert {"I", "I_{W^O}"} <= set(sizes)
    assert "I_{W^Q}" not in sizes


def test_a_size_whose_letter_is_taken_has_the_next_one_it_is_known_by() -> None:
    program = load("input x[j], y[j]\ns = Σ_j x[j]^2\na[z] = y[z]^2\nb[c] = y[c] + 1\n")
    assert list(program.code.sizes) == ["J", "Z"]


def test_a_parameter_has_the_elements_that_any_sum_reads() -> None:
    program = load("input x[t]\ny[t] = Σ_{n=0}^{3} p[n] x[t-n] + Σ_{n=2}^{5} p[n] x[t+n]\n")
    (axis,) = program.code.tensors["p"].axes
    assert (axis.lower.number, axis.extent.number) == (0, 6)


@pytest.mark.parametrize(
    ("equation", "lower", "extent"),
    [
        ("y[t] = x[t] + ε[t-1]", "0", "T"),  # what is read before the first draw is 0
        ("y[t] = x[t] + ε[t+1]", "0", "T"),
        ("y[t+1] = x[t] + ε[t]", "0", "T"),
        ("y[t+1] = x[t] + ε[t+1]", "1", "T"),
    ],
)
def test_what_is_drawn_at_each_step_is_drawn_at_all(equation: str, lower: str, extent: str) -> None:
    """But where steps are written as layers are, those that are read, and none before the first."""
    code = load(f"input x[t]\nε[t] ~ N(0, 1)\n{equation}").code
    (axis,) = code.tensors["ε"].axes
    assert (str(axis.lower), str(axis.extent)) == (lower, extent)
