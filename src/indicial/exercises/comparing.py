"""Two programs that define the same tensor → a claim that it is the same in both.

    h[t] = G[t] h[t-1] + (1 - G[t]) R[t]      as the sheet has it, `h^{key}`
    h[t] = R[t] + G[t] (h[t-1] - R[t])        as it was answered

    claim h[t] = h^{key}[t]                   tried on draws, at corner sizes

Inputs, parameters and draws are shared; all that equations define is there twice.

The matrices of a design that students wrote → grades: every case of the task is tried.

>>> grade_design(exercise, unit, {"a1": "[[1, 1, 1, 0, 0, 0, 0]]", …})["a1"].told
'42 of 120 sequences are right. AB: place 0 should be A, and is …'

Matrices are right together: any that get all cases right. If some do not, it is found out whether the
fault is in the scores or in the values, with those of the sheet in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from indicial.designs.checking import Check, named_task
from indicial.designs.circuits import circuits
from indicial.designs.design import Design
from indicial.designs.hand import written_design
from indicial.designs.reasons import run_products
from indicial.exercises.asking import EMPTY, Exercise, Grade, Line, Unit
from indicial.exercises.reading import LONGEST, cleaned
from indicial.program.ir import Affine, Code, Index, Read, Tensor, Test
from indicial.program.messages import IndicialError
from indicial.program.rewrite import with_reads


class Unlike(Exception):
    """Why there is nothing to compare, in words."""


def equality(code: Code, key: Code, name: str) -> tuple[Code, Test]:
    """A program that has both, and the claim."""
    if name not in code.tensors:
        raise Unlike(f"{name} is not defined by it")
    if len(code.tensors[name].axes) != len(key.tensors[name].axes):
        raise Unlike(
            f"{name} has {len(key.tensors[name].axes)} indices, and with this answer "
            f"{len(code.tensors[name].axes)}"
        )
    _require_same_sizes(code, key)
    own = {n for n, tensor in key.tensors.items() if tensor.role == "defined"}
    names = {n: _fresh(n, code) for n in own}
    tensors = {**{n: t for n, t in key.tensors.items() if n not in own}, **code.tensors}
    tensors |= {names[n]: replace(key.tensors[n], name=names[n]) for n in own}

    def read(one: Read) -> Read:
        return replace(one, tensor=names.get(one.tensor, one.tensor))

    renamed = partial(with_reads, change=read)
    theirs = (
        replace(s.rebuild(renamed), target=names.get(s.target, s.target)) for s in key.statements
    )
    known = {draw.tensor for draw in code.draws}
    drawn = (
        replace(d, arguments=tuple(map(renamed, d.arguments)))
        for d in key.draws
        if d.tensor not in known
    )
    merged = replace(
        code,
        tensors=tensors,
        statements=(*code.statements, *theirs),
        draws=(*code.draws, *drawn),
        sizes={**key.sizes, **code.sizes},
        constants={**key.constants, **code.constants},
        tests=(),
        loss=None,
    )
    axes = key.tensors[name].axes
    letters = [axis.letter for axis in axes]
    indices = tuple(
        Index(a.letter if letters.count(a.letter) == 1 else f"{a.letter}_{n}", a.lower, a.extent)
        for n, a in enumerate(axes)
    )
    places = tuple(map(Affine.of, indices))
    test = Test(Read(name, places), "=", Read(names[name], places), indices, kind="claim",
                text=f"{name} is as in the sheet")  # fmt: skip
    return merged, test


def _fresh(name: str, code: Code) -> str:
    made = f"{name}^{{key}}"
    while made in code.tensors:
        made += "'"
    return made


def _require_same_sizes(code: Code, key: Code) -> None:
    """Whether what both read is of one shape; an answer may make two sizes one."""
    for name, tensor in key.tensors.items():
        other = code.tensors.get(name)
        if other is None:
            continue
        if tensor.role != other.role and "defined" in (tensor.role, other.role):
            raise Unlike(
                f"{name} is {_role(tensor)} in the sheet, and {_role(other)} with this answer"
            )
        for axis, mine in zip(tensor.axes, other.axes, strict=False):
            if axis.extent != mine.extent:
                raise Unlike(
                    f"{name}[{','.join(a.letter for a in tensor.axes)}] has the size {axis.extent} at "
                    f"{axis.letter}; with this answer it would have to be {mine.extent}"
                )


def _role(tensor: Tensor) -> str:
    words = {"input": "given", "draw": "drawn", "defined": "defined"}
    return words.get(tensor.role, f"a {tensor.role}")


def grade_design(exercise: Exercise, unit: Unit, answers: Mapping[str, str]) -> dict[str, Grade]:
    """A grade for each matrix; one that is missing is as in the sheet, and gets nothing."""
    said = {g.label: cleaned(answers.get(g.label, "")) for line in unit.lines for g in line.gaps}
    given = {label: text for label, text in said.items() if text.strip("_ ")}
    grades = dict.fromkeys(said, EMPTY)
    long = next((label for label, text in given.items() if len(text) > LONGEST), None)
    words = unit.language.split()[1:]
    try:
        if long is not None:
            raise IndicialError(f"{long} has more than {LONGEST:,} signs")
        made = _made(exercise, unit, given, words)
        check = made.check(words[0])
    except IndicialError as error:
        return grades | dict.fromkeys(
            given, Grade(0.0, f"it could not be tried: {error}", "unread")
        )
    right = len(check.answered) - len(check.failures)
    share = round(right / len(check.answered), 4)
    if check.passed:
        told = f"all {right:,} cases are right, with a margin of {check.margin:.3g} at least"
        return grades | dict.fromkeys(given, Grade(1.0, told))
    fault = _fault(made, _made(exercise, unit, {}, words), check)
    told = f"{right:,} of {len(check.answered):,} cases are right. {check.first()}"
    found = {}
    for line in unit.lines:
        for gap in line.gaps:
            name = line.around[0].split("=")[0].split("[")[0].strip()
            if gap.label in given:
                good = fault is not None and name not in fault[0]
                reason = f"\n{fault[1]}" if fault is not None else ""
                found[gap.label] = Grade(1.0, "") if good else Grade(share, told + reason)
    return grades | found


def _made(exercise: Exercise, unit: Unit, given: Mapping[str, str], words: list[str]) -> Design:
    """The design with some matrices as answered, and the others as in the sheet."""
    inside = "\n".join(exercise.source.text[unit.start : unit.end].strip("\n").splitlines()[1:-1])
    sizes = [line for line in inside.splitlines() if line.strip().startswith("size ")]
    lines = [_line(line, given) for line in unit.lines]
    try:
        return written_design("\n".join([*lines, *sizes]), *words)
    except IndicialError:
        if not sizes:
            raise
        try:  # with numbers of another size than the sheet has
            return written_design("\n".join(lines), *words)
        except IndicialError:
            return written_design("\n".join([*lines, *sizes]), *words)


def _line(line: Line, given: Mapping[str, str]) -> str:
    (gap,) = line.gaps
    text = given.get(gap.label, gap.key)
    left = line.around[0].split("=")[0].strip()
    if "=" in text and "[" in text.split("=")[0] and text.split("=")[0].strip()[:1].isalpha():
        return text  # a whole equation
    return f"{left} = {text}"


def _fault(made: Design, key: Design, check: Check) -> tuple[tuple[str, ...], str] | None:
    """Which matrices are at fault, if it is the scores alone or the values alone."""
    task = named_task(check.task)
    mine, right = circuits(made), circuits(key)
    if mine.scores.shape != right.scores.shape:
        return None
    scores = run_products(replace(mine, scores=right.scores), task).wrong
    values = run_products(replace(mine, values=right.values), task).wrong
    if not scores and values:
        names = (mine.factors["query"], mine.factors["key"], "pos")
        return names, "With the scores of the sheet all are right: look at query and key."
    if not values and scores:
        return (
            mine.factors["value"],
        ), "With the values of the sheet all are right: look at the values."
    return None
