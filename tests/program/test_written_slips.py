r"""Slips that show in a display as it stands, and what looks like one and is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from indicial import load_document


def said(folder: Path, *displays: str) -> list[tuple[str, str]]:
    """The errors and warnings about a document: their code, and what they point at first."""
    path = folder / "notes.md"
    path.write_text("\n\n".join(f"$${d}$$" for d in displays), encoding="utf-8")
    return [(m.code, m.span.text) for p in load_document(path) for m in p.mistakes]


SLIPS: dict[str, tuple[str, str, str]] = {
    "a sum whose letter is not used": (
        r"x_{i+N} \approx x_i - \sum_{j=1}^N (\hat g_i - g(x))",
        "sum-index",
        "j",
    ),
    "arguments that the right side lacks": (
        r"k(x_i, x_j) = a^2 \exp(-\|x - x'\|^2)",
        "left-only",
        "k(x_i, x_j)",
    ),
    "a minus behind the logarithm": (r"h = E_y[\ln - P(y|z)]", "no-argument", r"\ln - P(y|z)"),
    "a lost square": (
        r"s_t = g_t^2 + \gamma g_{t-1}^2 + \gamma^2 g_{t-2} + \ldots",
        "lost-power",
        "g_{t-2}",
    ),
    "a condition on nothing": (
        r"q = \prod_{m \in N(n), k \neq m} z_m",
        "unbound-condition",
        "k",
    ),
    "another letter": (
        r"s[n,\ell] = Q[n,\ell] - \mathbf{1}[y[n] = c]",
        "other-letter",
        "c",
    ),
    "a size and a tensor": (
        r"y[b,j] = \frac{1}{B} \sum_b x[b,j] - B[j]",
        "two-meanings",
        "B",
    ),
    "a lost accent": (
        r"\begin{aligned} s_t[i] &= \beta s_{t-1}[i] + \hat g_t[i]^2 \\ "
        r"x_{t+1}[i] &= x_t[i] - \frac{g_t[i]}{s_t[i]} \end{aligned}",
        "lost-accent",
        "g_t",
    ),
    "a label of the line above": (
        r"\begin{aligned} i_t &= \sigma(W_i x_t + U_i h_{t-1} + b_i) \\ "
        r"f_t &= \sigma(W_f x_t + U_f h_{t-1} + b_i) \end{aligned}",
        "copied-label",
        "b_i",
    ),
    "a letter that nothing binds": (
        r"L = -\sum_i y_i \log \hat y_j",
        "free-letter",
        r"\hat y_j",
    ),
    "an index that is summed and stands on the left": (
        r"\alpha_{t+1}(i) = \left[\sum_{i=1}^N \alpha_t(i) a_{ij}\right] b_j(o_{t+1})",
        "swapped-left",
        "i",
    ),
    "a step below without its braces": (
        r"h_t = \tanh(W x_t + U h_t-1)",
        "lost-brace",
        "h_t-1",
    ),
    "two letters below without their braces": (
        r"H_kl = \frac{1}{n} \sum_i p_{ik} p_{il}",
        "lost-brace",
        "H_kl",
    ),
    "a letter behind one that stands below alone, in a sum": (
        r"\alpha_{ij} = \frac{\exp(e_{ij})}{\sum_k \exp(e_ik)}",
        "lost-brace",
        "e_ik",
    ),
}  # fmt: skip

SOUND = (
    r"y_t = h_t-1",
    r"c_j = \sum_i a_{ij} x_i",
    r"s_i = \sum_i x_i + b_j",
    r"x_{i+N} \approx x_i - \sum_{j=1}^N (\hat g_j - g(x))",
    r"s = \sum_{j=1}^N c",
    r"k(x_i, x_j) = a^2 \exp(-\|x_i - x_j\|^2)",
    r"k(x, x') = a^2 \exp(-\|x - x'\|^2)",
    r"h = E_y[-\ln P(y|z)]",
    r"s_t = g_t^2 + \gamma g_{t-1}^2 + \gamma^2 g_{t-2}^2 + \ldots",
    r"s_t = g_t + \gamma g_{t-1} + \gamma^2 g_{t-2} + \ldots",
    r"q = \prod_{m \in N(n), k \neq m} z_m w_k",
    r"s[n,\ell] = Q[n,\ell] - \mathbf{1}[\ell = y[n]]",
    r"y[b,j] = \frac{1}{B} \sum_b x[b,j] - C[j]",
    r"\hat g_t[i] = g_t[i] + n_t[i]",
    r"\begin{aligned} i_t &= \sigma(W_i x_t + b_i) \\ f_t &= \sigma(W_f x_t + b_f) \end{aligned}",
    r"\begin{aligned} q_t &= W_q x_t + b \\ k_t &= W_k x_t + b \end{aligned}",
    r"a = \sum_i q_i k_i / \sqrt{d_k}",
    r"L = -\sum_i y_i \log \hat y_i",
)


@pytest.mark.parametrize("case", SLIPS)
def test_found(case: str, tmp_path: Path) -> None:
    display, code, place = SLIPS[case]
    assert said(tmp_path, display) == [(code, place)]


@pytest.mark.parametrize("display", SOUND)
def test_silent(display: str, tmp_path: Path) -> None:
    assert said(tmp_path, display) == []


def test_a_script_for_a_factor(tmp_path: Path) -> None:
    display = r"f = g \Delta_x + \frac{1}{2} \Delta x^\top H \Delta x"
    assert said(tmp_path, display) == [("joined-name", r"\Delta_x")]


def test_a_letter_above_a_weight_that_is_its_own_index(tmp_path: Path) -> None:
    rows = r"a[k,t] = x[t,J] W^{Q}[k,I,J] W^{%s}[k,I], \quad b[k,j] = W^{Q}[k,I,j] W^{%s}[k,I]"
    assert said(tmp_path, rows % ("K", "k")) == [("similar-names", "W^{k}[k,I]")]
    assert said(tmp_path, rows % ("K", "K")) == []
    assert said(tmp_path, rows % ("V", "k")) == []


def test_a_changed_state_that_reads_an_input_of_another_size(tmp_path: Path) -> None:
    gate = r"G[t,j] = \sigma(W^{h,G}[j,I] h[t-1,I] + W^{x,G}[j,K] x[t,K])"
    cell = r"h[t,j] = G[t,j] h[t-1,j] + \tanh(W^{h,R}[j,I] h'[t,I] + W^{x,R}[j,K] x[t,K])"
    assert said(tmp_path, gate, "h'[t,j] = G[t,j] x[t,j]", cell) == [("sizes-joined", "x[t,j]")]
    assert said(tmp_path, gate, "h'[t,j] = G[t,j] h[t-1,j]", cell) == []
    # A highway network has one size for both, and says so only here.
    assert said(tmp_path, gate, "y[t,j] = G[t,j] x[t,j]", cell.replace("h'[t,I]", "y[t,I]")) == []


def test_a_name_with_a_word_below_is_no_misspelt_function(tmp_path: Path) -> None:
    clipped = r"W.\text{grad}' = n_{\max} W.\text{grad}/\|W.\text{grad}\|"
    assert said(tmp_path, clipped) == []
    path = tmp_path / "notes.md"
    assert not [skipped for program in load_document(path) for skipped in program.skipped]
