"""The tests as other machines would run them: `make machines`, or some of them by name.

    python -m tests.machines                        all machines, one after the other
    python -m tests.machines v2 bare -- -k rnn      two of them, with arguments for pytest

A result may differ in its last digits between processors, numbers of cores, libraries for matrices
and compilers. A test that minds is wrong here: it wants a tolerance, with its reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

COMPUTING = (
    "tests/compile", "tests/library", "tests/program/test_interpret.py", "tests/claims",
    "tests/tasks", "tests/training", "tests/decode", "tests/export",
    "tests/inspect", "tests/designs", "tests/lab", "tests/test_notebook.py", "tests/test_docs.py",
)  # fmt: skip
"""The tests that compute numbers; what reads and explains texts is the same everywhere."""


@dataclass(frozen=True)
class Machine:
    """What makes this machine into another: what libraries are told, and how many cores there are."""

    says: str
    environment: dict[str, str] = field(default_factory=dict)
    cores: int | None = None


def without(numpy_features: str) -> dict[str, str]:
    """NumPy without these and what builds on them; it refuses to leave out what it has not found."""
    import numpy as np

    config = np.show_config(mode="dicts")
    found = dict(config or {}).get("SIMD Extensions", {}).get("found", [])
    kept = [name for name in found if name.startswith(tuple(numpy_features.split()))]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(kept)} if kept else {}


def machines() -> dict[str, Machine]:
    return {
        "one": Machine("one core", {"OMP_NUM_THREADS": "1"}, cores=1),
        "two": Machine("two cores, all threads in one process", {"OMP_NUM_THREADS": "2"}, cores=2),
        "v3": Machine(
            "a processor with AVX2",
            {
                "ATEN_CPU_CAPABILITY": "avx2",
                "ONEDNN_MAX_CPU_ISA": "AVX2",
                "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                "MKL_CBWR": "AVX2",  # MKL heeds the line before on processors of its maker alone
                "OPENBLAS_CORETYPE": "Haswell",
                "INDICIAL_MARCH": "x86-64-v3",
                **without("X86_V4 AVX512"),
            },
        ),
        "v2": Machine(
            "a processor without AVX",
            {
                "ATEN_CPU_CAPABILITY": "default",
                "ONEDNN_MAX_CPU_ISA": "SSE41",
                "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
                "MKL_CBWR": "COMPATIBLE",
                "OPENBLAS_CORETYPE": "Nehalem",
                "INDICIAL_MARCH": "x86-64-v2",
                **without("X86_V AVX FMA"),
            },
        ),
        "bare": Machine("no compiler", {"CC": "no-compiler-here"}),
    }


def run(name: str, machine: Machine, arguments: list[str]) -> bool:
    """Whether all tests pass there."""
    print(f"\n{name}: {machine.says}", flush=True)
    cores = sorted(os.sched_getaffinity(0))[: machine.cores]
    workers = 1 if machine.cores == 2 else len(cores)
    chosen = (
        arguments if any(a.startswith("tests") for a in arguments) else [*COMPUTING, *arguments]
    )
    with tempfile.TemporaryDirectory() as cache:
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            "-n", str(workers), "--dist", "worksteal", *chosen,
        ]  # fmt: skip
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **machine.environment, "INDICIAL_CACHE": cache},
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
            check=False,
        )
    return done.returncode == 0


def main() -> int:
    said = sys.argv[1:]
    split = said.index("--") if "--" in said else len(said)
    known = machines()
    names = said[:split] or list(known)
    if unknown := [name for name in names if name not in known]:
        print(f"no machine {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = [name for name in names if not run(name, known[name], said[split + 1 :])]
    print(f"\nfailed on: {', '.join(failed)}" if failed else f"\nall pass on: {', '.join(names)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
