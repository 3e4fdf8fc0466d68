"""How wide a model is to be for a number of parameters.

>>> sizes_for(load("ugrnn", "language_model"), {"V": 994, "T": 64}, {}, 300_000)
({'J': 176}, 299200)

The number is the formula of the program, `2 J² + 2 J K + …`, with every size but the width as
`indicial train` chooses it. Where there is attention, widths go in eights, so that they divide into
heads, and the inner width makes up for the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from indicial.program.explain.facts import tied_sizes
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.training.defaults import default_layers
from indicial.training.roles import roles

WIDEST = 8192
WITH_HEADS = 8
"""Widths of models with heads are multiples of this."""
NEAR = 0.1
"""How far off a number of parameters may be, as a part of it."""


def sizes_for(
    program: Program, told: Mapping[str, int], given: Mapping[str, int], parameters: int
) -> tuple[dict[str, int], int]:
    """All sizes but those that the data tells (`told`), and how many parameters that makes."""
    code, found = program.code, roles(program.code)

    def sizes(width: int) -> dict[str, int]:
        return found.sizes(width, default_layers(code, found, width), dict(given))

    def count(tried: Mapping[str, int]) -> int:
        return program.cost.parameters.value(tied_sizes(code, {**told, **tried}))

    every = WITH_HEADS if found.heads else 1
    widths = range(every, WIDEST + 1, every)
    above = bisect_left(widths, parameters, key=lambda width: count(sizes(width)))
    near = [sizes(widths[at]) for at in (above - 1, above) if 0 <= at < len(widths)]
    best = min(near, key=lambda tried: abs(count(tried) - parameters))
    free = [name for name in found.inner if name not in given]
    if free:
        wider = {**best, **{name: best[name] + 1 for name in free}}
        each = max(1, count(wider) - count(best))
        more = round((parameters - count(best)) / each)
        best = {**best, **{name: max(1, best[name] + more) for name in free}}
    number = count(best)
    if abs(number - parameters) > NEAR * parameters:
        told_sizes = ", ".join(f"{name} = {value}" for name, value in best.items())
        raise IndicialError(
            f"{program.title} cannot have about {parameters:,} parameters here: the nearest is "
            f"{number:,}, with {told_sizes}"
        )
    return best, number
