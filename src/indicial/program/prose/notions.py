r"""A piece of an equation of prose → the notion that it is about, if that is none of tensors; or nothing.

\mathbb{E}_x[f(x)]         it holds an expectation
\frac{dy}{dx}              it is about derivatives
P(S_t = u)                 it is about the probability of an event
x * K                      x * K may be a convolution
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.notation.signs import SCRIPT_LETTERS
from indicial.program.names.letters import (
    ALL,
    COUNTING,
    GROUPS,
    WORDS,
    index_expression,
    index_name,
    is_capital,
    is_lone,
    is_word_below,
    letters_bound,
)
from indicial.program.names.naming import activates
from indicial.program.names.outline import Outline
from indicial.program.names.uses import BUILT_IN, PROBABILITY
from indicial.program.vectors.kinds import GREEK_MATRICES
from indicial.program.vectors.leaves import JOINING
from indicial.program.vectors.shapes import dotted, inverted
from indicial.program.vectors.spelling import asterisk, convolved

_LOG = ("log", "ln")
OPERATORS = frozenset(
    {
        "Var", "var", "Cov", "cov", "Corr", "corr", "KL", "JS", "TV", "MI", "MSE", "Bias", "Pr", "Pop",
        "sup", "inf", "arg", "gcd", "mod", "det", "rank", "dim", "supp",
    }
)  # fmt: skip
"""Words that are no tensors, whatever brackets follow them."""


_SETS = frozenset(SCRIPT_LETTERS.values()) - set("ℒ𝒩𝒰")
"""Script letters: sets, structures, distributions. A loss and what is drawn from are read."""


def _is_tensor(name: s.Name, outline: Outline) -> bool:
    """A script letter that is declared, or that is only ever a factor, or what a product of matrices is."""
    if name.base in outline.declared:
        return True
    plain: set[int] = set()
    for product in s.every(outline.statements, s.Product):
        factors = [f.body if isinstance(f, s.Transpose) else f for f in product.factors]
        others = [f for f in factors if isinstance(f, s.Name) and f.base not in _SETS]
        if any(is_capital(f.base) for f in others):
            plain |= set(map(id, factors))
    for statement in outline.statements:
        if isinstance(statement, s.Equation) and isinstance(statement.sides[-1], s.Product):
            right = statement.sides[-1]
            turned = any(n.sup == (s.Name("T"),) for n in right.every(s.Name))
            turned = turned or bool(right.every(s.Transpose))
            plain |= {id(statement.sides[0])} if turned else set()
    uses = [n for n in s.every(outline.statements, s.Name) if n.base == name.base]
    return bool(uses) and all(id(n) in plain for n in uses)


def _activates(name: s.Name, outline: Outline) -> bool:
    """The ℋ of `h_t = ℋ(W x_t + b)`, which stands before such brackets alone."""
    calls = [c for c in s.every(outline.statements, s.Call) if activates(c)]
    known = s.ids(c.function for c in calls)
    return all(id(n) in known for n in s.every(outline.statements, s.Name) if n.base == name.base)


def _is_function_name(node: s.Expression) -> bool:
    """The σ and tanh of `(σ, σ, σ, tanh)^⊤ W [h; x]`, which nothing is given to."""
    return isinstance(node, s.Name) and node.bare and node.base in BUILT_IN


def notion(node: s.Node, outline: Outline) -> str:
    """What a node is about that tensors are not; nothing for all others."""
    match node:
        case s.Name(sub=places) | s.Index(base=s.Name(), items=places) if ALL in places:
            return "it takes a part of something"
        case s.Call() if _of_an_event(node):
            return "it is about the probability of an event"
        case s.Index() if any(_is_distribution(item, outline) for item in node.items):
            return "it is about a function of distributions"
        case s.Fraction() if all(_first(part) in ("d", "∂") for part in (node.above, node.below)):
            return "it is about derivatives"
        case s.Name(sub=(s.SetLiteral() | s.Group(bracket="{") | s.Comparison(), *_)) if (
            len(node.base) == 1
        ):
            return f"{unicode(node)} may be an indicator"
        case s.Name(sub=(s.Comparison(operators=("∈",)), *_)):  # `AGG_{u ∈ N(v)} m_u`
            return f"it takes {node.base} over a set"
        case s.Product(factors=(s.Name() as one, s.Name() as two)) if (
            convolved(one, two) and not {one.base, two.base} & outline.naming.bound
        ):  # the `d * k` of `Σ_k w[k] * x[t - d * k]` is a place
            return f"{unicode(one)} * {unicode(two)} may be a convolution"
        case s.Product() if _convolved_as_said(node):
            return "it is about a convolution"
        case s.Call(given=None) if (
            s.Dots() in node.arguments and node.word not in JOINING | PROBABILITY
        ):
            return "it goes on with dots"
        case s.Cases(branches=branches) if any(map(_in_words, branches)):
            return "it says in words when a case holds"
        case s.Cases(branches=branches) if word := _said_of(branches, outline):
            return f"one of its cases is about {word}"
        case s.Cases(branches=((_, None), _, *_)):
            return "it lists alternatives, and says of none when it holds"
        case s.ListLiteral() if any(map(_is_function_name, node.items)):
            return "it lists functions"
        case s.Name() if node.base.endswith((".shape", ".size", ".ndim")):
            return "it is about shapes"
        case s.Name() if node.base == "𝔼":
            return "it holds an expectation"
        case s.Name(base="OR" | "AND" | "or" | "and", font="roman"):
            return f"it holds the word “{node.base}”"
        case s.Name() if node.base in OPERATORS and not _on_a_left_side(node, outline):
            return f"it uses {node.base}"
        case (
            s.Name(base="e", sup=(exponent,))
            | s.Call(function=s.Name(base="exp"), arguments=(exponent,))
        ) if any(_imaginary(term, outline) for term in s.terms(exponent)):
            return "it uses complex numbers"
        case s.Name(base="e", sub=(), sup=(s.Name(),)) if _on_a_left_side(node, outline):
            return "e is a name here, and may be Euler's number"
        case s.Name(base="e", sup=(s.Number("2"),)) if _only_squared(outline):
            return "e^2 may be the square of an e, or exp(2)"
        case s.Name() if node.base in _SETS and not (
            _is_tensor(node, outline) or _activates(node, outline)
        ):
            return f"{node.base} is a set or a structure"
        case s.Index() | s.Call() | s.Product() if _expects(node, outline):
            return "it holds an expectation"
        case s.Index() if node.base in outline.heads and any(map(_is_bold, node.items)):
            return "it is about a function of vectors"
        case s.Call() if node.word not in BUILT_IN and any(map(_is_moment, node.arguments)):
            return "it is about continuous time"
        case s.Name(font="bold", sup=(s.Name() as power,)) if _is_exponent(node, power, outline):
            return "it takes a power of a matrix"
        case s.Name(sup=(s.Name() as letter,)) if _numbered_above(node, letter, outline):
            return f"{unicode(node)} may be a power, or {node.base} for each {letter.base}"
        case s.Name(sup=(s.Product(factors=factors),)) if _spell_indices(factors, outline):
            return f"{unicode(node)} has letters above that may be indices"
        case s.Name(sup=(s.TupleLiteral(items=items),)) if any(_counts(i, outline) for i in items):
            return f"{unicode(node)} has letters above that may be indices"
        case s.Name(sup=(s.Name() as both,)) if _of_a_head(both, outline):
            return f"{unicode(node)} has letters above that may be indices"
        case s.Name(sub=(s.Name() as word,)) if _half_indices(word, outline):
            return f"{unicode(node)} has letters below that may be indices"
        case s.Product(factors=factors) if pair := _meeting(factors, outline):
            return f"{pair} have letters below that may be indices"
        case s.Call(function=s.Name(base="exp"), arguments=(only,)) if _bare_capital(only, outline):
            return "it may take the exponential of a matrix"
        case s.Call(function=s.Name(base="abs")) if any(map(_is_matrix, node.arguments)):
            return "it uses a determinant"
        case s.Conjunction(parts=(*_, s.Name(font="roman") as word)):
            return f"it holds the word “{word.base}”"
        case s.Join(parts=parts) if any(_beside_rows(part, parts) for part in parts):
            return "it joins a matrix with a vector"
        case s.Expectation() if not _speaks_of_tokens(node):
            return "it holds an expectation"
        case s.Reduction(operator="argmin" | "argmax") if _over_parameters(node):
            return "it is about the best parameters" if not _speaks_of_tokens(node) else ""
    return ""


def _in_words(branch: tuple[s.Expression, s.Expression | None]) -> bool:
    """`0 if masked`: a condition that compares nothing."""
    condition = branch[1]
    return (
        condition is not None
        and not s.is_condition(condition)
        and any(isinstance(n, s.Name) and len(n.base) > 1 for n in s.factors(condition))
    )


def _spell_indices(factors: Sequence[s.Expression], outline: Outline) -> bool:
    """The `c'as` of `Σ^{c'as} x_{as}`: three letters or more that are indices, and no power of a product."""
    names = [f for f in factors if isinstance(f, s.Name) and not f.scripts]
    letters = [letter for name in names for letter in name.base]
    scripts = (i for n in s.every(outline.statements, s.Name) for i in n.sub)
    below = {letter for i in scripts for n in i.every(s.Name) for letter in n.base}
    return len(names) == len(factors) and len(letters) > 2 and below >= set(letters)


def _of_a_head(both: s.Name, outline: Outline) -> bool:
    """The `Qc` of `q_i^c = x_i W^{Qc}`: a label, and the c that stands above others by itself."""
    if len(both.base) != 2 or not is_capital(both.base[0]) or not both.base[1].islower():
        return False
    above = (i for n in s.every(outline.statements, s.Name) for i in n.sup)
    return any(isinstance(i, s.Name) and i.bare and i.base == both.base[1] for i in above)


def _counts(item: s.Expression, outline: Outline) -> bool:
    """The p of `x^{(p,3)}`, if a Σ runs over it or it is an index elsewhere."""
    return isinstance(item, s.Name) and item.bare and item.base in outline.naming.live


def _of_an_event(call: s.Call) -> bool:
    """`P(S_t = u)`, `P(\\text{omit } i)`, `P_{y ~ Q}(…)`."""
    name = call.function
    if name.base not in PROBABILITY:
        return False
    held = (*call.arguments, *(call.given or ()))
    return any(s.is_condition(a) for a in (*held, *name.sub)) or any(
        isinstance(n, s.Name) and len(n.base) > 1 and n.font == "roman"
        for a in held if isinstance(a, s.Product) for n in a.factors
    )  # fmt: skip


def _is_distribution(item: s.Expression, outline: Outline) -> bool:
    """The P of `H[P]`, beside `P(j)`."""
    if not isinstance(item, s.Name) or item.base not in PROBABILITY:
        return False
    return any(call.function == item for call in s.every(outline.statements, s.Call))


def _on_a_left_side(name: s.Name, outline: Outline) -> bool:
    """Whether an equation defines a name, or its elements: the e^t of `e_i^t = v^⊤ tanh(…)`."""
    return any(replace(left, sub=()) == name for left in _lefts(outline))


def _only_squared(outline: Outline) -> bool:
    """`J = 1/2 e^2`: no other power of e is there, as in `e^2 / (e^2 + e^{0.5})`, but others of the name, as e_i."""
    powers = [n.sup for n in s.every(outline.statements, s.Name) if n.base == "e" and not n.sub]
    return all(power in ((), (s.Number("2"),)) for power in powers)


def _imaginary(exponent: s.Expression, outline: Outline) -> bool:
    """The i of `e^{i m θ}`, which numbers nothing."""
    factors = s.factors(s.unsigned(exponent))
    first = factors[0] if isinstance(factors[0], s.Name) else None
    if first is not None and first.bare and first.base in ("im", "in", "it", "ik"):
        return any(isinstance(f, s.Name) and "α" <= f.base <= "ω" for f in factors[1:])
    return s.Name("i") in factors and "i" not in outline.naming.live


def _bare_capital(node: s.Expression, outline: Outline) -> bool:
    """The ΔA of `exp(ΔA)`, the A of `exp(t A)`, of which nothing says how many indices it has."""
    last = node.factors[-1] if isinstance(node, s.Product) else node
    if not isinstance(last, s.Name) or last.sub or last.sup:
        return False
    letter = last.base.lstrip("Δ")
    known = outline.bracketed | set(outline.declared) | set(outline.sizes)
    if inverted(node, outline.statements):
        return False  # a matrix for sure
    return letter.isascii() and is_capital(letter) and outline.naming.read(last).key not in known


def _is_matrix(node: s.Expression) -> bool:
    """The Σ of `|Σ|`, the `K + I` of `|K + I|`."""
    terms = s.terms(node)
    return any(
        isinstance(t, s.Name)
        and (
            t.base in GREEK_MATRICES
            or t == s.Name("I")
            or (t.font == "bold" and is_capital(t.base))
        )
        for t in terms
    )


def _is_exponent(name: s.Name, power: s.Name, outline: Outline) -> bool:
    """The n of `\\mathbf A^n` beside `\\mathbf A`."""
    if not is_capital(name.base) or not power.bare or power.font or power.base not in "kmnprt":
        return False
    bare = replace(name, sup=())
    for statement in outline.statements:  # the q of `H^q = H W^q` tells names apart
        left = statement.left
        right = s.every(statement.sides[1:], s.Name) if isinstance(statement, s.Equation) else ()
        if isinstance(left, s.Name) and power in left.sup and replace(left, sup=()) in right:
            return False
    return bare in s.every(outline.statements, s.Name)


def _lefts(outline: Outline) -> list[s.Name]:
    return [st.left for st in outline.statements if isinstance(st.left, s.Name)]


def _numbered_above(name: s.Name, letter: s.Name, outline: Outline) -> bool:
    """The x^k of `r^k = (x - x^k) / σ^k`, beside an x: where the left side has the k as well."""
    if name.sub or not is_lone(letter) or not name.base.isascii() or is_capital(letter.base):
        return False
    carried = any(n.sup == (letter,) and n.base != name.base for n in _lefts(outline))
    bare = [n for n in s.every(outline.statements, s.Name) if n == replace(name, sup=())]
    return carried and any(n.font == name.font for n in bare)


def _half_indices(word: s.Name, outline: Outline) -> bool:
    """The `ijkl` of `y_{il} = x_{ijkl} a_{jk}`, of which only i and l are indices for sure.

    Or the `ji` of `z = Σ_j w_{ji} a_j + b_i`, where i stands below another name.
    """
    letters = word.base if word.bare and not word.font and word.base not in WORDS else ""
    known = {letter for letter in letters if letter in outline.naming.live}
    if not 1 < len(letters) <= 4 or not letters.islower() or not 0 < len(known) < len(set(letters)):
        return False
    if is_word_below(letters):  # the `next` of `h_{next}`
        return False
    lone = {i for n in s.every(outline.statements, s.Name) for i in n.sub if is_lone(i)}
    below = all(s.Name(letter) in lone for letter in letters)
    return len(known) > 1 or (known <= letters_bound(outline.statements) and below)


def _meeting(factors: Sequence[s.Expression], outline: Outline) -> str:
    """`U_{oj} V_{jc}`, where nothing else says that j is an index: names whose letters meet are summed."""
    for one, two in pairwise(factors):
        words = [
            f.sub[0].base
            for f in (one, two)
            if isinstance(f, s.Name)
            and len(f.sub) == 1
            and isinstance(f.sub[0], s.Name)
            and len(f.sub[0].base) == 2
            and not outline.naming.read(f).items
        ]
        if len(words) == 2 and words[0][1] == words[1][0] and words[0][1] in COUNTING:
            return f"{unicode(one)} and {unicode(two)}"
    return ""


def _beside_rows(part: s.Expression, parts: Sequence[s.Expression]) -> bool:
    """The K of `[K; k]`: the rows so far, and one more."""
    small = [n.base for n in parts if isinstance(n, s.Name)]
    return isinstance(part, s.Name) and is_capital(part.base) and part.base.lower() in small


def _is_bold(item: s.Expression) -> bool:
    return isinstance(item, s.Name) and item.font == "bold"


def _first(part: s.Expression) -> str:
    if isinstance(part, s.Product):
        part = part.factors[0]
    return part.base if isinstance(part, s.Name) and not part.sub else ""


def is_differential(node: s.Product) -> bool:
    """`η g dt`, `d log λ`: a d before a letter or a logarithm, which is no factor."""
    pairs = (b for a, b in pairwise(node.factors) if a == s.Name("d"))
    return any(isinstance(b, s.Name) or (isinstance(b, s.Call) and b.word in _LOG) for b in pairs)


_STAR = r"(?:\*|\\ast|\\star)"
_OPENS, _CLOSES = r"(?:\$|\\\(|`|\s)\s*", r"\s*(?:\$|\\\)|`|\s)"
_CONVOLUTION = r"(?:convol|卷积|卷積|畳み込み|합성곱|св[её]ртк|faltung)"
_CONVOLVES = re.compile(
    rf"{_OPENS}{_STAR}{_CLOSES}[^.$。]{{0,40}}?{_CONVOLUTION}"
    rf"|{_CONVOLUTION}\w*(?:\s+operat\w+)?\s*\(?(?:\$|\\\()\s*{_STAR}\s*(?:\$|\\\))",
    re.IGNORECASE,
)
"""How a text says that its stars are convolutions: "where $*$ is a convolution"."""


@cache
def _stars_convolve(text: str) -> bool:
    return _CONVOLVES.search(text) is not None


def _convolved_as_said(node: s.Product) -> bool:
    """The `W * [h; x]` of a text that says what its stars are."""
    if not any(asterisk(a, b) for a, b in pairwise(node.factors)):
        return False
    return _stars_convolve(node.span.source.text)


def _is_moment(argument: s.Expression) -> bool:
    """The `t + Δt` and `t + n Δt` of `z(t + Δt)`."""
    terms = argument.terms if isinstance(argument, s.Add) else ()
    factors = [f for t in terms for f in s.factors(t)]
    return any(isinstance(f, s.Name) and f.base[:1] == "Δ" and len(f.base) > 1 for f in factors)


def _over_parameters(node: s.Reduction) -> bool:
    letters = [n.base for under in node.under for n in under.every(s.Name)]
    if any(letter in GROUPS or letter in "θωφψ" for letter in letters):
        return True
    # The β of `argmin_β ‖y - X β‖`, the β_j of its elements and the S_t of `argmin_{S_t} ‖S_t - S_{t-1}‖`
    # have values, an i has none.
    outside = [n for n in s.values(node.body, within=lambda call: False) if isinstance(n, s.Name)]
    return any(n in node.under or ((n.bare or n.sub) and n.base in letters) for n in outside)


def _speaks_of_tokens(node: s.Node) -> bool:
    """Whether a loss is about `P(w_t | w_0, …)`: a model of tokens in a row."""
    return any(
        any(_in_a_row(a) for a in (*n.arguments, *(n.given or ()))) for n in node.every(s.Call)
    )


def _in_a_row(argument: s.Expression) -> bool:
    return isinstance(argument, s.Dots) or (isinstance(argument, s.Name) and bool(argument.sub))


def _said_of(branches: Sequence[tuple[s.Expression, s.Expression | None]], outline: Outline) -> str:
    """The k of “if i = 2k”, for whatever k there is; the even of “if i is even”."""
    known = outline.defined | outline.declared | outline.bracketed
    compared = s.every((c for _, c in branches if c is not None), s.Comparison)
    equal = [n.operands[-1] for n in compared if n.operators == ("=",)]
    letters = [product.factors[-1] for product in s.every(equal, s.Product)]
    words = [n for n in equal if isinstance(n, s.Name) and len(n.base) > 2 and n.base.isalpha()]
    names = (n for n in (*letters, *words) if isinstance(n, s.Name) and n.bare)
    return next((n.base for n in names if n.base not in known), "")


def _expects(node: s.Node, outline: Outline) -> bool:
    """`E[X^2]`, `E (g - μ)^2`, `E_b ‖g‖`: an E that is no tensor of the program."""
    parts: Sequence[s.Expression] = ()
    if isinstance(node, s.Product):
        behind = dotted(node)  # no E of `E · x` expects anything
        parts = [f for n, f in enumerate(_leading(node.factors[:-1]), 1) if n not in behind]
    elif isinstance(node, s.Index):
        parts = (node.base,)
    elif isinstance(node, s.Call):
        parts = (node.function,)
    expecting = any(isinstance(part, s.Name) and part.base == "E" for part in parts)
    if not expecting or _known_e(outline) or _embeds(node, outline):
        return False
    return not (isinstance(node, s.Index) and _looks_up(node, outline))


def _embeds(node: s.Node, outline: Outline) -> bool:
    """`E y_{t-1}` beside `W s_{t-1}`: one matrix among others that are multiplied with vectors."""

    own = _map(node)
    products = s.every(outline.statements, s.Product)
    return own is not None and any(_map(other) not in (None, own) for other in products)


_LOOKED_UP = frozenset("wxsyc")
_ROWS = frozenset("ehxzvEHXZ")


def _looks_up(node: s.Index, outline: Outline) -> bool:
    """`\\mathbf e_i = \\mathbf E[x_i]`: the row of a table for a token, and no mean of anything.

    The E is bold, or the left side is the vector of the same place. `μ_i = E[x_i]` is a mean.
    """
    match node.items:
        case (s.Name(base=token, sub=(s.Name() as place,), sup=(), accents=()),) if (
            token in _LOOKED_UP and is_lone(place)
        ):
            pass
        case _:
            return False
    if _is_bold(node.base):
        return True
    lefts = [st.left for st in outline.statements if any(n is node for n in st.walk())]
    return any(
        isinstance(left, s.Name)
        and left.base in _ROWS - {token}
        and left.sub == (place,)
        and not left.accents
        for left in lefts
    )


def _map(node: s.Node) -> s.Name | None:
    """The W of `W s_{t-1}`, `W s^{(t-1)}`."""
    match node:
        case s.Product(factors=(s.Name(sup=()) as matrix, s.Name(sup=() | (s.Group(),)) as vector)):
            maps = is_capital(matrix.base) and not is_capital(vector.base)
            return matrix if maps and vector.scripts else None
    return None


def _leading(factors: tuple[s.Expression, ...]) -> tuple[s.Expression, ...]:
    """The factors up to the first capital: behind a matrix an E is another one, `W E y`."""
    for number, factor in enumerate(factors):
        if isinstance(factor, s.Name) and is_capital(factor.base):
            return factors[: number + 1]
    return factors


def _known_e(outline: Outline) -> bool:
    """Whether the program has a tensor E: declared, turned, or with two indices, or one on a left side."""
    turned = {s.inner(n.body) for n in s.every(outline.statements, s.Transpose)}
    raised = (n for n in s.every(outline.statements, s.Name) if n.sup == (s.Name("T"),))
    if any(n.base == "E" for n in (*turned, *raised) if isinstance(n, s.Name)):
        return True
    read = any(
        isinstance(node.base, s.Name)
        and node.base.base == "E"
        and len(node.items) > 1
        and all(map(index_expression, node.items))
        for node in s.every(outline.statements, s.Index)
    )
    defined = any(
        d.key == "E" and all((n := index_name(i)) and not is_capital(n.base) for i in d.items)
        for d in outline.definitions
    )
    return "E" in outline.declared or read or defined or any(map(_gives_e, outline.statements))


def _gives_e(statement: s.Statement) -> bool:
    """`E(x) = ‖A x‖^2`: an energy, by a formula of what it is of."""
    left = statement.left
    if not isinstance(statement, s.Equation) or not isinstance(left, s.Call) or left.word != "E":
        return False
    right = set(s.every(statement.sides[1:], s.Name))
    return left.given is None and set(left.arguments) <= right
