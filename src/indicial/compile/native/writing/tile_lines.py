"""What the text of a tile knows while it is written: names, memory, loops over steps.

    for (long s = 0; s < span; s++) {      the steps of a panel: all of them, or those of a block
      const long v = from + s;

Panels are copies of what some columns read, [steps][P V], and where sums over the rows are gathered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from indicial.compile.native.tile import TIME, Fading, Item, Tile
from indicial.compile.native.writing.c import CSizes, Lines
from indicial.compile.passes.scan import Unsupported
from indicial.program import ir
from indicial.program.sizes import Size

ROW, VEC = 1, 2
TILE = 24
"""How many vectors of one state a tile has."""
SPAN_ROW = "(v - from) * P * V"
"""Where a step is in a panel: of all steps, or of those of a block (`TileLines.blocks`)."""
NOTHING = "nothing"
"""The memory of zeros that is read beyond the steps."""
BYTES = {"float": 4, "double": 8}


class TileLines(Lines):
    """The lines so far, and what they have in common."""

    def __init__(
        self, code: ir.Code, tile: Tile, same: frozenset[str], sizes: CSizes, real: str
    ) -> None:
        super().__init__()
        self.code, self.tile, self.same, self.sizes, self.real = code, tile, same, sizes, real
        self.arguments: list[str] = []
        self.panels: dict[object, str] = {}
        self.packing: dict[bool, list[str]] = {False: [], True: []}
        self.before: list[str] = []
        """What is found once for a member, before its columns."""
        self.folded: dict[object, str] = {}
        self.folds = True
        self.scratch: list[tuple[str, str]] = []
        lanes = 64 // BYTES[real]
        columns = tile.ranges[tile.vec][1].substitute(dict(sizes.fixed)).number
        fits = columns is not None and tile.vec not in sizes.ragged
        vectors = -(-int(columns or 0) // lanes) if fits else 4
        self.vectors = max(1, min(2 if tile.coupled else 4, vectors))
        self.even = fits and int(columns or 0) % (lanes * self.vectors) == 0
        self.rows = ""
        self.memo: dict[ir.Expression, str] = {}
        self.ready: dict[str, str] = {}
        self.current = tile.sweeps[0]
        self.names = {item.target: f"s{n}" for n, item in enumerate(tile.items)}
        self.blocks = False
        """Whether panels have the steps of one block; else they have all of them."""
        self.divided = False
        """Whether steps can be divided into blocks."""
        self.fadings = {name: f for f in tile.fadings for name in (f.scale, f.inverse)}

    def c(self, size: Size, member: bool = True) -> str:
        return self.sizes.c(size, member)

    def extent(self, role: str) -> str:
        return self.c(self.tile.ranges[role][1])

    def rows_all(self) -> str:
        return self.c(self.tile.ranges[self.tile.row][1], False)

    def want(self, name: str, length: str) -> str:
        if all(known != name for known, _ in self.scratch):
            self.scratch.append((name, length))
        return name

    def offset(self, read: ir.Read, item: Item) -> int:
        """How many steps away, in the order of time, a tensor of the tile is read."""
        place = read.places[item.left.index(TIME)]
        if not isinstance(place, ir.Affine) or place.shift is None:
            raise Unsupported(f"{read.tensor} is read at a step of its own")
        return place.shift[1]

    def arguments_known(self) -> list[str]:
        """All arguments, in an order that is known before the text is: that of their names."""
        if not self.arguments:
            own = {item.target for item in self.tile.items}
            found = self.tile.reads - own - self.code.constants.keys()
            self.arguments = [n for n in self.code.tensors if n in found]
        return self.arguments

    # ---- steps ----

    def span(self) -> str:
        """How many steps a panel has memory for."""
        return "BLOCK" if self.blocks else self.c(self.tile.ranges[TIME][1], False)

    @contextmanager
    def span_steps(self, direction: int = 1) -> Iterator[None]:
        """A loop over the steps of a panel."""
        with self.block("for (long s = 0; s < span; s++)"):
            self.line(f"const long v = from + {'s' if direction > 0 else 'span - 1 - s'};")
            with self.heads_first():
                yield

    def moment_number(self, shift: int = 0) -> str:
        return f"(v + {shift} - {self.c(self.tile.ranges[TIME][0])})"

    @contextmanager
    def elsewhere(self, lines: list[str]) -> Iterator[None]:
        """Lines that are written to stand before all tiles."""
        known = self.memo, self.ready, self.folds
        self.memo, self.ready, self.folds = {}, {}, False
        with self.aside(0) as own:
            yield
        lines += own
        self.memo, self.ready, self.folds = known

    @contextmanager
    def steps(self, direction: int = 1) -> Iterator[None]:
        """A loop over all steps."""
        lower, extent = self.tile.ranges[TIME]
        first, last = self.c(lower), self.c(lower + extent - 1)
        with self.block(f"for (long s = 0; s < {self.extent(TIME)}; s++)"):
            self.line(f"const long v = {f'{first} + s' if direction > 0 else f'{last} - s'};")
            with self.heads_first():
                yield

    # ---- what states are multiples of ----

    def fading_kind(self, fading: Fading) -> int:
        return {self.tile.row: ROW, self.tile.vec: VEC}.get(fading.role or "", 0)

    def fading_width(self, kind: int) -> str:
        return {0: "1", ROW: self.rows_all(), VEC: "P * V"}[kind]

    def fading_name(self, fading: Fading, letter: str) -> str:
        return f"{letter}_{self.names[fading.state]}"

    def pointer(self, kind: str, value: str) -> str:
        """A value that is found once in a step."""
        return self.once(kind, "g", value)
