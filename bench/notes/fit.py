"""`python -m bench.notes.fit`: what other numbers in `program/vectors/costs.py` would change.

    number                      from    to     fold by fold         all
    COST.late                    2.0   2.7     +3  +0  +4  +0  -1   +6
    …

A display that passes as read counts one if it is read as meant, and minus three if not. Each number is tried
higher and lower, all others as they are. A document is read anew only if the inference decides something else
for it, which is found out by that step alone. A number that is worth changing gains in most folds: documents
are dealt to folds by their names, so that what one fold says is tried on documents that it has not seen.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from bench.notes import displays, labels, scoring
from bench.notes.__main__ import NOTES
from indicial.derivations import report
from indicial.program.program import Program
from indicial.program.vectors import vectors
from indicial.program.vectors.costs import COST, NEVER, WRITTEN, Form
from indicial.program.vectors.kinds import Kinds, Seen
from indicial.program.vectors.search import Reading

SETS = (
    "public", "wild", "fresh", "stretches", "unseen", "afresh", "further", "chapters", "online",
    "mixture", "gathered", "sealed", "reserve", "kept",
)  # fmt: skip
WRONG = 3
"""How many displays that are read as meant make up for one that is not."""
FOLDS = 5
FEWEST = 8
"""How many documents a number has to concern."""
LIMITS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.35, 2.7, 3.0, 4.0, 6.0, 12.0, 29.0)

Cell = tuple[str, int]
"""A number: of `COST`, by its name and -1; of `WRITTEN`, by its key and position."""

_used: set[str] = set()
_solved: list[tuple[vectors._Rewriting, bool, list[Any], Any]] = []


class _Traced(Form):
    """Numbers that remember that they were asked for."""

    def __getattribute__(self, name: str) -> Any:
        _used.add(name)
        return super().__getattribute__(name)


def decided(reading: Reading) -> Any:
    """What the inference decided, as far as anything else depends on it."""
    odd = [cost >= COST.odd for cost in reading.odd.values()]
    return reading.rows, reading.given, odd, [doubt.names for doubt in reading.doubts]


def watch() -> None:
    """Has the inference note what it uses and decides. Steps are not tried: they are no part of a reading."""
    written, solved = Kinds.written, vectors._Rewriting._solved

    def noted(self: Kinds, variable: str, seen: Seen) -> str:
        found = written(self, variable, seen)
        _used.add(found)
        return found

    def kept(self: vectors._Rewriting, equations: list[Any]) -> Reading:
        bold = self.kinds.in_bold
        reading = solved(self, equations)
        _solved.append((self, bold, equations, decided(reading)))
        return reading

    Kinds.written = noted  # type: ignore[method-assign]
    vectors._Rewriting._solved = kept  # type: ignore[method-assign]
    report.Derivations.amend = lambda self, program, messages: [  # type: ignore[method-assign]
        m for m in messages if m.code not in report.STEPS
    ]
    Program._with_tried_hint = lambda self, message: message  # type: ignore[method-assign]
    COST.__class__ = _Traced


@dataclass
class Document:
    """A document with its labels, as it is read with the numbers as they are."""

    read: Callable[[], list[scoring.Verdict]]
    name: str
    right: int = 0
    wrong: int = 0
    used: set[str] = field(default_factory=set)
    solved: list[tuple[vectors._Rewriting, bool, list[Any], Any]] = field(default_factory=list)

    @property
    def fold(self) -> int:
        return zlib.crc32(self.name.encode()) % FOLDS

    def begin(self) -> None:
        _used.clear()
        _solved.clear()
        self.right, self.wrong = _counted(self.read())
        self.used, self.solved = set(_used), list(_solved)

    def again(self) -> tuple[int, int]:
        """Right and wrong displays with the numbers as they are now."""
        if all(self._same(*one) for one in self.solved):
            return self.right, self.wrong
        return _counted(self.read())

    def _same(self, one: vectors._Rewriting, bold: bool, equations: list[Any], found: Any) -> bool:
        one.kinds.in_bold, one.kinds.apart = bold, set()
        return bool(decided(one._solved(equations)) == found)


def _counted(verdicts: Iterable[scoring.Verdict]) -> tuple[int, int]:
    passing = [v for v in verdicts if v.reading.computed and not v.reading.mistakes]
    outcomes = [v.outcome for v in passing]
    return outcomes.count("right"), outcomes.count("wrong")


def documents(sets: Sequence[str], notes: Path) -> Iterator[Document]:
    for name in sets:
        folder = labels.FOLDER if (labels.FOLDER / name).is_dir() else notes
        by_key = {display.key: display for display in displays.displays(folder)}
        known: dict[str, list[labels.Label]] = {}
        for label in labels.read_set(name):
            if label.key in by_key:
                known.setdefault(label.file, []).append(label)
        for file, some in known.items():
            found = [by_key[label.key] for label in some]
            yield Document(
                lambda folder=folder, some=some, found=found: scoring.score(folder, some, found),  # type: ignore[misc]
                file,
            )


def cells() -> Iterator[Cell]:
    """The numbers that can be changed; of how a name is written only what is not the least."""
    yield from ((one.name, -1) for one in fields(COST) if one.name != "odd")
    for key, costs in WRITTEN.items():
        least = min(range(len(costs)), key=costs.__getitem__)
        yield from ((key, n) for n in (0, 1, 3) if n != least and costs[n] < NEVER)


def value(cell: Cell) -> float:
    key, at = cell
    return float(getattr(COST, key) if at < 0 else WRITTEN[key][at])


def change(cell: Cell, number: float) -> None:
    key, at = cell
    if at < 0:
        setattr(COST, key, number)
    else:
        costs = list(WRITTEN[key])
        costs[at] = number
        if at == 1 and costs[2] < NEVER:
            costs[2] += number - WRITTEN[key][1]  # a row goes with its column
        WRITTEN[key] = (costs[0], costs[1], costs[2], costs[3])


def gains(every: Sequence[Document], cell: Cell, number: float) -> dict[str, int]:
    """What a number is worth, by document."""
    before = value(cell)
    change(cell, number)
    found = {}
    for document in every:
        if cell[0] in document.used:
            right, wrong = document.again()
            gain = right - document.right - WRONG * (wrong - document.wrong)
            if gain:
                found[document.name] = gain
    change(cell, before)
    return found


def limits(every: Sequence[Document]) -> None:
    """How many are read as meant and how many not, as the limit for odd equations moves."""
    before = COST.odd
    for limit in LIMITS:
        COST.odd = limit
        counts = [document.again() for document in every]
        right, wrong = sum(r for r, _ in counts), sum(w for _, w in counts)
        print(f"limit {limit:5.2f}: {right} right, {wrong} wrong", flush=True)
    COST.odd = before


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.notes.fit", description=__doc__)
    parser.add_argument("--notes", type=Path, default=NOTES)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--limits", action="store_true", help="move the limit for odd equations")
    options = parser.parse_args(given)
    watch()
    every = list(documents(options.sets, options.notes))
    for document in every:
        document.begin()
    print(f"{sum(d.right for d in every)} right, {sum(d.wrong for d in every)} wrong", flush=True)
    if options.limits:
        limits(every)
        return 0
    folds = {document.name: document.fold for document in every}
    counts = {cell: sum(cell[0] in document.used for document in every) for cell in cells()}
    for cell, concerned in sorted(counts.items(), key=lambda one: -one[1]):
        for sign in (1, -1) if concerned >= FEWEST else ():
            before = value(cell)
            number = round(before + sign * max(0.5, 0.35 * before), 2)
            if number < 0 <= before:
                continue
            found = gains(every, cell, number)
            each = [sum(g for name, g in found.items() if folds[name] == n) for n in range(FOLDS)]
            name = f"COST.{cell[0]}" if cell[1] < 0 else f"{cell[0]}[{cell[1]}]"
            counted = " ".join(f"{gain:+3d}" for gain in each)
            told = f"{sum(each):+4d} of {concerned} documents"
            print(f"{name:<34}{before:6.2f}{number:7.2f}   {counted} {told}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
