"""Text in pieces: together what all tokens give, and never half a character."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from indicial.data.tokenizers import Bytes, Tokenizer, make_tokenizer
from indicial.decode.text import HALF, InOrder, TextStream

BPE = make_tokenizer("bpe", ["der Bär läuft zum süßen 🍯 und der Bär frisst €"] * 3, 300)


def pieces(tokenizer: Tokenizer, context: list[int], tokens: list[int]) -> list[str]:
    stream = TextStream(tokenizer, context)
    return [*map(stream.add, tokens), stream.end()]


def whole(tokenizer: Tokenizer, context: list[int], tokens: list[int]) -> str:
    return tokenizer.decode(context + tokens)[len(tokenizer.decode(context)) :]


@given(st.text(max_size=12), st.text(max_size=30))
@example("", " ä")
@example("a", "🍯")
def test_texts_come_out_whole(before: str, text: str) -> None:
    for tokenizer in (Bytes(), BPE):
        context, tokens = tokenizer.encode(before), tokenizer.encode(text)
        found = pieces(tokenizer, context, tokens)
        assert "".join(found) == whole(tokenizer, context, tokens)
        if HALF not in text:
            assert not any(HALF in piece for piece in found)


@given(st.lists(st.integers(1, 256), max_size=40), st.text(max_size=5))
@example([0xE2 + 1] * 5, "")
def test_so_do_bytes_that_are_no_text(tokens: list[int], before: str) -> None:
    for tokenizer in (Bytes(), BPE):
        context = tokenizer.encode(before)
        found = "".join(pieces(tokenizer, context, tokens))
        assert found == whole(tokenizer, context, tokens)


def test_as_soon_as_it_is_complete() -> None:
    tokens = Bytes().encode("aü€")
    assert pieces(Bytes(), [], tokens) == ["a", "", "ü", "", "", "€", ""]
    assert pieces(Bytes(), [], tokens[:-1]) == ["a", "", "ü", "", "", HALF]


def test_words_keep_their_blanks() -> None:
    context = BPE.encode("der")
    assert "".join(pieces(BPE, context, BPE.encode("Bär"))) == " Bär"
    assert "".join(pieces(BPE, [], BPE.encode("Bär"))) == "Bär"


@given(
    st.lists(st.tuples(st.integers(0, 3), st.text(max_size=2)), max_size=20),
    st.permutations(range(4)),
)
def test_several_texts_one_after_the_other(said: list[tuple[int, str]], ends: list[int]) -> None:
    written: list[str] = []
    order = InOrder(begin=lambda n: written.append(f"[{n}]"), write=written.append)
    for number, piece in said:
        order.add(number, piece, False)
        if number == 0:  # the first is not kept waiting
            assert (
                "".join(written)
                == "[0]"
                + "".join(p for n, p in said[: len(said)] if n == 0)[: len("".join(written)) - 3]
            )
    for number in ends:
        order.add(number, "", True)
    expected = "".join(f"[{k}]" + "".join(p for n, p in said if n == k) for k in range(4))
    assert "".join(written) == expected
