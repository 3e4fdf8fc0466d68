"""The study `repetition`: a trained trigram model runs in circles, the more the colder it is.

>>> contains_loop([7, 3, *[1, 2] * 10, 5, 6])
True
>>> returned([4, 1, 2, 3, 1, 2, 3])      # the pair (1, 2) of place 1 comes back at place 4
Returned(first=1, again=4)

The model goes on from the first two words of sentences of the world. The end of a sentence is a
token like any other, so the text goes on with the next sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import END, Tokenizer
from indicial.data.world import World, world
from indicial.decode.settings import LEAST, ROUNDS, Decoding
from indicial.decode.tokens import generate_tokens
from indicial.lab.studies.study import (
    Findings,
    Place,
    Say,
    Study,
    Terms,
    axes_of,
    curves,
    share_interval,
    training,
)
from indicial.lab.trials import Trial
from indicial.training.run import Run

TRAINED = "trigram"
"""The folder of the run."""
BATCH = 100
"""Texts that are made beside each other."""
SHOWN = 3
"""Loops that are shown."""
SHARES: dict[str, Any] = {
    "ylim": (-0.03, 1.05), "xlabel": "temperature", "ylabel": "texts that contain a loop (share)",
}  # fmt: skip


@dataclass(frozen=True)
class Plan(Terms):
    steps: int = 1000
    hidden: int = 128
    temperatures: tuple[float, ...] = (0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1)
    texts: int = 200
    words: int = 200


QUICK = Plan(
    steps=4, data="village", world_size=2000, context=32, batch_size=4, width=8, hidden=8,
    temperatures=(0, 0.5, 1), texts=10, words=80,
)  # fmt: skip


@dataclass(frozen=True)
class Repetition(Study):
    plan: Plan

    name = "repetition"

    def trials(self, folder: Path) -> list[Trial]:
        plan = self.plan
        sizes = {"I": plan.width, "J": plan.hidden}
        settings = plan.settings(folder / TRAINED, "trigram", sizes=sizes, steps=plan.steps)
        return [training("trigram", settings)]

    def find(self, place: Place, say: Say) -> Findings:
        plan, run = self.plan, Run.open(place.folder / TRAINED)
        module, tokenizer, own = run.module(), run.tokenizer(), world(plan.data)
        prompts = beginnings(own, tokenizer, plan.texts)
        hits: dict[float, int] = {}
        coldest: list[list[int]] = []
        for temperature in plan.temperatures:
            texts = written(module, prompts, temperature, plan.words)
            hits[temperature] = sum(map(contains_loop, texts))
            if not temperature:
                coldest = texts
            say(f"temperature {temperature:g}: {hits[temperature]} of {len(texts)} texts loop")
        said = spoken(own, tokenizer, plan.words, len(prompts))
        loops = [ring(text) for text in coldest]
        common = Counter(loops).most_common(1)[0][0] if loops else ()
        rounds = {t: round_probability(module, common, t) for t in plan.temperatures}
        title = (
            f"Repetition: trigram, {plan.steps:,} steps on {plan.data}; {len(prompts)} texts of "
            f"{plan.words} words"
        )
        rows = [row(f"{t:g}", hits[t], len(prompts), rounds[t]) for t in plan.temperatures]
        rows.append(row("the world itself", sum(map(contains_loop, said)), len(said), None))
        return Findings(
            title,
            rows,
            [NOTE, *told(coldest, loops, tokenizer)],
            {
                "texts": len(prompts),
                "looping": {f"{t:g}": count for t, count in hits.items()},
                "another_round": {f"{t:g}": chance for t, chance in rounds.items()},
                "loops": [[tokenizer.decode(r), n] for r, n in Counter(loops).most_common()],
            },
            lambda: figure(hits, len(prompts), title),
        )


NOTE = (
    f"A text loops if it contains {ROUNDS} rounds of the same words in a row at least, of which "
    f"{LEAST} words at least are as they were a round before. In brackets: 95 % (Wilson). The world "
    "itself: as many texts of as many words, made of its own sentences. another round: how likely it "
    "is to stay in the commonest loop for one more round."
)


def beginnings(own: World, tokenizer: Tokenizer, number: int) -> list[list[int]]:
    """The first two words of sentences; no pair twice."""
    found: dict[tuple[int, ...], None] = {}
    for sentence in islice(own.sentences(seed=0), 100 * number):
        found[tuple(tokenizer.encode(sentence)[:2])] = None
        if len(found) == number:
            break
    return [list(pair) for pair in found]


def written(
    module: ProgramModule, prompts: Sequence[list[int]], temperature: float, words: int
) -> list[list[int]]:
    """A text for each prompt, with the prompt; no end stops it."""
    settings = Decoding(temperature=temperature, max_new_tokens=words, seed=1)
    texts = []
    for start in range(0, len(prompts), BATCH):
        some = prompts[start : start + BATCH]
        made = generate_tokens(module, some, None, settings)
        texts += [[*prompt, *one.tokens] for prompt, (one,) in zip(some, made, strict=True)]
    return texts


def spoken(own: World, tokenizer: Tokenizer, words: int, number: int) -> list[list[int]]:
    """Texts of the world's own sentences, each as long as `words`."""
    sentences = own.sentences(seed=1)
    texts = []
    for _ in range(number):
        text: list[int] = []
        while len(text) < words:
            text += [*tokenizer.encode(next(sentences)), tokenizer.eos]
        texts.append(text[:words])
    return texts


# ---------------------------------------------------------------------- loops


def contains_loop(tokens: Sequence[int]) -> bool:
    """Whether some stretch goes round three times and repeats 16 tokens; `repeats` looks at ends."""
    text = np.asarray(tokens)
    for period in range(1, len(text) // ROUNDS + 1):
        same = text[period:] == text[:-period]
        breaks = np.flatnonzero(~same)
        edges = np.concatenate(([-1], breaks, [len(same)]))
        if int(np.diff(edges).max()) - 1 >= max((ROUNDS - 1) * period, LEAST):
            return True
    return False


class Returned(NamedTuple):
    """A pair of words that stands at `first` comes back at `again`; places from 0."""

    first: int
    again: int


def returned(tokens: Sequence[int]) -> Returned | None:
    """The first pair that comes back."""
    seen: dict[tuple[int, int], int] = {}
    for place, pair in enumerate(pairwise(tokens)):
        if pair in seen:
            return Returned(seen[pair], place)
        seen[pair] = place
    return None


Ring = tuple[int, ...]
"""The words of a loop, from the one with the smallest number on."""


def ring(tokens: Sequence[int]) -> Ring:
    """The loop that begins where the first pair comes back; the same wherever it is entered."""
    pair = returned(tokens)
    if pair is None:
        return ()
    inside = list(tokens[pair.first : pair.again])
    turns = [tuple(inside[n:] + inside[:n]) for n in range(len(inside))]
    return min(turns)


def keeps_going_round(tokens: Sequence[int]) -> bool:
    """Whether all is as it was a round before, from the first pair that comes back on."""
    pair = returned(tokens)
    if pair is None:
        return False
    period = pair.again - pair.first
    return list(tokens[pair.again :]) == list(tokens[pair.first : len(tokens) - period])


def round_probability(module: ProgramModule, loop: Ring, temperature: float) -> float | None:
    """How likely the words of a loop are to come once more; None where there is no loop."""
    if not loop:
        return None
    if not temperature:
        return 1.0
    count = len(loop)
    with torch.no_grad():
        # The second round has a whole round before it.
        found = module(w=torch.tensor(loop * 2), want=["P"])["P"][count:].double()
    drawn = (found.log() / temperature).log_softmax(-1)
    return float(drawn[range(count), list(loop)].sum().exp())


# ---------------------------------------------------------------------- in words and colours


def row(name: str, hits: int, of: int, another: float | None) -> dict[str, str]:
    low, high = share_interval(hits, of)
    return {"temperature": name, "loop": f"{hits}", "of": f"{of}", "share": f"{hits / of:.3f}",
            "95 %": f"[{low:.3f}, {high:.3f}]",
            "another round": "" if another is None else f"{another:.4f}"}  # fmt: skip


def told(texts: list[list[int]], loops: list[Ring], tokenizer: Tokenizer) -> list[str]:
    """What happens at temperature 0."""
    if not texts:
        return []
    back = [pair.again for text in texts if (pair := returned(text)) is not None]
    held = sum(map(keeps_going_round, texts))
    said = [
        f"At temperature 0 a pair of words comes back in {len(back)} of {len(texts)} texts; from "
        f"there on {held} of them repeat themselves to the end, word for word."
    ]
    if not back:
        return said
    said[0] += (
        f" It comes back at word {median(back):g} (the median; {max(back)} at the latest). There "
        f"are {tokenizer.size**2:,} pairs."
    )
    said.append(f"The first text: {example(texts[0], tokenizer)} …")
    common = [(one, n) for one, n in Counter(loops).most_common() if one]
    said.append(f"All end in {_count(len(common), 'loop')}. The commonest:")
    for one, number in common[:SHOWN]:
        words = tokenizer.decode(one).strip()
        said.append(f"{_count(number, 'text')}, {_count(len(one), 'word')}: {words}")
    return said


def example(text: Sequence[int], tokenizer: Tokenizer) -> str:
    """A text up to the end of the second round; ends of sentences are strokes."""
    pair = returned(text)
    shown = text if pair is None else text[: 2 * pair.again - pair.first]
    return tokenizer.decode(shown).replace(END, " |").strip()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def figure(hits: dict[float, int], of: int, title: str) -> Any:
    """The share of texts with a loop over the temperature, with intervals."""
    drawn, (axes,) = axes_of(1, title)
    shares = np.array(list(hits.values())) / of
    bounds = np.array([share_interval(count, of) for count in hits.values()]).T
    curves(axes, {"": (list(hits), shares, np.abs(bounds - shares))}, **SHARES)
    return drawn
