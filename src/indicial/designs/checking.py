"""What a design is asked to do, on every case: not a sample, all of them; and the same equations, learned.

>>> named_task("position").cases[4].tokens, named_task("position").cases[4].answers
((0, 1), (0, 0))
>>> print(hand("position").check("position"))
position: all 120 sequences are right
  smallest margin 0.9997, at place 0 of BAAA
  mean squared error 2.1e-08

    content     every place gives its own token:             ABCA → ABCA, up to 6 tokens
    position    every place gives the first token:           BCA → BBB, up to 4
    unique      every token says whether it is there once:   *ABA → repeated, unique, repeated

In `unique` a token `*` stands in front of all others. It is not asked, but the others can look at it. The
margin of a place is how much larger the right output is than any other. A case is right if the margin of each
of its places is above 0.

Learning takes one sequence at a time, by plain gradient descent, and nothing of the design but its equations
and sizes. With `starts=5` it is tried from five random starts, and the one that ends with the smallest squared
error is kept.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.designs.design import Array, Design


MOST_CASES = 1_000_000

Answers = tuple[int | None, ...]
"""The number of the output that should be largest, place by place; None where nobody asks."""


@dataclass(frozen=True)
class Case:
    tokens: tuple[int, ...]
    answers: Answers


@dataclass(frozen=True)
class Task:
    """A finite task: `answer` gives the answers for a sequence of tokens, the front included."""

    name: str
    tokens: tuple[str, ...]
    outputs: tuple[str, ...]
    longest: int
    answer: Callable[[tuple[int, ...]], Sequence[int | None]]
    front: tuple[int, ...] = ()
    """Tokens that every sequence begins with; only the other tokens follow them."""

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """All sequences of 1 to `longest` tokens of which something is asked, the short ones first."""
        free = [n for n in range(len(self.tokens)) if n not in self.front]
        self._require_sound(len(free))
        found = []
        for length in range(1, self.longest + 1):
            for chosen in product(free, repeat=length):
                tokens = (*self.front, *chosen)
                answers = self._answers(tokens)
                if any(answer is not None for answer in answers):
                    found.append(Case(tokens, answers))
        if not found:
            raise IndicialError(f"the task {self.name} asks nothing: all its answers are None")
        return tuple(found)

    def _require_sound(self, free: int) -> None:
        wrong = [n for n in self.front if not 0 <= n < len(self.tokens)]
        if wrong:
            raise IndicialError(
                f"the task {self.name} has token {wrong[0]} in front, and its tokens are 0 to "
                f"{len(self.tokens) - 1}"
            )
        if self.longest < 1 or not free or len(self.outputs) < 2:
            raise IndicialError(
                f"the task {self.name} needs a length of at least 1, a token that is not in front, "
                f"and two outputs to choose from"
            )
        count = sum(free**length for length in range(1, self.longest + 1))
        if count > MOST_CASES:
            raise IndicialError(
                f"the task {self.name} has {count:,} sequences, and every one would be tried; "
                f"{MOST_CASES:,} is the limit: make it shorter than {self.longest} tokens"
            )

    def _answers(self, tokens: tuple[int, ...]) -> Answers:
        """The answers for one sequence, or what is wrong with them."""
        said: object = self.answer(tokens)
        given = tuple(said) if isinstance(said, Sequence) else ()
        if len(given) != len(tokens):
            count = f"{len(given)} answers" if isinstance(said, Sequence) else repr(said)
            raise IndicialError(
                f"the task {self.name} gives {count} for the {len(tokens)} "
                f"tokens of {self.text(tokens)}; it needs a list with one for each, or None"
            )
        for answer in given:
            if answer is not None and answer not in range(len(self.outputs)):
                raise IndicialError(
                    f"the task {self.name} answers {answer!r} for {self.text(tokens)}; an answer is "
                    f"the number of an output, 0 to {len(self.outputs) - 1}, or None"
                )
        return given

    @property
    def places(self) -> int:
        """The length of the longest sequence, its front included."""
        return len(self.front) + self.longest

    def text(self, tokens: Sequence[int]) -> str:
        return "".join(self.tokens[n] for n in tokens)


def _once(tokens: tuple[int, ...]) -> list[int | None]:
    return [None, *(0 if tokens.count(n) == 1 else 1 for n in tokens[1:])]


LETTERS = ("A", "B", "C")

TASKS = {
    made.name: made
    for made in (
        Task("content", LETTERS, LETTERS, 6, list),
        Task("position", LETTERS, LETTERS, 4, lambda tokens: [tokens[0]] * len(tokens)),
        Task("unique", ("*", *LETTERS), ("unique", "repeated"), 4, _once, front=(0,)),
    )
}


def named_task(what: str | Task) -> Task:
    """A task, or the one of that name."""
    if isinstance(what, Task):
        return what
    if not isinstance(what, str):
        raise IndicialError(f"{what!r} is not a task: give a Task, or one of {', '.join(TASKS)}")
    if what not in TASKS:
        close = difflib.get_close_matches(what, TASKS, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(TASKS)}"
        raise IndicialError(f"there is no task {what!r}; {hint}")
    return TASKS[what]


SHOWN = 5


@dataclass(frozen=True)
class Answered:
    """A case with what the design says to it, at the place where it is nearest to wrong."""

    case: Case
    place: int
    margin: float
    outputs: tuple[float, ...]

    @property
    def right(self) -> bool:
        return self.margin > 0  # a nan is not


@dataclass(frozen=True)
class Check:
    """What `design.check(task)` found."""

    task: Task
    answered: tuple[Answered, ...]
    squared_error: float
    """The mean over all outputs that are asked for; they should be 1 for the answer, else 0."""

    @property
    def failures(self) -> list[Answered]:
        return [one for one in self.answered if not one.right]

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def worst(self) -> Answered:
        return min(self.answered, key=lambda one: -np.inf if np.isnan(one.margin) else one.margin)

    @property
    def margin(self) -> float:
        """The smallest of all cases."""
        return self.worst.margin

    def __str__(self) -> str:
        total, wrong = len(self.answered), self.failures
        verdict = f"all {total:,} sequences are right"
        if wrong:
            verdict = f"{len(wrong):,} of {total:,} sequences are wrong"
        worst = self.worst
        lines = [
            f"{self.task.name}: {verdict}",
            f"  smallest margin {worst.margin:.4g}, at place {worst.place} of "
            f"{self.task.text(worst.case.tokens)}",
            f"  mean squared error {self.squared_error:.2g}",
        ]
        if np.isnan(self.squared_error):
            lines.append("  some outputs are not numbers: the scores are too large to be computed")
        lines += [f"  {self._told(one)}" for one in wrong[:SHOWN]]
        if len(wrong) > SHOWN:
            lines.append(f"  … and {len(wrong) - SHOWN:,} more")
        return "\n".join(lines)

    def first(self) -> str:
        """The first case that is wrong, in words."""
        return self._told(self.failures[0]) if self.failures else ""

    def _told(self, one: Answered) -> str:
        wanted = one.case.answers[one.place]
        assert wanted is not None
        said = ", ".join(
            f"{name} {value:.3g}"
            for name, value in zip(self.task.outputs, one.outputs, strict=True)
        )
        return (
            f"{self.task.text(one.case.tokens)}: place {one.place} should be "
            f"{self.task.outputs[wanted]}, and is {said}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task.name,
            "cases": len(self.answered),
            "wrong": [self.task.text(one.case.tokens) for one in self.failures],
            "margin": self.margin,
            "squared_error": self.squared_error,
        }


def check(design: Design, what: str | Task) -> Check:
    """Runs every case, those of one length together."""
    task = named_task(what)
    fits(design, task)
    by_length: defaultdict[int, list[Case]] = defaultdict(list)
    for case in task.cases:
        by_length[len(case.tokens)].append(case)
    answered: list[Answered] = []
    squares, count = 0.0, 0
    for cases in by_length.values():
        outputs = run_cases(design.module, design.token_input, cases)
        answered += [nearest(c, y) for c, y in zip(cases, outputs, strict=True)]
        wanted, asked = targets(cases, len(task.outputs))
        squares += float((((outputs - wanted) ** 2) * asked[..., None]).sum())
        count += int(asked.sum()) * len(task.outputs)
    return Check(task, tuple(answered), squares / count)


def fits(design: Design, task: Task) -> None:
    """Complain about a design that cannot be asked this."""
    if len(design.tokens) != len(task.tokens):
        raise IndicialError(
            f"the task {task.name} has {len(task.tokens)} tokens ({', '.join(task.tokens)}), and "
            f"{design.name} {len(design.tokens)}"
        )
    longest = design.module.sizes.longest
    most = min(longest.values(), default=task.places)
    if most < task.places:
        raise IndicialError(
            f"the task {task.name} has sequences of {task.places} tokens, and {design.name} has "
            f"positions for {most}"
        )
    wanted = design.module.wanted
    axes = design.program.code.tensors[wanted[-1]].axes
    outputs = axes[-1].extent.value(design.sizes) if axes else 1
    if outputs != len(task.outputs):
        raise IndicialError(
            f"the task {task.name} has {len(task.outputs)} outputs ({', '.join(task.outputs)}), and "
            f"{wanted[-1]} of {design.name} has {outputs}"
        )


def run_cases(module: ProgramModule, name: str, cases: list[Case]) -> Array:
    """The outputs of cases of one length: (cases, places, outputs)."""
    with torch.no_grad():
        found = module(**{name: torch.tensor([case.tokens for case in cases])})
    outputs: Array = found[module.wanted[-1]].numpy()
    return outputs


def targets(cases: list[Case], outputs: int) -> tuple[Array, Any]:
    """What the outputs should be, and which places are asked."""
    table = np.array([[-1 if a is None else a for a in case.answers] for case in cases])
    return np.eye(outputs)[table.clip(0)], table >= 0


def nearest(case: Case, outputs: Array) -> Answered:
    """The place of a case whose answer is nearest to being wrong."""
    margins = {}
    for place, answer in enumerate(case.answers):
        if answer is not None:
            others = np.delete(outputs[place], answer)
            margins[place] = float(outputs[place, answer] - others.max())
    place = min(margins, key=lambda p: -np.inf if np.isnan(margins[p]) else margins[p])
    return Answered(case, place, margins[place], tuple(map(float, outputs[place])))


Told = Callable[[int, float], object]

STEPS = 10_000
RATE = 0.03
TOLD = 10
"""How often a training tells how far it is."""
DEVIATION = 0.1
"""From larger starts, three in four are caught where a head looks at the wrong token."""


def train(
    design: Design,
    what: str | Task,
    *,
    steps: int = STEPS,
    rate: float = RATE,
    seed: int = 0,
    starts: int = 1,
    deviation: float = DEVIATION,
    told: Told | None = None,
) -> Design:
    """The design that is learned; `deviation` is that of the normal random starts.

    `told(step, error)` is called ten times, with the mean squared error since the last time.
    """
    task = named_task(what)
    fits(design, task)
    if steps < 1 or starts < 1 or not 0 < rate < float("inf"):
        raise IndicialError("training needs at least one step and one start, and a rate above 0")
    whole = all(isinstance(number, int) for number in (steps, starts, seed))
    if not whole or seed < 0 or not 0 <= deviation < float("inf"):
        raise IndicialError(
            "steps, starts and seed are whole numbers, the seed and the deviation at least 0"
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are tiny, and threads would wait for each other
    try:
        tried = [
            _from_start(design, task, steps, rate, seed + n, deviation, told) for n in range(starts)
        ]
    finally:
        torch.set_num_threads(threads)
    return min(tried, key=lambda one: check(one, task).squared_error)


def _from_start(
    design: Design,
    task: Task,
    steps: int,
    rate: float,
    seed: int,
    deviation: float,
    told: Told | None,
) -> Design:
    random = np.random.default_rng(seed)
    start = {
        name: torch.from_numpy(random.normal(0, deviation, array.shape))
        for name, array in design.arrays.items()
    }
    module = design.program.compile(sizes=design.sizes, start=start, dtype=torch.float64)
    optimizer = torch.optim.SGD(module.parameters(), rate)
    given, output = design.token_input, module.wanted[-1]
    cases = []
    for case in task.cases:
        wanted, asked = targets([case], len(task.outputs))
        mask = torch.from_numpy(asked[0])
        cases.append((torch.tensor(case.tokens), torch.from_numpy(wanted[0])[mask], mask))
    every, since = max(1, steps // TOLD), []
    for step, number in enumerate(random.integers(len(cases), size=steps), 1):
        tokens, wanted_rows, mask = cases[number]
        error = module(**{given: tokens})[output][mask] - wanted_rows
        loss = (error**2).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        since.append(float((error.detach() ** 2).mean()))
        if told is not None and step % every == 0:
            told(step, sum(since) / len(since))
            since = []
    arrays = {name: module.parameter(name).detach().numpy().copy() for name in design.arrays}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise IndicialError(f"{name} did not stay finite: train at a smaller rate than {rate}")
    remark = f"{steps:,} steps of one sequence at rate {rate:g}, seed {seed}"
    name = f"{task.name} learned"
    return replace(design, arrays=arrays, name=name, remark=remark)
