"""Recurrences as operators: gradients beside PyTorch's own, in every way of calling them."""

from __future__ import annotations

import pytest
import torch
from torch.library import opcheck

import indicial
from indicial import library
from indicial.compile.emit.source import emit
from indicial.compile.native import recurrence as recurrences
from indicial.compile.native import routine, toolchain
from indicial.compile.native.reading.body import needs_history
from indicial.compile.native.routine import Native
from indicial.compile.pipeline import planned
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code
from indicial.program.meaning.sample import small_sizes

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

RECURRENT = [
    "bahdanau", "bidirectional", "captioning_features", "cross_attention", "gru", "lstm", "residual", "rnn",
    "rnn_lm", "stacked", "ugrnn",
]  # fmt: skip


def given(
    code: Code, sizes: dict[str, int], members: int
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)

    def drawn(name: str, front: list[int]) -> torch.Tensor:
        tensor = code.tensors[name]
        shape = front + [axis.extent.value(sizes) for axis in tensor.axes]
        if tensor.values is not None:
            return torch.randint(0, tensor.values.value(sizes), shape, generator=generator)
        value = torch.randn(shape, generator=generator, dtype=torch.float64)
        return value.requires_grad_()

    roles = {name: tensor.role for name, tensor in code.tensors.items()}
    parameters = {n: drawn(n, []) for n, role in roles.items() if role == "parameter"}
    inputs = {n: drawn(n, [members]) for n, role in roles.items() if role == "input"}
    return parameters, inputs


def test_the_list_is_complete() -> None:
    found = [
        name
        for name in library.names()
        if any(loop.kind == "scanned" for loop in schedule(indicial.load(name).code).loops())
    ]
    assert set(RECURRENT) <= set(found)
    assert set(found) - set(RECURRENT) == {
        "blank_rnn",
        "captioning",
        "thought_vector",
    }  # more of them


@pytest.mark.parametrize("rows", [0, 4], ids=["many members", "few members"])
@pytest.mark.parametrize("name", RECURRENT)
def test_values_and_gradients_are_those_of_the_loop(
    name: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many members products of inputs are taken inside of the loop, as if any were enough."""
    monkeypatch.setattr(routine, "ROWS", rows)
    code = indicial.load(name).code
    want = [code.loss] if code.loss else [code.statements[-1].target]
    ready = planned(code, want)
    assert not ready.refused and any(ready.plan.calls())
    plain = emit(code, schedule(code, want), want)
    native = emit(ready.code, ready.plan, want)
    for size, members in ((1, 3), (3, 1), (3, 2)):
        sizes = small_sizes(code, size)
        parameters, inputs = given(code, sizes, members)
        every = [v for v in (*parameters.values(), *inputs.values()) if v.requires_grad]
        results = []
        for source in (plain, native):
            value = source.run(parameters, inputs, sizes, {}, {})[want[0]]
            torch.manual_seed(2)
            total = (value * torch.randn_like(value)).sum()
            results.append((value, torch.autograd.grad(total, every, allow_unused=True)))
        torch.testing.assert_close(results[1][0], results[0][0], rtol=1e-11, atol=1e-11)
        for ours, theirs in zip(results[1][1], results[0][1], strict=True):
            if theirs is not None:
                torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def recurrence_of(name: str) -> tuple[recurrences.Recurrence, list[torch.Tensor], dict[str, int]]:
    code = indicial.load(name).code
    (call,) = planned(code, ["h"]).plan.calls()
    recurrence = call.function
    sizes = small_sizes(code, 3)
    generator = torch.Generator().manual_seed(1)
    arguments = [
        torch.randn(
            [
                *([] if n in recurrence.same else [2]),
                *(a.extent.value(sizes) for a in recurrence.code.tensors[n].axes),
            ],
            generator=generator,
            dtype=torch.float64,
        ).requires_grad_()
        for n in recurrence.arguments
    ]
    return recurrence, arguments, sizes


def test_products_of_an_input_go_inside_for_many_members() -> None:
    recurrence, _, _ = recurrence_of("lstm")
    own = recurrence.forward
    assert own.inside is not None and own.inside.operand == "x"
    assert [type(part) for part in own.inside.parts] == [Native]
    assert set(own.inside.weights) == {n for n in recurrence.arguments if n.startswith("W^{x")}
    many = routine.ROWS * torch.get_num_threads()
    near = {n: torch.zeros(4, 4) for n in own.inside.weights}
    assert own.inside.suits({"x": torch.zeros(many, 3, 4), **near})
    assert not own.inside.suits({"x": torch.zeros(many - 1, 3, 4), **near})
    far = {n: torch.zeros(routine.NEAR // 4) for n in own.inside.weights}
    assert not own.inside.suits({"x": torch.zeros(many, 3, 4), **far})


def test_the_operator_keeps_pytorchs_rules() -> None:
    recurrence, arguments, sizes = recurrence_of("ugrnn")
    numbers = [sizes[n] for n in recurrence.sizes]
    opcheck(torch.ops.indicial.scan, (arguments, [], numbers, "", recurrence.key))


def test_the_operator_and_the_short_way_agree() -> None:
    recurrence, arguments, sizes = recurrence_of("lstm")
    assert torch.autograd.gradcheck(
        lambda *a: tuple(recurrences.scan(recurrence, a, sizes, {})), arguments, atol=1e-6
    )
    numbers = [sizes[n] for n in recurrence.sizes]
    found = torch.ops.indicial.scan(arguments, [], numbers, "", recurrence.key)
    for ours, theirs in zip(
        recurrences.scan(recurrence, arguments, sizes, {}), found, strict=False
    ):
        torch.testing.assert_close(ours, theirs)
        gradients = [
            torch.autograd.grad(v.sum(), arguments, retain_graph=True) for v in (ours, theirs)
        ]
        for a, b in zip(*gradients, strict=True):
            torch.testing.assert_close(a, b)


def test_only_what_is_needed_is_differentiated() -> None:
    recurrence, arguments, sizes = recurrence_of("ugrnn")
    for number, argument in enumerate(arguments):
        argument.requires_grad_(number == 0)
    recurrences.scan(recurrence, arguments, sizes, {})[0].sum().backward()
    assert arguments[0].grad is not None
    assert (recurrence.arguments[0],) in recurrence._backward


def test_weights_side_by_side_are_one_product() -> None:
    """The four gates of an LSTM: one product before the loop, one for each kind of weight after."""
    recurrence, arguments, sizes = recurrence_of("lstm")
    recurrences.scan(recurrence, arguments, sizes, {})[0].sum().backward()
    kinds = [type(part).__name__ for part in recurrence.forward.parts]
    assert kinds == ["Projection", "Native"]
    (routine,) = (r for n, r in recurrence._backward.items() if set(n) == {*recurrence.arguments})
    kinds = [type(part).__name__ for part in routine.parts]
    assert kinds[0] == "Native" and kinds.count("Outers") == 2 and kinds.count("Gathered") == 1
    assert "Outer" not in kinds


@pytest.mark.parametrize(
    "equations",
    [
        "c[0,j] = a[j]\nc[t,j] = tanh(W[j,I] c[t-1,I] + U[j,K] x[t,K])",
        "range Δt = 1..3\nc[-1,j] = a[j]\nc[t,j] = tanh(W[ΔT,j,I] c[t-ΔT,I] + U[j,K] x[t,K])",
        "c[T-1,j] = a[j]\nc[t,j] = tanh(W[j,I] c[t+1,I] + U[j,K] x[t,K])",
        "c[0,j] = a[j]\nc[1,j] = b[j,K] x[0,K]\n"
        "c[t,j] = tanh(W[j,I] c[t-1,I] + V[j,I] c[t-2,I] + U[j,K] x[t,K])",
    ],
    ids=["the first element", "a window that meets the start", "the last element", "two elements"],
)
def test_starts_of_all_kinds(equations: str) -> None:
    """An equation with a number wins over the general one, inside the range too."""
    program = indicial.load("input x[t,k]\n" + equations)
    torch.manual_seed(1)
    module = program.compile(J=3, K=2, dtype=torch.float64)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(2, 5, 2, dtype=torch.float64)
    values = {name: module.parameter(name).detach().numpy() for name in module.state_keys}
    expected = torch.tensor(program.interpret({"x": x.numpy()}, values)["c"])
    torch.testing.assert_close(module(x)["c"], expected, rtol=1e-10, atol=1e-10)
    names = [name for name, _ in module.named_parameters()]

    def run(*parameters: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(module, given, (x,))["c"]

    assert torch.autograd.gradcheck(run, tuple(module.parameters()))


@pytest.mark.parametrize("name", RECURRENT)
def test_without_gradients_nothing_is_kept_for_them(name: str) -> None:
    code = indicial.load(name).code
    want = [code.loss] if code.loss else [code.statements[-1].target]
    ready = planned(code, want)
    source = emit(ready.code, ready.plan, want)
    sizes = small_sizes(code, 3)
    parameters, inputs = given(code, sizes, 2)
    expected = source.run(parameters, inputs, sizes, {}, {})[want[0]]
    with torch.no_grad():
        found = source.run(parameters, inputs, sizes, {}, {})[want[0]]
    # Two kernels: a compiler may fuse `a*b + c` in one of them and not in the other.
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    for call in ready.plan.calls():
        recurrence = call.function
        (short,) = (p for p in recurrence.outputs_only.parts if isinstance(p, Native))
        (long,) = (p for p in recurrence.forward.parts if isinstance(p, Native))
        assert short.kernels  # it ran
        needed = {*recurrence.outputs, *needs_history(short.design.body)}
        assert set(short.design.kept) <= needed & set(long.design.kept)


def test_kernels_are_compiled_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the gradient too, before the one that runs first is asked for."""
    started: list[str] = []
    loaded: list[list[str]] = []
    real_start, real_load = toolchain.start, toolchain.load

    def start(source: str, **how: bool) -> None:
        started.append(source)
        real_start(source, **how)

    def load(source: str, **how: bool) -> object:
        loaded.append(list(started))
        assert source in started
        return real_load(source, **how)

    monkeypatch.setattr(toolchain, "start", start)
    monkeypatch.setattr(toolchain, "load", load)
    equations = """
        input x[t,j]
        u[t,j] = tanh(A[j,J] u[t-1,J] + x[t,j] - 0.25)
    """
    module = indicial.Program.of_text(equations).compile(J=5)
    module(x=torch.randn(2, 3, 5))["u"].sum().backward()
    texts = {text for text in started if "KERNEL(" in text}
    assert len(texts) == 2
    assert texts <= set(loaded[-2])  # both before the first was waited for
