"""One step of a tile as C, and what stands around its way through time.

    for r, p:  s[r,p] = g[r] * s[r,p] + k[r] * x[p];  y[p] += q[r] * s[r,p];

Sums over the rows are gathered in panels, [T][P V]; those over the columns are added up in vectors.

D[t] = g[t] D[t-1]                  before: what a state that fades is a multiple of
y[t,j] = D[t] o[t][j]               after: sums that steps put down, times what they have in common
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from indicial.compile.native.reading.tile import TIME, Fading, Item, Meeting, Sweep, Tile, now
from indicial.compile.native.writing.c import CSizes
from indicial.compile.native.writing.tile_values import ROW, SPAN_ROW, VEC, TileValues
from indicial.compile.native.writing.writer import given_memory
from indicial.compile.passes.algebra import ONE, flat, quotient, times
from indicial.compile.passes.scan import Unsupported
from indicial.program.ir import Apply, Code, Expression, Read
from indicial.program.rewrite import reached


class TileSteps(TileValues):
    """What a sweep does before its first step, at each of them, and after the last."""

    def __init__(
        self, code: Code, tile: Tile, same: frozenset[str], sizes: CSizes, real: str
    ) -> None:
        super().__init__(code, tile, same, sizes, real)
        self.saved = self._saved()
        self.divided = self._divided()

    def _divided(self) -> bool:
        """Whether a sweep can do some steps of all rows and then the next ones: nothing but states go on."""
        tile = self.tile
        bodies = [*(i.body for i in tile.items), *tile.starts.values()]
        wide = (n for body in bodies for n in body.every(Read) if self.is_given(n))
        alone = not (
            tile.coupled or tile.finals or self.lasting() or any(map(self.carried, tile.items))
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

    def for_each_vector(self, text: str) -> None:
        """A line for all vectors of a row of columns."""
        self.line("#pragma GCC unroll 8")
        self.line(f"for (int p = 0; p < P; p++) {text}")

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
                    self.for_each_vector(f"{name}[p] = {name}_n[p];")

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
        upright = [i for i in inside if self.is_upright(i)]
        for item in upright:
            self.line(f"vec a_{self.names[item.target]}[P];")
            begin = "(vec){0}" if tile.coupled else f"load({self.put(item)} + p * V)"
            self.for_each_vector(f"a_{self.names[item.target]}[p] = {begin};")
        with self.rows_and_columns():
            for item in inside:
                self.add(item, self.vector(self.outside(item)[0]), save)
        for item in upright:
            name = self.names[item.target]
            if self.carried(item):
                self.for_each_vector(f"{name}_n[p] = {self.scaled(item, f'a_{name}[p]')};")
            elif not tile.coupled:
                self.for_each_vector(f"store({self.put(item)} + p * V, a_{name}[p]);")
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
                self.for_each_vector(f"store({self.put(item)} + p * V, {value});")

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
        if TIME in item.left:
            raise Unsupported(f"{item.target} is a sum for each row of a step")
        if tile.vec not in item.left and not self.even:
            value = f"first_of({value}, columns - p * V)"
        self.line(f"z_{name}[{self.lasting_place(item)}] += {value};")

    # ---- sums that outlast a step ----

    def lasting(self, sweeps: Sequence[Sweep] = ()) -> list[Item]:
        every = (i for sweep in sweeps or self.tile.sweeps for i in sweep.items)
        return [i for i in every if i.kind == "sum" and TIME not in i.left]

    def lasting_place(self, item: Item) -> str:
        """Where the part of a sum is that a row and a vector of columns add to."""
        places = {self.tile.row: "r * P" if self.tile.vec in item.left else "r", self.tile.vec: "p"}
        return " + ".join(at for role, at in places.items() if role in item.left) or "0"

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
            part = f"z_{name}[{self.lasting_place(item)}]"
            loops = f"for (long r = 0; r < {self.rows}; r++)" if tile.row in left else ""
            if tile.vec in left:
                loops += " for (int p = 0; p < P; p++) for (long l = 0; l < V; l++)"
            with self.block(loops):
                if tile.vec in left:
                    self.line("if (p * V + l >= columns) break;")
                value = f"{part}[l]" if tile.vec in left else f"across({part})"
                place = self.element(item, "(p * V + l)")
                self.line(f"*({place}) += {self.scaled(item, value)};")
        for item in tile.finals if sweeps[-1].direction == tile.sweeps[-1].direction else ():
            self.current, self.ready = tile.sweeps[-1], {}
            with self.row_loop(), self.heads_first(), self.column_loop():
                self.line(f"const vec final = {self.vector(item.body)};")
                with self.block("for (long l = 0; l < V && p * V + l < columns; l++)"):
                    self.line(f"*({self.element(item, '(p * V + l)')}) += final[l];")

    # ---- what states are multiples of ----

    def write_fadings(self) -> None:
        """What each state that fades is a multiple of, at every step, and where that begins again."""
        for fading in self.tile.fadings:
            kind = self.fading_kind(fading)
            steps = self.c(self.tile.ranges[TIME][1], False)
            width = self.fading_width(kind)
            scale, inverse, again = (self.fading_name(fading, letter) for letter in "DRA")
            for name in (scale, inverse):
                self.want(name, f"({steps} + 2) * {width}")
            self.want(again, steps)
            near = self.fading_name(fading, "near") if self.meets(fading) else ""
            with self.elsewhere(self.packing[False] if kind == VEC else self.before):
                if near:
                    self.line(f"int {near} = 1;")
                self.line("#pragma omp simd")
                self.line(f"for (long l = 0; l < {width}; l++) {scale}[l] = 1;")
                self.line("#pragma omp simd")
                whole = f"({self.extent(TIME)} + 1) * {width}"
                self.line(f"for (long l = 0; l < {width}; l++) {scale}[{whole} + l] = 1;")
                with self.steps(fading.direction):
                    now = f"({self.moment_number(1)} * {width})"
                    before = f"({self.moment_number(1 - fading.direction)} * {width})"
                    self.line(f"real *now = {scale} + {now}, *inverse = {inverse} + {now};")
                    self.line(f"const real *then = {scale} + {before};")
                    if kind == VEC:
                        with self.block("for (int p = 0; p < P; p++)"):
                            decay = self.vector(fading.decay)
                            self.line(f"store(now + p * V, load(then + p * V) * {decay});")
                        self.line("for (long l = width; l < P * V; l++) now[l] = 1;")
                    else:
                        self.line("const long i0 = 0; (void)i0;")
                        self.line("#pragma omp simd")
                        with self.block(f"for (long r = 0; r < {width}; r++)"):
                            self.line(f"now[r] = then[r] * {self.value(fading.decay).text};")
                    if near:
                        self.line(f"#pragma omp simd reduction(& : {near})")
                        every = f"for (long l = 0; l < {width}; l++)"
                        self.line(f"{every} {near} &= can_divide(now[l], then[l]);")
                    self.line("int far = 0;")
                    self.line("#pragma omp simd reduction(| : far)")
                    self.line(f"for (long l = 0; l < {width}; l++) far |= is_far(now[l]);")
                    self.line(f"{again}[{self.moment_number()}] = far;")
                    self.line(f"if (far) for (long l = 0; l < {width}; l++) now[l] = 1;")
                    self.line("#pragma omp simd")
                    self.line(f"for (long l = 0; l < {width}; l++) inverse[l] = 1 / now[l];")

    # ---- sums ----

    def carried(self, item: Item) -> bool:
        """Whether a step reads a sum: of this step, or of the one before."""
        readers = (other for other in self.tile.items if item.target in other.body.tensors())
        return item.kind in ("sum", "low") and any(readers)

    def outside(self, item: Item) -> tuple[Expression, Expression]:
        """What is summed, and the factors that all of its terms have: they can be multiplied once."""
        left = {self.tile.row, self.tile.vec} & set(item.left)
        if item.kind != "sum" or TIME not in item.left or len(left) > 1 or self.carried(item):
            return item.body, ONE
        kinds = {0, *(VEC if role == self.tile.vec else ROW for role in left)}
        factors = flat("*", (item.body,))
        common = [f for f in factors if self.is_given(f) and self.kind(f) in kinds]
        rest = [f for f in factors if f not in common]
        if not rest:
            return item.body, ONE
        return times(*rest), times(*common)

    def scale(self, item: Item) -> Expression:
        return times(item.scale, self.outside(item)[1])

    def scaled(self, item: Item, text: str) -> str:
        scale = self.scale(item)
        return text if scale == ONE else f"{self.value(scale).text} * {text}"

    def put(self, item: Item) -> str:
        """Where a step puts down a sum: the row of its panel."""
        name = f"o_{self.names[item.target]}"
        few = self.divided and len(self.tile.sweeps) == 1  # two may need all steps of each other
        steps = "BLOCK" if few else self.c(self.tile.ranges[TIME][1], False)
        self.want(name, f"{steps} * P * V")
        return f"{name} + {f'{self.moment_number()} * P * V' if self.waits(item) else SPAN_ROW}"

    def waits(self, item: Item) -> bool:
        """Whether a sum of the first sweep is read by the second one, to follow from it."""
        follow = {name for meeting in self.tile.meetings for _, name in meeting.terms}
        return item.target in follow and item in self.tile.sweeps[0].items

    def is_upright(self, item: Item) -> bool:
        """Whether a step puts it down by columns: a value for each, or a sum over all of them."""
        left = set(item.left)
        by_columns = self.tile.vec in left or (item.kind == "sum" and self.tile.row not in left)
        return item.kind in ("sum", "low") and TIME in left and by_columns

    def upright(self, sweeps: Iterable[Sweep]) -> list[Item]:
        return [i for sweep in sweeps for i in sweep.items if self.is_upright(i)]

    def zero(self, items: Iterable[Item]) -> None:
        """Panels to which rows add."""
        for item in items:
            self.line("for (long k = 0, v = from; k < span * P * V; k++)")
            self.line(f"  ({self.put(item)})[k] = 0;")

    # ---- sums in which both sweeps meet ----

    def meets(self, fading: Fading) -> bool:
        return any(m.ahead.state == fading.state for m in self.tile.meetings)

    def near(self) -> str:
        """Whether what the sweeps meet in follows from other sums: no decay is near 0."""
        found = {self.fading_name(m.ahead, "near") for m in self.tile.meetings}
        return " && ".join(sorted(found))

    def follow(self, meeting: Meeting) -> None:
        """`g[t] ḡ[t] = g[t+1] ḡ[t+1] + q[t] q̄[t] - k[t] k̄[t]`, from the panels of q̄ and k̄."""
        ahead, back = meeting.ahead, meeting.back
        run = f"run_{self.names[meeting.item.target]}[p]"
        with self.flushed(back.direction):
            self.line("const long at = n * block + span - 1 - s;")
            with self.block("for (int p = 0; p < P; p++)"):
                for factor, name in meeting.terms:
                    item = self.tile.item(name)
                    value = self.vector(times(factor, self.outside(item)[1]))
                    self.line(f"{run} += {value} * load({self.put(item)} + p * V);")
                if self.blocks:  # so that errors do not add up from block to block
                    multiples = (
                        ahead.at(ahead.scale, ahead.before, self.tile),
                        back.at(back.scale, now(self.tile, back), self.tile),
                    )
                    value = self.vector(times(ahead.decay, *multiples))
                    exact = f"((vec *){self.exact(meeting)})[at / BLOCK * P + p]"
                    self.line(f"if (at > 0 && at % BLOCK == 0) {run} = {value} * {exact};")
                other = times(meeting.item.scale, meeting.other)
                text = f"{self.vector(quotient(other, ahead.decay))} * {run}"
                if ahead.state not in self.tile.starts:  # there is nothing before it
                    text = f"at == 0 ? (vec){{0}} : {text}"
                self.line(f"store({self.put(meeting.item)} + p * V, {text});")

    def exact(self, meeting: Meeting) -> str:
        """What the sweeps meet in, at the first step of each block."""
        name = f"e_{self.names[meeting.item.target]}"
        steps = self.c(self.tile.ranges[TIME][1], False)
        return self.want(name, f"({steps} / BLOCK + 1) * P * V")

    def flush_columns(self, items: Iterable[Item], ready: bool = False) -> None:
        """What the steps put down, into the outputs; `ready` has its scale already."""
        for item in items:
            into = "=" if item.target in self.tile.whole else "+="
            carried = self.tile.coupled and self.carried(item)
            scale = ONE if ready or carried or item.kind == "low" else self.scale(item)
            with self.flushed():
                self.line(f"const real *row = {self.put(item)};")
                if self.tile.vec not in item.left:
                    self.line("real sum = 0;")
                    self.line("#pragma omp simd reduction(+ : sum)")
                    self.line("for (long l = 0; l < width; l++) sum += row[l];")
                    value = "sum" if ready else self.scaled(item, "sum")
                    self.line(f"*({self.element(item)}) += {value};")
                    continue
                if scale != ONE:
                    self.line("real whole[P * V] __attribute__((aligned(64)));")
                    with self.block("for (int p = 0; p < P; p++)"):
                        value = self.vector(scale)
                        self.line(f"store(whole + p * V, load(row + p * V) * {value});")
                self.line("#pragma omp simd")
                with self.block("for (long l = 0; l < width; l++)"):
                    value = "row[l]" if scale == ONE else "whole[l]"
                    self.line(f"*({self.element(item, 'l')}) {into} {value};")

    @contextmanager
    def flushed(self, direction: int = 1) -> Iterator[None]:
        """A loop over the steps of the panels, after all rows."""
        self.memo, folds = {}, self.folds
        self.folds = False  # what is read once
        with self.span_steps(direction):
            yield
        self.folds = folds

    def element(self, item: Item, column: str = "l") -> str:
        """The address of an output's element."""
        number = len(self.arguments) + self.tile.outputs.index(item.target)
        tensor = self.code.tensors[item.target]
        places = {
            TIME: f"(v - {self.c(self.tile.ranges[TIME][0])})", self.tile.row: "(i0 + r)",
            self.tile.vec: f"(j0 + {column})",
            **{name: f"e{n}" for n, name in enumerate(self.tile.outer)},
        }  # fmt: skip
        store = given_memory(f"t{number}", tensor, self.sizes, True)
        store = replace(store, member="b" if self.tile.vec in item.left else "item")
        return store.base([(axis, places[role]) for axis, role in enumerate(item.left)])
