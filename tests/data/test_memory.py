"""Memory does not grow with the data: texts of two sizes, each prepared in a process of its own.

INDICIAL_LARGE_DATA=1000 python -m pytest tests/data/test_memory.py   makes a text of 1000 MB (and
takes minutes), and holds the process to 1.5 GB.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

LARGE = int(os.environ.get("INDICIAL_LARGE_DATA", "0"))

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc"
)

CHILD = """
import sys
from indicial.data.corpus import Rows
from indicial.data.prepare_text import prepare_data

data = prepare_data(sys.argv[1:2], tokens=sys.argv[2], documents=sys.argv[3])
rows = Rows(data.train, 256)
for step in range(len(rows) // 16):  # a whole epoch
    rows.batch(step, 16)
counted = sum(int(block.counted.sum()) for block in Rows(data.validation, 256).in_order(16))
assert counted == len(data.validation)
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(peak.split()[1])
"""


def write_text(path: Path, megabytes: float) -> None:
    """Lines of words, of which new ones come up to the end."""
    rng = random.Random(0)
    words = [f"{rng.getrandbits(16):x}" for _ in range(3000)]
    block = "\n".join(" ".join(rng.choices(words, k=20)) for _ in range(5000))
    with path.open("w") as file:
        while file.tell() < megabytes * 1e6:
            file.write(f"{block} {rng.random()}\n")


def peak(path: Path, tokens: str, documents: str, cache: Path) -> float:
    """Megabytes that a process needs at most."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), tokens, documents],
        env={**os.environ, "INDICIAL_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout) / 1000


@pytest.mark.parametrize(
    ("tokens", "documents", "small", "large"),
    [
        pytest.param("bytes", "file", 10, 50, marks=pytest.mark.long),
        ("characters", "lines", 2, 6),
        pytest.param("bpe", "file", 2, 6, marks=pytest.mark.long),
    ],
)
def test_memory_does_not_grow(
    tmp_path: Path, tokens: str, documents: str, small: int, large: int
) -> None:
    peaks = []
    for megabytes in (small, large):
        write_text(tmp_path / "text.txt", megabytes)
        peaks.append(peak(tmp_path / "text.txt", tokens, documents, tmp_path / "cache"))
    assert peaks[1] - peaks[0] < 30  # the system may map 2 MB around each of 16 rows
    assert peaks[1] < 200


@pytest.mark.skipif(not LARGE, reason="INDICIAL_LARGE_DATA=1000 asks for it")
@pytest.mark.parametrize("tokens", ["auto", "bytes"])
def test_large_data(tmp_path: Path, tokens: str) -> None:
    write_text(tmp_path / "text.txt", LARGE)
    needed = peak(tmp_path / "text.txt", tokens, "file", tmp_path / "cache")
    print(f"{LARGE} MB of text, tokens = {tokens}: {needed:.0f} MB of memory")
    assert needed < 1500
