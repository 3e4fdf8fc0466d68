"""Optimizers over the named parameters of a module: Muon for matrices, AdamW for the rest.

>>> optimizer = Optimizer(module, "muon", weight_decay=0.1)
>>> loss.backward()
>>> optimizer.step(learning_rate=3e-3)
>>> optimizer.tensors().keys()
dict_keys(['W_hR/momentum', 'e/step', 'e/exp_avg', 'e/exp_avg_sq'])

`equations.py` says which parameters are matrices. The arithmetic of AdamW (Loshchilov and Hutter 2019) is PyTorch's,
all tensors in one call. Its class `torch.optim.AdamW` does no more here, and the first one that is made imports the
compiler of PyTorch, which takes longer than all else before the first step.

Muon (Jordan et al. 2024): the momentum of each matrix, made orthogonal, is its step, as large as 0.2 √max(rows,
columns) in each direction: its elements are then about as large as AdamW's, and one learning rate serves both
(Liu et al. 2025, arXiv:2502.16982, §2.2). `torch.optim.Muon` takes parameters with two axes only, one at a
time, and rounds to bfloat16. Here layers and heads are axes, and all matrices of one shape are multiplied
together in float32. Of a matrix that is divided over processes (FSDP) each keeps its rows and their momentum;
they are joined to be made orthogonal.

`Average` is the mean of the weights over the last steps (`--average`), used in their place. The last steps
weigh most (Polyak and Juditsky 1992, as an exponential mean). At the beginning the mean is of the last tenth of
the steps, since the first weights are of no use to anybody.

The learning rate as a pure function of the step.

    Schedule(peak=3e-3, steps=1000, warmup=100)

    step      0       99      100        550        999
    rate   3e-5     3e-3     3e-3     1.5e-3       8e-9

Steps count from 0: `at(0)` is the rate of the first update. No rate is 0, so no update is wasted.

How far a training is and where it ends: planned anew while it runs.

The learning rate was planned for so many steps: those are places of the schedule. A stretch says
at which place each step is.

>>> Stretch(end=1000).at(200)                   # as planned: step 200 is at place 200
200.0
>>> slow = Stretch(end=1000).to(200, 600, places=1000)    # half as fast from here on
>>> slow.pace, slow.at(200), slow.at(600)
(2.0, 200.0, 1000.0)

The rate goes on where it was, and falls as quickly as there is time for. A new stretch begins only
where a checkpoint is saved with it, so that a run that was killed goes on along the same ones.

`--minutes` are those of the wall. Who measures on a machine where others work, or tests what happens on one that
becomes slow, puts another clock in its place: `optimizers.now = time.process_time`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from indicial.compile.ground.torch_inside import adamw_, add_, move_, scale_
from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.training.equations import Matrix, matrices
from indicial.training.processes import divided, joined, local, whole

PARTS = ("step", "exp_avg", "exp_avg_sq")


BETAS, EPSILON = (0.9, 0.95), 1e-8
"""How much of the means of gradients and of their squares stays in a step, and what is added to their root."""


class AdamW:
    """`state` is all that it remembers."""

    def __init__(
        self,
        parameters: Mapping[str, nn.Parameter],
        *,
        decayed: Collection[str] = (),
        weight_decay: float = 0.0,
    ) -> None:
        self.parameters = dict(parameters)
        self.groups = (
            ([key for key in parameters if key in decayed], weight_decay),
            ([key for key in parameters if key not in decayed], 0.0),
        )
        self.state: dict[str, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        for group, decay in self.groups:
            keys = [key for key in group if self.parameters[key].grad is not None]
            if keys:
                self._move(keys, learning_rate, decay)

    def _move(self, keys: list[str], learning_rate: float, decay: float) -> None:
        own = [self.parameters[key] for key in keys]
        states = [self._of(key) for key in keys]
        steps, means, squares = ([state[part] for state in states] for part in PARTS)
        adamw_(
            list[Tensor](own),
            [p.grad for p in own if p.grad is not None],
            means,
            squares,
            steps,
            learning_rate=learning_rate,
            betas=BETAS,
            decay=decay,
            epsilon=EPSILON,
        )

    def _of(self, key: str) -> dict[str, Tensor]:
        """The state of a parameter, made when it first moves."""
        if key not in self.state:
            parameter = self.parameters[key]
            count = torch.zeros((), device=parameter.device)
            means = (torch.zeros_like(parameter) for _ in range(2))
            self.state[key] = dict(zip(PARTS, (count, *means), strict=True))
        return self.state[key]


QUINTIC = (3.4445, -4.7750, 2.0315)
"""a, b, c of X ← a X + b (XXᵀ) X + c (XXᵀ)² X: steep at 0, so that five rounds are enough."""
ROUNDS = 5
STAYS = 0.95
"""How much of the momentum stays in a step."""


class Muon:
    """Moves parameters that are stacks of matrices; `momenta` is all that it remembers."""

    def __init__(
        self,
        parameters: Mapping[str, nn.Parameter],
        maps: Mapping[str, Matrix],
        *,
        weight_decay: float = 0.0,
    ) -> None:
        self.parameters = dict(parameters)
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
        move_(momenta, gradients, 1 - STAYS)
        ahead = [gradient.clone() for gradient in gradients]
        move_(ahead, momenta, STAYS)
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


def orthogonalise(stacked: Tensor) -> Tensor:
    """U Vᵀ of each matrix U S Vᵀ, roughly: singular values come to lie between 0.7 and 1.2.

    stacked: (number, rows, columns), rows ≤ columns. Newton-Schulz, a polynomial of degree five.
    """
    lengths = stacked.flatten(1).norm(dim=1).clamp(min=1e-7)
    x: Tensor = stacked.float() / lengths[:, None, None]
    if x.shape[2] >= 2 * x.shape[1]:
        return _factor(x @ x.mT) @ x
    for _ in range(ROUNDS):
        x = _polynomial(x @ x.mT) @ x
    return x


def _polynomial(gram: Tensor) -> Tensor:
    """a + b G + c G², what X is multiplied with in a round."""
    a, b, c = QUINTIC
    found = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
    found.diagonal(dim1=1, dim2=2).add_(a)
    return found


def _factor(gram: Tensor) -> Tensor:
    """The product of what X is multiplied with in all rounds, from its Gram matrix alone.

    (Q X)(Q X)ᵀ = Q G Q: the long side is left out, which saves half the time where it is four times
    as long.
    """
    product = factor = _polynomial(gram)
    for _ in range(ROUNDS - 1):
        gram = factor @ gram @ factor
        factor = _polynomial(gram)
        product = factor @ product
    return product


KINDS = ("muon", "adamw")
MOMENTUM = "momentum"


class Optimizer:
    """One step for all parameters. Weight decay is for matrices only."""

    def __init__(
        self, module: ProgramModule, kind: str = "muon", *, weight_decay: float = 0.1
    ) -> None:
        if kind not in KINDS:
            raise IndicialError(f"there is no optimizer {kind}; there are {' and '.join(KINDS)}")
        self.kind = kind
        self.parameters = {key: module.get_parameter(key) for key in module.state_keys.values()}
        maps = _large(module)
        self.of_muon = [key for key in self.parameters if kind == "muon" and key in maps]
        self.of_adamw = [key for key in self.parameters if key not in self.of_muon]
        own = self.parameters
        self._muon = Muon({key: own[key] for key in self.of_muon}, maps, weight_decay=weight_decay)
        adamw = {key: own[key] for key in self.of_adamw}
        self._adamw = AdamW(adamw, decayed=maps, weight_decay=weight_decay)

    def step(self, learning_rate: float) -> None:
        """Move every parameter that has a gradient."""
        self._muon.step(learning_rate)
        self._adamw.step(learning_rate)

    def zero_grad(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    # ------------------------------------------------------------------ keeping

    def tensors(self) -> dict[str, Tensor]:
        """The state as whole tensors under flat names, `W_hR/momentum`; copies only if divided."""
        found = {f"{key}/{MOMENTUM}": whole(value) for key, value in self._muon.momenta.items()}
        for key, state in self._adamw.state.items():
            found |= {f"{key}/{part}": whole(value) for part, value in state.items()}
        return found

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what `tensors` gave, bit for bit."""
        state: dict[str, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            key, _, part = name.rpartition("/")
            state.setdefault(key, {})[part] = value
        odd = state.keys() - self.parameters.keys()
        if odd:
            raise IndicialError(f"the state has {', '.join(odd)}, which the model does not have")
        copies = {key: self._copies(key, own) for key, own in state.items()}
        self._muon.momenta = {key: copies[key][MOMENTUM] for key in self.of_muon if key in copies}
        self._adamw.state = {key: copies[key] for key in self.of_adamw if key in copies}

    def _copies(self, key: str, own: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The state of one parameter, checked, on its device and laid out as it is."""
        expected = {MOMENTUM} if key in self.of_muon else set(PARTS)
        if own.keys() != expected:
            raise IndicialError(
                f"the state of {key} is {', '.join(sorted(own))}, but {self.kind} keeps "
                f"{', '.join(sorted(expected))}: it was made by another optimizer"
            )
        parameter = self.parameters[key]
        found: dict[str, Tensor] = {}
        for part, value in own.items():
            if part == "step":
                found[part] = value.to(parameter.device, copy=True)
            elif value.shape == parameter.shape:
                found[part] = torch.empty_like(parameter).copy_(divided(value, parameter))
            else:
                raise IndicialError(
                    f"the {part} of {key} has the shape {tuple(value.shape)}, but {key} has "
                    f"{tuple(parameter.shape)}"
                )
        return found


def _large(module: ProgramModule) -> dict[str, Matrix]:
    """The matrices by their keys; one row or one column is a vector."""
    found = {}
    for name, matrix in matrices(module.code).items():
        key = module.state_keys[name]
        _, rows, columns = matrix.shape(module.get_parameter(key).shape)
        if min(rows, columns) > 1:
            found[key] = matrix
    return found


YOUNG = 9
"""After n steps the mean is of about n / YOUNG of them, as long as that is less than it may be."""


class Average:
    """The means by the keys of the weights; without steps there are none, and nothing is done."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], steps: int) -> None:
        self.parameters, self.steps = dict(parameters), steps
        self.means = {k: p.detach().clone() for k, p in self.parameters.items()} if steps else {}

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Takes the weights after so many steps into account."""
        for key, mean in self.means.items():
            mean.lerp_(self.parameters[key], max(1 / self.steps, YOUNG / (YOUNG + step)))

    @contextmanager
    def used(self) -> Iterator[None]:
        """While this lasts, the module has the means as its weights."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor]) -> None:
        """The module has the means of a checkpoint, whose own weights are these; none: they are the same."""
        for key, mean in self.means.items():
            mean.copy_(self.parameters[key])
        for key, value in weights.items():
            self.parameters[key].copy_(divided(value, self.parameters[key]))

    @torch.no_grad()
    def _exchange(self) -> None:
        for key, mean in self.means.items():
            own = self.parameters[key]
            kept = own.clone()
            own.copy_(mean)
            mean.copy_(kept)


now: Callable[[], float] = time.monotonic
"""The clock that a training goes by."""


@dataclass(frozen=True)
class Schedule:
    """A rise to `peak` over `warmup` steps, then half a wave of a cosine, until `steps`."""

    peak: float
    steps: int
    warmup: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.peak) and self.peak > 0):
            raise IndicialError(f"the learning rate is {self.peak}; it is a number above 0")
        if self.steps < 1:
            raise IndicialError(f"{self.steps} steps; there is at least 1")
        if not 0 <= self.warmup <= self.steps:
            raise IndicialError(
                f"a warm-up of {self.warmup} steps does not fit into {self.steps} steps"
            )

    def at(self, step: float) -> float:
        """The rate of the update after `step` updates; beyond the last step, that of the last.

        A training that is planned anew is between two steps of the first plan.
        """
        step = min(step, self.steps - 1)
        if step < self.warmup:
            return self.peak * min(1.0, (step + 1) / self.warmup)
        left = min(1.0, (self.steps - step) / max(1, self.steps - self.warmup))
        return self.peak * (1 - math.cos(math.pi * left)) / 2


STILL = 0.25
"""When validation gets no better, the rate falls in this part of the steps that were done."""


@dataclass(frozen=True)
class Stretch:
    """From `step` on, which is at `place` of the schedule, each step goes `pace` places."""

    end: int
    """The last step."""
    step: int = 0
    place: float = 0.0
    pace: float = 1.0
    seconds: float = 0.0
    """Used when it began."""
    ending: bool = False
    """Whether it ends because validation got no better, and not with the time."""

    def at(self, step: int) -> float:
        """The place of a step."""
        return self.place + (step - self.step) * self.pace

    def to(self, step: int, end: int, places: int) -> Stretch:
        """From a step of this stretch on, so quickly that the schedule is done at `end`."""
        end = max(end, step + 1)
        place = self.at(step)
        return replace(self, end=end, step=step, place=place, pace=(places - place) / (end - step))

    def mark(self, places: int) -> int:
        """The step at which the next one begins: `places` further on, but not beyond the end."""
        return min(self.end, self.step + max(1, round(places / self.pace)))

    def in_time(
        self, step: int, seconds: float, budget: float, places: int, most: int | None
    ) -> Stretch:
        """The next stretch, by the time that this one took for its steps and by what is left.

        `most` are the steps that the data are good for.
        """
        per_step = (seconds - self.seconds) / max(1, step - self.step)
        left = max(0.0, budget - seconds)
        end = step + int(left / per_step) if per_step > 0 else self.end
        if self.ending:
            end = min(end, self.end)
        elif most is not None:
            end = min(end, most)
        return replace(self.to(step, end, places), seconds=seconds)

    def ended(self, step: int, places: int) -> Stretch:
        """Brings the rate down from here on, and ends."""
        end = min(self.end, step + max(1, round(STILL * step)))
        return replace(self.to(step, end, places), ending=True)
