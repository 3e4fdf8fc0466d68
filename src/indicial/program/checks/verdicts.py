"""Mistakes that show when a program runs: circles, false steps of a chain, looking ahead.

A program that reads well is tried on small random values, at corner sizes. A step `A = B` of a chain
that does not hold there does not follow; the message shows the values. `P(w_t | w_0, …, w_{t-1})` says
what the distribution may depend on: changing another token must not change it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from indicial.notation.source import NOWHERE, Span
from indicial.program import ir
from indicial.program.checks.givens import check_given, check_sums, machine_on
from indicial.program.cost.dependence import longest_chain
from indicial.program.meaning.arrays import InterpretError
from indicial.program.meaning.machine import CycleError, Machine
from indicial.program.meaning.sample import sample, small_sizes, work
from indicial.program.messages import Messages
from indicial.program.names.outline import Outline
from indicial.program.rewrite import reached, tensors_read

TRIES = ((2, 1), (3, 2), (1, 3))
"""Sizes and seeds that steps are tried on."""

UNDER_WAY = 2
"""So many steps behind the first, a recurrence does not read what comes before it."""

LIMIT = 4000
"""No step is tried at more values of its indices than this."""

MOST_WORK = 300_000
"""A program that computes more numbers than this, at sizes of 3, is not tried."""
MOST_WORK_EACH = 2_000
"""A long program may compute so many for each of its equations."""


def judge(
    code: ir.Code,
    outline: Outline,
    messages: Messages,
    prose: bool = False,
    holes: Iterable[str] = (),
) -> None:
    """Adds what only shows on values. Call it for a program without errors.

    `prose` says that the steps of chains may use facts that no equation states: that vectors are
    orthogonal, that one has length 1. A step that fails is then worth a note, and no error. `holes` are
    names of what is not known here, such as functions that are only named: a step that uses one is not tried.
    """
    if _too_large(code):
        span = code.statements[0].span if code.statements else NOWHERE
        messages.note(
            "not-tried", "this is too large to be tried on values: steps, cycles and what "
            "is behind the bar were not checked", span, hint="is a range or a size larger than intended?",
        )  # fmt: skip
        return
    if _circle(code, outline, messages):
        return
    _steps(code, messages, prose, outline.document, tuple(holes))
    check_given(code, outline, messages)
    check_sums(code, outline, messages)


def _too_large(code: ir.Code) -> bool:
    """Whether a try would take long: a number as the end of a range, a tensor with very many axes."""
    try:
        needed = work(code, small_sizes(code, 3))
    except (ValueError, KeyError):
        return False  # what cannot be counted cannot be run either
    return needed > max(MOST_WORK, MOST_WORK_EACH * len(code.statements))


def _circle(code: ir.Code, outline: Outline, messages: Messages) -> bool:
    """An element that needs itself. Only programs that no order of steps was found for are tried."""
    if longest_chain(code).exact:
        return False
    for size in (2, 3):
        try:
            machine = machine_on(code, sample(code, small_sizes(code, size), 1))
            for name in dict.fromkeys(statement.target for statement in code.statements):
                machine.array(name)
        except CycleError as error:
            messages.error(
                "cycle", str(error), *_round(code, outline, error),
                hint="a recurrence reads an earlier step (h[t-1,j]), a stack a lower layer",
            )  # fmt: skip
            return True
        except (InterpretError, ValueError, KeyError):
            return False
    return False


def _round(code: ir.Code, outline: Outline, error: CycleError) -> list[tuple[Span, str]]:
    """The places of a circle: each read that goes on in it, and what it is read for."""
    names = [element.partition("[")[0] for element in error.path]
    left = {d.key: d.left.span for d in reversed(outline.definitions)}
    sites: dict[Span, str] = {}
    for name, needed in itertools.pairwise(names):
        for statement in code.of(name):
            for node in statement.body.every(ir.Read):
                if node.tensor == needed and node.span.text:
                    sites.setdefault(node.span, f"needs {needed}")
        if name in left:
            sites.setdefault(left[name], f"for {name}")
    return list(sites.items()) or [(span, "") for span in dict.fromkeys(error.spans)]


# ---------------------------------------------------------------------- steps of chains


def _steps(
    code: ir.Code, messages: Messages, prose: bool, document: bool, holes: tuple[str, ...]
) -> None:
    trials = Trials(code)
    steps = [test for test in code.tests if test.kind == "step" and test.relation == "="]

    def found_wrong(test: ir.Test) -> bool:
        """Whether the step reads what its chain defines, and another step of the chain is wrong."""
        return any(
            other is not test
            and _reads(test, chain.target)
            and not _reads(other, chain.target)
            and test.left.span.within(chain.span)
            and other.left.span.within(chain.span)
            and _counterexample(other, trials, document) is not None
            for chain in code.statements
            for other in steps
        )

    for test in steps:
        loose = _undetermined(code, test, document) | _stand_ins(code, test, holes)
        if loose:
            names = ", ".join(sorted(loose))
            messages.note(
                "step-open", f"this step uses names that are not given here ({names}) and was not tried",
                test.span,
            )  # fmt: skip
            continue
        found = _counterexample(test, trials, document)
        if found is not None and found_wrong(test):
            continue
        if found is not None and prose:
            messages.note(
                "step-open", f"this step needs more than the equations say: {found}", (_place(test, test.left), "this"),
                (_place(test, test.right), "is not always this"),
                hint="does the text say that vectors are orthogonal, or of length 1?",
            )  # fmt: skip
        elif found is not None and _counts_from_one(test, trials):
            messages.error(
                "step-start", f"this step does not follow at the start: {found}", (_place(test, test.left), "this"),
                (_place(test, test.right), "is this where the first values are 0"),
                hint="indices count from 0; let the sum run over all that comes before",
            )  # fmt: skip
        elif found is not None:
            messages.error(
                "step", f"this step does not follow: {found}", (_place(test, test.left), "this"),
                (_place(test, test.right), "is not always this"),
                hint="tried on random values; look for a swapped index or a missing factor",
            )  # fmt: skip


def _place(test: ir.Test, side: ir.Expression) -> Span:
    """Where a side stands; one that was put in the place of another stands nowhere."""
    return test.span if side.span is NOWHERE or side.span.source is NOWHERE.source else side.span


def _reads(test: ir.Test, name: str) -> bool:
    return name in test.left.tensors() or name in test.right.tensors()


def _is_open(code: ir.Code, name: str) -> bool:
    return code.tensors[name].role not in ("defined", "constant", "draw")


def _open_names(code: ir.Code, expression: ir.Expression) -> set[str]:
    """The inputs and parameters that an expression depends on."""
    needed = reached(expression.tensors(), lambda name: tensors_read(code.of(name)))
    return {
        name for name in needed if name in code.tensors
        and code.tensors[name].role not in ("defined", "constant")
    }  # fmt: skip


def _stand_ins(code: ir.Code, test: ir.Test, holes: tuple[str, ...]) -> set[str]:
    """What is not known here and a side of the step uses; a name is known by how it begins."""
    found = _open_names(code, test.left) | _open_names(code, test.right) if holes else set()
    return {h for h in holes if any(name.startswith(h) for name in found)}


def _undetermined(code: ir.Code, test: ir.Test, document: bool) -> set[str]:
    """What stands on one side only, and is not given: then the step uses a fact from elsewhere.

    In a document such a name (the Z of `softmax s = 1/Z e^s`) may be what the prose says it is.
    """
    direct = [set(side.tensors()) for side in (test.left, test.right)]
    left, right = _open_names(code, test.left), _open_names(code, test.right)
    open_here = {n for n in direct[0] ^ direct[1] if n in code.tensors and _is_open(code, n)}
    if document and open_here - (left & right):
        return open_here
    if direct[0] <= direct[1] or direct[1] <= direct[0]:
        return set()
    return set() if left <= right or (right <= left and not right - left) else left ^ right


class Trials:
    """A program on random values, once for each of `TRIES`: all steps use the same."""

    def __init__(self, code: ir.Code) -> None:
        self.code = code
        self.machines: dict[tuple[int, int, bool], tuple[dict[str, int], Machine]] = {}

    def at(self, size: int, seed: int, from_one: bool = False) -> tuple[dict[str, int], Machine]:
        """The machine of a try; `from_one` has zeros where an index is 0."""
        key = size, seed, from_one
        if key not in self.machines:
            sizes = small_sizes(self.code, size)
            values = sample(self.code, sizes, seed)
            if from_one:
                for group in (values.inputs, values.parameters, values.draws):
                    for value in group.values():
                        _clear_first(value)
            self.machines[key] = sizes, machine_on(self.code, values)
        return self.machines[key]


def _clear_first(values: Any) -> None:
    """Zeros where an index is 0: `[a, b, c]` → `[0, b, c]`."""
    for axis in range(values.ndim):
        values[(slice(None),) * axis + (0,)] = 0


def _counts_from_one(test: ir.Test, trials: Trials) -> bool:
    """Whether a step that is refuted holds once it is under way, where all counts from 1.

    `v_t = β v_{t-1} + x_t = Σ_{i=0}^{t-1} β^i x_{t-i}` begins with x_1; here x_0 comes before it.
    """
    if not test.indices:
        return False
    for seed in (1, 2):
        try:
            sizes, machine = trials.at(UNDER_WAY + 2, seed, from_one=True)
            points = [
                env
                for env in _points(test.indices, sizes)
                if all(env[i.name] >= i.lower.value(sizes) + UNDER_WAY for i in test.indices)
            ]
            if not points or not all(
                _same(machine.value(test.left, dict(env)), machine.value(test.right, dict(env)))
                for env in points
            ):
                return False
        except (InterpretError, ValueError, KeyError, ZeroDivisionError):
            return False
    return True


def _counterexample(test: ir.Test, trials: Trials, rounds: bool) -> str | None:
    """Values that a step does not hold for. A text may round: `0.818/1.549 = 0.528`."""
    slack = _rounding(test) if rounds else 0.0
    for size, seed in TRIES:
        try:
            sizes, machine = trials.at(size, seed)
            for env in _points(test.indices, sizes):
                left, right = (
                    machine.value(test.left, dict(env)),
                    machine.value(test.right, dict(env)),
                )
                if not _same(left, right, slack):
                    at = ", ".join(f"{k} = {v}" for k, v in env.items())
                    where = f" at {at}" if at else ""
                    shown = ", ".join(f"{k} = {v}" for k, v in sizes.items())
                    tried = f" (sizes {shown})" if shown else ""
                    return f"{left:.4g} is not {right:.4g}{where}{tried}"
        except (InterpretError, ValueError, KeyError, ZeroDivisionError):
            return None
    return None


def _same(a: float, b: float, slack: float = 0.0) -> bool:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return True
    return abs(a - b) <= 1e-7 * max(1.0, abs(a), abs(b)) + slack * max(abs(a), abs(b))


_DECIMALS = re.compile(r"(\d+)\.(\d+)")


def _rounding(test: ir.Test) -> float:
    """By which part a step of numbers may be off: half of the last digit of a result, and of what it is computed from.

    Numbers with one digit behind the point are chosen, and not rounded, unless they are the result.
    """
    if test.left.tensors() or test.right.tensors():
        return 0.0
    parts = [
        (side is test.right, m)
        for side in (test.left, test.right)
        for m in _DECIMALS.finditer(side.span.text)
    ]
    halves = [
        0.5 * 10.0 ** -len(m[2]) / value
        for result, m in parts
        if (len(m[2]) > 1 or result) and (value := float(m[0]))
    ]
    return sum(halves) if any(result for result, _ in parts) else 0.0


def _points(indices: tuple[ir.Index, ...], sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    ranges = []
    for index in indices:
        lower, extent = index.lower.value(sizes), index.extent.value(sizes)
        ranges.append(range(lower, lower + extent))
    for values in itertools.islice(itertools.product(*ranges), LIMIT):
        yield dict(zip((i.name for i in indices), values, strict=True))
