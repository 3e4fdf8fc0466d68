"""Letters: which can be indices, what they range over, and which are certainly used as indices.

family(t_1) is t, whose size is capital("t") = T
live_letters(y[i] = Σ_j W[i,j] x[j])    →    {i, j}
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from indicial.notation import syntax as s
from indicial.notation.node import kept
from indicial.notation.printers import name_key
from indicial.notation.signs import SCRIPT_LETTERS
from indicial.notation.vocabulary import FUNCTIONS, WORDS_BELOW

WORDS = WORDS_BELOW

MADE_FAMILY = "n_{entry}"
"""The letters of equations that nobody wrote; a size is called by those of others."""
GROUPS = frozenset("ΦΘΨΩ")
"""Letters that name a group of parameters: `P_Φ`, `CELL_Φ`."""


_SETS = frozenset(SCRIPT_LETTERS.values())
"""`μ_ℬ` is of the batch ℬ: a script letter numbers nothing."""
_NO_INDICES = GROUPS | _SETS
PARAMETERS = frozenset("θφψ")
"""Letters that say below a name whose parameters it has: `μ_θ(x_t) = a_t z_θ`."""


def is_word_below(run: str) -> bool:
    """Whether a run of letters below a name is a word, and no index by index: `gate` and `next`, not `btij`."""
    return run in WORDS or (len(run) == 4 and bool(set("aeou") & set(run)))


@lru_cache(10_000)
def is_letter(base: str) -> bool:
    """One letter (`t`, `ℓ`, `α`), or a window (`Δt`)."""
    return (len(base) == 1 and base.isalpha()) or (len(base) == 2 and base[0] == "Δ")


def is_lone(node: s.Expression) -> bool:
    """A letter without any decoration: `t`, but not `t_1`."""
    return isinstance(node, s.Name) and node.bare and is_letter(node.base)


def is_capital(base: str) -> bool:
    """A letter that stands for a whole range: `J`, `ΔT`. A script letter (`ℒ`) does not."""
    return is_letter(base) and "A" <= base[-1] <= "Z"


def index_name(node: s.Expression) -> s.Name | None:
    """The node as the name of an index, if it can be one: `t`, `t_1`, `t'`, `ŷ`, `t_{in}`, `J`."""
    if not isinstance(node, s.Name) or node.sup or not is_letter(node.base):
        return None
    if node.base in _NO_INDICES:
        return None
    if not node.sub or all(isinstance(script, s.Number) or _worded(script) for script in node.sub):
        return node
    return None


def index_expression(node: s.Expression, tensors: frozenset[str] | set[str] = frozenset()) -> bool:
    """Whether something in round brackets can be an index: `t-1`, `J`, `w`, `2t+Δt`, `w_t`.

    A name of a tensor is not (`k_a + k_b` is a factor): `tensors` are the keys that are known.
    """
    if isinstance(node, s.Number):
        return True
    if isinstance(node, s.Name):
        return not {node.base, name_key(node)} & tensors and not node.sup
    if isinstance(node, s.Add):
        return all(index_expression(t, tensors) for t in node.terms)
    if isinstance(node, s.Negative):
        return index_expression(node.body, tensors)
    if isinstance(node, s.Product):
        return all(index_expression(f, tensors) for f in node.factors)
    return isinstance(node, s.TupleLiteral | s.Interval)


def is_hole(node: s.Expression) -> bool:
    """A word in capitals, which a cell can fill: the `CELL` of `CELL = lstm`."""
    return isinstance(node, s.Name) and len(node.base) > 1 and node.base.isupper()


def _worded(node: s.Expression) -> bool:
    return isinstance(node, s.Name) and len(node.base) > 1 and not is_letter(node.base)


@kept
def family(name: s.Name) -> str:
    """What an index shares its range with: `t_1`, `t'` and `T` are of the family `t`.

    >>> family(s.Name("T", sub=(s.Number("2"),)))
    't'
    """
    base = name.base
    base = "ℓ" if base in ("L", "l", "ℓ") else base[:-1] + base[-1].lower()
    words = tuple(script for script in name.sub if not isinstance(script, s.Number))
    return name_key(s.Name(base, sub=words))


def capital(of_family: str) -> str:
    """The size that a family ranges over: `t` → `T`, `t_{in}` → `T_{in}`, `ℓ` → `L`."""
    head, _, tail = of_family.partition("_")
    head = "L" if head == "ℓ" else head[:-1] + head[-1].upper()
    return head + ("_" + tail if tail else "")


@kept
def live_letters(statement: s.Statement) -> frozenset[str]:
    """The letters that are certainly used as indices: in brackets, as binders, on left sides."""
    live: set[str] = set()
    for node in statement.walk():
        if isinstance(node, s.Index):
            called = node.base.arguments if isinstance(node.base, s.Call) else ()  # `e(w)[I]`
            if isinstance(node.base, s.Call) and node.base.word in FUNCTIONS:
                called = ()  # `σ(W x)_j`
            for item in (*called, *node.items):
                live.update(_letters(item))
        elif isinstance(node, s.Reduction):
            for under in node.under:
                live.update(_letters(under))
    if isinstance(statement, s.Declaration) and statement.keyword in ("label", "range"):
        for item in statement.items:
            live.update(_letters(item))
    if isinstance(statement, s.Equation) and len(statement.sides) > 1:
        call = statement.sides[0]
        call = call.base if isinstance(call, s.Index) else call
        if isinstance(call, s.Call):  # the y of `P(y | h)` too
            for item in call.arguments:
                live.update(_letters(item) if shifted(item) is not None else ())
        left = {*_script_letters(statement.sides[0]), *_raised_letters(statement.sides[0])}
        right = {c for side in statement.sides[1:] for c in _script_letters(side)}
        right |= {c for side in statement.sides[1:] for c in _compared(side)}
        right |= {c for side in statement.sides[1:] for c in _ends(side)}
        if not isinstance(statement.sides[0], s.Index):
            right |= {c for side in statement.sides[1:] for c in _counted(side)}
        live.update(_shared(statement))
        # `α_{ij} = 0 for j > i`
        guard = statement.guard.every(s.Name) if statement.guard is not None else ()
        values = (n for side in statement.sides for n in s.values(side) if isinstance(n, s.Name))
        # The z of `s_z = √(Σ_i (z_i - m_z)^2)` is numbered, and numbers nothing.
        named = {n.base for n in values if n.sub}
        live.update(left & (right | {n.base for n in guard if n.bare}) - (named - COUNTING))
    return frozenset(live)


def _shared(equation: s.Equation) -> Iterator[str]:
    """The i and j of `∂L/∂h = (x_{ij} - z_{ij})`: two names with the same letters are elements of two tensors.

    Not what is told apart by them: the `ii` of `W_{ii} x + b_{ii}`.
    """
    stems: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for name in equation.every(s.Name):
        word = name.sub[0] if len(name.sub) == 1 else None
        if isinstance(word, s.Name) and word.bare and not word.font and word.base not in WORDS:
            spelt = word.base
            letters = 1 < len(spelt) < 4 and spelt.islower() and spelt.isascii()
            if letters and set(spelt) <= COUNTING | set("uv") and name.base not in MATRICES | {"b"}:
                stems.setdefault(spelt, set()).add((name.base, name.accents))
    for spelt, names in stems.items():
        yield from spelt if len(names) > 1 else ()


def shifted(item: s.Expression) -> tuple[s.Name, int] | None:
    """`t-1` → t and -1; `t` → t and 0; None for all but an index and a whole number."""
    first, by = s.inner(item), 0
    if isinstance(first, s.Add) and len(first.terms) == 2:
        first, second = first.terms
        number = second.body if isinstance(second, s.Negative) else second
        if not isinstance(number, s.Number) or not number.text.isdigit():
            return None
        by = int(number.text[:6]) * (-1 if number is not second else 1)
    name = index_name(first)
    return None if name is None else (name, by)


def is_step(item: s.Expression) -> bool:
    """The `t-1` of `a(t) = tanh(U h(t-1))`: a step off, of a letter that people number with."""
    found = shifted(item)
    return found is not None and found[1] != 0 and found[0].bare and found[0].base in COUNTING


ALL = s.Name(":")
"""What stands in the place of an index for all along an axis: `X_{i,:}`."""


def is_distance(item: s.Expression, bound: Collection[str]) -> bool:
    """The `i - j` of `Σ_j w(j) s(i - j)`: letters alone, one of which is an index."""
    letters = [t for t in map(s.unsigned, s.terms(item)) if not isinstance(t, s.Number)]
    names = [n for n in letters if isinstance(n, s.Name) and is_lone(n)]
    return len(names) == len(letters) and any(name_key(n) in bound for n in names)


MATRICES = frozenset("WUV")
"""Letters that people keep for matrices."""
LAST = frozenset("TNLM")
"""What may stand for the last element: the T of `y = h_T`."""
OFTEN_VECTORS = frozenset("chkoquvxyz")
"""Letters that are columns more often than not, in a text that has columns."""
COUNTING = frozenset("ijklmnstτℓ")
"""Letters that people number things with."""


def _counted(side: s.Expression) -> Iterator[str]:
    """The letters that are computed with: the t of `η_t = η_0 cos(π t / T)`, the ℓ of `z_ℓ = a^ℓ z_0`."""
    hidden: set[int] = set()
    for node in side.walk():
        if isinstance(node, s.Call):
            hidden.update(id(n) for script in node.function.sup for n in script.walk())
        if isinstance(node, s.Name):
            hidden.update(id(n) for script in node.sub for n in script.walk())
    for node in side.walk():
        plain = isinstance(node, s.Name) and node.bare and not node.font and id(node) not in hidden
        if plain and isinstance(node, s.Name) and node.base in COUNTING:
            yield node.base
        step = shifted(node) if isinstance(node, s.Add) else None
        if step is not None and step[1] and is_lone(step[0]) and step[0].base.islower():
            yield step[0].base  # the w of `k_w = k_0 + (w - 1) S`


def _ends(side: s.Expression) -> Iterator[str]:
    """The letters that sums end at: the b of `W_b = W_0 - Σ_{t=1}^b G_t`."""
    for node in side.every(s.Reduction):
        end = node.upper
        if isinstance(end, s.Name) and end.bare and is_letter(end.base) and end.base.islower():
            yield end.base


def _compared(side: s.Expression) -> Iterator[str]:
    """The letters that cases compare: the i and j of `M_{ij} = 0 if j ≤ i, -∞ otherwise`."""
    for node in side.every(s.Cases):
        for _, condition in node.branches:
            for name in condition.walk() if condition is not None else ():
                letter = name.base if isinstance(name, s.Name) and name.bare else ""
                if is_letter(letter) and (letter.isascii() or letter == "ℓ"):  # no δ of `|a| ≤ δ`
                    yield letter


@kept
def token_letters(statement: s.Statement) -> frozenset[str]:
    """The names that stand for tokens: declared with a vocabulary, variables of a P."""
    found: set[str] = set()
    if isinstance(statement, s.Declaration) and statement.domain is not None:
        found.update(_base(item) for item in statement.items)
    for node in statement.every(s.Call):
        if node.given is not None:
            found.update(_base(a) for a in node.arguments)
    return frozenset(found)


def _base(node: s.Expression) -> str:
    node = node.base if isinstance(node, s.Index) else node
    return node.base if isinstance(node, s.Name) else ""


@kept
def bound_letters(statement: s.Statement) -> frozenset[str]:
    """The letters that stand below a Σ or its kin."""
    return frozenset(
        letter
        for node in statement.every(s.Reduction)
        for under in node.under
        for letter in _letters(under)
    )


def letters_bound(statements: Iterable[s.Statement]) -> set[str]:
    """The same of several statements."""
    return set[str]().union(*map(bound_letters, statements))


def _letters(node: s.Expression) -> Iterator[str]:
    """The index letters of an index expression; the script letters of a gather count too."""
    for inner in node.every(s.Name):
        if is_letter(inner.base) and inner.base not in GROUPS:
            yield inner.base
    if (
        isinstance(node, s.Name)
        and node.bare
        and node.base not in WORDS
        and 1 < len(node.base) <= 3
    ):
        yield from node.base if node.base.isalpha() and node.base.islower() else ()  # `Σ_{ij}`


def _raised_letters(left: s.Expression) -> Iterator[str]:
    """The i of `u^i_j = v d_i`, `u^{(i)} = v d_i`: what has an index below, or brackets, is no power on a left side."""
    if (
        isinstance(left, s.Name)
        and len(left.sup) == 1
        and (left.sub or isinstance(left.sup[0], s.Group))
    ):
        name = index_name(s.inner(left.sup[0]))
        if name is not None and name.bare and name.base in COUNTING:  # not the f of `x_t^f`
            yield name.base


def _script_letters(node: s.Node) -> Iterator[str]:
    for inner in node.every(s.Name):
        for script in inner.sub:
            if isinstance(script, s.Name) and (script.font == "roman" or script.accents):
                continue
            if isinstance(script, s.Name) and script.base in PARAMETERS:
                continue
            yield from (c for c in _letters(script) if not is_capital(c))
            if not isinstance(script, s.Name) or not script.bare or script.base in WORDS:
                continue
            # The letters of `e_{ij}` may be indices; of `h_{in}` they are not.
            if 1 < len(script.base) <= 4 and script.base.islower():
                yield from script.base
