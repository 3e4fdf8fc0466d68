"""`python -m bench.notes`: how well real notes are read.

python -m bench.notes score                     the table; --verbose shows what is not as meant
python -m bench.notes draw --count 100 --seed 7 --batches 4 --out /tmp/batches
python -m bench.notes check bench/notes/dev.jsonl
python -m bench.notes second bench/notes/dev.jsonl --count 60 --out /tmp/again
python -m bench.notes second bench/notes/dev.jsonl --with /tmp/again.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from bench.notes import agreement, displays, labels, scoring

NOTES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "notes"


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.notes", description="Draw, label and score displays of real notes."
    )
    parser.add_argument("--notes", type=Path, default=NOTES, help=f"the folder ({NOTES})")
    commands = parser.add_subparsers(dest="command", required=True)
    score = commands.add_parser("score", help="what Indicial makes of the labelled displays")
    score.add_argument(
        "--set",
        default="dev",
        help="which labels: dev (default), final, latest, newest, public, wild, fresh, stretches, "
        "unseen, afresh, further, chapters, online, mixture, gathered, sealed, reserve, kept, textbooks, lessons",
    )
    score.add_argument("--verbose", action="store_true", help="show each that is not as meant")
    score.add_argument("--json", action="store_true", help="a verdict a line, for comparing")
    draw = commands.add_parser("draw", help="draw displays to be labelled")
    draw.add_argument("--count", type=int, default=100)
    draw.add_argument("--seed", type=int, required=True)
    check = commands.add_parser("check", help="find what is wrong with files of labels")
    check.add_argument("files", type=Path, nargs="+")
    second = commands.add_parser("second", help="a sample for a second reader; the agreement")
    second.add_argument("file", type=Path, help="the labels of the first reader")
    second.add_argument("--with", type=Path, dest="other", help="the labels of the second reader")
    second.add_argument("--count", type=int, default=60)
    second.add_argument("--seed", type=int, default=0)
    for each in (draw, second):
        each.add_argument("--batches", type=int, default=1, help="so many readers share the work")
        each.add_argument("--out", type=Path, help="write the batches here, not to the screen")
        each.add_argument("--context", type=int, default=8, help="lines of prose around each")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given)
    if options.command == "second" and options.other is not None:
        pairs = agreement.pairs(labels.read(options.file), labels.read(options.other))
        print(agreement.text(pairs))
        return 0
    sets = [path.stem for path in getattr(options, "files", ())] or [getattr(options, "set", "dev")]
    if all((labels.FOLDER / name).is_dir() for name in sets):
        options.notes = labels.FOLDER  # these notes are ours to keep
    if not options.notes.is_dir():
        print(f"there are no notes in {options.notes}; nothing is measured")
        return 0
    every = displays.displays(options.notes)
    if options.command == "score":
        return _score(options, every)
    if options.command == "check":
        return _check(options.files, every)
    if options.command == "draw":
        known = {(each.folder, each.hash) for each in labels.read_set("*")}
        drawn = displays.draw(every, options.count, options.seed, known)
    else:
        by_key = {display.key: display for display in every}
        chosen = agreement.sample(labels.read(options.file), options.count, options.seed)
        drawn = [by_key[label.key] for label in chosen if label.key in by_key]
    _hand_out(drawn, options)
    return 0


def _score(options: argparse.Namespace, every: Sequence[displays.Display]) -> int:
    known = labels.read_set(options.set)
    verdicts = scoring.score(options.notes, known, every)
    if options.json:
        for verdict in verdicts:
            row = {"file": verdict.label.file, "line": verdict.label.line}
            row |= {"kind": verdict.label.kind, "outcome": verdict.outcome}
            row |= {"as_meant": verdict.as_meant, "reasons": verdict.reasons}
            row["messages"] = [m.code for m in verdict.reading.mistakes]
            print(json.dumps(row, ensure_ascii=False))
        return 0
    if options.verbose:
        for verdict in verdicts:
            if not verdict.as_meant:
                print(scoring.report(verdict), end="\n\n")
    print(f"{len(verdicts)} displays, labels {options.set}")
    if len(verdicts) < len(known):
        print(f"{len(known) - len(verdicts)} labels fit no display of this folder")
    print(scoring.table(verdicts))
    return 0


def _check(files: Sequence[Path], every: Sequence[displays.Display]) -> int:
    found = []
    for path in files:
        try:
            found += [f"{path.name}: {line}" for line in labels.check(labels.read(path), every)]
        except ValueError as error:
            found.append(str(error))
    print("\n".join(found) or "nothing is wrong")
    return 1 if found else 0


def _hand_out(drawn: Sequence[displays.Display], options: argparse.Namespace) -> None:
    """Prints the displays with their context, each with a line to be filled in."""
    each = -(-len(drawn) // options.batches)
    for number in range(options.batches):
        batch = drawn[number * each : (number + 1) * each]
        text = "\n".join(_shown(display, options.context) for display in batch)
        if options.out is None:
            print(text)
            continue
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / f"batch-{number + 1}.txt"
        path.write_text(text, encoding="utf-8")
        blank = (labels.Label(*display.key, "outside") for display in batch)
        labels.write(path.with_suffix(".jsonl"), blank)
        print(f"{path}: {len(batch)} displays; fill in {path.with_suffix('.jsonl').name}")


def _shown(display: displays.Display, context: int) -> str:
    head = f"===== {display.file}:{display.line}  {display.hash}"
    return f"{head}\n{display.context(context)}\n----- the display\n{display.body.strip()}\n"


if __name__ == "__main__":
    raise SystemExit(main())
