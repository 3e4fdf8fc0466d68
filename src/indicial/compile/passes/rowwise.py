"""What is summed over a choice, as a program of one place and one choice.

y^{each}[t,e,i] = Σ_F P[t,e] W[e,i,F] ReLU(Σ_J U[e,F,J] x[t,J])
y^{all}[t,i] = Σ_{e: y^{if}[t,e] ≠ 0} y^{each}[t,e,i]

y^{each}[i] = Σ_F P W[i,F] ReLU(Σ_J U[F,J] x[J])

P and x are inputs of it, one for each of the places t that chose e; U and W are its parameters, those of e.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from indicial.compile.passes.scan import Pieces, Unsupported
from indicial.compile.schedule.plan import Piece
from indicial.program.ir import (
    Affine,
    Apply,
    Code,
    Index,
    IndexValue,
    Read,
    Reduce,
    Softmax,
    Statement,
    index_at,
)
from indicial.program.moving import moved
from indicial.program.rewrite import free_in_place, with_reads


@dataclass(frozen=True)
class Rows:
    """What is computed for one place and one choice; the places are the batch of this program."""

    code: Code
    mask: Read
    """The choice, with the index of what is chosen last."""
    output: str
    arguments: dict[str, Piece]
    kept: tuple[str, ...]
    """The indices of a place that the sum keeps."""


def rowwise(
    code: Code,
    total: str,
    members: Collection[str],
    differing: Collection[str],
    fixed: Collection[str] = (),
) -> Rows:
    """The program of one place and one choice, `Unsupported` where it needs to know more than that.

    `fixed` are indices of loops around, which are no part of a place.
    """
    (statement,) = code.of(total)
    body = statement.body
    assert isinstance(body, Reduce) and isinstance(body.condition, Apply)
    mask, each = body.condition.arguments[0], body.body
    assert isinstance(mask, Read) and isinstance(each, Read)
    names = [name for p in mask.places if (name := index_at(p)) and name not in fixed]
    ranges = {**statement.scope, **{i.name: i for i in body.indices}}
    made = _Rowwise(code, {n: ranges[n] for n in names}, members, differing)
    made.define(each)
    constants = {n: v for n, v in code.constants.items() if n in made.tensors}
    rows = Code(made.tensors, tuple(made.statements), dict(code.sizes), constants)
    kept = tuple(n for n in names if n in statement.scope)
    return Rows(rows, mask, made.names[made.slice(each.tensor, each.places)], made.arguments, kept)


class _Rowwise(Pieces):
    """Statements without the indices of a place; the last of `place` is what is chosen."""

    def __init__(
        self,
        code: Code,
        place: dict[str, Index],
        members: Collection[str],
        differing: Collection[str],
    ) -> None:
        super().__init__(code, place)
        self.place = place
        self.members = members
        self.differing = differing
        self.statements: list[Statement] = []
        self.arguments: dict[str, Piece] = {}

    def define(self, read: Read) -> None:
        """The statement of a tensor, and before it those of what it reads."""
        piece = self.slice(read.tensor, read.places)
        if piece in self.names:
            return
        if any(known.tensor == read.tensor for known in self.names):
            raise Unsupported(f"{read.tensor} is read in two ways")
        (statement,) = self.code.of(read.tensor)
        places: dict[str, Affine] = {}
        for left, name in zip(statement.left, piece.fixed, strict=True):
            own = index_at(left)
            if name and own is None:
                raise Unsupported("a place on the left that is no index")
            if name and own is not None:
                places[own] = Affine.of(name)
        self.name(piece, "defined")
        body = moved(statement.body, places)
        for node in body.walk():
            match node:
                case IndexValue(place) if free_in_place(place) & self.place.keys():
                    raise Unsupported("it depends on where it is")
                case Reduce() | Softmax() if any(i.name in self.place for i in node.indices):
                    raise Unsupported("it needs all places")
        indices = tuple(i for i in statement.indices if i.name not in places)
        body = with_reads(body, self.renamed)
        self.statements.append(
            Statement(self.names[piece], piece.rest(statement.left), indices, body)
        )

    def renamed(self, read: Read) -> Read:
        for place in read.places:
            if index_at(place) is None and free_in_place(place) & self.place.keys():
                raise Unsupported(f"{read.tensor} is read at another place")
        if read.tensor in self.members:
            self.define(read)
        piece = self.slice(read.tensor, read.places)
        if piece not in self.names:
            self.take(piece)
        return replace(read, tensor=self.names[piece], places=piece.rest(read.places))

    def take(self, piece: Piece) -> None:
        """What is not computed here is an argument."""
        if piece.tensor in self.code.constants:
            self.name(piece, "constant")
            return
        for axis, name in zip(self.code.tensors[piece.tensor].axes, piece.fixed, strict=True):
            here = self.place.get(name or "")
            if here is not None and axis.range != here.range:
                raise Unsupported(f"{piece.tensor} has another range")
        differs = piece.tensor in self.differing or set(piece.fixed) & {*list(self.place)[:-1]}
        self.name(piece, "input" if differs else "parameter")
        self.arguments[self.names[piece]] = piece
