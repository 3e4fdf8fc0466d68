"""Worlds as columns: each word a token, parts of their own, and what the truth loses on them."""

import math
from pathlib import Path

import numpy as np
import pytest

from indicial.data.binding import slots
from indicial.data.prepare_columns import made_parts, prepare_columns
from indicial.data.sources import is_gone, open_source
from indicial.data.world import world_table
from indicial.library.loading import load
from indicial.program.messages import IndicialError

TRANSLATION = slots(load("bahdanau").code, {"w"})
CAPTIONS = slots(load("input I[x,y,c]\ninput w[t] in V\ny[t] = e[w[t]] Σ_{x,y,c} I[x,y,c]").code, {"w"})  # fmt: skip


def test_both_languages_have_a_token_for_each_word(tmp_path: Path) -> None:
    data = prepare_columns(TRANSLATION, ["phrasebook"], world_size=60, cache=tmp_path)
    assert (data.train.rows, data.validation.rows) == (60, 6)
    rows = list(world_table("phrasebook").rows("train", 60))
    for name in ("x", "w"):
        held = data.train.columns[name]
        for number, row in enumerate(rows):
            tokens = held.row(number)
            assert held.coding.show(tokens) == row[name]
            assert len(tokens) == len(row[name].split()) + 1  # the end of the text is one too
    assert data.description["validation"]["nats"] == 0
    assert data.description["world"] == {"name": "phrasebook", "size": 60, "seed": 0}


def test_pictures_are_stored_as_they_are(tmp_path: Path) -> None:
    data = prepare_columns(CAPTIONS, ["scenes"], world_size=20, validation=0.25, cache=tmp_path)
    assert (data.train.rows, data.validation.rows) == (20, 5)
    rows = list(world_table("scenes").rows("validation", 5))
    for number, row in enumerate(rows):
        np.testing.assert_array_equal(data.validation.columns["I"].row(number), row["I"])
    taken, _ = data.validation.columns["I"].take(np.arange(5))
    assert taken.dtype == np.float32 and abs(taken).max() <= 2
    true = -math.fsum(row["log_probability"] for row in rows)
    assert data.description["validation"]["nats"] == pytest.approx(true)


def test_a_column_may_go_to_another_input(tmp_path: Path) -> None:
    data = prepare_columns(
        TRANSLATION, ["phrasebook"], {"x": "w", "w": "x"}, world_size=10, cache=tmp_path
    )
    row = next(world_table("phrasebook").rows("train", 1))
    assert data.codings["x"].show(data.train.columns["x"].row(0)) == row["w"]


@pytest.mark.parametrize(
    ("what", "validation", "size", "says"),
    [
        (["phrasebook", "other.tsv"], None, None, "phrasebook is a built-in world, which cannot be joined"),
        (["scenes"], ["other.tsv"], None, "scenes is a built-in world, which makes rows for both parts"),
        (["pairs.tsv"], None, 100, r"--world-size is for a built-in world \(phrasebook, scenes\)"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(
    what: list[str], validation: list[str] | None, size: int | None, says: str
) -> None:
    with pytest.raises(IndicialError, match=says):
        made_parts(what, validation, size, 0)


def test_names_of_worlds_are_not_files() -> None:
    assert not is_gone("phrasebook") and not is_gone("scenes")
    with pytest.raises(IndicialError, match="scenes is a built-in world with several columns"):
        open_source("scenes")
    with pytest.raises(IndicialError, match=r"did you mean phrasebook\?"):
        prepare_columns(TRANSLATION, ["phrasebok"])
