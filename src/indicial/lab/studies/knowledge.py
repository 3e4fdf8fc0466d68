"""The study `knowledge`: what a model knows of a text, from memory and by looking it up.

Each stage is a training, or one after another. `taught` is the model that answers from memory what the one that looks
things up has asked the text; `recipe` has the sizes, the tokens and the optimizer of the course assignment.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from indicial.data.questions import open_together
from indicial.decode.lookup import Librarian
from indicial.decode.matching import Matches, match, subjects
from indicial.lab.compare import train
from indicial.lab.studies.study import (
    LINES,
    Findings,
    Place,
    Say,
    Study,
    axes_of,
    curves,
    share_interval,
)
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text
from indicial.training.run import Run

ASKED = {"question": "0", "answer": "1"}
TEXT, TRAIN, DEV = "wiki.txt", "birth_places_train.tsv", "birth_dev.tsv"
STAGES = ("scratch", "pretrained", "synthesizer", "mixed", "recipe", "looked up", "taught")
TELLS = {
    "scratch": "questions alone",
    "pretrained": "spans of the text, then questions",
    "synthesizer": "the same, attention weights are parameters",
    "mixed": "text, spans and questions together",
    "recipe": "spans of the text, then questions, as in the assignment",
    "looked up": "finds the line and reads it",
    "taught": "the questions that it asks of every line, from memory",
}
PRETRAINING, QUESTIONS = 650, 10
"""Epochs of the assignment: on spans of the text, and then on questions."""
RECIPE: dict[str, Any] = {
    "set": {"J": "256", "L": "4", "K": "8"}, "tokens": "characters", "context": 128, "optimizer": "adamw",
    "weight_decay": 0.1, "clip": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    data: str = ""
    vocabulary: int = 3000
    context: int = 96
    width: int = 128
    layers: int = 2
    heads: int = 4
    rows: int = 64
    part: float = 0.015
    """Of the assignment's epochs on spans of the text."""
    scratch: int = 20
    """Epochs on questions alone."""
    reading: int = 700
    """Steps."""
    taught: int = 1000
    recipe: float = 0.002
    """The part that the assignment's own recipe gets: a step of it takes ten times as long."""
    recipe_rows: tuple[int, int] = (128, 256)


QUICK = Plan(
    vocabulary=300, context=48, width=16, layers=1, heads=2, rows=4, part=1e-6, scratch=1, reading=2,
    taught=2, recipe=1e-6, recipe_rows=(4, 4),
)  # fmt: skip


@dataclass(frozen=True)
class Knowledge(Study):
    """Nothing in it is trained beside something else: most begin where another ended."""

    plan: Plan

    name = "knowledge"
    stages = STAGES

    def _path(self, name: str) -> str:
        path = Path(self.plan.data) / name
        if not path.is_file():
            raise IndicialError(
                f"there is no {path}: the study reads a folder with {TEXT}, {TRAIN} and {DEV}, lines of text and "
                "tables of a question and its answer in each line"
            )
        return str(path)

    def find(self, place: Place, say: Say) -> Findings:
        for name in (TEXT, TRAIN, DEV):
            self._path(name)
        makers: Mapping[str, Callable[[Path], Run]] = {
            "scratch": self._asked,
            "pretrained": lambda at: self._pretrained(at, "transformer"),
            "synthesizer": lambda at: self._pretrained(at, "random_synthesizer"),
            "mixed": self._mixed,
            "recipe": self._recipe,
            "looked up": self._reader,
            "taught": lambda at: self._taught(at, place.folder / "looked_up"),
        }
        for stage, make in makers.items():
            if stage in place.kept:
                continue
            begun = time.process_time()
            run = make(place.folder / stage.replace(" ", "_"))
            spent = time.process_time() - begun
            found = match(run, [self._path(DEV)], ASKED, checkpoint="last")
            told = {**found.to_json(), "seconds": spent, "parameters": _parameters(run)}
            if stage in ("mixed", "taught"):
                told["nearest"] = self._nearest(run, found)
            place.keep(**{stage: told})
            say(f"{stage}: {found.share:.1%} of {len(found.truth)} right")
        return self._findings(place.kept)

    # ------------------------------------------------------------------ trainings

    @property
    def _model(self) -> dict[str, Any]:
        plan = self.plan
        sizes = {"J": str(plan.width), "L": str(plan.layers), "K": str(plan.heads)}
        return {"set": sizes, "tokens": "bpe", "vocabulary": plan.vocabulary, "context": plan.context}  # fmt: skip

    def _steps(self, name: str, epochs: float, rows: int) -> int:
        """Those in which every line of a file is read so many times."""
        lines = Path(self._path(name)).read_text(encoding="utf-8").count("\n")
        return max(1, round(epochs * lines / rows))

    def _learned(
        self, folder: Path, *model: str, on: Sequence[str], steps: int, **said: Any
    ) -> Run:
        """A run in a folder; one that was begun there goes on. All look once, at the end, at the questions
        that they have learned."""
        if (folder / "run.json").exists():
            return train(resume=folder, quiet=True)
        return train(
            *model, out=str(folder), quiet=True, data=[self._path(name) for name in on], column=ASKED,
            validation=self._path(TRAIN), max_steps=steps, eval_every=steps,
            **{"batch_size": self.plan.rows, **said},
        )  # fmt: skip

    @property
    def _budget(self) -> tuple[int, int]:
        """Steps of a pretraining, and of the questions behind it."""
        rows = self.plan.rows
        return (
            self._steps(TEXT, self.plan.part * PRETRAINING, rows),
            self._steps(TRAIN, QUESTIONS, rows),
        )

    def _asked(self, folder: Path) -> Run:
        steps = self._steps(TRAIN, self.plan.scratch, self.plan.rows)
        return self._learned(folder, "transformer", on=[TRAIN], steps=steps, **self._model)

    def _pretrained(self, folder: Path, model: str) -> Run:
        spans, asked = self._budget
        before = self._learned(
            Path(f"{folder}-spans"), model, on=[TEXT], objective="spans", steps=spans, **self._model
        )
        return self._learned(folder, from_=str(before.folder), on=[TRAIN], steps=asked)

    def _recipe(self, folder: Path) -> Run:
        """That of the assignment, but for the number of epochs, and for dropout, which so few do without."""
        first, then = self.plan.recipe_rows
        before = self._learned(
            Path(f"{folder}-spans"), "transformer", on=[TEXT, TRAIN], objective="spans", batch_size=first,
            steps=self._steps(TEXT, self.plan.recipe * PRETRAINING, first), learning_rate=6e-3, **RECIPE,
        )  # fmt: skip
        return self._learned(
            folder, from_=str(before.folder), on=[TRAIN], batch_size=then, learning_rate=6e-4,
            steps=self._steps(TRAIN, QUESTIONS, then), optimizer="adamw",
        )  # fmt: skip

    def _mixed(self, folder: Path) -> Run:
        """As many steps as a pretraining and its questions have together."""
        spans, asked = self._budget
        return self._learned(
            folder, "transformer", on=[TEXT, TRAIN], steps=spans + asked,
            objective="language=1,spans=1,question=1", **self._model,
        )  # fmt: skip

    def _reader(self, folder: Path) -> Run:
        plan = self.plan
        sizes = {"J": str(max(8, plan.width // 2)), "K": "2", "M": str(4 * plan.width)}
        return self._learned(
            folder, "answer", on=[TEXT, TRAIN], steps=plan.reading, documents="lines", set=sizes,
            tokens="bpe", vocabulary=plan.vocabulary, batch_size=max(2, plan.rows // 2),
        )  # fmt: skip

    def _taught(self, folder: Path, reader: Path) -> Run:
        table = folder.parent / "questions.tsv"
        if not table.exists():
            known = dict(open_together([self._path(TRAIN)], ASKED).questions())
            rows = Librarian.of(Run.open(reader), "last").questions(known)
            write_text(table, "".join(f"{q}\t{a}\n" for q, a in rows.items()))
        new = [str(table.absolute())] if table.stat().st_size else []
        return self._learned(
            folder, "transformer", on=[TRAIN, *new], steps=self.plan.taught, **self._model
        )

    # ------------------------------------------------------------------ what came of it

    def _nearest(self, run: Run, found: Matches) -> dict[str, Any]:
        """Of wrong answers, the share that is the answer to the training question about the nearest name,
        by spelling and by the model's own vectors; and what it would be if the same answers were dealt out at
        random."""
        asked, answers = zip(*open_together([self._path(TRAIN)], ASKED).questions(), strict=True)
        wrong = [n for n, right in enumerate(found.right) if not right][:200]
        names, known = [found.subjects[n] for n in wrong], subjects(asked)
        said = [str(found.answers[n]) for n in wrong]
        dealt = np.random.default_rng(0).permutation(len(said))
        told: dict[str, Any] = {"wrong": len(wrong)}
        for how, likeness in (("spelling", _spelt), ("vectors", _vectors(run))):
            near = [answers[n] for n in likeness(names, known)]
            told[how] = [
                float(np.mean([said[n] == a for n, a in zip(order, near, strict=True)] or [0.0]))
                for order in (range(len(said)), dealt)
            ]
        return told

    def _findings(self, kept: Mapping[str, Any]) -> Findings:
        first = kept[STAGES[0]]
        usual = first.get("usual", ["", 0.0])
        rows = [{
            "model": f"always {usual[0]}", "learned from": "the most frequent answer", "right": f"{usual[1]:.1%}",
            "95 %": "", "plausible": "", "apart": "", "parameters": "", "CPU minutes": "",
        }]  # fmt: skip
        for stage in STAGES:
            one = kept[stage]
            low, high = share_interval(round(one["match"] * one["questions"]), one["questions"])
            rows.append({
                "model": stage, "learned from": TELLS[stage], "right": f"{one['match']:.1%}",
                "95 %": f"{low:.1%} to {high:.1%}", "plausible": f"{one['plausible']:.1%}",
                "apart": f"{one['calibration_error']:.2f}", "parameters": f"{one['parameters'] / 1e6:.1f}M",
                "CPU minutes": f"{one['seconds'] / 60:.1f}",
            })  # fmt: skip
        title = f"Knowledge: {first['questions']} questions, answered exactly"
        numbers = {stage: kept[stage] for stage in STAGES}
        return Findings(
            title,
            rows,
            _notes(kept, self.plan.part, self.plan.recipe),
            numbers,
            lambda: _figure(kept, title),
        )


def _notes(kept: Mapping[str, Any], part: float, recipe: float) -> list[str]:
    reader = kept["looked up"]
    recall = ", ".join(f"{share:.1%} among the first {n}" for n, share in reader["recall"].items())
    notes = [
        "plausible: wrong, but an answer of the training set. apart: how far sureness and correctness are apart on "
        "average. CPU minutes: of the training, those of a pretraining among them.",
        f"Spans were read in {part:.1%} of the assignment's {PRETRAINING} epochs, in its own recipe in {recipe:.1%}.",
        f"The line that a question is about is found: {recall}.",
    ]
    for stage in ("mixed", "taught"):
        near = kept[stage]["nearest"]
        for how in ("spelling", "vectors"):
            share, chance = near[how]
            notes.append(
                f"Of {near['wrong']} wrong answers of the model {stage}, {share:.0%} are the answer to the training "
                f"question about the nearest name by {how}; dealt out at random, {chance:.0%} would be."
            )
    return notes


def _spelt(names: Sequence[str], known: Sequence[str]) -> list[int]:
    """The number of the name that is spelt most alike."""
    place = {name: number for number, name in enumerate(known)}
    return [place[difflib.get_close_matches(name, place, 1, 0.0)[0]] for name in names]


def _vectors(run: Run) -> Callable[[Sequence[str], Sequence[str]], list[int]]:
    """The same by the mean of the vectors that a language model has for the tokens of a name."""
    table, tokenizer = run.module("last").parameter("e").detach(), run.tokenizer()

    def of(names: Sequence[str]) -> torch.Tensor:
        means = [table[tokenizer.encode(f" {name}")].mean(0) for name in names]
        return torch.nn.functional.normalize(torch.stack(means), dim=1)

    return lambda names, known: (of(names) @ of(known).T).argmax(1).tolist() if names else []


def _parameters(run: Run) -> int:
    return sum(tensor.numel() for tensor in run.checkpoint("last").part("model").values())


def _figure(kept: Mapping[str, Any], title: str) -> Any:
    """How sure each model is of its answers, and how often it is right."""
    drawn, (left, right) = axes_of(2, title)
    shares = [kept[stage]["match"] for stage in STAGES]
    left.barh(
        range(len(STAGES)), shares, color=[colour for colour, _ in LINES[: len(STAGES)]] or None
    )
    left.set_yticks(range(len(STAGES)), STAGES, fontsize=8)
    left.set(xlim=(0, 1), xlabel="answered exactly (share)")
    left.invert_yaxis()
    right.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    bins = {stage: kept[stage]["calibration"] for stage in STAGES}
    sure = {
        stage: ([s for _, s, _ in some], [r for _, _, r in some]) for stage, some in bins.items()
    }
    curves(right, sure, xlabel="how sure the model is of its answer", ylabel="share that is right")
    return drawn
