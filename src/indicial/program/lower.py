"""Expressions of the notation become expressions of the IR: sums appear, slices are resolved.

    W[j,I] h[t-1,I]   with j, t on the left
      →  Reduce("sum", (I,), Apply("*", (Read("W", (j, I)), Read("h", (t-1, I)))))

The one procedure: a capital that is not bound is open; it is summed in the innermost product in which
it occurs at least twice, a bracket counting as one occurrence. What is still open at the end of an
equation is a mistake, or the element of that number (`h[L,t,j]`, the top layer).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program import calls, ir
from indicial.program.context import (
    AxisInfo,
    Context,
    Note,
    Open,
    TensorInfo,
    Term,
    Variable,
    merge,
)
from indicial.program.naming import Reference, capital, family, index_name, is_capital
from indicial.program.outline import Use, probability_key
from indicial.program.places import Placed, describe, main_variable, place
from indicial.program.rewrite import free_indices
from indicial.program.scope import Binder, Scope, binders, token_name
from indicial.program.sizes import Size

ZERO = ir.Constant(0.0)


class Lowering:
    """Lowers the expressions of one program into its context."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.outline = context.outline
        self.messages = context.messages
        self.bounds: dict[str, tuple[int, int]] = {}
        """What the text says of a family's range: (1, 0) for 1..T, (0, -1) for 0..T-1."""
        self.index_keys: set[str] = set()
        """The letters that are an index somewhere: on a left side, or below a Σ."""
        self.sizes_named: dict[str, s.Name] = {}
        """The names that are sizes outside brackets."""
        self.trailing: dict[int, s.Name] = {}
        """The slice that a statement leaves out on both sides."""
        self.broken: set[int] = set()
        """Statements with a mistake that makes others follow: those are not said."""
        self.flattened: dict[int, tuple[Variable, Variable, Variable]] = {}
        """Statements that join over an index: the joined index, the outer and the inner one."""
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
            s.Norm: self._norm,
            s.Reduction: self._reduction,
            s.Expectation: lambda node, scope: self.lower(node.body, scope),
            s.Cases: self._cases,
            s.Comparison: self._comparison,
            s.Conjunction: self._conjunction,
            s.Join: self._join,
            s.ListLiteral: self._list,
        }

    # ------------------------------------------------------------------ entry points

    def lower(self, node: s.Expression, scope: Scope) -> Term:
        """An expression with what is still open in it."""
        handler = self._table.get(type(node))
        if handler is None:
            self.messages.error(
                "no-value", f"{unicode(node)} has no value here", node.span,
                hint="only numbers, tensors, sums, products and functions can stand here",
            )  # fmt: skip
            return Term(ZERO)
        return handler(node, scope)

    def term(self, node: s.Expression, scope: Scope) -> Term:
        """A whole term: what occurs twice in it is summed."""
        return self.close([self.lower(node, scope)], node.span)

    def whole(self, node: s.Expression, scope: Scope) -> ir.Expression:
        """A side of an equation: nothing may stay open."""
        term = self.term(node, scope)
        return self.finish(term, scope)

    def condition(self, node: s.Expression, scope: Scope) -> ir.Expression:
        return self.whole(node, scope)

    def close(self, factors: list[Term], span: Span) -> Term:
        """The product of the factors, summed over what occurs in it twice or more."""
        opens = merge(factors, brackets=False)
        expressions = tuple(f.expression for f in factors)
        body = expressions[0] if len(expressions) == 1 else ir.Apply("*", expressions, span=span)
        summed = [o for o in opens.values() if o.count >= 2]
        if summed:
            indices = tuple(o.variable.index for o in summed)
            body = ir.Reduce("sum", indices, None, body, span=span)
        left = {k: o for k, o in opens.items() if o.count < 2}
        return Term(body, left)

    def elements(self, term: Term, scope: Scope) -> Term:
        """Capitals that name the element of that number: the top layer `h[L,t,j]`."""
        expression, opens = term.expression, dict(term.opens)
        for key, opened in term.opens.items():
            if opened.sites and self._has_element(opened.sites[0][1], opened.sites[0][2], opened.variable.family):
                size = self.context.classes.atom(opened.variable.size)
                expression = calls.substitute(expression, {opened.variable.name: ir.Affine((), size)})
                scope.capitals.pop(key, None)
                del opens[key]
        return Term(expression, opens)

    def finish(self, term: Term, scope: Scope) -> ir.Expression:
        """Deals with what is left open: an element of that number, or a mistake."""
        term = self.elements(term, scope)
        expression = term.expression
        for key, opened in term.opens.items():
            span = opened.sites[0][0] if opened.sites else expression.span
            letter = opened.variable.family
            if scope.number in self.broken:
                expression = calls.substitute(expression, {opened.variable.name: ir.Affine()})
                continue
            self.messages.error(
                "left-alone",
                f"{key} stands alone: it is not on the left, and nothing else in the product has it",
                (span, f"the only {key}"),
                hint=f"sum over it with Σ_{{{letter}}}, use it a second time in the same product, "
                     f"or write it on the left",
            )  # fmt: skip
            expression = calls.substitute(expression, {opened.variable.name: ir.Affine()})
        return expression

    def _has_element(self, tensor: str, axis: int, of_family: str) -> bool:
        """Whether an axis has an element whose number is its size: layers 0..L, times 1..T."""
        info = self.context.tensors.get(tensor)
        if info is None or axis >= len(info.axes):
            return False
        if any(isinstance(p, ir.Affine) and p.shift and p.shift[1] > 0 for p, _ in info.axes[axis].left):
            return True
        return self.shifted_left(tensor, axis) or self.bounds.get(of_family) not in (None, (0, -1))

    def shifted_left(self, tensor: str, axis: int) -> bool:
        """Whether the tensor is defined at `ℓ+1` along this axis."""
        for definition in self.outline.definitions:
            if definition.key == tensor and axis < len(definition.items):
                item = definition.items[axis]
                if isinstance(item, s.Add):
                    return True
        return False

    # ------------------------------------------------------------------ messages and notes

    def note(self, subject: str, text: str, span: Span) -> None:
        self.context.notes.append(Note(subject, text, span))

    def unbound(self, node: s.Name, scope: Scope) -> None:
        key = name_key(node)
        others = sorted(k for k in scope.variables if not is_capital(k[0]))
        known = f"bound here are {', '.join(others)}" if others else "no index is bound here"
        index = index_name(node)
        hint = f"put {key} on the left, or sum over it: Σ_{{{key}}} …"
        if index is not None and not is_capital(index.base):
            hint += f", or write {capital(family(index))} to have it summed where it occurs twice"
        self.messages.error(
            "unbound-index", f"{key} is bound nowhere: {known}", (node.span, "not on the left"),
            hint=hint,
        )  # fmt: skip

    def may_be_label(self, node: s.Name) -> bool:
        """In a document, a letter that is never an index anywhere is the name of one element."""
        key = name_key(node)
        return key not in self.index_keys

    def constant_value(self, key: str) -> float:
        node = self.outline.constants[key][1]
        try:
            return float(node.text) if isinstance(node, s.Number) else 0.0
        except ValueError:
            return 0.0

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
            result = self._probability(use, scope, node.span)
        elif use.kind == "function":
            result = calls.call(self, use, scope, node)
        elif use.kind == "factor":
            assert use.call is not None
            base = self._value(use.reference, scope)
            factor = self._brackets(use.call.arguments, scope)
            result = self.close([base, factor], node.span)
        else:
            result = self._value(use.reference, scope)
        power = use.reference.power
        if power is not None:
            if use.reference.key == "e" and "e" not in self.context.tensors:
                return self._apply("exp", [self.term(power, scope)], node.span)
            return self._raise(result, power, scope, node.span)
        return result

    def _brackets(self, arguments: tuple[s.Expression, ...], scope: Scope) -> Term:
        if len(arguments) != 1:
            return Term(ZERO)
        inner = self.term(arguments[0], scope)
        return Term(inner.expression, merge([inner], brackets=True))

    def _value(self, reference: Reference, scope: Scope) -> Term:
        """A name in a product or a sum: a tensor, an index's value, a size or a number."""
        key = reference.key
        if key in scope.locals:
            return calls.local(self, reference, scope)
        if key in self.context.tensors and (
            reference.items or self.context.tensors[key].axes == [] or key not in scope.variables
        ):
            return self.read(reference, scope)
        if not reference.items:
            if key in scope.variables:
                variable = scope.variables[key]
                return Term(ir.IndexValue(ir.Affine.of(variable.name), span=reference.span))
            if key in self.outline.labels:
                return Term(ir.Constant(float(self.outline.labels[key][0]), span=reference.span))
            if key == "π":
                return Term(ir.Constant(math.pi, span=reference.span))
            size = self._size_key(key, scope)
            if size is not None:
                return Term(ir.SizeValue(size, span=reference.span))
        return self.read(reference, scope)

    def _size_key(self, key: str, scope: Scope) -> Size | None:
        """A capital outside brackets: the size of its family in this equation, or of that name."""
        if key in self.sizes_named:
            return self.size_of(self.sizes_named[key], scope)
        return None

    def size_of(self, name: s.Name, scope: Scope) -> Size:
        """The size that a capital (or a lower-case size such as n) stands for."""
        of = family(name) if is_capital(name.base) else name_key(name)
        classes = self.context.classes
        if of in scope.families:
            return classes.atom(scope.families[of])
        key = name_key(name)
        if key not in self.context.size_classes:
            self.context.size_classes[key] = classes.new(key, name.span, priority=3)
        return classes.atom(self.context.size_classes[key])

    # ------------------------------------------------------------------ reading tensors

    def tensor(self, key: str, count: int, span: Span) -> TensorInfo:
        """What is known about a tensor; a new one has as many axes as it is read with."""
        if key not in self.context.tensors:
            axes = [AxisInfo(self.context.classes.new("", span, priority=9)) for _ in range(count)]
            self.context.tensors[key] = TensorInfo(key, axes, span)
        return self.context.tensors[key]

    def read(self, reference: Reference, scope: Scope) -> Term:
        """A tensor at its indices."""
        key = reference.key
        if key not in self.context.tensors and scope.prefix:
            key = scope.prefix + key
        group = scope.group if scope.prefix and key.startswith(scope.prefix) else ()
        info = self.tensor(key, len(group) + len(reference.items), reference.span)
        items = self.complete(info, reference, scope, len(group))
        if items is None:
            self.broken.add(scope.number)
            return Term(ZERO)
        placed = [*(Placed(p, list(v)) for p, v in group), *(place(self, i, scope) for i in items)]
        info.reads.append((reference.span, tuple(describe(i) for i in items), scope.number))
        spans = [reference.span] * len(group) + [i.span for i in items]
        result = self.read_at(info, placed, spans, scope)
        assert isinstance(result.expression, ir.Read)
        return Term(ir.Read(key, result.expression.places, span=reference.span), result.opens)

    def read_at(self, info: TensorInfo, placed: list[Placed], spans: list[Span], scope: Scope) -> Term:
        """A read at places: joins the sizes of indices and axes."""
        opens: dict[str, Open] = {}
        for number, (one, axis, span) in enumerate(zip(placed, info.axes, spans, strict=True)):
            axis.reads.append((one.place, one.variables))
            self.meet(info, number, one, span)
            for variable in one.opened:
                site = (span, info.key, number)
                if variable.name in opens:
                    opens[variable.name].count += 1
                    opens[variable.name].sites.append(site)
                else:
                    opens[variable.name] = Open(variable, 1, [site])
        return Term(ir.Read(info.key, tuple(p.place for p in placed)), opens)

    def meet(self, info: TensorInfo, number: int, placed: Placed, span: Span) -> None:
        """An index stands at an axis: their sizes are the same."""
        axis = info.axes[number]
        classes = self.context.classes
        if isinstance(placed.place, ir.Gather):
            values = self.context.tensors[placed.place.read.tensor].values
            if values is not None:
                classes.union(values, axis.size, span)
            return
        if isinstance(placed.place, ir.Flat):
            total = Size.of(1)
            for variable, _ in placed.variables:
                total = total * classes.atom(variable.size)
            classes.bind(axis.size, total, span)
            axis.letter = axis.letter or "(" + ",".join(v.family for v, _ in placed.variables) + ")"
            return
        main = main_variable(placed)
        if main is None:
            return
        variable, factor = main
        if factor == 1:
            if len(placed.variables) == 1 or not variable.family.startswith("Δ"):
                classes.union(axis.size, variable.size, span)
            if placed.place.shift == (variable.name, 0):
                variable.plain.append((info.key, number))
            if not axis.letter:
                axis.letter = variable.family
        elif factor > 1:
            axis.stride = factor
            if not axis.letter:
                axis.letter = variable.family

    def complete(
        self, info: TensorInfo, reference: Reference, scope: Scope, group: int = 0
    ) -> tuple[s.Expression, ...] | None:
        """The items of a read with what was left out: indices per step, the batch, a trailing slice."""
        items = reference.items
        missing = len(info.axes) - len(items) - group
        if missing > 0 and len(info.lifted) == missing:
            return (*info.lifted, *items)
        if missing > 0:
            trailing = self.trailing.get(scope.number)
            if trailing is not None and missing == 1:
                return (*items, trailing)
            families = [describe(i) for i in items]
            letters = [a.letter for a in info.axes]
            if letters[0] == "b" and missing == 1 and "b" in scope.variables:
                self.messages.warning(
                    "batch-index", f"{info.key} has the batch index b, which is left out here",
                    (reference.span, "read as with b in front"), (info.span, "b is written here"),
                    hint=f"write {info.key}[b, …]",
                )  # fmt: skip
                return (s.Name("b", span=reference.span), *items)
            self.wrong_count(info, reference, families)
            return None
        if missing < 0:
            self.wrong_count(info, reference, [describe(i) for i in items])
            return None
        return items

    def wrong_count(self, info: TensorInfo, reference: Reference, families: list[str]) -> None:
        have, want = len(families), len(info.axes)
        shape = f"{info.key}[{', '.join(a.letter or '·' for a in info.axes)}]" if want else info.key
        self.messages.error(
            "index-count",
            f"{info.key} has {_count(want)}, but {_count(have)} stand{'s' if have == 1 else ''} here"
            if have else f"{info.key} has {_count(want)}, but none stands here",
            (reference.span, _count(have)), (info.span, f"{_count(want)}"),
            hint=f"it is known as {shape}",
        )  # fmt: skip
        info.wrong = True

    def token_values(self, key: str, span: Span) -> int:
        """The class of a token tensor's vocabulary."""
        info = self.context.tensors[key]
        if info.values is None:
            info.values = self.context.classes.new(key.upper() if len(key) == 1 else "V", span, 6)
        return info.values

    # ------------------------------------------------------------------ probabilities

    def token_of(self, node: s.Expression) -> tuple[Reference, tuple[str, tuple[s.Expression, ...]]] | None:
        """`w_t`, `w[t]` as a token: the tensor and its place."""
        if token_name(node) is None:
            return None
        use = self.outline.use(node)
        if use is None or use.kind != "tensor" or not use.reference.items:
            return None
        return use.reference, (use.reference.key, use.reference.items)

    def _probability(self, use: Use, scope: Scope, span: Span) -> Term:
        """`P(w_t | …)` on a right side: the distribution at the actual token."""
        assert use.call is not None
        key = probability_key(use.reference.key, use.call)
        argument = use.call.arguments[0]
        token = self.token_of(argument)
        defined = key in self.outline.defined
        if token is None or len(use.call.arguments) != 1:
            if defined and key in self.context.tensors and isinstance(argument, s.Name):
                info = self.context.tensors[key]
                name = index_name(argument)
                if name is not None and name_key(name) in scope.variables and len(info.axes) == 1:
                    return self.read(Reference(key, (argument,), span), scope)
                if not info.axes:
                    return self.read(Reference(key, (), span), scope)
            open_key = unicode(use.call)
            info = self.tensor(open_key, 0, span)
            info.probability = True
            info.guess = "an open probability: nothing here says what it is"
            return Term(ir.Read(open_key, (), span=span))
        reference, bound = token
        info = self.context.tensors.get(key) or self.tensor(key, len(reference.items) + 1, span)
        info.probability = True
        vocabulary = place(self, argument, scope)
        placed = [place(self, i, scope) for i in reference.items]
        lifted = [place(self, i, scope) for i in info.lifted]
        if len(lifted) + len(placed) + 1 != len(info.axes):
            self.wrong_count(info, Reference(key, (*reference.items, argument), span),
                             [describe(i) for i in reference.items] + ["@"])  # fmt: skip
            return Term(ZERO)
        spans = [span] * len(lifted) + [i.span for i in reference.items] + [argument.span]
        result = self.read_at(info, [*lifted, *placed, vocabulary], spans, scope)
        if bound in scope.tokens:
            self.context.classes.union(info.axes[-1].size, scope.tokens[bound].size, span)
        assert isinstance(result.expression, ir.Read)
        return Term(ir.Read(key, result.expression.places, span=span), result.opens)

    # ------------------------------------------------------------------ arithmetic

    def _group(self, node: s.Group, scope: Scope) -> Term:
        inner = self.term(node.body, scope)
        return Term(inner.expression, merge([inner], brackets=True))

    def _apply(self, function: str, terms: list[Term], span: Span) -> Term:
        arguments = tuple(t.expression for t in terms)
        return Term(ir.Apply(function, arguments, span=span), merge(terms, brackets=True))

    def _add(self, node: s.Add, scope: Scope) -> Term:
        return self._apply("+", [self.term(t, scope) for t in node.terms], node.span)

    def _negative(self, node: s.Negative, scope: Scope) -> Term:
        inner = self.term(node.body, scope)
        return Term(ir.Apply("neg", (inner.expression,), span=node.span), merge([inner], brackets=True))

    def _product(self, node: s.Product, scope: Scope) -> Term:
        return self.close([self.lower(f, scope) for f in node.factors], node.span)

    def _hadamard(self, node: s.Hadamard, scope: Scope) -> Term:
        return self._apply("*", [self.term(f, scope) for f in node.factors], node.span)

    def _fraction(self, node: s.Fraction, scope: Scope) -> Term:
        above, below = self.term(node.above, scope), self.term(node.below, scope)
        if isinstance(above.expression, ir.Constant) and above.expression.value == 1.0:
            body: ir.Expression = ir.Apply("/", (above.expression, below.expression), span=node.span)
            return Term(body, merge([below], brackets=True))
        both = merge([Term(ZERO, merge([above], brackets=True)), Term(ZERO, merge([below], brackets=True))], brackets=False)
        body = ir.Apply("/", (above.expression, below.expression), span=node.span)
        closed = self.close([Term(body, both)], node.span)
        return Term(closed.expression, merge([closed], brackets=True))

    def _power(self, node: s.Power, scope: Scope) -> Term:
        base = self.lower(node.base, scope)
        return self._raise(base, node.exponent, scope, node.span)

    def _raise(self, base: Term, exponent: s.Expression, scope: Scope, span: Span) -> Term:
        return self._apply("^", [self.close([base], span), self.term(exponent, scope)], span)

    def _norm(self, node: s.Norm, scope: Scope) -> Term:
        """`‖x[t,J]‖`: over all slices of its body, also those that are on the left."""
        inner_scope = scope.slicing()
        inner = self.term(self._whole_tensor(node.body), inner_scope)
        variables = [o.variable for o in inner.opens.values()]
        body = inner.expression
        if not variables and isinstance(body, ir.Read) and not body.places:
            return self._apply("abs", [inner], node.span)
        order = node.order.text if isinstance(node.order, s.Number) else "2"
        indices = tuple(v.index for v in variables)
        if not indices:
            return self._apply("abs", [inner], node.span)
        if order == "1":
            body = ir.Reduce("sum", indices, None, ir.Apply("abs", (body,), span=node.span), span=node.span)
        elif order == "∞":
            body = ir.Reduce("max", indices, None, ir.Apply("abs", (body,), span=node.span), span=node.span)
        else:
            square = ir.Apply("^", (body, ir.Constant(2.0)), span=node.span)
            total = ir.Reduce("sum", indices, None, square, span=node.span)
            body = ir.Apply("sqrt", (total,), span=node.span)
        return Term(body)

    def _whole_tensor(self, node: s.Expression) -> s.Expression:
        """A bare name in a norm means all its elements: `‖x‖` is `‖x[I]‖` where x has an index."""
        use = self.outline.use(node) if isinstance(node, s.Name) else None
        info = self.context.tensors.get(use.reference.key) if use is not None else None
        if use is None or info is None or not info.axes or use.reference.items:
            return node
        letters = tuple(
            s.Name("I", primes=number, span=node.span) for number in range(len(info.axes))
        )
        return s.Index(node, letters, span=node.span)

    # ------------------------------------------------------------------ reductions

    def _reduction(self, node: s.Reduction, scope: Scope) -> Term:
        if node.operator == "softmax":
            return self._softmax(node, scope)
        found, conditions = binders(node, set(scope.variables))
        inner = scope.child()
        variables: list[Variable] = []
        for binder in found:
            variable = self._bind(binder, inner, node)
            if variable is not None:
                variables.append(variable)
        if not variables:
            self.messages.error(
                "no-index", f"{node.operator} needs an index to run over", node.span,
                hint=f"write it below: {node.operator}_{{i}} …",
            )  # fmt: skip
            return self.lower(node.body, scope)
        body = self.term(node.body, inner)
        parts = [self.condition(c, inner) for c in conditions]
        condition = _conjunction(parts)
        used = free_indices(body.expression) | (free_indices(condition) if condition else set())
        for variable in variables:
            if variable.name not in used:
                self.messages.warning(
                    "sum-index",
                    f"{node.operator} runs over {variable.name}, which does not occur behind it",
                    (variable.span, f"{variable.name} here"), (node.body.span, "and not in this"),
                    hint="is an index missing in the body?",
                )  # fmt: skip
        indices = tuple(v.index for v in variables)
        reduced = ir.Reduce(node.operator, indices, condition, body.expression, span=node.span)
        return Term(reduced, merge([body], brackets=True))

    def _bind(self, binder: Binder, scope: Scope, node: s.Reduction) -> Variable | None:
        """Binds what stands below a Σ."""
        token = self.token_of(binder.name)
        if token is not None:
            reference, bound = token
            self.tensor(reference.key, len(reference.items), reference.span)
            size = self.token_values(reference.key, reference.span)
            variable = self.context.variable(unicode(binder.name), reference.key, size, reference.span)
            scope.tokens[bound] = variable
            return variable
        name = index_name(binder.name)
        if name is None:
            self.messages.error(
                "no-index", f"{unicode(binder.name)} cannot be an index to run over", binder.name.span,
                hint="below a Σ stand indices: Σ_{t=1}^T, Σ_{i,j}, Σ_{t_2 ≤ t_1}",
            )  # fmt: skip
            return None
        key = name_key(name)
        if key in scope.variables and not is_capital(name.base):
            outer = scope.variables[key]
            self.messages.error(
                "bound-twice", f"{key} is bound already, and {node.operator} binds it again",
                (name.span, "again here"), (outer.span, "bound here"),
                hint=f"use another letter of its range, for example {name.base}'",
            )  # fmt: skip
        variable = scope.bind(self.context, name)
        if binder.lower is not None and binder.upper is not None:
            variable.lower = self._bound(binder.lower, scope) + (1 if binder.strict_lower else 0)
            variable.upper = self._bound(binder.upper, scope) - (1 if binder.strict_upper else 0)
            extent = (variable.upper - variable.lower + 1).name
            if extent is not None and extent.startswith("#"):
                # `Σ_{i=1}^n`: the size of i is called n.
                self.context.classes.union(int(extent[1:]), variable.size, name.span)
        return variable

    def _bound(self, node: s.Expression, scope: Scope) -> Size:
        """The end of a range: a number, a size, or both (`L-2`)."""
        if isinstance(node, s.Number):
            return Size.of(int(node.text)) if node.text.isdigit() and len(node.text) < 10 else Size()
        if isinstance(node, s.Name):
            key = name_key(node)
            if is_capital(node.base) or key in self.sizes_named:
                return self.size_of(node, scope)
        if isinstance(node, s.Negative):
            return -self._bound(node.body, scope)
        if isinstance(node, s.Add):
            total = Size()
            for part in node.terms:
                total = total + self._bound(part, scope)
            return total
        if isinstance(node, s.Product):
            product = Size.of(1)
            for part in node.factors:
                product = product * self._bound(part, scope)
            return product
        self.messages.error(
            "range", f"{unicode(node)} cannot end a range", node.span,
            hint="a range ends at a size or a number: T, L-2, 10; write a condition for the rest: "
                 "Σ_{s ≤ t}",
        )  # fmt: skip
        return Size()

    def _softmax(self, node: s.Reduction, scope: Scope) -> Term:
        """`softmax_{t_2 ≤ t_1} …`: its indices stay free."""
        found, conditions = binders(node, set())
        body = self.term(node.body, scope)
        variables: list[Variable] = []
        opens = merge([body], brackets=True)
        bodies = free_indices(body.expression)
        # In `softmax_{t_2 ≤ t_1}` both letters are bound: the one that is meant comes first.
        named = [b for b in found if isinstance(b.name, s.Name | s.Index)]
        for binder in named:
            variable = self._softmax_index(binder, scope, opens)
            if variable is not None and variable not in variables:
                variables.append(variable)
        if not named:
            variables = self._softmax_default(scope, opens)
        if not variables:
            if not named:
                self.messages.error(
                    "softmax-index", "nothing says what this softmax runs over", node.span,
                    hint="write its index below: softmax_{t_2} …",
                )  # fmt: skip
            return body
        for variable in variables:
            if variable.name not in bodies:
                self.messages.error(
                    "softmax-index",
                    f"softmax runs over {variable.name}, which its body does not have",
                    (node.span, f"over {variable.name}"), (node.body.span, "the body"),
                    hint=f"all values would be equal; the body has {_listed(bodies)}",
                )  # fmt: skip
        condition = _conjunction([self.condition(c, scope) for c in conditions])
        indices = tuple(v.index for v in variables)
        return Term(ir.Softmax(indices, condition, body.expression, span=node.span), opens)

    def _softmax_index(self, binder: Binder, scope: Scope, opens: dict[str, Open]) -> Variable | None:
        token = self.token_of(binder.name)
        if token is not None:
            reference, bound = token
            if bound in scope.tokens:
                return scope.tokens[bound]
            subject = scope.subject
            self.messages.error(
                "softmax-variable",
                f"softmax runs over {unicode(binder.name)}, which is not the variable on the left",
                (binder.name.span, "over this"),
                *([(subject.span, "the variable is this")] if subject else []),
                hint=f"write softmax_{{{subject.name}}}" if subject else "bind it on the left",
            )  # fmt: skip
            return subject
        name = index_name(binder.name)
        if name is None:
            return None
        key = name_key(name)
        if key in scope.variables:
            return scope.variables[key]
        if key in opens:
            return opens[key].variable
        self.messages.error(
            "softmax-index", f"softmax runs over {key}, which is not on the left", name.span,
            hint=f"put {key} on the left, or use its capital in the body",
        )  # fmt: skip
        return None

    def _softmax_default(self, scope: Scope, opens: dict[str, Open]) -> list[Variable]:
        """Without an index: the variable of P, else a slice, else the last index on the left."""
        if scope.subject is not None:
            return [scope.subject]
        if opens:
            return [o.variable for o in opens.values()]
        return scope.left[-1:]

    # ------------------------------------------------------------------ cases, conditions, joins

    def _cases(self, node: s.Cases, scope: Scope) -> Term:
        branches: list[tuple[ir.Expression, ir.Expression]] = []
        otherwise: ir.Expression = ZERO
        terms: list[Term] = []
        for value, condition in node.branches:
            term = self.term(value, scope)
            terms.append(term)
            if condition is None:
                otherwise = term.expression
            else:
                branches.append((self.condition(condition, scope), term.expression))
        selected = ir.Select(tuple(branches), otherwise, span=node.span)
        return Term(selected, merge(terms, brackets=True))

    def _comparison(self, node: s.Comparison, scope: Scope) -> Term:
        parts: list[ir.Expression] = []
        values: list[Term | None] = []
        for operand in node.operands:
            is_set = isinstance(operand, s.SetLiteral | s.Interval)
            values.append(None if is_set else self.term(operand, scope))
        for position, operator in enumerate(node.operators):
            left, right = values[position], values[position + 1]
            if operator in ("∈", "∉"):
                inside = self._member(left, node.operands[position + 1], scope, node.span)
                parts.append(inside if operator == "∈" else _not(inside, node.span))
            elif left is not None and right is not None and operator in ir.COMPARISONS:
                parts.append(ir.Apply(operator, (left.expression, right.expression), span=node.span))
            else:
                self.messages.error("condition", f"{unicode(node)} is no condition that can be tried",
                                    node.span)  # fmt: skip
        terms = [v for v in values if v is not None]
        return Term(_conjunction(parts) or ir.Constant(1.0), merge(terms, brackets=True))

    def _member(self, left: Term | None, container: s.Expression, scope: Scope, span: Span) -> ir.Expression:
        if left is None:
            return ir.Constant(1.0)
        if isinstance(container, s.SetLiteral):
            tests = tuple(
                ir.Apply("=", (left.expression, self.term(i, scope).expression), span=span)
                for i in container.items if not isinstance(i, s.Dots)
            )  # fmt: skip
            if any(isinstance(i, s.Dots) for i in container.items):
                return ir.Constant(1.0)
            return tests[0] if len(tests) == 1 else ir.Apply("max", tests, span=span)
        if isinstance(container, s.Interval):
            low = self.term(container.lower, scope).expression
            high = self.term(container.upper, scope).expression
            return ir.Apply(
                "and",
                (ir.Apply("≤", (low, left.expression)), ir.Apply("≤", (left.expression, high))),
                span=span,
            )
        self.messages.error("condition", f"{unicode(container)} is no set", container.span)
        return ir.Constant(1.0)

    def _conjunction(self, node: s.Conjunction, scope: Scope) -> Term:
        terms = [self.lower(p, scope) for p in node.parts]
        return self._apply("and", terms, node.span)

    def _join(self, node: s.Join, scope: Scope) -> Term:
        if not scope.left:
            self.messages.error("join", "a joined vector needs a name", node.span,
                                hint="write `z[t,C] = a[t,I]; b[t,J]` on a line of its own")  # fmt: skip
            return Term(ZERO)
        return calls.join(self, node.parts, scope, scope.left[-1], node.span)

    def _list(self, node: s.ListLiteral, scope: Scope) -> Term:
        if all(not isinstance(i, s.Number | s.Negative | s.ListLiteral) for i in node.items):
            return self._join(s.Join(node.items, span=node.span), scope)
        self.messages.error("literal", "a list of numbers can only be the whole right side", node.span,
                            hint="give it a name: `q = [1, 1, 2]`")  # fmt: skip
        return Term(ZERO)


def _conjunction(parts: list[ir.Expression]) -> ir.Expression | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else ir.Apply("and", tuple(parts), span=parts[0].span)


def _not(condition: ir.Expression, span: Span) -> ir.Expression:
    return ir.Apply("=", (condition, ir.Constant(0.0)), span=span)


def _number(text: str) -> float:
    if text in ("∞", "inf"):
        return math.inf
    try:
        return float(text)
    except ValueError:
        return math.nan


def _count(number: int) -> str:
    return "no index" if number == 0 else f"{number} ind{'ex' if number == 1 else 'ices'}"


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) if names else "no index"
