"""A file → its text, a megabyte at a time → documents, in pieces.

    pieces(File(Path("notes.txt"), "notes.txt"), documents="lines")
        →  Piece("first line", ends=True), Piece("second line", ends=True), …

Text is UTF-8, with or without a byte order mark, plain or gzip (seen by its first bytes, whatever the file is
called). Line ends become `\\n`. What is not text is refused with its place. With `raw` the bytes are taken as
they are: those that are not UTF-8 become lone surrogates (`surrogateescape`), which the byte tokenizer turns
back.

A document that is longer than about a megabyte comes in several pieces, the last of which `ends` it. Pieces are cut
before white space, where no token goes across. Blank documents are left out.

    lines_are(["Anna", "Bert", …])                             →  "the lines are short"
    lines_are(["A dog runs .", "Two men sit on a bench .", …])  →  "each line ends a sentence"
    lines_are(["It was the best of times, it was", "the worst …"])  →  None

A running text has lines that end anywhere, or blank lines between its paragraphs, or indents some. In doubt it
is one: to read lines apart forgets what stood before them.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from indicial.program.messages import IndicialError

CHUNK = 1 << 20
LOOKED_AT = 1 << 13
"""How much of a file of a folder is looked at to see whether it is text."""


@dataclass(frozen=True)
class File:
    """A file, and what to call it in messages."""

    path: Path
    name: str
    checksum: str = ""
    """Of the content, where it is known."""
    item: int = 0
    """Of the names that were given, the number of the one that it was found by."""

    def stamp(self) -> list[object]:
        """What changes when the file does: path, size, time, and a checksum of both ends."""
        if self.checksum:
            return [self.checksum]
        try:
            stat = self.path.stat()
            with self.path.open("rb") as file:
                ends = hashlib.sha256(file.read(LOOKED_AT))
                file.seek(max(0, stat.st_size - LOOKED_AT))
                ends.update(file.read(LOOKED_AT))
        except OSError as error:
            raise IndicialError(f"{self.name} cannot be read: {error.strerror}") from None
        return [str(self.path.resolve()), stat.st_size, stat.st_mtime_ns, ends.hexdigest()]


def chunks(file: File, raw: bool = False) -> Iterator[str]:
    """The text of a file in pieces of about a megabyte, cut anywhere between two characters."""
    lines = io.IncrementalNewlineDecoder(None, translate=True)
    for text in _decoded(file, raw):
        if text := text if raw else lines.decode(text):
            yield text
    if not raw and (rest := lines.decode("", final=True)):
        yield rest


def is_text(file: File) -> bool:
    """Whether the beginning of a file has no NUL, as nearly all that is not text has."""
    with _opened(file) as stream:
        return b"\0" not in stream.read(LOOKED_AT)


def _decoded(file: File, raw: bool) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape" if raw else "strict")
    offset = 0
    with _opened(file) as stream:
        while True:
            data = stream.read(CHUNK)
            if not raw:
                _refuse_binary(file, data, offset)
            # The beginning of a character, from the chunk before.
            waiting = len(decoder.getstate()[0])
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                raise _not_utf8(file, offset - waiting + error.start, error) from None
            if not raw and not offset:
                text = text.removeprefix("\ufeff")
            yield text
            offset += len(data)
            if not data:
                return


@contextmanager
def _opened(file: File) -> Iterator[BinaryIO]:
    """The file as bytes, unpacked if it is packed."""
    try:
        with file.path.open("rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            yield cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if packed else stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise IndicialError(
            f"{file.name} is packed with gzip and damaged ({error}): fetch or pack it again"
        ) from None
    except OSError as error:
        raise IndicialError(f"{file.name} cannot be read: {error.strerror}") from None


def _refuse_binary(file: File, data: bytes, offset: int) -> None:
    if not offset and data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise IndicialError(
            f"{file.name} is UTF-16: convert it, "
            f"iconv -f UTF-16 -t UTF-8 {file.name} > converted.txt"
        )
    if (place := data.find(b"\0")) >= 0:
        raise IndicialError(
            f"{file.name} has a NUL at byte {offset + place}, so it is not text: give a text file (a "
            "model trained with --tokens bytes reads any file)"
        )


def _not_utf8(file: File, place: int, error: UnicodeDecodeError) -> IndicialError:
    return IndicialError(
        f"{file.name} is not UTF-8: byte {place} is 0x{error.object[error.start]:02X}. Convert it "
        f"(if it is Latin-1: iconv -f ISO-8859-1 -t UTF-8 {file.name} > converted.txt); a model "
        "trained with --tokens bytes reads any file as it is"
    )


DOCUMENTS = ("auto", "file", "lines", "blank-lines")
"""What a document of plain text is; auto is file, or lines where `lines_are` finds that they are."""

ROWS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
"""Files with a document in each row."""

FIELD_MOST = (1 << 31) - 1
"""Python's `csv` refuses fields over 128 KB unless told otherwise."""


LINE_MOST = 1 << 28
"""Characters of a line that is held in memory; a small packed file may unpack to much more."""

OVER = {
    ",": 'A text that has a comma in it stands in quotes: "one, two"',
    ";": 'A text that has a semicolon in it stands in quotes: "one; two"',
    "\t": "A text must have no tab in it",
}
"""Why a row has more values than there are columns, most likely."""


class Piece(NamedTuple):
    """A piece of a document, or all of it."""

    text: str
    ends: bool
    item: int = 0
    """Of the files and folders that were named, the number of the one that it stands in."""


def kind_of(file: File, field: str | None) -> str:
    """`text`, `jsonl`, `csv` or `tsv`, by the name of the file without `.gz`."""
    name = file.name.lower().removesuffix(".gz")
    for suffix, kind in ROWS.items():
        if name.endswith(suffix):
            return kind
    # A .json is a text like any other, unless one of its fields is asked for.
    return "jsonl" if field and name.endswith(".json") else "text"


def pieces(
    file: File, field: str | None = None, documents: str = "auto", raw: bool = False
) -> Iterator[Piece]:
    """The documents of one file."""
    kind = kind_of(file, field)
    if kind == "text":
        split, trimmed = SPLITS[documents]
        return _separated(chunks(file, raw), split, trimmed)
    rows = _json_rows(file, raw) if kind == "jsonl" else _csv_rows(file, kind, raw)
    texts = _texts(file, rows, field, "surrogateescape" if raw else "strict")
    return (Piece(text, True) for text in texts if text.strip())


BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")

SPLITS: dict[str, tuple[Callable[[str], list[str]], str]] = {
    "auto": (lambda text: [text], ""),
    "file": (lambda text: [text], ""),
    "lines": (lambda text: text.split("\n"), ""),
    "blank-lines": (BLANK_LINES.split, "\n"),
}
"""How a text is split, and what is taken off both ends of a document."""


def _separated(
    texts: Iterable[str], split: Callable[[str], list[str]], trimmed: str
) -> Iterator[Piece]:
    """Documents as `split` cuts them; the last part is kept until it is known where it ends."""
    rest, begun = "", False
    for text in texts:
        *whole, rest = split(rest + text)
        for document in whole:
            if begun or document.strip():
                yield Piece(document.rstrip(trimmed) if begun else document.strip(trimmed), True)
            begun = False
        if len(rest) > CHUNK and (begun or rest.strip()):
            cut = _cut(rest)
            yield Piece(rest[:cut] if begun else rest[:cut].lstrip(trimmed), False)
            rest, begun = rest[cut:], True
    if begun or rest.strip():
        yield Piece(rest.rstrip(trimmed) if begun else rest.strip(trimmed), True)


def _cut(text: str) -> int:
    """Where to cut a text: before the last white space, if that leaves most of it."""
    place = max(text.rfind(" "), text.rfind("\n"))
    while place > 0 and text[place - 1].isspace():
        place -= 1
    return place if place > len(text) // 2 else len(text)


def twice_in(names: Iterable[str]) -> str | None:
    """The first name that stands there twice."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def lines_of(file: File, raw: bool) -> Iterator[str]:
    """The lines of a file, each with its `\\n`."""
    begun: list[str] = []
    long = 0
    for text in chunks(file, raw):
        *whole, rest = text.split("\n")
        for line in whole:
            yield "".join((*begun, line, "\n"))
            begun, long = [], 0
        begun.append(rest)
        long += len(rest)
        if long > LINE_MOST:
            raise IndicialError(
                f"{file.name} has a line of more than {LINE_MOST:,} characters: is it one JSON value, or no "
                "text at all? Rows stand in lines of their own"
            )
    if long:
        yield "".join(begun)


def _json_rows(file: File, raw: bool) -> Iterator[tuple[int, object]]:
    """The value in each line that is not blank, with the number of the line."""
    for number, line in enumerate(lines_of(file, raw), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line.rstrip("\n"))
        except (ValueError, RecursionError) as error:
            said = (
                f"{error.msg}, column {error.colno}"
                if isinstance(error, json.JSONDecodeError)
                else error
            )
            raise IndicialError(
                f"{file.name}, line {number}: not JSON ({said}). Each line of this file is one JSON "
                f'object, such as {{"text": "…"}}{_one_value(file, number, line)}'
            ) from None


def _one_value(file: File, number: int, line: str) -> str:
    """How a file that is one value over many lines becomes rows."""
    rows = {"[": ".[]", "{": "."}.get(line.strip())
    return (
        f" (jq -c '{rows}' {file.name} > rows.jsonl makes such lines)"
        if rows and number == 1
        else ""
    )


def _csv_rows(file: File, kind: str, raw: bool) -> Iterator[tuple[int, object]]:
    """Each row by the names in the first line, with the number of the line it begins in."""
    csv.field_size_limit(FIELD_MOST)
    lines = lines_of(file, raw)
    header = next(lines, "")
    mark = "\t" if kind == "tsv" else separator(header)
    reader = csv.DictReader(
        chain([header], lines),
        delimiter=mark,
        quoting=csv.QUOTE_NONE if kind == "tsv" else csv.QUOTE_MINIMAL,
        strict=True,
    )
    begins = 2  # the line in which a row begins, behind the names
    try:
        names = list(reader.fieldnames or ())
        if twice := twice_in(names):
            raise IndicialError(
                f"{file.name}, line 1: two columns are called {twice!r}; rename one"
            )
        for row in reader:
            if None in row:  # what stands beyond the last name: half of a text, most likely
                raise IndicialError(
                    f"{file.name}, line {begins}: there are {len(names) + len(row[None])} values for "
                    f"{len(names)} column{'s' * (len(names) != 1)} ({_listed(row)}). {OVER[mark]}"
                )
            yield begins, dict(row)
            begins = reader.line_num + 1
    except csv.Error as error:
        last = reader.reader.line_num  # which counts the lines of a row that does not end as well
        where, why = span_of_lines(begins, last), torn(error, begins, last)
        raise IndicialError(f"{file.name}, {where}: {why}") from None


def span_of_lines(first: int, last: int) -> str:
    return f"lines {first} to {last}" if last > first else f"line {first}"


def torn(error: csv.Error, first: int, last: int) -> str:
    """What is wrong with the quotes of a row that goes from one line to another."""
    said = str(error)
    if "end of data" in said:
        return f"a quote that opens in line {first} is not closed"
    if "expected after" not in said:
        return said
    if last > first:
        return f"a quote that opens in line {first} is closed only in line {last}, with more text right behind it"
    return "text stands right behind a closing quote; a quote inside quotes is written twice"


def separator(header: str) -> str:
    """What stands between the columns of a .csv: a semicolon where a comma is part of a number."""
    return next((mark for mark in ",;\t" if mark in header), ",")


def _texts(
    file: File, rows: Iterable[tuple[int, object]], field: str | None, surrogates: str
) -> Iterator[str]:
    """The text of each row: the named field, the only one with text, or the row if it is a text."""
    for number, row in rows:
        where = f"{file.name}, line {number}"
        if isinstance(row, str) and field is None:
            text: object = row
        elif isinstance(row, dict):
            field = field or _only_text(file, row)
            if row.get(field, "") is None and kind_of(file, field) != "jsonl":
                raise IndicialError(
                    f"{where}: the row ends before the column {field!r}; the columns are {_listed(row)}"
                )
            if field not in row:
                raise IndicialError(
                    f"{where}: there is no field {field!r}; the fields are {_listed(row)}. "
                    "Name the one that holds the text with --field"
                )
            text = row[field]
        else:
            listed = isinstance(row, list)
            how = f" (jq -c '.[]' {file.name} > rows.jsonl makes a line of each)" if listed else ""
            raise IndicialError(f'{where}: not an object with fields, such as {{"text": "…"}}{how}')
        if text is not None:
            yield _checked(text, where, field, surrogates)


def _checked(text: object, where: str, field: str | None, surrogates: str) -> str:
    if not isinstance(text, str):
        raise IndicialError(f"{where}: the field {field!r} is not text but {text!r:.40}")
    try:
        text.encode("utf-8", surrogates)
    except UnicodeEncodeError as error:
        raise IndicialError(
            f"{where}: {text[error.start]!r} is half of a pair, not a character by itself: remove it"
        ) from None
    return text


def _only_text(file: File, row: dict[str, object]) -> str:
    """The name of the one field that holds text."""
    texts = [
        name for name, value in row.items() if isinstance(value, str) and not _is_number(value)
    ]
    if len(texts) == 1:
        return texts[0]
    where = " (by its first line)" if kind_of(file, None) != "jsonl" else ""
    raise IndicialError(
        f"{file.name} has the fields {_listed(row)}{where}: say which holds the text, "
        f"--field {(texts or ['NAME'])[0]}"
    )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _listed(row: Mapping[Any, object]) -> str:
    names = [str(name) for name in row if name is not None]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


LEAST = 50
"""Fewer lines say too little."""
NEARLY_ALL = 0.9
FEW = 0.02
WORDS = 4
"""In a short line."""
SHORT = 60
"""Characters in a short line."""
PARAGRAPH = 400
"""Characters of a line that is more than a sentence or two."""
ENDS = ".!?…。！？।؟"
CLOSING = "\"'”’»)]} "
IDEOGRAPHS = "\u2e80"
"""From here on two characters are about a word, and no blanks stand between words."""


def lines_are(lines: Sequence[str]) -> str | None:
    """Why the lines are documents, in words; None if they are a running text."""
    texts = [line for line in lines if line.strip()]
    if len(texts) < LEAST or len(lines) - len(texts) > FEW * len(lines):
        return None

    def share(holds: Callable[[str], bool]) -> float:
        return sum(map(holds, texts)) / len(texts)

    if share(lambda line: line[0].isspace()) > FEW:
        return None
    if share(_is_short) >= NEARLY_ALL:
        return "the lines are short"
    if share(lambda line: len(line) <= PARAGRAPH) < NEARLY_ALL:
        return None
    if share(_ends) >= NEARLY_ALL:
        return "each line ends a sentence"
    return "the lines are in alphabetical order" if _sorted(texts) else None


def _is_short(line: str) -> bool:
    words = len(line.split()) + sum(c >= IDEOGRAPHS for c in line) // 2
    return words <= WORDS and len(line) <= SHORT


def _ends(line: str) -> bool:
    return line.rstrip(CLOSING)[-1:] in tuple(ENDS)


def _sorted(lines: Sequence[str]) -> bool:
    """Nearly all lines in order, capitals counted with small letters or before them."""
    return any(
        sum(a <= b for a, b in pairwise(keys)) >= 0.98 * (len(keys) - 1)
        for keys in (list(lines), [line.casefold() for line in lines])
    )
