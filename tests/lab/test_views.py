"""Boards side by side at 80 columns, and lines."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from indicial.lab.pool import Boards, Lines, Sender, make_view, received
from indicial.lab.trials import Trial
from indicial.tasks.task import Scores
from indicial.training.equations import Equations
from indicial.training.settings import Settings
from indicial.training.watchers import Plan, Report, Summary, Watcher

PLAN = Plan(
    model="ugrnn + language_model", task="language", folder=Path("r"), parameters=1000,
    sizes={"J": 8}, data="people, 90,000 documents", tokenizer="bpe, V = 994", tokens=1000,
    validation_tokens=100, batch_size=4, accumulate=1, context=16, first=0, steps=100,
    seconds=None, optimizer="muon", learning_rate=0.01, device="cpu", precision="float32",
)  # fmt: skip
SCORES = Scores(nats=180.0, count=100, characters=400.0, words=90.0, entropy=1.3)


def report(step: int) -> Report:
    return Report(
        step=step, of=100, tokens=64 * step, loss=2.0, smoothed=3.0 - step / 100, terms={},
        gradient_norm=0.5, clipped=0, learning_rate=0.01, tokens_per_second=12345.0,
        seconds=1.0, seconds_left=20.0,
    )  # fmt: skip


def trials(*labels: str) -> list[Trial]:
    nothing = Equations("", ())
    return [Trial(label, label, 1000, 990, 0, Settings(), nothing, 1.0) for label in labels]


def told(watcher: Watcher) -> None:
    watcher.started(PLAN)
    for step in range(1, 51):
        watcher.stepped(report(step))
    watcher.validated(report(50), SCORES)


def test_boards_stand_side_by_side_as_many_as_fit() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, record=True)
    view = make_view(trials("one", "two", "three"), console)
    assert isinstance(view, Boards)
    for trial in view.trials:
        told(view.watcher(trial))
    view.ended(view.trials[0], None, None)
    console.print(view.picture)
    lines = console.export_text().splitlines()
    (title,) = (line for line in lines if "on people" in line)
    assert title.split() == ["one", "on", "people", "two", "on", "people"]
    assert "1 of 3 trainings done" in "\n".join(lines)
    assert max(map(len, lines)) <= 80


def test_a_board_that_is_done_makes_room() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    view = Boards(trials("one", "two", "three"), console)
    one, two, three = view.trials
    told(view.watcher(one))
    told(view.watcher(two))
    view.ended(one, None, None)
    told(view.watcher(three))
    assert [board.trial.label for board in view.boards] == ["three", "two"]
    left = view.left()
    assert left is not None and left >= 0


def test_lines_name_their_training_and_many_say_less() -> None:
    for names, least, most in ((("one", "two"), 5, 30), (tuple("abcdef"), 0, 0)):
        file = io.StringIO()
        view = make_view(trials(*names), Console(file=file, width=80))
        assert isinstance(view, Lines)
        told(view.watcher(view.trials[0]))
        lines = file.getvalue().splitlines()
        assert least <= len(lines) <= most
        assert all(line.startswith("one: step") for line in lines)


def test_events_arrive_as_they_were_sent() -> None:
    heard: list[object] = []

    class Hearing(Watcher):
        def started(self, plan: Plan) -> None:
            heard.append(plan)

        def stepped(self, report: Report) -> None:
            heard.append(report)

        def validated(self, report: Report, scores: Scores) -> None:
            heard.append((report, scores))

        def ended(self, summary: Summary) -> None:
            heard.append(summary)

    file = io.BytesIO()
    sender = Sender(file)
    summary = Summary("finished", 50, 100, 1.0, 64, Path("r"), best=SCORES, best_step=50)
    sender.started(PLAN)
    sender.stepped(report(1))
    sender.validated(report(1), SCORES)
    sender.ended(summary)
    file.seek(0)
    for event, values in received(file):
        getattr(Hearing(), event)(*values)
    assert heard == [PLAN, report(1), (report(1), SCORES), summary]
