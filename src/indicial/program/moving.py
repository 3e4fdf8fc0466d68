"""Expressions with their free indices moved to other places, whatever binds indices inside.

    R[t,j] h[t-1,j]  with t → t+1     →  R[t+1,j] h[t,j]
    sum{i: 0..⌈T/2^ℓ⌉-1}(…)  ℓ → ℓ+1  →  sum{i: 0..⌈T/2^{ℓ+1}⌉-1}(…)

`canonical` renames every index by where it first occurs: two expressions that differ in the names
of their indices only have the same canonical form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from indicial.program import ir
from indicial.program.sizes import Size, Strided

Places = Mapping[str, ir.Affine]


class Unmovable(Exception):
    """A place where only an index can stand was to hold something else."""


def moved(expression: ir.Expression, places: Places) -> ir.Expression:
    """The expression with free indices replaced by places; raises `Unmovable`."""
    return _Mover()(expression, dict(places))


def specialised(statement: ir.Statement, places: Places) -> ir.Statement:
    """A statement at some places of its indices: `h[t,j] = x[t]` with t → v-1 is `h[v-1,j] = x[v-1]`."""
    return replace(
        statement.rebuild(lambda part: moved(part, places)),
        left=tuple(moved_left(place, places) for place in statement.left),
        indices=tuple(i for i in statement.indices if i.name not in places),
    )


def indices_at(statement: ir.Statement, places: Sequence[ir.Place]) -> dict[str, ir.Affine] | None:
    """Where the indices of an equation are if its left side is at some places, if those are plain.

    `h[t+1,j] = …` at `h[0,k]`: t is -1, j is k.
    """
    found: dict[str, ir.Affine] = {}
    for own, at in zip(statement.left, places, strict=True):
        if not isinstance(own, ir.Affine) or own.shift is None or not isinstance(at, ir.Affine):
            return None
        name, shift = own.shift
        found[name] = ir.Affine(at.terms, at.offset - shift)
    return found


def definition(code: ir.Code, read: ir.Read) -> ir.Expression | None:
    """What the one equation of a tensor, without a condition, says of an element that is read."""
    statements = code.of(read.tensor)
    if len(statements) != 1 or statements[0].guard is not None:
        return None
    places = indices_at(statements[0], read.places)
    try:
        return None if places is None else moved(statements[0].body, places)
    except Unmovable:
        return None


def moved_left(place: ir.Affine | ir.Flat, places: Places) -> ir.Affine | ir.Flat:
    """A place of a left side."""
    result = moved_place(place, places)
    assert isinstance(result, ir.Affine | ir.Flat)
    return result


def canonical(expression: ir.Expression, order: Sequence[str]) -> ir.Expression:
    """The expression with free indices named by their number in `order`, bound ones in sequence."""
    places = {name: ir.Affine.of(f"${number}") for number, name in enumerate(order)}
    return _Mover(numbered=True)(expression, places)


def moved_size(size: Size, places: Places) -> Size:
    """A size whose strides depend on indices that move."""
    if not any(isinstance(atom, Strided) and atom.index in places for atom in size.atoms):
        return size
    return size.mapped(lambda atom: _moved_atom(atom, places))


def _moved_atom(atom: str | Strided, places: Places) -> str | Strided:
    if isinstance(atom, str) or atom.index not in places:
        return atom
    target = places[atom.index]
    if target.shift is not None:
        name, shift = target.shift
        return replace(atom, index=name, offset=atom.offset + shift)
    if not target.terms and target.offset.number is not None:
        return replace(atom, index="", offset=atom.offset + int(target.offset.number))
    for name in target.offset.names if not target.terms else ():
        rest = (target.offset - Size.of(name)).number
        if rest is not None:
            return replace(atom, index=name, offset=atom.offset + int(rest))
    raise Unmovable(f"{atom} at {target}")


def moved_place(place: ir.Place, places: Places) -> ir.Place:
    """A place with indices replaced: `2t-1` with t → s+1 is `2s+1`."""
    if isinstance(place, ir.Gather):
        read = moved(place.read, places)
        assert isinstance(read, ir.Read)
        return ir.Gather(read)
    if isinstance(place, ir.Flat):
        return ir.Flat(tuple(_moved_digit(index, places) for index in place.indices))
    total: dict[str, int] = {}
    offset = moved_size(place.offset, places)
    for name, factor in place.terms:
        target = places.get(name, ir.Affine.of(name))
        for inner, inner_factor in target.terms:
            total[inner] = total.get(inner, 0) + factor * inner_factor
        offset = offset + target.offset * factor
    return ir.Affine(tuple((name, factor) for name, factor in total.items() if factor), offset)


def moved_affine(place: ir.Place, places: Places) -> ir.Affine:
    """A place that is, and stays, a sum of indices and an offset."""
    result = moved_place(place, places)
    assert isinstance(result, ir.Affine)
    return result


def _moved_digit(index: ir.Index, places: Places) -> ir.Index:
    """An index of a `Flat`; it counts from its lower end, so a shift moves that end."""
    lower, extent = moved_size(index.lower, places), moved_size(index.extent, places)
    target = places.get(index.name)
    if target is None:
        return ir.Index(index.name, lower, extent)
    if len(target.terms) != 1 or target.terms[0][1] != 1:
        raise Unmovable(f"({index.name},…) at {target}")
    return ir.Index(target.terms[0][0], lower - target.offset, extent)


class _Mover:
    """One replacement; what is bound inside is renamed if it could be mistaken."""

    def __init__(self, numbered: bool = False) -> None:
        self.numbered = numbered
        self.bound = 0

    def __call__(self, expression: ir.Expression, places: dict[str, ir.Affine]) -> ir.Expression:
        match expression:
            case ir.SizeValue(size):
                return replace(expression, size=moved_size(size, places))
            case ir.IndexValue(place):
                return replace(expression, place=moved_affine(place, places))
            case ir.Read():
                return self.read(expression, places)
            case ir.Reduce(_, indices, condition, body):
                indices, inner = self.bind(indices, places)
                return self.below(expression, indices, condition, body, inner)
            case ir.Softmax(indices, condition, body):
                return self.below(
                    expression, self.renamed(indices, places), condition, body, places
                )
            case ir.Join(place, parts):
                return replace(
                    expression,
                    place=moved_affine(place, places),
                    parts=tuple(self.part(p, places) for p in parts),
                )
        return expression.rebuild(lambda e: self(e, places))

    def below(
        self,
        node: ir.Reduce | ir.Softmax,
        indices: tuple[ir.Index, ...],
        condition: ir.Expression | None,
        body: ir.Expression,
        places: dict[str, ir.Affine],
    ) -> ir.Expression:
        where = self(condition, places) if condition is not None else None
        return replace(node, indices=indices, condition=where, body=self(body, places))

    def part(self, part: ir.Part, places: dict[str, ir.Affine]) -> ir.Part:
        (index,), inner = self.bind((part.index,), places)
        return ir.Part(index, self(part.body, inner))

    def place(self, place: ir.Place, places: dict[str, ir.Affine]) -> ir.Place:
        if isinstance(place, ir.Gather):
            return ir.Gather(self.read(place.read, places))
        return moved_place(place, places)

    def read(self, read: ir.Read, places: dict[str, ir.Affine]) -> ir.Read:
        return replace(read, places=tuple(self.place(p, places) for p in read.places))

    def bind(
        self, indices: Sequence[ir.Index], places: dict[str, ir.Affine]
    ) -> tuple[tuple[ir.Index, ...], dict[str, ir.Affine]]:
        inner = dict(places)
        result = []
        for index in indices:
            lower, extent = moved_size(index.lower, inner), moved_size(index.extent, inner)
            inner.pop(index.name, None)
            name = self.name(index.name, inner)
            if name != index.name:
                inner[index.name] = ir.Affine.of(name)
            result.append(ir.Index(name, lower, extent))
        return tuple(result), inner

    def name(self, name: str, places: Places) -> str:
        if self.numbered:
            self.bound += 1
            return f"$b{self.bound}"
        while any(name == inside for target in places.values() for inside, _ in target.terms):
            name += "'"
        return name

    def renamed(
        self, indices: Sequence[ir.Index], places: dict[str, ir.Affine]
    ) -> tuple[ir.Index, ...]:
        """The indices of a softmax: they stand for themselves, so they can only be renamed."""
        result = []
        for index in indices:
            shift = places[index.name].shift if index.name in places else (index.name, 0)
            if shift is None or shift[1]:
                raise Unmovable(f"softmax over {index.name} at {places[index.name]}")
            lower, extent = moved_size(index.lower, places), moved_size(index.extent, places)
            result.append(ir.Index(shift[0], lower, extent))
        return tuple(result)
