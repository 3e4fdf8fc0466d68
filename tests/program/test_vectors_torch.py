"""Textbook and paper forms in vector style, against PyTorch that was written on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from indicial.library.loading import load, load_document
from indicial.notation.parse import canonical_name
from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.program import Program

Values = dict[str, Tensor]


def read(*lines: str) -> Program:
    """A pasted display of LaTeX, as in a document."""
    found = load("$$\n" + " \\\\\n".join(lines) + "\n$$")
    assert found.errors == [], [m.render() for m in found.errors]
    return found


def run(found: Program, size: int = 3, seed: int = 0) -> tuple[Values, Values]:
    """What goes in (random), and what comes out."""
    sizes = {name: size + n for n, name in enumerate(small_sizes(found.code, size))}
    drawn = sample(found.code, sizes, seed)
    given = {**drawn.inputs, **drawn.parameters}
    values = found.interpret(drawn.inputs, drawn.parameters, sizes=drawn.sizes)
    as_torch = {k: torch.tensor(np.asarray(v), dtype=torch.float64) for k, v in given.items()}
    return as_torch, {k: torch.tensor(np.asarray(v)) for k, v in dict(values).items()}


def near(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other.to(one.dtype), rtol=1e-8, atol=1e-8)


def steps(x: Tensor, width: int, step: Any) -> Tensor:
    h, found = torch.zeros(width, dtype=torch.float64), []
    for row in x:
        h = step(row, h)
        found.append(h)
    return torch.stack(found)


@pytest.mark.parametrize(
    "line",
    [
        r"\mathbf{h}_t = \tanh(\mathbf{W}\mathbf{h}_{t-1} + \mathbf{U}\mathbf{x}_t + \mathbf{b})",
        r"h_t = \tanh(W h_{t-1} + U x_t + b)",
        r"h^{(t)} = \tanh(b + W h^{(t-1)} + U x^{(t)})",
        r"h^{<t>} = \tanh(W h^{<t-1>} + U x^{<t>} + b)",
        r"\bm h_t = \tanh(\bm W \bm h_{t-1} + \bm U \bm x_t + \bm b)",
        r"\vec h_t = \tanh(W \vec h_{t-1} + U \vec x_t + \vec b)",
    ],
)
def test_a_recurrent_cell(line: str) -> None:
    given, values = run(read(line))
    x = next(v for k, v in given.items() if k.startswith("x"))
    b = next(v for k, v in given.items() if k.startswith("b"))
    w, u = given["W"], given["U"]
    expected = steps(x, len(b), lambda row, h: torch.tanh(w @ h + u @ row + b))
    near(next(v for k, v in values.items() if k.startswith("h")), expected)


def test_rows_are_the_batch() -> None:
    found = read(
        r"\mathbf{H}_t = \tanh(\mathbf{X}_t \mathbf{W}_{\textrm{xh}} + \mathbf{H}_{t-1} "
        r"\mathbf{W}_{\textrm{hh}} + \mathbf{b}_\textrm{h})",
        r"\mathbf{O}_t = \mathbf{H}_t \mathbf{W}_{\textrm{hq}} + \mathbf{b}_\textrm{q}",
    )
    assert found.reading.convention == "rows: X W"
    given, values = run(found)
    x, w, u, b = given["X"], given["W_{xh}"], given["W_{hh}"], given["b_h"]
    h, states = torch.zeros(x.shape[1], len(b), dtype=torch.float64), []
    for row in x:
        h = torch.tanh(row @ w + h @ u + b)
        states.append(h)
    near(values["H"], torch.stack(states))
    near(values["O"], torch.stack(states) @ given["W_{hq}"] + given["b_q"])


def test_a_softmax_runs_over_the_elements() -> None:
    found = read(
        r"a^{(t)} = b + W h^{(t-1)} + U x^{(t)}", r"h^{(t)} = \tanh(a^{(t)})",
        r"o^{(t)} = c + V h^{(t)}", r"\hat{y}^{(t)} = \mathrm{softmax}(o^{(t)})",
    )  # fmt: skip
    given, values = run(found)
    near(values[canonical_name("ŷ")], torch.softmax(values["h"] @ given["V"].T + given["c"], -1))


LSTM = [
    *(
        rf"{left} = {f}(\mathbf{{X}}_t \mathbf{{W}}_{{\textrm{{x{g}}}}} + \mathbf{{H}}_{{t-1}} "
        rf"\mathbf{{W}}_{{\textrm{{h{g}}}}} + \mathbf{{b}}_\textrm{{{g}}})"
        for left, f, g in [
            (r"\mathbf{I}_t", r"\sigma", "i"),
            (r"\mathbf{F}_t", r"\sigma", "f"),
            (r"\mathbf{O}_t", r"\sigma", "o"),
            (r"\tilde{\mathbf{C}}_t", r"\tanh", "c"),
        ]
    ),
    r"\mathbf{C}_t = \mathbf{F}_t \odot \mathbf{C}_{t-1} + \mathbf{I}_t \odot \tilde{\mathbf{C}}_t",
    r"\mathbf{H}_t = \mathbf{O}_t \odot \tanh(\mathbf{C}_t)",
]


@pytest.mark.parametrize("rows", [True, False])
def test_an_lstm_is_that_of_pytorch(rows: bool) -> None:
    lines = LSTM if rows else [
        rf"{g}_t = {f}(W_{{x{g[-1]}}} x_t + W_{{h{g[-1]}}} h_{{t-1}} + b_{g[-1]})"
        for g, f in [("i", r"\sigma"), ("f", r"\sigma"), ("o", r"\sigma"), (r"\tilde c", r"\tanh")]
    ] + [r"c_t = f_t \odot c_{t-1} + i_t \odot \tilde c_t", r"h_t = o_t \odot \tanh(c_t)"]  # fmt: skip
    given, values = run(read(*lines))
    x = given["X" if rows else "x"]
    cell = torch.nn.LSTM(x.shape[-1], len(given["b_i"]), dtype=torch.float64)
    turn = (lambda m: m.T) if rows else (lambda m: m)
    with torch.no_grad():
        cell.weight_ih_l0.copy_(torch.cat([turn(given[f"W_{{x{g}}}"]) for g in "ifco"]))
        cell.weight_hh_l0.copy_(torch.cat([turn(given[f"W_{{h{g}}}"]) for g in "ifco"]))
        cell.bias_ih_l0.copy_(torch.cat([given[f"b_{g}"] for g in "ifco"]))
        cell.bias_hh_l0.zero_()
        expected, _ = cell(x if rows else x[:, None])
    near(values["H" if rows else "h"], expected if rows else expected[:, 0])


def test_a_gru_with_a_product_before_brackets() -> None:
    found = read(
        r"r_t = \sigma(W_r x_t + U_r h_{t-1})", r"z_t = \sigma(W_z x_t + U_z h_{t-1})",
        r"\tilde h_t = \tanh(W x_t + U(r_t \odot h_{t-1}))",
        r"h_t = z_t \odot h_{t-1} + (1 - z_t) \odot \tilde h_t",
    )  # fmt: skip
    g, values = run(found)

    def step(x: Tensor, h: Tensor) -> Tensor:
        r = torch.sigmoid(g["W_r"] @ x + g["U_r"] @ h)
        z = torch.sigmoid(g["W_z"] @ x + g["U_z"] @ h)
        return z * h + (1 - z) * torch.tanh(g["W"] @ x + g["U"] @ (r * h))

    near(values["h"], steps(g["x"], g["U"].shape[0], step))


def test_a_cell_of_joined_inputs() -> None:
    found = read(
        r"f_t = \sigma(W_f \cdot [h_{t-1}, x_t] + b_f)", r"i_t = \sigma(W_i [h_{t-1}, x_t] + b_i)",
        r"\tilde C_t = \tanh(W_C \cdot [h_{t-1}, x_t] + b_C)", r"C_t = f_t * C_{t-1} + i_t * \tilde C_t",
        r"h_t = \tanh(C_t)",
    )  # fmt: skip
    g, values = run(found)
    c = h = torch.zeros(len(g["b_f"]), dtype=torch.float64)
    for t, x in enumerate(g["x"]):
        both = torch.cat([h, x])
        f, i = (torch.sigmoid(g[f"W_{k}"] @ both + g[f"b_{k}"]) for k in "fi")
        c = f * c + i * torch.tanh(g["W_C"] @ both + g["b_C"])
        h = torch.tanh(c)
        near(values["h"][t], h)


def test_additive_attention_with_its_softmax_as_a_fraction() -> None:
    found = read(
        r"e_{ij} = v^\top \tanh(W s_i + U h_j)",
        r"\alpha_{ij} = \frac{\exp(e_{ij})}{\sum_{k} \exp(e_{ik})}", r"c_i = \sum_j \alpha_{ij} h_j",
    )  # fmt: skip
    g, values = run(found)
    e = torch.tanh((g["s"] @ g["W"].T)[:, None] + (g["h"] @ g["U"].T)[None]) @ g["v"]
    near(values["c"], torch.softmax(e, -1) @ g["h"])


@pytest.mark.parametrize("turned", [r"K^\top", "K^T", r"K^{\mathsf T}"])
def test_attention(turned: str) -> None:
    found = read(
        "Q = X W^Q", "K = X W^K", "V = X W^V",
        rf"O = \mathrm{{softmax}}\left(\frac{{Q {turned}}}{{\sqrt{{d_k}}}}\right) V",
    )  # fmt: skip
    g, values = run(found)
    q, k, v = (g["X"] @ g[f"W^{n}"] for n in "QKV")
    near(values["O"], torch.softmax(q @ k.T / q.shape[1] ** 0.5, -1) @ v)


def test_heads_side_by_side() -> None:
    found = read(
        r"\mathrm{head}_i = \mathrm{softmax}(\frac{Q W_i^Q (K W_i^K)^T}{\sqrt{d_k}}) V W_i^V",
        r"\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h) W^O",
    )
    g, values = run(found)
    heads = []
    for n in range(len(g["W^Q"])):
        q, k = g["Q"] @ g["W^Q"][n], g["K"] @ g["W^K"][n]
        scores = torch.softmax(q @ k.T / q.shape[1] ** 0.5, -1)
        heads.append(scores @ (g["V"] @ g["W^V"][n]))
    near(values["MultiHead"], torch.cat(heads, -1) @ g["W^O"])


def test_layer_norm() -> None:
    found = read(
        r"\mu = \frac{1}{d} \sum_i x_i", r"\sigma^2 = \frac1d \sum_i (x_i - \mu)^2",
        r"y = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta",
    )  # fmt: skip
    g, values = run(found)
    x, eps = g["x"], float(g["ε"])
    expected = torch.nn.functional.layer_norm(x, x.shape, g["γ"], g["β"], eps)
    near(values["y"], expected)


def test_linear_attention() -> None:
    found = read(r"O_i = \frac{\exp(Q_i)^T \sum_j \exp(K_j) V_j^T}{\exp(Q_i)^T \sum_j \exp(K_j)}")
    g, values = run(found)
    q, k = g["Q"].exp(), g["K"].exp()
    near(values["O"], (q @ (k.T @ g["V"])) / (q @ k.sum(0))[:, None])


def test_a_state_space() -> None:
    found = read(r"h_t = \bar A h_{t-1} + \bar B x_t", "y_t = C h_t")
    g, values = run(found)
    a, b = g[canonical_name("Ā")], g[canonical_name("B̄")]
    h = steps(g["x"], a.shape[0], lambda x, h: a @ h + b @ x)
    near(values["y"], h @ g["C"].T)


def test_layers_above_and_time_below() -> None:
    found = read(r"h_t^{(l)} = \tanh(W^{(l)} h_t^{(l-1)} + U^{(l)} h_{t-1}^{(l)} + b^{(l)})")
    assert {k: len(t.axes) for k, t in found.code.tensors.items()} == {
        "h": 3,
        "W": 3,
        "U": 3,
        "b": 2,
    }


def test_a_graph_network() -> None:
    found = read(r"H^{(l+1)} = \mathrm{ReLU}(\hat A H^{(l)} W^{(l)})")
    assert {len(found.code.tensors[k].axes) for k in ("H", "W")} == {3}
    assert len(found.code.tensors[canonical_name("Â")].axes) == 2


def test_a_gated_feed_forward_layer() -> None:
    found = read(r"y = x + W_2 (\mathrm{SiLU}(W_1 x) \odot (W_3 x))")
    g, values = run(found)
    inner = torch.nn.functional.silu(g["W_1"] @ g["x"]) * (g["W_3"] @ g["x"])
    near(values["y"], g["x"] + g["W_2"] @ inner)


def test_a_feed_forward_layer_of_rows() -> None:
    found = read(r"\mathrm{FFN}(x) = \max(0, x W_1 + b_1) W_2 + b_2")
    g, values = run(found)
    near(values["FFN"], (g["x"] @ g["W_1"] + g["b_1"]).relu() @ g["W_2"] + g["b_2"])


def test_forms_and_norms() -> None:
    found = read(
        r"s = x^\top A x + b^\top x + c", r"L = \|y - X \beta\|^2 + \lambda \|\beta\|^2",
        r"M = x b^\top",
    )  # fmt: skip
    g, values = run(found)
    x, b = g["x"], g["b"]
    near(values["s"], x @ g["A"] @ x + b @ x + g["c"])
    near(values["M"], torch.outer(x, b))
    rest = g["y"] - g["X"] @ g["β"]
    near(values["L"], rest @ rest + g["λ"] * (g["β"] @ g["β"]))


def test_brackets_and_vectors_in_one_program() -> None:
    found = read(r"a_t = W x_t + b", "y[t,j] = a[t,j] c[j]")
    g, values = run(found)
    near(values["y"], (g["x"] @ g["W"].T + g["b"]) * g["c"])


def test_functions_of_vectors_are_written_out() -> None:
    found = read(r"f(z) = \tanh(W z + b)", "y = f(x)", "u = f(y)")
    g, values = run(found)
    y = torch.tanh(g["W"] @ g["x"] + g["b"])
    near(values["u"], torch.tanh(g["W"] @ y + g["b"]))


def test_what_the_prose_says(tmp_path: Any) -> None:
    text = r"""# A layer
Let $\mathbf{X} \in \mathbb{R}^{n \times d}$ be rows, $\mathbf{W} \in \mathbb{R}^{d \times h}$ weights,
and $\mathbf{b} \in \mathbb{R}^{1 \times h}$.
$$\mathbf{H} = \mathbf{X}\mathbf{W} + \mathbf{b}$$
"""
    path = tmp_path / "layer.md"
    path.write_text(text, encoding="utf-8")
    (found,) = load_document(path)
    assert found.mistakes == []
    g, values = run(found)
    near(values["H"], g["X"] @ g["W"] + g["b"])
    assert g["b"].ndim == 1


@pytest.mark.parametrize("said", ["in the text", "by the caller"])
def test_a_letter_that_is_said_to_be_a_function(said: str) -> None:
    line = r"h_t = \phi(W h_{t-1} + U x_t + b)"
    if said == "in the text":
        found = load(f"$${line}, \\quad \\phi = \\tanh$$")
    else:
        found = load(f"$${line}$$", fills={"φ": "tanh"})
    g, values = run(found)
    expected = steps(g["x"], len(g["b"]), lambda x, h: torch.tanh(g["W"] @ h + g["U"] @ x + g["b"]))
    near(values["h"], expected)


def test_the_cell_of_a_chapter_trains() -> None:
    found = read(*LSTM)
    width, inputs = (str(found.code.tensors[k].axes[-1].extent) for k in ("b_i", "X"))
    module = found.compile(sizes={width: 4, inputs: 3})
    torch.manual_seed(0)
    x, wanted = torch.randn(1, 3, 2, 3), 0.3 * torch.randn(1, 3, 2, 4)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    losses = []
    for _ in range(20):
        loss = ((module(X=x)["H"] - wanted) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize(
    "line",
    [
        r"h_t = \sum_{i=0}^{t} A^{t-i} B x_i",
        r"\mathbf{h}_t = \sum_{i=0}^{t} \mathbf{A}^{t-i} \mathbf{B} \mathbf{x}_i",
    ],
)
def test_powers_of_a_matrix_unroll_a_recurrence(line: str) -> None:
    found = read(line)
    given, out = run(found)
    a, b, x = (given[name] for name in ("A", "B", "x"))
    near(out["h"], steps(x, len(a), lambda row, h: a @ h + b @ row))
    module = found.compile(**{n: len(v) for n, v in (("D", a), ("E", x.T))}).double()
    for name, value in (("A", a), ("B", b)):
        module.parameter(name).data.copy_(value)
    near(module(x=x)["h"], out["h"])


def test_powers_of_a_matrix_are_a_kernel() -> None:
    found = read(r"K_k = C A^k B")
    given, out = run(found)
    powers = [torch.linalg.matrix_power(given["A"], k) for k in range(len(out["K"]))]
    near(out["K"], torch.stack([given["C"] @ power @ given["B"] for power in powers]))
