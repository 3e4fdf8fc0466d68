"""What steps read of earlier ones, one small program each, beside the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from walking import compare, decoder, every, walk

from indicial import IndicialError, load
from indicial.compile.module.module import ProgramModule
from indicial.compile.stepping.causal import LookAhead
from tests.compile.module.modules import inputs, oracle, random, small

ATTENTION = """input x[t,j]
Query[k,t,i] = W^Q[k,i,J] x[t,J]
Key[k,t,i] = W^K[k,i,J] x[t,J]
Value[k,t,i] = W^V[k,i,J] x[t,J]
"""
PROGRAMS = {
    "relative positions": ATTENTION
    + """range Δt = -3..3
parameter r[k,Δt]
α[k,t_1,t_2] = softmax_{t_2 ≤ t_1} 1/√I Query[k,t_1,I] Key[k,t_2,I] + r[k,t_1-t_2]
y[k,t,i] = α[k,t,T] Value[k,T,i]""",
    "scores of all pairs": """input x[t,j]
S[t_1,t_2] = x[t_1,J] W[J,J'] x[t_2,J']
α[t_1,t_2] = softmax_{t_2 ≤ t_1} S[t_1,t_2]
y[t,j] = α[t,T] x[T,j]""",
    "zeros ahead": """input x[t,j]
α[t_1,t_2] = 0 for t_2 > t_1
α[t_1,t_2] = tanh(x[t_1,J] W[J,J'] x[t_2,J'])
y[t,j] = α[t,T] x[T,j]""",
    "learned weights": """input x[t,j]
parameter R[t_1,t_2]
α[t_1,t_2] = softmax_{t_2 ≤ t_1} R[t_1,t_2]
y[t,j] = α[t,T] x[T,j]""",
    "weights with the step behind": """input x[t,j]
parameter R[s,t]
α[s,t] = softmax_{s, s ≤ t} R[s,t]
y[t,j] = Σ_s α[s,t] x[s,j]""",
    "near steps": """input x[t,j]
α[t_1,t_2] = softmax_{t_2 ≤ t_1, t_1 - t_2 ≤ 2} x[t_1,J] W[J,J'] x[t_2,J']
y[t,j] = α[t,T] x[T,j]""",
    "sums so far": """input x[t,j]
y[t,j] = x[t,j] Σ_{s ≤ t} x[s,j]
m[t] = x[t,0] + max_{s ≤ t} x[s,0]""",
    "the past alone": """input x[t,j]
h[t,j] = tanh(x[t,j] + Σ_{s < t} h[s,j])""",
    "the past with and without now": """input x[t,j]
parameter r[t]
h[t,j] = tanh(x[t,j] + Σ_{s < t} h[s,j])
g[t,j] = h[t,j] + Σ_{s ≤ t} h[s,j] r[s]""",
    "a step with a sum of its own": """input x[t,j]
u[t,j] = tanh(x[t,J-1])
g[t,j] = cases { Σ_s [s < t] u[s,j] x[t,j] if t = 2, u[t-1,j] otherwise }
f[t,j] = cases { (Σ_s [s < t] u[s,j]) + g[t-1,j] if t = 2, u[t-1,j] otherwise }""",
    "from one on": """input x[t,k]
range t = 1..T
h[0,j] = a[j]
h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])""",
    "a start inside": """input x[t,k]
c[0,j] = a[j]
c[t,j] = tanh(W[j,I] c[t-1,I] + U[j,K] x[t,K])""",
    "a step that reads the first": """input x[t,k]
h[2,j] = V[j,K] x[0,K] + a[j]
h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])""",
    "two steps back": """input x[t,k]
h[-1,j] = a[j]
h[-2,j] = b[j]
h[t,j] = tanh(W[j,I] h[t-1,I] - h[t-2,j] + U[j,K] x[t,K])""",
    "a window of states": """input x[t,k]
range Δt = 1..3
h[-1,j] = a[j]
h[t,j] = tanh(W[ΔT,j,I] h[t-ΔT,I] + U[j,K] x[t,K])""",
    "a table that begins outside": """input x[t,k]
M[t,0] = x[t,0]
M[t,k] = tanh(M[t-1,k] + M[t,k-1] - M[t-1,k-1] + x[t,k])
y[t,j] = M[t,0] b[j]""",
    "a table with a first row and a first column": """input x[t,k]
D[0,0] = x[0,0]
D[0,k] = x[0,k] + D[0,k-1]
D[t,0] = x[t,0] + D[t-1,0]
D[t,k] = tanh(x[t,k] + D[t-1,k] D[t,k-1] - D[t-1,k-1])""",
    "a stack": """input x[t,k]
h[t,j] = σ(U[j,K] x[t,K] + R[j,I] h[t-1,I] + P[j,N] s[t-1,N])
s[t,0] = h[t,0] σ(D[J] h[t,J]) + h[t,1] s[t-1,1]
s[t,n] = h[t,0] s[t-1,n-1] + h[t,1] s[t-1,n+1]""",
    "tokens as numbers": """input w[t] in V
c[t,v] = c[t-1,v] + [w[t] = v]
p[t,v] = (c[t-1,v] + 1) / (t + V)
h[t,v] = cases { tanh(a[v] h[t-1,v] + 0.1 w[t] p[t,v]) if w[t] > 2, p[t,v] [w[t-1] ≠ v] otherwise }""",
    "layers of one number": """input x[t]
input z[t,k]
s_0[t] = x[t] + z[t,0]
s_{ℓ+1}[t] = tanh(a_{ℓ+1} s_{ℓ+1}[t-1] + b_{ℓ+1} s_ℓ[t])""",
    "waves that no input enters": """input x[t,k]
f[t,j] = exp(-t a[j]) cos(t ω[j])
v[t,j] = W[j,K] x[t,K]
y[t,j] = v[t,j] Σ_{s ≤ t} f[t-s,j] v[s,j]
z[t,j] = v[t,j] f[t-1,j] + f[t-2,j]""",
    "a window of one state": """input x[t,k]
range Δt = 1..1
h[t,j] = tanh(W[ΔT,j,I] h[t-ΔT,I] + U[j,K] x[t,K])""",
    "the step as a number": """input x[t,k]
y[t,k] = t x[t,k] + x[t-2,k]
z[t,k] = cases { y[t,k] if t > 2, 0 otherwise }
u[t,j] = W[j,K] x[t,K] for t > 1
u[t,j] = V[j,K] x[t,K]""",
    "surprise": """input w[t] in V
h[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])
P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J]
s[t] = -ln P(w_t | …)
w[t] ~ P(w_t | …)""",
    "the first word": """input w[t] in V
h[t,j] = tanh(e[w[t],j] + f[w[0],j])
P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J]
w[t] ~ P(w_t | …)""",
    "a window of words": """input w[t] in V
range Δt = 1..3
h[t,j] = tanh(Σ_{Δt} A[Δt,j] e[w[t-Δt],j])
P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t,J]
w[t] ~ P(w_t | …)""",
    "attention to earlier words": """input w[t] in V
parameter q[t,j]
k[t,j] = K[j,I] e[w[t],I]
α[t_1,t_2] = softmax_{t_2 < t_1} q[t_1,J] k[t_2,J]
h[t,j] = α[t,T] k[T,j]
P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t,J]
w[t] ~ P(w_t | …)""",
    "layers with a superscript": """input x[t,k]
H^{2}[0,t,j] = U[j,K] x[t,K]
H^{2}[ℓ+1,t,j] = tanh(A[ℓ+1,j,I] H^{2}[ℓ,t,I] + B[ℓ+1,j,I] H^{2}[ℓ+1,t-1,I])
c[t,j] = H^{2}[L,t,j]""",
    "a layer that a parameter has not": """input x[t,j]
parameter A[ℓ,j,i]
h[0,t,j] = x[t,j]
h[ℓ+1,t,j] = tanh(A[ℓ+1,j,I] h[ℓ,t,I] + 0.5 h[ℓ+1,t-1,j])""",
    "a filter": """input x[t,j]
parameter f[t,j]
y[t,j] = Σ_{s ≤ t} f[t-s,j] x[s,j]""",
    "a decay": """input x[t,j]
y[t,j] = Σ_{s ≤ t} a[j]^(t-s) x[s,j]""",
    "a dilated window": """input x[t,k]
range d = 0..2
y[t,j] = ReLU(Σ_{d,k} W[d,j,k] x[t-2d,k])""",
    "the largest so far": """input x[t,j]
m[t,j] = max_{s ≤ t} x[s,j]""",
    "a window of attention": """input x[t,j]
α[t_1,t_2] = softmax_{t_1-3 < t_2 ≤ t_1} x[t_1,J] W[J,J'] x[t_2,J']
y[t,j] = α[t,T] x[T,j]""",
    "two inputs": """input x[t,k]
input z[t,k]
h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K] + V[j,K] z[t-1,K])""",
}


def made(text: str) -> ProgramModule:
    program = load(text)
    return random(program.compile(**small(program), dtype=torch.float64))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("gradients", [False, True], ids=["in place", "pure"])
def test_every_output_is_the_oracles(name: str, gradients: bool) -> None:
    module = made(PROGRAMS[name])
    want = list(dict.fromkeys(s.target for s in module.code.statements))
    want = [n for n in want if n not in ("S", "loss")]  # scores of steps to come are nowhere
    for batch in ((), (2,)):
        given = inputs(module, *batch)
        whole = oracle(module, given)
        with torch.set_grad_enabled(gradients):
            states = list(walk(module, given, batch, want))
        found = sum(compare(state, whole, batch) for state in states)
        assert found == every(decoder(module, want), len(states) - 1, 5)


def test_a_series_of_numbers() -> None:
    """The T of x[t] could be a width as well; if no parameter has it, it is what the steps go along."""
    module = load("input x[t]\nh[t] = tanh(a h[t-1] + x[t])\ny[t] = Σ_{s ≤ t} h[s]").compile()
    x = torch.randn(2, 4)
    whole = module(x=x)["y"]
    state = module.begin()
    for t in range(4):
        state, out = module.step(state, x=x[:, t])
        torch.testing.assert_close(out["y"], whole[:, t])


def test_the_programs_are_programs() -> None:
    """The interpreter runs the beginning and the steps: h[t-1] of a step is h of the one before."""
    from indicial.program.meaning.interpret import interpret

    module = made(PROGRAMS["surprise"])
    stepping = module.begin().frame.decoder.stepping
    held = {name: module.parameter(name).detach().numpy() for name in module.state_keys}
    given = inputs(module)
    whole = oracle(module, given)
    first = interpret(stepping.beginning, {}, held)
    np.testing.assert_allclose(first["P"], whole["P"][0])
    (ago,) = stepping.ago
    before = np.zeros(3)
    for t, token in enumerate(given["w"][:-1]):
        now = interpret(
            stepping.step, {"w": token.numpy(), ago.name: before}, held, sizes={"n": t + 1}
        )
        np.testing.assert_allclose(now["P"], whole["P"][t + 1])
        before = now["h"]


@pytest.mark.parametrize(
    "text",
    [
        "y[t,k] = x[t,k] / T",
        "range r = 0..T-2\nu[r,k] = x[r,k]\nu[T-1,k] = 2 x[T-1,k]\ny[t,k] = u[t,k]",
        "u[t+1,k] = x[t,k] for k > 0\nu[t,k] = x[t,k]\ny[t,k] = u[t,k] + x[t,k]",
    ],
    ids=["its number", "an equation for it", "an equation for all before it"],
)
def test_what_a_step_needs_of_the_end(text: str) -> None:
    module = made(f"input x[t,k]\n{text}")
    with pytest.raises(LookAhead, match=r"T is known only at the\s+end"):
        module.begin(want=["y"])


def test_a_place_among_all_steps_needs_the_end() -> None:
    module = load("input x[t,k]\ny[t,k] = x[t,k] W[(k,t)]").compile(T=4, K=2)
    with pytest.raises(LookAhead, match=r"T is known only at the\s+end"):
        module.begin()


def test_a_mean_of_all_steps_is_there_at_the_end() -> None:
    module = made("input x[t,k]\nm[k] = 1/T Σ_t x[t,k]\ny[t,k] = x[t,k] - m[k]")
    with pytest.raises(
        LookAhead, match=r"m cannot be computed step by step: it looks ahead at\s+x"
    ):
        module.begin(want=["y"])


def test_which_index_the_steps_go_along() -> None:
    text = "input x[s,k]\ninput z[t,k]\nc[k] = Σ_s x[s,k]\ny[t,k] = y[t-1,k] + z[t,k] c[k]"
    module = made(text)
    with pytest.raises(IndicialError, match=r'say along which index .*along="s" or along="t"'):
        module.begin()
    given = inputs(module)
    whole = oracle(module, given)
    state = module.begin(x=given["x"], along="t")
    for t in range(5):
        state, out = module.step(state, z=given["z"][t])
        torch.testing.assert_close(out["y"], torch.as_tensor(whole["y"][t]))
    with pytest.raises(IndicialError, match="no input has an axis q to walk along"):
        module.begin(along="q")
    with pytest.raises(IndicialError, match="c does not go along t, which has the size T"):
        module.begin(x=given["x"], along="t", want=["c"])
