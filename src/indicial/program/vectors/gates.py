r"""A dot between two vectors whose equation wants a vector: the product element by element.

\mathbf h_t = \mathbf o_t \cdot \tanh(\mathbf c_t)      →  o_t ⊙ tanh(c_t)
s_i = \mathbf q \cdot \mathbf k_i                       a number: an inner product

What the names are is decided before, with both products in view (`Tables._gate`); here the dots get their signs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from indicial.notation import syntax as s
from indicial.program.messages import Messages
from indicial.program.vectors.conflicts import Conflicts, Outside
from indicial.program.vectors.kinds import Kinds
from indicial.program.vectors.shapes import COLUMN, ROW, dotted

MOST = 5
"""How many such dots of one equation are looked at."""


def with_gates(kinds: Kinds, sides: Sequence[s.Expression]) -> list[s.Expression]:
    """The sides of an equation with as few dots element by element as make them fit; as they are, if none do."""
    products = [p for side in sides[1:] for p in side.every(s.Product) if dotted(p)]
    if not products or fitting(kinds, sides):
        return list(sides)
    quiet = Conflicts(kinds, Messages())
    parts = {id(p): _parts(quiet, p) for p in products}
    gates = [key for key, some in parts.items() if len(some) > 1][:MOST]
    for count in range(1, len(gates) + 1):
        for chosen in combinations(gates, count):
            made = [sides[0], *(_turned(side, chosen, parts) for side in sides[1:])]
            if fitting(kinds, made):
                return made
    return list(sides)


def fitting(kinds: Kinds, sides: Sequence[s.Expression]) -> bool:
    """Whether the sides of an equation are of one shape, and all in them fits; also if it is not to be read."""
    messages = Messages()
    try:
        found = Conflicts(kinds, messages).sides(sides)
    except Outside:
        return True
    return found is not None and len(found[1]) == len(sides) and not messages.items


def _parts(quiet: Conflicts, node: s.Product) -> list[s.Expression]:
    """The factors of a product between dots that stand between two columns, or two rows."""
    try:
        shapes = quiet.factors(node)
    except Outside:
        return [node]
    dots = dotted(node)
    parts: list[list[s.Expression]] = [[node.factors[0]]]
    for number, factor in enumerate(node.factors[1:], 1):
        one, two = shapes[number - 1], shapes[number]
        if number in dots and one == two and one in (COLUMN, ROW):
            parts.append([])
        parts[-1].append(factor)
    return [
        some[0] if len(some) == 1 else s.Product(tuple(some), span=some[0].span.to(some[-1].span))
        for some in parts
    ]


def _turned(
    node: s.Expression, chosen: Collection[int], parts: dict[int, list[s.Expression]]
) -> s.Expression:
    if id(node) in chosen:
        factors = tuple(_turned(part, chosen, parts) for part in parts[id(node)])
        return s.Hadamard(factors, span=node.span)
    return node if isinstance(node, s.Name) else node.rebuild(lambda n: _turned(n, chosen, parts))
