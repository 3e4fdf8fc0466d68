"""A training that is killed again and again ends as one that nobody disturbed."""

import subprocess
import sys
from pathlib import Path

import torch

from indicial.train.checkpoints import Checkpoints

WORKER = Path(__file__).with_name("killed.py")


def test_killed_at_random_moments(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, str(WORKER), str(tmp_path), "1"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    kills = int(result.stdout.split()[1])
    assert kills >= 2, "it was hardly ever killed while it worked"
    calm = Checkpoints(tmp_path / "calm" / "checkpoints").latest()
    killed = Checkpoints(tmp_path / "killed" / "checkpoints").latest()
    assert calm is not None and killed is not None
    assert calm.step == killed.step == 60
    for name, value in calm.tensors.items():
        assert torch.equal(value, killed.tensors[name]), name
    metrics = [(tmp_path / name / "metrics.jsonl").read_bytes() for name in ("calm", "killed")]
    assert metrics[0] == metrics[1]
    assert metrics[0].count(b"\n") == 60
