"""Answers in vector style: the same values as with indices written."""

import pytest

from indicial.exercises.asking import ask
from indicial.exercises.grading import Grader

SHEET = """\
# Vectors

## A head

```indicial
input x[t,j], w[t] in V
Query[k,t,i] = W^Q[k,i,J] x[t,J]
Key[k,t,i] = W^K[k,i,J] x[t,J]
G_1[t,j] = σ(U[j,I] x[t,I])
```

<!-- gap: M, s, α, y, z, u -->

```indicial
M[k,j_1,j_2] = W^Q[k,I,j_1] W^K[k,I,j_2]
s[k,t_1,t_2] = Query[k,t_1,I] Key[k,t_2,I]
α[k,t_1,t_2] = softmax_{t_2} s[k,t_1,t_2]
y[k,t,j] = α[k,t,T] x[T,j]
z[t,j] = G_1[t,j] x[t-1,j] + (1 - G_1[t,j]) tanh(U[j,I] x[t,I] + e[w[t],j])
u[t] = 1/2 x[t,J] x[t,J]
```
"""

RIGHT = {
    "2.1": ["(W^Q)^⊤ W^K", r"{W^Q}^\top W^K", r"W_k^{Q\top} W_k^K"],
    "2.2": [
        r"Query_{k,t_1}^\top Key_{k,t_2}",
        "Query (Key)^⊤",
        "Query Key^⊤",
        r"x_{t_1}^\top M_k x_{t_2}",
        "x M x^⊤",
    ],
    "2.3": ["softmax(s)", "softmax(Query Key^⊤)"],
    "2.4": ["α x"],
    "2.5": [
        "G_1 ⊙ x_{t-1} + (1 - G_1) ⊙ tanh(U x_t + e_{w_t})",
        r"G_{1,t} x_{t-1} + (1 - G_{1,t}) \tanh(U x_t + e_{w_t})",
    ],
    "2.6": [r"\frac{1}{2} x_t^\top x_t"],
}
WRONG = {
    "2.1": ["(W^K)^⊤ W^Q", "W^Q (W^K)^⊤", "W^Q W^K"],
    "2.2": ["Key Query^⊤", r"Query_{k,t_1} Key_{k,t_2}^\top"],
    "2.4": ["α^⊤ x"],
    "2.6": ["x_t x_t"],
}


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(ask(SHEET, "vectors.md"))


@pytest.mark.parametrize("label, answer", [(n, a) for n, several in RIGHT.items() for a in several])
def test_the_same_in_vector_style_is_right(grader: Grader, label: str, answer: str) -> None:
    found = grader.grade(label, answer)
    assert (found.share, found.told) == (1, found.told)


@pytest.mark.parametrize("label, answer", [(n, a) for n, several in WRONG.items() for a in several])
def test_another_product_is_not(grader: Grader, label: str, answer: str) -> None:
    assert grader.grade(label, answer).share == 0
