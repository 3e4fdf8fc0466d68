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
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from indicial.data.binding import LABEL, PLACES, TEXT, UNITS, Slot, slots
from indicial.program.ir import Apply, Code, Expression, Read
from indicial.program.meaning.differing import dependent
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.predictions import Prediction, prediction, predictions
from indicial.tasks.retrieval import Candidates, candidates, of_one

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
