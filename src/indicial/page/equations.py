"""What the page shows of equations: messages, hovering, the typeset form, costs, views, trials, claims.

reading({"text": "y[j] = W[j,I] x[I]"})          →   messages, marks, the programs of the text
facts({"text": …, "program": 0, "sizes": {…}})   →   the typeset form, names, costs and their curves

Places in a text as browsers count them: in UTF-16 units, where 𝔼 takes two.

>>> Units("𝔼 x").at(1)
2

Matrices chosen by hand against learned ones, as the page shows them.

begin({"task": "position"})                    →   the matrices of the design that is there
judge({"task": "position", "matrices": …})     →   every case: how many are wrong, the worst margin
learn({"task": "position", "steps": 1500, …})  →   the matrices that are learned
beside({"task": …, "matrices": …, "other": …}) →   what is the same in both, as sentences and products
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from indicial import library
from indicial.library.loading import load_document
from indicial.notation.printers import latex
from indicial.notation.source import Span, cover
from indicial.page import protocol
from indicial.program.explain.facts import Facts, read
from indicial.program.explain.numbers import formula, in_bytes, short
from indicial.program.explain.places import Descriptions, places
from indicial.program.messages import IndicialError, Message, in_order
from indicial.program.program import Program
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.designs.circuits import Circuits
    from indicial.designs.design import Design


class Units:
    """Offsets of one text, converted."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self.wide = [n for n, c in enumerate(text) if ord(c) > 0xFFFF]

    def at(self, offset: int) -> int:
        offset = min(offset, self.length)
        return offset + bisect_left(self.wide, offset)

    def of(self, span: Span) -> tuple[int, int]:
        """Where a stretch begins and ends; of what stands in another text, the beginning of this."""
        return (self.at(span.start), self.at(span.end)) if span.source.text else (0, 0)


WIDTH = 64
"""Columns of an excerpt."""
LONGEST_TEXT = 200_000
LARGEST_SIZE = 10**7
MOST_NUMBERS = 60_000
"""Elements that a trial sends; the page shows no more than it can draw at once."""
POINTS = 25
"""Of a curve."""
MANY = 64
"""What a size is in the costs as long as nobody chooses it."""
FEW = {"L": 4}
"""The same for sizes that are small where people use the letter: layers."""


@lru_cache(8)
def programs_of(text: str) -> tuple[Program, ...]:
    """The programs of a text; remembered, since several questions are asked of one."""
    if len(text) > LONGEST_TEXT:
        raise IndicialError(
            f"the text has {len(text):,} characters; {LONGEST_TEXT:,} is the limit here"
        )
    # With an end of line it is a text, never the name of a file.
    return tuple(load_document(text + "\n"))


def chosen(question: protocol.AboutText | protocol.AskView | protocol.AskTry) -> Program:
    """The program that a question is about, without errors."""
    programs = programs_of(question["text"])[question["program"] :][:1]
    if any(program.errors for program in programs):
        raise IndicialError("the equations have mistakes; they are marked in the text")
    if not any(program.equations for program in programs):
        raise IndicialError("there are no equations in this text yet")
    return programs[0]


# ---------------------------------------------------------------------- while one types


def reading(question: protocol.ReadText) -> protocol.Reading:
    """What is wrong, what each place is, and which programs there are."""
    programs = programs_of(question["text"])
    units = Units(question["text"])
    every: dict[Message, None] = {m: None for p in programs for m in p.messages}
    marks: dict[tuple[int, int], protocol.Mark] = {}
    for number, program in enumerate(programs):
        for place in places(program):
            start, end = units.of(place.span)
            marks.setdefault(
                (start, end), {"start": start, "end": end, "program": number, "about": place.about}
            )
    skipped = {s.span: s.reason for p in programs for s in p.skipped}
    return {
        "messages": [_told(m, units) for m in in_order(every)],
        "marks": sorted(marks.values(), key=lambda m: (m["start"], -m["end"])),
        "programs": [_section(p, units) for p in programs],
        "skipped": [
            {"start": start, "end": end, "remark": reason}
            for span, reason in skipped.items()
            for start, end in [units.of(span)]
        ],
    }


def _told(message: Message, units: Units) -> protocol.Told:
    start, end = units.of(message.span)
    found: protocol.Told = {
        "severity": message.severity,  # type: ignore[typeddict-item]
        "code": message.code,
        "text": message.text,
        "excerpt": message.excerpt(WIDTH),
        "start": start,
        "end": end,
        "sites": [
            {"start": first, "end": last, "remark": remark}
            for span, remark in message.sites
            for first, last in [units.of(span)]
        ],
    }
    if message.fix is not None and message.hint and message.hint != message.otherwise:
        first, last = units.of(message.fix[0])
        found["fix"] = {"start": first, "end": last, "text": message.fix[1]}
    return found


def _section(program: Program, units: Units) -> protocol.Section:
    start, end = units.of(cover(st.span for st in program.written))
    return {
        "title": program.title,
        "start": start,
        "end": end,
        "errors": len(program.errors),
        "equations": len(program.equations),
    }


# ---------------------------------------------------------------------- the typeset form, costs


def facts(question: protocol.AboutText) -> protocol.Facts:
    """How the chosen program was read, and what it costs at the chosen sizes."""
    program = chosen(question)
    units = Units(question["text"])
    free = read(program)
    sizes = {
        name: min(max(1, value), LARGEST_SIZE)
        for name, value in question["sizes"].items()
        if name in program.code.sizes and program.code.sizes[name] is None
    }
    full = {name: FEW.get(name, MANY) for name in free.missing} | sizes
    known = read(program, full)
    return {
        "title": program.title,
        "rows": [_row(statement, units) for statement in program.written],
        "names": [
            {"name": n.name, "shown": n.shown, "role": n.role, "guess": n.tensor.guess}
            for n in free.names
            if not n.made
        ],
        "about": Descriptions(program).every(),
        "notes": [f"{note.subject}: {note.text}" for note in program.analysis.notes],
        "sizes": [
            {
                "name": name,
                "fixed": fixed,
                "taken_as": known.taken.get(name),
                "chosen": int(known.sizes.get(name, MANY)),
            }
            for name, fixed in program.code.sizes.items()
        ],
        "costs": [_cost(known, *row) for row in _amounts(known)],
        "curves": list(_curves(known)),
    }


def _row(statement: Any, units: Units) -> protocol.Row:
    start, end = units.of(statement.span)
    text = latex([statement]).removeprefix("\\begin{aligned}\n").removesuffix("\n\\end{aligned}")
    return {"latex": text, "start": start, "end": end}


def _amounts(facts: Facts) -> Iterator[tuple[str, Size, str, bool]]:
    cost = facts.program.cost
    yield "parameters", cost.parameters, "", True
    yield "work", cost.work, facts.growth(cost.work), cost.work_exact
    yield "memory", cost.memory, facts.growth(cost.memory), cost.memory_exact
    for letter, size in cost.state.items():
        yield f"state over {letter}", size, "", True
    yield (
        "parallel time", cost.parallel_time, facts.growth(cost.parallel_time),
        cost.parallel_time_exact,
    )  # fmt: skip


def _cost(facts: Facts, name: str, size: Size, growth: str, exact: bool) -> protocol.Cost:
    number = facts.number(size)
    shown = "" if number is None else short(number)
    if number is not None and (name == "memory" or name.startswith("state")):
        shown = in_bytes(number)
    return {
        "name": name,
        "formula": formula(facts.tied(size)),
        "number": number,
        "shown": shown,
        "growth": growth,
        "exact": exact,
    }


def _curves(facts: Facts) -> Iterator[protocol.Curve]:
    """Each cost against each size, from 1 to eight times what it is."""
    for name, fixed in facts.code.sizes.items():
        if fixed is not None or name in facts.taken:
            continue
        top = max(16, 8 * facts.sizes.get(name, MANY))
        at = sorted({max(1, round(top ** (n / (POINTS - 1)))) for n in range(POINTS)})
        also = [other for other, letter in facts.taken.items() if letter == name]
        for what, size, _, _ in _amounts(facts):
            values: list[Any] = []
            for value in at:
                sizes = {**facts.sizes, name: value, **dict.fromkeys(also, value)}
                try:
                    values.append(size.value(sizes))
                except (KeyError, ValueError):
                    values.append(None)
            yield {"size": name, "cost": what, "at": at, "values": values}


# ---------------------------------------------------------------------- views


def view(question: protocol.AskView) -> protocol.Shown:
    """How it is run, as PyTorch, the gradient, a drawing."""
    program = chosen(question)
    match question["what"]:
        case "schedule":
            from indicial.compile.explain.schedule_page import schedule_page

            return {"text": schedule_page(program), "svg": ""}
        case "gradient":
            from indicial.compile.explain.gradient import gradient

            return {"text": gradient(program), "svg": ""}
        case "torch":
            return {"text": program.torch_source(), "svg": ""}
        case "graph":
            from indicial.inspect.graph import draw

            return {"text": "", "svg": draw(program)}


def trial(question: protocol.AskTry) -> protocol.Trial:
    """Every tensor of the program, run on small random values."""
    from indicial.inspect.trial import lowers, remark, run

    program = chosen(question)
    code = program.code
    given = {
        name: min(max(1, value), 64)
        for name, value in question["sizes"].items()
        if name in code.sizes and code.sizes[name] is None
    }
    ran = run(program, given, abs(question["seed"]))
    arrays: list[protocol.Array] = []
    left_out: list[str] = []
    room = MOST_NUMBERS
    order = {"defined": 0, "input": 1}
    for named in sorted(read(program).names, key=lambda n: order.get(n.role, 2)):
        known = ran.result if named.role == "defined" else ran.given
        if named.made or named.name not in known:
            continue
        values = known[named.name]
        room -= values.size
        if room < 0:
            left_out.append(named.shown)
            continue
        arrays.append(
            {
                "name": named.name,
                "letters": list(named.letters),
                "lowers": lowers(named.tensor, ran.sizes),
                "shape": list(values.shape),
                "values": [finite(float(v)) for v in values.flat],
                "role": named.role,
                "remark": remark(code, named.tensor),
                "whole": named.tensor.values is not None,
            }
        )
    return {"sizes": ran.sizes, "arrays": arrays, "left_out": left_out}


def finite(value: float) -> float | None:
    """Five digits of a number; None of what is none, since JSON has no infinity."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def claims(question: protocol.AskTry) -> protocol.Claims:
    """What came of the claims of the whole text."""
    from indicial.claims.trying import try_claims

    programs = programs_of(question["text"])
    units = Units(question["text"])
    found: list[protocol.Verdict] = []
    for verdict in try_claims(programs, sizes=question["sizes"], seed=abs(question["seed"])):
        start, end = units.of(verdict.test.span)
        broken = verdict.broken
        lines = []
        if broken is not None:
            lines = [
                f"{verdict.test.left.span.text or 'the left side'} is {broken.left}",
                f"{verdict.test.right.span.text or 'the right side'} is {broken.right}",
                broken.where.strip(),
                *(f"{name} = {value}" for name, value in broken.draw.items()),
            ]
        found.append(
            {
                "start": start,
                "end": end,
                "text": verdict.test.text or verdict.test.span.text,
                "status": verdict.status,
                "false": verdict.false,
                "as_stated": verdict.as_stated,
                "found": verdict.found,
                "counterexample": [line for line in lines if line],
            }
        )
    return {"verdicts": found}


def model(question: protocol.AskModel) -> protocol.Text:
    """The text of a model of the library."""
    try:
        return {"text": library.path(question["name"]).read_text(encoding="utf-8")}
    except LookupError as error:
        raise IndicialError(str(error)) from error


MOST_STEPS = 10_000
LARGEST = 1e6
SHOWN = 12
"""Cases that are listed where many are wrong."""


@lru_cache(4)
def _by_hand(name: str) -> Design:
    from indicial.designs.hand import hand

    return hand(name)


def _design(task: str, matrices: Mapping[str, Sequence[float]], name: str) -> Design:
    """The equations of a task's design with these matrices."""
    import numpy as np

    base = _by_hand(task)
    arrays = {}
    for key, array in base.arrays.items():
        given = matrices.get(key)
        if given is None or len(given) != array.size:
            raise IndicialError(f"{key} needs {array.size} numbers")
        if not all(math.isfinite(x) and abs(x) <= LARGEST for x in given):
            raise IndicialError(f"{key} has a number that is not from -1e6 to 1e6")
        arrays[key] = np.array(given, np.float64).reshape(array.shape)
    return replace(base, arrays=arrays, name=name)


def begin(question: protocol.AskDesign) -> protocol.DesignOf:
    """The design of a task that is made by hand."""
    base = _by_hand(question["task"])
    equations = [line for line in base.program.unicode().splitlines() if "=" in line]
    return {
        "task": question["task"],
        "equations": equations,
        "matrices": _matrices(base, question["task"]),
    }


def _matrices(design: Design, task: str) -> list[protocol.Matrix]:
    from indicial.designs.checking import TASKS

    features = [*design.tokens, *(f"p{n}" for n in range(design.sizes["P"]))]
    known = {"c": features, "o": TASKS[task].outputs}
    found: list[protocol.Matrix] = []
    for name, array in design.arrays.items():
        axes = design.program.code.tensors[name].axes
        down, across = (
            known.get(axis.letter) or [f"{axis.letter}={n}" for n in range(length)]
            for axis, length in zip(axes, array.shape, strict=True)
        )
        found.append(_matrix(name, down, across, array))
    return found


def _matrix(name: str, rows: Sequence[str], columns: Sequence[str], array: Any) -> protocol.Matrix:
    values = [float(f"{float(x):.6g}") for x in array.flat]
    return {"name": name, "rows": list(rows), "columns": list(columns), "values": values}


def judge(question: protocol.AskJudge) -> protocol.Judged:
    """Every case of the task, and the weights at the one that comes nearest to wrong."""
    from indicial.inspect.attention import attentions

    design = _design(question["task"], question["matrices"], "yours")
    found = design.check(question["task"])
    worst = found.worst
    tokens = worst.case.tokens
    labels = [f"{n} {design.tokens[token]}" for n, token in enumerate(tokens)]
    (weights,) = attentions(design.program.code)
    array = design.run(tokens, [weights.name])[weights.name]
    margin, error = found.margin, found.squared_error
    return {
        "cases": len(found.answered),
        "wrong": len(found.failures),
        "margin": margin if math.isfinite(margin) else None,
        "worst": found.task.text(tokens),
        "place": worst.place,
        "squared_error": error if math.isfinite(error) else None,
        "told": str(found).splitlines()[3 : 3 + SHOWN],
        "weights": _matrix("weights at that sequence", labels, labels, array.clip(-1, 1)),
    }


def learn(question: protocol.AskLearn) -> protocol.Learned:
    """The same equations from a random start."""
    base = _by_hand(question["task"])
    steps = min(max(1, question["steps"]), MOST_STEPS)
    errors: list[float] = []
    made = base.train(
        question["task"], steps=steps, rate=float(question["rate"]), seed=question["seed"],
        told=lambda step, error: errors.append(error),
    )  # fmt: skip
    return {
        "remark": made.remark,
        "matrices": _matrices(made, question["task"]),
        "errors": [error if math.isfinite(error) else None for error in errors],
    }


def beside(question: protocol.AskBeside) -> protocol.Beside:
    """What the outputs depend on, in both: it is the same however the factors are chosen."""
    task = question["task"]
    one = _design(task, question["matrices"], "yours")
    other = _design(task, question["other"], "learned")
    found = one.compare(other)
    first, second = found.circuits
    return {
        "sentences": found.sentences(),
        "products": [*_products(first, "yours", task), *_products(second, "learned", task)],
    }


def _products(found: Circuits, whose: str, task: str) -> list[protocol.Matrix]:
    from indicial.designs.checking import TASKS

    labels, outputs = found.labels, TASKS[task].outputs
    return [
        _matrix(f"scores, {whose}", labels, labels, found.scores[0]),
        _matrix(f"values, {whose}", outputs, labels, found.values[0]),
    ]
