"""A tile of a matrix state, taken through time, as the text of a C kernel.

    for (long j0 = …)                            columns: P vectors at a time
      for (long i0 = …)                          rows: so many that the state stays in registers
        for (long v = 0; v < T; v++)             what `tile_steps.py` writes

What the columns read is copied into panels first, [T][P V], whatever its layout is; sums over the
rows are gathered in such panels too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from indicial.compile.native.reading.tile import PARTS, TIME, Sweep, Tile
from indicial.compile.native.writing.c import CSizes, declarations
from indicial.compile.native.writing.tile_steps import TileSteps
from indicial.compile.native.writing.tile_values import TILE
from indicial.program.ir import Code


def write_tile(
    code: Code, tile: Tile, same: frozenset[str], sizes: CSizes, real: str
) -> tuple[str, list[str]]:
    """The text, and the names of its arguments in the order in which they are passed."""
    text = _Text(code, tile, same, sizes, real)
    return text.whole(), text.arguments


class _Text(TileSteps):
    # ---- the whole ----

    def whole(self) -> str:
        tile = self.tile
        self.write_fadings()
        with self.aside() as body:
            self.depth = 3 + len(tile.outer)
            if self.saved and tile.meetings:
                with self.block(f"if ({self.near()})"):
                    self.one_by_one()
                with self.block("else"):
                    self.both_at_once()
            elif self.saved:
                self.both_at_once()
            else:
                self.one_by_one()
        text = [f"typedef {self.real} real;", '#include "tiles.h"', ""]
        text += [f"enum {{ P = {self.vectors} }};", ""]
        self.depth = 1
        with self.aside() as part:
            self.part(body)
        none = "static long weights(const struct call *call) { (void)call; return 0; }"
        given = "const struct call *call, real *packed, int number, int parts"
        unused = "(void)call, (void)packed, (void)number, (void)parts;"
        pack = f"static void pack({given}) {{ {unused} }}"
        return "\n".join([*text, none, pack, *part, "", "KERNEL(weights, pack, part)", ""])

    def part(self, body: list[str]) -> None:
        tile = self.tile
        outer = [(name, f"e{n}") for n, name in enumerate(tile.outer)]
        with self.aside() as inner:
            self.depth = 2 + len(outer)
            columns = self.extent(tile.vec)
            for line in self.before:
                self.line(line)
            self.line(f"const long tiles = ({columns} + P * V - 1) / (P * V);")
            end = f"tiles * (piece + 1) / {self.sizes.variable(PARTS)}"
            start = f"tiles * piece / {self.sizes.variable(PARTS)}"
            with self.block(f"for (long j = {start}; j < {end}; j++)"):
                self.line(f"const long j0 = j * P * V, columns = {columns} - j0;")
                self.line("const long width = columns < P * V ? columns : P * V; (void)width;")
                for line in self.packing[False]:
                    self.line(line)
                self.lines += body
        self.depth = 0
        given = "const struct call *call, const real *w, long first, long last"
        with self.block(f"static void part({given})"):
            self.line("(void)w;")
            self.lines += [*declarations(self.sizes, self.arguments, tile.outputs), *self.memory()]
            with ExitStack() as opened:
                opened.enter_context(self.block("for (long item = first; item < last; item++)"))
                parts = self.sizes.variable(PARTS)
                self.line(f"const long b = item / {parts}, piece = item % {parts}; (void)piece;")
                for name in sorted(self.sizes.ragged):
                    variable = self.sizes.variable(name)
                    self.line(f"const long {variable}_b = lengths_{variable}[b];")
                for name, e in outer:
                    loop = f"for (long {e} = 0; {e} < {self.extent(name)}; {e}++)"
                    opened.enter_context(self.block(loop))
                self.lines += inner
            self.line("free(scratch);")

    # ---- through time ----

    def over_rows(self, way: Callable[[], None], sweeps: Sequence[Sweep]) -> None:
        """All rows, as many at a time as stay in registers; a tile that is coupled has all of them."""
        count = self.extent(self.tile.row)
        if self.tile.coupled:
            self.line("const long i0 = 0; (void)i0;")
            self.some_rows(f"({count})", way, sweeps)
            return
        rows = max(1, TILE // self.vectors)
        known = self.tile.ranges[self.tile.row][1].substitute(dict(self.sizes.fixed)).number
        rest = int(known or 0) % rows or 1
        with self.block(f"for (long i0 = 0; i0 < {count}; )"):
            with self.block(f"if (i0 + {rows} <= {count})"):
                self.some_rows(str(rows), way, sweeps)
                self.line(f"i0 += {rows};")
            with self.block("else"):  # all that remain where it is known how many, or one by one
                self.some_rows(str(rest), way, sweeps)
                self.line(f"i0 += {rest};")

    def some_rows(self, rows: str, way: Callable[[], None], sweeps: Sequence[Sweep]) -> None:
        self.rows, self.packing[True] = rows, []
        with self.behind(self.packing[True]):
            for item in (i for sweep in sweeps for i in sweep.items if i.kind == "state"):
                self.declare(self.names[item.target])
            self.declare_sums(sweeps)
            way()
            self.flush_rows(sweeps)
        self.panels = {k: v for k, v in self.panels.items() if not v.startswith("m")}

    def one_by_one(self) -> None:
        """The sweeps, where none has to read another: some steps of all rows, and then the next ones."""
        length = self.extent(TIME)
        follow = [m.item.target for m in self.tile.meetings]
        own = [
            replace(sweep, items=tuple(i for i in sweep.items if i.target not in follow))
            for sweep in self.tile.sweeps
        ]
        block = "BLOCK" if self.divided else f"{length} + !{length}"
        self.line(f"const long block = {block}, blocks = ({length} + block - 1) / block;")
        for meeting in self.tile.meetings:
            self.line(f"vec run_{self.names[meeting.item.target]}[P] = {{{{0}}}};")
            exact = f"({length} / BLOCK + 1) * P * V" if self.divided else "0"
            self.line(f"for (long k = 0; k < {exact}; k++) {self.exact(meeting)}[k] = 0;")
        for sweep in own:
            on = sweep.direction == own[0].direction
            way = "n = 0; n < blocks; n++" if on else "n = blocks - 1; n >= 0; n--"
            with self.block(f"for (long {way})"):
                self.line(f"const long left = {length} - n * block;")
                self.line("const long span = left < block ? left : block;")
                self.moment(
                    own[0],
                    "n * block" if own[0].direction > 0 else "(n * block + span - 1)",
                    "from",
                )
                with self.filled(self.divided):
                    self.zero(self.upright([sweep]))
                    self.over_rows(partial(self.in_block, sweep, on), [sweep])
                    self.flush_columns(self.upright([sweep]))
                    for meeting in self.tile.meetings:
                        if sweep.item(meeting.back.state):
                            self.follow(meeting)
                            self.flush_columns([meeting.item], ready=True)

    def both_at_once(self) -> None:
        """Both sweeps through some rows, where one reads the other, and then the next rows."""
        first = self.c(self.tile.ranges[TIME][0])
        self.line(f"const long from = {first}, span = {self.extent(TIME)}; (void)from;")
        with self.filled(False):
            self.zero(self.upright(self.tile.sweeps))
            self.over_rows(self.with_checkpoints, self.tile.sweeps)
            self.flush_columns(self.upright(self.tile.sweeps))

    @contextmanager
    def filled(self, blocks: bool) -> Iterator[None]:
        """What is read inside are panels of `span` steps, which are filled before."""
        known = self.panels, self.packing[False], self.blocks
        self.panels, self.packing[False], self.blocks = {}, [], blocks
        with self.behind(self.packing[False]):
            yield
        self.panels, self.packing[False], self.blocks = known

    def in_block(self, sweep: Sweep, on: bool) -> None:
        """Some steps of some rows; what the states are after them waits for the next ones."""
        states = [i.target for i in sweep.items if i.kind == "state"]
        if not self.blocks:
            self.begin(sweep)
        else:
            with self.block(f"if (n == {'0' if on else 'blocks - 1'})"):
                self.begin(sweep)
            with self.block("else"):
                for name in states:
                    self.whole_tile(f"{self.names[name]}[k] = {self.waiting(name, 'n - 1')}[k];")
        turn = "m = 0; m < span; m++" if on else "m = span - 1; m >= 0; m--"
        with self.block(f"for (long {turn})"):
            self.moment(self.tile.sweeps[0], "(n * block + m)")
            self.step(sweep)
        if not self.blocks:
            return
        for name in states:
            self.whole_tile(f"{self.waiting(name, 'n')}[k] = {self.names[name]}[k];")
        for meeting in self.tile.meetings:
            if meeting.back.state in states:
                one = f"{self.waiting(meeting.ahead.state, 'n - 1')}[r * P + p]"
                two = f"{self.names[meeting.back.state]}[r * P + p]"
                with self.block("if (n > 0)"), self.rows_and_columns():
                    self.line(f"((vec *){self.exact(meeting)})[n * P + p] += {one} * {two};")

    def waiting(self, state: str, block: str) -> str:
        """Where some rows of a state are after a block."""
        name, every = f"b_{self.names[state]}", f"{self.rows_all()} * P"
        if not any(meeting.ahead.state == state for meeting in self.tile.meetings):
            self.want(name, f"{every} * V")
            return f"((vec *){name} + i0 * P)"
        steps = self.c(self.tile.ranges[TIME][1], False)
        self.want(name, f"({steps} / BLOCK + 1) * {every} * V")
        return f"((vec *){name} + ({block}) * {every} + i0 * P)"

    def declare(self, name: str) -> None:
        """Memory for a tile: registers, or all rows in the cache."""
        if not self.tile.coupled:
            self.line(f"vec {name}[{self.rows} * P];")
            return
        self.want(f"m_{name}", f"{self.rows_all()} * P * V")
        self.line(f"vec *{name} = (vec *)m_{name};")

    def moment(self, sweep: Sweep, step: str, name: str = "v") -> None:
        lower, extent = self.tile.ranges[TIME]
        first, last = self.c(lower), self.c(lower + extent - 1)
        at = f"{first} + {step}" if sweep.direction > 0 else f"{last} - {step}"
        self.line(f"const long {name} = {at};")

    def begin(self, sweep: Sweep) -> None:
        """The states before the first step, and the sums that a step finds of the one before."""
        for item in sweep.items:
            name = self.names[item.target]
            if item.kind == "state":
                start = self.tile.starts.get(item.target)
                with self.heads_first(), self.rows_and_columns():
                    value = self.vector(start) if start is not None else "(vec){0}"
                    self.line(f"{name}[r * P + p] = {value};")
            elif self.carried(item):
                self.line(f"vec {name}[P], {name}_n[P];")
                self.for_each_vector(f"{name}[p] = {name}_n[p] = (vec){{0}};")

    def with_checkpoints(self) -> None:
        """Forward with checkpoints; then, chunk by chunk from the end, forward again and back."""
        length = self.extent(TIME)
        first, second = self.tile.sweeps
        kept = [i for i in first.items if i.kind == "state"]
        widest = f"{self.rows_all()} * P" if self.tile.coupled else f"{TILE}"
        steps = f"chunk_of({widest} * {len(self.saved)})"
        self.line(f"const long chunk = {steps}, chunks = ({length} + chunk - 1) / chunk;")
        whole = self.c(self.tile.ranges[TIME][1], False)
        for item in self.saved:
            name = self.names[item.target]
            self.want(f"w_{name}", f"({steps} + 2) * {widest} * V")
            self.line(f"vec *w{name} = (vec *)w_{name};")
        for item in kept:
            name = self.names[item.target]
            self.want(f"c_{name}", f"({whole} / {steps} + 1) * {widest} * V")
            self.line(f"vec *c{name} = (vec *)c_{name};")
        tile = f"{self.rows} * P"
        self.begin(first)
        with self.block("for (long n = 0; n < chunks; n++)"):
            for item in kept:
                name = self.names[item.target]
                self.whole_tile(f"c{name}[n * {tile} + k] = {name}[k];")
            self.line("if (n + 1 == chunks) break;")
            with self.block("for (long s = n * chunk; s < n * chunk + chunk; s++)"):
                self.moment(first, "s")
                self.step(first, bare=True)
        self.begin(second)
        with self.block("for (long n = chunks - 1; n >= 0; n--)"):
            self.line(
                f"const long left = {length} - n * chunk, count = left < chunk ? left : chunk;"
            )
            for item in self.saved:
                w = f"w{self.names[item.target]}"
                last = f"n + 1 == chunks ? (vec){{0}} : {w}[{tile} + k]"
                self.whole_tile(f"{w}[(count + 1) * {tile} + k] = {last};")
            for item in kept:
                name = self.names[item.target]
                put = f"w{name}[k] = " if item in self.saved else ""
                self.whole_tile(f"{put}{name}[k] = c{name}[n * {tile} + k];")
            with self.block("for (long m = 0; m < count; m++)"):
                self.moment(first, "(n * chunk + m)")
                self.step(first, save=True)
            with self.block("for (long m = count - 1; m >= 0; m--)"):
                # The sweep back counts as the first one does: its steps are the same ones.
                self.moment(first, "(n * chunk + m)")
                self.step(second)

    def whole_tile(self, text: str) -> None:
        """For each vector of a tile: written out, or the tile would not stay in registers."""
        if not self.tile.coupled:
            self.line(f"#pragma GCC unroll {TILE}")
        self.line(f"for (long k = 0; k < {self.rows} * P; k++) {text}")
