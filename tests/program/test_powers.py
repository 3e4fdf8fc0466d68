"""Superscripts that compute something are powers; those that only name are names."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.program.ir import Apply
from indicial.program.program import Program

T = 4
x = np.random.default_rng(1).normal(size=T)
times = np.arange(T)


def run(text: str, **parameters: float) -> np.ndarray:
    program = Program.of_text(f"input x[t]\n{text}")
    assert not program.errors, program.errors[0].render()
    return program.interpret({"x": x}, parameters)["y"]


@pytest.mark.parametrize("base", ["a", "0.9", "(1 - b)", "b_1"])
@pytest.mark.parametrize("exponent", ["(t-t')", "{(t-t')}", "{t-t'}"])
def test_a_decay(base: str, exponent: str) -> None:
    """With `constant` or a parameter, in brackets or braces: each step back weighs 0.9."""
    given = {"a": {"a": 0.9}, "0.9": {}, "(1 - b)": {"b": 0.1}, "b_1": {"b_1": 0.9}}[base]
    y = run(f"y[t] = Σ_{{t' ≤ t}} {base}^{exponent} x[t']", **given)
    expected = [sum(0.9 ** (t - s) * x[s] for s in range(t + 1)) for t in range(T)]
    np.testing.assert_allclose(y, expected)


@pytest.mark.parametrize("power", ["a^(t-1)", "a^{t-1}", "a^(2t)/a^(t+1)", "a^t/a", "1/a^(1-t)"])
@pytest.mark.parametrize("declared", ["constant a = 0.9\n", ""])
def test_a_power_of_time(power: str, declared: str) -> None:
    """`a^{t-1}` is no step of a recurrence: nothing with a t above it is defined."""
    y = run(f"{declared}y[t] = x[t] + {power}", **({} if declared else {"a": 0.9}))
    np.testing.assert_allclose(y, x + 0.9 ** (times - 1.0))


@pytest.mark.parametrize("name", ["W^{(h)}", "W^{(1)}", "W^(h)"])
def test_one_name_or_number_in_brackets_is_a_decoration(name: str) -> None:
    program = Program.of_text(f"input x[t]\ny[t] = {name} x[t]")
    assert [n for n, t in program.code.tensors.items() if t.role == "parameter"] == [
        name.replace("(h)", "{(h)}") if "{" not in name else name
    ]


def test_a_step_beside_a_power() -> None:
    """What is defined with `t+1` above steps; a number beside it does not."""
    program = Program.of_text("constant a = 0.9\nrange t = 0..3\nu^{t+1}[i] = a^{t+1} u^t[i]")
    assert not program.errors, program.errors[0].render()
    u = program.interpret({"u_0": [1.0]})["u"]
    np.testing.assert_allclose(u[:, 0], np.cumprod([1, 0.9, 0.9**2, 0.9**3, 0.9**4]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a^2 (x[t] + 1)", 0.81 * (x + 1)),
        ("a^2(x[t] + 1)^2", 0.81 * (x + 1) ** 2),
        ("a^t (x[t] + 1)", 0.9**times * (x + 1)),
        ("a^{-t} (x[t] + 1)", 0.9**-times * (x + 1)),
        ("a^2 (1 - t) x[t]", 0.81 * (1 - times) * x),
        ("x_t^2 (x[t] + 1)", x**2 * (x + 1)),
        ("T^2 (x[t] + 1)", T**2 * (x + 1)),
        ("e^{-x[t]} (1 - x[t])", np.exp(-x) * (1 - x)),
        ("e^{-t/2}(1 - t) x[t]", np.exp(-times / 2) * (1 - times) * x),
        ("Σ_{s ≤ t} a^(t-s) (x[t] x[s])",
         [sum(0.9 ** (t - s) * x[t] * x[s] for s in range(t + 1)) for t in range(T)]),
    ],
)  # fmt: skip
def test_a_power_before_a_bracket(text: str, expected: np.ndarray) -> None:
    """It is no name of a parameter, with or without a blank, and raises the letter only."""
    declared = "constant a = 0.9\n" if "a^" in text else ""
    np.testing.assert_allclose(run(f"{declared}y[t] = {text}"), expected)


@pytest.mark.parametrize("name", ["h^2(w_t)", "W^1(x[t] + 1)", "e^2(w_t)", "f^2(x[t] + 1)"])
def test_a_number_above_a_name_before_an_index(name: str) -> None:
    """Names that differ by the number above them keep it; functions are left as they were."""
    program = Program.of_text(f"input x[t], w[t] in V\ny[t] = {name} + W^0 (x[t] - 1)")
    called = {node.function for s in program.code.statements for node in s.body.walk()
              if isinstance(node, Apply)}  # fmt: skip
    assert not called & {"^", "exp"}
