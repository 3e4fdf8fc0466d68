"""One text, written in turns: what you say and what the model answers stays in the context.

    session = Session(speaker, Decoding(temperature=0.8))
    session.say("To be, or ")
    for piece in session.answer():
        print(piece, end="")

An answer ends at the end of a text, after `max_new_tokens`, or when nobody asks for more of it; what
was made of it until then is part of the context.
"""

from __future__ import annotations

from collections.abc import Iterator

from indicial.decode.continuation import Repeat, repeats
from indicial.decode.sampling import Row, Sampling, stream
from indicial.decode.settings import Decoding
from indicial.decode.stream import TextStream
from indicial.decode.text import Speaker
from indicial.decode.tokens import started
from indicial.decode.walker import Walker
from indicial.program.messages import IndicialError


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
