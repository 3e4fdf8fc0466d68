"""Expressions of the notation become expressions of the IR: sums appear, slices are resolved.

    W[j,I] h[t-1,I]   with j, t on the left
      →  Reduce("sum", (I,), Apply("*", (Read("W", (j, I)), Read("h", (t-1, I)))))

The one procedure: a capital that is not bound is open; it is summed in the innermost product in
which it occurs at least twice, a bracket counting as one occurrence. What is still open at the end
of an equation is a mistake, or the element of that number (`h[L,t,j]`, the top layer).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering import (
    calls,
    cases,
    claims,
    inlining,
    probabilities,
    reductions,
)
from indicial.program.lowering.context import ZERO, Context, Open, Term, merge
from indicial.program.lowering.reads import Reading
from indicial.program.lowering.scope import Scope
from indicial.program.moving import Unmovable, moved
from indicial.program.names.letters import LAST
from indicial.program.names.naming import Reference


class Lowering(Reading):
    """Lowers the expressions of one program into its context."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._table: dict[type, Callable[..., Term]] = {
            s.Number: self._number,
            s.Name: self._named,
            s.Index: self._named,
            s.Call: self._named,
            s.Group: self._group,
            s.Add: self._add,
            s.Negative: self._negative,
            s.Product: self._product,
            s.Hadamard: self._hadamard,
            s.Fraction: self._fraction,
            s.Power: self._power,
            s.Transpose: lambda node, scope: self.lower(node.body, scope),
            s.Norm: partial(reductions.norm, self),
            s.Reduction: partial(reductions.reduction, self),
            s.Expectation: lambda node, scope: self.lower(node.body, scope),
            s.Cases: partial(cases.cases, self),
            s.Comparison: partial(cases.comparison, self),
            s.Conjunction: partial(cases.conjunction, self),
            s.Disjunction: partial(cases.disjunction, self),
            s.Negation: partial(cases.negation, self),
            s.Join: partial(cases.join, self),
            s.ListLiteral: partial(cases.list_literal, self),
            s.Statistic: partial(claims.statistic, self),
            s.Quantity: partial(claims.quantity, self),
            s.Growth: partial(claims.growth, self),
            s.Derivative: partial(claims.derivative, self),
        }

    # ------------------------------------------------------------------ entry points

    def lower(self, node: s.Expression, scope: Scope) -> Term:
        """An expression with what is still open in it."""
        handler = self._table.get(type(node))
        if handler is None:
            self.messages.error(
                "no-value", f"{unicode(node)} has no value here", node.span,
                hint="only numbers, tensors, sums, products and functions can be used here",
            )  # fmt: skip
            return Term(ZERO)
        return handler(node, scope)

    def term(self, node: s.Expression, scope: Scope) -> Term:
        """A whole term: what occurs twice in it is summed."""
        return self.close([self.lower(node, scope)], node.span)

    def whole(self, node: s.Expression, scope: Scope) -> ir.Expression:
        """A side of an equation: nothing may stay open."""
        return self.finish(self.term(node, scope), scope)

    def condition(self, node: s.Expression, scope: Scope) -> ir.Expression:
        return self.whole(node, scope)

    def close(self, factors: list[Term], span: Span, apart: Collection[str] = ()) -> Term:
        """The product of the factors, summed over what occurs in it twice or more.

        The L of `h_L[t,J] h_L[t,J]` is the last layer however often it occurs, and what is in `apart` is
        not summed.
        """
        opens = merge(factors, brackets=False)
        expressions = tuple(f.expression for f in factors)
        body = expressions[0] if len(expressions) == 1 else ir.Apply("*", expressions, span=span)
        repeated = [o for key, o in opens.items() if o.count >= 2 and key not in apart]
        summed = [o for o in repeated if not self._is_last(o)]
        if summed:
            indices = tuple(o.variable.index for o in summed)
            body = ir.Reduce("sum", indices, None, body, span=span)
        left = {k: o for k, o in opens.items() if o not in summed}
        for key, opened in left.items():
            name = opened.variable.index.name
            opened.beside = opened.beside + [
                (f.expression.span, _sums_over(f.expression, name)) for f in factors
                if key not in f.opens and bool(f.expression.every(ir.Read))
            ]  # fmt: skip
        return Term(body, left)

    def elements(self, term: Term, scope: Scope) -> Term:
        """Capitals that name the element of that number: the top layer `h[L,t,j]`."""
        expression, opens = term.expression, dict(term.opens)
        for key, opened in term.opens.items():
            family = opened.variable.family
            there = any(self._has_element(tensor, n, family) for _, tensor, n in opened.sites)
            if there or (self.outline.document and opened.below and key.partition("°")[0] in LAST):
                size = self.context.classes.atom(opened.variable.size)
                if not there:  # `y = c h_T` of prose: the last of 0..T-1
                    size = size - 1
                expression = moved(expression, {opened.variable.name: ir.Affine((), size)})
                opened.variable.element = True
                scope.capitals.pop(key, None)
                del opens[key]
        return Term(expression, opens)

    def _is_last(self, opened: Open) -> bool:
        """Whether a capital that occurs several times is the last layer all the same.

        Below a name it is, if there is such an element; in brackets (`h[L,t,J] h[L,t,J]`), if it is an
        L and all that it stands at goes by layers: the weights of `s[L] h[L,t,j]` are for a sum.
        """
        family = opened.variable.family
        if opened.below:
            return any(self._has_element(tensor, n, family) for _, tensor, n in opened.sites)
        sites = [(tensor, n) for _, tensor, n in opened.sites]
        return family == "ℓ" and bool(sites) and all(site in self.by_layer for site in sites)

    def finish(self, term: Term, scope: Scope) -> ir.Expression:
        """Deals with what is left open: an element of that number, or a mistake."""
        term = self.elements(term, scope)
        expression = term.expression
        for key, opened in term.opens.items():
            span = opened.sites[0][0]
            letter = opened.variable.family
            inside = any(summed for _, summed in opened.beside)
            hint = f"sum over it with Σ_{{{letter}}}, use it a second time in the same product, or write it on the left"
            if inside:
                hint = f"leave the brackets out, and one sum over {key} takes all factors"
            if scope.number not in self.broken:
                self.messages.error(
                    "left-alone",
                    f"{key} occurs only once in this product, and is not on the left",
                    (span, f"the only {key} that is not summed"if inside else f"the only {key}"),
                    *((beside, f"sums over its own {key}" if summed else f"no {key} here")
                      for beside, summed in opened.beside),
                    *self.left_site(scope, f"no {key} here"),
                    hint=hint,
                )  # fmt: skip
            with suppress(Unmovable):  # it was told, and the equation is not computed
                expression = moved(expression, {opened.variable.name: ir.Affine()})
        return expression

    def _has_element(self, tensor: str, axis: int, of_family: str) -> bool:
        """Whether an axis has an element whose number is its size: layers 0..L, times 1..T."""
        info = self.context.tensors.get(tensor)
        if info is None or axis >= len(info.axes):
            return False
        shifts = [p.shift for p, _ in info.axes[axis].left if isinstance(p, ir.Affine)]
        if any(shift is not None and shift[1] > 0 for shift in shifts):
            return True
        if info.axes[axis].letter in self.layered or self._shifted_left(tensor, axis):
            return True
        return self.bounds.get(of_family) not in (None, (0, -1))

    def _shifted_left(self, tensor: str, axis: int) -> bool:
        """Whether the tensor is defined at `ℓ+1` along this axis."""
        items = [d.items for d in self.outline.definitions if d.key == tensor]
        return any(axis < len(i) and isinstance(i[axis], s.Add) for i in items)

    # ------------------------------------------------------------------ names

    def _number(self, node: s.Number, scope: Scope) -> Term:
        return Term(ir.Constant(_number(node.text), span=node.span))

    def _named(self, node: s.Expression, scope: Scope) -> Term:
        use = self.outline.use(node)
        if use is None:
            # Brackets after something that is no name: `(a + b)[j]`.
            self.messages.error("no-name", "indices can only follow a name", node.span,
                                hint="give the expression a name on a line of its own")  # fmt: skip
            return Term(ZERO)
        if use.kind == "probability":
            result = probabilities.probability(self, use, scope, node.span)
        elif use.kind == "function":
            result = calls.call(self, use, scope, node)
        elif use.kind == "factor":
            assert use.call is not None
            # `a^2 (x + y)`: the power belongs to the letter.
            base = self._raised(use.reference, scope)
            factor = self._brackets(use.call.arguments, scope)
            return self.close([base, factor], node.span)
        else:
            return self._raised(use.reference, scope)
        power = use.reference.power
        return result if power is None else self._raise(result, power, scope, node.span)

    def _raised(self, reference: Reference, scope: Scope) -> Term:
        """A name with the power that stands above it, if there is one."""
        power = reference.power
        if power is not None and reference.key == "e" and "e" not in self.outline.bracketed:
            return self.apply("exp", [self.term(power, scope)], reference.span)
        base = self._value(reference, scope)
        return base if power is None else self._raise(base, power, scope, reference.span)

    def _brackets(self, arguments: tuple[s.Expression, ...], scope: Scope) -> Term:
        if len(arguments) != 1:
            return Term(ZERO)
        inner = self.term(arguments[0], scope)
        return Term(inner.expression, merge([inner], brackets=True))

    def _value(self, reference: Reference, scope: Scope) -> Term:
        """A name in a product or a sum: a tensor, an index's value, a size or a number."""
        key = reference.key
        if key in scope.locals:
            return inlining.local(self, reference, scope)
        token = scope.tokens.get((key, reference.items))
        if token is not None:
            # `P(w_t | …) = Σ_s α[t,s] [w_s = w_t]`: whichever word it is asked about.
            return Term(ir.IndexValue(ir.Affine.of(token.name), span=reference.span))
        info = self.context.tensors.get(key)
        bare = not reference.items and info is not None and bool(info.axes)
        if bare and key in self.sizes_named:
            # `L_ℓ[t,j] / L`: a capital without brackets is the size, whatever else it names.
            return self._size_value(reference, scope)
        if info is not None and not (bare and key in scope.variables):
            return self.read(reference, scope)
        if not reference.items:
            if key in scope.variables:
                variable = scope.variables[key]
                return Term(ir.IndexValue(ir.Affine.of(variable.name), span=reference.span))
            if key in self.outline.labels:
                return Term(ir.Constant(float(self.outline.labels[key][0]), span=reference.span))
            if key == "π":
                return Term(ir.Constant(math.pi, span=reference.span))
            if key in self.sizes_named:
                return self._size_value(reference, scope)
        return self.read(reference, scope)

    def _size_value(self, reference: Reference, scope: Scope) -> Term:
        """A capital outside brackets: the size of its family in this equation, or of that name."""
        size = self.size_of(self.sizes_named[reference.key], scope)
        return Term(ir.SizeValue(size, span=reference.span))

    # ------------------------------------------------------------------ arithmetic

    def _group(self, node: s.Group, scope: Scope) -> Term:
        inner = self.term(node.body, scope)
        return Term(inner.expression, merge([inner], brackets=True))

    def apply(self, function: str, terms: list[Term], span: Span) -> Term:
        arguments = tuple(t.expression for t in terms)
        return Term(ir.Apply(function, arguments, span=span), merge(terms, brackets=True))

    def _add(self, node: s.Add, scope: Scope) -> Term:
        return self.apply("+", [self.term(t, scope) for t in node.terms], node.span)

    def _negative(self, node: s.Negative, scope: Scope) -> Term:
        return self.apply("neg", [self.term(node.body, scope)], node.span)

    def _product(self, node: s.Product, scope: Scope) -> Term:
        return self.close([self.lower(f, scope) for f in node.factors], node.span)

    def _hadamard(self, node: s.Hadamard, scope: Scope) -> Term:
        """`a[D] σ(a[D]) ⊙ b[D]`: what stands once in one part is element by element in all of them."""
        inside = [part.body if isinstance(part, s.Group) else part for part in node.factors]
        parts = [
            [
                self.lower(f, scope)
                for f in (part.factors if isinstance(part, s.Product) else [part])
            ]
            for part in inside
        ]
        opens = [merge(terms, brackets=False) for terms in parts]
        alike = frozenset(key for found in opens for key, o in found.items() if o.count == 1)
        closed = [
            self.close(terms, part.span, alike)
            for terms, part in zip(parts, node.factors, strict=True)
        ]
        return self.apply("*", closed, node.span)

    def _fraction(self, node: s.Fraction, scope: Scope) -> Term:
        above, below = self.term(node.above, scope), self.term(node.below, scope)
        body = ir.Apply("/", (above.expression, below.expression), span=node.span)
        if isinstance(above.expression, ir.Constant) and above.expression.value == 1.0:
            return Term(body, merge([below], brackets=True))
        both = merge(
            [Term(ZERO, merge([above], brackets=True)), Term(ZERO, merge([below], brackets=True))],
            brackets=False,
        )
        closed = self.close([Term(body, both)], node.span)
        return Term(closed.expression, merge([closed], brackets=True))

    def _power(self, node: s.Power, scope: Scope) -> Term:
        use = self.outline.use(node.base) if isinstance(node.base, s.Call) else None
        if use is not None and use.kind == "factor":
            # `m_i (a - b)^2`: the power belongs to the bracket.
            assert use.call is not None and isinstance(node.base, s.Call)
            inside = s.Group(use.call.arguments[0], span=node.base.span)
            raised = s.Power(inside, node.exponent, span=node.span)
            return self.lower(s.Product((node.base.function, raised), span=node.span), scope)
        base = self.lower(node.base, scope)
        return self._raise(base, node.exponent, scope, node.span)

    def _raise(self, base: Term, exponent: s.Expression, scope: Scope, span: Span) -> Term:
        return self.apply("^", [self.close([base], span), self.term(exponent, scope)], span)


def _number(text: str) -> float:
    if text in ("∞", "inf"):
        return math.inf
    try:
        return float(text)
    except ValueError:
        return math.nan


def _sums_over(expression: ir.Expression, name: str) -> bool:
    """Whether a factor in brackets has used an index up: `(f[I] h[I])`."""
    return any(i.name == name for r in expression.every(ir.Reduce) for i in r.indices)
