"""From a run to text: prompts and pieces of text, and what stands before a text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from indicial import load
from indicial.data.tokenizers import Bytes, make_tokenizer
from indicial.decode.settings import Decoding
from indicial.decode.text import Session, Speaker, generate
from indicial.decode.tokens import generate_tokens
from indicial.program.messages import IndicialError
from tests.decode.runs import CHARACTERS, make_run


def test_text_is_its_tokens(tmp_path: Path) -> None:
    run, module = make_run(tmp_path / "run", "rnn_lm")
    settings = {"max_new_tokens": 30, "seed": 4, "num_return_sequences": 3}
    prompts = ["ab", "", "c\nä"]
    by_folder = generate(tmp_path / "run", prompts, **settings)
    by_run = generate(run, prompts, **settings)
    by_module = generate(module, prompts, tokenizer=CHARACTERS, **settings)
    assert by_folder == by_run == by_module
    tokens = [CHARACTERS.encode(prompt) for prompt in prompts]
    expected = generate_tokens(module, tokens, CHARACTERS.eos, Decoding(**settings))
    flat = [one for several in expected for one in several]
    assert [text.continuation for text in by_folder] == flat
    for text, one in zip(by_folder, flat, strict=True):
        said = [token for token in one.tokens if token != CHARACTERS.eos]
        assert str(text) == text.prompt + CHARACTERS.decode(said)


@pytest.mark.parametrize("settings", [{"num_beams": 3}, {"num_return_sequences": 3}])
def test_pieces_make_the_text(tmp_path: Path, settings: dict[str, int]) -> None:
    run, _ = make_run(tmp_path / "run", "trigram", Bytes())
    heard: dict[int, str] = {}
    ended: list[int] = []

    def listen(number: int, piece: str, last: bool) -> None:
        assert number not in ended
        heard[number] = heard.get(number, "") + piece
        ended.extend([number] * last)

    found = generate(run, ["ä", "b"], heard=listen, max_new_tokens=40, seed=1, **settings)
    assert [heard[n] for n in range(len(found))] == [text.text for text in found]
    assert sorted(ended) == list(range(len(found)))


def test_settings_as_python_has_them(tmp_path: Path) -> None:
    """Numbers of NumPy, None for what is not said, no prompt at all."""
    run, _ = make_run(tmp_path / "run", "rnn_lm")
    plain = generate(run, "ab", max_new_tokens=5, seed=1, top_k=3)
    kinds = {"max_new_tokens": np.int64(5), "seed": np.uint32(1), "top_k": np.int8(3)}
    assert generate(run, "ab", temperature=None, top_p=np.float32(1), **kinds) == plain
    assert generate(run, None, seed=1) == generate(run, "", seed=1)
    assert generate(run, []) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_length": 5}, "there is no setting max_length; did you mean max_new_tokens?"),
        ({"temprature": 1}, "there is no setting temprature; did you mean temperature?"),
        ({"xyz": 1}, "there is no setting xyz; there are max_new_tokens, do_sample, temperature"),
        ({"temperature": "0.7"}, "temperature is '0.7'; it is a number"),
        ({"top_k": 5.5}, "top_k is 5.5; it is a whole number"),
        ({"num_beams": 10**12}, "num_beams is 1000000000000; it is a whole number from 1 to 10000"),
        ({"seed": 1.5}, "seed is 1.5; it is a whole number"),
        ({"max_new_tokens": True}, "max_new_tokens is True; it is a whole number"),
        ({"prompt": b"ab"}, "a prompt is text, and 97 is none"),
        ({"prompt": [[1, 2]]}, "a prompt is text, and [1, 2] is none"),
    ],
)
def test_settings_that_python_gets_wrong(
    tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    run, _ = make_run(tmp_path / "run", "rnn_lm")
    with pytest.raises(IndicialError) as error:
        generate(run, **settings)  # type: ignore[arg-type]
    assert str(error.value).startswith(said)


def test_what_cannot_write() -> None:
    with pytest.raises(IndicialError, match="text is made by a run, its folder, or a module with"):
        generate(load("ugrnn"))  # type: ignore[arg-type]


def test_words_keep_their_blanks(tmp_path: Path) -> None:
    words = make_tokenizer("bpe", ["the dog sees the cat"] * 3, whole_words=True)
    run, _ = make_run(tmp_path / "run", "trigram", words)
    text = generate(run, "the dog", max_new_tokens=5, seed=0)[0]
    tokens = words.encode("the dog") + text.continuation.tokens
    assert str(text) == words.decode(tokens)


def test_unknown_character(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path / "run", "rnn_lm")
    with pytest.raises(IndicialError, match="has 'x'"):
        generate(run, "abx")


def test_a_module_has_no_words(tmp_path: Path) -> None:
    _, module = make_run(tmp_path / "run", "rnn_lm")
    with pytest.raises(IndicialError, match="tokenizer=…"):
        generate(module, "ab")


def test_who_fills_in_blanks_does_not_write(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path / "run", "rnn_lm")
    run.description = replace(run.description, task="blank")
    for write in (lambda: generate(run, "ab"), lambda: Session(Speaker.of(run), Decoding())):
        with pytest.raises(IndicialError, match="trained to fill in blanks"):
            write()


def test_texts_begin_as_in_training(tmp_path: Path) -> None:
    eos = [CHARACTERS.eos]
    plain = Speaker.of(make_run(tmp_path / "1", "gpt2")[0])
    assert (plain.encode("a"), plain.encode("")) == (CHARACTERS.encode("a"), [])
    leading = Speaker.of(make_run(tmp_path / "2", "gpt2", begins_with_eos=True)[0])
    assert (leading.encode("a"), leading.encode("")) == (eos + CHARACTERS.encode("a"), eos)
    within = Speaker.of(make_run(tmp_path / "3", "gpt2", layout="stream")[0])
    assert (within.encode("a"), within.encode("")) == (CHARACTERS.encode("a"), eos)
    text = leading.generate(["ab"], Decoding(max_new_tokens=9, seed=0))[0]
    tokens = [eos + CHARACTERS.encode("ab")]
    found = generate_tokens(leading.module, tokens, eos[0], Decoding(max_new_tokens=9, seed=0))
    assert text.continuation == found[0][0]
    assert "EOS" not in str(text)


# ---------------------------------------------------------------------- in turns


@pytest.mark.parametrize("name", ["rnn_lm", "transformer"])
def test_turns_are_one_text(tmp_path: Path, name: str) -> None:
    """What is said later is answered as if all of it had been the prompt; so is what was answered."""
    run, module = make_run(tmp_path / "run", name)
    speaker = Speaker.of(run)
    greedy = Decoding(max_new_tokens=15, temperature=0)
    session = Session(speaker, greedy)
    text = ""
    for said in ("ab", "", "cä\n", "b"):
        session.say(said)
        text += said
        answer = "".join(session.answer())
        expected = generate_tokens(module, [session.context[: -len(answer)]], None, greedy)
        assert CHARACTERS.decode(expected[0][0].tokens) == answer
        text += answer
    assert CHARACTERS.decode(session.context) == text


def test_an_answer_that_is_broken_off_stays(tmp_path: Path) -> None:
    session = Session(Speaker.of(make_run(tmp_path / "run", "rnn_lm")[0]), Decoding(seed=1))
    session.say("ab")
    answer = session.answer()
    pieces = [next(answer) for _ in range(5)]
    answer.close()
    assert CHARACTERS.decode(session.context) == "ab" + "".join(pieces)


def test_from_nothing_in_turns(tmp_path: Path) -> None:
    session = Session(Speaker.of(make_run(tmp_path / "run", "gpt2")[0]), Decoding(seed=1))
    session.say("")
    assert session.context == []
    list(session.answer())
    assert session.context[0] == CHARACTERS.eos


def test_no_beams_in_turns(tmp_path: Path) -> None:
    speaker = Speaker.of(make_run(tmp_path / "run", "rnn_lm")[0])
    with pytest.raises(IndicialError, match="one text"):
        Session(speaker, Decoding(num_beams=2))
