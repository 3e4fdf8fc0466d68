"""What a run is given: the arrays by name, the sizes that follow from their shapes, the batch.

x of shape (2, 7, 4) for `input x[t,k]`  →  2 members; T = 7, K = 4
x of shape (7, 5), W of shape (3, 4)     →  W has 4 elements along k (axis 2),
                                                but x has 5 along k (axis 2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from indicial.notation.source import Span
from indicial.program.ir import Code, Tensor
from indicial.program.names.letters import capital
from indicial.program.sizes import Size, Strided

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

BATCH = "b"
"""The letter of a batch index that is written out."""


def writes_batch(code: Code) -> bool:
    """Whether the batch is an index of the text."""
    return any(axis.letter == BATCH for t in code.tensors.values() for axis in t.axes)


class InterpretError(Exception):
    """The equations cannot be evaluated on what was given; the message names tensors and axes."""

    def __init__(self, message: str, spans: Sequence[Span] = ()) -> None:
        super().__init__(message)
        self.spans = tuple(spans)


def tie(code: Code) -> dict[str, str]:
    """Second sizes of a letter, with the first: `{"I_{Value}": "I"}`.

    Nothing in the equations says that the `i` of Value is as long as the `i` of Query, so it has a
    size of its own, named after its tensor; where nobody sets it, it is the size of its letter. A
    worded index has a range that was meant to be its own (`t_{in}`), and is not tied.
    """
    worded = {capital(axis.letter) for t in code.tensors.values() for axis in t.axes if axis.letter}
    result = {}
    for name in code.sizes:
        letter, _, suffix = name.partition("_")
        owner = suffix.removeprefix("{").removesuffix("}")
        if suffix and letter in code.sizes and owner in code.tensors and name not in worded:
            result[name] = letter
    return result


def tied_sizes(code: Code, known: Mapping[str, int]) -> dict[str, int]:
    """Known sizes, with those that are taken as another: `{"I": 4}` → `{…, "I_{Value}": 4}`."""
    result = dict(known)
    for name, letter in tie(code).items():
        if name not in result and letter in result:
            result[name] = result[letter]
    return result


@dataclass(frozen=True)
class Given:
    """The arrays of one run; the `lifted` ones have a batch axis that the text leaves out."""

    arrays: dict[str, Array]
    sizes: dict[str, int]
    lengths: dict[str, list[int]]
    lifted: frozenset[str]
    members: int
    taken: dict[str, str] = field(default_factory=dict)
    """Sizes that nobody gave, with the letter whose size they are taken as."""

    def member(self, number: int) -> Given:
        """One example alone: its slice of the arrays, its own lengths as sizes."""
        arrays = {n: a[number] if n in self.lifted else a for n, a in self.arrays.items()}
        own = {name: values[number] for name, values in self.lengths.items()}
        own |= {name: own[letter] for name, letter in self.taken.items() if letter in own}
        return Given(arrays, {**self.sizes, **own}, {}, frozenset(), 0)

    def shared(self) -> Given:
        """What all examples have in common."""
        arrays = {n: a for n, a in self.arrays.items() if n not in self.lifted}
        return Given(arrays, self.sizes, {}, frozenset(), 0)


def gather_given(
    code: Code,
    arrays: Mapping[str, object],
    sizes: Mapping[str, int],
    lengths: Mapping[str, Sequence[int]],
) -> Given:
    """Check names and numbers of axes, find the batch, solve for the sizes."""
    import numpy as np

    known: dict[str, Array] = {}
    for name, array in {**code.constants, **arrays}.items():
        if name not in code.tensors:
            raise InterpretError(f"{name} was given, but the program has no such tensor")
        if code.tensors[name].role == "defined":
            raise InterpretError(f"{name} was given, but the equations define it")
        known[name] = np.asarray(array, dtype=np.float64)
    lifted = lifted_names(code, known)
    counts = {name: known[name].shape[0] for name in lifted}
    counts |= {f"lengths of {name}": len(values) for name, values in lengths.items()}
    written = writes_batch(code)
    if lengths and not lifted and not written:
        raise InterpretError(
            f"lengths of {', '.join(lengths)} were given, but no input has a batch axis"
        )
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise InterpretError(f"the number of examples differs ({listed})")
    for name in [*sizes, *lengths]:
        if name not in code.sizes:
            raise InterpretError(f"the program has no size {name}")
    longest = {name: max(values, default=0) for name, values in lengths.items()}
    fixed = {name: n for name, n in code.sizes.items() if n is not None} | dict(sizes) | longest
    solved = solve_sizes(code, known, lifted, fixed, set(lengths))
    return Given(
        known,
        tied_sizes(code, solved),
        {name: [int(n) for n in values] for name, values in lengths.items()},
        lifted,
        next(iter(counts.values()), 0) if lifted else 0,
        {name: letter for name, letter in tie(code).items() if name not in solved},
    )


class Shaped(Protocol):
    """Anything that has a shape: an array, a tensor of PyTorch."""

    @property
    def shape(self) -> Sequence[int]: ...


def lifted_names(code: Code, arrays: Mapping[str, Shaped]) -> frozenset[str]:
    """The arrays that have one axis more than the text says: the batch, in front."""
    result = set()
    for name, array in arrays.items():
        tensor = code.tensors[name]
        extra = len(array.shape) - len(tensor.axes)
        written = any(axis.letter == BATCH for axis in tensor.axes)
        if extra == 1 and tensor.role in ("input", "draw") and not written:
            result.add(name)
        elif extra:
            letters = ",".join(axis.letter for axis in tensor.axes)
            count = len(array.shape)
            raise InterpretError(
                f"{name} was given with {count} {'axis' if count == 1 else 'axes'}, but "
                f"{name}[{letters}] has {len(tensor.axes)}",
                [tensor.span],
            )
    return frozenset(result)


def stored_extents(tensor: Tensor) -> list[Size]:
    """The extent of each axis in an array: where it shrinks along another axis, the largest."""
    result = []
    lowers: dict[str, Size] = {}
    for axis in tensor.axes:
        result.append(_at_lower(axis.extent, lowers))
        lowers[axis.letter] = axis.lower
    return result


def _at_lower(size: Size, lowers: Mapping[str, Size]) -> Size:
    """The size with each stride's depth at the lower end of its index, where a number is known."""

    def lowest(atom: str | Strided) -> str | Strided:
        if isinstance(atom, str) or atom.index not in lowers:
            return atom
        lower = lowers[atom.index].number
        return atom.base if lower is None or lower + atom.offset <= 0 else atom

    return size.mapped(lowest)


def stored_shape(tensor: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a tensor's array: `(256, 128)` for `W[j,k]`."""
    return tuple(_value(extent, tensor, sizes) for extent in stored_extents(tensor))


def solve_sizes(
    code: Code,
    arrays: Mapping[str, Shaped],
    lifted: frozenset[str],
    fixed: Mapping[str, int],
    ragged: set[str],
    origins: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """The sizes: first what was said, then each array axis that has one unknown left.

    `origins` says where a fixed size comes from: `{"K": "W has {} along k (axis 2)"}`.
    """
    sizes = dict(fixed)
    origin = dict(origins or {})
    axes = [
        (code.tensors[name], number, extent, array.shape[number + (name in lifted)])
        for name, array in arrays.items()
        for number, extent in enumerate(stored_extents(code.tensors[name]))
    ]
    while axes:
        later = []
        for tensor, number, extent, found in axes:
            unknown = extent.names - sizes.keys()
            if len(unknown) > 1:
                later.append((tensor, number, extent, found))
                continue
            letter = tensor.axes[number].letter
            where = f"along {letter} (axis {number + 1})" if letter else f"along axis {number + 1}"
            if unknown:
                name = unknown.pop()
                sizes[name] = _root(
                    extent, name, found, sizes, f"{tensor.name} has {found} {where}"
                )
                origin[name] = f"{tensor.name} has {{}} {where}"
                continue
            wanted = _value(extent, tensor, sizes)
            # An example's padding lies beyond its length: such an axis may be longer.
            if found < wanted or (found > wanted and not extent.names & ragged):
                causes = [origin.get(n, f"size {n} is {{}}") for n in sorted(extent.names)]
                cause = " and ".join(
                    c.replace("{}", str(sizes[n]))
                    for c, n in zip(causes, sorted(extent.names), strict=True)
                )
                if extent.name is None:
                    cause = f"{extent} = {wanted}, where {cause}" if cause else f"{wanted}"
                    cause = f"its extent is {cause}"
                raise InterpretError(
                    f"{tensor.name} has {found} {'element' if found == 1 else 'elements'} {where}, "
                    f"but {cause}",
                    [tensor.span],
                )
        if len(later) == len(axes):
            break
        axes = later
    return sizes


def _value(extent: Size, tensor: Tensor, sizes: Mapping[str, int]) -> int:
    # What is still strided here starts at a positive depth; the axis's letter is at its lower end.
    depths = {axis.letter: int(axis.lower.number or 0) for axis in tensor.axes}
    return extent.value(sizes, depths)


def _root(extent: Size, name: str, found: int, sizes: Mapping[str, int], text: str) -> int:
    """The value of `name` at which the extent is `found`: 3 for `2J + 1` and 7."""

    def at(value: int) -> Size:
        return extent.substitute({**sizes, name: value})

    low, high = 0, 1
    while (at(high).number or 0) < found and high <= 2**40:
        high *= 2
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if (at(middle).number or 0) < found else (low, middle)
    if at(low).number != found:
        raise InterpretError(f"{text}, but no size {name} makes {extent} that")
    return low
