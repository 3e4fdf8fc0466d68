"""Loops: `+=` lines become the sums that they compute.

    h[j] += W[j,i] x[i]        h[j] = Σ_i W[j,i] x[i] - B[j]
    h[j] -= B[j]          →

A line with `+=` runs over all values of its indices, so an index that is not on the left is summed.
All lines for one name add up, on top of its equation if it has one. A name that is only lowered
(`Φ -= η Φ.grad`) is changed in place: that is a step in time, which these lines do not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.faults import Skipped
from indicial.notation.printers import name_key
from indicial.program.messages import Messages
from indicial.program.names.letters import index_name
from indicial.program.names.occurrences import loose_letters
from indicial.program.names.outline import Outline
from indicial.program.names.sorting import outline

STEPS = {"+=": 1, "-=": -1}


def unroll(
    statements: Sequence[s.Statement], document: bool
) -> tuple[list[s.Statement], list[Skipped]]:
    """The statements with the lines of one name as one equation, and the lines left out."""
    if not any(_is_step(st) for st in statements):
        return list(statements), []
    sketch = outline(statements, Messages(), document)
    steps: dict[str, list[s.Equation]] = {}
    bases: dict[str, s.Equation] = {}
    for statement in statements:
        key = _key(sketch, statement)
        if key is None or not isinstance(statement, s.Equation):
            continue
        if _is_step(statement):
            steps.setdefault(key, []).append(statement)
        elif statement.guard is None and statement.relations == ("=",):
            bases.setdefault(key, statement)
    result: list[s.Statement] = []
    skipped: list[Skipped] = []
    done: set[str] = set()
    for statement in statements:
        key = _key(sketch, statement)
        mine = steps.get(key, []) if key is not None else []
        if not mine:
            result.append(statement)
            continue
        assert key is not None
        base = bases.get(key)
        if base is None and all(st.relations == ("-=",) for st in mine):
            skipped.append(Skipped(statement.span, f"it changes {key} in place"))
            continue
        if key not in done and statement is (base or mine[0]):
            done.add(key)
            result.append(_total(sketch, base, mine))
    return result, skipped


def _is_step(statement: s.Statement) -> bool:
    return isinstance(statement, s.Equation) and statement.relations[:1] in (("+=",), ("-=",))


def _key(sketch: Outline, statement: s.Statement) -> str | None:
    if not isinstance(statement, s.Equation):
        return None
    left = statement.sides[0]
    use = sketch.use(left) if isinstance(left, s.Name | s.Index | s.Call) else None
    return use.reference.key if use is not None and use.kind == "tensor" else None


def _total(sketch: Outline, base: s.Equation | None, steps: list[s.Equation]) -> s.Equation:
    first = base or steps[0]
    terms: list[s.Expression] = [base.sides[-1]] if base is not None else []
    for step in steps:
        body = _renamed(step, first)
        left = {name_key(n) for n in first.sides[0].every(s.Name) if index_name(n)}
        loose = tuple(loose_letters(sketch, body, left).values())
        if loose:
            body = s.Reduction("sum", loose, None, _product(body), span=step.span)
        terms.append(s.Negative(body, span=step.span) if step.relations == ("-=",) else body)
    total = terms[0] if len(terms) == 1 else s.Add(tuple(terms), span=first.span)
    return replace(first, sides=(first.sides[0], total), relations=("=",))


def _product(body: s.Expression) -> s.Expression:
    """A sum takes the product behind it: anything looser needs brackets."""
    return s.Group(body, span=body.span) if isinstance(body, s.Add | s.Join) else body


def _renamed(step: s.Equation, like: s.Equation) -> s.Expression:
    """The right side of a line in the letters of the first one: `h[i] += …` beside `h[j] += …`."""
    mine, theirs = step.sides[0], like.sides[0]
    if not isinstance(mine, s.Index) or not isinstance(theirs, s.Index):
        return step.sides[-1]
    names = {
        a: b
        for a, b in zip(mine.items, theirs.items, strict=False)
        if isinstance(a, s.Name) and isinstance(b, s.Name) and a != b
    }
    return _rename(step.sides[-1], names) if names else step.sides[-1]


def _rename(node: s.Expression, names: dict[s.Name, s.Name]) -> s.Expression:
    if isinstance(node, s.Name) and node in names:
        return replace(names[node], span=node.span)
    return node.rebuild(lambda inner: _rename(inner, names))
