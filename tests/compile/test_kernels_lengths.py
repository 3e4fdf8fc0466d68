"""Texts of different lengths in one batch: kernels give what each text gives alone.

The padding holds nan, so whatever is read from it shows, in values and in gradients.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from agreeing import Given, Tensors, Ways, close
from cells import cell

import indicial
from indicial.compile.emit.source import Source, emit
from indicial.compile.native import routine, toolchain
from indicial.compile.pipeline import planned
from indicial.program.ir import Code
from indicial.program.program import Program

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

MEMBERS = 3
LENGTHS = {"T": [5, 1, 3], "T_{in}": [2, 4, 1]}
SIZES = {"T": 5, "T_{in}": 4, "J": 3, "K": 2, "N": 4, "V": 5, "L": 2}


class Ragged:
    """A program with lengths, and one member after the other without."""

    def __init__(self, code: Code, seed: int) -> None:
        self.code = code
        self.ways = Ways(code)
        self.sizes = {name: SIZES.get(name, 3) for name in code.sizes}
        self.ragged = frozenset(n for n in LENGTHS if n in code.sizes)
        self.given = Given(code, self.sizes, MEMBERS, seed)

    @property
    def source(self) -> Source:
        draws = self.ways.draws
        ready = planned(self.code, self.ways.want, draws, self.ragged)
        assert not ready.refused
        return emit(ready.code, ready.plan, self.ways.want, ragged=self.ragged, draws=draws)

    def inside(self, name: str, values: torch.Tensor, member: int) -> torch.Tensor:
        """What one member has of a tensor."""
        for number, axis in enumerate(self.code.tensors[name].axes):
            if axis.extent.name in self.ragged:
                values = values.narrow(number, 0, LENGTHS[axis.extent.name][member])
        return values

    def apart(self, name: str, values: torch.Tensor) -> Iterator[torch.Tensor]:
        """What each member has of a result."""
        batched = values.dim() > len(self.code.tensors[name].axes)
        for member in range(MEMBERS):
            yield self.inside(name, values[member] if batched else values, member)

    def inputs(self) -> Tensors:
        """With nan beyond each member's length."""
        found = {}
        for name, array in self.given.inputs.items():
            values = self.ways.tensor(name, array)
            if values.requires_grad:
                padded = torch.full_like(values, torch.nan)
                for member, own in enumerate(self.apart(name, values)):
                    self.inside(name, padded[member], member).copy_(own.detach())
                values = padded.requires_grad_()
            found[name] = values
        return found

    def together(self) -> tuple[Tensors, Tensors]:
        p = {n: self.ways.tensor(n, v) for n, v in self.given.parameters.items()}
        x = self.inputs()
        lengths = {name: torch.tensor(LENGTHS[name]) for name in self.ragged}
        draws = {n: torch.tensor(v) for n, v in self.given.draws.items()}
        found = self.source.run(p, x, self.sizes, lengths, draws)
        total = sum(
            weighted(own, member)
            for name in self.ways.want
            for member, own in enumerate(self.apart(name, found[name]))
        )
        return found, slopes(total, {**p, **x})

    def alone(self, member: int) -> tuple[Tensors, Tensors]:
        """One member by the loop, cut to its length."""
        p = {
            n: self.ways.tensor(n, self.inside(n, torch.tensor(v), member).numpy())
            for n, v in self.given.parameters.items()
        }
        x = {
            n: self.ways.tensor(n, self.inside(n, torch.tensor(v[member]), member).numpy()[None])
            for n, v in self.given.inputs.items()
        }
        draws = {
            n: self.inside(n, torch.tensor(v[member]), member)[None]
            for n, v in self.given.draws.items()
        }
        sizes = self.sizes | {name: LENGTHS[name][member] for name in self.ragged}
        found = self.ways.loop.run(p, x, sizes, {}, draws)
        own = {n: v[0] if v.dim() > len(self.code.tensors[n].axes) else v for n, v in found.items()}
        total = sum(weighted(own[name], member) for name in self.ways.want)
        return own, slopes(total, {**p, **x})

    def check(self) -> None:
        found, gradients = self.together()
        expected = {name: torch.zeros_like(slope) for name, slope in gradients.items()}
        for member in range(MEMBERS):
            values, own = self.alone(member)
            for name in self.ways.want:
                mine = list(self.apart(name, found[name]))[member].detach()
                close(mine, values[name].detach().numpy(), f"{name} of member {member}")
            for name, slope in own.items():
                if name in self.given.parameters:
                    self.inside(name, expected[name], member).add_(slope)
                else:
                    self.inside(name, expected[name][member], member).copy_(slope[0])
        for name, slope in gradients.items():
            close(slope, expected[name].numpy(), f"the gradient of {name}")


def weighted(values: torch.Tensor, member: int) -> torch.Tensor:
    weights = torch.sin(torch.arange(values.numel(), dtype=values.dtype) + 1 + member)
    return (weights * values.reshape(-1)).sum()


def slopes(total: torch.Tensor | int, leaves: Tensors) -> Tensors:
    assert isinstance(total, torch.Tensor)
    some = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    found = torch.autograd.grad(
        total, list(some.values()), allow_unused=True, materialize_grads=True
    )
    return dict(zip(some, found, strict=True))


@pytest.mark.parametrize(
    "name", ["bidirectional", "stacked", pytest.param("bahdanau", marks=pytest.mark.long), "rnn_lm"]
)
def test_models(name: str) -> None:
    Ragged(indicial.load(name).code, seed=1).check()


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_cells(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routine, "ROWS", 0)
    Ragged(Program.of_text(cell(seed)).code, seed).check()


NO_INPUT = {
    "from the end": "h[t,j] = tanh(W[j,I] h[t+1,I] + b[j])",
    "linear, from the end": "h[t,j] = a[j] h[t+1,j] + b[j]",
    "from the start": "h[t,j] = tanh(W[j,I] h[t-1,I] + b[j])",
    "reading beyond the end": "parameter p[t,j]\nh[t,j] = tanh(p[t+1,j] + a[j] h[t-1,j])",
    "a sum over all steps": "parameter p[t,j]\nh[t,j] = tanh(Σ_s p[s,j] + a[j] h[t-1,j])",
}


@pytest.mark.parametrize("name", NO_INPUT)
def test_what_no_input_enters_still_knows_its_length(name: str) -> None:
    text = f"input x[t,j]\n{NO_INPUT[name]}\ny[t,j] = h[t,j] x[t,j]"
    Ragged(Program.of_text(text).code, seed=1).check()
