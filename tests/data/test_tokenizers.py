"""Text ↔ tokens, there and back."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.data.tokenizers import (
    BPE,
    Bytes,
    learn_bpe,
    learn_words,
    load_tokenizer,
    make_tokenizer,
)
from indicial.program.messages import IndicialError

TEXT = "low lower lowest new newer newest wide wider widest, it's 42 and _x_\n" * 3
LEARNED = learn_bpe([TEXT], 300)
WORDS = learn_words([TEXT], None)

tricky = st.text(st.sampled_from(" \n\tab'_1é½\u2028\0😀<EOS>"))


@given(st.text() | tricky)
@pytest.mark.parametrize("tokenizer", [Bytes(), LEARNED, WORDS], ids=["bytes", "bpe", "words"])
def test_any_text_comes_back(tokenizer: Bytes | BPE, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(0 < i < tokenizer.size for i in ids)  # no text has <EOS> in it


@given(st.text(st.sampled_from(sorted(set(TEXT)))))
def test_characters_come_back(text: str) -> None:
    tokenizer = make_tokenizer("characters", [TEXT])
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.size == len(set(TEXT)) + 2


@given(st.lists(st.text() | tricky, max_size=5))
def test_cut_between_words_changes_nothing(words: list[str]) -> None:
    """Long documents are encoded in pieces, cut before white space that follows something else."""
    pieces = ["a", *(" b" + word + "c" for word in words)]
    for tokenizer in (Bytes(), LEARNED, WORDS):
        apart = [tokenizer.numbers(piece, begins=not n) for n, piece in enumerate(pieces)]
        assert np.concatenate(apart).tolist() == tokenizer.encode("".join(pieces))


def naive_bpe(words: Counter[str], merges: int) -> set[str]:
    """The tokens that BPE learns, by its definition: join the most frequent pair, again and again."""
    split = {word: list(word) for word in words}
    tokens: set[str] = set()
    for _ in range(merges):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, parts in split.items():
            for pair in pairwise(parts):
                pairs[pair] += words[word]
        if not pairs:
            break
        best = max(pairs.values())
        if list(pairs.values()).count(best) > 1:
            break  # which comes first is not defined
        (left, right), _ = pairs.most_common(1)[0]
        tokens.add(left + right)
        for parts in split.values():
            n = 0
            while n < len(parts) - 1:
                if (parts[n], parts[n + 1]) == (left, right):
                    parts[n : n + 2] = [left + right]
                n += 1
    return tokens


def test_bpe_is_bpe() -> None:
    words = Counter({" abc": 50, " abd": 30, " xab": 25, " bd": 17, " d": 4})
    text = "".join(word * count for word, count in words.items())
    expected = naive_bpe(words, 4)
    assert len(expected) == 4
    learned = learn_bpe([text[1:]], 257 + len(expected))
    assert {learned.token(n) for n in range(257, learned.size)} == expected


def test_tokens_do_not_cross_words() -> None:
    learned = learn_bpe(["of the people by the people for the people 100% sure. " * 50], 2000)
    assert not any(" " in learned.token(n)[1:] for n in range(learned.size))
    assert [learned.token(n) for n in learned.encode("the people 100%")] == [
        " the",
        " people",
        " 100",
        "%",
    ]
    assert learned.encode("the people") == learned.encode("by the people")[1:]


def test_a_word_is_a_token() -> None:
    tokenizer = learn_words(["the dog don't bark .", "the dog ."], None)
    assert tokenizer.size == 257 + 5
    said = [tokenizer.token(n) for n in tokenizer.encode("the dog don't bark .")]
    assert said == [" the", " dog", " don't", " bark", " ."]
    few = learn_words(["the dog don't bark .", "the dog the ."], 258)
    assert [few.token(n) for n in few.encode("the dog")] == [" the", " ", "d", "o", "g"]


def test_end_of_document() -> None:
    for tokenizer in (Bytes(), LEARNED, WORDS, make_tokenizer("characters", [TEXT])):
        ids = [
            *tokenizer.encode("low new"),
            tokenizer.eos,
            *tokenizer.encode("wide"),
            tokenizer.eos,
        ]
        assert tokenizer.decode(ids) == "low new<EOS>wide<EOS>"
        assert tokenizer.token(tokenizer.eos) == "<EOS>"


def test_half_a_character() -> None:
    for tokenizer in (Bytes(), LEARNED):
        assert tokenizer.decode(tokenizer.encode("é")[:-1]) == "�"
    assert [LEARNED.token(n) for n in LEARNED.encode("é\n")] == [" ", "\\xc3", "\\xa9", "\\n"]
    assert [Bytes().token(n) for n in Bytes().encode("a\n")] == ["a", "\\x0a"]


def test_an_unknown_character() -> None:
    tokenizer = make_tokenizer("characters", ["abc"])
    with pytest.raises(IndicialError) as caught:
        tokenizer.encode("cab ü")
    assert str(caught.value) == (
        "the text has ' ' (U+0020, SPACE), which is not among the 3 characters of the training data: "
        "leave it out, or train with --tokens bytes or --tokens bpe, which know every character"
    )
    assert tokenizer.numbers("a\U0010ffffb").tolist() == [2, tokenizer.unknown, 3]
    assert tokenizer.decode([2, 1, 3]) == "a�b"


@pytest.mark.parametrize("tokenizer", [Bytes(), LEARNED], ids=["bytes", "bpe"])
def test_half_a_pair(tokenizer: Bytes | BPE) -> None:
    with pytest.raises(IndicialError, match=r"'\\ud800' \(U\+D800\), half of a pair"):
        tokenizer.encode("a\ud800b")


@pytest.mark.parametrize("kind", ["characters", "bpe"])
def test_a_byte_that_is_no_text(kind: str) -> None:
    """`--prompt $'caf\\xe9'`: Python hands it over as half of a pair."""
    tokenizer = make_tokenizer(kind, ["cafe"])
    with pytest.raises(IndicialError, match="the text has the byte 0xE9 where it is no UTF-8"):
        tokenizer.encode("caf\udce9")


def test_bytes_that_are_no_text() -> None:
    raw = bytes(range(256))
    text = raw.decode("utf-8", "surrogateescape")
    assert bytes(n - 1 for n in Bytes().encode(text)) == raw


@pytest.mark.parametrize("kind", ["bytes", "characters", "bpe"])
def test_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    made = make_tokenizer(kind, [TEXT], 280 if kind == "bpe" else None)
    made.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert (loaded.kind, loaded.size) == (made.kind, made.size)
    assert loaded.encode("it's lower") == made.encode("it's lower")
    assert [loaded.token(n) for n in range(loaded.size)] == [
        made.token(n) for n in range(made.size)
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "tokenizer.json is missing: is .* the folder of a run"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"format": 1, "kind": "runes"}', "damaged: 'runes'"),
        ('{"format": 1, "kind": "characters"}', "damaged.*alphabet"),
        ('{"format": 1, "kind": "bpe", "tokens": ["a"], "merges": [], "cut": "mixed"}', "damaged"),
        (json.dumps({"format": 9, "kind": "bytes"}), "format 9.*reads 1"),
    ],
)
def test_a_damaged_file(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(IndicialError, match=said):
        load_tokenizer(tmp_path)


def test_wrong_calls() -> None:
    with pytest.raises(IndicialError, match="tokens are bytes, characters or bpe, not 'words'"):
        make_tokenizer("words", [])
    with pytest.raises(IndicialError, match=r"--vocabulary is 99: .* at least 257"):
        make_tokenizer("bpe", ["a"], 99)
