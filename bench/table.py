"""Measurements → one table with verdicts, and the lines behind it.

    what     against         ours, mean of sizes   wanted
    ugrnn    hoisted loop    7.4×                  ≥ 7×     reached

A `Line` is one measurement beside one peer. A `Verdict` is what is said of several lines: their
geometric mean against the target. Both are printed for the terminal and for the document.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.timing import Spread, geometric_mean

NOT_THERE = "not there yet"


@dataclass(frozen=True)
class Line:
    """One subject at one size beside one peer. `ratio` is theirs to ours: above 1 we are ahead.

    `rates` are GFLOP/s, ours and theirs, where the two do the same products.
    """

    subject: str
    size: str
    peer: str
    ours: float | None = None
    theirs: float | None = None
    ratio: Spread | None = None
    rates: tuple[float, ...] = ()
    note: str = ""

    def cells(self) -> list[str]:
        ratio, spread = "", ""
        if self.ratio is not None:
            low, median, high = map(times, (self.ratio.low, self.ratio.median, self.ratio.high))
            ratio = f"{median}×"
            spread = f"{low}–{high}" if low != high else ""
        taken = ["–" if value is None else number(value) for value in (self.ours, self.theirs)]
        rates = "/".join(f"{rate:.0f}" for rate in self.rates)
        return [self.subject, self.size, self.peer, *taken, ratio, spread, rates, self.note]


@dataclass(frozen=True)
class Verdict:
    """What several lines come to, and whether it is what was wanted.

    `value` is None where it could not be measured; `target` is None where none was set.
    """

    subject: str
    peer: str
    value: float | None
    target: float | None = None
    at_least: bool = True
    unit: str = "×"
    note: str = ""

    @property
    def reached(self) -> bool | None:
        if self.value is None or self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target

    def cells(self) -> list[str]:
        value = "–" if self.value is None else times(self.value) + self.unit
        sign = "≥" if self.at_least else "≤"
        target = "" if self.target is None else f"{sign} {self.target:g}{self.unit}"
        said = {True: "reached", False: "not reached", None: ""}[self.reached]
        if self.value is None:
            said = "not measured"
        return [self.subject, self.peer, value, target, said, self.note]


LINE_HEADS = ["what", "size", "against", "ours", "theirs", "ratio", "rounds", "GFLOP/s", ""]
VERDICT_HEADS = ["what", "against", "mean", "wanted", "", ""]


@dataclass
class Section:
    """One part of the run: its lines, its verdicts and what the reader has to know.

    `heads` and `rows` are for what is no comparison with a peer, `points` for a picture: (B, T, J)
    → milliseconds by contender.
    """

    title: str
    unit: str = "ms"  # of ours and theirs in the lines
    lines: list[Line] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    points: dict[tuple[int, int, int], dict[str, float]] = field(default_factory=dict)

    def tables(self) -> list[tuple[list[str], list[list[str]]]]:
        """Heads and rows of its tables, without those that are empty."""
        found = [(LINE_HEADS, [line.cells() for line in self.lines]), (self.heads, self.rows)]
        return [(heads, rows) for heads, rows in found if rows]


def verdict_of_mean(
    lines: Iterable[Line], subject: str, peer: str, target: float | None = None, note: str = ""
) -> Verdict:
    """The geometric mean over the sizes; missing if one of the sizes is."""
    ratios = [line.ratio for line in lines if (line.subject, line.peer) == (subject, peer)]
    known = [ratio.median for ratio in ratios if ratio is not None]
    mean = geometric_mean(known) if known and len(known) == len(ratios) else None
    return Verdict(subject, peer, mean, target, note=note)


def number(value: float) -> str:
    """Three digits, no more: 0.0473, 1.24, 38.2, 295."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def times(ratio: float) -> str:
    """A ratio: two decimals below 1, where a third would be noise."""
    return f"{ratio:.2f}" if ratio < 1 else number(ratio)


def plain(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned with spaces, for a terminal; a column that is empty is left out."""
    kept = [n for n in range(len(heads)) if any(row[n] for row in rows)]
    table = [[row[n] for n in kept] for row in [heads, *rows]]
    widths = [max(width(row[n]) for row in table) for n in range(len(kept))]
    return "\n".join(
        "  ".join(c + " " * (w - width(c)) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in table
    )


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as a table of a Markdown document."""
    kept = [n for n in range(len(heads)) if any(row[n] for row in rows)]
    lines = ["| " + " | ".join(row[n] for n in kept) + " |" for row in [heads, *rows]]
    lines.insert(1, "|" + " --- |" * len(kept))
    return "\n".join(lines)


def width(text: str) -> int:
    """How many columns of a terminal a text takes; accents take none."""
    return sum(1 for letter in text if not unicodedata.combining(letter))
