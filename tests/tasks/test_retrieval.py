"""Retrieval: taken apart into rows and what compares them, it computes what the program says."""

from __future__ import annotations

import pytest
import torch

from indicial.library.loading import load
from indicial.tasks.forms import Retrieving, candidates, form_of
from indicial.tasks.predictions import prediction
from indicial.tasks.programs import trainable

BAGS = """
input q[t] in V
input d[n,s] in U
input n in N
f[j] = mean_t e[q[t],j]
g[n,j] = tanh(mean_s a[d[n,s],j] + p[j])
P(n | q) = softmax_n c f[J] g[n,J] - b
loss = -ln P(n | q)
"""
LAST = """
input q[t] in V
input d[n,s] in U
input n in N
h[t,j] = tanh(W[j,I] h[t-1,I] + e[q[t],j])
k[n,s,j] = tanh(W'[j,I] k[n,s-1,I] + a[d[n,s],j])
P(n | q) = softmax_n h[T-1,J] k[n,S-1,J]
loss = -ln P(n | q)
"""

LAYERS = """
input q[t] in V
input d[n,s] in U
input n in N
size L = 2
f[j] = mean_t e[q[t],j]
g_0[n,s,j] = a[d[n,s],j]
g_{ℓ+1}[n,s,j] = tanh(W_{ℓ+1}[j,I] g_ℓ[n,s,I] + mean_{s'} g_ℓ[n,s',j])
k[n,j] = mean_s g_L[n,s,j]
P(n | q) = softmax_n f[J] k[n,J]
loss = -ln P(n | q)
"""
MASKS = """
input q[t] in V
input d[n,s] in U
input n in N
early[t] = 1/(1 + t)
late[s] = 1 - exp(-s)
f[j] = Σ_t early[t] e[q[t],j]
g[n,j] = Σ_s late[s] a[d[n,s],j]
P(n | q) = softmax_n f[J] g[n,J]
loss = -ln P(n | q)
"""


@pytest.mark.parametrize("text", [BAGS, LAST, LAYERS, MASKS])
def test_the_parts_give_what_the_program_says(text: str) -> None:
    torch.manual_seed(0)
    program = load(text)
    module = program.compile(V=6, U=5, J=4, dtype=torch.float64)
    found = candidates(program.code, prediction(program.code))
    assert found is not None
    q, d = torch.randint(6, (3, 4)), torch.randint(5, (3, 5))
    parts = Retrieving(module, found)({"q": q, "d": d}, {}, ["P", "loss"])
    parts["loss"].backward()
    slopes = {name: p.grad.clone() for name, p in module.named_parameters()}  # type: ignore[union-attr]
    module.zero_grad()
    whole = module(q=q, d=d, n=torch.arange(3), want=["P", "loss"])
    whole["loss"].backward()
    torch.testing.assert_close(parts["P"], whole["P"])
    torch.testing.assert_close(parts["loss"], whole["loss"])
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(slopes[name], parameter.grad)


@pytest.mark.parametrize(("text", "asks", "answers"), [(BAGS, "f", "g"), (LAST, "h", "k")])
def test_each_row_has_its_own_lengths(text: str, asks: str, answers: str) -> None:
    torch.manual_seed(0)
    program = load(text)
    module = program.compile(V=6, U=5, J=4, dtype=torch.float64)
    found = candidates(program.code, prediction(program.code))
    assert found is not None
    q, d = torch.randint(6, (3, 4)), torch.randint(5, (3, 5))
    lengths = {"T": torch.tensor([4, 2, 3]), "S": torch.tensor([1, 5, 3])}
    P = Retrieving(module, found)({"q": q, "d": d}, lengths, ["P"])["P"]
    vectors = []
    for row in range(3):  # each text alone, without padding
        one = q[row, : lengths["T"][row]], d[row, : lengths["S"][row]]
        alone = module(q=one[0], d=one[1][None], n=torch.tensor(0), want=[asks, answers])
        question, answer = alone[asks], alone[answers][0]
        vectors.append((question, answer) if text == BAGS else (question[-1], answer[-1]))
    scale = module.parameter("c") if text == BAGS else 1
    scores = torch.stack([scale * torch.stack([f @ g for _, g in vectors]) for f, _ in vectors])
    torch.testing.assert_close(P, scores.softmax(-1))


def test_the_form() -> None:
    found = trainable([BAGS.replace("loss = -ln P(n | q)\n", "")])
    form = form_of(found.program)
    assert found.task == "columns" and form.kind == "choice"
    assert form.says == "which d belongs to q, of those of a batch: retrieval"
    assert [(slot.name, slot.kind, slot.length) for slot in form.slots] == [
        ("q", "text", "T"),
        ("d", "text", "S"),
    ]
