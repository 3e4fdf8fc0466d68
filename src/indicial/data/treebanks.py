"""Sentences of Universal Dependencies, as CoNLL-U writes them ↔ lists with an entry for each word; as people type them.

    1   Dogs   dog    NOUN   NNS   _   2   nsubj   _   _
    2   bark   bark   VERB   VBP   _   0   root    _   _

    form: ["Dogs", "bark"]   head: [1, 1]   deprel: ["nsubj", "root"]   …

Heads are places from 0 on, and the root is its own head. What is no tree is told with its line.

>>> words_of("They don't like Anna's e-mails (I can't see why).")
['They', 'do', "n't", 'like', 'Anna', "'s", 'e-mails', '(', 'I', 'ca', "n't", 'see', 'why', ')', '.']

A line with a mark or `n't` between blanks, and none behind a word, was divided by somebody, and is taken as it is.
Others are cut, from left to right, by the first of these that fits: addresses and smileys; abbreviations; numbers with
what joins their digits; words, without `n't`, `'s` and the like behind them, which come next; marks, a row of the same
one being one. Words with a hyphen are three, but for those that begin with `e-`, `co-`, `re-` and the like.

The likeliest tree is the maximum spanning tree of the scores (Chu and Liu 1965, Edmonds 1967): take the best head of
each word; where that closes a cycle, make one word of it and begin again. There is one root, as Universal
Dependencies want it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

ENDS = r"['’`](?:s|m|d|ll|re|ve)\b"
"""What is a word of its own behind another."""
DIVIDED = re.compile(rf"(?:^|\s)(?:[.,;?!()\"]|n['’`]t|{ENDS})(?:\s|$)", re.IGNORECASE)
"""What hardly anybody types with blanks on both sides."""
TYPED = re.compile(r"\w[,?!](?:\s|$)")
"""A mark behind a word: nobody divided this."""
SHORT = (
    "mr|mrs|ms|dr|st|sr|jr|prof|gen|gov|sen|rep|lt|col|sgt|capt|rev|hon|vs|etc|inc|ltd|corp|dept|est|ext|fig|vol|ft|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun"
)
"""Words that keep their dot, but for the end of a sentence."""
JOINED = (
    "e|co|re|pre|post|non|anti|un|ex|mid|multi|semi|sub|super|inter|intra|ultra|micro|mini|bi|x|t"
)
"""What keeps its hyphen, and the word behind it."""
LETTER = r"[^\W\d_]"
WORDS = (
    # addresses, names of files, smileys
    r"(?:https?|ftp)://[^\s<>\"]*[\w/]|www\.[^\s<>\"]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)*",
    rf"{LETTER}[\w-]*(?-i:\.[a-z]{{2,4}}|\.[A-Z]{{3,4}})(?!['’\w])",
    r"[:;=]['-]?[)(DPp](?!\w)|<3(?!\d)",
    # abbreviations
    rf"(?:{LETTER}\.){{2,}}|\b(?:{SHORT}|(?-i:[A-Z]))\.(?=\s*\w|,)",
    # numbers
    r"\d+(?:[.,:/]\d+)+|\d+-\d+-\d+(?:-\d+)*|\d+(?:st|nd|rd|th|s)\b|\d+",
    # words
    rf"n['’`]t\b|{ENDS}|(?:{JOINED})-{LETTER}+",
    r"can(?=not\b)|gon(?=na\b)|wan(?=na\b)|got(?=ta\b)|(?:do|did|does|is|was|ca|wo)(?=nt\b)",
    rf"{LETTER}+?(?=n['’`]t\b)|(?:{LETTER}|_)(?:\w|&(?={LETTER}))*(?:['’](?!(?:s|m|d|ll|re|ve)\b){LETTER}+)?",
    # marks
    r"[.?!]{2,}|([^\w\s])\1*|\S",
)
PIECES = re.compile("|".join(WORDS), re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """The words and marks of a sentence."""
    if DIVIDED.search(text) and not TYPED.search(text):
        return text.split()
    return [found.group() for found in PIECES.finditer(text)]


LEAST = -80.0
"""ln P of what is as good as impossible; nothing is quite, so that there is always a tree."""


def cycle(heads: Sequence[int]) -> list[int] | None:
    """Places that lead to each other and not to a root (a place that is its own head); None if there are none."""
    done = [False] * len(heads)
    for start in range(len(heads)):
        path: list[int] = []
        at = start
        while not done[at]:
            done[at] = True
            path.append(at)
            at = heads[at]
        if at in path and heads[at] != at:
            return path[path.index(at) :]
    return None


def is_tree(heads: Sequence[int]) -> bool:
    """Whether all places lead to one, which is its own head."""
    roots = sum(head == place for place, head in enumerate(heads))
    return roots == 1 and cycle(heads) is None


def likeliest_tree(scores: Any) -> list[int]:
    """The heads of the tree with the largest sum of `scores[t, s]`: that of s as the head of t, or, with s = t,
    of t as the root."""
    scores = np.maximum(np.nan_to_num(np.asarray(scores, np.float64), nan=LEAST), LEAST)
    quick: list[int] = scores.argmax(1).tolist()
    if is_tree(quick):
        return quick
    count = len(scores)
    # The root becomes a place of its own before the others. It costs so much that one word alone hangs on it.
    wide = np.full((count + 1, count + 1), -np.inf)
    wide[1:, 1:] = scores
    np.fill_diagonal(wide, -np.inf)
    wide[1:, 0] = scores.diagonal() - (count + 1) * (np.ptp(scores) + 1)
    heads = _spanning(wide)[1:] - 1
    return [place if head < 0 else head for place, head in enumerate(heads.tolist())]


def _spanning(scores: Any) -> Any:
    """The best head of every place but 0, on which all hang in the end."""
    heads = scores.argmax(1)
    heads[0] = 0
    loop = cycle(heads.tolist())
    if loop is None:
        return heads
    ring = np.asarray(loop)
    rest = np.setdiff1d(np.arange(len(scores)), ring)
    last = len(rest)  # where the cycle stands, as one place
    small = np.full((last + 1, last + 1), -np.inf)
    small[:last, :last] = scores[np.ix_(rest, rest)]
    # A link into the cycle takes the place of the one that its word has inside.
    entering = scores[np.ix_(ring, rest)] - scores[ring, heads[ring]][:, None]
    leaving = scores[np.ix_(rest, ring)]
    small[last, :last] = entering.max(0)
    small[:last, last] = leaving.max(1)
    found = _spanning(small)
    from_loop = ring[leaving.argmax(1)]
    heads[rest] = np.where(
        found[:last] == last, from_loop, rest[np.minimum(found[:last], last - 1)]
    )
    heads[ring[entering[:, found[last]].argmax()]] = rest[found[last]]
    return heads


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
