"""Products of all members at once with weights: operands side by side, weights side by side.

    a[m, :] = h[b, v-1, :]                        copied, so that starts and ends are in place
    multiply(call, members, 512, 256, a, w, p)    p[m, :256] is R^{(1)}, p[m, 256:] is G^{(1)}

The weights are put into the order of the product once for each call, before the first step.
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.compile.native.linear_maps import Matmul, Output, Term
from indicial.compile.native.writing import storage
from indicial.compile.native.writing.reads import rows_first, scope
from indicial.compile.native.writing.storage import times, total
from indicial.compile.native.writing.targets import members, target_place, target_row
from indicial.compile.native.writing.writer import Writer
from indicial.program.ir import Affine, Read, Statement


def write_matmul(w: Writer, stage: Matmul) -> None:
    """Copy the operands, multiply, and copy out what somebody needs."""
    operands = " ".join(o.tensor for o in stage.operands)
    w.comment(f"[{operands}] . [{' '.join(o.statement.target for o in stage.outputs)}]")
    widths = [times(*(w.c(i.extent) for i in t.summed)) for t in stage.outputs[0].terms]
    heights = [
        times(*(w.c(i.extent) for i in w.body.inner_indices(o.statement))) for o in stage.outputs
    ]
    k, n = f"({total(widths)})", f"({total(heights)})"
    operand, result, weights = w.fresh("a"), w.fresh("p"), w.fresh("w")
    w.scratch += [(operand, times("members", k)), (result, times("members", n))]
    elsewhere = []
    for output, column in zip(stage.outputs, _starts(heights), strict=True):
        name = output.statement.target
        if name in w.stores:  # kept, or read at another step, when these columns are overwritten
            elsewhere.append((output.statement, f"{result}[m * {n} + {column}"))
            continue
        tensor, walked = w.body.code.tensors[name], w.body.axes[name]
        w.stores[name] = storage.column(result, column, n, tensor, w.sizes, walked)
    _pack(w, stage, weights, (k, n), widths, heights)
    with members(w):
        for term, at in zip(stage.outputs[0].terms, _starts(widths), strict=True):
            _copy_operand(w, stage.outputs[0].statement, term, f"{operand}[m * {k} + {at}")
    w.line(f"multiply(call, members, {n}, {k}, {operand}, {weights}, {result});")
    for statement, source in elsewhere:
        _copy_out(w, statement, source)


def _copy_operand(w: Writer, statement: Statement, term: Term, target: str) -> None:
    w.bound = (*statement.indices, *term.summed)
    names = {i.name: w.fresh("i") for i in term.summed}

    def copy() -> None:
        value = scope(w, names).read(term.operand)
        w.line(f"{target} + {w.flat(term.summed, names)}] = {value};")

    w.nest(term.summed, names, rows_first(w, copy))


def _copy_out(w: Writer, statement: Statement, source: str) -> None:
    own = w.body.inner_indices(statement)
    with members(w, statement):
        row = target_row(w, statement)
        names = {i.name: w.fresh("i") for i in own}
        place = target_place(w, statement, names)
        w.nest(own, names, [f"{row}[{place}] = {source} + {w.flat(own, names)}];"])


def _pack(
    w: Writer,
    stage: Matmul,
    weights: str,
    shape: tuple[str, str],
    widths: Sequence[str],
    heights: Sequence[str],
) -> None:
    k, n = shape
    w.packed.append((weights, k, n))
    with w.aside(1) as lines:
        for output, column in zip(stage.outputs, _starts(heights), strict=True):
            for term, row in zip(output.terms, _starts(widths), strict=True):
                _pack_weight(w, output, term, row, column, n)
    w.packing += [
        *lines,
        f"  call->products->pack(packed + at, w, {k}, {n}, {n}, 1);",
        f"  at += packed_size(call, {k}, {n});",
    ]


def _pack_weight(w: Writer, output: Output, term: Term, row: str, column: str, n: str) -> None:
    left = w.body.inner_indices(output.statement)
    names = {i.name: w.fresh("i") for i in (*term.summed, *left)}
    here = scope(w, names)
    store = w.stores[term.weight.tensor]
    parts = []
    axes = w.body.code.tensors[term.weight.tensor].axes
    for place, axis, stride in zip(term.weight.places, axes, store.strides, strict=True):
        assert isinstance(place, Affine) and stride is not None
        text = w.from_first(w.sizes.place(place, here.indices), axis.lower, member=False)
        parts.append(times(text, stride))
    value = f"{store.pointer}[{total(parts)}]"
    scale = here.c(term.scale)
    if scale != here.number(1.0):
        value = f"{scale} * {value}"
    target = f"({row} + {w.flat(term.summed, names)}) * {n} + {column} + {w.flat(left, names)}"
    # In the order in which the weight lies in memory.
    order = sorted((*term.summed, *left), key=lambda i: _position(term.weight, i.name))
    w.nest(order, names, [f"w[{target}] = {value};"], simd=False)


def _position(read: Read, name: str) -> int:
    return next(
        n for n, p in enumerate(read.places) if isinstance(p, Affine) and name in dict(p.terms)
    )


def _starts(widths: Sequence[str]) -> list[str]:
    """Where each of some columns begins: `["4", "n0", "4"]` → `["(0)", "(4)", "(4 + n0)"]`."""
    return [f"({total(widths[:n])})" for n in range(len(widths))]
