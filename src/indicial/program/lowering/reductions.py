"""Sums, products, maxima, softmaxes and norms: what stands below them is bound, the body follows.

Σ_{t=1}^T x[t]                  →  Reduce("sum", (t: 1..T), None, x[t])
softmax_{s ≤ t} a[t,s]          →  Softmax((s,), s ≤ t, a[t,s]); s stays free
‖x[t,J]‖                        →  sqrt(sum{J}(x[t,J]^2))
‖x‖_1                           →  sum{I}(abs(x[I])), where x has an index
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.program import ir
from indicial.program.lowering.cases import conjoin
from indicial.program.lowering.context import Open, Term, Variable, merge
from indicial.program.lowering.scope import Binder, Scope, binders
from indicial.program.names.letters import index_name, is_capital
from indicial.program.rewrite import free_indices
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


def reduction(lowering: Lowering, node: s.Reduction, scope: Scope) -> Term:
    if node.operator == "softmax":
        return softmax(lowering, node, scope)
    found, conditions = binders(node, set(scope.variables))
    inner = scope.child()
    variables: list[Variable] = []
    for binder in found:
        variable = _bind(lowering, binder, inner, node)
        if variable is not None:
            variables.append(variable)
    if not variables:
        lowering.messages.error(
            "no-index", f"the {spoken(node)} needs an index to run over", node.span,
            hint=f"write it below: {node.operator}_{{i}} …",
        )  # fmt: skip
        return lowering.lower(node.body, scope)
    if lowering.context.document and node.upper is not None:
        _follow(lowering, node.upper, variables[-1], scope)
    body = lowering.term(node.body, inner)
    parts = [lowering.condition(c, inner) for c in conditions]
    condition = conjoin(parts)
    used = free_indices(body.expression) | (free_indices(condition) if condition else set())
    for variable in variables:
        if variable.name not in used:
            lowering.messages.warning(
                "sum-index",
                f"the {spoken(node)} runs over {variable.written}, which does not occur in it",
                (variable.span, f"{variable.written} here"), (node.body.span, "but not in this"),
                hint="is an index missing in the body?",
            )  # fmt: skip
    indices = tuple(v.index for v in variables)
    reduced = ir.Reduce(node.operator, indices, condition, body.expression, span=node.span)
    return Term(reduced, merge([body], brackets=True))


def spoken(node: s.Reduction) -> str:
    """What a person calls it: a Π is a product."""
    return {"prod": "product", "max": "maximum", "min": "minimum"}.get(node.operator, node.operator)


def _follow(lowering: Lowering, upper: s.Expression, variable: Variable, scope: Scope) -> None:
    """`y_i = Σ_{j=1}^{i} x_j` in prose: i and j number the same things."""
    end = s.terms(upper)[0]
    other = scope.variables.get(name_key(end)) if isinstance(end, s.Name) else None
    if other is not None:
        lowering.context.classes.union(other.size, variable.size, variable.span)


def _bind(lowering: Lowering, binder: Binder, scope: Scope, node: s.Reduction) -> Variable | None:
    """Binds what stands below a Σ."""
    token = lowering.token_of(binder.name)
    if token is not None:
        reference, key = token
        lowering.tensor(reference.key, len(reference.items), reference.span)
        size = lowering.token_values(reference.key, reference.span)
        variable = lowering.context.variable(
            unicode(binder.name), reference.key, size, reference.span
        )
        scope.tokens[key] = variable
        return variable
    name = index_name(binder.name)
    if name is None:
        lowering.messages.error(
            "no-index", f"{unicode(binder.name)} is not an index to run over", binder.name.span,
            hint="a Σ takes indices below it: Σ_{t=1}^T, Σ_{i,j}, Σ_{t_2 ≤ t_1}",
        )  # fmt: skip
        return None
    letter = name_key(name)
    if letter in scope.variables and not is_capital(name.base):
        outer = scope.variables[letter]
        lowering.messages.error(
            "bound-twice", f"{letter} is already bound, and {node.operator} binds it again",
            (name.span, "again here"), (outer.span, "bound here"),
            hint=f"use another letter, for example {name.base}'",
        )  # fmt: skip
    variable = scope.bind(lowering.context, name)
    if binder.lower is not None and binder.upper is not None:
        variable.lower = bound(lowering, binder.lower, scope) + (1 if binder.strict_lower else 0)
        variable.upper = bound(lowering, binder.upper, scope) - (1 if binder.strict_upper else 0)
        extent = (variable.upper - variable.lower + 1).name
        if extent is not None and extent.startswith("#"):
            # `Σ_{i=1}^n`: the size of i is called n.
            lowering.context.classes.union(int(extent[1:]), variable.size, name.span)
    return variable


def bound(lowering: Lowering, node: s.Expression, scope: Scope) -> Size:
    """The end of a range: a number, a size, or both (`L-2`)."""
    if isinstance(node, s.Number) and node.text.isdigit() and len(node.text) < 10:
        return Size.of(int(node.text))
    if isinstance(node, s.Name):
        key = name_key(node)
        if is_capital(node.base) or key in lowering.sizes_named:
            return lowering.size_of(node, scope)
    if isinstance(node, s.Negative):
        return -bound(lowering, node.body, scope)
    if isinstance(node, s.Add):
        total = Size()
        for part in node.terms:
            total = total + bound(lowering, part, scope)
        return total
    if isinstance(node, s.Product):
        product = Size.of(1)
        for part in node.factors:
            product = product * bound(lowering, part, scope)
        return product
    lowering.messages.error(
        "range", f"{unicode(node)} cannot end a range", node.span,
        hint="a range ends at a size or a whole number below 10⁹: T, L-2, 10; write a condition for the rest: "
             "Σ_{s ≤ t}",
    )  # fmt: skip
    return Size()


def softmax(lowering: Lowering, node: s.Reduction, scope: Scope) -> Term:
    """`softmax_{t_2 ≤ t_1} …`: its indices stay free."""
    unnamed = all(map(s.is_condition, node.under))
    # The conditions of `softmax_{s, s ≤ t}` bind nothing: s is named beside them.
    found, conditions = binders(node, set() if unnamed else set(scope.variables))
    conditions += [c for binder in found for c in _between(binder, node, scope)]
    if conditions and unnamed:
        found = _last_on_left(conditions, scope) or found
    body = lowering.term(node.body, scope)
    variables: list[Variable] = []
    opens = merge([body], brackets=True)
    bodies = free_indices(body.expression)
    # In `softmax_{t_2 ≤ t_1}` both letters are bound: the one that is meant comes first.
    named = [b for b in found if isinstance(b.name, s.Name | s.Index)]
    for binder in named:
        variable = _softmax_index(lowering, binder, scope, opens)
        if variable is not None and variable not in variables:
            variables.append(variable)
    if not named:
        variables = _softmax_default(lowering, scope, opens)
    if not variables:
        if not named:
            lowering.messages.error(
                "softmax-index", "this softmax has no index to run over", node.span,
                hint="write its index below: softmax_{t_2} …",
            )  # fmt: skip
        return body
    for variable in variables:
        if variable.name not in bodies:
            lowering.messages.error(
                "softmax-index",
                f"the softmax runs over {variable.written}, which does not occur in it",
                (node.span, f"over {variable.written}"), (node.body.span, "the body"),
                hint=f"all values would be equal; the body has {_listed(bodies)}",
            )  # fmt: skip
    condition = conjoin([lowering.condition(c, scope) for c in conditions])
    indices = tuple(v.index for v in variables)
    return Term(ir.Softmax(indices, condition, body.expression, span=node.span), opens)


def _between(binder: Binder, node: s.Reduction, scope: Scope) -> list[s.Expression]:
    """`softmax_{t-3 < s ≤ t}`: a softmax shares its index with others, so its range is a condition.

    `softmax_{t=1}^T` is none: it says where t begins in the whole text (`names/bounds.py`).
    """
    if binder.lower is None or binder.upper is None:
        return []
    moves = any(name_key(n) in scope.variables for n in binder.upper.every(s.Name))
    if binder.upper is node.upper and not moves:
        return []
    signs = tuple("<" if strict else "≤" for strict in (binder.strict_lower, binder.strict_upper))
    ends = binder.lower, binder.name, binder.upper
    return [s.Comparison(ends, signs, span=binder.name.span)]


def _last_on_left(conditions: list[s.Expression], scope: Scope) -> list[Binder]:
    """`softmax_{t_2 ≤ t_1}`, `softmax_{|t-s| ≤ 3}`: of the letters in the condition, the one that
    stands last on the left."""
    letters = {name_key(n): n for c in conditions for n in c.every(s.Name)}
    for variable in reversed(scope.left):
        for key, name in letters.items():
            if scope.variables.get(key) is variable:
                return [Binder(name)]
    return []


def _softmax_index(
    lowering: Lowering, binder: Binder, scope: Scope, opens: dict[str, Open]
) -> Variable | None:
    token = lowering.token_of(binder.name)
    if token is not None:
        if token[1] in scope.tokens:
            return scope.tokens[token[1]]
        subject = scope.subject
        over = binder.name.span.text
        given = subject is not None and any(
            m.code == "given-subject" and (subject.span, "predicted") in m.sites
            for m in lowering.messages.items
        )
        hint, fix = "bind it on the left", None
        if subject is not None and given:  # what is given already is not what is predicted
            hint, fix = (
                f"write {over} in the place of {subject.span.text} on the left",
                (subject.span, over),
            )
        elif subject is not None:
            hint, fix = f"write softmax_{{{subject.name}}}", (binder.name.span, subject.span.text)
        lowering.messages.error(
            "softmax-variable",
            f"softmax runs over {unicode(binder.name)}, which is not the variable on the left",
            (binder.name.span, "over this"),
            *([(subject.span, "the variable is this")] if subject else []),
            hint=hint, fix=fix,
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
    lowering.messages.error(
        "softmax-index", f"softmax runs over {key}, which is not on the left", name.span,
        hint=f"put {key} on the left, or use its capital in the body",
    )  # fmt: skip
    return None


def _softmax_default(lowering: Lowering, scope: Scope, opens: dict[str, Open]) -> list[Variable]:
    """Without an index: the variable of P, else a slice, else the last index on the left."""
    if scope.subject is not None:
        return [scope.subject]
    if opens:
        return [o.variable for o in opens.values()]
    return scope.left[-1:]


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) if names else "no index"


def norm(lowering: Lowering, node: s.Norm, scope: Scope) -> Term:
    """`‖x[t,J]‖`: over all slices of its body, also those that are on the left."""
    inner = lowering.term(_whole_tensor(lowering, node.body), scope.slicing())
    indices = tuple(opened.variable.index for opened in inner.opens.values())
    if not indices:
        if summed := _summed_away(node.body):
            lowering.messages.error(
                "argument-shape", f"a norm takes a vector, but gets a number: {summed} is summed here",
                (node.body.span, f"{summed} is summed"),
                hint="write ⊙ for the products one by one, or abs(…) for the absolute value of the sum",
            )  # fmt: skip
        return lowering.apply("abs", [inner], node.span)
    order = node.order.text if isinstance(node.order, s.Number) else "2"
    if order in ("1", "∞"):
        absolute = ir.Apply("abs", (inner.expression,), span=node.span)
        operator = "sum" if order == "1" else "max"
        return Term(ir.Reduce(operator, indices, None, absolute, span=node.span))
    square = ir.Apply("^", (inner.expression, ir.Constant(2.0)), span=node.span)
    total = ir.Reduce("sum", indices, None, square, span=node.span)
    return Term(ir.Apply("sqrt", (total,), span=node.span))


def _summed_away(body: s.Expression) -> str:
    """The J of `‖g[J] x[t,J]‖`, which the product uses up."""
    places = (i for node in body.every(s.Index) for i in node.items)
    capitals = (n.base for n in map(index_name, places) if n is not None and is_capital(n.base))
    return next(capitals, "")


def _whole_tensor(lowering: Lowering, node: s.Expression) -> s.Expression:
    """A bare name in a norm means all its elements: `‖x‖` is `‖x[I]‖` where x has an index."""
    use = lowering.outline.use(node) if isinstance(node, s.Name) else None
    info = lowering.context.tensors.get(use.reference.key) if use is not None else None
    if use is None or info is None or not info.axes or use.reference.items:
        return node
    letters = tuple(s.Name("I", primes=n, span=node.span) for n in range(len(info.axes)))
    return s.Index(node, letters, span=node.span)
