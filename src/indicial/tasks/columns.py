"""The task of a program with several inputs: each is a column of the data.

>>> task = ColumnTask(load("bahdanau"), data, context=64, batch_size=64, seed=0)
>>> task.batch(0).inputs
{"x": (64, 15) tokens, "w": (64, 14) tokens}, with the length of each row: {"T_{in}": …, "T": …}
>>> task.validate(module).perplexity
9.87…

What is predicted, and from what, is read from the equations (`forms.py`). Training minimises the loss of
the program, whatever it is; validation counts -ln P of all that is predicted, and the scores of the form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import parameters, size_names
from indicial.data.binding import SPELLING, Slot
from indicial.data.codings import Image, Names, Places, Text
from indicial.data.column_rows import ASIS, Buckets, Columns, Held, Part, Variation, in_order
from indicial.data.corpus import key, shuffled
from indicial.data.tokenizers import Ints
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.forms import (
    CHOICE,
    LOSS,
    NUMBERS,
    POINTS,
    TAGS,
    Form,
    Retrieving,
    form_of,
    reduced,
)
from indicial.tasks.predictions import SURPRISE, Measure, surprise_of
from indicial.tasks.task import (
    About,
    Answered,
    Batch,
    Chosen,
    Classes,
    Edges,
    Nothing,
    Right,
    Scores,
    Squares,
    Task,
    Tensors,
    Together,
    likeliest,
)


class ColumnTask(Task):
    """Rows of columns; the inputs of the program are those."""

    name = "columns"

    def __init__(
        self,
        program: Program,
        data: Columns,
        *,
        context: int,
        batch_size: int,
        seed: int = 0,
        variation: Variation = ASIS,
    ) -> None:
        super().__init__(program, context=context, batch_size=batch_size, seed=seed)
        self.data, self.variation = data, variation
        self.form: Form = form_of(program)
        self.slots = self.form.slots
        self.scoring = _scoring(self.form, data)
        self.notes: list[str] = list(_nothing_to_learn(self.form, data))
        self._rows = {name: self._fitting(name, part) for name, part in self._parts.items()}
        if not all(map(len, self._rows.values())):
            raise IndicialError(
                f"--context {context}: what is predicted is longer in every row; give a larger one"
            )
        lengths = self._lengths(data.train)
        rows = self._rows["training"]
        kept = {name: values[rows] for name, values in lengths.items()}
        self.buckets = Buckets(kept, len(rows), batch_size, seed)
        self.checked = self._lengths(data.validation)
        self._measure: Measure | None = None
        self._parts_of: Retrieving | None = None

    @property
    def _parts(self) -> dict[str, Part]:
        return {"training": self.data.train, "validation": self.data.validation}

    def _fitting(self, name: str, part: Part) -> Ints:
        """The rows whose predicted text is no longer than a row may be; what is read is cut."""
        rows: Ints = np.arange(part.rows)
        for slot in self.slots:
            lengths = part.columns[slot.name].lengths
            over = 0 if lengths is None else int((lengths > self.context).sum())
            if lengths is None or not over:
                continue
            if slot.predicted or slot.length in self._shared:
                rows = rows[lengths[rows] <= self.context]
                self.notes.append(
                    f"{over:,} of {part.rows:,} rows of the {name} part are left out: {slot.name} is "
                    f"longer than --context {self.context} in them"
                )
            else:
                self.notes.append(
                    f"{slot.name} is cut to --context {self.context} tokens in {over:,} of "
                    f"{part.rows:,} rows of the {name} part"
                )
        return rows

    @property
    def _shared(self) -> set[str | None]:
        """Lengths that several inputs have: one of them alone cannot be cut."""
        each = [slot.length for slot in self.slots]
        return {length for length in each if each.count(length) > 1}

    def _lengths(self, part: Part) -> dict[str, Ints]:
        """How long each row is, by the name of the size; what is predicted comes last."""
        found: dict[str, Ints] = {}
        for slot in sorted(self.slots, key=lambda slot: slot.predicted):
            lengths = part.columns[slot.name].lengths
            if lengths is not None and slot.length is not None:
                found.pop(slot.length, None)
                found[slot.length] = np.minimum(lengths, self.context)
        return found

    # ------------------------------------------------------------------ what there is to tell

    @property
    def about(self) -> About:
        rows = self.data.train.rows
        kinds = [f"{slot.name}: {self._kind(slot)}" for slot in self.slots]
        return About(
            data=f"{self.data.name}, {rows:,} row{'s' * (rows != 1)}",
            tokenizer="; ".join(kinds),
            tokens=len(self.data.train),
            validation_tokens=len(self.data.validation),
            tokens_per_row=self.tokens_per_row,
            entropy=self.true_nats,
            terms=self.terms,
            says=self.form.says,
            padding=self.buckets.padding if self.buckets.lengths else None,
        )

    def _kind(self, slot: Slot) -> str:
        coding = self.data.codings[slot.name]
        shape = self.data.train.columns[slot.name].values.shape[1:]
        if coding.size is None and slot.vocabulary is None:
            sizes = " x ".join(map(str, shape))
            return f"{sizes} {coding.kind}" if sizes else "a number"
        kind = coding.tokenizer.kind if isinstance(coding, Text) else coding.kind
        return kind if coding.size is None else f"{kind}, {slot.vocabulary} = {coding.size}"

    @property
    def tokens_per_row(self) -> float:
        return len(self.data.train) / self.data.train.rows

    @property
    def lengths(self) -> dict[str, int]:
        """The names of sizes that differ from row to row, and what they are on average."""
        lengths = self._lengths(self.data.train)
        found = {name: max(1, round(float(values.mean()))) for name, values in lengths.items()}
        if self.form.candidates is not None and self.form.candidates.count is not None:
            found[self.form.candidates.count] = 1  # each row has the work of one
        return found

    @property
    def sizes(self) -> dict[str, int]:
        """Those that the data tells: vocabularies, images, and lengths where a parameter has them."""
        found: dict[str, int] = {}
        for slot in self.slots:
            coding = self.data.codings[slot.name]
            if slot.vocabulary is not None and coding.size is not None:
                found[slot.vocabulary] = coding.size
            held = self.data.train.columns[slot.name]
            axes = slot.axes[1:] if held.starts is not None else slot.axes
            if slot.vocabulary is None or slot.kind == SPELLING:
                for name, size in zip(axes, held.values.shape[1:], strict=True):
                    if name is not None:
                        found[name] = size
        owned = {n for tensor in parameters(self.program.code) for n in size_names(tensor.axes)}
        for slot in self.slots:
            if slot.length in owned and slot.length is not None:
                longest = max(
                    int(lengths.max())
                    for part in self._parts.values()
                    if (lengths := part.columns[slot.name].lengths) is not None
                )
                found[slot.length] = min(longest, self.context)
        return {n: size for n, size in found.items() if n in self.program.code.sizes}

    def describe(self) -> Mapping[str, Any]:
        """What those who use the model need to know."""
        return {"context": self.context}

    # ------------------------------------------------------------------ batches

    def batch(self, step: int, rank: int = 0, of: int = 1) -> Batch:
        rows = self._rows["training"][self.buckets.batch(step, rank, of)]
        batch = self.inputs(self.data.train, rows)
        if self.variation:
            for name in self.pictures:
                drawn = key(self.seed, step, name)
                varied = self.variation.of(batch.inputs[name].numpy(), drawn, rank, of)
                batch.inputs[name] = torch.from_numpy(varied)
        return batch

    @property
    def pictures(self) -> list[str]:
        """The inputs that are pictures."""
        return [name for name, coding in self.data.codings.items() if isinstance(coding, Image)]

    def inputs(self, part: Part, rows: Ints) -> Batch:
        """What the program reads of some rows."""
        return batch_of(self.slots, part.columns, rows, self.context)

    def loss(self, module: Any, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        if self.form.candidates is None:
            return super().loss(module, batch)
        name = self.form.loss
        return self._retrieving(module)(batch.inputs, batch.lengths, [name])[name], {}

    # ------------------------------------------------------------------ validation

    def begin(self) -> Ints:
        return self.scoring.begin()

    def measure(self, module: ProgramModule, batch: Batch, tally: Ints) -> tuple[float, int]:
        return self._nats(module, batch, tally), self.predicted(batch)

    def _nats(self, module: ProgramModule, batch: Batch, tally: Ints) -> float:
        found = self.form.prediction
        if self.form.candidates is not None:
            return self._measured_choice(module, batch, tally)
        if found is None:
            return self._measured_loss(module, batch, tally)
        if self._measure is None or self._measure.module is not module:
            more = [part.prediction for part in self.form.parts[1:]]
            self._measure = Measure(module, found, more)
        first, *others = self.form.parts
        surprises = [SURPRISE, *(surprise_of(part.slot.name) for part in others)]
        chooses = len(tally) > 0
        at_once = [p.prediction.distribution.name for p in self.form.parts if not p.after]
        tensors = self._measure.tensors(
            batch.inputs, batch.lengths, [*surprises, *(at_once if chooses else [])]
        )
        inside = {part.slot.name: self._inside(batch, part.slot) for part in self.form.parts}
        if chooses:
            taken = self._taken(module, batch, tensors)
            true = {name: _flat(batch.inputs[name], here) for name, here in inside.items()}
            made = {name: _flat(taken[name].values, here) for name, here in inside.items()}
            if isinstance(self.scoring, Together):
                self.scoring.add_all(tally, true, made)
            else:
                self.scoring.add(tally, true[first.slot.name], made[first.slot.name])
        return sum(
            float(_flat(tensors[name].double(), here).sum())
            for name, here in zip(surprises, inside.values(), strict=True)
        )

    def _taken(self, module: ProgramModule, batch: Batch, known: Tensors) -> dict[str, Chosen]:
        """What the model says, where the truth of none of it is known; some distributions are there already."""

        def compute(found: Tensors, names: list[str]) -> Tensors:
            if all(name in known for name in names):
                return known
            given = {slot.name: batch.inputs[slot.name] for slot in self.form.given}
            with torch.no_grad():
                made: Tensors = module(**given, **found, lengths=batch.lengths or None, want=names)
            return made

        return likeliest(self.form, self.data.codings, compute, batch.lengths)

    def _measured_loss(self, module: ProgramModule, batch: Batch, tally: Ints) -> float:
        pair, loss = self.form.compared, self.form.loss
        want = [loss] if pair is None else [loss, pair.output]
        with torch.no_grad():
            found = module(**batch.inputs, lengths=batch.lengths or None, want=want)
        if pair is not None:
            inside = self._inside(batch, self.form.target)
            true, made = batch.inputs[pair.input].double(), found[pair.output].double()
            self.scoring.add(tally, _flat(true, inside), _flat(made, inside))
        return float(found[loss].double()) * self.predicted(batch)

    def _measured_choice(self, module: ProgramModule, batch: Batch, tally: Ints) -> float:
        assert self.form.prediction is not None
        P = self.form.prediction.distribution.name
        with torch.no_grad():
            found = self._retrieving(module)(batch.inputs, batch.lengths, [P])[P]
        own = torch.arange(len(found), device=found.device)
        self.scoring.add(tally, _flat(own, None), _flat(found.argmax(-1), None))
        nats = float(-found.double()[own, own].log().sum())
        return (
            nats if self.form.read is None else nats + self._measured_reading(module, batch, tally)
        )

    def _measured_reading(self, module: ProgramModule, batch: Batch, tally: Ints) -> float:
        """-ln P of the texts that are read off what belongs to each row, and how many the likeliest
        tokens spell exactly."""
        read = self.form.read
        assert read is not None and isinstance(self.scoring, Answered)
        if self._measure is None or self._measure.module is not module:
            code = reduced(module.code, [read.distribution.name])
            self._measure = Measure(module, read, code=code)
        names = {t.name for t in self._measure.twin.code.tensors.values() if t.role == "input"}
        inputs = {n: v for n, v in batch.inputs.items() if n in names}
        slots = [slot for slot in self.slots if slot.name in names]
        lengths = {s.length: batch.lengths[s.length] for s in slots if s.length in batch.lengths}
        P = read.distribution.name
        found = self._measure.tensors(inputs, lengths, [SURPRISE, P])
        true, long = batch.inputs[read.token.name], batch.lengths[str(read.length)]
        inside = torch.arange(true.shape[1], device=true.device) < long[:, None]
        right = ((found[P].argmax(-1) == true) | ~inside).all(1)
        self.scoring.read(tally, int(right.sum()))
        return float(_flat(found[SURPRISE].double(), inside).sum())

    def _retrieving(self, module: Any) -> Retrieving:
        inner = getattr(module, "module", module)  # of a replica
        assert self.form.candidates is not None
        if self._parts_of is None or self._parts_of.module is not inner:
            self._parts_of = Retrieving(inner, self.form.candidates)
        return self._parts_of

    def predicted(self, batch: Batch) -> int:
        """How many things are predicted in a batch."""
        if self.form.length is not None:
            return int(batch.lengths[self.form.length].sum())
        return len(next(iter(batch.inputs.values())))

    def _inside(self, batch: Batch, target: Slot | None) -> torch.Tensor | None:
        """Which places of what is predicted are there; None: all."""
        if target is None or target.length is None:
            return None
        long = batch.lengths[target.length]
        return torch.arange(batch.inputs[target.name].shape[1]).to(long.device) < long[:, None]

    def blocks(self, most: int | None = None) -> Iterator[Batch]:
        part, rows = self.data.validation, self._rows["validation"]
        if most is not None:
            some = max(1, round(len(rows) * min(1.0, most / max(1, len(part)))))
            rows = rows[shuffled(np.arange(some), len(rows), key(self.seed, "validation"))]
        for several in in_order(self.checked, rows, self.batch_size):
            yield self.inputs(part, several)

    def scores(self, nats: float, count: int, tally: tuple[float, ...] = ()) -> Scores:
        figures = self.scoring.figures(np.asarray(tally))
        probable = self.form.prediction is not None
        true = self.true_nats
        words = 0 if true is None else count  # in a world each word is a token
        each = "token" if self.form.length else "row"
        return Scores(
            nats, count, words=words, entropy=true, each=each, probable=probable, figures=figures,
            tally=tally,
        )  # fmt: skip

    @property
    def true_nats(self) -> float | None:
        """For each token that is predicted, what the true distribution loses on the validation part."""
        true, target = self.data.description["validation"].get("nats"), self.form.target
        lengths = self.data.validation.columns[target.name].lengths if target is not None else None
        return None if true is None or lengths is None else float(true) / int(lengths.sum())


def batch_of(
    slots: Sequence[Slot], columns: Mapping[str, Held], rows: Ints, most: int | None = None
) -> Batch:
    """What a program reads of some rows: padded, or cut to `most` places, and how long they are."""
    inputs: dict[str, torch.Tensor] = {}
    lengths: dict[str, torch.Tensor] = {}
    for slot in slots:
        values, long = columns[slot.name].take(rows, most)
        inputs[slot.name] = torch.from_numpy(np.ascontiguousarray(values))
        if long is not None and slot.length is not None:
            lengths[slot.length] = torch.from_numpy(long)
    texts = [lengths[s.length] for s in slots if s.length is not None]
    return Batch(inputs, lengths, sum(int(long.sum()) for long in texts) or len(rows))


def _nothing_to_learn(form: Form, data: Columns) -> Iterator[str]:
    """What is predicted and is always the same."""
    for part in form.parts:
        coding = data.codings[part.slot.name]
        if isinstance(coding, Names) and len(coding.names) == 1:
            yield (
                f"{part.slot.name} is always {coding.names[0]!r}: where there is one label alone there is nothing "
                "to learn, and every answer is right"
            )


def _scoring(form: Form, data: Columns) -> Nothing:
    if form.kind in (NUMBERS, LOSS):
        return Squares() if form.kind == NUMBERS else Nothing()
    if form.kind == CHOICE:
        return Right() if form.read is None else Answered()
    found: dict[tuple[str, ...], Nothing] = {}
    # Labels that are said of a word and its head are those of the links, and counted with these.
    for part in sorted(form.parts, key=lambda part: part.kind != POINTS):
        name, coding = part.slot.name, data.codings[part.slot.name]
        if isinstance(coding, Places) and coding.trees:
            of_links = [p.slot.name for p in form.parts if name in p.after and p.kind == TAGS]
            label = data.codings[of_links[0]] if of_links else None
            found[name, *of_links[:1]] = Edges(label.names if isinstance(label, Names) else ())
        elif any(name in counted for counted in found):
            continue
        elif isinstance(coding, Names):
            found[name,] = Classes(coding.names)
        else:
            found[name,] = Right() if part.kind == POINTS else Nothing()
    alone = len(found) == 1 and len(next(iter(found))) == 1
    return next(iter(found.values())) if alone else Together(found)


def _flat(values: torch.Tensor, inside: torch.Tensor | None) -> Ints:
    return np.asarray((values if inside is None else values[inside]).flatten().cpu())
