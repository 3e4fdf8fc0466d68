"""What is known of each name in vector style, and what speaks for which reading.

\\mathbf h_t = \\tanh(\\mathbf W \\mathbf h_{t-1} + b)

h    bold, small               a column, most likely
W    bold, a capital           a matrix, most likely
b    small, not bold           a number in a text that sets its vectors bold, else open
     b ∈ ℝ^{1×h}               a row, whatever its letter

Names of one letter (`W_f`, `W_i`) are read alike, so they share a *variable*. A reading gives every
variable a shape; `costs` says how unlikely each shape is before any product or sum is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.names.derivatives import is_gradient
from indicial.program.names.letters import GROUPS, OFTEN_VECTORS, index_name, is_capital
from indicial.program.names.outline import Outline
from indicial.program.vectors.costs import COST, NEVER, SAID, WRITTEN, Costs
from indicial.program.vectors.functions import NORMS
from indicial.program.vectors.leaves import Leaf, Leaves
from indicial.program.vectors.regular import index_letters
from indicial.program.vectors.shapes import (
    COLUMN,
    KINDS,
    MATRIX,
    NUMBER,
    OF_RANK,
    ROW,
    Shape,
    diagonal,
    dotted,
)

COUNTS = frozenset("dnmltijpNTLDJ")
"""Letters that count something where nothing says otherwise: sizes, places, steps."""
OFTEN_COLUMNS = frozenset("θμβδ")
"""Greek letters that are columns now and then."""
GREEK_MATRICES = frozenset("ΣΛ")
"""Covariances and eigenvalues: matrices where nothing says otherwise."""
LOSSES = frozenset("LJECℒ")
"""Letters of what is made small: numbers, where one is the sum of others."""
WEIGHTS = frozenset("WU")
"""Letters of matrices that are learned; data stands before them in the convention of rows."""
CAPITAL_COLUMNS = frozenset("Y")
"""The one capital that is a column as often as not: what a regression is fitted to."""
BIASES = frozenset("b")
"""Letters whose names are each like what they are added to, and not like each other."""
FIGURES = (
    "score", "loss", "cost", "energy", "reward", "sim", "mse", "mae", "rmse", "acc", "error", "dist",
)  # fmt: skip
"""How words begin that are numbers."""
_ARROWS = frozenset({"vec", "cev"})


@dataclass
class Seen:
    """How the names of one variable are written."""

    letter: str
    capital: bool | None
    first: s.Expression
    keys: set[str] = field(default_factory=set)
    bold: bool = False
    arrow: bool = False
    """It has an arrow above it, which does not say which way a cell runs: a vector, even if it is a capital."""
    product: bool = False
    """It stands beside another name in a product."""
    letters: bool = False
    """One of a letter: the X of `X β`, and not the C of `C tanh(x)`."""
    transposed: bool = False
    positions: set[str] = field(default_factory=set)
    """The letters that number its occurrences, other than the steps of time and layer."""
    steps: bool = False
    gathers: bool = False
    """A product such as `k^⊤ v` is added to it."""
    """It is numbered by time or by layer."""
    most: int = 0
    """How many indices it has where it has most."""
    above: bool = False
    """One of them stands above it: the l of `h_i^l`."""
    diagonal: bool = False
    """It is a matrix of degrees: the D of `D^{-1/2} A D^{-1/2}`."""
    compared: bool = False
    """It stands in a cosine: the A and the B of `A · B / (‖A‖ ‖B‖)`."""
    figure: bool = False
    """It divides, as the N_k of `N_{k+1} / (M N_k)`, is divided by a letter, as the R of `n R T / V`,
    is a score in a weighed sum, as those of `w_1 C_{style} + w_2 C_{light}`, shares its word with
    what it multiplies, as those of `R_{info} C_{info}`, or is one of many sizes, `B · H · K`."""
    told: set[str] = field(default_factory=set)
    """What sentences say that it is."""
    normed: bool = False
    """It stands between double bars: `‖P‖` is no number's."""
    multiplied: bool = False
    """It stands right behind a capital: the β of `X β`, and not the λ of `λ X`."""
    contracted: bool = False
    """A written Σ runs over one of its places and one of another name's: the w and the x of `Σ_j w_{kj} x_j`
    and of `Σ_i c_i x_{j+i}` are elements, what a matrix P meets in `Σ_j P_{kj} x_j`, the y of `Σ_i y_i log p_i`."""
    attends: bool = False
    """It is what attention gives for all queries: the h_i of `h_i = softmax(Q_i K_i^⊤) V_i`."""
    weighs: bool = False
    """It stands before a vector of a step, by its letter: the w of `w_h h_{t-1}`."""
    joins: bool = False
    """It stands before brackets with vectors side by side: the w of `w_u [h_{t-1}, x_t]`."""
    shifts: bool = False
    """It is added to a capital times a vector: the d of `d + H x`, which counts nothing."""
    biases: bool = False
    """It is added to what a weight multiplies: the b of `W x + b`, in whatever type it is set."""


class Kinds(Leaves):
    """The names of a program in vector style, with what is known of them."""

    def __init__(self, outline: Outline, statements: Sequence[s.Statement]) -> None:
        super().__init__(outline)
        self.statements = statements
        self.total: dict[str, int] = {}
        """How many indices a name has in all, for names that are indexed in full somewhere."""
        self.declared: dict[str, Costs] = {}
        """What a declaration allows for a key."""
        self.told: dict[str, str] = {}
        """What sentences say that a key is: "matrix", "vector", "state", "number"."""
        self.elsewhere: set[str] = set()
        """Those of which it is said under another heading."""
        self.batches: set[str] = set()
        """Keys of small letters that are matrices for sure, with an example in each row: the x of `x ∈ ℝ^{n×d}`,
        the a of `x^⊤ a` beside `Σ_n a_{nj}`."""
        self.higher: set[str] = set()
        """Keys that have more than two indices of their own."""
        self.chosen: dict[str, Shape] = {}
        """The reading that was taken, by variable."""
        self.apart: set[str] = set()
        """Letters whose names are not read alike."""
        self.seen: dict[str, Seen] = {}
        ends = (n.upper for n in s.every(statements, s.Reduction))
        self.sizes = {name_key(end) for end in ends if isinstance(end, s.Name)}
        self.sizes |= set(outline.sizes) | set(outline.labels) | index_letters(list(statements))
        self.sizes -= _matrices_by_use(statements)
        bold = [n for n in s.every(statements, s.Name) if n.font == "bold"]
        self.in_bold = bool(bold)
        names = s.every(statements, s.Name)
        self.directed = any("cev" in n.accents for n in names)
        """Arrows say which way a cell runs, and not what a vector is."""
        self.steps = set(_steps(statements))
        self.whole = {n.stem for n in bold if not n.sub}
        """The letters that stand in bold type without anything below them."""

    def leaves(self, *statements: s.Statement) -> Iterator[tuple[Leaf, s.Expression]]:
        """The names that some statements take values of, each with its node."""
        for statement in statements:
            for side in values_of(statement):
                for node in self.values(side):
                    if (leaf := self.leaf(node)) is None:
                        continue
                    for end in leaf.base.ends:
                        if (known := self.leaf(end)) is not None:
                            yield known, end
                    yield leaf, node

    # ------------------------------------------------------------------ what is fixed

    def fixed(self, leaf: Leaf) -> Shape | None:
        """The shape of a name here, where it is no matter of choice."""
        if leaf.use.kind != "tensor":
            return None
        items = leaf.use.reference.items
        if leaf.key in self.total:
            return OF_RANK.get(self.total[leaf.key] - len(items), NUMBER)
        if leaf.base.ends:
            return None
        if leaf.key[0] == "∂" and len(self._numbering(items)) > 1:
            return NUMBER  # `∂L/∂W_{ij}`
        counted = leaf.key in self.sizes or leaf.key == "π"
        known = leaf.key in self.declared or self.told.get(leaf.key, "number") != "number"
        return NUMBER if counted and not items and not known else None

    def _numbering(self, items: Sequence[s.Expression]) -> list[s.Expression]:
        """The indices that are no steps of time or layer."""
        counted = self.steps | {"l", "ℓ"}
        return [i for i in items if counted.isdisjoint(n.base for n in i.every(s.Name))]

    def variable(self, leaf: Leaf) -> str:
        base = leaf.base
        if base.ends:
            return leaf.key
        if leaf.key in self.declared or leaf.letter in self.apart or leaf.letter in BIASES:
            return leaf.key
        font = "bold" if base.font == "bold" else "like"
        stem = base.stem
        if font == "bold" and base.sub and leaf.capital and stem in self.whole:
            font = "bold part of"  # the Λ_1 of Λ
        return f"{font} {name_key(stem)}"

    def shape_of(self, leaf: Leaf) -> Shape:
        """The shape of a name in the reading that was taken."""
        fixed = self.fixed(leaf)
        if fixed is not None:
            return fixed
        return self.chosen.get(self.variable(leaf), NUMBER)

    # ------------------------------------------------------------------ evidence

    def survey(self) -> None:
        """Looks at every name once."""
        self.seen.clear()
        for leaf, node in self.leaves(*self.statements):
            self._note(leaf, node)
            if isinstance(node, s.Name) and node.ends and (seen := self._seen(node.ends[-1])):
                if seen.capital:  # nobody differentiates by a size
                    seen.product = seen.letters = True
                if is_gradient(node) and not seen.capital:
                    seen.told.add("vector")
        for equation in (st for st in self.statements if isinstance(st, s.Equation)):
            if _attends(equation.sides[-1]) and (seen := self._seen(equation.left)):
                seen.attends = True
        for side in (side for statement in self.statements for side in values_of(statement)):
            for reduction in side.every(s.Reduction):
                self._contracted(reduction)
            for product in side.every(s.Product):
                self._beside(product)
            for total in side.every(s.Add):
                self._added(total)
            for turned in side.every(s.Transpose):
                if seen := self._seen(s.inner(turned.body)):
                    seen.transposed = True
            for norm in side.every(s.Norm):
                if seen := self._seen(s.inner(norm.body)):
                    seen.normed = True
            for call in side.every(s.Call):
                if call.word == "abs" and (seen := self._seen(call.arguments[0])):
                    seen.figure = True  # `|V|` counts a set
            for fraction in side.every(s.Fraction):
                self._divides(fraction)
                norms = [
                    s.inner(f.body) for f in s.factors(fraction.below) if isinstance(f, s.Norm)
                ]
                for factor in s.factors(fraction.above) if len(norms) == 2 else ():
                    if factor in norms and (seen := self._seen(factor)):
                        seen.compared = True

    def _contracted(self, total: s.Reduction) -> None:
        """Notes which names a sum says all the indices of."""
        bound = {n.base for under in total.under for n in under.every(s.Name)}
        products = total.body.every(s.Product, s.Hadamard) if total.operator == "sum" else ()
        for factors in (product.factors for product in products):
            reads = [leaf for f in factors if (leaf := self.leaf(f))]
            places = [
                (leaf, [{n.base for n in i.every(s.Name)} for i in leaf.use.reference.items])
                for leaf in reads
            ]
            there = [(leaf, some) for leaf, some in places if any(bound & p for p in some)]
            weights = any(
                len(some) > 1 and (leaf.letter in "Ww" or self.total.get(leaf.key) == len(some))
                for leaf, some in there
            )
            slides = any(len(place) > 1 and bound & place for _, some in there for place in some)
            logs = (c for f in factors for c in f.every(s.Call) if c.word in ("log", "ln"))
            entropy = any(bound & {n.base for n in log.every(s.Name)} for log in logs)
            several = len(there) > 1 and (weights or slides)
            for leaf, _ in there if several or entropy else ():
                if (seen := self.seen.get(self.variable(leaf))) is not None:
                    seen.contracted = True

    def _added(self, total: s.Add) -> None:
        products = [term.factors for term in total.terms if isinstance(term, s.Product)]
        names = [[self._seen(factor) for factor in factors] for factors in products]
        if any(seen and seen.letter in WEIGHTS for factors in names for seen in factors):
            for seen in map(self._seen, total.terms):
                if seen and seen.letter in BIASES:
                    seen.biases = True
        if any(len(factors) == 2 and isinstance(factors[0], s.Transpose) for factors in products):
            for seen in map(self._seen, total.terms):
                if seen:
                    seen.gathers = True
        weighed = (f for f in names if len(f) == 2 and all(f) and f[0] and f[0].capital)
        if any(f[1] and f[1].letter in OFTEN_VECTORS for f in weighed):
            for seen in map(self._seen, total.terms):
                if seen and seen.letter == "d":
                    seen.shifts = True
        ends = [factors[-1] for factors in names]
        if any(seen and seen.letter in OFTEN_COLUMNS and not seen.most for seen in ends):
            for seen in map(self._seen, total.terms):
                if seen and seen.letter == "ε":  # the errors of `X β + ε`
                    seen.multiplied = True
        if len(products) == len(total.terms) and all(_scores(factors) for factors in products):
            for _, score in names:
                if score:
                    score.figure = True

    def _divides(self, fraction: s.Fraction) -> None:
        below = s.inner(fraction.below)
        factors = below.factors if isinstance(below, s.Hadamard) else s.factors(below)
        if isinstance(below, s.Add):  # `2 P R / (P + R)`
            factors = tuple(f for term in below.terms for f in s.factors(s.unsigned(term)))
        names = [self._seen(f) for f in factors if not isinstance(f, s.Number)]
        if None in names:
            return
        for seen in filter(None, names):
            seen.figure = True
        plain = (seen and not seen.bold and not is_greek(seen.letter) for seen in names)
        counts = (seen and seen.letter in COUNTS for seen in names)
        above = [self._seen(f) for f in s.factors(fraction.above) if not isinstance(f, s.Number)]
        weighs = (seen is None or seen.letter in WEIGHTS for seen in above)
        if any(plain) and not any(counts) and not any(weighs):
            for seen in filter(None, above):
                seen.figure = True

    def _seen(self, node: s.Expression) -> Seen | None:
        leaf = self.leaf(node)
        return None if leaf is None else self.seen.get(self.variable(leaf))

    def _note(self, leaf: Leaf, node: s.Expression) -> None:
        if self.fixed(leaf) is not None:
            return
        base = leaf.base
        new = Seen(leaf.letter, leaf.capital, node)
        seen = self.seen.setdefault(self.variable(leaf), new)
        seen.keys.add(leaf.key)
        if self.told.get(leaf.key):
            seen.told.add(self.told[leaf.key])
        arrow = bool(_ARROWS & {*base.accents})
        seen.bold = seen.bold or base.font in ("bold", "sans") or arrow
        seen.arrow = seen.arrow or (arrow and not self.directed)
        items = leaf.use.reference.items
        seen.most = max(seen.most, len(items))
        power = leaf.use.reference.power
        seen.diagonal = seen.diagonal or (power is not None and diagonal(base, power))
        seen.above = seen.above or any(script in items for script in base.sup)
        for item in items:
            letters = {n.base for n in item.every(s.Name)}
            gathered = isinstance(item, s.Name) and bool(item.sub)  # `A_{y_i,y_{i+1}}`
            if letters & self.steps and not gathered:
                seen.steps = True
            else:
                seen.positions |= letters

    def _beside(self, product: s.Product) -> None:
        factors = [f for f in product.factors if not isinstance(s.inner(f), s.Number)]
        names = [self._seen(f.body if isinstance(f, s.Transpose) else f) for f in factors]
        for number, seen in enumerate(names):
            others = [x for n, x in enumerate(names) if n != number]
            behind = {x.letter for x in names[number + 1 :] if x}
            before = names[number - 1] if number else None
            if seen and before and before.capital and seen.letter in OFTEN_COLUMNS:
                seen.multiplied = True
            if seen and isinstance(
                s.inner(factors[min(number + 1, len(factors) - 1)]), s.ListLiteral
            ):
                seen.joins = True
            after = names[number + 1] if number + 1 < len(names) else None
            if seen and after and seen.letter in "wu" and after.letter in OFTEN_VECTORS:
                seen.weighs = seen.weighs or after.steps
            if seen and (behind & OFTEN_COLUMNS or any(map(_is_factor, others))):
                seen.product = True  # `X β`, and not the L of `λ L`
                named = sum(isinstance(s.inner(f), s.Name | s.Transpose) for f in factors)
                seen.letters = seen.letters or named > 1
        if len(factors) > 1 and (_labelled_alike(factors) or _counted(product, factors)):
            for seen in names:
                if seen:
                    seen.figure = True

    # ------------------------------------------------------------------ costs

    def costs(self, variable: str, rows: bool) -> Costs:
        """How unlikely each shape is for a variable, in the convention of rows or of columns."""
        if variable in self.declared:
            return self.declared[variable]
        seen = self.seen[variable]
        if seen.letter[0] == "∂":
            return dict.fromkeys(KINDS, 0.0)  # those of its ends count
        number, column, row, matrix = WRITTEN[self.written(variable, seen)]
        if seen.bold and not seen.capital:
            if is_greek(seen.letter):
                matrix = COST.bold_greek
            elif rows:
                matrix = COST.sentence
            column += COST.column if rows else 0
        elif seen.transposed and seen.capital is False and not is_greek(seen.letter):
            often = seen.letter == "w" and seen.most  # `(w^{l+1})^⊤ δ^{l+1} ⊙ …`
            if not self.batches:  # `dW = x^⊤ da`
                matrix = COST.weights if often else COST.transposed
        if seen.normed and seen.capital:
            number += COST.normed
        row += 0 if rows else COST.row
        found = {NUMBER: number, COLUMN: column, ROW: row, MATRIX: matrix}
        if len(seen.told) != 1:
            return {shape: cost for shape, cost in found.items() if cost < NEVER}
        (word,) = seen.told
        weight = COST.elsewhere if seen.keys <= self.elsewhere else 1.0
        return {
            shape: weight * odd + min(found[shape], COST.despite)
            for shape, odd in SAID[word].items()
        }

    def written(self, variable: str, seen: Seen) -> str:
        """How a name is written: what its letter, its type and its scripts say, in the words of `WRITTEN`."""
        if seen.diagonal:
            return "diagonal"
        if seen.compared:
            return "compared"
        if seen.letter in LOSSES and self._is_total(seen.letter):
            return "figure"
        if seen.figure and seen.capital and not (seen.bold or seen.transposed):
            return "figure"
        if seen.contracted and not (seen.bold or seen.transposed):
            return "contracted"
        if seen.bold:
            return self._bold(variable, seen)
        if seen.capital is None:
            if seen.most > 1:
                return "word with two indices"
            if any(key.lower() in NORMS for key in seen.keys):
                return "layer"
            figure = any(key.lower().startswith(FIGURES) for key in seen.keys)
            return "word for a figure" if figure else "word"
        if is_greek(seen.letter):
            return _greek(seen)
        if seen.capital:
            return _capital(seen)
        if seen.attends:
            return "small of matrices"
        if seen.joins and not seen.transposed:
            return "small before a join"
        if seen.weighs and not (seen.transposed or seen.most or self.in_bold):
            return "small weight"
        if seen.biases and self.in_bold:
            return "plain bias"
        if self.batches and seen.letter not in BIASES and not self.in_bold:
            often = seen.letter in OFTEN_VECTORS
            return "small beside a batch" if often else "letter beside a batch"
        if self.in_bold or seen.letter in self.declared:  # `x_1` beside `x ∈ ℝ^4`: an element
            return "plain beside bold"
        if seen.most > 1 + seen.above:
            return "small with two indices"
        if seen.letter in COUNTS and not (seen.most or seen.shifts):
            return "count"
        often = seen.letter in OFTEN_VECTORS or (seen.letter == "w" and not seen.most)
        return "often a vector" if often else "small"

    def _is_total(self, letter: str) -> bool:
        """Whether there is an `L_·`: of the losses of one letter one is the sum of the others."""
        keys = (key for seen in self.seen.values() if seen.letter == letter for key in seen.keys)
        return any(key.endswith("·") for key in keys)

    def _bold(self, variable: str, seen: Seen) -> str:
        layers = bool(seen.positions & {"l", "ℓ"})
        apart = seen.steps or layers or seen.transposed  # the m of `\\mathbf K_m^{(l)⊤}` is a head
        if seen.arrow and seen.capital and seen.letter not in WEIGHTS and seen.most < 2:
            return "capital with an arrow"
        if seen.capital and seen.most > 1 and not apart:
            return "bold capital with two indices"
        if variable.startswith("bold part"):
            return "part of a bold capital"
        if seen.letter == "Δ":
            return "bold Δ"
        if seen.capital:
            return "numbered bold capital" if seen.positions else "bold capital"
        return "bold with two indices" if seen.most > 1 and seen.positions else "bold"

    def reason(self, variable: str) -> str:
        """Why a variable has the shape it has, in a few words."""
        seen, shape = self.seen[variable], self.chosen[variable]
        if variable in self.declared:
            return "as declared"
        if seen.told:
            return "as the text says"
        if seen.bold and shape != NUMBER:
            return "bold"
        if shape == MATRIX and seen.capital and (seen.product or seen.transposed):
            return "a capital in a product"
        if seen.transposed and shape != NUMBER:
            return "transposed"
        if shape == NUMBER:
            return "a number by its letter" if is_greek(seen.letter) else "fits as a number"
        return "fits its products and sums"


def values_of(statement: s.Statement) -> Iterator[s.Expression]:
    """The expressions of a statement that have values: sides, operands, what is drawn from."""
    if isinstance(statement, s.Claim):
        yield from statement.comparison.operands
    elif isinstance(statement, s.Equation) and statement.draws:
        right = statement.sides[1]
        yield statement.sides[0]
        yield from right.arguments if isinstance(right, s.Call) else ()
    elif isinstance(statement, s.Equation):
        yield from (side for side in statement.sides if not isinstance(side, s.Dots))


def _attends(side: s.Expression) -> bool:
    """`softmax(Q K^⊤) V` of capitals: a row for each query."""
    factors = side.factors if isinstance(side, s.Product) else ()
    weights = s.inner(factors[0]) if factors else None
    if not isinstance(weights, s.Reduction) or weights.operator != "softmax" or weights.under:
        return False
    turned = (n for node in weights.every(s.Transpose) for n in node.every(s.Name))
    last = factors[-1]
    values = isinstance(last, s.Name) and is_capital(last.base)
    return values and any(is_capital(name.base) and not name.font for name in turned)


def is_greek(letter: str) -> bool:
    return "Α" <= letter[:1] <= "ω"


def _greek(seen: Seen) -> str:
    if seen.letter in GREEK_MATRICES:
        return "Greek matrix"
    if seen.letter in GROUPS:
        return "parameters"
    if seen.letter == "Δ":
        return "Δ"
    if seen.capital:
        return "Greek capital"
    if seen.multiplied and not (seen.positions or seen.steps):
        return "Greek behind a capital"
    return "often a column" if seen.letter in OFTEN_COLUMNS else "Greek"


def _capital(seen: Seen) -> str:
    if not seen.letter.isascii() and (seen.letter == "ℒ" or not seen.product):
        return "script capital"
    multiplies = seen.product or seen.transposed
    if seen.most > 1 and not (seen.steps and multiplies):
        return "capital with two indices"
    if seen.positions and seen.letter not in WEIGHTS:
        return "numbered capital"
    if seen.steps:
        return "capital beside k^⊤ v" if seen.gathers else "capital with steps"
    if multiplies and seen.letter in WEIGHTS:
        return "numbered weight" if seen.positions else "weight"
    if multiplies and seen.letter in COUNTS and not seen.transposed:
        return "size in a product"
    name = "Y" if seen.letter in CAPITAL_COLUMNS else "capital"
    return f"{name} in a product" if multiplies else name


def _matrices_by_use(statements: Sequence[s.Statement]) -> set[str]:
    """The A of `A^⊤ U_A` and the W of `β_W = X^⊤ W y` tell names apart, and are matrices."""
    parts = [s.inner(n.body) for n in s.every(statements, s.Transpose)]
    for product in s.every(statements, s.Product):
        if any(isinstance(f, s.Transpose) for f in product.factors):
            parts += product.factors
    return {name_key(n) for n in parts if isinstance(n, s.Name) and n.bare}


def _is_factor(other: Seen | None) -> bool:
    """Whether something that stands beside a matrix may be one, or a vector: no Greek letter, by habit."""
    return other is None or not is_greek(other.letter)


def _steps(statements: Sequence[s.Statement]) -> Iterator[str]:
    """The letters that are shifted in scripts: the t of `h_{t-1}`, the l of `h^{(l+1)}`."""
    yield from ("t", "τ")
    for script in (script for node in s.every(statements, s.Name) for script in node.scripts):
        inner = s.inner(script)
        if inner.__class__ is s.Name and inner.base[0] == "|":  # `P_{k|k-1}`
            yield inner.base[1]
        if isinstance(inner, s.Add) and (name := index_name(inner.terms[0])) is not None:
            rest = (t.body if isinstance(t, s.Negative) else t for t in inner.terms[1:])
            if all(isinstance(t, s.Number) for t in rest):  # not the i of `R_{i-j}`
                yield name.base


def _counted(product: s.Product, factors: Sequence[s.Expression]) -> bool:
    """`4 · B · H · K`: three capitals or more with a sign between each two, as nobody writes matrices."""
    letters = [f for f in factors if isinstance(f, s.Name) and f.bare and not f.font]
    many = len(letters) == len(factors) > 2 and all(f.base.isupper() for f in letters)
    return many and len(dotted(product)) >= len(factors) - 1


def _labelled_alike(factors: Sequence[s.Expression]) -> bool:
    """`R_{info} C_{info}`: one word tells whose resistance and whose capacity; `X_{in} W_{in}` are matrices."""
    names = [f for f in factors if isinstance(f, s.Name) and len(f.sub) == 1 and not f.font]
    words = {
        f.sub[0].base for f in names if isinstance(f.sub[0], s.Name) and len(f.sub[0].base) > 2
    }
    weighs = any(f.base in WEIGHTS for f in names)
    return len(names) == len(factors) and len(words) == 1 and not weighs


def _scores(factors: tuple[s.Expression, ...]) -> bool:
    """`w_1 C_{style}`: a weight with a number, and a score with a word."""
    weight, score = factors if len(factors) == 2 else (None, None)
    if not isinstance(weight, s.Name) or not isinstance(score, s.Name) or weight.font:
        return False
    numbered = len(weight.sub) == 1 and isinstance(weight.sub[0], s.Number)
    (label,) = score.sub if len(score.sub) == 1 else (None,)
    return numbered and isinstance(label, s.Name) and len(label.base) > 2


ONE = s.Number("1")


def sizes(domain: s.Expression) -> tuple[s.Expression, ...]:
    """The sizes in `ℝ^{m×n}`, in order."""
    if not isinstance(domain, s.Name) or not domain.sup:
        return ()
    found: list[s.Expression] = []
    for item in domain.sup:
        found += _split(s.inner(item))
    return tuple(x for x in found if not (isinstance(x, s.Name) and x.base in _SIGNS))


_SIGNS = frozenset("+-*")
"""The `+` of `ℝ^+`, `ℝ^{+}` says which numbers, not how many."""


def _split(item: s.Expression) -> list[s.Expression]:
    """`2 h × d` has two sizes: a factor that no × stands before belongs to the one before it.

    `(T, N)` has two as well.
    """
    if isinstance(item, s.TupleLiteral):
        return list(item.items)
    if not isinstance(item, s.Product):
        return [item]
    found: list[list[s.Expression]] = [[item.factors[0]]]
    for one, two in pairwise(item.factors):
        between = one.span.between(two.span)
        signs = ("×", "\\times", "*", "x", "}{")  # the last between the arguments of a macro
        if between is None or any(sign in between for sign in signs):
            found.append([two])
        else:
            found[-1].append(two)
    return [p[0] if len(p) == 1 else s.Product(tuple(p), span=item.span) for p in found]


def allowed(found: tuple[s.Expression, ...]) -> Costs | None:
    """The shapes that these sizes allow; None if there are too many."""
    if not found:
        return {NUMBER: 0.0}
    if len(found) == 1:
        return {COLUMN: 0.0, ROW: 1.0} if found[0] != ONE else {NUMBER: 0.0}
    if len(found) > 2:
        return None
    if found == (ONE, ONE):
        return {NUMBER: 0.0}
    if found[0] == ONE:
        return {ROW: 0.0}
    return {COLUMN: 0.0} if found[1] == ONE else {MATRIX: 0.0}
