"""Recurrent cells as their papers write them, beside loops over time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from paper import agree, read
from torch import nn

from indicial.claims.same import Named

Tensor = torch.Tensor
Step = Callable[[Named, Tensor, dict[str, Tensor]], dict[str, Tensor]]
σ, tanh = torch.sigmoid, torch.tanh


def over_time(v: Named, inputs: Tensor, step: Step, **start: Tensor) -> dict[str, Tensor]:
    """All steps from a start at 0: what each of them gives, by name."""
    state, found = start, []
    for x in inputs:
        state = step(v, x, state)
        found.append(state)
    return {name: torch.stack([s[name] for s in found]) for name in found[0]}


def zeros(*like: Tensor) -> Tensor:
    return torch.zeros([len(a) for a in like], dtype=torch.float64)


def test_elman() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        h = tanh(v["W_{xh}"] @ x + v["W_{hh}"] @ s["h"] + v["b_h"])
        return {"h": h, "y": σ(v["W_{hy}"] @ h + v["b_y"])}

    agree(read("elman"), lambda v: over_time(v, v["x"], step, h=zeros(v["b_h"])))


def test_goodfellow() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        a = v["b"] + v["W"] @ s["h"] + v["U"] @ x
        h = tanh(a)
        o = v["c"] + v["V"] @ h
        return {"a": a, "h": h, "o": o, "\\hat{y}": torch.softmax(o, 0)}

    agree(read("goodfellow"), lambda v: over_time(v, v["x"], step, h=zeros(v["b"])))


def test_graves_with_peepholes() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        h, c = s["h"], s["c"]
        i = σ(v["W_{xi}"] @ x + v["W_{hi}"] @ h + v["W_{ci}"] @ c + v["b_i"])
        f = σ(v["W_{xf}"] @ x + v["W_{hf}"] @ h + v["W_{cf}"] @ c + v["b_f"])
        c = f * c + i * tanh(v["W_{xc}"] @ x + v["W_{hc}"] @ h + v["b_c"])
        o = σ(v["W_{xo}"] @ x + v["W_{ho}"] @ h + v["W_{co}"] @ c + v["b_o"])
        return {"c": c, "h": o * tanh(c), "i": i, "o": o}

    agree(
        read("graves"),
        lambda v: over_time(v, v["x"], step, h=zeros(v["b_i"]), c=zeros(v["b_i"])),
    )


def test_lstm_of_a_joined_vector() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        z = torch.cat([s["h"], x])
        f, i, o = (σ(v[f"W_{g}"] @ z + v[f"b_{g}"]) for g in "fio")
        c = f * s["c"] + i * tanh(v["W_c"] @ z + v["b_c"])
        return {"c": c, "h": o * tanh(c)}

    agree(read("lstm"), lambda v: over_time(v, v["x"], step, h=zeros(v["b_f"]), c=zeros(v["b_f"])))


def test_the_lstm_of_pytorch() -> None:
    """As its page writes it, with the weights of `nn.LSTM` itself."""
    program = read("torch_lstm")
    torch.manual_seed(0)
    size = {t.name: [str(a.extent) for a in t.axes] for t in program.code.tensors.values()}
    hidden, inputs = size["h"][1], size["x"][1]
    lstm = nn.LSTM(3, 4, batch_first=True).double()
    held = {
        f"{kind}_{{{side}{gate}}}": getattr(lstm, f"{long}_{side}h_l0".replace("ih_l0", "ih_l0"))
        .detach()
        .chunk(4)[number]
        for number, gate in enumerate("ifgo")
        for kind, long in (("W", "weight"), ("b", "bias"))
        for side in "ih"
    }
    module = program.compile(
        sizes={hidden: 4, inputs: 3},
        start={program.name(n): value for n, value in held.items()},
        dtype=torch.float64,
    )
    x = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    theirs, (_, last) = lstm(x)
    ours = module(x=x, want=["h", "c"])
    assert torch.allclose(ours["h"], theirs, atol=1e-12)
    assert torch.allclose(ours["c"][:, -1], last[0], atol=1e-12)
    direction = torch.randn_like(theirs)
    (mine,) = torch.autograd.grad((ours["h"] * direction).sum(), x, retain_graph=True)
    (other,) = torch.autograd.grad((theirs * direction).sum(), x, retain_graph=True)
    assert torch.allclose(mine, other, atol=1e-12)
    (ours["h"] * direction).sum().backward()
    (theirs * direction).sum().backward()
    for number, gate in enumerate("ifgo"):
        grad = module.parameter(program.name(f"W_{{h{gate}}}")).grad
        assert torch.allclose(grad, lstm.weight_hh_l0.grad.chunk(4)[number], atol=1e-12)


def test_the_lstm_of_a_textbook_in_rows() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        def gate(g: str) -> Tensor:
            return x @ v[f"W_{{x{g}}}"] + s["H"] @ v[f"W_{{h{g}}}"] + v[f"b_{g}"]

        c = σ(gate("f")) * s["C"] + σ(gate("i")) * tanh(gate("c"))
        return {"C": c, "H": σ(gate("o")) * tanh(c)}

    def reference(v: Named) -> dict[str, Tensor]:
        start = torch.zeros(v["X"].shape[1], len(v["b_i"]), dtype=torch.float64)
        return over_time(v, v["X"], step, H=start, C=start)

    agree(read("textbook_lstm"), reference)


def test_gru() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        h = s["h"]
        z, r = (σ(v[f"W_{g}"] @ x + v[f"U_{g}"] @ h + v[f"b_{g}"]) for g in "zr")
        new = tanh(v["W_h"] @ x + v["U_h"] @ (r * h) + v["b_h"])
        return {"h": (1 - z) * h + z * new}

    agree(read("gru"), lambda v: over_time(v, v["x"], step, h=zeros(v["b_z"])))


def test_chung() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        h = s["h"]
        z, r = (σ(v[f"W_{g}"] @ x + v[f"U_{g}"] @ h) for g in "zr")
        return {"h": (1 - z) * h + z * tanh(v["W"] @ x + v["U"] @ (r * h)), "r": r}

    agree(read("chung"), lambda v: over_time(v, v["x"], step, h=zeros(v["W_z"])))


def test_cho() -> None:
    """The paper writes no time at x: one x for all steps."""

    def step(v: Named, _: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        h, x = s["h"], v["x"]
        z, r = (σ(v[f"W_{g}"] @ x + v[f"U_{g}"] @ h) for g in "zr")
        return {"h": z * h + (1 - z) * tanh(v["W"] @ x + v["U"] @ (r * h))}

    agree(
        read("cho"),
        lambda v: over_time(v, torch.zeros(4), step, h=zeros(v["W_z"])),
        T=4,
        gradients=False,
    )


def test_slstm() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        def part(g: str) -> Tensor:
            return v[f"w_{g}"] @ x + v[f"r_{g}"] * s["h"] + v[f"b_{g}"]

        f, i = σ(part("f")), torch.exp(part("i"))
        c, n = f * s["c"] + i * tanh(part("z")), f * s["n"] + i
        return {"c": c, "n": n, "h": σ(part("o")) * c / n}

    start = torch.tensor(0.0, dtype=torch.float64)
    agree(read("slstm"), lambda v: over_time(v, v["x"], step, c=start, n=start, h=start))


def test_slstm_with_stabilisers() -> None:
    """Its states are scaled, and what is read from them is not."""

    def reference(v: Named) -> dict[str, Tensor]:
        c = n = torch.tensor(0.0, dtype=torch.float64)
        m = c
        found: dict[str, list[Tensor]] = {"m": [], "\\tilde h": []}
        for raw, f, z in zip(v["\\tilde i"], v["f"], v["z"], strict=True):
            before, m = m, torch.maximum(torch.log(f) + m, raw)
            kept, new = torch.exp(torch.log(f) + before - m), torch.exp(raw - m)
            c, n = kept * c + new * z, kept * n + new
            found["m"].append(m)
            found["\\tilde h"].append(c / n)
        return {name: torch.stack(values) for name, values in found.items()}

    agree(read("slstm_stabilised"), reference, positive=("f",))


def test_mlstm() -> None:
    def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        q, k, value = (v[f"W_{g}"] @ x for g in "qkv")
        q, value = q + v["b_q"], value + v["b_v"]
        k = k / len(k) ** 0.5 + v["b_k"]
        i = torch.exp(v["w_i"] @ x + v["b_i"])
        f = σ(v["w_f"] @ x + v["b_f"])
        c = f * s["C"] + i * torch.outer(value, k)
        n = f * s["n"] + i * k
        return {"C": c, "n": n,
                "h": σ(v["W_o"] @ x + v["b_o"]) * (c @ q) / (n @ q).abs().clamp(min=1)}  # fmt: skip

    agree(
        read("mlstm"),
        lambda v: over_time(v, v["x"], step, C=zeros(v["b_v"], v["b_k"]), n=zeros(v["b_k"])),
    )


def test_deltanet() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        state, found = zeros(v["v"][0], v["k"][0]), []
        for k, q, value, β in zip(v["k"], v["q"], v["v"], v["β"], strict=True):
            state = state - β * torch.outer(state @ k, k) + β * torch.outer(value, k)
            found.append(state @ q)
        return {"o": torch.stack(found)}

    agree(read("deltanet"), reference)


def test_gated_linear_attention() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        state, found = zeros(v["k"][0], v["v"][0]), []
        for k, q, value, α in zip(v["k"], v["q"], v["v"], v["α"], strict=True):
            state = state * α[:, None] + torch.outer(k, value)
            found.append(q @ state)
        return {"o": torch.stack(found)}

    agree(read("gla"), reference)


def mixed(v: Named, letter: str, prime: str = "") -> Tensor:
    x, μ = v["x"], v[f"μ{prime}_{letter}"]
    before = torch.cat([torch.zeros_like(x[:1]), x[:-1]])
    return (μ * x + (1 - μ) * before) @ v[f"W{prime}_{letter}"].T


def test_rwkv_channel_mixing() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        r, k = mixed(v, "r", "'"), mixed(v, "k", "'")
        return {"o'": σ(r) * (k.clamp(min=0) ** 2 @ v["W'_v"].T)}

    agree(read("rwkv_channel"), reference)


def test_s5() -> None:
    def step(v: Named, u: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
        x = v["\\bar A"] @ s["x"] + v["\\bar B"] @ u
        return {"x": x, "y": v["C"] @ x + v["D"] @ u}

    agree(read("s5"), lambda v: over_time(v, v["u"], step, x=zeros(v["\\bar A"])))


def test_mamba() -> None:
    """The zero-order hold takes the exponential of a matrix, and its inverse."""

    def reference(v: Named) -> dict[str, Tensor]:
        scaled = v["Δ"] * v["A"]
        hold = torch.matrix_exp(scaled)
        identity = torch.eye(len(scaled), dtype=scaled.dtype)
        into = torch.linalg.inv(scaled) @ (hold - identity) @ (v["Δ"] * v["B"])

        def step(v: Named, x: Tensor, s: dict[str, Tensor]) -> dict[str, Tensor]:
            h = hold @ s["h"] + into @ x
            return {"h": h, "y": v["C"] @ h}

        return over_time(v, v["x"], step, h=zeros(hold))

    agree(read("mamba"), reference)


def test_mamba2() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        h, found = zeros(v["B"][0]), []
        for a, b, c, x in zip(v["A"], v["B"], v["C"], v["x"], strict=True):
            h = a @ h + b * x
            found.append(c @ h)
        return {"y": torch.stack(found)}

    agree(read("mamba2"), reference)


def test_rwkv() -> None:
    def reference(v: Named) -> dict[str, Tensor]:
        r, k, value = (mixed(v, letter) for letter in "rkv")
        found = []
        for t in range(len(k)):
            weights = [torch.exp(-(t - 1 - i) * v["w"] + k[i]) for i in range(t)]
            weights.append(torch.exp(v["u"] + k[t]))
            total = sum(w * value[i] for i, w in enumerate(weights))
            found.append(v["W_o"] @ (σ(r[t]) * total / sum(weights)))
        return {"o": torch.stack(found)}

    agree(read("rwkv"), reference)
