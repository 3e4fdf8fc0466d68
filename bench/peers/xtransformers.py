"""x-transformers at our sizes: learned positions, word vectors used twice, fused attention."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as f
from x_transformers import Decoder, TransformerWrapper

from bench.peers.shape import Shape


class XModel(nn.Module):
    """Tokens (B, T) → loss."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.model = TransformerWrapper(
            num_tokens=shape.words,
            max_seq_len=shape.steps,
            tie_embedding=True,
            attn_layers=Decoder(
                dim=shape.width,
                depth=shape.layers,
                heads=shape.heads,
                attn_dim_head=shape.width // shape.heads,
                attn_flash=True,
                ff_mult=shape.inner // shape.width,
                ff_custom_activation=nn.ReLU(),
            ),
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits = self.model(tokens)[:, :-1]
        return f.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
