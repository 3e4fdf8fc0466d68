"""What a person sees: a board of 80 columns, or lines."""

import io
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from indicial.training import display
from indicial.training.curves import Metrics
from indicial.training.display import Board, LiveDisplay, Picture, PlainLines, clock, make_display
from indicial.training.watchers import Chart, Watcher, short
from tests.training.reports import feed, plan, report, scores, summary

Golden = Callable[[str, str], None]
FOLDER = Path("runs/names-1")


def shown(what: object, width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(what)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines())) <= width
    return "\n".join(line.rstrip() for line in text.splitlines())


def fed(last: int, entropy: float | None = None, rows: int = 8) -> Board:
    board = Board(rows)
    feed(board, FOLDER, last, entropy)
    return board


def test_board(golden: Golden) -> None:
    pages = [
        shown(fed(1300, entropy=7.2)),
        shown(fed(1300), 40),
        shown(Picture([fed(1300, rows=5), fed(700, 7.2, rows=5)])),
        shown(fed(3)),
    ]
    golden("train_board.txt", ("\n" + "-" * 80 + "\n").join(pages))


def test_lines(golden: Golden) -> None:
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    lines = PlainLines(console)
    feed(lines, FOLDER, 2000, entropy=7.2)
    lines.note("the loss is not a number at step 7; the step was left out")
    lines.ended(summary(FOLDER, 2000, best=scores(2000, 7.2)))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines())) <= 82
    golden("train_lines.txt", text)


def test_lines_are_few_but_never_silent_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    console = Console(width=80, file=io.StringIO())
    lines = PlainLines(console)
    for step in range(1, 5001):
        now[0] += 0.1
        lines.stepped(report(step, of=5000))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    steps = [int(line.split("/")[0].split()[1]) for line in text.splitlines()]
    assert {1, 2, 5, 10, 1000, 2000, 5000} <= set(steps)
    assert max(b - a for a, b in pairwise(steps)) <= 601
    assert len(steps) < 25


def test_a_terminal_gets_the_board_and_a_pipe_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(
        file=io.StringIO(), force_terminal=True, width=80, _environ={"TERM": "xterm"}
    )
    assert isinstance(make_display(terminal), LiveDisplay)
    dumb = Console(file=io.StringIO(), force_terminal=True, width=80, _environ={"TERM": "dumb"})
    assert isinstance(make_display(dumb), PlainLines)
    assert isinstance(make_display(Console(file=io.StringIO())), PlainLines)
    monkeypatch.setattr(display, "writes", lambda: False)
    assert type(make_display(terminal)) is Watcher


def test_live() -> None:
    """Notes stay above the board, the last board stays, the summary stands below it."""
    console = Console(
        file=io.StringIO(), force_terminal=True, width=80, height=30, _environ={"TERM": "xterm"}
    )
    live = LiveDisplay(console)
    feed(live, FOLDER, 120)
    live.note("a note with [brackets]")
    live.stepped(report(2000))
    live.ended(summary(FOLDER, 2000, "stopped"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    last = text[text.index("a note with [brackets]") :]
    assert "100%" in last and "step 2,000 of 2,000" in last
    assert last.index("step 2,000 of 2,000") < last.index("stopped after step 2,000")


@pytest.mark.parametrize(
    ("step", "reason", "said"),
    [(1200, "stopped", True), (2000, "stopped", False), (1200, "patience", False)],
)
def test_who_stopped_a_run_is_told_how_to_go_on(step: int, reason: str, said: bool) -> None:
    lines = display.summary_lines(summary(FOLDER, step, reason))
    assert (lines[-1] == f"to go on: indicial train --resume {FOLDER}") == said


def test_a_run_that_goes_on_shows_what_was_before(tmp_path: Path) -> None:
    feed(Metrics(tmp_path / "metrics.jsonl"), tmp_path, 700)
    resumed = Board()
    feed(resumed, tmp_path, 1300, first=700)
    assert resumed.validations == fed(1300).validations
    assert resumed.curve[0][0] == 1


def test_not_finite() -> None:
    board = fed(50)
    board.stepped(report(51, loss=math.nan, smoothed=math.nan, seconds_left=math.inf))
    assert "loss nan" in shown(board) and "? left" in shown(board)
    only = Board()
    only.started(plan(FOLDER))
    assert "getting ready" in shown(only)
    only.stepped(report(1, smoothed=math.nan, terms={"ℒ_1": 2.5}))
    assert "ℒ_1 2.500" in shown(only)


def test_chart_has_its_points_where_they_belong() -> None:
    """A straight fall: from the top left to the bottom right, one dot in each column of dots."""
    columns, rows = 10, 5
    curve = [(x, float(20 - x)) for x in range(1, 20)]
    lines = [str(line) for line in Chart(columns, rows, 20).lines(curve)][:rows]
    inside = [line[7:] for line in lines]
    dots = {
        (4 * r + y, 2 * c + x)
        for r, line in enumerate(inside)
        for c, sign in enumerate(line)
        for y, bits in enumerate(((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80)))
        for x, bit in enumerate(bits)
        if "⠀" <= sign <= "⣿" and (ord(sign) - 0x2800) & bit
    }
    assert {column for _, column in dots} == set(range(1, 20))
    assert (0, 1) in dots and (19, 19) in dots
    for row, column in dots:
        assert abs(row - (column - 1) * 19 / 18) <= 1.5


def test_words() -> None:
    assert [clock(s) for s in (0, 59.6, 72, 7380)] == ["0:00", "1:00", "1:12", "2:03:00"]
    assert [short(n) for n in (7, 999, 1500, 123_456, 2_000_000, 3.5e9)] == [
        "7", "999", "1.5k", "123k", "2M", "3.5G",
    ]  # fmt: skip
