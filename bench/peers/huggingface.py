"""Models of Hugging Face's transformers, at our sizes, with random weights.

`LanguageModel`, a GPT-2, trains; `writer` writes tokens with it and a cache, one sequence at a time; `translator`
translates with Marian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel, logging

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


def marian(shape: Shape, longest: int) -> Any:
    config = MarianConfig(
        vocab_size=shape.words + 1,
        max_position_embeddings=longest + 2,
        d_model=shape.width,
        encoder_layers=shape.layers,
        decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.inner,
        decoder_ffn_dim=shape.inner,
        activation_function="relu",
        pad_token_id=shape.words,
        eos_token_id=0,
        forced_eos_token_id=None,
        decoder_start_token_id=shape.words,
    )
    return MarianMTModel(config)


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
    return _generating(gpt2(shape), torch.zeros(1, 1, dtype=torch.long), tokens)


def translator(shape: Shape, source: torch.Tensor, tokens: int, beams: int) -> Callable[[], None]:
    """A function that translates rows of source tokens into so many tokens each."""
    return _generating(marian(shape, max(shape.steps, tokens)), source, tokens, beams)


def _generating(model: Any, given: torch.Tensor, tokens: int, beams: int = 1) -> Callable[[], None]:
    model.eval()
    ones = torch.ones_like(given)

    def run() -> None:
        with torch.inference_mode():
            model.generate(
                given,
                attention_mask=ones,
                max_new_tokens=tokens,
                min_new_tokens=tokens,
                num_beams=beams,
                do_sample=False,
                use_cache=True,
            )

    return run
