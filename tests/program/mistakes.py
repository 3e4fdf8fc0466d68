"""One small text for every kind of message, by subject and code."""

INDICES = {
    "index-count": "input x[t,k]\nh[t,j] = tanh(W[j,I] h[t-1] + V[j,K] x[t,K])",
    "unbound-index": "input x[t,k]\ny[t] = tanh(W[j,K] x[t,K] - B[j])",
    "left-alone": "input x[t,k]\ny[t,j] = W[j] x[t,K]",
    "index-form": "input x[t]\ny[t] = x[t t]",
    "inverse": "input x[t,i]\ny_{ℓ+1}[t,j] = A_{ℓ+1}^{-1}[j,I] x[t,I]",
    "complex": "input a[t], b[t]\ny[t] = tanh(a[t] + 1i b[t])",
    "complex-pair": "input a[t], b[t]\ny[t] = exp(a[t] + 1i b[t])",
    "index-order": "input x[t,k]\ny[t,j] = W[j,K] x[K,t]\nz[t,j] = V[j,K] x[t,K]",
    "axis-order": "input x[t,j]\ny[j,t] = tanh(W[j,I] x[t,I])",
    "weights-axis": (
        "input x[t,j]\nα[t_1,t_2] = softmax_{t_2} x[t_1,J] x[t_2,J]\ny[t,j] = α[T,t] x[T,j]"
    ),
    "constant-index": "input x[t,j]\ny[k,t,i] = W[k,J] x[t,J]",
    "term-index": "input x[t,k]\ny[t,j] = tanh(W[j,K] x[t,K] - B^y)",
    "cancels": "input x[t,j]\nα[t_1,t_2] = softmax_{t_2} x[t_1,J] x[t_2,J] + W[J] x[t_1,J]",
    "fixed-index": "input x[t,k]\ny[t,j] = W[j,K] x[T-1,K]",
    "sum-index": "input x[t,k]\ny[t] = Σ_j x[t,K] x[t,K]",
    "bound-twice": "input x[t]\ny[t] = Σ_t x[t]",
    "no-index": "input x[t]\ny = Σ_{2} x[0]",
    "range": "input x[t]\ny = Σ_{t=0}^{sin(2)} x[t]",
    "softmax-index": "input x[t,j]\nα[t_1,t_2] = softmax_{t_2} x[t_1,J] x[t_1,J]",
    "softmax-variable": "input w[t] in V\nP(w_t | w_{t-1}) = softmax_{w_{t+1}} W[w_t,w_{t-1}]",
    "condition": "input x[t]\nα[t_1,t_2] = softmax_{t_2 ≤ T} x[t_1] x[t_2]",
    "join": "input x[t,j]\ny = x[0,J]; x[1,J]",
    "batch-index": "input x[b,t,k]\ny[b,t,j] = W[j,K] x[t,K]",
}

SIZES = {
    "sizes": "a[i] = [1, 2, 3]\nb[i] = [1, 2]\nc = a[I] b[I]",
    "window-range": "input x[t]\ny[t] = W[ΔT] x[t+ΔT]",
    "unused-size": "input x[t]\nsize Q = 3\ny[t] = 2 x[t]",
    "sizes-joined": (
        "input x[t,k]\ny[t,j] = W[j,K] x[t,K] + V[j,K] x[t,K]\nz[t,j] = G[t,j] x[t,j]\n"
        "G[t,j] = U[j,K] x[t,K]"
    ),
    "literal": "a[i,j] = [[1, 2], [3]]",
    "first-layer": (
        "input L_0[t,j]\nQ_{ℓ+1}[t,i] = W_{ℓ+1}[i,J] L_ℓ[t,J]\nL_{ℓ+1}[t,j] = V_{ℓ+1}[j,I] Q_ℓ[t,I]"
    ),
    "shared-layers": "input L_0[t,j]\nL_{ℓ+1}[t,j] = ReLU(W[j,I] L_ℓ[t,I] - B_{ℓ+1}[j])",
}

NAMES = {
    "unknown-name": "input x[t,k]\nR[t,j] = tanh(W[j,K] x[t,K])\ny[t,j] = Q[t,j] + x[t,J] U[J,j]",
    "unused-name": "input x[t,k]\nM[j,k] = A[j,I] B[I,k]\ny[t,j] = N[j,K] x[t,K]",
    "similar-names": "input x[t,k]\ny[t,j] = W_{out}[j,K] x[t,K]\nz[t,j] = W_{otu}[j,K] x[t,K]",
    "unknown-function": "input x[t,k]\ny[t,j] = tnah(W[j,K] x[t,K])",
    "unused-input": "input x[t,k]\ninput u[t,k]\ny[t,j] = W[j,K] x[t,K]",
    "unused-constant": "input x[t]\nconstant λ = 0.1\ny[t] = l x[t]",
    "unused-parameter": "Φ = (W, V)\ninput x[t,k]\ny[t,j] = W[j,K] x[t,K]",
    "not-listed": "Φ = (W)\ninput x[t,k]\ny[t,j] = W[j,K] x[t,K] - B[j]",
    "listed-defined": "Φ = (W, y)\ninput x[t,k]\ny[t,j] = W[j,K] x[t,K]",
    "defined-twice": "input x[t]\ny[t] = 2 x[t]\ny[t] = 3 x[t]",
    "start-only": "input x[t,j]\ng[-1,j] = 0\nh[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])",
    "declaration": "constant λ\ny = 2",
    "no-left-side": "= 2",
    "script-factor": "input x[t,k]\nG[t,j] = σ(W^{h,G}[j,I] h[t-1,I] + W^{x,G}[j,K] x[t,K])\n"
    "F[t,j] = σ(W^{h,F}[j,I] h[t-1,I] + W^{x,F}[j,K] x[t,K])\n"
    "R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] + W^{x,R}[j,K] h[t-1,K])\nh[t,j] = G[t,j] h[t-1,j] + F[t,j] R[t,j]",
    "no-definition": "input x[i]\ng(x[i]) = 2",
    "no-value": "input x[t]\ny[t] = x[t] {1, 2}",
    "draw": "input w[t] in V\nP(w_t | w_{t-1}) = softmax_{w_t} W[w_t,w_{t-1}]\nv[t] ~ P(w_t | …)",
}

FUNCTIONS = {
    "argument-count": "input x[t]\ny[t] = tanh(x[t], 2)",
    "argument-shape": "f(x[J])[j] = 2 x[j]\ninput x[t,j]\ny[t] = f(x[t,0])",
    "recursion": "f(x[J])[j] = 2 f(x[J])[j]\ninput u[j]\ny[J] = f(u[J])",
    "cell-call": "input x[t,k]\nCELL = ugrnn\nh[t,J] = CELL(x[t,K])",
    "unknown-cell": "input x[t,k]\nCELL = ugru\nh[t,J] = CELL(h[t-1,J], x[t,K])",
    "unused-fill": "input x[t,k]\nCEL = ugrnn\nh[t,J] = CELL(h[t-1,J], x[t,K])",
}

TIMES = {
    "no-distribution": (
        "input w[t] in V\nh[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])\n"
        "P(w_t | w_0, …, w_{t-1}) = 2 softmax_{w_t} e[w_t,J] h[t-1,J]"
    ),
    "cycle": "input x[t,k]\nR[t,j] = tanh(W[j,I] h[t,I] + V[j,K] x[t,K])\nh[t,j] = 1/2 R[t,j]",
    "shifted-read": "input x[t,k]\nR[t,j] = tanh(W[j,K] x[t,K])\ny[t,j] = 2 R[t-1,j]",
    "two-steps": (
        "input x[t,k]\nG[t,j] = σ(W[j,I] h[t-1,I] + V[j,K] x[t,K])\nh[t,j] = G[t-1,j] h[t-1,j]"
    ),
    "cell-of-numbers": "h[t] = tanh(W h[t-1] + U x[t] + b)",
    "shifted-input": "input x[t,k]\nR[t,j] = W[j,K] x[t,K]\ny[t,j] = R[t,j] + V[j,K] x[t-1,K]",
    "shifted-parameter": "input w[t] in V\nparameter p[t,j]\ny[t,j] = e[w[t],j] + p[t-1,j]",
    "shifted-left": "input x[t,k]\ny[t+1,j] = W[j,K] x[t,K]",
    "shifted-sum": "input x[t]\ny = Σ_t x[t-1]^2",
    "given-subject": "input w[t] in V\nP(w_t | w_{t-1}, w_t) = softmax_{w_t} W[w_t,w_{t-1}]",
    "looks-ahead": (
        "input w[t] in V\nh[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])\n"
        "P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t,J]"
    ),
    "given-unused": (
        "input w[t] in V\nh[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t-1],j])\n"
        "P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J]"
    ),
}

STEPS = {
    "step": "input x[t]\ny = Σ_t (x[t] + 1)^2 = Σ_t x[t]^2 + 1",
    "not-tried": "range Δt = 0..100000000\ninput x[t]\ny[t] = W[ΔT] x[t-ΔT]",
    "step-start": "input x[t]\ny[t] = y[t-1] / 2 + x[t] = Σ_{i=0}^{t-1} x[t-i] / 2^i",
    "step-open": "input x[t]\ny[t] = 2 x[t] = z[t]",
}

WRITING = {
    "bracket": "input x[t]\ny[t] = tanh(x[t]",
    "syntax": "input x[t]\ny[t] = x[t] + * 2",
    "empty": "input x[t]\ny[t] = ()",
    "matrix-notation": "K = I",
    "claim": "input x[t]\nclaim x[0]",
    "claim-tolerance": "input x[t]\nclaim mean of x[t] ≈ 0",
    "derivative": "input x[t]\nclaim ∂(2 x[0])/∂x[t] = 2",
    "nesting": "input x[t]\ny = " + "(" * 400 + "x[0]" + ")" * 400,
}

LATEX = {
    "star-script": "$$h_t = \\tanh(U h*{t-1})$$",
    "command": "$$y[t] = \\unheardof{x[t]}$$",
    "exponent": "$$y[t] = x[t]^{a,b}$$",
    "prime": "$$y[t] = (x[t])^\\prime$$",
    "script": "$$y[t] = x_a_b[t]$$",
    "accent": "$$y[t] = \\tilde{2}$$",
    "macro-arguments": "\\newcommand{\\vv}[2]{#1 #2}\n\n$$y = \\vv$$",
    "macro-limit": "\\newcommand{\\vv}{\\vv \\vv}\n\n$$y = \\vv$$",
    "open-display": "$$y = 2\n\nText.",
    "rank": "Let $u$ be a vector.\n\n$$c = u^\\top u + u$$",
}

GROUPS = {
    "indices": INDICES,
    "sizes": SIZES,
    "names": NAMES,
    "functions": FUNCTIONS,
    "times": TIMES,
    "steps": STEPS,
    "writing": WRITING,
    "latex": LATEX,
}

ELSEWHERE = {
    "not-read": "a text of which nothing is read",
    "encoding": "a file that is no UTF-8",
    "file": "a file that cannot be read",
    "notebook": "a notebook that is no JSON",
    "input": "a file that another one inputs",
    "environment": "an environment that no expression can hold",
    "stacked": "a sign above a number",
    "no-name": "brackets after something that is no name",
    "no-equation": "a line of an `.eq` file that says nothing",
    "quoted-block": "a fenced block in a quotation",
    "words": "words in a formula: it is skipped",
    "size-mismatch": "vectors of two lengths",
    "outside": "a power of a matrix",
    "two-readings": "a name that may be a number or a vector",
    "label-guard": "a note about a guard",
    "length": "an equation of more signs than anybody writes",
}
"""Codes whose texts are tested with what gives them."""
