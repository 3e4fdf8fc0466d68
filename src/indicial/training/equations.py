"""The texts of a program, so that a run can be read where neither they nor the library are.

>>> texts = Equations.of(load("stacked", "language_model_stack", fills={"CELL": "gru"}))
>>> [name for name, _ in texts.texts], texts.fills, list(texts.cells)
(['stacked.eq', 'language_model_stack.eq'], {'CELL': 'gru'}, ['gru'])
>>> texts.program().code == load(…).code
True

The texts are kept as they were written. A program that is not all of its texts (a part of a
document, files pulled in by another) is kept as its equations are printed.

What each size of a program is for, read from its equations.

>>> roles(load("transformer").code)
Roles(told=('T', 'V'), width='J', layers=('L',), heads=('K',), parts=('I',), inner=('D',))

    told      by the data: how long a text is, how many tokens there are
    width     of the word vectors: the other axis of e[w,j]
    layers    of an equation with ℓ+1 on its left
    heads     of attention weights: the k of α[k,t_1,t_2]
    parts     of a head: the i of W^Q[k,i,j], so that heads times parts is the width
    inner     between two matrices of a layer with heads: the d of F[t,d]

All else is as wide as the word vectors.

Which parameters are matrices, and which of their axes are rows: told by the equations.

    Query[k,t,i] = W^Q[k,i,J] x[t,J]        J is summed with data: columns; k, i: rows
    N_{ℓ+1}[t,d] = W_{ℓ+1}[d,J] L_ℓ[t,J]    ℓ stands in the data too: a stack of matrices
    h[t,j] = W[k,j,I] x[t+k,I]              k is summed with data too: j × (k,I)
    α[k,t] = x[t,I] W[k,I,J] y[t,J]         I and J meet different data: forms, I × J for each k

>>> matrices(indicial.load("transformer").code)["W^Q"]
Matrix(stack=(0,), rows=(1, 2), columns=(3,))

What is looked up (`e[w[t],j]`), what multiplies or stands alone, and what scores the tokens of a
vocabulary (`U[w,J] h[t,J]`) is no matrix in this sense: a step of it is no step of a linear map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from indicial.compile.module.sizes import data_lengths, parameters
from indicial.compile.module.starts import Use, uses
from indicial.library.loading import resolve
from indicial.notation.displays import parse_document
from indicial.notation.documents import read_text
from indicial.notation.parse import parse_text
from indicial.notation.printers import unicode
from indicial.notation.source import NOWHERE, Source
from indicial.notation.syntax import Equation, Name, Statement
from indicial.program import ir
from indicial.program.ir import Affine, Code, Softmax
from indicial.program.meaning.arrays import tie
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.program.rewrite import free_indices
from indicial.program.sizes import Size
from indicial.tasks.predictions import token_inputs

PART = 32
"""The width of a head, where the width of the model is a multiple of it."""
INNER = 4
"""How much wider the inner layer is."""


@dataclass(frozen=True)
class Roles:
    """The names of sizes by what they are for."""

    told: tuple[str, ...] = ()
    width: str | None = None
    layers: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()
    """Other sizes, as wide as the word vectors."""

    def sizes(self, width: int, layers: int, given: dict[str, int]) -> dict[str, int]:
        """A value for each size that the data does not tell; `given` are kept."""
        width = given.get(self.width, width) if self.width is not None else width
        found = dict.fromkeys(self.wide, width)
        if self.width is not None:
            found[self.width] = width
        found |= dict.fromkeys(self.layers, layers)
        found |= dict.fromkeys(self.heads, heads_of(width))
        heads = max([given.get(name, found[name]) for name in self.heads], default=1)
        found |= dict.fromkeys(self.parts, max(1, width // heads))
        found |= dict.fromkeys(self.inner, INNER * width)
        return found | given


def heads_of(width: int) -> int:
    """So many heads that each has about 32 units: 128 → 4."""
    return next((k for k in range(max(1, width // PART), 0, -1) if width % k == 0), 1)


def roles(code: Code) -> Roles:
    """What the sizes that the text leaves open are for."""
    ties = tie(code)  # a size that is taken as another's needs no value of its own
    open_ = [name for name, value in code.sizes.items() if value is None and name not in ties]
    lengths = set(data_lengths(code))
    vocabularies = {t.values.name for t in token_inputs(code) if t.values is not None}
    told = {name for name in open_ if name in lengths | vocabularies}
    layers = {name for name in _layers(code) if name in open_ and name not in told}
    heads = {name for name in _heads(code, lengths) if name in open_} - told - layers
    vectors = [
        axis.extent.name
        for tensor in parameters(code)
        if any(axis.extent.name in vocabularies for axis in tensor.axes)
        for axis in tensor.axes
    ]
    free = [name for name in open_ if name not in told | layers | heads]
    width = next((name for name in vectors if name in free), None)
    parts = _parts(code, heads) - told - layers - heads - {width}
    own = tuple(name for name in free if name not in parts and name != width)
    return Roles(
        told=tuple(n for n in open_ if n in told),
        width=width,
        layers=tuple(n for n in open_ if n in layers),
        heads=tuple(n for n in open_ if n in heads),
        parts=tuple(n for n in open_ if n in parts),
        inner=own if heads else (),
        wide=() if heads else own,
    )


def _layers(code: Code) -> set[str | None]:
    """Sizes of indices that stand as ℓ+1 on a left side."""
    found: set[str | None] = set()
    for statement in code.statements:
        ranges = {index.name: index.extent for index in statement.indices}
        for place in statement.left:
            shift = place.shift if isinstance(place, Affine) else None
            if shift is not None and shift[1] == 1:
                found.add(ranges[shift[0]].name)
    return found


def _heads(code: Code, lengths: set[str]) -> set[str | None]:
    """The axes of attention weights that are no positions: defined by a softmax over positions."""
    found: set[str | None] = set()
    for statement in code.statements:
        attention = any(
            isinstance(node, Softmax) and any(i.extent.name in lengths for i in node.indices)
            for node in statement.body.walk()
        )
        if attention:
            axes = code.tensors[statement.target].axes
            found |= {a.extent.name for a in axes if not a.extent.names & lengths}
    return found


def _parts(code: Code, heads: set[str]) -> set[str]:
    """The axis next to a head's in the matrices that have one for each head: W^Q[k,i,j]."""
    found: set[str] = set()
    for tensor in parameters(code):
        names = [axis.extent.name for axis in tensor.axes]
        for one, two in pairwise(names):
            if one in heads and two is not None:
                found.add(two)
    return found


@dataclass(frozen=True)
class Matrix:
    """The axes of a parameter: those that number matrices, those of the rows and of the columns."""

    stack: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def shape(self, sizes: Sequence[int]) -> tuple[int, int, int]:
        """How many matrices, with how many rows and columns."""
        number, rows, columns = 1, 1, 1
        for axis, size in enumerate(sizes):
            number *= size if axis in self.stack else 1
            rows *= size if axis in self.rows else 1
            columns *= size if axis in self.columns else 1
        return number, rows, columns

    def apart(self, axes: Sequence[int]) -> Matrix:
        """With some axes in the stack: `W_{ℓ+1}[i,J] x[J]` is one matrix for each layer."""
        rows = tuple(axis for axis in self.rows if axis not in axes)
        moved = tuple(axis for axis in self.rows if axis in axes)
        return Matrix(tuple(sorted((*self.stack, *moved))), rows, self.columns)

    def same_map(self, other: Matrix) -> bool:
        """Whether it is the same matrix, or the same one transposed."""
        return self == other or self == Matrix(other.stack, other.columns, other.rows)


def matrices(code: ir.Code) -> dict[str, Matrix]:
    """The parameters that are matrices wherever they are read, each with its axes."""
    parameters = {name: t for name, t in code.tensors.items() if t.role == "parameter"}
    every: dict[str, list[Matrix | None]] = {}
    for use in uses(code, ("sum", "mean")):
        every.setdefault(use.read.tensor, []).append(_matrix(use))
    layers = _layer_axes(code)
    vocabularies = {t.values for t in code.tensors.values() if t.values is not None}
    found: dict[str, Matrix] = {}
    for name, own in every.items():
        extents = [axis.extent for axis in parameters[name].axes]
        first = own[0]
        if first is None or vocabularies & set(extents):
            continue
        if all(use is not None and use.same_map(first) for use in own):
            matrix = first.apart([a for a, extent in enumerate(extents) if extent in layers])
            found |= {name: matrix} if matrix.rows else {}
    return found


def _layer_axes(code: ir.Code) -> set[Size]:
    """How many layers there are: the ranges of ℓ in `L_{ℓ+1}[t,j] = L_ℓ[t,j] + …`.

    The same may hold along t in a recurrence, but how long a text is belongs to the data.
    """
    lengths = set(data_lengths(code))
    found: set[Size] = set()
    for statement in code.statements:
        left = dict(p.shift for p in statement.left if isinstance(p, ir.Affine) and p.shift)
        for node in statement.body.walk():
            if isinstance(node, ir.Read) and code.tensors[node.tensor].role == "defined":
                steps = [p.shift for p in node.places if isinstance(p, ir.Affine) and p.shift]
                moved = {name for name, by in steps if left.get(name, by) != by}
                found |= {i.extent for i in statement.indices if i.name in moved}
    return {extent for extent in found if not extent.names & lengths}


def _matrix(use: Use) -> Matrix | None:
    """The axes of a parameter as one of its uses shows them; None if it maps nothing there."""
    if use.beside is None:
        return None
    weight, summed = use.read, {index.name for index in use.summed}
    beside = [free_indices(factor) for factor in use.beside]
    data = set().union(*beside)
    stack, rows, columns = [], [], []
    for axis, place in enumerate(weight.places):
        own = _indices(place)
        if own & summed & data:
            columns.append(axis)
        elif own & summed or own - data:
            rows.append(axis)
        else:
            stack.append(axis)
    meets = {axis: _first(_indices(weight.places[axis]) & summed, beside) for axis in columns}
    if len(set(meets.values())) > 1:
        # A form between two data, one for each value of the other axes.
        stack = sorted([*stack, *rows])
        rows = [axis for axis in columns if meets[axis] != meets[columns[0]]]
        columns = [axis for axis in columns if axis not in rows]
    if not (rows and columns):
        return None
    return Matrix(tuple(stack), tuple(rows), tuple(columns))


def _first(own: set[str], beside: Sequence[set[str]]) -> int:
    return next(number for number, indices in enumerate(beside) if own & indices)


def _indices(place: ir.Place) -> set[str]:
    match place:
        case ir.Affine(terms):
            return {name for name, _ in terms}
        case ir.Flat(indices):
            return {index.name for index in indices}
        case ir.Gather(read):
            return free_indices(read)


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
