"""Draws that cannot be drawn, are drawn twice, or leave something out.

x ~ N(0, -1)                    a variance is at least 0
z ~ bernoulli                   with which probability?
x[t] ~ N(0, 1) for t > 0        a draw cannot have a condition
x ~ N(0, 1);  x = 3             drawn and defined
W_1[i,j] ~ N(0, 1)              W_2 is read too, and not drawn
"""

from __future__ import annotations

from collections.abc import Iterable

from indicial.notation.source import Span
from indicial.notation.syntax import Expression, Number
from indicial.program import ir
from indicial.program.checks.orders import shown
from indicial.program.cost.conditions import sign
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.messages import Messages
from indicial.program.names.covariances import is_made
from indicial.program.names.outline import Outline
from indicial.program.sizes import Size

_FORMS = {
    "N": "N(mean, variance)",
    "𝒩": "N(mean, variance)",
    "uniform": "uniform(low, high)",
    "U": "uniform(low, high)",
    "𝒰": "uniform(low, high)",
    "bernoulli": "bernoulli(p)",
    "orthonormal": "μ[n,i] ~ orthonormal",
    "permutation": "π[t] ~ permutation",
}
_COUNTS = {"bernoulli": (1,), "orthonormal": (0,), "permutation": (0,)}
"""How many numbers stand in the brackets; for the others none or two."""
_LEAST_INDICES = {"orthonormal": 2, "permutation": 1}


def check_draws(code: ir.Code, outline: Outline, messages: Messages) -> None:
    """Errors where a draw means nothing, a warning where it leaves something out."""
    _drawn_once(outline, messages)
    for reference, _, equation in outline.draws:
        if equation.guard is not None:
            messages.error(
                "draw", "a draw cannot have a condition", (equation.guard.span, "not used"),
                hint=f"draw all of {reference.key} under another name, and choose with `cases`",
            )  # fmt: skip
    for draw in code.draws:
        if draw.distribution in _FORMS and draw.tensor in code.tensors:
            _well_formed(code, draw, messages)
    _undrawn(code, messages)


def _drawn_once(outline: Outline, messages: Messages) -> None:
    """A name that is drawn twice, or drawn and defined, at the same places."""
    seen: dict[tuple[str, tuple[str, ...]], tuple[Span, str]] = {
        (d.key, _places(d.items)): (d.left.span, "defined") for d in outline.definitions
    }
    for reference, _, _ in outline.draws:
        place = reference.key, _places(reference.items)
        if place in seen:
            span, how = seen[place]
            said = "drawn twice" if how == "drawn" else "drawn and defined"
            messages.error(
                "draw", f"{reference.key} is {said}", (reference.span, "drawn"), (span, how),
                hint="give one of them another name",
            )  # fmt: skip
        seen.setdefault(place, (reference.span, "drawn"))


def _places(items: Iterable[Expression]) -> tuple[str, ...]:
    """The numbers among the indices of a left side: one with a number wins over one without."""
    return tuple(item.text if isinstance(item, Number) else "·" for item in items)


def _well_formed(code: ir.Code, draw: ir.Draw, messages: Messages) -> None:
    form, count = _FORMS[draw.distribution], len(draw.arguments)
    least = _LEAST_INDICES.get(draw.distribution, 0)
    if count not in _COUNTS.get(draw.distribution, (0, 2)):
        numbers = "1 number" if count == 1 else f"{count} numbers"
        messages.error(
            "draw", f"{draw.distribution} does not take {numbers}", draw.span,
            hint=f"write {form}",
        )  # fmt: skip
    elif len(code.tensors[draw.tensor].axes) < least:
        need = "two indices: the row, and the place in it" if least == 2 else "an index"
        messages.error("draw", f"{draw.tensor} needs {need}", draw.span, hint=f"write {form}")
    elif fault := _value_fault(draw.distribution, [number_of(code, a) for a in draw.arguments]):
        spans = [a.span for a in draw.arguments if a.span.text] or [draw.span]
        messages.error("draw", fault, spans[-1], hint=f"write {form}")


def _value_fault(distribution: str, numbers: list[float | None]) -> str:
    """What is wrong with the numbers in the brackets, as far as they are known."""
    match distribution, numbers:
        case "N" | "𝒩", (_, float(variance)) if variance < 0:
            return f"a variance must be at least 0, not {variance:g}"
        case "uniform" | "U" | "𝒰", (float(low), float(high)) if low > high:
            return f"no number lies between {low:g} and {high:g}"
        case "bernoulli", (float(chance),) if not 0 <= chance <= 1:
            return f"a probability must be between 0 and 1, not {chance:g}"
    return ""


def number_of(code: ir.Code, expression: ir.Expression) -> float | None:
    """The value of an expression of numbers and constants."""
    match expression:
        case ir.Constant(value):
            return float(value)
        case ir.Read(tensor, ()):
            known = code.constants.get(tensor)
            return known if isinstance(known, float) else None
        case ir.Apply(function, arguments):
            parts = [number_of(code, argument) for argument in arguments]
            numbers = [part for part in parts if part is not None]
            try:
                return float(FUNCTIONS[function](*numbers)) if len(numbers) == len(parts) else None
            except (ArithmeticError, ValueError, TypeError):
                return None
    return None


def _undrawn(code: ir.Code, messages: Messages) -> None:
    """`W_1[i,j] ~ N(0, 1)` where W_2 is read too: what is not drawn is 0."""
    for tensor in code.tensors.values():
        draws = [draw for draw in code.draws if draw.tensor == tensor.name and draw.left]
        if tensor.role == "defined" or not draws or is_made(tensor.name):
            continue
        for number, axis in enumerate(tensor.axes):
            ends = [_ends(draw, number, axis) for draw in draws]
            first = min((low for low, _ in ends), key=lambda end: sign(end - axis.lower) or 0)
            last = max((high for _, high in ends), key=lambda end: sign(end - axis.upper) or 0)
            if sign(first - axis.lower) == 1 or sign(last - axis.upper) == -1:
                letter = shown(axis.letter) or "its index"
                drawn = f"{first}" if first == last else f"{first}..{last}"
                messages.warning(
                    "draw",
                    f"{tensor.name} is drawn at {letter} = {drawn} only, "
                    f"but has {axis.lower}..{axis.upper}",
                    *((draw.span, "drawn here") for draw in draws),
                    hint="what is not drawn is 0: draw the others too",
                )
                break


def _ends(draw: ir.Draw, number: int, axis: ir.Axis) -> tuple[Size, Size]:
    """The first and the last element that is drawn along an axis."""
    place = draw.left[number]
    if isinstance(place, ir.Flat):  # `x[(k,i)] ~ …`: all of it
        return axis.lower, axis.upper
    for index in draw.indices:
        if place.terms == ((index.name, 1),):
            return index.lower + place.offset, index.upper + place.offset
    return place.offset, place.offset
