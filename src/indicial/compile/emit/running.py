"""An emitted text that runs.

source = Source.of(text, {"scan": scan})        the functions are no part of the text
source.run(p, x, n, lengths, draws)             {"h": …}

What is stored of it is the text and the functions, without what was recognised.

Calls that are fast but not to be seen through, and who has to see through them.

    torch.func.hessian(f)(W)        f computes with tensors that stand for others: `followed(W)`
    F.scaled_dot_product_attention  PyTorch has no derivative of its gradient: `attention` has

A kernel, or a fused call, computes values and one gradient. A second gradient, a gradient in forward
mode or a transform of `torch.func` is of the same equations written out in PyTorch.
"""

from __future__ import annotations

import linecache
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.utils.checkpoint import CheckpointError

from indicial.compile.emit.helpers import masked_softmax
from indicial.compile.ground import torch_inside
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.compile.emit.patterns.pattern import Finding


Function = Callable[..., dict[str, torch.Tensor]]
Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True)
class Source:
    """`run(p, x, n, lengths, draws)` and its text.

    p: parameter → tensor in the equation's shape, and "" → one of the type that results are to have,
    for texts that read no numbers (default: PyTorch's); x: input → tensor, batch first, tokens int64 and
    negative where there is none; n: size → int; lengths: ragged size → (B,) int64; draws: draw →
    tensor, batch first, which may be left out where an input tells how many examples there are.
    """

    text: str
    run: Function
    findings: tuple[Finding, ...] = ()
    """Which library calls were recognised, and which nearly."""
    functions: Functions = field(default_factory=dict)
    """What the text calls besides PyTorch."""

    @staticmethod
    def of(text: str, functions: Functions, findings: tuple[Finding, ...] = ()) -> Source:
        return Source(text, compiled(text, functions), findings, functions)

    STORED = ("text", "functions")

    @staticmethod
    def restored(text: str, functions: Functions) -> Source:
        return Source.of(text, functions)


def compiled(text: str, functions: Functions) -> Function:
    """The function of a text; a traceback through it shows its lines."""
    name = f"<indicial {abs(hash(text)):x}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, object] = {"torch": torch, "math": math, **functions}
    exec(compile(text, name, "exec"), space)
    space["F"] = FUNCTIONAL  # in the place of the F that the text imports
    run = space["run"]
    assert callable(run)
    return run


def empty_sizes(sizes: Mapping[str, int]) -> frozenset[str]:
    """Those that are 0. A tracer, for which sizes may be anything, takes them for more."""
    if torch.compiler.is_compiling():
        return frozenset()
    return frozenset(name for name, size in sizes.items() if size == 0)


Tensor = torch.Tensor


def followed(tensor: Tensor) -> bool:
    """Whether a transform of `torch.func` or forward mode looks at what is done with a tensor."""
    if torch.compiler.is_compiling():
        return False
    if torch_inside.transformed(tensor):
        return True
    if not tensor.is_floating_point():
        return False
    return forward_ad.unpack_dual(tensor).tangent is not None  # type: ignore[no-untyped-call]


def differentiating() -> bool:
    """Whether some gradient may be asked for of what is computed now, in any mode."""
    return torch.is_grad_enabled() or torch_inside.transforming()


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """`F.scaled_dot_product_attention`, which can be differentiated as often as one likes."""
    if followed(query) or followed(key) or followed(value):
        return _written_out(query, key, value, attn_mask, is_causal, scale)
    found = F.scaled_dot_product_attention(
        query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale
    )
    if torch.compiler.is_compiling():
        return found
    if (node := _fused(found)) is not None:
        node.register_hook(_again)
    return found


def _fused(found: Tensor) -> Any:
    """The node of the fused call; from PyTorch 2.15 on it may stand behind one that drops an axis."""
    node: Any = found.grad_fn
    if node is not None and node.name().startswith("Squeeze"):
        node = node.next_functions[0][0]
    return node if hasattr(node, "_saved_attn_mask") else None


def _written_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float | None,
) -> Tensor:
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if causal:
        mask = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is None:
        return scores.softmax(-1) @ value
    if mask.dtype != torch.bool:  # as the fused call keeps it: 0 where something is seen, or -∞
        mask = mask == 0
    return masked_softmax(scores, mask, -1) @ value


def _again(gradients: Sequence[Tensor | None], given: Sequence[Tensor]) -> object:
    """What the fused call passes back, with a graph of its own if there will be another gradient.

    PyTorch calls this after the gradient of the fused call; all that it needs is kept there.
    """
    if not torch.is_grad_enabled():
        return None
    kept = torch_inside.differentiated()
    if kept is None:
        return None  # PyTorch says itself that there is no second gradient
    try:
        saved = kept._saved_query, kept._saved_key, kept._saved_value
    except CheckpointError as error:
        text = (
            "no second gradient of attention under checkpoint: what it needs was computed again, and "
            "is gone; leave checkpoint out, or call the module inside "
            "torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)"
        )
        raise IndicialError(text) from error
    query, key, value = inputs = [x.view_as(x) for x in saved]
    rest = kept._saved_attn_mask, kept._saved_is_causal, kept._saved_scale
    found = _written_out(query, key, value, *rest)
    needed = [n for n, x in enumerate(inputs) if x.requires_grad]
    slopes = torch.autograd.grad(found, [inputs[n] for n in needed], given[0], create_graph=True)
    result = list(gradients)
    for n, slope in zip(needed, slopes, strict=True):
        result[n] = slope
    return tuple(result)


FUNCTIONAL = types.ModuleType(F.__name__, "`torch.nn.functional`, for emitted texts.")
FUNCTIONAL.__dict__.update(F.__dict__, scaled_dot_product_attention=attention)
