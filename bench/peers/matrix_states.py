"""Layers whose state is a matrix, in PyTorch: as a loop over time, and in chunks.

HoistedLoop   what does not read the state before the loop, then one step after the other
Chunked       within a chunk as attention, between chunks by the state (number or key decays)

Mamba and DeltaNet are written as loops only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch.nn import functional as nn

from bench.peers.layer import TrainedLayer

DECAY = 0.97
CHUNK = 64
"""The best of 16, 32 and 64 at the two smaller sizes, but for one layer at one of them."""

Tensor = torch.Tensor
Weights = dict[str, Tensor]


class MatrixLayer(TrainedLayer):
    """One training step: `forward` from the weights, and the gradients of all of them."""

    def __init__(self, name: str, weights: Weights, x: Tensor, slope: Tensor) -> None:
        super().__init__(weights, x, slope)
        self.name = name

    def forward(self) -> Tensor:
        return FORWARD[self.name](self.weights, self.x, self.state)

    def state(self, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor) -> Tensor:
        """`Σ_i q[t,i] S[t,i,j]`; the decays' logarithms are (B or 1, T) or (B, T, I)."""
        raise NotImplementedError


class HoistedLoop(MatrixLayer):
    def state(self, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor) -> Tensor:
        decay = log_decay.exp()
        decays = (decay if decay.dim() == 3 else decay.unsqueeze(2)).unsqueeze(3).unbind(1)
        state = q.new_zeros(q.shape[0], q.shape[2], v.shape[2])
        outputs = []
        for g, query, key, value in zip(decays, q.unbind(1), k.unbind(1), v.unbind(1), strict=True):
            state = g * state + key.unsqueeze(2) * value.unsqueeze(1)
            outputs.append((query.unsqueeze(1) @ state).squeeze(1))
        return torch.stack(outputs, 1)


class Chunked(MatrixLayer):
    def state(self, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor) -> Tensor:
        batch, steps, _ = q.shape
        chunks = -(-steps // CHUNK)
        by_key = log_decay.dim() == 3
        gates = log_decay if by_key else log_decay.unsqueeze(2)
        parts = [nn.pad(a, (0, 0, 0, chunks * CHUNK - steps)) for a in (q, k, v, gates)]
        q, k, v, gates = (a.view(a.shape[0], chunks, CHUNK, a.shape[2]) for a in parts)
        since = gates.cumsum(2)
        end = since[:, :, -1:]
        if by_key:
            weights = ((q * since.exp()) @ (k * (-since).exp()).transpose(2, 3)).tril()
        else:
            apart = since - since.transpose(2, 3)
            later = torch.ones(CHUNK, CHUNK, dtype=torch.bool).triu(1)
            weights = (q @ k.transpose(2, 3)) * apart.masked_fill(later, -math.inf).exp()
        new = (k * (end - since).exp()).transpose(2, 3) @ v
        decays = end.exp().transpose(2, 3).unbind(1)
        state = new.new_zeros(new.shape[0], *new.shape[2:])
        states = []
        for number, own in enumerate(new.unbind(1)):
            states.append(state)
            if number < chunks - 1:
                state = decays[number] * state + own
        found = weights @ v + (q * since.exp()) @ torch.stack(states, 1)
        return found.reshape(batch, chunks * CHUNK, -1)[:, :steps]


State = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def _projected(w: Weights, x: Tensor) -> tuple[Tensor, ...]:
    together = torch.cat([w["W^Q"], w["W^K"], w["W^V"]])
    return torch.split(nn.linear(x, together), x.shape[-1], -1)


def _retnet(w: Weights, x: Tensor, state: State) -> Tensor:
    q, k, v = _projected(w, x)
    return state(q, k, v, torch.full((1, x.shape[1]), math.log(DECAY), dtype=x.dtype))


def _gla(w: Weights, x: Tensor, state: State) -> Tensor:
    q, k, v = _projected(w, x)
    return state(q, k, v, nn.logsigmoid(nn.linear(x, w["W^G"], w["B^G"])))


def _mlstm(w: Weights, x: Tensor, state: State) -> Tensor:
    q, k, v = _projected(w, x)
    gate = torch.sigmoid(nn.linear(x, w["W^O"], w["B^O"]))
    a, log_f = x @ w["w^a"] + w["b^a"], nn.logsigmoid(x @ w["w^f"] + w["b^f"])
    whole = log_f.cumsum(1)
    m = whole + (a - whole).cummax(1).values.clamp(min=0)  # m[t] = max(log_f[t] + m[t-1], a[t])
    log_d = log_f + nn.pad(m[:, :-1], (1, 0)) - m
    k = k * ((a - m).exp() / math.sqrt(x.shape[-1])).unsqueeze(2)
    both = state(q, k, torch.cat([v, torch.ones_like(v[..., :1])], -1), log_d)
    return gate * both[..., :-1] / both[..., -1:].abs().clamp(min=1)


def _mamba(w: Weights, x: Tensor, state: State) -> Tensor:
    units, inner = w["A"].shape
    together = nn.linear(x, torch.cat([w["W^Δ"], w["W^B"], w["W^C"]]))
    delta, b, c = torch.split(together, [units, inner, inner], -1)
    delta = nn.softplus(delta + w["b"])
    decays = torch.exp(-delta.unsqueeze(3) * w["A"].exp()).unbind(1)
    news = ((delta * x).unsqueeze(3) * b.unsqueeze(2)).unbind(1)
    own = x.new_zeros(x.shape[0], units, inner)
    outputs = []
    for decay, new, read in zip(decays, news, c.unbind(1), strict=True):
        own = decay * own + new
        outputs.append((own @ read.unsqueeze(2)).squeeze(2))
    return torch.stack(outputs, 1) + w["D"] * x


def _deltanet(w: Weights, x: Tensor, state: State) -> Tensor:
    q, k, v = _projected(w, x)
    k = k / k.norm(dim=-1, keepdim=True)
    scaled = torch.sigmoid(x @ w["w^β"] + w["b^β"]).unsqueeze(2) * k
    own = x.new_zeros(x.shape[0], q.shape[2], v.shape[2])
    outputs = []
    for query, key, value, write in zip(*(a.unbind(1) for a in (q, k, v, scaled)), strict=True):
        error = value - (key.unsqueeze(1) @ own).squeeze(1)
        own = own + write.unsqueeze(2) * error.unsqueeze(1)
        outputs.append((query.unsqueeze(1) @ own).squeeze(1))
    return torch.stack(outputs, 1)


FORWARD: dict[str, Callable[[Weights, Tensor, State], Tensor]] = {
    "retnet": _retnet,
    "gla": _gla,
    "mlstm": _mlstm,
    "mamba": _mamba,
    "deltanet": _deltanet,
}
