"""How well each kind of thing is predicted, from sums that can be added up; what is likeliest of all that is predicted.

    Classes(("ADJ", "NOUN", …))   what was taken for what: accuracy, macro F1, a confusion matrix
    Right()                       how many are right: accuracy
    Edges(("nsubj", "obl:tmod"))  heads of words, and what they are called: UAS and LAS
    Together({("y",): …, …})      several of these
    Answered()                    the same of what is found, and of texts that are read off it
    Squares()                     squares of deviations: R²
    Nothing()                     -ln P says it all; texts that are written are scored elsewhere

>>> scoring = Classes(("no", "yes"))
>>> tally = scoring.begin()
>>> scoring.add(tally, true=np.array([0, 1, 1]), found=np.array([0, 1, 0]))
>>> scoring.figures(tally)
{'accuracy': 0.667, 'macro F1': 0.667}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from indicial.data.codings import Coding, Places
from indicial.data.tokenizers import Ints
from indicial.data.treebanks import likeliest_tree
from indicial.tasks.forms import Form

MOST = 100
"""Classes of a confusion matrix; of more only the right ones and both margins are counted."""


class Nothing:
    """No sums."""

    def begin(self) -> Ints:
        """All sums 0."""
        return np.zeros(0)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        """Counts what is true and what was found, element by element."""

    def figures(self, tally: Ints) -> dict[str, float]:
        """The scores by name."""
        return {}


class Right(Nothing):
    """How many are right, of how many."""

    def begin(self) -> Ints:
        return np.zeros(2)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        tally += [(true == found).sum(), true.size]

    def figures(self, tally: Ints) -> dict[str, float]:
        return {"accuracy": float(tally[0] / max(1, tally[1]))}


class Answered(Right):
    """How many are found, and how many texts are read exactly off what belongs to them, of how many."""

    def begin(self) -> Ints:
        return np.zeros(3)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        super().add(tally[:2], true, found)

    def read(self, tally: Ints, right: int) -> None:
        tally[2] += right

    def figures(self, tally: Ints) -> dict[str, float]:
        return {**super().figures(tally), "match": float(tally[2] / max(1, tally[1]))}


@dataclass(frozen=True)
class Classes(Nothing):
    """What was taken for what."""

    names: Sequence[str]

    @property
    def whole(self) -> bool:
        return len(self.names) <= MOST

    def begin(self) -> Ints:
        count = len(self.names)
        return np.zeros(count * count if self.whole else 3 * count)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        count = len(self.names)
        if self.whole:
            tally += np.bincount(true * count + found, minlength=count * count)
            return
        parts = tally.reshape(3, count)
        parts[0] += np.bincount(true[true == found], minlength=count)
        parts[1] += np.bincount(true, minlength=count)
        parts[2] += np.bincount(found, minlength=count)

    def confusion(self, tally: Ints) -> Ints | None:
        """Rows: what is true; columns: what was found. None if there are too many classes."""
        return np.asarray(tally).reshape(len(self.names), -1) if self.whole else None

    def figures(self, tally: Ints) -> dict[str, float]:
        table = self.confusion(tally)
        if table is not None:
            right, true, found = table.diagonal(), table.sum(1), table.sum(0)
        else:
            right, true, found = np.asarray(tally).reshape(3, -1)
        there = (true + found) > 0
        # 2 right / (true + found) is the harmonic mean of precision and recall.
        each = 2 * right[there] / (true + found)[there]
        return {
            "accuracy": float(right.sum() / max(1.0, true.sum())),
            "macro F1": float(each.mean()) if each.size else 0.0,
        }


class Squares(Nothing):
    """Count, sum and squares of the truth, squares of what is missed."""

    def begin(self) -> Ints:
        return np.zeros(4)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        tally += [true.size, true.sum(), (true**2).sum(), ((true - found) ** 2).sum()]

    def figures(self, tally: Ints) -> dict[str, float]:
        count, total, squares, missed = tally
        varies = squares - total**2 / max(1.0, count)
        return {"R²": float(1 - missed / varies)} if varies > 0 else {}


@dataclass(frozen=True)
class Edges(Nothing):
    """Heads of words that make trees, and labels of these links if they have names.

    As CoNLL 2018 counts them: of all words, marks too, how many have the right head (UAS), and how many of these the
    right label as well (LAS), by what stands before the colon of `obl:tmod`.
    """

    names: Sequence[str] = ()

    @cached_property
    def _main(self) -> Ints:
        """For each label the number of the first that has the same main part."""
        mains = [name.partition(":")[0] for name in self.names]
        return np.array([mains.index(main) for main in mains])

    def begin(self) -> Ints:
        return np.zeros(3 if len(self.names) else 2)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        """Heads, or two rows: heads and labels."""
        true, found = np.atleast_2d(true), np.atleast_2d(found)
        right = true[0] == found[0]
        tally[:2] += [right.size, right.sum()]
        if len(self.names):
            tally[2] += (right & (self._main[true[1]] == self._main[found[1]])).sum()

    def figures(self, tally: Ints) -> dict[str, float]:
        words = max(1, tally[0])
        found = {"UAS": float(tally[1] / words)}
        return {**found, "LAS": float(tally[2] / words)} if len(self.names) else found


@dataclass(frozen=True)
class Together(Nothing):
    """Several things that are predicted: which inputs each scoring counts, one or two of them."""

    parts: Mapping[tuple[str, ...], Nothing]

    def begin(self) -> Ints:
        return np.concatenate([part.begin() for part in self.parts.values()])

    def split(self, tally: Ints) -> list[Ints]:
        """The sums of each, as views of all of them."""
        ends = np.cumsum([len(part.begin()) for part in self.parts.values()])
        return np.split(tally, ends[:-1])

    def add_all(self, tally: Ints, true: Mapping[str, Ints], found: Mapping[str, Ints]) -> None:
        """Counts what is true and what was found of each input."""
        for (names, part), own in zip(self.parts.items(), self.split(tally), strict=True):
            both = [[values[name] for name in names] for values in (true, found)]
            part.add(own, *(np.stack(values) if len(names) > 1 else values[0] for values in both))

    def figures(self, tally: Ints) -> dict[str, float]:
        found: dict[str, float] = {}
        for (names, part), own in zip(self.parts.items(), self.split(tally), strict=True):
            each = part.figures(own)
            plain = isinstance(part, Edges) or len(self.parts) == 1
            found |= each if plain else {f"{names[0]} {name}": v for name, v in each.items()}
        return found


Tensors = Mapping[str, torch.Tensor]
Compute = Callable[[Tensors, list[str]], Tensors]
"""The tensors of some names, given what was found of the inputs that are predicted."""


@dataclass(frozen=True)
class Chosen:
    values: torch.Tensor
    """The likeliest in each place of each row."""
    distribution: torch.Tensor


def likeliest(
    form: Form, codings: Mapping[str, Coding], compute: Compute, lengths: Tensors
) -> dict[str, Chosen]:
    """By the names of the inputs that are predicted."""
    found: dict[str, Chosen] = {}
    for stage in form.stages:
        names = [part.prediction.distribution.name for part in stage]
        tensors = compute({name: chosen.values for name, chosen in found.items()}, names)
        for part, name in zip(stage, names, strict=True):
            coding, length = codings[part.slot.name], part.slot.length
            values = tensors[name].argmax(-1)
            if isinstance(coding, Places) and coding.trees and length is not None:
                values = _trees(tensors[name], lengths[length])
            found[part.slot.name] = Chosen(values, tensors[name])
    return found


def _trees(distribution: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The likeliest tree of each row, (B, T); behind its end, 0."""
    found = torch.zeros(distribution.shape[:2], dtype=torch.int64)
    with np.errstate(divide="ignore"):
        scores = np.log(distribution.double().cpu().numpy())
    for row, (own, length) in enumerate(zip(scores, lengths.tolist(), strict=True)):
        found[row, :length] = torch.tensor(likeliest_tree(own[:length, :length]))
    return found.to(distribution.device)
