r"""Keys and values that a text lists: as a set behind a word, with numbers, as columns of a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indicial.library.loading import load, load_document

KEYS = np.array([[1, 2, 0], [0, 3, 4], [5, 0, 0], [0, 0, 1]])
VALUES = np.array([[2, 0, 1], [1, 4, 3], [0, -1, 4], [1, 0, -1]])
QUERY = np.array([1, 1, 2])

ARGMAX = r"$$i^* = \operatorname{argmax}_i k_i^\top q$$" + "\n\n" + "$$c = v_{i^*}$$\n"
SOFT = r"$$a_i = \mathrm{softmax}_i(k_i^\top q)$$" + "\n\n" + r"$$c = \sum_i a_i v_i$$" + "\n"


def column(numbers: Any) -> str:
    return r"\begin{bmatrix} " + r"\\".join(map(str, numbers)) + r" \end{bmatrix}"


def behind_words(keys: Any, values: Any) -> str:
    """As a sheet prints them; one of the two is no display of its own."""
    both = [", ".join(map(column, vectors)) for vectors in (keys, values)]
    return (
        f"Keys: \n$$\\left\\{{ {both[0]} \\right\\}}$$\n  \n"
        f"Corresponding Values:  $\\left\\{{ {both[1]} \\right\\}}$\n\n"
    )


def named_sets(keys: Any, values: Any) -> str:
    both = [", ".join(f"({', '.join(map(str, v))})" for v in vectors) for vectors in (keys, values)]
    return f"$$k = \\{{ {both[0]} \\}}$$\n\n$$v = \\{{ {both[1]} \\}}$$\n\n"


def numbered(keys: Any, values: Any, first: int = 1) -> str:
    rows = [
        ", ".join(f"{letter}_{first + n} = {column(v)}" for n, v in enumerate(vectors))
        for letter, vectors in (("k", keys), ("v", values))
    ]
    return "".join(f"$${row}$$\n\n" for row in rows)


def document(tmp_path: Path, text: str) -> dict[str, Any]:
    path = tmp_path / "sheet.md"
    path.write_text(text, encoding="utf-8")
    (program,) = load_document(path)
    assert not [m for m in program.messages if m.severity != "note"]
    assert not program.skipped
    return dict(program.interpret({}))


@pytest.mark.parametrize("printed", [behind_words, named_sets, numbered])
def test_the_query_gets_the_value_of_the_best_key(tmp_path: Path, printed: Any) -> None:
    text = printed(KEYS, VALUES) + f"$$\\mathbf{{q}} = {column(QUERY)}$$\n\n" + ARGMAX
    found = document(tmp_path, text)
    best = int((KEYS @ QUERY).argmax())
    np.testing.assert_array_equal(found["c"], VALUES[best])
    assert found["i^*"] == best + (printed is numbered)


@pytest.mark.parametrize("printed", [behind_words, named_sets, numbered])
def test_soft_attention_goes_through_all_of_them(tmp_path: Path, printed: Any) -> None:
    text = printed(KEYS, VALUES) + f"$$q = {column(QUERY)}$$\n\n" + SOFT
    weights = np.exp(KEYS @ QUERY)
    expected = weights @ VALUES / weights.sum()
    np.testing.assert_allclose(document(tmp_path, text)["c"], expected)


def test_numbers_may_begin_with_zero(tmp_path: Path) -> None:
    text = numbered(KEYS, VALUES, first=0) + f"$$q = {column(QUERY)}$$\n\n" + SOFT
    weights = np.exp(KEYS @ QUERY)
    np.testing.assert_allclose(document(tmp_path, text)["a"], weights / weights.sum())


def test_columns_of_a_matrix(tmp_path: Path) -> None:
    rows = [r"\\".join(" & ".join(map(str, row)) for row in m.T) for m in (KEYS, VALUES)]
    text = (
        f"$$K = \\begin{{bmatrix}} {rows[0]} \\end{{bmatrix}}$$\n\n"
        f"$$V = \\begin{{bmatrix}} {rows[1]} \\end{{bmatrix}}$$\n\n"
        f"$$q = {column(QUERY)}$$\n\n$$a = \\mathrm{{softmax}}(K^\\top q)$$\n\n$$c = V a$$\n"
    )
    weights = np.exp(KEYS @ QUERY)
    np.testing.assert_allclose(document(tmp_path, text)["c"], weights @ VALUES / weights.sum())


def test_without_an_index_they_are_names_of_their_own() -> None:
    program = load("G_1 = [1, 2]\nG_2 = [3, 5]\ny[i] = G_1[i] G_2[i]")
    np.testing.assert_array_equal(program.interpret({})["y"], [3, 10])


def test_a_word_that_nobody_has_a_letter_for_defines_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sheet.md"
    path.write_text(f"Solution: $${column(QUERY)}$$\n\n$$y = 2 x$$\n", encoding="utf-8")
    (program,) = load_document(path)
    assert [s.reason for s in program.skipped] == ["it states no equation"]


def test_a_place_that_argmax_finds_counts_from_where_its_range_begins() -> None:
    program = load(
        "range i = 1..N\ninput k[i,d], q[d]\nbest = argmax_i k[i,D] q[D]\nc[d] = k[best,d]"
    )
    found = program.interpret({"k": KEYS, "q": [0, 0, -1]})
    assert found["best"] == 1
    for query in (QUERY, np.array([1, 0, 0]), np.array([-1, -1, 0])):
        found = program.interpret({"k": KEYS, "q": query})
        best = int((KEYS @ query).argmax())
        assert found["best"] == best + 1
        np.testing.assert_array_equal(found["c"], KEYS[best])
