"""Models as they are named for a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from indicial import IndicialError
from indicial.lab.trials import Contender, contender, contenders


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ugrnn", Contender("ugrnn", ("ugrnn",))),
        ("transformer+focus", Contender("transformer+focus", ("transformer", "focus"))),
        (
            "stacked:CELL=gru,L=3",
            Contender("stacked:CELL=gru,L=3", ("stacked",), {"CELL": "gru", "L": "3"}),
        ),
        ("cells/mine.eq:J=8", Contender("mine:J=8", ("cells/mine.eq",), {"J": "8"})),
    ],
)
def test_a_model_with_what_is_set_in_it(text: str, meant: Contender) -> None:
    assert contender(text) == meant


def test_a_file_is_taken_as_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "a+b.eq"
    path.write_text("input x[t,k]\nh[t,j] = W[j,K] x[t,K]\n")
    assert contender(str(path)) == Contender("a+b", (str(path),))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["stacked:CELL"], "NAME=VALUE"),
        (["ugrnn+"], "names no model"),
        (["ugrnn", "gru", "ugrnn"], "ugrnn is named twice; several trainings .* by --seeds"),
        (["a/cell.eq", "b/cell.eq"], "two models are called cell"),
    ],
)
def test_what_is_wrong_is_said(texts: list[str], said: str) -> None:
    with pytest.raises(IndicialError, match=said):
        contenders(texts)
