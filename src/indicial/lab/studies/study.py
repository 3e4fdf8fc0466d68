"""What every study has: a name, the terms that decide its figures, trainings, a folder, findings.

>>> run_study(Shaping(QUICK), Path("runs/study-shaping"), workers=2, console=Console())
True

    runs/study-shaping/
        study.json                  the terms, what was measured, versions
        table.md, figure.png, figure.svg
        focus-λ=0.1-seed-0/         a run like any other

A folder holds one study with one set of terms. The same call goes on: what is finished is kept. Intervals are of 95 %:

>>> str(Mean.of([1.50, 1.52, 1.54])), share_interval(0, 200)
('1.520 ± 0.050', (0.0, 0.0188…))
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean, linear_regression
from textwrap import fill, wrap
from typing import Any, ClassVar, TypeVar

from rich.console import Console

from indicial.inspect.pictures import save
from indicial.lab.pool import Outcome, View, finished, make_view, run_trials
from indicial.lab.trials import Trial, half_width, markdown, plain, pooled_deviation
from indicial.program.messages import IndicialError
from indicial.program.outputs import new_figure, write_text
from indicial.tasks.programs import trainable
from indicial.training.checkpoints import begun_before, first_change, write_json
from indicial.training.equations import Equations
from indicial.training.run import versions
from indicial.training.settings import Settings
from indicial.training.watchers import COLOURS, FORMATS, MARKS

NORMAL = 1.959964
"""How many standard deviations hold 95 %."""


@dataclass(frozen=True)
class Mean:
    """The mean of a few numbers, and half of Student's interval around it (None for one number)."""

    mean: float
    half: float | None
    values: tuple[float, ...]

    @staticmethod
    def of(values: Sequence[float]) -> Mean:
        deviation, freedom = pooled_deviation([values])
        return Mean(fmean(values), half_width(deviation, freedom, len(values)), tuple(values))

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval lies above or below 0, else 0."""
        if self.half is None or abs(self.mean) <= self.half:
            return 0
        return 1 if self.mean > 0 else -1

    def written(self, digits: int = 3, signed: bool = False) -> str:
        sign = "+" if signed else ""
        half = "" if self.half is None else f" ± {self.half:.{digits}f}"
        return f"{self.mean:{sign}.{digits}f}{half}"

    def __str__(self) -> str:
        return self.written()

    def to_json(self) -> dict[str, object]:
        return {"mean": self.mean, "half": self.half, "values": list(self.values)}


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """Where a probability may lie of which `hits` of `of` trials are a sample (Wilson 1927)."""
    share, z = hits / of, NORMAL**2 / of
    middle = (share + z / 2) / (1 + z)
    half = math.sqrt(z * share * (1 - share) + z * z / 4) / (1 + z)
    # Rounding must not put a share of 1 outside of its interval.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def share_written(hits: int, of: int) -> str:
    """`0.25 [0.18, 0.34]`: a share with its interval."""
    low, high = share_interval(hits, of)
    return f"{hits / of:.2f} [{low:.2f}, {high:.2f}]"


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The p of value ≈ c · size^p: the slope of the line through the logarithms."""
    return linear_regression(list(map(math.log, sizes)), list(map(math.log, values))).slope


LINES = tuple(zip(COLOURS, MARKS, strict=True))
"""Colour and mark of each line, by its number."""
GREY = "#555555"
"""What lines are compared with."""


def axes_of(number: int, title: str) -> tuple[Any, list[Any]]:
    """A figure with panels side by side."""
    width = 4.2 * number if number > 1 else 6.5
    figure = new_figure(width, 3.6)
    figure.suptitle(fill(title, round(14 * width)), fontsize=10, x=0.01, ha="left")
    panels = [figure.add_subplot(1, number, place + 1) for place in range(number)]
    for axes in panels:
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def curves(
    axes: Any,
    lines: Mapping[str, tuple[Any, ...]],
    across: Mapping[str, float] | None = None,
    **said: Any,
) -> None:
    """Draws lines by their labels: x, y and, where they are known, intervals around y; dashed, what they are
    compared with. `said` is what axes can be told: xlabel, yscale, …"""
    handles = []
    for number, (label, (x, y, *spread)) in enumerate(lines.items()):
        colour, mark = LINES[number % len(LINES)]
        handles.append(axes.errorbar(
            x, y, yerr=spread[0] if spread else None, color=colour, marker=mark, label=label,
            linestyle="-" if number < len(LINES) else "--", linewidth=1.6, markersize=5, capsize=4,
        ))  # fmt: skip
    for label, level in (across or {}).items():
        handles.append(axes.axhline(level, color=GREY, linewidth=1.2, linestyle="--", label=label))
    axes.set(**said)
    if named := [one for one in handles if one.get_label()]:
        axes.legend(handles=named, frameon=False, fontsize=8)


def through(x: Sequence[float], means: Sequence[Mean]) -> tuple[Any, ...]:
    """A line through means, with their intervals, as `curves` takes it."""
    return x, [mean.mean for mean in means], [mean.half or 0.0 for mean in means]


FILE = "study.json"
FORMAT = 1

Say = Callable[[str], None]
Key = TypeVar("Key")


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


@dataclass(frozen=True)
class Study:
    """What every study has; `find` is its own."""

    plan: Any
    """What is trained and measured: a dataclass."""

    name: ClassVar[str]
    """That of the sheet: docs/problems/NAME.md."""

    @property
    def terms(self) -> dict[str, Any]:
        """What decides its figures; JSON."""
        return asdict(self.plan)

    def trials(self, folder: Path) -> list[Trial]:
        """The trainings that it needs; there may be none."""
        return []

    def finished(self, folder: Path, names: Mapping[Key, Sequence[str]]) -> list[Key]:
        """Those of which all runs are finished, by the names of their folders."""
        left = {trial.folder for trial in unfinished(self.trials(folder))}
        return [k for k, runs in names.items() if not any(folder / run in left for run in runs)]

    def enough(self, folder: Path) -> bool:
        """Whether the trainings that are finished say something already."""
        return not unfinished(self.trials(folder))

    def find(self, place: Place, say: Say) -> Findings:
        """Measures what is trained. What it keeps in `place` is not measured again."""
        raise NotImplementedError


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
        before = begun_before(folder, FILE, "study", "terms", "measured")
        if before is None:
            return made
        if before.get("study") != study.name:
            raise IndicialError(
                f"{folder} holds the study {before.get('study')}; choose another --out for {study.name}"
            )
        if (name := first_change(before["terms"], terms)) is not None:
            raise IndicialError(
                f"{folder} was begun with {name} = {before['terms'].get(name)}, this is with "
                f"{terms.get(name)}. A study keeps its terms: choose another --out"
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

    def once(self, name: str, measure: Callable[[], Any], say: Say, told: str) -> Any:
        """What is kept under a name; if that is nothing yet, `told` is said, and it is measured."""
        if name not in self.kept:
            say(told)
            self.keep(**{name: measure()})
        return self.kept[name]

    def write(self, findings: Findings) -> list[Path]:
        """The numbers, the table and the figure; what was written."""
        self.keep(findings=findings.numbers)
        table = self.folder / "table.md"
        parts = [f"# {findings.title}", markdown(findings.table, findings.right), *findings.notes]
        write_text(table, "\n\n".join(parts) + "\n")
        figure = findings.draw()
        drawn = [save(figure, self.folder / f"figure.{ending}") for ending in FORMATS]
        return [table, self.folder / FILE, *drawn]


@dataclass(frozen=True)
class Terms:
    """What the trainings of all studies have in common unless a plan says otherwise."""

    data: str = "people"
    world_size: int = 100_000
    context: int = 64
    batch_size: int = 16
    width: int = 64

    def settings(
        self,
        out: Path,
        *model: str,
        sizes: Mapping[str, object],
        steps: int,
        looks: int = 4,
        seed: int = 0,
    ) -> Settings:
        """Those of one training, which looks at the validation part so many times."""
        return Settings(
            model=model, set={name: str(size) for name, size in sizes.items()}, data=(self.data,),
            world_size=self.world_size, context=self.context, batch_size=self.batch_size, max_steps=steps,
            eval_every=max(1, steps // looks), eval_tokens=10_000, seed=seed, device="cpu", out=str(out),
        )  # fmt: skip


def training(label: str, settings: Settings) -> Trial:
    """All that decides it is said in the settings, so nothing is asked for and nothing searched."""
    equations = _equations(settings.model, tuple(settings.set.items()))
    return Trial(
        label=label,
        model=equations.title,
        asked=0,
        parameters=0,
        seed=settings.seed or 0,
        settings=settings,
        equations=equations,
        work=float(settings.max_steps or 1),
    )


@cache
def _equations(model: tuple[str, ...], given: tuple[tuple[str, str], ...]) -> Equations:
    """Seeds share them, and a study asks more than once."""
    return Equations.of(trainable(model, dict(given)).program)


def unfinished(trials: Sequence[Trial]) -> list[Trial]:
    """Those that are still to be done, or to be gone on with."""
    return [trial for trial in trials if finished(trial) is None]


Train = Callable[[Sequence[Trial], int, View], Mapping[str, Outcome]]
WIDTH = 80


def run_study(
    study: Study, folder: Path, workers: int, console: Console, train: Train = run_trials
) -> bool:
    """Whether it came to its end; what is finished is kept anyway, and the same call goes on."""
    place = Place.make(folder, study)
    trials = study.trials(folder)
    left = unfinished(trials)
    view = make_view(left, console)
    place.keep()
    if left:
        done = len(trials) - len(left)
        kept = f", {done} of them done already" if done else ""
        view.say(f"{len(trials)} training{'s' * (len(trials) > 1)}{kept}; all is in {folder}")
        outcomes = train(left, workers, view)
        mistakes = [one.mistake for one in outcomes.values() if one.mistake]
        if mistakes:
            raise IndicialError(f"{len(mistakes)} trainings failed; the first: {mistakes[0]}")
    still = unfinished(trials)
    if still:
        view.say(f"stopped; {len(trials) - len(still)} of {len(trials)} trainings are finished")
        if not study.enough(folder):
            return False
    try:
        findings = study.find(place, view.say)
    except KeyboardInterrupt:
        view.say("stopped; what was measured so far is kept")
        return False
    view.say(f"\n{findings.title}\n\n{plain(findings.table, findings.right)}\n")
    for note in findings.notes:
        view.say("\n".join(wrap(note, WIDTH, subsequent_indent="  ")))
    view.say("")
    for path in place.write(findings):
        view.say(str(path))
    return not still
