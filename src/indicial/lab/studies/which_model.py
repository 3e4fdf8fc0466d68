"""The study `which_model`: encoder, decoder, or both, for four tasks on sentences whose truth is known.

    the queen often avoids the potter who works in the pottery .

    classify     the German sentence → whom it is done to          potter
    retrieve     the German sentence → its translation, among those of a batch
    translate    the German sentence → the English one, word for word
    summarise    the English sentence → who does what to whom      queen avoid potter

Every model is as wide and as deep as the others and sees the same rows. Right is what is the truth from
its first word to its last.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from indicial.data.world import world
from indicial.data.world.grammar import Derivation
from indicial.data.world.phrasebook import Phrasebook
from indicial.decode.examine import examine
from indicial.lab.results import Result
from indicial.lab.studies.drawing import LINES, axes_of
from indicial.lab.studies.numbers import share_interval
from indicial.lab.studies.readers import BOTH, CLASSIFY, KINDS, TASKS, equations
from indicial.lab.studies.study import Findings, Place, Say
from indicial.lab.studies.trainings import training, unfinished
from indicial.lab.trials import Trial
from indicial.program.outputs import write_text
from indicial.training.curves import History
from indicial.training.run import Run
from indicial.training.settings import Settings

COLUMNS = ("german", "english", "whom", "headline")
READ = {
    "classify": {"x": "german", "y": "whom"},
    "retrieve": {"x": "german", "page": "english"},
    "translate": {"x": "german", "w": "english"},
    "summarise": {"x": "english", "w": "headline"},
}
"""The column of each input."""
NAMES = {"encoder": "encoder", "decoder": "decoder", "both": "encoder and decoder"}


@dataclass(frozen=True)
class Plan:
    tasks: tuple[str, ...] = TASKS
    data: str = "people"
    rows: int = 12_000
    checked: int = 400
    steps: int = 600
    batch_size: int = 32
    width: int = 64
    layers: int = 2
    heads: int = 2


QUICK = Plan(data="village", rows=60, checked=8, steps=2, batch_size=4, width=8, layers=1, heads=1)


class Subject(NamedTuple):
    """One model that is trained."""

    task: str
    kind: str

    @property
    def folder(self) -> str:
        return f"{self.task}-{self.kind}"

    @property
    def label(self) -> str:
        return f"{self.task}, {NAMES[self.kind]}"

    @property
    def columns(self) -> dict[str, str]:
        # Who writes labels reads them as texts.
        if self.task == CLASSIFY and self.kind == BOTH:
            return {"x": "german", "w": "whom"}
        return READ[self.task]


class Measured(NamedTuple):
    """What came of one."""

    right: int
    of: int
    nats: float
    """For each thing that is predicted: a label, a choice, a word."""
    parameters: int
    seconds: float
    """In training."""
    answering: float
    """Milliseconds for each answer, many at once."""


@dataclass(frozen=True)
class WhichModel:
    plan: Plan

    name = "which_model"

    @property
    def terms(self) -> dict[str, Any]:
        return asdict(self.plan)

    @property
    def subjects(self) -> list[Subject]:
        every = [Subject(task, kind) for task in self.plan.tasks for kind in KINDS]
        return [one for one in every if equations(*one) is not None]

    def trials(self, folder: Path) -> list[Trial]:
        self._write(folder)
        return [training(one.label, self._settings(one, folder)) for one in self.subjects]

    def _write(self, folder: Path) -> None:
        """The equations and the rows, as files that `indicial train` takes."""
        folder.mkdir(parents=True, exist_ok=True)
        for one in self.subjects:
            text = equations(*one)
            assert text is not None
            write_text(folder / f"{one.folder}.eq", text)
        if not (folder / "train.tsv").exists():
            plan = self.plan
            made = rows(plan.data, plan.rows + plan.checked)
            for name, count in (("validation", plan.checked), ("train", plan.rows)):
                lines = ["\t".join(COLUMNS), *("\t".join(next(made)) for _ in range(count))]
                write_text(folder / f"{name}.tsv", "\n".join(lines) + "\n")

    def _settings(self, one: Subject, folder: Path) -> Settings:
        plan = self.plan
        return Settings(
            model=(str(folder / f"{one.folder}.eq"),),
            set={"J": str(plan.width), "L": str(plan.layers), "K": str(plan.heads)},
            data=(str(folder / "train.tsv"),), validation=(str(folder / "validation.tsv"),),
            column=one.columns, batch_size=plan.batch_size, max_steps=plan.steps,
            eval_every=max(1, plan.steps // 10), seed=0, device="cpu",
            out=str(folder / one.folder),
        )  # fmt: skip

    def enough(self, folder: Path) -> bool:
        return not unfinished(self.trials(folder))

    def find(self, place: Place, say: Say) -> Findings:
        for one in self.subjects:
            if one.folder not in place.kept:
                say(f"asking {one.folder}")
                place.keep(**{one.folder: measure(place.folder, one)._asdict()})
        found = {one: Measured(**place.kept[one.folder]) for one in self.subjects}
        plan = self.plan
        title = (
            f"Which model: {plan.rows:,} sentences of {plan.data}, {plan.steps:,} steps of "
            f"{plan.batch_size}, {plan.layers} layers, width {plan.width}"
        )
        return Findings(
            title,
            [row(one, measured) for one, measured in found.items()],
            [NOTE],
            {one.folder: measured._asdict() for one, measured in found.items()},
            lambda: figure(place.folder, found, title),
        )


NOTE = (
    "right: of rows that were not trained on, all of it right; in brackets 95 % (Wilson). nats: for each "
    "thing that is predicted, a label, a choice or a word. An encoder that writes says all words at once; a "
    "decoder reads source and target as one text; an encoder with a decoder writes a label as a word, and "
    "has no vector of a page that could be kept."
)


def rows(data: str, count: int) -> Iterator[tuple[str, ...]]:
    """Sentences in which somebody does something to somebody, each of them once, by `COLUMNS`."""
    own = world(data)
    book, numbers = Phrasebook(own), random.Random(0)
    seen: set[str] = set()
    while len(seen) < count:
        derivation = own.grammar.sample(numbers)
        deed = _deed(derivation)
        if deed is None or (sentence := book.row(derivation))["w"] in seen:
            continue
        seen.add(sentence["w"])
        whom = deed.part("other").part("being").rule.phrase.about
        verb = deed.part("deed").part("verb").rule.name
        yield sentence["x"], sentence["w"], whom, f"{deed.rule.phrase.about} {verb} {whom}"


def _deed(derivation: Derivation) -> Derivation | None:
    """What the sentence is about, and not a clause in it."""
    for child in derivation.children:
        if child.rule.name == "does_to":
            return child
        if derivation.rule.name in ("remark", "somebody") and (found := _deed(child)) is not None:
            return found
    return None


def measure(folder: Path, one: Subject) -> Measured:
    """Answers to rows that it has not seen."""
    result = Result.read(folder / one.folder)
    assert result is not None, f"{one.folder} is not finished"
    run = Run.open(folder / one.folder)
    begun = time.perf_counter()
    found = examine(run, [str(folder / "validation.tsv")], {"temperature": 0}, columns=one.columns)
    seconds = time.perf_counter() - begun
    if found.answers:
        lines = (folder / "validation.tsv").read_text(encoding="utf-8").splitlines()[1:]
        at = COLUMNS.index(one.columns["w"])
        true = [line.split("\t")[at].split() for line in lines]
        right = sum(str(a).split() == t for a, t in zip(found.answers, true, strict=True))
    else:
        right = round(found.scores.figures["accuracy"] * found.rows)
    return Measured(
        right=right,
        of=found.rows,
        nats=found.scores.per_token,
        parameters=sum(p.numel() for p in run.module().parameters()),
        seconds=result.seconds,
        answering=1000 * seconds / found.rows,
    )


def row(one: Subject, found: Measured) -> dict[str, str]:
    low, high = share_interval(found.right, found.of)
    return {
        "task, model": one.label,
        "right": f"{found.right / found.of:.2f} [{low:.2f}, {high:.2f}]",
        "nats": f"{found.nats:.3f}",
        "parameters": f"{found.parameters:,}",
        "training, s": f"{found.seconds:.0f}",
        "answer, ms": f"{found.answering:.1f}",
    }


def figure(folder: Path, found: Mapping[Subject, Measured], title: str) -> Any:
    """A panel for each task: what validation costs against the time in training."""
    tasks = list(dict.fromkeys(one.task for one in found))
    drawn, panels = axes_of(len(tasks), title)
    for axes, task in zip(panels, tasks, strict=True):
        for kind, (colour, mark) in zip(KINDS, LINES, strict=False):
            one = Subject(task, kind)
            if one not in found:
                continue
            curve = History.read(folder / one.folder / "metrics.jsonl")
            last = max(curve.validation_steps)
            at = [found[one].seconds * step / last for step in curve.validation_steps]
            axes.plot(
                at, curve.validation, color=colour, marker=mark, markersize=4, label=NAMES[kind]
            )
        axes.set_title(task, fontsize=10)
        axes.set_xlabel("seconds in training")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("nats, validation part")
    panels[-1].legend(frameon=False, fontsize=8)
    return drawn
