"""CoNLL-U: what is wrong is told with its line, and what is written is read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.data.treebanks import Fault, Sentence, sentences, written

GOOD = ["# text = a b", "1 a _ X _ _ 2 det _ _", "2 b _ Y _ _ 0 root _ _", ""]


def read(lines: list[str]) -> list[Sentence | Fault]:
    return list(sentences(line.replace(" ", "\t") + "\n" for line in lines))


def word(number: object, head: object, form: str = "w") -> str:
    return f"{number} {form} _ _ _ _ {head} dep _ _"


@pytest.mark.parametrize(
    ("lines", "at", "why"),
    [
        ([word(1, 2), word(2, 3), word(3, 2), word(4, 0)], 2, "words 2 → 3 → 2 go round in a circle"),
        ([word(1, 0), word(2, 0)], 2, "word 2 (w) is a second root; the first is word 1 in line 5"),
        ([word(1, 0), word(2, 2)], 2, "word 2 (w) is its own head"),
        ([word(1, 2), word(2, 1)], 1, "words 1 → 2 → 1 go round in a circle"),
        ([word(1, 0), word(2, 7)], 2, "is 7, and the sentence has 2 words"),
        ([word(1, 0), word(2, "_")], 2, "word 2 (w) has no head"),
        ([word(1, 0), word("1.1", "_"), word(2, "1.1")], 3, "is '1.1', a word left out"),
        ([word(1, 0), word(3, 1)], 2, "word 2 is expected here, and its number is '3'"),
        ([word(1, 0), word("2.1", "_")], 2, "2.1, a word left out, stands behind word 1"),
        ([word("2-3", "_"), word(1, 0)], 1, "the range 2-3 stands before word 1"),
        ([word("1-3", "_"), word(1, 0), word(2, 1)], 1, "goes beyond the last word, 2"),
        ([word("2-1", "_"), word(1, 0)], 1, "2-1 is no range"),
        ([word("1-2", "_"), word(1, 0), word("2-3", "_"), word(2, 1)], 3, "the range 2-3"),
        ([word(1, 0), word(2, 1, "")], 2, "word 2 has no form"),
        ([word(1, 0), "2 w"], 2, "a word has 2 of 10 fields"),
        ([word(1, 0), "2w"], 2, "separated by tabs"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(lines: list[str], at: int, why: str) -> None:
    before, found, behind = read([*GOOD, *lines, "", *GOOD])
    assert isinstance(found, Fault) and found.line == len(GOOD) + at
    assert why in found.why
    assert isinstance(before, Sentence) and isinstance(behind, Sentence)
    assert behind.cells["head"] == [1, 1] and behind.line == len(GOOD) + len(lines) + 2


def test_a_sentence_without_heads_is_a_sentence() -> None:
    (found,) = read([word(1, "_"), word(2, "_")])
    assert isinstance(found, Sentence) and found.cells["head"] is None


@given(st.data())
def test_what_is_written_is_read_again(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    # Each word hangs on one before it, and then all are mixed: any tree can come of it.
    order = data.draw(st.permutations(range(count)))
    heads = [0] * count
    for place, own in enumerate(order):
        heads[own] = order[data.draw(st.integers(0, max(0, place - 1)))]
    form = data.draw(st.lists(st.text("abc,", min_size=1), min_size=count, max_size=count))
    columns = {"form": form, "head": heads, "upos": ["X"] * count}
    (found,) = sentences(written(columns).splitlines(keepends=True))
    assert isinstance(found, Sentence)
    assert {name: found.cells[name] for name in columns} == columns
    assert found.cells["text"] == " ".join(form) and found.cells["deprel"] == ["_"] * count
