r"""A statement of prose → why it is not about tensors, or nothing.

    \mathbb{E}_x[f(x)] = 0                  it holds an expectation
    \frac{dy}{dx} = 2 x                     it is about derivatives
    y = h(z)                                h is a function that nothing here defines
    p(a | b) = p(b | a) p(a) / p(b)         the probability p is computed by nothing here

Such a statement is left out before anything is inferred from it: what it says of its names, it says of
other things than tensors. In index notation with square brackets a function that is only named is a
hole, and an open probability an input; both are read.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation.syntax import (
    Add,
    Call,
    Equation,
    Expression,
    Fraction,
    Index,
    Name,
    Number,
    Product,
    Statement,
)
from indicial.program.doubts import indexed
from indicial.program.names.letters import index_name, is_capital
from indicial.program.names.naming import FUNCTION_LETTERS
from indicial.program.names.occurrences import uses
from indicial.program.names.outline import Outline
from indicial.program.names.uses import Use
from indicial.program.vectors.leaves import MATRIX_FUNCTIONS

OPERATORS = frozenset(
    {
        "Var", "var", "Cov", "cov", "Corr", "corr", "KL", "JS", "TV", "MI", "MSE", "Bias", "Pr", "Pop",
        "sup", "inf", "arg", "gcd", "mod", "det", "rank", "dim", "supp",
    }
)  # fmt: skip
"""Words that are no tensors, whatever brackets follow them."""


def without_names(statement: Statement, outline: Outline) -> Statement:
    """`Z = f(X, A) = softmax(…)` without the side that only gives it a second name."""
    if not isinstance(statement, Equation) or len(statement.sides) < 3:
        return statement
    kept = [0, *(n for n in range(1, len(statement.sides)) if not _names(statement, n, outline))]
    if len(kept) < 2 or len(kept) == len(statement.sides):
        return statement
    return replace(
        statement,
        sides=tuple(statement.sides[n] for n in kept),
        relations=tuple(statement.relations[n - 1] for n in kept[1:]),
    )


def _names(equation: Equation, number: int, outline: Outline) -> bool:
    """Whether a side is a function that nothing here defines, of names alone."""
    side = equation.sides[number]
    if not isinstance(side, Call) or not all(isinstance(a, Name) for a in side.arguments):
        return False
    use = outline.use(side)
    if use is None or use.kind == "probability" or use.reference.key in outline.defined:
        return False
    return bool(_opaque(use, outline)) or use.reference.key in FUNCTION_LETTERS


def foreign(statement: Statement, outline: Outline) -> str:
    """Why the statement is left out, or nothing."""
    if not isinstance(statement, Equation):
        return ""
    nodes = list(statement.walk())
    if any(isinstance(node, Fraction) and _differential(node) for node in nodes):
        return "it is about derivatives"
    for node in nodes:
        if isinstance(node, Name) and node.base == "𝔼":
            return "it holds an expectation"
        if isinstance(node, Name) and node.base in OPERATORS:
            return f"it uses {node.base}"
        if isinstance(node, Index | Call | Product) and _expects(node, outline):
            return "it holds an expectation"
    if not indexed(statement) and "~" not in statement.relations:
        for side in statement.sides:
            for use in uses(outline, side):
                if reason := _opaque(use, outline):
                    return reason
    return ""


def _differential(node: Fraction) -> bool:
    """`dy/dx`: a d before what stands above and below."""
    return all(_first(part) in ("d", "∂") for part in (node.above, node.below))


def _first(part: Expression) -> str:
    if isinstance(part, Product):
        part = part.factors[0]
    return part.base if isinstance(part, Name) and not part.sub else ""


def _expects(node: Expression, outline: Outline) -> bool:
    """`E[X^2]`, `E (g - μ)^2`, `E_b ‖g‖`: an E that is no tensor of the program."""
    parts: tuple[Expression, ...] = ()
    if isinstance(node, Product):
        parts = _leading(node.factors[:-1])
    elif isinstance(node, Index):
        parts = (node.base,)
    elif isinstance(node, Call):
        parts = (node.function,)
    expecting = any(isinstance(part, Name) and part.base == "E" for part in parts)
    return expecting and not _known_e(outline)


def _leading(factors: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The factors up to the first capital: behind a matrix an E is another one, `W E y`."""
    for number, factor in enumerate(factors):
        if isinstance(factor, Name) and is_capital(factor.base):
            return factors[: number + 1]
    return factors


def _known_e(outline: Outline) -> bool:
    """Whether the program has a tensor E: declared, or with two indices somewhere, or one on a left side."""
    read = max(outline.complete.get("E", ()), default=0) > 1
    defined = any(
        d.key == "E" and all((n := index_name(i)) and not is_capital(n.base) for i in d.items)
        for d in outline.definitions
    )
    return "E" in outline.declared or read or defined


def _opaque(use: Use, outline: Outline) -> str:
    """A function or a probability that nothing here computes."""
    key = use.reference.key
    named = use.kind == "function" and not outline.is_function(key)
    if named and key not in MATRIX_FUNCTIONS and not _activation(use):
        return f"{key} is a function that nothing here defines"
    if use.kind == "probability" and use.call is not None and not _computed(use.call, outline):
        return f"the probability {key} is computed by nothing here"
    if use.kind == "factor" and key not in outline.bare and use.call and _atom(use.call):
        return f"{key}(…) may be a call or a product"
    return ""


def _computed(call: Call, outline: Outline) -> bool:
    """Whether an equation without further probabilities says how what is predicted is distributed.

    Of tokens in a row, as in `P(w_t | w_0, …)`, a model may be given elsewhere.
    """
    if not all(isinstance(a, Name) and a.bare for a in (*call.arguments, *(call.given or ()))):
        return True
    predicted = [_letter(a) for a in call.arguments]
    return any(
        d.probability is not None
        and [_letter(a) for a in d.probability.arguments] == predicted
        and not any(use.kind == "probability" for use in uses(outline, d.body))
        for d in outline.definitions
    )


def _letter(node: Expression) -> str:
    node = node.base if isinstance(node, Index) else node
    return node.base if isinstance(node, Name) else ""


def _activation(use: Use) -> bool:
    """`φ(W x + b)`, `g(W_a a)`: a letter that stands before a sum or product of matrices; and any `φ(z)`."""
    call = use.call
    if call is None or len(call.arguments) != 1 or use.reference.key not in FUNCTION_LETTERS:
        return False
    (inside,) = call.arguments
    capitals = any(isinstance(n, Name) and is_capital(n.base) for n in inside.walk())
    return use.reference.key == "φ" or (isinstance(inside, Add | Product) and capitals)


def _atom(call: Call) -> bool:
    """Brackets around one name: nobody writes a product so."""
    if len(call.arguments) != 1:
        return False
    only = call.arguments[0]
    return isinstance(only, Name | Index) or (isinstance(only, Number) and call.given is None)
