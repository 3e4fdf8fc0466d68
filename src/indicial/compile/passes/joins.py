"""A statement with a join as one statement for each part.

z[t,C] = join{C}({I} a[t,I]; {J} b[t,J])   →   z[t,I] = a[t,I]
                                               z[t,J+I] = b[t,J]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from indicial.program.ir import Affine, Index, Join, Statement
from indicial.program.moving import moved, moved_affine
from indicial.program.sizes import Size


def length(join: Join) -> Size:
    """How many elements all parts have together."""
    total = Size()
    for part in join.parts:
        total = total + part.index.extent
    return total


def parts(statement: Statement) -> Iterator[Statement]:
    """The statements for the parts; the statement itself if it is no join along its left side."""
    join = statement.body
    if not isinstance(join, Join) or not _splits(statement, join):
        yield statement
        return
    ((name, _),) = join.place.terms
    others = {index.name for index in statement.indices} - {name}
    start = Size()
    for part in join.parts:
        index = part.index
        while index.name in others:
            index = replace(index, name=index.name + "'")
        body = moved(part.body, {part.index.name: Affine.of(index)})
        places = {name: Affine(((index.name, 1),), start - index.lower)}
        yield replace(
            statement,
            left=tuple(
                moved_affine(p, places) if isinstance(p, Affine) else p for p in statement.left
            ),
            indices=tuple(index if i.name == name else i for i in statement.indices),
            body=moved(body, places),
            guard=None if statement.guard is None else moved(statement.guard, places),
        )
        start = start + index.extent


def _splits(statement: Statement, join: Join) -> bool:
    """Whether the join runs along an index on the left, over all of its parts."""
    shift = join.place.shift
    if shift is None or shift[1]:
        return False
    whole = Index(shift[0], Size(), length(join))
    return whole in statement.indices and any(
        isinstance(p, Affine) and p.terms == ((shift[0], 1),) for p in statement.left
    )
