"""Writing the lines of a kernel: blocks, loops over indices, variables with fresh names.

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

from indicial.compile.native.writing import kernel_plan
from indicial.compile.native.writing.c import Lines
from indicial.compile.native.writing.kernel_plan import KernelPlan, place_tensors, times, total
from indicial.program.ir import Affine, Index
from indicial.program.sizes import Size


class Writer(Lines):
    """The lines so far, and where everything is."""

    def __init__(self, plan: KernelPlan) -> None:
        super().__init__()
        self.plan = plan
        self.body = plan.body
        self.sizes = plan.sizes
        self.real = plan.real
        self.stores, self.scratch = place_tensors(plan)
        """Where tensors are; memory of each part: a name, and how many numbers."""
        self.zeros: list[str] = ["1"]
        """How long the row of zeros must be: each of these at least."""
        self.packing: list[str] = []
        self.packed: list[tuple[str, str, str, str]] = []
        """The weights of each product: a name, how many rows, how many columns, how many of these."""
        self.known: dict[str, str] = {}
        """What has been found for this member: the variable of each address or token."""
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
        return self._once("const real *restrict", "r", address)

    def token(self, value: str) -> str:
        """A token of the member, likewise."""
        return self._once("const long", "k", value)

    def _once(self, kind: str, letter: str, value: str) -> str:
        if value not in self.known:
            self.known[value] = self.fresh(letter)
            self.line(f"{kind} {self.known[value]} = {value};")
        return self.known[value]

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
        strides = kernel_plan.row_major([self.c(i.extent) for i in indices])
        return total([
            times(self.from_first(names[i.name], i.lower), stride)
            for i, stride in zip(indices, strides, strict=True)
        ])  # fmt: skip

    def stride(self, tensor: str, axis: int) -> str:
        stride = self.stores[tensor].strides[axis]
        assert stride is not None
        return stride
