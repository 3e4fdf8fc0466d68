"""Weights of other implementations: GPT-2 with the names and conventions of Hugging Face."""

from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from modules import program

from indicial import IndicialError, library, load

J, K, D, L, V, T = 12, 3, 48, 2, 20, 9


def checkpoint() -> dict[str, torch.Tensor]:
    """Random weights, by the names and shapes of `transformers.GPT2LMHeadModel`."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return 0.3 * torch.randn(*shape, generator=generator, dtype=torch.float64)

    state = {"transformer.wte.weight": normal(V, J), "transformer.wpe.weight": normal(T, J)}
    for layer in range(L):
        h = f"transformer.h.{layer}."
        state |= {
            h + "ln_1.weight": 1 + normal(J), h + "ln_1.bias": normal(J),
            h + "attn.bias": torch.ones(1, 1, T, T).tril().bool(),  # the causal mask
            h + "attn.c_attn.weight": normal(J, 3 * J), h + "attn.c_attn.bias": normal(3 * J),
            h + "attn.c_proj.weight": normal(J, J), h + "attn.c_proj.bias": normal(J),
            h + "ln_2.weight": 1 + normal(J), h + "ln_2.bias": normal(J),
            h + "mlp.c_fc.weight": normal(J, D), h + "mlp.c_fc.bias": normal(D),
            h + "mlp.c_proj.weight": normal(D, J), h + "mlp.c_proj.bias": normal(J),
        }  # fmt: skip
    state |= {"transformer.ln_f.weight": 1 + normal(J), "transformer.ln_f.bias": normal(J)}
    return state | {"lm_head.weight": state["transformer.wte.weight"]}


def gelu_new(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gpt2(state: dict[str, torch.Tensor], w: torch.Tensor) -> torch.Tensor:
    """The logits, written as in `transformers`: weights are (in, out), c_attn holds q, k and v."""

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (J,), state[name + ".weight"], state[name + ".bias"], eps=1e-5)

    def conv1d(x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ state[name + ".weight"] + state[name + ".bias"]

    def heads(x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:2], K, J // K).transpose(1, 2)

    length = w.shape[1]
    x = state["transformer.wte.weight"][w] + state["transformer.wpe.weight"][:length]
    for layer in range(L):
        h = f"transformer.h.{layer}."
        query, key, value = conv1d(norm(x, h + "ln_1"), h + "attn.c_attn").split(J, dim=2)
        scores = heads(query) @ heads(key).transpose(-1, -2) / math.sqrt(J // K)
        scores = scores.masked_fill(~torch.ones(length, length).tril().bool(), -torch.inf)
        mixed = (scores.softmax(-1) @ heads(value)).transpose(1, 2).reshape(x.shape)
        x = x + conv1d(mixed, h + "attn.c_proj")
        x = x + conv1d(gelu_new(conv1d(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    return norm(x, "transformer.ln_f") @ state["lm_head.weight"].T


def test_gpt2_computes_what_its_checkpoint_means() -> None:
    state = checkpoint()
    module = program("gpt2").compile(J=J, K=K, I=J // K, D=D, L=L, V=V, T=T, dtype=torch.float64)
    unused = module.eval().load_mapped(state, library.weights("gpt2"))
    assert unused == ["transformer.h.0.attn.bias", "transformer.h.1.attn.bias", "lm_head.weight"]
    w = torch.randint(V, (2, 7), generator=torch.Generator().manual_seed(1))
    logits = gpt2(state, w)
    found = module(w, want=["P", "loss"])
    # P[t] is what is said about word t, after those before it.
    torch.testing.assert_close(found["P"][:, 1:], logits[:, :-1].softmax(-1))
    expected = F.cross_entropy(logits[:, :-1].flatten(0, 1), w[:, 1:].flatten())
    torch.testing.assert_close(found.loss, expected)


def test_every_parameter_has_its_line() -> None:
    named = re.findall(r"^(\S+?)\[", library.weights("gpt2"), re.MULTILINE)
    parameters = [t.name for t in program("gpt2").code.tensors.values() if t.role == "parameter"]
    assert sorted(named) == sorted(parameters)


SMALL = "input x[k]\ny[j] = W[j,K] x[K] - B[j]"


def test_terms_add_and_axes_are_cut() -> None:
    module = load(SMALL).compile(J=2, K=3)
    weight, one, two = torch.arange(12.0).view(3, 4), torch.arange(4.0), torch.ones(4)
    module.load_mapped(
        {"weight": weight, "one": one, "two": two},
        "W[j,k] <- weight[k,(1 of 2,j)]\nB[j] <- - one[(0 of 2,j)] + two[(1 of 2,j)]  # a remark",
    )
    assert torch.equal(module.parameter("W"), weight[:, 2:].T)
    assert module.parameter("B").tolist() == [1, 0]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("W[j,k] <- weight[j,k]", "the mapping says nothing about B"),
        ("V[j,k] <- weight[j,k]", "the program has no parameter V"),
        ("W[j] <- weight[j]", "line 1 of the mapping, W: W has 2 indices"),
        ("W[j,k] <- weight[j,i]", "weight does not have the indices j, k"),
        ("W[j,k] <- weight[k,j]", r"weight has the shape \(2, 3\), not \(3, 2\)"),
        ("\nW[j,k] <- heavy[j,k]", "line 2 of the mapping, W: the checkpoint has no heavy"),
        ("W[j,k] <- bias[j,k]", "the checkpoint has several bias"),
        ("W[j,k] <- ", "line 1 of the mapping is no"),
    ],
)
def test_mappings_that_do_not_fit(mapping: str, message: str) -> None:
    module = load(SMALL).compile(J=2, K=3)
    state = {"weight": torch.ones(2, 3), "a.bias": torch.ones(2, 3), "b.bias": torch.ones(2, 3)}
    with pytest.raises(IndicialError, match=message):
        module.load_mapped(state, mapping)
