"""Many steps at once are as many steps one by one: outputs, states, and how they go on."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_stepping_programs import PROGRAMS, made
from walking import at, decoder, parts

from indicial import IndicialError
from indicial.compile.module.module import ProgramModule
from indicial.compile.stepping import decoder as decoding
from indicial.compile.stepping.state import State
from tests.compile.module.modules import compiled, inputs

MODELS = ["bahdanau", "captioning_features", "causal_cnn", "encoder_decoder", "gpt2", "language_model_stack",
          "lstm", "stacked", "thought_vector", "transformer"]  # fmt: skip
STARTED = {
    # What a state starts with is computed from another input, which no step is given.
    "a start in a cache": """input x[s,j]
input w[t] in V
m[j] = Σ_s x[s,j]
g[-1,j] = m[j]
g[t,j] = tanh(U[j,I] e[w[t-1],I] + g[t-1,j])
α[t_1,t_2] = softmax_{t_2 ≤ t_1} g[t_1,J] g[t_2,J]
h[t,j] = α[t,T] g[T,j]
P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t,J]
w[t] ~ P(w_t | …)""",
    "starts in a window": """input x[s,j]
input w[t] in V
range Δt = 1..3
m[j] = Σ_s x[s,j]
g[-1,j] = m[j]
g[-2,j] = 2 m[j]
g[t,j] = tanh(U[j,I] e[w[t-1],I] + Σ_{Δt} A[Δt,j] g[t-Δt,j])
P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] g[t,J]
w[t] ~ P(w_t | …)""",
}


@pytest.fixture(autouse=True)
def always_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "FEW_STEPS", 2)


def one_by_one(
    module: ProgramModule, state: State, stepped: dict[str, Any], lengths: list[int] | None
) -> State:
    axes = decoder(module).given.axes
    front = {name: value.movedim(axes[name], 1) for name, value in stepped.items()}
    for t in range(next(iter(front.values())).shape[1]):
        active = None if lengths is None else torch.tensor(lengths) > t
        state, _ = module.step(state, active=active, **at(front, t, (0,)))
    return state


def same(found: State, expected: State) -> None:
    assert found.steps == expected.steps
    assert (found.own is None) == (expected.own is None)
    if found.own is not None and expected.own is not None:
        assert found.own.tolist() == expected.own.tolist()
    for values, others in ((found.out, expected.out), (found.values, expected.values)):
        assert values.keys() == others.keys()
        for name, other in others.items():
            torch.testing.assert_close(values[name], other, atol=1e-9, rtol=1e-9)


def check(module: ProgramModule, lengths: list[int] | None) -> None:
    first, stepped = parts(decoder(module), inputs(module, 3))
    axes, most = decoder(module).given.axes, decoder(module).most or 5
    part = {n: v.narrow(axes[n], 0, min(4, most)) for n, v in stepped.items()}
    found, out = module.extend(module.begin(first), lengths=lengths, **part)
    assert out is found.out
    expected = one_by_one(module, module.begin(first), part, lengths)
    same(found, expected)
    if most > 4:  # the caches are what the next step reads
        rest = {n: v.narrow(axes[n], 4, 1) for n, v in stepped.items()}
        same(module.extend(found, **rest)[0], one_by_one(module, expected, rest, None))


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_models(name: str) -> None:
    module = compiled(name)
    for lengths in (None, [1, 4, 2], [0, 3, 2]):
        check(module, lengths)
    assert decoder(module).prefill.source is not None


@pytest.mark.parametrize("name", [*PROGRAMS, *STARTED])
def test_programs(name: str) -> None:
    module = made((PROGRAMS | STARTED)[name])
    for gradients in (False, True):
        with torch.set_grad_enabled(gradients):
            for lengths in (None, [1, 4, 2]):
                check(module, lengths)
    assert decoder(module).prefill.source is not None


def test_what_grows_along_two_indices_goes_step_by_step() -> None:
    module = made("""input x[t,j]
α[t_1,t_2] = softmax_{t_2 ≤ t_1} x[t_1,J] W[J,I] x[t_2,I]
β[t_1,t_2] = tanh(α[t_1,t_2] + α[t_1-1,t_2]) for t_2 ≤ t_1
y[t,j] = Σ_{s ≤ t} β[t,s] x[s,j]""")
    with torch.no_grad():
        check(module, None)
    assert decoder(module).prefill.source is None


def test_gradients_go_through() -> None:
    module = compiled("transformer")
    w = inputs(module, 2)["w"][:, :4]
    slopes = []
    for state in (module.extend(w=w)[0], one_by_one(module, module.begin(), {"w": w}, None)):
        total = (state.out["P"] ** 2).sum()
        slopes.append(torch.autograd.grad(total, list(module.parameters()), allow_unused=True))
    for found, expected in zip(*slopes, strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)


def test_one_member_alone_and_nothing_to_read() -> None:
    module = compiled("gpt2")
    with torch.no_grad():
        state, out = module.extend(w=[1, 2, 3])
        expected = module.begin()
        for token in (1, 2, 3):
            expected, _ = module.step(expected, w=token)
        same(state, expected)
        assert out["P"].dim() == 1
        assert module.extend(state, w=torch.zeros(0, dtype=torch.long))[0] is state


def test_what_can_be_wrong() -> None:
    module = compiled("gpt2")
    w = torch.zeros(2, 3, dtype=torch.long)
    for given, lengths, text in (
        (w, [3, 4], r"example 1 has the length 4; it can be 0 to 3"),
        (w, {"J": [1, 2]}, "only T has lengths here"),
        (w[0], [3], "no input has a batch axis"),
        (w[0, 0], None, r"w was given with 0 axes, but w\[t\] in V has 1"),
        (w + 6, None, r"w\[0\] of example 0 is token 6, outside the vocabulary"),
        (torch.zeros(2, 6, dtype=torch.long), None, "T is 5 at most"),
    ):
        with pytest.raises(IndicialError, match=text.replace(" ", r"\s+")):
            module.extend(w=given, lengths=lengths)
    module.extend(w=torch.tensor([[1, 2, 9], [1, 2, 3]]), lengths=[2, 3])  # 9 is not read
    module.extend(w=torch.zeros(2, 6, dtype=torch.long), lengths=[2, 5])  # T is 5 at most
