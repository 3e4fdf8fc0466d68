"""Constants that are set from outside: `load(…, constants={"λ": 0.5})`."""

import pytest

from indicial import IndicialError, load
from indicial.program.program import Program

TEXT = "input x[t]\nconstant λ = 0.01\nconstant ℒ_{max} = 100\ny[t] = min(λ x[t], ℒ_{max})"


@pytest.mark.parametrize("name", ["λ", "lambda", r"\lambda"])
@pytest.mark.parametrize("value", [3, 3.0, "3", "6/2"])
def test_a_constant_in_any_spelling(name: str, value: str | float) -> None:
    program = Program.of_text(TEXT, constants={name: value})
    assert program.mistakes == []
    assert program.interpret({"x": [1.0, 2.0]})["y"].tolist() == [3.0, 6.0]


def test_the_others_stay() -> None:
    program = Program.of_text(TEXT, constants={"ℒ_max": -1})
    assert program.code.constants == {"λ": 0.01, "ℒ_{max}": -1.0}
    assert "constant ℒ_{max} = -1" in program.unicode()


def test_a_joined_program() -> None:
    assert load("transformer", "focus", constants={"λ": 0.5}).code.constants == {"λ": 0.5}


def test_an_unknown_constant() -> None:
    with pytest.raises(IndicialError, match=r"no constant μ; its constants are λ, ℒ_\{max\}"):
        Program.of_text(TEXT, constants={"μ": 1})
    with pytest.raises(IndicialError, match="no constant λ; it has none"):
        load("ugrnn", constants={"λ": 1})


@pytest.mark.parametrize("value", ["1\ny[t] = 0", "1 = 2 input", ""])
def test_a_value_is_no_further_line(value: str) -> None:
    with pytest.raises(IndicialError):
        _ = Program.of_text(TEXT, constants={"λ": value}).code
