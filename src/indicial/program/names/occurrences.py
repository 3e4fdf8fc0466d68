"""The names and letters that occur in a program's equations.

h[t,j] = W[j,I] h[t-1,I] + x[w[t],j]

uses of the right side      W[j,I], h[t-1,I], x[w[t],j], w[t]
counts                      W: 2, h: 2, x: 2, w: 1
left letters                t, j
recurrences                 t: defined at t, read at t-1
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.lowering.places import describe
from indicial.program.lowering.scope import binders
from indicial.program.names.letters import family, index_name, is_capital
from indicial.program.names.outline import Definition, Outline
from indicial.program.names.uses import Use


def uses(outline: Outline, node: s.Node) -> list[Use]:
    """Every name with its brackets in a piece of syntax, those inside indices included."""
    if id(node) not in outline.inside:
        # The node is kept: its id stays its own.
        outline.inside[id(node)] = node, list(_uses(outline, node))
    return outline.inside[id(node)][1]


def _uses(outline: Outline, node: s.Node) -> Iterator[Use]:
    stack: list[s.Node] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, s.Name | s.Index | s.Call):
            use = outline.use(current)
            if use is not None:
                yield use
                if use.call is not None:
                    stack.extend(use.call.arguments)
                    stack.extend(use.rest)
                else:
                    stack.extend(use.reference.items)
                continue
        if isinstance(current, s.Reduction):
            stack.append(current.body)
            stack.extend(u for u in current.under if s.is_condition(u))
            if current.upper is not None:
                stack.append(current.upper)
            continue
        if isinstance(current, s.Norm) and isinstance(current.body, s.Name):
            continue  # `‖x‖`: all of x, however many indices it has
        stack.extend(current.children())


def computed_uses(outline: Outline) -> Iterator[Use]:
    """All uses in what is computed."""
    return (use for node in bodies(outline) for use in uses(outline, node))


def counts(outline: Outline) -> dict[str, Counter[int]]:
    """How often each name is read with how many indices."""
    result: dict[str, Counter[int]] = defaultdict(Counter)
    for use in computed_uses(outline):
        key, count = use.reference.key, len(use.reference.items)
        size = not count and is_capital(key) and key in outline.bracketed
        if use.kind == "tensor" and not size:
            result[key][count] += 1
    return result


def bodies(outline: Outline) -> Iterator[s.Expression]:
    """Everything that is computed: right sides, claims, what is drawn from."""
    for definition in outline.definitions:
        yield definition.body
        for _, side in definition.between:
            yield side
        if definition.equation.guard is not None:
            yield definition.equation.guard
    for test in outline.tests:
        yield from test.sides
    for claim in outline.claims:
        yield claim.comparison
        yield from (part for part in (claim.tolerance, claim.guard) if part is not None)
    for _, right, _ in outline.draws:
        yield right


def loose_letters(outline: Outline, node: s.Node, bound: set[str]) -> dict[str, s.Name]:
    """The lower-case indices of a right side that nothing binds."""
    found: dict[str, s.Name] = {}

    def letters(item: s.Expression, inside: set[str]) -> None:
        name = index_name(item)
        if name is not None:
            if not is_capital(name.base) and name_key(name) not in inside:
                found.setdefault(name_key(name), name)
        elif isinstance(item, s.Name | s.Index | s.Call):
            visit(item, inside)
        else:
            for child in item.children():
                if isinstance(child, s.Expression):
                    letters(child, inside)

    def visit(current: s.Node, inside: set[str]) -> None:
        if isinstance(current, s.Reduction):
            names, _ = binders(current, set() if current.operator == "softmax" else inside)
            now = inside | {name_key(b.name) for b in names if isinstance(b.name, s.Name)}
            for under in current.under:
                if s.is_condition(under):
                    visit(under, now)
            visit(current.body, now)
            return
        if isinstance(current, s.Name | s.Index | s.Call):
            use = outline.use(current)
            if use is not None and use.kind == "tensor":
                for item in use.reference.items:
                    letters(item, inside)
                return
            if use is not None and use.kind == "probability":
                assert use.call is not None
                for item in use.call.arguments:
                    letters(item, inside)
                return
        for child in current.children():
            visit(child, inside)

    visit(node, bound)
    return found


def left_letters(definition: Definition) -> dict[str, s.Name]:
    """The indices on the left of a definition, by their spelling."""
    result: dict[str, s.Name] = {}
    for item in definition.items:
        for name in item.walk():
            if isinstance(name, s.Name) and index_name(name) is not None:
                result.setdefault(name_key(name), name)
            if isinstance(name, s.Name) and index_name(item) is not None:
                break
    return result


def layer_axes(outline: Outline, definition: Definition) -> set[tuple[str, int]]:
    """Names and axes that an equation for `h[ℓ+1,t,j]` steps along or reads at ℓ or ℓ+1."""
    stepped = {describe(item) for item in definition.items if isinstance(item, s.Add)}
    found = {(definition.key, n) for n, i in enumerate(definition.items) if isinstance(i, s.Add)}
    for use in uses(outline, definition.body) if stepped else ():
        for position, item in enumerate(use.reference.items if use.kind == "tensor" else ()):
            name = index_name(item)
            if describe(item) in stepped and not (name is not None and is_capital(name.base)):
                found.add((use.reference.key, position))
    return found


def recurrences(outline: Outline) -> set[str]:
    """The families that a recurrence runs over: defined at t, read at t-1."""
    plain: dict[tuple[str, int], set[str]] = defaultdict(set)
    for definition in outline.definitions:
        for position, item in enumerate(definition.items):
            name = index_name(item)
            if name is not None:
                plain[definition.key, position].add(family(name))
    found: set[str] = set()
    for use in computed_uses(outline):
        for position, item in enumerate(use.reference.items if use.kind == "tensor" else ()):
            if isinstance(item, s.Add) and describe(item) in plain[use.reference.key, position]:
                found.add(describe(item))
    return found
