r"""An answer in vector style → the same with its indices, as the sheet writes them.

    W^{QK}[k,j_1,j_2] = ___       (W^Q)^⊤ W^K / √I       Σ_{i'} W^Q[k,i',j_1] W^K[k,i',j_2] / √I
    claim z[t_1,t_2] = ___        x_{t_1}^⊤ M x_{t_2}    Σ_{j',j''} x[t_1,j'] M[j',j''] x[t_2,j'']

The sheet tells how many indices each name has, so nothing is guessed: a name without brackets is a
number, a column or a matrix by the indices that it lacks. Subscripts are its first indices; if it lacks
more than two, the first ones are those of the left side. Two columns side by side are multiplied element
by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from indicial.notation import syntax as s
from indicial.notation.node import Expression
from indicial.notation.parse import parse_name
from indicial.notation.printers import name_key
from indicial.program.ir import Code
from indicial.program.meaning.functions import FUNCTIONS


class Unfit(Exception):
    """The shapes of an answer do not go together, or it is not in vector style."""


@dataclass(frozen=True)
class Value:
    """An expression with the indices that are open in it: none, one or two."""

    body: Expression
    axes: tuple[s.Name, ...] = ()
    row: bool = False


def indexed(answer: Expression, left: Sequence[s.Name], code: Code) -> Expression | None:
    """The answer with its indices; None if no name in it lacks any, or if it does not fit."""
    for outer in (False, True):
        writer = _Writer(code, list(left), outer)
        try:
            found = writer.value(answer)
        except Unfit:
            continue
        if not writer.used:
            return None
        if len(found.axes) <= len(left):
            break
    else:
        return None
    ends = left[len(left) - len(found.axes) :]
    body = found.body
    for axis, letter in zip(found.axes, ends, strict=True):
        body = _renamed(body, axis, letter)
    return body


@dataclass
class _Writer:
    code: Code
    left: list[s.Name]
    outer_too: bool = False
    """Indices of the left side are left out as well: `G ⊙ h_{t-1}` for `G[t,j]`."""
    used: bool = False
    taken: set[s.Name] = field(default_factory=set)

    def fresh(self, letter: str) -> s.Name:
        """A new index for an axis that the sheet calls by this letter: j, j', j'', …"""
        known = parse_name(letter)
        if known is None:
            raise Unfit
        found = s.Name(known.base)
        while found in self.taken or found in self.left:
            found = replace(found, primes=found.primes + 1)
        self.taken.add(found)
        return found

    def value(self, node: Expression) -> Value:
        match node:
            case s.Name():
                return self.name(node)
            case s.Group(body=body):
                inner = self.value(body)
                return replace(inner, body=s.Group(inner.body))
            case s.Call(function=s.Name() as matrix, arguments=(argument,), given=None) if (
                name_key(matrix) in self.code.tensors
            ):
                return self.product(self.value(matrix), self.value(argument))
            case s.Transpose(
                body=s.Call(function=s.Name() as matrix, arguments=(argument,), given=None)
            ) if name_key(matrix) in self.code.tensors:  # `A (B)^⊤`
                return self.product(self.value(matrix), self.transposed(self.value(argument)))
            case s.Transpose(body=body):
                return self.transposed(self.value(body))
            case s.Negative(body=body):
                inner = self.value(body)
                return replace(inner, body=s.Negative(inner.body))
            case s.Add(terms=terms):
                return self.alike([self.value(term) for term in terms], s.Add)
            case s.Hadamard(factors=factors):
                return self.alike([self.value(factor) for factor in factors], s.Product)
            case s.Product(factors=factors):
                found = self.value(factors[0])
                for factor in factors[1:]:
                    found = self.product(found, self.value(factor))
                return found
            case s.Fraction(above=above, below=below):
                over = self.value(above)
                return replace(over, body=s.Fraction(over.body, self.number(below)))
            case s.Power(base=base, exponent=exponent):
                return Value(s.Power(self.number(base), exponent))
            case s.Call(function=s.Name() as function, arguments=(argument,), given=None) if (
                name_key(function) in FUNCTIONS
            ):
                inner = self.value(argument)
                return replace(inner, body=s.Call(function, (inner.body,)))
            case s.Reduction(operator="softmax", under=(), body=body):
                inner = self.value(body)
                if not inner.axes:
                    raise Unfit
                return replace(
                    inner, body=s.Reduction("softmax", inner.axes[-1:], None, inner.body)
                )
            case s.Reduction(body=body):
                inner = self.value(body)
                return replace(inner, body=replace(node, body=inner.body))
        return Value(node)

    def number(self, node: Expression) -> Expression:
        found = self.value(node)
        if found.axes:
            raise Unfit
        return found.body

    def name(self, node: s.Name) -> Value:
        """A tensor of the sheet with the indices that it lacks, or a name as it is."""
        key = name_key(node)
        if key in self.code.tensors and not self.code.tensors[key].axes:
            return Value(node)
        turned = bool(node.sup) and node.sup[-1:] == (s.Name("T"),) and key not in self.code.tensors
        plain = replace(node, sup=node.sup[:-1]) if turned else node
        for count in range(len(plain.sub), -1, -1):  # `G_{2,t}` is G_2 at t
            bare = replace(plain, sub=plain.sub[:count])
            tensor = self.code.tensors.get(name_key(bare))
            if tensor is None:
                continue
            given = [self.place(item) for item in plain.sub[count:]]
            lacking = len(tensor.axes) - len(given)
            if lacking < 0:
                continue
            if lacking == 2 and self.outer_too:
                first = tensor.axes[len(given)].letter
                if any(name_key(name) == first for name in self.left[:-1]):
                    given.append(self.outer(first))
                    lacking = 1
            rest = [axis.letter for axis in tensor.axes[len(given) :]]
            outer = [self.outer(letter) for letter in rest[: max(0, lacking - 2)]]
            axes = tuple(self.fresh(letter) for letter in rest[len(outer) :])
            self.used = self.used or bool(axes or outer or given)
            found = Value(s.Index(bare, (*given, *outer, *axes)) if tensor.axes else bare, axes)
            return self.transposed(found) if turned else found
        return Value(node)

    def place(self, item: Expression) -> Expression:
        """The `w_t` of `e_{w_t}` is `w[t]`."""
        if isinstance(item, s.Name) and item.sub:
            bare = replace(item, sub=())
            tensor = self.code.tensors.get(name_key(bare))
            if tensor is not None and len(tensor.axes) == len(item.sub):
                return s.Index(bare, item.sub)
        return item

    def outer(self, letter: str) -> s.Name:
        """The index of the left side that is called so."""
        found = [name for name in self.left if name_key(name) == letter]
        if not found:
            raise Unfit
        return found[0]

    def transposed(self, value: Value) -> Value:
        if len(value.axes) == 2:
            return replace(value, axes=value.axes[::-1])
        return replace(value, row=not value.row)

    def alike(
        self, values: Sequence[Value], make: Callable[[tuple[Expression, ...]], Expression]
    ) -> Value:
        """Element by element; numbers go with anything."""
        shaped = [value for value in values if value.axes]
        if not shaped:
            return Value(make(tuple(v.body for v in values)))
        axes = shaped[0].axes
        if any(len(value.axes) != len(axes) for value in shaped):
            raise Unfit
        bodies = []
        for value in values:
            body = value.body
            for mine, theirs in zip(value.axes, axes, strict=False):
                body = _renamed(body, mine, theirs)
            bodies.append(body)
        return Value(make(tuple(bodies)), axes, shaped[0].row)

    def product(self, a: Value, b: Value) -> Value:
        """A product of matrices, columns and rows."""
        if not a.axes or not b.axes:
            shaped = a if a.axes else b
            return replace(shaped, body=_times(a.body, b.body))
        columns = len(a.axes) == len(b.axes) == 1
        if columns and a.row == b.row:
            return self.alike([a, b], s.Product)
        if columns and not a.row:  # a column times a row
            return Value(_times(a.body, b.body), (*a.axes, *b.axes))
        if (len(a.axes) == 1 and not a.row) or (len(b.axes) == 1 and b.row):
            raise Unfit
        summed = a.axes[-1]
        body = s.Reduction(
            "sum", (summed,), None, _times(a.body, _renamed(b.body, b.axes[0], summed))
        )
        axes = (*a.axes[:-1], *b.axes[1:])
        return Value(s.Group(body), axes, row=len(axes) == 1 and len(a.axes) == 1)


def _times(a: Expression, b: Expression) -> Expression:
    parts = [s.Group(x) if isinstance(x, s.Add | s.Negative) else x for x in (a, b)]
    return s.Product(tuple(parts))


def _renamed(node: Expression, old: s.Name, new: Expression) -> Expression:
    """The expression with one index in the place of another."""
    if node == old:
        return new
    return node.rebuild(lambda child: _renamed(child, old, new))


def free_letters(node: Expression, code: Code) -> list[s.Name]:
    """The indices that stand in brackets, in their order, without those that are summed."""
    found: dict[s.Name, None] = {}
    for part in node.every(s.Index):
        for item in part.items:
            if (
                isinstance(item, s.Name)
                and item.base[:1].islower()
                and name_key(item) not in code.tensors
            ):
                found.setdefault(item)
    return list(found)
