"""A run and a prompt → text.

>>> from indicial import generate
>>> for text in generate("runs/people", "Anna", temperature=0.8, num_return_sequences=2, seed=1):
...     print(text)
Anna knows Ben .
Anna likes the dog of Carla .

Settings have the names and meanings that they have in Hugging Face (`settings.py`). Tokens become pieces of text as
soon as their characters are complete; what the pieces give together is what decoding all tokens at once gives.

A `Session` is one text, written in turns: what you say and what the model answers stays in the context. An
answer ends at the end of a text, after `max_new_tokens`, or when nobody asks for more of it.
`with_alternatives` tells of each token what might have stood in its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import MARK, Tokenizer
from indicial.decode.settings import Chooser, Continuation, Decoding, Repeat, normalised, repeats
from indicial.decode.tokens import Row, Sampling, generate_tokens, started, stream
from indicial.decode.walker import Walker
from indicial.program.messages import IndicialError
from indicial.training.run import Run

if TYPE_CHECKING:
    from indicial.decode.answers import Answer


HALF = "�"
"""How a character that is not complete is decoded."""
LOOKED_BACK = 4
"""Tokens before a piece that are decoded with it: a word after another begins with a blank."""


class TextStream:
    """`context` are the tokens before the first, which are not part of the text."""

    def __init__(self, tokenizer: Tokenizer, context: Sequence[int]) -> None:
        self._decode = tokenizer.decode
        self._before = list(context[-LOOKED_BACK:])
        self._pending: list[int] = []

    def add(self, token: int) -> str:
        """What can be said now that this token is known."""
        self._pending.append(token)
        piece = self._piece()
        return "" if piece.endswith(HALF) else self._said(piece)

    def end(self) -> str:
        """What is left when no token comes any more."""
        return self._said(self._piece()) if self._pending else ""

    def _piece(self) -> str:
        return self._decode(self._before + self._pending)[len(self._decode(self._before)) :]

    def _said(self, piece: str) -> str:
        self._before = (self._before + self._pending)[-LOOKED_BACK:]
        self._pending = []
        return piece


class InOrder:
    """Several texts that grow at once, written one after the other: the first as it is made.

    >>> texts = InOrder(begin=lambda n: print(f"[{n}]"), write=print)
    >>> texts.add(1, "b", False); texts.add(0, "a", True); texts.add(1, "c", True)
    [0]
    a
    [1]
    b
    c
    """

    def __init__(self, begin: Callable[[int], object], write: Callable[[str], object]) -> None:
        self._begin = begin
        self._write = write
        self._now = 0
        self._begun = False
        self._waiting: dict[int, list[str]] = {}
        self._ended: set[int] = set()

    def add(self, number: int, piece: str, last: bool) -> None:
        """A piece of a text, and whether it is its last one."""
        self._waiting.setdefault(number, []).append(piece)
        if last:
            self._ended.add(number)
        while self._now in self._waiting:
            self._write_what_waits()
            if self._now not in self._ended:
                return
            del self._waiting[self._now]
            self._now, self._begun = self._now + 1, False

    def _write_what_waits(self) -> None:
        if not self._begun:
            self._begin(self._now)
            self._begun = True
        for piece in self._waiting[self._now]:
            if piece:
                self._write(piece)
        self._waiting[self._now] = []


Heard = Callable[[int, str, bool], object]
"""Hears each piece of text as it is made: of which text, the piece, and whether it is the last."""


@dataclass(frozen=True)
class Text:
    """A prompt and what the model made of it; `str(text)` is both."""

    prompt: str
    text: str
    continuation: Continuation
    """The tokens, why they end, how likely they are, the loop in which they end."""

    def __str__(self) -> str:
        return self.prompt + self.text

    def to_json(self) -> dict[str, Any]:
        return {"prompt": self.prompt, "text": self.text, **asdict(self.continuation)}


class Speaker:
    """A module with its tokenizer; from a run, a folder, or both given.

    >>> speaker = Speaker.of("runs/people")
    >>> speaker.generate(["Anna"], Decoding(temperature=0))
    """

    def __init__(
        self,
        module: ProgramModule,
        tokenizer: Tokenizer,
        *,
        leads: bool = False,
        ends_within: bool = False,
        fills: bool = False,
        asks: bool = False,
    ) -> None:
        self.module = module
        self.tokenizer = tokenizer
        self.leads = leads
        """Whether every text of the training began with the end of another."""
        self.ends_within = ends_within
        """Whether texts began and ended anywhere in what the model saw in training."""
        self.fills = fills
        """Whether it was trained to fill in blanks, from the words on both sides."""
        self.asks = asks
        """Whether it has learned questions: what stands behind a prompt is its answer."""

    @staticmethod
    def of(
        model: str | os.PathLike[str] | Run | ProgramModule,
        tokenizer: Tokenizer | None = None,
        checkpoint: str = "best",
    ) -> Speaker:
        if isinstance(model, ProgramModule):
            if tokenizer is None:
                raise IndicialError("a module alone has no words: give its tokenizer, tokenizer=…")
            return Speaker(model, tokenizer)
        if not isinstance(model, str | os.PathLike | Run):
            raise IndicialError(
                f"text is made by a run, its folder, or a module with its tokenizer; {model!r:.60} is "
                "none of them"
            )
        run = Run.open(model)
        return Speaker(run.module(checkpoint), tokenizer or run.tokenizer(), **beginning(run))

    def encode(self, prompt: str) -> list[int]:
        """The tokens of a prompt, as the model was trained to see texts begin."""
        if self._is_question(prompt):
            prompt += MARK
        tokens = self.tokenizer.encode(prompt)
        leads = self.leads or (not tokens and self.ends_within)
        return [self.tokenizer.eos] * leads + tokens

    def shown(self, prompt: str) -> str:
        """A prompt before what is made of it; behind a question, an answer stands apart."""
        return f"{prompt} " if self._is_question(prompt) else prompt

    def _is_question(self, prompt: str) -> bool:
        return self.asks and bool(prompt) and MARK not in prompt

    def check_writes(self) -> None:
        """Complain about a model that cannot go on from the words before alone."""
        if self.fills:
            raise IndicialError(
                "this model was trained to fill in blanks, from the words on both sides, so it cannot "
                'write a text from left to right: give it a text with blanks, --text "the ___ is"; '
                "`indicial evaluate` and `indicial inspect` take it too"
            )

    def generate(
        self, prompts: Sequence[str], settings: Decoding, heard: Heard | None = None
    ) -> list[Text]:
        self.check_writes()
        if not prompts:
            return []
        tokens = [self.encode(prompt) for prompt in prompts]
        copies = settings.num_return_sequences
        streams = [TextStream(self.tokenizer, prompt) for prompt in tokens for _ in range(copies)]

        def told(number: int, token: int, last: bool) -> None:
            assert heard is not None
            piece = "" if token == self.tokenizer.eos else streams[number].add(token)
            heard(number, piece + (streams[number].end() if last else ""), last)

        found = generate_tokens(
            self.module, tokens, self.tokenizer.eos, settings, told=told if heard else None
        )
        return [
            Text(self.shown(prompt), self._text(start, one.tokens), one)
            for prompt, start, several in zip(prompts, tokens, found, strict=True)
            for one in several
        ]

    def _text(self, prompt: list[int], new: list[int]) -> str:
        said = new[:-1] if new[-1] == self.tokenizer.eos else new
        return self.tokenizer.decode(prompt + said)[len(self.tokenizer.decode(prompt)) :]


def beginning(run: Run) -> dict[str, bool]:
    """How texts began in training, with the end of another always or now and then; and the task."""
    said, data = run.description.settings, run.description.data
    several = data.get("train", {}).get("documents", 1) > 1
    return {
        "leads": bool(said.get("begins_with_eos")),
        "ends_within": said.get("layout") == "stream" and several,
        "fills": run.description.task == "blank",
        "asks": run.description.task == "texts" and bool(said.get("asks")),
    }


def generate(
    model: str | os.PathLike[str] | Run | ProgramModule,
    prompt: str | Sequence[str] | None = None,
    *,
    tokenizer: Tokenizer | None = None,
    checkpoint: str = "best",
    heard: Heard | None = None,
    inputs: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None,
    **settings: Any,
) -> Sequence[Text | Answer]:
    """Texts that go on from a prompt, or from each of several; from nothing without one.

    >>> print(*generate("runs/people", ["Anna", "The dog"], top_p=0.9, max_new_tokens=30))

    `model` is a run, its folder, or a module with its `tokenizer`. For each prompt there are
    `num_return_sequences` texts, one prompt after the other. `heard(number, piece, last)` is called
    with each piece of text as it is made. All other names are those of `Decoding`.

    >>> print(*generate("runs/german", inputs={"x": "ein hund läuft"}, num_beams=5))

    `inputs` are for a model that reads more than its own words: a row of them, or several; `prompt` is
    what each answer begins with then.
    """
    if inputs is not None:
        return _answers(model, inputs, prompt, checkpoint, settings)
    prompts = [prompt or ""] if prompt is None or isinstance(prompt, str) else list(prompt)
    for one in prompts:
        if not isinstance(one, str):
            raise IndicialError(f"a prompt is text, and {one!r:.40} is none")
    made = Decoding.read(settings)
    return Speaker.of(model, tokenizer, checkpoint).generate(prompts, made, heard)


def _answers(
    model: object,
    inputs: Mapping[str, object] | Sequence[Mapping[str, object]],
    prompt: str | Sequence[str] | None,
    checkpoint: str,
    settings: Mapping[str, Any],
) -> list[Answer]:
    """What the model of a run says of rows of inputs."""
    from indicial.decode.answers import Answerer

    if not isinstance(model, str | os.PathLike | Run):
        raise IndicialError("inputs are read by a run, which knows their words: give a run")
    if prompt is not None and not isinstance(prompt, str):
        raise IndicialError("with inputs, a prompt is what each answer begins with: give one text")
    run = Run.open(model)
    if run.description.task != "columns":
        raise IndicialError(f"the model of {run.folder} reads only its own words: give a prompt")
    answerer = Answerer.of(run, checkpoint)
    rows = [inputs] if isinstance(inputs, Mapping) else list(inputs)
    return list(answerer.answers(rows, answerer.settings(settings), prompt or ""))


class Session:
    """`repeat` is the loop in which the last answer ended."""

    def __init__(self, speaker: Speaker, settings: Decoding) -> None:
        if settings.num_beams > 1 or settings.num_return_sequences > 1:
            raise IndicialError("a conversation has one text: no beams and no several texts")
        speaker.check_writes()
        self.tokenizer = speaker.tokenizer
        self._speaker = speaker
        self.settings = settings
        self.walker = Walker(speaker.module)
        self.repeat: Repeat | None = None
        self._stream = stream(settings.seeded(), [], 0)

    @property
    def context(self) -> list[int]:
        tokens: list[int] = self.walker.tokens[0].tolist()
        return tokens

    def say(self, text: str) -> None:
        """Goes on with the text exactly as it is, wherever the last answer stopped."""
        if not text:
            return
        if not self.walker.length:
            self.walker.extend([self._speaker.encode(text)])
            return
        self.tokenizer.check(text)
        begins = self.context[-1] == self.tokenizer.eos
        self.walker.extend([self.tokenizer.numbers(text, begins).tolist()])

    def answer(self) -> Iterator[str]:
        """The answer in pieces, as it is made."""
        eos = self.tokenizer.eos
        if not self.walker.length:
            self.walker.extend([started(self.walker, self._speaker.encode(""), eos)])
        texts = TextStream(self.tokenizer, self.context)
        row = Row(0, (), self._stream)
        sampling = Sampling(self.walker, [row], eos, self.settings, None)
        self.repeat = None
        while row.ended is None:
            sampling.feed(sampling.next())
            token = row.tokens[-1]
            if token != eos and (piece := texts.add(token)):
                yield piece
        self.repeat = repeats(row.tokens)
        yield texts.end()


SHOWN = 8
"""Of the likeliest tokens."""


@dataclass(frozen=True)
class Other:
    """What might have stood there; `drawn` is its probability after temperature and top-p."""

    text: str
    probability: float
    drawn: float


@dataclass(frozen=True)
class Token:
    text: str
    probability: float
    others: list[Other]


@dataclass(frozen=True)
class Written:
    """What was written behind a prompt, and why it ends."""

    prompt: str
    tokens: list[Token]
    ended: str
    loop: Repeat | None
    nats: float | None
    """Of each token in the mean; none where one was impossible."""


def with_alternatives(speaker: Speaker, prompt: str, settings: Decoding) -> Written:
    """One text of a model that writes."""
    speaker.check_writes()
    tokenizer = speaker.tokenizer
    walker = Walker(speaker.module)
    begun = started(walker, speaker.encode(prompt), tokenizer.eos)
    walker.extend([begun])
    row = Row(0, (), stream(settings.seeded(), begun, 0))
    sampling = Sampling(walker, [row], tokenizer.eos, settings, None)
    chooser = Chooser(settings)
    tokens: list[Token] = []
    while row.ended is None:
        plain = walker.probabilities[0].astype(np.float64)
        fed = sampling.next()
        number = int(row.tokens[-1])
        cut = plain
        if not settings.samples:
            cut = np.eye(1, len(plain), number)[0]  # nothing is drawn
        elif not chooser.plain:
            cut = normalised(chooser.scores(plain[None], None))[0]
        tokens.append(_token(tokenizer, number, plain, cut))
        if row.ended is None:
            sampling.feed(fed)
    likely = np.isfinite(row.log_probability)
    nats = -row.log_probability / len(row.tokens) if likely else None
    return Written(speaker.shown(prompt), tokens, row.ended, repeats(row.tokens), nats)


def _token(tokenizer: Any, number: int, plain: Any, cut: Any) -> Token:
    others = [
        Other(tokenizer.token(int(n)), _digits(plain[n]), _digits(cut[n]))
        for n in plain.argsort()[::-1][:SHOWN]
    ]
    return Token(tokenizer.token(number), _digits(plain[number]), others)


def _digits(value: Any) -> float:
    return float(f"{float(value):.4g}")
