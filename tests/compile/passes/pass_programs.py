"""Programs that passes are tried on: awkward ones by name, and generated ones.

>>> code(AWKWARD["diagonal"])
Code(…)
"""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from indicial.program.ir import Code
from indicial.program.program import Program

AWKWARD = {
    "pairs, and then all": """
        input x[i,k]
        parameter a[n], b[n]
        y[(i,k)] = x[i,k]^2 for i > 0
        y[n] = a[n]^2
        z = Σ_n y[n]^2 b[n]
    """,
    "some, and then pairs": """
        input x[i,k]
        parameter a[n], b[n]
        y[n] = a[n]^2 for n > 1
        y[(i,k)] = x[i,k]^2
        z = Σ_n y[n]^2 b[n]
    """,
    "gated product": """
        input x[t,k]
        G[t,j] = σ(A[j,K] x[t,K])
        h[t,j] = tanh(W[j,I] G[t,I] h[t-1,I] + x[t,j])
    """,
    "three matrices": """
        input x[t,k]
        y[t,i] = A[i,J] B[J,L] C[L,K] x[t,K]
    """,
    "nested sums": """
        input x[t,k]
        y[i] = Σ_t A[i,J] (W[J,K] x[t,K] + b[J]) x[t,i]
    """,
    "sum of a sum": """
        input x[t,k]
        y[t,j] = Σ_k (W[j,k] x[t,k] + V[j,k] x[t-1,k] + c[k])
    """,
    "conditions": """
        input x[t,k]
        y[t,k] = Σ_{s<t} x[s,k] x[t,k]/(1 + t)
        m[t,k] = max_{s≤t} x[s,k]
        z[t] = mean_{k} x[t,k] y[t,k]
    """,
    "mean with a condition": """
        input x[t,k]
        y[t,k] = mean_{s≤t} x[s,k]^2
    """,
    "product of all": """
        input x[t,k]
        y[t] = ∏_k (x[t,k] + 2)
        z[k] = min_t x[t,k] + max_t (x[t,k] c[k])
    """,
    "masked softmax": """
        input x[t,k]
        α[t_1,t_2] = softmax_{t_2 ≤ t_1} x[t_1,K] W[K,J] x[t_2,J]
        y[t,k] = α[t,T] x[T,k]
    """,
    "guarded softmax": """
        input x[t,k]
        α[t_1,t_2] = softmax_{t_2} x[t_1,K] x[t_2,K]
        α[t_1,t_2] = 0 for t_2 > t_1
        y[t,k] = α[t,T] x[T,k]
    """,
    "two softmaxes in one": """
        input x[t,k]
        y[t,k] = (softmax_k x[t,k]) (softmax_k x[t-1,k])
    """,
    "logarithms": """
        input x[t,k]
        p[t,k] = softmax_k W[k,J] x[t,J]
        H[t] = -Σ_k p[t,k] ln p[t,k]
        q[t] = ln p[t,0] + p[t,1]
    """,
    "diagonal": """
        input x[t,k]
        A[i,j] = x[0,i] x[1,j] W[i,j]
        d[i] = A[i,i]
        e = Σ_i A[i,0]
    """,
    "numbers and starts": """
        input x[t,k]
        h[-1,k] = a[k]
        h[t,k] = tanh(h[t-1,k] + h[t-2,k] x[t,k])
        y[k] = h[T-1,k] x[0,k] + h[0,k]
    """,
    "numbers inside the range": """
        input x[t,k]
        h[0,k] = b[k] x[1,k]
        h[t,k] = c[k] h[t-1,k] + x[t,k]
        y[t,k] = h[t,k]^2
    """,
    "windows": """
        input x[t,k]
        range Δt = -1..1
        y[t,j] = Σ_{Δt} W[Δt,j,K] x[t+Δt,K]
        z[t,j] = Σ_{Δt} V[Δt] y[2t+Δt,j] + y[3-t,j]
    """,
    "differences": """
        input x[t,k]
        s[t_1,t_2] = x[t_1,K] x[t_2,K] + r[t_1-t_2]
    """,
    "backwards": """
        input x[t,k]
        h[t,k] = tanh(a[k] h[t+1,k] + x[t,k])
    """,
    "joins": """
        input a[t,i], b[t,j]
        z[t,C] = a[t,I]; b[t,J]; a[t,I]
        y[t,n] = W[n,C] z[t,C]
    """,
    "a join inside": """
        input a[t,i], b[t,j]
        y[t,n] = W[n,C] z[t,C]
        z[t,C] = tanh(a[t,I]); b[t-1,J] c[J]
    """,
    "heads": """
        input x[k,t,i]
        z[t,(k,i)] = x[k,t,i]^2
        y[t,j] = W[j,C] z[t,C]
    """,
    "cases and guards": """
        input x[t,k]
        y[t,k] = cases { x[t,k] x[t-1,k] if t > 0, 2 x[t,k] otherwise }
        z[t,k] = y[t,k]^3 for t > k
        z[t,k] = x[t,k]
    """,
    "kinks": """
        input x[t,k]
        y[t,k] = ReLU(x[t,k]) + abs(x[t,k] - 1) + max(x[t,k], c[k]) + min(x[t,k], 2, c[k])
    """,
    "functions": """
        input x[t,k]
        u[t,k] = 1 + x[t,k]^2
        y[t,k] = ln(u[t,k]) + sqrt(u[t,k]) + exp(-u[t,k]) + cos(x[t,k]) sin(x[t,k])
        z[t,k] = GELU(x[t,k]) + softplus(x[t,k]) + erf(x[t,k]) + floor(x[t,k]) + sign(x[t,k])
        v[t,k] = u[t,k]^{c[k]} + 2^{x[t,k]} + x[t,k]/u[t,k] + u[t,k]^{-2}
    """,
    "tokens": """
        input w[t] in V
        h[t,j] = e[w[t],j] + e[w[t-1],j] c[j]
        P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J]
        loss = Σ_t -ln P(w_t | …)
    """,
    "no token": """
        input w[t] in V
        P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} a[w_t]
        loss = Σ_{t} -ln P(w_{t-1} | …) (t + 1)
    """,
    "a token of the step before": """
        input w[t] in V, b[t]
        P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} a[w_t] b[t]
        y[t] = ln P[t,w[t-1]] (t + 1)
    """,
    "a token where a token says": """
        input p[t] in T, b[t]
        input w[t] in V
        P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} a[w_t] b[t]
        y[t] = ln P[t,w[p[t-1]]] (t + 1) + a[w[p[t-1]]]
    """,
    "a maximum in a window": """
        input x[t]
        range Δt = -1..1
        m[t] = max_{Δt} c x[t+Δt]
        n[t] = max_{Δt} x[t+Δt]
    """,
    "a loss that looks aside": """
        input x[t]
        loss = Σ_t x[t-1] + Σ_t c x[t+1]^2
    """,
    "a logarithm that is not asked for": """
        input x[t]
        y[t] = Σ_{s<t} ln((t - s) c^2)
        z[t] = cases { sqrt(t c^2) if t > 0, x[t] otherwise }
    """,
    "the logarithm of a sum of powers, one of which may be 0": """
        input x[t,k]
        y[t,k] = ln(exp(x[t,k]) + exp(a[k] + ln [t > 0]))
        z[t] = Σ_k y[t,k]^2
    """,
    "layers": """
        input x[t,i]
        range Δt = -1..1
        h_0[t,i] = x[t,i]
        h_{ℓ+1}[t,i] = tanh(Σ_{Δt,i'} W_{ℓ+1}[Δt,i',i] h_ℓ[2t+Δt,i'] - B_{ℓ+1}[i])
        y[i] = h_L[0,i]
    """,
    "layers in time": """
        input x[t,k]
        h_0[t,k] = x[t,k]
        h_{ℓ+1}[t,k] = tanh(h_{ℓ+1}[t-1,k] a_ℓ[k] + h_ℓ[t,k] + h_ℓ[t-1,k])
    """,
    "argmax": """
        input x[t,k], y[t,j]
        a[k] = argmax_t x[t,k]
        z[k,j] = y[a[k],j] x[0,k]
    """,
    "one part twice": """
        input x[t,k]
        y[t,k] = (x[t,k] - mean_{j} x[t,j])/sqrt(mean_{j} (x[t,j] - mean_{k'} x[t,k'])^2 + 1)
        z[t,k] = x[t,k] - mean_{j} x[t,j]
    """,
}


@cache
def code(text: str) -> Code:
    """The checked program of a text."""
    lines = "\n".join(line.strip() for line in text.strip().splitlines())
    return Program.of_text(lines).code


@st.composite
def expressions(draw: st.DrawFn, t: str, k: str, state: str, depth: int) -> str:
    """An expression with the free indices t and k, which may read the state at earlier times."""

    def below(t: str = t, k: str = k) -> str:
        return draw(expressions(t, k, state, depth - 1))

    leaves = [
        f"x[{t},{k}]", f"x[{t}-1,{k}]", f"x[{t}+1,{k}]", f"x[0,{k}]", f"a[{k}]", f"u[{t}]",
        f"e[w[{t}],{k}]", f"e[w[{t}-1],{k}]", "c", f"D[{k},{k}]", "0.5", f"x[T-1,{k}]",
    ]  # fmt: skip
    if state:
        leaves += [f"{state}[{t}-1,{k}]", f"{state}[{t}-2,{k}]"] * 2
    if depth == 0:
        return draw(st.sampled_from(leaves))
    fresh = f"k_{depth}"
    early = f"t_{depth}"
    kind = draw(st.integers(0, 11))
    match kind:
        case 0 | 1:
            return f"({below()} + {below()})"
        case 2:
            return f"({below()} - {below()} {below()})"
        case 3:
            return f"({below()}) ({below()})"
        case 4:
            return f"{draw(st.sampled_from(['tanh', 'σ', 'ReLU', 'sin', 'abs']))}({below()})"
        case 5:
            return f"(Σ_{{{fresh}}} W[{k},{fresh}] ({below(k=fresh)}))"
        case 6:
            return f"(Σ_{{{fresh}}} W[{k},{fresh}] ({below(k=fresh)}) ({below(k=fresh)}))"
        case 7 if not state:
            return f"(Σ_{{{early} ≤ {t}}} ({below(t=early)}) ({below()}))"
        case 8:
            return f"(max_{{{fresh}}} D[{k},{fresh}] ({below(k=fresh)}))"
        case 9:
            return f"(cases {{ {below()} if {t} > 0, {below()} otherwise }})"
        case 10:
            return f"({below()})^2"
        case _:
            return f"(mean_{{{fresh}}} ({below(k=fresh)}))"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Three equations: one from inputs, a recurrence, and a softmax of both."""
    y = draw(expressions("t", "k", "", 2))
    h = draw(expressions("t", "k", "h", 2))
    s = draw(expressions("t", "k", "h", 1))
    shift = draw(st.sampled_from(["t-1", "t", "0", "t+1"]))
    return f"""
        input x[t,k], u[t], w[t] in V
        parameter a[k], c, e[v,k], D[k,k'], W[k,k']
        y[t,k] = {y} + 0.1 x[t,k] + e[w[t],k] a[k] + u[t] c
        h[t,k] = tanh({h} + W[k,K'] h[t-1,K'] + D[k,K'] y[{shift},K'])
        p[t,k] = softmax_k {s} + h[t,k]
        z[t] = ln p[t,0] + Σ_k p[t,k] y[t,k]
    """
