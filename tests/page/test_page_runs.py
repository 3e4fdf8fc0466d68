"""What the page is told of runs is what the commands say of them."""

import base64
import fcntl
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indicial.decode.text import generate
from indicial.lab.compare import Run
from indicial.page import runs
from indicial.page.protocol import QUESTIONS
from indicial.page.wire import answer, checked
from tests.decode.runs import make_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("lab") / "runs"
    make_run(place / "trigram", "trigram", seed=2)
    make_run(place / "former", "transformer", seed=3)
    (place / "no run").mkdir()
    return place


@pytest.fixture(autouse=True)
def known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "FOLDERS", [str(folder)])


def asked(name: str, **question: object) -> Any:
    told = answer(name, question)
    assert "answer" in told, told
    json.dumps(told, allow_nan=False)
    checked(QUESTIONS[name][1], told["answer"], "the answer")
    return told["answer"]


def text(run: str, **more: object) -> Any:
    settings = {"temperature": 0.9, "top_p": 0.8, "seed": 3, "count": 20, "prompt": "ab"}
    return asked("generate", run=run, **(settings | more))


def test_which_runs_there_are() -> None:
    found = asked("runs")["runs"]
    assert {row["name"] for row in found} == {"trigram", "former"}
    assert not any(row["training"] for row in found)


def test_a_training_is_seen_by_its_lock(folder: Path) -> None:
    with (folder / "former" / ".claim").open("w") as claim:
        fcntl.flock(claim, fcntl.LOCK_EX)
        assert [r["name"] for r in asked("runs")["runs"] if r["training"]] == ["former"]


@pytest.mark.parametrize("name", ["../runs/trigram", "/etc", "no run", "", ".", "trigram/"])
def test_nothing_else_is_a_run(name: str) -> None:
    for question in ({"run": name, "known": 0}, {"run": name, "inputs": {}, "row": 0}):
        told = answer("curves" if "known" in question else "attend", question)
        assert "there is no run" in told["error"]


def test_links_lead_nowhere(folder: Path) -> None:
    link = folder / "link"
    link.symlink_to(folder / "trigram")
    try:
        assert "link" not in {row["name"] for row in asked("runs")["runs"]}
    finally:
        link.unlink()


def test_curves_come_as_they_grow(folder: Path) -> None:
    path = folder / "trigram" / "metrics.jsonl"
    first = [{"step": n, "of": 9, "loss": 1.0 / n} for n in range(1, 4)]
    lines = [*first, {"step": 3, "validation": {"loss": 0.5, "entropy": 0.25}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 4, "lo')
    told = asked("curves", run="trigram", known=0)
    assert (told["steps"], told["loss"]) == ([1, 2, 3], [1.0, 0.5, 1 / 3])
    assert (told["validated"], told["validation"], told["entropy"]) == ([3], [0.5], 0.25)
    with path.open("a") as file:
        file.write('ss": 0.1}\n{"step": 5, "loss": null}\nno line\n')
    more = asked("curves", run="trigram", known=told["known"])
    assert (more["steps"], more["loss"], more["fresh"]) == ([4, 5], [0.1, None], False)
    assert asked("curves", run="trigram", known=more["known"])["steps"] == []
    path.write_text('{"step": 1, "loss": 7}\n')  # it went on from an earlier checkpoint
    again = asked("curves", run="trigram", known=more["known"])
    assert (again["fresh"], again["steps"]) == (True, [1])
    assert asked("curves", run="former", known=0)["steps"] == []


@pytest.mark.parametrize(("run", "temperature"), [("trigram", 0.9), ("former", 0.9), ("former", 0)])
def test_the_text_is_that_of_generate(folder: Path, run: str, temperature: float) -> None:
    made = text(run, temperature=temperature)
    [same] = generate(
        folder / run, "ab", temperature=temperature, top_p=0.8, seed=3, max_new_tokens=20
    )
    tokenizer = Run.open(folder / run).tokenizer()
    wanted = [tokenizer.token(n) for n in same.continuation.tokens]  # type: ignore[union-attr]
    assert [token["text"] for token in made["tokens"]] == wanted
    assert made["ended"] == same.continuation.ended  # type: ignore[union-attr]


def test_alternatives_are_the_likeliest() -> None:
    for token in text("former")["tokens"]:
        numbers = [other["probability"] for other in token["others"]]
        assert numbers == sorted(numbers, reverse=True)
        assert sum(numbers) <= 1.001
        # What is cut off by top-p is not drawn; what was drawn was not cut off.
        drawn = {other["text"]: other["drawn"] for other in token["others"]}
        assert drawn.get(token["text"], 1.0) > 0
        assert min(drawn.values()) == 0 or sum(drawn.values()) > 0.8


def test_a_loop_is_marked() -> None:
    made = text("trigram", temperature=0, top_p=1, count=100)
    # Few pairs of characters, and the likeliest next one each time: it ends, or goes round.
    assert made["ended"] == "eos" or made["loop"] >= 0
    if made["loop"] >= 0:
        looped = [token["text"] for token in made["tokens"]][made["loop"] :]
        assert looped[: -made["period"]] == looped[made["period"] :]


def test_settings_that_are_none_are_told() -> None:
    question = {"run": "former", "prompt": "", "top_p": 2, "temperature": 1, "seed": 0, "count": 5}
    assert "top_p" in answer("generate", question)["error"]


def test_weights_are_those_of_attend(folder: Path) -> None:
    told = asked("attend", run="former", inputs={"text": "ab ba"}, row=-1)
    looks = Run.open(folder / "former").attend("ab ba")
    assert len(told["looks"]) == len(looks) == 2
    for shown, look in zip(told["looks"], looks, strict=True):
        numbers = np.frombuffer(base64.b64decode(shown["weights"]), "<u2") / 65535
        assert np.allclose(numbers.reshape(look.weights.shape), look.weights, atol=1e-4)
        assert (shown["rows"], shown["head"]) == (list(look.rows.labels), look.head)


def test_what_cannot_be_shown_is_said() -> None:
    assert "no attention" in answer(
        "attend", {"run": "trigram", "inputs": {"text": "ab"}, "row": -1}
    ).get("error", "")
    assert "error" in answer("attend", {"run": "former", "inputs": {}, "row": -1})
