"""What a person writes down for a design → an array for each parameter, and the sizes.

>>> named(code, {"Q": q, "positions": p})
{'W^Q': array(…), 'pos': array(…)}
>>> defined(code, "W^Q[i,c] = 4 [i = c]", {"I": 3, "V": 3, "P": 1})["W^Q"].shape
(3, 4)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from indicial.compile.module.sizes import parameters, resolve
from indicial.library.loading import load
from indicial.notation.parse import canonical_name
from indicial.program.explain.facts import tie
from indicial.program.ir import Code, Tensor
from indicial.program.meaning.arrays import (
    InterpretError,
    solve_sizes,
    stored_extents,
    stored_shape,
)
from indicial.program.messages import IndicialError, refused

Array = np.ndarray[Any, np.dtype[np.float64]]


LEFT = re.compile(r"\s*[^\[\]=]+\[[^\[\]=]*\]\s*=")
"""The left side of an equation: `W^Q[i,c] =`."""


def parameter_name(code: Code, spelling: str) -> str:
    """The parameter that is meant: `W^Q` by any spelling, by `Q`, `pos` by `positions`."""
    names = [tensor.name for tensor in parameters(code)]
    canonical = canonical_name(spelling)
    for wanted in (canonical, f"W^{canonical}", f"W^{{{canonical}}}"):
        if wanted in names:
            return wanted
    longer = [n for n in names if len(n) > 1 and canonical.startswith(n)]
    return longer[0] if len(longer) == 1 else resolve(code, spelling, ("parameter",))


def equations(code: Code, given: Mapping[str, str]) -> str:
    """What is written for parameters, as equations: `{"Q": "4 [i = c]"}` → `W^Q[i,c] = 4 [i = c]`."""
    lines = []
    for spelling, text in given.items():
        tensor = code.tensors[parameter_name(code, spelling)]
        left = f"{tensor.name}[{','.join(axis.letter for axis in tensor.axes)}] = "
        lines.append(text if LEFT.match(text) else left + text)
    return "\n".join(lines)


def named(code: Code, given: Mapping[str, object]) -> dict[str, Array]:
    """The arrays by the names that the equations have for them."""
    found: dict[str, Array] = {}
    for spelling, values in given.items():
        name = parameter_name(code, spelling)
        if name in found:
            raise IndicialError(f"{name} is given twice, the second time as {spelling}")
        found[name] = _array(code.tensors[name], values)
    return found


def _array(tensor: Tensor, values: object) -> Array:
    try:
        if np.asarray(values).dtype.kind == "c":
            raise TypeError("its numbers are complex")
        array = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise IndicialError(f"{tensor.name} is not an array of numbers: {error}") from error
    if not array.size:
        raise IndicialError(f"{tensor.name} has no elements: its shape is {array.shape}")
    if not np.isfinite(array).all():
        raise IndicialError(f"{tensor.name} has an element that is not finite")
    if array.ndim != len(tensor.axes):
        letters = ",".join(axis.letter for axis in tensor.axes)
        raise IndicialError(
            f"{tensor.name}[{letters}] has {len(tensor.axes)} indices, and the array given for it "
            f"has {array.ndim}"
        )
    return array


def sizes_of(code: Code, arrays: Mapping[str, Array], given: Mapping[str, int]) -> dict[str, int]:
    """The sizes that follow from the arrays, those that were given, and those taken as another."""
    fixed = {name: value for name, value in code.sizes.items() if value is not None} | dict(given)
    ties = tie(code)
    for _ in range(len(ties) + 1):
        try:
            fixed = solve_sizes(code, arrays, frozenset(), fixed, set())
        except InterpretError as error:
            raise IndicialError(str(error)) from error
        for name, letter in ties.items():
            pair = {n: fixed[n] for n in (name, letter) if n in fixed}
            fixed |= dict.fromkeys((name, letter), *pair.values()) if len(pair) == 1 else {}
    return fixed


def defined(code: Code, text: str, sizes: Mapping[str, int]) -> dict[str, Array]:
    """The parameters that further equations define, at the sizes that the program has them."""
    program = load(text)
    if program.errors:
        raise refused(program.errors)
    own = [t for t in program.code.tensors.values() if t.role == "defined"]
    found: dict[str, Array] = {}
    wanted = {t.name: parameter_name(code, t.name) for t in own}
    known: dict[str, int] = {}
    for tensor in own:
        target = code.tensors[wanted[tensor.name]]
        if len(tensor.axes) != len(target.axes):
            raise IndicialError(
                f"{tensor.name} is defined with {len(tensor.axes)} indices; "
                f"{target.name} has {len(target.axes)}"
            )
        shape = stored_shape(target, sizes)
        for extent, value in zip(stored_extents(tensor), shape, strict=True):
            if extent.name is not None:
                known[extent.name] = value
    open_ = [t.name for t in program.code.tensors.values() if t.role in ("input", "parameter")]
    if open_:
        raise IndicialError(f"the definitions leave {', '.join(open_)} open: say what it is")
    result = program.interpret({}, {}, sizes=known, want=[t.name for t in own])
    for tensor in own:
        found[wanted[tensor.name]] = _array(code.tensors[wanted[tensor.name]], result[tensor.name])
    return found
