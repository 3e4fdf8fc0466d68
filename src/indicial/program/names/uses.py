"""How a name with its brackets is used: as a tensor, a function, a factor or a probability.

    e(w)[I], h[t-1,j], H(k, t)     a tensor: the brackets hold indices
    f(x + y), CELL_Φ(h[t-1,J], x)  a function with its arguments
    M(k_a + k_b), λ(a - b), T(L-1) a factor before brackets
    P(w_t | w_0, …)                a probability

Round brackets are told apart by what stands in them and by how the name is used elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program.ir import ELEMENTWISE
from indicial.program.names.letters import (
    LAST,
    index_expression,
    index_name,
    is_capital,
    is_distance,
    is_letter,
    is_step,
    shifted,
)
from indicial.program.names.naming import (
    APPLIED,
    FUNCTION_LETTERS,
    VALUES,
    Naming,
    Reference,
    activates,
)

ALIASES = {
    "log": "ln", "sg": "stop", "Drop": "dropout", "log_σ": "logsigmoid", "ln_σ": "logsigmoid",
    "log_{softmax}": "logsoftmax", "ln_{softmax}": "logsoftmax",
}  # fmt: skip
"""Functions that have a second name."""
SLOPES = ("σ'", "tanh'", "ReLU'")
"""The derivatives of functions of a number: `δ = W^⊤ δ' ⊙ σ'(z)`."""
BUILT_IN = frozenset(
    [*ELEMENTWISE, *ALIASES, *ALIASES.values(), "onehot", "dropout", "softmax", "layernorm", "rmsnorm",
     "SiLU", "ELU", "swiglu", "rope", "topk", *SLOPES]
)  # fmt: skip
PROBABILITY = frozenset({"P", "p", "Pr", "ℙ", "𝒫"})


@dataclass(frozen=True)
class FunctionDefinition:
    """`key(parameters)[result] = body`."""

    key: str
    parameters: tuple[tuple[str, tuple[s.Name, ...]], ...]
    """Each parameter with the capitals of its slice."""
    result: tuple[s.Name, ...]
    body: s.Expression
    span: Span


@dataclass
class Uses:
    """What is known of all names of a program, and from that, how each is used."""

    naming: Naming
    functions: dict[str, FunctionDefinition] = field(default_factory=dict)
    fills: dict[str, tuple[str, Span]] = field(default_factory=dict)
    bracketed: set[str] = field(default_factory=set)
    """The keys that have indices somewhere."""
    bare: set[str] = field(default_factory=set)
    """The keys that stand somewhere without any brackets."""
    complete: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """How many indices each key has where no round brackets follow."""
    sliced: dict[str, set[s.Expression]] = field(default_factory=lambda: defaultdict(set))
    """The capitals that stand in round brackets behind each key, and are no last step."""
    known: dict[int, tuple[s.Expression, Use | None]] | None = None
    """Answers that were given, by node, once nothing that they depend on changes any more."""
    inside: dict[int, tuple[s.Node, list[Use]]] = field(default_factory=dict)
    """All uses in a piece of syntax, by node: see `occurrences.uses`."""

    def use(self, node: s.Expression) -> Use | None:
        """How a name with its brackets is used; None if the node is not a name with brackets."""
        if self.known is None:
            return self._use(node)
        if id(node) not in self.known:
            self.known[id(node)] = node, self._use(node)  # the node is kept: its id stays its own
        return self.known[id(node)][1]

    def _use(self, node: s.Expression) -> Use | None:
        groups: list[s.Call | s.Index] = []
        base = node
        while isinstance(base, s.Call | s.Index):
            groups.append(base)
            base = base.function if isinstance(base, s.Call) else base.base
        if not isinstance(base, s.Name):
            return None
        groups.reverse()
        reference = self.naming.read(base)
        first = groups[0] if groups else None
        if isinstance(first, s.Call):
            kind = self._round(base, reference, first)
            if kind != "tensor":
                return Use(kind, reference, call=first, rest=_items(groups[1:]))
            if reference.key not in self.bracketed and len(groups) == 1:
                # `H(k, t, T)`, never defined: what it does with the slice is its own affair.
                kept = tuple(a for a in first.arguments if not self._is_slice(a))
                return Use("tensor", self.naming.read(base, kept, node.span))
        return Use("tensor", self.naming.read(base, _items(groups), node.span))

    def _round(self, name: s.Name, reference: Reference, call: s.Call) -> str:
        """What round brackets directly behind a name mean."""
        key = reference.key
        if self._is_probability(name, key, call):
            return "probability"
        if self.is_function(key) or call.given is not None or name.font == APPLIED:
            return "function"
        if reference.power is not None:
            return "factor"  # `a^2 (1 - t)`: what is raised has its brackets behind the letter
        naming = self.naming
        indices = all(naming.is_index(a) or naming.is_token(a, name) for a in call.arguments)
        if key in BUILT_IN and not (reference.items or indices or key in self.bare):
            return "function"  # σ(x) beside the standard deviation σ_i
        if len(call.arguments) != 1:
            count = len(reference.items) + len(call.arguments)
            known = key in self.bracketed and (not reference.items or count in self.complete[key])
            slices = of_matrices(call) and all(map(self._is_slice, call.arguments))
            return "tensor" if (indices and not slices) or known else "function"
        if reference.items and len(reference.items) in self.complete[key]:
            (place,) = call.arguments  # `Σ_i α_{t-1}(i) P_{ij}`, also where a whole α_t stands
            known = isinstance(place, s.Name) and place.bare and place.base in naming.bound
            # `m_h (i - j)`: m has its index already
            return "tensor" if known and not _spaced(call) else "factor"
        scalar = key in self.bare and key not in self.bracketed
        named = len(name.base) > 1 and not is_letter(name.base)
        unknown = key not in self.bare and key not in self.bracketed
        if indices and self._of_a_value(name, key, call.arguments[0]):
            return "function"
        if unknown and self._is_slice(call.arguments[0]):
            letter = name.base in FUNCTION_LETTERS and self.sliced[key]
            of_several = letter or len(self.sliced[key]) > 1
            if named or (naming.prose and of_several):
                return "function"  # `SelfAttention(X)`; in prose φ(Q), beside φ(K)
        if indices:
            apart = key not in self.bracketed and _apart(call)
            valued = name.base in VALUES and naming.is_token(call.arguments[0], name)  # `V(S_t)`
            size = self.is_size(key, name) and not valued
            return "factor" if scalar or apart or size else "tensor"
        if unknown and (named or activates(call) or reference.group is not None):
            return "function"
        return "factor"

    def _of_a_value(self, name: s.Name, key: str, argument: s.Expression) -> bool:
        """`f(X_{ij})`: a letter of functions before a name with indices of its own."""
        if name.base not in FUNCTION_LETTERS or key in self.bare or key in self.bracketed:
            return False
        return isinstance(argument, s.Name) and len(self.naming.read(argument).items) > 1

    def is_function(self, key: str) -> bool:
        if key in self.functions or key in self.fills:
            return True
        return key in BUILT_IN and key not in self.bracketed

    def is_size(self, key: str, name: s.Name) -> bool:
        """A bare capital that is never a tensor."""
        return is_capital(name.base) and not name.accents and key not in self.bracketed

    def _is_probability(self, name: s.Name, key: str, call: s.Call) -> bool:
        if name.base not in PROBABILITY:
            return False
        if call.given is not None:
            return True
        if key in self.bracketed or (key in self.bare and len(call.arguments) == 1):
            return False
        return all(
            isinstance(a, s.Dots | s.Name)
            or (isinstance(a, s.Index) and isinstance(a.base, s.Name))
            for a in call.arguments
        )

    def _is_slice(self, node: s.Expression) -> bool:
        name = index_name(node)
        if name is None or not is_capital(name.base):
            return False
        return name.base not in self.naming.bound


@dataclass(frozen=True)
class Use:
    """One occurrence of a name with its brackets: `tensor`, `function`, `factor`, `probability`."""

    kind: str
    reference: Reference
    call: s.Call | None = None
    rest: tuple[s.Expression, ...] = ()
    """The square brackets after the round ones: the `[j]` of `f(x[J])[j]`."""


def _items(groups: Sequence[s.Call | s.Index]) -> tuple[s.Expression, ...]:
    return tuple(
        item
        for group in groups
        for item in (group.items if isinstance(group, s.Index) else group.arguments)
    )


def survey(statements: Sequence[s.Statement], into: Uses) -> None:
    """Notes which names have indices somewhere, and which stand alone somewhere."""
    inside: set[int] = set()
    for statement in statements:
        # The h of `c_h` is no name that stands alone: in `log h_i(x)` it may be called.
        scripts = s.ids(
            part for n in statement.every(s.Name) for i in n.scripts for part in i.walk()
        )
        for node in statement.every(s.Index, s.Call, s.Name):
            if isinstance(node, s.Name):
                reference = into.naming.read(node)
                if reference.items:
                    into.bracketed.add(reference.key)
                    if id(node) not in inside:
                        into.complete[reference.key].add(len(reference.items))
                elif id(node) not in inside and id(node) not in scripts:
                    into.bare.add(reference.key)
            elif isinstance(node, s.Index):
                base = node.base
                base = s.head(base)
                if isinstance(base, s.Name):
                    inside.add(id(base))
                    called = isinstance(node.base, s.Call) and node.base.function is base
                    if node.base is base or (called and _index_call(node.base)):
                        reference = into.naming.read(base)
                        into.bracketed.add(reference.key)
                        if node.base is base:
                            into.complete[reference.key].add(len(reference.items) + len(node.items))
            elif isinstance(node, s.Call):
                inside.add(id(node.function))
                matrices = (a for a in node.arguments if isinstance(a, s.Name) and a.bare)
                key = into.naming.read(node.function).key
                into.sliced[key].update(
                    a for a in matrices if is_capital(a.base) and a.base not in LAST
                )
    # A left side with round brackets that hold plain indices is a tensor.
    for statement in statements:
        if isinstance(statement, s.Equation) and isinstance(statement.sides[0], s.Call):
            call = statement.sides[0]
            if (
                call.given is None
                and call.function.base not in PROBABILITY | BUILT_IN
                and all(index_expression(a) for a in call.arguments)
                and not parameter_used(call, statement.sides[1:])
                and not of_matrices(call)
            ):
                into.bracketed.add(into.naming.read(call.function).key)


def _index_call(node: s.Expression) -> bool:
    """`h(t)[N]`, `e(w_t)[I]`: round brackets with indices, and square ones behind them."""
    if not isinstance(node, s.Call) or node.given is not None:
        return False
    if node.function.base in BUILT_IN:
        return False
    return all(index_expression(a) for a in node.arguments)


def of_matrices(call: s.Call) -> bool:
    """`MultiHead(Q, K, V)`: a word, of capitals."""
    capitals = [a for a in call.arguments if isinstance(a, s.Name) and is_capital(a.base)]
    return len(call.word) > 1 and len(capitals) == len(call.arguments) > 1


def parameter_used(call: s.Call, sides: Sequence[s.Expression]) -> bool:
    """Whether `f(x) = …x…` uses x as a value: then it is a function, not a tensor."""
    names = {replace(a, sup=()) for a in call.arguments if isinstance(a, s.Name)}
    again = [c.arguments for c in s.every(sides, s.Call) if c.function == call.function]
    steps = {step[0] for a in again for i in a if (step := shifted(i)) is not None and step[1]}
    under = (u for n in s.every(sides, s.Reduction) for u in n.under)
    bound = {n.base for n in s.every(under, s.Name)}
    values: set[s.Name] = set()
    for side in sides:
        hidden: set[int] = set()
        for node in side.walk():
            if isinstance(node, s.Index):
                hidden |= s.ids(node.items)
            elif isinstance(node, s.Name):
                hidden |= s.ids(node.scripts)
                if id(node) not in hidden:
                    values.add(replace(node, sup=()))
            elif isinstance(node, s.Reduction):
                hidden |= s.ids(node.under)
            elif isinstance(node, s.Call) and _holds_indices(node, call, steps, bound):
                hidden |= s.ids(node.arguments)
    return bool(names & values)


def _holds_indices(
    node: s.Call, left: s.Call, steps: Collection[s.Name], bound: Collection[str]
) -> bool:
    """`F(t-1)` on the right of `F(t) = …`, and any other name with plain indices in brackets.

    So is `y(t, u-1)`, where F itself is read at `u-1`, and `s(t-j)` in a Σ over j.
    """
    if node.word in BUILT_IN:
        return False
    if node.function == left.function:
        return True
    if all(is_distance(a, bound) for a in node.arguments):
        return True
    places = [shifted(a) for a in node.arguments]
    return all(
        place is not None and (not place[1] or is_step(a) or place[0] in steps)
        for a, place in zip(node.arguments, places, strict=True)
    )


def _apart(call: s.Call) -> bool:
    """`λ (t - s)`: a blank, and then a distance of two indices; `a(t - s)` and `h (t-1)` are elements."""
    letters = {n.base for n in call.arguments[0].every(s.Name) if is_letter(n.base)}
    return _spaced(call) and isinstance(call.arguments[0], s.Add) and len(letters) > 1


def _spaced(call: s.Call) -> bool:
    """Whether a blank stands before the brackets."""
    place = call.function.span.end
    return call.function.span.source.text[place : place + 1] == " "
