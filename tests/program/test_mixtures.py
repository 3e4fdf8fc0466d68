"""`P(w_t | …)` as any distribution: a mixture of what is copied and what is made."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import indicial

TEXT = """
input w[t] in V
h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] e[w[t-1],K])
a[t,s] = softmax_{s < t} h[t,J] h[s,J]
c[t] = [t > 0] σ(u[J] h[t,J])
P(w[t] | w[0], …, w[t-1]) = (1 - c[t]) (softmax_{w_t} o[w_t,J] h[t,J]) + c[t] Σ_s a[t,s] [w[s] = w_t]
loss = 1/T Σ_t -ln P(w_t | …)
"""


def by_hand(w: torch.Tensor, p: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    state = torch.zeros(len(w), p["W"].shape[0], dtype=p["W"].dtype)
    states: list[torch.Tensor] = []
    rows = []
    for t in range(w.shape[1]):
        read = p["e"][w[:, t - 1]] if t else torch.zeros(len(w), p["e"].shape[1], dtype=state.dtype)
        state = torch.tanh(state @ p["W"].T + read @ p["U"].T)
        made = (state @ p["o"].T).softmax(-1)
        if t:
            looks = torch.stack([(state * s).sum(-1) for s in states], -1).softmax(-1)
            copied = torch.zeros_like(made).scatter_add(1, w[:, :t], looks)
            share = torch.sigmoid(state @ p["u"])[:, None]
            made = (1 - share) * made + share * copied
        states.append(state)
        rows.append(made)
    whole = torch.stack(rows, 1)
    chosen = whole.gather(-1, w[..., None])[..., 0]
    return {"P": whole, "loss": -chosen.log().mean()}


def test_copying_beside_making_is_as_by_hand() -> None:
    program = indicial.load(TEXT)
    assert not program.mistakes
    report = indicial.same(program, by_hand, trials=1)
    assert report, str(report)


def test_it_is_found_word_by_word_too() -> None:
    module = indicial.load(TEXT).compile(J=3, K=2, V=5).double().eval()
    w = torch.tensor([[1, 4, 1, 0, 2]])
    whole = module(w=w, want=["P"])["P"]
    np.testing.assert_allclose(whole.sum(-1).detach(), 1.0)
    state = module.begin(want=["P"])
    said = [state.out["P"].reshape(5)]
    for t in range(4):
        state, found = module.step(state, w=w[0, t])
        said.append(found["P"])
    np.testing.assert_allclose(torch.stack(said).detach(), whole[0].detach(), atol=1e-12)


@pytest.mark.parametrize(
    ("right", "severity", "total"),
    [
        ("g[t] (softmax_{w_t} A[w_t]) + 2 (1 - g[t]) softmax_{w_t} C[w_t]", "error", "1."),
        ("σ(A[w_t])", "error", "1."),
        ("1/2 softmax_{w_t} A[w_t]", "warning", "0.5 over all"),
        ("g[t] softmax_{w_t} A[w_t] + (1 - g[t]) softmax_{w_t} C[w_t]", "warning", "a softmax reaches"),
    ],
)  # fmt: skip
def test_what_does_not_add_up_is_told(right: str, severity: str, total: str) -> None:
    program = indicial.load(
        f"input w[t] in V\ng[t] = σ(G[w[t-1]])\nP(w[t] | w[0], …, w[t-1]) = {right}\nloss = 1/T Σ_t -ln P(w_t | …)"
    )
    found = [m for m in program.mistakes if m.code == "no-distribution"]
    assert [m.severity for m in found] == [severity]
    assert total in " ".join(found[0].render().split())


@pytest.mark.parametrize(
    "right",
    [
        "g[t] (softmax_{w_t} A[w_t]) + (1 - g[t]) softmax_{w_t} C[w_t]",
        "exp(A[w_t]) / Σ_v exp(A[v])",
        "[w_t = 0]",
    ],
)
def test_what_adds_up_is_not(right: str) -> None:
    text = f"input w[t] in V\ng[t] = σ(G[w[t-1]])\nP(w[t] | w[0], …, w[t-1]) = {right}\ny[t] = g[t]"
    assert not [m for m in indicial.load(text).mistakes if m.code == "no-distribution"]
