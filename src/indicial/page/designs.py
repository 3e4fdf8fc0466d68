"""Matrices chosen by hand against learned ones, as the page shows them.

begin({"task": "position"})                    →   the matrices of the design that is there
judge({"task": "position", "matrices": …})     →   every case: how many are wrong, the worst margin
learn({"task": "position", "steps": 1500, …})  →   the matrices that are learned
beside({"task": …, "matrices": …, "other": …}) →   what is the same in both, as sentences and products
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from indicial.page import protocol
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.designs.circuits import Circuits
    from indicial.designs.design import Design

MOST_STEPS = 10_000
LARGEST = 1e6
SHOWN = 12
"""Cases that are listed where many are wrong."""


@lru_cache(4)
def _by_hand(name: str) -> Design:
    from indicial.designs.hand import hand

    return hand(name)


def _design(task: str, matrices: Mapping[str, Sequence[float]], name: str) -> Design:
    """The equations of a task's design with these matrices."""
    import numpy as np

    base = _by_hand(task)
    arrays = {}
    for key, array in base.arrays.items():
        given = matrices.get(key)
        if given is None or len(given) != array.size:
            raise IndicialError(f"{key} needs {array.size} numbers")
        if not all(math.isfinite(x) and abs(x) <= LARGEST for x in given):
            raise IndicialError(f"{key} has a number that is not from -1e6 to 1e6")
        arrays[key] = np.array(given, np.float64).reshape(array.shape)
    return replace(base, arrays=arrays, name=name)


def begin(question: protocol.AskDesign) -> protocol.DesignOf:
    """The design of a task that is made by hand."""
    base = _by_hand(question["task"])
    equations = [line for line in base.program.unicode().splitlines() if "=" in line]
    return {
        "task": question["task"],
        "equations": equations,
        "matrices": _matrices(base, question["task"]),
    }


def _matrices(design: Design, task: str) -> list[protocol.Matrix]:
    from indicial.designs.checking import TASKS

    features = [*design.tokens, *(f"p{n}" for n in range(design.sizes["P"]))]
    known = {"c": features, "o": TASKS[task].outputs}
    found: list[protocol.Matrix] = []
    for name, array in design.arrays.items():
        axes = design.program.code.tensors[name].axes
        down, across = (
            known.get(axis.letter) or [f"{axis.letter}={n}" for n in range(length)]
            for axis, length in zip(axes, array.shape, strict=True)
        )
        found.append(_matrix(name, down, across, array))
    return found


def _matrix(name: str, rows: Sequence[str], columns: Sequence[str], array: Any) -> protocol.Matrix:
    values = [float(f"{float(x):.6g}") for x in array.flat]
    return {"name": name, "rows": list(rows), "columns": list(columns), "values": values}


def judge(question: protocol.AskJudge) -> protocol.Judged:
    """Every case of the task, and the weights at the one that comes nearest to wrong."""
    from indicial.inspect.attention import attentions

    design = _design(question["task"], question["matrices"], "yours")
    found = design.check(question["task"])
    worst = found.worst
    tokens = worst.case.tokens
    labels = [f"{n} {design.tokens[token]}" for n, token in enumerate(tokens)]
    (weights,) = attentions(design.program.code)
    array = design.run(tokens, [weights.name])[weights.name]
    margin, error = found.margin, found.squared_error
    return {
        "cases": len(found.answered),
        "wrong": len(found.failures),
        "margin": margin if math.isfinite(margin) else None,
        "worst": found.task.text(tokens),
        "place": worst.place,
        "squared_error": error if math.isfinite(error) else None,
        "told": str(found).splitlines()[3 : 3 + SHOWN],
        "weights": _matrix("weights at that sequence", labels, labels, array.clip(-1, 1)),
    }


def learn(question: protocol.AskLearn) -> protocol.Learned:
    """The same equations from a random start."""
    base = _by_hand(question["task"])
    steps = min(max(1, question["steps"]), MOST_STEPS)
    errors: list[float] = []
    made = base.train(
        question["task"], steps=steps, rate=float(question["rate"]), seed=question["seed"],
        told=lambda step, error: errors.append(error),
    )  # fmt: skip
    return {
        "remark": made.remark,
        "matrices": _matrices(made, question["task"]),
        "errors": [error if math.isfinite(error) else None for error in errors],
    }


def beside(question: protocol.AskBeside) -> protocol.Beside:
    """What the outputs depend on, in both: it is the same however the factors are chosen."""
    task = question["task"]
    one = _design(task, question["matrices"], "yours")
    other = _design(task, question["other"], "learned")
    found = one.compare(other)
    first, second = found.circuits
    return {
        "sentences": found.sentences(),
        "products": [*_products(first, "yours", task), *_products(second, "learned", task)],
    }


def _products(found: Circuits, whose: str, task: str) -> list[protocol.Matrix]:
    from indicial.designs.checking import TASKS

    labels, outputs = found.labels, TASKS[task].outputs
    return [
        _matrix(f"scores, {whose}", labels, labels, found.scores[0]),
        _matrix(f"values, {whose}", outputs, labels, found.values[0]),
    ]
