r"""Functions that notes name and leave to the reader to know.

    head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)     Attention(Q, K, V) = softmax(Q K^⊤ / √d_k) V
    ℓ = -log exp(sim(z_i, z_j) / τ) / …                sim(u, v) = u^⊤ v / (‖u‖ ‖v‖)
    V_i' = Σ_j sim(Q_i, K_j) V_j / …                   any: only what has a temperature is a cosine

A text that defines one of them, under whatever heading, means its own. So it is with any function that has
a word for a name: what one section defines, the others call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from indicial.notation.parse import parse_text
from indicial.notation.syntax import Call, Declaration, Equation, Fraction, Name, Statement, every
from indicial.notation.vocabulary import TOLD
from indicial.program.prose.doubts import USUAL
from indicial.program.vectors.functions import NORMS

_TEXTS: Mapping[tuple[str, int], str] = {
    ("attention", 3): r"{name}(\mathbf Q, \mathbf K, \mathbf V) = "
    r"\mathrm{{softmax}}(\mathbf Q \mathbf K^\top / \sqrt{{d_k}}) \mathbf V",
    ("sim", 2): r"{name}(\mathbf u, \mathbf v) = "
    r"\frac{{\mathbf u^\top \mathbf v}}{{\|\mathbf u\| \|\mathbf v\|}}",
    ("clip", 3): r"{name}(x, a, b) = \min(\max(x, a), b)",
}
"""By the name in small letters and the number of arguments."""
_SHORT = {
    "attn": "attention",
    "sdpa": "attention",
    "cossim": "sim",
    "cosine": "sim",
    "clamp": "clip",
}


Functions = Mapping[tuple[Name, int], Sequence[Statement]]
"""The definitions of a text, by the function and the number of its arguments."""


def defined(statements: Iterable[Statement]) -> Functions:
    """The functions that have a word for a name."""
    found: dict[tuple[Name, int], list[Statement]] = {}
    for statement in statements:
        if head := function_head(statement):
            found.setdefault((head.function, len(head.arguments)), []).append(statement)
    return found


def usual(statements: Sequence[Statement], written: Functions) -> list[Statement]:
    """The definitions of what these statements call and do not define.

    One that is `written` elsewhere in the text comes first, if it is the only one.
    """
    calls = {
        (call.function, len(call.arguments)): None
        for call in every(statements, Call)
        if _is_named(call.function) and call.given is None
    }
    if not calls:
        return []
    own = {head.word for head in map(function_head, statements) if head is not None}
    found: list[Statement] = []
    for function, count in calls:
        there = written.get((function, count), [])
        known = there[0] if len(there) == 1 else None
        if (
            not there
            and function.bare
            and (function.base.lower() != "sim" or _tempered(statements))
        ):
            known = _definition(function.base, count)
        found += [known] if known is not None and function.base not in own else []
    return found


def _tempered(statements: Sequence[Statement]) -> bool:
    """`sim(z_i, z_j) / τ`, as contrastive losses have it."""
    ratios = every(statements, Fraction)
    return any(isinstance(r.above, Call) and r.above.word.lower() == "sim" for r in ratios)


def function_head(statement: Statement) -> Call | None:
    """The `Attention(Q, K, V)` that an equation defines."""
    left = statement.left if isinstance(statement, Equation) else None
    named = isinstance(left, Call) and _is_named(left.function) and left.given is None
    return left if isinstance(left, Call) and named else None


def told_of_norm(statement: Statement) -> list[Statement]:
    """`LayerNorm(x) = γ · (x - μ)/√(σ^2 + ε) + β`: μ and σ are numbers, γ and β have an entry for each of x."""
    head = function_head(statement)
    if head is None or head.word not in NORMS or not isinstance(statement, Equation):
        return []
    names = {name.stem: None for side in statement.sides[1:] for name in side.every(Name)}
    kinds = {"number": _STATISTICS, "vector": _SCALES}
    return [
        Declaration(TOLD, (name,), Name(kind, span=name.span), span=name.span)
        for kind, letters in kinds.items()
        for name in names
        if name.base in letters and not name.font
    ]


_STATISTICS = frozenset("μσ")
_SCALES = frozenset("γβ")


def _is_named(function: Name) -> bool:
    """A word, a loss or a letter with its parameters, `ℒ`, `h_θ`: one function throughout a text."""
    parameters = [i.base for i in function.sub if isinstance(i, Name)]
    named = len(function.base) > 1 or function.base in _LOSSES
    return named or any("α" <= base <= "ω" for base in parameters)


_LOSSES = frozenset("ℒℓ")


@cache
def _definition(name: str, arguments: int) -> Statement | None:
    small = name.lower().replace("_", "").replace("-", "")
    text = _TEXTS.get((_SHORT.get(small, small), arguments))
    if text is None:
        return None
    shown = rf"\mathrm{{{name}}}"
    (statement,) = parse_text(text.format(name=shown), USUAL, latex=True).statements
    return statement
