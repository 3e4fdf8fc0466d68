r"""Names of several letters and words, functions that are explained and not called, elements that alternate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from indicial import load_document
from tests.program.test_meant import readings

READ: dict[str, tuple[str, dict[str, int], int]] = {
    "two words on a left side": (
        r"\text{Cache Size} = 2 \times n_{\text{heads}} \times L",
        {"CacheSize": 0, "n_{heads}": 0, "L": 0},
        0,
    ),
    "a function right before its letter": (r"z_{ij} = lnE_i + lnt_j", {"z": 2, "E": 1, "t": 1}, 0),
    "a word of capitals, whose letters stand nowhere else": (
        r"y_t = \beta VIX_t + \epsilon_t",
        {"y": 1, "β": 0, "VIX": 1, "ε": 1},
        0,
    ),
    "a word among letters": (
        r"v_i = w u_i + c_1 (gbest - x_i)",
        {"v": 1, "w": 0, "u": 1, "c_1": 0, "gbest": 0, "x": 1},
        0,
    ),
    "hundredths": (r"m = \frac{100\%}{n} \sum_i |y_i|", {"m": 0, "n": 0, "y": 1}, 1),
    "an arrow between labels": (
        r"y_t = W_{h \to y} h_t",
        {"y": 2, "W_{h→y}": 2, "h": 2},
        1,
    ),
    "a remark in square brackets": (
        r"c_t = \sum_s \alpha_{ts} h_s \quad\quad [\text{context vector}]",
        {"c": 2, "α": 2, "h": 2},
        1,
    ),
    "where, in another language, and what an index goes through": (
        r"y_i = \sum_{j=1}^{3} w_{i,j} x_j + b_i \qquad \text{ahol } i=1,2,3,4",
        {"y": 1, "w": 2, "x": 1, "b": 1},
        1,
    ),
    "the square of a function": (
        r"\delta_t = e_t \odot (1 - \tanh^2(c_t))",
        {"δ": 2, "e": 2, "c": 2},
        0,
    ),
    "a logarithm of another base": (r"h = -\sum_i p_i \log_2 p_i", {"h": 0, "p": 1}, 1),
    "the logarithm of a sum of exponentials": (
        r"\alpha_t(j) = \text{logsumexp}_i (\alpha_{t-1}(i) + T[i, j]) + e_t(j)",
        {"α": 2, "T": 2, "e": 2},
        1,
    ),
    "a norm that everyone defines": (
        r"J = \norm{\vv - \mU \vx}^2 + \lambda \norm{\vx}_2^2",
        {"J": 0, "v": 1, "U": 2, "x": 1, "λ": 0},
        3,
    ),
    "a layer that is explained": (
        r"\text{LayerNorm}(x) = \gamma \odot \frac{x - \mu}{\sigma} + \beta",
        {"LayerNorm": 1, "γ": 1, "x": 1, "μ": 0, "σ": 0, "β": 1},
        0,
    ),
    "a layer with matrices": (
        r"\text{SwiGLU}(x) = (\text{Swish}(x W_1) \odot x V) W_2",
        {"SwiGLU": 1, "x": 1, "W_1": 2, "V": 2, "W_2": 2},
        3,
    ),
    "a function of elements, called in its display": (
        r"\text{RMSNorm}(x) = \frac{x}{\text{RMS}(x)} \odot \gamma, \quad "
        r"\text{RMS}(x) = \sqrt{\frac{1}{d} \sum_{i=1}^d x_i^2}",
        {"RMSNorm": 1, "x": 1, "RMS": 0, "γ": 1},
        1,
    ),
    "an energy": (r"E(x) := \|A x\|^2", {"E": 0, "A": 2, "x": 1}, 2),
    "an activation of a weighted sum": (
        r"y = f(\sum_{i=1}^n w_i x_i + b)",
        {"y": 0, "w": 1, "x": 1, "b": 0},
        1,
    ),
    "alternatives without names": (
        r"s_t = \begin{cases} h_t^\top q \\ h_t^\top W q \end{cases}",
        {"s": 1, "h": 2, "q": 1, "W": 2},
        3,
    ),
    "alternatives with names": (
        r"\text{score}(h_t, s) = \begin{cases} h_t^\top s & \text{dot} \\ h_t^\top W s & \text{a map} \end{cases}",
        {"score": 1, "h": 2, "s": 1, "W": 2},
        3,
    ),
    "gradients as programs call them": (r"dX = dS W^T", {"dX": 2, "dS": 2, "W": 2}, 1),
    "a step of a derivative": (
        r"\frac{\partial \mathbf c_t}{\partial \mathbf c_{t-1}} = \mathbf f_t",
        {"∂c/∂c": 2, "f": 2},
        0,
    ),
    "a script letter that is multiplied": (
        r"\mathcal K = \mathbf U^T \Lambda \mathbf U",
        {"𝒦": 2, "U": 2, "Λ": 2},
        2,
    ),
    "a letter on both sides": (r"K A = \lambda A", {"K": 2, "A": 2, "λ": 0}, 1),
    "an identity of two sizes": (
        r"(\mathbf K + \lambda I_{nq}) c = y",
        {"K": 2, "λ": 0, "c": 1, "y": 1},
        1,
    ),
    "a full stop that multiplies": (
        r"\mu_k = \frac{\sum_{n=1}^N \gamma_{nk}.x_n}{N_k}",
        {"μ": 1, "γ": 2, "x": 1, "N": 1},
        1,
    ),
    "parameters behind a semicolon": (
        r"f(\mathbf x; \theta) = \mathbf W \mathbf x + \mathbf b",
        {"f": 1, "W": 2, "x": 1, "b": 1},
        1,
    ),
    "scores that are called e, and Euler's number": (
        r"e_{tj} = s_t^\top h_j, \quad \alpha_{tj} = \frac{e^{e_{tj}}}{\sum_k e^{e_{tk}}}",
        {"e": 2, "s": 2, "h": 2, "α": 2},
        2,
    ),
    "a quantifier first": (
        r"\forall 1 \leq j \leq K, \; y_j = w_j + m_j",
        {"y": 1, "w": 1, "m": 1},
        0,
    ),
    "a power of a Greek letter": (r"q_i = \eta^\alpha W_q x_i", {"q": 2, "η": 0, "α": 0, "W_q": 2, "x": 2}, 1),
    "an end with a label": (r"S_{ij} = \sum_{l=1}^{d_k} Q_{il} K_{jl}", {"S": 2, "Q": 2, "K": 2}, 1),
    "an end that is computed": (
        r"h_i = \sum_{m=0}^{k-1} w_m x_{i+m}",
        {"h": 1, "w": 1, "x": 1},
        1,
    ),
    "a threshold below a function": (
        r"J = \sum_{t=1}^T L_\delta(y_t - u_t), \quad L_\delta(a) = \tfrac{1}{2} a^2 + \delta |a|",
        {"J": 0, "y": 1, "u": 1, "δ": 0},
        1,
    ),
    "one column of many": (
        r"s_i = W_{:,i}^\top x, \quad z = W y",
        {"s": 1, "W": 2, "x": 1, "z": 1, "y": 1},
        2,
    ),
    "rows in brackets": (r"K_{[i,:]} = X_{[i,:]} A", {"K": 2, "A": 2, "X": 2}, 1),
    "a matrix for each of many": (
        r"C_l = G_{l,:,:} X_l, \quad G_{l,:,:} \in \mathbb{R}^{M \times N}",
        {"C": 2, "G": 3, "X": 2},
        1,
    ),
    "a function of what stands in square brackets": (
        r"\mathbf h = \tanh[\mathbf g \odot (\mathbf a - \mathbf m) + \mathbf b]",
        {"h": 1, "g": 1, "a": 1, "m": 1, "b": 1},
        0,
    ),
    "elements that alternate": (
        r"PE_{(pos, 2i)} = \sin\left(\frac{pos}{c^{2i/d}}\right), \quad "
        r"PE_{(pos, 2i+1)} = \cos\left(\frac{pos}{c^{2i/d}}\right)",
        {"PE": 2, "c": 0, "d": 0},
        0,
    ),
}  # fmt: skip

OUTSIDE: dict[str, tuple[str, str]] = {
    "small changes": (r"dX = \mu dt + \sigma dW", "differentials"),
    "a case that words describe": (
        r"m_i = \begin{cases} 0 & \text{if masked} \\ 1 & \text{otherwise} \end{cases}",
        "in words",
    ),
    "two capitals that may be a word": (r"RT = k R_{info} + c", "word or a product"),
    "a word is all that is said": (r"T = \text{temperature}", "temperature"),
    "words that nothing defines": (r"y = \text{noise term} + x", "noise term"),
    "an arrow between indices": (r"m_{i \to j} = \phi_i x_j", "arrow"),
    "a layer that fits numbers alone": (
        r"\text{SwiGLU}(x) = (\text{SiLU}(W_1 x) \odot W_3 x) \cdot W_2",
        "no reading of it is likely",
    ),
    "an expectation": (r"E(X) = \sum_i x_i p_i", "expectation"),
}


@pytest.mark.parametrize("case", READ)
def test_read(case: str, tmp_path: Path) -> None:
    display, axes, sums = READ[case]
    (found,) = readings(tmp_path, display)
    assert found.axes == {name: {count} for name, count in axes.items()}
    assert len(found.sums) == sums and not found.mistakes and not found.skipped


@pytest.mark.parametrize("case", OUTSIDE)
def test_outside(case: str, tmp_path: Path) -> None:
    display, reason = OUTSIDE[case]
    (found,) = readings(tmp_path, display)
    assert not found.computed and not found.mistakes
    assert any(reason in skipped.reason for skipped in found.skipped)


def test_words_are_a_name_where_they_are_read(tmp_path: Path) -> None:
    found = readings(
        tmp_path,
        r"\text{Scaled Scores} = \frac{q^\top k}{\sqrt{d}}",
        r"a = e^{\text{Scaled Scores}}",
    )
    assert found[1].axes == {"a": {0}, "ScaledScores": {0}}


def test_what_the_text_calls_an_activation_is_one(tmp_path: Path) -> None:
    display = r"$$\mathbf{h}_t = \alpha \mathbf{h}_{t-1} + f(\mathbf{u}_t)$$"
    path = tmp_path / "notes.md"
    for text, read in (
        (r"where $f$ is a nonlinear activation function.", 1),
        ("where $f$ is given.", 0),
    ):
        path.write_text(f"{display}\n\n{text}\n", encoding="utf-8")
        programs = [p for p in load_document(path) if p.analysis.code.statements]
        assert len(programs) == read


def test_a_function_of_the_section_before(tmp_path: Path) -> None:
    found = readings(
        tmp_path,
        "## Model",
        "### One head",
        r"\text{Attention}(Q, K, V) = \text{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V",
        "### Many",
        r"\text{head}_i = \text{Attention}(Q W_i^Q, K W_i^K, V W_i^V)",
    )
    assert found[1].axes["head"] == {3} and found[1].axes["W^Q"] == {3}


def test_a_power_in_a_function_is_that_of_its_argument(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        r"$$J = \sum_t L_\delta(y_t - u_t), \quad L_\delta(a) = a^2 + \delta |a|$$",
        encoding="utf-8",
    )
    (program,) = load_document(path)
    y, u = np.array([1.0, -2.0, 0.5]), np.array([0.25, 1.0, 4.0])
    found = program.interpret({"y": y, "u": u, "δ": 0.5})["J"]
    assert np.isclose(found, ((y - u) ** 2 + 0.5 * abs(y - u)).sum())


def test_a_label_above_makes_another_name(tmp_path: Path) -> None:
    found = readings(
        tmp_path,
        r"\text{head}_i = X W_i^Q",
        r"\text{FFN}(x) = \text{ReLU}(x W_1 + b_1) W_2 + b_2",
    )
    assert found[0].axes["W^Q"] == {3} and found[1].axes["W_1"] == {2}


def test_elements_that_alternate_have_their_values(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    below = r"\left(\frac{pos}{100^{2i/6}}\right)"
    rows = rf"PE_{{(pos, 2i)}} = \sin{below}", rf"PE_{{(pos, 2i+1)}} = \cos{below}"
    path.write_text("\n\n".join(f"$${row}$$" for row in rows), encoding="utf-8")
    (program,) = load_document(path)
    found = program.interpret({}, sizes={"P": 3, "K": 6})["PE"]
    places, pairs = np.arange(3)[:, None], np.arange(3)[None]
    angles = places / 100 ** (2 * pairs / 6)
    assert np.allclose(found[:, 0::2], np.sin(angles)) and np.allclose(
        found[:, 1::2], np.cos(angles)
    )


def test_delimiters_that_are_declared_as_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "notes.tex"
    path.write_text(
        "\\DeclarePairedDelimiter{\\len}{\\lVert}{\\rVert}\n\\[ s = \\len*{\\mathbf a} + \\len{\\mathbf b} \\]\n",
        encoding="utf-8",
    )
    (program,) = load_document(path)
    assert {n: len(t.axes) for n, t in program.analysis.code.tensors.items()} == {
        "s": 0,
        "a": 1,
        "b": 1,
    }
