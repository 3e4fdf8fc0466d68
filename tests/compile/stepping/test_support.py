"""Sums over steps end where they add 0, however it is written that they do."""

from __future__ import annotations

import string

import pytest
import torch
from walking import compare, decoder, every, walk

from indicial import load
from indicial.compile.module.module import ProgramModule
from indicial.compile.stepping.causal import LookAhead
from tests.compile.module.modules import inputs, oracle, random

HEAD = """input v[t,d]
q[t,i] = W^q[i,D] v[t,D]
α[t_1,t_2] = softmax_{t_2 ≤ t_1} q[t_1,I] q[t_2,I]
β[t_1,t_2] = softmax_{t_2 < t_1} q[t_1,0] q[t_2,I] a[I]
M[t_1,t_2] = cases { 0 if t_2 ≤ t_1, -∞ otherwise }
γ[t_1,t_2] = softmax_{t_2} q[t_1,I] q[t_2,I] + M[t_1,t_2]
δ[t_1,t_2] = softmax_{t_2} cases { q[t_1,0] q[t_2,I] a[I] if t_2 ≤ t_1, -∞ otherwise }
η[t_1,t_2] = softmax_{t_2} cases { q[t_1,0] q[t_2,I] a[I] if t_2 ≤ t_1, -9 otherwise }
"""
WEIGHTS = [
    "α[t_1,t_2] - λ β[t_1,t_2]",
    "abs(α[t_1,t_2]) / 2",
    "α[t_1,t_2]^2 + β[t_1,t_2]^1.5",
    "max(α[t_1,t_2], 0)",
    "min(α[t_1,t_2], β[t_1,t_2])",
    "α[t_1,t_2] exp(q[t_1,I] q[t_2,I])",
    "-α[t_1,t_2] + 0",
    "sin(β[t_1,t_2]) / (1 + α[t_1,t_2])",
    "tanh(α[t_1,t_2] - β[t_1,t_2])",
    "ReLU(sqrt(α[t_1,t_2]) - 0.2)",
    "exp(α[t_1,t_2]) - 1",
    "1 - cos(β[t_1,t_2])",
    "σ(α[t_1,t_2]) - 1/2",
    "1 - [t_2 > t_1]",
    "[t_2 ≤ t_1] [t_2 > t_1 - 2]",
    "[t_2 = t_1] + [t_2 = t_1 - 1]",
    "β[t_1,t_2] / Σ_r α[t_1,r] (1 + [r = 0])",
    "α[t_1-1,t_2-1]",
    "stop(sign(GELU(erf(β[t_1,t_2]))))",
    "1 - [t_2 > t_1] [t_2 ≠ t_1]",
    "1 - [t_2 > t_1] [t_1 ≠ t_2]",
    "Σ_i α[t_1,t_2] q[t_1,i]",
    "Σ_{i, t_2 ≤ t_1} q[t_1,i]",
    "γ[t_1,t_2] - λ δ[t_1,t_2]",
    "exp(2 M[t_1,t_2] + M[t_1-1,t_2-1] + v[t_1,0])",
]
"""Of a step and one that is not behind it: 0 where the second is ahead."""
SUMS = [
    "Σ_s [s ≤ t] exp(q[t,I] q[s,I]) v[s,d] / (Σ_r [r ≤ t] exp(q[t,I] q[r,I]))",
    "Σ_s (α[t,s] v[s,d] - β[t,s] q[s,0])",
    "Σ_{s < 2} α[t,s] v[s,d]",
]
AHEAD = [
    "exp(α[t_1,t_2])",
    "α[t_1,t_2] + 0.1",
    "α[t_1,t_2] + q[t_2,0]",
    "max(α[t_1,t_2], 0.1)",
    "min(α[t_1,t_2], -1)",
    "cos(α[t_1,t_2])",
    "σ(β[t_1,t_2])",
    "softplus(β[t_1,t_2])",
    "ln(α[t_1,t_2])",
    "α[t_1,t_2]^0",
    "2^(α[t_1,t_2])",
    "β[t_1,t_2]^(-1)",
    "α[t_1,t_2] / β[t_1,t_2]",
    "1 / (1 + α[t_1,t_2])",
    "1 - α[t_1,t_2]",
    "ReLU(0.2 - α[t_1,t_2])",
    "[t_2 ≤ t_1 + 1]",
    "[t_2 ≥ t_1]",
    "[t_2 ≠ t_1]",
    "1 - [t_2 > t_1 + 1]",
    "α[t_1,t_2-1]",
    "α[t_2,t_1]",
    "γ[t_1,t_2-1]",
    "η[t_1,t_2]",
    "exp(-M[t_1,t_2])",
    "0 M[t_1,t_2]",
]
"""Not 0 there, or not a number."""


def small(text: str) -> ProgramModule:
    program = load(text)
    sizes = {name: size for name, size in {"I": 2, "D": 3}.items() if name in program.code.sizes}
    return random(program.compile(sizes=sizes, dtype=torch.float64))


def test_what_is_0_ahead_goes_step_by_step() -> None:
    """Each weight inside the sum, and as a tensor of its own; all in one program."""
    lines, names = [], []
    for label, weight in zip(string.ascii_uppercase, WEIGHTS, strict=False):
        inside = weight.replace("t_1", "t").replace("t_2", "s")
        lines += [
            f"w^{label}[t_1,t_2] = {weight}",
            f"y^{label}[t,d] = Σ_s w^{label}[t,s] v[s,d]",
            f"z^{label}[t,d] = Σ_s ({inside}) v[s,d]",
        ]
        names += [f"y^{label}", f"z^{label}"]
    for label, total in zip(string.ascii_uppercase, SUMS, strict=False):
        lines.append(f"u^{label}[t,d] = {total}")
        names.append(f"u^{label}")
    module = small(HEAD + "\n".join(lines))
    given = inputs(module, T=4)
    whole = oracle(module, given)
    compared = sum(compare(state, whole) for state in walk(module, given, want=names))
    assert compared == every(decoder(module, names), 4, 4) == 4 * len(names)


@pytest.mark.parametrize("weight", AHEAD)
def test_what_is_not_0_ahead_is_refused(weight: str) -> None:
    inside = weight.replace("t_1", "t").replace("t_2", "s")
    for text in (
        f"w[t_1,t_2] = {weight}\ny[t,d] = Σ_s w[t,s] v[s,d]",
        f"y[t,d] = Σ_s ({inside}) v[s,d]",
    ):
        with pytest.raises(LookAhead, match="cannot be computed step by step"):
            small(HEAD + text).begin(want=["y"])


def test_a_table_that_tokens_look_up_ends_no_sum() -> None:
    text = """input w[t] in V
input v[t,d]
A[i,j] = cases { B[i,j] if i ≤ j, 0 otherwise }
y[t,d] = Σ_{s ≤ t} A[w[s],w[t]] v[s,d]"""
    module = random(load(text).compile(sizes={"V": 3, "D": 2}, dtype=torch.float64))
    given = inputs(module, T=4)
    whole = oracle(module, given)
    assert sum(compare(state, whole) for state in walk(module, given, want=["y"])) == 4
    with pytest.raises(LookAhead):
        load(text.replace("Σ_{s ≤ t}", "Σ_s")).compile(sizes={"V": 3, "D": 2}).begin(want=["y"])


def test_cases_with_several_equations() -> None:
    """Those that say something ahead of the step are no longer needed; the others end there."""
    text = """input v[t,d]
w[t_1,t_2] = 0 for t_2 > t_1
w[t_1,t_2] = 2 for t_2 = t_1
w[s,r] = v[s,0] v[r,0]
y[t,d] = Σ_s w[t,s] v[s,d]
u[t_1,t_2] = v[t_1,0] for t_2 ≤ t_1
z[t,d] = Σ_s u[t,s] v[s,d]"""
    module = small(text)
    given = inputs(module, T=4)
    whole = oracle(module, given)
    compared = sum(compare(state, whole) for state in walk(module, given, want=["y", "z"]))
    assert compared == 8
    assert len(decoder(module, ["y", "z"]).stepping.step.of("w")) == 2
    ahead = text.replace("= 2 for t_2 = t_1", "= 2 for t_2 = t_1 + 1").replace("0 for", "1 for")
    with pytest.raises(LookAhead):
        small(ahead).begin(want=["y"])
