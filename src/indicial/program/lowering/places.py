"""Index expressions: what stands in the brackets of a tensor becomes a place of the IR.

t-1      →  Affine(t, -1)             2t+Δt  →  Affine(2t, Δt)
K-1      →  the size K, less one      J      →  the index J: bound, or open and then summed
w[t]     →  Gather(w[t])              (k,i)  →  Flat(k, i)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.node import kept
from indicial.notation.printers import name_key, unicode
from indicial.program import ir
from indicial.program.lowering.context import Variable
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import family, index_name, is_capital, is_letter
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.program.lowering.reads import Reading


DIGITS = 9
"""How many a number in a place may have: more than that no axis has elements."""


@dataclass
class Placed:
    """A place in the making. `variables` holds each index with its factor."""

    place: ir.Place
    variables: list[tuple[Variable, int]] = field(default_factory=list)
    opened: list[Variable] = field(default_factory=list)
    """Capitals that are bound nowhere yet."""

    @property
    def affine(self) -> ir.Affine:
        """The place, if it is a sum of indices and a number; else the first."""
        return self.place if isinstance(self.place, ir.Affine) else ir.Affine()


class _NotAffine(Exception):
    def __init__(self, node: s.Expression) -> None:
        self.node = node


def place(lowering: Reading, item: s.Expression, scope: Scope) -> Placed:
    """The place that an index expression means; a mistake is said and gives the place 0."""
    if isinstance(item, s.Group):
        return place(lowering, item.body, scope)
    if isinstance(item, s.TupleLiteral):
        return _flat(lowering, item, scope)
    gathered = _gather(lowering, item, scope)
    if gathered is not None:
        return gathered
    sizes = _only_sizes(item)
    total: dict[str, tuple[Variable, int]] = {}
    opened: list[Variable] = []
    try:
        offset = _affine(lowering, item, scope, 1, total, opened, sizes)
        counts = [*(f for _, f in total.values()), *(count for _, count in offset.terms)]
        if any(abs(count) >= 10**DIGITS for count in counts):
            raise _NotAffine(item)
    except _NotAffine as problem:
        lowering.messages.error(
            "index-form", f"{unicode(problem.node)} is not a valid index",
            (problem.node.span, ""),
            hint=_named(problem.node)
            or "an index is a sum of indices and whole numbers (t-1, 2t+Δt, K-1), or a token",
        )  # fmt: skip
        return Placed(ir.Affine())
    variables = [(v, f) for v, f in total.values() if f]
    terms = tuple((v.name, f) for v, f in variables)
    return Placed(ir.Affine(terms, offset), variables, opened)


def _only_sizes(item: s.Expression) -> bool:
    """A capital with numbers only (`K-1`, `2J`) is a size; alone it is an index."""
    if isinstance(item, s.Name):
        return False
    names = list(item.every(s.Name))
    inner = {id(part) for n in names for script in n.scripts for part in script.walk()}
    return all(is_capital(n.base) for n in names if id(n) not in inner)


def _affine(
    lowering: Reading,
    node: s.Expression,
    scope: Scope,
    factor: int,
    total: dict[str, tuple[Variable, int]],
    opened: list[Variable],
    sizes: bool,
) -> Size:
    """Adds `factor * node` to the total; gives what it adds to the offset."""
    if isinstance(node, s.Number):
        return Size.of(factor * _whole(node))
    if isinstance(node, s.Group):
        return _affine(lowering, node.body, scope, factor, total, opened, sizes)
    if isinstance(node, s.Negative):
        return _affine(lowering, node.body, scope, -factor, total, opened, sizes)
    if isinstance(node, s.Add):
        result = Size()
        for term in node.terms:
            result = result + _affine(lowering, term, scope, factor, total, opened, sizes)
        return result
    if isinstance(node, s.Product):
        numbers = [f for f in node.factors if isinstance(f, s.Number) and f.text.isdigit()]
        others = [f for f in node.factors if f not in numbers]
        if len(others) > 1 or not numbers:
            if sizes and others:
                product = Size.of(factor)
                for f in node.factors:
                    product = product * _affine(lowering, f, scope, 1, {}, opened, True)
                return product
            raise _NotAffine(node)
        for number in numbers:
            factor *= _whole(number)
        if not others:
            return Size.of(factor)
        return _affine(lowering, others[0], scope, factor, total, opened, sizes)
    if isinstance(node, s.Fraction | s.Power) and sizes:
        raise _NotAffine(node)
    name = index_name(node)
    if name is None:
        if isinstance(node, s.Name):
            return _label(lowering, node, scope, factor)
        raise _NotAffine(node)
    key = name_key(name)
    variable = scope.variables.get(key)
    if variable is None and sizes and is_capital(name.base):
        return lowering.size_of(name, scope) * factor
    if variable is None and is_capital(name.base):
        variable = scope.open(lowering.context, name)
        opened.append(variable)
    if variable is None:
        return _label(lowering, name, scope, factor)
    known = total.get(variable.name, (variable, 0))
    total[variable.name] = (variable, known[1] + factor)
    return Size()


def _whole(number: s.Number) -> int:
    if not number.text.isdigit() or len(number.text) > DIGITS:
        raise _NotAffine(number)
    return int(number.text)


def _label(lowering: Reading, node: s.Name, scope: Scope, factor: int) -> Size:
    """A name that is no bound index: a label, else a mistake."""
    key = name_key(node)
    outline = lowering.context.outline
    if key not in outline.labels and lowering.context.document and lowering.may_be_label(node):
        number = len(outline.labels)
        outline.labels[key] = (number, "", node.span)
        lowering.note(key, "taken as a label: the name of one element", node.span)
    if key in outline.labels:
        return Size.of(factor * outline.labels[key][0])
    if key in lowering.context.outline.constants:
        return Size.of(factor * int(lowering.constant_value(key)))
    lowering.unbound(node, scope)
    return Size()


def _gather(lowering: Reading, item: s.Expression, scope: Scope) -> Placed | None:
    """`w[t]`, `w_t`: a token that is bound as an index, or else the actual token."""
    if not isinstance(item, s.Name | s.Index | s.Call):
        return None
    if isinstance(item, s.Name) and (index_name(item) is not None or not item.sub):
        # A bare name gathers only if it is no index here and a number that something defines.
        known = lowering.context.tensors.get(name_key(item))
        element = bool(lowering.context.outline.naming.read(item).items)  # the o_1 beside o_t
        number = known is not None and not known.axes
        if not (number or element) or name_key(item) in scope.variables:
            return None
    use = lowering.context.outline.use(item)
    if use is None or use.kind != "tensor":
        return None
    token = (use.reference.key, use.reference.items)
    if token in scope.tokens:
        variable = scope.tokens[token]
        return Placed(ir.Affine.of(variable.name), [(variable, 1)])
    term = lowering.read(use.reference, scope)
    if not isinstance(term.expression, ir.Read):
        return Placed(ir.Affine())
    lowering.token_values(use.reference.key, item.span)
    return Placed(ir.Gather(term.expression), [], [o.variable for o in term.opens.values()])


def _flat(lowering: Reading, item: s.TupleLiteral, scope: Scope) -> Placed:
    variables: list[tuple[Variable, int]] = []
    opened: list[Variable] = []
    for part in item.items:
        placed = place(lowering, part, scope)
        if (
            not isinstance(placed.place, ir.Affine)
            or placed.place.shift is None
            or placed.place.shift[1]
        ):
            lowering.messages.error(
                "index-form", f"{unicode(part)} cannot be part of a joined index", part.span,
                hint="a joined index is made of plain indices: (k,i)",
            )  # fmt: skip
            return Placed(ir.Affine())
        variables.extend(placed.variables)
        opened.extend(placed.opened)
    return Placed(ir.Flat(tuple(v.index for v, _ in variables)), variables, opened)


@kept
def describe(item: s.Expression) -> str:
    """The family of an index expression, for comparing how a tensor is used: `t-1` → `t`."""
    if isinstance(item, s.Group):
        return describe(item.body)
    if isinstance(item, s.TupleLiteral):
        return "(" + ",".join(describe(i) for i in item.items) + ")"
    name = index_name(item)
    if name is not None:
        return family(name)
    if isinstance(item, s.Number):
        return "#"
    if isinstance(item, s.Add | s.Product | s.Negative):
        parts = [
            family(n) for n in item.walk()
            if isinstance(n, s.Name) and is_letter(n.base) and index_name(n) is not None
        ]  # fmt: skip
        main = [p for p in parts if not p.startswith("Δ")]
        return (main or parts or ["#"])[0]
    return "@"


def main_variable(placed: Placed) -> tuple[Variable, int] | None:
    """The index whose size the axis has: the one that is no window, if there is just one."""
    main = [(v, f) for v, f in placed.variables if not v.family.startswith("Δ")]
    if not main:
        main = placed.variables
    return main[0] if len(main) == 1 else None


def _named(node: s.Expression) -> str:
    """`v[t,floor(h/2)]`: a place that is rounded can be read once it has a name."""
    floor = isinstance(node, s.Call) and node.word == "floor"
    letters = sorted({name_key(n) for n in node.every(s.Name) if index_name(n)})
    if not floor or len(letters) != 1:
        return ""
    return f"give it a name on a line of its own, r[{letters[0]}] = {unicode(node)}, and write r[{letters[0]}] here"
