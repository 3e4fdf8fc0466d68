"""What a pass needs for a tensor that it introduces: a name, axes, the indices it depends on.

Names for tensors that a pass introduces, made from the name of what they belong to.

>>> with_superscript("R", "(1)"), with_superscript("W^{h,R}", "in"), with_superscript("h_{in}", "in")
('R^{(1)}', 'W^{h,R,in}', 'h_{in}^{in}')
>>> barred("h"), barred("CELL.W^{h,R}"), barred("Query"), barred("h̃")
('h̄', 'CELL.W̄^{h,R}', '∂Query', '∂h̃')

Axes and left side of a new tensor that belongs to a statement.

For `α[ℓ+1,t_1,t_2] = …` and the indices ℓ, t_1:   new[ℓ+1,t_1], its first axis from 1

So what belongs to a layer has the layer's number.

The indices that are bound at a point of a statement, and which of them an expression needs.

>>> scope = {"t": t, "j": j}
>>> indices_of(Read("h", (Affine.of("t", -1),)), scope)
(t,)
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import count

from indicial.notation.signs import MARK_OF
from indicial.program.ir import Affine, Axis, Expression, Index, Statement, Tensor
from indicial.program.moving import canonical, moved_size
from indicial.program.rewrite import Scope, free_indices, reached, size_indices


class Names:
    """The names that are taken; a new one is the first of its candidates that is not."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def new(self, candidates: Iterable[str]) -> str:
        for name in candidates:
            if name not in self.taken:
                self.taken.add(name)
                return name
        raise ValueError("every candidate is taken")

    def part(self, name: str) -> str:
        """`R^{(1)}`, `R^{(2)}`, … for the parts of R."""
        return self.new(with_superscript(name, f"({number})") for number in count(1))

    def adjoint(self, name: str) -> str:
        """`h̄` for h, or `∂h` where the text has a `\\bar h` of its own."""
        return self.new([barred(name), *(f"{'∂' * number}{name}" for number in range(1, 9))])

    def delta(self, name: str) -> str:
        """`δ^R`: what R passes back to all that it is a function of."""
        mark = name if len(name) == 1 else f"{{{name}}}"
        return self.new(f"δ^{mark}" + "'" * number for number in count())

    def incoming(self, adjoint: str) -> str:
        """`h̄^{in}`: what comes from outside to h̄."""
        return self.new(with_superscript(adjoint, "in" + "'" * number) for number in count())


def with_superscript(name: str, text: str) -> str:
    """The name with one more item in its superscript; one layer, `H^{2}@1`, gets one of its own."""
    tensor, at, layer = name.partition("@")
    if at:
        return f"{tensor}@{with_superscript(layer, text)}"
    head, caret, above = _split(name)
    if not caret:
        return f"{name}^{text}" if len(text) == 1 else f"{name}^{{{text}}}"
    inside = above[1:-1] if above.startswith("{") else above
    return f"{head}^{{{inside},{text}}}"


def derived_name(taken: Container[str], name: str, mark: str) -> str:
    """A name for what a pass makes of a tensor, new by a number: `R^{in}`, `R^{in2}`, …"""
    marks = (mark if number == 1 else f"{mark}{number}" for number in count(1))
    return next(new for m in marks if (new := with_superscript(name, m)) not in taken)


def barred(name: str) -> str:
    """The name with a bar, where its letter can wear one: one letter without an accent."""
    end = min((name.index(sign) for sign in "_^'" if sign in name), default=len(name))
    prefix, dot, letter = name[:end].rpartition(".")
    if len(letter) == 1 and letter.isalpha():
        return prefix + dot + letter + MARK_OF["bar"] + name[end:]
    return f"∂{name}"


def index_name(index: Index) -> str:
    """A simple name for an index: `J` for the slice `J°1.0`, `v` for the token `w[t]` in V."""
    name = re.split("[°·]", index.name)[0]
    if "[" in name or "(" in name:
        size = index.extent.name or "c"
        name = size[0].lower()
    return name


def _split(name: str) -> tuple[str, str, str]:
    """`W^{h,R}` → `W`, `^`, `{h,R}`: at the caret that stands outside all braces."""
    depth = 0
    for place, sign in enumerate(name):
        depth += (sign == "{") - (sign == "}")
        if sign == "^" and depth == 0:
            return name[:place], "^", name[place + 1 :]
    return name, "", ""


def shifts(statement: Statement) -> dict[str, int]:
    """What a statement adds to its indices on the left: `{"ℓ": 1, "t": 0}`."""
    found = [p.shift for p in statement.left if isinstance(p, Affine)]
    return {shift[0]: shift[1] for shift in found if shift is not None}


def over(axes: Iterable[Axis]) -> tuple[tuple[Index, ...], tuple[Affine, ...]]:
    """An index for each axis, and the place of an element: all of a tensor."""
    indices = tuple(Index(f"{a.letter}·{n}", a.lower, a.extent) for n, a in enumerate(axes))
    return indices, tuple(Affine.of(index) for index in indices)


def laid_out(
    name: str, indices: Sequence[Index], by: Mapping[str, int]
) -> tuple[Tensor, tuple[Affine, ...]]:
    """A tensor with an axis for each index, and the places of its elements."""
    back = {index.name: Affine.of(index, -by.get(index.name, 0)) for index in indices}
    axes = tuple(
        Axis(
            index.name,
            moved_size(index.lower, back) + by.get(index.name, 0),
            moved_size(index.extent, back),
        )
        for index in indices
    )
    places = tuple(Affine.of(index, by.get(index.name, 0)) for index in indices)
    return Tensor(name, axes, "defined"), places


def within(scope: Scope, indices: tuple[Index, ...]) -> Scope:
    return {**scope, **{index.name: index for index in indices}}


def free_in(expression: Expression, scope: Scope) -> frozenset[str]:
    return frozenset(free_indices(expression) & scope.keys())


def indices_of(expression: Expression, scope: Scope) -> tuple[Index, ...]:
    """The indices that the expression needs, those included that their ranges need."""

    def ranges(name: str) -> set[str]:
        index = scope[name]
        return (size_indices(index.lower) | size_indices(index.extent)) & scope.keys()

    names = reached(free_in(expression, scope), ranges)
    return tuple(index for name, index in scope.items() if name in names)


def up_to_names(body: Expression, indices: tuple[Index, ...]) -> object:
    """The same for two expressions that differ in the names of their indices only."""
    order = [index.name for index in indices]
    places = {name: Affine.of(f"${number}") for number, name in enumerate(order)}
    ranges = tuple((moved_size(i.lower, places), moved_size(i.extent, places)) for i in indices)
    return canonical(body, order), ranges
