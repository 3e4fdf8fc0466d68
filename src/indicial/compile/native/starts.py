"""Where the tensors of a loop over time begin.

    h[-1,j] = h^{start}[j]      →   {"h": [(-1, "h^{start}")]}

A start outside the tensor's range is read in its place (`h[-1]` where h goes from 0); one inside is
an element like others (`h[0]` where h goes from 0 and the steps from 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indicial.compile.native.scan import Unsupported
from indicial.compile.schedule.graph import needs
from indicial.compile.schedule.plan import Loop
from indicial.program.ir import Affine, Axis, Code, Read, Statement
from indicial.program.sizes import Size

Starts = Mapping[str, Sequence[tuple[Size, str]]]
"""For each tensor: at which places it begins, and the argument that holds its values there."""


def starts(code: Code, loop: Loop) -> Starts:
    """The starts of all tensors of a loop; `Unsupported` where one is more than a value."""
    result: dict[str, list[tuple[Size, str]]] = {}
    inside = list(loop.statements())
    for name, axis in loop.axes.items():
        for statement in code.of(name):
            if any(statement is i for i in inside) or not is_start(statement, loop):
                continue
            source = statement.body
            others = tuple(p for n, p in enumerate(statement.left) if n != axis)
            if not isinstance(source, Read) or source.places != others:
                if _read_inside(loop, code, statement):
                    raise Unsupported(f"{name} begins with more than a value")
                continue
            place = statement.left[axis]
            assert isinstance(place, Affine)
            result.setdefault(name, []).append((place.offset, source.tensor))
    return result


def is_start(statement: Statement, loop: Loop) -> bool:
    """Whether a statement has a number where the loop walks: `h[-1,j] = …`."""
    place = statement.left[loop.axes[statement.target]]
    return isinstance(place, Affine) and not place.terms


def _read_inside(loop: Loop, code: Code, start: Statement) -> bool:
    """Whether the loop may read what a statement outside it defines."""
    inside = {id(s) for s in loop.statements()}
    return any(n.definer is start and id(n.reader) in inside for n in needs(code))


def is_inside(name: str, place: Size, axis: Axis, direction: int) -> bool:
    """Whether a start lies in the range of its tensor; `Unsupported` where that is not certain.

    On the far side it need not be: no step looks for `h[2,j]` there if there are only two.
    """
    low, high = (place - axis.lower).number, (place - axis.lower - axis.extent).number
    if (low is not None and low < 0) or (high is not None and high >= 0):
        return False
    near = low is not None or high == -1 if direction > 0 else high is not None or low == 0
    if not near:
        raise Unsupported(f"{name} starts at {place}, which may be inside its range or not")
    return True
