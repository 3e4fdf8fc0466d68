"""Equations of recent papers in brackets, beside PyTorch that was written without looking at them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from indicial.library.loading import load

T, I, J, D, K = 5, 3, 4, 3, 2  # noqa: E741
RNG = torch.Generator().manual_seed(0)
CAUSAL = torch.ones(T, T).tril().bool()
BACK = (torch.arange(T)[:, None] - torch.arange(T)).double()


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=RNG, dtype=torch.float64)


def delta(q: Tensor, k: Tensor, v: Tensor, b: Tensor) -> Tensor:
    state, out = torch.zeros(I, J, dtype=torch.float64), []
    for t in range(T):
        state = state + b[t] * torch.outer(k[t], v[t] - k[t] @ state)
        out.append(q[t] @ state)
    return torch.stack(out)


def mlstm(q: Tensor, k: Tensor, v: Tensor, g: Tensor, f: Tensor) -> Tensor:
    c, n = torch.zeros(J, I, dtype=torch.float64), torch.zeros(I, dtype=torch.float64)
    m, out = torch.zeros((), dtype=torch.float64), []
    for t in range(T):
        kept = F.logsigmoid(f[t])
        top = torch.maximum(kept + m, g[t])
        a, b, m = torch.exp(kept + m - top), torch.exp(g[t] - top), top
        c, n = a * c + b * torch.outer(v[t], k[t]), a * n + b * k[t]
        out.append(c @ q[t] / torch.maximum((n @ q[t]).abs(), torch.exp(-m)))
    return torch.stack(out)


def wkv(k: Tensor, v: Tensor, w: Tensor, u: Tensor) -> Tensor:
    out = []
    for t in range(T):
        ages = torch.arange(t - 1, -1, -1, dtype=torch.float64)[:, None]
        weights = torch.cat([torch.exp(-ages * w + k[:t]), torch.exp(u + k[t])[None]])
        out.append((weights * v[: t + 1]).sum(0) / weights.sum(0))
    return torch.stack(out)


QKV = "input q[t,i], k[t,i], v[t,j]\n"
CASES: dict[str, tuple[str, dict[str, Tensor], Callable[..., Tensor]]] = {
    "delta rule": (
        QKV + "input b[t]\n"
        "S[t,i,j] = S[t-1,i,j] - b[t] k[t,i] k[t,I] S[t-1,I,j] + b[t] k[t,i] v[t,j]\n"
        "y[t,j] = q[t,I] S[t,I,j]",
        {"q": draw(T, I), "k": draw(T, I), "v": draw(T, J), "b": draw(T).sigmoid()},
        delta,
    ),
    "mLSTM": (
        QKV + "input g[t], f[t]\n"
        "m[t] = max(ln σ(f[t]) + m[t-1], g[t])\na[t] = exp(ln σ(f[t]) + m[t-1] - m[t])\n"
        "b[t] = exp(g[t] - m[t])\nC[t,j,i] = a[t] C[t-1,j,i] + b[t] v[t,j] k[t,i]\n"
        "n[t,i] = a[t] n[t-1,i] + b[t] k[t,i]\n"
        "y[t,j] = C[t,j,I] q[t,I] / max(|n[t,I] q[t,I]|, exp(-m[t]))",
        {"q": draw(T, I), "k": draw(T, I), "v": draw(T, J), "g": draw(T), "f": draw(T)},
        mlstm,
    ),
    "SwiGLU": (
        "input x[t,k]\na[t,d] = U[d,K] x[t,K]\n"
        "y[t,j] = W[j,D] (a[t,D] σ(a[t,D]) ⊙ (V[D,K] x[t,K]))",
        {"x": draw(T, K), "U": draw(D, K), "W": draw(J, D), "V": draw(D, K)},
        lambda x, U, W, V: (F.silu(x @ U.T) * (x @ V.T)) @ W.T,
    ),
    "SwiGLU, grouped": (
        "input x[t,k]\na[t,d] = U[d,K] x[t,K]\n"
        "y[t,j] = W[j,D] ((a[t,D] σ(a[t,D])) ⊙ V[D,K] x[t,K])",
        {"x": draw(T, K), "U": draw(D, K), "W": draw(J, D), "V": draw(D, K)},
        lambda x, U, W, V: (F.silu(x @ U.T) * (x @ V.T)) @ W.T,
    ),
    "bilinear": (
        "input x[t,k]\ny[t,d] = W[d,K] x[t,K] ⊙ V[d,K] x[t,K]",
        {"x": draw(T, K), "W": draw(D, K), "V": draw(D, K)},
        lambda x, W, V: (x @ W.T) * (x @ V.T),
    ),
    "experts": (
        "input x[t,k]\ng[t,e] = softmax_e R[e,K] x[t,K]\n"
        "y[t,j] = g[t,E] W[E,j,D] ReLU(U[E,D,K] x[t,K])",
        {"x": draw(T, K), "R": draw(3, K), "W": draw(3, J, D), "U": draw(3, D, K)},
        lambda x, R, W, U: torch.einsum(
            "te,ejd,ted->tj", (x @ R.T).softmax(-1), W, torch.relu(torch.einsum("edk,tk->ted", U, x))
        ),
    ),
    "ALiBi": (
        QKV + "α[t,s] = softmax_{s ≤ t} (1/√I q[t,I] k[s,I] - m (t - s))\ny[t,j] = α[t,S] v[S,j]",
        {"q": draw(T, I), "k": draw(T, I), "v": draw(T, J), "m": draw().abs()},
        lambda q, k, v, m: (
            (q @ k.T / I**0.5 - m * BACK).masked_fill(~CAUSAL, -torch.inf).softmax(-1) @ v
        ),
    ),
    "a Gaussian of the distance": (
        QKV + "α[t,s] = softmax_s -m (t - s)^2\ny[t,j] = α[t,S] v[S,j] + 0 q[t,I] k[t,I]",
        {"q": draw(T, I), "k": draw(T, I), "v": draw(T, J), "m": draw().abs()},
        lambda q, k, v, m: (-m * BACK**2).softmax(-1) @ v,
    ),
    "WKV": (
        "input k[t,d], v[t,d]\n"
        "y[t,d] = (Σ_{s < t} exp(-(t-1-s) w[d] + k[s,d]) v[s,d] + exp(u[d] + k[t,d]) v[t,d])"
        " / (Σ_{s < t} exp(-(t-1-s) w[d] + k[s,d]) + exp(u[d] + k[t,d]))",
        {"k": draw(T, D), "v": draw(T, D), "w": draw(D).abs(), "u": draw(D)},
        wkv,
    ),
    "InfoNCE": (
        "input a[n,i], b[n,i]\ns[n,m] = a[n,I] b[m,I] / c\n"
        "y = -1/N Σ_n ln(exp(s[n,n]) / Σ_m exp(s[n,m]))",
        {"a": draw(T, I), "b": draw(T, I), "c": torch.tensor(0.001, dtype=torch.float64)},
        lambda a, b, c: F.cross_entropy(a @ b.T / c, torch.arange(T)),
    ),
    "Hopfield energy": (
        "input r[i]\ny = -1/b ln Σ_n exp(b x[n,I] r[I]) + 1/2 r[I] r[I]",
        {"r": draw(I), "b": torch.tensor(900.0, dtype=torch.float64), "x": draw(4, I)},
        lambda r, b, x: -(b * x @ r).logsumexp(0) / b + r @ r / 2,
    ),
    "queries and keys of length 1": (
        QKV + "α[t,s] = softmax_s g q[t,I] k[s,I] / (‖q[t,I]‖ ‖k[s,I]‖)\ny[t,j] = α[t,S] v[S,j]",
        {"q": draw(T, I), "k": draw(T, I), "v": draw(T, J), "g": draw()},
        lambda q, k, v, g: (g * F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).T).softmax(-1) @ v,
    ),
    "LoRA": (
        "input x[t,k]\ny[t,j] = (W[j,K] + a/R B[j,R] A[R,K]) x[t,K]",
        {"x": draw(T, K), "W": draw(J, K), "a": draw(), "B": draw(J, 3), "A": draw(3, K)},
        lambda x, W, a, B, A: x @ (W + a / 3 * B @ A).T,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_read_as_meant(name: str) -> None:
    text, values, oracle = CASES[name]
    program = load(text)
    assert not program.errors
    roles = {n: t.role for n, t in program.code.tensors.items()}
    assert {n for n, role in roles.items() if role != "defined"} == set(values)
    given = {n: v.numpy() for n, v in values.items()}
    inputs = {n: v for n, v in given.items() if roles[n] == "input"}
    parameters = {n: v for n, v in given.items() if roles[n] == "parameter"}
    found = program.interpret(inputs, parameters)["y"]
    np.testing.assert_allclose(found, oracle(**values).numpy(), rtol=1e-9, atol=1e-12)
