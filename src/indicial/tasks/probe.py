"""How a program uses a text, found by running it on a tiny one.

>>> probe(load("transformer"))
Probe(looks_ahead=False, first_is_known=True, first_is_possible=True)
>>> probe(load("gpt2")).first_is_known      # the first word has no probability that can be learned
False
"""

from __future__ import annotations

from dataclasses import dataclass

from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.program import Program
from indicial.tasks.predictions import prediction

LENGTH, WORDS = 3, 3


@dataclass(frozen=True)
class Probe:
    looks_ahead: bool
    """Whether a word is predicted from later ones."""
    first_is_known: bool
    """Whether the first word has probabilities of its own; if not, all words are equally likely."""
    first_is_possible: bool = True
    """Whether it has any: `P(w_t | …) = … for t ≥ 1` gives it none."""
    predicts: int = LENGTH
    """How many of LENGTH words have probabilities, from the last one that has: a CNN that halves its
    text in each layer says nothing of the later words."""


def probe(program: Program) -> Probe:
    """Runs the equations as the interpreter reads them, at the smallest sizes that tell."""
    import numpy as np

    code = program.code
    found = prediction(code)
    if found is None:
        return Probe(looks_ahead=False, first_is_known=True)
    sizes = small_sizes(code, 2) | {found.length or "T": LENGTH, found.vocabulary or "V": WORDS}
    # With less than three units, layer norm leaves only signs.
    sizes |= {name: 3 for name in sizes if name == "J"}
    fixed = {name: value for name, value in code.sizes.items() if value is not None}
    drawn = sample(code, sizes | fixed, seed=1)
    name = found.distribution.name
    tables = []
    for last in (0, 1):
        drawn.inputs[found.token.name] = np.array([0, 1, last])
        result = program.interpret(
            drawn.inputs, drawn.parameters, draws=drawn.draws, sizes=drawn.sizes, want=[name]
        )
        tables.append(result[name])
    told = np.flatnonzero(tables[0].any(-1))
    predicts = int(told[-1]) + 1 if len(told) else 0
    if found.blanked is not None:
        return Probe(looks_ahead=True, first_is_known=True, predicts=predicts)
    first = tables[0][0]
    return Probe(
        looks_ahead=not np.allclose(tables[0][:-1], tables[1][:-1], atol=1e-9),
        first_is_known=bool(np.ptp(first) > 1e-9),
        first_is_possible=bool(first.any()),
        predicts=predicts,
    )
