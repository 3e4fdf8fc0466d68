"""A text that is edited by positions is the same as a string that is cut and joined."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indicial.editor.occurrences import Text, before, moved, touched

pieces = st.text(alphabet="ab\n\r𝔼é\f\u2028", max_size=12)


def lines(text: str) -> list[str]:
    """As the protocol divides them."""
    return [part for part in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text) if part]


@given(pieces, st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), pieces), max_size=5),
       st.sampled_from([8, 16, 32]))  # fmt: skip
@settings(deadline=None)
def test_edits(text: str, edits: list[tuple[int, int, str]], units: int) -> None:
    edited = Text(text, units)
    for one, other, new in edits:
        inside = [o for o in range(len(text) + 1) if text[max(o - 1, 0) : o + 1] != "\r\n"]
        start, end = sorted((inside[one % len(inside)], inside[other % len(inside)]))
        places = edited.positions([start, end])
        assert edited.offset(*places[start]) == start
        assert edited.offset(*places[end]) == end
        assert edited.edit(places[start], places[end], new) == (start, end, len(new))
        text = text[:start] + new + text[end:]
        assert str(edited) == text
        assert edited.lines == lines(text)


@pytest.mark.parametrize(("units", "column"), [(8, 4), (16, 2), (32, 1)])
def test_units(units: int, column: int) -> None:
    assert Text("𝔼x", units).offset(0, column) == 1
    assert Text("𝔼x", units).positions([1]) == {1: (0, column)}


def test_positions_outside_are_moved_inside() -> None:
    text = Text("ab\nc")
    assert [text.offset(0, 99), text.offset(9, 9), text.offset(1, 9)] == [2, 4, 4]
    text.edit((0, 1), (99, 99), "x")
    assert str(text) == "ax"


changes = st.tuples(st.integers(0, 9), st.integers(0, 9), st.text("xy", max_size=3))


@given(st.text("ab", max_size=9), st.lists(changes, max_size=4))
def test_what_was_not_touched_is_found_again(text: str, edits: list[tuple[int, int, str]]) -> None:
    """Each letter of the old text that is left is where `moved` says, and `before` leads back."""
    marked = [(letter, number) for number, letter in enumerate(text)]
    new: list[tuple[str, int | None]] = list(marked)
    made = []
    for one, other, put in edits:
        start, end = sorted((one % (len(new) + 1), other % (len(new) + 1)))
        new[start:end] = [(letter, None) for letter in put]
        made.append((start, end, len(put)))
    left = {number: place for place, (_, number) in enumerate(new) if number is not None}
    for number in range(len(text)):
        assert touched(number, number + 1, made) or number in left
        if number in left:
            assert moved(number, made) == left[number]
            assert before(left[number], made) == number
