r"""Ways of writing in which whole communities agree: components of physicists, stars of READMEs, gradients of courses.

Each case once was left outside or computed something else than its author meant.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from notes_of import loaded, read, values

READ: dict[str, tuple[str, dict[str, int], int]] = {
    # a text, its names with their axes, and its sums
    "letters of two alphabets in one place": (
        r"$$u_{gi\nu} = P_{g\nu c} r_{ic}, \qquad v_{gi\nu} = Q_{g\nu c} r_{ic}$$",
        {"u": 3, "v": 3, "P": 3, "Q": 3, "r": 2},
        2,
    ),
    "a width beside heads": (
        r"$$S_{hij} = \frac{1}{\sqrt{d_h}} u_{hi\nu} v_{hj\nu} + M_{ij}$$",
        {"S": 3, "d_h": 0, "u": 3, "v": 3, "M": 2},
        1,
    ),
    "a letter that occurs three times": (
        r"$$y_{ic} = x_{ic} + U_{cg\nu} A_{gij} v_{gj\nu}$$",
        {"y": 2, "x": 2, "U": 3, "A": 3, "v": 3},
        3,
    ),
    "a sum that reaches into a function": (
        r"$$z_{ic} = y_{ic} + B_{ce} \phi(C_{eb} y_{ib} + \beta_e)$$",
        {"z": 2, "y": 2, "B": 2, "C": 2, "β": 1},
        2,
    ),
    "rates of a network of neurons": (
        r"$$u_i = -r_i + W_{ij} \tanh(r_j) + b_i$$",
        {"u": 1, "r": 1, "W": 2, "b": 1},
        1,
    ),
    "layers above": (
        r"$$z^{\ell+1}_i = W^\ell_{ij} \sigma(z^\ell_j)$$",
        {"z": 2, "W": 3, "z_0": 1},
        1,
    ),
    "second moments": (
        r"$$C_{b\mu\nu} = x_{bt\mu} x_{bt\nu}$$",
        {"C": 3, "x": 3},
        1,
    ),
    "a gradient by components": (
        r"$$\frac{\partial L}{\partial W_{c\nu}} = \frac{\partial L}{\partial y_{ic}} A_{ij} v_{j\nu}$$",
        {"∂L/∂W": 2, "∂L/∂y": 2, "A": 2, "v": 2},
        2,
    ),
    "the degree of a node": (
        r"$$u_i = \sum_j \frac{1}{\sqrt{d_i}} A_{ij} v_j$$",
        {"u": 1, "d": 1, "A": 2, "v": 1},
        1,
    ),
    # gradients as courses call them, and shapes as READMEs state them
    "gradients of a batch, one by elements": (
        r"""$$\begin{aligned} da &= a - y \\ dx &= da \, U_x^T \\ dU_x &= x^T da \\
        dc_j &= \sum_{n=1}^N da_{nj} \end{aligned}$$""",
        {"da": 2, "a": 2, "y": 2, "dx": 2, "U_x": 2, "dU_x": 2, "x": 2, "dc": 1},
        3,
    ),
    "the slope of tanh for a batch": (
        r"$$D = G \odot (1 - H^2), \quad H = \tanh(X W)$$",
        {"D": 2, "G": 2, "H": 2, "X": 2, "W": 2},
        1,
    ),
    "a batch that code names": (
        "The input `x` of one step has shape (N, D), and `b` has shape (H,).\n\n"
        r"$$h_{next} = \tanh(x W_x + h_{prev} W_h + b)$$",
        {"h_{next}": 2, "x": 2, "W_x": 2, "h_{prev}": 2, "W_h": 2, "b": 1},
        2,
    ),
    "the time in the middle of a shape": (
        "`x` is (N, T, D), and `h` is (N, T, H).\n\n" r"$$h_t = \tanh(x_t W_x + h_{t-1} W_h + b)$$",
        {"h": 3, "x": 3, "W_x": 2, "W_h": 2, "b": 1},
        2,
    ),
    # sums within sums
    "a mean within a sum": (
        r"$$R = \sum_i (x_i - \frac{1}{n} \sum_i x_i)^2$$",
        {"R": 0, "x": 1, "n": 0},
        2,
    ),
    "a share within two sums": (
        r"$$R = \sum_i \sum_j \log \frac{\exp(a_{ij})}{\sum_j \exp(a_{ij})}$$",
        {"R": 0, "a": 2},
        3,
    ),
    "weights that are normalised within a sum": (
        r"$$\ell = \sum_{n=1}^N \frac{1}{\sum_{n=1}^N w_n} l_n$$",
        {"ℓ": 0, "w": 1, "l": 1},
        2,
    ),
    "a total of both letters of the left side": (
        r"$$p_{ij} = \frac{\exp(-d_{ij})}{\sum_i \sum_j \exp(-d_{ij})}$$",
        {"p": 2, "d": 2},
        2,
    ),
    # single forms
    "a case that holds otherwise, in Spanish": (
        r"$$y_i = \begin{cases} x_i & \text{si } x_i > 0, \\ 0 & \text{en otro caso.} \end{cases}$$",
        {"y": 1, "x": 1},
        0,
    ),
    "bars behind a comma": (
        r"$$d_{ij} = \max(|x_i - x_j|, |y_i - y_j|)$$",
        {"d": 2, "x": 1, "y": 1},
        0,
    ),
    "a step before a small letter": (
        r"$$u_n = \frac{e^{\Delta a_n} - 1}{a_n} b_n$$",
        {"u": 1, "Δ": 0, "a": 1, "b": 1},
        0,
    ),
    "a vector that is added inside a function": (
        r"$$y = b + W x + U \tanh(d + H x)$$",
        {"y": 1, "b": 1, "W": 2, "x": 1, "U": 2, "d": 1, "H": 2},
        3,
    ),
    "dots that the last side says": (
        r"$$y_t = \phi_1 y_{t-1} + \cdots + \phi_p y_{t-p} + u_t = \sum_{j=1}^p \phi_j y_{t-j} + u_t$$",
        {"y": 1, "φ": 1, "u": 1},
        1,
    ),
    "a power of a gate": (
        r"$$a_t = \sigma(W x_t + b)^{1/\tau}$$",
        {"a": 2, "W": 2, "x": 2, "b": 1, "τ": 0},
        1,
    ),
    "statistics that are called by what they are of": (
        r"$$m_z = \frac{1}{B} \sum_{i=1}^B z_i, \quad s_z = \sqrt{\frac{1}{B} \sum_{i=1}^B (z_i - m_z)^2}$$",
        {"m_z": 0, "s_z": 0, "z": 1},
        2,
    ),
    "a table that scores words as well": (
        r"$$\mathbf{x}_i = \mathbf{E}[w_i]$$ $$\mathbf{u} = \mathbf{h} \mathbf{E}^\intercal$$",
        {"x": 2, "E": 2, "w": 1, "u": 1, "h": 1},
        1,
    ),
    "states of both directions side by side": (
        r"$$u_t = \tanh(W_y [\overrightarrow{h}_t, \overleftarrow{h}_t] + b_y)$$",
        {"u": 2, "W_y": 2, "h⃗": 2, "h⃖": 2, "b_y": 1},
        1,
    ),
}


@pytest.mark.parametrize("case", READ)
def test_read(case: str, tmp_path: Path) -> None:
    text, axes, sums = READ[case]
    found = read(tmp_path, text)
    assert found.axes == {name: {count} for name, count in axes.items()}
    assert len(found.sums) == sums and not found.skipped and not found.mistakes


def test_an_implied_sum_ends_with_its_term(tmp_path: Path) -> None:
    p = np.array([[0.2, 0.8], [0.5, 0.5]])
    s = np.array([[1.0, 2.0], [3.0, -1.0]])
    found = values(
        tmp_path, r"$$F_i = - p_{ij} S_{ij} + T p_{ij} \ln p_{ij}$$", p=p, S=s, T=np.array(2.0)
    )
    assert np.allclose(found["F"], -(p * s).sum(1) + 2 * (p * np.log(p)).sum(1))


def test_a_display_set_apart_reads_what_stands_before_it(tmp_path: Path) -> None:
    """The T of a gate is none of the T steps of the displays behind it, and is known from those before."""
    text = r"""$$y = \tanh(W * x + b)$$ $$H = \tanh(W_H * x + b_H)$$ $$T = \sigma(W_T * x + b_T)$$
    $$y = T * H + (1 - T) * x$$ $$u_t = \sigma(W_u x_t + b_u)$$ $$c_t = u_t * c_{t-1}$$"""
    found = [
        p
        for p in loaded(tmp_path, text)
        if any(st.span.text.startswith("y = T") for st in p.written)
    ]
    axes = {name: len(tensor.axes) for name, tensor in found[0].analysis.code.tensors.items()}
    assert axes.items() >= {"y": 1, "T": 1, "H": 1, "x": 1, "W_T": 2}.items()


def test_a_loss_goes_on_behind_those_that_it_is_the_sum_of(tmp_path: Path) -> None:
    y, u = np.array([1.0, 2.0, 4.0]), np.array([1.5, 0.0, 4.0])
    text = r"$$J = \frac{1}{m} \sum_{i=1}^m J_i = \frac{1}{2m} \sum_{i=1}^m (y_i - u_i)^2$$"
    found = read(tmp_path, text)
    assert found.axes == {"J": {0, 1}, "y": {1}, "u": {1}} and not found.mistakes
    total = values(tmp_path, text, y=y, u=u, **{"J_·": y})["J"]
    assert np.isclose(total, ((y - u) ** 2).mean() / 2)


def test_a_slope_takes_no_power_of_a_matrix(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    g, x, w = draw.normal(size=(4, 4)), draw.normal(size=(4, 2)), draw.normal(size=(2, 4))
    found = values(tmp_path, r"$$D = G \odot (1 - H^2), \quad H = \tanh(X W)$$", G=g, X=x, W=w)
    assert np.allclose(found["D"], g * (1 - np.tanh(x @ w) ** 2))


def test_a_space_without_a_name_is_no_matter(tmp_path: Path) -> None:
    """A map between spaces says nothing of shapes, here or under another heading."""
    said = r"It maps $x \in \mathbb{R}^\mathtt{T} \to y \in \mathbb{R}^\mathtt{T}$:"
    text = f"# One\n\n{said}\n\n$$y = M x$$\n\n# Two\n\n$$z = K x$$"
    found = read(tmp_path, text)
    assert found.axes == {"y": {1}, "M": {2}, "x": {1}, "z": {1}, "K": {2}}


def test_small_changes_are_no_gradients(tmp_path: Path) -> None:
    found = read(tmp_path, r"$$dX = \mu dt + \sigma dW$$")
    assert not found.computed and "differentials" in found.skipped[0].reason


OUTSIDE: dict[str, str] = {
    "an update by what a row that is not read computes": (
        r"$$v_t = \gamma v_{t-1} + \eta \nabla_\theta J(\theta_t - \gamma v_{t-1}), \; \theta_{t+1} = \theta_t - v_t$$"
    ),
    # of whose classes may be a matter of taste
    "a term, or its sum": r"$$L = -y_{ic} \log p_{ic}$$",
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_left_outside(case: str, tmp_path: Path) -> None:
    found = read(tmp_path, OUTSIDE[case])
    assert not found.computed and found.skipped and not found.mistakes
