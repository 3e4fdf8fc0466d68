"""Vector style becomes index notation, before anything else is decided.

    c = Σ_i v_i α_i      →  c[D] = Σ_i v_i[D] α_i
    α_i = k_i^⊤ q        →  α_i = k_i[D] q[D]                     summed over D
    V = u_b u_b^⊤        →  V[D,D'] = u_b[D] u_b[D']
    y = V x_1            →  y[D] = V[D,D'] x_1[D']
    K = I                →  K[D,D'] = I[D,D'], where I[D,D'] = 1 if D = D', else 0

It is a rewriting of equations that keeps their places, so that what follows checks, runs and explains
vector style like anything else. Programs that neither use ⊤ on a name without brackets nor declare a
`vector` or a `matrix` are not touched.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.faults import Skipped
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program import transposes
from indicial.program.alignment import MATRIX, NUMBER, Shape, align
from indicial.program.conflicts import Conflicts, fits_all
from indicial.program.dimensions import Dimensions
from indicial.program.messages import Messages
from indicial.program.naming import is_capital
from indicial.program.outline import DISTRIBUTIONS, Outline, outline
from indicial.program.ranks import LIKE_ITS_ARGUMENT, Leaf, Ranks, counted

Open = tuple[int | None, int | None]
"""The indices at the left and at the right end of an expression, by number."""


def rewrite(
    statements: list[s.Statement], messages: Messages, document: bool, skipped: list[Skipped]
) -> list[s.Statement]:
    """The statements in index notation; what cannot be said in it is skipped or reported."""
    statements = transposes.lists(statements)
    turned = transposes.transposed(statements)
    if not transposes.in_vector_style(turned):
        return _without_bare_matrices(statements, messages, document, skipped)
    regular = transposes.factors(turned)
    if document:
        regular = transposes.labelled(regular, messages)
    return _Rewriting(regular, messages, document, skipped).statements()


class _Rewriting:
    """One program on its way from vector style to index notation."""

    def __init__(
        self, statements: list[s.Statement], messages: Messages, document: bool, skipped: list[Skipped]
    ) -> None:
        self.written = statements
        self.messages = messages
        self.skipped = skipped
        self.document = document
        self.outline = outline(statements, Messages(), document)
        self.ranks = Ranks(self.outline, statements)
        self.dimensions = Dimensions(statements)
        self.declared: dict[str, tuple[int, s.Expression]] = {}
        self.identity = _identity(statements, self.outline)
        self.identities: dict[int, Span] = {}
        self._known()
        self.ranks.solve(document)
        self.conflicts = Conflicts(self.ranks, messages)

    def _known(self) -> None:
        """What is declared, and what is indexed in full somewhere."""
        for statement in self.written:
            for node in statement.walk():
                full = counted(self.outline, node) if isinstance(node, s.Index) else None
                if full is not None and not isinstance(statement, s.Declaration):
                    self.ranks.total[full[0]] = max(full[1], self.ranks.total.get(full[0], 0))
        for statement in self.written:
            if not isinstance(statement, s.Declaration):
                continue
            for item in statement.items:
                leaf = self.ranks.leaf(item)
                if leaf is not None and statement.keyword in ("vector", "matrix"):
                    self._declare(item, leaf, 1 if statement.keyword == "vector" else 2)
                elif leaf is not None and statement.keyword in ("input", "parameter", "constant"):
                    self.ranks.total[leaf.key] = len(leaf.use.reference.items)
        if self.identity:
            self.ranks.rank["I"] = 2

    def _declare(self, item: s.Expression, leaf: Leaf, rank: int) -> None:
        items = leaf.use.reference.items
        self.ranks.rank[leaf.stem] = rank
        self.declared[leaf.key] = (rank, item)
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
        for stem, node in self.ranks.guessed.items():
            self.messages.note("rank-guess", f"{stem} is taken as a column: nothing here says what it is", node.span)
        return [*result, *self._unit_matrices()]

    def _sound(self, statement: s.Statement) -> tuple[s.Statement, Shape] | None:
        """A statement without the sides that do not fit, and its shape."""
        if isinstance(statement, s.Claim):
            comparison = statement.comparison
            found = self.conflicts.sides(comparison.operands)
            return (statement, found[0]) if found and len(found[1]) == len(comparison.operands) else None
        if not isinstance(statement, s.Equation):
            return statement, NUMBER
        if statement.relations == ("~",):
            return self._drawn(statement)
        if isinstance(statement.sides[0], s.Call) and self.ranks.leaf(statement.sides[0]) is None:
            left = self.outline.use(statement.sides[0])
            if left is None or left.kind != "probability":
                return statement, NUMBER  # a function of one's own
        found = self.conflicts.sides(statement.sides)
        if found is None or len(found[1]) < 2 or found[1][0] != 0:
            return None
        shape, kept = found
        if len(kept) < len(statement.sides):
            relations = tuple(statement.relations[n - 1] for n in kept[1:])
            statement = replace(statement, sides=tuple(statement.sides[n] for n in kept), relations=relations)
        return statement, shape

    def _drawn(self, equation: s.Equation) -> tuple[s.Statement, Shape] | None:
        """`k ~ N(μ, λ I)`: the variance of each element is λ; another matrix cannot be drawn from."""
        left, right = equation.sides
        shape = self.conflicts.shape(left)
        if not isinstance(right, s.Call) or not isinstance(right.function, s.Name):
            return (equation, shape) if shape is not None else None
        if right.function.base not in DISTRIBUTIONS:
            return equation, NUMBER
        arguments: list[s.Expression] = []
        for argument in right.arguments:
            found = self.conflicts.shape(argument)
            single = self._multiple(argument) if found == MATRIX else argument
            if found is None or shape is None:
                return None
            if single is None:
                self.skipped.append(Skipped(equation.span, "it draws with a matrix of covariances"))
                return None
            arguments.append(single)
        if self.conflicts.sides([left, *arguments[:1]]) is None:
            return None
        return replace(equation, sides=(left, replace(right, arguments=tuple(arguments)))), shape

    def _multiple(self, node: s.Expression) -> s.Expression | None:
        """The λ of `λ I`."""
        factors = node.factors if isinstance(node, s.Product) else (node,)
        rest = tuple(f for f in factors if not self._is_identity(f))
        if len(rest) != len(factors) - 1:
            return None
        if len(rest) > 1:
            return s.Product(rest, span=node.span)
        return rest[0] if rest else s.Number("1", span=node.span)

    def _statement(self, statement: s.Statement, shape: Shape) -> list[s.Statement]:
        with self.dimensions.inside():
            ends: Open = (self._new(shape[0]), self._new(shape[1]))
            if isinstance(statement, s.Declaration):
                return self._declaration(statement)
            if isinstance(statement, s.Claim):
                operands = tuple(self._emit(o, ends) for o in statement.comparison.operands)
                return [replace(statement, comparison=replace(statement.comparison, operands=operands))]
            assert isinstance(statement, s.Equation)
            if statement.relations == ("~",):
                return [replace(statement, sides=self._draw_sides(statement, ends))]
            last = statement.sides[-1]
            if isinstance(last, s.ListLiteral) and all(isinstance(n, s.Number | s.ListLiteral | s.Negative) for n in last.walk()):
                return [statement]
            sides = tuple(self._emit(side, ends) for side in statement.sides)
            guard = self._emit(statement.guard, (None, None)) if statement.guard is not None else None
            return [replace(statement, sides=sides, guard=guard)]

    def _draw_sides(self, equation: s.Equation, ends: Open) -> tuple[s.Expression, ...]:
        left, right = equation.sides
        if isinstance(right, s.Call) and isinstance(right.function, s.Name) and right.function.base in DISTRIBUTIONS:
            right = replace(right, arguments=tuple(
                self._emit(a, ends if self.conflicts.shape(a) != NUMBER else (None, None)) for a in right.arguments
            ))  # fmt: skip
        return (self._emit(left, ends), right)

    def _declaration(self, statement: s.Declaration) -> list[s.Statement]:
        """Vectors that nothing defines are inputs, matrices parameters."""
        if statement.keyword not in ("vector", "matrix"):
            return [statement]
        known = self.outline.defined | {r.key for r, _, _ in self.outline.draws}
        items: list[s.Expression] = []
        for item in statement.items:
            leaf = self.ranks.leaf(item)
            if leaf is None or leaf.key in known:
                continue
            missing = 0 if leaf.key in self.ranks.total else self.declared[leaf.key][0]
            letters = [self.dimensions.new() for _ in range(missing)]
            items.append(self._indexed(item, leaf.key, letters) if letters else item)
        keyword = "input" if statement.keyword == "vector" else "parameter"
        return [replace(statement, keyword=keyword, items=tuple(items))] if items else []

    # ------------------------------------------------------------------ expressions

    def _new(self, needed: int) -> int | None:
        return self.dimensions.new() if needed else None

    def _emit(self, node: s.Expression, ends: Open) -> s.Expression:
        """The expression with the indices at its ends written out."""
        leaf = self.ranks.leaf(node)
        if leaf is not None:
            return self._name(node, leaf, ends)
        if fits_all(node):
            return node
        match node:
            case s.Transpose(body=body):
                # A ⊤ on what is indexed in full says nothing, and stays.
                return self._emit(body, (ends[1], ends[0])) if ends != (None, None) else transposes.rebuilt(
                    node, lambda n: self._emit(n, ends)) if self._opaque(body) else self._emit(body, ends)  # fmt: skip
            case s.Product(factors=factors):
                return replace(node, factors=self._product(factors, ends))
            case s.Fraction(above=above, below=below):
                return replace(node, above=self._emit(above, ends), below=self._emit(below, (None, None)))
            case s.Power(base=base, exponent=exponent):
                return replace(node, base=self._emit(base, ends), exponent=self._emit(exponent, (None, None)))
            case s.Norm(body=body) | s.Reduction(operator="softmax" | "argmax" | "argmin", under=(_, *_), body=body):
                return self._closed(node, body)
            case s.Reduction(operator="softmax", body=body) if ends != (None, None):
                over = ends[1] if ends[1] is not None else ends[0]
                assert over is not None
                name = self.dimensions.name(over, node.span)
                return replace(node, under=(name,), body=self._emit(body, ends))
            case s.Join(parts=parts):
                return replace(node, parts=tuple(self._part(p) for p in parts))
            case s.ListLiteral(items=parts) if any(isinstance(n, s.Name) for n in node.walk()):
                return replace(node, items=tuple(self._part(p) for p in parts))
            case s.Comparison() | s.Conjunction():
                return transposes.rebuilt(node, lambda n: self._emit(n, (None, None)))
            case s.Call(function=s.Name(base=name)) if name not in LIKE_ITS_ARGUMENT:
                return node
            case s.Cases(branches=branches):
                return replace(node, branches=tuple(
                    (self._emit(v, ends), self._emit(c, (None, None)) if c is not None else None) for v, c in branches
                ))  # fmt: skip
        return transposes.rebuilt(node, lambda n: self._emit(n, ends))

    def _opaque(self, node: s.Expression) -> bool:
        leaf = self.ranks.leaf(node)
        return leaf is not None and isinstance(node, s.Index)

    def _part(self, node: s.Expression) -> s.Expression:
        """A part of a joined vector: a slice of its own."""
        with self.dimensions.inside():
            shape = self.conflicts.shape(node) or NUMBER
            return self._emit(node, (self._new(shape[0]), self._new(shape[1])))

    def _closed(self, node: s.Norm | s.Reduction, body: s.Expression) -> s.Expression:
        """`‖μ‖`: all elements are in there, and none is left open."""
        return replace(node, body=self._part(body))

    def _product(self, factors: tuple[s.Expression, ...], ends: Open) -> tuple[s.Expression, ...]:
        aligned = align([self.conflicts.shape(f) or NUMBER for f in factors])
        left: dict[int, int | None] = {}
        right: dict[int, int | None] = {}
        with self.dimensions.inside():
            for one, two in aligned.links:
                right[one] = left[two] = self.dimensions.new()
            if aligned.left is not None:
                left[aligned.left] = ends[0]
            if aligned.right is not None:
                right[aligned.right] = ends[1]
            return tuple(self._emit(f, (left.get(n), right.get(n))) for n, f in enumerate(factors))

    def _name(self, node: s.Expression, leaf: Leaf, ends: Open) -> s.Expression:
        call = leaf.use.call
        if call is not None:
            node = replace(call, arguments=tuple(self._part(a) for a in call.arguments))
        letters = [e for e in ends if e is not None]
        if not letters:
            return node
        if self._is_identity(node):
            dimension = self.dimensions.join(*letters)
            self.identities.setdefault(dimension, node.span)
            return s.Index(self._unit(dimension, node.span), self._letters(letters, node.span), span=node.span)
        power = leaf.use.reference.power
        if power is not None:
            return s.Power(self._indexed(_without_power(node), leaf.key, letters), power, span=node.span)
        return self._indexed(node, leaf.key, letters)

    def _indexed(self, node: s.Expression, key: str, letters: list[int]) -> s.Expression:
        for position, letter in enumerate(letters):
            self.dimensions.meet(key, position, letter, node.span)
        return s.Index(node, self._letters(letters, node.span), span=node.span)

    def _letters(self, letters: list[int], span: Span) -> tuple[s.Expression, ...]:
        return tuple(self.dimensions.name(letter, span) for letter in letters)

    # ------------------------------------------------------------------ the identity

    def _is_identity(self, node: s.Expression) -> bool:
        return self.identity and node == s.Name("I")

    def _unit(self, dimension: int, span: Span) -> s.Name:
        """`I`; or `I_{E}` for another size than the first."""
        roots = list(dict.fromkeys(self.dimensions.root(d) for d in self.identities))
        first = not roots or roots[0] == self.dimensions.root(dimension)
        word = s.Name(f"size{roots.index(self.dimensions.root(dimension)) + 1}") if not first else None
        return s.Name("I", sub=(word,) if word is not None else (), span=span)

    def _unit_matrices(self) -> list[s.Statement]:
        made: dict[int, s.Statement] = {}
        for dimension, span in list(self.identities.items()):
            root = self.dimensions.root(dimension)
            if root in made:
                continue
            row = self.dimensions.letter(root, span)
            pair = (row, replace(row, primes=row.primes + 1))
            same = s.Comparison(pair, ("=",), span=span)
            body = s.Cases(((s.Number("1", span=span), same), (s.Number("0", span=span), None)), span=span)
            left = s.Index(self._unit(root, span), pair, span=span)
            made[root] = s.Equation((left, body), ("=",), span=span)
        return list(made.values())


def _without_power(node: s.Expression) -> s.Expression:
    if isinstance(node, s.Name):
        return replace(node, sup=())
    assert isinstance(node, s.Index | s.Call)
    if isinstance(node, s.Index):
        return replace(node, base=_without_power(node.base))
    return replace(node, function=_without_power(node.function))


def _identity(statements: list[s.Statement], sketch: Outline) -> bool:
    """Whether a bare `I` is the identity: no index, no size and no name of the program is called so."""
    used = sketch.defined | sketch.bracketed | set(sketch.sizes) | sketch.naming.live
    for statement in statements:
        if isinstance(statement, s.Declaration) and any(name_key(n) == "I" for n in statement.walk() if isinstance(n, s.Name)):
            return False
        for node in statement.walk():
            if isinstance(node, s.Reduction) and node.upper is not None:
                used |= {name_key(n) for n in node.upper.walk() if isinstance(n, s.Name)}
    return "I" not in used


def _without_bare_matrices(
    statements: list[s.Statement], messages: Messages, document: bool, skipped: list[Skipped]
) -> list[s.Statement]:
    """`K = I` where nothing says that K is a matrix: left out, with the reason."""
    kept: list[s.Statement] = []
    for statement in statements:
        if not isinstance(statement, s.Equation) or not _bare_matrices(statement, statements):
            kept.append(statement)
        elif document:
            skipped.append(Skipped(statement.span, "it is matrix notation, and nothing declares the matrices"))
        else:
            messages.error(
                "matrix-notation", f"{unicode(statement)} is matrix notation, and nothing declares the matrices",
                statement.span, hint=f"write `matrix {unicode(statement.sides[0])}[D,D']` before it",
            )  # fmt: skip
    return kept


def _bare_matrices(equation: s.Equation, statements: list[s.Statement]) -> bool:
    """Only bare capitals, none of which is an index, a size or a declared name; one side is I."""
    names = [n for side in equation.sides for n in side.walk() if isinstance(n, s.Name)]
    if len(equation.sides) < 2 or not any(side == s.Name("I") for side in equation.sides[1:]):
        return False
    if any(not isinstance(n, s.Name | s.Product | s.Equation) for n in equation.walk()):
        return False
    if not all(n.bare and is_capital(n.base) for n in names):
        return False
    inside = {id(n) for n in names}
    elsewhere = {n.base for st in statements for n in st.walk() if isinstance(n, s.Name) and id(n) not in inside}
    return not elsewhere & {n.base for n in names}
