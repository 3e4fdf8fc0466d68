"""Sums of which few terms are chosen, each choice one batch, beside the interpreter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import indicial
from indicial.compile.emit.dispatch import Dispatch
from indicial.compile.explain.schedule_page import schedule_page
from indicial.compile.pipeline import planned

SIZES = {"J": 3, "E": 4, "F": 2, "I": 2, "L": 2}
SCORES = "input x[t,j]\ng[t,e] = C[e,J] x[t,J]\n"
GATES = {
    "argmax": "a[t] = argmax_e g[t,e]\nq[t,e] = [e = a[t]] softmax_e g[t,e]",
    "top": "q[t,e] = softmax_{top_k(g[t,e], 2) = 1} g[t,e]",
    "mask": "m[t,E] = top_k(g[t,E], 2)\nq[t,e] = m[t,e] g[t,e]",
    "shares": "P[t,e] = softmax_e g[t,e]\n"
    "q[t,e] = top_k(P[t,e], 2) P[t,e] / Σ_{e'} top_k(P[t,e'], 2) P[t,e']",
    "threshold": "q[t,e] = cases { g[t,e] if g[t,e] > 0, 0 otherwise }",
}
EXPERTS = {
    "linear": "y[t,i] = q[t,E] W[E,i,J] x[t,J]",
    "layers": "h[t,e,f] = ReLU(U[e,f,J] x[t,J] + b[e,f])\nz[t,e,i] = W[e,i,F] h[t,e,F] + k[e,i]\n"
    "y[t,i] = d[i] + Σ_e q[t,e] z[t,e,i]",
    "inline": "y[t,i] = tanh(Σ_e q[t,e] W[e,i,F] SiLU(U[e,F,J] x[t,J]) (V[e,F,J] x[t,J]))",
}
GATHERED = {
    "one": "a[t] = argmax_e g[t,e]\nP[t,e] = softmax_e g[t,e]\n"
    "h[t,f] = ReLU(U[a[t],f,J] x[t,J] + b[a[t],f])\ny[t,i] = P[t,a[t]] W[a[t],i,F] h[t,F]",
    "two": "a[t,0] = argmax_e g[t,e]\na[t,1] = argmax_{e ≠ a[t,0]} g[t,e]\n"
    "p[t,n] = softmax_n g[t,a[t,n]]\nh[t,n,f] = ReLU(U[a[t,n],f,J] x[t,J])\n"
    "y[t,i] = p[t,N] W[a[t,N],i,F] h[t,N,F]",
    "apart": "a[t] = argmax_e g[t,e]\nh[t,f] = tanh(U[a[t],f,J] x[t,J])\nk[t] = h[t,F] s[F]\n"
    "y[t,i] = k[t] W[a[t],i,F] h[t,F]",
}
LAYERS = """
input x[t,j]
h[0,t,j] = x[t,j]
g[ℓ,t,e] = C[ℓ,e,J] h[ℓ,t,J]
p[ℓ,t,e] = softmax_{top_k(g[ℓ,t,e], 2) = 1} g[ℓ,t,e]
z[ℓ,t,e,f] = ReLU(U[ℓ,e,f,J] h[ℓ,t,J])
h[ℓ+1,t,j] = h[ℓ,t,j] + p[ℓ,t,E] W[ℓ,E,j,F] z[ℓ,t,E,F]
y[t,j] = h[L,t,j]
"""
BY_LAYER = """
input x[t,j]
h_0[t,j] = x[t,j]
g_{ℓ+1}[t,e] = C_{ℓ+1}[e,J] h_ℓ[t,J]
z_{ℓ+1}[t,e,f] = ReLU(U_{ℓ+1}[e,f,J] h_ℓ[t,J])
h_{ℓ+1}[t,j] = Σ_e top_k(g_{ℓ+1}[t,e], 1) g_{ℓ+1}[t,e] W_{ℓ+1}[e,j,F] z_{ℓ+1}[t,e,F]
y[t,j] = h_L[t,j]
"""
TEXTS = {
    **{
        f"{gate}-{expert}": SCORES + GATES[gate] + "\n" + EXPERTS[expert]
        for gate, expert in itertools.product(GATES, EXPERTS)
        if gate == "shares" or expert == "layers"
    },
    **{f"gathered-{name}": SCORES + text for name, text in GATHERED.items()},
    "stacked": LAYERS,
    "by-layer": BY_LAYER,
}


def made(text: str) -> tuple[indicial.Program, torch.nn.Module]:
    program = indicial.load(text)
    assert not program.mistakes
    sizes = {n: size for n, size in SIZES.items() if program.code.sizes.get(n, 1) is None}
    torch.manual_seed(0)
    return program, program.compile(sizes=sizes, dtype=torch.float64)


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def told(program: indicial.Program, module: torch.nn.Module, x: torch.Tensor) -> np.ndarray:
    """y by the interpreter."""
    parameters = {name: p.detach().numpy() for name, p in module.named_parameters()}
    return program.interpret({"x": x.numpy()}, parameters)["y"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_values_and_gradients_are_those_of_the_equations(text: str) -> None:
    program, module = made(text)
    calls = list(planned(program.code, ["y"]).plan.calls())
    assert calls and all(isinstance(call.function, Dispatch) for call in calls)
    x = drawn(2, 3, SIZES["J"])
    expected = np.stack([told(program, module, one) for one in x])
    np.testing.assert_allclose(module(x=x)["y"].detach().numpy(), expected, rtol=1e-9, atol=1e-12)
    names, values = zip(*module.named_parameters(), strict=True)

    def y(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(module, given, (), {"x": x})["y"]  # type: ignore[no-any-return]

    leaves = [v.detach().clone().requires_grad_() for v in (x, *values)]
    assert torch.autograd.gradcheck(y, leaves, fast_mode=True)


def test_examples_of_different_lengths() -> None:
    program, module = made(TEXTS["top-layers"])
    x = drawn(3, 5, SIZES["J"])
    y = module(x=x, lengths=torch.tensor([5, 2, 3]))["y"]
    for one, own, length in zip(x, y, (5, 2, 3), strict=True):
        expected = told(program, module, one[:length])
        np.testing.assert_allclose(own[:length].detach().numpy(), expected, rtol=1e-9)


def test_what_nobody_chooses_is_zero_and_has_a_gradient() -> None:
    _, module = made(SCORES + "y[t,i] = Σ_e [g[t,e] > 1000] W[e,i,J] x[t,J]")
    y = module(x=drawn(2, 3, SIZES["J"]))["y"]
    y.sum().backward()
    assert torch.equal(y, torch.zeros(2, 3, SIZES["I"], dtype=torch.float64))
    assert not module.get_parameter("W").grad.any()  # type: ignore[union-attr]


def test_second_derivatives() -> None:
    _, module = made(TEXTS["shares-inline"])
    x = drawn(1, 2, SIZES["J"]).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: module(x=x)["y"], x, fast_mode=True)


def test_a_transform_gets_the_sum_over_all_choices() -> None:
    _, module = made(TEXTS["top-layers"])
    x = drawn(2, 3, SIZES["J"])
    slopes = torch.func.jacrev(lambda x: module(x=x)["y"].sum())(x)
    leaf = x.clone().requires_grad_()
    module(x=leaf)["y"].sum().backward()
    torch.testing.assert_close(slopes, leaf.grad)


def test_what_is_asked_for_is_computed_whole() -> None:
    program, module = made(TEXTS["argmax-layers"])
    x = drawn(1, 3, SIZES["J"])
    parameters = {name: p.detach().numpy() for name, p in module.named_parameters()}
    z = program.interpret({"x": x[0].numpy()}, parameters)["z"]
    found = module(x=x, want=["y", "z"])["z"]
    np.testing.assert_allclose(found[0].detach().numpy(), z, rtol=1e-9)


@pytest.mark.parametrize(
    "line",
    [
        "y[t,i] = Σ_s [s ≤ t] W[i,J] x[s,J]",
        "y[t,i] = Σ_s [x[s,0] > x[t,0]] W[i,J] x[s,J]",
        "y[t,e] = [e = argmax_{e'} g[t,e']] g[t,E] k[E]",
    ],
)
def test_other_sums_stay_as_they_are(line: str) -> None:
    program, _ = made(SCORES + line)
    assert not list(planned(program.code, ["y"]).plan.calls())


def test_the_schedule_tells_it() -> None:
    program, _ = made(TEXTS["argmax-layers"])
    assert "chosen e: one batch for each, of the places that chose it" in schedule_page(program)
