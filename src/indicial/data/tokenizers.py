"""Text ↔ tokens: bytes, characters, or byte-level BPE.

    tokenizer = make_tokenizer("characters", ["abba"])
    tokenizer.encode("ab")        →  [2, 3]
    tokenizer.decode([2, 3, 0])   →  "ab<EOS>"
    tokenizer.save(folder)        →  folder/tokenizer.json, read again by load_tokenizer(folder)

Token 0 is `<EOS>`, the end of a document, whatever the kind; no text has it. A tokenizer is made
from the training part only. Bytes and BPE can say any text. Characters know those of the training
part; elsewhere in the data token 1 stands for any other, so that the validation part can be measured: a
text counts as what it takes to say all of it, so that such a character costs `unknown_nats` more.
"""

from __future__ import annotations

import json
import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from indicial.program.inputs import json_of, plain_bytes
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

FILE = "tokenizer.json"
FORMAT = 1

EOS = 0
END = "<EOS>"
CHARACTERS = 0x110000 - 0x800
"""All that Unicode has room for."""
MARK = "⁇"
"""How the sign of `Marked` is written."""
KINDS = ("bytes", "characters", "bpe")


class Tokenizer(ABC):
    """Text ↔ the numbers 0 … size-1. Subclasses say how a text is cut."""

    kind: ClassVar[str]
    size: int
    eos = EOS
    unknown: int | None = None
    """The token that stands for what this tokenizer has no token for, if there is such a one."""
    unknown_nats = 0.0
    """What it takes to say which character an unknown one is: any other is as likely."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without `<EOS>`: `decode(encode(text)) == text`."""
        self.check(text)
        numbers: list[int] = self.numbers(text).tolist()
        return numbers

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens. `<EOS>` is written as `<EOS>`, half a character as �."""
        parts = []
        for is_end, group in groupby(np.asarray(ids, np.int64).tolist(), EOS.__eq__):
            same = list(group)
            parts.append(END * len(same) if is_end else self._text(same))
        return "".join(parts)

    @abstractmethod
    def numbers(self, text: str, begins: bool = True) -> Ints:
        """The tokens of a piece of a document; `begins`: of its first piece. Never complains."""

    @abstractmethod
    def token(self, number: int) -> str:
        """One token as it is shown to people: `"<EOS>"`, `" dog"`, `"\\n"` as two characters."""

    def check(self, text: str) -> None:
        """Complain about a text that this tokenizer cannot say."""
        if half := next((c for c in text if "\ud800" <= c <= "\udfff"), None):
            if "\udc80" <= half <= "\udcff":  # how Python hands over what the shell gave
                raise IndicialError(
                    f"the text has the byte 0x{ord(half) - 0xDC00:02X} where it is no UTF-8: give "
                    "the text in UTF-8"
                )
            raise IndicialError(
                f"the text has {shown(half)}, half of a pair that is not a character by itself: "
                "remove it"
            )

    def save(self, folder: Path) -> None:
        """Write `folder/tokenizer.json`."""
        write_text(folder / FILE, json.dumps(self.to_json()) + "\n")

    def to_json(self) -> dict[str, Any]:
        """All of it; `tokenizer_of` makes it again."""
        return {"format": FORMAT, "kind": self.kind, **self._content()}

    @abstractmethod
    def _text(self, ids: list[int]) -> str:
        """The text of tokens among which is no `<EOS>`."""

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """What is saved."""


class Bytes(Tokenizer):
    """Each byte of the UTF-8 text is a token: byte b is token b + 1.

    What was read from a file that is not UTF-8 stands in the text as lone surrogates (Python's
    `surrogateescape`), and becomes the bytes it was.
    """

    kind = "bytes"
    size = 257

    def check(self, text: str) -> None:
        if any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in text):
            super().check(text)

    def numbers(self, text: str, begins: bool = True) -> Ints:
        raw = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
        return raw.astype(np.uint16) + np.uint16(1)

    def token(self, number: int) -> str:
        if number == EOS:
            return END
        return chr(number - 1) if 32 <= number - 1 < 127 else f"\\x{number - 1:02x}"

    def _text(self, ids: list[int]) -> str:
        return bytes(number - 1 for number in ids).decode("utf-8", "replace")

    def _content(self) -> dict[str, Any]:
        return {}


class Characters(Tokenizer):
    """Each character is a token; those of the alphabet are 2, 3, …"""

    kind = "characters"
    unknown = 1

    def __init__(self, alphabet: str) -> None:
        self.alphabet = alphabet
        self.size = len(alphabet) + 2
        self.unknown_nats = math.log(CHARACTERS - len(alphabet))
        codes = _codes(alphabet)
        self._tokens = np.full(int(codes.max(initial=0)) + 2, self.unknown, np.uint32)
        self._tokens[codes] = np.arange(2, self.size)

    def check(self, text: str) -> None:
        super().check(text)
        known = set(self.alphabet)
        if strange := next((c for c in text if c not in known), None):
            raise IndicialError(
                f"the text has {shown(strange)}, which is not among the {len(known)} characters of "
                "the training data: leave it out, or train with --tokens bytes or --tokens bpe, "
                "which know every character"
            )

    def numbers(self, text: str, begins: bool = True) -> Ints:
        # What is past the table is as unknown as the last entry, which no character has.
        return self._tokens[np.minimum(_codes(text), len(self._tokens) - 1)]

    def token(self, number: int) -> str:
        return (END, "�")[number] if number < 2 else visible(self.alphabet[number - 2])

    def _text(self, ids: list[int]) -> str:
        return "".join("�" if n == self.unknown else self.alphabet[n - 2] for n in ids)

    def _content(self) -> dict[str, Any]:
        return {"alphabet": self.alphabet}


class Marked(Tokenizer):
    """Another tokenizer with one token more, the sign `⁇`: for what is left out of a text, and between a
    question and its answer. What stands behind it begins as a text of its own does."""

    def __init__(self, inner: Tokenizer) -> None:
        self.inner, self.kind = inner, inner.kind  # type: ignore[misc]
        self.mark, self.size = inner.size, inner.size + 1
        self.unknown, self.unknown_nats = inner.unknown, inner.unknown_nats

    def check(self, text: str) -> None:
        self.inner.check(text.replace(MARK, ""))

    def numbers(self, text: str, begins: bool = True) -> Ints:
        first, *rest = text.split(MARK)
        found = [self.inner.numbers(first, begins)]
        for part in rest:
            found += [np.array([self.mark], np.uint32), self.inner.numbers(part)]
        return np.concatenate(found)

    def token(self, number: int) -> str:
        return MARK if number == self.mark else self.inner.token(number)

    def _text(self, ids: list[int]) -> str:
        parts: list[list[int]] = [[]]
        for number in ids:
            parts.append([]) if number == self.mark else parts[-1].append(number)
        return MARK.join(map(self.inner.decode, parts))

    def _content(self) -> dict[str, Any]:
        return {**self.inner._content(), "mark": True}


def make_tokenizer(
    kind: str, documents: Iterable[str], vocabulary: int | None = None, whole_words: bool = False
) -> Tokenizer:
    """A tokenizer made from these documents, or pieces of documents.

    `vocabulary` is for BPE: how many tokens it has at most. `whole_words`: the documents use few
    words, and each of them is to be one token.
    """
    from indicial.data.bpe import learn_bpe, learn_words

    if kind == "bytes":
        return Bytes()
    if kind == "characters":
        return Characters(_alphabet(documents))
    if kind == "bpe":
        return (learn_words if whole_words else learn_bpe)(documents, vocabulary)
    raise IndicialError(f"tokens are {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {kind!r}")


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer that was saved into a folder."""
    path = folder / FILE
    try:
        content = json_of(plain_bytes(path))
    except FileNotFoundError:
        raise IndicialError(f"{path} is missing: is {folder} the folder of a run?") from None
    except IndicialError:
        raise
    except Exception as error:
        raise IndicialError(f"{path} is damaged: {_said(error)}") from None
    return tokenizer_of(content, str(path))


def tokenizer_of(content: Mapping[str, Any], where: str) -> Tokenizer:
    """What `to_json` gave, made again; `where` it was read from, for messages."""
    from indicial.data.bpe import BPE

    try:
        rest = dict(content)
        version, kind = rest.pop("format"), rest.pop("kind")
        if version == FORMAT:
            marked = rest.pop("mark", False)
            made: Tokenizer = {"bytes": Bytes, "characters": Characters, "bpe": BPE}[kind](**rest)
            return Marked(made) if marked else made
    except IndicialError:
        raise
    except Exception as error:  # those of the library that cuts words are of no kind of their own
        raise IndicialError(f"{where} is damaged: {_said(error)}") from None
    raise IndicialError(
        f"{where} has format {version}, and this version of Indicial reads {FORMAT}"
    )


def _said(error: Exception) -> str:
    """The first line of what is wrong, without what a terminal would obey."""
    return visible((str(error).splitlines() or [""])[0])[:200] or type(error).__name__


def shown(character: str) -> str:
    """A character for a message: `'ü' (U+00FC, LATIN SMALL LETTER U WITH DIAERESIS)`."""
    name = unicodedata.name(character, "")
    said = f"U+{ord(character):04X}" + (f", {name}" if name else "")
    return f"{character!r} ({said})"


def visible(text: str) -> str:
    """A text on one line, with nothing in it that a terminal obeys: newline as `\\n`."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _alphabet(documents: Iterable[str]) -> str:
    """The characters that occur, sorted."""
    seen = np.zeros(0x110000, bool)
    for text in documents:
        seen[_codes(text)] = True
    return "".join(map(chr, np.flatnonzero(seen).tolist()))


def _codes(text: str) -> Ints:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
