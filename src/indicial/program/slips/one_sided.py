r"""Indices that do not fit the equation that they stand in.

G_{ijn} = \sum_{m,n} K_{mn} F_{i+m,j+n}             the n of the left side is summed
L = -\sum_i y_i \log p_i + (1-y_i) \log(1-p_i)      the sum ends before the plus
x_{t+1} = x_t - \eta \nabla f(x, \xi_t)             x lacks its t
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.notation.vocabulary import FUNCTIONS
from indicial.program.names.letters import COUNTING, index_name, is_capital, shifted

CODES = frozenset(
    {"left-summed", "summed-again", "sum-end", "lost-time", "bound-twice", "exchanged", "halved"}
)  # fmt: skip

INDICES = frozenset("ijkmn")
"""Letters that number things, whatever else is written; s, t, l and ℓ may be labels."""


def one_sided(equation: s.Equation) -> Iterator[Fault]:
    """The indices of an equation that stand where they cannot."""
    for rule in (
        _left_summed,
        _summed_again,
        _sum_end,
        _lost_time,
        _bound_twice,
        _exchanged,
        _strange_term,
        _other_recurrence,
        _halved,
        _other_argument,
    ):
        yield from rule(equation)


# ---------------------------------------------------------------------- letters


def scripts(node: s.Node) -> tuple[s.Expression, ...]:
    """What stands below, above and behind a name, if that may be indices."""
    if isinstance(node, s.Index):
        return (*scripts(node.base), *node.items)
    if not isinstance(node, s.Name):
        return ()
    return (*node.sub, *(p for p in node.sup if isinstance(p, s.Group | s.Name | s.Add)))


def indices(node: s.Node) -> list[str]:
    """The letters in the scripts of a name that number it: i and j of `a_{ij}`, of `a_{i,j+1}`."""
    found = []
    for script in scripts(node):
        for part in script.terms if isinstance(script, s.Add) else (s.inner(script),):
            step = shifted(part)
            if step is not None and step[0].base in COUNTING and step[0].font != "roman":
                found.append(step[0].base)
            elif isinstance(part, s.Name) and part.bare and set(part.base) <= INDICES:
                found += part.base
    return found


def binders(reduction: s.Reduction) -> list[s.Name]:
    """The letters that a sum runs over."""
    first = [u.operands[0] if isinstance(u, s.Comparison) else u for u in reduction.under]
    return [name for under in first if (name := index_name(under)) is not None]


def bound(node: s.Node) -> set[str]:
    """The letters that something runs over: a sum, or the k of `Concat_{k=1}^K`."""
    found = {b.base for r in node.every(s.Reduction) for b in binders(r)}
    for compared in node.every(s.Comparison):
        if isinstance(compared.operands[0], s.Name) and compared.operators == ("=",):
            found.add(compared.operands[0].base)
    return found


def sums(node: s.Node) -> list[s.Reduction]:
    return [r for r in node.every(s.Reduction) if r.operator == "sum"]


def indexed(node: s.Node, outside: Collection[int] = ()) -> Iterator[s.Name]:
    """The names that have indices, but for those in some nodes."""
    return (n for n in node.every(s.Name) if n.scripts and id(n) not in outside)


def letters(node: s.Node) -> set[str]:
    """All letters in it, as indices or not."""
    return {
        c for n in node.every(s.Name) for c in (n.base if set(n.base) <= INDICES else (n.base,))
    }


def _plain(equation: s.Equation) -> bool:
    """An equation of two sides or more without dots, and without a guard that says what a letter is."""
    return len(equation.sides) > 1 and equation.guard is None and not equation.every(s.Dots)


# ---------------------------------------------------------------------- rules


def _left_summed(equation: s.Equation) -> Iterator[Fault]:
    """`G_{ijn} = Σ_{m,n} K_{mn} F_{i+m,j+n}`: every n on the right is bound by a sum."""
    left = equation.sides[0]
    if not isinstance(left, s.Name) or len(equation.sides) != 2 or equation.every(s.Dots):
        return
    (right,) = equation.sides[1:]
    for reduction in sums(right):
        inside = s.ids([reduction])
        free = {
            c for n in right.every(s.Name) if id(n) not in inside for c in (*indices(n), n.base)
        }
        kept = {c for r in reduction.every(s.Reduction) if r is not reduction for c in letters(r)}
        for binder in binders(reduction):
            letter = binder.base
            if letter in indices(left) and binder.bare and letter in INDICES - free - kept:
                text = f"{letter} stands on the left, and is summed on the right"
                users = [n.span for n in indexed(reduction.body) if letter in indices(n)]
                yield warned(
                    "left-summed",
                    text,
                    binder.span,
                    left.span,
                    *users,
                    hint="give one of them another letter",
                )
                return


def _summed_again(equation: s.Equation) -> Iterator[Fault]:
    """`p_v = exp(o_v) / Σ_v exp(o_v)`: the v of the left side stands above, and the sum below has a v of its own.

    Several sums over letters of the left side, `ξ_t(i, j) = … / Σ_i Σ_j …`, are how everybody writes the total.
    """
    left, *right = equation.sides
    for fraction in s.every(right, s.Fraction):
        if fraction.above.every(s.Reduction):
            continue
        above = {n: n.span for n in indexed(fraction.above)}
        over = [b.base for r in sums(fraction.below) for b in binders(r)]
        if len(over) > 1 and set(over) <= letters(left):
            continue
        for reduction in sums(fraction.below):
            shared = [n for n in indexed(reduction.body) if n in above]
            for binder in binders(reduction):
                same = [n for n in shared if binder.base in indices(n) or binder in n.sub]
                if same and binder.bare and binder.base in letters(left):
                    text = f"the sum runs over {binder.base}, which stands on the left as well"
                    hint = "it is read as a letter of its own: write another one there"
                    places = (binder.span, above[same[0]], left.span)
                    yield warned("summed-again", text, *places, hint=hint)
                    return


def _sum_end(equation: s.Equation) -> Iterator[Fault]:
    """`-Σ_i y_i log p_i + (1 - y_i) log(1 - p_i)`: the second term has an i, and stands outside the sum."""
    left = equation.sides[0]
    if not _plain(equation):
        return
    for node in chain.from_iterable(side.every(s.Add) for side in equation.sides[1:]):
        for first, second in zip(node.terms, node.terms[1:], strict=False):
            last = s.factors(s.unsigned(first))[-1]
            if (
                not isinstance(last, s.Reduction)
                or last.operator != "sum"
                or isinstance(last.body, s.Group)
            ):
                continue
            over = {b.base for b in binders(last) if b.bare} & COUNTING - letters(left)
            body = {n.base for n in indexed(last.body) if set(indices(n)) & over}
            rest = [
                n
                for n in indexed(second)
                if set(indices(n)) & over - bound(second) and (n.base in body or not body)
            ]
            enclosed = any(
                set(indices(n)) & over for r in _around(equation, node) for n in binders(r)
            )
            outer = {b.base for r in _around(equation, node) for b in binders(r)}
            if rest and not enclosed and not over & outer:
                letter = next(c for c in indices(rest[0]) if c in over)
                text = f"the sum over {letter} ends before this term, which has {unicode(rest[0])}"
                hint = "put brackets around all that is summed"
                yield warned("sum-end", text, rest[0].span, last.span, hint=hint)
                return


def _around(equation: s.Equation, node: s.Node) -> list[s.Reduction]:
    return [r for r in equation.every(s.Reduction) if any(n is node for n in r.body.walk())]


def _lost_time(equation: s.Equation) -> Iterator[Fault]:
    """`x_{t+1} = x_t - η ∇f(x, ξ_t)`: the x of the gradient has no t, and what stands beside it has one."""
    left = equation.sides[0]
    stepped = [shifted(script) for script in scripts(left)]
    if not isinstance(left, s.Name) or len(stepped) != 1 or stepped[0] is None:
        return
    time = stepped[0][0].base
    before = [
        n
        for n in equation.every(s.Name)
        if n is not left and n.stem == left.stem and time in indices(n)
    ]
    for call in chain.from_iterable(side.every(s.Call) for side in equation.sides[1:]):
        bare = [a for a in call.arguments if isinstance(a, s.Name) and a == left.stem]
        timed = [a for a in call.arguments if isinstance(a, s.Name) and time in indices(a)]
        if before and bare and timed:
            text = (
                f"{unicode(bare[0])} has no {time} here, and {unicode(timed[0])} beside it has one"
            )
            yield warned("lost-time", text, bare[0].span, hint=f"is {unicode(before[0])} meant?")


def _bound_twice(equation: s.Equation) -> Iterator[Fault]:
    """`Σ_ℓ E_{z,ℓ} …`: what is summed over is drawn once more."""
    for reduction in sums(equation):
        over = {b.base: b for b in binders(reduction) if b.bare}
        # What is expected stands behind it: the E of `Σ_t E_{t,y}` is a score.
        before = {id(f) for p in reduction.body.every(s.Product) for f in p.factors[:-1]}
        called = {id(c.function) for c in reduction.body.every(s.Call)}
        called |= {id(n.base) for n in reduction.body.every(s.Index)}
        for name in reduction.body.every(s.Name):
            if name.base in ("E", "𝔼") and len(name.sub) > 1 and id(name) in before | called:
                for script in name.sub:
                    if isinstance(script, s.Name) and script.bare and script.base in over:
                        text = f"{script.base} is summed over, and drawn by the expectation as well"
                        yield warned("bound-twice", text, script.span, over[script.base].span)


def _exchanged(equation: s.Equation) -> Iterator[Fault]:
    """`c_t = Σ_j α_{ij} h_j`: the right side has an i that nothing binds, in the place of the t of the left side."""
    left = equation.sides[0]
    if not _plain(equation) or not isinstance(left, s.Name | s.Index):
        return
    right, here = equation.sides[1], set(indices(left))
    over = bound(right)
    wanted = here - letters(right) - over
    free = {c: n for n in indexed(right) for c in indices(n) if c not in over | here}
    beside = [n for r in sums(right) for n in indexed(r.body) if set(indices(n)) & bound(r)]
    strange = {c: n for c, n in free.items() if c in INDICES and (here <= INDICES or n in beside)}
    if len(wanted) == len(strange) == len(here) == 1 and strange.keys() == free.keys() & INDICES:
        (one,), ((other, name),) = wanted, strange.items()
        if other in _run(name) and not is_capital(name.base) | (name.base == "b"):
            text = (
                f"{other} stands where {one} is expected: the left side has {one}, and no {other}"
            )
            yield warned("exchanged", text, name.span, left.span)


def _strange_term(equation: s.Equation) -> Iterator[Fault]:
    """`y_c = C_{hb} h_b + D_{ca} x_a`: one term has an h where the left side and the other terms have a c."""
    left = equation.sides[0]
    head = s.head(left)
    if not _plain(equation) or not isinstance(head, s.Name) or len(equation.sides) != 2:
        return
    here = _run(head) + [c for a in getattr(left, "arguments", ()) for c in _lone(a)]
    terms = s.terms(s.inner(equation.sides[1]))
    if len(terms) < 2 or equation.every(s.Reduction) or len(set(here)) != len(here):
        return
    found = [_once(s.unsigned(term)) for term in terms]
    unlike = [free for free in found if set(free) != set(here)]
    for free in unlike if len(unlike) == 1 else []:
        lacking = [c for c in here if c not in free]
        strange = [c for c in free if c not in here]
        if len(lacking) == len(strange) == 1 and len(free) > 1:
            name = free[strange[0]]
            text = f"{strange[0]} stands where {lacking[0]} is expected: all other terms have {lacking[0]}"
            yield warned("exchanged", text, name.span, left.span)


def _run(name: s.Name) -> list[str]:
    """The letters below a name one by one, if they can be indices: those of `h_{sgn}`."""
    return [c for script in name.sub for c in _lone(script)]


def _lone(script: s.Expression) -> list[str]:
    inner = s.inner(script)
    if isinstance(inner, s.Add):
        step = shifted(inner)
        return [step[0].base] if step is not None and step[0].bare else []
    small = (
        isinstance(inner, s.Name) and inner.bare and inner.base.isalpha() and inner.base.islower()
    )
    return list(inner.base) if small and isinstance(inner, s.Name) and len(inner.base) < 6 else []


def _once(term: s.Expression) -> dict[str, s.Name]:
    """The letters that a product has once, each with its name: what stands twice is summed."""
    found: dict[str, list[s.Name]] = {}
    for node in s.values(term):
        name = node.function if isinstance(node, s.Call) else node
        if isinstance(name, s.Name):
            for letter in _run(name) + [
                c for a in getattr(node, "arguments", ()) for c in _lone(a)
            ]:
                found.setdefault(letter, []).append(name)
    return {letter: names[0] for letter, names in found.items() if len(names) == 1}


def _other_recurrence(equation: s.Equation) -> Iterator[Fault]:
    """`S_n = γ_n S_{t-1} + …`: the step before is that of another letter."""
    left = equation.sides[0]
    here = indices(left) if isinstance(left, s.Name) and len(left.scripts) == 1 else []
    if not isinstance(left, s.Name) or len(here) != 1:
        return
    for name in indexed(equation):
        steps = [found for script in scripts(name) if (found := shifted(s.inner(script)))]
        if name.stem != left.stem or len(name.scripts) != 1 or not steps or steps[0][1] != -1:
            continue
        letter = steps[0][0]
        known = bound(equation) | set(here)
        if letter.bare and letter.base in COUNTING - known and equation.guard is None:
            text = f"{unicode(left)} stands on the left, and {unicode(name)} is the step before that of another letter"
            yield warned(
                "exchanged", text, name.span, left.span, hint="is one letter meant in both?"
            )
            return


def _halved(equation: s.Equation) -> Iterator[Fault]:
    """`e_{ij} = q · k_j`: of the indices on the left the right side has one and lacks the other."""
    left = equation.sides[0]
    if not _plain(equation) or not isinstance(left, s.Name) or len(equation.sides) != 2:
        return
    here, (right,) = _run(left) or indices(left), equation.sides[1:]
    there = letters(right) | {c for n in indexed(right) for c in _run(n)}
    lacking = [c for c in here if c not in there]
    if not lacking:
        return
    below = [
        replace(n, sup=tuple(i for i in n.sup if isinstance(i, s.Group))) for n in indexed(right)
    ]
    numbering = {c for n in below for c in (*_run(n), *indices(n))}
    shared = [c for c in here if c in numbering]  # and not the i of `γ^{n-i}`
    known = all(call.word in FUNCTIONS for call in right.every(s.Call))
    mean = [n for r in sums(right) for p in r.every(s.Product) for n in p.factors if indices(n)]
    shared += (
        ["a sum"] if len(mean) > 1 and not shared and bound(right) else []
    )  # `w_i = Σ_j α_j v_j`
    if shared and set(here) <= INDICES | set("pq") and known:
        text = (
            f"{' and '.join(lacking)} {'stands' if len(lacking) == 1 else 'stand'} on the left only"
        )
        yield warned(
            "halved", text, left.span, right.span, hint=f"is {lacking[0]} missing on the right?"
        )


def _other_argument(equation: s.Equation) -> Iterator[Fault]:
    """`L(w_t, r) = -log P(w_t | r) = … - w_i^⊤ r`: the last side has w_i where the others have w_t."""
    left = equation.sides[0]
    if not isinstance(left, s.Call) or equation.guard is not None or len(equation.sides) < 2:
        return
    for argument in left.arguments:
        wanted = indices(argument)
        if not isinstance(argument, s.Name) or len(wanted) != 1 or argument.sup:
            continue
        for side in equation.sides[1:]:
            same = [n for n in side.every(s.Name) if n.stem == argument.stem and n.sub]
            known = letters(left) | bound(equation)
            strange = [n for n in same if len(indices(n)) == 1 and indices(n)[0] in INDICES - known]
            if strange and not any(n == argument for n in same) and not side.every(s.Dots):
                text = f"{unicode(strange[0])} stands where {unicode(argument)} is expected"
                yield warned("exchanged", text, strange[0].span, argument.span)
                return


Pairs = Sequence[tuple[s.Name, s.Name]]


def examples(equations: Sequence[s.Equation]) -> Pairs:
    """The inputs and targets that stand side by side in calls: the x^{(k)} and y^{(k)} of `J(x^{(k)}, y^{(k)})`."""
    return [
        (one, two)
        for row in equations for call in row.every(s.Call)
        for one, two in pairwise(n for a in call.arguments for n in a.every(s.Name) if n.base in ("x", "y"))
        if one.base != two.base and len(indices(one)) == len(indices(two)) == 1
    ]  # fmt: skip


def unpaired(display: Sequence[s.Equation], pairs: Pairs) -> Iterator[Fault]:
    """`J(x^{(k)}, y^{(i)})`, where all others have the same index: an example and the target of another."""
    usual = sum(indices(one) == indices(two) for one, two in pairs)
    inside = s.ids(display) if usual > 1 else frozenset()
    for one, two in pairs:
        if (
            indices(one) != indices(two)
            and id(two) in inside
            and usual > 1
            and len(pairs) == usual + 1
        ):
            text = f"{unicode(two)} stands beside {unicode(one)}; everywhere else both have the same index"
            yield warned("exchanged", text, two.span, one.span)
