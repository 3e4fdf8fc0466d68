"""Which loops over time become one, and that what is computed stays the same."""

from __future__ import annotations

import pytest
from agreeing import Ways

from indicial.compile.native import toolchain
from indicial.compile.schedule.fuse import fused
from indicial.compile.schedule.schedule import Plan, schedule
from indicial.program.program import Program

INPUTS = "input x[t,k]\ninput a[t]\n"
TEXTS = {
    "a loop that feeds another": (
        """
        m[t] = max(0.5 m[t-1], a[t])
        d[t] = exp(m[t-1] - m[t])
        n[t,k] = d[t] n[t-1,k] + x[t,k]
        z[t] = max(abs(n[t,K] x[t,K]), 1)
        h[t,k] = n[t,k]/z[t]
        """,
        [["m", "d", "n", "z", "h"]],
    ),
    "both ways": (
        """
        m[t] = 0.5 m[t-1] + a[t]
        n[t,k] = σ(m[t]) n[t+1,k] + x[t,k]
        h[t,k] = n[t,k] m[t] + x[t,k]
        """,
        [["m"], ["n", "h"]],
    ),
    "a step ahead": (
        """
        m[t] = 0.5 m[t-1] + a[t]
        h[t,k] = tanh(m[t+1] + x[t,k])
        """,
        [["m"], ["h"]],
    ),
    "a start outside": (
        """
        m[-1,k] = x[0,k]
        m[t,k] = tanh(m[t-1,k]) + x[t,k]
        h[t,k] = 0.5 h[t-1,k] + tanh(m[t-1,k])
        """,
        [["m"], ["m"], ["h"]],
    ),
    "a product between": (
        """
        m[t,k] = 0.5 m[t-1,k] + x[t,k]
        u[t,k] = W[k,J] m[t,J]
        h[t,k] = σ(u[t,k]) h[t-1,k] + m[t,k]
        """,
        [["m"], ["u"], ["h"]],
    ),
    "weights in a loop": (
        """
        g[t,k] = tanh(W[k,J] g[t-1,J] + x[t,k])
        h[t,k] = a[t] g[t,k] + x[t,k]
        """,
        [["g"], ["h"]],
    ),
    "one operation": (
        """
        m[t,k] = 0.5 m[t-1,k] + x[t,k]
        y[t,k,j] = m[t,k] m[t,j]
        h[t,k] = y[t,k,K-1] + x[t,k]
        """,
        [["m"], ["y"], ["h"]],
    ),
}


def groups(plan: Plan) -> list[list[str]]:
    return [[s.target for s in step.statements()] for step in plan.steps]


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS)
def test_what_goes_together(text: str, expected: list[list[str]]) -> None:
    code = Program.of_text(INPUTS + text).code
    plan = schedule(code, ["h"])
    together = fused(code, plan)
    assert groups(together) == expected
    assert (together is plan) == (together == plan)


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
@pytest.mark.parametrize("text", [text for text, _ in TEXTS.values()], ids=TEXTS)
def test_the_same_is_computed(text: str) -> None:
    ways = Ways(Program.of_text(INPUTS + text).code, ["h"])
    ways.agree({**dict.fromkeys(ways.code.sizes, 4), "K": 3}, members=2)
