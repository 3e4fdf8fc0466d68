"""Who looks on while a model is trained: a display, a file of numbers, curves; and who wants it to end.

    watchers = [Metrics(run), Display()]
    train(task, module, settings, run, watchers)

    started(plan)                what is going to happen
    stepped(report)              after every step
    validated(report, scores)    after every look at the validation part
    saved(step, path)            a checkpoint is on the disk
    note(text)                   a sentence for the reader
    ended(summary)               always the last, also after Ctrl-C and mistakes

A watcher takes what it needs: `Watcher` does nothing at all of these. Of Ctrl-C, SIGTERM and a closed terminal the
first asks, and a second Ctrl-C ends (`Interrupts`). Only the main thread can listen; elsewhere nothing is ever asked.

A curve in a terminal, drawn with the dots of Braille: eight to a character.

    3.1 ┤⡇
        │⢣
        │⠈⢆   ●
        │  ⠑⠢⠤⣀⡀  ●
    1.9 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
        └────────────────
         0             2k

>>> Chart(columns=40, rows=6, right=2000).lines(curve=[(1, 3.1), …], marks=[(500, 2.4)], floor=1.9)

And what all figures share that are drawn by matplotlib.

>>> figure, axes = plain_axes(7, 4.2, "ugrnn on people")
>>> saved(figure, Path("runs/ugrnn-people-1"), "curves")
[PosixPath('runs/ugrnn-people-1/curves.png'), PosixPath('runs/ugrnn-people-1/curves.svg')]
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

from rich.text import Text

from indicial.program.outputs import new_figure, save_figure
from indicial.tasks.task import About, Scores


@dataclass(frozen=True, kw_only=True)
class Plan(About):
    """What is going to happen, known before the first step."""

    model: str
    """The title of the program: `transformer + focus`."""
    task: str
    folder: Path
    parameters: int
    sizes: Mapping[str, int]
    batch_size: int
    accumulate: int
    context: int
    first: int
    """The steps that are done already: 0, or where a run is resumed."""
    steps: int
    """The number of the last step."""
    seconds: float | None
    """How long the steps to come will take, as measured on a few of them."""
    optimizer: str
    learning_rate: float
    device: str
    precision: str

    @property
    def tokens_per_step(self) -> float:
        return self.batch_size * self.accumulate * (self.tokens_per_row or self.context)

    @property
    def epochs(self) -> float:
        """How often each token is seen."""
        return self.steps * self.tokens_per_step / max(1, self.tokens)


@dataclass(frozen=True)
class Report:
    """One step, just done."""

    step: int
    """The number of steps done, 1 after the first."""
    of: int
    tokens: int
    """Tokens seen so far, those before a resume included."""
    loss: float
    smoothed: float
    terms: Mapping[str, float]
    gradient_norm: float
    """Before clipping."""
    clipped: int
    """How many steps were clipped so far."""
    learning_rate: float
    tokens_per_second: float
    seconds: float
    """Time spent so far, that before a resume included."""
    seconds_left: float

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "terms": dict(self.terms)}


@dataclass(frozen=True)
class Summary:
    """How it ended."""

    reason: str
    """`finished`, `stopped` (Ctrl-C), `patience` (no better for long) or `failed`."""
    step: int
    of: int
    seconds: float
    tokens: int
    folder: Path
    best: Scores | None = None
    best_step: int | None = None
    last: Scores | None = None
    clipped: int = 0
    notes: tuple[str, ...] = field(default=())
    budget: float | None = None
    """The seconds that there were for it, if it was the data that ended it and not the time."""
    lost: str | None = None
    """Why somebody who looked on could be told no more: `Broken pipe`."""


class Watcher:
    """Looks on and does nothing. Those that do something change some of it; those that do the same with all that
    they are told change `heard`: `heard("stepped", report)`."""

    def heard(self, event: str, *values: Any) -> None:
        """Whatever is told, by the name of what it was told by."""

    def started(self, plan: Plan) -> None:
        """Before the first step."""
        self.heard("started", plan)

    def stepped(self, report: Report) -> None:
        """After every step."""
        self.heard("stepped", report)

    def validated(self, report: Report, scores: Scores) -> None:
        """After every look at the validation part."""
        self.heard("validated", report, scores)

    def saved(self, step: int, path: Path) -> None:
        """A checkpoint is on the disk."""
        self.heard("saved", step, path)

    def note(self, text: str) -> None:
        """A sentence for the reader."""
        self.heard("note", text)

    def ended(self, summary: Summary) -> None:
        """The last call, whatever happened."""
        self.heard("ended", summary)


class Watchers(Watcher):
    """Several as one: each is told everything, in order.

    One that cannot write any more (`indicial train … | head`, a terminal that was closed) is told
    no more, and the others go on. Why it could not is in `lost`.
    """

    def __init__(self, watchers: Iterable[Watcher] = ()) -> None:
        self.all = list(watchers)
        self.lost: OSError | None = None

    def heard(self, event: str, *values: Any) -> None:
        for watcher in tuple(self.all):
            try:
                getattr(watcher, event)(*values)
            except OSError as error:
                self.all.remove(watcher)
                self.lost = error


class Interrupts:
    """Whether somebody wants the training to end."""

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._heard) for one in _heeded()}
        return self

    def __exit__(self, *_: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = signal.Signals(number)


def _heeded() -> list[signal.Signals]:
    """All of them; but `nohup` has a process ignore that its terminal was closed."""
    found = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        found.append(signal.SIGHUP)  # Windows has none
    return found


Point = tuple[float, float]
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a Braille character, by row and column."""
LINE, MARK, FLOOR, FAINT = "bright_blue", "dark_orange", "green", "dim"
"""Blue and orange: they look different to everybody."""


@dataclass(frozen=True)
class Chart:
    """How large a chart is: characters inside the axes, and the last x."""

    columns: int
    rows: int
    right: float

    def lines(
        self, curve: Sequence[Point], marks: Sequence[Point] = (), floor: float | None = None
    ) -> list[Text]:
        """The curve with marks on it and a dashed line at `floor`; axes on the left and below."""
        curve = [(x, y) for x, y in curve if math.isfinite(y)]
        marks = [(x, y) for x, y in marks if math.isfinite(y)]
        low, high = _range(curve, marks, floor)
        cells = [[(" ", "")] * self.columns for _ in range(self.rows)]
        if floor is not None and curve:
            row = self._row(floor, low, high) // 4
            cells[row] = [("╌", FLOOR)] * self.columns
        for (row, column), bits in self._dots(curve, low, high).items():
            cells[row][column] = (chr(0x2800 + bits), LINE)
        for x, y in marks:
            cells[self._row(y, low, high) // 4][self._column(x) // 2] = ("●", MARK)
        return [*self._framed(cells, low, high), *self._below()]

    def _framed(self, cells: list[list[tuple[str, str]]], low: float, high: float) -> list[Text]:
        labels = {0: f"{high:5.2f} ┤", self.rows - 1: f"{low:5.2f} ┤"} if high > low else {}
        lines = []
        for number, row in enumerate(cells):
            line = Text.assemble((labels.get(number, "      │"), FAINT))
            for style, run in groupby(row, key=lambda cell: cell[1]):
                line.append("".join(character for character, _ in run), style or None)
            lines.append(line)
        return lines

    def _below(self) -> list[Text]:
        last = short(self.right)
        return [
            Text(f"      └{'─' * self.columns}", style=FAINT),
            Text(f"       0{last:>{self.columns - 1}}", style=FAINT),
        ]

    def _dots(self, curve: Sequence[Point], low: float, high: float) -> dict[tuple[int, int], int]:
        """The bits of each character that the curve passes, joined from column to column."""
        heights: dict[int, list[int]] = {}
        for x, y in curve:
            heights.setdefault(self._column(x), []).append(self._row(y, low, high))
        cells: dict[tuple[int, int], int] = {}
        before: tuple[int, int] | None = None
        for column in sorted(heights):
            row = round(sum(heights[column]) / len(heights[column]))
            start = before or (column, row)
            for x in range(start[0], column + 1):
                # A straight line from the dot before; its steps are filled.
                share = (x - start[0]) / max(1, column - start[0])
                here = round(start[1] + share * (row - start[1]))
                above = round(
                    start[1] + max(0.0, share - 1 / max(1, column - start[0])) * (row - start[1])
                )
                for y in range(min(here, above), max(here, above) + 1):
                    key = (y // 4, x // 2)
                    cells[key] = cells.get(key, 0) | DOTS[y % 4][x % 2]
            before = (column, row)
        return cells

    def _row(self, y: float, low: float, high: float) -> int:
        """The row of dots, 0 at the top; what is above the range is drawn at its edge."""
        share = (y - low) / (high - low) if high > low else 0.5
        return round((1 - min(1.0, max(0.0, share))) * (4 * self.rows - 1))

    def _column(self, x: float) -> int:
        return min(2 * self.columns - 1, max(0, int(x / max(1, self.right) * 2 * self.columns)))


def _range(
    curve: Sequence[Point], marks: Sequence[Point], floor: float | None
) -> tuple[float, float]:
    """The lowest and the highest y. The first fall is cut off, so that the rest can be seen."""
    if not curve and not marks:
        return 0.0, 0.0
    last = max((x for x, _ in (*curve, *marks)))
    late = [y for x, y in (*curve, *marks) if x >= 0.05 * last]
    high, low = max(late), min(late)
    low = min(low, floor) if floor is not None else low
    return low, high if high > low else low + 1e-6


def short(number: float) -> str:
    """`1234567` → `1.2M`."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit:
            value = number / limit
            return f"{value:.1f}".removesuffix(".0") + unit if value < 100 else f"{value:.0f}{unit}"
    return f"{number:.0f}"


# ---------------------------------------------------------------------- figures


FORMATS = ("png", "svg")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of Okabe and Ito (2008), told apart by everybody."""
MARKS = "osD^vPX"


def plain_axes(width: float, height: float, title: str = "") -> tuple[Any, Any]:
    """A figure with one panel: a grid, and no frame above and on the right."""
    figure = new_figure(width, height)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11, loc="left")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def saved(figure: Any, folder: str | os.PathLike[str], name: str) -> list[Path]:
    """Written as PNG and as SVG."""
    paths = [Path(folder) / f"{name}.{ending}" for ending in FORMATS]
    for path in paths:
        save_figure(figure, path)
    return paths
