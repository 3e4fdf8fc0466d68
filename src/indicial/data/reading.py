"""A file → its text, a megabyte at a time.

    for text in chunks(File(Path("book.txt"), "book.txt")): …

UTF-8, with or without a byte order mark, plain or gzip (seen by its first bytes, whatever the file
is called). Line ends become `\\n`. What is not text is refused with its place. With `raw` the bytes
are taken as they are: those that are not UTF-8 become lone surrogates (`surrogateescape`), which
the byte tokenizer turns back.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

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
            waiting = len(
                decoder.getstate()[0]
            )  # the beginning of a character, from the chunk before
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
