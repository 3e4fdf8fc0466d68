"""Is this `Code` well formed? And which indices does an expression leave free?

>>> verify(code)                # says nothing
>>> verify(broken)
MalformedCode: h: h[t] has 1 place, but the tensor has 2 axes
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from indicial.program import ir
from indicial.program.meaning.functions import FUNCTIONS, takes
from indicial.program.rewrite import size_indices
from indicial.program.show import show_expression, show_left
from indicial.program.sizes import Size


class MalformedCode(Exception):
    """A fault of whoever made the code, not of whoever wrote the equations."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def verify(code: ir.Code) -> None:
    """Raise `MalformedCode` with everything that is wrong; a sound code passes in silence."""
    problems = list(_problems(code))
    if problems:
        raise MalformedCode(problems)


def verified(code: ir.Code) -> ir.Code:
    """The same code; with `INDICIAL_VERIFY=1`, after a look at it: what passes make stays sound."""
    if os.environ.get("INDICIAL_VERIFY"):
        verify(code)
    return code


def _problems(code: ir.Code) -> Iterator[str]:
    for name, tensor in code.tensors.items():
        if tensor.name != name:
            yield f"{name}: the tensor kept under this name is called {tensor.name}"
        if tensor.role not in ir.ROLES:
            yield f"{name}: unknown role {tensor.role!r}"
        letters: set[str] = set()
        for axis in tensor.axes:
            yield from _in_size(code, axis.lower, letters, name)
            yield from _in_size(code, axis.extent, letters, name)
            letters.add(axis.letter)
        if tensor.role == "defined" and not code.of(name):
            yield f"{name}: defined, but by no statement"
    for statement in code.statements:
        yield from _in_statement(code, statement)
    for test in code.tests:
        scope: set[str] = set()
        for index in test.indices:
            yield from _in_range(code, index, scope, "test")
        for side in test.parts:
            yield from _in_expression(code, side, scope, "test")
    for draw in code.draws:
        if draw.tensor not in code.tensors:
            yield f"{draw.tensor}: drawn, but there is no such tensor"
    if code.loss is not None and code.loss not in code.tensors:
        yield f"the loss {code.loss} is no tensor"
    if code.generated is not None and code.generated not in code.tensors:
        yield f"{code.generated} is generated, but there is no such tensor"


def _in_statement(code: ir.Code, statement: ir.Statement) -> Iterator[str]:
    name = statement.target
    tensor = code.tensors.get(name)
    if tensor is None:
        yield f"{name}: a statement defines it, but there is no such tensor"
        return
    scope: set[str] = set()
    for index in statement.indices:
        if index.name in scope:
            yield f"{name}: index {index.name} stands twice among the statement's indices"
        yield from _in_range(code, index, scope, name)
    if len(statement.left) != len(tensor.axes):
        yield f"{name}: {_places(show_left(statement), len(statement.left), len(tensor.axes))}"
    solved: set[str] = set()
    for place in statement.left:
        yield from _in_place(code, place, scope, name)
        if isinstance(place, ir.Flat):
            solved |= {index.name for index in place.indices}
            continue
        solved |= {index_name for index_name, _ in place.terms}
        if len(place.terms) > 1 or any(abs(factor) != 1 for _, factor in place.terms):
            yield f"{name}: {place} on the left is no index, index plus number, or number"
    for index_name in sorted(scope - solved):
        yield f"{name}: nothing on the left says the value of {index_name}"
    if statement.guard is not None:
        yield from _in_expression(code, statement.guard, scope, name)
    yield from _in_expression(code, statement.body, scope, name)


def _places(text: str, places: int, axes: int) -> str:
    def count(number: int, one: str, many: str) -> str:
        return f"{number} {one if number == 1 else many}"

    return (
        f"{text} has {count(places, 'place', 'places')}, "
        f"but the tensor has {count(axes, 'axis', 'axes')}"
    )


def _in_range(code: ir.Code, index: ir.Index, scope: set[str], where: str) -> Iterator[str]:
    """Check an index's range and put the index into scope."""
    yield from _in_size(code, index.lower, scope, where)
    yield from _in_size(code, index.extent, scope, where)
    scope.add(index.name)


def _in_size(code: ir.Code, size: Size, scope: set[str], where: str) -> Iterator[str]:
    for name in sorted(size.names - code.sizes.keys()):
        yield f"{where}: unknown size {name}"
    # The depth of a stride may also be a size: `⌈T/2^L⌉` at the top of a stack.
    for index in sorted(size_indices(size) - scope - code.sizes.keys()):
        yield f"{where}: the size {size} needs the index {index}, which is not bound there"


def _in_place(code: ir.Code, place: ir.Place, scope: set[str], where: str) -> Iterator[str]:
    if isinstance(place, ir.Gather):
        yield from _in_expression(code, place.read, scope, where)
        return
    if isinstance(place, ir.Flat):
        names = [index.name for index in place.indices]
        for index in place.indices:
            yield from _in_size(code, index.lower, scope, where)
            yield from _in_size(code, index.extent, scope, where)
    else:
        yield from _in_size(code, place.offset, scope, where)
        names = [name for name, factor in place.terms if factor]
        if len(set(names)) < len(place.terms):
            yield f"{where}: {place} is not collected: an index twice, or with factor 0"
    for name in names:
        if name not in scope:
            yield f"{where}: index {name} is not bound"


def _in_expression(
    code: ir.Code, expression: ir.Expression, scope: set[str], where: str
) -> Iterator[str]:
    match expression:
        case ir.Constant():
            pass
        case ir.SizeValue(size):
            yield from _in_size(code, size, scope, where)
        case ir.IndexValue(place):
            yield from _in_place(code, place, scope, where)
        case ir.Read(name, places):
            tensor = code.tensors.get(name)
            if tensor is None:
                yield f"{where}: reads {name}, which does not exist"
            elif len(places) != len(tensor.axes):
                text = show_expression(expression)
                yield f"{where}: {_places(text, len(places), len(tensor.axes))}"
            for at in places:
                yield from _in_place(code, at, scope, where)
        case ir.Apply(function, arguments):
            if function not in FUNCTIONS:
                yield f"{where}: unknown function {function!r}"
            elif not takes(function, len(arguments)):
                yield f"{where}: {function} cannot have {len(arguments)} arguments"
            for argument in arguments:
                yield from _in_expression(code, argument, scope, where)
        case ir.Reduce(operator, indices, condition, body):
            if operator not in ir.REDUCE:
                yield f"{where}: unknown operator {operator!r}"
            if operator in ("argmax", "argmin") and len(indices) != 1:
                yield f"{where}: {operator} is over one index, not {len(indices)}"
            yield from _below(code, indices, condition, body, scope, where)
        case ir.Softmax(indices, condition, body):
            for index in indices:
                if index.name not in scope:
                    yield f"{where}: the softmax's index {index.name} is not bound outside"
            outside = scope - {index.name for index in indices}
            yield from _below(code, indices, condition, body, outside, where)
        case ir.Select(branches, otherwise):
            for inner in (*(e for branch in branches for e in branch), otherwise):
                yield from _in_expression(code, inner, scope, where)
        case ir.Join(place, parts):
            yield from _in_place(code, place, scope, where)
            if not parts:
                yield f"{where}: a join of nothing"
            for part in parts:
                yield from _below(code, (part.index,), None, part.body, scope, where)
        case ir.Statistic() | ir.Growth() | ir.Derivative() | ir.Quantity():
            if where != "test":
                yield f"{where}: {type(expression).__name__} stands in claims only"
            for inner in expression.children():
                yield from _in_expression(code, inner, scope, where)
        case _:
            yield f"{where}: {type(expression).__name__} is no node of the IR"


def _below(
    code: ir.Code,
    indices: tuple[ir.Index, ...],
    condition: ir.Expression | None,
    body: ir.Expression,
    scope: set[str],
    where: str,
) -> Iterator[str]:
    inside = set(scope)
    names = [index.name for index in indices]
    if not names or len(set(names)) < len(names):
        yield f"{where}: binds {', '.join(names) or 'no index'}: one or more, each once"
    for index in indices:
        yield from _in_range(code, index, inside, where)
    if condition is not None:
        yield from _in_expression(code, condition, inside, where)
    yield from _in_expression(code, body, inside, where)
