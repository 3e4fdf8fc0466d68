"""A paper as it is pasted, read and compared with PyTorch written by hand.

    program = read("goodfellow")                 # tests/papers/goodfellow.tex, all its displays
    agree(program, reference)                    # values and gradients, interpreter and module

The reference takes one example: arrays by the names of the paper, each with the axes of its scripts first
and its own rows and columns last, as anyone would store them. It returns arrays by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch

import indicial
from indicial.claims.same import Named, trial_sizes
from indicial.program.ir import Tensor
from indicial.program.meaning.arrays import stored_shape
from indicial.program.program import Program

FOLDER = Path(__file__).parent
Reference = Callable[[Named], Mapping[str, torch.Tensor]]
EXAMPLES = 2


def read(name: str) -> Program:
    """All displays of a paper, as one program."""
    (path,) = (p for p in FOLDER.glob(f"{name}.*") if p.suffix in (".tex", ".md"))
    (program,) = indicial.load_document(path)
    return program


def agree(
    program: Program,
    reference: Reference,
    *,
    positive: tuple[str, ...] = (),
    given: Mapping[str, torch.Tensor] | None = None,
    trials: int = 2,
    gradients: bool = True,
    **sizes: int,
) -> None:
    """The interpreter, the module and its gradient say what the reference says.

    Every size is another number, so that exchanged axes show. Names in `positive` are drawn above 0.
    """
    assert not program.mistakes, "\n".join(m.render() for m in program.mistakes)
    fixed = program.sizes(sizes)
    for trial in range(trials):
        every = trial_sizes(program.code, fixed, trial)
        _trial(program, reference, every, trial, {program.name(p) for p in positive},
               {program.name(n): v for n, v in (given or {}).items()}, gradients)  # fmt: skip


def _trial(
    program: Program,
    reference: Reference,
    sizes: dict[str, int],
    seed: int,
    positive: set[str],
    given: dict[str, torch.Tensor],
    gradients: bool,
) -> None:
    draw = torch.Generator().manual_seed(seed)

    def values(tensor: Tensor) -> torch.Tensor:
        if tensor.name in given:
            return given[tensor.name]
        shape = stored_shape(tensor, sizes)
        if tensor.values is not None:
            return torch.randint(tensor.values.value(sizes), shape, generator=draw)
        value = torch.randn(shape, generator=draw, dtype=torch.float64)
        return value.exp() if tensor.name in positive else value

    tensors = program.code.tensors.values()
    parameters = {t.name: values(t) for t in tensors if t.role == "parameter"}
    examples = [{t.name: values(t) for t in tensors if t.role == "input"} for _ in range(EXAMPLES)]

    leaves = [_leaves({**parameters, **example}) for example in examples]
    theirs = [
        {program.name(n): torch.as_tensor(v) for n, v in reference(Named(held)).items()}
        for held in leaves
    ]
    names = list(theirs[0])

    for example, wanted in zip(examples, theirs, strict=True):
        found = program.interpret(example, parameters, sizes=sizes, want=names)
        for name in names:
            _close(program, name, torch.as_tensor(np.asarray(found[name])), wanted[name], sizes)

    module = program.compile(sizes=sizes, start=parameters, dtype=torch.float64).eval()
    stacked = {n: torch.stack([e[n] for e in examples]) for n in examples[0]}
    inputs = _leaves(stacked)
    ours = module(inputs, want=names)
    left: list[torch.Tensor] = []
    right: list[torch.Tensor] = []
    for name in names:
        wanted = torch.stack([t[name] for t in theirs])
        alone = ours[name].dim() < wanted.dim()  # no input reaches it: there is no batch
        _close(program, name, ours[name], wanted[0] if alone else wanted, sizes)
        direction = torch.randn(wanted.shape, generator=draw, dtype=torch.float64)
        if ours[name].requires_grad:
            left.append((ours[name] * (direction[0] if alone else direction)).sum())
            right.append((wanted * direction)[: 1 if alone else None].sum())
    if not gradients or not left:
        return
    held = {n: module.parameter(n) for n in parameters} | inputs
    mine = _gradients(sum(left[1:], left[0]), held)
    other = [_gradients(sum(right[1:], right[0]), one) for one in leaves]
    for name, gradient in mine.items():
        parts = [one[name] for one in other]
        total = sum(parts[1:], parts[0]) if name in parameters else torch.stack(parts)
        _close(program, f"gradient of {name}", gradient, total, sizes)


def _leaves(values: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {n: v.detach().clone().requires_grad_(v.is_floating_point()) for n, v in values.items()}


def _gradients(total: torch.Tensor, leaves: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    names = [n for n, v in leaves.items() if v.requires_grad]
    found = torch.autograd.grad(
        total, [leaves[n] for n in names], materialize_grads=True, retain_graph=True
    )
    return dict(zip(names, found, strict=True))


def _close(
    program: Program, name: str, ours: torch.Tensor, theirs: torch.Tensor, sizes: dict[str, int]
) -> None:
    shapes = f"{name}: {tuple(ours.shape)}, not {tuple(theirs.shape)}, at {sizes}"
    assert ours.shape == theirs.shape, f"{shapes}\n{program.explain()}"
    far = (ours.detach() - theirs.detach()).abs().max().item() if ours.numel() else 0.0
    scale = max(1.0, theirs.detach().abs().max().item() if ours.numel() else 0.0)
    assert far <= 1e-9 * scale, (
        f"{name} differs by {far} of {scale}, at {sizes}\n{program.explain()}"
    )
