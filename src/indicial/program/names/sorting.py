"""Statements → the outline: what each of them is.

    h[t,j] = …                     Definition("h", (t, j), …)
    A = B = C                      Definition("A", …, C) and the claim B = C
    f(x[J])[j] = …                 FunctionDefinition("f", …)
    CELL = ugrnn                   a hole and what fills it
    Φ = (W, B)                     the list of parameters
    Φ^* = argmin_Φ E_{…} X         Definition("loss", (), X)
    w[t] ~ P(w_t | …)              how w is generated
    k_a ~ N(μ_a, 1)                a draw

What round brackets are (indices, arguments, a factor) is decided in `uses.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.vocabulary import CALLED, GIVEN, SEEN, SPACE, TOLD
from indicial.program.messages import Messages
from indicial.program.names.letters import GROUPS, family, index_name, is_capital, is_hole
from indicial.program.names.naming import Naming
from indicial.program.names.outline import (
    DISTRIBUTIONS,
    Definition,
    Outline,
    probability_key,
    with_value,
)
from indicial.program.names.updates import ARROW
from indicial.program.names.uses import (
    BUILT_IN,
    PROBABILITY,
    FunctionDefinition,
    parameter_used,
    survey,
)


def outline(statements: Iterable[s.Statement], messages: Messages, document: bool) -> Outline:
    """Sorts statements; what cannot be placed becomes a message."""
    every = list(statements)
    seen, statements = parted(every)
    before = len(messages.items)
    result = Outline(
        Naming([*statements, *seen], document), document=document, statements=statements
    )
    said = [st for st in every if isinstance(st, s.Declaration)]
    spaces = [st.domain for st in said if st.keyword == SPACE and st.domain]
    result.spaces = frozenset(s.every(spaces, s.Name))
    vectors = [st for st in said if st.keyword == TOLD and st.domain != s.Name("number")]
    result.naming.vectors |= {n.base for st in vectors for n in st.items if isinstance(n, s.Name)}
    survey([*statements, *seen], result)
    for statement in statements:
        if isinstance(statement, s.Declaration):
            _declare(statement, result, messages)
        elif isinstance(statement, s.Claim):
            result.claims.append(statement)
    for statement in statements:
        if isinstance(statement, s.Equation):
            _equation(statement, result, messages)
    result.known = {}
    result.silent = len(messages.items) == before
    return result


def says_what(statement: s.Statement) -> bool:
    """What a sentence says of a name: `x ∈ ℝ^d` for vector style, a start that is given."""
    said = (SPACE, GIVEN, TOLD, SEEN, CALLED)
    return isinstance(statement, s.Declaration) and statement.keyword in said


def parted(
    statements: Iterable[s.Statement],
) -> tuple[list[s.Statement], tuple[s.Statement, ...]]:
    """How names are written in equations that are not read; and all that a program is made of."""
    statements = list(statements)
    seen: list[s.Statement] = [
        st for st in statements if isinstance(st, s.Declaration) and st.keyword == SEEN
    ]
    return seen, tuple(st for st in statements if not says_what(st))


def _declare(statement: s.Declaration, result: Outline, messages: Messages) -> None:
    keyword, value = statement.keyword, statement.value
    for item in statement.items:
        if keyword == "label":
            if isinstance(item, s.Name):
                _label(item, statement.domain, result)
            continue
        use = result.use(item)
        if use is None or use.kind != "tensor":
            messages.error("declaration", f"`{keyword}` declares a name", item.span,
                           hint=f"write for example `{keyword} x[t,k]`")  # fmt: skip
            continue
        reference = use.reference
        if keyword in ("input", "vector", "matrix"):
            result.inputs[reference.key] = (reference, statement.domain)
        elif keyword == "parameter":
            result.parameters[reference.key] = reference
            if (
                value is not None
            ):  # `parameter β = 1/√I` starts there, and is drawn from nowhere else
                there = s.Call(s.Name("N"), (value, s.Number("0")), span=value.span)
                line = s.Equation((item, there), ("~",), span=statement.span)
                result.draws.append((reference, there, line))
        elif keyword == "constant":
            if value is None:
                messages.error("declaration", f"the constant {reference.key} has no value",
                               item.span, hint=f"write `constant {reference.key} = 0.1`")  # fmt: skip
            else:
                result.constants[reference.key] = (reference, value)
        elif keyword == "size":
            result.sizes[reference.key] = (value, item.span)
        elif keyword == "range":
            name = index_name(item)
            if name is None or value is None:
                messages.error("declaration", "`range` gives an index its first and last value",
                               item.span, hint="write for example `range Δt = -1..1`")  # fmt: skip
            else:
                result.ranges[family(name)] = (value, name)


def _label(item: s.Name, domain: s.Expression | None, result: Outline) -> None:
    """The next number of its family; a label that is declared again gives its old one back."""
    key = name_key(item)
    of_family = name_key(domain) if isinstance(domain, s.Name) else ""
    if key in result.labels:
        result.label_counts[result.labels[key][1]] -= 1
    result.labels[key] = (result.label_counts[of_family], of_family, item.span)
    result.label_counts[of_family] += 1


def _equation(equation: s.Equation, result: Outline, messages: Messages) -> None:
    left, right = equation.sides[0], equation.sides[-1]
    group = left if isinstance(left, s.Name) and left.base in GROUPS else None
    if isinstance(left, s.Dots):
        _continue(equation, result, messages)
    elif equation.draws:
        _drawn(equation, result, messages)
    elif group is not None and isinstance(right, s.Reduction) and right.operator == "argmin":
        _objective(equation, result)
    elif group is not None and not group.sub and isinstance(right, s.TupleLiteral | s.Group):
        _parameter_list(right, equation, result)
    elif (function := _function(left, equation, result)) is not None:
        if function.key in result.functions:
            messages.error("defined-twice", f"{function.key} is defined twice", equation.span,
                           (result.functions[function.key].span, "first here"))  # fmt: skip
        result.functions[function.key] = function
    else:
        _define(equation, result, messages)


def _parameter_list(right: s.TupleLiteral | s.Group, equation: s.Equation, result: Outline) -> None:
    listed = right.body if isinstance(right, s.Group) else right
    items = listed.items if isinstance(listed, s.TupleLiteral) else (listed,)
    result.list_span = equation.span
    for item in items:
        use = result.use(item)
        if use is not None and use.kind == "tensor":
            result.parameter_list.append(use.reference)


def _define(equation: s.Equation, result: Outline, messages: Messages) -> None:
    """A definition, a hole with what fills it, or an equation that can only be tested."""
    left, right = equation.sides[0], equation.sides[-1]
    use = result.use(left)
    if use is None or use.kind in ("function", "factor"):
        key = use.reference.key if use is not None and use.kind == "function" else ""
        if key and not result.document and not result.is_function(key):
            messages.error(
                "no-definition", f"this line defines nothing: {key} is no function of what is in its brackets",
                left.span, hint=f"for indices write {key}[…], after `label a in K` for elements with a name",
            )  # fmt: skip
        elif len(equation.sides) > 1:
            result.tests.append(equation)
        return
    key, items = use.reference.key, use.reference.items
    cell = right if isinstance(right, s.Name) and right.bare and len(right.base) > 1 else None
    if cell is not None and is_hole(left) and not items:
        result.fills[key] = (cell.base, cell.span)
        return
    relations, sides = equation.relations, equation.sides
    if "≈" in relations[1:] and relations[0] == "=":
        # `α = k^⊤ q ≈ μ^⊤ q`: the last side that is equal defines; what is only near is not.
        near = relations.index("≈")
        result.tests.append(replace(equation, sides=sides[near:], relations=relations[near:]))
        relations, sides = relations[:near], sides[: near + 1]
    if use.reference.power is not None or (result.document and _by_itself(equation, result)):
        result.tests.append(equation)
        return
    probability = use.call if use.kind == "probability" else None
    value = None
    if probability is not None:
        probability, value = with_value(probability)
        key, items = probability_key(key, probability), probability.arguments
        if density(equation, probability) or _of_all(equation, probability):
            items = ()
    between = tuple(zip(relations, sides[1:-1], strict=False))
    labels = frozenset(result.labels)
    result.define(
        Definition(
            key,
            items,
            left,
            sides[-1],
            equation,
            between,
            relations[-1],
            probability,
            value,
            labels,
        )
    )


def _by_itself(equation: s.Equation, result: Outline) -> bool:
    """`σ = a σ + b`: nothing is defined, but something is said of σ."""
    left = equation.sides[0]
    assigns = ARROW.search(equation.span.text)  # `x ← x - μ` is a step
    if equation.relations != ("=",) or not isinstance(left, s.Name) or assigns:
        return False
    inside = {id(i) for n in equation.every(s.Index) for i in n.walk()}
    inside |= s.ids(i for n in equation.every(s.Name) for i in n.sub)  # `H = tanh(W_H x)`
    return any(n == left and id(n) not in inside for n in equation.sides[1].walk())


def density(equation: s.Equation, call: s.Call) -> bool:
    """`p(x) = exp(-(x - μ)^2)`: what is predicted is computed with, and numbers no values."""
    predicted = {replace(a, sup=()) for a in call.arguments if isinstance(a, s.Name)}
    return any(
        isinstance(node, s.Name) and replace(node, sup=()) in predicted
        for side in equation.sides[1:]
        for node in s.values(side, within=lambda call: call.word in BUILT_IN)
    )


def _of_all(equation: s.Equation, call: s.Call) -> bool:
    """`P(O | λ) = Σ_i α_T(i)`: of all that was observed, which stands nowhere on the right."""
    right = {n for side in equation.sides[1:] for n in side.walk()}
    return all(
        isinstance(a, s.Name) and a.bare and is_capital(a.base) and a not in right
        for a in call.arguments
    )


def _continue(equation: s.Equation, result: Outline, messages: Messages) -> None:
    """A display that begins with `=` goes on with the last definition: all its sides are claims."""
    if not result.definitions:
        messages.error("no-left-side", "this begins with `=`, but has no left side",
                       equation.span, hint="write the left side again")  # fmt: skip
        return
    last = result.definitions[-1]
    added = tuple(zip(equation.relations, equation.sides[1:], strict=False))
    body = (*last.between, (last.relation, last.body), *added)
    result.definitions[-1] = replace(
        last, between=body[:-1], body=body[-1][1], relation=body[-1][0]
    )


def _drawn(equation: s.Equation, result: Outline, messages: Messages) -> None:
    use = result.use(equation.sides[0])
    right = equation.sides[1]
    if use is None or use.kind != "tensor":
        messages.error("draw", "only a name can be drawn", equation.sides[0].span)
        return
    if isinstance(right, s.Call) and right.word in PROBABILITY:
        result.generated.append((use.reference, right, equation))
        return
    base = right.function if isinstance(right, s.Call) else right
    if not isinstance(base, s.Name) or base.base not in DISTRIBUTIONS:
        messages.error(
            "draw",
            f"unknown distribution {unicode(right)}",
            right.span,
            hint="use N(mean, variance), uniform(low, high), bernoulli(p), orthonormal, permutation, or "
            "P(…)",
        )
        return
    assert isinstance(right, s.Call | s.Name)
    result.draws.append((use.reference, right, equation))


def _objective(equation: s.Equation, result: Outline) -> None:
    """`Φ^* = argmin_Φ E X` says `loss = X`; an earlier side of the chain is a claim."""
    bodies: list[s.Expression] = []
    for side in equation.sides[1:]:
        body = side.body if isinstance(side, s.Reduction) and side.operator == "argmin" else side
        drawn: list[s.Expression] = []
        while isinstance(body, s.Expectation | s.Group):
            if isinstance(body, s.Expectation):
                drawn += [n for d in body.draws for n in _drawn_indices(d)]
            body = body.body
        if drawn:
            # `t ~ {1, …, T}`: the expectation over an index is its mean.
            body = s.Reduction("mean", tuple(drawn), None, body, span=body.span)
        bodies.append(body)
    between = tuple(zip(equation.relations, bodies[:-1], strict=False))
    left = s.Name("loss", span=equation.sides[0].span)
    result.define(Definition("loss", (), left, bodies[-1], equation, between))


def _drawn_indices(draw: s.Expression) -> list[s.Expression]:
    """The indices that an expectation draws from a set: the t of `t ~ {1, …, T}`."""
    if not isinstance(draw, s.Comparison) or not isinstance(draw.operands[-1], s.SetLiteral):
        return []
    left = draw.operands[0]
    names = left.items if isinstance(left, s.TupleLiteral) else (left,)
    return [n for n in names if index_name(n) is not None]


def _function(
    left: s.Expression, equation: s.Equation, result: Outline
) -> FunctionDefinition | None:
    """The left side as the head of a function: `f(x[J], y)[j]`, or `f(x)` whose body uses x."""
    items: tuple[s.Expression, ...] = ()
    call = left
    if isinstance(left, s.Index):
        call, items = left.base, left.items
    if not isinstance(call, s.Call) or call.given is not None:
        return None
    if call.function.base in PROBABILITY:
        return None
    sliced = all(
        (isinstance(a, s.Index) and isinstance(a.base, s.Name) and all(
            (n := index_name(i)) is not None and is_capital(n.base) for i in a.items
        )) or isinstance(a, s.Name)
        for a in call.arguments
    )  # fmt: skip
    any_slice = any(isinstance(a, s.Index) for a in call.arguments)
    if not sliced or not (any_slice or parameter_used(call, equation.sides[1:])):
        return None
    parameters = tuple(
        (name_key(a.base), tuple(i for i in a.items if isinstance(i, s.Name)))
        if isinstance(a, s.Index) and isinstance(a.base, s.Name)
        else (name_key(a) if isinstance(a, s.Name) else "", ())
        for a in call.arguments
    )
    names = tuple(n for i in items if (n := index_name(i)) is not None)
    key = result.naming.read(call.function).key
    return FunctionDefinition(key, parameters, names, equation.sides[-1], equation.span)
