"""Which sums over steps are one product of two tensors, and over which of their steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from indicial import load
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
