"""Optimizers: against torch's own and the formulas, and their state there and back."""

import copy

import pytest
import torch

import indicial
from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.training.equations import Matrix
from indicial.training.optimizers import Muon, Optimizer, orthogonalise

TEXT = """
input w[t] in V
x[t,k] = e[w[t-1],k]
h[t,j] = tanh(W[j,K] x[t,K] - B[j])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} U[w_t,J] h[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
"""


def module(seed: int = 0) -> ProgramModule:
    torch.manual_seed(seed)
    return indicial.load(TEXT).compile(V=11, J=6, K=4)


def set_gradients(made: ProgramModule, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in made.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def weights(made: ProgramModule) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in made.state_dict().items()}


def test_adamw_is_adamw_with_decay_on_matrices_only() -> None:
    ours, theirs = module(), module()
    optimizer = Optimizer(ours, "adamw", weight_decay=0.3)
    reference = torch.optim.AdamW(
        [
            {"params": [theirs.W], "weight_decay": 0.3},
            {"params": [theirs.e, theirs.B, theirs.U], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.95),
        eps=1e-8,
        foreach=False,
    )
    for step in range(5):
        rate = 0.1 / (step + 1)
        set_gradients(ours, step)
        set_gradients(theirs, step)
        for group in reference.param_groups:
            group["lr"] = rate
        reference.step()
        optimizer.step(rate)
    for name, value in weights(ours).items():
        torch.testing.assert_close(value, theirs.state_dict()[name])


def test_muon_moves_matrices_and_adamw_the_rest() -> None:
    optimizer = Optimizer(module(), "muon")
    assert (optimizer.of_muon, optimizer.of_adamw) == (["W"], ["e", "B", "U"])


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch has none yet")
def test_muon_is_torchs_muon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as `torch.optim.Muon`, where that is kept from rounding to bfloat16."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda self: self.clone())
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(12, 20))
    theirs = torch.nn.Parameter(ours.detach().clone())
    muon = Muon({"W": ours}, {"W": Matrix((), (0,), (1,))}, weight_decay=0.2)
    reference = torch.optim.Muon(
        [theirs], lr=0.05, weight_decay=0.2, adjust_lr_fn="match_rms_adamw"
    )
    for step in range(4):
        ours.grad = torch.randn(12, 20, generator=torch.Generator().manual_seed(step))
        theirs.grad = ours.grad.clone()
        muon.step(0.05)
        reference.step()
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("matrix", "shape"),
    [
        (Matrix((0,), (1, 2), (3,)), (3, 2, 4, 5)),
        (Matrix((1,), (3,), (0, 2)), (2, 3, 4, 5)),
        (Matrix((), (1,), (0,)), (7, 3)),
    ],
)
def test_each_matrix_of_a_stack_moves_as_if_alone(matrix: Matrix, shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    stack = torch.nn.Parameter(torch.zeros(shape))
    stack.grad = torch.randn(shape)
    order = (*matrix.stack, *matrix.rows, *matrix.columns)
    number, rows, columns = matrix.shape(shape)
    alone = stack.grad.permute(order).reshape(number, rows, columns)
    Muon({"W": stack}, {"W": matrix}).step(1.0)
    moved = stack.detach().permute(order).reshape(number, rows, columns)
    for gradient, step in zip(alone, moved, strict=True):
        single = torch.nn.Parameter(torch.zeros(rows, columns))
        single.grad = gradient.clone()
        Muon({"W": single}, {"W": Matrix((), (0,), (1,))}).step(1.0)
        torch.testing.assert_close(step, single.detach())


@pytest.mark.parametrize("columns", [8, 12, 16, 40])
def test_orthogonalise_keeps_the_directions(columns: int) -> None:
    """U and V of U S Vᵀ stay; S becomes about one, as the polynomial says."""
    torch.manual_seed(2)
    given = torch.randn(3, 8, columns)
    found = orthogonalise(given)
    u, values, v = torch.linalg.svd(given, full_matrices=False)
    inside = u.mT @ found @ v.mT
    values = values / values.norm(dim=1, keepdim=True)
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    torch.testing.assert_close(inside, torch.diag_embed(values), atol=1e-4, rtol=0.0)
    assert values[:, :-1].min() > 0.6 and values.max() < 1.3
    assert torch.equal(orthogonalise(torch.zeros(1, 3, 4)), torch.zeros(1, 3, 4))


@pytest.mark.parametrize("kind", ["muon", "adamw"])
def test_state_there_and_back_bit_for_bit(kind: str) -> None:
    made = module()
    optimizer = Optimizer(made, kind)
    for step in range(3):
        set_gradients(made, step)
        optimizer.step(0.05)
    other = copy.deepcopy(made)
    again = Optimizer(other, kind)
    again.load({name: value.clone() for name, value in optimizer.tensors().items()})
    for step in range(3, 6):
        for one, its in ((made, optimizer), (other, again)):
            set_gradients(one, step)
            its.step(0.05)
    assert all(torch.equal(value, weights(other)[n]) for n, value in weights(made).items())
    for name, value in optimizer.tensors().items():
        assert torch.equal(value, again.tensors()[name]), name


def test_a_parameter_without_gradient_stays() -> None:
    made = module()
    optimizer = Optimizer(made, "muon")
    before = weights(made)
    set_gradients(made, 0)
    made.parameter("W").grad = None
    optimizer.step(0.1)
    assert torch.equal(weights(made)["W"], before["W"])
    assert not torch.equal(weights(made)["e"], before["e"])
    optimizer.zero_grad()
    assert all(parameter.grad is None for parameter in made.parameters())


def test_wrong_state_is_refused() -> None:
    made = module()
    optimizer = Optimizer(made, "adamw")
    set_gradients(made, 0)
    optimizer.step(0.1)
    state = optimizer.tensors()
    with pytest.raises(IndicialError, match="made by another optimizer"):
        Optimizer(made, "muon").load(state)
    with pytest.raises(IndicialError, match=r"shape \(2,\), but B has \(6,\)"):
        Optimizer(made, "adamw").load({**state, "B/exp_avg": torch.zeros(2)})
    with pytest.raises(IndicialError, match="Z, which the model does not have"):
        Optimizer(made, "adamw").load({**state, "Z/exp_avg": torch.zeros(2)})
    with pytest.raises(IndicialError, match="there is no optimizer sgd"):
        Optimizer(made, "sgd")
