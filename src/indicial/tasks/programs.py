"""What was named on the command line → one program that can be trained, or what it lacks; and its task.

    trainable(["ugrnn"])                       joined with `language_model`
    trainable(["stacked"], {"CELL": "lstm"})   joined with `language_model_stack`
    trainable(["encoder"])                     joined with `masked`, for the task `blank`
    trainable(["transformer", "focus"], {"λ": "0.1", "J": "64"})
    trainable(["bahdanau"])                    two texts, for the task `columns`

A text that says neither how likely a word is nor what to minimise is joined with the text of the
library that says it, if it has the states for it. The names of a cell are its own:

    input u[t,d], … o[t,d] = …      language_model with u for x and o for h
    … e[t,m] = σ(…) …               the word vectors are called e^{word}: the cell's e is its own

What the cell gives is found by its structure: a tensor with a vector for each step that no other
equation goes on with. Among tensors that need each other (the c and h of an LSTM) it is h, or else the one that is
defined last.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from indicial import library
from indicial.compile.module.sizes import parameters
from indicial.data.column_rows import ASIS, Columns, Variation
from indicial.data.corpus import Data
from indicial.library.loading import load, told_apart
from indicial.notation.printers import name_key
from indicial.notation.syntax import Index, Name
from indicial.program.ir import Code, Tensor
from indicial.program.meaning.arrays import BATCH
from indicial.program.messages import IndicialError
from indicial.program.names.fills import filling
from indicial.program.program import Program
from indicial.program.rewrite import reached
from indicial.tasks.columns import ColumnTask
from indicial.tasks.language import Blank, Language
from indicial.tasks.predictions import LENGTH, Prediction, prediction, probe, token_inputs
from indicial.tasks.task import Task
from indicial.tasks.texts import Texts

HEADS = ("T", "V")
"""Sizes that a cell may get from the text it is joined with."""

READ = "x[t,k] = e[w[t],k]"


@dataclass(frozen=True)
class Trainable:
    """A program with a loss, and what was said about it."""

    program: Program
    task: str
    """`language`, `blank`, or `columns` for programs that read more than one text."""
    sizes: dict[str, int] = field(default_factory=dict)


def trainable(
    what: Sequence[str | os.PathLike[str] | Program],
    given: Mapping[str, str] | None = None,
    task: str | None = None,
) -> Trainable:
    """The program for a task; without one, the task that the equations speak of."""
    _check_once(what)
    written = load(*what, one_example=True)
    if written.errors and (cell := _without_head(what)):
        what, written = cell, load(*cell, one_example=True)
    if not written.equations and not written.errors:
        named = [one.title if isinstance(one, Program) else str(one) for one in what]
        raise IndicialError(f"there are no equations in {', '.join(named)}")
    sizes, constants, fills = told_apart([written], given or {}, HEADS)
    program = load(*what, fills=fills, constants=constants, one_example=True)
    head = _head(program.code, task)
    if head:
        program = load(*what, *head, fills=fills, constants=constants, one_example=True)
        program.title = " + ".join(
            [load(w).title for w in what] + [h for h in head if "=" not in h]
        )
    own = _task(program)
    if own != "columns":
        _check_all_predicted(program)
    if task is not None and "columns" in (task, own) and task != own:
        raise IndicialError(
            f"--task {task}: {program.title} is for the task {own}, by what its equations read and "
            "predict; leave it out"
        )
    if (task, own) == ("language", "blank"):
        raise IndicialError(
            f"{program.title} predicts a word from later ones as well: it is not a language model. "
            "Train it with --task blank"
        )
    return Trainable(program, task or own, program.sizes(sizes))


def _check_once(what: Sequence[str | os.PathLike[str] | Program]) -> None:
    """Equations joined with themselves say nothing new, so something else was meant."""
    names = [os.path.normpath(name) for name in what if not isinstance(name, Program)]
    for name in names:
        if names.count(name) > 1:
            raise IndicialError(
                f"{name} is named twice, and texts that are named together become one program. "
                f"Layers of a cell: stacked --set CELL=ugrnn --set L=2; models side by side: "
                "indicial compare"
            )


# ---------------------------------------------------------------------- heads


def _head(code: Code, task: str | None) -> list[str]:
    """The texts that make a program of states one that predicts; none if it does already."""
    found = prediction(code)
    if found is not None:
        return [] if code.loss else [log_loss(found)]
    if code.loss is not None:
        return []
    # A distribution of something else, as in a text that is given its states.
    reads, layers = code.tensors.get("x"), code.tensors.get("L")
    given = reads is not None and reads.role == "input" and _has(reads, 2) and reads.values is None
    both = all(_has(code.tensors.get(name), 2) for name in ("h⃗", "h⃖"))
    if given and both and task != "language":
        return ["blank_log_loss", READ]
    cell = find_cell(code) if task != "blank" else None
    if cell is not None:
        return [head(cell, code)]
    if _has(layers, 3) and token_inputs(code) and task != "language":
        return ["masked"]
    raise IndicialError(_lacking(code, task))


def _without_head(
    what: Sequence[str | os.PathLike[str] | Program],
) -> list[str | os.PathLike[str] | Program]:
    """The texts of a cell that was named together with its language model; none if they are no cell.

    The language model is found for a cell in any case, and has other letters then where the cell uses its own.
    """
    cell = [one for one in what if one not in ("language_model", "language_model_stack")]
    if not cell or len(cell) == len(what):
        return []
    program = load(*cell, one_example=True)
    return cell if not program.errors and find_cell(program.code) is not None else []


def log_loss(found: Prediction) -> str:
    """`loss = 1/T Σ_t -ln P(w_t | …)` with the names of a program."""
    P, w = found.distribution.name, found.token.name
    if not found.token.axes:
        return f"loss = -ln {P}({w} | …)"
    axis = found.token.axes[0]
    t = axis.letter
    return f"loss = 1/{axis.extent} Σ_{{{t}}} -ln {P}({w}[{t}] | …)"


def _has(tensor: Tensor | None, axes: int) -> bool:
    return tensor is not None and len(tensor.axes) == axes


def _lacking(code: Code, task: str | None) -> str:
    defined = [t for t in code.tensors.values() if t.role == "defined" and "." not in t.name]
    has = ", ".join(_written(t) for t in defined[-3:]) or "nothing"
    words = "" if token_inputs(code) else "\n  input w[t] in V"
    if task == "blank":
        says = "P(w[t] | w[0], …, w[t-1], w[t+1], …, w[T-1]) = softmax_{w_t} …"
        whole = (
            "an encoder that reads w[t] and gives L[ℓ,t,j], or two cells that give h⃗[t,j], h⃖[t,j]"
        )
    else:
        # A state that reads x may be one of words before w[t]; one that reads w[t] itself is not.
        state = "h[t-1,J]" if token_inputs(code) else "h[t,J]"
        says = f"P(w[t] | w[0], …, w[t-1]) = softmax_{{w_t}} e[w_t,J] {state}"
        whole = "a cell that reads x[t,k] and gives h[t,j], or a stack of them that gives h[ℓ,t,j]"
    return (
        f"the equations (they end in {has}) say neither how likely a word is nor what to minimise. "
        f"Add{words}\n  {says}\nor name {whole}"
    )


def _written(tensor: Tensor) -> str:
    letters = ",".join(axis.letter for axis in tensor.axes)
    return f"{tensor.name}[{letters}]" if letters else tensor.name


# ---------------------------------------------------------------------- what a task needs


def _task(program: Program) -> str:
    """What the equations are for, by what they read and predict."""
    code = program.code
    batched = [t for t in code.tensors.values() if any(a.letter == BATCH for a in t.axes)]
    if batched:
        raise IndicialError(
            f"{_written(batched[0])} has the index {BATCH}, which stands for the texts of a batch: "
            "training adds them itself, so leave it out, or call it something else"
        )
    if program.holes:
        hole = program.holes[0]
        raise IndicialError(f"{hole} is only named; fill it: --set {hole}={filling(hole)}")
    found = prediction(code)
    texts = [t for t in token_inputs(code) if len(t.axes) == 1]
    given = [found.token, found.blanked, found.mask] if found is not None else texts[:1]
    inputs = [t for t in code.tensors.values() if t.role == "input"]
    beside = [t for t in inputs if t not in given]
    if (found is None or found.token in texts) and not beside and texts:
        return _of_one_text(program, found)
    if not inputs:
        raise IndicialError(
            "the equations read no words. Add `input w[t] in V`, and use it: x[t,k] = e[w[t],k]"
        )
    if not parameters(code):
        read = ", ".join(_written(tensor) for tensor in inputs)
        raise IndicialError(
            f"the equations have no parameters, so there is nothing to learn: they read {read}. Name "
            "a model that defines these as well"
        )
    if found is not None:
        _check_defined(program, beside)
    return "columns"


def _of_one_text(program: Program, found: Prediction | None) -> str:
    if found is None:
        return "language"
    if found.distribution.axes[0].lower != found.token.axes[0].lower:
        raise IndicialError(_shifted(found))
    return "blank" if found.blanked is not None or probe(program).looks_ahead else "language"


def _check_defined(program: Program, beside: Sequence[Tensor]) -> None:
    """Numbers for each word of a text that nobody mentions are states that an equation should give."""
    named = given_names(program)
    for tensor in beside:
        if tensor.values is None and len(tensor.axes) == 2 and tensor.name not in named:
            how = READ if tensor.name == "x" else f"{_written(tensor)} = …"
            raise IndicialError(
                f"the equations read {_written(tensor)}, which no equation defines and a text does "
                f"not tell. Add {how}, or name a model that defines it; if it is a column of the "
                f"data, name it behind the bar of the probability: P(… | {tensor.name}, …)"
            )


def given_names(program: Program) -> set[str]:
    """The names behind the bars of probabilities that the equations define."""
    nodes = [
        node.base if isinstance(node, Index) else node
        for definition in program.analysis.outline.definitions
        if definition.probability is not None
        for node in definition.probability.given or ()
    ]
    return {name_key(node) for node in nodes if isinstance(node, Name)}


def _check_all_predicted(program: Program) -> None:
    """A loss over some of the words is not comparable with one over all of them."""
    found, said = prediction(program.code), probe(program)
    if found is not None and said.predicts < LENGTH:
        P, w = found.distribution.name, found.token.name
        raise IndicialError(
            f"{program.title} says how likely {said.predicts} of {LENGTH} words are: {P}({w}_t | …) "
            "is there for the first ones only, so its loss would be of another thing than that of "
            "a language model. Its last layer is shorter than the text: a layer of each length, "
            "as in causal_cnn, predicts every word"
        )


def _shifted(found: Prediction) -> str:
    """`P(w_{t+1} | w_0, …, w_t)`: the first word has no probability, and a word behind the last has."""
    P, w = found.distribution, found.token.name
    axes = (P.axes[0], found.token.axes[0])
    said, there = (f"{w}[{a.lower}], …, {w}[{a.upper}]".replace(" - ", "-") for a in axes)
    return (
        f"{P.name} is there for {said}, and a text has {there}: its equation, or that of a state "
        "that it reads, has t+1 on the left. Write t there, and one less on the right:\n"
        f"  {P.name}({w}[t] | {w}[0], …, {w}[t-1]) = softmax_{{{w}_t}} e[{w}_t,J] h[t-1,J]\n"
        f"  loss = 1/T Σ_t -ln {P.name}({w}_t | …)"
    )


_FREE = {
    "w": ("w", "u", "z", "w^{text}"),
    "e": ("e", "e^{word}", "e^{text}"),
    "P": ("P", "p", "P^{word}"),
    "V": ("V", "U", "Z", "Y", "X", "W"),
}
"""What the names of the library's language models may be called, beside a cell that has them already."""


@dataclass(frozen=True)
class Cell:
    """What a program of states reads and gives."""

    input: Tensor
    output: Tensor


def find_cell(code: Code) -> Cell | None:
    """The program as a cell, or a stack of cells; None if it is neither."""
    inputs = [t for t in code.tensors.values() if t.role == "input"]
    vectors = [t for t in inputs if t.values is None and len(t.axes) == 2]
    if len(inputs) != 1 or not vectors:
        return None
    (given,) = vectors
    giving = [t for t in code.tensors.values() if _gives(t, given)]
    last = [t for t in giving if not _goes_on(code, t.name)]
    if not last:
        return None
    groups = list(dict.fromkeys(_together(code, t.name) for t in last))
    named = [t for t in last if t.name == "h"]
    if len(groups) > 1 and not named:
        raise IndicialError(_open([_last(code, last, group) for group in groups]))
    output = named[0] if named else _last(code, last, groups[0])
    return Cell(given, output)


def head(cell: Cell, code: Code) -> str:
    """What makes a language model of the cell: a name of the library, or the same text with other names."""
    name = "language_model_stack" if len(cell.output.axes) == 3 else "language_model"
    names = {"x": cell.input.name, "h": cell.output.name}
    taken = {*code.tensors, *code.sizes}
    names |= {n: next(f for f in free if f not in taken) for n, free in _FREE.items()}
    if all(old == new for old, new in names.items()):
        return name
    text = library.path(name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return _renamed("\n".join(lines), names)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Other names for the letters that stand before brackets or a subscript, and for the vocabulary."""
    text = re.sub(r"(?<!\w)([wxehP])(?=[\[(])", lambda m: names[m[1]], text)
    text = re.sub(r"(?<!\w)w(?=_t)", names["w"], text)
    return re.sub(r"(?<=in )V\b", names["V"], text)


def _gives(tensor: Tensor, given: Tensor) -> bool:
    """A vector for each step of the input, or for each layer and step."""
    if tensor.role != "defined" or tensor.values is not None or "." in tensor.name:
        return False
    extents = [axis.extent for axis in tensor.axes]
    layers = len(extents) == 3 and tensor.axes[0].letter == "ℓ"
    return (len(extents) == 2 or layers) and extents[-2] == given.axes[0].extent


def _read_by(code: Code) -> dict[str, set[str]]:
    """For each tensor those that its equations read."""
    found: dict[str, set[str]] = {name: set() for name in code.tensors}
    for statement in code.statements:
        found[statement.target] |= {read.tensor for read in statement.reads()}
    return found


def _needs(code: Code, name: str) -> set[str]:
    """All that a tensor is computed from, itself too where it recurs."""
    reads = _read_by(code)
    return reached(reads[name], lambda other: reads[other])


def _together(code: Code, name: str) -> frozenset[str]:
    """The tensor with those that it needs and that need it."""
    return frozenset({name, *(n for n in _needs(code, name) if name in _needs(code, n))})


def _goes_on(code: Code, name: str) -> bool:
    """Whether something reads a tensor that does not lead back to it."""
    together = _together(code, name)
    return any(name in reads for n, reads in _read_by(code).items() if n not in together)


def _last(code: Code, among: list[Tensor], group: frozenset[str]) -> Tensor:
    order = [statement.target for statement in code.statements]
    inside = [t for t in among if t.name in group]
    return max(inside, key=lambda t: order.index(t.name))


def _open(found: list[Tensor]) -> str:
    shown = [f"{t.name}[{','.join(axis.letter for axis in t.axes)}]" for t in found]
    return (
        f"the equations end in {', '.join(shown[:-1])} and {shown[-1]}: which of them is to predict the "
        f"words? Let one equation read the others, or call the one that is meant h"
    )


TASKS = {task.name: task for task in (Language, Blank, Texts)}


def make_task(
    name: str,
    program: Program,
    data: Data | Columns,
    *,
    context: int,
    batch_size: int,
    seed: int = 0,
    variation: Variation = ASIS,
    objective: str | None = None,
    shares: Sequence[float] = (),
) -> Task:
    """A task on data; the program is one that `programs.trainable` gave."""
    rows = {"context": context, "batch_size": batch_size, "seed": seed}
    if isinstance(data, Columns):
        return ColumnTask(program, data, **rows, variation=variation)
    if name == Texts.name:
        return Texts(program, data, **rows, objective=objective, shares=shares)
    return text_task(name, program, data, **rows)


def text_task(
    name: str, program: Program, data: Data, *, context: int, batch_size: int, seed: int = 0
) -> Language:
    """A task on one text."""
    if name not in TASKS:
        close = difflib.get_close_matches(name, TASKS, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(TASKS)}"
        raise IndicialError(f"there is no task {name}{hint}")
    return TASKS[name](program, data, context=context, batch_size=batch_size, seed=seed)
