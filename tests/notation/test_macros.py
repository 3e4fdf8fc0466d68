"""Definitions of macros, and formulas in which they are expanded."""

import pytest

from indicial.notation.macros import STEPS, Braces, Macro, Macros, definitions, expand
from indicial.notation.source import Source
from indicial.notation.tokens import Token, tokenize


def read_definitions(text: str) -> list[Macro]:
    return definitions(Source("macros.tex", text), 0, len(text), Braces(text))


def lex(text: str) -> list[Token]:
    return tokenize(Source("formula", text), 0, len(text), latex=True)


def expanded(preamble: str, formula: str) -> tuple[str, list[str]]:
    """The expanded formula, without blanks, and the codes of the faults."""
    macros = Macros()
    for macro in read_definitions(preamble):
        macros.define(macro)
    tokens, faults = expand(lex(formula), macros)
    return "".join(token.text for token in tokens), [fault.code for fault in faults]


@pytest.mark.parametrize(
    ("preamble", "formula", "result"),
    [
        (r"\newcommand{\R}{\mathbb{R}}", r"x \in \R", r"x\in\mathbb{R}"),
        (r"\newcommand\gate[1]{G_{#1}}", r"\gate{ab}[t]", "G_{ab}[t]"),
        (r"\newcommand{\gate}[1]{G_{#1}}", r"\gate3[t]", "G_{3}[t]"),
        (r"\newcommand{\h}[2][t]{h[#1,#2]}", r"\h{j} + \h[t-1]{j}", "h[t,j]+h[t-1,j]"),
        (r"\newcommand*{\x}[2] {#2#1#2}", r"\x{a}{b}", "bab"),
        (r"\renewcommand{\vec}[1]{\mathbf{#1}}", r"\vec h", r"\mathbf{h}"),
        (r"\newcommand{\a}{1}\newcommand{\a}{2}", r"\a", "2"),
        (r"\newcommand{\a}{1}\providecommand{\a}{2}\providecommand{\b}{3}", r"\a\b", "13"),
        (r"\def\norm#1#2{\|#1\|_{#2}}", r"\norm{x}{2}", r"\|x\|_{2}"),
        (r"\gdef\x{y}", r"\x\x z", "yyz"),
        (r"\DeclareMathOperator{\sm}{softmax}", r"\sm x", r"\operatorname{softmax}x"),
        (r"\DeclareMathOperator*{\am}{arg\,max}", r"\am_j", r"\operatorname*{arg\,max}_j"),
        (r"\let\eps\varepsilon", r"\eps", r"\varepsilon"),
        (r"\def\a{1}\let\b=\a\def\a{2}", r"\a\b", "21"),
        # The old meaning is kept under another name, as styles do.
        (r"\let\old\tanh\renewcommand{\tanh}{\old^2}", r"\tanh x", r"\tanh^2x"),
        (r"\newcommand{\b}[1]{(#1)}\newcommand{\a}[1]{\b{#1 + 1}}", r"\a{\b{x}}", "((x)+1)"),
        (r"\newcommand{\a}[1]{[#1]}", r"\a{{x}}", "[{x}]"),
        (r"\newcommand{\a}{x % not { this" + "\n}", r"\a", "x"),
        (r"\newcommand{\a}[1]{#1#2}", r"\a{x}", "x"),
        (r"\newcommand{\a}{x}", r"\a* y", "x*y"),
        ("", r"\unknown{x}", r"\unknown{x}"),
    ],
)
def test_expansion(preamble: str, formula: str, result: str) -> None:
    assert expanded(preamble, formula) == (result, [])


def test_spans_point_at_the_call_and_at_arguments() -> None:
    macros = Macros(read_definitions(r"\newcommand{\gate}[1]{G_{#1}[t]}"))
    formula = r"2 \gate{ab} + 1"
    tokens, _ = expand(lex(formula), macros)
    places = {token.text: token.span.text for token in tokens}
    assert places["G"] == places["["] == r"\gate{ab}"
    assert (places["a"], places["b"], places["1"]) == ("a", "b", "1")
    assert all(token.span.source.text == formula for token in tokens)


def test_spaces_survive() -> None:
    macros = Macros(read_definitions(r"\def\f{f}"))
    tokens, _ = expand(lex(r"a \f(x)"), macros)
    assert [(t.text, t.space) for t in tokens][:3] == [("a", False), ("f", True), ("(", False)]


def test_first_definition_serves_uses_before_it() -> None:
    one, two = read_definitions(r"\def\a{1}\def\a{2}")
    macros = Macros([one, two])
    assert macros.get(r"\a") is one
    macros.define(one)
    macros.define(two)
    assert macros.get(r"\a") is two


@pytest.mark.parametrize(
    "text",
    [
        r"\newcommand",
        r"\newcommand{\x}",
        r"\newcommand{\x}{never closed",
        r"\newcommand{x}{y}",
        r"\def\x(#1,#2){delimited}",
        r"\let",
        r"\let\x",
        r"\DeclareMathOperator{\x}",
        r"\newcommand{\x}[",
        r"\newcommandx{\x}{y}",
    ],
)
def test_what_is_no_definition_is_left_alone(text: str) -> None:
    assert read_definitions(text) == []


def bomb(levels: int) -> str:
    doubling = [rf"\def\{chr(97 + n)}{{\{chr(98 + n)}\{chr(98 + n)}}}" for n in range(levels)]
    return "".join(doubling) + rf"\def\{chr(97 + levels)}{{x}}"


@pytest.mark.parametrize(
    ("preamble", "formula"),
    [
        (r"\def\a{\a}", r"\a"),
        (r"\def\a{\b}\def\b{\a}", r"x + \a"),
        (r"\def\a{x\a}", r"\a"),
        (r"\def\a#1{\a{#1#1}}", r"\a{x}"),
        (r"\def\a#1{#1\a{#1}}", r"\a{\a{x}}"),
        (bomb(24), r"\a"),
    ],
)
def test_bombs_end_in_a_fault(preamble: str, formula: str) -> None:
    assert expanded(preamble, formula) == ("", ["macro-limit"])


def test_bombs_share_one_allowance() -> None:
    macros = Macros(read_definitions(r"\def\a{\a}"))
    before = macros.steps
    for _ in range(1000):
        tokens, faults = expand(lex(r"\a"), macros)
        assert tokens == [] and len(faults) == 1
    assert before - STEPS >= macros.steps >= 0
    assert expand(lex(r"\a"), macros)[1][0].code == "macro-limit"
    assert expand(lex("x"), macros)[1] == [], "a formula without macros costs nothing"


def test_long_formula_within_the_limit() -> None:
    text, faults = expanded(bomb(10), r"\a")
    assert (len(text), faults) == (1024, [])


@pytest.mark.parametrize("formula", [r"\x", r"\x{a}", r"\x{a}{b", r"\x{a} \\ b", r"{\x{a}}"])
def test_missing_arguments(formula: str) -> None:
    assert expanded(r"\newcommand{\x}[2]{#1#2}", formula) == ("", ["macro-arguments"])
