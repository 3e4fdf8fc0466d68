"""Vector style, made regular before anything is inferred.

x^T y                    →  x^⊤ y                   unless T is above something else
h^{(t)} = W h^{(t-1)}    →  h_t = W h_{t-1}
β^2 (u_b - u_c), V(u_a)  →  products                brackets that hold columns are factors
q = [1; 1; 2]            →  q = [1, 1, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.vocabulary import SPACE
from indicial.program.messages import Messages
from indicial.program.names.letters import (
    OFTEN_VECTORS,
    PARAMETERS,
    index_name,
    is_capital,
    is_letter,
)
from indicial.program.names.naming import activates
from indicial.program.names.sorting import outline
from indicial.program.names.uses import BUILT_IN, PROBABILITY
from indicial.program.vectors.leaves import is_element, is_ones

Change = Callable[[s.Expression], s.Expression]
_ASIDE = ("under", "upper", "function", "given", "draws", "order")
"""What stands in a node and is no value."""


def rebuilt(node: s.Expression, change: Change) -> s.Expression:
    """The node with the values directly below it changed; indices and binders stay."""
    if is_element(node):
        return node.rebuild(change, keep=("items",))
    if isinstance(node, s.Name | s.Number | s.Index) or opaque(node):
        return node
    return node.rebuild(change, keep=_ASIDE)


def opaque(node: s.Expression) -> bool:
    """`P(w_t | …)`: no values in there; there are in `p_i (1 - p_k)`."""
    if not isinstance(node, s.Call) or node.given is not None:
        return isinstance(node, s.Call)
    return node.word in PROBABILITY and not (
        node.function.sub and isinstance(node.arguments[0], s.Add)
    )


def changed(statement: s.Statement, change: Change) -> s.Statement:
    """A statement with every side changed."""
    if isinstance(statement, s.Equation):
        return statement.rebuild(change)
    if isinstance(statement, s.Claim):
        return statement.rebuild(lambda sides: sides.rebuild(change), keep=("tolerance", "guard"))
    if isinstance(statement, s.Declaration) and statement.keyword == SPACE:
        return replace(statement, items=tuple(map(change, statement.items)))
    return statement


Split = Callable[[s.Call], tuple[s.Expression, s.Expression] | None]
"""What looks like a call → its two factors, if it is a product."""


def multiplied(node: s.Expression, split: Split) -> s.Product | None:
    """`W (a + b)` as a product; in `W (K U)^T` and `X^T (K + R)^{-1}` it is the bracket that is raised."""
    call = node
    if isinstance(node, s.Power | s.Transpose):
        call = node.base if isinstance(node, s.Power) else node.body
    parts = split(call) if isinstance(call, s.Call) else None
    if parts is None:
        return None
    first, inside = parts
    if isinstance(node, s.Power):
        inside = replace(node, base=inside)
    elif isinstance(node, s.Transpose):
        inside = replace(node, body=inside)
    return s.Product((first, inside), span=node.span)


# ---------------------------------------------------------------------- one spelling for all


def lists(statements: list[s.Statement]) -> list[s.Statement]:
    """`[1; 1; 2]` is a column of numbers."""

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Group) and isinstance(node.body, s.Join):
            parts = node.body.parts
            numbers = all(isinstance(s.unsigned(p), s.Number) for p in parts)
            if numbers and node.bracket == "[":
                return s.ListLiteral(parts, span=node.span)
        return node

    return [changed(statement, change) for statement in statements]


def transposed(statements: list[s.Statement]) -> list[s.Statement]:
    """`x^T` is `x^⊤`: where T is nothing else, and beside something that it can be multiplied by; `X'X` too."""
    statements = primed(statements)
    top = s.Name("T")
    scripts: set[int] = set()
    beside: set[int] = set()
    bracketed: set[s.Expression] = set()
    for node in (n for statement in statements for n in statement.walk()):
        if isinstance(node, s.Name):
            scripts.update(id(script) for script in node.sup)
        elif isinstance(node, s.Product):
            beside.update(map(id, node.factors))
        elif isinstance(node, s.Call) and _turned_factor(node, top):
            continue
        elif isinstance(node, s.Index | s.Call) and not holds_vectors(node):
            bracketed.add(node.base if isinstance(node, s.Index) else node.function)
    times = [n for n in s.every(statements, s.Name) if n.base in ("T", "t")]
    free = all(id(name) in scripts for name in times)

    def is_turned(name: s.Name) -> bool:
        if not name.sup or name.sup[-1] != top or name in bracketed:
            return False
        if free or name.font == "bold":
            return True
        letter = name.base
        lettered = letter.isascii() or "Α" <= letter <= "Ω"  # γ^T may be a power, Θ^T is none
        return id(name) in beside and lettered and letter not in ("e", "T")

    def split(call: s.Call) -> tuple[s.Expression, s.Expression] | None:
        if not _turned_factor(call, top):
            return None
        name = replace(call.function, sup=call.function.sup[:-1])
        held = s.Group(change(call.arguments[0]), span=call.arguments[0].span)
        return s.Transpose(name, span=call.function.span), held

    def change(node: s.Expression) -> s.Expression:
        if (product := multiplied(node, split)) is not None:  # `R^T (a - g)`
            turned = isinstance(node, s.Power) and node.exponent == top
            return product.rebuild(change) if turned else product
        if isinstance(node, s.Name) and is_turned(node):
            return s.Transpose(replace(node, sup=node.sup[:-1]), span=node.span)
        if isinstance(node, s.Transpose) and isinstance(node.body, s.Name):
            return replace(node, body=_inverted(node.body))
        if (
            isinstance(node, s.Power)
            and node.exponent == top
            and (is_ones(node.base) or not isinstance(node.base, s.Number))
        ):
            return s.Transpose(change(node.base), span=node.span)
        if isinstance(node, s.Index) and holds_vectors(node):
            return node.rebuild(change)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def _turned_factor(call: s.Call, top: s.Name) -> bool:
    """Whether what looks like a call is a product with a transpose; `h^T(t)` may be a place."""
    name = call.function
    turned = name.sup[-1:] == (top,) and (name.font == "bold" or is_capital(name.base))
    return turned and len(call.arguments) == 1 and isinstance(call.arguments[0], s.Add | s.Product)


def holds_vectors(node: s.Node) -> bool:
    """`a^T [b; c]`: brackets with a join in them, which hold no indices."""
    return isinstance(node, s.Index) and bool(node.items) and isinstance(node.items[0], s.Join)


def primed(statements: list[s.Statement]) -> list[s.Statement]:
    """`(X'X)^{-1} X'y`, `A P A'`, `v' F^{-1} v`: a prime is a ⊤ for an author who has a name on both sides of a
    matrix, once with a prime, and defines nothing with one."""
    if not [n for n in s.every(statements, s.Name) if n.primes]:
        return statements
    values = {n for st in statements for n in s.values(st) if isinstance(n, s.Name)}
    turned = {n for n in values if n.primes == 1 and replace(n, primes=0) in values}
    heads = (s.head(st.left) for st in statements if isinstance(st, s.Equation))
    if not turned or any(isinstance(n, s.Name) and n.primes for n in heads):
        return statements
    if not any(map(_squares, s.every(statements, s.Product))):
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Product):
            node = replace(node, factors=tuple(map(turn, node.factors)))
        product = multiplied(node, split)  # `X'(y - X b)`
        return rebuilt(node, change) if product is None else product

    def split(call: s.Call) -> tuple[s.Expression, s.Expression] | None:
        if call.function not in turned or not is_capital(call.word) or len(call.arguments) != 1:
            return None
        held = s.Group(change(call.arguments[0]), span=call.arguments[0].span)
        return turn(call.function), held

    def turn(node: s.Expression) -> s.Expression:
        if not isinstance(node, s.Name) or node not in turned:
            return node
        return s.Transpose(replace(node, primes=0), span=node.span)

    return [changed(statement, change) for statement in statements]


def raised(statements: list[s.Statement]) -> list[s.Statement]:
    """`u_o^t v_c`, `U^t δ`: a ⊤, for an author whose t stands only above what is multiplied by what follows it."""
    small, top = s.Name("t"), s.Name("T")
    every = list(s.every(statements, s.Name))
    marked = [n for n in every if n.sup == (small,) and not n.sup[0].every(s.Group)]
    if not marked or every.count(small) > len(marked) or top in every:
        return statements
    products = list(s.every(statements, s.Product))
    turned = s.ids(f for p in products for f in p.factors[:-1])
    behind = s.ids(b for p in products for a, b in pairwise(p.factors) if a in marked)
    letters = all(is_letter(n.base) and (n.sub or is_capital(n.base)) for n in marked)
    if not letters or not all(id(n) in turned and id(n) not in behind for n in marked):
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node.sup == (small,):
            return replace(node, sup=(replace(top, span=node.sup[0].span),))
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def _squares(product: s.Product) -> bool:
    """`X'X`, `A P A'`: a name with a prime and without, and a matrix among the two and what is between."""
    names = [f for f in product.factors if isinstance(f, s.Name)]
    twice = any(n.primes == 1 and replace(n, primes=0) in names for n in names)
    return twice and any(is_capital(n.base) for n in names)


def _inverted(name: s.Name) -> s.Name:
    """The `A^-` of `A^{-⊤}` is `A^{-1}`."""
    if not name.sup or not isinstance(name.sup[-1], s.Name) or name.sup[-1].base != "-":
        return name
    one = s.Negative(s.Number("1", span=name.span), span=name.span)
    return replace(name, sup=(*name.sup[:-1], one))


def factors(statements: list[s.Statement]) -> list[s.Statement]:
    """`V(u_d + u_b)` is a product: what is in the brackets is a value elsewhere, and no index."""
    sketch = outline(statements, Messages(), document=True)
    bound = index_letters(statements)
    drawn = {id(st.sides[1]) for st in statements if isinstance(st, s.Equation) and st.draws}
    outside = (n for st in statements for n in s.values(st, within=lambda call: False))
    names = [n for n in outside if isinstance(n, s.Name)]
    values = {n.base for n in names}
    bare = {name_key(replace(n, sup=())) for n in names}

    def is_factor(call: s.Call) -> bool:
        name = call.function
        if len(call.arguments) != 1 or opaque(call):
            return False
        if activates(call) and call.arguments[0] != name:
            return False
        if name.base in BUILT_IN or sketch.is_function(name_key(name)) or id(call) in drawn:
            return False
        use = sketch.use(call)
        held = call.arguments[0].every(s.Name)
        scripts = s.ids(script for n in held for script in n.scripts)
        leaves = [n for n in held if id(n) not in scripts]
        value = any(n.base in values and name_key(n) not in bound for n in leaves)
        if use is not None and use.kind == "factor":
            return True
        known = is_letter(name.base) and (
            is_capital(name.base) or name_key(replace(name, sup=())) in bare
        )
        return value and (known or bool(name.sup))

    def split(call: s.Call) -> tuple[s.Expression, s.Expression] | None:
        if not is_factor(call):
            return None
        body = change(call.arguments[0])
        loose = isinstance(body, s.Add | s.Negative | s.Hadamard | s.Product)
        return call.function, s.Group(body, span=body.span) if loose else body

    def change(node: s.Expression) -> s.Expression:
        if (product := multiplied(node, split)) is not None:
            return product
        result = rebuilt(node, change)
        if isinstance(result, s.Product):
            return s.flat(result)
        return result

    return [changed(statement, change) for statement in statements]


COUNTED = frozenset("ijklmnpqst")
"""Letters that number things; another one in their place tells names apart."""


def joined_parts(node: s.Index) -> tuple[s.Expression, ...]:
    """What brackets hold, with commas or semicolons between: `[c; h]`, `[c, h]`."""
    (first, *rest) = node.items or (None,)
    return first.parts if isinstance(first, s.Join) and not rest else node.items


def side_by_side(items: Sequence[s.Expression], indices: Collection[str]) -> bool:
    """The `[h_{t-1}, x_t]` of `W [h_{t-1}, x_t]`: vectors joined, and not the places `[y_{t-1}, y_t]`.

    Their letters differ, one of them has a script, and what has none is a vector by its letter.
    """
    parts = [
        item.factors if isinstance(item, s.Product | s.Hadamard) else (item,) for item in items
    ]
    names = [n.body if isinstance(n, s.Transpose) else n for part in parts for n in part]
    if len(parts) < 2 or not all(isinstance(n, s.Name) for n in names):
        return False
    named = [n for n in names if isinstance(n, s.Name)]
    scripted = [n for n in named if n.sub or n.sup]
    plain = [n for n in named if not n.sub and not n.sup]
    return (
        any(index_name(n) is None for n in scripted)  # `M[t_{in}, J_2]` holds places
        and len({(n.base, n.accents) for n in named}) > 1
        and all(is_letter(n.base) and n.base != "w" for n in named)
        and all(n.base in OFTEN_VECTORS and n.base not in indices for n in plain)
    )


def _is_label(script: s.Expression) -> bool:
    """The θ of `h_θ`, whose parameters it has."""
    return isinstance(script, s.Name) and (script.font == "roman" or script.base in PARAMETERS)


def index_letters(statements: list[s.Statement]) -> set[str]:
    """The letters that are indices for sure: in brackets, below a Σ, in scripts on a left side."""
    found: set[str] = set()
    for statement in statements:
        places: list[s.Expression] = []
        for node in statement.walk():
            if isinstance(node, s.Index) and not side_by_side(joined_parts(node), ()):
                places += node.items
            elif isinstance(node, s.Reduction):
                places += node.under
        if isinstance(statement.left, s.Name):
            places += (i for i in statement.left.sub if not _is_label(i))
        names = s.every(places, s.Name)
        found |= {name_key(n) for n in names if index_name(n) is not None}
    return found
