"""A loop over time → its kernel.

    kernel = build(code, loop, unbatched, keep=["h"], fixed={"J": 256}, real="float")

The code is in normal form. What the kernel does, its `design`, is the same for all sizes and types.

A program in normal form with loops over time → the routine that runs it.

    arranged(code, want=["W̄", "x̄"], summed=["W̄"])
      →  Native(R̄, Ḡ, …), Outers(W̄, …), Gathered(x̄)

Loops become kernels, what remains PyTorch: products of all steps at once, or emitted text.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from indicial.compile.emit.running import Source
from indicial.compile.emit.source import emit
from indicial.compile.ground.stored import Packed
from indicial.compile.native.projections import (
    Gathered,
    Outer,
    Projection,
    neighbours,
    outer,
    outers_together,
    projections,
)
from indicial.compile.native.reading.body import (
    Body,
    Starts,
    begun_with,
    body,
    needs_history,
    starts,
)
from indicial.compile.native.reading.stages import Stage, stages
from indicial.compile.native.reading.tile import TIME, faded
from indicial.compile.native.reading.tiles import tiling
from indicial.compile.native.routine import Inside, Kernel, Native, Part, Routine, Stretch, Tiled
from indicial.compile.native.writing.c import CSizes
from indicial.compile.native.writing.text import write
from indicial.compile.native.writing.tile_text import write_tile
from indicial.compile.native.writing.writer import KernelPlan, Within
from indicial.compile.passes.new_tensors import derived_name, over
from indicial.compile.passes.scan import Unsupported
from indicial.compile.schedule.fuse import fused
from indicial.compile.schedule.schedule import Loop, Plan, Run, schedule
from indicial.program.ir import Code, Read, Statement, Tensor, index_at
from indicial.program.meaning.differing import varying
from indicial.program.rewrite import tensors_read
from indicial.program.sizes import Size

Join = Callable[[Code, Plan], Plan]
"""A plan → the same with loops that walk together as one."""


def _apart(code: Code, plan: Plan) -> Plan:
    """Every loop alone."""
    return plan


@dataclass(frozen=True)
class Design:
    """A kernel before its sizes and its type are known."""

    body: Body
    starts: Starts
    arguments: Sequence[str]
    kept: Sequence[str]
    stages: Sequence[Stage]


def design(code: Code, loop: Loop, unbatched: frozenset[str], keep: Collection[str]) -> Design:
    """What the kernel of a loop does, in order; `Unsupported` where there is none."""
    walked = body(code, loop, unbatched)
    begin = starts(code, loop)
    kept = _ordered(code, {*keep, *needs_history(walked)} & loop.axes.keys())
    arguments = _arguments(code, walked.statements, loop, begin)
    return Design(walked, begin, arguments, kept, stages(walked, kept))


def build(
    code: Code,
    loop: Loop,
    unbatched: frozenset[str],
    keep: Collection[str],
    *,
    fixed: Mapping[str, int],
    ragged: frozenset[str] = frozenset(),
    real: str = "float",
    within: Mapping[str, Within] | None = None,
    designed: Design | None = None,
) -> Kernel:
    """The kernel of a loop; `Unsupported` where there is none."""
    own = designed or design(code, loop, unbatched, keep)
    lying = {place.argument for place in (within or {}).values()}
    arguments = _ordered(code, {*own.arguments, *lying})
    sizes = CSizes(fixed, ragged)
    constants = {n: v for n, v in code.constants.items() if isinstance(v, int | float)}
    if len(constants) < len(code.constants):
        raise Unsupported("a constant with indices")
    text = write(
        KernelPlan(
            own.body, own.stages, arguments, own.kept, own.starts, loop.direction, loop.lower,
            loop.extent, sizes, real, constants, within or {},
        )
    )  # fmt: skip
    gapless = unbatched | begun_with(own.starts)
    made = _kernel(code, text, real, gapless, arguments, own.kept, sizes)
    begun = {name: len(pairs) for name, pairs in own.starts.items()}
    partial = [n for n in own.kept if not own.body.is_whole(n, begun.get(n, 0))]
    return replace(made, partial=frozenset(partial))


def build_tile(
    code: Code,
    want: Sequence[str],
    number: int,
    same: frozenset[str],
    *,
    fixed: Mapping[str, int],
    ragged: frozenset[str] = frozenset(),
    real: str = "float",
) -> Kernel:
    """One of the kernels of a program whose state is a matrix."""
    tile = faded(tiling(code, schedule(code, want), want).tiles[number])
    if any(ragged & extent.names for role, (_, extent) in tile.ranges.items() if role != TIME):
        raise Unsupported("the state's own sizes differ between members")
    sizes = CSizes(fixed, ragged)
    for name in sorted(ragged):
        sizes.variable(name)
    text, arguments = write_tile(code, tile, same, sizes, real)
    return _kernel(code, text, real, same, arguments, tile.outputs, sizes)


def _kernel(
    code: Code,
    text: str,
    real: str,
    gapless: frozenset[str],
    arguments: Sequence[str],
    kept: Sequence[str],
    sizes: CSizes,
) -> Kernel:
    shapes = {n: tuple(a.extent for a in code.tensors[n].axes) for n in kept}
    return Kernel(
        text, real, gapless, tuple(arguments), tuple(kept), shapes, tuple(sizes.names),
        dict(sizes.fixed), tuple(sorted(sizes.ragged)),
    )  # fmt: skip


def _ordered(code: Code, names: Collection[str]) -> list[str]:
    return [name for name in code.tensors if name in names]


def _arguments(code: Code, statements: Sequence[Statement], loop: Loop, begin: Starts) -> list[str]:
    found = begun_with(begin) | tensors_read(statements)
    return _ordered(code, found - loop.axes.keys() - code.constants.keys())


def arranged(
    code: Code,
    want: Sequence[str],
    summed: Iterable[str] = (),
    ragged: Collection[str] = (),
    identity: str = "",
    tiles: bool = False,
    zeros: Collection[str] = (),
    walk: tuple[Size, Size] | None = None,
    join: Join | None = None,
) -> Routine:
    """The wanted tensors of a program in normal form, from its inputs and parameters.

    Inputs differ between members, and so does what reads them or knows a size that is `ragged`;
    parameters do not. `summed` are wanted as the sum over all members: gradients of what they share.
    What is made for the parts is stored under `identity`. With `tiles` the state is a matrix that
    nobody wants to see, and kernels take tiles of it through time. `zeros` are inputs that are 0
    beyond their lengths. `walk` are the steps that a kernel may go through if no loop is left; `join`
    says instead what is one loop.
    """
    sums = frozenset(summed)
    # A sum over members must not be summed again by one that is only another name for it.
    copies = {n: s for n in want if (s := _original(code, n, sums)) != n}
    if copies:
        rest = tuple(s for s in code.statements if s.target not in copies)
        code = replace(code, statements=rest)
    if sums & tensors_read(code.statements):
        raise Unsupported("a sum over all members is read by one of them")
    plan = schedule(code, [n for n in want if n not in copies])

    def parts(plan: Plan, identity: str, join: Join) -> list[Part]:
        arrangement = _Arrangement(code, want, sums, ragged, identity, set(zeros))
        return arrangement.tiled(plan, join) if tiles else arrangement.parts(join(code, plan))

    own = join or partial(fused, walk=walk, apart=sums)
    try:
        made = parts(plan, identity, own)
    except Unsupported:
        if join:
            raise
        own = _apart
        made = parts(plan, identity, own)
    routine = Routine(tuple(want), copies, _fixed(code, plan), made)
    found = None if tiles else _inside(code, want, own(code, plan), made)
    if found is not None:
        wider, routine.inside = found
        try:
            routine.inside.parts += parts(wider, f"{identity} inside", _apart)
        except Unsupported:
            routine.inside = None
    return routine


def _inside(
    code: Code, want: Sequence[str], plan: Plan, parts: Sequence[Part]
) -> tuple[Plan, Inside] | None:
    """The plan with products of an input that only one loop reads inside of it, if there are any."""
    products = {o.target: o for p in parts if isinstance(p, Projection) for o in p.outputs}
    loops = [step for step in plan.steps if isinstance(step, Loop)]
    if len(loops) != 1 or not all(isinstance(step, Run) for step in loops[0].steps):
        return None
    (loop,) = loops
    span = loop.lower, loop.extent
    elsewhere = {*want, *tensors_read(s for s in code.statements if s.target not in loop.axes)}
    taken = [
        step
        for step in plan.steps
        if isinstance(step, Run)
        and (name := step.statement.target) in products
        and name not in elsewhere
        and code.tensors[products[name].operand].role == "input"
        and step.statement.scope[index_at(step.statement.left[0]) or ""].range == span
    ]
    if not taken:
        return None
    own = [products[step.statement.target] for step in taken]
    axes = dict.fromkeys((o.target for o in own), 0)
    wider = replace(
        loop,
        steps=(*taken, *loop.steps),
        axes={**axes, **loop.axes},
        offsets={**axes, **loop.offsets},
    )
    rest = (wider if step is loop else step for step in plan.steps if step not in taken)
    weights = tuple(dict.fromkeys(o.weight for o in own))
    return Plan(tuple(rest)), Inside([], own[0].operand, weights)


def text_of(stretch: Stretch, ragged: frozenset[str]) -> Source:
    """The text of a stretch."""
    plan = Plan(tuple(Run(s) for s in stretch.code.statements))
    # What it is given was computed from inputs that are settled, or by kernels, which leave zeros.
    return emit(
        stretch.code, plan, stretch.want, ragged=ragged, summed=stretch.summed, zeros=stretch.zeros
    )


def _fixed(code: Code, plan: Plan) -> tuple[str, ...]:
    """The sizes that calls do not change."""
    own = [t for t in code.tensors.values() if t.role in ("parameter", "constant")]
    names = {name for t in own for axis in t.axes for name in axis.extent.names}
    steps = {name for loop in plan.loops() for name in loop.extent.names}
    return tuple(name for name in code.sizes if name in names - steps)


@dataclass
class _Arrangement:
    code: Code
    want: Sequence[str]
    summed: frozenset[str]
    ragged: Collection[str]
    identity: str
    zeros: set[str]

    def __post_init__(self) -> None:
        tensors = self.code.tensors
        self.numbers = itertools.count()
        self.given = [n for n, t in tensors.items() if t.role in ("input", "parameter")]
        self.same = frozenset(tensors.keys() - varying(self.code, self.ragged))

    def parts(self, plan: Plan) -> list[Part]:
        return self._arranged(list(self._parts(plan, [])))

    def tiled(self, plan: Plan, join: Join) -> list[Part]:
        """What is computed before the kernels of tiles, these, and what is made of their results."""
        rest = [n for n in self.want if n in {s.target for s in self.code.statements}]
        found = tiling(self.code, plan, rest)
        read = tensors_read(found.after).union(*(tile.reads for tile in found.tiles))
        known: list[str] = []
        parts = list(self._parts(join(self.code, _as_plan(found.before)), known, read))
        for number, tile in enumerate(found.tiles):
            shapes = {n: tuple(a.extent for a in self.code.tensors[n].axes) for n in tile.outputs}
            across = frozenset(n for n in tile.outputs if tile.vec not in tile.item(n).left)
            packed = Packed((self.code, tuple(rest), number))
            summed = self.summed & shapes.keys()
            part = Tiled(self.name(), packed, self.same, shapes, across, tile.whole, summed)
            part.build("float", {}, frozenset())  # tells now if it cannot be done
            parts.append(part)
            known += tile.outputs
        self.code = found.code
        parts += self._parts(join(self.code, _as_plan(found.after)), known)
        return self._arranged(parts)

    def _parts(self, plan: Plan, known: list[str], read: Collection[str] = ()) -> Iterable[Part]:
        """The parts of a plan, after which what they made is `known`; others read some of that."""
        groups: list[list[Statement] | Loop] = []
        for step in plan.steps:
            if isinstance(step, Loop):
                groups.append(step)
                continue
            assert isinstance(step, Run)
            if groups and isinstance(groups[-1], list):
                groups[-1].append(step.statement)
            else:
                groups.append([step.statement])
        beside = [s for g in groups if isinstance(g, Loop) for s in self._absorbed(g)]
        absorbed = {s.number for s in beside}
        for number, group in enumerate(groups):
            later = [
                s
                for g in groups[number + 1 :]
                for s in (g.statements() if isinstance(g, Loop) else g)
            ]
            needed = {*self.want, *read, *tensors_read([*later, *beside])}
            if isinstance(group, Loop):
                keep = tuple(n for n in group.axes if n in needed)
                part = self._native(group, keep)
                part.build("float", {}, frozenset())  # tells now if it cannot be done
                yield part
                known += keep
                self.zeros |= set(keep)
            else:
                own = [s for s in group if s.number not in absorbed]
                there = {*self.given, *known}
                products = [p for s in own if (p := self._outer(s, there)) is not None]
                yield from products
                taken = {p.target for p in products}
                own = [s for s in own if s.target not in taken]
                wide, own = projections(self.code, own, self.same, there)
                yield from wide
                known += [*taken, *(n for part in wide for n in part.targets)]
                if own:
                    new = [s.target for s in own if s.target not in known]
                    made = tuple(n for n in dict.fromkeys(new) if n in needed)
                    yield self._stretch(own, made, known)
                    known += made

    def _native(self, loop: Loop, keep: tuple[str, ...]) -> Native:
        shapes = {n: tuple(a.extent for a in self.code.tensors[n].axes) for n in keep}
        return Native(self.name(), Packed((self.code, loop)), self.same, keep, shapes)

    def name(self) -> str:
        """A name for the next part, to store under what is made of it."""
        return f"{self.identity} {next(self.numbers)}"

    def _arranged(self, parts: list[Part]) -> list[Part]:
        """Kernels put side by side what is multiplied together after them."""
        result: list[Part] = []
        kernels = False
        for number, part in enumerate(parts):
            if isinstance(part, Outer) and kernels:
                continue  # it went along with the kernel that it follows
            result.append(part)
            if isinstance(part, Native):
                kernels = True
                rest = parts[number + 1 :]
                follow = list(itertools.takewhile(lambda p: not isinstance(p, Native), rest))
                free = set(part.keep).difference(self.want)
                part.groups = neighbours(self.code, free, _wishes(follow))
                result += outers_together([p for p in follow if isinstance(p, Outer)], part.groups)
        return result

    def _outer(self, statement: Statement, there: set[str]) -> Outer | None:
        """A gradient of a weight whose factors are there."""
        if statement.target not in self.summed:
            return None
        found = outer(self.code, statement, self.same)
        return found if found is not None and {found.left, found.right} <= there else None

    def _absorbed(self, loop: Loop) -> list[Statement]:
        """What stands outside a loop and is done by its kernel: its starts, parts of joins."""
        inside = {s.number for s in loop.statements()}
        result = []
        for name, axis in loop.axes.items():
            for statement in self.code.of(name):
                place = statement.left[axis]
                terms = getattr(place, "terms", ())
                if statement.number not in inside and (terms or self._is_given(statement)):
                    result.append(statement)
        return result

    def _is_given(self, statement: Statement) -> bool:
        source = statement.body
        return isinstance(source, Read) and source.tensor in self.given

    def _stretch(
        self, statements: list[Statement], made: tuple[str, ...], known: Sequence[str]
    ) -> Stretch:
        tensors = dict(self.code.tensors)
        for name in known:
            role = "parameter" if name in self.same else "input"
            tensors[name] = replace(tensors[name], role=role)
        others: dict[str, str] = {}
        for name in dict.fromkeys(s.target for s in statements if s.target in known):
            others[name] = derived_name(tensors, name, "known")
            tensors[others[name]] = replace(tensors[name], name=others[name])
            tensors[name] = replace(tensors[name], role="defined")
            # A kernel has computed the steps; what they run into, h̄[-1,j], is defined here.
            statements = [_copied(tensors[name], others[name]), *statements]
        read = tensors_read(statements)
        targets = {s.target for s in statements}
        kept = {n: t for n, t in tensors.items() if n in read | targets}
        constants = {n: v for n, v in self.code.constants.items() if n in kept}
        code = replace(self.code.equations(kept, statements), constants=constants)
        roles = {n: t.role for n, t in kept.items() if t.role in ("input", "parameter")}
        zeros = frozenset(n for n in roles if n in self.zeros)
        summed = self.summed & set(made)
        return Stretch(self.name(), Packed(code), roles, made, summed, others, zeros)


def _as_plan(statements: Sequence[Statement]) -> Plan:
    return Plan(tuple(map(Run, statements)))


def _copied(tensor: Tensor, source: str) -> Statement:
    """`h̄[t,j] = h̄^{known}[t,j]`"""
    indices, places = over(tensor.axes)
    return Statement(tensor.name, places, indices, Read(source, places))


def _wishes(parts: Sequence[Part]) -> list[tuple[str, ...]]:
    """Tensors that are multiplied together: in one sum, or with the same right factor."""
    wishes = [tuple(t.operand for t in p.terms) for p in parts if isinstance(p, Gathered)]
    by_right: dict[object, list[str]] = {}
    for part in parts:
        if isinstance(part, Outer) and not part.before and not part.behind:
            by_right.setdefault((part.right, part.apart, part.steps), []).append(part.left)
    return [*wishes, *(tuple(dict.fromkeys(lefts)) for lefts in by_right.values())]


def _original(code: Code, name: str, among: frozenset[str]) -> str:
    """The one of some tensors that another of them equals, element by element; or itself."""
    while name in among and len(statements := code.of(name)) == 1:
        (statement,) = statements
        body = statement.body
        if not isinstance(body, Read) or body.tensor not in among or body.places != statement.left:
            break
        name = body.tensor
    return name
