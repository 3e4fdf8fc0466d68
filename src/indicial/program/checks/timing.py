"""Steps in time, and from layer to layer, that are well-formed and almost surely slips.

    h[t,j] = G[t-1,j] h[t-1,j] + (1 - G[t,j]) R[t,j]      G itself reads h[t-1]: through G[t-1] the
                                                          loop takes two steps, elsewhere one
    Key[k,t,i] = W^K[k,i,J] x[t-1,J]                      x is read at t everywhere else
    L_0[t+1,i] = e[w[t],i]                                nothing steps from t to t+1 here
    loss = Σ_t -ln P(w_{t-1} | …)                         the sum runs over t, and reads only at t-1

An equation for `B[n]` that reads `A[n-1]` has the lag -1 along that index. A lag is explained by a
recurrence: a circle of reads that comes back one step earlier. `P(w_t | …)` may read a step back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.cost.dependence import circles
from indicial.program.lowering.context import Context, RawStatement, TensorInfo, Variable

PATHS = 4000
"""No more circles than this are looked at."""


@dataclass(frozen=True, eq=False)
class Step:
    """One read of `source` by an equation for `target`, with its lag along each family."""

    target: str
    source: str
    lags: tuple[tuple[str, int], ...]
    span: Span
    statement: RawStatement
    at: tuple[tuple[str, int], ...] = ()
    """The indices of the left side that it reads at, each with its lag."""

    def lag(self, family: str) -> int:
        return dict(self.lags).get(family, 0)

    @property
    def moves(self) -> list[str]:
        return [family for family, lag in self.lags if lag]


def suspect_times(context: Context, predicted: set[str]) -> None:
    """Adds warnings; `predicted` are the tokens that some P predicts."""
    steps = list(all_steps(context))
    ways, further = _circles(steps)
    _explained(context, steps, ways, further)
    _two_steps(context, ways)
    _inputs(context, steps, predicted)
    _parameters(context)
    _lefts(context, steps)
    _definitions(context)
    _sums(context)


def shifts(statement: RawStatement) -> dict[str, tuple[Variable, int]]:
    """The indices of a left side, each with what is added to it there."""
    by_name = {v.name: v for v in statement.variables}
    return {
        place.shift[0]: (by_name[place.shift[0]], place.shift[1])
        for place in statement.left
        if place.shift is not None and place.shift[0] in by_name
    }


def all_steps(context: Context) -> Iterator[Step]:
    """Every read of every equation, with its lags."""
    for statement in context.statements:
        left = shifts(statement)
        if context.tensors[statement.target].hidden:
            continue
        for read in expanded(context, statement):
            lags: dict[str, int] = {}
            at: dict[str, int] = {}
            for place in read.places:
                if place.shift is not None:
                    name, shift = place.shift
                    if name in left:
                        variable, by = left[name]
                        lag = shift - by
                        at[name] = lag
                        if lag or variable.family not in lags:
                            lags[variable.family] = lag
            yield Step(
                statement.target,
                read.tensor,
                tuple(lags.items()),
                read.span,
                statement,
                tuple(at.items()),
            )


def reads(statement: RawStatement) -> Iterator[ir.Read]:
    """The reads of a right side, in the order of writing."""
    for root in (statement.body, *((statement.guard,) if statement.guard else ())):
        yield from root.every(ir.Read)


def expanded(context: Context, statement: RawStatement) -> Iterator[ir.Read]:
    """The reads of a right side; for what the analysis named, those of its own right side."""
    pending = [statement]
    seen = {statement.target}
    while pending:
        for read in reads(pending.pop()):
            info = context.tensors.get(read.tensor)
            if info is None or not info.hidden or info.role != "defined":
                yield read
            elif read.tensor not in seen:
                seen.add(read.tensor)
                pending += [st for st in context.statements if st.target == read.tensor]


# ---------------------------------------------------------------------- circles


def _circles(steps: list[Step]) -> tuple[list[list[Step]], list[Step]]:
    """The ways from a tensor back to itself that pass through no tensor twice; and the steps on
    further ones, where there are too many."""
    group = _groups(steps)
    once: dict[object, Step] = {}
    for step in steps:
        if group[step.target] == group.get(step.source):
            once.setdefault((step.target, step.source, step.lags), step)
    outgoing: dict[str, list[Step]] = defaultdict(list)
    for step in once.values():
        outgoing[step.target].append(step)
    order = {name: number for number, name in enumerate(outgoing)}
    found: list[list[Step]] = []
    left: set[int] = set()
    tried = 0
    for start in outgoing:
        pending: list[list[Step]] = [[step] for step in outgoing[start]]
        while pending and tried < PATHS:
            tried += 1
            path = pending.pop()
            last = path[-1].source
            if last == start:
                found.append(path)
            elif order.get(last, -1) > order[start] and all(last != p.target for p in path):
                pending.extend([*path, step] for step in outgoing[last])
        if pending:
            left.add(group[start])
    return found, [step for step in once.values() if group[step.target] in left]


def _groups(steps: list[Step]) -> dict[str, int]:
    """Tensors that read each other, in however many steps, have one number."""
    number = {name: n for n, name in enumerate(dict.fromkeys(step.target for step in steps))}
    needs: list[list[int]] = [[] for _ in number]
    for step in steps:
        if step.source in number:
            needs[number[step.target]].append(number[step.source])
    names = list(number)
    return {names[n]: which for which, group in enumerate(circles(needs)) for n in group}


def _totals(circle: list[Step]) -> dict[str, int]:
    totals: dict[str, int] = defaultdict(int)
    for step in circle:
        for family, lag in step.lags:
            totals[family] += lag
    return {family: lag for family, lag in totals.items() if lag}


def _explained(
    context: Context, steps: list[Step], ways: list[list[Step]], further: list[Step]
) -> None:
    """A lag that belongs to no recurrence: what is read before the beginning is nothing."""
    good = {(s.source, family, lag > 0) for s in further for family, lag in s.lags if lag}
    for circle in ways:
        totals = _totals(circle)
        if len(totals) == 1:
            family = next(iter(totals))
            good.update((s.source, family, s.lag(family) > 0) for s in circle if s.lag(family))
    for step in steps:
        source, target = context.tensors.get(step.source), context.tensors.get(step.target)
        if source is None or target is None or source.role != "defined" or target.probability:
            continue
        if source.probability or not set("+-−") & set(step.span.text):
            continue  # where no shift is written, it is one of a function that is called: `rope(k[t,I], t)`
        known = [f for f, lag in step.lags if (step.source, f, lag > 0) in good]
        if known and step.source == step.target:
            continue  # `α[t-1,s-1]`: a neighbour at the step before
        for family in step.moves:
            if (step.source, family, step.lag(family) > 0) in good:
                continue
            if layered(source, family) and not layered(target, family):
                continue
            context.messages.warning(
                "shifted-read",
                f"{step.target} reads {step.source} one step off in {family}, but not in "
                f"a recurrence"
                if abs(step.lag(family)) == 1 else
                f"{step.target} reads {step.source} {abs(step.lag(family))} steps off in {family}, "
                f"but not in a recurrence",
                (step.span, f"{where(step, family)}"), (step.statement.left_span, "for this"),
                hint=f"at one end of its range this reads outside it, which gives 0; did you mean {family}?",
            )  # fmt: skip


def where(step: Step, family: str) -> str:
    return "a step earlier" if step.lag(family) < 0 else "a step later"


def layered(info: TensorInfo, family: str) -> bool:
    """A tensor that is defined at `ℓ+1` along this family."""
    return any(
        place.shift is not None and place.shift[1] > 0
        for axis in info.axes if axis.letter == family for place, _ in axis.left
    )  # fmt: skip


def _two_steps(context: Context, ways: list[list[Step]]) -> None:
    """A circle of several equations that goes back two steps, where others go back one."""
    by_family: dict[str, list[tuple[int, list[Step]]]] = defaultdict(list)
    for circle in ways:
        totals = _totals(circle)
        if len(totals) == 1:
            family, total = next(iter(totals.items()))
            by_family[family].append((total, circle))
    for family, found in by_family.items():
        states = {c[0].target for _, c in found if len(c) == 1}
        for total, circle in found:
            if abs(total) < 2 or (len(circle) == 1 and not _mixed(circle[0])):
                continue
            if len(circle) > 1 and all(s.source in states for s in circle if s.lag(family)):
                continue  # two states that drive each other
            _say_two_steps(context, family, total, circle)


def _mixed(step: Step) -> bool:
    """`h[t+1] = … h[t-1] …`: both sides are shifted, and the two shifts do not meet."""
    return any(by for _, by in shifts(step.statement).values()) and any(
        abs(lag) > 1 for _, lag in step.lags
    )


def _say_two_steps(context: Context, family: str, total: int, circle: list[Step]) -> None:
    shifted = [s for s in circle if s.lag(family)]
    counts: dict[str, int] = defaultdict(int)
    for info in context.tensors.values():
        counts[info.key] = sum(_shifted_reads(info))
    suspect = min(shifted, key=lambda s: (counts[s.source], -circle.index(s)))
    others = [s for s in shifted if s is not suspect]
    context.messages.warning(
        "two-steps",
        f"the path from {suspect.target} back to itself takes {abs(total)} steps in {family} here",
        (suspect.span, f"{where(suspect, family)}"),
        *((s.span, f"and {where(s, family)} again") for s in others),
        (suspect.statement.left_span, "for this"),
        hint=f"did you mean {suspect.source} at the same {family} here?",
    )  # fmt: skip


def _shifted_reads(info: TensorInfo) -> Iterator[int]:
    for axis in info.axes:
        for place, variables in axis.reads:
            if place.shift is not None and variables:
                yield int(place.shift[1] - variables[0][0].shift != 0)


# ---------------------------------------------------------------------- one step off, where nothing else is


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
