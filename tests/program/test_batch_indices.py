"""Equations with a batch index say of each example what those without it say of one."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.library.loading import load
from indicial.program.meaning.sample import sample, small_sizes
from indicial.tasks.programs import trainable

UGRNN = """
input x[b,t,k]
G[b,t,j] = σ(W^{h,G}[j,I] h[b,t-1,I] + W^{x,G}[j,K] x[b,t,K] - B^G[j])
R[b,t,j] = tanh(W^{h,R}[j,I] h[b,t-1,I] + W^{x,R}[j,K] x[b,t,K] - B^R[j])
h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]
"""
CNN = """
input x[b,t,k]
range Δt = -2..0
L_0[b,t,i] = W^0[i,K] x[b,t,K]
R_{ℓ+1}[b,t,j] = tanh((Σ_{Δt,i} W^R_{ℓ+1}[Δt,i,j] L_ℓ[b,t+Δt,i]) - B^R_{ℓ+1}[j])
G_{ℓ+1}[b,t,j] = σ((Σ_{Δt,i} W^G_{ℓ+1}[Δt,i,j] L_ℓ[b,t+Δt,i]) - B^G_{ℓ+1}[j])
L_{ℓ+1}[b,t,j] = G_{ℓ+1}[b,t,j] L_ℓ[b,t,j] + (1 - G_{ℓ+1}[b,t,j]) R_{ℓ+1}[b,t,j]
"""
MODEL = """
input w[b,t] in V
h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] e[w[b,t-1],K])
P(w[b,t] | w_0, …, w_{t-1}) = softmax_{w[b,t]} e[w[b,t],J] h[b,t,J]
loss = 1/(B T) Σ_{b,t} -ln P(w[b,t] | …)
"""


@pytest.mark.parametrize(("text", "result"), [(UGRNN, "h"), (CNN, "L")])
def test_each_example_is_what_the_equations_say_of_it(text: str, result: str) -> None:
    many, one = load(text), load(text, one_example=True)
    assert all(axis.letter != "b" for t in one.code.tensors.values() for axis in t.axes)
    sizes = small_sizes(many.code, 3)
    drawn = sample(many.code, sizes, 1)
    together = many.interpret(drawn.inputs, drawn.parameters, sizes=sizes)[result]
    batch = [a.letter for a in many.code.tensors[result].axes].index("b")
    for example, x in enumerate(np.asarray(drawn.inputs["x"])):
        known = {name: value for name, value in sizes.items() if name in one.code.sizes}
        alone = one.interpret({"x": x}, drawn.parameters, sizes=known)[result]
        assert np.allclose(np.take(together, example, axis=batch), alone)


@pytest.mark.parametrize("text", [UGRNN, CNN, MODEL])
def test_they_train_like_those_without_it(text: str) -> None:
    plain = text.replace("[b,", "[").replace("1/(B T) Σ_{b,t}", "1/T Σ_t")
    found, expected = trainable([text]), trainable([plain])
    assert found.task == expected.task == "language"
    assert found.program.unicode() == expected.program.unicode()


def test_a_b_that_is_something_else_stays() -> None:
    text = "y[b] = x[b] + b\ninput x[b]"
    assert load(text, one_example=True).unicode() == load(text).unicode()
