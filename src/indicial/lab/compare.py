"""The front door of comparing: models → trained on equal terms, with a table and pictures.

>>> found = compare("ugrnn", "transformer", data="people", minutes=2)
>>> found.results[0].model, found.results[0].loss
('ugrnn', 1.532)
>>> print(compare("position", "learned.json"))        # two designs: nothing is trained

A run with all that can be done with it, and the front door of training: equations, data and settings → a run.

>>> run = train("ugrnn", data="people", minutes=2)
>>> run.summary.best.per_token
1.307
>>> print(*run.generate("Helen Kowalski was born in", temperature=0))
Helen Kowalski was born in Lund .

Settings have the names of the command line, `batch_size=64` for `--batch-size 64`, and are checked
in the same way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from indicial.data.column_rows import Columns
from indicial.data.corpus import Data
from indicial.data.sources import Names
from indicial.decode.answers import Answer
from indicial.decode.evaluate import Evaluation, Examination, evaluate
from indicial.decode.text import Text, generate
from indicial.designs.comparison import Comparison as DesignComparison
from indicial.designs.comparison import compare as compare_designs
from indicial.designs.design import Design
from indicial.designs.hand import two_designs
from indicial.inspect.attention import Look, attend
from indicial.inspect.findings import Findings, inspect_run
from indicial.inspect.subjects import Subject, trace
from indicial.lab.comparison import Comparison
from indicial.lab.pool import View, finished, make_view, run_trials
from indicial.lab.report import explained, samples
from indicial.lab.trials import (
    TOKENS,
    Result,
    Trial,
    check_comparable,
    contenders,
    groups,
    make_trials,
    notes,
    plain,
    rows,
)
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.training import run as saved
from indicial.training.checkpoints import numbered
from indicial.training.settings import Settings, read_config
from indicial.training.shared_data import Tell, read_data
from indicial.training.train import tell_stderr, train_with
from indicial.training.watchers import Watcher, short

SEEDS = 2
PARAMETERS = "300k"
UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


@dataclass(frozen=True)
class Compared:
    """What came of a comparison of models; its folder has the table, the pictures and the runs."""

    comparison: Comparison
    results: list[Result]
    mistakes: dict[str, str]
    """Trainings that failed, by label, and why."""
    lost: OSError | None = None
    """Why nobody could be told any more."""

    @property
    def folder(self) -> Path:
        return self.comparison.folder

    @property
    def runs(self) -> dict[str, Run]:
        """The run of each training, by its label: `"ugrnn, seed 0"`."""
        there = _trained(self.comparison, self.results)
        return {trial.label: Run.open(trial.folder) for trial in there}

    @property
    def finished(self) -> bool:
        """Whether every training went to its end."""
        whole = len(self.results) == len(self.comparison.trials)
        return whole and all(result.finished for result in self.results)

    @property
    def to_go_on(self) -> str:
        return f"stopped; to go on: the same call with --out {self.folder}"

    def __str__(self) -> str:
        return plain(rows(groups(self.results)))


def _trained(comparison: Comparison, results: Sequence[Result]) -> list[Trial]:
    """The trials that have come to a result."""
    done = {(one.model, one.asked, one.seed) for one in results}
    return [t for t in comparison.trials if (t.model, t.asked, t.seed) in done]


def compare(
    *models: str | os.PathLike[str] | Design | Run,
    parameters: str | int | Sequence[int] | None = None,
    seeds: int | None = None,
    tokens_budget: str | int | None = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    text: str | None = None,
    quiet: bool = False,
    **settings: Any,
) -> Compared | DesignComparison:
    """Models on equal terms, or two designs as they are, as `indicial compare` does.

    >>> compare("rnn", "ugrnn", "gru", parameters="100k,300k", data="people")
    >>> compare(design, learned, text="ABCA")

    Models are named as on the command line (`stacked:CELL=gru,L=3`, `cell.eq`), and so are the
    settings. A design is a `Design`, its file, its name, or a run of the same equations.
    """
    pair = two_designs(models)
    if pair is not None:
        said = {"parameters": parameters, "seeds": seeds, "out": out, "workers": workers}
        said |= settings
        odd = [name for name, value in said.items() if value is not None]
        if odd:
            raise IndicialError(
                f"{odd[0]} is not for this: nothing is trained when designs are compared"
            )
        return compare_designs(*pair, text)
    if text is not None:
        raise IndicialError("text is for two designs: the example on which weights are shown")
    words = [os.fspath(one) if isinstance(one, str | os.PathLike) else repr(one) for one in models]
    asked = str(parameters) if isinstance(parameters, int) else parameters
    if asked is not None and not isinstance(asked, str):
        asked = ",".join(map(str, asked))
    tokens = None if tokens_budget is None else str(tokens_budget)
    wanted = Wanted(asked, seeds, tokens, out, workers)
    return compare_models(words, Settings.read(settings), wanted, quiet=quiet)


@dataclass(frozen=True)
class Wanted:
    """How a comparison is to be made, beside the settings of its trainings; None where nobody says."""

    parameters: str | None
    seeds: int | None
    tokens_budget: str | None
    out: str | os.PathLike[str] | None
    workers: int | None


def compare_models(
    models: Sequence[str],
    terms: Settings,
    wanted: Wanted,
    samples: bool = False,
    quiet: bool = False,
) -> Compared:
    """Trains what is not trained yet, and tells what came of it."""
    processes = workers_of(wanted.workers)
    comparison = _comparison(models, terms, wanted, quiet)
    before = {trial.label: finished(trial) for trial in comparison.trials}
    left = [trial for trial in comparison.trials if before[trial.label] is None]
    view = make_view(left, Console(quiet=True) if quiet else None)
    _tell_plan(comparison, view, len(left))
    comparison.keep([result for result in before.values() if result is not None])
    outcomes = run_trials(left, processes, view) if left else {}
    found = {**before, **{label: outcome.result for label, outcome in outcomes.items()}}
    results = [result for trial in comparison.trials if (result := found[trial.label])]
    _tell_results(comparison, results, view, samples)
    mistakes = {label: outcome.mistake for label, outcome in outcomes.items() if outcome.mistake}
    compared = Compared(comparison, results, mistakes, view.lost)
    if not mistakes and not compared.finished and view.lost is None:
        view.say(compared.to_go_on)
    return compared


# ---------------------------------------------------------------------- the call


def _comparison(words: Sequence[str], terms: Settings, wanted: Wanted, quiet: bool) -> Comparison:
    if not words:
        raise IndicialError(
            "name what to compare: indicial compare ugrnn transformer --data people"
        )
    if not terms.data:
        raise IndicialError(
            "name the data to train on: --data PATH, or --data people, a built-in world"
        )
    if terms.minutes is not None and wanted.tokens_budget is not None:
        raise IndicialError("--minutes or --tokens-budget: one of them says how long a training is")
    models = contenders(words)
    asked = _numbers("--parameters", wanted.parameters or PARAMETERS)
    seeds = wanted.seeds
    if seeds is None:
        seeds = SEEDS if terms.minutes is None else 1
    if seeds < 1:
        raise IndicialError(f"--seeds takes a number of at least 1; got {seeds}")
    tokens = None
    if terms.minutes is None:
        tokens = _number("--tokens-budget", wanted.tokens_budget or str(TOKENS))
    # A wrong name is told before the data are read.
    programs = [model.trainable() for model in models]
    check_comparable([model.name for model in models], programs)
    tell: Tell = (lambda text: None) if quiet else print
    data = read_data(programs[0], terms, tell)
    out = wanted.out if wanted.out is not None else numbered(f"compare-{Path(data.name).stem}")
    folder = Path(out)
    trials = make_trials(models, asked, seeds, terms, data, folder, tokens)
    return Comparison(folder, terms, tokens, data, trials)


def _numbers(flag: str, text: str) -> list[int]:
    """`"100k,300k,1M"` → `[100000, 300000, 1000000]`."""
    found = sorted({_number(flag, one) for one in text.split(",")})
    if len({short(one) for one in found}) < len(found):
        raise IndicialError(f"{flag} {text}: some of these are too near to each other")
    return found


def _number(flag: str, text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)\s*", text, re.IGNORECASE)
    number = round(float(match[1]) * UNITS[match[2].lower()]) if match else 0
    if number < 1:
        raise IndicialError(f"{flag} takes numbers such as 300k, 2.5M or 40000; got {text}")
    return number


def workers_of(asked: int | None) -> int:
    """How many trainings there are at a time: one for each core, if nobody says it."""
    if asked is None:
        return os.cpu_count() or 1
    if asked < 1:
        raise IndicialError(f"--workers takes a number of at least 1; got {asked}")
    return asked


# ---------------------------------------------------------------------- what is told


def _tell_plan(comparison: Comparison, view: View, left: int) -> None:
    trials = comparison.trials
    first = trials[0].settings
    view.say(
        f"{comparison.title}: batches of {first.batch_size} {_of_rows(comparison.data, first)}"
    )
    for trial in trials:
        if trial.seed == 0:
            own = ", ".join(f"{n} = {v}" for n, v in trial.settings.set.items())
            view.say(f"  {trial.model}, {trial.parameters:,} parameters: {own}")
    done = len(trials) - left
    view.say(f"{len(trials)} trainings{f', {done} of them done already' if done else ''}")


def _of_rows(data: Data | Columns, terms: Settings) -> str:
    if isinstance(data, Columns):
        return f"rows, {data.train.rows:,} to learn from"
    tokenizer = data.tokenizer
    return f"x {terms.context} tokens, V = {tokenizer.size} ({tokenizer.kind})"


def _tell_results(comparison: Comparison, results: list[Result], view: View, samples: bool) -> None:
    if not results:
        view.say("nothing was trained")
        return
    runs = _trained(comparison, results)
    paths = comparison.write(results)
    if samples and view.lost is None:
        _tell_samples([t for t in runs if t.seed == 0 and t.asked == runs[-1].asked], view)
    found = groups(results)
    view.say(f"\n{plain(rows(found))}\n")
    for note in notes(found):
        view.console.print(note, highlight=False, markup=False)
    for path in paths:
        view.say(str(path))
    view.say(f"to hear more: indicial generate {runs[0].folder}")


def _tell_samples(trials: list[Trial], view: View) -> None:
    for trial in trials:
        view.say(f"\n{trial.model}")
        try:
            view.say(samples(trial.folder, min(100, view.console.width)))
        except IndicialError as error:  # one that fills in blanks writes nothing
            view.say(f"  {error}")
    if trials and (mark := explained(trials[0].folder)):
        view.say(f"\n{mark}")


class Run(saved.Run):
    """What a training leaves, and what its model says, knows and looks at."""

    def generate(
        self, prompt: str | Sequence[str] | None = None, **settings: Any
    ) -> Sequence[Text | Answer]:
        """Texts that go on from a prompt: `indicial.generate` (decode/text.py)."""
        return generate(self, prompt, **settings)

    def evaluate(self, data: Names, **settings: Any) -> Evaluation | Examination:
        """How well it predicts some data: `indicial.evaluate` (decode/evaluate.py)."""
        return evaluate(self, data, **settings)

    def inspect(self, data: Sequence[str] | None = None, **settings: Any) -> Findings:
        """Gradients, eigenvalues, saturation, neighbours: `indicial inspect` (inspect/findings.py)."""
        return inspect_run(self, data, **settings)

    def attend(
        self,
        text: str | None = None,
        target: str | None = None,
        *,
        layer: int | None = None,
        head: int | None = None,
        checkpoint: str = "best",
        arrays: Mapping[str, object] | None = None,
    ) -> list[Look]:
        """What each head looks at, as matrices with labels: `indicial attend`."""
        subject = Subject.of_run(self, text, target, checkpoint=checkpoint, arrays=arrays)
        return attend(subject, layer=layer, head=head)

    def trace(
        self,
        want: str | Sequence[str],
        text: str | None = None,
        target: str | None = None,
        *,
        checkpoint: str = "best",
        arrays: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """The values of tensors by their names, as arrays: `indicial trace`."""
        subject = Subject.of_run(self, text, target, checkpoint=checkpoint, arrays=arrays)
        names = [want] if isinstance(want, str) else list(want)
        return {one.name: one.values for one in trace(subject, names)}


def train(
    *model: str | os.PathLike[str] | Program,
    resume: str | os.PathLike[str] | saved.Run | None = None,
    config: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    watchers: Iterable[Watcher] = (),
    **settings: Any,
) -> Run:
    """Trains a model as `indicial train` does, and gives its run; `run.summary` says how it ended.

    >>> train("transformer", "focus", data="book.txt", minutes=20, set={"λ": 0.1})
    >>> train(load("h[t,j] = …"), data="people", set={"J": 256})
    >>> train(resume="runs/ugrnn-people-1")
    >>> train(from_="runs/ugrnn-people-1", data="more.txt")

    A model is a name of the library, a file, or a program; several are joined. `config` is a file
    with settings, `quiet` shows nothing, and `watchers` are told what happens. Ctrl-C saves: then
    `run.summary.reason` is "stopped", and `train(resume=run)` goes on.
    """
    if "from_" in settings:
        settings["from"] = settings.pop("from_")
    for name, value in settings.items():
        if isinstance(value, os.PathLike | saved.Run):
            settings[name] = str(value.folder if isinstance(value, saved.Run) else value)
    if "model" in settings:
        raise IndicialError('the model comes first, without a name: train("ugrnn", data="people")')
    names = [one.title if isinstance(one, Program) else os.fspath(one) for one in model]
    said = Settings.read({"model": names or None, **settings})
    if config is not None:
        said = said.over(read_config(Path(config)))
    folder = resume.folder if isinstance(resume, saved.Run) else resume
    written = model if any(isinstance(one, Program) for one in model) else None
    tell: Tell = (lambda text: None) if quiet else tell_stderr
    trained = train_with(
        said, None if folder is None else str(folder), tell, quiet, tuple(watchers), written
    )
    made = Run(trained.folder, trained.description)
    made.summary = trained.summary
    return made
