"""Emitted sources give what the oracle gives: every model of the library, at small sizes."""

from __future__ import annotations

import pytest
from emitting import LEAST, agree, model, source

from indicial import library


@pytest.mark.parametrize("name", library.names())
@pytest.mark.parametrize("size", [1, 3])
def test_library_models(name: str, size: int) -> None:
    agree(model(name), size, seed=size, **LEAST.get(name, {}))


@pytest.mark.parametrize("name", library.names())
def test_lines_fit(name: str) -> None:
    text = source(model(name)).text
    assert max(map(len, text.splitlines())) <= 100


def test_only_what_is_wanted_is_computed() -> None:
    text = source(model("transformer"), ["L"]).text
    assert "softmax" in text
    assert "P =" not in text and "loss" not in text
