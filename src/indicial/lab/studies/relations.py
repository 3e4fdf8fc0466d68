"""Heads of attention as finders of relations: does a word look at its head, or its head at it?

>>> counts = count(word_weights(reader, sentences), sentences)
>>> counts.right["det"][head, way], counts.total["det"]
(412, 503)

Weights between words are those between their pieces: the sum over the pieces looked at, the mean over those that look.
The head of a word is the word that it has the strongest link with, in one of three ways: it looks there, it is looked
at from there, or both added up. Beside it stand the best fixed distance for each relation, and chance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from indicial.data.binding import TEXT, UNITS
from indicial.data.codings import Text
from indicial.data.tables import open_table
from indicial.data.treebanks import Sentence, likeliest_tree, sentences
from indicial.inspect.structures import weights_of
from indicial.program.messages import IndicialError
from indicial.tasks.forms import form_of
from indicial.tasks.predictions import prediction, probe, token_inputs
from indicial.training.run import Run

WAYS = ("looks", "is looked at", "both")
FAR = 10
"""Words that a fixed distance may be."""
ALL = "all"
LEAST = 1e-3
"""What is added to weights before their logarithm is taken."""
STEPS = 60
"""Of the fit that combines heads."""

Array = Any


@dataclass(frozen=True)
class Tree:
    """A sentence, the head of each word (the root's is itself), and what the links are called."""

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def linked(self) -> list[int]:
        """All words but the root."""
        return [place for place, head in enumerate(self.heads) if head != place]


def trees_of(folder: Path, part: str, most: int, longest: int) -> list[Tree]:
    """Sentences of `*part*.conllu` that are neither one word nor too long, spread over the file."""
    found: list[Tree] = []
    with conllu_of(folder, part).open(encoding="utf-8") as lines:
        for one in sentences(lines):
            if (
                isinstance(one, Sentence)
                and one.cells["head"]
                and 2 <= len(one.cells["form"]) <= longest
            ):
                cells = one.cells
                kinds = tuple(relation.partition(":")[0] for relation in cells["deprel"])
                found.append(Tree(tuple(cells["form"]), tuple(cells["head"]), kinds))
    if not found:
        raise IndicialError(
            f"{conllu_of(folder, part)} has no sentence with heads that could be used"
        )
    step = max(1, len(found) // most)
    return found[::step][:most]


def conllu_of(folder: Path, part: str) -> Path:
    """The one file of a folder whose name has `train` or `dev` in it."""
    if not folder.is_dir():
        raise IndicialError(
            f"--data {folder}: there is no such folder; it holds *train*.conllu and *dev*.conllu"
        )
    found = sorted(folder.glob(f"*{part}*.conllu"))
    if len(found) != 1:
        there = ", ".join(path.name for path in found) or "none"
        raise IndicialError(
            f"--data {folder}: one file with {part} in its name is wanted, *{part}*.conllu; there is {there}"
        )
    open_table(found[0])  # says what is wrong with it
    return found[0]


# ---------------------------------------------------------------------- weights between words


class Reader:
    """A model, and how it reads a sentence."""

    def __init__(self, run: Run, checkpoint: str = "best") -> None:
        self.run, self.module = run, run.module(checkpoint)
        found, how = prediction(run.program.code), probe(run.program)
        words = token_inputs(run.program.code)[0] if found is None else found.blanked or found.token
        self.text, self.coding = words.name, None
        if run.description.task == "columns":
            # Of several inputs the words are what is read, and not labels or places that are said of them.
            texts = [slot for slot in form_of(run.program).slots if slot.kind in (TEXT, UNITS)]
            if not texts:
                raise IndicialError(f"{run.folder} reads no words")
            self.text = min(texts, key=lambda slot: slot.predicted).name
            self.coding = run.codings()[self.text]
        later = found is not None and found.token.name == self.text and not how.looks_ahead
        self.later = int(later and how.first_is_known)
        """A model that predicts the first word as well reads each word so many places later."""
        self.tokenizer = run.tokenizer() if self.coding is None else None
        if isinstance(self.coding, Text):
            self.tokenizer = self.coding.tokenizer
        self.end = 0 if self.tokenizer is None else self.tokenizer.eos

    def fitting(self, trees: Sequence[Tree], most: int) -> list[Tree]:
        """The sentences that have so many places at most."""
        found = [tree for tree in trees if len(self.pieces(tree.words)[0]) + self.later <= most]
        if not found:
            raise IndicialError(
                f"{self.run.folder} reads {most} tokens at most, and every sentence has more: take a model with a "
                "larger --context"
            )
        return found

    def pieces(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The tokens of a sentence, and which word each belongs to."""
        if self.tokenizer is None:
            assert self.coding is not None
            return self.coding.encode(list(words)).tolist(), list(range(len(words)))
        tokens: list[int] = []
        owners: list[int] = []
        for place, word in enumerate(words):
            own = self.tokenizer.numbers(f" {word}" if place else word, place == 0).tolist()
            tokens += own
            owners += [place] * len(own)
        return tokens, owners


def word_weights(reader: Reader, trees: Sequence[Tree]) -> tuple[list[Array], list[str]]:
    """For each sentence an array over heads and pairs of words, and what the heads are called."""
    cut = [reader.pieces(tree.words) for tree in trees]
    found: list[Array] = [None] * len(trees)
    titles: list[str] = []
    for length, numbers in sorted(_by_length(cut).items()):
        # Of one length each, so that nobody looks at what is behind the end.
        rows = [cut[number][0] + [reader.end] * reader.later for number in numbers]
        heads = weights_of(reader.module, {reader.text: torch.tensor(rows)})
        titles = [f"{head.layer}.{head.head}" for head in heads]
        for place, number in enumerate(numbers):
            own = np.stack([head.weights[place] for head in heads])
            own = own[:, reader.later : reader.later + length, reader.later : reader.later + length]
            found[number] = joined(own, cut[number][1])
    return found, titles


def _by_length(cut: Sequence[tuple[list[int], list[int]]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, (tokens, _) in enumerate(cut):
        found.setdefault(len(tokens), []).append(number)
    return found


def joined(weights: Array, owners: Sequence[int]) -> Array:
    """Weights between pieces → between words: the mean over pieces that look, the sum over those looked at."""
    belongs = np.equal.outer(np.arange(max(owners) + 1), np.asarray(owners)).astype(float)
    return (belongs / belongs.sum(1, keepdims=True)) @ weights @ belongs.T


def ways(weights: Array) -> Array:
    """Scores[way, head, word, its head] of one sentence; nobody is its own head."""
    turned = weights.swapaxes(-1, -2)
    found = np.stack([weights, turned, weights + turned])
    found[..., np.arange(found.shape[-1]), np.arange(found.shape[-1])] = -1
    return found


# ---------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Counts:
    """How many words of each relation there are, and how many heads each finder finds."""

    total: Counter[str]
    right: dict[str, Array]
    """By relation: an array over finders."""

    def best(self, relation: str) -> tuple[int, ...]:
        return tuple(
            int(n)
            for n in np.unravel_index(self.right[relation].argmax(), self.right[relation].shape)
        )

    def accuracy(self, relation: str, finder: tuple[int, ...]) -> float:
        return float(self.right[relation][finder] / max(1, self.total[relation]))


def _counted(trees: Sequence[Tree], hits: Iterator[Array]) -> Counts:
    """`hits` of each sentence: an array over finders and words."""
    total: Counter[str] = Counter()
    right: dict[str, Array] = {}
    for tree, hit in zip(trees, hits, strict=True):
        for place in tree.linked:
            for relation in (tree.relations[place], ALL):
                total[relation] += 1
                right[relation] = right.get(relation, 0) + hit[..., place].astype(int)
    return Counts(total, right)


def count(weights: Sequence[Array], trees: Sequence[Tree]) -> Counts:
    """Of every head, in every way: finders are numbered by way and head."""
    return _counted(
        trees,
        (
            ways(own).argmax(-1) == np.array(tree.heads)
            for own, tree in zip(weights, trees, strict=True)
        ),
    )


def count_distances(trees: Sequence[Tree]) -> Counts:
    """Of every fixed distance, from -FAR to FAR: the word so many places behind is the head."""

    def hits() -> Iterator[Array]:
        for tree in trees:
            apart = np.array(tree.heads) - np.arange(len(tree.heads))
            yield np.arange(-FAR, FAR + 1)[:, None] == np.where(apart == 0, 2 * FAR, apart)

    return _counted(trees, hits())


def chance(trees: Sequence[Tree]) -> dict[str, float]:
    """What somebody finds who takes any other word: by relation."""
    found: dict[str, list[float]] = defaultdict(list)
    for tree in trees:
        for place in tree.linked:
            for relation in (tree.relations[place], ALL):
                found[relation].append(1 / (len(tree.words) - 1))
    return {relation: float(np.mean(shares)) for relation, shares in found.items()}


# ---------------------------------------------------------------------- all heads together


def features(tree: Tree, weights: Array | None, distances: bool) -> Array:
    """What is known of each pair of word and head, and on the diagonal of each word as the root."""
    size = len(tree.words)
    parts = [np.eye(size)[..., None]]
    off = 1 - np.eye(size)[..., None]
    if weights is not None:
        both = np.concatenate([weights, weights.swapaxes(-1, -2)])
        parts.append(np.log(both + LEAST).transpose(1, 2, 0) * off)
    if distances:
        apart = np.clip(np.subtract.outer(np.arange(size), np.arange(size)).T, -FAR, FAR)
        parts.append(np.eye(2 * FAR + 1)[apart + FAR] * off)
    return np.concatenate(parts, -1)


def combine(known: Sequence[Array], trees: Sequence[Tree]) -> Array:
    """The weights of features under which the true heads are likeliest: a softmax over heads, fitted."""
    count, size = known[0].shape[-1], max(len(tree.words) for tree in trees)
    given = torch.zeros(len(trees), size, size, count)
    there = torch.zeros(len(trees), size, dtype=torch.bool)
    heads = torch.zeros(len(trees), size, dtype=torch.int64)
    for number, (one, tree) in enumerate(zip(known, trees, strict=True)):
        long = len(tree.words)
        given[number, :long, :long] = torch.from_numpy(one).float()
        there[number, :long] = True
        heads[number, :long] = torch.tensor(tree.heads)
    weights = torch.zeros(count, requires_grad=True)
    fit = torch.optim.LBFGS([weights], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Any:
        fit.zero_grad()
        scores = (given @ weights).masked_fill(~there[:, None, :], -1e9)
        found = torch.nn.functional.cross_entropy(scores[there], heads[there])
        found = found + 1e-4 * weights.square().sum()
        found.backward()  # type: ignore[no-untyped-call]
        return found

    fit.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach().numpy()


def attachment(known: Sequence[Array], trees: Sequence[Tree], weights: Array) -> float:
    """UAS of the likeliest trees: the part of all words, roots too, whose head is right."""
    right = total = 0
    for one, tree in zip(known, trees, strict=True):
        found = likeliest_tree(one @ weights)
        right += sum(a == b for a, b in zip(found, tree.heads, strict=True))
        total += len(found)
    return right / total


def likeness(weights: Sequence[Array]) -> float:
    """How much like a tree heads are: the part of the weight between different words that lies on the best tree, mean
    over heads and sentences."""
    shares: list[float] = []
    for own in weights:
        for head in own:
            links = head + head.T
            np.fill_diagonal(links, 0)
            if links.sum() > 0:
                tree = likeliest_tree(links)
                shares.append(2 * sum(links[t, s] for t, s in enumerate(tree)) / links.sum())
    return float(np.mean(shares))
