"""Equations as other lecture notes write them: read without a mistake, and to the right values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import indicial
from indicial.library.loading import load_document
from indicial.program.meaning.sample import sample, small_sizes

Values = Mapping[str, Any]


def run(tmp_path: Path, text: str, size: int = 3) -> dict[str, Any]:
    """All values of a document's only program: inputs, parameters and what is defined."""
    path = tmp_path / "notes.md"
    path.write_text(text, encoding="utf-8")
    programs = load_document(path)
    assert len(programs) == 1, [p.title for p in programs]
    (program,) = programs
    assert [m.render() for m in program.errors] == []
    code = program.code
    sizes = small_sizes(code, size)
    drawn = sample(code, sizes, seed=3)
    result = program.interpret(drawn.inputs, drawn.parameters, sizes=sizes, draws=drawn.draws)
    return {**drawn.inputs, **drawn.parameters, **result, "sizes": sizes}


def display(*equations: str) -> str:
    return "\n\n".join(f"$${e}$$" for e in equations)


def softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


CASES: dict[str, tuple[str, str, Callable[[Values], Any]]] = {
    "a power belongs to the bracket": (
        display(r"L=\sum_i m_i (r_i-s_i)^2"),
        "L",
        lambda v: (v["m"] * (v["r"] - v["s"]) ** 2).sum(),
    ),
    "a letter before a bracket is a factor": (
        display(r"L = \lambda(\sum_i p_i^2+\sum_i q_i^2)"),
        "L",
        lambda v: v["λ"] * ((v["p"] ** 2).sum() + (v["q"] ** 2).sum()),
    ),
    "letters that are no indices are numbers": (
        display(r"E = \frac12 k (x-y)^2"),
        "E",
        lambda v: 0.5 * v["k"] * (v["x"] - v["y"]) ** 2,
    ),
    "a small p is a number where it stands alone": (
        display(r"y_i=(1-p)\,x_i+p\,(1-x_i)"),
        "y",
        lambda v: (1 - v["p"]) * v["x"] + v["p"] * (1 - v["x"]),
    ),
    "letters that meet start alike": (
        display(r"\gamma_{nk} = \frac{\pi_k g_{nk}}{\sum_{j=1}^K \pi_j g_{nj}}"),
        "γ",
        lambda v: v["π"] * v["g"] / (v["π"] * v["g"]).sum(1, keepdims=True),
    ),
    "two letters with one range": (
        display(r"L = \sum_{i,j=1}^V X_{ij} X_{ij}"),
        "L",
        lambda v: (v["X"] ** 2).sum(),
    ),
    "letters side by side below a sum": (
        display(r"L = \sum_{ij} X_{ij} X_{ij}"),
        "L",
        lambda v: (v["X"] ** 2).sum(),
    ),
    "Euler's number": (
        display(r"\sigma_n = \frac1{1+e^{-z_n}}"),
        "σ",
        lambda v: 1 / (1 + np.exp(-v["z"])),
    ),
    "a softmax by hand": (
        display(r"p_i = \frac{e^{z_i}}{\sum_j e^{z_j}}"),
        "p",
        lambda v: softmax(v["z"]),
    ),
    "a capital that is no size": (
        display(r"h_t = A h_{t-1} + B x_t"),
        "h",
        lambda v: np.array(
            [
                sum(
                    np.linalg.matrix_power(v["A"], t - s) @ v["B"] @ v["x"][s] for s in range(t + 1)
                )
                for t in range(3)
            ]
        ),
    ),
    "a size beside a tensor of that letter": (
        display(r"y[j] = \frac1B \sum_b x[b,j] - B[j]"),
        "y",
        lambda v: v["x"].mean(0) - v["B"],
    ),
    "round brackets of a recurrence": (
        display(r"F(t)=F(t-1)+F(t-2)", r"F(0) = 1"),
        "F",
        lambda v: np.array([1.0, 1.0, 2.0]),
    ),
    "a backward start at the end": (
        display(r"\beta[T-1,i]=1", r"\beta[t,i]=\sum_j M[i,j] \beta[t+1,j]"),
        "β",
        lambda v: np.array([v["M"] @ v["M"] @ np.ones(3), v["M"] @ np.ones(3), np.ones(3)]),
    ),
    "edit distance": (
        display(
            r"D[i,j] = \begin{cases} i + j, & \text{if } i = 0 \text{ or } j = 0, \\"
            r"\min\{D[i-1,j]+1, D[i,j-1]+1, D[i-1,j-1]+c[i,j]\} & \text{otherwise.} \end{cases}"
        ),
        "D",
        lambda v: edit_distance(v["c"]),
    ),
    "loops that add up": (
        display(r"\text{for } j, i: \; h[j] \mathrel{+}= W[j,i] x[i]", r"h[j] \mathrel{-}= B[j]"),
        "h",
        lambda v: v["W"] @ v["x"] - v["B"],
    ),
    "batch norm": (
        display(
            r"\hat\mu[j] = \frac{1}{B}\sum_b x[b,j]",
            r"\hat v[j] = \frac{1}{B-1}\sum_b (x[b,j]-\hat\mu[j])^2",
            r"\tilde x[b,j] = \frac{x[b,j]-\hat\mu[j]}{\sqrt{\hat v[j]}}",
        ),
        "x̃",
        lambda v: (v["x"] - v["x"].mean(0)) / v["x"].std(0, ddof=1),
    ),
    "steps written above": (
        display(r"\Phi^{t+1}[i] = \Phi^t[i] - \eta g^t[i]"),
        "Φ",
        lambda v: v["Φ_0"] - v["η"] * np.concatenate([np.zeros((1, 3)), v["g"].cumsum(0)]),
    ),
}


def edit_distance(c: Any) -> Any:
    n, m = c.shape
    d = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            if i == 0 or j == 0:
                d[i, j] = i + j
            else:
                d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + c[i, j])
    return d


@pytest.mark.parametrize("name", CASES)
def test_values(name: str, tmp_path: Path) -> None:
    text, key, expected = CASES[name]
    values = run(tmp_path, text)
    np.testing.assert_allclose(values[key], expected(values), atol=1e-12)


def test_layers_written_above(tmp_path: Path) -> None:
    """`W^{(l)}` is one matrix for each layer where `h^{(l+1)}` says that l is an index."""
    values = run(tmp_path, display(r"h_j^{(l+1)}=\tanh(\sum_i W_{ji}^{(l)}h_i^{(l)}+b_j^{(l)})"))
    h = values["h_0"]
    for layer in range(3):
        h = np.tanh(values["W"][layer] @ h + values["b"][layer])
    np.testing.assert_allclose(values["h"][-1], h)


def test_time_that_begins_at_one(tmp_path: Path) -> None:
    """A start at 1 and a sum over the last step: the forward algorithm as it is usually printed."""
    values = run(
        tmp_path,
        display(
            r"\alpha_1(j) = \pi_j",
            r"\alpha_t(j) = \sum_{i=1}^N \alpha_{t-1}(i) A_{ij} E_{tj}",
            r"Z = \sum_{i=1}^N \alpha_T(i)",
        ),
    )
    alpha = values["π"]
    for step in range(1, 3):
        alpha = alpha @ values["A"] * values["E"][step]
    np.testing.assert_allclose(values["Z"], alpha.sum())


def test_a_maximum_is_of_what_is_there(tmp_path: Path) -> None:
    """A window that reaches beyond the end is shorter there; it does not find a 0."""
    text = "range Δt = -1..1\ninput x[t]\ny[t] = max_{Δt} x[t+Δt]"
    values = indicial.load(text).interpret({"x": [-3.0, -2.0, -5.0]})
    np.testing.assert_allclose(values["y"], [-2.0, -2.0, -2.0])
