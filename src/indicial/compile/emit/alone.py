"""A program of its own, run by emitted PyTorch: arguments in an order, outputs in an order.

alone = Alone(code, arguments=("R^{in}", "W"), outputs=("h",), same={"W"})
(h,) = alone.run([R_in, W], {"T": 7, "J": 4}, lengths={})
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch

from indicial.compile.emit.running import Source, empty_sizes
from indicial.compile.emit.source import emit
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code, IndexValue, Reduce, SizeValue, Softmax

Values = Mapping[str, torch.Tensor]


class Alone:
    """Texts for a program, one for each set of sizes that differ between the members of a batch.

    `same` are the arguments that have no batch axis.
    """

    STORED = ("code", "arguments", "outputs", "same")

    def __init__(
        self, code: Code, arguments: Sequence[str], outputs: Sequence[str], same: Collection[str]
    ) -> None:
        self.code = code
        self.arguments = tuple(arguments)
        self.outputs = tuple(outputs)
        self.same = frozenset(same)
        self._sources: dict[tuple[frozenset[str], frozenset[str]], Source] = {}

    def source(
        self, ragged: frozenset[str] = frozenset(), empty: frozenset[str] = frozenset()
    ) -> Source:
        """The text; made when it is first asked for."""
        key = ragged, empty
        if key not in self._sources:
            plan = schedule(self.code, self.outputs)
            self._sources[key] = emit(self.code, plan, self.outputs, ragged=ragged, empty=empty)
        return self._sources[key]

    def run(
        self, arguments: Sequence[torch.Tensor], sizes: Mapping[str, int], lengths: Values
    ) -> list[torch.Tensor]:
        """The outputs; on any device, differentiated by PyTorch."""
        own = {name: value for name, value in lengths.items() if name in sizes}
        known = dict(zip(self.arguments, arguments, strict=True))
        p = {n: v for n, v in known.items() if n in self.same}
        x = {n: v for n, v in known.items() if n not in self.same}
        text = self.source(frozenset(own), empty_sizes(sizes))
        found = text.run(p, x, dict(sizes), own, {})
        return [found[name] for name in self.outputs]


def sizes_of(code: Code) -> tuple[str, ...]:
    """The sizes that a program needs to know."""
    used = {n for t in code.tensors.values() for a in t.axes for n in a.extent.names}
    return tuple(n for n in code.sizes if n in used | _mentioned(code))


def _mentioned(code: Code) -> set[str]:
    """The sizes that equations compute with: the I of 1/√I, the T of a range."""
    found: set[str] = set()
    for statement in code.statements:
        for node in statement.body.walk():
            if isinstance(node, SizeValue):
                found |= node.size.names
            elif isinstance(node, Reduce | Softmax):
                found |= {n for i in node.indices for s in (i.lower, i.extent) for n in s.names}
            elif isinstance(node, IndexValue):
                found |= node.place.offset.names
    return found
