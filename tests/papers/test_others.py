"""Norms, optimisers, schedules and losses as their papers write them."""

from __future__ import annotations

import torch
from paper import agree, read

from indicial.claims.same import Named

Tensor = torch.Tensor


def test_adam_begins_at_one() -> None:
    """At t = 0 its corrections would divide by 0."""

    def reference(v: Named) -> dict[str, Tensor]:
        one, two = v["β_1"], v["β_2"]
        m = second = θ = torch.tensor(0.0, dtype=torch.float64)
        found = []
        for t, g in enumerate(v["∂f/∂θ"], 1):
            m, second = one * m + (1 - one) * g, two * second + (1 - two) * g**2
            θ = θ - v["α"] * (m / (1 - one**t)) / ((second / (1 - two**t)).sqrt() + v["ε"])
            found.append(θ)
        return {"θ": torch.stack(found)}

    shares = {"β_1": torch.tensor(0.9), "β_2": torch.tensor(0.99), "ε": torch.tensor(0.1)}
    given = {name: value.double() for name, value in shares.items()}
    agree(read("adam"), reference, given=given)


def test_rmsnorm() -> None:
    agree(
        read("rmsnorm"),
        lambda v: {"\\bar a": v["a"] / (v["a"] ** 2).mean().sqrt() * v["g"]},
    )


def test_layernorm() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        return {"μ": v["a"].mean(-1), "σ": v["a"].std(-1, correction=0)}  # a[l,i]

    agree(read("layernorm"), reference)


def test_batchnorm() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        x = v["x"]
        scaled = (x - x.mean()) / (x.var(correction=0) + v["ε"]).sqrt()
        return {"\\hat x": scaled, "y": v["γ"] * scaled + v["β"]}

    agree(read("batchnorm"), reference, positive=("ε",))


def test_the_forward_process_of_a_diffusion() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        kept = torch.cumprod(1 - v["β"], 0)[:, None]
        return {"x": kept.sqrt() * v["x_0"] + (1 - kept).sqrt() * v["ε"]}

    agree(
        read("ddpm_schedule"), reference, given={"β": torch.tensor([0.1, 0.3, 0.2]).double()}, T=3
    )


def test_cosine_schedule() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        low, high = v["η_{min}"], v["η_{max}"]
        part = torch.cos(v["T_{cur}"] / v["T_i"] * torch.pi)
        return {"η_t": low + (high - low) * (1 + part) / 2}

    agree(read("cosine"), reference)


def test_weight_normalisation_leaves_a_function_open() -> None:
    program = read("weightnorm")
    assert not program.mistakes
    assert program.holes == ["φ"]


def test_the_forward_scores_of_a_crf() -> None:
    """`\\log Z = …` defines no name, and takes nothing else with it."""

    def reference(v: Named) -> dict[str, Tensor]:
        α = [v["P"][0]]
        for scores in v["P"][1:]:
            α.append(scores + torch.logsumexp(α[-1][:, None] + v["A"], 0))
        return {"α": torch.stack(α)}

    agree(read("crf_forward"), reference)
