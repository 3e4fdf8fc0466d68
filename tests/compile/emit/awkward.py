"""Small programs, each with something that is easy to get wrong; and generated ones.

>>> code(PROGRAMS["a diagonal on the left"])
Code(…)
"""

from __future__ import annotations

from hypothesis import strategies as st

PROGRAMS = {
    "a diagonal": "A[i,j] = x[0,i] x[1,j] W[i,j]\nd[i] = A[i,i]\ne = Σ_i A[i,0]",
    "a diagonal on the left": "A[k,k] = 1\nA[k,j] = x[0,k] x[1,j]",
    "numbers and starts": """
        h[-1,k] = a[k]
        h[t,k] = tanh(h[t-1,k] + h[t-2,k] x[t,k])
        y[k] = h[T-1,k] x[0,k] + h[0,k]
    """,
    "a number inside the range": """
        h[0,k] = b[k] x[1,k]
        h[t,k] = c[k] h[t-1,k] + x[t,k]
        y[t,k] = h[t,k]^2
    """,
    "windows as long as the text": """
        y[t,k] = Σ_{s ≤ t} K[t-s,k] x[s,k]
        z[t,k] = Σ_{s=0}^{t} K[s,k] x[t-s,k]
        u[t,k] = Σ_{s < t} x[t-s,0] x[s,k]
    """,
    "a stack whose inner part has a layer more": """
        h[0,t,k] = x[t,k]
        g[ℓ,t,k] = σ(U[ℓ,k,I] h[ℓ+1,t-1,I] + h[ℓ,t,k])
        h[ℓ+1,t,k] = tanh(g[ℓ,t,k] h[ℓ+1,t-1,k] + h[ℓ,t,k])
        y[t,k] = h[L,t,k]
    """,
    "a guard in a recurrence": """
        h[t,k] = x[t,k] for t < 2
        h[t,k] = tanh(h[t-1,k] + h[t-2,k])
    """,
    "a guard on elements of a recurrence": """
        h[t,k] = tanh(h[t-1,k] + x[t,k]) for k > 0
        h[t,k] = 0.5 h[t-1,k] - x[t,k]
    """,
    "all that came before": "h[t,k] = x[t,k] + tanh(Σ_{s<t} h[s,k]) + max_{s<t} a[k] h[s,k]",
    "weights of what came before": """
        α[t,s] = softmax_{s<t} h[s,K] x[t,K]
        h[t,k] = x[t,k] + Σ_{s<t} α[t,s] h[s,k]
    """,
    "two recurrences at once": """
        a[t,k] = tanh(b[t-1,k] + x[t,k])
        b[t,k] = tanh(a[t,k] + a[t-1,k])
    """,
    "backwards": "h[t,k] = tanh(a[k] h[t+1,k] + x[t,k])\ny[t,k] = h[t+1,k] h[t-1,k]",
    "layers that shrink": """
        range Δt = -1..1
        h_0[t,k] = x[t,k]
        h_{ℓ+1}[t,k] = tanh(Σ_{Δt,k'} W_{ℓ+1}[Δt,k',k] h_ℓ[2t+Δt,k'] - B_{ℓ+1}[k])
        y[k] = h_L[0,k]
    """,
    "layers in time": """
        h_0[t,k] = x[t,k]
        h_{ℓ+1}[t,k] = tanh(h_{ℓ+1}[t-1,k] a_ℓ[k] + h_ℓ[t,k] + h_ℓ[t-1,k])
    """,
    "a recurrence below a stack": """
        h_0[t,k] = tanh(h_0[t-1,k] + x[t,k])
        h_{ℓ+1}[t,k] = tanh(h_{ℓ+1}[t-1,k] a_ℓ[k] + h_ℓ[t,k])
        y[t,k] = h_L[t,k]
    """,
    "a table of distances": """
        D[0,t] = t
        D[s,0] = s
        D[s,t] = min(D[s-1,t] + 1, D[s,t-1] + 1, D[s-1,t-1] + x[t,0])
        y = D[2,2]
    """,
    "a table from both sides": """
        M[t,0] = x[t,0]
        M[0,k] = a[k]
        M[t,k] = tanh(M[t-1,k] + M[t,k-1] + x[t,k])
    """,
    "a table with starts on both sides": """
        M[t,-1] = x[t,0]
        M[-1,k] = a[k]
        M[t,k] = tanh(M[t-1,k] + M[t,k-1] x[t,k] - M[t-1,k-1])
    """,
    "a start of one element": """
        h[-1,0] = 2
        h[t,k] = tanh(h[t-1,k] + W[k,K'] h[t-1,K'] + x[t,k])
    """,
    "all layers of a stack that shrinks": """
        range Δt = 0..1
        h_0[t,k] = x[t,k]
        h_{ℓ+1}[t,k] = tanh(Σ_{Δt} W_{ℓ+1}[Δt] h_ℓ[2t+Δt,k])
        y_ℓ[t,k] = 2 h_ℓ[t,k]
        z_ℓ[k] = Σ_t h_ℓ[t,k]
    """,
    "numbers that may lie outside": """
        y[3,k] = a[k] x[0,k]
        y[1,k] = x[1,k]
        z[k] = Σ_t y[t,k] c[t]
        parameter c[t]
    """,
    "two starts": "f[0] = 1\nf[1] = 1\nf[n] = f[n-1] + f[n-2]\nrange n = 0..7\ny[t] = f[t] x[t,0]",
    "guards one after the other": """
        y[t,k] = 1 for t = k
        y[t,k] = x[t,k] for t < k
        y[t,k] = -1
    """,
    "extremes of windows": """
        range Δt = -1..1
        m[t,k] = max_{Δt} x[t+Δt,k]
        n[t,k] = min_{Δt} x[2t+Δt,k]
    """,
    "norms and counts": """
        y[t] = ‖x[t,K]‖ + ‖x[t,K]‖_1 + ‖x[t,K]‖_∞ + Σ_{s ≤ t} 1
        z = ‖x‖ + Σ_{t, t > 1} t^2
    """,
    "layers that read all below": """
        h_0[t,k] = x[t,k]
        h_{ℓ+1}[t,k] = tanh(a_ℓ[k] Σ_{m ≤ ℓ} h_m[t,k])
        range m = 0..L
    """,
    "shifts": "y[t,k] = x[t-1,k] + x[t+2,k] x[t-2,k] + x[0,k] x[T-1,k] + x[2,k]",
    "index arithmetic": "y[t,k] = x[2t,k] + x[2t+1,k] + x[3-t,k]\nz[t,k] = y[t,k] t/(k+1)",
    "differences": "s[t_1,t_2] = x[t_1,K] x[t_2,K] + r[t_1-t_2]",
    "joins": "input b[t,j]\nz[t,C] = x[t,K]; b[t,J]; x[t,K]\ny[t,n] = W[n,C] z[t,C]",
    "a join at a number": "input b[t,j]\nz[t,C] = tanh(x[t,K]); b[t-1,J]\ny[t] = z[t,1] + z[t-1,0]",
    "heads": "input q[k,t,i]\nz[t,(k,i)] = q[k,t,i]^2\ny[t,j] = W[j,C] z[t,C]",
    "cases": """
        y[t,k] = cases { x[t,k] x[t-1,k] if t > 0, 2 x[t,k] otherwise }
        z[t,k] = y[t,k]^3 for t > k
        z[t,k] = x[t,k]
    """,
    "conditions": """
        y[t,k] = Σ_{s<t} x[s,k] x[t,k]/(1 + t)
        m[t,k] = max_{s≤t} x[s,k] + min_{s≥t} x[s,k]
        z[t] = mean_{k} x[t,k] y[t,k]
        n[t] = mean_{s ≤ t} x[s,0]
    """,
    "nothing to choose from": "α[t,s] = softmax_{s<t} x[s,K] x[t,K]\nm[t] = max_{s<t} x[s,0]",
    "products of many": "p[k] = ∏_t x[t,k]\nq = ∏_{t,k} x[t,k]\nr[k] = ∏_{t ≥ 1} x[t,k]",
    "functions": """
        u[t,k] = 1 + x[t,k]^2
        y[t,k] = ln(u[t,k]) + sqrt(u[t,k]) + exp(-u[t,k]) + cos(x[t,k]) sin(x[t,k])
        z[t,k] = GELU(x[t,k]) + softplus(x[t,k]) + erf(x[t,k]) + floor(x[t,k]) + sign(x[t,k])
        v[t,k] = u[t,k]^{c[k]} + 2^{x[t,k]} + x[t,k]/u[t,k] + u[t,k]^{-2}
        w[t,k] = ReLU(x[t,k]) + abs(x[t,k]-1) + max(x[t,k], c[k]) + min(x[t,k], 2, c[k]) + σ(x[t,k])
    """,
    "constants": "constant λ = 0.5\nconstant A[i,j] = [[1, 2], [3, 4]]\nz[i] = λ A[i,J] u[J]",
    "sizes": "y[t] = 1/(T-1) + ln(T)/sqrt(K) + 2^K\nz[k] = Σ_t x[t,k]/(T K) + 1/T",
    "sums of what does not vary": "y[k] = Σ_t a[k]\nz = Σ_{t,k} 2\nm[k] = mean_t a[k]",
    "sums of sums": "y[t,j] = Σ_k (W[j,k] x[t,k] + V[j,k] x[t-1,k] + c[k])",
    "three matrices": "y[t,i] = A[i,J] B[J,L] C[L,K] x[t,K]",
    "a matrix for each": "y[t,j] = W[t,j,K] x[t,K]\nparameter W[t,j,k]",
    "tokens": """
        input w[t] in V
        h[t,j] = e[w[t],j] + e[w[t-1],j] c[j]
        g[t,j] = e[w[t+1],j]
        n[t] = 2 w[t] + w[t-1]
        P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J]
        loss = Σ_t -ln P(w_t | …)
    """,
    "a matrix for each token": """
        input w[t] in V
        y[t,k] = Σ_i M[w[t-1],k,i] x[t,i]
    """,
    "no token": """
        input w[t] in V
        P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} a[w_t]
        loss = Σ_t -ln P(w_{t-1} | …) t
    """,
    "one element of a softmax": "p[t,k] = softmax_k x[t,k]\ny[t] = ln p[t,0] + p[t-1,1]",
    "a softmax over two": "p[t,k] = softmax_{t,k} x[t,k]\nq[t] = ln p[t,1]",
    "the largest": "a[k] = argmax_t x[t,k]\ny[k] = x[a[k],k] a[k]\nb[t] = argmin_{k ≥ 1} x[t,k]",
    "a sum beside a product that lacks the batch": """
        y[t,k] = (Σ_j A[k,j] (Σ_s x[s,k])) - x[t,k]
    """,
    "an element that is not there, of what comes later": """
        g[t] = tanh(h[t+1] + x[t,0])
        h[t] = sin(g[t])
        y[1,k] = x[1,0] + g[0]
        y[t,k] = x[t-1,k] h[t-2]
    """,
    "nothing given": "y[k] = a[k]^2\nz = Σ_k y[k]",
    "one behind the other twice": "y[t,k] = tanh(x[t,k])\nz[t,k] = tanh(x[t,k]) + y[t,k]",
}
CONVOLUTIONS = {
    "one axis": "range Δt = -1..1\ny[t,j] = Σ_{Δt,k} W[Δt,k,j] x[t+Δt,k]",
    "a stride": "range Δt = 0..2\ny[t,j] = Σ_{Δt,k} W[Δt,k,j] x[2t+Δt-1,k]",
    "towards the past": "range Δt = 0..2\ny[t,j] = 2 Σ_{Δt,k} W[Δt,k,j] x[t-Δt,k]",
    "wide": "range Δt = -1..1\ny[t,j] = Σ_{Δt,k} W[Δt,k,j] x[t+2Δt,k]",
    "no channels": "range Δt = -1..0\ny[t,k] = Σ_{Δt} W[Δt] x[t+Δt,k]",
    "one for each channel": "range Δt = -1..1\ny[t,k] = Σ_{Δt} W[Δt,k] x[t+Δt,k]",
    "one output": "range Δt = -1..1\ny[t] = Σ_{Δt,k} 3 W[Δt,k] x[t+Δt,k]",
    "two axes": """
        input M[u,v,c]
        range Δu = -1..1
        range Δv = 0..1
        y[u,v,j] = Σ_{Δu,Δv,c} W[Δu,Δv,c,j] M[u+Δu,v-Δv,c]
    """,
    "as long as the text": "y[t,k] = Σ_{s ≤ t} K[t-s,k] x[s,k]",
    "as long, by how far back": "y[t,k] = 1/2 Σ_{s=0}^{t} K[s,k] x[t-s,k]",
    "as long, what came before": "y[t,k] = Σ_{s < t} K[t-s] x[s,k]",
    "as long, itself": "y[t,k] = Σ_s x[t+s-1,k] x[s,0]",
    "two at once": "range Δt = -1..1\ny[t,k] = Σ_{Δt} W[Δt] x[t+Δt,k] x[t-Δt,k]",
}


def text(program: str) -> str:
    """With the input that nearly all of them have."""
    lines = "\n".join(line.strip() for line in program.strip().splitlines())
    return lines if lines.startswith("input") and "x[" not in lines else f"input x[t,k]\n{lines}"


@st.composite
def expressions(draw: st.DrawFn, t: str, k: str, state: str, depth: int) -> str:
    """An expression with the free indices t and k, which may read the state at earlier times."""

    def below(t: str = t, k: str = k) -> str:
        return draw(expressions(t, k, state, depth - 1))

    leaves = [
        f"x[{t},{k}]", f"x[{t}-1,{k}]", f"x[{t}+1,{k}]", f"x[0,{k}]", f"a[{k}]", f"u[{t}]",
        f"e[w[{t}],{k}]", f"e[w[{t}-1],{k}]", "c", f"D[{k},{k}]", "0.5", f"x[T-1,{k}]", t,
        f"x[2{t},{k}]", "1/T",
    ]  # fmt: skip
    if state:
        leaves += [f"{state}[{t}-1,{k}]", f"{state}[{t}-2,{k}]"] * 2
    if depth == 0:
        return draw(st.sampled_from(leaves))
    fresh, early = f"k_{depth}", f"t_{depth}"
    kinds = [
        lambda: f"({below()} + {below()})",
        lambda: f"({below()} - {below()} {below()})",
        lambda: f"({below()}) ({below()})",
        lambda: f"{draw(st.sampled_from(['tanh', 'σ', 'ReLU', 'sin', 'abs']))}({below()})",
        lambda: f"(Σ_{{{fresh}}} W[{k},{fresh}] ({below(k=fresh)}))",
        lambda: f"(Σ_{{{fresh}}} W[{k},{fresh}] ({below(k=fresh)}) ({below(k=fresh)}))",
        lambda: f"(max_{{{fresh}}} D[{k},{fresh}] ({below(k=fresh)}))",
        lambda: f"(cases {{ {below()} if {t} > 0, {below()} otherwise }})",
        lambda: f"({below()})^2",
        lambda: f"(mean_{{{fresh}}} ({below(k=fresh)}))",
        lambda: f"({below()})/(1 + ({below()})^2)",
    ]
    if not state:
        kinds.append(lambda: f"(Σ_{{{early} ≤ {t}}} ({below(t=early)}) ({below()}))")
    return draw(st.sampled_from(kinds))()


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Four equations: one from inputs, a recurrence, a softmax of both, and a loss."""
    y = draw(expressions("t", "k", "", 2))
    h = draw(expressions("t", "k", "h", 2))
    s = draw(expressions("t", "k", "", 1))
    shift = draw(st.sampled_from(["t-1", "t", "0", "t+1"]))
    return f"""
        input x[t,k], u[t], w[t] in V
        parameter a[k], c, e[v,k], D[k,k'], W[k,k']
        y[t,k] = {y} + 0.1 x[t,k] + e[w[t],k] a[k] + u[t] c
        h[t,k] = tanh({h} + W[k,K'] h[t-1,K'] + D[k,K'] y[{shift},K'])
        p[t,k] = softmax_k {s} + h[t,k]
        z[t] = ln p[t,0] + Σ_k p[t,k] y[t,k]
    """
