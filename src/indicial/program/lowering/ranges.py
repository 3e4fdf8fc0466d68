"""Ranges and sizes: what every index runs over, how long every axis is, what the sizes are called.

L_{ℓ+1}[t,j] = … L_ℓ …     ℓ runs 0..L-1; the axis of L runs 0..L; W_{ℓ+1} has 1..L
Σ_{t=1}^T                  t runs 1..T, everywhere in the program
W[j,I] h[t-1,I]            I and J meet at the second axis of h: they are one size, J
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.classes import Conflict
from indicial.program.lowering.context import AxisInfo, Context, TensorInfo, Variable
from indicial.program.lowering.lower import Lowering
from indicial.program.lowering.reductions import bound
from indicial.program.lowering.scope import Scope
from indicial.program.names.naming import capital
from indicial.program.rewrite import rebuild
from indicial.program.sizes import Size, Strided

EXTREMES = ("max", "min", "argmax", "argmin")

Range = tuple[Size, Size]
"""First and last value."""


def settle(context: Context, lowering: Lowering) -> ir.Code:
    """Decides all ranges and names all sizes; gives the finished code."""
    _declared_ranges(context, lowering)
    _plain_strides(context)
    ranges, axes = _adopt(context, lowering)
    _link_named_sizes(context)
    names = _name_sizes(context, lowering)
    return _Finish(context, lowering, ranges, axes, names).code()


# ---------------------------------------------------------------------- ranges of indices


def _declared_ranges(context: Context, lowering: Lowering) -> None:
    """`range Δt = -1..1`; a window without one is a mistake, in a document it is centred."""
    declared = lowering.outline.ranges
    said: set[str] = set()
    for variable in context.variables:
        given = declared.get(variable.family)
        if given is not None and variable.lower is None and isinstance(given[0], s.Interval):
            if variable.family in lowering.bounds:
                continue
            variable.lower = bound(lowering, given[0].lower, Scope(-1))
            variable.upper = bound(lowering, given[0].upper, Scope(-1))
            extent = variable.upper - variable.lower + 1
            if extent.number is not None:
                context.classes.bind(variable.size, extent, given[1].span)
        elif variable.family.startswith("Δ") and variable.lower is None:
            if context.document:
                if variable.family not in said:
                    lowering.note(
                        variable.family,
                        f"a window without a range: read as centred, "
                        f"-{capital(variable.family)}..{capital(variable.family)}",
                        variable.span,
                    )
                variable.lower = -context.classes.atom(variable.size)
                variable.upper = context.classes.atom(variable.size)
            elif variable.family not in said:
                context.messages.error(
                    "window-range", f"nothing says from where to where {variable.family} runs",
                    variable.span, hint=f"add a line `range {variable.family} = -1..1`",
                )  # fmt: skip
            said.add(variable.family)


def _plain_strides(context: Context) -> None:
    """`y[t] = x[2t+Δt]`: y is half as long as x. Layers of stride 2 are dealt with at the end."""
    for info in context.tensors.values():
        layered = any(_layered(a) for a in info.axes)
        for axis in info.axes:
            if axis.stride < 2 or layered:
                continue
            for place, variables in axis.reads:
                for variable, factor in variables:
                    if factor > 1 and isinstance(place, ir.Affine) and variable.free:
                        base = f"#{context.classes.find(axis.size)}"
                        if context.classes.size(variable.size) is None and (
                            context.classes.find(variable.size) != context.classes.find(axis.size)
                        ):
                            half = Size.of(Strided(base, factor, "", 1))
                            context.classes.bind(variable.size, half, variable.span)


def _layered(axis: AxisInfo) -> bool:
    """An axis along which the tensor is defined at `ℓ+1`."""
    return any(
        isinstance(p, ir.Affine) and p.shift is not None and p.shift[1] > 0 for p, _ in axis.left
    )


def _default(context: Context, starts: dict[int, tuple[int, int]], variable: Variable) -> Range:
    if variable.lower is not None and variable.upper is not None:
        return variable.lower, variable.upper
    size = context.classes.atom(variable.size)
    if variable.free and variable.shift > 0:
        return Size(), size - 1
    lower, offset = starts.get(context.classes.find(variable.size), (0, -1))
    return Size.of(lower), size + offset


def _starts(context: Context, lowering: Lowering) -> dict[int, tuple[int, int]]:
    """Where the range of each size begins and ends, as the text says it of any of its letters."""
    found: dict[int, tuple[int, int]] = {}
    for variable in context.variables:
        said = lowering.bounds.get(variable.family)
        if said is not None and not (variable.free and variable.shift > 0):
            found.setdefault(context.classes.find(variable.size), said)
    return found


def _adopt(
    context: Context, lowering: Lowering
) -> tuple[list[Range], dict[tuple[str, int], Range]]:
    """Each index's range: as the text says, else that of the axes that it reads just as it is.

    With the ranges of all axes.
    """
    starts = _starts(context, lowering)
    ranges = [_default(context, starts, v) for v in context.variables]
    # A free index that reads the tensor it helps to define does not take its range from there.
    own = {(st.target, v.number) for st in context.statements for v in st.variables if v.free}
    axes = _axis_ranges(context, ranges)
    for _ in range(4):
        changed = False
        for variable in context.variables:
            if variable.lower is not None or (variable.free and variable.shift > 0):
                continue
            seen: list[Range] = []
            for key, number in variable.plain:
                info = context.tensors[key]
                if info.role != "defined" or number >= len(info.axes):
                    continue
                found = axes.get((key, number))
                if found is not None and (key, variable.number) not in own:
                    seen.append(found)
            if not seen:
                continue
            tightest = seen[0]
            for other in seen[1:]:
                tightest = (_later(tightest[0], other[0]), _earlier(tightest[1], other[1]))
            if tightest != ranges[variable.number]:
                ranges[variable.number] = tightest
                changed = True
        if not changed:
            break
        axes = _axis_ranges(context, ranges)
    return ranges, axes


def _later(a: Size, b: Size) -> Size:
    difference = (a - b).number
    return a if difference is None or difference >= 0 else b


def _earlier(a: Size, b: Size) -> Size:
    difference = (a - b).number
    return a if difference is None or difference <= 0 else b


# ---------------------------------------------------------------------- ranges of axes


def _axis_ranges(context: Context, ranges: list[Range]) -> dict[tuple[str, int], Range]:
    result: dict[tuple[str, int], Range] = {}
    by_statement: dict[tuple[str, int], Range] = {}
    for statement in context.statements:
        by_name = {v.name: ranges[v.number] for v in statement.variables}
        for number, place in enumerate(statement.left):
            interval = _left_interval(place, by_name)
            if interval is None:
                continue
            if isinstance(place, ir.Flat) or place.terms:
                axis_key = (statement.target, number)
                known = by_statement.get(axis_key)
                by_statement[axis_key] = _hull(known, interval) if known else interval
    for key, info in context.tensors.items():
        for number, axis in enumerate(info.axes):
            if info.role == "defined":
                result[key, number] = _defined_axis(context, axis, by_statement.get((key, number)))
            elif info.role in ("parameter", "constant", "draw"):
                result[key, number] = _read_axis(context, axis, ranges)
            else:
                result[key, number] = _input_axis(context, axis, ranges)
    return result


def _left_interval(place: ir.Affine | ir.Flat, by_name: dict[str, Range]) -> Range | None:
    if isinstance(place, ir.Flat):
        total = Size.of(1)
        for index in place.indices:
            lower, upper = by_name.get(index.name, (Size(), Size()))
            total = total * (upper - lower + 1)
        return Size(), total - 1
    if not place.terms:
        return place.offset, place.offset
    if place.shift is not None and place.shift[0] in by_name:
        lower, upper = by_name[place.shift[0]]
        return lower + place.shift[1], upper + place.shift[1]
    return None


def _hull(a: Range, b: Range) -> Range:
    lower = a[0] if ((a[0] - b[0]).number or 0) <= 0 else b[0]
    upper = a[1] if ((a[1] - b[1]).number or 0) >= 0 else b[1]
    return lower, upper


def _defined_axis(context: Context, axis: AxisInfo, general: Range | None) -> Range:
    numbers = [p.offset for p, _ in axis.left if isinstance(p, ir.Affine) and not p.terms]
    if general is None:
        result: Range | None = None
        for number in numbers:
            result = _hull(result, (number, number)) if result else (number, number)
        return result or (Size(), context.classes.atom(axis.size) - 1)
    for number in numbers:
        # The 0 of `L_0` beside `L_{ℓ+1}` is a layer; the -1 of `h[-1,j]` beside `h[t,j]` a start.
        if _layered(axis) and (number - general[0]).number == -1:
            general = (number, general[1])
    return general


def _read_axis(context: Context, axis: AxisInfo, ranges: list[Range]) -> Range:
    """A parameter has the elements that are read."""
    result: Range | None = None
    for place, variables in axis.reads:
        if not isinstance(place, ir.Affine):
            result = result or (Size(), context.classes.atom(axis.size) - 1)
            continue
        lower = upper = place.offset
        for variable, factor in variables:
            low, high = ranges[variable.number]
            lower = lower + (low if factor > 0 else high) * factor
            upper = upper + (high if factor > 0 else low) * factor
        if variables:
            result = _hull(result, (lower, upper)) if result else (lower, upper)
    if result is None and axis.reads:
        numbers = [p.offset for p, _ in axis.reads if isinstance(p, ir.Affine)]
        bound = context.classes.size(axis.size)
        if bound is None and numbers:
            return Size(), context.classes.atom(axis.size) - 1
    return result or (Size(), context.classes.atom(axis.size) - 1)


def _input_axis(context: Context, axis: AxisInfo, ranges: list[Range]) -> Range:
    """An input has the range of the index that reads it, whatever is added to that."""
    for place, variables in axis.reads:
        if isinstance(place, ir.Affine) and len(variables) == 1 and variables[0][1] == 1:
            variable = variables[0][0]
            if place.shift is not None and place.shift[1] == 0:
                return ranges[variable.number]
    for place, variables in axis.reads:
        moving = [(v, f) for v, f in variables if not v.family.startswith("Δ")]
        if isinstance(place, ir.Affine) and len(moving) == 1 and moving[0][1] == 1:
            return ranges[moving[0][0].number]
    if any(len(variables) > 1 for _, variables in axis.reads):
        return _read_axis(context, axis, ranges)  # `a[t_1-t_2]`: all differences
    return Size(), context.classes.atom(axis.size) - 1


# ---------------------------------------------------------------------- names of sizes


def _link_named_sizes(context: Context) -> None:
    """A size that is named where none of its indices stand is the one of that name elsewhere."""
    classes = context.classes
    for key, number in context.size_classes.items():
        for other in range(len(classes.parent)):
            root = classes.find(other)
            if root == classes.find(number):
                continue
            if any(name == key and priority <= 5 for priority, name in classes.data[root].names):
                classes.union(root, number, Span(classes.data[root].sites[0][0].source, 0, 0))
                break


def _name_sizes(context: Context, lowering: Lowering) -> dict[int, str]:
    """A name for each class that is not bound: the letter that it is best known by."""
    classes = context.classes
    order: list[int] = []
    owner: dict[int, str] = {}
    for info in context.tensors.values():
        for axis in info.axes:
            order.append(axis.size)
            owner.setdefault(classes.find(axis.size), info.key)
        if info.values is not None:
            order.append(info.values)
    order.extend(v.size for v in context.variables)
    order.extend(context.size_classes.values())
    names: dict[int, str] = {}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    roots = list(dict.fromkeys(classes.find(c) for c in order))
    best: dict[int, tuple[int, str]] = {}
    for root in roots:
        candidates = sorted(
            (p, n, name) for n, (p, name) in enumerate(classes.data[root].names) if name
        )
        best[root] = (candidates[0][0], candidates[0][2]) if candidates else (9, "N")
    for root in sorted(roots, key=lambda r: best[r][0]):
        if classes.data[root].size is not None:
            continue
        name = best[root][1]
        if name in taken:
            others = [n for _, n in sorted(classes.data[root].names, key=lambda x: x[0]) if n]
            free = [n for n in others if n not in taken]
            name = free[0] if free else f"{name}_{_plain_owner(owner.get(root, str(root)))}"
            stem = f"{best[root][1]}_{_plain_owner(owner.get(root, ''))}"
            while name in taken:
                counts[stem] = counts.get(stem, 1) + 1
                name = f"{stem}{counts[stem]}"
        taken.add(name)
        names[root] = name
    return names


def _plain_owner(key: str) -> str:
    return "{" + key + "}" if len(key) > 1 else key


# ---------------------------------------------------------------------- finishing


class _Finish:
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
        if not any(isinstance(atom, Strided) for monomial, _ in size.terms for atom, _ in monomial):
            return size
        result = Size()
        changed = False
        for monomial, coefficient in size.terms:
            term = Size.of(coefficient)
            for atom, power in monomial:
                if isinstance(atom, Strided) and (
                    atom.base.startswith("#") or atom.index.startswith("#")
                ):
                    base = (
                        self.size(Size.of(atom.base)).name
                        if atom.base.startswith("#")
                        else atom.base
                    )
                    index = (
                        self.size(Size.of(atom.index)).name
                        if atom.index.startswith("#")
                        else atom.index
                    )
                    atom = replace(atom, base=base or "N", index=index or "")
                    changed = True
                for _ in range(power):
                    term = term * Size.of(atom)
            result = result + term
        return result if changed else size

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
        conditions = [node.condition] if node.condition is not None else []
        for read in node.body.walk():
            if not isinstance(read, ir.Read):
                continue
            for number, place in enumerate(read.places):
                if not isinstance(place, ir.Affine) or len(place.terms) < 2:
                    continue
                if not bound & {name for name, _ in place.terms}:
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
        statements.sort(key=_precedence)
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
        return ir.Code(
            tensors,
            tuple(statements),
            self._sizes(tensors, statements, tests),
            constants,  # type: ignore[arg-type]
            draws,
            tests,
            _loss(self.lowering.outline.defined),
            generated[0][0].key if generated else None,
        )

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

    def _sizes(
        self,
        tensors: dict[str, ir.Tensor],
        statements: list[ir.Statement],
        tests: tuple[ir.Test, ...],
    ) -> dict[str, int | None]:
        """The names that occur, in order of appearance, with the values that the text gives."""
        found: dict[str, int | None] = {}
        sizes: list[Size] = []
        for tensor in tensors.values():
            for axis in tensor.axes:
                sizes += [axis.extent, axis.lower]
            if tensor.values is not None:
                sizes.append(tensor.values)
        for statement in statements:
            for index in statement.indices:
                sizes += [index.extent, index.lower]
            for node in statement.body.walk():
                sizes += _node_sizes(node)
        for test in tests:
            for side in (test.left, test.right, test.tolerance, test.guard):
                for node in side.walk() if side is not None else ():
                    sizes += _node_sizes(node)
        for size in sizes:
            for name in sorted(size.names):
                found.setdefault(name, None)
        for key, (value, span) in self.lowering.outline.sizes.items():
            if isinstance(value, s.Number) and not (value.text.isdigit() and len(value.text) < 10):
                self.context.messages.error(
                    "declaration", f"the size {key} is a whole number below 10⁹", value.span
                )
            elif isinstance(value, s.Number):
                if key in found:
                    found[key] = int(value.text)
                else:
                    self.context.messages.warning(
                        "unused-size", f"the size {key} is not the size of anything", span,
                        hint=f"sizes here are {', '.join(found) or 'none'}",
                    )  # fmt: skip
        return found

    def _conflicts(self) -> None:
        for conflict in self.context.classes.conflicts:
            self._conflict(conflict)

    def _conflict(self, conflict: Conflict) -> None:
        first, second = self.size(conflict.first), self.size(conflict.second)
        if first == second:
            return
        self.context.messages.error(
            "sizes", f"two sizes meet here and differ: {first} and {second}",
            (conflict.met, "they meet here"), (conflict.first_span, f"{first}"),
            (conflict.second_span, f"{second}"),
        )  # fmt: skip

    def _layer_strides(self) -> None:
        """Layers of stride 2: the range of t depends on ℓ."""
        strides: dict[str, tuple[int, int, int]] = {}
        for key, info in self.context.tensors.items():
            layers = [n for n, a in enumerate(info.axes) if _layered(a)]
            for number, axis in enumerate(info.axes):
                if axis.stride > 1 and layers and info.role == "defined":
                    strides[key] = (layers[0], number, axis.stride)
        if not strides:
            return
        for statement in self.context.statements:
            by_name = {v.name: v for v in statement.variables}
            if statement.target in strides:
                layer, along, stride = strides[statement.target]
                self._stride(statement.left[layer], statement.left[along], stride, by_name)
            known = {v.name: v for v in self.context.variables}
            known.update(by_name)
            for node in statement.body.walk():
                if isinstance(node, ir.Read) and node.tensor in strides:
                    layer, along, stride = strides[node.tensor]
                    if node.tensor != statement.target:
                        self._stride(node.places[layer], node.places[along], stride, known)

    def _stride(
        self, layer: ir.Place, along: ir.Place, stride: int, by_name: dict[str, Variable]
    ) -> None:
        if not isinstance(along, ir.Affine) or along.shift is None or along.shift[1] != 0:
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


def _node_sizes(node: ir.Expression) -> list[Size]:
    if isinstance(node, ir.SizeValue):
        return [node.size]
    if isinstance(node, ir.Reduce | ir.Softmax):
        return [size for i in node.indices for size in (i.extent, i.lower)]
    return []


def _precedence(statement: ir.Statement) -> tuple[int, int]:
    numbers = sum(1 for p in statement.left if isinstance(p, ir.Affine) and not p.terms)
    return (-numbers, 0 if statement.guard is not None else 1)


def _loss(defined: set[str]) -> str | None:
    for key in ("ℒ_{total}", "L_{total}", "loss", "ℒ", "Loss"):
        if key in defined:
            return key
    return None
