"""The part of a program that some names or a claim depend on.

y = a + b;  z = c;  claim y ≤ 1      →      y = a + b, with a and b and what they are drawn from
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from indicial.program.explain.facts import tied_sizes
from indicial.program.ir import Code, Expression, Reduce, SizeValue, Softmax, Test
from indicial.program.rewrite import reached, tensors_read
from indicial.program.sizes import Size


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
    sides = [e for e in (test.left, test.right, test.guard, test.tolerance) if e is not None]
    found = replace(part(code, [n for side in sides for n in side.tensors()]), tests=(test,))
    names: set[str] = set()
    for size in _sizes(found, sides):
        names |= size.names
    known = tied_sizes(code, {n: value for n, value in code.sizes.items() if value is not None})
    return replace(found, sizes={n: known.get(n) for n in code.sizes if n in names})


def _sizes(code: Code, sides: list[Expression]) -> Iterator[Size]:
    """All sizes in a program and in a claim about it."""
    for tensor in code.tensors.values():
        for axis in tensor.axes:
            yield from (axis.lower, axis.extent)
        if tensor.values is not None:
            yield tensor.values
    bodies = [p for s in code.statements for p in s.parts]
    bodies += [a for d in code.draws for a in d.arguments]
    for node in (node for body in (*bodies, *sides) for node in body.walk()):
        if isinstance(node, SizeValue):
            yield node.size
        elif isinstance(node, Reduce | Softmax):
            for index in node.indices:
                yield from (index.lower, index.extent)
    for test in code.tests:
        for index in test.indices:
            yield from (index.lower, index.extent)
