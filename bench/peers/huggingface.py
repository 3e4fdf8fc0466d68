"""GPT-2 of Hugging Face's transformers, at our sizes, with random weights.

`LanguageModel` trains; `writer` writes tokens with a cache, one sequence at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, logging

from bench.peers.shape import Shape

logging.set_verbosity_error()  # it warns about padding, and there is none


def gpt2(shape: Shape) -> Any:
    """Dropout is off and the activation is the ReLU of the others."""
    config = GPT2Config(
        vocab_size=shape.words,
        n_positions=shape.steps,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        n_inner=shape.inner,
        activation_function="relu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return GPT2LMHeadModel(config)


class LanguageModel(nn.Module):
    """Tokens (B, T) → loss."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.model = gpt2(shape)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = self.model(tokens, labels=tokens, use_cache=False).loss
        return loss


def writer(shape: Shape, tokens: int) -> Callable[[], None]:
    """A function that writes so many tokens, always the likeliest."""
    model = gpt2(shape).eval()
    first = torch.zeros(1, 1, dtype=torch.long)
    ones = torch.ones_like(first)

    def run() -> None:
        with torch.inference_mode():
            model.generate(
                first,
                attention_mask=ones,
                max_new_tokens=tokens,
                min_new_tokens=tokens,
                do_sample=False,
                use_cache=True,
            )

    return run
