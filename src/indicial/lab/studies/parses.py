"""The study `parses`: how much of a parse the heads of small models find, and what it takes to make one find it.

relation   share  chance  distance  language     blank        focus        near
det          8 %    7 %      51 %   62.1 ± 3.0   …
tree                         35 %   …

Everything is chosen on sentences of the training part (the distance, the head, how heads are combined) and counted
on those of the development part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.codings import UNKNOWN
from indicial.data.treebanks import likeliest_tree, written
from indicial.inspect.pictures import Link, arcs_figure, arcs_text, save
from indicial.lab.studies.relations import (
    ALL,
    FAR,
    WAYS,
    Reader,
    Tree,
    attachment,
    chance,
    combine,
    conllu_of,
    count,
    count_distances,
    features,
    likeness,
    trees_of,
    word_weights,
)
from indicial.lab.studies.study import (
    Findings,
    Mean,
    Place,
    Say,
    Study,
    axes_of,
    curves,
    through,
    training,
)
from indicial.lab.trials import Result, Trial
from indicial.program.outputs import write_text
from indicial.training.run import Run
from indicial.training.settings import Settings
from indicial.training.watchers import FORMATS

TAUGHT = """
input loss
input α[ℓ,k,t_1,t_2]
input head[t] in T
range ℓ = 1..L
constant λ = 1
ℒ_{LM} = loss
tree[t_1,t_2] = onehot(head[t_1])[t_2]
link[t_1,t_2] = tree[t_1-1,t_2-1] + tree[t_2-1,t_1-1]
ℒ_{tree} = 1/T Σ_{t_1} Σ_{t_2 < t_1} link[t_1,t_2] (-ln α[1,0,t_1,t_2])
ℒ_{total} = ℒ_{LM} + λ ℒ_{tree}
"""
"""The first head of the first layer looks from the later word of each link at the earlier one. Place t reads the
word before t."""
PARTS = ("train", "dev")
COMMON = 0.01
"""Of all words: rarer relations are not shown."""
OFTEN = 5
"""Times that a word is seen, if a language model of words is to know it."""
SHOWN = 4
"""Sentences whose arcs are drawn."""
SUBJECT = "model"


@dataclass(frozen=True)
class Plan:
    data: str = ""
    """A folder with *train*.conllu and *dev*.conllu."""
    steps: int = 600
    seeds: int = 3
    width: int = 64
    layers: int = 2
    heads: int = 4
    context: int = 64
    batch_size: int = 16
    vocabulary: int = 4000
    focus: float = 0.1
    near: float = 0.003
    taught: float = 1.0
    chosen: int = 400
    """Sentences of the training part that finders are chosen on."""
    counted: int = 400
    """Sentences of the development part that they are counted on."""
    longest: int = 40


QUICK = Plan(
    steps=4, seeds=2, width=8, heads=2, context=48, batch_size=4, vocabulary=600, chosen=12, counted=12,
    longest=12,
)  # fmt: skip


@dataclass(frozen=True)
class Parses(Study):
    plan: Plan
    subject: str | None = None
    """The run that is looked at; None trains some."""

    name = "parses"

    @property
    def terms(self) -> dict[str, Any]:
        return {
            **asdict(self.plan),
            "data": str(Path(self.plan.data).resolve()),
            "run": self.subject,
        }

    @property
    def kinds(self) -> dict[str, tuple[tuple[str, ...], dict[str, str]]]:
        """What is trained: equations, and constants that are set."""
        if self.subject is not None:
            return {SUBJECT: ((), {})}
        plan = self.plan
        found: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
            "language": (("transformer",), {}),
            "words": (("transformer", TAUGHT), {"λ": "0"}),
            "taught": (("transformer", TAUGHT), {"λ": f"{plan.taught:g}"}),
            "blank": (("encoder",), {}),
            "focus": (("transformer", "focus"), {"λ": f"{plan.focus:g}"}),
            "near": (("transformer", "near"), {"λ": f"{plan.near:g}"}),
        }
        return found

    def trials(self, folder: Path) -> list[Trial]:
        for part in PARTS:
            conllu_of(Path(self.plan.data), part)  # a wrong name is told before a folder is made
        if self.subject is not None:
            Run.open(self.subject)
            return []
        return [
            training(f"{kind}, seed {seed}", self._settings(kind, seed, folder))
            for kind in self.kinds
            for seed in range(self.plan.seeds)
        ]

    def _settings(self, kind: str, seed: int, folder: Path) -> Settings:
        plan = self.plan
        model, given = self.kinds[kind]
        by_words = TAUGHT in model
        train, dev = (str(path) for path in self._files(folder, by_words))
        return Settings(
            model=model,
            set={"J": str(plan.width), "L": str(plan.layers), "K": str(plan.heads), **given},
            data=(train,), validation=(dev,),
            context=None if by_words else plan.context, tokens=None if by_words else "bpe",
            vocabulary=None if by_words else plan.vocabulary,
            batch_size=plan.batch_size * (2 if by_words else 1), max_steps=plan.steps,
            eval_every=max(1, plan.steps // 2), eval_tokens=10_000, seed=seed, device="cpu",
            out=str(folder / f"{kind}-seed-{seed}"),
        )  # fmt: skip

    def _files(self, folder: Path, by_words: bool) -> list[Path]:
        """The sentences of both parts: as lines; or as trees over words, rare ones being unknown."""
        paths = [folder / f"{part}.{'conllu' if by_words else 'txt'}" for part in PARTS]
        if all(path.exists() for path in paths):
            return paths
        folder.mkdir(parents=True, exist_ok=True)
        trees = [trees_of(Path(self.plan.data), part, 10**9, 10**9) for part in PARTS]
        known = Counter(word for tree in trees[0] for word in tree.words)
        for path, some in zip(paths, trees, strict=True):
            texts = (
                written(
                    {
                        "form": [w if known[w] >= OFTEN else UNKNOWN for w in tree.words],
                        "head": tree.heads,
                    }
                )
                if by_words
                else " ".join(tree.words) + "\n"
                for tree in some
            )
            write_text(path, "".join(texts))
        return paths

    def enough(self, folder: Path) -> bool:
        return bool(self._finished(folder))

    def _finished(self, folder: Path) -> list[str]:
        if self.subject is not None:
            return [SUBJECT]
        seeds = range(self.plan.seeds)
        return self.finished(folder, {k: [f"{k}-seed-{n}" for n in seeds] for k in self.kinds})

    # ------------------------------------------------------------------ what came of it

    def find(self, place: Place, say: Say) -> Findings:
        plan, folder = self.plan, Path(self.plan.data)
        chosen = trees_of(folder, "train", plan.chosen, plan.longest)
        counted = trees_of(folder, "dev", plan.counted, plan.longest)
        measured: dict[str, list[dict[str, Any]]] = {}
        for kind in self._finished(place.folder):
            seeds = [None] if self.subject is not None else list(range(plan.seeds))
            for seed in seeds:
                name = kind if seed is None else f"{kind}-seed-{seed}"
                run = Run.open(self.subject or place.folder / name)
                found = place.once(
                    name,
                    partial(measure, run, chosen, counted),
                    say,
                    f"looking at the heads of {name}",
                )
                measured.setdefault(kind, []).append(found)
        if "distances" not in place.kept:
            place.keep(distances=without_a_model(chosen, counted))
        self._draw(place, chosen, counted, measured, say)
        title = (
            f"Parses: heads as links, chosen on {len(chosen)} sentences of the training part, counted on "
            f"{len(counted)} of the development part"
        )
        return Findings(
            title,
            table(place.kept["distances"], measured),
            [NOTE, *told(place.kept["distances"], measured)],
            {"distances": place.kept["distances"], **measured},
            lambda: figure(place.kept["distances"], measured, title),
        )

    def _draw(
        self, place: Place, chosen: Sequence[Tree], counted: Sequence[Tree],
        measured: Mapping[str, Any], say: Say,
    ) -> None:  # fmt: skip
        """Sentences with their true links above, and the tree of all heads together below."""
        kind = max(
            measured, key=lambda kind: float(np.mean([one["tree"] for one in measured[kind]]))
        )
        folder = Path(self.subject) if self.subject is not None else place.folder / f"{kind}-seed-0"
        reader = Reader(Run.open(folder))
        context = reader.run.number("context")
        chosen, counted = reader.fitting(chosen, context), reader.fitting(counted, context)
        shown = ([tree for tree in counted if 6 <= len(tree.words) <= 12] or counted)[:SHOWN]
        known = [
            features(t, w, True)
            for t, w in zip(chosen, word_weights(reader, chosen)[0], strict=True)
        ]
        weights = combine(known, chosen)
        for number, (tree, own) in enumerate(
            zip(shown, word_weights(reader, shown)[0], strict=True)
        ):
            scores = features(tree, own, True) @ weights
            sure = np.exp(scores - scores.max(1, keepdims=True))
            sure /= sure.sum(1, keepdims=True)
            found = likeliest_tree(scores)
            true = [Link(t, s, tree.relations[t]) for t, s in enumerate(tree.heads)]
            made = [
                Link(t, s, "", float(sure[t, s]), s == tree.heads[t]) for t, s in enumerate(found)
            ]
            drawn = arcs_figure(tree.words, [Link(x.word, x.head, x.label, 0.25) for x in true], made,
                                ("true", f"all heads of {folder.name} together"))  # fmt: skip
            for ending in FORMATS:
                save(drawn, place.folder / f"arcs-{number}.{ending}")
            if not number:
                say(
                    f"\nthe tree that the heads of {folder.name} give together:\n\n{arcs_text(tree.words, made)}\n"
                )


NOTE = (
    "Percent of the words whose head is found. share: of all words but roots. chance: any other word. distance: "
    "the best fixed distance for the relation. The rest: the best head in the best of three ways (a word looks "
    "at its head, is looked at by it, both), mean over seeds with 95 % (Student). tree: UAS of the maximum "
    "spanning tree of all heads together, and of distances alone, roots included. beside distances: of heads and "
    "distances together. likeness: the part of a head's weight between different words that lies on its best "
    "tree. nats: of a token of the development part: of words and taught a word, of the others a piece of a word."
)


def measure(run: Run, chosen: Sequence[Tree], counted: Sequence[Tree]) -> dict[str, Any]:
    """All that is said of one model; JSON."""
    reader = Reader(run)
    # Places may be learned, and then there are no more than these.
    chosen, counted = (reader.fitting(trees, run.number("context")) for trees in (chosen, counted))
    known, titles = word_weights(reader, chosen)
    new, _ = word_weights(reader, counted)
    there, here = count(known, chosen), count(new, counted)
    found: dict[str, Any] = {"relations": {}, "sentences": len(counted)}
    for relation in here.total:
        if relation in there.total:
            way, head = there.best(relation)
            found["relations"][relation] = [
                here.accuracy(relation, (way, head)), f"{titles[head]} {WAYS[way]}"
            ]  # fmt: skip
    for name, distances in (("tree", False), ("tree_with_distances", True)):
        given = [features(tree, own, distances) for tree, own in zip(chosen, known, strict=True)]
        asked = [features(tree, own, distances) for tree, own in zip(counted, new, strict=True)]
        found[name] = attachment(asked, counted, combine(given, chosen))
    found["likeness"] = likeness(new)
    result = Result.read(run.folder)
    found["loss"] = result.loss if result is not None else None
    return found


def without_a_model(chosen: Sequence[Tree], counted: Sequence[Tree]) -> dict[str, Any]:
    """What fixed distances find, and chance."""
    there, here = count_distances(chosen), count_distances(counted)
    even = chance(counted)
    relations = {
        relation: [
            here.total[relation] / here.total[ALL], even[relation],
            here.accuracy(relation, there.best(relation)), there.best(relation)[0] - FAR,
        ]
        for relation in here.total
        if relation in there.total
    }  # fmt: skip
    given, asked = ([features(tree, None, True) for tree in some] for some in (chosen, counted))
    return {"relations": relations, "tree": attachment(asked, counted, combine(given, chosen))}


def _common(distances: Mapping[str, Any]) -> list[str]:
    shares = {name: row[0] for name, row in distances["relations"].items() if name != ALL}
    return sorted((n for n, share in shares.items() if share >= COMMON), key=lambda n: -shares[n])


def _mean(several: Sequence[float], scale: float = 100.0) -> Mean:
    return Mean.of([scale * value for value in several])


def table(
    distances: Mapping[str, Any], measured: Mapping[str, list[dict[str, Any]]]
) -> list[dict[str, str]]:
    rows = []
    for relation in [*_common(distances), ALL]:
        share, even, fixed, apart = distances["relations"][relation]
        row = {
            "relation": relation, "share": f"{100 * share:.1f}", "chance": f"{100 * even:.1f}",
            "distance": f"{100 * fixed:.1f} ({apart:+d})",
        }  # fmt: skip
        for kind, seeds in measured.items():
            row[kind] = _mean([one["relations"].get(relation, [0.0])[0] for one in seeds]).written(
                1
            )
        rows.append(row)
    blank = {"share": "", "chance": "", "distance": ""}
    alone = {**blank, "distance": f"{100 * distances['tree']:.1f}"}
    for label, name, given in (
        ("tree", "tree", alone), ("beside distances", "tree_with_distances", alone), ("likeness", "likeness", blank),
    ):  # fmt: skip
        means = {
            kind: _mean([one[name] for one in seeds]).written(1) for kind, seeds in measured.items()
        }
        rows.append({"relation": label, **given, **means})
    losses = {
        kind: _mean([one["loss"] for one in seeds], 1).written(3)
        if seeds[0]["loss"] is not None
        else ""
        for kind, seeds in measured.items()
    }
    return [*rows, {"relation": "nats", **blank, **losses}]


def told(distances: Mapping[str, Any], measured: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """What the numbers say, from the numbers alone."""
    said = []
    for kind, seeds in measured.items():
        better = []
        for relation in _common(distances):
            fixed = distances["relations"][relation][2]
            gain = _mean([one["relations"].get(relation, [0.0])[0] - fixed for one in seeds])
            if gain.sign > 0 or (gain.half is None and gain.mean > 0):
                better.append(
                    f"{relation} ({gain.mean:+.0f}, head {seeds[0]['relations'][relation][1]})"
                )
        listed = ", ".join(better) or "none"
        said.append(f"{kind}: relations that a head finds better than a fixed distance: {listed}.")
    for kind, other in (("focus", "language"), ("near", "language"), ("taught", "words")):
        if kind in measured and other in measured:
            pairs = list(zip(measured[kind], measured[other], strict=True))
            gains = {
                name: _mean([a[name] - b[name] for a, b in pairs], 1 if name == "loss" else 100)
                for name in ("loss", "tree", "likeness")
            }
            said.append(
                f"{kind} beside {other}, seed by seed: {gains['loss'].written(3, True)} nats per token, tree "
                f"{gains['tree'].written(1, True)}, likeness {gains['likeness'].written(1, True)}."
            )
    return said


def figure(
    distances: Mapping[str, Any], measured: Mapping[str, list[dict[str, Any]]], title: str
) -> Any:
    """Accuracy by relation, and of the best fixed distance."""
    drawn, (axes,) = axes_of(1, title)
    drawn.set_size_inches(9, 4.2)
    names = [*_common(distances), ALL, "tree"]
    places = list(range(len(names)))
    lines = {}
    for kind, seeds in measured.items():
        means = [_mean([one["relations"].get(n, [0.0])[0] for one in seeds]) for n in names[:-1]]
        lines[kind] = through(places, [*means, _mean([one["tree"] for one in seeds])])
    fixed = [100 * distances["relations"][n][2] for n in names[:-1]] + [100 * distances["tree"]]
    curves(axes, {**lines, "distance": (places, fixed)}, ylabel="heads found (%)")
    axes.set_xticks(places, names, rotation=60, fontsize=8)
    return drawn
