"""Linear recurrences taken apart: the factor of the state, and what comes new."""

from __future__ import annotations

import pytest

from indicial.compile.explain.blackboard import equation
from indicial.compile.passes.linear import Linear, linear
from indicial.program.program import Program


def apart(text: str) -> Linear | None:
    return linear(Program.of_text(f"input x[t,k], G[t,k]\n{text}").code, ["h"])


@pytest.mark.parametrize(
    ("text", "factor", "new"),
    [
        ("h[t,k] = G[t,k] h[t-1,k] + x[t,k]", "G[t,k]", "x[t,k]"),
        ("h[t,k] = x[t,k] - h[t-1,k]", "-1", "x[t,k]"),
        ("h[t,k] = 1/2 (h[t-1,k] - x[t,k])", "1/2", "-1/2 x[t,k]"),
        ("h[t,k] = h[t-1,k]/G[t,k]", "1/G[t,k]", "0"),
    ],
)
def test_factor_and_rest(text: str, factor: str, new: str) -> None:
    found = apart(text)
    assert found is not None
    sides = {s.target: equation(s).split(" = ")[1] for s in found.code.statements}
    assert (sides[found.factor], sides[found.new]) == (factor, new)


@pytest.mark.parametrize(
    ("text", "direction", "lag"),
    [
        ("h[t,k] = G[t,k] h[t-1,k] + x[t,k]", 1, 1),
        ("h[t,k] = G[t,k] h[t+1,k] + x[t,k]", -1, 1),
        ("h[t,k] = G[t,k] h[t-3,k] + x[t,k]", 1, 3),
    ],
)
def test_which_way_and_how_far(text: str, direction: int, lag: int) -> None:
    found = apart(text)
    assert found is not None
    assert (found.direction, found.lag, found.axis) == (direction, lag, 0)


@pytest.mark.parametrize(
    "text",
    [
        "h[t,k] = x[t,k]",
        "h[t,k] = x[t,k]/h[t-1,k]",
        "h[t,k] = G[t,K] h[t-1,K] + x[t,k]",
        "g[t,k] = h[t-1,k]^2\nh[t,k] = g[t,k] + x[t,k]",
        "h[t,k] = G[t,k] h[t-1,k] + x[t,k] for t > 0",
    ],
)
def test_others(text: str) -> None:
    assert apart(text) is None
