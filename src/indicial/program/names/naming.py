"""Names: which scripts of a name belong to it, which are indices, which are powers.

    L_{ℓ+1}[t,j]   →   Reference("L", (ℓ+1, t, j))           a subscript made of indices
    L_0[t,j]       →   Reference("L", (0, t, j))              beside L_{ℓ+1}, else the name L_0
    W^{h,R}[j,I]   →   Reference("W^{h,R}", (j, I))           a decoration
    x_i^2          →   Reference("x", (i,), power=2)          where x_i stands elsewhere too
    a^{(t-s)}      →   Reference("a", (), power=t-s)          arithmetic above; W^{(h)} is a name
    a^2 (x + y)    →   Reference("a", (), power=2)            before a bracket; h^2(t) is a name
    α_{21}         →   Reference("α", (2, 1))

What one occurrence means depends on the others in the same program, so a program's names are
surveyed once, and then each is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.notation.syntax import (
    Add,
    Call,
    Equation,
    Expression,
    Fraction,
    Group,
    Index,
    Name,
    Negative,
    Number,
    Product,
    Star,
    Statement,
    TupleLiteral,
)
from indicial.program.names.letters import (
    GROUPS,
    WORDS,
    bound_letters,
    index_name,
    is_capital,
    is_letter,
    live_letters,
    token_letters,
)

FUNCTION_LETTERS = frozenset("fgφψ")
"""Letters that are a function where nothing says otherwise; any other letter is a factor."""


def activates(call: Call) -> bool:
    """`f(…)`; `σ_h(W x + b)` and `σ_h(c_t)` too, but not `σ_i (x - μ)`."""
    name = call.function
    if not isinstance(name, Name) or len(call.arguments) != 1:
        return isinstance(name, Name) and name.base in FUNCTION_LETTERS
    if name.base != "σ" or not name.sub:
        return name.base in FUNCTION_LETTERS
    return isinstance(call.arguments[0], Name | Index) or maps(call.arguments[0])


def maps(inside: Expression) -> bool:
    """`W x + b`: a sum or product with a matrix in it."""
    capitals = any(isinstance(n, Name) and is_capital(n.base) for n in inside.walk())
    return isinstance(inside, Add | Product) and capitals


MOST_DIGITS = 4
"""A longer number below a name is one number, not an index for each digit."""


@dataclass(frozen=True)
class Reference:
    """A name as it is meant at one place."""

    key: str
    items: tuple[Expression, ...]
    span: Span
    power: Expression | None = None
    group: Expression | None = None
    """The parameter group: the `Φ[ℓ]` of `CELL_{Φ[ℓ]}`."""
    scripts: int = 0
    """How many of the items stand below or above the name, in front of those in brackets."""


@dataclass
class _Seen:
    """What the survey found out about one stem (a name without numbers, indices and powers)."""

    indexed: bool = False
    """Somewhere a subscript is an index."""
    without_sup: bool = False
    bracketed_sups: set[str] = field(default_factory=set)
    """The superscripts that are directly followed by brackets, or that stand on a left side."""
    sup_shifted: set[str] = field(default_factory=set)
    """The letters that stand above it with a number: the t of `Φ^{t+1}`."""
    sup_defined: bool = False
    """It stands on a left side with a superscript: `Φ^{t+1} = …`."""
    alone: bool = False
    """It stands without a superscript outside lists: the a of `constant a = 0.9`."""
    plain: bool = False
    """It stands without a superscript and without brackets."""
    round_sups: dict[str, bool] = field(default_factory=dict)
    """The superscripts before round brackets that may be powers, and whether an index stands in these:
    `a^2 (x + y)` no, `h^2(t)` and `a^2 (1 - t)` yes."""
    numbered: bool = False
    """A 0 or a 1 stands above it somewhere: then the numbers there tell names apart."""
    brackets: bool = False
    """Brackets follow somewhere, or a subscript."""
    digit_lengths: set[int] = field(default_factory=set)

    @property
    def scalar(self) -> bool:
        """Arithmetic above it is a power: `a^{t-1}` beside `constant a = 0.9`."""
        return self.alone and not self.sup_defined


class Naming:
    """All names of a program, surveyed."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        statements = list(statements)
        self.live = set[str]().union(*map(live_letters, statements))
        self.bound = set[str]().union(*map(bound_letters, statements))
        """The letters that stand below a Σ, capitals too."""
        self.placed = {
            item
            for statement in statements
            for node in statement.every(Index)
            for item in node.items
            if isinstance(item, Name) and item.accents
        }
        """Names with accents that stand in square brackets: the ŷ of `W[ŷ,j]`."""
        self.labelled = {
            node.base
            for statement in statements
            for node in statement.every(Index)
            if isinstance(node.base, Name) and _names_its_places(node)
        }
        """Names whose script says what their brackets hold: `P_{xy}[x,y]`."""
        self.tokens = {"w", "y"}.union(*map(token_letters, statements))
        self.seen: dict[Name, _Seen] = defaultdict(_Seen)
        self.stepped: set[str] = set()
        """The letters that stand above a name on a left side."""
        self._stems: dict[int, tuple[Name, Name, tuple[Expression, ...]]] = {}
        self._plain: dict[int, tuple[Name, Reference]] = {}
        for statement in statements:
            self._survey(statement)
        for seen in self.seen.values():
            scalar = seen.plain and not seen.sup_defined
            for sup, index in seen.round_sups.items():
                if seen.numbered or (index and not scalar):
                    seen.bracketed_sups.add(sup)
        self.layers = any(
            seen.numbered and not seen.without_sup and is_capital(stem.base)
            for stem, seen in self.seen.items()
        )
        """`W^0 x`, `W^1 h`: a capital that is never without its number; these are names."""
        self.steps = {
            letter
            for seen in self.seen.values()
            if not seen.scalar
            for letter in seen.sup_shifted & self.stepped
        } | set[str]().union(*map(_carried, statements))
        """The letters that are stepped above a name: the l of `h^{(l+1)}`."""

    def _survey(self, statement: Statement) -> None:
        bracketed: set[int] = set()
        before_round: dict[int, bool] = {}
        listed: set[int] = set()
        below: set[int] = set()  # the d of `W_d` is a label
        left = _head(statement.sides[0]) if isinstance(statement, Equation) else None
        if isinstance(statement, Equation) and isinstance(statement.sides[0], Name):
            bracketed.add(id(statement.sides[0]))
        for node in statement.every(Name, Index, Call, TupleLiteral):
            if isinstance(node, Name):
                stem, scripts = self._stem(node)
                seen = self.seen[stem]
                for script in scripts if node not in self.labelled else ():
                    if isinstance(script, Number):
                        seen.digit_lengths.add(len(script.text))
                    elif self._live_index(script):
                        seen.indexed = True
                if node.sup and isinstance(node.sup[0], Number) and node.sup[0].text in ("0", "1"):
                    seen.numbered = True
                step = _step(node.sup)
                if step is not None and node is left:
                    self.stepped.add(step[0])
                if step is not None and not step[1]:
                    seen.sup_shifted.add(step[0])
                seen.sup_defined = seen.sup_defined or (node is left and bool(node.sup))
                held = id(node) in bracketed or before_round.get(id(node), False)
                seen.brackets = seen.brackets or held or bool(node.sub)
                below.update(id(n) for script in node.sub for n in script.walk())
                if not node.sup and id(node) not in below:
                    seen.without_sup = True
                    seen.alone = seen.alone or id(node) not in listed
                    seen.plain = seen.plain or id(node) not in bracketed
                elif id(node) in bracketed:
                    seen.bracketed_sups.add(name_key(Name("x", sup=node.sup)))
                elif id(node) in before_round:
                    sup = name_key(Name("x", sup=node.sup))
                    index = before_round[id(node)] or seen.round_sups.get(sup, False)
                    seen.round_sups[sup] = index
            elif isinstance(node, TupleLiteral):
                listed.update(map(id, node.items))
            elif isinstance(node, Index):
                if isinstance(node.base, Name):
                    bracketed.add(id(node.base))
            elif isinstance(node, Call) and isinstance(node.function, Name):
                if self._may_be_power(node, node.function):
                    before_round[id(node.function)] = self._holds_index(node, node.function)
                else:
                    bracketed.add(id(node.function))

    def _may_be_power(self, call: Call, name: Name) -> bool:
        """`a^2 (x + y)`, `e^{-z} (1 - z)`, `γ^(t-s) (…)`: a letter with something to raise it to."""
        if len(name.sup) != 1 or len(call.arguments) != 1 or call.given is not None:
            return False
        if not is_letter(name.base) or name.base in FUNCTION_LETTERS or name.base == "σ":
            return False
        script = name.sup[0]
        if isinstance(script, Number) or _arithmetic(script):
            return True
        index = index_name(script)
        return index is not None and index.base in self.live and not is_capital(index.base)

    def _holds_index(self, call: Call, name: Name) -> bool:
        """`h^2(t)`, `e^2(w_t)`; Euler's number has no index."""
        if name.base == "e" and _arithmetic(name.sup[0]):
            return False
        (inside,) = call.arguments
        return self.is_index(inside) or self.is_token(inside, name)

    def is_index(self, node: Expression) -> bool:
        """Whether something in round brackets is an index: its letters are indices elsewhere."""
        if isinstance(node, Number):
            return True
        if isinstance(node, Add):
            return all(self.is_index(t) for t in node.terms)
        if isinstance(node, Negative):
            return self.is_index(node.body)
        if isinstance(node, Product):
            return all(self.is_index(f) for f in node.factors)
        name = index_name(node)
        if name is not None and name.sub and self.seen[replace(name, sub=())].indexed:
            return False  # the o_1 of `b_j(o_1)` beside o_t
        if name is not None:
            return name.font != "bold" and (name.base in self.live or is_capital(name.base))
        if isinstance(node, Name) and node in self.placed:
            return True
        # The name of an element: `dobj`.
        return isinstance(node, Name) and node.bare and len(node.base) > 1

    def is_token(self, node: Expression, function: Name) -> bool:
        """`w_t`, `w[t]`: tokens by their letter, or because what follows is an embedding."""
        base = node.base if isinstance(node, Index) else node
        if not isinstance(base, Name) or not (isinstance(node, Index) or base.sub):
            return False
        emitted = bool(function.sub) and base.base in (
            "o",
            "O",
        )  # the `b_j(o_t)` of a hidden Markov model
        return emitted or base.base in self.tokens or function.base in ("e", "E")

    def _stem(self, name: Name) -> tuple[Name, tuple[Expression, ...]]:
        """The name without indices and superscript, and its scripts that may be indices."""
        if not name.sub and not name.sup:
            return name, ()
        known = self._stems.get(id(name))
        if known is not None:
            return known[1], known[2]
        words: list[Expression] = []
        scripts: list[Expression] = []
        for script in name.sub:
            if self._is_decoration(script):
                words.append(script)
            elif not _is_group(script):
                scripts.append(script)
        stem = Name(name.base, name.accents, name.primes, tuple(words))
        # The name is kept, so that its id stays its own.
        self._stems[id(name)] = name, stem, tuple(scripts)
        return stem, tuple(scripts)

    def _is_decoration(self, script: Expression) -> bool:
        if script == Number("∞"):
            return True
        if isinstance(script, Name) and not _is_group(script):
            if script.font == "roman":
                return True  # `b_{\\mathrm h}`: a label, whatever letters are indices
            if is_letter(script.base):
                return False
            return not self._splits(script)
        return not isinstance(script, Number | Add | Product | Negative | Index | Call | Name)

    def _splits(self, script: Name) -> bool:
        """Whether a word of letters is really several indices: the `ij` of `W_{ij}`."""
        return (
            script.bare
            and script.base not in WORDS
            and 1 < len(script.base) <= 4
            and not script.base.isdigit()
            and all(c in self.live or c.isdigit() for c in script.base)
        )

    def _live_index(self, script: Expression) -> bool:
        if isinstance(script, Name):
            if is_letter(script.base):
                # A capital alone (`w_T`) is an element only beside other indices.
                return not is_capital(script.base) and (
                    script.base in self.live or bool(script.sub)
                )
            return self._splits(script)
        return not isinstance(script, Number)

    def read(
        self, name: Name, items: tuple[Expression, ...] = (), span: Span | None = None
    ) -> Reference:
        """What a name with the items of its brackets means."""
        known = self._plain.get(id(name))
        if known is None:
            known = self._plain[id(name)] = name, self._read(name)
        reference = known[1]
        if items or span is not None:
            items = (*reference.items, *items)
            span = span or reference.span
            return replace(reference, items=items, span=span)
        return reference

    def _read(self, name: Name) -> Reference:
        if (not name.sub and not name.sup) or name in self.labelled:
            return Reference(name_key(name), (), name.span)
        stem, scripts = self._stem(name)
        seen = self.seen.get(stem, _Seen())
        inside: list[Expression] = []
        kept: list[Expression] = list(stem.sub)
        group: Expression | None = None
        for script in name.sub:
            if _is_group(script):
                group = script
            elif script not in scripts:
                continue
            elif isinstance(script, Number):
                if _is_digits(script, seen):
                    inside.extend(Number(d, span=script.span) for d in script.text)
                else:
                    (inside if seen.indexed else kept).append(script)
            elif isinstance(script, Name) and not is_letter(script.base):
                inside.extend(
                    Number(c, span=script.span) if c.isdigit() else Name(c, span=script.span)
                    for c in script.base
                )
            elif self._live_index(script) or seen.indexed:
                inside.append(script)
            else:
                kept.append(script)
        if self._is_step(name, seen):
            inside.insert(0, _without_group(name.sup[0]))
            name = replace(name, sup=())
        sup, power = self._superscript(name, seen)
        kept.sort(key=name.sub.index)  # as they are written
        if tuple(kept) != name.sub or sup != name.sup:
            name = Name(name.base, name.accents, name.primes, tuple(kept), sup, span=name.span)
        return Reference(name_key(name), tuple(inside), name.span, power, group, len(inside))

    def _is_step(self, name: Name, seen: _Seen) -> bool:
        """`Φ^{t+1}` beside `Φ^t`, `W^{(l)}` beside `h^{(l+1)}`: a step of time or layer, above."""
        step = _step(name.sup)
        if step is None:
            return False
        if step[0] not in self.steps:  # the t of `a_t = Σ_i α_i^t h_i`
            plain = step[1] and not isinstance(name.sup[0], Group)
            return plain and step[0] in self.live and seen.indexed and not seen.without_sup
        if not step[1] and seen.scalar:
            return False
        if step[0] in seen.sup_shifted or isinstance(name.sup[0], Group):
            return True
        return not seen.without_sup  # `β^t` beside `β` is a power

    def _superscript(
        self, name: Name, seen: _Seen
    ) -> tuple[tuple[Expression, ...], Expression | None]:
        """Whether a superscript is a decoration or a power."""
        if not name.sup:
            return (), None
        if len(name.sup) > 1:
            return name.sup, None
        if name.base == "e" and not (name.sub or name.accents or name.primes or seen.brackets):
            return (), name.sup[0]  # Euler's number
        script = name.sup[0]
        grouped = isinstance(script, Group)
        if isinstance(script, Star) or (grouped and not _arithmetic(script)):
            return name.sup, None
        if isinstance(script, Name) and (script.font == "roman" or not is_letter(script.base)):
            return name.sup, None
        if name_key(Name("x", sup=name.sup)) in seen.bracketed_sups:
            return name.sup, None
        if isinstance(script, Name) and (is_capital(script.base) or script.base in GROUPS):
            return name.sup, None
        if isinstance(script, Name) and script.base not in self.live:
            return name.sup, None
        if isinstance(script, Number) and not seen.numbered:
            return (), script
        if isinstance(script, Number) and self.layers and not seen.without_sup:
            return name.sup, None
        if seen.without_sup or not seen.indexed or grouped:
            return (), script
        return name.sup, None


def _names_its_places(node: Index) -> bool:
    assert isinstance(node.base, Name)
    script = node.base.sub[0] if len(node.base.sub) == 1 else None
    word = script.base if isinstance(script, Name) and script.bare else ""
    places = {n.base for item in node.items for n in item.walk() if isinstance(n, Name)}
    return len(word) == len(node.items) and word.isalpha() and set(word) <= places


def _is_digits(script: Number, seen: _Seen) -> bool:
    """Whether a number below a name is an index for each digit: the `21` of `α_{21}`."""
    length = len(script.text)
    alike = seen.digit_lengths == {length} and (seen.indexed or script.text.isdigit())
    return alike and 1 < length <= MOST_DIGITS


def _step(sup: tuple[Expression, ...]) -> tuple[str, bool] | None:
    """The letter of a superscript that may be an index, and whether it stands alone."""
    if len(sup) != 1 or (isinstance(sup[0], Name) and sup[0].font == "roman"):
        return None
    script = sup[0]
    if isinstance(script, Group):
        script = script.body
    if isinstance(script, Add) and len(script.terms) == 2:
        first, second = script.terms
        number = second.body if isinstance(second, Negative) else second
        name = index_name(first)
        if name is not None and isinstance(number, Number) and not is_capital(name.base):
            return name.base, False
    name = index_name(script)
    if name is not None and not is_capital(name.base):
        return name.base, True
    return None


def _carried(statement: Statement) -> set[str]:
    """The t of `η^t = g^t / s^t`: above the name on the left, and above others on the right.

    Beside square brackets, `G^r[t,j] = σ(… - B^r[j])`, what is above a name is a part of the name.
    """
    if isinstance(statement, Equation) and isinstance(statement.sides[0], Index):
        return set()
    left = _head(statement.sides[0]) if isinstance(statement, Equation) else None
    step = _step(left.sup) if isinstance(left, Name) else None
    if step is None or not step[1] or not isinstance(statement, Equation):
        return set()
    assert isinstance(left, Name)
    if isinstance(left.sup[0], Group):
        return set()  # `l^{(i)}(w, b)` is for vector style
    names = [n for side in statement.sides[1:] for n in side.every(Name)]
    others = {n.base for n in names if n.sup == left.sup and n.base != left.base}
    alone = {n.base for n in names if not n.sup}
    return {step[0]} if others - alone else set()


def _head(left: Expression) -> Expression:
    """The name that a left side begins with."""
    while isinstance(left, Index | Call):
        left = left.base if isinstance(left, Index) else left.function
    return left


def _arithmetic(script: Expression) -> bool:
    """`(t-s)`, `(2n)`: something is computed in the brackets; `(h)` and `(1)` only name."""
    script = _without_group(script)
    return isinstance(script, Add | Negative | Product | Fraction)


def _without_group(script: Expression) -> Expression:
    return script.body if isinstance(script, Group) else script


def _is_group(script: Expression) -> bool:
    """`Φ`, `Φ[ℓ]`, `Φ.c`."""
    base = script.base if isinstance(script, Index) else script
    return isinstance(base, Name) and base.base.split(".")[0] in GROUPS and not base.sub
