"""What a program predicts, read from its equations."""

from __future__ import annotations

import pytest

from indicial.tasks.forms import form_of
from indicial.tasks.programs import trainable

TAGS = """
input x[t] in V
input y[t] in C
P(y[t] | x) = softmax_{y_t} U[y_t,J] e[x[t],J]
"""
CLASS = """
input x[t] in V
input y in C
h[j] = mean_t e[x[t],j]
P(y | x) = softmax_y U[y,J] h[J]
"""
POINT = """
input x[t] in V
input head[t] in T
P(head_t = s | x) = softmax_s e[x[t],J] f[x[s],J]
"""
NUMBER = """
input x[t,k]
input y
ŷ = mean_t v[K] x[t,K]
loss = (ŷ - y)^2
"""
CODES = """
input x[k]
h[j] = tanh(W[j,K] x[K])
y[k] = W'[k,J] h[J]
loss = Σ_k (y[k] - x[k])^2
"""
OTHER = "input x[k]\ninput z[k]\nloss = Σ_k W[k,I] x[I] z[k]"


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("bahdanau", "sequence", "w from x and from the words before it: sequence to sequence"),
        (
            "captioning_features",
            "sequence",
            "w from M and from the words before it: sequence to sequence",
        ),
        (TAGS, "tags", "y from x: tagging"),
        (CLASS, "label", "y from x: classification"),
        (POINT, "places", "head from x: pointing"),
        (NUMBER, "numbers", "y from x: regression"),
        (CODES, "numbers", "x from itself: regression"),
        (OTHER, "loss", "trained on loss, and scored by it alone"),
    ],
)
def test_the_form_of_a_program(text: str, kind: str, says: str) -> None:
    found = trainable([text])
    assert found.task == "columns"
    form = form_of(found.program)  # the loss of a probability need not be written
    assert form.kind == kind and says in form.says


def test_the_loss_that_is_added_is_that_of_the_names_of_the_program() -> None:
    written = "P(y[t] | x) = softmax_{y_t} U[y_t,J] e[x[t],J]"
    found = trainable([TAGS.replace(written, written.replace("P(", "p("))])
    assert found.program.code.loss == "loss"
