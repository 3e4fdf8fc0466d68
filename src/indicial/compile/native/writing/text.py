"""A loop over time as the text of a C kernel.

    static void part(const struct call *call, const real *w, long first, long last) {
      …
      for (long v = 0; v <= n0 - 1; v++) {
        /* [h] . [R^{(1)} G^{(1)}] */
        …
        /* R, G, h */
        for (long b = first; b < last; b++) { … }
      }
    }

`part` takes some members of the batch through all steps, so threads never wait for each other.

Pointwise statements as one loop; what they read of each other stays in registers.

const real x1 = tanh_float(r1[i] + r2[i]);      R
const real x2 = sigmoid_float(r3[i] + r4[i]);   G
const real x3 = x2 * r5[i] + (1 - x2) * x1;     h
o1[i] = x3;

Products of all members at once with weights: operands side by side, weights side by side.

    a[m, :] = h[b, v-1, :]                        copied, so that starts and ends are in place
    multiply(call, members, 512, 256, a, w, p)    p[m, :256] is R^{(1)}, p[m, 256:] is G^{(1)}

The weights are put into the order of the product once for each call, before the first step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indicial.compile.native.reading.stages import (
    Fused,
    Matmul,
    Nested,
    Output,
    Single,
    Stage,
    Term,
)
from indicial.compile.native.writing.c import declarations, size_declarations
from indicial.compile.native.writing.rows import (
    members,
    rounds,
    rows_first,
    scope,
    surely_inside,
    target_place,
    target_row,
    value_or_start,
    write_reduction,
    write_softmax,
    write_starts,
)
from indicial.compile.native.writing.writer import KernelPlan, Writer, c_product, c_sum, column
from indicial.compile.passes.algebra import ONE
from indicial.compile.passes.forms import Distribution
from indicial.compile.passes.scan import Unsupported
from indicial.compile.schedule.schedule import Loop
from indicial.program.ir import Affine, Index, Read, Statement, index_at


def write(plan: KernelPlan) -> str:
    """The whole C text. Afterwards `plan.sizes.names` tells which sizes a call passes."""
    w = Writer(plan)
    if len(plan.body.parts) > 1 and plan.inner_starts():
        raise Unsupported("a loop with a loop inside starts inside its range")
    write_starts(w)
    even = plan.is_even()
    first, extent = w.c(plan.lower), w.c(plan.extent)
    steps = f"for (long v = {first} + from; v < {first} + to; v++)" if even else _each(w, "v", plan)
    with w.block(steps):
        for stage in plan.stages:
            _write_stage(w, stage)
    head = [f"typedef {plan.real} real;", '#include "kernel.h"']
    text = [*head, "", *_pack(w), "", *_part(w, even), ""]
    if even:
        text += ["static long units(const struct call *call) {", *size_declarations(w.sizes)]
        text += [f"  return call->members * {extent};", "}", ""]
    kernel = (
        "KERNEL_OF(units, STEPS, weights, pack, part)" if even else "KERNEL(weights, pack, part)"
    )
    return "\n".join([*text, kernel, ""])


def _each(w: Writer, name: str, loop: KernelPlan | Loop) -> str:
    first, last = w.c(loop.lower), w.c(loop.lower + loop.extent - 1)
    if loop.direction > 0:
        return f"for (long {name} = {first}; {name} <= {last}; {name}++)"
    return f"for (long {name} = {last}; {name} >= {first}; {name}--)"


def _write_stage(w: Writer, stage: Stage) -> None:
    if isinstance(stage, Nested):
        with w.block(_each(w, "u", stage.loop)):
            for inner in stage.stages:
                _write_stage(w, inner)
        return
    begun = {name for name, _, _ in w.plan.inner_starts()}
    if not isinstance(stage, Fused) and begun & {s.target for s in stage.made()}:
        raise Unsupported(f"{', '.join(begun)} starts inside its range, and is a sum")
    with rounds(w, next(stage.made())):
        match stage:
            case Matmul():
                write_matmul(w, stage)
            case Fused():
                write_fused(w, stage)
            case Single(statement, Distribution() as form):
                write_softmax(w, statement, form)
            case Single(statement, form):
                assert not isinstance(form, Distribution)
                write_reduction(w, statement, form)


def _pack(w: Writer) -> list[str]:
    """The weights of all products, each in the order in which the product reads it."""
    lengths = [f"  (void)lengths_{w.sizes.variable(name)};" for name in sorted(w.sizes.ragged)]
    plain = [f"  if ({k} * {n} > most) most = {k} * {n};" for _, k, n, _ in w.packed]
    return [
        "static long weights(const struct call *call) {",
        *size_declarations(w.sizes),
        f"  return {c_sum([c_product(f'packed_size(call, {k}, {n})', count) for _, k, n, count in w.packed])};",
        "}",
        "",
        "static void pack(const struct call *call, real *packed, int number, int parts) {",
        *declarations(w.sizes, w.plan.arguments, w.plan.kept),
        *lengths,
        "  long at = 0, most = 0;",
        *plain,
        "  real *w = number == 0 ? allocate((most + 16) * sizeof(real)) : NULL;",
        *w.packing,
        "  (void)at, (void)packed, (void)parts;",
        "  free(w);",
        "}",
    ]


def _part(w: Writer, even: bool) -> list[str]:
    """Some members, step by step; one after the other where no product wants them together.

    Then what a step reads follows what the one before it has read. Of a loop of one step so many at a
    time that what they compute stays in the cache. Steps that are `even` are divided like members.
    """
    vectors = any(map(w.body.inner_indices, w.body.statements))
    once = w.plan.extent.number == 1
    most = "" if w.packed and not once else "SOME" if once else "1" if vectors or even else ""
    names = "begin, long end" if most else "first, long last"
    count = "last - first" if not most else "1" if most == "1" else "least(SOME, end - begin)"
    lines = [
        f"static void part(const struct call *call, const real *w, long {names}) {{",
        *declarations(w.sizes, w.plan.arguments, w.plan.kept),
        f"  const long members = {count}; (void)members;",
        *w.memory(),
    ]
    for name, k, n, count in w.packed:
        size = c_product(f"packed_size(call, {k}, {n})", count)
        lines += [f"  const real *{name} = w;", f"  w += {size};"]
    if even:
        steps = w.c(w.plan.extent)
        lines += [
            "  for (long unit = begin, count; unit < end; unit += count) {",
            f"  const long first = unit / {steps}, last = first + 1, from = unit % {steps};",
            f"  count = least({steps} - from, end - unit);",
            "  const long to = from + count;",
        ]
    elif most:
        lines += [f"  for (long first = begin, last; first < end; first += {most}) {{"]
        lines += [f"  last = least(first + {most}, end);"]
        lines += ["  const long members = last - first; (void)members;"] if once else []
    return [*lines, *w.lines, *(["  }"] if most else []), "  free(scratch);", "}"]


def write_fused(w: Writer, stage: Fused) -> None:
    """One loop for all statements of a stage."""
    statements = stage.statements
    w.comment(", ".join(s.target for s in statements))
    stored = [s for s in statements if w.plan.is_stored(s.target, statements)]
    indices = w.body.inner_indices(statements[0])
    names = [w.fresh("i") for _ in indices]
    with members(w, *(stored or statements)):
        rows = {s.target: target_row(w, s) for s in stored}
        w.versions = {} if indices else None
        inside = rows_first(w, lambda: _write_values(w, statements, names, rows))
        called = dict(zip((i.name for i in indices), names, strict=True))
        w.in_versions(lambda: w.nest(indices, called, inside))
        w.registers = {}


def _write_values(
    w: Writer, statements: Sequence[Statement], names: Sequence[str], rows: Mapping[str, str]
) -> None:
    for statement in statements:
        own = w.body.inner_indices(statement)
        renamed = {i.name: name for i, name in zip(own, names, strict=True)}
        w.bound = statement.indices
        here = scope(w, renamed)
        value = here.c(statement.body)
        if statement.guard is not None:
            value = f"({here.truth(statement.guard)} ? {value} : 0)"
        value = value_or_start(w, statement, own, renamed, value)
        register = w.registers[statement.target] = w.fresh("x")
        w.line(f"const real {register} = {value};")
        if statement.target in rows:
            w.line(f"{rows[statement.target]}[{target_place(w, statement, renamed)}] = {register};")


def write_matmul(w: Writer, stage: Matmul) -> None:
    """Copy the operands, multiply, and copy out what somebody needs."""
    operands = " ".join(o.tensor for o in stage.operands)
    w.comment(f"[{operands}] . [{' '.join(o.statement.target for o in stage.outputs)}]")
    widths = [c_product(*(w.c(i.extent) for i in t.summed)) for t in stage.outputs[0].terms]
    heights = [c_product(*(w.c(i.extent) for i in _columns(w, o))) for o in stage.outputs]
    rows = stage.outputs[0].terms[0].rows
    every = c_product("members", *(w.c(i.extent) for i in rows))
    k, n = f"({c_sum(widths)})", f"({c_sum(heights)})"
    operand, result, weights = w.fresh("a"), w.fresh("p"), w.fresh("w")
    w.scratch += [(operand, c_product(every, k)), (result, c_product(every, n))]
    elsewhere = []
    for output, at in zip(stage.outputs, _starts(heights), strict=True):
        name = output.statement.target
        if name in w.stores:  # kept, or read at another step, when these columns are overwritten
            elsewhere.append((output, result, f"{n} + {at}"))
            continue
        tensor, walked = w.body.code.tensors[name], w.body.walked(name)
        left = [index_at(place) for place in output.statement.left]
        across = [left.index(i.name) for i in output.terms[0].rows]
        w.stores[name] = column(result, at, n, tensor, w.sizes, walked, across)
    weights = _packed(w, stage, weights, (k, n), widths, heights)
    tests = {_there(w, output, term) for output in stage.outputs for term in output.terms}
    there = tests.pop() if len(tests) == 1 else ""
    with w.block(f"if ({there})" if there else ""):
        with members(w):
            for term, at in zip(stage.outputs[0].terms, _starts(widths), strict=True):
                _copy_operand(w, stage.outputs[0].statement, term, operand, f"{k} + {at}")
        w.line(f"multiply(call, {every}, {n}, {k}, {operand}, {weights}, {result});")
    if there:
        w.line(f"else for (long i = 0; i < {every} * {n}; i++) {result}[i] = 0;")
    for output, source, at in elsewhere:
        _copy_out(w, output, source, at)


def _there(w: Writer, output: Output, term: Term) -> str:
    """When there is a weight, if not in every round of a loop inside: R[ℓ] at ℓ = L is 0."""
    w.bound = output.statement.indices
    axes = w.body.code.tensors[term.weight.tensor].axes
    return " && ".join(
        w.in_range(w.step_place(place), axis.lower, axis.extent)
        for place, axis in zip(term.weight.places, axes, strict=True)
        if isinstance(place, Affine) and w.body.variables.keys() & dict(place.terms)
        if not surely_inside(w, place, axis)
    )


def _columns(w: Writer, output: Output) -> list[Index]:
    """The indices of the left side that go along the columns of the product."""
    return [i for i in w.body.inner_indices(output.statement) if i not in output.terms[0].rows]


def _at(w: Writer, rows: Sequence[Index], names: Mapping[str, str], width: str) -> str:
    """A place in a row of a product: `m * 64`, or `(m * n0 + i3) * 64`."""
    count = c_product(*(w.c(i.extent) for i in rows))
    row = f"({c_product('m', count)} + {w.flat(rows, names)})" if rows else "m"
    return f"{row} * {width}"


def _copy_operand(w: Writer, statement: Statement, term: Term, target: str, width: str) -> None:
    w.bound = (*statement.indices, *term.summed)
    names = {i.name: w.fresh("i") for i in (*term.rows, *term.summed)}

    def copy() -> None:
        value = scope(w, names).read(term.operand)
        place = f"{_at(w, term.rows, names, width)} + {w.flat(term.summed, names)}"
        w.line(f"{target}[{place}] = {value};")

    w.nest((*term.rows, *term.summed), names, rows_first(w, copy))


def _copy_out(w: Writer, output: Output, source: str, width: str) -> None:
    statement = output.statement
    own = w.body.inner_indices(statement)
    with members(w, statement):
        row = target_row(w, statement)
        names = {i.name: w.fresh("i") for i in own}
        place = target_place(w, statement, names)
        at = f"{_at(w, output.terms[0].rows, names, width)} + {w.flat(_columns(w, output), names)}"
        w.nest(own, names, [f"{row}[{place}] = {source}[{at}];"])


def _packed(
    w: Writer,
    stage: Matmul,
    weights: str,
    shape: tuple[str, str],
    widths: Sequence[str],
    heights: Sequence[str],
) -> str:
    """Have the weights packed; where they are. Those that a loop inside walks lie one after the other."""
    k, n = shape
    inside = w.body.inside(stage.outputs[0].statement)
    places = [p for o in stage.outputs for t in o.terms for p in t.weight.places]
    if inside and not any(
        isinstance(p, Affine) and inside[1].name in dict(p.terms) for p in places
    ):
        inside = None
    count = w.c(inside[1].extent) if inside else "1"
    w.packed.append((weights, k, n, count))
    with w.aside(1) as lines:
        for output, column in zip(stage.outputs, _starts(heights), strict=True):
            for term, row in zip(output.terms, _starts(widths), strict=True):
                _pack_weight(w, output, term, row, column, n)
    lines += [f"  call->products->pack(packed + at, w, {k}, {n}, {n}, 1);"]
    begins = "0"
    if directly := _packed_directly(w, stage, k, heights):
        begins = " && ".join(f"{at} % call->products->panel == 0" for at in _starts(heights))
    lines = [f"  if ({begins}) {{", *directly, "  } else if (number == 0) {", *lines, "  }"]
    lines += [f"  at += packed_size(call, {k}, {n});"]
    if inside is None:
        w.packing += lines
        return weights
    first = w.c(inside[1].lower)
    w.packing += [f"  for (long u = {first}; u < {first} + {count}; u++) {{", *lines, "  }"]
    return f"{weights} + (u - {first}) * packed_size(call, {k}, {n})"


def _packed_directly(w: Writer, stage: Matmul, k: str, heights: Sequence[str]) -> list[str]:
    """Packing without a copy: weights that are matrices, those of each output in panels of their own."""
    lines = []
    for output, at, height in zip(stage.outputs, _starts(heights), heights, strict=True):
        term, store = output.terms[0], w.stores[output.terms[0].weight.tensor]
        axes = w.body.code.tensors[term.weight.tensor].axes
        places = zip(term.weight.places, axes, store.strides, strict=True)
        found = {(index_at(place), axis.range): stride for place, axis, stride in places}
        indices = [(i.name, i.range) for i in (*term.summed, *_columns(w, output))]
        matrix = len(output.terms) == len(term.summed) == 1 and found.keys() == set(indices)
        if not matrix or len(indices) != 2 or term.scale != ONE or _there(w, output, term):
            return []
        strides = ", ".join(str(found[index]) for index in indices)
        place = f"packed + at + {at} * {k}, {store.pointer}"
        lines.append(f"    pack_share(call, {place}, {k}, {height}, {strides}, number, parts);")
    return lines


def _pack_weight(w: Writer, output: Output, term: Term, row: str, column: str, n: str) -> None:
    left = _columns(w, output)
    names = {i.name: w.fresh("i") for i in (*term.summed, *left)}
    here = scope(w, names)
    store = w.stores[term.weight.tensor]
    parts = []
    axes = w.body.code.tensors[term.weight.tensor].axes
    for place, axis, stride in zip(term.weight.places, axes, store.strides, strict=True):
        assert isinstance(place, Affine) and stride is not None
        text = w.from_first(w.sizes.place(place, here.indices), axis.lower, member=False)
        parts.append(c_product(text, stride))
    value = f"{store.pointer}[{c_sum(parts)}]"
    if there := _there(w, output, term):
        value = f"({there} ? {value} : 0)"
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
    return [f"({c_sum(widths[:n])})" for n in range(len(widths))]
