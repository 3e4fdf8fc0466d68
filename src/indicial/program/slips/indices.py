r"""Which letters each part of an equation has, which sums run over them, and what does not fit.

\frac{1}{TF} \sum_{t=1}^T \sum_{f=1}^F |S - \hat S|            the sums run over t and f, and nothing has them
\frac{\exp(s(e_k, e_j))}{\sum_{e'} \exp(s(e', e_i))}           above e_j, below e_i
w^{t+1} = w^t - \eta \sum_i (\sigma(w x_i) - y_i) x_i          w lacks its t
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.program.lowering.reductions import spoken
from indicial.program.names.letters import COUNTING, index_name, is_letter, shifted
from indicial.program.slips.one_sided import binders, bound, indices, scripts

CODES = frozenset({"idle-sum", "half-copied", "lost-index"})

Pair = tuple[s.Expression, s.Expression]


def discipline(equation: s.Equation) -> Iterator[Fault]:
    """The letters of an equation that stand where nothing, or another thing, runs over them."""
    for rule in (_idle_sums, _shares):
        yield from rule(equation)


# ---------------------------------------------------------------------- letters


def has(node: s.Node, letter: s.Name) -> bool:
    """Whether a letter stands in it, alone or in a run such as the `ij` of `W_{ij}`."""
    return any(
        (n.base == letter.base and n.primes == letter.primes)
        or (1 < len(n.base) <= 4 and n.base.isalpha() and letter.base in n.base)
        for n in node.every(s.Name)
    )


def _is_used(body: s.Node, letter: s.Name) -> bool:
    """Whether what a sum runs over stands in it; the t of `t_i` is a name of its own where t counts."""
    names = body.every(s.Name)
    own = (
        letter.bare
        and letter.base in COUNTING
        and all(n.sub for n in names if n.base == letter.base)
    )
    return any(has(n, letter) for n in names if not (own and n.base == letter.base and indices(n)))


def runner(total: s.Expression) -> s.Name | None:
    """The letter that a sum runs over, if it is one."""
    if not isinstance(total, s.Reduction):
        return None
    letters = binders(total)
    return letters[0] if len(letters) == len(total.under) == 1 else None


def _own(under: s.Expression) -> s.Name | None:
    """The letter of `Σ_j`, `Σ_{j=1}^N`; that of a set or a condition may be meant otherwise."""
    if isinstance(under, s.Comparison) and under.operators == ("=",):
        under = under.operands[0]
    return index_name(under)


# ---------------------------------------------------------------------- what runs and is not used


def _idle_sums(equation: s.Equation) -> Iterator[Fault]:
    """`Σ_j (ĝ_i - g)`, `Σ_t |S - Ŝ|`: something varies there, but nothing with the letter that is summed."""
    for node in equation.every(s.Reduction):
        own = [_own(under) for under in node.under]
        if node.operator not in ("sum", "prod") or None in own:
            continue
        if node.body.every(s.Dots, s.Expectation):  # k draws, of which none has a number
            continue
        for letter in (name for name in own if name is not None):
            others = [u for u, name in zip(node.under, own, strict=True) if name is not letter]
            if _is_used(node.body, letter) or any(has(part, letter) for part in others):
                continue
            numbered = _is_numbered(node.body)
            if numbered or _compares(node.body) or _is_end(node.body, node.upper, equation):
                # Where it is read, more is known of a sum with indices.
                code = "sum-index" if numbered else "idle-sum"
                text = f"the {spoken(node)} runs over {unicode(letter)}, which does not occur in it"
                places = (letter.span, node.body.span, equation.left.span)
                yield warned(code, text, *places, hint="is an index missing in the body?")


def _is_numbered(body: s.Expression) -> bool:
    """Whether something there is one of many: a name with an index."""
    return any(
        isinstance(i, s.Name) and is_letter(i.base) and i.base.islower() and i.font != "roman"
        for name in body.every(s.Name) for i in name.sub
    )  # fmt: skip


def _compares(body: s.Expression) -> bool:
    """`S - Ŝ`: a thing and its estimate, of which there are many."""
    for node in body.every(s.Add):
        names = [n for t in node.terms if isinstance(n := s.unsigned(t), s.Name)]
        accents = {(n.base, n.accents) for n in names}
        if len(accents) > len({base for base, _ in accents}):
            return True
    return False


def _is_end(body: s.Expression, end: s.Expression | None, equation: s.Equation) -> bool:
    """`H_t = Σ_{i=1}^t 1/t`: all terms are the same, and have the end of the sum in the place of its letter."""
    names = body.every(s.Name)
    whole = len(equation.sides) == 2 and isinstance(s.inner(equation.sides[1]), s.Reduction)
    return whole and list(names) == [end] and end in equation.left.every(s.Name)


# ---------------------------------------------------------------------- shares of a sum


def _shares(equation: s.Equation) -> Iterator[Fault]:
    """`exp(e_{ij}) / Σ_k exp(e_{ik})`: above and below stand the same, but for the letter of the sum."""
    for fraction in equation.every(s.Fraction):
        total = s.inner(fraction.below)
        new = runner(total)
        if new is None or not isinstance(total, s.Reduction) or total.operator != "sum":
            continue
        pairs = _differing(fraction.above, total.body)
        if pairs is None or len(pairs) > 4:
            continue
        changed = [(a, b) for a, b in pairs if has(b, new)]
        strange = [(a, b) for a, b in pairs if not has(b, new)]
        if len(strange) == 1 and (changed or has(fraction.above, new)) and has(total.body, new):
            yield from _mismatch(*strange[0], new)
        elif not strange and changed:
            yield from _unchanged(equation, fraction, total, changed, new)


def _differing(one: s.Expression, other: s.Expression) -> list[Pair] | None:
    """The places where two expressions differ, if they are built alike."""
    one, other = s.inner(one), s.inner(other)
    if one == other:
        return []
    if isinstance(one, s.Name) and isinstance(other, s.Name):
        if one.base == other.base == "e" and len(one.sup) == len(other.sup) == 1 and not one.sub:
            return _differing(one.sup[0], other.sup[0])
        return [(one, other)]
    if type(one) is not type(other):
        return None
    parts, others = one.children(), other.children()
    if len(parts) != len(others) or isinstance(one, s.Number | s.Reduction):
        return None
    found: list[Pair] = []
    for a, b in zip(parts, others, strict=True):
        inside = (
            _differing(a, b)
            if isinstance(a, s.Expression) and isinstance(b, s.Expression)
            else None
        )
        if inside is None:
            return None
        found += inside
    return found


def _mismatch(above: s.Expression, below: s.Expression, new: s.Name) -> Iterator[Fault]:
    """`e_j` above, `e_i` below; `φ(y)` above, `θ(y)` below."""
    if not isinstance(above, s.Name) or not isinstance(below, s.Name):
        return
    numbered = above.stem == below.stem and bool(indices(above) and indices(below))
    if numbered or (above.scripts == below.scripts and above.base != below.base):
        text = f"{unicode(above)} stands above, {unicode(below)} below, and the sum over {unicode(new)} changes neither"
        hint = "is one of the two meant both times?"
        yield warned("half-copied", text, above.span, below.span, hint=hint)


def _unchanged(
    equation: s.Equation,
    fraction: s.Fraction,
    total: s.Reduction,
    changed: Sequence[Pair],
    new: s.Name,
) -> Iterator[Fault]:
    """`exp(f(h_j, e_{ij})) / Σ_k exp(f(h_j, e_{ik}))`: the k of the sum is the j above, and h_j was left as it was."""
    left = equation.left
    head = s.head(left)
    inside = left.arguments if isinstance(left, s.Call) else ()
    numbers = (*(head.scripts if isinstance(head, s.Name) else ()), *inside)
    # The t of `α_t = exp(h_t^⊤ W h_t) / Σ_i exp(h_t^⊤ W h_i)` may be that of a query.
    numbering = {c for i in numbers for n in i.every(s.Name) for c in n.base}
    olds = {c for a, b in changed for c in indices(a) if c not in indices(b) and c in numbering}
    if (
        len(olds) != 1
        or len(numbering) < 2
        or not all(_renamed(a, min(olds), new.base) == b for a, b in changed)
    ):
        return
    (letter,) = olds
    old = s.Name(letter)
    touched = {id(n) for _, b in changed for n in b.walk()}
    same = [
        n for n in total.body.every(s.Name) if n.scripts and id(n) not in touched and has(n, old)
    ]
    for name in same if len(same) == 1 else ():
        meant = _renamed(name, old.base, new.base)
        text = f"{unicode(name)} does not change with the {new.base} of this sum"
        hint = f"all else that has {old.base} above has {new.base} here: {unicode(meant)}?"
        yield warned("half-copied", text, name.span, fraction.above.span, hint=hint)


def _renamed(node: s.Expression, old: str, new: str) -> s.Expression:
    """`e_{ij}` → `e_{ik}`; letters that stand side by side are indices one by one."""

    def change(inner: s.Expression) -> s.Expression:
        if not isinstance(inner, s.Name):
            return inner.rebuild(change)
        sub, sup = (tuple(map(change, some)) for some in (inner.sub, inner.sup))
        base = inner.base
        if base == old or (len(base) < 4 and old in base and set(base) <= COUNTING):
            base = base.replace(old, new)
        return replace(inner, base=base, sub=sub, sup=sup)

    return change(node)


# ---------------------------------------------------------------------- ends and steps


def lost_steps(rows: Sequence[s.Equation]) -> Iterator[Fault]:
    """`w^{t+1} = w^t - η Σ_i (σ(w x_i) - y_i)`: what is computed with is the w of a step, and has none."""
    lost = [pair for row in rows for pair in _lost_step(row)]
    if lost:
        bare, before = zip(*lost, strict=True)
        names = list(dict.fromkeys(map(unicode, bare)))
        text = f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} no step here"
        meant = " and ".join(dict.fromkeys(map(unicode, before)))
        sites = (n.span for n in (*bare[1:], *before))
        yield warned("lost-index", text, bare[0].span, *sites, hint=f"is {meant} meant?")


def _lost_step(equation: s.Equation) -> Iterator[tuple[s.Name, s.Name]]:
    """What lacks its step, and what it is meant to be."""
    left = equation.left
    steps = [found for script in scripts(left) if (found := shifted(s.inner(script)))]
    if (
        not isinstance(left, s.Name)
        or len(steps) != 1
        or steps[0][1] != 1
        or len(equation.sides) != 2
    ):
        return
    (right,), time = equation.sides[1:], steps[0][0].base
    before = [n for n in right.every(s.Name) if n.stem == left.stem and time in indices(n)]
    slopes = _slopes(right)
    for node in s.values(right):
        if isinstance(node, s.Name) and node == left.stem and before and id(node) not in slopes:
            yield node, before[0]


Numbered = Callable[[], Mapping[tuple[s.Name, str], int]]
"""How often each letter has each index, under a heading; asked for only where it matters."""


def lost_indices(rows: Sequence[s.Equation], numbered: Numbered) -> Iterator[Fault]:
    """`Σ_j (y - μ_j)^2`, where all else has `y_j`: one y of many lacks the letter of the sum."""
    for row in rows:
        left = row.left.every(s.Name)
        for total in row.every(s.Reduction):
            letter = runner(total)
            if total.operator not in ("sum", "prod") or letter is None or not letter.bare:
                continue
            drawn = s.ids(d for e in total.body.every(s.Expectation) for d in e.draws)
            for name in s.values(total.body):
                if not isinstance(name, s.Name) or not name.bare or name == letter or name in left:
                    continue
                if id(name) in drawn:  # the w of `E_{w_i ~ P(w)}`
                    continue
                if not is_letter(name.base) or not name.base.isascii():
                    continue
                if numbered().get((name, letter.base), 0) > max(1, numbered()[name, ""]):
                    text = f"{name.base} has no {letter.base} here, in a sum over {letter.base}"
                    hint = f"is {name.base}_{letter.base} meant?"
                    yield warned("lost-index", text, name.span, letter.span, hint=hint)
                    break


def lost_times(rows: Sequence[s.Equation], numbered: Numbered) -> Iterator[Fault]:
    """`y = σ(W h_t)`, where all else has `y_t`: the left side lacks the step of the right."""
    for row in rows:
        left = row.left
        if not isinstance(left, s.Name) or left.scripts or len(row.sides) != 2:
            continue
        known = numbered()
        if known.get((left, "")) != 1 or not known.get((left, "t")) or row.every(s.Dots):
            continue
        timed = [n for n in row.sides[1].every(s.Name) if "t" in indices(n)]
        if timed and "t" not in bound(row):
            text = f"{unicode(left)} has no t here, and {unicode(timed[0])} has one"
            hint = f"is {unicode(left)}_t meant, as elsewhere?"
            yield warned("lost-index", text, left.span, timed[0].span, hint=hint)


def _slopes(side: s.Expression) -> Collection[int]:
    """What stands in derivatives and in the arguments of functions: `∂L/∂w`, `∇ f(x)`, where a step may be left out."""
    inside: set[int] = set()
    for fraction in side.every(s.Fraction):
        below = fraction.below.every(s.Name)
        if any(n.base in ("∂", "d", "δ") or n.base.startswith("∂") for n in below):
            inside |= s.ids([fraction])
    for product in side.every(s.Product):
        slope = [
            n
            for n, f in enumerate(product.factors)
            if isinstance(f, s.Name) and f.base in ("∇", "Δ", "∂")
        ]
        inside |= s.ids(product.factors[slope[0] :]) if slope else set()
    for call in side.every(s.Call):
        inside |= s.ids(a for a in call.arguments if isinstance(a, s.Name))
        inside |= s.ids([call]) if call.word in ("∇", "∂", "E", "𝔼") else set()
    return inside
