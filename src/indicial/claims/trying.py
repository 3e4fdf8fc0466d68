"""The front door: all claims of some programs → verdicts.

>>> [verdict.line() for verdict in try_claims(load_document("notes.md"))]
['notes.md:9: claim holds: …', …]

What varies from draw to draw, as a picture: `plot of α[a]`.

    plot of α[0]        a histogram of the number, with its mean and deviation
    plot of c[i]        I = 2: the vectors in the plane and their mean; else a histogram for each element

>>> (picture,) = pictures(load("notes.md"), sizes={"I": 2}, seed=0)
>>> picture.save(Path("c.png"))

The draws are those that claims are tried on.

The cells of a sheet, run one by one: each is checked together with those before it.

>>> sheet = Sheet()
>>> sheet.run("shares", 1, "α[n] = softmax_n x[n]").verdicts
[]
>>> [v.line() for v in sheet.run("shares", 2, "claim Σ_n α[n] = 1").verdicts]
['shares 2:2: claim holds: Σ_n α[n] = 1: equal but for rounding, …']

What is said of a cell depends on the parts of its section up to it, and on the section that it goes on
with, so it is the same whenever it is run. A part that is run again takes the place of what it was; if its
text is another one, the claims of the cells below it are tried again too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from indicial import library
from indicial.claims.costs import is_about_costs, is_about_sizes, try_costs
from indicial.claims.experiment import LEFT, UNTRIED, Experiment, Verdict, claimed
from indicial.claims.running import Array
from indicial.claims.values import corners
from indicial.library.loading import load, programs, strict
from indicial.notation.faults import GAP
from indicial.notation.notebooks import MAGIC
from indicial.notation.parse import Parsed, parse
from indicial.notation.silences import Silences, find_silences, silenced
from indicial.notation.source import Source
from indicial.notation.syntax import Statement
from indicial.notation.tokens import tokenize
from indicial.program.ir import Code, Test
from indicial.program.meaning.arrays import tied_sizes
from indicial.program.messages import IndicialError, Message
from indicial.program.names.covariances import is_made
from indicial.program.outputs import new_figure, save_figure
from indicial.program.program import Program
from indicial.program.prose.parts import Block

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
        flat = self.values.reshape(len(self.values), -1)
        if self.plane:
            figure = new_figure(4.6, 4.4)
            self._scatter(figure.subplots())
        elif flat.shape[1] == 1:
            figure = new_figure(5.6, 3.4)
            self._histogram(figure.subplots(), flat[:, 0], self.text)
        else:
            count = min(flat.shape[1], MOST_PANELS)
            columns = min(3, count)
            figure = new_figure(3.2 * columns, 2.4 * -(-count // columns))
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


UNSETTLED = "unused-"
"""Messages with such a code are not said of a part: a later one may use it."""


@dataclass
class Cell:
    """A part of a section as it was run last."""

    name: str
    number: int
    source: Source
    parsed: Parsed
    silences: Silences
    seed: int = 0
    draws: int | None = None
    said: list[str] = field(default_factory=list)
    """Its verdicts in words."""
    gaps: tuple[int, ...] = ()
    """The lines with a `___` that is not filled in yet; they are left out."""


@dataclass(frozen=True)
class Outcome:
    """What came of running a cell; without a program if there are errors."""

    program: Program | None
    statements: list[Statement]
    """What stands in the cell itself."""
    messages: list[Message]
    verdicts: list[Verdict]
    below: list[Verdict]
    """Verdicts on cells below it that are others than before."""
    gaps: tuple[int, ...] = ()
    """The lines that were left out, since they have a gap."""


class Sheet:
    """The cells that were run so far, by the name of their section and their number."""

    def __init__(self) -> None:
        self._sections: dict[str, dict[int, Cell]] = {}
        self._after: dict[str, str] = {}
        self._programs: dict[str, list[Program]] = {}

    def run(
        self,
        name: str,
        number: int,
        text: str,
        after: str = "",
        *,
        seed: int = 0,
        draws: int | None = None,
    ) -> Outcome:
        """Checks a part and tries its claims; `after` is the section whose names it may read."""
        self._admit(name, number, after)
        section = self._sections.setdefault(name, {})
        former = section.get(number)
        cell = _cell(name, number, text)
        cell.seed, cell.draws = seed, draws
        section[number] = cell
        if number == 1:
            self._after[name] = after
        made, messages = self._checked(cell)
        failed = any(message.severity == "error" for message in messages)
        verdicts = [] if failed else self._tried(cell, made)
        another = former is not None and former.source.text != cell.source.text
        below = self._tried_below(cell) if another and not failed else []
        return Outcome(
            None if failed or not made else made[-1],
            list(cell.parsed.statements),
            messages,
            verdicts,
            below,
            cell.gaps,
        )

    def _admit(self, name: str, number: int, after: str) -> None:
        """Whether all that the cell needs has been run."""
        section = self._sections.get(name, {})
        missing = [str(n) for n in range(1, number) if n not in section]
        if missing:
            parts = f"part {missing[0]}" if len(missing) == 1 else f"parts {', '.join(missing)}"
            raise IndicialError(
                f"{parts} of {name} must be run first: run the cells above this one"
            )
        if after and after not in self._sections:
            raise IndicialError(
                f"{name} goes on with {after}: run the cells of that section, above this one, first"
            )
        if after and name in (after, *self._before(after)):
            raise IndicialError(f"{name} cannot go on with {after}, which goes on with {name}")

    def _before(self, name: str) -> list[str]:
        """The sections that one goes on with, the nearest first."""
        found: list[str] = []
        while (name := self._after.get(name, "")) and name not in found:
            found.append(name)
        return found

    def _checked(self, cell: Cell) -> tuple[list[Program], list[Message]]:
        """The programs in which lines of the cell stand, and what is to be said of them."""
        chain = [*reversed(self._before(cell.name)), cell.name]
        cells = [
            part
            for name in chain
            for number, part in sorted(self._sections[name].items())
            if name != cell.name or number <= cell.number
        ]
        silences = {place: codes for part in cells for place, codes in part.silences.items()}
        blocks = [
            Block(_title(part.name), p.statements, p.faults, p.skipped)
            for part in cells
            for p in [part.parsed]
        ]
        made = programs(
            blocks, (), lambda m: silenced(silences, m.code, m.span.source, m.span.line)
        )
        here = [p for p in made if p.title == _title(cell.name)]
        self._programs[cell.name] = here
        holding = [p for p in here if _stands_in(cell, p)] or here[-1:]
        said = {m: None for p in holding for m in p.mistakes if not m.code.startswith(UNSETTLED)}
        return holding, list(said)

    def _tried(self, cell: Cell, made: list[Program]) -> list[Verdict]:
        """The verdicts on the claims of a cell; they are kept as what was said of it."""
        verdicts = try_claims(
            made,
            seed=cell.seed,
            draws=cell.draws,
            which=lambda test: test.span.source is cell.source,
            beside=[program for known in self._programs.values() for program in known],
        )
        cell.said = [words(verdict) for verdict in verdicts]
        return verdicts

    def _tried_below(self, cell: Cell) -> list[Verdict]:
        """The claims of cells below are tried again; those that came out as before are left out."""
        found: list[Verdict] = []
        for other in self._below(cell):
            if not other.said:
                continue
            before = other.said
            made, messages = self._checked(other)
            if not any(message.severity == "error" for message in messages):
                verdicts = self._tried(other, made)
                found += [verdict for verdict in verdicts if words(verdict) not in before]
        return found

    def _below(self, cell: Cell) -> Iterator[Cell]:
        """The cells whose programs hold lines of this one, or may."""
        for name, section in self._sections.items():
            if name == cell.name:
                yield from (part for n, part in sorted(section.items()) if n > cell.number)
            elif cell.name in self._before(name):
                yield from (part for _, part in sorted(section.items()))


def words(verdict: Verdict) -> str:
    """A verdict as it is printed."""
    return verdict.line() if verdict.as_stated else verdict.message().render()


def _cell(name: str, number: int, text: str) -> Cell:
    # With the line of the magic, so that lines are counted as in the cell.
    source = Source(f"{name} {number}", f"{MAGIC}\n{text}")
    tokens = tokenize(source, len(MAGIC) + 1, len(source.text), latex=False)
    silences = find_silences(source, (), lambda offset: True)
    parsed = strict(parse(tokens, latex=False))
    gaps = tuple(fault.spans[0].line for fault in parsed.faults if fault.code == GAP)
    parsed = replace(parsed, faults=tuple(f for f in parsed.faults if f.code != GAP))
    return Cell(name, number, source, parsed, silences, gaps=gaps)


def _title(name: str) -> str:
    """The heading that a name was made of, as far as it matters: `problem_3` starts afresh."""
    return name.replace("_", " ")


def _stands_in(cell: Cell, program: Program) -> bool:
    return any(statement.span.source is cell.source for statement in program.written)
