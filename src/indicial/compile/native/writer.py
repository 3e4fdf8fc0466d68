"""Writing the lines of a kernel: loops over members and indices, rows that are read and written.

    const real *restrict r9 = (v - 1 >= 0) ? t6 + b * (256 * n0) + (v - 1) * 256 : zero;

What does not change within a step, the address of a row, is found before the loop over its
elements; beyond its range a tensor is read from a row of zeros, or from its start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from indicial.compile.native import storage
from indicial.compile.native.c import Scope, Sizes
from indicial.compile.native.scan import Unsupported
from indicial.compile.native.stages import Body, Fused, Matmul, Stage
from indicial.compile.native.storage import Store, times, total
from indicial.program.ir import Affine, Axis, Flat, Gather, Index, Read, Statement
from indicial.program.sizes import Size


@dataclass
class KernelPlan:
    """What to write: the loop's stages, what is kept of them, and what is known of the sizes."""

    body: Body
    stages: Sequence[Stage]
    arguments: Sequence[str]
    kept: Sequence[str]
    starts: Mapping[str, Sequence[tuple[Size, str]]]
    """For each tensor: at which places outside its range it begins, and the argument with it."""
    direction: int
    lower: Size
    extent: Size
    sizes: Sizes
    real: str
    constants: Mapping[str, float] = field(default_factory=dict)
    within: Mapping[str, Within] = field(default_factory=dict)


@dataclass(frozen=True)
class Within:
    """A tensor of the loop that lies in an argument, behind what is there: a cache that grows.

    `layer` is which element of the argument's first axis it is, None if it is all of it; `axis` the
    one of its own axes along which the argument has room for more than is used.
    """

    argument: str
    layer: int | None
    axis: int


class Writer:
    """The lines so far, and where everything is."""

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan
        self.body = plan.body
        self.sizes = plan.sizes
        self.real = plan.real
        self.lines: list[str] = []
        self.depth = 1
        self.scratch: list[tuple[str, str]] = []
        """Memory of each part: a name, and how many numbers."""
        self.zeros: list[str] = ["1"]
        """How long the row of zeros must be: each of these at least."""
        self.packing: list[str] = []
        self.packed: list[tuple[str, str, str]] = []
        """The weights of each product: a name, how many rows, how many columns."""
        self.rows: dict[str, str] = {}
        self.registers: dict[str, str] = {}
        """Of the tensors of this step that are at hand: the variable."""
        self.bound: tuple[Index, ...] = ()
        """The indices at the point of writing, with their ranges."""
        self.count = 0
        self.stores: dict[str, Store] = {}
        self._place_tensors()

    # ---- where tensors are ----

    def _place_tensors(self) -> None:
        code = self.body.code
        for number, name in enumerate((*self.plan.arguments, *self.plan.kept)):
            batched = name not in self.body.unbatched
            tensor = code.tensors[name]
            row = f"q{number}" if batched and len(tensor.axes) > 1 else ""
            self.stores[name] = storage.argument(f"t{number}", tensor, self.sizes, batched, row)
        for place in self.plan.within.values():
            number = list(self.plan.arguments).index(place.argument)
            strides, member = self._roomy(number, place.axis - 1 + (place.layer is not None))
            self.stores[place.argument] = Store(f"t{number}", "b", member, tuple(strides))
        for name, place in self.plan.within.items():
            self.stores[name] = self._within(place)
        multiplied = {
            output.statement.target
            for stage in self.plan.stages
            if isinstance(stage, Matmul)
            for output in stage.outputs
        }
        for statement in self.body.statements:
            name = statement.target
            if name in self.stores:
                continue
            walked, slots = self.body.axes[name], self._reach(name) + 1
            if name not in multiplied or slots > 1:
                pointer = f"s{len(self.scratch)}"
                store = storage.ring(pointer, code.tensors[name], self.sizes, walked, slots)
                self.scratch.append((pointer, times("members", str(slots), store.member_stride)))
                self.stores[name] = store

    def _within(self, place: Within) -> Store:
        """Where a tensor that grows lies: what there is room for comes in place of a row's length."""
        number = list(self.plan.arguments).index(place.argument)
        layers = 0 if place.layer is None else 1
        strides, member = self._roomy(number, place.axis - 1 + layers)
        pointer = f"t{number}"
        if place.layer is not None:
            pointer = f"({pointer} + {times(str(place.layer), strides[0])})"
        return Store(pointer, "b", member, (None, *strides[layers:]))

    def _roomy(self, number: int, axis: int) -> tuple[list[str], str]:
        """The strides of an argument that has room for more than is used along an axis."""
        axes = self.body.code.tensors[self.plan.arguments[number]].axes
        extents = [self.c(a.extent) for a in axes]
        extents[axis] = f"q{number}"
        return storage.row_major(extents), times(*extents)

    def _reach(self, name: str) -> int:
        """How many steps away a tensor is read."""
        furthest = 0
        here = self.left_place(name)
        for statement in self.body.statements:
            for node in statement.body.walk():
                if isinstance(node, Read) and node.tensor == name:
                    place = node.places[self.body.axes[name]]
                    assert isinstance(place, Affine)
                    number = (place.offset - here.offset).number
                    if place.terms != here.terms or number is None:
                        raise Unsupported(f"{name} is read at steps that differ, and not kept")
                    furthest = max(furthest, abs(int(number)))
        return furthest

    def left_place(self, name: str) -> Affine:
        """Where a tensor is written at this step."""
        for statement in self.body.statements:
            if statement.target == name:
                place = statement.left[self.body.axes[name]]
                assert isinstance(place, Affine)
                return place
        raise KeyError(name)

    def is_now(self, node: Read) -> bool:
        """Whether a read is of what this very step computes."""
        axis = self.body.axes.get(node.tensor)
        return axis is not None and node.places[axis] == self.left_place(node.tensor)

    def stored(self, name: str, group: Sequence[Statement]) -> bool:
        """Whether anybody but this group reads a tensor, so that it must be in memory."""
        if name in self.plan.kept:
            return True
        inside = {id(s) for s in group}
        for stage in self.plan.stages:
            if isinstance(stage, Matmul):
                if any(operand.tensor == name for operand in stage.operands):
                    return True
                continue
            for other in stage.statements if isinstance(stage, Fused) else (stage.statement,):
                reads = [n for n in other.body.walk() if isinstance(n, Read) and n.tensor == name]
                if any(id(other) not in inside or not self.is_now(n) for n in reads):
                    return True
        return False

    # ---- lines ----

    def c(self, size: Size, member: bool = False) -> str:
        return self.sizes.c(size, member)

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def comment(self, text: str) -> None:
        self.line(f"/* {text.replace('*/', '* /')} */")

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head + " {")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    @contextmanager
    def aside(self, depth: int) -> Iterator[list[str]]:
        """Lines for another place."""
        before, self.lines = self.lines, []
        depth_before, self.depth = self.depth, depth
        yield self.lines
        self.lines, self.depth = before, depth_before

    @contextmanager
    def members(self, *writes: Statement) -> Iterator[None]:
        """For each member of the part; one that has ended leaves zeros in what is written."""
        with self.block("for (long b = first; b < last; b++)"):
            self.line("const long m = b - first; (void)m;")
            for name in sorted(self.sizes.ragged):
                variable = self.sizes.variable(name)
                self.line(f"const long {variable}_b = lengths_{variable}[b]; (void){variable}_b;")
            self.rows = {}
            when = self._when(writes[0]) if writes else None
            if when is not None:
                with self.block(f"if (!({when}))"):
                    for statement in writes:
                        self._blank(statement)
                    self.line("continue;")
            yield
            self.rows = {}

    def _when(self, statement: Statement) -> str | None:
        """When a statement runs, if that is not at every step and for every member."""
        index = next(i for i in statement.indices if i.name == self.body.variable)
        whole = (index.lower, index.extent) == (self.plan.lower, self.plan.extent)
        if whole and not self.sizes.varies(index.lower + index.extent):
            return None
        low, high = self.c(index.lower, True), self.c(index.lower + index.extent, True)
        return f"v >= {low} && v < {high}"

    def _blank(self, statement: Statement) -> None:
        if statement.target not in self.plan.kept:
            return
        own = self.body.inner_indices(statement)
        names = {i.name: self.fresh("i") for i in own}
        # A tensor may have no place for a step of the loop: δ[1..L] in one that goes down to 0.
        axis = self.body.code.tensors[statement.target].axes[self.body.axes[statement.target]]
        step = self._target_step(statement)
        with self.block(f"if ({step} >= 0 && {step} < {self.c(axis.extent)})"):
            row = self.target_row(statement)
            element = f"{row}[{self.target_place(statement, names)}]"
            self.nest(own, names, [f"{element} = 0;"], simd=False)

    def nest(
        self,
        indices: Sequence[Index],
        names: Mapping[str, str],
        inside: Sequence[str],
        simd: bool | str = True,
    ) -> None:
        """Loops over the indices around some lines, the last one vectorised (`simd`: how)."""
        for number, index in enumerate(indices):
            if simd and number == len(indices) - 1:
                self.line("#pragma omp simd" + (simd if isinstance(simd, str) else ""))
            self.line(self.loop_head(index, names[index.name]) + " {")
            self.depth += 1
        if not indices:
            self.line("{")
            self.depth += 1
        for line in inside:
            self.line(line)
        for _ in range(max(1, len(indices))):
            self.depth -= 1
            self.line("}")

    def loop_head(self, index: Index, name: str) -> str:
        low, high = self.c(index.lower, True), self.c(index.lower + index.extent, True)
        return f"for (long {name} = {low}; {name} < {high}; {name}++)"

    def flat(self, indices: Sequence[Index], names: Mapping[str, str]) -> str:
        """The place of some indices in a row of all of them."""
        strides = storage.row_major([self.c(i.extent) for i in indices])
        return total([
            times(self._from(names[i.name], i.lower), stride)
            for i, stride in zip(indices, strides, strict=True)
        ])  # fmt: skip

    def _from(self, text: str, lower: Size) -> str:
        return text if lower == Size() else f"({text} - {self.c(lower, True)})"

    # ---- reads and writes ----

    def scope(self, names: Mapping[str, str]) -> Scope:
        """How expressions are written here; rows that they read are found by lines before."""
        known = {self.body.variable: "v", **names}
        return Scope(
            self.real, self.sizes, known, lambda n: self.read(n, known), self.plan.constants
        )

    def rows_first(self, write: Callable[[], None]) -> list[str]:
        """The lines that something writes; the rows that it reads are written at once."""
        with self.aside(0) as own:
            write()
        for line in own:
            if _is_row(line):
                self.line(line)
        return [line for line in own if not _is_row(line)]

    def read(self, node: Read, names: Mapping[str, str]) -> str:
        """An element: a variable, or a place in a row."""
        if node.tensor in self.registers and self.is_now(node):
            return self.registers[node.tensor]
        row, inner = self._row(node)
        axes = self.body.code.tensors[node.tensor].axes
        place_of = Scope(self.real, self.sizes, names, lambda _: "", {}).place
        parts, guards = [], []
        for number in inner:
            place, axis = node.places[number], axes[number]
            assert isinstance(place, Affine)
            text = place_of(place)
            parts.append(times(self._from(text, axis.lower), self._stride(node.tensor, number)))
            if self._surely_inside(place, axis):
                continue
            if number == self.body.axes.get(node.tensor) and self.outer_starts(node.tensor):
                raise Unsupported(f"{node.tensor} is read at many steps, its start among them")
            guards.append(self._inside(text, axis))
        element = f"{row}[{total(parts)}]"
        return f"({' && '.join(guards)} ? {element} : 0)" if guards else element

    def _stride(self, tensor: str, axis: int) -> str:
        stride = self.stores[tensor].strides[axis]
        assert stride is not None
        return stride

    def _row(self, node: Read) -> tuple[str, list[int]]:
        """The address that does not change within a step, and the axes that are still to come."""
        tensor = self.body.code.tensors[node.tensor]
        store = self.stores[node.tensor]
        place_of = Scope(self.real, self.sizes, {self.body.variable: "v"}, lambda _: "", {}).place
        outer, inner, guards, step, there = [], [], [], "", ""
        for number, (place, axis) in enumerate(zip(node.places, tensor.axes, strict=True)):
            if isinstance(place, Gather):
                token = self._token(place.read)
                outer.append((number, token))
                guards.append(f"{token} >= 0")
                continue
            if not isinstance(place, Affine):
                raise Unsupported(f"{node.tensor} is read at several indices in one place")
            if any(name != self.body.variable for name, _ in place.terms):
                inner.append(number)
                continue
            text = place_of(place)
            outer.append((number, self._from(text, axis.lower)))
            inside = "" if self._surely_inside(place, axis) else self._inside(text, axis)
            if number == self.body.axes.get(node.tensor):
                step, there = text, inside
            elif inside:
                guards.append(inside)
        address = store.base(outer, step)
        if there:
            address = f"({there}) ? {address} : {self._outside(node, step, outer)}"
        if guards:
            address = f"({' && '.join(guards)}) ? ({address}) : zero"
        if guards or there:
            reach = [
                times(self.c(tensor.axes[n].extent), self._stride(node.tensor, n)) for n in inner
            ]
            self.zeros.append(total([*reach, "1"]))
        if address not in self.rows:
            self.rows[address] = self.fresh("r")
            self.line(f"const real *restrict {self.rows[address]} = {address};")
        return self.rows[address], inner

    def _token(self, read: Read) -> str:
        """A token of this member, which is the same for the whole row."""
        place_of = Scope(self.real, self.sizes, {self.body.variable: "v"}, lambda _: "", {}).place
        axes = self.body.code.tensors[read.tensor].axes
        outer, guards = [], []
        for number, (place, axis) in enumerate(zip(read.places, axes, strict=True)):
            if not isinstance(place, Affine):
                raise Unsupported(f"{read.tensor} is read at a place that varies")
            text = place_of(place)
            outer.append((number, self._from(text, axis.lower)))
            if not self._surely_inside(place, axis):
                guards.append(self._inside(text, axis))
        store = self.stores[read.tensor]
        address = replace(store, pointer=f"((const int64_t *){store.pointer})").base(outer)
        value = f"({' && '.join(guards)}) ? *({address}) : -1" if guards else f"*({address})"
        if value not in self.rows:
            self.rows[value] = self.fresh("k")
            self.line(f"const long {self.rows[value]} = {value};")
        return self.rows[value]

    def _outside(self, node: Read, step: str, outer: Sequence[tuple[int, str]]) -> str:
        """What is read beyond the steps: the start, if there is one, else zeros.

        `outer` has the other axes that are read at one place; a start has all but the steps.
        """
        text = "zero"
        walked = self.body.axes.get(node.tensor, 0)
        rest = [(n - (n > walked), at) for n, at in outer if n != walked]
        for place, name in self.outer_starts(node.tensor):
            text = f"{step} == {self.c(place, True)} ? {self.stores[name].base(rest)} : {text}"
        return text

    def outer_starts(self, name: str) -> list[tuple[Size, str]]:
        """The starts of a tensor that lie outside its range: `h[-1,j]`."""
        return [s for s in self.plan.starts.get(name, ()) if not self._is_inner(name, s[0])]

    def inner_starts(self) -> list[tuple[str, Size, str]]:
        """The starts that are elements like others: `h[0,j]` where the steps go from 1."""
        return [
            (name, place, argument)
            for name, starts in self.plan.starts.items()
            for place, argument in starts
            if self._is_inner(name, place)
        ]

    def _is_inner(self, name: str, place: Size) -> bool:
        axis = self.body.code.tensors[name].axes[self.body.axes[name]]
        low, high = (place - axis.lower).number, (place - axis.lower - axis.extent).number
        if low is not None and low < 0:
            return False
        if high is not None and high >= 0:
            return False
        if low is None and high is None:
            raise Unsupported(f"{name} starts at {place}, which may be inside its range or not")
        return True

    def begun(
        self, statement: Statement, own: Sequence[Index], names: Mapping[str, str], value: str
    ) -> str:
        """A value, or the start where this step is one: an equation with a number wins."""
        left = self.left_place(statement.target)
        for name, place, argument in self.inner_starts():
            if name == statement.target:
                address = self.stores[argument].base([])
                if address not in self.rows:
                    self.rows[address] = self.fresh("r")
                    self.line(f"const real *restrict {self.rows[address]} = {address};")
                start = f"{self.rows[address]}[{self.flat(own, names)}]"
                value = f"(v == {self.c(place - left.offset, True)} ? {start} : {value})"
        return value

    def write_inner_starts(self) -> None:
        """Put such starts where the steps look for them, before the first one."""
        for name, place, argument in self.inner_starts():
            walked = self.body.axes[name]
            tensor = self.body.code.tensors[name]
            others = [a for n, a in enumerate(tensor.axes) if n != walked]
            indices = [Index(f"{a.letter}°{n}", a.lower, a.extent) for n, a in enumerate(others)]
            names = {i.name: self.fresh("i") for i in indices}
            with self.members():
                at = self.c(place, True)
                step = self._from(at, tensor.axes[walked].lower)
                base = self.stores[name].base([(walked, step)], at)
                row = self.fresh("o")
                self.line(f"real *{row} = {base};")
                inner = [n for n in range(len(tensor.axes)) if n != walked]
                parts = [
                    times(self._from(names[i.name], i.lower), self._stride(name, n))
                    for n, i in zip(inner, indices, strict=True)
                ]
                source = self.fresh("r")
                self.line(f"const real *{source} = {self.stores[argument].base([])};")
                value = f"{source}[{self.flat(indices, names)}]"
                self.nest(indices, names, [f"{row}[{total(parts)}] = {value};"])

    def _inside(self, text: str, axis: Axis) -> str:
        low, high = self.c(axis.lower, True), self.c(axis.lower + axis.extent, True)
        return f"{text} >= {low} && {text} < {high}"

    def _surely_inside(self, place: Affine, axis: Axis) -> bool:
        """Whether a place is in a range whatever the sizes are: an index over that very range."""
        if not place.terms:
            low, high = (place.offset - axis.lower).number, (axis.extent - 1 - place.offset).number
            return low is not None and high is not None and low >= 0 and high >= 0
        index = next((i for i in self.bound if place.terms == ((i.name, 1),)), None)
        if index is None:
            return False
        first = index.lower + place.offset - axis.lower
        low, high = first.number, (axis.extent - index.extent - first).number
        return low is not None and high is not None and low >= 0 and high >= 0

    def target_row(self, statement: Statement) -> str:
        """Where this step's values of a tensor go."""
        walked = self.body.axes[statement.target]
        step = [(walked, self._target_step(statement))]
        base = self.stores[statement.target].base(step, self._target_index(statement))
        row = self.fresh("o")
        self.line(f"real *restrict {row} = {base};")
        return row

    def _target_index(self, statement: Statement) -> str:
        """The index at which this step writes."""
        place = statement.left[self.body.axes[statement.target]]
        assert isinstance(place, Affine)
        return Scope(self.real, self.sizes, {self.body.variable: "v"}, lambda _: "", {}).place(
            place
        )

    def _target_step(self, statement: Statement) -> str:
        """The same, counted from the tensor's first one."""
        axis = self.body.code.tensors[statement.target].axes[self.body.axes[statement.target]]
        return self._from(self._target_index(statement), axis.lower)

    def target_place(self, statement: Statement, names: Mapping[str, str]) -> str:
        """The element of that row."""
        place_of = Scope(self.real, self.sizes, names, lambda _: "", {}).place
        parts = []
        axes = self.body.code.tensors[statement.target].axes
        for number, (place, axis) in enumerate(zip(statement.left, axes, strict=True)):
            if number != self.body.axes[statement.target]:
                if isinstance(place, Flat):
                    text = f"({self.flat(place.indices, names)})"
                else:
                    text = self._from(place_of(place), axis.lower)
                parts.append(times(text, self._stride(statement.target, number)))
        return total(parts)


def _is_row(line: str) -> bool:
    return line.startswith(("const real *restrict r", "const long k"))
