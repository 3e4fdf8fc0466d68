"""From statements to a checked program: the passes, one after the other.

    statements → outline → shapes → lowering → ranges and sizes → roles → Code

Every pass adds messages and goes on, so that all mistakes of a text are found at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.checks.draws import check_draws
from indicial.program.checks.roles import assign_roles
from indicial.program.logs import inside
from indicial.program.lowering.bodies import add_stack_inputs, lower_body, lower_draws
from indicial.program.lowering.claims import lower_tests
from indicial.program.lowering.context import Context, Note
from indicial.program.lowering.declarations import declare
from indicial.program.lowering.lefts import lower_left_sides
from indicial.program.lowering.lower import Lowering
from indicial.program.lowering.places import describe
from indicial.program.lowering.ranges import settle
from indicial.program.messages import Messages
from indicial.program.names.bounds import family_bounds, sizes_named
from indicial.program.names.letters import index_name
from indicial.program.names.occurrences import layer_axes, left_letters
from indicial.program.names.outline import Definition, Outline
from indicial.program.names.sorting import outline


@dataclass
class Analysis:
    """The result: the code, and how it was read."""

    code: ir.Code
    outline: Outline
    notes: list[Note] = field(default_factory=list)
    holes: dict[str, Span] = field(default_factory=dict)


def analyse(
    statements: Sequence[s.Statement],
    messages: Messages,
    document: bool = False,
    sketch: Outline | None = None,
) -> Analysis:
    """Checks a program and gives its code; the code is only to be used if there is no error.

    `sketch` is the outline of the program as it was written, used if nothing was rewritten since.
    """
    faulty = any(m.severity == "error" for m in messages.items)
    if sketch is None or not sketch.serves(statements):
        sketch = outline(statements, messages, document)
    context = Context(sketch, messages, faulty=faulty)
    lowering = Lowering(context)
    _survey(lowering, statements)
    _defined_twice(lowering)
    declare(lowering)
    scopes = lower_left_sides(lowering)
    for number, (definition, scope) in enumerate(
        zip(context.outline.definitions, scopes, strict=True)
    ):
        if scope is not None:
            lower_body(lowering, definition, scope, number)
    lower_draws(lowering)
    lower_tests(lowering, len(context.outline.definitions))
    add_stack_inputs(lowering)
    assign_roles(context, lowering)
    code = inside(settle(context, lowering))
    check_draws(code, context.outline, messages)
    return Analysis(code, context.outline, context.notes, context.holes)


def _survey(lowering: Lowering, statements: Sequence[s.Statement]) -> None:
    """What has to be known of the whole program before any equation is read."""
    outline = lowering.outline
    lowering.bounds = family_bounds(outline, statements)
    lowering.sizes_named = sizes_named(outline, statements)
    for definition in outline.definitions:
        lowering.index_keys.update(left_letters(definition))
        lowering.layered.update(describe(i) for i in definition.items if isinstance(i, s.Add))
        lowering.by_layer |= layer_axes(outline, definition)
    for statement in statements:
        for product in statement.every(s.Product):
            lowering.index_keys |= _met(product)
        below = (under for node in statement.every(s.Reduction) for under in node.under)
        names = s.every(below, s.Name)
        lowering.index_keys |= {name_key(name) for name in names if index_name(name) is not None}


def _met(product: s.Product) -> set[str]:
    """The letters in which factors meet: the k of `U[j,k] x[t,k]` is no name of one element."""
    seen: set[str] = set()
    met: set[str] = set()
    for factor in product.factors:
        if isinstance(factor, s.Index):
            own = {
                name_key(name) for item in factor.items if (name := index_name(item)) is not None
            }
            met |= seen & own
            seen |= own
    return met


def _defined_twice(lowering: Lowering) -> None:
    """Two equations for all elements of one name, or for the same ones."""
    seen: dict[tuple[object, ...], Definition] = {}
    for definition in lowering.outline.definitions:
        first = seen.setdefault((definition.key, *definition.special), definition)
        if first is not definition and first.body != definition.body:
            lowering.messages.error(
                "defined-twice",
                f"{definition.key} is defined twice",
                (definition.left.span, "again here"),
                (first.left.span, "defined here"),
                hint="give one of them another name, a number on the left, or a guard (for t > 0)",
            )
