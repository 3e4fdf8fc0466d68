"""Claims and draws that are badly written, and what is said of them."""

from pathlib import Path

import pytest
from claiming import verdict, verdicts

import indicial
from indicial.claims.experiment import HOLDS, REFUTED, UNTRIED
from indicial.claims.trying import Sheet
from indicial.library.loading import load_document


def faults(text: str) -> list[str]:
    return [f"{m.span.line}:{m.span.column} {m.text}" for m in indicial.load(f"{text}\n").errors]


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        ("x ~ N(0, -1)", "1:10 a variance must be at least 0, not -1"),
        ("constant c = -2\nx ~ N(1, c/2)", "2:10 a variance must be at least 0, not -1"),
        ("x ~ uniform(2, 0)", "1:16 no number lies between 2 and 0"),
        ("x ~ bernoulli(3/2)", "1:15 a probability must be between 0 and 1, not 1.5"),
        ("x ~ bernoulli", "1:1 bernoulli does not take 0 numbers"),
        ("x ~ N(0)", "1:1 N does not take 1 number"),
        ("x ~ N(0, 1, 2)", "1:1 N does not take 3 numbers"),
        ("x[t] ~ orthonormal", "1:1 x needs two indices: the row, and the place in it"),
        ("x ~ permutation", "1:1 x needs an index"),
        ("x[t] ~ N(0, 1) for t > 0", "1:20 a draw cannot have a condition"),
        ("x ~ N(0, 1)\nx ~ N(1, 1)", "2:1 x is drawn twice"),
        ("x ~ N(0, 1)\nx = 3", "1:1 x is drawn and defined"),
    ],
)
def test_what_cannot_be_drawn(draw: str, said: str) -> None:
    assert faults(draw) == [said]


@pytest.mark.parametrize(
    "draw",
    [
        "x ~ N(0, 0)",
        "u ~ uniform(-1, 1)\nx ~ N(u, 1)",
        "x[0] ~ N(0, 1)\nx[t] = x[t-1] + 1",
        "x[0] ~ N(0, 1)\nx[t] ~ N(1, 1)",
    ],
)
def test_what_can_be_drawn(draw: str) -> None:
    assert faults(draw) == []


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("claim probability of (x) ≥ 0", "compares nothing"),
        ("claim not x > 0", "a claim cannot begin with `not`"),
        ("claim x ≈ 0 within -1", "a tolerance must be at least 0"),
        ("claim x => 0", "it reasons with ⇒"),
    ],
)
def test_claims_that_claim_nothing(claim: str, said: str) -> None:
    (found,) = faults(f"x ~ N(0, 1)\n{claim}")
    assert said in found


@pytest.mark.parametrize("written", ["P", "Pr", "ℙ", "probability of "])
def test_probabilities_as_books_write_them(written: str) -> None:
    found = verdict(f"x ~ N(0, 1)\nclaim {written}(|x| > 1) ≈ 0.3173 within 0.02")
    assert found.status == HOLDS
    assert found.test.text == "probability of (abs(x) > 1) ≈ 0.3173 within 0.02"
    assert verdict(f"x ~ N(0, 1)\nclaim {written}(|x| > 1) ≥ 0.4").status == REFUTED


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("std(x) ≈ 2", "(std of (x)) ≈ 2"),
        ("Var(x - 1) ≈ 4", "(variance of (x - 1)) ≈ 4"),
        ("std(x)^2 ≈ 4", "(std of (x))^2 ≈ 4"),
        ("mean(x) ≈ 1", "(mean of (x)) ≈ 1"),
        ("P(x > 1, x < 3) ≈ 0.3413", "probability of (x > 1 and x < 3) ≈ 0.3413"),
        ("P(x > 1) + P(x ≤ 1) ≈ 1", "probability of (x > 1) + probability of (x ≤ 1) ≈ 1"),
    ],
)
def test_figures_as_books_write_them(claim: str, text: str) -> None:
    found = verdict(f"x ~ N(1, 4)\nclaim {claim} within 0.05")
    assert (found.test.text, found.status) == (f"{text} within 0.05", HOLDS)
    off = claim[: claim.index("≈")] + "≈ 9"
    assert verdict(f"x ~ N(1, 4)\nclaim {off} within 0.05").status == REFUTED


def test_a_growth_may_stand_first() -> None:
    text = "input x[t]\nh[t] = h[t-1]/2 + x[t]\n"
    held = verdicts(text + "claim O(T^2) ≥ work\nclaim O(1) = parallel time\nclaim work = O(J)")
    assert [v.status for v in held] == [HOLDS, REFUTED, REFUTED]
    assert held[2].found == "2 T has no J, so as J grows it is O(1), not O(J)"


def test_sides_that_are_no_polynomials() -> None:
    text = "input x[t]\ny = Σ_t x[t]\n"
    assert verdict(f"{text}claim 2^T ≥ T + 1").found == "2^T against T + 1, tried at 6 sizes"
    assert verdict(f"{text}claim 1/0 = 1/0").status == UNTRIED


def test_a_bracket_behind_a_fraction_is_a_factor() -> None:
    """`1/T (a)` was read as 1/(T a), as if T were a function."""
    text = "input x[t]\ns = Σ_t x[t]\n"
    held = verdicts(f"{text}claim Σ_t x[t]^2 ≥ 1/T (s)^2\nclaim 2/T (s + 1) = 2/T · (s + 1)")
    assert [v.status for v in held] == [HOLDS, HOLDS]


def test_a_figure_needs_a_distribution() -> None:
    text = "y[n] = x[n]^2\n"
    found = verdict(f"input x[n]\n{text}claim mean of y[0] ≈ 1 within 0.1")
    assert found.status == UNTRIED
    assert (
        "the figure depends on x, but its distribution is not given" in found.found
        and "`x[n] ~ N(0, 1)`" in found.found
    )
    found = verdict("x ~ N(0, s^2)\nclaim std of x ≤ 100")
    assert "depends on s, but its distribution" in found.found
    # A largest value is one that is found, wherever it comes from.
    assert verdict(f"input x[n]\n{text}claim max of y[0] ≤ 1").status == REFUTED


def test_a_largest_value_has_many_draws() -> None:
    """Of 2,500 normal numbers the largest is below 4 nine times of ten."""
    seen = [verdict("x ~ N(0, 1)\nclaim max of x ≤ 4", seed=seed).status for seed in range(3)]
    assert seen == [REFUTED] * 3


def test_what_is_said_where_nothing_was_tried() -> None:
    text = "input x[n]\ny[n] = x[n]^2\n"
    found = verdict(f"{text}claim y[n] ≥ 0 for n > 100").found
    assert found.startswith("at none of 204 draws, sizes N = 1 to 32, does its condition hold")
    found = verdict(f"{text}claim y[n]/0 ≥ 0").found
    assert found.endswith("are both sides finite numbers")
    found = verdict("x ~ N(0, 1)\nclaim mean of sqrt(x) ≤ 1").found
    assert found.startswith("at some draws the figure is taken of something that is not finite")
    found = verdict("x[n] ~ N(0, 1)\nclaim mean of x[0] ≤ 1 for N = 10").found
    assert found.startswith(
        "its condition holds at none of the sizes that were tried (N = 1 to 32)"
    )


def test_sides_that_differ_are_shown_to() -> None:
    found = verdict("y = 1 + 1/10000000\nclaim y = 1")
    assert found.broken is not None
    assert (found.broken.left, found.broken.right) == ("1.0000001", "1")


def test_a_column_is_no_identity() -> None:
    found = verdict("input x[n,i]\nclaim false: Σ_i x[n,i]^2 ≤ 3 for N > 1")
    assert found.broken is not None and "identity" not in found.broken.draw["x"]


NOTES = """\
# Squares

$$y[t] = x[t]^2$$

$$y[t] \\ge 0$$

```indicial
{}
claim y[t] ≥ 0
```
"""


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("Claim y[t] ≥ 1", "did you mean `claim`? `Claim` begins nothing here"),
        ("claims y[t] ≥ 1", "did you mean `claim`? `claims` begins nothing here"),
        ("calim y[t] ≥ 1", "did you mean `claim`? `calim` begins nothing here"),
        ("y[t] ≥ 1", "to have it tried, write `claim y[t] ≥ 1`"),
        ("claim y[t] => 1", "≥ is written `>=`"),
    ],
)
def test_no_line_of_a_block_is_passed_over(tmp_path: Path, line: str, hint: str) -> None:
    """In prose an inequality is left out; among equations it would be a claim that nobody tries."""
    path = tmp_path / "notes.md"
    path.write_text(NOTES.format(line), encoding="utf-8")
    (error,) = [m for program in load_document(path) for m in program.errors]
    assert (error.code, error.span.line, error.hint) == ("no-equation", 8, hint)
    messages = Sheet().run("squares", 1, f"y[t] = x[t]^2\n{line}").messages
    assert [m.hint for m in messages if m.severity == "error"] == [hint]
