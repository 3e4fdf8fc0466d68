"""Spellings of vector style that mean one thing: written alike before anything is inferred.

f_t * C_{t-1}            →  f_t ⊙ C_{t-1}          a star between names is taken element by element
W_f [h_{t-1}, x_t]       →  W_f · [h_{t-1}, x_t]   brackets that hold values are a list, not indices
1/d Σ_i x_i              →  mean_i x_i             d counts what is summed
δ_{ij}                   →  1 if i = j, else 0     where both are indices
\\mathbf y, y             →  𝐲, y                   two names, if neither has an index
σ(z)_i = e^{z_i} / Σ_j e^{z_j}      →  softmax(z)_i, and softmax at every σ(x)
P(y_t | …) = softmax(W h_t)         →  softmax(W h_t)_{y_t}: a vector with an element for every word
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.notation.vocabulary import SPACE, TOLD
from indicial.program.names.letters import (
    ALL,
    MATRICES,
    index_name,
    is_capital,
    is_letter,
    is_lone,
    live_letters,
)
from indicial.program.names.uses import PROBABILITY
from indicial.program.vectors.costs import SAID
from indicial.program.vectors.kinds import is_greek
from indicial.program.vectors.leaves import in_scripts
from indicial.program.vectors.regular import (
    COUNTED,
    changed,
    index_letters,
    joined_parts,
    rebuilt,
    side_by_side,
)

COUNTING = frozenset("dnmND")


OF_ENTRIES = frozenset({"max", "min", "mean", "argmax", "argmin"})
"""Of one thing these are of its entries: `max(c)` is `max c`, and `max(0, c)` of each entry."""


def softmaxes(statements: list[s.Statement]) -> list[s.Statement]:
    """`σ(z)_i = e^{z_i} / Σ_j e^{z_j}`: σ is a softmax here; `softmax(z_i)` is its element i."""
    named: set[s.Expression] = set()
    result: list[s.Statement] = []
    for statement in map(softmax_elements, statements):
        if isinstance(statement, s.Equation) and (found := _softmax(*statement.sides[:2])):
            called, element = found
            named |= {called} if called is not None else set()
            statement = replace(statement, sides=(element, *statement.sides[1:]))
        result.append(statement)

    def change(node: s.Expression) -> s.Expression:
        new = rebuilt(node, change)
        if isinstance(new, s.Call) and new.function in named and len(new.arguments) == 1:
            return _of_all(new.arguments[0], new.span)
        return new

    return [changed(statement, change) for statement in result] if named else result


def softmax_elements(statement: s.Statement) -> s.Statement:
    """`a_k = softmax(z_k) = e^{z_k} / Σ_c e^{z_c}`: over the k that its formula has, `softmax_k z_k`."""
    if not isinstance(statement, s.Equation) or len(statement.sides) < 3:
        return statement
    sides = list(statement.sides)
    for n, (one, other) in enumerate(pairwise(sides)):
        if n and isinstance(one, s.Reduction) and _softmax(one, other) is not None:
            element = s.inner(one.body)
            assert isinstance(element, s.Name)
            sides[n] = replace(one, under=element.sub)
    return replace(statement, sides=tuple(sides))


def _softmax(
    left: s.Expression, right: s.Expression
) -> tuple[s.Expression | None, s.Expression] | None:
    """The letter that a softmax is called by, and its element that two sides of an equation are."""
    if not isinstance(right, s.Fraction) or not isinstance(right.below, s.Reduction):
        return None
    one, other = _exponent(right.above), _exponent(right.below.body)
    if right.below.operator != "sum" or one is None or other is None or one == other:
        return None
    if len(one.sub) != 1 or replace(one, sub=()) != replace(other, sub=()):
        return None
    whole, item = replace(one, sub=()), one.sub[0]
    element = s.Index(_of_all(whole, left.span), (item,), span=left.span)
    if isinstance(left, s.Reduction) and left.operator == "softmax" and not left.under:
        return (None, element) if s.inner(left.body) == one else None
    inner = left.base if isinstance(left, s.Index) and left.items == (item,) else left
    if not isinstance(inner, s.Call):
        return None
    wanted = one if inner is left else whole
    single = is_letter(inner.function.base) and inner.arguments == (wanted,)
    return (inner.function, element) if single and inner.given is None else None


def _exponent(node: s.Expression) -> s.Name | None:
    """The z_i of `e^{z_i}`, `exp(z_i)`."""
    inner: s.Expression | None = None
    if isinstance(node, s.Call) and node.word == "exp" and len(node.arguments) == 1:
        inner = node.arguments[0]
    elif isinstance(node, s.Name) and node.base == "e" and len(node.sup) == 1 and not node.sub:
        inner = node.sup[0]
    inner = s.inner(inner) if inner is not None else None
    return inner if isinstance(inner, s.Name) else None


def _of_all(body: s.Expression, span: Span) -> s.Expression:
    return s.Reduction("softmax", (), None, s.Group(body, span=body.span), span=span)


def distributions(statements: list[s.Statement]) -> list[s.Statement]:
    """`P(y_t | …) = softmax(W h_t)`: of the vector on the right, the element of the word."""
    return [
        _at_word(st) if isinstance(st, s.Equation) and isinstance(st.sides[0], s.Call) else st
        for st in statements
    ]


def at_letters(statements: list[s.Statement]) -> list[s.Statement]:
    """`p_i = softmax(W h)`, with no i on the right: the element i of that vector."""
    return [_at_letter(st) if isinstance(st, s.Equation) else st for st in statements]


def _at_letter(equation: s.Equation) -> s.Equation:
    left, right = equation.sides[0], equation.sides[-1]
    bare = isinstance(right, s.Reduction) and right.operator == "softmax" and not right.under
    if not isinstance(left, s.Name) or not bare or len(equation.sides) != 2:
        return equation
    names = {n.base for n in right.every(s.Name)}
    letters = [i for i in left.sub if is_lone(i)]
    free = [i for i in letters if isinstance(i, s.Name) and i.base in COUNTED - names]
    if len(free) != 1 or any(c in free[0].base for n in names for c in n):
        return equation
    return replace(equation, sides=(left, s.Index(right, (free[0],), span=right.span)))


def _at_word(equation: s.Equation) -> s.Equation:
    left, right = equation.left, s.inner(equation.sides[-1])
    if not isinstance(left, s.Call) or left.word not in PROBABILITY or len(left.arguments) != 1:
        return equation
    word = left.arguments[0]
    bare = isinstance(right, s.Reduction) and right.operator == "softmax" and not right.under
    if left.given is None or not isinstance(word, s.Name) or not bare:
        return equation
    if any(n.stem == word.stem for n in right.every(s.Name)):
        return equation  # its words are written
    element = s.Index(right, (word,), span=right.span)
    return replace(equation, sides=(*equation.sides[:-1], element))


def spelt_alike(statements: list[s.Statement]) -> list[s.Statement]:
    """Stars, brackets and counts, as above."""
    bound = index_letters(statements)
    tensors = _values(statements, bound)
    defined = {
        name_key(st.sides[0])
        for st in statements
        if isinstance(st, s.Equation) and isinstance(st.sides[0], s.Name)
    }

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Index) and _holds_values(node, tensors, bound):
            listed = s.ListLiteral(tuple(map(change, joined_parts(node))), span=node.span)
            base = change(node.base)
            factors = s.factors(base)
            return s.Product((*factors, listed), span=node.span)
        if isinstance(node, s.Index) and not isinstance(node.base, s.Name):
            base = node.base
            base = s.inner(base)
            if isinstance(base, s.Name) and ALL not in node.items:  # `[\\mathbf X]_{ij}`
                return replace(node, base=base)
            return replace(node, base=change(node.base))
        new = rebuilt(node, change)
        if isinstance(new, s.Product):
            return _counted(_starred(new), defined)
        if isinstance(new, s.Fraction):
            return _mean(new, defined)
        if isinstance(new, s.Call) and new.word in OF_ENTRIES and len(new.arguments) == 1:
            body = s.Group(new.arguments[0], span=new.arguments[0].span)
            return s.Reduction(new.word, (), None, body, span=new.span)
        return new

    return [changed(statement, change) for statement in statements]


# ---------------------------------------------------------------------- fonts


def bold_alike(statements: list[s.Statement]) -> list[s.Statement]:
    """`\\mathbf{Xw}` beside `\\mathbf w` is a product, `|\\mathbf a|` a norm; not in `\\mathbf y = |\\mathbf x|`."""
    bold = {n.base for n in s.every(statements, s.Name) if n.font == "bold"}
    words = {word for word in bold if 1 < len(word) < 4 and word.isascii() and word.isalpha()}
    words = {w for w in words if w[-1] in bold and all(c in bold or is_capital(c) for c in w[:-1])}

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Hadamard) and not words:
            return node
        new = node if isinstance(node, s.Name) else rebuilt(node, change)
        if isinstance(new, s.Product) and words:
            parts = [
                p for f in new.factors for p in (f.factors if isinstance(f, s.Product) else [f])
            ]
            return replace(new, factors=tuple(parts))
        if isinstance(new, s.Name) and new.font == "bold" and new.base in words:
            letters = [s.Name(c, font="bold", span=new.span) for c in new.base[:-1]]
            return s.Product((*letters, replace(new, base=new.base[-1])), span=new.span)
        if isinstance(new, s.Call) and new.word == "abs" and len(new.arguments) == 1:
            terms = [s.unsigned(term) for term in s.terms(new.arguments[0])]
            if all(isinstance(x, s.Name) and x.font == "bold" and x.base.islower() for x in terms):
                return s.Norm(new.arguments[0], span=new.span)
        return new

    def whole(statement: s.Statement) -> s.Statement:
        sides = statement.sides if isinstance(statement, s.Equation) else ()
        elements = any(isinstance(side, s.Call) and side.word == "abs" for side in sides[1:])
        left = s.head(sides[0]) if sides else None
        if elements and isinstance(left, s.Name) and left.font == "bold":
            return statement
        return changed(statement, change)

    return [whole(statement) for statement in statements] if bold else statements


def told_apart(statements: list[s.Statement]) -> list[s.Statement]:
    """`\\mathbf y` beside `y`, neither with an index: two names, the bold one written `𝐲`.

    Beside `y_i` it is one name: that is an element of it. So it is beside `y ∈ ℝ^d`.
    """
    bold: set[s.Name] = set()
    plain: set[s.Name] = set()
    for statement in statements:
        if _says_whole(statement):
            continue
        scripts = in_scripts(statement)
        for node in statement.every(s.Name):
            if len(node.base) == 1 and id(node) not in scripts:
                (bold if node.font == "bold" else plain).add(replace(node, sup=()))
    both = {name for name in bold & plain if name.base.isascii() and name.base.isalpha()}
    # `x_{ij}` is an element of a matrix: then `x_i` is one of the vector \\mathbf x.
    pairs = {(n.base, n.accents) for n in plain if _pair(n.sub) is not None}
    vectors = {(n.base, n.accents) for n in bold if not n.sub} & pairs
    both |= {n for n in (*bold, *plain) if (n.base, n.accents) in vectors and len(n.sub) < 2
             and _pair(n.sub) is None}  # fmt: skip
    both -= _written_out(statements)
    if not both:
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name):
            element = (node.base, node.accents) in vectors and bool(node.sub)
            if replace(node, sup=()) not in both or (node.font != "bold" and not element):
                return node
            start = 0x1D400 if node.base.isupper() else 0x1D41A
            base = chr(start + ord(node.base) - ord("A" if node.base.isupper() else "a"))
            return replace(node, base=base)
        return node.rebuild(change)

    def all_of(statement: s.Statement) -> s.Statement:
        if isinstance(statement, s.Declaration):
            return replace(statement, items=tuple(change(i) for i in statement.items))
        return changed(statement, change)

    return [all_of(statement) for statement in statements]


def _says_whole(statement: s.Statement) -> bool:
    """`x_t ∈ ℝ^d`, "the state $h_t$": in whatever type, it is about what is set bold in the equations."""
    if not isinstance(statement, s.Declaration) or statement.keyword not in (SPACE, TOLD):
        return False
    domain = statement.domain
    return isinstance(domain, s.Name) and (
        bool(domain.sup) if domain.base not in SAID else domain.base != "number"
    )


def _written_out(statements: list[s.Statement]) -> set[s.Name]:
    """`\\mathbf q = [1, 1, 2]` beside a q that nothing defines: whoever writes k^⊤ q means the same."""
    given = [st.sides for st in statements if isinstance(st, s.Equation)]
    fonts = Counter(side[0] for side in given if isinstance(side[0], s.Name))
    return {
        side[0] for side in given
        if isinstance(side[0], s.Name) and isinstance(side[-1], s.ListLiteral) and fonts[side[0]] == 1
    }  # fmt: skip


# ---------------------------------------------------------------------- stars


def _starred(node: s.Product) -> s.Expression:
    """`a * b` between names without brackets is `a ⊙ b`; `2 * x` stays a product."""
    if any(f.every(s.Index) for f in node.factors):
        return node
    parts: list[list[s.Expression]] = [[node.factors[0]]]
    for one, two in zip(node.factors, node.factors[1:], strict=False):
        # `W * x` is what `W x` is, and `x_t × W` what `x_t W` is.
        weighs = any(isinstance(f, s.Name) and f.base in MATRICES for f in (one, two))
        weighs = weighs or (isinstance(one, s.Name) and one.bare and one.base in RATES)
        if (
            starred(one, two)
            and not weighs
            and not isinstance(one, s.Number)
            and not isinstance(two, s.Number)
        ):
            parts.append([two])
        else:
            parts[-1].append(two)
    if len(parts) == 1:
        return node
    factors = tuple(
        s.Product(tuple(p), span=p[0].span.to(p[-1].span)) if len(p) > 1 else p[0] for p in parts
    )
    return s.Group(s.Hadamard(factors, span=node.span), span=node.span)


def starred(one: s.Expression, two: s.Expression) -> bool:
    """Whether a star stands between two factors."""
    if asterisk(one, two):
        return True
    between = one.span.between(two.span) or ""
    # `f_t × c_{t-1}`, but not `W × x_t` and `Q × K^⊤`.
    crossed = "×" in between or "\\times" in between
    return crossed and _steps(one) and not isinstance(two, s.Transpose | s.Number)


def asterisk(one: s.Expression, two: s.Expression) -> bool:
    """The star of `W * x`, and no cross."""
    between = one.span.between(two.span) or ""
    return any(sign in between for sign in ("*", "∗", "\\ast", "\\star"))


RATES = frozenset("ληατρκ")
"""Letters of numbers that others are multiplied with: the λ of `λ * w`."""
KERNELS = frozenset("Kkw")
"""Letters of what something is convolved with."""


def convolved(one: s.Name, two: s.Name) -> bool:
    """The `x * K` of `y = x * K`: two whole things, one of them a kernel by its letter."""
    whole = not any(n.sub or n.sup or is_greek(n.base) for n in (one, two))
    return whole and starred(one, two) and bool({one.base, two.base} & KERNELS)


def _steps(node: s.Expression) -> bool:
    """`f_t`, `(1 - z_t)`: something at a step, and no weight."""
    if isinstance(node, s.Group):
        return any(map(_steps, node.body.every(s.Name)))
    if not isinstance(node, s.Name) or node.base in MATRICES | frozenset("QKAB"):
        return False
    return bool(node.sub or node.sup)


# ---------------------------------------------------------------------- brackets that hold values


def _values(statements: Sequence[s.Statement], bound: set[str]) -> set[str]:
    """The letters of names that are computed or read as values, with a script."""
    names = s.every(statements, s.Name)
    return {name.base for name in names if name.sub and name_key(name) not in bound}


def _holds_values(node: s.Index, tensors: set[str], bound: set[str]) -> bool:
    """`W [h_{t-1}, x_t]`, `W [c; h]`, `softmax(…) [V; v]`, but not `e[w_t]` and `W[i,j]`."""
    if node.items and isinstance(node.items[0], s.Join):
        return True
    if not isinstance(node.base, s.Name | s.Transpose) or not node.items:
        return False
    names = [
        (i.body if isinstance(i, s.Transpose) else i)
        for i in node.items
        if not isinstance(i, s.Dots)
    ]
    if len(names) < 2:
        return False
    if isinstance(node.base, s.Name) and is_capital(node.base.base) and side_by_side(names, bound):
        return True
    return all(
        isinstance(n, s.Name)
        and name_key(n) not in bound
        and (n.font == "bold" or (n.base in tensors and bool(n.sub) and index_name(n) is None))
        for n in names
    )


# ---------------------------------------------------------------------- counts


def _count(name: s.Expression, defined: set[str]) -> bool:
    return (
        isinstance(name, s.Name)
        and name.base in COUNTING
        and not name.sub
        and not name.sup
        and name_key(name) not in defined
    )


def _summed(node: s.Expression) -> s.Reduction | None:
    """A Σ over one index that has no upper end."""
    node = s.inner(node)
    if isinstance(node, s.Reduction) and node.operator == "sum" and node.upper is None:
        name = index_name(node.under[0]) if len(node.under) == 1 else None
        return node if name is not None else None
    return None


def _counted(node: s.Expression, defined: set[str]) -> s.Expression:
    if not isinstance(node, s.Product) or len(node.factors) != 2:
        return node
    one, two = node.factors
    total = _summed(two)
    if total is None or not isinstance(one, s.Fraction) or one.above != s.Number("1"):
        return node
    return replace(total, operator="mean") if _count(one.below, defined) else node


def _mean(node: s.Fraction, defined: set[str]) -> s.Expression:
    total = _summed(node.above)
    if total is None or not _count(node.below, defined):
        return node
    return replace(total, operator="mean")


# ---------------------------------------------------------------------- δ


def kronecker(statements: list[s.Statement]) -> list[s.Statement]:
    """`δ_{ij}` is 1 if i = j and else 0, where i and j are indices and nothing defines δ."""
    if not any(n.base == "δ" for n in s.every(statements, s.Name)):
        return statements
    for statement in statements:
        said = statement.sides[0] if isinstance(statement, s.Equation) else statement
        if any(n.base == "δ" for n in said.every(s.Name)):
            return statements  # it is declared, or defined
    live = index_letters(statements).union(*map(live_letters, statements))

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node.base == "δ" and not node.accents and not node.sup:
            pair = _pair(node.sub)
            if pair is not None and all(name_key(p) in live for p in pair):
                same = s.Comparison(pair, ("=",), span=node.span)
                one, zero = s.Number("1", span=node.span), s.Number("0", span=node.span)
                return s.Cases(((one, same), (zero, None)), span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def _pair(sub: tuple[s.Expression, ...]) -> tuple[s.Name, s.Name] | None:
    """The two letters of `δ_{ij}`, `δ_{i,j}`."""
    if len(sub) == 1 and isinstance(sub[0], s.Name) and sub[0].bare and len(sub[0].base) == 2:
        one, two = sub[0].base[0], sub[0].base[1]
        if is_letter(one) and is_letter(two):
            return s.Name(one, span=sub[0].span), s.Name(two, span=sub[0].span)
    if len(sub) == 2 and all(index_name(i) is not None for i in sub):
        first, second = sub
        if isinstance(first, s.Name) and isinstance(second, s.Name):
            return first, second
    return None
