"""What sentences say that names are."""

from __future__ import annotations

import pytest

from indicial.notation.documents import parse_document, read_text
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
        ("Here $y$ is the vector of labels.", {"y": "vector"}),
        ("Here $a$ is an entry of the matrix.", {"a": "number"}),
    ],
)  # fmt: skip
def test_said(text: str, found: dict[str, str]) -> None:
    assert said(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "The states $h_t$ are scored against the query vector.",  # of another thing
        "It is computed at time $t$, a vector of any size.",  # so is this
        "For a word $w$, $v(w)$ is its vector.",
        "Let $x$ be an input.",  # nothing that could be used
        "where $y = W x$ is a vector.",  # no name
        "The vector $z$ is a matrix.",  # two things
    ],
)
def test_not_said(text: str) -> None:
    assert not {k: v for k, v in said(text).items() if v}
