r"""Slips that show in a display as it stands, whether or not it is read.

    \Phi_{i+N} = \Phi_i - \eta \sum_{j=1}^N (\hat g_i - g(\Phi))     the sum runs over j, its body has no j
    k(x_i, x_j) = \exp(-\|x - x'\|^2)                                x_i and x_j stand on the left only
    E_y[\ln -P(y|z)]                                                 a logarithm of nothing, less P
    g_t^2 + γ g_{t-1}^2 + γ^2 g_{t-2} + …                            a square is missing
    s[n,ℓ] = Q[n,ℓ] - 1[y[n] = c]                                    c stands where ℓ is expected
    h_t = \tanh(W x_t + U h_t-1)                                     h_{t-1} is meant

What an author of prose is told has to be certain: each rule wants evidence from all sides, and what is
only odd is none of them. Nothing is inferred here; the rules look at what is written. Those on indices, on names
and on well-known formulas are in `one_sided.py`, `written_names.py` and `usual.py`, on letters that were copied in
`copied.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.program.names.letters import index_name, is_letter
from indicial.program.names.uses import PROBABILITY
from indicial.program.slips import (
    copied,
    indices,
    one_sided,
    parameters,
    sizes,
    slopes,
    usual,
    written_names,
)
from indicial.program.slips.written_names import Heading, misnamed

CODES = frozenset(
    {"left-only", "no-argument", "lost-power", "other-letter", "lost-brace", usual.CODE,
     *copied.CODES, *indices.CODES, *slopes.CODES, *sizes.CODES, *one_sided.CODES,
     *written_names.CODES}
)  # fmt: skip
"""What is said here is certain; of a sum, more is known where it is read."""


def slips(display: Sequence[s.Statement], section: Heading) -> list[Fault]:
    """The slips of a display under a heading."""
    rows = [statement for statement in display if isinstance(statement, s.Equation)]
    found = [fault for row in rows for rule in _RULES for fault in rule(row)]
    found += usual.wrong_sides(rows, section.equations)
    found += parameters.exchanged_parameters(rows, section.equations)
    found += one_sided.unpaired(rows, section.examples)
    found += indices.lost_steps(rows)
    found += indices.lost_indices(rows, lambda: section.numbered)
    found += indices.lost_times(rows, lambda: section.numbered)
    found += [f for f in section.misfits if any(f.spans[0].within(row.span) for row in rows)]
    return _once([*found, *misnamed(display, section)])


def _once(faults: Sequence[Fault]) -> list[Fault]:
    """Each slip once: where a chain repeats one, or copies it from row to row, all places stand in one message."""
    found: dict[tuple[str, str], Fault] = {}
    for fault in faults:
        first = found.setdefault((fault.code, fault.message), fault)
        if first is not fault:
            places = replace(first, spans=(*first.spans, *fault.spans))
            found[fault.code, fault.message] = places
    return list(found.values())


# ---------------------------------------------------------------------- sums


def _binder(under: s.Expression) -> s.Name | None:
    """The letter of `Σ_j`, `Σ_{j=1}^N`; that of a set or a condition may be meant otherwise."""
    if isinstance(under, s.Comparison) and under.operators == ("=",):
        under = under.operands[0]
    return under if isinstance(under, s.Name) and index_name(under) is not None else None


def _vague(node: s.Expression) -> bool:
    """Whether something may depend on anything: dots, a function of all, a sum that goes on."""
    return bool(node.every(s.Dots))


def _run(name: s.Name) -> bool:
    """The `ij` of `W_{ij}`."""
    return 1 < len(name.base) <= 4 and name.base.isalpha()


def _lettered(name: s.Name) -> bool:
    """Whether a name has an index below: one small letter that is set as one."""
    return any(
        isinstance(i, s.Name) and is_letter(i.base) and i.base.islower() and i.font != "roman"
        for i in name.sub
    )


# ---------------------------------------------------------------------- sides


def _left_only(equation: s.Equation) -> Iterator[Fault]:
    """`k(x_i, x_j) = exp(-‖x - x'‖^2)`: the right side has these letters, and other scripts."""
    left = equation.sides[0]
    if not isinstance(left, s.Call) or len(left.arguments) < 2 or len(equation.sides) < 2:
        return
    arguments = [a for a in left.arguments if isinstance(a, s.Name) and _lettered(a)]
    right = [n for side in equation.sides[1:] for n in side.every(s.Name)]
    if len(arguments) < len(left.arguments) or any(a in right for a in arguments):
        return
    others = [n for n in right if n.base in {a.base for a in arguments} and not n.sub]
    if others and not any(n.base in {a.base for a in arguments} and n.sub for n in right):
        listed = " and ".join(unicode(a) for a in arguments)
        meant = " and ".join(dict.fromkeys(unicode(n) for n in others))
        text = f"{listed} stand on the left only; the right side has {meant}"
        yield warned("left-only", text, left.span, *(n.span for n in others))


def _no_argument(equation: s.Equation) -> Iterator[Fault]:
    """`\\ln - P(y)`: a probability is subtracted from a logarithm of nothing."""
    for node in equation.every(s.Add):
        for one, two in zip(node.terms, node.terms[1:], strict=False):
            bare = isinstance(one, s.Name) and one.base in ("ln", "log") and not one.sub
            if bare and isinstance(two, s.Negative) and _is_probability(two.body):
                text = f"{unicode(one)} has no argument here: the minus stands behind it"
                hint = f"write `-\\{unicode(one)} …`"
                yield warned("no-argument", text, one.span.to(two.span), hint=hint)


def _is_probability(node: s.Expression) -> bool:
    call = node.factors[0] if isinstance(node, s.Product) else node
    return isinstance(call, s.Call) and call.word in PROBABILITY


def _lost_powers(equation: s.Equation) -> Iterator[Fault]:
    """`g_t^2 + γ g_{t-1}^2 + γ^2 g_{t-2} + …`: a series whose terms are alike but for a square."""
    for node in equation.every(s.Add):
        if not any(isinstance(t, s.Dots) for t in node.terms):
            continue
        terms = [_scripted(t) for t in node.terms if not isinstance(t, s.Dots)]
        if len(terms) < 3 or not all(terms):
            continue
        names = [n for n in terms if n is not None]
        powers = Counter(n.sup for n in names)
        squares = [sup for sup in powers if sup and isinstance(sup[0], s.Number)]
        alone = [n for n in names if not n.sup]
        alike = len({(n.base, n.accents) for n in names}) == 1
        if alike and len(squares) == 1 and len(alone) == 1 and len(powers) == 2:
            (power,) = squares[0]
            text = f"{unicode(alone[0])} lacks the power {unicode(power)} that the other terms have"
            yield warned("lost-power", text, alone[0].span, node.span)


def _lost_squares(equation: s.Equation) -> Iterator[Fault]:
    """`‖a‖^2 = ‖b‖ = ‖c‖^2`: all sides are squares of norms but one."""
    sides = [
        s.inner(side.base) if isinstance(side, s.Index) else s.inner(side)
        for side in equation.sides
    ]
    bare = [side for side in sides if isinstance(side, s.Norm)]
    squares = [
        s_ for s_ in sides if isinstance(s_, s.Power) and isinstance(s.inner(s_.base), s.Norm)
    ]
    squares = [power for power in squares if power.exponent == s.Number("2")]
    if len(bare) == 1 and len(squares) > 1 and len(squares) + 1 == len(sides):
        text = "this norm lacks the square that the other sides have"
        yield warned("lost-power", text, bare[0].span, *(power.span for power in squares))


def _scripted(term: s.Expression) -> s.Name | None:
    """The only name with an index in a term."""
    names = [n for n in term.every(s.Name) if n.sub]
    return names[0] if len(names) == 1 else None


def _terms(equation: s.Equation) -> Iterator[Fault]:
    """`s[n,ℓ] = Q[n,ℓ] - 1[y[n] = c]`: a term has another letter where the others have ℓ."""
    left = equation.sides[0]
    if not isinstance(left, s.Index) or not all(index_name(i) for i in left.items):
        return
    wanted = {i.base for i in left.items if isinstance(i, s.Name) and i.base.islower()}
    for side in equation.sides[1:]:
        if not isinstance(side, s.Add) or _vague(side):
            continue
        letters = [_letters(term) for term in side.terms]
        for number, here in enumerate(letters):
            others = [x for n, x in enumerate(letters) if n != number]
            lacking = {x for x in wanted - here if all(x in other for other in others)}
            strange = {
                n.base: n
                for n in _compared(side.terms[number])
                if n.base not in wanted and not any(n.base in other for other in others)
            }
            if len(lacking) == len(strange) == 1 and wanted & here:
                (letter,), (name,) = lacking, strange.values()
                text = (
                    f"{unicode(name)} stands where {letter} is expected: this term lacks {letter}"
                )
                hint = f"the left side and the other terms have {letter}"
                yield warned("other-letter", text, name.span, left.span, hint=hint)


def _letters(term: s.Expression) -> set[str]:
    return {c for n in term.every(s.Name) for c in (n.base if _run(n) else (n.base,))}


def _compared(term: s.Expression) -> Iterator[s.Name]:
    """The small letters that conditions compare: the c of `1[y[n] = c]`."""
    for node in term.every(s.Comparison):
        if node.operators == ("=",):
            for operand in node.operands:
                if isinstance(operand, s.Name) and operand.bare and operand.base.islower():
                    yield operand


# ---------------------------------------------------------------------- letters


def _lost_braces(equation: s.Equation) -> Iterator[Fault]:
    r"""`H_kl = …`, `U h_t-1`: TeX takes one letter below, and the rest stays on the line."""
    left = equation.sides[0]
    if isinstance(left, s.Product) and len(left.factors) == 2:
        name, rest = left.factors
        if isinstance(name, s.Name) and isinstance(rest, s.Name) and _cut(name, rest):
            yield _cut_off(name, rest)
    for product in equation.every(s.Product):
        for one, two in pairwise(product.factors):
            if not (isinstance(one, s.Name) and isinstance(two, s.Name) and _cut(one, two)):
                continue
            wide = {n.base for n in equation.every(s.Name) if len(_index_letters(n)) > 1}
            sums = equation.every(s.Reduction)
            bound = {b.base for r in sums for u in r.under if (b := _binder(u))}
            if one.base in wide and two.base in bound:  # `e_ik` beside `e_{ij}`
                yield _cut_off(one, two)
    if not isinstance(left, s.Name) or not _below(left):
        return
    for node in equation.every(s.Add):
        for name, step in pairwise(node.terms):
            number = step.body if isinstance(step, s.Negative) else step
            last = s.factors(name)[-1]
            tight = isinstance(last, s.Name) and last.span.end == step.span.start
            if tight and number == s.Number("1") and last == left:
                meant = f"{left.base}_{{{_below(left)}-1}}"
                text = f"{unicode(left)} needs itself: only {_below(left)} stands below {left.base}"
                yield warned("lost-brace", text, last.span.to(step.span), hint=f"write `{meant}`")


def _cut_off(name: s.Name, rest: s.Name) -> Fault:
    text = f"only {_below(name)} stands below {name.base}"
    hint = f"write `{name.base}_{{{_below(name)}{rest.base}}}`"
    return warned("lost-brace", text, name.span.to(rest.span), hint=hint)


def _cut(name: s.Name, rest: s.Name) -> bool:
    """`H_kl`: a letter directly behind one that stands below alone."""
    letter = rest.bare and is_letter(rest.base) and rest.base.islower()
    alone = bool(_below(name)) and "{" not in name.span.text
    return letter and alone and name.span.end == rest.span.start


def _below(name: s.Name) -> str:
    """The one letter below a name, if it is one."""
    (only,) = name.sub if len(name.sub) == 1 else (None,)
    return only.base if isinstance(only, s.Name) and only.bare and is_letter(only.base) else ""


def _index_letters(name: s.Name) -> list[str]:
    """The letters below a name, one by one: i and j of `a_{ij}`."""
    words = [i.base for i in name.sub if isinstance(i, s.Name) and i.bare and i.font != "roman"]
    return [c for word in words if len(word) <= 3 for c in word]


_RULES = (
    _lost_braces,
    indices.discipline, slopes.slopes, usual.unusual, one_sided.one_sided, copied.copied, _left_only, _no_argument,
    _lost_powers, _lost_squares, _terms,
)  # fmt: skip
