"""Text ↔ tokens: bytes, characters, or byte-level BPE.

    tokenizer = make_tokenizer("characters", ["abba"])
    tokenizer.encode("ab")        →  [2, 3]
    tokenizer.decode([2, 3, 0])   →  "ab<EOS>"
    tokenizer.save(folder)        →  folder/tokenizer.json, read again by load_tokenizer(folder)

Token 0 is `<EOS>`, the end of a document, whatever the kind; no text has it. A tokenizer is made from the
training part only. Bytes and BPE can say any text. Characters know those of the training part; elsewhere in the
data token 1 stands for any other, so that the validation part can be measured: a text counts as what it takes
to say all of it, so that such a character costs `unknown_nats` more.

BPE cuts a text into words, each with the blank before it; a text that begins with a word gets a blank before
it, so that a word is the same token wherever it stands. What a word becomes is looked up in a table, and only a
word that is new goes through the merges (the package `tokenizers`), so encoding runs at the speed of a regular
expression.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from indicial.program.inputs import json_of, plain_bytes
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text

if TYPE_CHECKING:
    import tokenizers


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


SPACE = r"\s+(?!\S)|\s+"
CUTS = {
    # As GPT-2 cuts: letters, digits, or other signs, each with the blank before it.
    "mixed": r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|" + SPACE,
    # Whatever stands between blanks, for texts in which punctuation stands apart.
    "blanks": r" ?\S+|" + SPACE,
}

LEAST = 257
"""A token for each byte, and `<EOS>`."""
REMEMBERED = 200_000
"""Words whose tokens are kept; then the table starts afresh (it takes about 50 MB)."""
FED = 1 << 14
"""Characters handed to the learner at a time: it needs many times the memory of its largest piece."""


class BPE(Tokenizer):
    """Words are cut by a pattern of `CUTS` and become bytes, which `merges` join.

    `tokens[n]` is token n + 1, bytes written as in GPT-2 (`Ġ` is a blank). Where there are no
    merges, a word that is no token itself is spelt in bytes.
    """

    kind = "bpe"

    def __init__(self, tokens: list[str], merges: list[list[str]], cut: str) -> None:
        self._tokens, self._merges, self._cut = tokens, merges, cut
        self.size = len(tokens) + 1
        decoded = _byte_of_sign()
        self._bytes = [b"", *(bytes(decoded[sign] for sign in token) for token in tokens)]
        if not set(decoded) <= set(tokens):
            raise ValueError("a byte has no token")
        self._words = re.compile(CUTS[cut]).findall
        self._known = _Known(_merger(tokens, [(a, b) for a, b in merges]))

    def numbers(self, text: str, begins: bool = True) -> Ints:
        # Decoding takes one blank from the beginning, so a text of its own that begins with a
        # blank gets one more; other white space cannot be mistaken for it.
        if begins and text and (text[0] == " " or not text[0].isspace()):
            text = " " + text
        if len(self._known) > REMEMBERED:
            self._known.clear()
        found = chain.from_iterable(map(self._known.__getitem__, self._words(text)))
        return np.fromiter(found, np.uint32)

    def token(self, number: int) -> str:
        if number == EOS:
            return END
        raw = self._bytes[number]
        try:
            return visible(raw.decode())
        except UnicodeDecodeError:
            return "".join(chr(b) if 32 <= b < 127 else f"\\x{b:02x}" for b in raw)

    def _text(self, ids: list[int]) -> str:
        raw = b"".join(map(self._bytes.__getitem__, ids))
        return raw.removeprefix(b" ").decode("utf-8", "replace")

    def _content(self) -> dict[str, Any]:
        return {"tokens": self._tokens, "merges": self._merges, "cut": self._cut}


class _Known(dict[str, tuple[int, ...]]):
    """Word → its tokens; a word that is not there yet is merged."""

    def __init__(self, merger: tokenizers.Tokenizer) -> None:
        self._merger = merger

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self[word] = tuple(n + 1 for n in self._merger.encode(word).ids)
        return found


def learn_bpe(documents: Iterable[str], vocabulary: int | None) -> BPE:
    """The merges that occur most, until there are `vocabulary` tokens or nothing is left to merge."""
    import tokenizers

    size = _checked(vocabulary or 4096)
    learner = _merger(sorted(_byte_of_sign()), [])
    learner.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(CUTS["mixed"]), "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size - 1,
        initial_alphabet=sorted(_byte_of_sign()),
        show_progress=False,
        max_token_length=64,
    )
    learner.train_from_iterator(_small(documents), trainer)
    model = json.loads(learner.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return BPE(tokens, [list(merge) for merge in model["merges"]], "mixed")


def learn_words(documents: Iterable[str], vocabulary: int | None) -> BPE:
    """Each word is a token, the most frequent first as far as `vocabulary` goes; others are spelt."""
    cut = re.compile(CUTS["blanks"]).findall
    counts: Counter[str] = Counter()
    for text in documents:
        counts.update(cut(" " + text))
    bytes_ = sorted(_byte_of_sign())
    signs = {value: sign for sign, value in _byte_of_sign().items()}
    written = ["".join(signs[b] for b in word.encode()) for word, _ in counts.most_common()]
    words = [word for word in written if len(word) > 1]
    if vocabulary is not None:
        words = words[: _checked(vocabulary) - LEAST]
    return BPE(bytes_ + words, [], "blanks")


def _checked(vocabulary: int) -> int:
    if vocabulary < LEAST:
        raise IndicialError(
            f"--vocabulary is {vocabulary}: BPE has a token for each of the 256 bytes and <EOS>, so "
            f"it is at least {LEAST}; --tokens characters or --tokens bytes have fewer"
        )
    return vocabulary


def _small(documents: Iterable[str]) -> Iterator[str]:
    """The same text in small pieces, each beginning with a blank as encoded documents do."""
    for text in documents:
        for begin in range(0, len(text), FED):
            yield " " + text[begin : begin + FED]


def _merger(tokens: list[str], merges: list[tuple[str, str]]) -> tokenizers.Tokenizer:
    """What turns one word into its tokens."""
    import tokenizers

    vocabulary = {token: number for number, token in enumerate(tokens)}
    # With `ignore_merges` a word that is a token is taken whole. BPE that was learned comes to the
    # same by its merges.
    model = tokenizers.models.BPE(vocabulary, merges, ignore_merges=not merges)
    merger = tokenizers.Tokenizer(model)
    merger.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    return merger


def _byte_of_sign() -> dict[str, int]:
    """GPT-2's letters for the bytes, printable all: `a` → 97, `Ġ` → 32."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + n): b for n, b in enumerate(others)}
