"""Which readings an expression allows, and how unlikely each of them is.

W x + b      W a matrix, x and b columns          → a column, cost 2.5
             W a matrix, x a column, b a number   → a column, cost 4.5
             W, x and b numbers                   → a number, cost 10
             …

A table has an entry for every way to give the names shapes that fits: made from the leaves upwards,
the unlikely ones dropped on the way. Where nothing fits, the entries say so by their cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from indicial.notation import syntax as s
from indicial.program.names.letters import COUNTING, OFTEN_VECTORS
from indicial.program.vectors.costs import COST
from indicial.program.vectors.kinds import BIASES, OFTEN_COLUMNS, WEIGHTS, Kinds, is_greek
from indicial.program.vectors.leaves import JOINING, TRACE, Leaf, chain, elementwise
from indicial.program.vectors.shapes import (
    COLUMN,
    MATRIX,
    NUMBER,
    ROW,
    Shape,
    differentiated,
    dotted,
    fits_all,
    flip,
    gains,
    inverted,
    ones,
    part_of,
    steps_of,
    times,
    together,
)

IMPOSSIBLE = 30.0
"""What a place costs where nothing fits."""
MOST = 60
"""How many entries a table keeps."""
NORMALISED = frozenset({"layernorm", "rmsnorm"})

OF_NUMBERS = frozenset({"exp", "ln", "log", "abs", "sqrt", "cos", "sin"})
"""Functions that are taken of numbers more often than of all elements of a vector."""

Given = dict[str, Shape]


class Entry(NamedTuple):
    cost: float
    """Of the form alone, without what the shapes of the names cost."""
    shape: Shape
    given: Given


Table = list[Entry]
Rule = Callable[[Shape, Shape], tuple[Shape, float] | None]
NOTHING: Table = [Entry(0, NUMBER, {})]


class Tables:
    """The tables of a program's expressions in one convention, of rows or of columns."""

    def __init__(self, kinds: Kinds, rows: bool) -> None:
        self.kinds = kinds
        self.loosely = kinds.outline.document
        """In prose a row may stand for the column of its elements: `o_i = q_i^⊤ S`."""
        self.turned = COST.turned
        """What that costs."""
        self.of_numbers = COST.of_numbers
        """What it costs to take the exponential of every element of a vector."""
        self.gated = COST.gated
        """What it costs to take `a · b` of two vectors element by element."""
        self.rows = rows
        self.costs = {variable: kinds.costs(variable, rows) for variable in kinds.seen}
        self.pinned: Given = {}
        """Shapes that are settled, while what cannot hold with them is looked at."""
        self.dividing = False
        """What is looked at divides something: the ε of `m / (√v + ε)` is a number."""
        self.numbered = False
        """The left side of the equation has an index of its own, besides time and layer."""

    def total(self, entry: Entry) -> float:
        return entry.cost + sum(self.costs[v][shape] for v, shape in entry.given.items())

    def best(self, table: Table) -> Table:
        if len(table) < 2:
            return table
        marked = sorted(((self.total(e), n) for n, e in enumerate(table)))
        limit = marked[0][0] + IMPOSSIBLE / 2
        return [table[n] for total, n in marked[:MOST] if total <= limit]

    # ------------------------------------------------------------------ joining

    def join(self, one: Table, two: Table, rule: Rule) -> Table:
        """The entries of two parts that fit, under a rule for their shapes."""
        return self.fitting(one, two, rule) or self.best(self._anyhow(one, two))

    def fitting(self, one: Table, two: Table, rule: Rule) -> Table:
        """The same; empty if nothing fits."""
        if two is NOTHING:
            fits = [(e, rule(e.shape, NUMBER)) for e in one]
            found = [Entry(e.cost + r[1], r[0], e.given) for e, r in fits if r is not None]
            if found:
                return found
        found = []
        results: dict[tuple[Shape, Shape], tuple[Shape, float] | None] = {}
        for a in one:
            for b in two:
                pair = a.shape, b.shape
                if pair not in results:
                    results[pair] = rule(*pair)
                result = results[pair]
                if result is None:
                    continue
                given = merged(a.given, b.given)
                if given is not None:
                    found.append(Entry(a.cost + b.cost + result[1], result[0], given))
        return self.best(found)

    def _anyhow(self, one: Table, two: Table) -> Table:
        """Nothing fits: the likeliest entries side by side, at a price."""
        found = []
        for a in one[:6]:
            for b in two[:6]:
                given = merged(a.given, b.given)
                if given is None:
                    continue
                cost = a.cost + b.cost + IMPOSSIBLE
                shapes = {b.shape if a.shape == NUMBER else a.shape}
                if a.shape == b.shape == COLUMN:  # a ⊤ is missing, on one or the other
                    shapes |= {NUMBER, MATRIX}
                found += [Entry(cost, shape, given) for shape in shapes]
        return found or [Entry(e.cost + IMPOSSIBLE, e.shape, e.given) for e in one[:6]]

    def changed(self, table: Table, change: Callable[[Shape], tuple[Shape, float] | None]) -> Table:
        found = []
        for entry in table:
            result = change(entry.shape)
            if result is not None:
                found.append(Entry(entry.cost + result[1], result[0], entry.given))
        if not found:
            return [Entry(e.cost + IMPOSSIBLE, e.shape, e.given) for e in table[:6]]
        return found

    # ------------------------------------------------------------------ expressions

    def sides(self, sides: Sequence[s.Expression]) -> Table:
        """The sides of an equation: they have one shape."""
        leaf = self.kinds.leaf(sides[0])
        items = leaf.use.reference.items if leaf is not None else ()
        letters = {n.base for i in items for n in i.every(s.Name)}
        chances = leaf is None and isinstance(sides[0], s.Call)  # `P(y | h) = softmax h^⊤ e(y)`
        self.numbered = bool(letters - self.kinds.steps) or chances
        result = self.of(sides[0])
        for number, side in enumerate(sides[1:], 1):
            literal = fits_all(side)

            def same(a: Shape, b: Shape, literal: bool = literal) -> tuple[Shape, float] | None:
                if {a, b} == {COLUMN, ROW} and self.loosely:
                    return a, self.turned
                return (a, 0) if a == b or (literal and b == NUMBER) else None

            other = self.of(side)
            result = self.fitting(result, other, same) or self.torn(
                partial(self.sides, sides[:number]), partial(self.of, side), result, other, same
            )
        return result

    def torn(
        self, again: Callable[[], Table], another: Callable[[], Table],
        one: Table, two: Table, rule: Rule,
    ) -> Table:  # fmt: skip
        """Two parts that say two things of one name: each is read anew as the other has it."""
        outer = self.pinned
        self.pinned = outer | one[0].given
        first = self.join(one[:1], another(), rule)
        self.pinned = outer | two[0].given
        second = self.join(again(), two[:1], rule)
        self.pinned = outer
        return self.best([*first, *second])

    def of(self, node: s.Expression) -> Table:
        leaf = self.kinds.leaf(node)
        if leaf is not None:
            return self._leaf(node)
        if derivatives := chain(node):
            return self._chain(derivatives)
        match node:
            case s.Group(body=body) | s.Negative(body=body) | s.Expectation(body=body):
                return self.of(body)
            case s.Transpose(body=body):
                odd = 3 * IMPOSSIBLE if self.kinds.leaf(s.inner(body)) else COST.transpose
                return self.changed(self.of(body), lambda x: (flip(x), odd if x == NUMBER else 0))
            case s.Add(terms=parts):
                return self._same(parts, 0)
            case s.Hadamard(factors=parts):
                # A cross between numbers is nothing odd: `1 / (H × W)`.
                return self._same(
                    parts, COST.gate, 0 if "\\times" in node.span.text else COST.gates
                )
            case s.Product(factors=factors):
                return self._product(node, factors)
            case s.Fraction(above=above, below=below):
                over, self.dividing = self.of(above), True
                under, self.dividing = self.of(below), False
                return self.join(over, under, self._divided(above, below))
            case s.Power(base=base, exponent=exponent):
                gate = isinstance(s.inner(base), s.Call) and elementwise(s.inner(base))
                rule = (lambda x: (x, 0.0)) if gate else partial(_raised, exponent)
                powered = self.changed(self.of(base), rule)  # `σ(W x)^{1/τ}`
                number = self.of(exponent)
                return self.join(powered, number, lambda a, b: (a, 0) if b == NUMBER else None)
            case s.Norm(body=body):
                odd = COST.norm_of_number
                return self.changed(self.of(body), lambda x: (NUMBER, odd if x == NUMBER else 0))
            case s.Reduction():
                return self._reduction(node)
            case s.Index(base=base, items=items):
                return self.changed(self.of(base), lambda x: _element(x, items))
            case s.Join(parts=parts):
                return self._joined(parts)
            case s.ListLiteral(items=parts):
                if any(isinstance(p, s.ListLiteral) for p in parts):
                    return [Entry(0, MATRIX, {})]
                return self._joined(parts)
            case s.Cases(branches=branches):
                result = self._same([value for value, _ in branches], 0)
                for condition in (c for _, c in branches if c is not None):
                    result = self.join(result, self.of(condition), lambda a, b: (a, 0))
                return result
            case s.TupleLiteral(items=(one, two)) if node.inner:
                return self.join(
                    self.of(one),
                    self.of(two),
                    lambda a, b: (
                        (NUMBER, COST.norm_of_number if a == NUMBER else 0) if a == b else None
                    ),
                )
            case s.Call():
                return self._call(node)
            case (
                s.Comparison(operands=parts)
                | s.Conjunction(parts=parts)
                | s.Disjunction(parts=parts)
            ):
                return self._aside(parts)
            case s.Negation(body=body):
                return self._aside([body])
        return NOTHING

    def _leaf(self, node: s.Expression) -> Table:
        leaf = self.kinds.leaf(node)
        assert leaf is not None
        fixed = self.kinds.fixed(leaf)
        if fixed is not None:
            table = [Entry(0, fixed, {})]
        elif leaf.base.ends:
            table = self._derivative(leaf)
        else:
            variable = self.kinds.variable(leaf)
            settled = self.pinned.get(variable)
            shapes = self.costs[variable] if settled is None else (settled,)
            table = [Entry(0, shape, {variable: shape}) for shape in shapes]
        if leaf.use.reference.power is not None:
            table = self.changed(table, partial(_raised, leaf.use.reference.power))
        for argument in leaf.use.call.arguments if leaf.use.call is not None else ():
            table = self.join(table, self.of(argument), lambda a, b: (a, 0))
        return self.best(table)

    def _derivative(self, leaf: Leaf) -> Table:
        """`∂h/∂x`, by the shapes of h and x."""
        variable = self.kinds.variable(leaf)
        above, below = leaf.base.ends
        settled = self.pinned.get(variable)
        found = [
            Entry(a.cost + b.cost + odd, shape, given | {variable: shape})
            for a in self.of(above)
            for b in self.of(below)
            if (given := merged(a.given, b.given)) is not None
            for shape, odd in differentiated(a.shape, b.shape, above.stem == below.stem)
            if settled in (None, shape)
        ]
        return self.best(found) or [Entry(IMPOSSIBLE, NUMBER, {})]

    def _chain(self, derivatives: Sequence[s.Name]) -> Table:
        """`∂L/∂h ∂h/∂W`: whatever h is, it is summed over."""
        first = derivatives[0].ends
        numbers = len(first) == 1
        above = NOTHING if numbers else self.of(first[0])
        found = [(entry, entry.shape) for entry in above]  # with the shape of the last end
        for derivative in derivatives:
            found = [
                (Entry(a.cost + b.cost + odd, a.shape, given), b.shape)
                for a, last in found
                for b in self.of(derivative.ends[-1])
                if (given := merged(a.given, b.given)) is not None
                for odd in [0.0 if len(derivative.ends) == 1 else _unlike(last, b.shape)]
            ]
            found.sort(key=lambda one: self.total(one[0]))
            found = found[:MOST]
        ends = [(a, next(iter(differentiated(a.shape, last)), None)) for a, last in found]
        fits = [Entry(a.cost, end[0], a.given) for a, end in ends if end is not None]
        return self.best(fits) or [Entry(IMPOSSIBLE, NUMBER, {})]

    def _aside(self, parts: Sequence[s.Expression]) -> Table:
        """Parts that need not fit each other, of something that is a number; vectors are seldom compared."""
        result = NOTHING
        for part in parts:
            result = self.join(
                self.of(part), result, lambda a, b: (NUMBER, 0 if a == NUMBER else COST.compared)
            )
        return result

    def _same(self, parts: Sequence[s.Expression], alone: float, numbers: float = 0) -> Table:
        """Terms of a sum, or factors of ⊙: alike, up to what goes with every element or row.

        `alone` is what it costs if one is a number, `numbers` if all are.
        """
        result = self.of(parts[0])
        odd = COST.one_letter if self._one_letter(parts) else 0.0
        # `G_{t-1} + g_t^2`: names alone, and none of them a bias, are alike.
        leaves = [self.kinds.leaf(s.unsigned(part)) for part in parts]
        plain = not alone and not any(leaf is None or leaf.letter in BIASES for leaf in leaves)
        alike = len({letter for part in parts for letter in self._letters(part)}) == 1
        weight = max(odd, self.loose(parts[0], added=True))
        begins = isinstance(parts[0], s.Product)
        for part in parts[1:]:
            here = max(odd, self.loose(part, added=True))

            def rule(
                a: Shape,
                b: Shape,
                first: float = weight,
                second: float = here,
                last: s.Expression = part,
            ) -> tuple[Shape, float] | None:
                shape = together(a, b)
                if shape is None:
                    return None
                if a == b:
                    return shape, numbers if a == NUMBER else 0
                if NUMBER in (a, b):
                    return shape, alone + (first if a == NUMBER else second)
                row = ROW in (a, b)
                # A bias goes with every row; a gate has the shape of what it weighs, and so has a change.
                changes = isinstance(last, s.Product) if b in (ROW, COLUMN) else begins
                change = plain or alike or (changes and MATRIX in (a, b))
                odd = COST.change if change else COST.bias if row == self.rows else COST.across
                return shape, odd + min(alone, 1)

            result = self.join(result, self.of(part), rule)
            weight = max(weight, here)
        return result

    def _letters(self, node: s.Expression) -> set[str]:
        """The letters that something is computed of: the h of `dh ⊙ (1 - h^2)`, twice."""
        return {leaf.letter for n in self.kinds.values(node) if (leaf := self.kinds.leaf(n))}

    def _one_letter(self, parts: Sequence[s.Expression]) -> bool:
        """`y - ŷ`, `x - x'`: they are alike; but `x̄` may be the mean of all elements of x."""
        bare = [p.body if isinstance(p, s.Negative) else p for p in parts]
        leaves = [self.kinds.leaf(p) for p in bare]
        known = {leaf.letter for leaf in leaves if leaf is not None}
        barred = any(leaf is not None and "bar" in leaf.base.accents for leaf in leaves)
        return None not in leaves and len(known) == 1 and not barred

    def loose(self, node: s.Expression, added: bool = False) -> float:
        """How odd it is for this to be a number that stands beside vectors."""
        if fits_all(node):
            return 0
        node = s.unsigned(node)
        leaf = self.kinds.leaf(node)
        if s.is_condition(node):
            return 0  # `h_t [s_t ≠ 0]`: it is 1 or 0
        if leaf is None:
            if isinstance(node, s.Fraction):
                return self.loose(node.above)
            if isinstance(node, s.Call) and elementwise(node):
                return min(COST.call, self.loose(node.arguments[0]))
            inner = isinstance(node, s.Product) and self._inner(node)
            if added and (inner or isinstance(node, s.Norm) or _is_power_of_norm(node)):
                return (
                    COST.norm_added
                )  # `S_t + ‖g‖^2`, `b + w^⊤ x`: what it is added to is a number
            if inner or isinstance(node, s.Norm | s.Reduction) or not self._has_letters(node):
                return COST.norm
            return COST.product if isinstance(node, s.Product) else COST.other
        if self.kinds.fixed(leaf) == NUMBER:
            return COST.size
        if is_greek(leaf.letter) and (not leaf.capital or leaf.letter == "Δ"):
            seen = self.kinds.seen.get(self.kinds.variable(leaf))
            said = seen is not None and "number" in seen.told
            plainly = self.kinds.in_bold or self.dividing or said
            return COST.greek_added if added and not plainly else COST.greek
        if self.kinds.in_bold and leaf.base.font in ("", "roman"):
            seen = self.kinds.seen.get(self.kinds.variable(leaf))
            return COST.plain_bias if seen is not None and seen.biases else COST.plain
        if len(leaf.use.reference.items) > 1:
            return COST.element_added if added else COST.element
        return COST.capital if leaf.capital else COST.small

    def _inner(self, node: s.Product) -> bool:
        """`k^⊤ q`, `a · b`: two vectors that make a number."""
        dots = dotted(node) if len(node.factors) == 2 else ()
        return isinstance(node.factors[0], s.Transpose) or (
            bool(dots) and all(map(self._is_small, node.factors))
        )

    def _often_vectors(self, *factors: s.Expression) -> bool:
        """Whether these are different letters, `q` and `k_+`, that stand for vectors more often than not."""
        leaves = [self.kinds.leaf(factor) for factor in factors]
        letters = {leaf.letter for leaf in leaves if leaf is not None}
        return len(letters) == len(factors) and letters <= OFTEN_VECTORS

    def _has_letters(self, node: s.Expression) -> bool:
        leaves = [leaf for n in self.kinds.values(node) if (leaf := self.kinds.leaf(n))]
        return any(not is_greek(x.letter) and self.kinds.fixed(x) is None for x in leaves)

    def _product(self, node: s.Product, factors: Sequence[s.Expression]) -> Table:
        dots, gained = dotted(node), gains(node)
        result = self._factor(factors[0])
        small = not any(map(self._is_capital, factors))

        def looseness(factor: s.Expression) -> float:
            # The y_i of `Σ_i α_i y_i x_i`; not the f_i of `Σ_i f_i P_i`.
            found = self.loose(factor)
            return min(found, COST.numbered) if small and self._numbered(factor) else found

        weight = looseness(factors[0])
        capital = self._capital(factors[0])
        for number, factor in enumerate(factors[1:], 1):
            here, dot, gain = looseness(factor), number in dots, number in gained
            known = self.kinds.leaf(factors[number - 1])
            if known is not None and known.key in self.kinds.declared:
                here = min(here, COST.numbered)  # the x_k of `B x_k`, where B ∈ ℝ^{N×1}
            turned = isinstance(s.inner(factor), s.Transpose)
            before = s.inner(factors[number - 1])
            # `k_t^⊤ v_t` may be an outer product of rows, `q_i^⊤ k_j` is none.
            first_turned = isinstance(before, s.Transpose) and not _at_two(before.body, factor)
            vectors = dot and all(map(self._is_small, factors[number - 1 : number + 1]))
            weighs = self._weight(factors[number - 1]) and self.kinds.leaf(factor) is not None
            beside = capital or self._capital(factor)
            both = all(map(self._is_capital, factors[number - 1 : number + 1]))
            attends = isinstance(before, s.Reduction) and self._is_capital(factor)
            # A row and a column that one Σ numbers, `Σ_i f_i P_i`: numbers, more likely than not.
            odd = (
                COST.pair if self._numbered(factors[number - 1]) and self._numbered(factor) else 0.0
            )
            # `s_i · h_j`, `q · k` are no numbers, more likely than not.
            pair = factors[number - 1 : number + 1]
            apart = COST.apart if dot and (_at_two(*pair) or self._often_vectors(*pair)) else 0.0
            # Nor is the x of `x W_Q`.
            passed = COST.passed if self._often_vectors(pair[0]) and self._weight(factor) else 0.0
            late = COST.late if self._late(factor) else 0.0

            def rule(
                a: Shape, b: Shape, first: float = weight, second: float = here, odd: float = odd,
                dot: bool = dot, gain: bool = gain, beside: bool = beside, apart: float = apart,
                turned: bool = turned, late: float = late, weighs: bool = weighs, both: bool = both,
                attends: bool = attends, first_turned: bool = first_turned,
                vectors: bool = vectors, passed: float = passed,
            ) -> tuple[Shape, float] | None:  # fmt: skip
                shape = times(a, b, dot, gain)
                if shape is None:
                    return None
                if a == b == NUMBER:
                    # A capital times something is no number unless something shows it.
                    odd_one = weighs or (beside and min(first, second) >= 2)
                    return shape, COST.numbers if odd_one else apart
                if a == NUMBER:
                    return shape, COST.before * first + (passed if b == MATRIX else 0)
                if b == NUMBER:
                    return shape, COST.behind * second + (late if a == MATRIX else 0)
                if (a, b) == (COLUMN, ROW) and not turned:
                    # An outer product, without the ⊤ that shows it.
                    return shape, COST.outer_turned if first_turned else COST.outer
                if vectors and MATRIX in (a, b):
                    return shape, COST.dot  # a dot between small letters is one of vectors
                if (a, b) == (MATRIX, COLUMN) and attends:
                    return shape, COST.attended  # the V_j of `softmax(Q_j K_j^⊤) V_j`
                if (a, b) == (COLUMN, ROW) and both:
                    return (
                        shape,
                        COST.heads,
                    )  # `Q_j K_j^⊤` are matrices of one head, more likely than not
                inner = dot and a == b
                alike = a == ROW or (inner and not apart)
                return shape, (COST.inner if inner else 0) + (odd if alike else 0)

            table = self._factor(factor)
            gates = self.fitting(result, table, self._gate) if dot else []
            result = self.join(result, table, rule)
            result = self.best([*result, *gates]) if gates else result
            weight, capital = max(weight, here), beside
        return result

    def _gate(self, a: Shape, b: Shape) -> tuple[Shape, float] | None:
        """`o_t · tanh(c_t)` of two columns: a column, if the equation wants one."""
        return (a, self.gated) if a == b and a in (COLUMN, ROW) else None

    def _late(self, node: s.Expression) -> bool:
        """A number stands before a matrix: the θ of `X θ` is a column, and so is the x of `W x`."""
        leaf = self.kinds.leaf(node)
        if leaf is None or leaf.capital is not False or self.kinds.fixed(leaf) is not None:
            return False
        return not is_greek(leaf.letter) or leaf.letter in OFTEN_COLUMNS

    def _factor(self, node: s.Expression) -> Table:
        """A factor; the `\\mathbf 1` of a product is a vector, of whatever size fits."""
        shapes = ones(node)
        return [Entry(0.1 * n, x, {}) for n, x in enumerate(shapes)] if shapes else self.of(node)

    def _numbered(self, node: s.Expression) -> bool:
        """A plain name with one index that is no step: `f_i`."""
        leaf = self.kinds.leaf(node)
        seen = self.kinds.seen.get(self.kinds.variable(leaf)) if leaf is not None else None
        return seen is not None and not seen.bold and bool(seen.positions) and seen.most == 1

    def _capital(self, node: s.Expression) -> bool:
        """A capital that is numbered by nothing: the P_i of `Σ_i f_i P_i` may well be a number."""
        leaf = self.kinds.leaf(node)
        if leaf is None or not leaf.capital or self.kinds.fixed(leaf) is not None:
            return False
        if leaf.key in self.kinds.declared:
            return False
        seen = self.kinds.seen.get(self.kinds.variable(leaf))
        if seen is not None and seen.letter in WEIGHTS:
            return seen.most < 2  # `W_{ij}` is an element
        return seen is None or not (seen.positions or seen.figure)

    def _is_capital(self, node: s.Expression) -> bool:
        leaf = self.kinds.leaf(node.body if isinstance(node, s.Transpose) else node)
        return leaf is not None and bool(leaf.capital)

    def _is_small(self, node: s.Expression) -> bool:
        terms = s.terms(s.inner(s.unsigned(node)))  # the `b + c` of `a · (b + c)` too
        leaves = [self.kinds.leaf(f) for term in terms for f in s.factors(s.unsigned(term))]
        return all(leaf is not None and leaf.capital is False for leaf in leaves)

    def _weight(self, node: s.Expression) -> bool:
        """The W_z of `W_z x_t`: with a label, and no element of anything."""
        leaf = self.kinds.leaf(node)
        return (
            leaf is not None
            and leaf.letter in WEIGHTS
            and bool(leaf.base.sub)
            and len(leaf.use.reference.items) < 2
            and self._capital(node)
        )

    def _divided(self, above: s.Expression, below: s.Expression) -> Rule:
        elements = divides(below, self.kinds)
        # `m_t / (√v_t + ε)`: what is numbered alike is alike.
        roots = (call.arguments[0] for call in below.every(s.Call) if call.word == "sqrt")
        terms = [term for root in roots for term in s.terms(s.inner(root)) if self.kinds.leaf(term)]
        under = {place for term in terms for place in self._places(term)}
        alike = elements and bool(set(self._places(above)) & under)

        def rule(a: Shape, b: Shape) -> tuple[Shape, float] | None:
            if b == NUMBER:
                return a, COST.alike if alike and a != NUMBER else 0
            if not elements or a not in (b, NUMBER):
                return None
            return b, (COST.alike if a == NUMBER else 0) if alike else COST.divided

        return rule

    def _places(self, node: s.Expression) -> Iterator[tuple[s.Expression, ...]]:
        """The indices of each name in an expression that has any."""
        for name in self.kinds.values(node):
            leaf = self.kinds.leaf(name)
            if leaf is not None and leaf.use.reference.items:
                yield leaf.use.reference.items

    def _reduction(self, node: s.Reduction) -> Table:
        body = self.of(node.body)
        if node.operator == "softmax" and not node.under:
            odd = COST.softmax_numbered if self.numbered else COST.softmax
            return self.changed(body, lambda x: (x, odd if x == NUMBER else 0))
        if node.operator in ("softmax", "argmax", "argmin") and node.under:
            return self.changed(body, lambda x: (NUMBER, 0) if x == NUMBER else None)
        if node.under:
            return body
        return self.changed(body, lambda x: (NUMBER, COST.total if x == NUMBER else 0))

    def _joined(self, parts: Sequence[s.Expression]) -> Table:
        """`[a; b]`: of columns a longer column, of matrices one with more columns."""
        kept = [p for p in parts if not isinstance(p, s.Dots)]
        # A long list is rather one of numbers: `[x, y, w, h]`.
        share = 2 / max(2, len(kept))
        odd = 0 if all(fits_all(p) for p in kept) else COST.joined * share

        def first(x: Shape) -> tuple[Shape, float]:
            return (COLUMN, odd) if x == NUMBER else (x, 0)

        def rule(a: Shape, b: Shape) -> tuple[Shape, float] | None:
            if b == NUMBER:
                return (a, odd) if a == COLUMN else None
            return (a, 0) if a == b else None

        result = self.changed(self.of(kept[0]), first)
        for part in kept[1:]:
            result = self.join(result, self.of(part), rule)
        return result

    def _call(self, node: s.Call) -> Table:
        name = node.word
        if not node.arguments or node.given is not None:
            return NOTHING
        if name in NORMALISED:
            odd = COST.normalised
            return self.changed(
                self.of(node.arguments[0]), lambda x: (x, odd if x == NUMBER else 0)
            )
        if elementwise(node):
            odd = self.of_numbers if name in OF_NUMBERS and not self.kinds.in_bold else 0.0
            if name == "exp" and inverted(node.arguments[0], self.kinds.statements):
                odd = 0.0  # that of a matrix
            table = self._same(node.arguments, 0)
            return self.changed(table, lambda x: (x, odd if x != NUMBER else 0))
        if name in JOINING:
            return self._joined(node.arguments)
        if name in ("diag", "Diag") and len(node.arguments) == 1:
            return self.changed(self.of(node.arguments[0]), _diagonal)
        if name in TRACE and len(node.arguments) == 1:
            return self.changed(
                self.of(node.arguments[0]), lambda x: (NUMBER, 0) if x == MATRIX else None
            )
        return NOTHING


def _is_power_of_norm(node: s.Expression) -> bool:
    return isinstance(node, s.Power) and isinstance(s.inner(node.base), s.Norm)


def _unlike(one: Shape, two: Shape) -> float:
    """How odd it is to differentiate a vector by a number in the midst of a chain, or the other way round."""
    return COST.chain if one != two and NUMBER in (one, two) else 0.0


def merged(one: Given, two: Given) -> Given | None:
    """Both together, unless they say two things of one name."""
    if not two:
        return one
    if not one:
        return two
    for variable, shape in two.items():
        if one.get(variable, shape) != shape:
            return None
    return one | two


def _at_two(one: s.Expression, two: s.Expression) -> bool:
    """Whether two names stand at two places, `s_i` and `h_j`."""
    names = [n for n in (one, two) if isinstance(n, s.Name) and len(n.sub) == 1]
    return len(names) == 2 and names[0].sub != names[1].sub


def divides(below: s.Expression, kinds: Kinds) -> bool:
    """`√v + ε` divides element by element, a bold letter too; a plain vector below a bar is a slip.

    So is a product of plain letters, the `M N_k` of `N_{k+1} / (M N_k)`.
    """
    below = s.inner(below)
    factors = s.factors(below)
    leaves = [leaf for factor in factors if (leaf := kinds.leaf(factor)) is not None]
    if len(leaves) == len(factors):
        return any(leaf.base.font == "bold" for leaf in leaves)
    parts = [f for term in s.terms(below) for f in s.factors(term) if not fits_all(f)]
    return not all(_plain(kinds.leaf(part)) for part in parts)  # `P R / (P + λ R)`


def _plain(leaf: Leaf | None) -> bool:
    return leaf is not None and not leaf.base.font and (bool(leaf.capital) or is_greek(leaf.letter))


def _raised(exponent: s.Expression, shape: Shape) -> tuple[Shape, float]:
    inverse = isinstance(exponent, s.Negative) or steps_of(exponent) is not None
    # The `h^{t-1}` of a vector is one of its steps, more likely than not.
    stepped = any(n.base in COUNTING for n in exponent.every(s.Name))
    column = COST.step_above if stepped else COST.squares
    return shape, {NUMBER: 0.0, MATRIX: COST.inverse if inverse else COST.power}.get(shape, column)


def _element(shape: Shape, items: tuple[s.Expression, ...]) -> tuple[Shape, float] | None:
    part = part_of(shape, items)
    return None if part is None else (part, 0)


def _diagonal(shape: Shape) -> tuple[Shape, float] | None:
    if shape == MATRIX:
        return COLUMN, COST.diagonal
    return (MATRIX, 0) if shape != NUMBER else None
