"""A comparison: models on equal terms → a folder with runs, a table and pictures.

>>> comparison = Comparison.make(contenders(["ugrnn", "gru"]), [300_000], 2, terms, data, folder, …)
>>> outcomes = run_trials(comparison.trials, workers=2, view=view)
>>> comparison.write([outcome.result for outcome in outcomes.values()])
[PosixPath('runs/compare-people-1/table.md'), …]

    runs/compare-people-1/
        compare.json                 the terms, and every result
        table.md
        parameters.png, .svg         loss against parameters; with one number of them
        tokens.png, .svg             loss against tokens
        lengths.png, .svg            loss against the length of the text, if it is predicted from other inputs
        ugrnn-300k-seed-0/           a run like any other

What is finished is not repeated: the same call goes on, and further models, sizes and seeds are
added to what is there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from indicial.data.columns.parts import Columns
from indicial.data.corpus import Data
from indicial.lab import figures, tables
from indicial.lab.contenders import Contender
from indicial.lab.results import Group, Result, groups
from indicial.lab.trials import Trial, make_trials
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text
from indicial.training.chart import short
from indicial.training.folders import check_mine, write_json
from indicial.training.metrics import read_metrics
from indicial.training.run import FILE as RUN
from indicial.training.run import Run
from indicial.training.settings import Settings

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

    @staticmethod
    def make(
        models: Sequence[Contender],
        parameters: Sequence[int],
        seeds: int,
        terms: Settings,
        data: Data | Columns,
        folder: Path,
        tokens: int | None,
    ) -> Comparison:
        """Every width is found, and the folder is looked at: nothing is left that could be wrong."""
        trials = make_trials(models, parameters, seeds, terms, data, folder, tokens)
        made = Comparison(folder, terms, tokens, data, trials)
        made._check_folder()
        return made

    @property
    def said(self) -> dict[str, Any]:
        """What all trainings have in common; JSON."""
        return {**self.terms.said(), "tokens_budget": self.tokens, "digest": self.data.train.digest}

    def _check_folder(self) -> None:
        """A folder holds one comparison; it may grow, but not change its terms."""
        path = self.folder / FILE
        check_mine(self.folder, FILE, "comparison")
        if not path.exists():
            return
        try:
            before = json.loads(path.read_text(encoding="utf-8"))["terms"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise IndicialError(f"{path} is damaged; choose another --out") from error
        now = self.said
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) == now.get(name):
                continue
            if name == "digest":
                raise IndicialError(
                    f"the data changed since {self.folder} was begun; choose another --out"
                )
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
        lines = [f"# {self.title}", tables.markdown(tables.rows(found)), *tables.notes(found)]
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
            return figures.draw_sizes(found, self.folder, self.title, entropy)
        curves = {group.model: self._curves(group) for group in found}
        curves = {model: several for model, several in curves.items() if several}
        drawn = figures.draw_tokens(curves, self.folder, self.title, entropy) if curves else []
        return [*drawn, *self._draw_lengths(found)]

    def _draw_lengths(self, found: Sequence[Group]) -> list[Path]:
        """Of models that predict a text from something else: what it costs by its length."""
        if not isinstance(self.data, Columns):
            return []
        from indicial.lab.lengths import losses_by_length

        curves: dict[str, list[list[tuple[float, float]]]] = {}
        for group in found:
            folders = [trial.folder for trial in self.trials if trial.model == group.model]
            there = [Run.open(folder) for folder in folders if (folder / RUN).exists()]
            several = [curve for run in there if (curve := losses_by_length(run, self.data))]
            if several:
                curves[group.model] = several
        return figures.draw_lengths(curves, self.folder, self.title) if curves else []

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
