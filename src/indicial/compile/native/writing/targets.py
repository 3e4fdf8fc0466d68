"""Where what is computed goes: a row for each member, and starts that are elements of the result.

for (long b = first; b < last; b++) {
  const long m = b - first; (void)m;
  if (!(v >= 0 && v < n0_b)) { … o1[i2] = 0; … continue; }      a member that has ended
  real *restrict o3 = t4 + b * (256 * n0) + v * 256;
  … o3[i5] = …
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from indicial.compile.native.writing.storage import times, total
from indicial.compile.native.writing.writer import Writer
from indicial.program.ir import Affine, Axis, Flat, Index, Statement


@contextmanager
def members(w: Writer, *writes: Statement) -> Iterator[None]:
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


def _when(w: Writer, statement: Statement) -> str | None:
    """When a statement runs, if that is not at every step and for every member."""
    index = next(i for i in statement.indices if i.name == w.body.variable)
    whole = (index.lower, index.extent) == (w.plan.lower, w.plan.extent)
    if whole and not w.sizes.varies(index.lower + index.extent):
        return None
    return w.in_range("v", index.lower, index.extent)


def _blank(w: Writer, statement: Statement) -> None:
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


def target_row(w: Writer, statement: Statement) -> str:
    """Where this step's values of a tensor go."""
    step = [(w.body.axes[statement.target], _step(w, statement))]
    base = w.stores[statement.target].base(step, _index(w, statement))
    row = w.fresh("o")
    w.line(f"real *restrict {row} = {base};")
    return row


def target_place(w: Writer, statement: Statement, names: Mapping[str, str]) -> str:
    """The element of that row."""
    parts = []
    axes = w.body.code.tensors[statement.target].axes
    for number, (place, axis) in enumerate(zip(statement.left, axes, strict=True)):
        if number != w.body.axes[statement.target]:
            if isinstance(place, Flat):
                text = f"({w.flat(place.indices, names)})"
            else:
                text = w.from_first(w.sizes.place(place, names), axis.lower)
            parts.append(times(text, w.stride(statement.target, number)))
    return total(parts)


def _index(w: Writer, statement: Statement) -> str:
    """The index at which this step writes."""
    place = statement.left[w.body.axes[statement.target]]
    assert isinstance(place, Affine)
    return w.step_place(place)


def _step(w: Writer, statement: Statement) -> str:
    """The same, counted from the tensor's first one."""
    return w.from_first(_index(w, statement), _walked_axis(w, statement.target).lower)


def _walked_axis(w: Writer, name: str) -> Axis:
    return w.body.code.tensors[name].axes[w.body.axes[name]]


# ---- starts ----


def value_or_start(
    w: Writer, statement: Statement, own: Sequence[Index], names: Mapping[str, str], value: str
) -> str:
    """A value, or the start where this step is one: an equation with a number wins."""
    left = w.body.left_place(statement.target)
    for name, place, argument in w.plan.inner_starts():
        if name == statement.target:
            start = f"{w.row(w.stores[argument].base([]))}[{w.flat(own, names)}]"
            value = f"(v == {w.c(place - left.offset, True)} ? {start} : {value})"
    return value


def write_starts(w: Writer) -> None:
    """Put the starts that are elements where the steps look for them, before the first one."""
    for name, place, argument in w.plan.inner_starts():
        walked = w.body.axes[name]
        axes = w.body.code.tensors[name].axes
        others = [n for n in range(len(axes)) if n != walked]
        indices = [
            Index(f"{axes[n].letter}°{number}", axes[n].lower, axes[n].extent)
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
                times(w.from_first(names[i.name], i.lower), w.stride(name, n))
                for n, i in zip(others, indices, strict=True)
            ]
            source = w.fresh("r")
            w.line(f"const real *{source} = {w.stores[argument].base([])};")
            value = f"{source}[{w.flat(indices, names)}]"
            w.nest(indices, names, [f"{row}[{total(parts)}] = {value};"])
