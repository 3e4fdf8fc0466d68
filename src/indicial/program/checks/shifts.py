"""Indices that are one step off, where nothing else is.

Key[k,t,i] = W^K[k,i,J] x[t-1,J]        x is read at t everywhere else
L_0[t+1,i] = e[w[t],i]                  nothing steps from t to t+1 here
loss = Σ_t -ln P(w_{t-1} | …)           the sum runs over t, and reads only at t-1
"""

from __future__ import annotations

from collections import defaultdict

from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.checks.timing import (
    Step,
    all_steps,
    expanded,
    layered,
    reads,
    shifts,
    suspect_loops,
    where,
)
from indicial.program.lowering.context import Context, RawStatement


def suspect_times(context: Context, predicted: set[str]) -> None:
    """Adds warnings; `predicted` are the tokens that some P predicts."""
    steps = list(all_steps(context))
    suspect_loops(context, steps)
    _inputs(context, steps, predicted)
    _parameters(context)
    _lefts(context, steps)
    _definitions(context)
    _sums(context)


def _inputs(context: Context, steps: list[Step], predicted: set[str]) -> None:
    """An input that is read a step off in one equation alone, or in all of them."""
    sources: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        sources[step.source].append(step)
    for key, info in context.tensors.items():
        mine = sources.get(key, []) if info.role == "input" else []
        for family in dict.fromkeys(f for s in mine for f, _ in s.lags):
            along = [s for s in mine if family in dict(s.lags) and not _stepping(s, family)]
            off = [s for s in along if s.lag(family) and not _within(s, along, family)]
            places = {s.span for s in off}
            if not off or any(context.tensors[s.target].probability for s in off):
                continue
            even = [s for s in along if not s.lag(family)]
            if even and len(places) == 1:
                context.messages.warning(
                    "shifted-input", f"{key} is read a step off here, but at {family} everywhere else",
                    (off[0].span, where(off[0], family)), (even[0].span, f"at {family} here"),
                    hint=f"write {family} here too, unless a delay is intended",
                )  # fmt: skip
            elif context.document and key not in context.outline.declared:
                continue  # the h of `z_t = σ(U h_{t-1})`, which another display defines
            elif not even and key not in predicted:
                context.messages.warning(
                    "shifted-input", f"{key} is never read at {family} itself, only a step off",
                    *((span, "a step off") for span in dict.fromkeys(s.span for s in off)),
                    (info.span, f"the input {key}"),
                    hint=f"one end of {key} is never used; did you mean {family}?",
                )  # fmt: skip


def _stepping(step: Step, family: str) -> bool:
    """`L_{ℓ+1} = … L_ℓ …`: an equation from one step to the next."""
    return any(v.family == family and by for v, by in shifts(step.statement).values())


def _within(step: Step, along: list[Step], family: str) -> bool:
    """`x[t] - x[t-1]`: an equation that reads several steps of one index means them."""
    return any(
        name == other and lag != by
        for s in along if s.statement is step.statement
        for name, lag in s.at for other, by in step.at
    )  # fmt: skip


def _parameters(context: Context) -> None:
    """A declared parameter at a shifted index: it has no step before."""
    for statement in context.statements:
        left = shifts(statement)
        for read in reads(statement):
            info = context.tensors.get(read.tensor)
            if info is None or info.key not in context.outline.parameters:
                continue
            for place in read.places:
                if place.shift is not None:
                    name, shift = place.shift
                    if shift and name in left and not left[name][1]:
                        context.messages.warning(
                            "shifted-parameter", f"the parameter {info.key} is read at a shifted index",
                            (read.span, "shifted"), (info.span, "declared here"),
                            hint=f"write {left[name][0].family}: a parameter has one element for each place",
                        )  # fmt: skip


# ---------------------------------------------------------------------- left sides and sums


def _lefts(context: Context, steps: list[Step]) -> None:
    """`L_0[t+1,i] = e[w[t],i]`: a step on the left that nothing on the right takes part in."""
    for statement in context.statements:
        info = context.tensors[statement.target]
        for name, (variable, by) in shifts(statement).items():
            if not by or info.hidden:
                continue
            mine = [s for s in steps if s.statement is statement]
            if any(s.source == statement.target for s in mine):
                continue
            places = [
                p.shift[1] for r in expanded(context, statement) for p in r.places
                if p.shift is not None and p.shift[0] == name
            ]  # fmt: skip
            if by in places or _defined_so(context, mine, variable.family, by):
                continue
            context.messages.warning(
                "shifted-left",
                f"the left side has {variable.family}{by:+d}, but nothing on the right does",
                (statement.left_span, f"{variable.family}{by:+d}"), (statement.body.span, ""),
                hint=f"write {variable.family} on the left, or define the first element",
            )  # fmt: skip


def _definitions(context: Context) -> None:
    """`L_0[t-1,j] = …` beside `L_{ℓ+1}[t,j] = …`: equations of one tensor that are out of step."""
    known: dict[tuple[str, int], tuple[int, RawStatement]] = {}
    for statement in context.statements:
        if not statement.left_span.text or context.tensors[statement.target].hidden:
            continue
        for number, place in enumerate(statement.left):
            if place.shift is None:
                continue
            by, other = known.setdefault((statement.target, number), (place.shift[1], statement))
            if by != place.shift[1] and statement.guard is None:
                family = context.tensors[statement.target].axes[number].letter
                context.messages.warning(
                    "shifted-left", f"two equations of {statement.target} are out of step in {family}",
                    (statement.left_span, "this one"), (other.left_span, "and this one"),
                    hint=f"write {family} on both left sides",
                )  # fmt: skip


def _defined_so(context: Context, mine: list[Step], family: str, by: int) -> bool:
    """Whether what is read is defined at `ℓ+1` too, so that this equation is part of a stack."""
    for step in mine:
        info = context.tensors.get(step.source)
        if info is None or info.role not in ("defined", "input"):
            continue
        if info.role == "defined" and layered(info, family) and by > 0:
            return True
        if info.role == "input" and context.document:
            return True
    return False


def _sums(context: Context) -> None:
    """`Σ_t -ln P(w_{t-1} | …)`: the sum runs over t, and all that it reads is a step off."""
    for statement in context.statements:
        for node in statement.body.every(ir.Reduce, ir.Softmax):
            bound = {i.name: i for i in node.indices}
            at: dict[str, list[tuple[int, Span]]] = defaultdict(list)
            for read in node.body.every(ir.Read):
                for place in read.places:
                    if place.shift and place.shift[0] in bound:
                        at[place.shift[0]].append((place.shift[1], read.span))
            for name, found in at.items():
                number = int((bound[name].extent.name or "#ex0")[3:])
                variable = context.variables[number]
                if variable.free or variable.lower is not None:
                    continue
                if node.condition is not None and not _same_way(node.condition, found[0][0]):
                    continue
                if any(shift for shift, _ in found) and len({shift for shift, _ in found}) == 1:
                    context.messages.warning(
                        "shifted-sum", f"this runs over {variable.family}, but reads only one step off",
                        *((span, "a step off") for _, span in found), (node.span, ""),
                        hint=f"one end is left out, and the other reads outside the range; write "
                             f"{variable.family}, or give the range: Σ_{{{variable.family}=1}}^{{…}}",
                    )  # fmt: skip


def _same_way(condition: ir.Expression, shift: int) -> bool:
    """`Σ_{t ≥ 1}` and a read at t+1: the condition does not make room for the step."""
    if not isinstance(condition, ir.Apply) or not isinstance(condition.arguments[0], ir.IndexValue):
        return False
    return condition.function in ((">", "≥") if shift > 0 else ("<", "≤"))
