"""nanoGPT's training of characters, written plainly: `python -m bench.peers.nanogpt_training FILE`.

Its published setting for a CPU: 4 layers, 4 heads, 128 wide, context 64, batch 12, 2,000 steps of
AdamW, 0.001 falling to a tenth along a cosine after 100 steps of warm-up. Prints one line of JSON:
seconds in training, and nats per character over the whole last tenth of the text, in rows as long
as the context.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import torch
from torch import nn

from bench.peers.nanogpt import NanoGPT
from bench.peers.shape import Shape

CONTEXT, BATCH, STEPS = 64, 12, 2000
PEAK, LEAST, WARMUP = 1e-3, 1e-4, 100


def rate(step: int) -> float:
    if step < WARMUP:
        return PEAK * (step + 1) / (WARMUP + 1)
    along = (step - WARMUP) / (STEPS - WARMUP)
    return LEAST + 0.5 * (1 + math.cos(math.pi * along)) * (PEAK - LEAST)


def train(model: nn.Module, tokens: torch.Tensor, steps: int) -> float:
    """Seconds that the steps took."""
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.99))
    begun = time.perf_counter()
    for step in range(steps):
        starts = torch.randint(len(tokens) - CONTEXT, (BATCH,)).tolist()
        batch = torch.stack([tokens[start : start + CONTEXT] for start in starts])
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.zero_grad(set_to_none=True)
        model(batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return time.perf_counter() - begun


@torch.no_grad()
def validate(model: nn.Module, tokens: torch.Tensor) -> float:
    rows = tokens[: len(tokens) // CONTEXT * CONTEXT].view(-1, CONTEXT)
    total = 0.0
    for part in torch.split(rows, 64):
        total += model(part).item() * part.numel()
    return total / rows.numel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-steps", type=int, default=STEPS)
    options = parser.parse_args()
    text = options.file.read_text(encoding="utf-8")
    numbers = {character: number for number, character in enumerate(sorted(set(text)))}
    tokens = torch.tensor([numbers[character] for character in text])
    cut = len(tokens) * 9 // 10
    torch.manual_seed(options.seed)
    model = NanoGPT(Shape(4, 128, 4, 512, len(numbers), CONTEXT))
    for parameter in model.blocks.parameters():
        nn.init.normal_(parameter, std=0.02) if parameter.dim() > 1 else nn.init.zeros_(parameter)
    seconds = train(model, tokens[:cut], options.max_steps)
    print(json.dumps({"seconds": seconds, "loss": validate(model, tokens[cut:])}))


if __name__ == "__main__":
    main()
