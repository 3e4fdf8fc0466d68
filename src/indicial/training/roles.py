"""What each size of a program is for, read from its equations.

>>> roles(load("transformer").code)
Roles(told=('T', 'V'), width='J', layers=('L',), heads=('K',), parts=('I',), inner=('D',))

    told      by the data: how long a text is, how many tokens there are
    width     of the word vectors: the other axis of e[w,j]
    layers    of an equation with ℓ+1 on its left
    heads     of attention weights: the k of α[k,t_1,t_2]
    parts     of a head: the i of W^Q[k,i,j], so that heads times parts is the width
    inner     between two matrices of a layer with heads: the d of F[t,d]

All else is as wide as the word vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from indicial.compile.module.sizes import data_lengths, parameters
from indicial.program.explain.facts import tie
from indicial.program.ir import Affine, Code, Softmax
from indicial.tasks.predictions import token_inputs

PART = 32
"""The width of a head, where the width of the model is a multiple of it."""
INNER = 4
"""How much wider the inner layer is."""


@dataclass(frozen=True)
class Roles:
    """The names of sizes by what they are for."""

    told: tuple[str, ...] = ()
    width: str | None = None
    layers: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()
    """Other sizes, as wide as the word vectors."""

    def sizes(self, width: int, layers: int, given: dict[str, int]) -> dict[str, int]:
        """A value for each size that the data does not tell; `given` are kept."""
        width = given.get(self.width, width) if self.width is not None else width
        found = dict.fromkeys(self.wide, width)
        if self.width is not None:
            found[self.width] = width
        found |= dict.fromkeys(self.layers, layers)
        found |= dict.fromkeys(self.heads, heads_of(width))
        heads = max([given.get(name, found[name]) for name in self.heads], default=1)
        found |= dict.fromkeys(self.parts, max(1, width // heads))
        found |= dict.fromkeys(self.inner, INNER * width)
        return found | given


def heads_of(width: int) -> int:
    """So many heads that each has about 32 units: 128 → 4."""
    return next((k for k in range(max(1, width // PART), 0, -1) if width % k == 0), 1)


def roles(code: Code) -> Roles:
    """What the sizes that the text leaves open are for."""
    ties = tie(code)  # a size that is taken as another's needs no value of its own
    open_ = [name for name, value in code.sizes.items() if value is None and name not in ties]
    lengths = set(data_lengths(code))
    vocabularies = {t.values.name for t in token_inputs(code) if t.values is not None}
    told = {name for name in open_ if name in lengths | vocabularies}
    layers = {name for name in _layers(code) if name in open_ and name not in told}
    heads = {name for name in _heads(code, lengths) if name in open_} - told - layers
    vectors = [
        axis.extent.name
        for tensor in parameters(code)
        if any(axis.extent.name in vocabularies for axis in tensor.axes)
        for axis in tensor.axes
    ]
    free = [name for name in open_ if name not in told | layers | heads]
    width = next((name for name in vectors if name in free), None)
    parts = _parts(code, heads) - told - layers - heads - {width}
    own = tuple(name for name in free if name not in parts and name != width)
    return Roles(
        told=tuple(n for n in open_ if n in told),
        width=width,
        layers=tuple(n for n in open_ if n in layers),
        heads=tuple(n for n in open_ if n in heads),
        parts=tuple(n for n in open_ if n in parts),
        inner=own if heads else (),
        wide=() if heads else own,
    )


def _layers(code: Code) -> set[str | None]:
    """Sizes of indices that stand as ℓ+1 on a left side."""
    found: set[str | None] = set()
    for statement in code.statements:
        ranges = {index.name: index.extent for index in statement.indices}
        for place in statement.left:
            shift = place.shift if isinstance(place, Affine) else None
            if shift is not None and shift[1] == 1:
                found.add(ranges[shift[0]].name)
    return found


def _heads(code: Code, lengths: set[str]) -> set[str | None]:
    """The axes of attention weights that are no positions: defined by a softmax over positions."""
    found: set[str | None] = set()
    for statement in code.statements:
        attention = any(
            isinstance(node, Softmax) and any(i.extent.name in lengths for i in node.indices)
            for node in statement.body.walk()
        )
        if attention:
            axes = code.tensors[statement.target].axes
            found |= {a.extent.name for a in axes if not a.extent.names & lengths}
    return found


def _parts(code: Code, heads: set[str]) -> set[str]:
    """The axis next to a head's in the matrices that have one for each head: W^Q[k,i,j]."""
    found: set[str] = set()
    for tensor in parameters(code):
        names = [axis.extent.name for axis in tensor.axes]
        for one, two in pairwise(names):
            if one in heads and two is not None:
                found.add(two)
    return found
