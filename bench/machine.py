"""The machine: what it is, and whether it has time for a measurement.

>>> print(describe(threads=2))
16 November 2026, Intel(R) Xeon(R) Processor, 2 cores, 2 threads …
>>> watch = Watch.start(); time.sleep(1); watch.others()
0.02
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from datetime import date
from importlib import metadata
from pathlib import Path

PACKAGES = ("torch", "numpy", "jax", "jaxlib", "transformers", "x-transformers", "indicial")

# What others may use of the machine before a measurement is refused.
QUIET_SHARE = 0.05
QUIET_LOAD = 0.35


@dataclass(frozen=True)
class Watch:
    """How much of the machine others use between two moments, from the kernel's own counts."""

    began: float
    busy: float | None
    own: float

    @staticmethod
    def start() -> Watch:
        return Watch(time.monotonic(), _busy_seconds(), _own_seconds())

    def others(self) -> float | None:
        """Their share of all cores since the start; None where the kernel does not tell."""
        busy, seconds = _busy_seconds(), time.monotonic() - self.began
        if busy is None or self.busy is None or seconds <= 0:
            return None
        used = (busy - self.busy) - (_own_seconds() - self.own)
        return max(0.0, used / (seconds * (os.cpu_count() or 1)))


def _busy_seconds() -> float | None:
    """Processor time that was not idle, since the machine started: all processes, all cores."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    except OSError:
        return None
    user, nice, system, _idle, _wait, interrupt, soft, steal = (int(n) for n in first[1:9])
    ticks = user + nice + system + interrupt + soft + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def complaint(seconds: float = 2.0) -> str | None:
    """Why this is no moment to measure, or None. Watches the machine for a while."""
    watch = Watch.start()
    time.sleep(seconds)
    share = watch.others()
    if share is not None and share > QUIET_SHARE:
        return f"other processes use {share:.0%} of the machine"
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    if share is None and load > QUIET_LOAD:
        return f"the load average is {load:.0%} of the cores"
    return None


def describe(threads: int) -> str:
    """Date, machine, threads and versions, for the head of the table."""
    today = date.today()
    return "\n".join(
        [
            f"{today.day} {today:%B %Y}, {processor()}, {_count(os.cpu_count() or 1, 'core')}, "
            f"{_count(threads, 'thread')}",
            f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
            ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        ]
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit_threads(threads: int) -> None:
    """Every library gets as many cores; to be called before any of them is imported."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, mine[:threads])
