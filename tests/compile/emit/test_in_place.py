"""The ReLU of a linear map in its memory: the same numbers, and nothing overwritten that is read."""

import pytest
import torch
import torch.nn.functional as F

import indicial
from indicial.compile.emit.helpers import embedding, linear_relu

NETWORK = "input x[t,j]\nU[t,d] = W[d,J] x[t,J] - B[d]\nh[t,d] = ReLU(U[t,d])"


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4), (2, 0, 4)])
def test_the_helper_is_the_relu_of_the_map(shape: tuple[int, ...]) -> None:
    x = torch.randn(*shape, 5, dtype=torch.float64, requires_grad=True)
    W = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    b = torch.randn(6, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(linear_relu(x, W, b), F.relu(F.linear(x, W, b)))
    torch.testing.assert_close(linear_relu(x, W), F.relu(F.linear(x, W)))
    if x.numel():
        assert torch.autograd.gradcheck(linear_relu, (x, W, b))
        assert torch.autograd.gradgradcheck(linear_relu, (x, W, b))


def test_it_is_taken_where_nobody_else_reads_the_map() -> None:
    program = indicial.load(NETWORK)
    assert "linear_relu(" in program.torch_source(["h"])
    assert "linear_relu(" not in program.torch_source(["U", "h"])
    module = program.compile(J=3, D=4)
    x = torch.randn(2, 5, 3)
    both = module(x=x, want=["U", "h"])
    assert (both["U"] < 0).any()
    torch.testing.assert_close(both["h"], both["U"].relu())
    torch.testing.assert_close(module(x=x, want=["h"])["h"], both["h"])


def test_gradients_of_single_examples() -> None:
    module = indicial.load(NETWORK).compile(J=3, D=4)
    x = torch.randn(2, 5, 3)
    weights = dict(module.named_parameters())

    def loss(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        found = torch.func.functional_call(module, weights, (), {"x": x[None], "want": ["h"]})
        return found["h"].sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, x)
    for name, gradient in each.items():
        for example, own in zip(x, gradient, strict=True):
            module.zero_grad()
            module(x=example[None], want=["h"])["h"].sum().backward()
            torch.testing.assert_close(own, module.get_parameter(name).grad)


def test_no_token_is_a_row_of_zeros_without_a_gradient() -> None:
    e = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    w = torch.tensor([[1, -1, 3], [-2, 0, 1]])
    found = embedding(w, e)
    assert torch.equal(found[w < 0], torch.zeros(2, 3, dtype=torch.float64))
    found.sum().backward()
    assert e.grad is not None
    assert e.grad[:, 0].tolist() == [1, 2, 0, 1]
