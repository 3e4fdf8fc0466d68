"""Whether a program computes what other code computes: values and gradients, on random draws.

    lstm = torch.nn.LSTM(4, 8, batch_first=True)
    report = indicial.same(
        indicial.load("lstm"), lstm, J=8, K=4,
        weights=\"\"\"
            W^{x,i}[j,k] <- weight_ih_l0[(0 of 4,j),k]
            …
        \"\"\",
        outputs=lambda out: {"h": out[0]},
    )
    print(report)

    the same in 3 trials, up to 4e-16 (allowed: 1e-08)
      value     h         4.4e-16 of 0.76   at [1,4,2]   B = 3, T = 5, J = 8, K = 4
      gradient  x         2.2e-16 of 0.51   …

A function is called with the inputs in the order of the text, then the parameters by name:

    def mine(x, p):
        return {"y": x @ p["W"].T}

    indicial.same(program, mine)
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from indicial.compile.module.mapping import WeightMap
from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import data_lengths, parameters
from indicial.notation.parse import canonical_name
from indicial.program.ir import Code, Tensor
from indicial.program.meaning.arrays import (
    InterpretError,
    lifted_names,
    solve_sizes,
    stored_shape,
    tie,
)
from indicial.program.meaning.sample import least_sizes
from indicial.program.messages import IndicialError, there_is
from indicial.program.program import Program

Tensors = dict[str, torch.Tensor]
BATCH = 3
ALLOWED = {torch.float64: 1e-8, torch.float32: 1e-4}


@dataclass(frozen=True)
class Difference:
    """How far one tensor is from the other, at worst."""

    kind: str
    name: str
    largest: float
    scale: float
    """The largest number in either of them."""
    place: tuple[int, ...]
    sizes: str
    problem: str = ""

    @property
    def relative(self) -> float:
        return self.largest / max(1.0, self.scale)

    def __str__(self) -> str:
        if self.problem:
            return f"{self.kind:<9} {self.name:<12} {self.problem}   {self.sizes}"
        at = f"[{','.join(map(str, self.place))}]"
        number = f"{self.largest:.1e} of {self.scale:.2g}"
        return f"{self.kind:<9} {self.name:<12} {number:<18} at {at:<12} {self.sizes}"


@dataclass(frozen=True)
class Report:
    """What was compared; true if nothing differs by more than is allowed."""

    differences: tuple[Difference, ...]
    trials: int
    allowed: float

    def __bool__(self) -> bool:
        return all(not d.problem and d.relative <= self.allowed for d in self.differences)

    @property
    def worst(self) -> Difference:
        return max(self.differences, key=lambda d: (bool(d.problem), d.relative))

    def __str__(self) -> str:
        verdict = "the same" if self else "not the same"
        far = "" if self.worst.problem else f", up to {self.worst.relative:.0e}"
        lines = [f"{verdict} in {self.trials} trials{far} (allowed: {self.allowed:.0e})"]
        for difference in self.differences:
            wrong = bool(difference.problem) or difference.relative > self.allowed
            lines.append(("! " if wrong else "  ") + str(difference))
        return "\n".join(lines)


def same(
    program: Program,
    reference: Any,
    *,
    weights: str | os.PathLike[str] | WeightMap | None = None,
    outputs: Callable[[Any], Mapping[str, torch.Tensor]] | None = None,
    inputs: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
    gradients: bool = True,
    trials: int = 3,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    allowed: float | None = None,
    **named: int,
) -> Report:
    """Compare a program with a module or a function, on random values at several sizes.

    `weights` says which tensor of a module each parameter is (see `mapping.py`). `outputs` turns
    what the reference returns into tensors by name; a single tensor is taken for the program's
    outcome, a dictionary for tensors by name. `inputs` are used in place of random ones. Sizes that
    are given, or that these inputs have, stay; the others change from trial to trial.
    """
    said = program.sizes({**(sizes or {}), **named})
    comparison = _Comparison(program, reference, weights, outputs, inputs or {}, dtype)
    fixed = comparison.sizes(said)
    found: dict[tuple[str, str], Difference] = {}
    for trial in range(trials):
        every = trial_sizes(program.code, fixed, trial)
        for difference in comparison.trial(every, seed + trial, gradients):
            key = (difference.kind, difference.name)
            if key not in found or _rank(difference) > _rank(found[key]):
                found[key] = difference
    limit = ALLOWED.get(dtype, 1e-2) if allowed is None else allowed
    return Report(tuple(found.values()), trials, limit)


def _rank(difference: Difference) -> tuple[bool, float]:
    return bool(difference.problem), difference.relative


def trial_sizes(code: Code, fixed: Mapping[str, int], trial: int) -> dict[str, int]:
    """Sizes for one trial: different ones, so that exchanged axes show; once, lengths of 1."""
    least, tied, lengths = least_sizes(code), tie(code), data_lengths(code)
    sizes: dict[str, int] = {}
    for number, name in enumerate(code.sizes):
        size = (3, 5, 4, 2, 6)[(number + trial) % 5]
        if trial == 2 and name in lengths:
            size = 1
        sizes[name] = fixed.get(name, max(size, least.get(name, 1)))
    for name, letter in tied.items():
        if name not in fixed:
            sizes[name] = sizes[letter]
    return sizes


class Named(dict[str, torch.Tensor]):
    """Tensors by any spelling of their names."""

    def __missing__(self, spelling: str) -> torch.Tensor:
        name = canonical_name(spelling)
        if name not in self.keys():
            raise IndicialError(f"there is no {spelling}; {there_is(self)}")
        return self[name]


class _Comparison:
    """A program beside a reference; each trial is a pair of `_Side`s."""

    def __init__(
        self,
        program: Program,
        reference: Any,
        weights: str | os.PathLike[str] | WeightMap | None,
        outputs: Callable[[Any], Mapping[str, torch.Tensor]] | None,
        inputs: Mapping[str, Any],
        dtype: torch.dtype,
    ) -> None:
        self.program = program
        self.code = program.code
        self.outputs = outputs
        self.given = {program.name(name): torch.as_tensor(value) for name, value in inputs.items()}
        self.batch = BATCH
        self.dtype = dtype
        self.weights: WeightMap | None = None
        if weights is not None:
            self.weights = weights if isinstance(weights, WeightMap) else WeightMap.read(weights)
        self.reference = reference
        if isinstance(reference, nn.Module):
            self.reference = copy.deepcopy(reference).to(dtype).eval()
            if self.weights is None and parameters(self.code):
                raise IndicialError(
                    "which tensor of the module is which parameter? "
                    "Say weights='W[j,k] <- weight[j,k]', a line for each parameter"
                )

    def sizes(self, said: Mapping[str, int]) -> dict[str, int]:
        """The sizes that were said, and those of the inputs that were given, the batch too."""
        try:
            lifted = lifted_names(self.code, self.given)
            found = solve_sizes(self.code, self.given, lifted, said, set())
        except InterpretError as error:
            raise IndicialError(str(error)) from error
        self.batch = next((self.given[name].shape[0] for name in lifted), BATCH)
        return found

    def trial(self, sizes: Mapping[str, int], seed: int, gradients: bool) -> list[Difference]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            inputs = {
                t.name: self.input(t, sizes)
                for t in self.code.tensors.values()
                if t.role == "input"
            }
            module = self.module(sizes)
            theirs = self.run_reference(module, inputs)
            ours = self.run_program(module, inputs, list(theirs.values))
            directions = {name: torch.randn_like(value) for name, value in ours.values.items()}
        shown = ", ".join(f"{n} = {v}" for n, v in {"B": self.batch, **sizes}.items())
        found = [compared("value", n, ours.values[n], v, shown) for n, v in theirs.values.items()]
        if gradients and not any(d.problem for d in found):
            left = self.in_their_names(module, ours.gradients(directions))
            right = theirs.gradients(directions)
            found += [compared("gradient", n, left[n], right[n], shown) for n in left if n in right]
        return found

    def input(self, tensor: Tensor, sizes: Mapping[str, int]) -> torch.Tensor:
        if tensor.name in self.given:
            value = self.given[tensor.name]
            return value.to(self.dtype) if tensor.values is None else value.long()
        shape = (self.batch, *stored_shape(tensor, sizes))
        if tensor.values is not None:
            return torch.randint(tensor.values.value(sizes), shape)
        return torch.randn(shape, dtype=self.dtype)

    def module(self, sizes: Mapping[str, int]) -> ProgramModule:
        """The program with weights of the reference, or else random ones, none of them special."""
        module = ProgramModule(self.code, sizes, dtype=self.dtype).eval()
        if self.weights is not None:
            module.load_mapped(self.reference.state_dict(), self.weights)
        else:
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.add_(0.3 * torch.randn_like(parameter))
        return module

    def run_program(self, module: ProgramModule, inputs: Tensors, want: list[str]) -> _Side:
        own = _leaves(inputs)
        values = module(own, want=want)
        return _Side(dict(values), own | {n: module.parameter(n) for n in module.state_keys})

    def run_reference(self, module: ProgramModule, inputs: Tensors) -> _Side:
        own = _leaves(inputs)
        if isinstance(self.reference, nn.Module):
            leaves = own | dict(self.reference.named_parameters())
            return _Side(self.by_name(module, self.reference(*own.values())), leaves)
        held = _leaves({name: module.parameter(name).detach() for name in module.state_keys})
        returned = self.reference(*own.values(), *([Named(held)] if held else []))
        return _Side(self.by_name(module, returned), own | held)

    def by_name(self, module: ProgramModule, returned: Any) -> Tensors:
        if self.outputs is not None:
            returned = self.outputs(returned)
        if isinstance(returned, torch.Tensor) and len(module.wanted) == 1:
            return {module.wanted[0]: returned}
        if not isinstance(returned, Mapping):
            listed = ", ".join(f'"{name}": …' for name in module.wanted)
            raise IndicialError(f"say which result is which: outputs=lambda out: {{{listed}}}")
        return {self.program.name(name): value for name, value in returned.items()}

    def in_their_names(self, module: ProgramModule, gradients: Tensors) -> Tensors:
        """Gradients of the parameters → gradients of the tensors that they are made of."""
        if self.weights is None:
            return gradients
        state = _leaves(dict(self.reference.named_parameters()))
        shapes = {name: tuple(module.parameter(name).shape) for name in module.state_keys}
        values, used = self.weights.values(self.code, shapes, state)
        names = [name for name in values if values[name].requires_grad]
        keys = [key for key in state if key in used]
        pulled = torch.autograd.grad(
            [values[name] for name in names],
            [state[key] for key in keys],
            [gradients[name] for name in names],
        )
        own = {name: g for name, g in gradients.items() if name not in module.state_keys}
        return own | dict(zip(keys, pulled, strict=True))


@dataclass(frozen=True)
class _Side:
    """Results by name, and the inputs and parameters that they came from."""

    values: Tensors
    leaves: Tensors

    def gradients(self, directions: Tensors) -> Tensors:
        """Of the results' sum along random directions."""
        total = sum((directions[n] * v).sum() for n, v in self.values.items() if v.requires_grad)
        if not isinstance(total, torch.Tensor):
            return {}
        names = [name for name, leaf in self.leaves.items() if leaf.requires_grad]
        found = torch.autograd.grad(
            total, [self.leaves[name] for name in names], materialize_grads=True
        )
        return dict(zip(names, found, strict=True))


def _leaves(values: Tensors) -> Tensors:
    return {
        name: value.detach().clone().requires_grad_(value.is_floating_point())
        for name, value in values.items()
    }


def compared(
    kind: str, name: str, ours: torch.Tensor, theirs: torch.Tensor, sizes: str
) -> Difference:
    """The largest difference between two tensors; nan in both at one place is none."""
    if ours.shape != theirs.shape:
        shapes = f"{tuple(ours.shape)}, and {tuple(theirs.shape)} in the reference"
        return Difference(kind, name, 0.0, 0.0, (), sizes, shapes)
    if ours.numel() == 0:
        return Difference(kind, name, 0.0, 0.0, (), sizes)
    a, b = ours.detach().double(), theirs.detach().double()
    both = (a == b) | (a.isnan() & b.isnan())
    gaps = torch.where(both, 0.0, (a - b).abs()).nan_to_num(nan=torch.inf)
    flat = int(gaps.argmax())
    place = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), gaps.shape))
    finite = torch.stack([a, b]).nan_to_num(0.0, 0.0, 0.0)
    return Difference(kind, name, float(gaps.max()), float(finite.abs().max()), place, sizes)
