"""An emitted text that runs.

source = Source.of(text, {"scan": scan})        the functions are no part of the text
source.run(p, x, n, lengths, draws)             {"h": …}

What is stored of it is the text and the functions, without what was recognised.

Calls that are fast but not to be seen through, and who has to see through them.

    torch.func.hessian(f)(W)        f computes with tensors that stand for others: `followed(W)`
    F.scaled_dot_product_attention  PyTorch has no derivative of its gradient: `attention` has

A kernel, or a fused call, computes values and one gradient. A second gradient, a gradient in forward
mode or a transform of `torch.func` is of the same equations written out in PyTorch.

Functions that a text brings along where it needs them: short, and plain PyTorch.

They are here so that they can be checked and tested; `Source.text` holds those that it calls.
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

from indicial.compile.ground import torch_inside
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.compile.emit.calls import Finding


def embedding(w: Tensor, e: Tensor) -> Tensor:
    """The rows of e at the tokens w; zeros where there is no token."""
    return F.embedding(w.clamp(min=0), e).masked_fill_((w < 0).unsqueeze(-1), 0)


def linear_relu(x: Tensor, W: Tensor, b: Tensor | None = None) -> Tensor:
    """The ReLU of a linear map, in its memory: of rows, as autograd would copy a view."""
    rows = F.linear(x.flatten(0, -2), W, b).relu_()
    return rows if x.dim() == 2 else rows.view(*x.shape[:-1], W.shape[0])


def linears(x: Tensor, widths: list[int], W: Tensor, b: Tensor | None = None) -> list[Tensor]:
    """Linear maps side by side; apart where that would only put gradients side by side."""
    if x.requires_grad or x.dim() < 3 or not W.requires_grad:
        return list(torch.split(F.linear(x, W, b), widths, -1))
    biases = [None for _ in widths] if b is None else torch.split(b, widths)
    return [F.linear(x, *own) for own in zip(torch.split(W, widths), biases, strict=True)]


def log_likelihood(scores: Tensor, w: Tensor) -> Tensor:
    """The logarithm of the softmax of the scores at the tokens w; 0 where there is no token."""
    losses = F.cross_entropy(
        scores.flatten(0, -2), w.clamp(min=-1).flatten(), ignore_index=-1, reduction="none"
    )
    return -losses.reshape(w.shape)


def wrapped(x: Tensor, w: Tensor, size: int, start: int, stop: int) -> Tensor:
    """`Σ_s x[t - s] w[s]` for t from `start` to `stop`, places counted modulo `size`, by FFT."""
    spectrum = torch.fft.rfft(x, size) * torch.fft.rfft(w, size)
    whole: Tensor = torch.fft.irfft(spectrum, size)
    return whole[..., start:stop]


def slide(x: Tensor, w: Tensor, first: int, count: int) -> Tensor:
    """`Σ_s x[t - s] w[s]` along the last axis, for t from `first` on; by FFT if w is long."""
    places, span = x.shape[-1], w.shape[-1]
    end = places + span - 1
    # What is wrapped around must not be where it is asked for.
    least = max(end - max(first, 0), min(first + count, end), 32)
    power = (least - 1).bit_length()
    size = min(n << power - k for n, k in ((1, 0), (3, 2), (5, 3)) if n << power - k >= least)
    if places < 1 or span < 32:
        size = end
    start, stop = min(max(first, 0), size), max(min(first + count, size), 0)
    if places < 1:
        found = (F.pad(x, (0, end)) * w[..., :1])[..., start:stop]
    elif span < 32:
        found = F.pad(x, (span - 1, span - 1)).unfold(-1, span, 1) * w.flip(-1).unsqueeze(-2)
        found = found.sum(-1)[..., start:stop]
    else:
        kind = torch.promote_types(x.dtype, torch.float32)  # there is no transform of bfloat16
        found = wrapped(x.to(kind), w.to(kind), size, start, max(start, stop)).to(x.dtype)
    if stop <= start:
        return found.new_zeros(*found.shape[:-1], count)
    if stop - start == count:
        return found
    return F.pad(found, (start - first, first + count - stop))


def window(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`x[start : start + length]` along an axis; what lies outside is 0, or no token."""
    before, after = max(0, -start), max(0, start + length - x.shape[dim])
    if before or after:
        fill = 0 if x.is_floating_point() else -1
        x = F.pad(x, [0, 0] * (x.dim() - 1 - dim) + [before, after], value=fill)
    return x.narrow(dim, start + before, length)


def element(x: Tensor, dim: int, place: int) -> Tensor:
    """`x[place]` along an axis; what lies outside is 0, or no token."""
    if 0 <= place < x.shape[dim]:
        return x.select(dim, place)
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    return x.new_full(shape, 0 if x.is_floating_point() else -1)


def take(x: Tensor, dim: int, places: Tensor) -> Tensor:
    """x at places along an axis; what lies outside is 0, or no token."""
    inside = (places >= 0) & (places < x.shape[dim])
    near = places.clamp(0, x.shape[dim] - 1).flatten()
    found = x.index_select(dim, near)
    found = found.reshape(x.shape[:dim] + places.shape + x.shape[dim + 1 :])
    inside = inside.reshape(places.shape + (1,) * (x.dim() - dim - 1))
    return torch.where(inside, found, 0 if x.is_floating_point() else -1)


def masked_softmax(x: Tensor, mask: Tensor, dim: int) -> Tensor:
    """The softmax over the places where the mask holds; elsewhere 0, also if it holds nowhere."""
    low = torch.finfo(x.dtype).min
    return torch.where(mask, F.softmax(torch.where(mask, x, low), dim), 0)


def masked_log_softmax(x: Tensor, mask: Tensor, dim: int) -> Tensor:
    """The logarithm of the softmax over the places where the mask holds; elsewhere -∞."""
    low = torch.finfo(x.dtype).min
    return torch.where(mask, F.log_softmax(torch.where(mask, x, low), dim), -torch.inf)


def log_sum_exp(x: Tensor, dims: list[int]) -> Tensor:
    """The logarithm of the sum of exponentials over some axes; of nothing, or all -∞, it is -∞, and then
    its slopes are 0."""
    if any(x.shape[d] == 0 for d in dims):
        return x.sum(dims) - torch.inf
    top = x.detach().amax(dims, keepdim=True)
    top = torch.where(top.isfinite(), top, 0)
    total = (x - top).exp().sum(dims, keepdim=True)
    logarithm = torch.where(total == 0, 1, total).log().masked_fill(total == 0, -torch.inf)
    return (logarithm + top).sum(dims)


def largest(x: Tensor, dims: list[int]) -> Tensor:
    """The maximum over some axes; of nothing it is -∞."""
    if any(x.shape[d] == 0 for d in dims):
        return x.sum(dims) - torch.inf
    return x.amax(dims)


def largest_place(x: Tensor, mask: Tensor, dim: int) -> Tensor:
    """Where x is largest among the places at which the mask holds; a nan is, as for `amax`."""
    most = torch.where(mask, x, -torch.inf).amax(dim, True)
    return (mask & torch.where(most.isnan(), x.isnan(), x == most)).byte().argmax(dim)


def rank(x: Tensor, dim: int) -> Tensor:
    """How many elements along an axis are larger, or as large and before."""
    x = x.detach().movedim(dim, 0).contiguous()
    before = torch.zeros_like(x, dtype=torch.int32)
    for apart in range(1, len(x)):
        before[apart:] += x[:-apart] >= x[apart:]
        before[:-apart] += x[apart:] > x[:-apart]
    return before.movedim(0, dim).to(x.dtype)


def stack(steps: dict[int, Tensor], first: int, count: int, outside: Tensor, dim: int) -> Tensor:
    """Steps one after the other along a new axis; those that are not there are as outside."""
    if count == 0:
        return outside.unsqueeze(dim).narrow(dim, 0, 0)
    return torch.stack([steps.get(t, outside) for t in range(first, first + count)], dim)


def batched(x: Tensor, members: int, rank: int) -> Tensor:
    """A draw with the batch in front, the same for all members if it was drawn once."""
    return x if x.dim() == rank else x.expand(members, *x.shape)


def settled(x: Tensor, dim: int, lengths: Tensor, member: int = 0) -> Tensor:
    """Each example with its last element repeated beyond its length: nothing there can do harm."""
    lengths = lengths.reshape([-1 if d == member else 1 for d in range(x.dim())])
    places = torch.arange(x.shape[dim], device=x.device)
    places = places.reshape([-1 if d == dim else 1 for d in range(x.dim())])
    found = x.take_along_dim(places.minimum(lengths - 1).clamp(min=0), dim)
    return torch.where(lengths > 0, found, 0)


HELPERS = {
    function.__name__: function
    for function in (
        embedding, linear_relu, linears, log_likelihood, wrapped, slide, window, element, take, masked_softmax,
        masked_log_softmax, log_sum_exp, largest, largest_place, rank,
        stack, batched, settled,
    )
}  # fmt: skip


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
    space["wrapped"] = quickly_wrapped
    run = space["run"]
    assert callable(run)
    return run


def empty_sizes(sizes: Mapping[str, int]) -> frozenset[str]:
    """Those that are 0. A tracer, for which sizes may be anything, takes them for more."""
    if torch.compiler.is_compiling():
        return frozenset()
    return frozenset(name for name, size in sizes.items() if size == 0)


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


FEW = 64
"""From 9 to so many keys the fused call takes more time than products: up to twice as much, for 17."""


def _few_keys(query: Tensor, key: Tensor) -> bool:
    if torch.compiler.is_compiling() or query.device.type != "cpu" or query.shape[-2] < 2:
        return False
    return 8 < key.shape[-2] <= FEW and query.dtype in (torch.float32, torch.float64)


def _written_out(
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
        if torch.is_grad_enabled():  # there will be another gradient
            given = x.view_as(x), w.view_as(w)  # one may depend on the other
            found = wrapped(*given, size, start, stop)
            needed = [v for v, asked in zip(given, ctx.needs_input_grad, strict=False) if asked]
            slopes = iter(torch.autograd.grad(found, needed, slope, create_graph=True))
            return (
                *(next(slopes) if a else None for a in ctx.needs_input_grad[:2]),
                None,
                None,
                None,
            )
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


SHORT = 16
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
    return dim == -1 and x.shape[-1] < SHORT and x.numel() >= 1024


FUNCTIONAL = types.ModuleType(F.__name__, "`torch.nn.functional`, for emitted texts.")
FUNCTIONAL.__dict__.update(
    F.__dict__, scaled_dot_product_attention=attention, softmax=softmax, log_softmax=log_softmax
)
