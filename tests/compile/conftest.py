"""Tests of the compiler look at what each pass makes."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _verified() -> Iterator[None]:
    os.environ["INDICIAL_VERIFY"] = "1"
    yield
    del os.environ["INDICIAL_VERIFY"]
