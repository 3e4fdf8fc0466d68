"""What a step keeps from the one before: weights in order, the call; and threads for one member."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

import indicial
from indicial.compile.module.module import ProgramModule
from indicial.compile.native import step as launch
from indicial.compile.native import toolchain
from indicial.program.messages import IndicialError

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

DERIVED = """
input w[t] in V
M[j,i] = A[j,K] B[K,i]
h[t,j] = tanh(M[j,I] h[t-1,I] + e[w[t],j])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,I] h[t-1,I]
"""
"""M is the same at all steps, and is computed before the first."""


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def walk(module: ProgramModule, tokens: list[int]) -> list[torch.Tensor]:
    state, found = module.begin(), []
    for token in tokens:
        state, out = module.step(state, w=token)
        found.append(out["P"])
    return found


def whole(module: ProgramModule, tokens: list[int]) -> torch.Tensor:
    """The same from all tokens at once; what follows the last is not read."""
    return module(w=[*tokens, 0], want=["P"])["P"][1:]


def check(module: ProgramModule, tokens: list[int]) -> None:
    torch.testing.assert_close(torch.stack(walk(module, tokens)), whole(module, tokens))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_what_is_derived_from_weights_follows_them(mode: Callable[[], Any]) -> None:
    """What a beginning computes may come to lie where that of an earlier one lay."""
    module = indicial.Program.of_text(DERIVED).compile(V=5, J=8, K=3).eval()
    for scale in (1.0, -2.0, 0.5):
        with torch.no_grad():
            module.parameter("A").mul_(scale)
        with mode():
            check(module, [1, 3, 2])


def test_exchanged_weights_are_noticed() -> None:
    module = indicial.load("rnn_lm").compile(V=5, J=8).eval()
    with torch.no_grad():
        check(module, [1, 3, 2])
        for name in ("e", "W^{h,R}", "B^G"):
            parameter = module.parameter(name)
            parameter.data = torch.randn_like(parameter)
            check(module, [1, 3, 2])
            # Not in one piece.
            turned = torch.randn(*reversed(parameter.shape))
            parameter.data = turned.permute(*reversed(range(turned.dim())))
            check(module, [1, 3, 2])
            parameter.mul_(0.5)
            check(module, [1, 3, 2])


def test_a_state_whose_weights_have_another_type() -> None:
    module = indicial.load("rnn_lm").compile(V=5, J=8).eval()
    with torch.no_grad():
        state, _ = module.step(None, w=1)
        module.double()
        with pytest.raises(IndicialError, match="begin again"):
            module.step(state, w=1)
        check(module, [1, 3, 2])


def test_states_of_two_modules_and_batches_in_turn() -> None:
    program = indicial.load("rnn_lm")
    modules = [program.compile(V=5, J=8).eval() for _ in range(2)]
    tokens = [[1, 3, 2], [4, 0, 2]]
    with torch.no_grad():
        for module in modules:
            alone, both, found = module.begin(), module.begin(), []
            for step in range(3):
                alone, one = module.step(alone, w=tokens[0][step])
                both, two = module.step(both, w=torch.tensor([t[step] for t in tokens]))
                found.append((one["P"], two["P"]))
            expected = module(w=[[*t, 0] for t in tokens], want=["P"])["P"][:, 1:]
            torch.testing.assert_close(torch.stack([a for a, _ in found]), expected[0])
            torch.testing.assert_close(torch.stack([b for _, b in found], 1), expected)


def test_steps_in_several_threads_of_python() -> None:
    module = indicial.load("transformer").compile(V=7, J=8, L=2, K=2, I=4, D=8, T=40).eval()
    texts = [[(7 * n + t) % 7 for t in range(30)] for n in range(8)]

    def written(tokens: list[int]) -> torch.Tensor:
        with torch.no_grad():
            return torch.stack(walk(module, tokens))

    expected = [written(tokens) for tokens in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(written, texts))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_step_does_not_depend_on_the_threads(threads: Callable[[int], None]) -> None:
    """2.4 MB of weights: enough for four parts; 300 columns do not divide evenly."""
    module = indicial.load("rnn_lm").compile(V=300, J=370).eval()
    found = []
    for count in (1, 2, 3, 5):
        threads(count)
        with torch.no_grad():
            found.append(torch.stack(walk(module, [1, 3, 299])))
    with torch.no_grad():
        torch.testing.assert_close(found[0], whole(module, [1, 3, 299]))
    assert all(torch.equal(found[0], other) for other in found[1:])


def test_one_member_does_not_depend_on_the_threads(threads: Callable[[int], None]) -> None:
    """The whole pass, and its gradient.

    Up to rounding: what does not read the state is PyTorch's `linear`, and the order in which that
    adds depends on the processor and the threads.
    """
    module = indicial.load("ugrnn").compile(J=400, K=3)
    x = torch.randn(1, 7, 3)
    found = []
    for count in (1, 2, 3):
        threads(count)
        module.zero_grad()
        h = module(x=x)["h"]
        h.square().sum().backward()
        gradient = module.parameter("W^{h,R}").grad
        assert gradient is not None
        found.append((h, gradient.clone()))
    for h, gradient in found[1:]:
        torch.testing.assert_close(h, found[0][0])
        torch.testing.assert_close(gradient, found[0][1])


def test_who_was_kept_waiting_runs_alone_for_a_while(
    threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = indicial.load("rnn_lm").compile(V=5, J=8).eval()
    threads(2)
    times = iter([0.0, 0.0, 0.0, 1.0] + [1.0] * 1000)  # the second step takes a second
    monkeypatch.setattr(launch.time, "perf_counter", lambda: next(times))
    together = []
    with torch.no_grad():
        state = module.begin()
        for _ in range(launch.PAUSE + 4):
            state, _ = module.step(state, w=1)
            (step,) = state.frame.kernel
            assert step is not None
            (kept,) = step._launches
            together.append(kept.call.threads is not None)
    assert together == [True, True] + [False] * launch.PAUSE + [True, True]
