"""Tiny Shakespeare: nanoGPT's CPU setting, plain and as equations, and what the defaults reach.

    .venv/bin/python -m bench.shakespeare --data input.txt [--seeds 3] [--write]

Contenders take turns, seed after seed, each in a process of its own on an otherwise quiet machine.
All are measured on the whole last tenth of the text, in rows as long as the context, where the first
character of a row is predicted from nothing. Times are of training: for the two that run the
published setting without any look at the validation part, for the others with twenty looks.
`--write` renews the table in docs/results.md.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"
GOALS = (1.88, 1.60)
WHOLE = 10**9
"""All tokens of the validation part."""
SETTING = [
    *("--context", "64", "--batch-size", "12", "--max-steps", "2000"),
    *("--set", "L=4", "--set", "K=4", "--set", "J=128"),
    *("--optimizer", "adamw", "--learning-rate", "0.003"),
]
PLAIN = "plain PyTorch, nanoGPT's setting"
OURS = {
    "transformer, nanoGPT's setting": ["transformer", *SETTING],
    "UGRNN, half a minute": ["ugrnn", "--minutes", "0.5"],
    "UGRNN, two minutes": ["ugrnn", "--minutes", "2"],
}


@dataclass(frozen=True)
class Outcome:
    seconds: float
    loss: float
    reached: tuple[float | None, ...] = ()
    """Seconds until each of GOALS."""


def plain(data: Path, seed: int) -> Outcome:
    line = _python("bench.peers.nanogpt_training", data, "--seed", seed).splitlines()[-1]
    return Outcome(**json.loads(line))


def ours(words: Sequence[str], data: Path, seed: int, folder: Path) -> Outcome:
    """One `indicial train`; what it took is read from its metrics."""
    told = ["--data", data, "--tokens", "characters", "--eval-tokens", WHOLE, "--seed", seed]
    looks = ["--eval-every", 2000] if "--max-steps" in words else []
    _python("indicial", "train", *words, *told, *looks, "--out", folder)
    steps, seen = [], []
    for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        if "seconds" in row:
            steps.append(row["seconds"])
        elif "validation" in row:
            seen.append((steps[-1], row["validation"]["loss"]))
    return Outcome(
        steps[-1],
        min(loss for _, loss in seen),
        tuple(next((s for s, loss in seen if loss <= goal), None) for goal in GOALS),
    )


def _python(module: str, *words: object) -> str:
    command = [sys.executable, "-m", module, *map(str, words)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def table(outcomes: dict[str, list[Outcome]]) -> str:
    """Medians, with what each seed gave."""
    heads = ["", "validation, nats per character", "seconds in training"]
    heads += [f"seconds to {goal:.2f}" for goal in GOALS]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    for name, own in outcomes.items():
        cells = [_several([o.loss for o in own], 3), _several([o.seconds for o in own], 0)]
        for goal in range(len(GOALS)):
            times = [o.reached[goal] if o.reached else None for o in own]
            reached = [t for t in times if t is not None]
            cells.append(_several(reached, 1) if len(reached) == len(own) else "")
        lines.append([name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _several(values: Sequence[float], digits: int) -> str:
    each = ", ".join(f"{value:.{digits}f}" for value in values)
    return f"{statistics.median(values):.{digits}f} ({each})"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.shakespeare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into docs/results.md")
    options = parser.parse_args(given)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in (PLAIN, *OURS)}
    for seed in range(options.seeds):
        for name, own in outcomes.items():
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder) / "run"
                found = (
                    plain(options.data, seed)
                    if name == PLAIN
                    else ours(OURS[name], options.data, seed, run)
                )
            own.append(found)
            print(f"seed {seed}  {name}: {found}", file=sys.stderr, flush=True)
    text = table(outcomes)
    print(text)
    if options.write:
        about = "\n".join(f"- {line}" for line in machine.describe(machine.cores()).splitlines())
        page = PAGE.read_text(encoding="utf-8")
        new = f"<!-- shakespeare -->\n{about}\n\n{text}\n<!-- end -->"
        page = re.sub(r"<!-- shakespeare -->.*?<!-- end -->", lambda _: new, page, flags=re.DOTALL)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
