"""The oracle: what a program means, computed element by element in float64, slowly.

    h[t,j] = tanh(Σ_i W[j,i] h[t-1,i] + x[t,j])

>>> result = interpret(code, {"x": x}, {"W": W})        # x: (T, J), W: (J, J)
>>> result["h"].shape, result.operations
((7, 3), 168)

To know `h[2,j]`, evaluate the right side at `t = 2`. What it reads and is not yet known is computed
first; an element that needs itself is an error. Order does not matter, and nothing recurses over
elements: the elements that wait for others stand on a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indicial.notation.parse import canonical_name
from indicial.program.ir import Code, Expression
from indicial.program.meaning.arrays import InterpretError, gather_given
from indicial.program.meaning.differing import dependent
from indicial.program.meaning.machine import CycleError, Machine

if TYPE_CHECKING:
    from indicial.program.meaning.arrays import Array

__all__ = ["CycleError", "InterpretError", "Result", "evaluate", "interpret"]


@dataclass(frozen=True)
class Result(Mapping[str, "Array"]):
    """Arrays by tensor name. `lowers` says which index values are stored at 0.

    In a batch, what differs between examples has the batch axis in front, padded with nan, and
    `loss` is the mean over the examples.
    """

    values_by_name: dict[str, Array]
    operations: int
    lowers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    loss: float | None = None

    def __getitem__(self, name: str) -> Array:
        if name not in self.values_by_name:
            name = canonical_name(name)  # any spelling: `alpha`, `\\alpha`, `α`
        return self.values_by_name[name]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {tuple(value.shape)}" for name, value in self.items())
        return f"Result({shapes})"

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)


def interpret(
    code: Code,
    inputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
    *,
    sizes: Mapping[str, int] | None = None,
    lengths: Mapping[str, Sequence[int]] | None = None,
    want: Sequence[str] | None = None,
    draws: Mapping[str, Any] | None = None,
) -> Result:
    """Evaluate the wanted tensors, or all that are defined.

        x: (T, K), W: (J, K)     →  h: (T, J)
        x: (B, T, K), W: (J, K)  →  h: (B, T, J), each example as if alone

    `lengths={"T": [3, 7]}` gives each example its own `T`. `operations` counts the scalar
    operations that were needed (see `functions.operations`), each shared value once.
    """
    arrays = {**inputs, **parameters, **(draws or {})}
    given = gather_given(code, arrays, sizes or {}, lengths or {})
    if want is None:
        want = list(dict.fromkeys(s.target for s in code.statements))
    for name in want:
        if name not in code.tensors:
            raise InterpretError(f"the program has no tensor {name}")
    if not given.lifted:
        machine = Machine(code, given)
        found = {name: machine.array(name) for name in want}
        return _result(code, found, [machine])
    differing = dependent(code, given.lifted, frozenset(given.lengths))
    together = [name for name in want if name not in differing]
    apart = [name for name in want if name in differing]
    shared = Machine(code, given.shared())
    found = {name: shared.array(name) for name in together}
    machines = [Machine(code, given.member(number)) for number in range(given.members)]
    rows = [{name: machine.array(name) for name in apart} for machine in machines]
    for name in apart:
        found[name] = _stack([row[name] for row in rows])
    return _result(code, {name: found[name] for name in want}, [shared, *machines])


def evaluate(
    code: Code,
    expression: Expression,
    indices: Mapping[str, int],
    inputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
    *,
    sizes: Mapping[str, int] | None = None,
) -> float:
    """The value of one expression, as a claim needs it: `h[2,j]` at `{"j": 0}` → 0.3."""
    given = gather_given(code, {**inputs, **parameters}, sizes or {}, {})
    if given.lifted:
        raise InterpretError("an expression is evaluated on one example, not on a batch")
    return Machine(code, given).value(expression, dict(indices))


def _result(code: Code, found: dict[str, Array], machines: list[Machine]) -> Result:
    loss = None
    if code.loss in found:
        loss = float(found[code.loss].mean())
    lowers = {name: machines[0].lowers(name) for name in found}
    return Result(found, sum(machine.operations for machine in machines), lowers, loss)


def _stack(rows: list[Array]) -> Array:
    """One array of all examples; where one is shorter, nan."""
    import numpy as np

    shape = [max(extents) for extents in zip(*(row.shape for row in rows), strict=True)]
    result = np.full((len(rows), *shape), np.nan)
    for number, row in enumerate(rows):
        corner: tuple[Any, ...] = (number, *(slice(extent) for extent in row.shape))
        result[corner] = row
    return result
