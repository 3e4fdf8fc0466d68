"""The front door: all claims of some programs → verdicts.

>>> [verdict.line() for verdict in try_claims(load_document("notes.md"))]
['notes.md:9: claim holds: …', …]

What varies from draw to draw, as a picture: `plot of α[a]`.

    plot of α[0]        a histogram of the number, with its mean and deviation
    plot of c[i]        I = 2: the vectors in the plane and their mean; else a histogram for each element

>>> (picture,) = pictures(load("notes.md"), sizes={"I": 2}, seed=0)
>>> picture.save(Path("c.png"))

The draws are those that claims are tried on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from indicial import library
from indicial.claims.costs import is_about_costs, is_about_sizes, try_costs
from indicial.claims.experiment import LEFT, UNTRIED, Experiment, Verdict, claimed
from indicial.claims.running import Array
from indicial.claims.values import corners
from indicial.library.loading import load
from indicial.program.explain.facts import tied_sizes
from indicial.program.ir import Code, Test
from indicial.program.messages import IndicialError
from indicial.program.names.covariances import is_made
from indicial.program.outputs import save_figure
from indicial.program.program import Program

WORK_OF_ONE, WORK_OF_MANY = 300_000, 3_000
"""Numbers that a draw may compute at the larger sizes: at some draws, or at thousands of them."""
CLAIMS = ("claim", "false")
"""The kinds of tests that are tried here; steps are tried when a program is read, and plots are drawn."""
DRAWS = 200
"""Draws for a claim about values, over all its sizes."""


def has_claims(program: Program) -> bool:
    return any(test.kind in CLAIMS for test in program.analysis.code.tests)


def try_claims(
    programs: Iterable[Program],
    *,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    draws: int | None = None,
    which: Callable[[Test], bool] = lambda test: True,
    beside: Iterable[Program] = (),
) -> list[Verdict]:
    """Tries every claim of every program without errors, in the order of the text.

    `which` chooses among the claims; `beside` are programs that a claim may speak of by their titles.
    """
    programs = list(programs)
    known_titles = [*programs, *beside]
    found: list[Verdict] = []
    for program in programs:
        if not has_claims(program):
            continue
        try:
            code = program.code
        except IndicialError:
            continue  # its mistakes come first
        known = {name: value for name, value in (sizes or {}).items() if name in code.sizes}
        for test in code.tests:
            if test.kind not in CLAIMS or not which(test):
                continue
            verdict = _tried(code, test, known_titles, known, seed, draws)
            if verdict.as_stated or not program.silenced(verdict.message()):
                found.append(verdict)
    return found


def try_one(
    code: Code,
    test: Test,
    *,
    seed: int = 0,
    draws: int | None = None,
    beside: Sequence[Program] = (),
) -> Verdict:
    """Tries a claim about some code, which need not be one of its own."""
    return _tried(code, test, beside, {}, seed, draws)


def _tried(
    code: Code,
    test: Test,
    programs: Sequence[Program],
    sizes: Mapping[str, int],
    seed: int,
    draws: int | None,
) -> Verdict:
    try:
        if is_about_costs(test) or is_about_sizes(test):
            fixed = {name: value for name, value in code.sizes.items() if value is not None}
            given = tied_sizes(code, {**fixed, **sizes})
            return try_costs(code, test, lambda n: _other(n, programs), given)
        return _on_draws(code, test, sizes, seed, draws)
    except IndicialError as error:
        return Verdict(test, UNTRIED, str(error))


def _on_draws(
    code: Code, test: Test, sizes: Mapping[str, int], seed: int, draws: int | None
) -> Verdict:
    from indicial.claims.experiment import Experiment
    from indicial.claims.statistics import try_statistics
    from indicial.claims.values import corners, try_values

    code = replace(code, sizes={n: sizes.get(n, value) for n, value in code.sizes.items()})
    about = claimed(code, test)
    experiment = Experiment(about, test)
    if experiment.summaries:
        tried = corners(about, WORK_OF_MANY, few=True)
        return try_statistics(experiment, tried, seed, draws)
    tried = corners(about, WORK_OF_ONE)
    return try_values(experiment, tried, seed, DRAWS if draws is None else draws)


def _other(name: str, programs: Sequence[Program]) -> Code | None:
    """Another section of the document by its heading, or a model of the library."""
    plain = name.replace("{", "").replace("}", "")
    for program in programs:
        if program.title.casefold().replace(" ", "_") == plain.casefold():
            return program.code
    return load(plain).code if plain in library.names() else None


PLOTTED = 2_000
MOST_WORK = 3_000
MOST_PANELS = 9
"""Elements of a vector that get a histogram each."""
BLUE, RED = "#0072B2", "#D55E00"


@dataclass(frozen=True, repr=False)
class Picture:
    """A quantity at many draws; the first axis of `values` is the draws, the others are its indices."""

    text: str
    values: Array
    letters: tuple[str, ...]
    sizes: Mapping[str, int]
    seed: int

    @property
    def plane(self) -> bool:
        """Whether it is a vector of two elements."""
        return tuple(self.values.shape[1:]) == (2,)

    def line(self) -> str:
        """`α[0]: mean 0.5, deviation 0.386, 2,000 draws`; the means of a vector's elements."""
        mean, deviation = self.values.mean(axis=0), self.values.std(axis=0)
        shown = {name: size for name, size in self.sizes.items() if not is_made(name)}
        at = "".join(f", {name} = {size}" for name, size in shown.items())
        return (
            f"{self.text}: mean {_numbers(mean)}, deviation {_numbers(deviation)}; "
            f"{len(self.values):,} draws, seed {self.seed}{at}"
        )

    def __repr__(self) -> str:
        return self.line()

    def figure(self) -> Any:
        from matplotlib.figure import Figure

        flat = self.values.reshape(len(self.values), -1)
        if self.plane:
            figure = Figure((4.6, 4.4), layout="constrained")
            self._scatter(figure.subplots())
        elif flat.shape[1] == 1:
            figure = Figure((5.6, 3.4), layout="constrained")
            self._histogram(figure.subplots(), flat[:, 0], self.text)
        else:
            count = min(flat.shape[1], MOST_PANELS)
            columns = min(3, count)
            figure = Figure((3.2 * columns, 2.4 * -(-count // columns)), layout="constrained")
            panels = figure.subplots(
                -(-count // columns), columns, squeeze=False, sharex=True
            ).ravel()
            for panel in panels[count:]:
                panel.set_axis_off()
            for number in range(count):
                self._histogram(panels[number], flat[:, number], self._place(number))
        figure.suptitle(f"{self.text} over {len(self.values):,} draws", fontsize=11)
        return figure

    def _place(self, number: int) -> str:
        """What one element of a tensor is called."""
        at = np.unravel_index(number, self.values.shape[1:])
        return ", ".join(
            f"{letter} = {place}" for letter, place in zip(self.letters, at, strict=True)
        )

    def _histogram(self, axes: Any, values: Array, label: str) -> None:
        axes.hist(values, bins=40, color=BLUE, alpha=0.75)
        axes.axvline(values.mean(), color=RED, linewidth=1.6, linestyle="--")
        axes.set_xlabel(label)
        axes.set_ylabel("draws")
        told = f"mean {values.mean():.3g}\ndeviation {values.std():.3g}"
        axes.text(0.98, 0.95, told, transform=axes.transAxes, ha="right", va="top", fontsize=9)

    def _scatter(self, axes: Any) -> None:
        x, y = self.values[:, 0], self.values[:, 1]
        axes.scatter(x, y, s=6, color=BLUE, alpha=0.35, linewidths=0, label="draws")
        mean = self.values.mean(axis=0)
        if (mean**2).sum() > 0.1 * self.values.var(axis=0).sum():
            axes.annotate(
                "", mean, (0, 0), arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.8}
            )
        axes.scatter(
            *mean, s=40, color=RED, marker="X", label=f"mean ({mean[0]:.3g}, {mean[1]:.3g})"
        )
        axes.axhline(0, color="#adb5bd", linewidth=0.6)
        axes.axvline(0, color="#adb5bd", linewidth=0.6)
        axes.set_aspect("equal", adjustable="datalim")
        letter = self.letters[0]
        axes.set_xlabel(f"{letter} = 0")
        axes.set_ylabel(f"{letter} = 1")
        axes.legend(frameon=False, fontsize=9)

    def save(self, path: Path) -> None:
        save_figure(self.figure(), path)

    def _repr_png_(self) -> bytes:
        made = BytesIO()
        self.figure().savefig(made, format="png", dpi=110)
        return made.getvalue()


def plots(program: Program) -> list[Test]:
    """What a program asks to be drawn."""
    return [test for test in program.analysis.code.tests if test.kind == "plot"]


def pictures(
    program: Program,
    *,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    draws: int | None = None,
    tests: Iterable[Test] | None = None,
) -> list[Picture]:
    """A picture for each `plot of …` of a program."""
    asked = plots(program) if tests is None else list(tests)
    if not asked:
        return []
    code = program.code
    known = program.sizes(sizes or {})
    return [
        _picture(code, test, known, seed, PLOTTED if draws is None else draws) for test in asked
    ]


def _picture(code: Code, test: Test, known: Mapping[str, int], seed: int, draws: int) -> Picture:
    code = replace(code, sizes={name: known.get(name) for name in code.sizes})
    about = claimed(code, test)
    experiment = Experiment(about, test)
    if experiment.summaries:
        raise IndicialError(f"{test.text} is the same at every draw: there is nothing to plot")
    open_ = [name for name in experiment.reads() if experiment.world.kinds.get(name) == "open"]
    if open_ and experiment.sampler is None:
        raise IndicialError(
            f"how {open_[0]} is drawn is not said; write `{open_[0]} ~ N(0, 1)`, or make it a constant"
        )
    # Vectors in the plane show most: an index whose size is open has two values, all others four.
    spread = {index.extent.name for index in test.indices}
    wanted: dict[str, int | None] = {
        name: value if value is not None else 2 if name in spread else 4
        for name, value in about.sizes.items()
    }
    chosen = corners(replace(about, sizes=wanted), MOST_WORK)[0]
    values = experiment.draw(chosen, draws, np.random.default_rng(seed))
    left = experiment.outer.run(experiment.with_slopes(values, chosen, draws), chosen, draws)[LEFT]
    letters = tuple(index.name for index in test.indices)
    return Picture(test.text, left, letters, chosen, seed)


def _numbers(values: Any) -> str:
    flat = np.atleast_1d(values).ravel()
    shown = ", ".join(f"{v:.3g}" for v in flat[:6]) + (", …" if flat.size > 6 else "")
    return shown if flat.size == 1 else f"[{shown}]"
