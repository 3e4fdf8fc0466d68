"""Why two designs differ: each difference is exchanged alone, and every case is run again.

>>> for reason in design.compare(learned).reasons("position"):
...     print(reason)
Scores of tokens for positions are 0.5 times as large as in “position by hand”. With those of “position
by hand” in their place, output A at place 0 of ACCC goes from 0.993 to 1.02, …

A part of the products (scores of tokens for positions, values of tokens, …) of the one design is put in
the place of the same part of the other. What that does to the outputs of all cases is what the
difference means: nothing, less or more of the same, or that it makes up for another difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indicial.designs.checking import Case, Task, fits, named_task, nearest
from indicial.designs.circuits import Circuits
from indicial.designs.comparison import LITTLE, SAME, Comparison, Part
from indicial.designs.design import Array
from indicial.program.messages import IndicialError

FREE = 0.01
"""Outputs that change by no more than this do not count as changed."""


@dataclass(frozen=True)
class Outputs:
    """The outputs of all cases, and how they do."""

    cases: tuple[Case, ...]
    arrays: tuple[Array, ...]
    """For each case: (places, outputs)."""

    @property
    def margins(self) -> Array:
        """For each case, that of the place where it is smallest."""
        both = zip(self.cases, self.arrays, strict=True)
        return np.array([nearest(case, outputs).margin for case, outputs in both])

    @property
    def wrong(self) -> list[int]:
        return [int(n) for n in np.flatnonzero(~(self.margins > 0))]


@dataclass(frozen=True)
class Reason:
    """What one difference between two designs does."""

    part: Part
    names: tuple[str, str]
    task: Task
    count: int
    case: Case
    """The case whose outputs change most, with the place, the output and its value before and behind."""
    place: int
    output: int
    before: float
    behind: float
    margins: tuple[float, float]
    """The smallest margin before and behind."""
    turned: tuple[Case, ...]
    """The cases that are right before, and wrong behind."""
    partners: tuple[str, ...] = ()
    """With these exchanged as well, all cases are right again."""

    @property
    def change(self) -> float:
        return abs(self.behind - self.before)

    @property
    def kind(self) -> str:
        """`free`: no case decides it; `degree`: all stay right; `together`, `needed`: some turn wrong."""
        if self.turned:
            return "together" if self.partners else "needed"
        return "free" if self.change <= FREE else "degree"

    def __str__(self) -> str:
        return f"{_difference(self.part, self.names)} {self._effect()} {self._why()}"

    def _effect(self) -> str:
        text = self.task.text(self.case.tokens)
        moved = (
            f"output {self.task.outputs[self.output]} at place {self.place} of {text} goes from "
            f"{self.before:.3g} to {self.behind:.3g}"
        )
        put = f"With those of “{self.names[0]}” in their place"
        if self.kind == "free":
            return f"{put}, no output changes by more than {self.change:.2g} ({moved})."
        margin = f"the smallest margin goes from {self.margins[0]:.3g} to {self.margins[1]:.3g}"
        return f"{put}, {moved}, the largest change of all; {margin}."

    def _why(self) -> str:
        match self.kind:
            case "free":
                return (
                    f"So none of the {self.count:,} cases decides it: it stays as training left it."
                )
            case "degree":
                certain = "less" if self.margins[1] > self.margins[0] else "more"
                return (
                    f"All {self.count:,} cases stay right: it is a matter of degree, and "
                    f"“{self.names[1]}” is {certain} certain for it."
                )
        first = self.task.text(self.turned[0].tokens)
        turned = f"{len(self.turned):,} of {self.count:,} cases turn wrong, {first} first"
        if self.partners:
            rest = " and ".join(name[0].lower() + name[1:] for name in self.partners)
            return (
                f"{turned}; with the {rest} exchanged as well, all are right: the two go together."
            )
        return f"{turned}: “{self.names[1]}” needs its own."

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.part.what,
            "head": self.part.head,
            "kind": self.kind,
            "case": self.task.text(self.case.tokens),
            "place": self.place,
            "output": self.task.outputs[self.output],
            "before": self.before,
            "behind": self.behind,
            "margins": self.margins,
            "turned": [self.task.text(case.tokens) for case in self.turned],
            "partners": list(self.partners),
            "sentence": str(self),
        }


def reasons(comparison: Comparison, what: str | Task) -> list[Reason]:
    """What each difference between two designs does, on every case of a task."""
    task = named_task(what)
    for design in (comparison.one, comparison.other):
        fits(design, task)
    one, other = comparison.circuits
    base = run_products(other, task)
    parts = [part for part in comparison.parts if _differs(part)]
    found = []
    for part in parts:
        behind = run_products(exchanged(other, one, [part]), task)
        turned = sorted(set(behind.wrong) - set(base.wrong))
        partners: tuple[str, ...] = ()
        if turned:
            partners = next(
                (
                    (p.what,)
                    for p in parts
                    if p is not part
                    and not run_products(exchanged(other, one, [part, p]), task).wrong
                ),
                (),
            )
        changes = [
            np.abs(b - a) * _asked(case, a)
            for case, a, b in zip(base.cases, base.arrays, behind.arrays, strict=True)
        ]
        number = int(np.argmax([change.max() for change in changes]))
        place, output = np.unravel_index(int(np.argmax(changes[number])), changes[number].shape)
        at = int(place), int(output)
        found.append(Reason(
            part, comparison.names, task, len(base.cases), base.cases[number], *at,
            float(base.arrays[number][at]), float(behind.arrays[number][at]),
            (float(base.margins.min()), float(behind.margins.min())),
            tuple(base.cases[n] for n in turned), partners,
        ))  # fmt: skip
    return found


def _asked(case: Case, outputs: Array) -> Array:
    asked = np.array([answer is not None for answer in case.answers], float)
    return np.broadcast_to(asked[:, None], outputs.shape)


def _differs(part: Part) -> bool:
    """Whether a part is not the same in both: in its size or in its pattern."""
    small = [share <= LITTLE for share in part.shares]
    if all(small):
        return part.difference > FREE
    if any(small) or part.cosine is None or part.cosine < SAME:
        return True
    return abs(part.sizes[1] / part.sizes[0] - 1) >= LITTLE


def _difference(part: Part, names: tuple[str, str]) -> str:
    one, other = part.sizes
    if min(one, other) <= LITTLE * max(one, other):
        where, nowhere = (names[0], names[1]) if one > other else (names[1], names[0])
        return f"{part.what} are there in “{where}” and hardly in “{nowhere}”."
    ratio = f"{other / one:.2g} times as large as in “{names[0]}”"
    if part.cosine is not None and part.cosine >= SAME:
        return f"{part.what} are {ratio}."
    return f"{part.what} have another pattern (cosine {part.cosine:.2f}), {ratio}."


# ---------------------------------------------------------------------- products


def exchanged(circuits: Circuits, source: Circuits, parts: Iterable[Part]) -> Circuits:
    """The products of one design with some parts of another in their place."""
    scores, values = circuits.scores.copy(), circuits.values.copy()
    for part in parts:
        rows, columns = part.rows, part.columns
        if rows is None:
            values[part.head, :, columns] = source.values[part.head, :, columns]
        else:
            scores[part.head, rows, columns] = source.scores[part.head, rows, columns]
    return replace(circuits, scores=scores, values=values)


def run_products(circuits: Circuits, task: Task) -> Outputs:
    """The outputs of every case, from the products alone: what the module gives, to rounding."""
    found: dict[int, Array] = {}
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for number, case in enumerate(task.cases):
        by_length[len(case.tokens)].append(number)
    for numbers in by_length.values():
        tokens = np.array([task.cases[n].tokens for n in numbers])
        outputs = products_outputs(circuits, tokens)
        found |= dict(zip(numbers, outputs, strict=True))
    return Outputs(task.cases, tuple(found[n] for n in range(len(task.cases))))


def products_outputs(circuits: Circuits, tokens: Any) -> Array:
    """Outputs (texts, places, outputs) of texts of one length, tokens as numbers."""
    blocks = dict(circuits.blocks)
    if "tokens" not in blocks or circuits.features.silent:
        raise IndicialError(
            "differences are traced to cases where each place of a head reads its own token"
        )
    count, length = tokens.shape
    features = np.zeros((count, length, circuits.scores.shape[-1]))
    first = blocks["tokens"].start
    np.put_along_axis(features, tokens[..., None] + first, 1.0, axis=-1)
    if "positions" in blocks:
        start = blocks["positions"].start
        features[:, np.arange(length), start + np.arange(length)] = 1.0
    scores = np.einsum("nta,kab,nsb->nkts", features, circuits.scores, features)
    if circuits.features.visible is not None:
        scores = np.where(circuits.features.visible[:length, :length], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    outputs: Array = np.einsum("nkts,nsb,kob->nto", weights, features, circuits.values)
    if circuits.softmax:
        outputs = np.exp(outputs - outputs.max(-1, keepdims=True))
        outputs /= outputs.sum(-1, keepdims=True)
    return outputs
