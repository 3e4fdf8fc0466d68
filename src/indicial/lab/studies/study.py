"""What every study has: a name, the terms that decide its figures, a folder, findings.

    study = Shaping(SHAPING)
    place = Place.make(Path("runs/study-shaping"), study)
    study.trials(place.folder)      what is to be trained before anything can be found
    findings = study.find(place, …)
    place.write(findings)           table.md, study.json, figure.png, figure.svg

    runs/study-shaping/
        study.json                  the terms, what was measured, versions
        table.md                    for people
        figure.png, figure.svg
        focus-λ=0.1-seed-0/         a run like any other

A folder holds one study with one set of terms. The same call goes on: what is finished is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from indicial.lab.tables import markdown
from indicial.lab.trials import Trial
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text
from indicial.training.curves import FORMATS
from indicial.training.folders import check_mine, write_json
from indicial.training.run import versions

FILE = "study.json"
FORMAT = 1

Say = Callable[[str], None]


@dataclass(frozen=True)
class Findings:
    """What a study found."""

    title: str
    table: list[dict[str, str]]
    """Rows with the same columns, as they are read."""
    notes: list[str]
    """Sentences: what the numbers say."""
    numbers: dict[str, Any]
    """All of them; JSON."""
    draw: Callable[[], Any]
    """Makes the figure."""

    @property
    def right(self) -> list[str]:
        """The columns of numbers: all but the first."""
        return list(self.table[0])[1:]


class Study(Protocol):
    @property
    def name(self) -> str:
        """That of the sheet: docs/problems/NAME.md."""

    @property
    def terms(self) -> dict[str, Any]:
        """What decides its figures; JSON."""

    def trials(self, folder: Path) -> list[Trial]:
        """The trainings that it needs; there may be none."""

    def enough(self, folder: Path) -> bool:
        """Whether the trainings that are finished say something already."""

    def find(self, place: Place, say: Say) -> Findings:
        """Measures what is trained. What it keeps in `place` is not measured again."""


@dataclass
class Place:
    """The folder of a study."""

    folder: Path
    study: str
    terms: dict[str, Any]
    kept: dict[str, Any] = field(default_factory=dict)
    """What was measured so far, by a name that the study gives it."""

    @staticmethod
    def make(folder: Path, study: Study) -> Place:
        """A new folder, or one in which the same study was begun."""
        # As JSON gives them back: with lists for tuples.
        terms = json.loads(json.dumps(study.terms))
        made = Place(folder, study.name, terms)
        check_mine(folder, FILE, "study")
        if not (folder / FILE).exists():
            return made
        before = _read(folder / FILE)
        if before["study"] != study.name:
            raise IndicialError(
                f"{folder} holds the study {before['study']}; choose another --out for {study.name}"
            )
        for name in sorted(terms.keys() | before["terms"].keys()):
            now, then = terms.get(name), before["terms"].get(name)
            if now != then:
                raise IndicialError(
                    f"{folder} was begun with {name} = {then}, this is with {now}. A study keeps "
                    "its terms: choose another --out"
                )
        made.kept = before["measured"]
        return made

    def keep(self, **measured: Any) -> None:
        """Measured values are on the disk from now on."""
        self.kept |= measured
        self.folder.mkdir(parents=True, exist_ok=True)
        whole = {
            "format": FORMAT,
            "study": self.study,
            "terms": self.terms,
            "versions": versions(),
            "measured": self.kept,
        }
        write_json(self.folder / FILE, whole)

    def write(self, findings: Findings) -> list[Path]:
        """The numbers, the table and the figure; what was written."""
        from indicial.inspect.pictures import save

        self.keep(findings=findings.numbers)
        table = self.folder / "table.md"
        parts = [f"# {findings.title}", markdown(findings.table, findings.right), *findings.notes]
        write_text(table, "\n\n".join(parts) + "\n")
        figure = findings.draw()
        drawn = [save(figure, self.folder / f"figure.{ending}") for ending in FORMATS]
        return [table, self.folder / FILE, *drawn]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        _ = found["study"], found["terms"].keys(), found["measured"].keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise IndicialError(f"{path} is damaged; choose another --out") from error
    assert isinstance(found, dict)
    return found
