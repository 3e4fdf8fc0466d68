"""No recurrence of the library falls back to the emitted loop, which gives the same."""

from __future__ import annotations

from functools import cache

import pytest
from agreeing import Ways, recurrences

import indicial
from indicial import library
from indicial.compile.native import toolchain
from indicial.program.meaning.sample import small_sizes
from indicial.program.program import Program

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

CELLS = ("rnn", "gru", "lstm", "ugrnn")


@cache
def program(name: str, fill: str = "") -> Program:
    return indicial.load(name, fills={"CELL": fill} if fill else None)


def with_a_hole() -> list[str]:
    return [n for n in library.names() if "CELL" in library.path(n).read_text(encoding="utf-8")]


MODELS = [(name, "") for name in library.names()]
FILLED = [(name, fill) for name in with_a_hole() for fill in CELLS]


@pytest.mark.parametrize(("name", "fill"), MODELS + FILLED)
def test_every_recurrence_has_kernels(name: str, fill: str) -> None:
    ways = Ways(program(name, fill).code)
    assert not ways.ready.refused
    for recurrence in recurrences(ways.ready.plan):
        recurrence.backward(recurrence.differentiable)


@pytest.mark.parametrize(
    ("name", "fill"),
    [
        ("gru", ""),
        ("bahdanau", "rnn"),
        ("stacked", "lstm"),
        ("captioning_features", ""),
        ("rnn_lm", ""),
    ],
)
def test_the_loop_gives_the_same(name: str, fill: str) -> None:
    code = program(name, fill).code
    ways = Ways(code)
    ways.agree(small_sizes(code, 3), members=2)
    ways.agree({**small_sizes(code, 3), "T": 1}, members=1)
