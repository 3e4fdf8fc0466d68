"""Vector style, made regular before ranks are looked for.

x^T y                    →  x^⊤ y                   where T is no size and no index
β^2 (u_b - u_c), V(u_a)  →  products                brackets that hold columns are factors
q = [1; 1; 2]            →  q = [1, 1, 2]
α_i = … for i ∉ {a, b}   →  `label a, b`            in documents; then v_a is a name of its own,
                                                    unless v_i says that a is an element
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.messages import Messages
from indicial.program.names.letters import index_name, is_capital, is_letter
from indicial.program.names.outline import DISTRIBUTIONS
from indicial.program.names.sorting import outline
from indicial.program.names.uses import BUILT_IN, PROBABILITY

Change = Callable[[s.Expression], s.Expression]
Node = TypeVar("Node", bound=s.Node)


def rebuilt(node: s.Expression, change: Change) -> s.Expression:
    """The node with the values directly below it changed; indices and binders stay."""

    def value(v: Any) -> Any:
        if isinstance(v, s.Expression):
            return change(v)
        return _same(v, tuple(value(i) for i in v)) if isinstance(v, tuple) else v

    if isinstance(node, s.Name | s.Number | s.Index):
        return node
    if isinstance(node, s.Call) and _opaque(node):
        return node
    kept = ("span", "under", "upper", "function", "given", "draws", "order")
    fields = [f for f in node.__dataclass_fields__ if f not in kept]
    new = {f: value(getattr(node, f)) for f in fields}
    return _replaced(node, **new)


def _same(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """The old one, if nothing in it was exchanged."""
    return old if all(a is b for a, b in zip(old, new, strict=True)) else new


def _replaced(node: Node, **new: Any) -> Node:
    """The node itself, if nothing is new: what is known of it then stays known."""
    if all(getattr(node, name) is value for name, value in new.items()):
        return node
    return replace(node, **new)


def _opaque(call: s.Call) -> bool:
    """`P(w_t | …)`: no values in there."""
    return call.given is not None or (
        isinstance(call.function, s.Name) and call.function.base in PROBABILITY
    )


def changed(statement: s.Statement, change: Change) -> s.Statement:
    """A statement with every side changed."""
    if isinstance(statement, s.Equation):
        guard = change(statement.guard) if statement.guard is not None else None
        sides = _same(statement.sides, tuple(change(x) for x in statement.sides))
        return _replaced(statement, sides=sides, guard=guard)
    if isinstance(statement, s.Claim):
        old = statement.comparison.operands
        operands = _same(old, tuple(change(x) for x in old))
        return _replaced(statement, comparison=_replaced(statement.comparison, operands=operands))
    return statement


def in_vector_style(statements: Iterable[s.Statement]) -> bool:
    """Whether a vector or a matrix is declared, or a ⊤ stands on a name without brackets."""
    for statement in statements:
        if isinstance(statement, s.Declaration) and statement.keyword in ("vector", "matrix"):
            return True
        for node in statement.walk():
            if isinstance(node, s.Transpose):
                indexed = {
                    id(i)
                    for n in node.walk()
                    if isinstance(n, s.Index)
                    for i in n.walk()
                    if i is not n
                }
                if any(isinstance(n, s.Name) and id(n) not in indexed for n in node.body.walk()):
                    return True
    return False


# ---------------------------------------------------------------------- one spelling for all


def lists(statements: list[s.Statement]) -> list[s.Statement]:
    """`[1; 1; 2]` is a column of numbers."""

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Group) and isinstance(node.body, s.Join):
            parts = node.body.parts
            numbers = all(isinstance(p, s.Number) or _negative(p) for p in parts)
            if numbers and node.bracket == "[":
                return s.ListLiteral(parts, span=node.span)
        return node

    return [changed(statement, change) for statement in statements]


def _negative(node: s.Expression) -> bool:
    return isinstance(node, s.Negative) and isinstance(node.body, s.Number)


def transposed(statements: list[s.Statement]) -> list[s.Statement]:
    """`x^T` is `x^⊤` in a program that has no other T and no t."""
    scripts = {
        id(script)
        for statement in statements for node in statement.walk()
        if isinstance(node, s.Name) for script in node.sup
    }  # fmt: skip
    for statement in statements:
        for node in statement.walk():
            if isinstance(node, s.Name) and node.base in ("T", "t") and id(node) not in scripts:
                return statements
            if isinstance(node, s.Index | s.Call):
                base = node.base if isinstance(node, s.Index) else node.function
                if isinstance(base, s.Name) and base.sup == (s.Name("T"),):
                    return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node.sup == (s.Name("T"),):
            return s.Transpose(replace(node, sup=()), span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def factors(statements: list[s.Statement]) -> list[s.Statement]:
    """`V(u_d + u_b)` is a product: what is in the brackets is a value elsewhere, and no index."""
    sketch = outline(statements, Messages(), document=True)
    bound = index_letters(statements)
    values: set[str] = set()
    bare: set[str] = set()
    inside: set[int] = set()
    for statement in statements:
        for node in statement.walk():
            if isinstance(node, s.Index):
                inside.update(id(n) for item in node.items for n in item.walk())
            elif isinstance(node, s.Call):
                inside.add(id(node.function))
                inside.update(
                    id(n) for part in (*node.arguments, *(node.given or ())) for n in part.walk()
                )
            elif isinstance(node, s.Reduction):
                inside.update(id(n) for under in node.under for n in under.walk())
            elif isinstance(node, s.Name):
                inside.update(id(n) for script in (*node.sub, *node.sup) for n in script.walk())
                if id(node) not in inside:
                    values.add(node.base)
                    bare.add(name_key(replace(node, sup=())))

    def is_factor(call: s.Call) -> bool:
        name = call.function
        if not isinstance(name, s.Name) or len(call.arguments) != 1 or _opaque(call):
            return False
        if name.base in BUILT_IN | DISTRIBUTIONS or sketch.is_function(name_key(name)):
            return False
        use = sketch.use(call)
        held = [n for n in call.arguments[0].walk() if isinstance(n, s.Name)]
        scripts = {id(i) for n in held for script in (*n.sub, *n.sup) for i in script.walk()}
        leaves = [n for n in held if id(n) not in scripts]
        value = any(n.base in values and name_key(n) not in bound for n in leaves)
        if use is not None and use.kind == "factor":
            return True
        known = is_letter(name.base) and (
            is_capital(name.base) or name_key(replace(name, sup=())) in bare
        )
        return value and (known or bool(name.sup))

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Call) and is_factor(node):
            body = change(node.arguments[0])
            held = s.Group(body, span=body.span) if isinstance(body, s.Add | s.Negative) else body
            return s.Product((node.function, held), span=node.span)
        result = rebuilt(node, change)
        if isinstance(result, s.Product):
            flat = [
                i for f in result.factors for i in (f.factors if isinstance(f, s.Product) else (f,))
            ]
            return _replaced(result, factors=_same(result.factors, tuple(flat)))
        return result

    return [changed(statement, change) for statement in statements]


def heads(statements: list[s.Statement]) -> list[s.Statement]:
    """`score(h_t, s_i) = h_t^⊤ s_i`, always with these arguments: it is `score_{t,i}`."""
    calls = [n for st in statements for n in st.walk() if isinstance(n, s.Call)]
    new: dict[s.Call, s.Name] = {}
    for statement in statements:
        left = statement.sides[0] if isinstance(statement, s.Equation) else None
        if not isinstance(left, s.Call) or not isinstance(left.function, s.Name) or _opaque(left):
            continue
        written = [a for a in left.arguments if isinstance(a, s.Name)]
        others = [n for st in statements for n in st.walk() if isinstance(n, s.Name)]
        values = all(sum(n == a for n in others) > 1 for a in written)
        same = all(c == left for c in calls if c.function == left.function)
        if same and values and len(written) == len(left.arguments):
            scripts = dict.fromkeys(i for a in written for i in a.sub if index_name(i) is not None)
            new[left] = replace(left.function, sub=(*left.function.sub, *scripts))

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Call) and node in new:
            return replace(new[node], span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements] if new else statements


def index_letters(statements: list[s.Statement]) -> set[str]:
    """The letters that are indices for sure: in brackets, below a Σ, in scripts on a left side."""
    found: set[str] = set()
    for statement in statements:
        places: list[s.Expression] = []
        for node in statement.walk():
            if isinstance(node, s.Index):
                places += node.items
            elif isinstance(node, s.Reduction):
                places += node.under
        if isinstance(statement, s.Equation) and isinstance(statement.sides[0], s.Name):
            places += statement.sides[0].sub
        found |= {
            name_key(n)
            for p in places for n in p.walk()
            if isinstance(n, s.Name) and index_name(n) is not None
        }  # fmt: skip
    return found


# ---------------------------------------------------------------------- labels of a document


def labelled(statements: list[s.Statement], messages: Messages) -> list[s.Statement]:
    """The letters of a set (`i ∉ {a, b}`) are labels; a guard about labels only says nothing."""
    labels: dict[str, s.Name] = {}
    asked: set[str] = set()
    kept: list[s.Statement] = []
    for statement in statements:
        guard = statement.guard if isinstance(statement, s.Equation) else None
        if isinstance(statement, s.Equation) and isinstance(guard, s.Comparison):
            subject, container = guard.operands[0], guard.operands[-1]
            if guard.operators in (("∈",), ("∉",)) and isinstance(container, s.SetLiteral):
                letters = [i for i in container.items if index_name(i) is not None]
                labels |= {name_key(i): i for i in letters if isinstance(i, s.Name)}
                if any(n == subject for n in statement.sides[0].walk()):
                    asked |= {name_key(i) for i in letters if isinstance(i, s.Name)}
                else:
                    text = "what the guard speaks of is not on the left: it is read as a label"
                    messages.note("label-guard", text, guard.span)
                    statement = replace(statement, guard=None)
        kept.append(statement)
    bound = index_letters(kept)
    scripted = [
        (replace(n, sub=(), sup=()), name_key(letter))
        for statement in kept for n in statement.walk()
        if isinstance(n, s.Name) and len(n.sub) == 1
        for letter in n.sub if isinstance(letter, s.Name) and index_name(letter) is not None
    ]  # fmt: skip
    indexed = {stem for stem, letter in scripted if letter in bound and letter not in labels}
    elements = {letter for stem, letter in scripted if stem in indexed}
    labels = {key: name for key, name in labels.items() if key in elements | asked}
    if not labels:
        return kept

    def change(node: s.Expression) -> s.Expression:
        """`v_a` becomes a name of its own, where v has no other index."""
        if isinstance(node, s.Name) and len(node.sub) == 1 and isinstance(node.sub[0], s.Name):
            stem = replace(node, sub=(), sup=())
            if name_key(node.sub[0]) in labels and stem not in indexed:
                base = name_key(replace(stem, sub=node.sub))
                return replace(node, base=base, accents=(), primes=0, sub=())
        return rebuilt(node, change)

    names = tuple(labels.values())
    return [
        s.Declaration("label", names, span=names[0].span),
        *(changed(statement, change) for statement in kept),
    ]
