"""The checked program: explicit where the notation is implicit.

Each statement has its indices with their ranges; sums are nodes; every read says which tensor and
at which places; every node knows the source it came from. The node types are a closed set:

    expression =
        Constant(value)                         0.5
        SizeValue(size)                         the I of 1/√I
        IndexValue(index)                       the t of (t_1 - t_2)²
        Read(tensor, places)                    h[t-1, i],  e[w[t], i]
        Apply(function, arguments)              + * / ^ neg, tanh, exp, …, comparisons, and
        Reduce(operator, indices, condition, body)      sum prod max min mean argmax argmin lse
        Softmax(indices, condition, body)       its value at the indices' own values
        Select(branches, otherwise)             cases
        Join(index, parts)                      a; b: at `index`, the part that it falls into
    place =
        Affine(terms, offset)                   2t + Δt - 1,  K - 1
        Gather(read)                            the w[t] of e[w[t], i]
        Flat(places)                            the (k,i) of ĥ[t,(k,i)]: mixed radix, first slowest

    h[t,j] = G[t,j] h[t-1,j]
      →  Statement("h", (t, j), body=Apply("*", (Read("G", (t, j)), Read("h", (t-1, j)))))

Meaning (see `interpret`): an element of a defined tensor is the value of the right side of the
first statement whose left side it matches. An element outside is 0, or the tensor's start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import ClassVar, Union

from indicial.notation.node import Holder, Tree, kept
from indicial.notation.source import NOWHERE, Span
from indicial.program.sizes import Size

COMPARISONS = ("=", "≠", "<", "≤", ">", "≥")
LOGIC = ("and",)
ELEMENTWISE = (
    "tanh", "σ", "ReLU", "GELU", "exp", "ln", "sqrt", "abs", "sign", "cos", "sin",
    "min", "max", "softplus", "floor", "erf", "stop",
)  # fmt: skip
REDUCE = ("sum", "prod", "max", "min", "mean", "argmax", "argmin", "lse")
"""`lse` is the logarithm of the sum of exponentials; it is also a function of several numbers."""
ROLES = ("input", "parameter", "constant", "draw", "defined")


class Ranged:
    """What runs over `lower, lower+1, …, lower+extent-1`."""

    lower: Size
    extent: Size

    @cached_property
    def upper(self) -> Size:
        """The last value."""
        return self.lower + self.extent - 1

    @property
    def range(self) -> tuple[Size, Size]:
        """Where it begins, and how many values it has."""
        return self.lower, self.extent

    def beyond(self, place: Size) -> bool:
        """Whether a place certainly lies outside the range."""
        low, high = (place - self.lower).number, (place - self.upper).number
        return (low is not None and low < 0) or (high is not None and high > 0)


@dataclass(frozen=True)
class Index(Ranged):
    """An index with its range: `lower, lower+1, …, lower+extent-1`. The name is its identity.

    A range may depend on an index to its left (`Strided` sizes).
    """

    name: str
    lower: Size
    extent: Size


@dataclass(frozen=True)
class Affine:
    """A place: a sum of indices with whole-number factors, and an offset that sizes may enter."""

    terms: tuple[tuple[str, int], ...] = ()
    offset: Size = field(default_factory=Size)

    @staticmethod
    def of(index: Index | str, shift: int = 0) -> Affine:
        name = index if isinstance(index, str) else index.name
        return Affine(((name, 1),), Size.of(shift))

    @cached_property
    def shift(self) -> tuple[str, int] | None:
        """`(t, -1)` for `t-1`: one index with factor 1, and a number."""
        number = self.offset.number
        if len(self.terms) == 1 and self.terms[0][1] == 1 and number is not None:
            return self.terms[0][0], int(number)
        return None

    def ends(self, ranges: Mapping[str, Index]) -> tuple[Size, Size]:
        """The least and the greatest value, each index in its range."""
        low = high = self.offset
        for name, factor in self.terms:
            first, last = factor * ranges[name].lower, factor * ranges[name].upper
            low, high = (low + first, high + last) if factor > 0 else (low + last, high + first)
        return low, high

    def known_ends(self, ranges: Mapping[str, Index]) -> tuple[Size, Size] | None:
        """Those; None if an index has no range."""
        known = all(name in ranges for name, _ in self.terms)
        return self.ends(ranges) if known else None

    def __str__(self) -> str:
        text = ""
        for name, factor in self.terms:
            sign = "-" if factor < 0 else "+" if text else ""
            text += sign + (str(abs(factor)) if abs(factor) != 1 else "") + name
        if self.offset.terms or not text:
            offset = str(self.offset)
            text += ("" if not text or offset.startswith("-") else "+") + offset
        return text


@dataclass(frozen=True)
class Expression(Tree["Expression"]):
    """A number at each value of its free indices; what stands in places is below it too."""

    @kept
    def tensors(self) -> KeysView[str]:
        """The tensors that are read, each once."""
        return dict.fromkeys([read.tensor for read in self.every(Read)]).keys()


@dataclass(frozen=True)
class Gather(Holder):
    """A place that is the value of a token tensor."""

    read: Read
    shift: ClassVar[None] = None


@dataclass(frozen=True)
class Flat:
    """Several indices as one place: `(k, i)` is `k·I + i`, each counted from its lower end.

    On a left side every place is one index, so that it can be undone.
    """

    indices: tuple[Index, ...]
    shift: ClassVar[None] = None


Place = Affine | Gather | Flat


def index_at(place: Place) -> str | None:
    """The index that a place is, if it is one alone: `t`, but not `t-1`."""
    shift = place.shift
    return shift[0] if shift is not None and shift[1] == 0 else None


def number_at(place: Place) -> Size | None:
    """The number that a place is: the 0 of `h[0,j]`, the T of `h[T,j]`."""
    return place.offset if isinstance(place, Affine) and not place.terms else None


@dataclass(frozen=True)
class Constant(Expression):
    value: float


@dataclass(frozen=True)
class SizeValue(Expression):
    size: Size


@dataclass(frozen=True)
class IndexValue(Expression):
    """The value of an index, or of index arithmetic."""

    place: Affine


@dataclass(frozen=True)
class Read(Expression):
    tensor: str
    places: tuple[Place, ...] = ()

    @property
    def looks_up(self) -> bool:
        """Whether a token decides a place: `e[w[t],i]`."""
        return any(isinstance(place, Gather) for place in self.places)


@dataclass(frozen=True)
class Apply(Expression):
    """`+` and `*` take two or more arguments; a comparison gives 1 or 0."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Reduce(Expression):
    operator: str
    indices: tuple[Index, ...]
    condition: Expression | None
    body: Expression


@dataclass(frozen=True)
class Softmax(Expression):
    """`exp(body) / Σ_{indices where condition} exp(body)` at the current value of the indices.

    The indices are free outside; where the condition does not hold the value is 0.
    """

    indices: tuple[Index, ...]
    condition: Expression | None
    body: Expression


@dataclass(frozen=True)
class Select(Expression):
    """The value of the first branch whose condition holds."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


@dataclass(frozen=True)
class Part(Holder):
    """One part of a join: `body` at `index`, which counts from the index's own lower end."""

    index: Index
    body: Expression


@dataclass(frozen=True)
class Join(Expression):
    """Parts one after the other along `place`, which counts from 0."""

    place: Affine
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Statistic(Expression):
    """`std of α[0]`, over the draws. This and the next three stand in claims only."""

    operator: str
    body: Expression


@dataclass(frozen=True)
class Quantity(Expression):
    """`work of α`: what it costs, a polynomial in the sizes; of the whole program without `of`."""

    what: str
    of: str = ""


@dataclass(frozen=True)
class Growth(Expression):
    """`O(T)`."""

    body: Expression


@dataclass(frozen=True)
class Derivative(Expression):
    """`∂y[t]/∂x[i]`: how one element changes with another."""

    above: Read
    below: Read


@dataclass(frozen=True)
class Axis(Ranged):
    """One axis of a tensor: the letter that it is best known by, and its range."""

    letter: str
    lower: Size
    extent: Size


@dataclass(frozen=True)
class Tensor:
    """A name with its shape and its part in the program.

    `name` is the Unicode spelling, decorations included (`W^{h,R}`). `values` is the size that a
    token ranges over (`V` for `input w[t] in V`), None for a real number. `probability` marks a
    distribution: read at no token it is 1, so that the loss term of that token is left out.
    `guess` says why it was taken for what it is, where the text does not say.
    """

    name: str
    axes: tuple[Axis, ...]
    role: str
    values: Size | None = None
    probability: bool = False
    batched: bool = False
    guess: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Statement:
    """`target[left] = body where guard`, for all values of the indices.

    `left` has a place for each axis: an index, an index plus a number (`ℓ+1`), or a number.
    """

    target: str
    left: tuple[Affine | Flat, ...]
    indices: tuple[Index, ...]
    body: Expression
    guard: Expression | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    number: int = field(default_factory=count().__next__, init=False, compare=False, repr=False)
    """Its own, by which passes know it again; one that is changed has another."""
    STORED: ClassVar = ("target", "left", "indices", "body", "guard", "span")

    @property
    def scope(self) -> dict[str, Index]:
        """The indices by name."""
        return {index.name: index for index in self.indices}

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The body, and the guard if there is one."""
        return (self.body,) if self.guard is None else (self.body, self.guard)

    @property
    def precedence(self) -> tuple[int, int]:
        """By which the equations of a tensor stand in order: numbers on the left first, then guards."""
        numbers = sum(number_at(place) is not None for place in self.left)
        return -numbers, int(self.guard is None)

    def reads(self) -> list[Read]:
        """All reads, in the guard too."""
        return [read for part in self.parts for read in part.every(Read)]

    def rebuild(self, change: Callable[[Expression], Expression]) -> Statement:
        """The same with body and guard changed."""
        guard = None if self.guard is None else change(self.guard)
        return replace(self, body=change(self.body), guard=guard)


@dataclass(frozen=True)
class Draw:
    """`tensor[left] ~ distribution(arguments)`, for all values of the indices.

    The distributions are `N` (mean and variance), `uniform`, `bernoulli`, `orthonormal` (rows) and
    `permutation` (the elements are the places of its last index in another order).
    """

    tensor: str
    distribution: str
    arguments: tuple[Expression, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    left: tuple[Affine | Flat, ...] = ()
    indices: tuple[Index, ...] = ()


@dataclass(frozen=True)
class Test:
    """Something that should hold: a step of a chain, or a claim.

    For all values of `indices` where the guard holds: `left relation right`, up to `tolerance`.
    The kinds are `step`, `claim`, `false` for a claim that is stated to be false, and `plot`, both sides of
    which are what is plotted.
    """

    left: Expression
    relation: str
    right: Expression
    indices: tuple[Index, ...]
    tolerance: Expression | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    kind: str = "step"
    guard: Expression | None = None
    text: str = field(default="", compare=False)
    """A claim as it is written, on one line."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Both sides, and the tolerance and the guard if there are any."""
        parts = self.left, self.right, self.tolerance, self.guard
        return tuple(part for part in parts if part is not None)


Literal = Union[float, tuple["Literal", ...]]  # noqa: UP007 (a forward reference)


@dataclass(frozen=True)
class Code:
    """All of a program: what `interpret`, `cost` and the compiler work on.

    `statements` stand in order of precedence for each tensor: one with a number on its left before
    the general one, one with a guard before one without.
    """

    tensors: dict[str, Tensor]
    statements: tuple[Statement, ...]
    sizes: dict[str, int | None]
    """The size names that are free, with their value where the text gives one."""
    constants: dict[str, Literal] = field(default_factory=dict)
    """The values of the constants: a number, or nested tuples of numbers."""
    draws: tuple[Draw, ...] = ()
    tests: tuple[Test, ...] = ()
    loss: str | None = None
    generated: str | None = None
    """The token tensor that `w[t] ~ P(…)` generates."""
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The names of elements, by size: `label a, b in N` gives `{"N": ("a", "b")}`."""

    def equations(self, tensors: dict[str, Tensor], statements: Iterable[Statement]) -> Code:
        """Other equations in the place of these, and nothing that is drawn, claimed or generated."""
        own = tuple(statements)
        there = {statement.target for statement in own}
        known = {n: t for n, t in tensors.items() if t.role != "defined" or n in there}
        return replace(
            self, tensors=known, statements=own, draws=(), tests=(), loss=None, generated=None
        )

    def of(self, tensor: str) -> list[Statement]:
        """The statements that define a tensor, in order of precedence."""
        known: dict[str, list[Statement]] | None = self.__dict__.get("_by_target")
        if known is None:
            known = self.__dict__["_by_target"] = {}
            for statement in self.statements:
                known.setdefault(statement.target, []).append(statement)
        return list(known.get(tensor, ()))
