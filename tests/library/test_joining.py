"""Files that become one program: what one defines, the other may read.

A file that needs something from another declares it as an input: `focus` the weights of an
attention and a loss, `log_loss` the states of an RNN. Two definitions of one name are a mistake.
"""

from __future__ import annotations

import numpy as np
import pytest
from drawing import Array, close, draw, model, run, softmax

from indicial import load


def focus(alpha: Array) -> float:
    """The mean entropy over layers, heads and words."""
    L, K, T, _ = alpha.shape
    total = 0.0
    for weights in alpha.reshape(L * K, T, T):
        for t in range(T):
            total -= sum(a * np.log(a) for a in weights[t, : t + 1])
    return total / (L * K * T)


def near(alpha: Array, most: float) -> float:
    """The mean squared distance, below the top layer; far looks are bounded."""
    L, K, T, _ = alpha.shape
    square = (np.arange(T)[:, None] - np.arange(T)) ** 2
    return float(np.minimum(most, (alpha[: L - 1] * square).sum(-1)).sum() / (K * T * (L - 1)))


@pytest.mark.parametrize("name", ["focus", "near"])
def test_a_further_loss(name: str) -> None:
    program = load("transformer", name)
    assert [message.render() for message in program.messages] == []
    assert program.code.loss == "ℒ_{total}"
    assert {n for n, t in program.code.tensors.items() if t.role == "input"} == {"w"}
    drawn = draw(program, 3, T=4)
    drawn.inputs["λ"] = np.array(0.5)
    if name == "near":
        drawn.inputs["ℒ_{max}"] = np.array(1.5)
    result = run(program, drawn)
    further = focus(result["α"]) if name == "focus" else near(result["α"], 1.5)
    assert result[f"ℒ_{{{name}}}"] == pytest.approx(further)
    assert result.loss == pytest.approx(float(result["loss"]) + 0.5 * further)
    alone = model("transformer").interpret({"w": drawn.inputs["w"]}, drawn.parameters)
    assert float(result["loss"]) == pytest.approx(alone.loss)


@pytest.mark.parametrize("name", ["focus", "near"])
def test_a_further_loss_for_gpt2(name: str) -> None:
    program = load("gpt2", name)
    assert [message.render() for message in program.messages] == []
    assert program.code.loss == "ℒ_{total}"


@pytest.mark.parametrize("name", ["focus", "near"])
def test_a_further_loss_alone(name: str) -> None:
    """Its layers are 1..L, as a transformer has them."""
    program = model(name)
    drawn = draw(program, 3)
    result = run(program, drawn)
    alpha = drawn.inputs["α"]
    expected = focus(alpha) if name == "focus" else near(alpha, 100)
    assert result.loss == pytest.approx(float(drawn.inputs["loss"]) + 0.01 * expected)
    assert program.code.tensors["α"].axes[0].lower.number == 1


@pytest.mark.parametrize("cell", ["rnn", "ugrnn", "gru", "lstm"])
@pytest.mark.parametrize("head", ["log_loss", "temperature"])
def test_a_cell_and_a_head(cell: str, head: str) -> None:
    """With a line that says what the cell reads, a language model."""
    program = load(cell, head, "x[t,k] = e[w[t],k]")
    assert [message.render() for message in program.messages] == []
    assert {n for n, t in program.code.tensors.items() if t.role == "input"} == {"w"}
    drawn = draw(program, 3)
    joined = run(program, drawn)
    part = model(cell)
    weights = {n: v for n, v in drawn.parameters.items() if n != "e"}
    words = drawn.parameters["e"][drawn.inputs["w"].astype(int)]
    h = part.interpret({"x": words}, weights)["h"]
    close(joined["h"], h)
    given = {"w": drawn.inputs["w"], "h": h}
    close(joined["P"], model(head).interpret(given, {"e": drawn.parameters["e"]})["P"])


@pytest.mark.parametrize("cell", ["rnn", "ugrnn", "gru", "lstm"])
def test_a_language_model_of_a_cell(cell: str) -> None:
    """The state that a word is predicted from has read the words before it."""
    program = load(cell, "language_model")
    assert [message.render() for message in program.messages] == []
    assert (program.code.loss, program.code.generated) == ("loss", "w")
    drawn = draw(program, 3, T=4)
    words = drawn.inputs["w"].astype(int)
    e = drawn.parameters["e"]
    before = np.vstack([np.zeros(3), e[words[:-1]]])
    weights = {n: v for n, v in drawn.parameters.items() if n != "e"}
    P = softmax(model(cell).interpret({"x": before}, weights)["h"] @ e.T)
    result = run(program, drawn)
    close(result["P"], P)
    assert result.loss == pytest.approx(-np.log(P[range(4), words]).mean())


@pytest.mark.parametrize("cell", ["rnn", "ugrnn", "gru", "lstm"])
@pytest.mark.parametrize("stack", ["stacked", "residual"])
def test_a_language_model_of_a_stack(stack: str, cell: str) -> None:
    program = load(stack, "language_model_stack", fills={"CELL": cell})
    assert [message.render() for message in program.messages] == []
    drawn = draw(program, 2, T=3, V=3)
    e = drawn.parameters["e"]
    before = np.vstack([np.zeros(2), e[drawn.inputs["w"].astype(int)[:-1]]])
    weights = {n: v for n, v in drawn.parameters.items() if n != "e"}
    part = load(stack, fills={"CELL": cell})
    h = part.interpret({"x": before}, weights, sizes={"L": 2})["h"]
    close(run(program, drawn)["P"], softmax(h[-1] @ e.T))


def test_an_encoder_with_blanks() -> None:
    """Only blanks count, and what stood there is not read."""
    program = load("encoder", "masked")
    assert [message.render() for message in program.messages] == []
    inputs = {n for n, t in program.code.tensors.items() if t.role == "input"}
    assert inputs == {"w", "u", "m"}
    drawn = draw(program, 2, T=3, V=4)
    drawn.inputs["m"] = np.array([1.0, 0.0, 1.0])
    result = run(program, drawn)
    part = model("encoder")
    own = {n: drawn.parameters[n] for n, t in part.code.tensors.items() if t.role == "parameter"}
    layers = part.interpret({"w": drawn.inputs["w"]}, own, sizes=drawn.sizes, draws=drawn.draws)[
        "L"
    ]
    P = softmax(layers[-1] @ drawn.parameters["e"].T - drawn.parameters["B^P"])
    close(result["P"], P)
    u = drawn.inputs["u"].astype(int)
    assert result.loss == pytest.approx(-(np.log(P[0, u[0]]) + np.log(P[2, u[2]])) / 2)


def test_two_directions_and_a_head() -> None:
    program = load("bidirectional", "blank_log_loss", "x[t,k] = e[w[t],k]")
    assert [message.render() for message in program.mistakes] == []
    whole = model("blank_rnn")
    drawn = draw(whole, 3)
    close(program.interpret(drawn.inputs, drawn.parameters)["P"], run(whole, drawn)["P"])


@pytest.mark.parametrize(
    "names",
    [
        "rnn_lm temperature",  # both define P
        "rnn_lm log_loss",  # both define loss; P is the same in both
        "temperature log_loss",
        "transformer focus near",  # both define the total
    ],
)
def test_two_definitions_are_a_mistake(names: str) -> None:
    assert {message.code for message in load(*names.split()).errors} == {"defined-twice"}
