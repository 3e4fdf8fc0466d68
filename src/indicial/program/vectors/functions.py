"""Functions of one's own in vector style: put in where they are called, or named by their arguments.

f(z) = tanh(W z + b), y = f(x)          →  y = tanh(W x + b)
Swish_β(x) = x σ(β x), y = Swish_1(z)   →  y = z ⊙ σ(1 z)
score(h_t, s_i) = h_t^⊤ s_i             →  score_{t,i} = h_t^⊤ s_i      always with these arguments
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.messages import Messages
from indicial.program.names.letters import (
    PARAMETERS,
    is_capital,
    is_distance,
    is_letter,
    is_lone,
    is_step,
    shifted,
)
from indicial.program.names.sorting import outline
from indicial.program.names.uses import BUILT_IN, parameter_used
from indicial.program.vectors.leaves import MATRIX_FUNCTIONS
from indicial.program.vectors.regular import Change, changed, index_letters, opaque, rebuilt

LAYERS = frozenset({"layernorm", "rmsnorm", "swiglu"})
"""Functions of vectors that are known, and that notes explain nevertheless."""
NORMS = frozenset({"layernorm", "rmsnorm"})
"""Those whose values are vectors, or have vectors for rows."""
DEEPEST = 8
"""How often functions that call functions are written out."""


@dataclass(frozen=True)
class Body:
    """What a function of one's own says."""

    function: s.Name
    parameters: tuple[s.Name, ...]
    value: s.Expression

    def numbered(self, name: s.Name) -> Body | None:
        """The same for `Swish_1`, where it is `Swish_β`: with 1 for β."""
        if len(name.sub) != 1 or len(self.function.sub) != 1:
            return None
        (letter,), (number,) = self.function.sub, name.sub
        if not isinstance(letter, s.Name) or not isinstance(number, s.Number):
            return None
        if replace(self.function, sub=()) != replace(name, sub=()):
            return None
        return Body(name, self.parameters, _with(self.value, {letter: number}))


def unfolded(statements: list[s.Statement]) -> list[s.Statement]:
    """`f(z) = tanh(W z + b)`, `y = f(x)`: the body stands at every call, with x for z."""
    sketch = outline(statements, Messages(), document=True)
    bodies: dict[str, Body] = {}
    for statement in statements:
        if not isinstance(statement, s.Equation) or len(statement.sides) != 2:
            continue
        left, right = statement.sides
        if not isinstance(left, s.Call):
            continue
        key = name_key(left.function)
        names = tuple(a for a in left.arguments if isinstance(a, s.Name) and not a.sub)
        plain = len(names) == len(left.arguments) and key in sketch.functions
        again = any(name_key(call.function) == key for call in right.every(s.Call))
        if plain and left.given is None and not again:
            bodies[key] = Body(left.function, names, _by_elements(names, right))
    if not bodies:
        return statements
    numbers = {n.function for st in statements for n in _right(st) if isinstance(n, s.Call)}
    called = set(map(name_key, numbers))
    bodies = {
        key: body
        for key, body in bodies.items()
        if key in called or any(body.numbered(name) for name in numbers)
    }

    def written_out(depth: int) -> Change:
        def change(node: s.Expression) -> s.Expression:
            if isinstance(node, s.Call):
                made = (b.numbered(node.function) for b in bodies.values())
                known = bodies.get(name_key(node.function)) or next(filter(None, made), None)
                if (
                    known is not None
                    and len(known.parameters) == len(node.arguments)
                    and depth < DEEPEST
                ):
                    values = [change(a) for a in node.arguments]
                    body = _with(known.value, dict(zip(known.parameters, values, strict=True)))
                    inner = written_out(depth + 1)(body)
                    return s.Group(replace(inner, span=node.span), span=node.span)
            return rebuilt(node, change)

        return change

    heads = {body.function for body in bodies.values()}
    kept = [
        st for st in statements if not (isinstance(st.left, s.Call) and st.left.function in heads)
    ]
    return [changed(statement, written_out(0)) for statement in kept]


def _by_elements(parameters: tuple[s.Name, ...], body: s.Expression) -> s.Expression:
    """`x σ(β x)`, of a number x: of a vector it is taken element by element."""
    names = list(body.every(s.Name))
    matrices = any(is_capital(n.base) for n in names)
    if len(parameters) != 1 or matrices or not parameters[0].base.islower():
        return body

    def change(node: s.Expression) -> s.Expression:
        new = rebuilt(node, change)
        if isinstance(new, s.Product):
            held = [f for f in new.factors if parameters[0] in f.walk()]
            rest = [f for f in new.factors if parameters[0] not in f.walk()]
            if len(held) > 1:
                first = s.Product((*rest, held[0]), span=new.span) if rest else held[0]
                return s.Group(s.Hadamard((first, *held[1:]), span=new.span), span=new.span)
        return new

    return change(body)


def _right(statement: s.Statement) -> list[s.Node]:
    if isinstance(statement, s.Equation):
        return [n for side in statement.sides[1:] for n in side.walk()]
    return list(statement.walk())


def _with(body: s.Expression, values: dict[s.Name, s.Expression]) -> s.Expression:
    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and len(node.sup) == 1 and replace(node, sup=()) in values:
            base = s.Group(values[replace(node, sup=())], span=node.span)
            return s.Power(base, change(node.sup[0]), span=node.span)  # the a^2 of `L(a) = a^2`
        if isinstance(node, s.Name) and node in values:
            value = values[node]
            loose = isinstance(value, s.Add | s.Negative | s.Product | s.Hadamard)
            return s.Group(value, span=value.span) if loose else value
        return rebuilt(node, change)

    return change(body)


def heads(statements: list[s.Statement]) -> list[s.Statement]:
    """`score(h_t, s_i) = h_t^⊤ s_i`, always of an h and an s: it is `score_{t,i}`."""
    calls = list(s.every(statements, s.Call))
    indices = index_letters(statements)
    # The t of `y(t) = C h(t) + D u(t-1)`, which stands nowhere else, is no value.
    inside = [a for c in calls if c.word not in BUILT_IN for a in c.arguments]
    asked = s.ids(a for a in inside if is_lone(a) or is_step(a) or is_distance(a, indices))
    names = list(s.every(statements, s.Name))
    asked |= s.ids(i for n in names for i in n.scripts if is_lone(i))  # nor is the j of `T_{ij}`
    others = [n for n in names if id(n) not in asked]
    new: dict[s.Call, s.Name] = {}
    for statement in statements:
        left = statement.left
        if not isinstance(left, s.Call) or opaque(left):
            continue
        spread = left.function.base == "σ" and bool(statement.every(s.Reduction))
        given = left.function.base in BUILT_IN | MATRIX_FUNCTIONS
        if (
            given
            and not spread
            and not (
                _spoken(left, right := _sides(statement), names) and parameter_used(left, right)
            )
        ):
            continue  # `cos(θ) = …` says something of θ; `σ(x) = sqrt(Σ_i …)` is no sigmoid
        written = [a for a in left.arguments if isinstance(a, s.Name)]
        bold = any(
            a.font == "bold" for a in written
        )  # then no other is an index: `ℒ(\\mathbf w, b)`
        values = all(
            (name_key(a) not in indices and (bold or any(n.stem == a.stem for n in others)))
            or not is_letter(a.base)
            or not a.base.isascii()
            or (
                len(left.function.base) > 1
                and (bool(a.sub) or is_capital(a.base))
                and name_key(a) not in indices
            )
            for a in written
        )
        mine = [c for c in calls if c.function == left.function]
        named = {c: scripts for c in mine if (scripts := _places(c, left)) is not None}
        same = len(named) == len(set(mine))
        same = same and not any(_numbers(c.function, left.function) for c in calls)
        if same and values and len(written) == len(left.arguments):
            for call, scripts in named.items():
                name = _as_written(left.function)
                new[call] = replace(name, sub=(*_labels(name, _sides(statement)), *scripts))

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Call) and node in new:
            return replace(new[node], span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements] if new else statements


def _labels(function: s.Name, right: Sequence[s.Expression]) -> tuple[s.Expression, ...]:
    """The q of `μ_q(x_t, y) = …`, which stands nowhere on the right, as a part of the name `μ_{q,t}`."""
    there = set(s.every(right, s.Name))
    return tuple(
        replace(i, font="roman")
        if isinstance(i, s.Name) and is_lone(i) and (i not in there or i.base in PARAMETERS)
        else i
        for i in function.sub
    )


def _sides(statement: s.Statement) -> tuple[s.Expression, ...]:
    return statement.sides[1:] if isinstance(statement, s.Equation) else ()


def _spoken(left: s.Call, right: Sequence[s.Expression], names: Sequence[s.Name]) -> bool:
    """`LayerNorm(x) = γ ⊙ …`: a word for a layer, of which its author says how vectors pass it.

    A norm is of vectors, whatever it is written with: `LayerNorm(x) = γ · (x - μ)/√(σ^2 + ε) + β`.
    """
    if left.word not in LAYERS:
        return False
    if left.word in NORMS:
        return True
    bases = {a.base for a in left.arguments if isinstance(a, s.Name)}
    matrices = any(is_capital(n.base) for n in s.every(right, s.Name))
    elements = any(n.sub and n.base in bases for n in names)
    return matrices or elements or bool(list(s.every(right, s.Hadamard)))


def _as_written(function: s.Name) -> s.Name:
    """`LayerNorm`, which is read as `layernorm`, by the name that its author gives it."""
    word = re.search(r"[A-Za-z]+(?=\}*$)", function.span.text) if function.base in LAYERS else None
    return replace(function, base=word.group()) if word else function


def _places(call: s.Call, left: s.Call) -> tuple[s.Expression, ...] | None:
    """The indices t and j of `score(h_t, s_j)`, where `score(h_t, s_i)` is defined; else None.

    Where it is `score(s_{i-1}, h_j)` they are i and j: its step back is a part of the definition.
    """
    places: dict[s.Name, s.Expression] = {}
    for mine, its in zip(left.arguments, call.arguments, strict=False):
        if call == left and not isinstance(mine, s.Name):
            continue
        if not isinstance(mine, s.Name) or not isinstance(its, s.Name):
            return None
        if replace(mine, sub=()) != replace(its, sub=()) or len(mine.sub) != len(its.sub):
            return None
        for one, other in zip(mine.sub, its.sub, strict=True):
            step, taken = shifted(one), shifted(other)
            if step is None or taken is None:
                if one != other:
                    return None
                continue
            place = _later(taken[0], taken[1] - step[1])
            if places.setdefault(step[0], place) != place and call != left:
                return None
    if len(call.arguments) != len(left.arguments) or call.given is not None:
        return None
    return tuple(places.values())


def _later(letter: s.Name, by: int) -> s.Expression:
    """`t + 1`."""
    if not by:
        return letter
    number = s.Number(str(abs(by)), span=letter.span)
    term = number if by > 0 else s.Negative(number, span=letter.span)
    return s.Add((letter, term), span=letter.span)


def _numbers(one: s.Expression, function: s.Name) -> bool:
    """Whether `Swish_1` is called, where it is `Swish_β` that is defined."""
    if not isinstance(one, s.Name) or len(one.sub) != 1 or not isinstance(one.sub[0], s.Number):
        return False
    return len(function.sub) == 1 and replace(one, sub=()) == replace(function, sub=())
