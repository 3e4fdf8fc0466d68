"""Everything that is found about the model of a run, as numbers and as a page of 80 columns.

>>> found = inspect_run("runs/names-1")
>>> print(page(found))
>>> found.to_json()["jacobians"][0]["radius"]
0.86
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from indicial.inspect.gradients import Gradient, gradients_through_time
from indicial.inspect.jacobian import Jacobian, jacobians
from indicial.inspect.neighbours import Neighbours, frequent, nearest, tokens_of
from indicial.inspect.plots import draw_eigenvalues, draw_gradients
from indicial.inspect.statistics import (
    Saturation,
    Statistics,
    activation_statistics,
    parameter_statistics,
    saturations,
)
from indicial.inspect.texts import rows_for, texts_for
from indicial.training.run import Run


@dataclass(frozen=True)
class Findings:
    """What does not apply to a model is the reason why, in words."""

    title: str
    texts: str
    gradients: list[Gradient] | str
    jacobians: list[Jacobian | str] | str
    saturations: list[Saturation] | str
    parameters: list[Statistics]
    activations: list[Statistics]
    neighbours: list[Neighbours] | str

    def draw(self, folder: Path) -> list[Path]:
        """The pictures that there are."""
        paths: list[Path] = []
        if not isinstance(self.gradients, str):
            paths += draw_gradients(self.gradients, folder, self.title)
        known = [one for one in self.jacobians if isinstance(one, Jacobian)]
        if known:
            paths += draw_eigenvalues(known, folder, self.title)
        return paths

    def to_json(self) -> dict[str, Any]:
        found = {
            "model": self.title,
            "texts": self.texts,
            "gradients": _listed(self.gradients, asdict),
            "jacobians": _listed(self.jacobians, _jacobian),
            "saturations": _listed(self.saturations, asdict),
            "parameters": [asdict(one) for one in self.parameters],
            "activations": [asdict(one) for one in self.activations],
            "neighbours": _listed(self.neighbours, asdict),
        }
        return {name: _finite(part) for name, part in found.items()}


def inspect_run(
    run: str | os.PathLike[str] | Run,
    data: Sequence[str] | None = None,
    *,
    field: str | None = None,
    words: Sequence[str] = (),
    checkpoint: str = "best",
) -> Findings:
    """Looks at the model of a run, with texts of its validation part unless data is given."""
    run = run if isinstance(run, Run) else Run.open(run)
    module = run.module(checkpoint, device="cpu")
    if run.description.task == "columns":
        texts, tokenizer = rows_for(run, module, data)
        shown = f"{len(texts.tokens)} rows, {texts.name}"
    else:
        texts, tokenizer = texts_for(run, module, data, field), run.tokenizer()
        shown = f"{len(texts.tokens)} texts of {texts.tokens.shape[1]} tokens, {texts.name}"
    tokens = tokens_of(words, tokenizer)
    return Findings(
        title=f"{module.title} in {run.folder.name}",
        texts=shown,
        gradients=gradients_through_time(module, texts.inputs),
        jacobians=jacobians(module, texts.inputs),
        saturations=saturations(module, texts.inputs),
        parameters=parameter_statistics(module),
        activations=activation_statistics(module, texts.inputs),
        neighbours=nearest(module, tokenizer, tokens or frequent(texts.tokens, tokenizer.eos)),
    )


def _finite(found: Any) -> Any:
    """JSON has no nan: null stands for what is not finite."""
    if isinstance(found, float):
        return found if math.isfinite(found) else None
    if isinstance(found, dict):
        return {name: _finite(value) for name, value in found.items()}
    return [_finite(value) for value in found] if isinstance(found, list | tuple) else found


def _listed(found: Any, one: Any) -> Any:
    """A list of JSON; what does not apply is told as a reason."""
    if isinstance(found, str):
        return {"not_applicable": found}
    return [{"not_applicable": f} if isinstance(f, str) else one(f) for f in found]


def _jacobian(found: Jacobian) -> dict[str, Any]:
    return {
        "name": found.name,
        "radius": found.radius,
        "radii": found.radii.tolist(),
        "stretch": found.stretch,
        "outside": found.outside,
        "eigenvalues": [[[z.real, z.imag] for z in row] for row in found.eigenvalues.tolist()],
    }
