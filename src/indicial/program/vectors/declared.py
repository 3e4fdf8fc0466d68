"""What a text declares of its names, told to the inference before it begins.

vector u[i,D]            u is a column for each i, and D its size; u_b is a column too
W ∈ ℝ^{m×n}              a matrix, m by n
x ∈ ℝ^d, y = Σ_i x_i     a column, and x_i is an element of it
the weight matrix $W$    a matrix, if nothing speaks against it
the matrix $Q$, Q_i K_j  rows of it
e_t = E[x_t]             a table with a column for every token
ε ~ N(0, σ^2 I)          whoever writes the identity draws a vector
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from indicial.notation import syntax as s
from indicial.notation.vocabulary import SPACE, TOLD
from indicial.program.names.letters import is_lone, shifted
from indicial.program.vectors.costs import SAID
from indicial.program.vectors.dimensions import Dimensions
from indicial.program.vectors.kinds import ONE, WEIGHTS, Kinds, allowed, sizes
from indicial.program.vectors.leaves import Leaf, in_vector_places
from indicial.program.vectors.matrices import draws_with_identity
from indicial.program.vectors.shapes import COLUMN, MATRIX, NUMBER, ROW
from indicial.program.vectors.unwritten import depth

_WORDS = ("number", "vector", "matrix")
LENGTHS = frozenset("TLNnmSMKP")
"""Letters of sizes that count steps, places or examples."""
_PLACES = (s.Name("i"), s.Name("j"))
_IN_BRACKETS = re.compile(r"\^\s*\{?\s*\(")
"""How a name goes on that is numbered above."""


class Declared:
    """Tells the kinds and the dimensions of a program what its text declares."""

    def __init__(
        self,
        kinds: Kinds,
        dimensions: Dimensions,
        statements: Sequence[s.Statement],
        identity: bool,
    ) -> None:
        self.kinds, self.dimensions, self.written = kinds, dimensions, statements
        self.ranks: dict[str, int] = {}
        """How many indices of a name its declaration leaves out."""
        self.numbered: set[str] = set()
        """Names whose numbered ones are declared: beside `x_i ∈ ℝ^d` an x_i is no element of `x ∈ ℝ^d`."""
        declarations = [st for st in statements if isinstance(st, s.Declaration)]
        for statement in sorted(declarations, key=lambda st: st.keyword == TOLD):
            for item in statement.items:
                if (leaf := kinds.leaf(item)) is not None:
                    self._said(leaf, statement, item)
        for leaf in self._names:
            table = leaf.capital and (leaf.letter == "E" or leaf.base.font == "bold")
            if not table or kinds.total.get(leaf.key, 1) > 1 or not self._looked_up(leaf):
                continue
            if self._is_whole(leaf.key):  # `u = E h` beside `E[x_t]`
                kinds.total[leaf.key] = 2
            else:
                kinds.declared.setdefault(leaf.key, {COLUMN: 0.0, ROW: 0.5})
        if identity:
            kinds.declared["I"] = {MATRIX: 0.0}
            self._drawn_as_vectors()

    def _said(self, leaf: Leaf, statement: s.Declaration, item: s.Expression) -> None:
        match statement.keyword:
            case "vector":
                self._declare(leaf, 1)
            case "matrix":
                self._declare(leaf, 2)
            case "input" | "parameter" | "constant":
                count, given = len(leaf.use.reference.items), depth(statement.value)
                self.kinds.total[leaf.key] = max(count, given)
                if given > count:
                    self.ranks[leaf.key] = given - count
            case keyword if keyword == SPACE:
                self._space(leaf, sizes(statement.domain or item))
            case keyword if keyword == TOLD and isinstance(statement.domain, s.Name):
                self._told(leaf, statement.domain, elsewhere=statement.value is not None)

    def _declare(self, leaf: Leaf, rank: int) -> None:
        items = leaf.use.reference.items
        self.ranks[leaf.key] = rank
        costs = {COLUMN: 0.0, ROW: 2.0} if rank == 1 else {MATRIX: 0.0}
        for key in self._same_stem(leaf):
            self.kinds.declared[key] = costs
        if len(items) >= rank:
            self.kinds.total[leaf.key] = len(items)
            for position, letter in enumerate(items[len(items) - rank :]):
                if isinstance(letter, s.Name):
                    self.dimensions.declare(leaf.key, position, letter)

    def _space(self, leaf: Leaf, found: tuple[s.Expression, ...]) -> None:
        """`W ∈ ℝ^{m×n}`; `x ∈ ℝ^d` beside `x_i` says that these are elements."""
        costs = allowed(found)
        counts = self._counts(leaf) if costs is None and not leaf.use.reference.items else set()
        if len(counts) == 1 and 0 < (first := counts.pop()) >= len(found) - 2:
            self.kinds.declared[leaf.key] = allowed(found[first:]) or {}
            return  # `G ∈ ℝ^{L×M×N}`, and only G_l: a matrix for each l
        if costs is None and leaf.key not in self.kinds.declared:
            self.kinds.higher.add(leaf.key)
        if costs is None:
            return
        written = len(leaf.use.reference.items)
        if not found and written and self._is_whole(leaf.key):
            self.kinds.total[leaf.key] = written  # `θ_1, …, θ_n ∈ ℝ` beside `X θ`: its elements
            return
        self.kinds.declared[leaf.key] = costs
        for key in self._accented(leaf):  # `\\bar B` beside `B ∈ ℝ^{N×1}`
            doubtful = dict.fromkeys((NUMBER, COLUMN, ROW, MATRIX), 6.0)
            self.kinds.declared.setdefault(key, doubtful | costs)
        rank = sum(next(iter(costs)))
        if written and rank:
            self.numbered.add(leaf.key)
        if rank and not written and self._has_elements(leaf, rank):
            self.kinds.total[leaf.key] = rank
        elif (
            rank and written and self._most(leaf) == written + rank
        ):  # `x_t ∈ ℝ^d` beside `x_{t,i}`
            for other in self._names:
                if other.key == leaf.key or other.key in self._accented(leaf):
                    self.kinds.total[other.key] = written + rank
        open_ = [size for size in found if size != ONE]
        if self._has_rows(leaf, open_):
            self.kinds.declared[leaf.key] = {ROW: 0.0, COLUMN: 0.2}
            open_, rank = open_[1:], 1
        for position, size in enumerate(open_ if len(open_) == rank else ()):
            self.dimensions.declare_size(leaf.key, position, size)

    def _told(self, leaf: Leaf, domain: s.Name, elsewhere: bool) -> None:
        """ "The weight matrix $W$"; "the vector $x$" beside `x_i` says that these are elements."""
        if leaf.key in self.kinds.declared or leaf.key in self.kinds.total:
            return
        word = domain.base
        if word == "number" and leaf.base.font != "bold" and self._is_bold(leaf.key):
            return  # "the number of rows $N$" beside `\\mathbf N`
        if word not in SAID:  # a space, `ℝ^d` or `R^d`, that was said under another heading
            found = sizes(domain)
            steps = self._counts(leaf) if len(found) > 2 and not leaf.use.reference.items else set()
            costs = allowed(found[max(steps, default=0) :]) or {}
            word = _WORDS[sum(next(iter(costs)))] if costs else ""
        if word == "matrix" and (self._looked_up(leaf) or self._in_rows(leaf)):
            self.kinds.told.setdefault(leaf.key, "vector")
            return
        written = len(leaf.use.reference.items)
        if word == "matrix" and self._counts(leaf) == {written + 1} and leaf.base.sub:
            word = "vector"  # the matrix M_t, of which only rows M_t(i) are read
        rank = {"vector": 1, "state": 1, "matrix": 2}.get(word, 0)
        many = rank == 1 and not written and self._examples(leaf)
        if elsewhere and rank and self._most(leaf) >= written + rank and not many:
            return  # "the vector $w$" of another section, and `Σ_i w_i x_i` here: its elements, or other vectors
        if elsewhere:
            self.kinds.elsewhere.add(leaf.key)
        if rank and not (elsewhere or written or many) and self._has_elements(leaf, rank):
            self.kinds.total[leaf.key] = rank
        elif rank and not elsewhere and written and self._most(leaf) == written + rank:
            self.kinds.total[leaf.key] = written + rank  # "the vector $x_t$" beside `x_{t,i}`
        elif self.kinds.told.setdefault(leaf.key, word) != word:
            self.kinds.told[leaf.key] = ""  # said to be two things

    def _drawn_as_vectors(self) -> None:
        """`ε ~ N(0, I)`: whoever writes the identity draws a vector."""
        for statement in filter(draws_with_identity, self.written):
            leaf = self.kinds.leaf(statement.left)
            if leaf is not None and self.kinds.fixed(leaf) is None:
                costs = {COLUMN: 0.0, ROW: 1.0, MATRIX: 1.5, NUMBER: 4.0}
                self.kinds.declared.setdefault(leaf.key, costs)

    @cached_property
    def _names(self) -> list[Leaf]:
        """All that have values."""
        return [leaf for leaf, _ in self.kinds.leaves(*self.written)]

    def _accented(self, leaf: Leaf) -> set[str]:
        """The names that differ from another by an accent only."""
        own = leaf.base.accents
        others = [other for other in self._names if other.base.accents != own]
        bare = {o.key: o.base if o.use.reference.power is None else o.base.stem for o in others}
        return {key for key, base in bare.items() if replace(base, accents=own) == leaf.base}

    def _has_elements(self, leaf: Leaf, rank: int) -> bool:
        """Whether the name is also written with all its indices, and nothing says that these are vectors.

        One index of a vector counts only if it is plain and no step of time: `\\mathbf x_t` is a column.
        """
        if leaf.key in self.numbered or (rank == 1 and leaf.key in self._turned):
            return False
        uses = [(u.base, u.use.reference.items) for u in self._names if u.key == leaf.key]
        scripted = [(base, items) for base, items in uses if items]
        return bool(scripted) and all(
            len(items) == rank
            and (rank > 1 or base.font != "bold")
            and (rank > 1 or not any(n.base in self.kinds.steps for n in s.every(items, s.Name)))
            for base, items in scripted
        )

    def _examples(self, leaf: Leaf) -> bool:
        """`x^{(i)}`, wherever it has an index: one of many x, and no element of x."""
        uses = [u.base for u in self._names if u.key == leaf.key and u.use.reference.items]
        return bool(uses) and all(_IN_BRACKETS.search(base.span.text) for base in uses)

    @cached_property
    def _turned(self) -> set[str]:
        """The names with an index that stand where a vector does: the w of `w_i^⊤ v`."""
        places = (body for statement in self.written for body in in_vector_places(statement))
        leaves = (self.kinds.leaf(body) for body in places if isinstance(body, s.Name))
        return {leaf.key for leaf in leaves if leaf is not None and leaf.use.reference.items}

    def _is_bold(self, key: str) -> bool:
        """Whether a name is set in bold wherever it stands."""
        return all(u.base.font == "bold" for u in self._names if u.key == key)

    def _is_whole(self, key: str) -> bool:
        """Whether a name stands somewhere without any index."""
        return any(u.key == key and not u.use.reference.items for u in self._names)

    def _most(self, leaf: Leaf) -> int:
        """How many indices a name has where it has most."""
        return max(self._counts(leaf), default=0)

    def _counts(self, leaf: Leaf) -> set[int]:
        """How many indices a name is written with."""
        return {len(u.use.reference.items) for u in self._names if u.key == leaf.key}

    def _has_rows(self, leaf: Leaf, sizes: list[s.Expression]) -> bool:
        """`A ∈ ℝ^{L×D}` beside `A_i`: one of its L rows; but `S ∈ ℝ^{d×d}` beside `S_t` is a state."""
        if len(sizes) == 2 and self._looked_up(leaf):
            return True
        if len(sizes) != 2 or sizes[0] == sizes[1] or leaf.use.reference.items:
            return False
        many = isinstance(sizes[0], s.Name) and sizes[0].base in LENGTHS and not sizes[0].sup
        uses = [u.use.reference.items for u in self._names if u.key == leaf.key]
        return many and bool(uses) and all(len(x) == 1 and is_lone(x[0]) for x in uses)

    def _looked_up(self, leaf: Leaf) -> bool:
        """`E[x_i]`: the row of a table for the token at i."""
        uses = [u.use.reference.items for u in self._names if u.key == leaf.key]
        uses = [items for items in uses if items]
        return bool(uses) and all(
            len(x) == 1 and isinstance(x[0], s.Name) and x[0].sub and shifted(x[0].sub[0])
            for x in uses
        )

    def _in_rows(self, leaf: Leaf) -> bool:
        """Q_i and Q_j beside "the matrix $Q$": its rows, by the letters that people number rows with."""
        uses = [u for u in self._names if u.key == leaf.key]
        items = [u.use.reference.items for u in uses]
        numbered = all(len(x) == 1 and is_lone(x[0]) and x[0] in _PLACES for x in items)
        plain = all(u.base.font != "bold" for u in uses) and leaf.letter not in WEIGHTS
        return bool(uses) and numbered and plain and not leaf.use.reference.items

    def _same_stem(self, leaf: Leaf) -> set[str]:
        """`vector u[i,D]` also says what `u_b` is, where b is no index."""
        return {leaf.key, *(other.key for other in self._names if other.stem == leaf.stem)}
