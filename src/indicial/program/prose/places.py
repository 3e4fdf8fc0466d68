r"""Brackets of prose that only number what stands before them → indices.

P(w_j | w_i) = exp(u_j^⊤ v_i) / …    →  P_{ij} = …             i and j number words
p(y_k = 1 | x) = exp(w_k · x) / …    →  p_k = …                of one of the values
score(x_i, x_j) = q_i · k_j          →  score_{ij} = …         the right side has i and j, and no x
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import (
    PARAMETERS,
    index_expression,
    index_name,
    is_capital,
    is_lone,
)
from indicial.program.names.naming import FUNCTION_LETTERS, activates
from indicial.program.names.outline import Outline
from indicial.program.names.uses import BUILT_IN, PROBABILITY
from indicial.program.vectors.shapes import dotted


def by_places(statement: s.Statement, outline: Outline) -> s.Statement:
    """`score(x_i, x_j) = q_i · k_j`, `Σ_n γ(z_{nk}) x_n`: names that only carry indices into brackets.

    The right side has the indices and not the names; or the names stand in such brackets alone.
    """
    calls = [c for c in statement.every(s.Call) if _places(c, outline)]
    tables = {c.function.stem for c in calls if _is_table(c, outline)}
    if not tables:
        return statement

    def change(node: s.Expression) -> s.Expression:
        if (
            isinstance(node, s.Call)
            and node.function.stem in tables
            and (places := _places(node, outline))
        ):
            name = node.function
            own = (
                replace(i, font="roman") if isinstance(i, s.Name) and i.base in PARAMETERS else i
                for i in name.sub
            )
            return replace(name, sub=(*own, *places), span=node.span)
        return node.rebuild(change)

    return statement.rebuild(change)


def _places(call: s.Call, outline: Outline) -> tuple[s.Expression, ...]:
    """The i and j of `score(x_i, x_j)`; nothing if the brackets hold anything else."""
    if call.given is not None or call.word in BUILT_IN or call.word in PROBABILITY:
        return ()
    names = [a for a in call.arguments if isinstance(a, s.Name) and a.sub and not a.sup]
    read = [outline.naming.read(name).items for name in names]
    indices = tuple(i for items in read for i in items) if all(read) else ()
    whole = names and len(names) == len(call.arguments) and len(set(indices)) == len(indices)
    return indices if whole and all(map(index_expression, indices)) else ()


def _is_table(call: s.Call, outline: Outline) -> bool:
    """Whether what is in the brackets of a function is nothing but indices, wherever it stands."""
    every = [
        c for c in s.every(outline.statements, s.Call) if c.function.stem == call.function.stem
    ]
    if not all(_places(c, outline) for c in every):
        return False
    carried = {a.stem for c in every for a in c.arguments if isinstance(a, s.Name)}
    equations = [st for st in outline.statements if isinstance(st, s.Equation)]
    heads = [st for st in equations if st.left in every]
    for st in heads:
        right = s.every(st.sides[1:], s.Name)
        below = {i for n in right for i in outline.naming.read(n).items}
        places = _places(st.left, outline) if isinstance(st.left, s.Call) else ()
        if carried & {n.stem for n in right} or not below >= set(places):
            return False
    inside = sum(len(c.arguments) for c in every)
    held = [n for n in s.every(outline.statements, s.Name) if n.stem in carried]
    # The a_{it} of `y_t(a_{it})` is looked up in y_t.
    named = call.word not in FUNCTION_LETTERS and not call.function.sub and not activates(call)
    alone = named and len(held) == inside and len(_places(call, outline)) > len(call.arguments)
    return bool(heads) or alone


def by_number(statement: s.Statement, outline: Outline) -> s.Statement:
    """`P(w_j | w_i) = exp(u_j^⊤ v_i) / …`, with no w on the right: i and j number words, and P is P_{ij}."""
    left = statement.sides[0] if isinstance(statement, s.Equation) else None
    if not isinstance(statement, s.Equation) or not isinstance(left, s.Call):
        return statement
    held_words = (*(left.given or ()), *left.arguments)
    words = [n for n in held_words if isinstance(n, s.Name) and len(n.sub) == 1]
    letters = [index_name(word.sub[0]) for word in words]
    bases = {(word.base, word.accents) for word in words}
    right = list(s.every(statement.sides[1:], s.Name))
    held = {n for n in right if index_name(n) is not None}
    named = _of_one(left, right, outline)
    if named is not None and named.sub and not all(map(_is_dotted, statement.sides[1:])):
        named = None  # `p(y_k = 1 | x) = σ(W_k h)`: a number, whatever the product looks like
    places = _at_values(left, right)
    if left.given is not None and all(map(is_lone, held_words)) and _only_number(left, right):
        places = tuple(
            n for n in held_words if isinstance(n, s.Name)
        )  # `p(o | c) = exp(u_o^⊤ v_c) / …`
    if places:
        own = (replace(i, font="roman") if isinstance(i, s.Name) else i for i in left.function.sub)
        named = replace(left.function, sub=(*own, *places))
    if named is not None:
        return replace(statement, sides=(replace(named, span=left.span), *statement.sides[1:]))
    whole = len(words) == len(held_words) and len(bases) == 1
    if not whole or left.word not in PROBABILITY or not all(n in held for n in letters):
        return statement
    if any((n.base, n.accents) in bases for n in right) or not set(letters) - {None}:
        return statement
    if normalised_over_its_place(left, statement.sides[-1]):
        return statement
    sub = tuple(n for n in letters if n is not None)
    return replace(
        statement, sides=(replace(left.function, sub=sub, span=left.span), *statement.sides[1:])
    )


def normalised_over_its_place(call: s.Call, right: s.Expression) -> bool:
    """`p(w_t) = softmax(z_t)`: over the words, which nothing writes, and not over t."""
    places = {i for a in call.arguments if isinstance(a, s.Name) for i in a.sub}
    held: tuple[s.Expression, ...] = ()
    if isinstance(right, s.Reduction) and right.operator == "softmax":
        held = (s.inner(right.body),)
    elif isinstance(right, s.Call) and right.word == "softmax":
        held = right.arguments
    return any(isinstance(a, s.Name) and bool(a.sub) and {*a.sub} <= places for a in held)


def _of_one(left: s.Call, right: Sequence[s.Name], outline: Outline) -> s.Name | None:
    """`P(y = 1 | x) = σ(w^⊤ x)`: of the two values that y has, the one that is asked for; p_k for `p(y_k = 1 | x)`."""
    match left.arguments:
        case (s.Comparison(operands=(s.Name() as asked, s.Number() as value), operators=("=",)),):
            calls = [c for c in s.every(outline.statements, s.Call) if c.function == left.function]
            several = len({c.arguments for c in calls}) > 1
            if left.word not in PROBABILITY or (value.text != "1" and not several):
                return None
            below = {s.inner(i) for n in right for i in n.sub}
            places = tuple(i for i in asked.sub if i in below)
            if len(places) < len(asked.sub) or asked in right:
                return None
            values = (value,) if several else ()
            return replace(left.function, sub=(*left.function.sub, *places, *values))
    return None


def _is_dotted(side: s.Expression) -> bool:
    """Whether its products of small letters are numbers, by a dot or a transpose; there are no others."""
    products = [
        p for p in side.every(s.Product) if sum(isinstance(f, s.Name) for f in p.factors) > 1
    ]
    capitals = any(is_capital(n.base) and n.sub for n in side.every(s.Name))
    return not capitals and all(dotted(product) for product in products)


def _at_values(left: s.Call, right: Sequence[s.Name]) -> tuple[s.Name, ...]:
    """The i and k of `P(y_i = k | x_i)`, `π(k | s_i)`: what numbers the right side; nothing if more is asked."""
    asked = [a for a in left.arguments if isinstance(a, s.Comparison) and a.operators == ("=",)]
    events = len(asked) == len(left.arguments) == 1 and left.word in PROBABILITY
    if not events and (left.given is None or left.word in PROBABILITY | BUILT_IN):
        return ()
    below = {i for n in right for i in n.sub}
    told = [a.operands[0] for a in asked] if events else []
    values = [asked[0].operands[1]] if events else list(left.arguments)
    beside = [i for n in (*(left.given or ()), *told) if isinstance(n, s.Name) for i in n.sub]
    letters = dict.fromkeys(n for n in (*beside, *values) if isinstance(n, s.Name) and n in below)
    predicted = {(n.base, n.accents) for n in told if isinstance(n, s.Name)}
    read = any((n.base, n.accents) in predicted for n in right)
    return tuple(letters) if letters and set(values) <= set(letters) and not read else ()


def _only_number(left: s.Call, right: Sequence[s.Name]) -> bool:
    """Whether all that a probability is of, and given, stands below names on the right, and nowhere else."""
    below = {i for n in right for i in n.sub}
    scripts = s.ids(i for n in right for i in n.scripts)
    values = {n for n in right if id(n) not in scripts}
    held = {*(left.given or ()), *left.arguments}
    return held <= below and not held & values
