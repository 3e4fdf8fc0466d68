"""Mistakes that show when a program runs: circles, false steps of a chain, looking ahead.

A program that reads well is tried on small random values, at corner sizes. A step `A = B` of a chain
that does not hold there does not follow; the message shows the values. `P(w_t | w_0, …, w_{t-1})` says
what the distribution may depend on: changing another token must not change it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.program import ir
from indicial.program.arrays import InterpretError
from indicial.program.chain import longest_chain
from indicial.program.interpret import interpret
from indicial.program.machine import CycleError
from indicial.program.messages import Messages
from indicial.program.naming import family, index_name
from indicial.program.outline import Outline
from indicial.program.sample import Sample, sample, small_sizes

TRIES = ((2, 1), (3, 2), (1, 3))
"""Sizes and seeds that steps are tried on."""

LIMIT = 4000
"""No check computes more elements than this in one try."""


def judge(code: ir.Code, outline: Outline, messages: Messages) -> None:
    """Adds what only shows on values. Call it for a program without errors."""
    if _circle(code, messages):
        return
    _steps(code, messages)
    _given(code, outline, messages)


def _circle(code: ir.Code, messages: Messages) -> bool:
    """An element that needs itself. Only programs that no order of steps was found for are tried."""
    if longest_chain(code).exact:
        return False
    for size in (2, 3):
        try:
            _run(code, sample(code, small_sizes(code, size), 1), None)
        except CycleError as error:
            sites = [(span, "") for span in dict.fromkeys(error.spans)]
            messages.error(
                "cycle", str(error), *sites,
                hint="a recurrence reads an earlier step (h[t-1,j]), a stack a lower layer",
            )  # fmt: skip
            return True
        except (InterpretError, ValueError, KeyError):
            return False
    return False


def _run(code: ir.Code, drawn: Sample, want: list[str] | None) -> Any:
    return interpret(
        code, {**code.constants, **drawn.inputs}, drawn.parameters, sizes=drawn.sizes, want=want, draws=drawn.draws
    )


# ---------------------------------------------------------------------- steps of chains


def _steps(code: ir.Code, messages: Messages) -> None:
    for test in code.tests:
        if test.kind != "step" or test.relation != "=":
            continue
        loose = _undetermined(code, test)
        if loose:
            names = ", ".join(sorted(loose))
            messages.note(
                "step-open", f"this step uses what is not given here ({names}) and was not tried",
                test.span,
            )  # fmt: skip
            continue
        found = _counterexample(code, test)
        if found is not None:
            messages.error(
                "step", f"this step does not follow: {found}", (test.left.span, "this"),
                (test.right.span, "is not always this"),
                hint="tried on random values; look for an exchanged index or a lost factor",
            )  # fmt: skip


def _open_names(code: ir.Code, expression: ir.Expression) -> set[str]:
    """The inputs and parameters that an expression depends on."""
    found: set[str] = set()
    pending = [expression]
    seen: set[str] = set()
    while pending:
        for node in pending.pop().walk():
            if not isinstance(node, ir.Read) or node.tensor in seen:
                continue
            seen.add(node.tensor)
            tensor = code.tensors.get(node.tensor)
            if tensor is None:
                continue
            if tensor.role == "defined":
                pending.extend(st.body for st in code.of(node.tensor))
            elif tensor.role != "constant":
                found.add(node.tensor)
    return found


def _undetermined(code: ir.Code, test: ir.Test) -> set[str]:
    """What stands on one side only, and is not given: then the step uses a fact from elsewhere."""
    left, right = _open_names(code, test.left), _open_names(code, test.right)
    return set() if left <= right or right <= left and not right - left else left ^ right


def _counterexample(code: ir.Code, test: ir.Test) -> str | None:
    from indicial.program.arrays import gather_given
    from indicial.program.machine import Machine

    for size, seed in TRIES:
        sizes = small_sizes(code, size)
        drawn = sample(code, sizes, seed)
        arrays = {**drawn.inputs, **drawn.parameters, **drawn.draws, **code.constants}
        try:
            machine = Machine(code, gather_given(code, arrays, sizes, {}))
            for env in _points(test.indices, sizes):
                left, right = machine.value(test.left, dict(env)), machine.value(test.right, dict(env))
                if not _same(left, right):
                    at = ", ".join(f"{k} = {v}" for k, v in env.items())
                    where = f" at {at}" if at else ""
                    shown = ", ".join(f"{k} = {v}" for k, v in sizes.items())
                    return f"{left:.4g} is not {right:.4g}{where} (sizes {shown})"
        except (InterpretError, ValueError, KeyError, ZeroDivisionError):
            return None
    return None


def _same(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return True
    return abs(a - b) <= 1e-7 * max(1.0, abs(a), abs(b))


def _points(indices: tuple[ir.Index, ...], sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    ranges = []
    for index in indices:
        lower, extent = index.lower.value(sizes), index.extent.value(sizes)
        ranges.append(range(lower, lower + extent))
    for values in itertools.islice(itertools.product(*ranges), LIMIT):
        yield dict(zip((i.name for i in indices), values, strict=True))


# ---------------------------------------------------------------------- what stands behind the bar


def _given(code: ir.Code, outline: Outline, messages: Messages) -> None:
    """`P(w_t | w_0, …, w_{t-1})` must not change when a token that is not listed changes."""
    for definition in outline.definitions:
        call = definition.probability
        if call is None or call.given is None or definition.key not in code.tensors:
            continue
        tokens = [g for g in call.given if _token(outline, g) is not None]
        subject = _token(outline, call.arguments[0])
        if subject is None or not tokens or any(_token(outline, g) is None and isinstance(g, s.Dots) and len(call.given) == 1 for g in call.given):
            continue
        key, place = subject
        listed = _listed(outline, call.given, key)
        if listed is None or code.tensors.get(key) is None or len(code.tensors[key].axes) != 1:
            continue
        ahead = _looks_ahead(code, definition.key, key, listed, place)
        if ahead is not None:
            position, changed, base = ahead
            offset = changed - position
            at = f"{base}{offset:+d}" if offset else base
            messages.error(
                "looks-ahead",
                f"{unicode(call.arguments[0])} is predicted from {key}[{at}], which is not behind the bar",
                (definition.left.span, "depends on less than this"), (definition.body.span, "reads it"),
                hint=f"read {key} or the state one step earlier, or list {key}[{at}] behind the bar",
            )  # fmt: skip


def _token(outline: Outline, node: s.Expression) -> tuple[str, s.Expression] | None:
    use = outline.use(node) if isinstance(node, s.Name | s.Index) else None
    if use is None or use.kind != "tensor" or len(use.reference.items) != 1:
        return None
    return use.reference.key, use.reference.items[0]


Bound = tuple[str, int]
"""A place behind the bar: ("number", 0), ("index", -1) for t-1, ("size", 0) for T."""


def _listed(
    outline: Outline, given: tuple[s.Expression, ...], key: str
) -> list[tuple[Bound, Bound]] | None:
    """The stretches of tokens behind the bar; None if they cannot be told."""
    result: list[tuple[Bound, Bound]] = []
    position = 0
    while position < len(given):
        token = _token(outline, given[position])
        if token is None or token[0] != key:
            if isinstance(given[position], s.Dots):
                return None
            position += 1
            continue
        first = _bound(token[1])
        last = first
        if position + 2 < len(given) and isinstance(given[position + 1], s.Dots):
            end = _token(outline, given[position + 2])
            if end is None or end[0] != key:
                return None
            last = _bound(end[1])
            position += 2
        position += 1
        if first is None or last is None:
            return None
        result.append((first, last))
    return result


def _bound(node: s.Expression) -> Bound | None:
    if isinstance(node, s.Number) and node.text.isdigit():
        return ("number", int(node.text[:6]))
    offset = 0
    if isinstance(node, s.Add) and len(node.terms) == 2:
        node, rest = node.terms
        sign = -1 if isinstance(rest, s.Negative) else 1
        rest = rest.body if isinstance(rest, s.Negative) else rest
        if not isinstance(rest, s.Number) or not rest.text.isdigit():
            return None
        offset = sign * int(rest.text[:6])
    name = index_name(node)
    if name is None:
        return None
    return ("size" if name.base.isupper() else "index", offset)


def _looks_ahead(
    code: ir.Code, target: str, tokens: str, listed: list[tuple[Bound, Bound]], place: s.Expression
) -> tuple[int, int, str] | None:
    """Changes each token in turn; gives a place whose P changes though that token is not listed."""
    bound = _bound(place)
    if bound is None or bound[0] != "index":
        return None
    axis = code.tensors[tokens].axes[0]
    length = axis.extent.name
    if length is None:
        return None
    sizes = small_sizes(code, 2)
    sizes[length] = max(3, sizes[length])
    vocabulary = code.tensors[tokens].values
    if vocabulary is not None and vocabulary.name is not None:
        sizes[vocabulary.name] = max(3, sizes[vocabulary.name])
    drawn = sample(code, sizes, 5)
    lower = int(axis.lower.number or 0)
    try:
        before = _run(code, drawn, [target])[target]
        for changed in (sizes[length] - 1, 1):
            other = sample(code, sizes, 5)
            count = vocabulary.value(sizes) if vocabulary is not None else 2
            other.inputs[tokens] = drawn.inputs[tokens].copy()
            other.inputs[tokens][changed] = (other.inputs[tokens][changed] + 1) % max(2, count)
            after = _run(code, other, [target])[target]
            for position in range(min(len(before), sizes[length])):
                same = not (abs(before[position] - after[position]) > 1e-12).any()
                t, c = position + lower, changed + lower
                if not same and not _within(c, t - bound[1], listed, sizes[length] + lower - 1):
                    base = index_name(place) if not isinstance(place, s.Add) else index_name(place.terms[0])
                    return t, c, family(base) if base is not None else "t"
    except (InterpretError, ValueError, KeyError):
        return None
    return None


def _within(value: int, t: int, listed: list[tuple[Bound, Bound]], last: int) -> bool:
    def at(bound: Bound) -> int:
        kind, offset = bound
        if kind == "number":
            return offset
        return t + offset if kind == "index" else last + 1 + offset

    return any(at(first) <= value <= at(end) for first, end in listed)
