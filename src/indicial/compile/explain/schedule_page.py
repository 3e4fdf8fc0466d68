"""What `indicial explain NAME --schedule` prints: what runs at once, what step by step, and by what.

>>> print(schedule_page(load("rnn")))
rnn: the vanilla RNN
<BLANKLINE>
how h is computed
<BLANKLINE>
parallel t, j: taken out of the loop below
  h^{in}[t,j] = W^{x,h}[j,K] x[t,K] - B[j]
scanned t forward: one kernel in C
  parallel j
    h[t,j] = σ(W^{h,h}[j,I] h[t-1,I] + h^{in}[t,j])
  before      one product for all steps: x by W^{x,h}
  each step   one product: h[t-1] by W^{h,h}
              one loop over j: h
…
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from indicial.compile.emit.dispatch import Dispatch
from indicial.compile.emit.doubling import Handed
from indicial.compile.emit.source import emit
from indicial.compile.explain.blackboard import equation, letters
from indicial.compile.explain.gradient import folded, in_words, sentence
from indicial.compile.explain.kernels import finding_lines, kernel_rows
from indicial.compile.module.wanted import one_length, outcomes
from indicial.compile.native.recurrence import Recurrence
from indicial.compile.passes.linear import Linear
from indicial.compile.planned import Planned, planned
from indicial.compile.schedule.plan import Call, Loop, Step
from indicial.compile.schedule.schedule import schedule
from indicial.program.explain.explain import heading
from indicial.program.explain.page import WIDTH, Page, wrapped
from indicial.program.ir import Code, Statement

if TYPE_CHECKING:
    from indicial.program.program import Program


def schedule_page(program: Program, width: int = WIDTH) -> str:
    """The schedule of a program without errors, for a screen of `width` columns."""
    code = one_length(program.compilable)
    want = [code.loss] if code.loss is not None else list(outcomes(code, schedule(code)))
    ready = planned(code, want)
    subject = f"how {in_words(want)} {'is' if len(want) == 1 else 'are'} computed"
    lines = [*wrapped(heading(program), width, ""), "", *sentence(subject, width), ""]
    lines += _Writer(code, ready, width).steps(ready.plan.steps, ())
    lines += finding_lines(emit(ready.code, ready.plan, want).findings, ready.plan, width)
    return "\n".join(lines)


class _Writer:
    """The lines of a plan; what is inside a loop stands further right."""

    def __init__(self, code: Code, ready: Planned, width: int) -> None:
        self.code = code
        self.reasons = {id(loop): reason for loop, reason in ready.refused}
        self.width = width
        self.loops = any(loop.kind == "scanned" for loop in schedule(code).loops())

    def steps(self, steps: Sequence[Step], around: tuple[Loop, ...]) -> Iterator[str]:
        last: Step | None = None

        def kind(step: Step) -> object:
            if isinstance(step, Loop | Call):
                return id(step)
            return self.title(step.statement, around)

        for _, group in groupby(steps, kind):
            some = list(group)
            if not around and isinstance(last, Loop | Call):
                yield ""
            last = some[0]
            if isinstance(last, Loop):
                yield from self.loop(last, around)
            elif isinstance(last, Call):
                yield from self.call(last, around)
            else:
                yield from self.together([s for step in some for s in step.statements()], around)

    def together(self, statements: Iterable[Statement], around: tuple[Loop, ...]) -> Iterator[str]:
        """Statements, each with the indices that run at once above it."""
        for title, group in groupby(statements, lambda s: self.title(s, around)):
            yield from self.say(title, len(around))
            yield from self.equations(group, len(around) + 1)

    def title(self, statement: Statement, around: tuple[Loop, ...]) -> str:
        fixed = {found[0] for loop in around if (found := _fixed(loop, statement)) is not None}
        free = tuple(i for i in statement.indices if i.name not in fixed)
        text = f"parallel {', '.join(letters(free))}" if free else "one number"
        left = statement.target not in self.code.tensors and self.loops
        return f"{text}: taken out of the loop below" if left else text

    def loop(self, loop: Loop, around: tuple[Loop, ...]) -> Iterator[str]:
        """A loop of the emitted text, and what is in it."""
        yield from self.say(_walk(loop), len(around))
        yield from self.steps(loop.steps, (*around, loop))
        if id(loop) in self.reasons:
            why = f"{self.reasons[id(loop)]}; the emitted PyTorch runs the same schedule"
            yield from self.rows([("no kernel", [why])], len(around) + 1)

    def call(self, call: Call, around: tuple[Loop, ...]) -> Iterator[str]:
        """A loop that a function runs."""
        depth = len(around) + 1
        if isinstance(call.function, Dispatch):
            title = f"chosen {call.loop.letter.lower()}: one batch for each, of the places that chose it"
            yield from self.say(title, len(around))
            yield from _moved(self.together(call.loop.statements(), around), 1)
            return
        if isinstance(call.function, Handed):
            yield from self.say(f"{_walk(call.loop)}: a parallel scan in PyTorch", len(around))
            yield from self.together(call.loop.statements(), (*around, call.loop))
            linear = _linear(call.function.doubling.linear, call.loop)
            reason = self.reasons[id(call.loop)]
            yield from self.rows([("linear", [linear]), ("no kernel", [reason])], depth)
            return
        recurrence = _recurrence(call)
        yield from self.together(recurrence.scan.absorbed, around)
        yield from self.say(f"{_walk(call.loop)}: one kernel in C", len(around))
        yield from self.steps(call.loop.steps, (*around, call.loop))
        yield from self.rows(kernel_rows(recurrence, call.loop.letter), depth)
        if recurrence.linear is not None:
            linear = _linear(recurrence.linear, call.loop)
            yield from self.rows([("linear", [f"{linear}, where there is no kernel"])], depth)

    # ---- lines ----

    def say(self, text: str, depth: int) -> Iterator[str]:
        yield from _moved(sentence(text, self.width - 2 * depth), depth)

    def equations(self, statements: Iterable[Statement], depth: int) -> Iterator[str]:
        for statement in statements:
            lines = folded(equation(statement), self.width - 2 * (depth - 1))
            yield from _moved(lines, depth - 1)

    def rows(self, rows: Iterable[tuple[str, list[str]]], depth: int) -> Iterator[str]:
        page = Page(self.width - 2 * depth)
        for label, sentences in rows:
            page.put(label, [line for text in sentences for line in page.fold(text)])
        yield from _moved(page.lines, depth)


def _fixed(loop: Loop, statement: Statement) -> tuple[str, object] | None:
    return loop.fixed(statement) if statement.target in loop.axes else None


def _walk(loop: Loop) -> str:
    """`scanned t backward`, `stacked ℓ`."""
    way = "forward" if loop.direction > 0 else "backward"
    return f"{loop.kind} {loop.letter} {way}"


def _linear(found: Linear, loop: Loop) -> str:
    """`in h, with the factor G[t,j]: …`."""
    (statement,) = found.code.of(found.factor)
    factor = equation(statement).split(" = ", 1)[1]
    steps = str(loop.extent)
    rounds = f"log2({steps}) rounds of a parallel scan do for {steps} steps"
    return f"in {found.state}, with the factor {factor}: {rounds}"


def _recurrence(call: Call) -> Recurrence:
    assert isinstance(call.function, partial)
    recurrence = call.function.args[0]
    assert isinstance(recurrence, Recurrence)
    return recurrence


def _moved(lines: Iterable[str], depth: int) -> Iterator[str]:
    return (" " * (2 * depth) + line for line in lines)
