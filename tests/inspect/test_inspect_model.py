"""Gradients, Jacobians, saturation and the rest beside values that were computed another way."""

from typing import Any

import numpy as np
import pytest
import torch

from indicial import load
from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import make_tokenizer
from indicial.inspect.gradients import TARGETS, Jacobian, fitted, gradients_through_time, jacobians
from indicial.inspect.statistics import (
    activation_statistics,
    frequent,
    nearest,
    parameter_statistics,
    saturations,
    statistics,
    tokens_of,
)
from indicial.program.messages import IndicialError
from tests.compile.module.modules import random
from tests.decode.models import model


def texts(seed: int = 0) -> dict[str, torch.Tensor]:
    return {"w": torch.randint(5, (8, 11), generator=torch.Generator().manual_seed(seed))}


# ---------------------------------------------------------------------- gradients


def test_gradients_of_an_rnn_written_by_hand() -> None:
    """rnn_lm.eq as a loop in PyTorch, whose states keep their gradients."""
    module, w = model("rnn_lm"), texts()["w"]
    (found,) = gradients_through_time(module, {"w": w})
    p = {name: module.parameter(name).detach() for name in module.state_keys}
    h = p["h^{start}"].expand(8, -1).clone().requires_grad_()
    states, losses = [h], []
    for t in range(11):
        losses.append(-(h @ p["e"].T).log_softmax(-1).gather(1, w[:, t : t + 1]).sum())
        x = p["e"][w[:, t]]
        R = torch.tanh(h @ p["W^{h,R}"].T + x @ p["W^{e,R}"].T - p["B^R"])
        G = torch.sigmoid(h @ p["W^{h,G}"].T + x @ p["W^{e,G}"].T - p["B^G"])
        h = G * h + (1 - G) * R
        states.append(h)
    norms: dict[int, list[float]] = {}
    for t in range(11)[-TARGETS:]:
        slopes = torch.autograd.grad(losses[t], states, retain_graph=True, materialize_grads=True)
        for place in range(1, t + 2):  # states[0] is h[-1], which is no step
            norms.setdefault(t + 1 - place, []).append(float(slopes[place].norm(dim=1).mean()))
    assert found.name == "h"
    assert np.allclose(found.norms, [np.mean(norms[d]) for d in range(11)])
    assert found.norms[0] == 0  # P[t] reads h[t-1]


def test_a_layer_has_a_curve_of_its_own() -> None:
    found = gradients_through_time(model("stacked+language_model_stack"), texts())
    assert not isinstance(found, str)
    assert [one.name for one in found][:2] == ["h_1", "h_2"]
    assert all(one.factor is not None for one in found)


def test_without_recurrence_the_gradient_is_at_the_embedding() -> None:
    """The embedding of a transformer, computed outside and handed over."""
    module, w = model("transformer"), texts()["w"]
    (found,) = gradients_through_time(module, {"w": w})
    assert found.name == "L[0,t,j]"
    assert len(found.norms) == 11 and min(found.norms) > 0


def test_points_of_a_picture_are_read_as_exactly_as_the_weights() -> None:
    """They come in 32 bits, and all is computed in 64."""
    sizes = {"V": 5, "X": 8, "Y": 8, "C": 3, "K": 4, "M": 4, "N": 4, "J": 4, "D": 4}
    module = load("captioning").compile(sizes=sizes).eval()
    inputs = {"I": torch.rand(8, 8, 8, 3), **texts()}
    found = gradients_through_time(module, inputs)
    assert [one.name for one in found if not isinstance(one, str)] == ["h"]
    (step,) = jacobians(module, inputs)
    assert isinstance(step, Jacobian)
    assert saturations(module, inputs)


def test_what_comes_from_later_steps_is_followed_forwards() -> None:
    """Read from behind, the same cell has the same curve as read from the front."""
    w = texts()["w"]
    curves = []
    for step, tokens in (("t-1", w), ("t+1", w.flip(1))):
        text = f"""
input w[t] in V
h[t,j] = tanh(W[j,I] h[{step},I] + e[w[t],j])
P(w[t] | w[0], …, w[t-1], w[t+1], …, w[T-1]) = softmax_{{w_t}} e[w_t,J] h[{step},J]
loss = 1/T Σ_t -ln P(w_t | …)
"""
        module = random(load(text).compile(V=5, J=3))
        curves.append(gradients_through_time(module, {"w": tokens}))
    assert np.allclose(curves[0][0].norms, curves[1][0].norms)


def test_nothing_to_predict_is_said() -> None:
    module = random(load("lstm").compile(J=3, K=2))
    found = gradients_through_time(module, {"x": torch.randn(2, 4, 2).double()})
    assert isinstance(found, str) and "no distribution" in found


def test_the_factor_is_that_of_a_geometric_series() -> None:
    norms, factor = fitted([0.0, *(3 * 0.8**d for d in range(20))])
    assert factor == pytest.approx(0.8)
    assert len(norms) == 21
    assert fitted([1.0, 0.0, 0.0])[1] is None


# ---------------------------------------------------------------------- Jacobians


@pytest.mark.parametrize(
    "name", ["rnn_lm", "lstm+language_model", "gru+language_model", "stacked+language_model_stack"]
)
def test_eigenvalues_are_those_of_a_step_of_the_decoder(name: str) -> None:
    """`module.step` is derived from the equations another way; its state is differentiated."""
    module, inputs = model(name), texts()
    found = jacobians(module, inputs)
    assert len(found) == 1 and isinstance(found[0], Jacobian)
    keys, right = decoder_eigenvalues(module, inputs["w"])
    assert found[0].eigenvalues.shape[0] == 8
    for row in found[0].eigenvalues:
        # Each is at a step that was drawn; eigenvalues of what no step reads are 0.
        near = [distance(row, other) for other in right]
        assert min(near) < 1e-8, (keys, min(near))


def decoder_eigenvalues(module: ProgramModule, w: torch.Tensor) -> tuple[list[str], Any]:
    """Of each step of each text."""
    found = []
    for text in w:
        state = module.begin().select([0])
        for token in text:
            keys = list(state.values)
            shapes = [state.values[key].shape for key in keys]

            def step(flat: torch.Tensor, state: Any = state, token: Any = token) -> torch.Tensor:
                parts = flat.split([shape.numel() for shape in shapes])  # noqa: B023
                values = {k: p.view(s) for k, p, s in zip(keys, parts, shapes, strict=True)}  # noqa: B023
                moved = type(state)(**{**state.__dict__, "values": values})
                after, _ = module.step(moved, w=token.reshape(1))
                return torch.cat([after.values[key].flatten() for key in keys])  # noqa: B023

            flat = torch.cat([state.values[key].flatten() for key in keys]).detach()
            found.append(np.linalg.eigvals(torch.autograd.functional.jacobian(step, flat).numpy()))
            with torch.no_grad():
                state, _ = module.step(state, w=token.reshape(1))
    return keys, found


def distance(some: np.ndarray, others: np.ndarray) -> float:
    """How far two sets of eigenvalues are apart, zeros added to the smaller one."""
    padded = np.concatenate([some, np.zeros(len(others) - len(some))])
    left = list(others)
    worst = 0.0
    for value in sorted(padded, key=lambda z: -abs(z)):
        best = min(range(len(left)), key=lambda n: abs(left[n] - value))
        worst = max(worst, abs(left.pop(best) - value))
    return worst


def test_what_is_not_recurrent_has_no_jacobian() -> None:
    found = jacobians(model("transformer"), texts())
    assert isinstance(found, str) and "no recurrence" in found


def test_both_directions() -> None:
    """The Jacobian of the RNN that runs backwards is ∂h[t]/∂h[t+1]: diag(G) … of the cell."""
    module = random(load("input x[t,j]\nh[t,j] = tanh(W[j,I] h[t+1,I] + x[t,j])").compile(J=3))
    found = jacobians(module, {"x": torch.randn(4, 6, 3).double()})
    assert isinstance(found[0], Jacobian) and found[0].eigenvalues.shape == (4, 3)
    assert 0 < found[0].radius <= np.linalg.norm(module.parameter("W").detach().numpy(), 2)


# ---------------------------------------------------------------------- saturation, statistics


def test_saturation_counts_what_is_flat() -> None:
    text = "input x[t]\na[t,j] = tanh(W[j] x[t])\nb[t,j] = x[t] σ(U[j])\nc[t,j] = ReLU(U[j])"
    module = load(text).compile(J=4)
    with torch.no_grad():
        module.parameter("W").copy_(torch.tensor([0.0, 10.0, -10.0, 0.1]))
        module.parameter("U").copy_(torch.tensor([-9.0, 9.0, 0.0, 1.0]))
    found = saturations(module, {"x": torch.tensor([[1.0, 1.0, -1.0]]).double()})
    assert not isinstance(found, str)
    a, b, c = found
    assert (a.equation, a.function, a.low, a.high) == ("a", "tanh", 0.25, 0.25)
    assert a.always == 0.5
    assert (b.equation, b.function, b.low, b.high) == ("in b", "σ", 0.25, 0.25)
    assert (c.function, c.low, c.high, c.always) == ("ReLU", 0.5, None, 0.5)


def test_a_model_without_activations_says_so() -> None:
    module = load("input w[t] in V\ny[t,j] = e[w[t],j]").compile(V=6, J=2)
    assert "no equation" in str(saturations(module, texts()))


def test_statistics() -> None:
    values = torch.tensor([[3.0, -4.0], [0.0, float("nan")]])
    found = statistics("x", values)
    assert (found.count, found.norm, found.most) == (4, 5.0, 4.0)
    assert (found.zero, found.nan) == (0.25, 0.25)
    assert found.mean == pytest.approx(-1 / 3)
    module = model("rnn_lm")
    assert {one.name for one in parameter_statistics(module)} >= {"B^R[j]", "h^{start}[j]"}
    by_name = {one.name: one for one in activation_statistics(module, texts())}
    right = module(**texts(), want=["h"])["h"].detach()
    assert by_name["h[t,j]"].mean == pytest.approx(float(right.mean()))
    assert by_name["h[t,j]"].norm == pytest.approx(float(right.norm()) / 8**0.5)


# ---------------------------------------------------------------------- words


def test_nearest_words() -> None:
    tokenizer = make_tokenizer("characters", ["abcd"])
    module = load("input w[t] in V\ny[t,j] = e[w[t],j]").compile(V=5, J=2)
    with torch.no_grad():
        places = torch.tensor([[1, 0], [2, 0.1], [0, 1], [-1, 0], [0.5, 0.5]])
        module.parameter("e").copy_(places)
    (a,) = nearest(module, tokenizer, tokens_of(["a"], tokenizer), 2) or []
    number = tokenizer.encode("a")[0]
    alike = torch.nn.functional.cosine_similarity(places, places[number : number + 1])
    best = alike.argsort(descending=True)[1:3]
    assert [token for token, _ in a.near] == [tokenizer.token(int(n)) for n in best]
    assert a.near[0][1] == pytest.approx(float(alike[best[0]]))
    with pytest.raises(IndicialError, match="2 tokens"):
        tokens_of(["ab"], tokenizer)
    assert frequent(np.array([[0, 1, 1], [2, 1, 2]]), eos=0, count=2) == [1, 2]
