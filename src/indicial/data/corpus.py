"""Tokens on disk, and rows of one length made of them.

    data = prepare_data(["book.txt"])              # prepare_text.py
    data.train.tokens[:5]                          →  array([18, 47, 56, 57, 58], dtype=uint16)
    data.train.starts                              →  array([0, 5241])     (one document, and its end)
    rows = Rows(data.train, context=128, seed=0)
    rows.batch(step=7, batch_size=32).tokens       →  (32, 128) int64, the same on every machine
    Rows(data.validation, context=128).in_order()  →  blocks; each token is counted in exactly one

A `Corpus` is one part, training or validation. Its two arrays are memory-mapped, so a corpus may be larger than
the memory; what was read counts as memory of the process until `release`. Each document ends in `<EOS>`;
document d is `tokens[starts[d] : starts[d+1]]`. Two layouts, here with a context of 8 and `.` for `<EOS>`:

    documents   a b c . d e . f         rows begin where a document begins, so that every token is
                d e . f g h . i         predicted with the whole past of its document
    stream      f o u r _ s c o         rows are windows of a long text, anywhere
                r e _ a n d _ s

"stream" is taken where documents are longer than a row. No row is ever padded.

A list of all rows in random order would take eight bytes a row, must be made anew each epoch, and
kept for resuming. Instead (`shuffled`) the place is scrambled by steps that can each be undone, so no two places
give the same number: multiplying by an odd number and adding another modulo a power of two, and
xor with its own upper bits. A result that is not below `count` is scrambled again until it is.

Prepared data on disk, found by what they were made from.

    stored(key, build)  →  ~/.cache/indicial/data/3f…c0     a folder that `build` filled

A folder is filled under another name and renamed when it is whole, so nobody sees half of one, and
of several processes that build the same one the first to finish wins. A list of checksums in it is
compared whenever it is opened: what is damaged is removed and built again. The place is that of
the kernels (`compile/ground/private.py`), `$INDICIAL_CACHE` if it is set; where it cannot be written
to, a folder of this process is used.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import mmap
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indicial.compile.ground import private
from indicial.data.tokenizers import Ints, Tokenizer
from indicial.data.world import World
from indicial.program.messages import IndicialError

ROUNDS = 5


def key(*parts: object) -> int:
    """A number of 64 bits that depends on all parts: `key(seed, epoch, "shift")`."""
    text = "\0".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def shuffled(places: Ints, count: int, key: int) -> Ints:
    """Which of `count` things stands at each of `places`; each number below `count` once."""
    bits = max(1, (count - 1).bit_length())
    shift, mask = np.uint64((bits + 1) // 2), np.uint64((1 << bits) - 1)
    rounds = _rounds(key)
    numbers = places.astype(np.uint64)
    outside: Ints = np.arange(len(numbers))
    while len(outside):
        scrambled = numbers[outside]
        for odd, added in rounds:
            scrambled = (scrambled * odd + added) & mask
            scrambled ^= scrambled >> shift
        numbers[outside] = scrambled
        outside = outside[scrambled >= count]
    return numbers.astype(np.int64)


def _rounds(key: int) -> list[tuple[np.uint64, np.uint64]]:
    """An odd number and another for each round."""
    seed = struct.pack("<Q", key)
    digest = hashlib.blake2b(seed, digest_size=8 * ROUNDS, person=b"odd").digest()
    added = hashlib.blake2b(seed, digest_size=8 * ROUNDS, person=b"added").digest()
    numbers = zip(struct.iter_unpack("<Q", digest), struct.iter_unpack("<Q", added), strict=True)
    return [(np.uint64(first | 1), np.uint64(second)) for (first,), (second,) in numbers]


def token_type(size: int) -> type[np.uint16] | type[np.uint32]:
    """The smallest type that holds a vocabulary of this size."""
    return np.uint16 if size <= 1 << 16 else np.uint32


@dataclass(frozen=True)
class Corpus:
    """One part of the data as tokens: `len(corpus)` of them, in `corpus.documents` documents."""

    tokens: Ints
    """uint16 or uint32, memory-mapped; `<EOS>` after each document."""
    starts: Ints
    """int64, memory-mapped: where each document starts, and the end of the last."""
    characters: int
    bytes: int
    words: int
    unknown: int
    """How many characters the tokenizer did not know (validation only, tokens = characters)."""
    digest: str
    """`digest_of` what is stored: a run keeps it, to notice on resume that its data changed."""
    items: tuple[int, ...] = ()
    """How many documents each file or folder has that was named; they stand in this order."""

    @staticmethod
    def opened(
        folder: Path, part: str, counts: Mapping[str, Any], vocabulary: int, digest: str = ""
    ) -> Corpus:
        """What `write_tokens` has written of a part, with what it counted."""
        return Corpus(
            tokens=open_array(folder / f"{part}.0.values", token_type(vocabulary)),
            starts=open_array(folder / f"{part}.0.starts", np.int64),
            characters=counts["characters"],
            bytes=counts["bytes"],
            words=counts["words"],
            unknown=counts["unknown"],
            digest=digest,
            items=tuple(counts["items"]),
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def release(self) -> None:
        """Let the system take back the memory of what was read; it is read again when needed."""
        for array in (self.tokens, self.starts):
            mapped = getattr(array.base, "obj", None)  # numpy looks at it through a memoryview
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    @property
    def documents(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True)
class Data:
    """Both parts, the tokenizer that was learned from the training part, and what to tell of them."""

    train: Corpus
    validation: Corpus
    tokenizer: Tokenizer
    world: World | None
    """The built-in world that the documents come from, or None."""
    description: dict[str, Any]
    """JSON: names and counts, for `run.json` and for choosing defaults."""
    folder: Path | None = None
    """Where it is stored."""

    @property
    def name(self) -> str:
        """`book.txt`, or the name of a world."""
        return str(self.description["name"])

    def save(self, folder: Path) -> None:
        """Writes what a run keeps of them, `folder/tokenizer.json`."""
        self.tokenizer.save(folder)

    @property
    def entropy_per_token(self) -> float | None:
        """Nats per token of a perfect model, the ends of documents counted as tokens.

        A token is a word where every word has one; else its share of a document is measured on
        the validation part.
        """
        if self.world is None:
            return None
        return self.world.entropy() * self.validation.documents / len(self.validation)

    @property
    def sampled_entropy_per_token(self) -> float | None:
        """Nats per token of a perfect model on this very validation part.

        It differs from `entropy_per_token` by chance only, as the loss of any model does on these
        sentences. So the distance to it is the better measure of how far a model is from perfect.
        """
        nats = self.description["validation"].get("nats")
        return None if nats is None else nats / len(self.validation)


class Column:
    """A column on its way to the disk: its values, and `beside` them where rows start, or which value each row has.

    `train.0.values`, `train.0.starts`: the first column of the training part.
    """

    def __init__(self, folder: Path, name: str, *beside: str) -> None:
        kinds = ("values", *beside)
        self._files = {kind: (folder / f"{name}.{kind}").open("wb") for kind in kinds}

    def put(self, values: Ints, kind: str = "values") -> None:
        self._files[kind].write(np.ascontiguousarray(values).tobytes())

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def open_array(path: Path, kind: Any) -> Ints:
    """The numbers in a file, memory-mapped."""
    with path.open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), kind)


def digest_of(folder: Path, part: str) -> str:
    """SHA-256 of all columns of a part."""
    sums = checksums(folder)
    mine = "".join(sums[name] for name in sorted(sums) if name.startswith(f"{part}."))
    return hashlib.sha256(mine.encode()).hexdigest()


LAYOUTS = ("auto", "documents", "stream")

REACHED = 0.99
"""How many of the tokens rows that begin at documents must reach, or windows are taken."""


@dataclass(frozen=True)
class Block:
    """Rows of tokens of one length: `tokens[b,t]`."""

    tokens: Ints
    """(B, T) int64."""
    counted: Ints | None = None
    """(B, T) bool: the tokens that evaluation counts here; None: all of them."""


class Rows:
    """How a corpus becomes rows of `context` tokens."""

    def __init__(self, corpus: Corpus, context: int, seed: int = 0, layout: str = "auto") -> None:
        if context < 2:
            raise IndicialError(
                f"the context is {context}: a row of a batch has at least 2 tokens, since a token "
                "is predicted from those before it"
            )
        if layout not in LAYOUTS:
            raise IndicialError(f"rows are laid out as {' or '.join(LAYOUTS)}, not as {layout!r}")
        self.corpus = corpus
        self.context = context
        self.seed = seed
        self._tokens = np.asarray(corpus.tokens)
        self._starts = np.asarray(corpus.starts)[:-1]
        self.layout = layout if layout != "auto" else self._fitting()

    def __len__(self) -> int:
        """How many rows make an epoch, in which each token comes about once."""
        return max(1, len(self._tokens) // self.context)

    def batch(self, step: int, batch_size: int, rank: int = 0, of: int = 1) -> Block:
        """The rows of one step: a function of seed, step and batch size, and of nothing else.

        Several processes share a batch: process `rank` of `of` gets its part of the rows.
        """
        if len(self._tokens) < self.context:
            raise IndicialError(
                f"the context is {self.context} tokens, and all the training data are "
                f"{len(self._tokens)}: give a shorter --context "
                f"(at most {len(self._tokens)}), or more data"
            )
        mine = range(rank * batch_size // of, (rank + 1) * batch_size // of)
        begins = self._begins(step * batch_size + np.arange(mine.start, mine.stop))
        return Block(self._read(begins, self.context))

    def in_order(self, batch_size: int = 1, stride: int | None = None) -> Iterator[Block]:
        """All tokens in order, each counted exactly once.

        Where a text is longer than a row, each further row counts `stride` tokens, and the tokens
        before them are there to predict them from: all but one (the default) is the quickest,
        half the context gives each token at least that much to be predicted from. The first token
        of a row counts only where a document begins. The last block may be smaller.
        """
        stride = self.context - 1 if stride is None else stride
        if not 1 <= stride < self.context:
            raise IndicialError(
                f"the stride is {stride}: with a context of {self.context} "
                f"it is from 1 to {self.context - 1}"
            )
        windows = self._documents(stride) if self.layout == "documents" else self._stream(stride)
        return self._blocks(windows, batch_size)

    def _fitting(self) -> str:
        """Documents, unless many tokens stand further than a row from where theirs begins."""
        reached, piece = 0, 1 << 20
        for first in range(0, self.corpus.documents, piece):
            bounds = self.corpus.starts[first : first + piece + 1]
            reached += int(np.minimum(np.diff(bounds), self.context).sum())
        return "documents" if reached >= REACHED * len(self._tokens) else "stream"

    def _begins(self, numbers: Ints) -> Ints:
        """Where the rows with these numbers, counted from the start of training, begin.

        Each epoch lays rows side by side from a place of its own on, the end of the corpus joined
        to its beginning, and takes them in an order of its own.
        """
        rows, total = len(self), len(self._tokens)
        begins = np.empty(len(numbers), np.int64)
        for epoch in set((numbers // rows).tolist()):
            here = numbers // rows == epoch
            order = shuffled(numbers[here] % rows, rows, key(self.seed, epoch, "order"))
            first = key(self.seed, epoch, "first") % total
            begins[here] = (first + order * self.context) % total
        if self.layout == "stream":
            return begins
        return self._starts[np.searchsorted(self._starts, begins) % len(self._starts)]

    def _stream(self, stride: int) -> Iterator[tuple[int, int, int]]:
        """Windows: (where the row begins, the first token that counts, the end of those)."""
        total, counted = len(self._tokens), 0
        while counted < total:
            begin = max(0, min(counted - (self.context - stride), total - self.context))
            end = min(begin + self.context, total)
            yield begin, counted, end
            counted = end

    def _documents(self, stride: int) -> Iterator[tuple[int, int, int]]:
        """Rows that begin at documents; one that is cut at the end counts in the next row."""
        total, counted = len(self._tokens), 0
        while counted < total:
            inside = self._started(counted) < counted  # of a document that is longer than a row
            begin = counted - (self.context - stride) if inside else counted
            end = min(begin + self.context, total)
            if end < total and (whole := self._started(end)) > counted:
                end = whole
            yield begin, counted, end
            counted = end

    def _started(self, place: int) -> int:
        """Where the document begins that `place` is in."""
        return int(self._starts[np.searchsorted(self._starts, place, side="right") - 1])

    def _blocks(self, windows: Iterable[tuple[int, int, int]], batch_size: int) -> Iterator[Block]:
        """Windows of one length together, as many as a batch holds."""
        group: list[tuple[int, int, int]] = []
        for window in windows:
            if group and (len(group) == batch_size or self._length(window) != self.context):
                yield self._block(group)
                group = []
            group.append(window)
        if group:
            yield self._block(group)

    def _length(self, window: tuple[int, int, int]) -> int:
        return min(self.context, len(self._tokens) - window[0])

    def _block(self, group: list[tuple[int, int, int]]) -> Block:
        begin, first, end = np.array(group).T[:, :, None]
        length = self._length(group[0])
        places = begin + np.arange(length)
        return Block(self._read(begin[:, 0], length), (places >= first) & (places < end))

    def _read(self, begins: Ints, length: int) -> Ints:
        """Rows of tokens; after the last token of the corpus comes the first."""
        rows = np.empty((len(begins), length), np.int64)
        for row, begin in zip(rows, begins.tolist(), strict=True):
            read = self._tokens[begin : begin + length]
            row[: len(read)] = read
            row[len(read) :] = self._tokens[: length - len(read)]
        # Around each row the system maps up to megabytes, which would add up to the whole corpus.
        self.corpus.release()
        return rows


CHECKSUMS = "checksums.json"
BUILDING = ".building-"
FORMAT = 5
"""Of what is stored: to be raised when the same data would be stored differently."""
MOST = 20 << 30
"""Bytes that are kept; what was not used for longest makes room."""
ABANDONED = 2 * 24 * 3600
"""Seconds after which a half-filled folder belongs to a process that died."""


def directory() -> Path:
    """Where prepared data are kept: `~/.cache/indicial/data`."""
    return private.place() / "data"


def stored(key: str, build: Callable[[Path], None], root: Path | None = None) -> Path:
    """The folder for `key`; `build(folder)` fills it where it is missing or damaged."""
    root = _writable(root or directory())
    folder = root / key
    if not _is_whole(folder):
        _fill(folder, build)
        _trim(root, folder)
    with contextlib.suppress(OSError):
        os.utime(folder)  # used now: `_trim` goes by this
    return folder


def find(key: str, root: Path | None = None) -> Path | None:
    """The folder for `key`, if it is there and whole."""
    folder = (root or directory()) / key
    if Path(key).name != key or not _is_whole(folder):
        return None
    with contextlib.suppress(OSError):
        os.utime(folder)
    return folder


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of a stored folder."""
    found: dict[str, str] = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
    return found


def _writable(root: Path) -> Path:
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(root, os.W_OK | os.X_OK):
            return root
    except OSError:
        pass
    root = private.temporary() / "data"
    root.mkdir(exist_ok=True)
    return root


def _is_whole(folder: Path) -> bool:
    """Whether the files are there and are what they were when they were written."""
    try:
        return all(_checksum(folder / name) == said for name, said in checksums(folder).items())
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def _fill(folder: Path, build: Callable[[Path], None]) -> None:
    building = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder.parent))
    try:
        build(building)
        sums = {path.name: _checksum(path) for path in sorted(building.iterdir())}
        (building / CHECKSUMS).write_text(json.dumps(sums), encoding="utf-8")
        try:
            building.rename(folder)
        except OSError:
            if not _is_whole(folder):  # else another process was quicker
                _remove(folder)
                building.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise IndicialError(
            f"there is no room in {folder.parent} for the tokens of the data: make room, or set "
            "INDICIAL_CACHE to a folder on a larger disk"
        ) from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Take a folder away in one step, so that nobody reads from one that is half gone."""
    with contextlib.suppress(FileNotFoundError):
        away = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder.parent))
        try:
            folder.rename(away / "damaged")
        finally:
            shutil.rmtree(away, ignore_errors=True)


def _trim(root: Path, kept: Path) -> None:
    """Remove what was not used for longest, until the rest is small enough."""
    with contextlib.suppress(OSError):
        entries = [path for path in root.iterdir() if path.is_dir() and path != kept]
        for path in entries:
            if path.name.startswith(BUILDING) and time.time() - path.stat().st_mtime > ABANDONED:
                shutil.rmtree(path, ignore_errors=True)
        room = MOST - _size(kept)
        done = [path for path in entries if not path.name.startswith(BUILDING)]
        for path in sorted(done, key=lambda path: -path.stat().st_mtime):
            room -= _size(path)
            if room < 0:
                _remove(path)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
