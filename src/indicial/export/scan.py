"""The ONNX model of a step → that of a whole text: a Scan over the tokens, with the step inside.

    w (batch, length) ─ Transpose ─→ Scan(step) ─ Transpose ─→ P[1..length] ─ Concat ─→ P
                 state of the beginning ─┘                     P[0], known before any token ─┘

The parameters stay outside the loop, where the body reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from indicial.export.stepping import Steps


def scanned(
    step: Any,
    steps: Steps,
    state: Mapping[str, torch.Tensor],
    firsts: Sequence[torch.Tensor] | None,
) -> Any:
    """`state` is one example's before the first step; `firsts` what is known there, if anything."""
    return _Scan(step, steps, state, firsts).model()


class _Scan:
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
        import numpy as np

        start = self.constant(f"{name}_start", value.detach().cpu().numpy()[None].copy())
        shape = self.constant(f"{name}_shape", np.array(value.shape, np.int64))
        self.add("Concat", ["batch_size", shape], [f"{name}_full"], axis=0)
        self.add("Expand", [start, f"{name}_full"], [f"{name}_first"])
        return f"{name}_first"

    def result(self, number: int, name: str) -> None:
        """An output at all steps; where it is known one step ahead, from the beginning on."""
        import numpy as np

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
