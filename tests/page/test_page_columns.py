"""Models with several inputs in the page: what they say, arcs, alignments, and pictures that words look at."""

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from indicial.cli import main
from indicial.data.world import world_table
from indicial.data.world.world import read_links
from indicial.decode.answers import Answerer
from indicial.inspect.pictures import Link, heads_of
from indicial.page import runs
from indicial.page.protocol import QUESTIONS
from indicial.page.wire import answer, checked
from tests.inspect.test_truth import CAPTIONS
from tests.training.test_parsing import PARSER, conllu

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models that have learned next to nothing."""
    place = tmp_path_factory.mktemp("lab")
    (place / "captions.eq").write_text(CAPTIONS, encoding="utf-8")
    (place / "parser.eq").write_text(PARSER, encoding="utf-8")
    (place / "trees.conllu").write_text(conllu(40, 1))
    columns = ("x=form", "c=form", "tag=upos", "head=head", "relation=deprel")
    calls = {
        "phrasebook": ["bahdanau", "--data", "phrasebook", "--set", "J=4", "--set", "N=4"],
        "scenes": [str(place / "captions.eq"), "--data", "scenes", "--set", "K=4", "--set", "J=4"],
        "parser": [str(place / "parser.eq"), "--data", str(place / "trees.conllu"), "--set", "J=4",
                   *(f"--column={column}" for column in columns)],
    }  # fmt: skip
    for name, words in calls.items():
        small = [] if name == "parser" else ["--world-size", "20"]
        out = ["--max-steps", "1", "--out", str(place / "runs" / name)]
        assert main(["train", *words, *small, *out]) == 0
    return place / "runs"


@pytest.fixture(autouse=True)
def known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "FOLDERS", [str(folder)])


def asked(name: str, run: str, row: int = -1, **inputs: str) -> Any:
    question: Any = {"run": run} if name == "inputs" else {"run": run, "inputs": inputs, "row": row}
    told = answer(name, question)
    assert "answer" in told, told
    return checked(QUESTIONS[name][1], told["answer"], "the answer")


def test_words_hang_on_their_heads(folder: Path) -> None:
    said = "the dog sees the old cat ."
    assert asked("inputs", "parser")["texts"] == ["x"]
    told = asked("answer", "parser", x=said)
    (expected,) = Answerer.of(folder / "parser").answers([{"x": said}])
    assert told["words"] == said.split()
    assert [arc["head"] for arc in told["arcs"]] == list(expected.each["head"])
    assert [arc["label"] for arc in told["arcs"]] == list(expected.each["relation"])
    assert told["tags"] == list(expected.each["tag"])


def test_words_that_stand_for_one_another_are_framed(folder: Path) -> None:
    (row,) = world_table("phrasebook").rows("validation", 1, seed=1)
    inputs = asked("inputs", "phrasebook")
    assert (inputs["texts"], inputs["targets"], inputs["rows"]) == (["x"], ["w"], True)
    (look, *_) = asked("attend", "phrasebook", x=row["x"], w=row["w"])["looks"]
    found = [(link["column"], link["row"], link["sure"]) for link in look["links"]]
    assert found == [tuple(link) for link in read_links(row["alignment"])]
    (expected,) = Answerer.of(folder / "phrasebook").answers([{"x": row["x"]}])
    assert asked("answer", "phrasebook", x=row["x"])["text"] == expected.text
    assert asked("answer", "phrasebook", row=0)["text"] == expected.text


def test_a_picture_comes_with_where_words_look() -> None:
    (row,) = world_table("scenes").rows("validation", 1, seed=1)
    assert asked("inputs", "scenes")["texts"] == []
    told = asked("attend", "scenes", row=0)
    kind, _, data = told["picture"].partition(",")
    assert kind == "data:image/png;base64"
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
    assert (shown == np.asarray(row["I"]).reshape(shown.shape)).all()
    assert all(look["place"] for look in told["looks"])


@pytest.mark.parametrize(
    ("run", "inputs"),
    [("scenes", {"I": "/etc/passwd"}), ("phrasebook", {"y": "a"}), ("phrasebook", {"x": "a" * 30_000})],
)  # fmt: skip
def test_what_cannot_be_read_is_told(run: str, inputs: dict[str, str]) -> None:
    for name in ("answer", "attend"):
        assert "error" in answer(name, {"run": run, "inputs": inputs, "row": -1})
        assert "error" in answer(name, {"run": run, "inputs": {}, "row": 10**9})


def test_what_is_no_sentence_has_no_arcs() -> None:
    told = asked("answer", "phrasebook", x="ein Hund")
    assert (told["words"], told["arcs"]) == ([], [])
    assert heads_of({"form": ["a", "dog"], "upos": ["DET", "NOUN"]}) == []
    assert heads_of({"form": ["a", "dog"], "head": [1, 1]}) == [Link(0, 1), Link(1, 1)]
