"""States: beams, members that wait, sources of different lengths, growth, gradients, mistakes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from walking import at, compare, decoder, parts, walk

from indicial import IndicialError, load
from indicial.compile.module.module import ProgramModule
from indicial.compile.stepping.state import ROOM, State
from tests.compile.module.modules import compiled, inputs, random

LANGUAGE = ["rnn_lm", "gpt2", "transformer", "causal_cnn", "trigram"]
WITH_SOURCE = ["encoder_decoder", "bahdanau", "captioning_features"]


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)


def begun(module: ProgramModule, given: dict[str, Any]) -> tuple[State, dict[str, Any]]:
    first, stepped = parts(decoder(module), given)
    return module.begin(first), stepped


@pytest.mark.parametrize("name", [*LANGUAGE, *WITH_SOURCE, "lstm", "stacked"])
@torch.no_grad()
def test_selected_members_go_on_as_they_would_alone(name: str) -> None:
    module = compiled(name)
    given = inputs(module, 3)
    state, stepped = begun(module, given)
    for t in range(2):
        state, _ = module.step(state, **at(stepped, t, (3,)))
    rows = [2, 0, 0, 2]
    state = state.select(rows)
    assert state.batch == 4 and state.steps == 2
    output = decoder(module).stepping.outputs[0]
    later = inputs(module, 4, seed=1)
    for t in (2, 3):
        state, out = module.step(state, **{n: later[n].select(1, t) for n in stepped})
    for member, row in enumerate(rows):
        alone, _ = begun(module, {n: v[row] for n, v in given.items()})
        for t in range(4):
            source = {n: (given[n][row] if t < 2 else later[n][member]) for n in stepped}
            alone, expected = module.step(alone, **at(source, t))
        close(out[output][member], expected[output])
    dropped = state.select(torch.tensor([1]))
    close(dropped.out[output], out[output][1:2])


@pytest.mark.parametrize("name", [*LANGUAGE, *WITH_SOURCE, "lstm", "stacked"])
@pytest.mark.parametrize("gradients", [False, True], ids=["in place", "pure"])
def test_members_that_wait_stay_where_they_are(name: str, gradients: bool) -> None:
    module = compiled(name)
    given = inputs(module, 3)
    output = decoder(module).stepping.outputs[0]
    with torch.set_grad_enabled(gradients):
        state, stepped = begun(module, given)
        alone = [begun(module, {n: v[m] for n, v in given.items()})[0] for m in range(3)]
        for active in ([1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]):
            tokens = {
                n: torch.stack([v[m, alone[m].steps] for m in range(3)]) for n, v in stepped.items()
            }
            state, out = module.step(state, active=torch.tensor(active).bool(), **tokens)
            for m in range(3):
                if active[m]:
                    alone[m], _ = module.step(alone[m], **{n: v[m] for n, v in tokens.items()})
                if output in alone[m].out:
                    close(out[output][m], alone[m].out[output])
        assert state.own is not None
        assert state.own.tolist() == [one.steps for one in alone]
        state = state.select([1, 0])
        assert state.own is not None and state.own.tolist() == [3, 3]


@torch.no_grad()
def test_one_alone_may_wait() -> None:
    module = load("input x[t]\ny[t] = Σ_{s ≤ t} x[s] x[t]").compile().double()
    x = torch.tensor([2.0, 3.0, 5.0]).double()
    state = module.begin()
    for t in range(3):
        state, out = module.step(state, x=x[t])
        close(out["y"], x[: t + 1].sum() * x[t])
        state, _ = module.step(state, x=x[t], active=torch.tensor(False))
        assert (state.steps, state.batch) == (t + 1, None)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("encoder_decoder", "S"),
        pytest.param("bahdanau", "T_{in}", marks=pytest.mark.long),
        ("thought_vector", "T_{in}"),
    ],
)
@torch.no_grad()
def test_sources_of_different_lengths(name: str, size: str) -> None:
    module = compiled(name)
    given = inputs(module, 3)
    lengths = [2, 4, 4]
    state = module.begin(x=given["x"], lengths={size: lengths})
    alone = [module.begin(x=given["x"][m, : lengths[m]]) for m in range(3)]
    for t in range(4):
        for m in range(3):
            close(state.out["P"][m], alone[m].out["P"])
        if t == 2:
            state, alone = state.select([2, 1, 0]), alone[::-1]
        state, _ = module.step(state, w=given["w"][:, t])
        alone = [module.step(one, w=given["w"][m, t])[0] for m, one in enumerate(alone)]


@torch.no_grad()
def test_two_ways_on_from_one_state() -> None:
    module = compiled("gpt2")
    state, _ = module.step(w=torch.tensor(1))
    one, _ = module.step(state, w=torch.tensor(2))
    two, _ = module.step(state, w=torch.tensor(3))
    one, out = module.step(one, w=torch.tensor(4))
    again, _ = module.step(w=torch.tensor(1))
    for token in (2, 4):
        again, expected = module.step(again, w=torch.tensor(token))
    close(out["P"], expected["P"])
    _, out = module.step(two, w=torch.tensor(4))
    assert not torch.allclose(out["P"], expected["P"])


@torch.no_grad()
def test_caches_grow() -> None:
    steps = 2 * ROOM + 5
    program = load("transformer")
    sizes = {"T": steps, "V": 6, "J": 4, "L": 2, "K": 2, "I": 2, "I_{Value}": 2, "D": 3}
    module = random(program.compile(sizes=sizes, dtype=torch.float64))
    given = inputs(module, 2, T=steps)
    whole = module(given, want=["P"])
    assert sum(compare(state, whole, (2,)) for state in walk(module, given, (2,))) == steps


def test_gradients_go_through_steps() -> None:
    for name in ("rnn_lm", "transformer"):
        module = compiled(name)
        given = inputs(module, 2)
        distributions = [s.out["P"] for s in walk(module, given, (2,))][:5]
        logs = [
            (p if p.dim() == 2 else p.expand(2, -1)).gather(1, given["w"][:, t : t + 1]).log()
            for t, p in enumerate(distributions)
        ]
        loss = -torch.cat(logs, 1).mean()
        names = list(module.parameters())
        found = torch.autograd.grad(loss, names)
        expected = torch.autograd.grad(module(given).loss, names)
        for one, other in zip(found, expected, strict=True):
            close(one, other)


@torch.no_grad()
def test_one_member_becomes_many() -> None:
    module = compiled("captioning_features")
    given = inputs(module)
    state = module.begin(M=given["M"])
    assert state.batch is None and state.out["P"].shape == (6,)
    many, out = module.step(state, w=torch.tensor([0, 5]))
    assert many.batch == 2
    for member, token in enumerate((0, 5)):
        close(out["P"][member], module.step(state, w=token)[1]["P"])
    same, out = module.step(many, w=3)
    assert same.batch == 2 and out["P"].shape == (2, 6)


def test_greedy_generation_is_the_most_likely_at_each_step() -> None:
    module = compiled("rnn_lm")
    with torch.no_grad():
        state, words = module.begin(), []
        for _ in range(4):
            words.append(state.out["P"].argmax())
            state, _ = module.step(state, w=words[-1])
        whole = module(w=torch.stack(words), want=["P"])["P"]
    assert whole.argmax(1).tolist() == [int(word) for word in words]


def spaced(pattern: str) -> str:
    """A pattern for a message whose lines may be broken anywhere."""
    return pattern.replace(" ", r"\s+")


def test_mistakes() -> None:
    module = compiled("captioning_features")
    given = inputs(module, 2)
    with pytest.raises(IndicialError, match=spaced(r"the input M\[x,y,k\] was not given")):
        module.begin()
    with pytest.raises(
        IndicialError, match=spaced(r"w is handed over step by step: step\(state, w=…\)")
    ):
        module.begin(M=given["M"], w=given["w"])
    state = module.begin(M=given["M"])
    with pytest.raises(IndicialError, match=spaced(r"the input w\[t\] in V was not given")):
        module.step(state)
    with pytest.raises(
        IndicialError, match=spaced(r"w is for 3 members, but the state has 2 members")
    ):
        module.step(state, w=torch.tensor([1, 2, 3]))
    with pytest.raises(
        IndicialError, match=spaced(r"w of example 1 is token 6, outside the vocabulary")
    ):
        module.step(state, w=torch.tensor([1, 6]))
    with pytest.raises(
        IndicialError, match=spaced(r"w was given with 2 axes, but one step of it has 0")
    ):
        module.step(state, w=given["w"])
    with pytest.raises(IndicialError, match=spaced(r"active has the shape \(3,\)")):
        module.step(state, w=given["w"][:, 0], active=torch.ones(3))
    with pytest.raises(IndicialError, match=spaced(r"T has no length before the steps")):
        module.begin(M=given["M"], lengths={"T": [2, 3]})
    with pytest.raises(IndicialError, match=spaced(r"M is not handed over step by step")):
        module.step(state, w=given["w"][:, 0], M=given["M"])
    recurrent = compiled("ugrnn")
    with pytest.raises(
        IndicialError, match=spaced(r"(?s)x has 3 elements along k.*\[input-shape\]")
    ):
        recurrent.step(recurrent.begin(), x=torch.zeros(2, 3).double())


def test_modules_that_have_stepped_can_be_copied_and_kept() -> None:
    module = compiled("rnn_lm")
    with torch.no_grad():
        expected = module.step(w=1)[1]["P"]
        for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            close(other.step(w=1)[1]["P"], expected)


def test_positions_have_an_end() -> None:
    module = compiled("transformer")  # T = 5, and P of the fifth word is known after four
    state = module.begin()
    for _ in range(4):
        state, _ = module.step(state, w=0)
    with pytest.raises(IndicialError, match="there is no step after this: T is 5 at most"):
        module.step(state, w=0)


CHANGES: dict[str, Callable[[torch.Tensor], object]] = {
    "all": lambda w: w.mul_(2),
    "signs": lambda w: w.neg_(),
    "one element": lambda w: w[-1, 0].add_(0.1),
    "two rows": lambda w: w.copy_(w.flip(0)),
    "transposed": lambda w: w.copy_(w.mT.clone()),
}


@torch.no_grad()
@pytest.mark.parametrize("change", CHANGES)
def test_weights_in_order_are_made_again_whoever_changes_a_parameter(change: str) -> None:
    """A kernel has its weights in an order of its own, and PyTorch counts no change of `.data`."""
    module = load("input x[t,j]\nh[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])").compile(J=3).double()
    x = torch.randn(2, 4, 3, dtype=torch.float64)

    def last() -> torch.Tensor:
        state = module.begin()
        for t in range(4):
            state, out = module.step(state, x=x[:, t])
        return out["h"]

    for _ in range(3):
        close(last(), module(x=x)["h"][:, -1])
    before = last()
    CHANGES[change](module.parameter("W").data)
    assert not torch.allclose(last(), before, atol=1e-4)
    close(last(), module(x=x)["h"][:, -1])


@torch.no_grad()
def test_a_beginning_is_made_again_when_a_parameter_changes() -> None:
    module = compiled("transformer")

    def first() -> torch.Tensor:
        state = module.begin()
        return torch.cat([state.out["P"], module.step(state, w=1)[1]["P"]])

    def fresh() -> torch.Tensor:
        module._decoders.clear()
        return first()

    before = first()
    assert torch.equal(first(), before)
    module.parameter("pos").mul_(2)  # in its place
    changed = first()
    assert not torch.equal(changed, before)
    close(changed, fresh())
    module.register_parameter("pos", torch.nn.Parameter(module.parameter("pos") / 3))  # another one
    assert not torch.equal(first(), changed)
    close(first(), fresh())
    module.parameter("pos").data = module.parameter("pos").data * 5  # other memory
    close(first(), fresh())
    first()
    module.parameter("pos").data.mul_(-1)  # which nobody counts
    close(first(), fresh())
    module.float()
    assert first().dtype == torch.float32
    with torch.inference_mode():
        assert first().is_inference()
    assert not first().is_inference()


@torch.no_grad()
def test_what_is_done_to_one_beginning_does_not_reach_the_next() -> None:
    module = compiled("transformer")
    state = module.begin()
    expected = state.out["P"].clone()
    state.out["P"].zero_()
    state.out.clear()
    for token in (1, 2):
        module.step(module.step(state, w=token)[0], w=token)
    again = module.begin()
    assert torch.equal(again.out["P"], expected)
    with torch.enable_grad():
        assert module.begin().out["P"].requires_grad
    assert not module.begin().out["P"].requires_grad


ROTARY = """input x[t,j]
θ[j] = 10000^(-j/J)
h[t,j] = 0.5 h[t-1,j] + x[t,j] cos(t θ[j])"""


def test_a_table_of_numbers_has_the_type_of_the_module() -> None:
    """Nothing that θ reads has a type: neither the pass nor the beginning takes PyTorch's default."""
    module = load(ROTARY).compile(J=4)
    expected = 10000.0 ** (-torch.arange(4, dtype=torch.float64) / 4)
    with torch.no_grad():
        for dtype in (torch.float32, torch.float64):
            module.to(dtype)
            torch.testing.assert_close(module(want=["θ"])["θ"], expected.to(dtype))
            x = torch.randn(2, 3, 4, dtype=dtype)
            state = module.begin()
            for t in range(3):
                state, out = module.step(state, x=x[:, t])
            torch.testing.assert_close(out["h"], module(x=x)["h"][:, -1])
