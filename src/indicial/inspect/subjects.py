"""A model with what it is to read: a text, two texts, or numbers.

>>> subject = Subject.of_run("runs/people", "Anna knows Ben")
>>> subject.texts[0].labels
[' Anna', ' knows', ' Ben']
>>> Subject.of_run("runs/translation", "Anna kennt Ben", "Anna knows Ben").values(["α^X"])["α^X"].shape
(2, 4, 4, 3)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.compile.module.sizes import resolve
from indicial.inspect.readings import Reading, readings
from indicial.program import ir
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.compile.module.module import ProgramModule
    from indicial.decode.text import Speaker
    from indicial.training.run import Run

Array = np.ndarray[Any, np.dtype[np.float64]]

Encode = Callable[[Reading, str], tuple[list[int], list[str]]]
"""A text for an input → its tokens, and those as people read them."""


@dataclass(frozen=True)
class Text:
    """What one input reads."""

    reading: Reading
    tokens: list[int]
    labels: list[str]
    """The tokens as people read them."""
    left_out: int = 0
    """How many tokens of the text the model has no places for."""

    @staticmethod
    def cut(module: ProgramModule, reading: Reading, tokens: list[int], labels: list[str]) -> Text:
        """As much of a text as the model can read."""
        most = reading.room(module)
        kept = len(tokens) if most is None else min(most, len(tokens))
        if not kept:
            which = "text" if len(readings(module.code)) == 1 else f"text for {reading.name}"
            raise IndicialError(f"the {which} is empty: give at least one token")
        return Text(reading, tokens[:kept], labels[:kept], len(tokens) - kept)

    @property
    def whole(self) -> list[int]:
        """With a place more if that is where the last token is read; nobody sees what stands there."""
        return [*self.tokens, *[self.tokens[-1]] * self.reading.later]


@dataclass(frozen=True)
class Subject:
    """A module, its texts in the order source, target, and its inputs that are numbers."""

    module: ProgramModule
    texts: tuple[Text, ...]
    arrays: Mapping[str, Array] = field(default_factory=dict)

    @staticmethod
    def make(
        module: ProgramModule,
        encode: Encode,
        text: str | None = None,
        target: str | None = None,
        arrays: Mapping[str, object] | None = None,
    ) -> Subject:
        """A text is the source if the model reads two."""
        pairs = _given(module, text, target)
        texts = tuple(Text.cut(module, one, *encode(one, said)) for one, said in pairs)
        return Subject(module, texts, _numbers(module.code, arrays or {}))

    @staticmethod
    def of_run(
        run: str | os.PathLike[str] | Run,
        text: str | None = None,
        target: str | None = None,
        *,
        checkpoint: str = "best",
        arrays: Mapping[str, object] | None = None,
    ) -> Subject:
        """The model of a run; texts as its tokenizer reads them."""
        from indicial.decode.text import Speaker

        return Subject.of_speaker(Speaker.of(run, checkpoint=checkpoint), text, target, arrays)

    @staticmethod
    def of_speaker(
        speaker: Speaker,
        text: str | None = None,
        target: str | None = None,
        arrays: Mapping[str, object] | None = None,
    ) -> Subject:
        """The same of a model that is there already."""
        tokenizer = speaker.tokenizer

        def encode(reading: Reading, said: str) -> tuple[list[int], list[str]]:
            # Only a text that is predicted begins as the training let it begin.
            tokens = speaker.encode(said) if reading.predicted else tokenizer.encode(said)
            return tokens if said else [], [tokenizer.token(n) for n in tokens]

        return Subject.make(speaker.module, encode, text, target, arrays)

    def values(self, want: Sequence[str]) -> dict[str, Array]:
        """Tensors that the equations define, as arrays."""
        import torch

        given: dict[str, torch.Tensor] = {}
        for text in self.texts:
            names = [text.reading.name, text.reading.copy]
            given |= {name: torch.tensor(text.whole) for name in names if name is not None}
        kind = next((p.dtype for p in self.module.parameters()), torch.float64)
        given |= {name: torch.from_numpy(a).to(kind) for name, a in self.arrays.items()}
        with torch.no_grad():
            found = self.module(**given, want=list(want))
        return {key: value.double().numpy() for key, value in found.items()}


def _given(
    module: ProgramModule, text: str | None, target: str | None
) -> list[tuple[Reading, str]]:
    """Which text goes where, or what is missing."""
    reads = readings(module.code)
    if not reads and text is not None:
        raise IndicialError(
            f"{module.title} reads no tokens, so there is no text to give it; it reads numbers"
        )
    if len(reads) < 2 and target is not None:
        raise IndicialError(f"{module.title} reads one text, so there is no target to give it")
    if reads and text is None:
        raise IndicialError("say the text that the model is to read")
    if len(reads) == 2 and target is None:
        raise IndicialError(
            f"{module.title} reads two texts, {reads[0].name} and {reads[1].name}: "
            f"give the second too, --target TEXT"
        )
    said = [one for one in (text, target) if one is not None]
    return list(zip(reads, said, strict=True))


def _numbers(code: ir.Code, given: Mapping[str, object]) -> dict[str, Array]:
    """The arrays by the names that the equations have for them."""
    found = {}
    for spelling, values in given.items():
        name = resolve(code, spelling, ("input",))
        if code.tensors[name].values is not None:
            raise IndicialError(f"{name} takes a text; arrays are for inputs of numbers")
        try:
            found[name] = np.array(values, np.float64)
        except (TypeError, ValueError) as error:
            raise IndicialError(f"{name} is given no array of numbers: {error}") from error
    return found
