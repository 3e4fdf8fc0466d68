"""Probabilities of a label, and of a value that is named: `P(y | x)`, `P(head_t = s | x)`."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.library.loading import load
from indicial.program.program import Program

CLASSIFIER = """
input x[t] in V
input y in C
h[j] = mean_t e[x[t],j]
P(y | x) = softmax_y U[y,J] h[J]
loss = -ln P(y | x)
"""
POINTER = """
input x[t] in V
input head[t] in T
P({left} | x) = softmax_{{{over}}} e[x[t],J] f[x[{at}],J]
loss = 1/T Σ_t -ln P(head_t | x)
"""
RANDOM = np.random.default_rng(0)
E, F, U = (RANDOM.normal(size=(4, 3)) for _ in range(3))


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize(
    "text",
    [
        CLASSIFIER,
        CLASSIFIER.replace("P(y | x) = softmax_y U[y,J]", "P(y = c | x) = softmax_c U[c,J]"),
        CLASSIFIER.replace("ln P(y | x)", "ln P(y | …)"),
        CLASSIFIER.replace("ln P(y | x)", "ln P(y)"),
    ],
)
def test_the_probability_of_a_label(text: str) -> None:
    program = load(text)
    assert program.mistakes == []
    for y in range(4):
        found = program.interpret({"x": [1, 3, 3], "y": y}, {"e": E, "U": U})
        expected = softmax(U @ E[[1, 3, 3]].mean(0))
        assert np.allclose(found["P"], expected)
        assert np.isclose(found.loss, -np.log(expected[y]))


def test_a_label_in_a_batch_by_the_module() -> None:
    torch = pytest.importorskip("torch")
    program = load(CLASSIFIER)
    module = program.compile(V=4, J=3, C=4)
    with torch.no_grad():
        module.parameter("e").copy_(torch.tensor(E))
        module.parameter("U").copy_(torch.tensor(U))
    x, y = torch.tensor([[1, 3, 3], [2, 0, 0]]), torch.tensor([2, 1])
    loss = module(x=x, y=y, lengths={"T": [3, 1]}).loss
    rows = [softmax(U @ E[[1, 3, 3]].mean(0))[2], softmax(U @ E[[2]].mean(0))[1]]
    assert loss.item() == pytest.approx(float(-np.log(rows).mean()), rel=1e-5)


def pointer(left: str, over: str, at: str) -> Program:
    return load(POINTER.format(left=left, over=over, at=at))


@pytest.mark.parametrize(
    ("left", "over", "at"),
    [("head_t = s", "s", "s"), ("head[t] = s", "s", "s"), ("head_t", "head_t", "head_t")],
)
def test_the_probability_of_a_place(left: str, over: str, at: str) -> None:
    program = pointer(left, over, at)
    assert program.mistakes == []
    x, head = [0, 2, 1, 3], [1, 1, 3, 0]
    found = program.interpret({"x": x, "head": head}, {"e": E, "f": F})
    expected = np.array([softmax(E[x[t]] @ F[x].T) for t in range(4)])
    assert np.allclose(found["P"], expected)
    assert np.isclose(found.loss, -np.mean([np.log(expected[t, head[t]]) for t in range(4)]))


def test_a_value_that_is_said_on_a_right_side() -> None:
    program = load(
        POINTER.format(left="head_t = s", over="s", at="s") + "c[s] = Σ_t P(head_t = s | x)"
    )
    assert program.mistakes == []
    found = program.interpret({"x": [0, 2, 1], "head": [1, 1, 0]}, {"e": E, "f": F})
    assert np.allclose(found["c"], found["P"].sum(0))


def test_a_sum_over_labels_still_binds_them() -> None:
    program = load(CLASSIFIER + "m = Σ_y P(y) v[y]")
    assert program.mistakes == []
    v = RANDOM.normal(size=4)
    found = program.interpret({"x": [1, 2], "y": 3}, {"e": E, "U": U, "v": v})
    assert np.isclose(found["m"], found["P"] @ v)


@pytest.mark.parametrize("given", ["", " | t", " | t, x", " | x"])
def test_a_sum_over_a_table_of_probabilities(given: str) -> None:
    """What is given and has a letter of the equation is an axis of the table; other names say nothing."""
    table = "P[y,t]" if "t" in given else "P[y]"
    program = load(f"input x[t]\nparameter v[y], {table}\nm[t] = x[t] + Σ_y P(y{given}) v[y]")
    assert not program.messages
    x, v, P = RANDOM.normal(size=3), RANDOM.normal(size=4), RANDOM.uniform(size=(4, 3))
    held = P if "t" in given else P[:, 0]
    found = program.interpret({"x": x}, {"v": v, "P": held})
    assert np.allclose(found["m"], x + v @ held)
