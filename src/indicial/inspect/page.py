"""What was found about a model → a page of 80 columns.

gradients through time
  distance           0       1       2       4       8      16      32    per step
  h               0.41    0.35    0.29    0.21    0.10   0.027  0.0019       0.861
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from indicial.inspect.findings import Findings
from indicial.inspect.gradients import Gradient
from indicial.inspect.jacobian import Jacobian
from indicial.inspect.neighbours import Neighbours
from indicial.inspect.statistics import Saturation, Statistics

WIDTH = 80
NAME = 22


def page(found: Findings) -> str:
    """All parts, in order."""
    parts = [
        [found.title, *_wrapped(found.texts)],
        _part("gradients of -ln P[t] at step t-d: their norm over the distance d", found.gradients,
              _gradients),
        _part("recurrent Jacobian ∂h[t]/∂h[t-1]: eigenvalues", found.jacobians, _jacobians),
        _part("saturated: |tanh| > 0.97, σ < 0.03 or > 0.97, ReLU at 0", found.saturations,
              _saturations),
        _part("parameters", found.parameters, _statistics),
        _part("what the equations give, of one text", found.activations, _statistics),
        _part("nearest words, by the cosine of their vectors", found.neighbours, _neighbours),
    ]  # fmt: skip
    return "\n\n".join("\n".join(part) for part in parts)


def _part(title: str, found: object, lines: object) -> list[str]:
    if isinstance(found, str):
        return [title, *_wrapped(f"does not apply: {found}")]
    assert callable(lines)
    return [title, *lines(found)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _gradients(found: Sequence[Gradient]) -> list[str]:
    most = max(len(one.norms) for one in found)
    distances = [d for d in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if d < most]
    distances = distances if len(distances) < 7 else [*distances[:3], *distances[3:][-4:]]
    lines = [_row("distance d", [*map(str, distances), "factor"])]
    for one in found:
        norms = [_number(one.norms[d]) if d < len(one.norms) else "" for d in distances]
        factor = "-" if one.factor is None else f"{one.factor:.3f}"
        lines.append(_row(one.name, [*norms, factor]))
    for one in found:
        half = one.half
        if half is not None and one.factor is not None:
            change = "halves" if one.factor < 1 else "doubles"
            lines += _wrapped(f"{one.name}: it {change} every {half:.1f} steps")
    return lines


def _jacobians(found: Sequence[Jacobian | str]) -> list[str]:
    lines = [_row("state", ["numbers", "radius", "largest", "outside", "stretch"], 10)]
    for one in found:
        if isinstance(one, str):
            lines += _wrapped(f"does not apply: {one}")
            continue
        cells = [
            str(one.eigenvalues.shape[1]),
            f"{one.radius:.3f}",
            f"{one.radii.max():.3f}",
            _share(one.outside),
            f"{one.stretch:.3f}",
        ]
        lines.append(_row(one.name, cells, 10))
    text = (
        "radius: the mean of the spectral radii at a step of each text; largest: the largest of "
        "them; outside: eigenvalues outside the unit circle; stretch: the largest singular value"
    )
    return [*lines, *_wrapped(text)]


def _saturations(found: Sequence[Saturation]) -> list[str]:
    lines = [_row("equation", ["", "low", "high", "units always"], 13)]
    for one in found:
        high = "-" if one.high is None else _share(one.high)
        lines.append(
            _row(one.equation, [one.function, _share(one.low), high, _share(one.always)], 13)
        )
    return lines


def _statistics(found: Sequence[Statistics]) -> list[str]:
    heads = ["numbers", "mean", "dev", "norm", "max", "zero", "nan"]
    lines = [_row("", heads)]
    for one in found:
        cells = [
            _count(one.count),
            # A mean that is 0 but for rounding is 0.
            _number(one.mean if abs(one.mean) > 1e-12 * one.most else 0.0),
            *map(_number, (one.deviation, one.norm, one.most)),
            _share(one.zero),
            _share(one.nan),
        ]
        lines.append(_row(one.name, cells))
    return lines


def _neighbours(found: Sequence[Neighbours]) -> list[str]:
    lines = []
    for one in found:
        line = f"  {one.token:<12}"
        for token, cosine in one.near:
            item = f"  {token} {cosine:.2f}"
            if len(line + item) > WIDTH:
                lines.append(line)
                line = " " * 14
            line += item
        lines.append(line)
    return lines


# ---------------------------------------------------------------------- cells


def _row(name: str, cells: Sequence[str], width: int = 0) -> str:
    """A name and cells to its right; a name that is too long has a line of its own."""
    room = width or min(8, (WIDTH - 2 - NAME) // len(cells))
    text = "".join(cell.rjust(room) for cell in cells)
    wide = sum(not unicodedata.combining(sign) for sign in name)
    if wide > NAME:
        return f"  {name}\n  {'':<{NAME}}{text}".rstrip()
    return f"  {name}{' ' * (NAME - wide)}{text}".rstrip()


def _number(value: float) -> str:
    """At most three digits, in at most seven signs."""
    if value == 0:
        return "0"
    if 0.001 <= abs(value) < 1000:
        return f"{value:.3g}" if abs(value) >= 0.01 else f"{value:.2g}"
    text = f"{value:.1e}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}"


def _share(value: float) -> str:
    return "0" if value == 0 else f"{100 * value:.1f}%"


def _count(number: int) -> str:
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if number >= 10 * size:
            return f"{number / size:.0f}{unit}"
    return str(number)
