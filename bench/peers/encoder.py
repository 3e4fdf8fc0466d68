"""nn.TransformerEncoder with a causal mask, as a language model."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as f

from bench.peers.shape import Shape


class EncoderModel(nn.Module):
    """Tokens (B, T) → loss."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.words, shape.width)
        self.positions = nn.Parameter(0.02 * torch.randn(shape.steps, shape.width))
        layer = nn.TransformerEncoderLayer(
            shape.width, shape.heads, shape.inner, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, shape.layers, nn.LayerNorm(shape.width), enable_nested_tensor=False
        )
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(shape.steps))
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = f.pad(self.words(tokens[:, :-1]), (0, 0, 1, 0)) + self.positions
        y = self.layers(x, mask=self.mask, is_causal=True)
        logits = f.linear(y, self.words.weight)
        return f.cross_entropy(logits.flatten(0, 1), tokens.flatten())
