"""Which sizes are the same: letters that meet at the same place of a tensor.

>>> classes = Classes()
>>> j, i = classes.new("J", NOWHERE), classes.new("I", NOWHERE)
>>> classes.union(j, i, NOWHERE)
>>> classes.find(j) == classes.find(i)
True

Each letter of each equation and each axis of each tensor has a class; a place where a letter
indexes an axis joins their classes. A class may be bound to a number (a literal's length) or to a
formula of other classes (a join: `I + J`). One that counts pairs, `(k,i)`, knows of which: where two
such meet, first meets first and second meets second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from indicial.notation.source import NOWHERE, Span
from indicial.program.sizes import Size


@dataclass
class _Class:
    site: Span
    """Where the first of it stands."""
    names: dict[tuple[int, str], None] = field(default_factory=dict)
    """Names that were proposed, with their priority: the lowest wins, then the first."""
    called: frozenset[str] = frozenset()
    """The same without priorities, and without those that are none."""
    size: Size | None = None
    size_span: Span = NOWHERE
    digits: tuple[int, ...] = ()
    """The classes whose pairs it counts: those of k and i for `(k,i)`."""


@dataclass(frozen=True)
class Conflict:
    """Two sizes that should be one: what each was, where it came from, and where they met."""

    first: Size
    first_span: Span
    second: Size
    second_span: Span
    met: Span


class Classes:
    """A union-find structure over sizes."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.data: list[_Class] = []
        self.conflicts: list[Conflict] = []
        self.meetings: list[tuple[frozenset[str], frozenset[str], Span]] = []
        """Two sizes that became one: what each was called until then, and where they meet."""

    def new(self, name: str, span: Span, priority: int = 5) -> int:
        self.parent.append(len(self.parent))
        self.data.append(_Class(span))
        self.prefer(len(self.parent) - 1, name, priority)
        return len(self.parent) - 1

    def find(self, a: int) -> int:
        while self.parent[a] != a:
            self.parent[a] = self.parent[self.parent[a]]
            a = self.parent[a]
        return a

    def prefer(self, a: int, name: str, priority: int) -> None:
        """Proposes a name for the class."""
        one = self.data[self.find(a)]
        one.names[priority, name] = None
        if name and name not in one.called:
            one.called |= {name}

    def size(self, a: int) -> Size | None:
        """The formula that the class is bound to, with bound classes replaced."""
        bound = self.data[self.find(a)].size
        return None if bound is None else self.resolve(bound)

    def resolve(self, size: Size) -> Size:
        """The formula in terms of free classes."""
        for _ in range(50):
            values: dict[str, Size] = {}
            for atom in size.atoms:
                if isinstance(atom, str) and atom.startswith("#"):
                    root = self.find(int(atom[1:]))
                    bound = self.data[root].size
                    if bound is not None:
                        values[atom] = bound
                    elif atom != f"#{root}":
                        values[atom] = Size.of(f"#{root}")
            if not values:
                return size
            size = size.substitute(values)
        return size

    def atom(self, a: int) -> Size:
        """The class as a size, resolved at the end."""
        return Size.of(f"#{a}")

    def union(self, a: int, b: int, span: Span) -> None:
        """The two are the same size, because of what stands at `span`."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return
        first, second = self.data[a], self.data[b]
        if first.digits and len(first.digits) == len(second.digits):
            self._pair(first.digits, second.digits, span)
        if first.size is not None and second.size is not None:
            self._equate(first.size, first.size_span, second.size, second.size_span, span)
        if self._mentions(first.size, b) or self._mentions(second.size, a):
            own = first.size or second.size or Size()
            self.conflicts.append(Conflict(self.resolve(own), span, self.atom(a), span, span))
            return
        self.parent[b] = a
        if first.called and second.called and first.called != second.called:
            self.meetings.append((first.called, second.called, span))
        first.names |= second.names
        if first.called != second.called:
            first.called |= second.called
        if first.size is None:
            first.size, first.size_span = second.size, second.size_span
        first.digits = first.digits or second.digits

    def count_pairs(self, a: int, digits: Sequence[int], span: Span) -> None:
        """The class counts the pairs (triples, …) of these: `(k,i)`."""
        known = self.data[self.find(a)].digits
        if len(known) == len(digits):
            self._pair(known, digits, span)
            return
        product = Size.of(1)
        for digit in digits:
            product = product * self.atom(digit)
        self.bind(a, product, span)
        self.data[self.find(a)].digits = known or tuple(digits)

    def _pair(self, first: Sequence[int], second: Sequence[int], span: Span) -> None:
        for one, other in zip(first, second, strict=True):
            self.union(one, other, span)

    def bind(self, a: int, size: Size, span: Span) -> None:
        """The class has this size."""
        root = self.find(a)
        size = self.resolve(size)
        if size.name == f"#{root}":
            return
        if size.name is not None and size.name.startswith("#"):
            self.union(root, int(size.name[1:]), span)
            return
        known = self.data[root]
        if known.size is not None:
            self._equate(known.size, known.size_span, size, span, span)
        elif self._mentions(size, root):
            self.conflicts.append(Conflict(size, span, self.atom(root), span, span))
        else:
            known.size, known.size_span = size, span

    def _mentions(self, size: Size | None, root: int) -> bool:
        if size is None:
            return False
        return any(
            isinstance(atom, str) and atom.startswith("#") and self.find(int(atom[1:])) == root
            for atom in self.resolve(size).atoms
        )

    def _equate(self, a: Size, at: Span, b: Size, bt: Span, met: Span) -> None:
        """Two formulas are the same: solve for a free class if one is alone, else a conflict."""
        a, b = self.resolve(a), self.resolve(b)
        difference = a - b
        if not difference.terms:
            return
        if difference.number is None:
            for monomial, coefficient in difference.terms:
                alone = len(monomial) == 1 and monomial[0][1] == 1 and abs(coefficient) == 1
                atom = monomial[0][0] if alone else None
                if not isinstance(atom, str) or not atom.startswith("#"):
                    continue
                rest = (difference - Size.of(atom) * coefficient) * (-1 * coefficient)
                if atom not in rest.atoms and rest.number is None:
                    self.bind(int(atom[1:]), rest, met)
                    return
        self.conflicts.append(Conflict(a, at, b, bt, met))
