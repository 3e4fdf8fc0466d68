"""Two designs beside each other: what is the same in them, and what is not.

>>> comparison = indicial.compare(design, learned)
>>> print(comparison)
“content by hand” and “content learned”
  Scores of tokens for tokens have the same pattern (cosine 0.998), in “content learned” 0.44 times …
>>> comparison.figure("both.svg")

Compared is what the outputs depend on (`circuits.py`): products of factors, heads in the order that
fits best. So the report is the same when heads change places, or when query and key are multiplied
by a matrix and its inverse. Every sentence is about numbers that were computed, and names them.

The picture has a row for each design and a column for each kind of matrix. The two matrices of a column have one
scale, orange below 0 and purple above, white at 0: colours that everybody can tell apart.
"""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.data.tokenizers import END
from indicial.designs.checking import Task
from indicial.designs.circuits import Circuits, circuits
from indicial.designs.design import Array, Design
from indicial.inspect.attention_views import clipped
from indicial.inspect.pictures import matrix, save
from indicial.inspect.subjects import readings
from indicial.program.messages import IndicialError
from indicial.program.outputs import new_figure

if TYPE_CHECKING:
    from indicial.designs.reasons import Reason


SAME, ALIKE = 0.95, 0.7
"""Cosines from which two patterns are called the same, or alike."""
LITTLE = 0.05
"""A part that is smaller than this share of the whole is called small."""
MOST = 8
"""Tokens of the example, if none is given."""


@dataclass(frozen=True)
class Part:
    """One block of a product in both designs: scores of tokens for positions, values of tokens."""

    what: str
    head: int
    sizes: tuple[float, float]
    """Root of the sum of squares, in the one design and in the other."""
    shares: tuple[float, float]
    """The same against the whole product."""
    cosine: float | None
    """None where one of them is nothing."""
    difference: float
    """The largest difference of an element."""
    rows: slice | None
    """Where it stands in the products; values have columns only."""
    columns: slice

    def sentence(self, names: tuple[str, str], heads: int) -> str:
        where = f" in pair {self.head} of heads" if heads > 1 else ""
        subject = f"{self.what}{where}"
        small = [share <= LITTLE for share in self.shares]
        if all(small):
            said = " and ".join(f"{share:.1%}" for share in self.shares)
            return f"{subject} hardly matter in either: {said} of all."
        if any(small):
            one, other = (0, 1) if small[1] else (1, 0)
            return (
                f"{subject} matter in “{names[one]}” ({self.shares[one]:.0%} of all) and hardly in "
                f"“{names[other]}” ({self.shares[other]:.1%})."
            )
        assert self.cosine is not None
        ratio = self.sizes[1] / self.sizes[0]
        scale = f"in “{names[1]}” {ratio:.2g} times as large as in “{names[0]}”"
        if abs(ratio - 1) < LITTLE:
            scale = "and are as large in both"
        if self.cosine >= SAME:
            pattern = "have the same pattern"
        elif self.cosine >= ALIKE:
            pattern = "have a similar pattern"
        elif self.cosine <= -ALIKE:
            pattern = "have the opposite pattern"
        else:
            pattern = "have different patterns"
        return (
            f"{subject} {pattern} (cosine {self.cosine:.3f}), {scale}; the largest difference "
            f"is {self.difference:.2g}."
        )


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; `str(…)` is a report."""

    one: Design
    other: Design
    circuits: tuple[Circuits, Circuits]
    """Their heads in the order of the pairs."""
    heads: tuple[tuple[int, int], ...]
    """The pairs: a head of the first, and the one of the second beside it; the strongest first."""
    parts: tuple[Part, ...]
    example: tuple[int, ...] | None
    """The tokens on which weights and outputs are shown, if the designs read tokens."""

    @property
    def names(self) -> tuple[str, str]:
        if self.one.name == self.other.name:
            return "the first", "the second"
        return self.one.name, self.other.name

    @property
    def text(self) -> str | None:
        """The example as people read it."""
        if self.example is None:
            return None
        labels = [self.one.tokens[n] for n in self.example]
        if max(map(len, labels)) == 1:
            return "".join(labels)
        return " ".join(label.strip() or label for label in labels)

    def sentences(self) -> list[str]:
        """What is the same and what is not; it does not depend on how products are factored."""
        count = len(self.heads)
        products = [part.sentence(self.names, count) for part in self.parts]
        return [*products, *self._text_sentences()]

    def reasons(self, task: str | Task) -> list[Reason]:
        """What each difference does, on every case of a task (`reasons.py`)."""
        from indicial.designs.reasons import reasons

        return reasons(self, task)

    def _text_sentences(self) -> Iterator[str]:
        if self.text is None:
            return
        (a, y), (a2, y2) = (self.shown(0), self.shown(1))
        yield f"On {self.text} the weights differ by at most {np.abs(a - a2).max():.2g}" + (
            f" and the outputs by at most {np.abs(y - y2).max():.2g}."
            if y.shape == y2.shape
            else "."
        )
        most = [w.max(-1).min() for w in (a, a2)]
        yield (
            f"On {self.text} the largest weight of a place is at least {most[0]:.2g} in "
            f"“{self.names[0]}” and {most[1]:.2g} in “{self.names[1]}”."
        )

    def shown(self, number: int) -> tuple[Array, Array]:
        """Weights, heads first, and outputs of one of the designs on the example."""
        assert self.example is not None
        weights, output = self.circuits[number].weights, self.circuits[number].output
        found = (self.one, self.other)[number].reading(self.example).values([weights, output])
        array = found[weights]
        array = array if array.ndim == 3 else array[None]
        return array[[pair[number] for pair in self.heads]], found[output]

    @property
    def places(self) -> tuple[str, ...]:
        """The token that each place reads on the example."""
        assert self.example is not None
        (text,) = self.one.reading(self.example).texts
        return text.reading.labels(text.labels, range(len(text.whole)))

    def __str__(self) -> str:
        lines = [f"“{self.one.name}” and “{self.other.name}”"]
        if self.other.remark:
            lines.append(f"  {self.other.name}: {self.other.remark}")
        lines += _folded(self.sentences())
        return "\n".join(lines)

    def told(self, task: str | Task) -> str:
        """The report, and why each of its differences is there."""
        lines = _folded([str(reason) for reason in self.reasons(task)])
        return "\n".join([str(self), "  Why they differ, each difference exchanged alone:", *lines])

    def to_json(self) -> dict[str, Any]:
        return {
            "designs": [self.one.name, self.other.name],
            "heads": [list(pair) for pair in self.heads],
            "parts": [
                {
                    "what": part.what,
                    "head": part.head,
                    "sizes": part.sizes,
                    "cosine": part.cosine,
                    "difference": part.difference,
                }
                for part in self.parts
            ],
            "sentences": self.sentences(),
        }

    def figure(self, path: str | os.PathLike[str]) -> Path:
        """Matrices, weights and outputs of both, as SVG, PNG or PDF by the ending of the path."""

        return draw(self, path)


def compare(one: Design, other: Design, text: str | None = None) -> Comparison:
    """Two designs of the same equations; `text` is the example that is shown."""
    given: tuple[object, object] = (one, other)
    if not all(isinstance(design, Design) for design in given):
        raise IndicialError("compare takes two designs: indicial.design(…), design.train(…)")
    first, second = circuits(one), circuits(other)
    _comparable(one, first, other, second)
    pairs = sorted(
        enumerate(assign(_costs(first, second))), key=lambda pair: -_strength(first, pair[0])
    )
    first = _ordered(first, [one for one, _ in pairs])
    second = _ordered(second, [other for _, other in pairs])
    return Comparison(
        one,
        other,
        (first, second),
        tuple(pairs),
        tuple(_parts(first, second)),
        tuple(one.encode(text)) if text is not None else _example(one),
    )


def _comparable(one: Design, first: Circuits, other: Design, second: Circuits) -> None:
    """Complain where there is no element of one for each of the other."""
    counts = [
        {
            **{kind: place.stop - place.start for kind, place in found.blocks},
            "heads": len(found.scores),
            "outputs": found.values.shape[1],
        }
        for found in (first, second)
    ]
    for what in counts[0] | counts[1]:
        numbers = [count.get(what, 0) for count in counts]
        if numbers[0] != numbers[1]:
            raise IndicialError(
                f"{one.name} has {numbers[0]} {what} and {other.name} {numbers[1]}: there is no "
                "element of one for each of the other"
            )
    if first.labels != second.labels:
        a, b = next(p for p in zip(first.labels, second.labels, strict=True) if p[0] != p[1])
        raise IndicialError(
            f"{one.name} has the token {a!r} where {other.name} has {b!r}: name them alike, "
            "indicial.design(…, tokens=[…])"
        )


def _strength(found: Circuits, head: int) -> float:
    return math.hypot(size(found.scores[head]), size(found.values[head]))


def _ordered(found: Circuits, order: list[int]) -> Circuits:
    applied = {role: array[order] for role, array in found.applied.items()}
    scores, values, products = (a[order] for a in (found.scores, found.values, found.products))
    return replace(found, scores=scores, values=values, products=products, applied=applied)


def _costs(first: Circuits, second: Circuits) -> Array:
    """How far each head of the one is from each of the other; only which is least matters."""
    scores = [[size(a - b) for b in second.scores] for a in first.scores]
    values = [[size(a - b) for b in second.values] for a in first.values]
    found = np.hypot(scores, values)
    return (found / (found.max() or 1.0)) ** 2


def _parts(first: Circuits, second: Circuits) -> Iterator[Part]:
    for head in range(len(first.scores)):
        for kind, rows in first.blocks:
            for other, columns in first.blocks:
                place = (head, rows, columns)
                what = "Scores" if kind == "inputs" else f"Scores of {kind} for {other}"
                yield _part(what, head, first.scores, second.scores, place)
        for kind, columns in first.blocks:
            what = "Values" if kind == "inputs" else f"Values of {kind}"
            place = (head, slice(None), columns)
            yield _part(what, head, first.values, second.values, place)


def _part(what: str, head: int, one: Array, other: Array, place: tuple[int, slice, slice]) -> Part:
    a, b = one[place], other[place]
    sizes = size(a), size(b)
    wholes = size(one[head]), size(other[head])
    shares = tuple(s / w if w else 0.0 for s, w in zip(sizes, wholes, strict=True))
    rows = place[1] if what.startswith("Scores") else None
    largest = float(np.abs(a - b).max())
    return Part(what, head, sizes, (shares[0], shares[1]), cosine(a, b), largest, rows, place[2])


def size(a: Array) -> float:
    """The root of the sum of squares, of which none is too large or too small for a number."""
    top = float(np.abs(a).max(initial=0))
    return top * float(np.linalg.norm(a / top)) if top else 0.0


def cosine(a: Array, b: Array) -> float | None:
    """Of two arrays as vectors; None if one is 0."""
    tops = [float(np.abs(one).max(initial=0)) for one in (a, b)]
    if not min(tops):
        return None
    one, other = a / tops[0], b / tops[1]
    return float((one * other).sum() / (np.linalg.norm(one) * np.linalg.norm(other)))


def _example(design: Design) -> tuple[int, ...] | None:
    """Every token once, and the first of them again, as far as there is room: `ABCA`."""
    known = [n for n, token in enumerate(design.tokens) if token not in (END, "�")]
    if not known:
        return None
    marks = [n for n in known if not design.tokens[n].strip().isalnum()]
    letters = [n for n in known if n not in marks]
    room = readings(design.program.code)[0].room(design.module) or MOST
    return tuple([*marks, *letters, *letters[:1]][: min(room, MOST)])


def _folded(sentences: list[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from textwrap.wrap(sentence, 78, initial_indent="  ", subsequent_indent="    ")


def assign(costs: Array) -> list[int]:
    """For each row its column, each column once, with the least sum: the Hungarian method.

    Rows come one by one. Each looks for the cheapest way to a free column along which earlier rows
    move over; `u` and `v` are prices that keep every reduced cost at 0 or above.
    """
    n = len(costs)
    u, v = [0.0] * (n + 1), [0.0] * (n + 1)
    row_of = [0] * (n + 1)  # of each column; rows and columns are counted from 1, 0 is none
    for row in range(1, n + 1):
        row_of[0], column = row, 0
        least, before = [math.inf] * (n + 1), [0] * (n + 1)
        used = [False] * (n + 1)
        while row_of[column] != 0:
            used[column] = True
            here, step, nearest = row_of[column], math.inf, 0
            for j in range(1, n + 1):
                if used[j]:
                    continue
                reduced = float(costs[here - 1, j - 1]) - u[here] - v[j]
                if reduced < least[j]:
                    least[j], before[j] = reduced, column
                if least[j] < step:
                    step, nearest = least[j], j
            for j in range(n + 1):
                if used[j]:
                    u[row_of[j]] += step
                    v[j] -= step
                else:
                    least[j] -= step
            column = nearest
        while column:
            row_of[column] = row_of[before[column]]
            column = before[column]
    found = [0] * n
    for column in range(1, n + 1):
        found[row_of[column] - 1] = column - 1
    return found


LABEL = 6
EXACT = 1e-9
WIDEST = 24
"""Cells that a matrix has room for; one with more has narrower ones."""


@dataclass(frozen=True)
class Column:
    title: str
    arrays: tuple[Array, Array]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def draw(comparison: Comparison, path: str | os.PathLike[str]) -> Path:
    """Writes the picture; the ending says whether it is SVG, PNG or PDF."""
    heads = len(comparison.heads)
    columns = [column for head in range(heads) for column in _columns(comparison, head)]
    columns += _outputs(comparison)
    widths = [min(WIDEST, max(3, len(column.columns))) for column in columns]
    figure = new_figure(0.36 * sum(widths) + 1.1 * len(columns), 6.4)
    grid = figure.add_gridspec(2, len(columns), width_ratios=widths)
    for number, column in enumerate(columns):
        top = max(float(np.abs(array).max()) for array in column.arrays) or 1.0
        for row in (0, 1):
            axes = figure.add_subplot(grid[row, number])
            picture = matrix(axes, column.arrays[row], column.rows, column.columns, top)
            if row == 0:
                axes.set_title(column.title, fontsize=10)
            if number == 0:
                axes.set_ylabel(comparison.names[row], fontsize=11)
        figure.colorbar(picture, ax=figure.axes[-2:], location="bottom", shrink=0.9, aspect=14)
    return save(figure, path)


def _columns(comparison: Comparison, head: int) -> list[Column]:
    """Query, key and value of each token and position, and the products."""
    one, other = comparison.circuits
    many = f", pair {head}" if len(comparison.heads) > 1 else ""
    labels = tuple(clipped(label, LABEL) for label in one.labels)
    found = []
    for role in ("query", "key", "value"):
        arrays = one.applied[role][head], other.applied[role][head]
        if arrays[0].shape == arrays[1].shape:
            title = f"{role} ${one.factors[role]}x${many}"
            given = role == "value" and "output" not in one.factors
            rows = _outcomes if given else _numbers
            found.append(Column(title, arrays, rows(len(arrays[0]), comparison), labels))
    products = one.products[head], other.products[head]
    scores = one.scores[head], other.scores[head]
    found.append(Column(f"query times key{many}", products, labels, labels))
    if any(np.abs(p - s).max() > EXACT for p, s in zip(products, scores, strict=True)):
        found.append(Column(f"scores as compared{many}", scores, labels, labels))
    if "output" in one.factors:
        values = one.values[head], other.values[head]
        outcomes = _outcomes(len(values[0]), comparison)
        found.append(Column(f"values{many}", values, outcomes, labels))
    return found


def _outputs(comparison: Comparison) -> list[Column]:
    if comparison.text is None:
        return []
    (a, y), (a2, y2) = comparison.shown(0), comparison.shown(1)
    places = tuple(clipped(label, LABEL) for label in comparison.places)
    weights = [
        Column(f"weights on {comparison.text}", (one, other), places, places)
        for one, other in zip(a, a2, strict=True)
    ]
    return [*weights, Column("outputs", (y, y2), places, _outcomes(y.shape[-1], comparison))]


def _numbers(count: int, comparison: Comparison) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


def _outcomes(count: int, comparison: Comparison) -> tuple[str, ...]:
    """What the outputs are called: a head with an output for each token speaks of tokens."""
    tokens = comparison.one.tokens
    if count == len(tokens):
        return tuple(clipped(token, LABEL) for token in tokens)
    return _numbers(count, comparison)
