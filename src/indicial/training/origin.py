"""`--from RUN`: weights of another run to begin with.

>>> origin = Origin.of(settings, found)
>>> origin.fill(module)
'from runs/ugrnn-people-1, step 2310: 7 of 7 tensors'

The tokens are those of the other run, and so are the equations, the sizes and (of one text, where positions are
learned) the context that nobody says. A tensor is taken if
the equations call it the same and it has the same shape, but for how many positions there are: those that both have
are taken. The others begin anew, and are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import parameters, size_names
from indicial.program.ir import Code
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.predictions import text_lengths
from indicial.tasks.programs import Trainable
from indicial.training.run import Run
from indicial.training.settings import Settings


@dataclass(frozen=True)
class Origin:
    """A run whose weights are taken."""

    run: Run

    @staticmethod
    def of(settings: Settings, found: Trainable) -> Origin:
        assert settings.from_ is not None
        for name in ("tokens", "vocabulary"):
            said = getattr(settings, name)
            if said is not None:
                raise IndicialError(
                    f"--{name} {said}: the weights of {settings.from_} belong to its own tokens, "
                    f"which are used here as well; leave --{name} out"
                )
        run = Run.open(settings.from_)
        texts = {"language", "texts"}
        if run.description.task != found.task and not {run.description.task, found.task} <= texts:
            raise IndicialError(
                f"{settings.from_} was trained for the task {run.description.task}, and this is "
                f"{found.task}: its tokens are others"
            )
        return Origin(run)

    def sizes(self, program: Program) -> dict[str, int]:
        """The sizes of the run that the program has as well, but for how long a text is."""
        known, lengths = self.run.description.sizes, text_lengths(program.code)
        return {n: known[n] for n in program.code.sizes if n in known and n not in lengths}

    def context(self, program: Program) -> int | None:
        """How long the text was there, where the program has learned positions and so had the run. Several texts
        are as long as the data has them: how long one was says nothing of another."""
        if len(text_lengths(program.code)) != 1:
            return None
        sizes = {name for tensor in parameters(program.code) for name in size_names(tensor.axes)}
        known = self.run.description.sizes
        found = [known[n] for n in text_lengths(program.code) if n in sizes and n in known]
        return found[0] if found else None

    @staticmethod
    def model(settings: Settings) -> tuple[Settings, tuple[Program, ...]]:
        """`--from RUN` without a model: the equations that the run keeps, with what was set there."""
        if settings.from_ is None or settings.model:
            return settings, ()
        run = Run.open(settings.from_)
        kept = Settings.kept(run.description.settings)
        task = settings.task or run.description.task
        task = "language" if task == "texts" else task
        return replace(settings, model=kept.model, task=task), (run.program,)

    def fill(self, module: ProgramModule) -> str:
        """Puts the weights in, and says which."""
        checkpoint = self.run.checkpoint("best")
        weights = checkpoint.part("model")
        own = {key: module.get_parameter(key) for key in module.state_keys.values()}
        taken = [
            key
            for name, key in module.state_keys.items()
            if key in weights and self._fits(module.code, name, weights[key].shape, own[key].shape)
        ]
        if not taken:
            raise IndicialError(
                f"none of the tensors of {self.run.folder} is called the same and has the same "
                f"shape here; it has {', '.join(weights)}"
            )
        with torch.no_grad():
            for key in taken:
                both = tuple(map(slice, map(min, weights[key].shape, own[key].shape)))
                own[key][both].copy_(weights[key][both])
        text = f"from {self.run.folder}, step {checkpoint.step}: {len(taken)} of {len(own)} tensors"
        fresh = [name for name, key in module.state_keys.items() if key not in taken]
        return f"{text}; anew: {', '.join(fresh)}" if fresh else text

    @staticmethod
    def _fits(code: Code, name: str, there: Sequence[int], here: Sequence[int]) -> bool:
        """Whether two shapes of a tensor are the same, but for lengths of texts."""
        lengths = {*text_lengths(code)}
        return len(there) == len(here) and all(
            a == b or not lengths.isdisjoint(size_names([axis]))
            for a, b, axis in zip(there, here, code.tensors[name].axes, strict=True)
        )
