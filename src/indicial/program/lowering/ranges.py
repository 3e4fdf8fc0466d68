"""What every index runs over; then the axes, the names of the sizes and the finished code.

L_{ℓ+1}[t,j] = … L_ℓ …     ℓ runs 0..L-1; the axis of L runs 0..L; W_{ℓ+1} has 1..L
Σ_{t=1}^T                  t runs 1..T, everywhere in the program
W[j,I] h[t-1,I]            I and J are one size, J; another I that nothing ties to it is I_{Value}, by its tensor
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.axes import Range, axis_ranges, is_layered
from indicial.program.lowering.context import Context, Variable
from indicial.program.lowering.finish import Finish
from indicial.program.lowering.lower import Lowering
from indicial.program.lowering.reductions import bound
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import capital
from indicial.program.sizes import Size, Strided


def settle(context: Context, lowering: Lowering) -> ir.Code:
    """Decides all ranges and names all sizes; gives the finished code."""
    _declared_ranges(context, lowering)
    _plain_strides(context)
    link_named_sizes(context)
    ranges, axes = _adopt(context, lowering)
    names = name_sizes(context, lowering)
    return Finish(context, lowering, ranges, axes, names).code()


def _declared_ranges(context: Context, lowering: Lowering) -> None:
    """`range Δt = -1..1`; a window without one is a mistake, in a document it is centred."""
    declared = lowering.outline.ranges
    said: set[str] = set()
    for variable in context.variables:
        given = declared.get(variable.family)
        if given is not None and variable.lower is None and isinstance(given[0], s.Interval):
            if variable.family in lowering.bounds:
                continue
            variable.lower = bound(lowering, given[0].lower, Scope(-1))
            variable.upper = bound(lowering, given[0].upper, Scope(-1))
            extent = variable.upper - variable.lower + 1
            if extent.number is not None:
                context.classes.bind(variable.size, extent, given[1].span)
        elif variable.family.startswith("Δ") and variable.lower is None:
            if context.document:
                if variable.family not in said:
                    lowering.note(
                        variable.family,
                        f"a window without a range: read as centred, "
                        f"-{capital(variable.family)}..{capital(variable.family)}",
                        variable.span,
                    )
                variable.lower = -context.classes.atom(variable.size)
                variable.upper = context.classes.atom(variable.size)
            elif variable.family not in said:
                context.messages.error(
                    "window-range", f"the range of {variable.family} is not given",
                    variable.span, hint=f"add a line `range {variable.family} = -1..1`",
                )  # fmt: skip
            said.add(variable.family)


def _plain_strides(context: Context) -> None:
    """`y[t] = x[2t+Δt]`: y is half as long as x. Layers of stride 2 are dealt with at the end."""
    for info in context.tensors.values():
        layered = any(is_layered(a) for a in info.axes)
        for axis in info.axes:
            if axis.stride < 2 or layered:
                continue
            for place, variables in axis.reads:
                for variable, factor in variables:
                    if factor > 1 and isinstance(place, ir.Affine) and variable.free:
                        base = f"#{context.classes.find(axis.size)}"
                        if context.classes.size(variable.size) is None and (
                            context.classes.find(variable.size) != context.classes.find(axis.size)
                        ):
                            half = Size.of(Strided(base, factor, "", 1))
                            context.classes.bind(variable.size, half, variable.span)


def _default(context: Context, starts: dict[int, tuple[int, int]], variable: Variable) -> Range:
    if variable.lower is not None and variable.upper is not None:
        return variable.lower, variable.upper
    size = context.classes.atom(variable.size)
    if variable.free and variable.shift > 0:
        return Size(), size - 1
    lower, offset = starts.get(context.classes.find(variable.size), (0, -1))
    return Size.of(lower), size + offset


def _starts(context: Context, lowering: Lowering) -> dict[int, tuple[int, int]]:
    """Where the range of each size begins and ends, as the text says it of any of its letters."""
    found: dict[int, tuple[int, int]] = {}
    for variable in context.variables:
        said = lowering.bounds.get(variable.family)
        if said is not None and not (variable.free and variable.shift > 0):
            found.setdefault(context.classes.find(variable.size), said)
    return found


def _adopt(
    context: Context, lowering: Lowering
) -> tuple[list[Range], dict[tuple[str, int], Range]]:
    """Each index's range: as the text says, else that of the axes that it reads just as it is.

    With the ranges of all axes.
    """
    starts = _starts(context, lowering)
    ranges = [_default(context, starts, v) for v in context.variables]
    # A free index that reads the tensor it helps to define does not take its range from there.
    own = {(st.target, v.number) for st in context.statements for v in st.variables if v.free}
    axes = axis_ranges(context, ranges)
    for _ in range(4):
        changed = False
        for variable in context.variables:
            if variable.lower is not None or (variable.free and variable.shift > 0):
                continue
            seen: list[Range] = []
            for key, number in variable.plain:
                info = context.tensors[key]
                if info.role != "defined" or number >= len(info.axes):
                    continue
                found = axes.get((key, number))
                if found is not None and (key, variable.number) not in own:
                    seen.append(found)
            if not seen:
                continue
            tightest = _common(context, seen)
            if tightest != ranges[variable.number]:
                ranges[variable.number] = tightest
                changed = True
        if not changed:
            break
        axes = axis_ranges(context, ranges)
    if _adopt_drawn(context, ranges, axes):
        axes = axis_ranges(context, ranges)
    return ranges, axes


def _adopt_drawn(context: Context, ranges: list[Range], axes: dict[tuple[str, int], Range]) -> bool:
    """`W[ℓ,j] ~ N(0, 1)` speaks of all layers that W has, also where those are 1..L."""
    changed = False
    for key, info in context.tensors.items():
        for number, axis in enumerate(info.axes if info.role != "defined" else ()):
            for place, variables in axis.drawn:
                shift = place.shift
                if shift is not None and shift[1] == 0 and variables[0][0].lower is None:
                    own = variables[0][0].number
                    changed = changed or ranges[own] != axes[key, number]
                    ranges[own] = axes[key, number]
    return changed


def _common(context: Context, ranges: list[Range]) -> Range:
    """From the latest beginning to the earliest end; where nobody knows which that is, the first."""

    def beyond(a: Size, b: Size) -> bool:
        return (context.classes.resolve(a - b).number or 0) > 0

    lower, upper = ranges[0]
    for low, high in ranges[1:]:
        lower = low if beyond(low, lower) else lower
        upper = high if beyond(upper, high) else upper
    return lower, upper


def link_named_sizes(context: Context) -> None:
    """A size that is named where none of its indices stand is the one of that name elsewhere."""
    classes = context.classes
    for key, number in context.size_classes.items():
        for other in range(len(classes.parent)):
            root = classes.find(other)
            if root == classes.find(number):
                continue
            if any(name == key and priority <= 5 for priority, name in classes.data[root].names):
                classes.union(root, number, Span(classes.data[root].site.source, 0, 0))
                break


def name_sizes(context: Context, lowering: Lowering) -> dict[int, str]:
    """A name for each class that is not bound: the letter that it is best known by."""
    classes = context.classes
    order: list[int] = []
    owner: dict[int, str] = {}
    for info in context.tensors.values():
        for axis in info.axes:
            order.append(axis.size)
            owner.setdefault(classes.find(axis.size), info.key)
        if info.values is not None:
            order.append(info.values)
    order.extend(v.size for v in context.variables)
    order.extend(context.size_classes.values())
    names: dict[int, str] = {}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    roots = list(dict.fromkeys(classes.find(c) for c in order))
    best: dict[int, tuple[int, str]] = {}
    for root in roots:
        candidates = sorted(
            (p, n, name) for n, (p, name) in enumerate(classes.data[root].names) if name
        )
        best[root] = (candidates[0][0], candidates[0][2]) if candidates else (9, "N")
    for root in sorted(roots, key=lambda r: best[r][0]):
        if classes.data[root].size is not None:
            continue
        name = best[root][1]
        if name in taken:
            others = [n for _, n in sorted(classes.data[root].names, key=lambda x: x[0]) if n]
            free = [n for n in others if n not in taken]
            name = free[0] if free else f"{name}_{_plain_owner(owner.get(root, str(root)))}"
            stem = f"{best[root][1]}_{_plain_owner(owner.get(root, ''))}"
            while name in taken:
                counts[stem] = counts.get(stem, 1) + 1
                name = f"{stem}{counts[stem]}"
        taken.add(name)
        names[root] = name
    return names


def _plain_owner(key: str) -> str:
    return "{" + key + "}" if len(key) > 1 else key
