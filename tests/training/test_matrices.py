"""Which axes are rows, which are columns: read off the equations."""

import pytest

import indicial
from indicial.training.equations import matrices

T = "input x[t,k]\n"


def letters(text: str, name: str = "W") -> str:
    """`ℓ | k i | j`: the stack, the rows and the columns of a parameter; empty if it is none."""
    code = indicial.load(text).code
    found = matrices(code).get(name)
    if found is None:
        return ""
    own = [axis.letter or "·" for axis in code.tensors[name].axes]
    sides = (found.stack, found.rows, found.columns)
    return " | ".join(" ".join(own[axis] for axis in side) for side in sides).strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{T}y[t,j] = W[j,K] x[t,K]", "| j | k"),
        (f"{T}y[t,j] = x[t,K] W[K,j]", "| j | k"),
        (f"{T}y[h,t,i] = W[h,i,K] x[t,K]", "| h i | k"),
        # each h has data of its own: a stack
        (f"{T}x'[h,t,k] = a[h] x[t,k]\ny[h,t,i] = W[h,i,K] x'[h,t,K]", "h | i | k"),
        # a chain of maps, from the data on
        (f"{T}y[t,j] = U[j,I] W[I,K] x[t,K]", "| i | k"),
        # a form, one for each head
        (f"{T}y[h,s,t] = x[s,I] W[h,I,J] x[t,J]", "h | · | ·"),
        (f"{T}y[t,j] = -2/K W[j,K] x[t,K]", "| j | k"),
        (f"{T}y[t,j] = tanh(W[j,K] x[t,K] - B[j])", "| j | k"),
        # read twice, once transposed: still the same matrix
        (f"{T}y[t,j] = W[j,K] x[t,K]\nz[t,k] = y[t,J] W[J,k]", "| j | k"),
        # no maps
        (f"{T}y[t,j] = W[j] x[t,j]", ""),
        (f"{T}y[t] = W[K] x[t,K]", ""),
        (f"{T}parameter W[t,k]\ny[t,k] = x[t,k] + W[t,k]", ""),
        (f"{T}y[t,j] = W[j,K] x[t,K]\nz[j,k] = tanh(W[j,k])", ""),
        ("input w[t] in V\ny[t,j] = W[w[t],j]", ""),
        ("input w[t] in V\ny[t,j] = U[j,I] W[w[t],I]", ""),
    ],
)
def test_axes(text: str, expected: str) -> None:
    found = letters(text)
    assert [len(side.split()) for side in found.split("|")] == [
        len(side.split()) for side in expected.split("|")
    ]
    if "·" not in expected:
        assert found == expected


@pytest.mark.parametrize(
    ("model", "name", "expected"),
    [
        ("transformer", "W^Q", "ℓ | k i | j"),
        ("transformer", "W^O", "ℓ | j | c"),
        ("transformer", "W^1", "ℓ | d | j"),
        ("transformer", "e", ""),  # looked up, and it scores the words
        ("transformer", "pos", ""),
        ("transformer", "B^1", ""),
        ("trigram", "U", ""),  # scores the words
        ("gpt2", "g^N", ""),
        ("ugrnn", "W^{h,R}", "| j | i"),
        ("rnn_lm", "h^{start}", ""),
        ("causal_cnn", "W", "ℓ | i | Δt i"),
        ("ugcnn", "W^R", "ℓ | j | Δx Δy i"),
        ("merged_attention", "W^{QK}", "k | j | j"),
        # the encoder's output has no layers, and each layer has a matrix all the same
        ("encoder_decoder", "W^{K,X}", "ℓ | k i | j"),
    ],
)
def test_library(model: str, name: str, expected: str) -> None:
    assert letters(model, name) == expected


def test_shape() -> None:
    code = indicial.load("transformer").code
    assert matrices(code)["W^Q"].shape((3, 2, 5, 7)) == (3, 10, 7)
