"""Statements of the IR as lines of the notation.

h̄[t,j] = h̄^{in}[t,j] + sum{j': 0..J-1}(W[j',j] * δ^h[t+1,j'])
  →   h̄[t,j] = h̄^{in}[t,j] + W[J,j] δ^h[t+1,J]

What is only there for numbers that nobody asks for is left out: no condition that an adjoint is
not 0. A value under a condition is written with a bracket that is 1 or 0: `[w[t] = v] h̄[t,j]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction as Ratio

from indicial.compile.passes.algebra import ZERO, flat, ranked_by, signed
from indicial.compile.passes.new_tensors import index_name
from indicial.notation import syntax
from indicial.notation.syntax import Name, Number
from indicial.notation.typesetting.expressions import Typesetter
from indicial.notation.typesetting.letters import KEY
from indicial.program import ir
from indicial.program.rewrite import free_indices
from indicial.program.sizes import Size

Letters = Mapping[str, str]
"""The name under which each index is shown."""


def equation(statement: ir.Statement, silent: bool = True) -> str:
    """A statement as a line: `W̄[j,i] = Σ_t h[t-1,i] δ^h[t,j]`.

    With `silent`, a sum over what stands in several factors is written with a capital alone.
    """
    writer = _Writer(silent)
    letters = writer.bound(statement.indices, {}, capital=False)
    left = writer.read(ir.Read(statement.target, statement.left), letters)
    text = f"{_show(left)} = {_show(writer.write(statement.body, letters))}"
    if statement.guard is not None:
        text += f" for {_show(writer.condition(statement.guard, letters))}"
    return text


def shown_element(tensor: str, indices: tuple[ir.Index, ...]) -> str:
    """`h̄^{in}[t,j]`."""
    writer = _Writer(True)
    letters = writer.bound(indices, {}, capital=False)
    return _show(writer.read(ir.Read(tensor, tuple(ir.Affine.of(i) for i in indices)), letters))


def letters(indices: tuple[ir.Index, ...]) -> list[str]:
    """The names of some indices as an equation shows them: `t`, `j`."""
    return list(_Writer(True).bound(indices, {}, capital=False).values())


def _show(expression: syntax.Expression) -> str:
    return Typesetter(KEY).show(expression)


class _Writer:
    """Expressions → trees of the notation."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent

    def bound(
        self, indices: tuple[ir.Index, ...], letters: Letters, capital: bool
    ) -> dict[str, str]:
        """Names for indices, which none of the others has; small letters, or capitals."""
        result = dict(letters)
        for index in indices:
            name = _cased(index_name(index), capital)
            while name in result.values():
                name = f"{name}'"
            result[index.name] = name
        return result

    def write(self, expression: ir.Expression, letters: Letters) -> syntax.Expression:
        match expression:
            case ir.Constant(value):
                return _number(value)
            case ir.SizeValue(size):
                return _size(size)
            case ir.IndexValue(place):
                return self.affine(place, letters)
            case ir.Read():
                return self.read(expression, letters)
            case ir.Apply("<", (ir.Reduce() as better, most)) if (
                by := ranked_by(better)
            ) is not None:
                ranked = self.write(by[0], letters), self.write(most, letters)
                return syntax.Call(Name("top_k"), ranked)
            case ir.Apply(function, arguments):
                return self.apply(function, arguments, letters)
            case ir.Reduce():
                return self.reduction(expression, letters)
            case ir.Softmax(indices):
                return self.over("softmax", indices, expression, letters)
            case ir.Select(branches, otherwise):
                return self.select(branches, otherwise, letters)
            case ir.Join(_, parts):
                return syntax.Join(tuple(self.part(part, letters) for part in parts))
        raise TypeError(f"nothing to write for {type(expression).__name__}")

    def part(self, part: ir.Part, letters: Letters) -> syntax.Expression:
        """A part of a join; its index is a slice."""
        return self.write(part.body, self.bound((part.index,), letters, capital=True))

    # ---- reads and places ----

    def read(self, read: ir.Read, letters: Letters) -> syntax.Expression:
        name = Name(read.tensor)
        if not read.places:
            return name
        return syntax.Index(name, tuple(self.place(place, letters) for place in read.places))

    def place(self, place: ir.Place, letters: Letters) -> syntax.Expression:
        if isinstance(place, ir.Gather):
            return self.read(place.read, letters)
        if isinstance(place, ir.Flat):
            return syntax.TupleLiteral(tuple(Name(letters[i.name]) for i in place.indices))
        return self.affine(place, letters)

    def affine(self, place: ir.Affine, letters: Letters) -> syntax.Expression:
        terms: list[syntax.Expression] = []
        for name, factor in sorted(place.terms, key=lambda term: term[1] < 0):
            letter: syntax.Expression = Name(letters[name])
            if abs(factor) != 1:
                letter = syntax.Product((Number(str(abs(factor))), letter))
            terms.append(letter if factor > 0 else syntax.Negative(letter))
        if place.offset.terms or not terms:
            terms += _terms(place.offset)
        return terms[0] if len(terms) == 1 else syntax.Add(tuple(terms))

    # ---- functions and cases ----

    def apply(
        self, function: str, arguments: tuple[ir.Expression, ...], letters: Letters
    ) -> syntax.Expression:
        if function == "*":
            return self.product(flat("*", arguments), letters)
        written = tuple(self.write(a, letters) for a in arguments)
        if function in ir.COMPARISONS:
            return syntax.Group(syntax.Comparison(written, (function,)), "[")
        match function, written:
            case "lse", _:
                powers = tuple(syntax.Call(Name("exp"), (w,)) for w in written)
                return syntax.Call(Name("ln"), (syntax.Add(powers),))
            case "and", _:
                inside = tuple(w.body if isinstance(w, syntax.Group) else w for w in written)
                return syntax.Group(syntax.Conjunction(inside), "[")
            case "+", _:
                return syntax.Add(written)
            case "/", (above, below):
                return syntax.Fraction(above, below)
            case "^", (base, exponent):
                return syntax.Power(base, exponent)
            case "neg", (body,):
                return syntax.Negative(body)
        return syntax.Call(Name(function), written)

    def product(self, factors: Sequence[ir.Expression], letters: Letters) -> syntax.Expression:
        """Factors side by side; sums without a sign are kept apart: `(U[d,J] x[J]) (V[d,J] x[J])`."""
        written = [self.write(factor, letters) for factor in factors]
        sums = [n for n, factor in enumerate(factors) if _without_sign(factor, written[n])]
        for n in sums if len(sums) > 1 else ():
            written[n] = syntax.Group(written[n], "(")
        return _product(written)

    def select(
        self,
        branches: tuple[tuple[ir.Expression, ir.Expression], ...],
        otherwise: ir.Expression,
        letters: Letters,
    ) -> syntax.Expression:
        nothing = ir.Constant(-math.inf)
        if len(branches) == 1 and branches[0][1] == ZERO and nothing in branches[0][0].children():
            return self.write(otherwise, letters)  # a share of a sum of exponentials: 0 at -∞
        if len(branches) == 1 and otherwise == ZERO:
            ((condition, value),) = branches
            written = self.write(value, letters)
            if isinstance(condition, ir.Apply) and condition.function == "≠" and _asked(condition):
                return written
            return _product((self.write(condition, letters), written))
        rows = [(self.write(v, letters), self.condition(c, letters)) for c, v in branches]
        return syntax.Cases((*rows, (self.write(otherwise, letters), None)))

    def condition(self, condition: ir.Expression, letters: Letters) -> syntax.Expression:
        written = self.write(condition, letters)
        return written.body if isinstance(written, syntax.Group) else written

    # ---- reductions ----

    def reduction(self, node: ir.Reduce, letters: Letters) -> syntax.Expression:
        """A sum over indices that its factors share needs no sign, if they are capitals."""
        if node.operator == "lse":
            powers = replace(node, operator="sum", body=ir.Apply("exp", (node.body,)))
            return syntax.Call(Name("ln"), (self.reduction(powers, letters),))
        alike = self.silent and node.operator == "sum" and node.condition is None
        silent = tuple(i for i in node.indices if alike and _repeated(i.name, node.body))
        loud = tuple(i for i in node.indices if i not in silent)
        inner = self.bound(silent, letters, capital=True)
        inner = self.bound(loud, inner, capital=False)
        return self.over(node.operator, loud, node, inner) if loud else self.write(node.body, inner)

    def over(
        self,
        operator: str,
        indices: Iterable[ir.Index],
        node: ir.Reduce | ir.Softmax,
        letters: Letters,
    ) -> syntax.Expression:
        under: list[syntax.Expression] = [Name(letters[index.name]) for index in indices]
        if node.condition is not None:
            under.append(self.condition(node.condition, letters))
        return syntax.Reduction(operator, tuple(under), None, self.write(node.body, letters))


def _without_sign(factor: ir.Expression, written: syntax.Expression) -> bool:
    """Whether it is a sum of which only the factors are written, be it with a minus in front."""
    _, rest = signed(factor)
    return isinstance(rest, ir.Reduce) and isinstance(written, syntax.Product | syntax.Negative)


def _repeated(name: str, body: ir.Expression) -> bool:
    """Whether an index stands in two or more factors, each time as a whole place."""
    if not isinstance(body, ir.Apply) or body.function != "*":
        return False
    if sum(name in free_indices(factor) for factor in set(body.arguments)) < 2:
        return False
    places = [
        place
        for node in body.walk()
        for place in (node.places if isinstance(node, ir.Read) else ())
        if isinstance(place, ir.Affine) and name in dict(place.terms)
    ]
    values = any(isinstance(n, ir.IndexValue) and name in free_indices(n) for n in body.walk())
    return not values and all(place.shift == (name, 0) for place in places)


def _asked(condition: ir.Apply) -> bool:
    """`h̄[t,j] ≠ 0`, which only says that somebody asks for the value."""
    return isinstance(condition.arguments[0], ir.Read) and condition.arguments[1] == ZERO


def _product(factors: Sequence[syntax.Expression]) -> syntax.Expression:
    """The factors in one level, a minus in front of all, equal ones as a power."""
    flat: list[syntax.Expression] = []
    minus = False
    for factor in factors:
        while isinstance(factor, syntax.Negative):
            minus, factor = not minus, factor.body
        flat += factor.factors if isinstance(factor, syntax.Product) else (factor,)
    found: list[syntax.Expression] = []
    for factor in sorted(dict.fromkeys(flat), key=lambda f: not _is_scale(f)):
        count = flat.count(factor)
        found.append(factor if count == 1 else syntax.Power(factor, Number(str(count))))
    product = found[0] if len(found) == 1 else syntax.Product(tuple(found))
    return syntax.Negative(product) if minus else product


def _is_scale(factor: syntax.Expression) -> bool:
    """A number or a fraction of sizes, which stands first."""
    if isinstance(factor, syntax.Fraction):
        return not any(isinstance(node, syntax.Index) for node in factor.walk())
    return isinstance(factor, Number)


def _cased(name: str, capital: bool) -> str:
    """`j'` → `J` or `j`, `ΔT` → `Δt`, `L` → `ℓ`: primes are put back where they are needed."""
    start = 1 if name.startswith("Δ") and len(name) > 1 else 0
    letter, rest = name[start], name[start + 1 :].rstrip("'")
    if capital:
        return name[:start] + ("L" if letter == "ℓ" else letter.upper()) + rest
    return name[:start] + ("ℓ" if letter == "L" else letter.lower()) + rest


def _number(value: float) -> syntax.Expression:
    if value < 0:
        return syntax.Negative(_number(-value))
    if math.isinf(value):
        return Number("∞")
    ratio = Ratio(value).limit_denominator(12)
    if ratio == value and ratio.denominator > 1:
        return syntax.Fraction(Number(str(ratio.numerator)), Number(str(ratio.denominator)))
    return Number(f"{value:g}".replace("e-0", "e-"))


def _size(size: Size) -> syntax.Expression:
    terms = _terms(size)
    return terms[0] if len(terms) == 1 else syntax.Add(tuple(terms))


def _terms(size: Size) -> list[syntax.Expression]:
    result: list[syntax.Expression] = []
    for monomial, coefficient in size.terms or (((), 0),):
        factors: list[syntax.Expression] = []
        if abs(coefficient) != 1 or not monomial:
            factors.append(_number(abs(float(coefficient))))
        for atom, power in monomial:
            factors += [Name(str(atom))] * power
        term = factors[0] if len(factors) == 1 else syntax.Product(tuple(factors))
        result.append(term if coefficient >= 0 else syntax.Negative(term))
    return result
