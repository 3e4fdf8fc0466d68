"""`(k,i)`: pairs in one axis, written and read again, in the interpreter and compiled."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from indicial import IndicialError
from indicial.program.program import Program

K, I, T = 3, 2, 4  # noqa: E741  (the sizes of the text)
x = np.random.default_rng(1).normal(size=(T, K, I))
flat = x.reshape(T, K * I)
w = np.random.default_rng(2).normal(size=(5, K * I))


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("input x[t,k,i]\nc[t,(k,i)] = x[t,k,i]\ny[t,j] = W[j,(K,I)] c[t,(K,I)]", x, flat @ w.T),
        ("input x[t,(k,i)]\ny[t,j] = W[j,(K,I)] x[t,(K,I)]", flat, flat @ w.T),
        ("input x[t,(k,i)]\ny[t,k,i] = x[t,(k,i)]", flat, x),
        ("input x[t,(k,i)]\ny[t,m,n] = 2 x[t,(m,n)]", flat, 2 * x),
        ("input x[t,(k,i)]\ny[k,t,i] = x[t,(k,i)] + y[k-1,t,i]", flat,
         np.cumsum(x, axis=1).swapaxes(0, 1)),
        ("input x[t,k,i]\na[(t,k,i)] = x[t,k,i]\ny[t,k,i] = a[(t,k,i)] + y[t-1,k,i]", x,
         np.cumsum(x, axis=0)),
        ("input x[t,k,i]\na[t,(k,i)] = x[t,k,i]\nb[t,(k,i)] = x[t,k,i]^2\ny[t] = a[t,J] b[t,J]", x,
         (x**3).sum((1, 2))),
    ],
)  # fmt: skip
def test_what_is_written_in_pairs_is_read_in_pairs(
    text: str, given: np.ndarray, expected: np.ndarray
) -> None:
    program = Program.of_text(text)
    assert not program.errors, program.errors[0].render()
    weights = {"W": w} if "W[" in text else {}
    free = [n for n, t in program.code.tensors.items() if t.role == "parameter"]
    assert free == list(weights)
    sizes = {n: v for n, v in (("K", K), ("I", I), ("J", 5)) if n in program.code.sizes}
    sizes |= {n: v for n, v in (("M", K), ("N", I)) if n in program.code.sizes}
    found = program.interpret({"x": given}, weights, sizes=sizes)["y"]
    np.testing.assert_allclose(found, expected)
    module = program.compile(sizes=sizes).double()
    for name in weights:
        module.parameter(name).data.copy_(torch.from_numpy(w))
    np.testing.assert_allclose(module(x=torch.from_numpy(given))["y"].detach(), expected)


def test_sizes_that_cannot_be_the_same() -> None:
    """First meets first: 2 of k and 3 of it are told, though 2 · 3 = 3 · 2."""
    program = Program.of_text(
        "a[k] = [1, 2]\nb[i] = [1, 2, 3]\nc[(k,i)] = a[k] b[i]\nd[m] = [4, 5, 6]\n"
        "y[m,n] = c[(m,n)] d[m]"
    )
    with pytest.raises(IndicialError, match=r"mismatched sizes: (2 and 3|3 and 2)"):
        program.interpret({})


def test_a_pair_that_stands_alone() -> None:
    (error,) = Program.of_text("input x[t,(k,i)]\ny[t] = x[t,(K,I)]").errors
    assert "K occurs only once" in error.render()
