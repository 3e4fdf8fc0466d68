"""Built-in functions that people know from PyTorch and from papers, against those."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import indicial

X = 30 * torch.randn(2, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def turned(x: Tensor) -> Tensor:
    """Neighbours as complex numbers, times exp(i t θ)."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    angles = torch.arange(x.shape[1])[:, None] / 10000 ** (torch.arange(0, 6, 2).double() / 6)
    return torch.view_as_real(pairs * torch.polar(torch.ones(()).double(), angles)).reshape(x.shape)


@pytest.mark.parametrize(
    ("right", "oracle"),
    [
        ("silu(x[t,i])", F.silu),
        ("swish(x[t,i])", F.silu),
        ("log_sigmoid(x[t,i])", F.logsigmoid),
        ("LogSigmoid(x[t,i])", F.logsigmoid),
        ("log_softmax(x[t,I])", lambda x: x.log_softmax(-1)),
        ("rope(x[t,I], t)", turned),
        ("RoPE(x[t,I], t)", turned),
    ],
)  # fmt: skip
def test_as_pytorch_has_them(right: str, oracle: Callable[[Tensor], Tensor]) -> None:
    last = "I" if "I" in right.partition("(")[2] else "i"
    program = indicial.load(f"input x[t,i]\ny[t,{last}] = {right}")
    assert not program.mistakes and not program.holes
    report = indicial.same(program, oracle, inputs={"x": X})
    assert report, str(report)


def test_swiglu_has_weights_of_its_own() -> None:
    program = indicial.load("input x[t,i]\ny[t,j] = swiglu(x[t,I])[j] + SwiGLU(x[t,I])[j]")
    assert not program.mistakes

    def mine(x: Tensor, p: dict[str, Tensor]) -> Tensor:
        parts = [
            (F.silu(x @ p[f"{name}.G"].T) * (x @ p[f"{name}.U"].T)) @ p[f"{name}.W"].T
            for name in ("swiglu1", "swiglu2")
        ]
        return parts[0] + parts[1]

    report = indicial.same(program, mine)
    assert report, str(report)


def test_a_rotation_of_another_kind_stays_open() -> None:
    """Papers write RoPE(x) without saying where; what nobody defined is a hole as before."""
    assert indicial.load("input x[t,i]\ny[t,I] = RoPE(x[t,I])").holes == ["rope"]


@pytest.mark.parametrize("name", ["n_{max}", "hope", "rose"])
def test_other_names_are_not_taken_for_them(name: str) -> None:
    text = f"input x[t]\ny[t] = min({name}, x[t])"
    assert not [m for m in indicial.load(text).messages if m.code == "unknown-function"]


def test_the_sizes_of_given_inputs_are_those_of_the_trials() -> None:
    program = indicial.load("input x[t,k]\ninput z[k]\ny[t,j] = W[j,K] x[t,K] z[K]")
    shapes = []

    def mine(x: Tensor, z: Tensor, p: dict[str, Tensor]) -> Tensor:
        shapes.append((tuple(x.shape), tuple(z.shape)))
        return (x * z[:, None]) @ p["W"].T

    assert indicial.same(program, mine, inputs={"x": torch.ones(2, 7, 4)})
    assert set(shapes) == {((2, 7, 4), (2, 4))}
    with pytest.raises(indicial.IndicialError, match="x has 4 elements along k"):
        indicial.same(program, mine, inputs={"x": torch.ones(2, 7, 4)}, K=5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": "float33"}, "dtype=float33: a program computes in numbers with a point"),
        ({"dtype": torch.int64}, "dtype=torch.int64: a program computes in"),
        ({"dtype": torch.complex64}, "dtype=torch.complex64: a program computes in"),
        ({"device": "nowhere"}, "device=nowhere: torch finds no such device here"),
        ({"device": "cuda:99"}, "device=cuda:99: torch finds no such device here"),
        ({"device": 99}, "device=99: torch finds no such device here"),
    ],
)
def test_wrong_kinds_are_told(options: dict[str, object], said: str) -> None:
    with pytest.raises(indicial.IndicialError, match=said):
        indicial.load("ugrnn").compile(J=2, K=2, **options)


def test_a_kind_by_its_name() -> None:
    module = indicial.load("ugrnn").compile(J=2, K=2, dtype="float64")
    assert module.parameter("W^{x,R}").dtype is torch.float64
