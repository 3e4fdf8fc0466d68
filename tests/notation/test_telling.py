"""What sentences say that names are."""

from __future__ import annotations

import pytest

from indicial.notation.displays import parse_document
from indicial.notation.documents import read_text
from indicial.notation.syntax import Declaration, Name
from indicial.notation.vocabulary import TOLD


def said(text: str) -> dict[str, str]:
    """The names of which a text says what they are, by their letters, and what it says."""
    parsed = [p for _, _, p in parse_document(read_text(text, "notes.md"))]
    found = [st for p in parsed for st in p.statements if isinstance(st, Declaration)]
    return {
        item.span.text: st.domain.base
        for st in found
        if st.keyword == TOLD and isinstance(st.domain, Name)
        for item in st.items
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("where $W$ is the weight matrix of a layer.", {"W": "matrix"}),
        (
            "where $U$, $V$ and $W$ are learned weight matrices.",
            dict.fromkeys("UVW", "matrix"),
        ),
        ("the matrices $A$, $B$ and the vector $c$.", {"A": "matrix", "B": "matrix", "c": "vector"}),
        ("$q_i$ is a query vector, $k_j$ a key vector.", {"q_i": "vector", "k_j": "vector"}),
        ("- $h_t$: hidden state at step $t$", {"h_t": "state"}),
        ("With a learning rate $\\eta$ it goes down.", {"\\eta": "number"}),
        ("For a word $w$, $v(w)$ is its vector.", {"v(w)": "vector"}),
        ("Here $y$ is the vector of labels.", {"y": "vector"}),
        ("Here $a$ is an entry of the matrix.", {"a": "number"}),
        (r"a gate $g_i \in (0, 1)$ and a weight $\lambda_t \ge 0$", {"g_i": "number", r"\lambda_t": "number"}),
        (r"labels $y_i \in \{0, 1\}$ and $n \in \mathbb{N}$", {"y_i": "number", "n": "number"}),
        (r"a sequence of vectors $x_1, x_2, \ldots, x_T$", {"x_1": "vector"}),
        (r"secuencia de vectores $\{v_1, v_2, ..., v_n\}$", {"v_1": "vector"}),
        ("wobei $W$ die Matrix der Gewichte und $b$ ein Vektor ist", {}),
        ("$W$ ist eine Matrix mit $x$ als Vektor; $U$ est la matrice de poids", {"W": "matrix", "U": "matrix"}),
        ("权重矩阵 $W$, $h_t$ 是隐藏状态。", {"W": "matrix", "h_t": "state"}),
        ("其中 $x$ 是词向量的维度, 向量 $c$", {"c": "vector"}),
    ],
)  # fmt: skip
def test_said(text: str, found: dict[str, str]) -> None:
    assert said(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "The states $h_t$ are scored against the query vector.",  # of another thing
        "It is computed at time $t$, a vector of any size.",  # so is this
        "Let $x$ be an input.",  # nothing that could be used
        "where $y = W x$ is a vector.",  # no name
        "The vector $z$ is a matrix.",  # two things
        r"the one-hot $y \in \{0, 1\}^K$",  # as many numbers
    ],
)
def test_not_said(text: str) -> None:
    assert not {k: v for k, v in said(text).items() if v}
