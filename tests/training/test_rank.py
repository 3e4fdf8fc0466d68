"""Of several processes only the first writes."""

import pytest
import torch.distributed as distributed

from indicial.training.processes import writes


def test_alone() -> None:
    assert writes()


@pytest.mark.parametrize(("rank", "expected"), [(0, True), (1, False), (3, False)])
def test_of_several(monkeypatch: pytest.MonkeyPatch, rank: int, expected: bool) -> None:
    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "get_rank", lambda: rank)
    assert writes() == expected
