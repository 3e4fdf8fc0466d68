"""Matrices that are turned and inverted in brackets, beside NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from indicial.library.loading import load

N = 4


def matrix(seed: int = 0) -> np.ndarray:
    """One that cannot be eliminated without exchanging rows."""
    found = np.random.default_rng(seed).normal(size=(N, N))
    found[0, 0] = 0
    return found


@pytest.mark.parametrize("sign", ["A^⊤", "A^T", "A^{\\top}", "(A)^⊤"])
def test_a_turned_matrix_is_no_new_parameter(sign: str) -> None:
    program = load(f"input x[i]\ny[j] = A[j,I] x[I]\nz[i] = {sign}[i,J] y[J]")
    assert not program.mistakes
    assert [n for n, t in program.code.tensors.items() if t.role == "parameter"] == ["A"]
    a, x = np.random.default_rng(1).normal(size=(3, 2)), np.array([1.0, -2.0])
    found = program.interpret({"x": x}, {"A": a})
    np.testing.assert_allclose(found["z"], a.T @ (a @ x))


def test_names_stay_names() -> None:
    """`W^T` where there is no W, and a name that the text defines itself."""
    code = load("input x[i]\ny[j] = W^T[j,I] x[I]").code
    assert "W^T" in code.tensors
    code = load("input x[i]\nA^{-1}[i,j] = [i = j]\ny[i] = A^{-1}[i,J] x[J]").code
    assert [s.target for s in code.statements] == ["A^{-1}", "y"]


def test_an_inverse_and_its_gradient() -> None:
    program = load("input x[i]\ny[j] = A^{-1}[j,I] x[I] + 2 A[j,I] x[I]\nz[j] = A^{-⊤}[j,I] x[I]")
    assert not program.mistakes
    assert len(program.cost.parameters.names) == 1
    a, x = matrix(), np.random.default_rng(2).normal(size=N)
    found = program.interpret({"x": x}, {"A": a})
    np.testing.assert_allclose(found["y"], np.linalg.solve(a, x) + 2 * a @ x, rtol=1e-10)
    np.testing.assert_allclose(found["z"], np.linalg.solve(a.T, x), rtol=1e-10)
    np.testing.assert_allclose(found["A^{-1}"], np.linalg.inv(a), rtol=1e-10)
    sizes = dict.fromkeys(program.code.sizes, N)
    module = program.compile(sizes=sizes, start={"A": torch.tensor(a)}, dtype=torch.float64)
    given = torch.tensor(x)
    ours = module(want=["y", "z"], x=given[None])
    weights = torch.arange(1.0, N + 1, dtype=torch.float64)
    (slope,) = torch.autograd.grad(((ours["y"] + ours["z"]) * weights).sum(), module.parameter("A"))
    other = torch.tensor(a, requires_grad=True)
    y = torch.linalg.solve(other, given) + 2 * other @ given + torch.linalg.inv(other).T @ given
    torch.testing.assert_close((ours["y"] + ours["z"])[0], y)
    torch.testing.assert_close(slope, torch.autograd.grad((y * weights).sum(), other)[0])


def test_one_inverse_for_each_step() -> None:
    program = load("""
input x[t,i]
A[t,i,j] = x[t,i] x[t,j] + 1/2 [i = j]
y[t,j] = A^{-1}[t,j,I] x[t,I] τ^{-1}[j]
""")
    assert not program.mistakes
    x, tau = np.random.default_rng(3).normal(size=(5, 3)), np.array([2.0, 3.0, 5.0])
    found = program.interpret({"x": x}, {"τ": tau})["y"]
    want = [np.linalg.solve(np.outer(row, row) + np.eye(3) / 2, row) / tau for row in x]
    np.testing.assert_allclose(found, want, rtol=1e-10)
    module = program.compile(I=3, start={"τ": torch.tensor(tau)}, dtype=torch.float64)
    ours = module(want=["y"], x=torch.tensor(x)[None])["y"][0]
    np.testing.assert_allclose(ours.detach().numpy(), want, rtol=1e-10)
