"""The pictures of a comparison, as PNG and SVG.

draw_sizes(groups, folder, …)     loss against parameters, a line for each model, with intervals
draw_tokens(curves, folder, …)    validation against tokens, where there is one number of parameters
draw_lengths(curves, folder, …)   what a token costs by the length of the text, of models with several inputs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indicial.lab.results import Group
from indicial.program.outputs import save_figure
from indicial.training.chart import short
from indicial.training.curves import FORMATS

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of Okabe and Ito (2008), told apart by everybody."""
MARKS = "osD^vPX"
ENTROPY = "entropy of the data"
Curve = Sequence[tuple[float, float]]


def draw_sizes(
    groups: Sequence[Group], folder: Path, title: str, entropy: float | None = None
) -> list[Path]:
    """`parameters.png` and `.svg`: the seeds as dots, their means joined, intervals as bars."""
    figure, axes = _figure(title)
    models = list(dict.fromkeys(group.model for group in groups))
    for number, model in enumerate(models):
        own = sorted((g for g in groups if g.model == model), key=lambda g: g.parameters)
        colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
        known = all(group.half is not None for group in own)
        axes.errorbar(
            [group.parameters for group in own], [group.mean for group in own],
            yerr=[group.half for group in own] if known else None,
            color=colour, marker=mark, markersize=6, linewidth=1.6, capsize=4, label=model,
        )  # fmt: skip
        if known:
            dots = [(result.parameters, result.loss) for group in own for result in group.results]
            axes.plot(*zip(*dots, strict=True), color=colour, marker=".", linestyle="", alpha=0.6)
    axes.set_xscale("log")
    ticks = sorted({group.asked for group in groups})
    axes.set_xticks(ticks, [short(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("parameters")
    return _saved(figure, axes, entropy, folder, "parameters")


def draw_tokens(
    curves: Mapping[str, Sequence[Curve]], folder: Path, title: str, entropy: float | None = None
) -> list[Path]:
    """`tokens.png` and `.svg`: validation as training goes on, a line for each seed."""
    figure, axes = _figure(title)
    _draw_curves(axes, curves)
    late = [y for several in curves.values() for curve in several for _, y in curve[1:] or curve]
    low = min([*late, *([entropy] if entropy is not None else [])])
    margin = 0.05 * max(max(late) - low, 1e-3)
    axes.set_ylim(low - margin, max(late) + margin)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    axes.set_xlabel("tokens")
    return _saved(figure, axes, entropy, folder, "tokens")


def draw_lengths(
    curves: Mapping[str, Sequence[Curve]], folder: Path, title: str, entropy: float | None = None
) -> list[Path]:
    """`lengths.png` and `.svg`: what a token costs by the length of the text, a line for each seed."""
    figure, axes = _figure(title)
    _draw_curves(axes, curves)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_xlabel("length of the text (tokens)")
    return _saved(figure, axes, entropy, folder, "lengths")


def _draw_curves(axes: Any, curves: Mapping[str, Sequence[Curve]]) -> None:
    """A colour and a mark for each model, a line for each of its seeds."""
    for number, (model, several) in enumerate(curves.items()):
        for seed, curve in enumerate(several):
            axes.plot(
                *zip(*curve, strict=True), color=COLOURS[number % len(COLOURS)], linewidth=1.6,
                marker=MARKS[number % len(MARKS)], markersize=4, label=model if not seed else None,
            )  # fmt: skip


def _figure(title: str) -> tuple[Any, Any]:
    # Without pyplot nothing is shared and no window is asked for.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_ylabel("validation loss (nats per token)")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _saved(figure: Any, axes: Any, entropy: float | None, folder: Path, name: str) -> list[Path]:
    if entropy is not None:
        axes.axhline(entropy, color="#555555", linewidth=1.2, linestyle="--", label=ENTROPY)
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda at: labels[at] == ENTROPY)  # the models first
    axes.legend([handles[at] for at in order], [labels[at] for at in order], frameon=False)
    paths = [folder / f"{name}.{ending}" for ending in FORMATS]
    for path in paths:
        save_figure(figure, path)
    return paths
