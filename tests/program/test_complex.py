"""Complex numbers, read as pairs of real ones: beside NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from indicial.library.loading import load

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=5), RNG.normal(size=5)
Z = A + 1j * B


@pytest.mark.parametrize(
    ("right", "want"),
    [
        ("exp(a[t] + 1i b[t])", np.exp(Z)),
        ("exp(a[t] + 1j b[t])", np.exp(Z)),
        ("e^{a[t] + i b[t]}", np.exp(Z)),
        ("exp(i b[t])", np.exp(1j * B)),
        ("exp(a[t] + \\mathrm{i} b[t])", np.exp(Z)),
        ("2i a[t]", 2j * A),
        ("(a[t] + 1i b[t]) (b[t] - 1i a[t])", Z * (B - 1j * A)),
        ("(a[t] + 1i b[t])^2", Z**2),
        ("1 / (a[t] + 1i b[t])", 1 / Z),
        ("(b[t] + 1i) / (a[t] - 1i b[t])", (B + 1j) / (A - 1j * B)),
        ("conj(a[t] + 1i b[t]) (1 + 2i)", np.conj(Z) * (1 + 2j)),
        ("-Σ_{t' ≤ t} (a[t'] + 1i b[t'])", -np.cumsum(Z)),
        ("cases { 1i a[t] if t > 1, b[t] otherwise }", np.where(np.arange(5) > 1, 1j * A, B)),
    ],
)
def test_a_complex_value_is_a_pair(right: str, want: np.ndarray) -> None:
    program = load(f"input a[t], b[t]\ny[t] = {right}")
    assert not program.errors, program.errors
    assert not [t for t in program.code.tensors.values() if t.role == "parameter"]
    found = program.interpret({"a": A, "b": B})
    np.testing.assert_allclose(found["y^{re}"], want.real, atol=1e-12)
    np.testing.assert_allclose(found["y^{im}"], want.imag, atol=1e-12)


@pytest.mark.parametrize(
    ("right", "want"),
    [
        ("Re(exp(a[t] + 1i b[t]))", np.exp(Z).real),
        ("2 Im(exp(a[t] + 1i b[t])) + a[t]", 2 * np.exp(Z).imag + A),
        ("|a[t] + 1i b[t]|", np.abs(Z)),
        ("|exp(a[t] + 1i b[t])|^2", np.abs(np.exp(Z)) ** 2),
        ("Re((a[t] + 1i b[t]) conj(a[t] + 1i b[t]))", np.abs(Z) ** 2),
        ("\\operatorname{Re}((1 + 1i) b[t])", B),
    ],
)
def test_a_part_of_it_is_real(right: str, want: np.ndarray) -> None:
    program = load(f"input a[t], b[t]\ny[t] = {right}")
    assert not program.errors, program.errors
    np.testing.assert_allclose(program.interpret({"a": A, "b": B})["y"], want, atol=1e-12)


LINEAR = """
input u[t,d]
λ[n] = exp(-exp(ν[n]) + 1i exp(θ[n]))
γ[n] = sqrt(1 - |λ[n]|^2)
x[t,n] = λ[n] x[t-1,n] + γ[n] (B^{re}[n,D] + 1i B^{im}[n,D]) u[t,D]
y[t,d] = Re((C^{re}[d,N] + 1i C^{im}[d,N]) x[t,N]) + D[d] u[t,d]
"""


def test_a_linear_recurrent_unit() -> None:
    """Orvieto et al. 2023, beside PyTorch's complex numbers, with gradients."""
    program = load(LINEAR)
    assert not program.errors, program.errors
    rng = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return 0.5 * torch.randn(*shape, generator=rng, dtype=torch.float64)

    p = {"ν": draw(3), "θ": draw(3), "B^{re}": draw(3, 2), "B^{im}": draw(3, 2),
         "C^{re}": draw(2, 3), "C^{im}": draw(2, 3), "D": draw(2)}  # fmt: skip
    u = draw(6, 2)
    module = program.compile(N=3, D=2, start=p, dtype=torch.float64)
    ours = module(want=["y"], u=u[None])["y"][0]
    q = {name: value.clone().requires_grad_() for name, value in p.items()}
    rate = torch.exp(torch.complex(-q["ν"].exp(), q["θ"].exp()))
    scale = torch.sqrt(1 - rate.abs() ** 2)
    b, c = (torch.complex(q[f"{n}^{{re}}"], q[f"{n}^{{im}}"]) for n in "BC")
    state, out = torch.zeros(3, dtype=torch.complex128), []
    for row in u:
        state = rate * state + scale * (b @ row.to(torch.complex128))
        out.append((c @ state).real + q["D"] * row)
    want = torch.stack(out)
    torch.testing.assert_close(ours, want)
    slopes = torch.autograd.grad((want**2).sum(), list(q.values()))
    found = torch.autograd.grad((ours**2).sum(), [module.parameter(name) for name in q])
    for one, other in zip(found, slopes, strict=True):
        torch.testing.assert_close(one, other)
    numbers = program.interpret({"u": u.numpy()}, {n: v.numpy() for n, v in p.items()})["y"]
    np.testing.assert_allclose(numbers, want.detach().numpy(), rtol=1e-10)


def test_rotary_positions_as_a_rotation() -> None:
    """Su et al. 2021, equation 12: the score depends on the distance only."""
    program = load("""
input q[t,d], k[t,d]
range n = 0..N-1
z[t,n] = (q[t,2n] + 1i q[t,2n+1]) exp(1i t θ[n])
v[t,n] = (k[t,2n] + 1i k[t,2n+1]) exp(1i t θ[n])
a[t,s] = Re(z[t,N] conj(v[s,N]))
""")
    assert not program.errors, program.errors
    rng = np.random.default_rng(1)
    q, k, angle = rng.normal(size=(5, 6)), rng.normal(size=(5, 6)), rng.normal(size=3)
    turns = np.exp(1j * np.arange(5)[:, None] * angle)
    z, v = (q[:, ::2] + 1j * q[:, 1::2]) * turns, (k[:, ::2] + 1j * k[:, 1::2]) * turns
    found = program.interpret({"q": q, "k": k}, {"θ": angle})
    np.testing.assert_allclose(found["a"], (z @ v.conj().T).real, atol=1e-12)


def test_an_index_is_no_unit() -> None:
    program = load("input x[i]\ny[i] = (2i + 1) x[i] + i")
    assert not program.errors
    found = program.interpret({"x": [1.0, 2.0, 3.0]})["y"]
    np.testing.assert_allclose(found, [1, 7, 17])


@pytest.mark.parametrize(
    "right", ["tanh(a[t] + 1i b[t])", "(a[t] + 1i b[t])^t", "softmax_t (1i a[t])"]
)
def test_what_has_no_rule_is_refused_with_the_form_to_write(right: str) -> None:
    program = load(f"input a[t], b[t]\ny[t] = {right}")
    (message,) = [m for m in program.errors if m.code == "complex"]
    assert "complex number is not supported" in message.text
    assert "exp(a + 1i b) is exp(a) cos(b) + 1i exp(a) sin(b)" in message.hint
