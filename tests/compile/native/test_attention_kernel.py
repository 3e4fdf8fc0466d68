"""Attention by our own kernel: the same numbers as attention written out, forward and back."""

from __future__ import annotations

import pytest
import torch

import indicial
from indicial.compile.emit import running
from indicial.compile.native import by_hand as own
from indicial.compile.native import toolchain

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

Tensor = torch.Tensor
SIZES = [(50, 50, 16, 16), (50, 70, 16, 24), (70, 50, 5, 3), (2, 1, 1, 1), (130, 130, 20, 20)]
"""Queries, keys, and the widths of keys and values."""


def drawn(*shape: int, seed: int = 0) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=random)


def given(queries: int, keys: int, width: int, outputs: int) -> list[Tensor]:
    """As a program has them: heads side by side at each step, each a part of a wider row."""
    sizes = (queries, width), (keys, width), (keys, outputs)
    wide = [drawn(2, steps, 4 * own, seed=n) for n, (steps, own) in enumerate(sizes)]
    parts = [w[..., own:].unflatten(2, (3, own)) for w, (_, own) in zip(wide, sizes, strict=True)]
    return [part.transpose(1, 2).requires_grad_() for part in parts]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_values_and_gradients(sizes: tuple[int, int, int, int], causal: bool) -> None:
    inputs = given(*sizes)
    for scale in (None, -0.7):
        found = own.attend(*inputs, causal, scale)
        assert found is not None
        expected = running.written_out(*inputs, None, causal, scale)
        torch.testing.assert_close(found, expected)
        slope = drawn(*found.shape, seed=9)
        slopes = [torch.autograd.grad(y, inputs, slope) for y in (found, expected)]
        torch.testing.assert_close(*slopes)


@pytest.mark.parametrize("threads", [1, 2])
def test_large_scores_in_float32(threads: int) -> None:
    inputs = [40 * x.detach().float() for x in given(90, 90, 16, 16)]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = own.attend(*inputs, True, None)
    finally:
        torch.set_num_threads(before)
    assert found is not None
    expected = running.written_out(*(x.double() for x in inputs), None, True, None)
    assert (found - expected).abs().max() < 1e-3 * expected.abs().max()


def test_second_gradients() -> None:
    inputs = [drawn(1, 1, 3, 2, seed=n).requires_grad_() for n in range(3)]

    def attended(*given: Tensor) -> Tensor:
        found = own.attend(*given, True, 0.8)
        assert found is not None
        return found

    assert torch.autograd.gradcheck(attended, inputs)
    slope = drawn(1, 1, 3, 2, seed=3)
    plain = torch.autograd.grad(attended(*inputs), inputs, slope)
    again = torch.autograd.grad(attended(*inputs), inputs, slope, create_graph=True)
    torch.testing.assert_close(again, plain)
    assert torch.autograd.gradgradcheck(attended, inputs)


def test_what_it_leaves_to_pytorch() -> None:
    query, key, value = (x.detach() for x in given(9, 9, 4, 4))
    assert own.attend(query.half(), key.half(), value.half(), False, None) is None
    assert own.attend(query.to("meta"), key.to("meta"), value.to("meta"), False, None) is None
    assert own.attend(query[:, :, :1], key, value, False, None) is None
    assert own.attend(query, key[:, :1], value[:, :1], False, None) is None
    assert own.attend(query[0], key[0], value[0], False, None) is None


def test_a_program_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module = indicial.load("self_attention").compile(J=6, K=2, I=3, T=80)
    inputs = {name: drawn(2, 80, 6).float() for name in ("x",)}
    calls = []

    def counted(*given: object) -> Tensor | None:
        calls.append(given)
        return own.attend(*given)  # type: ignore[arg-type]

    monkeypatch.setitem(running.kernels, "attention", counted)
    found = module(**inputs)
    monkeypatch.setattr(running, "kernels", {})
    expected = module(**inputs)
    assert calls
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)
