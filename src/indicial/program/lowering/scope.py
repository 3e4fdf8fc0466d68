"""What the indices at one point of an equation are bound to.

y[j] = Σ_i W[j,i] x[i]      inside the sum: j is free (from the left), i is bound by the Σ
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.context import Context, Variable
from indicial.program.names.letters import MADE_FAMILY, capital, family, index_name, is_capital

Token = tuple[str, tuple[s.Expression, ...]]
"""A token as a thing that can be bound: `w_t` is `("w", (t,))`."""


@dataclass
class Local:
    """What a function's parameter stands for: an expression, and the indices that it slices."""

    expression: ir.Expression
    slices: tuple[Variable, ...]


@dataclass
class Scope:
    """The bindings at one point. `families`, `capitals` are shared by a whole equation."""

    number: int
    variables: dict[str, Variable] = field(default_factory=dict)
    tokens: dict[Token, Variable] = field(default_factory=dict)
    families: dict[str, int] = field(default_factory=dict)
    capitals: dict[str, Variable] = field(default_factory=dict)
    left: list[Variable] = field(default_factory=list)
    subject: Variable | None = None
    """The variable of the `P` on the left."""
    locals: dict[str, Local] = field(default_factory=dict)
    suffix: str = ""
    """Makes the names of indices inside an inlined function different from those outside."""
    prefix: str = ""
    """Stands before the names of parameters of a function's own."""
    group: tuple[tuple[ir.Place, tuple[tuple[Variable, int], ...]], ...] = ()
    """The places of a parameter group: the ℓ of `CELL_{Φ[ℓ]}`, each with its indices."""
    calling: tuple[str, ...] = ()
    """The functions whose bodies this is inside of."""

    def child(self) -> Scope:
        """A scope inside this one: new bindings do not show outside."""
        return replace(
            self, variables=dict(self.variables), tokens=dict(self.tokens), locals=dict(self.locals)
        )

    def slicing(self) -> Scope:
        """The scope of a function's argument: capitals are slices even if they are on the left."""
        inner = self.child()
        inner.variables = {k: v for k, v in self.variables.items() if not is_capital(_head(k))}
        inner.capitals = {}
        inner.suffix = self.suffix + "°"
        return inner

    def family_class(self, context: Context, of_family: str, span: Span) -> int:
        """The size that a family of letters has in this equation."""
        if of_family not in self.families:
            priority = 8 if of_family == MADE_FAMILY else 5
            self.families[of_family] = context.classes.new(capital(of_family), span, priority)
        return self.families[of_family]

    def bind(self, context: Context, name: s.Name) -> Variable:
        """A new variable for an index; it hides an outer one of the same name."""
        key = name_key(name)
        of = family(name)
        size = self.family_class(context, of, name.span)
        variable = context.variable(key + self.suffix, of, size, name.span)
        self.variables[key] = variable
        return variable

    def open(self, context: Context, name: s.Name) -> Variable:
        """The variable of a capital that is bound nowhere yet; one for the whole equation."""
        key = name_key(name)
        if key not in self.capitals:
            of = family(name)
            size = self.family_class(context, of, name.span)
            self.capitals[key] = context.variable(key + self.suffix, of, size, name.span)
        return self.capitals[key]


def _head(key: str) -> str:
    head = key.partition("_")[0].rstrip("'′")
    return head


@dataclass(frozen=True)
class Binder:
    """One thing that a reduction binds: an index, or a token as an index over its vocabulary."""

    name: s.Expression
    lower: s.Expression | None = None
    upper: s.Expression | None = None
    strict_lower: bool = False
    strict_upper: bool = False


def binders(node: s.Reduction, bound: set[str]) -> tuple[list[Binder], list[s.Expression]]:
    """What a reduction binds, and the conditions below it.

    `Σ_{t=1}^T` binds t from 1 to T; `Σ_{0≤ℓ≤L-2}` binds ℓ; `softmax_{t_2 ≤ t_1}` binds t_2 (the
    letter not yet bound), and the comparison is its condition.
    """
    found: list[Binder] = []
    conditions: list[s.Expression] = []
    bound = set(bound)

    def bind(binder: Binder) -> None:
        found.append(binder)
        if isinstance(binder.name, s.Name):
            bound.add(name_key(binder.name))

    items = list(_flatten(node.under))
    last = items[-1] if items else None
    shared = (
        isinstance(last, s.Comparison)
        and last.operators == ("=",)
        and node.upper is not None
        and not _has_index(last.operands[1], bound)
        and not _has_index(node.upper, bound)
    )
    pending: list[s.Expression] = []
    for item in items:
        if s.is_condition(item):
            pending.append(item)
        elif shared and isinstance(last, s.Comparison) and index_name(item) is not None:
            bind(Binder(item, last.operands[1], node.upper))  # `Σ_{i,j=1}^N`: both from 1 to N
        else:
            bind(Binder(item))
    for item in pending:
        if not isinstance(item, s.Comparison):  # `Σ_{s < t or s = 0}`, `Σ_{s, not s = t}`
            new_name = _new_letter(item, bound)
            if new_name is not None:
                bind(Binder(new_name))
            conditions.append(item)
            continue
        names = [index_name(o) for o in item.operands]
        if item.operators == ("=",) and names[0] is not None and node.upper is not None:
            if _has_index(item.operands[1], bound) or _has_index(node.upper, bound):
                # `Σ_{s=1}^t`: all values of s, where 1 ≤ s ≤ t.
                bind(Binder(names[0]))
                ends = (item.operands[1], names[0], node.upper)
                conditions.append(s.Comparison(ends, ("≤", "≤"), span=item.span))
            else:
                bind(Binder(names[0], item.operands[1], node.upper))
            continue
        if item.operators == ("=",) and names[0] is not None and name_key(names[0]) not in bound:
            bind(Binder(names[0], item.operands[1], item.operands[1]))
            continue
        new = [
            (p, n) for p, n in enumerate(names)
            if n is not None and name_key(n) not in bound and not is_capital(n.base)
        ]  # fmt: skip
        if len(item.operands) > 3 and len(new) >= len(item.operands) - 2:  # `Σ_{1 ≤ i < j ≤ n}`
            first, *between, last = item.operands
            for name in between:
                bind(Binder(name, first, last))
            conditions.append(
                replace(item, operands=tuple(between), operators=item.operators[1:-1])
            )
            continue
        middle = len(item.operands) == 3 and new and new[0][0] == 1
        ordered = set(item.operators) <= {"<", "≤"}
        ends_fixed = not any(_has_index(o, bound) for o in item.operands)
        if middle and ordered and ends_fixed:
            bind(
                Binder(
                    new[0][1], item.operands[0], item.operands[2],
                    item.operators[0] == "<", item.operators[1] == "<",
                )
            )  # fmt: skip
            continue
        if new:
            bind(Binder(new[0][1]))
        conditions.append(item)
    return found, conditions


def _new_letter(condition: s.Expression, bound: set[str]) -> s.Name | None:
    """The first letter of a condition that is compared and not yet bound."""
    for node in condition.walk():
        for operand in node.operands if isinstance(node, s.Comparison) else ():
            name = index_name(operand)
            if name is not None and name_key(name) not in bound and not is_capital(name.base):
                return name
    return None


def _has_index(node: s.Expression, bound: set[str]) -> bool:
    """Whether an end of a range moves with an index that is bound."""
    return any(name_key(n) in bound for n in node.every(s.Name))


def _flatten(items: tuple[s.Expression, ...]) -> Iterator[s.Expression]:
    for item in items:
        if isinstance(item, s.Group):
            yield from _flatten((item.body,))
        elif isinstance(item, s.Conjunction):
            yield from _flatten(item.parts)
        elif isinstance(item, s.TupleLiteral):
            yield from _flatten(item.items)
        elif (
            isinstance(item, s.Name)
            and item.bare
            and item.base.islower()
            and 1 < len(item.base) < 4
        ):
            yield from (s.Name(letter, span=item.span) for letter in item.base)  # `Σ_{ij}`
        else:
            yield item


def token_name(node: s.Expression) -> s.Expression | None:
    """The node, if it is written like a token: `w_t`, `w[t]`."""
    if isinstance(node, s.Name) and node.sub and index_name(node) is None:
        return node
    if isinstance(node, s.Index) and isinstance(node.base, s.Name):
        return node
    return None
