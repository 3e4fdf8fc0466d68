"""Sums, maxima and softmaxes of one member, and products that are none of matrices.

for s: for d: c[d] += α[s] h[s,d]             along memory, where the summed index is the slower
for s: y = Σ_m v[m] u[s,m]; α[s] = y          else one element after the other
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from indicial.compile.native.writing.rows import members, scope, target_place, target_row
from indicial.compile.native.writing.writer import Writer
from indicial.compile.passes.forms import Distribution, Product, Reduction
from indicial.compile.passes.scan import Unsupported
from indicial.program.ir import Affine, Index, Place, Statement

_NOTHING = {"sum": "0", "prod": "1", "max": "-__builtin_inf()", "min": "__builtin_inf()"}
"""What each operator gives of nothing."""
_AT_ONCE = 4
"""How many terms of a sum that streams are added before the sum is written."""


@dataclass(frozen=True)
class _Item:
    """What is reduced, when it counts, by what the result is multiplied, and where it goes."""

    value: str
    condition: str
    scale: str
    target: str

    @property
    def counted(self) -> str:
        return self.otherwise("0")

    def otherwise(self, nothing: str) -> str:
        """The value; where it does not count, something else."""
        return f"({self.condition} ? {self.value} : {nothing})" if self.condition else self.value


def write_reduction(w: Writer, statement: Statement, form: Product | Reduction) -> None:
    """A reduction, element by element, or streaming along memory."""
    w.comment(statement.target)
    own = w.body.inner_indices(statement)
    names = {i.name: w.fresh("i") for i in (*own, *form.indices)}
    with members(w, statement):
        w.bound = (*statement.indices, *form.indices)
        target = f"{target_row(w, statement)}[{target_place(w, statement, names)}]"
        if _streams(own, form):
            last = form.indices[-1].name
            ahead = [{last: f"({names[last]} + {n})"} if n else {} for n in range(_AT_ONCE)]
            items = [_item(w, form, {**names, **moved}, target) for moved in ahead]
            _write_streamed(w, own, form, names, items)
        else:
            _write_accumulated(w, own, form, names, _item(w, form, names, target))


def _item(w: Writer, form: Product | Reduction, names: Mapping[str, str], target: str) -> _Item:
    here = scope(w, names)
    condition = here.truth(form.condition) if form.condition is not None else ""
    if isinstance(form, Reduction):
        value, scale = here.c(form.read), ""
    else:
        value = " * ".join(here.c(f) for f in form.factors) or here.number(1.0)
        scale = here.c(form.scale)
        scale = "" if scale == here.number(1.0) else scale
    return _Item(value, condition, scale, target)


def _streams(own: Sequence[Index], form: Product | Reduction) -> bool:
    """Whether the last index on the left, not a summed one, runs along memory."""
    if not own or not isinstance(form, Product) or not form.indices:
        return False
    last = own[-1].name
    summed = {i.name for i in form.indices}
    mixed = False
    for factor in form.factors:
        at = [n for n, p in enumerate(factor.places) if last in _names(p)]
        if at and at != [len(factor.places) - 1]:
            return False
        mixed |= bool(at) and any(summed & _names(p) for p in factor.places)
    return mixed


def _names(place: Place) -> set[str]:
    return {name for name, _ in place.terms} if isinstance(place, Affine) else set()


def _write_streamed(
    w: Writer,
    own: Sequence[Index],
    form: Product | Reduction,
    names: Mapping[str, str],
    items: Sequence[_Item],
) -> None:
    """`items` are the element itself and those that follow along the last summed index."""
    (*outer, last), item = own, items[0]
    *slow, summed = form.indices
    s = names[summed.name]
    with w.loops(outer, names):
        w.nest([last], names, [f"{item.target} = 0;"])
        with w.loops(slow, names):
            w.line(f"long {s} = {w.c(summed.lower, True)};")
            end = w.c(summed.lower + summed.extent, True)
            with w.block(f"for (; {s} + {len(items)} <= {end}; {s} += {len(items)})"):
                w.nest([last], names, [f"{item.target} += {' + '.join(i.counted for i in items)};"])
            with w.block(f"for (; {s} < {end}; {s}++)"):
                w.nest([last], names, [f"{item.target} += {item.counted};"])
        if item.scale:
            w.nest([last], names, [f"{item.target} *= {item.scale};"])


def _write_accumulated(
    w: Writer,
    own: Sequence[Index],
    form: Product | Reduction,
    names: Mapping[str, str],
    item: _Item,
) -> None:
    operator = form.operator if isinstance(form, Reduction) else "sum"
    if operator == "lse":
        with w.loops(own, names):
            _write_log_sum(w, form.indices, names, item)
        return
    if operator not in _NOTHING:
        raise Unsupported(f"no kernel knows {operator}")
    value = item.otherwise(f"(real){_NOTHING[operator]}")
    with w.loops(own, names):
        y = _write_lanes(w, form.indices, names, operator, value)
        w.line(f"{item.target} = {y}{f' * {item.scale}' if item.scale else ''};")


def _write_log_sum(
    w: Writer, indices: Sequence[Index], names: Mapping[str, str], item: _Item
) -> None:
    """The largest, and the logarithm of the sum of what the exponentials are in its place."""
    top, y = w.fresh("y"), w.fresh("y")
    value = item.otherwise("(real)-__builtin_inf()")
    w.line(f"real {top} = {_write_lanes(w, indices, names, 'max', value)};")
    w.line(f"{top} = __builtin_isinf({top}) ? 0 : {top};")
    weight = f"exp_{w.real}({value} - {top})"
    w.line(f"const real {y} = {_write_lanes(w, indices, names, 'sum', weight)};")
    w.line(f"{item.target} = {top} + ln_{w.real}({y});")


def _write_lanes(
    w: Writer, indices: Sequence[Index], names: Mapping[str, str], operator: str, value: str
) -> str:
    """A reduction, LANES elements at once (lanes.h); what it comes to."""
    *outer, last = indices
    lanes, block, lane = w.fresh("y"), w.fresh("k"), w.fresh("l")
    end = w.c(last.lower + last.extent, True)
    inside = f"const long {names[last.name]} = {block} + {lane};"
    inside += f" {lanes}[{lane}] = lanes_{operator}_of({lanes}[{lane}], {value});"
    w.line(f"real {lanes}[LANES];")
    w.line(f"lanes_fill({lanes}, (real){_NOTHING[operator]});")
    with w.loops(outer, names):
        w.line(f"long {block} = {w.c(last.lower, True)};")
        with w.block(f"for (; {block} + LANES <= {end}; {block} += LANES)"):
            w.line("#pragma omp simd")
            w.line(f"for (long {lane} = 0; {lane} < LANES; {lane}++) {{ {inside} }}")
        w.line(f"for (long {lane} = 0; {block} + {lane} < {end}; {lane}++) {{ {inside} }}")
    return f"lanes_{operator}({lanes})"


def write_softmax(w: Writer, statement: Statement, form: Distribution) -> None:
    """The largest, the exponentials, their sum, the weights."""
    w.comment(statement.target)
    own = w.body.inner_indices(statement)
    over = {i.name for i in form.indices}
    names = {i.name: w.fresh("i") for i in own}
    with members(w, statement):
        w.bound = statement.indices
        here = scope(w, names)
        value = here.c(form.read)
        condition = here.truth(form.condition) if form.condition is not None else ""
        target = f"{target_row(w, statement)}[{target_place(w, statement, names)}]"
        inner = [i for i in own if i.name in over]
        with w.loops([i for i in own if i.name not in over], names):
            _write_weights(w, inner, names, _Item(value, condition, "", target))


def _write_weights(
    w: Writer, inner: Sequence[Index], names: Mapping[str, str], item: _Item
) -> None:
    top, y = w.fresh("y"), w.fresh("y")
    value = item.otherwise("(real)-__builtin_inf()")
    w.line(f"const real {top} = {_write_lanes(w, inner, names, 'max', value)};")
    weight = f"exp_{w.real}({item.value} - {top})"
    weight = f"({item.condition} ? {weight} : 0)" if item.condition else weight
    w.nest(inner, names, [f"{item.target} = {weight};"])
    w.line(f"real {y} = {_write_lanes(w, inner, names, 'sum', item.target)};")
    # Where no index is allowed the sum is 0, and every weight is 0 already.
    w.line(f"{y} = {y} == 0 ? 1 : 1 / {y};")
    w.nest(inner, names, [f"{item.target} *= {y};"])
