"""The transformer language model: our side, and the race against everybody's.

4 layers, 256 wide, 4 heads, MLP of 1024, vocabulary of 1000, batch 32, 128 tokens. All are
pre-norm, with learned positions and a ReLU; word vectors are used twice. One step is the forward
pass, the loss and the gradients of all parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bench import same
from bench.options import Options
from bench.ours import NotThere, load_weights, module
from bench.peers.encoder import EncoderModel
from bench.peers.huggingface import LanguageModel
from bench.peers.nanogpt import NanoGPT
from bench.peers.shape import Shape
from bench.peers.xtransformers import XModel
from bench.table import Line, Section, Verdict
from bench.timing import Contender, Race, run_race

OURS = "ours"
SHAPE = Shape(layers=4, width=256, heads=4, inner=1024, words=1000, steps=128)
BATCH = 32


class Compiled(nn.Module):
    """transformer.eq as a model like the others: tokens (B, T) → loss."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.module = module("transformer", **sizes(shape))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = self.module(w=tokens)["loss"]
        return loss


def sizes(shape: Shape) -> dict[str, int]:
    """A shape in the letters of transformer.eq."""
    return {
        "L": shape.layers,
        "J": shape.width,
        "K": shape.heads,
        "I": shape.width // shape.heads,
        "D": shape.inner,
        "V": shape.words,
        "T": shape.steps,
    }


def language(options: Options) -> Section:
    """Everybody's training step."""
    tokens = torch.randint(SHAPE.words, (BATCH, SHAPE.steps))
    nano = NanoGPT(SHAPE)
    models: dict[str, nn.Module] = {
        "nanoGPT": nano,
        "Hugging Face": LanguageModel(SHAPE),
        "nn.TransformerEncoder": EncoderModel(SHAPE),
        "x-transformers": XModel(SHAPE),
    }
    if options.compiled:
        compiled: Any = torch.compile(nano)
        models["nanoGPT, compiled"] = compiled
    why = ""
    try:
        models[OURS] = _checked(nano, tokens)
    except (NotThere, same.Different) as reason:
        why = str(reason)
    contenders = [Contender(name, training_step(model, tokens)) for name, model in models.items()]
    section = _section(run_race(contenders, options.pace), why)
    section.remarks.append(
        "nanoGPT, written here in its style, computes what transformer.eq says, to the last bias. "
        "The others have gains in their norms and biases in their projections besides."
    )
    return section


def _section(race: Race, why: str) -> Section:
    section = Section("A transformer language model")
    here = OURS in race.seconds
    mine = race.median(OURS) * 1e3 if here else None
    peers = [name for name in race.seconds if name != OURS]
    for name in peers:
        ratio = race.ratio(name, OURS) if here else None
        theirs = race.median(name) * 1e3
        size = f"{BATCH}×{SHAPE.steps}×{SHAPE.width}"
        section.lines.append(Line("transformer", size, name, mine, theirs, ratio, note=why))
    fastest = min(peers, key=race.median)
    value = race.ratio(fastest, OURS).median if here else None
    section.verdicts.append(Verdict("transformer", f"fastest: {fastest}", value, 1.05, note=why))
    return section


def training_step(model: nn.Module, tokens: torch.Tensor) -> Callable[[], None]:
    parameters = list(model.parameters())

    def run() -> None:
        for parameter in parameters:
            parameter.grad = None
        model(tokens).backward()

    return run


def _checked(nano: NanoGPT, tokens: torch.Tensor) -> Compiled:
    """Our model with nanoGPT's weights, once both have given the same loss and gradients."""
    ours = Compiled(SHAPE)
    load_weights(ours.module, nano.by_equation())
    values = {}
    for name, model in (("ours", ours), ("theirs", nano)):
        loss = model(tokens)
        loss.backward()
        values[name] = {"loss": loss.detach()}
    theirs = nano.by_equation(gradients=True)
    values["theirs"] |= theirs
    values["ours"] |= {name: ours.module.parameter(name).grad for name in theirs}
    same.check(values["ours"], values["theirs"], "transformer and nanoGPT", {"loss", *theirs})
    return ours
