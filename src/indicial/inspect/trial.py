"""Running a program on small random values (`indicial try`), and arrays as heat maps in a terminal.

>>> print("\\n".join(heatmap(np.array([[0.1, -0.9], [0.5, 0.0]]), "h", ("t", "j"))))
h[t,j]  2×2, from -0.9 to 0.5
       j=0     1
t=0  ░+0.10 █-0.90
t=1  ▒+0.50  +0.00

A cell is its number with a shade that says how large it is; on a coloured terminal the background
says it, blue below 0 and red above. What is too wide for numbers is shown in shades alone, with a
sign in front. An array of more than two indices is shown in slices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indicial.program import ir
from indicial.program.explain.facts import Facts, read
from indicial.program.explain.numbers import count, short
from indicial.program.meaning.arrays import tie
from indicial.program.meaning.interpret import InterpretError, Result, interpret
from indicial.program.meaning.sample import least_sizes, sample
from indicial.program.messages import IndicialError, columns, wrapped
from indicial.program.program import Program

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]


SHADES = " ░▒▓█"
WIDTH = 80
SLICES = 4
ROWS = 12

_RED = (255, 224, 217, 210, 203, 196)
_BLUE = (255, 195, 153, 111, 69, 27)
"""Colours of the 256-colour palette, from white to full."""


def heatmap(
    values: Array,
    name: str,
    letters: Sequence[str],
    *,
    lowers: Sequence[int] = (),
    remark: str = "",
    whole: bool = False,
    colour: bool = False,
    width: int = WIDTH,
    slices: int | None = SLICES,
    rows: int = ROWS,
    labels: Sequence[str] = (),
) -> list[str]:
    """The lines of a picture of `values`, which has an axis for each letter.

    `lowers` are the index values of the first elements, `whole` says that the numbers are whole
    (tokens), `slices` how many slices of an array with more than two indices are shown at most
    (None: all), `rows` how many rows of each; `labels` are words for the rows.
    """
    first = lowers or [0] * values.ndim
    picture = _Picture(values, letters, first, whole, colour, width, slices, rows, labels)
    if values.ndim == 0:
        return [f"{name} = {_plain(float(values), whole)}" + (f"  ({remark})" if remark else "")]
    signature = f"{name}[{','.join(letters)}]"
    shape = "×".join(str(n) for n in values.shape)
    facts = [
        shape,
        *([picture.span()] if values.size else ["empty"]),
        *([remark] if remark else []),
    ]
    title = f"{signature}  {', '.join(facts)}"
    if values.ndim > 2:
        return [title, *picture.slices_of(name)]
    return [title, *picture.grid(values)]


@dataclass
class _Picture:
    values: Array
    letters: Sequence[str]
    lowers: Sequence[int]
    whole: bool
    colour: bool
    width: int
    slices: int | None
    rows: int
    labels: Sequence[str]

    def __post_init__(self) -> None:
        numbers = [float(v) for v in self.values.flat]
        self.top = max((abs(v) for v in numbers if math.isfinite(v)), default=0.0)
        texts = {v: _number(v, self.top, self.whole) for v in numbers}
        signed = any(v < 0 for v in numbers)
        self.texts = texts if signed else {v: t.lstrip("+") for v, t in texts.items()}
        widest = max(map(len, self.texts.values()), default=1)
        self.cell = widest + (0 if self.colour else 1)

    def span(self) -> str:
        """`from -0.9 to 0.5`."""
        finite = [float(v) for v in self.values.flat if math.isfinite(v)]
        if not finite:
            return "no numbers"
        low, high = min(finite), max(finite)
        if low == high:
            return f"all {_plain(low, self.whole)}"
        return f"from {_plain(low, self.whole)} to {_plain(high, self.whole)}"

    def slices_of(self, name: str) -> Iterator[str]:
        outer = self.values.shape[:-2]
        total = math.prod(outer)
        limit = total if self.slices is None else self.slices
        for place in itertools.islice(itertools.product(*map(range, outer)), limit):
            fixed = [
                f"{letter}={low + at}"
                for letter, low, at in zip(self.letters, self.lowers, place, strict=False)
            ]
            yield f"  {name}[{','.join([*fixed, *self.letters[-2:]])}]"
            yield from ("  " + line for line in self.grid(self.values[place], 2))
        if total > limit:
            rest = total - limit
            yield f"  … {rest} more slice{'' if rest == 1 else 's'} of {name} left out"

    def grid(self, values: Array, margin: int = 0) -> Iterator[str]:
        """One or two axes: a vector is a row."""
        if values.size == 0:
            return
        matrix = values.reshape(1, -1) if values.ndim == 1 else values
        across, low = self.letters[-1], self.lowers[-1]
        heads = [""]
        if values.ndim == 2:
            down, first = self.letters[-2], self.lowers[-2]
            heads = [f"{down}={first + n}" for n in range(len(matrix))]
            if self.labels:
                widest = max(map(columns, heads))
                heads = [
                    f"{head}{' ' * (widest - columns(head))} {word}".rstrip()
                    for head, word in zip(heads, self.labels, strict=True)
                ]
        label = max(columns(head) for head in heads[: self.rows])
        room = self.width - margin - label - 2
        shown = matrix.shape[1]
        numbers = shown * (self.cell + 1) <= room
        step = self.cell + 1 if numbers else 2
        if shown * step > room:
            shown = max(1, room // step)
        yield from self._header(across, low, shown, label, step)
        for row, head in itertools.islice(zip(matrix, heads, strict=True), self.rows):
            cells = [self._cell(float(v), numbers) for v in row[:shown]]
            joint = " " if numbers else ""
            yield (head + " " * (label - columns(head)) + "  " + joint.join(cells)).rstrip()
        left = [(len(matrix) - self.rows, "row"), (matrix.shape[1] - shown, "column")]
        said = [f"{n} more {word}{'' if n == 1 else 's'}" for n, word in left if n > 0]
        if said:
            yield f"… {' and '.join(said)} left out"

    def _header(self, letter: str, low: int, shown: int, label: int, step: int) -> Iterator[str]:
        """The index values above the columns; every so many where they are narrow."""
        every = 1 if step > 4 else 5
        line = " " * (label + 2)
        for n in range(0, shown, every):
            at = label + 2 + n * step
            text = f"{letter}={low + n}" if n == 0 else str(low + n)
            if step > 4:
                at += max(0, step - 1 - columns(text))
            line += " " * (at - columns(line)) + text if columns(line) <= at else ""
        yield line

    def _cell(self, value: float, numbers: bool) -> str:
        if not math.isfinite(value):
            text = self.texts.get(value) or "·"
            return text.rjust(self.cell) if numbers else "· "
        level = abs(value) / self.top if self.top else 0.0
        if self.colour:
            ramp = _RED if value >= 0 else _BLUE
            shade = ramp[min(len(ramp) - 1, round(level * (len(ramp) - 1)))]
            text = self.texts[value].rjust(self.cell) if numbers else "  "
            front = 15 if level > 0.85 else 16
            return f"\x1b[48;5;{shade};38;5;{front}m{text}\x1b[0m"
        shade_sign = SHADES[min(len(SHADES) - 1, math.ceil(level * (len(SHADES) - 1) - 0.01))]
        if numbers:
            return shade_sign + self.texts[value].rjust(self.cell - 1)
        sign = "-" if value < 0 else "+" if level > 0.01 else " "
        return sign + shade_sign


def _number(value: float, top: float, whole: bool) -> str:
    if math.isnan(value):
        return "·"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if whole:
        return str(int(value))
    if top >= 1000 or (0 < top < 0.01):
        return f"{value:+.1e}"
    return f"{value:+.2f}" if top < 100 else f"{value:+.1f}"


def _plain(value: float, whole: bool) -> str:
    return str(int(value)) if whole and math.isfinite(value) else f"{value:.4g}"


LIMIT = 20_000_000
"""Elements are computed one by one; more operations than this would take minutes."""


def small(code: ir.Code, given: Mapping[str, int]) -> dict[str, int]:
    """Sizes to try a program on: as given, as the text says, else 3 and 4 in turn.

    >>> small(code, {"T": 5})
    {'T': 5, 'K': 4, 'J': 3}
    """
    least, tied = least_sizes(code), tie(code)
    sizes: dict[str, int] = {}
    for number, (name, fixed) in enumerate(code.sizes.items()):
        if name in given or fixed is not None:
            sizes[name] = given[name] if name in given else int(fixed or 1)
        elif name not in tied:
            sizes[name] = max(3 + number % 2, least.get(name, 1))
    for name, letter in tied.items():
        sizes.setdefault(name, max(sizes[letter], least.get(name, 1)))
    return sizes


@dataclass(frozen=True)
class Ran:
    """A program, run: at which sizes, on what, and what came out."""

    sizes: dict[str, int]
    given: Mapping[str, Array]
    result: Result


def run(program: Program, sizes: Mapping[str, int] | None = None, seed: int = 0) -> Ran:
    """Runs a program without errors on small random values."""
    code = program.code
    chosen = small(code, program.sizes(sizes or {}))
    try:
        operations = program.cost.work.value(chosen)
    except (KeyError, ValueError):
        operations = 0
    if operations > LIMIT:
        raise IndicialError(
            f"at these sizes that is {short(operations)} operations, one by one; "
            f"try smaller ones (--set), at most {short(LIMIT)}"
        )
    drawn = sample(code, chosen, seed)
    try:
        result = interpret(
            code, {**code.constants, **drawn.inputs}, drawn.parameters,
            sizes=chosen, draws=drawn.draws,
        )  # fmt: skip
    except InterpretError as error:
        raise IndicialError(str(error)) from error
    return Ran(chosen, {**drawn.inputs, **drawn.parameters, **drawn.draws}, result)


def trial(
    program: Program,
    *,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    everything: bool = False,
    colour: bool = False,
    width: int = 80,
) -> list[str]:
    """The lines that show a program without errors at work.

    `everything` also shows inputs and parameters, and all slices.
    """
    facts = read(program, sizes)
    ran = run(program, sizes, seed)
    chosen = ran.sizes
    lines = _intro(facts, chosen, seed, width)
    for named in facts.names:
        if named.made and not everything:
            continue
        known = ran.result if named.role == "defined" else ran.given if everything else {}
        if named.name not in known:
            continue
        lines.append("")
        lines += heatmap(
            known[named.name],
            named.name,
            named.letters,
            lowers=lowers(named.tensor, chosen),
            remark=remark(program.code, named.tensor),
            whole=named.tensor.values is not None,
            colour=colour,
            width=width,
            slices=None if everything else SLICES,
        )
    return lines


def _intro(facts: Facts, sizes: Mapping[str, int], seed: int, width: int) -> list[str]:
    tied = tie(facts.code)
    shown = [f"{n} = {count(v)}" for n, v in sizes.items() if v != sizes.get(tied.get(n, ""))]
    lines = [f"random values (seed {seed}){', sizes ' if shown else ''}{', '.join(shown)}"]
    for role, word in (("input", "inputs"), ("parameter", "parameters"), ("draw", "drawn")):
        names = [n.shown + ("?" if n.tensor.guess else "") for n in facts.role(role)]
        if names:
            lines.append(f"{word}: {', '.join(names)}")
    if facts.guesses:
        lines.append("? marks a guess: nothing in the text says what the name is")
    for hole in facts.program.holes:
        lines.append(f"{hole} is only named: tanh of a sum of its arguments stands in for it")
    return [piece for line in lines for piece in wrapped(line, width, "  ")]


def lowers(tensor: ir.Tensor, sizes: Mapping[str, int]) -> list[int]:
    """The index values of its first elements."""
    return [axis.lower.value(sizes) for axis in tensor.axes]


def remark(code: ir.Code, tensor: ir.Tensor) -> str:
    """`a distribution over t_2`, where that is certain."""
    if tensor.probability:
        return f"a distribution over {tensor.axes[-1].letter}" if tensor.axes else "a probability"
    for statement in code.of(tensor.name):
        if isinstance(statement.body, ir.Softmax):
            over = ", ".join(index.name for index in statement.body.indices)
            return f"a distribution over {over}"
    return ""
