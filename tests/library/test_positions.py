"""Transformers that tell positions otherwise, and what takes the place of attention: against PyTorch by hand."""

import math

import pytest
import torch
from torch.nn.functional import layer_norm

from indicial import load

SIZES = {"V": 7, "J": 6, "K": 2, "I": 3, "L": 2, "D": 5}
T = 5


def by_hand(name: str, p: dict[str, torch.Tensor], w: torch.Tensor) -> torch.Tensor:
    """P[t,·] of one text, layer after layer."""
    J = SIZES["J"]
    words = torch.cat([torch.zeros(1, J, dtype=p["e"].dtype), p["e"][w[:-1]]])
    if name == "transformer_joined":
        L = torch.cat([words, p["pos"]], 1) @ p["W^E"].T
    else:
        L = words + p["pos"] if "pos" in p else words
    seen = torch.ones(T, T).tril().bool()
    for n in range(SIZES["L"]):
        N = layer_norm(L, (J,))
        heads = []
        for k in range(SIZES["K"]):
            scores = _scores(name, p, n, k, N) / math.sqrt(SIZES["I"])
            weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
            heads.append(weights @ N @ p["W^V"][n, k].T)
        A = L + torch.cat(heads, 1) @ p["W^O"][n].T
        F = (layer_norm(A, (J,)) @ p["W^1"][n].T - p["B^1"][n]).relu()
        L = A + F @ p["W^2"][n].T - p["B^2"][n]
    out = p["e"] @ p["W^P"] if "W^P" in p else p["e"]
    return (layer_norm(L, (J,)) @ out.T).softmax(-1)


def _scores(name: str, p: dict[str, torch.Tensor], n: int, k: int, N: torch.Tensor) -> torch.Tensor:
    t = torch.arange(T)
    if name == "random_synthesizer":
        return p["R"][n, k] * math.sqrt(SIZES["I"])
    if name == "transformer_rotary":
        turn = 1j * t[:, None] / 10000 ** (torch.arange(SIZES["I"]) / SIZES["I"])
        q, key = (
            torch.complex(N @ p[f"U^{x}"][n, k].T, N @ p[f"V^{x}"][n, k].T) * turn.exp()
            for x in "QK"
        )
        return (q @ key.conj().T).real / math.sqrt(2)
    found = (N @ p["W^Q"][n, k].T) @ (N @ p["W^K"][n, k].T).T
    if name == "transformer_relative":
        distance = (t[:, None] - t[None, :]).clamp(min=0)
        found = found + p["r"][n, k][distance] * math.sqrt(SIZES["I"])
    return found


@pytest.mark.parametrize(
    "name",
    ["transformer", "transformer_joined", "transformer_relative", "transformer_rotary",
     "transformer_bilinear", "random_synthesizer"],
)  # fmt: skip
def test_as_by_hand(name: str) -> None:
    torch.manual_seed(0)
    program = load(name)
    sizes = {**SIZES, "T": T}
    module = program.compile(sizes=sizes, dtype=torch.float64)
    for value in module.parameters():
        torch.nn.init.normal_(value)
    w = torch.randint(SIZES["V"], (T,))
    given = {n: module.parameter(n).detach() for n in module.state_keys}
    torch.testing.assert_close(module(w=w, want=["P"])["P"], by_hand(name, given, w))


def test_rotary_weights_depend_on_distances_only() -> None:
    """The same words again, three places later, have the same weights among themselves."""
    torch.manual_seed(0)
    module = load("transformer_rotary").compile(sizes={**SIZES, "L": 1}, dtype=torch.float64)
    w = torch.tensor([1, 2, 3, 1, 2, 3])
    weights = module(w=w, want=["α"])["α"][0]  # L_0[t] is the word before t
    early = weights[:, 2, 1] / weights[:, 2, 2]
    late = weights[:, 5, 4] / weights[:, 5, 5]
    torch.testing.assert_close(early, late)
