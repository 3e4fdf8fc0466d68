r"""What all displays of a document show together: letters that tell names apart, layers in brackets, dots that gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.test_meant import readings

READ: dict[str, tuple[tuple[str, ...], list[dict[str, int]], int]] = {
    "letters above names tell them apart, wherever they stand": (
        (r"h_t = \tanh(W^h h_{t-1} + W^e x_t + b^h)", r"y_t = W^y h_t"),
        [{"h": 2, "W^h": 2, "W^e": 2, "x": 2, "b^h": 1}, {"y": 2, "W^y": 2, "h": 2}],
        3,
    ),
    "one letter each tells nothing apart": (
        (r"s_{ij} = q_i^\top k_j",),
        [{"s": 2, "q": 2, "k": 2}],
        1,
    ),
    "a layer in square brackets": (
        (r"Z[l] = W[l] A[l-1] + b[l]", r"A[l] = \tanh(Z[l])"),
        [{"Z": 3, "W": 3, "A": 3, "b": 2}, {"A": 3, "Z": 3}],
        1,
    ),
    "letters side by side that all are indices": (
        (r"q_{bse} = z_{bsd} Q_{de}",),
        [{"q": 3, "z": 3, "Q": 2}],
        1,
    ),
    "a dot between two vectors where one is wanted": (
        (r"\mathbf{h}_t = \mathbf{o}_t \cdot \tanh(\mathbf{c}_t)",),
        [{"h": 2, "o": 2, "c": 2}],
        0,
    ),
    "a dot between two vectors where a number is wanted": (
        (r"s_i = \mathbf{q} \cdot \mathbf{k}_i", r"p_i = \frac{\exp(s_i)}{\sum_j \exp(s_j)}"),
        [{"s": 1, "q": 1, "k": 2}, {"p": 1, "s": 1}],
        2,
    ),
    "gates beside products that gate nothing": (
        (
            r"\mathbf c_t = \mathbf f_t \cdot \mathbf c_{t-1} + "
            r"\sigma(\mathbf W \cdot \mathbf x_t) \cdot \mathbf g_t",
        ),
        [{"c": 2, "f": 2, "W": 2, "x": 2, "g": 2}],
        1,
    ),
    "the argument of an activation is said twice": (
        (r"a = \sigma(z) = \sigma(\mathbf{w}^\top \mathbf{x} + b)",),
        [{"a": 0, "z": 0, "w": 1, "x": 1, "b": 0}],
        1,
    ),
    "a function of a product without brackets": (
        (r"h_t = \tanh W \begin{pmatrix} h_{t-1} \\ x_t \end{pmatrix}",),
        [{"h": 2, "W": 2, "x": 2}],
        1,
    ),
    "two states of one letter on top of each other": (
        (r"h_t^l = \tanh\left(W^l \begin{pmatrix} h_t^{l-1} \\ h_{t-1}^l \end{pmatrix}\right)",),
        [{"h": 3, "W": 3}],
        1,
    ),
    "a head in a small letter": (
        (r"h_i = softmax\left(\frac{X W_i^Q (X W_i^K)^T}{\sqrt{d_k}}\right) X W_i^V",),
        [{"h": 3, "X": 2, "W^Q": 3, "W^K": 3, "W^V": 3}],
        5,
    ),
    "a Greek power of a size": (
        (r"L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}",),
        [{"L": 0, "E": 0, "A": 0, "N": 0, "α": 0, "B": 0, "D": 0, "β": 0}],
        0,
    ),
    "norms with the power first": (
        (r"J = \|W\|^2_F + \lambda \|w\|^2_2",),
        [{"J": 0, "W": 2, "λ": 0, "w": 1}],
        3,
    ),
    "a case that is the other one": (
        (r"m_i = \begin{cases} x_i & x_i > 0 \\ 0 & \text{o.w.} \end{cases}",),
        [{"m": 1, "x": 1}],
        0,
    ),
    "one token below a root": (
        (r"x_t = \sqrt\beta_t \epsilon_t",),
        [{"x": 1, "β": 1, "ε": 1}],
        0,
    ),
}


@pytest.mark.parametrize("case", READ)
def test_read(case: str, tmp_path: Path) -> None:
    displays, axes, sums = READ[case]
    found = readings(tmp_path, *displays)
    expected = [{name: {count} for name, count in some.items()} for some in axes]
    assert [reading.axes for reading in found] == expected
    assert sum(len(reading.sums) for reading in found) == sums
    assert not any(reading.mistakes or (reading.skipped and reading.axes) for reading in found)
