"""Heat maps: what a reader can tell from them."""

import re

import numpy as np
import pytest

from indicial.inspect.trial import heatmap
from indicial.program.messages import columns

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def test_a_matrix() -> None:
    values = np.array([[0.1, -0.9], [0.5, 0.0]])
    assert heatmap(values, "h", ("t", "j")) == [
        "h[t,j]  2×2, from -0.9 to 0.5",
        "        j=0      1",
        "t=0  ░+0.10 █-0.90",
        "t=1  ▓+0.50  +0.00",
    ]


def test_a_vector_is_a_row_and_a_scalar_a_number() -> None:
    lines = heatmap(np.array([1.0, 2.0, 4.0]), "v", ("j",))
    assert len(lines) == 3
    assert lines[2].split() == ["░1.00", "▒2.00", "█4.00"]
    assert heatmap(np.array(0.25), "loss", ()) == ["loss = 0.25"]


def test_indices_count_from_their_lower_end() -> None:
    lines = heatmap(np.ones((2, 1)), "W", ("ℓ", "j"), lowers=(1, -1))
    assert lines[1].strip() == "j=-1"
    assert [line.split()[0] for line in lines[2:]] == ["ℓ=1", "ℓ=2"]


def test_slices_are_limited_and_what_is_left_out_is_said() -> None:
    values = np.zeros((3, 2, 2, 2))
    lines = heatmap(values, "α", ("ℓ", "k", "t_1", "t_2"), slices=2)
    assert [line for line in lines if "α[" in line][1:] == [
        "  α[ℓ=0,k=0,t_1,t_2]", "  α[ℓ=0,k=1,t_1,t_2]",
    ]  # fmt: skip
    assert lines[-1] == "  … 4 more slices of α left out"
    assert "left out" not in "".join(
        heatmap(values, "α", ("ℓ", "k", "t_1", "t_2"), slices=None)
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(3, 8), (3, 12), (3, 34), (3, 500), (40, 3), (2, 3, 90)])
@pytest.mark.parametrize("colour", [False, True])
def test_fits_80_columns(shape: tuple[int, ...], colour: bool) -> None:
    values = np.random.default_rng(0).normal(size=shape) * 1e4
    for line in heatmap(values, "W^{h,R}", ("ℓ", "j", "i")[-len(shape) :], colour=colour):
        assert columns(ESCAPE.sub("", line)) <= 80


def test_a_wide_matrix_is_shades_with_signs() -> None:
    values = np.array([[(-1.0) ** n for n in range(30)]])
    assert "+█-█+█-█" in heatmap(values, "W", ("j", "i"))[-1]


def test_colour_only_when_asked_and_by_sign() -> None:
    values = np.array([[1.0, -1.0]])
    assert "\x1b" not in "".join(heatmap(values, "h", ("t", "j")))
    row = heatmap(values, "h", ("t", "j"), colour=True)[-1]
    positive, negative = re.findall(r"48;5;(\d+)", row)
    assert positive != negative
    assert ESCAPE.sub("", row).split() == ["t=0", "+1.00", "-1.00"]


def test_no_number_is_a_dot() -> None:
    lines = heatmap(np.array([[np.nan, np.inf, 1.0]]), "h", ("t", "j"))
    assert lines[-1].split() == ["t=0", "·", "∞", "█1.00"]
    assert heatmap(np.zeros((0, 3)), "h", ("t", "j")) == ["h[t,j]  0×3, empty"]


def test_tokens_are_whole() -> None:
    lines = heatmap(np.array([2.0, 0.0]), "w", ("t",), whole=True)
    assert lines[0].endswith("from 0 to 2")
    assert lines[-1].split()[-1] == "0"
