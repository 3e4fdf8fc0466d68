"""Hoisting: the meaning stays, and no loop over time keeps work that the state has no part in."""

from __future__ import annotations

import numpy as np
import pytest

import indicial
from indicial import library
from indicial.compile.passes.hoist import hoist, nests, same_round
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code, Read, Reduce
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.show import show
from indicial.program.verify import verify


def hoisted(code: Code) -> Code:
    return hoist(code, schedule(code))


@pytest.mark.parametrize("name", library.names())
def test_the_meaning_stays(name: str) -> None:
    code = indicial.load(name).code
    after = hoisted(code)
    verify(after)
    for size in (1, 2, 3):
        drawn = sample(code, small_sizes(code, size), seed=size)
        given = (drawn.inputs, drawn.parameters)
        expected = interpret(code, *given, sizes=drawn.sizes, draws=drawn.draws)
        found = interpret(after, *given, sizes=drawn.sizes, draws=drawn.draws, want=list(expected))
        for tensor in expected:
            np.testing.assert_allclose(found[tensor], expected[tensor], rtol=1e-12, atol=1e-12)


def test_the_input_projection_leaves_with_its_bias() -> None:
    text = show(hoisted(indicial.load("ugrnn").code))
    assert "R^{in}[t,j] = sum{K: 0..K-1}(W^{x,R}[j,K] * x[t,K]) + -B^R[j]" in text
    assert "R[t,j] = tanh(sum{I: 0..J-1}(W^{h,R}[j,I] * h[t-1,I]) + R^{in}[t,j])" in text


def test_keys_are_made_once_and_not_at_every_step() -> None:
    """In `h[t-1,J] W[J,K] M[x,y,K]` the sum over K needs no state."""
    text = show(hoisted(indicial.load("captioning_features").code))
    assert "sum{K: 0..K-1}(W^{key}[J,K] * M[x,y,K])" in text
    assert "sum{J: 0..J-1}(h[t-1,J] * " in text


@pytest.mark.parametrize("name", library.names())
def test_every_sum_that_stays_reads_the_state(name: str) -> None:
    code = hoisted(indicial.load(name).code)
    for nest in nests(schedule(code)):
        for statement in nest[-1].statements():
            for node in statement.body.walk():
                if isinstance(node, Reduce):
                    reads = [n for n in node.walk() if isinstance(n, Read)]
                    assert any(
                        n.tensor in nest[-1].axes and same_round(nest, statement, n) for n in reads
                    ), statement.target
