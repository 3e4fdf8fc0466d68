"""What came of a claim, in words: one line if it went as stated, a message if not.

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
from typing import TYPE_CHECKING, Any

from indicial.program.explain.facts import tied_sizes
from indicial.program.ir import Code, Test
from indicial.program.messages import Message, wrapped
from indicial.program.rewrite import reached, sizes_in, tensors_read

if TYPE_CHECKING:
    import numpy as np


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
