"""What a person sees while a model is trained: a board in a terminal, lines elsewhere.

>>> with Picture([Board(), Board()]) as picture:       # two trainings, taking turns or in threads
...     train(…, watchers=[picture.boards[0]])

`PlainLines` says something at steps 1, 2, 5, 10, 20, …, at every validation, and at least once a
minute. `Output` says it when nobody reads what it writes any more (`indicial train … | head -5`): rich by itself
would end the process there, and a training with it, before anything is saved.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from indicial.program.terminal import escaped, raw
from indicial.tasks.task import Scores
from indicial.training.curves import History
from indicial.training.processes import writes
from indicial.training.watchers import (
    FLOOR,
    LINE,
    MARK,
    Chart,
    Plan,
    Point,
    Report,
    Summary,
    Watcher,
    short,
)

MOST_POINTS = 1000
"""A curve longer than this is thinned: a terminal shows no more."""
PAUSE = 0.5
"""Seconds between two pictures."""
SPARE = 0.1
"""Of the time, what is worth a word if it is left."""
SILENCE = 60.0
"""Seconds after which a line is written, whatever the step."""


def make_display(console: Console | None = None) -> Watcher:
    """A board where there is a terminal, lines where there is none; nothing in other processes."""
    if not writes():
        return Watcher()
    console = console or Output()
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveDisplay(console)
    return PlainLines(console)


class Board(Watcher):
    """All that is shown of one training; rich draws it at any width from 30 on."""

    def __init__(self, rows: int = 8) -> None:
        self.rows = rows
        self.changed: Callable[[], None] = lambda: None
        """Called after every step and validation; a `Picture` draws itself then."""
        self.plan: Plan | None = None
        self.report: Report | None = None
        self.scores: Scores | None = None
        self.curve: list[Point] = []
        self.validations: list[Point] = []

    def started(self, plan: Plan) -> None:
        self.plan = plan
        metrics = plan.folder / "metrics.jsonl"
        if plan.first and metrics.exists():  # a run that goes on shows what was before
            past = History.read(metrics)
            thin = max(1, 2 * len(past.steps) // MOST_POINTS)
            self.curve = list(zip(past.steps[::thin], past.smoothed[::thin], strict=True))
            self.validations = list(zip(past.validation_steps, past.validation, strict=True))

    def stepped(self, report: Report) -> None:
        self.report = report
        self.curve.append((report.step, report.smoothed))
        if len(self.curve) > MOST_POINTS:
            self.curve = self.curve[::2]
        self.changed()

    def validated(self, report: Report, scores: Scores) -> None:
        self.scores = scores
        self.validations.append((report.step, scores.per_token))
        self.changed()

    # ------------------------------------------------------------------ drawing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(30, options.max_width)
        if self.plan is None:
            return
        yield Text(f"{self.plan.model} on {self.plan.data}"[:width], style="bold")
        if self.report is None:
            yield Text("getting ready", style="dim")
            return
        yield _bar(self.report, width)
        yield from self._losses(width)
        chart = Chart(width - 8, self.rows, self.report.of)
        yield from chart.lines(self.curve, self.validations, entropy_per_token(self.scores))
        yield from _wrapped(_state(self.report), width)

    def _losses(self, width: int) -> Iterator[Text]:
        assert self.report is not None
        parts = [Text.assemble(("━ ", LINE), f"loss {self.report.smoothed:.3f}")]
        if self.scores is not None:
            parts.append(Text.assemble(("● ", MARK), f"validation {self.scores.per_token:.3f}"))
            parts += [Text(f"{name} {value:.3f}") for name, value in self.scores.figures.items()]
        above = self.scores.above_entropy if self.scores is not None else None
        if above is not None:
            parts.append(Text.assemble(("╌ ", FLOOR), f"entropy, {above:.3f} nats/word below"))
        elif self.scores is None or self.scores.probable:
            parts.append(Text("nats per token", style="dim"))
        parts += [
            Text(f"{name} {value:.3f}", style="dim") for name, value in self.report.terms.items()
        ]
        yield from _wrapped(parts, width)


class Picture:
    """Boards that are drawn again while training goes on: one, or several side by side."""

    def __init__(self, boards: Sequence[Board], console: Console | None = None) -> None:
        self.boards = boards
        self.console = console or Output()
        self._live: Live | None = None
        self._drawn = 0.0
        for board in boards:
            board.changed = self.refresh

    def __enter__(self) -> Picture:
        # No thread draws: it would take its time from the training.
        self._live = Live(self, console=self.console, auto_refresh=False)
        self._live.start()
        return self

    def refresh(self) -> None:
        """Draw again, unless that was done a moment ago."""
        now = time.monotonic()
        if self._live is not None and now - self._drawn > PAUSE:
            self._drawn = now
            self._live.refresh()

    def __exit__(self, *_: object) -> None:
        """Draw for the last time, and leave the picture where it is."""
        if self._live is not None:
            self._live.refresh()
            self._live.stop()
            self._live = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.boards[0] if len(self.boards) == 1 else side_by_side(self.boards)


def side_by_side(boards: Sequence[Board]) -> Table:
    found = Table.grid(padding=(0, 2), expand=True)
    for _ in boards:
        found.add_column(ratio=1)
    found.add_row(*boards)
    return found


class LiveDisplay(Board):
    """One training on the whole terminal: the plan above its board, the summary below."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.console = console or Output()
        self.picture = Picture([self], self.console)

    def started(self, plan: Plan) -> None:
        self._say(plan_lines(plan))
        super().started(plan)
        self.picture.__enter__()

    def note(self, text: str) -> None:
        self._say([text])  # above the board, where it stays

    def ended(self, summary: Summary) -> None:
        self.picture.__exit__()
        self._say(summary_lines(summary))

    def _say(self, lines: list[str]) -> None:
        for line in lines:
            self.console.print(line, highlight=False, markup=False)


class PlainLines(Watcher):
    """A line now and then, for logs and pipes."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Output()
        self._said = time.monotonic()

    def started(self, plan: Plan) -> None:
        for line in plan_lines(plan):
            self._say(line)

    def stepped(self, report: Report) -> None:
        if is_round(report.step) or report.step == report.of or self._silent():
            rate = f"{short(report.tokens_per_second)} tokens/s"
            left = f"{clock(report.seconds_left)} left"
            self._say(f"{_place(report)}  loss {report.smoothed:.3f}  {rate}  {left}")

    def validated(self, report: Report, scores: Scores) -> None:
        line = f"{_place(report)}  loss {report.smoothed:.3f}  validation {scores.per_token:.3f}"
        line += "".join(f"  {name} {value:.3f}" for name, value in scores.figures.items())
        above = scores.above_entropy
        self._say(line if above is None else f"{line}, {above:.3f} nats/word above the entropy")

    def note(self, text: str) -> None:
        self._say(text)

    def ended(self, summary: Summary) -> None:
        for line in summary_lines(summary):
            self._say(line)

    def _silent(self) -> bool:
        return time.monotonic() - self._said > SILENCE

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)


# ---------------------------------------------------------------------- words


def plan_lines(plan: Plan) -> list[str]:
    """What is going to happen, in a few lines."""
    sizes = ", ".join(f"{name} = {value}" for name, value in plan.sizes.items())
    time_ = f", about {clock(plan.seconds)}" if plan.seconds is not None else ""
    rows, steps = plan.batch_size * plan.accumulate, f"{plan.steps:,} step{'s' * (plan.steps != 1)}"
    lines = [
        f"{plan.model}, {short(plan.parameters)} parameters: {sizes}",
        f"{plan.data}; {plan.tokenizer}; {short(plan.tokens)} tokens to learn from",
        f"{steps} of {rows} x {_row(plan)}, {_few(plan.epochs)} epochs{time_}",
        f"{plan.optimizer}, learning rate {plan.learning_rate:.2g}; {plan.device}, {plan.precision}",
    ]
    if plan.says:
        lines.insert(1, plan.says)
    if plan.first:
        lines.append(f"going on after step {plan.first:,}")
    return lines


def _row(plan: Plan) -> str:
    """What a row of a batch is: `128 tokens`, `29.4 tokens (5 % padding)`."""
    if plan.padding is None:
        return f"{plan.tokens_per_row or plan.context:.0f} token{'s' * (plan.tokens_per_row != 1)}"
    return f"{plan.tokens_per_row:.1f} tokens ({100 * plan.padding:.0f} % padding)"


def summary_lines(summary: Summary) -> list[str]:
    """How it ended."""
    reasons = {
        "finished": "finished",
        "stopped": "stopped",
        "patience": "stopped, as validation got no better",
        "failed": "failed",
    }
    lines = [
        f"{reasons.get(summary.reason, summary.reason)} after step {summary.step:,} of "
        f"{summary.of:,}: {short(summary.tokens)} tokens in {clock(summary.seconds)}"
    ]
    if summary.best is not None:
        at = f" at step {summary.best_step:,}" if summary.best_step is not None else ""
        words = score_words(summary.best)
        lines.append(f"best validation{at}: {', '.join(words[:2])}")
        lines += [f"  {', '.join(words[2:])}"] if words[2:] else []
    spare = (summary.budget or 0.0) - summary.seconds
    if summary.reason == "finished" and spare > SPARE * (summary.budget or 0.0):
        lines.append(
            f"{clock(spare)} of the time is left: to read so little text more often would not help"
        )
    lines += [*summary.notes, f"the run is in {summary.folder}"]
    if summary.reason == "stopped" and summary.step < summary.of:
        lines.append(f"to go on: indicial train --resume {summary.folder}")
    return lines


def score_words(scores: Scores) -> list[str]:
    """`["2.241 nats per token", "perplexity 9.4", "3.23 bits per character"]`."""
    figures = [f"{name} {value:.3f}" for name, value in scores.figures.items()]
    if not scores.probable:
        return [f"loss {scores.per_token:.3f}", *figures]
    words = [
        f"{scores.per_token:.3f} nats per {scores.each}",
        f"perplexity {scores.perplexity:.3g}",
    ]
    words += figures
    if scores.bits_per_character is not None:
        words.append(f"{scores.bits_per_character:.3f} bits per character")
    if scores.above_entropy is not None:
        words.append(f"{scores.above_entropy:.3f} nats per word above the entropy")
    return words


def entropy_per_token(scores: Scores | None) -> float | None:
    """The entropy in the unit of the curves: that of a word, shared among its tokens."""
    if scores is None or scores.entropy is None or not scores.count:
        return None
    return scores.entropy * scores.words / scores.count


def clock(seconds: float) -> str:
    """`72` → `1:12`, `7380` → `2:03:00`."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def is_round(step: int) -> bool:
    """1, 2, 5, 10, 20, 50, 100, …"""
    return str(step).rstrip("0") in ("1", "2", "5")


def _place(report: Report) -> str:
    return f"step {report.step:>{len(str(report.of))}}/{report.of}"


def _bar(report: Report, width: int) -> Text:
    share = report.step / max(1, report.of)
    right = f" {100 * share:3.0f}%  {clock(report.seconds_left)} left"
    room = max(10, width - len(right))
    done = round(share * room)
    return Text.assemble(("━" * done, LINE), ("━" * (room - done), "dim"), right)


def _state(report: Report) -> list[Text]:
    clipped = f", clipped {report.clipped:,}" if report.clipped else ""
    return [
        Text(f"step {report.step:,} of {report.of:,}"),
        Text(f"{short(report.tokens_per_second)} tokens/s"),
        Text(f"gradient {report.gradient_norm:.2g}{clipped}"),
        Text(f"rate {report.learning_rate:.2g}"),
    ]


def _wrapped(parts: list[Text], width: int) -> Iterator[Text]:
    """Parts side by side, in as many lines as they need."""
    line = Text()
    for part in parts:
        if line and len(line) + 3 + len(part) > width:
            yield line
            line = Text()
        line = Text.assemble(line, "   ", part) if line else part
    if line:
        yield line


def _few(number: float) -> str:
    """`20.48` → `20.5`, `0.00648` → `0.0065`."""
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"


class Output(Console):
    """Raises `BrokenPipeError` once; what comes later is not written.

    Control characters in what is said are shown; those of rich itself, segments of their own, are obeyed.
    """

    @property
    def file(self) -> IO[str]:
        return raw(super().file)

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        if not self.is_terminal:
            return super()._render_buffer(buffer)
        return super()._render_buffer(
            [one if one.control else one._replace(text=escaped(one.text)) for one in buffer]
        )

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise  # rich calls this where it has caught the error


def discard_stdout() -> None:
    """What still waits to be written goes nowhere: else Python complains about it at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
