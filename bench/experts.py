"""One training step of a layer of 8 experts, beside a dispatch that sorts tokens by expert.

switch    16×128×128   sorted dispatch   ours 24.0 ms   theirs 23.4 ms   0.98×
"""

from __future__ import annotations

import math

import torch

from bench import same
from bench.cells import Size
from bench.options import Options
from bench.ours import FromEquations
from bench.peers.experts import SortedDispatch, Weights
from bench.peers.layer import Layer
from bench.table import Line, Section, verdict_of_mean
from bench.timing import Contender, run_race

OURS, SORTED = "ours", "sorted dispatch"
SIZES = (Size(16, 128, 128), Size(8, 512, 64), Size(32, 256, 256), Size(1, 2048, 128))
MODELS = {"switch": 1, "gathered_switch": 1, "mixtral": 2}
"""How many experts a token has."""
EXPERTS, INNER = 8, 4
"""How many there are, and how many times as wide as the layer they are inside."""


def problem(size: Size) -> tuple[Weights, torch.Tensor, torch.Tensor]:
    """Weights by the names of the equations, an input, and the gradient of h."""
    random = torch.Generator().manual_seed(0)
    b, t, j = size.batch, size.steps, size.units

    def drawn(*shape: int) -> torch.Tensor:
        return (2 * torch.rand(shape, generator=random) - 1) / math.sqrt(shape[-1])

    weights = {"W^G": drawn(EXPERTS, j)}
    weights |= {"W^1": drawn(EXPERTS, INNER * j, j), "W^2": drawn(EXPERTS, j, INNER * j)}
    x = torch.randn(b, t, j, generator=random)
    return weights, x, torch.randn(b, t, j, generator=random) / (b * t)


def compiled(name: str, weights: Weights, x: torch.Tensor, slope: torch.Tensor) -> FromEquations:
    units = x.shape[-1]
    return FromEquations(name, weights, x, slope, J=units, E=EXPERTS, F=INNER * units)


def experts(options: Options) -> Section:
    """The likeliest expert of 8, by a gate and by gathered matrices, and the two likeliest."""
    section = Section("Experts")
    for name, chosen in MODELS.items():
        for size in SIZES[:2] if options.quick else SIZES:
            weights, x, slope = problem(size)
            ours = compiled(name, weights, x, slope)
            layers: dict[str, Layer] = {OURS: ours}
            layers[SORTED] = SortedDispatch(weights, x, slope, chosen)
            results = [layer.result() for layer in layers.values()]
            same.check(results[0], results[1], f"{name} and {SORTED}", set(results[0]))
            race = run_race([Contender(n, layer.run) for n, layer in layers.items()], options.pace)
            times = race.median(OURS) * 1e3, race.median(SORTED) * 1e3
            line = Line(name, str(size), SORTED, *times, race.ratio(SORTED, OURS))
            section.lines.append(line)
        section.verdicts.append(verdict_of_mean(section.lines, name, SORTED, 1.0))
    return section
