"""An elementwise equation that one other reads, at its own place, is written into that one.

R^{in}[t,j] = p[t,j] - B[j],  R[t,j] = tanh(q[t,j] + R^{in}[t,j])
→  R[t,j] = tanh(q[t,j] + p[t,j] - B[j])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from indicial.compile.passes.forms import Pointwise, form
from indicial.program.ir import Affine, Apply, Code, Expression, Read, Statement
from indicial.program.moving import moved
from indicial.program.rewrite import rebuild


def inlined(code: Code, names: Collection[str]) -> Code:
    """The program without those of the named tensors that can be written into their reader."""
    for name in names:
        code = _without(code, name)
    return code


def _without(code: Code, name: str) -> Code:
    reads = Counter(
        id(s)
        for s in code.statements
        for part in (s.body, s.guard)
        if part is not None
        for node in part.walk()
        if isinstance(node, Read) and node.tensor == name
    )
    own = code.of(name)
    if len(own) != 1 or sum(reads.values()) != 1:
        return code
    (statement,) = own
    if not isinstance(form(statement), Pointwise) or statement.guard is not None:
        return code
    letters = [p.shift for p in statement.left if isinstance(p, Affine)]
    if len(letters) != len(statement.left) or any(x is None or x[1] != 0 for x in letters):
        return code
    result: list[Statement] = []
    for other in code.statements:
        if other is statement:
            continue
        moved = _written_in(other, statement) if reads[id(other)] else other
        if moved is None:
            return code
        result.append(moved)
    tensors = {n: t for n, t in code.tensors.items() if n != name}
    return replace(code, tensors=tensors, statements=tuple(result))


def _written_in(reader: Statement, inner: Statement) -> Statement | None:
    """The reader with the inner statement's right side, if it reads it over the same ranges."""
    ranges = {i.name: (i.lower, i.extent) for i in reader.indices}
    own = {i.name: (i.lower, i.extent) for i in inner.indices}
    places: dict[str, Affine] = {}
    for node in reader.body.walk():
        if isinstance(node, Read) and node.tensor == inner.target:
            for left, place in zip(inner.left, node.places, strict=True):
                assert isinstance(left, Affine) and left.shift is not None
                if not isinstance(place, Affine) or place.shift is None or place.shift[1] != 0:
                    return None
                if ranges.get(place.shift[0]) != own[left.shift[0]]:
                    return None
                places[left.shift[0]] = place
    if not places and inner.left:
        return None
    value = moved(inner.body, places)

    def leaf(node: Expression) -> Expression:
        if isinstance(node, Read) and node.tensor == inner.target:
            return value
        if isinstance(node, Apply) and node.function == "+":
            return replace(node, arguments=tuple(_terms(node.arguments)))
        return node

    return replace(reader, body=rebuild(reader.body, leaf=leaf))


def _terms(arguments: tuple[Expression, ...]) -> list[Expression]:
    """A sum in a sum is one sum."""
    result: list[Expression] = []
    for argument in arguments:
        if isinstance(argument, Apply) and argument.function == "+":
            result += argument.arguments
        else:
            result.append(argument)
    return result
