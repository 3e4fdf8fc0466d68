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
"""

from __future__ import annotations

from indicial.compile.native.linear_maps import Matmul
from indicial.compile.native.scan import Unsupported
from indicial.compile.native.stages import Fused, Single, Stage
from indicial.compile.native.writing.elementwise import write_fused
from indicial.compile.native.writing.kernel_plan import KernelPlan
from indicial.compile.native.writing.matrix import write_matmul
from indicial.compile.native.writing.reductions import write_reduction, write_softmax
from indicial.compile.native.writing.storage import total
from indicial.compile.native.writing.targets import write_starts
from indicial.compile.native.writing.writer import Writer
from indicial.compile.passes.forms import Distribution


def write(plan: KernelPlan) -> str:
    """The whole C text. Afterwards `plan.sizes.names` tells which sizes a call passes."""
    for name in sorted(plan.sizes.ragged):
        plan.sizes.variable(name)
    w = Writer(plan)
    first = w.c(plan.lower)
    last = w.c(plan.lower + plan.extent - 1)
    forward = f"for (long v = {first}; v <= {last}; v++)"
    backward = f"for (long v = {last}; v >= {first}; v--)"
    write_starts(w)
    with w.block(forward if plan.direction > 0 else backward):
        for stage in plan.stages:
            _write_stage(w, stage)
    head = [f"typedef {plan.real} real;", '#include "kernel.h"']
    return "\n".join([*head, "", *_pack(w), "", *_part(w), "", "KERNEL(weights, pack, part)", ""])


def _write_stage(w: Writer, stage: Stage) -> None:
    begun = {name for name, _, _ in w.plan.inner_starts()}
    if not isinstance(stage, Fused):
        outputs = stage.outputs if isinstance(stage, Matmul) else [stage]
        if begun & {output.statement.target for output in outputs}:
            raise Unsupported(f"{', '.join(begun)} starts inside its range, and is a sum")
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


def _sizes(w: Writer) -> list[str]:
    return [
        f"  const long {variable} = call->sizes[{number}]; (void){variable};"
        for number, variable in enumerate(w.sizes.names.values())
    ]


def _declarations(w: Writer) -> list[str]:
    lines = _sizes(w)
    for number, name in enumerate(sorted(w.sizes.ragged)):
        lines.append(
            f"  const int64_t *lengths_{w.sizes.variable(name)} = call->lengths[{number}];"
        )
    for number, name in enumerate((*w.plan.arguments, *w.plan.kept)):
        const = "const " if number < len(w.plan.arguments) else ""
        comment = name.replace("*/", "* /")
        lines.append(f"  {const}real *t{number} = call->tensors[{number}];  /* {comment} */")
        lines.append(
            f"  const long q{number} = call->rows[{number}]; (void)t{number}, (void)q{number};"
        )
    return lines


def _pack(w: Writer) -> list[str]:
    """The weights of all products, each in the order in which the product reads it."""
    lengths = [f"  (void)lengths_{w.sizes.variable(name)};" for name in sorted(w.sizes.ragged)]
    plain = [f"  if ({k} * {n} > most) most = {k} * {n};" for _, k, n in w.packed]
    return [
        "static long weights(const struct call *call) {",
        *_sizes(w),
        f"  return {total([f'packed_size(call, {k}, {n})' for _, k, n in w.packed])};",
        "}",
        "",
        "static real *pack(const struct call *call) {",
        *_declarations(w),
        *lengths,
        "  long at = 0, most = 0;",
        *plain,
        "  real *packed = allocate((weights(call) + 16) * sizeof(real));",
        "  real *w = allocate((most + 16) * sizeof(real));",
        *w.packing,
        "  (void)at;",
        "  free(w);",
        "  return packed;",
        "}",
    ]


def _part(w: Writer) -> list[str]:
    lines = [
        "static void part(const struct call *call, const real *w, long first, long last) {",
        *_declarations(w),
        "  const long members = last - first;",
        "  long need = 0, empty = 0;",
    ]
    for name, width in w.scratch:
        lines += [f"  const long at_{name} = need;", f"  need += padded({width});"]
    lines += [f"  if ({zeros} > empty) empty = {zeros};" for zeros in dict.fromkeys(w.zeros)]
    lines += [
        "  real *scratch = allocate((need + padded(empty)) * sizeof(real));",
        "  const real *zero = scratch + need; (void)zero;",
        "  for (long i = 0; i < empty; i++) scratch[need + i] = 0;",
    ]
    lines += [f"  real *{name} = scratch + at_{name};" for name, _ in w.scratch]
    for name, k, n in w.packed:
        lines += [f"  const real *{name} = w;", f"  w += packed_size(call, {k}, {n});"]
    return [*lines, *w.lines, "  free(scratch);", "}"]
