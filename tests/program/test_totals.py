r"""Names that are a sum and what it is the sum of; vectors in brackets behind small letters; gradients called dz."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.test_meant import readings

READ: dict[str, tuple[tuple[str, ...], list[dict[str, set[int]]], int]] = {
    "the mean of all losses": (
        (r"L = \frac{1}{N} \sum_i L_i", r"L_i = -\log p_i"),
        [{"L": {0, 1}, "N": {0}}, {"L": {1}, "p": {1}}],
        1,
    ),
    "losses of parameters": (
        (r"J(\theta) = \sum_{t=1}^{T} J^{(t)}(\theta)",),
        [{"J": {0, 1}}],
        1,
    ),
    "a total of matrices' letter is a number": (
        (r"\mathbf{h}_t = \mathbf{W} \mathbf{x}_t", r"L = \sum_t L_t"),
        [{"h": {2}, "W": {2}, "x": {2}}, {"L": {0, 1}}],
        2,
    ),
    "losses of what is predicted at each step": (
        (r"\mathcal L(\hat y, y) = \sum_{t=1}^{T} \mathcal L^{<t>}(\hat y^{<t>}, y^{<t>})",),
        [{"ℒ": {0, 1}}],
        1,
    ),
    "the largest of all": ((r"h = \max_t h_t",), [{"h": {0, 1}}], 0),
    "gradients that are called dz": (
        (r"dz = a - y", r"dw = x \, dz", r"w = v - \alpha \, dw"),
        [{"dz": {0}, "a": {0}, "y": {0}}, {"dw": {0}, "x": {0}, "dz": {0}},
         {"w": {0}, "v": {0}, "α": {0}, "dw": {0}}],
        0,
    ),
    "vectors in brackets behind a small letter": (
        (r"f^{<t>} = \sigma(w_f[h^{<t-1>}, x^{<t>}] + b_f)", r"h^{<t>} = f^{<t>} * \tanh(c^{<t>})"),
        [{"f": {2}, "w_f": {2}, "h": {2}, "x": {2}, "b_f": {1}}, {"h": {2}, "f": {2}, "c": {2}}],
        1,
    ),
    "places of tokens in brackets": (
        (r"s = \sum_t A[y_{t-1}, y_t]",),
        [{"s": {0}, "A": {2}, "y": {1}}],
        1,
    ),
    "a number and a letter below a name": (
        (r"c_2 = \sum_j \alpha_{2j} h_j",),
        [{"c_2": {1}, "α": {2}, "h": {2}}],
        1,
    ),
    "two words with a hyphen below a name": (
        (r"L_{cross-entropy} = -\sum_i y_i \log p_i",),
        [{"L_{cross-entropy}": {0}, "y": {1}, "p": {1}}],
        1,
    ),
    "a weighted sum that is written out": (
        (r"z = \alpha_1 v_1 + \alpha_2 v_2",),
        [{"z": {1}, "α_1": {0}, "v_1": {1}, "α_2": {0}, "v_2": {1}}],
        0,
    ),
    "Euler's number beside a size with an e": (
        (r"a_{ij} = \frac{e^{r_{ij}}}{\sum_{k} e^{r_{ik}}}", r"c_1 = \frac{3}{4} s_1", r"c_i \in \mathbb{R}^{d_e}"),
        [{"a": {2}, "r": {2}}, {"c_1": {0}, "s_1": {0}}, {}],
        1,
    ),
    "parameters in a Greek capital": (
        (r"u = X \Theta",),
        [{"u": {1}, "X": {2}, "Θ": {1}}],
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_read(case: str, tmp_path: Path) -> None:
    displays, axes, sums = READ[case]
    found = readings(tmp_path, *displays)
    assert [reading.axes for reading in found] == axes
    assert sum(len(reading.sums) for reading in found) == sums
    assert not any(reading.mistakes or reading.skipped for reading in found)


@pytest.mark.parametrize("display", [r"dX_t = \mu dt + \sigma dW_t", r"du = 2 x dx"])
def test_differentials_are_left_alone(display: str, tmp_path: Path) -> None:
    (found,) = readings(tmp_path, display)
    assert not found.computed and not found.mistakes


def test_rows_of_a_table_that_a_sentence_declares(tmp_path: Path) -> None:
    said = r"a table $W_E \in \mathbb{R}^{v \times d}$ and one $W_P \in \mathbb{R}^{n \times d}$."
    (found,) = readings(tmp_path, f"Here {said}", r"e_i = W_E[\text{token}_i] + W_P[i]")
    assert found.axes == {"e": {2}, "W_E": {2}, "token": {1}, "W_P": {2}} and not found.skipped


def test_small_weights_of_a_state_are_matrices_where_something_shows_it(tmp_path: Path) -> None:
    cell = r"h_t = \tanh(w_h h_{t-1} + w_x x_t + b)"
    (alone,) = readings(tmp_path, cell)
    assert alone.axes == {"h": {1}, "w_h": {0}, "w_x": {0}, "x": {1}, "b": {0}}
    found = readings(tmp_path, cell, r"y_t = softmax(w_y h_t)")
    assert found[0].axes == {"h": {2}, "w_h": {2}, "w_x": {2}, "x": {2}, "b": {1}}
    assert found[1].axes == {"y": {2}, "w_y": {2}, "h": {2}}
