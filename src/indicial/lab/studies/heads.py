"""The study `heads`: what each head of a trained transformer does, told from its weights.

head  itself  before  first  same  subject  noun  words  without it  at verbs
2.3      16%     11%    14%   32%      36%    4%    2.9      +0.102    +0.431
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import Tokenizer
from indicial.data.world import World, world
from indicial.inspect.pictures import matrix
from indicial.inspect.structures import NAMES, Head, Parsed, padded, structures
from indicial.lab.studies.study import Findings, Place, Say, Study, Terms, training
from indicial.lab.trials import Trial
from indicial.program.messages import IndicialError
from indicial.program.outputs import new_figure
from indicial.tasks.predictions import Measure, prediction, probe
from indicial.training.run import Run

VALUES = "W^V"
"""Without its values a head says nothing; so it is switched off."""
TRAINED = "transformer"
"""The folder of the run."""
MUCH, OFTEN = 0.15, 2.0
"""A head is said to look somewhere if it gives it so much of its weight, and so much more than even
weights would."""

PHRASES = {
    "itself": "on the word just read",
    "before": "on the word before it",
    "first": "on the beginning of the text",
    "same": "on the same word earlier, where there is one",
    "subject": "on a subject afar when its verb follows",
}

KINDS = {
    "acl": "`called`", "acl:relcl": "verbs of relative clauses", "advmod": "adverbs",
    "amod": "adjectives", "appos": "appositions", "aux:pass": "auxiliaries", "case": "prepositions",
    "cc": "`and`", "conj": "what `and` joins", "cop": "forms of `be`", "det": "articles",
    "flat": "surnames", "nmod": "attributes", "nmod:poss": "possessives", "nsubj": "subjects",
    "nsubj:pass": "subjects of passives", "obj": "objects", "obl": "places and times",
    "punct": "commas and full stops", "root": "main verbs", "xcomp": "names of animals",
}  # fmt: skip
"""What the relations of the world's sentences are, in words."""


@dataclass(frozen=True)
class Plan(Terms):
    steps: int = 2000
    layers: int = 2
    heads: int = 4
    seed: int = 0
    sentences: int = 400


QUICK = Plan(
    steps=4, data="village", world_size=2000, context=32, batch_size=4, width=8, heads=2,
    sentences=40,
)  # fmt: skip


@dataclass(frozen=True)
class Heads(Study):
    plan: Plan
    subject: str | None = None
    """The run that is looked at; None trains one."""

    name = "heads"

    @property
    def terms(self) -> dict[str, Any]:
        if self.subject is not None:
            return {"run": self.subject, "sentences": self.plan.sentences}
        return asdict(self.plan)

    def trials(self, folder: Path) -> list[Trial]:
        if self.subject is not None:
            Run.open(self.subject)  # a wrong name is told before a folder is made
            return []
        plan = self.plan
        sizes = {"J": plan.width, "L": plan.layers, "K": plan.heads}
        settings = plan.settings(
            folder / TRAINED, "transformer", sizes=sizes, steps=plan.steps, seed=plan.seed
        )
        return [training("transformer", settings)]

    def find(self, place: Place, say: Say) -> Findings:
        folder = Path(self.subject) if self.subject is not None else place.folder / TRAINED
        run = Run.open(folder)
        own = world_of(run)
        say(f"{folder} reads {self.plan.sentences} sentences of {own.name}")
        module, tokenizer = run.module(), run.tokenizer()
        sentences = new_sentences(own, self.plan.sentences)
        # A model that says something of the first word reads each word one place later.
        heads = structures(module, sentences, tokenizer, int(probe(run.program).first_is_known))
        costs = knocked_out(module, sentences, tokenizer)
        title = (
            f"Heads: {run.program.title}, {run.checkpoint().step:,} steps on {own.name}, read on "
            f"{len(sentences)} new sentences"
        )
        return Findings(
            title,
            table(heads, costs),
            [NOTE, *(told(head, costs) for head in heads), *seen(heads)],
            {head.title: numbers(head, costs) for head in heads},
            lambda: figure(heads, title),
        )


NOTE = (
    "The share of its weight that a head gives to the word just read, the one before, the beginning, "
    "the same word earlier; and where a verb follows whose subject is three words back or more, to "
    "that subject and to any one other noun. even: what even weights would give. words: e to the "
    "entropy. without it: nats per token that are lost more with the head switched off; at verbs: the "
    "same for those verbs."
)


def world_of(run: Run) -> World:
    """The world that a run was trained on."""
    name = run.description.data.get("world", {}).get("name")
    if name is None:
        raise IndicialError(
            f"{run.folder} was trained on {run.description.data.get('name', 'some text')}, whose "
            "grammar nobody knows; take a run that was trained on a built-in world, --data people"
        )
    return world(name)


def new_sentences(own: World, number: int) -> list[Parsed]:
    """Sentences as the world says them, with random numbers of their own; the same every time."""
    draws = random.Random(f"heads of {own.name}")
    return [Parsed.of(own.sentence(draws), own) for _ in range(number)]


# ---------------------------------------------------------------------- switched off


class Cost(NamedTuple):
    """Nats per token that are lost more without a head: everywhere, and at verbs with a subject afar."""

    everywhere: float
    at_verbs: float


Costs = dict[tuple[int, int], Cost]
"""By layer and head."""


def knocked_out(module: ProgramModule, sentences: list[Parsed], tokenizer: Tokenizer) -> Costs:
    """What each head is worth; {} if the equations do not tell how to switch one off."""
    found = prediction(module.code)
    tensor = module.code.tensors.get(VALUES)
    letters = [axis.letter for axis in tensor.axes] if tensor is not None else []
    if found is None or tensor is None or letters[:2] != ["ℓ", "k"]:
        return {}
    first = tensor.axes[0].lower.value(module.sizes.known)
    tokens = padded(sentences, tokenizer)
    ends = np.array([len(one.words) for one in sentences])
    counted = np.arange(tokens.shape[1]) <= ends[:, None]  # the end of each sentence counts too
    verbs = np.zeros_like(counted)
    for number, one in enumerate(sentences):
        verbs[number, [verb.at for verb in one.verbs if verb.afar]] = True
    measure = Measure(module, found)

    def losses() -> tuple[float, float]:
        nats = measure({found.token.name: tokens}).numpy()
        return float(nats[counted].mean()), float(nats[verbs].mean()) if verbs.any() else 0.0

    whole = losses()
    costs = {}
    layers, heads = module.parameter(VALUES).shape[:2]
    for layer in range(layers):
        for head in range(heads):
            with _silent(module, layer, head):
                now = losses()
            costs[layer + first, head] = Cost(now[0] - whole[0], now[1] - whole[1])
    return costs


@contextmanager
def _silent(module: ProgramModule, layer: int, head: int) -> Iterator[None]:
    """A head whose values are 0, for a while."""
    values = module.parameter(VALUES)
    kept = values[layer, head].clone()
    with torch.no_grad():
        values[layer, head] = 0
    try:
        yield
    finally:
        with torch.no_grad():
            values[layer, head] = kept


# ---------------------------------------------------------------------- in words, numbers, colours


def _cost(head: Head, costs: Costs) -> Cost | None:
    if head.layer is None or head.head is None:
        return None
    return costs.get((head.layer, head.head))


def short(head: Head) -> str:
    """`1.0` for layer 1, head 0."""
    return ".".join(str(n) for n in (head.layer, head.head) if n is not None) or "α"


def table(heads: list[Head], costs: Costs) -> list[dict[str, str]]:
    names = [name for name in NAMES if name in heads[0].shares]
    even = {name: f"{heads[0].shares[name].even:.0%}" for name in names}
    rows = [{"head": "even", **even, "words": "", "without it": "", "at verbs": ""}]
    for head in heads:
        cost = _cost(head, costs)
        rows.append(
            {
                "head": short(head),
                **{name: f"{head.shares[name].share:.0%}" for name in names},
                "words": f"{math.exp(head.entropy):.1f}",
                "without it": "" if cost is None else f"{cost.everywhere:+.3f}",
                "at verbs": "" if cost is None else f"{cost.at_verbs:+.3f}",
            }
        )
    return rows


def told(head: Head, costs: Costs) -> str:
    """A sentence about a head, from its numbers alone."""
    looks = [name for name in PHRASES if name in head.shares and _stands_out(head, name)]
    looks.sort(key=lambda name: -head.shares[name].share)
    if looks:
        what = ", ".join(_part(head, name) for name in looks)
    else:
        top = max(
            (name for name in PHRASES if name in head.shares),
            key=lambda name: head.shares[name].share / head.shares[name].even,
        )
        what = f"nothing that stands out; most, {_part(head, top)}"
    spread = f"its weight is spread over {math.exp(head.entropy):.1f} words"
    cost = _cost(head, costs)
    lost = ""
    if cost is not None:
        lost = f"; without it {_more(cost.everywhere)} per token, {_more(cost.at_verbs)} at verbs"
    return f"{short(head)}: {what}; {_favourite(head)}{spread}{lost}."


def _favourite(head: Head) -> str:
    """The kind of words that gets most above its even share."""
    if not head.kinds:
        return ""
    kind, share = max(head.kinds.items(), key=lambda one: one[1].share - one[1].even)
    return (
        f"of kinds of words, {KINDS.get(kind, kind)}: {share.share:.0%} (even: {share.even:.0%}); "
    )


def _stands_out(head: Head, name: str) -> bool:
    share = head.shares[name]
    return share.share >= MUCH and share.share >= OFTEN * share.even


def _part(head: Head, name: str) -> str:
    share = head.shares[name]
    compared = f"even weights: {share.even:.0%}"
    if name == "subject" and "noun" in head.shares:
        compared += f"; on any other noun: {head.shares['noun'].share:.0%}"
    return f"{share.share:.0%} {PHRASES[name]} ({compared})"


def _more(cost: float) -> str:
    return f"{abs(cost):.3f} nats {'more' if cost > 0 else 'less'} are lost"


def seen(heads: list[Head]) -> list[str]:
    """How many places the shares are means of."""
    counts = {name: share.places for name, share in heads[0].shares.items()}
    listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return [f"Places: {listed}."]


def numbers(head: Head, costs: Costs) -> dict[str, Any]:
    return {
        "shares": {name: asdict(share) for name, share in head.shares.items()},
        "kinds": {name: asdict(share) for name, share in head.kinds.items()},
        "entropy": head.entropy,
        "without_it": None if (cost := _cost(head, costs)) is None else cost._asdict(),
        "told": told(head, costs),
    }


def figure(heads: list[Head], title: str) -> Any:
    """A row for each head, a column for each place to look at; the first row is even weights."""
    names = [name for name in NAMES if name in heads[0].shares]
    rows = [[heads[0].shares[name].even for name in names]]
    rows += [[head.shares[name].share for name in names] for head in heads]
    drawn = new_figure(6.5, 1.4 + 0.42 * len(rows))
    axes = drawn.add_subplot()
    labels = ["even", *(short(head) for head in heads)]
    picture = matrix(axes, np.array(rows), labels, names, 1.0, signed=False)
    axes.set_aspect("auto")
    axes.tick_params(axis="x", rotation=0)
    axes.set_ylabel("layer.head")
    axes.set_title(title, fontsize=9, loc="left")
    drawn.colorbar(picture, ax=axes, label="share of the weight")
    return drawn
