"""An exported file → how far its numbers are from the module's, on random inputs.

>>> check_torch(module, file, Path("model.py"))
2.4e-07
>>> check_forward(module, file, Path("model.onnx"), None).difference
2.4e-07

It is read from the disk, as somebody else would, and run at several batches and lengths, whole texts and step by step.
ONNX is run with onnxruntime; the module runs as Indicial runs it, with its kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.export.torch_file import Steps, TorchFile
from indicial.program.messages import IndicialError

TRIES = ((5, 7), (1, 1), (2, 12))
"""Batch and length; none of them is what is traced."""
TOLERANCE = 1e-4
"""How far a number of the file may be from the module's, relative to the largest; 32 bits give 1e-6."""


def difference(path: Path, right: list[torch.Tensor], found: list[Any]) -> float:
    """The largest, relative to the largest number; an error if it is too large."""
    worst = 0.0
    for value, other in zip(right, found, strict=True):
        wanted = value.detach().cpu().numpy()
        if wanted.shape != other.shape:
            raise IndicialError(f"{path} gives {other.shape}, and the module {wanted.shape}")
        scale = max(float(np.abs(wanted).max(initial=0)), 1e-30)
        worst = max(worst, float(np.abs(wanted - other).max(initial=0)) / scale)
    if not worst < TOLERANCE:
        raise IndicialError(f"{path} gives other numbers than the module: they differ by {worst:g}")
    return worst


def random_texts(
    module: ProgramModule, names: Sequence[str], batch: int, length: int
) -> dict[str, torch.Tensor]:
    lengths = set(module.sizes.tellers) - module.sizes.fixed.keys()
    sizes = {**module.sizes.known, **dict.fromkeys(lengths, length)}
    given = {}
    for name in names:
        tensor = module.code.tensors[name]
        shape = (batch, *(axis.extent.value(sizes) for axis in tensor.axes))
        given[name] = _random(module, name, shape)
    return given


def random_step(module: ProgramModule, names: Sequence[str], batch: int) -> dict[str, torch.Tensor]:
    given = {}
    for name in names:
        tensor = module.code.tensors[name]
        known = module.sizes.known
        walked = [a for a in tensor.axes if not a.extent.names <= module.sizes.fixed.keys()]
        shape = [a.extent.value(known) for a in tensor.axes if a not in walked]
        given[name] = _random(module, name, (batch, *shape))
    return given


def _random(module: ProgramModule, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    values = module.code.tensors[name].values
    if values is not None:
        return torch.randint(values.value(module.sizes.known), shape)
    return torch.randn(shape, dtype=module._like.dtype)


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


@dataclass(frozen=True)
class Port:
    """An input or an output: its name, its type, its shape."""

    name: str
    type: str
    shape: tuple[str | int, ...]


@dataclass(frozen=True)
class OnnxFile:
    """A file that was run: `difference` is how far it was from the module, at other sizes."""

    path: Path
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    difference: float


def check_forward(
    module: ProgramModule, file: TorchFile, path: Path, length: int | None
) -> OnnxFile:
    """The file on random inputs, compared with the module."""
    session = opened(path)
    worst = 0.0
    longest = min(module.sizes.longest.values(), default=10**9)
    for batch, long in TRIES:
        given = random_texts(module, file.inputs, batch, length or min(long, longest))
        with torch.no_grad():
            right = module(**given, want=list(file.outputs))
        found = ran(session, path, {name: value.numpy() for name, value in given.items()})
        worst = max(worst, difference(path, [right[name] for name in file.outputs], found))
    return OnnxFile(path, _ports(session.get_inputs()), _ports(session.get_outputs()), worst)


def check_step(module: ProgramModule, model: Any, steps: Steps, path: Path) -> OnnxFile:
    """Several steps of the file, each compared with the module's."""
    session = opened(path)
    worst = 0.0
    for batch, long in TRIES[::2]:
        began, _ = model.begin(batch)
        held = {slot.key: began[slot.key].detach().numpy() for slot in steps.slots}
        state = module.begin(want=list(steps.outputs)).select([0] * batch)
        for _ in range(long if steps.most is None else min(long, steps.most)):
            given = random_step(module, steps.inputs, batch)
            with torch.no_grad():
                state, right = module.step(state, **given)
            fed = {name: value.numpy() for name, value in given.items()}
            found = ran(session, path, {**fed, **held})
            count = len(steps.outputs)
            worst = max(worst, difference(path, [right[n] for n in steps.outputs], found[:count]))
            held = dict(zip(held, found[count:], strict=True))
    return OnnxFile(path, _ports(session.get_inputs()), _ports(session.get_outputs()), worst)


def opened(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised
    options.intra_op_num_threads = torch.get_num_threads()
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ran(session: Any, path: Path, given: dict[str, Any]) -> list[Any]:
    """What a file gives; an error of onnxruntime is one of the file."""
    try:
        found: list[Any] = session.run(None, given)
    except Exception as error:  # onnxruntime has a class of its own for each kind
        shapes = ", ".join(f"{name} {value.shape}" for name, value in given.items())
        why = str(error).splitlines()[0]
        raise IndicialError(f"{path} does not run at {shapes}: {why}") from error
    return found


def _ports(values: Any) -> tuple[Port, ...]:
    return tuple(
        Port(v.name, v.type.removeprefix("tensor(").removesuffix(")"), tuple(v.shape))
        for v in values
    )
