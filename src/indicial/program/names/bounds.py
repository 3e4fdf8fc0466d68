"""What a text says of ranges and sizes.

Σ_{t=1}^T …, w_1, …, w_T        t runs from 1 to T in this program
2 J + 1                         J is a size
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from math import prod

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.names.letters import GROUPS, family, index_name, is_capital, is_letter
from indicial.program.names.occurrences import computed_uses, recurrences
from indicial.program.names.outline import Outline

Bounds = dict[str, tuple[int, int]]
"""For each family where its range begins, and how far from its size it ends."""


def family_bounds(outline: Outline, statements: Iterable[s.Statement]) -> Bounds:
    """Where a family's range begins and ends: (1, 0) is 1..T, (0, -1) is 0..T-1, (0, 0) is 0..T."""
    explicit: Bounds = {}
    listed: Bounds = {}
    statements = list(statements)
    for statement in statements:
        for node in statement.every(s.Reduction, s.Fraction, s.Call, s.TupleLiteral, s.SetLiteral):
            if isinstance(node, s.Reduction) and node.upper is not None:
                last = node.under[-1] if node.under else None
                if isinstance(last, s.Comparison) and last.operators == ("=",):
                    steps = _on_left(outline, statement)
                    for letter in (*node.under[:-1], last.operands[0]):
                        _explicit(letter, last.operands[1], node.upper, explicit, steps)
                    if outline.document and isinstance(statement, s.Equation):
                        _followed(outline, statement, last.operands[1], node.upper, listed)
            elif isinstance(node, s.Fraction) and outline.document:
                for letter in _poles(node.below) & _on_left(outline, statement):
                    listed.setdefault(family(letter), (1, 0))
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
    known = {**_from_one(outline), **listed, **explicit}
    for node in s.every(statements, s.Comparison):  # `Σ_{o=1}^W δ_{ow} v_o`: w is one of 1, …, W
        ends = [index_name(operand) for operand in node.operands]
        if node.operators == ("=",) and None not in ends:
            one, other = (family(name) for name in ends if name is not None)
            for new, old in ((one, other), (other, one)):
                if old in known:
                    known.setdefault(new, known[old])
    return known


def _from_one(outline: Outline) -> Bounds:
    """`α_1(j) = …` beside `α_t(j) = … α_{t-1}(i) …`, and no `α_0`: time begins at 1. So it does
    beside `α_0` where `α_T` is read: then there are T steps after the start, 1 to T."""
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
        if letters.get(where) in over
        and ("1" in found if "0" not in found else _reads_last(outline, *where))
    }


def _reads_last(outline: Outline, key: str, position: int) -> bool:
    """Whether `h_L[t,j]` is read: the capital below the name, or an L in its brackets."""
    for use in computed_uses(outline):
        items = use.reference.items if use.kind == "tensor" else ()
        name = index_name(items[position]) if position < len(items) else None
        last = name is not None and is_capital(name.base)
        layer = name is not None and (position < use.reference.scripts or name.base == "L")
        if use.reference.key == key and last and layer:
            return True
    return False


def _explicit(
    letter: s.Expression,
    lower: s.Expression,
    upper: s.Expression,
    into: Bounds,
    steps: Collection[s.Name] = (),
) -> None:
    """`Σ_{t=1}^T`: from 1 to T. What goes as far as an index, `Σ_{s=0}^t`, begins where the text says."""
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
        first = int(lower.text)
        into[family(name)] = (first, first - 1 if end in steps else offset)


def _on_left(outline: Outline, statement: s.Statement) -> set[s.Name]:
    """The indices of an equation's left side, as they are written: small letters alone."""
    use = outline.use(statement.sides[0]) if isinstance(statement, s.Equation) else None
    names = map(index_name, use.reference.items) if use is not None else ()
    return {name for name in names if name is not None and not is_capital(name.base)}


def _poles(below: s.Expression) -> set[s.Name]:
    """The letters at whose 0 a denominator is 0: the t of `1 - β^t`, of `2 t`."""
    letters = {n for n in below.every(s.Name) if index_name(n) is not None}
    return {letter for letter in letters if _at_zero(below, letter) == 0}


def _at_zero(node: s.Expression, letter: s.Name) -> float | None:
    """What an expression is where a letter is 0, if that does not depend on anything else."""
    if isinstance(node, s.Group):
        return _at_zero(node.body, letter)
    if isinstance(node, s.Number):
        return float(node.text) if node.text.isdigit() else None
    if isinstance(node, s.Name):
        exponent = node.sup[0] if len(node.sup) == 1 else None
        return 0.0 if node == letter else 1.0 if exponent == letter else None
    if isinstance(node, s.Power):
        return 1.0 if _at_zero(node.exponent, letter) == 0 else None
    if isinstance(node, s.Negative):
        value = _at_zero(node.body, letter)
        return None if value is None else -value
    if isinstance(node, s.Add | s.Product):
        parts = node.terms if isinstance(node, s.Add) else node.factors
        values = [_at_zero(part, letter) for part in parts]
        if isinstance(node, s.Product) and 0 in values:
            return 0.0
        known = [v for v in values if v is not None]
        if len(known) < len(values):
            return None
        return sum(known) if isinstance(node, s.Add) else prod(known)
    return None


def _followed(
    outline: Outline, equation: s.Equation, lower: s.Expression, upper: s.Expression, into: Bounds
) -> None:
    """`y_i = Σ_{j=1}^{i} x_j`, `Σ_{j=1}^{i-1}`: i begins where j does."""
    name = index_name(s.terms(upper)[0])
    if name is None or name not in _on_left(outline, equation):
        return
    if isinstance(lower, s.Number) and lower.text.isdigit() and len(lower.text) < 10:
        first = int(lower.text)
        into.setdefault(family(name), (first, first - 1))


def _listed(items: tuple[s.Expression, ...], into: Bounds) -> None:
    """`w_1, …, w_T`: from 1 to T. `w_0, …, w_{t-1}`: from 0."""
    for first, dots, last in zip(items, items[1:], items[2:], strict=False):
        if not isinstance(dots, s.Dots):
            continue
        a, b = _place_of(first), _place_of(last)
        if not isinstance(a, s.Number) or not a.text.isdigit() or len(a.text) > 9 or b is None:
            continue
        name = index_name(s.terms(b)[0])
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


# ---------------------------------------------------------------------- sizes


def sizes_named(outline: Outline, statements: Iterable[s.Statement]) -> dict[str, s.Name]:
    """The names that are sizes outside brackets: bare capitals, and ends of ranges."""
    result: dict[str, s.Name] = {}
    taken = {d.key for d in outline.definitions if not d.items} | set(outline.constants)
    taken |= set(outline.functions) | set(outline.parameters)
    taken |= {r.key for r in outline.parameter_list}
    taken |= {key for key, (reference, _) in outline.inputs.items() if not reference.items}
    families = _index_families(outline, statements)
    for statement in statements:
        for node in statement.every(s.Name, s.Reduction):
            if isinstance(node, s.Name) and is_capital(node.base):
                name = _unraised(outline, node)
                key = name_key(name)
                if index_name(name) is None or key in taken or family(name) not in families:
                    continue
                if name is node or key not in outline.bracketed:
                    result.setdefault(key, name)
            if isinstance(node, s.Reduction):
                ends = [] if node.upper is None else _ends(outline, node.upper)
                for end in (*ends, *_around(node, statement)):
                    if name_key(end) not in taken:
                        result.setdefault(name_key(end), end)
    for key, (_, span) in outline.sizes.items():
        result.setdefault(key, s.Name(key, span=span))
    for _, domain in outline.inputs.values():
        # `input w[t] in V`, and then `ln V`.
        if isinstance(domain, s.Name) and name_key(domain) not in taken | outline.bracketed:
            result.setdefault(name_key(domain), domain)
    return result


def _ends(outline: Outline, upper: s.Expression) -> list[s.Name]:
    """The sizes that a range ends at: the n of `Σ^n`, the k of `Σ^{k-1}`, the d_k of `Σ^{d_k}`."""
    if isinstance(upper, s.Add | s.Product | s.Negative):
        inside = [
            n
            for part in upper.children()
            if isinstance(part, s.Expression)
            for n in _ends(outline, part)
        ]
        return [n for n in inside if n.base not in outline.naming.live]
    if not isinstance(upper, s.Name):
        return []
    named = len(upper.sub) == 1 and not upper.sup and not outline.naming.read(upper).items
    return [upper] if index_name(upper) is not None or (named and is_letter(upper.base)) else []


def _around(node: s.Reduction, statement: s.Statement) -> list[s.Name]:
    """The c of `Σ_{-c ≤ j ≤ c}`, the n of `Σ_{1 ≤ i < j ≤ n}`."""
    chains = [u.operands for u in node.under if isinstance(u, s.Comparison) and len(u.operands) > 2]
    ends = [s.unsigned(s.inner(side)) for first, *_, last in chains for side in (first, last)]
    indices = {i for name in statement.every(s.Name) for i in name.sub}
    return [e for e in ends if isinstance(e, s.Name) and index_name(e) and e not in indices]


def _unraised(outline: Outline, name: s.Name) -> s.Name:
    """The T of `T^2`."""
    use = outline.use(name) if name.sup else None
    raised = use is not None and use.reference.power is not None
    return replace(name, sup=()) if raised else name


def _index_families(outline: Outline, statements: Iterable[s.Statement]) -> set[str]:
    """The families of all letters that are an index somewhere."""
    found: set[str] = set()
    for statement in statements:
        held = [(item, True) for node in statement.every(s.Index) for item in node.items]
        held += [(item, True) for node in statement.every(s.Reduction) for item in node.under]
        held += [(a, False) for node in statement.every(s.Call) for a in node.arguments
                 if index_name(a) is not None]  # fmt: skip
        held += [(i, False) for node in statement.every(s.Name) for i in node.sub
                 if not isinstance(i, s.Number)]  # fmt: skip
        for item, sure in held:
            for name in item.walk():
                if isinstance(name, s.Name) and index_name(name) is not None:
                    # A capital is an index for sure only in square brackets: not in f(Q, K).
                    found.update({family(name)} if sure or not is_capital(name.base) else ())
                elif isinstance(name, s.Name) and name.bare and len(name.base) < 4:
                    found.update(c for c in name.base if c in outline.naming.live)
    return found
