"""What a kernel is written from: the stages of its loop, and what is known beside them.

plan = KernelPlan(body, stages, ["x", "W", "h^{start}"], kept=["h"], starts=…, …)
plan.is_stored("R", group)       whether R must be in memory, or stays in a register
plan.reach("h")                  1: it is read at most one step away
plan.outer_starts("h")           [(-1, "h^{start}")]

Where each tensor of a kernel lives, and how to get at an element.

    argument, kept       [member][axes …]         PyTorch's memory; rows may have gaps between them
    ring                 [slot][member][axes …]   only as many steps as a read reaches back
    column               [member][columns]        a part of the result of a matrix product

An address is the sum of each place times its stride; strides are C, or numbers where sizes are.

The tensors of a kernel → where each of them lies.

x, W, h^{start}     arguments          t0, t1, t2
h                   kept               t3
R                   read in its step   s0, one slot: memory of the part
R^{(1)}             a product          columns of its result, when that is written (`text.py`)

Writing the lines of a kernel: blocks, loops over indices, variables with fresh names.

    w.nest([j], {"j": "i4"}, ["o1[i4] = 0;"])

    #pragma omp simd
    for (long i4 = 0; i4 < 256; i4++) {
      o1[i4] = 0;
    }

How an element is read, and how one is written, is in `rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from indicial.compile.native.reading.body import Body, Starts, begun_with, is_inside
from indicial.compile.native.reading.stages import Fused, Matmul, Single, Stage, every_stage
from indicial.compile.native.writing.c import CSizes, Lines
from indicial.compile.passes.scan import Unsupported
from indicial.program.ir import Affine, Index, Read, Statement, Tensor
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Within:
    """A tensor of the loop that lies in an argument, behind what is there: a cache that grows.

    `layer` is which element of the argument's first axis it is, None if it is all of it; `axis` the
    one of its own axes along which the argument has room for more than is used.
    """

    argument: str
    layer: int | None
    axis: int


@dataclass
class KernelPlan:
    """What to write: the loop's stages, what is kept of them, and what is known of the sizes."""

    body: Body
    stages: Sequence[Stage]
    arguments: Sequence[str]
    kept: Sequence[str]
    starts: Starts
    direction: int
    lower: Size
    extent: Size
    sizes: CSizes
    real: str
    constants: Mapping[str, float] = field(default_factory=dict)
    within: Mapping[str, Within] = field(default_factory=dict)

    def is_even(self) -> bool:
        """Whether each of several steps can be computed without the others, and has no products."""
        plain = all(isinstance(stage, Fused | Single) for stage in self.stages)
        whole = not self.starts and not self.sizes.ragged and self.extent.number is None
        reads = (r for s in self.body.statements for r in s.reads() if r.tensor in self.body.axes)
        return plain and whole and all(map(self.body.is_now, reads))

    def is_stored(self, name: str, group: Sequence[Statement]) -> bool:
        """Whether anybody but this group reads a tensor, so that it must be in memory."""
        if name in self.kept:
            return True
        inside = {s.number for s in group}
        for stage in every_stage(self.stages):
            if isinstance(stage, Matmul):
                if any(operand.tensor == name for operand in stage.operands):
                    return True
                continue
            for other in stage.statements if isinstance(stage, Fused) else (stage.statement,):
                reads = [n for n in other.body.every(Read) if n.tensor == name]
                if any(other.number not in inside or not self.body.is_now(n) for n in reads):
                    return True
        return False

    def reach(self, name: str) -> int:
        """How many steps away a tensor is read."""
        furthest = 0
        here = self.body.left_place(name)
        for statement in self.body.statements:
            for node in statement.body.every(Read):
                if node.tensor == name:
                    place = node.places[self.body.axes[name]]
                    assert isinstance(place, Affine)
                    number = (place.offset - here.offset).number
                    if place.terms != here.terms or number is None:
                        raise Unsupported(f"{name} is read at steps that differ, and not kept")
                    furthest = max(furthest, abs(int(number)))
        return furthest

    def only_now(self, name: str) -> bool:
        """Whether a tensor is read only where, and when, it is computed."""
        reads = (n for s in self.body.statements for n in s.body.every(Read) if n.tensor == name)
        return all(self.body.is_now(n) for n in reads)

    def outer_starts(self, name: str) -> list[tuple[Size, str]]:
        """The starts of a tensor that lie outside its range: `h[-1,j]`."""
        return [s for s in self.starts.get(name, ()) if not self._is_inner(name, s[0])]

    def inner_starts(self) -> list[tuple[str, Size, str]]:
        """The starts that are elements like others: `h[0,j]` where the steps go from 1."""
        return [
            (name, place, argument)
            for name, starts in self.starts.items()
            for place, argument in starts
            if self._is_inner(name, place)
        ]

    def _is_inner(self, name: str, place: Size) -> bool:
        axis = self.body.code.tensors[name].axes[self.body.axes[name]]
        return is_inside(name, place, axis, self.direction)


def c_product(*factors: str) -> str:
    """A product in C, numbers multiplied out: `c_product("4", "n0", "8")` → `32 * n0`."""
    number, names = 1, []
    for factor in factors:
        if factor.isdigit():
            number *= int(factor)
        else:
            names.append(factor)
    if number == 0:
        return "0"
    parts = ([str(number)] if number != 1 or not names else []) + names
    return " * ".join(parts)


def c_sum(parts: Sequence[str]) -> str:
    """A sum in C."""
    kept = [p for p in parts if p != "0"]
    return " + ".join(kept) if kept else "0"


@dataclass(frozen=True)
class Memory:
    """One tensor's memory. `walked` is the axis that the loop walks, None for most arguments.

    A stride of None belongs to an axis that is not stored: the walked one of a ring.
    """

    pointer: str
    member: str
    member_stride: str
    strides: tuple[str | None, ...]
    slots: int = 0
    slot_stride: str = "0"

    def base(self, places: Sequence[tuple[int, str]], step: str = "") -> str:
        """The address of an element whose other places are 0: `t3 + b * 512 + (v - 1) * 256`."""
        parts = [c_product(self.member, self.member_stride) if self.member_stride != "0" else "0"]
        if self.slots > 1:
            parts.append(c_product(f"slot({step}, {self.slots})", self.slot_stride))
        for axis, text in places:
            stride = self.strides[axis]
            if stride is not None:
                parts.append(c_product(f"({text})", stride))
        offset = c_sum(parts)
        return self.pointer if offset == "0" else f"{self.pointer} + {offset}"


def row_major(extents: Sequence[str]) -> list[str]:
    """The stride of each axis: `["n0", "256"]` → `["256", "1"]`."""
    strides = ["1"]
    for extent in reversed(extents[1:]):
        strides.append(c_product(extent, strides[-1]))
    return strides[::-1][: len(extents)] if extents else []


def given_memory(
    pointer: str, tensor: Tensor, sizes: CSizes, batched: bool, row: str = ""
) -> Memory:
    """A tensor in PyTorch's memory; `row` is how far apart its rows are, if they have gaps."""
    extents = [sizes.c(axis.extent) for axis in tensor.axes]
    strides = row_major(extents)
    member = c_product(*extents) if batched else "0"
    if row:
        strides[0], member = row, c_product(extents[0], row)
    return Memory(pointer, "b", member, tuple(strides))


def ring(pointer: str, tensor: Tensor, sizes: CSizes, walked: int, slots: int) -> Memory:
    """The last steps of a tensor that nobody else needs."""
    strides, width = _without_steps(tensor, sizes, [walked])
    return Memory(pointer, "m", width, strides, slots, c_product("members", width))


def column(
    pointer: str,
    offset: str,
    width: str,
    tensor: Tensor,
    sizes: CSizes,
    walked: Sequence[int],
    rows: Sequence[int],
) -> Memory:
    """A tensor that is some columns of a product's result; `rows` are axes that are not in the columns."""
    strides = list(_without_steps(tensor, sizes, [*walked, *rows])[0])
    extents = [sizes.c(tensor.axes[n].extent) for n in rows]
    for n, stride in zip(rows, row_major(extents), strict=True):
        strides[n] = c_product(stride, width)
    place = pointer if offset == "0" else f"({pointer} + {offset})"
    return Memory(place, "m", c_product(*extents, width), tuple(strides))


def _without_steps(
    tensor: Tensor, sizes: CSizes, walked: Sequence[int]
) -> tuple[tuple[str | None, ...], str]:
    """The strides of what one member has at one step, and how many elements that is."""
    extents = [sizes.c(a.extent) for n, a in enumerate(tensor.axes) if n not in walked]
    inner = iter(row_major(extents))
    strides = tuple(None if n in walked else next(inner) for n in range(len(tensor.axes)))
    return strides, c_product(*extents)


def place_tensors(plan: KernelPlan) -> tuple[dict[str, Memory], list[tuple[str, str]]]:
    """Where the tensors are, and the memory that each part needs: names, and how many numbers."""
    stores = _given(plan)
    scratch: list[tuple[str, str]] = []
    multiplied = {
        output.statement.target
        for stage in every_stage(plan.stages)
        if isinstance(stage, Matmul)
        for output in stage.outputs
    }
    for statement in plan.body.statements:
        name = statement.target
        if name in stores:
            continue
        slots = plan.reach(name) + 1
        if name not in multiplied or not plan.only_now(name):
            pointer, tensor = f"s{len(scratch)}", plan.body.code.tensors[name]
            store = ring(pointer, tensor, plan.sizes, plan.body.axes[name], slots)
            scratch.append((pointer, c_product("members", str(slots), store.member_stride)))
            stores[name] = store
    return stores, scratch


def _given(plan: KernelPlan) -> dict[str, Memory]:
    """The tensors in memory that the kernel is given."""
    stores: dict[str, Memory] = {}
    begun = begun_with(plan.starts)
    for number, name in enumerate((*plan.arguments, *plan.kept)):
        batched = name not in plan.body.unbatched
        tensor = plan.body.code.tensors[name]
        row = f"q{number}" if batched and len(tensor.axes) > 1 and name not in begun else ""
        stores[name] = given_memory(f"t{number}", tensor, plan.sizes, batched, row)
    for name, place in plan.within.items():
        stores[place.argument], stores[name] = _growing(plan, place)
    return stores


def _growing(plan: KernelPlan, place: Within) -> tuple[Memory, Memory]:
    """An argument that has room for more than is used along an axis, and a tensor in it.

    What there is room for comes in place of a row's length.
    """
    number = list(plan.arguments).index(place.argument)
    layers = 0 if place.layer is None else 1
    extents = [plan.sizes.c(a.extent) for a in plan.body.code.tensors[place.argument].axes]
    extents[place.axis - 1 + layers] = f"q{number}"
    strides, member = row_major(extents), c_product(*extents)
    pointer = own = f"t{number}"
    if place.layer is not None:
        own = f"({pointer} + {c_product(str(place.layer), strides[0])})"
    return (
        Memory(pointer, "b", member, tuple(strides)),
        Memory(own, "b", member, (None, *strides[layers:])),
    )


class Writer(Lines):
    """The lines so far, and where everything is."""

    def __init__(self, plan: KernelPlan) -> None:
        super().__init__()
        self.plan = plan
        self.body = plan.body
        self.sizes = plan.sizes
        self.real = plan.real
        self.stores, self.scratch = place_tensors(plan)
        """Where tensors are, and the memory that each part has for some of them."""
        self.packing: list[str] = []
        self.packed: list[tuple[str, str, str, str]] = []
        """The weights of each product: a name, how many rows, how many columns, how many of these."""
        self.registers: dict[str, str] = {}
        """Of the tensors of this step that are at hand: the variable."""
        self.versions: dict[str, str] | None = None
        """The conditions of which the loop that is written has versions, and what they are called in it."""
        self.bound: tuple[Index, ...] = ()
        """The indices at the point of writing, with their ranges."""

    # ---- lines ----

    def comment(self, text: str) -> None:
        self.line(f"/* {text.replace('*/', '* /')} */")

    def row(self, address: str) -> str:
        """A row that is read: its address in a variable, which is found once for each member."""
        return self.once("const real *restrict ", "r", address)

    def token(self, value: str) -> str:
        """A token of the member, likewise."""
        return self.once("const long ", "k", value)

    def version(self, condition: str) -> str:
        """A condition that holds for a whole loop or not at all: a number by the version of the loop."""
        if self.versions is None or (condition not in self.versions and len(self.versions) == 2):
            return condition
        return self.versions.setdefault(condition, f"c{len(self.versions)}")

    # ---- blocks and loops ----

    def in_versions(self, write: Callable[[], None]) -> None:
        """The lines that something writes, once for each outcome of the conditions that it has met.

        Compilers give up on loops in which an element is chosen by what is the same for all of them.
        """
        if not self.versions:
            self.versions = None
            write()
            return
        condition, *_ = self.versions
        name = self.versions.pop(condition)
        rest = dict(self.versions)
        for head, value in (f"if ({condition})", 1), ("else", 0):
            self.versions = dict(rest)
            with self.block(head):
                self.line(f"enum {{ {name} = {value} }};")
                self.in_versions(write)

    @contextmanager
    def loops(self, indices: Sequence[Index], names: Mapping[str, str]) -> Iterator[None]:
        """Loops over the indices, the first one outermost."""
        with ExitStack() as opened:
            for index in indices:
                opened.enter_context(self.block(self._loop_head(index, names[index.name])))
            yield

    def nest(
        self,
        indices: Sequence[Index],
        names: Mapping[str, str],
        inside: Sequence[str],
        simd: bool = True,
    ) -> None:
        """Loops over the indices around some lines, the last one vectorised (`simd`)."""
        with self.loops(indices[:-1], names):
            if simd and indices:
                self.line("#pragma omp simd")
            head = self._loop_head(indices[-1], names[indices[-1].name]) if indices else ""
            with self.block(head):
                for line in inside:
                    self.line(line)

    def _loop_head(self, index: Index, name: str) -> str:
        low, high = self.c(index.lower, True), self.c(index.lower + index.extent, True)
        return f"for (long {name} = {low}; {name} < {high}; {name}++)"

    # ---- sizes and places ----

    def c(self, size: Size, member: bool = False) -> str:
        return self.sizes.c(size, member)

    def step_place(self, place: Affine) -> str:
        """A place that no index but the loop's own moves: `t-1` → `v - 1`."""
        return self.sizes.place(place, self.body.variables)

    def from_first(self, text: str, lower: Size, member: bool = True) -> str:
        """A place, counted from the first one of its range."""
        return text if lower == Size() else f"({text} - {self.c(lower, member)})"

    def in_range(self, text: str, lower: Size, extent: Size) -> str:
        """The condition that a place is one of a range."""
        low, high = self.c(lower, True), self.c(lower + extent, True)
        return f"{text} >= {low} && {text} < {high}"

    def flat(self, indices: Sequence[Index], names: Mapping[str, str]) -> str:
        """The place of some indices in a row of all of them."""
        strides = row_major([self.c(i.extent) for i in indices])
        return c_sum([
            c_product(self.from_first(names[i.name], i.lower), stride)
            for i, stride in zip(indices, strides, strict=True)
        ])  # fmt: skip

    def stride(self, tensor: str, axis: int) -> str:
        stride = self.stores[tensor].strides[axis]
        assert stride is not None
        return stride
