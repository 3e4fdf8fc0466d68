"""From what a user names to tokens: counts, splits, leaks, worlds, and the store."""

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from indicial.data.corpus import Corpus, Data, Rows
from indicial.data.prepare_text import Cut, prepare_data
from indicial.data.tokenizers import Tokenizer
from indicial.data.world import world
from indicial.program.messages import IndicialError

VILLAGE = world("village")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    return tmp_path


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def texts(corpus: Corpus, tokenizer: Tokenizer) -> list[str]:
    """The documents, from the tokens."""
    bounds = corpus.starts.tolist()
    found = []
    for begin, end in pairwise(bounds):
        assert corpus.tokens[end - 1] == tokenizer.eos
        found.append(tokenizer.decode(corpus.tokens[begin : end - 1]))
    return found


def both(data: Data) -> tuple[list[str], list[str]]:
    return texts(data.train, data.tokenizer), texts(data.validation, data.tokenizer)


TEXT = "".join(f"It was the {n * 37 % 400}th of times, naïve {n * n},\n" for n in range(400))
"""A running text: its lines end no sentences, and are in no order."""


@pytest.mark.parametrize("tokens", ["auto", "bytes", "characters", "bpe"])
def test_one_text(tokens: str) -> None:
    data = prepare_data([write("a.txt", TEXT)], tokens=tokens)
    [train], [validation] = both(data)
    assert train + validation == TEXT
    assert train.endswith("\n")
    assert abs(len(train) - 0.9 * len(TEXT)) < 40
    assert data.tokenizer.kind == ("characters" if tokens == "auto" else tokens)
    for corpus, text in ((data.train, train), (data.validation, validation)):
        assert corpus.characters == len(text)
        assert corpus.bytes == len(text.encode())
        assert corpus.words == len(text.split())
        assert corpus.documents == 1
        assert corpus.tokens.dtype == np.uint16


def test_lines() -> None:
    data = prepare_data([write("a.txt", TEXT)], documents="lines", validation=0.2)
    train, validation = both(data)
    assert sorted(train + validation) == sorted(TEXT.splitlines())
    assert abs(len(validation) - 80) < 30
    told = data.description
    json.dumps(told)
    assert told["name"] == "a.txt"
    assert told["split"] == "20 % of the documents, chosen by their content"
    assert (told["tokens"], told["vocabulary"]) == ("characters", data.tokenizer.size)
    assert told["train"]["documents"] == len(train)
    assert told["train"]["tokens"] == len(data.train)
    assert told["train"]["tokens_per_document"] == len(data.train) / len(train)
    assert told["train"]["digest"] == data.train.digest != data.validation.digest
    assert Rows(data.train, 128).layout == "documents"


@pytest.mark.parametrize("tokens", ["characters", "bpe"])
@pytest.mark.parametrize("unit", ["file", "lines"])
def test_what_is_learned_is_that_of_the_training_part(tokens: str, unit: str) -> None:
    """Each line has a sign, or a word, that no other line has, often enough to be learned."""
    if tokens == "characters":
        marks = [chr(0x4E00 + n) for n in range(1000)]
    else:
        marks = ["".join(chr(97 + n // 10**k % 10) for k in range(3)) for n in range(1000)]
    write("a.txt", "\n".join(f"{mark} {mark} {mark} {mark}" for mark in marks))
    data = prepare_data(
        ["a.txt"], documents=unit, tokens=tokens, vocabulary=9000 if tokens == "bpe" else None
    )
    vocabulary = {data.tokenizer.token(n).strip() for n in range(data.tokenizer.size)}
    train = set(" ".join(both(data)[0]).split())
    assert len(train) > 800
    assert vocabulary & set(marks) == train
    assert (data.validation.unknown > 0) == (tokens == "characters")
    assert data.train.unknown == 0


def test_duplicates_are_on_one_side() -> None:
    lines = [f"line {n % 300}" for n in range(3000)]
    train, validation = both(prepare_data([write("a.txt", "\n".join(lines))], documents="lines"))
    assert len(train) + len(validation) == 3000
    assert not set(train) & set(validation)


def test_unknown_characters_are_told() -> None:
    write("a.txt", "abab\n" * 100)
    write("b.txt", "abüb\n" * 7)
    data = prepare_data(["a.txt"], validation=["b.txt"], documents="file")
    assert data.validation.unknown == 7
    assert both(data)[1] == ["ab�b\n" * 7]
    assert data.description["notes"] == [
        "7 of the 35 characters of the validation part are none that the tokens know; "
        "each counts as unknown, and 20 bits more for saying which one it is"
    ]


def test_a_tokenizer_that_is_there_already(here: Path) -> None:
    """Fine-tuning: the tokens of a run are taken, and nothing is learned from the new text."""
    first = prepare_data([write("a.txt", TEXT)])
    first.tokenizer.save(here)
    data = prepare_data([write("b.txt", TEXT.replace("times", "tïmes"))], tokenizer=here)
    assert data.tokenizer.size == first.tokenizer.size
    assert data.train.unknown == 0  # the text has an ï already
    other = prepare_data([write("c.txt", TEXT.replace("times", "tîmes"))], tokenizer=here)
    assert other.train.unknown + other.validation.unknown == 400
    assert len(other.description["notes"]) == 2
    prepare_data(["a.txt"], tokens="bytes").tokenizer.save(here)
    raw = prepare_data([write("d.bin", b"\xff\0" * 50)], tokenizer=here)
    assert raw.train.tokens[:2].tolist() == [256, 1]


def test_files_of_their_own_are_kept_back() -> None:
    Path("t").mkdir()
    for name in ("t/a.txt", "t/b.txt", "t/c.txt"):
        write(name, f"this is {name}\n" * 20)
    data = prepare_data(["t"], validation=["t/b.txt"], tokens="bytes", documents="file")
    assert both(data) == ([f"this is t/{n}.txt\n" * 20 for n in "ac"], ["this is t/b.txt\n" * 20])
    assert data.description["split"] == "files of their own"
    assert data.description["notes"] == ["t/b.txt is kept back for validation"]


def test_bytes_take_any_file() -> None:
    raw = bytes(range(256)) * 10
    data = prepare_data([write("a.bin", raw)], tokens="bytes", validation=0.5)
    both_parts = np.concatenate([data.train.tokens[:-1], data.validation.tokens[:-1]])
    assert bytes((both_parts - 1).tolist()) == raw


def test_large_vocabularies_take_four_bytes() -> None:
    signs = "".join(map(chr, range(0x10000, 0x10000 + 70_000)))
    data = prepare_data([write("a.txt", signs)], tokens="characters", validation=0.05)
    assert data.train.tokens.dtype == np.uint32
    assert "".join(both(data)[0]) == signs[: data.train.characters]


def test_large_texts_get_bpe() -> None:
    data = prepare_data([write("a.txt", TEXT)], cut=Cut(characters_below=10_000))
    assert data.tokenizer.kind == "bpe"
    assert 257 < data.tokenizer.size <= 1024
    assert prepare_data(["a.txt"], vocabulary=300).tokenizer.size == 300


def test_bpe_is_learned_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so large a text that every second document is looked at."""
    monkeypatch.setattr("indicial.data.prepare_text.SAMPLE", 1000)
    lines = "\n".join(f"even {n}" if n % 2 else f"odd {n}" for n in range(300))
    data = prepare_data([write("a.txt", lines)], documents="lines", tokens="bpe")
    train, validation = both(data)
    assert sorted(train + validation) == sorted(lines.split("\n"))


# Worlds


def test_a_world() -> None:
    data = prepare_data(["village"], world_size=2000)
    train, validation = both(data)
    assert (len(train), len(validation)) == (2000, 200)
    assert train[:200] != validation
    assert data.world is VILLAGE
    # Each word is a token, and so is the end of each sentence.
    assert len(data.train) == sum(len(text.split()) + 1 for text in train)
    assert data.tokenizer.size == 257 + len(VILLAGE.vocabulary)
    # The entropy of these very sentences, against the world's own account of them.
    nats = -math.fsum(VILLAGE.log_probability(text) for text in validation)
    assert data.sampled_entropy_per_token == pytest.approx(nats / len(data.validation))
    assert data.world is not None and data.world.entropy() == VILLAGE.entropy()
    per_token = VILLAGE.entropy() / (VILLAGE.words_per_sentence() + 1)
    assert data.entropy_per_token == pytest.approx(per_token, rel=0.1)
    assert data.description["world"]["name"] == "village"


def test_worlds_are_said_anew_for_another_seed() -> None:
    one, same, other = (
        prepare_data(["village"], world_size=50, seed=seed, tokens=tokens)
        for seed, tokens in ((0, "auto"), (0, "characters"), (1, "auto"))
    )
    assert both(one) == both(same)
    assert both(one)[0] != both(other)[0]
    assert both(one)[1] != both(other)[1]


def test_a_file_named_like_a_world() -> None:
    write("village", TEXT)
    data = prepare_data(["village"], world_size=20)
    assert data.world is VILLAGE
    assert data.description["notes"] == [
        "village is the built-in world; the file of that name is ./village"
    ]
    assert prepare_data(["./village"]).world is None


def test_files_have_no_entropy() -> None:
    data = prepare_data([write("a.txt", TEXT)])
    assert (data.world, data.entropy_per_token, data.sampled_entropy_per_token) == (None,) * 3


# The store


def test_the_work_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.txt", TEXT)
    first = prepare_data(["a.txt"])
    monkeypatch.setattr("indicial.data.prepare_text.write_tokens", None)  # would fail
    again = prepare_data(["a.txt"])
    assert again.description == first.description
    assert np.array_equal(again.train.tokens, first.train.tokens)
    monkeypatch.undo()


def test_what_changes_is_made_anew() -> None:
    write("a.txt", TEXT)
    digests = [
        prepare_data(["a.txt"], **settings).train.digest
        for settings in ({}, {"tokens": "bytes"}, {"documents": "lines"}, {"validation": 0.3})
    ]
    write("a.txt", TEXT.replace("times", "tides"))  # of the same length
    digests.append(prepare_data(["a.txt"]).train.digest)
    assert len(set(digests)) == len(digests)


def test_damaged_tokens_are_made_anew(here: Path) -> None:
    first = prepare_data([write("a.txt", TEXT)])
    [path] = (here / "cache").rglob("train.0.values")
    raw = bytearray(path.read_bytes())
    raw[100] ^= 1
    path.unlink()
    path.write_bytes(raw)
    assert np.array_equal(prepare_data(["a.txt"]).train.tokens, first.train.tokens)


def test_a_list_of_short_texts_has_more_tokens_than_a_running_one() -> None:
    assert [Cut().vocabulary(n) for n in (150_000, 1_000_000, 2_000_000)] == [1024, 2048, 4096]
    assert Cut().vocabulary(1_000_000, 250) == 2048 and Cut().vocabulary(1_000_000, 251) == 4096
    rng = np.random.default_rng(0)
    words = [f"{n:x}" for n in rng.integers(16**4, 16**6, 9_000)]
    write("a.txt", "".join(f"{' '.join(words[n : n + 9])}\n" for n in range(0, len(words), 9)))
    ways = ("file", "lines")
    found = [prepare_data(["a.txt"], cut=Cut(0), documents=d).tokenizer.size for d in ways]
    assert found == [512, 1024]


def test_another_process_gets_the_same() -> None:
    data = prepare_data([write("a.txt", TEXT)], documents="lines", tokens="bpe", cache=Path("c1"))
    code = (
        "from pathlib import Path; from indicial.data.prepare_text import prepare_data\n"
        "data = prepare_data(['a.txt'], documents='lines', tokens='bpe', cache=Path('c2'))\n"
        "print(data.train.digest, data.validation.digest)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert said.split() == [data.train.digest, data.validation.digest]


def test_a_file_that_changes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.txt", TEXT)
    from indicial.data import prepare_text as making

    def meanwhile(*arguments: object) -> object:
        write("a.txt", TEXT[:-1])
        return write_tokens(*arguments)  # type: ignore[arg-type]

    write_tokens = making.write_tokens
    monkeypatch.setattr(making, "write_tokens", meanwhile)
    with pytest.raises(IndicialError, match=r"a\.txt changed while it was read: start again"):
        prepare_data(["a.txt"])


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indicial.data.prepare_text.EVERY", -1.0)
    heard: list[str] = []
    prepare_data([write("a.txt", TEXT)], tell=heard.append)
    assert heard[0].startswith("reading a.txt: 0.0 million characters")


# What is refused


def refusal(*what: str, **settings: object) -> str:
    with pytest.raises(IndicialError) as caught:
        prepare_data(what, **settings)  # type: ignore[arg-type]
    return str(caught.value)


def test_too_short() -> None:
    assert refusal(write("a.txt", "x")) == (
        "a.txt is too short: nothing of it is left for the validation part (validation: the last 10 "
        "% of the text). Give more text, or other files with --validation"
    )
    assert refusal(write("b.txt", "\n \n")) == "b.txt has no text in it, only blanks or empty rows"
    [train], [validation] = both(
        prepare_data([write("c.txt", "one line of text\n")], tokens="bytes")
    )
    assert train + validation == "one line of text\n"
    assert validation.strip()


def test_wrong_settings() -> None:
    write("a.txt", TEXT)
    assert refusal("a.txt", tokens="words") == (
        "--tokens is auto, bytes, characters, bpe; got words"
    )
    assert refusal("a.txt", tokens="bytes", vocabulary=300) == (
        "--vocabulary is for --tokens bpe; bytes make their own, so leave it out"
    )
    for validation in (0, 1.0, ["-0.5"]):
        assert "it is a fraction between 0 and 1" in refusal("a.txt", validation=validation)
    assert refusal("a.txt", validation=["a.txt"]) == (
        "a.txt is given for training and for validation: give --validation other files, or a "
        "fraction such as 0.1, which is then kept back"
    )
    assert refusal("a.txt", validation=["village"]) == (
        "--validation village is a built-in world, and the training data are files"
    )
    for settings in ({"field": "a"}, {"documents": "lines"}, {"validation": ["a.txt"]}):
        assert "makes sentences for both parts" in refusal("village", **settings)
    assert "at least 1" in refusal("village", world_size=0)
    assert prepare_data(["a.txt"], validation=["0.25"]).validation.characters > len(TEXT) / 5


def test_half_a_pair_in_json() -> None:
    write("a.jsonl", '{"text": "fine"}\n{"text": "\\ud800"}\n' * 5)
    write("b.jsonl", '"\\ud800"\n')
    assert "b.jsonl, line 1: '\\ud800' is half of a pair" in refusal("b.jsonl")
    for tokens in ("bpe", "characters", "bytes"):
        assert refusal("a.jsonl", tokens=tokens) == (
            "a.jsonl, line 2: '\\ud800' is half of a pair, not a character by itself: remove it"
        )
