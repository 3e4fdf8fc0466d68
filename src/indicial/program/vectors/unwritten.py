"""What authors leave out, written before anything is inferred.

c_t = f_t c_{t-1}          →  f_t ⊙ c_{t-1}             states of one step, where ⊙ and ⊤ never occur
softmax(X)_{ij}            →  softmax(X)_{i,j}          two letters below what is computed
z_t^j = σ(W x_t)^j         →  z_{t,j} = σ(W x_t)_j      a letter above a bracket and on the left
U [r_t ⊙ h_{t-1}]          →  U (r_t ⊙ h_{t-1})         what no index can be is a factor
D ⊙ (1 - H^2)              →  D ⊙ (1 - H ⊙ H)           no power of a matrix
e^{u + k_t}                →  exp(u + k_t)              an e that never has an index

k = {[1, 2], [0, 3]}, s_i = k_i^⊤ q      →  constant k = [[1, 2], [0, 3]]
k_1 = [1, 2], k_2 = [0, 3], s_i = …      →  the same, and range i = 1..2; names of their own without a k_i
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace

from indicial.notation import syntax as s
from indicial.notation.literals import numbers
from indicial.notation.printers import unicode
from indicial.program.names.letters import (
    index_name,
    is_capital,
    is_letter,
)
from indicial.program.vectors.leaves import elementwise, is_element
from indicial.program.vectors.regular import changed, rebuilt
from indicial.program.vectors.shapes import dotted


def spelt_out(statements: list[s.Statement]) -> list[s.Statement]:
    """The statements with all of these but the last, which is done before: it may show vectors."""
    return juxtaposed(squared(grouped(elements_below(elements_above(statements)))))


# ---------------------------------------------------------------------- indices above


def elements_above(statements: list[s.Statement]) -> list[s.Statement]:
    """`z_t^j = σ(W x_t)^j`: nothing is raised to the power j, it is the element j on both sides."""
    above: set[s.Name] = set()
    for statement in statements:
        if isinstance(statement, s.Equation):
            left = statement.sides[0]
            letter = _above(left) if isinstance(left, s.Name) else None
            powers = [n.exponent for n in statement.every(s.Power)]
            if letter is not None and letter in powers:
                above.add(letter)
    if not above:
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and _above(node) in above:
            return replace(node, sub=node.scripts, sup=())
        if isinstance(node, s.Power) and node.exponent in above:
            return s.Index(change(node.base), (node.exponent,), span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def elements_below(statements: list[s.Statement]) -> list[s.Statement]:
    """`softmax(X)_{ij}`: two letters below something that is computed are two indices."""

    def change(node: s.Expression) -> s.Expression:
        if is_element(node) and len(node.items) == 1:
            (word,) = node.items
            bare = isinstance(word, s.Name) and word.bare and not word.font
            letters = word.base if bare and isinstance(word, s.Name) else ""
            if 1 < len(letters) < 4 and letters.isascii() and letters.islower():
                items = tuple(s.Name(c, span=word.span) for c in letters)
                return replace(node, base=change(node.base), items=items)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def _above(name: s.Name) -> s.Name | None:
    """The j of `h_t^j`."""
    (letter,) = name.sup if len(name.sup) == 1 else (None,)
    bare = isinstance(letter, s.Name) and letter.bare and is_letter(letter.base)
    if not bare or not isinstance(letter, s.Name) or not letter.base.islower() or not name.sub:
        return None
    return letter


# ---------------------------------------------------------------------- brackets


def grouped(statements: list[s.Statement]) -> list[s.Statement]:
    """`U [r ⊙ h]`: square brackets that hold a product element by element only group."""

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Index) and len(node.items) == 1:
            (item,) = node.items
            if isinstance(item, s.Hadamard) and isinstance(node.base, s.Name):
                body = s.Group(change(item), span=item.span)
                return s.Product((node.base, body), span=node.span)
        new = rebuilt(node, change)
        return s.flat(new) if isinstance(new, s.Product) else new

    return [changed(statement, change) for statement in statements]


def squared(statements: list[s.Statement]) -> list[s.Statement]:
    """`D ⊙ (1 - H^2)` → `D ⊙ (1 - H ⊙ H)`: nobody takes the identity for 1, and a power of a matrix, beside ⊙."""
    two = (s.Number("2"),)
    if not any(isinstance(n, s.Hadamard) for st in statements for n in st.walk()):
        return statements
    raised = {n.stem for n in s.every(statements, s.Name) if n.sup and n.sup != two}

    def apart(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Negative):
            return replace(node, body=apart(node.body))
        if isinstance(node, s.Name) and node.sup == two and node.stem not in raised:
            plain = replace(node, sup=())
            return s.Hadamard((plain, plain), span=node.span)
        return node

    def change(node: s.Expression) -> s.Expression:
        new = rebuilt(node, change)
        if isinstance(new, s.Hadamard):
            return replace(new, factors=tuple(map(inside, new.factors)))
        return new

    def inside(factor: s.Expression) -> s.Expression:
        match factor:
            case s.Group(body=s.Add(terms=(s.Number(text="1"), _) as terms) as total):
                return replace(factor, body=replace(total, terms=tuple(map(apart, terms))))
        return factor

    return [changed(statement, change) for statement in statements]


# ---------------------------------------------------------------------- e


_EULER = re.compile(r"e\s*\}?\s*\^")
"""`e^`, `\\mathrm{e}^`, `e ^`."""


def exponentials(statements: list[s.Statement]) -> list[s.Statement]:
    """`e^{…}` is exp(…), unless e is a name of its own."""
    if not [st for st in statements if _EULER.search(st.span.text)]:
        return statements
    letter = s.Name("e")
    bracketed = [n.base for n in s.every(statements, s.Index)]
    called = [n.function for n in s.every(statements, s.Call)]
    every = s.every(statements, s.Name)
    # The e of `d_e` is a part of that name; above Euler's number stand values.
    labels = s.ids(n for name in every if name != letter for i in name.sub for n in i.every(s.Name))
    names = [n for n in every if n.base == "e" and id(n) not in labels]
    own = any(n.sub or n.accents or n.primes or not n.sup or n.font == "bold" for n in names)
    if own or not names or letter in (*bracketed, *called):
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node.base == "e" and len(node.sup) == 1:
            inside = (s.inner(node.sup[0]),)
            return s.Call(s.Name("exp", span=node.span), inside, span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


# ---------------------------------------------------------------------- states side by side


def _weighed(product: s.Product) -> bool:
    r"""`(1 - g_t) \mathbf w_{t-1}`: who sets vectors in bold multiplies one by a number."""
    return len({n.font == "bold" for n in s.values(product) if isinstance(n, s.Name)}) > 1


def juxtaposed(statements: list[s.Statement], beside: bool = False) -> list[s.Statement]:
    """`f_t c_{t-1} + i_t tanh(…)`: of an author who writes neither ⊙ nor ⊤, element by element.

    It is the same for numbers; for columns it is the only product that gives a column. `beside` takes
    it so where ⊙ occurs as well: `z_t h_{t-1}` beside `r_t ⊙ h_{t-1}`.
    """
    signs = (s.Transpose,) if beside else (s.Hadamard, s.Transpose)
    if any(s.every(statements, *signs)):
        return statements
    steps = {letter for n in s.every(statements, s.Name) if (letter := _step(n, shifted=True))}

    def state(node: s.Expression) -> bool:
        node = s.inner(node)
        if isinstance(node, s.Add):  # 1 - z_t
            terms = (t.body if isinstance(t, s.Negative) else t for t in node.terms)
            return all(isinstance(t, s.Number) or state(t) for t in terms)
        if isinstance(node, s.Call) and elementwise(node):
            return not any(map(_makes_number, node.walk()))
        return elementwise(node) or _step(node) in steps

    def change(node: s.Expression) -> s.Expression:
        new = rebuilt(node, change)
        if isinstance(new, s.Product) and all(map(state, new.factors)) and not _weighed(new):
            return s.Hadamard(new.factors, span=new.span)
        return new

    return [changed(statement, change) for statement in statements]


def _makes_number(node: s.Node) -> bool:
    """The `q · k_i` of `e^{q · k_i} v_i`, and norms: they weigh vectors, and are none."""
    if not isinstance(node, s.Product) or not dotted(node):
        return isinstance(node, s.Norm)
    return all(isinstance(f, s.Name) and not is_capital(f.base) for f in node.factors)


def _step(node: s.Node, shifted: bool = False) -> str:
    """The letter that numbers a small Latin letter: the t of `h_t` and of `h_{t-1}`."""
    if not isinstance(node, s.Name) or len(node.sub) != 1 or node.sup:
        return ""
    if not (is_letter(node.base) and node.base.isascii() and node.base.islower()):
        return ""
    name = index_name(s.terms(node.sub[0])[0])
    alone = shifted and not isinstance(node.sub[0], s.Add)
    return "" if name is None or alone else name.base


# ---------------------------------------------------------------------- lists with numbers


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
