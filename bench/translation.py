"""Translation: a training step of bahdanau.eq and of encoder_decoder_prenorm.eq beside plain PyTorch.

Rows of like length as `indicial train` makes them of short sentences, 64 in a batch, with the padding that is
left. The peers have the same weights, and give the same loss and gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from bench import same
from bench.options import Options
from bench.ours import NotThere, load_weights, module
from bench.peers.translation import Bahdanau, Transformer
from bench.table import Line, Section, Verdict
from bench.timing import Contender, geometric_mean, run_race

OURS, THEIRS = "ours", "plain PyTorch"
WORDS, BATCH, LAYERS, HEAD = 4096, 64, 3, 32
WIDTHS = (64, 128, 256)
TARGETS = {"bahdanau": 5.0, "encoder_decoder_prenorm": 1.0}


@dataclass(frozen=True)
class Rows:
    """A batch of pairs: tokens and lengths."""

    x: Tensor
    w: Tensor
    long_x: Tensor
    long_w: Tensor

    @property
    def given(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.x, self.w, self.long_x, self.long_w

    @staticmethod
    def drawn(words: int = WORDS, rows: int = BATCH, least: int = 14, most: int = 17) -> Rows:
        long = [torch.randint(least, most + 1, (rows,)) for _ in range(2)]
        for one in long:
            one[0] = most
        x, w = (torch.randint(1, words, (rows, most)) for _ in range(2))
        return Rows(x, w, long[0], long[1])


def sizes(name: str, words: int, width: int, steps: int) -> dict[str, int]:
    """The letters of an equation."""
    found = {"U": words, "V": words, "J": width}
    if name == "bahdanau":
        return {**found, "I": width, "N": width, "M": width}
    heads = max(1, width // HEAD)
    return {
        **found,
        "L": LAYERS,
        "K": heads,
        "I": width // heads,
        "D": 4 * width,
        "S": steps,
        "T": steps,
    }


def peer(name: str, words: int, width: int, steps: int) -> Bahdanau | Transformer:
    if name == "bahdanau":
        return Bahdanau(words, width)
    return Transformer(words, width, LAYERS, max(1, width // HEAD), steps)


def checked(name: str, theirs: Bahdanau | Transformer, rows: Rows, given: dict[str, int]) -> Any:
    """Our module with a peer's weights, once both have given the same loss and gradients."""
    ours = module(name, **given)
    load_weights(ours, theirs.by_equation())
    loss = theirs(*rows.given)
    loss.backward()
    mine: Any = call(ours, rows)
    mine.backward()
    known = theirs.by_equation(gradients=True)
    same.check(
        {"loss": mine.detach(), **{n: ours.parameter(n).grad for n in known}},
        {"loss": loss.detach(), **known},
        f"{name} and plain PyTorch",
        {"loss", *known},
    )
    return ours


def call(ours: Any, rows: Rows) -> Tensor:
    first = ours.code.tensors["x"].axes[0].extent.name
    lengths = {first: rows.long_x, "T": rows.long_w}
    found: Tensor = ours(x=rows.x, w=rows.w, lengths=lengths, want=["loss"])["loss"]
    return found


def translation(options: Options) -> Section:
    """Training steps with lengths."""
    section = Section("Translation")
    rows = Rows.drawn()
    steps = rows.x.shape[1]
    for name, target in TARGETS.items():
        ratios, why = [], ""
        for width in WIDTHS[:2] if options.quick else WIDTHS:
            theirs = peer(name, WORDS, width, steps)
            size = f"{BATCH}×{steps}×{width}"
            try:
                ours = checked(name, theirs, rows, sizes(name, WORDS, width, steps))
            except (NotThere, same.Different) as reason:
                why = str(reason)
                section.lines.append(Line(name, size, THEIRS, note=why))
                continue
            race = run_race(
                [
                    Contender(OURS, _step(ours, partial(call, ours, rows))),
                    Contender(THEIRS, _step(theirs, partial(theirs, *rows.given))),
                ],
                options.pace,
            )
            ratio = race.ratio(THEIRS, OURS)
            ratios.append(ratio.median)
            mine, other = race.median(OURS) * 1e3, race.median(THEIRS) * 1e3
            section.lines.append(Line(name, size, THEIRS, mine, other, ratio))
        value = geometric_mean(ratios) if ratios else None
        section.verdicts.append(Verdict(name, THEIRS, value, target, note=why))
    section.remarks.append(
        f"The output, a product with {WORDS:,} word vectors, is the same in both, and most of the work "
        "of a wide model; the rest is what the loop of the decoder and those of the encoder cost."
    )
    return section


def _step(model: torch.nn.Module, loss: Callable[[], Any]) -> Callable[[], None]:
    parameters = list(model.parameters())

    def run() -> None:
        for parameter in parameters:
            parameter.grad = None
        loss().backward()

    return run
