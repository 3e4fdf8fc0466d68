"""The work of checking a text grows with its length: calls of functions are counted, not seconds."""

import sys
from pathlib import Path

import pytest

from growth import KINDS
from indicial.loading import load_document

SMALL, FACTOR = 2_000, 3
LATER = {"unknown": 8_000}
"""Where names are compared with each other, the first hundred are compared with all."""
MOST = 1.2
"""How many times more than in proportion a longer text may cost: some things are sorted."""


def calls(path: Path) -> int:
    """How many functions are called while a document is checked."""
    count = 0

    def counting(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        for program in load_document(path):
            _ = program.messages
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", KINDS)
def test_work_is_linear(kind: str, tmp_path: Path) -> None:
    make, suffix = KINDS[kind]
    counts = []
    small = LATER.get(kind, SMALL)
    for size in (SMALL // 10, small, small * FACTOR):  # the first fills caches
        path = tmp_path / f"text{size}.{suffix}"
        path.write_text(make(size), encoding="utf-8")
        counts.append(calls(path))
    assert counts[2] <= MOST * FACTOR * counts[1]
