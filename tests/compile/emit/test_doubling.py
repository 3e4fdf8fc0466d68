"""Linear recurrences without a loop: beside the oracle, and beside the loop for gradients."""

from __future__ import annotations

import pytest
import torch
from emitting import batch, code, draw, tensors

from indicial.compile.emit import doubling
from indicial.compile.emit.doubling import linear_scan
from indicial.compile.emit.source import Source, emit
from indicial.compile.native import recurrence as recurrences
from indicial.compile.native import toolchain
from indicial.compile.pipeline import Planned, planned
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code
from indicial.program.meaning.interpret import interpret

GATES = """
    input x[t,k]
    G[t,j] = σ(W[j,K] x[t,K])
    h[t,j] = G[t,j] h[t-1,j] + (1-G[t,j]) U[j,K] x[t,K]
"""
TEXTS = {
    "gates": GATES,
    "backwards": GATES.replace("h[t-1,j]", "h[t+1,j]"),
    "with a start": GATES + "\nh[-1,j] = s[j]",
    "with a start inside": """
        input x[t,k]
        h[0,j] = s[j]
        h[t+1,j] = D[j] h[t,j] + U[j,K] x[t,K]
    """,
    "two steps back": "input x[t,k]\nh[t,k] = D[k] h[t-2,k] + x[t,k]",
    "what is between": """
        input x[t,k]
        c[t,k] = -D[k] h[t-1,k]
        h[t,k] = (c[t,k] + x[t,k])/(1 + x[t,k]^2)
    """,
    "cases": """
        input x[t,k]
        h[t,k] = cases { 2 h[t-1,k] if x[t,k] > 0, x[t,k] otherwise }
    """,
    "layers": """
        input x[t,j]
        L[0,t,j] = x[t,j]
        L[ℓ+1,t,j] = D[ℓ,j] L[ℓ+1,t-1,j] + L[ℓ,t,j]
        h[t,j] = L[L,t,j]
    """,
}


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDICIAL_NATIVE", "0")


def texts(program: Code, ragged: frozenset[str]) -> tuple[Planned, Source, Source]:
    """As it is prepared, its text, and the text with loops."""
    ready = planned(program, ["h"])
    ours = emit(ready.code, ready.plan, ["h"], ragged=ragged)
    return ready, ours, emit(program, schedule(program, ["h"]), ["h"], ragged=ragged)


@pytest.mark.usefixtures("without_kernels")
@pytest.mark.parametrize("name", TEXTS)
def test_no_loop_over_time(name: str) -> None:
    ready, ours, theirs = texts(code(TEXTS[name]), frozenset())
    assert "for t in" in theirs.text
    assert "for t in" not in ours.text
    assert len(list(ready.plan.calls())) == len(ready.refused) == 1


@pytest.mark.usefixtures("without_kernels")
@pytest.mark.parametrize("steps", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("name", TEXTS)
def test_values_and_gradients(name: str, steps: int) -> None:
    program = code(TEXTS[name])
    drawn = [draw(program, 3, seed, T=steps) for seed in range(2)]
    parameters = {n: v.requires_grad_() for n, v in tensors(program, drawn[0].parameters).items()}
    x = tensors(program, batch([d.inputs for d in drawn]))["x"].requires_grad_()
    own = [steps, (steps + 1) // 2]
    for lengths in ({}, {"T": torch.tensor(own)}):
        _, *sources = texts(program, frozenset(lengths))
        results = []
        for source in sources:
            value = source.run(parameters, {"x": x}, drawn[0].sizes, lengths, {})["h"]
            torch.manual_seed(1)
            total = (value * torch.randn_like(value)).sum()
            leaves = [x, *parameters.values()]
            results.append([value, *torch.autograd.grad(total, leaves, allow_unused=True)])
        for ours, theirs in zip(*results, strict=True):
            # A factor has nothing to multiply where there is one step; PyTorch says None for 0.
            ours = torch.zeros_like(theirs) if ours is None else ours
            torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
        for member, length in enumerate(own if lengths else [steps, steps]):
            arrays = {"x": drawn[member].inputs["x"][:length]}
            sizes = {**drawn[0].sizes, "T": length}
            oracle = torch.tensor(
                interpret(program, arrays, drawn[0].parameters, sizes=sizes)["h"],
                dtype=torch.float64,
            )
            found = results[0][0][member, : len(oracle)]
            torch.testing.assert_close(found, oracle, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("without_kernels")
@pytest.mark.parametrize(
    "equation",
    [
        "h[t,k] = tanh(h[t-1,k]) + x[t,k]",
        "h[t,k] = h[t-1,k] h[t-1,k] + x[t,k]",
        "h[t,k] = x[t,k]/(1 + h[t-1,k]^2)",
        "h[t,k] = W[k,K'] h[t-1,K'] + x[t,k]",
        "h[t,k] = D[k] h[t-1,k] + D[k] h[t-2,k] + x[t,k]",
        "h[t,k] = cases { x[t,k] if h[t-1,k] > 0, 0 otherwise }",
        "h[t,k] = max(h[t-1,k], x[t,k])",
        "h[t,k] = D[k] h[t-1,k] + x[t,k] h[t-1,0]",
    ],
)
def test_what_is_not_linear_stays_a_loop(equation: str) -> None:
    ready, *_ = texts(code(f"input x[t,k]\n{equation}"), frozenset())
    assert not list(ready.plan.calls())


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
def test_recurrences_without_their_kernel() -> None:
    """On other devices, and inside transforms."""
    program = code(GATES)
    (call,) = planned(program, ["h"]).plan.calls()
    recurrence = call.function
    assert recurrence.linear is not None
    sizes = {"T": 5, "J": 3, "K": 2}
    torch.manual_seed(0)
    arguments = [
        torch.randn(
            [2] * (n not in recurrence.same)
            + [a.extent.value(sizes) for a in recurrence.code.tensors[n].axes],
            dtype=torch.float64,
        )
        for n in recurrence.arguments
    ]
    (plain,) = recurrence.plain(arguments, sizes, {})
    torch.testing.assert_close(plain, recurrences.scan(recurrence, arguments, sizes, {})[0])


def test_rounds() -> None:
    """T steps in log2(T) rounds: the largest number of additions that any element goes through."""
    a, b = torch.full((1000,), 0.5), torch.ones(1000).requires_grad_()
    value = linear_scan(a, b, 0)
    nodes, waiting = set(), [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            waiting += [following for following, _ in node.next_functions]
    assert sum(type(node).__name__.startswith("AddBackward") for node in nodes) == 10


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "traced"])
@pytest.mark.parametrize("small", [0.0, 1e-30])
def test_factors_whose_product_is_too_large(
    small: float, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state stays small where the product of all factors has no number: 4^100 in float32."""
    monkeypatch.setattr(doubling, "unseen", lambda values: not seen)
    a = torch.full((2, 100), 4.0, requires_grad=True)
    b = torch.full((2, 100), small)
    b[:, 60:] = torch.linspace(-1, 1, 40)
    a.data[:, 64::2] = 0.1
    a.data[0, 70], a.data[1, 80] = 0.0, -3.0
    b.requires_grad_()
    found = linear_scan(a, b, 1)
    state = torch.zeros(2)
    steps = []
    for t in range(100):
        state = a[:, t] * state + b[:, t]
        steps.append(state)
    expected = torch.stack(steps, 1)
    assert bool(expected.isfinite().all())
    torch.testing.assert_close(found, expected)
    weights = torch.cos(torch.arange(100.0))
    slopes = torch.autograd.grad((found * weights).sum(), (a, b))
    wanted = torch.autograd.grad((expected * weights).sum(), (a, b))
    for slope, want in zip(slopes, wanted, strict=True):
        torch.testing.assert_close(slope, want)


def test_a_tracer_takes_the_rounds() -> None:
    """Under `vmap` nobody can look at the numbers."""
    a, b = torch.full((3, 7), 0.5), torch.randn(3, 7)
    found = torch.vmap(lambda x, y: linear_scan(x, y, 0))(a, b)
    torch.testing.assert_close(found, linear_scan(a, b, 1))


@pytest.mark.usefixtures("without_kernels")
@pytest.mark.parametrize("past", ["t-1", "t+1"])
def test_what_no_input_enters_is_computed_once(past: str) -> None:
    program = code(f"input x[t,k]\nh[t,k] = D[k] h[{past},k] + a[k]\ny[t,k] = h[t,k] x[t,k]")
    drawn = [draw(program, 3, seed, T=5) for seed in range(2)]
    ready, ours, _ = texts(program, frozenset())
    assert len(list(ready.plan.calls())) == 1
    inputs, parameters = batch([d.inputs for d in drawn]), drawn[0].parameters
    given = tensors(program, parameters), tensors(program, inputs)
    expected = interpret(program, inputs, parameters, sizes=drawn[0].sizes)["h"]
    found = ours.run(*given, drawn[0].sizes, {}, {})["h"]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.usefixtures("without_kernels")
def test_a_start_that_nobody_reads() -> None:
    """As y begins at 1, so do x and h, and h[-1,k] is out of reach."""
    text = "input x[t,k]\nh[-1,k] = s[k]\nh[t,k] = D[k] h[t-1,k] + x[t,k]\ny[1,k] = a[k]\ny[t,k] = x[t,k]"
    program = code(text)
    drawn = [draw(program, 3, seed, T=5) for seed in range(2)]
    inputs, parameters = batch([d.inputs for d in drawn]), drawn[0].parameters
    given = tensors(program, parameters), tensors(program, inputs)
    expected = interpret(program, inputs, parameters, sizes=drawn[0].sizes)["h"]
    found = texts(program, frozenset())[1].run(*given, drawn[0].sizes, {}, {})["h"]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
