"""Shapes that a sentence states: which formula they are about, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from indicial.notation.documents import read_text
from indicial.notation.stated_shapes import stated_shape
from tests.program.test_meant import readings

STATED = {
    r"let $A$ be an $n \times m$ matrix": {"A": r"$n \times m$"},
    r"the $n \times m$ weight matrix $A$ is learned": {"A": r"$n \times m$"},
    r"$W$ (an $n \times m$ matrix) multiplies $x$": {"W": r"$n \times m$"},
    r"where $W$ is of dimension $n\times m$.": {"W": r"$n\times m$"},
    r"a matrix $W$ (of size $V \times d$)": {"W": r"$V \times d$"},
    r"$Z$, $A$ and $E$ are $(n, m)$.": {"Z": "$(n, m)$", "A": "$(n, m)$", "E": "$(n, m)$"},
    r"$W$ has shape `[n, m]` and $b$ is (m,).": {"W": "`[n, m]`", "b": "(m,)"},
    r"a row vector $x$ (shape $[1 \times d]$)": {"x": r"$[1 \times d]$"},
    r"the matrix **W** of size [K x D]": {"W": "[K x D]"},
    r"with $W: n \times m$ here": {"W: n \\times m": r"n \times m"},
    r"with $\text{shape}(W) = (n, m)$ here": {r"\text{shape}(W) = (n, m)": "(n, m)"},
    r"$x$ is a column vector of length $d$": {"x": "$d$"},
    r"the $d$-dimensional vector $x$": {"x": "$d$"},
    "| $W$ | $(n, m)$ | weights |": {"W": "$(n, m)$"},
}

NOT_STATED = (
    r"a token $x$, from a vocabulary of size $V$",
    r"the derivatives of $f$ are $n \times m$ matrices",
    r"the weights $R$ with a $(k \times k)$ matrix $U$".replace("$U$", "$U$ there"),
    r"at time $t$, a vector of size $N$",
    r"$n$ is the sample size (e.g., the number of tosses)",
    r"a map $T: \mathbb{R}^{n \times n} \rightarrow \mathbb{R}^{n}$",
    r"$I$ is the $p \times p$ identity matrix",
    r"$x$ lies in the interval $(0, 1)$ as well, of no size",
    "the points $a$ and $b$\n\nare new here, of size $(n, m)$",
)


@pytest.mark.parametrize("text", STATED)
def test_stated(text: str) -> None:
    assert _stated(text) == STATED[text]


@pytest.mark.parametrize("text", NOT_STATED)
def test_not_stated(text: str) -> None:
    found = _stated(text)
    assert {name: shape for name, shape in found.items() if name != "U"} == {}


def _stated(text: str) -> dict[str, str]:
    formulas = [d for s in read_text(f"{text}\n\n$$y = x$$", "a.md").sections for d in s.displays]
    shapes = {d.body.text: stated_shape(d) for d in formulas if d.kind == "said"}
    return {name: shape.text for name, shape in shapes.items() if shape is not None}


@pytest.mark.parametrize(
    "sentence",
    [
        r"Here $a$ has shape $(n, m)$, and $b$ is a vector.",
        r"Let $a$ be an $n \times m$ matrix and $b$ of shape `(m,)`.",
        r"Here **a** is a matrix of size [N x M], **b** of size [M x 1].",
        "| name | what |\n| --- | --- |\n| $a$ | weight matrix |\n| $b$ | input vector |",
    ],
)
def test_a_stated_shape_is_read(sentence: str, tmp_path: Path) -> None:
    """Small letters that look like numbers are what the text says they are."""
    (found,) = readings(tmp_path, f"Here {sentence}", "y = a b + c")
    assert found.axes == {"y": {1}, "a": {2}, "b": {1}, "c": {1}} and len(found.sums) == 1
