"""Long and deep texts are read, or told where the limit is; none ends in a traceback."""

from types import ModuleType

import numpy as np
import pytest
import torch

import indicial
from indicial.compile.explain.gradient import gradient
from indicial.notation import parse, rows, tokens
from indicial.notation.parse import DEEPEST
from indicial.program import program
from indicial.program.messages import IndicialError
from indicial.program.program import Program


def summed(terms: int) -> str:
    return "input x[t]\ny[t] = " + " + ".join(f"tanh({n} x[t])" for n in range(1, terms + 1))


def test_a_long_sum_is_compiled_and_differentiated() -> None:
    module = Program.of_text(summed(300)).compile()
    x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    module.double()
    found = module(x=x)["y"]
    factors = torch.arange(1, 301, dtype=torch.float64)
    expected = torch.tanh(x[..., None] * factors).sum(-1)
    assert torch.allclose(found, expected, atol=1e-10)
    (slope,) = torch.autograd.grad(found.sum(), x)
    exact = (factors / torch.cosh(x[..., None] * factors) ** 2).sum(-1)
    assert torch.allclose(slope, exact, atol=1e-10)


def test_a_long_product_is_compiled() -> None:
    module = Program.of_text("input x[t]\ny[t] = " + "x[t] " * 300).compile().double()
    x = torch.rand(2, 3, dtype=torch.float64) * 0.1 + 0.95
    assert torch.allclose(module(x=x)["y"], x**300)


def test_a_product_of_too_many_factors_is_not_differentiated_for_hours() -> None:
    long = Program.of_text("input x[t]\nh[t] = 0.5 h[t-1] + " + "x[t] h[t-1] " * 1000)
    with pytest.raises(IndicialError, match="a product of 2,000 factors; 1,000 is the limit"):
        gradient(long)


def test_a_long_sum_in_a_recurrence() -> None:
    terms = " + ".join(f"tanh({n / 100} x[t] h[t-1])" for n in range(1, 101))
    program = Program.of_text(f"input x[t]\nh[t] = 1/2 h[t-1] + x[t] + {terms}")
    x = np.random.default_rng(0).normal(size=4)
    found = program.compile().double()(x=torch.as_tensor(x)[None])["h"]
    assert np.allclose(found[0].detach().numpy(), program.interpret({"x": x})["h"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("y[t] = x[t]" + " / 2" * (DEEPEST + 1), "nested more than"),
        ("y[t] = " + "(" * 3000 + "x[t]" + ")" * 3000, "brackets are nested 3001 deep; 60 is"),
        ("y[t] = " + "tanh " * 3000 + "x[t]", "nested"),
        ("y[t] = " + "-" * 3000 + "x[t]", "nested more than 60 deep"),
    ],
    ids=["quotients", "brackets", "functions", "signs"],
)
def test_what_is_too_deep_or_too_long_is_told(text: str, says: str) -> None:
    errors = Program.of_text(f"input x[t]\n{text}").errors
    assert any(says in error.text for error in errors), errors[:2]
    assert all(len(error.render()) < 5000 for error in errors)


def test_very_long_equations_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SIGNS", 1000)
    (error,) = Program.of_text(summed(150)).errors
    assert "signs; 1,000 is the limit" in error.text


def test_a_million_terms_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it was read all the same")

    monkeypatch.setattr(parse, "interpret_commands", never)
    text = "input x[t]\ny[t] = " + " + ".join(["x[t]"] * 10**6)
    for latex in (False, True):
        (error,) = Program.of_text(text, latex=latex).errors
        assert f"{len(text):,} characters; {tokens.LONGEST:,} is the limit" in error.text
        assert len(error.render()) < 1000


@pytest.mark.parametrize("where", [parse, program], ids=["lines", "displays"])
def test_very_many_equations_are_told(where: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "LINES", 20)
    monkeypatch.setattr(rows, "LINES", 20)
    text = "".join(f"a_{n}[t] = 2 a_{n - 1}[t]\n" for n in range(1, 30))
    (error,) = Program.of_text(f"input a_0[t]\n{text}").errors
    assert "a program of 30 lines; 20 is the limit" in error.text
    assert ":21:" in error.render()


def test_functions_that_call_each_other_without_end() -> None:
    names = [f"fun{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    lines = [f"{names[0]}(z) = tanh(z)"]
    lines += [f"{f}(z) = {g}(z) + tanh(z)" for f, g in zip(names[1:], names, strict=False)]
    errors = Program.of_text("\n".join(["input x[t]", f"y[t] = {names[-1]}(x[t])", *lines])).errors
    assert any("functions that call each other more than 60 deep" in e.text for e in errors), (
        errors[:2]
    )


def test_a_program_that_is_too_long_to_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "MOST_NODES", 100)
    with pytest.raises(IndicialError, match=r"100 is the limit of what is compiled"):
        Program.of_text(summed(50)).compile()


@pytest.mark.parametrize("size", [10**9, 10**12])
def test_sizes_that_no_memory_holds_name_the_limit(size: int) -> None:
    with pytest.raises(IndicialError, match=r"in W.*the memory of this machine holds [\d,]+"):
        indicial.load("rnn").compile(J=size, K=2)
