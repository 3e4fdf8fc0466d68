"""Gradients of a padded batch are those of its examples alone, whatever memory held before."""

from __future__ import annotations

import pytest
import torch

import indicial

SIZES = {
    "bahdanau": {"U": 5, "V": 6, "I": 3, "J": 2, "N": 4, "M": 3},
    "thought_vector": {"U": 5, "V": 6, "I": 3, "J": 4},
    "cross_attention": {"U": 5, "V": 6, "N": 3},
    "encoder_decoder_prenorm": {"U": 5, "V": 6, "J": 4, "L": 2, "K": 2, "I": 2, "D": 5, "S": 6, "T": 6},
}  # fmt: skip


def dirty() -> None:
    """Leaves nan in memory that is free again."""
    junk = [torch.full((size,), torch.nan) for size in range(1, 4000, 7)]
    del junk


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n == "bahdanau" else n for n in SIZES]
)
def test_gradients_with_lengths(name: str) -> None:
    torch.manual_seed(0)
    program = indicial.load(name)
    module = program.compile(sizes=SIZES[name], dtype=torch.float64)
    first = program.code.tensors["x"].axes[0].extent.name
    assert first is not None
    lengths = {first: torch.tensor([4, 1, 3]), "T": torch.tensor([2, 5, 3])}
    x, w = torch.randint(5, (3, 4)), torch.randint(6, (3, 5))
    each: dict[str, torch.Tensor] = {}
    for row in range(3):
        module.zero_grad()
        one = x[row, : lengths[first][row]], w[row, : lengths["T"][row]]
        module(x=one[0], w=one[1]).loss.backward()
        for key, parameter in module.named_parameters():
            each[key] = each.get(key, 0) + parameter.grad.clone() / 3  # type: ignore[union-attr]
    for _ in range(2):
        dirty()
        module.zero_grad()
        module(x=x, w=w, lengths=lengths).loss.backward()
        for key, parameter in module.named_parameters():
            assert torch.allclose(parameter.grad, each[key], atol=1e-9), key  # type: ignore[arg-type]
