"""Names of the equations → what Python wants: any spelling is found, and parameters get attributes.

>>> resolve(code, "W^{h, R}", ("parameter",))
'W^{h,R}'
>>> attribute_names(["W^{h,R}", "CELL1.B^R", "α"], taken=())
{'W^{h,R}': 'W_hR', 'CELL1.B^R': 'CELL1_B_R', 'α': 'α'}

The attribute names are the keys of a state dict, and the variables of the emitted source. They
depend on the parameters' names only; where two become the same, the second gets `_2`.

Which sizes are fixed when a module is made, and which its inputs tell at every call.

    input w[t] in V;  parameter pos[t,j];  e[w,j]         compile(V=50, J=8, T=100)

    fixed     V = 50, J = 8     the same at every call
    longest   T = 100           told by w, call by call; pos has room for 100 of them

A length of the data (a position in a text or an image) may be shorter than the parameters have room
for; every other size must be exactly what the parameters were made with.

What a module returns when nobody says what is wanted: what the program computes in the end.

ugrnn         h           R and G serve h only
lstm          c, h        both go on from step to step
transformer   loss        everything else is on the way to it

A length that is taken as one of the inputs', where nobody sets it, is that of the inputs.

    y[t] = Σ_{s ≤ t} a^(t-s) x[s]       the t of y has a size of its own, T_y: nothing ties it to x's

    one_length(code, given)             the same with T for T_y

So a text that ends earlier than others has fewer steps of y too, and y is computed step by step
along with x.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from indicial.compile.emit.nodes import identifier
from indicial.compile.schedule.schedule import Loop, Plan
from indicial.notation.parse import canonical_name
from indicial.notation.signs import ASCII_LETTERS
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.meaning.arrays import (
    InterpretError,
    solve_sizes,
    stored_extents,
    stored_shape,
    tie,
    tied_sizes,
)
from indicial.program.messages import IndicialError, Message
from indicial.program.rewrite import size_indices
from indicial.program.sizes import Size, Strided

if TYPE_CHECKING:
    from torch import Tensor as Values


def resolve(code: ir.Code, spelling: str, roles: Sequence[str] = ()) -> str:
    """The tensor that a spelling means, among those of some roles."""
    names = [n for n, t in code.tensors.items() if not roles or t.role in roles]
    if spelling in names:
        return spelling
    canonical = canonical_name(spelling)
    if canonical in names:
        return canonical
    kind = roles[0] if len(roles) == 1 else "tensor"
    other = code.tensors.get(canonical)
    if other is not None:
        missing = "not defined" if kind == "defined" else f"no {kind}"
        raise IndicialError(f"{canonical} is {missing}: {_is(other)}")
    kind = "tensor" if kind == "defined" else kind
    raise IndicialError(f"the program has no {kind} {spelling}{_near(canonical, names)}")


def _is(tensor: ir.Tensor) -> str:
    if tensor.role == "defined":
        return "the equations define it"
    article = "an" if tensor.role == "input" else "a"
    return f"it is {article} {tensor.role}"


def _near(name: str, names: Sequence[str]) -> str:
    close = [n for n in names if n.casefold() == name.casefold()]
    close = close or difflib.get_close_matches(name, names, 1)
    if close:
        return f"; did you mean {close[0]}?"
    spelled = {_typed(n): n for n in names}  # `alhpa` is nothing like α, but like alpha
    if meant := difflib.get_close_matches(_typed(name), spelled, 1):
        return f"; did you mean {meant[0]} ({spelled[meant[0]]})?"
    return f"; it has {', '.join(names)}" if names else "; it has none"


def _typed(name: str) -> str:
    """`"α^K"` → `"alpha^K"`: as it is typed where there are no Greek letters."""
    return "".join(ASCII_LETTERS.get(letter, letter) for letter in name)


def attribute_names(names: Iterable[str], taken: Container[str]) -> dict[str, str]:
    """A Python identifier for each name, none of them twice and none that is taken."""
    result: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        stem = identifier(name)
        chosen, number = stem, 2
        while chosen in used or chosen in taken:
            chosen, number = f"{stem}_{number}", number + 1
        used.add(chosen)
        result[name] = chosen
    return result


def with_indices(tensor: ir.Tensor) -> str:
    """`x[t,k]`, `w[t] in V`: as the equations write it."""
    letters = ",".join(axis.letter or "·" for axis in tensor.axes)
    values = f" in {tensor.values}" if tensor.values is not None else ""
    return tensor.name + (f"[{letters}]" if letters else "") + values


@dataclass(frozen=True)
class Sizes:
    """The sizes of a module."""

    code: ir.Code
    fixed: dict[str, int]
    longest: dict[str, int]
    """Lengths that were given: an input may be as long, or shorter."""
    tellers: dict[str, tuple[str, int]]
    """Sizes with an axis of an input that is just as long: `{"T": ("w", 0)}`."""
    lengths: tuple[str, ...]
    """What can differ from example to example."""
    ties: dict[str, str]
    """Sizes that are taken as another: `{"I_{Value}": "I"}`."""

    @property
    def known(self) -> dict[str, int]:
        return {**self.fixed, **self.longest}

    def shape(self, tensor: ir.Tensor) -> tuple[int, ...]:
        """The shape of a parameter."""
        return stored_shape(tensor, self.known)

    def at_call(self, inputs: Mapping[str, Values], lifted: frozenset[str]) -> dict[str, int]:
        """All sizes that follow from inputs, some of them with a batch axis in front."""
        sizes = solve_sizes(self.code, inputs, lifted, self.fixed, set(), self._origins)
        for name, most in self.longest.items():
            if sizes.get(name, 0) > most:
                raise InterpretError(self._too_long(name, sizes[name]))
            if name not in sizes:  # no input tells it in this call
                sizes[name] = most
        return self.tied(sizes)

    def symbolic(self, inputs: Mapping[str, Values], front: int) -> dict[str, int]:
        """The same without solving or checking, so that a tracer can follow lengths it does not know."""
        told = {
            name: inputs[tensor].shape[axis + front]
            for name, (tensor, axis) in self.tellers.items()
            if tensor in inputs and name not in self.fixed
        }
        return self.tied({**self.longest, **self.fixed, **told})

    def tied(self, sizes: dict[str, int]) -> dict[str, int]:
        for name, letter in self.ties.items():
            if name not in sizes and letter in sizes:
                sizes[name] = sizes[letter]
        return sizes

    @cached_property
    def _origins(self) -> dict[str, str]:
        """Where the fixed sizes can be seen: the first parameter that has an axis of each."""
        found: dict[str, str] = {}
        for tensor in parameters(self.code):
            for number, axis in enumerate(tensor.axes):
                name = axis.extent.name
                if name is not None and axis.letter:
                    found.setdefault(
                        name, f"{tensor.name} has {{}} along {axis.letter} (axis {number + 1})"
                    )
        return found

    def _too_long(self, name: str, found: int) -> str:
        made = [with_indices(t) for t in parameters(self.code) if name in size_names(t.axes)]
        most = self.longest[name]
        room = f", and {made[0]} was made for no more" if made else ""
        teller = self.tellers.get(name)
        told = f"{teller[0]} has {found} elements along axis {teller[1] + 1}" if teller else found
        return f"{told}, but {name} is {most} at most{room}: compile(…, {name}={found})"


def parameters(code: ir.Code) -> list[ir.Tensor]:
    return [tensor for tensor in code.tensors.values() if tensor.role == "parameter"]


def data_lengths(code: ir.Code) -> list[str]:
    """The sizes that change from example to example: positions in a text or an image.

    Every axis of tokens (`w[t]`), and all but the last of numbers (the `t` of `x[t,k]`).
    """
    found: dict[str, None] = {}
    for tensor in code.tensors.values():
        if tensor.role == "input":
            axes = tensor.axes if tensor.values is not None else tensor.axes[:-1]
            found |= {a.extent.name: None for a in axes if a.extent.name is not None}
    return list(found)


def size_names(axes: Iterable[ir.Axis]) -> set[str]:
    """The sizes that some axes depend on, those in the depth of a stride included."""
    found: set[str] = set()
    for axis in axes:
        for size in axis.range:
            found |= size.names | size_indices(size)
    return found


def settle(code: ir.Code, given: Mapping[str, object]) -> Sizes:
    """Sizes as given and as the text fixes them → what a module is made with, or what is missing."""
    known = tied_sizes(code, {name: _whole(name, value) for name, value in given.items()})
    lengths = [n for n in data_lengths(code) if code.sizes.get(n) is None]
    longest = {name: known[name] for name in lengths if name in known}
    fixed = {name: value for name, value in known.items() if name not in longest}
    told = _told(code, fixed)
    ties = tie(code)
    needed = {n for tensor in parameters(code) for n in size_names(tensor.axes)}
    missing = [
        name
        for name in code.sizes
        if name not in known
        and (name in needed or name not in told)
        and not (name in ties and (ties[name] in told and name not in needed))
    ]
    # A size that is taken as another's is not asked for, as long as the other is.
    asked = [name for name in missing if ties.get(name) not in missing]
    if asked:
        raise IndicialError(_missing(code, asked).render())
    tellers = _tellers(code)
    open_ = [name for name in tellers if name not in fixed]
    ragged = [name for name in open_ if name in lengths] or open_
    return Sizes(code, fixed, longest, tellers, tuple(ragged), ties)


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or value.__index__() < 1:
        raise IndicialError(
            f"size {name} is {value!r}, but a size must be a whole number of at least 1"
        )
    return value.__index__()


def _told(code: ir.Code, fixed: Mapping[str, int]) -> set[str]:
    """The sizes that follow from the shapes of the inputs."""
    extents = [
        extent
        for tensor in code.tensors.values()
        if tensor.role == "input"
        for extent in stored_extents(tensor)
    ]
    told: set[str] = set()
    grows = True
    while grows:
        grows = False
        for extent in extents:
            unknown = extent.names - told - fixed.keys()
            if len(unknown) == 1:
                told |= unknown
                grows = True
    return told


def _tellers(code: ir.Code) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for tensor in code.tensors.values():
        if tensor.role == "input":
            for number, extent in enumerate(stored_extents(tensor)):
                if extent.name is not None:
                    found.setdefault(extent.name, (tensor.name, number))
    return found


def _missing(code: ir.Code, names: list[str]) -> Message:
    """What has to be said, with a parameter for each size that needs it."""
    sites = []
    for name in names:
        for tensor in parameters(code):
            if name in size_names(tensor.axes):
                shape = ", ".join(map(str, stored_extents(tensor)))
                sites.append((tensor.span, f"its shape is ({shape})"))
                break
    call = ", ".join(f"{n}=…" for n in names if n.isidentifier())
    others = ", ".join(f'"{n}": …' for n in names if not n.isidentifier())
    arguments = ", ".join(filter(None, [call, f"sizes={{{others}}}" if others else ""]))
    return Message(
        "error",
        "sizes-missing",
        f"nothing says how large {_listed(names)} {'is' if len(names) == 1 else 'are'}",
        tuple(dict.fromkeys(sites)),
        f"compile({arguments})",
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Room:
    """How a parameter made for the longest inputs is cut for shorter ones: `pos[:7]`.

    >>> Room(sizes, code.tensors["pos"]).cut(pos, {"T": 7, "J": 8}).shape
    torch.Size([7, 8])
    """

    def __init__(self, sizes: Sizes, tensor: ir.Tensor) -> None:
        self.axes: list[tuple[int, Size, Size]] = []
        for number, (axis, extent) in enumerate(
            zip(tensor.axes, stored_extents(tensor), strict=True)
        ):
            if (axis.lower.names | extent.names) & sizes.longest.keys():
                stored = axis.lower.value(sizes.known)
                self.axes.append((number, axis.lower - stored, extent))

    def cut(self, values: Values, sizes: Mapping[str, int]) -> Values:
        for axis, start, extent in self.axes:
            values = values.narrow(axis, start.value(sizes), extent.value(sizes))
        return values


T = TypeVar("T")


def outcomes(code: ir.Code, plan: Plan) -> tuple[str, ...]:
    """The tensors that no other equation goes on with, in the order of the text; the loss is one.

    In a loop it is those that are carried from one step to the next. What is inside a function or a
    cell (`CELL.R`) is not shown.
    """
    found: set[str] = {code.loss} if code.loss is not None else set()
    readers: dict[str, set[str]] = {}
    for statement in code.statements:
        for read in statement.reads():
            readers.setdefault(read.tensor, set()).add(statement.target)
    for step in plan.steps:
        targets = {s.target for s in step.statements()}
        if all(readers.get(name, targets) <= targets for name in targets):
            found |= set(carried(step)) if isinstance(step, Loop) else targets
    order = dict.fromkeys(s.target for s in code.statements)
    shown = [name for name in order if name in found and "." not in name]
    return tuple(shown or [name for name in order if name in found] or order)


def carried(loop: Loop) -> Iterator[str]:
    """What is read at another step than the one that it is computed in: the `h[t-1,i]` of a cell."""
    targets = {s.target for s in loop.statements()}
    for statement in loop.statements():
        for read in statement.reads():
            if read.tensor in targets and not same_step(loop, statement, read):
                yield read.tensor
    for step in loop.steps:
        if isinstance(step, Loop):
            yield from carried(step)


def same_step(loop: Loop, reader: ir.Statement, read: ir.Read) -> bool:
    """Whether a statement of a loop reads what the same step computes, and not another."""
    fixed = loop.fixed(reader)
    place = read.places[loop.axes[read.tensor]]
    if fixed is None or not isinstance(place, ir.Affine) or place.shift is None:
        return False
    index, value = fixed
    name, shift = place.shift
    offset = loop.offsets.get(read.tensor, 0)
    return name == index and (value.offset + shift + offset).number == 0


def one_length(code: ir.Code, given: Collection[str] = ()) -> ir.Code:
    """The lengths of inputs have one name each, but for those that are `given` a value of their own."""
    told = {a.extent.name for t in code.tensors.values() if t.role == "input" for a in t.axes}
    widths = {name for tensor in parameters(code) for name in size_names(tensor.axes)}
    lengths = {*data_lengths(code), *(told - widths)}
    ties = {
        name: letter
        for name, letter in tie(code).items()
        if letter in lengths and name not in {*told, *given} and code.sizes[name] is None
    }
    if not ties or any(ties.keys() & _bases(tensor) for tensor in code.tensors.values()):
        return code
    sizes = {name: value for name, value in code.sizes.items() if name not in ties}
    names = {name: Size.of(letter) for name, letter in ties.items()}
    return replace(_renamed(replace(code, tests=()), names), sizes=sizes)


def _bases(tensor: ir.Tensor) -> set[str]:
    """The sizes that its layers halve."""
    sizes: Iterable[Size] = (s for axis in tensor.axes for s in axis.range)
    return {atom.base for size in sizes for atom in size.atoms if isinstance(atom, Strided)}


def _renamed(value: T, names: Mapping[str, Size]) -> T:
    """A program, or a part of one, with other sizes in the place of some."""
    made: Any = value
    if isinstance(value, Size):
        made = value.substitute(names)
    elif isinstance(value, tuple):
        made = tuple([_renamed(part, names) for part in value])
    elif isinstance(value, dict):
        made = {key: _renamed(part, names) for key, part in value.items()}
    elif is_dataclass(value) and not isinstance(value, type | Span):
        own = [field.name for field in fields(value) if field.init]
        made = replace(value, **{name: _renamed(getattr(value, name), names) for name in own})
    return made  # type: ignore[no-any-return]
