"""Long texts of several kinds, for tests of how the work grows with the text."""

from __future__ import annotations

import hashlib
import itertools
import string
from collections.abc import Callable, Iterator


def word(number: int) -> str:
    """A word for each number, seven letters of no pattern, so that no two of them look alike."""
    drawn = hashlib.sha256(str(number).encode()).digest()
    return "".join(string.ascii_lowercase[byte % 26] for byte in drawn[:7])


def filled(size: int, parts: Iterator[str], between: str = "") -> str:
    """As many parts as make a text of this size."""
    found: list[str] = []
    total = 0
    while total < size:
        found.append(next(parts))
        total += len(found[-1]) + len(between)
    return between.join(found)


def sections(size: int) -> str:
    return filled(size, (
        f"## Part {word(n)}\n\nThe state is\n\n$$h[t,j] = \\tanh(W^h[j,I] h[t-1,I] + W^x[j,K] x[t,K])$$\n\n"
        "and what it says is\n\n$$y[t,j] = A[j,I] h[t,I]$$\n\n"
        for n in itertools.count()
    ))  # fmt: skip


def one_section(size: int) -> str:
    return "## All\n\n" + filled(size, (
        f"Then\n\n$$\\text{{q{word(n + 1)}}}[t,j] = \\tanh(W^{{{word(n)}}}[j,I] \\text{{q{word(n)}}}[t,I])$$\n\n"
        for n in itertools.count(1)
    ))  # fmt: skip


def equations(size: int) -> str:
    return "input x[t,k]\n" + filled(size, (
        f"y_{{{word(n)}}}[t,j] = tanh(W^{{{word(n)}}}[j,K] x[t,K] - B^{{{word(n)}}}[j])\n" for n in itertools.count()
    ))  # fmt: skip


def chain(size: int) -> str:
    return "input qaaa[j]\n" + filled(size, (
        f"q{word(n + 1)}[j] = q{word(n)}[j] + q{word(n)}[j] = 2 q{word(n)}[j]\n" for n in itertools.count()
    ))  # fmt: skip


def chained(size: int) -> str:
    """Each equation reads the one before it."""
    made = [f"q{n + 1}[j] = tanh(q{n}[j])" for n in range(size // 20)]
    return "\n".join(["input q0[j]", *made, f"loss = Σ_j q{len(made)}[j]"]) + "\n"


def unread(size: int) -> str:
    """The same without a loss: the outcome is what no equation goes on with."""
    return chained(size).rpartition("loss")[0]


def circle(size: int) -> str:
    """Each equation reads the one before it, and the first the last, a step earlier."""
    count = size // 24
    made = [f"q{n}[t,j] = tanh(q{n - 1}[t,j])" for n in range(1, count)]
    return "\n".join(["input x[t,j]", f"q0[t,j] = x[t,j] + q{count - 1}[t-1,j]", *made]) + "\n"


def terms(size: int) -> str:
    return (
        "y[j] = " + filled(size, (f"a_{{{word(n)}}}[j]" for n in itertools.count()), " + ") + "\n"
    )


def products(size: int) -> str:
    return "input x[k]\ny[j] = " + filled(size, itertools.repeat("A[j,K] x[K]"), " + ") + "\n"


def matrix(size: int) -> str:
    row = "[" + ", ".join(str(n % 10) for n in range(100)) + "]"
    return "K = [" + filled(size, itertools.repeat(row), ", ") + "]\n"


def prose(size: int) -> str:
    return filled(
        size, itertools.repeat("The value of $x$ is no $y$; see [this](a.md) and **that**.\n\n")
    )


def redefined(size: int) -> str:
    return "# a\n\n" + filled(
        size, (f"$$h[t,j] = \\tanh(W^{{{word(n)}}}[j,I] h[t-1,I])$$\n\n" for n in itertools.count())
    )


def faulty(size: int) -> str:
    return filled(size, (f"y_{{{word(n)}}}[t,j = tanh(W[j,K] x[t,K))\n" for n in itertools.count()))


def unknown(size: int) -> str:
    return "input x[t,k]\n" + filled(
        size,
        (
            f"y_{{{word(n)}}}[t,j] = q_{{{word(n)}}}[t-1,j] + W[j,K] z[t]\n"
            for n in itertools.count()
        ),
    )


def declared(size: int) -> str:
    return filled(size, (f"input x{word(n)}[t,k]\n" for n in itertools.count()))


def labels(size: int) -> str:
    return (
        "label "
        + filled(size, (f"q{word(n)}" for n in itertools.count()), ", ")
        + " in A\ny[a] = 1\n"
    )


def long_formula(size: int) -> str:
    return "# a\n\n$$ y = " + filled(size, itertools.repeat("a"), " + ") + "$$\n"


def displays(size: int) -> str:
    return "# a\n\n" + filled(
        size, (f"$$a_{{{n}}} = b_{{{n}}} + 1$$\n\n" for n in itertools.count())
    )


def labelled(size: int) -> str:
    rows = (f"y_{{{n}}} &= s_{{{word(n)}}}[i,c] + 1 \\\\\n" for n in itertools.count())
    return "# a\n\n$$\\begin{aligned}\n" + filled(size, rows) + "\\end{aligned}$$\n"


def disagreeing(size: int) -> str:
    """Each gate numbered by something else: no two displays can be one program."""
    letters = string.ascii_lowercase
    gates = (
        f"$$f_{{{n}}} = \\sigma(W_{letters[n % 26]} x_t + U_{letters[(n + 1) % 26]} h_{{t-1}})$$\n\n"
        for n in itertools.count()
    )
    return "# a\n\n" + filled(size, gates)


def sides(size: int) -> str:
    """A chain of which no side is what the one before it is, and each could be a condition."""
    return (
        "# a\n\n$$y = "
        + filled(size, (f"x_{{{n}}} + {n}" for n in itertools.count()), " = ")
        + "$$\n"
    )


KINDS: dict[str, tuple[Callable[[int], str], str]] = {
    "sections": (sections, "md"),
    "one_section": (one_section, "md"),
    "equations": (equations, "eq"),
    "chain": (chain, "eq"),
    "circle": (circle, "eq"),
    "terms": (terms, "eq"),
    "products": (products, "eq"),
    "matrix": (matrix, "eq"),
    "prose": (prose, "md"),
    "redefined": (redefined, "md"),
    "faulty": (faulty, "eq"),
    "unknown": (unknown, "eq"),
    "declared": (declared, "eq"),
    "labels": (labels, "eq"),
    "long_formula": (long_formula, "md"),
    "displays": (displays, "md"),
    "labelled": (labelled, "md"),
}
