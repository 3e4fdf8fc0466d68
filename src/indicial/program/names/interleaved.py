r"""Elements that alternate, in prose → an equation for each of them, with a condition.

PE_{(pos, 2i)} = sin(pos / 10000^{2i/d})       →  PE_{p,k} = sin(p / 10000^{k/d})       for k = 2 floor(k/2)
PE_{(pos, 2i+1)} = cos(pos / 10000^{2i/d})     →  PE_{p,k} = cos(p / 10000^{(k-1)/d})   for k = 2 floor(k/2) + 1

A word among the places, such as `pos`, numbers them as a letter does.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import is_capital, is_lone

FREE = ("k", "m", "c", "r")
"""Letters for the place that is computed, and then for words among the others."""
PLACES = {"pos": "p", "position": "p", "token": "t", "step": "t"}


def by_elements(statement: s.Statement) -> s.Statement:
    """The statement for every element that it is about, if the places on its left are computed."""
    if not isinstance(statement, s.Equation) or statement.guard is not None:
        return statement
    left = statement.sides[0]
    name, items = _places(left)
    found = [(item, *_every(item)) for item in items]
    stepped = [(item, step, first, letter) for item, step, first, letter in found if letter]
    if name is None or len(stepped) != 1:
        return statement
    (item, step, first, letter), *_ = stepped
    used = {n.base for n in statement.every(s.Name)}
    spare = iter(letter for letter in FREE if letter not in used)
    place = s.Name(next(spare, ""), span=item.span)
    words = [i for i in items if isinstance(i, s.Name) and i.bare and len(i.base) > 1]
    named: dict[s.Expression, s.Expression] = {
        w: s.Name(PLACES.get(w.base, w.base[0]), span=w.span) for w in words
    }
    if (
        not place.base
        or letter in items
        or {n.base for n in s.every(named.values(), s.Name)} & used
    ):
        return statement
    start = s.Number(str(first), span=item.span)
    shifted = s.Group(s.Add((place, s.Negative(start))), span=item.span) if first else place
    times = s.Number(str(step), span=item.span)

    def change(node: s.Expression) -> s.Expression:
        if node == s.Product((times, letter)):
            return shifted
        if node == letter:
            return s.Group(s.Fraction(s.inner(shifted), times), span=node.span)
        if isinstance(node, s.Name) and node in named:
            return named[node]
        if isinstance(node, s.Name):  # the `2i+1` of `x_{t,2i+1}`
            sub = tuple(i if (new := change(i)) == i else s.inner(new) for i in node.sub)
            return replace(node, sub=sub, sup=tuple(map(change, node.sup)))
        return node.rebuild(change)

    sub = tuple(place if i is item else named.get(i, i) for i in items)
    floor = s.Call(s.Name("floor"), (s.Fraction(place, times),))
    whole: s.Expression = s.Product((times, floor))
    whole = s.Add((whole, start)) if first else whole
    guard = s.Comparison((place, whole), ("=",), span=item.span)
    sides = (replace(name, sub=sub, span=left.span), *map(change, statement.sides[1:]))
    places = [i for n in s.every(sides, s.Name) for i in n.sub]
    if any(i.every(s.Fraction) for i in places):
        return statement  # the i of `α_{t,i}` is half the place, and no index
    return replace(statement, sides=sides, guard=guard)


def _places(left: s.Expression) -> tuple[s.Name | None, tuple[s.Expression, ...]]:
    """The PE, and the pos and the 2i, of `PE_{(pos, 2i)}`, `PE(pos, 2i)` and `PE[pos, 2i]`."""
    match left:
        case s.Name(sub=(s.TupleLiteral(items=items),), sup=()) | s.Name(sub=items, sup=()):
            return left, items
        case s.Call(function=s.Name(sub=(), sup=()) as name, arguments=items, given=None):
            return name, items
        case s.Index(base=s.Name(sub=(), sup=()) as name, items=items):
            return name, items
    return None, ()


def _every(item: s.Expression) -> tuple[int, int, s.Name | None]:
    """The 2, the 1 and the i of `2i+1`; no letter for any other place."""
    match item:
        case s.Product(factors=(s.Number(text=step), s.Name() as letter)):
            start = "0"
        case s.Add(
            terms=(
                s.Product(factors=(s.Number(text=step), s.Name() as letter)),
                s.Number(text=start),
            )
        ):
            pass
        case _:
            return 0, 0, None
    whole = step.isdigit() and start.isdigit() and is_lone(letter) and not is_capital(letter.base)
    if not whole or not 0 <= int(start) < int(step) or int(step) < 2:
        return 0, 0, None
    return int(step), int(start), letter
