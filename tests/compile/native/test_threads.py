"""Parts run at the same time on PyTorch's threads; they meet; forks and nesting are safe."""

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from indicial.compile.native import shared, toolchain

SOURCE = """
#include "threads.h"

struct job { const struct threads *threads; int *seen; int *parts; long *shares; long rows; };

static void note(void *data, int part, int parts) {
  struct job *job = data;
  __atomic_add_fetch(&job->seen[part], 1, __ATOMIC_RELAXED);
  *job->parts = parts;
  part_range(job->rows, 8, part, parts, &job->shares[2 * part], &job->shares[2 * part + 1]);
}

int run(const struct threads *threads, int most, int *seen, long *shares, long rows) {
  int parts = 0;
  struct job job = {threads, seen, &parts, shares, rows};
  threads_run(threads, most, note, &job);
  return parts;
}

static void nest(void *data, int part, int parts) {
  struct job *job = data;
  long shares[128];
  int seen[64] = {0};
  job->seen[part] = run(job->threads, 64, seen, shares, 10);
}

void nested(const struct threads *threads, int *seen) {
  struct job job = {threads, seen};
  threads_run(threads, 64, nest, &job);
}

/* Each in a cache line of its own: those who wait read `round`, those who come write `waiting`. */
struct barrier {
  __attribute__((aligned(64))) int waiting;
  __attribute__((aligned(64))) int round;
};

static void barrier_wait(struct barrier *barrier, int parts) {
  if (parts == 1) return;
  const int round = __atomic_load_n(&barrier->round, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&barrier->waiting, 1, __ATOMIC_ACQ_REL) == parts) {
    __atomic_store_n(&barrier->waiting, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&barrier->round, round + 1, __ATOMIC_RELEASE);
    return;
  }
  for (int turn = 0; __atomic_load_n(&barrier->round, __ATOMIC_ACQUIRE) == round; turn++)
    threads_pause(turn);
}

/* Every part adds its neighbour's number of the round before to its own: they run at the same time. */
struct ring { struct barrier barrier; long numbers[2][64]; int rounds; };

static void turn(void *data, int part, int parts) {
  struct ring *ring = data;
  ring->numbers[0][part] = part + 1;
  for (int i = 0; i < ring->rounds; i++) {
    barrier_wait(&ring->barrier, parts);
    const long *from = ring->numbers[i % 2];
    ring->numbers[1 - i % 2][part] = (from[part] + from[(part + 1) % parts]) % 1000003;
  }
}

void rounds(const struct threads *threads, int most, int rounds, long *result) {
  struct ring ring = {.rounds = rounds};
  threads_run(threads, most, turn, &ring);
  for (int i = 0; i < 64; i++) result[i] = ring.numbers[rounds % 2][i];
}
"""

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")


@pytest.fixture
def three() -> shared.Threads:
    """Three threads of PyTorch's."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    found = shared.find_threads()
    torch.set_num_threads(before)
    if found is None:
        pytest.skip("PyTorch has no OpenMP")
    return found


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def run(found: shared.Threads | None, most: int, rows: int) -> tuple[int, list[list[int]]]:
    """The number of parts, and the rows of each."""
    seen, shares = np.zeros(64, np.int32), np.zeros((64, 2), np.int64)
    struct = None if found is None else ctypes.byref(found)
    library = toolchain.load(SOURCE)
    parts = library.run(struct, most, pointer(seen), pointer(shares), ctypes.c_long(rows))
    assert seen.tolist() == [1] * parts + [0] * (64 - parts)
    return parts, shares[:parts].tolist()


def test_each_part_runs_once(three: shared.Threads) -> None:
    assert run(three, 64, 40) == (3, [[0, 8], [8, 24], [24, 40]])
    assert run(three, 2, 20) == (2, [[0, 8], [8, 20]])
    assert run(three, 3, 5) == (3, [[0, 0], [0, 0], [0, 5]])
    assert run(three, 1, 20) == (1, [[0, 20]])
    assert run(None, 3, 20) == (1, [[0, 20]])


def test_one_thread_is_no_team() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    found = shared.find_threads()
    torch.set_num_threads(before)
    assert found is None


def test_inside_of_a_part_there_is_one_thread(three: shared.Threads) -> None:
    seen = np.zeros(64, np.int32)
    toolchain.load(SOURCE).nested(ctypes.byref(three), pointer(seen))
    assert seen[:4].tolist() == [1, 1, 1, 0]


def rounds(found: shared.Threads | None, parts: int, count: int) -> list[int]:
    result = np.zeros(64, np.int64)
    struct = None if found is None else ctypes.byref(found)
    toolchain.load(SOURCE).rounds(struct, parts, count, pointer(result))
    return result[:parts].tolist()


def expected_rounds(parts: int, count: int) -> list[int]:
    numbers = list(range(1, parts + 1))
    for _ in range(count):
        numbers = [(numbers[i] + numbers[(i + 1) % parts]) % 1000003 for i in range(parts)]
    return numbers


def test_parts_meet_in_every_round(three: shared.Threads) -> None:
    assert rounds(three, 2, 2000) == expected_rounds(2, 2000)
    assert rounds(three, 3, 50) == expected_rounds(3, 50)
    assert rounds(None, 1, 50) == expected_rounds(1, 50)


def test_threads_of_python_at_once(three: shared.Threads) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: rounds(three, 2, 200), range(12)))
    assert results == [expected_rounds(2, 200)] * 12


FORK = """
import os, sys, torch
sys.path.insert(0, {folder!r})
import test_threads as t
torch.set_num_threads(2)
found = t.shared.find_threads()
assert t.run(found, 2, 20)[0] == 2  # the workers exist
child = os.fork()
if child == 0:
    torch.set_num_threads(2)
    alone = t.run(found, 2, 20)[0] == 1 and t.shared.find_threads() is None
    os._exit(0 if alone else 1)
assert os.waitpid(child, 0)[1] == 0
assert t.run(found, 2, 20)[0] == 2
"""


def test_a_forked_process_uses_one_thread(three: shared.Threads) -> None:
    code = FORK.format(folder=__file__.rsplit("/", 1)[0])
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("environment", "imported", "share", "expected"),
    [
        ({}, False, 0.9, shared.TURNS),
        ({}, False, 0.0, None),
        ({}, True, 0.9, None),
        ({"GOMP_SPINCOUNT": "7"}, False, 0.9, "7"),
        ({"OMP_WAIT_POLICY": "active"}, False, 0.9, None),
    ],
)
def test_threads_that_wait_sleep_on_a_busy_machine_unless_somebody_chose(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    imported: bool,
    share: float,
    expected: str | None,
) -> None:
    modules = {"torch": torch} if imported else {}
    monkeypatch.setattr(shared.sys, "modules", modules)
    monkeypatch.setattr(shared, "busy", lambda: share)
    monkeypatch.setattr(shared.os, "environ", environment := dict(environment))
    shared.wait_asleep()
    assert environment.get("GOMP_SPINCOUNT") == expected


def test_the_share_in_use_is_told_by_the_kernels_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([(100, 200), (125, 300)])
    monkeypatch.setattr(shared, "_idle", lambda: next(counts))
    monkeypatch.setattr(shared, "LOOK", 0.0)
    assert shared.busy() == 0.75
    monkeypatch.undo()
    assert 0 <= shared.busy() <= 1
