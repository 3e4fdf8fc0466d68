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

What a kernel does, in words: before its loop, in each step, and what it keeps.

before      one product for all steps: x by W^{x,R}, W^{x,G}
each step   one product: h[t-1] by W^{h,R}, W^{h,G}
            one loop over j: R, G, h
kept        R, G for the gradient

Which library calls were recognised in a program, and which nearly, with their equations.

library calls
  attention: F.scaled_dot_product_attention
    α[t_1,t_2] = softmax_{t_2} Query[t_1,I] Key[t_2,I]
    h̃[t,i] = α[t,T] Value[T,i]
near misses
  attention: the weights are wanted, so they are computed
    α[t_1,t_2] = softmax_{t_2} Query[t_1,I] Key[t_2,I]
    h̃[t,i] = α[t,T] Value[T,i]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from indicial.compile.emit.calls import ATTENTION, CROSS_ENTROPY, EMBEDDING, Finding
from indicial.compile.emit.dispatch import Dispatch
from indicial.compile.emit.doubling import Handed
from indicial.compile.emit.source import emit
from indicial.compile.explain.blackboard import equation, letters
from indicial.compile.explain.gradient import folded, in_words, sentence
from indicial.compile.module.sizes import one_length, outcomes
from indicial.compile.native.projections import Gathered, Projection
from indicial.compile.native.reading.body import Body, body, needs_history
from indicial.compile.native.reading.stages import (
    Fused,
    Matmul,
    Nested,
    Output,
    Single,
    every_stage,
    stages,
)
from indicial.compile.native.reading.tile import Tile, faded, written_out
from indicial.compile.native.reading.tiles import tiling
from indicial.compile.native.recurrence import Recurrence
from indicial.compile.native.routine import Native, Part, Stretch, Tiled
from indicial.compile.passes.forms import Distribution, Reduction
from indicial.compile.passes.linear import Linear
from indicial.compile.pipeline import Planned, planned
from indicial.compile.schedule.schedule import Call, Loop, Plan, Step, schedule
from indicial.program.explain.explain import heading
from indicial.program.explain.page import WIDTH, Page, wrapped
from indicial.program.ir import Affine, Code, Index, Read, Softmax, Statement
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.program.program import Program


def schedule_page(program: Program, width: int = WIDTH) -> str:
    """The schedule of a program without errors, for a screen of `width` columns."""
    code = one_length(program.compilable)
    want = [code.loss] if code.loss is not None else list(outcomes(code, schedule(code)))
    made = planned(code, want)
    subject = f"how {in_words(want)} {'is' if len(want) == 1 else 'are'} computed"
    lines = [*wrapped(heading(program), width, ""), "", *sentence(subject, width), ""]
    lines += _Writer(code, made, width).steps(made.plan.steps, ())
    lines += finding_lines(emit(made.code, made.plan, want).findings, made.plan, width)
    return "\n".join(lines)


class _Writer:
    """The lines of a plan; what is inside a loop stands further right."""

    def __init__(self, code: Code, made: Planned, width: int) -> None:
        self.code = code
        self.reasons = {loop.variable: reason for loop, reason in made.refused}
        self.width = width
        self.loops = any(loop.kind == "scanned" for loop in schedule(code).loops())

    def steps(self, steps: Sequence[Step], around: tuple[Loop, ...]) -> Iterator[str]:
        last: Step | None = None

        def kind(step: Step) -> object:
            if isinstance(step, Loop | Call):
                return next(step.statements()).number
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
        walked = (loop.fixed(statement) for loop in around if statement.target in loop.axes)
        fixed = {found[0] for found in walked if found is not None}
        free = tuple(i for i in statement.indices if i.name not in fixed)
        text = f"parallel {', '.join(letters(free))}" if free else "one number"
        inside = any(loop.kind == "scanned" and statement.target in loop.axes for loop in around)
        left = statement.target not in self.code.tensors and self.loops and not inside
        return f"{text}: taken out of the loop below" if left else text

    def loop(self, loop: Loop, around: tuple[Loop, ...]) -> Iterator[str]:
        """A loop of the emitted text, and what is in it."""
        yield from self.say(_walk(loop), len(around))
        yield from self.steps(loop.steps, (*around, loop))
        if loop.variable in self.reasons:
            why = f"{self.reasons[loop.variable]}; the emitted PyTorch runs the same schedule"
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
            reason = self.reasons[call.loop.variable]
            yield from self.rows([("linear", [linear]), ("no kernel", [reason])], depth)
            return
        recurrence = call.function
        assert isinstance(recurrence, Recurrence)
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


def _moved(lines: Iterable[str], depth: int) -> Iterator[str]:
    return (" " * (2 * depth) + line for line in lines)


def kernel_rows(recurrence: Recurrence, letter: str) -> Iterator[tuple[str, list[str]]]:
    """Labels with sentences on the forward pass of a recurrence that walks the index `letter`."""
    rows = list(_rows(recurrence, letter))
    yield from rows
    said = {word.strip(",;()") for _, texts in rows for text in texts for word in text.split()}
    names = {word.split("[")[0] for word in said} - recurrence.scan.code.tensors.keys()
    if made := [equation(s) for s in recurrence.code.statements if s.target in names]:
        yield "where", list(dict.fromkeys(made))


def _rows(recurrence: Recurrence, letter: str) -> Iterator[tuple[str, list[str]]]:
    label = "before"
    at_once: list[str] = []
    for part in recurrence.forward.parts:
        if isinstance(part, Native | Tiled):
            if at_once:
                yield label, at_once
            if isinstance(part, Native):
                yield "each step", list(_steps(part, letter))
            else:
                code, want, number = part.packed.value
                tile = faded(tiling(code, schedule(code, want), want).tiles[number])
                yield "tiles", list(_tiles(code, tile, recurrence))
                if tile.fadings:
                    yield "derived", list(_derived(code, tile))
            label, at_once = "after", []
        else:
            at_once += _all_steps(part, recurrence)
            if isinstance(part, Projection) and _goes_inside(part, recurrence):
                at_once.append("in each step instead, with four members a thread or more")
    if at_once:
        yield label, at_once
    more = [name for name in recurrence.kept if name not in recurrence.outputs]
    if more:
        yield "kept", [f"{', '.join(more)} for the gradient"]


def _goes_inside(part: Projection, recurrence: Recurrence) -> bool:
    inside = recurrence.forward.inside
    return inside is not None and any(o.weight in inside.weights for o in part.outputs)


def _derived(code: Code, tile: Tile) -> Iterator[str]:
    """The equations by which states that fade are computed."""
    known = {*code.statements}
    for statement in written_out(code, tile).statements:
        if statement not in known:
            yield equation(statement)


def _tiles(code: Code, tile: Tile, recurrence: Recurrence) -> Iterator[str]:
    """How a state that is a matrix goes through time."""
    (sweep,) = tile.sweeps
    states = [item for item in sweep.items if item.kind == "state"]
    letters = dict(
        zip(states[0].left, (a.letter for a in code.tensors[states[0].target].axes), strict=True)
    )
    names = ", ".join(item.target for item in states)
    sums = ", ".join(item.target for item in sweep.items if item.kind == "sum")
    row, vec = letters[tile.row], letters[tile.vec]
    if tile.coupled:
        yield f"all {row} and some {vec} of {names} at a time, in the cache, through all steps: {sums}"
    else:
        yield f"some {row} and {vec} of {names} at a time, in registers, through all steps: {sums}"
    if tile.fadings:
        fading = ", ".join(fading.state for fading in tile.fadings)
        yield f"{fading} is kept divided by the product of its decays: a step only adds to it"
    if recurrence.again:
        yield f"{names} is stored for no step; the gradient computes it again, from checkpoints"


def _all_steps(part: Part, recurrence: Recurrence) -> Iterator[str]:
    """A part that runs outside the loop. A layer of a tensor is called by the tensor's name."""
    outside = {name: piece.tensor for name, piece in recurrence.scan.arguments.items()}
    match part:
        case Projection(outputs):
            operand = outside.get(outputs[0].operand, outputs[0].operand)
            weights = _beside([outside.get(o.weight, o.weight) for o in outputs])
            yield f"one product for all steps: {operand} by {weights}"
        case Gathered(_, terms):
            factors = [f"{outside.get(t.operand, t.operand)} by {t.weight}" for t in terms]
            yield f"one product for all steps: {' + '.join(factors)}"
        case Stretch():
            yield f"PyTorch for all steps: {', '.join(part.want)}"


def _steps(part: Native, letter: str) -> Iterator[str]:
    walked = body(part.code, part.loop, part.same)
    kept = {*part.keep, *needs_history(walked)} & part.loop.axes.keys()
    for stage in stages(walked, kept):
        if isinstance(stage, Nested):
            rounds = f"each {stage.loop.letter} {'down' if stage.loop.direction < 0 else 'up'}wards"
            yield f"{rounds}: {'; '.join(_stage(walked, s, letter) for s in every_stage(stage.stages))}"
        else:
            yield _stage(walked, stage, letter)


def _stage(walked: Body, stage: Matmul | Fused | Single, letter: str) -> str:
    match stage:
        case Matmul(_, outputs):
            return f"one product: {_product(walked, outputs, letter)}"
        case Fused(statements):
            indices = walked.inner_indices(statements[0])
            over = f"one loop over {_letters(indices)}" if indices else "numbers"
            return f"{over}: {', '.join(dict.fromkeys(s.target for s in statements))}"
        case Single(statement, Distribution(indices)):
            return f"a softmax over {_letters(indices)}: {statement.target}"
        case Single(statement, Reduction(operator, indices)):
            name = "log-sum-exp" if operator == "lse" else operator
            return f"a {name} over {_letters(indices)}: {statement.target}"
        case Single(statement, form):
            assert not isinstance(form, Distribution | Reduction)
            factors = dict.fromkeys(_operand(walked, f, None, letter) for f in form.factors)
            over = f" over {_letters(form.indices)}" if form.indices else ""
            return f"a sum{over}: {statement.target}, of {' times '.join(factors)}"


def _product(walked: Body, outputs: tuple[Output, ...], letter: str) -> str:
    """`h[t-1] by W^{h,R}, W^{h,G}`; operands side by side are joined by `;`."""
    first = outputs[0]
    operands = [_operand(walked, t.operand, first, letter) for t in first.terms]
    weights = [[t.weight.tensor for t in output.terms] for output in outputs]
    if len(operands) == 1:
        return f"{operands[0]} by {_beside([w for some in weights for w in some])}"
    joined = [f"({'; '.join(some)})" for some in (operands, *weights)]
    return f"{joined[0]} by {_beside(joined[1:])}"


def _operand(walked: Body, read: Read, output: Output | None, letter: str) -> str:
    """`h[t-1]`: the tensor and its step, seen from what is computed; with that of a loop inside."""
    if read.tensor not in walked.axes:
        return read.tensor
    left = output.statement.left if output is not None else ()
    there = walked.walked(output.statement.target) if output is not None else []
    called = {loop.variable: loop.letter for loop, _ in walked.parts if loop}
    called[walked.variable] = letter
    places = []
    for number, axis in enumerate(walked.walked(read.tensor)):
        place = read.places[axis]
        if not isinstance(place, Affine) or not place.terms or place.terms[0][0] not in called:
            break
        own = left[there[number]] if number < len(there) else Affine()
        assert isinstance(own, Affine)
        shift = own.offset if own.terms == place.terms else Size()
        places.append(str(Affine(((called[place.terms[0][0]], 1),), place.offset - shift)))
    return f"{read.tensor}[{','.join(places)}]" if places else read.tensor


def _letters(indices: Iterable[Index]) -> str:
    return ", ".join(letters(tuple(indices)))


def _beside(names: Sequence[str]) -> str:
    return ", ".join(names) + " side by side" * (len(names) > 1)


def finding_lines(findings: Iterable[Finding], plan: Plan, width: int) -> Iterator[str]:
    """Two sections; nothing where nothing was found."""
    statements = list(plan.statements())
    groups: dict[bool, dict[str, list[Finding]]] = {True: {}, False: {}}
    for finding in findings:
        what = f"F.{finding.call}" if finding.recognised else finding.reason
        group = groups[finding.recognised]
        group.setdefault(f"{finding.pattern}: {what}", []).append(finding)
    for title, recognised in (("library calls", True), ("near misses", False)):
        if groups[recognised]:
            yield from ("", title)
        for what, some in groups[recognised].items():
            yield from (f"  {line}" for line in sentence(what, width - 2))
            found = [equation(s) for finding in some for s in _stands_for(finding, statements)]
            for text in dict.fromkeys(found):
                yield from (f"  {line}" for line in folded(text, width - 2))


def _stands_for(finding: Finding, statements: Sequence[Statement]) -> list[Statement]:
    """The equations that a call stands for."""
    statement = _statement(finding, statements)
    if statement is None:
        return []
    return [*_softmaxes(finding, statement, statements), statement]


def _softmaxes(
    finding: Finding, statement: Statement, statements: Sequence[Statement]
) -> list[Statement]:
    """The distributions that a call computes along with what reads them."""
    if finding.pattern not in (ATTENTION, CROSS_ENTROPY):
        return []
    read = statement.body.tensors()
    return [s for s in statements if s.target in read and isinstance(s.body, Softmax)]


def _statement(finding: Finding, statements: Sequence[Statement]) -> Statement | None:
    """The equation in which something was found: of several for one tensor, the one that fits."""
    own = [s for s in statements if s.target == finding.tensor]
    gathers = [s for s in own if any(read.looks_up for read in s.body.every(Read))]
    if finding.pattern == EMBEDDING:
        return gathers[0] if gathers else None
    rest = [s for s in own if s not in gathers] or own
    return rest[-1] if rest else None
