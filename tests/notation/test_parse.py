"""Plain text and LaTeX into the tree; slips into faults; what is no equation into skips."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.notation import expressions
from indicial.notation.parse import Parsed, canonical_name, parse, parse_text
from indicial.notation.printers import plain, unicode
from indicial.notation.source import Source
from indicial.notation.syntax import (
    Add,
    Call,
    Claim,
    Comparison,
    Declaration,
    Dots,
    Equation,
    Expression,
    Fraction,
    Group,
    Index,
    Interval,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Reduction,
    SetLiteral,
    Transpose,
    TupleLiteral,
)
from indicial.notation.tokens import tokenize

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
LIBRARY = Path(__file__).resolve().parents[2] / "src" / "indicial" / "library"

a, b, c, d, h, i, k, t, w, x = (Name(letter) for letter in "abcdhiktwx")
one, two = Number("1"), Number("2")


def side(text: str, latex: bool = False) -> Expression:
    """The right side of `y = text`."""
    parsed = parse_text("y = " + text, latex=latex)
    assert parsed.faults == () and parsed.skipped == (), text
    (statement,) = parsed.statements
    assert isinstance(statement, Equation)
    return statement.sides[-1]


def lines(text: str, latex: bool = False) -> list[str]:
    """The statements, printed."""
    parsed = parse_text(text, latex=latex)
    assert parsed.faults == () and parsed.skipped == (), text
    return [unicode(statement) for statement in parsed.statements]


@pytest.mark.parametrize(
    "text, tree",
    [
        ("a + b - c", Add((a, b, Negative(c)))),
        ("a b/c d", Product((Fraction(Product((a, b)), c), d))),
        ("(a + b)/(c d)", Fraction(Add((a, b)), Product((c, d)))),
        ("a (b/c)", Call(a, (Fraction(b, c),))),
        ("2 (b/c)", Product((two, Fraction(b, c)))),
        ("-a b", Negative(Product((a, b)))),
        ("2 · -a", Product((two, Negative(a)))),
        ("h[t-1, i]", Index(h, (Add((t, Negative(one))), i))),
        ("h[t,(k,i)]", Index(h, (t, TupleLiteral((k, i))))),
        ("a(b)[i]", Index(Call(a, (b,)), (i,))),
        ("a[i](b + c)", Product((Index(a, (i,)), Group(Add((b, c)))))),
        ("(a - b)^2", Power(Group(Add((a, Negative(b)))), two)),
        ("a^2", Name("a", sup=(two,))),
        ("W^{h,R}", Name("W", sup=(h, Name("R")))),
        ("x^{(pos)}", Name("x", sup=(Group(Name("pos")),))),
        ("h_in", Name("h", sub=(Name("in"),))),
        ("h_{0,in}", Name("h", sub=(Number("0"), Name("in")))),
        ("x_12'", Name("x", primes=1, sub=(Number("12"),))),
        ("h̃", Name("h", ("tilde",))),
        ("ĥ", Name("h", ("hat",))),
        ("h⃖", Name("h", ("cev",))),
        ("x₁²", Name("x", sub=(one,), sup=(two,))),
        ("2t + dt", Add((Product((two, t)), Name("Δt")))),
        ("Δ t", Name("Δt")),
        ("KTL", Name("KTL")),
        ("W.grad'", Name("W.grad", primes=1)),
        ("W^Q^⊤", Transpose(Name("W", sup=(Name("Q"),)))),
        ("h^⊤ w", Product((Transpose(h), w))),
        ("ln a[i]", Call(Name("ln"), (Index(a, (i,)),))),
        ("sigmoid(x)", Call(Name("σ"), (x,))),
        ("max(a, b)", Call(Name("max"), (a, b))),
        ("P(w_t | …)", Call(Name("P"), (Name("w", sub=(t,)),), (Dots(),))),
        ("sum_i a b + c", Add((Reduction("sum", (i,), None, Product((a, b))), c))),
        ("Σ_t -ln x", Reduction("sum", (t,), None, Negative(Call(Name("ln"), (x,))))),
        ("softmax_i a + b", Reduction("softmax", (i,), None, Add((a, b)))),
        (
            "softmax(a b) c",
            Product((Reduction("softmax", (), None, Group(Product((a, b)))), c)),
        ),
        (
            "Σ_{t=1}^T x",
            Reduction("sum", (Comparison((t, one), ("=",)),), Name("T"), x),
        ),
        ("-1..1", Interval(Negative(one), one)),
        ("{1, …, T}", SetLiteral((one, Dots(), Name("T")))),
    ],
)
def test_plain(text: str, tree: Expression) -> None:
    assert side(text) == tree


@pytest.mark.parametrize(
    "latex, text",
    [
        (r"KTL", "K T L"),
        (r"\frac12 x", "1/2 x"),
        (r"\frac{a+b}{cd}", "(a + b)/(c d)"),
        (r"W_{\ell+1}^Q[i]", "W_{ℓ+1}^Q[i]"),
        (r"W^Q_{\ell+1}[i]", "W_{ℓ+1}^Q[i]"),
        (r"W^{FF1} h_{in}", "W^{FF1} h_{in}"),
        (r"L_{\max}", "L_{max}"),
        (r"\Delta t", "Δt"),
        (r"\mathcal{L}_{focus} + \mathcal N(a)", "ℒ_{focus} + 𝒩(a)"),
        (r"\mathbf{q} \mathbf{dobj}", "q dobj"),
        (r"\left( a \right)\! b", "(a) b"),
        (r"\textcolor{red}{a} + {\color{blue} b}", "a + b"),
        (r"\underset{w_t}{\text{softmax}} \quad h e", "softmax_{w_t} h e"),
        (r"{\rm softmax}_i \: x_i", "softmax_i x_i"),
        (r"\arg\max_i x_i", "argmax_i x_i"),
        (r"\operatorname*{argmin}_{x} a", "argmin_x a"),
        (r"\sum\limits_{\substack{i \\ j \neq i}} x", "Σ_{i,j ≠ i} x"),
        (r"\|x\|_2^2 + |x|", "‖x‖_2^2 + abs(x)"),
        (r"P(w_t \mid w_0, \dots, w_{t-1})", "P(w_t | w_0, …, w_{t-1})"),
        (r"\mathbb{E}_{\langle x,y \rangle \sim D}\left[ x \right]", "E_{x,y ~ D} [x]"),
        (r"h_\Phi(a)^\top e(w)", "h_Φ(a)^⊤ e(w)"),
        (r"W^{Q\top} x", "W^Q^⊤ x"),
        (r"{h'}^{2}", "h'^2"),
        (r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}", "[1, 2]"),
        (r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}", "[[1, 2], [3, 4]]"),
        (
            r"\begin{cases} 1 & \text{if } w \text{ is flight} \\ 0 & \text{otherwise} \end{cases}",
            "cases { 1 if w = flight, 0 otherwise }",
        ),
        (
            r"\left\{ \begin{array}{ll} 1 & t > 0 \\ 0 & \text{else} \end{array} \right.",
            "cases { 1 if t > 0, 0 otherwise }",
        ),
        (r"a(-\ln b[t]) \tag{1} \label{x}", "a(-ln b[t])"),
        (r"\underbrace{a b}_{\text{scores}} + c", "(a b) + c"),
        (r"\underbrace{a b}_{= -1} + c", "(a b) + c"),
    ],
)
def test_latex(latex: str, text: str) -> None:
    assert unicode(side(latex, latex=True)) == text


@pytest.mark.parametrize(
    "latex, expected",
    [
        (r"a &= b \\ &= c \\ d &= a", ["a = b = c", "d = a"]),
        (r"f(x) \\ = a", ["f(x) = a"]),
        (r"a = b \\ + c", ["a = b + c"]),
        (r"a = f(b \\ + c)", ["a = f(b + c)"]),
        (r"= a \\ = b", ["= a = b"]),
        (r"c_1 = v_a,\ c_2 = v_b", ["c_1 = v_a", "c_2 = v_b"]),
        (r"x = a \quad \text{and} \quad y = b.", ["x = a", "y = b"]),
        (r"x = a, \quad \text{where } y = b", ["x = a", "y = b"]),
        (r"x_i \approx 0,\ i \notin \{a, b\}", ["x_i ≈ 0 for i ∉ {a, b}"]),
        (r"x_i = 0 \quad \forall i", ["x_i = 0"]),
        (r"x_i = a_i, \quad i = 1, \dots, n", ["x_i = a_i for i ∈ {1, …, n}"]),
        (r"x = a \text{ for } \ell > 0", ["x = a for ℓ > 0"]),
        (r"\text{Attention } \alpha[t] = x", ["Attention: α[t] = x"]),
        (r"\text{Weighted Sum : } y = x", ["Weighted Sum: y = x"]),
        (r"x \overset{\text{def}}{=} y", ["x = y"]),
        (r"\begin{array}{rcl} a & = & b \\ c & = & d \end{array}", ["a = b", "c = d"]),
    ],
)
def test_rows(latex: str, expected: list[str]) -> None:
    assert lines(latex, latex=True) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a = b\n# nothing\n\nc = d  # a comment", ["a = b", "c = d"]),
        ("a = f(b,\n  c)\nd = a", ["a = f(b, c)", "d = a"]),
        ("a = b +\n  c", ["a = b + c"]),
        ("a\n  = b\n  = c", ["a = b = c"]),
        ("y = cases { 1 if t = 0,\n  x otherwise }\nz = y", None),
        ("Attention: a[t] = x", ["Attention: a[t] = x"]),
        ("x = y if t > 0 and i != k", ["x = y for t > 0 and i ≠ k"]),
        ("x[t] = y for t = 1..T", ["x[t] = y for t = 1..T"]),
        ("size = 2", ["size = 2"]),
        ("claim[t] = 2", ["\\text{claim}[t] = 2"]),
    ],
)
def test_lines(text: str, expected: list[str] | None) -> None:
    found = lines(text)
    assert found == (expected or ["y = cases { 1 if t = 0, x otherwise }", "z = y"])


def test_declarations_and_claims() -> None:
    text = "input w[t] in V, x[t,k]\nconstant λ = 0.01\nrange dt = -1..1\nlabel a, b in A\n"
    text += "claim a >= b\nclaim a ~= b within 0.001"
    assert parse_text(text).statements == (
        Declaration("input", (Index(w, (t,)),), Name("V")),
        Declaration("input", (Index(x, (t, k)),)),
        Declaration("constant", (Name("λ"),), None, Number("0.01")),
        Declaration("range", (Name("Δt"),), None, Interval(Negative(one), one)),
        Declaration("label", (a, b), Name("A")),
        Claim(Comparison((a, b), ("≥",))),
        Claim(Comparison((a, b), ("≈",)), Number("0.001")),
    )


@pytest.mark.parametrize(
    "text, latex, messages",
    [
        ("a = f(x\nb = 2\nc = [1, 2", False, ["`(` is never closed", "`[` is never closed"]),
        ("a = f[x)", False, ["`[` is closed by `)`"]),
        ("a = [(b)) c]", False, ["`)` closes nothing"]),
        (r"a = (b \\ c = d) \\ e = h", True, ["`(` is never closed", "`)` closes nothing"]),
        ("a = ", False, ["nothing follows `=`"]),
        ("a = b +", False, ["an expression is missing at the end"]),
        ("a = b, c", False, ["this part has no relation"]),
        (r"a = \foo{b}", True, [r"unknown command `\foo`"]),
        ("a = b[]", False, ["expected an expression, found `]`"]),
        ("x_1_2 = a", False, ["a second subscript"]),
    ],
)
def test_faults(text: str, latex: bool, messages: list[str]) -> None:
    parsed = parse_text(text, latex=latex)
    assert [fault.message for fault in parsed.faults] == messages


def test_a_bad_row_leaves_the_others() -> None:
    parsed = parse_text("a = f(x\nb = 2\nc = [1, 2\nd = b", name="cell.eq")
    assert [unicode(s) for s in parsed.statements] == ["b = 2", "d = b"]
    opened, closing = parsed.faults[1].spans
    assert (opened.line, opened.column, closing.column) == (3, 5, 10)


@pytest.mark.parametrize(
    "latex, reason",
    [
        (r"a \Rightarrow b = c", "⇒"),
        (r"k_j \ggg k_i, i \neq j", "⋙"),
        (r"\lim_{x \to 0} c = 2", "limit"),
        (r"q = k \xrightarrow{a} q = M", "arrow"),
        (r"\tanh(x) \in (-1, 1)", "range"),
        (r"P(w_0, w_1)", "no equation"),
        (r"a \le b", "inequality"),
        (r"\text{Answer: } \{ \begin{bmatrix} 1 \\ 2 \end{bmatrix} \}", "no equation"),
    ],
)
def test_skipped(latex: str, reason: str) -> None:
    parsed = parse_text(latex, latex=True)
    assert parsed.statements == () and parsed.faults == ()
    assert reason in " ".join(skipped.reason for skipped in parsed.skipped)


def test_both_surfaces_give_the_same_tree() -> None:
    latex = r"h[t, j] = \sigma(W^{h,R}[j, I] h[t-1, I]) \odot \frac{1}{\sqrt{I}}"
    text = "h[t,j] = σ(W^{h,R}[j,I] h[t-1,I]) .* 1/sqrt(I)"
    assert parse_text(latex, latex=True).statements == parse_text(text).statements


def test_spans() -> None:
    (equation,) = parse_text("y = tanh(W[j,I] x[I]) + 2").statements
    texts = {type(node).__name__: node.span.text for node in reversed(list(equation.walk()))}
    assert texts["Call"] == "tanh(W[j,I] x[I])"
    assert texts["Product"] == "W[j,I] x[I]"
    assert texts["Equation"] == "y = tanh(W[j,I] x[I]) + 2"


def test_comments_are_kept() -> None:
    (comment,) = parse_text("a = b  # ignore: unused\n").comments
    assert comment.text == "# ignore: unused"


@pytest.mark.parametrize(
    "text, name",
    [
        ("W^{h, R}", "W^{h,R}"),
        (r"\tau", "τ"),
        ("tau", "τ"),
        ("τ", "τ"),
        ("h_in", "h_{in}"),
        (r"\tilde h", "h̃"),
        ("dt", "Δt"),
        (r"\mathcal{L}_{\text{focus}}", "ℒ_{focus}"),
        ("B^{G_1}", "B^{G_1}"),
        ("Σ", "Σ"),
        ("a + b", "a + b"),
        (" ", ""),
    ],
)
def test_canonical_name(text: str, name: str) -> None:
    assert canonical_name(text) == name


# ---------------------------------------------------------------- whole documents


def displays() -> list[str]:
    found = re.compile(r"\$\$(.+?)\$\$|^ *\$([^$\n]+)\$ *$", re.DOTALL | re.MULTILINE)
    texts = (path.read_text(encoding="utf-8") for path in sorted(SEEDS.glob("*.txt")))
    return [m.group(1) or m.group(2) for text in texts for m in found.finditer(text)]


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the documents are not on this machine")
def test_every_display_of_the_documents_is_read_or_refused_with_a_reason() -> None:
    faults = []
    for display in displays():
        parsed = parse_text(display, latex=True)
        assert parsed.statements or parsed.skipped or parsed.faults, display
        faults += [fault.message for fault in parsed.faults]
        for statement in parsed.statements:
            assert parse_text(plain(statement)).statements == (statement,)
    # Two displays have a slip in their brackets; everything else reads as it stands.
    assert faults == ["`)` closes nothing", "`(` is never closed"]


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.eq")), ids=lambda path: path.stem)
def test_the_library_reads_back(path: Path) -> None:
    parsed = parse_text(path.read_text(encoding="utf-8"), path.name)
    assert parsed.faults == () and parsed.skipped == ()
    assert parse_text(unicode(parsed.statements)).statements == parsed.statements


# ---------------------------------------------------------------- nothing breaks it

PIECES = [
    *"abhWE_^{}()[]=≈~,;+-*/|&'.:#%Σ√²∈≤\n\\ ",
    "\\\\",
    "\\{",
    "\\}",
    "||",
    "\\frac",
    "\\sqrt",
]
PIECES += ["\\left", "\\right", "\\right.", "\\text{", "\\text{if }", "\\begin{cases}", "\\quad"]
PIECES += ["\\end{cases}", "\\begin{aligned}", "\\end{aligned}", "\\underset", "\\tilde", "\\sum"]
PIECES += [
    "softmax",
    "max",
    "ln",
    "E_{y ~ P}",
    "cases {",
    "if",
    "for",
    "in",
    "1",
    "..",
    "...",
    "dt",
]
PIECES += [
    "input ",
    "claim ",
    "range ",
    "\\substack{",
    "\\mathbf{",
    "\\mathcal",
    "^\\top",
    "\u0303",
]


@pytest.mark.hypothesis
@given(
    text=st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)), latex=st.booleans()
)
def test_no_text_raises(text: str, latex: bool) -> None:
    assert isinstance(parse_text(text, latex=latex), Parsed)


@pytest.mark.parametrize(
    "text",
    [
        "y = " + "(" * 5000 + "x" + ")" * 5000,
        "y = " + "-" * 5000 + "x",
        "y = " + "ln " * 5000 + "x",
        "y = " + "Σ_i " * 5000 + "x",
        "y = x" + "^{x" * 5000 + "}" * 5000,
        "y = x" + "_{x" * 5000 + "}" * 5000,
        "y = " + "\\tilde" * 5000 + " x",
        "y = " + "\\sqrt" * 5000 + " x",
        "y = " + "\\frac{" * 5000 + "}{x}" * 5000,
        "y = " + "\\begin{cases}" * 5000,
        "y = " + "\\underset{a}" * 5000 + "{b}",
        "y = " + "\\text{" * 5000,
        "y = " + "|" * 5000 + "x",
        "y = " + "a[" * 5000 + "i" + "]" * 5000,
        "y = " + "\\boxed" * 5000 + " x",
        "y = " + "{}" * 5000 + " x",
        "x_{" + "\\substack{" * 5000 + "a" + "}" * 5001,
    ],
)
@pytest.mark.parametrize("latex", [False, True])
def test_deep_nesting_gets_a_message(text: str, latex: bool) -> None:
    parsed = parse_text(text, latex=latex)
    assert parsed.faults or parsed.statements or parsed.skipped


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"y = \left( a + b \right. \\ & \qquad \left. + c \right) x", "y = (a + b + c) x"),
        (
            r"y &= \left( a \right. \nonumber \\ & \left. + b \right. \\ & {} \left. {} - c \right) x",
            "y = (a + b - c) x",
        ),
        (
            r"y = \left( a + \ln \left( b \right. \right. \\ & \left. \left. + c \right) \right) x",
            "y = (a + ln(b + c)) x",
        ),
    ],
)
def test_a_bracket_goes_on_in_the_next_line(text: str, read: str) -> None:
    (statement,) = parse_text(text, latex=True).statements
    assert unicode(statement) == read


@pytest.mark.parametrize("sign", ["(", ")", "]"])
def test_thousands_of_brackets_without_a_partner_are_one_message(sign: str) -> None:
    (fault,) = parse_text("y = x " + sign * 5000).faults
    assert "4,999 more brackets have no partner" in fault.message


def test_sixty_levels_fit_into_half_of_the_stack() -> None:
    text = "y = " + "f(" * 59 + "x" + ")" * 59
    limit = sys.getrecursionlimit()
    depth = 0
    frame = sys._getframe()
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    try:
        sys.setrecursionlimit(depth + 900)
        assert len(parse_text(text).statements) == 1
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("latex", [False, True])
def test_work_grows_in_proportion_to_the_text(latex: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    original = expressions.ExpressionParser.peek

    def counted(self: expressions.ExpressionParser):
        nonlocal steps
        steps += 1
        return original(self)

    monkeypatch.setattr(expressions.ExpressionParser, "peek", counted)
    work = []
    for size in (20, 40, 80):
        row = "y = " + " + ".join(["a[t,i] (b_{t+1} - \\frac{c}{d}) ln x"] * size)
        text = (" \\\\ " if latex else "\n").join([row] * 5)
        steps = 0
        source = Source("", text)
        tokens = tokenize(source, 0, len(text), latex)
        assert len(parse(tokens, latex).statements) == 5
        work.append(steps / len(tokens))
    assert max(work) < 1.1 * min(work)


def test_a_bracket_behind_a_fraction_and_a_blank_is_a_factor() -> None:
    assert lines("y = 1/T (a + b)^2") == ["y = 1/T · (a + b)^2"]
    assert lines("y = λ/N_1 (a - b)") == ["y = λ/N_1 · (a - b)"]
    assert lines("y = 1/T(a + b)") == ["y = 1/T(a + b)"]
    assert lines("y = 1/f (a) + 1/sqrt (a)") == ["y = 1/f(a) + 1/sqrt(a)"]
    assert lines("y = 1/(T (a + b))") == ["y = 1/T(a + b)"]


def test_names_keep_their_fonts() -> None:
    """As evidence: in equality, and so in bracket notation, a bold letter is the letter."""
    texts = [r"\mathbf{h}_t", r"\mathbf h_t", r"{\bf h}_t", r"\bm{h}_t", r"\boldsymbol{\tilde h}_t"]
    for text in texts:
        name = parse_text(f"{text} = x", latex=True).statements[0].sides[0]
        assert isinstance(name, Name) and (name.base, name.font) == ("h", "bold"), text
    plain = parse_text("h_t = x", latex=True).statements[0].sides[0]
    assert plain == parse_text(r"\mathbf h_t = x", latex=True).statements[0].sides[0]
    assert isinstance(plain, Name) and plain.font == ""


@pytest.mark.parametrize("text", [r"h^{<t-1>}", r"h^{\langle t-1\rangle}"])
def test_angles_above_a_name(text: str) -> None:
    found, expected = (parse_text(f"{t} = x", latex=True) for t in (text, "h^{(t-1)}"))
    assert found.faults == () and found.statements == expected.statements


@pytest.mark.parametrize("space", ["", r"\quad", r"\qquad \quad", r"{}\quad"])
def test_a_row_that_goes_on_behind_a_space(space: str) -> None:
    text = rf"\begin{{aligned}} y[t] &= a[t] \\ &{space} + b[t] \\ z[t] &= c[t] \end{{aligned}}"
    found = parse_text(text, "text", latex=True)
    assert [unicode(s) for s in found.statements] == ["y[t] = a[t] + b[t]", "z[t] = c[t]"]


def test_letters_below_a_name_stay_letters() -> None:
    """`W_{xi}` is the weight from x to the input gate, beside `W_{xf}`; ξ has a command."""
    for text, base in [("W_{xi}", "xi"), (r"W_{\xi}", "ξ"), ("W_xi", "ξ"), ("W_{xi,t}", "ξ")]:
        name = parse_text(f"{text} = 1").statements[0].sides[0]
        assert isinstance(name, Name) and isinstance(name.sub[0], Name), text
        assert name.sub[0].base == base, text
