"""An emitted text that runs, and calls in it that are fast but not to be seen through.

    source = Source.of(text, {"scan": scan})        the functions are no part of the text
    source.run(p, x, n, lengths, draws)             {"h": …}

Who has to see through them:

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
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils.checkpoint import CheckpointError

from indicial.compile.emit.helpers import linears, masked_softmax, relu_network, wrapped
from indicial.compile.ground import torch_inside
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.compile.emit.calls import Finding


def followed(*tensors: Tensor) -> bool:
    """Whether a transform of `torch.func` or forward mode looks at what is done with one of them."""
    if torch.compiler.is_compiling():
        return False
    if torch_inside.transformed(*tensors):
        return True
    real = (t for t in tensors if t.is_floating_point()) if torch_inside.transforming() else ()
    return any(forward_ad.unpack_dual(t).tangent is not None for t in real)  # type: ignore[no-untyped-call]


def differentiating() -> bool:
    """Whether some gradient may be asked for of what is computed now, in any mode."""
    return torch.is_grad_enabled() or torch_inside.transforming()


kernels: dict[str, Callable[..., Any]] = {}
"""Who computes faster than PyTorch does, or gives None: `attention` without a mask, the rows of all choices
of `experts` (`emit/dispatch.py`), `outer` products of tall matrices (`weight_gradient`)."""


def by_kernel(name: str, *given: Any) -> Any:
    """What a kernel gives; None where there is none for it."""
    return kernels[name](*given) if name in kernels else None


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """`F.scaled_dot_product_attention`, which can be differentiated as often as one likes."""
    if _few_keys(query, key) or followed(query, key, value):
        return written_out(query, key, value, attn_mask, is_causal, scale)
    if attn_mask is None and not torch.compiler.is_compiling() and key.shape[-2] > FEW_KEYS:
        own: Tensor | None = by_kernel("attention", query, key, value, is_causal, scale)
        if own is not None:
            return own
    found = F.scaled_dot_product_attention(
        query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale
    )
    if torch.compiler.is_compiling():
        return found
    if (node := _fused(found)) is not None:
        node.register_hook(_second)
    return found


def _fused(found: Tensor) -> Any:
    """The node of the fused call; from PyTorch 2.15 on it may stand behind one that drops an axis."""
    node: Any = found.grad_fn
    if node is not None and node.name().startswith("Squeeze"):
        node = node.next_functions[0][0]
    return node if hasattr(node, "_saved_attn_mask") else None


FEW_KEYS = 64
"""From 9 to so many keys the fused call takes more time than products: up to twice as much, for 17."""


def _few_keys(query: Tensor, key: Tensor) -> bool:
    if torch.compiler.is_compiling() or query.device.type != "cpu" or query.shape[-2] < 2:
        return False
    return 8 < key.shape[-2] <= FEW_KEYS and query.dtype in (torch.float32, torch.float64)


def written_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float | None,
) -> Tensor:
    fronts = query.shape[:-2], key.shape[:-2], value.shape[:-2]
    front = torch.broadcast_shapes(*fronts)  # type: ignore[no-untyped-call]
    members = math.prod(front)
    q, k, v = (
        x.expand(*front, -1, -1).reshape(members, *x.shape[-2:]) for x in (query, key, value)
    )
    hidden = q.new_zeros(())
    if causal:
        hidden = q.new_full((q.shape[1], k.shape[1]), -torch.inf).triu(1)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    weights = torch.baddbmm(hidden, q, k.mT, beta=int(causal), alpha=scale)
    if mask is None:
        weights = softmax(weights, -1)
    else:  # which the fused call keeps as 0 where something is seen, or -∞
        seen = mask if mask.dtype == torch.bool else mask == 0
        apart = masked_softmax(weights.view(*front, *weights.shape[1:]), seen, -1)
        weights = apart.view(weights.shape)
    found = torch.bmm(weights, v)
    return found.view(*front, *found.shape[1:])


def _second(gradients: Sequence[Tensor | None], given: Sequence[Tensor]) -> object:
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
    found = written_out(query, key, value, *rest)
    needed = [n for n, x in enumerate(inputs) if x.requires_grad]
    slopes = torch.autograd.grad(found, [inputs[n] for n in needed], given[0], create_graph=True)
    result = list(gradients)
    for n, slope in zip(needed, slopes, strict=True):
        result[n] = slope
    return tuple(result)


def again(
    ctx: Any, plain: Callable[..., Any], given: Sequence[Tensor | None], *slopes: Tensor
) -> tuple[Tensor | None, ...]:
    """A gradient of which there will be another one: PyTorch's, of what was computed, written out."""
    own = [x if x is None else x.view_as(x) for x in given]  # one may depend on the other
    needed = zip(own, ctx.needs_input_grad, strict=False)
    asked = [x for x, needs in needed if needs and x is not None]
    found = iter(torch.autograd.grad(plain(*own), asked, slopes, create_graph=True))
    return tuple(next(found) if needs else None for needs in ctx.needs_input_grad)


def plainly(*tensors: Tensor) -> bool:
    """Whether somebody looks on who knows PyTorch's own calls only."""
    if torch.compiler.is_compiling() or torch_inside.watched() or torch_inside.intercepted():
        return True
    return followed(*tensors)


LARGE = 1 << 20
"""From so many numbers on, memory that is not taken is worth a function of Python."""


def quickly_linears(
    x: Tensor, widths: list[int], W: Tensor, b: Tensor | None = None
) -> Sequence[Tensor]:
    """`linears`, whose gradients are not copied side by side where they lie so, or need not."""
    given = [t for t in (x, W, b) if t is not None]
    asked = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    large = LARGE if x.requires_grad else LARGE // 8
    if not asked or x.dim() < 3 or plainly(*given) or _outputs(x, W) < large:
        return linears(x, widths, W, b)
    found: Sequence[Tensor] = _Linears.apply(x, W, b, widths)  # type: ignore[no-untyped-call]
    return found


def _outputs(x: Tensor, W: Tensor) -> int:
    """How many numbers a linear map gives."""
    return math.prod(x.shape[:-1]) * len(W)


class _Linears(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, W: Tensor, b: Tensor | None, widths: list[int]
    ) -> Sequence[Tensor]:
        ctx.save_for_backward(x, W, b)
        ctx.widths = widths
        return tuple(linears(x, widths, W, b))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        x, W, b = ctx.saved_tensors
        if torch.is_grad_enabled():
            return again(ctx, lambda x, W, b: linears(x, ctx.widths, W, b), (x, W, b), *slopes)
        to_x, to_weights, to_bias, _ = ctx.needs_input_grad
        if not to_x:  # they were apart, and may stay so
            parts = [slope.flatten(0, -2) for slope in slopes]
            to_W = W.new_empty(W.shape) if to_weights else None
            if to_W is not None:
                for part, own in zip(parts, torch.split(to_W, ctx.widths), strict=True):
                    weight_gradient(part, x.flatten(0, -2), own)
            return None, to_W, torch.cat([p.sum(0) for p in parts]) if to_bias else None, None
        whole = side_by_side(slopes).flatten(0, -2)
        return (
            (whole @ W).view_as(x),
            weight_gradient(whole, x.flatten(0, -2)) if to_weights else None,
            whole.sum(0) if to_bias else None,
            None,
        )


def weight_gradient(slopes: Tensor, x: Tensor, into: Tensor | None = None) -> Tensor:
    """`slopes.mT @ x`, summed over members and steps, as a new tensor or in the memory of one."""
    own: Tensor | None = by_kernel("outer", slopes, x, into)
    return torch.mm(slopes.mT, x, out=into) if own is None else own


def side_by_side(parts: Sequence[Tensor]) -> Tensor:
    """Tensors joined along their last axis; nothing is copied if they are parts of one already."""
    first, shape = parts[0], (*parts[0].shape[:-1], sum(part.shape[-1] for part in parts))
    apart = tuple(math.prod(shape[n + 1 :]) for n in range(len(shape)))
    memory, at = first.untyped_storage(), first.storage_offset()
    for part in parts:
        same = part.untyped_storage().data_ptr() == memory.data_ptr() and part.stride() == apart
        if not same or part.storage_offset() != at or part.numel() == 0:
            return torch.cat(tuple(parts), -1)
        at += part.shape[-1]
    return first.as_strided(shape, apart)


def quick_relu_network(x: Tensor, first: list[Tensor], second: list[Tensor]) -> Tensor:
    """`relu_network`, whose gradient is also computed in the memory of the map's."""
    if not torch.is_grad_enabled() or plainly(x, *first, *second) or _outputs(x, first[0]) < LARGE:
        return relu_network(x, first, second)
    (W, b), (U, c) = ((*own, None)[:2] for own in (first, second))
    found: Tensor = _ReluNetwork.apply(x, W, b, U, c)  # type: ignore[no-untyped-call]
    return found


def _listed(W: Tensor, b: Tensor | None) -> list[Tensor]:
    return [W] if b is None else [W, b]


class _ReluNetwork(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, W: Tensor, b: Tensor | None, U: Tensor, c: Tensor | None
    ) -> Tensor:
        rows = F.linear(x.flatten(0, -2), W, b).relu_()
        ctx.save_for_backward(x, W, b, U, c, rows)
        return F.linear(rows, U, c).view(*x.shape[:-1], len(U))

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        *given, rows = ctx.saved_tensors
        if torch.is_grad_enabled():
            return again(
                ctx,
                lambda x, W, b, U, c: relu_network(x, _listed(W, b), _listed(U, c)),
                given,
                slope,
            )
        x, W, _, U, _ = given
        to_x, to_W, to_b, to_U, to_c = ctx.needs_input_grad
        slope = slope.flatten(0, -2)
        inner = slope @ U
        torch.ops.aten.threshold_backward.grad_input(inner, rows, 0, grad_input=inner)
        return (
            (inner @ W).view_as(x) if to_x else None,
            weight_gradient(inner, x.flatten(0, -2)) if to_W else None,
            inner.sum(0) if to_b else None,
            weight_gradient(slope, rows) if to_U else None,
            slope.sum(0) if to_c else None,
        )


def quickly_wrapped(x: Tensor, w: Tensor, size: int, start: int, stop: int) -> Tensor:
    """`wrapped`, whose gradient by PyTorch takes transforms of complex numbers."""
    if torch.compiler.is_compiling() or followed(x, w):
        return wrapped(x, w, size, start, stop)
    found: Tensor = _Wrapped.apply(x, w, size, start, stop)  # type: ignore[no-untyped-call]
    return found


class _Wrapped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, size: int, start: int, stop: int) -> Tensor:
        spectra = torch.fft.rfft(x, size), torch.fft.rfft(w, size)
        ctx.save_for_backward(x, w, *spectra)
        ctx.place = size, start, stop
        whole: Tensor = torch.fft.irfft(spectra[0] * spectra[1], size)
        return whole[..., start:stop]

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        x, w, *spectra = ctx.saved_tensors
        size, start, stop = ctx.place
        if torch.is_grad_enabled():
            return again(ctx, lambda x, w: wrapped(x, w, size, start, stop), (x, w), slope)
        back = torch.fft.rfft(F.pad(slope, (start, 0)) if start else slope, size)
        results: list[Tensor | None] = []
        for one, other, asked in zip((x, w), spectra[::-1], ctx.needs_input_grad, strict=False):
            own = None
            if asked:
                total = back * other.conj_physical()
                total = total.sum_to_size(*one.shape[:-1], total.shape[-1])
                own = torch.fft.irfft(total, size)[..., : one.shape[-1]]
            results.append(own)
        return *results, None, None, None


SHORT_ROW = 16
"""PyTorch normalises a row of fewer elements one element after the other."""


def softmax(x: Tensor, dim: int) -> Tensor:
    """`F.softmax`, many short rows side by side: eight numbers each take a tenth of the time so."""
    return F.softmax(x.mT, -2).mT if _short(x, dim) else F.softmax(x, dim)


def log_softmax(x: Tensor, dim: int) -> Tensor:
    """`F.log_softmax`, likewise."""
    return F.log_softmax(x.mT, -2).mT if _short(x, dim) else F.log_softmax(x, dim)


def _short(x: Tensor, dim: int) -> bool:
    if torch.compiler.is_compiling() or x.device.type != "cpu" or x.dim() < 2:
        return False
    return dim == -1 and x.shape[-1] < SHORT_ROW and x.numel() >= 1024


FUNCTIONAL = types.ModuleType(F.__name__, "`torch.nn.functional`, for emitted texts.")
FUNCTIONAL.__dict__.update(
    F.__dict__, scaled_dot_product_attention=attention, softmax=softmax, log_softmax=log_softmax
)

QUICK_CALLS = {
    "F": FUNCTIONAL,
    "wrapped": quickly_wrapped,
    "linears": quickly_linears,
    "relu_network": quick_relu_network,
}
"""What runs in the place of what a text calls."""


TensorMap = Mapping[str, Tensor]
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
    space.update(
        QUICK_CALLS
    )  # in the place of the F that the text imports, and of what it brings along
    run = space["run"]
    assert callable(run)
    return run


def empty_sizes(sizes: Mapping[str, int]) -> frozenset[str]:
    """Those that are 0. A tracer, for which sizes may be anything, takes them for more."""
    if torch.compiler.is_compiling():
        return frozenset()
    return frozenset(name for name, size in sizes.items() if size == 0)
