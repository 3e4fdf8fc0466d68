r"""Forms that everybody writes: a bracket over two rows, a look-up in a table, `BN(…)`, `|\mathcal B|`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from notes_of import loaded, read, values

READ: dict[str, tuple[str, dict[str, int], int]] = {
    "a bracket over two rows": (
        r"""\begin{align} C &= \frac{1}{N}\sum_{i=1}^N \left[ \frac{1}{M}\sum_{m=1}^M |s_i^{(m)} - x_i|
        \right. \notag\\ &\quad\left. - \frac{1}{M} \sum_{m=1}^M |s_i^{(m)}| \right] \end{align}""",
        {"C": 0, "s": 2, "x": 1},
        3,
    ),
    "a bracket over three rows": (
        r"""\begin{align} L &= \sum_{i=1}^N \Big[ y_i \log p_i + \\ & (1 - y_i) \log(1 - p_i) \\
        & + z_i \Big] \end{align}""",
        {"L": 0, "y": 1, "p": 1, "z": 1},
        1,
    ),
    "a row of a table": (
        r"\mathbf{e}_i = \mathbf{E}[x_i] \in \mathbb{R}^d",
        {"e": 2, "E": 2, "x": 1},
        0,
    ),
    "a row of a table, and a place": (r"e_t = E[x_t] + p_t", {"e": 2, "E": 2, "x": 1, "p": 2}, 0),
    "what names are, in brackets": (
        r"Q = X W_Q, \quad K = X W_K \quad (W_Q, W_K \in \mathbb{R}^{d \times d_k})",
        {"Q": 2, "X": 2, "W_Q": 2, "K": 2, "W_K": 2},
        2,
    ),
    "what many names are": (
        r"\mathbf{Q} = \mathbf{X} W^Q + b^Q \quad (W^\bullet \in \mathbb{R}^{d \times d})",
        {"Q": 2, "X": 2, "W^Q": 2, "b^Q": 1},
        1,
    ),
    "an accent over a word": (
        r"\widehat{MSE} = \frac{1}{n} \sum_{i=1}^n (y_i - x_i)^2",
        {"\\hat MSE": 0, "y": 1, "x": 1},
        1,
    ),
    "what a hidden layer does": (
        r"h_t = \mathcal{H}(W_{xh} x_t + W_{hh} h_{t-1} + b_h)",
        {"h": 2, "W_{xh}": 2, "x": 2, "W_{hh}": 2, "b_h": 1},
        2,
    ),
    "a set that is counted": (
        r"a = \frac{1}{|\mathcal{B}|} \sum_{i=1}^{|\mathcal{B}|} \mathbb{I}\left[z_i = y_i\right]",
        {"a": 0, "z": 1, "y": 1},
        1,
    ),
    "an inner product of matrices": (r"s = \Big\langle A, B - C \Big\rangle", {"s": 0, "A": 2, "B": 2, "C": 2}, 2),
    "a word that begins with a number": (
        r"\mathrm{MAE}_{3D} = \frac{1}{N} \sum_{i=1}^N |y_i - x_i|",
        {"MAE_{3D}": 0, "y": 1, "x": 1},
        1,
    ),
    "a place in round brackets": (
        r"""\tilde\alpha_t(j) = f_j(t) \sum_i \alpha_{t-1}(i) P_{ij}, \qquad c_t = \sum_j \tilde\alpha_t(j),
        \qquad \alpha_t = \tilde\alpha_t / c_t""",
        {"α̃": 2, "f": 2, "α": 2, "P": 2, "c": 1},
        2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", READ)
def test_it_is_read(form: str, tmp_path: Path) -> None:
    display, axes, sums = READ[form]
    found = read(tmp_path, f"$${display}$$")
    assert not found.mistakes and not found.skipped
    assert found.axes == {name: {count} for name, count in axes.items()}
    assert len(found.sums) == sums


OUTSIDE = {
    r"\mu_i = E[x_i]": "expectation",
    r"f = BN(W x + b)": "BN is a function",
    r"f = GN\left(W x + b\right)": "GN is a function",
    r"y = \mathcal{H}(x)": "a set or a structure",
    r"A = \exp(D_t \otimes B)": "⊗",
    r"y_i = x_{i \bmod n}": "mod",
    r"y = a + b \bmod c": "mod",
    r"""d = z \longrightarrow \begin{cases} \text{to one branch} \\ \text{skipping it (with } x)
    \end{cases}""": "brackets stand in words",
}


@pytest.mark.parametrize("display", OUTSIDE)
def test_it_is_left_outside(display: str, tmp_path: Path) -> None:
    found = read(tmp_path, f"$${display}$$")
    assert not found.computed and not found.mistakes
    assert OUTSIDE[display] in "; ".join(skipped.reason for skipped in found.skipped)


def test_letters_that_stand_alone_are_multiplied(tmp_path: Path) -> None:
    text = "$$y = AB(x + z)$$\n\n$$u = A v$$\n\n$$w = B v$$"
    assert "AB" not in "".join(read(tmp_path, text).axes)


def test_an_element_of_a_softmax(tmp_path: Path) -> None:
    text = r"$$a_k = \mathrm{softmax}(z_k) = \frac{e^{z_k}}{\sum_c e^{z_c}}$$"
    z = np.array([0.2, -1.0, 0.7])
    found = values(tmp_path, text, z=z)
    assert np.allclose(found["a"], np.exp(z) / np.exp(z).sum())


def test_an_outer_product(tmp_path: Path) -> None:
    text = r"$$S_t = S_{t-1} + \mathbf{k}_t \otimes \mathbf{v}_t$$"
    draw = np.random.default_rng(0).normal
    k, v = draw(size=(4, 2)), draw(size=(4, 3))
    found = values(tmp_path, text, k=k, v=v)
    assert np.allclose(found["S"][-1], sum(np.outer(a, b) for a, b in zip(k, v, strict=True)))


def test_the_row_of_a_table(tmp_path: Path) -> None:
    draw = np.random.default_rng(2).normal
    table, places, x = draw(size=(5, 3)), draw(size=(4, 3)), np.array([4, 0, 0, 2])
    (program,) = loaded(tmp_path, "$$e_t = E[x_t] + p_t$$")
    found = program.interpret({"x": x, "p": places}, {"E": table})
    assert np.allclose(found["e"], table[x] + places)


def test_a_remainder(tmp_path: Path) -> None:
    t = np.array([0.5, 3.2, 7.9])
    found = values(tmp_path, r"$$\phi_i = \frac{t_i \bmod P}{P}$$", t=t, P=np.array(3.0))
    assert np.allclose(found["φ"], np.mod(t, 3.0) / 3.0)


def test_a_mean_over_what_is_no_padding(tmp_path: Path) -> None:
    text = r"""$$\mathbf{c} = \frac{\sum_{t=1}^L \mathbf{h}_t \cdot [s_t \neq 0]}{\sum_{t=1}^L [s_t \neq 0]}$$"""
    h, s = np.random.default_rng(1).normal(size=(4, 3)), np.array([5, 2, 0, 0])
    assert np.allclose(values(tmp_path, text, h=h, s=s)["c"], h[:2].mean(axis=0))
