"""Logarithms of what is too small or too large to be computed: values and gradients.

The oracles are PyTorch in float64, with the mathematics written out another way: `logsumexp`, `logsigmoid`,
`ctc_loss`, which know nothing of how the equations were taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from agreeing import no_kernels, recurrences
from torch import Tensor

from indicial.compile.explain.gradient import gradient
from indicial.compile.explain.schedule_page import schedule_page
from indicial.compile.native import toolchain
from indicial.compile.native.routine import Native, Routine
from indicial.compile.passes.adjoint import adjoint
from indicial.compile.pipeline import planned
from indicial.library.loading import load
from indicial.program.ir import Apply
from indicial.program.logs import through

INF = math.inf
HUGE = torch.tensor([[900.0, 899.0, -2000.0], [-1000.0, -1001.0, -999.5], [0.3, -0.2, 1.0]])
MASKED = torch.tensor([[-INF, 2.0, -INF], [-INF, -INF, -INF], [1.0, -INF, 0.0]])


def log_sum(x: Tensor, dim: int = -1) -> Tensor:
    """Of rows that are not all -∞ PyTorch's; the others are -∞, with slope 0."""
    empty = (x == -INF).all(dim, keepdim=True)
    safe = torch.where(empty, 0.0, x)
    return torch.where(empty.squeeze(dim), -INF, safe.logsumexp(dim))


ROWS: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("y[t] = ln Σ_i exp(x[t,i])", log_sum),
    ("Z[t] = Σ_i exp(x[t,i])\ny[t] = ln Z[t]", log_sum),
    ("y[t] = ln mean_i exp(x[t,i])", lambda x: log_sum(x) - math.log(3)),
    ("y[t] = ln Σ_{i > 0} exp(x[t,i])", lambda x: log_sum(x[:, 1:])),
    ("y[t] = ln Σ_i [i > 0] exp(x[t,i])", lambda x: log_sum(x[:, 1:])),
    ("y[t] = ln(1 + Σ_i exp(x[t,i]))", lambda x: F.softplus(log_sum(x))),
    ("y[t] = ln(exp(x[t,0]) + exp(x[t,1]))", lambda x: log_sum(x[:, :2])),
    ("y[t] = ln(exp(x[t,0]) + [t > 0] exp(x[t,1]) + exp(x[t,2]))",
     lambda x: log_sum(torch.stack([x[:, 0], torch.tensor([-INF, 0, 0]) + x[:, 1], x[:, 2]], -1))),
    ("y[t] = ln σ(x[t,0])", lambda x: F.logsigmoid(x[:, 0])),
    ("p[t] = σ(x[t,0])\ny[t] = ln p[t] + 2 ln(1 - p[t])",
     lambda x: F.logsigmoid(x[:, 0]) + 2 * F.logsigmoid(-x[:, 0])),
    ("y[t] = ln(1 + exp(x[t,0]))", lambda x: torch.logaddexp(x[:, 0], torch.zeros(3))),
    ("y[t] = ln(exp(x[t,0]) / Σ_i exp(x[t,i]))", lambda x: x.log_softmax(-1)[:, 0]),
    ("y[t,i] = ln softmax_i x[t,i]", lambda x: x.log_softmax(-1)),
    ("P[t,i] = softmax_i x[t,i]\ny[t] = ln P[t,0]", lambda x: x.log_softmax(-1)[:, 0]),
    ("P[t,i] = softmax_i x[t,i]\ny[t] = ln ∏_i P[t,i]", lambda x: x.log_softmax(-1).sum(-1)),
    ("y[t] = ln ∏_i σ(x[t,i])", lambda x: F.logsigmoid(x).sum(-1)),
    ("y[t] = ln ∏_i exp(x[t,i])^2", lambda x: 2 * x.sum(-1)),
    ("y[t] = ln sqrt(exp(x[t,0]) exp(x[t,1]))", lambda x: (x[:, 0] + x[:, 1]) / 2),
    ("y[t] = ln Σ_i (i + 1) exp(x[t,i])", lambda x: log_sum(x + torch.arange(1.0, 4.0).double().log())),
    ("y[t] = ln Σ_i c[i] exp(x[t,i])", lambda x: log_sum(x + torch.tensor([2.0, 3.0, 5.0]).double().log())),
    ("y[t] = ln Σ_i σ(x[t,i]) exp(x[t,i])", lambda x: log_sum(F.logsigmoid(x) + x)),
]  # fmt: skip


@pytest.mark.parametrize(("equations", "oracle"), ROWS, ids=[r[0] for r in ROWS])
def test_far_from_1(equations: str, oracle: Callable[[Tensor], Tensor]) -> None:
    program = load("input x[t,i]\n" + equations)
    given = HUGE.double().requires_grad_()
    want = oracle(given)
    (slopes,) = torch.autograd.grad(want.sum(), given)
    parameters = {"c": np.array([2.0, 3.0, 5.0])} if "c[i]" in equations else {}
    found = program.interpret({"x": HUGE.double().numpy()}, parameters)["y"]
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-12)
    for dtype in (torch.float64, torch.float32):
        sizes = {"I": 3} if parameters else {}
        start = {n: torch.tensor(v) for n, v in parameters.items()}
        module = program.compile(sizes=sizes, start=start, dtype=dtype)
        x = HUGE.to(dtype)[None].requires_grad_()
        y = module(want=["y"], x=x)["y"]
        (ours,) = torch.autograd.grad(y.sum(), x)
        exact = 1e-12 if dtype == torch.float64 else 1e-4  # 900 has four digits behind its point
        torch.testing.assert_close(y[0].double(), want, rtol=exact, atol=exact)
        torch.testing.assert_close(ours[0].double(), slopes, rtol=exact, atol=exact)


@pytest.mark.parametrize(("equations", "oracle"), ROWS[:8], ids=[r[0] for r in ROWS[:8]])
def test_minus_infinity_is_nothing(equations: str, oracle: Callable[[Tensor], Tensor]) -> None:
    program = load("input x[t,i]\n" + equations)
    given = MASKED.double().requires_grad_()
    want = oracle(given)
    finite = want.isfinite()
    (slopes,) = torch.autograd.grad(want[finite].sum(), given)
    np.testing.assert_allclose(
        program.interpret({"x": MASKED.double().numpy()}, {})["y"],
        want.detach().numpy(),
        rtol=1e-12,
    )
    x = MASKED.double()[None].requires_grad_()
    y = program.compile(dtype=torch.float64)(want=["y"], x=x)["y"]
    torch.testing.assert_close(y[0], want)
    (ours,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(ours[0], slopes)


@pytest.fixture(params=["kernels", "PyTorch"])
def how(request: pytest.FixtureRequest) -> Iterator[str]:
    with nullcontext() if request.param == "kernels" else no_kernels():
        yield request.param


CRF = """
input E[t,j]
α[0,j] = E[0,j]
α[t,j] = ln Σ_i exp(α[t-1,i] + A[i,j]) + E[t,j] for t > 0
loss = -ln Σ_j exp(α[T-1,j])
"""


def crf(e: Tensor, a: Tensor) -> Tensor:
    alpha = e[0]
    for row in e[1:]:
        alpha = log_sum(alpha[:, None] + a, 0) + row
    return -log_sum(alpha)


@pytest.mark.parametrize("masked", [False, True])
def test_a_chain_of_tags(how: str, masked: bool) -> None:
    rng = torch.Generator().manual_seed(1)
    e = 3 * torch.randn(7, 4, generator=rng, dtype=torch.float64)
    a = torch.randn(4, 4, generator=rng, dtype=torch.float64)
    if masked:
        a[0, 1] = a[2, 2] = e[3, 0] = -INF
        e[0, 1:] = -INF
    _compare_chain(e, a, torch.float64, 1e-12, 1e-11)
    found = load(CRF).interpret({"E": e.numpy()}, {"A": a.numpy()}).loss
    assert found == pytest.approx(crf(e, a).item(), rel=1e-13)


def test_a_chain_of_5000_tags_in_single_precision() -> None:
    rng = torch.Generator().manual_seed(2)
    e = 3 * torch.randn(5000, 3, generator=rng, dtype=torch.float64)
    a = torch.randn(3, 3, generator=rng, dtype=torch.float64)
    a[0, 1] = -INF
    _compare_chain(e, a, torch.float32, 2e-5, 5e-3)


def _compare_chain(e: Tensor, a: Tensor, dtype: torch.dtype, exact: float, close: float) -> None:
    e, a = e.clone().requires_grad_(), a.clone().requires_grad_()
    want = crf(e, a)
    slopes = torch.autograd.grad(want, (e, a))
    module = load(CRF).compile(J=len(a), dtype=dtype, start={"A": a.detach()})
    x = e.detach().to(dtype)[None].requires_grad_()
    loss = module(E=x)["loss"]
    ours = torch.autograd.grad(loss.sum(), (x, *module.parameters()))
    assert loss.item() == pytest.approx(want.item(), rel=exact)
    torch.testing.assert_close(ours[0][0].double(), slopes[0], rtol=0, atol=close)
    torch.testing.assert_close(
        ours[1].double() / slopes[1].norm(), slopes[1] / slopes[1].norm(), rtol=0, atol=close
    )


CTC = """
input E[t,v]
input l[s] in V
P[t,v] = softmax_v E[t,v]
α[0,s] = cases { ln P[0,l[s]] if s ≤ 1, -∞ otherwise }
α[t,s] = ln(exp(α[t-1,s]) + [s ≥ 1] exp(α[t-1,s-1])
    + [s ≥ 2 and l[s] ≠ 0 and l[s] ≠ l[s-2]] exp(α[t-1,s-2])) + ln P[t,l[s]] for t > 0
loss = -ln(exp(α[T-1,S-1]) + exp(α[T-1,S-2]))
"""


def _connected(steps: int, dtype: torch.dtype, exact: float, close: float) -> None:
    """Beside PyTorch's own, in float64."""
    rng = torch.Generator().manual_seed(3)
    e = 4 * torch.randn(steps, 6, generator=rng, dtype=torch.float64)
    labels = torch.tensor([2, 2, 5, 1])
    padded = torch.tensor([0, 2, 0, 2, 0, 5, 0, 1, 0])
    given = e.clone().requires_grad_()
    want = F.ctc_loss(
        given.log_softmax(-1)[:, None], labels[None], torch.tensor([steps]), torch.tensor([4]),
        reduction="sum",
    )  # fmt: skip
    (slopes,) = torch.autograd.grad(want, given)
    program = load(CTC)
    x = e.to(dtype)[None].requires_grad_()
    loss = program.compile(dtype=dtype)(E=x, l=padded[None])["loss"]
    (ours,) = torch.autograd.grad(loss.sum(), x)
    assert loss.item() == pytest.approx(want.item(), rel=exact)
    torch.testing.assert_close(ours[0].double(), slopes, rtol=0, atol=close)
    if steps < 20:
        found = program.interpret({"E": e.numpy(), "l": padded.numpy()}, {}).loss
        assert found == pytest.approx(want.item(), rel=1e-13)


def test_a_softmax_that_is_written_out() -> None:
    """Of scores whose exponentials no number holds; a token picks the one that counts."""
    written = "input z[t,k]\ninput w[t] in K\nP[t,k] = exp(z[t,k]) / Σ_{k'} exp(z[t,k'])\n"
    module = load(written + "y = -Σ_t ln P[t,w[t]]").compile()
    z = 1000 * torch.randn(2, 9, 4, generator=torch.Generator().manual_seed(5))
    w = torch.randint(4, (2, 9), generator=torch.Generator().manual_seed(6))
    found = module(z=z.requires_grad_(), w=w, want=["y", "P"])
    torch.testing.assert_close(found["P"], z.softmax(-1))
    want = F.cross_entropy(z.mT, w, reduction="none").sum(1)
    torch.testing.assert_close(found["y"], want)
    ours, theirs = (torch.autograd.grad(y.sum(), z)[0] for y in (found["y"], want))
    torch.testing.assert_close(ours, theirs)


def test_only_a_sum_over_the_same_is_a_softmax() -> None:
    for below in ("Σ_{k' ≤ t} exp(z[t,k'])", "Σ_{k'} exp(2 z[t,k'])", "Σ_s exp(z[s,k])"):
        program = load(f"input z[t,k]\nP[t,k] = exp(z[t,k]) / {below}")
        z = np.random.default_rng(7).normal(size=(3, 4))
        found = program.compile().double()(z=torch.as_tensor(z)[None])["P"][0]
        np.testing.assert_allclose(found.detach(), program.interpret({"z": z})["P"])


def test_connected_labels(how: str) -> None:
    _connected(9, torch.float64, 1e-12, 1e-11)


def test_connected_labels_over_5000_steps_in_single_precision() -> None:
    _connected(5000, torch.float32, 2e-5, 5e-3)


def test_the_gradient_computes_each_power_once() -> None:
    text = "input a[t]\ninput b[t]\ny[t] = ln(exp(a[t]) + exp(b[t]) + exp(y[t-1])) + a[t]"
    back = adjoint(through(load(text).code), ["y"], ["a", "b"])
    functions = [node.function for s in back.statements for node in s.body.every(Apply)]
    assert functions.count("exp") == 3 and "lse" not in functions


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
def test_conditions_on_steps_are_settled_before_a_loop() -> None:
    """Or compilers would not vectorise it."""
    (made,) = recurrences(planned(load(CTC).code, ["loss"]).plan)
    back = made.backward(made.differentiable)
    assert isinstance(back, Routine)
    for part in (*made.forward.parts, *back.parts):
        if isinstance(part, Native):
            text = part.build("float", {}, frozenset()).text
            assert "enum { c0 = 1 };" in text and "enum { c0 = 0 };" in text


def test_a_recurrence_of_logarithms_steps() -> None:
    program = load(CRF.replace("loss", "y[t]").replace("T-1", "t"))
    rng = torch.Generator().manual_seed(4)
    e, a = torch.randn(6, 3, generator=rng) * 50, torch.randn(3, 3, generator=rng)
    a[1, 0] = -INF
    module = program.compile(J=3, start={"A": a})
    whole = module(want=["y"], E=e[None])["y"][0]
    state = None
    for t in range(6):
        state, out = module.step(state or module.begin(want=["y"]), E=e[None, t])
        torch.testing.assert_close(out["y"][0], whole[t])


def test_it_is_explained_as_it_was_written() -> None:
    text = gradient(load(CRF))
    assert "ln(Σ_i exp(" in text and "lse" not in text and "∞" not in text
    if toolchain.available():  # without one the page shows the loop as it is written
        assert "a log-sum-exp over i" in schedule_page(load(CRF))
