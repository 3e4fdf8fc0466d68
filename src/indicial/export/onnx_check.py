"""An ONNX file → how far its numbers are from the module's, at a batch and a length of its own.

>>> check_forward(module, file, Path("model.onnx"), None).difference
2.4e-07

The file is run with onnxruntime; the module runs as Indicial runs it, with its kernels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from indicial.compile.module.module import ProgramModule
from indicial.export.checking import TRIES, difference, random_step, random_texts
from indicial.export.onnx_file import OnnxFile, Port
from indicial.export.stepping import Steps
from indicial.export.torch_file import TorchFile
from indicial.program.messages import IndicialError


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
