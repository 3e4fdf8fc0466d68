"""States that are matrices: kernels take tiles of them through time, and agree with the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from agreeing import Given, Ways, close, mixed, recurrences
from test_kernels_lengths import Ragged

import indicial
from indicial.compile.native import toolchain
from indicial.compile.native.reading.tile import faded, written_out
from indicial.compile.native.reading.tiles import tiling
from indicial.compile.native.routine import Tiled
from indicial.compile.pipeline import planned
from indicial.compile.schedule.schedule import schedule
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import sample
from indicial.program.program import Program
from indicial.program.verify import verify

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

TEXTS = {
    "a number": "S[t,i,j] = 0.9 S[t-1,i,j] + k[t,i] v[t,j]\nh[t,j] = q[t,I] S[t,I,j]",
    "a number of the step": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = σ(v[t,j]) q[t,I] S[t,I,j] / (1 + a[t])
    """,
    "one for each key": """
        S[t,i,j] = σ(k[t,i]) S[t-1,i,j] + q[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "one for each value": """
        S[t,i,j] = σ(v[t,j]) S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "one for each element": """
        S[t,i,j] = exp(-softplus(k[t,i]) exp(A[i,j])) S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j] + D[j] v[t,j]
    """,
    "an erased key": """
        S[t,i,j] = S[t-1,i,j] + a[t] k[t,i] (v[t,j] - k[t,I] S[t-1,I,j])
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "an erased key after a decay": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] (v[t,j] - a[t] k[t,I] S[t-1,I,j])
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "a stabilised memory": """
        m[t] = max(a[t] + m[t-1], q[t,0])
        p[t] = exp(q[t,0] - m[t])
        d[t] = exp(a[t] + m[t-1] - m[t])
        S[t,i,j] = d[t] S[t-1,i,j] + p[t] k[t,i] v[t,j]
        n[t,i] = d[t] n[t-1,i] + p[t] k[t,i]
        h[t,j] = q[t,I] S[t,I,j] / max(abs(n[t,I] q[t,I]), 1)
    """,
    "a start": """
        S[-1,i,j] = A[i,j]
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "an erased key and a start": """
        S[-1,i,j] = A[i,j]
        S[t,i,j] = S[t-1,i,j] + a[t] k[t,i] (v[t,j] - k[t,I] S[t-1,I,j])
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "from the end": """
        S[t,i,j] = a[t] S[t+1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "the step before": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t-1,I,j] + k[t,I] q[t,I] v[t,j]
    """,
    "two readers": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = tanh(q[t,I] S[t,I,j]) + k[t,I] S[t,I,j]
    """,
    "both indices summed": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        n[t] = Σ_{i,j} S[t,i,j] S[t,i,j]
        h[t,j] = q[t,I] S[t,I,j] / √(1 + n[t])
    """,
    "a bounded state": """
        S[t,i,j] = tanh(a[t] S[t-1,i,j] + k[t,i] v[t,j] + B[i])
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "cases": """
        S[t,i,j] = max(a[t] S[t-1,i,j], k[t,i] v[t,j])
        h[t,i] = S[t,i,J] v[t,J]
    """,
    "heads": """
        S[t,n,i,j] = σ(b[n]) S[t-1,n,i,j] + k[t,i] W[n,i] v[t,j]
        h[t,n,j] = q[t,I] S[t,n,I,j]
    """,
    "all in one equation": """
        S[t,i,j] = σ(G[i,L] k[t,L]) S[t-1,i,j] + (A[i,L] k[t,L]) (C[j,M] v[t,M])
        h[t,j] = (D[I,N] q[t,N]) S[t,I,j]
    """,
    "a sum that grows": """
        z[t,i] = a[t] k[t,i] + q[t,i]
        y[t,j] = v[t,j] z[t,0]
        S[t,i,j] = Σ_{s ≤ t} z[s,i] y[s,j]
        h[t,j] = z[t,I] S[t,I,j]
    """,
    "heads that are summed": """
        S[t,n,i,j] = σ(b[n]) S[t-1,n,i,j] + k[t,i] W[n,i] + v[t,j]
        h[t,n] = Σ_{i,j} S[t,n,i,j]
    """,
    "heads that come together": """
        S[t,n,i,j] = σ(b[n]) S[t-1,n,i,j] + k[t,i] W[n,i] v[t,j]
        h[t,j] = q[t,I] S[t,N,I,j] b[N]
    """,
}


def program(text: str) -> Program:
    inputs = ["q[t,i]", "k[t,i]", "v[t,j]", "a[t]"]
    lines = [line.strip() for line in text.strip().splitlines()]
    made = Program.of_text("\n".join([*(f"input {x}" for x in inputs), *lines]))
    assert not made.errors, made.errors[0].render()
    return made


def ways_of(text: str) -> Ways:
    ways = Ways(program(text).code, ["h"])
    found = [r for r in recurrences(ways.ready.plan) if "h" in "".join(r.outputs)]
    assert any(isinstance(part, Tiled) for r in found for part in r.forward.parts)
    assert all("S" not in r.kept for r in found)
    return ways


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_tiles_agree(text: str) -> None:
    ways = ways_of(text)
    sizes = {**dict.fromkeys(ways.code.sizes, 2), "T": 7, "I": 3, "J": 5}
    ways.agree(sizes, members=2)
    ways.agree({**sizes, "T": 1}, members=1)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_a_tile_computes_by_says_the_same(text: str) -> None:
    """The equations that `explain --schedule` shows, interpreted beside those that they come from."""
    shown = 0
    for recurrence in recurrences(ways_of(text).ready.plan):
        for part in recurrence.forward.parts:
            if not isinstance(part, Tiled):
                continue
            code, want, number = part.packed.value
            tile = faded(tiling(code, schedule(code, want), want).tiles[number])
            derived = written_out(code, tile)
            verify(derived)
            shown += len(tile.fadings)
            sizes = {**dict.fromkeys(code.sizes, 2), "T": 6, "I": 3, "J": 4}
            drawn = sample(code, {name: sizes[name] for name in code.sizes}, 0)
            one, two = (
                interpret(each, drawn.inputs, drawn.parameters, want=tile.outputs)
                for each in (code, derived)
            )
            for name in tile.outputs:
                np.testing.assert_allclose(two[name], one[name], rtol=1e-9, atol=1e-12)
    assert shown == text.startswith("S[t,i,j] = 0.9") or "0.9" not in text


def test_a_sum_that_grows_and_is_wanted_is_no_state() -> None:
    made = program(TEXTS["a sum that grows"])
    assert not list(planned(made.compilable, ["S", "h"]).plan.calls())
    assert list(planned(made.compilable, ["h"]).plan.calls())


def test_a_constant_with_indices_is_left_to_the_loop() -> None:
    text = """
        constant λ[j] = [0.9, 0.5, 0.1]
        S[t,i,j] = λ[j] S[t-1,i,j] + a[t] k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """
    Ways(program(text).code, ["h"]).agree({"T": 4, "I": 2}, members=2)


@pytest.mark.parametrize("decay", ["0.9", "σ(A[i,j])"])
def test_what_is_as_wide_as_the_state_has_a_gradient(decay: str) -> None:
    """`B[j,I] k[t,I] k[t,i]` is made before the loop, and its adjoint is S̄ for every step."""
    text = f"""
        S[t,i,j] = {decay} S[t-1,i,j] + B[j,L] k[t,L] k[t,i]
        h[t,j] = q[t,I] S[t,I,j]
    """
    ways = Ways(program(text).code, ["h"])
    ways.agree({**dict.fromkeys(ways.code.sizes, 3), "T": 7, "J": 5}, members=2)


@pytest.mark.parametrize(
    "name",
    [
        "one for each key",
        "an erased key and a start",
        "one for each element",
        "from the end",
        "heads",
    ],
)
def test_texts_of_different_lengths(name: str) -> None:
    ragged = Ragged(program(TEXTS[name]).code, 1)
    ragged.ways = Ways(ragged.code, ["h"])
    ragged.check()


@pytest.mark.parametrize("name", ["one for each key", "an erased key", "one for each element"])
def test_many_steps_in_float32(name: str) -> None:
    """More steps than a chunk has, columns that fill no vector, decays near 0 and near 1."""
    ways = ways_of(TEXTS[name])
    sizes = {**dict.fromkeys(ways.code.sizes, 2), "T": 300, "I": 18, "J": 37}
    given = Given(ways.code, sizes, 2)
    for scale in (1.0, 8.0):
        given.inputs["k"] = (
            given.inputs["k"] / np.linalg.norm(given.inputs["k"], axis=-1)[..., None]
        )
        if name == "one for each key":
            given.inputs["k"] *= scale * 6
        found, slopes = ways.run(ways.native, given)
        expected, others = ways.run(ways.loop, given)
        close(found["h"], expected["h"].numpy(), "h")
        for slope in slopes:
            close(slopes[slope], others[slope].numpy(), f"the gradient of {slope}")
        p = {n: torch.tensor(v).float() for n, v in given.parameters.items()}
        x = {n: torch.tensor(v).float() for n, v in given.inputs.items()}
        rough = ways.native.run(p, x, sizes, {}, {})["h"]
        assert rough.dtype == torch.float32
        assert (rough - found["h"]).abs().max() < 1e-4 * found["h"].abs().max()


@pytest.mark.parametrize("name", ["by a number", "by key", "by value"])
def test_decays_of_all_kinds(name: str) -> None:
    """0, all but 0, above 1, below 0: what a state is a multiple of begins again and again."""
    decay = {
        "by a number": "a[t]",
        "by key": "a[t] (1 + k[t,i]/9)",
        "by value": "a[t] (v[t,j] - 1)",
    }
    ways = ways_of(f"S[t,i,j] = {decay[name]} S[t-1,i,j] + k[t,i] v[t,j]\nh[t,j] = q[t,I] S[t,I,j]")
    sizes = {**dict.fromkeys(ways.code.sizes, 2), "T": 60, "I": 6, "J": 19}
    given = Given(ways.code, sizes, 2)
    kinds = [0.0, 1e-30, 1e-4, -0.3, 0.5, 0.9, 0.97, 1.0, 1.5]
    given.inputs["a"] = np.random.default_rng(0).choice(kinds, size=given.inputs["a"].shape)
    found, slopes = ways.run(ways.native, given)
    expected, others = ways.run(ways.loop, given)
    close(found["h"], expected["h"].numpy(), "h")
    for slope in slopes:
        close(slopes[slope], others[slope].numpy(), f"the gradient of {slope}")
    x = {n: torch.tensor(v).float().requires_grad_() for n, v in given.inputs.items()}
    rough = ways.native.run({}, x, sizes, {}, {})["h"]
    assert (rough - found["h"]).abs().max() < 1e-5 * found["h"].abs().max()
    assert all(torch.isfinite(g).all() for g in torch.autograd.grad(rough.sum(), list(x.values())))


@pytest.mark.parametrize("name", ["a number of the step", "one for each key", "from the end"])
def test_gradients_of_decays_over_many_steps(name: str) -> None:
    """They follow from other gradients block by block: no error grows with the steps, none near 0."""
    ways = ways_of(TEXTS[name])
    sizes = {**dict.fromkeys(ways.code.sizes, 2), "T": 700, "I": 6, "J": 19}
    given = Given(ways.code, sizes, 3)
    random = np.random.default_rng(0)
    given.inputs["a"] = 1 - 0.05 * random.random(given.inputs["a"].shape)
    given.inputs["a"][1] *= (
        random.random(given.inputs["a"][1].shape) < 0.9
    )  # one of three has zeros
    given.inputs["k"] += 3
    _, slopes = ways.run(ways.native, given)
    _, others = ways.run(ways.loop, given)
    for slope in slopes:
        close(slopes[slope], others[slope].numpy(), f"the gradient of {slope}")
    x = {n: torch.tensor(v).float().requires_grad_() for n, v in given.inputs.items()}
    rough = ways.native.run({}, x, sizes, {}, {})["h"]
    grads = torch.autograd.grad(
        mixed(rough), list(x.values()), allow_unused=True, materialize_grads=True
    )
    for slope, own in zip(x, grads, strict=True):
        assert (own - others[slope]).abs().max() <= 1e-5 * others[slope].abs().max(), slope


def test_derivatives_of_gradients() -> None:
    module = program(TEXTS["an erased key"]).compile().double()
    x = {n: torch.randn(1, 3, 2, dtype=torch.float64) for n in ("q", "k", "v")}
    given = {**x, "a": torch.rand(1, 3, dtype=torch.float64)}
    names = list(given)

    def h(*values: torch.Tensor) -> torch.Tensor:
        return module(**dict(zip(names, values, strict=True)), want=["h"])["h"]

    leaves = [given[n].clone().requires_grad_() for n in names]
    assert torch.autograd.gradcheck(h, leaves)
    assert torch.autograd.gradgradcheck(h, leaves)
    slope = torch.func.grad(lambda q: h(q, *leaves[1:]).sum())(leaves[0].detach())
    torch.testing.assert_close(slope, torch.autograd.grad(h(*leaves).sum(), leaves[0])[0])


@pytest.mark.parametrize(
    "name", ["one for each key", "an erased key and a start", "a stabilised memory"]
)
def test_second_derivatives_and_tangents_along_a_line(name: str) -> None:
    """Of everything that is given and learned, forwards and backwards."""
    module = program(TEXTS[name]).compile(I=2, J=2).double()
    generator = torch.Generator().manual_seed(1)
    shapes = {"q": (1, 3, 2), "k": (1, 3, 2), "v": (1, 3, 2), "a": (1, 3)}
    names = [t.name for t in module.code.tensors.values() if t.role == "input"]
    drawn = {
        n: [torch.rand(shapes[n], generator=generator, dtype=torch.float64) for _ in "ab"]
        for n in names
    }
    learned = {
        n: (p.detach(), torch.rand(p.shape, generator=generator, dtype=torch.float64))
        for n, p in module.named_parameters()
    }

    def along(place: torch.Tensor) -> torch.Tensor:
        given = {n: start + place * way for n, (start, way) in drawn.items()}
        own = {n: start + place * way for n, (start, way) in learned.items()}
        return torch.sin(torch.func.functional_call(module, own, (), given)["h"]).sum()

    at = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(along, at)
    (slope,) = torch.autograd.grad(along(at), at)
    _, tangent = torch.func.jvp(along, (at.detach(),), (torch.ones_like(at),))
    torch.testing.assert_close(tangent, slope)
    both = torch.func.vmap(torch.func.grad(along))(torch.stack([at.detach(), at.detach() / 2]))
    torch.testing.assert_close(both[0], slope)


def test_threads_share_one_member() -> None:
    ways = ways_of(TEXTS["one for each key"])
    sizes = {**dict.fromkeys(ways.code.sizes, 2), "T": 9, "I": 18, "J": 150}
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ways.agree(sizes, members=1)
    finally:
        torch.set_num_threads(threads)


def test_steps_of_a_decoder() -> None:
    module = program(TEXTS["an erased key after a decay"]).compile(I=3, J=3).double()
    x = {n: torch.randn(1, 5, 3, dtype=torch.float64) for n in ("q", "k", "v")}
    given = {**x, "a": torch.rand(1, 5, dtype=torch.float64)}
    whole = module(**given, want=["h"])["h"]
    state = module.begin(want=["h"])
    for t in range(5):
        state, found = module.step(state, **{n: v[:, t] for n, v in given.items()})
        torch.testing.assert_close(found["h"], whole[:, t])


EVEN = """
input x[t,j]
S[t,i,j] = 0.9 S[t-1,i,j] + x[t,i] x[t,j]
h[t,j] = σ(x[t,j]) (Σ_i x[t,i] S[t,i,j]) / (1 + x[t,j]^2)
"""


def test_steps_that_need_no_others_are_divided_over_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One member of many steps, two threads: the same as a member of two."""
    texts: list[str] = []
    monkeypatch.setattr(toolchain, "load", _noting(toolchain.load, texts))
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        program = indicial.load(EVEN)
        module = program.compile(sizes={"J": 3}, dtype=torch.float64)
        x = torch.randn(1, 100, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        found = []
        for own in (x, x.repeat(2, 1, 1)):
            own.requires_grad_()
            h = module(x=own)["h"]
            h.pow(2).sum().backward()
            found.append((h[0].detach(), own.grad[0]))  # type: ignore[index]
    finally:
        torch.set_num_threads(threads)
    assert any("KERNEL_OF" in text for text in texts)
    np.testing.assert_allclose(
        found[0][0], program.interpret({"x": x[0].detach().numpy()}, {})["h"]
    )
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def _noting(load: Callable[..., Any], texts: list[str]) -> Callable[..., Any]:
    def noted(text: str, *given: Any, **more: Any) -> Any:
        texts.append(text)
        return load(text, *given, **more)

    return noted
