"""The study `which_model`: encoder, decoder, or both, for four tasks on sentences whose truth is known.

    the queen often avoids the potter who works in the pottery .

    classify     the German sentence → whom it is done to          potter
    retrieve     the German sentence → its translation, among those of a batch
    translate    the German sentence → the English one, word for word
    summarise    the English sentence → who does what to whom      queen avoid potter

An encoder becomes a decoder by one condition below a softmax. All are pre-norm, with learned positions, as
`encoder_decoder_prenorm` of the library is, which is the third kind.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from indicial.data.world import world
from indicial.data.world.grammar import Derivation
from indicial.data.world.world import Phrasebook
from indicial.decode.evaluate import examine
from indicial.lab.studies.study import (
    Findings,
    Place,
    Say,
    Study,
    axes_of,
    curves,
    share_written,
    training,
)
from indicial.lab.trials import Result, Trial
from indicial.library import path
from indicial.program.outputs import write_text
from indicial.training.curves import History
from indicial.training.run import Run
from indicial.training.settings import Settings

ENCODER, DECODER, BOTH = KINDS = ("encoder", "decoder", "both")
CLASSIFY, RETRIEVE, TRANSLATE, SUMMARISE = TASKS = (
    "classify", "retrieve", "translate", "summarise",
)  # fmt: skip

READS = """\
input x[s] in U
parameter pos_{in}[s,j]
E_0[s,j] = e_{in}[x[s],j] + pos_{in}[s,j]
N^E_ℓ[s,J] = layernorm(E_ℓ[s,J])
α^E_{ℓ+1}[k,s,s'] = softmax_{s'} (W^{Q,E}_{ℓ+1}[k,I,J] N^E_ℓ[s,J]) (W^{K,E}_{ℓ+1}[k,I,J] N^E_ℓ[s',J]) / √I
A^E_{ℓ+1}[s,j] = E_ℓ[s,j] + W^{O,E}_{ℓ+1}[j,K,I] α^E_{ℓ+1}[K,s,S] (W^{V,E}_{ℓ+1}[K,I,J] N^E_ℓ[S,J])
M^E_{ℓ+1}[s,J] = layernorm(A^E_{ℓ+1}[s,J])
F^E_{ℓ+1}[s,d] = ReLU(W^{1,E}_{ℓ+1}[d,J] M^E_{ℓ+1}[s,J] - B^{1,E}_{ℓ+1}[d])
E_{ℓ+1}[s,j] = A^E_{ℓ+1}[s,j] + W^{2,E}_{ℓ+1}[j,D] F^E_{ℓ+1}[s,D] - B^{2,E}_{ℓ+1}[j]
y^E[s,J] = layernorm(E_L[s,J])
"""
PAGES = """\
input page[n,r] in V
parameter pos_{page}[r,j]
G_0[n,r,j] = e_{page}[page[n,r],j] + pos_{page}[r,j]
N^G_ℓ[n,r,J] = layernorm(G_ℓ[n,r,J])
α^G_{ℓ+1}[n,k,r,r'] = softmax_{r'} (W^{Q,G}_{ℓ+1}[k,I,J] N^G_ℓ[n,r,J]) (W^{K,G}_{ℓ+1}[k,I,J] N^G_ℓ[n,r',J]) / √I
A^G_{ℓ+1}[n,r,j] = G_ℓ[n,r,j] + W^{O,G}_{ℓ+1}[j,K,I] α^G_{ℓ+1}[n,K,r,R] (W^{V,G}_{ℓ+1}[K,I,J] N^G_ℓ[n,R,J])
M^G_{ℓ+1}[n,r,J] = layernorm(A^G_{ℓ+1}[n,r,J])
F^G_{ℓ+1}[n,r,d] = ReLU(W^{1,G}_{ℓ+1}[d,J] M^G_{ℓ+1}[n,r,J] - B^{1,G}_{ℓ+1}[d])
G_{ℓ+1}[n,r,j] = A^G_{ℓ+1}[n,r,j] + W^{2,G}_{ℓ+1}[j,D] F^G_{ℓ+1}[n,r,D] - B^{2,G}_{ℓ+1}[j]
y^G[n,r,J] = layernorm(G_L[n,r,J])
"""
LABEL = """\
input y in C
P(y | x) = softmax_y U^y[y,J] g[J]
loss = -ln P(y | x)
"""
CHOICE = """\
input n in N
P(n | x) = softmax_n g[J] q[n,J]
loss = -ln P(n | x)
"""
AT_ONCE = """\
input w[t] in V
parameter pos_{out}[t,j]
κ[t,s] = softmax_s pos_{out}[t,J] y^E[s,J]
o[t,j] = pos_{out}[t,j] + κ[t,S] y^E[S,j]
P(w_t | x) = softmax_{w_t} e_{out}[w_t,J] o[t,J]
loss = 1/T Σ_t -ln P(w_t | x)
w[t] ~ P(w_t | x)
"""
"""An encoder that writes: all words at once, each from its place alone."""
ONE_TEXT = """\
input x[s] in V
input w[t] in V
parameter pos_{in}[s,j], pos_{out}[t,j]
E_0[s,j] = e[x[s],j] + pos_{in}[s,j]
Z_0[t,j] = e[w[t-1],j] + pos_{out}[t,j]
N^E_ℓ[s,J] = layernorm(E_ℓ[s,J])
N^Z_ℓ[t,J] = layernorm(Z_ℓ[t,J])
α_{ℓ+1}[k,s,s'] = softmax_{s' ≤ s} (W^Q_{ℓ+1}[k,I,J] N^E_ℓ[s,J]) (W^K_{ℓ+1}[k,I,J] N^E_ℓ[s',J]) / √I
A^E_{ℓ+1}[s,j] = E_ℓ[s,j] + W^O_{ℓ+1}[j,K,I] α_{ℓ+1}[K,s,S] (W^V_{ℓ+1}[K,I,J] N^E_ℓ[S,J])
a_{ℓ+1}[k,t,s] = exp((W^Q_{ℓ+1}[k,I,J] N^Z_ℓ[t,J]) (W^K_{ℓ+1}[k,I,J] N^E_ℓ[s,J]) / √I)
b_{ℓ+1}[k,t,t'] = exp((W^Q_{ℓ+1}[k,I,J] N^Z_ℓ[t,J]) (W^K_{ℓ+1}[k,I,J] N^Z_ℓ[t',J]) / √I)
V^E_{ℓ+1}[k,s,i] = W^V_{ℓ+1}[k,i,J] N^E_ℓ[s,J]
V^Z_{ℓ+1}[k,t,i] = W^V_{ℓ+1}[k,i,J] N^Z_ℓ[t,J]
r_{ℓ+1}[k,t,i] = Σ_s a_{ℓ+1}[k,t,s] V^E_{ℓ+1}[k,s,i] + Σ_{t' ≤ t} b_{ℓ+1}[k,t,t'] V^Z_{ℓ+1}[k,t',i]
β_{ℓ+1}[k,t] = Σ_s a_{ℓ+1}[k,t,s] + Σ_{t' ≤ t} b_{ℓ+1}[k,t,t']
v_{ℓ+1}[k,t,i] = r_{ℓ+1}[k,t,i] / β_{ℓ+1}[k,t]
A^Z_{ℓ+1}[t,j] = Z_ℓ[t,j] + W^O_{ℓ+1}[j,K,I] v_{ℓ+1}[K,t,I]
M^E_{ℓ+1}[s,J] = layernorm(A^E_{ℓ+1}[s,J])
M^Z_{ℓ+1}[t,J] = layernorm(A^Z_{ℓ+1}[t,J])
F^E_{ℓ+1}[s,d] = ReLU(W^1_{ℓ+1}[d,J] M^E_{ℓ+1}[s,J] - B^1_{ℓ+1}[d])
F^Z_{ℓ+1}[t,d] = ReLU(W^1_{ℓ+1}[d,J] M^Z_{ℓ+1}[t,J] - B^1_{ℓ+1}[d])
E_{ℓ+1}[s,j] = A^E_{ℓ+1}[s,j] + W^2_{ℓ+1}[j,D] F^E_{ℓ+1}[s,D] - B^2_{ℓ+1}[j]
Z_{ℓ+1}[t,j] = A^Z_{ℓ+1}[t,j] + W^2_{ℓ+1}[j,D] F^Z_{ℓ+1}[t,D] - B^2_{ℓ+1}[j]
y^Z[t,J] = layernorm(Z_L[t,J])
P(w_t | x, w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] y^Z[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
"""
"""A decoder that is given the source: a softmax over both texts, written as sums of exponentials."""


def equations(task: str, kind: str) -> str | None:
    """What is trained; None where that kind of model has no such task."""
    if kind == BOTH:
        # A label is written as a text of one word.
        return None if task == RETRIEVE else path("encoder_decoder_prenorm").read_text("utf-8")
    if task == CLASSIFY:
        return _seen(kind, READS) + _one(kind, "g[j]", "s", "y^E[s,j]") + LABEL
    if task == RETRIEVE:
        one = _seen(kind, READS) + _one(kind, "g[j]", "s", "y^E[s,j]")
        return one + _seen(kind, PAGES) + _one(kind, "q[n,j]", "r", "y^G[n,r,j]") + CHOICE
    return READS + AT_ONCE if kind == ENCODER else ONE_TEXT


def _seen(kind: str, text: str) -> str:
    """With the condition that makes a decoder of an encoder."""
    if kind == ENCODER:
        return text
    return text.replace("softmax_{s'}", "softmax_{s' ≤ s}").replace(
        "softmax_{r'}", "softmax_{r' ≤ r}"
    )


def _one(kind: str, name: str, index: str, each: str) -> str:
    """One vector of a text: the mean of an encoder's, a decoder's last, which alone has seen all."""
    if kind == ENCODER:
        return f"{name} = mean_{index} {each}\n"
    return f"{name} = {each.replace(f'{index},', f'{index.upper()}-1,')}\n"


COLUMNS = ("german", "english", "whom", "headline")
READ = {
    "classify": {"x": "german", "y": "whom"},
    "retrieve": {"x": "german", "page": "english"},
    "translate": {"x": "german", "w": "english"},
    "summarise": {"x": "english", "w": "headline"},
}
"""The column of each input."""
NAMES = {"encoder": "encoder", "decoder": "decoder", "both": "encoder and decoder"}


@dataclass(frozen=True)
class Plan:
    tasks: tuple[str, ...] = TASKS
    data: str = "people"
    rows: int = 12_000
    checked: int = 400
    steps: int = 600
    batch_size: int = 32
    width: int = 64
    layers: int = 2
    heads: int = 2


QUICK = Plan(data="village", rows=60, checked=8, steps=2, batch_size=4, width=8, layers=1, heads=1)


class Subject(NamedTuple):
    """One model that is trained."""

    task: str
    kind: str

    @property
    def folder(self) -> str:
        return f"{self.task}-{self.kind}"

    @property
    def label(self) -> str:
        return f"{self.task}, {NAMES[self.kind]}"

    @property
    def columns(self) -> dict[str, str]:
        # Who writes labels reads them as texts.
        if self.task == CLASSIFY and self.kind == BOTH:
            return {"x": "german", "w": "whom"}
        return READ[self.task]


class Measured(NamedTuple):
    """What came of one."""

    right: int
    of: int
    nats: float
    """For each thing that is predicted: a label, a choice, a word."""
    parameters: int
    seconds: float
    """In training."""
    answering: float
    """Milliseconds for each answer, many at once."""


@dataclass(frozen=True)
class WhichModel(Study):
    plan: Plan

    name = "which_model"

    @property
    def subjects(self) -> list[Subject]:
        every = [Subject(task, kind) for task in self.plan.tasks for kind in KINDS]
        return [one for one in every if equations(*one) is not None]

    def trials(self, folder: Path) -> list[Trial]:
        self._write(folder)
        return [training(one.label, self._settings(one, folder)) for one in self.subjects]

    def _write(self, folder: Path) -> None:
        """The equations and the rows, as files that `indicial train` takes."""
        folder.mkdir(parents=True, exist_ok=True)
        for one in self.subjects:
            text = equations(*one)
            assert text is not None
            write_text(folder / f"{one.folder}.eq", text)
        if not (folder / "train.tsv").exists():
            plan = self.plan
            made = rows(plan.data, plan.rows + plan.checked)
            for name, count in (("validation", plan.checked), ("train", plan.rows)):
                lines = ["\t".join(COLUMNS), *("\t".join(next(made)) for _ in range(count))]
                write_text(folder / f"{name}.tsv", "\n".join(lines) + "\n")

    def _settings(self, one: Subject, folder: Path) -> Settings:
        plan = self.plan
        return Settings(
            model=(str(folder / f"{one.folder}.eq"),),
            set={"J": str(plan.width), "L": str(plan.layers), "K": str(plan.heads)},
            data=(str(folder / "train.tsv"),), validation=(str(folder / "validation.tsv"),),
            column=one.columns, batch_size=plan.batch_size, max_steps=plan.steps,
            eval_every=max(1, plan.steps // 10), seed=0, device="cpu",
            out=str(folder / one.folder),
        )  # fmt: skip

    def find(self, place: Place, say: Say) -> Findings:
        found = {one: self._measured(one, place, say) for one in self.subjects}
        plan = self.plan
        title = (
            f"Which model: {plan.rows:,} sentences of {plan.data}, {plan.steps:,} steps of "
            f"{plan.batch_size}, {plan.layers} layers, width {plan.width}"
        )
        return Findings(
            title,
            [row(one, measured) for one, measured in found.items()],
            [NOTE],
            {one.folder: measured._asdict() for one, measured in found.items()},
            lambda: figure(place.folder, found, title),
        )

    def _measured(self, one: Subject, place: Place, say: Say) -> Measured:
        told = f"asking {one.folder}"
        found = place.once(one.folder, lambda: measure(place.folder, one)._asdict(), say, told)
        return Measured(**found)


NOTE = (
    "right: of rows that were not trained on, all of it right; in brackets 95 % (Wilson). nats: for each "
    "thing that is predicted, a label, a choice or a word. An encoder that writes says all words at once; a "
    "decoder reads source and target as one text; an encoder with a decoder writes a label as a word, and "
    "has no vector of a page that could be kept."
)


def rows(data: str, count: int) -> Iterator[tuple[str, ...]]:
    """Sentences in which somebody does something to somebody, each of them once, by `COLUMNS`."""
    own = world(data)
    book, numbers = Phrasebook(own), random.Random(0)
    seen: set[str] = set()
    while len(seen) < count:
        derivation = own.grammar.sample(numbers)
        deed = _deed(derivation)
        if deed is None or (sentence := book.row(derivation))["w"] in seen:
            continue
        seen.add(sentence["w"])
        whom = deed.part("other").part("being").rule.phrase.about
        verb = deed.part("deed").part("verb").rule.name
        yield sentence["x"], sentence["w"], whom, f"{deed.rule.phrase.about} {verb} {whom}"


def _deed(derivation: Derivation) -> Derivation | None:
    """What the sentence is about, and not a clause in it."""
    for child in derivation.children:
        if child.rule.name == "does_to":
            return child
        if derivation.rule.name in ("remark", "somebody") and (found := _deed(child)) is not None:
            return found
    return None


def measure(folder: Path, one: Subject) -> Measured:
    """Answers to rows that it has not seen."""
    result = Result.read(folder / one.folder)
    assert result is not None, f"{one.folder} is not finished"
    run = Run.open(folder / one.folder)
    begun = time.perf_counter()
    found = examine(run, [str(folder / "validation.tsv")], {"temperature": 0}, columns=one.columns)
    seconds = time.perf_counter() - begun
    if found.answers:
        lines = (folder / "validation.tsv").read_text(encoding="utf-8").splitlines()[1:]
        at = COLUMNS.index(one.columns["w"])
        true = [line.split("\t")[at].split() for line in lines]
        right = sum(str(a).split() == t for a, t in zip(found.answers, true, strict=True))
    else:
        right = round(found.scores.figures["accuracy"] * found.rows)
    return Measured(
        right=right,
        of=found.rows,
        nats=found.scores.per_token,
        parameters=sum(p.numel() for p in run.module().parameters()),
        seconds=result.seconds,
        answering=1000 * seconds / found.rows,
    )


def row(one: Subject, found: Measured) -> dict[str, str]:
    return {
        "task, model": one.label,
        "right": share_written(found.right, found.of),
        "nats": f"{found.nats:.3f}",
        "parameters": f"{found.parameters:,}",
        "training, s": f"{found.seconds:.0f}",
        "answer, ms": f"{found.answering:.1f}",
    }


def figure(folder: Path, found: Mapping[Subject, Measured], title: str) -> Any:
    """A panel for each task: what validation costs against the time in training."""
    tasks = list(dict.fromkeys(one.task for one in found))
    drawn, panels = axes_of(len(tasks), title)
    for axes, task in zip(panels, tasks, strict=True):
        lines = {}
        for one in [one for one in found if one.task == task]:
            curve = History.read(folder / one.folder / "metrics.jsonl")
            last = max(curve.validation_steps)
            at = [found[one].seconds * step / last for step in curve.validation_steps]
            lines[NAMES[one.kind]] = at, curve.validation
        curves(axes, lines, title=task, xlabel="seconds in training")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("nats, validation part")
    return drawn
