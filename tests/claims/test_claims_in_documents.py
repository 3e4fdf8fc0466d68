"""Claims in documents: in fenced blocks, in formulas, in environments, in their sections."""

from pathlib import Path

import pytest

from indicial.claims.experiment import HOLDS, REFUTED, Verdict
from indicial.claims.trying import try_claims
from indicial.library.loading import load_document


def tried(folder: Path, name: str, text: str) -> list[Verdict]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    programs = load_document(path)
    assert [m.render() for p in programs for m in p.errors] == []
    return try_claims(programs)


MARKDOWN = r"""
# Shares

$$\alpha[n] = \operatorname{softmax}_n x[n]$$

Each of them is a share, and together they are all:

```indicial
claim α[n] ≥ 0
```

$$\text{claim } \sum_n \alpha[n] = 1$$

$$\text{claim false: } \alpha[n] \le \frac{1}{N}$$

# Noise

```indicial
ε ~ N(0, 1/4)
```

# Its spread

$$\text{claim std of } \varepsilon \approx 0.5 \text{ within } 0.05$$
"""

LATEX = r"""
\documentclass{article}
\begin{document}
\section{Shares}
\[ \alpha[n] = \operatorname{softmax}_n x[n] \]
\begin{claim}
The shares $\alpha$ are not negative, and they add up, whatever
\[ x[n] \]
may be.
\begin{align}
\alpha[n] &\ge 0 \\
\sum_n \alpha[n] &= 1
\end{align}
\end{claim}
A mistake that is often made:
\begin{claim}
\[ \text{false: } \alpha[n] \le \frac{1}{N} \]
\end{claim}
\begin{indicial}
claim false: α[n] = α[n']
claim parameters = 0
\end{indicial}
\[ y = \sum_n \alpha[n] x[n] \]
\begin{claim}
\[ \frac{\partial y}{\partial v[n]} = 0 \]
\end{claim}
\end{document}
"""


def test_markdown(tmp_path: Path) -> None:
    found = tried(tmp_path, "shares.md", MARKDOWN)
    assert [v.status for v in found] == [HOLDS, HOLDS, REFUTED, HOLDS]
    assert all(v.as_stated for v in found)
    assert [v.test.text for v in found] == [
        "α[n] ≥ 0",
        "Σ_n α[n] = 1",
        "α[n] ≤ 1/N",
        "std of ε ≈ 0.5 within 0.05",
    ]
    assert [v.test.span.line for v in found] == [9, 12, 14, 24]


def test_latex(tmp_path: Path) -> None:
    found = tried(tmp_path, "shares.tex", LATEX)
    assert [v.status for v in found] == [HOLDS, HOLDS, REFUTED, REFUTED, HOLDS, HOLDS]
    assert all(v.as_stated for v in found)


def test_an_index_is_not_borrowed_from_the_section_before(tmp_path: Path) -> None:
    """`k` is a key in the first section and an index in the second."""
    text = """
# Keys

```indicial
size N = 4
μ[n] ~ N(0, 1)
k[n] = 2 μ[n]
claim variance of k[0] ≈ 4 within 0.4
```

# Heads

```indicial
input x[k,n]
y[k] = Σ_n x[k,n]
claim y[k] = Σ_n x[k,n]
```
"""
    spread, sums = tried(tmp_path, "keys.md", text)
    assert (spread.status, sums.status) == (HOLDS, HOLDS)
    assert "N = 1 to 32" in sums.found


def test_a_later_section_speaks_of_an_earlier_one(tmp_path: Path) -> None:
    text = """
# Plain Map

```indicial
input x[t,j]
y[t,i] = W[i,J] x[t,J]
```

# Squared

```indicial
z[t,i] = y[t,i]^2
claim z[t,i] = (W[i,J] x[t,J])^2
claim parameters of y = I J
claim work of z > work of y
claim work of plain_map < work
```
"""
    assert [v.status for v in tried(tmp_path, "plain.md", text)] == [HOLDS] * 4


def test_mistakes_come_before_claims(tmp_path: Path) -> None:
    path = tmp_path / "slip.eq"
    path.write_text("y[t] = x[t+\nclaim y[t] = 1", encoding="utf-8")
    assert try_claims(load_document(path)) == []


@pytest.mark.parametrize("mark", ["# indicial: ignore[claim]\n", ""])
def test_a_claim_can_be_silenced(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "silent.eq"
    path.write_text(f"input x[t]\n{mark}claim x[t] = 1", encoding="utf-8")
    assert len(try_claims(load_document(path))) == (0 if mark else 1)


def test_a_constant_is_not_taken_from_the_section_before(tmp_path: Path) -> None:
    text = """
# Any shares

```indicial
α[n] = softmax_n x[n]
```

# These shares

```indicial
constant α[n] = [0.8, 0.2]
claim α[0] = 0.8
```
"""
    (found,) = tried(tmp_path, "shares.md", text)
    assert found.status == HOLDS and "with" not in found.found


@pytest.mark.parametrize(
    "before",
    [
        "",
        "Write ```x``` here.\n\n",
        "It is ``` in a line.\n\n",
        "1. One\n\n   ",
        "- ",
        "2) ",
        "> a\n\n",
    ],
)
def test_blocks_are_found_wherever_they_stand(tmp_path: Path, before: str) -> None:
    """Three backticks in a line of prose once hid all up to the end of the next block."""
    indented = before.rsplit("\n", 1)[-1]
    lines = ["claim 1 ≤ 0", "```"]
    text = before + "```indicial\n" + "".join(" " * len(indented) + line + "\n" for line in lines)
    (found,) = tried(tmp_path, "notes.md", text)
    assert found.status == REFUTED


def test_a_block_in_a_quotation_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("> ```indicial\n> claim 1 ≤ 0\n> ```\n\n```indicial\nclaim 1 ≤ 2\n```\n")
    programs = load_document(path)
    assert [m.code for p in programs for m in p.errors] == ["quoted-block"]
    path.write_text("> ```python\n> claim 1 ≤ 0\n\n```indicial\nclaim 1 ≤ 2\n```\n")
    (found,) = try_claims(load_document(path))
    assert found.status == HOLDS


def test_a_starred_environment_ends_where_it_ends(tmp_path: Path) -> None:
    """It once went on to the end of the text, so that all equations below it were claims."""
    text = r"\begin{claim*}\[ 1 \ge 2 \]\end{claim*} \[ x \sim \mathcal{N}(0, 1) \]"
    claim = r"\[ \text{claim } \Pr(x > 0) \approx 0.5 \text{ within } 0.05 \]"
    first, second = tried(tmp_path, "notes.tex", f"{text}\n{claim}")
    assert (first.status, second.status) == (REFUTED, HOLDS)


def test_an_environment_that_never_ends(tmp_path: Path) -> None:
    path = tmp_path / "notes.tex"
    path.write_text(r"\begin{claim}\[ 1 \ge 2 \] and \[ y = 2 \]", encoding="utf-8")
    assert [m.code for p in load_document(path) for m in p.errors] == ["open-display"]


def test_what_the_prose_says_of_vectors_is_declared_in_one_line(tmp_path: Path) -> None:
    """The equations stand as they are printed; beside them one line says that the μ are orthonormal."""
    printed = (
        "The vectors $\\mu_i$ are orthogonal and of norm 1.\n\n$$q = M(\\mu_a + \\mu_b)$$\n\n"
        "$$\\alpha_i = \\mathrm{softmax}_i(\\mu_i^\\top q)$$\n\n"
        "```indicial\nlabel a, b in I\nsize I = 5\nconstant M = 50\n%s"
        "claim α[a] ≈ 1/2 within 0.01\n```\n"
    )
    (said,) = tried(tmp_path, "said.md", printed % "μ[i,d] ~ orthonormal\n")
    (open_,) = tried(tmp_path, "open.md", printed % "")
    assert (said.status, open_.status) == (HOLDS, REFUTED)


def test_a_covariance_as_it_is_printed_beside_labels(tmp_path: Path) -> None:
    """k_a = ε μ_a with ε ~ N(1, 1/2); that the labels are in I does not take the identity away."""
    printed = (
        "$$k_a \\sim \\mathcal{N}(\\mu_a, \\alpha I + \\frac{1}{2}(\\mu_a \\mu_a^{\\top}))$$\n\n"
        "$$q = M(\\mu_a + \\mu_b)$$\n\n$$s_a = k_a^{\\top} q$$\n\n"
        "```indicial\nlabel a, b in I\nconstant M = 10\nconstant α = 0.0001\nμ[i,d] ~ orthonormal\n"
        "claim std of s[a] ≈ 7.07 within 1\n```\n"
    )
    found = tried(tmp_path, "sheet.md", printed)
    assert [verdict.status for verdict in found] == [HOLDS]
    programs = load_document(tmp_path / "sheet.md")
    assert not [m.text for program in programs for m in program.messages]
