"""The recurrent models against PyTorch, or against the loop that their paper describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from drawing import Array, close, draw, model, run, softmax, tensor

from indicial import load
from indicial.program.meaning.sample import Sample

Step = Callable[[Array, Array], Array]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gate(p: Mapping[str, Array], name: str, h: Array, x: Array, cell: str = "") -> Array:
    return p[f"{cell}W^{{h,{name}}}"] @ h + p[f"{cell}W^{{x,{name}}}"] @ x - p[f"{cell}B^{name}"]


def ugrnn(p: Mapping[str, Array], cell: str = "") -> Step:
    def step(h: Array, x: Array) -> Array:
        g = sigmoid(gate(p, "G", h, x, cell))
        return g * h + (1 - g) * np.tanh(gate(p, "R", h, x, cell))

    return step


def gru(p: Mapping[str, Array], cell: str = "") -> Step:
    """Cho et al. 2014, equations 5 to 8, with biases."""

    def step(h: Array, x: Array) -> Array:
        r, z = (sigmoid(gate(p, n, h, x, cell)) for n in "rz")
        return z * h + (1 - z) * np.tanh(gate(p, "R", r * h, x, cell))

    return step


def walk(step: Step, xs: Array, start: Array) -> Array:
    """All states, the start not among them."""
    states = [start]
    for x in xs:
        states.append(step(states[-1], x))
    return np.array(states[1:])


def layers(drawn: Sample, cell: str, *, of: str, at: object = ...) -> dict[str, torch.Tensor]:
    """The weights of a cell as PyTorch stacks them; its second bias is not needed."""
    p = {
        name.removeprefix(cell): array[at]
        for name, array in drawn.parameters.items()
        if cell in name
    }
    gates = {"lstm": "i f R o", "gru": "r z R"}[of].split()
    bias = -tensor(np.concatenate([p[f"B^{g}"] for g in gates]))
    return {
        "weight_ih": tensor(np.concatenate([p[f"W^{{x,{g}}}"] for g in gates])),
        "weight_hh": tensor(np.concatenate([p[f"W^{{h,{g}}}"] for g in gates])),
        "bias_ih": bias,
        "bias_hh": torch.zeros_like(bias),
    }


# ---------------------------------------------------------------------- cells


def test_rnn() -> None:
    program = model("rnn")
    drawn = draw(program, T=4, K=2, J=3)
    p = drawn.parameters

    def step(h: Array, x: Array) -> Array:
        return sigmoid(p["W^{h,h}"] @ h + p["W^{x,h}"] @ x - p["B"])

    close(run(program, drawn)["h"], walk(step, drawn.inputs["x"], np.zeros(3)))


def test_rnn_with_tanh_is_torch_rnn() -> None:
    text = "input x[t,k]\nh[t,j] = tanh(W^{h,h}[j,I] h[t-1,I] + W^{x,h}[j,K] x[t,K] - B[j])"
    program = load(text)
    drawn = draw(program, T=4, K=2, J=3)
    p = drawn.parameters
    module = torch.nn.RNN(2, 3, dtype=torch.float64)
    module.load_state_dict(
        {
            "weight_ih_l0": tensor(p["W^{x,h}"]),
            "weight_hh_l0": tensor(p["W^{h,h}"]),
            "bias_ih_l0": -tensor(p["B"]),
            "bias_hh_l0": torch.zeros(3),
        }
    )
    close(run(program, drawn)["h"], module(tensor(drawn.inputs["x"]))[0])


@pytest.mark.parametrize(("name", "cell"), [("ugrnn", ugrnn), ("gru", gru)])
def test_gated_cells(name: str, cell: Callable[[Mapping[str, Array]], Step]) -> None:
    program = model(name)
    drawn = draw(program, T=4, K=2, J=3)
    close(run(program, drawn)["h"], walk(cell(drawn.parameters), drawn.inputs["x"], np.zeros(3)))


def test_gru_with_the_reset_gate_outside_is_torch_gru() -> None:
    """PyTorch (and cuDNN) apply the reset gate after the product, Cho et al. before it."""
    program = load(
        """input x[t,k]
        G^r[t,j] = σ(W^{h,r}[j,I] h[t-1,I] + W^{x,r}[j,K] x[t,K] - B^r[j])
        G^z[t,j] = σ(W^{h,z}[j,I] h[t-1,I] + W^{x,z}[j,K] x[t,K] - B^z[j])
        R[t,j] = tanh(G^r[t,j] (W^{h,R}[j,I] h[t-1,I] + b[j]) + W^{x,R}[j,K] x[t,K] - B^R[j])
        h[t,j] = G^z[t,j] h[t-1,j] + (1 - G^z[t,j]) R[t,j]"""
    )
    drawn = draw(program, T=4, K=2, J=3)
    module = torch.nn.GRU(2, 3, dtype=torch.float64)
    weights = {f"{n}_l0": w for n, w in layers(drawn, "", of="gru").items()}
    weights["bias_hh_l0"][-3:] = tensor(drawn.parameters["b"])
    module.load_state_dict(weights)
    expected = module(tensor(drawn.inputs["x"]))[0]
    close(run(program, drawn)["h"], expected)
    inside = model("gru")
    del drawn.parameters["b"]
    assert not np.allclose(run(inside, drawn)["h"], expected.detach().numpy())


def test_lstm() -> None:
    program = model("lstm")
    drawn = draw(program, T=4, K=2, J=3)
    module = torch.nn.LSTM(2, 3, dtype=torch.float64)
    module.load_state_dict({f"{n}_l0": w for n, w in layers(drawn, "", of="lstm").items()})
    result = run(program, drawn)
    h, (_, c) = module(tensor(drawn.inputs["x"]))
    close(result["h"], h)
    close(result["c"][-1], c[0])


# ---------------------------------------------------------------------- around a cell


def test_bidirectional_lstm() -> None:
    program = load("bidirectional", fills={"CELL": "lstm"})
    drawn = draw(program, T=4, K=2, J=3)
    module = torch.nn.LSTM(2, 3, bidirectional=True, dtype=torch.float64)
    forward, backward = (layers(drawn, f"CELL{n}.", of="lstm") for n in (1, 2))
    weights = {f"{n}_l0": w for n, w in forward.items()}
    weights |= {f"{n}_l0_reverse": w for n, w in backward.items()}
    module.load_state_dict(weights)
    close(run(program, drawn)["h"], module(tensor(drawn.inputs["x"]))[0])


def test_bidirectional_lengths_are_packed_sequences() -> None:
    """The backward RNN of a short example begins at its end."""
    program = load("bidirectional", fills={"CELL": "lstm"})
    drawn = draw(program, T=4, K=2, J=3)
    module = torch.nn.LSTM(2, 3, bidirectional=True, batch_first=True, dtype=torch.float64)
    forward, backward = (layers(drawn, f"CELL{n}.", of="lstm") for n in (1, 2))
    weights = {f"{n}_l0": w for n, w in forward.items()}
    weights |= {f"{n}_l0_reverse": w for n, w in backward.items()}
    module.load_state_dict(weights)
    x = np.random.default_rng(5).normal(size=(2, 4, 2))
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        torch.tensor(x), torch.tensor([4, 2]), batch_first=True
    )
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(module(packed)[0], batch_first=True)
    found = program.interpret({"x": x}, drawn.parameters, lengths={"T": [4, 2]})["h"]
    close(found[0], expected[0])
    close(found[1, :2], expected[1, :2])
    assert np.isnan(found[1, 2:]).all()


def test_stacked_lstm() -> None:
    program = load("stacked", fills={"CELL": "lstm"})
    drawn = draw(program, T=4, K=3, J=3, L=2)
    drawn.parameters["W^x"] = np.eye(3)
    module = torch.nn.LSTM(3, 3, num_layers=2, dtype=torch.float64)
    weights = {}
    for layer in (0, 1):
        for n, w in layers(drawn, "CELL.", of="lstm", at=layer).items():
            weights[f"{n}_l{layer}"] = w
    module.load_state_dict(weights)
    close(run(program, drawn)["h"][-1], module(tensor(drawn.inputs["x"]))[0])


def test_residual() -> None:
    program = model("residual")
    drawn = draw(program, T=4, K=2, J=3, L=2)
    h = drawn.inputs["x"] @ drawn.parameters["W^x"].T
    for layer in (0, 1):
        weights = {n: array[layer] for n, array in drawn.parameters.items() if n.startswith("CELL")}
        h = h + walk(ugrnn(weights, "CELL."), h, np.zeros(3))
    close(run(program, drawn)["h"][-1], h)


# ---------------------------------------------------------------------- language models


def score(P: Array, w: Array) -> float:
    """-ln P of each word, on average."""
    return float(-np.log(P[np.arange(len(w)), w]).mean())


def test_trigram() -> None:
    program = model("trigram")
    drawn = draw(program, T=4, V=3, I=2, J=2)
    p, w = drawn.parameters, drawn.inputs["w"].astype(int)
    e = np.concatenate([np.zeros((2, 2)), p["e"][w]])  # e[t+1] is the word before w[t]
    h = np.tanh(e[1:-1] @ p["W^1"].T + e[:-2] @ p["W^2"].T - p["B^h"])
    P = softmax(h @ p["U"].T - p["B^U"])
    result = run(program, drawn)
    close(result["P"], P)
    assert result.loss == pytest.approx(score(P, w))


def test_rnn_lm() -> None:
    program = model("rnn_lm")
    drawn = draw(program, T=4, V=3, J=2)
    p, w = drawn.parameters, drawn.inputs["w"].astype(int)
    renamed = {n.replace("e,", "x,"): array for n, array in p.items()}
    h = walk(ugrnn(renamed), p["e"][w], p["h^{start}"])
    P = softmax(np.vstack([p["h^{start}"], h[:-1]]) @ p["e"].T)
    result = run(program, drawn)
    close(result["P"], P)
    assert result.loss == pytest.approx(score(P, w))


def test_blank_rnn() -> None:
    program = model("blank_rnn")
    drawn = draw(program, 3, T=4, V=3, J=2)
    p, w = drawn.parameters, drawn.inputs["w"].astype(int)
    e, zero = p["e"][w], np.zeros((1, 2))
    before = walk(ugrnn(p, "CELL1."), e, zero[0])
    behind = walk(ugrnn(p, "CELL2."), e[::-1], zero[0])[::-1]
    scores = np.vstack([zero, before[:-1]]) @ p["W⃗"].T + np.vstack([behind[1:], zero]) @ p["W⃖"].T
    P = softmax(scores @ p["e"].T)
    result = run(program, drawn)
    close(result["P"], P)
    assert result.loss == pytest.approx(score(P, w))
    # the same from its two halves
    halves = model("blank_log_loss")
    given = {"w": w, "h⃗": before, "h⃖": behind}
    weights = {n: p[n] for n in ("e", "W⃗", "W⃖")}
    close(halves.interpret(given, weights)["P"], P)


def test_log_loss_is_cross_entropy() -> None:
    program = model("log_loss")
    drawn = draw(program, 3, T=4)
    h = np.vstack([np.zeros((1, 3)), drawn.inputs["h"][:-1]])
    scores = tensor(h @ drawn.parameters["e"].T)
    expected = torch.nn.functional.cross_entropy(
        scores, torch.tensor(drawn.inputs["w"]).long(), reduction="sum"
    )
    assert run(program, drawn).loss == pytest.approx(expected.item())


def test_temperature() -> None:
    program = model("temperature")
    drawn = draw(program, 3, T=4, I=4)
    h = np.vstack([np.zeros((1, 4)), drawn.inputs["h"][:-1]])
    for beta in (1.0, 0.3):
        drawn.inputs["β"] = np.array(beta)
        close(run(program, drawn)["P"], softmax(beta / 2 * h @ drawn.parameters["e"].T))


# ---------------------------------------------------------------------- translation and captions


def test_thought_vector() -> None:
    program = model("thought_vector")
    drawn = draw(program, 3, J=2)
    p, x, w = drawn.parameters, *(drawn.inputs[n].astype(int) for n in "xw")
    thought = walk(ugrnn(p, "CELL1."), p["e_{in}"][x][::-1], np.zeros(2))[-1]
    h = walk(ugrnn(p, "CELL2."), p["e_{out}"][w], thought)
    P = softmax(np.vstack([thought, h[:-1]]) @ p["W"].T @ p["e_{out}"].T)
    close(run(program, drawn)["P"], P)


def test_cross_attention() -> None:
    program = model("cross_attention")
    drawn = draw(program, 3)
    p, x, w = drawn.parameters, *(drawn.inputs[n].astype(int) for n in "xw")
    memory = walk(ugrnn(p, "CELL1."), p["e_{in}"][x][::-1], np.zeros(3))[::-1]
    h = walk(ugrnn(p, "CELL2."), p["e_{out}"][w], memory[0])
    seen = softmax(p["e_{out}"][w] @ memory.T) @ memory
    before = np.vstack([memory[0], h[:-1]]) @ p["W^h"].T
    before += np.vstack([np.zeros(3), seen[:-1]]) @ p["W^α"].T
    close(run(program, drawn)["P"], softmax(before @ p["e_{out}"].T))


def test_bahdanau() -> None:
    program = model("bahdanau")
    drawn = draw(program, 3, J=2, N=4)
    p, x, w = drawn.parameters, *(drawn.inputs[n].astype(int) for n in "xw")
    e = p["e_{in}"][x]
    before = walk(gru(p, "CELL1."), e, np.zeros(2))
    behind = walk(gru(p, "CELL2."), e[::-1], np.zeros(2))[::-1]
    memory = np.hstack([before, behind])
    s, word = np.tanh(p["W^{start}"] @ behind[0]), np.zeros(p["e_{out}"].shape[1])
    P = []
    for t in range(3):
        a = softmax(np.tanh(p["W^s"] @ s + memory @ p["W^h"].T) @ p["v"])
        z = np.concatenate([word, a @ memory])
        s = gru(p, "CELL3.")(s, z)
        P.append(softmax(p["e_{out}"] @ (p["U^s"] @ s + p["U^z"] @ z)))
        word = p["e_{out}"][w[t]]
    close(run(program, drawn)["P"], np.array(P))


def test_captioning() -> None:
    program = model("captioning")
    drawn = draw(program, 3, X=7, Y=6)
    p, w = drawn.parameters, drawn.inputs["w"].astype(int)

    def convolved(x: torch.Tensor, name: str, stride: int) -> torch.Tensor:
        weights, bias = tensor(p[f"W^{name}"]).permute(3, 2, 0, 1), -tensor(p[f"B^{name}"])
        return F.relu(F.conv2d(x, weights, bias, stride=stride, padding=1))

    image = tensor(drawn.inputs["I"]).permute(2, 0, 1)
    G = convolved(convolved(image, "F", 2), "G", 2)
    A = ((G + convolved(G, "A", 1)).permute(1, 2, 0) + tensor(p["pos"])).flatten(0, 1)
    N = F.layer_norm(A, A.shape[-1:])
    q, k, v = (N @ tensor(p[name]).T for name in ("W^Q", "W^K", "W^V"))
    E = A + F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    H = F.layer_norm(E, E.shape[-1:]).numpy()
    u = np.maximum(0, H @ p["W^u"].T - p["B^u"]).mean(0)
    words = np.vstack([np.zeros(p["e"].shape[1]), p["e"][w[:-1]]])
    h = walk(gru(p, "CELL."), words, np.tanh(p["W^{start}"] @ u))
    c = softmax(h @ p["W^{key}"] @ H.T) @ H
    close(run(program, drawn)["P"], softmax(np.tanh(h @ p["W^h"].T + c @ p["W^c"].T) @ p["e"].T))


def test_captioning_features() -> None:
    program = model("captioning_features")
    drawn = draw(program, 3, J=2, X=2)
    p, image, w = drawn.parameters, drawn.inputs["M"], drawn.inputs["w"].astype(int)
    places = image.reshape(-1, 3)
    h = np.tanh(p["W^{start}"] @ places.mean(0))
    P = []
    for t in range(3):
        P.append(softmax(p["e"] @ p["W^{auto}"] @ h))
        c = softmax(places @ (h @ p["W^{key}"])) @ places
        h = ugrnn(p, "CELL.")(h, np.concatenate([c, p["e"][w[t]]]))
    close(run(program, drawn)["P"], np.array(P))
