"""Nothing is in both parts, nothing is lost, and documents that are alike stay together."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.data.documents import Piece
from indicial.data.parts import Chosen, Cut, Numbered, split, survey
from indicial.data.sources import Source
from indicial.program.messages import IndicialError


class Texts(Source):
    """Documents in memory, in pieces of at most so many characters."""

    name = "texts"

    def __init__(self, texts: list[str], most: int = 1 << 20) -> None:
        self.texts, self.most = texts, most

    def pieces(self) -> Iterator[Piece]:
        for text in self.texts:
            for begin in range(0, len(text), self.most):
                end = begin + self.most
                yield Piece(text[begin:end], end >= len(text))

    def stamp(self) -> object:
        return self.texts


def parts(texts: list[str], fraction: float = 0.1, seed: int = 0, most: int = 1 << 20):
    train, validation, how = split(Texts(texts, most), fraction, seed)
    return list(train.documents()), list(validation.documents()), how


@given(st.lists(st.text(st.sampled_from("ab "), min_size=1, max_size=3), min_size=2, max_size=50))
def test_a_document_is_on_one_side(texts: list[str]) -> None:
    train, validation, _ = parts(texts, 0.3)
    assert sorted(train + validation) == sorted(texts)
    assert train and validation
    if len(set(texts)) > 1:
        assert not set(train) & set(validation)


def test_duplicates_stay_together_however_long() -> None:
    texts = [f"{n} " * 3000 for n in range(30)]
    texts += texts
    train, validation, how = parts(texts, most=5000)
    assert how == "10 % of the documents, chosen by their content"
    assert len(train) + len(validation) == 60
    assert not set(train) & set(validation)
    assert validation


def test_the_fraction_is_kept() -> None:
    texts = [f"document {n}" for n in range(5000)]
    for fraction in (0.01, 0.1, 0.5):
        _, validation, _ = parts(texts, fraction)
        assert abs(len(validation) / len(texts) - fraction) < 0.02


def test_other_documents_do_not_matter_but_the_seed_does() -> None:
    texts = [f"document {n}" for n in range(500)]
    _, validation, _ = parts(texts)
    _, more, _ = parts([*texts, "another"])
    assert set(validation) <= set(more)
    _, other, _ = parts(texts, seed=1)
    assert set(other) != set(validation)


def test_one_text_is_cut_behind_a_line() -> None:
    text = "".join(f"line {n} of the text\n" for n in range(1000))
    for most in (1 << 20, 700, 33):
        [train], [validation], how = parts([text], most=most)
        assert train + validation == text
        assert how == "the last 10 % of the text"
        assert 0 <= len(train) - 0.9 * len(text) < 40
        if most == 1 << 20:
            assert train.endswith("\n")


def test_a_text_without_lines_is_cut_behind_a_blank() -> None:
    [train], [validation], _ = parts(["word " * 100])
    assert train + validation == "word " * 100
    assert train.endswith(" ")
    [train], [validation], _ = parts(["x" * 100])
    assert (len(train), len(validation)) == (90, 10)


def test_few_long_documents_are_cut() -> None:
    texts = [f"{n}\n" * 6000 for n in range(5)]
    train, validation, how = parts(texts)
    assert how == "the last 10 % of each document"
    assert [a + b for a, b in zip(train, validation, strict=True)] == texts


def test_few_short_documents_are_chosen() -> None:
    train, validation, how = parts(["one", "two", "three"], 0.001)
    assert how == "0.1 % of the documents, chosen by their content"
    assert (len(train), len(validation)) == (2, 1)


def test_documents_that_are_all_alike_are_divided_by_number() -> None:
    """Cut, the last letter of each would be all there is to validate on, and unknown besides."""
    train, validation, how = parts(["the same line"] * 30)
    assert how == "the last 10 % of the documents, which all begin alike"
    assert (train, validation) == (["the same line"] * 27, ["the same line"] * 3)
    assert [len(part) for part in parts(["ab", "ab"])[:2]] == [1, 1]
    long = "a line that both begin with " * 200
    train, validation, _ = parts([f"{long}{n}" for n in range(30)], most=5000)
    assert validation == [f"{long}{n}" for n in range(27, 30)]


def test_stamps_tell_parts_apart() -> None:
    source = Texts(["a"])
    stamps = [
        repr(part.stamp())
        for part in (
            Chosen(source, 0, 5, True),
            Chosen(source, 0, 5, False),
            Chosen(source, 1, 5, True),
            Cut(source, (5,), True),
            Cut(source, (5,), False),
            Numbered(source, 5, True),
            Numbered(source, 5, False),
        )
    ]
    assert len(set(stamps)) == 7


def test_nothing_there() -> None:
    with pytest.raises(IndicialError, match="texts has no text in it, only blanks or empty rows"):
        split(Texts([]), 0.1, 0)
    assert survey([]).documents == 0
