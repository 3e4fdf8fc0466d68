"""Where several are the largest, or the smallest, each has an equal share of the gradient.

One rule for the emitted text and for kernels, with numbers and indices among those that tie.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agreeing import Given, Ways, close

from indicial.compile.native import toolchain
from indicial.program.program import Program

native = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")


def ways(text: str) -> Ways:
    program = Program.of_text(f"input x[t,j], y[t,j]\n{text}")
    assert not program.errors, program.errors[0].render()
    return Ways(program.code)


SHARES = {
    "max(x[t,j], y[t,j])": 1 / 2,
    "min(x[t,j], 2)": 1 / 2,
    "max(x[t,j], y[t,j], 2)": 1 / 3,
    "min(x[t,j], T, y[t,j], 1 + 1)": 1 / 4,
    "max_i (x[t,i] + 0 x[t,j])": 1 / 2,
    "max(0, x[t,j] - 2) + max(1, x[t,j])": 1 + 1 / 2,
    "ReLU(x[t,j] - 2)": 0,
    "abs(x[t,j] - 2)": 0,
}


@pytest.mark.parametrize("right", SHARES)
def test_equal_shares(right: str) -> None:
    """Everything is 2: the slope of the sum of all elements by each element of x."""
    program = ways(f"z[t,j] = {right}\nh[t,j] = z[t,j] + 0 y[t,j]")
    x = torch.full((1, 2, 2), 2.0, requires_grad=True)
    given = {"x": x, "y": torch.full((1, 2, 2), 2.0)}
    found = program.loop.run({}, given, {"T": 2, "J": 2}, {}, {})["z"]
    (slope,) = torch.autograd.grad(found.sum(), x)
    # A maximum over i is taken for both values of j.
    expected = SHARES[right] * (2 if "_i" in right else 1)
    torch.testing.assert_close(slope, torch.full_like(slope, expected))


RECURRENCES = {
    "two": "h[t,j] = max(h[t-1,j], x[t,j])",
    "three": "h[t,j] = min(h[t-1,j], x[t,j], y[t,j])",
    "a number": "h[t,j] = max(h[t-1,j] + x[t,j], 1)",
    "an index": "h[t,j] = max(h[t-1,j] + x[t,j], t, y[t,j])",
    "a size": "h[t,j] = min(h[t-1,j] + x[t,j], T - 3)",
    "one inside the other": "h[t,j] = max(h[t-1,j], max(x[t,j], y[t,j]))",
    "over an index": "h[t,j] = x[t,j] + max_i W[j,i] h[t-1,i]",
    "over some of an index": "h[t,j] = x[t,j] + min_{i>0} W[j,i] h[t-1,i]",
    "over two indices": "h[t,j] = x[t,j] + max_i min_k (W[k,i] h[t-1,i])",
}


@native
@pytest.mark.parametrize("name", RECURRENCES)
def test_kernels_and_loops_share_alike(name: str) -> None:
    """On whole numbers nearly everything ties somewhere."""
    program = ways(f"{RECURRENCES[name]}\no[t,j] = h[t,j] + x[t,j] + y[t,j]")
    sizes = {name: {"T": 5}.get(name, 3) for name in program.code.sizes}
    for seed in range(3):
        given = Given(program.code, sizes, 2, seed)
        given.inputs = {n: np.round(v) for n, v in given.inputs.items()}
        given.parameters = {n: np.round(2 * v) for n, v in given.parameters.items()}
        loop, slopes = program.run(program.loop, given)
        kernels, own = program.run(program.native, given)
        close(kernels["h"], loop["h"].numpy(), "h")
        for of, slope in slopes.items():
            close(own[of], slope.numpy(), f"the gradient of {of}")


@native
def test_a_maximum_is_found_again_however_it_was_rounded() -> None:
    """The gradient computes the arguments anew, in whatever order the compiler likes."""
    text = "h[t,j] = max(0.9 h[t-1,j], 0.3 x[t,j] + 0.7 h[t-1,j], 1.1 y[t,j] - 0.1 h[t-1,j])"
    module = Program.of_text(f"input x[t,j], y[t,j]\n{text}").compile(J=32)
    torch.manual_seed(0)
    given = {name: torch.randn(4, 20, 32, requires_grad=True) for name in "xy"}
    slopes = torch.autograd.grad(module(**given)["h"].sum(), list(given.values()))
    assert all(bool(slope.isfinite().all()) for slope in slopes)
    with torch.enable_grad():
        h = torch.zeros(4, 32)
        total = torch.zeros(())
        for t in range(20):
            x, y = given["x"][:, t], given["y"][:, t]
            h = torch.stack([0.9 * h, 0.3 * x + 0.7 * h, 1.1 * y - 0.1 * h]).amax(0)
            total = total + h.sum()
    expected = torch.autograd.grad(total, list(given.values()))
    for slope, own in zip(slopes, expected, strict=True):
        torch.testing.assert_close(slope, own)
