"""`--from RUN`: weights of another run to begin with.

>>> origin = Origin.of(settings, found)
>>> origin.fill(module)
'from runs/ugrnn-people-1, step 2310: 7 of 7 tensors'

The tokens are those of the other run, and so are the sizes that nobody says. A tensor is taken if
the equations call it the same and it has the same shape; the others begin anew, and are told.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.programs import Trainable
from indicial.train.run import Run
from indicial.train.settings import Settings


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
        if run.description.task != found.task:
            raise IndicialError(
                f"{settings.from_} was trained for the task {run.description.task}, and this is "
                f"{found.task}: its tokens are others"
            )
        return Origin(run)

    def sizes(self, program: Program) -> dict[str, int]:
        """The sizes of the run that the program has as well."""
        known = self.run.description.sizes
        return {name: known[name] for name in program.code.sizes if name in known}

    def fill(self, module: ProgramModule) -> str:
        """Puts the weights in, and says which."""
        checkpoint = self.run.checkpoint("best")
        weights = checkpoint.part("model")
        own = {key: module.get_parameter(key) for key in module.state_keys.values()}
        taken = [k for k in own if k in weights and weights[k].shape == own[k].shape]
        if not taken:
            raise IndicialError(
                f"none of the tensors of {self.run.folder} is called the same and has the same "
                f"shape here; it has {', '.join(weights)}"
            )
        with torch.no_grad():
            for key in taken:
                own[key].copy_(weights[key])
        text = f"from {self.run.folder}, step {checkpoint.step}: {len(taken)} of {len(own)} tensors"
        fresh = [name for name, key in module.state_keys.items() if key not in taken]
        return f"{text}; anew: {', '.join(fresh)}" if fresh else text
