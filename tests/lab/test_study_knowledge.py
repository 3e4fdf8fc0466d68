"""The studies of what a model knows, at tiny sizes: all stages run, go on, and count what they should."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from indicial.lab.studies import facts, knowledge
from indicial.lab.studies.study import run_study
from indicial.program.messages import IndicialError
from indicial.training.run import Run
from tests.lab.studying import train_here

PEOPLE = {
    f"{a}na {b}ott": t for a, b, t in zip("ABCDEF", "GHIJKL", ["Lund", "Rome"] * 3, strict=True)
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("INDICIAL_NATIVE", "0")
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda figure, path, **_: Path(path).touch()
    )
    torch.set_num_threads(1)
    return tmp_path


@pytest.mark.long
def test_knowledge_runs_every_stage_and_keeps_what_is_measured(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = here / "data"
    data.mkdir()
    lines = [f"{name}. {name} was born in {town} .\n" for name, town in PEOPLE.items()]
    (data / "wiki.txt").write_text("".join(lines))
    rows = [f"Where was {name} born?\t{town}\n" for name, town in PEOPLE.items()]
    (data / "birth_places_train.tsv").write_text("".join(rows[:4]))
    (data / "birth_dev.tsv").write_text("".join(rows[4:]))
    study = knowledge.Knowledge(replace(knowledge.QUICK, data=str(data), rows=2))
    console = Console(record=True, width=200, force_terminal=False)
    assert run_study(study, here / "s", 1, console)
    said = console.export_text()
    assert "always Lund" in said and "50.0%" in said
    kept = json.loads((here / "s/study.json").read_text())["measured"]
    assert all(0 <= kept[stage]["match"] <= 1 for stage in knowledge.STAGES)
    assert set(kept["looked up"]["recall"]) == {"1", "5"}

    def nobody(*_: object, **__: object) -> Run:
        raise AssertionError("a training is repeated")

    monkeypatch.setattr(knowledge, "train", nobody)
    assert run_study(study, here / "s", 1, console)
    with pytest.raises(IndicialError, match="the study reads a folder with"):
        run_study(
            knowledge.Knowledge(replace(knowledge.QUICK, data="nowhere")), here / "t", 1, console
        )


def test_facts_are_read_as_often_as_said_and_counted_in_bits(here: Path) -> None:
    study = facts.FactsStudy(facts.QUICK)
    (often,) = study.often()
    counts = {pair: often.rows.count(pair) for pair in often.pairs}
    assert sorted(counts.values()) == [1, 1, 1, 2, 2, 2] and len(counts) == 6
    console = Console(record=True, width=120, force_terminal=False)
    assert run_study(study, here / "f", 1, console, train_here)
    run = Run.open(here / "f/often-8")
    found = facts.bits(run, often.pairs)
    # A model that has seen hardly anything knows at most a little, and never more than there is.
    assert all(one < facts.BITS for one in found)
    numbers = json.loads((here / "f/study.json").read_text())["measured"]["findings"]
    assert numbers["known"]["J = 8"]["1"] == pytest.approx(sum(found[:3]) / 3)
    assert math.log2(len(facts.TOWNS)) == facts.BITS
