"""Blanks: the words that fit are those that the model says, one blank or several."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from indicial.cli import main
from indicial.data.tokenizers import make_tokenizer
from indicial.decode.lookup import fill, filled
from indicial.program.messages import IndicialError
from indicial.training.checkpoints import write_json
from tests.decode.runs import CHARACTERS, make_run

MODELS = ["blank_rnn", "encoder+masked"]


def probabilities(
    module: torch.nn.Module, name: str, tokens: list[int], place: int
) -> torch.Tensor:
    """P at a blank, by the module itself, without the end of a text and unknown characters."""
    w = torch.tensor(tokens)
    given = {"w": w}
    if name != "blank_rnn":
        hidden, mask = w.clone(), torch.zeros(len(w))
        hidden[place], mask[place] = CHARACTERS.size, 1.0
        given = {"u": w, "w": hidden, "m": mask}
    with torch.no_grad():
        found = module(**given, want=["P"])["P"][place, : CHARACTERS.size].double()
    found[[CHARACTERS.eos, CHARACTERS.unknown]] = 0
    return found / found.sum()


@pytest.fixture(params=MODELS)
def case(request: pytest.FixtureRequest, tmp_path: Path):  # type: ignore[no-untyped-def]
    name = request.param
    larger = make_tokenizer("characters", ["abcä€ \n?"]) if "+" in name else CHARACTERS
    run, module = make_run(tmp_path / "run", name, larger)  # one token more, for the blank
    run.description = replace(run.description, task="blank")
    return name, module


def test_one_blank(case) -> None:  # type: ignore[no-untyped-def]
    name, module = case
    found = filled(module, CHARACTERS, "ab___ca", alternatives=3)
    tokens = CHARACTERS.encode("abäca")
    expected = probabilities(module, name, tokens, 2)
    best = expected.topk(3)
    assert found.blanks[0].place == 2
    assert [w for w, _ in found.blanks[0].words] == [
        CHARACTERS.decode([i]) for i in best.indices.tolist()
    ]
    chances = torch.tensor([p for _, p in found.blanks[0].words], dtype=torch.float64)
    torch.testing.assert_close(chances, best.values, rtol=1e-4, atol=1e-6)
    assert str(found) == "ab" + found.blanks[0].words[0][0] + "ca"


def test_several_blanks_suit_each_other(case) -> None:  # type: ignore[no-untyped-def]
    """Each word is the likeliest with the others in their places, unless they go in circles."""
    name, module = case
    found = filled(module, CHARACTERS, "a___c___b")
    tokens = CHARACTERS.encode(found.result)
    assert len(tokens) == 5 and [b.place for b in found.blanks] == [1, 3]
    last = probabilities(module, name, tokens, 3)
    assert int(last.argmax()) == tokens[3]


def test_words_of_byte_pairs_keep_their_spaces(tmp_path: Path) -> None:
    words = make_tokenizer("bpe", ["the dog of Anna sees the cat ."] * 20, 300)
    run, _ = make_run(tmp_path / "run", "blank_rnn", words)
    run.description = replace(run.description, task="blank")
    found = fill(run, "the ___ of Anna")
    assert found.result.startswith("the") and found.result.endswith(" of Anna")
    assert "  " not in found.result.replace(found.blanks[0].words[0][0], "x")


def test_what_cannot_be_filled(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path / "run", "rnn_lm")
    with pytest.raises(IndicialError, match="reads the words on both sides"):
        fill(run, "a___b")
    other, _ = make_run(tmp_path / "other", "blank_rnn")
    other.description = replace(other.description, task="blank")
    with pytest.raises(IndicialError, match="no blank in the text"):
        fill(other, "ab")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "run", "blank_rnn")
    description = tmp_path / "run" / "run.json"
    told = json.loads(description.read_text(encoding="utf-8"))
    write_json(description, {**told, "task": "blank"})
    assert main(["generate", str(tmp_path / "run"), "--text", "a___b", "--alternatives", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[1].startswith("  ___ ") and lines[1].count(",") == 1
