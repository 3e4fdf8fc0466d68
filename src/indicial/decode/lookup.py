"""A run that finds pages and reads them, and questions → answers with the page that each was read off.

>>> librarian = Librarian.of(Run.open("reader"))
>>> found, = librarian.answers(["Where was Anna Lind born?"])
>>> str(found.answer), found.page
('Lund', 'Anna Lind is a painter from Lund .')

All pages become vectors once, and a question is compared with all of them (`P(n | q)`, tasks/forms.py). The
likeliest are read, and the one of which the question is likeliest is taken: the equations say `P(w | x)` of a text
that is a question and its answer. So with the question given, the answer is what follows; with nothing given, it is
what one would ask of the page, and what the page says to that (`asked`). Pages are those that the run was trained
with, read anew from their files, or others: who edits a page gets another answer.

A text with blanks → the words that fit there, with their probabilities.

>>> filled = fill("runs/blank", "the ___ of Lund is")
>>> print(filled)
the mayor of Lund is
>>> filled.blanks[0].words[:2]
((' mayor', 0.81), (' owner', 0.07))

A blank is one token. Of several the surest is filled first, and the others are asked again with it in its
place. A model that reads no blanks (`blank_rnn`) predicts each word without reading it; then what is not
filled yet holds the likeliest word so far.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.codings import Coding, Text
from indicial.data.questions import Index, between, is_text, opened, parted
from indicial.data.sources import Files, is_gone, open_source
from indicial.data.tokenizers import Tokenizer
from indicial.decode.answers import Answer, Progress, continued, stacked
from indicial.decode.settings import Decoding
from indicial.program.messages import IndicialError
from indicial.tasks.forms import Form, Towers, form_of, reduced
from indicial.tasks.predictions import Measure, Prediction, prediction, sharing
from indicial.training.run import Run

TOGETHER = 32
"""Questions or pages that are taken side by side."""
BEAMS = 4
"""Answers that are looked at where none has most of the probability."""
ROOM = 24
"""Tokens of an answer, where nobody says how many."""


@dataclass(frozen=True)
class Found:
    """An answer, and where it stands."""

    answer: Answer
    page: str
    number: int
    """Of the page."""
    probability: float
    """That this is the page, of all there are."""
    others: tuple[int, ...] = ()
    """The numbers of the likeliest pages, this one first."""


class Said(NamedTuple):
    """A question, an answer, and the probability of what was said of them."""

    question: str
    answer: str
    probability: float


class Librarian:
    """The module of a run that finds and reads, with its pages."""

    def __init__(
        self,
        module: ProgramModule,
        form: Form,
        codings: Mapping[str, Coding],
        context: int,
        pages: Sequence[str],
    ) -> None:
        assert form.candidates is not None and form.prediction is not None and form.read is not None
        self.form, self.codings, self.context, self.pages = form, codings, context, pages
        module.eval()
        self.choice = form.prediction.distribution.name
        self.reader = sharing(module, reduced(module.code, [form.read.distribution.name]))
        towers = Towers.of(module.code, form.candidates)
        self.top = sharing(module, reduced(towers.top, [self.choice]))
        names = {tensor.name for tensor in form.candidates.given}
        self.page_parts: list[tuple[str, ProgramModule]] = []
        self.question_parts: list[tuple[str, ProgramModule]] = []
        for name in (n for n in towers.between if n in self.top.code.tensors):
            code = reduced(towers.rows, [name])
            own = self.question_parts if names.isdisjoint(code.tensors) else self.page_parts
            own.append((name, sharing(module, code)))

    @staticmethod
    def of(run: Run, checkpoint: str = "best", pages: Sequence[str] | None = None) -> Librarian:
        """`pages` are files or folders; those of the training if none are named."""
        form = form_of(run.program)
        if form.read is None or form.candidates is None:
            raise IndicialError(f"the model of {run.folder} looks nothing up in pages")
        texts = open_pages(run, pages)
        return Librarian(run.module(checkpoint), form, run.codings(), run.number("context"), texts)

    # ------------------------------------------------------------------ what is read

    def _inputs(self, module: ProgramModule, texts: Sequence[str]) -> tuple[Any, Any]:
        """The one text that a part of the program reads, for several rows."""
        read = self.form.read.token.name if self.form.read is not None else None
        names = [t.name for t in module.code.tensors.values() if t.role == "input"]
        slots = [slot for slot in self.form.slots if slot.name in names and slot.name != read]
        encoded = [
            {slot.name: self.codings[slot.name].encode(text)[: self.context] for slot in slots}
            for text in texts
        ]
        return stacked(slots, self.codings, encoded)

    def _vectors(self, parts: Sequence[tuple[str, Any]], texts: Sequence[str]) -> dict[str, Any]:
        found: dict[str, list[torch.Tensor]] = {name: [] for name, _ in parts}
        for first in range(0, len(texts), 8 * TOGETHER):
            for name, part in parts:
                inputs, lengths = self._inputs(part, texts[first : first + 8 * TOGETHER])
                with torch.no_grad():
                    found[name].append(part(**inputs, lengths=lengths, want=[name])[name])
        return {name: torch.cat(several) for name, several in found.items()}

    @cached_property
    def _page_vectors(self) -> dict[str, Any]:
        return self._vectors(self.page_parts, list(map(opened, self.pages)))

    # ------------------------------------------------------------------ finding

    def find(self, questions: Sequence[str], most: int = 5) -> list[list[tuple[int, float]]]:
        """The likeliest pages of each question, by their numbers, with their probabilities."""
        given = {**self._page_vectors, **self._vectors(self.question_parts, questions)}
        with torch.no_grad():
            chances = self.top(**given, want=[self.choice])[self.choice]
        best = chances.topk(min(most, len(self.pages)), -1)
        return [
            list(zip(places, values, strict=True))
            for places, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]

    def ranked(
        self, questions: Sequence[str], found: Sequence[Sequence[tuple[int, float]]]
    ) -> list[list[tuple[int, float]]]:
        """The same pages by how likely they are when each has been read as well.

        The reader says how likely a question is of a page, and Bayes' rule turns that round:
        P(n | q) is as P_find(n | q) P(q | n), over the pages that were found.
        """
        pairs = [
            (question, n)
            for question, pages in zip(questions, found, strict=True)
            for n, _ in pages
        ]
        nats: list[float] = []
        for first in range(0, len(pairs), 2 * TOGETHER):
            nats += self._question_nats(pairs[first : first + 2 * TOGETHER])
        result, place = [], 0
        for pages in found:
            here = np.array(nats[place : place + len(pages)])
            place += len(pages)
            logs = np.log(np.maximum([chance for _, chance in pages], 1e-30)) - here
            chances = np.exp(logs - logs.max())
            chances /= chances.sum()
            order = np.argsort(-chances, kind="stable").tolist()
            result.append([(pages[n][0], float(chances[n])) for n in order])
        return result

    def _question_nats(self, pairs: Sequence[tuple[str, int]]) -> list[float]:
        """-ln P of each question, given its page."""
        read = self.form.read
        assert read is not None
        token, coding = read.token.name, self.codings[read.token.name]
        assert isinstance(coding, Text)
        inputs, lengths = self._inputs(self.reader, [opened(self.pages[n]) for _, n in pairs])
        room = self.reader.sizes.known.get(read.length or "", self.context)
        slots = [slot for slot in self.form.slots if slot.name == token]
        asked = [coding.tokenizer.encode(between(question))[:room] for question, _ in pairs]
        given, long = stacked(slots, self.codings, [{token: np.array(one)} for one in asked])
        found = self._measure({**inputs, **given}, {**lengths, **long})
        inside = torch.arange(found.shape[1]) < long[str(read.length)][:, None]
        nats: list[float] = (found.double() * inside).sum(1).tolist()
        return nats

    @cached_property
    def _measure(self) -> Measure:
        assert self.form.read is not None
        return Measure(self.reader, self.form.read)

    # ------------------------------------------------------------------ reading

    def answers(
        self, questions: Sequence[str], most: int = 5, progress: Progress | None = None
    ) -> Iterator[Found]:
        """Each question, answered off the likeliest page."""
        for first in range(0, len(questions), TOGETHER):
            some = questions[first : first + TOGETHER]
            ranked = self.ranked(some, self.find(some, most))
            pages = [self.pages[pages[0][0]] for pages in ranked]
            read = self._read(pages, some)
            for row, (pages_, (_, answer, sure)) in enumerate(zip(ranked, read, strict=True)):
                number, chance = pages_[0]
                said = Answer(first + row, answer, sure)
                others = tuple(page for page, _ in pages_)
                yield Found(said, self.pages[number], number, chance, others)
            if progress is not None:
                progress(min(first + TOGETHER, len(questions)), len(questions))

    def asked(self, pages: Sequence[str], progress: Progress | None = None) -> Iterator[Said]:
        """What one would ask of each page, what the page says to that, and how sure that is."""
        for first in range(0, len(pages), TOGETHER):
            some = pages[first : first + TOGETHER]
            made = self._said(some, [""] * len(some))
            yield from self._read(some, [several[0].question for several in made])
            if progress is not None:
                progress(min(first + TOGETHER, len(pages)), len(pages))

    def questions(
        self, known: Mapping[str, str] | None = None, progress: Progress | None = None
    ) -> dict[str, str]:
        """New questions with their answers, one for each page that gives both. A page that a `known` one
        is about has given its question already."""
        known, index = known or {}, Index(self.pages)
        taken = {index.find(question, answer) for question, answer in known.items()}
        made = self.asked([p for n, p in enumerate(self.pages) if n not in taken], progress)
        return {q: a for q, a, _ in made if q and a and "\t" not in q + a and q not in known}

    def _read(self, pages: Sequence[str], questions: Sequence[str]) -> list[Said]:
        """Each question with its answer, the likeliest that is no part of a word.

        What has more than half of all probability is the likeliest; for others a search looks at several.
        """
        found = [several[0] for several in self._said(pages, questions)]
        doubtful = [
            n
            for n, (said, page) in enumerate(zip(found, pages, strict=True))
            if said.probability <= 0.5 or is_broken(said.answer, page)
        ]
        if doubtful:
            some = [pages[n] for n in doubtful]
            tried = self._said(some, [questions[n] for n in doubtful], BEAMS)
            for n, page, several in zip(doubtful, some, tried, strict=True):
                whole = (one for one in several if not is_broken(one.answer, page))
                found[n] = next(whole, several[0])
        return found

    def _said(
        self, pages: Sequence[str], questions: Sequence[str], beams: int = 1
    ) -> list[list[Said]]:
        """What the reader says to each question, several answers if they are searched for; where there is no
        question, one with its answer."""
        found = self.form.read
        assert found is not None
        coding = self.codings[found.token.name]
        assert isinstance(coding, Text)
        inputs, lengths = self._inputs(self.reader, list(map(opened, pages)))
        starts = [coding.tokenizer.encode(between(q)) if q else [] for q in questions]
        room = self.reader.sizes.known.get(found.length or "", self.context)
        settings = Decoding(
            do_sample=False, num_beams=beams, num_return_sequences=beams, length_penalty=0.0,
            max_new_tokens=max(1, min(ROOM, room) if any(questions) else room),
        )  # fmt: skip
        made = continued(self.reader, found, inputs, lengths, starts, settings)
        return [
            [
                Said(
                    *parted(coding.show(np.array(start + one.tokens))),
                    math.exp(one.log_probability),
                )
                for one in several
            ]
            for start, several in zip(starts, made, strict=True)
        ]


def is_broken(answer: str, page: str) -> bool:
    """Whether an answer stands on a page, but nowhere as whole words: `Sacramen` of `Sacramento`."""
    return answer in page and not re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", page)


def open_pages(run: Run, names: Sequence[str] | None) -> list[str]:
    """The pages that are named, or those that the run was trained with."""
    said = run.description.settings
    named = list(names or [name for name in said.get("data", []) if is_text(name)])
    if not names and (gone := next((name for name in named if is_gone(name)), None)):
        raise IndicialError(f"the pages {gone} are gone: name them with --pages FILE")
    if not named:
        raise IndicialError(f"{run.folder} was trained without pages: name them with --pages FILE")
    source = open_source(named, documents=said.get("documents") or "auto")
    if not isinstance(source, Files):
        raise IndicialError("pages are files: lines of a text, or the files of a folder")
    return list(source.settled().documents())


BLANK = re.compile(r"_{3,}")
SWEEPS = 5
"""So often blanks are asked again at most, where each has the others in view."""


@dataclass(frozen=True)
class Blank:
    """One blank: the words that fit, the likeliest first, with their probabilities."""

    place: int
    """The number of its token in the text."""
    words: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Filled:
    """A text, and what was put into its blanks."""

    text: str
    result: str
    blanks: tuple[Blank, ...]

    def __str__(self) -> str:
        return self.result

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def fill(
    model: str | os.PathLike[str] | Run,
    text: str,
    *,
    alternatives: int = 5,
    checkpoint: str = "best",
) -> Filled:
    """The text with its blanks, `___`, filled by a run that was trained for it."""
    run = Run.open(model)
    if run.description.task != "blank":
        raise IndicialError(
            "blanks are filled by a model that reads the words on both sides: train one with --task "
            "blank, for example blank_rnn; this one goes on from a prompt"
        )
    module = run.module(checkpoint)
    leads = bool(run.description.settings.get("begins_with_eos"))
    return filled(module, run.tokenizer(), text, leads=leads, alternatives=alternatives)


def filled(
    module: ProgramModule,
    tokenizer: Tokenizer,
    text: str,
    *,
    leads: bool = False,
    alternatives: int = 5,
) -> Filled:
    """The same with a module and its tokenizer."""
    found = prediction(module.code)
    if found is None:
        raise IndicialError(
            "the equations say no probability of a word, so nothing can be filled in"
        )
    tokens, places = _tokens(tokenizer, text, leads)
    asked = _Asked(module, found, tokenizer, tokens)
    words: dict[int, tuple[tuple[str, float], ...]] = {}
    open_places = list(places)
    while open_places:
        scores = asked.distributions(open_places)
        surest = max(open_places, key=lambda place: float(scores[place].max()))
        asked.tokens[surest] = int(scores[surest].argmax())
        open_places.remove(surest)
    for _ in range(SWEEPS if len(places) > 1 else 1):
        before = list(asked.tokens)
        for place in places:
            one = asked.distributions([place])[place]
            asked.tokens[place] = int(one.argmax())
            best = one.topk(min(alternatives, len(one)))
            likeliest = [tokenizer.decode([token]) for token in best.indices.tolist()]
            words[place] = tuple(zip(likeliest, best.values.tolist(), strict=True))
        if asked.tokens == before:
            break
    first = int(leads)
    result = tokenizer.decode(asked.tokens[first:])
    return Filled(text, result, tuple(Blank(p - first, words[p]) for p in places))


def _tokens(tokenizer: Tokenizer, text: str, leads: bool) -> tuple[list[int], list[int]]:
    """The tokens of a text, with the end sign in the place of each blank, and where those are."""
    pieces = BLANK.split(text)
    if len(pieces) == 1:
        raise IndicialError(
            'there is no blank in the text: write ___ for a word, as in "the ___ is"'
        )
    tokens, places = [tokenizer.eos] * leads, []
    for number, piece in enumerate(pieces):
        if number:
            places.append(len(tokens))
            tokens.append(tokenizer.eos)
        if tokenizer.kind == "bpe":  # a word begins with its blank, and at the beginning gets one
            piece = piece.removesuffix(" ") if number < len(pieces) - 1 else piece
            piece = piece.removeprefix(" ") if number else piece
        tokens += tokenizer.encode(piece)
    return tokens, places


@dataclass
class _Asked:
    """A text that is filled step by step."""

    module: ProgramModule
    prediction: Prediction
    tokenizer: Tokenizer
    tokens: list[int]

    def distributions(self, places: Sequence[int]) -> dict[int, torch.Tensor]:
        """P at each of these places, with blanks there if the model reads blanks."""
        given = torch.tensor([self.tokens])
        where = torch.zeros(given.shape, dtype=torch.bool)
        where[0, list(places)] = True
        size, name = self.tokenizer.size, self.prediction.distribution.name
        inputs = self.prediction.inputs(given, where, size)
        device = next(self.module.parameters()).device
        given_there = {n: v.to(device) for n, v in inputs.items()}
        self.module.eval()
        with torch.no_grad():
            values = self.module(**given_there, want=[name])[name][0]
        result = {}
        for place in places:
            one = values[place, :size].clone().double().cpu()
            one[self.tokenizer.eos] = 0
            if self.tokenizer.unknown is not None:
                one[self.tokenizer.unknown] = 0
            result[place] = one / one.sum()
        return result
