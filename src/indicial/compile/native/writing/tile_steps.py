"""One step of a tile as C: its states, the sums over its rows and columns, and what outlasts it.

    for r, p:  s[r,p] = g[r] * s[r,p] + k[r] * x[p];  y[p] += q[r] * s[r,p];

Sums over the rows are gathered in panels, [T][P V]; those over the columns are added up in vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from indicial.compile.native.tile import TIME, Item, Sweep, Tile
from indicial.compile.native.writing.c import CSizes
from indicial.compile.native.writing.tile_around import TileAround
from indicial.compile.native.writing.tile_lines import ROW, VEC
from indicial.compile.passes.scan import Unsupported
from indicial.program.ir import Apply, Code, Read
from indicial.program.rewrite import reached


class TileSteps(TileAround):
    """What a sweep does at each of its steps."""

    def __init__(
        self, code: Code, tile: Tile, same: frozenset[str], sizes: CSizes, real: str
    ) -> None:
        super().__init__(code, tile, same, sizes, real)
        self.saved = self._saved()
        self.divided = self._divided()

    def _divided(self) -> bool:
        """Whether a sweep can do some steps of all rows and then the next ones: nothing but states go on."""
        tile = self.tile
        sweeps = [i for sweep in tile.sweeps for i in sweep.items]
        bodies = [*(i.body for i in sweeps), *tile.starts.values()]
        wide = (n for body in bodies for n in body.every(Read) if self.is_given(n))
        alone = not (
            tile.coupled or tile.finals or self.lasting() or any(map(self.carried, sweeps))
        )
        return alone and all(self.kind(read) != ROW | VEC for read in wide)

    def _saved(self) -> list[Item]:
        """What the sweep back reads of the first one."""
        if len(self.tile.sweeps) < 2:
            return []
        first, second = self.tile.sweeps
        read = {n.tensor for i in second.items for n in i.body.every(Read)}
        if any(i.target in read and i.kind not in ("state", "local") for i in first.items):
            raise Unsupported("the sweep back reads a sum of the first one")
        return [i for i in first.items if i.target in read]

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
            self.memo = {}
            yield

    # ---- one step ----

    def step(self, sweep: Sweep, bare: bool = False, save: bool = False) -> None:
        """`bare` computes the states and nothing else; `save` puts down what the sweep back reads."""
        items = [i for i in sweep.items if not bare or i.kind != "sum" or self.carried(i)]
        if bare:
            items = self.only_states(items)
        levels = self.levels(items)
        with self.heads_first():
            for level in range(max(levels.values(), default=-1) + 1):
                some = [i for i in items if levels[i.target] == level]
                self.stage(sweep, some, save)
            for item in items:
                if self.carried(item):
                    name = self.names[item.target]
                    self.unrolled(f"for (int p = 0; p < P; p++) {name}[p] = {name}_n[p];")

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
                    value = self.vector(item.body)
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
                begin = f"load({self.put(item)} + p * V)"
            self.unrolled(f"for (int p = 0; p < P; p++) a_{self.names[item.target]}[p] = {begin};")
        with self.row_loop():
            for item in level:
                self.line(f"vec h_{self.names[item.target]} = {{0}};")
            with self.column_loop():
                for item in inside:
                    self.add(item, self.vector(self.outside(item)[0]), save)
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
                    f"for (int p = 0; p < P; p++) store({self.put(item)} + p * V, a_{name}[p]);"
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
                value = f"{name}_n[p]" if self.carried(item) else f"a_{name}[p]"
                self.unrolled(
                    f"for (int p = 0; p < P; p++) store({self.put(item)} + p * V, {value});"
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

    def lasting(self, sweeps: Sequence[Sweep] = ()) -> list[Item]:
        every = (i for sweep in sweeps or self.tile.sweeps for i in sweep.items)
        return [i for i in every if i.kind == "sum" and TIME not in i.left]

    def declare_sums(self, sweeps: Sequence[Sweep]) -> None:
        for item in self.lasting(sweeps):
            name, left = self.names[item.target], set(item.left)
            own = {self.tile.row: self.rows, self.tile.vec: "P"}
            count = " * ".join([own[r] for r in own if r in left]) or "1"
            if self.tile.coupled and self.tile.row in left:
                self.want(f"m_{name}", f"{self.rows_all()} * P * V")
                self.line(f"vec *z_{name} = (vec *)m_{name};")
            else:
                self.line(f"vec z_{name}[{count}];")
            self.line(f"for (long k = 0; k < {count}; k++) z_{name}[k] = (vec){{0}};")

    def flush_rows(self, sweeps: Sequence[Sweep]) -> None:
        """What lasted through all steps, added to the outputs."""
        tile = self.tile
        for item in self.lasting(sweeps):
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
        for item in tile.finals if sweeps[-1].direction == tile.sweeps[-1].direction else ():
            self.current, self.ready = tile.sweeps[-1], {}
            with self.row_loop(), self.heads_first(), self.column_loop():
                self.line(f"const vec final = {self.vector(item.body)};")
                with self.block("for (long l = 0; l < V && p * V + l < columns; l++)"):
                    self.line(f"*({self.element(item, '(p * V + l)')}) += final[l];")
