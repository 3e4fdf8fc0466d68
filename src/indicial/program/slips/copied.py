r"""Slips of copying: one letter of several that was not changed with the others.

o_t = \tanh(c_t) ⊙ o_t                                      o_t is given by itself
\frac1z Σ_{z=1}^k a_z                                       z runs inside the sum, and stands before it
α_t(j) = Σ_i α_{t-1}(j) a_{ij}                              the i of the sum is that of the step before
"""

from __future__ import annotations

from collections.abc import Iterator

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.program.names.letters import shifted
from indicial.program.slips.forms import fits, pattern, shape
from indicial.program.slips.indices import runner

CODES = frozenset({"half-copied", "by-itself", "outside-its-sum"})

ITSELF = frozenset("hcoszyr")
"""Letters of states, gates and outputs: nobody writes an update in place for them."""
_MEANS = frozenset("mvs")
"""Letters of running means, of which the same holds."""


def copied(equation: s.Equation) -> Iterator[Fault]:
    """The letters of an equation that were not changed with the others."""
    if equation.draws or equation.every(s.Dots) or any("≈" in sign for sign in equation.relations):
        return
    for rule in (_by_itself, _outside_its_sum, _same_state):
        yield from rule(equation)


def _mixes(left: s.Name, right: s.Add) -> bool:
    """`(1 - z_t) ⊙ h_t + z_t ⊙ \\tilde h_t`, `f_t ⊙ c_t + i_t ⊙ \\tilde c_t`: each term has a gate of the step."""
    terms = [s.inner(term) for term in right.terms]
    pairs = [
        t.factors for t in terms if isinstance(t, s.Product | s.Hadamard) and len(t.factors) == 2
    ]
    if len(terms) != 2 or len(pairs) != 2:
        return False
    own = [pair for pair in pairs if left in pair]
    mean = any(
        left in (bound["X"].node, bound["Y"].node)
        for bound in fits(pattern("B X + (1 - B) Y")[0], shape(right))
    )
    gates = [n for pair in pairs for n in pair if isinstance(n, s.Name) and n.sub == left.sub]
    return len(own) == 1 and (mean or len(gates) == 4)


def _by_itself(equation: s.Equation) -> Iterator[Fault]:
    """`o_t = tanh(c_t) ⊙ o_t`: a state, gate or output of a step that is given by itself."""
    left = equation.left
    if not isinstance(left, s.Name) or left.base not in ITSELF | _MEANS or len(equation.sides) != 2:
        return
    if left.base in _MEANS and not isinstance(s.inner(equation.sides[1]), s.Add):
        return
    if left.sub != (s.Name("t"),) or left.sup or equation.relations != ("=",):
        return
    right = s.inner(equation.sides[1])
    if right == left or (isinstance(right, s.Add) and not _mixes(left, right)):
        return
    scripts = s.ids(i for n in right.every(s.Name) for i in n.scripts)
    again = [n for n in right.every(s.Name) if n == left and id(n) not in scripts]
    text = right.span.source.text
    if len(again) == 1 and not text[again[0].span.end :].lstrip().startswith("-"):  # `U h_t-1`
        text = f"{unicode(left)} is given by itself"
        hint = "is another name meant on one of the sides, or another step?"
        yield warned("by-itself", text, left.span, again[0].span, hint=hint)


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
