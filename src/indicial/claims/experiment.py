"""A claim as a program: draws in, both sides of the claim out.

    claim α[n] ≤ 1 for n > 0

    claim_left[n] = α[n];  claim_right[n] = 1;  claim_guard[n] = 1 if n > 0, 0 otherwise

Derivatives in a claim are computed first, from the adjoint equations, and then read like inputs.
The `std of …` of a claim is the same at all draws; `statistics.py` finds it and reads it likewise.

What came of a claim, in words: one line if it went as stated, a message if not.

notes.md:9: claim holds: α[n] ≥ 0: least margin 2e-05, 200 draws, N = 1 to 32
notes.md:12: false claim refuted: α[n] ≤ 1/N
  0.88 is not ≤ 0.5 at n = 0, where N = 2, x = [2, 0]

The part of a program that some names or a claim depend on.

y = a + b;  z = c;  claim y ≤ 1      →      y = a + b, with a and b and what they are drawn from
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from indicial.claims.running import OPEN, Array, Random, Slope, Stage, Truths, Values, slope, world
from indicial.claims.running import values as leaf_values
from indicial.program import ir
from indicial.program.ir import Code, Test
from indicial.program.meaning.arrays import tied_sizes
from indicial.program.meaning.sample import extent_value, least_sizes
from indicial.program.messages import IndicialError, Message, wrapped
from indicial.program.rewrite import free_indices, reached, rebuild, sizes_in, tensors_read
from indicial.program.sizes import Size

HOLDS, REFUTED, UNDECIDED, UNTRIED = "holds", "refuted", "undecided", "untried"
WIDTH = 80


@dataclass(frozen=True)
class Counterexample:
    """Where a claim breaks: the two sides, the element, the sizes and the draw."""

    left: str
    right: str
    difference: str
    place: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    draw: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the text calls the places that it gives names to."""

    @property
    def where(self) -> str:
        """`at n = 0, where N = 2`; a place that has a label is called by it."""
        at = ", ".join(
            f"{name} = {self.labels.get(name, value)}" for name, value in self.place.items()
        )
        sizes = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        return (f" at {at}" if at else "") + (f" where {sizes}" if sizes else "")


@dataclass(frozen=True)
class Verdict:
    """A claim and what came of it; `found` says what was tried and how near it came."""

    test: Test
    status: str
    found: str
    broken: Counterexample | None = None
    seed: int | None = None
    undefined: int = 0
    """Of its draws, those at which a side is no finite number somewhere; nothing is said about these."""

    @property
    def false(self) -> bool:
        """It is stated to be false."""
        return self.test.kind == "false"

    @property
    def as_stated(self) -> bool:
        return self.status == (REFUTED if self.false else HOLDS)

    def line(self) -> str:
        """What is printed of a claim that went as stated."""
        span = self.test.span
        word = "false claim refuted" if self.false else "claim holds"
        where = "" if self.broken is None else self.broken.where
        first = f"{span.source.name}:{span.line}: {word}: {self.test.text}: {self.found}{where}"
        lines = wrapped(first, WIDTH, "    ")
        for text in self._draw():
            lines += wrapped(f"    {text}", WIDTH, "    ")
        return "\n".join(lines)

    def message(self) -> Message:
        """What is said of a claim that did not go as stated."""
        whole = ((self.test.span, ""),)
        match self.status:
            case "undecided":
                near = self.test.relation in ("=", "≈")
                wider = "a wider tolerance: `within 0.01`" if near else "a bound further off"
                hint = f"give it more draws with --draws, or {wider}"
                return Message("error", "claim", f"undecided: {self.found}", whole, hint)
            case "untried":
                said = f"this claim was not tried: {self.found}"
                return Message("error", "claim", said, whole)
            case "holds":
                said = f"this is claimed to be false, but it holds: {self.found}"
                return Message("error", "claim", said, whole, self._seeded())
        assert self.broken is not None
        sides = (
            (self.test.left.span, f"is {self.broken.left}"),
            (self.test.right.span, f"is {self.broken.right}"),
        )
        sites = tuple(side for side in sides if side[0].text) or whole
        said = f"this claim does not hold: {self.found}{self.broken.where}"
        return Message("error", "claim", said, sites, self._seeded(), tuple(self._draw()))

    def _draw(self) -> Iterable[str]:
        """The draw that breaks it, one name after the other."""
        if self.broken is not None and self.broken.draw:
            yield "with " + ", ".join(
                f"{name} = {value}" for name, value in self.broken.draw.items()
            )

    def _seeded(self) -> str:
        return "" if self.seed is None else f"tried with seed {self.seed}; --seed tries other draws"

    def to_json(self) -> dict[str, Any]:
        """For `--json`: a message of its own, with the figures beside it."""
        if self.as_stated:
            made = Message("note", "claim", self.found, ((self.test.span, ""),)).to_json()
        else:
            made = self.message().to_json()
        made["claim"] = {
            "text": self.test.text,
            "false": self.false,
            "status": self.status,
            "found": self.found,
            "seed": self.seed,
        }
        if self.broken is not None:
            made["claim"]["counterexample"] = {
                "left": self.broken.left,
                "right": self.broken.right,
                "difference": self.broken.difference,
                "at": dict(self.broken.place),
                "sizes": dict(self.broken.sizes),
                "draw": dict(self.broken.draw),
            }
        return made


def is_not(test: Test) -> str:
    """`is not within 0.01 of`, `is not ≤`: between the two sides of a claim that breaks."""
    if test.relation in ("=", "≈"):
        near = "" if test.tolerance is None else test.tolerance.span.text
        return f"is not within {near} of" if near else "is not"
    return f"is not {test.relation}"


def number(value: float) -> str:
    """Six digits at most: `0.25`, `3.14159`, `1e-09`."""
    return f"{value:.6g}" if value else "0"


def apart(left: float, right: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart: `1.0000001` and `1`."""
    one, other = number(left), number(right)
    digits = 7
    while one == other and left != right and digits < 18:
        one, other = f"{left:.{digits}g}", f"{right:.{digits}g}"
        digits += 1
    return one, other


def with_error(value: float, error: float) -> str:
    """As many digits as the error leaves: `0.3866 ± 0.0009`."""
    if error <= 1e-9 * max(1.0, abs(value)) or not math.isfinite(error):
        return number(value)
    digits = max(0, -math.floor(math.log10(error)))
    if f"{error:e}"[0] == "1":
        digits += 1
    rounded = round(value, digits) + 0.0  # no -0
    return f"{rounded:.{digits}f} ± {error:.{digits}f}"


def shown(values: np.ndarray[Any, Any], label: Callable[[int], str] | None = None) -> str:
    """Nested lists of short numbers; of a large array its shape. Tokens are shown by their labels."""
    import numpy as np

    rows, columns = (1, 1, *values.shape)[-2:]
    if (
        label is None
        and values.ndim == 2
        and 1 < rows <= columns
        and np.array_equal(values, np.eye(rows, columns))
    ):
        which = "the identity" if rows == columns else f"{rows} rows of the identity"
        return f"{which} ({columns} × {columns})"
    if values.size > 64:
        return f"{' × '.join(map(str, values.shape))} numbers"
    if values.ndim == 0:
        return f"{float(values) + 0.0:.4g}" if label is None else label(int(values))
    return "[" + ", ".join(shown(row, label) for row in values) + "]"


def listed(corners: Iterable[Mapping[str, int]]) -> str:
    """The sizes that were tried: `T = 1 to 32, J = 1 to 7`."""
    every: dict[str, list[int]] = {}
    for sizes in corners:
        for name, value in sizes.items():
            every.setdefault(name, []).append(value)
    parts = []
    for name, values in every.items():
        low, high = min(values), max(values)
        parts.append(f"{name} = {low}" if low == high else f"{name} = {low} to {high}")
    return ", ".join(parts)


def part(code: Code, names: Iterable[str]) -> Code:
    """What the program needs to compute some tensors, draws included, without its claims."""

    def read(name: str) -> set[str]:
        drawn = [a for draw in code.draws if draw.tensor == name for a in draw.arguments]
        return tensors_read(code.of(name)).union(*(argument.tensors() for argument in drawn))

    kept = reached(names, read)
    return replace(
        code,
        tensors={name: tensor for name, tensor in code.tensors.items() if name in kept},
        statements=tuple(s for s in code.statements if s.target in kept),
        constants={name: value for name, value in code.constants.items() if name in kept},
        draws=tuple(draw for draw in code.draws if draw.tensor in kept),
        tests=(),
    )


def claimed(code: Code, test: Test) -> Code:
    """The part of a program that a claim is about, and the sizes that it depends on.

    A second size of a letter is taken as the first also where the claim does not read the first.
    """
    found = replace(part(code, [n for side in test.parts for n in side.tensors()]), tests=(test,))
    names = {name for size in sizes_in(found) for name in size.names}
    known = tied_sizes(code, {n: value for n, value in code.sizes.items() if value is not None})
    return replace(found, sizes={n: known.get(n) for n in code.sizes if n in names})


EXTREMES = ("max", "min")
LEFT, RIGHT, GUARD, TOLERANCE = "claim_left", "claim_right", "claim_guard", "claim_tolerance"


@dataclass(frozen=True)
class Sides:
    """Both sides of a claim at all draws (the first axis) and all values of its indices."""

    left: Array
    right: Array
    guard: Truths
    tolerance: Array | None


@dataclass(frozen=True)
class Summary:
    """A statistic of a claim: over the draws of the tensor `name`, whose value `read` then is."""

    operator: str
    name: str
    read: str


class Experiment:
    """One claim about one program."""

    def __init__(self, code: ir.Code, test: ir.Test) -> None:
        self.test = test
        self.least = least_sizes(code)
        """How large sizes must be for what is named by its number to exist."""
        self.world = world(code)
        self.code = self.world.code
        self.slopes: list[Slope] = []
        self.summaries: list[Summary] = []
        parts = {LEFT: test.left, RIGHT: test.right, GUARD: test.guard, TOLERANCE: test.tolerance}
        prepared = {n: self._prepared(e) for n, e in parts.items() if e is not None}
        self.inner = Stage(self.code, tuple(s.name for s in self.summaries))
        """What statistics are taken of."""
        for summary in self.summaries:
            tensor = self.code.tensors[summary.name]
            self._tensor(replace(tensor, name=summary.read, role="input"))
        for name, expression in prepared.items():
            self._define(name, test.indices, expression, truth=name == GUARD)
        self.outer = Stage(self.code, tuple(prepared))
        self._require_settled()
        self.sampler: Stage | None = None
        reads = self.reads()
        drawn = tuple(name for name in self.world.drawn if name in reads)
        if self.world.sampler is not None and drawn:
            self.sampler = Stage(self.world.sampler, drawn)
        self._require_distributions()

    # ------------------------------------------------------------------ the program of the claim

    def _prepared(self, expression: ir.Expression) -> ir.Expression:
        """The expression with derivatives and statistics as reads."""

        def known(node: ir.Expression) -> ir.Expression:
            if isinstance(node, ir.Derivative):
                return self._derivative(node)
            return self._statistic(node) if isinstance(node, ir.Statistic) else node

        return rebuild(expression, leaf=known)

    def _derivative(self, node: ir.Derivative) -> ir.Expression:
        name = f"slope_{len(self.slopes) + 1}"
        made = slope(self.world.code, node.above.tensor, node.below.tensor, name)
        self.slopes.append(made)
        self._tensor(made.tensor)
        return ir.Read(name, (*node.above.places, *node.below.places), span=node.span)

    def _statistic(self, node: ir.Statistic) -> ir.Expression:
        number = len(self.summaries) + 1
        every = {i.name: i for i in _indices(self.test)}
        free = [every[name] for name in sorted(free_indices(node.body))]
        if any(n.tensor.startswith("summary_") for n in node.body.every(ir.Read)):
            raise IndicialError(
                "a statistic of a statistic is the same at every draw; for a quotient, "
                "write (mean of a) / (mean of b)"
            )
        truth = node.operator == "probability"
        self._define(f"outcome_{number}", free, node.body, truth)
        summary = Summary(node.operator, f"outcome_{number}", f"summary_{number}")
        self.summaries.append(summary)
        return ir.Read(summary.read, tuple(ir.Affine.of(i) for i in free), span=node.span)

    def _define(
        self, name: str, indices: Iterable[ir.Index], body: ir.Expression, truth: bool = False
    ) -> None:
        indices = tuple(indices)
        if truth:
            body = ir.Select(((body, ir.Constant(1.0)),), ir.Constant(0.0))
        self._tensor(_tensor(name, indices, "defined"))
        places = tuple(ir.Affine.of(i) for i in indices)
        statement = ir.Statement(name, places, indices, body)
        self.code = replace(self.code, statements=(*self.code.statements, statement))

    def _tensor(self, tensor: ir.Tensor) -> None:
        self.code = replace(self.code, tensors={**self.code.tensors, tensor.name: tensor})

    def _require_settled(self) -> None:
        """Beside a statistic nothing may stand that changes from draw to draw."""
        if not self.summaries:
            return
        reads = {summary.read for summary in self.summaries}
        slopes = {one.tensor.name for one in self.slopes}
        loose = ["a derivative" if n in slopes else n for n in self.outer.reads if n not in reads]
        if loose:
            raise IndicialError(
                f"a statistic is combined with what changes from draw to draw: {', '.join(loose)}; "
                f"write `mean of …` before it, or make it a constant"
            )

    def _require_distributions(self) -> None:
        """A mean needs to know how what it is taken of is drawn; a largest value does not."""
        if all(summary.operator in EXTREMES for summary in self.summaries):
            return
        below = self.sampler.reads if self.sampler is not None else []
        open_ = [name for name in (*self.reads(), *below) if self.world.kinds.get(name) == OPEN]
        if open_:
            name = open_[0]
            indices = ",".join(axis.letter for axis in self.world.code.tensors[name].axes)
            written = f"{name}[{indices}]" if indices else name
            raise IndicialError(
                f"the figure depends on {name}, but its distribution is not given; write "
                f"`{written} ~ N(0, 1)`, or make it a constant"
            )

    # ------------------------------------------------------------------ draws

    def reads(self) -> list[str]:
        """The inputs that a draw has to give."""
        found = dict.fromkeys(name for slope in self.slopes for name in slope.stage.reads)
        found |= dict.fromkeys(self.inner.reads if self.summaries else self.outer.reads)
        made = {slope.tensor.name for slope in self.slopes}
        seeds = {slope.seed for slope in self.slopes}
        return [name for name in found if name not in made and name not in seeds]

    def labels_of(self, name: str) -> Callable[[int], str] | None:
        """How the tokens of a name are called; None where the text gives them no labels."""
        vocabulary = self.code.tensors[name].values
        if vocabulary is None or not self._labels(vocabulary):
            return None
        return lambda token: self._label(vocabulary, token)

    def _labels(self, size: Size) -> tuple[str, ...]:
        return self.code.labels.get(size.name or "", ())

    def _label(self, size: Size, value: int) -> str:
        labels = self._labels(size)
        return labels[value] if 0 <= value < len(labels) else str(value)

    def places(self, place: Iterable[int], sizes: Mapping[str, int]) -> dict[str, int]:
        """The values of the claim's indices at one element: `{"t": 3}`."""
        at = zip(self.test.indices, place, strict=True)
        return {index.name: index.lower.value(sizes) + number for index, number in at}

    def labels(self, at: Mapping[str, int]) -> dict[str, str]:
        """The labels of those values: `{"t": "bird"}`."""
        return {i.name: self._label(i.extent, at[i.name]) for i in self.test.indices}

    def draw(self, sizes: Mapping[str, int], count: int, random: Random) -> dict[str, Array]:
        """Values for all that the claim depends on, `count` of each."""
        wanted = self.reads()
        source = self.sampler.code if self.sampler is not None else self.code
        first = [n for n in wanted if self.sampler is None or n not in self.sampler.want]
        first += [
            n for n in (self.sampler.reads if self.sampler is not None else ()) if n not in first
        ]
        found: dict[str, Array] = {}
        for name in first:
            tensor = source.tensors.get(name) or self.code.tensors[name]
            shape = tuple(extent_value(axis.extent, sizes) for axis in tensor.axes)
            tokens = extent_value(tensor.values, sizes) if tensor.values is not None else 0
            found[name] = leaf_values(self.world.kinds[name], shape, count, random, tokens)
        if self.sampler is not None:
            found |= self.sampler.run(found, sizes, count)
        return {name: found[name] for name in wanted}

    # ------------------------------------------------------------------ outcomes

    def sides(self, values: Values, sizes: Mapping[str, int], count: int) -> Sides:
        """Both sides at many draws, or at many values of the statistics."""
        given = values if self.summaries else self.with_slopes(values, sizes, count)
        return _sides(self.outer.run(given, sizes, count))

    def exact_sides(self, values: Values, sizes: Mapping[str, int]) -> Sides:
        """Both sides at one draw, by the interpreter; with a first axis of length 1."""
        given = dict(values)
        for one in self.slopes:
            given[one.tensor.name] = one.exact(values, sizes)
        found = self.outer.exact(given, sizes)
        return _sides({name: value[None] for name, value in found.items()})

    def with_slopes(self, values: Values, sizes: Mapping[str, int], count: int) -> dict[str, Array]:
        """The draws, and the derivatives at them."""
        found = dict(values)
        for one in self.slopes:
            found[one.tensor.name] = one.at(values, sizes, count)
        return found


def _tensor(name: str, indices: tuple[ir.Index, ...], role: str) -> ir.Tensor:
    return ir.Tensor(name, tuple(ir.Axis(i.name, i.lower, i.extent) for i in indices), role)


def _sides(found: Mapping[str, Array]) -> Sides:
    guard = found.get(GUARD)
    holds = np.ones(found[LEFT].shape, dtype=bool) if guard is None else guard != 0
    return Sides(found[LEFT], found[RIGHT], holds, found.get(TOLERANCE))


def _indices(test: ir.Test) -> list[ir.Index]:
    """The indices of a claim, those of its sums included."""
    found = list(test.indices)
    for node in (node for part in test.parts for node in part.walk()):
        found += getattr(node, "indices", ())
    return found
