"""A module and prompts of tokens → more tokens, drawn or searched for.

>>> generate_tokens(module, [[5, 2], [7]], eos=0, settings=Decoding(max_new_tokens=20, seed=1))
[[Continuation(tokens=[3, 8, 0], ended='eos', …)], [Continuation(tokens=[1, …], …)]]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

from indicial.decode.beam import beam_search
from indicial.decode.continuation import Continuation
from indicial.decode.sampling import Told, sample
from indicial.decode.settings import Decoding
from indicial.decode.walker import Walker
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.compile.module.module import ProgramModule
    from indicial.compile.stepping.state import State

TOGETHER = 32
"""Prompts that are searched for side by side, each with its beams."""


def generate_tokens(
    module: ProgramModule,
    prompts: Sequence[Sequence[int]],
    eos: int | None = None,
    settings: Decoding | None = None,
    *,
    told: Told | None = None,
    begun: State | None = None,
) -> list[list[Continuation]]:
    """For each prompt its `num_return_sequences` continuations; fewer if a search finds no more.

    `told(number, token, last)` is called for each new token as it is made; of beam search, at the end.
    `begun` is `module.begin(x=…)` of a model that reads more than its own tokens; it has one member,
    or one for each prompt.
    """
    settings = settings or Decoding()
    module.eval()
    walker = Walker(module, begun)
    starts = [started(walker, list(prompt), eos) for prompt in prompts]
    if not settings.slide:
        check_room(walker.room, max(map(len, starts)), settings.max_new_tokens)
    if settings.num_beams == 1:
        found = sample(walker, starts, eos, settings, told)
    else:
        found = search(module, begun, starts, eos, settings)
        if told is not None:
            tell(found, settings.num_return_sequences, told)
    return [
        [replace(one, window=outgrown(walker.room, len(start), len(one.tokens))) for one in several]
        for start, several in zip(starts, found, strict=True)
    ]


def search(
    module: ProgramModule,
    begun: State | None,
    prompts: Sequence[Sequence[int]],
    eos: int | None,
    settings: Decoding,
) -> list[list[Continuation]]:
    """Beam search for each prompt; those that are as long as each other go in together."""
    found: dict[int, list[Continuation]] = {}
    order = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
    for _, several in groupby(order, key=lambda number: len(prompts[number])):
        for numbers in batched(several, TOGETHER):
            walker = Walker(module, begun)
            walker.select([0 if walker.rows == 1 else number for number in numbers])
            texts = beam_search(walker, [prompts[number] for number in numbers], eos, settings)
            found.update(zip(numbers, texts, strict=True))
    return [found[number] for number in range(len(prompts))]


def batched(items: Iterable[int], count: int) -> Iterator[list[int]]:
    """`batched([1, 2, 3], 2)`: [1, 2], [3]."""
    every = iter(items)
    while some := list(islice(every, count)):
        yield some


def tell(found: Sequence[Sequence[Continuation]], copies: int, told: Told) -> None:
    """What a search found, as if it were made now."""
    for prompt, several in enumerate(found):
        for number, one in enumerate(several):
            for place, token in enumerate(one.tokens, 1):
                told(copies * prompt + number, token, place == len(one.tokens))


def started(walker: Walker, prompt: list[int], eos: int | None) -> list[int]:
    """The prompt; an empty one is the end of another text, if the model needs something to go on from."""
    if prompt or walker.speaks_first:
        return prompt
    if eos is None:
        raise IndicialError("this model predicts from what came before: give it a prompt")
    return [eos]


def outgrown(room: int | None, prompt: int, new: int) -> int | None:
    """The room, if the text is longer: everything but the last token is read."""
    return room if room is not None and prompt + new - 1 > room else None


def check_room(room: int | None, prompt: int, new: int) -> None:
    if room is None or outgrown(room, prompt, new) is None:
        return
    fits = room - prompt + 1
    advice = f"ask for {fits} new tokens at most" if fits > 0 else "shorten the prompt"
    raise IndicialError(
        f"{prompt} tokens of the prompt and {new} new ones are more than the {room + 1} that the "
        f"model has positions for: {advice}, or let the window slide"
    )
