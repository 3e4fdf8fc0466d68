"""How good are the defaults? A random search over settings at equal cost, beside nothing said.

    taskset -c 0 .venv/bin/python -m bench.search transformer --data a.txt b.jsonl --minutes 0.2 \\
        --out FOLDER

For each file: `indicial train MODEL --data FILE --minutes M`, then the same with settings drawn at
random around those that this chose: what a token and a document is, sizes, rows, optimizer, learning
rate, weight decay. All are measured on the same held-out part: the
end of a running text, every tenth document of a list. Trial 0, nothing said, counts by its last
weights, the others by their best.

The minutes are those of the processor (`time.process_time`), so that others on the machine take
nothing away. The best of a search was also the luckiest, so it is trained twice more with other
seeds, and so is nothing said; the table compares these. All is kept in FOLDER/trials.jsonl, and a
search that was stopped goes on there; without the lines of trial 0 in it, nothing said is tried anew.
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
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib.figure  # noqa: F401  what every trial needs is imported once
import torch.optim  # noqa: F401

from indicial import cli
from indicial.data.documents import lines_are
from indicial.training import loop, optimizers
from indicial.training.curves import Curves
from indicial.training.watchers import Watcher

EVERY = 10
MOST_HELD_OUT = 20_000
"""Characters that each trial is measured on."""
TRIALS = 30
SEEDS = (1, 2)
"""Beside 0, with which all are tried."""
VOCABULARIES = (300, 600, 1200, 2400, 4800, 9600)
WIDTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


@dataclass(frozen=True)
class Trial:
    """What was said beside the data, and what came out; the defaults have number 0."""

    file: str
    number: int
    seed: int
    said: dict[str, Any]
    bits: float | None
    """Per character of the held-out part; None if training failed."""
    last: float | None
    """The same by the last weights."""
    seconds: float
    """Of the processor."""
    steps: int
    chosen: dict[str, Any]
    """Sizes, settings and tokens of the run, whoever chose them."""


@dataclass(frozen=True)
class Search:
    """The trials of one model on one file, kept in a folder."""

    model: tuple[str, ...]
    file: Path
    minutes: float
    out: Path

    @property
    def name(self) -> str:
        return f"{'+'.join(self.model)} {self.file.name}"

    def trial(self, number: int) -> None:
        """One of the search; 0 is nothing said."""
        done = self.done()
        if (number, 0) not in done:
            first = done.get((0, 0))
            chance = random.Random(f"{self.name} {number}")
            self._try(number, 0, draw(chance, first.chosen, self.file) if first else {})

    def again(self) -> None:
        """Nothing said and the best of the search, with other seeds."""
        done = self.done()
        for trial in (done[0, 0], best(done.values())):
            for seed in SEEDS:
                if trial is not None and (trial.number, seed) not in done:
                    self._try(trial.number, seed, trial.said)

    def done(self) -> dict[tuple[int, int], Trial]:
        return {(t.number, t.seed): t for t in read(self.out / "trials.jsonl", self.name)}

    def _try(self, number: int, seed: int, said: dict[str, Any]) -> None:
        found = self._measure(number, seed, said, divide(self.file, self.out / "parts"))
        with (self.out / "trials.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
        print(f"{self.name}  {number}/{seed}  {found.bits}  {found.last}  {said}", flush=True)

    def _measure(
        self, number: int, seed: int, said: dict[str, Any], parts: tuple[Path, Path]
    ) -> Trial:
        """One training with its evaluation."""
        run = self.out / "run"
        shutil.rmtree(run, ignore_errors=True)
        options: dict[str, Any] = {"--minutes": f"{self.minutes:g}", "--seed": f"{seed}", **said}
        indicial("train", *self.model, "--data", parts[0], "--out", run, *_words(options))
        if not (run / "run.json").exists():
            return Trial(self.name, number, seed, said, None, None, 0.0, 0, {})
        facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
        chosen = {part: facts[part] for part in ("sizes", "settings")}
        chosen["tokens"] = [facts["data"]["tokens"], facts["data"]["vocabulary"]]
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        steps = [line for line in map(json.loads, lines) if "seconds" in line]
        characters = len(parts[1].read_text(encoding="utf-8"))
        if parts[1].suffix == ".jsonl":
            texts = (json.loads(line) for line in parts[1].read_text("utf-8").splitlines())
            characters = sum(len(str(next(iter(row.values())))) + 1 for row in texts)
        measured: list[float | None] = []
        for which in ("best", "last") if not number else ("best",):
            words = ("--data", parts[1], "--checkpoint", which, "--json")
            found = indicial("evaluate", run, *words)
            nats = json.loads(found)["nats"] if found else None
            measured.append(nats and nats / 0.6931471805599453 / characters)
        end: dict[str, Any] = steps[-1] if steps else {"seconds": 0.0, "step": 0}
        return Trial(
            self.name,
            number,
            seed,
            said,
            measured[0],
            measured[-1],
            end["seconds"],
            end["step"],
            chosen,
        )


def divide(file: Path, folder: Path) -> tuple[Path, Path]:
    """What is trained on, and what is held out: whole lines."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    rows = file.suffix == ".jsonl" or lines_are([line.rstrip("\n") for line in lines])
    most = min(MOST_HELD_OUT, sum(map(len, lines)) // EVERY)
    held: set[int] = set()
    order = range(EVERY - 1, len(lines), EVERY) if rows else range(len(lines) - 1, 0, -1)
    size = 0
    for number in order:
        if size < most:
            held.add(number)
            size += len(lines[number])
    found = []
    for name, inside in (("train", False), ("held-out", True)):
        path = folder / f"{file.stem}.{name}{file.suffix}"
        kept = "".join(line for i, line in enumerate(lines) if (i in held) == inside)
        path.write_text(kept, encoding="utf-8")
        found.append(path)
    return found[0], found[1]


def draw(chance: random.Random, chosen: dict[str, Any], file: Path) -> dict[str, Any]:
    """Settings around those that were chosen: half to twice the size, a quarter to four times the
    rows and the learning rate, the other optimizer now and then; characters, or a vocabulary that may
    be smaller and four times as large."""
    sizes, settings = chosen["sizes"], chosen["settings"]
    middle = min(range(len(WIDTHS)), key=lambda i: abs(WIDTHS[i] - sizes["J"]))
    width = WIDTHS[min(len(WIDTHS) - 1, max(0, middle + chance.randint(-2, 2)))]
    context = max(16, int(settings["context"] * 2.0 ** chance.randint(-1, 2)))
    tokens = settings["batch_size"] * settings["context"] * 2.0 ** chance.randint(-2, 2)
    adamw = chance.random() < 0.25
    rate = settings["learning_rate"] * 2.0 ** chance.uniform(-2, 2) * (0.4 if adamw else 1)
    said: dict[str, Any] = {
        "--set": [f"J={width}"],
        "--context": str(context),
        "--batch-size": str(max(1, round(tokens / context))),
        "--optimizer": "adamw" if adamw else "muon",
        "--learning-rate": f"{rate:.2g}",
        "--weight-decay": chance.choice(["0", "0.1", "0.1", "0.3", "1"]),
    }
    kind, size = chosen["tokens"]
    near = [v for v in VOCABULARIES if v <= (4 * size if kind == "bpe" else VOCABULARIES[1])]
    if chance.random() < 2 / (2 + len(near)):
        said["--tokens"] = "characters"
    else:
        said["--vocabulary"] = str(chance.choice(near))
    if chance.random() < 0.15 and file.suffix != ".jsonl":
        said["--documents"] = chance.choice(["file", "lines", "blank-lines"])
    if "L" in sizes:
        said["--set"].append(f"L={max(1, sizes['L'] + chance.randint(-1, 2))}")
    if "K" in sizes:
        said["--set"].append(f"K={max(1, width // chance.choice([16, 32, 64]))}")
    return said


def _words(options: dict[str, Any]) -> list[str]:
    return [
        word
        for option, value in options.items()
        for v in ([value] if isinstance(value, str) else value)
        for word in (option, v)
    ]


def indicial(*words: object) -> str:
    """What a command prints; nothing if it fails. Forked, since starting takes as long as a trial."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        child = os.fork()
        if child == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            optimizers.now = time.process_time
            loop.REHEARSAL = 0.3
            Curves.ended = Watcher.ended  # type: ignore[method-assign]  # nobody looks at them
            status = 1
            try:
                status = cli.main([str(word) for word in words])
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        printed.seek(0)
        return printed.read() if status == 0 else ""


def read(log: Path, name: str) -> Iterable[Trial]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return (trial for trial in (Trial(**json.loads(line)) for line in lines) if trial.file == name)


def best(trials: Iterable[Trial]) -> Trial | None:
    """Of the search, by the seed that all have in common."""
    found = [t for t in trials if t.number and not t.seed and t.bits]
    return min(found, key=lambda t: t.bits or 0.0, default=None)


def told(trials: Sequence[Trial]) -> str:
    """One line of the table: the defaults beside the best that was found, by other seeds."""
    found = best(trials)
    own = [t.last for t in trials if t.number == 0 and t.last]
    words = f"| {trials[0].file} | {mean(own):.3f} |"
    lasts = [t.last / t.bits - 1 for t in trials if t.number == 0 and t.bits and t.last]
    if found is None or not any(t.number == found.number and t.seed and t.bits for t in trials):
        return f"{words} | | | {max(lasts):.1%} | |"
    again = [t.bits for t in trials if t.number == found.number and t.seed and t.bits]
    off = mean(own) / mean(again) - 1
    settings = " ".join(_words(found.said))
    return (
        f"{words} {found.bits:.3f} | {mean(again):.3f} | {off:+.1%} | {max(lasts):.1%} "
        f"| `{settings}` |"
    )


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
    searches = [
        Search(tuple(options.model), file, options.minutes, options.out) for file in options.data
    ]
    for number in range(options.trials + 1):  # in turns: one that is stopped has some of each
        for search in searches:
            search.trial(number)
    for search in searches:
        search.again()
    lines = [told(list(search.done().values())) for search in searches]
    print(
        "| model, file | nothing said | best, lucky | best, other seeds | off | last - best | found |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |", *lines, sep="\n")


if __name__ == "__main__":
    main()
