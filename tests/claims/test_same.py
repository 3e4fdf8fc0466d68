"""Programs beside code of other people: what is the same is found so, and every difference is found."""

from __future__ import annotations

import pytest
import torch

import indicial
from indicial import IndicialError, load
from indicial.claims.same import Named

LSTM = "\n".join(
    f"W^{{x,{gate}}}[j,k] <- weight_ih_l0[({n} of 4,j),k]\n"
    f"W^{{h,{gate}}}[j,i] <- weight_hh_l0[({n} of 4,j),i]\n"
    f"B^{gate}[j] <- - bias_ih_l0[({n} of 4,j)] - bias_hh_l0[({n} of 4,j)]"
    for n, gate in enumerate("ifRo")
)


def test_an_lstm_is_an_lstm() -> None:
    theirs = torch.nn.LSTM(4, 8, batch_first=True)
    report = indicial.same(
        load("lstm"), theirs, J=8, K=4, weights=LSTM, outputs=lambda out: {"h": out[0]}
    )
    assert report, str(report)
    assert {(d.kind, d.name) for d in report.differences} == {
        ("value", "h"), ("gradient", "x"), ("gradient", "weight_ih_l0"),
        ("gradient", "weight_hh_l0"), ("gradient", "bias_ih_l0"), ("gradient", "bias_hh_l0"),
    }  # fmt: skip
    assert str(report).startswith("the same in 3 trials, up to ")


def test_exchanged_gates_are_found() -> None:
    theirs = torch.nn.LSTM(4, 8, batch_first=True)
    wrong = LSTM.replace("(0 of 4", "(7 of 4").replace("(1 of 4", "(0 of 4").replace("(7 ", "(1 ")
    report = indicial.same(
        load("lstm"), theirs, J=8, K=4, weights=wrong, outputs=lambda out: {"h": out[0]}
    )
    assert not report
    assert str(report).startswith("not the same")
    assert "! value     h " in str(report)


def ugrnn(x: torch.Tensor, p: Named) -> torch.Tensor:
    h = x.new_zeros(len(x), len(p["B^R"]))
    steps = []
    for step in x.unbind(1):
        R = torch.tanh(h @ p["W^{h,R}"].T + step @ p["W^{x, R}"].T - p["B^R"])
        G = torch.sigmoid(h @ p["W^{h,G}"].T + step @ p["W^{x,G}"].T - p["B^G"])
        h = G * h + (1 - G) * R
        steps.append(h)
    return torch.stack(steps, 1)


def test_a_function() -> None:
    report = indicial.same(load("ugrnn"), ugrnn)
    assert report, str(report)
    names = {d.name for d in report.differences if d.kind == "gradient"}
    assert names == {"x", "W^{h,R}", "W^{x,R}", "B^R", "W^{h,G}", "W^{x,G}", "B^G"}


def test_a_difference_in_the_gradient_only() -> None:
    def cut(x: torch.Tensor, p: Named) -> torch.Tensor:
        return ugrnn(x, Named({**p, "W^{h,R}": p["W^{h,R}"].detach()}))

    report = indicial.same(load("ugrnn"), cut)
    assert not report
    wrong = [(d.kind, d.name) for d in report.differences if d.relative > report.allowed]
    assert wrong == [("gradient", "W^{h,R}")]
    assert indicial.same(load("ugrnn"), cut, gradients=False)


def test_shapes_that_differ() -> None:
    report = indicial.same(load("ugrnn"), lambda x, p: ugrnn(x, p)[:, :-1])
    assert not report
    assert "in the reference" in str(report)


def test_several_inputs_and_results() -> None:
    source = load("input w[t] in V\ninput x[t,j]\ny[t,j] = e[w[t],j] x[t,j]\ns = Σ_{t,j} y[t,j]")

    def mine(w: torch.Tensor, x: torch.Tensor, p: Named) -> dict[str, torch.Tensor]:
        y = p["e"][w] * x
        return {"y": y, "s": y.sum((1, 2))}

    assert indicial.same(source, mine)
    assert indicial.same(source, mine, V=7, inputs={"w": [[6, 0, 2]] * 3}, T=3)


def test_what_has_to_be_said() -> None:
    with pytest.raises(IndicialError, match="which tensor of the module is which parameter"):
        indicial.same(load("lstm"), torch.nn.LSTM(4, 8))
    with pytest.raises(IndicialError, match=r'outputs=lambda out: \{"c": …, "h": …\}'):
        indicial.same(load("lstm"), torch.nn.LSTM(4, 8, batch_first=True), J=8, K=4, weights=LSTM)
