"""A single element that is only ever read by its number becomes a tensor of its own.

    h̄[-1,j] = …, h̄[t,j] = …, s̄[j] = h̄[-1,j]      →      h̄^{at}[j] = …, h̄[t,j] = …, s̄[j] = h̄^{at}[j]

So what a recurrence runs into at its end is no part of the recurrence.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.compile.passes.names import derived_name
from indicial.compile.schedule.graph import needs
from indicial.program.ir import Affine, Code, Expression, Read, Statement, Tensor
from indicial.program.rewrite import rebuild


def split(code: Code) -> Code:
    """The program with such elements taken out."""
    found = needs(code)
    for statement in code.statements:
        if len(code.of(statement.target)) < 2:
            continue
        for axis, place in enumerate(statement.left):
            if isinstance(place, Affine) and not place.terms:
                readers = [need for need in found if need.definer is statement]
                if all(need.edge.read.places[axis] == place for need in readers):
                    return split(_taken_out(code, statement, axis, place))
    return code


def _taken_out(code: Code, statement: Statement, axis: int, place: Affine) -> Code:
    old = code.tensors[statement.target]
    name = derived_name(code.tensors, old.name, "at")
    axes = tuple(a for n, a in enumerate(old.axes) if n != axis)

    def leaf(node: Expression) -> Expression:
        if isinstance(node, Read) and node.tensor == old.name and node.places[axis] == place:
            places = tuple(p for n, p in enumerate(node.places) if n != axis)
            return replace(node, tensor=name, places=places)
        return node

    def renamed(s: Statement) -> Statement:
        if s is statement:
            left = tuple(p for n, p in enumerate(s.left) if n != axis)
            s = replace(s, target=name, left=left)
        guard = rebuild(s.guard, leaf=leaf) if s.guard is not None else None
        return replace(s, body=rebuild(s.body, leaf=leaf), guard=guard)

    tensors = {**code.tensors, name: Tensor(name, axes, "defined", span=old.span)}
    return replace(code, tensors=tensors, statements=tuple(renamed(s) for s in code.statements))
