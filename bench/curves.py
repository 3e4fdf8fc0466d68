"""What a training step of the UGRNN costs against the steps T and against the units J.

`curves` measures, `draw` makes the picture (PNG and SVG) for the document.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import cells, same
from bench.cells import Problem, Size
from bench.options import Options
from bench.ours import Compiled, NotThere
from bench.peers.layer import Layer
from bench.peers.loops import HoistedLoop
from bench.peers.products import Products
from bench.peers.scan import Scan
from bench.table import Section, number
from bench.timing import Contender, run_race

BATCH = 16
STEPS = (32, 64, 128, 256, 512, 1024)
UNITS = (32, 64, 128, 256, 512)
FIXED_STEPS, FIXED_UNITS = 128, 128
OURS = "Indicial"
NAMES = (OURS, "hoisted loop", "jax.lax.scan", "its products")
COLOURS = dict(zip(NAMES, ("#c0392b", "#2c3e50", "#2980b9", "#999999"), strict=True))


def curves(options: Options) -> Section:
    section = Section("Cost against T and J", heads=["ugrnn", *NAMES, ""])
    every = 2 if options.quick else 1
    sizes = [Size(BATCH, t, FIXED_UNITS) for t in STEPS[::every]]
    sizes += [Size(BATCH, FIXED_STEPS, j) for j in UNITS[::every] if j != FIXED_UNITS]
    for size in sizes:
        taken, why = _measure(size, options)
        shown = [number(taken[name]) + " ms" if name in taken else "–" for name in NAMES]
        section.rows.append([str(size), *shown, why])
        section.points[size.batch, size.steps, size.units] = taken
    return section


def _measure(size: Size, options: Options) -> tuple[dict[str, float], str]:
    """Milliseconds by contender, and why ours is missing."""
    problem = Problem.of(cells.UGRNN, size, options.input_gradient)
    layers: dict[str, Layer] = {"hoisted loop": HoistedLoop(problem), "jax.lax.scan": Scan(problem)}
    why = ""
    try:
        ours = Compiled(problem)
        same.check(ours.result(), layers["hoisted loop"].result(), "ugrnn", {"h"})
        layers[OURS] = ours
    except (NotThere, same.Different) as reason:
        why = str(reason)
    contenders = [Contender(name, layer.run) for name, layer in layers.items()]
    contenders.append(Contender("its products", Products(problem).run))
    race = run_race(contenders, options.pace)
    return {name: race.median(name) * 1e3 for name in race.seconds}, why


def draw(points: dict[tuple[int, int, int], dict[str, float]], where: Path, caption: str) -> None:
    """Two panels on logarithmic axes: `where` with .png and with .svg."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "indicial"  # the same picture, the same file
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), sharey=True)
    along_steps = {t: ms for (_, t, j), ms in points.items() if j == FIXED_UNITS}
    along_units = {j: ms for (_, t, j), ms in points.items() if t == FIXED_STEPS}
    _panel(left, along_steps, f"steps T (B = {BATCH}, J = {FIXED_UNITS})")
    _panel(right, along_units, f"units J (B = {BATCH}, T = {FIXED_STEPS})")
    left.set_ylabel("milliseconds a training step")
    left.legend(frameon=False)
    figure.suptitle("UGRNN: forward and backward")
    figure.text(0.99, 0.01, caption, ha="right", va="bottom", fontsize=6, color="#666666")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    where.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(where.with_suffix(".png"), dpi=150)
    figure.savefig(where.with_suffix(".svg"), metadata={"Date": None})
    pyplot.close(figure)


def _panel(axes: Any, points: dict[int, dict[str, float]], label: str) -> None:
    places = sorted(points)
    for name in NAMES:
        known = [(place, points[place][name]) for place in places if name in points[place]]
        if known:
            style = "--" if name == "its products" else "-"
            axes.plot(
                *zip(*known, strict=True), style, marker="o", ms=3, color=COLOURS[name], label=name
            )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(places, [str(place) for place in places])
    axes.set_xlabel(label)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
