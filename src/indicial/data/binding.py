"""Which column of the data each input of the equations reads.

    --data x=train.de --data w=train.en          files with a row in each line, side by side
    --data pairs.tsv --column x=german --column w=english
    --data I=photos/ --data w=captions.tsv       a table that names images of a folder
    --data reviews.csv                           columns that are called as the inputs are

>>> bound = bind(slots(code), ["pairs.tsv"], {"x": "german", "w": "english"})
>>> next(bound.rows())
Row(where='pairs.tsv, line 2', cells={'x': 'ein Hund', 'w': 'a dog'})

What the inputs of a program ask for: each is a slot that a column of the data fills.

    input x[s] in U         a text, in tokens of the vocabulary U
    input w[t] in V         another, with tokens of its own; two inputs `in V` share them
    input y in C            a label
    input x[t] in V         beside `input y[t] in C`, which is as long: a word and a label for each place
    input c[t,i] in K       beside `input x[t] in V`: how each of its words is spelt
    input head[t] in T      places: `in` its own length
    input I[x,y,c]          an image, rows from the top, or an array of three axes
    input z, input f[k]     a number, numbers

>>> [slot.kind for slot in slots(load("bahdanau").code)]
['text', 'text']
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from indicial.data.documents import span_of_lines
from indicial.data.tables import (
    LINE,
    Arrays,
    Bad,
    Cells,
    Images,
    Lines,
    Separated,
    Table,
    open_table,
)
from indicial.notation.parse import canonical_name
from indicial.program.ir import Code, Tensor
from indicial.program.messages import IndicialError

TEXT, UNITS, LABEL, PLACES, NUMBERS, IMAGE = "text", "units", "label", "places", "numbers", "image"
SPELLING = "spelling"


@dataclass(frozen=True)
class Slot:
    """One input, and what is to be read into it."""

    name: str
    kind: str
    """`text`, `units` (a name for each place of a list), `spelling` (characters of each), `label`,
    `places`, `numbers` or `image`."""
    axes: tuple[str | None, ...]
    """The names of the sizes of its axes; None for one that is a number."""
    letters: tuple[str, ...] = ()
    vocabulary: str | None = None
    """The name of the size that its tokens range over: slots that share it share their tokens."""
    predicted: bool = False
    """Whether the equations say how likely it is."""
    fixed: tuple[int | None, ...] = ()
    """The sizes that the equations themselves say."""
    candidate: bool = False
    """Whether rows are chosen among: each has one, and is compared with those of others."""

    @property
    def written(self) -> str:
        """`x[s] in U`."""
        letters = f"[{','.join(self.letters)}]" if self.letters else ""
        return f"{self.name}{letters}" + (f" in {self.vocabulary}" if self.vocabulary else "")

    @property
    def length(self) -> str | None:
        """The name of the size that differs from row to row: how long a text or a list is."""
        if self.kind in (TEXT, UNITS, PLACES, SPELLING):
            return self.axes[0]
        return self.axes[0] if self.kind == NUMBERS and len(self.axes) == 2 else None


def asked(slots: Sequence[Slot]) -> list[tuple[str, str, bool, str | None]]:
    """What some slots ask of the data, whatever their sizes are called: name, kind, whether it is
    predicted, and the first slot that it shares its tokens with."""
    firsts = {slot.vocabulary: slot.name for slot in reversed(slots)}
    return [(s.name, s.kind, s.predicted, s.vocabulary and firsts[s.vocabulary]) for s in slots]


def slots(code: Code, predicted: Collection[str] = ()) -> tuple[Slot, ...]:
    """The inputs of a program in their order; `predicted` are those that it says probabilities of."""
    inputs = [t for t in code.tensors.values() if t.role == "input"]
    firsts = Counter(t.axes[0].extent.name for t in inputs if t.axes)
    lengths = {t.axes[0].extent.name for t in inputs if t.axes}

    def slot(tensor: Tensor) -> Slot:
        values = tensor.values
        axes = tuple(axis.extent.name for axis in tensor.axes)
        fixed = tuple(_number(code, axis.extent) for axis in tensor.axes)
        if values is None:
            kind = IMAGE if len(axes) == 3 else NUMBERS
        elif not axes:
            kind = LABEL
        elif len(axes) == 2 and firsts[axes[0]] > 1:
            kind = SPELLING
        elif values.names & lengths:
            kind = PLACES
        else:
            kind = UNITS if firsts[axes[0]] > 1 else TEXT
        return Slot(
            tensor.name,
            kind,
            axes,
            tuple(axis.letter for axis in tensor.axes),
            None if values is None else str(values),
            tensor.name in predicted,
            fixed,
        )

    return tuple(slot(tensor) for tensor in inputs)


def spelt(slot: Slot, slots: Sequence[Slot]) -> Slot | None:
    """The input whose words another spells: the `x[t]` of `c[t,i]`."""
    if slot.kind != SPELLING:
        return None
    words = [s for s in slots if s.kind == UNITS and s.length == slot.length]
    return next((s for s in words if not s.predicted), None)


def uneven(slots: Sequence[Slot], values: Mapping[str, Sized]) -> str | None:
    """Why the inputs of a row do not fit together: two share a length, and are not as long; or None."""
    lengths: dict[str, tuple[str, int]] = {}
    for slot in slots:
        if slot.length is not None:
            here = len(values[slot.name])
            other, length = lengths.setdefault(slot.length, (slot.name, here))
            if length != here:
                return f"{other} has {length} places, and {slot.name} has {here}"
    return None


def _number(code: Code, extent: object) -> int | None:
    number = getattr(extent, "number", None)
    name = getattr(extent, "name", None)
    found = number if number is not None else code.sizes.get(name) if name is not None else None
    return None if found is None else int(found)


SHOWN = 40
"""Columns that are listed."""
LOOKED_AT = 20
"""Rows of a table that are looked at to see which column names files."""


class Row(NamedTuple):
    where: str
    """`pairs.tsv, line 2`."""
    cells: Cells | Bad
    """By the names of the inputs."""


@dataclass(frozen=True)
class Strand:
    """Tables one after the other, and which of their columns are read by which inputs."""

    tables: tuple[Table, ...]
    columns: dict[str, str]
    folders: dict[str, Path] = field(default_factory=dict)
    """Where the files that an input's cells name are looked for, if not beside the table."""

    @property
    def name(self) -> str:
        rest = len(self.tables) - 1
        return self.tables[0].name + (f" and {rest} more" if rest else "")

    def with_files(self, pictures: Collection[str], folders: Mapping[str, Images]) -> Strand:
        """The same, its cells for `pictures` being names of files in a folder, or beside the table."""
        if isinstance(self.tables[0], Arrays):
            return self
        beside = self.tables[0].folder
        found = {
            name: folders[name].folder if name in folders else beside
            for name in self.columns
            if name in pictures
        }
        return replace(self, folders=found)

    def rows(self) -> Iterator[Row]:
        for table in self.tables:
            for line, cells in table.rows():
                last = line + cells.lines - 1 if isinstance(cells, Bad) else line
                where = f"{table.name}, {span_of_lines(line, last)}"
                yield Row(where, self._read(table, cells))

    def _read(self, table: Table, cells: Cells | Bad) -> Cells | Bad:
        if isinstance(cells, Bad):
            return cells
        found: Cells = {}
        for name, column in self.columns.items():
            cell = cells.get(column)
            if cell is None:
                return Bad(f"it has no {column}")
            folder = self.folders.get(name)
            found[name] = cell if folder is None else File(folder / str(cell), str(cell))
        return found

    def stamp(self) -> object:
        folders = {name: str(path.resolve()) for name, path in self.folders.items()}
        return [[table.stamp() for table in self.tables], self.columns, folders]


class File(NamedTuple):
    """A cell that is the content of a file."""

    path: Path
    name: str


@dataclass(frozen=True)
class Bound:
    """All inputs with their columns: strands side by side, row by row."""

    strands: tuple[Strand, ...]

    @property
    def name(self) -> str:
        return " + ".join(os.path.basename(strand.name) for strand in self.strands)

    @property
    def columns(self) -> dict[str, str]:
        """Input → what it reads, for people."""
        return {
            n: strand.name if column == LINE else column
            for strand in self.strands
            for n, column in strand.columns.items()
        }

    def rows(self) -> Iterator[Row]:
        if len(self.strands) == 1:
            yield from self.strands[0].rows()
            return
        each = [strand.rows() for strand in self.strands]
        count = 0
        while True:
            rows = [next(rows, None) for rows in each]
            there = [row for row in rows if row is not None]
            if not there:
                return
            if len(there) < len(rows):
                short = self.strands[rows.index(None)].name
                long = next(s.name for s, row in zip(self.strands, rows, strict=True) if row)
                raise IndicialError(
                    f"{short} has {count:,} rows, and {long} has more: files that stand side by side "
                    "have a row for each row of the others"
                )
            count += 1
            bad = next((row for row in there if isinstance(row.cells, Bad)), None)
            merged = {
                n: v for row in there if isinstance(row.cells, dict) for n, v in row.cells.items()
            }
            yield bad or Row(there[0].where, merged)

    def stamp(self) -> object:
        return [strand.stamp() for strand in self.strands]


# ---------------------------------------------------------------------- from what was said


def named(item: str, inputs: Sequence[str]) -> tuple[str | None, str]:
    """`x=train.de` → `("x", "train.de")`, where x is an input; `pairs.tsv` → `(None, "pairs.tsv")`."""
    name, equals, path = item.partition("=")
    if not equals or os.path.exists(item):
        return None, item
    name = canonical_name(name.strip()) if name.strip() else ""
    if name in inputs:
        return name, path
    if os.path.exists(Path(path).expanduser()):
        raise IndicialError(
            f"--data {item}: the equations have no input {name}; they have {', '.join(inputs)}"
        )
    return None, item


def bind(slots: Sequence[Slot], data: Sequence[str | Table], said: Mapping[str, str]) -> Bound:
    """The inputs with their columns; a message shows both where it is not clear."""
    inputs = [slot.name for slot in slots]
    columns = {canonical_name(name): column for name, column in said.items()}
    if odd := next((name for name in columns if name not in inputs), None):
        raise IndicialError(
            f"--column {odd}={columns[odd]}: the equations have no input {odd}; they have "
            f"{', '.join(slot.written for slot in slots)}"
        )
    sources: dict[str | None, list[str]] = {}
    strands: list[Strand] = []
    for item in data:
        if isinstance(item, Table):
            strands.append(_strand((item,), inputs, columns, {}, alone=False))
            continue
        name, path = named(item, inputs)
        sources.setdefault(name, []).append(path)
    pictures = {slot.name for slot in slots if slot.kind == IMAGE}
    folders = {
        name: _images(paths[0])
        for name, paths in sources.items()
        if name in pictures and len(paths) == 1 and Path(paths[0]).expanduser().is_dir()
    }
    for name, paths in sources.items():
        if name in folders:
            continue
        tables = tuple(open_by(path, columns.values(), folders) for path in paths)
        joined = _joined(tables[0], folders)
        wanted = inputs if name is None else [name]
        strand = _strand(tables, wanted, columns, joined, alone=name is not None)
        strands.append(strand.with_files(pictures, folders))
    for name, folder in folders.items():
        if not any(name in strand.columns for strand in strands):
            strands.append(_of_folder(name, folder, inputs, columns))
    for slot in slots:
        if (words := spelt(slot, slots)) is not None and slot.name not in columns:
            for strand in strands:
                if words.name in strand.columns:
                    strand.columns[slot.name] = strand.columns[words.name]
    bound = Bound(tuple(strand for strand in strands if strand.columns))
    _check_all(slots, bound, strands)
    return bound


def _images(path: str) -> Images:
    table = open_table(path)
    assert isinstance(table, Images)
    return table


def open_by(
    path: str, columns: Collection[str], folders: Mapping[str, Images] | None = None
) -> Table:
    """A table whose `columns` are asked for; it has no line of names if these are numbers, from 0 on, or
    if its first line names an image of a folder."""
    table = open_table(path)
    if isinstance(table, Separated):
        known = {name for folder in (folders or {}).values() for name in folder.names}
        numbers = bool(columns) and all(column.isdecimal() for column in columns)
        if known & set(table.columns) or (numbers and not set(columns) & set(table.columns)):
            return open_table(path, header=False)
    return table


def _joined(table: Table, folders: Mapping[str, Images]) -> dict[str, str]:
    """For each input that reads images of a folder, the column of the table that names them."""
    if isinstance(table, Lines) or not folders:
        return {}
    first = [cells for _, cells in islice(table.rows(), LOOKED_AT) if not isinstance(cells, Bad)]
    found: dict[str, str] = {}
    for name, folder in folders.items():
        known = set(folder.names)
        for column in table.columns:
            if any(str(cells.get(column)) in known for cells in first):
                found[name] = column
    return found


def _strand(
    tables: tuple[Table, ...],
    wanted: Sequence[str],
    said: Mapping[str, str],
    joined: Mapping[str, str],
    alone: bool,
) -> Strand:
    """The columns of some tables that inputs read: as it was said, or by the same name.

    `alone`: the data were named for one input, so that a single column that is left is meant.
    """
    known = tables[0].columns
    for table in tables[1:]:
        if table.columns != known and not isinstance(table, Lines):
            raise IndicialError(
                f"{table.name} has the columns {', '.join(table.columns)}, and {tables[0].name} has "
                f"{', '.join(known)}: tables that are read one after the other have the same"
            )
    if all(isinstance(table, Lines) for table in tables):
        return Strand(tables, dict.fromkeys(wanted, LINE)) if alone else Strand(tables, {})
    columns = dict(joined)
    for name in wanted:
        column = said.get(name, name)
        if column not in known:
            column = tables[0].also.get(column, column)
        if column in known:
            columns[name] = column
        elif name in said:
            raise IndicialError(
                f"--column {name}={column}: {tables[0].name} has no column {column}; it has "
                f"{', '.join(known)}"
            )
    left = [column for column in known if column not in columns.values()]
    if alone and wanted[0] not in columns and len(left) == 1:
        columns[wanted[0]] = left[0]
    return Strand(tables, columns)


def _of_folder(name: str, folder: Images, inputs: Sequence[str], said: Mapping[str, str]) -> Strand:
    """The images themselves are the rows; their folders may be labels: `--column y=folder`."""
    columns = {n: c for n, c in said.items() if c in folder.columns and n in inputs}
    return Strand((folder,), {**columns, name: "file"}, {name: folder.folder})


def _check_all(slots: Sequence[Slot], bound: Bound, strands: Sequence[Strand]) -> None:
    """Every input has a column; if not, what there is, and how to say it."""
    lacking = [slot for slot in slots if slot.name not in bound.columns]
    if not lacking:
        return
    taken = set(bound.columns.values())
    tables = [table for strand in strands for table in strand.tables[:1]]
    free = [column for table in tables for column in table.columns if column not in taken]
    lines = [f"  {slot.written:<16} {bound.columns.get(slot.name, '?')}" for slot in slots]
    plain = all(isinstance(table, Lines) for table in tables)
    if plain:
        how = " ".join(f"--data {slot.name}=FILE" for slot in lacking)
    else:
        how = " ".join(
            f"--column {slot.name}={free[n] if n < len(free) else 'COLUMN'}"
            for n, slot in enumerate(lacking)
        )
    listed = ", ".join(free[:SHOWN]) + (f", … ({len(free):,})" if len(free) > SHOWN else "")
    columns = f"\nthe columns are {listed}" if free and not plain else ""
    raise IndicialError(
        f"no column is named for {', '.join(slot.name for slot in lacking)}. The inputs of the "
        "equations, and what each reads:\n" + "\n".join(lines) + f"{columns}\nSay for example {how}"
    )
