"""One training step of layers whose state is a matrix: RetNet, GLA, mLSTM, Mamba, DeltaNet.

retnet   16×128×128   hoisted loop   ours 15.4 ms   theirs 122 ms   7.9×
retnet   16×128×128   chunked        ours 15.4 ms   theirs 21.5 ms  1.4×
"""

from __future__ import annotations

import math

import torch

from bench import same
from bench.cells import Size
from bench.options import Options
from bench.ours import FromEquations, NotThere
from bench.peers.layer import Layer
from bench.peers.matrix_states import Chunked, HoistedLoop, MatrixLayer, Weights
from bench.table import Line, Section, verdict_of_mean
from bench.timing import Contender, Spread, run_race

OURS, LOOP, CHUNKED = "ours", "hoisted loop", "chunked"
SIZES = (Size(16, 128, 128), Size(8, 512, 64), Size(32, 256, 256), Size(1, 2048, 128))
INNER = 16
"""The N of Mamba."""
MODELS = ("retnet", "gla", "mlstm", "mamba", "deltanet")
IN_CHUNKS = ("retnet", "gla", "mlstm")


def problem(name: str, size: Size, seed: int = 0) -> tuple[Weights, torch.Tensor, torch.Tensor]:
    """Weights by the names of the equations, an input, and the gradient of h."""
    random = torch.Generator().manual_seed(seed)
    b, t, j = size.batch, size.steps, size.units

    def drawn(*shape: int, around: float = 0.0) -> torch.Tensor:
        return around + (2 * torch.rand(shape, generator=random) - 1) / math.sqrt(j)

    weights = {f"W^{name}": drawn(j, j) for name in "QKV"}
    if name == "gla":
        weights |= {"W^G": drawn(j, j), "B^G": drawn(j, around=4)}
    elif name == "mlstm":
        weights |= {"W^O": drawn(j, j), "B^O": drawn(j), "w^a": drawn(j), "b^a": drawn()}
        weights |= {"w^f": drawn(j), "b^f": drawn(around=3)}
    elif name == "deltanet":
        weights |= {"w^β": drawn(j), "b^β": drawn()}
    elif name == "mamba":
        rates = torch.arange(1, INNER + 1).log().repeat(j, 1)
        weights = {"W^Δ": drawn(j, j), "W^B": drawn(INNER, j), "W^C": drawn(INNER, j)}
        weights |= {"b": drawn(j, around=-2), "A": rates, "D": torch.ones(j)}
    x = torch.randn(b, t, j, generator=random)
    return weights, x, torch.randn(b, t, j, generator=random) / (b * t)


def compiled(name: str, weights: Weights, x: torch.Tensor, slope: torch.Tensor) -> FromEquations:
    units = x.shape[-1]
    others = {"N": INNER} if name == "mamba" else {"K": units, "I": units}
    return FromEquations(name, weights, x, slope, J=units, **others)


def matrices(options: Options) -> Section:
    """All of them beside a loop, and those with simple decays beside chunks written by hand."""
    section = Section("States that are matrices")
    section.remarks.append(
        "The loop keeps only what reads the state inside; at 32×256×256 it stores 2 GB for each tensor "
        "of a step, so there it is run for 4 members and its time multiplied by 8. Chunks are of 64 steps."
    )
    sizes = SIZES[:2] if options.quick else SIZES
    for name in MODELS:
        for size in sizes:
            section.lines += _lines(name, size, options)
        section.verdicts.append(verdict_of_mean(section.lines, name, LOOP, 8.0))
        if name in IN_CHUNKS:
            section.verdicts.append(verdict_of_mean(section.lines, name, CHUNKED, 1.5))
    return section


def check(name: str, ours: Layer, theirs: Layer) -> None:
    """They compute the same; the gradient of b^a is nothing but rounding, as h does not depend on it."""
    found, other = ({n: v for n, v in who.result().items() if n != "b^a"} for who in (ours, theirs))
    same.check(found, other, f"{name} and {type(theirs).__name__}", set(found))


def _lines(name: str, size: Size, options: Options) -> list[Line]:
    weights, x, slope = problem(name, size)
    few = 4 if size.batch * size.units * size.units > 2**20 else size.batch
    peers: dict[str, MatrixLayer] = {LOOP: HoistedLoop(name, weights, x[:few], slope[:few])}
    if name in IN_CHUNKS:
        peers[CHUNKED] = Chunked(name, weights, x, slope)
    try:
        ours = compiled(name, weights, x, slope)
        if name in IN_CHUNKS:
            check(name, ours, peers[CHUNKED])
    except (NotThere, same.Different) as reason:
        return [Line(name, str(size), peer, note=str(reason)) for peer in peers]
    layers: dict[str, Layer] = {OURS: ours, **peers}
    race = run_race([Contender(n, layer.run) for n, layer in layers.items()], options.pace)
    found = []
    for peer in peers:
        more = size.batch / few if peer == LOOP else 1
        spread = race.ratio(peer, OURS)
        ratio = Spread(spread.median * more, spread.low * more, spread.high * more)
        ours_ms, theirs_ms = race.median(OURS) * 1e3, race.median(peer) * 1e3 * more
        found.append(Line(name, str(size), peer, ours_ms, theirs_ms, ratio))
    return found
