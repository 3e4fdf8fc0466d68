"""Indices that stand above names, written below, where they are indices for sure.

h^{(t)}, a^{[l]}, x^{(i)}           →  h_t, a_l, x_i
\\mathbf W^{(L)} \\mathbf h^{(L-1)}   →  W_L h_{L-1}        the last layer and the one before
h^{t-1,\\text{dec}}                 →  h_{t-1}^{dec}
p_i^t = softmax(V^⊤ h_t)            →  p_{t,i}, for the t of h_t
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import (
    LAST,
    family,
    index_name,
    is_capital,
    is_lone,
    letters_bound,
)
from indicial.program.vectors.regular import COUNTED, changed, index_letters, opaque, rebuilt


def without_brackets(statements: list[s.Statement]) -> list[s.Statement]:
    """`s^{(t)} = U^t s^{(0)}`: whoever puts steps in brackets means a power of a matrix without."""
    names = [n for n in s.every(statements, s.Name) if n.sup]
    if not any(bracketed(n.sup) == "t" for n in names):
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and _letter_above(node) == "t" and is_capital(node.base):
            return s.Power(replace(node, sup=()), node.sup[0], span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def beside_labels(statements: list[s.Statement]) -> list[s.Statement]:
    """What is above a name beside a label, and places that are counted from the last, written below."""
    names = [n for n in s.every(statements, s.Name) if n.sup]
    steps = {x for n in names if len(n.sup) > 1 for i in n.sup if (x := _shifted(s.inner(i)))}
    above = {x for n in names if len(n.sup) == 1 for i in n.sup if (x := _shifted(s.inner(i)))}
    held = (i.body for n in names if len(n.sup) > 1 for i in n.sup if isinstance(i, s.Group))
    steps |= above & {n.base for n in held if isinstance(n, s.Name)}  # the l of `h^{c,(l)}`
    ends = {x for n in names if isinstance(n.sup[0], s.Group) and (x := _end(n.sup[0].body))}
    for statement in statements if names else ():
        left, *rest = statement.sides if isinstance(statement, s.Equation) else (None,)
        letter = _letter_above(left) if isinstance(left, s.Name) else ""
        below = {i for n in s.every(rest, s.Name) for i in n.sub} if letter in COUNTED else set()
        steps |= {letter} if s.Name(letter) in below else set()
    if not steps and not ends:
        return statements
    whole = {n.stem for n in s.every(statements, s.Name) if not n.sup}

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Call) and not opaque(node):
            return node.rebuild(change)
        if not isinstance(node, s.Name) or not node.sup:
            return rebuilt(node, change)
        if len(node.sup) == 1:
            above = node.sup[0]
            last = isinstance(above, s.Group) and _last(above.body) in ends
            if last or (_letter_above(node) in steps and node.stem not in whole):
                return replace(node, sub=(s.inner(above), *node.sub), sup=())
            return node
        counting = tuple(i for i in node.sup if _counts(s.inner(i), steps))
        below = tuple(map(s.inner, counting))
        label = tuple(i for i in node.sup if i not in counting)
        if not below:
            return node
        turned = label[-1] if label else None
        if isinstance(turned, s.Product) and turned.factors[-1] == s.Name("T"):  # `h^{t-1,dec T}`
            label = (*label[:-1], *turned.factors[:-1])
            return s.Transpose(replace(node, sub=(*below, *node.sub), sup=label), span=node.span)
        return replace(node, sub=(*below, *node.sub), sup=label)

    return [changed(statement, change) for statement in statements]


def _counts(node: s.Expression, steps: set[str]) -> bool:
    """Whether it is one of the steps, or one of them shifted."""
    return (index_name(node) or s.Name("")).base in steps or bool(_shifted(node))


def _shifted(node: s.Expression) -> str:
    """The t of `t-1`."""
    name = index_name(node.terms[0]) if isinstance(node, s.Add) else None
    return name.base if name is not None and not is_capital(name.base) else ""


def _end(node: s.Expression) -> str:
    """The L of `L-1`."""
    return _last(node) if isinstance(node, s.Add) else ""


def _last(node: s.Expression) -> str:
    """The L of `L` and `L-1`."""
    name = s.terms(node)[0]
    return name.base if isinstance(name, s.Name) and name.bare and name.base in LAST else ""


def summed_above(statements: list[s.Statement]) -> list[s.Statement]:
    """`Y^j = Σ_k W^k X^k`: a letter that several names of a sum have above them, and none below, is an index."""
    stems: set[s.Name] = set()
    for total in s.every(statements, s.Reduction):
        names = total.body.every(s.Name) if total.operator == "sum" else ()
        elsewhere = {i for n in names for sub in n.sub for i in sub.every(s.Name)}
        elsewhere.update(n for n in s.values(total.body) if isinstance(n, s.Name) and n.bare)
        for letter in {u for u in map(s.head, map(_binder, total.under)) if is_lone(u)} - elsewhere:
            above = {n.stem for n in names if n.sup == (letter,)}
            stems |= above if len(above) > 1 else set()
    if not stems:
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node.stem in stems and len(node.sup) == 1:
            (script,) = node.sup
            return replace(node, sub=(script, *node.sub), sup=()) if is_lone(script) else node
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def _binder(under: s.Expression) -> s.Expression:
    """The k of `k`, `k=1`, `k ∈ R`."""
    return under.operands[0] if isinstance(under, s.Comparison) else under


def counted(statements: list[s.Statement]) -> list[s.Statement]:
    """`Σ_i y^{(i)} log a^{[L](i)}`: what a Σ binds above a name, in brackets, is an index of it.

    So is what stands above names on both sides: the i of `ŷ^{(i)} = σ(w x^{(i)} + b)`.
    """
    bound = letters_bound(statements) | _carried(statements)
    if not bound:
        return statements

    def change(node: s.Expression) -> s.Expression:
        if not isinstance(node, s.Name) or not any(isinstance(i, s.Group) for i in node.sup):
            return rebuilt(node, change)
        groups = [i for i in node.sup if isinstance(i, s.Group)]
        above = [i for i in groups if bracketed((i,)) in bound and not isinstance(i.body, s.Add)]
        letters = [i.body for i in above]
        rest = tuple(i for i in node.sup if i not in above)
        return replace(node, sub=(*letters, *node.sub), sup=rest) if letters else node

    return [changed(statement, change) for statement in statements]


def _carried(statements: list[s.Statement]) -> set[str]:
    """The letters in brackets above the left side of an equation and its right; no steps."""
    shifted: set[str] = set()
    carried: set[str] = set()
    for statement in statements:
        if not isinstance(statement, s.Equation) or "^" not in statement.span.text:
            continue
        sides = statement.sides
        above = [set(_above(side, shifted)) for side in sides]
        if above[0] and isinstance(sides[0], s.Name):
            carried |= above[0] & set[str]().union(*above[1:]) & COUNTED
    return carried - shifted


def _letter_above(name: s.Name) -> str:
    """The t of `x^t`."""
    (script,) = name.sup if len(name.sup) == 1 else (None,)
    return script.base if isinstance(script, s.Name) and script.bare else ""


def raised(statements: list[s.Statement]) -> list[s.Statement]:
    """`h^{(t)}`, `a^{[l]}`, `x^{(i)}`: an index above is written below, where it is one for sure.

    It is, if its letter is shifted above some name (`h^{(t-1)}`), is bound, or stands above or below
    names on both sides of one equation. `h^{(0)}` goes with `h^{(t)}`; `W^{(1)}` is a name of its own.
    """
    shifted: set[str] = set()
    both: set[str] = set()
    for statement in statements:
        if not isinstance(statement, s.Equation):
            continue
        sides = [set(_above(side, shifted)) for side in statement.sides]
        left = statement.left.sub if isinstance(statement.left, s.Name) else ()
        below = {i.base for i in left if isinstance(i, s.Name) and is_lone(i) and not i.font}
        both |= (sides[0] | below) & set[str]().union(*sides[1:])  # `o_e = W^{(e)} x` too
    found = shifted | both | letters_bound(statements) | _shifted_below(statements)
    names = list(s.every(statements, s.Name))
    lettered = {n.stem for n in names if any(not isinstance(i, s.Number) for i in n.sub)}
    above = {n.stem for n in names if bracketed(n.sup) in found}
    if not above:
        return statements
    indices = {n[:1] for n in index_letters(statements)} | _shifted_below(statements)
    bare = {n.stem for n in names if not n.sup}

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node.stem not in bare and _letter_above(node) in shifted:
            node = replace(node, sup=(s.Group(node.sup[0], span=node.span),))  # `x^t`, `h^{(t-1)}`
        if isinstance(node, s.Name) and bracketed(node.sub) in found:
            node = replace(node, sub=tuple(i.body for i in node.sub if isinstance(i, s.Group)))
        if isinstance(node, s.Name) and len(node.sup) == 1 and isinstance(node.sup[0], s.Group):
            number = _is_place(node.sup[0].body, found) and node.stem in above
            if number or bracketed(node.sup) in found:
                below = node.sub if node.stem in lettered else tuple(map(_label, node.sub))
                below = tuple(
                    replace(i, font="roman")
                    if isinstance(i, s.Name)
                    and i.base not in indices
                    and (node.stem in bare or not indices.issuperset(i.base))  # not `θ_{ij}^{(l)}`
                    else i
                    for i in below
                )
                return replace(node, sub=(node.sup[0].body, *below), sup=())
        if isinstance(node, s.Index):
            # What brackets hold may be vectors, `W [h^{(t-1)}, x^{(t)}]`, or a token: `softmax(…)[y^{(t)}]`.
            return replace(node, base=change(node.base), items=tuple(map(change, node.items)))
        if isinstance(node, s.Call) and (node.given is not None or not opaque(node)):
            return node.rebuild(change)  # the t of `P(y^{(t)} | y^{(t-1)}, x)` too
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def bracketed(sup: tuple[s.Expression, ...]) -> str | None:
    """The letter of `(t)`, `(t-1)`, `[l]` above a name."""
    if len(sup) != 1 or not isinstance(sup[0], s.Group):
        return None
    name = index_name(s.terms(sup[0].body)[0])
    return name.base if name is not None and not is_capital(name.base) else None


def _is_place(node: s.Expression, letters: set[str]) -> bool:
    """The 0 of `h^{(0)}`, the L of `h^{(L)}` beside `h^{(l)}`."""
    last = node.base in LAST and node.bare if isinstance(node, s.Name) else False
    return isinstance(node, s.Number) or (
        last and isinstance(node, s.Name) and family(node) in {family(s.Name(x)) for x in letters}
    )


def _label(script: s.Expression) -> s.Expression:
    """The 1 of `W_1^{(l)}` tells names apart, also where the l is an index."""
    return (
        s.Name(script.text, font="roman", span=script.span)
        if isinstance(script, s.Number)
        else script
    )


def _shifted_below(statements: list[s.Statement]) -> set[str]:
    """The l of `x_{l+1}`: then `W^{(l)}` has that index."""
    scripts = (script for name in s.every(statements, s.Name) for script in name.sub)
    return {letter for script in scripts if (letter := _shifted(script))}


def _above(side: s.Expression, shifted: set[str]) -> Iterable[str]:
    """The letters above names in brackets; those that are shifted are noted as well."""
    for node in side.every(s.Name):
        letter = bracketed(node.sup)
        if letter is not None:
            group = node.sup[0]
            if isinstance(group, s.Group) and isinstance(group.body, s.Add):
                shifted.add(letter)
            yield letter
