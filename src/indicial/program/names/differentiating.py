r"""A derivative of an expression → the expression that it is, by the rules.

\frac{\partial}{\partial S_{ab}} (\sum_j S_{ij} k_j - v_i)     →  Σ_j (i = a) (j = b) k_j
\frac{d}{dx} \tanh(x)                                          →  1 - tanh(x)^2
\frac{\partial \log p_k}{\partial w}                           →  1/p_k ∂p_k/∂w

Only what is written depends on something: beside an x, all other names are constants. Without one it is
what has a derivative by x elsewhere, or the only name. All are numbers; of vectors as a whole nothing is said here.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.source import NOWHERE
from indicial.program.names.letters import COUNTING, is_capital, shifted
from indicial.program.names.uses import BUILT_IN

NUMBERING = COUNTING | {*"abcdpqr"}
"""Letters that stand for elements where two of them stand below a name."""
ONE, TWO = s.Number("1"), s.Number("2")


class Unknown(Exception):
    """There is no rule for something."""


def by_rules(slope: s.Derivative, depending: Set[s.Name]) -> s.Expression | None:
    """What a derivative of an expression is; None if no rule says so.

    `depending` are the names of which a derivative by the same stands elsewhere.
    """
    by, inside = slope.below, s.inner(slope.above)
    if not isinstance(by, s.Name) or by.base in ("t", "τ") or isinstance(inside, s.Derivative):
        return None
    if isinstance(inside, s.Name) and inside.base != "e":
        return None  # a name, and no rule
    called = s.ids(call.function for call in inside.every(s.Call))
    stems = {n.stem for n in s.values(inside) if isinstance(n, s.Name) and id(n) not in called}
    if by.stem in stems:
        depending = set()
    elif len(stems) > 1:
        depending = depending & stems
    else:
        depending = stems
    if not depending and by.stem not in stems:
        return None
    try:
        found = _Rules(by, depending).of(inside)
    except Unknown:
        return None
    made = replace(_placed(s.inner(found or s.Number("0")), slope), span=slope.span)
    return s.Group(made, span=slope.span)


def _placed(node: s.Expression, slope: s.Derivative) -> s.Expression:
    """What the rules have made stands where the derivative does."""
    new = node.rebuild(lambda child: _placed(child, slope))
    return replace(new, span=slope.span) if new.span is NOWHERE else new


class _Rules:
    """The derivatives of expressions by one name; None is 0."""

    def __init__(self, by: s.Name, depending: Set[s.Name]) -> None:
        self.by = by
        self.depending = depending

    def of(self, node: s.Expression) -> s.Expression | None:
        match node:
            case s.Number():
                return None
            case s.Name(base="e", sub=(), sup=(exponent,)):
                return _times(node, self.of(s.inner(exponent)))
            case s.Name():
                return self._name(node)
            case s.Group(body=body):
                return self.of(body)
            case s.Negative(body=body):
                found = self.of(body)
                return None if found is None else s.Negative(_held(found), span=node.span)
            case s.Add(terms=terms):
                parts = [found for term in terms if (found := self.of(term)) is not None]
                return None if not parts else _sum(parts)
            case s.Product(factors=factors):
                return self._product(factors)
            case s.Fraction(above=above, below=below):
                return self._fraction(above, below)
            case s.Power(base=base, exponent=s.Number() as exponent):
                return _times(*_raised(base, exponent), self.of(base))
            case s.Reduction(operator="sum", body=body):
                bound = {n.base for under in node.under for n in under.every(s.Name)}
                if bound & {n.base for i in self.by.scripts for n in i.every(s.Name)}:
                    raise Unknown  # `∂/∂w_j Σ_j w_j`: two letters j
                found = self.of(body)
                return None if found is None else replace(node, body=found)
            case s.Call(arguments=(argument,), given=None):
                return _times(_outer(node), self.of(argument))
        raise Unknown

    def _name(self, name: s.Name) -> s.Expression | None:
        power = [i for i in name.sup if isinstance(i, s.Number)]
        if power and not (name.stem == self.by.stem and name.sup == self.by.sup):
            base = replace(name, sup=tuple(i for i in name.sup if i not in power))
            return _times(*_raised(base, power[0]), self.of(base))
        whole = not name.sub and (name.font == "bold" or is_capital(name.base))
        if whole or s.Name("T") in name.sup:
            raise Unknown
        if name.stem != self.by.stem:
            depends = name.stem in self.depending
            return s.Derivative(name, self.by, span=name.span) if depends else None
        one, other = _letters(name.scripts), _letters(self.by.scripts)
        if len(one) != len(other):
            raise Unknown
        conditions: list[s.Expression] = []
        for a, b in zip(one, other, strict=True):
            if a == b:
                continue
            here, there = shifted(a), shifted(b)
            if here is None or there is None:
                raise Unknown
            if is_capital(here[0].base) or is_capital(there[0].base):
                raise Unknown  # the last layer, and any
            if here[0] == there[0] or len(here[0].base) > 1:
                return None  # another layer, another step, another name
            conditions.append(s.Group(s.Comparison((a, b), ("=",), span=name.span), span=name.span))
        return _times(ONE, *conditions)

    def _product(self, factors: Sequence[s.Expression]) -> s.Expression | None:
        parts = []
        for number, factor in enumerate(factors):
            found = self.of(factor)
            if found is not None:
                parts.append(_times(*factors[:number], found, *factors[number + 1 :]))
        return _sum([part for part in parts if part is not None]) if parts else None

    def _fraction(self, above: s.Expression, below: s.Expression) -> s.Expression | None:
        one, other = self.of(above), self.of(below)
        parts: list[s.Expression] = []
        if one is not None:
            parts.append(s.Fraction(one, below, span=above.span))
        if other is not None:
            square = s.Power(_held(below), TWO, span=below.span)
            slope = _times(above, other)
            assert slope is not None
            parts.append(s.Negative(s.Fraction(slope, square, span=below.span), span=below.span))
        return _sum(parts) if parts else None


def _outer(call: s.Call) -> s.Expression:
    """The derivative of a function by its argument."""
    (inside,) = call.arguments
    square = s.Power(call, TWO, span=call.span)
    match call.word if not call.function.scripts else "":
        case "exp":
            return call
        case "ln" | "log":
            return s.Fraction(ONE, inside, span=call.span)
        case "sqrt":
            return s.Fraction(ONE, s.Product((TWO, call)), span=call.span)
        case "tanh":
            return s.Group(s.Add((ONE, s.Negative(square))), span=call.span)
        case "σ" | "sigmoid":
            return s.Product((call, s.Group(s.Add((ONE, s.Negative(call))))), span=call.span)
        case "cos":
            return s.Negative(replace(call, function=replace(call.function, base="sin")))
        case "sin":
            return replace(call, function=replace(call.function, base="cos"))
    if call.word in BUILT_IN or len(call.word) > 1:
        raise Unknown
    return replace(call, function=replace(call.function, primes=call.function.primes + 1))


def _raised(base: s.Expression, exponent: s.Number) -> tuple[s.Expression, ...]:
    """`x^2` → 2 x, before the derivative of x."""
    if exponent.text == "2":
        return TWO, _held(base)
    if not exponent.text.isdigit():
        raise Unknown
    return exponent, s.Power(_held(base), s.Number(f"{int(exponent.text) - 1}"), span=base.span)


def _letters(scripts: Sequence[s.Expression]) -> list[s.Expression]:
    """The i and j of `W_{ij}`."""
    found: list[s.Expression] = []
    for script in map(s.inner, scripts):
        word = script.base if isinstance(script, s.Name) and script.bare else ""
        several = len(word) == 2 and {*word} <= NUMBERING and word != "in"
        found += [s.Name(c, span=script.span) for c in word] if several else [script]
    return found


def _times(*factors: s.Expression | None) -> s.Expression | None:
    """A product without its ones; None, which is 0, if a factor is."""
    if None in factors:
        return None
    kept = [_held(f) for f in factors if f is not None and f != ONE]
    if len(kept) < 2:
        return kept[0] if kept else ONE
    return s.Product(tuple(kept), span=kept[0].span)


def _held(node: s.Expression) -> s.Expression:
    loose = s.Add | s.Negative | s.Reduction
    return s.Group(node, span=node.span) if isinstance(node, loose) else node


def _sum(parts: Sequence[s.Expression]) -> s.Expression:
    return parts[0] if len(parts) == 1 else s.Add(tuple(parts), span=parts[0].span)
