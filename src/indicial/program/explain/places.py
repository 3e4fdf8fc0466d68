"""Where the names and indices of a program stand in its text, and what there is to say of each.

    h[t,j] = tanh(W[j,I] x[I])
    places(program)             Place(h, "name h"), Place(t, "index t"), Place(I, "index i"), …
    told(program)["name h"]     ["h[t,j]", "defined by an equation", "t = 0..T-1, j = 0..J-1"]

For hovering over a text, in a page or an editor. Places are there for a text with mistakes too; what
is said of them is known once there are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program.explain.facts import Facts, Named, read
from indicial.program.explain.numbers import tight
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
    """A stretch of the text; `about` is the key of `told`."""

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


def told(program: Program) -> dict[str, list[str]]:
    """What there is to say of each name and index, line by line; of a program without errors."""
    facts = read(program)
    found = {f"name {named.name}": list(_about_name(facts, named)) for named in facts.names}
    for letter in {letter for one in facts.ranges for letter in one.letters}:
        found[f"index {letter}"] = list(_about_index(facts, letter))
    return found


def _about_name(facts: Facts, named: Named) -> Iterator[str]:
    yield named.shown
    role = _ROLES.get(named.role, named.role)
    if named.tensor.guess:
        yield f"{role}, a guess: {named.tensor.guess}"
    elif named.role in ("input", "parameter", "constant"):
        declared = named.name in facts.program.analysis.outline.declared
        yield f"{role}, {'as declared' if declared else 'since nothing defines it'}"
    else:
        yield role
    pairs = zip(named.letters, named.tensor.axes, strict=True)
    ranges = [
        f"{letter} = {tight(a.lower)}..{tight(a.lower + a.extent - 1)}" for letter, a in pairs
    ]
    if ranges:
        yield ", ".join(ranges)
    cost = facts.program.cost
    if named.name in cost.parameters_by_tensor:
        yield f"{tight(facts.tied(cost.parameters_by_tensor[named.name]))} numbers to learn"
    elif named.name in cost.work_by_tensor:
        yield f"{facts.growth(cost.work_by_tensor[named.name])} operations"


def _about_index(facts: Facts, letter: str) -> Iterator[str]:
    yield f"index {letter}"
    for one in facts.ranges:
        if letter in one.letters:
            where = f" in {', '.join(one.within)}" if one.within else ""
            yield f"{letter} = {one.values}{where}"
    size = capital(letter)
    if is_capital(size):
        yield f"{size} in brackets sums over all of them"
