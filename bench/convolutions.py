"""One training step of a convolution as long as the text, beside Fourier transforms written by hand.

long convolution   8×1024×64   FFT   ours 15.6 ms   theirs 16.0 ms   1.0×
"""

from __future__ import annotations

import torch

from bench import same
from bench.cells import EQUATIONS, Size
from bench.options import Options
from bench.ours import load_weights, module
from bench.peers.layer import Layer, gradient
from bench.table import Line, Section, verdict_of_mean
from bench.timing import Contender, run_race

NAME, OURS, FFT = "long convolution", "ours", "FFT"
SIZES = (Size(8, 1024, 64), Size(1, 8192, 64))


class Convolution(Layer):
    """`h` from x and k; both have gradients."""

    def __init__(self, k: torch.Tensor, x: torch.Tensor, slope: torch.Tensor) -> None:
        self.k, self.slope = k.clone().requires_grad_(), slope
        self.x = x.clone().requires_grad_()

    def run(self) -> None:
        self.result()

    def result(self) -> dict[str, torch.Tensor]:
        self.k.grad = self.x.grad = None
        h = self.forward()
        torch.autograd.backward(h, self.slope)
        return {"h": h.detach(), "k": gradient(self.k), "x": gradient(self.x)}

    def forward(self) -> torch.Tensor:
        """Along the last axis, where transforms are quickest; twice as long, so that nothing wraps around."""
        steps = self.x.shape[1]
        spectrum = torch.fft.rfft(self.x.mT, 2 * steps) * torch.fft.rfft(self.k.mT, 2 * steps)
        h: torch.Tensor = torch.fft.irfft(spectrum, 2 * steps)[..., :steps].mT
        return h


class Compiled(Convolution):
    """The equations, compiled."""

    def __init__(self, k: torch.Tensor, x: torch.Tensor, slope: torch.Tensor) -> None:
        super().__init__(k, x, slope)
        self.module = module(str(EQUATIONS / "long_convolution.eq"), T=k.shape[0], J=k.shape[1])
        load_weights(self.module, {"k": k})
        self.k = self.module.parameter("k")

    def forward(self) -> torch.Tensor:
        h: torch.Tensor = self.module(x=self.x)["h"]
        return h


def convolutions(options: Options) -> Section:
    """T = 1,024 and 8,192."""
    section = Section("Convolutions as long as the text")
    for size in SIZES:
        random = torch.Generator().manual_seed(0)
        x = torch.randn(size.batch, size.steps, size.units, generator=random)
        k = torch.randn(size.steps, size.units, generator=random) / size.steps
        slope = torch.randn(x.shape, generator=random) / x.shape[1]
        layers: dict[str, Layer] = {OURS: Compiled(k, x, slope), FFT: Convolution(k, x, slope)}
        results = [layer.result() for layer in layers.values()]
        same.check(results[0], results[1], f"{NAME} and FFT", {"h", "k", "x"})
        race = run_race([Contender(n, layer.run) for n, layer in layers.items()], options.pace)
        ours, theirs = race.median(OURS) * 1e3, race.median(FFT) * 1e3
        section.lines.append(Line(NAME, str(size), FFT, ours, theirs, race.ratio(FFT, OURS)))
    section.verdicts.append(verdict_of_mean(section.lines, NAME, FFT, 1.0))
    return section
