"""What the passes of the analysis share: tensors and indices while their sizes are still open.

A `Variable` is an index of one equation; its range is decided last, so until then the IR holds the
atoms `#lo7` and `#ex7` for the range of variable 7, and `#12` for the size of class 12.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from indicial.notation.source import NOWHERE, Span
from indicial.notation.syntax import Name
from indicial.program import ir
from indicial.program.lowering.classes import Classes
from indicial.program.messages import Messages
from indicial.program.names.outline import Outline
from indicial.program.sizes import Size

ZERO = ir.Constant(0.0)
"""What stands where nothing could be read, so that the rest is still checked."""


_MADE = re.compile(r"[a-z]+\d+\.\d+")


@dataclass(eq=False)
class Variable:
    """An index of one equation. `name` is its name in the IR."""

    number: int
    name: str
    family: str
    size: int
    """The class of its size."""
    span: Span
    lower: Size | None = None
    """The range where the text gives it (`Σ_{t=1}^T`), else None."""
    upper: Size | None = None
    free: bool = False
    """It stands on the left side."""
    shift: int = 0
    """What is added to it on the left side: 1 for `ℓ+1`."""
    plain: list[tuple[str, int]] = field(default_factory=list)
    """The axes that it indexes just as it is."""
    strided: Size | None = None
    """Its extent where that depends on a layer."""
    element: bool = False
    """A capital that is no index: the L of `h_L[t,j]`, which is the last element."""

    @property
    def written(self) -> str:
        """Its name as the text has it: y for the `y·1` of a second sum over y."""
        return self.name.partition("·")[0]

    @property
    def index(self) -> ir.Index:
        return ir.Index(self.name, Size.of(f"#lo{self.number}"), Size.of(f"#ex{self.number}"))


@dataclass
class Open:
    """A capital that is not summed yet: how often it occurs in the product at hand, and where."""

    variable: Variable
    count: int
    sites: list[tuple[Span, str, int]]
    """Span, tensor and axis of each occurrence."""
    beside: list[tuple[Span, bool]] = field(default_factory=list)
    """The factors of the innermost product that do not have it, and whether they sum over it inside."""
    below: bool = False
    """It stands below a name somewhere: the L of `h_L[t,J]`."""


@dataclass
class Term:
    """An expression in the making."""

    expression: ir.Expression
    opens: dict[str, Open] = field(default_factory=dict)


@dataclass
class AxisInfo:
    size: int
    letter: str = ""
    span: Span = NOWHERE
    lower: Size | None = None
    upper: Size | None = None
    left: list[tuple[ir.Affine | ir.Flat, int]] = field(default_factory=list)
    """The places on left sides, each with the number of its statement."""
    reads: list[tuple[ir.Place, list[tuple[Variable, int]]]] = field(default_factory=list)
    """The places at which it is read, each with its indices and their factors; a declaration's is first."""
    declared: bool = False
    drawn: list[tuple[ir.Place, list[tuple[Variable, int]]]] = field(default_factory=list)
    """The places on the left of `~`, in the same way."""
    stride: int = 1


@dataclass
class TensorInfo:
    """A tensor in the making."""

    key: str
    axes: list[AxisInfo]
    span: Span
    role: str = ""
    guess: str = ""
    values: int | None = None
    """The class of the vocabulary, for tokens."""
    lifted: list[Name] = field(default_factory=list)
    """Indices that were put in front, because the tensor is meant per step."""
    probability: bool = False
    literal: object = None
    reads: list[tuple[Span, tuple[str, ...], int]] = field(default_factory=list)
    """Span, families of the items, and statement of each read."""
    wrong: bool = False
    """Its use is inconsistent, and that has been said."""
    hidden: bool = False
    """Made by the analysis, as `inverse1.2` is."""

    def __post_init__(self) -> None:
        self.hidden = self.hidden or _MADE.fullmatch(self.key) is not None


@dataclass
class RawStatement:
    """A statement whose indices have no ranges yet."""

    target: str
    left: tuple[ir.Affine | ir.Flat, ...]
    variables: list[Variable]
    body: ir.Expression
    guard: ir.Expression | None
    span: Span
    left_span: Span


@dataclass
class RawTest:
    left: ir.Expression
    relation: str
    right: ir.Expression
    variables: list[Variable]
    span: Span
    kind: str = "step"
    tolerance: ir.Expression | None = None
    guard: ir.Expression | None = None
    text: str = ""


@dataclass
class Note:
    """Something that `explain` should say: how a thing was read."""

    subject: str
    text: str
    span: Span = NOWHERE


@dataclass
class Context:
    """Everything that is known about a program so far."""

    outline: Outline
    messages: Messages
    classes: Classes = field(default_factory=Classes)
    tensors: dict[str, TensorInfo] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    statements: list[RawStatement] = field(default_factory=list)
    tests: list[RawTest] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    holes: dict[str, Span] = field(default_factory=dict)
    draws: list[ir.Draw] = field(default_factory=list)
    size_classes: dict[str, int] = field(default_factory=dict)
    """Sizes that are named outside brackets without an index of theirs in the equation."""
    calls: int = 0
    faulty: bool = False
    """Part of the text could not be read: then nothing is said of what seems to be missing."""

    def variable(self, name: str, family: str, size: int, span: Span) -> Variable:
        made = Variable(len(self.variables), name, family, size, span)
        self.variables.append(made)
        return made

    @property
    def document(self) -> bool:
        return self.outline.document


def merge(terms: list[Term], *, brackets: bool) -> dict[str, Open]:
    """The open capitals of several terms together; inside brackets each counts once."""
    result: dict[str, Open] = {}
    for term in terms:
        for key, opened in term.opens.items():
            count = 1 if brackets else opened.count
            if key not in result:
                result[key] = replace(opened, count=count, sites=list(opened.sites))
            else:
                known = result[key]
                known.count = 1 if brackets else known.count + count
                known.sites = known.sites + opened.sites
                known.below = known.below or opened.below
    return result
