r"""Displays that once passed as read and were read wrongly: each is now read as meant, or left outside.

Cases are what stands in a document, displays and sentences (`Here …`), and what becomes of the last display.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.test_meant import readings

READ: dict[str, tuple[tuple[str, ...], dict[str, int], int]] = {
    "an activation with the label of its layer": (
        (r"h_t = a_h(U x_t + W h_{t-1} + b_h)",),
        {"h": 2, "U": 2, "x": 2, "W": 2, "b_h": 1},
        2,
    ),
    "an arrow over a capital": (
        (r"r = \lVert \vec{A} - \vec{B} \rVert",),
        {"r": 0, "A⃗": 1, "B⃗": 1},
        1,
    ),
    "arrows over everything, matrices too": (
        (r"\vec{g}_t = \sigma(\vec{W}_g \cdot [\vec{h}_{t-1}, \vec{x}_t] + \vec{b}_g)",),
        {"g⃗": 2, "W⃗_g": 2, "h⃗": 2, "x⃗": 2, "b⃗_g": 1},
        1,
    ),
    "double bars of single ones": (
        (r"C = \frac{1}{n}\vert\vert \mathbf r - \mathbf M \mathbf b \vert\vert_2^2",),
        {"C": 0, "n": 0, "r": 1, "M": 2, "b": 1},
        2,
    ),
    "elements in the type of programs": (
        (r"D_{i,j} = D_{i-1,j} + \mathbb 1_{\texttt{left[i]} \neq \texttt{right[j]}} \times \texttt{swap\_cost}",),
        {"D": 2, "left": 1, "right": 1, "swap_cost": 0},
        0,
    ),
    "a sum over words": (
        (r"r = \sum_{q \in \{\mathrm{pitch}, \mathrm{speed}\}} \lambda_q S_q",),
        {"r": 0, "λ": 1, "S": 1},
        1,
    ),
    "a δ above and below": (
        (r"\frac{\delta E}{\delta w_{ij}} = d_i x_j",),
        {"∂E/∂w": 2, "d": 1, "x": 1},
        0,
    ),
    "the cost of a label, and its gradient": (
        (r"u = \frac{\nabla C_{\text{in}}(\mathbf w)}{\|\nabla C_{\text{in}}(\mathbf w)\|}",),
        {"u": 1, "∂C_{in}/∂w": 1},
        1,
    ),
    "a δ before what changes": (
        (
            r"\delta \mathbf x_{t} = \sum_k c_{tk} \mathbf b_k, \quad"
            r" s = \sum_t \|\delta \mathbf x_t\|_2",
        ),
        {"δx": 2, "c": 2, "b": 2, "s": 0},
        3,
    ),
    "what a matrix multiplies, element by element": (
        ("Here $P$ is a matrix.", r"y_j = \sum_i P_{ji} x_i"),
        {"y": 1, "P": 2, "x": 1},
        1,
    ),
    "the labels of a cross-entropy": (
        (r"C = -\sum_k y_k \log q_k",), {"C": 0, "y": 1, "q": 1}, 1,
    ),
    "vectors that are numbered, beside one that is not": (
        (
            r"u_i = \sigma(w^T x_i + b)",
            r"Here $x_i \in \mathbb{R}^d$, $w \in \mathbb{R}^d$, and in a layer $x \in \mathbb{R}^d$.",
        ),
        {"u": 1, "w": 1, "x": 2, "b": 0},
        1,
    ),
    "what another section says of a vector for each step": (
        (
            "# Neuron",
            r"a = \sum_{i=1}^n w_i x_i",
            "# Network",
            "Here the input vector $x_i^t$ and the output vector $w_i^t$ are given.",
        ),
        {"a": 0, "w": 1, "x": 1},
        1,
    ),
    "a mean of a family, of steps": (
        (r"\mu_q(\mathbf x_t, \mathbf y) = \alpha_t \mathbf y + \beta_t \mathbf x_t",),
        {"μ_q": 2, "α": 1, "y": 1, "β": 1, "x": 2},
        0,
    ),
    "the parameters of a hypothesis": (
        (r"g_\theta(X) = X \theta",), {"g_θ": 1, "X": 2, "θ": 1}, 1,
    ),
    "a vector that is written out with dots": (
        (
            r"v_j = \begin{bmatrix} u_{1,j} \\ \vdots \\ u_{n,j} \end{bmatrix}",
            r"v_{j+1} = A v_j",
        ),
        {"v": 2, "A": 2, "v_0": 1},
        1,
    ),
    "an index that is computed with": (
        (
            "Here the number $k_0$ and the stride $S > 0$ are given.",
            r"k_w = k_0 + (w - 1) S",
        ),
        {"k": 1, "k_0": 0, "S": 0},
        0,
    ),
    "a number and a word below": (
        (r"d = x_{168,\text{last}} + 1",), {"d": 0, "x_{168,last}": 0}, 0,
    ),
    "for all places": (
        (r"y_i = \sum_{j=1}^m w_{ij} x_j + b_i \quad (1 \le i \le n)",),
        {"y": 1, "w": 2, "x": 1, "b": 1},
        1,
    ),
    "a size that only a sentence has": (
        (
            r"Here $q_s \in \mathbb{R}^{H_{\text{idx}} d_{\text{idx}}}$ and $z \in \mathbb{R}^{H_{\text{idx}}}$.",
            r"z = \frac{G x}{\sqrt{H_{\text{idx}} d_{\text{idx}}}}",
        ),
        {"z": 1, "G": 2, "x": 1, "d_{idx}": 0},
        1,
    ),
    "plain letters in sentences, bold ones in displays": (
        (
            r"Here $h_{t-1} \in \mathbb{R}^{m}$ is the last state.",
            r"\mathbf h_t = \tanh(\mathbf W \mathbf x_t + \mathbf U \mathbf h_{t-1})",
        ),
        {"h": 2, "W": 2, "x": 2, "U": 2},
        2,
    ),
    "a small t that transposes": (
        (
            r"s_{ij} = u_i^t v_j",
            r"g = U^t \mathbf d",
        ),
        {"g": 1, "U": 2, "d": 1},
        1,
    ),
    "what a functional is of": (
        (
            "Here $P$ is a matrix.",
            r"\begin{aligned} y_j &= \sum_i P_{ji} x_i \\ \Lambda[P, H] &= -\sum_k p_k \log q_k \end{aligned}",
        ),
        {"y": 1, "P": 2, "x": 1, "Λ": 0, "p": 1, "q": 1},
        2,
    ),
    "a draw that a function of one's own reads": (
        (
            "# Process",
            r"\mathbf x_t = \alpha_t \mathbf y + \beta_t \epsilon, \quad \epsilon \sim \mathcal{N}(0, \mathbf I)",
            r"m(\mathbf x_t, \mathbf y) = \alpha_t \mathbf y + \beta_t \mathbf x_t",
            r"m(\mathbf x_t, \mathbf y) = \alpha_t (\mathbf x_t - \beta_t \epsilon)",
        ),
        {"m": 2, "α": 1, "x": 2, "β": 1, "ε": 1},
        0,
    ),
}  # fmt: skip

OUTSIDE: dict[str, tuple[tuple[str, ...], str]] = {
    "a star that the text calls a convolution": (
        ("Here $*$ denotes the convolution.", r"z_t = \sigma(W_z * [h_{t-1}, x_t] + b_z)"),
        "convolution",
    ),
    "differentials of logarithms": ((r"d\log a_j = \sum_{t=j}^n d c_t",), "differentials"),
    "what an indicator is": (
        (r"\mathbf 1(i = j) = \begin{cases} 1 & \text{if } i = j \\ 0 & \text{if } i \neq j \end{cases}",),
        "indicator",
    ),
    "a function of the elements of a matrix": (
        (r"u_{ij} = \mu(w_{ij}) + w_{ij}",), "nothing here defines",
    ),
    "a function of numbers alone": ((r"u_{ij} = v_{ij} \phi(0, 1)",), "nothing here defines"),
    "a probability of a word for each step": (
        (r"p(w_t) = \text{softmax}(\text{logits}_t)",), "of one value",
    ),
    "a loss of parameters": (
        (r"L_t^{M}(\theta) = \frac{1}{t} \sum_{i=1}^t L_i(\theta)",), "argument",
    ),
    "half of a place that is computed": (
        (r"\tilde x_{t,2i} = x_{t,2i} \cos a_{t,i} - x_{t,2i+1} \sin a_{t,i}",), "computed",
    ),
    "indices above, side by side": (
        (r"z_{cs} = W_{cd} G^{d a r s} x_{ar}",), "indices",
    ),
    "a letter that a case asks about": (
        (
            r"\frac{\partial L}{\partial w_{ij}} = \frac{\partial L}{\partial p_a} v_{ij}"
            r" = \begin{cases} x_i & \text{if } a = j \\ 0 & \text{if } a \neq j \end{cases}",
        ),
        "number something",
    ),
    "a function of a vector, beside an index of its letter": (
        (r"c_h = -\sum_i y_i \log_2 h_i(\mathbf x)",), "call or a product",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_read(case: str, tmp_path: Path) -> None:
    document, axes, sums = READ[case]
    last = readings(tmp_path, *document)[-1]
    assert not last.skipped and not last.mistakes
    assert last.axes == {name: {count} for name, count in axes.items()}
    assert len(last.sums) == sums


@pytest.mark.parametrize("case", OUTSIDE)
def test_outside(case: str, tmp_path: Path) -> None:
    document, reason = OUTSIDE[case]
    found = readings(tmp_path, *document)[-1]
    assert not found.computed and not found.mistakes
    assert reason in found.skipped[0].reason


def test_what_is_a_vector_is_no_index(tmp_path: Path) -> None:
    loss, out = readings(
        tmp_path, r"\mathcal{L} = -\sum_{t=1}^T \log p_{t, x_{t+1}}", r"y_t = W x_t + b"
    )
    assert loss.axes == {"ℒ": {0}, "p": {2}, "x": {1}} and out.axes["x"] == {2}
