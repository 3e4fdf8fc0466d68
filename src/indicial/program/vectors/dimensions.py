"""The indices that vector style leaves out: which of them have one size, and how they are called.

    y = V x      y[d] = V[d,E] x[E]        three places that have two sizes
    x = y        then D and E are one size, and it is y[d] = V[d,D] x[D]

A size has the letter that was declared (`vector k[i,D]`, `x ∈ ℝ^d`), or one that the program has no use
for. An index that stays open is small, one that is summed a capital.
Inside one equation, indices of one size are told apart by primes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program.messages import Messages
from indicial.program.names.letters import family

POOL = "DEFGHJKMNOPQRSUVWXYZ"


class Dimensions:
    """Indices by number. A program is walked through twice: to join sizes, then to name them."""

    def __init__(self, statements: Sequence[s.Statement]) -> None:
        self._parent: list[int] = []
        self._places: dict[tuple[str, int], int] = {}
        self._declared: dict[str, tuple[int, s.Name]] = {}
        self._clashes: list[tuple[s.Name, s.Name, Span]] = []
        self._called: dict[int, s.Name] = {}
        self._letters: dict[int, s.Name] = {}
        self._issued: list[int] = []
        self._next = 0
        self._active: list[int] = []
        self.summed: set[int] = set()
        self._pinned: dict[int, s.Expression] = {}
        self.sizes: dict[str, int] = {}
        """Names that are the size of an index: the `d_k` of `√d_k`."""
        self._settled = False
        every = list(s.every(statements, s.Name))
        names = [n.base for n in every]
        self._taken = {n.base for n in every if not n.bare or n.font or n.base.islower()}
        used = {*names, *(base[-1] for base in names if "_" in base)}
        self._names = used
        self._free = iter([c for c in POOL if c not in used and c.lower() not in used])

    # ------------------------------------------------------------------ sizes

    def _fresh(self) -> int:
        self._parent.append(len(self._parent))
        return len(self._parent) - 1

    def root(self, number: int) -> int:
        while self._parent[number] != number:
            number = self._parent[number]
        return number

    def declare(self, key: str, position: int, letter: s.Name) -> None:
        """`vector k[i,D]`: the last place of k has the size of D."""
        of = family(letter)
        if of not in self._declared:
            self._declared[of] = (self._fresh(), replace(letter, primes=0))
        self._places[key, position] = self._declared[of][0]

    def declare_size(self, key: str, position: int, size: s.Expression) -> None:
        """`x ∈ ℝ^d`: the place has the size d, which may be read elsewhere."""
        number = self.size(size)
        place = self._places.setdefault((key, position), number)
        self._unite(place, number, size.span)

    def size(self, size: s.Expression) -> int:
        """The size of that name; what is no name has a size of its own."""
        if not isinstance(size, s.Name):
            return self._fresh()
        name = name_key(size)
        if name not in self.sizes:
            self.call(size, number := self._fresh())
            if number in self._called and size.base.islower():
                self._declared[f"size {name}"] = number, self._called[number]
        return self.sizes[name]

    def call(self, size: s.Name, number: int) -> None:
        """`√d`: a size has the letter that the text has for it."""
        self.sizes[name_key(size)] = number
        base = size.base.upper()
        own = base == size.base and not {base, base.lower()} & self._taken
        if size.bare and len(base) == 1 and base.isascii() and (own or base not in self._names):
            self._called[number] = s.Name(base, span=size.span)
            self._names.discard(size.base)

    def place(self, key: str, position: int) -> int | None:
        return self._places.get((key, position))

    def meet(self, key: str, position: int, index: int, span: Span) -> None:
        """An index stands at a place of a tensor: their sizes are the same."""
        place = self._places.setdefault((key, position), -1)
        if place < 0:
            place = self._places[key, position] = self._fresh()
        self._unite(place, index, span)

    def join(self, one: int, *others: int) -> int:
        for other in others:
            self._unite(one, other, None)
        return one

    def _unite(self, one: int, other: int, span: Span | None) -> None:
        a, b = self.root(one), self.root(other)
        if a == b:
            return
        if span is not None:
            declared = {self.root(n): letter for n, letter in self._declared.values()}
            if a in declared and b in declared:
                self._clashes.append((declared[a], declared[b], span))
        # The declared one stays the root's first letter.
        self._parent[b] = a

    def is_read(self, size: int, keys: set[str]) -> bool:
        """Whether an index of this size stands anywhere, or one of these names has it."""
        root = self.root(size)
        held = [n for (key, _), n in self._places.items() if key in keys]
        return root in map(self.root, (*self._issued, *held))

    # ------------------------------------------------------------------ indices

    def new(self, summed: bool = True, pinned: s.Expression | None = None) -> int:
        """An index that stands nowhere else; the second walk gets those of the first.

        One that is not summed is open; `pinned` is the index that the text itself writes there.
        """
        if self._settled:
            number = self._issued[self._next]
            self._next += 1
        else:
            number = self._fresh()
            self._issued.append(number)
        self._active.append(number)
        if summed:
            self.summed.add(number)
        if pinned is not None:
            self._pinned[number] = pinned
        return number

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Indices made inside are forgotten at the end: a neighbour may have their letters."""
        before = len(self._active)
        yield
        del self._active[before:]

    def settle(self, messages: Messages) -> None:
        """Ends the first walk."""
        self._settled = True
        self._active.clear()
        for one, other, span in self._clashes:
            messages.warning(
                "size-mismatch",
                f"{name_key(one)} and {name_key(other)} meet here, and are declared as two sizes",
                span,
                (one.span, f"{name_key(one)} here"), (other.span, f"{name_key(other)} here"),
                hint="is a ⊤ missing, are two factors exchanged? or declare both with one letter",
            )  # fmt: skip

    def letter(self, number: int, span: Span) -> s.Name:
        root = self.root(number)
        for declared, name in (*self._declared.values(), *self._called.items()):
            if self.root(declared) == root:
                self._letters.setdefault(root, name)
        if root not in self._letters:
            base = next(self._free, "")
            numbered = s.Name("D", sub=(s.Name(f"size{root}"),))
            self._letters[root] = s.Name(base) if base else numbered
        return replace(self._letters[root], span=span)

    def small(self, letter: s.Name) -> s.Name:
        """The index of a size: the d of D, unless the text uses d for something else."""
        small = letter.base.lower()
        return letter if small in self._names else replace(letter, base=small)

    def name(self, index: int, span: Span) -> s.Expression:
        """The name of an index: the letter of its size, with primes if another one has it."""
        if index in self._pinned:
            return self._pinned[index]
        if not self._settled:
            return s.Name("D", span=span)
        letter = self.letter(index, span)
        # A small letter that the text uses for something else cannot be an index.
        small = letter.base.lower() not in self._names

        def is_small(number: int) -> bool:
            return small and number not in self.summed

        same = [
            n
            for n in dict.fromkeys(self._active)
            if self.root(n) == self.root(index)
            and is_small(n) == is_small(index)
            and n not in self._pinned
        ]
        base = letter.base.lower() if is_small(index) else letter.base
        return replace(letter, base=base, primes=same.index(index))
