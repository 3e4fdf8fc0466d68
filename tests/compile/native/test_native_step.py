"""A decoder's step as one kernel, which it is for every model of the library (`test_stepping_library`)."""

from __future__ import annotations

import pytest
import torch

import indicial
from indicial.compile.module.module import ProgramModule
from indicial.compile.native import toolchain
from indicial.compile.stepping.decoder import Decoder

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")


def decoder(module: ProgramModule) -> Decoder:
    (found,) = module._decoders.values()
    return found


def test_changed_weights_are_noticed() -> None:
    module = indicial.load("rnn_lm").compile(V=5, J=8).eval()
    with torch.no_grad():
        before = module.step(None, w=3)[1]["P"]
        module.parameter("e").mul_(2)
        module.parameter("W^{h,R}").add_(1)
        after = module.step(None, w=3)[1]["P"]
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, module(w=[3, 0], want=["P"])["P"][1])
    assert all(decoder(module).natives.made.values())


def test_two_states_go_on_from_one() -> None:
    """A cache is written in place only by whoever comes first."""
    module = indicial.load("transformer").compile(V=7, J=8, L=2, K=2, I=4, D=8, T=9).eval()
    with torch.no_grad():
        first, _ = module.step(None, w=1)
        second, _ = module.step(first, w=2)
        other, _ = module.step(first, w=5)
        _, a = module.step(second, w=3)
        _, b = module.step(other, w=3)
        whole = module(w=[[1, 2, 3, 0], [1, 5, 3, 0]], want=["P"])["P"][:, 3]
    torch.testing.assert_close(torch.stack([a["P"], b["P"]]), whole)


def test_what_has_too_many_layers_is_emitted() -> None:
    module = indicial.load("transformer").compile(V=5, J=4, L=40, K=1, I=4, D=4, T=4).eval()
    with torch.no_grad():
        _, out = module.step(None, w=1)
    assert list(decoder(module).natives.made.values()) == [None]
    torch.testing.assert_close(out["P"], module(w=[1, 0], want=["P"])["P"][1])


@pytest.mark.parametrize("steps", [2, 3])
def test_the_last_place_of_learned_positions_is_reached(steps: int) -> None:
    """Also where there is no other: a text of one word and its end."""
    torch.manual_seed(1)
    module = indicial.load("encoder_decoder_prenorm").compile(
        U=7, V=6, J=8, K=2, I=4, D=8, L=1, S=5, T=steps, dtype=torch.float64
    )
    x, w = torch.randint(7, (3, 5)), torch.randint(6, (3, steps))
    with torch.no_grad():
        whole = module.eval()(x=x, w=w, want=["P"])["P"]
        state = module.begin(x=x)
        for t in range(steps - 1):
            state, out = module.step(state, w=w[:, t])
            torch.testing.assert_close(out["P"], whole[:, t + 1])


ALL_LAYERS = """input w[t] in V
h_0[t,j] = e[w[t-1],j]
h_{ℓ+1}[t,j] = tanh(W_{ℓ+1}[j,I] h_ℓ[t,I] + U_{ℓ+1}[j,I] h_{ℓ+1}[t-1,I])
g[t,j] = Σ_{ℓ=0}^{L} h_ℓ[t,j]
P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] g[t,J]
w[t] ~ P(w_t | …)"""


def test_what_reads_all_its_layers_at_once_is_emitted() -> None:
    module = indicial.load(ALL_LAYERS).compile(V=5, J=4, L=2).eval()
    with torch.no_grad():
        state, _ = module.step(None, w=1)
        _, out = module.step(state, w=3)
    assert list(decoder(module).natives.made.values()) == [None]
    torch.testing.assert_close(out["P"], module(w=[1, 3, 0], want=["P"])["P"][2])
