"""A name that several bounded sums read has the elements of all of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from indicial import load
from indicial.program.messages import IndicialError
from indicial.program.program import Program

SUMS = [
    ("y = Σ_{i=0}^{3} p[i] + Σ_{i=2}^{5} p[i]", 0, 6, [(0, 3), (2, 5)]),
    ("y = Σ_{i=2}^{5} p[i] + Σ_{k=0}^{3} p[k]", 0, 6, [(2, 5), (0, 3)]),
    ("y = Σ_{i=1}^{2} p[i]\nz = Σ_{i=4}^{7} p[i]", 1, 7, [(1, 2)]),
    ("y = Σ_{i=0}^{7} p[i] + Σ_{i=2}^{5} p[i]", 0, 8, [(0, 7), (2, 5)]),
    ("y = Σ_{k=0}^{3} p[k] + Σ_{i=2}^{N} p[i]", 0, 10, [(0, 3), (2, 9)]),
    ("y = Σ_{i=2}^{N} p[i] + Σ_{k=0}^{3} p[k]", 0, 10, [(2, 9), (0, 3)]),
    ("y = Σ_{k=0}^{N} p[k] + Σ_{i=2}^{N+1} p[i]", 0, 10, [(0, 8), (2, 9)]),
    ("y = Σ_{k=-M}^{0} p[k] + Σ_{i=-1}^{2} p[i]", -4, 7, [(-4, 0), (-1, 2)]),
]


def axis(program: Program, name: str = "p") -> str:
    (one,) = program.code.tensors[name].axes
    return f"{one.lower}..{one.upper}"


@pytest.mark.parametrize(("text", "first", "count", "sums"), SUMS)
def test_all_elements_count(text: str, first: int, count: int, sums: list[tuple[int, int]]) -> None:
    program = load(text)
    assert not program.errors
    p = np.arange(1.0, count + 1) ** 2
    y = sum(p[low - first : high + 1 - first].sum() for low, high in sums)
    assert program.interpret({"p": p})["y"] == y
    module = program.compile(dtype=torch.float64)
    assert module(p=torch.tensor(p), want=["y"])["y"].item() == y


@pytest.mark.parametrize(("text", "first", "count", "sums"), SUMS[:4])
def test_so_have_weights(text: str, first: int, count: int, sums: list[tuple[int, int]]) -> None:
    program = load(f"input x[i]\n{text}\nu[i] = x[i]".replace("p[", "W["))
    assert program.code.tensors["W"].role == "parameter"
    assert axis(program, "W") == f"{first}..{first + count - 1}"


def test_sums_of_one_end_each_do_not_hide_the_longer() -> None:
    assert axis(load("y = Σ_{i=0}^{3} p[i] + Σ_{i=2}^{5} p[i]")) == "0..5"
    assert axis(load("y = Σ_{k=0}^{3} p[k] + Σ_{i=2}^{N} p[i]")) == "0..N"
    # One step later is no element more: what is read before the first is its start.
    assert axis(load("y[t] = p[t] + p[t-1] + p[t+1]")) == "0..T - 1"


def test_too_few_elements_are_told() -> None:
    program = load("y = Σ_{i=0}^{3} p[i] + Σ_{i=2}^{5} p[i]")
    with pytest.raises(IndicialError, match=r"p has 4 elements .* its extent is 6$"):
        program.interpret({"p": np.ones(4)})


def test_what_is_declared_stays() -> None:
    text = "input x[t]\nrange Δt = -2..2\nparameter p[Δt]\ny[t] = Σ_{s=0}^{T-1} p[t-s] x[s]"
    assert axis(load(text)) == "-2..2"
    assert axis(load("input p[t]\ny = Σ_{k=1}^{9} p[k]")) == "0..T - 1"


@pytest.mark.parametrize("under", ["s ≤ t", "s=0}^{t"])
def test_a_running_sum_goes_as_far_as_what_it_sums(under: str) -> None:
    """Nothing but the condition says how long t is."""
    program = load(f"input x[t]\nc[t] = Σ_{{{under}}} x[s]")
    given = np.arange(1.0, 6.0)
    assert np.array_equal(program.interpret({"x": given})["c"], np.cumsum(given))


@pytest.mark.parametrize("right", ["x[s] + u[s]", "u[s] + x[s]", "u[s] x[s] u[s]"])
@pytest.mark.parametrize(("low", "high"), [("0", "T-2"), ("2", "T-1"), ("1", "T-2")])
def test_an_index_has_what_all_that_it_reads_have(right: str, low: str, high: str) -> None:
    """Whichever is read first."""
    text = f"input v[t]\nrange r = {low}..{high}\nx[r] = v[r]\nu[t] = 2 v[t]\ny[s] = {right}"
    program = load(text)
    assert not program.errors
    assert axis(program, "y") == f"{low}..{high.replace('-', ' - ')}"


@pytest.mark.parametrize("drawn", ["", "\nW[ℓ] ~ N(0, 1)"])
def test_an_element_that_is_read_by_its_number_is_there(drawn: str) -> None:
    program = load(f"input x[t]\nh[0,t] = W[0] x[t]\nh[ℓ+1,t] = W[ℓ+1] h[ℓ,t]{drawn}")
    assert not program.messages
    assert axis(program, "W") == "0..L"


def test_what_is_drawn_has_all_that_is_drawn() -> None:
    """A parameter has what is read."""
    text = "input x[t]\ny[t] = Σ_{i=1}^{3} b[i] x[t]"
    assert axis(load(text), "b") == "1..3"
    assert axis(load(f"{text}\nb[i] ~ N(0, 1)"), "b") == "0..I - 1"


def test_a_sum_between_numbers_needs_no_size() -> None:
    program = load("y = Σ_{1 ≤ n ≤ 4} n^2\nz = Σ_{0 < n < 4} 1/n")
    assert not program.code.sizes
    found = program.interpret({})
    assert found["y"] == 30 and found["z"] == pytest.approx(1 + 1 / 2 + 1 / 3)
