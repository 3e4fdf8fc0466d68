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
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.signs import SCRIPT_LETTERS
from indicial.notation.source import Span
from indicial.program.names.letters import (
    GROUPS,
    PARAMETERS,
    index_name,
    is_capital,
    is_letter,
    is_word_below,
    letters_bound,
    live_letters,
    shifted,
    token_letters,
)
from indicial.program.names.numbering import numbering

APPLIED = "applied"
"""The font of a function that is taken of each element, whatever it is (`applied.py`)."""
FUNCTION_LETTERS = frozenset("fgφψ")
"""Letters that are a function where nothing says otherwise; any other letter is a factor."""
VALUES = frozenset("VvQqU")
"""Tables of what states and actions are worth."""
ACTIVATIONS = frozenset(
    {"LeakyReLU", "PReLU", "activation", "Activation", "act", "Act", "激活函数"}
)
"""Functions of a number that everyone knows but for a slope, which is not said: each stands in for itself."""


def activates(call: s.Call) -> bool:
    """`f(…)`; `σ_h(W x + b)` and `σ_h(c_t)` too, but not `σ_i (x - μ)`."""
    name = call.function
    inside = call.arguments[0] if len(call.arguments) == 1 else None
    if name.font == APPLIED:
        return True
    if name.base in "ahs" and inside is not None and (name.primes or isinstance(inside, s.Add)):
        return not (name.sup or name.accents) and maps(inside)  # `a_h(W x + b)`, `s'(W h)`
    if name.base == "ℋ":  # whatever the hidden layer does
        return inside is not None and maps(inside)
    if len(call.arguments) != 1 or name.base != "σ" or not name.sub:
        return name.base in FUNCTION_LETTERS or name.base in ACTIVATIONS
    return isinstance(call.arguments[0], s.Name | s.Index) or maps(call.arguments[0])


def maps(inside: s.Expression) -> bool:
    """`W x + b`: a sum or product with a matrix in it."""
    capitals = any(is_capital(n.base) or "Α" <= n.base <= "Ω" for n in inside.every(s.Name))
    return isinstance(inside, s.Add | s.Product) and capitals


_SCRIPTS = frozenset(SCRIPT_LETTERS.values())
MOST_DIGITS = 4
"""A longer number below a name is one number, not an index for each digit."""


@dataclass(frozen=True)
class Reference:
    """A name as it is meant at one place."""

    key: str
    items: tuple[s.Expression, ...]
    span: Span
    power: s.Expression | None = None
    group: s.Expression | None = None
    """The parameter group: the `Φ[ℓ]` of `CELL_{Φ[ℓ]}`."""
    scripts: int = 0
    """How many of the items stand below or above the name, in front of those in brackets."""


@dataclass
class _Seen:
    """What the survey found out about one stem (a name without numbers, indices and powers)."""

    indexed: bool = False
    """Somewhere a subscript is an index."""
    indexed_under: set[str] = field(default_factory=set)
    """The labels above it where one is: the Q of `W_i^Q`, beside which `W_1` is another name."""
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

    def __init__(self, statements: Iterable[s.Statement], prose: bool = False) -> None:
        statements = list(statements)
        self.prose = prose
        self.live = set[str]().union(*map(live_letters, statements))
        below, above = numbering(statements) if prose else (set(), set())
        self.live |= below
        self.bound = letters_bound(statements)
        """The letters that stand below a Σ, capitals too."""
        bracketed = list(s.every(statements, s.Index))
        items = (item for node in bracketed for item in node.items)
        self.placed = {i for i in items if isinstance(i, s.Name) and i.accents}
        """Names with accents that stand in square brackets: the ŷ of `W[ŷ,j]`."""
        self.labelled = {node.base for node in bracketed if _names_its_places(node)}
        """Names whose script says what their brackets hold: `P_{xy}[x,y]`."""
        self.vectors: set[str] = set()
        """The letters that sentences call vectors (`sorting.py`)."""
        self.tokens = {"w", "y"}.union(*map(token_letters, statements))
        self.seen: dict[s.Name, _Seen] = defaultdict(_Seen)
        self.raised: dict[str, set[s.Name]] = defaultdict(set)
        """The names that each letter stands above."""
        self.stepped: set[str] = set()
        """The letters that stand above a name on a left side."""
        self._stems: dict[int, tuple[s.Name, s.Name, tuple[s.Expression, ...]]] = {}
        self._plain: dict[int, tuple[s.Name, Reference]] = {}
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
        } | set[str]().union(above, *map(_carried, statements))
        """The letters that are stepped above a name: the l of `h^{(l+1)}`."""

    def _survey(self, statement: s.Statement) -> None:
        bracketed: set[int] = set()
        before_round: dict[int, bool] = {}
        listed: set[int] = set()
        below: set[int] = set()  # the d of `W_d` is a label
        left = s.head(statement.sides[0]) if isinstance(statement, s.Equation) else None
        if isinstance(statement, s.Equation) and isinstance(statement.sides[0], s.Name):
            bracketed.add(id(statement.sides[0]))
        for node in statement.every(s.Name, s.Index, s.Call, s.TupleLiteral):
            if isinstance(node, s.Name):
                stem, scripts = self._stem(node)
                seen = self.seen[stem]
                for script in scripts if node not in self.labelled else ():
                    if isinstance(script, s.Number):
                        seen.digit_lengths.add(len(script.text))
                    elif self._live_index(script):
                        seen.indexed = True
                        seen.indexed_under.add(_label(node.sup))
                if (
                    node.sup
                    and isinstance(node.sup[0], s.Number)
                    and node.sup[0].text in ("0", "1")
                ):
                    seen.numbered = True
                for above in node.sup:
                    if isinstance(above, s.Name):
                        self.raised[above.base].add(stem)
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
                    seen.bracketed_sups.add(name_key(s.Name("x", sup=node.sup)))
                elif id(node) in before_round:
                    sup = name_key(s.Name("x", sup=node.sup))
                    index = before_round[id(node)] or seen.round_sups.get(sup, False)
                    seen.round_sups[sup] = index
            elif isinstance(node, s.TupleLiteral):
                listed.update(map(id, node.items))
            elif isinstance(node, s.Index):
                if isinstance(node.base, s.Name):
                    bracketed.add(id(node.base))
            elif isinstance(node, s.Call):
                if self._may_be_power(node, node.function):
                    before_round[id(node.function)] = self._holds_index(node, node.function)
                else:
                    bracketed.add(id(node.function))

    def _may_be_power(self, call: s.Call, name: s.Name) -> bool:
        """`a^2 (x + y)`, `e^{-z} (1 - z)`, `γ^(t-s) (…)`: a letter with something to raise it to."""
        if len(name.sup) != 1 or len(call.arguments) != 1 or call.given is not None:
            return False
        if (
            not is_letter(name.base)
            or name.base in FUNCTION_LETTERS | {"σ"}
            or name.font == APPLIED
        ):
            return False
        script = name.sup[0]
        if isinstance(script, s.Number) or _arithmetic(script):
            return True
        index = index_name(script)
        return index is not None and index.base in self.live and not is_capital(index.base)

    def _holds_index(self, call: s.Call, name: s.Name) -> bool:
        """`h^2(t)`, `e^2(w_t)`; Euler's number has no index."""
        if name.base == "e" and _arithmetic(name.sup[0]):
            return False
        (inside,) = call.arguments
        return self.is_index(inside) or self.is_token(inside, name)

    def is_index(self, node: s.Expression) -> bool:
        """Whether something in round brackets is an index: its letters are indices elsewhere."""
        if isinstance(node, s.Number):
            return True
        if isinstance(node, s.Add):
            return all(self.is_index(t) for t in node.terms)
        if isinstance(node, s.Negative):
            return self.is_index(node.body)
        if isinstance(node, s.Product):
            return all(self.is_index(f) for f in node.factors)
        name = index_name(node)
        if name is not None and name.sub and self.seen[replace(name, sub=())].indexed:
            return False  # the o_1 of `b_j(o_1)` beside o_t
        if name is not None:
            return name.font != "bold" and (name.base in self.live or is_capital(name.base))
        if isinstance(node, s.Name) and node in self.placed:
            return True
        # The name of an element: `dobj`.
        return isinstance(node, s.Name) and node.bare and len(node.base) > 1

    def is_token(self, node: s.Expression, function: s.Name) -> bool:
        """`w_t`, `w[t]`: tokens by their letter, or because what follows is an embedding."""
        base = node.base if isinstance(node, s.Index) else node
        if not isinstance(base, s.Name) or not (isinstance(node, s.Index) or base.sub):
            return False
        if base.accents and base not in self.placed:
            return False  # the ŷ_t of `l(y_t, ŷ_t)` is a value
        # The `b_j(o_t)` and `b_j(x_t)` of a hidden Markov model, the `V(S_t)` of a chain with rewards.
        seen = ("o", "O", "x", "y", "v") if function.base == "b" else ("o", "O")
        emitted = bool(function.sub) and base.base in seen
        emitted = emitted and base.font != "bold" and base.base not in self.vectors
        valued = function.base in VALUES and not base.accents and base.base in ("S", "A", "s", "a")
        return emitted or valued or base.base in self.tokens or function.base in ("e", "E")

    def _stem(self, name: s.Name) -> tuple[s.Name, tuple[s.Expression, ...]]:
        """The name without indices and superscript, and its scripts that may be indices."""
        if not name.sub and not name.sup:
            return name, ()
        known = self._stems.get(id(name))
        if known is not None:
            return known[1], known[2]
        words: list[s.Expression] = []
        scripts: list[s.Expression] = []
        for script in name.sub:
            if self._is_decoration(script):
                words.append(script)
            elif not _is_group(script):
                scripts.append(script)
        stem = s.Name(name.base, name.accents, name.primes, tuple(words))
        # The name is kept, so that its id stays its own.
        self._stems[id(name)] = name, stem, tuple(scripts)
        return stem, tuple(scripts)

    def _is_decoration(self, script: s.Expression) -> bool:
        if script == s.Number("∞"):
            return True
        if isinstance(script, s.Name) and not _is_group(script):
            if script.font == "roman" or script.base in _SCRIPTS:
                return True  # `b_{\\mathrm h}`, `μ_ℬ`: labels, whatever letters are indices
            if is_letter(script.base):
                return False
            return not self._splits(script)
        return not isinstance(
            script, s.Number | s.Add | s.Product | s.Negative | s.Index | s.Call | s.Name
        )

    def _splits(self, script: s.Name) -> bool:
        """Whether a word of letters is really several indices: the `ij` of `W_{ij}`."""
        return (
            script.bare
            and 1 < len(script.base) <= 4
            and not is_word_below(script.base)
            and not script.base.isdigit()
            and all(c in self.live or c.isdigit() for c in script.base)
        )

    def _live_index(self, script: s.Expression) -> bool:
        if isinstance(script, s.Name):
            if is_letter(script.base):
                # A capital alone (`w_T`) is an element only beside other indices.
                return not is_capital(script.base) and (
                    script.base in self.live or bool(script.sub)
                )
            return self._splits(script)
        return not isinstance(script, s.Number)

    def read(
        self, name: s.Name, items: tuple[s.Expression, ...] = (), span: Span | None = None
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

    def _read(self, name: s.Name) -> Reference:
        if (not name.sub and not name.sup) or name in self.labelled:
            return Reference(name_key(name), (), name.span)
        stem, scripts = self._stem(name)
        seen = self.seen.get(stem, _Seen())
        inside: list[s.Expression] = []
        kept: list[s.Expression] = list(stem.sub)
        group: s.Expression | None = None
        indexed = _label(name.sup) in seen.indexed_under
        for script in name.sub:
            if _is_group(script):
                group = script
            elif script not in scripts:
                continue
            elif isinstance(script, s.Number):
                if _is_digits(script, seen) and len(name.sub) == 1:
                    inside.extend(s.Number(d, span=script.span) for d in script.text)
                else:
                    (inside if indexed else kept).append(script)
            elif isinstance(script, s.Name) and not is_letter(script.base):
                inside.extend(
                    s.Number(c, span=script.span) if c.isdigit() else s.Name(c, span=script.span)
                    for c in script.base
                )
            elif isinstance(script, s.Name) and _names_parameters(script, self.bound):
                kept.append(script)
            elif self._live_index(script) or seen.indexed:
                inside.append(script)
            else:
                kept.append(script)
        if self._is_step(name, seen):
            inside.insert(0, s.inner(name.sup[0]))
            name = replace(name, sup=())
        sup, power = self._superscript(name, seen)
        kept.sort(key=name.sub.index)  # as they are written
        if tuple(kept) != name.sub or sup != name.sup:
            name = s.Name(name.base, name.accents, name.primes, tuple(kept), sup, span=name.span)
        return Reference(name_key(name), tuple(inside), name.span, power, group, len(inside))

    def _is_step(self, name: s.Name, seen: _Seen) -> bool:
        """`Φ^{t+1}` beside `Φ^t`, `W^{(l)}` beside `h^{(l+1)}`: a step of time or layer, above."""
        step = _step(name.sup)
        if step is None:  # the `H^0` of `H^{l+1} = … + α H^0`
            first = len(name.sup) == 1 and name.sup[0] == s.Number("0")
            stepped = seen.sup_defined and not seen.without_sup and bool(seen.sup_shifted)
            return first and stepped
        if step[0] not in self.steps:  # the t of `a_t = Σ_i α_i^t h_i`
            plain = step[1] and not isinstance(name.sup[0], s.Group)
            return plain and step[0] in self.live and seen.indexed and not seen.without_sup
        if not step[1] and seen.scalar:
            return False
        if step[0] in seen.sup_shifted or isinstance(name.sup[0], s.Group):
            return True
        layer = step[0] in ("l", "ℓ") and is_capital(name.base)  # `W^l`, beside a width W
        return layer or not seen.without_sup  # `β^t` beside `β` is a power

    def _superscript(
        self, name: s.Name, seen: _Seen
    ) -> tuple[tuple[s.Expression, ...], s.Expression | None]:
        """Whether a superscript is a decoration or a power."""
        if not name.sup:
            return (), None
        if len(name.sup) > 1:
            return name.sup, None
        if name.base == "e" and not (name.sub or name.accents or name.primes or seen.brackets):
            return (), name.sup[0]  # Euler's number
        script = name.sup[0]
        grouped = isinstance(script, s.Group)
        if isinstance(script, s.Star) or (grouped and not _arithmetic(script)):
            return name.sup, None
        if isinstance(script, s.Name) and (script.font == "roman" or not is_letter(script.base)):
            return name.sup, None
        if name_key(s.Name("x", sup=name.sup)) in seen.bracketed_sups:
            return name.sup, None
        if isinstance(script, s.Name) and not seen.sup_defined and self._is_exponent(name, script):
            return (), script
        if isinstance(script, s.Name) and (is_capital(script.base) or script.base in GROUPS):
            return name.sup, None
        if isinstance(script, s.Name) and script.base not in self.live:
            return name.sup, None
        if isinstance(script, s.Number) and not seen.numbered:
            return (), script
        if isinstance(script, s.Number) and self.layers and not seen.without_sup:
            return name.sup, None
        if seen.without_sup or not seen.indexed or grouped:
            return (), script
        return name.sup, None

    def _is_exponent(self, name: s.Name, script: s.Name) -> bool:
        """The N of `λ^N`, the α of `η^α` and of `N^α`: above a number by its letter, and above no other."""
        by_greek = "α" <= script.base <= "ω"
        greek = "α" <= name.base <= "ω" or (by_greek and name.base in "NTDCM")
        counts = script.base in "NLKMnmk" or by_greek
        plain = not (name.sub or name.accents or name.primes) and script.bare
        return greek and counts and plain and len(self.raised[script.base]) == 1


def _names_its_places(node: s.Index) -> bool:
    below = node.base.sub if isinstance(node.base, s.Name) else ()
    script = below[0] if len(below) == 1 else None
    word = script.base if isinstance(script, s.Name) and script.bare else ""
    places = {n.base for item in node.items for n in item.every(s.Name)}
    return len(word) == len(node.items) and word.isalpha() and set(word) <= places


def _label(sup: tuple[s.Expression, ...]) -> str:
    """What stands above a name and tells it from others: a word or a capital; no index or power."""
    match sup:
        case (s.Name(base=base, font=font),) if (
            len(base) > 1 or is_capital(base) or font == "roman"
        ):
            return base
    return ""


def _is_digits(script: s.Number, seen: _Seen) -> bool:
    """Whether a number below a name is an index for each digit: the `21` of `α_{21}`."""
    length = len(script.text)
    alike = seen.digit_lengths == {length} and (seen.indexed or script.text.isdigit())
    return alike and 1 < length <= MOST_DIGITS


def _step(sup: tuple[s.Expression, ...]) -> tuple[str, bool] | None:
    """The letter of a superscript that may be an index, and whether it stands alone."""
    if len(sup) != 1 or (isinstance(sup[0], s.Name) and sup[0].font == "roman"):
        return None
    found = shifted(sup[0])
    if found is None or is_capital(found[0].base):
        return None
    return found[0].base, not isinstance(s.inner(sup[0]), s.Add)


def _carried(statement: s.Statement) -> set[str]:
    """The t of `η^t = g^t / s^t`: above the name on the left, and above others on the right.

    Beside square brackets, `G^r[t,j] = σ(… - B^r[j])`, what is above a name is a part of the name.
    """
    if isinstance(statement, s.Equation) and isinstance(statement.sides[0], s.Index):
        return set()
    left = s.head(statement.sides[0]) if isinstance(statement, s.Equation) else None
    step = _step(left.sup) if isinstance(left, s.Name) else None
    if step is None or not step[1] or not isinstance(statement, s.Equation):
        return set()
    assert isinstance(left, s.Name)
    if isinstance(left.sup[0], s.Group):
        return set()  # `l^{(i)}(w, b)` is for vector style
    names = [n for side in statement.sides[1:] for n in side.every(s.Name)]
    own = replace(left, sup=())
    others = {n.base for n in names if n.sup == left.sup and replace(n, sup=()) != own}
    alone = {n.base for n in names if not n.sup}
    return {step[0]} if others - alone and left.base not in alone else set()  # `H^q = H W^q`


def _arithmetic(script: s.Expression) -> bool:
    """`(t-s)`, `(2n)`: something is computed in the brackets; `(h)` and `(1)` only name."""
    return isinstance(s.inner(script), s.Add | s.Negative | s.Product | s.Fraction)


def _is_group(script: s.Expression) -> bool:
    """`Φ`, `Φ[ℓ]`, `Φ.c`."""
    base = script.base if isinstance(script, s.Index) else script
    return isinstance(base, s.Name) and base.base.split(".")[0] in GROUPS and not base.sub


def _names_parameters(script: s.Name, bound: Collection[str]) -> bool:
    """The θ of `h_θ`, where no `Σ_θ` runs over it."""
    return script.base in PARAMETERS and script.bare and script.base not in bound
