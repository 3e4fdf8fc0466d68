"""A program with a loop over time as a routine: statements in PyTorch, a kernel, statements again.

    R̄, Ḡ, …                         a kernel, backwards through time
    W̄[j,i] = Σ_t R̄[t,j] h[t-1,i]     PyTorch, all steps at once

Used for a recurrence and for its gradient; PyTorch differentiates neither.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from indicial.compile.emit.source import Source, emit
from indicial.compile.native.kernel import REALS, Design, Kernel, build, design
from indicial.compile.native.outer import Outer, Outers, merged, outer
from indicial.compile.native.projections import (
    Gathered,
    Projection,
    projections,
    side_by_side,
)
from indicial.compile.native.scan import Unsupported, varying
from indicial.compile.passes.names import derived_name
from indicial.compile.schedule.plan import Loop, Plan, Run
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Affine, Code, Index, Read, Statement, Tensor
from indicial.program.rewrite import tensors_read

Values = dict[str, torch.Tensor]


@dataclass
class Stretch:
    """Statements that PyTorch runs; `code` has what they read as its inputs and parameters."""

    code: Code
    want: tuple[str, ...]
    summed: frozenset[str]
    known: dict[str, str] = field(default_factory=dict)
    """Other names for tensors of which it defines further elements."""
    sources: dict[frozenset[str], Source] = field(default_factory=dict)

    def run(self, known: Values, sizes: Mapping[str, int], lengths: Values) -> Values:
        known = {**known, **{other: known[name] for name, other in self.known.items()}}
        ragged = frozenset(lengths)
        if ragged not in self.sources:
            plan = Plan(tuple(Run(s) for s in self.code.statements))
            self.sources[ragged] = emit(
                self.code, plan, self.want, ragged=ragged, summed=self.summed
            )
        roles = {name: self.code.tensors[name].role for name in known if name in self.code.tensors}
        p = {name: known[name] for name, role in roles.items() if role == "parameter"}
        x = {name: known[name] for name, role in roles.items() if role == "input"}
        found = self.sources[ragged].run(p, x, dict(sizes), lengths, {})
        # What reads nothing, a sum of ones, does not know what kind of number the others are.
        like = next(t for t in known.values() if t.is_floating_point())
        return {name: value.to(like.dtype) for name, value in found.items()}


@dataclass
class Native:
    """A loop that a kernel runs."""

    code: Code
    loop: Loop
    same: frozenset[str]
    keep: tuple[str, ...]
    groups: list[tuple[str, ...]] = field(default_factory=list)
    """Which of them lie side by side in memory."""
    kernels: dict[object, Kernel] = field(default_factory=dict)

    def run(
        self, known: Values, sizes: Mapping[str, int], lengths: Values, fixed: Collection[str]
    ) -> Values:
        some = next(t for n, t in known.items() if self.code.tensors[n].values is None)
        kernel = self.kernel(some.dtype, sizes, frozenset(lengths), fixed)
        given = {name: known[name] for name in kernel.arguments}
        members = next((t.shape[0] for n, t in given.items() if n not in self.same), 1)
        wide, views = self.side_by_side(some, members, sizes)
        return {**kernel(given, sizes, members, lengths, views), **wide}

    def kernel(
        self,
        dtype: torch.dtype,
        sizes: Mapping[str, int],
        ragged: frozenset[str],
        fixed: Collection[str],
    ) -> Kernel:
        """The kernel for some sizes; made when it is first asked for."""
        constant = {name: sizes[name] for name in fixed if name not in ragged}
        key = (dtype, tuple(constant.items()), ragged)
        if key not in self.kernels:
            self.kernels[key] = self.build(REALS[dtype], constant, ragged)
        return self.kernels[key]

    def side_by_side(
        self, like: torch.Tensor, members: int, sizes: Mapping[str, int]
    ) -> tuple[Values, Values]:
        """Memory for each group, under its members' names, and for each member a view of it."""
        wide, views = {}, {}
        for group in self.groups:
            shapes = [[a.extent.value(sizes) for a in self.code.tensors[n].axes] for n in group]
            widths = [math.prod(shape[1:]) for shape in shapes]
            whole = like.new_empty(members, shapes[0][0], sum(widths))
            wide["|".join(group)] = whole
            at = itertools.accumulate([0, *widths])
            for name, shape, start, width in zip(group, shapes, at, widths, strict=False):
                piece = whole.narrow(2, start, width)
                views[name] = piece.view(*piece.shape[:2], *shape[1:])
        return wide, views

    def build(self, real: str, fixed: Mapping[str, int], ragged: frozenset[str]) -> Kernel:
        return build(
            self.code, self.loop, self.same, self.keep, fixed=fixed, ragged=ragged, real=real,
            designed=self.design,
        )  # fmt: skip

    @functools.cached_property
    def design(self) -> Design:
        return design(self.code, self.loop, self.same, self.keep)


Part = Stretch | Native | Outer | Outers | Projection | Gathered


class Routine:
    """The wanted tensors of a program in normal form, from its inputs and parameters.

    Inputs differ between members, and so does what reads them or knows a size that is `ragged`;
    parameters do not. `summed` are wanted as the sum over all members: gradients of what they share.
    """

    def __init__(
        self,
        code: Code,
        want: Sequence[str],
        summed: Iterable[str] = (),
        ragged: Collection[str] = (),
    ) -> None:
        self.want = tuple(want)
        self.summed = frozenset(summed)
        # A sum over members must not be summed again by one that is only another name for it.
        self.copies = {n: s for n in self.want if (s := _original(code, n, self.summed)) != n}
        if self.copies:
            rest = tuple(s for s in code.statements if s.target not in self.copies)
            code = replace(code, statements=rest)
        self.code = code
        if self.summed & tensors_read(code.statements):
            raise Unsupported("a sum over all members is read by one of them")
        self.given = [n for n, t in code.tensors.items() if t.role in ("input", "parameter")]
        self.same = frozenset(code.tensors.keys() - varying(code, ragged))
        plan = schedule(code, [n for n in self.want if n not in self.copies])
        self.fixed = self._fixed(plan)
        self.parts = self._arranged(list(self._parts(plan)))

    def _fixed(self, plan: Plan) -> tuple[str, ...]:
        """The sizes that calls do not change: those of parameters, but for the number of steps."""
        own = [t for t in self.code.tensors.values() if t.role in ("parameter", "constant")]
        names = {name for t in own for axis in t.axes for name in axis.extent.names}
        steps = {name for loop in plan.loops() for name in loop.extent.names}
        return tuple(name for name in self.code.sizes if name in names - steps)

    def _parts(self, plan: Plan) -> Iterable[Part]:
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
        absorbed = {id(s) for s in beside}
        known: list[str] = []
        for number, group in enumerate(groups):
            later = [
                s
                for g in groups[number + 1 :]
                for s in (g.statements() if isinstance(g, Loop) else g)
            ]
            needed = {*self.want, *tensors_read([*later, *beside])}
            if isinstance(group, Loop):
                keep = tuple(n for n in group.axes if n in needed)
                part = Native(self.code, group, self.same, keep)
                part.build("float", {}, frozenset())  # tells now if it cannot be done
                yield part
                known += keep
            else:
                own = [s for s in group if id(s) not in absorbed]
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
                part.groups = side_by_side(self.code, free, _wishes(follow))
                result += merged([p for p in follow if isinstance(p, Outer)], part.groups)
        return result

    def _outer(self, statement: Statement, there: set[str]) -> Outer | None:
        """A gradient of a weight whose factors are there."""
        if statement.target not in self.summed:
            return None
        found = outer(self.code, statement, self.same)
        return found if found is not None and {found.left, found.right} <= there else None

    def _absorbed(self, loop: Loop) -> list[Statement]:
        """What stands outside a loop and is done by its kernel: its starts, parts of joins."""
        inside = {id(s) for s in loop.statements()}
        result = []
        for name, axis in loop.axes.items():
            for statement in self.code.of(name):
                place = statement.left[axis]
                terms = getattr(place, "terms", ())
                if id(statement) not in inside and (terms or self._is_start(loop, statement)):
                    result.append(statement)
        return result

    def _is_start(self, loop: Loop, statement: Statement) -> bool:
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
        code = replace(
            self.code, tensors=kept, statements=tuple(statements), constants=constants,
            draws=(), tests=(), loss=None, generated=None,
        )  # fmt: skip
        return Stretch(code, made, self.summed & set(made), others)

    def start(self, dtype: torch.dtype, sizes: Mapping[str, int], ragged: frozenset[str]) -> None:
        """Have the kernels compiled in the background, as far as the sizes are known."""
        known = sizes.keys() >= {name for name in self.fixed if name not in ragged}
        if known and dtype in REALS:
            for part in self.parts:
                if isinstance(part, Native):
                    part.kernel(dtype, sizes, ragged, self.fixed).start()

    def run(self, given: Values, sizes: Mapping[str, int], lengths: Values) -> Values:
        known = dict(given)
        for part in self.parts:
            if isinstance(part, Native):
                known |= part.run(known, sizes, lengths, self.fixed)
            elif not isinstance(part, Stretch):
                known |= part.run(known, sizes)
            else:
                known |= part.run(known, sizes, lengths)
        return {name: known[self.copies.get(name, name)] for name in self.want}


def _copied(tensor: Tensor, source: str) -> Statement:
    """`h̄[t,j] = h̄^{known}[t,j]`"""
    indices = tuple(Index(f"{a.letter}°{n}", a.lower, a.extent) for n, a in enumerate(tensor.axes))
    places = tuple(Affine.of(i) for i in indices)
    return Statement(tensor.name, places, indices, Read(source, places))


def _wishes(parts: Sequence[Part]) -> list[tuple[str, ...]]:
    """Tensors that are multiplied together: in one sum, or with the same right factor."""
    wishes = [tuple(t.operand for t in p.terms) for p in parts if isinstance(p, Gathered)]
    by_right: dict[object, list[str]] = {}
    for part in parts:
        if isinstance(part, Outer):
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


__all__ = ["Routine", "Unsupported"]
