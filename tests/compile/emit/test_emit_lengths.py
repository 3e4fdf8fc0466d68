"""Lengths: each example of a batch gives what it gives alone, whatever stands in its padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from emitting import Arrays, batch, code, defined, draw, model, source, tensors

from indicial import library
from indicial.program.ir import Code
from indicial.program.meaning.arrays import stored_extents
from indicial.program.meaning.interpret import interpret

RAGGED = ("T", "T_{in}", "S", "N", "X", "Y")
"""Sizes that differ from example to example: of texts, memories and images."""


def lengths_of(program: Code) -> dict[str, list[int]]:
    inputs = [t for t in program.tensors.values() if t.role == "input"]
    read = {e.name for t in inputs for e in stored_extents(t)}
    # How many there are to choose among is the same for all: the drawn choice may be any of them.
    chosen = {n for t in inputs if t.values is not None for n in t.values.names}
    ragged = [n for n in RAGGED if n in read - chosen]
    return {n: [4, 2, 3] if number % 2 == 0 else [3, 4, 2] for number, n in enumerate(ragged)}


def spoiled(program: Code, arrays: Arrays, lengths: dict[str, list[int]]) -> Arrays:
    """The inputs with nan, or a token that there is not, beyond each example's length."""
    result = {}
    for name, tensor in arrays.items():
        inside = torch.ones_like(tensor, dtype=torch.bool)
        for axis, extent in enumerate(stored_extents(program.tensors[name])):
            if extent.name in lengths:
                for member, length in enumerate(lengths[extent.name]):
                    inside[member].transpose(0, axis)[length:] = False
        token = not tensor.is_floating_point()
        result[name] = torch.where(inside, tensor, 10**6 if token else torch.nan)
    return result


def agree(program: Code, lengths: dict[str, list[int]]) -> None:
    longest = {n: max(v) for n, v in lengths.items()}
    drawn = [draw(program, 2, seed, **longest) for seed in range(3)]
    inputs, parameters = batch([d.inputs for d in drawn]), drawn[0].parameters
    sizes = {n: v for n, v in drawn[0].sizes.items() if n not in lengths}
    expected = interpret(
        program, inputs, parameters, sizes=sizes, lengths=lengths, draws=drawn[0].draws
    )
    text = source(program, ragged=frozenset(lengths))
    p = {n: t.requires_grad_() for n, t in tensors(program, parameters).items()}
    x = spoiled(program, tensors(program, inputs), lengths)
    x = {n: t.requires_grad_() if t.is_floating_point() else t for n, t in x.items()}
    told = {n: torch.tensor(v) for n, v in lengths.items()}
    found = text.run(p, x, drawn[0].sizes, told, {})
    for name in dict.fromkeys(defined(program)):
        array, other = found[name].detach().numpy(), np.asarray(expected[name])
        # Of two lengths that add up there may be more room than the longest example takes.
        room = np.full(array.shape, np.nan)
        room[tuple(map(slice, other.shape))] = other
        there = ~np.isnan(room)
        np.testing.assert_allclose(array[there], room[there], atol=1e-9, err_msg=name)
        assert (array[~there] == 0).all() or not found[name].is_floating_point(), name
    total = sum(v.sum() for v in found.values() if v.is_floating_point())
    assert isinstance(total, torch.Tensor)
    slopes = torch.autograd.grad(
        total, [t for t in (*p.values(), *x.values()) if t.requires_grad], allow_unused=True
    )
    assert all(s is None or bool(s.isfinite().all()) for s in slopes)


@pytest.mark.parametrize("name", library.names())
def test_library_models(name: str) -> None:
    agree(model(name), lengths_of(model(name)))


PROGRAMS = {
    "the last element": "y[k] = x[T-1,k] + x[0,k]",
    "a start at the end": "h[T-1,k] = a[k]\nh[t,k] = tanh(c[k] h[t+1,k] + x[t,k])",
    "a condition with the length": "y[k] = Σ_{t < T-1} x[t,k] t/T",
    "cases at the end": "y[t,k] = cases { x[t,k] if t = T-1, 2 x[t+1,k] otherwise }",
    "extremes": "a[k] = argmax_t x[t,k]\nm[k] = max_t x[t,k] + min_t x[t,k]\nz[k] = x[a[k],k]",
    "products": "y[k] = ∏_t x[t,k]\nz[k] = mean_t x[t,k]^2",
    "logarithms": "y[t,k] = ln(x[t,k]^2)/x[t,k]\nz = Σ_{t,k} y[t,k]",
    "a window": "range Δt = -1..1\ny[t,k] = Σ_{Δt} W[Δt,k] x[t+Δt,k]",
    "halves": "y[t,k] = x[2t,k] + x[2t+1,k]\nz[k] = Σ_t y[t,k]",
    "one behind the other": "input v[s,k]\nz[C,k] = x[T,k]; v[S,k]",
    "sums of sums": "s[t,k] = Σ_{t' ≤ t} x[t',k]\nd[t,k] = s[t+1,k] - s[t,k]",
    "weights": "α[t,t'] = softmax_{t' < t} x[t,K] x[t',K]\ny[t,k] = α[t,T'] x[T',k]",
    "a root in the padding": "y = Σ_t ‖x[t,K] - x[t-1,K]‖\nz[t] = ‖x[t,K] - x[t-1,K]‖",
    "no input enters, from the end": "h[t,k] = tanh(a[k] h[t+1,k] + c[k])\ny[t,k] = h[t,k] x[t,k]",
    "no input enters, beyond the end": "parameter p[t,k]\nz[t,k] = p[t+1,k]\ny[t,k] = z[t,k] x[t,k]",
    "no input enters, from the start": "h[t,k] = tanh(a[k] h[t-1,k] + c[k])\ny[t,k] = h[t,k] x[t,k]",
    "means of what is to come": "y[t,k] = (mean_{s ≥ t} x[s,k]) a[k]",
    "extremes of what is to come": "y[t,k] = (min_{s ≥ t} x[s,k]) a[k] + (max_{s ≥ t} x[s,k]) c[k]",
    "flattened": """
        z[(k,t),k'] = x[t,k] x[t,k']
        v[t,k] = Σ_{k'} z[(k,t),k'] x[t,k']
        u[c,k] = tanh(z[c,k]) + z[c-1,k]
        y[k] = Σ_c z[c,k] c
    """,
    "flattened under guards": """
        z[(k,t)] = x[t,k]^2 for x[t,k] > 0
        z[(k,t)] = x[t,k]
        y[c] = 0.5 y[c-1] + z[c]
    """,
    "flattened twice": "z[(t,k,t')] = x[t,k] x[t',k]\nv[t,k] = z[(t,k,t)] x[t,k]\nm = max_c z[c]",
    "layers": "h_0[t,k] = x[t,k]\nh_{ℓ+1}[t,k] = tanh(h_ℓ[t+1,k] + a_ℓ[k])\ny[k] = h_L[T-1,k]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_awkward_programs(name: str) -> None:
    program = code(f"input x[t,k]\n{PROGRAMS[name]}")
    agree(program, lengths_of(program))
