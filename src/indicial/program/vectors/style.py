"""Whether a program is in vector style: what it leaves the indices out of.

h_t = tanh(W h_{t-1} + b)      a capital in a product, without brackets
\\mathbf y = \\mathbf x         bold letters
h[t,j] = W[j,I] h[t-1,I]       nothing is left out: not touched
L = K T                        sizes: not touched
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeGuard

from indicial.notation import syntax as s
from indicial.notation.vocabulary import SPACE, TOLD
from indicial.program.names.derivatives import is_gradient
from indicial.program.names.letters import ALL, OFTEN_VECTORS, is_capital, is_letter, letters_bound
from indicial.program.names.naming import activates
from indicial.program.names.uses import BUILT_IN
from indicial.program.vectors.kinds import GREEK_MATRICES, OFTEN_COLUMNS, is_greek, sizes
from indicial.program.vectors.leaves import JOINING, MATRIX_FUNCTIONS, is_element
from indicial.program.vectors.regular import (
    holds_vectors,
    joined_parts,
    side_by_side,
)
from indicial.program.vectors.shapes import diagonal, dotted, inverts
from indicial.program.vectors.spelling import OF_ENTRIES, starred
from indicial.program.vectors.tables import NORMALISED

SIZES = frozenset("TNLIJ")
"""Capitals that are sizes if nothing says otherwise."""

STATES = frozenset("hcHC")
"""Letters of what a cell remembers, whatever its gates are multiplied with."""


def in_vector_style(statements: Sequence[s.Statement]) -> bool:
    """Whether a name that has indices is written without them."""
    declared = [st for st in statements if isinstance(st, s.Declaration)]
    if any(st.keyword in ("vector", "matrix") for st in declared):
        return True
    said = {
        item.base: _RANKS.get(st.domain.base) or len(sizes(st.domain))
        for st in declared
        if isinstance(st.domain, s.Name)
        and (
            (st.keyword == SPACE and st.domain.sup)
            or (st.keyword == TOLD and st.domain.base != "number")
        )
        for item in st.items
        if isinstance(item, s.Name)
    }
    statements = [st for st in statements if not isinstance(st, s.Declaration)]
    nodes = list(_nodes(statements))
    if any(is_element(n) and ALL in n.items for n in nodes):
        return True
    if said and any(isinstance(n, s.Name) and n.base in said for n in nodes):
        return True
    brackets = [n for n in nodes if isinstance(n, s.Index)]
    if any(len(n.items) < said.get(n.base.base, 0) for n in brackets if isinstance(n.base, s.Name)):
        return True  # `W_E[i]`, a row of `W_E ∈ ℝ^{V×d}`
    indexed = frozenset(_indexed(statements))
    calls = [n for n in nodes if isinstance(n, s.Call) and n.given is None]
    arguments = [n for call in calls for n in call.arguments if isinstance(n, s.Name)]
    if [n for n in arguments if n.font == "bold" and is_letter(n.base)]:
        return True
    if _whole_and_element(statements) or any(map(_weighs, statements)):
        return True
    turned = s.every([st for st in statements if _TURNED.search(st.span.text)], s.Transpose)
    if any(_is_value(n.body) and _shows(n, indexed) for n in turned):
        return True  # also in `k_t (v_t - k_t^⊤ S_{t-1})`, which looks like a call
    return any(_shows(node, indexed) for node in nodes)


_RANKS = {"vector": 1, "matrix": 2}
_TURNED = re.compile(r"⊤|\\top|\\intercal")


def _whole_and_element(statements: Sequence[s.Statement]) -> bool:
    """`Σ_i x_i` beside `y = x - μ`: x is written with an index and without."""
    bound = letters_bound(statements)
    names = [n for n in _nodes(statements) if isinstance(n, s.Name) and _is_value(n) and not n.sup]
    whole = {(n.base, n.accents) for n in names if not n.sub and n.base not in bound}
    return any(
        (n.base, n.accents) in whole
        and len(n.sub) == 1
        and isinstance(n.sub[0], s.Name)
        and n.sub[0].base in bound
        for n in names
    )


def _weighs(statement: s.Statement) -> bool:
    """`c = Σ_i α_i h_i`, `w = Σ_i α_i y_i x_i`: what weights add up is a vector by its letter."""
    if not isinstance(statement, s.Equation) or len(statement.sides) != 2:
        return False
    left, right = statement.sides
    if any(_gathers(left, total.body) for total in right.every(s.Reduction)):
        return True
    if isinstance(right, s.Add) and all(map(_weighed, right.terms)):
        return True
    if not isinstance(right, s.Reduction) or right.operator != "sum" or not right.under:
        return False
    factors = right.body.factors if isinstance(right.body, s.Product) else ()
    if len(factors) < 2 or not _is_greek(factors[0]):
        return False
    weight, last = factors[0], factors[-1]
    if isinstance(weight, s.Name) and _two_letters(weight):  # `ẑ_t = Σ_i α_{ti} a_i`
        return len(factors) == 2 and isinstance(last, s.Name) and len(last.sub) == 1
    return all(isinstance(n, s.Name) and n.base in OFTEN_VECTORS | {"w"} for n in (left, last))


def _weighed(term: s.Expression) -> bool:
    """The `α_1 v_1` of `z = α_1 v_1 + α_2 v_2`."""
    match term:
        case s.Product(factors=(s.Name() as weight, s.Name() as vector)) if _is_greek(weight):
            numbered = [isinstance(i, s.Number) for i in weight.sub] == [True]
            return numbered and weight.sub == vector.sub and vector.base in OFTEN_VECTORS | {"w"}
    return False


def _gathers(left: s.Expression, body: s.Expression) -> bool:
    """`H'_i = Σ_j A_{ij} H_j`: a row of the same matrix for each neighbour."""
    weight, last = (
        body.factors if isinstance(body, s.Product) and len(body.factors) == 2 else (0, 0)
    )
    if not isinstance(weight, s.Name) or not isinstance(last, s.Name) or not _two_letters(weight):
        return False
    rows = isinstance(left, s.Name) and left.base == last.base and len(left.sub) == 1
    return rows and len(last.sub) == 1 and last.base.isupper()


def _two_letters(weight: s.Name) -> bool:
    """`α_{ti}`, `α_{t,i}`: a weight for each place, at each step."""
    return len([c for i in weight.sub if isinstance(i, s.Name) and i.bare for c in i.base]) == 2


def _nodes(statements: Iterable[s.Statement]) -> Iterator[s.Node]:
    """All nodes that are values: nothing inside index brackets, scripts or probabilities."""
    for statement in statements:
        stack: list[s.Node] = [statement]
        while stack:
            node = stack.pop()
            if isinstance(node, s.Expression) and s.is_condition(node):
                continue
            yield node
            if is_element(node):
                stack.append(node.base)
            if isinstance(node, s.Index | s.Name):
                if holds_vectors(node):
                    stack.extend(node.children())
                continue
            if isinstance(node, s.Call):
                stack.extend(node.arguments if _takes_values(node) else ())
            elif isinstance(node, s.Reduction):
                stack.append(node.body)
            else:
                stack.extend(node.children())


def _takes_values(call: s.Call) -> bool:
    """Not `L_ℓ(t_1, J_1)`: round brackets behind a letter may hold indices, but not `η (A x + B u)`."""
    known = call.word in BUILT_IN | MATRIX_FUNCTIONS
    factors = (f for a in call.arguments for n in a.every(s.Product) for f in n.factors)
    weighs = any(isinstance(f, s.Name) and is_capital(_letter(f)) for f in factors)
    norms = any(a.every(s.Norm) for a in call.arguments)
    return call.given is None and (known or activates(call) or weighs or norms)


def _indexed(statements: Iterable[s.Statement]) -> Iterator[str]:
    """The letters of indices, with their capitals."""
    for statement in statements:
        items = [item for node in statement.every(s.Index) for item in node.items]
        for node in statement.every(s.Reduction):
            items += [*node.under, *([node.upper] if node.upper is not None else [])]
        for item in items:
            for name in item.every(s.Name):
                if is_letter(name.base):
                    yield name.base
                    yield name.base.upper()


def _shows(node: s.Node, indexed: frozenset[str]) -> bool:
    if isinstance(node, s.Name) and node.ends:
        return is_gradient(node) or _of_wholes(node)
    if isinstance(node, s.Name):
        arrow = "vec" in node.accents and len(node.sub) < 2
        degrees = bool(node.sup) and diagonal(node, node.sup[-1])  # `D^{-1/2} A D^{-1/2}`
        return ((node.font == "bold" or arrow) and is_letter(node.base)) or (
            node.base in GREEK_MATRICES or degrees
        )
    if isinstance(node, s.Transpose):
        # `μ^⊤ q`: a Greek letter that is turned is no number, but γ^T may be a power.
        turned = "T" not in node.span.text[len(node.body.span.text) :]
        return any(
            _is_value(n) or isinstance(n, s.Call) or (turned and _is_greek(n))
            for n in _values(node.body)
        )
    if isinstance(node, s.Index) and node.base == s.Name("E") and len(node.items) == 1:
        return isinstance(node.items[0], s.Name) and bool(node.items[0].sub)  # `e_t = E[x_t]`
    if isinstance(node, s.Index):  # `W [h_{t-1}, x_t]`
        return _matrix(node.base, indexed) and side_by_side(joined_parts(node), indexed)
    if isinstance(node, s.Product):
        beside = [f for f in node.factors if isinstance(f, s.Name)]
        if len(beside) > 1 and any(_dotted(node, n) for n in dotted(node)):
            return True
        if any(_matrix(a, indexed) and _is_multiplied(b) for a, b in pairwise(node.factors)):
            return True
        if any(isinstance(a, s.Name) and _joins(b) for a, b in pairwise(node.factors)):
            return True
        return any(
            (_matrix(one, indexed) and _beside(two, indexed))
            or (starred(a, b) and _is_value(one) and _is_state(two))
            or (_is_gate(one) and _is_state(two) and isinstance(two.scripts[0], s.Add))
            for a, b in zip(node.factors, node.factors[1:], strict=False)
            for one, two in ((a, b), (b, a))
        )
    if isinstance(node, s.Power) and inverts(node.exponent):
        return any(_matrix(n, indexed) for n in _values(node.base))
    if isinstance(node, s.Add) and s.Name("I") in map(s.unsigned, node.terms):  # `A + I`
        return "I" not in indexed and any(_matrix(t, indexed) for t in map(s.unsigned, node.terms))
    if isinstance(node, s.TupleLiteral) and node.inner:  # `⟨x, k⟩`
        return all(any(map(_is_value, _values(n))) for n in node.items)
    if isinstance(node, s.Norm):
        return any(_is_value(n) and _beside(n, indexed) for n in _values(node.body))
    if isinstance(node, s.Hadamard):
        names = [n for f in node.factors for n in _values(f) if not isinstance(n, s.Call)]
        return bool(names) and all(
            _is_value(n) and not _two_indices(n) for n in names if not _is_greek(n)
        )
    if isinstance(node, s.Reduction) and node.operator == "softmax" and not node.under:
        return any(
            _is_value(n) and not _two_indices(n) and _beside(n, indexed) for n in _values(node.body)
        )
    if isinstance(node, s.Call):
        if len(node.arguments) == 1 and node.word in OF_ENTRIES:  # `max(c)`: of its entries
            return any(_is_value(n) and not _two_indices(n) for n in _values(node.arguments[0]))
        if node.function.base in NORMALISED | {"diag", "Diag"}:
            return any(_is_value(n) for n in _values(node))
        factor = is_capital(node.function.base) and len(node.arguments) == 1
        return (
            factor
            and _matrix(node.function, indexed)
            and any(
                _beside(n, indexed) for a in node.arguments if not _is_place(a) for n in _values(a)
            )
            and node.given is None
        )
    return False


def _joins(node: s.Expression) -> bool:
    """The `[h_{t-1}, x_t]` of `w_u [h_{t-1}, x_t]`."""
    if not isinstance(node, s.ListLiteral):
        return False
    columns = node.span.text.startswith("\\begin") and all(map(_is_state, node.items))
    return columns or side_by_side(node.items, ())


def _dotted(node: s.Product, number: int) -> bool:
    """`q · k_i`, `s_t · h_i`: a query and a key, or two states at two places, are vectors."""
    one, two = node.factors[number - 1 : number + 1]
    if not isinstance(one, s.Name) or not isinstance(two, s.Name):
        return False
    if {one.base, two.base} == {"q", "k"}:
        return True
    states = all(n.base in OFTEN_VECTORS | {"s"} and len(n.sub) == 1 for n in (one, two))
    return states and one.sub != two.sub


def _values(node: s.Expression) -> Iterator[s.Expression]:
    """The names in an expression that have values."""
    return (
        n for n in _nodes([s.Equation((node,), ())]) if isinstance(n, s.Name | s.Index | s.Call)
    )


def _is_value(node: s.Node) -> bool:
    """A name without brackets that is no number by its letter."""
    return isinstance(node, s.Name) and is_letter(_letter(node)) and not is_greek(_letter(node))


def _letter(name: s.Name) -> str:
    """`W.grad` has the shape of W."""
    return name.base.removesuffix(".grad")


def _is_multiplied(node: s.Node) -> bool:
    """The β of `X β`, the Θ of `X Θ`: numbers stand before a matrix."""
    behind = OFTEN_COLUMNS | {"Θ", "Φ", "Ψ"}
    return isinstance(node, s.Name) and node.base in behind and not node.scripts


def _is_greek(node: s.Node) -> bool:
    return isinstance(node, s.Name) and is_greek(node.base)


def _two_indices(node: s.Node) -> bool:
    return isinstance(node, s.Name) and len(node.sub) > 1


def _matrix(node: s.Expression, indexed: frozenset[str]) -> bool:
    """A capital letter that is no size: `W`, `W_{xh}`, `W^Q`."""
    if isinstance(node, s.Transpose):
        node = node.body
    if not isinstance(node, s.Name) or not is_capital(_letter(node)) or node.base in indexed:
        return False
    if _is_element(node, indexed):
        return False
    return node.base not in SIZES or bool(node.sub or node.sup)


def _is_element(node: s.Name, indexed: frozenset[str]) -> bool:
    """`A_{ij}`: two letters below that are indices elsewhere."""
    letters = [c for i in node.sub if isinstance(i, s.Name) and i.bare for c in i.base]
    return len(letters) > 1 and any(c in indexed for c in letters)


def _of_wholes(derivative: s.Name) -> bool:
    """Whether what is differentiated, or by what, is no number: a bold letter, a weight, a state."""
    ends = derivative.ends
    states = len(ends) == 2 and ends[0].stem == ends[1].stem
    return any(_is_whole(end, "ijklmnstτℓ" if states else "tτlℓ", len(ends) == 2) for end in ends)


def _is_whole(end: s.Name, steps: str, state: bool) -> bool:
    letters = [n.base for i in end.scripts for n in i.every(s.Name)]
    if end.font == "bold" and is_letter(end.base):
        return True
    if is_capital(end.base):
        below = [n.base for i in end.sub for n in i.every(s.Name) if n.base != "in"]
        elements = [word for word in below if {*word} <= {*"abijkmn"}]
        return end.base not in SIZES and not elements
    stepped = bool(letters) and {*letters} <= {*steps}
    return state and stepped and end.base in OFTEN_VECTORS


def _is_gate(node: s.Expression) -> bool:
    """`z_t`, `(1 - z_t)`: what a state is multiplied with at each step."""
    node = s.inner(node)
    if isinstance(node, s.Add):
        names = [t for t in map(s.unsigned, node.terms) if not isinstance(t, s.Number)]
        return len(names) == 1 and _is_gate(names[0])
    if not isinstance(node, s.Name) or not _is_value(node) or node.primes or node.font:
        return False
    return node.base.islower() and _is_step(node)


def _is_step(name: s.Name) -> bool:
    (script,) = name.scripts if len(name.scripts) == 1 else (None,)
    return isinstance(script, s.Name) and is_letter(script.base)


def _is_state(node: s.Expression) -> TypeGuard[s.Name]:
    """`h_{t-1}`: whoever writes `z_t * h_{t-1}` multiplies vectors."""
    return isinstance(node, s.Name) and node.base in STATES and bool(node.sub or node.sup)


def _is_place(node: s.Expression) -> bool:
    """`t`, `t-1`, `0`: what may be an index in round brackets."""
    terms = s.terms(node)
    inner = [t.body if isinstance(t, s.Negative) else t for t in terms]
    names = [t for t in inner if not isinstance(t, s.Number)]
    return len(names) < 2 and all(isinstance(n, s.Name) and not n.font for n in names)


def _beside(node: s.Expression, indexed: frozenset[str]) -> bool:
    """What a matrix is multiplied by: another letter, or a bracket that holds one."""
    if isinstance(node, s.Group | s.Negative):
        return any(_beside(n, indexed) for n in _values(node.body))
    if isinstance(node, s.Transpose):
        return _beside(node.body, indexed)
    if isinstance(node, s.ListLiteral):  # `W [h_{t-1}, x_t]`
        return side_by_side(node.items, indexed)
    if isinstance(node, s.Call):
        return node.word in JOINING or any(_beside(a, indexed) for a in node.arguments)
    if not _is_value(node) or not isinstance(node, s.Name):
        return False
    if is_capital(_letter(node)):
        return _matrix(node, indexed)
    return node.base not in indexed or bool(node.sub)
