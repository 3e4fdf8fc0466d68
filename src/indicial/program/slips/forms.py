r"""Formulas compared by their form: whether a piece of an equation is one that a pattern shows.

    \frac{\exp(x_i)}{\sum_j x_j}    fits    \frac{e^{\mathbf z_k}}{\sum_{m=1}^n \mathbf z_m}

What makes no difference is taken away first: brackets, the order of terms and factors, `e^x` for `exp(x)`,
`K^T` for `K^⊤`, ⊙ for ·, the ends of a sum. In a pattern a capital stands for anything, another letter for a
name with all its scripts, and `x_i` for a name that has an index; the same letter for the same each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import permutations

from indicial.notation import syntax as s
from indicial.notation.node import kept
from indicial.notation.parse import parse_text
from indicial.program.names.letters import index_expression, is_capital

Bound = Mapping[str, "Shape"]

UNORDERED = ("add", "mul")
MANY = 5
"""Terms or factors; the orders of more are not tried."""
LOGS = ("ln", "log", "log_2", "log2")
SIGMOIDS = ("sigmoid", "logistic", "Sigmoid")


@dataclass(frozen=True)
class Shape:
    """A piece of a formula without what makes no difference."""

    kind: str
    word: str
    parts: tuple[Shape, ...] = ()
    node: s.Expression = field(default=s.Dots(), compare=False, repr=False)

    @cached_property
    def pieces(self) -> tuple[Shape, ...]:
        """It and all that it is made of."""
        return (self, *(piece for part in self.parts for piece in part.pieces))

    @cached_property
    def signs(self) -> frozenset[tuple[str, str]]:
        """What it is made of besides names: what lacks some of it cannot fit."""
        own = () if self.kind in ("name", "number") else ((self.kind, self.word),)
        return frozenset(own).union(*(part.signs for part in self.parts))


@kept
def shape(node: s.Expression) -> Shape:
    """The form of an expression."""
    match node:
        case s.Group(body=body):
            return shape(body)
        case s.Number(text=text):
            return Shape("number", text, node=node)
        case s.Name():
            return _name(node)
        case s.Add(terms=terms):
            return Shape("add", "", _flat("add", terms), node)
        case s.Product(factors=factors) | s.Hadamard(factors=factors):
            return Shape("mul", "", _flat("mul", factors), node)
        case s.Negative(body=body):
            return Shape("neg", "", (shape(body),), node)
        case s.Fraction(above=above, below=below):
            return Shape("frac", "", (shape(above), shape(below)), node)
        case s.Power(base=base, exponent=exponent):
            return _power(shape(base), shape(exponent), node)
        case s.Transpose(body=body):
            return Shape("transpose", "", (shape(body),), node)
        case s.Norm(body=body):
            return Shape("norm", "", (shape(body),), node)
        case s.Reduction(operator=operator, under=under, body=body):
            letters = tuple(shape(_letter(u)) for u in under)
            return Shape(operator, "", (*letters, shape(body)), node)
        case s.Call(function=function, arguments=arguments):
            return _call(function, arguments, node)
        case s.Index(base=base, items=items):
            return _index(base, items, node)
        case _:
            return Shape(type(node).__name__, "", tuple(map(shape, _below(node))), node)


def _below(node: s.Expression) -> tuple[s.Expression, ...]:
    return tuple(n for n in node.children() if isinstance(n, s.Expression))


def _flat(kind: str, nodes: tuple[s.Expression, ...]) -> tuple[Shape, ...]:
    parts = map(shape, nodes)
    return tuple(p for part in parts for p in (part.parts if part.kind == kind else (part,)))


def _letter(under: s.Expression) -> s.Expression:
    return under.operands[0] if isinstance(under, s.Comparison) else under


def _name(node: s.Name) -> Shape:
    word = "".join((node.base, *node.accents, "'" * node.primes))
    below = tuple(map(shape, node.sub))
    if node.base == "e" and len(node.sup) == 1 and not node.sub:
        return Shape("call", "exp", (shape(node.sup[0]),), node)
    if len(node.sup) == 1:
        (above,) = map(shape, node.sup)
        stem = Shape("name", word, below, node)
        if above.word in ("T", "⊤", "top") and not isinstance(node.sup[0], s.Group):
            return Shape("transpose", "", (stem,), node)
        if isinstance(node.sup[0], s.Number | s.Negative):
            return _power(stem, above, node)
    return Shape("name", word, (*below, *map(shape, node.sup)), node)


def _power(base: Shape, exponent: Shape, node: s.Expression) -> Shape:
    if exponent.word in ("T", "⊤", "top"):
        return Shape("transpose", "", (base,), node)
    if base.kind == "mul" and isinstance(base.node, s.Index):  # `y^⊤ [A + B]^{-1}`
        *before, last = base.parts
        return Shape("mul", "", (*before, _power(last, exponent, node)), node)
    return Shape("pow", "", (base, exponent), node)


def _call(function: s.Name, arguments: tuple[s.Expression, ...], node: s.Call) -> Shape:
    head = shape(function)
    word = head.parts[0].word if head.kind == "pow" else head.word
    word = "log" if word in LOGS else "σ" if word in SIGMOIDS else word
    scripts = () if word == "log" else tuple(p for p in head.parts if p.kind != "name")
    if head.kind == "pow":  # `k(x, y)^{-1}`
        return _power(Shape("call", word, tuple(map(shape, arguments)), node), head.parts[1], node)
    return Shape("call", word, (*map(shape, arguments), *scripts), node)


def _index(base: s.Expression, items: tuple[s.Expression, ...], node: s.Index) -> Shape:
    inside = shape(base)
    if isinstance(base, s.Power | s.Norm) or not all(map(index_expression, items)):
        if isinstance(base, s.Power | s.Norm):
            return inside  # `‖x‖^2_2`
        return Shape("mul", "", (inside, *map(shape, items)), node)  # `y^⊤ [A + B]`
    if inside.kind != "name":
        return Shape("at", "", (inside, *map(shape, items)), node)
    return Shape("name", inside.word, (*inside.parts, *map(shape, items)), node)


# ---------------------------------------------------------------------- patterns


@cache
def pattern(text: str) -> tuple[Shape, ...]:
    """The sides of a pattern: `\\sigma(x) = …`, or one expression."""
    (equation,) = parse_text(
        text if "=" in text.split("_", 1)[0] else f"{text} = 0", latex=True
    ).statements
    assert isinstance(equation, s.Equation)
    sides = tuple(map(shape, equation.sides))
    return sides[:1] if sides[-1].word == "0" else sides


def fits(
    wanted: Shape, found: Shape, bound: Bound | None = None, part: bool = False
) -> Iterator[Bound]:
    """The ways in which a form fits a pattern; `part` of its terms or factors may be enough."""
    bound = bound or {}
    if wanted.kind == "name":
        yield from _fits_name(wanted, found, bound)
    elif wanted.kind != found.kind or wanted.word != found.word:
        return
    elif wanted.kind in UNORDERED:
        count = len(wanted.parts)
        if len(found.parts) == count or (part and count < len(found.parts)):
            for some in permutations(found.parts[: max(count, MANY)], count):
                yield from _fit_all(wanted.parts, some, bound)
    elif len(wanted.parts) == len(found.parts):
        yield from _fit_all(wanted.parts, found.parts, bound)


def _fit_all(wanted: tuple[Shape, ...], found: tuple[Shape, ...], bound: Bound) -> Iterator[Bound]:
    if not wanted:
        yield bound
        return
    for more in fits(wanted[0], found[0], bound):
        yield from _fit_all(wanted[1:], found[1:], more)


def _fits_name(wanted: Shape, found: Shape, bound: Bound) -> Iterator[Bound]:
    if not wanted.parts and not is_capital(wanted.word) and found.kind != "name":
        return
    if not wanted.parts:
        if bound.get(wanted.word, found) == found:
            yield {**bound, wanted.word: found}
        return
    if found.kind != "name" or len(found.parts) < len(wanted.parts):
        return
    for scripts in permutations(found.parts, len(wanted.parts)):
        rest = tuple(p for p in found.parts if not any(p is one for one in scripts))
        stem = Shape("name", found.word, rest, found.node)
        if bound.get(f"{wanted.word}_", stem) == stem:
            yield from _fit_all(wanted.parts, scripts, {**bound, f"{wanted.word}_": stem})
