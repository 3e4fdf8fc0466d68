"""Answers with how sure the model was of each → a picture of how far that is to be believed.

>>> draw_calibration(matches, Path("calibration.png"))

A point on the diagonal is right as often as the model thought; below it stand confident answers that are wrong.
"""

from __future__ import annotations

from pathlib import Path

from indicial.decode.matching import Matches
from indicial.inspect.pictures import new_figure
from indicial.program.outputs import save_figure


def draw_calibration(found: Matches, path: Path) -> None:
    """Writes the picture, PNG or SVG by the end of its name."""
    figure = new_figure(4.4, 4.0)
    axes = figure.add_subplot()
    bins = found.calibration
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    axes.plot([b.sure for b in bins], [b.right for b in bins], color="#3366aa", linewidth=1.4)
    sizes = [12 + 220 * b.count / len(found.truth) for b in bins]
    axes.scatter([b.sure for b in bins], [b.right for b in bins], s=sizes, color="#3366aa")
    axes.set_xlabel("how sure the model is of its answer")
    axes.set_ylabel("share of answers that are right")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.set_title(f"{found.share:.1%} of {len(found.truth):,} right", fontsize=10, loc="left")
    save_figure(figure, path)
