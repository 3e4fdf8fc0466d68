"""Matrices that are turned and inverted in brackets, beside NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from indicial.library.loading import load
from indicial.program.program import Program

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


def test_inverses_in_vector_style() -> None:
    """What is inverted may be a name, a name with an index, or any expression, turned or not."""
    random = np.random.default_rng(3)
    x, y, a = random.normal(size=(5, 3)), random.normal(size=5), random.normal(size=(3, 3))
    program = Program.of_text(
        "matrix X[N,D], A[D,D']\nvector y[N]\n"
        "w = (X^⊤ X + 2 I)^{-1} X^⊤ y\nu = A^{-1} w\nv = A^{-⊤} w\ns = w^⊤ (A A^⊤)^{-1} w"
    )
    assert not program.mistakes
    found = program.interpret({"y": y}, {"X": x, "A": a})
    w = np.linalg.solve(x.T @ x + 2 * np.eye(3), x.T @ y)
    np.testing.assert_allclose(found["w"], w)
    np.testing.assert_allclose(found["u"], np.linalg.solve(a, w))
    np.testing.assert_allclose(found["v"], np.linalg.solve(a.T, w))
    np.testing.assert_allclose(found["s"], w @ np.linalg.inv(a @ a.T) @ w)


@pytest.mark.parametrize("top", [r"^\top", "^T", r"^{\mathsf T}", "'"])
@pytest.mark.parametrize("bold", ["", r"\mathbf "])
def test_an_inverse_in_vector_style_for_each_step(top: str, bold: str) -> None:
    """The gain of a Kalman filter: whatever turns the H before the bracket, only the bracket is inverted."""
    text = r"@K_t = @P_t @H^\top (@H @P_t @H^\top + @R)^{-1}"
    program = Program.of_text(
        text.replace("@", bold).replace(r"^\top", top), latex=True, document=True
    )
    assert not program.mistakes
    random = np.random.default_rng(4)
    p, h, r = random.normal(size=(2, 3, 3)), random.normal(size=(2, 3)), random.normal(size=(2, 2))
    roles = {n: t.role for n, t in program.code.tensors.items()}
    given = {"P": p, "H": h, "R": r}
    inputs = {n: v for n, v in given.items() if roles[n] == "input"}
    found = program.interpret(inputs, {n: v for n, v in given.items() if n not in inputs})
    expected = [q @ h.T @ np.linalg.inv(h @ q @ h.T + r) for q in p]
    np.testing.assert_allclose(found["K"], expected, rtol=1e-8)


@pytest.mark.parametrize(
    "text", ["y = Σ_{i,j} A^{-1}[i,j]", "y = A^{-1}[I,I]", "y = max_i A^{-1}[i,i]"]
)
def test_a_size_is_called_by_the_letters_of_the_text(text: str) -> None:
    assert load(text).code.sizes == {"I": None}
