"""The texts of a program, so that a run can be read where neither they nor the library are.

>>> texts = Equations.of(load("stacked", "language_model_stack", fills={"CELL": "gru"}))
>>> [name for name, _ in texts.texts], texts.fills, list(texts.cells)
(['stacked.eq', 'language_model_stack.eq'], {'CELL': 'gru'}, ['gru'])
>>> texts.program().code == load(…).code
True

The texts are kept as they were written. A program that is not all of its texts (a part of a
document, files pulled in by another) is kept as its equations are printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from indicial.library.loading import resolve
from indicial.notation.documents import parse_document, read_text
from indicial.notation.parse import parse_text
from indicial.notation.printers import unicode
from indicial.notation.source import NOWHERE, Source
from indicial.notation.syntax import Equation, Name, Statement
from indicial.program.messages import IndicialError
from indicial.program.program import Program

CONSTANTS = "constants"
"""The name of the texts that `program/names/constants.py` makes."""


@dataclass(frozen=True)
class Equations:
    """The texts, and what is needed beside them to make the same program again."""

    title: str
    texts: tuple[tuple[str, str], ...]
    """Each with the name of its file; the ending says how it is read."""
    document: bool = False
    fills: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, str] = field(default_factory=dict)
    """The texts that holes are filled with, by name."""

    @staticmethod
    def of(program: Program) -> Equations:
        """The texts that a program came from, and what it was loaded with beside them."""
        written = Equations(
            program.title,
            tuple((PurePath(s.name).name or "text.eq", s.text) for s in _sources(program)),
            program.document,
            _fills(program),
            _constants(program),
            _cells(program),
        )
        if _same(written, program):
            return written
        text = program.unicode() + "\n"
        printed = Equations(
            program.title, (("equations.eq", text),), program.document, cells=_cells(program)
        )
        if not _same(printed, program):
            raise IndicialError(
                f"the equations of {program.title} cannot be kept in a run: what is printed reads "
                "otherwise. Put all of them into one .eq file"
            )
        return printed

    def program(self) -> Program:
        """The program again, checked."""
        documents = [read_text(text, name) for name, text in self.texts]
        parsed = [p for d in documents for _, _, p in parse_document(d)]
        faults = [f for d in documents for f in d.faults] + [f for p in parsed for f in p.faults]
        return Program(
            [s for p in parsed for s in p.statements],
            title=self.title,
            faults=faults,
            skipped=[s for p in parsed for s in p.skipped],
            document=self.document,
            resolve=self._resolve,
            fills=self.fills,
            constants=self.constants,
        )

    def _resolve(self, name: str) -> list[Statement] | None:
        if name in self.cells:
            return list(parse_text(self.cells[name], f"{name}.eq").statements)
        return resolve(name)

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "equations": [{"name": name, "text": text} for name, text in self.texts],
            "document": self.document,
            "fills": dict(self.fills),
            "constants": dict(self.constants),
            "cells": dict(self.cells),
        }

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Equations:
        texts = [text for entry in found["equations"] for text in (entry["name"], entry["text"])]
        pairs = [p for name in ("fills", "constants", "cells") for p in found[name].items()]
        if not all(isinstance(word, str) for word in (found["title"], *texts, *sum(pairs, ()))):
            raise TypeError("the equations are not text")
        return Equations(
            found["title"],
            tuple((entry["name"], entry["text"]) for entry in found["equations"]),
            bool(found["document"]),
            found["fills"],
            found["constants"],
            found["cells"],
        )


def _same(texts: Equations, program: Program) -> bool:
    try:
        return texts.program().code == program.code
    except IndicialError:
        return False


def _sources(program: Program) -> list[Source]:
    """The texts that the statements stand in, each once, in order."""
    found = dict.fromkeys(statement.span.source for statement in program.written)
    return [s for s in found if s is not NOWHERE.source and s.name != CONSTANTS]


def _fills(program: Program) -> dict[str, str]:
    """What the caller filled holes with: lines that stand in no text."""
    return {
        left: right
        for statement in program.written
        if statement.span.source is NOWHERE.source
        for left, right in _named(statement)
        if left.isupper()
    }


def _constants(program: Program) -> dict[str, str]:
    """The constants that the caller gave other values, each in a line of its own: `constant λ = 0.5`."""
    lines = [s.span.source.text for s in program.written if s.span.source.name == CONSTANTS]
    pairs = [line.removeprefix("constant").partition("=") for line in lines]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _cells(program: Program) -> dict[str, str]:
    """What a line like `CELL = gru` names: as it was written if that reads the same, else printed."""
    return {name: _text(statements) for name, statements in program.cells.items()}


def _text(statements: list[Statement]) -> str:
    sources = list({s.span.source for s in statements})
    if len(sources) == 1 and list(parse_text(sources[0].text).statements) == statements:
        return sources[0].text
    return unicode(statements) + "\n"


def _named(statement: Statement) -> list[tuple[str, str]]:
    """`CELL = gru` → `[("CELL", "gru")]`; nothing for any other statement."""
    match statement:
        case Equation(sides=(Name(base=left), Name(base=right))):
            return [(left, right)]
    return []
