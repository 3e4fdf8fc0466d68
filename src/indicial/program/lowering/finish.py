"""Decided ranges and named sizes → the finished `Code`.

Read("h", (t-1, i)) with `i` of class 3    →    Read("h", (t-1, i)) with i: 0..J-1
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.axes import Range, is_layered
from indicial.program.lowering.classes import Conflict
from indicial.program.lowering.context import Context, TensorInfo, Variable
from indicial.program.lowering.lower import Lowering
from indicial.program.rewrite import free_indices, rebuild, sizes_in
from indicial.program.sizes import Size, Strided, divided

EXTREMES = ("max", "min", "argmax", "argmin")


class Finish:
    """Puts the decided sizes into the IR."""

    def __init__(
        self,
        context: Context,
        lowering: Lowering,
        ranges: list[Range],
        axes: dict[tuple[str, int], Range],
        names: dict[int, str],
    ) -> None:
        self.context = context
        self.lowering = lowering
        self.ranges = ranges
        self.axes = axes
        self.names = names
        self.strided: dict[int, Size] = {}
        self.finished: dict[Size, Size] = {}

    def size(self, size: Size) -> Size:
        """A size in terms of the names that users know."""
        if size not in self.finished:
            self.finished[size] = self._size(size)
        return self.finished[size]

    def _size(self, size: Size) -> Size:
        for _ in range(60):
            values: dict[str, Size] = {}
            for atom in size.atoms:
                if isinstance(atom, str) and atom.startswith("#"):
                    values[atom] = self._atom(atom)
            if not values:
                break
            size = size.substitute(values)
        return self._strides(size)

    def _atom(self, atom: str) -> Size:
        if atom.startswith("#lo"):
            return self.ranges[int(atom[3:])][0]
        if atom.startswith("#ex"):
            number = int(atom[3:])
            if number in self.strided:
                return self.strided[number]
            lower, upper = self.ranges[number]
            return upper - lower + 1
        root = self.context.classes.find(int(atom[1:]))
        bound = self.context.classes.data[root].size
        if bound is not None:
            return bound
        return Size.of(self.names.get(root, f"N{root}"))

    def _strides(self, size: Size) -> Size:
        """Sizes inside `Strided` get their names too."""
        if not any(isinstance(atom, Strided) for atom in size.atoms):
            return size
        return size.mapped(lambda a: self._stride_named(a) if isinstance(a, Strided) else a)

    def _stride_named(self, atom: Strided) -> Size:
        """`⌈#3/2⌉` → `⌈X/2⌉`; → `⌈X/4⌉` where #3 itself is `⌈X/2⌉`."""
        base = self.size(Size.of(atom.base)) if atom.base.startswith("#") else Size.of(atom.base)
        index = self.size(Size.of(atom.index)).name if atom.index.startswith("#") else atom.index
        return divided(base, replace(atom, base="N", index=index or ""))

    def index(self, index: ir.Index) -> ir.Index:
        return ir.Index(index.name, self.size(index.lower), self.size(index.extent))

    def place(self, place: ir.Place) -> ir.Place:
        if isinstance(place, ir.Affine):
            return ir.Affine(place.terms, self.size(place.offset))
        if isinstance(place, ir.Flat):
            return ir.Flat(tuple(self.index(i) for i in place.indices))
        return place

    def expression(self, expression: ir.Expression) -> ir.Expression:
        return rebuild(
            expression, index=self.index, place=self.place, size=self.size, leaf=self._extremes
        )

    def _extremes(self, node: ir.Expression) -> ir.Expression:
        """A largest or smallest element is one that is there: windows leave out what is outside."""
        if not isinstance(node, ir.Reduce) or node.operator not in EXTREMES:
            return node
        bound = {index.name for index in node.indices}
        free = free_indices(node.body)  # of a sum inside, what is outside adds nothing
        conditions = [node.condition] if node.condition is not None else []
        for read in node.body.every(ir.Read):
            for number, place in enumerate(read.places):
                if not isinstance(place, ir.Affine) or len(place.terms) < 2:
                    continue
                names = {name for name, _ in place.terms}
                if not bound & names or not names <= free:
                    continue
                ends = self.axes[read.tensor, number]
                lower, upper = (ir.SizeValue(self.size(end)) for end in ends)
                value = ir.IndexValue(place, span=read.span)
                conditions += [ir.Apply("≤", (lower, value)), ir.Apply("≤", (value, upper))]
        if not conditions:
            return node
        together = conditions[0] if len(conditions) == 1 else ir.Apply("and", tuple(conditions))
        return replace(node, condition=together)

    def code(self) -> ir.Code:
        context = self.context
        self._layer_strides()
        tensors = {
            key: self._tensor(info) for key, info in context.tensors.items() if not info.wrong
        }
        statements = [
            ir.Statement(
                st.target,
                tuple(
                    p
                    for p in (self.place(q) for q in st.left)
                    if isinstance(p, ir.Affine | ir.Flat)
                ),
                tuple(self.index(v.index) for v in st.variables),
                self.expression(st.body),
                self.expression(st.guard) if st.guard is not None else None,
                st.span,
            )
            for st in context.statements
        ]
        statements.sort(key=lambda statement: statement.precedence)
        tests = tuple(
            ir.Test(
                self.expression(t.left), t.relation, self.expression(t.right),
                tuple(self.index(v.index) for v in t.variables),
                self.expression(t.tolerance) if t.tolerance is not None else None, t.span, t.kind,
                self.expression(t.guard) if t.guard is not None else None, t.text,
            )
            for t in context.tests
        )  # fmt: skip
        draws = tuple(
            replace(
                d,
                arguments=tuple(self.expression(a) for a in d.arguments),
                left=tuple(p for p in map(self.place, d.left) if not isinstance(p, ir.Gather)),
                indices=tuple(map(self.index, d.indices)),
            )
            for d in context.draws
        )
        self._conflicts()
        constants = {
            key: info.literal for key, info in context.tensors.items() if info.literal is not None
        }
        generated = self.lowering.outline.generated
        code = ir.Code(
            tensors,
            tuple(statements),
            {},
            constants,  # type: ignore[arg-type]
            draws,
            tests,
            _loss(self.lowering.outline.defined),
            generated[0][0].key if generated else None,
            self._labels(),
        )
        return replace(code, sizes=self._sizes(code))

    def _labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of each size, in their order; those of T are those of `T_α` too."""
        found: dict[str, list[str]] = {}
        for label, (_, domain, _) in self.lowering.outline.labels.items():
            found.setdefault(domain, []).append(label)
        return {
            name: tuple(found[letter])
            for root, name in self.names.items()
            for _, letter in self.context.classes.data[root].names
            if letter and letter in found
        }

    def _tensor(self, info: TensorInfo) -> ir.Tensor:
        axes = []
        for number, axis in enumerate(info.axes):
            lower, upper = self.axes[info.key, number]
            axes.append(ir.Axis(axis.letter, self.size(lower), self.size(upper - lower + 1)))
        values = None
        if info.values is not None:
            values = self.size(self.context.classes.atom(info.values))
        return ir.Tensor(
            info.key, tuple(axes), info.role or "parameter", values, info.probability,
            bool(info.lifted) and info.lifted[0].base == "b", info.guess, info.span,
        )  # fmt: skip

    def _sizes(self, code: ir.Code) -> dict[str, int | None]:
        """The names that occur, in order of appearance, with the values that the text gives."""
        found: dict[str, int | None] = {}
        for size in sizes_in(code):
            for name in sorted(size.names):
                found.setdefault(name, None)
        for key, (value, span) in self.lowering.outline.sizes.items():
            if isinstance(value, s.Number) and not (value.text.isdigit() and len(value.text) < 10):
                self.context.messages.error(
                    "declaration", f"the size {key} must be a whole number below 10⁹", value.span
                )
            elif isinstance(value, s.Number):
                if key in found:
                    found[key] = int(value.text)
                else:
                    self._unused(key, value.text, span, found)
        return found

    def _unused(self, key: str, value: str, span: Span, found: dict[str, int | None]) -> None:
        """A size that nothing has: another one meets it, or nobody wrote its letter."""
        outline, messages = self.lowering.outline, self.context.messages
        for one, two, met in self.context.classes.meetings:
            for mine, others in ((one, two), (two, one)):
                names = sorted(n for n in others - mine if n in found) if key in mine else []
                for other in names:
                    told = outline.sizes.get(other)
                    given = told[0].text if told and isinstance(told[0], s.Number) else ""
                    places = [
                        (met, f"an axis of size {key} meets one of size {other}"),
                        (span, key),
                    ]
                    if told and given and given != value:
                        messages.error(
                            "sizes", f"{key} = {value} and {other} = {given} must be equal: two axes meet",
                            *places, (told[1], other),
                            hint="give both the same value, or use another letter for one of them",
                        )  # fmt: skip
                    else:
                        messages.warning(
                            "unused-size", f"{key} is called {other} here, because two axes meet", *places,
                            hint=f"write `size {other} = {value}`, or use another letter for one of them",
                        )  # fmt: skip
                    return
        messages.warning(
            "unused-size", f"the size {key} is not the size of anything", span,
            hint=f"the sizes here are {', '.join(found) or 'none'}",
        )  # fmt: skip

    def _conflicts(self) -> None:
        for conflict in self.context.classes.conflicts:
            self._conflict(conflict)

    def _conflict(self, conflict: Conflict) -> None:
        first, second = self.size(conflict.first), self.size(conflict.second)
        if first == second:
            return
        self.context.messages.error(
            "sizes", f"mismatched sizes: {first} and {second}",
            (conflict.met, "they meet here"), (conflict.first_span, f"{first}"),
            (conflict.second_span, f"{second}"),
        )  # fmt: skip

    def _layer_strides(self) -> None:
        """Layers of stride 2: the range of t depends on ℓ."""
        strides: dict[str, list[tuple[int, int, int]]] = {}
        for key, info in self.context.tensors.items():
            layers = [n for n, a in enumerate(info.axes) if is_layered(a)]
            for number, axis in enumerate(info.axes):
                if axis.stride > 1 and layers and info.role == "defined":
                    strides.setdefault(key, []).append((layers[0], number, axis.stride))
        if not strides:
            return
        for statement in self.context.statements:
            by_name = {v.name: v for v in statement.variables}
            for layer, along, stride in strides.get(statement.target, ()):
                self._stride(statement.left[layer], statement.left[along], stride, by_name)
            known = {v.name: v for v in self.context.variables}
            known.update(by_name)
            for node in statement.body.every(ir.Read):
                if node.tensor != statement.target:
                    for layer, along, stride in strides.get(node.tensor, ()):
                        self._stride(node.places[layer], node.places[along], stride, known)

    def _stride(
        self, layer: ir.Place, along: ir.Place, stride: int, by_name: dict[str, Variable]
    ) -> None:
        if along.shift is None or along.shift[1] != 0:
            return
        variable = by_name.get(along.shift[0])
        if variable is None or not isinstance(layer, ir.Affine):
            return
        base = f"#{self.context.classes.find(variable.size)}"
        if layer.shift is not None:
            self.strided[variable.number] = Size.of(
                Strided(base, stride, layer.shift[0], layer.shift[1])
            )
        elif layer.offset.name is not None:
            self.strided[variable.number] = Size.of(Strided(base, stride, layer.offset.name, 0))


def _loss(defined: set[str]) -> str | None:
    for key in ("ℒ_{total}", "L_{total}", "loss", "ℒ", "Loss"):
        if key in defined:
            return key
    return None
