"""Starting values: the deviations that the equations ask for, and activations of order one."""

from __future__ import annotations

import math

import pytest
import torch
from modules import program

from indicial import IndicialError, load
from indicial.compile.module.sizes import settle
from indicial.compile.module.starts import deviations
from indicial.program.program import Program


def starts(source: str | Program, **sizes: int) -> dict[str, tuple[float, float]]:
    """Mean and number of terms: (0, J) for a deviation of 1/√J, and (1, 0) for a gain."""
    code = (load(source) if isinstance(source, str) else source).code
    found = deviations(code, settle(code, sizes).known)
    return {n: (mean, round(d**-2, 6) if d else 0.0) for n, (mean, d) in found.items()}


def test_a_cell() -> None:
    found = starts(program("lstm"), J=64, K=16)
    assert found["W^{h,f}"] == (0, 64)
    assert found["W^{x,f}"] == (0, 16)
    assert found["B^f"] == (0, 0)


def test_a_transformer() -> None:
    found = starts(program("gpt2"), J=12, K=2, I=5, D=48, V=100, L=4, T=10)
    assert found["W^Q"] == (0, 12)
    assert found["W^1"] == (0, 12)
    assert found["g^N"] == found["g^y"] == (1, 0)
    assert found["b^Q"] == (0, 0)
    # Added to the stream, layer after layer: smaller by the root of the number of layers.
    assert found["W^O"] == (0, 2 * 5 * 4)
    assert found["W^2"] == (0, 48 * 4)
    # Word vectors are output weights as well; positions are added to them.
    assert found["e"] == found["pos"] == (0, 12)


@pytest.mark.parametrize(
    ("equations", "expected"),
    [
        ("input w[t] in V\nh[t,j] = A[j,I] e[w[t],I]", {"e": (0, 1), "A": (0, 4)}),
        ("input w[t] in V\nparameter p[t,i]\nh[t,i] = e[w[t],i] + p[t,i]", {"p": (0, 1)}),
        ("input w[t] in V\nh[t,j] = tanh(A[j,I] e[w[t],I])\nP[t,v] = softmax_v e[v,I] h[t-1,I]",
         {"e": (0, 5), "A": (0, 1)}),
        ("input w[t] in V\ny[t,v] = a[w[t],I] b[v,I]\nz[t,v] = b[w[t],I] a[v,I]", {"a": (0, 1)}),
        ("input x[j], y[k]\ns = x[J] W[J,K] y[K]", {"W": (0, 15)}),
        ("input x[t,j]\nP[t,v] = softmax_v e[v,I] W[I,J] x[t,J]", {"e": (0, 4), "W": (0, 5)}),
        ("input x[t,i]\nrange Δt = -1..1\ny[t,j] = W[ΔT,j,I] x[t+ΔT,I]", {"W": (0, 12)}),
        ("input x[j]\ns = v[J] tanh(W[J,I] x[I] - B[J])", {"v": (0, 5), "W": (0, 5), "B": (0, 0)}),
        ("input x[t,j]\nh[t,j] = a[j] h[t-1,j] + x[t,j]", {"a": (1, 0)}),
        ("input x[t,j]\nh[-1,j] = s[j]\nh[t,j] = tanh(h[t-1,j] + x[t,j])", {"s": (0, 0)}),
        ("input x[j]\ny[j] = exp(s[j]) x[j] / d[j]", {"s": (0, 0), "d": (1, 0)}),
        ("input x[i], y[j]\nz[j] = W[j,I] x[I]\nv[i] = y[J] W[J,i]", {"W": (0, 5)}),
    ],
)  # fmt: skip
def test_rules(equations: str, expected: dict[str, tuple[float, float]]) -> None:
    sizes = {"T": 6, "I": 4, "J": 5, "K": 3, "V": 9}
    code = load(equations).code
    found = starts(equations, **{n: v for n, v in sizes.items() if n in code.sizes})
    assert {name: found[name] for name in expected} == expected


def test_they_are_drawn_with_these_deviations() -> None:
    torch.manual_seed(0)
    module = program("ugrnn").compile(J=256, K=64)
    assert module.parameter("W^{h,R}").std().item() == pytest.approx(1 / 16, rel=0.02)
    assert module.parameter("W^{x,R}").std().item() == pytest.approx(1 / 8, rel=0.02)
    assert module.parameter("B^R").abs().max() == 0


def test_one_seed_one_start() -> None:
    torch.manual_seed(3)
    first = program("ugrnn").compile(J=4, K=3)
    torch.manual_seed(3)
    second = program("ugrnn").compile(J=4, K=3)
    for name in first.state_keys:
        assert torch.equal(first.parameter(name), second.parameter(name))
    second.reset_parameters()
    assert not torch.equal(first.parameter("W^{h,R}"), second.parameter("W^{h,R}"))


def test_nothing_is_drawn_where_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the device `meta` PyTorch would import its compiler first, for each run that is opened."""
    monkeypatch.setattr(torch.Tensor, "normal_", None, raising=False)
    made = load("rnn").compile(J=3, K=2, device="meta")
    assert all(p.is_meta for p in made.parameters())
    stated = Program.of_text("input x[j]\nparameter W[i,j]\nW[i,j] ~ N(0, 1)\ny[i] = W[i,J] x[J]")
    assert stated.compile(I=2, J=3, device="meta").parameter("W").is_meta


def test_starts_of_ones_own() -> None:
    module = program("ugrnn").compile(
        J=4,
        K=3,
        start={
            "B^G": -1.0,
            "B^R": torch.arange(4.0),
            "W^{h, R}": torch.nn.init.eye_,
            "W^{h,G}": lambda values: 2 * torch.ones_like(values),
        },
    )
    assert module.parameter("B^G").tolist() == [-1] * 4
    assert module.parameter("B^R").tolist() == [0, 1, 2, 3]
    assert torch.equal(module.parameter("W^{h,R}"), torch.eye(4))
    assert module.parameter("W^{h,G}").unique().tolist() == [2]


@pytest.mark.parametrize("J", [64, 256])
@pytest.mark.parametrize("name", ["ugrnn", "lstm", "gru", "rnn"])
def test_states_of_order_one(name: str, J: int) -> None:
    torch.manual_seed(0)
    module = program(name).compile(J=J, K=64)
    with torch.no_grad():
        found = module(torch.randn(8, 40, 64), want=[s.target for s in module.code.statements])
    for tensor, value in found.items():
        assert 0.1 < value.pow(2).mean().sqrt() < 3, tensor


@pytest.mark.parametrize("J", [64, 256])
@pytest.mark.parametrize("name", ["transformer", "gpt2"])
def test_a_stream_of_order_one_and_a_loss_of_ln_V(name: str, J: int) -> None:
    torch.manual_seed(0)
    V, T, L = 500, 32, 8
    module = program(name).compile(J=J, K=4, I=J // 4, D=2 * J, V=V, L=L, T=T).eval()
    w = torch.randint(V, (4, T))
    with torch.no_grad():
        found = module(w, want=["N", "Query", "Value", "ĥ", "A", "M", "F", "L", "y", "loss"])
    # A prediction without knowledge; random logits of variance one cost another half.
    assert math.log(V) - 0.1 < found.loss < math.log(V) + 0.8
    for tensor in ("N", "Query", "Value", "M", "F", "y"):
        assert 0.3 < found[tensor].pow(2).mean().sqrt() < 3, tensor
    top = found["L"][:, -1].pow(2).mean().sqrt()
    assert 0.3 < top < 3


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("transformer", {"J": 32, "K": 2, "I": 16, "D": 64, "V": 20, "L": 2, "T": 12}),
        ("rnn_lm", {"J": 32, "V": 20}),
    ],
)
def test_they_are_good_starts(name: str, sizes: dict[str, int]) -> None:
    """Four texts are soon known by heart."""
    torch.manual_seed(0)
    module = program(name).compile(**sizes)
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-2)
    w = torch.randint(20, (4, 12))
    for _ in range(40):
        optimiser.zero_grad()
        loss = module(w).loss
        loss.backward()
        optimiser.step()
    assert loss < 1


def test_a_parameter_starts_where_the_text_says() -> None:
    text = """
    input x[t,i]
    parameter β = 1/√I
    parameter W[j,i] = [i = j] / 2
    parameter U[j,i]
    U[j,i] ~ uniform(1, 2)
    y[t,j] = β W[j,I] x[t,I] + U[j,I] x[t,I]
    """
    module = load(text).compile(I=4, J=3)
    assert module.parameter("β").item() == 0.5
    assert torch.equal(module.parameter("W"), torch.eye(3, 4) / 2)
    drawn = module.parameter("U")
    assert bool(((drawn >= 1) & (drawn <= 2)).all()) and len(drawn.unique()) == 12
    assert load(text).compile(I=4, J=3, start={"β": 7.0}).parameter("β").item() == 7.0


def test_a_start_needs_numbers_and_sizes() -> None:
    with pytest.raises(IndicialError, match="β can start only where numbers and sizes say"):
        load("input x[i]\nparameter β = x[0]\ny[i] = β x[i]").compile(I=2)
