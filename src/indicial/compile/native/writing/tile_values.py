"""What the text of a tile knows while it is written, and its expressions as C.

    for (long s = 0; s < span; s++) {      the steps of a panel: all of them, or those of a block
      const long v = from + s;

Panels are copies of what some columns read, [steps][P V], and where sums over the rows are gathered.

    g[t,i] S[t-1,i,j] + k[t,i] v[t,j]   →   (q1[(i0 + r)] * s0[r * P + p]) + (q2[(i0 + r)] * load(…))

What has no column is a number, so that few vectors are multiplied; functions of vectors are loops
over their elements, which the compiler vectorises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from indicial.compile.native.reading.tile import TIME, Fading, Item, Tile, places_of
from indicial.compile.native.writing.c import CScope, CSizes, Lines
from indicial.compile.native.writing.writer import c_product, c_sum, given_memory
from indicial.compile.passes.algebra import flat
from indicial.compile.passes.scan import Unsupported
from indicial.program import ir
from indicial.program.moving import moved
from indicial.program.sizes import Size

ROW, VEC = 1, 2
TILE = 24
"""How many vectors of one state a tile has."""
SPAN_ROW = "(v - from) * P * V"
"""Where a step is in a panel: of all steps, or of those of a block (`TileValues.blocks`)."""
BYTES = {"float": 4, "double": 8}


@dataclass(frozen=True)
class InC:
    """An expression in C; `kind` says whether it has an element for each row, each column."""

    text: str
    kind: int


class TileValues(Lines):
    """The lines so far, what they have in common, and how an expression is written among them."""

    def __init__(
        self, code: ir.Code, tile: Tile, same: frozenset[str], sizes: CSizes, real: str
    ) -> None:
        super().__init__()
        self.code, self.tile, self.same, self.sizes, self.real = code, tile, same, sizes, real
        read = tile.reads - {item.target for item in tile.items} - code.constants.keys()
        self.arguments = [name for name in code.tensors if name in read]
        self.panels: dict[object, str] = {}
        self.packing: dict[bool, list[str]] = {False: [], True: []}
        self.before: list[str] = []
        """What is found once for a member, before its columns."""
        self.folded: dict[object, str] = {}
        self.folds = True
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

    # ---- expressions ----

    def vector(self, node: ir.Expression) -> str:
        value = self.value(node)
        return value.text if value.kind & VEC else f"((vec){{0}} + {value.text})"

    def value(self, node: ir.Expression) -> InC:
        match node:
            case ir.Constant(value):
                return InC(self.scope().number(value), 0)
            case ir.SizeValue(size):
                return InC(f"({self.real}){self.c(size)}", 0)
            case ir.IndexValue(place):
                if any(name == self.tile.vec for name, _ in place.terms):
                    return self.by_lanes(node)
                row = any(name == self.tile.row for name, _ in place.terms)
                return InC(self.scope().c(node), ROW if row else 0)
            case ir.Read():
                return self.read(node)
            case ir.Apply("neg" | "stop", (argument,)):
                inner = self.value(argument)
                return replace(inner, text=f"(-{inner.text})") if node.function == "neg" else inner
            case ir.Apply("+" | "*" | "/", arguments):
                return self.arithmetic(node.function, arguments)
            case ir.Apply("^", (base, ir.Constant(power))) if power in (2.0, 3.0):
                return self.value(ir.Apply("*", (base,) * int(power)))
            case ir.Select(branches, otherwise):
                conditions = [self.value(c) for c, _ in branches]
                if any(c.kind & VEC for c in conditions):
                    return self.by_lanes(node)
                text = self.vector(otherwise)
                kind = VEC
                for (condition, chosen), own in zip(
                    reversed(branches), reversed(conditions), strict=True
                ):
                    kind |= own.kind
                    truth = self.truth(condition)
                    text = f"({truth} ? {self.vector(chosen)} : {text})"
                return InC(text, kind | ROW)
            case ir.Apply(_, arguments):
                values = [self.value(a) for a in arguments]
                if any(v.kind & VEC for v in values):
                    return self.by_lanes(node)
                kind = 0
                for v in values:
                    kind |= v.kind
                return InC(self.scope().c(node), kind)
        raise Unsupported(f"a {type(node).__name__.lower()} in a tile")

    def truth(self, condition: ir.Expression) -> str:
        return self.scope().truth(condition)

    def arithmetic(self, function: str, arguments: Sequence[ir.Expression]) -> InC:
        """Numbers of a step first, then those of a row, so that few vectors are multiplied."""
        if function == "+":
            values = [self.value(a) for a in arguments]
            text = " + ".join(v.text for v in values)
        elif function == "/":
            values = [self.value(a) for a in arguments]
            text = " / ".join(v.text for v in values)
        else:
            values = sorted(self.factors(arguments), key=lambda v: (v.kind & VEC, v.kind))
            numbers = [v.text for v in values if not v.kind & VEC]
            vectors = [v.text for v in values if v.kind & VEC]
            text = " * ".join([*([f"({' * '.join(numbers)})"] if numbers else []), *vectors])
        kind = 0
        for v in values:
            kind |= v.kind
        return InC(f"({text})", kind)

    def factors(self, arguments: Sequence[ir.Expression]) -> list[InC]:
        """The factors of a product; what is no part of the state is multiplied once for all tiles."""
        every = flat("*", arguments)
        given = [f for f in every if self.folds and self.is_given(f)]
        numbers = [f for f in given if not self.kind(f)]
        found = []
        for kind in (VEC, ROW):
            own = [f for f in given if self.kind(f) == kind]
            together = [*numbers, *own] if own else []
            if len(together) > 1:
                found.append(self.fold(ir.Apply("*", tuple(together)), kind))
                every, numbers = [f for f in every if f not in together], []
        return [*map(self.value, every), *found]

    def is_given(self, node: ir.Expression) -> bool:
        """Whether a tile computes nothing of it."""
        return node.tensors().isdisjoint(self.names)

    def kind(self, node: ir.Expression) -> int:
        """Whether an expression has an element for each row, each column."""
        roles = {name for part in node.walk() for name in places_of(part)}
        return (ROW if self.tile.row in roles else 0) | (VEC if self.tile.vec in roles else 0)

    def fold(self, product: ir.Expression, kind: int) -> InC:
        """A product of which no factor is a part of the state: found once, for all steps."""
        if kind == VEC:
            name = self.panels.get(product) or self.fold_columns(product)
            row = self.once("const real *", "g", f"{name} + {SPAN_ROW}")
            return InC(f"load({row} + p * V)", kind)
        width = self.rows_all()
        at = f"{self.moment_number()} * {width}"
        if product not in self.folded:
            name = self.folded[product] = self.fresh("f")
            self.want(name, f"{self.c(self.tile.ranges[TIME][1], False)} * {width}")
            with self.elsewhere(self.before), self.steps():
                self.line("const long i0 = 0;")
                self.line("#pragma omp simd")
                with self.block(f"for (long r = 0; r < {width}; r++)"):
                    self.line(f"({name} + {at})[r] = {self.value(product).text};")
        row = self.once("const real *", "g", f"{self.folded[product]} + {at}")
        return InC(f"{row}[(i0 + r)]", kind)

    def fold_columns(self, product: ir.Expression) -> str:
        """A panel of a product."""
        name = self.panels[product] = self.fresh("f")
        self.want(name, f"{self.span()} * P * V")
        with (
            self.elsewhere(self.packing[False]),
            self.span_steps(),
            self.block("for (int p = 0; p < P; p++)"),
        ):
            self.line(f"store({name} + {SPAN_ROW} + p * V, {self.vector(product)});")
        return name

    # ---- what states are multiples of ----

    def fading(self, node: ir.Read) -> InC:
        """The multiple of a state at a step, or its inverse."""
        own = self.fadings[node.tensor]
        kind = self.fading_kind(own)
        name = self.fading_name(own, "D" if node.tensor == own.scale else "R")
        place = node.places[0]
        assert isinstance(place, ir.Affine)
        if place.terms:
            assert place.shift is not None
            at = self.moment_number(place.shift[1] + 1)
        else:
            at = f"({self.c(place.offset)} - {self.c(self.tile.ranges[TIME][0])} + 1)"
        row = self.once("const real *", "g", f"{name} + {at} * {self.fading_width(kind)}")
        if kind == VEC:
            return InC(f"load({row} + p * V)", kind)
        return InC(f"{row}[(i0 + r)]" if kind == ROW else f"{row}[0]", kind)

    def scope(self) -> CScope:
        indices = {
            TIME: "v", self.tile.row: "(i0 + r)", self.tile.vec: "(j0 + p * V + l)",
            **{name: f"e{n}" for n, name in enumerate(self.tile.outer)},
        }  # fmt: skip

        def read(node: ir.Read) -> str:
            value = self.read(node)
            if value.kind & VEC:
                raise Unsupported("a vector among numbers")
            return value.text

        return CScope(self.real, self.sizes, indices, read, {})

    def by_lanes(self, node: ir.Expression) -> InC:
        """A function of vectors, element by element in a loop that the compiler vectorises."""
        if node in self.memo:
            return InC(self.memo[node], VEC | ROW)
        operands: dict[ir.Expression, ir.Read] = {}
        texts: dict[str, str] = {}

        def marked(part: ir.Expression) -> ir.Expression:
            """A mark for what a function is of; conditions are looked into."""
            if isinstance(part, ir.Apply) and part.function in (*ir.COMPARISONS, "and"):
                return part.rebuild(marked)
            if part not in operands:
                operands[part] = ir.Read(f"°{len(operands)}")
                texts[operands[part].tensor] = self.in_lanes(self.value(part))
            return operands[part]

        function = node.rebuild(marked)
        scope = replace(self.scope(), read=lambda read: texts[read.tensor])
        result = self.fresh("f")
        self.line(f"real {result}_l[V] __attribute__((aligned(64)));")
        self.line("#pragma omp simd")
        self.line(f"for (long l = 0; l < V; l++) {result}_l[l] = {scope.c(function)};")
        self.line(f"const vec {result} = load({result}_l);")
        self.memo[node] = result
        return InC(result, VEC | ROW)

    def in_lanes(self, value: InC) -> str:
        """A value at the element l: of a vector, which is put where it can be looked at, or a number."""
        if not value.kind & VEC:
            return value.text
        name = self.fresh("f")
        self.line(f"const vec {name} = {value.text};")
        self.line(f"real {name}_l[V] __attribute__((aligned(64)));")
        self.line(f"store({name}_l, {name});")
        return f"{name}_l[l]"

    # ---- reads ----

    def read(self, node: ir.Read) -> InC:
        if node.tensor in self.names:
            return self.computed(node)
        if node.tensor in self.fadings:
            return self.fading(node)
        if node.tensor in self.code.constants:
            raise Unsupported("a constant with indices")
        if self.code.tensors[node.tensor].values is not None:
            raise Unsupported("tokens in a tile")
        return self.argument(node)

    def computed(self, node: ir.Read) -> InC:
        """A tensor of the tile: now, at the step before, or put down by the first sweep."""
        item = self.tile.item(node.tensor)
        name = self.names[node.tensor]
        place = node.places[item.left.index(TIME)]
        if isinstance(place, ir.Affine) and not place.terms:  # of the last step
            if item.kind == "state":
                return InC(f"{name}[r * P + p]", VEC | ROW)
            return InC(f"{name}[p]", VEC)
        offset = self.offset(node, item)
        if self.current.item(node.tensor) is None:
            way = offset * self.tile.sweeps[0].direction
            if abs(way) > 1 or (item.kind == "local" and way < 0):
                raise Unsupported(f"{node.tensor} is read far from its step")
            return InC(f"w{name}[((m + 1 + {way}) * {self.rows} + r) * P + p]", VEC | ROW)
        if item.kind == "local" and offset:  # computed for the other step as well
            lower, extent = self.tile.ranges[TIME]
            there = f"v + {offset} >= {self.c(lower)} && v + {offset} < {self.c(lower + extent)}"
            value = self.vector(moved(item.body, {TIME: ir.Affine.of(TIME, offset)}))
            return InC(f"({self.once('const int ', 'g', there)} ? {value} : (vec){{0}})", VEC | ROW)
        way = offset * self.current.direction
        if way not in (0, -1):
            raise Unsupported(f"{node.tensor} is read further back than a step")
        if item.kind in ("sum", "low"):
            return InC(f"{name}_n[p]" if way == 0 else f"{name}[p]", VEC)
        if way == 0:
            if item.target in self.ready:
                return InC(self.ready[item.target], VEC | ROW)
            return InC(f"{name}[r * P + p]", VEC | ROW)
        return InC(f"{name}_o" if item.target in self.ready else f"{name}[r * P + p]", VEC | ROW)

    def argument(self, node: ir.Read) -> InC:
        tile = self.tile
        tensor, batched = self.code.tensors[node.tensor], node.tensor not in self.same
        number = self.arguments.index(node.tensor)
        apart = f"q{number}" if batched and len(tensor.axes) > 1 else ""
        store = given_memory(f"t{number}", tensor, self.sizes, batched, apart)
        base = [c_product("b", store.member_stride)] if batched else []
        row = vec = step = late = ""
        guards: list[str] = []
        walked: tuple[int, ir.Axis] | None = None
        outer = {name: f"e{n}" for n, name in enumerate(tile.outer)}
        for place, axis, stride in zip(node.places, tensor.axes, store.strides, strict=True):
            if not isinstance(place, ir.Affine):
                raise Unsupported(f"{node.tensor} is read at a computed place")
            assert stride is not None
            if not place.terms:
                base.append(c_product(self.c(place.offset - axis.lower), stride))
                at = self.c(place.offset)
                low = (place.offset - axis.lower).number
                if low is None:
                    raise Unsupported(f"{node.tensor} may be read outside its range")
                if low < 0:
                    return InC(self.scope().number(0.0), 0)
                guards.append(f"{at} < {self.c(axis.lower + axis.extent)}")
                continue
            if place.shift is None:
                raise Unsupported(f"{node.tensor} is read at a sum of indices")
            role, shift = place.shift
            if role == TIME:
                if walked is not None:
                    raise Unsupported(f"{node.tensor} is read at two steps at once")
                step, walked = stride, (shift, axis)
                at = f"(v + {shift} - {self.c(axis.lower)})"
                if shift or axis.range != tile.ranges[TIME]:
                    late = f"{at} >= 0 && {at} < {self.c(axis.extent)}"
                continue
            if shift or axis.range != tile.ranges.get(role):
                raise Unsupported(f"{node.tensor} is read at another element")
            if role == tile.row and not row:
                row = stride
            elif role == tile.vec and not vec:
                vec = stride
            elif role in outer:
                base.append(c_product(outer[role], stride))
            else:
                raise Unsupported(f"{node.tensor} is read along its diagonal")
        start = f"t{number} + {c_sum(base)}" if base else f"t{number}"
        kind = (ROW if row else 0) | (VEC if vec else 0)
        moment = f"(v + {walked[0]} - {self.c(walked[1].lower)})" if walked else ""
        if late and not (vec and self.blocks):  # there a panel has zeros
            guards.append(late)
        if not vec:
            return self.scalar(start, moment, step, row, guards, kind)
        panel = self.panel(start, step, walked, row, vec)
        own = f"P * V * {self.rows}" if row else "P * V"
        address = f"{panel} + {'(v - from)' if self.blocks else moment} * {own}" if step else panel
        if guards:
            vectors = f"{self.rows_all()} * P" if self.tile.coupled else str(TILE)
            self.zeros.append(f"{vectors} * V")
            address = f"({' && '.join(guards)}) ? {address} : zero"
        pointer = self.once("const real *", "g", address)
        return InC(f"load({pointer} + {'r * P * V + ' if row else ''}p * V)", kind)

    def scalar(
        self, start: str, moment: str, step: str, row: str, guards: Sequence[str], kind: int
    ) -> InC:
        address = f"{start} + {c_product(moment, step)}" if step else start
        pointer = self.once("const real *", "g", address)
        element = f"{pointer}[{c_product('(i0 + r)', row)}]" if row else f"{pointer}[0]"
        if guards:
            sure = self.once("const int ", "g", " && ".join(guards))
            element = f"({sure} ? {element} : 0)"
        return InC(element, kind)

    def panel(
        self, start: str, step: str, walked: tuple[int, ir.Axis] | None, row: str, vec: str
    ) -> str:
        """A copy of what some columns read, one step after the other, zeros behind the last column."""
        shift, axis = walked if walked else (0, None)
        key = (start, step, row, vec, shift if self.blocks else 0)
        if key in self.panels:
            return self.panels[key]
        name = self.fresh("m" if row else "u")
        self.panels[key] = name
        count, steps = (self.c(axis.extent, own) if axis else "1" for own in (False, True))
        there = "width"
        if axis and self.blocks:
            first = f"from + {shift} - {self.c(axis.lower)}"
            there = f"{first} + k >= 0 && {first} + k < {steps} ? width : 0"
            count, steps, start = "BLOCK", "span", f"{start} + {c_product(f'({first})', step)}"
        rows = self.rows if row else "1"
        widest = (self.rows_all() if self.tile.coupled else str(TILE)) if row else "1"
        self.want(name, f"{count} * {widest} * P * V")
        source = [
            start,
            c_product("k", step) if step else "",
            c_product("(i0 + r)", row) if row else "",
        ]
        source += [c_product("(j0 + l)", vec)]
        text = " + ".join(x for x in source if x)
        self.packing[bool(row)].append(
            f"for (long k = 0; k < {steps}; k++) for (long r = 0; r < {rows}; r++) {{ "
            f"real *to = {name} + (k * {rows} + r) * P * V; const long there = {there}; "
            f'_Pragma("omp simd") for (long l = 0; l < there; l++) to[l] = *({text}); '
            "for (long l = there; l < P * V; l++) to[l] = 0; }"
        )
        return name
