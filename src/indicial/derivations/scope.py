r"""What the equations around a step say of its names.

    z = W x + b                 a rule for z
    h_t = \tanh(U h_{t-1})      a rule for h at each t
    f(x) = x^\top A x           a function
    \frac{\partial L}{\partial z}   L, of which nothing more is said, depends on z
    \sum_{i=1}^n                n is a size

A rule is used where its name is read. A name without a rule is free: it is drawn.

The steps of a derivation, and what came of each, are the data that the other files pass on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from indicial.notation import syntax as s
from indicial.notation.slopes import WHOLE, derived
from indicial.notation.vocabulary import SPACE
from indicial.program.names.letters import index_name
from indicial.program.names.naming import Naming, Reference
from indicial.program.rewrite import reached

NEVER = frozenset({"∂", "∇", "d"})
LONGEST = 60
"""Characters that the name of a number has at most in a sentence that says it is one."""


@dataclass(frozen=True)
class Rule:
    """`key_items = body`."""

    items: tuple[s.Expression, ...]
    body: s.Expression
    equation: s.Equation


@dataclass(frozen=True)
class Function:
    """`key(parameters) = body`."""

    parameters: tuple[str, ...]
    body: s.Expression


class Scope:
    """The names of some statements, and what is said of them."""

    def __init__(
        self, statements: Sequence[s.Statement], spoken: Sequence[s.Equation] = ()
    ) -> None:
        """`spoken` are equations that define nothing: those of rows that reason."""
        self.statements = [
            derived(st, WHOLE) if isinstance(st, s.Equation) else st for st in statements
        ]
        self.spoken = spoken
        plain = [replace(e, sides=(s.Group(e.sides[0]), *e.sides[1:])) for e in spoken]
        self.naming = Naming([*self.statements, *plain])
        self._read: dict[int, tuple[s.Expression, Reference | None]] = {}
        self.base = 1
        """The first value of an index: 0 where a sum says so."""
        self.sizes: set[str] = set()
        self.sets: set[str] = set()
        self.counts: dict[str, set[int]] = defaultdict(set)
        """With how many indices each name stands."""
        self.fonts: dict[tuple[str, int], set[str]] = defaultdict(set)
        """The type of a name where it has so many indices."""
        self.bare: set[str] = set()
        """The names that stand somewhere before no round bracket."""
        self.arrays: set[str] = set()
        """The names that are no numbers: they are transposed, or have a norm."""
        self.rules: dict[str, list[Rule]] = defaultdict(list)
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.depends: dict[str, dict[str, int]] = defaultdict(dict)
        """The names by which each name is differentiated, with the number of their indices."""
        self.bold = False
        self.calls: dict[str, list[s.Call]] = defaultdict(list)
        self.slopes: list[s.Derivative] = []
        self.implied: list[tuple[s.Expression, s.Expression, s.Equation]] = []
        self._causes: dict[str, dict[str, int]] = {}
        for statement in (*self.statements, *spoken):
            self._survey(statement)
        for statement in self.statements:
            if isinstance(statement, s.Equation):
                self._define(statement)
        self._take_implied()
        constant = [
            st.sides[0]
            for st in self.statements
            if isinstance(st, s.Equation) and s.Number("0") in st.sides
        ]
        for slope in self.slopes:
            if slope not in constant:
                self._depend(slope)

    # ------------------------------------------------------------------ what is said

    def read(self, node: s.Expression) -> Reference | None:
        """A name with its indices, in brackets or below; None for anything else."""
        known = self._read.get(id(node))
        if known is None:  # the node is kept with it, so that no other gets its id
            known = self._read[id(node)] = node, self._reference(node)
        return known[1]

    def _reference(self, node: s.Expression) -> Reference | None:
        if isinstance(node, s.Index) and isinstance(node.base, s.Name):
            return self.naming.read(node.base, node.items)
        return self.naming.read(node) if isinstance(node, s.Name) else None

    def _survey(self, statement: s.Statement) -> None:
        if isinstance(statement, s.Declaration):
            for item in statement.items:
                self._visit(item)
            if statement.keyword == SPACE:
                self._space(statement)
        elif isinstance(statement, s.Equation):
            for side in statement.sides:
                self._visit(side)

    def _visit(self, node: s.Node, called: bool = False) -> None:
        """Everything but indices: what stands below a name or a Σ says nothing of arrays."""
        match node:
            case s.Name():
                self._name(node, node)
                reference = self.naming.read(node)
                if not called:
                    self.bare.add(reference.key)
                if reference.power is not None:
                    self._visit(reference.power)
                return
            case s.Index() if isinstance(node.base, s.Name):
                self._name(node, node.base)
                return
            case s.Call():
                self._visit(node.function, called=True)
                self.calls[self.naming.read(node.function).key].append(node)
                for argument in node.arguments:
                    self._visit(argument)
                return
            case s.Reduction():
                self._bounds(node)
                self._visit(node.body)
                return
            case s.Transpose() | s.Norm():
                reference_ = self.read(node.body)
                if reference_ is not None:
                    self.arrays.add(reference_.key)
            case s.Derivative():
                self.slopes.append(node)
                self._visit(node.above, called=isinstance(node.above, s.Name))
                self._visit(node.below)
                return
        for child in node.children():
            self._visit(child)

    def _name(self, node: s.Expression, name: s.Name) -> None:
        reference = self.read(node)
        if reference is None or (name.base in NEVER and name.font != "bold"):
            return
        self.counts[reference.key].add(len(reference.items))
        self.fonts[reference.key, len(reference.items)].add(name.font)
        self.bold = self.bold or name.font == "bold"

    def _space(self, declaration: s.Declaration) -> None:
        domain = declaration.domain
        for node in domain.walk() if domain is not None else ():
            if isinstance(node, s.Name) and node.base not in ("ℝ", "R"):
                self.sizes.add(self.naming.read(node).key)

    def _bounds(self, node: s.Reduction) -> None:
        if isinstance(node.upper, s.Name):
            self.sizes.add(self.naming.read(node.upper).key)
        for under in node.under:
            if not isinstance(under, s.Comparison):
                continue
            last = under.operands[-1]
            if "=" in under.operators and isinstance(last, s.Number) and last.text == "0":
                self.base = 0
            if "∈" in under.operators and isinstance(last, s.Name):
                self.sets.add(self.naming.read(last).key)

    def _depend(self, node: s.Derivative) -> None:
        above, below = self.read(node.above), self.read(node.below)
        if above is not None and above.key not in self.calls:
            self.bare.add(above.key)
        if self.called(node.above, node.below) is not None:
            return
        if above is not None and below is not None and above.key != below.key:
            self.depends[above.key][below.key] = len(below.items)

    def _define(self, equation: s.Equation) -> None:
        self._imply(equation)
        guard = equation.guard
        listed = isinstance(guard, s.Comparison) and guard.operators == (
            "∈",
        )  # `k_i = x_i, i ∈ {1, 2}`
        if equation.relations[0] != "=" or not (guard is None or listed):
            return
        left, body = equation.sides[0], equation.sides[1]
        if isinstance(left, s.Call) and left.given is None:
            plain = [a for a in left.arguments if isinstance(a, s.Name) and not (a.sub or a.sup)]
            keys = [self.naming.read(a).key for a in plain]
            if len(keys) == len(left.arguments):
                function = Function(tuple(keys), body)
                known = self.functions[self.naming.read(left.function).key]
                if function not in known:
                    known.append(function)
            return
        reference = self.read(left)
        if reference is None or reference.power is not None:
            return
        if reference.key in self.sizes and not reference.items:
            return
        again = (self.read(n) for n in body.every(s.Name, s.Index))
        if any(
            r is not None and (r.key, r.items) == (reference.key, reference.items) for r in again
        ):
            return  # an update in place
        rule = Rule(reference.items, body, equation)
        known_rules = self.rules[reference.key]
        for number, other in enumerate(known_rules):
            shared = [side for side in equation.sides[1:] if side in other.equation.sides[1:]]
            if other.items == rule.items and shared:  # said again: by what both of them say
                known_rules[number] = Rule(rule.items, shared[0], equation)
                return
        known_rules.append(rule)

    def _imply(self, equation: s.Equation) -> None:
        """`V x = V (a + b)`: x is a + b, if nothing else says what it is."""
        for one, other, relation in zip(
            equation.sides, equation.sides[1:], equation.relations, strict=False
        ):
            if relation == "=" and (found := _replaced(one, other)) is not None:
                self.implied.append((*found, equation))

    def _take_implied(self) -> None:
        for name, body, equation in self.implied:
            reference = self.read(name)
            if reference is None or reference.power is not None:
                continue
            known = any(rule.items == reference.items for rule in self.rules.get(reference.key, ()))
            if not known and all(isinstance(i, s.Number) for i in reference.items):
                self.rules[reference.key].append(Rule(reference.items, body, equation))

    def assume(self, equation: s.Equation) -> None:
        """Takes what an equation says of its left side, whatever else is said of it."""
        reference = self.read(equation.sides[0])
        if reference is None or reference.power is not None or len(equation.sides) != 2:
            return
        others = [r for r in self.rules.get(reference.key, ()) if r.items != reference.items]
        self.rules[reference.key] = [*others, Rule(reference.items, equation.sides[1], equation)]

    # ------------------------------------------------------------------ what follows from it

    def called(self, above: s.Expression, below: s.Expression) -> s.Call | None:
        """`∂h/∂z` beside `u = h(z)`: the call that is meant."""
        if not isinstance(above, s.Name):
            return None
        key = self.naming.read(above).key
        if key in self.bare or key in self.rules:
            return None
        return next((call for call in self.calls.get(key, ()) if below in call.arguments), None)

    def upstream(self, key: str) -> set[str]:
        """All names that a name is computed from."""

        def below(name: str) -> set[str]:
            if not (rules := self.rules.get(name)):
                return set(self.depends.get(name, {}))
            return {self.naming.read(n).key for rule in rules for n in rule.body.every(s.Name)}

        return reached(below(key), below)

    def causes(self, key: str) -> dict[str, int]:
        """What a name without a rule depends on: what it is differentiated by, the nearest of it."""
        if key not in self._causes:
            known = self.depends.get(key, {})
            self._causes[key] = {
                name: count
                for name, count in known.items()
                if not any(other != name and name in self.upstream(other) for other in known)
            }
        return self._causes[key]

    def rule(self, key: str, count: int) -> Rule | None:
        """The rule that gives all elements of a name, if there is one."""
        for rule in self.rules.get(key, ()):
            plain = [index_name(item) for item in rule.items]
            if len(rule.items) == count and all(plain) and len(set(plain)) == len(plain):
                return rule
        return None

    @cached_property
    def text(self) -> str:
        """All of the text that the statements stand in."""
        return "\n".join({st.span.source.text for st in (*self.statements, *self.spoken)})

    @cached_property
    def _said_numbers(self) -> list[str]:
        """What stands before “is an integer” wherever the text says so; only the end of it."""
        said = re.finditer(r"\$? is an? [^.$]{0,30}\b(integer|number|scalar|constant)\b", self.text)
        return [self.text[max(0, match.start() - LONGEST) : match.start()] for match in said]

    def is_number(self, key: str) -> bool:
        """Whether the text says so: “M is a large positive integer”."""
        ends = (before.removesuffix(key) for before in self._said_numbers if before.endswith(key))
        return any(not re.search(r"\w$", rest) for rest in ends)

    def recurrent(self, key: str) -> bool:
        """Whether a name is computed from itself at an earlier step."""
        return any(
            not all(isinstance(item, s.Number) for item in rule.items)
            and any(self.naming.read(n).key == key for n in rule.body.every(s.Name))
            for rule in self.rules.get(key, ())
        )

    def ambiguous(self, key: str) -> bool:
        """Whether two rules say different things of the same elements."""
        shapes = [tuple(map(str, rule.items)) for rule in self.rules.get(key, ())]
        return len(set(shapes)) != len(shapes) or len(self.functions.get(key, ())) > 1


def _replaced(one: s.Expression, other: s.Expression) -> tuple[s.Expression, s.Expression] | None:
    """The last factor that differs in two products: x and `a + b` in `V x` and `V (a + b)`."""
    first, second = _factors(one), _factors(other)
    if len(first) != len(second) or len(first) < 2 or first[:-1] != second[:-1]:
        return None
    name, body = first[-1], second[-1]
    return (name, body) if isinstance(name, s.Name | s.Index) and name != body else None


def _factors(node: s.Expression) -> list[s.Expression]:
    if isinstance(node, s.Product):
        return [f for factor in node.factors for f in _factors(factor)]
    if isinstance(node, s.Call) and len(node.arguments) == 1 and node.given is None:
        return [node.function, node.arguments[0]]
    return [node.body if isinstance(node, s.Group) else node]


COMPARED = ("=", "≈", "≫", "⋙", "≪", "⋘")
"""The relations that are tried."""
HOLDS, CONDITIONAL, REFUTED, UNTRIED = "holds", "conditional", "refuted", "untried"
NOT_FOUND = "it was not found to hold"
"""How the reason begins why a step in a limit is left open: it was tried, but that refutes nothing."""


@dataclass(frozen=True)
class Step:
    """Two sides of an equation that should be the same."""

    equation: s.Equation
    number: int
    """The number of the left one of the two sides."""
    right: int
    relation: str = "="
    given: tuple[s.Equation, ...] = ()
    """What is said above the arrow before it."""

    @property
    def sides(self) -> tuple[s.Expression, s.Expression]:
        return self.equation.sides[self.number], self.equation.sides[self.right]


@dataclass(frozen=True)
class Finding:
    """What came of a step."""

    step: Step
    status: str
    reason: str = ""
    """Under which condition it holds or would hold, or why it was not tried."""
    left: str = ""
    right: str = ""
    place: str = ""
    draw: Mapping[str, str] = field(default_factory=dict)


def joined(statements: Iterable[s.Statement]) -> list[s.Statement]:
    """Rows that begin with `=` go on with the row above."""
    made: list[s.Statement] = []
    for statement in statements:
        if isinstance(statement, s.Equation) and isinstance(statement.sides[0], s.Dots) and made:
            last = made[-1]
            if isinstance(last, s.Equation):
                made[-1] = replace(
                    last,
                    sides=(*last.sides, *statement.sides[1:]),
                    relations=(*last.relations, *statement.relations),
                    span=last.span.to(statement.span),
                )
                continue
        made.append(statement)
    return made


def steps(equation: s.Equation) -> Iterator[Step]:
    """The steps of an equation: all its relations but one that defines a name."""
    if "~" in equation.relations or isinstance(equation.sides[0], s.Dots):
        return
    defines = (
        isinstance(equation.sides[0], s.Name | s.Index | s.Call) and equation.relations[0] == "="
    )
    start = 1 if defines else 0
    for number, relation in enumerate(equation.relations[start:], start):
        ends = equation.sides[number : number + 2]
        if relation in COMPARED and not any(isinstance(side, s.Dots) for side in ends):
            yield Step(equation, number, number + 1, relation)


def is_derivation(equation: s.Equation) -> bool:
    """Whether it derives something: it has several steps, or is about a derivative."""
    return len(equation.relations) > 1 or any(
        side.every(s.Derivative) for side in derived(equation, WHOLE).sides
    )
