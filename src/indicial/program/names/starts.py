"""Where states start: at what the text gives, and never at what only looks like a start.

    input h[0,j]                              input h_0[j]
    h[t,j] = tanh(W[j,I] h[t-1,I] + …)   →    h[0,j] = h_0[j]
                                              h[t,j] = …

    x_t = a_t x_0 + b_t ε                     nothing steps: x_0 is a name of its own

Without such a line a recurrence starts at 0. What a sentence says ("the initial hidden state $h[0,J]$") is
taken only where there is such a recurrence, and no equation for its start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.vocabulary import GIVEN
from indicial.program.names.letters import index_name


def as_inputs(statements: Sequence[s.Statement]) -> list[s.Statement]:
    """What a sentence gives, as `input h[0,j]`, if it is the start of a state; else nothing."""
    result: list[s.Statement] = []
    made: set[s.Statement] = set()
    for statement in statements:
        if isinstance(statement, s.Declaration) and statement.keyword == GIVEN:
            start = _start(statement.items[0], statements)
            if start is None:
                continue
            statement = replace(statement, keyword="input", items=start.sides[:1])
            if statement in made:
                continue
            made.add(statement)
        result.append(statement)
    return result


def given_starts(statements: Sequence[s.Statement]) -> list[s.Statement]:
    """The statements with an input and an equation for each start that is given."""
    result: list[s.Statement] = []
    made: set[s.Expression] = set()
    for statement in statements:
        if not isinstance(statement, s.Declaration) or statement.keyword != "input":
            result.append(statement)
            continue
        rest = []
        for item in statement.items:
            start = _start(item, statements)
            if start is None:
                rest.append(item)
            elif start.sides[0] not in made:
                made.add(start.sides[0])
                result.append(s.Declaration("input", (start.sides[1],), span=statement.span))
                result.append(start)
        if rest:
            result.append(replace(statement, items=tuple(rest)))
    return result


def _start(item: s.Expression, statements: Sequence[s.Statement]) -> s.Equation | None:
    """`h[0,j] = h_0[j]`, where h is a recurrence along the first index of `h[0,j]`."""
    if not isinstance(item, s.Index) or not isinstance(item.base, s.Name):
        return None
    places = [n for n, i in enumerate(item.items) if isinstance(i, s.Number)]
    if len(places) != 1:
        return None
    place, number = places[0], item.items[places[0]]
    lefts = [e.sides[0] for e in _defining(item, statements)]
    if any(left.items[place] == number for left in lefts if isinstance(left, s.Index)):
        return None
    stepping = [e for e in _defining(item, statements) if _steps(e, item, place)]
    if not stepping:
        return None
    general = stepping[0].sides[0]
    assert isinstance(general, s.Index)
    assert isinstance(number, s.Number)
    letters = tuple(i for n, i in enumerate(general.items) if n != place)
    name = replace(item.base, base=f"{item.base.base}_{number.text}")
    left = replace(general, items=(*letters[:place], number, *letters[place:]), span=item.span)
    lower = tuple(_lowered(i) for i in letters)
    right = s.Index(name, lower, span=item.span) if lower else name
    left = replace(left, items=tuple(_lowered(i) for i in left.items))
    return s.Equation((left, right), ("=",), span=item.span)


def _lowered(item: s.Expression) -> s.Expression:
    name = index_name(item)
    return replace(name, base=name.base[:-1] + name.base[-1].lower()) if name is not None else item


def _defining(item: s.Index, statements: Sequence[s.Statement]) -> Iterator[s.Equation]:
    for statement in statements:
        left = statement.left
        same = isinstance(left, s.Index) and left.base == item.base
        if same and isinstance(left, s.Index) and len(left.items) == len(item.items):
            assert isinstance(statement, s.Equation)
            yield statement


def _steps(equation: s.Equation, item: s.Index, place: int) -> bool:
    """Whether the right side reads the name one step before."""
    return any(
        node.base == item.base
        and len(node.items) == len(item.items)
        and isinstance(node.items[place], s.Add)
        for side in equation.sides[1:]
        for node in side.every(s.Index)
    )


def outset(statements: Sequence[s.Statement]) -> list[s.Statement]:
    """The statements of a text with such names set apart."""
    defined: dict[s.Name, set[str]] = defaultdict(set)
    stepped: set[s.Name] = set()
    for statement in statements:
        left = statement.sides[0] if isinstance(statement, s.Equation) else None
        if isinstance(left, s.Name) and len(left.sub) == 1:
            number = left.sub[0].text if isinstance(left.sub[0], s.Number) else ""
            if number or index_name(left.sub[0]) is not None:
                defined[replace(left.stem, sup=left.sup)].add(number)
        for node in statement.every(s.Name):
            if any(isinstance(item, s.Add) for item in node.sub):
                stepped.add(replace(node.stem, sup=node.sup))
    alone = {stem for stem, numbers in defined.items() if numbers == {""}} - stepped
    if not alone:
        return list(statements)

    def change(node: s.Expression) -> s.Expression:
        if (
            isinstance(node, s.Name)
            and replace(node.stem, sup=node.sup) in alone
            and node.sub == (s.Number("0"),)
        ):
            return replace(node, sub=(s.Name("0", span=node.sub[0].span),))
        return node.rebuild(change)

    return s.with_sides(statements, change)
