"""How an element is read: from a register, or at a place in a row.

    const real *restrict r9 = (v - 1 >= 0) ? t6 + b * (256 * n0) + (v - 1) * 256 : zero;
    … r9[i4] …

What does not change within a step, the address of a row, is found before the loop over its
elements; beyond its range a tensor is read from a row of zeros, or from its start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from indicial.compile.native.scan import Unsupported
from indicial.compile.native.writing.c import Scope
from indicial.compile.native.writing.storage import times, total
from indicial.compile.native.writing.writer import Writer
from indicial.program.ir import Affine, Axis, Gather, Read


def scope(w: Writer, names: Mapping[str, str]) -> Scope:
    """How expressions are written here; rows that they read are found by lines before."""
    known = {w.body.variable: "v", **names}
    return Scope(w.real, w.sizes, known, lambda n: read(w, n, known), w.plan.constants)


def rows_first(w: Writer, write: Callable[[], None]) -> list[str]:
    """The lines that something writes; the rows that it reads are written at once."""
    with w.aside(0) as own:
        write()
    for line in own:
        if _is_row(line):
            w.line(line)
    return [line for line in own if not _is_row(line)]


def _is_row(line: str) -> bool:
    return line.startswith(("const real *restrict r", "const long k"))


def read(w: Writer, node: Read, names: Mapping[str, str]) -> str:
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
        assert isinstance(place, Affine)
        text = w.sizes.place(place, names)
        parts.append(times(w.from_first(text, axis.lower), w.stride(node.tensor, number)))
        if _surely_inside(w, place, axis):
            continue
        if number == w.body.axes.get(node.tensor) and w.plan.outer_starts(node.tensor):
            raise Unsupported(f"{node.tensor} is read at many steps, its start among them")
        guards.append(w.in_range(text, axis.lower, axis.extent))
    element = f"{row}[{total(parts)}]"
    return f"({' && '.join(guards)} ? {element} : 0)" if guards else element


def _row(w: Writer, node: Read) -> tuple[str, list[int]]:
    """The address that does not change within a step, and the axes that are still to come."""
    tensor = w.body.code.tensors[node.tensor]
    outer, inner, guards, step, there = [], [], [], "", ""
    for number, (place, axis) in enumerate(zip(node.places, tensor.axes, strict=True)):
        if isinstance(place, Gather):
            token = _token(w, place.read)
            outer.append((number, token))
            guards.append(f"{token} >= 0")
            continue
        if not isinstance(place, Affine):
            raise Unsupported(f"{node.tensor} is read at several indices in one place")
        if any(name != w.body.variable for name, _ in place.terms):
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
        reach = [times(w.c(tensor.axes[n].extent), w.stride(node.tensor, n)) for n in inner]
        w.zeros.append(total([*reach, "1"]))
    return w.row(address), inner


def _fixed_place(w: Writer, place: Affine, axis: Axis) -> tuple[str, str, str]:
    """A place that is the same for a whole row: itself, counted from the first, when it is there."""
    text = w.step_place(place)
    surely = _surely_inside(w, place, axis)
    inside = "" if surely else w.in_range(text, axis.lower, axis.extent)
    return text, w.from_first(text, axis.lower), inside


def _token(w: Writer, read: Read) -> str:
    """A token of this member, which is the same for the whole row."""
    axes = w.body.code.tensors[read.tensor].axes
    outer, guards = [], []
    for number, (place, axis) in enumerate(zip(read.places, axes, strict=True)):
        if not isinstance(place, Affine) or {n for n, _ in place.terms} - {w.body.variable}:
            raise Unsupported(f"{read.tensor} is read at a place that varies")
        _, counted, inside = _fixed_place(w, place, axis)
        outer.append((number, counted))
        if inside:
            guards.append(inside)
    store = w.stores[read.tensor]
    address = replace(store, pointer=f"((const int64_t *){store.pointer})").base(outer)
    return w.token(f"({' && '.join(guards)}) ? *({address}) : -1" if guards else f"*({address})")


def _outside(w: Writer, node: Read, step: str, outer: Sequence[tuple[int, str]]) -> str:
    """What is read beyond the steps: the start, if there is one, else zeros.

    `outer` has the other axes that are read at one place; a start has all but the steps.
    """
    text = "zero"
    walked = w.body.axes.get(node.tensor, 0)
    rest = [(n - (n > walked), at) for n, at in outer if n != walked]
    for place, name in w.plan.outer_starts(node.tensor):
        text = f"{step} == {w.c(place, True)} ? {w.stores[name].base(rest)} : {text}"
    return text


def _surely_inside(w: Writer, place: Affine, axis: Axis) -> bool:
    """Whether a place is in a range whatever the sizes are: an index over that very range."""
    if not place.terms:
        low, high = (place.offset - axis.lower).number, (axis.extent - 1 - place.offset).number
        return low is not None and high is not None and low >= 0 and high >= 0
    index = next((i for i in w.bound if place.terms == ((i.name, 1),)), None)
    if index is None:
        return False
    first = index.lower + place.offset - axis.lower
    low, high = first.number, (axis.extent - index.extent - first).number
    return low is not None and high is not None and low >= 0 and high >= 0
