"""A comparison: models on equal terms → a folder with runs, a table and pictures.

    runs/compare-people-1/
        compare.json                 the terms, and every result
        table.md
        parameters.png, .svg         loss against parameters; with one number of them
        tokens.png, .svg             loss against tokens
        lengths.png, .svg            loss against the length of the text, if it is predicted from other inputs
        ugrnn-300k-seed-0/           a run like any other

What is finished is not repeated: the same call goes on, and further models, sizes and seeds are
added to what is there.

A model that has to put a whole source into one vector loses on long texts; one that can look back does not. So rows of
the validation part are divided by the length of what is predicted, about as many in each part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from indicial.data.column_rows import Columns
from indicial.data.corpus import Data
from indicial.lab.trials import (
    Group,
    Result,
    Trial,
    groups,
    markdown,
    notes,
    rows,
)
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text
from indicial.tasks.columns import ColumnTask
from indicial.tasks.forms import SEQUENCE
from indicial.tasks.predictions import SURPRISE, Measure
from indicial.training.checkpoints import begun_before, first_change, write_json
from indicial.training.curves import read_metrics
from indicial.training.folders import FILE as RUN
from indicial.training.run import Run
from indicial.training.settings import Settings
from indicial.training.watchers import COLOURS, MARKS, plain_axes, saved, short

PARTS = 8
MOST = 60_000
"""Tokens that are looked at."""


def losses_by_length(run: Run, data: Columns) -> list[tuple[float, float]]:
    """The mean length and the nats per token of each part; nothing if no text is predicted."""
    context, batch_size = run.number("context"), run.number("batch_size", 32)
    task = ColumnTask(run.program, data, context=context, batch_size=batch_size)
    length = task.form.length
    if task.form.kind != SEQUENCE or task.form.prediction is None or length is None:
        return []
    module = run.module("best").eval()
    measure = Measure(module, task.form.prediction)
    lengths: list[torch.Tensor] = []
    nats: list[torch.Tensor] = []
    with torch.no_grad():
        for batch in task.blocks(MOST):
            found = measure.tensors(batch.inputs, batch.lengths, [SURPRISE])[SURPRISE].double()
            long = batch.lengths[length]
            inside = torch.arange(found.shape[1]) < long[:, None]
            lengths.append(long)
            nats.append(torch.where(inside, found, 0.0).sum(1))
    return parted(torch.cat(lengths).numpy(), torch.cat(nats).numpy())


def parted(
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]],
    nats: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> list[tuple[float, float]]:
    """Rows of about the same length together: their mean length, and what a token of them costs."""
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, PARTS + 1)[1:]))
    found = []
    below = -1.0
    for edge in edges.tolist():
        here = (lengths > below) & (lengths <= edge)
        if here.any():
            found.append(
                (float(lengths[here].mean()), float(nats[here].sum() / lengths[here].sum()))
            )
        below = edge
    return found


ENTROPY = "entropy of the data"
Curve = Sequence[tuple[float, float]]


def draw_sizes(
    groups: Sequence[Group], folder: Path, title: str, entropy: float | None = None
) -> list[Path]:
    """`parameters.png` and `.svg`: the seeds as dots, their means joined, intervals as bars."""
    figure, axes = plain_axes(7, 4.2, title)
    models = list(dict.fromkeys(group.model for group in groups))
    for number, model in enumerate(models):
        own = sorted((g for g in groups if g.model == model), key=lambda g: g.parameters)
        colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
        known = all(group.half is not None for group in own)
        axes.errorbar(
            [group.parameters for group in own], [group.mean for group in own],
            yerr=[group.half for group in own] if known else None,
            color=colour, marker=mark, markersize=6, linewidth=1.6, capsize=4, label=model,
        )  # fmt: skip
        if known:
            dots = [(result.parameters, result.loss) for group in own for result in group.results]
            axes.plot(*zip(*dots, strict=True), color=colour, marker=".", linestyle="", alpha=0.6)
    axes.set_xscale("log")
    ticks = sorted({group.asked for group in groups})
    axes.set_xticks(ticks, [short(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("parameters")
    return _saved(figure, axes, entropy, folder, "parameters")


def draw_tokens(
    curves: Mapping[str, Sequence[Curve]], folder: Path, title: str, entropy: float | None = None
) -> list[Path]:
    """`tokens.png` and `.svg`: validation as training goes on, a line for each seed."""
    figure, axes = plain_axes(7, 4.2, title)
    _draw_curves(axes, curves)
    late = [y for several in curves.values() for curve in several for _, y in curve[1:] or curve]
    low = min([*late, *([entropy] if entropy is not None else [])])
    margin = 0.05 * max(max(late) - low, 1e-3)
    axes.set_ylim(low - margin, max(late) + margin)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    axes.set_xlabel("tokens")
    return _saved(figure, axes, entropy, folder, "tokens")


def draw_lengths(curves: Mapping[str, Sequence[Curve]], folder: Path, title: str) -> list[Path]:
    """`lengths.png` and `.svg`: what a token costs by the length of the text, a line for each seed."""
    figure, axes = plain_axes(7, 4.2, title)
    _draw_curves(axes, curves)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_xlabel("length of the text (tokens)")
    return _saved(figure, axes, None, folder, "lengths")


def _draw_curves(axes: Any, curves: Mapping[str, Sequence[Curve]]) -> None:
    """A colour and a mark for each model, a line for each of its seeds."""
    for number, (model, several) in enumerate(curves.items()):
        for seed, curve in enumerate(several):
            axes.plot(
                *zip(*curve, strict=True), color=COLOURS[number % len(COLOURS)], linewidth=1.6,
                marker=MARKS[number % len(MARKS)], markersize=4, label=model if not seed else None,
            )  # fmt: skip


def _saved(figure: Any, axes: Any, entropy: float | None, folder: Path, name: str) -> list[Path]:
    if entropy is not None:
        axes.axhline(entropy, color="#555555", linewidth=1.2, linestyle="--", label=ENTROPY)
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda at: labels[at] == ENTROPY)  # the models first
    axes.legend([handles[at] for at in order], [labels[at] for at in order], frameon=False)
    axes.set_ylabel("validation loss (nats per token)")
    return saved(figure, folder, name)


FILE = "compare.json"
FORMAT = 1


@dataclass(frozen=True)
class Comparison:
    """Which trainings there are, and where."""

    folder: Path
    terms: Settings
    tokens: int | None
    data: Data | Columns
    trials: list[Trial]

    @property
    def said(self) -> dict[str, Any]:
        """What all trainings have in common; JSON."""
        return {**self.terms.said(), "tokens_budget": self.tokens, "digest": self.data.train.digest}

    def __post_init__(self) -> None:
        """A folder holds one comparison; it may grow, but not change its terms."""
        known = begun_before(self.folder, FILE, "comparison", "terms")
        before, now = known["terms"] if known is not None else self.said, self.said
        name = first_change(before, now)
        if name == "digest":
            raise IndicialError(
                f"the data changed since {self.folder} was begun; choose another --out"
            )
        if name is not None:
            flag = f"--{name.replace('_', '-')}"
            raise IndicialError(
                f"{self.folder} was begun with {_written(flag, before.get(name))}, this is with "
                f"{_written(flag, now.get(name))}. A comparison is on equal terms: choose another "
                "--out"
            )

    # ------------------------------------------------------------------ what came of it

    def keep(self, results: Sequence[Result]) -> None:
        """The terms and what there is so far: the folder can be gone on with from now on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {
            "format": FORMAT,
            "terms": self.said,
            "results": [asdict(result) for result in results],
        }
        write_json(self.folder / FILE, kept)

    def write(self, results: Sequence[Result]) -> list[Path]:
        """The table and the pictures; what was written."""
        self.keep(results)
        if not results:
            return []
        found = groups(results)
        table = self.folder / "table.md"
        lines = [f"# {self.title}", markdown(rows(found)), *notes(found)]
        write_text(table, "\n\n".join(lines) + "\n")
        return [table, *self._draw(found)]

    @property
    def title(self) -> str:
        if self.tokens is not None:
            return f"{self.data.name}, {short(self.tokens)} tokens each"
        minutes = self.terms.minutes or 0
        return f"{self.data.name}, {minutes:g} minute{'s' * (minutes != 1)} each"

    def _draw(self, found: Sequence[Group]) -> list[Path]:
        entropy = self.trials[0].entropy if self.trials else None
        if len({group.asked for group in found}) > 1:
            return draw_sizes(found, self.folder, self.title, entropy)
        curves = {group.model: self._curves(group) for group in found}
        curves = {model: several for model, several in curves.items() if several}
        drawn = draw_tokens(curves, self.folder, self.title, entropy) if curves else []
        return [*drawn, *self._draw_lengths(found)]

    def _draw_lengths(self, found: Sequence[Group]) -> list[Path]:
        """Of models that predict a text from something else: what it costs by its length."""
        if not isinstance(self.data, Columns):
            return []

        curves: dict[str, list[list[tuple[float, float]]]] = {}
        for group in found:
            folders = [trial.folder for trial in self.trials if trial.model == group.model]
            there = [Run.open(folder) for folder in folders if (folder / RUN).exists()]
            several = [curve for run in there if (curve := losses_by_length(run, self.data))]
            if several:
                curves[group.model] = several
        return draw_lengths(curves, self.folder, self.title) if curves else []

    def _curves(self, group: Group) -> list[list[tuple[float, float]]]:
        """The looks at the validation part, by tokens; a curve for each seed."""
        found = []
        for trial in self.trials:
            if (trial.model, trial.asked) != (group.model, group.asked):
                continue
            path = trial.folder / "metrics.jsonl"
            lines = list(read_metrics(path)) if path.exists() else []
            tokens = {line["step"]: line["tokens"] for line in lines if "tokens" in line}
            curve = [
                (tokens[line["step"]], line["validation"]["loss"])
                for line in lines
                if "validation" in line and line["step"] in tokens
            ]
            if curve:
                found.append(curve)
        return found


def _written(flag: str, value: object) -> str:
    if value is None:
        return f"no {flag}"
    words = value if isinstance(value, list) else [value]
    return " ".join([flag, *map(str, words)])
