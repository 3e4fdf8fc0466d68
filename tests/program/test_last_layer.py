"""A capital that names the last layer, and the sums that an equation is read with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from indicial.library.loading import load, load_document
from indicial.program.explain.facts import read

BELOW = """
input x[t,j]
h_0[t,j] = x[t,j]
h_{ℓ+1}[t,j] = tanh(W_{ℓ+1}[j,I] h_ℓ[t,I])
"""
IN_BRACKETS = """
input x[t,j]
h[0,t,j] = x[t,j]
h[ℓ+1,t,j] = tanh(W[ℓ+1,j,I] h[ℓ,t,I])
"""
BACKWARD = """
input x[t,j]
h_0[t,j] = x[t,j]
h_ℓ[t,j] = tanh(W_ℓ[j,I] h_{ℓ-1}[t,I])
"""
T, J, L = 3, 2, 4


def layers(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    h = [x]
    for weight in weights:
        h.append(np.tanh(h[-1] @ weight.T))
    return np.array(h)


Oracle = Callable[..., np.ndarray]
SQUARES: Oracle = lambda h, w, s: (h[-1] ** 2).sum(1)  # noqa: E731


@pytest.mark.parametrize(
    ("stack", "line", "oracle"),
    [
        (BELOW, "y[t] = h_L[t,J] h_L[t,J]", SQUARES),
        (IN_BRACKETS, "y[t] = h[L,t,J] h[L,t,J]", SQUARES),
        (BACKWARD, "y[t] = h_L[t,J] h_L[t,J]", SQUARES),
        (BELOW, "y[t] = (h_L[t,J] h_L[t,J])^2", lambda h, w, s: (h[-1] ** 2).sum(1) ** 2),
        (BELOW, "y[t] = h_L[t,J] h_L[t,J] + h_L[t,J] h_L[t,J] h_L[t,J]",
         lambda h, w, s: (h[-1] ** 2 + h[-1] ** 3).sum(1)),
        (BELOW, "y[t] = h_L[t,J] h_{L-1}[t,J] h_L[0,J]",
         lambda h, w, s: (h[-1] * h[-2] * h[-1][0]).sum(1)),
        (BELOW, "y[t,j] = W_L[j,I] h_L[t,I]", lambda h, w, s: h[-1] @ w[-1].T),
        (BACKWARD, "y[t,j] = W_L[j,I] h_L[t,I]", lambda h, w, s: h[-1] @ w[-1].T),
        (IN_BRACKETS, "y[t,j] = W[L,j,I] h[L,t,I]", lambda h, w, s: h[-1] @ w[-1].T),
        (IN_BRACKETS, "y[t,j] = s[L] h[L,t,j]", lambda h, w, s: np.einsum("l,ltj->tj", s, h)),
        (IN_BRACKETS, "y[t,j] = Σ_ℓ s[ℓ] h[ℓ,t,j]", lambda h, w, s: np.einsum("l,ltj->tj", s, h)),
    ],
)  # fmt: skip
def test_the_last_layer_however_often_it_occurs(stack: str, line: str, oracle: Oracle) -> None:
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(T, J)), rng.normal(size=(L, J, J))
    s = rng.normal(size=L + 1)
    program = load(stack + line)
    parameters = {"W": w, "s": s} if "s[" in line else {"W": w}
    found = program.interpret({"x": x}, parameters)["y"]
    np.testing.assert_allclose(found, oracle(layers(x, w), w, s), rtol=1e-12)


def test_explain_shows_every_sum_that_has_no_sign() -> None:
    program = load("""
input x[i], z[t,j]
for j, i: h[j] += W[j,i] x[i]
E[k] = E'[k,I] x[I]
y[t,J] = layernorm(z[t,J] + A[J,K] E[K])
m = Σ_t mean_j z[t,j]
c = Σ_T z[T,J] z[T,J]
claim E[K] E[K] ≥ 0
""")
    assert read(program).summed == {
        "h": ["i"], "E": ["I"], "y": ["K"], "c": ["J", "T"], "“E[K] E[K] ≥ 0”": ["K"],
    }  # fmt: skip
    text = program.explain()
    assert "\nsummed " in text and "h: i" in text


def test_no_sum_of_the_library_is_invisible() -> None:
    """What `explain` lists are the capitals that stand in two factors and not on the left."""
    summed = read(load("transformer")).summed
    assert summed == {
        "Query": ["J"], "Key": ["J"], "Value": ["J"], "α": ["I"], "h̃": ["T"], "A": ["C"],
        "F": ["J"], "L": ["D"], "P": ["J"],
    }  # fmt: skip


def test_what_only_the_layer_itself_reads_has_the_layers_one_to_the_last(tmp_path: Path) -> None:
    """In a display by itself, where nothing says what α_{ℓ+1} is."""
    path = tmp_path / "notes.md"
    path.write_text(
        r"$$h_{\ell+1}[t,i] = \alpha_{\ell+1}[t,T] \text{Value}_{\ell+1}[T,i] + u_{\ell}[t,i]$$",
        encoding="utf-8",
    )
    (program,) = load_document(path)
    random = np.random.default_rng(0)
    given = {"α": random.normal(size=(3, 4, 4)), "Value": random.normal(size=(3, 4, 2))}
    given["u"] = random.normal(size=(3, 4, 2))
    found = program.interpret(given)["h"]
    np.testing.assert_allclose(found, given["α"] @ given["Value"] + given["u"])
