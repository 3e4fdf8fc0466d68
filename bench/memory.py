"""The most memory that one training step takes, each contender in a process of its own.

python -m bench.memory lstm nn.LSTM 32 128 256      prints the bytes
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.cells import CELLS, SIZES, Problem, Size
from bench.options import Options
from bench.ours import Compiled, NotThere
from bench.peers.layer import Layer
from bench.peers.loops import HoistedLoop
from bench.peers.modules import Module
from bench.table import Line, Section
from bench.timing import Spread

OURS = "ours"
KINDS: dict[str, Callable[[Problem], Layer]] = {
    OURS: Compiled,
    "nn.LSTM": Module,
    "hoisted loop": HoistedLoop,
}
PEERS = {"lstm": ("nn.LSTM", "hoisted loop"), "ugrnn": ("hoisted loop",)}
MEGABYTE = 2**20


def memory(options: Options) -> Section:
    section = Section("Peak memory of a training step", unit="MB")
    size = SIZES[0]
    for cell, peers in PEERS.items():
        ours, why = _ask(cell, OURS, size)
        for peer in peers:
            theirs, wrong = _ask(cell, peer, size)
            ratio = None if ours is None or theirs is None else Spread.of([theirs / ours])
            note = "; ".join(n for n in (why, wrong) if n)
            section.lines.append(Line(cell, str(size), peer, ours, theirs, ratio, note=note))
    section.remarks.append(
        "What the process holds at its peak beyond what it held before the step: weights and "
        "input were there, outputs and gradients were not."
    )
    return section


def _ask(cell: str, kind: str, size: Size) -> tuple[float | None, str]:
    """Megabytes, or why there are none."""
    command = [sys.executable, "-m", "bench.memory", cell, kind]
    command += [str(n) for n in (size.batch, size.steps, size.units)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return int(done.stdout) / MEGABYTE, ""
    last = done.stderr.strip().splitlines()[-1:] or ["it failed"]
    return None, last[0]


def peak_of_step(cell: str, kind: str, size: Size) -> int:
    """Bytes. A small step comes first, so that libraries are loaded and threads are running."""
    KINDS[kind](Problem.of(CELLS[cell], Size(2, 3, size.units))).run()
    layer = KINDS[kind](Problem.of(CELLS[cell], size))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    before = _status("VmRSS")
    layer.run()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"the kernel does not say {field}")


if __name__ == "__main__":
    which, how, *numbers = sys.argv[1:]
    try:
        print(peak_of_step(which, how, Size(*map(int, numbers))))
    except NotThere as reason:
        sys.exit(str(reason))
