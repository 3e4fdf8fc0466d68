"""Where the names and indices of a program stand in its text, and what there is to say of each.

    h[t,j] = tanh(W[j,I] x[I])
    places(program)                  Place(h, "name h"), Place(t, "index t"), Place(I, "index i"), …
    Descriptions(program).name("h")  ["h[t,j]", "defined by an equation", "t = 0..T-1, j = 0..J-1", …]

For hovering over a text, in a page or an editor. Places are there for a text with mistakes too; what
is said of them is known once there are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.explain.facts import Facts, Named, read
from indicial.program.explain.numbers import formula, tight
from indicial.program.messages import IndicialError
from indicial.program.names.letters import capital, family, index_name, is_capital

if TYPE_CHECKING:
    from indicial.program.program import Program

_ROLES = {
    "input": "an input",
    "parameter": "a parameter",
    "constant": "a constant",
    "defined": "defined by an equation",
    "draw": "drawn at random",
}


@dataclass(frozen=True)
class Place:
    """A stretch of the text; `about` is the key of `Descriptions.every`."""

    span: Span
    about: str


def places(program: Program) -> list[Place]:
    """Every name and every index of the text, in no order; an index stands inside its name."""
    outline, tensors = program.analysis.outline, program.analysis.code.tensors
    letters = {axis.letter for tensor in tensors.values() for axis in tensor.axes if axis.letter}
    found: dict[Span, Place] = {}

    def add(node: s.Expression, inside: bool) -> None:
        """A name with its brackets, and what stands in them: `inside` they are indices, if they can."""
        use = outline.use(node) if isinstance(node, s.Name | s.Index | s.Call) else None
        letter = _letter(node, letters) if isinstance(node, s.Name) else ""
        if letter and (inside or use is None or use.reference.key not in tensors):
            found.setdefault(node.span, Place(node.span, f"index {letter}"))
        elif use is not None and use.call is None:
            if use.reference.key in tensors:
                found.setdefault(node.span, Place(node.span, f"name {use.reference.key}"))
            for item in use.reference.items:
                add(item, True)
        else:
            for child in node.children():
                if isinstance(child, s.Expression):
                    add(child, inside)

    for statement in outline.statements:
        for child in statement.children():
            if isinstance(child, s.Expression):
                add(child, False)
    return [place for span, place in found.items() if span.text]


def _letter(node: s.Name, letters: set[str]) -> str:
    """The letter of an index as the axes have it: `t_1` and `T` are of `t`."""
    if index_name(node) is None:
        return ""
    return next((key for key in (name_key(node), family(node)) if key in letters), "")


class Descriptions:
    """What there is to say of the names and indices of one program; with errors in it less is known."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.code = program.analysis.code

    @cached_property
    def facts(self) -> Facts | None:
        """None if the program has an error."""
        try:
            facts = read(self.program)
            _ = facts.names, self.program.cost
            return facts
        except (IndicialError, ValueError, KeyError):
            return None

    def name(self, key: str) -> list[str]:
        """Lines about a tensor: how it is written, what it is, its ranges and sizes, why, what it costs."""
        tensor = self.code.tensors.get(key)
        if tensor is None:
            return []
        if self.facts is None:
            letters = ",".join(axis.letter or "·" for axis in tensor.axes)
            return [f"{key}[{letters}]" if letters else key, self._role(tensor)]
        named = next(n for n in self.facts.names if n.name == key)
        lines = [named.shown, self._role(tensor)]
        if tensor.axes:
            lines += [", ".join(_ranges(named)), f"{self.sizes(tensor)}{self._counted(tensor)}"]
        constant = self.code.constants.get(key)
        if isinstance(constant, float):
            lines.append(f"= {constant:g}")
        decisions = self.program.reading.decisions
        lines += [f"a {d.kind}: {d.reason}" for d in decisions if key in d.names]
        if key in self.program.cost.work_by_tensor:
            summed = self.facts.summed.get(key)
            over = f", summed over {', '.join(summed)}" if summed else ""
            work = self.facts.shown(self.program.cost.work_by_tensor[key])
            lines.append(f"{formula(work)} operations{over}")
        return lines

    def index(self, letter: str) -> list[str]:
        """Lines about an index: its ranges, and what its capital means."""
        lines = [letter, "an index"]
        if self.facts is None:
            return lines
        for one in self.facts.ranges:
            if letter in one.letters:
                where = f" in {', '.join(one.within)}" if one.within else ""
                lines.append(f"{letter} = {one.values}{where}")
        lines += [f"{a} = {b}" for a, b in self.facts.same if a.lower() == letter]
        size = capital(letter)
        return [*lines, f"{size} in brackets sums over all of them"] if is_capital(size) else lines

    def every(self) -> dict[str, list[str]]:
        """Of all names and indices, by the keys of `places`; of a program without errors."""
        assert self.facts is not None
        letters = {letter for one in self.facts.ranges for letter in one.letters}
        return {f"name {named.name}": self.name(named.name) for named in self.facts.names} | {
            f"index {letter}": self.index(letter) for letter in letters
        }

    def sizes(self, tensor: ir.Tensor) -> str:
        assert self.facts is not None
        return " × ".join(tight(self.facts.shown(axis.extent)) for axis in tensor.axes)

    def _counted(self, tensor: ir.Tensor) -> str:
        assert self.facts is not None
        cost = self.program.cost
        learned = cost.parameters_by_tensor.get(tensor.name)
        count = learned or cost.memory_by_tensor.get(tensor.name)
        if count is None:
            return ""
        return (
            f", {formula(self.facts.shown(count))} {'numbers to learn' if learned else 'elements'}"
        )

    def _role(self, tensor: ir.Tensor) -> str:
        role = _ROLES.get(tensor.role, tensor.role)
        if tensor.guess:
            return f"{role}, a guess: {tensor.guess}"
        if tensor.role not in ("input", "parameter", "constant"):
            return role
        declared = tensor.name in self.program.analysis.outline.declared
        return f"{role}, {'as declared' if declared else 'since nothing defines it'}"


def _ranges(named: Named) -> Iterator[str]:
    for letter, a in zip(named.letters, named.tensor.axes, strict=True):
        yield f"{letter} = {tight(a.lower)}..{tight(a.lower + a.extent - 1)}"
