"""Muon: the momentum of each matrix, made orthogonal, is its step (Jordan et al. 2024).

>>> muon = Muon({"W_Q": w}, {"W_Q": Matrix(stack=(0,), rows=(1, 2), columns=(3,))})
>>> muon.step(learning_rate=3e-3)                   # w: (L, k, i, J), L matrices of k·i rows

A step is as large as 0.2 √max(rows, columns) in each direction: its elements are then about as large
as AdamW's, and one learning rate serves both (Liu et al. 2025, arXiv:2502.16982, §2.2).

`torch.optim.Muon` takes parameters with two axes only, one at a time, and rounds to bfloat16.
Here layers and heads are axes, and all matrices of one shape are multiplied together in float32.

Of a matrix that is divided over processes (FSDP) each keeps its rows and their momentum; they are
joined to be made orthogonal, since that needs the whole matrix.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from indicial.compile.ground.torch_inside import add_, move_, scale_
from indicial.training.matrices import Matrix
from indicial.training.shards import divided, joined, local

QUINTIC = (3.4445, -4.7750, 2.0315)
"""a, b, c of X ← a X + b (XXᵀ) X + c (XXᵀ)² X: steep at 0, so that five rounds are enough."""
ROUNDS = 5


class Muon:
    """Moves parameters that are stacks of matrices; `momenta` is all that it remembers."""

    def __init__(
        self,
        parameters: Mapping[str, nn.Parameter],
        maps: Mapping[str, Matrix],
        *,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
    ) -> None:
        self.parameters = dict(parameters)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.momenta: dict[str, Tensor] = {}
        self._stacks = {key: _Stack(maps[key], p.shape) for key, p in parameters.items()}
        self._alike: dict[tuple[int, int], list[str]] = {}
        for key, stack in self._stacks.items():
            self._alike.setdefault(stack.shape, []).append(key)

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        for shape, alike in self._alike.items():
            keys = [key for key in alike if self.parameters[key].grad is not None]
            if keys:
                self._move(keys, learning_rate, 0.2 * max(shape) ** 0.5)

    def _move(self, keys: list[str], learning_rate: float, scale: float) -> None:
        """A step of some parameters whose matrices have the same shape."""
        stacks = [self._stacks[key] for key in keys]
        own = [self.parameters[key] for key in keys]
        directions = [joined(d, p) for d, p in zip(self._directions(keys), own, strict=True)]
        parts = [s.matrices(d) for s, d in zip(stacks, directions, strict=True)]
        orthogonal = torch.split_with_sizes(
            orthogonalise(torch.cat(parts)), [s.number for s in stacks]
        )
        steps = [
            local(divided(s.tensor(o), p)) for s, o, p in zip(stacks, orthogonal, own, strict=True)
        ]
        values = [local(p) for p in own]
        scale_(values, [1 - learning_rate * self.weight_decay] * len(values))
        add_(values, steps, -learning_rate * scale)

    def _directions(self, keys: list[str]) -> list[Tensor]:
        """The momenta, a step further, and a look ahead (Nesterov): the rows that are here."""
        gradients = [local(self.parameters[key].grad) for key in keys]
        for key in keys:
            if key not in self.momenta:
                self.momenta[key] = torch.zeros_like(self.parameters[key])
        momenta = [local(self.momenta[key]) for key in keys]
        move_(momenta, gradients, 1 - self.momentum)
        ahead = [gradient.clone() for gradient in gradients]
        move_(ahead, momenta, self.momentum)
        return ahead


class _Stack:
    """A parameter as matrices and back: (L, k, i, J) ↔ (L, J, k·i), the short side first.

    Which side the rows are makes no difference to what is orthogonal, and the short one is quicker.
    """

    def __init__(self, matrix: Matrix, shape: torch.Size) -> None:
        self.number, rows, columns = matrix.shape(shape)
        self.shape = min(rows, columns), max(rows, columns)
        sides = (matrix.rows, matrix.columns) if rows <= columns else (matrix.columns, matrix.rows)
        self.order = (*matrix.stack, *sides[0], *sides[1])
        self.back = [self.order.index(axis) for axis in range(len(shape))]
        self.permuted = [shape[axis] for axis in self.order]

    def matrices(self, tensor: Tensor) -> Tensor:
        return tensor.permute(self.order).reshape(self.number, *self.shape)

    def tensor(self, stacked: Tensor) -> Tensor:
        return stacked.reshape(self.permuted).permute(self.back)


def orthogonalise(stacked: Tensor, rounds: int = ROUNDS) -> Tensor:
    """U Vᵀ of each matrix U S Vᵀ, roughly: singular values come to lie between 0.7 and 1.2.

    stacked: (number, rows, columns), rows ≤ columns. Newton-Schulz, a polynomial of degree five.
    """
    lengths = stacked.flatten(1).norm(dim=1).clamp(min=1e-7)
    x: Tensor = stacked.float() / lengths[:, None, None]
    if x.shape[2] >= 2 * x.shape[1]:
        return _factor(x @ x.mT, rounds) @ x
    for _ in range(rounds):
        x = _polynomial(x @ x.mT) @ x
    return x


def _polynomial(gram: Tensor) -> Tensor:
    """a + b G + c G², what X is multiplied with in a round."""
    a, b, c = QUINTIC
    found = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
    found.diagonal(dim1=1, dim2=2).add_(a)
    return found


def _factor(gram: Tensor, rounds: int) -> Tensor:
    """The product of what X is multiplied with in all rounds, from its Gram matrix alone.

    (Q X)(Q X)ᵀ = Q G Q: the long side is left out, which saves half the time where it is four times
    as long.
    """
    product = factor = _polynomial(gram)
    for _ in range(rounds - 1):
        gram = factor @ gram @ factor
        factor = _polynomial(gram)
        product = factor @ product
    return product
