"""What the command line asks for, as the sections need it."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.cells import SIZES, Size
from bench.timing import Pace


@dataclass(frozen=True)
class Options:
    pace: Pace = field(default_factory=Pace)
    sizes: tuple[Size, ...] = SIZES
    compiled: bool = False  # also what torch.compile makes of the peers
    input_gradient: bool = False
    quick: bool = False
