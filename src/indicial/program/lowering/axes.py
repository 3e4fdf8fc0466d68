"""How long each axis of a tensor is, from what defines it and what reads it.

h[t,j] = … h[t-1,j]     t: 0..T-1; what is read before is its start
a[t_1-t_2]              all differences: -(T-1)..T-1
x[t] ~ N(0, 1)          as for an input: 0..T-1, also where x[t-1] or a window reads it
W[ℓ,j] ~ N(0, 1)        as for a parameter: 1..L where W_{ℓ+1} is read
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from indicial.program import ir
from indicial.program.lowering.context import AxisInfo, Context, Variable
from indicial.program.sizes import Size

Range = tuple[Size, Size]
"""First and last value."""


def is_layered(axis: AxisInfo) -> bool:
    """An axis along which the tensor is defined at `ℓ+1`."""
    return any(p.shift is not None and p.shift[1] > 0 for p, _ in axis.left)


def axis_ranges(context: Context, ranges: list[Range]) -> dict[tuple[str, int], Range]:
    result: dict[tuple[str, int], Range] = {}
    by_statement: dict[tuple[str, int], list[Range]] = {}
    for statement in context.statements:
        by_name = {v.name: ranges[v.number] for v in statement.variables}
        for number, place in enumerate(statement.left):
            interval = _left_interval(place, by_name)
            if interval is None:
                continue
            if isinstance(place, ir.Flat) or place.terms:
                by_statement.setdefault((statement.target, number), []).append(interval)
    for key, info in context.tensors.items():
        for number, axis in enumerate(info.axes):
            if info.role == "defined":
                stated = _hull(context, by_statement.get((key, number), ()))
                result[key, number] = _defined_axis(context, axis, stated)
            elif axis.drawn:
                result[key, number] = _drawn_axis(context, axis, ranges)
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


def _hull(context: Context, ranges: Iterable[Range], declared: bool = False) -> Range | None:
    """From the first of all to the last of all; nothing where there are none.

    `N` is taken to be beyond any number, but not beyond one that the text declares.
    """

    def beyond(a: Size, b: Size) -> bool:
        terms = context.classes.resolve(a - b).terms
        growing = [c for monomial, c in terms if monomial]
        return all(c > 0 for c in growing or [c for _, c in terms] or [0]) and not (
            declared and growing
        )

    first, *others = dict.fromkeys(ranges) or (None,)
    if first is None:
        return None
    lower, upper = first
    for low, high in others:
        lower = low if beyond(lower, low) else lower
        upper = high if beyond(high, upper) else upper
    return lower, upper


def _defined_axis(context: Context, axis: AxisInfo, general: Range | None) -> Range:
    numbers = [p.offset for p, _ in axis.left if isinstance(p, ir.Affine) and not p.terms]
    if general is None:
        single = _hull(context, zip(numbers, numbers, strict=True))
        return single or (Size(), context.classes.atom(axis.size) - 1)
    for number in numbers:
        # The 0 of `L_0` beside `L_{ℓ+1}` is a layer; the -1 of `h[-1,j]` beside `h[t,j]` a start.
        if is_layered(axis) and (number - general[0]).number == -1:
            general = (number, general[1])
    return general


def _drawn_axis(context: Context, axis: AxisInfo, ranges: list[Range]) -> Range:
    """What is drawn has the elements that its `~` speaks of: like an input, but along layers those
    that are read."""
    if any(v.free and v.shift > 0 for _, variables in axis.reads for v, _ in variables):
        return _read_axis(context, axis, ranges)
    drawn = replace(axis, reads=[*axis.drawn, *axis.reads], declared=True)
    plain = any(p.shift is not None for p, _ in axis.drawn)
    return (_input_axis if plain else _read_axis)(context, drawn, ranges)


def _read_axis(context: Context, axis: AxisInfo, ranges: list[Range]) -> Range:
    """A parameter has the elements that are read."""
    # The L of `W_L` is one of the elements that `W_{ℓ+1}` reads, if there is such a read.
    others = [r for r in axis.reads if not any(v.element for v, _ in r[1])]
    ranging = any(v or not isinstance(p, ir.Affine) for p, v in others)
    read: list[Range] = []
    for place, variables in others if ranging else axis.reads:
        if not isinstance(place, ir.Affine):
            read = read or [(Size(), context.classes.atom(axis.size) - 1)]
            continue
        lower = upper = place.offset
        for variable, factor in variables:
            low, high = ranges[variable.number]
            lower = lower + (low if factor > 0 else high) * factor
            upper = upper + (high if factor > 0 else low) * factor
        if variables or ranging:  # numbers alone do not say how far it goes
            read.append((lower, upper))
    return _hull(context, read, axis.declared) or (Size(), context.classes.atom(axis.size) - 1)


def _input_axis(context: Context, axis: AxisInfo, ranges: list[Range]) -> Range:
    """An input has the range of the index that reads it, whatever is added to that."""
    plain = [v[0][0] for p, v in axis.reads if v and p.shift is not None and p.shift[1] == 0]
    if plain:  # the first of what is declared says it all
        read = [ranges[variable.number] for variable in plain]
        return read[0] if axis.declared else _hull(context, read) or read[0]
    if all(_by_layer(place, variables) for place, variables in axis.reads):
        return _read_axis(context, axis, ranges)  # `α_{ℓ+1}` alone: the layers 1 to L
    for place, variables in axis.reads:
        moving = [(v, f) for v, f in variables if not v.family.startswith("Δ")]
        if isinstance(place, ir.Affine) and len(moving) == 1 and moving[0][1] == 1:
            return ranges[moving[0][0].number]
    if any(len(variables) > 1 for _, variables in axis.reads):
        return _read_axis(context, axis, ranges)  # `a[t_1-t_2]`: all differences
    return Size(), context.classes.atom(axis.size) - 1


def _by_layer(
    place: ir.Affine | ir.Flat | ir.Gather, variables: list[tuple[Variable, int]]
) -> bool:
    """Whether a read is at the layer that an equation for `ℓ+1` defines."""
    if place.shift is None or len(variables) != 1:
        return False
    (variable, _) = variables[0]
    return variable.free and variable.shift == place.shift[1] > 0
