r"""The ways in which prose writes derivatives → nodes, as far as `notation/slopes.py` leaves them open.

δE/δw                               ∂E/∂w
∇L(w_t)                             the derivative of L by w_t
∇_θ f_t(θ_{t-1})                    that of f_t by θ_{t-1}
θ_{t+1} = θ_t - η ∇_θ L             that of L by θ_t
∂L/∂h_t Π_{j=k+1}^t ∂h_j/∂h_{j-1}   ∂L/∂h_t ∂h_t/∂h_k
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.node import kept
from indicial.notation.slopes import FIRST, derived
from indicial.program.names.letters import LAST, shifted

NABLA = s.Name("∇")
AT = (s.Name("t"), 0)
"""A script that both ends of a derivative share."""
SIGNS = frozenset({"∂", "∇", "d"})


@kept
def derives(statement: s.Statement) -> bool:
    """Whether there may be a derivative in a statement."""
    bases = {n.base for n in statement.every(s.Name)}
    return not SIGNS.isdisjoint(bases)


def varied(equation: s.Equation) -> s.Equation:
    """`δE/δw`, as some write `∂E/∂w`: a δ above and below would cancel if it were a factor."""
    if not any(n.base == "δ" for n in equation.every(s.Name)):
        return equation
    delta = s.Name("δ")

    def opened(part: s.Expression) -> bool:
        factors = s.factors(part)
        return factors[0] == delta and (len(factors) == 2 or part == delta)

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Fraction) and opened(node.above) and opened(node.below):
            parts = [
                p.rebuild(lambda f: replace(f, base="∂") if f == delta else f)
                if isinstance(p, s.Product)
                else replace(delta, base="∂", span=p.span)
                for p in (node.above, node.below)
            ]
            return replace(node, above=parts[0], below=parts[1])
        return node if isinstance(node, s.Name) else node.rebuild(change)

    return equation.rebuild(change)


def differentiated(equation: s.Equation) -> s.Equation:
    """An equation with its derivatives as nodes, those of `∇L(w)` too."""
    found = derived(equation.rebuild(_at_arguments), FIRST)
    return _stepwise(replace(found, sides=tuple(map(_by_arguments, found.sides))))


def _stepwise(equation: s.Equation) -> s.Equation:
    """`∂h_t/∂h_k = Π_{j=k+1}^t ∂h_j/∂h_{j-1}` → step by step: the matrices are multiplied in the order of a chain."""
    left, right = equation.sides[0], equation.sides[-1]
    if len(equation.sides) != 2 or not isinstance(left, s.Derivative):
        return equation
    above, below = left.above, left.below
    if _telescoped(s.inner(right)) != left or not isinstance(above, s.Name):
        return equation
    assert isinstance(below, s.Name)
    apart = [(a, b) for a, b in zip(above.scripts, below.scripts, strict=True) if a != b]
    last, first = map(s.inner, apart[0])
    if len(apart) > 1 or not isinstance(last, s.Name) or last.base in LAST:
        return equation
    before = _with(above, last, _plus(last, -1) or last)
    steps = s.Derivative(above, before), s.Derivative(before, below)
    chain = s.Product(tuple(replace(d, span=right.span) for d in steps), span=right.span)
    same, later = (s.Comparison((last, first), (sign,), span=right.span) for sign in "=>")
    unit = s.Name("I", font=above.font, span=right.span)
    cases = s.Cases(((unit, same), (chain, later)), span=right.span)
    return replace(equation, sides=(left, cases))


def _at_arguments(node: s.Expression) -> s.Expression:
    """`∇L(w_t)` → the derivative of L by w_t; not `∇L(w_t, x_i)`, which is one for each i."""
    if isinstance(node, s.Name):
        return node
    node = node.rebuild(_at_arguments)
    if not isinstance(node, s.Product) or NABLA not in node.factors:
        return node
    factors: list[s.Expression] = []
    for factor in node.factors:
        gradient = _gradient(factors[-1], factor) if factors else None
        factors = [*factors[:-1], gradient] if gradient is not None else [*factors, factor]
    return factors[0] if len(factors) == 1 else replace(node, factors=tuple(factors))


def _gradient(sign: s.Expression, taken: s.Expression) -> s.Expression | None:
    """The gradient that a ∇ makes of what stands behind it; of `∇L(w)^2` its square."""
    call = taken.base if isinstance(taken, s.Power) else taken
    by = _argument(call) if isinstance(call, s.Call) and sign == NABLA else None
    if not isinstance(call, s.Call) or by is None:
        return None
    gradient = s.Derivative(call.function, by, span=sign.span.to(call.span))
    return replace(taken, base=gradient) if isinstance(taken, s.Power) else gradient


def _argument(call: s.Call) -> s.Name | None:
    """The w_t of `L(w_t)`, if nothing else there has indices of its own."""
    match call:
        case s.Call(arguments=(s.Name() as first, *others), given=None):
            alike = (isinstance(a, s.Name) and {*a.scripts} <= {*first.scripts} for a in others)
            return first if all(alike) else None
    return None


def _by_arguments(node: s.Expression) -> s.Expression:
    """`∇_θ f_t(θ_{t-1})` → the derivative of f_t by θ_{t-1}; `Π_j ∂h_j/∂h_{j-1}` within a chain → `∂h_t/∂h_k`."""
    if isinstance(node, s.Name):
        return node
    node = node.rebuild(_by_arguments)
    if isinstance(node, s.Derivative):
        node = replace(node, above=_element(node.above), below=_element(node.below))
    match node:
        case s.Derivative(
            above=s.Call(arguments=(s.Name() as first,)) as call, below=s.Name() as by
        ):
            if is_gradient(node) and first.stem == by.stem and first.scripts and not by.scripts:
                return replace(node, above=call.function, below=first)
        case s.Index(base=s.Group(body=s.Derivative() as slope), items=(s.Name("t"),)):
            return _at(slope, node.items)
        case s.Index(
            base=s.Call(arguments=(s.Derivative() as slope,)) as call, items=(s.Name("t"),)
        ):
            return s.Product((call.function, _at(slope, node.items)), span=node.span)
        case s.Product(factors=factors):
            return replace(node, factors=tuple(_telescoped(s.inner(f)) or f for f in factors))
    return node


def _element(end: s.Expression) -> s.Expression:
    """The `K[i,j]` of `∂L/∂K[i,j]`, the `(x)_q` of `∂(x)_q/∂w`, as `K_{i,j}` and x_q."""
    name = s.inner(end.base) if isinstance(end, s.Index) else None
    if not isinstance(end, s.Index) or not isinstance(name, s.Name):
        return end
    return replace(name, sub=(*name.sub, *end.items), span=end.span)


def _at(slope: s.Derivative, step: tuple[s.Expression, ...]) -> s.Derivative:
    """The `∂E/∂w_t` of `(∂E/∂w)_t`."""
    by = slope.below
    return replace(slope, below=replace(by, sub=step)) if isinstance(by, s.Name) else slope


def _telescoped(node: s.Expression) -> s.Derivative | None:
    """The `∂h_t/∂h_k` that `Π_{j=k+1}^t ∂h_j/∂h_{j-1}` is."""
    match node:
        case s.Reduction(
            operator="prod",
            under=(s.Comparison(operands=(s.Name() as letter, first), operators=("=",)),),
            upper=s.Expression() as last,
            body=s.Derivative(above=s.Name() as above, below=s.Name() as below) as body,
        ) if of_a_step(body):
            ends = _moved(above, letter, last), _moved(below, letter, first)
            if None not in ends:
                return s.Derivative(*filter(None, ends), span=node.span)
    return None


def _moved(name: s.Name, letter: s.Name, place: s.Expression) -> s.Name | None:
    """The `h_t` of `h_{j+1}`, with t - 1 for j."""
    steps = [(i, step) for i in map(s.inner, name.scripts) if (step := shifted(i))]
    found = [(script, by) for script, (n, by) in steps if n == letter]
    new = _plus(place, found[0][1]) if len(found) == 1 else None
    return None if new is None else _with(name, found[0][0], new)


def _plus(place: s.Expression, by: int) -> s.Expression | None:
    """`k + 1` and -1 → k."""
    if isinstance(place, s.Number) and place.text.isdigit():
        return s.Number(f"{int(place.text) + by}")
    step = shifted(place)
    if step is None:
        return None
    name, count = step[0], step[1] + by
    more: s.Expression = s.Number(f"{abs(count)}")
    more = more if count > 0 else s.Negative(more)
    return s.Add((name, more), span=place.span) if count else name


def _with(name: s.Name, old: s.Expression, new: s.Expression) -> s.Name:
    """A name with something else below it or above."""

    def put(scripts: tuple[s.Expression, ...]) -> tuple[s.Expression, ...]:
        return tuple(
            (replace(i, body=new) if isinstance(i, s.Group) else new) if s.inner(i) == old else i
            for i in scripts
        )

    return replace(name, sub=put(name.sub), sup=put(name.sup))


def at_steps(equation: s.Equation) -> s.Equation:
    """`θ_{t+1} = θ_t - η ∇_θ L`: the gradient is that at θ_t."""
    left = equation.sides[0]
    if not isinstance(left, s.Name) or not left.scripts:
        return equation
    slopes = s.every(equation.sides[1:], s.Derivative)
    inside = s.ids(n for slope in slopes for n in slope.walk())
    names = s.every(equation.sides[1:], s.Name)
    before = {n for n in names if n.stem == left.stem and id(n) not in inside}
    if len(before) != 1:
        return equation
    (now,) = before

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Derivative) and isinstance(node.below, s.Name):
            less = {*node.below.scripts} < {*now.scripts} and node.below.stem == now.stem
            return replace(node, below=replace(now, span=node.below.span)) if less else node
        return node if isinstance(node, s.Name) else node.rebuild(change)

    return replace(equation, sides=tuple(map(change, equation.sides)))


def of_a_step(slope: s.Derivative) -> bool:
    """`∂c_t/∂c_{t-1}`."""
    above, under = slope.above, slope.below
    if not isinstance(above, s.Name) or not isinstance(under, s.Name):
        return False
    if above.stem != under.stem or len(above.sub) != len(under.sub):
        return False
    if len(above.sup) != len(under.sup):
        return False
    scripts = zip(above.scripts, under.scripts, strict=True)
    pairs = [(shifted(a), shifted(b)) if a != b else (AT, AT) for a, b in scripts]
    steps = [a[1] - b[1] if a and b and a[0] == b[0] else 9 for a, b in pairs]
    return sorted(steps)[-1:] == [1] and set(steps) <= {0, 1}


def is_gradient(slope: s.Expression) -> bool:
    """`∇_x f`: whatever f is, it is a number, and x is none."""
    return slope.span.text.startswith(("∇", "\\nabla"))
