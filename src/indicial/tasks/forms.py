"""What a program predicts, and from what: the form of its task, read from the equations.

    P(w_t | x, w_0, …, w_{t-1})     sequence    a text from other inputs and from its own beginning
    P(y | x)                        label       classification
    P(y_t | x)                      tags        a label for each place
    P(head_t = s | x)               places      pointing: a place for each place
    P(n | q), n numbering d[n,s]    choice      retrieval: one of the candidates of the batch
    loss = (y - ŷ)²                 numbers     regression: y is an input, ŷ is computed
    P(head_t = s | x), P(y_t | x, head)         several: each is counted, and found in the order that they need
    any other loss                  loss        trained on its loss, which is all that is said of it

>>> form_of(load("bahdanau")).says
'w from x and from the words before it: sequence to sequence'

Retrieval: which of several candidates belongs to a question.

    input q[t] in V
    input d[n,s] in V           candidates, numbered by n
    input n in N                the one that belongs to q
    P(n | q) = softmax_n f[J] g[n,J]

The candidates are those of the other rows of the batch: the equation says so, as n numbers them. A program
that computes every candidate for every question would do the work of a batch once for each of its rows, so it
is taken apart:

>>> towers = Towers.of(code, found)
>>> towers.rows      f[j] from q[t], g[j] from d[s]: row by row, each with its own lengths
>>> towers.top       P[n] and the loss from f[j] and g[n,j]

Both have the parameters of the module that is trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.binding import LABEL, PLACES, TEXT, UNITS, Slot, slots
from indicial.program import ir
from indicial.program.ir import Apply, Code, Expression, Read
from indicial.program.meaning.differing import dependent
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.program.rewrite import needed_names, rebuild, sizes_in, tensors_read
from indicial.tasks.predictions import Prediction, prediction, predictions, share, sharing

Some = TypeVar("Some")


@dataclass(frozen=True)
class Candidates:
    """The inputs of a program that retrieves."""

    answer: ir.Tensor
    """`n`, which numbers the candidates."""
    given: tuple[ir.Tensor, ...]
    """`d[n,s]`: what is there of each of them."""

    @property
    def count(self) -> str | None:
        """The name of the size that says how many there are: N."""
        return self.given[0].axes[0].extent.name


def candidates(code: ir.Code, found: Prediction | None) -> Candidates | None:
    """What a program chooses among, if what it predicts numbers an axis of other inputs."""
    if found is None or found.token.axes or found.token.values is None:
        return None
    count = found.token.values
    inputs = [t for t in code.tensors.values() if t.role == "input"]
    given = tuple(t for t in inputs if t.axes and t.axes[0].extent == count)
    return Candidates(found.token, given) if given else None


def of_one(code: ir.Code, found: Candidates) -> ir.Code:
    """The program as the data see it: one candidate in each row, and no answer."""
    tensors = {n: t for n, t in code.tensors.items() if t is not found.answer}
    for tensor in found.given:
        tensors[tensor.name] = replace(tensor, axes=tensor.axes[1:])
    return replace(code, tensors=tensors)


@dataclass(frozen=True)
class Towers:
    """The two parts of a program that retrieves."""

    rows: ir.Code
    top: ir.Code
    between: tuple[str, ...]
    """What the first part gives, and the second reads."""

    @staticmethod
    def of(code: ir.Code, found: Candidates) -> Towers:
        return _Parting(code, found).towers()


class _Parting:
    def __init__(self, code: ir.Code, found: Candidates) -> None:
        self.code, self.found = code, found
        self.count = found.given[0].axes[0].extent
        inputs = {t.name for t in code.tensors.values() if t.role == "input"}
        names = {t.name for t in found.given}
        theirs = dependent(code, frozenset(names))
        ours = dependent(code, frozenset(inputs - names - {found.answer.name}))
        # What does not number its candidates chooses among them, as P does.
        self.theirs = {n for n in theirs - ours if self._at(n) is not None}
        self.ours = ours - theirs
        apart = self.theirs | self.ours
        self.below = [s for s in code.statements if s.target in apart or s.target not in theirs]
        # What reads no input, as a mask does, is made where it is wanted.
        others = [s for s in code.statements if s.target not in apart]
        self.top = _needed(others, (theirs | ours) - apart)
        self.cuts: dict[tuple[str, tuple[ir.Place, ...]], ir.Tensor] = {}
        self.statements: list[ir.Statement] = []

    def _at(self, name: str) -> int | None:
        """The axis of a tensor that numbers candidates: the first, or behind that of the layers."""
        extents = [axis.extent for axis in self.code.tensors[name].axes]
        return extents.index(self.count) if self.count in extents else None

    def _without(self, name: str, parts: tuple[Some, ...]) -> tuple[Some, ...]:
        """What there is for each axis of a tensor, but for that one."""
        at = self._at(name)
        return parts if at is None else (*parts[:at], *parts[at + 1 :])

    def towers(self) -> Towers:
        tops = [self._top(statement) for statement in self.top]
        below = [*(self._single(s) for s in self.below), *self.statements]
        rows = dict(of_one(self.code, self.found).tensors)
        for name in self.theirs:
            tensor = self.code.tensors[name]
            rows[name] = replace(tensor, axes=self._without(name, tensor.axes))
        tensors = dict(self.code.tensors)
        for (name, _), tensor in self.cuts.items():
            own = tensor.axes[1:] if name in self.theirs else tensor.axes
            rows[tensor.name] = replace(tensor, axes=own)
            tensors[tensor.name] = replace(tensor, role="input")
        return Towers(
            _program(self.code, rows, below, None),
            _program(self.code, tensors, tops, self.code.loss),
            tuple(tensor.name for tensor in self.cuts.values()),
        )

    # ------------------------------------------------------------------ row by row

    def _single(self, statement: ir.Statement) -> ir.Statement:
        """Without the number of the candidate."""
        result = replace(statement, body=rebuild(statement.body, leaf=self._unnumbered))
        if statement.target not in self.theirs:
            return result
        left = self._without(statement.target, statement.left)
        kept = {name for place in left if isinstance(place, ir.Affine) for name, _ in place.terms}
        indices = tuple(i for i in statement.indices if i.name in kept)
        return replace(result, left=left, indices=indices)

    def _unnumbered(self, node: ir.Expression) -> ir.Expression:
        names = self.theirs | {t.name for t in self.found.given}
        if isinstance(node, ir.Read) and node.tensor in names:
            return replace(node, places=self._without(node.tensor, node.places))
        return node

    # ------------------------------------------------------------------ from row to row

    def _top(self, statement: ir.Statement) -> ir.Statement:
        """Reads what the rows give instead of their tensors."""
        ranges = {i.name: i for i in statement.indices}
        for node in statement.body.walk():
            if isinstance(node, ir.Reduce | ir.Softmax):
                ranges |= {i.name: i for i in node.indices}

        def leaf(node: ir.Expression) -> ir.Expression:
            if isinstance(node, ir.Read) and node.tensor in self.theirs | self.ours:
                return self._cut(node, ranges)
            return node

        return replace(statement, body=rebuild(statement.body, leaf=leaf))

    def _cut(self, node: ir.Read, ranges: Mapping[str, ir.Index]) -> ir.Read:
        """`k[n,S-1,J]` → a tensor of the rows that is that, read at n and J."""
        places = node.places
        if any(not isinstance(place, ir.Affine) for place in places):
            raise IndicialError(f"{node.tensor} is read at a token where candidates are compared")
        used = list(
            dict.fromkeys(n for p in places if isinstance(p, ir.Affine) for n, _ in p.terms)
        )
        # That of the candidates first, as the rows of a batch are.
        indices = sorted((ranges[n] for n in used), key=lambda i: i.extent != self.count)
        key = (node.tensor, places)
        if key not in self.cuts:
            name = f"{node.tensor}^{{({len(self.cuts) + 1})}}"
            axes = tuple(ir.Axis(i.name, i.lower, i.extent) for i in indices)
            self.cuts[key] = ir.Tensor(name, axes, "defined")
            theirs = node.tensor in self.theirs
            own = tuple(indices[1:] if theirs else indices)
            if theirs and (not indices or indices[0].extent != self.count):
                raise IndicialError(
                    f"{node.tensor} is read at other than the number of a candidate"
                )
            body = self._unnumbered(node)
            self.statements.append(ir.Statement(name, tuple(map(ir.Affine.of, own)), own, body))
        return replace(node, tensor=self.cuts[key].name, places=tuple(map(ir.Affine.of, indices)))


def _program(
    code: ir.Code,
    tensors: Mapping[str, ir.Tensor],
    statements: Sequence[ir.Statement],
    loss: str | None,
) -> ir.Code:
    """A program of its own: these statements, what they read, and the sizes of that."""
    named = {s.target for s in statements} | tensors_read(statements)
    kept = {n: t for n, t in tensors.items() if n in named}
    made = replace(
        code,
        tensors=kept,
        statements=tuple(statements),
        constants={n: v for n, v in code.constants.items() if n in kept},
        draws=tuple(d for d in code.draws if d.tensor in kept),
        tests=(),
        loss=loss,
        generated=None,
    )
    sizes = {name for size in sizes_in(made) for name in size.names}
    return replace(made, sizes={n: v for n, v in code.sizes.items() if n in sizes})


def reduced(code: ir.Code, want: Iterable[str]) -> ir.Code:
    """What a program computes of some tensors alone: it reads no other inputs than they need."""
    return _program(code, code.tensors, _needed(code.statements, want), None)


def _needed(every: Sequence[ir.Statement], want: Iterable[str]) -> list[ir.Statement]:
    """The statements that some tensors come of."""
    names = needed_names(every, want)
    return [statement for statement in every if statement.target in names]


class Retrieving:
    """Losses and choices of a module on rows whose candidates are those of the other rows."""

    def __init__(self, module: ProgramModule, found: Candidates) -> None:
        self.module, self.answer = module, found.answer.name
        self.towers = Towers.of(module.code, found)
        self.parts = [sharing(module, code) for code in (self.towers.rows, self.towers.top)]

    def __call__(
        self,
        inputs: Mapping[str, torch.Tensor],
        lengths: Mapping[str, torch.Tensor],
        want: Sequence[str],
    ) -> Mapping[str, torch.Tensor]:
        """Tensors of the second part, its loss for example; they depend on the module's parameters."""
        rows, top = self.parts
        for part in self.parts:
            share(self.module, part)
        between: Any = rows(**inputs, lengths=lengths or None, want=list(self.towers.between))
        given = dict(between)
        count = len(next(iter(inputs.values())))
        given[self.answer] = torch.arange(count, device=next(iter(inputs.values())).device)
        found: Mapping[str, torch.Tensor] = top(**given, want=list(want))
        return found


SEQUENCE, TAGS, CLASS, POINTS, NUMBERS, CHOICE, LOSS = (
    "sequence", "tags", "label", "places", "numbers", "choice", "loss",
)  # fmt: skip
KINDS = {TEXT: SEQUENCE, UNITS: TAGS, LABEL: CLASS, PLACES: POINTS}
WORDS = {
    SEQUENCE: "sequence to sequence",
    TAGS: "tagging",
    CLASS: "classification",
    POINTS: "pointing",
    NUMBERS: "regression",
}


@dataclass(frozen=True)
class Compared:
    """`y - ŷ` in a loss: an input, and what is computed to be like it."""

    input: str
    output: str


@dataclass(frozen=True)
class Part:
    """One of several things that are predicted."""

    kind: str
    slot: Slot
    prediction: Prediction
    after: tuple[str, ...] = ()
    """The others that it is computed from: they are to be found before it."""


@dataclass(frozen=True)
class Form:
    """What is predicted, by its kind, and from what."""

    kind: str
    slots: tuple[Slot, ...]
    loss: str
    prediction: Prediction | None = None
    compared: Compared | None = None
    candidates: Candidates | None = None
    """What one is chosen from, by retrieval: the slots have one in each row."""
    parts: tuple[Part, ...] = ()
    """All that is predicted, the first of them being what the fields above speak of."""
    read: Prediction | None = None
    """Beside the choice, a text that is predicted from what is chosen: the answer."""

    @property
    def target(self) -> Slot | None:
        """The input that is predicted, or the first of them."""
        if self.parts:
            return self.parts[0].slot
        name = self.compared.input if self.compared is not None else None
        return next((s for s in self.slots if s.predicted or s.name == name), None)

    @property
    def given(self) -> list[Slot]:
        """The inputs that it is predicted from, or they are."""
        return [s for s in self.slots if s is not self.target and not s.predicted]

    @property
    def stages(self) -> list[list[Part]]:
        """What is predicted, in an order in which each is there when another needs it."""
        found: list[list[Part]] = []
        waiting = list(self.parts)
        while waiting:
            open_ = {part.slot.name for part in waiting}
            ready = [part for part in waiting if not open_ & set(part.after)]
            if not ready:
                raise IndicialError(
                    f"{' and '.join(sorted(open_))} are predicted from each other, so none can be first"
                )
            found.append(ready)
            waiting = [part for part in waiting if part not in ready]
        return found

    @property
    def length(self) -> str | None:
        """The name of the size that says how many are predicted in a row; None: one."""
        return self.target.length if self.target is not None else None

    @property
    def says(self) -> str:
        """What the equations are for, in a line."""
        if self.candidates is not None:
            among = " and ".join(tensor.name for tensor in self.candidates.given)
            rest = [
                s.name for s in self.slots if s.name not in {t.name for t in self.candidates.given}
            ]
            if self.read is None:
                return (
                    f"which {among} belongs to {' and '.join(rest)}, of those of a batch: retrieval"
                )
            first, *more = [name for name in rest if name != self.read.token.name]
            return (
                f"which {among} belongs to {first}, of those of a batch, and {self.read.token.name} from "
                f"{' and '.join(more or [first])}: retrieval and reading"
            )
        if self.target is None:
            return (
                "the equations say no probability of an input, and compare none with what they "
                f"compute: trained on {self.loss}, and scored by it alone"
            )
        if len(self.parts) > 1:
            read = [slot.name for slot in self.given]
            each = [
                f"{part.slot.name} from {_listed([*read, *part.after])}: {WORDS[part.kind]}"
                for part in self.parts
            ]
            return "; ".join(each)
        given = " and ".join(slot.name for slot in self.given) or "itself"
        before = " and from the words before it" if self.kind == SEQUENCE else ""
        return f"{self.target.name} from {given}{before}: {WORDS[self.kind]}"


def form_of(program: Program) -> Form:
    """The form of a program that has a loss."""
    code = program.code
    assert code.loss is not None
    found = prediction(code)
    if found is None:
        pair = _compared(code)
        kind = LOSS if pair is None else NUMBERS
        return Form(kind, slots(code), code.loss, compared=pair)
    chosen = candidates(code, found)
    if chosen is not None:
        others = (p for p in predictions(code) if p.token is not found.token)
        read = next((p for p in others if len(p.token.axes) == 1), None)
        columns = slots(of_one(code, chosen), {read.token.name} if read is not None else ())
        names = [tensor.name for tensor in chosen.given]
        marked = tuple(replace(slot, candidate=slot.name in names) for slot in columns)
        return Form(CHOICE, marked, code.loss, found, candidates=chosen, read=read)
    several = predictions(code)
    every = slots(code, {one.token.name for one in several})
    parts = tuple(_part(code, one, several, every) for one in several)
    return Form(parts[0].kind, every, code.loss, found, parts=parts)


def _part(code: Code, one: Prediction, several: list[Prediction], every: tuple[Slot, ...]) -> Part:
    slot = next(slot for slot in every if slot.name == one.token.name)
    after = tuple(
        other.token.name
        for other in several
        if other is not one
        and one.distribution.name in dependent(code, frozenset({other.token.name}))
    )
    return Part(KINDS[slot.kind], slot, one, after)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1] if names else "itself"


def _compared(code: Code) -> Compared | None:
    """The only difference between an input of numbers and what is computed in the same places."""
    found: set[Compared] = set()
    for statement in code.statements:
        for node in statement.body.walk():
            pair = _difference(node)
            if pair is None or pair[0].places != pair[1].places:
                continue
            roles = [code.tensors[read.tensor].role for read in pair]
            if sorted(roles) != ["defined", "input"]:
                continue
            one, other = pair if roles[0] == "input" else pair[::-1]
            if len(code.tensors[one.tensor].axes) == len(code.tensors[other.tensor].axes):
                found.add(Compared(one.tensor, other.tensor))
    return found.pop() if len(found) == 1 else None


def _difference(node: Expression) -> tuple[Read, Read] | None:
    """The two reads of `y - ŷ`."""
    match node:
        case Apply("+", (Read() as one, Apply("neg", (Read() as other,)))):
            return one, other
        case Apply("+", (Apply("neg", (Read() as one,)), Read() as other)):
            return one, other
    return None
