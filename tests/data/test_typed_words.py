"""Sentences as they are typed, and the words that a treebank makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.data.treebanks import words_of, written


@pytest.mark.parametrize(
    ("typed", "divided"),
    [
        (
            "I can't say that Anna's well-known books aren't good.",
            "I ca n't say that Anna 's well - known books are n't good .",
        ),
        ("He said: \"It's 3:30 p.m., isn't it?\"", "He said : \" It 's 3:30 p.m. , is n't it ? \""),
        ("(We'll see...)", "( We 'll see ... )"),
        (
            "Dr. J. Smith, Jr., paid $1,250.50 on 3/4/2005!!",
            "Dr. J. Smith , Jr. , paid $ 1,250.50 on 3/4/2005 !!",
        ),
        (
            "Mail e-mails to anna.lind@example.org or see http://example.org/a?b=c.",
            "Mail e-mails to anna.lind@example.org or see http://example.org/a?b=c .",
        ),
        ("You cannot win them all, Mr. X. :)", "You can not win them all , Mr. X . :)"),
        (
            "AT&T isn’t gonna re-open its U.S. office on the 3rd, etc.",
            "AT&T is n’t gon na re-open its U.S. office on the 3rd , etc .",
        ),
        ("The dogs' owners didnt care", "The dogs ' owners did nt care"),
        ("O'Brien sent report.doc; 20% is read.", "O'Brien sent report.doc ; 20 % is read ."),
    ],
)
def test_typed_and_divided_sentences_give_the_same_words(typed: str, divided: str) -> None:
    assert words_of(typed) == divided.split()
    assert words_of(divided) == divided.split()


@given(st.text(max_size=60))
def test_nothing_is_lost_or_made_up(text: str) -> None:
    assert "".join(words_of(text)) == "".join(text.split())


@given(
    st.lists(st.sampled_from(["Go", "n't", ",", "!", "e-mail", "3.5"]), min_size=1, max_size=6),
    st.data(),
)
def test_the_text_is_read_from_its_words_again(words: list[str], data: st.DataObject) -> None:
    blanks = [data.draw(st.sampled_from(["", " "])) for _ in words[1:]]
    text = words[0] + "".join(blank + word for blank, word in zip(blanks, words[1:], strict=True))
    lines = [line.split("\t") for line in written({"form": words}, text).splitlines()[1:-1]]
    again = "".join(line[1] + ("" if "SpaceAfter=No" in line[9] else " ") for line in lines)
    assert again.rstrip() == text
