"""The studies of the problem sheets, at tiny sizes: what they measure, and that they go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
import torch
from rich.console import Console

from indicial import IndicialError
from indicial.cli import main
from indicial.data.world import world
from indicial.inspect.structures import Head, Share
from indicial.lab import pool
from indicial.lab.pool import Outcome, View
from indicial.lab.studies import heads, loops, repetition, run_time, shaping, which_model
from indicial.lab.studies.study import Study, Train, run_study, training
from indicial.lab.studies.which_model import KINDS, TASKS, equations
from indicial.lab.trials import Result, Trial
from indicial.library.loading import load
from indicial.tasks.forms import form_of
from indicial.tasks.predictions import Measure, prediction
from indicial.tasks.programs import trainable
from indicial.training.run import Run
from tests.forked import Forked
from tests.lab.studying import train_here

FILES = {"study.json", "table.md", "figure.png", "figure.svg"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDICIAL_NATIVE", "0")  # so little is computed sooner than compiled
    torch.set_num_threads(1)
    return tmp_path


def run(study: Study, folder: Path, train: Train = train_here) -> tuple[bool, str]:
    console = Console(record=True, width=80, force_terminal=False)
    return run_study(study, folder, 1, console, train), console.export_text()


def nobody(trials: Sequence[Trial], workers: int, view: View) -> dict[str, Outcome]:
    raise AssertionError(f"{len(trials)} trainings are repeated")


# ---------------------------------------------------------------------- shaping

TINY = replace(shaping.QUICK, seeds=1, steps=2)


def test_shaping_stops_goes_on_and_says_what_came_of_it(here: Path, undrawn: None) -> None:
    study, folder = shaping.Shaping(replace(TINY, focus=(0.1, 0.2), near=())), here / "s"

    def stopped(trials: Sequence[Trial], workers: int, view: View) -> dict[str, Outcome]:
        return train_here(trials[:1], workers, view)

    done, said = run(study, folder, stopped)
    assert not done and "stopped; 1 of 3 trainings are finished" in said
    assert "nats/token" not in said  # there is nothing to compare it with
    before = (folder / "none-seed-0/result.json").stat().st_mtime_ns
    done, said = run(study, folder, stopped)
    assert not done and "3 trainings, 1 of them done already" in said
    assert "focus  0.1" in said and "focus  0.2" not in said
    done, said = run(study, folder)
    assert done and "focus  0.2" in said
    assert (folder / "none-seed-0/result.json").stat().st_mtime_ns == before
    assert {path.name for path in folder.iterdir()} >= FILES
    found = json.loads((folder / "study.json").read_text(encoding="utf-8"))["measured"]
    own, alone = found["findings"]["focus-λ=0.1"], found["findings"]["none"]
    one, other = (Result.read(folder / f"{n}-seed-0") for n in ("focus-λ=0.1", "none"))
    assert one is not None and other is not None
    assert own["more"]["mean"] == pytest.approx(one.loss - other.loss)
    fall = alone["entropy"]["mean"] - own["entropy"]["mean"]
    assert own["at_most"] == pytest.approx(0.1 * fall)
    assert run(study, folder, nobody)[0]


def test_the_transformer_alone_is_that_with_a_weight_of_nothing(here: Path) -> None:
    """So both terms share the trainings without a term."""
    settings = shaping.Shaping(TINY).trials(here)[0].settings
    losses = []
    for name, more in (("a", {}), ("b", {"λ": "0"})):
        models = ("transformer", *(("focus",) if more else ()))
        trial = training(
            name,
            replace(settings, model=models, set={**settings.set, **more}, out=str(here / name)),
        )
        train_here([trial], 1, View([], Console()))
        result = Result.read(here / name)
        assert result is not None
        losses.append(result.loss)
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def test_what_is_said_of_shaping() -> None:
    def measured(loss: float) -> shaping.Measured:
        return shaping.Measured(loss, None, entropy=1.0, distance=2.0, distance_below=3.0, near=9.0)

    small, large = (shaping.Setting("focus", weight) for weight in (0.1, 0.5))
    alone = shaping.Setting(shaping.ALONE, 0.0)
    found = {
        alone: [measured(x) for x in (1.50, 1.52, 1.54)],
        small: [measured(x) for x in (1.50, 1.53, 1.53)],
        large: [measured(x) for x in (1.60, 1.62, 1.641)],
    }
    rows = [shaping.summary(setting, found) for setting in found]
    assert shaping.told("focus", rows)[0] == (
        "focus: the loss is larger at λ = 0.5; not told apart from that without at λ = 0.1."
    )
    # The losses of a seed are compared with each other: 0.1 more, though seeds are 0.04 apart.
    assert rows[2].cells()["more"] == "+0.100 ± 0.001"


def test_a_folder_keeps_its_study_and_its_terms(here: Path) -> None:
    def nothing(trials: Sequence[Trial], workers: int, view: View) -> dict[str, Outcome]:
        return {}

    run(shaping.Shaping(TINY), here / "s", nothing)
    with pytest.raises(IndicialError, match="was begun with steps = 2, this is with 3"):
        run(shaping.Shaping(replace(TINY, steps=3)), here / "s", nothing)
    with pytest.raises(IndicialError, match="holds the study shaping; choose another --out"):
        run(repetition.Repetition(repetition.QUICK), here / "s", nothing)
    (here / "s/study.json").write_text("{", encoding="utf-8")
    with pytest.raises(IndicialError, match="is damaged"):
        run(shaping.Shaping(TINY), here / "s", nothing)
    with pytest.raises(IndicialError, match="holds other things"):
        run(shaping.Shaping(TINY), here, nothing)


# ---------------------------------------------------------------------- heads


def test_heads(here: Path) -> None:
    plan = replace(heads.QUICK, steps=2, sentences=20)
    done, said = run(heads.Heads(plan), here / "h")
    assert done and "even" in said and "\n2.1" in said
    assert {path.name for path in (here / "h").iterdir()} >= FILES
    found = json.loads((here / "h/study.json").read_text(encoding="utf-8"))["measured"]["findings"]
    assert list(found) == [f"layer {n}, head {k}" for n in (1, 2) for k in (0, 1)]

    # A run that is there gives the same, without a training.
    again = heads.Heads(plan, subject=str(here / "h/transformer"))
    assert run(again, here / "again", nobody)[0]
    other = json.loads((here / "again/study.json").read_text(encoding="utf-8"))
    assert other["measured"]["findings"] == found

    # A head is switched off by its values; without its columns of W^O it says as little.
    opened = Run.open(here / "h/transformer")
    module, tokenizer = opened.module(), opened.tokenizer()
    sentences = heads.new_sentences(heads.world_of(opened), 20)
    costs = heads.knocked_out(module, sentences, tokenizer)
    predicted = prediction(module.code)
    assert predicted is not None
    width = module.sizes.known["I"]

    def loss() -> tuple[float, float]:
        measure = Measure(module, predicted)
        every: list[float] = []
        at_verbs: list[float] = []
        for one in sentences:
            tokens = [*tokenizer.encode(" ".join(one.words)), tokenizer.eos]
            nats = measure({"w": torch.tensor([tokens])})[0].tolist()
            every += nats
            at_verbs += [nats[verb.at] for verb in one.verbs if verb.at - max(verb.subject) > 2]
        return fmean(every), fmean(at_verbs)

    whole = loss()
    for layer in range(2):
        for head in range(2):
            matrix = module.parameter("W^O")
            kept = matrix[layer].clone()
            with torch.no_grad():
                matrix[layer][:, head * width : (head + 1) * width] = 0
            more = [now - before for now, before in zip(loss(), whole, strict=True)]
            assert costs[layer + 1, head] == pytest.approx(more, abs=1e-5)
            with torch.no_grad():
                matrix[layer] = kept


def test_a_sentence_about_a_head() -> None:
    def head(**shares: tuple[float, float]) -> Head:
        made = {name: Share(share, even, 10) for name, (share, even) in shares.items()}
        return Head(1, 3, made, entropy=0.7)

    looking = head(itself=(0.2, 0.1), before=(0.65, 0.1), first=(0.1, 0.1))
    assert heads.told(looking, {(1, 3): heads.Cost(0.25, -0.1)}) == (
        "1.3: 65% on the word before it (even weights: 10%), 20% on the word just read (even "
        "weights: 10%); its weight is spread over 2.0 words; without it 0.250 nats more are lost "
        "per token, 0.100 nats less are lost at verbs."
    )
    afar = head(itself=(0.1, 0.1), subject=(0.4, 0.1), noun=(0.05, 0.1))
    assert (
        "40% on a subject afar when its verb follows (even weights: 10%; on any other noun: 5%)"
        in (heads.told(afar, {}))
    )
    kinds = {"punct": Share(0.5, 0.1, 10), "det": Share(0.4, 0.3, 10)}
    assert "of kinds of words, commas and full stops: 50% (even: 10%)" in (
        heads.told(replace(afar, kinds=kinds), {})
    )
    assert "nothing that stands out" in heads.told(head(itself=(0.14, 0.1), first=(0.1, 0.1)), {})


# ---------------------------------------------------------------------- run time, repetition


@pytest.mark.parametrize("busy", [0.0, 1.0])
def test_run_time(here: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch, busy: float) -> None:
    monkeypatch.setattr(run_time, "busy", lambda: busy)
    plan = replace(run_time.QUICK, lengths=(4, 8), rounds=1, window=0.0, threads=(1, 1))
    done, said = run(run_time.RunTime(plan), here / "t")
    assert done and "operations grow like T^" in said
    assert ("threads were not compared" in " ".join(said.split())) == bool(busy)
    assert ("×" in said) != bool(busy)
    assert {path.name for path in (here / "t").iterdir()} >= FILES
    # What is measured is not measured again.
    monkeypatch.setattr(run_time, "timing", None)
    assert run(run_time.RunTime(plan), here / "t")[0]


def test_operations_and_exponents() -> None:
    plan = run_time.Plan(lengths=(10, 20, 40, 80), width=3, vocabulary=2)
    program = load("rnn", "language_model")
    # By hand: 2·2·3·3 products of W h and W x, 3·3 sums and σ, 2·3·2 scores, 3·2 softmax, 2 loss.
    assert run_time.work(program, plan, 10) == 10 * (36 + 9 + 12 + 6 + 2) + 1
    several = [run_time.Timing(7 * t, 3e-3 * t, 5e-6 * t * t, 1.0) for t in plan.lengths]
    assert run_time.exponents(plan, several) == pytest.approx(
        {"operations": 1.0, "forward": 1.0, "backward": 2.0}
    )


def test_loops(here: Path) -> None:
    plan = replace(loops.QUICK, texts=4, words=50)
    done, said = run(loops.Loops(plan), here / "l")
    assert done and "ugrnn, J = 8, 4 steps" in said
    assert {path.name for path in (here / "l").iterdir()} >= FILES


def test_repetition(here: Path, undrawn: None) -> None:
    plan = replace(repetition.QUICK, texts=6, words=60, temperatures=(0, 1))
    done, said = run(repetition.Repetition(plan), here / "r")
    assert done and "the world itself" in said
    assert {path.name for path in (here / "r").iterdir()} >= FILES
    opened = Run.open(here / "r/trigram")
    module, tokenizer = opened.module(), opened.tokenizer()
    prompts = repetition.beginnings(world("village"), tokenizer, 6)
    assert len({tuple(prompt) for prompt in prompts}) == 6
    for text in repetition.written(module, prompts, 0, 40):
        # Each word is the likeliest after the two before it.
        table = module(w=torch.tensor(text), want=["P"])["P"].argmax(-1).tolist()
        assert text[2:] == table[2:]
        back = repetition.returned(text)
        assert back is None or repetition.keeps_going_round(text)
    # By hand: each word of the loop from the two before it, at temperature 1/2 the squares.
    loop, chance = (3, 5, 7), 1.0
    for two, word in (((5, 7), 3), ((7, 3), 5), ((3, 5), 7)):
        odds = module(w=torch.tensor([*two, word]), want=["P"])["P"][-1].detach().double() ** 2
        chance *= float(odds[word] / odds.sum())
    assert repetition.round_probability(module, loop, 0.5) == pytest.approx(chance, rel=1e-4)
    assert repetition.round_probability(module, loop, 0) == 1


# ---------------------------------------------------------------------- the command


@pytest.mark.parametrize(
    "name", ["", "shaping", "heads", "run_time", "repetition", "loops", "parses"]
)
def test_help_fits(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name:
        with pytest.raises(SystemExit):
            main(["study", name, "--help"])
    else:
        assert main(["study"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert name in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shaping", "--workers", "0"], "--workers takes a number of at least 1"),
        (["heads", "--run", "nowhere"], "there is no run nowhere"),
        (["shaping", "--out", "."], "holds other things and is not a study"),
    ],
)
def test_wrong_calls(
    arguments: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "something").write_text("", encoding="utf-8")
    assert main(["study", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (here / "runs").exists()


def test_the_command(
    here: Path, forked: Forked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pool, "PYTHON", forked.python)
    assert main(["study", "repetition", "--quick", "--out", "r", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "trigram: loss" in printed and "r/figure.svg" in printed


# ---------------------------------------------------------------------- which_model


@pytest.mark.parametrize("task", TASKS)
def test_the_three_kinds_say_the_same_task(task: str) -> None:
    forms = {k: form_of(trainable([load(t)]).program) for k in KINDS if (t := equations(task, k))}
    if task == "classify":
        assert [forms[kind].kind for kind in KINDS] == ["label", "label", "sequence"]
    else:
        assert {form.kind for form in forms.values()} == {
            "choice" if task == "retrieve" else "sequence"
        }


def test_a_decoder_sees_nothing_that_comes_later() -> None:
    """The one condition: what an encoder says of a word depends on those behind it."""
    for kind, sees in (("encoder", True), ("decoder", False)):
        text = equations("classify", kind)
        assert text is not None
        module = load(text).compile(U=5, C=3, J=4, D=4, K=2, I=2, L=2, S=6, dtype=torch.float64)
        x = torch.tensor([[0, 1, 2, 3, 4, 0]])
        other = x.clone()
        other[0, -1] = 3
        one, two = (
            module(x=w, y=torch.zeros(1, dtype=torch.long), want=["y^E"]) for w in (x, other)
        )
        assert torch.equal(one["y^E"][:, :-1], two["y^E"][:, :-1]) != sees


def test_a_decoder_reads_both_texts_by_one_softmax() -> None:
    """With the same words in both, each place of the target has seen the source and itself."""
    text = equations("translate", "decoder")
    assert text is not None
    module = load(text).compile(V=5, J=4, D=4, K=1, I=4, L=1, S=3, T=2, dtype=torch.float64)
    found = module(x=torch.tensor([[0, 1, 2]]), w=torch.tensor([[3, 4]]), want=["a", "b", "β"])
    a, b = (found[name][0, 0, 0] for name in ("a", "b"))  # of the first row, layer and head
    torch.testing.assert_close(found["β"][0, 0, 0], a.sum(1) + b.tril().sum(1))


def test_which_model_asks_about_new_rows(here: Path, undrawn: None) -> None:
    plan = replace(which_model.QUICK, tasks=("retrieve",), steps=1)
    study = which_model.WhichModel(plan)
    done, said = run(study, here / "s")
    assert done and "retrieve, decoder" in said
    lines = [
        (here / f"s/{name}.tsv").read_text().splitlines()[1:] for name in ("train", "validation")
    ]
    assert [len(part) for part in lines] == [60, 8] and not set(lines[0]) & set(lines[1])
    for line in lines[0]:
        _, english, whom, headline = line.split("\t")
        assert headline.split()[2] == whom and len(english.split()) > 3
    found = json.loads((here / "s/study.json").read_text())["measured"]["retrieve-encoder"]
    assert found["of"] == 8 and 0 <= found["right"] <= 8
    assert run(study, here / "s", nobody)[0]
