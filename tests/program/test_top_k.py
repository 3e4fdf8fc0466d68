"""`top_k` beside a sort: which elements are the largest, of equal ones the first."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.program.program import Program

SPELLINGS = (
    "m[t,e] = top_k(g[t,e], 2)",
    "m[t,E] = top_k(g[t,E], 2)",
    "m[t,e] = topk(g[t,E], 2)[e]",
    "m[t,e] = \\operatorname{TopK}(g[t,e], 2)",
    "m[t,e] = top_k(1 g[t,e] + 0, 2)",
    "m[t,e] = Σ_{e_1} top_k(g[t,e_1], 2) [e_1 = e]",
)


def best(g: np.ndarray, n: int) -> np.ndarray:
    """A 1 at each of the n largest of every row."""
    order = np.argsort(-g, axis=-1, kind="stable")[..., :n]
    mask = np.zeros_like(g)
    np.put_along_axis(mask, order, 1.0, -1)
    return mask


@pytest.mark.parametrize("line", SPELLINGS)
def test_top_k_is_where_the_largest_are(line: str) -> None:
    program = Program.of_text(f"input g[t,e]\n{line}")
    g = np.random.default_rng(0).integers(0, 4, (5, 6)).astype(float)  # so some are equal
    assert not program.messages
    np.testing.assert_array_equal(program.interpret({"g": g})["m"], best(g, 2))


def test_k_is_no_index_below_top() -> None:
    program = Program.of_text(
        "input x[t,k]\ng[t,e] = C[e,K] x[t,K]\np[t,e] = softmax_{top_k(g[t,e], 2) = 1} g[t,e]"
    )
    rng = np.random.default_rng(1)
    x, C = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    g = x @ C.T
    weights = np.exp(g) * best(g, 2)
    assert not program.messages
    np.testing.assert_allclose(
        program.interpret({"x": x}, {"C": C})["p"], weights / weights.sum(-1, keepdims=True)
    )


def test_top_k_is_printed_so_that_it_reads_back() -> None:
    program = Program.of_text("input g[t,k]\nm[t,k] = top_k(g[t,k], 2)")
    for text in (program.unicode(), program.plain(), program.latex()):
        g = np.random.default_rng(2).normal(size=(3, 4))
        again = Program.of_text(text, latex="\\" in text)
        np.testing.assert_array_equal(again.interpret({"g": g})["m"], best(g, 2))


def test_top_k_of_a_row_that_a_token_picks() -> None:
    program = Program.of_text("input w[t] in V\nm[t,e] = top_k(G[w[t],e], 2)")
    assert not program.messages
    w, G = np.array([2, 0, 2, 1]), np.random.default_rng(4).normal(size=(3, 5))
    np.testing.assert_array_equal(program.interpret({"w": w}, {"G": G})["m"], best(G, 2)[w])
