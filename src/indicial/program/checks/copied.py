r"""Slips of copying: one letter of several that was not changed with the others.

\hat v_k = v_t / (1 - β^k)                                  v_k is meant: the display has no other t
Σ_i (-y_i \log p_i - (1 - y_1) \log(1 - p_i))               y_i is meant
o_t = \tanh(c_t) ⊙ o_t                                      o_t is given by itself
\frac1z Σ_{z=1}^k a_z                                       z runs inside the sum, and stands before it
α_t(j) = Σ_i α_{t-1}(j) a_{ij}                              the i of the sum is that of the step before
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.program.checks.indices import runner
from indicial.program.names.letters import COUNTING, is_lone, shifted

CODES = frozenset({"half-copied", "other-step", "numbered-once", "by-itself", "outside-its-sum"})

ITSELF = frozenset("hcoszyr")
"""Letters of states, gates and outputs: nobody writes an update in place for them."""


def copied(equation: s.Equation) -> Iterator[Fault]:
    """The letters of an equation that were not changed with the others."""
    if equation.draws or equation.every(s.Dots) or any("≈" in sign for sign in equation.relations):
        return
    for rule in (_numbered_once, _odd_entry, _by_itself, _outside_its_sum, _same_state):
        yield from rule(equation)


def other_steps(rows: Sequence[s.Equation]) -> Iterator[Fault]:
    """`v̂_k = v_t / (1 - β^k)`: a t in a display whose names are all numbered by k, v_k among them."""
    names = [n for row in rows for n in row.every(s.Name) if len(n.sub) == 1]
    lone = [(n, i) for n in names if isinstance(i := n.sub[0], s.Name) and is_lone(i)]
    count = Counter(i.base for _, i in lone if i.base in COUNTING)
    every = Counter(n.base for row in rows for n in row.every(s.Name))
    if len(count) < 2:
        return
    (usual, often), *others = count.most_common()
    stepped = any(
        (step := shifted(i)) is not None and step[1] and step[0].base == usual
        for n in names
        for i in n.sub
    )
    for letter, once in others:
        if once != 1 or often < 4 or every[letter] != 1 or not stepped:
            continue
        name = next(n for n, i in lone if i.base == letter)
        defined = any(_holds(row.left, name) for row in rows)  # `h_n = 0` begins at the end
        if not defined and any(n.stem == name.stem and i.base == usual for n, i in lone):
            text = f"{unicode(name)} is {unicode(replace(name, sub=(s.Name(usual),)))} elsewhere in this display"
            hint = f"nothing else here has {letter}: is {usual} meant?"
            yield warned("other-step", text, name.span, hint=hint)


def _numbered_once(equation: s.Equation) -> Iterator[Fault]:
    """`Σ_i (y_i … + (1 - y_1) …)`: inside a sum over i, one name of several has a number in its place."""
    for total in equation.every(s.Reduction):
        letter = runner(total) if total.operator == "sum" else None
        if letter is None or letter.base not in COUNTING:
            continue
        names = [n for n in total.body.every(s.Name) if len(n.sub) == 1 and not n.sup]
        ones = [n for n in names if n.sub == (s.Number("1"),)]
        if len(ones) != 1 or any(isinstance(n.sub[0], s.Number) for n in names if n not in ones):
            continue
        (one,) = ones
        twin = replace(one, sub=(s.Name(letter.base),))
        if names.count(twin) and equation.every(s.Name).count(one) == 1:
            text = f"{unicode(one)} stands beside {unicode(twin)}, in a sum over {letter.base}"
            yield warned("numbered-once", text, one.span, hint=f"is {unicode(twin)} meant?")


def _by_itself(equation: s.Equation) -> Iterator[Fault]:
    """`o_t = tanh(c_t) ⊙ o_t`: a state, gate or output of a step that is given by itself."""
    left = equation.left
    if not isinstance(left, s.Name) or left.base not in ITSELF or len(equation.sides) != 2:
        return
    if left.sub != (s.Name("t"),) or left.sup or equation.relations != ("=",):
        return
    right = s.inner(equation.sides[1])
    if isinstance(right, s.Add) or right == left:
        return
    scripts = s.ids(i for n in right.every(s.Name) for i in n.scripts)
    again = [n for n in right.every(s.Name) if n == left and id(n) not in scripts]
    text = right.span.source.text
    if len(again) == 1 and not text[again[0].span.end :].lstrip().startswith("-"):  # `U h_t-1`
        text = f"{unicode(left)} is given by itself"
        hint = "is another name meant on one of the sides, or another step?"
        yield warned("by-itself", text, left.span, again[0].span, hint=hint)


def _odd_entry(equation: s.Equation) -> Iterator[Fault]:
    """A matrix of `w_{00}^ℓ … w_{11}^k … w_{mn}^ℓ`: one entry has another letter above than all others."""
    for matrix in equation.every(s.ListLiteral):
        names = [n for n in matrix.every(s.Name) if len(n.sup) == 1 and n.sub]
        above = Counter(n.sup for n in names)
        if (
            len(above) == 2
            and len({n.stem for n in names}) == 1
            and min(above.values()) == 1
            and len(names) > 3
        ):
            (usual, _), (odd, _) = above.most_common()
            if isinstance(odd[0], s.Name) and isinstance(usual[0], s.Name):
                (name,) = (n for n in names if n.sup == odd)
                text = f"{unicode(name)} has {unicode(odd[0])} above, and all other entries have {unicode(usual[0])}"
                yield warned("other-step", text, name.span, hint=f"is {unicode(usual[0])} meant?")
                return


def _outside_its_sum(equation: s.Equation) -> Iterator[Fault]:
    """`1/z Σ_{z=1}^k`: the letter of a sum divides it, where its end is meant."""
    for product in equation.every(s.Product):
        first, last = product.factors[0], s.inner(product.factors[-1])
        if not isinstance(first, s.Fraction) or not isinstance(last, s.Reduction):
            continue
        letter = runner(last) if last.operator == "sum" else None
        if letter is None or last.upper is None:
            continue
        below = s.inner(first.below)
        bare = letter.bare and below == letter
        outer = [r for r in equation.every(s.Reduction) if r is not last and _holds(r, product)]
        if bare and letter not in [n for r in outer for u in r.under for n in u.every(s.Name)]:
            text = f"{unicode(letter)} runs inside this sum, and means nothing before it"
            hint = f"is the end of the sum meant: 1/{unicode(last.upper)}?"
            yield warned("outside-its-sum", text, below.span, last.span, hint=hint)


def _holds(outer: s.Node, node: s.Node) -> bool:
    return any(inner is node for inner in outer.walk())


def _same_state(equation: s.Equation) -> Iterator[Fault]:
    """`α_t(j) = Σ_i α_{t-1}(j) a_{ij}`: what the sum runs over is the state of the step before."""
    left = equation.left
    if not isinstance(left, s.Call) or len(left.arguments) != 1 or len(left.function.sub) != 1:
        return
    (state,) = left.arguments
    for total in equation.every(s.Reduction):
        letter = runner(total) if total.operator in ("sum", "max") else None
        if letter is None or not isinstance(state, s.Name) or letter == state:
            continue
        for call in total.body.every(s.Call):
            earlier = shifted(call.function.sub[0]) if len(call.function.sub) == 1 else None
            again = call.function.stem == left.function.stem and call.arguments == (state,)
            both = {letter.base, state.base}
            joined = any(
                both <= {c for i in n.sub for m in i.every(s.Name) for c in m.base}
                for n in total.body.every(s.Name)
            )
            if again and joined and earlier is not None and earlier[1] == -1:
                text = f"{unicode(call)} does not change with the {letter.base} of this sum"
                hint = f"is {call.word}(… {letter.base}) meant?"
                yield warned("half-copied", text, call.span, letter.span, hint=hint)
