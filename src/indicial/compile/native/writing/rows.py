"""How an element is read: from a register, or at a place in a row.

    const real *restrict r9 = (v - 1 >= 0) ? t6 + b * (256 * n0) + (v - 1) * 256 : zero;
    … r9[i4] …

What does not change within a step, the address of a row, is found before the loop over its
elements; beyond its range a tensor is read from a row of zeros, or from its start.

Where what is computed goes: a row for each member, and starts that are elements of the result.

for (long b = first; b < last; b++) {
  const long m = b - first; (void)m;
  if (!(v >= 0 && v < n0_b)) { … o1[i2] = 0; … continue; }      a member that has ended
  real *restrict o3 = t4 + b * (256 * n0) + v * 256;
  … o3[i5] = …

Sums, maxima and softmaxes of one member, and products that are none of matrices.

for s: for d: c[d] += α[s] h[s,d]             along memory, where the summed index is the slower
for s: y = Σ_m v[m] u[s,m]; α[s] = y          else one element after the other
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from indicial.compile.native.writing.c import CScope
from indicial.compile.native.writing.writer import Writer, c_product, c_sum
from indicial.compile.passes.forms import Distribution, Product, Reduction
from indicial.compile.passes.scan import Unsupported
from indicial.program import ir
from indicial.program.rewrite import free_indices


def scope(w: Writer, names: Mapping[str, str]) -> CScope:
    """How expressions are written here; rows that they read are found by lines before."""
    known = {**w.body.variables, **names}

    def settled(condition: ir.Expression, text: str) -> str:
        steps = free_indices(condition) <= w.body.variables.keys() and not condition.every(ir.Read)
        return w.version(text) if steps else text

    return CScope(w.real, w.sizes, known, lambda n: read(w, n, known), w.plan.constants, settled)


def rows_first(w: Writer, write: Callable[[], None]) -> list[str]:
    """The lines that something writes; the rows that it reads are written at once."""
    heads: list[str] = []
    w.heads = heads
    with w.aside(0) as own:
        write()
    w.heads = None
    for line in heads:
        w.line(line)
    return own


def read(w: Writer, node: ir.Read, names: Mapping[str, str]) -> str:
    """An element: a variable, or a place in a row."""
    if node.tensor in w.registers and w.body.is_now(node):
        return w.registers[node.tensor]
    if node.tensor not in w.body.axes and w.body.code.tensors[node.tensor].values is not None:
        return f"({w.real}){_token(w, node)}"  # whole numbers in memory: the w of `[w[t] = v]`
    row, inner = _row(w, node)
    axes = w.body.code.tensors[node.tensor].axes
    parts, guards = [], []
    for number in inner:
        place, axis = node.places[number], axes[number]
        assert isinstance(place, ir.Affine)
        text = w.sizes.place(place, names)
        parts.append(c_product(w.from_first(text, axis.lower), w.stride(node.tensor, number)))
        if surely_inside(w, place, axis):
            continue
        if number == w.body.axes.get(node.tensor) and w.plan.outer_starts(node.tensor):
            raise Unsupported(f"{node.tensor} is read at many steps, its start among them")
        guards.append(w.in_range(text, axis.lower, axis.extent))
    element = f"{row}[{c_sum(parts)}]"
    return f"({' && '.join(guards)} ? {element} : 0)" if guards else element


def _row(w: Writer, node: ir.Read) -> tuple[str, list[int]]:
    """The address that does not change within a step, and the axes that are still to come."""
    tensor = w.body.code.tensors[node.tensor]
    outer, inner, guards, step, there = [], [], [], "", ""
    for number, (place, axis) in enumerate(zip(node.places, tensor.axes, strict=True)):
        if isinstance(place, ir.Gather):
            token = _token(w, place.read)
            outer.append((number, token))
            guards.append(f"{token} >= 0")
            continue
        if not isinstance(place, ir.Affine):
            raise Unsupported(f"{node.tensor} is read at several indices in one place")
        if any(name not in w.body.variables for name, _ in place.terms):
            inner.append(number)
            continue
        text, counted, inside = _fixed_place(w, place, axis)
        outer.append((number, counted))
        if number == w.body.axes.get(node.tensor):
            step, there = text, inside
        elif inside:
            guards.append(inside)
    address = w.stores[node.tensor].base(outer, step)
    if there:
        address = f"({there}) ? {address} : {_outside(w, node, step, outer)}"
    if guards:
        address = f"({' && '.join(guards)}) ? ({address}) : zero"
    if guards or there:
        reach = [c_product(w.c(tensor.axes[n].extent), w.stride(node.tensor, n)) for n in inner]
        w.zeros.append(c_sum([*reach, "1"]))
    return w.row(address), inner


def _fixed_place(w: Writer, place: ir.Affine, axis: ir.Axis) -> tuple[str, str, str]:
    """A place that is the same for a whole row: itself, counted from the first, when it is there."""
    text = w.step_place(place)
    surely = surely_inside(w, place, axis)
    inside = "" if surely else w.in_range(text, axis.lower, axis.extent)
    return text, w.from_first(text, axis.lower), inside


def _token(w: Writer, read: ir.Read) -> str:
    """A token of this member, which is the same for the whole row."""
    axes = w.body.code.tensors[read.tensor].axes
    outer, guards = [], []
    for number, (place, axis) in enumerate(zip(read.places, axes, strict=True)):
        if not isinstance(place, ir.Affine) or dict(place.terms).keys() - w.body.variables:
            raise Unsupported(f"{read.tensor} is read at a place that varies")
        _, counted, inside = _fixed_place(w, place, axis)
        outer.append((number, counted))
        if inside:
            guards.append(inside)
    store = w.stores[read.tensor]
    address = replace(store, pointer=f"((const int64_t *){store.pointer})").base(outer)
    return w.token(f"({' && '.join(guards)}) ? *({address}) : -1" if guards else f"*({address})")


def _outside(w: Writer, node: ir.Read, step: str, outer: Sequence[tuple[int, str]]) -> str:
    """What is read beyond the steps: the start, if there is one, else zeros.

    `outer` has the other axes that are read at one place; a start has all but the steps.
    """
    text = "zero"
    walked = w.body.axes.get(node.tensor, 0)
    rest = [(n - (n > walked), at) for n, at in outer if n != walked]
    for place, name in w.plan.outer_starts(node.tensor):
        text = f"{step} == {w.c(place, True)} ? {w.stores[name].base(rest)} : {text}"
    return text


def surely_inside(w: Writer, place: ir.Affine, axis: ir.Axis) -> bool:
    """Whether a place is in a range whatever the sizes are: an index over that very range."""
    ends = place.known_ends({index.name: index for index in w.bound})
    room = () if ends is None else (ends[0] - axis.lower, axis.upper - ends[1])
    # A member may have no steps, so that a size is not even known to be 1 or more.
    return bool(room) and all(size.number is not None and size.number >= 0 for size in room)


@contextmanager
def members(w: Writer, *writes: ir.Statement) -> Iterator[None]:
    """For each member of the part; one that has ended leaves zeros in what is written."""
    with w.block("for (long b = first; b < last; b++)"):
        w.line("const long m = b - first; (void)m;")
        for name in sorted(w.sizes.ragged):
            variable = w.sizes.variable(name)
            w.line(f"const long {variable}_b = lengths_{variable}[b]; (void){variable}_b;")
        w.known = {}
        when = _when(w, writes[0]) if writes else None
        if when is not None:
            with w.block(f"if (!({when}))"):
                for statement in writes:
                    _blank(w, statement)
                w.line("continue;")
        yield
        w.known = {}


def _when(w: Writer, statement: ir.Statement) -> str | None:
    """When a statement runs, if that is not at every step and for every member."""
    index = statement.scope[w.body.variable]
    found = [("v", index, (w.plan.lower, w.plan.extent))]
    if inside := w.body.inside(statement):
        found.append(("u", inside[1], inside[1].range))  # other rounds leave it out (`rounds`)
    tests = [
        w.in_range(name, index.lower, index.extent)
        for name, index, whole in found
        if index.range != whole or w.sizes.varies(index.lower + index.extent)
    ]
    return " && ".join(tests) or None


@contextmanager
def rounds(w: Writer, statement: ir.Statement) -> Iterator[None]:
    """Only in those rounds of a loop inside the step that a statement has."""
    inside = w.body.inside(statement)
    if inside is None or inside[1].range == (inside[0].lower, inside[0].extent):
        yield
        return
    low, high = (w.c(size) for size in (inside[1].lower, inside[1].lower + inside[1].extent))
    with w.block(f"if (u >= {low} && u < {high})"):
        yield


def _blank(w: Writer, statement: ir.Statement) -> None:
    if statement.target not in w.plan.kept:
        return
    own = w.body.inner_indices(statement)
    names = {i.name: w.fresh("i") for i in own}
    # A tensor may have no place for a step of the loop: δ[1..L] in one that goes down to 0.
    step = _step(w, statement)
    extent = w.c(_walked_axis(w, statement.target).extent)
    with w.block(f"if ({step} >= 0 && {step} < {extent})"):
        row = target_row(w, statement)
        element = f"{row}[{target_place(w, statement, names)}]"
        w.nest(own, names, [f"{element} = 0;"], simd=False)


def target_row(w: Writer, statement: ir.Statement) -> str:
    """Where this step's values of a tensor go."""
    step = [(w.body.axes[statement.target], _step(w, statement))]
    base = w.stores[statement.target].base(step, _index(w, statement))
    row = w.fresh("o")
    w.line(f"real *restrict {row} = {base};")
    return row


def target_place(w: Writer, statement: ir.Statement, names: Mapping[str, str]) -> str:
    """The element of that row."""
    parts = []
    known = {**w.body.variables, **names}
    axes = w.body.code.tensors[statement.target].axes
    for number, (place, axis) in enumerate(zip(statement.left, axes, strict=True)):
        if number != w.body.axes[statement.target]:
            if isinstance(place, ir.Flat):
                text = f"({w.flat(place.indices, names)})"
            else:
                text = w.from_first(w.sizes.place(place, known), axis.lower)
            parts.append(c_product(text, w.stride(statement.target, number)))
    return c_sum(parts)


def _index(w: Writer, statement: ir.Statement) -> str:
    """The index at which this step writes."""
    place = statement.left[w.body.axes[statement.target]]
    assert isinstance(place, ir.Affine)
    return w.step_place(place)


def _step(w: Writer, statement: ir.Statement) -> str:
    """The same, counted from the tensor's first one."""
    return w.from_first(_index(w, statement), _walked_axis(w, statement.target).lower)


def _walked_axis(w: Writer, name: str) -> ir.Axis:
    return w.body.code.tensors[name].axes[w.body.axes[name]]


# ---- starts ----


def value_or_start(
    w: Writer,
    statement: ir.Statement,
    own: Sequence[ir.Index],
    names: Mapping[str, str],
    value: str,
) -> str:
    """A value, or the start where this step is one: an equation with a number wins."""
    left = w.body.left_place(statement.target)
    for name, place, argument in w.plan.inner_starts():
        if name == statement.target:
            start = f"{w.row(w.stores[argument].base([]))}[{w.flat(own, names)}]"
            here = w.version(f"v == {w.c(place - left.offset, True)}")
            value = f"({here} ? {start} : {value})"
    return value


def write_starts(w: Writer) -> None:
    """Put the starts that are elements where the steps look for them, before the first one."""
    for name, place, argument in w.plan.inner_starts():
        walked = w.body.axes[name]
        axes = w.body.code.tensors[name].axes
        others = [n for n in range(len(axes)) if n != walked]
        indices = [
            ir.Index(f"{axes[n].letter}°{number}", axes[n].lower, axes[n].extent)
            for number, n in enumerate(others)
        ]
        names = {i.name: w.fresh("i") for i in indices}
        at = w.c(place, True)
        number = w.from_first(at, axes[walked].lower)
        # A short text may end before it: `h[2,j]` of two steps, `h[T-2,j]` of one.
        there = f"0 <= {number} && {number} < {w.c(axes[walked].extent, True)}"
        with members(w), w.block(f"if ({there})"):
            base = w.stores[name].base([(walked, number)], at)
            row = w.fresh("o")
            w.line(f"real *{row} = {base};")
            parts = [
                c_product(w.from_first(names[i.name], i.lower), w.stride(name, n))
                for n, i in zip(others, indices, strict=True)
            ]
            source = w.fresh("r")
            w.line(f"const real *{source} = {w.stores[argument].base([])};")
            value = f"{source}[{w.flat(indices, names)}]"
            w.nest(indices, names, [f"{row}[{c_sum(parts)}] = {value};"])


_NOTHING = {"sum": "0", "prod": "1", "max": "-__builtin_inf()", "min": "__builtin_inf()"}
"""What each operator gives of nothing."""
_AT_ONCE = 4
"""How many terms of a sum that streams are added before the sum is written."""


@dataclass(frozen=True)
class _Item:
    """What is reduced, when it counts, by what the result is multiplied, and where it goes."""

    value: str
    condition: str
    scale: str
    target: str

    @property
    def counted(self) -> str:
        return self.otherwise("0")

    def otherwise(self, nothing: str) -> str:
        """The value; where it does not count, something else."""
        return f"({self.condition} ? {self.value} : {nothing})" if self.condition else self.value


def write_reduction(w: Writer, statement: ir.Statement, form: Product | Reduction) -> None:
    """A reduction, element by element, or streaming along memory."""
    w.comment(statement.target)
    own = w.body.inner_indices(statement)
    names = {i.name: w.fresh("i") for i in (*own, *form.indices)}
    with members(w, statement):
        w.bound = (*statement.indices, *form.indices)
        target = f"{target_row(w, statement)}[{target_place(w, statement, names)}]"
        if _streams(own, form):
            last = form.indices[-1].name
            ahead = [{last: f"({names[last]} + {n})"} if n else {} for n in range(_AT_ONCE)]
            items = [_item(w, form, {**names, **moved}, target) for moved in ahead]
            _write_streamed(w, own, form, names, items)
        else:
            _write_accumulated(w, own, form, names, _item(w, form, names, target))


def _item(w: Writer, form: Product | Reduction, names: Mapping[str, str], target: str) -> _Item:
    here = scope(w, names)
    condition = here.truth(form.condition) if form.condition is not None else ""
    if isinstance(form, Reduction):
        value, scale = here.c(form.read), ""
    else:
        value = " * ".join(here.c(f) for f in form.factors) or here.number(1.0)
        scale = here.c(form.scale)
        scale = "" if scale == here.number(1.0) else scale
    return _Item(value, condition, scale, target)


def _streams(own: Sequence[ir.Index], form: Product | Reduction) -> bool:
    """Whether the last index on the left, not a summed one, runs along memory."""
    if not own or not isinstance(form, Product) or not form.indices:
        return False
    last = own[-1].name
    summed = {i.name for i in form.indices}
    mixed = False
    for factor in form.factors:
        at = [n for n, p in enumerate(factor.places) if last in _names(p)]
        if at and at != [len(factor.places) - 1]:
            return False
        mixed |= bool(at) and any(summed & _names(p) for p in factor.places)
    return mixed


def _names(place: ir.Place) -> set[str]:
    return {name for name, _ in place.terms} if isinstance(place, ir.Affine) else set()


def _write_streamed(
    w: Writer,
    own: Sequence[ir.Index],
    form: Product | Reduction,
    names: Mapping[str, str],
    items: Sequence[_Item],
) -> None:
    """`items` are the element itself and those that follow along the last summed index."""
    (*outer, last), item = own, items[0]
    *slow, summed = form.indices
    s = names[summed.name]
    with w.loops(outer, names):
        w.nest([last], names, [f"{item.target} = 0;"])
        with w.loops(slow, names):
            w.line(f"long {s} = {w.c(summed.lower, True)};")
            end = w.c(summed.lower + summed.extent, True)
            with w.block(f"for (; {s} + {len(items)} <= {end}; {s} += {len(items)})"):
                w.nest([last], names, [f"{item.target} += {' + '.join(i.counted for i in items)};"])
            with w.block(f"for (; {s} < {end}; {s}++)"):
                w.nest([last], names, [f"{item.target} += {item.counted};"])
        if item.scale:
            w.nest([last], names, [f"{item.target} *= {item.scale};"])


def _write_accumulated(
    w: Writer,
    own: Sequence[ir.Index],
    form: Product | Reduction,
    names: Mapping[str, str],
    item: _Item,
) -> None:
    operator = form.operator if isinstance(form, Reduction) else "sum"
    if operator == "lse":
        with w.loops(own, names):
            _write_log_sum(w, form.indices, names, item)
        return
    if operator not in _NOTHING:
        raise Unsupported(f"no kernel knows {operator}")
    value = item.otherwise(f"(real){_NOTHING[operator]}")
    with w.loops(own, names):
        y = _write_lanes(w, form.indices, names, operator, value)
        w.line(f"{item.target} = {y}{f' * {item.scale}' if item.scale else ''};")


def _write_log_sum(
    w: Writer, indices: Sequence[ir.Index], names: Mapping[str, str], item: _Item
) -> None:
    """The largest, and the logarithm of the sum of what the exponentials are in its place."""
    top, y = w.fresh("y"), w.fresh("y")
    value = item.otherwise("(real)-__builtin_inf()")
    w.line(f"real {top} = {_write_lanes(w, indices, names, 'max', value)};")
    w.line(f"{top} = __builtin_isinf({top}) ? 0 : {top};")
    weight = f"exp_{w.real}({value} - {top})"
    w.line(f"const real {y} = {_write_lanes(w, indices, names, 'sum', weight)};")
    w.line(f"{item.target} = {top} + ln_{w.real}({y});")


def _write_lanes(
    w: Writer, indices: Sequence[ir.Index], names: Mapping[str, str], operator: str, value: str
) -> str:
    """A reduction, LANES elements at once (kernel.h); what it comes to."""
    *outer, last = indices
    lanes, block, lane = w.fresh("y"), w.fresh("k"), w.fresh("l")
    end = w.c(last.lower + last.extent, True)
    inside = f"const long {names[last.name]} = {block} + {lane};"
    inside += f" {lanes}[{lane}] = lanes_{operator}_of({lanes}[{lane}], {value});"
    w.line(f"real {lanes}[LANES];")
    w.line(f"lanes_fill({lanes}, (real){_NOTHING[operator]});")
    with w.loops(outer, names):
        w.line(f"long {block} = {w.c(last.lower, True)};")
        with w.block(f"for (; {block} + LANES <= {end}; {block} += LANES)"):
            w.line("#pragma omp simd")
            w.line(f"for (long {lane} = 0; {lane} < LANES; {lane}++) {{ {inside} }}")
        w.line(f"for (long {lane} = 0; {block} + {lane} < {end}; {lane}++) {{ {inside} }}")
    return f"lanes_{operator}({lanes})"


def write_softmax(w: Writer, statement: ir.Statement, form: Distribution) -> None:
    """The largest, the exponentials, their sum, the weights."""
    w.comment(statement.target)
    own = w.body.inner_indices(statement)
    over = {i.name for i in form.indices}
    names = {i.name: w.fresh("i") for i in own}
    with members(w, statement):
        w.bound = statement.indices
        here = scope(w, names)
        value = here.c(form.read)
        condition = here.truth(form.condition) if form.condition is not None else ""
        target = f"{target_row(w, statement)}[{target_place(w, statement, names)}]"
        inner = [i for i in own if i.name in over]
        with w.loops([i for i in own if i.name not in over], names):
            _write_weights(w, inner, names, _Item(value, condition, "", target))


def _write_weights(
    w: Writer, inner: Sequence[ir.Index], names: Mapping[str, str], item: _Item
) -> None:
    top, y = w.fresh("y"), w.fresh("y")
    value = item.otherwise("(real)-__builtin_inf()")
    w.line(f"const real {top} = {_write_lanes(w, inner, names, 'max', value)};")
    weight = f"exp_{w.real}({item.value} - {top})"
    weight = f"({item.condition} ? {weight} : 0)" if item.condition else weight
    w.nest(inner, names, [f"{item.target} = {weight};"])
    w.line(f"real {y} = {_write_lanes(w, inner, names, 'sum', item.target)};")
    # Where no index is allowed the sum is 0, and every weight is 0 already.
    w.line(f"{y} = {y} == 0 ? 1 : 1 / {y};")
    w.nest(inner, names, [f"{item.target} *= {y};"])
