"""Pointwise statements as one loop; what they read of each other stays in registers.

const real x1 = tanh_float(r1[i] + r2[i]);      R
const real x2 = sigmoid_float(r3[i] + r4[i]);   G
const real x3 = x2 * r5[i] + (1 - x2) * x1;     h
o1[i] = x3;
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indicial.compile.native.stages import Fused
from indicial.compile.native.writing.reads import rows_first, scope
from indicial.compile.native.writing.targets import (
    members,
    target_place,
    target_row,
    value_or_start,
)
from indicial.compile.native.writing.writer import Writer
from indicial.program.ir import Statement


def write_fused(w: Writer, stage: Fused) -> None:
    """One loop for all statements of a stage."""
    statements = stage.statements
    w.comment(", ".join(s.target for s in statements))
    stored = [s for s in statements if w.plan.is_stored(s.target, statements)]
    indices = w.body.inner_indices(statements[0])
    names = [w.fresh("i") for _ in indices]
    with members(w, *(stored or statements)):
        rows = {s.target: target_row(w, s) for s in stored}
        inside = rows_first(w, lambda: _write_values(w, statements, names, rows))
        w.nest(indices, dict(zip((i.name for i in indices), names, strict=True)), inside)
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
