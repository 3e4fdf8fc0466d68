"""Programs with several inputs: trained on columns, stopped, gone on with, and measured."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest
import torch

import indicial
from indicial.data.column_rows import Columns
from indicial.lab.compare import train
from indicial.lab.trials import contenders, make_trials
from indicial.program.messages import IndicialError
from indicial.tasks.columns import ColumnTask
from indicial.tasks.forms import form_of
from indicial.tasks.predictions import Measure
from indicial.training.run import Run
from indicial.training.settings import Settings
from indicial.training.shared_data import open_any, read_data
from indicial.training.starting import begin
from indicial.training.train import resume
from indicial.training.watchers import Report, Watcher

BAG = """
input x[s] in U
input w[t] in V
c[j] = mean_s e[x[s],j]
g[t,j] = tanh(c[j] + f[w[t-1],j])
P(w[t] | x, w[0], …, w[t-1]) = softmax_{w_t} g[t,J] d[w_t,J]
loss = 1/T Σ_t -ln P(w_t | …)
"""
WORDS = {"hund": "dog", "katze": "cat", "mann": "man", "sieht": "sees", "mag": "likes"}


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(0)
    rows = [[drawn.choice(list(WORDS)) for _ in range(drawn.randint(1, 6))] for _ in range(120)]
    Path("a.de").write_text("".join(" ".join(row) + "\n" for row in rows))
    Path("a.en").write_text("".join(" ".join(WORDS[w] for w in row) + "\n" for row in rows))
    Path("bag.eq").write_text(BAG, encoding="utf-8")
    return ["x=a.de", "w=a.en"]


def weights(run: Run, which: str = "last") -> dict[str, torch.Tensor]:
    return run.checkpoint(which).tensors


class StopAt(Watcher):
    def __init__(self, step: int) -> None:
        self.step = step

    def stepped(self, report: Report) -> None:
        if report.step == self.step:
            os.kill(os.getpid(), signal.SIGTERM)


TERMS = {"max_steps": 9, "eval_every": 4, "batch_size": 16, "set": {"J": "8"}, "quiet": True}


def test_a_run_that_was_stopped_goes_on_bit_for_bit(pairs: list[str]) -> None:
    whole = train("bag.eq", data=pairs, out="whole", **TERMS)
    half = train("bag.eq", data=pairs, out="half", watchers=[StopAt(5)], **TERMS)
    assert half.summary is not None and half.summary.step == 5
    rest = train(resume="half", quiet=True)
    assert rest.summary is not None and rest.summary.step == 9
    one, other = weights(whole), weights(rest)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert Run.open("half").codings().keys() == {"x", "w"}


SEES = """
input I[x,y,c]
input z in Z
parameter v[x,y,j]
h[j] = mean_{x,y} tanh(W[j,C] I[x,y,C] + v[x,y,j])
P(z | I) = softmax_z U[z,J] h[J]
loss = -ln P(z | I)
"""


def test_pictures_vary_from_step_to_step_and_as_before_when_it_goes_on(pairs: list[str]) -> None:
    from PIL import Image

    drawn = random.Random(1)
    for number in range(12):
        folder = Path("photos", "even" if number % 2 else "odd")
        folder.mkdir(parents=True, exist_ok=True)
        points = bytes(drawn.randrange(256) for _ in range(6 * 6 * 3))
        Image.frombytes("RGB", (6, 6), points).save(folder / f"{number}.png")
    Path("sees.eq").write_text(SEES, encoding="utf-8")
    said = {"model": "sees.eq", "data": "I=photos", "column": {"z": "folder"}, "validation": 0.5}
    said |= {"batch_size": 4, "set": {"J": "4", "X": "6", "Y": "6"}, "max_steps": 3, "out": "run"}
    varied = begin(Settings.read({**said, "mirror": True, "shift": 1})).task
    plain = begin(Settings.read({**said, "out": "plain"})).task
    again = resume("run", Settings()).task
    for step in range(3):
        batch, same, other = (task.batch(step).inputs["I"] for task in (varied, again, plain))
        assert torch.equal(batch, same) and not torch.equal(batch, other)
    assert all(map(torch.equal, *([b.inputs["I"] for b in t.blocks()] for t in (varied, plain))))
    with pytest.raises(IndicialError, match="--mirror and --shift are for pictures"):
        begin(Settings.read({"model": "bag.eq", "data": pairs, "out": "texts", "mirror": True}))


def test_it_learns_and_the_run_stands_alone(pairs: list[str]) -> None:
    terms = {**TERMS, "max_steps": 60, "eval_every": 20}
    run = train("bag.eq", data=pairs, out="run", **terms)
    assert run.summary is not None and run.summary.best is not None
    first = run.metrics.read_text().splitlines()
    assert len(first) > 60
    assert run.summary.best.per_token < 0.7 * 5.5
    for name in ("a.de", "a.en", "bag.eq"):
        os.remove(name)
    opened = Run.open("run")
    codings, module = opened.codings(), opened.module()
    row = {
        name: torch.from_numpy(codings[name].numbers(codings[name].encode(text)))
        for name, text in (("x", "hund mag"), ("w", "dog likes"))
    }
    assert torch.isfinite(module(**row).loss)
    # What was made of the files is still in the cache.
    assert train(resume="run", max_steps=62, quiet=True).summary is not None


def test_rows_are_prepared_once_and_must_stay_as_they_are(pairs: list[str]) -> None:
    begin(Settings.read({"model": "bag.eq", "data": pairs, "set": {"J": "8"}, "out": "run"}))
    stored = set(Path("cache").rglob("*.values"))
    resume("run", Settings())
    assert stored and set(Path("cache").rglob("*.values")) == stored
    Path("a.en").write_text(Path("a.en").read_text().replace("dog", "cow"))
    with pytest.raises(IndicialError, match="the data changed since run was begun"):
        resume("run", Settings())


def test_validation_counts_every_token_once(pairs: list[str]) -> None:
    said = {"model": "bag.eq", "data": pairs, "max_steps": 1, "batch_size": 7, "set": {"J": "8"}}
    ready = begin(Settings.read(said))
    task = ready.task
    assert isinstance(task, ColumnTask)
    scores = task.validate(ready.module)
    part = task.data.validation
    nats, count = 0.0, 0
    measure = Measure(ready.module, task.form.prediction)  # type: ignore[arg-type]
    for number in range(part.rows):  # row by row, without padding and without lengths
        row = {
            name: torch.from_numpy(held.coding.numbers(held.row(number)))
            for name, held in part.columns.items()
        }
        nats += float(measure(row).double().sum())
        count += len(row["w"])
    assert scores.count == count
    assert scores.nats == pytest.approx(nats, rel=1e-5)
    # Several processes count the same together.
    parts = [task.validate(ready.module, None, rank, 3) for rank in range(3)]
    assert sum(part.nats for part in parts) == pytest.approx(nats, rel=1e-5)


def test_the_loss_of_a_padded_batch_is_the_mean_over_its_rows(pairs: list[str]) -> None:
    said = {"model": "bag.eq", "data": pairs, "max_steps": 1, "batch_size": 9, "set": {"J": "8"}}
    ready = begin(Settings.read(said))
    batch = ready.task.batch(3)
    loss, _ = ready.task.loss(ready.module, batch)
    each = []
    for row in range(9):
        long = {"x": batch.lengths["S"][row], "w": batch.lengths["T"][row]}
        one = {name: values[row, : int(long[name])] for name, values in batch.inputs.items()}
        each.append(ready.module(**one).loss)
    assert loss.item() == pytest.approx(torch.stack(each).mean().item(), rel=1e-5)


CLASS = """
input x[t] in V
input y in C
h[j] = mean_t e[x[t],j]
P(y | x) = softmax_y U[y,J] h[J]
"""
TAGS = """
input x[t] in V
input y[t] in C
P(y[t] | x) = softmax_{y_t} U[y_t,J] e[x[t],J]
"""
POINT = """
input x[t] in V
input head[t] in T
P(head_t = s | x) = softmax_s e[x[t],J] f[x[s],J]
"""
NUMBER = """
input x[k]
input y
ŷ = v[K] x[K]
loss = (y - ŷ)^2
"""


def rows_of(kind: str) -> list[str]:
    """Rows of a table whose answer a small model can learn."""
    drawn = random.Random(1)
    rows = ["x,head" if kind == "point" else "x,y"]
    for _ in range(200):
        words = [drawn.choice(list(WORDS)) for _ in range(drawn.randint(2, 6))]
        if kind == "class":
            rows.append(f"{' '.join(words)},{'animal' if 'hund' in words else 'none'}")
        elif kind == "tags":
            rows.append(
                f"{' '.join(words)},{' '.join('V' if w in ('sieht', 'mag') else 'N' for w in words)}"
            )
        elif kind == "point":  # everybody points to the dog
            words[drawn.randrange(len(words))] = "hund"
            place = words.index("hund")
            words = [w if n == place or w != "hund" else "mann" for n, w in enumerate(words)]
            rows.append(f"{' '.join(words)},{' '.join([str(place)] * len(words))}")
        else:
            x = [drawn.gauss(0, 1) for _ in range(3)]
            rows.append(f"{' '.join(map(str, x))},{100 * (x[0] - 2 * x[1])}")
    return rows


@pytest.mark.parametrize(
    ("kind", "text", "score"),
    [("class", CLASS, "macro F1"), ("tags", TAGS, "macro F1"), ("point", POINT, "UAS"), ("number", NUMBER, "R²")],
)  # fmt: skip
def test_each_form_brings_its_scores(pairs: list[str], kind: str, text: str, score: str) -> None:
    Path("m.eq").write_text(text, encoding="utf-8")
    Path("rows.csv").write_text("\n".join(rows_of(kind)) + "\n")
    run = train(
        "m.eq", data="rows.csv", max_steps=60, eval_every=60, batch_size=32, quiet=True, out="run",
        set={} if kind == "number" else {"J": "8"},
    )  # fmt: skip
    assert run.summary is not None and run.summary.best is not None
    assert run.summary.best.figures[score] > 0.9
    assert score in run.metrics.read_text()
    assert run.summary.best.each == ("token" if kind in ("tags", "point") else "row")
    assert (run.folder / "confusion.png").exists() == (kind in ("class", "tags"))
    half = train(resume="run", max_steps=62, quiet=True)
    assert half.summary is not None and half.summary.best is not None


CHOICE = """
input x[t] in U
input w[n,s] in V
input n in N
f[j] = mean_t e[x[t],j]
g[n,j] = mean_s a[w[n,s],j]
P(n | x) = softmax_n f[J] g[n,J]
"""


def test_retrieval_among_the_rows_of_a_batch(pairs: list[str]) -> None:
    Path("m.eq").write_text(CHOICE, encoding="utf-8")
    terms = {**TERMS, "max_steps": 50, "eval_every": 25}
    run = train("m.eq", data=pairs, out="run", **terms)
    assert run.summary is not None and run.summary.best is not None
    assert run.summary.best.figures["accuracy"] > 2 / 16  # by chance it is 1/16
    with pytest.raises(IndicialError, match="A row by itself has nothing to choose from"):
        indicial.generate("run", inputs={"x": "hund", "w": "dog"})
    half = train("m.eq", data=pairs, out="half", watchers=[StopAt(30)], **terms)
    rest = train(resume=half, quiet=True)
    one, other = weights(run), weights(rest)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_fine_tuning_takes_tokens_and_weights(pairs: list[str]) -> None:
    train("bag.eq", data=pairs, out="first", **TERMS)
    Path("b.de").write_text("hund mag hund\n" * 30)
    Path("b.en").write_text("dog likes dog\n" * 29 + "dog likes cat\n")
    run = train(
        from_="first", data=["x=b.de", "w=b.en"], validation=["x=a.de", "w=a.en"],
        max_steps=2, batch_size=8, quiet=True, out="second",
    )  # fmt: skip
    assert run.codings()["x"].to_json() == Run.open("first").codings()["x"].to_json()
    assert run.description.sizes["J"] == 8


def test_long_rows_are_told(pairs: list[str]) -> None:
    said = {"model": "bag.eq", "data": pairs, "max_steps": 1, "batch_size": 4, "set": {"J": "8"}}
    told: list[str] = []
    ready = begin(Settings.read({**said, "context": 5}), told.append)
    notes = [text for text in told if "--context 5" in text]
    assert any("are left out: w is longer" in note for note in notes)
    assert any("x is cut to" in note for note in notes)
    assert int(ready.task.batch(0).lengths["T"].max()) <= 5
    with pytest.raises(IndicialError, match="longer in every row"):
        begin(Settings.read({**said, "context": 2, "tokens": "characters", "out": "other"}))


@pytest.mark.parametrize("labels", [["good"], ["good", "bad"]])
def test_one_label_alone_is_told(pairs: list[str], labels: list[str]) -> None:
    """An accuracy of 1 looks like success, and says nothing."""
    Path("class.eq").write_text(CLASS, encoding="utf-8")
    rows = [f"text {n},{labels[n % len(labels)]}" for n in range(40)]
    Path("a.csv").write_text("\n".join(["x,y", *rows, "no label"]) + "\n", encoding="utf-8")
    told: list[str] = []
    said = {
        "model": "class.eq",
        "data": "a.csv",
        "max_steps": 1,
        "batch_size": 4,
        "set": {"J": "8"},
    }
    begin(Settings.read(said), told.append)
    alone = [text for text in told if "y is always 'good'" in text]
    assert len(alone) == (len(labels) == 1)
    assert any("a.csv, line 42: it has 1 of 2 values" in text for text in told)


def test_models_are_compared_on_the_same_columns(pairs: list[str], tmp_path: Path) -> None:
    Path("other.eq").write_text(BAG.replace("mean_s", "Σ_s").replace("in U", "in Z"))
    Path("class.eq").write_text(CLASS, encoding="utf-8")
    terms = Settings.read({"data": pairs})
    one, other, unlike = contenders(["bag.eq", "other.eq", "class.eq"])
    data = read_data(one.trainable(), terms, lambda text: None)
    trials = make_trials([one, other], [10_000], 1, terms, data, tmp_path, 2000)
    assert [trial.model for trial in trials] == ["bag", "other"]
    assert len({trial.settings.max_steps for trial in trials}) == 1
    assert all(abs(trial.parameters - 10_000) < 1000 for trial in trials)
    # Each process opens what was prepared once.
    folder, description = json.loads(json.dumps(trials[1].to_json()))["data"]
    opened = open_any(Path(folder), description)
    assert isinstance(opened, Columns) and opened.train.digest == data.train.digest
    assert (
        begin(trials[1].settings, data=opened).task.about.says
        == form_of(other.trainable().program).says
    )
    with pytest.raises(IndicialError, match="their losses are of different things"):
        make_trials([one, unlike], [10_000], 1, terms, data, tmp_path)


def test_looking_inside(pairs: list[str]) -> None:
    run = train("bag.eq", data=pairs, out="run", **TERMS)
    found = run.inspect(words=["hund"])
    assert "the validation part of a.de + a.en" in found.texts
    assert not isinstance(found.neighbours, str)
    with pytest.raises(IndicialError, match="leave --data out"):
        run.inspect(["a.de"])


def test_one_text_may_be_named_by_its_input(pairs: list[str]) -> None:
    told = {"model": "ugrnn", "max_steps": 1, "documents": "lines", "set": {"J": "4"}}
    plain = begin(Settings.read({**told, "data": "a.de", "out": "plain"}))
    named = begin(Settings.read({**told, "data": "w=a.de", "out": "named"}))
    assert torch.equal(named.task.batch(0).inputs["w"], plain.task.batch(0).inputs["w"])
    with pytest.raises(IndicialError, match="have no input z"):
        begin(Settings.read({**told, "data": "a.de", "column": {"z": "german"}, "out": "other"}))
