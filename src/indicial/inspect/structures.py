"""What heads do on many texts at once: how widely and how far they look, and at what, where the grammar is known.

>>> heads = weights_of(module, {"w": tokens})      # tokens: (B, T)
>>> heads[0].layer, heads[0].weights.shape, heads[0].entropy().mean(), heads[0].distance().mean()
(1, (B, T, T), 1.31…, 4.02…)
>>> sentences = [Parsed.of(world.sentence(rng), world) for _ in range(300)]
>>> found = structures(module, sentences, tokenizer, later=1)
>>> found[0].title, found[0].shares["before"].share, found[0].shares["before"].even
('layer 1, head 0', 0.64…, 0.13…)

A share is a mean over all places where there is something to look at, and `even` what even weights
over the places seen would give there. Place t of a model reads one word and what follows is the
next; a place that reads none is the beginning of the text.

    itself     the place itself: the word just read
    before     the place before
    first      the first place
    same       earlier places that read the same word as this one
    subject    where a verb follows: the words of its subject, if they are three words back or more
    noun       at the same places: any other noun, the mean of one

And by the kind of the words looked at, relations of Universal Dependencies: `found[0].kinds["punct"].share`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import Tokenizer
from indicial.data.world.rendering import Dependency
from indicial.data.world.world import Sentence, World
from indicial.inspect.attention import Array, Attention, attentions, each_head, title_of
from indicial.program import ir
from indicial.program.messages import IndicialError
from indicial.tasks.predictions import token_inputs


@dataclass(frozen=True)
class HeadWeights:
    """What one head looks at: `weights[b,t_1,t_2]`, from place t_1 of text b at place t_2."""

    layer: int | None
    head: int | None
    weights: Array

    @property
    def title(self) -> str:
        return title_of("", self.layer, self.head)

    def entropy(self) -> Array:
        """Nats, by text and place; e to it is over how many places the weights are spread."""
        weights = self.weights
        logs = np.log(np.where(weights > 0, weights, 1))  # 0 ln 0 is 0
        return np.asarray(-(weights * logs).sum(-1))

    def distance(self, power: float = 1) -> Array:
        """The mean of |t_1 - t_2|^power, by text and place."""
        rows, columns = np.indices(self.weights.shape[-2:])
        return np.asarray((self.weights * np.abs(rows - columns) ** power).sum(-1))


def weights_of(module: ProgramModule, inputs: Mapping[str, torch.Tensor]) -> list[HeadWeights]:
    """Of every head of every layer that looks at the text itself, in the order of the equations."""
    code = module.code
    found = [one for one in attentions(code) if _looks_at_itself(code, one)]
    if not found:
        raise IndicialError(f"{module.title} has no head that looks at the text it reads")
    with torch.no_grad():
        given: dict[str, Any] = dict(inputs)
        arrays = module(**given, want=[one.name for one in found])
    return [
        HeadWeights(*head)
        for one in found
        for head in each_head(module, one, arrays[one.name].double().cpu().numpy())
    ]


def _looks_at_itself(code: ir.Code, one: Attention) -> bool:
    """Whether the weights are on the text that looks, not on another or on an image."""
    axes = code.tensors[one.name].axes
    return [axes[n].extent for n in one.columns] == [axes[one.rows].extent]


NAMES = ("itself", "before", "first", "same", "subject", "noun")
SUBJECTS = ("nsubj", "nsubj:pass")
FINITE = ("aux", "aux:pass", "cop")
"""Words that go before the verb they belong to, and agree with the subject instead of it."""
NOUNS = (*SUBJECTS, "obj", "obl", "nmod", "conj", "appos")
PRONOUNS = ("who", "whom", "himself", "herself", "themselves")
AFAR = 3
"""So many words back is what no look at the last two words finds."""
FIRST = 2
"""From this place on the place itself, the one before and the first are three."""


@dataclass(frozen=True)
class Verb:
    """A verb, the words of its subject, and those of each other noun before it; words count from 0."""

    at: int
    subject: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]

    @property
    def afar(self) -> bool:
        """Whether its subject is neither the word before it nor the one before that."""
        return self.at - max(self.subject) >= AFAR


@dataclass(frozen=True)
class Parsed:
    """A sentence with its verbs, and the relation of each word to its head."""

    words: tuple[str, ...]
    verbs: tuple[Verb, ...]
    kinds: tuple[str, ...] = ()

    @staticmethod
    def of(sentence: Sentence, world: World) -> Parsed:
        tree = world.dependencies(sentence.derivation)
        kinds = tuple(relation for _, relation in tree)
        return Parsed(tuple(sentence.words), tuple(verbs(sentence.words, tree)), kinds)


def verbs(words: Sequence[str], tree: Sequence[Dependency]) -> list[Verb]:
    """The verbs that stand behind their subjects.

    >>> verbs(["Ann", "Lee", "is", "tall"], [(4, "nsubj"), (1, "flat"), (4, "cop"), (0, "root")])
    [Verb(at=2, subject=(0, 1), others=())]
    """
    found = []
    for number, (head, relation) in enumerate(tree):
        if relation not in SUBJECTS or words[number] in PRONOUNS:
            continue
        own = {head - 1} | {
            n for n, (top, kind) in enumerate(tree) if top == head and kind in FINITE
        }
        at = min(own)
        if at < number:
            continue
        others = [
            _name(n, tree)
            for n, (_, kind) in enumerate(tree[:at])
            if kind in NOUNS and words[n] not in PRONOUNS and n != number
        ]
        found.append(Verb(at, _name(number, tree), tuple(others)))
    return found


def _name(noun: int, tree: Sequence[Dependency]) -> tuple[int, ...]:
    """A noun with the other words of its name."""
    rest = (n for n, (top, kind) in enumerate(tree) if top == noun + 1 and kind == "flat")
    return noun, *rest


@dataclass(frozen=True)
class Share:
    """The mean share of the weight over `places`; `even` is that of even weights."""

    share: float
    even: float
    places: int


@dataclass(frozen=True)
class Head:
    """What one head does."""

    layer: int | None
    head: int | None
    shares: dict[str, Share]
    """By the names above; what the sentences never have is left out."""
    entropy: float
    """Nats, the mean over places."""
    kinds: dict[str, Share] = field(default_factory=dict)
    """By the kind of the words that are looked at, over all places."""

    @property
    def title(self) -> str:
        return title_of("", self.layer, self.head)


def structures(
    module: ProgramModule, sentences: Sequence[Parsed], tokenizer: Tokenizer, later: int
) -> list[Head]:
    """All heads, on all sentences, each read by itself; place t reads word t - `later`."""
    (text,) = token_inputs(module.code)
    targets = [targets_of(one, later) for one in sentences]
    kinds = sorted({kind for one in sentences for kind in one.kinds})
    found = []
    for head in weights_of(module, {text.name: padded(sentences, tokenizer)}):
        shares = {}
        for name in NAMES:
            share = _share(head.weights, [target[name] for target in targets])
            if share is not None:
                shares[name] = share
        entropies = [
            row[FIRST : len(one.words) + later]
            for row, one in zip(head.entropy(), sentences, strict=True)
        ]
        entropy = float(np.concatenate(entropies).mean())
        by_kind = {kind: _kind_share(head.weights, sentences, kind, later) for kind in kinds}
        found.append(Head(head.layer, head.head, shares, entropy, by_kind))
    return found


def padded(sentences: Sequence[Parsed], tokenizer: Tokenizer) -> torch.Tensor:
    """Sentences as rows of tokens, a word each; behind them stands their end, as often as needed."""
    rows = [tokenizer.encode(" ".join(one.words)) for one in sentences]
    for row, one in zip(rows, sentences, strict=True):
        if len(row) != len(one.words):
            raise IndicialError(
                f"{len(row)} tokens for the {len(one.words)} words of {' '.join(one.words)!r}: "
                "heads can be told by words only where each word is a token"
            )
    length = 1 + max(map(len, rows))
    found = torch.full((len(rows), length), tokenizer.eos)
    for number, row in enumerate(rows):
        found[number, : len(row)] = torch.tensor(row)
    return found


def targets_of(sentence: Parsed, later: int) -> dict[str, Array]:
    """For each name a matrix over places: how much a look from one place at another counts.

    Place `later` + n reads word n. A row without anything is a place that does not count.
    """
    count = len(sentence.words) + later
    read = [None] * later + list(sentence.words)
    found = {name: np.zeros((count, count)) for name in NAMES}
    for place in range(FIRST, count):
        found["itself"][place, place] = 1
        found["before"][place, place - 1] = 1
        found["first"][place, 0] = 1
        for earlier in range(place):
            found["same"][place, earlier] = read[earlier] == read[place]
    for verb in sentence.verbs:
        place = verb.at - 1 + later  # it reads the word before the verb
        if place < FIRST or not verb.afar:
            continue
        for word in verb.subject:
            found["subject"][place, word + later] = 1
        for noun in verb.others:
            for word in noun:
                found["noun"][place, word + later] = 1 / len(verb.others)
    return found


def _share(weights: Array, targets: Sequence[Array]) -> Share | None:
    shares, evens = [], []
    for row, target in zip(weights, targets, strict=True):
        count = len(target)
        places = np.flatnonzero(target.sum(-1))
        shares.append((row[:count, :count] * target).sum(-1)[places])
        evens.append((target.sum(-1) / (1 + np.arange(count)))[places])
    share, even = np.concatenate(shares), np.concatenate(evens)
    return Share(float(share.mean()), float(even.mean()), len(share)) if len(share) else None


def _kind_share(weights: Array, sentences: Sequence[Parsed], kind: str, later: int) -> Share:
    """The share of words of one kind, wherever they stand; places that see none count as well."""
    shares, evens = [], []
    for row, one in zip(weights, sentences, strict=True):
        count = len(one.words) + later
        is_kind = np.array([False] * later + [own == kind for own in one.kinds])
        shares.append((row[:count, :count] * is_kind).sum(-1)[FIRST:])
        evens.append((np.cumsum(is_kind) / (1 + np.arange(count)))[FIRST:])
    share = np.concatenate(shares)
    return Share(float(share.mean()), float(np.concatenate(evens).mean()), len(share))
