"""`try`: equations on small random values."""

import numpy as np
import pytest

from indicial import load
from indicial.inspect.trial import small, trial
from indicial.paste import written
from indicial.program.messages import IndicialError


def test_sizes_are_three_and_four_or_as_set() -> None:
    code = load("transformer").code
    sizes = small(code, {})
    assert set(sizes) == set(code.sizes)
    assert set(sizes.values()) == {3, 4}
    assert sizes["I_{Value}"] == sizes["I"]
    assert small(code, {"I": 7})["I_{Value}"] == 7


def test_an_element_that_is_named_exists() -> None:
    code = load("y = x[5] + x[i]\ninput x[i]").analysis.code
    assert small(code, {}).get("I", 0) >= 6


def test_the_numbers_are_those_of_the_program() -> None:
    text = "input x[i]\nconstant a = 2\ny[i] = a"
    lines = trial(load(text + "\nz = Σ_i y[i]"), sizes={"I": 5})
    assert "z = 10" in lines
    assert any(line.startswith("y[i]  5, all 2") for line in lines)


def test_seed_decides() -> None:
    program = load("ugrnn")
    assert trial(program, seed=1) == trial(program, seed=1)
    assert trial(program, seed=1) != trial(program, seed=2)


def test_guesses_holes_and_distributions_are_said() -> None:
    text = "\n".join(trial(written("h[t,J] = CELL(h[t-1,J], x[t,I])\nα[t] = softmax_t h[t,0]")))
    assert "x[t,i]?" in text
    assert "CELL is only named" in text
    assert "a distribution over t" in text


def test_what_nobody_wrote_is_hidden() -> None:
    assert "layernorm1" not in "\n".join(trial(load("encoder")))


def test_too_much_work_is_refused() -> None:
    with pytest.raises(IndicialError, match="try smaller"):
        trial(load("ugrnn"), sizes={"J": 4096, "T": 100})


def test_everything_shows_inputs_too() -> None:
    program = load("y[j] = W[j,I] x[I]\ninput x[i]")
    assert not any(line.startswith("W[j,i]  ") for line in trial(program))
    lines = trial(program, everything=True)
    assert any(line.startswith("W[j,i]  ") for line in lines)
    assert np.isfinite(float(next(x for x in lines if x.startswith("y[j]  ")).split()[-1]))
