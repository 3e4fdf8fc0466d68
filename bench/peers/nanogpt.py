"""A small GPT in the style of nanoGPT, and the library's transformer.eq to the last bias.

One product for query, key and value; PyTorch's fused attention; word vectors used twice; the
loss by `cross_entropy` on logits. Its norms have no gain and its projections no bias, and the word
at t is predicted from those before it, the first from its position alone.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as f

from bench.peers.shape import Shape


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)
        self.up = nn.Linear(shape.width, shape.inner)
        self.down = nn.Linear(shape.inner, shape.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.out(self.attention(norm(x)))
        y: torch.Tensor = x + self.down(f.relu(self.up(norm(x))))
        return y

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        b, t, j = x.shape
        q, k, v = (
            part.view(b, t, self.heads, j // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(j, -1)
        )
        y = f.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, heads, T, I)
        return y.transpose(1, 2).reshape(b, t, j)


class NanoGPT(nn.Module):
    """Tokens (B, T) → the mean loss of all of them."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.words, shape.width)
        self.positions = nn.Parameter(0.02 * torch.randn(shape.steps, shape.width))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        # Nothing stands before the first word.
        x = f.pad(self.words(tokens[:, :-1]), (0, 0, 1, 0)) + self.positions
        for block in self.blocks:
            x = block(x)
        logits = f.linear(norm(x), self.words.weight)  # (B, T, V)
        return f.cross_entropy(logits.flatten(0, 1), tokens.flatten())

    def by_equation(self, gradients: bool = False) -> dict[str, torch.Tensor]:
        """Parameters, or their gradients, by the names of transformer.eq, layers stacked."""

        def of(parameter: torch.Tensor) -> torch.Tensor:
            if not gradients:
                return parameter.detach()
            assert parameter.grad is not None
            return parameter.grad

        blocks = [block for block in self.blocks if isinstance(block, Block)]
        heads, width = blocks[0].heads, self.words.weight.shape[1]
        qkv = torch.stack([of(block.qkv.weight) for block in blocks])  # (L, 3 K I, J)
        q, k, v = qkv.view(len(blocks), 3, heads, width // heads, width).unbind(1)
        return {
            "e": of(self.words.weight),
            "pos": of(self.positions),
            "W^Q": q,
            "W^K": k,
            "W^V": v,
            "W^O": torch.stack([of(block.out.weight) for block in blocks]),
            "W^1": torch.stack([of(block.up.weight) for block in blocks]),
            "B^1": -torch.stack([of(block.up.bias) for block in blocks]),
            "W^2": torch.stack([of(block.down.weight) for block in blocks]),
            "B^2": -torch.stack([of(block.down.bias) for block in blocks]),
        }


def norm(x: torch.Tensor) -> torch.Tensor:
    return f.layer_norm(x, x.shape[-1:])
