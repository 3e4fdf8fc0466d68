"""Before anything is lowered: how many indices each name has, and which were left out.

α[t_{in}] = softmax_{t_{in}} h[t-1,J] …     t is on the right only, and a recurrence runs over it:
                                            α is meant per step, α[t, t_{in}]
h̃(t) = α[t,S] h(S)      beside h(s)[N]      the trailing index is left out on both sides
Σ_{t=1}^T …                                 t runs from 1 in this program
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.lowering.places import describe
from indicial.program.lowering.scope import binders
from indicial.program.names.letters import GROUPS, capital, family, index_name, is_capital
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


def counts(outline: Outline) -> dict[str, Counter[int]]:
    """How often each name is read with how many indices."""
    result: dict[str, Counter[int]] = defaultdict(Counter)
    for node in _bodies(outline):
        for use in uses(outline, node):
            count = len(use.reference.items)
            size = (
                not count
                and is_capital(use.reference.key)
                and use.reference.key in outline.bracketed
            )
            if use.kind == "tensor" and not size:
                result[use.reference.key][count] += 1
    return result


def _bodies(outline: Outline) -> Iterator[s.Expression]:
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


# ---------------------------------------------------------------------- indices that were left out


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


def recurrences(outline: Outline) -> set[str]:
    """The families that a recurrence runs over: defined at t, read at t-1."""
    plain: dict[tuple[str, int], set[str]] = defaultdict(set)
    for definition in outline.definitions:
        for position, item in enumerate(definition.items):
            name = index_name(item)
            if name is not None:
                plain[definition.key, position].add(family(name))
    found: set[str] = set()
    for node in _bodies(outline):
        for use in uses(outline, node):
            for position, item in enumerate(use.reference.items if use.kind == "tensor" else ()):
                if isinstance(item, s.Add) and describe(item) in plain[use.reference.key, position]:
                    found.add(describe(item))
    return found


def lifts(outline: Outline) -> dict[str, list[s.Name]]:
    """For each defined name the indices that it is meant to have in front, and does not show."""
    over = recurrences(outline)
    lifted: dict[str, dict[str, s.Name]] = defaultdict(dict)
    reads: dict[str, set[str]] = defaultdict(set)
    for definition in outline.definitions:
        left = left_letters(definition)
        loose = loose_letters(outline, definition.body, set(left))
        for key, name in loose.items():
            if family(name) in over:
                lifted[definition.key][key] = name
        reads[definition.key].update(
            use.reference.key for use in uses(outline, definition.body) if use.kind == "tensor"
        )
    on_left = {d.key: left_letters(d) for d in outline.definitions}
    for _ in range(len(outline.definitions)):
        changed = False
        for definition in outline.definitions:
            for read in reads[definition.key]:
                for key, name in list(lifted.get(read, {}).items()):
                    if key not in on_left[definition.key] and key not in lifted[definition.key]:
                        lifted[definition.key][key] = name
                        changed = True
        if not changed:
            break
    return {k: list(v.values()) for k, v in lifted.items() if v}


def batch_lifts(outline: Outline) -> dict[str, s.Name]:
    """Inputs that are read without the batch index b where the left side has it."""
    result: dict[str, s.Name] = {}
    with_b = {
        key for key, (r, _) in outline.inputs.items() if any(describe(i) == "b" for i in r.items)
    }
    for definition in outline.definitions:
        for use in uses(outline, definition.body):
            if use.kind == "tensor" and any(describe(i) == "b" for i in use.reference.items):
                with_b.add(use.reference.key)
    for definition in outline.definitions:
        left = left_letters(definition)
        if "b" not in left:
            continue
        for use in uses(outline, definition.body):
            key = use.reference.key
            if use.kind != "tensor" or key in outline.defined or key in with_b:
                continue
            gathered = bool(use.reference.items) and (key in outline.inputs or outline.document)
            token_like = key in outline.inputs or key in ("w", "x", "y")
            if gathered and token_like:
                result[key] = left["b"]
    return result


def trailing_slices(outline: Outline, arity: dict[str, int]) -> dict[int, s.Name]:
    """Statements that leave a trailing index out on both sides, and the slice that was meant."""
    letters: dict[str, list[str]] = {}
    for node in _bodies(outline):
        for use in uses(outline, node):
            key = use.reference.key
            if use.kind == "tensor" and len(use.reference.items) == arity.get(key, -1):
                letters.setdefault(key, [describe(i) for i in use.reference.items])
    for definition in outline.definitions:
        if len(definition.items) == arity.get(definition.key, -1):
            letters.setdefault(definition.key, [describe(i) for i in definition.items])
    result: dict[int, s.Name] = {}
    for number, definition in enumerate(outline.definitions):
        for use in uses(outline, definition.body):
            key, items = use.reference.key, use.reference.items
            known = letters.get(key)
            if use.kind != "tensor" or known is None or len(items) != len(known) - 1 or not items:
                continue
            if known[-1] in ("#", "@") or known[-1] in _families(definition):
                continue  # the index is there, so it was not left out everywhere
            if [describe(i) for i in items] == known[:-1]:
                result[number] = s.Name(
                    capital(known[-1]).partition("_")[0], span=definition.left.span
                )
    return result


def _families(definition: Definition) -> set[str]:
    """The families of all letters that stand as an index in an equation."""
    return {
        family(name)
        for node in definition.equation.walk()
        if isinstance(node, s.Name) and (name := index_name(node)) is not None
    }


# ---------------------------------------------------------------------- ranges that the text gives


def family_bounds(
    outline: Outline, statements: Iterable[s.Statement]
) -> dict[str, tuple[int, int]]:
    """Where a family's range begins and ends: (1, 0) is 1..T, (0, -1) is 0..T-1, (0, 0) is 0..T."""
    explicit: dict[str, tuple[int, int]] = {}
    listed: dict[str, tuple[int, int]] = {}
    for statement in statements:
        for node in statement.walk():
            if isinstance(node, s.Reduction) and node.upper is not None:
                last = node.under[-1] if node.under else None
                if isinstance(last, s.Comparison) and last.operators == ("=",):
                    for letter in (*node.under[:-1], last.operands[0]):
                        _explicit(letter, last.operands[1], node.upper, explicit)
            elif isinstance(node, s.Call):
                _listed(node.arguments, listed)
                _listed(node.given or (), listed)
            elif isinstance(node, s.TupleLiteral | s.SetLiteral):
                _listed(node.items, listed)
        if isinstance(statement, s.Declaration) and statement.keyword == "range":
            value = statement.value
            for item in statement.items:
                if isinstance(value, s.Interval):
                    _explicit(item, value.lower, value.upper, explicit)
    return {**_from_one(outline), **listed, **explicit}


def _from_one(outline: Outline) -> dict[str, tuple[int, int]]:
    """`α_1(j) = …` beside `α_t(j) = … α_{t-1}(i) …`, and no `α_0`: time begins at 1."""
    numbers: dict[tuple[str, int], set[str]] = defaultdict(set)
    letters: dict[tuple[str, int], str] = {}
    for definition in outline.definitions:
        for position, item in enumerate(definition.items):
            name = index_name(item)
            if isinstance(item, s.Number):
                numbers[definition.key, position].add(item.text)
            elif name is not None:
                letters.setdefault((definition.key, position), family(name))
    over = recurrences(outline) if numbers else set()
    return {
        letters[where]: (1, 0)
        for where, found in numbers.items()
        if "1" in found and "0" not in found and letters.get(where) in over
    }


def _explicit(
    letter: s.Expression, lower: s.Expression, upper: s.Expression, into: dict[str, tuple[int, int]]
) -> None:
    name = index_name(letter)
    if name is None or not isinstance(lower, s.Number) or not lower.text.isdigit():
        return
    end, offset = upper, 0
    if isinstance(upper, s.Add) and len(upper.terms) == 2:
        end, rest = upper.terms
        if (
            isinstance(rest, s.Negative)
            and isinstance(rest.body, s.Number)
            and rest.body.text == "1"
        ):
            offset = -1
        else:
            return
    if not isinstance(end, s.Name):
        return
    if len(lower.text) < 10:
        into[family(name)] = (int(lower.text), offset)


def _listed(items: tuple[s.Expression, ...], into: dict[str, tuple[int, int]]) -> None:
    """`w_1, …, w_T`: from 1 to T. `w_0, …, w_{t-1}`: from 0."""
    for first, dots, last in zip(items, items[1:], items[2:], strict=False):
        if not isinstance(dots, s.Dots):
            continue
        a, b = _place_of(first), _place_of(last)
        if not isinstance(a, s.Number) or not a.text.isdigit() or len(a.text) > 9 or b is None:
            continue
        name = index_name(b)
        if name is None and isinstance(b, s.Add):
            name = index_name(b.terms[0])
        if name is None or name.base in GROUPS:
            continue
        start = int(a.text)
        if is_capital(name.base) and isinstance(b, s.Name):
            into[family(name)] = (start, 0)
        elif start > 0:
            into.setdefault(family(name), (start, 0))


def _place_of(node: s.Expression) -> s.Expression | None:
    if isinstance(node, s.Name) and len(node.sub) == 1:
        return node.sub[0]
    if isinstance(node, s.Index) and len(node.items) == 1:
        return node.items[0]
    return node if isinstance(node, s.Number) else None


def _index_families(outline: Outline, statements: Iterable[s.Statement]) -> set[str]:
    """The families of all letters that are an index somewhere."""
    found: set[str] = set()
    for statement in statements:
        for node in statement.walk():
            items: tuple[s.Expression, ...] = ()
            if isinstance(node, s.Index):
                items = node.items
            elif isinstance(node, s.Reduction):
                items = node.under
            elif isinstance(node, s.Call):
                items = tuple(a for a in node.arguments if index_name(a) is not None)
            elif isinstance(node, s.Name):
                items = tuple(i for i in node.sub if not isinstance(i, s.Number))
            sure = isinstance(node, s.Index | s.Reduction)
            for item in items:
                for name in item.walk():
                    if isinstance(name, s.Name) and index_name(name) is not None:
                        # A capital is an index for sure only in square brackets: not in f(Q, K).
                        found.update({family(name)} if sure or not is_capital(name.base) else ())
                    elif isinstance(name, s.Name) and name.bare and len(name.base) < 4:
                        found.update(c for c in name.base if c in outline.naming.live)
    return found


def sizes_named(outline: Outline, statements: Iterable[s.Statement]) -> dict[str, s.Name]:
    """The names that are sizes outside brackets: bare capitals, and ends of ranges."""
    result: dict[str, s.Name] = {}
    taken = {d.key for d in outline.definitions if not d.items} | set(outline.constants)
    taken |= set(outline.functions) | set(outline.parameters)
    taken |= {r.key for r in outline.parameter_list}
    taken |= {key for key, (reference, _) in outline.inputs.items() if not reference.items}
    families = _index_families(outline, statements)
    for statement in statements:
        for node in statement.walk():
            if isinstance(node, s.Name) and is_capital(node.base) and index_name(node) is not None:
                key = name_key(node)
                if key not in taken and family(node) in families:
                    result.setdefault(key, node)
            if isinstance(node, s.Reduction) and isinstance(node.upper, s.Name):
                end = index_name(node.upper)
                if end is not None and name_key(end) not in taken:
                    result.setdefault(name_key(end), end)
    for key, (_, span) in outline.sizes.items():
        result.setdefault(key, s.Name(key, span=span))
    for _, domain in outline.inputs.values():
        # `input w[t] in V`, and then `ln V`.
        if isinstance(domain, s.Name) and name_key(domain) not in taken | outline.bracketed:
            result.setdefault(name_key(domain), domain)
    return result
