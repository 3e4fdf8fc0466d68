"""The threads that PyTorch already has, for C kernels.

    find()  →  a `Threads` for `torch.get_num_threads()` threads, or None

    kernel(ctypes.byref(threads), …)     to `void kernel(const struct threads *, …)`

`threads.h` divides work over them, and has a barrier for parts that need each other. A kernel gets
NULL, and uses one thread, where PyTorch is set to one thread or was built without GNU's OpenMP.

**Why PyTorch's.** Its workers spin for some milliseconds after each operation, so a second pool
would compete with them for the same cores. Shared, they start a kernel in 1 µs (2 µs after an
operation of PyTorch, 3 to 7 µs when they went to sleep). The barrier of threads.h takes 0.2 µs,
OpenMP's 0.3 µs. It pays to divide from a few dozen µs of work a part on.

All this with a free core for each thread. Where other processes use the cores, a start may wait
20 ms until a worker has its turn, as PyTorch's own operations do; a pool of our own that sleeps on
a condition variable took 35 to 230 µs then, and never less. What makes it so long is that they wait
awake, each on a core that another needs: `wait_asleep` has them sleep after some microseconds if
the machine is busy when a program starts.

Threads of Python that run kernels at once each get workers of their own from OpenMP. In a forked
process the workers are gone, and kernels use one thread there.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import time
from pathlib import Path

SYMBOLS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
"""What OpenMP's library exports, in the order of the fields."""

TURNS = "1000"
"""How often OpenMP's threads look whether there is work before they sleep, 10 to 40 µs; its own
choice is 300,000 times."""

LOOK = 0.2
"""Seconds for which the machine is watched."""
BUSY = 0.15
"""The share of all cores from which on others are in the way."""

_forked = False


class Threads(ctypes.Structure):
    """The `struct threads` of threads.h."""

    _fields_ = (
        ("parallel", ctypes.c_void_p),
        ("number", ctypes.c_void_p),
        ("count", ctypes.c_void_p),
        ("most", ctypes.c_int),
        ("process", ctypes.c_int),
    )


def wait_asleep() -> None:
    """For programs that run long, where others use the cores: threads of PyTorch that wait sleep.

    To be called before PyTorch is imported. With eight others on two cores a training step of a
    small UGRNN took 15 to 20 times as long with two threads as with one (one of `nn.LSTM` 10 to 20
    times); with this, 1.5 to 2 times. On cores of their own, threads that sleep wake too late: a
    step of a small transformer takes 1.5 times as long. What the environment says goes first.
    """
    chosen = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys()
    if not chosen and "torch" not in sys.modules and busy() > BUSY:
        os.environ["GOMP_SPINCOUNT"] = TURNS


def busy() -> float:
    """The share of all cores that is in use just now; where the kernel does not tell, in the last
    minute."""
    first = _idle()
    if first is None:
        return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0
    time.sleep(LOOK)
    idle, every = (now - then for now, then in zip(_idle() or first, first, strict=True))
    return 1 - idle / every if every else 0.0


def _idle() -> tuple[int, int] | None:
    """Ticks of all cores since the machine started: those without work, and all."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return None
    ticks = [int(number) for number in line.split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def find() -> Threads | None:
    """PyTorch's threads as they are set now, or None if one is all there is."""
    import torch

    count = torch.get_num_threads()
    return None if _forked or count == 1 else _threads(count)


@functools.cache
def _threads(count: int) -> Threads | None:
    from indicial.compile.ground.torch_inside import addresses

    found = addresses(SYMBOLS)
    return Threads(*found, count, os.getpid()) if found else None


def _note_fork() -> None:
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_note_fork)
