"""What is private to PyTorch stands in one file, and without it the same is computed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
import torch

import indicial
from indicial.compile.ground import torch_inside

PACKAGE = Path(indicial.__file__).parent
PRIVATE = (
    "_foreach_mul_",
    "_foreach_add_",
    "_foreach_lerp_",
    "_foreach_norm",
    "_C._functorch.is_functorch_wrapped_tensor",
    "_C._functorch.is_legacy_batchedtensor",
    "_C._functorch.peek_interpreter_stack",
    "_C._current_autograd_node",
    "_C._len_torch_dispatch_stack",
    "autograd.forward_ad._current_level",
)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of PyTorch without what is private now."""
    monkeypatch.setattr(torch_inside, "_private", lambda path: None)
    monkeypatch.setitem(sys.modules, "torch.optim.adamw", None)


def dotted(node: ast.AST) -> str:
    """`torch._C.x` of an attribute, and nothing of what is none."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_nothing_private_is_used_elsewhere() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "torch_inside.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [dotted(node)] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                parts = name.split(".")
                if parts[0] == "torch" and any(
                    p.startswith("_") and not p.endswith("__") for p in parts
                ):
                    found.append(f"{path.relative_to(PACKAGE)}: {name}")
    assert found == []


def lists(count: int) -> list[list[torch.Tensor]]:
    """Some lists of tensors, the same each time."""
    random = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (5,), ()]
    return [[torch.randn(s, generator=random) for s in shapes] for _ in range(count)]


def computed() -> list[torch.Tensor]:
    """Whatever the functions change or return."""
    a, b, means, squares = lists(4)
    squares = [square.square() for square in squares]
    steps = [torch.tensor(3.0) for _ in a]
    torch_inside.scale_(a, [2.0, 0.5, -1.0])
    torch_inside.add_(a, b, -0.1)
    torch_inside.move_(a, b, 0.25)
    for _ in range(2):
        torch_inside.adamw_(
            a, b, means, squares, steps,
            learning_rate=0.01, betas=(0.9, 0.95), decay=0.1, epsilon=1e-8,
        )  # fmt: skip
    return [*a, *means, *squares, *steps, *torch_inside.norms(a)]


def test_lists_of_tensors(request: pytest.FixtureRequest) -> None:
    expected = computed()
    request.getfixturevalue("bare")
    torch.testing.assert_close(computed(), expected)


def test_who_looks_on(request: pytest.FixtureRequest) -> None:
    seen = []

    def square(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch_inside.transformed(x))
        return x.square().sum()

    for _ in range(2):
        x = torch.randn(2, 3)
        assert not torch_inside.transformed(x)
        torch.func.vmap(square)(x)
        torch.func.grad(square)(x)
        request.getfixturevalue("bare")  # and once more without
    assert seen == [True] * 4
    assert torch_inside.watched()  # not known, so it may be


@pytest.mark.usefixtures("bare")
def test_a_model_is_the_same_without_what_is_private() -> None:
    module = indicial.load("rnn_lm").compile(V=5, J=4).double()
    w = torch.randint(5, (2, 6))
    loss = module(w=w).loss
    loss.backward()
    W = module.parameter("W^{h,R}")
    assert W.grad is not None
    step = torch.zeros_like(W)
    step[1, 2] = 1e-6
    with torch.no_grad():
        W += step
        more = module(w=w).loss
        W -= 2 * step
        slope = (more - module(w=w).loss) / 2e-6
    torch.testing.assert_close(W.grad[1, 2], slope, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("path", PRIVATE)
def test_this_version_has_what_is_quicker(path: str) -> None:
    """Otherwise there is a newer way to look for; the pinned version is the one that is measured."""
    assert torch_inside._private(path) is not None
