"""A loop that a function runs: one line in the text.

    # R[t,j] = tanh(…),  h[t,j] = …
    h, = scan([R_in, W_hR], [T, J], lengths)

The function is no part of the text; `Source` hands it over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.compile.emit.graph import FLOAT, Listed, Node
from indicial.compile.emit.loops import fixings
from indicial.compile.emit.printing import Line
from indicial.compile.emit.reads import Array
from indicial.compile.emit.storage import Definition
from indicial.compile.emit.values import Environment, aligned
from indicial.compile.schedule.plan import Call, Slice
from indicial.program.ir import Affine, Index, Read
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.compile.emit.program import Emission


def call(emission: Emission, step: Call) -> None:
    """The line, and the results where reads look for them."""
    _open_test(emission, step)
    for statement in step.loop.statements():
        emission.writing.say(statement)
    function = emission.writing.names.new("scan")
    emission.functions[function] = step.function
    arguments = [_argument(emission, piece) for piece in step.arguments]
    sizes = [emission.sizes.node(Size.of(name)) for name in step.names]
    names = {piece: emission.writing.names.new(piece.tensor) for piece in step.results}
    graph = emission.writing.graph
    found = graph.make(function, Listed(arguments), Listed(sizes), graph.number("lengths"))
    left = ", ".join(names.values()) + ("," if len(names) == 1 else "")
    emission.writing.add(Line(f"{left} = ", found))
    for piece, name in names.items():
        _result(emission, step, piece, name)


def _open_test(emission: Emission, step: Call) -> None:
    """The call runs when its statements do, if all of them do at the same time."""
    fixed = [fixings(statement, emission.writing.loops) for statement in step.loop.statements()]
    tests = [emission.conditions.tests(some) for some in fixed]
    if all(some == tests[0] for some in tests):
        emission.conditions.open(tests[0], fixed[0])
    else:
        emission.conditions.close()


def _argument(emission: Emission, piece: Slice) -> Node:
    """A tensor, or a step of it, with all its other axes whole."""
    bounds = emission.tensors.bounds(piece.tensor)
    # Members go by their own name: where `T-1` is differs between them.
    member = emission.writing.ragged.member
    letters = [axis.letter for axis in emission.code.tensors[piece.tensor].axes]
    names = [member if letter == member else f"axis·{n}" for n, letter in enumerate(letters)]
    indices = {n: Index(names[n], *bounds[n]) for n, p in enumerate(piece.places) if p is None}
    places = tuple(
        Affine.of(indices[n]) if place is None else _at_variables(place)
        for n, place in enumerate(piece.places)
    )
    env = Environment().bind(indices.values())
    value = emission.tensors.read(Read(piece.tensor, places), env)
    return aligned(emission.torch, value, [i.name for i in indices.values()])


def _at_variables(place: Affine) -> Affine:
    """Here the variable of a loop is a size like others."""
    offset = place.offset
    for name, factor in place.terms:
        offset = offset + factor * Size.of(name)
    return Affine((), offset)


def _result(emission: Emission, step: Call, piece: Slice, name: str) -> None:
    code = emission.code
    statement = next(s for s in step.loop.statements() if s.target == piece.tensor)
    fixed = fixings(statement, emission.writing.loops)
    store = emission.steps.current(piece.tensor, len(fixed))
    bounds = tuple(
        axis.range
        for axis, place in zip(code.tensors[piece.tensor].axes, piece.places, strict=True)
        if place is None
    )
    node = emission.writing.graph.name(
        name, [e for _, e in bounds], FLOAT, emission.writing.block.scope
    )
    order = code.of(piece.tensor).index(statement)
    merging = bool(fixed) and emission.steps.conflicts(statement, store)
    definition = Definition(order, Array(node, bounds))
    emission.keep(statement, store, definition, fixed, emission.conditions.tests(fixed), merging)
