r"""The ways in which prose writes derivatives → nodes, as far as `notation/slopes.py` leaves them open.

∇L(w_t)                             the derivative of L by w_t
∇_θ f_t(θ_{t-1})                    that of f_t by θ_{t-1}
θ_{t+1} = θ_t - η ∇_θ L             that of L by θ_t
∂L/∂h_t Π_{j=k+1}^t ∂h_j/∂h_{j-1}   ∂L/∂h_t ∂h_t/∂h_k
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.node import kept
from indicial.notation.slopes import FIRST, derived
from indicial.program.names.letters import shifted

NABLA = s.Name("∇")
SIGNS = frozenset({"∂", "∇", "d"})


@kept
def derives(statement: s.Statement) -> bool:
    """Whether there may be a derivative in a statement."""
    bases = {n.base for n in statement.every(s.Name)}
    return not SIGNS.isdisjoint(bases)


def differentiated(equation: s.Equation) -> s.Equation:
    """An equation with its derivatives as nodes, those of `∇L(w)` too."""
    found = derived(equation.rebuild(_at_arguments), FIRST)
    return replace(found, sides=tuple(map(_by_arguments, found.sides)))


def _at_arguments(node: s.Expression) -> s.Expression:
    """`∇L(w_t)` → `∇_{w_t} L`; not `∇L(w_t, x_i)`, which is one for each i."""
    if isinstance(node, s.Name):
        return node
    node = node.rebuild(_at_arguments)
    if not isinstance(node, s.Product) or NABLA not in node.factors:
        return node
    factors = list(node.factors)
    for number, (sign, call) in enumerate(pairwise(node.factors)):
        match sign, call:
            case s.Name(), s.Call(arguments=(s.Name() as first, *others), given=None) if (
                sign == NABLA and all(isinstance(a, s.Name) and a.bare for a in others)
            ):
                factors[number] = replace(sign, sub=(first,))
                factors[number + 1] = replace(call.function, span=call.span)
    return replace(node, factors=tuple(factors))


def _by_arguments(node: s.Expression) -> s.Expression:
    """`∇_θ f_t(θ_{t-1})` → the derivative of f_t by θ_{t-1}; `Π_j ∂h_j/∂h_{j-1}` within a chain → `∂h_t/∂h_k`."""
    if isinstance(node, s.Name):
        return node
    node = node.rebuild(_by_arguments)
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
            start = shifted(first)
            if start is None or below != _with(above, letter, _less(letter, 1)):
                return None
            before = _less(start[0], 1 - start[1])
            ends = _with(above, letter, last), _with(above, letter, before)
            return s.Derivative(*ends, span=node.span)
    return None


def _less(letter: s.Name, by: int) -> s.Expression:
    """`k - 1`, or k itself."""
    return s.Add((letter, s.Negative(s.Number(f"{by}")))) if by else letter


def _with(name: s.Name, letter: s.Name, new: s.Expression) -> s.Name:
    """A name with something else for a letter below it."""
    return replace(name, sub=tuple(new if i == letter else i for i in name.sub))


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
    if replace(above, sub=()) != replace(under, sub=()) or len(above.sub) != len(under.sub):
        return False
    pairs = [(shifted(a), shifted(b)) for a, b in zip(above.sub, under.sub, strict=True)]
    steps = [a[1] - b[1] if a and b and a[0] == b[0] else 9 for a, b in pairs]
    return sorted(steps)[-1:] == [1] and set(steps) <= {0, 1}


def is_gradient(slope: s.Expression) -> bool:
    """`∇_x f`: whatever f is, it is a number, and x is none."""
    return slope.span.text.startswith(("∇", "\\nabla"))
