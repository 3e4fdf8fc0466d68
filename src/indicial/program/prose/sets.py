r"""Sums over a set that has only a name → sums over all of its members.

L = 1/|ℬ| Σ_{i∈ℬ} (y_i - p_i)^2       →  L = 1/B Σ_{i=1}^B (y_i - p_i)^2
a = 1/|ℬ| Σ_{i=1}^{|ℬ|} x_i           →  a = 1/B Σ_{i=1}^B x_i
ŷ = argmax_{k∈𝒴} p_k                  →  ŷ = argmax_k p_k
z_u = W h_u  for all u ∈ 𝒱            →  z_u = W h_u
r = Σ_{q∈{mse,vel}} λ_q s_q           →  r = Σ_q λ_q s_q

Whoever names a set and says nothing of it numbers its members by the letter. With two sets in a text
the same letter may mean two things, and nothing is changed.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.signs import SCRIPT_LETTERS
from indicial.program.names.letters import is_capital, is_lone
from indicial.program.names.outline import Outline

_LATIN = {script: letter for letter, script in SCRIPT_LETTERS.items()}


def over_members(statement: s.Statement, sketch: Outline) -> s.Statement:
    """A statement with the one set of its text gone; `sketch` is of all that stand with it."""
    if not isinstance(statement, s.Equation):
        return statement
    statement = _for_all(_by_names(_by_count(statement, sketch), sketch), sketch)
    if not statement.every(s.Comparison):
        return statement
    memberships = [c for c in s.every(sketch.statements, s.Comparison) if _is_membership(c)]
    sets = {c.operands[1] for c in memberships}
    if len(sets) != 1:
        return statement
    (members,) = sets
    assert isinstance(members, s.Name)
    if not _only_counted(members, memberships, sketch):
        return statement
    count = _count(members, sketch)
    counted = any(_counts(call, members) for call in statement.every(s.Call))

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Call) and _counts(node, members):
            return replace(count, span=node.span)
        if isinstance(node, s.Reduction) and node.upper is None and len(node.under) == 1:
            (under,) = node.under
            if isinstance(under, s.Comparison) and _is_membership(under):
                first = under.operands[0]
                if not counted:
                    return replace(node, under=(first,), body=change(node.body))
                one = s.Comparison((first, s.Number("1")), ("=",), span=under.span)
                return replace(node, under=(one,), upper=count, body=change(node.body))
        return node.rebuild(change)

    guard = statement.guard
    if isinstance(guard, s.Comparison) and _is_membership(guard):
        guard = None
    return replace(statement.rebuild(change, keep=("guard",)), guard=guard)


def _for_all(statement: s.Equation, sketch: Outline) -> s.Equation:
    """`y_i = x_i + b  (1 ≤ i ≤ n)`: for all i that there are, unless another equation is for the others."""
    left = statement.left
    match s.inner(statement.guard) if statement.guard is not None else None:
        case s.Comparison(
            operands=(s.Number(text="0" | "1"), s.Name() as letter, s.Name() as last),
            operators=("≤", "≤" | "<"),
        ) if last.bare and isinstance(left, s.Name) and letter in left.scripts:
            pass
        case _:
            return statement
    scripts = (i for n in statement.every(s.Name) for i in n.scripts if i != letter)
    stepped = any(letter in script.every(s.Name) for script in scripts)  # `s_i = s_{i-1} + x_i`
    computed = any(last in s.values(side) for side in statement.sides)
    equations = (st for st in sketch.statements if isinstance(st, s.Equation))
    heads = [s.head(st.left) for st in equations if st.span != statement.span]
    others = any(isinstance(head, s.Name) and head.stem == left.stem for head in heads)
    if stepped or computed or others:
        return statement
    return replace(statement, guard=None)


def _by_names(statement: s.Equation, sketch: Outline) -> s.Equation:
    """`Σ_{q ∈ {mse, vel}} λ_q S_q`: words that only tell apart what is added up, of which there are some."""

    def change(node: s.Expression) -> s.Expression:
        match node:
            case s.Reduction(under=(s.Comparison(operators=("∈",)) as under,), upper=None):
                letter, members = under.operands
                if is_lone(letter) and _are_words(members, sketch):
                    return replace(node, under=(letter,), body=change(node.body))
        return node.rebuild(change)

    return statement.rebuild(change) if statement.every(s.SetLiteral) else statement


def _are_words(members: s.Expression, sketch: Outline) -> bool:
    """Whether a set holds words that stand nowhere but in sets."""
    words = members.items if isinstance(members, s.SetLiteral) else ()
    sets = s.every(sketch.statements, s.SetLiteral)
    held = [n for found in sets for n in found.items if isinstance(n, s.Name)]
    names = list(s.every(sketch.statements, s.Name))
    return bool(words) and all(
        isinstance(n, s.Name) and n.bare and len(n.base) > 1 and names.count(n) == held.count(n)
        for n in words
    )


def _by_count(statement: s.Equation, sketch: Outline) -> s.Equation:
    """`1/|ℬ| Σ_{i=1}^{|ℬ|} …`: a set that is only counted is a number."""
    held = [_counted(call) for call in statement.every(s.Call)]
    if not (sets := {name for name in held if name is not None}):
        return statement
    calls = [c for c in s.every(sketch.statements, s.Call) if _counted(c) is not None]
    ends = [n.upper for n in s.every(sketch.statements, s.Reduction) if n.upper is not None]
    known = s.ids([*(c.arguments[0] for c in calls), *ends])  # the bars of an end are gone
    every = s.every(sketch.statements, s.Name)
    counts = {
        name: _count(name, sketch)
        for name in sets
        if all(id(n) in known for n in every if n.base == name.base)
    }

    def change(node: s.Expression) -> s.Expression:
        name = _counted(node) if isinstance(node, s.Call) else node
        if isinstance(name, s.Name) and name in counts:
            return replace(counts[name], span=node.span)
        return node.rebuild(change)

    return statement.rebuild(change) if counts else statement


def _counted(call: s.Call) -> s.Name | None:
    """The ℬ of `|ℬ|`."""
    match call:
        case s.Call(function=s.Name(base="abs"), arguments=(s.Name(base=base) as name,)):
            return name if not name.scripts and base in _LATIN else None
    return None


def _count(members: s.Name, sketch: Outline) -> s.Name:
    """The number of members: B of ℬ, or N_B if there is another B."""
    letter = _LATIN.get(members.base, members.base)
    taken = letter != members.base and s.Name(letter) in s.every(sketch.statements, s.Name)
    return s.Name("N", sub=(s.Name(letter),)) if taken else s.Name(letter)


def _is_membership(node: s.Comparison) -> bool:
    """`i ∈ ℬ`, `k ∈ C`."""
    if node.operators != ("∈",) or not is_lone(node.operands[0]):
        return False
    members = node.operands[1]
    if not isinstance(members, s.Name) or not members.bare:
        return False
    return members.base in _LATIN or (len(members.base) == 1 and is_capital(members.base))


def _counts(call: s.Call, members: s.Name) -> bool:
    """`|ℬ|`."""
    return call.word == "abs" and call.arguments == (members,)


def _only_counted(members: s.Name, memberships: list[s.Comparison], sketch: Outline) -> bool:
    """Whether the name of the set stands for nothing but the set, and its letters run over nothing else."""
    letters = {c.operands[0] for c in memberships}
    sums = s.every(sketch.statements, s.Reduction)
    if any(letter in r.under or _runs(letter, r) for r in sums for letter in letters):
        return False
    calls = [c for c in s.every(sketch.statements, s.Call) if _counts(c, members)]
    known = s.ids([*(c.operands[1] for c in memberships), *(c.arguments[0] for c in calls)])
    every = (n for n in s.every(sketch.statements, s.Name) if n.base == members.base)
    return all(id(name) in known for name in every)


def _runs(letter: s.Expression, node: s.Reduction) -> bool:
    """Whether a sum runs over the letter from somewhere to somewhere: `Σ_{i=1}^N`."""
    return node.upper is not None and any(
        isinstance(u, s.Comparison) and u.operands[0] == letter for u in node.under
    )
