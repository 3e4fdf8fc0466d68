"""A cell → the text of the language model around it, whatever the names of the cell are.

    input x[t,k], … h[t,j] = …      language_model, as it stands in the library
    input u[t,d], … o[t,d] = …      the same with u for x and o for h
    … e[t,m] = σ(…) …               the word vectors are called e^{word}: the cell's e is its own

What the cell gives is found by its structure: a tensor with a vector for each step that no other
equation goes on with. Among tensors that need each other (the c and h of an LSTM) it is h, or else the one that is
defined last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from indicial import library
from indicial.program.ir import Code, Read, Tensor
from indicial.program.messages import IndicialError

_FREE = {
    "w": ("w", "u", "z", "w^{text}"),
    "e": ("e", "e^{word}", "e^{text}"),
    "P": ("P", "p", "P^{word}"),
    "V": ("V", "U", "Z", "Y", "X", "W"),
}
"""What the names of the library's language models may be called, beside a cell that has them already."""


@dataclass(frozen=True)
class Cell:
    """What a program of states reads and gives."""

    input: Tensor
    output: Tensor

    @property
    def layered(self) -> bool:
        return len(self.output.axes) == 3


def find_cell(code: Code) -> Cell | None:
    """The program as a cell, or a stack of cells; None if it is neither."""
    inputs = [t for t in code.tensors.values() if t.role == "input"]
    vectors = [t for t in inputs if t.values is None and len(t.axes) == 2]
    if len(inputs) != 1 or not vectors:
        return None
    (given,) = vectors
    giving = [t for t in code.tensors.values() if _gives(t, given)]
    last = [t for t in giving if not _goes_on(code, t.name)]
    if not last:
        return None
    groups = list(dict.fromkeys(_together(code, t.name) for t in last))
    named = [t for t in last if t.name == "h"]
    if len(groups) > 1 and not named:
        raise IndicialError(_open([_last(code, last, group) for group in groups]))
    output = named[0] if named else _last(code, last, groups[0])
    return Cell(given, output)


def head(cell: Cell, code: Code) -> str:
    """What makes a language model of the cell: a name of the library, or the same text with other names."""
    name = "language_model_stack" if cell.layered else "language_model"
    names = {"x": cell.input.name, "h": cell.output.name}
    taken = {*code.tensors, *code.sizes}
    names |= {n: next(f for f in free if f not in taken) for n, free in _FREE.items()}
    if all(old == new for old, new in names.items()):
        return name
    text = library.path(name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return _renamed("\n".join(lines), names)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Other names for the letters that stand before brackets or a subscript, and for the vocabulary."""
    text = re.sub(r"(?<!\w)([wxehP])(?=[\[(])", lambda m: names[m[1]], text)
    text = re.sub(r"(?<!\w)w(?=_t)", names["w"], text)
    return re.sub(r"(?<=in )V\b", names["V"], text)


def _gives(tensor: Tensor, given: Tensor) -> bool:
    """A vector for each step of the input, or for each layer and step."""
    if tensor.role != "defined" or tensor.values is not None or "." in tensor.name:
        return False
    extents = [axis.extent for axis in tensor.axes]
    layers = len(extents) == 3 and tensor.axes[0].letter == "ℓ"
    return (len(extents) == 2 or layers) and extents[-2] == given.axes[0].extent


def _read_by(code: Code) -> dict[str, set[str]]:
    """For each tensor those that its equations read."""
    found: dict[str, set[str]] = {name: set() for name in code.tensors}
    for statement in code.statements:
        for part in (statement.body, statement.guard):
            for node in part.walk() if part is not None else ():
                if isinstance(node, Read):
                    found[statement.target].add(node.tensor)
    return found


def _needs(code: Code, name: str) -> set[str]:
    """All that a tensor is computed from, itself too where it recurs."""
    reads = _read_by(code)
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for other in reads[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found


def _together(code: Code, name: str) -> frozenset[str]:
    """The tensor with those that it needs and that need it."""
    return frozenset({name, *(n for n in _needs(code, name) if name in _needs(code, n))})


def _goes_on(code: Code, name: str) -> bool:
    """Whether something reads a tensor that does not lead back to it."""
    together = _together(code, name)
    return any(name in reads for n, reads in _read_by(code).items() if n not in together)


def _last(code: Code, among: list[Tensor], group: frozenset[str]) -> Tensor:
    order = [statement.target for statement in code.statements]
    inside = [t for t in among if t.name in group]
    return max(inside, key=lambda t: order.index(t.name))


def _open(found: list[Tensor]) -> str:
    shown = [f"{t.name}[{','.join(axis.letter for axis in t.axes)}]" for t in found]
    return (
        f"the equations end in {', '.join(shown[:-1])} and {shown[-1]}: which of them is to predict the "
        f"words? Let one equation read the others, or call the one that is meant h"
    )
