"""Tests of the compiler look at what each pass makes, and at kernels as users have them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _verified() -> Iterator[None]:
    os.environ["INDICIAL_VERIFY"] = "1"
    yield
    del os.environ["INDICIAL_VERIFY"]


EXAMINED = ("native", "test_generated_cells.py", "test_odd_recurrences.py")
"""Where `make test` has kernels optimised; all others may be made in a hurry too."""


@pytest.fixture(autouse=True)
def _optimised(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels as users have them, here at least in what asks for all kinds of loops."""
    compiler = os.environ.get("CC", "")
    place = request.path.relative_to(Path(__file__).parent).parts[0]
    wanted = place in EXAMINED or "HASTY" not in os.environ
    if hasty := compiler.endswith("hasty_cc") and wanted:
        del os.environ["CC"]
    yield
    if hasty:
        os.environ["CC"] = compiler
