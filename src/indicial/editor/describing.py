"""What is said of a name or an equation where the cursor is: Markdown.

>>> print(Descriptions(load("rnn")).of("tensor", "h"))
**h[t,j]** defined

T × J, T·J elements
…
"""

from __future__ import annotations

from functools import cached_property

from indicial import library
from indicial.editor.findings import BUILT, FUNCTION, LETTER, MODEL
from indicial.notation.syntax import Equation, Statement
from indicial.program import ir
from indicial.program.explain.facts import Facts, made, read
from indicial.program.explain.numbers import formula, tight
from indicial.program.messages import IndicialError
from indicial.program.names.letters import capital
from indicial.program.program import Program
from indicial.program.sizes import Size


class Descriptions:
    """Of the names and equations of one program; with errors in it less is known."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def facts(self) -> Facts | None:
        """None if the program has an error."""
        try:
            facts = read(self.program)
            _ = facts.names, self.program.cost
            return facts
        except (IndicialError, ValueError, KeyError):
            return None

    @cached_property
    def _by_target(self) -> dict[tuple[int, int], str]:
        """The name that each equation of the code defines, by its place."""
        return {(s.span.start, s.span.end): s.target for s in self.program.analysis.code.statements}

    def of(self, kind: str, key: str) -> str:
        if kind == LETTER:
            return self._letter(key)
        if kind == MODEL:
            return f"**{key}**, a model of the library: {library.summary(key)}"
        if kind == BUILT:
            return f"**{key}**, a function"
        if kind == FUNCTION:
            hole = key in self.program.holes
            return f"**{key}**, {'a function that is only named' if hole else 'a function'}"
        tensor = self.program.analysis.code.tensors.get(key)
        return "" if tensor is None else self._tensor(tensor)

    def _letter(self, key: str) -> str:
        if self.facts is None:
            return f"**{key}**, an index"
        ranges = [r for r in self.facts.ranges if key in r.letters]
        lines = [
            f"{key} = {r.values}" + (f" in {', '.join(r.within)}" if r.within else "")
            for r in ranges
        ]
        same = [f"{a} = {b}" for a, b in self.facts.same if a.lower() == key]
        return "\n\n".join([f"**{key}**, an index", *lines, *same])

    def shape(self, key: str) -> tuple[str, str]:
        """The sizes of a name, and who it is; empty where there are none, or its letters say them."""
        tensor = self.program.analysis.code.tensors.get(key)
        if tensor is None or not tensor.axes or self.facts is None:
            return "", ""
        as_written = [capital(axis.letter or "·") for axis in tensor.axes]
        sizes = [tight(self.facts.shown(axis.extent)) for axis in tensor.axes]
        if as_written == sizes and not self.program.reading.convention:
            return "", ""
        named = next(n for n in self.facts.names if n.name == key)
        return self._sizes(tensor), f"{named.shown}, {_role(tensor)}"

    def _sizes(self, tensor: ir.Tensor) -> str:
        assert self.facts is not None
        return " × ".join(tight(self.facts.shown(axis.extent)) for axis in tensor.axes)

    def _tensor(self, tensor: ir.Tensor) -> str:
        facts = self.facts
        if facts is None:
            letters = ",".join(axis.letter or "·" for axis in tensor.axes)
            shown = f"{tensor.name}[{letters}]" if letters else tensor.name
            return f"**{shown}** {_role(tensor)}"
        named = next(n for n in facts.names if n.name == tensor.name)
        lines = [f"**{named.shown}** {_role(tensor)}"]
        cost = self.program.cost
        elements = cost.parameters_by_tensor.get(tensor.name) or cost.memory_by_tensor.get(
            tensor.name
        )
        counted = f", {formula(facts.shown(elements))} elements" if elements is not None else ""
        if tensor.axes:
            lines.append(f"{self._sizes(tensor)}{counted}")
        constant = facts.code.constants.get(tensor.name)
        if isinstance(constant, float):
            lines.append(f"= {constant:g}")
        lines += [
            f"a {d.kind}: {d.reason}"
            for d in self.program.reading.decisions
            if tensor.name in d.names
        ]
        if tensor.name in cost.work_by_tensor:
            lines.append(self._work(tensor.name))
        return "\n\n".join(lines)

    def _work(self, name: str) -> str:
        assert self.facts is not None
        work: Size = self.facts.shown(self.program.cost.work_by_tensor[name])
        summed = self.facts.summed.get(name)
        over = f", summed over {', '.join(summed)}" if summed else ""
        return f"{formula(work)} operations{over}"

    def costs(self, statement: Statement) -> str:
        """What an equation costs; empty for what computes nothing."""
        if not isinstance(statement, Equation) or self.facts is None:
            return ""
        target = self._by_target.get((statement.span.start, statement.span.end))
        tensor = self.program.analysis.code.tensors.get(target or "")
        if tensor is None or made(self.program.analysis.code, tensor):
            return ""
        return self._tensor(tensor)


def _role(tensor: ir.Tensor) -> str:
    return tensor.role + (f" ({tensor.guess})" if tensor.guess else "")
