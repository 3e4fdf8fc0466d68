"""A file → rows of cells, with the number of the line that each stands in.

    open_table("pairs.tsv").columns     →  ("german", "english")
    for line, cells in table.rows():    →  2, {"german": "ein Hund", "english": "a dog"}

| | a row is | columns |
| --- | --- | --- |
| `train.de`, any other text | a line | one, line |
| `.tsv`, `.csv` | a line, or several in quotes | by the names in the first line |
| `.jsonl` | a line with a JSON object | its fields |
| `.conllu` | a sentence, each cell a list | form, lemma, upos, xpos, feats, head, deprel, text |
| `.npz`, `.npy` | the first axis of each array | the names of the arrays |
| `.parquet` | a row | its columns (needs the package pyarrow) |
| a folder of images | a file below it | file, folder (that it is in) |

A row that cannot be read is a `Bad`, which says why: nothing is left out in silence.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import warnings
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data import treebanks
from indicial.data.documents import (
    FIELD_MOST,
    OVER,
    File,
    kind_of,
    lines_of,
    separator,
    span_of_lines,
    torn,
    twice_in,
)
from indicial.data.sources import missing
from indicial.data.world import tables
from indicial.program.inputs import memory
from indicial.program.messages import IndicialError

LINE = "line"
PICTURES = (".jpg", ".jpeg", ".png")
MOST_SWALLOWED = 0.01
"""Of the lines: so many may be lost, beside rows that are wrong, because a quote is not closed."""


@dataclass(frozen=True)
class Bad:
    """A row that cannot be used, and why."""

    why: str
    lines: int = 1
    """How many it goes over."""


Cells = dict[str, Any]
Rows = Iterator[tuple[int, Cells | Bad]]


class Table(ABC):
    """Rows that can be read again and again."""

    file: File

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def folder(self) -> Path:
        """Where the files that it names are looked for."""
        return self.file.path.parent

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]: ...

    @property
    def also(self) -> Mapping[str, str]:
        """Further names that its columns go by."""
        return {}

    @abstractmethod
    def rows(self) -> Rows:
        """Each row with the line that it begins in."""

    def stamp(self) -> object:
        """JSON that changes when the rows do."""
        return self.file.stamp()


@dataclass(frozen=True)
class Lines(Table):
    """Each line is a row with one cell."""

    file: File
    columns = (LINE,)

    def rows(self) -> Rows:
        for number, line in enumerate(lines_of(self.file, raw=False), 1):
            yield number, {LINE: line.rstrip("\n")}


@dataclass(frozen=True)
class Separated(Table):
    """TSV and CSV; without names in the first line the columns are called 0, 1, …"""

    file: File
    kind: str
    header: bool = True

    @cached_property
    def _first(self) -> tuple[str, list[str]]:
        """What separates the cells, and the cells of the first line."""
        line = next(lines_of(self.file, raw=False), "")
        mark = "\t" if self.kind == "tsv" else separator(line)
        try:
            return mark, next(self._reader(iter([line]), mark), [])
        except csv.Error as error:
            raise IndicialError(
                f"{self.name}, line 1: {error}. The first line has the names of the columns"
            ) from None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        cells = self._first[1]
        if not self.header:
            return tuple(str(number) for number in range(len(cells)))
        names = tuple(cell.strip() for cell in cells)
        if twice := twice_in(names):
            raise IndicialError(
                f"{self.name}, line 1: two columns are called {twice!r}; rename one"
            )
        return names

    def _reader(self, text: Iterator[str], mark: str) -> Any:
        csv.field_size_limit(FIELD_MOST)
        if self.kind == "tsv":
            return csv.reader(text, delimiter=mark, quoting=csv.QUOTE_NONE, strict=True)
        return csv.reader(text, delimiter=mark, strict=True)

    def rows(self) -> Rows:
        mark, names = self._first[0], self.columns
        reader = self._reader(lines_of(self.file, raw=False), mark)
        begins, swallowed = 1, 0
        example: tuple[int, Bad] | None = None
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                bad = Bad(torn(error, begins, reader.line_num), reader.line_num - begins + 1)
                if bad.lines > 1:
                    swallowed += bad.lines
                    example = example or (begins, bad)
                yield begins, bad
                begins = reader.line_num + 1
                continue
            if cells is None:
                break
            line, begins = begins, reader.line_num + 1
            if (line == 1 and self.header) or not cells:
                continue
            if len(cells) == len(names):
                yield line, dict(zip(names, cells, strict=True))
            else:
                many = f". {OVER[mark]}" if len(cells) > len(names) else ""
                why = f"it has {len(cells)} of {len(names)} values{many}"
                yield line, Bad(why, begins - line)
        if example is not None and swallowed > MOST_SWALLOWED * reader.line_num:
            line, bad = example
            raise IndicialError(
                f"{self.name}, {span_of_lines(line, line + bad.lines - 1)}: {bad.why}, so that {swallowed:,} of "
                f"{reader.line_num:,} lines are not read. Close it where its value ends; a quote inside quotes "
                "is written twice"
            )


@dataclass(frozen=True)
class JsonLines(Table):
    """Each line is an object with fields."""

    file: File

    @cached_property
    def columns(self) -> tuple[str, ...]:
        for _, cells in self.rows():
            if not isinstance(cells, Bad):
                return tuple(cells)
        raise IndicialError(f'{self.name} has no line with a JSON object, such as {{"text": "…"}}')

    def rows(self) -> Rows:
        for number, line in enumerate(lines_of(self.file, raw=False), 1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
                if "\\u" in line:
                    json.dumps(found, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                yield number, Bad("it has half of a pair that is no character by itself")
                continue
            except (ValueError, RecursionError) as error:
                yield number, Bad(f"it is not JSON ({error})")
                continue
            yield number, found if isinstance(found, dict) else Bad("it is not a JSON object")


@dataclass(frozen=True)
class Conllu(Table):
    """Sentences of Universal Dependencies; each cell but `text` is a list, one entry for each word."""

    file: File
    columns = (*treebanks.FIELDS, "text")
    also = treebanks.ALSO

    def rows(self) -> Rows:
        for found in treebanks.sentences(lines_of(self.file, raw=False)):
            match found:
                case treebanks.Sentence(line, cells):
                    yield line, cells
                case treebanks.Fault(line, why):
                    yield line, Bad(why)


@dataclass(frozen=True)
class Arrays(Table):
    """`.npz` and `.npy`: arrays with one row each along their first axis."""

    file: File

    @cached_property
    def arrays(self) -> dict[str, Any]:
        try:
            arrays = self._read()
        except IndicialError:
            raise
        except Exception as error:  # what can be wrong with a packed file is of many kinds
            said = str(error).partition("\n")[0] or type(error).__name__
            # numpy says how to load it all the same.
            if "pickle" in said or "Python objects" in said:
                said = "it is not an array of numbers or texts that numpy wrote"
            raise IndicialError(
                f"{self.name} cannot be read: {said[:200]}. Write arrays of numbers or texts, "
                "np.savez(file, x=…, y=…)"
            ) from None
        counts = {name: len(a) if a.ndim else 0 for name, a in arrays.items()}
        if not arrays or len(set(counts.values())) > 1 or not all(counts.values()):
            listed = ", ".join(f"{name}: {a.shape}" for name, a in arrays.items())
            raise IndicialError(
                f"the arrays of {self.name} have shapes {listed or 'of nothing'}: the first axis of each "
                "counts the rows, and is the same in all"
            )
        return arrays

    def _read(self) -> dict[str, Any]:
        """The arrays, once it is known that they fit: a small packed file may say it is huge."""
        if not zipfile.is_zipfile(self.file.path):
            # As it is used, so that nothing is reserved that is not there.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that a file is old
                found = np.load(self.file.path, mmap_mode="r", allow_pickle=False)
            return {self.file.path.stem: found}
        with zipfile.ZipFile(self.file.path) as packed:
            large = sum(entry.file_size for entry in packed.infolist())
        if large > memory() // 2:
            raise IndicialError(
                f"{self.name} unpacks to {large:,} bytes, more than half of the memory here. Write an array "
                "for each file, np.save, or a folder of images"
            )
        with np.load(self.file.path, allow_pickle=False) as unpacked:
            arrays = {name: unpacked[name] for name in unpacked}
        return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.arrays)

    def rows(self) -> Rows:
        arrays = self.arrays
        for number in range(len(next(iter(arrays.values())))):
            yield number + 1, {name: array[number] for name, array in arrays.items()}


@dataclass(frozen=True)
class Parquet(Table):
    """Read by pyarrow, if it is installed."""

    file: File

    @cached_property
    def _opened(self) -> Any:
        try:
            from pyarrow import parquet  # type: ignore[import-not-found]
        except ImportError:
            raise IndicialError(
                f"{self.name}: Parquet is read by the package pyarrow, which is not installed: pip "
                "install pyarrow, or write the table as .csv or .jsonl"
            ) from None
        try:
            return parquet.ParquetFile(self.file.path)
        except Exception as error:  # those of Arrow are of many kinds
            raise IndicialError(f"{self.name} cannot be read: {error}") from None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._opened.schema_arrow.names)

    def rows(self) -> Rows:
        number = 0
        for batch in self._opened.iter_batches():
            for cells in batch.to_pylist():
                number += 1
                yield number, cells


@dataclass(frozen=True)
class Images(Table):
    """The images below a folder, in the order of their names."""

    file: File
    columns = ("file", "folder")

    @property
    def folder(self) -> Path:
        return self.file.path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Paths below the folder."""
        found = sorted(
            os.path.relpath(os.path.join(where, name), self.folder)
            for where, _, names in os.walk(self.folder)
            for name in names
            if name.lower().endswith(PICTURES) and not name.startswith(".")
        )
        if not found:
            raise IndicialError(f"the folder {self.name} has no images ({', '.join(PICTURES)})")
        return tuple(found)

    def rows(self) -> Rows:
        for number, name in enumerate(self.names, 1):
            yield number, {"file": name, "folder": os.path.dirname(name)}

    def stamp(self) -> object:
        sizes = [(name, *_size_and_time(self.folder / name)) for name in self.names]
        return [str(self.folder.resolve()), hashlib.sha256(repr(sizes).encode()).hexdigest()]


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:  # a link to nothing; it is told when it is read
        return 0, 0
    return found.st_size, found.st_mtime_ns


def open_table(name: str | os.PathLike[str], header: bool = True) -> Table:
    """The table of a file, by the end of its name; any other text is one column of lines."""
    path = Path(name).expanduser()
    file = File(path, os.fspath(name))
    if path.is_dir():
        return Images(file)
    if not path.is_file():
        raise IndicialError(missing(file.name, path, "file, folder or world", tables()))
    if not path.stat().st_size:
        raise IndicialError(f"{name} is empty: give a file with something in it")
    plain = path.name.lower().removesuffix(".gz")
    kinds: dict[str, type[Any]] = {
        ".conllu": Conllu, ".conll": Conllu, ".npz": Arrays, ".npy": Arrays, ".parquet": Parquet,
    }  # fmt: skip
    found: Table
    match kind_of(file, None):
        case "jsonl":
            found = JsonLines(file)
        case "tsv" | "csv" as kind:
            found = Separated(file, kind, header)
        case _:
            found = kinds.get(Path(plain).suffix, Lines)(file)
    return found
