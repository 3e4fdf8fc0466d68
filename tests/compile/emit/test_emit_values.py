"""Emitted sources give what the oracle gives: the library, awkward programs, generated ones."""

from __future__ import annotations

import pytest
from awkward import CONVOLUTIONS, PROGRAMS, programs, text
from emitting import LEAST, agree, code, model, source
from hypothesis import given, settings

from indicial import library


@pytest.mark.parametrize("name", library.names())
@pytest.mark.parametrize("size", [1, 3])
def test_library_models(name: str, size: int) -> None:
    agree(model(name), size, seed=size, **LEAST.get(name, {}))


@pytest.mark.parametrize("name", [*PROGRAMS, *CONVOLUTIONS])
def test_awkward_programs(name: str) -> None:
    program = code(text({**PROGRAMS, **CONVOLUTIONS}[name]))
    for size in (1, 2, 4):
        agree(program, size, seed=size)


@given(programs())
@settings(max_examples=20)
def test_generated_programs(program: str) -> None:
    agree(code(program), 3, seed=1)
    agree(code(program), 1, seed=2, members=1)


@pytest.mark.parametrize("name", library.names())
def test_lines_fit(name: str) -> None:
    lines = source(model(name)).text.splitlines()
    assert max(map(len, lines)) <= 100


def test_only_what_is_wanted_is_computed() -> None:
    lines = source(model("transformer"), ["L"]).text
    assert "scaled_dot_product_attention" in lines
    assert "P =" not in lines and "loss" not in lines
