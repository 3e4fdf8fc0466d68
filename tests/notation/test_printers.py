"""Printing and reading back gives the same tree, on all three surfaces."""

import sys
from pathlib import Path

import pytest
from hypothesis import given

from indicial.notation.parse import parse_text
from indicial.notation.printers import latex, name_key, plain, unicode
from indicial.notation.syntax import Add, Dots, Group, Name, Negative, Node, Number, Product

sys.path.insert(0, str(Path(__file__).parent))
from trees import statements

SURFACES = [(plain, False), (unicode, False), (latex, True)]

# What is read → plain, Unicode, LaTeX.
EXAMPLES = [
    (
        "R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] - B^R[j])",
        "R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] - B^R[j])",
        "R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] - B^R[j])",
        r"R[t,j] = \tanh(W^{h,R}[j,I]\, h[t-1,I] - B^R[j])",
    ),
    (
        r"\alpha[k, t_1, t_2] = softmax_{t_2 \le t_1}"
        r" \frac{1}{\sqrt{I}} Query[k,t_1,I] Key[k,t_2,I]",
        "alpha[k,t_1,t_2] = softmax_{t_2 <= t_1} 1/sqrt(I) Query[k,t_1,I] Key[k,t_2,I]",
        "α[k,t_1,t_2] = softmax_{t_2 ≤ t_1} 1/sqrt(I) Query[k,t_1,I] Key[k,t_2,I]",
        r"\alpha[k,t_1,t_2] = \operatorname{softmax}_{t_2 \le t_1} \frac{1}{\sqrt{I}}"
        r" \text{Query}[k,t_1,I]\, \text{Key}[k,t_2,I]",
    ),
    (
        "y = cases { x/2 if t = 0 and i != j, ‖x‖ otherwise }",
        "y = cases { x/2 if t = 0 and i != j, ||x|| otherwise }",
        "y = cases { x/2 if t = 0 and i ≠ j, ‖x‖ otherwise }",
        r"y = \begin{cases} \frac{x}{2} & \text{if } t = 0 \text{ and } i \neq j \\"
        r" \left\| x \right\| & \text{otherwise} \end{cases}",
    ),
    (
        "Φ^* = argmin_Φ E_{w_1,…,w_T ~ Train} Σ_{t=1}^T -ln P_Φ(w_t | w_0, …, w_{t-1})",
        "Phi^* = argmin_{Phi} E_{w_1,...,w_T ~ Train}"
        " sum_{t=1}^T -ln P_{Phi}(w_t | w_0, ..., w_{t-1})",
        "Φ^* = argmin_Φ E_{w_1,…,w_T ~ Train} Σ_{t=1}^T -ln P_Φ(w_t | w_0, …, w_{t-1})",
        r"\Phi^* = \operatorname{argmin}_{\Phi} E_{w_1,\dots,w_T \sim \text{Train}}"
        r" \sum_{t=1}^T -\ln P_{\Phi}(w_t \mid w_0, \dots, w_{t-1})",
    ),
    (
        "range Δt = -1..1",
        "range dt = -1..1",
        "range Δt = -1..1",
        r"\text{range } \Delta t = -1..1",
    ),
    (
        "Attention: h̃_{in}[t] = G σ(x) ⊙ y^⊤ for ℓ > 0",
        r"Attention: \tilde h_{in}[t] = G sigmoid(x) .* y^\top for ell > 0",
        "Attention: h̃_{in}[t] = G σ(x) ⊙ y^⊤ for ℓ > 0",
        r"\text{Attention: } \tilde{h}_{\text{in}}[t] = G \sigma(x) \odot y^\top"
        r" \quad \text{for } \ell > 0",
    ),
    ("x = M · (a + b)", "x = M * (a + b)", "x = M · (a + b)", r"x = M \cdot (a + b)"),
    (
        "y[t] = M [t ≤ 2 ∧ ¬w = v ∨ t = 0]",
        "y[t] = M * [t <= 2 and not w = v or t = 0]",
        "y[t] = M · [t ≤ 2 and not w = v or t = 0]",
        r"y[t] = M \cdot [t \le 2 \text{ and } \text{not } w = v \text{ or } t = 0]",
    ),
]


@pytest.mark.parametrize("text, ascii_text, unicode_text, latex_text", EXAMPLES)
def test_examples(text: str, ascii_text: str, unicode_text: str, latex_text: str) -> None:
    (statement,) = parse_text(text).statements
    assert plain(statement) == ascii_text
    assert unicode(statement) == unicode_text
    assert latex(statement) == latex_text
    assert plain(statement).isascii()


@pytest.mark.parametrize("text", [example[0] for example in EXAMPLES])
@pytest.mark.parametrize("surface, is_latex", SURFACES)
def test_examples_read_back(text: str, surface, is_latex: bool) -> None:
    (statement,) = parse_text(text).statements
    assert parse_text(surface(statement), latex=is_latex).statements == (statement,)


@pytest.mark.hypothesis
@pytest.mark.parametrize("surface, is_latex", SURFACES)
@given(statement=statements())
def test_any_tree_reads_back(surface, is_latex: bool, statement: Node) -> None:
    text = surface(statement)
    parsed = parse_text(text, latex=is_latex)
    assert parsed.faults == () and parsed.skipped == (), text
    assert parsed.statements == (statement,), text
    if surface is plain:
        assert text.isascii()


def test_a_list_of_statements() -> None:
    both = parse_text("a = b + 1\nc[t] = a x[t] for t > 0").statements
    assert plain(both) == "a = b + 1\nc[t] = a x[t] for t > 0"
    assert latex(both) == (
        "\\begin{aligned}\na &= b + 1 \\\\\n"
        "c[t] &= a x[t] \\quad \\text{for } t > 0\n\\end{aligned}"
    )
    for surface, is_latex in SURFACES:
        assert parse_text(surface(both), latex=is_latex).statements == both


def test_a_long_chain_in_a_list_has_a_line_for_each_side() -> None:
    text = (
        "s = a b\n"
        "z[t] = W[t,I] (a x[I] + b y[I])\n"
        "  = a W[t,I] x[I] + b W[t,I] y[I]\n"
        "  = Σ_i (a W[t,i] x[i] + b W[t,i] y[i])\n"
        "u = v = w"
    )
    chain = parse_text(text).statements
    assert unicode(chain) == text
    rows = latex(chain).splitlines()
    assert [row.count("&=") for row in rows] == [0, 1, 1, 1, 1, 1, 0]
    assert rows[3].startswith("&= ") and "u &= v = w" in rows
    for surface, is_latex in SURFACES:
        assert parse_text(surface(chain), latex=is_latex).statements == chain


def test_trees_that_no_parser_makes_get_brackets() -> None:
    total = Add((Name("a"), Negative(Name("b"))))
    assert unicode(Product((Number("2"), total))) == "2 (a - b)"
    assert latex(Product((total, Name("x")))) == "(a - b) x"


@pytest.mark.parametrize(
    "name, key",
    [
        (Name("W", sup=(Name("h"), Name("R"))), "W^{h,R}"),
        (Name("h", sub=(Name("in"),)), "h_{in}"),
        (Name("h", ("tilde",)), "h̃"),
        (Name("h", primes=1), "h'"),
        (Name("B", sup=(Name("G", sub=(Number("1"),)),)), "B^{G_1}"),
        (Name("ℒ", sub=(Name("focus"),)), "ℒ_{focus}"),
        (Name("x", sup=(Group(Name("pos")),)), "x^{(pos)}"),
        (Name("alpha"), "alpha"),
        (Name("Key"), "Key"),
    ],
)
def test_keys(name: Name, key: str) -> None:
    assert name_key(name) == key


def test_dots_alone() -> None:
    assert (plain(Dots()), unicode(Dots()), latex(Dots())) == ("...", "…", r"\dots")
