r"""Derivatives that prose writes out, and updates in place: the values that come of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from indicial import Program, load_document

FUNCTIONS: dict[str, Callable[[float], float]] = {
    r"\tanh(2x)": lambda x: math.tanh(2 * x),
    r"\sigma(x)": lambda x: 1 / (1 + math.exp(-x)),
    r"\exp(-x)": lambda x: math.exp(-x),
    r"e^{-x}": lambda x: math.exp(-x),
    r"\ln(1 + x)": lambda x: math.log(1 + x),
    r"\sqrt{x + 1}": lambda x: math.sqrt(x + 1),
    r"\frac{x}{1 + x^2}": lambda x: x / (1 + x**2),
    r"\left( x^3 + 2 x \sin(x) \right)": lambda x: x**3 + 2 * x * math.sin(x),
    r"\frac12 (3 - x)^2 \cos(x)": lambda x: 0.5 * (3 - x) ** 2 * math.cos(x),
}


def programs(folder: Path, *displays: str) -> list[Program]:
    path = folder / "notes.md"
    path.write_text("\n\n".join(f"$${display}$$" for display in displays), encoding="utf-8")
    return load_document(path)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rules_give_the_slope(function: str, tmp_path: Path) -> None:
    whole = function if function.count("(") < 2 else rf"\left[ {function} \right]"
    (program,) = programs(tmp_path, rf"g = \frac{{d}}{{dx}} {whole}")
    for x in (0.3, 1.1):
        step = 1e-5
        above, below = (FUNCTIONS[function](x + sign * step) for sign in (1, -1))
        found = float(program.interpret({"x": np.array(x)})["g"])
        assert found == pytest.approx((above - below) / (2 * step), rel=1e-6)


def test_rules_give_the_gradient_by_elements(tmp_path: Path) -> None:
    (program,) = programs(
        tmp_path,
        r"g_{mn} = \frac{\partial}{\partial S_{mn}} \frac12 \sum_i \left( \sum_j S_{ij} k_j - v_i \right)^2",
    )
    random = np.random.default_rng(0)
    s, k, v = random.normal(size=(3, 4)), random.normal(size=4), random.normal(size=3)
    found = program.interpret({"S": s, "k": k, "v": v}, sizes={"M": 3, "N": 4})["g"]
    np.testing.assert_allclose(found, np.outer(s @ k - v, k))


def test_what_depends_has_a_derivative_of_its_own(tmp_path: Path) -> None:
    (program,) = programs(
        tmp_path, r"\frac{\partial L}{\partial z_j} = -\sum_k y_k \frac{\partial \log p_k}{\partial z_j}"
    )  # fmt: skip
    random = np.random.default_rng(0)
    y, p, slope = random.uniform(1, 2, 3), random.uniform(1, 2, 3), random.normal(size=(3, 4))
    found = program.interpret({"y": y, "p": p, "∂p/∂z": slope})["∂L/∂z"]
    np.testing.assert_allclose(found, -(y / p) @ slope)


def test_steps_are_multiplied_in_the_order_of_a_chain(tmp_path: Path) -> None:
    (program,) = programs(
        tmp_path,
        r"\frac{\partial h_t}{\partial h_k} = \prod_{j=k+1}^t \frac{\partial h_j}{\partial h_{j-1}}",
    )
    steps = np.random.default_rng(0).normal(size=(4, 2, 2))
    found = program.interpret({"∂h_·/∂h": steps}, sizes={"K": 4})["∂h/∂h"]
    np.testing.assert_allclose(found[3, 3], np.eye(2))
    np.testing.assert_allclose(found[3, 0], steps[3] @ steps[2] @ steps[1])


@pytest.mark.parametrize(
    "display",
    [
        r"g = \frac{\partial}{\partial x} \mathbf a^\top \mathbf x",
        r"g_j = \frac{\partial}{\partial w_j} \sum_j w_j x_j",
        r"g = \frac{\partial}{\partial w} (a b)^2",
        r"g = \frac{d}{dt} \tanh(t)",
    ],
)
def test_without_a_rule_nothing_is_read(display: str, tmp_path: Path) -> None:
    assert not any(program.equations for program in programs(tmp_path, display))


def test_an_update_in_place_is_of_what_is_new_in_the_rows_below(tmp_path: Path) -> None:
    (program,) = programs(
        tmp_path,
        r"\mathbf v \leftarrow \mu \mathbf v + \mathbf g \\ \mathbf w \leftarrow \mathbf w - \eta \mathbf v",
    )
    v, g, w = (np.array(x) for x in ([1.0, 2.0], [3.0, -1.0], [0.5, 0.25]))
    given = {"v": v, "g": g, "w": w, "μ": np.array(0.9), "η": np.array(0.1)}
    found = program.interpret(given)
    np.testing.assert_allclose(found["v_{+}"], 0.9 * v + g)
    np.testing.assert_allclose(found["w_{+}"], w - 0.1 * (0.9 * v + g))


def test_a_step_with_a_gradient_by_what_it_makes_new(tmp_path: Path) -> None:
    (program,) = programs(
        tmp_path, r"W^{(l)} := W^{(l)} - \eta \frac{\partial L}{\partial W^{(l)}}"
    )
    tensors = program.analysis.code.tensors
    assert [len(tensors[name].axes) for name in ("W_{+}", "W", "∂L/∂W", "η")] == [3, 3, 3, 0]
