"""Vectors that a text lists with their numbers → one constant, which `k_i` goes through.

k = {[1, 2], [0, 3]}, s_i = k_i^⊤ q               →  constant k = [[1, 2], [0, 3]]
k_1 = [1, 2], k_2 = [0, 3], s_i = k_i^⊤ q         →  constant k = [[1, 2], [0, 3]], range i = 1..2

Without a `k_i` there is nothing to go through: then these are names of their own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from indicial.notation import syntax as s
from indicial.notation.literals import numbers
from indicial.notation.printers import unicode
from indicial.program.names.letters import index_name


def listed(statements: list[s.Statement]) -> list[s.Statement]:
    """The statements with a constant in the place of what lists its elements."""
    given = [st for st in statements if isinstance(st, s.Equation) and _lists(st)]
    if not given:
        return statements
    stepped: dict[s.Name, list[s.Expression]] = defaultdict(list)
    for name in s.every(statements, s.Name):
        if len(name.sub) == 1 and not isinstance(name.sub[0], s.Number) and not name.sup:
            stepped[name.stem].append(name.sub[0])
    found: list[_Listed] = []
    numbered: dict[s.Name, list[s.Equation]] = defaultdict(list)
    for equation in given:
        left, right = equation.sides
        if not isinstance(left, s.Name) or left.stem not in stepped:
            continue
        if not left.sub and depth(right) == 2:
            found.append(_Listed(left, 0, [equation]))
        elif len(left.sub) == 1 and isinstance(left.sub[0], s.Number):
            numbered[left.stem].append(equation)
    for equations in numbered.values():
        head = equations[0].sides[0]
        assert isinstance(head, s.Name)
        places = [unicode(x) for e in equations for x in e.sides[0].every(s.Number)]
        for first in (0, 1):
            if places == [str(first + n) for n in range(len(places))]:
                found.append(_Listed(replace(head, sub=()), first, equations))
    letters = {
        one: next(filter(None, map(index_name, stepped[one.name.stem])), None) for one in found
    }
    common = next(filter(None, letters.values()), s.Name("n"))
    made: dict[int, list[s.Statement]] = {}
    for one, letter in letters.items():
        made |= {id(equation): [] for equation in one.equations}
        made[id(one.equations[0])] = one.declared(letter or common)
    return [new for st in statements for new in made.get(id(st), [st])]


@dataclass(frozen=True, eq=False)
class _Listed:
    """`k_1 = …`, `k_2 = …`: a name, its first number, and the equations."""

    name: s.Name
    first: int
    equations: list[s.Equation]

    def declared(self, letter: s.Name) -> list[s.Statement]:
        at = self.equations[0].span
        values = [equation.sides[1] for equation in self.equations]
        alone = not self.first and len(values) == 1
        value = values[0] if alone else s.ListLiteral(tuple(values), span=at)
        item = s.Index(self.name, (letter,), span=self.name.span)
        constant = s.Declaration("constant", (item,), None, value, span=at)
        if not self.first:
            return [constant]
        ends = s.Interval(s.Number("1"), s.Number(str(len(values))), span=at)
        return [s.Declaration("range", (letter,), None, ends, span=at), constant]


def _lists(statement: s.Equation) -> bool:
    """`k = [[1, 2], [0, 3]]`, `k_1 = [1, 2]`."""
    if statement.relations != ("=",):
        return False
    left, right = statement.sides
    if not isinstance(left, s.Name) or left.sup or not isinstance(right, s.ListLiteral):
        return False
    try:
        numbers(right)
    except TypeError:
        return False
    return True


def depth(value: s.Expression | None) -> int:
    """How many indices a list of numbers has."""
    return 1 + depth(next(iter(value.items), None)) if isinstance(value, s.ListLiteral) else 0
