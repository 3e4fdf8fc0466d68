"""Whatever a claim says, it gets a verdict that fits a terminal; nothing raises."""

import random

import pytest

import indicial
from indicial.claims.trying import try_claims
from indicial.program.messages import columns

PROGRAM = """
input w[t] in V
input x[t,i]
h[t,j] = tanh(W[j,J'] h[t-1,J'] + U[j,I] x[t,I] + e[w[t],j])
α[t_1,t_2] = softmax_{t_2 ≤ t_1} h[t_1,J] h[t_2,J]
y = Σ_{t,j} h[t,j]
z[t] = argmax_i x[t,i]
μ[n,i] ~ orthonormal
ε ~ N(1, 1/2)
k[n,i] ~ N(μ[n,i], 1/I)
"""
SIDES = [
    "x[t,i]", "h[t,j]", "α[t_1,t_2]", "y", "z[t]", "μ[n,i]", "ε", "k[n,I] μ[n,I]", "T", "J^2", "1/2",
    "w[t]", "h[T-1,j]", "max_j h[t,j]", "‖x[t,I]‖", "∂y/∂x[t,i]", "∂y/∂ε", "∂α[t_1,t_2]/∂W[j,i]",
    "∂z[0]/∂x[t,i]", "∂y/∂w[t]", "std of ε", "mean of h[t,j]", "probability of (ε > 1 and y < 1)",
    "max of ε", "mean of ∂y/∂x[0,0]", "mean of mean of ε", "Σ_t mean of h[t,0]", "work", "work of h",
    "memory of α", "elements of x", "parallel time of y", "O(T)", "parameters of gru", "h", "q[t]",
    "ln x[t,i]",
]  # fmt: skip
ENDS = ["", " within 0.1", " within 1/T for t > 0", " for T = 2", " for ε > 0", " within mean of ε"]


@pytest.mark.parametrize("seed", range(4))
def test_any_claim(seed: int) -> None:
    choose = random.Random(seed).choice
    tried = 0
    for _ in range(20):
        sign = choose(["=", "≈", "≤", "<", "≥", ">", "≠", "~"])
        claim = (
            f"claim {choose(['', 'false: '])}{choose(SIDES)} {sign} {choose(SIDES)}{choose(ENDS)}"
        )
        program = indicial.load(PROGRAM + claim)
        for verdict in try_claims([program], sizes={"T": 2, "I": 2, "V": 3}, draws=60):
            tried += 1
            text = verdict.line() if verdict.as_stated else verdict.message().render()
            assert all(columns(line) <= 80 for line in text.splitlines()), text
            assert "please report" not in text
            assert verdict.to_json()["claim"]["status"] == verdict.status
    assert tried
