r"""Passages that everybody knows, in their authors' notation: how each display is read, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from indicial import load_document
from tests.program.test_meant import readings

Axes = dict[str, int] | None
"""The names of a display with their number of axes; None if it is left outside."""

PASSAGES: dict[str, list[tuple[str, Axes]]] = {
    "equations that a semicolon separates": [
        (
            r"\mathbf{q}_i = \mathbf{x}_i\mathbf{W}^Q;\quad \mathbf{k}_j = \mathbf{x}_j\mathbf{W}^K",
            {"q": 2, "k": 2, "x": 2, "W^Q": 2, "W^K": 2},
        ),
    ],
    "a prediction with a minus above": [
        (r"\hat{x}_t^- = A \hat{x}_{t-1} + B u_t", {"x̂^{-}": 2, "x̂": 2, "A": 2, "B": 2, "u": 2}),
        (r"P_t^- = A P_{t-1} A^T + Q", {"P^{-}": 3, "P": 3, "A": 2, "Q": 2}),
    ],
    "a choice between two functions": [
        (r"f_t = \sigma(\tilde f_t) \text{ or } \exp(\tilde f_t), \quad \tilde f_t = w^\top x_t", None),
    ],
    "an embedding beside other matrices, steps above": [
        (r"e^{(t)} = E x^{(t)}", {"e": 2, "E": 2, "x": 2}),
        (
            r"h^{(t)} = \sigma\left(W_h h^{(t-1)} + W_e e^{(t)} + b_1\right)",
            {"h": 2, "W_h": 2, "W_e": 2, "e": 2, "b_1": 1},
        ),
    ],
    "layer normalisation by itself": [
        (
            r"\text{LayerNorm}(x) = \gamma \cdot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta",
            {"LayerNorm": 1, "γ": 1, "x": 1, "μ": 0, "σ": 0, "ε": 0, "β": 1},
        ),
    ],
    "a sequence that is written small": [
        (r"Q = xW_Q,\quad K = xW_K,\quad V = xW_V", None),
    ],
    "a query and one key": [
        (
            r"\mathcal L_q = -\log\frac{\exp(q\cdot k_+/\tau)}{\sum_{i=0}^K\exp(q\cdot k_i/\tau)}",
            None,  # as numbers it would be, and these are none
        ),
    ],
    "a head whose definition is not read": [
        (
            r"\text{head} = \text{softmax}\left(\text{mask}(\mathbf{Q}\mathbf{K}^\top)\right)\mathbf{V}",
            None,
        ),
        (r"\mathbf{A} = \text{head}\,\mathbf{W}^O", {"A": 2, "head": 2, "W^O": 2}),
    ],
    "how often words follow each other": [
        (r"P(w_n|w_{n-1}) = \frac{C(w_{n-1}w_n)}{\sum_w C(w_{n-1}w)}", None),
    ],
    "a word before what it is of": [
        (r"lp(Y) = \frac{(5 + |Y|)^\alpha}{(5 + 1)^\alpha}", None),
    ],
    "a loss of each step beside their sum": [
        (r"L = \sum_{t=1}^{T} L_t = -\sum_{t=1}^{T} \mathbf y_t^\top \log \mathbf p_t",
         {"L": 1, "y": 2, "p": 2}),
        (r"\frac{\partial L}{\partial \mathbf W} = \sum_{t=1}^{T} \frac{\partial L_t}{\partial \mathbf W}",
         {"∂L/∂W": 2, "∂L_·/∂W_·": 3}),
    ],
    "a diagonal matrix between two others": [
        (
            r"\delta_t = V^\top e_t + W^\top \mathrm{diag}(1 - h_{t+1}^2)\, \delta_{t+1}",
            {"δ": 2, "V": 2, "e": 2, "W": 2, "h": 2},
        ),
    ],
    "the same with dots, which may be outer products": [
        (r"s_t = \mathrm{diag}(u)\cdot k_t^\top\cdot v_t + \mathrm{diag}(w_t)\cdot k_t^\top\cdot v_t", None),
    ],
    "steps of an e in brackets": [
        (r"e^{(t)} = A x^{(t)}", {"e": 2, "A": 2, "x": 2}),
    ],
    "a matrix for each head": [
        (r"\mathbf{q}_i^c = \mathbf{x}_i \mathbf{W}^{\mathbf{Q}c}, \quad \forall c \; 1 \leq c \leq A",
         None),
    ],
    "moments of the weights": [
        (r"m_w^{(t)} = \beta_1 m_w^{(t-1)} + (1 - \beta_1) g^{(t)}", {"m_w": 1, "β_1": 0, "g": 1}),
        (r"\hat m_w^{(t)} = \frac{m_w^{(t)}}{1 - \beta_1^t}", {"m̂_w": 1, "m_w": 1, "β_1": 0}),
        (r"w^{(t)} = w^{(t-1)} - \eta \hat m_w^{(t)}", {"w": 1, "η": 0, "m̂_w": 1}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("passage", PASSAGES)
def test_passage(passage: str, tmp_path: Path) -> None:
    displays, wanted = zip(*PASSAGES[passage], strict=True)
    for found, axes in zip(readings(tmp_path, *displays), wanted, strict=True):
        assert not found.mistakes
        if axes is None:
            assert not found.computed
        else:
            joined = {name: max(counts) for name, counts in found.axes.items()}
            assert joined == axes


LOGISTIC = r"""# Logistic regression

**Model**

\[ \hat{y} = \sigma(w^T x + b) \]

**Loss for one example**

\[ \mathcal{L}(\hat{y}, y) = -\left[ y \log \hat{y} + (1 - y) \log (1 - \hat{y}) \right] \]

**Cost over the training set**

\[ J(w, b) = \frac{1}{m} \sum_{i=1}^{m} \mathcal{L}(\hat{y}^{(i)}, y^{(i)}) \]

**Gradients**

\[ \frac{\partial J}{\partial w} = \frac{1}{m} \sum_{i=1}^{m} (\hat{y}^{(i)} - y^{(i)}) x^{(i)} \]
\[ \frac{\partial J}{\partial b} = \frac{1}{m} \sum_{i=1}^{m} (\hat{y}^{(i)} - y^{(i)}) \]
"""


def test_logistic_regression_in_parts(tmp_path: Path) -> None:
    """The loss is called under another heading, `w^T x` shows what w and x are, and ŷ^{(i)} depends on b."""
    path = tmp_path / "notes.md"
    path.write_text(LOGISTIC, encoding="utf-8")
    programs = load_document(path)
    assert not [m for p in programs for m in p.messages if m.severity != "note"]
    axes = {key: len(t.axes) for p in programs for key, t in p.analysis.code.tensors.items()}
    assert axes["J"] == 0 and axes["∂J/∂w"] == 1 and axes["∂J/∂b"] == 0 and axes["x"] == 2


def test_a_hypothesis_is_called(tmp_path: Path) -> None:
    r"""`h_θ(x) = Σ_i θ_i x_i = θ^T x` is a function: `h_θ(x^{(i)})` is no product."""
    first, second = readings(
        tmp_path,
        r"h_\theta(x) = \sum_{i=0}^{d} \theta_i x_i = \theta^T x",
        r"J(\theta) = \frac12 \sum_{i=1}^{n} (h_\theta(x^{(i)}) - y^{(i)})^2",
    )
    assert first.functions == 1
    assert second.computed and not second.skipped and second.axes["x"] == {2}


def test_queries_keys_and_values_are_inputs(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        r"$$\text{Attention}(Q, K, V) = \text{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V$$",
        encoding="utf-8",
    )
    (program,) = load_document(path)
    assert {program.analysis.code.tensors[name].role for name in "QKV"} == {"input"}


def test_examples_are_no_elements(tmp_path: Path) -> None:
    """x is a vector, as the text says, and x^{(i)} is one of many; its elements have an index below."""
    text = "Here $x$ is the feature vector."
    (found,) = readings(tmp_path, text, r"\bar x = \frac{1}{m} \sum_{i=1}^m a_i x^{(i)}")
    assert found.axes["x"] == {2} and found.axes["a"] == {1}
