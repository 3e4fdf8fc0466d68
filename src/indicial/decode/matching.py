"""Answers and the truth → how many are exactly right, and what the wrong ones are like.

>>> found = match(Run.open("answers"), ["birth_dev.tsv"], {"question": "0", "answer": "1"})
>>> found.share, found.usual
(0.222, Usual(answer='London', share=0.05))

A wrong answer may be one that was the answer to another question in training (plausible), or none that is an
answer to anything known here (invented). How sure the model is, the probability that it gives its own answer, is
compared with how often it is right. Where the text is known that the model has read, answers are also counted by
how often what is asked about, and the true answer, stand in it.

Texts are compared with their references as they are read, detokenised, by sacreBLEU, whose signature says how; and
where there are several of them also by CIDEr (Vedantam et al. 2015, in the form CIDEr-D).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from indicial.data.questions import Index, Questions, Together, open_together
from indicial.data.sources import is_gone
from indicial.decode.answers import Answer, Progress
from indicial.decode.lookup import Librarian
from indicial.decode.settings import Decoding
from indicial.decode.text import Speaker
from indicial.program.messages import IndicialError
from indicial.training.run import Run

LONGEST = 32
"""Tokens of an answer."""
TOGETHER = 64
"""Questions that are answered side by side."""
OFTEN = {"0": (0, 0), "1": (1, 1), "2–4": (2, 4), "5–19": (5, 19), "20+": (20, 10**9)}
"""How often something stands in a text, in a few groups."""
BINS = 10
RECALLED = (1, 5)
COMMON = 0.05
"""Words that so many of the questions have say nothing of whom a question is about."""


@dataclass(frozen=True)
class Usual:
    """Always saying the answer that was the most frequent one in training."""

    answer: str
    share: float


@dataclass(frozen=True)
class Bin:
    """Answers that the model is about as sure of."""

    count: int
    sure: float
    right: float


@dataclass(frozen=True)
class Matches:
    """What was asked, what was said, what is true."""

    name: str
    questions: tuple[str, ...]
    answers: tuple[Answer, ...]
    truth: tuple[str, ...]
    learned: Mapping[str, int] = field(default_factory=dict)
    """How often each answer came in training, where that is known."""
    text: str = ""
    """What the model has read, where that is known."""
    recall: Mapping[int, float] = field(default_factory=dict)
    """Of a model that looks answers up: how often the page that a question is about, by its words and its
    true answer, is among the likeliest 1 and 5."""

    @property
    def right(self) -> list[bool]:
        return [str(a) == true for a, true in zip(self.answers, self.truth, strict=True)]

    @property
    def share(self) -> float:
        return float(np.mean(self.right))

    @property
    def usual(self) -> Usual | None:
        """The baseline that needs no model."""
        if not self.learned:
            return None
        answer = max(self.learned, key=lambda one: self.learned[one])
        return Usual(answer, self.truth.count(answer) / len(self.truth))

    @property
    def known(self) -> float:
        """The share of answers that are the true answer to some question, in training or here."""
        every = {*self.learned, *self.truth}
        return float(np.mean([str(answer) in every for answer in self.answers]))

    @property
    def plausible(self) -> float:
        """The share that is wrong, but an answer of the training set."""
        pairs = zip(self.answers, self.right, strict=True)
        return float(np.mean([not right and str(a) in self.learned for a, right in pairs]))

    @property
    def sure(self) -> list[float]:
        """The probability that the model gives to each of its own answers."""
        return [answer.probability or 0.0 for answer in self.answers]

    @property
    def calibration(self) -> list[Bin]:
        """From the least sure answers to the surest, in groups of one width."""
        sure, right = np.array(self.sure), np.array(self.right)
        place = np.minimum((sure * BINS).astype(int), BINS - 1)
        return [
            Bin(int(here.sum()), float(sure[here].mean()), float(right[here].mean()))
            for here in (place == n for n in range(BINS))
            if here.any()
        ]

    @property
    def calibration_error(self) -> float:
        """How far sureness and correctness are apart, on average."""
        apart = [b.count * abs(b.sure - b.right) for b in self.calibration]
        return sum(apart) / len(self.truth)

    def by_frequency(self, of: Sequence[str]) -> list[tuple[str, int, float]]:
        """Groups by how often each of some words stands in the text: name, how many, the share right."""
        counts = {one: self.text.count(one) if one else 0 for one in set(of)}
        found: list[tuple[str, int, float]] = []
        for name, (low, high) in OFTEN.items():
            here = [r for one, r in zip(of, self.right, strict=True) if low <= counts[one] <= high]
            if here:
                found.append((name, len(here), float(np.mean(here))))
        return found

    @property
    def subjects(self) -> list[str]:
        return subjects(self.questions)

    @property
    def by_name(self) -> list[tuple[str, int, float]]:
        """Groups of names by what can be seen of them: what they have in common, how many, the share right."""
        groups: dict[str, list[bool]] = {}
        for name, right in zip(self.subjects, self.right, strict=True):
            words = name.split()
            for group in (
                f"{len(words)} word{'s' * (len(words) != 1)}",
                "letters of a to z alone" if name.isascii() else "other letters",
            ):
                groups.setdefault(group, []).append(right)
        return [(group, len(some), float(np.mean(some))) for group, some in sorted(groups.items())]

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "data": self.name, "questions": len(self.truth), "match": self.share,
            "known": self.known, "plausible": self.plausible,
            "calibration_error": self.calibration_error,
            "calibration": [[b.count, b.sure, b.right] for b in self.calibration],
            "by_name": self.by_name,
        }  # fmt: skip
        if self.recall:
            found["recall"] = {str(most): share for most, share in self.recall.items()}
        if self.usual is not None:
            found["usual"] = [self.usual.answer, self.usual.share]
        if self.text:
            found["by_subject"] = self.by_frequency(self.subjects)
            found["by_answer"] = self.by_frequency(self.truth)
        return found


def subjects(questions: Sequence[str]) -> list[str]:
    """What each question is about: its longest run of words that few of the questions have."""
    cut = [re.findall(r"\S+", question) for question in questions]
    common = Counter(word for words in cut for word in set(words))
    most = max(1.0, COMMON * len(cut))
    return [_longest(words, lambda word: common[word] <= most) for words in cut]


def _longest(words: Sequence[str], rare: Callable[[str], bool]) -> str:
    best: list[str] = []
    run: list[str] = []
    for word in words:
        run = [*run, word] if rare(word) else []
        best = run if len(run) > len(best) else best
    return " ".join(best)


# ---------------------------------------------------------------------- asking


def match(
    run: Run,
    data: Sequence[str],
    columns: Mapping[str, str] | None = None,
    *,
    checkpoint: str = "best",
    pages: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Matches:
    """Asks the model of a run all questions of some tables, and compares its answers.

    `pages` are for a model that looks answers up, if they are others than those of its training.
    """
    said = run.description.settings.get("column") or {}
    columns = {**said, **(columns or {})}
    asked = open_together(data, columns).asked
    if not isinstance(asked, Questions):
        raise IndicialError(
            "--match compares answers with those of a table, .tsv, .csv or .jsonl, with a column for the "
            "questions and one for the answers"
        )
    questions, truth = zip(*asked.rows(), strict=True)
    recall: dict[int, float] = {}
    if run.description.task == "columns":
        librarian = Librarian.of(run, checkpoint, pages)
        answers, recall = _looked_up(librarian, questions, truth, progress)
    else:
        answers = tuple(ask(run, questions, checkpoint, progress))
    trained = trained_on(run, columns)
    learned = Counter(answer for _, answer in trained.questions()) if trained is not None else {}
    text = ""
    if trained is not None and trained.texts is not None:
        text = "\n".join(trained.texts.documents())
    return Matches(asked.name, questions, answers, truth, learned, text, recall)


def _looked_up(
    librarian: Librarian, questions: Sequence[str], truth: Sequence[str], progress: Progress | None
) -> tuple[tuple[Answer, ...], dict[int, float]]:
    """Answers off pages, and how often the right page is among the likeliest."""
    found = list(librarian.answers(questions, max(RECALLED), progress))
    index = Index(librarian.pages)
    right = [index.find(q, a) for q, a in zip(questions, truth, strict=True)]
    recall = {
        most: float(np.mean([n in f.others[:most] for n, f in zip(right, found, strict=True)]))
        for most in RECALLED
    }
    return tuple(one.answer for one in found), recall


def ask(
    run: Run, questions: Sequence[str], checkpoint: str = "best", progress: Progress | None = None
) -> Iterator[Answer]:
    """The likeliest answer of a language model to each question, token by token."""
    speaker = Speaker.of(run, checkpoint=checkpoint)
    if not speaker.asks:
        raise IndicialError(
            f"{run.folder} has learned no questions: train it with --column question=… --column answer=…"
        )
    settings = Decoding(temperature=0, max_new_tokens=LONGEST)
    for first in range(0, len(questions), TOGETHER):
        texts = speaker.generate(questions[first : first + TOGETHER], settings)
        for row, text in enumerate(texts, first):
            made = text.continuation
            yield Answer(row, text.text.strip(), float(np.exp(made.log_probability)), made)
        if progress is not None:
            progress(min(first + TOGETHER, len(questions)), len(questions))


def trained_on(run: Run, columns: Mapping[str, str]) -> Together | None:
    """What a run has read, and the run that it began from, where these files are still there."""
    names: list[str] = []
    said = run.description.settings
    while True:
        names += said.get("data", [])
        if not (before := said.get("from")):
            break
        try:
            said = Run.open(before).description.settings
        except IndicialError:
            break
    there = list(dict.fromkeys(name for name in names if not is_gone(name)))
    try:
        return open_together(there, columns) if there else None
    except IndicialError:
        return None


# ---------------------------------------------------------------------- texts beside their references

NGRAMS = 4
SPREAD = 6.0
"""Of the Gaussian by which CIDEr-D punishes another length, in words."""
WORD = re.compile(r"\w+(?:'\w+)?")

Grams = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Likeness:
    """Figures by name, from 0 to 100, and CIDEr from 0 to 10; and sacreBLEU's word on how they were made."""

    figures: dict[str, float]
    signature: str


def likeness(
    texts: Sequence[str], references: Sequence[Sequence[str]], lowercase: bool = False
) -> Likeness:
    """Scores of a whole set of texts, each beside its references."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise IndicialError(
            "BLEU and chrF are computed by sacreBLEU, which is not installed: "
            "pip install 'indicial[scores]'"
        ) from None

    most = max(map(len, references))
    streams: Any = [  # None where a text has fewer references than another
        [several[n] if n < len(several) else None for several in references] for n in range(most)
    ]
    # Whether a full stop stands by itself is how the data are: a note on it is for nobody here.
    bleu, chrf = BLEU(lowercase=lowercase, force=True), CHRF(lowercase=lowercase)
    figures = {
        "BLEU": float(bleu.corpus_score(list(texts), streams).score),
        "chrF": float(chrf.corpus_score(list(texts), streams).score),
    }
    if most > 1:
        figures["CIDEr"] = cider(texts, references)
    return Likeness(figures, str(bleu.get_signature()))


def cider(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """CIDEr-D: cosines of n-grams weighted by how few of the sets of references have them.

    >>> round(cider(["a red cup", "two dogs"], [["a red cup"] * 2, ["two dogs"] * 2]), 6)
    4.166667
    """
    sets = [[_grams(one) for one in several] for several in references]
    having: Grams = Counter(gram for several in sets for gram in set().union(*several))
    whole = math.log(len(sets))

    def weights(grams: Grams) -> list[dict[tuple[str, ...], float]]:
        found: list[dict[tuple[str, ...], float]] = [{} for _ in range(NGRAMS)]
        for gram, count in grams.items():
            found[len(gram) - 1][gram] = count * (whole - math.log(max(1, having[gram])))
        return found

    total = 0.0
    for text, several in zip(texts, sets, strict=True):
        made = _grams(text)
        total += sum(_cosine(made, weights(made), one, weights(one)) for one in several) / len(
            several
        )
    return 10 * total / len(texts)


def _grams(text: str) -> Grams:
    words = WORD.findall(text.lower())
    return Counter(
        tuple(words[n : n + size])
        for size in range(1, NGRAMS + 1)
        for n in range(len(words) - size + 1)
    )


def _cosine(
    made: Grams,
    weighted: list[dict[tuple[str, ...], float]],
    other: Grams,
    others: list[dict[tuple[str, ...], float]],
) -> float:
    """The mean over n of the cosines, what is repeated more often than there counting no more."""
    longer = sum(c for g, c in made.items() if len(g) == 1) - sum(
        c for g, c in other.items() if len(g) == 1
    )
    found = 0.0
    for one, two in zip(weighted, others, strict=True):
        norm = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in two.values()))
        if norm:
            found += sum(min(v, two.get(g, 0.0)) * two.get(g, 0.0) for g, v in one.items()) / norm
    return found / NGRAMS * math.exp(-(longer**2) / (2 * SPREAD**2))
