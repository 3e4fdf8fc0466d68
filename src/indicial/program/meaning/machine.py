"""One example's elements, each computed when it is needed: the loop that `interpret` promises.

    compute(("h", (2, 0)))  →  the right side of `h[t,j] = …` at t = 2, j = 0

Only expressions recurse, and the notation limits their nesting; elements wait for each other on
a list (`demand`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import sub
from typing import TYPE_CHECKING, Any, cast

from indicial.notation.source import NOWHERE, Span
from indicial.program import ir
from indicial.program.logs import logarithm
from indicial.program.meaning.arrays import BATCH, Given, InterpretError, stored_extents
from indicial.program.meaning.elements import Demand, Environment, Indexing, Unit
from indicial.program.meaning.functions import (
    FUNCTIONS,
    SOFTMAX_OPERATIONS,
    combine,
    operations,
    reduce_operations,
)
from indicial.program.rewrite import free_indices, is_constant

if TYPE_CHECKING:
    from indicial.program.meaning.arrays import Array

NO_TOKEN = -1.0
"""What the place of a token outside the text reads as, where its number is asked for."""


class CycleError(InterpretError):
    """An element that needs itself: `h[2,0] → G[2,0] → h[2,0]`."""

    def __init__(self, path: Sequence[str], spans: Sequence[Span]) -> None:
        super().__init__(f"an element needs itself: {' → '.join(path)}", spans)
        self.path = tuple(path)


class Machine(Demand, Indexing):
    """The evaluation of one program on one example."""

    def __init__(self, code: ir.Code, given: Given) -> None:
        Demand.__init__(self)
        Indexing.__init__(self, code, given)
        self.arrays = given.arrays
        self.nodes: dict[int, tuple[ir.Expression, tuple[str, ...]]] = {}
        self.logarithms: dict[tuple[int, bool], ir.Expression | None] = {}
        self.folded: dict[int, tuple[ir.Expression, bool]] = {}
        self.statements: dict[str, list[ir.Statement]] = {}
        for statement in code.statements:
            self.statements.setdefault(statement.target, []).append(statement)
        self.rules: dict[type[ir.Expression], Callable[[Any, Environment], float]] = {
            ir.Constant: lambda e, env: float(e.value),
            ir.SizeValue: lambda e, env: float(self.size(e.size, env)),
            ir.IndexValue: lambda e, env: float(self.place(e.place, env)),
            ir.Read: self.read,
            ir.Apply: self.apply,
            ir.Reduce: self.reduction,
            ir.Softmax: self.softmax,
            ir.Select: self.select,
            ir.Join: self.join,
        }

    # ---- arrays out ----

    def array(self, name: str) -> Array:
        """All elements of a tensor in its ranges; nan where an array has more room than that."""
        import numpy as np

        tensor = self.code.tensors[name]
        lowers = self.lowers(name)
        letters = {axis.letter: low for axis, low in zip(tensor.axes, lowers, strict=True)}
        letters.pop(BATCH, None)  # the longest example decides how much room there is
        extents = [self.size(extent, letters) for extent in stored_extents(tensor)]
        result = np.full(extents, np.nan)
        for place in np.ndindex(*extents):
            element = tuple(low + at for low, at in zip(lowers, place, strict=True))
            if self.inside(name, element):
                if name in self.statements and name not in self.arrays:
                    self.demand((name, element))
                result[place] = self.outside(name, self.stored(name, element))
        return cast("Array", result)

    def adopt(self, other: Machine, changed: set[str]) -> None:
        """Takes over what another machine knows, but for the elements of these tensors."""
        for unit, value in other.known.items():
            if isinstance(unit[0], str) and unit[0] not in changed:
                self.known[unit] = value

    def value(self, expression: ir.Expression, env: Environment) -> float:
        """An expression's value, with all that it needs."""
        return self.settle(lambda: self.evaluate(expression, env))

    # ---- elements ----

    def cycle(self, units: list[Unit]) -> CycleError:
        elements = [(name, place) for name, place in units if isinstance(name, str)]
        path = [_element(*element) for element in (*elements, elements[0])]
        spans = []
        for name, place in elements:
            statement, _ = self.match(name, place)
            spans.append(statement.span if statement is not None else NOWHERE)
        return CycleError(path, spans)

    def compute(self, unit: Unit) -> Any:
        key, values = unit
        if isinstance(key, str):
            statement, env = self.match(key, values)
            return None if statement is None else self.evaluate(statement.body, env)
        node, names = self.nodes[key]
        env = dict(zip(names, values, strict=True))
        if isinstance(node, ir.Reduce):
            return self.reduced(node, env)
        if isinstance(node, ir.Softmax):
            return self.normalised(node, env)
        before = self.operations  # a logarithm, which counts where it stands
        value = self.evaluate(node, env)
        self.operations = before
        return value

    def match(self, name: str, element: tuple[int, ...]) -> tuple[ir.Statement | None, Environment]:
        """The first statement that defines an element, with the values of its indices."""
        for statement in self.statements.get(name, ()):
            env: Environment = {}
            if not all(self.solve(p, v, env) for p, v in zip(statement.left, element, strict=True)):
                continue
            if not all(env[i.name] in self.range(i, env) for i in statement.indices):
                continue
            if statement.guard is None or self.holds(statement.guard, env):
                return statement, env
        return None, {}

    # ---- where reads go ----

    def element(self, places: tuple[ir.Place, ...], env: Environment) -> tuple[int, ...] | None:
        """Where a read goes; None if a token on the way is outside the text."""
        result = []
        for place in places:
            at = (
                self.token(place.read, env)
                if isinstance(place, ir.Gather)
                else self.place(place, env)
            )
            if at is None:
                return None
            result.append(at)
        return tuple(result)

    def token(self, read: ir.Read, env: Environment) -> int | None:
        with self.decisive():
            element = self.element(read.places, env)
            value = None if element is None else self.stored(read.tensor, element)
        if element is None or value is None:
            return None
        tensor = self.code.tensors[read.tensor]
        # What is computed (argmax_i) is an element of its range, wherever that begins.
        values = tensor.values if tensor.role != "defined" else None
        name = _element(read.tensor, element)
        if not float(value).is_integer():
            raise InterpretError(f"{name} is {value}, which is not an index", [read.span])
        if values is not None and not 0 <= value < self.size(values, env):
            raise InterpretError(
                f"{name} is token {int(value)}, outside the vocabulary "
                f"({values} = {self.size(values, env)})",
                [read.span],
            )
        return int(value)

    # ---- expressions ----

    def evaluate(self, expression: ir.Expression, env: Environment) -> float:
        return self.rules[type(expression)](expression, env)

    def holds(self, condition: ir.Expression, env: Environment) -> bool:
        """Whether a condition is true; deciding counts no operations."""
        before = self.operations
        with self.decisive():
            value = self.evaluate(condition, env)
        self.operations = before
        return value != 0

    def stored(self, name: str, element: tuple[int, ...]) -> float | None:
        """An element's value; None outside the tensor (and, noted as missing, if not yet known)."""
        if name in self.arrays:
            if not self.inside(name, element):
                return None
            return float(self.arrays[name].item(*map(sub, element, self.lowers(name))))
        if name not in self.statements:
            tensor = self.code.tensors[name]
            raise InterpretError(f"the {tensor.role} {name} was not given", [tensor.span])
        return cast("float | None", self.require((name, element)))

    def read(self, read: ir.Read, env: Environment) -> float:
        element = self.element(read.places, env)
        if element is None and self.code.tensors[read.tensor].probability:
            return 1.0
        value = None if element is None else self.stored(read.tensor, element)
        return self.outside(read.tensor, value)

    def outside(self, name: str, value: float | None) -> float:
        """The value, or what the tensor gives outside its ranges."""
        if value is not None:
            return value
        return 0.0 if self.code.tensors[name].values is None else NO_TOKEN

    def apply(self, node: ir.Apply, env: Environment) -> float:
        if not self.constant(node):
            self.operations += operations(node.function, len(node.arguments))
        if node.function == "ln":
            return self.logarithm(node.arguments[0], env)
        values = []
        for argument in node.arguments:  # no comprehension: it would double the depth of the stack
            values.append(self.evaluate(argument, env))
        return FUNCTIONS[node.function](*values)

    def logarithm(self, argument: ir.Expression, env: Environment) -> float:
        """The logarithm of a value, finite also where the value is too small to be a number.

        That of a name, or of 1 less it, is taken in its own equation, if that helps: `ln p[t]` with
        `p[t] = σ(x[t])`.
        """
        if isinstance(argument, ir.Softmax):
            return self.softmax(argument, env, logarithm=True)
        match argument:
            case (ir.Read() as read) | ir.Apply(
                "+", (ir.Constant(1.0), ir.Apply("neg", (ir.Read() as read,)))
            ):
                element = self.element(read.places, env)
                if element is not None and read.tensor not in self.arrays:
                    statement, inner = self.match(read.tensor, element)
                    if statement is not None:
                        value = self.within(statement, inner, argument is not read)
                        if value is not None:
                            return value
        return FUNCTIONS["ln"](self.evaluate(argument, env))

    def within(self, statement: ir.Statement, env: Environment, rest: bool) -> float | None:
        """The logarithm of what a statement defines, or of the `rest` to 1; nothing if that has to be
        computed first."""
        key = id(statement), rest
        if key not in self.logarithms:
            body = statement.body
            whole = ir.Apply("+", (ir.Constant(1.0), ir.Apply("neg", (body,)))) if rest else body
            self.logarithms[key] = logarithm(self.code, whole)
        found = self.logarithms[key]
        if found is None:
            return None
        names = tuple(sorted(env))
        self.nodes[id(found)] = (found, names)
        value = self.require((id(found), tuple(env[name] for name in names)))
        return 0.0 if value is None else cast("float", value)

    def constant(self, node: ir.Apply) -> bool:
        """Whether it depends on sizes only, as `1/√I` does: known before anything is read."""
        found = self.folded.get(id(node))
        if found is None:
            found = self.folded[id(node)] = (node, is_constant(node))
        return found[1]

    def shared(self, node: ir.Reduce | ir.Softmax, env: Environment, bound: set[str]) -> Any:
        if id(node) not in self.nodes:
            free = (free_indices(node) - bound) & env.keys()  # the depth of a stride may be a size
            if self.lengths and BATCH in env and BATCH not in bound:
                free.add(BATCH)  # the ranges depend on it even where the text does not say so
            self.nodes[id(node)] = (node, tuple(sorted(free)))
        return self.require((id(node), tuple(env[name] for name in self.nodes[id(node)][1])))

    def reduction(self, node: ir.Reduce, env: Environment) -> float:
        value = self.shared(node, env, set())
        return 0.0 if value is None else cast("float", value)

    def reduced(self, node: ir.Reduce, env: Environment) -> float:
        items = []
        for _ in self.domain(node.indices, env):
            if node.condition is None or self.holds(node.condition, env):
                items.append((env[node.indices[0].name], self.evaluate(node.body, env)))
        self.operations += reduce_operations(node.operator, len(items))
        return combine(node.operator, items)

    def softmax(self, node: ir.Softmax, env: Environment, logarithm: bool = False) -> float:
        names = [index.name for index in node.indices]
        distribution = self.shared(node, env, set(names))
        if distribution is None:
            return 0.0
        nothing = (0.0, -math.inf)
        return cast("float", distribution.get(tuple(env[n] for n in names), nothing)[logarithm])

    def normalised(
        self, node: ir.Softmax, env: Environment
    ) -> dict[tuple[int, ...], tuple[float, float]]:
        """The whole distribution and its logarithm, by the values of its indices, where the
        condition holds."""
        names = [index.name for index in node.indices]
        scores = {}
        for _ in self.domain(node.indices, env):
            if node.condition is None or self.holds(node.condition, env):
                scores[tuple(env[name] for name in names)] = self.evaluate(node.body, env)
        self.operations += SOFTMAX_OPERATIONS * len(scores)
        top = FUNCTIONS["max"](*scores.values())
        weights = {key: FUNCTIONS["exp"](score - top) for key, score in scores.items()}
        total = math.fsum(weights.values())
        whole = FUNCTIONS["lse"](*scores.values())
        return {
            key: (FUNCTIONS["/"](weight, total), scores[key] - whole)
            for key, weight in weights.items()
        }

    def select(self, node: ir.Select, env: Environment) -> float:
        for condition, value in node.branches:
            if self.holds(condition, env):
                return self.evaluate(value, env)
        return self.evaluate(node.otherwise, env)

    def join(self, node: ir.Join, env: Environment) -> float:
        place = self.place(node.place, env)
        ends = [0]
        for part in node.parts:
            values = self.range(part.index, env)
            ends.append(ends[-1] + len(values))
            if ends[-2] <= place < ends[-1]:
                return self.evaluate(part.body, {**env, part.index.name: values[place - ends[-2]]})
        raise InterpretError(f"element {place} of a join that has {ends[-1]}", [node.span])


def _element(name: str, place: tuple[int, ...]) -> str:
    return name + (f"[{','.join(map(str, place))}]" if place else "")
