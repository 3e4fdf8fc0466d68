"""Attention, transformers, convolutions and norms against PyTorch or a few lines of numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from drawing import Array, close, draw, model, run, softmax, tensor

from indicial import library, load
from indicial.program.meaning.sample import Sample
from indicial.program.program import Program

Weights = dict[str, torch.Tensor]
SIZES = {"T": 4, "J": 4, "K": 2, "I": 2, "I_{Value}": 2, "J_y": 4}


def joined(heads: Array, output: Array) -> Array:
    """h̃[k,t,i] → y[t,j]."""
    return np.concatenate(list(heads), axis=-1) @ output.T


# ---------------------------------------------------------------------- norms


def test_layer_norm() -> None:
    program = model("layer_norm")
    drawn = draw(program, 3, J=5)
    g, b = (tensor(drawn.parameters[n]) for n in "gb")
    close(run(program, drawn)["y"], F.layer_norm(tensor(drawn.inputs["x"]), (5,), g, b, eps=1e-5))


def test_rms_norm() -> None:
    program = model("rms_norm")
    drawn = draw(program, 3, J=5)
    g = tensor(drawn.parameters["g"])
    close(run(program, drawn)["y"], F.rms_norm(tensor(drawn.inputs["x"]), (5,), g, eps=1e-5))


# ---------------------------------------------------------------------- attention


def test_argmax_attention() -> None:
    program = model("argmax_attention")
    drawn = draw(program, 3, N=5)
    query, key, value = (drawn.inputs[n] for n in ("Query", "Key", "Value"))
    close(run(program, drawn)["h"], value[(query @ key.T).argmax(-1)])


def test_self_attention() -> None:
    program = model("self_attention")
    drawn = draw(program, **SIZES)
    p = drawn.parameters
    module = torch.nn.MultiheadAttention(4, 2, bias=False, dtype=torch.float64)
    rows = [p[f"W^{n}"].reshape(4, 4) for n in "QKV"]
    module.load_state_dict(
        {"in_proj_weight": tensor(np.vstack(rows)), "out_proj.weight": tensor(p["W^O"])}
    )
    x = tensor(drawn.inputs["x"])
    y, attention = module(x, x, x, average_attn_weights=False)
    result = run(program, drawn)
    close(result["y"], y)
    close(result["α"], attention)


def test_selects() -> None:
    program = model("selects")
    drawn = draw(program, 3, T=4, V=3, P=2, I=5, O=2)
    p, w = drawn.parameters, drawn.inputs["w"]
    x = np.hstack([np.eye(3)[w], p["pos"]])
    query, key, value = (x @ p[f"W^{n}"].T for n in "QKV")
    a = softmax(query @ key.T / math.sqrt(5))
    result = run(program, drawn)
    close(result["α"], a)
    close(result["y"], a @ value)


def test_merged_attention() -> None:
    program = model("merged_attention")
    drawn = draw(program, 3, J=4)
    p, x = drawn.parameters, drawn.inputs["x"]
    a = softmax(x @ p["W^{QK}"] @ x.T)
    close(run(program, drawn)["y"], joined(a @ (x @ p["W^V"].transpose(0, 2, 1)), p["W^O"]))


def test_merged_attention_is_self_attention() -> None:
    """With W^{QK} = W^Qᵀ W^K / √I."""
    own, merged = model("self_attention"), model("merged_attention")
    drawn = draw(own, **SIZES)
    p = drawn.parameters
    product = np.einsum("kia,kib->kab", p["W^Q"], p["W^K"]) / math.sqrt(2)
    weights = {"W^{QK}": product, "W^V": p["W^V"], "W^O": p["W^O"]}
    close(merged.interpret(drawn.inputs, weights)["y"], run(own, drawn)["y"])


def test_synthesizer_dense() -> None:
    program = model("synthesizer_dense")
    drawn = draw(program, 3, J=4, D=2)
    p, x = drawn.parameters, drawn.inputs["x"]
    r = np.maximum(0, x @ p["W^1"].transpose(0, 2, 1) - p["B^1"][:, None])
    a = softmax(r @ p["W^2"].transpose(0, 2, 1) - p["B^2"][:, None])
    close(run(program, drawn)["y"], joined(a @ (x @ p["W^V"].transpose(0, 2, 1)), p["W^O"]))


def test_synthesizer_random() -> None:
    program = model("synthesizer_random")
    drawn = draw(program, 3, J=4)
    p, x = drawn.parameters, drawn.inputs["x"]
    heads = softmax(p["R"]) @ (x @ p["W^V"].transpose(0, 2, 1))
    close(run(program, drawn)["y"], joined(heads, p["W^O"]))


# ---------------------------------------------------------------------- positions


def waves(T: int, J: int) -> Array:
    """Vaswani et al. 2017, §3.5: PE(t, 2i) is a sine, PE(t, 2i+1) the cosine of the same angle."""
    table = np.zeros((T, J))
    for t in range(T):
        for i in range((J + 1) // 2):
            angle = t / 10000 ** (2 * i / J)
            table[t, 2 * i : 2 * i + 2] = [math.sin(angle), math.cos(angle)][: J - 2 * i]
    return table


def test_positions() -> None:
    for name, J in (
        ("positions_sinusoidal", 6),
        ("positions_sinusoidal", 5),
        ("positions_learned", 3),
    ):
        program = model(name)
        drawn = draw(program, 3, T=4, J=J)
        pos = drawn.parameters.get("pos", waves(4, J))
        words = drawn.parameters["e"][drawn.inputs["w"].astype(int)]
        close(run(program, drawn)["L_0"], words + pos)


def test_positions_concatenated() -> None:
    program = model("positions_concatenated")
    drawn = draw(program, 3, T=4, I=2)
    words = drawn.parameters["e"][drawn.inputs["w"].astype(int)]
    close(run(program, drawn)["L_0"], np.hstack([words, drawn.parameters["pos"]]))


@pytest.mark.parametrize("reach", [1, 32])
def test_positions_relative(reach: int) -> None:
    text = library.path("positions_relative").read_text(encoding="utf-8")
    program = load(text.replace("-32..32", f"-{reach}..{reach}"))
    drawn = draw(program, **SIZES)
    p, x = drawn.parameters, drawn.inputs["x"]
    query, key, value = (x @ p[f"W^{n}"].transpose(0, 2, 1) for n in "QKV")
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(2)
    for t in range(4):
        for s in range(4):
            if abs(t - s) <= reach:
                scores[:, t, s] += p["r"][:, t - s + reach]
    close(run(program, drawn)["y"], joined(softmax(scores) @ value, p["W^O"]))


# ---------------------------------------------------------------------- convolutions


def test_language_cnn() -> None:
    program = model("language_cnn")
    drawn = draw(program, 3, T=5, L=2)
    p = drawn.parameters
    layer = tensor(p["e"][drawn.inputs["w"].astype(int)].T)[None]
    found = run(program, drawn)["L"]
    for number in range(2):
        weight = tensor(p["W"][number].transpose(2, 1, 0))  # [Δt,i',i] → [i,i',Δt]
        layer = torch.sigmoid(F.conv1d(layer, weight, -tensor(p["B"][number]), stride=2, padding=1))
        close(found[number + 1, : layer.shape[-1]], layer[0].T)


def test_causal_cnn() -> None:
    program = model("causal_cnn")
    drawn = draw(program, 3, T=5, L=2)
    p = drawn.parameters
    words = p["e"][drawn.inputs["w"].astype(int)]
    layer = tensor(np.vstack([np.zeros(3), words[:-1]]).T)[None]
    for number in range(2):
        weight = tensor(p["W"][number].transpose(2, 1, 0)).flip(-1)  # the newest step is first
        layer = layer + F.relu(F.conv1d(F.pad(layer, (2, 0)), weight, -tensor(p["B"][number])))
    close(run(program, drawn)["P"], (layer[0].T @ tensor(p["e"]).T).softmax(-1))


def test_ugcnn() -> None:
    program = model("ugcnn")
    drawn = draw(program, 3, X=4, C=2, L=2)
    p = drawn.parameters
    layer = tensor((drawn.inputs["M"] @ p["W^M"].T).transpose(2, 0, 1))[None]
    for number in range(2):
        r, g = (
            F.conv2d(
                layer,
                tensor(p[f"W^{n}"][number].transpose(3, 2, 0, 1)),
                -tensor(p[f"B^{n}"][number]),
                padding=1,
            )
            for n in "RG"
        )
        layer = g.sigmoid() * layer + (1 - g.sigmoid()) * r.tanh()
    close(run(program, drawn)["L"][-1], layer[0].permute(1, 2, 0))


# ---------------------------------------------------------------------- transformers


def attention_weights(
    drawn: Sample, layer: int, part: str = "", prefix: str = "self_attn"
) -> Weights:
    p = {n: array[layer] for n, array in drawn.parameters.items() if n.startswith(("W^", "B^"))}
    names = [f"W^{{{n},{part}}}" if part else f"W^{n}" for n in "QKVO"]
    width = p[names[0]].shape[-1]
    rows = [p[n].reshape(-1, width) for n in names[:3]]
    return {
        f"{prefix}.in_proj_weight": tensor(np.vstack(rows)),
        f"{prefix}.in_proj_bias": torch.zeros(3 * width),
        f"{prefix}.out_proj.weight": tensor(p[names[3]].reshape(width, -1)),
        f"{prefix}.out_proj.bias": torch.zeros(width),
    }


def perceptron_weights(drawn: Sample, layer: int, part: str = "") -> Weights:
    p = drawn.parameters
    one, two = (f"{{{n},{part}}}" if part else n for n in "12")
    return {
        "linear1.weight": tensor(p[f"W^{one}"][layer]),
        "linear1.bias": -tensor(p[f"B^{one}"][layer]),
        "linear2.weight": tensor(p[f"W^{two}"][layer]),
        "linear2.bias": -tensor(p[f"B^{two}"][layer]),
    }


def plain_norms(count: int) -> Weights:
    """The library's transformers have no gains and biases in their norms."""
    result = {}
    for n in range(1, count + 1):
        result |= {f"norm{n}.weight": torch.ones(4), f"norm{n}.bias": torch.zeros(4)}
    return result


def encoder_layer(
    drawn: Sample, layer: int, part: str = "", norm_first: bool = False
) -> torch.nn.TransformerEncoderLayer:
    module = torch.nn.TransformerEncoderLayer(
        4, 2, 3, dropout=0.0, norm_first=norm_first, batch_first=True, dtype=torch.float64
    )
    weights = attention_weights(drawn, layer, part) | perceptron_weights(drawn, layer, part)
    module.load_state_dict(weights | plain_norms(2))
    return module


def decoder_layer(
    drawn: Sample, layer: int, norm_first: bool = False
) -> torch.nn.TransformerDecoderLayer:
    module = torch.nn.TransformerDecoderLayer(
        4, 2, 3, dropout=0.0, norm_first=norm_first, batch_first=True, dtype=torch.float64
    )
    weights = attention_weights(drawn, layer, "Z") | perceptron_weights(drawn, layer, "Z")
    weights |= attention_weights(drawn, layer, "X", "multihead_attn")
    module.load_state_dict(weights | plain_norms(3))
    return module


def transformer_sizes(program: Program) -> dict[str, int]:
    """J = 4 in 2 heads of 2, 3 units between, 2 layers, texts of 4 and 3 words."""
    by_letter = {"I": 2, "K": 2, "J": 4, "D": 3, "L": 2, "T": 4, "S": 3, "V": 3, "U": 3}
    return {name: by_letter[name[0]] for name in program.code.sizes}


def causal(T: int) -> torch.Tensor:
    return torch.nn.Transformer.generate_square_subsequent_mask(T, dtype=torch.float64)


def words(drawn: Sample, e: str = "e", of: str = "w") -> Array:
    return drawn.parameters[e][drawn.inputs[of].astype(int)]


def shifted(vectors: Array) -> Array:
    """The word before, none before the first."""
    return np.vstack([np.zeros(vectors.shape[1]), vectors[:-1]])


def test_encoder() -> None:
    program = model("encoder")
    drawn = draw(program, **transformer_sizes(program))
    drawn.inputs["p"] = np.array(0.0)
    layer = tensor(2 * words(drawn) + waves(4, 4))[None]
    for number in range(2):
        layer = encoder_layer(drawn, number)(layer)
    close(run(program, drawn)["L"][-1], layer[0])


def test_transformer() -> None:
    program = model("transformer")
    drawn = draw(program, **transformer_sizes(program))
    layer = tensor(shifted(words(drawn)) + drawn.parameters["pos"])[None]
    for number in range(2):
        layer = encoder_layer(drawn, number, norm_first=True)(layer, src_mask=causal(4))
    scores = F.layer_norm(layer[0], (4,)) @ tensor(drawn.parameters["e"]).T
    result = run(program, drawn)
    close(result["P"], scores.softmax(-1))
    expected = F.cross_entropy(scores, torch.tensor(drawn.inputs["w"]).long())
    assert result.loss == pytest.approx(expected.item())


@pytest.mark.parametrize("name", ["encoder_decoder", "encoder_decoder_prenorm"])
def test_encoder_decoder(name: str) -> None:
    program = model(name)
    drawn = draw(program, **transformer_sizes(program))
    first = name.endswith("prenorm")
    if not first:
        drawn.inputs["p"] = np.array(0.0)
    p = drawn.parameters
    memory = tensor(words(drawn, "e_{in}", "x") + p["pos_{in}"])[None]
    layer = tensor(shifted(words(drawn, "e_{out}")) + p["pos_{out}"])[None]
    for number in range(2):
        memory = encoder_layer(drawn, number, "E", first)(memory)
    if first:
        memory = F.layer_norm(memory, (4,))
    for number in range(2):
        layer = decoder_layer(drawn, number, first)(layer, memory, tgt_mask=causal(4))
    if first:
        layer = F.layer_norm(layer, (4,))
    result = run(program, drawn)
    scores = layer[0] @ tensor(p["e_{out}"]).T
    close(result["P"], scores.softmax(-1))
    expected = F.cross_entropy(scores, torch.tensor(drawn.inputs["w"]).long())
    assert result.loss == pytest.approx(expected.item())


def gpt2(p: dict[str, torch.Tensor], w: torch.Tensor, heads: int) -> torch.Tensor:
    """The scores of the next word: openai/gpt-2, src/model.py, in a few lines."""
    T, (_, J) = len(w), p["e"].shape
    x = p["e"][w] + p["pos"]
    for n in range(len(p["W^1"])):
        a = F.layer_norm(x, (J,), p["g^N"][n], p["b^N"][n])
        query, key, value = (
            (a @ p[f"W^{c}"][n].reshape(J, J).T + p[f"b^{c}"][n].reshape(J))
            .view(T, heads, -1)
            .transpose(0, 1)
            for c in "QKV"
        )
        a = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + a.transpose(0, 1).reshape(T, J) @ p["W^O"][n].T + p["b^O"][n]
        m = F.layer_norm(x, (J,), p["g^M"][n], p["b^M"][n])
        m = F.gelu(m @ p["W^1"][n].T + p["b^1"][n], approximate="tanh")
        x = x + m @ p["W^2"][n].T + p["b^2"][n]
    return F.layer_norm(x, (J,), p["g^y"], p["b^y"]) @ p["e"].T


def test_gpt2() -> None:
    program = model("gpt2")
    drawn = draw(program, **transformer_sizes(program))
    drawn.inputs["p"] = np.array(0.0)
    w = torch.tensor(drawn.inputs["w"]).long()
    scores = gpt2({n: tensor(array) for n, array in drawn.parameters.items()}, w, heads=2)
    result = run(program, drawn)
    close(result["P"][1:], scores[:-1].softmax(-1))
    close(result["P"][0], np.full(3, 1 / 3))
    assert result.loss == pytest.approx(F.cross_entropy(scores[:-1], w[1:]).item())


# ---------------------------------------------------------------------- experts


def test_experts() -> None:
    program = model("experts")
    drawn = draw(program, T=3, J=4, K=2, I=2, L=2, V=5, E=3, D=3)
    p = {name: tensor(value) for name, value in drawn.parameters.items()}
    w = torch.as_tensor(drawn.inputs["w"])
    x = p["pos"].clone()
    x[1:] += p["v"][w[:-1]]
    for layer in range(2):
        n = F.rms_norm(x, (4,), eps=1e-5)
        q, k, u = (torch.einsum("kij,tj->kti", p[f"W^{name}"][layer], n) for name in "QKV")
        heads = F.scaled_dot_product_attention(q, k, u, is_causal=True)
        x = x + heads.transpose(0, 1).flatten(1) @ p["W^O"][layer].T
        n = F.rms_norm(x, (4,), eps=1e-5)
        scores, chosen = (n @ p["W^G"][layer].T).topk(2)
        for t in range(3):
            for share, e in zip(scores[t].softmax(-1), chosen[t], strict=True):
                inside = F.relu(p["W^1"][layer, e] @ n[t])
                x[t] = x[t] + share * (p["W^2"][layer, e] @ inside)
    logits = F.rms_norm(x, (4,), eps=1e-5) @ p["v"].T
    close(run(program, drawn)["loss"], F.cross_entropy(logits, w))
