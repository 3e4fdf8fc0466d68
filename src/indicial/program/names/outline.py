"""The outline of a program: its statements by kind, and what they say of its names.

outline.definitions      [Definition("h", (t, j), …), …]
outline.inputs           {"x": (x[t,k], None)}
outline.defined          {"h", "R", "G"}
outline.use(node)        how a name with its brackets is used (`uses.py`)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program.names.letters import index_name
from indicial.program.names.naming import Reference
from indicial.program.names.uses import Uses

NORMAL, UNIFORM = ("N", "𝒩"), ("uniform", "U", "𝒰")
DISTRIBUTIONS = frozenset({*NORMAL, *UNIFORM, "orthonormal", "bernoulli", "permutation"})


@dataclass(frozen=True)
class Definition:
    """`key[items] = body`, with the other sides of its chain as claims."""

    key: str
    items: tuple[s.Expression, ...]
    left: s.Expression
    body: s.Expression
    equation: s.Equation
    between: tuple[tuple[str, s.Expression], ...] = ()
    """The sides of a chain between the left side and the last, each with the relation before it."""
    relation: str = "="
    probability: s.Call | None = None
    """The `P(w_t | …)` on the left."""
    value: s.Name | None = None
    """The s of `P(head_t = s | …)`, which counts the values of what is predicted."""
    labels: frozenset[str] = frozenset()
    """The names of single elements, which are no plain indices."""

    @property
    def span(self) -> Span:
        return self.equation.span

    @property
    def special(self) -> tuple[object, ...]:
        """What tells `L_0` from `L_{ℓ+1}`, and `β[T-1,i]` from `β[t,i]`: all but plain indices."""
        letters: list[s.Expression] = []
        marks: list[object] = []
        for position, item in enumerate(self.items):
            name = index_name(item)
            if name is None or name_key(name) in self.labels:
                marks.append((position, item))
            elif item in letters:
                marks.append((position, letters.index(item)))
            letters.append(item)
        guard = self.equation.guard
        if guard is not None:
            left = set(self.left.every(s.Name))
            if not any(n in left for n in guard.walk()):
                guard = None  # `c = u_a + u_i, i ∈ {d, c}` speaks of a label, and defines all of c
        return (tuple(marks), guard)


@dataclass
class Outline(Uses):
    """A program's statements by kind."""

    definitions: list[Definition] = field(default_factory=list)
    inputs: dict[str, tuple[Reference, s.Expression | None]] = field(default_factory=dict)
    parameters: dict[str, Reference] = field(default_factory=dict)
    constants: dict[str, tuple[Reference, s.Expression]] = field(default_factory=dict)
    sizes: dict[str, tuple[s.Expression | None, Span]] = field(default_factory=dict)
    ranges: dict[str, tuple[s.Expression, s.Name]] = field(default_factory=dict)
    labels: dict[str, tuple[int, str, Span]] = field(default_factory=dict)
    """A label, its number, and the family that it is a value of (empty if not said)."""
    label_counts: Counter[str] = field(default_factory=Counter)
    """How many labels each family has."""
    parameter_list: list[Reference] = field(default_factory=list)
    list_span: Span | None = None
    draws: list[tuple[Reference, s.Call | s.Name, s.Equation]] = field(default_factory=list)
    generated: list[tuple[Reference, s.Call, s.Equation]] = field(default_factory=list)
    claims: list[s.Claim] = field(default_factory=list)
    tests: list[s.Equation] = field(default_factory=list)
    """Equations whose left side is no name: they define nothing and can only be tested."""
    spaces: frozenset[s.Expression] = frozenset()
    """The sizes that are declared: the n and d of `x ∈ ℝ^{n×d}`."""
    document: bool = False
    statements: tuple[s.Statement, ...] = ()
    """All of them, as they were given."""
    silent: bool = False
    """Sorting them gave no message."""

    defined: set[str] = field(default_factory=set)
    """The keys that an equation defines."""

    @cached_property
    def declared(self) -> frozenset[str]:
        """The keys that a declaration or the list of parameters names."""
        listed = (reference.key for reference in self.parameter_list)
        return frozenset([*self.inputs, *self.parameters, *self.constants, *listed])

    @cached_property
    def heads(self) -> frozenset[s.Expression]:
        """What stands before brackets on a left side: the RMS of `RMS(a) = …`, the K of `K[u, v] = …`."""
        lefts = [st.sides[0] for st in self.statements if isinstance(st, s.Equation)]
        return frozenset(
            left.function if isinstance(left, s.Call) else left.base
            for left in lefts
            if isinstance(left, s.Call | s.Index)
        )

    @cached_property
    def calls_defined(self) -> frozenset[s.Call]:
        """The left sides with brackets: `l(y, ŷ)` of `l(y, ŷ) = …`."""
        lefts = (st.sides[0] for st in self.statements if isinstance(st, s.Equation))
        return frozenset(left for left in lefts if isinstance(left, s.Call))

    def define(self, definition: Definition) -> None:
        self.definitions.append(definition)
        self.defined.add(definition.key)

    def serves(self, statements: Sequence[s.Statement]) -> bool:
        """Whether it says all there is to say about these statements."""
        same = len(statements) == len(self.statements) and all(
            map(is_, statements, self.statements)
        )
        return same and self.silent


def with_value(call: s.Call) -> tuple[s.Call, s.Name | None]:
    """`P(head_t = s | x)` → `P(head_t | x)` and the s that counts the values of head_t."""
    match call.arguments:
        case (s.Comparison(operands=(token, s.Name() as value), operators=("=",)),):
            if index_name(value) is not None:
                return replace(call, arguments=(token,)), value
    return call, None


def probability_key(key: str, call: s.Call) -> str:
    """The tensor that a `P(…)` is: `P` for one variable, else the whole as it was written."""
    arguments = call.arguments
    if len(arguments) == 1 and not isinstance(arguments[0], s.Dots | s.Number):
        return key
    return f"{key}({', '.join(unicode(a) for a in arguments)})"
