"""Around a tile's way through time: what is found before it, and what becomes of what it puts down.

D[t] = g[t] D[t-1]                  before: what a state that fades is a multiple of
y[t,j] = D[t] o[t][j]               after: sums that steps put down, times what they have in common
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from indicial.compile.native.tile import TIME, Fading, Item, Meeting, Sweep, now
from indicial.compile.native.writing.tile_lines import ROW, SPAN_ROW, VEC
from indicial.compile.native.writing.tile_values import TileValues
from indicial.compile.native.writing.writer import row_major, times, total
from indicial.compile.passes.algebra import ONE, flat, quotient
from indicial.compile.passes.algebra import times as product
from indicial.program.ir import Expression, Read


class TileAround(TileValues):
    """What stands before and after the loops over time."""

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
        return item.kind in ("sum", "low") and any(
            isinstance(n, Read) and n.tensor == item.target
            for sweep in self.tile.sweeps
            for other in sweep.items
            for n in other.body.walk()
        )

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
        return product(*rest), product(*common)

    def scale(self, item: Item) -> Expression:
        return product(item.scale, self.outside(item)[1])

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
                    value = self.vector(product(factor, self.outside(item)[1]))
                    self.line(f"{run} += {value} * load({self.put(item)} + p * V);")
                if self.blocks:  # so that errors do not add up from block to block
                    multiples = (
                        ahead.at(ahead.scale, ahead.before, self.tile),
                        back.at(back.scale, now(self.tile, back), self.tile),
                    )
                    value = self.vector(product(ahead.decay, *multiples))
                    exact = f"((vec *){self.exact(meeting)})[at / BLOCK * P + p]"
                    self.line(f"if (at > 0 && at % BLOCK == 0) {run} = {value} * {exact};")
                other = product(meeting.item.scale, meeting.other)
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
        number = len(self.arguments_known()) + self.tile.outputs.index(item.target)
        axes = self.code.tensors[item.target].axes
        strides = row_major([self.c(a.extent, False) for a in axes])
        places = {
            TIME: f"(v - {self.c(self.tile.ranges[TIME][0])})", self.tile.row: "(i0 + r)",
            self.tile.vec: f"(j0 + {column})",
            **{name: f"e{n}" for n, name in enumerate(self.tile.outer)},
        }  # fmt: skip
        whole = " * ".join(self.c(a.extent, False) for a in axes) or "1"
        own = "b" if self.tile.vec in item.left else "item"
        parts = [
            f"{own} * ({whole})",
            *(times(places[r], s) for r, s in zip(item.left, strides, strict=True)),
        ]
        return f"t{number} + {total(parts)}"
