"""A trained module → `model.onnx` and `model-step.onnx`, each checked before it is handed over.

>>> export_onnx(module, Path("model.onnx")).files[0]
OnnxFile(path='model.onnx', inputs=(Port('w', 'int64', ('batch', 'length')),),
         outputs=(Port('P', 'float', ('batch', 'length', 512)),), difference=2.4e-07)

    model.onnx        w (batch, length) → P (batch, length, V)
    model-step.onnx   w (batch), state → P (batch, V) of the next token, state
    model-begin.safetensors     the state of one example before its first token, and P there

Batch and length are whatever they are when it runs. What walks along its input step by step is an
ONNX Scan whose body is the step; what does not is traced as a whole.

The ONNX model of a step → that of a whole text: a Scan over the tokens, with the step inside.

    w (batch, length) ─ Transpose ─→ Scan(step) ─ Transpose ─→ P[1..length] ─ Concat ─→ P
                 state of the beginning ─┘                     P[0], known before any token ─┘

The parameters stay outside the loop, where the body reads them.
"""

from __future__ import annotations

import importlib.util
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from indicial.compile.module.module import ProgramModule
from indicial.export.checking import (
    OnnxFile,
    check_forward,
    check_step,
    listed,
    random_step,
    random_texts,
)
from indicial.export.torch_file import Steps, TorchFile, torch_file, walks
from indicial.program.messages import IndicialError
from indicial.program.outputs import MADE, written


class _Scan:
    """`state` is one example's before the first step; `firsts` what is known there, if anything."""

    def __init__(
        self,
        step: Any,
        steps: Steps,
        state: Mapping[str, torch.Tensor],
        firsts: Sequence[torch.Tensor] | None,
    ) -> None:
        self.step = step
        self.steps = steps
        self.state = state
        self.firsts = firsts
        self.nodes: list[Any] = []
        self.initializers = list(step.graph.initializer)

    def model(self) -> Any:
        from onnx import helper

        body = self.body()
        counted = len(self.steps.inputs)
        self.add("Shape", [self.steps.inputs[0]], ["batch_size"], start=0, end=1)
        inits = [self.expanded(key, value) for key, value in self.state.items()]
        turned = []
        for value in self.step.graph.input[:counted]:
            rank = len(value.type.tensor_type.shape.dim) + 1
            self.add("Transpose", [value.name], [f"{value.name}_by_step"],
                     perm=[1, 0, *range(2, rank)])  # fmt: skip
            turned.append(f"{value.name}_by_step")
        finals = [f"{key}_last" for key in self.state]
        found = [f"{name}_by_step" for name in self.steps.outputs]
        self.add("Scan", [*inits, *turned], [*finals, *found], body=body, num_scan_inputs=counted)
        for number, name in enumerate(self.steps.outputs):
            self.result(number, name)
        outputs = self.step.graph.output[: len(self.steps.outputs)]
        graph = helper.make_graph(
            self.nodes,
            "text",
            [_longer(value, value.name) for value in self.step.graph.input[:counted]],
            [_longer(value, value.name) for value in outputs],
            self.initializers,
        )
        return helper.make_model(
            graph,
            opset_imports=list(self.step.opset_import),
            functions=list(self.step.functions),
            ir_version=self.step.ir_version,
        )

    def add(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **told: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(inputs), list(outputs), **told))

    def constant(self, name: str, value: Any) -> str:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def body(self) -> Any:
        """The step with its state in front, as a Scan wants it; its names are its own."""
        from onnx import helper

        graph, counted = self.step.graph, len(self.steps.inputs)
        renamed = {v.name: f"{v.name}_now" for v in (*graph.input, *graph.output)}
        nodes = []
        for node in graph.node:
            copy = type(node)()
            copy.CopyFrom(node)
            copy.input[:] = [renamed.get(name, name) for name in node.input]
            copy.output[:] = [renamed.get(name, name) for name in node.output]
            nodes.append(copy)
        results = len(self.steps.outputs)
        inputs = [*graph.input[counted:], *graph.input[:counted]]
        outputs = [*graph.output[results:], *graph.output[:results]]
        return helper.make_graph(
            nodes,
            "step",
            [_renamed(value, renamed[value.name]) for value in inputs],
            [_renamed(value, renamed[value.name]) for value in outputs],
        )

    def expanded(self, name: str, value: torch.Tensor) -> str:
        """One example's tensor for as many as there are."""
        start = self.constant(f"{name}_start", value.detach().cpu().numpy()[None].copy())
        shape = self.constant(f"{name}_shape", np.array(value.shape, np.int64))
        self.add("Concat", ["batch_size", shape], [f"{name}_full"], axis=0)
        self.add("Expand", [start, f"{name}_full"], [f"{name}_first"])
        return f"{name}_first"

    def result(self, number: int, name: str) -> None:
        """An output at all steps; where it is known one step ahead, from the beginning on."""
        rank = len(self.step.graph.output[number].type.tensor_type.shape.dim) + 1
        order = [1, 0, *range(2, rank)]
        if self.firsts is None:
            self.add("Transpose", [f"{name}_by_step"], [name], perm=order)
            return
        self.add("Transpose", [f"{name}_by_step"], [f"{name}_later"], perm=order)
        ends = [("zero", 0), ("minus_one", -1), ("one", 1)]
        if not number:
            for text, value in ends:
                self.constant(f"scan_{text}", np.array([value], np.int64))
        self.add("Slice", [f"{name}_later", "scan_zero", "scan_minus_one", "scan_one"],
                 [f"{name}_inner"])  # fmt: skip
        first = self.expanded(f"{name}_begun", self.firsts[number][0])
        self.add("Unsqueeze", [first, "scan_one"], [f"{name}_begun_step"])
        self.add("Concat", [f"{name}_begun_step", f"{name}_inner"], [name], axis=1)


def _renamed(value: Any, name: str) -> Any:
    copy = type(value)()
    copy.CopyFrom(value)
    copy.name = name
    return copy


def _longer(value: Any, name: str) -> Any:
    """The same with an axis for the steps behind the batch."""
    from onnx import helper

    kind = value.type.tensor_type
    dims = [dim.dim_param or dim.dim_value for dim in kind.shape.dim]
    return helper.make_tensor_value_info(name, kind.elem_type, ["batch", "length", *dims[1:]])


PACKAGES = ("onnx", "onnxruntime", "onnxscript")
LARGE = 1_500_000_000
"""Bytes of parameters that no longer fit into one file of 2 GB."""
BATCH, LENGTH, PAST = "batch", "length", "past"


@dataclass(frozen=True)
class Missing:
    """A file that there is not: why, and what to do about it, if something can be done."""

    name: str
    reason: str
    remedy: str = ""

    def lines(self) -> list[str]:
        why = f"without {self.name}: {self.reason.splitlines()[0]}"
        return [why, f"  {self.remedy}"] if self.remedy else [why]


@dataclass(frozen=True)
class OnnxExport:
    files: tuple[OnnxFile, ...]
    missing: tuple[Missing, ...]
    """What could not be exported."""


class OneLength(IndicialError):
    """There is no file for any length; there may be one for texts that are all as long."""


def check_packages() -> None:
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        raise IndicialError(
            f"to write ONNX, {' and '.join(absent)} must be installed: pip install indicial[onnx]"
        )


def export_onnx(module: ProgramModule, path: Path, length: int | None = None) -> OnnxExport:
    """Writes and checks the files. With `length`, texts of that many tokens only."""
    check_packages()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
            found = _Exporter(module, Path(folder) / path.name, length).export()
            for made in Path(folder).iterdir():
                with written(path.parent / made.name) as beside:
                    made.replace(beside)
    except OSError as error:
        raise IndicialError(f"cannot write {path}: {error.strerror or error}") from error
    files = (replace(file, path=path.parent / file.path.name) for file in found.files)
    return replace(found, files=tuple(files))


class _Exporter:
    def __init__(self, module: ProgramModule, path: Path, length: int | None) -> None:
        self.module = module
        self.path = path
        self.length = length
        self.file: TorchFile = torch_file(module)
        self.model = alone(self.file.text)
        self.model.load_state_dict(module.state_dict())
        self.model.to(module._like.dtype).eval()

    @property
    def steps(self) -> Steps | None:
        return self.file.steps if isinstance(self.file.steps, Steps) else None

    def export(self) -> OnnxExport:
        files, missing = [], []
        step = None
        path = step_path(self.path)
        if self.steps is None:
            missing.append(Missing(path.name, str(self.file.steps)))
        elif self.steps.has_counter:
            why = "the equations of a step compute with the number of steps"
            missing.append(Missing(path.name, why))
        else:
            step = self.step(self.steps)
            self.save(step, path)
            files.append(check_step(self.module, self.model, self.steps, path))
            self.save_begin(self.steps)
        try:
            self.save(self.forward(step), self.path)
            files.insert(0, check_forward(self.module, self.file, self.path, self.length))
        except IndicialError as error:
            for made in (self.path, data_path(self.path)):
                made.unlink(missing_ok=True)
            longer = isinstance(error, OneLength) and self.length is None
            remedy = "say --length N to have it for texts of exactly N tokens" if longer else ""
            missing.append(Missing(self.path.name, str(error), remedy))
        if not files:
            lines = [line for one in missing for line in one.lines()]
            raise IndicialError("\n  ".join(["nothing could be exported", *lines]))
        return OnnxExport(tuple(files), tuple(missing))

    def forward(self, step: Any) -> Any:
        """The whole text at once."""
        if self.length is not None or not walks(self.module.code, self.file.outputs):
            return self.traced()
        steps = self.steps
        if steps is None or step is None:
            raise OneLength("it goes along the text step by step, and there is no step of it")
        growing = [slot.key for slot in steps.slots if slot.grows is not None]
        if growing:
            grown = ", ".join(growing)
            raise OneLength(f"its state grows ({grown}), which an ONNX Scan cannot hold")
        state, first = self.model.begin(1)
        firsts = listed(first) if len(steps.early) == len(steps.outputs) else None
        return _Scan(step, steps, {k: v[0] for k, v in state.items()}, firsts).model()

    def traced(self) -> Any:
        lengths = set(self.module.sizes.tellers) - self.module.sizes.fixed.keys()
        if self.length is not None:
            for most in self.module.sizes.longest.values():
                if self.length > most:
                    raise IndicialError(f"the model has room for {most} steps, not {self.length}")
        arguments = list(random_texts(self.module, self.file.inputs, 3, self.length or 5).values())
        shapes = []
        for name in self.file.inputs:
            shape: dict[int, str] = {0: BATCH}
            for number, axis in enumerate(self.module.code.tensors[name].axes):
                if axis.extent.name in lengths and self.length is None:
                    shape[number + 1] = (
                        LENGTH if len(lengths) == 1 else f"{LENGTH}_{axis.extent.name}"
                    )
            shapes.append(shape)
        return traced(self.model, arguments, shapes, self.file.inputs, self.file.outputs)

    def step(self, steps: Steps) -> Any:
        """One step, with the state in and out."""
        state, _ = self.model.begin(3)
        growing = {slot.key: slot.grows for slot in steps.slots if slot.grows is not None}
        inputs = list(random_step(self.module, steps.inputs, 3).values())
        for _ in range(3):  # a tracer takes lengths of 0 and 1 for fixed
            state, _ = self.model.step(state, *inputs)
        shapes: list[dict[int, str]] = [{0: BATCH} for _ in inputs]
        shapes += [
            {0: BATCH, growing[key]: PAST} if key in growing else {0: BATCH} for key in state
        ]
        names = [*steps.inputs, *state]
        outputs = [*steps.outputs, *(f"{key}_next" for key in state)]
        # Values that are the same tensor would be one input.
        values = [v.detach().clone() for v in (*inputs, *state.values())]
        return traced(_Step(self.model, list(state), len(inputs)), values, shapes, names, outputs)

    def save(self, model: Any, path: Path) -> None:
        import onnx

        size = sum(p.numel() * p.element_size() for p in self.model.parameters())
        model.doc_string = MADE
        location = data_path(path).name
        onnx.save(model, str(path), save_as_external_data=size > LARGE, location=location)

    def save_begin(self, steps: Steps) -> None:
        """The state of one example before its first token, and what is known there."""
        from safetensors.torch import save_file

        state, out = self.model.begin(1)
        early = dict(zip(steps.outputs, listed(out), strict=True)) if out is not None else {}
        held = {name: value.detach().contiguous() for name, value in {**state, **early}.items()}
        save_file({n: v.clone() for n, v in held.items()}, begin_path(self.path), {"from": MADE})


class _Step(nn.Module):
    """A step with the state one tensor after the other, as ONNX has no dictionaries."""

    def __init__(self, model: Any, keys: Sequence[str], inputs: int) -> None:
        super().__init__()
        self.model = model
        self.keys = keys
        self.inputs = inputs

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        state = dict(zip(self.keys, values[self.inputs :], strict=True))
        after, out = self.model.step(state, *values[: self.inputs])
        return (*listed(out), *(after[key] for key in self.keys))


def step_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}-step{path.suffix}")


def begin_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}-begin.safetensors")


def data_path(path: Path) -> Path:
    """The weights of a large model, which ONNX wants in a file of their own."""
    return path.with_name(f"{path.name}.data")


def alone(text: str) -> Any:
    """The `Model` of an exported text, without weights."""
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "<exported>", "exec"), space)
    return space["Model"]()


def traced(
    model: nn.Module,
    values: Sequence[torch.Tensor],
    shapes: Sequence[dict[int, str]],
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> Any:
    """What the tracer of torch makes of a module, as an ONNX model."""
    with _quiet(), _heads():
        try:
            program = torch.onnx.export(
                model.eval(),
                tuple(values),
                dynamo=True,
                verbose=False,
                input_names=list(inputs),
                output_names=list(outputs),
                dynamic_shapes=(tuple(shapes),) if isinstance(model, _Step) else tuple(shapes),
            )
        except torch.onnx.OnnxExporterError as error:
            why = str(error.__cause__ or error).splitlines()[0]
            raise OneLength(f"torch cannot trace it: {why}") from error
    assert program is not None
    return program.model_proto


@contextmanager
def _heads() -> Iterator[None]:
    """Attention always has an axis for heads: the tracer knows no other."""
    plain: Any = F.scaled_dot_product_attention

    def headed(query: Any, key: Any, value: Any, *more: Any, **named: Any) -> Any:
        if query.ndim != 3:
            return plain(query, key, value, *more, **named)
        mask = named.get("attn_mask")
        if mask is not None and mask.ndim == 3:
            named["attn_mask"] = mask.unsqueeze(1)
        three = [tensor.unsqueeze(1) for tensor in (query, key, value)]
        return plain(*three, *more, **named).squeeze(1)

    F.scaled_dot_product_attention = headed
    try:
        yield
    finally:
        F.scaled_dot_product_attention = plain


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter speaks of what it has found on the machine; that is nobody's business here."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript")]
    before = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)
