"""`indicial generate`: what is written where."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from indicial.cli import main
from indicial.data.tokenizers import make_tokenizer
from indicial.decode.text import generate
from indicial.training.run import Run
from tests.decode.runs import make_run

Caught = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path) -> str:
    make_run(tmp_path / "run", "trigram", seed=2)
    return str(tmp_path / "run")


def test_prompt_and_text(run: str, capsys: Caught) -> None:
    assert main(["generate", run, "--prompt", "ab", "--seed", "3", "--max-new-tokens", "20"]) == 0
    text = generate(run, "ab", seed=3, max_new_tokens=20)[0]
    assert capsys.readouterr().out == f"{text}\n"


def test_wherever_it_is_written_to(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["generate", run, "--seed", "3", "--max-new-tokens", "20"]
    monkeypatch.setattr("sys.stdout", text := io.StringIO())  # as in a notebook
    assert main(arguments) == 0
    assert text.getvalue() == f"{generate(run, seed=3, max_new_tokens=20)[0]}\n"
    monkeypatch.setattr("sys.stdout", None)  # closed, `>&-`
    assert main(arguments) == 0


def test_a_damaged_checkpoint_is_told(run: str, capsys: Caught) -> None:
    opened = Run.open(run)
    path = opened.checkpoints.save(replace(opened.checkpoint("best"), step=2), best=True)
    assert path is not None
    (path / "tensors.safetensors").write_bytes(b"")
    assert main(["generate", run, "--seed", "3", "--max-new-tokens", "20"]) == 0
    assert "step-00000002 is damaged and left out" in capsys.readouterr().err


def test_from_nothing(run: str, capsys: Caught) -> None:
    assert main(["generate", run, "--seed", "3", "--max-new-tokens", "20"]) == 0
    assert capsys.readouterr().out == f"{generate(run, seed=3, max_new_tokens=20)[0]}\n"


@pytest.mark.parametrize("how", [["--seed", "3"], ["--num-beams", "2"]])
def test_several_texts(run: str, capsys: Caught, tmp_path: Path, how: list[str]) -> None:
    (tmp_path / "prompt.txt").write_text("cä\n", encoding="utf-8")
    settings = ["--num-return-sequences", "2", "--max-new-tokens", "20", *how]
    given = ["--prompt", "ab", "--prompt-file", str(tmp_path / "prompt.txt")]
    assert main(["generate", run, *given, *settings]) == 0
    named = {how[0][2:].replace("-", "_"): int(how[1])}
    texts = generate(run, ["ab", "cä"], num_return_sequences=2, max_new_tokens=20, **named)
    expected = "\n".join(f"--- {n} of 4 ---\n{text}\n" for n, text in enumerate(texts, 1))
    assert capsys.readouterr().out == expected


def test_json(run: str, capsys: Caught) -> None:
    arguments = ["--prompt", "ab", "--temperature", "0", "--max-new-tokens", "150", "--json"]
    assert main(["generate", run, *arguments]) == 0
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    text = generate(run, "ab", temperature=0, max_new_tokens=150)[0]
    assert report["run"] == run
    assert report["settings"]["temperature"] == 0
    assert isinstance(report["settings"]["seed"], int)
    found = report["texts"][0]
    assert (found["prompt"], found["text"]) == ("ab", text.text)
    assert found["tokens"] == text.continuation.tokens
    assert found["log_probability"] == pytest.approx(text.continuation.log_probability)
    repeat = text.continuation.repeat
    assert repeat is not None
    assert found["repeat"] == {"start": repeat.start, "period": repeat.period}
    assert printed.err == f"note: the text {repeat}\n"


def test_stop_at_repeat(run: str, capsys: Caught) -> None:
    arguments = ["--prompt", "ab", "--temperature", "0", "--max-new-tokens", "150"]
    assert main(["generate", run, *arguments, "--stop-at-repeat", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["texts"][0]
    assert found["ended"] == "repeat"
    assert len(found["tokens"]) < 150


def test_beyond_the_last_position(tmp_path: Path, capsys: Caught) -> None:
    make_run(tmp_path / "run", "transformer")
    folder = str(tmp_path / "run")
    arguments = ["--prompt", "ab", "--seed", "2", "--top-k", "3", "--max-new-tokens", "23"]
    assert main(["generate", folder, *arguments, "--no-slide"]) == 2
    said = "2 tokens of the prompt and 23 new ones are more than the 24"
    assert said in capsys.readouterr().err
    assert main(["generate", folder, *arguments]) == 0
    note = "note: the text is longer than the model's positions; its end was made from at most"
    assert note in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--top-p", "2"], "top_p is 2.0; it is a probability, from 0 to 1"),
        (["--prompt", "x"], "the text has 'x' (U+0078, LATIN SMALL LETTER X)"),
        (["--prompt-file", "nowhere.txt"], "cannot read the prompt nowhere.txt"),
        (["--interactive", "--json"], "not with --json"),
        (["--interactive", "--prompt", "a", "--prompt", "b"], "give one prompt"),
        (["--num-beams", "3", "--temperature", "0.5"], "temperature=0.5 has no meaning"),
        (["--prompt-file", "-", "--prompt-file", "-"], "standard input can be read once"),
        (["--interactive", "--prompt-file", "-"], "standard input can be read once"),
    ],
)
def test_wrong_calls(run: str, capsys: Caught, wrong: list[str], said: str) -> None:
    assert main(["generate", run, *wrong]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--max-length", "3"], "there is no --max-length; did you mean --max-new-tokens?"),
        (["--num_samples", "3"], "did you mean --num-return-sequences?"),
        (
            ["the cat"],
            "'the cat' does not belong to any option: a prompt is given by --prompt TEXT",
        ),
    ],
)
def test_what_others_call_it(run: str, capsys: Caught, wrong: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(["generate", run, *wrong])
    assert end.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "note"),
    [
        (["--early-stopping", "true"], "--early-stopping has no effect: it is for beam search"),
        (["--length-penalty", "2"], "--length-penalty has no effect: it is for beam search"),
        (["--temperature", "0", "--top-k", "3"], "--top-k has no effect: at temperature 0"),
        (["--temperature", "0", "--seed", "3"], "--seed has no effect: at temperature 0"),
        (["--num-beams", "2", "--seed", "3"], "--seed has no effect: beam search draws nothing"),
        (["--num-beams", "2", "--early-stopping", "true", "--length-penalty", "2"], None),
        (["--temperature", "0"], None),
        (["--top-k", "3", "--top-p", "0.9", "--min-p", "0.1", "--seed", "3"], None),
    ],
)
def test_what_has_no_effect_is_told(
    run: str, capsys: Caught, said: list[str], note: str | None
) -> None:
    assert main(["generate", run, "--max-new-tokens", "3", *said]) == 0
    err = capsys.readouterr().err
    assert err.count("has no effect") == (note is not None) and (note or "") in err


def test_no_run(tmp_path: Path, capsys: Caught) -> None:
    assert main(["generate", str(tmp_path / "nothing")]) == 2
    assert "there is no run" in capsys.readouterr().err


def test_in_turns(run: str, capsys: Caught, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is answered; what cannot be read is said, and the text goes on."""
    monkeypatch.setattr("sys.stdin", io.StringIO("ab\nx\nc\n"))
    arguments = ["--interactive", "--temperature", "0", "--max-new-tokens", "8"]
    assert main(["generate", run, *arguments]) == 0
    printed = capsys.readouterr()
    first = generate(run, "ab", temperature=0, max_new_tokens=8)[0]
    whole = f"{first}<EOS>" if first.continuation.ended == "eos" else str(first)
    second = generate(run, f"{whole}c", temperature=0, max_new_tokens=8)[0]
    assert printed.out == f"> {first.text}\n> > {second.text}\n> \n"
    assert "the text has 'x'" in printed.err


def test_in_turns_with_nobody(run: str, capsys: Caught, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["generate", run, "--interactive"]) == 2
    assert "standard input is closed" in capsys.readouterr().err


def test_a_terminal_is_not_told_what_to_do(
    tmp_path: Path, capsys: Caught, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "run", "trigram", make_tokenizer("characters", ["\x1b\x9b\x07a\n"]))
    arguments = ["generate", str(tmp_path / "run"), "--seed", "1", "--max-new-tokens", "40"]
    assert main([*arguments, "--prompt", "\x1b"]) == 0
    plain = capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main([*arguments, "--prompt", "\x1b"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" in plain
    assert shown == "".join(repr(c)[1:-1] if c in "\x1b\x9b\x07" else c for c in plain)
