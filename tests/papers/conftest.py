"""Papers run as PyTorch alone: compiling kernels in C takes longer than reading a paper."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDICIAL_NATIVE", "0")
