"""A run with all that can be done with it, and the front door of training: equations, data and settings → a run.

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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from indicial.data.sources import Names
from indicial.decode.answers import Answer
from indicial.decode.evaluate import Evaluation, Examination, evaluate
from indicial.decode.text import Text, generate
from indicial.inspect.attention import Look, attend
from indicial.inspect.findings import Findings, inspect_run
from indicial.inspect.subjects import Subject, trace
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.training import run as saved
from indicial.training.settings import Settings, read_config
from indicial.training.shared_data import Tell
from indicial.training.train import tell_stderr, train_with
from indicial.training.watchers import Watcher


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
