"""Marian of Hugging Face's transformers, at our sizes, with random weights: what `generate` translates with."""

from __future__ import annotations

from collections.abc import Callable

import torch
from transformers import MarianConfig, MarianMTModel, logging

from bench.peers.shape import Shape

logging.set_verbosity_error()


def translator(shape: Shape, source: torch.Tensor, tokens: int, beams: int) -> Callable[[], None]:
    """A function that translates rows of source tokens into so many tokens each."""
    config = MarianConfig(
        vocab_size=shape.words + 1,
        max_position_embeddings=max(shape.steps, tokens) + 2,
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
    model = MarianMTModel(config).eval()
    ones = torch.ones_like(source)

    def run() -> None:
        with torch.inference_mode():
            model.generate(
                source,
                attention_mask=ones,
                max_new_tokens=tokens,
                min_new_tokens=tokens,
                num_beams=beams,
                do_sample=False,
                use_cache=True,
            )

    return run
