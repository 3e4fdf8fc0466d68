"""Vector style becomes index notation, before anything else is decided.

    c = Σ_i v_i α_i      →  c[D] = Σ_i v_i[D] α_i
    α_i = k_i^⊤ q        →  α_i = k_i[D] q[D]                     summed over D
    V = u_b u_b^⊤        →  V[D,D'] = u_b[D] u_b[D']
    y = V x_1            →  y[D] = V[D,D'] x_1[D']
    K = I                →  K[D,D'] = I[D,D'], where I[D,D'] = 1 if D = D', else 0

It is a rewriting of equations that keeps their places, so that what follows checks, runs and
explains vector style like anything else. Programs that neither use ⊤ on a name without brackets nor
declare a `vector` or a `matrix` are not touched.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.faults import Skipped
from indicial.program.messages import Messages
from indicial.program.names.outline import DISTRIBUTIONS
from indicial.program.names.sorting import outline
from indicial.program.vectors import transposes
from indicial.program.vectors.alignment import MATRIX, NUMBER, Shape
from indicial.program.vectors.conflicts import Conflicts
from indicial.program.vectors.dimensions import Dimensions
from indicial.program.vectors.emission import CLOSED, Emission, Open
from indicial.program.vectors.leaves import Leaf, full_counts
from indicial.program.vectors.matrices import has_identity, without_bare_matrices
from indicial.program.vectors.ranks import Ranks


def rewrite(
    statements: list[s.Statement], messages: Messages, document: bool, skipped: list[Skipped]
) -> list[s.Statement]:
    """The statements in index notation; what cannot be said in it is skipped or reported."""
    statements = transposes.lists(statements)
    turned = transposes.transposed(statements)
    if not transposes.in_vector_style(turned):
        return without_bare_matrices(statements, messages, document, skipped)
    regular = transposes.factors(transposes.heads(turned))
    if document:
        regular = transposes.labelled(regular, messages)
    return _Rewriting(regular, messages, document, skipped).statements()


class _Rewriting:
    """One program on its way from vector style to index notation."""

    def __init__(
        self,
        statements: list[s.Statement],
        messages: Messages,
        document: bool,
        skipped: list[Skipped],
    ) -> None:
        self.written = statements
        self.messages = messages
        self.skipped = skipped
        self.document = document
        self.outline = outline(statements, Messages(), document)
        self.ranks = Ranks(self.outline, statements)
        self.dimensions = Dimensions(statements)
        self.declared: dict[str, int] = {}
        self.conflicts = Conflicts(self.ranks, messages)
        identity = has_identity(statements, self.outline)
        self.emission = Emission(self.ranks, self.conflicts, self.dimensions, identity)
        self._known()
        if identity:
            self.ranks.rank["I"] = 2
        self.ranks.solve(document)

    def _known(self) -> None:
        """What is declared, and what is indexed in full somewhere."""
        equations = [x for x in self.written if isinstance(x, s.Equation) and not self._own(x)]
        self.ranks.total = full_counts(self.outline, equations)
        for statement in self.written:
            if not isinstance(statement, s.Declaration):
                continue
            for item in statement.items:
                leaf = self.ranks.leaf(item)
                if leaf is not None and statement.keyword in ("vector", "matrix"):
                    self._declare(leaf, 1 if statement.keyword == "vector" else 2)
                elif leaf is not None and statement.keyword in ("input", "parameter", "constant"):
                    count, depth = len(leaf.use.reference.items), _depth(statement.value)
                    self.ranks.total[leaf.key] = max(count, depth)
                    if depth > count:
                        self.declared[leaf.key] = depth - count

    def _declare(self, leaf: Leaf, rank: int) -> None:
        items = leaf.use.reference.items
        self.ranks.rank[leaf.stem] = rank
        self.declared[leaf.key] = rank
        if len(items) >= rank:
            self.ranks.total[leaf.key] = len(items)
            for position, letter in enumerate(items[len(items) - rank :]):
                if isinstance(letter, s.Name):
                    self.dimensions.declare(leaf.key, position, letter)

    # ------------------------------------------------------------------ statements

    def statements(self) -> list[s.Statement]:
        """Twice: which indices have one size shows only when everything has been looked through."""
        sound = [x for x in (self._sound(st) for st in self.written) if x is not None]
        for statement, shape in sound:
            self._statement(statement, shape)
        self.dimensions.settle(self.messages)
        result = [st for x in sound for st in self._statement(*x)]
        if len(sound) < len(self.written):
            result = _without_unused(result)
        for stem, node in self.ranks.guessed.items():
            text = f"{stem} is taken as a column: nothing here says what it is"
            self.messages.note("rank-guess", text, node.span)
        return [*result, *self.emission.unit_matrices()]

    def _sound(self, statement: s.Statement) -> tuple[s.Statement, Shape] | None:
        """A statement without the sides that do not fit, and its shape."""
        if isinstance(statement, s.Claim):
            comparison = statement.comparison
            found = self.conflicts.sides(comparison.operands)
            return (
                (statement, found[0])
                if found and len(found[1]) == len(comparison.operands)
                else None
            )
        if not isinstance(statement, s.Equation):
            return statement, NUMBER
        if statement.relations == ("~",):
            return self._drawn(statement)
        if self._own(statement):
            return statement, NUMBER
        found = self.conflicts.sides(statement.sides)
        if found is None or len(found[1]) < 2 or found[1][0] != 0:
            return None
        shape, kept = found
        if len(kept) < len(statement.sides):
            relations = tuple(statement.relations[n - 1] for n in kept[1:])
            statement = replace(
                statement, sides=tuple(statement.sides[n] for n in kept), relations=relations
            )
        return statement, shape

    def _own(self, equation: s.Equation) -> bool:
        """Whether it defines a function of one's own: `f(x[J])[j] = …`, which has its indices."""
        use = self.outline.use(equation.sides[0])
        return use is not None and use.kind == "function" and self.ranks.defined(use)

    def _drawn(self, equation: s.Equation) -> tuple[s.Statement, Shape] | None:
        """`k ~ N(μ, λ I)`: the variance of each element is λ; no other matrix can be used."""
        left, right = equation.sides
        shape = self.conflicts.shape(left)
        if shape is None:
            return None
        if not isinstance(right, s.Call) or not isinstance(right.function, s.Name):
            return equation, shape
        if right.function.base not in DISTRIBUTIONS:
            return equation, NUMBER
        arguments: list[s.Expression] = []
        for argument in right.arguments:
            found = self.conflicts.shape(argument)
            single = self._multiple(argument) if found == MATRIX else argument
            if found is None:
                return None
            if single is None:
                if self.document:
                    self.skipped.append(
                        Skipped(equation.span, "it draws with a matrix of covariances")
                    )
                else:
                    text = "elements are drawn one by one: a matrix of covariances has no use here"
                    hint = "write N(mean, λ I), or the variance of each element"
                    self.messages.error("draw", text, argument.span, hint=hint)
                return None
            arguments.append(single)
        if self.conflicts.sides([left, *arguments[:1]]) is None:
            return None
        return replace(equation, sides=(left, replace(right, arguments=tuple(arguments)))), shape

    def _multiple(self, node: s.Expression) -> s.Expression | None:
        """The λ of `λ I`."""
        factors = node.factors if isinstance(node, s.Product) else (node,)
        rest = tuple(f for f in factors if not self.emission.is_identity(f))
        if len(rest) != len(factors) - 1:
            return None
        if len(rest) > 1:
            return s.Product(rest, span=node.span)
        return rest[0] if rest else s.Number("1", span=node.span)

    def _statement(self, statement: s.Statement, shape: Shape) -> list[s.Statement]:
        with self.dimensions.inside():
            ends: Open = self.emission.ends(shape)
            if isinstance(statement, s.Declaration):
                return self._declaration(statement)
            if isinstance(statement, s.Claim):
                operands = tuple(self.emission.emit(o, ends) for o in statement.comparison.operands)
                return [
                    replace(statement, comparison=replace(statement.comparison, operands=operands))
                ]
            assert isinstance(statement, s.Equation)
            if statement.relations == ("~",):
                return [replace(statement, sides=self._draw_sides(statement, ends))]
            if self._own(statement):
                return [statement]
            last = statement.sides[-1]
            if isinstance(last, s.ListLiteral) and not any(
                isinstance(n, s.Name) for n in last.walk()
            ):
                return [statement]  # a constant has its indices from the list
            sides = tuple(self.emission.emit(side, ends) for side in statement.sides)
            guard = (
                self.emission.emit(statement.guard, CLOSED) if statement.guard is not None else None
            )
            return [replace(statement, sides=sides, guard=guard)]

    def _draw_sides(self, equation: s.Equation, ends: Open) -> tuple[s.Expression, ...]:
        left, right = equation.sides
        function = right.function if isinstance(right, s.Call) else None
        if isinstance(function, s.Name) and function.base in DISTRIBUTIONS:
            assert isinstance(right, s.Call)
            shapes = [self.conflicts.shape(a) for a in right.arguments]
            arguments = tuple(
                self.emission.emit(a, ends if shape != NUMBER else CLOSED)
                for a, shape in zip(right.arguments, shapes, strict=True)
            )
            right = replace(right, arguments=arguments)
        return (self.emission.emit(left, ends), right)

    def _declaration(self, statement: s.Declaration) -> list[s.Statement]:
        """Vectors that nothing defines are inputs, matrices parameters."""
        if statement.keyword == "constant":
            return [replace(statement, items=tuple(self._full(item) for item in statement.items))]
        if statement.keyword not in ("vector", "matrix"):
            return [statement]
        known = self.outline.defined | {r.key for r, _, _ in self.outline.draws}
        items: list[s.Expression] = []
        for item in statement.items:
            leaf = self.ranks.leaf(item)
            if leaf is None or leaf.key in known:
                continue
            items.append(self._full(item))
        keyword = "input" if statement.keyword == "vector" else "parameter"
        return [replace(statement, keyword=keyword, items=tuple(items))] if items else []

    def _full(self, item: s.Expression) -> s.Expression:
        """A declared name with the indices that its declaration leaves out: `vector x` → `x[D]`."""
        leaf = self.ranks.leaf(item)
        if leaf is None or leaf.key not in self.declared:
            return item
        if self.ranks.total.get(leaf.key, -1) == len(leaf.use.reference.items):
            return item
        return self.emission.indexed(
            item, leaf.key, [self.dimensions.new() for _ in range(self.declared[leaf.key])]
        )


def _without_unused(statements: list[s.Statement]) -> list[s.Statement]:
    """An equation was left out: then it is no mistake that a declared name is not used."""
    used = {
        node.base
        for statement in statements
        if not isinstance(statement, s.Declaration)
        for node in statement.walk()
        if isinstance(node, s.Name)
    }
    result: list[s.Statement] = []
    for statement in statements:
        if isinstance(statement, s.Declaration) and statement.keyword in ("input", "parameter"):
            items = [
                item
                for item in statement.items
                if any(isinstance(n, s.Name) and n.base in used for n in item.walk())
            ]
            if items:
                result.append(replace(statement, items=tuple(items)))
        else:
            result.append(statement)
    return result


def _depth(value: s.Expression | None) -> int:
    """How many indices a list of numbers has."""
    if not isinstance(value, s.ListLiteral) or not value.items:
        return 0
    return 1 + _depth(value.items[0])
