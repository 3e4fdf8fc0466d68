"""Running a program on small random values, and showing what comes out: `indicial try`.

>>> print("\\n".join(trial(load("y[j] = W[j,I] x[I]\\ninput x[i]"))))
sizes    I = 3, J = 4; seed 0
y[j]  4, from -0.9 to 1.2
…
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indicial.inspect.heatmap import SLICES, heatmap
from indicial.program import ir
from indicial.program.explain.facts import Facts, read, tie
from indicial.program.explain.numbers import count, short
from indicial.program.meaning.interpret import InterpretError, interpret
from indicial.program.meaning.sample import least_sizes, sample
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.program.meaning.interpret import Result
    from indicial.program.meaning.sample import Array
    from indicial.program.program import Program

LIMIT = 20_000_000
"""Elements are computed one by one; more operations than this would take minutes."""


def small(code: ir.Code, given: Mapping[str, int]) -> dict[str, int]:
    """Sizes to try a program on: as given, as the text says, else 3 and 4 in turn.

    >>> small(code, {"T": 5})
    {'T': 5, 'K': 4, 'J': 3}
    """
    least, tied = least_sizes(code), tie(code)
    sizes: dict[str, int] = {}
    for number, (name, fixed) in enumerate(code.sizes.items()):
        if name in given or fixed is not None:
            sizes[name] = given[name] if name in given else int(fixed or 1)
        elif name not in tied:
            sizes[name] = max(3 + number % 2, least.get(name, 1))
    for name, letter in tied.items():
        sizes.setdefault(name, max(sizes[letter], least.get(name, 1)))
    return sizes


@dataclass(frozen=True)
class Ran:
    """A program, run: at which sizes, on what, and what came out."""

    sizes: dict[str, int]
    given: Mapping[str, Array]
    result: Result


def run(program: Program, sizes: Mapping[str, int] | None = None, seed: int = 0) -> Ran:
    """Runs a program without errors on small random values."""
    code = program.code
    chosen = small(code, program.sizes(sizes or {}))
    try:
        operations = program.cost.work.value(chosen)
    except (KeyError, ValueError):
        operations = 0
    if operations > LIMIT:
        raise IndicialError(
            f"at these sizes that is {short(operations)} operations, one by one; "
            f"try smaller ones (--set), at most {short(LIMIT)}"
        )
    drawn = sample(code, chosen, seed)
    try:
        result = interpret(
            code, {**code.constants, **drawn.inputs}, drawn.parameters,
            sizes=chosen, draws=drawn.draws,
        )  # fmt: skip
    except InterpretError as error:
        raise IndicialError(str(error)) from error
    return Ran(chosen, {**drawn.inputs, **drawn.parameters, **drawn.draws}, result)


def trial(
    program: Program,
    *,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    everything: bool = False,
    colour: bool = False,
    width: int = 80,
) -> list[str]:
    """The lines that show a program without errors at work.

    `everything` also shows inputs and parameters, and all slices.
    """
    facts = read(program, sizes)
    ran = run(program, sizes, seed)
    chosen = ran.sizes
    lines = _intro(facts, chosen, seed, width)
    for named in facts.names:
        if named.made and not everything:
            continue
        known = ran.result if named.role == "defined" else ran.given if everything else {}
        if named.name not in known:
            continue
        lines.append("")
        lines += heatmap(
            known[named.name],
            named.name,
            named.letters,
            lowers=lowers(named.tensor, chosen),
            remark=remark(program.code, named.tensor),
            whole=named.tensor.values is not None,
            colour=colour,
            width=width,
            slices=None if everything else SLICES,
        )
    return lines


def _intro(facts: Facts, sizes: Mapping[str, int], seed: int, width: int) -> list[str]:
    tied = tie(facts.code)
    shown = [f"{n} = {count(v)}" for n, v in sizes.items() if v != sizes.get(tied.get(n, ""))]
    lines = [f"random values (seed {seed}){', sizes ' if shown else ''}{', '.join(shown)}"]
    for role, word in (("input", "inputs"), ("parameter", "parameters"), ("draw", "drawn")):
        names = [n.shown + ("?" if n.tensor.guess else "") for n in facts.role(role)]
        if names:
            lines.append(f"{word}: {', '.join(names)}")
    if facts.guesses:
        lines.append("? marks a guess: nothing in the text says what the name is")
    for hole in facts.program.holes:
        lines.append(f"{hole} is only named: tanh of a sum of its arguments stands in for it")
    return [piece for line in lines for piece in _folded(line, width)]


def _folded(line: str, width: int) -> list[str]:
    pieces = [""]
    for word in line.split(" "):
        joint = " " if pieces[-1].strip() else ""
        if joint and len(pieces[-1]) + 1 + len(word) > width:
            pieces.append("  " + word)
        else:
            pieces[-1] += joint + word
    return pieces


def lowers(tensor: ir.Tensor, sizes: Mapping[str, int]) -> list[int]:
    """The index values of its first elements."""
    return [axis.lower.value(sizes) for axis in tensor.axes]


def remark(code: ir.Code, tensor: ir.Tensor) -> str:
    """`a distribution over t_2`, where that is certain."""
    if tensor.probability:
        return f"a distribution over {tensor.axes[-1].letter}" if tensor.axes else "a probability"
    for statement in code.of(tensor.name):
        if isinstance(statement.body, ir.Softmax):
            over = ", ".join(index.name for index in statement.body.indices)
            return f"a distribution over {over}"
    return ""
