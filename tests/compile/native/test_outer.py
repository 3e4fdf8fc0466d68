"""Which sums over steps are one product of two tensors, and over which of their steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from indicial import load
from indicial.compile.native.by_hand import outer_product
from indicial.compile.native.projections import Outer, outer
from indicial.program.sizes import Size


def found(body: str, changed: dict[str, str] | None = None) -> Outer | None:
    """`changed` gives the first axis of a tensor another length."""
    code = load(f"input a[t,j]\ninput c[t,k]\ny[j,k] = {body}").code
    for name, length in (changed or {}).items():
        tensor = code.tensors[name]
        axes = (replace(tensor.axes[0], extent=Size.of(length)), *tensor.axes[1:])
        code = replace(code, tensors={**code.tensors, name: replace(tensor, axes=axes)})
    return outer(code, code.statements[0], ())


@pytest.mark.parametrize(
    ("body", "first", "last", "apart"),
    [
        ("Σ_t a[t,j] c[t,k]", 0, -1, 0),
        ("Σ_t a[t,j] c[t-1,k]", 1, -1, 1),
        ("Σ_t a[t-1,j] c[t,k]", 0, -2, -1),
        ("Σ_t a[t+1,j] c[t,k]", 1, -1, 1),
        ("Σ_t c[t,k] a[t-2,j]", 0, -3, -2),
    ],
)
def test_steps_that_are_there_in_both(body: str, first: int, last: int, apart: int) -> None:
    """`first` and `last` count the steps of the left tensor, `last` from the end."""
    product = found(body)
    assert product is not None
    assert (product.left, product.right, product.apart) == ("a", "c", apart)
    assert product.steps == (Size.of(first), Size.of("T") + last)


def test_lengths_that_cannot_be_compared() -> None:
    assert found("Σ_t a[t,j] c[t,k]", {"c": "S"}) is None
    assert found("Σ_t a[t,j] c[t,k]", {"a": "S"}) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("rows", "high", "wide"),
    [(600, 32, 64), (513, 7, 100), (256, 71, 33), (1, 600, 700), (3000, 4, 24), (40, 3, 5)],
)
def test_the_product_of_tall_matrices(rows: int, high: int, wide: int, dtype: torch.dtype) -> None:
    """Blocks that are not full, stretches that are not full, rows that lie apart."""
    torch.manual_seed(0)
    left = torch.randn(rows, high + 3, dtype=dtype)[:, 2 : high + 2]
    right = torch.randn(rows, wide, dtype=dtype)
    wanted = torch.einsum("mn,mk->nk", left.double(), right.double())
    tolerance = 1e-12 * rows if dtype == torch.float64 else 1e-6 * rows
    room = torch.full((high + 1, wide), 7.0, dtype=dtype)
    inside = outer_product(left, right, room[:high])
    assert inside.data_ptr() == room.data_ptr()
    for found in (outer_product(left, right), inside):
        torch.testing.assert_close(found.double(), wanted, atol=tolerance, rtol=0)
    assert (room[high] == 7).all()


def test_columns_that_lie_apart_and_rows_that_are_one() -> None:
    """What no kernel reads: it takes rows whose elements lie side by side."""
    left, right = torch.randn(32, 600).T, torch.randn(1, 64).expand(600, 64)
    for one, two in ((left, right), (right, left), (left, left), (right, right)):
        wanted = torch.einsum("mn,mk->nk", one, two)
        torch.testing.assert_close(outer_product(one, two), wanted, atol=1e-3, rtol=0)
