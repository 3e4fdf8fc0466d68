r"""A document's displays, with what all of it shows of their signs.

    b = \theta(a)           θ(…) is a function that is only named, and no factor (`applied.py`)
    F = Z P Z' + H          Z' is Z^⊤
    s = u_o^t v_c           u_o^t is u_o^⊤
    p = A q \Rightarrow q = A^{-1} p       two equations
    y_s = Σ_i w_{is} x_i                   w_{is} has two indices, and is no word
    X_{i,:}, W_{:,j}                       a row and a column
    h = f[a ⊙ b], m [1 - w e]              no indices: the brackets hold what f is taken of, and a factor
    w_u [h_{t-1}, x_t]                     nor are vectors: they are joined, and multiplied
    Z[l] = W[l] A[l-1], q_{bse} = z_{bsd} Q_{de}, c_2 = Σ_j α_{2j} h_j      layers, three letters, two places
    \tanh W x_t                            tanh(W x_t)

Brackets, primes and arrows are used in one way throughout a text, so all of its prose decides what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from indicial.notation.faults import Skipped
from indicial.notation.syntax import (
    Add,
    Call,
    Equation,
    Expression,
    Fraction,
    Group,
    Hadamard,
    Index,
    ListLiteral,
    Name,
    Negative,
    Norm,
    Number,
    Product,
    Reduction,
    Statement,
    Transpose,
    every,
    factors,
    head,
)
from indicial.program.names.applied import marked
from indicial.program.names.letters import (
    ALL,
    WORDS,
    index_expression,
    is_capital,
    is_lone,
    shifted,
)
from indicial.program.names.naming import activates
from indicial.program.names.uses import BUILT_IN, PROBABILITY
from indicial.program.prose.labels import with_labels
from indicial.program.prose.parts import Block
from indicial.program.prose.totals import with_totals
from indicial.program.vectors.leaves import is_ones
from indicial.program.vectors.regular import primed, raised, side_by_side

_BETWEEN = re.compile(
    r"(?:\s|[&,.⇒⇔]|\\(?:q?quad|[;,!: ]|Rightarrow|Longrightarrow|implies|Leftrightarrow|iff)(?![A-Za-z]))*"
)


def as_used(blocks: Iterable[Block]) -> list[Block]:
    """The displays of a document as its author uses brackets, primes and arrows."""
    blocks = [_with_clauses(block) if block.skipped else block for block in blocks]
    prose = [st for block in blocks if not block.strict for st in block.statements]
    meant = prose
    for change in (
        with_totals,
        _of_products,
        with_labels,
        _layered,
        _sliced,
        _spelt,
        _summed_words,
        _numbered,
        _bracketed,
        _numbered_e,
        _scored,
        marked,
        primed,
        raised,
    ):
        meant = change(meant)
    if meant is prose:
        return blocks
    rows = iter(meant)
    return [
        block if block.strict else replace(block, statements=[next(rows) for _ in block.statements])
        for block in blocks
    ]


def _sliced(prose: list[Statement]) -> list[Statement]:
    """`X_{i,:}` → a row of X, `W_{:,j}` → a column of W; `G_{l,:,:}` is G_l, a matrix for each l; `S_{[t]}` is S_t.

    Where there is an S_t as well, `S_{[t]}` is another S.
    """
    names = [
        n for st in prose for n in st.every(Name) if ":" in st.span.text or "_{[" in st.span.text
    ]
    if not any(ALL in (places := _places(n)) or places != n.sub for n in names):
        return prose
    heads = {st.left.stem for st in prose if isinstance(st.left, Name) and ALL in _places(st.left)}
    numbered = {n.stem for n in every(prose, Name) if any(map(is_lone, n.sub))}

    def change(node: Expression) -> Expression:
        if not isinstance(node, Name):
            return node.rebuild(change)
        places = _places(node)
        if ALL not in places:
            return (
                node if places == node.sub or node.stem in numbered else replace(node, sub=places)
            )
        numbering = tuple(i for i in places if i != ALL)
        last = places[: len(numbering)] == numbering
        if last and (node.stem in heads or len(places) > 2):
            return replace(node, sub=numbering)
        if len(places) > 2 or not numbering:
            return node
        whole = Group(replace(node, sub=()), span=node.span)
        return Index(whole, places, span=node.span)

    return [st.rebuild(change) for st in prose]


def _places(name: Name) -> tuple[Expression, ...]:
    """The `i, :` of `X_{i,:}` and `X_{[i,:]}`, the t of `S_{[t]}`."""
    match name.sub:
        case (ListLiteral(items=items),) if all(map(index_expression, items)):
            return items
        case (Group(body=body, bracket="["),) if index_expression(body):
            return (body,)
    return name.sub


def _layered(prose: list[Statement]) -> list[Statement]:
    """`Z[l] = W[l] A[l-1] + b[l]`: what only ever has its layer in brackets is Z_l, a matrix for each layer."""
    indices = [n for n in every(prose, Index) if isinstance(n.base, Name)]
    steps = [shifted(n.items[0]) if len(n.items) == 1 else None for n in indices]
    if not indices or not all(step is not None and step[0].base in LAYERS for step in steps):
        return prose
    if not any(isinstance(n.base, Name) and is_capital(n.base.base) for n in indices):
        return prose

    def change(node: Expression) -> Expression:
        node = node.rebuild(change) if not isinstance(node, Name) else node
        if isinstance(node, Index) and isinstance(node.base, Name):
            return replace(node.base, sub=(*node.base.sub, *node.items), span=node.span)
        return node

    return [st.rebuild(change) for st in prose]


LAYERS = frozenset("lLℓ")


def _spelt(prose: list[Statement]) -> list[Statement]:
    """`q_{bsea} = z_{bsd} Q_{dea}`: letters that all stand on the left, or below two factors, are indices."""
    words: set[str] = set()
    for equation in prose:
        left = _words([equation.left]) if isinstance(equation, Equation) else []
        for product in equation.every(Product) if left else ():
            right = _words(product.factors)
            letters = [c for word in right for c in dict.fromkeys(word)]
            free = {c for c in letters if letters.count(c) == 1}
            if len(right) > 1 and free <= {*left[0]} <= {*letters} and free < {*letters}:
                words |= {*left, *right}
    if not words:
        return prose

    def change(node: Expression) -> Expression:
        if not isinstance(node, Name):
            return node.rebuild(change)
        word = _words([node])
        if not word or word[0] not in words:
            return node
        return replace(node, sub=tuple(Name(c, span=node.sub[0].span) for c in word[0]))

    return [st.rebuild(change) for st in prose]


def _summed_words(prose: list[Statement]) -> list[Statement]:
    """`x_n = Σ_i β_{in} b_i`: a word elsewhere, two indices where one is summed and the other stands alone."""
    spelt: set[tuple[str, tuple[str, ...], str]] = set()
    for equation in prose:
        sums = [n for n in equation.every(Reduction) if n.under]
        summed = {n.base for node in sums for n in every(node.under, Name) if is_lone(n)}
        if not summed:
            continue
        names = list(equation.every(Name))
        alone = {i.base for name in names for i in name.sub if isinstance(i, Name) and is_lone(i)}
        for name in names:
            word = _short_word(name)
            if summed & {*word} and {*word} <= summed | alone:
                spelt.add((name.base, name.accents, word))
    if not spelt:
        return prose

    def change(node: Expression) -> Expression:
        if not isinstance(node, Name):
            return node.rebuild(change)
        word = _short_word(node)
        if (node.base, node.accents, word) not in spelt:
            return node
        return replace(node, sub=tuple(Name(c, span=node.sub[0].span) for c in word))

    return [st.rebuild(change) for st in prose]


_SET_UPRIGHT = re.compile(r"_\s*\{?\s*\\(?:text|math(?:rm|sf|it)|rm|operatorname)")


def _short_word(name: Name) -> str:
    """The `in` of `β_{in}`, in italics."""
    word = name.sub[0] if len(name.sub) == 1 else None
    if not isinstance(word, Name) or not word.bare or word.font or word.base not in WORDS:
        return ""
    return "" if _SET_UPRIGHT.search(name.span.text) else word.base


def _of_products(prose: list[Statement]) -> list[Statement]:
    """`\\tanh W x_t` is tanh(W x_t): nobody takes the function of every weight."""
    calls = [c for c in every(prose, Call) if _of_a_weight(c)]
    if not calls:
        return prose

    def change(node: Expression) -> Expression:
        node = node.rebuild(change) if not isinstance(node, Name) else node
        if not isinstance(node, Product):
            return node
        place = next((n for n, f in enumerate(node.factors[:-1]) if _of_a_weight(f)), None)
        call = node.factors[place] if place is not None else None
        if place is None or not isinstance(call, Call):
            return node
        held = Product((*call.arguments, *node.factors[place + 1 :]), span=node.span)
        whole = replace(call, arguments=(held,), span=call.span.to(node.span))
        return replace(node, factors=(*node.factors[:place], whole)) if place else whole

    return [st.rebuild(change) for st in prose]


_SQUASHING = frozenset({"tanh", "σ", "ReLU", "GELU", "SiLU", "ELU", "softplus"})


def _of_a_weight(node: Expression) -> bool:
    """The `\\tanh W` of `\\tanh W x_t`."""
    if not isinstance(node, Call) or len(node.arguments) != 1 or node.word not in _SQUASHING:
        return False
    (weight,) = node.arguments
    named = isinstance(weight, Name) and is_capital(weight.base) and len(weight.base) == 1
    return named and node.span.text.find("(") < 0


def _numbered(prose: list[Statement]) -> list[Statement]:
    """`c_2 = Σ_j α_{2j} h_j`, `α_{1j}` beside α_{ij}: two places, and not every second one."""
    doubled = [n for n in every(prose, Name) if any(map(_is_multiple, n.sub))]
    if not doubled:
        return prose
    paired = {n.stem for n in every(prose, Name) if len(n.sub) == 2 or _words([n])}
    at_number = [
        {node.stem for node in st.every(Name) if {_number(i) for i in node.sub} & {*st.left.sub}}
        for st in prose
        if isinstance(st, Equation) and isinstance(st.left, Name)
    ]
    several = paired.union(*at_number)

    def change(node: Expression) -> Expression:
        if not isinstance(node, Name):
            return node.rebuild(change)
        if node.stem not in several or len(node.sub) != 1 or not _is_multiple(node.sub[0]):
            return node
        return replace(node, sub=factors(node.sub[0]))

    return [st.rebuild(change) for st in prose]


def _is_multiple(script: Expression) -> bool:
    """`2j`."""
    return _number(script) is not None


def _number(script: Expression) -> Expression | None:
    """The 2 of `2j`."""
    match script:
        case Product(factors=(Number() as number, Name() as letter)) if is_lone(letter):
            return number
    return None


def _words(nodes: Iterable[Expression]) -> list[str]:
    """The `bsd` of `z_{bsd}`: letters side by side below a name."""
    scripts = [n.sub[0] for n in nodes if isinstance(n, Name) and len(n.sub) == 1]
    plain = [i.base for i in scripts if isinstance(i, Name) and i.bare and not i.font]
    return [w for w in plain if 1 < len(w) < 6 and w.islower() and w.isascii() and w not in WORDS]


OPERATORS = frozenset({"E", "P", "H", "I", "V"}) | PROBABILITY
"""Capitals that are followed by square brackets and are no matrices."""


def _bracketed(prose: list[Statement]) -> list[Statement]:
    """`f[g ⊙ (a - μ) + b]`, `M_{t-1}(i) [1 - w_t(i) e_t]`: what the brackets hold can be no index.

    Nor can the vectors of `w_u [h_{t-1}, x_t]`, where h is computed like a value.
    """
    brackets = every(prose, Index)
    computed = _computed(prose) if any(len(node.items) > 1 for node in brackets) else set()
    if not any(_holds_a_value(node) or _joins(node, computed) for node in brackets):
        return prose

    def change(node: Expression) -> Expression:
        node = node.rebuild(change) if not isinstance(node, Name) else node
        if isinstance(node, Index) and _joins(node, computed):
            listed = ListLiteral(node.items, span=node.span)
            return Product((node.base, listed), span=node.span)
        if not isinstance(node, Index) or not _holds_a_value(node):
            return node
        (held,) = node.items
        if isinstance(node.base, Name):
            call = Call(node.base, (held,), span=node.span)
            if call.word in BUILT_IN or activates(call):
                return call
        elementwise = any(map(is_ones, held.every(Number)))  # `[1 - w e]`
        made = Hadamard if elementwise else Product
        return made((node.base, Group(held, "[", span=held.span)), span=node.span)

    return [st.rebuild(change) for st in prose]


def _computed(prose: Iterable[Statement]) -> set[Name]:
    """The names that are computed as values are: by a function, a product, a sum."""
    values = Call, Product, Hadamard, Add
    return {
        st.left.stem
        for st in prose
        if isinstance(st, Equation)
        and isinstance(st.left, Name)
        and isinstance(st.sides[-1], values)
    }


def _joins(node: Index, computed: set[Name]) -> bool:
    """Whether brackets behind a small letter hold vectors that it multiplies; behind a capital they always may."""
    name = head(node)
    if not isinstance(name, Name) or is_capital(name.base) or not isinstance(node.base, Name):
        return False
    held = {n.stem for item in node.items for n in item.every(Name)}
    return not held.isdisjoint(computed) and side_by_side(node.items, ())


def _holds_a_value(node: Index) -> bool:
    """Whether there is an operation in the brackets that no index is computed by."""
    held = node.items[0]
    if len(node.items) != 1 or not isinstance(held, Add | Product | Negative | Hadamard | Fraction):
        return False
    name = head(node)
    if not isinstance(name, Name) or name.base in OPERATORS:
        return False
    operations = held.every(Hadamard, Transpose, Norm, Reduction)
    return bool(operations) or any(n.font == "bold" for n in held.every(Name))


def _numbered_e(prose: list[Statement]) -> list[Statement]:
    """The `e^{(t)}` of `e^{(t)} = E x^{(t)}`: an e for each step, since nobody puts an exponent in brackets."""

    def change(node: Expression) -> Expression:
        match node:
            case Name(base="e", sub=(), sup=(Group(body=place),)) if shifted(place):
                return replace(node, sub=(place,), sup=())
        return node.rebuild(change)

    return [st.rebuild(change) for st in prose]


def _scored(prose: list[Statement]) -> list[Statement]:
    """The `e^t` of `a^t = softmax(e^t)` beside `e_i^t`: all scores of step t, and no exponential."""
    names = [n for st in prose for n in st.every(Name) if n.base == "e" and len(n.sup) == 1]
    steps = {n.sup for n in names if n.sub and is_lone(n.sup[0])}
    if not any(n.sup in steps for n in names if not n.sub):
        return prose

    def change(node: Expression) -> Expression:
        if isinstance(node, Name) and node.base == "e" and not node.sub and node.sup in steps:
            return replace(node, sup=(Group(node.sup[0], span=node.span),))
        return node.rebuild(change)

    return [st.rebuild(change) for st in prose]


def _with_clauses(block: Block) -> Block:
    """The display with the equations between ⇒ and ⇔ as rows of their own."""
    rows = {id(row): equations for row in block.skipped if (equations := _equations(row))}
    if not rows or block.strict:
        return block
    found = [equation for equations in rows.values() for equation in equations]
    statements = sorted((*block.statements, *found), key=lambda st: st.span.start)
    skipped = [row for row in block.skipped if id(row) not in rows]
    return replace(block, statements=statements, skipped=skipped)


def _equations(row: Skipped) -> list[Equation]:
    """The clauses of a row, if it is nothing but equations with ⇒ or ⇔ between them.

    A row that begins with ⇒ says once more, and often in another style, what those above it have shown.
    """
    if row.reason[-1] not in "⇒⇔" or any(clause.arrow for clause in row.reasoned[:1]):
        return []
    equations = [clause.equation for clause in row.reasoned if not clause.premises]
    text, at = row.span.source.text, row.span.start
    for equation in equations:
        if set(equation.relations) != {"="} or not _BETWEEN.fullmatch(
            text, at, equation.span.start
        ):
            return []
        at = equation.span.end
    whole = len(equations) > 1 and _BETWEEN.fullmatch(text, at, row.span.end)
    return equations if whole else []
