"""A tile of a matrix state, taken through time, as the text of a C kernel.

    for (long j0 = …)                            columns: P vectors at a time
      for (long i0 = …)                          rows: so many that the state stays in registers
        for (long v = 0; v < T; v++)
          for r, p:  s[r,p] = g[r] * s[r,p] + k[r] * x[p];  y[p] += q[r] * s[r,p];

What the columns read is copied into panels first, [T][P V], whatever its layout is; sums over the
rows are gathered in such panels too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from indicial.compile.native.routine import PARTS
from indicial.compile.native.tile import TIME, Item, Sweep, Tile
from indicial.compile.native.writing.c import CSizes, declarations
from indicial.compile.native.writing.tile_around import TileAround
from indicial.compile.native.writing.tile_values import NOTHING, TILE, deeper
from indicial.compile.passes.scan import Unsupported
from indicial.program.ir import Apply, Code, Read
from indicial.program.rewrite import reached


def write_tile(
    code: Code, tile: Tile, same: frozenset[str], sizes: CSizes, real: str
) -> tuple[str, list[str]]:
    """The text, and the names of its arguments in the order in which they are passed."""
    text = _Text(code, tile, same, sizes, real)
    return text.whole(), text.arguments


class _Text(TileAround):
    def __init__(
        self, code: Code, tile: Tile, same: frozenset[str], sizes: CSizes, real: str
    ) -> None:
        super().__init__(code, tile, same, sizes, real)
        self.saved = self._saved()

    def _saved(self) -> list[Item]:
        """What the sweep back reads of the first one."""
        if len(self.tile.sweeps) < 2:
            return []
        first, second = self.tile.sweeps
        read = {n.tensor for i in second.items for n in i.body.every(Read)}
        if any(i.target in read and i.kind not in ("state", "local") for i in first.items):
            raise Unsupported("the sweep back reads a sum of the first one")
        return [i for i in first.items if i.target in read]

    # ---- the whole ----

    def whole(self) -> str:
        tile = self.tile
        rows = max(1, TILE // self.vectors)
        self.write_fadings()
        with self.aside() as body:
            self.depth = 3 + len(tile.outer)
            if tile.coupled:
                self.line("const long i0 = 0; (void)i0;")
                self.through_time(f"({self.extent(tile.row)})")
            else:
                count = self.extent(tile.row)
                with self.block(f"for (long i0 = 0; i0 < {count}; )"):
                    with self.block(f"if (i0 + {rows} <= {count})"):
                        self.through_time(str(rows))
                        self.line(f"i0 += {rows};")
                    with self.block("else"):
                        self.through_time("1")
                        self.line("i0 += 1;")
            self.flush_columns()
        text = [f"typedef {self.real} real;", '#include "tiles.h"', ""]
        text += [f"enum {{ P = {self.vectors} }};", ""]
        self.depth = 1
        with self.aside() as part:
            self.part(body)
        none = "static long weights(const struct call *call) { (void)call; return 0; }"
        pack = "static real *pack(const struct call *call) { (void)call; return NULL; }"
        return "\n".join([*text, none, pack, *part, "", "KERNEL(weights, pack, part)", ""])

    def part(self, body: list[str]) -> None:
        tile = self.tile
        outer = [(name, f"e{n}") for n, name in enumerate(tile.outer)]
        with self.aside() as inner:
            self.depth = 2 + len(outer)
            columns = self.extent(tile.vec)
            self.lines += [deeper(x, self.depth - 1) for x in self.before]
            self.line(f"const long tiles = ({columns} + P * V - 1) / (P * V);")
            end = f"tiles * (piece + 1) / {self.sizes.variable(PARTS)}"
            start = f"tiles * piece / {self.sizes.variable(PARTS)}"
            with self.block(f"for (long j = {start}; j < {end}; j++)"):
                self.line(f"const long j0 = j * P * V, columns = {columns} - j0;")
                self.line("const long width = columns < P * V ? columns : P * V; (void)width;")
                self.lines += self.zeroed()
                self.lines += [deeper(x, self.depth) for x in self.packing[False]]
                self.lines += body
        self.depth = 0
        self.line(
            "static void part(const struct call *call, const real *w, long first, long last) {"
        )
        self.depth = 1
        self.line("(void)w;")
        self.lines += declarations(self.sizes, self.arguments, tile.outputs)
        self.line("long need = 0;")
        for name, length in self.scratch:
            self.line(f"const long at_{name} = need;")
            self.line(f"need += padded({length});")
        self.line("real *scratch = allocate((need + 16) * sizeof(real));")
        for name, _ in self.scratch:
            self.line(f"real *{name} = scratch + at_{name}; (void){name};")
        for name, length in self.scratch:
            if name == NOTHING:
                self.line(f"for (long i = 0; i < {length}; i++) {name}[i] = 0;")
        with self.block("for (long item = first; item < last; item++)"):
            parts = self.sizes.variable(PARTS)
            self.line(f"const long b = item / {parts}, piece = item % {parts}; (void)piece;")
            for name in sorted(self.sizes.ragged):
                variable = self.sizes.variable(name)
                self.line(f"const long {variable}_b = lengths_{variable}[b];")
            for name, variable in outer:
                self.line(
                    f"for (long {variable} = 0; {variable} < {self.extent(name)}; {variable}++) {{"
                )
                self.depth += 1
            self.lines += inner
            for _ in outer:
                self.depth -= 1
                self.line("}")
        self.line("free(scratch);")
        self.depth = 0
        self.line("}")

    # ---- through time ----

    def through_time(self, rows: str) -> None:
        self.rows = rows
        tile = self.tile
        mark = len(self.lines)
        for item in self.states:
            self.declare(self.names[item.target])
        self.declare_sums()
        length = self.extent(TIME)
        if self.saved:
            self.with_checkpoints(length)
        else:  # none, or none that reads another
            for sweep in tile.sweeps:
                self.begin(sweep)
                with self.block(f"for (long s = 0; s < {length}; s++)"):
                    self.moment(sweep, "s")
                    self.step(sweep)
        self.flush_rows()
        packs = [deeper(x, self.depth) for x in self.packing[True]]
        self.packing[True] = []
        self.panels = {k: v for k, v in self.panels.items() if not v.startswith("m")}
        self.lines[mark:mark] = packs

    def declare(self, name: str) -> None:
        """Memory for a tile: registers, or all rows in the cache."""
        if not self.tile.coupled:
            self.line(f"vec {name}[{self.rows} * P];")
            return
        self.want(f"m_{name}", f"{self.rows_all()} * P * V")
        self.line(f"vec *{name} = (vec *)m_{name};")

    def moment(self, sweep: Sweep, step: str) -> None:
        lower, extent = self.tile.ranges[TIME]
        first, last = self.c(lower), self.c(lower + extent - 1)
        self.line(
            f"const long v = {f'{first} + {step}' if sweep.direction > 0 else f'{last} - {step}'};"
        )

    def begin(self, sweep: Sweep) -> None:
        """The states before the first step, and the sums that a step finds of the one before."""
        for item in sweep.items:
            name = self.names[item.target]
            if item.kind == "state":
                start = self.tile.starts.get(item.target)
                self.pointers, self.heads, self.memo = {}, [], {}
                with self.aside() as inner, self.rows_and_columns():
                    value = self.vector(start) if start is not None else "(vec){0}"
                    self.line(f"{name}[r * P + p] = {value};")
                self.lines += [deeper(x, self.depth) for x in self.heads] + inner
            elif self.carried(item):
                self.line(f"vec {name}[P], {name}_n[P];")
                self.unrolled(f"for (int p = 0; p < P; p++) {name}[p] = {name}_n[p] = (vec){{0}};")

    def unrolled(self, text: str) -> None:
        self.line("#pragma GCC unroll 8")
        self.line(text)

    @contextmanager
    def rows_and_columns(self) -> Iterator[None]:
        with self.row_loop(), self.column_loop():
            yield

    @contextmanager
    def row_loop(self) -> Iterator[None]:
        if not self.tile.coupled:
            self.line("#pragma GCC unroll 16")
        with self.block(f"for (long r = 0; r < {self.rows}; r++)"):
            yield

    @contextmanager
    def column_loop(self) -> Iterator[None]:
        self.line("#pragma GCC unroll 8")
        with self.block("for (int p = 0; p < P; p++)"):
            yield

    def with_checkpoints(self, length: str) -> None:
        """Forward with checkpoints; then, chunk by chunk from the end, forward again and back."""
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

    # ---- one step ----

    def step(self, sweep: Sweep, bare: bool = False, save: bool = False) -> None:
        """`bare` computes the states and nothing else; `save` puts down what the sweep back reads."""
        items = [i for i in sweep.items if not bare or i.kind != "sum" or self.carried(i)]
        if bare:
            items = self.only_states(items)
        levels = self.levels(items)
        self.pointers, self.heads = {}, []
        with self.aside() as own:
            for level in range(max(levels.values(), default=-1) + 1):
                some = [i for i in items if levels[i.target] == level]
                self.stage(sweep, some, save)
            for item in items:
                if self.carried(item):
                    name = self.names[item.target]
                    self.unrolled(f"for (int p = 0; p < P; p++) {name}[p] = {name}_n[p];")
        self.lines += [deeper(x, self.depth) for x in self.heads] + own

    def only_states(self, items: Sequence[Item]) -> list[Item]:
        by_name = {i.target: i for i in items}
        states = [i.target for i in items if i.kind == "state"]
        needed = reached(states, lambda name: by_name[name].body.tensors() & by_name.keys())
        return [i for i in items if i.target in needed]

    def levels(self, items: Sequence[Item]) -> dict[str, int]:
        """In which loop over the rows each item runs: a sum over rows is there after its loop."""
        by_name = {i.target: i for i in items}
        levels = dict.fromkeys(by_name, 0)
        for _ in range(2 * len(items) + 2):
            changed = False
            for item in items:
                for read in item.body.every(Read):
                    other = by_name.get(read.tensor)
                    if other is None:
                        continue
                    if self.offset(read, other) == 0:
                        least = levels[other.target] + (other.kind == "sum")
                        if levels[item.target] < least:
                            levels[item.target], changed = least, True
                    elif other.kind == "state" and levels[other.target] < levels[item.target]:
                        levels[other.target], changed = levels[item.target], True
            if not changed:
                return levels
        raise Unsupported("no order within a step")

    def stage(self, sweep: Sweep, items: Sequence[Item], save: bool) -> None:
        tile = self.tile
        self.current, self.ready = sweep, {}
        for item in items:
            if item.kind == "low":
                if tile.row in item.left:
                    raise Unsupported(f"{item.target} has a value for each row")
                with self.column_loop():
                    self.memo = {}
                    with self.aside() as own:
                        value = self.vector(item.body)
                    self.lines += own
                    self.line(f"{self.names[item.target]}_n[p] = {value};")
        inside = [i for i in items if i.kind != "low"]
        self.begin_again(inside)
        if not inside:
            self.put_down(items)
            return
        sums = [i for i in inside if i.kind == "sum"]
        upright = [i for i in sums if self.is_upright(i)]
        level = [i for i in sums if TIME in i.left and i not in upright]
        for item in upright:
            self.line(f"vec a_{self.names[item.target]}[P];")
            begin = "(vec){0}"
            if not tile.coupled:
                begin = f"load(o_{self.names[item.target]} + {self.panel_row()} + p * V)"
                self.want(
                    f"o_{self.names[item.target]}", f"{self.c(tile.ranges[TIME][1], False)} * P * V"
                )
            self.unrolled(f"for (int p = 0; p < P; p++) a_{self.names[item.target]}[p] = {begin};")
        with self.row_loop():
            for item in level:
                self.line(f"vec h_{self.names[item.target]} = {{0}};")
            with self.column_loop():
                self.memo = {}
                for item in inside:
                    with self.aside() as own:
                        value = self.vector(self.outside(item)[0])
                    self.lines += own
                    self.add(item, value, save)
            for item in level:
                value = self.scaled(item, f"across(h_{self.names[item.target]})")
                self.line(f"*({self.element(item)}) += {value};")
        for item in upright:
            name = self.names[item.target]
            if self.carried(item):
                self.unrolled(
                    f"for (int p = 0; p < P; p++) {name}_n[p] = {self.scaled(item, f'a_{name}[p]')};"
                )
            elif not tile.coupled:
                self.unrolled(
                    f"for (int p = 0; p < P; p++) store(o_{name} + {self.panel_row()} + p * V, a_{name}[p]);"
                )
        self.put_down(items)

    def begin_again(self, items: Sequence[Item]) -> None:
        """States that are too small or large a multiple of themselves: now they are their own values."""
        for fading in self.tile.fadings:
            if not any(item.target == fading.state for item in items):
                continue
            scale = fading.at(fading.scale, fading.before, self.tile)
            far = f"{self.fading_name(fading, 'A')}[{self.moment_number()}]"
            with self.block(f"if ({far})"), self.rows_and_columns():
                value = self.vector(Apply("*", (fading.decay, scale, fading.before)))
                self.line(f"{self.names[fading.state]}[r * P + p] = {value};")

    def put_down(self, items: Sequence[Item]) -> None:
        """Values of all columns of this step, into the panel that becomes the output."""
        for item in items:
            name = self.names[item.target]
            if self.is_upright(item) and self.tile.coupled:
                self.want(f"o_{name}", f"{self.c(self.tile.ranges[TIME][1], False)} * P * V")
                value = f"{name}_n[p]" if self.carried(item) else f"a_{name}[p]"
                self.unrolled(
                    f"for (int p = 0; p < P; p++) store(o_{name} + {self.panel_row()} + p * V, {value});"
                )

    def add(self, item: Item, value: str, save: bool) -> None:
        name, tile = self.names[item.target], self.tile
        if item.kind in ("state", "local"):
            if item.kind == "state":
                self.line(f"const vec {name}_o = {name}[r * P + p]; (void){name}_o;")
            self.line(f"const vec {name}_n = {value};")
            self.ready[item.target] = f"{name}_n"
            if item.kind == "state":
                self.line(f"{name}[r * P + p] = {name}_n;")
            if save and item in self.saved:
                self.line(f"w{name}[((m + 1) * {self.rows} + r) * P + p] = {name}_n;")
            return
        if self.is_upright(item):
            self.line(f"a_{name}[p] += {value};")
            return
        if tile.vec not in item.left and not self.even:
            value = f"first_of({value}, columns - p * V)"
        if TIME in item.left:
            self.line(f"h_{name} += {value};")
            return
        at = "r * P + p" if {tile.row, tile.vec} <= set(item.left) else (
            "p" if tile.vec in item.left else "r" if tile.row in item.left else "0")  # fmt: skip
        self.line(f"z_{name}[{at}] += {value};")

    # ---- sums that outlast a step ----

    def lasting(self) -> list[Item]:
        every = (i for sweep in self.tile.sweeps for i in sweep.items)
        return [i for i in every if i.kind == "sum" and TIME not in i.left]

    def declare_sums(self) -> None:
        for item in self.lasting():
            name, left = self.names[item.target], set(item.left)
            own = {self.tile.row: self.rows, self.tile.vec: "P"}
            count = " * ".join([own[r] for r in own if r in left]) or "1"
            if self.tile.coupled and self.tile.row in left:
                self.want(f"m_{name}", f"{self.rows_all()} * P * V")
                self.line(f"vec *z_{name} = (vec *)m_{name};")
            else:
                self.line(f"vec z_{name}[{count}];")
            self.line(f"for (long k = 0; k < {count}; k++) z_{name}[k] = (vec){{0}};")

    def flush_rows(self) -> None:
        """What lasted through all steps, added to the outputs."""
        tile = self.tile
        for item in self.lasting():
            name, left = self.names[item.target], set(item.left)
            if tile.vec in left:
                row = f"for (long r = 0; r < {self.rows}; r++)" if tile.row in left else ""
                at = "r * P + p" if tile.row in left else "p"
                with self.block(f"{row} for (int p = 0; p < P; p++) for (long l = 0; l < V; l++)"):
                    self.line("if (p * V + l >= columns) break;")
                    value = self.scaled(item, f"z_{name}[{at}][l]")
                    self.line(f"*({self.element(item, '(p * V + l)')}) += {value};")
            elif tile.row in left:
                with self.block(f"for (long r = 0; r < {self.rows}; r++)"):
                    self.line(
                        f"*({self.element(item)}) += {self.scaled(item, f'across(z_{name}[r])')};"
                    )
            else:
                self.line(
                    f"*({self.element(item)}) += {self.scaled(item, f'across(z_{name}[0])')};"
                )
        for item in tile.finals:
            self.current, self.ready = tile.sweeps[-1], {}
            self.pointers, self.heads = {}, []
            with self.row_loop():
                with self.aside() as inner, self.column_loop():
                    self.memo = {}
                    with self.aside() as own:
                        value = self.vector(item.body)
                    self.lines += own
                    self.line(f"const vec final = {value};")
                    with self.block("for (long l = 0; l < V && p * V + l < columns; l++)"):
                        self.line(f"*({self.element(item, '(p * V + l)')}) += final[l];")
                self.lines += [deeper(x, self.depth) for x in self.heads] + inner
