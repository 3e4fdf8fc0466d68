"""What authors leave out, written before anything is inferred.

c_t = f_t c_{t-1}          →  f_t ⊙ c_{t-1}             states of one step, where ⊙ and ⊤ never occur
softmax(X)_{ij}            →  softmax(X)_{i,j}          two letters below what is computed
z_t^j = σ(W x_t)^j         →  z_{t,j} = σ(W x_t)_j      a letter above a bracket and on the left
U [r_t ⊙ h_{t-1}]          →  U (r_t ⊙ h_{t-1})         what no index can be is a factor
e^{u + k_t}                →  exp(u + k_t)              an e that never has an index

y_i = A_{ij} x_j                         →  y_i = Σ_j A_{ij} x_j       Einstein's convention
h_t = W_{hx} x_t                            the h and the x tell names apart: not touched
e_{ij} = W_{ij} h_j                         j stands on the left: not touched

A letter is summed where it stands below exactly two factors of a product and nowhere on the left, and
a factor with several letters has all of them on the left or summed.

k = {[1, 2], [0, 3]}, s_i = k_i^⊤ q      →  constant k = [[1, 2], [0, 3]]
k_1 = [1, 2], k_2 = [0, 3], s_i = …      →  the same, and range i = 1..2; names of their own without a k_i
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from indicial.notation import syntax as s
from indicial.notation.literals import numbers
from indicial.notation.printers import unicode
from indicial.program.names.letters import WORDS, index_name, is_capital, is_letter, is_lone
from indicial.program.vectors.above import bracketed
from indicial.program.vectors.leaves import elementwise, is_element
from indicial.program.vectors.regular import COUNTED, changed, rebuilt
from indicial.program.vectors.shapes import dotted


def spelt_out(statements: list[s.Statement]) -> list[s.Statement]:
    """The statements with all of these but the last, which is done before: it may show vectors."""
    return juxtaposed(grouped(elements_below(elements_above(statements))))


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


# ---------------------------------------------------------------------- sums

SHORTEST, LONGEST = 2, 4
"""How many letters may stand below one name without a comma: `A_{ij}`, `T_{ijk}`."""


RUNNING = frozenset({"sum", "prod"})
"""What runs over a letter in prose, also where none is said."""


def summed(equation: s.Statement, prose: bool = False) -> s.Statement:
    """An equation with the sums that it implies; any other statement as it is.

    In prose a bare Σ runs over the letter that it leaves: `μ = 1/n Σ x_i`.
    """
    if not isinstance(equation, s.Equation):
        return equation
    left = {letter for name in equation.sides[0].every(s.Name) for letter in _letters(name)}
    # What a case asks about is one value: the a of `x_i if a = j`.
    asked = (c for cases in equation.every(s.Cases) for _, c in cases.branches if c is not None)
    left |= {name.base for condition in asked for name in condition.every(s.Name) if is_lone(name)}
    bare = prose and any(not r.under and r.operator in RUNNING for r in equation.every(s.Reduction))

    def change(node: s.Expression, bound: frozenset[str]) -> s.Expression:
        if isinstance(node, s.Reduction):
            if bare and node.operator in RUNNING and not node.under:
                node = _running(node, left, bound)
            # Also the i and j of `Σ_{ij}`; a bare Σ sums whatever it is meant to.
            for name in (n for one in node.under or (node.body,) for n in one.every(s.Name)):
                bound |= {*(name.base if node.under else _letters(name))}
        if isinstance(node, s.Product):
            if bare:
                parts = [change(f, bound) if f.every(s.Reduction) else f for f in node.factors]
                node = replace(node, factors=tuple(parts))
            return _product(node, left, bound)
        return rebuilt(node, lambda inner: change(inner, bound))

    first, *rest = equation.sides
    sides = (first, *(change(side, frozenset()) for side in rest))
    return equation if sides == equation.sides else replace(equation, sides=sides)


def reaching(equation: s.Statement) -> s.Statement:
    """`-Σ_i y_i ln p_i + (1 - y_i) ln(1 - p_i)`: a sum goes on as far as its index stands."""
    if not isinstance(equation, s.Equation) or not equation.every(s.Reduction):
        return equation
    left = {letter for name in equation.left.every(s.Name) for letter in _numbers(name)}

    def change(node: s.Expression) -> s.Expression:
        node = node.rebuild(change) if not isinstance(node, s.Name) else node
        if not isinstance(node, s.Add):
            return node
        terms: list[s.Expression] = []
        for term in node.terms:
            running = _last_sum(terms[-1]) if terms else None
            own = {u.base for u in _unders(running)} - left if running is not None else set()
            if running is not None and own & _left_free(term):
                whole = s.Add((running.body, term), span=running.body.span.to(term.span))
                body = s.Group(whole, span=whole.span)
                longer = replace(running, body=body, span=running.span.to(term.span))
                terms[-1] = _with_last(terms[-1], longer)
            else:
                terms.append(term)
        return terms[0] if len(terms) == 1 else replace(node, terms=tuple(terms))

    sides = (equation.sides[0], *map(change, equation.sides[1:]))
    return equation if sides == equation.sides else replace(equation, sides=sides)


def _last_sum(term: s.Expression) -> s.Reduction | None:
    """The Σ that a term ends with: of `-1/N Σ_i x_i` too."""
    match term:
        case s.Reduction(operator="sum"):
            return term
        case s.Negative(body=body):
            return _last_sum(body)
        case s.Product(factors=(*_, last)):
            return _last_sum(last)
    return None


def _with_last(term: s.Expression, running: s.Reduction) -> s.Expression:
    """The term with another Σ at its end."""
    match term:
        case s.Negative(body=body):
            return replace(term, body=_with_last(body, running), span=term.span.to(running.span))
        case s.Product(factors=(*firsts, last)):
            parts = (*firsts, _with_last(last, running))
            return replace(term, factors=parts, span=term.span.to(running.span))
    return running


def _left_free(node: s.Node) -> set[str]:
    """The letters below names, or in brackets above and behind them, that no Σ in there runs over."""
    if isinstance(node, s.Name):  # the exponent of `e^{z_i}` too
        return {*_numbers(node)}.union(*map(_left_free, node.sup))
    free = {letter for child in node.children() for letter in _left_free(child)}
    if isinstance(node, s.Call):  # `b_j(k)`
        free |= COUNTED & {a.base for a in node.arguments if isinstance(a, s.Name) and a.bare}
    bound = {u.base for u in _unders(node)} if isinstance(node, s.Reduction) else set()
    return free - bound


def _numbers(name: s.Name) -> Iterator[str]:
    """The letters that number a name: the i of `x_i`, `x^{(i)}`."""
    yield from _letters(name)
    if letter := bracketed(name.sup):
        yield letter


def bound_apart(equation: s.Statement) -> s.Statement:
    """`p_i = e^{z_i} / Σ_i e^{z_i}`: the i of the Σ is its own, where the other i stands beside it too."""
    if not isinstance(equation, s.Equation):
        return equation
    left, *right = equation.sides
    letters = _left_free(left)
    sums = [r for r in s.every(right, s.Reduction) if letters & {u.base for u in _unders(r)}]
    if not sums:
        return equation
    used = {c for name in equation.every(s.Name) for c in name.base}
    spare = [c for c in "jklmnpqrs" if c not in used]

    def apart(node: s.Expression, beside: set[str]) -> s.Expression:
        for under in _unders(node) if isinstance(node, s.Reduction) else ():
            if under.base in beside and spare:
                node = _renamed(node, under.base, spare.pop(0))
        return node.rebuild(lambda inner: apart(inner, beside))

    sides = (apart(side, letters & _left_free(side)) for side in right)
    return replace(equation, sides=(left, *sides))


def primes_apart(equation: s.Statement) -> s.Statement:
    """`α_{tt'} = e^{z_{tt'}} / Σ_{t'} e^{z_{tt'}}`: as for a plain letter, the t' of the Σ is its own."""
    left = equation.left if isinstance(equation, s.Equation) else None
    own = (
        {i for i in left.scripts if isinstance(i, s.Name) and i.primes}
        if isinstance(left, s.Name)
        else set()
    )
    if not own or not isinstance(equation, s.Equation):
        return equation
    used = {name.base for name in equation.every(s.Name)}
    spare = [c for c in "jklmnpqrs" if c not in used]

    def apart(node: s.Expression) -> s.Expression:
        firsts = node.under if isinstance(node, s.Reduction) else ()
        for under in (u.operands[0] if isinstance(u, s.Comparison) else u for u in firsts):
            if under in own and spare:
                node = _put(node, under, s.Name(spare.pop(0), span=under.span))
        return node.rebuild(apart)

    return replace(equation, sides=(equation.sides[0], *map(apart, equation.sides[1:])))


def _put(node: s.Expression, old: s.Expression, new: s.Expression) -> s.Expression:
    """The expression with one name for another, in scripts too."""
    if node == old:
        return new
    if isinstance(node, s.Name):
        sub, sup = (tuple(_put(i, old, new) for i in scripts) for scripts in (node.sub, node.sup))
        return replace(node, sub=sub, sup=sup)
    return node.rebuild(lambda inner: _put(inner, old, new))


def _unders(node: s.Reduction) -> list[s.Name]:
    """The letters that a sum runs over: the i of `Σ_i`, `Σ_{i=1}^n`; an i' is another index."""
    firsts = (u.operands[0] if isinstance(u, s.Comparison) else u for u in node.under)
    return [u for u in firsts if isinstance(u, s.Name) and u.bare]


def _renamed(node: s.Expression, old: str, new: str) -> s.Expression:
    """The expression with another letter for an index, also in `e_{ij}`."""
    if not isinstance(node, s.Name):
        return node.rebuild(lambda inner: _renamed(inner, old, new))
    if node.bare and node.base == old:
        return replace(node, base=new)

    def script(item: s.Expression) -> s.Expression:
        if isinstance(item, s.Name) and old in {*_letters(s.Name("x", sub=(item,)))}:
            return replace(item, base=item.base.replace(old, new))
        return _renamed(item, old, new)

    return replace(node, sub=tuple(map(script, node.sub)), sup=tuple(map(script, node.sup)))


def _running(node: s.Reduction, left: set[str], bound: frozenset[str]) -> s.Reduction:
    """A bare Σ with the index that stands below what it sums, and neither on the left nor bound."""
    names = node.body.every(s.Name)
    letters = {letter for name in names for letter in _letters(name)}
    letters |= {letter for name in names if (letter := bracketed(name.sup))}
    free = sorted(letters - left - bound)
    if not COUNTED.issuperset(free) or (len(free) != 1 and (left or len(free) != 2)):
        return node
    return replace(node, under=tuple(s.Name(letter, span=node.span) for letter in free))


def _product(product: s.Product, left: set[str], bound: frozenset[str]) -> s.Expression:
    factors = [dict.fromkeys(_letters(f)) for f in product.factors if isinstance(f, s.Name)]
    count = Counter(letter for letters in factors for letter in letters)
    twice = [x for x, times in count.items() if times == 2 and x not in left and x not in bound]
    pairs = [
        {*letters} for letters in factors if len(letters) >= SHORTEST and {*letters} & {*twice}
    ]
    if not pairs or any(not letters <= left | {*twice} for letters in pairs):
        return product
    under = tuple(s.Name(letter, span=product.span) for letter in twice)
    return s.Reduction("sum", under, None, product, span=product.span)


def _letters(name: s.Name) -> Iterator[str]:
    """The letters below a name that may be indices, and the shifted ones: `{t, j}` of `h_{t-1,j}`."""
    for script in name.sub:
        inner = script.terms[0] if isinstance(script, s.Add) else script
        if not isinstance(inner, s.Name) or inner.font == "roman":
            continue
        if index_name(inner) is not None and not is_capital(inner.base):
            yield inner.base
        elif inner.bare and SHORTEST <= len(inner.base) <= LONGEST and inner.base not in WORDS:
            numbering = len(inner.base) == SHORTEST or COUNTED.issuperset(inner.base)  # not `info`
            letters = numbering and all(is_letter(c) and c.islower() for c in inner.base)
            yield from inner.base if letters else ()


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
