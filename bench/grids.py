"""One training step of recurrences with loops inside loops, beside loops in PyTorch.

grid_rnn   16×32×32×64   loop   ours 43 ms   theirs 64 ms   1.5×
rhn        16×64×5×128   loop   …
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from bench import same
from bench.options import Options
from bench.ours import FromEquations
from bench.peers.grids import GridLoop, HighwayLoop
from bench.peers.layer import Layer, TrainedLayer
from bench.table import Line, Section, verdict_of_mean
from bench.timing import Contender, run_race

OURS, LOOP = "ours", "loop"
GRIDS = ((16, 32, 32, 64), (4, 48, 48, 128))
"""Members, rows, columns, units."""
HIGHWAYS = ((16, 64, 5, 128), (32, 64, 4, 256), (4, 128, 5, 64))
"""Members, steps, layers, units."""


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
    for name in ("grid_rnn", "rhn"):
        section.verdicts.append(verdict_of_mean(section.lines, name, LOOP, 5.0))
    return section


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
    results = [layer.result() for layer in layers.values()]
    same.check(results[0], results[1], f"{name} and {LOOP}", set(results[0]))
    race = run_race([Contender(n, layer.run) for n, layer in layers.items()], options.pace)
    times = race.median(OURS) * 1e3, race.median(LOOP) * 1e3
    at = "×".join(map(str, size))
    section.lines.append(Line(name, at, LOOP, *times, race.ratio(LOOP, OURS)))
