"""Where an index begins in prose, which declares nothing."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.program.program import Program


def ranges(text: str) -> dict[str, str]:
    found = Program.of_text(text, latex=True, document=True)
    return {
        t.name: f"{t.axes[0].lower}..{t.axes[0].upper}"
        for t in found.code.tensors.values()
        if t.axes
    }


@pytest.mark.parametrize(
    ("text", "name", "range_"),
    [
        (r"y_t = x_t / (1 - \beta^t)", "y", "1..T"),
        (r"y_t = \frac{1}{t} x_t", "y", "1..T"),
        (r"y_t = x_t / (1 + \beta^t)", "y", "0..T - 1"),
        (r"y_t = x_t / (t + 1)", "y", "0..T - 1"),
        (r"y_i = z_i \sum_{j=1}^{i} x_j", "y", "1..I"),
        (r"y_i = z_i \sum_{j=1}^{i-1} x_j", "y", "1..I"),
        (r"y_i = \sum_{j=1}^{n} x_j z_i", "y", "0..I - 1"),
    ],
)
def test_begins(text: str, name: str, range_: str) -> None:
    assert ranges(text)[name] == range_


def test_what_nothing_steps_from_is_no_start() -> None:
    found = Program.of_text(r"x_t = a_t x_0 + b_t", latex=True, document=True)
    values = found.interpret({"a": [2.0, 3.0], "x_0": 5.0}, {"b": [1.0, 1.0]})
    assert values["x"].tolist() == [11.0, 16.0]
    start = Program.of_text(r"h_t = a h_{t-1} + x_t \\ h_0 = x_0", latex=True, document=True)
    assert "h_0" not in start.code.tensors


def test_silu_and_elu() -> None:
    found = Program.of_text("input x[k]\ny[k] = SiLU(x[k])\nz = ELU(x[K]) elu(x[K])")
    x = np.array([-2.0, 0.0, 1.5])
    values = found.interpret({"x": x})
    assert np.allclose(values["y"], x / (1 + np.exp(-x)))
    assert np.isclose(values["z"], (np.where(x > 0, x, np.exp(x) - 1) ** 2).sum())
