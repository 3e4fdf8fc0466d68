r"""Displays that pass as read are read rightly: what an author writes, alone or beside others of a text.

Each case once computed something else than its author meant, in words of our own; now it is read as it is
meant, or left outside with a reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.test_meant import readings

READ: dict[str, tuple[tuple[str, ...], dict[str, int], int]] = {
    # displays, the names of the last one with their axes, and its sums
    "a function of two matrices": (
        (r"Y = \phi(A)(\phi(B)^\top C)",),
        {"Y": 2, "A": 2, "B": 2, "C": 2},
        2,
    ),
    "rows of matrices that a sentence calls representations": (
        (
            r"Here the representations $A$, $B$ and $C$ are given.",
            r"r_i = \frac{\sum_{j=1}^N \phi(A_i)^\top \phi(B_j) C_j}{\sum_{j=1}^N \phi(A_i)^\top \phi(B_j)}",
        ),
        {"r": 2, "A": 2, "B": 2, "C": 2},
        4,
    ),
    "a row of a table that a sentence calls a matrix": (
        (
            r"Here $\beta_I$ is an embedding matrix, and $s_t$ the hidden state.",
            r"s_t = f(\beta_I[y_{t-1}], s_{t-1}; \theta_f)",
        ),
        {"s": 2, "β_I": 2, "y": 1, "θ_f": 0},
        0,
    ),
    "a word above brackets": (
        (r"m_{j}(k)^{\text{new}} = \sum_{t: w_t = k} \gamma_t(j)",),
        {"m^{new}": 2, "γ": 2, "w": 1},
        1,
    ),
    "a change of what stands in braces": (
        (r"\Delta\mathbf{\Sigma} = \mathbf{\Sigma}_{+} - \mathbf{\Sigma}_{-}",),
        {"ΔΣ": 2, "Σ_{+}": 2, "Σ_{-}": 2},
        0,
    ),
    "a score of a state one step back": (
        (r"\mathrm{score}(\mathbf{r}_{i-1}, \mathbf{u}_j) = \mathbf{r}_{i-1} \cdot \mathbf{u}_j",),
        {"score": 2, "r": 2, "u": 2},
        1,
    ),
    "the last layer above, under another heading": (
        (
            r"r^{[l]} = M^{[l]} u^{[l-1]} + z^{[l]}",
            "# The cost",
            r"J = -\frac{1}{m} \sum_{i=1}^m y^{(i)} \log u^{[L](i)}",
        ),
        {"J": 0, "y": 1, "u": 2},
        1,
    ),
    "the last layer above, with an index below": (
        (
            r"r_k^l = z_k^l + \sum_j M_{kj}^l u_j^{l-1}",
            r"u_k^L = \frac{e^{r_k^L}}{\sum_c e^{r_c^L}}",
        ),
        {"u": 2, "r": 2},
        1,
    ),
    "the last step in angles above": (
        (
            r"\mathbf{r}^{\langle t\rangle} = \mathbf{M} \mathbf{r}^{\langle t-1\rangle}",
            "# The end",
            r"\mathbf{u} = \tanh(\mathbf{K} \mathbf{r}^{\langle N\rangle})",
        ),
        {"u": 1, "K": 2, "r": 2},
        1,
    ),
    "a function that is a second name of an element": (
        (r"p_k = f(\mathbf{u})_k = \mathrm{softmax}(\mathbf{M} \mathbf{u})_k",),
        {"p": 1, "M": 2, "u": 1},
        1,
    ),
}

OUTSIDE: dict[str, tuple[tuple[str, ...], str]] = {
    "a function of one name, whose letter is a vector elsewhere": (
        (r"g = M^\top (r - \mu)", r"L = \sum_i r_i \log(\mu(u_i))"),
        "call or a product",
    ),
    "the same above Euler's number": (
        (r"L = \sum_{j=1}^N (\log \sum_{i=1}^E e^{H(u_j)_i})^2",),
        "call or a product",
    ),
    "an unknown function above Euler's number": (
        (
            r"\beta_i = \frac{e^{\text{score}_{\text{own}}(u_i)}}{\sum_j e^{\text{score}_{\text{own}}(u_j)}}",
        ),
        "function that nothing here defines",
    ),
    "a bold weight that fits as a column only": (
        (r"\mathbf{r}_t = \mathbf{r}_{t-1} \odot \mathbf{W}_r + \mathbf{W}_z z_t + \mathbf{b}",),
        "written like a matrix",
    ),
    "a letter before a product of brackets": (
        (r"L = -\log \sigma((2r - 1) z) = \zeta((1 - 2r) z)",),
        "call or a product",
    ),
}


@pytest.mark.parametrize("case", READ)
def test_read(case: str, tmp_path: Path) -> None:
    displays, axes, sums = READ[case]
    *_, found = readings(tmp_path, *displays)
    assert found.axes == {name: {count} for name, count in axes.items()}
    assert len(found.sums) == sums and not found.skipped and not found.mistakes


@pytest.mark.parametrize("case", OUTSIDE)
def test_outside(case: str, tmp_path: Path) -> None:
    displays, reason = OUTSIDE[case]
    *_, found = readings(tmp_path, *displays)
    assert not found.computed and not found.mistakes
    assert any(reason in skipped.reason for skipped in found.skipped)
