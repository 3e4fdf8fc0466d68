"""Linear recurrences without a loop: log2(T) rounds of PyTorch for T steps.

    h[t] = a[t] h[t-1] + b[t]

    b[t] + a[t] b[t-1],  a[t] a[t-1]                    two steps
    b[t] + a[t] b[t-2],  a[t] a[t-2]                    four steps, with the a and b of two
    …

The kernels are better on a processor, where a step costs little; elsewhere a loop over time is a
launch for every step, and this is not. `linear` says which recurrences are.

Factors are multiplied before they meet a state. Those up to 1, as gates are, can do no harm; the
product of larger ones may leave the range of the numbers where no state does, because the state is
small or 0. Then it goes step by step. A tracer cannot look at numbers; for it factors are fractions
with powers of two of their own, whose products have a larger range.

A program of its own, run by emitted PyTorch: arguments in an order, outputs in an order.

alone = Alone(code, arguments=("R^{in}", "W"), outputs=("h",), same={"W"})
(h,) = alone.run([R_in, W], {"T": 7, "J": 4}, lengths={})

Recurrences that are linear in their state: they need no loop, only a parallel scan.

    h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) u[t,j]

    h^{a}[t,j] = G[t,j]                             the factor of the state
    h^{b}[t,j] = (1 - G[t,j]) u[t,j]                what comes new; at the first step the start too
    h[t,j]     = h^{a}[t,j] h[t-1,j] + h^{b}[t,j]

Two steps are again one such step, `a' a h + a' b + b'`, so T steps take log2(T) rounds that double
how far they reach (Hillis and Steele 1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from indicial.compile.emit.running import Source, TensorMap, empty_sizes
from indicial.compile.emit.source import emit
from indicial.compile.ground.torch_inside import transformed
from indicial.compile.passes.algebra import ZERO, derivative, negative, plus, times
from indicial.compile.passes.new_tensors import derived_name
from indicial.compile.passes.scan import Members, Unsupported, extract
from indicial.compile.passes.simplify import inlined
from indicial.compile.schedule.schedule import Around, Loop, Plan, ScheduleError, Step, schedule
from indicial.program import ir
from indicial.program.rewrite import read_besides, rebuild, sizes_in


@dataclass(frozen=True)
class Linear:
    """`state` from its factors and what comes new, both of which `code` defines without a loop."""

    code: ir.Code
    state: str
    factor: str
    new: str
    axis: int
    """The axis of the state that the recurrence walks."""
    direction: int
    lag: int
    """How many steps back the state is read."""


def linear(code: ir.Code, outputs: Collection[str]) -> Linear | None:
    """The linear recurrence that a program with one loop over time is; None for any other."""
    loop = _only_loop(code, outputs)
    if loop is None:
        return None
    states = list(dict.fromkeys(s.target for s in loop.statements()))
    inner = [name for name in states if name not in outputs]
    if inner and len(states) > 1:
        code = inlined(code, inner)
        loop = _only_loop(code, outputs)
    if loop is None or len(loop.axes) != 1 or set(outputs) != set(loop.axes):
        return None
    statements = list(loop.statements())
    if len(statements) != 1 or statements[0].guard is not None:
        return None
    return _apart(code, loop, statements[0])


def _only_loop(code: ir.Code, outputs: Collection[str]) -> Loop | None:
    try:
        loops = list(schedule(code, outputs).loops())
    except ScheduleError:
        return None
    return loops[0] if len(loops) == 1 else None


def _apart(code: ir.Code, loop: Loop, statement: ir.Statement) -> Linear | None:
    """The statement as factor and rest."""
    state, axis = statement.target, loop.axes[statement.target]
    reads = {n for n in statement.body.every(ir.Read) if n.tensor == state}
    if len(reads) != 1:
        return None
    (read,) = reads
    lag = _lag(statement, read, axis) * loop.direction
    if lag < 1 or not is_linear(statement.body, read):
        return None
    begun = [(s, ir.number_at(s.left[axis])) for s in code.of(state) if s is not statement]
    if any(place is None or start.guard is not None for start, place in begun):
        return None
    own = code.tensors[state]
    outside = [s for s, place in begun if place is not None and own.axes[axis].beyond(place)]
    marks = ("a", "b", "before")
    factor, new, before = (derived_name(code.tensors, state, mark) for mark in marks)
    start = replace(read, tensor=before) if outside else ZERO
    made = [replace(s, target=before if s in outside else new) for s, _ in begun]
    made.append(replace(statement, target=new, body=_replaced(statement.body, read, start)))
    made.append(replace(statement, target=factor, body=derivative(statement.body, read)))
    tensors = {n: t for n, t in code.tensors.items() if n != state}
    for name in (factor, new, before)[: 3 if outside else 2]:
        tensors[name] = ir.Tensor(name, own.axes, "defined")
    rest = [s for s in code.statements if s.target != state]
    alone = replace(code, tensors=tensors, statements=(*rest, *made), loss=None)
    return Linear(alone, state, factor, new, axis, loop.direction, lag)


def _lag(statement: ir.Statement, read: ir.Read, axis: int) -> int:
    """How far back a read goes that else is at the statement's own place; 0 for any other read."""
    lag = 0
    for number, (place, left) in enumerate(zip(read.places, statement.left, strict=True)):
        if not isinstance(place, ir.Affine) or not isinstance(left, ir.Affine):
            return 0
        if number == axis:
            back = (left.offset - place.offset).number
            if place.terms != left.terms or back is None:
                return 0
            lag = int(back)
        elif place != left:
            return 0
    return lag


def is_linear(expression: ir.Expression, atom: ir.Read) -> bool:
    """Whether an expression is `a · atom + b` with a and b free of the atom's tensor.

    `2 (h - x)/y` is; `h h`, `[h > 0] x` and `tanh(h)` are not, nor is a sum in which h stands.
    """
    if expression == atom or not _reads(expression, atom.tensor):
        return True
    if isinstance(expression, ir.Select):
        return all(
            is_linear(value, atom) and not _reads(condition, atom.tensor)
            for condition, value in expression.branches
        ) and is_linear(expression.otherwise, atom)
    if not isinstance(expression, ir.Apply):
        return False
    moving = [a for a in expression.arguments if _reads(a, atom.tensor)]
    if expression.function == "*" and len(moving) > 1:
        return False
    if expression.function == "/" and _reads(expression.arguments[1], atom.tensor):
        return False
    return expression.function in ("+", "neg", "*", "/") and all(is_linear(a, atom) for a in moving)


def _reads(expression: ir.Expression, tensor: str) -> bool:
    return tensor in expression.tensors()


def _replaced(expression: ir.Expression, read: ir.Read, by: ir.Expression) -> ir.Expression:
    """With another expression in the place of the read; what a 0 takes away is not there."""

    def leaf(node: ir.Expression) -> ir.Expression:
        if node == read:
            return by
        match node:
            case ir.Apply("+", arguments):
                return plus(*arguments)
            case ir.Apply("*", arguments):
                return times(*arguments)
            case ir.Apply("neg", (argument,)):
                return negative(argument)
            case ir.Apply("/", (above, _)) if above == ZERO:
                return ZERO
        return node

    return rebuild(expression, leaf=leaf)


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


def sizes_of(code: ir.Code) -> tuple[str, ...]:
    """The sizes that a program needs to know: of its ranges, and those that equations compute with."""
    places = (v.place.offset for s in code.statements for v in s.body.every(ir.IndexValue))
    used = {name for size in (*sizes_in(code), *places) for name in size.names}
    return tuple(name for name in code.sizes if name in used)
