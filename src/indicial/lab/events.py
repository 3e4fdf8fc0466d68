"""What a training tells in its own process → the same in the process that looks on.

child    train(…, watchers=[Sender(file)])
           {"event": "stepped", "report": {"step": 17, …}}      a line of JSON each
parent   deliver(line, board)
           board.stepped(Report(step=17, …))
"""

from __future__ import annotations

import json
import signal
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from indicial.tasks.task import Scores
from indicial.training.display import is_round
from indicial.training.watchers import Plan, Report, Summary, Watcher

PAUSE = 0.2
"""Seconds between two steps that are told, but for round ones."""


class Sender(Watcher):
    """Writes what it is told into a pipe. If nobody reads it any more, the training ends in order."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self.last: Report | None = None
        self.summary: Summary | None = None
        self._said = 0.0
        self._broken = False

    def started(self, plan: Plan) -> None:
        self.send("started", plan=asdict(plan))

    def stepped(self, report: Report) -> None:
        self.last = report
        now = time.monotonic()
        if now - self._said > PAUSE or is_round(report.step) or report.step == report.of:
            self._said = now
            self.send("stepped", report=report.to_json())

    def validated(self, report: Report, scores: Scores) -> None:
        self.send("validated", report=report.to_json(), scores=asdict(scores))

    def note(self, text: str) -> None:
        self.send("note", text=text)

    def ended(self, summary: Summary) -> None:
        self.summary = summary
        self.send("ended", summary=asdict(summary))

    def send(self, event: str, **values: Any) -> None:
        if self._broken:
            return
        try:
            self.file.write(json.dumps({"event": event, **values}, default=str) + "\n")
            self.file.flush()
        except OSError:
            self._broken = True
            signal.raise_signal(signal.SIGTERM)


def deliver(found: dict[str, Any], watcher: Watcher) -> None:
    """Tell a watcher what a line says; lines that are not for watchers are left alone."""
    match found["event"]:
        case "started":
            plan = found["plan"]
            plan |= {"folder": Path(plan["folder"]), "terms": tuple(plan["terms"])}
            watcher.started(Plan(**plan))
        case "stepped":
            watcher.stepped(Report(**found["report"]))
        case "validated":
            watcher.validated(Report(**found["report"]), Scores(**found["scores"]))
        case "note":
            watcher.note(found["text"])
        case "ended":
            summary = found["summary"]
            summary |= {"folder": Path(summary["folder"]), "notes": tuple(summary["notes"])}
            for name in ("best", "last"):
                summary[name] = Scores(**summary[name]) if summary[name] else None
            watcher.ended(Summary(**summary))
