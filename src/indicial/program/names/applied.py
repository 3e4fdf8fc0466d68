r"""Functions of a number that a text only names: which letters they are, over the whole document.

    where $\theta$ is the activation function      b_h^t = \theta(a_h^t)          θ is applied to each element
    a^{[l]} = g^{[l]}(z^{[l]})                     g is, at whatever layer
    w = w - \eta (g + \lambda w)                   η is a factor

A name is such a function if it stands before round brackets alone, with one value in them, and if the prose says so or
the name is numbered as its argument is. It is marked, by the font `APPLIED`, wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import COUNTING, is_letter
from indicial.program.names.naming import APPLIED, FUNCTION_LETTERS
from indicial.program.names.uses import BUILT_IN, PROBABILITY

_ACTIVATION = (
    r"activation|nonlinear|non-linear|squash|transfer function|激活|非线性|活性化|非線形|활성|비선형|kích hoạt|"
    r"activaci|ativaç|aktiv|активац|нелинейн"
)
_KNOWN = BUILT_IN | PROBABILITY | frozenset("αβγδεηκλμν")
"""What is known to be something else; with the letters of rates and weights, which nobody calls a function."""
_NUMBER = r"(?:\\mathbb\s*\{?\s*R\s*\}?|\\R(?![a-z])|ℝ)"
_OF_NUMBERS = rf"(?::|\\colon)\s*{_NUMBER}\s*(?:\\(?:right)?arrow|\\to|→)\s*{_NUMBER}\s*(?:\$|\\\))"


def marked(statements: list[s.Statement]) -> list[s.Statement]:
    """The statements of a document's prose, with the functions of a number marked."""
    calls: dict[s.Name, list[s.Call]] = {}
    for call in s.every(statements, s.Call):
        if call.function.base not in _KNOWN:
            calls.setdefault(replace(call.function, primes=0), []).append(call)
    known = {name for name, found in calls.items() if _may_apply(name, found)}
    if not known:
        return statements
    equations = [st for st in statements if isinstance(st, s.Equation)]
    known -= {left for st in equations if isinstance(left := s.head(st.left), s.Name)}
    names = s.every(equations, s.Name)
    elsewhere = {id(call.function) for found in calls.values() for call in found}
    elsewhere |= s.ids(script for name in names for script in name.scripts)
    known -= {name for name in names if name in known and id(name) not in elsewhere}
    known = {name for name in known if any(map(is_said, calls[name])) or _at_layers(calls[name])}

    def change(node: s.Expression) -> s.Expression:
        node = node.rebuild(change) if not isinstance(node, s.Name) else node
        if isinstance(node, s.Call) and replace(node.function, primes=0) in known:
            places = {i for n in node.arguments[0].every(s.Name) for i in n.scripts}
            sub, sup = (
                tuple(i for i in scripts if i not in places)
                for scripts in (node.function.sub, node.function.sup)
            )
            return replace(node, function=replace(node.function, sub=sub, sup=sup, font=APPLIED))
        return node

    return [st.rebuild(change) if isinstance(st, s.Equation) else st for st in statements]


def _may_apply(name: s.Name, calls: Sequence[s.Call]) -> bool:
    """Whether a letter has one value in its brackets wherever it stands, and not always a bare letter."""
    if not is_letter(name.base):
        return False
    arguments = [call.arguments[0] for call in calls if len(call.arguments) == 1 and not call.given]
    letters = [a.base for a in arguments if isinstance(a, s.Name) and a.bare and a.font != "bold"]
    values = len(letters) < len(arguments) == len(calls) and COUNTING.isdisjoint(letters)
    return values and all(argument.every(s.Name) for argument in arguments)


def _at_layers(calls: Iterable[s.Call]) -> bool:
    """The g of `g^{[l]}(z^{[l]})`: a letter of functions, numbered as what it is applied to."""
    return all(
        call.word in FUNCTION_LETTERS
        and isinstance(argument := call.arguments[0], s.Name)
        and any(isinstance(i, s.Group) for i in argument.sup)
        and call.function.sup == argument.sup
        for call in calls
    )


def is_said(call: s.Call) -> bool:
    """Whether the text says so: "where $f$ is a nonlinear activation function", "$ρ: ℝ → ℝ$"."""
    span = call.function.span
    letter = re.escape(re.split(r"[\^_']", span.text)[0].strip("{ "))
    if (
        not letter
        or call.function.sub
        or any(not isinstance(i, s.Group) for i in call.function.sup)
    ):
        return False
    above = r"(?:\s*\^\{[^{}$]*\})?" if call.function.sup else ""
    name = rf"(?:\$|\\\()\s*{letter}{above}\s*"
    sign = rf"{name}(?:\(\\cdot\))?\s*(?:\$|\\\))"
    said = rf"{sign}[^.$。]{{0,60}}(?:{_ACTIVATION})|(?:{_ACTIVATION})[^.$。]{{0,40}}{sign}"
    if call.word not in FUNCTION_LETTERS:  # f: ℝ → ℝ may be what is made small
        said = rf"{said}|{name}{_OF_NUMBERS}"
    return re.search(said, span.source.text, re.IGNORECASE) is not None
