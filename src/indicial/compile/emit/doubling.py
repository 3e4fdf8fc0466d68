"""Linear recurrences without a loop: log2(T) rounds of PyTorch for T steps.

    h[t] = a[t] h[t-1] + b[t]

    b[t] + a[t] b[t-1],  a[t] a[t-1]                    two steps
    b[t] + a[t] b[t-2],  a[t] a[t-2]                    four steps, with the a and b of two
    …

The kernels are better on a processor, where a step costs little; elsewhere a loop over time is a
launch for every step, and this is not. `passes/linear.py` says which recurrences are linear.

Factors are multiplied before they meet a state. Those up to 1, as gates are, can do no harm; the
product of larger ones may leave the range of the numbers where no state does, because the state is
small or 0. Then it goes step by step. A tracer cannot look at numbers; for it factors are fractions
with powers of two of their own, whose products have a larger range.

A program of its own, run by emitted PyTorch: arguments in an order, outputs in an order.

alone = Alone(code, arguments=("R^{in}", "W"), outputs=("h",), same={"W"})
(h,) = alone.run([R_in, W], {"T": 7, "J": 4}, lengths={})
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import torch

from indicial.compile.emit.running import Source, TensorMap, empty_sizes
from indicial.compile.emit.source import emit
from indicial.compile.ground.torch_inside import transformed
from indicial.compile.passes.linear import Linear, linear
from indicial.compile.passes.scan import Members, Unsupported, extract, sizes_of
from indicial.compile.schedule.schedule import Around, Loop, Plan, Step, schedule
from indicial.program import ir
from indicial.program.rewrite import read_besides

SCALINGS = 3
"""In so many steps the smallest number becomes larger than the largest."""


def linear_scan(
    a: torch.Tensor, b: torch.Tensor, dim: int, direction: int = 1, lag: int = 1
) -> torch.Tensor:
    """`h[t] = a[t] h[t-lag] + b[t]` along an axis; before the first step h is 0."""
    if direction < 0:
        return linear_scan(a.flip(dim), b.flip(dim), dim, 1, lag).flip(dim)
    if unseen(a):
        return _wide_scan(a, b, dim, lag)
    steps, reach = b.shape[dim], lag
    factors, h = a, b
    while reach < steps:
        late = factors.narrow(dim, reach, steps - reach)
        added = h.narrow(dim, reach, steps - reach) + late * h.narrow(dim, 0, steps - reach)
        h = torch.cat([h.narrow(dim, 0, reach), added], dim)
        if 2 * reach < steps:
            products = late * factors.narrow(dim, 0, steps - reach)
            factors = torch.cat([factors.narrow(dim, 0, reach), products], dim)
        reach *= 2
    return h if bool(factors.isfinite().all()) else _step_by_step(a, b, dim, lag)


def unseen(values: torch.Tensor) -> bool:
    """Whether nobody can look at the numbers."""
    if torch.compiler.is_compiling() or values.device.type == "meta":
        return True
    return transformed(values)


def _wide_scan(a: torch.Tensor, b: torch.Tensor, dim: int, lag: int) -> torch.Tensor:
    """The same in rounds that no product of factors can leave the range of the numbers."""
    steps, reach = b.shape[dim], lag
    (factors, powers), h = _fractions(a, torch.zeros_like(a)), b
    while reach < steps:
        late, high = (x.narrow(dim, reach, steps - reach) for x in (factors, powers))
        early, low = (x.narrow(dim, 0, steps - reach) for x in (factors, powers))
        carried = _scaled(late * h.narrow(dim, 0, steps - reach), high)
        h = torch.cat([h.narrow(dim, 0, reach), h.narrow(dim, reach, steps - reach) + carried], dim)
        if 2 * reach < steps:
            product, power = _fractions(late * early, high + low)
            factors = torch.cat([factors.narrow(dim, 0, reach), product], dim)
            powers = torch.cat([powers.narrow(dim, 0, reach), power], dim)
        reach *= 2
    return h


def _fractions(values: torch.Tensor, powers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`values · 2^powers` with values between 1 and 2, or 0."""
    size = values.detach().abs()
    own = torch.where(size > 0, size.clamp(min=torch.finfo(size.dtype).tiny).log2().floor(), 0)
    return _scaled(values, -own), powers + own


def _scaled(values: torch.Tensor, powers: torch.Tensor) -> torch.Tensor:
    """`values · 2^powers`, in parts: 2^300 is no number, but 2^300 · 2^-290 is one."""
    most = math.frexp(torch.finfo(values.dtype).max)[1] - 1
    for _ in range(SCALINGS):
        part = powers.clamp(-most + 1, most)
        values, powers = values * part.exp2(), powers - part
    return values


def _step_by_step(a: torch.Tensor, b: torch.Tensor, dim: int, lag: int) -> torch.Tensor:
    h: list[torch.Tensor] = []
    for t, (factor, new) in enumerate(zip(a.unbind(dim), b.unbind(dim), strict=True)):
        h.append(new if t < lag else factor * h[t - lag] + new)
    return torch.stack(h, dim)


@dataclass(frozen=True)
class Doubling:
    """A linear recurrence as a function of its arguments; `parts` has its factor and what comes new."""

    linear: Linear
    parts: Alone

    @staticmethod
    def of(found: Linear, arguments: Sequence[str], same: Collection[str]) -> Doubling:
        return Doubling(found, Alone(found.code, arguments, (found.factor, found.new), same))

    def run(
        self, arguments: Sequence[torch.Tensor], sizes: Mapping[str, int], lengths: TensorMap
    ) -> list[torch.Tensor]:
        """The state at all steps."""
        a, b = self.parts.run(arguments, sizes, lengths)
        rank = len(self.linear.code.tensors[self.linear.factor].axes)
        members = a.dim() > rank or b.dim() > rank
        if members:
            a, b = (x if x.dim() > rank else x.unsqueeze(0) for x in (a, b))
            b = b.expand(max(a.shape[0], b.shape[0]), *b.shape[1:])
        axis = self.linear.axis + members
        return [linear_scan(a, b, axis, self.linear.direction, self.linear.lag)]


@dataclass(frozen=True)
class Handed:
    """What the emitted text calls, with sizes in the order of `names`."""

    names: tuple[str, ...]
    members: Members
    doubling: Doubling

    def __call__(
        self, arguments: Sequence[torch.Tensor], sizes: Sequence[int], lengths: TensorMap
    ) -> list[torch.Tensor]:
        by_name = dict(zip(self.names, sizes, strict=True))
        return self.members.run(self.doubling.run, arguments, by_name, lengths)


def with_doubling(
    code: ir.Code, plan: Plan, want: Collection[str], ragged: Collection[str] = ()
) -> Plan:
    """The plan with a call in the place of every loop over time that is linear."""

    def handed(step: Step, around: Around) -> Step | None:
        if not isinstance(step, Loop) or step.kind != "scanned":
            return None
        try:
            scan = extract(code, around, step, (), ragged)
        except Unsupported:
            return step
        read = read_besides(plan.statements(), step.statements())
        outputs = scan.outputs(read.union(want))
        found = linear(scan.code, outputs)
        if found is None:
            return step
        doubling = Doubling.of(found, tuple(scan.arguments), scan.unbatched)
        names = sizes_of(scan.code)
        return scan.call(step, outputs, names, Handed(names, scan.members, doubling))

    return plan.exchanged(handed)


class Alone:
    """Texts for a program, one for each set of sizes that differ between the members of a batch.

    `same` are the arguments that have no batch axis.
    """

    STORED = ("code", "arguments", "outputs", "same")

    def __init__(
        self, code: ir.Code, arguments: Sequence[str], outputs: Sequence[str], same: Collection[str]
    ) -> None:
        self.code = code
        self.arguments = tuple(arguments)
        self.outputs = tuple(outputs)
        self.same = frozenset(same)
        self._sources: dict[tuple[frozenset[str], frozenset[str]], Source] = {}

    def source(
        self, ragged: frozenset[str] = frozenset(), empty: frozenset[str] = frozenset()
    ) -> Source:
        """The text; made when it is first asked for."""
        key = ragged, empty
        if key not in self._sources:
            plan = schedule(self.code, self.outputs)
            self._sources[key] = emit(self.code, plan, self.outputs, ragged=ragged, empty=empty)
        return self._sources[key]

    def run(
        self, arguments: Sequence[torch.Tensor], sizes: Mapping[str, int], lengths: TensorMap
    ) -> list[torch.Tensor]:
        """The outputs; on any device, differentiated by PyTorch."""
        return self.of_sizes(sizes, lengths)(arguments)

    def of_sizes(
        self, sizes: Mapping[str, int], lengths: TensorMap | None = None
    ) -> Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]:
        """The same for several calls with one set of sizes."""
        own = {name: value for name, value in (lengths or {}).items() if name in sizes}
        text, known = self.source(frozenset(own), empty_sizes(sizes)), dict(sizes)

        def run(arguments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            p: dict[str, torch.Tensor] = {}
            x: dict[str, torch.Tensor] = {}
            for name, value in zip(self.arguments, arguments, strict=True):
                (p if name in self.same else x)[name] = value
            found = text.run(p, x, known, own, {})
            return [found[name] for name in self.outputs]

        return run
