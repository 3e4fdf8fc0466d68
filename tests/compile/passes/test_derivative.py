"""Derivatives against PyTorch's, kinks and ties included, and their folded form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from indicial.compile.passes.algebra import ZERO, derivatives, is_total, weight
from indicial.library.loading import load
from indicial.program.ir import COMPARISONS, ELEMENTWISE, Apply, Constant, Expression, Read, Select
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.show import show_expression

A, B, C = Read("a"), Read("b"), Read("c")
POINTS = (-1.5, -0.5, 0.0, 0.5, 2.0)


def value(expression: Expression, at: dict[str, float]) -> float:
    """What an expression of scalars is, by the functions of the interpreter."""
    match expression:
        case Constant(number):
            return number
        case Read(name):
            return at[name]
        case Apply(function, arguments):
            return FUNCTIONS[function](*(value(a, at) for a in arguments))
        case Select(branches, otherwise):
            for condition, result in branches:
                if value(condition, at):
                    return value(result, at)
            return value(otherwise, at)
    raise AssertionError(expression)


def derivative(body: Expression, by: Expression, known: Expression | None = None) -> Expression:
    return derivatives(body, {by}, known).get(by, ZERO)


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "neg": torch.neg, "tanh": torch.tanh, "σ": torch.sigmoid, "ReLU": torch.relu,
    "GELU": functional.gelu, "exp": torch.exp, "ln": torch.log, "sqrt": torch.sqrt,
    "abs": torch.abs, "sign": torch.sign, "cos": torch.cos, "sin": torch.sin,
    "softplus": functional.softplus, "floor": torch.floor, "erf": torch.erf,
    "stop": lambda x: x.detach() + 0 * x,
}  # fmt: skip
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "+": torch.add, "*": torch.mul, "/": torch.div, "^": torch.pow,
    "min": torch.minimum, "max": torch.maximum, "lse": torch.logaddexp,
}  # fmt: skip


def slopes(function: Callable[..., torch.Tensor], *at: float) -> list[float]:
    arguments = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in at]
    found = torch.autograd.grad(function(*arguments), arguments)
    return [float(g) for g in found]


def test_every_function_is_tried() -> None:
    assert set(ELEMENTWISE) <= UNARY.keys() | BINARY.keys()


@pytest.mark.parametrize("function", UNARY)
def test_functions_of_one(function: str) -> None:
    for point in POINTS:
        if function in ("ln", "sqrt") and point < 0:
            continue
        (expected,) = slopes(UNARY[function], point)
        for known in (None, Read("y")):
            found = derivative(Apply(function, (A,)), A, known)
            at = {"a": point, "y": FUNCTIONS[function](point)}
            assert value(found, at) == pytest.approx(expected, abs=1e-12), (point, known)


@pytest.mark.parametrize("function", BINARY)
def test_functions_of_two(function: str) -> None:
    for a, b in itertools.product(POINTS, POINTS):
        if (function == "/" and b == 0) or (function == "^" and (a < 0 or (a == 0 and b < 0))):
            continue
        expected = slopes(BINARY[function], a, b)
        for known in (None, Read("y")):
            at = {"a": a, "b": b, "y": FUNCTIONS[function](a, b)}
            for atom, slope in zip((A, B), expected, strict=True):
                found = derivative(Apply(function, (A, B)), atom, known)
                assert value(found, at) == pytest.approx(slope, abs=1e-12), (a, b, atom, known)


def test_ties_are_shared() -> None:
    for function, largest in (("max", 2.0), ("min", -1.0)):
        node = Apply(function, (A, B, C, Constant(0.5)))
        at = {"a": largest, "b": largest, "c": 0.3}
        assert [value(derivative(node, x), at) for x in (A, B, C)] == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("sign", COMPARISONS)
def test_what_jumps_has_none(sign: str) -> None:
    assert derivative(Apply(sign, (A, B)), A) == ZERO


@pytest.mark.parametrize(
    ("body", "known", "shown"),
    [
        (Apply("tanh", (Apply("+", (A, B)),)), Read("R"), "1 + -R^2"),
        (Apply("σ", (Apply("*", (A, B)),)), Read("G"), "G * (1 + -G) * b"),
        (Apply("exp", (A,)), Read("E"), "E"),
        (Apply("*", (B, Apply("tanh", (A,)))), Read("h"), "(1 + -tanh(a)^2) * b"),
        (Apply("^", (A, Constant(2.0))), None, "2 * a"),
        (Apply("+", (B, Apply("neg", (A,)))), None, "-1"),
        (Apply("/", (A, B)), None, "1 / b"),
        (Apply("/", (B, A)), Read("q"), "-(q / a)"),
        (Select(((Apply(">", (B, C)), A),), B), None, "cases(1 if b > c; 0)"),
    ],
)
def test_folded(body: Expression, known: Expression | None, shown: str) -> None:
    assert show_expression(derivative(body, A, known)) == shown


@pytest.mark.parametrize(
    ("body", "total"),
    [
        ("a / J", True),
        ("a / (J K)", True),
        ("a / √J", True),
        ("a / (J - 1)", False),
        ("a / b", False),
    ],
)
def test_what_is_finite_where_all_that_it_reads_is(body: str, total: bool) -> None:
    """A size is 1 at least, and one less may be 0."""
    text = f"input x[j,k]\ninput a\ninput b\ny = {body}"
    assert is_total(load(text).code.of("y")[0].body) is total


def test_what_stands_apart() -> None:
    inside = Apply("ln", (A,))
    body = Apply("*", (A, inside))
    assert derivatives(body, {A, inside}) == {A: inside, inside: A}
    assert derivatives(body, {inside}) == {inside: A}


def test_what_does_not_change_with_a_part_is_left_out() -> None:
    body = Apply("+", (Apply("*", (A, A)), Apply("floor", (B,)), Apply("neg", (A,)), C))
    found = derivatives(body, {A, B, Read("d")})
    assert found.keys() == {A}
    assert [value(found[A], {"a": at}) for at in POINTS] == [2 * at - 1 for at in POINTS]


def test_the_share_of_a_term_that_is_not_there_is_nothing() -> None:
    """Of ln(e^a + …) = b, a sum that is `total` of itself; all may be -∞, at an end of a text."""
    share = weight(A, B, C)
    assert value(share, {"a": 1.0, "b": 3.0, "c": 0.5}) == pytest.approx(2 * math.exp(-2))
    assert value(share, {"a": -math.inf, "b": 3.0, "c": 1.0}) == 0
    assert value(share, {"a": -math.inf, "b": -math.inf, "c": 0.0}) == 0
