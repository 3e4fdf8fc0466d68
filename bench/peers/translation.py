"""Translation in plain PyTorch, as it is written by hand: bahdanau.eq and encoder_decoder_prenorm.eq.

Everything that does not depend on the state stands before the loops: the products of the inputs, the keys of
the attention, and the output, which is one product for all steps. The loops are those that the equations leave.
(`nn.GRU` has its reset gate at another place, so it is not this model.)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as f


class Cell(nn.Module):
    """gru.eq, its input products taken out."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.inputs = nn.Linear(inputs, 3 * width)
        self.gates = nn.Linear(width, 2 * width, bias=False)
        self.rest = nn.Linear(width, width, bias=False)

    def forward(self, given: Tensor, h: Tensor) -> Tensor:
        width = h.shape[-1]
        gates = torch.sigmoid(given[:, : 2 * width] + self.gates(h))
        r, z = gates.chunk(2, -1)
        new = torch.tanh(given[:, 2 * width :] + self.rest(r * h))
        return z * h + (1 - z) * new

    def by_equation(self, name: str, value: str = "data") -> dict[str, Tensor]:
        found = {}
        x, b = (
            getattr(self.inputs.weight, value).chunk(3),
            getattr(self.inputs.bias, value).chunk(3),
        )
        h = (*getattr(self.gates.weight, value).chunk(2), getattr(self.rest.weight, value))
        for letter, part, bias, state in zip("rzR", x, b, h, strict=True):
            found[f"{name}.W^{{x,{letter}}}"] = part
            found[f"{name}.B^{letter}"] = -bias
            found[f"{name}.W^{{h,{letter}}}"] = state
        return found


class Bahdanau(nn.Module):
    """x: (B, S), w: (B, T) with lengths → the mean of the losses of the rows."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.forth, self.back = Cell(width, width), Cell(width, width)
        self.start = nn.Linear(width, width, bias=False)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(2 * width, width, bias=False)
        self.v = nn.Parameter(torch.randn(width) / width**0.5)
        self.decoder = Cell(3 * width, width)
        self.of_state = nn.Linear(width, width, bias=False)
        self.of_context = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor, w: Tensor, long_x: Tensor, long_w: Tensor) -> Tensor:
        inside = torch.arange(x.shape[1]) < long_x[:, None]
        h = torch.cat([self.states(x, inside, back) for back in (False, True)], -1)
        keys = self.key(h)
        s = torch.tanh(self.start(h[:, 0, s_width(h) :]))
        before = f.pad(self.target(w[:, :-1]), (0, 0, 1, 0))
        contexts, states = [], []
        for t in range(w.shape[1]):
            scores = torch.tanh(self.query(s)[:, None] + keys) @ self.v
            weights = scores.masked_fill(~inside, -torch.inf).softmax(-1)
            c = (weights[:, None] @ h)[:, 0]
            z = torch.cat([before[:, t], c], -1)
            s = self.decoder(self.decoder.inputs(z), s)
            contexts.append(z)
            states.append(s)
        out = self.of_state(torch.stack(states, 1)) + self.of_context(torch.stack(contexts, 1))
        return loss(out, self.target.weight, w, long_w)

    def states(self, x: Tensor, inside: Tensor, back: bool) -> Tensor:
        cell = self.back if back else self.forth
        given = cell.inputs(self.source(x))
        h = given.new_zeros(len(x), given.shape[-1] // 3)
        steps = range(x.shape[1])
        found: dict[int, Tensor] = {}
        for t in reversed(steps) if back else steps:
            new = cell(given[:, t], h)
            h = found[t] = torch.where(inside[:, t, None], new, h) if back else new
        return torch.stack([found[t] for t in steps], 1)

    def by_equation(self, gradients: bool = False) -> dict[str, Tensor]:
        value = "grad" if gradients else "data"
        plain = {
            "e_{in}": self.source.weight, "e_{out}": self.target.weight, "v": self.v,
            "W^{start}": self.start.weight, "W^s": self.query.weight, "W^h": self.key.weight,
            "U^s": self.of_state.weight, "U^z": self.of_context.weight,
        }  # fmt: skip
        found = {name: getattr(parameter, value) for name, parameter in plain.items()}
        cells = {"CELL1": self.forth, "CELL2": self.back, "CELL3": self.decoder}
        for name, cell in cells.items():
            found |= cell.by_equation(name, value)
        return found


def s_width(h: Tensor) -> int:
    return h.shape[-1] // 2


def loss(out: Tensor, words: Tensor, w: Tensor, lengths: Tensor) -> Tensor:
    """The mean over rows of the mean over the words of each."""
    each = f.cross_entropy((out @ words.T).flatten(0, 1), w.flatten(), reduction="none")
    inside = torch.arange(w.shape[1]) < lengths[:, None]
    return ((each.view(w.shape) * inside).sum(1) / lengths).mean()


class Layer(nn.Module):
    """Pre-norm, with one product for query, key and value."""

    def __init__(self, width: int, heads: int, crosses: bool) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = (nn.Linear(width, n * width, bias=False) for n in (3, 1))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        if crosses:
            self.q, self.kv, self.out_x = (
                nn.Linear(width, n * width, bias=False) for n in (1, 2, 1)
            )

    def forward(self, y: Tensor, mask: Tensor | None, seen: Tensor | None = None) -> Tensor:
        q, k, v = self.qkv(norm(y)).chunk(3, -1)
        y = y + self.out(self.attend(q, k, v, mask if seen is None else None, seen is not None))
        if seen is not None:
            k, v = self.kv(seen).chunk(2, -1)
            y = y + self.out_x(self.attend(self.q(norm(y)), k, v, mask, False))
        result: Tensor = y + self.down(f.relu(self.up(norm(y))))
        return result

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        q, k, v = (p.view(*p.shape[:2], self.heads, -1).transpose(1, 2) for p in (q, k, v))
        found = f.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return found.transpose(1, 2).flatten(2)


def norm(x: Tensor) -> Tensor:
    return f.layer_norm(x, x.shape[-1:])


class Transformer(nn.Module):
    """x: (B, S), w: (B, T) with lengths → the mean of the losses of the rows."""

    def __init__(self, words: int, width: int, layers: int, heads: int, steps: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.here, self.there = (nn.Parameter(torch.randn(steps, width)) for _ in range(2))
        self.encoder = nn.ModuleList(Layer(width, heads, False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(width, heads, True) for _ in range(layers))

    def forward(self, x: Tensor, w: Tensor, long_x: Tensor, long_w: Tensor) -> Tensor:
        mask = (torch.arange(x.shape[1]) < long_x[:, None])[:, None, None]
        y = self.source(x) + self.here[: x.shape[1]]
        for layer in self.encoder:
            y = layer(y, mask)
        seen = norm(y)
        z = f.pad(self.target(w[:, :-1]), (0, 0, 1, 0)) + self.there[: w.shape[1]]
        for layer in self.decoder:
            z = layer(z, mask, seen)
        return loss(norm(z), self.target.weight, w, long_w)

    def by_equation(self, gradients: bool = False) -> dict[str, Tensor]:
        value = "grad" if gradients else "data"

        def of(parameter: Tensor) -> Tensor:
            found: Tensor = getattr(parameter, value)
            return found

        def split(weight: Tensor, heads: int) -> Tensor:
            width = weight.shape[1]
            return of(weight).reshape(-1, heads, width // heads, width)

        def joined(weight: Tensor, heads: int) -> Tensor:
            return of(weight).reshape(len(weight), heads, -1)

        found = {
            "e_{in}": of(self.source.weight), "e_{out}": of(self.target.weight),
            "pos_{in}": of(self.here), "pos_{out}": of(self.there),
        }  # fmt: skip
        for letter, stack in (("E", self.encoder), ("Z", self.decoder)):
            many: dict[str, list[Tensor]] = {}
            for layer in stack:
                assert isinstance(layer, Layer)
                parts = dict(zip("QKV", split(layer.qkv.weight, layer.heads), strict=True))
                named = {f"W^{{{p},{letter}}}": tensor for p, tensor in parts.items()}
                named[f"W^{{O,{letter}}}"] = joined(layer.out.weight, layer.heads)
                if letter == "Z":
                    named["W^{Q,X}"] = split(layer.q.weight, layer.heads)[0]
                    named["W^{K,X}"], named["W^{V,X}"] = split(layer.kv.weight, layer.heads)
                    named["W^{O,X}"] = joined(layer.out_x.weight, layer.heads)
                for number, linear in (("1", layer.up), ("2", layer.down)):
                    named[f"W^{{{number},{letter}}}"] = of(linear.weight)
                    named[f"B^{{{number},{letter}}}"] = -of(linear.bias)
                for name, tensor in named.items():
                    many.setdefault(name, []).append(tensor)
            found |= {name: torch.stack(tensors) for name, tensors in many.items()}
        return found
