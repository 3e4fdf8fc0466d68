"""Sums that authors leave out, end too early, or write over letters that are bound already.

y_i = A_{ij} x_j                         →  y_i = Σ_j A_{ij} x_j       Einstein's convention
h_t = W_{hx} x_t                            the h and the x tell names apart: not touched
e_{ij} = W_{ij} h_j                         j stands on the left: not touched

A letter is summed where it stands below two factors of a product or more and nowhere on the left, and
a factor with several letters has all of them on the left or summed. It may stand in what a factor is computed
of, as the j of `y_i = W_{ij} φ(x_j)`, where the left side has letters.

L = -Σ_i y_i ln p_i + (1 - y_i) …        →  L = -Σ_i (y_i ln p_i + (1 - y_i) …)
p_i = e^{z_i} / Σ_i e^{z_i}              →  p_i = e^{z_i} / Σ_j e^{z_j}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import (
    WORDS,
    index_name,
    is_capital,
    is_letter,
    is_lone,
    is_word_below,
    letters_bound,
)
from indicial.program.vectors.above import bracketed
from indicial.program.vectors.regular import COUNTED, rebuilt

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
    bare = prose and any(not r.under and r.operator in RUNNING for r in equation.every(s.Reduction))
    written, equation = equation, _runs_apart(equation)
    if not bare and not any(len([*_letters(n)]) >= SHORTEST for n in equation.every(s.Name)):
        return written
    left = {letter for name in equation.sides[0].every(s.Name) for letter in _letters(name)}
    # What a case asks about is one value: the a of `x_i if a = j`.
    asked = (c for cases in equation.every(s.Cases) for _, c in cases.branches if c is not None)
    left |= {name.base for condition in asked for name in condition.every(s.Name) if is_lone(name)}

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
    return written if sides == equation.sides else replace(equation, sides=sides)


def letters_repeated(statements: Sequence[s.Statement]) -> set[str]:
    """The letters of equations with sums that they imply: those on the left, and those that are summed."""
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, s.Equation) and (full := summed(statement)) is not statement:
            names = full.sides[0].every(s.Name) if isinstance(full, s.Equation) else []
            found |= letters_bound([full]).union(*map(_letters, names))
    return found


def _runs_apart(equation: s.Equation) -> s.Equation:
    """`S_{hij} = q_{hiμ} k_{hjμ}` with the letters of `hij` apart: each stands elsewhere beside others."""
    below = [i for name in equation.every(s.Name) for i in name.sub if isinstance(i, s.Name)]
    words = {i.base for i in below if i.bare and not i.font}
    runs = {word for word in words if SHORTEST < len(word) <= LONGEST and word.isalpha()}
    runs = {run for run in runs if run.islower() and not is_word_below(run)}
    runs = {run for run in runs if all(any(c in w for w in words - {run}) for c in run)}
    if not runs:
        return equation

    def letters(script: s.Expression) -> tuple[s.Expression, ...]:
        if isinstance(script, s.Name) and script.bare and not script.font and script.base in runs:
            return tuple(s.Name(c, span=script.span) for c in script.base)
        return (script,)

    def change(node: s.Expression) -> s.Expression:
        node = node.rebuild(change)
        if isinstance(node, s.Name) and node.sub:
            return replace(node, sub=tuple(c for i in node.sub for c in letters(i)))
        return node

    return equation.rebuild(change)


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
        case s.Reduction(operator="sum") if term.span != term.body.span:  # it is written
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
    """`p_i = e^{z_i} / Σ_i e^{z_i}`: the i of the Σ is its own, where the other i stands beside it too.

    So is the second n of `Σ_n 1/(Σ_n w_n) l_n`.
    """
    if not isinstance(equation, s.Equation):
        return equation
    left, *right = equation.sides
    letters = _left_free(left)
    over = Counter(u.base for r in s.every(right, s.Reduction) for u in _unders(r))
    if not letters & {*over} and max(over.values(), default=0) < 2:
        return equation
    used = {c for name in equation.every(s.Name) for c in name.base}
    spare = [c for c in "jklmnpqrs" if c not in used]

    def apart(node: s.Expression, beside: set[str], around: frozenset[str]) -> s.Expression:
        for under in _unders(node) if isinstance(node, s.Reduction) else ():
            inner = isinstance(node, s.Reduction) and node.operator in RUNNING
            if spare and (under.base in beside or (inner and under.base in around)):
                node = _renamed(node, under.base, spare.pop(0))
        if isinstance(node, s.Reduction) and node.operator in RUNNING:
            around |= {u.base for u in _unders(node)} & _left_free(node.body)
        return node.rebuild(lambda inner: apart(inner, beside, around))

    sides = (apart(side, letters & _left_free(side), frozenset()) for side in right)
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
    """A product with the sum that it implies, and in its factors those that they imply besides.

    `B_{ac} φ(C_{cb} y_{ib} + β_c)`: over c outside, and inside over b.
    """
    factors = [dict.fromkeys(_open_letters(f) if left else _own(f)) for f in product.factors]
    count = Counter(letter for letters in factors for letter in letters)
    many = [x for x, times in count.items() if times > 1 and x not in left and x not in bound]
    own = [{*_own(f)} for f in product.factors]
    pairs = [letters for letters in own if len(letters) >= SHORTEST and letters & {*many}]
    implied = bool(pairs) and all(letters <= left | {*many} for letters in pairs)
    known = left | {*many} if implied else left
    held = [f if isinstance(f, s.Name) else _inside(f, known, bound) for f in product.factors]
    if any(one is not other for one, other in zip(held, product.factors, strict=True)):
        product = replace(product, factors=tuple(held))
    if not implied:
        return product
    under = tuple(s.Name(letter, span=product.span) for letter in many)
    return s.Reduction("sum", under, None, product, span=product.span)


def _inside(node: s.Expression, left: set[str], bound: frozenset[str]) -> s.Expression:
    """What stands within a factor, where its author sums as well."""
    if isinstance(node, s.Product):
        return _product(node, left, bound)
    if isinstance(node, s.Name | s.Reduction):
        return node
    return rebuilt(node, lambda inner: _inside(inner, left, bound))


def _own(factor: s.Expression) -> Iterator[str]:
    return _letters(factor) if isinstance(factor, s.Name) else iter(())


def _open_letters(node: s.Expression) -> set[str]:
    """The letters below what a factor is computed of, without those that are summed in it."""
    if isinstance(node, s.Name):
        return {*_letters(node)}
    found = [_open_letters(child) for child in node.children() if isinstance(child, s.Expression)]
    if isinstance(node, s.Reduction):
        return set().union(*found) - {u.base for u in _unders(node)}
    if isinstance(node, s.Product):
        count = Counter(letter for letters in found for letter in letters)
        return {letter for letter, times in count.items() if times == 1}
    return set().union(*found)


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
