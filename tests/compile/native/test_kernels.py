"""Kernels against the oracle: every recurrence of the library, and cells made at random."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import indicial
from indicial import library
from indicial.compile.native import toolchain
from indicial.compile.native.arranging import build
from indicial.compile.native.routine import Kernel
from indicial.compile.passes.hoist import hoist, nests
from indicial.compile.passes.normal import normal
from indicial.compile.passes.scan import extract
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import small_sizes

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

MEMBERS = 3


def scans(code: Code) -> Iterator[tuple[Code, list[str]]]:
    """Each recurrence as a program in normal form, and what it computes."""
    code = hoist(code, schedule(code))
    for nest in nests(schedule(code)):
        scan = extract(code, nest[:-1], nest[-1])
        yield normal(scan.code), list(scan.results)


def kernel_of(
    code: Code,
    keep: list[str],
    sizes: dict[str, int],
    real: str = "double",
    ragged: frozenset[str] = frozenset(),
) -> Kernel:
    (nest,) = nests(schedule(code))
    walked = {n for t in code.tensors.values() for a in t.axes for n in a.extent.names if "T" in n}
    fixed = {name: size for name, size in sizes.items() if name not in walked}
    return build(code, nest[-1], unbatched(code), keep, fixed=fixed, real=real, ragged=ragged)


def unbatched(code: Code) -> frozenset[str]:
    return frozenset(n for n, t in code.tensors.items() if t.role in ("parameter", "constant"))


def drawn(code: Code, kernel: Kernel, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    same = unbatched(code)
    return {
        name: rng.normal(
            size=[
                *([] if name in same else [MEMBERS]),
                *(axis.extent.value(sizes) for axis in code.tensors[name].axes),
            ]
        )
        for name in kernel.arguments
    }


def check(code: Code, keep: list[str], sizes: dict[str, int], real: str, accuracy: float) -> None:
    kernel = kernel_of(code, keep, sizes, real)
    given = drawn(code, kernel, sizes)
    dtype = torch.float64 if real == "double" else torch.float32
    found = kernel({n: torch.tensor(v, dtype=dtype) for n, v in given.items()}, sizes, MEMBERS)
    same = unbatched(code)
    expected = interpret(
        code,
        {n: v for n, v in given.items() if n not in same},
        {n: v for n, v in given.items() if n in same},
        sizes=sizes,
        want=keep,
    )
    for name in keep:
        np.testing.assert_allclose(found[name].numpy(), expected[name], rtol=0, atol=accuracy)


@pytest.mark.parametrize("name", library.names())
def test_every_recurrence_of_the_library(name: str) -> None:
    for code, keep in scans(indicial.load(name).code):
        for size in (1, 3):
            check(code, keep, small_sizes(code, size), "double", 1e-13)


def test_single_precision() -> None:
    for code, keep in scans(indicial.load("lstm").code):
        check(code, keep, {"T": 7, "J": 19}, "float", 2e-6)


@pytest.mark.parametrize(
    "equations",
    [
        "h[t,j] = max(h[t-1,j], σ(W[j,I] h[t-2,I]) + x[t,j])",
        "h[t,j] = x[t,j] + Σ_{s < t} h[s,j] x[s,j]\nrange s = 0..T-1",
        "h[t,j] = x[t,j] h[t-1,j]^2 for x[t,j] > 0\nh[t,j] = h[t-1,j] - x[t,j] for x[t,j] ≤ 0",
        "a[t,n] = softmax_n K[n,J] h[t-1,J]\nh[t,j] = tanh(V[N,j] a[t,N] + x[t,j])",
        "h[t,i,j] = tanh(Σ_{k} A[j,k] h[t-1,i,k] + x[t,j]) + B[i]",
        "h[t,j] = (h[t-1,j] - mean_{i} h[t-1,i]) / (1 + Σ_i h[t-1,i]^2) + x[t,j]",
        "h[t,j] = x[t,j] + max_i h[t-1,i] W[i,j]",
    ],
)
def test_cells_of_other_kinds(equations: str) -> None:
    program = indicial.load("input x[t,j]\n" + equations)
    assert not program.errors, program.errors[0].render()
    for code, keep in scans(program.code):
        for size in (1, 2, 5):
            check(code, keep, small_sizes(code, size), "double", 1e-12)


@pytest.mark.parametrize(
    "name", ["ugrnn", "bidirectional", "gru", "bahdanau", "captioning_features"]
)
def test_members_of_different_lengths(name: str) -> None:
    """A padded batch gives what each member gives alone; nothing is read from the padding."""
    for code, keep in scans(indicial.load(name).code):
        sizes = small_sizes(code, 4)
        ragged = frozenset(n for n in sizes if n in ("T", "T_{in}"))
        lengths = {n: [4, 1, 3] if n == "T" else [2, 4, 1] for n in ragged}
        kernel = kernel_of(code, keep, sizes, ragged=ragged)
        given = drawn(code, kernel, sizes)
        same = unbatched(code)
        for name_, array in given.items():
            for axis, of in enumerate(code.tensors[name_].axes):
                if name_ not in same and of.extent.name in ragged:
                    for member, length in enumerate(lengths[of.extent.name]):
                        np.moveaxis(array[member], axis, 0)[length:] = np.nan
        found = kernel(
            {n: torch.tensor(v) for n, v in given.items()},
            sizes,
            MEMBERS,
            {n: torch.tensor(v) for n, v in lengths.items()},
        )
        expected = interpret(
            code,
            {n: v for n, v in given.items() if n not in same},
            {n: v for n, v in given.items() if n in same},
            sizes={n: v for n, v in sizes.items() if n not in ragged},
            lengths=lengths,
            want=keep,
        )
        for name_ in keep:
            inside = ~np.isnan(expected[name_])
            np.testing.assert_allclose(
                found[name_].numpy()[inside], expected[name_][inside], rtol=0, atol=1e-13
            )
            # Whoever reads on, gradients and products of all steps at once, finds zeros beyond.
            assert not found[name_].numpy()[~inside].any()
