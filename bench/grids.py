"""One training step of an RNN along rows and columns, beside a loop in PyTorch.

grid_rnn   16×32×32×64   loop   ours 43 ms   theirs 64 ms   1.5×
"""

from __future__ import annotations

import math

import torch

from bench import same
from bench.options import Options
from bench.ours import FromEquations
from bench.peers.grids import GridLoop
from bench.peers.layer import Layer
from bench.table import Line, Section, verdict_of_mean
from bench.timing import Contender, run_race

NAME, OURS, LOOP = "grid_rnn", "ours", "loop"
SIZES = ((16, 32, 32, 64), (4, 48, 48, 128))
"""Members, rows, columns, units."""


def grids(options: Options) -> Section:
    """A small grid of many members, a larger one of few."""
    section = Section("Recurrences along two indices")
    for size in SIZES[:1] if options.quick else SIZES:
        random = torch.Generator().manual_seed(0)
        units = size[-1]
        weights = {
            name: (2 * torch.rand(units, units, generator=random) - 1) / math.sqrt(units)
            for name in "WUV"
        }
        x = torch.randn(size, generator=random)
        slope = torch.randn(size, generator=random) / math.prod(size[:-1])
        layers: dict[str, Layer] = {OURS: FromEquations(NAME, weights, x, slope, J=units, K=units)}
        layers[LOOP] = GridLoop(weights, x, slope)
        results = [layer.result() for layer in layers.values()]
        same.check(results[0], results[1], f"{NAME} and {LOOP}", set(results[0]))
        race = run_race([Contender(n, layer.run) for n, layer in layers.items()], options.pace)
        times = race.median(OURS) * 1e3, race.median(LOOP) * 1e3
        at = "×".join(map(str, size))
        section.lines.append(Line(NAME, at, LOOP, *times, race.ratio(LOOP, OURS)))
    section.verdicts.append(verdict_of_mean(section.lines, NAME, LOOP, 5.0))
    return section
