"""What was found about a model as pictures: gradients over distance, eigenvalues in the plane.

>>> draw_gradients(found, Path("runs/names-1"), "ugrnn on names.txt")
[PosixPath('runs/names-1/gradients.png'), PosixPath('runs/names-1/gradients.svg')]

Lines and points differ in more than colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from indicial.inspect.gradients import Gradient
from indicial.inspect.jacobian import Jacobian
from indicial.program.messages import IndicialError
from indicial.program.outputs import save_figure

FORMATS = ("png", "svg")
PICTURES = [f"{name}.{ending}" for name in ("gradients", "eigenvalues") for ending in FORMATS]
"""All that may be drawn."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Of Okabe and Ito (2008)."""
LINES = ("-", "--", "-.", ":")
MARKS = ("o", "^", "s", "D", "v", "P")


def draw_gradients(found: Sequence[Gradient], folder: Path, title: str) -> list[Path]:
    """The norm of the gradient over the distance, on a scale of powers, and the line fitted to it."""
    figure, axes = _figure((7, 4.2))
    for number, one in enumerate(found):
        colour = COLOURS[number % len(COLOURS)]
        distances = np.arange(len(one.norms))
        norms = np.where(np.array(one.norms) > 0, one.norms, np.nan)
        label = one.name
        if one.factor is not None:
            label += f": factor {one.factor:.3f} per step"
        axes.semilogy(
            distances, norms, color=colour, linewidth=1.6, label=label,
            linestyle=LINES[number // len(COLOURS) % len(LINES)],
            marker=MARKS[number % len(MARKS)], markersize=3.5, markevery=max(1, len(norms) // 16),
        )  # fmt: skip
        if one.factor is not None:
            known = np.isfinite(norms)
            middle = np.exp(np.log(norms[known]).mean())
            line = middle * one.factor ** (distances - distances[known].mean())
            axes.semilogy(distances, line, color=colour, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_xlabel("distance d, in steps back")
    axes.set_ylabel("norm of the gradient of one prediction")
    axes.set_title(title, fontsize=11, loc="left")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False)
    return _saved(figure, folder, "gradients")


def draw_eigenvalues(found: Sequence[Jacobian], folder: Path, title: str) -> list[Path]:
    """All eigenvalues, and the unit circle."""
    figure, axes = _figure((5.2, 5.2))
    turn = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(turn), np.sin(turn), color="black", linewidth=0.8)
    for number, one in enumerate(found):
        values = one.eigenvalues.ravel()
        axes.scatter(
            values.real, values.imag, s=9, alpha=0.5, linewidths=0,
            color=COLOURS[number % len(COLOURS)], marker=MARKS[number % len(MARKS)],
            label=f"{one.name}: spectral radius {one.radius:.3f}",
        )  # fmt: skip
    reach = 1.1 * max(1.0, *(float(np.abs(one.eigenvalues).max()) for one in found))
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)
    axes.set_xlabel("real part")
    axes.set_ylabel("imaginary part")
    axes.set_title(title, fontsize=11, loc="left")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    return _saved(figure, folder, "eigenvalues")


def _figure(size: tuple[float, float]) -> tuple[Any, Any]:
    # Without pyplot nothing is shared and no window is asked for.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _saved(figure: Any, folder: Path, name: str) -> list[Path]:
    paths = [folder / f"{name}.{ending}" for ending in FORMATS]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            save_figure(figure, path)
    except OSError as error:
        raise IndicialError(f"cannot write {paths[0]}: {error.strerror}") from error
    return paths
