"""What strides leave of a size: one after the other, along several axes, and of a parameter's axes."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import indicial
from indicial.export.checking import check_torch
from indicial.export.torch_file import export_torch
from indicial.program.sizes import Size, Strided, divided

WINDOW = "range Δx = -1..1\nrange Δy = -1..1\n"
TWICE = f"""input I[x,y,c]
{WINDOW}parameter pos[x,y]
F[x,y] = W^F[ΔX,ΔY,C] I[2x+ΔX,2y+ΔY,C]
G[x,y] = pos[x,y] + W^G[ΔX,ΔY] F[2x+ΔX,2y+ΔY]
"""
STACK = f"""input I[x,y]
{WINDOW}h_0[x,y] = I[x,y]
h_{{ℓ+1}}[x,y] = W_{{ℓ+1}}[ΔX,ΔY] h_ℓ[2x+ΔX,2y+ΔY]
m = mean_{{x,y}} h_L[x,y]
"""


def halved(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Every second place along both axes, each with its neighbours; 0 outside."""
    rows, columns = values.shape
    padded = np.pad(values, 1)
    return np.array(
        [
            [(weights * padded[x : x + 3, y : y + 3]).sum() for y in range(0, columns, 2)]
            for x in range(0, rows, 2)
        ]
    )


@pytest.mark.parametrize("size", range(1, 30))
def test_a_size_is_divided_twice(size: int) -> None:
    once = Size.of(Strided("X", 2, "", 1))
    for stride in (2, 3):
        found = divided(once, Strided("N", stride, "", 1))
        assert found.value({"X": size}) == math.ceil(math.ceil(size / 2) / stride)
    assert divided(Size.of(size), Strided("N", 2, "", 1)) == Size.of((size + 1) // 2)


@pytest.mark.parametrize("shape", [(8, 8), (7, 5), (1, 9)])
def test_two_layers_of_stride_two_with_a_parameter_for_each_place(shape: tuple[int, int]) -> None:
    program = indicial.load(TWICE)
    assert not program.errors
    module = program.compile(X=8, Y=9, C=1).double()
    assert module.parameter("pos").shape == (2, 3)
    image = np.random.default_rng(0).normal(size=shape)
    F = halved(image, module.parameter("W^F").detach().numpy()[:, :, 0])
    G = halved(F, module.parameter("W^G").detach().numpy())
    G += module.parameter("pos").detach().numpy()[: G.shape[0], : G.shape[1]]
    found = module(I=torch.from_numpy(image[:, :, None]), want=["G"])["G"].detach().numpy()
    np.testing.assert_allclose(found, G, rtol=1e-10)


def test_a_stack_is_halved_along_both_axes() -> None:
    program = indicial.load(STACK)
    image = np.random.default_rng(1).normal(size=(7, 6))
    weights = np.random.default_rng(2).normal(size=(2, 3, 3))
    found = program.interpret({"I": image}, {"W": weights}, sizes={"L": 2})
    once = halved(image, weights[0])
    twice = halved(once, weights[1])
    np.testing.assert_allclose(found["h"][1, :4, :3], once)
    np.testing.assert_allclose(found["h"][2, :2, :2], twice)
    assert found["m"] == pytest.approx(twice.mean())


def test_an_exported_file_cuts_such_a_parameter(tmp_path: Path) -> None:
    program = indicial.load(TWICE)
    module = program.compile(X=8, Y=9, C=1)
    path = tmp_path / "model.py"
    assert check_torch(module, export_torch(module, path), path) < 1e-6
