"""How long a model takes until it runs: with an empty cache, and with a full one.

    python -m bench.compiling ugrnn      prints two numbers: seconds to load, seconds to compile

Loading is from the text to the checked program. Compiling is from there to the end of the first
training step, less what a second such step takes, because some of the work may wait for the first
call. Each in a fresh process, what it imports included, but for PyTorch itself. Python's bytecode is
there, as in a package that was installed; `python` run from sources that it may not write beside would
compile them again each time, 0.3 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import torch

import indicial
from bench.options import Options
from bench.ours import NotThere, compile_program, explain
from bench.table import Section, Verdict, number
from indicial import library
from indicial.inspect.trial import small
from indicial.program.meaning.sample import sample

HEADS = ["model", "load", "cold", "warm", ""]
QUICK = ("ugrnn", "lstm", "transformer")
WANTED = {"cold": 2.0, "warm": 0.2}


def compiling(options: Options) -> Section:
    section = Section("Seconds to compile a model of the library", heads=HEADS)
    taken: dict[str, dict[str, float]] = {"load": {}, "cold": {}, "warm": {}}
    with tempfile.TemporaryDirectory() as bytecode:
        for name in ("ugrnn", "bahdanau"):
            _ask(name, bytecode, bytecode)  # writes it
        for name in QUICK if options.quick else library.names():
            with tempfile.TemporaryDirectory() as cache:
                why = ""
                for state in WANTED:
                    seconds, why = _ask(name, cache, bytecode)
                    if seconds is not None:
                        taken["load"][name], taken[state][name] = seconds
            cells = [number(known[name]) if name in known else "–" for known in taken.values()]
            section.rows.append([name, *cells, why])
    for state in WANTED:
        section.verdicts.append(_verdict(state, taken[state], len(section.rows)))
    return section


def _verdict(state: str, known: dict[str, float], models: int) -> Verdict:
    """The slowest decides; nothing is said if a model is missing."""
    slowest = max(known, key=known.__getitem__, default="")
    value = known[slowest] if len(known) == models else None
    note = f"the slowest of {models}: {slowest}" if slowest else ""
    return Verdict(f"compiling, {state}", "", value, WANTED[state], False, " s", note)


def _ask(name: str, cache: str, bytecode: str) -> tuple[tuple[float, float] | None, str]:
    own = {"INDICIAL_CACHE": cache, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-m", "bench.compiling", name],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        load, ready = map(float, done.stdout.split())
        return (load, ready), ""
    return None, (done.stderr.strip().splitlines()[-1:] or ["it failed"])[0]


def seconds_to_first_step(name: str) -> tuple[float, float]:
    """To load, and from there on. Small sizes: running is not what is measured."""
    begin = time.perf_counter()
    program = indicial.load(name)
    code = program.code
    load = time.perf_counter() - begin
    drawn = sample(code, small(code, {}))
    inputs = {n: _tensor(values) for n, values in drawn.inputs.items()}
    begin = time.perf_counter()
    compiled = compile_program(program, **drawn.sizes)
    _training_step(compiled, inputs)
    ready = time.perf_counter() - begin
    return load, ready - min(_seconds(compiled, inputs) for _ in range(5))


def _seconds(compiled: Any, inputs: dict[str, torch.Tensor]) -> float:
    begin = time.perf_counter()
    _training_step(compiled, inputs)
    return time.perf_counter() - begin


def _training_step(compiled: Any, inputs: dict[str, torch.Tensor]) -> None:
    try:
        result = compiled(**inputs)
        values = [result[name] for name in result]
        sums = [v.sum() for v in values if isinstance(v, torch.Tensor) and v.requires_grad]
        if sums:
            torch.autograd.backward(sums)
    except Exception as error:
        raise NotThere(explain(error)) from error


def _tensor(values: Any) -> torch.Tensor:
    tensor = torch.as_tensor(values)
    return tensor.float() if tensor.is_floating_point() else tensor


if __name__ == "__main__":
    try:
        print(*seconds_to_first_step(sys.argv[1]))
    except NotThere as reason:
        sys.exit(str(reason))
