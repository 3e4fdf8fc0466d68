"""Attention as its papers write it, beside PyTorch."""

from __future__ import annotations

import torch
from paper import agree, read
from torch.nn.functional import relu, scaled_dot_product_attention, silu

from indicial.claims.same import Named

Tensor = torch.Tensor
σ, tanh, softmax = torch.sigmoid, torch.tanh, torch.softmax


def test_bahdanau() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        h, y = v["h"], v["y"]
        state = torch.zeros(len(v["U"]), dtype=torch.float64)
        embedded = torch.cat([torch.zeros_like(y[:1]), y[:-1]]) @ v["E"].T
        states, weights = [], []
        for e in embedded:
            scores = tanh(v["W_a"] @ state + h @ v["U_a"].T) @ v["v_a"]
            α = softmax(scores, 0)
            c = α @ h
            z, r = (σ(v[f"W_{g}"] @ e + v[f"U_{g}"] @ state + v[f"C_{g}"] @ c) for g in "zr")
            new = tanh(v["W"] @ e + v["U"] @ (r * state) + v["C"] @ c)
            state = (1 - z) * state + z * new
            states.append(state)
            weights.append(α)
        return {"s": torch.stack(states), "α": torch.stack(weights)}

    agree(read("bahdanau"), reference)


def test_vaswani() -> None:
    agree(
        read("vaswani"),
        lambda v: {"Attention": scaled_dot_product_attention(v["Q"], v["K"], v["V"])},
    )


def test_self_attention() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        q, k, value = (v["X"] @ v[f"W_{m}"] for m in "QKV")
        return {"Attention": scaled_dot_product_attention(q, k, value)}

    agree(read("self_attention"), reference)


def test_multi_head_attention() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        heads = [
            scaled_dot_product_attention(v["Q"] @ q, v["K"] @ k, v["V"] @ value)
            for q, k, value in zip(v["W^Q"], v["W^K"], v["W^V"], strict=True)
        ]
        return {"MultiHead": torch.cat(heads, 1) @ v["W^O"]}

    agree(read("multihead"), reference)


def test_attention_that_is_only_named() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        parts = zip(v["W^Q"], v["W^K"], v["W^V"], strict=True)
        heads = [
            scaled_dot_product_attention(v["Q"] @ q, v["K"] @ k, v["V"] @ value)
            for q, k, value in parts
        ]
        return {"head": torch.stack(heads)}

    agree(read("heads"), reference)


def test_infonce() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        z = v["z"] / v["z"].norm(dim=1, keepdim=True)
        scores = z @ z.T / v["τ"]
        others = scores.masked_fill(torch.eye(len(z), dtype=torch.bool), -torch.inf)
        return {"ℓ": others.logsumexp(1)[:, None] - scores}

    agree(read("infonce"), reference)


def test_feed_forward() -> None:
    agree(
        read("ffn"),
        lambda v: {"FFN": relu(v["x"] @ v["W_1"] + v["b_1"]) @ v["W_2"] + v["b_2"]},
    )


def test_gehring_attention() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        d = v["h"] @ v["W_d"].mT + v["b_d"][:, None] + v["g"]  # for every layer l
        a = softmax(d @ v["z^u"].T, 2)
        return {"a": a, "c": a @ (v["z^u"] + v["e"])}

    agree(read("gehring_attention"), reference)


def test_shaw() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        x = v["x"]
        key = (x @ v["W^K"])[None] + v["a^K"]
        e = ((x @ v["W^Q"])[:, None] * key).sum(2) / v["W^V"].shape[1] ** 0.5
        value = (x @ v["W^V"])[None] + v["a^V"]
        return {"e": e, "z": (softmax(e, 1)[:, :, None] * value).sum(1)}

    agree(read("shaw"), reference)


def test_transformer_xl() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        e = v["E"][v["x"].long()]
        length = len(e)
        far = torch.arange(length)[:, None] - torch.arange(length)[None] + length - 1
        keys, places = e @ v["W_{k,E}"].T, v["R"] @ v["W_{k,R}"].T
        query = e @ v["W_q"].T
        return {
            "A^{rel}": query @ keys.T + (query[:, None] * places[far]).sum(2)
            + (keys @ v["u"])[None] + (places @ v["v"])[far]
        }  # fmt: skip

    agree(read("transformer_xl"), reference)


def test_retention_step_by_step() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        state, found = torch.zeros(v["K"].shape[2], v["V"].shape[2], dtype=torch.float64), []
        for k, value in zip(v["K"], v["V"], strict=True):
            state = v["γ"] * state + k.T @ value
            found.append(state)
        return {"S": torch.stack(found)}

    agree(read("retnet_recurrent"), reference)


def test_linear_attention() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        q, k = (torch.nn.functional.elu(v[m]) + 1 for m in "QK")
        weights = (q @ k.T).tril()
        return {"V'": weights @ v["V"] / weights.sum(1, keepdim=True)}

    agree(read("katharopoulos"), reference)


def test_cross_attention() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        q, k, value = v["Z"] @ v["W_Q"], v["X"] @ v["W_K"], v["X"] @ v["W_V"]
        return {"Z'": v["Z"] + scaled_dot_product_attention(q, k, value) @ v["W_O"]}

    agree(read("perceiver"), reference)


def test_gcn() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        a = v["\\hat A"]
        return {"Z": softmax(a @ relu(a @ v["X"] @ v["W^{(0)}"]) @ v["W^{(1)}"], 1)}

    agree(read("gcn"), reference)


def test_swiglu() -> None:
    agree(
        read("swiglu"),
        lambda v: {"FFN_{SwiGLU}": (silu(v["x"] @ v["W"]) * (v["x"] @ v["V"])) @ v["W_2"]},
    )


def test_retention_in_parallel() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        q, k, value = (v["X"] @ v[f"W_{m}"] for m in "QKV")
        far = torch.arange(len(q))[:, None] - torch.arange(len(q))[None]
        decay = torch.where(far >= 0, v["γ"] ** far.clamp(min=0), 0.0)
        return {"Retention": (q @ k.T * decay) @ value}

    agree(read("retnet_plain"), reference, positive=("γ",))


def test_a_mask_by_its_elements() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        return {"A": scaled_dot_product_attention(v["Q"], v["K"], v["V"], is_causal=True)}

    agree(read("mask"), reference, gradients=False, I=4, J=4)
