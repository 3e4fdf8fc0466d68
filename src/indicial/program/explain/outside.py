"""Which reads leave the range of what they read, and what they find there.

    h[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])    →    h[t-1,j] at t = 0: 0, the start
    y[t] = x[t-1] + x[t] + x[t+1]              →    x[t+1] at t = T-1: 0, padding

>>> [str(found) for found in outside(code)]
['h[t-1,j] at t = 0: 0, the start']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from indicial.program import ir
from indicial.program.cost.conditions import add, negation, sign
from indicial.program.cost.dependence import Scope, edges, groups
from indicial.program.explain.numbers import tight
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Outside:
    """One way to leave a range: what is read, when, and what that gives."""

    tensor: str
    read: str
    when: str
    gives: str
    kind: str
    """`start`, `padding`, `equation` or `no token`."""

    def __str__(self) -> str:
        return f"{self.read} {self.when}: {self.gives}"

    def to_json(self) -> dict[str, str]:
        return {"tensor": self.tensor, "read": self.read, "when": self.when,
                "gives": self.gives, "kind": self.kind}  # fmt: skip


def outside(code: ir.Code) -> list[Outside]:
    """Every read that can leave a range, each kind of it once."""
    names = list(dict.fromkeys(statement.target for statement in code.statements))
    circles = {name: g for g in groups(names, list(edges(code))) for name in g}
    found: dict[Outside, None] = {}
    for statement in code.statements:
        circle = circles[statement.target]
        for seen in _reads_of(code, statement):
            recurs = seen.read.tensor in circle and not _from_below(statement, seen.read)
            for one in _leaving(code, seen, recurs):
                found.setdefault(one)
    started = {(one.read, one.when) for one in found if one.kind == "start"}
    return [o for o in found if o.kind != "padding" or (o.read, o.when) not in started]


def _from_below(statement: ir.Statement, read: ir.Read) -> bool:
    """A layer reads the one below it: that is no recurrence over positions."""
    left = dict(p.shift for p in statement.left if p.shift is not None)
    shifts = [p.shift for p in read.places if p.shift is not None]
    return any(left.get(name, 0) > 0 and by < left[name] for name, by in shifts)


class _Scope(Scope):
    """The indices at some place of a right side, and how far they go."""

    def highest(self, form: ir.Affine) -> Size | None:
        """The largest value of index arithmetic, as far as conditions say; None if unknown."""
        bounds = [add(form, c.form, -1) for c in self.constraints if not c.differs]
        best = self._at_most(form)
        for bound in map(self._at_most, bounds):
            if best is None or (bound is not None and sign(bound - best) == -1):
                best = bound
        return best

    def lowest(self, form: ir.Affine) -> Size | None:
        negative = self.highest(add(ir.Affine(), form, -1))
        return None if negative is None else -negative

    def _at_most(self, form: ir.Affine) -> Size | None:
        value = form.offset
        for name, factor in form.terms:
            index = self.indices.get(name)
            if index is None:
                return None
            value = value + factor * self._end(name, index, factor > 0)
        return value

    def _end(self, name: str, index: ir.Index, upper: bool) -> Size:
        """The end of a range; an end that a condition excludes is left out."""
        end = index.upper if upper else index.lower
        for c in self.constraints:
            if c.differs and tuple(n for n, _ in c.form.terms) == (name,):
                factor = c.form.terms[0][1]
                if factor in (1, -1) and -factor * c.form.offset == end:
                    end = end - 1 if upper else end + 1
        return end


@dataclass(frozen=True)
class _Seen:
    read: ir.Read
    scope: _Scope
    gathers: ir.Read | None
    """The read around this one, if this one says where it reads: the `e[…]` of `e[w[t-1],j]`."""


def _reads_of(code: ir.Code, statement: ir.Statement) -> Iterator[_Seen]:
    scope = _Scope(statement.scope).where(statement.guard)
    for earlier in code.of(statement.target):
        if earlier is statement:
            break
        scope = _without(scope, statement, earlier)
    yield from _reads(statement.body, scope)


def _without(scope: _Scope, statement: ir.Statement, earlier: ir.Statement) -> _Scope:
    """Where an equation for one element (`h[0,j] = …`) applies, the general one does not."""
    pairs = [
        (here, there)
        for here, there in zip(statement.left, earlier.left, strict=True)
        if isinstance(here, ir.Affine) and isinstance(there, ir.Affine) and not there.terms
    ]
    if len(pairs) != 1 or earlier.guard is not None:
        return scope
    here, there = pairs[0]
    other = negation(ir.Apply("=", (ir.IndexValue(here), ir.IndexValue(there))))
    return scope.where(other)


def _reads(
    expression: ir.Expression, scope: _Scope, gathers: ir.Read | None = None
) -> Iterator[_Seen]:
    match expression:
        case ir.Reduce(_, indices, condition, body) | ir.Softmax(indices, condition, body):
            yield from _reads(body, scope.bind(indices).where(condition))
        case ir.Select(branches, otherwise):
            for condition, value in branches:
                yield from _reads(value, scope.where(condition))
                other = negation(condition)
                scope = scope.where(other)
            yield from _reads(otherwise, scope)
        case ir.Join(_, parts):
            for part in parts:
                yield from _reads(part.body, scope.bind([part.index]))
        case ir.Read(_, places):
            yield _Seen(expression, scope, gathers)
            for place in places:
                if isinstance(place, ir.Gather):
                    yield from _reads(place.read, scope, expression)
        case _:
            for child in expression.children():
                yield from _reads(child, scope)


def _leaving(code: ir.Code, seen: _Seen, recurs: bool) -> Iterator[Outside]:
    tensor = code.tensors.get(seen.read.tensor)
    if tensor is None:
        return
    for number, (axis, place) in enumerate(zip(tensor.axes, seen.read.places, strict=True)):
        if not isinstance(place, ir.Affine) or not place.terms:
            continue
        low, high = seen.scope.lowest(place), seen.scope.highest(place)
        below = low is not None and sign(low - axis.lower) == -1
        upper = axis.lower + axis.extent - 1
        above = high is not None and sign(high - upper) == 1
        if not below and not above:
            continue
        shown = _show(code, seen.read, number)
        for is_low in (True, False):
            if not (below if is_low else above):
                continue
            when = _when(place, axis, is_low, seen.scope)
            if when is None:
                when = f"beyond {tight(axis.lower)}..{tight(upper)}"
            gives, kind = _gives(code, seen, number, is_low, recurs)
            yield Outside(seen.read.tensor, shown, when, gives, kind)
            if when.startswith("beyond"):
                break


def _when(place: ir.Affine, axis: ir.Axis, low: bool, scope: _Scope) -> str | None:
    """`at t = 0` for `t-1`; None where several indices decide."""
    if place.shift is None:
        return None
    name, by = place.shift
    index = scope.indices.get(name)
    if index is None:
        return None
    letter = small(name)
    if low:
        first = scope.lowest(ir.Affine.of(name)) or index.lower
        last = axis.lower - by - 1
        if first == last:
            return f"at {letter} = {tight(first)}"
        return f"at {letter} < {tight(last + 1)}"
    final = scope.highest(ir.Affine.of(name)) or index.upper
    start = axis.lower + axis.extent - by
    if final == start:
        return f"at {letter} = {tight(start)}"
    return f"at {letter} > {tight(start - 1)}"


def _gives(code: ir.Code, seen: _Seen, axis: int, low: bool, recurs: bool) -> tuple[str, str]:
    name = seen.read.tensor
    tensor = code.tensors[name]
    if tensor.values is not None:
        around = seen.gathers
        if around is None:
            return "no token", "no token"
        if code.tensors[around.tensor].probability:
            return "no token, its term is left out", "no token"
        return f"no token, {_show(code, around, None)} is 0", "no token"
    bound = tensor.axes[axis].lower if low else tensor.axes[axis].lower + tensor.axes[axis].extent
    for statement in code.of(name):
        place = statement.left[axis]
        if not isinstance(place, ir.Flat) and not place.terms:
            beyond = sign(place.offset - bound)
            if (low and beyond == -1) or (not low and beyond in (0, 1)):
                return f"the start, {' '.join(statement.span.text.split())}", "equation"
    if recurs:
        return "0, the start", "start"
    return "0, padding", "padding"


def _show(code: ir.Code, read: ir.Read, moved: int | None) -> str:
    """A read with the letters of the tensor's axes, and with its own place where it moves."""
    tensor = code.tensors[read.tensor]
    places = []
    for number, (axis, place) in enumerate(zip(tensor.axes, read.places, strict=True)):
        if isinstance(place, ir.Gather):
            places.append(_show(code, place.read, len(place.read.places) - 1))
        elif isinstance(place, ir.Affine) and (number == moved or not axis.letter):
            terms = tuple((small(name), factor) for name, factor in place.terms)
            places.append(str(ir.Affine(terms, place.offset)))
        else:
            places.append(axis.letter)
    return f"{read.tensor}[{','.join(places)}]"


def small(name: str) -> str:
    """The index that a summed capital stands for: `T` → `t`, `ΔT` → `Δt`, `L` → `ℓ`."""
    mark, rest = ("Δ", name[1:]) if name.startswith("Δ") else ("", name)
    if rest[:1].isupper() and (len(rest) == 1 or rest[1] in "_'"):
        rest = ("ℓ" if rest[0] == "L" else rest[0].lower()) + rest[1:]
    return mark + rest
