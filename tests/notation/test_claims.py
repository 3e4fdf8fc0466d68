"""What only claims can say: read, printed, and read back the same."""

import pytest

from indicial.notation.parse import parse_text
from indicial.notation.printers import latex, plain, unicode
from indicial.notation.syntax import (
    Claim,
    Comparison,
    Derivative,
    Growth,
    Index,
    Name,
    Named,
    Number,
    Product,
    Quantity,
    Statistic,
)

CLAIMS = [
    "claim std of α[0] ≈ 0.386 within 0.02",
    "claim probability of (c[0] > 0.1 and c[1] > 2) ≤ 0.34",
    "claim probability of (abs(c) > 0.1) ≈ 1/3 within 0.01",
    "claim false: α[t] = β[t] for t > 0",
    "claim 0 ≤ α[n] ≤ 1",
    "claim a ≈ b within 1/T for t_2 > t_1",
    "claim parameters = J^2",
    "claim parameters of W^{QK} = 2I J K",
    "claim work of merged_{attention} ≤ 9T",
    "claim parallel time = O(T)",
    "claim parallel time of h ≤ O(T J)",
    "claim elements of W = J K",
    "claim memory > 3",
    "claim ∂y/∂x[i] = 2 x[i]",
    "claim 2 ∂p[t]/∂x[t'] = -p[t]",
    "claim mean of (a + b) - std of a[I] b[I] ≈ 0 within 1",
    "claim max of x[0] ≤ min of y",
    "claim variance of x ≈ mean of x^2 within 0.1",
]


@pytest.mark.parametrize("text", CLAIMS)
def test_claims_read_back(text: str) -> None:
    parsed = parse_text(text)
    assert parsed.faults == ()
    (claim,) = parsed.statements
    assert unicode(claim) == text
    assert plain(claim).isascii()
    assert parse_text(plain(claim)).statements == (claim,)
    assert parse_text(latex(claim), latex=True).statements == (claim,)


def test_wide_spaces_say_nothing() -> None:
    claim = parse_text(r"\text{claim } a = b \quad \text{for } t > 0", latex=True).statements
    assert claim == parse_text("claim a = b for t > 0").statements


def test_the_tree() -> None:
    a, T = Name("a"), Name("T")
    text = "claim false: mean of a b = work of a for a > 0\nclaim work = O(T)\nclaim ∂a/∂b[T] < 1"
    b = Name("b")
    assert parse_text(text).statements == (
        Claim(
            Comparison((Statistic("mean", Product((a, b))), Quantity("work", Named(a))), ("=",)),
            None,
            Comparison((a, Number("0")), (">",)),
            True,
        ),
        Claim(Comparison((Quantity("work"), Growth(T)), ("=",))),
        Claim(Comparison((Derivative(a, Index(b, (T,))), Number("1")), ("<",))),
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("claim work[t] = 1", {"work", "t"}),
        ("claim memory_1 = 2", {"memory"}),
        ("claim O(x) = 2", {"O", "x"}),
        ("y = mean of", None),
        ("work = 2", {"work"}),
    ],
)
def test_other_names_stay_names(text: str, names: set[str] | None) -> None:
    parsed = parse_text(text)
    if names is None:
        return
    (statement,) = parsed.statements
    assert {n.base for n in statement.walk() if isinstance(n, Name)} == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claim a", "this claim compares nothing"),
        ("claim a = b c within", "an expression is missing at the end"),
        ("claim a = b within 1 2 ]", "`]` closes nothing"),
        ("claim probability of a > 1", "expected `(`, found `a`"),
        ("claim work of 3 = 1", "expected a name, found `3`"),
        ("claim false: 0 < a < 1", "a false claim can have only one relation"),
    ],
)
def test_slips(text: str, message: str) -> None:
    assert [f.message for f in parse_text(text).faults] == [message]


def test_a_forgotten_colon() -> None:
    (fault,) = parse_text("claim false x[n] = 1").faults
    assert "missing colon after `false`" in fault.message
    assert parse_text("claim false[n] = 1").faults == ()
