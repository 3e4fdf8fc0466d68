"""Matrices, links and answers as pictures: a signed scale that everybody can read, files by their ending.

>>> matrix(new_figure(4, 3).add_subplot(), weights, rows, columns, top=1.0)
>>> print(arcs_text(["the", "dog", "sleeps"], [Link(0, 1, "det"), Link(1, 2, "nsubj", 0.2)]))
 ┏━det━┱─nsubj─┐
the   dog   sleeps

A link goes from a word to its head: the thicker, the more weight. Of answers, a point on the diagonal is right as often
as the model thought; below it stand confident answers that are wrong.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indicial.decode.matching import Matches
from indicial.program.messages import IndicialError
from indicial.program.outputs import new_figure, save_figure
from indicial.training.watchers import plain_axes

Array = np.ndarray[Any, np.dtype[np.float64]]
SIGNED, POSITIVE = "PuOr", "Purples"
"""Brewer's colours, safe for the colour-blind; weights alone are never below 0."""
ENDINGS = (".svg", ".png", ".pdf")
NUMBERS = 10
"""Up to so many rows and columns the numbers stand in the cells."""
TICKS = 40
"""Up to so many places each has its label."""


def matrix(
    axes: Any,
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    top: float,
    signed: bool = True,
) -> Any:
    """Draws a matrix with labels; `top` is where the scale ends, on both sides if it is signed."""
    low = -top if signed else 0.0
    picture = axes.imshow(
        values, cmap=SIGNED if signed else POSITIVE, vmin=low, vmax=top, aspect="equal"
    )
    for axis, labels in ((axes.xaxis, columns), (axes.yaxis, rows)):
        step = 1 + (len(labels) - 1) // TICKS
        axis.set_ticks(range(0, len(labels), step), [safe(s) for s in labels[::step]], fontsize=8)
    if max(map(len, columns), default=0) > 2:
        axes.tick_params(axis="x", rotation=90)
    if max(values.shape) <= NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            dark = abs(value) > 0.6 * top
            axes.text(
                column, row, _number(value), ha="center", va="center", fontsize=6,
                color="white" if dark else "black",
            )  # fmt: skip
    return picture


def save(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Writes a figure; the same numbers give the same file."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise IndicialError(
            f"cannot draw {path}: a figure ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        save_figure(figure, target)
    return target


def _number(value: float) -> str:
    if abs(value) < 0.005:
        return "0"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.3g}"


def safe(label: str) -> str:
    """A dollar sign would begin a formula."""
    return label.replace("$", r"\$")


def draw_calibration(found: Matches, path: Path) -> None:
    """Writes the picture, PNG or SVG by the end of its name."""
    figure, axes = plain_axes(4.4, 4.0, f"{found.share:.1%} of {len(found.truth):,} right")
    bins = found.calibration
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    axes.plot([b.sure for b in bins], [b.right for b in bins], color="#3366aa", linewidth=1.4)
    sizes = [12 + 220 * b.count / len(found.truth) for b in bins]
    axes.scatter([b.sure for b in bins], [b.right for b in bins], s=sizes, color="#3366aa")
    axes.set_xlabel("how sure the model is of its answer")
    axes.set_ylabel("share of answers that are right")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    save_figure(figure, path)


COLOURS = ("#1f6feb", "#c2255c", "#868e96")
"""A link that stands alone or is right, one that is wrong, and one that is only thought of."""
THICK = 5.0
"""Points, of a link that has all the weight."""
LEAST = 0.6
JOINED = {
    frozenset("┐┌"): "┬", frozenset("┓┏"): "┳", frozenset("┓┌"): "┱", frozenset("┐┏"): "┲",
}  # fmt: skip


@dataclass(frozen=True)
class Link:
    """From a word to its head; places from 0."""

    word: int
    head: int
    label: str = ""
    weight: float = 1.0
    right: bool = True

    @property
    def ends(self) -> tuple[int, int]:
        return min(self.word, self.head), max(self.word, self.head)


def levels(links: Sequence[Link]) -> dict[Link, int]:
    """How high each link runs, from 1 on: above all that are between its ends."""
    found: dict[Link, int] = {}
    for link in sorted(links, key=lambda link: link.ends[1] - link.ends[0]):
        left, right = link.ends
        below = [
            level
            for other, level in found.items()
            if other.ends[0] < right and left < other.ends[1]
        ]
        found[link] = 1 + max(below, default=0)
    return found


def heads_of(parse: Mapping[str, Sequence[Any]]) -> list[Link]:
    """The links from words to their heads, of a sentence by the fields of CoNLL-U."""
    labels = parse.get("deprel", [""] * len(parse["form"]))
    return [Link(n, int(head), str(labels[n])) for n, head in enumerate(parse.get("head", ()))]


# ---------------------------------------------------------------------- for the terminal


def arcs_text(words: Sequence[str], links: Sequence[Link]) -> str:
    """Arcs as lines of signs; a link with more than half of the weight is a thick one. Roots have no arc."""
    drawn = levels([link for link in links if link.word != link.head])
    middles, places, width = _columns(words, drawn)
    height = max(drawn.values(), default=0)
    page = [[" "] * width for _ in range(height)]
    for link, level in sorted(drawn.items(), key=lambda one: -one[1]):
        left, right = (middles[place] for place in link.ends)
        thick = link.weight > 0.5
        row = page[height - level]
        row[left + 1 : right] = ["━" if thick else "─"] * (right - left - 1)
        row[left] = _corner(row[left], "┏" if thick else "┌")
        row[right] = _corner(row[right], "┓" if thick else "┐")
        label = link.label[: right - left - 1]
        begin = left + 1 + (right - left - 1 - len(label)) // 2
        row[begin : begin + len(label)] = label
        for below in page[height - level + 1 :]:
            for column in (left, right):
                below[column] = "┃" if thick else "│"
    lines = ["".join(row).rstrip() for row in page]
    last = [" "] * width
    for place, word in zip(places, words, strict=True):
        last[place : place + len(word)] = word
    return "\n".join([*lines, "".join(last).rstrip()])


def _corner(there: str, new: str) -> str:
    """Where one link ends and the next begins, both are seen."""
    return JOINED.get(frozenset((there, new)), new)


def _columns(words: Sequence[str], links: dict[Link, int]) -> tuple[list[int], list[int], int]:
    """Where the middle and the beginning of each word are; labels of neighbours have room between them."""
    room = [1] * len(words)
    for link in links:
        left, right = link.ends
        if right == left + 1:
            half = len(words[left]) // 2 + len(words[right]) // 2
            room[left] = max(room[left], len(link.label) + 2 - half)
    places, at = [], 0
    for word, gap in zip(words, room, strict=True):
        places.append(at)
        at += len(word) + gap
    middles = [place + len(word) // 2 for place, word in zip(places, words, strict=True)]
    return middles, places, at


# ---------------------------------------------------------------------- for paper


def arcs_figure(
    words: Sequence[str],
    above: Sequence[Link],
    below: Sequence[Link] = (),
    titles: tuple[str, str] = ("", ""),
) -> Any:
    """The words in a row, with links above them and others below; what is wrong is red."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    sizes = [max(0.45, 0.105 * len(word) + 0.18) for word in words]
    middles = [sum(sizes[:place]) + size / 2 for place, size in enumerate(sizes)]
    heights = [
        levels([link for link in links if link.word != link.head]) for links in (above, below)
    ]
    up, down = (0.42 * max(found.values(), default=0) + 0.35 for found in heights)
    figure = new_figure(max(4.0, sum(sizes) + 0.4), up + down * bool(below) + 0.5)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    for word, middle in zip(words, middles, strict=True):
        axes.text(middle, 0, word, ha="center", va="center", fontsize=11)
    for sign, found, title in zip((1, -1), heights, titles, strict=True):
        for link, level in found.items():
            left, right = (middles[place] for place in link.ends)
            base, top = sign * 0.18, sign * (0.18 + 0.42 * level)
            # Arcs that end at the same word stand a little apart.
            left, right = left + 0.05, right - 0.05
            turn = min(0.25, (right - left) / 2)
            path = Path(
                [(left, base), (left, top), (left + turn, top), (right - turn, top), (right, top), (right, base)],
                [Path.MOVETO, Path.CURVE3, Path.CURVE3, Path.LINETO, Path.CURVE3, Path.CURVE3],
            )  # fmt: skip
            colour = COLOURS[0] if link.right else COLOURS[1]
            thick = max(LEAST, THICK * link.weight)
            axes.add_patch(
                PathPatch(
                    path,
                    fill=False,
                    edgecolor=colour,
                    linewidth=thick,
                    alpha=0.85,
                    capstyle="round",
                )
            )
            if link.label:
                axes.text(
                    (left + right) / 2, top, link.label, ha="center", va="center", fontsize=8,
                    color=colour, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                )  # fmt: skip
        if title:
            axes.text(0, sign * (0.3 + (up if sign > 0 else down) - 0.15), title, ha="left", va="center",
                      fontsize=8, color="#555555")  # fmt: skip
    axes.set_xlim(-0.1, sum(sizes) + 0.1)
    axes.set_ylim(-(down + 0.25) if below else -0.3, up + 0.25)
    return figure
