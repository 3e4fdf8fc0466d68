"""What a module says about bad sizes, inputs and lengths: before any kernel runs, in the equations' terms."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from modules import compiled, inputs, program

from indicial import IndicialError, load


def said(call: Callable[[], object]) -> str:
    with pytest.raises(IndicialError) as caught:
        call()
    return str(caught.value)


def test_messages(golden: Callable[[str, str], None]) -> None:
    cell, lm = compiled("ugrnn"), compiled("transformer")
    x = inputs(cell, 2)["x"]
    w = inputs(lm, 2)["w"]
    outside = w.clone()
    outside[1, 3] = 6
    two = load("input x[t,k]\ninput w[t] in V\nh[t,k] = x[t,k] + e[w[t],k]").compile(K=2, V=3)
    calls: list[Callable[[], object]] = [
        lambda: program("ugrnn").compile(),
        lambda: program("ugrnn").compile(J=3, K=2.5),
        lambda: program("ugrnn").compile(J=3, K=0),
        lambda: program("ugrnn").compile(J=3, K=2, H=7),
        lambda: program("transformer").compile(J=8, K=2, V=10),
        lambda: program("ugrnn").compile(J=3, K=2, start={"W^{h,r}": 1.0}),
        lambda: program("ugrnn").compile(J=3, K=2, start={"B^R": torch.zeros(4)}),
        lambda: load("input x[t,k]\nh[t,J] = CELL(h[t-1,J], x[t,K])").compile(J=3, K=2),
        lambda: cell.parameter("W"),
        lambda: cell.parameter("h"),
        lambda: cell(),
        lambda: cell(X=x),
        lambda: cell(h=x),
        lambda: cell(x=x[..., :1]),
        lambda: cell(x=x[0, 0]),
        lambda: cell(x=x.float()),
        lambda: cell(x=x.long()),
        lambda: cell(x="words"),
        lambda: cell(x, want=["r"]),
        lambda: cell(x, want=["x"]),
        lambda: cell(x, draws={"dropout_1": x}),
        lambda: lm(w.double()),
        lambda: lm([0.5, 1.0]),
        lambda: lm(outside),
        lambda: lm(outside[1]),
        lambda: lm(-w - 1),
        lambda: lm(torch.zeros(2, 6, dtype=torch.long)),
        lambda: two(x.float(), w),
        lambda: two(x=torch.zeros(2, 5, 2), w=torch.zeros(3, 5, dtype=torch.long)),
        lambda: two(x=torch.zeros(2, 5, 2), w=torch.zeros(2, 4, dtype=torch.long)),
        lambda: cell(x, lengths=[1, 2, 3]),
        lambda: cell(x, lengths=[1, 6]),
        lambda: cell(x, lengths=[0, 5]),
        lambda: cell(x, lengths=[1.0, 2.0]),
        lambda: cell(x, lengths={"K": [1, 2]}),
        lambda: cell(x, lengths={"Q": [1, 2]}),
        lambda: cell(x[0], lengths=[5]),
    ]
    golden("module_messages.txt", "\n\n".join(said(call) for call in calls))


def test_where_a_nan_comes_from(golden: Callable[[str, str], None]) -> None:
    source = load("input x[t]\ny[t] = ln(x[t])\nh[t] = y[t] + 0.5 h[t-1]\nz[t] = 2 h[t]").compile()
    x = torch.ones(2, 6)
    assert torch.isfinite(source(x, find_nan=True)["z"]).all()
    x[1, 3] = -1.0
    growing = load(
        "input x[t]\nR[t] = exp(h[t-1])\nh[t] = x[t] + R[t]\ny[t] = h[t] - h[t]"
    ).compile()
    broken = compiled("ugrnn")
    broken.parameter("W^{x,R}").data[1, 0] = torch.nan
    given = inputs(broken, 2)["x"]
    spoilt = given.clone()
    spoilt[0, 2, 1] = torch.inf
    calls: list[Callable[[], object]] = [
        lambda: source(x, find_nan=True),
        lambda: growing(torch.ones(6), find_nan=True),
        lambda: broken(given, find_nan=True),
        lambda: compiled("ugrnn")(spoilt, find_nan=True),
    ]
    golden("module_nans.txt", "\n\n".join(said(call) for call in calls))
    # Beyond an example's length nothing counts.
    source(x, lengths=[6, 3], find_nan=True)
