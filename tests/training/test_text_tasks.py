"""Texts and questions learned together: by commands, stopped, gone on with, asked, and counted."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from indicial.cli import main
from indicial.data.prepare_text import prepare_data
from indicial.data.tokenizers import MARK, Marked, make_tokenizer, tokenizer_of
from indicial.decode.answers import Answer
from indicial.decode.matching import Matches, match
from indicial.lab.compare import train
from indicial.program.messages import IndicialError
from indicial.tasks.predictions import Measure, prediction
from indicial.tasks.programs import trainable
from indicial.tasks.texts import Texts
from indicial.training.run import Run
from indicial.training.settings import Settings
from indicial.training.starting import begin
from indicial.training.watchers import Report, Watcher

PLACES = ["Lund", "Rome", "Oslo"]
PEOPLE = {
    f"{a}{b}": PLACES[(n + m) % 3] for n, a in enumerate("ABCDE") for m, b in enumerate("iou")
}
torch.set_num_threads(1)
ASKED = {"question": "0", "answer": "1"}
SMALL = {"J": "16", "L": "1", "K": "2"}


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("wiki.txt").write_text("".join(f"{p} came from {c} .\n" for p, c in PEOPLE.items()))
    rows = [f"Where is {p} from?\t{c}\n" for p, c in PEOPLE.items()]
    Path("asked.tsv").write_text("".join(rows[:12]))
    Path("dev.tsv").write_text("".join(rows[12:]))
    return tmp_path


def texts(objective: str | None = None, batch_size: int = 4) -> Texts:
    data = prepare_data(
        ["wiki.txt", "asked.tsv"], documents="lines", marked=True, columns=ASKED, validation=0.2
    )
    program = trainable(["transformer"]).program
    return Texts(program, data, context=48, batch_size=batch_size, objective=objective)


def test_a_sign_more_is_said_and_kept() -> None:
    for kind in ("bytes", "characters", "bpe"):
        plain = make_tokenizer(kind, ["where is it? Lund"])
        marked = Marked(plain)
        again = tokenizer_of(json.loads(json.dumps(marked.to_json())), "here")
        text = f"where is it?{MARK}Lund{MARK}"
        found = again.encode(text)
        assert found == [
            *plain.encode("where is it?"),
            plain.size,
            *plain.encode("Lund"),
            plain.size,
        ]
        assert again.decode(found) == text and again.size == plain.size + 1


def test_questions_are_kept_back_and_texts_are_not(people: Path) -> None:
    task = texts()
    data = task.data
    held = data.tokenizer.decode(data.validation.tokens.tolist()).split("<EOS>")[:-1]
    assert 1 <= len(held) < 12 and all(MARK in one for one in held)
    assert data.train.documents == 15 + 12 - len(held)
    assert task.objective == {"language": 1.0, "question": 1.0}


def test_batches_have_one_objective_and_every_document_as_often(people: Path) -> None:
    task = texts("language=2,question=1", batch_size=3)
    seen: dict[str, int] = {}
    asked = 0
    for step in range(60):
        batch = task.batch(step)
        tokens, weights = batch.inputs["w"], batch.weights
        assert weights is not None and tokens.shape == weights.shape
        has = (tokens == task.mark).any(1)
        assert has.all() or not has.any()
        asked += bool(has.all())
        for row, mine in zip(tokens.tolist(), weights.tolist(), strict=True):
            text = task.data.tokenizer.decode(row[: int(np.flatnonzero(mine)[-1]) + 1])
            seen[text] = seen.get(text, 0) + 1
    assert asked == 20
    often = [n for text, n in seen.items() if MARK not in text]
    assert len(often) == 15 and sum(often) == 120 and max(often) - min(often) <= 1


def test_each_file_comes_as_often_as_its_share_says(people: Path) -> None:
    rows = Path("asked.tsv").read_text().splitlines(keepends=True)
    Path("few.tsv").write_text("".join(rows[:3]))
    Path("many.tsv").write_text("".join(rows[3:]))
    said = {
        "model": "transformer", "data": ["many.tsv", "wiki.txt", "few.tsv"], "shares": [1, 1, 3], "set": SMALL,
        "column": ASKED, "validation": ["dev.tsv"], "batch_size": 4, "max_steps": 2, "tokens": "characters",
        "documents": "lines",
    }  # fmt: skip
    task = begin(Settings.read({**said, "out": "run"})).task
    assert isinstance(task, Texts) and task.objective == {"language": 1.0, "question": 4.0}
    seen: Counter[str] = Counter()
    for step in range(40):  # as many as are drawn together
        batch = task.batch(step)
        for row in batch.inputs["w"].tolist():
            seen[task.data.tokenizer.decode(row).split("<EOS>")[0]] += 1
    for name, share in (("few.tsv", 3), ("many.tsv", 1), ("wiki.txt", 1)):
        often = [seen[row.replace("\t", MARK)] for row in Path(name).read_text().splitlines()]
        assert sum(often) == share * 40 * 4 // 5
        assert max(often) - min(often) <= 1
    for wrong in (["1", "2"], ["1", "1", "-1"], ["1", "1", "x"]):
        with pytest.raises(IndicialError, match="to 1000 for each of the 3 names"):
            begin(Settings.read({**said, "shares": wrong, "out": "no"}))
    # What is rarest comes as well.
    often = begin(Settings.read({**said, "shares": [200, 1, 200], "out": "often"})).task
    assert isinstance(often, Texts) and often._order.count("language") == 1
    # Texts alone have shares too, and the run is gone on with.
    Path("more.txt").write_text("Xi came from Oslo .\n" * 3)
    terms = {"data": ["wiki.txt", "more.txt"], "shares": [1, 2], "set": SMALL, "quiet": True}
    more = {"documents": "lines", "tokens": "characters", "max_steps": 4, "batch_size": 4}
    whole = train("transformer", out="whole", **terms, **more)
    half = train("transformer", out="half", watchers=[StopAt(2)], **terms, **more)
    rest = train(resume=half, quiet=True)
    one, other = (run.checkpoint("last").part("model") for run in (whole, rest))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_loss_is_that_of_the_answers_alone(people: Path) -> None:
    task = texts("question")
    module = task.program.compile(sizes={**task.sizes, "J": 16, "L": 1, "K": 2, "I": 8, "D": 16})
    batch = task.batch(0)
    loss, _ = task.loss(module, batch)
    found = prediction(module.code)
    assert found is not None
    each = Measure(module, found)(batch.inputs)
    nats = []
    for row, tokens in zip(each, batch.inputs["w"].tolist(), strict=True):
        first = tokens.index(task.mark) + 1
        nats += row[first : tokens.index(0, first) + 1].tolist()
    assert float(loss.detach()) == pytest.approx(np.mean(nats), rel=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in module.parameters())


class StopAt(Watcher):
    def __init__(self, step: int) -> None:
        self.step = step

    def stepped(self, report: Report) -> None:
        if report.step == self.step:
            os.kill(os.getpid(), signal.SIGTERM)


def test_pretrained_then_asked_and_resumed_bit_for_bit(people: Path) -> None:
    before = train(
        "transformer", data="wiki.txt", objective="spans=1,language=1,blank=1", set=SMALL, max_steps=4,
        quiet=True, out="pre", documents="lines", batch_size=4, tokens="bytes",
    )  # fmt: skip
    terms = {
        "from_": "pre",
        "data": ["asked.tsv", "wiki.txt"],
        "column": ASKED,
        "quiet": True,
        "batch_size": 4,
    }
    terms |= {
        "max_steps": 5,
        "eval_every": 2,
        "objective": "question=2,spans=1",
        "documents": "lines",
    }
    whole = train(out="whole", **terms)
    half = train(out="half", watchers=[StopAt(3)], **terms)
    assert half.summary is not None and half.summary.step == 3
    rest = train(resume="half", quiet=True)
    one, other = (run.checkpoint("last").tensors for run in (whole, rest))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert whole.description.sizes == before.description.sizes


def test_a_run_without_the_sign_cannot_learn_questions(people: Path) -> None:
    train(
        "transformer", data="wiki.txt", set=SMALL, max_steps=1, quiet=True, out="plain", documents="lines",
        context=16,
    )  # fmt: skip
    with pytest.raises(IndicialError, match="--objective language"):
        train(from_="plain", data="asked.tsv", column=ASKED, max_steps=1, quiet=True, out="no")


def test_what_does_not_fit_is_told(people: Path) -> None:
    with pytest.raises(IndicialError, match="has no column question"):
        train("transformer", data="asked.tsv", column={"answer": "1"}, max_steps=1, quiet=True)
    with pytest.raises(IndicialError, match="reads from left to right"):
        train("encoder", data="wiki.txt", objective="spans", max_steps=1, quiet=True)
    with pytest.raises(IndicialError, match="there are no questions"):
        train(
            "transformer", data="wiki.txt", objective="question", documents="lines", max_steps=1, quiet=True
        )  # fmt: skip


def test_learned_by_heart_asked_and_counted(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(
        "transformer", data=["wiki.txt", "asked.tsv"], column=ASKED, set={**SMALL, "J": "32"}, tokens="bpe",
        documents="lines", objective="question", max_steps=60, eval_every=60, validation="asked.tsv",
        batch_size=12, out="run", quiet=True, learning_rate=0.02,
    )  # fmt: skip
    found = match(Run.open("run"), ["asked.tsv"])
    assert found.share > 0.7 and found.known == 1.0 and found.plausible == 1 - found.share
    assert found.subjects[0] == "Ai" and found.by_frequency(found.subjects)[0][:2] == ("1", 12)
    assert main(["generate", "run", "--prompt", "Where is Ai from?"]) == 0
    assert capsys.readouterr().out == f"Where is Ai from? {found.answers[0]}\n"
    flags = ["--match", "--predictions", "said.txt", "--plot", "sure.png"]
    assert main(["evaluate", "run", "--data", "dev.tsv", *flags]) == 0
    told = capsys.readouterr().out
    assert "dev.tsv: 3 questions" in told and "by saying" in told
    assert len(Path("said.txt").read_text().splitlines()) == 3 and Path("sure.png").exists()


def test_figures_of_answers_are_counted_as_by_hand() -> None:
    said = [("Lund", 0.9), ("Rome", 0.9), ("Nowhere", 0.3), ("Oslo", 0.1)]
    found = Matches(
        "dev",
        ("Where is Ai from?", "Where is Bó Ek from?", "Where is Cu from?", "Where is Di from?"),
        tuple(Answer(n, text, sure) for n, (text, sure) in enumerate(said)),
        ("Lund", "Oslo", "Rome", "Oslo"),
        {"Lund": 3, "Rome": 5},
        "Ai came from Lund . Ai left Lund .",
    )
    assert found.share == 0.5 and found.known == 0.75 and found.plausible == 0.25
    assert found.usual is not None and (found.usual.answer, found.usual.share) == ("Rome", 0.25)
    assert [(b.count, b.right) for b in found.calibration] == [(1, 1.0), (1, 0.0), (2, 0.5)]
    assert found.calibration_error == pytest.approx((2 * 0.4 + 0.3 + 0.9) / 4)
    assert found.by_frequency(found.truth) == [("0", 3, pytest.approx(1 / 3)), ("2–4", 1, 1.0)]
    plain, other = (3, pytest.approx(2 / 3)), (1, 0.0)
    groups = {
        "1 word": plain,
        "2 words": other,
        "letters of a to z alone": plain,
        "other letters": other,
    }
    assert {name: group for name, *group in found.by_name} == {n: [*g] for n, g in groups.items()}
