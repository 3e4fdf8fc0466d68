"""The language page: its equations check, and each loop computes what its equations mean."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import indicial
from indicial.program.meaning.sample import sample, small_sizes

PAGE = Path(__file__).parents[1] / "docs" / "language.md"
BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
ASCII = {"α": "alpha"}


def blocks() -> list[tuple[str, str]]:
    text = PAGE.read_text(encoding="utf-8")
    return [(m["info"].strip(), m["body"]) for m in BLOCK.finditer(text)]


def pairs() -> list[tuple[str, str]]:
    found = blocks()
    return [
        (before[1], after[1])
        for before, after in itertools.pairwise(found)
        if before[0] == "eq" and "loop" in after[0].split()
    ]


def in_loop(name: str) -> str:
    """`W^{h,R}` is `W_hR` in a loop."""
    base, _, rest = name.partition("^")
    tail = re.sub(r"[^A-Za-z0-9]", "", rest)
    return ASCII.get(base, base) + (f"_{tail}" if tail else "")


def test_every_loop_stands_behind_its_equations() -> None:
    loops = [info for info, _ in blocks() if "loop" in info.split()]
    assert len(loops) == len(pairs()) >= 7


@pytest.mark.parametrize("text", [body for info, body in blocks() if info == "eq"])
def test_equations_check(text: str) -> None:
    assert [m.render() for m in indicial.load(text).mistakes] == []


@pytest.mark.parametrize(("text", "loop"), pairs())
@pytest.mark.parametrize("size", [1, 3])
def test_loop_is_the_meaning(text: str, loop: str, size: int) -> None:
    program = indicial.load(text)
    sizes = small_sizes(program.code, size)
    drawn = sample(program.code, sizes, seed=size)
    result = program.interpret(drawn.inputs, drawn.parameters, sizes=sizes)
    space: dict[str, Any] = {
        **sizes, "exp": math.exp, "tanh": math.tanh, "sqrt": math.sqrt, "log": math.log,
        "zeros": np.zeros, "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    }  # fmt: skip
    for name, value in {**drawn.inputs, **drawn.parameters}.items():
        space[in_loop(name)] = np.asarray(value)
    for name, value in result.items():
        space[in_loop(name)] = np.full_like(value, np.nan)
    exec(compile(loop, "the language page", "exec"), space)
    for name, value in result.items():
        np.testing.assert_allclose(space[in_loop(name)], value, err_msg=name)
