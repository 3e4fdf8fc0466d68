"""An exported `model.py` → how far its numbers are from the module's.

>>> check_torch(module, file, Path("model.py"))
2.4e-07

It is read from the disk, as somebody else would, and run at several batches and lengths, whole texts
and step by step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from indicial.compile.module.module import ProgramModule
from indicial.export.checking import TRIES, difference, random_step, random_texts
from indicial.export.stepping import Steps
from indicial.export.torch_file import TorchFile


def check_torch(module: ProgramModule, file: TorchFile, path: Path) -> float:
    """The largest difference, relative to the largest number; an error if it is too large."""
    model = read_model(path)
    worst = 0.0
    longest = min(module.sizes.longest.values(), default=10**9)
    with torch.no_grad():
        for batch, length in TRIES:
            given = random_texts(module, file.inputs, batch, min(length, longest))
            right = module(**given, want=list(file.outputs))
            found = listed(model(*given.values()))
            wanted = [right[name] for name in file.outputs]
            worst = max(worst, difference(path, wanted, [v.numpy() for v in found]))
            if isinstance(file.steps, Steps):
                worst = max(worst, _check_steps(module, model, file.steps, path, batch, length))
    return worst


def _check_steps(
    module: ProgramModule, model: Any, steps: Steps, path: Path, batch: int, length: int
) -> float:
    worst = 0.0
    held, out = model.begin(batch)
    state = module.begin(want=list(steps.outputs)).select([0] * batch)
    if out is not None:
        first = [state.out[name] for name in steps.outputs]
        worst = difference(path, first, [v.numpy() for v in listed(out)])
    for _ in range(length if steps.most is None else min(length, steps.most)):
        given = random_step(module, steps.inputs, batch)
        state, right = module.step(state, **given)
        held, out = model.step(held, *given.values())
        wanted = [right[name] for name in steps.outputs]
        worst = max(worst, difference(path, wanted, [v.numpy() for v in listed(out)]))
    return worst


def read_model(path: Path) -> Any:
    """The `Model` of a file with its weights."""
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    return space["Model"](path.with_suffix(".safetensors")).eval()


def listed(out: Any) -> list[torch.Tensor]:
    """What a call gives, one output or several."""
    return list(out) if isinstance(out, tuple) else [out]
