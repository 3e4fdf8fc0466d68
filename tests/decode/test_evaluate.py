"""How well a text is predicted, against the model on each window by itself."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from indicial.cli import main
from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import Bytes
from indicial.data.world import world
from indicial.decode.evaluate import Evaluation, evaluate
from indicial.program.messages import IndicialError
from indicial.tasks.task import Scores
from tests.decode.runs import CHARACTERS, make_run

SAID = {"context": 8, "batch_size": 3}


def nats_of(module: ProgramModule, tokens: list[int]) -> list[float]:
    """-ln P of each token of a window, all of them from the model as it is."""
    with torch.no_grad():
        p = module(w=torch.tensor(tokens), want=["P"])["P"]
    return [-math.log(float(row[token])) for row, token in zip(p, tokens, strict=True)]


def in_windows(module: ProgramModule, tokens: list[int], context: int, stride: int) -> list[float]:
    """A long text: the first row counts all, each further one its last `stride` tokens."""
    found = nats_of(module, tokens[:context])
    while len(found) < len(tokens):
        new = min(stride, len(tokens) - len(found))
        end = len(found) + new
        found += nats_of(module, tokens[end - context : end])[-new:]
    return found


@pytest.mark.parametrize("stride", [1, 4, 7])
@pytest.mark.parametrize("name", ["rnn_lm", "transformer"])
def test_a_long_text(tmp_path: Path, name: str, stride: int) -> None:
    run, module = make_run(tmp_path / "run", name, **SAID)
    text = "abcä€ \nba cab ä€€ bacacab"
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    seen: list[tuple[int, int, float]] = []
    found = evaluate(
        run, [str(tmp_path / "text.txt")], stride=stride, each=lambda *one: seen.append(one)
    )
    tokens = [*CHARACTERS.encode(text), CHARACTERS.eos]
    expected = in_windows(module, tokens, 8, stride)
    assert [place for place, _, _ in seen] == list(range(len(tokens)))
    assert [token for _, token, _ in seen] == tokens
    assert [nats for _, _, nats in seen] == pytest.approx(expected, rel=1e-4)
    scores = found.scores
    assert (scores.count, found.characters) == (len(tokens), len(text))
    assert scores.nats == pytest.approx(sum(expected), rel=1e-4)
    assert scores.per_token == pytest.approx(sum(expected) / len(tokens), rel=1e-4)
    assert scores.perplexity == pytest.approx(math.exp(sum(expected) / len(tokens)), rel=1e-3)
    bits = sum(expected) / math.log(2)
    assert scores.bits_per_character == pytest.approx(bits / len(text), rel=1e-4)
    assert found.bits_per_byte == pytest.approx(bits / len(text.encode()), rel=1e-4)
    assert (found.context, found.stride, found.layout) == (8, stride, "stream")


def test_a_text_shorter_than_the_context(tmp_path: Path) -> None:
    run, module = make_run(tmp_path / "run", "rnn_lm", **SAID)
    (tmp_path / "text.txt").write_text("ab", encoding="utf-8")
    found = evaluate(run, [str(tmp_path / "text.txt")])
    expected = nats_of(module, [*CHARACTERS.encode("ab"), CHARACTERS.eos])
    assert found.scores.nats == pytest.approx(sum(expected), rel=1e-4)
    for same in (tmp_path / "text.txt", [tmp_path / "text.txt"], str(tmp_path / "text.txt")):
        assert evaluate(run, same).scores == found.scores


def test_a_path_is_a_file_though_a_world_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run, _ = make_run(tmp_path / "run", "rnn_lm", **SAID)
    Path("people").write_text("ab", encoding="utf-8")
    assert evaluate(run, Path("people")).tokens == 3


def test_batches_and_documents_do_not_matter(tmp_path: Path) -> None:
    """Documents of one file each, in rows that begin with a document."""
    folder = tmp_path / "texts"
    folder.mkdir()
    texts = ["ab", "cäb", "€", "abcab", "b", "bb"]
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    (tmp_path / "3").mkdir()
    totals = []
    for size in (1, 3, 10):
        run, _ = make_run(tmp_path / f"run{size}", "rnn_lm", context=8, batch_size=size)
        found = evaluate(run, [str(folder)])
        assert found.layout == "documents"
        assert (found.documents, found.scores.count) == (6, sum(map(len, texts)) + 6)
        totals.append(found.scores.nats)
    assert totals == pytest.approx([totals[0]] * 3, rel=1e-4)


def test_documents_are_as_in_training_unless_said(tmp_path: Path) -> None:
    """The model has never seen the newline between two lines."""
    run, _ = make_run(tmp_path / "run", "rnn_lm", **SAID, documents="lines")
    (tmp_path / "text.txt").write_text("ab\ncäb\n", encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('"a\\nb"\n"c"\n', encoding="utf-8")
    counts = {
        (name, said): evaluate(run, [str(tmp_path / name)], documents=said).documents
        for name, said in (("text.txt", None), ("text.txt", "file"), ("rows.jsonl", None))
    }
    assert list(counts.values()) == [2, 1, 2]


def test_what_was_left_out_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "run", "rnn_lm", **SAID)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("abc", encoding="utf-8")
    (folder / "b.png").write_bytes(b"\x89PNG\0")
    assert main(["evaluate", str(tmp_path / "run"), "--data", str(folder)]) == 0
    assert "note: 1 file is not text and left out" in capsys.readouterr().err


def test_a_world_has_an_entropy(tmp_path: Path) -> None:
    """Measured on the sentences themselves, so that chance plays no part in the distance."""
    run, _ = make_run(tmp_path / "run", "trigram", Bytes(), context=24, batch_size=64)
    first, second = (evaluate(run, ["people"], sentences=60, seed=s).scores for s in (0, 1))
    people = world("people")
    expected = people.entropy() / (people.words_per_sentence() + 1)
    assert first.entropy == pytest.approx(expected, rel=0.2)
    assert first.entropy != second.entropy
    assert first.above_entropy == pytest.approx((first.per_word or 0) - (first.entropy or 0))
    assert first.above_entropy > 0


# ---------------------------------------------------------------------- what does not fit


def test_unknown_characters_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "run", "rnn_lm", **SAID)
    (tmp_path / "text.txt").write_text("abXYc", encoding="utf-8")
    assert main(["evaluate", str(tmp_path / "run"), "--data", str(tmp_path / "text.txt")]) == 0
    assert "2 characters that the model does not know" in capsys.readouterr().out


def test_more_context_than_positions(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path / "run", "transformer", **SAID)
    (tmp_path / "text.txt").write_text("ab" * 50, encoding="utf-8")
    with pytest.raises(IndicialError, match="the model has positions for 24"):
        evaluate(run, [str(tmp_path / "text.txt")], context=25)
    assert evaluate(run, [str(tmp_path / "text.txt")], context=24).context == 24


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--data", "nothing.txt"], "nothing.txt"),
        (["--data", "{empty}"], "empty.txt"),
        (["--data", "{text}", "--stride", "8"], "the stride is 8"),
        (["--data", "{text}", "--context", "1"], "the context is 1"),
        (
            ["--data", "{text}", "--sentences", "5"],
            "--sentences 5 is for the sentences of a built-in",
        ),
        (["--data", "{text}", "--seed", "5"], "--seed 5 is for the sentences of a built-in world"),
        (["--data", "people", "--sentences", "0"], "--sentences 0: give a number from 1 to 1,000"),
        (["--data", "{text}", "--tokens-out", "{text}/no/where"], "cannot write"),
    ],
)
def test_wrong_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str], said: str
) -> None:
    make_run(tmp_path / "run", "rnn_lm", **SAID)
    (tmp_path / "text.txt").write_text("abc" * 9, encoding="utf-8")
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    places = {"text": tmp_path / "text.txt", "empty": tmp_path / "empty.txt"}
    assert main(["evaluate", str(tmp_path / "run"), *(w.format(**places) for w in wrong)]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


def test_half_a_name_is_no_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It would write the tokens into a file `bytes`."""
    with pytest.raises(SystemExit) as end:
        main(["evaluate", str(tmp_path), "--data", "a.txt", "--tokens", "bytes"])
    assert end.value.code == 2
    assert "there is no --tokens; did you mean --tokens-out?" in capsys.readouterr().err


def test_only_what_was_left_blank_is_counted() -> None:
    found = Evaluation("a", Scores(10.0, 3, 5.0), 20, 1, 20, 20, 0, 8, 4, "stream")
    assert str(found).startswith("a: 20 tokens in 1 document, 3 of them left blank\n")


def test_what_is_no_text_gets_no_advice_that_cannot_be_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "run", "rnn_lm", **SAID)
    for data in (b"ab\xe9", b"ab\0"):
        (tmp_path / "text.txt").write_bytes(data)
        assert main(["evaluate", str(tmp_path / "run"), "--data", str(tmp_path / "text.txt")]) == 2
        assert "a model trained with --tokens bytes reads" in capsys.readouterr().err


def test_json_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, _ = make_run(tmp_path / "run", "rnn_lm", **SAID)
    (tmp_path / "text.txt").write_text("ab\ncä€" * 4, encoding="utf-8")
    table = tmp_path / "losses.tsv"
    arguments = ["--data", str(tmp_path / "text.txt"), "--tokens-out", str(table), "--json"]
    assert main(["evaluate", str(tmp_path / "run"), *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    found = evaluate(run, [str(tmp_path / "text.txt")])
    assert told["loss"] == pytest.approx(found.scores.per_token)
    assert told["bits_per_byte"] == pytest.approx(found.bits_per_byte)
    lines = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == ["place", "token", "text", "nats"]
    assert [line[2] for line in lines[1:4]] == ["a", "b", "\\n"]
    assert sum(float(line[3]) for line in lines[1:]) == pytest.approx(found.scores.nats, rel=1e-4)
    assert lines[-1][2] == "<EOS>"


def test_python_prints_what_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = make_run(tmp_path / "run", "rnn_lm", **SAID)
    (tmp_path / "text.txt").write_text("abc" * 9 + "é", encoding="utf-8")
    data = str(tmp_path / "text.txt")
    assert main(["evaluate", str(run.folder), "--data", data]) == 0
    assert capsys.readouterr().out == f"{evaluate(run, data)}\n"
