"""Sentences of Universal Dependencies, as CoNLL-U writes them ↔ lists with an entry for each word.

    1   Dogs   dog    NOUN   NNS   _   2   nsubj   _   _
    2   bark   bark   VERB   VBP   _   0   root    _   _

    form: ["Dogs", "bark"]   head: [1, 1]   deprel: ["nsubj", "root"]   …

Heads are places from 0 on, and the root is its own head. What is no tree is told with its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from indicial.data.columns.trees import cycle

FIELDS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel")
"""The second to the eighth field of a line."""
ALSO = {
    "x": "form", "w": "form", "word": "form", "words": "form", "tag": "upos", "pos": "upos",
    "relation": "deprel", "label": "deprel",
}  # fmt: skip
"""What inputs of equations may be called that read a column of another name."""


@dataclass(frozen=True)
class Sentence:
    line: int
    """Where it begins."""
    cells: dict[str, Any]


@dataclass(frozen=True)
class Fault:
    line: int
    why: str


@dataclass(frozen=True)
class _Word:
    line: int
    fields: list[str]


def sentences(lines: Iterable[str]) -> Iterator[Sentence | Fault]:
    """The sentences in turn; of one that is not as it should be, what is wrong and in which line."""
    words: list[_Word] = []
    text, begins = "", 1
    for number, line in enumerate(chain(lines, ["\n"]), 1):
        if not line.strip():
            if words:
                yield _sentence(words, text, begins)
            words, text, begins = [], "", number + 1
        elif line.startswith("#"):
            name, _, value = line[1:].partition("=")
            text = value.strip() if name.strip() == "text" else text
        else:
            words.append(_Word(number, line.rstrip("\r\n").split("\t")))


def _sentence(lines: Sequence[_Word], text: str, begins: int) -> Sentence | Fault:
    words: list[_Word] = []
    beyond = (0, "", 0)
    """The last word of a range that has begun, how it is written, and its line."""
    for word in lines:
        if len(word.fields) != 10:
            blanks = " (they are separated by tabs)" if len(word.fields) == 1 else ""
            return Fault(word.line, f"a word has {len(word.fields)} of 10 fields{blanks}")
        number = word.fields[0]
        # 3-4 is a word that is written as one and stands below as two, 5.1 one left out.
        first, dash, last = number.partition("-")
        if dash:
            if not (first.isdecimal() and last.isdecimal() and int(first) < int(last)):
                return Fault(word.line, f"{number} is no range of words, such as 3-4")
            if int(first) != len(words) + 1 or int(first) <= beyond[0]:
                return Fault(word.line, f"the range {number} stands before word {len(words) + 1}")
            beyond = (int(last), number, word.line)
        elif "." in number:
            before, _, which = number.partition(".")
            if not (before.isdecimal() and which.isdecimal()):
                return Fault(word.line, f"{number} is no number of a word left out, such as 5.1")
            if int(before) != len(words):
                return Fault(
                    word.line, f"{number}, a word left out, stands behind word {len(words)}"
                )
        elif number != str(len(words) + 1):
            return Fault(
                word.line, f"word {len(words) + 1} is expected here, and its number is {number!r}"
            )
        elif not word.fields[1]:
            return Fault(word.line, f"word {number} has no form")
        else:
            words.append(word)
    if not words:
        return Fault(begins, "the sentence has no words")
    if beyond[0] > len(words):
        return Fault(beyond[2], f"the range {beyond[1]} goes beyond the last word, {len(words)}")
    cells: dict[str, Any] = {
        name: [word.fields[place] for word in words] for place, name in enumerate(FIELDS, 1)
    }
    if all(head == "_" for head in cells["head"]):
        cells["head"] = None  # not parsed: it may still be read as a sentence
    else:
        found = _heads(words)
        if isinstance(found, Fault):
            return found
        cells["head"] = found
    return Sentence(begins, {**cells, "text": text or " ".join(cells["form"])})


def _heads(words: Sequence[_Word]) -> list[int] | Fault:
    """From 0, as places are counted; the root is its own head."""
    heads: list[int] = []
    root: _Word | None = None
    for place, word in enumerate(words):
        number, form, head = word.fields[0], word.fields[1], word.fields[6]
        named = f"word {number} ({form})"
        if head == "_":
            return Fault(word.line, f"{named} has no head")
        if not head.isdecimal():
            left_out = ", a word left out" if "." in head else ""
            return Fault(word.line, f"the head of {named} is {head!r}{left_out}; it is a number")
        if int(head) > len(words):
            return Fault(
                word.line, f"the head of {named} is {head}, and the sentence has {len(words)} words"
            )
        if int(head) == place + 1:
            return Fault(word.line, f"{named} is its own head")
        if head == "0" and root is not None:
            return Fault(
                word.line,
                f"{named} is a second root; the first is word {root.fields[0]} in line {root.line}",
            )
        root = word if int(head) == 0 else root
        heads.append(int(head) - 1 if int(head) else place)
    if loop := cycle(heads):
        path = " → ".join(words[place].fields[0] for place in [*loop, loop[0]])
        return Fault(
            words[min(loop)].line,
            f"the heads of words {path} go round in a circle, beneath no root",
        )
    return heads


def written(columns: Mapping[str, Sequence[Any]], text: str | None = None) -> str:
    """A sentence as CoNLL-U: its columns by name, `form` among them; the others are `_`.

    >>> written({"form": ["Go"], "head": [0], "deprel": ["root"]})
    '# text = Go\\n1\\tGo\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n'

    `text` is how it was typed, with `SpaceAfter=No` where there was no blank; without it there is one behind each word.
    """
    forms = columns["form"]
    text = " ".join((" ".join(forms) if text is None else text).split())
    lines = [f"# text = {text}"]
    behind = 0
    for place, form in enumerate(forms):
        cells = [str(columns[name][place]) if name in columns else "_" for name in FIELDS]
        if "head" in columns:
            head = int(columns["head"][place])
            cells[FIELDS.index("head")] = str(0 if head == place else head + 1)
        behind += len(form)
        apart = text[behind : behind + 1] in ("", " ")
        behind += apart
        lines.append("\t".join([str(place + 1), *cells, "_", "_" if apart else "SpaceAfter=No"]))
    return "\n".join(lines) + "\n\n"
