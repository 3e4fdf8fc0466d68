"""Weights of pairs of steps, made at random: what is 0 ahead of the step goes step by step, and only that.

    w[t_1,t_2] = tanh(0.5 α[t_1,t_2] - 0.6 [t_2 < t_1]) q[t_2,0]

Whether a weight is 0 ahead is seen in what the interpreter computes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from indicial.compile.stepping.causal import LookAhead, causal, walk_of
from indicial.compile.stepping.support import with_support
from indicial.program.ir import Code
from indicial.program.meaning.interpret import interpret
from indicial.program.program import Program

HEAD = """input v[t,d]
q[t,i] = W^q[i,D] v[t,D]
α[t_1,t_2] = softmax_{t_2 ≤ t_1} q[t_1,I] q[t_2,I]
β[t_1,t_2] = softmax_{t_2 < t_1} q[t_1,0] q[t_2,I] a[I]
γ[t_1,t_2] = 0 for t_2 > t_1
γ[t_1,t_2] = q[t_1,1] + q[t_2,0]
"""
NEVER_0 = ["q[{a},0]", "q[{b},1]", "1"]
AT_THE_STEP = ["α[{a},{b}]", "γ[{a},{b}]", "[{b} ≤ {a}]", "[{a} < {b}]", "[{a} - {b} ≥ 0]",
               "(Σ_{{i_{n}, {b} ≤ {a}}} q[{a},i_{n}])"]  # fmt: skip
"""They are 0 there, or everywhere else."""
ELSEWHERE = ["β[{a},{b}]", "α[{a}-1,{b}-1]", "α[{a},{b}-1]", "[{b} = {a}]", "[{b} ≠ {a}]",
             "[{a} ≠ {b} - 1]", "[{b} ≤ {a} + 1]", "[{a} - 2 < {b}]"]  # fmt: skip
CONDITIONS = ["{b} ≤ {a}", "{b} > {a}", "{a} > {b} - 1"]
KEEP_0 = ["tanh({})", "-({})", "({})^2", "sin({})", "(Σ_{{{{i_{n}}}}} ({}) q[{{a}},i_{n}])"]
MAKE_1 = ["exp({})", "cos({})"]


@st.composite
def weights(draw: st.DrawFn, leaves: list[str], numbers: Iterator[int], depth: int = 2) -> str:
    """No two parts have the same factor: what is 0 is so because of where it is."""

    def below() -> str:
        return draw(weights(leaves, numbers, depth - 1))

    if depth == 0:
        n = next(numbers)
        return f"{0.5 + 0.07 * n:.2f} {draw(st.sampled_from(leaves)).replace('{n}', str(n))}"
    match draw(st.integers(0, 6)):
        case 0 | 1:
            return f"({below()} {draw(st.sampled_from('+-'))} {below()})"
        case 2 | 3:
            return f"({below()}) ({below()})"
        case 4:
            return draw(st.sampled_from(KEEP_0)).format(below(), n=next(numbers))
        case 5:
            return draw(st.sampled_from(MAKE_1)).format(below())
        case _:
            tested = draw(st.sampled_from(CONDITIONS))
            return f"(cases {{{{ {below()} if {tested}, {below()} otherwise }}}})"


def counted(leaves: list[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda: iter(range(100))).flatmap(lambda numbers: weights(leaves, numbers))


def code_of(weight: str) -> Code:
    """The weight as a tensor of its own, and inside a sum."""
    own, inside = weight.format(a="t_1", b="t_2"), weight.format(a="t", b="s")
    sums = "y[t,d] = v[t,d] + Σ_s w[t,s] v[s,d]\nz[t,d] = v[t,d] + Σ_s {} v[s,d]"
    text = f"{HEAD}w[t_1,t_2] = {own}\n{sums.format(f'({inside})')}"
    program = Program.of_text(text)
    assert not program.errors, text + program.errors[0].render()
    return program.code


def tried(weight: str) -> tuple[bool, list[bool]]:
    """Whether it is 0 ahead, and which of the sums go step by step; with their ends they are the same."""
    code = code_of(weight)
    along = walk_of(code, ["T"])
    ended = with_support(code, along)
    normal = np.random.default_rng(0).normal
    v, parameters = normal(size=(4, 3)), {"W^q": normal(size=(2, 3)), "a": normal(size=2)}
    whole, found = (interpret(c, {"v": v}, parameters) for c in (code, ended))
    for name in "yz":
        np.testing.assert_allclose(found[name], whole[name], 1e-12, 1e-12)
    return not np.triu(whole["w"], 1).any(), [goes(ended, name) for name in "yz"]


def goes(code: Code, name: str) -> bool:
    try:
        causal(code, walk_of(code, ["T"]), [name])
    except LookAhead:
        return False
    return True


@given(counted(NEVER_0 + AT_THE_STEP * 2))
@settings(max_examples=30)
def test_what_is_0_ahead_goes_and_nothing_else(weight: str) -> None:
    nothing, both = tried(weight)
    assert both == [nothing, nothing]


@given(counted(NEVER_0 + AT_THE_STEP + ELSEWHERE))
@settings(max_examples=30)
def test_what_is_not_0_ahead_never_goes(weight: str) -> None:
    nothing, both = tried(weight)
    assert nothing or both == [False, False]
