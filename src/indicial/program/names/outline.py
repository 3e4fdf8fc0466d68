"""What each statement of a program is: a definition, a declaration, a list of parameters, a loss.

    h[t,j] = …                     Definition("h", (t, j), …)
    A = B = C                      Definition("A", …, C) and the claim B = C
    f(x[J])[j] = …                 FunctionDefinition("f", …)
    CELL = ugrnn                   a hole and what fills it
    Φ = (W, B)                     the list of parameters
    Φ^* = argmin_Φ E_{…} X         Definition("loss", (), X)
    w[t] ~ P(w_t | …)              how w is generated
    k_a ~ N(μ_a, 1)                a draw

This is also where round brackets are told apart: after a tensor they hold indices, after a function
arguments, after a number or a size they are a factor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_

from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.notation.syntax import (
    Call,
    Claim,
    Comparison,
    Declaration,
    Dots,
    Equation,
    Expectation,
    Expression,
    Group,
    Index,
    Name,
    Number,
    Reduction,
    SetLiteral,
    Statement,
    TupleLiteral,
)
from indicial.program.messages import Messages
from indicial.program.names.letters import GROUPS, family, index_name, is_capital
from indicial.program.names.naming import Naming, Reference
from indicial.program.names.uses import (
    PROBABILITY,
    FunctionDefinition,
    Uses,
    parameter_used,
    survey,
)

DISTRIBUTIONS = frozenset(
    {"N", "𝒩", "uniform", "orthonormal", "bernoulli", "permutation", "U", "𝒰"}
)


@dataclass(frozen=True)
class Definition:
    """`key[items] = body`, with the other sides of its chain as claims."""

    key: str
    items: tuple[Expression, ...]
    left: Expression
    body: Expression
    equation: Equation
    between: tuple[tuple[str, Expression], ...] = ()
    """The sides of a chain between the left side and the last, each with the relation before it."""
    relation: str = "="
    probability: Call | None = None
    """The `P(w_t | …)` on the left."""
    labels: frozenset[str] = frozenset()
    """The names of single elements, which are no plain indices."""

    @property
    def span(self) -> Span:
        return self.equation.span

    @property
    def special(self) -> tuple[object, ...]:
        """What tells `L_0` from `L_{ℓ+1}`, and `β[T-1,i]` from `β[t,i]`: all but plain indices."""
        letters: list[Expression] = []
        marks: list[object] = []
        for position, item in enumerate(self.items):
            name = index_name(item)
            if name is None or name_key(name) in self.labels:
                marks.append((position, item))
            elif item in letters:
                marks.append((position, letters.index(item)))
            letters.append(item)
        guard = self.equation.guard
        if guard is not None:
            left = {n for n in self.left.walk() if isinstance(n, Name)}
            if not any(n in left for n in guard.walk()):
                guard = None  # `c = u_a + u_i, i ∈ {d, c}` speaks of a label, and defines all of c
        return (tuple(marks), guard)


@dataclass
class Outline(Uses):
    """A program's statements by kind."""

    definitions: list[Definition] = field(default_factory=list)
    inputs: dict[str, tuple[Reference, Expression | None]] = field(default_factory=dict)
    parameters: dict[str, Reference] = field(default_factory=dict)
    constants: dict[str, tuple[Reference, Expression]] = field(default_factory=dict)
    sizes: dict[str, tuple[Expression | None, Span]] = field(default_factory=dict)
    ranges: dict[str, tuple[Expression, Name]] = field(default_factory=dict)
    labels: dict[str, tuple[int, str, Span]] = field(default_factory=dict)
    """A label, its number, and the family that it is a value of (empty if not said)."""
    label_counts: Counter[str] = field(default_factory=Counter)
    """How many labels each family has."""
    parameter_list: list[Reference] = field(default_factory=list)
    list_span: Span | None = None
    draws: list[tuple[Reference, Call | Name, Equation]] = field(default_factory=list)
    generated: list[tuple[Reference, Call, Equation]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    tests: list[Equation] = field(default_factory=list)
    """Equations whose left side is no name: they define nothing and can only be tested."""
    document: bool = False
    statements: tuple[Statement, ...] = ()
    """All of them, as they were given."""
    silent: bool = False
    """Sorting them gave no message."""

    defined: set[str] = field(default_factory=set)
    """The keys that an equation defines."""

    @cached_property
    def declared(self) -> frozenset[str]:
        """The keys that a declaration or the list of parameters names."""
        listed = (reference.key for reference in self.parameter_list)
        return frozenset([*self.inputs, *self.parameters, *self.constants, *listed])

    def define(self, definition: Definition) -> None:
        self.definitions.append(definition)
        self.defined.add(definition.key)

    def serves(self, statements: Sequence[Statement]) -> bool:
        """Whether it says all there is to say about these statements."""
        same = len(statements) == len(self.statements) and all(
            map(is_, statements, self.statements)
        )
        return same and self.silent


# ---------------------------------------------------------------------- sorting the statements


def outline(statements: Iterable[Statement], messages: Messages, document: bool) -> Outline:
    """Sorts statements; what cannot be placed becomes a message."""
    statements = tuple(statements)
    before = len(messages.items)
    result = Outline(Naming(statements), document=document, statements=statements)
    survey(statements, result)
    for statement in statements:
        if isinstance(statement, Declaration):
            _declare(statement, result, messages)
        elif isinstance(statement, Claim):
            result.claims.append(statement)
    for statement in statements:
        if isinstance(statement, Equation):
            _equation(statement, result, messages)
    result.known = {}
    result.silent = len(messages.items) == before
    return result


def _declare(statement: Declaration, result: Outline, messages: Messages) -> None:
    keyword = statement.keyword
    for item in statement.items:
        use = result.use(item)
        if keyword == "label":
            if isinstance(item, Name):
                domain = name_key(statement.domain) if isinstance(statement.domain, Name) else ""
                if name_key(item) in result.labels:
                    result.label_counts[result.labels[name_key(item)][1]] -= 1
                number = result.label_counts[domain]
                result.label_counts[domain] += 1
                result.labels[name_key(item)] = (number, domain, item.span)
            continue
        if use is None or use.kind not in ("tensor",):
            messages.error("declaration", f"`{keyword}` declares a name", item.span,
                           hint=f"write for example `{keyword} x[t,k]`")  # fmt: skip
            continue
        reference = use.reference
        if keyword == "input":
            result.inputs[reference.key] = (reference, statement.domain)
        elif keyword in ("parameter", "vector", "matrix"):
            if keyword == "parameter":
                result.parameters[reference.key] = reference
            else:
                result.inputs[reference.key] = (reference, statement.domain)
        elif keyword == "constant":
            if statement.value is None:
                messages.error(
                    "declaration",
                    f"the constant {reference.key} has no value",
                    item.span,
                    hint=f"write `constant {reference.key} = 0.1`",
                )
            else:
                result.constants[reference.key] = (reference, statement.value)
        elif keyword == "size":
            result.sizes[reference.key] = (statement.value, item.span)
        elif keyword == "range":
            name = index_name(item)
            if name is None or statement.value is None:
                messages.error("declaration", "`range` gives an index its first and last value",
                               item.span, hint="write for example `range Δt = -1..1`")  # fmt: skip
            else:
                result.ranges[family(name)] = (statement.value, name)


def _equation(equation: Equation, result: Outline, messages: Messages) -> None:
    left = equation.sides[0]
    right = equation.sides[-1]
    if isinstance(left, Dots):
        _continue(equation, result, messages)
        return
    if equation.relations == ("~",):
        _drawn(equation, result, messages)
        return
    grouped = isinstance(left, Name) and left.base in GROUPS
    if grouped and isinstance(right, Reduction) and right.operator == "argmin":
        _objective(equation, result)
        return
    if (
        isinstance(left, Name)
        and left.base in GROUPS
        and isinstance(right, TupleLiteral | Group)
        and not left.sub
    ):
        listed = right.body if isinstance(right, Group) else right
        items = listed.items if isinstance(listed, TupleLiteral) else (listed,)
        result.list_span = equation.span
        for item in items:
            use = result.use(item)
            if use is not None and use.kind == "tensor":
                result.parameter_list.append(use.reference)
        return
    if isinstance(left, Call) or (isinstance(left, Index) and isinstance(left.base, Call)):
        function = _function(left, equation, result)
        if function is not None:
            if function.key in result.functions:
                messages.error("defined-twice", f"{function.key} is defined twice", equation.span,
                               (result.functions[function.key].span, "first here"))  # fmt: skip
            result.functions[function.key] = function
            return
    use = result.use(left)
    if use is None or use.kind in ("function", "factor"):
        if len(equation.sides) > 1:
            result.tests.append(equation)
        return
    if (
        isinstance(left, Name)
        and not use.reference.items
        and len(left.base) > 1
        and left.base.isupper()
        and isinstance(right, Name)
        and right.bare
        and len(right.base) > 1
    ):
        result.fills[use.reference.key] = (right.base, right.span)
        return
    relations, sides = equation.relations, equation.sides
    if "≈" in relations[1:] and relations[0] == "=":
        # `α = k^⊤ q ≈ μ^⊤ q`: the last side that is equal defines; what is only near is not.
        near = relations.index("≈")
        result.tests.append(replace(equation, sides=sides[near:], relations=relations[near:]))
        relations, sides, right = relations[:near], sides[: near + 1], sides[near]
    between = tuple(zip(relations, sides[1:-1], strict=False))
    key = use.reference.key
    items = use.reference.items
    probability = None
    if use.kind == "probability":
        assert use.call is not None
        probability = use.call
        key = probability_key(use.reference.key, use.call)
        items = use.call.arguments
    if use.reference.power is not None:
        result.tests.append(equation)
        return
    result.define(
        Definition(
            key,
            items,
            left,
            right,
            equation,
            between,
            relations[-1],
            probability,
            frozenset(result.labels),
        )
    )


def _continue(equation: Equation, result: Outline, messages: Messages) -> None:
    """A display that begins with `=` goes on with the last definition: all its sides are claims."""
    if not result.definitions:
        messages.error("no-left-side", "this begins with `=`, and nothing stands before it",
                       equation.span, hint="write the left side again")  # fmt: skip
        return
    last = result.definitions[-1]
    added = tuple(zip(equation.relations, equation.sides[1:], strict=False))
    body = (*last.between, (last.relation, last.body), *added)
    result.definitions[-1] = replace(
        last, between=body[:-1], body=body[-1][1], relation=body[-1][0]
    )


def _drawn(equation: Equation, result: Outline, messages: Messages) -> None:
    use = result.use(equation.sides[0])
    right = equation.sides[1]
    if use is None or use.kind != "tensor":
        messages.error("draw", "only a name can be drawn", equation.sides[0].span)
        return
    if (
        isinstance(right, Call)
        and isinstance(right.function, Name)
        and right.function.base in PROBABILITY
    ):
        result.generated.append((use.reference, right, equation))
        return
    base = right.function if isinstance(right, Call) else right
    if not isinstance(base, Name) or base.base not in DISTRIBUTIONS:
        messages.error(
            "draw",
            f"{unicode(right)} is no distribution that is known here",
            right.span,
            hint="use N(mean, variance), uniform(low, high), bernoulli(p), orthonormal, permutation, or "
            "P(…)",
        )
        return
    assert isinstance(right, Call | Name)
    result.draws.append((use.reference, right, equation))


def _objective(equation: Equation, result: Outline) -> None:
    """`Φ^* = argmin_Φ E X` says `loss = X`; an earlier side of the chain is a claim."""
    bodies: list[Expression] = []
    for side in equation.sides[1:]:
        body = side.body if isinstance(side, Reduction) and side.operator == "argmin" else side
        drawn: list[Expression] = []
        while isinstance(body, Expectation | Group):
            if isinstance(body, Expectation):
                drawn += [n for d in body.draws for n in _drawn_indices(d)]
            body = body.body
        if drawn:
            # `t ~ {1, …, T}`: the expectation over an index is its mean.
            body = Reduction("mean", tuple(drawn), None, body, span=body.span)
        bodies.append(body)
    between = tuple(zip(equation.relations, bodies[:-1], strict=False))
    left = Name("loss", span=equation.sides[0].span)
    result.define(Definition("loss", (), left, bodies[-1], equation, between))


def _function(left: Expression, equation: Equation, result: Outline) -> FunctionDefinition | None:
    """The left side as the head of a function: `f(x[J], y)[j]`, or `f(x)` whose body uses x."""
    items: tuple[Expression, ...] = ()
    call = left
    if isinstance(left, Index):
        call, items = left.base, left.items
    if not isinstance(call, Call) or not isinstance(call.function, Name) or call.given is not None:
        return None
    if call.function.base in PROBABILITY:
        return None
    sliced = all(
        (isinstance(a, Index) and isinstance(a.base, Name) and all(
            (n := index_name(i)) is not None and is_capital(n.base) for i in a.items
        )) or isinstance(a, Name)
        for a in call.arguments
    )  # fmt: skip
    any_slice = any(isinstance(a, Index) for a in call.arguments)
    if not sliced or not (any_slice or parameter_used(call, equation.sides[1:])):
        return None
    parameters = tuple(
        (name_key(a.base), tuple(i for i in a.items if isinstance(i, Name)))
        if isinstance(a, Index) and isinstance(a.base, Name)
        else (name_key(a) if isinstance(a, Name) else "", ())
        for a in call.arguments
    )
    names = tuple(n for i in items if (n := index_name(i)) is not None)
    key = result.naming.read(call.function).key
    return FunctionDefinition(key, parameters, names, equation.sides[-1], equation.span)


def probability_key(key: str, call: Call) -> str:
    """The tensor that a `P(…)` is: `P` for one variable, else the whole as it was written."""
    arguments = call.arguments
    if len(arguments) == 1 and not isinstance(arguments[0], Dots | Number):
        return key
    return f"{key}({', '.join(unicode(a) for a in arguments)})"


def _drawn_indices(draw: Expression) -> list[Expression]:
    """The indices that an expectation draws from a set: the t of `t ~ {1, …, T}`."""
    if not isinstance(draw, Comparison) or not isinstance(draw.operands[-1], SetLiteral):
        return []
    left = draw.operands[0]
    names = left.items if isinstance(left, TupleLiteral) else (left,)
    return [n for n in names if index_name(n) is not None]
