"""Functions in expressions: built-in ones, one's own, holes, and joins.

    layernorm(x[t,J])      the slice x[t,·] goes in, a vector over J comes out
    f(x[J])[j] = …         an own function is put in at each call, with that call's arguments
    CELL(h[t-1,J], x[t,K]) a hole: what it does is open; a stand-in keeps the sizes checked

An argument that is more than a read becomes a tensor of its own, so that it is computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.context import (
    AxisInfo,
    Open,
    RawStatement,
    TensorInfo,
    Term,
    Variable,
    merge,
)
from indicial.program.lowering.places import place
from indicial.program.lowering.scope import Local, Scope
from indicial.program.names.naming import Reference, family, index_name, is_capital
from indicial.program.names.uses import ELEMENTWISE, FunctionDefinition, Use
from indicial.program.rewrite import free_indices, substitute
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering

ARITY = {"min": (1, 99), "max": (1, 99)}
ZERO = ir.Constant(0.0)

PRELUDE = """
layernorm(x[J])[j] =
    (x[j] - mean_{j'} x[j']) / sqrt(mean_{j'} (x[j'] - mean_{j''} x[j''])^2 + 0.00001)
rmsnorm(x[J])[j] = x[j] / sqrt(mean_{j'} x[j']^2 + 0.00001)
"""
"""Functions of vectors that are there without being written, as equations like any other."""

MOST_CALLS = 1000
"""No program is read that calls its own functions more often than this, bodies unfolded."""


@cache
def prelude() -> dict[str, FunctionDefinition]:
    from indicial.notation.parse import parse_text
    from indicial.program.messages import Messages
    from indicial.program.names.outline import outline

    parsed = parse_text(PRELUDE, "built in")
    return outline(parsed.statements, Messages(), document=False).functions


def call(lowering: Lowering, use: Use, scope: Scope, node: s.Expression) -> Term:
    """A function with its arguments."""
    assert use.call is not None
    key = use.reference.key
    own = lowering.outline.functions.get(key)
    if own is not None:
        return inline(lowering, own, use, scope, node.span)
    if key in ("log",):
        key = "ln"
    if key in ELEMENTWISE or key == "ln":
        return _elementwise(lowering, key, use.call, scope, node.span)
    if key == "dropout":
        return _dropout(lowering, use.call, scope, node.span)
    if key == "onehot":
        return _onehot(lowering, use, scope, node.span)
    if key == "softmax":
        body = s.Group(use.call.arguments[0], span=node.span)
        return lowering.lower(s.Reduction("softmax", (), None, body, span=node.span), scope)
    if key in prelude():
        return inline(lowering, prelude()[key], use, scope, node.span)
    return hole(lowering, use, scope, node.span)


def _elementwise(lowering: Lowering, key: str, node: s.Call, scope: Scope, span: Span) -> Term:
    least, most = ARITY.get(key, (1, 1))
    if not least <= len(node.arguments) <= most:
        lowering.messages.error(
            "argument-count", f"{key} takes one argument, not {len(node.arguments)}", span,
            hint=f"write {key}(…) with one expression inside",
        )  # fmt: skip
        return Term(ZERO)
    terms = [lowering.term(a, scope) for a in node.arguments]
    arguments = tuple(t.expression for t in terms)
    return Term(ir.Apply(key, arguments, span=span), merge(terms, brackets=True))


def _dropout(lowering: Lowering, node: s.Call, scope: Scope, span: Span) -> Term:
    """`dropout(x, p)` is x times a drawn mask that is 0 or 1/(1-p), one for each element of x."""
    if not 1 <= len(node.arguments) <= 2:
        lowering.messages.error("argument-count", "dropout takes a value and a rate", span,
                                hint="write dropout(x[t,j], 0.1)")  # fmt: skip
        return Term(ZERO)
    inner = lowering.term(node.arguments[0], scope)
    rate = lowering.whole(node.arguments[1], scope) if len(node.arguments) > 1 else ir.Constant(0.1)
    context = lowering.context
    count = sum(1 for t in context.tensors if t.startswith("dropout_")) + 1
    key = f"dropout_{count}"
    variables = _visible(lowering, inner.expression, scope)
    _hidden_tensor(lowering, key, variables, span, role="draw")
    context.draws.append(ir.Draw(key, "dropout", (rate,), span))
    mask = ir.Read(key, tuple(ir.Affine.of(v.name) for v in variables), span=span)
    body = ir.Apply("*", (mask, inner.expression), span=span)
    return Term(body, merge([inner], brackets=True))


def _onehot(lowering: Lowering, use: Use, scope: Scope, span: Span) -> Term:
    assert use.call is not None
    if len(use.call.arguments) != 1 or len(use.rest) > 1:
        lowering.messages.error("argument-count", "onehot takes one token and one index", span,
                                hint="write onehot(w[t])[v]")  # fmt: skip
        return Term(ZERO)
    if use.rest:
        placed = place(lowering, use.rest[0], scope)
        at = placed.place if isinstance(placed.place, ir.Affine) else ir.Affine()
    elif scope.left:
        at = ir.Affine.of(scope.left[-1].name)
    else:
        return Term(ZERO)
    token = lowering.token_of(use.call.arguments[0])
    value = lowering.term(use.call.arguments[0], scope)
    if token is not None:
        values = lowering.token_values(token[0].key, span)
        for variable in scope.left:
            if at.terms == ((variable.name, 1),):
                lowering.context.classes.union(values, variable.size, span)
    same = ir.Apply("=", (ir.IndexValue(at, span=span), value.expression), span=span)
    return Term(same, merge([value], brackets=True))


# ---------------------------------------------------------------------- arguments


@dataclass
class Argument:
    """An argument of a function of vectors: a read, and the slices in it by their capitals."""

    expression: ir.Expression
    slices: list[tuple[s.Name, Variable]]
    span: Span


def _visible(lowering: Lowering, expression: ir.Expression, scope: Scope) -> list[Variable]:
    """The variables that an expression depends on, outermost first."""
    names = free_indices(expression)
    known: dict[str, Variable] = {}
    for variable in lowering.context.variables:
        if variable.name in names:
            known[variable.name] = variable
    in_scope = [*scope.left, *scope.variables.values(), *scope.tokens.values()]
    for variable in in_scope:
        if variable.name in names:
            known[variable.name] = variable
    return sorted(known.values(), key=lambda v: v.number)


def _hidden_tensor(
    lowering: Lowering, key: str, variables: list[Variable], span: Span, role: str
) -> TensorInfo:
    axes = []
    for variable in variables:
        axis = AxisInfo(variable.size, variable.family, span)
        axis.reads.append((ir.Affine.of(variable.name), [(variable, 1)]))
        axes.append(axis)
    info = TensorInfo(key, axes, span, role=role, hidden=True)
    lowering.context.tensors[key] = info
    for number, variable in enumerate(variables):
        variable.plain.append((key, number))
    return info


def _arguments(lowering: Lowering, name: str, node: s.Call, scope: Scope) -> list[Argument]:
    result = []
    for number, argument in enumerate(node.arguments):
        inner = scope.slicing()
        inner.suffix = f"{scope.suffix}°{lowering.context.calls}.{number}"
        if isinstance(argument, s.Group):
            argument = argument.body
        if isinstance(argument, s.Join):
            result.append(_joined(lowering, f"{name}.{number + 1}", argument, inner))
            continue
        term = lowering.elements(lowering.term(argument, inner), inner)
        slices = [(_capital_name(o.variable), o.variable) for o in term.opens.values()]
        expression = term.expression
        if not isinstance(expression, ir.Read):
            expression = _hoist(lowering, f"{name}.{number + 1}", expression, scope, argument.span)
        result.append(Argument(expression, slices, argument.span))
    return result


def _capital_name(variable: Variable) -> s.Name:
    from indicial.program.names.naming import capital

    return s.Name(capital(variable.family), span=variable.span)


def _hoist(
    lowering: Lowering, key: str, expression: ir.Expression, scope: Scope, span: Span
) -> ir.Read:
    """A tensor of its own for an expression, and the read of it."""
    variables = _visible(lowering, expression, scope)
    key = _fresh(lowering, key)
    info = _hidden_tensor(lowering, key, variables, span, role="defined")
    left = tuple(ir.Affine.of(v.name) for v in variables)
    number = len(lowering.context.statements)
    for axis, at in zip(info.axes, left, strict=True):
        axis.left.append((at, number))
    lowering.context.statements.append(
        RawStatement(key, left, variables, expression, None, span, span)
    )
    return ir.Read(key, left, span=span)


def _fresh(lowering: Lowering, key: str) -> str:
    count, result = 1, key
    while result in lowering.context.tensors:
        count += 1
        result = f"{key}.{count}"
    return result


def _joined(lowering: Lowering, key: str, node: s.Join, scope: Scope) -> Argument:
    """A joined vector as an argument: it gets a name and an index of its own."""
    context = lowering.context
    size = context.classes.new("C", node.span, 8)
    variable = context.variable(f"c{scope.suffix}", "c", size, node.span)
    term = join(lowering, node.parts, scope, variable, node.span)
    expression = _hoist(lowering, key, term.expression, scope, node.span)
    return Argument(expression, [(s.Name("C", span=node.span), variable)], node.span)


# ---------------------------------------------------------------------- own functions


def inline(
    lowering: Lowering, function: FunctionDefinition, use: Use, scope: Scope, span: Span
) -> Term:
    """The body of a function with the arguments of this call."""
    context = lowering.context
    assert use.call is not None
    if function.key in scope.calling or context.calls > MOST_CALLS:
        again = function.key in scope.calling
        lowering.messages.error(
            "recursion",
            f"{function.key} calls itself"
            if again
            else f"more than {MOST_CALLS} calls of functions",
            span,
            (function.span, "here"),
            hint="a function's body may not need the function itself" if again else "",
        )
        return Term(ZERO)
    if len(use.call.arguments) != len(function.parameters):
        lowering.messages.error(
            "argument-count",
            f"{function.key} takes {len(function.parameters)} argument(s), "
            f"not {len(use.call.arguments)}",
            (span, ""), (function.span, "defined here"),
        )  # fmt: skip
        return Term(ZERO)
    context.calls += 1
    name = f"{function.key}{context.calls}"
    arguments = _arguments(lowering, name, use.call, scope)
    inner = Scope(
        scope.number,
        suffix=f"·{context.calls}",
        prefix=f"{name}.",
        calling=(*scope.calling, function.key),
    )
    slices_by_family: dict[str, list[Variable]] = {}
    for (parameter, letters), argument in zip(function.parameters, arguments, strict=True):
        if len(letters) != len(argument.slices):
            lowering.messages.error(
                "argument-shape",
                f"{function.key} takes {_slices(len(letters))} as {parameter}, "
                f"and gets {_slices(len(argument.slices))}",
                (argument.span, _slices(len(argument.slices))), (function.span, "defined here"),
                hint="a capital in an argument is a slice: x[t,J] is a vector over J",
            )  # fmt: skip
            return Term(ZERO)
        variables = tuple(v for _, v in argument.slices)
        inner.locals[parameter] = Local(argument.expression, variables)
        for letter, (_, variable) in zip(letters, argument.slices, strict=True):
            size = inner.family_class(context, family(letter), letter.span)
            context.classes.union(size, variable.size, argument.span)
            slices_by_family.setdefault(family(letter), []).append(variable)
    _group(lowering, use, scope, inner, function.key)
    results = [inner.bind(context, letter) for letter in function.result]
    inner.left = results
    body = lowering.whole(function.body, inner)
    places, opens = _result(lowering, function, use, scope, results, slices_by_family, span)
    expression = substitute(body, places)
    return Term(expression, opens)


def _group(lowering: Lowering, use: Use, scope: Scope, inner: Scope, key: str) -> None:
    """`Φ[ℓ]`: one set of parameters for each ℓ; `Φ.c`: one set for all that name it."""
    group = use.reference.group
    if group is None:
        return
    base = group.base if isinstance(group, s.Index) else group
    if isinstance(base, s.Name) and "." in base.base:
        inner.prefix = f"{key}.{base.base.partition('.')[2]}."
    if isinstance(group, s.Index):
        placed = [place(lowering, i, scope) for i in group.items]
        inner.group = tuple((p.place, tuple(p.variables)) for p in placed)


def _result(
    lowering: Lowering,
    function: FunctionDefinition,
    use: Use,
    scope: Scope,
    results: list[Variable],
    slices: dict[str, list[Variable]],
    span: Span,
) -> tuple[dict[str, ir.Affine], dict[str, Open]]:
    """Where the result is read: the brackets behind the call, else the slice's capital."""
    places: dict[str, ir.Affine] = {}
    opens: dict[str, Open] = {}
    if use.rest:
        if len(use.rest) != len(results):
            lowering.messages.error(
                "index-count", f"{function.key} gives {_slices(len(results))}, "
                f"but {len(use.rest)} indices stand behind it", span,
            )  # fmt: skip
            return {v.name: ir.Affine() for v in results}, {}
        for variable, item in zip(results, use.rest, strict=True):
            placed = place(lowering, item, scope)
            for inner, factor in placed.variables:
                if factor == 1:
                    lowering.context.classes.union(variable.size, inner.size, item.span)
            for opened in placed.opened:
                opens[opened.name] = Open(opened, 1, [(item.span, "", 0)])
            places[variable.name] = (
                placed.place if isinstance(placed.place, ir.Affine) else ir.Affine()
            )
        return places, opens
    for position, variable in enumerate(results):
        matching = slices.get(variable.family, [])
        if matching:
            outer = _outer(lowering, matching[0], scope)
        elif len(scope.left) >= len(results):
            outer = scope.left[len(scope.left) - len(results) + position]
        else:
            outer = variable
        lowering.context.classes.union(variable.size, outer.size, span)
        places[variable.name] = ir.Affine.of(outer.name)
        if outer not in scope.variables.values() and outer not in scope.left:
            opens[outer.name] = Open(outer, 1, [(span, "", 0)])
    return places, opens


def _outer(lowering: Lowering, variable: Variable, scope: Scope) -> Variable:
    """The index outside that a slice's capital means: bound on the left, or open."""
    written = variable.name.partition("°")[0]
    if written in scope.variables:
        return scope.variables[written]
    if written not in scope.capitals:
        outer = lowering.context.variable(
            written + scope.suffix, variable.family, variable.size, variable.span
        )
        outer.plain = list(variable.plain)
        scope.capitals[written] = outer
    return scope.capitals[written]


def local(lowering: Lowering, reference: Reference, scope: Scope) -> Term:
    """A function's parameter in its body: the argument at these indices."""
    argument = scope.locals[reference.key]
    if len(reference.items) != len(argument.slices):
        lowering.messages.error(
            "index-count",
            f"{reference.key} is {_slices(len(argument.slices))}, "
            f"but has {len(reference.items)} indices here",
            reference.span,
        )  # fmt: skip
        return Term(ZERO)
    places: dict[str, ir.Affine] = {}
    opens: dict[str, Open] = {}
    for variable, item in zip(argument.slices, reference.items, strict=True):
        placed = place(lowering, item, scope)
        for inner, factor in placed.variables:
            if factor == 1:
                lowering.context.classes.union(variable.size, inner.size, item.span)
                inner.plain.extend(variable.plain)
        for opened in placed.opened:
            if opened.name in opens:
                opens[opened.name].count += 1
            else:
                opens[opened.name] = Open(opened, 1, [(item.span, reference.key, 0)])
        places[variable.name] = placed.place if isinstance(placed.place, ir.Affine) else ir.Affine()
    return Term(substitute(argument.expression, places), opens)


def _slices(count: int) -> str:
    return (
        ("a number", "a vector", "a matrix")[count] if count < 3 else f"a tensor of {count} indices"
    )


# ---------------------------------------------------------------------- holes


def hole(lowering: Lowering, use: Use, scope: Scope, span: Span) -> Term:
    """A function that is only named. A stand-in with the right sizes takes its place:

    `CELL(a[J], b[K])` at j  →  tanh(CELL^1[j,J] a[J] + CELL^2[j,K] b[K])
    """
    assert use.call is not None
    context = lowering.context
    key = use.reference.key
    context.holes.setdefault(key, span)
    context.calls += 1
    name = f"{key}{context.calls}"
    if any(isinstance(a, s.Dots) for a in use.call.arguments):
        return Term(ZERO)
    arguments = _arguments(lowering, name, use.call, scope)
    result, opens = _hole_result(lowering, use, scope, arguments, span)
    terms: list[ir.Expression] = []
    for number, argument in enumerate(arguments):
        weight = f"{name}^{{{number + 1}}}"
        variables = [*([result] if result else []), *(v for _, v in argument.slices)]
        _hidden_tensor(lowering, weight, variables, span, role="parameter")
        read = ir.Read(weight, tuple(ir.Affine.of(v.name) for v in variables), span=span)
        product = ir.Apply("*", (read, argument.expression), span=span)
        indices = tuple(v.index for _, v in argument.slices)
        terms.append(ir.Reduce("sum", indices, None, product, span=span) if indices else product)
    total = terms[0] if len(terms) == 1 else ir.Apply("+", tuple(terms), span=span)
    return Term(ir.Apply("tanh", (total,), span=span), opens)


def _hole_result(
    lowering: Lowering, use: Use, scope: Scope, arguments: list[Argument], span: Span
) -> tuple[Variable | None, dict[str, Open]]:
    if use.rest:
        placed = place(lowering, use.rest[0], scope)
        if placed.variables:
            variable = placed.variables[0][0]
            opens = {v.name: Open(v, 1, [(span, "", 0)]) for v in placed.opened}
            return variable, opens
        return None, {}
    capitals = [v for v in scope.left if is_capital(v.name[:1])]
    if capitals:
        return capitals[-1], {}
    for argument in arguments:
        for _, variable in argument.slices:
            outer = _outer(lowering, variable, scope)
            return outer, {outer.name: Open(outer, 1, [(span, "", 0)])}
    return None, {}


# ---------------------------------------------------------------------- joins


def join(
    lowering: Lowering,
    parts: tuple[s.Expression, ...],
    scope: Scope,
    variable: Variable,
    span: Span,
) -> Term:
    """`a[t,I]; b[t,J]` along `variable`: each part's last index is its slice, sizes add."""
    context = lowering.context
    if any(isinstance(p, s.Dots) for p in parts):
        return _joined_over(lowering, parts, scope, variable, span)
    made: list[ir.Part] = []
    total = Size()
    for number, part in enumerate(parts):
        inner = scope.slicing()
        inner.suffix = f"{scope.suffix}°j{number}"
        inner.left = []
        term = lowering.elements(lowering.term(part, inner), inner)
        slices = list(term.opens.values())
        if len(slices) > 1:
            lowering.messages.error(
                "join", f"{unicode(part)} has {len(slices)} slices, a part of a join has one",
                part.span, hint="each part's last index is a capital, the others are on the left",
            )  # fmt: skip
            return Term(ZERO)
        if slices:
            one = slices[0].variable
        else:
            size = context.classes.new("1", part.span, 9)
            context.classes.bind(size, Size.of(1), part.span)
            one = context.variable(f"one{inner.suffix}", "one", size, part.span)
        total = total + context.classes.atom(one.size)
        made.append(ir.Part(one.index, term.expression))
    context.classes.bind(variable.size, total, span)
    at = ir.Affine(((variable.name, 1),), -Size.of(f"#lo{variable.number}"))
    return Term(ir.Join(at, tuple(made), span=span))


def _joined_over(
    lowering: Lowering,
    parts: tuple[s.Expression, ...],
    scope: Scope,
    variable: Variable,
    span: Span,
) -> Term:
    """`h[0,t,I]; ⋯; h[K-1,t,I]`: over all heads, one after the other, as `(k,i)` says it too."""
    first, last = parts[0], parts[-1]
    shape_first, shape_last = lowering.outline.use(first), lowering.outline.use(last)
    if (
        len(parts) < 3
        or shape_first is None or shape_last is None
        or shape_first.reference.key != shape_last.reference.key
        or len(shape_first.reference.items) != len(shape_last.reference.items)
    ):  # fmt: skip
        lowering.messages.error(
            "join",
            "the parts around the dots are not of one kind",
            span,
            hint="write h[0,t,I]; …; h[K-1,t,I], or h[t,(k,i)] = …",
        )
        return Term(ZERO)
    items = shape_first.reference.items
    ends = shape_last.reference.items
    differ = [n for n, (a, b) in enumerate(zip(items, ends, strict=True)) if a != b]
    if len(differ) != 1 or index_name(items[-1]) is None:
        lowering.messages.error(
            "join", "the first and the last part differ in more than one index", span
        )
        return Term(ZERO)
    where = differ[0]
    info = lowering.tensor(shape_first.reference.key, len(items), span)
    size = (
        info.axes[where].size if where < len(info.axes) else lowering.context.classes.new("K", span)
    )
    over = lowering.context.variable("k°", info.axes[where].letter or "k", size, span)
    inner = scope.slicing()
    slice_name = index_name(items[-1])
    assert slice_name is not None
    within = inner.bind(lowering.context, slice_name)
    letter = s.Name("κ", span=span)
    inner.variables[name_key(letter)] = over
    moved = tuple(letter if n == where else i for n, i in enumerate(items))
    reference = Reference(shape_first.reference.key, moved, shape_first.reference.span)
    term = lowering.read(reference, inner)
    total = lowering.context.classes.atom(size) * lowering.context.classes.atom(within.size)
    lowering.context.classes.bind(variable.size, total, span)
    lowering.flattened[scope.number] = (variable, over, within)
    return Term(term.expression)
