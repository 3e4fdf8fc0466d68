"""Empty texts: T = 0 gives what the oracle gives, by loops and by kernels."""

from __future__ import annotations

import awkward
import numpy as np
import pytest
import torch
from emitting import batch, code, compare, defined, draw, model, tensors

import indicial
from indicial.compile.emit.source import emit
from indicial.compile.native import toolchain
from indicial.compile.pipeline import planned
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code
from indicial.program.meaning.arrays import BATCH
from indicial.program.meaning.interpret import interpret

WITHOUT = {
    "differences": "r[t_1-t_2] has 2T - 1 elements",
    "the largest": "nothing is the largest of nothing",
    "sizes": "the sum of nothing, divided by 0",
}


def agree(program: Code, kernels: bool) -> None:
    drawn = [draw(program, 2, seed, T=0) for seed in range(2)]
    inputs, parameters = batch([d.inputs for d in drawn]), drawn[0].parameters
    names = list(dict.fromkeys(defined(program)))
    with np.errstate(all="ignore"):
        expected = interpret(
            program, inputs, parameters, sizes=drawn[0].sizes, draws=drawn[0].draws
        )
    ready, plan = program, schedule(program, names)
    if kernels:
        made = planned(program, names)
        ready, plan = made.code, made.plan
    text = emit(ready, plan, names, empty=frozenset({"T"}))
    given = tensors(program, parameters), tensors(program, inputs)
    compare(text.run(*given, drawn[0].sizes, {}, {}), expected)


def has_time(program: Code) -> bool:
    """Whether T is told by an input, and the batch is not written out."""
    axes = [a for t in program.tensors.values() if t.role == "input" for a in t.axes]
    written = any(a.letter == BATCH for t in program.tensors.values() for a in t.axes)
    return not written and any(axis.extent.name == "T" for axis in axes)


@pytest.mark.parametrize(
    "name", ["bidirectional", "stacked", "rnn_lm", "causal_cnn", "transformer"]
)
def test_models(name: str) -> None:
    assert has_time(model(name))
    agree(model(name), kernels=False)


@pytest.mark.parametrize("name", [n for n in awkward.PROGRAMS if n not in WITHOUT])
def test_awkward_programs(name: str) -> None:
    program = code(awkward.text(awkward.PROGRAMS[name]))
    if has_time(program):
        agree(program, kernels=False)


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
@pytest.mark.parametrize(
    "name",
    [
        "a number inside the range", "numbers and starts", "backwards", "a table from both sides",
        "a table with starts on both sides", "a start of one element",
    ],
)  # fmt: skip
def test_kernels(name: str) -> None:
    agree(code(awkward.text(awkward.PROGRAMS[name])), kernels=True)


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_module_takes_an_empty_text(native: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDICIAL_NATIVE", native)
    module = indicial.load("lstm").compile(J=3, K=2)
    assert module(x=torch.zeros(2, 0, 2))["h"].shape == (2, 0, 3)
    assert module(x=torch.zeros(2, 4, 2))["h"].shape == (2, 4, 3)


EDITS = """
input x[t] in V, y[u] in V
D[t,0] = t
D[0,u] = u
D[t,u] = min(D[t-1,u] + 1, D[t,u-1] + 1, D[t-1,u-1] + [x[t] ≠ y[u]])
"""


@pytest.mark.parametrize("native", ["0", "1"])
def test_the_distance_of_texts_of_which_one_is_empty(
    native: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDICIAL_NATIVE", native)
    program = indicial.load(EDITS)
    module = program.compile(V=3).double()
    for first, second in ((0, 0), (0, 2), (2, 0), (1, 3)):
        given = {"x": np.arange(first) % 3, "y": np.arange(second) % 2}
        expected = program.interpret(given, {}, sizes={"V": 3, "T": first, "U": second})["D"]
        found = module(**{n: torch.tensor(v) for n, v in given.items()})["D"]
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("native", ["0", "1"])
def test_the_gradient_of_an_empty_text_is_zero(
    native: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a loop never runs, nothing that it computes has read a parameter."""
    monkeypatch.setenv("INDICIAL_NATIVE", native)
    text = "input x[t,j]\nh[t,1] = 2\nh[t,j] = tanh(h[t-1,j] A[j] + x[t,j])"
    module = indicial.load(text).compile(J=2)
    x = torch.zeros(2, 0, 2, requires_grad=True)
    module(x=x)["h"].sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape
    slope = module.parameter("A").grad
    assert slope is not None and not slope.any()
