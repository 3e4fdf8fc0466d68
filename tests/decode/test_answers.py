"""Models that read other inputs: what they say of rows, beside the whole sequence computed at once."""

from __future__ import annotations

import io
import itertools
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from indicial import evaluate, generate, load
from indicial.cli import main
from indicial.commands.answering import waiting
from indicial.data.codings import Text
from indicial.data.tokenizers import EOS
from indicial.decode.answers import TOGETHER, Answerer
from indicial.decode.evaluate import Examination, questions
from indicial.decode.matching import cider, likeness
from indicial.decode.settings import without_repeats
from indicial.lab.compare import train
from indicial.program.messages import IndicialError
from indicial.tasks.forms import form_of
from indicial.training.run import Run

WORDS = {"hund": "dog", "katze": "cat", "mann": "man", "sieht": "sees", "mag": "likes"}
BAG = """
input x[s] in V
input w[t] in V
c[j] = mean_s e[x[s],j]
g[t,j] = tanh(c[j] + f[w[t-1],j])
P(w[t] | x, w[0], …, w[t-1]) = softmax_{w_t} g[t,J] d[w_t,J]
loss = 1/T Σ_t -ln P(w_t | …)
"""
SORT = """
input x[s] in V
input y in C
c[j] = mean_s e[x[s],j]
P(y | x) = softmax_y d[y,J] c[J]
loss = -ln P(y | x)
"""
TERMS = {"max_steps": 3, "batch_size": 16, "set": {"J": "8"}, "quiet": True, "tokens": "characters"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and equations."""
    folder = tmp_path_factory.mktemp("answers")
    drawn = random.Random(0)
    rows = [[drawn.choice(list(WORDS)) for _ in range(drawn.randint(1, 6))] for _ in range(80)]
    (folder / "a.de").write_text("".join(" ".join(row) + "\n" for row in rows))
    (folder / "a.en").write_text("".join(" ".join(WORDS[w] for w in row) + "\n" for row in rows))
    lines = [f"{' '.join(row)},{'long' if len(row) > 3 else 'short'}\n" for row in rows]
    (folder / "a.csv").write_text("x,y\n" + "".join(lines))
    (folder / "bag.eq").write_text(BAG, encoding="utf-8")
    (folder / "sort.eq").write_text(SORT, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(place: Path) -> dict[str, Run]:
    """Runs of both programs; texts of the first are far from even."""
    old = os.environ.get("INDICIAL_CACHE")
    os.environ["INDICIAL_CACHE"] = str(place / "cache")
    try:
        data = [f"x={place / 'a.de'}", f"w={place / 'a.en'}"]
        return {
            "bag": train(str(place / "bag.eq"), data=data, out=place / "bag", **TERMS),
            "bahdanau": train("bahdanau", data=data, out=place / "bahdanau", **TERMS),
            "sort": train(
                str(place / "sort.eq"), data=[str(place / "a.csv")], out=place / "sort", **TERMS
            ),
        }
    finally:
        os.environ.pop("INDICIAL_CACHE") if old is None else os.environ.update(INDICIAL_CACHE=old)


def sources(count: int) -> list[str]:
    """Texts of many lengths."""
    drawn = random.Random(1)
    return [" ".join(drawn.choices(list(WORDS), k=1 + n % 7)) for n in range(count)]


def greedy(answerer: Answerer, text: str, most: int) -> list[int]:
    """The likeliest token each time, the whole sequence computed anew for each."""
    source = torch.from_numpy(answerer.encode({"x": text})["x"].astype(np.int64))[None]
    tokens: list[int] = []
    while len(tokens) < most and EOS not in tokens:
        padded = torch.tensor([[*tokens, 0]])
        with torch.no_grad():
            P = answerer.module(x=source, w=padded, want=["P"])["P"]
        tokens.append(int(P[0, len(tokens)].argmax()))
    return tokens


@pytest.mark.parametrize("name", ["bag", "bahdanau"])
def test_steps_say_what_the_whole_sequence_says(runs: dict[str, Run], name: str) -> None:
    answerer = Answerer.of(runs[name])
    texts = sources(5)
    rows = [{"x": text} for text in texts]
    settings = answerer.settings({"max_new_tokens": 6})
    found = list(answerer.answers(rows, settings))
    assert [one.row for one in found] == list(range(5))
    for text, one in zip(texts, found, strict=True):
        assert one.continuation is not None
        assert one.continuation.tokens == greedy(answerer, text, 6)


@pytest.mark.parametrize("said", [{}, {"num_beams": 3, "num_return_sequences": 2}, {"seed": 4}])
def test_a_row_is_answered_alike_alone_and_among_others(
    runs: dict[str, Run], said: dict[str, int]
) -> None:
    answerer = Answerer.of(runs["bahdanau"])
    rows = [{"x": text} for text in sources(TOGETHER + 3)]
    settings = answerer.settings({"max_new_tokens": 5, **said})
    together = [str(one) for one in answerer.answers(rows, settings)]
    copies = settings.num_return_sequences
    for row in (0, 6, len(rows) - 1):
        alone = [str(one) for one in answerer.answers([rows[row]], settings)]
        assert together[copies * row : copies * (row + 1)] == alone


def test_an_answer_begins_with_the_prompt(runs: dict[str, Run]) -> None:
    for beams in (1, 3):
        said = generate(runs["bag"], "dog", inputs={"x": "hund"}, num_beams=beams)
        assert str(said[0]).startswith("dog")


def test_labels_come_with_their_probabilities(runs: dict[str, Run]) -> None:
    (found,) = generate(runs["sort"], inputs={"x": "hund mag"})
    told = found.to_json()
    assert {told["text"], *(name for name, _ in told["others"])} == {"long", "short"}
    assert told["probability"] + sum(p for _, p in told["others"]) == pytest.approx(1)


# ---------------------------------------------------------------------- the command


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[list[str], str]:
    assert main(["generate", *map(str, words)]) == 0
    caught = capsys.readouterr()
    return caught.out.splitlines(), caught.err


def test_a_file_has_an_answer_in_each_line(
    runs: dict[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "in.de", tmp_path / "out.en"
    source.write_text("hund\n\nkatze mag hund\n")
    folder = runs["bag"].folder
    assert said(capsys, folder, "--input", f"x={source}", "--out", target)[0] == []
    lines = target.read_text().splitlines()
    assert len(lines) == 3
    assert lines[1] == ""
    assert said(capsys, folder, "--input", "x=hund")[0] == lines[:1]
    with_json, told = said(capsys, folder, "--input", f"x={source}", "--json")
    assert [one["text"] for one in json.loads("\n".join(with_json))["answers"]] == lines
    assert f"{source}, line 2: x: there is no text in it" in told


def test_a_short_row_of_a_table_is_told_by_its_line(
    runs: dict[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('x,y\n"hund\nkatze",short\nhund\nkatze,short\n')
    lines, told = said(capsys, runs["sort"].folder, "--input", file)
    assert [bool(line) for line in lines] == [True, False, True]
    assert f"{file}, line 4: it has 1 of 2 values" in told


def test_a_table_is_read_by_the_names_of_its_columns(
    runs: dict[str, Run], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _ = said(capsys, runs["sort"].folder, "--input", place / "a.csv")
    assert len(lines) == 80
    assert set(lines) <= {"long", "short"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--input", "y=3"], "the equations read x[s] in V"),
        (["--input", "x=hund", "--interactive"], "--input NAME=-"),
        (["--input", "x=hund", "--prompt", "a", "--prompt", "b"], "give one"),
    ],
)
def test_a_wrong_call_is_told(
    runs: dict[str, Run], words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", str(runs["bag"].folder), *words]) == 2
    assert told in capsys.readouterr().err


def test_a_model_that_writes_nothing_has_no_prompt(
    runs: dict[str, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", str(runs["sort"].folder), "--prompt", "hund"]) == 2
    told = capsys.readouterr().err
    assert "--prompt is what a written text begins with" in told and "say --input x=…" in told


@pytest.mark.parametrize("typed", [b"", b"hund\n"])
def test_what_is_waited_for_on_a_terminal_is_said(
    runs: dict[str, Run],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: bytes,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return read

    read, write = os.pipe()
    os.write(write, typed)
    os.close(write)
    monkeypatch.setattr("sys.stdin", Terminal())
    lines, told = said(capsys, runs["sort"].folder, "--input", "x=-")
    os.close(read)
    assert "note: x is read from standard input, one in each line" in told
    assert len(lines) == bool(typed)
    assert ("there is no answer, since nothing was given" in told) == (not typed)


def test_what_is_there_is_not_written_over(
    runs: dict[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("hund\n")
    for source in ("x=hund", f"x={mine}"):
        words = ["generate", str(runs["bag"].folder), "--input", source, "--out", str(mine)]
        assert main(words) == 2
    assert mine.read_text() == "hund\n"


def test_lines_of_a_pipe_are_answered_as_they_come() -> None:
    read, write = os.pipe()
    os.write(write, b"one\ntwo\nthr")
    lines = waiting(read)
    assert next(lines) == ["one", "two"]
    os.write(write, b"ee\nf\xc3\xbc")
    assert next(lines) == ["three"]
    os.close(write)
    assert list(lines) == [["fü"]]
    os.close(read)


# ---------------------------------------------------------------------- scores


def test_texts_are_scored_beside_the_truth(runs: dict[str, Run], place: Path) -> None:
    found = evaluate(runs["bag"], [f"x={place / 'a.de'}", f"w={place / 'a.en'}"], max_new_tokens=8)
    assert isinstance(found, Examination)
    assert found.rows == len(found.answers) == 80
    told = found.to_json()
    assert {"loss", "perplexity", "BLEU", "chrF", "signature"} <= told.keys()
    coding = runs["bag"].codings()["w"]
    assert isinstance(coding, Text)
    tokens = sum(len(coding.encode(line)) for line in (place / "a.en").read_text().splitlines())
    assert found.scores.count == tokens


def test_labels_are_counted(runs: dict[str, Run], place: Path) -> None:
    found = evaluate(runs["sort"], place / "a.csv")
    answers = [str(one) for one in Answerer.of(runs["sort"]).answers(
        [{"x": line.split(",")[0]} for line in (place / "a.csv").read_text().splitlines()[1:]]
    )]  # fmt: skip
    true = [line.split(",")[1] for line in (place / "a.csv").read_text().splitlines()[1:]]
    right = sum(a == b for a, b in zip(answers, true, strict=True))
    assert found.scores.figures["accuracy"] == pytest.approx(right / 80)


def test_rows_that_ask_the_same_are_one_question_where_that_is_the_rule(
    runs: dict[str, Run],
) -> None:
    form = form_of(runs["bag"].program)
    many = [{"x": f"q{n // 5}", "w": f"a{n}"} for n in range(10)]
    assert [refs for _, refs in questions(many, form)] == [
        [f"a{n}" for n in range(5)],
        [f"a{n}" for n in range(5, 10)],
    ]
    few = [{"x": f"q{n // 2}" if n < 2 else f"q{n}", "w": f"a{n}"} for n in range(6)]
    assert [refs for _, refs in questions(few, form)] == [[f"a{n}"] for n in range(6)]


def test_likeness_has_references_of_different_numbers() -> None:
    pytest.importorskip("sacrebleu")
    texts = ["a dog is running fast", "two cats sleep on a bed"]
    same = likeness(texts, [[texts[0], "the dog runs"], [texts[1]]])
    assert same.figures["BLEU"] == pytest.approx(100)
    assert same.figures["chrF"] == pytest.approx(100)
    assert "nrefs:var" in same.signature
    upper = likeness([t.upper() for t in texts], [[t] for t in texts], lowercase=True)
    assert upper.figures["BLEU"] == pytest.approx(100)


def test_cider_is_ten_for_the_very_words_and_less_for_fewer_of_them() -> None:
    texts = ["a red cup on a table", "two dogs run in the snow", "people eat at night here"]
    refs = [[text] * 3 for text in texts]
    assert cider(texts, refs) == pytest.approx(10)
    assert 0 < cider(["a red cup", *texts[1:]], refs) < 10
    assert cider(["x y z"] * 3, refs) == 0


def test_no_ngram_comes_twice() -> None:
    for tokens in itertools.product(range(3), repeat=4):
        cut = without_repeats(np.zeros((1, 3)), np.array([tokens]), 2)[0]
        there = {tokens[n : n + 2] for n in range(3)}
        banned = {token for token in range(3) if (tokens[-1], token) in there}
        expected = set() if len(banned) == 3 else banned
        assert {token for token in range(3) if cut[token] == -np.inf} == expected


def test_a_model_of_one_text_takes_no_inputs(tmp_path: Path) -> None:
    from tests.decode.runs import make_run

    run, _ = make_run(tmp_path / "run", "rnn_lm")
    with pytest.raises(IndicialError, match="reads only its own words"):
        generate(run, inputs={"x": "hund"})


def test_nothing_is_said_of_full_stops(caplog: pytest.LogCaptureFixture) -> None:
    """sacreBLEU notes on 100 texts whose full stop stands by itself, as it does in many data."""
    texts = ["a dog runs ."] * 120
    assert likeness(texts, [[text] for text in texts]).figures["BLEU"] == pytest.approx(100)
    assert not caplog.records


def test_a_picture_is_one_row_and_a_folder_of_them_several(tmp_path: Path) -> None:
    from argparse import Namespace

    from PIL import Image

    from indicial.commands.answering import blocks
    from indicial.data.binding import slots

    (tmp_path / "some").mkdir()
    for name in ("a.png", "some/b.jpg", "some/c.PNG"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    code = load("captioning").code
    given = [slot for slot in slots(code, {"w"}) if not slot.predicted]
    answerer: Any = Namespace(given=given)

    def files(value: str) -> list[str]:
        asked = Namespace(input=[f"I={tmp_path / value}"], column=[])
        return [row.cells["I"].name for block in blocks(asked, answerer) for row in block]

    assert files("a.png") == [str(tmp_path / "a.png")]
    assert [Path(name).name for name in files("some")] == ["b.jpg", "c.PNG"]
