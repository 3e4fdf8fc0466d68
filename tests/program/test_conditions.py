"""Conditions in brackets, below sums and behind equations: computed as loops with `if` say."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.program.program import Program

T, V = 5, 3
w = np.array([2, 0, 1, 2, 1])
x = np.random.default_rng(0).normal(size=T)


def value(right: str, t: int, v: int, latex: bool = False) -> float:
    """The element `y[t,v]` of `y[t,v] = right`."""
    given = "input w[t] in V\ninput x[t]\n"
    if latex:
        given = r"\text{input } w[t] \in V \\ \text{input } x[t] \\ "
    program = Program.of_text(f"{given}y[t,v] = {right}", latex=latex)
    assert not program.errors, program.errors[0].render()
    sizes = {size: V if size.startswith("V") else T for size in program.code.sizes}
    result = program.interpret({"w": w, "x": x}, {}, sizes=sizes)
    return float(result["y"][t, v])


CONDITIONS = {
    "t ≤ 2 and w[t] = v": lambda t, v: t <= 2 and w[t] == v,
    "t = 0 or w[t] = v": lambda t, v: t == 0 or w[t] == v,
    "not w[t] = v": lambda t, v: w[t] != v,
    "not not t < v": lambda t, v: t < v,
    "not t < v and t > 0": lambda t, v: not t < v and t > 0,
    "not (t < v and t > 0)": lambda t, v: not (t < v and t > 0),
    "t = 0 or t = 1 and v = 2": lambda t, v: t == 0 or (t == 1 and v == 2),
    "(t = 0 or t = 1) and v = 2": lambda t, v: (t == 0 or t == 1) and v == 2,
    "x[t] > 0 and not x[t] > 1/2": lambda t, v: 0 < x[t] <= 0.5,
    "0 < t in {0, 2, 3}": lambda t, v: t in (2, 3),
    "x[t] ∈ (-1/2, 1/2)": lambda t, v: -0.5 < x[t] < 0.5,
    "t ∈ (1, 3)": lambda t, v: t == 2,
    "t ∈ [1, 3]": lambda t, v: 1 <= t <= 3,
    "t ∈ {1, …, 3}": lambda t, v: 1 <= t <= 3,
    "t ∈ {0, 1, …, v}": lambda t, v: t <= v,
    "t ∉ {v, …, 3}": lambda t, v: not v <= t <= 3,
    "¬(t = 0 ∨ w[t] = v) ∧ v ≠ 1": lambda t, v: not (t == 0 or w[t] == v) and v != 1,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_iverson_brackets(condition: str) -> None:
    for t in range(T):
        for v in range(V):
            expected = float(CONDITIONS[condition](t, v))
            assert value(f"[{condition}] + 0 v", t, v) == expected, (t, v)


def test_latex_says_the_same() -> None:
    right = r"[\lnot (t = 0 \lor w[t] = v) \land v \neq 1] + 0 v"
    for t in range(T):
        for v in range(V):
            assert value(right, t, v, latex=True) == float(t > 0 and w[t] != v and v != 1)


def test_below_a_sum_and_in_cases() -> None:
    below = "Σ_{s < t or s = 4} x[s] + 0 v"
    cases = "cases { x[t] if t = 1 or not t < v, 7 otherwise }"
    for t in range(T):
        expected = sum(x[s] for s in range(T) if s < t or s == 4)
        assert value(below, t, 0) == pytest.approx(expected)
        for v in range(V):
            assert value(cases, t, v) == (x[t] if t == 1 or t >= v else 7)


def test_below_a_softmax() -> None:
    program = Program.of_text("input x[s]\na[t,s] = softmax_{s ≤ t and not s = 1} x[s]")
    assert not program.errors
    a = program.interpret({"x": x}, {}, sizes={"T": T})["a"]
    for t in range(T):
        there = [s for s in range(T) if s <= t and s != 1]
        weights = np.exp(x[there])
        np.testing.assert_allclose(a[t, there], weights / weights.sum())
        assert a[t].sum() == pytest.approx(1)


def test_behind_an_equation() -> None:
    text = "input x[t]\ny[t] = x[t] for not (t = 0 or t = 3) and x[t] > 0\ny[t] = 2"
    y = Program.of_text(text).interpret({"x": x}, {})["y"]
    assert y.tolist() == [x[t] if t not in (0, 3) and x[t] > 0 else 2 for t in range(T)]


@pytest.mark.parametrize(
    "right", ["M [t = k]", "M[t = k]", "[t = k] M", "M · [t = k]", "M [t in {2}]", "M [t ∈ {k}]"]
)
def test_a_bracket_with_a_comparison_is_a_factor(right: str) -> None:
    program = Program.of_text(f"input x[t]\nconstant k = 2\ny[t] = x[t] + {right}")
    assert not program.errors, program.errors[0].render()
    y = program.interpret({"x": x}, {"M": 5.0})["y"]
    np.testing.assert_allclose(y, x + 5.0 * (np.arange(T) == 2))


RANGES = {
    "t-2 < s ≤ t": lambda t, s: t - 2 < s <= t,
    "t < s ≤ t+2": lambda t, s: t < s <= t + 2,
    "1 ≤ s ≤ 3": lambda t, s: 1 <= s <= 3,
    "1 ≤ s < t": lambda t, s: 1 <= s < t,
    "s = 2": lambda t, s: s == 2,
}


@pytest.mark.parametrize("below", RANGES)
def test_a_range_below_a_softmax_is_its_condition(below: str) -> None:
    """It is over the last letter on the left, or over the one that is named."""
    for left, named in (("a[t,s]", ""), ("a[t,s]", "s, "), ("a[s,t]", "s, ")):
        program = Program.of_text(f"input x[t]\n{left} = softmax_{{{named}{below}}} x[t] x[s]")
        assert not program.messages
        a = program.interpret({"x": x}, {})["a"]
        for t in range(T):
            weights = np.array([np.exp(x[t] * x[s]) * RANGES[below](t, s) for s in range(T)])
            found = a[t] if left == "a[t,s]" else a[:, t]
            np.testing.assert_allclose(found, weights / (weights.sum() or 1))


@pytest.mark.parametrize("below", ["s ∈ {0, …, 2}", "s ∈ {0, 1, …, 2}", "s = 0, …, 2", "0 ≤ s ≤ 2"])
def test_a_sum_over_a_set_with_dots(below: str) -> None:
    assert value(f"Σ_{{{below}}} x[s] + 0 v", 0, 0) == pytest.approx(x[:3].sum())
    assert (
        value(f"Σ_{{{below}}} (s + 1)^2 + 0 v", 0, 0) == 1 + 4 + 9
    )  # of which nothing says how far


@pytest.mark.parametrize("members", ["{…}", "{0, 2, …, 8}", "{0, …}"])
def test_what_a_set_with_dots_leaves_open_is_an_error(members: str) -> None:
    (error,) = Program.of_text(f"input x[t]\ny[t] = x[t] [t ∈ {members}]").errors
    assert error.text == f"{members} leaves open what is in it"


def test_a_range_with_an_end_above_a_softmax() -> None:
    """An end that moves with an index is a condition; a size says where the range ends everywhere."""
    moving = Program.of_text("input x[t]\na[t,s] = softmax_{s=0}^{t} x[t] x[s]")
    a = moving.interpret({"x": x}, {})["a"]
    assert [np.count_nonzero(row) for row in a] == [1, 2, 3, 4, 5]
    whole = Program.of_text("input x[t]\na[t] = softmax_{t=1}^T x[t]")
    assert not whole.messages
    np.testing.assert_allclose(whole.interpret({"x": x}, {})["a"], np.exp(x) / np.exp(x).sum())
