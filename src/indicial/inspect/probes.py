"""A program → the same program, made so that one can look inside while it runs.

    nudged      h[t,j] = … + h^{nudge}[t,j]        its gradient is that of the loss at h[t,j]
    cut         h[t,j] = tanh(W[j,I] h^{before}[t-1,I] + …)     one step, apart from all others
    observed    R^{act}[t,j] = tanh(…)             each tanh, σ and ReLU as a tensor of its own

Nothing here knows a model: all is read from the equations. A `Twin` runs such a program with the
weights of a module, in 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import carried, same_step
from indicial.compile.passes.new_tensors import derived_name
from indicial.compile.pipeline import plain
from indicial.compile.schedule.plan import Loop, Step
from indicial.compile.schedule.schedule import schedule
from indicial.program import ir
from indicial.program.rewrite import free_indices, rebuild

ACTIVATIONS = ("tanh", "σ", "ReLU")


class Twin:
    """A program with the parameters of a module, in 64 bits, as plain PyTorch.

    >>> Twin(module, code, ["h"])({"w": tokens})["h"].shape
    torch.Size([B, T, J])

    Kernels are left out: a program that is looked into once is sooner run than compiled.
    """

    def __init__(self, module: ProgramModule, code: ir.Code, want: Sequence[str]) -> None:
        self.module = module
        self.source = plain(code, want)
        self.values = {
            name: module.get_parameter(key).detach().cpu().double()
            for name, key in module.state_keys.items()
        }

    def __call__(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        sizes = told_sizes(self.module, inputs)
        values = dict(self.values)
        for name, room in self.module._rooms.items():
            values[name] = room.cut(values[name], sizes)
        return self.source.run(values, dict(inputs), sizes, {}, {})


def told_sizes(module: ProgramModule, inputs: Mapping[str, torch.Tensor]) -> dict[str, int]:
    """All sizes, those of the texts included."""
    told = {
        name: inputs[tensor].shape[axis + 1]
        for name, (tensor, axis) in module.sizes.tellers.items()
        if tensor in inputs
    }
    return {**module.sizes.known, **told}


# ---------------------------------------------------------------------- recurrences


@dataclass(frozen=True)
class Recurrence:
    """A loop over the steps of a text, and what is carried from one step to the next."""

    loop: Loop
    states: tuple[str, ...]
    around: tuple[Loop, ...]
    """The loops that it stands in: layers."""

    @property
    def name(self) -> str:
        return ", ".join(self.states)


def recurrences(code: ir.Code, want: Sequence[str]) -> list[Recurrence]:
    """All loops that go along an input because the equations force them to."""
    return list(_recurrences(schedule(code, want).steps, ()))


def _recurrences(steps: Sequence[Step], around: tuple[Loop, ...]) -> Iterator[Recurrence]:
    for step in steps:
        if not isinstance(step, Loop):
            continue
        if step.kind == "scanned":
            yield Recurrence(step, tuple(dict.fromkeys(carried(step))), around)
        else:
            yield from _recurrences(step.steps, (*around, step))


def cut(code: ir.Code, found: Recurrence) -> tuple[ir.Code, dict[str, str]]:
    """The program with the state of earlier steps as an input; and what that is called."""
    before: dict[str, str] = {}
    tensors = dict(code.tensors)
    for name in found.states:
        before[name] = new = derived_name(tensors, name, "before")
        tensors[new] = replace(code.tensors[name], name=new, role="input")
    inside = {id(s) for s in found.loop.statements()}

    def reads(statement: ir.Statement) -> ir.Statement:
        def leaf(node: ir.Expression) -> ir.Expression:
            if not isinstance(node, ir.Read) or node.tensor not in before:
                return node
            same = same_step(found.loop, statement, node)
            return node if same else replace(node, tensor=before[node.tensor])

        return replace(statement, body=rebuild(statement.body, leaf=leaf))

    statements = tuple(reads(s) if id(s) in inside else s for s in code.statements)
    return replace(code, tensors=tensors, statements=statements), before


# ---------------------------------------------------------------------- gradients


def nudged(code: ir.Code, statements: Iterable[ir.Statement]) -> tuple[ir.Code, dict[str, str]]:
    """The program with something added to what some statements define; and what that is called."""
    chosen = {id(s) for s in statements}
    tensors = dict(code.tensors)
    nudges: dict[str, str] = {}
    result = []
    for statement in code.statements:
        if id(statement) in chosen:
            name = statement.target
            if name not in nudges:
                nudges[name] = new = derived_name(tensors, name, "nudge")
                tensors[new] = replace(
                    code.tensors[name], name=new, role="input", probability=False
                )
            body = ir.Apply("+", (statement.body, ir.Read(nudges[name], statement.left)))
            statement = replace(statement, body=body)
        result.append(statement)
    return replace(code, tensors=tensors, statements=tuple(result)), nudges


# ---------------------------------------------------------------------- activations


@dataclass(frozen=True)
class Activation:
    """A tanh, σ or ReLU in the equation of `target`, as the tensor `name`."""

    name: str
    target: str
    function: str
    whole: bool
    """Whether it is all of the right side."""


def observed(code: ir.Code) -> tuple[ir.Code, list[Activation]]:
    """The program with each activation as a tensor of its own."""
    tensors = dict(code.tensors)
    statements = list(code.statements)
    found: list[Activation] = []
    for statement in code.statements:
        for node, binders in _activations(statement.body, ()):
            indices = (*statement.indices, *binders)
            free = free_indices(node)
            indices = tuple(i for i in indices if i.name in free)
            name = derived_name(tensors, statement.target, "act")
            axes = tuple(ir.Axis(i.name, i.lower, i.extent) for i in indices)
            tensors[name] = ir.Tensor(name, axes, "defined")
            left = tuple(ir.Affine.of(i) for i in indices)
            statements.append(ir.Statement(name, left, indices, node, span=statement.span))
            whole = node is statement.body
            found.append(Activation(name, statement.target, node.function, whole))
    return replace(code, tensors=tensors, statements=tuple(statements)), found


def _activations(
    node: ir.Expression, binders: tuple[ir.Index, ...]
) -> Iterator[tuple[ir.Apply, tuple[ir.Index, ...]]]:
    if isinstance(node, ir.Apply) and node.function in ACTIVATIONS:
        yield node, binders
    if isinstance(node, ir.Reduce | ir.Softmax):
        # The index of a softmax is free outside as well: it is the statement's own.
        inner = node.indices if isinstance(node, ir.Reduce) else ()
        yield from _activations(node.body, (*binders, *inner))
    elif isinstance(node, ir.Join):
        for part in node.parts:
            yield from _activations(part.body, (*binders, part.index))
    elif isinstance(node, ir.Apply | ir.Select):
        for child in node.children():
            yield from _activations(child, binders)
