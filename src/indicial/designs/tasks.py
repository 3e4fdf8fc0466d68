"""What a design is asked to do: every sequence of tokens up to a length, each with its answers.

>>> task("position").cases[4].tokens, task("position").cases[4].answers
((0, 1), (0, 0))
>>> len(task("content").cases), len(task("position").cases), len(task("unique").cases)
(1092, 120, 120)

    content     every place gives its own token:             ABCA → ABCA, up to 6 tokens
    position    every place gives the first token:           BCA → BBB, up to 4
    unique      every token says whether it is there once:   *ABA → repeated, unique, repeated

In `unique` a token `*` stands in front of all others. It is not asked, but the others can look at it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from indicial.program.messages import IndicialError

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


def task(what: str | Task) -> Task:
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
