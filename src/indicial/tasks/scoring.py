"""How well each kind of thing is predicted, from sums that can be added up.

    Classes(("ADJ", "NOUN", …))   what was taken for what: accuracy, macro F1, a confusion matrix
    Right()                       how many are right: accuracy
    Squares()                     squares of deviations: R²
    Nothing()                     -ln P says it all; texts that are written are scored elsewhere

>>> scoring = Classes(("no", "yes"))
>>> tally = scoring.begin()
>>> scoring.add(tally, true=np.array([0, 1, 1]), found=np.array([0, 1, 0]))
>>> scoring.figures(tally)
{'accuracy': 0.667, 'macro F1': 0.667}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indicial.data.tokenizers import Ints

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
