"""Vector style becomes index notation, before anything else is decided.

    c = Σ_i v_i α_i      →  c[d] = Σ_i v_i[d] α_i
    α_i = k_i^⊤ q        →  α_i = k_i[D] q[D]                     summed over D
    V = u_b u_b^⊤        →  V[d,d'] = u_b[d] u_b[d']
    y = V x_1            →  y[d] = V[d,D] x_1[D]
    K = I                →  K[d,d'] = I[d,d'], where I[d,d'] = 1 if d = d', else 0

What each name is (a number, a column, a row, a matrix) is inferred from the whole program: `kinds.py`
has the evidence, `tables.py` what products and sums allow, `search.py` the choice. The result is a
rewriting of equations that keeps their places, so that what follows checks, runs and explains vector
style like anything else. Programs in index notation are not touched (`style.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from indicial.notation import syntax as s
from indicial.notation.faults import Skipped
from indicial.notation.printers import unicode
from indicial.notation.source import Span
from indicial.notation.vocabulary import CALLED, SEEN, SPACE, TOLD
from indicial.program.messages import Message, Messages
from indicial.program.names import inverses
from indicial.program.names.letters import COUNTING, MATRICES, OFTEN_VECTORS, shifted
from indicial.program.names.outline import DISTRIBUTIONS
from indicial.program.names.sorting import outline, parted
from indicial.program.vectors import above, regular
from indicial.program.vectors.conflicts import Conflicts, Outside
from indicial.program.vectors.costs import COST, NEVER
from indicial.program.vectors.declared import Declared
from indicial.program.vectors.dimensions import Dimensions
from indicial.program.vectors.emission import Emission
from indicial.program.vectors.functions import heads, unfolded
from indicial.program.vectors.gates import fitting, with_gates
from indicial.program.vectors.kinds import (
    CAPITAL_COLUMNS,
    COUNTS,
    WEIGHTS,
    Kinds,
    values_of,
)
from indicial.program.vectors.labels import labelled
from indicial.program.vectors.leaves import Leaf, chained, full_counts, in_parts
from indicial.program.vectors.made import CLOSED, Open
from indicial.program.vectors.matrices import (
    draws_with_identity,
    has_identity,
    multiple,
    sized_identities,
    without_bare_matrices,
)
from indicial.program.vectors.search import Reading, solve
from indicial.program.vectors.shapes import COLUMN, KINDS, MATRIX, NUMBER, ROW, Mismatch, Shape
from indicial.program.vectors.spelling import (
    at_letters,
    bold_alike,
    distributions,
    kronecker,
    softmaxes,
    spelt_alike,
    told_apart,
)
from indicial.program.vectors.style import in_vector_style
from indicial.program.vectors.sums import summed
from indicial.program.vectors.tables import IMPOSSIBLE
from indicial.program.vectors.unwritten import (
    exponentials,
    juxtaposed,
    listed,
    spelt_out,
)

_RELATIONS = re.compile(
    r"orthogonal|orthonormal|unit (?:vector|norm|length)|length (?:1|one)|symmetric|diagonal|"
    r"invertible|normali[sz]ed|zero mean|cent(?:er|re)d|independent",
    re.IGNORECASE,
)
"""Words for what a step with vectors may use and no equation says."""


UNLIKELY = "no reading of it is likely"
"""Why most of what is too odd is left out."""


@dataclass(frozen=True)
class Decision:
    """What a name was taken for, and why."""

    names: tuple[str, ...]
    kind: str
    reason: str


@dataclass
class Rewritten:
    """A program in index notation, with what was decided on the way."""

    statements: list[s.Statement]
    convention: str = ""
    """`columns: W x` or `rows: X W`; empty if nothing was in vector style."""
    decisions: list[Decision] = field(default_factory=list)
    related: bool = False
    """It has vectors that the prose may say something of: `u_a`, `u_b` of one letter, "orthogonal"."""


def rewrite(
    statements: list[s.Statement],
    messages: Messages,
    document: bool,
    skipped: list[Skipped],
    prose: frozenset[Span] = frozenset(),
) -> Rewritten:
    """The statements in index notation; what cannot be said in it is skipped or reported.

    `prose` says which of them stand in prose: of a program no reading is too odd.
    """
    statements = listed(regular.lists(softmaxes(sized_identities(statements))))
    statements = kronecker([summed(statement) for statement in statements])
    if document:
        statements = above.without_brackets(bold_alike(statements))
        statements = at_letters(above.summed_above(above.beside_labels(statements)))
    turned = regular.transposed(exponentials(distributions(statements)))
    vectors = in_vector_style(turned) or (document and any(map(draws_with_identity, turned)))
    if not vectors:
        statements = above.counted(statements) if document else statements
        seen, plain = parted(statements)
        kept = without_bare_matrices(list(plain), messages, document, skipped)
        return Rewritten([*kept, *seen])
    turned = spelt_out(turned)
    rewriting = _begun(turned, messages, document, skipped, prose)
    elementwise = juxtaposed(turned, beside=True)
    if elementwise != turned and rewriting.small():
        # Matrices that come out as numbers: ⊙ stands in one product and is left out in another.
        other = _begun(elementwise, messages, document, skipped, prose)
        rewriting = rewriting if other.small() else other
    result = inverses.regular(rewriting.statements(), messages)
    return Rewritten(
        result, rewriting.reading.convention, rewriting.decisions(), rewriting.related()
    )


def _begun(
    statements: list[s.Statement],
    messages: Messages,
    document: bool,
    skipped: list[Skipped],
    prose: frozenset[Span],
) -> _Rewriting:
    """The statements made regular, with the kinds of their names inferred."""
    made = spelt_alike(heads(above.raised(told_apart(statements))))
    made = chained(unfolded(regular.factors(made)))
    if document:
        made = labelled(made, messages)
    return _Rewriting(made, messages, document, skipped, prose)


class _Rewriting:
    """One program on its way from vector style to index notation."""

    def __init__(
        self,
        statements: list[s.Statement],
        messages: Messages,
        document: bool,
        skipped: list[Skipped],
        prose: frozenset[Span],
    ) -> None:
        self.written = statements
        self.prose = prose
        self.messages = messages
        self.skipped = skipped
        self.document = document
        self.outline = outline(statements, Messages(), document)
        self.kinds = Kinds(self.outline, statements)
        self.dimensions = Dimensions(statements)
        self.conflicts = Conflicts(self.kinds, messages)
        self.identity = identity = has_identity(statements, self.outline)
        self.emission = Emission(self.kinds, self.conflicts, self.dimensions, identity)
        self.emission.ends_of_sums = dict(_ends_of_sums(statements))
        equations = [x for x in statements if isinstance(x, s.Equation) and not self._own(x)]
        self.kinds.total = full_counts(self.outline, equations)
        self.kinds.batches = in_parts(self.outline, equations) & {*self.kinds.total}
        self.declared = Declared(self.kinds, self.dimensions, statements, identity).ranks
        declared = (k for k, costs in self.kinds.declared.items() if costs.keys() == {MATRIX})
        self.kinds.batches |= {key for key in declared if key[:1] in OFTEN_VECTORS}
        self.reading = self._solved([x for st in statements for x in self._alike(st)])
        self.kinds.chosen = self.reading.given
        self.written = [self._with_gates(statement) for statement in statements]

    def _with_gates(self, statement: s.Statement) -> s.Statement:
        if not isinstance(statement, s.Equation) or self._own(statement) or statement.draws:
            return statement
        sides = tuple(with_gates(self.kinds, statement.sides))
        return statement if sides == statement.sides else replace(statement, sides=sides)

    def _solved(self, equations: list[list[s.Expression]]) -> Reading:
        """The best reading; if names of one letter cannot all be alike, one where they need not."""
        self.kinds.survey()
        reading = solve(self.kinds, equations)
        if self._mixed(reading):
            self.kinds.in_bold = False
            reading = solve(self.kinds, equations)
        fits = reading.cost < IMPOSSIBLE and self._holds(reading, equations)
        if fits and reading.oddest < COST.odd:
            return reading
        self.kinds.apart = {seen.letter for seen in self.kinds.seen.values()}
        self.kinds.survey()
        other = solve(self.kinds, equations)
        better = other.cost < reading.cost - IMPOSSIBLE / 2 or self._holds(other, equations)
        if better and (not fits or (other.oddest < COST.odd and not self._unlikely(other))):
            return other
        self.kinds.apart = set()
        self.kinds.survey()
        return reading

    def _unlikely(self, reading: Reading) -> bool:
        """Whether what has the letter of a weight, and multiplies something, came out as no matrix."""
        seen = ((self.kinds.seen[v], shape) for v, shape in reading.given.items())
        return any(x.letter in WEIGHTS and x.product and shape != MATRIX for x, shape in seen)

    def _mixed(self, reading: Reading) -> bool:
        """Whether vectors are set plain beside bold ones: `f_t ⊙ \\mathbf c_{t-1}`.

        Then a plain letter may be a vector anywhere, as the b_f of `W \\mathbf x_t + b_f`.
        """
        if not self.kinds.in_bold:
            return False
        for leaf, _ in self.kinds.leaves(*self.written):  # the k of `(\\mathbf S k - v)_a k_b`
            small = leaf.capital is False and leaf.base.font != "bold"
            if small and self.kinds.fixed(leaf) in (COLUMN, ROW):
                return True
        return any(
            reading.given.get(variable) in (COLUMN, ROW)
            for variable, seen in self.kinds.seen.items()
            if variable not in self.kinds.declared
            and not (seen.bold or seen.biases)
            and seen.capital is False
        )

    def _holds(self, reading: Reading, equations: list[list[s.Expression]]) -> bool:
        """Whether every equation fits a reading."""
        self.kinds.chosen = reading.given
        return all(fitting(self.kinds, with_gates(self.kinds, sides)) for sides in equations)

    def _alike(self, statement: s.Statement) -> list[list[s.Expression]]:
        """What must have one shape: the sides of an equation or claim, a draw and its mean."""
        if isinstance(statement, s.Equation) and self._own(statement):
            return [[side] for side in statement.sides[1:]]
        sides = list(values_of(statement))
        drawn = isinstance(statement, s.Equation) and statement.draws
        groups = [sides[:2], *([x] for x in sides[2:])] if drawn else [sides]
        return [group for group in groups if group]

    def related(self) -> bool:
        """Whether steps may use what the prose says of vectors."""
        for variable, seen in self.kinds.seen.items():
            shape = self.kinds.chosen.get(variable, NUMBER)
            if shape in (COLUMN, ROW) and len(seen.keys) > 1:
                return True
        texts = {st.span.source.text for st in self.written}
        return any(_RELATIONS.search(text) for text in texts)

    def small(self) -> bool:
        """Whether letters that people keep for matrices came out as numbers or rows."""
        return any(
            self.kinds.chosen.get(variable) in (NUMBER, ROW)
            for variable, seen in self.kinds.seen.items()
            if any(key[:1] in MATRICES for key in seen.keys)
        )

    def decisions(self) -> list[Decision]:
        """What was inferred, by name."""
        found: dict[tuple[str, str], list[str]] = {}
        for variable, seen in self.kinds.seen.items():
            shape = self.kinds.chosen.get(variable)
            if shape is not None:
                what = KINDS[shape], self.kinds.reason(variable)
                found.setdefault(what, []).extend(sorted(seen.keys))
        return [Decision(tuple(names), *what) for what, names in found.items()]

    # ------------------------------------------------------------------ statements

    def statements(self) -> list[s.Statement]:
        """Twice: which indices have one size shows only when everything has been looked through."""
        sound = [x for x in (self._understood(st) for st in self.written) if x is not None]
        sound = [x for x in sound if self._said(*x)]
        self.dimensions.settle(self.messages)
        self.emission.restart()
        self.conflicts.messages = Messages()
        result = [st for x in sound for st in self._statement(*x)]
        if len(sound) < len(self.written):
            result = _without_unused(result)
        return [*result, *self.emission.made.values(), *self.emission.unit_matrices()]

    def _said(self, statement: s.Statement, shape: Shape) -> bool:
        """Whether index notation has words for all of a statement; if not, that is noted."""
        try:
            self._statement(statement, shape)
        except Outside as reason:
            if not self.document:
                raise
            self.skipped.append(Skipped(statement.span, str(reason)))
            return False
        return True

    def _understood(self, statement: s.Statement) -> tuple[s.Statement, Shape] | None:
        """A statement that can be written in index notation, and its shape."""
        found: tuple[s.Statement, Shape] | None = None
        if self._in_doubt(statement):
            return None
        said = self.conflicts.messages = Messages()
        try:
            found = self._sound(statement)
        except Outside as reason:
            if self.document:
                self.skipped.append(Skipped(statement.span, str(reason)))
                return None
            said.error("outside", f"this is not read: {reason}", statement.span)
        doubtful = [m for m in said.items if self.document and not self._certain(m, statement)]
        if doubtful:
            self.skipped.append(Skipped(statement.span, doubtful[0].text))
            return None
        self.messages.items += said.items
        if found is not None and not said.items and self._shrunk(statement, (COLUMN, ROW)):
            return None
        return found

    def _in_doubt(self, statement: s.Statement) -> bool:
        """Two readings that are about as likely: neither is taken, and both are shown."""
        kinds = self.kinds
        leaves = [found for found in kinds.leaves(statement) if kinds.fixed(found[0]) is None]
        if self._shrunk(statement, (NUMBER,)):
            return True
        # Where nothing fits at all there may be a slip, which is told if it is certain.
        loose = statement.span in self.prose and not isinstance(statement.left, s.Index)
        if loose and COST.odd <= self._oddness(statement) < IMPOSSIBLE:
            text = f"{UNLIKELY}; the nearest is {self._read_so(statement, {})}"
            self.skipped.append(Skipped(statement.span, text))
            return True
        for doubt in self.reading.doubts:
            sites = {
                leaf.key: (leaf, node.span)
                for leaf, node in reversed(leaves)
                if kinds.variable(leaf) in doubt.names
            }
            if not sites:
                continue
            key, (leaf, span) = next(iter(sites.items()))
            one, other = (KINDS[g[kinds.variable(leaf)]] for g in (doubt.one, doubt.other))
            texts = [self._read_so(statement, given) for given in (doubt.one, doubt.other)]
            text = f"{key} may be a {one} or a {other}: {texts[0]}, or {texts[1]}"
            if self.document:
                self.skipped.append(Skipped(statement.span, text))
            else:
                words = {"column": "vector", "matrix": "matrix"}
                word = words.get(one) or words.get(other, "vector")
                hint = f"declare `{word} {key}`, or write its indices"
                self.messages.error("two-readings", text, span, hint=hint)
            return True
        return False

    def _oddness(self, statement: s.Statement) -> float:
        """How odd the products and sums of a statement are, as it is read; or what it makes of its names.

        What a text says of a name is not given up in silence: the Ā of `C Ā^k B`, where A ∈ ℝ^{N×N}, is no number.
        """
        found = [self.reading.odd.get(id(group[0]), 0) for group in self._alike(statement)]
        for leaf, _ in self.kinds.leaves(statement):
            variable = self.kinds.variable(leaf)
            seen = self.kinds.seen.get(variable)
            element = self.kinds.fixed(leaf) is not None  # the S_{ab} of a matrix S
            if seen and not element and (seen.told or variable in self.kinds.declared):
                costs = self.kinds.costs(variable, self.reading.rows)
                strain = costs.get(self.kinds.shape_of(leaf), NEVER) - min(costs.values())
                found.append(COST.odd if strain >= COST.strained else 0)
        return max(found, default=0)

    def _shrunk(self, statement: s.Statement, shapes: tuple[Shape, ...]) -> bool:
        """Whether one of these shapes was all that fits a name that is written like a matrix."""
        for leaf, _ in self.kinds.leaves(statement) if self.document else ():
            shape = self.kinds.shape_of(leaf)
            chosen = shape in shapes and self.kinds.fixed(leaf) is None
            if chosen and self._like_a_matrix(leaf, shape):
                text = f"{leaf.key} is written like a matrix, and fits as a {KINDS[shape]} only"
                self.skipped.append(Skipped(statement.span, text))
                return True
        return False

    def _like_a_matrix(self, leaf: Leaf, shape: Shape) -> bool:
        """The X of `y = X β`, the U_r of `[x, r U_r]`: capitals that multiply something are matrices.

        Not sizes, what a text calls otherwise, scores and losses (`figure`), and the Y of a regression.
        """
        seen = self.kinds.seen[self.kinds.variable(leaf)]
        if (
            not leaf.capital
            or leaf.key in self.kinds.declared
            or seen.told
            or seen.figure
            or seen.compared
        ):
            return False
        weight = leaf.letter in WEIGHTS and seen.product and not seen.most  # `\\mathbf W_x x + b`
        if leaf.base.font == "bold" and (weight or (shape == NUMBER and not leaf.base.sub)):
            return True
        if seen.most or not (seen.letters or seen.transposed) or not leaf.letter.isascii():
            return False
        usual = COUNTS if shape == NUMBER else CAPITAL_COLUMNS
        return leaf.letter not in usual and leaf.base.font != "bold"

    def _read_so(self, statement: s.Statement, given: dict[str, Shape]) -> str:
        """A statement in index notation, in one reading or another."""
        taken, self.kinds.chosen = self.kinds.chosen, {**self.kinds.chosen, **given}
        conflicts = Conflicts(self.kinds, Messages())
        dimensions = Dimensions(self.written)
        emission = Emission(self.kinds, conflicts, dimensions, self.emission.identity)
        text = unicode(statement).strip()
        try:
            if isinstance(statement, s.Equation):
                shape = conflicts.shape(statement.sides[0]) or NUMBER
                ends = emission.ends(shape, summed=False)
                for side in statement.sides:
                    emission.emit(side, ends, top=True)
                dimensions.settle(Messages())
                ends = emission.ends(shape, summed=False)
                sides = tuple(emission.emit(side, ends, top=True) for side in statement.sides)
                text = unicode(replace(statement, sides=sides)).strip()
        except (Outside, Mismatch):
            pass
        self.kinds.chosen = taken
        return text

    def _certain(self, message: Message, statement: s.Statement) -> bool:
        """Whether what does not fit is sure to be what it is taken for, and not only by its letter."""
        for span, _ in message.sites:
            for leaf, node in self.kinds.leaves(statement):
                if not span.start <= node.span.start < span.end:
                    continue
                seen = self.kinds.seen.get(self.kinds.variable(leaf))
                sure = seen is None or seen.bold or seen.transposed or leaf.key in self.declared
                number = self.kinds.shape_of(leaf) == NUMBER
                if not (sure or number) or (seen is None and not number and not self.declared):
                    return False
        return True

    def _sound(self, statement: s.Statement) -> tuple[s.Statement, Shape] | None:
        """A statement without the sides that do not fit, and its shape."""
        if isinstance(statement, s.Claim):
            operands = statement.comparison.operands
            found = self.conflicts.sides(operands)
            return (statement, found[0]) if found and len(found[1]) == len(operands) else None
        if not isinstance(statement, s.Equation):
            return statement, NUMBER
        if statement.draws:
            return self._drawn(statement)
        numbers = all(isinstance(side, s.Number) for side in statement.sides[1:])
        if numbers and unicode(statement.left) in self.dimensions.sizes:
            raise Outside("it says how large something is")
        if self._own(statement):
            if any(self.conflicts.shape(side) != NUMBER for side in statement.sides[1:]):
                raise Outside("it defines a function of vectors, and nothing calls it")
            return statement, NUMBER
        found = self.conflicts.sides(statement.sides)
        if found is None or len(found[1]) < 2 or found[1][0] != 0:
            return None
        shape, kept = found
        if shape != NUMBER and (number := self._of_a_number(statement)):
            raise Outside(f"{number} fits as a number only, and {unicode(statement.left)} is none")
        return statement.only(kept), shape

    def _of_a_number(self, equation: s.Equation) -> str:
        """The x of `FFN(x) = x W`, named for what it is of, if nothing else than a number fits there."""
        name, bracket, inside = equation.sides[0].span.text.partition("(")
        bracket = "" if name.rstrip().endswith(("{", "^", "_")) else bracket  # `s^{(t)}`
        letters = re.findall(r"[A-Za-z]+", inside) if isinstance(equation.sides[0], s.Name) else []
        for leaf, _ in self.kinds.leaves(equation) if bracket else ():
            number = self.kinds.shape_of(leaf) == NUMBER and leaf.key not in self.declared
            if number and leaf.key in letters and not leaf.base.sub:
                return leaf.key
        return ""

    def _own(self, equation: s.Equation) -> bool:
        """Whether it defines a function of one's own: `f(x[J])[j] = …`, which has its indices."""
        use = self.outline.use(equation.sides[0])
        return use is not None and use.kind == "function" and self.kinds.defined(use)

    def _drawn(self, equation: s.Equation) -> tuple[s.Statement, Shape] | None:
        """`k ~ N(μ, λ I)`: the variance of each element is λ; another matrix is a covariance."""
        left, right = equation.sides
        shape = self.conflicts.shape(left)
        if shape is None:
            return None
        if not isinstance(right, s.Call):
            return equation, shape
        if right.word not in DISTRIBUTIONS:
            return equation, NUMBER
        arguments: list[s.Expression] = []
        for argument in right.arguments:
            found = self.conflicts.shape(argument)
            single = multiple(argument) if self.identity and found == MATRIX else argument
            if found is None:
                return None
            if found == MATRIX and single is None and shape == COLUMN and len(arguments) == 1:
                single = argument  # a covariance: `covariances.py` draws with it
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

    def _statement(self, statement: s.Statement, shape: Shape) -> list[s.Statement]:
        with self.dimensions.inside():
            ends: Open = self.emission.ends(shape, summed=False)
            if isinstance(statement, s.Declaration):
                return self._declaration(statement)
            if isinstance(statement, s.Claim):
                operands = tuple(self.emission.emit(o, ends) for o in statement.comparison.operands)
                return [
                    replace(statement, comparison=replace(statement.comparison, operands=operands))
                ]
            assert isinstance(statement, s.Equation)
            if statement.draws:
                return [replace(statement, sides=self._draw_sides(statement, ends))]
            if self._own(statement):
                return [statement]
            last = statement.sides[-1]
            if isinstance(last, s.ListLiteral) and not last.every(s.Name):
                return [statement]  # a constant has its indices from the list
            sides = tuple(self._side(side, ends) for side in statement.sides)
            guard = (
                self.emission.emit(statement.guard, CLOSED) if statement.guard is not None else None
            )
            return [replace(statement, sides=sides, guard=guard)]

    def _side(self, side: s.Expression, ends: Open) -> s.Expression:
        """A row on a side that is a column otherwise has its index."""
        if self.conflicts.shape(side) in (COLUMN, ROW) and None in ends:
            open_ = ends[0] if ends[0] is not None else ends[1]
            ends = (open_, None) if self.conflicts.shape(side) == COLUMN else (None, open_)
        return self.emission.emit(side, ends, top=True)

    def _draw_sides(self, equation: s.Equation, ends: Open) -> tuple[s.Expression, ...]:
        left, right = equation.sides
        if isinstance(right, s.Call) and right.word in DISTRIBUTIONS:
            shapes = [self.conflicts.shape(a) for a in right.arguments]
            across = (ends[0], self.dimensions.new(False)) if MATRIX in shapes[1:] else ends
            arguments = tuple(
                self.emission.emit(
                    a, CLOSED if shape == NUMBER else across if shape == MATRIX else ends
                )
                for a, shape in zip(right.arguments, shapes, strict=True)
            )
            right = replace(right, arguments=arguments)
        return (self.emission.emit(left, ends), right)

    def _declaration(self, statement: s.Declaration) -> list[s.Statement]:
        """Vectors that nothing defines are inputs, matrices parameters."""
        if statement.keyword in (CALLED, SEEN, SPACE, TOLD):
            return []
        if statement.keyword == "constant":
            return [replace(statement, items=tuple(self._full(item) for item in statement.items))]
        if statement.keyword not in ("vector", "matrix"):
            return [statement]
        known = self.outline.defined | {r.key for r, _, _ in self.outline.draws}
        items: list[s.Expression] = []
        for item in statement.items:
            leaf = self.kinds.leaf(item)
            if leaf is None or leaf.key in known:
                continue
            items.append(self._full(item))
        keyword = "input" if statement.keyword == "vector" else "parameter"
        return [replace(statement, keyword=keyword, items=tuple(items))] if items else []

    def _full(self, item: s.Expression) -> s.Expression:
        """A declared name with the indices that its declaration leaves out: `vector x` → `x[D]`."""
        leaf = self.kinds.leaf(item)
        if leaf is None or leaf.key not in self.declared:
            return item
        if self.kinds.total.get(leaf.key, -1) == len(leaf.use.reference.items):
            return item
        return self.emission.indexed(
            item, leaf.key, [self.dimensions.new(False) for _ in range(self.declared[leaf.key])]
        )


def _ends_of_sums(statements: list[s.Statement]) -> Iterator[tuple[s.Name, s.Name]]:
    """The j and the k of `Σ_{j=0}^{k-1}`."""
    for total in s.every(statements, s.Reduction):
        end = shifted(total.upper) if total.upper is not None else None
        for under in total.under:
            letter = s.head(under.operands[0]) if isinstance(under, s.Comparison) else under
            if end is not None and isinstance(letter, s.Name) and end[0].base in COUNTING:
                yield letter, end[0]


def _without_unused(statements: list[s.Statement]) -> list[s.Statement]:
    """An equation was left out: then it is no mistake that a declared name is not used."""
    computed = [st for st in statements if not isinstance(st, s.Declaration)]
    used = {node.base for node in s.every(computed, s.Name)}
    result: list[s.Statement] = []
    for statement in statements:
        if isinstance(statement, s.Declaration) and statement.keyword in ("input", "parameter"):
            kept = [i for i in statement.items if any(n.base in used for n in i.every(s.Name))]
            result += [replace(statement, items=tuple(kept))] if kept else []
        else:
            result.append(statement)
    return result
