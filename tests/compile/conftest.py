"""Tests of the compiler look at what each pass makes, and at kernels as users have them."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _verified() -> Iterator[None]:
    os.environ["INDICIAL_VERIFY"] = "1"
    yield
    del os.environ["INDICIAL_VERIFY"]


@pytest.fixture(autouse=True)
def _optimised() -> Iterator[None]:
    """Kernels as users have them."""
    compiler = os.environ.get("CC", "")
    if hasty := compiler.endswith("hasty_cc"):
        del os.environ["CC"]
    yield
    if hasty:
        os.environ["CC"] = compiler
