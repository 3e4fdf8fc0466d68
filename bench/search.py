"""How good are the defaults? A random search over settings at equal time, beside nothing said.

    .venv/bin/python -m bench.search transformer --data a.txt b.txt --minutes 0.4 --out FOLDER

For each file: `indicial train MODEL --data FILE --minutes M`, then the same with settings drawn at
random around those that this chose. Each is measured in bits per character on the same held-out end
of the file. Trials go one after the other with all cores that the process may use; `taskset -c 0`
gives them one. Each is kept in FOLDER/trials.jsonl, and a search that was stopped goes on there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib.figure  # noqa: F401  what every trial needs is imported once
import torch.optim  # noqa: F401

from indicial import cli

HELD_OUT = 0.05
MOST_HELD_OUT = 60_000
"""Characters that each trial is measured on."""
TRIALS = 20
WIDTHS = (32, 48, 64, 96, 128, 192, 256, 384, 512)


@dataclass(frozen=True)
class Trial:
    """What was said beside the data, and what came out; the defaults have number 0."""

    file: str
    number: int
    said: dict[str, Any]
    bits: float | None
    """Per character; None if training failed."""
    seconds: float
    chosen: dict[str, Any]
    """Sizes and settings of the run, whoever chose them."""


def search(model: list[str], file: Path, minutes: float, trials: int, out: Path) -> list[Trial]:
    """All trials of one file; those that are in the folder are not done again."""
    log, parts = out / "trials.jsonl", divide(file, out / "parts")
    name = f"{'+'.join(model)} {file.name}"
    done = {t.number: t for t in read(log) if t.file == name}
    for number in range(trials + 1):
        if number not in done:
            said = draw(random.Random(f"{name} {number}"), done[0].chosen) if number else {}
            done[number] = trial = measure(name, number, model, parts, minutes, said, out / "run")
            with log.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(trial), ensure_ascii=False) + "\n")
            print(f"{name}  {number:2d}  {trial.bits}  {trial.seconds:.0f} s  {said}", flush=True)
    return [done[number] for number in range(trials + 1)]


def divide(file: Path, folder: Path) -> tuple[Path, Path]:
    """The file without its end, and its end: whole lines."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    wanted = min(MOST_HELD_OUT, HELD_OUT * sum(map(len, lines)))
    kept, cut = 0.0, len(lines)
    while kept < wanted:
        cut -= 1
        kept += len(lines[cut])
    first, second = folder / f"{file.stem}.train.txt", folder / f"{file.stem}.held-out.txt"
    first.write_text("".join(lines[:cut]), encoding="utf-8")
    second.write_text("".join(lines[cut:]), encoding="utf-8")
    return first, second


def draw(chance: random.Random, chosen: dict[str, Any]) -> dict[str, Any]:
    """Settings around those that were chosen: half to twice the size, a quarter to four times the
    rows and the learning rate, the other optimizer now and then."""
    sizes, settings = chosen["sizes"], chosen["settings"]
    middle = min(range(len(WIDTHS)), key=lambda i: abs(WIDTHS[i] - sizes["J"]))
    width = WIDTHS[min(len(WIDTHS) - 1, max(0, middle + chance.randint(-2, 2)))]
    context = max(16, int(settings["context"] * 2.0 ** chance.randint(-2, 1)))
    tokens = settings["batch_size"] * settings["context"] * 2.0 ** chance.randint(-2, 2)
    adamw = chance.random() < 0.25
    rate = settings["learning_rate"] * 2.0 ** chance.uniform(-2, 2) * (0.4 if adamw else 1)
    said: dict[str, Any] = {
        "--set": [f"J={width}"],
        "--context": str(context),
        "--batch-size": str(max(1, round(tokens / context))),
        "--optimizer": "adamw" if adamw else "muon",
        "--learning-rate": f"{rate:.2g}",
        "--weight-decay": chance.choice(["0", "0.1"]),
    }
    if "L" in sizes:
        said["--set"].append(f"L={max(1, sizes['L'] + chance.randint(-1, 2))}")
    if "K" in sizes:
        said["--set"].append(f"K={max(1, width // chance.choice([16, 32, 64]))}")
    return said


def measure(
    name: str,
    number: int,
    model: list[str],
    parts: tuple[Path, Path],
    minutes: float,
    said: dict[str, Any],
    run: Path,
) -> Trial:
    """One training with its evaluation."""
    shutil.rmtree(run, ignore_errors=True)
    options = [word for option, value in said.items() for word in _words(option, value)]
    begun = time.monotonic()
    indicial("train", *model, "--data", parts[0], "--minutes", minutes, "--out", run, *options)
    seconds = time.monotonic() - begun
    if not (run / "run.json").exists():
        return Trial(name, number, said, None, seconds, {})
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    chosen = {part: facts[part] for part in ("sizes", "settings")}
    # Every token is predicted from at least half a row.
    found = indicial("evaluate", run, "--data", parts[1], "--documents", "auto", "--json")
    bits = json.loads(found)["bits_per_character"] if found else None
    return Trial(name, number, said, bits, seconds, chosen)


def _words(option: str, value: str | list[str]) -> list[str]:
    return [w for v in ([value] if isinstance(value, str) else value) for w in (option, v)]


def indicial(*words: object) -> str:
    """What a command prints; nothing if it fails. Forked, since starting takes as long as a trial."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        child = os.fork()
        if child == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            status = 1
            try:
                status = cli.main([str(word) for word in words])
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        printed.seek(0)
        return printed.read() if status == 0 else ""


def read(log: Path) -> list[Trial]:
    if not log.exists():
        return []
    return [Trial(**json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]


def told(trials: list[Trial]) -> str:
    """One line of the table: the defaults beside the best that was found."""
    own = trials[0]
    best = min((t for t in trials[1:] or trials if t.bits is not None), key=lambda t: t.bits or 0.0)
    assert own.bits is not None and best.bits is not None
    off = own.bits / best.bits - 1
    settings = " ".join(w for o, v in best.said.items() for w in _words(o, v))
    return f"| {own.file} | {own.bits:.3f} | {best.bits:.3f} | {off:+.1%} | `{settings}` |"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.search",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="+", help="as for `indicial train`")
    parser.add_argument("--data", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--minutes", type=float, default=0.5, help="of each trial (0.5)")
    parser.add_argument(
        "--trials", type=int, default=TRIALS, help=f"beside the defaults ({TRIALS})"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="what was done")
    options = parser.parse_args(given)
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [
        told(search(options.model, file, options.minutes, options.trials, options.out))
        for file in options.data
    ]
    print("| model, file | defaults, bits per character | best of the search | off | found |")
    print("| --- | ---: | ---: | ---: | --- |", *lines, sep="\n")


if __name__ == "__main__":
    main()
