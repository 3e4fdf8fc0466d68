"""Sums of which few terms are chosen: what is chosen, what is summed, and the sum as tensors of their own.

h[t,e,f] = ReLU(Σ_J U[e,f,J] x[t,J])
y[t,i] = Σ_{e,F} [e = a[t]] P[t,e] W[e,i,F] h[t,e,F]

y^{if}[t,e] = [e = a[t]]                                    the choice
y^{each}[t,e,i] = Σ_F P[t,e] W[e,i,F] h[t,e,F]              for each e, all t
y^{all}[t,i] = Σ_{e: y^{if}[t,e] ≠ 0} y^{each}[t,e,i]

A matrix that is gathered, `W[a[t],i,F]`, is such a sum over all e with `[e = a[t]]`. Of what is summed
`rowwise` makes an ordinary program, of which the t that chose an e are the batch (`emit/dispatch.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from indicial.compile.passes.algebra import ONE, ZERO, both, compare, factors_of, times
from indicial.compile.passes.new_tensors import derived_name, indices_of, laid_out
from indicial.compile.passes.scan import Rows, Unsupported, rowwise
from indicial.compile.schedule.schedule import Plan, Run
from indicial.program import ir
from indicial.program.cost.conditions import conjuncts
from indicial.program.meaning.differing import varying
from indicial.program.moving import Unmovable, definition, moved
from indicial.program.rewrite import (
    Scope,
    free_in_place,
    free_indices,
    inside,
    rebuild,
    size_indices,
    tensors_read,
    with_reads,
)


@dataclass(frozen=True)
class Choice:
    """A sum that was taken apart: the tensor that it is now, and those that only it needs."""

    total: str
    members: frozenset[str]


def with_choices(
    code: ir.Code, plan: Plan, want: Collection[str]
) -> tuple[ir.Code, tuple[Choice, ...]]:
    """The program with every sum of few terms taken apart, and these sums."""
    fixed: dict[int, frozenset[str]] = {}
    """By statement outside loops over time, the indices that loops fix."""
    for step, around in plan.walk():
        if isinstance(step, Run) and all(loop.kind != "scanned" for loop in around):
            found = filter(None, (loop.fixed(step.statement) for loop in around))
            fixed[step.statement.number] = frozenset(index for index, _ in found)
    by_number = {s.number: s for s in code.statements}
    choices = _Choices(
        code, frozenset(want), {by_number[key].target: f for key, f in fixed.items()}
    )
    for key in reversed(fixed):  # what is read by a sum goes with it, if nobody else reads it
        if by_number[key].guard is None:
            choices.take_apart(by_number[key], fixed[key])
    return choices.code, tuple(choices.found)


@dataclass
class _Choices:
    code: ir.Code
    want: frozenset[str]
    fixed: dict[str, frozenset[str]]
    """By tensor that is computed outside loops over time, the indices that loops fix."""
    found: list[Choice] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.differing = varying(self.code)

    def take_apart(self, statement: ir.Statement, fixed: frozenset[str]) -> None:
        """A statement with its sums of few terms replaced."""
        if not any(s is statement for s in self.code.statements):
            return  # it is a part of another sum by now
        sums: list[tuple[ir.Reduce, Scope]] = []

        def look(node: ir.Expression, scope: Scope) -> ir.Expression:
            if isinstance(node, ir.Reduce) and node.operator == "sum":
                sums.append((node, scope))
            return inside(node, scope, look)

        look(statement.body, statement.scope)
        for node, scope in sums:
            if any(part is node for part in statement.body.walk()):
                statement = self.without(statement, node, scope, fixed)

    def without(
        self, statement: ir.Statement, node: ir.Reduce, scope: Scope, fixed: frozenset[str]
    ) -> ir.Statement:
        """A statement without one of its sums, if that can be taken apart."""
        code, written = self.spelt_out(statement, _as_one(node))
        for chosen in written.indices:
            conditions, factors, rest = self.chosen(code, written, chosen)
            mask = both(*conditions)
            if mask is None or not mask.tensors() & self.differing:
                continue
            inner = {**scope, **{i.name: i for i in written.indices}}
            new = _Apart(self, code, statement, inner, fixed)
            try:
                code, choice, shorter = new.made(node, written, chosen, mask, factors, both(*rest))
            except (Unsupported, Unmovable):
                continue
            self.code, self.differing = code, varying(code)
            self.found.append(choice)
            return shorter
        return statement

    # ---- matrices that are gathered ----

    def spelt_out(self, statement: ir.Statement, node: ir.Reduce) -> tuple[ir.Code, ir.Reduce]:
        """`Σ_F W[a[t],i,F] …` as `Σ_{e,F} [e = a[t]] W[e,i,F] …`, if W is a matrix for each e."""
        summed = {i.name for i in node.indices}
        for factor in factors_of(node.body, set()):
            if not isinstance(factor, ir.Read) or factor.tensor in self.differing:
                continue
            at = [n for n, p in enumerate(factor.places) if isinstance(p, ir.Gather)]
            others = {ir.index_at(p) for p in factor.places} - {None}
            if len(at) != 1 or not others & summed or not others - summed:
                continue
            place = factor.places[at[0]]
            axis = self.code.tensors[factor.tensor].axes[at[0]]
            assert isinstance(place, ir.Gather)
            if _binds(node.body, free_indices(place.read)):
                continue
            letter = axis.letter or (axis.extent.name or "e").lower()
            index = ir.Index(f"{letter}·chosen", axis.lower, axis.extent)
            body = _placed(node.body, place, index)
            code, body = self.knowing(self.code, statement, body, place.read, index)
            condition = both(
                compare(ir.IndexValue(ir.Affine.of(index)), "=", place.read), node.condition
            )
            indices = (index, *node.indices)
            return code, replace(node, indices=indices, condition=condition, body=body)
        return self.code, node

    def knowing(
        self, code: ir.Code, reader: ir.Statement, body: ir.Expression, at: ir.Read, index: ir.Index
    ) -> tuple[ir.Code, ir.Expression]:
        """A part of a statement, and what only that part reads, with e in the place of a[t]."""
        for name in body.tensors():
            reads = [r for r in body.every(ir.Read) if r.tensor == name]
            old = self.alone(code, name, reader, len(reads))
            own = None if old is None else _own_names(old, reads, free_indices(at))
            if old is None or own is None:
                continue
            if _binds(old.body, {p.terms[0][0] for p in own.values()}):
                continue  # `softmax_n g[t,a[t,n]]` reads what others chose
            there = moved(at, own)
            assert isinstance(there, ir.Read)
            inner = _placed(old.body, ir.Gather(there), index)
            code_, inner = self.knowing(code, old, inner, there, index)
            if inner == old.body:
                continue
            places = (*old.left, ir.Affine.of(index))
            new = replace(old, left=places, indices=(*old.indices, index), body=inner)
            tensor = code.tensors[name]
            axes = (*tensor.axes, ir.Axis(index.name, index.lower, index.extent))
            code = replace(code_, tensors={**code_.tensors, name: replace(tensor, axes=axes)})
            code = _exchanged(code, old, new)
            body = with_reads(body, partial(_with_place, name, index))
        return code, body

    def alone(
        self, code: ir.Code, name: str, reader: ir.Statement, times: int
    ) -> ir.Statement | None:
        """The one equation of a tensor, if a part that reads it so often is all that does."""
        statements = code.of(name)
        reads = [s.target for s in code.statements for r in s.reads() if r.tensor == name]
        if len(statements) != 1 or reads != [reader.target] * times or name in self.want:
            return None
        if statements[0].guard is not None or name not in self.fixed:
            return None
        return statements[0]

    # ---- conditions ----

    def chosen(
        self, code: ir.Code, node: ir.Reduce, index: ir.Index
    ) -> tuple[list[ir.Expression], list[ir.Expression], list[ir.Expression]]:
        """Conditions under which there is a term, its factors besides, and other conditions."""
        conditions: list[ir.Expression] = []
        factors: list[ir.Expression] = []
        rest: list[ir.Expression] = []
        for condition in conjuncts(node.condition):
            told = _support(code, condition, index.name) is not None
            (conditions if told else rest).append(condition)
        for factor in factors_of(node.body, set()):
            support = _support(code, factor, index.name)
            if support is not None:
                conditions.append(support[0])
            if support is None or not support[1]:
                factors.append(factor)
        return conditions, factors, rest


Support = tuple[ir.Expression, bool]
"""A condition without which a number is 0, and whether it is 1 with it."""


def _support(
    code: ir.Code, node: ir.Expression, index: str, seen: frozenset[str] = frozenset()
) -> Support | None:
    """Where a number is not 0, if something says so for some values of an index."""
    below = partial(_support, code, index=index, seen=seen)
    match node:
        case ir.Apply(function, _) if function in ir.COMPARISONS or function in ir.LOGIC:
            return (node, True) if index in free_indices(node) else None
        case ir.Apply("*", arguments):
            found = [part for a in arguments if (part := below(a)) is not None]
            exact = len(found) == len(arguments) and all(part[1] for part in found)
            condition = both(*(part[0] for part in found))
            return None if condition is None else (condition, exact)
        case ir.Apply("max" | "+", arguments):
            found = [part for a in arguments if (part := below(a)) is not None]
            if len(found) < len(arguments):
                return None
            exact = node.function == "max" and all(part[1] for part in found)
            return compare(ir.Apply("max", tuple(part[0] for part in found)), "≠", ZERO), exact
        case ir.Apply("/" | "neg", (above, *_)) | ir.Select(((above, _),), ir.Constant(0.0)):
            part = below(above)
            return None if part is None else (part[0], False)
        case ir.Softmax(indices, ir.Expression() as condition, _) if index in {
            i.name for i in indices
        }:
            part = below(condition)
            return None if part is None else (part[0], False)
        case ir.Reduce("sum", indices, condition, body):
            part = below(times(condition or ONE, body))
            if part is None or not free_indices(part[0]) & {i.name for i in indices}:
                return part and (part[0], False)
            return compare(ir.Reduce("sum", indices, None, part[0]), "≠", ZERO), False
        case ir.Read(tensor, places) if tensor not in seen and index in map(ir.index_at, places):
            known = definition(code, node)
            if known is None:
                return None
            part = _support(code, known, index, seen | {tensor})
            return part and ((compare(node, "≠", ZERO), True) if part[1] else part)
    return None


@dataclass
class _Apart:
    """One sum over an index of which few values count, as tensors of a program."""

    of: _Choices
    code: ir.Code
    statement: ir.Statement
    scope: Scope
    fixed: frozenset[str]

    def __post_init__(self) -> None:
        self.tensors = dict(self.code.tensors)
        self.new: list[ir.Statement] = []

    def made(
        self,
        old: ir.Reduce,
        node: ir.Reduce,
        chosen: ir.Index,
        mask: ir.Expression,
        factors: Sequence[ir.Expression],
        rest: ir.Expression | None,
    ) -> tuple[ir.Code, Choice, ir.Statement]:
        """The program with the new tensors, what they are, and the statement that reads their sum."""
        rows = [i for i in indices_of(mask, self.scope) if i != chosen]
        inner = tuple(i for i in node.indices if i not in (*rows, chosen))
        if rest is not None and not inner:
            raise Unsupported("another condition")
        body = times(*factors)
        if inner:  # what has none of their indices is multiplied once, behind the sum
            names = {i.name for i in inner}
            outside = [f for f in factors if not free_indices(f) & names]
            within = times(*(f for f in factors if free_indices(f) & names))
            body = times(*outside, ir.Reduce("sum", inner, rest, within))
        free = indices_of(body, {n: i for n, i in self.scope.items() if i not in inner})
        others = [i for i in free if i not in (*rows, chosen)]
        choice = self.tensor("if", [*rows, chosen], mask)
        each = self.tensor("each", [*rows, chosen, *others], body)
        kept = [i for i in rows if i not in node.indices]
        summed = (chosen, *(i for i in node.indices if i in rows))
        sum_ = ir.Reduce("sum", summed, compare(choice, "≠", ZERO), each)
        total = self.tensor("all", [*kept, *others], sum_)
        at = next(n for n, s in enumerate(self.code.statements) if s is self.statement)
        shorter = replace(self.statement, body=_swapped(self.statement.body, old, total))
        statements = (
            *self.code.statements[:at],
            *self.new,
            shorter,
            *self.code.statements[at + 1 :],
        )
        code = replace(self.code, tensors=self.tensors, statements=statements)
        members = self.members(code, total.tensor, each.tensor)
        if not _worth(rowwise(code, total.tensor, members, varying(code), self.fixed), chosen):
            raise Unsupported("no matrix is chosen")
        for name in members & self.code.tensors.keys():
            code = self.in_step(code, name)
        return code, Choice(total.tensor, members), shorter

    def tensor(self, mark: str, indices: Sequence[ir.Index], body: ir.Expression) -> ir.Read:
        """A tensor of its own, and the read of it."""
        if any(size_indices(size) for i in indices for size in i.range):
            raise Unsupported("ranges that depend on an index")
        name = derived_name(self.tensors, self.statement.target, mark)
        self.tensors[name], places = laid_out(name, indices, {})
        self.new.append(ir.Statement(name, places, tuple(indices), body, span=self.statement.span))
        return ir.Read(name, places, span=self.statement.span)

    def in_step(self, code: ir.Code, name: str) -> ir.Code:
        """The program with a tensor defined at those values of the loop around for which the sum is."""
        (old,) = code.of(name)
        fixed = self.of.fixed[name]
        if len(fixed) != 1 or len(self.fixed) != 1:
            if fixed or self.fixed:
                raise Unsupported("other loops")
            return code
        (own,), (here,) = fixed, self.fixed
        left = [(n, p.shift[1]) for n, p in enumerate(old.left) if isinstance(p, ir.Affine)
                if p.shift is not None and p.shift[0] == own]  # fmt: skip
        reads = [r for s in code.statements for r in s.reads() if r.tensor == name]
        ((axis, shift),) = left
        for read in reads:
            place = read.places[axis]
            if not isinstance(place, ir.Affine) or place.shift is None or place.shift[1] != shift:
                raise Unsupported("it is read at another step")
        index = replace(self.scope[here], name=own)
        new = replace(old, indices=tuple(index if i.name == own else i for i in old.indices))
        return _exchanged(code, old, new)

    def members(self, code: ir.Code, total: str, each: str) -> frozenset[str]:
        """What only this sum needs: tensors that differ from place to place, and all readers of them."""
        differing = varying(code)
        readers: dict[str, set[str]] = {}
        for statement in code.statements:
            for name in tensors_read([statement]):
                readers.setdefault(name, set()).add(statement.target)
        barred = {n for n in code.tensors if n not in differing or n not in self.of.fixed}
        barred |= self.of.want
        members = frozenset({each})
        while True:
            read = tensors_read(s for name in members for s in code.of(name))
            ready = [
                name
                for name in code.tensors
                if name in read - members - barred and readers[name] <= members
                if len(code.of(name)) == 1 and code.of(name)[0].guard is None
            ]
            if not ready:
                return members
            try:
                rowwise(code, total, {*members, ready[0]}, differing, self.fixed)
                members |= {ready[0]}
            except (Unsupported, Unmovable):
                barred.add(ready[0])


def _worth(rows: Rows, chosen: ir.Index) -> bool:
    """Whether a matrix is chosen, and multiplied with what differs from place to place."""
    chosen_alone = {n for n, p in rows.arguments.items() if set(p.fixed) - {None} == {chosen.name}}
    matrices = {n for n in chosen_alone if rows.code.tensors[n].role == "parameter"}
    for statement in rows.code.statements:
        for node in statement.body.every(ir.Reduce):
            summed = {i.name for i in node.indices}
            for read in node.body.every(ir.Read):
                others = set(map(ir.index_at, read.places)) - {None}
                if read.tensor in matrices and others & summed and others - summed:
                    return True
    return False


def _as_one(node: ir.Reduce) -> ir.Reduce:
    """`Σ_e Σ_F …` as `Σ_{e,F} …`."""
    while isinstance(node.body, ir.Reduce) and node.body.operator == "sum":
        inner = node.body
        if {i.name for i in inner.indices} & {i.name for i in node.indices}:
            break
        condition = both(node.condition, inner.condition)
        node = replace(
            node, indices=(*node.indices, *inner.indices), condition=condition, body=inner.body
        )
    return node


def _swapped(body: ir.Expression, old: ir.Expression, new: ir.Expression) -> ir.Expression:
    return new if body is old else body.rebuild(lambda part: _swapped(part, old, new))


def _exchanged(code: ir.Code, old: ir.Statement, new: ir.Statement) -> ir.Code:
    return replace(code, statements=tuple(new if s is old else s for s in code.statements))


def _placed(body: ir.Expression, gather: ir.Gather, index: ir.Index) -> ir.Expression:
    """e in the place of a[t]."""
    return rebuild(body, place=lambda place: ir.Affine.of(index) if place == gather else place)


def _binds(body: ir.Expression, names: Collection[str]) -> bool:
    """Whether one of these indices is another inside."""
    binders = (node for node in body.walk() if isinstance(node, ir.Reduce | ir.Softmax))
    return any(index.name in names for node in binders for index in node.indices)


def _with_place(name: str, index: ir.Index, read: ir.Read) -> ir.Read:
    return (
        replace(read, places=(*read.places, ir.Affine.of(index))) if read.tensor == name else read
    )


def _own_names(
    statement: ir.Statement, reads: Sequence[ir.Read], rows: Collection[str]
) -> dict[str, ir.Affine] | None:
    """What a statement calls the indices of a place, if all reads are at that place."""
    own: dict[str, ir.Affine] = {}
    for read in reads:
        for left, place in zip(statement.left, read.places, strict=True):
            there, here = ir.index_at(place), ir.index_at(left)
            if there in rows:
                if here is None or own.setdefault(there or "", ir.Affine.of(here)) != ir.Affine.of(
                    here
                ):
                    return None
            elif free_in_place(place) & set(rows):
                return None
    return own if own.keys() == set(rows) else None
