"""A training that is killed again and again ends as one that nobody disturbed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from indicial.training.curves import read_metrics
from indicial.training.run import Run

WORKER = Path(__file__).with_name("killed.py")
CLOCK = ("tokens_per_second", "seconds", "seconds_left")


def lines(folder: Path) -> list[dict[str, Any]]:
    """The metrics of a run, without what depends on the time of day."""
    found = list(read_metrics(folder / "metrics.jsonl"))
    return [{k: v for k, v in line.items() if k not in CLOCK} for line in found]


def test_killed_at_random_moments(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, str(WORKER), str(tmp_path), "1"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    kills = int(result.stdout.split()[1])
    assert kills >= 2, "it was hardly ever killed while it worked"
    calm, killed = Run.open(tmp_path / "calm"), Run.open(tmp_path / "killed")
    for which in ("last", "best"):
        one, other = calm.checkpoint(which), killed.checkpoint(which)
        assert one.step == other.step
        assert one.tensors.keys() == other.tensors.keys()
        for name, value in one.tensors.items():
            assert torch.equal(value, other.tensors[name]), name
    assert not killed.checkpoints.damaged
    assert calm.checkpoint("last").step == 36
    assert lines(tmp_path / "killed") == lines(tmp_path / "calm")
    assert len(lines(tmp_path / "calm")) == 36 + 4
