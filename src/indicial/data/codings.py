"""Cells ↔ numbers, for each kind of column.

    Text(tokenizer).encode("ein Hund")      →  [17, 204, 0]      its tokens, and `<EOS>`
    Units(names).encode(["DET", "NOUN"])    →  [3, 7]            a number for each place
    Spelling(names, 3).encode(["a", "dog"]) →  [[2, 0, 0], [4, 7, 5]]
    Label(names).encode("positive")         →  1
    Places().encode([1, 1, 1])              →  [1, 1, 1]
    Numbers((3,), …).encode("0.5 1 2")      →  float32
    Image(96, 96, 3).encode(file)           →  (96, 96, 3) uint8; as numbers, about -2 … 2

`Refused` says why a cell cannot be one of these: its row is left out, and told.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeGuard

import numpy as np

from indicial.data.binding import File
from indicial.data.tokenizers import EOS, Ints, Tokenizer, tokenizer_of, visible
from indicial.program.messages import IndicialError

UNKNOWN = "<unknown>"
LARGE = 10.0
"""Numbers up to here are taken as they are."""
MOST_PIXELS = 1 << 26
"""Of an image that is opened; more is a slip, or an attack."""


class Refused(Exception):
    """Why a cell cannot be read."""


class Coding(ABC):
    """How the cells of a column become arrays. `encode` gives one row, without padding."""

    kind: ClassVar[str]
    dtype: np.dtype[Any]
    """Of what is stored."""

    @abstractmethod
    def encode(self, cell: object) -> Ints: ...

    def numbers(self, stored: Ints) -> Ints:
        """What a module is given, from what is stored."""
        return stored.astype(np.int64)

    @property
    def size(self) -> int | None:
        """How many tokens or labels there are."""
        return None

    def show(self, row: Ints) -> str:
        """A row as people read it."""
        return " ".join(map(str, np.asarray(row).ravel().tolist()))

    @abstractmethod
    def to_json(self) -> dict[str, Any]: ...


def line_of(cell: object) -> str:
    """A cell as one text."""
    if isinstance(cell, np.ndarray | list | tuple):
        return " ".join(str(item) for item in cell)
    return str(cell)


def parts_of(cell: object) -> list[Any]:
    """The parts of a cell: of a list, or of a text between blanks."""
    if isinstance(cell, str):
        return cell.split()
    if isinstance(cell, np.ndarray | list | tuple):
        return list(cell)
    return [cell]


class Text(Coding):
    """Tokens of a text, with `<EOS>` behind them."""

    kind = "text"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.dtype = np.dtype(np.uint16 if tokenizer.size <= 1 << 16 else np.uint32)

    @property
    def size(self) -> int:
        return self.tokenizer.size

    def encode(self, cell: object) -> Ints:
        text = line_of(cell).strip()
        if not text:
            raise Refused("there is no text in it")
        return np.append(self.tokenizer.numbers(text), EOS).astype(self.dtype)

    def show(self, row: Ints) -> str:
        ids = np.asarray(row).tolist()
        return self.tokenizer.decode(ids[: ids.index(EOS)] if EOS in ids else ids)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "tokenizer": self.tokenizer.to_json()}


class Names(Coding):
    """Labels or words by their numbers; with `<unknown>` for others, if it is among them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.dtype = np.dtype(np.uint16 if len(names) <= 1 << 16 else np.uint32)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @property
    def size(self) -> int:
        return len(self.names)

    def number(self, name: str) -> int:
        found = self._numbers.get(name)
        if found is None and UNKNOWN in self._numbers:
            found = self._numbers.get(name.lower(), self._numbers[UNKNOWN])
        if found is None:
            raise Refused(f"{name[:40]!r} is none of the {len(self.names)} of the training part")
        return found

    def show(self, row: Ints) -> str:
        return " ".join(self.names[number] for number in np.asarray(row).ravel().tolist())

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "names": list(self.names)}


class Label(Names):
    """One name."""

    kind = "label"

    def encode(self, cell: object) -> Ints:
        name = line_of(cell).strip()
        if not name:
            raise Refused("there is no label in it")
        return np.array(self.number(name), self.dtype)


class Units(Names):
    """A name for each place of a list."""

    kind = "units"

    def encode(self, cell: object) -> Ints:
        names = [str(item) for item in parts_of(cell)]
        if not names:
            raise Refused("it is empty")
        return np.array([self.number(name) for name in names], self.dtype)


class Spelling(Names):
    """The characters of each word of a list, all words as long: 0 where there is none. Of a longer word, its
    beginning and its end."""

    kind = "spelling"

    def __init__(self, names: Sequence[str], long: int) -> None:
        super().__init__(names)
        self.long = long

    def encode(self, cell: object) -> Ints:
        words = [str(item) for item in parts_of(cell)]
        if not words:
            raise Refused("it is empty")
        found = np.zeros((len(words), self.long), self.dtype)
        begin, end = self.long - self.long // 2, self.long // 2
        for row, word in zip(found, words, strict=True):
            kept = word if len(word) <= self.long else word[:begin] + word[len(word) - end :]
            row[: len(kept)] = [self.number(character) for character in kept]
        return found

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "long": self.long}


class Places(Coding):
    """Places of the row itself, counted from 0; `trees`: they are the heads of a tree, whose root is its own."""

    kind = "places"
    dtype = np.dtype(np.uint32)

    def __init__(self, trees: bool = False) -> None:
        self.trees = trees

    def encode(self, cell: object) -> Ints:
        listed = parts_of(cell)
        try:
            found = np.array([int(item) for item in listed])
        except (ValueError, TypeError, OverflowError):
            raise Refused(f"{line_of(cell)[:40]!r} is not a list of places") from None
        if not len(found) or found.min() < 0 or found.max() >= len(found):
            raise Refused(f"places are from 0 to {len(found) - 1}")
        return found.astype(self.dtype)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "trees": self.trees}


@dataclass(frozen=True)
class Scale:
    """What is taken off numbers, and what they are divided by then."""

    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)

    def apply(self, values: Ints) -> Ints:
        mean, deviation = (np.array(part, np.float32) for part in (self.mean, self.deviation))
        return np.asarray((values.astype(np.float32) - mean) / deviation)

    def undo(self, values: Ints) -> Ints:
        """Numbers as they were before `apply`."""
        return np.asarray(values * np.array(self.deviation) + np.array(self.mean))

    def to_json(self) -> list[list[float]]:
        return [list(self.mean), list(self.deviation)]


class Numbers(Coding):
    """Numbers; `axes` of them, all rows but for the first axis of two of one shape."""

    kind = "numbers"
    dtype = np.dtype(np.float32)

    def __init__(self, axes: int, scale: Scale | None = None) -> None:
        self.axes = axes
        self.scale = scale or Scale()

    def encode(self, cell: object) -> Ints:
        if isinstance(cell, np.ndarray) and np.iscomplexobj(cell):
            raise Refused("its numbers are complex")
        try:
            with np.errstate(over="ignore"):  # what is too large is told below
                value = np.asarray(cell.split() if isinstance(cell, str) else cell, np.float32)
        except (ValueError, TypeError, OverflowError):
            raise Refused(f"{line_of(cell)[:40]!r} is not a number") from None
        if self.axes == 0 and value.size == 1:
            value = value.reshape(())
        if value.ndim != self.axes:
            raise Refused(f"it has {value.ndim} axes instead of {self.axes}")
        if not value.size or not np.isfinite(value).all():
            raise Refused("a number in it is not finite" if value.size else "it is empty")
        return value

    def numbers(self, stored: Ints) -> Ints:
        return self.scale.apply(stored)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "axes": self.axes, "scale": self.scale.to_json()}


class Image(Coding):
    """A picture, shrunk until it covers a rectangle, and cut to it around its middle."""

    kind = "image"
    dtype = np.dtype(np.uint8)

    def __init__(self, height: int, width: int, channels: int, scale: Scale | None = None) -> None:
        self.height, self.width, self.channels = height, width, channels
        self.scale = scale or Scale((127.5,), (64.0,))

    def encode(self, cell: object) -> Ints:
        from PIL import ImageOps

        if is_picture(cell):
            return self._fitting(cell)
        if not isinstance(cell, File):
            raise Refused("it is not an image file")
        try:
            with opened_picture(cell) as found:
                if found.width * found.height > MOST_PIXELS:
                    raise Refused(f"{cell.name} is too large: {found.width} x {found.height}")
                upright = ImageOps.exif_transpose(found)  # as the camera was held
                if upright.mode.startswith("I;16"):  # to 8 bits, which Pillow would cut off at 255
                    upright = upright.point(lambda value: value / 256).convert("L")
                picture = upright.convert("L" if self.channels == 1 else "RGB")
        except Refused:
            raise
        except FileNotFoundError:
            raise Refused(f"there is no file {visible(cell.name)}") from None
        except Exception as error:  # what can be wrong with a picture is of many kinds
            raise Refused(f"{visible(cell.name)} is not a JPEG or PNG that can be read") from error
        if picture.size != (self.width, self.height):
            picture = ImageOps.fit(picture, (self.width, self.height))
        return np.asarray(picture, np.uint8).reshape(self.height, self.width, self.channels)

    def _fitting(self, points: Ints) -> Ints:
        """An array that is a picture already is taken as it is."""
        if points.shape != (self.height, self.width, self.channels):
            sizes = " x ".join(map(str, points.shape))
            raise Refused(
                f"it has {sizes} points, not {self.height} x {self.width} x {self.channels}"
            )
        return points

    def numbers(self, stored: Ints) -> Ints:
        return self.scale.apply(stored)

    def to_json(self) -> dict[str, Any]:
        sizes = [self.height, self.width, self.channels]
        return {"kind": self.kind, "sizes": sizes, "scale": self.scale.to_json()}


def opened_picture(file: File) -> Any:
    """An image of a plain file, none of its points read yet; a pipe would be waited for without end."""
    from PIL import Image as Pictures

    if not file.path.is_file() and file.path.exists():
        raise Refused(f"{visible(file.name)} is not a regular file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Pictures.DecompressionBombWarning)  # told by `MOST_PIXELS`
        return Pictures.open(file.path, formats=("JPEG", "PNG"))


def is_picture(cell: object) -> TypeGuard[Ints]:
    """Whether a cell is the points of a picture, each from 0 to 255."""
    return isinstance(cell, np.ndarray) and cell.dtype == np.uint8 and cell.ndim == 3


class _Named(Tokenizer):
    """Names as tokens: each is one."""

    kind = "names"
    eos = -1
    """None of them ends anything."""

    def __init__(self, names: Names | None) -> None:
        self.names = names
        self.size = len(names.names) if names is not None else 0

    def numbers(self, text: str, begins: bool = True) -> Ints:
        if self.names is None:
            raise IndicialError("the equations read no tokens, so no word has a vector")
        try:
            return np.array([self.names.number(name) for name in text.split()])
        except Refused as error:
            raise IndicialError(str(error)) from None

    def token(self, number: int) -> str:
        return self.names.names[number] if self.names is not None else str(number)

    def _text(self, ids: list[int]) -> str:
        return " ".join(map(self.token, ids))

    def _content(self) -> dict[str, Any]:
        return {}


def tokens_by_name(coding: Coding) -> Tokenizer:
    """What the numbers of a column are called."""
    if isinstance(coding, Text):
        return coding.tokenizer
    return _Named(coding if isinstance(coding, Names) else None)


def coding_of(content: Mapping[str, Any], where: str) -> Coding:
    """What `to_json` gave, made again; `where` it was read from, for messages."""
    try:
        match content["kind"]:
            case "text":
                return Text(tokenizer_of(content["tokenizer"], where))
            case "label":
                return Label([str(name) for name in content["names"]])
            case "units":
                return Units([str(name) for name in content["names"]])
            case "spelling":
                return Spelling([str(name) for name in content["names"]], int(content["long"]))
            case "places":
                return Places(bool(content.get("trees", False)))
            case "numbers":
                return Numbers(int(content["axes"]), _scale(content["scale"]))
            case "image":
                height, width, channels = map(int, content["sizes"])
                return Image(height, width, channels, _scale(content["scale"]))
            case kind:
                raise ValueError(f"there are no columns of the kind {kind!r}")
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise IndicialError(f"{where} is damaged: {visible(str(error))[:200]}") from None


def _scale(found: Sequence[Sequence[float]]) -> Scale:
    mean, deviation = (tuple(float(v) for v in part) for part in found)
    if not all(deviation):
        raise ValueError("a deviation is 0")
    return Scale(mean, deviation)


def names_of(counts: Counter[str], unknown: bool) -> list[str]:
    """The names that occurred, sorted, numbers by their value; with `<unknown>` if others may come.

    Where others may come, names that were seen once count as unknown: so that is learned too.
    """
    found = [name for name, count in counts.items() if not unknown or count > 1]

    def order(name: str) -> tuple[bool, float, str]:
        try:
            return False, float(name), name
        except ValueError:
            return True, 0.0, name

    return [UNKNOWN] * unknown + sorted(found, key=order)


def moments(values: Iterable[Ints], axes: int) -> Scale:
    """The scale that makes numbers of order one, where they are not already: by their last axis."""
    count, largest = 0, 0.0
    sums: Any = 0.0
    squares: Any = 0.0
    for value in values:
        flat = np.asarray(value, np.float64).reshape(-1, value.shape[-1] if axes else 1)
        count += len(flat)
        sums = sums + flat.sum(0)
        squares = squares + (flat**2).sum(0)
        largest = max(largest, float(np.abs(flat).max()))
    if largest <= LARGE or not count:
        return Scale()
    mean = sums / count
    deviation = np.sqrt(np.maximum(squares / count - mean**2, 0))
    deviation = np.where(deviation > 0, deviation, 1.0)
    return Scale(tuple(mean.tolist()), tuple(deviation.tolist()))
