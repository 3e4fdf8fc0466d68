"""Functions that a text brings along where it needs them: short, and plain PyTorch.

    linear_relu(x, W, b)        the ReLU of a linear map, in its memory
    take(x, dim, places)        x at places along an axis; what lies outside is 0, or no token

They are here so that they can be checked and tested; `Source.text` holds those that it calls. What
runs in the place of some of them is in `running.py`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def embedding(w: Tensor, e: Tensor) -> Tensor:
    """The rows of e at the tokens w; zeros where there is no token."""
    return F.embedding(w.clamp(min=0), e).masked_fill_((w < 0).unsqueeze(-1), 0)


def linear_relu(x: Tensor, W: Tensor, b: Tensor | None = None) -> Tensor:
    """The ReLU of a linear map, in its memory: of rows, as autograd would copy a view."""
    rows = F.linear(x.flatten(0, -2), W, b).relu_()
    return rows if x.dim() == 2 else rows.view(*x.shape[:-1], W.shape[0])


def relu_network(x: Tensor, first: list[Tensor], second: list[Tensor]) -> Tensor:
    """A linear map of the ReLU of another: of each its weights, and its bias if it has one."""
    rows = F.linear(x.flatten(0, -2), *first).relu_()
    return F.linear(rows, *second).view(*x.shape[:-1], len(second[0]))


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
    if not x.shape[dim]:
        x = x.new_zeros(*x.shape[:dim], 1, *x.shape[dim + 1 :])
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


def running_max(x: Tensor, dim: int) -> Tensor:
    """The maximum of each element and all before it; those that tie have equal shares of a slope."""
    if not x.requires_grad or not x.shape[dim]:
        return x.cummax(dim).values if x.shape[dim] else x
    x = x.movedim(dim, -1)
    most = x.detach().cummax(-1).values
    grown = F.pad(most[..., 1:] != most[..., :-1], (1, 0), value=True)
    places = torch.arange(x.shape[-1], device=x.device)
    since = torch.where(grown, places, 0).cummax(-1).values  # this maximum has been one
    ties = (x.detach() == most) & x.isfinite()
    sums = torch.where(ties, x, 0).cumsum(-1), ties.cumsum(-1)
    total, count = (s - F.pad(s, (1, -1)).take_along_dim(since, -1) for s in sums)
    slope = (total - total.detach()) / count.clamp(min=1)
    return (most + slope).movedim(-1, dim)


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
        embedding, linear_relu, relu_network, linears, log_likelihood, wrapped, slide, window, element,
        take, masked_softmax, masked_log_softmax, log_sum_exp, largest, running_max, largest_place,
        rank, stack, batched, settled,
    )
}  # fmt: skip
