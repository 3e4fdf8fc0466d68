"""One training step of recurrences with loops inside loops, and of an alignment, beside PyTorch.

grid_rnn   16×32×32×64   loop       ours 43 ms   theirs 64 ms   1.5×
rhn        16×128×3×128  loop       …
ctc        16×256×64×40  ctc_loss   …
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from bench import same
from bench.cells import EQUATIONS
from bench.options import Options
from bench.ours import FromEquations, module
from bench.peers.grids import Connected, GridLoop, HighwayLoop
from bench.peers.layer import Layer, TrainedLayer
from bench.table import Line, Section, verdict_of_mean
from bench.timing import Contender, run_race

OURS, LOOP, LOSS = "ours", "loop", "ctc_loss"
GRIDS = ((16, 32, 32, 64), (4, 48, 48, 128))
"""Members, rows, columns, units."""
HIGHWAYS = ((16, 128, 3, 128), (8, 512, 3, 64), (32, 256, 3, 256), (1, 2048, 3, 128))
"""Members, steps, layers, units."""
ALIGNMENTS = ((16, 128, 32, 20), (16, 256, 64, 40), (4, 512, 128, 60))
"""Members, steps, symbols, labels."""


def grids(options: Options) -> Section:
    """Grids: a small one of many members, a larger one of few. Highways of few and many units."""
    section = Section("Loops inside loops")
    for size in GRIDS[:1] if options.quick else GRIDS:
        units = size[-1]
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys("WUV", (units, units))
        _race(section, options, "grid_rnn", GridLoop, size, shapes, size, J=units, K=units)
    for size in HIGHWAYS[:1] if options.quick else HIGHWAYS:
        members, steps, layers, units = size
        shapes = {}
        for gate in "HG":
            shapes |= {f"W^{gate}": (units, units), f"B^{gate}": (layers, units)}
            shapes[f"R^{gate}"] = (layers, units, units)
        given = members, steps, units
        _race(section, options, "rhn", HighwayLoop, size, shapes, given, J=units, K=units, L=layers)
    for size in ALIGNMENTS[1:2] if options.quick else ALIGNMENTS:
        random = torch.Generator().manual_seed(0)
        members, steps, symbols, count = size
        scores = torch.randn(members, steps, symbols, generator=random)
        labels = torch.randint(1, symbols, (members, count), generator=random)
        both = {OURS: OurConnected(scores, labels), LOSS: Connected(scores, labels)}
        _compare(section, options, "ctc", both, size)
    for name in ("grid_rnn", "rhn"):
        section.verdicts.append(verdict_of_mean(section.lines, name, LOOP, 5.0))
    section.verdicts.append(verdict_of_mean(section.lines, "ctc", LOSS, 1.0))
    return section


class OurConnected(Connected):
    """The loss from its equations, of labels with blanks between them."""

    def __init__(self, scores: torch.Tensor, labels: torch.Tensor) -> None:
        super().__init__(scores, labels)
        self.module = module(str(EQUATIONS / "ctc.eq"))
        self.padded = labels.new_zeros(labels.shape[0], 2 * labels.shape[1] + 1)
        self.padded[:, 1::2] = labels

    def loss(self) -> torch.Tensor:
        loss: torch.Tensor = self.module(E=self.scores, l=self.padded).loss
        return loss


def _race(
    section: Section,
    options: Options,
    name: str,
    loop: Callable[..., TrainedLayer],
    size: tuple[int, ...],
    shapes: Mapping[str, tuple[int, ...]],
    given: tuple[int, ...],
    **sizes: int,
) -> None:
    random = torch.Generator().manual_seed(0)
    weights = {
        name: (2 * torch.rand(shape, generator=random) - 1) / math.sqrt(shape[-1])
        for name, shape in shapes.items()
    }
    x = torch.randn(given, generator=random)
    slope = torch.randn(given, generator=random) / math.prod(given[:-1])
    layers: dict[str, Layer] = {OURS: FromEquations(name, weights, x, slope, **sizes)}
    layers[LOOP] = loop(weights, x, slope)
    _compare(section, options, name, layers, size)


def _compare(
    section: Section,
    options: Options,
    name: str,
    layers: Mapping[str, Layer],
    size: tuple[int, ...],
) -> None:
    """Ours and another's: that they agree, and how long each takes."""
    other = next(n for n in layers if n != OURS)
    results = [layer.result() for layer in layers.values()]
    same.check(results[0], results[1], f"{name} and {other}", set(results[0]))
    race = run_race([Contender(n, layer.run) for n, layer in layers.items()], options.pace)
    times = race.median(OURS) * 1e3, race.median(other) * 1e3
    at = "×".join(map(str, size))
    section.lines.append(Line(name, at, other, *times, race.ratio(other, OURS)))
