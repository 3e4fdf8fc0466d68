"""A model with a text to look at it on.

>>> subject = Subject.of_run("runs/people", "Anna knows Ben")
>>> subject.labels
[' Anna', ' knows', ' Ben']
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indicial.inspect.attention import room
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.compile.module.module import ProgramModule


@dataclass(frozen=True)
class Subject:
    module: ProgramModule
    tokens: list[int]
    labels: list[str]
    """The tokens as people read them."""
    left_out: int = 0
    """How many tokens of the text the model has no places for."""

    @staticmethod
    def cut(module: ProgramModule, tokens: list[int], labels: list[str]) -> Subject:
        """As much of a text as the model can read."""
        most = room(module)
        kept = len(tokens) if most is None else min(most, len(tokens))
        if not kept:
            raise IndicialError("the text is empty: give at least one token")
        return Subject(module, tokens[:kept], labels[:kept], len(tokens) - kept)

    @staticmethod
    def of_run(folder: str | os.PathLike[str], text: str, checkpoint: str = "best") -> Subject:
        """The model of a run; the text as its tokenizer reads it."""
        from indicial.decode.text import Speaker

        speaker = Speaker.of(folder, checkpoint=checkpoint)
        tokens = speaker.encode(text)
        return Subject.cut(speaker.module, tokens, [speaker.tokenizer.token(n) for n in tokens])
