r"""A statement of prose → why it is not about tensors, or nothing.

    \mathbb{E}_x[f(x)] = 0                  it holds an expectation
    \frac{dy}{dx} = 2 x                     it is about derivatives
    y = h(z)                                h(…) may be a call or a product
    p(a | b) = p(b | a) p(a) / p(b)         the probability p is computed by nothing here
    T = \text{temperature}                  it holds the word “temperature”

Such a statement is left out before anything is inferred from it: what it says of its names, it says of
other things than tensors. In index notation with square brackets a function that is only named is a
hole, and is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.notation.signs import SCRIPT_LETTERS
from indicial.program.doubts import indexed
from indicial.program.names.letters import (
    GROUPS,
    LAST,
    WORDS,
    index_expression,
    index_name,
    is_capital,
)
from indicial.program.names.naming import FUNCTION_LETTERS, activates, maps
from indicial.program.names.occurrences import uses
from indicial.program.names.outline import Outline
from indicial.program.names.sorting import density
from indicial.program.names.uses import BUILT_IN, PROBABILITY, Use, of_matrices
from indicial.program.vectors.kinds import GREEK_MATRICES, is_greek
from indicial.program.vectors.leaves import MATRIX_FUNCTIONS, in_scripts, is_ones
from indicial.program.vectors.spelling import starred

OPERATORS = frozenset(
    {
        "Var", "var", "Cov", "cov", "Corr", "corr", "KL", "JS", "TV", "MI", "MSE", "Bias", "Pr", "Pop",
        "sup", "inf", "arg", "gcd", "mod", "det", "rank", "dim", "supp",
    }
)  # fmt: skip
"""Words that are no tensors, whatever brackets follow them."""

_SETS = frozenset(SCRIPT_LETTERS.values()) - set("ℒ𝒩𝒰")
"""Script letters: sets, structures, distributions. A loss and what is drawn from are read."""


def without_names(statement: s.Statement, outline: Outline) -> s.Statement:
    """`Z = f(X, A) = softmax(…)` without the side that only gives it a second name."""
    if not isinstance(statement, s.Equation) or len(statement.sides) < 3:
        return statement
    kept = [0, *(n for n in range(1, len(statement.sides)) if not _names(statement, n, outline))]
    return statement.only(kept) if len(kept) > 1 else statement


def without_arguments(statement: s.Statement, outline: Outline) -> s.Statement:
    """`l(y, ŷ) = -Σ_j y_j log ŷ_j`: a number, of vectors whose elements stand on the right."""
    left = statement.left
    if (
        not isinstance(statement, s.Equation)
        or not isinstance(left, s.Call)
        or left.given is not None
    ):
        return statement
    function = left.function
    called = sum(call.function == function for call in s.every(outline.statements, s.Call))
    if function.base in PROBABILITY | BUILT_IN or called > 1:
        return statement
    elements = {
        (n.base, n.accents)
        for side in statement.sides[1:] for n in side.walk() if isinstance(n, s.Name) and n.sub
    }  # fmt: skip
    plain = [a for a in left.arguments if isinstance(a, s.Name) and not a.sub]
    right = {n for side in statement.sides[1:] for n in side.every(s.Name)}
    # `MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O`: what it is of, it reads elsewhere.
    elsewhere = of_matrices(left) and not right & set(plain)
    held = all((a.base, a.accents) in elements for a in plain)
    if len(plain) < len(left.arguments) or not (held or elsewhere):
        return statement
    return replace(statement, sides=(replace(function, span=left.span), *statement.sides[1:]))


def by_number(statement: s.Statement) -> s.Statement:
    """`P(w_j | w_i) = exp(u_j^⊤ v_i) / …`, with no w on the right: i and j number words, and P is P_{ij}."""
    left = statement.sides[0] if isinstance(statement, s.Equation) else None
    if not isinstance(statement, s.Equation) or not isinstance(left, s.Call) or not left.given:
        return statement
    words = [n for n in (*left.given, *left.arguments) if isinstance(n, s.Name) and len(n.sub) == 1]
    letters = [index_name(word.sub[0]) for word in words]
    bases = {(word.base, word.accents) for word in words}
    right = [n for side in statement.sides[1:] for n in side.every(s.Name)]
    held = {n for n in right if index_name(n) is not None}
    whole = len(words) == len(left.given) + len(left.arguments) and len(bases) == 1
    if not whole or left.word not in PROBABILITY or not all(n in held for n in letters):
        return statement
    if any((n.base, n.accents) in bases for n in right) or not set(letters) - {None}:
        return statement
    sub = tuple(n for n in letters if n is not None)
    return replace(
        statement, sides=(replace(left.function, sub=sub, span=left.span), *statement.sides[1:])
    )


def _names(equation: s.Equation, number: int, outline: Outline) -> bool:
    """Whether a side is a function that nothing here defines, of names alone."""
    side = equation.sides[number]
    if not isinstance(side, s.Call) or not all(isinstance(a, s.Name) for a in side.arguments):
        return False
    use = outline.use(side)
    if use is None or use.kind == "probability" or use.reference.key in outline.defined:
        return False
    return bool(_opaque(use, outline)) or use.reference.key in FUNCTION_LETTERS


def foreign(statement: s.Statement, outline: Outline) -> str:
    """Why the statement is left out, or nothing."""
    if not isinstance(statement, s.Equation):
        return ""
    nodes = list(statement.walk())
    bold = any(isinstance(n, s.Name) and n.font == "bold" for n in nodes)
    if not bold and any(is_ones(n) for n in nodes):
        return "it uses a vector of ones"
    if any(isinstance(n, s.Name) and n.base in ("∂", "∇") for n in nodes):
        return ""  # it speaks about the others, which are read without it
    labels = in_scripts(statement) - _exponents(nodes)
    for node in nodes:
        if id(node) not in labels and (reason := _foreign_node(node, outline)):
            return reason
    products = [n for n in nodes if isinstance(n, s.Product) and _is_differential(n)]
    alone = [n.body for n in nodes if isinstance(n, s.Group)]  # `(dz) ⊙ W`
    if len(products) > 1 or any(len(p.factors) == 2 and p in alone for p in products):
        return "it is about differentials"
    if _changes(statement):
        return "it is about derivatives"
    if reason := _left(statement, outline):
        return reason
    if reason := _density(statement, outline):
        return reason
    drawn = "~" in statement.relations
    for side in statement.sides:
        for use in uses(outline, side):
            if reason := _probable(use, outline) if not drawn else "":
                return reason
            if reason := _opaque(use, outline) if not indexed(statement) and not drawn else "":
                return reason
    return _word(statement, outline)


def _changes(equation: s.Equation) -> bool:
    """`h'(t) = A h(t)`, `ẋ = A x`: how something changes, by what it is."""
    left = equation.sides[0]
    name = left.function if isinstance(left, s.Call) else left
    if not isinstance(name, s.Name) or not (
        name.primes or "dot" in name.accents or "ddot" in name.accents
    ):
        return False
    plain = replace(name, primes=0, accents=())
    itself = replace(left, function=plain) if isinstance(left, s.Call) else plain
    marked = isinstance(left, s.Call) or not name.primes  # `h' = W h` is the next h
    return marked and any(itself in side.walk() for side in equation.sides[1:])


def _left(equation: s.Equation, outline: Outline) -> str:
    """Why the left side is nothing that an equation can define."""
    left = equation.sides[0]
    if isinstance(left, s.Product) and _convolves(left.factors[0]):
        return "its left side is a product of functions"
    if isinstance(left, s.Name) and left.base == "e" and left.sup and "e" not in outline.bracketed:
        return "its left side is a power"
    if isinstance(left, s.Name) and any(
        isinstance(i, s.TupleLiteral | s.Product) for i in left.sub
    ):
        return f"{unicode(left)} stands at a place that is computed"
    called = [c for side in equation.sides[1:] for c in side.every(s.Call) if c.function == left]
    if any(len(c.arguments) > 1 for c in called):  # `ℒ = ℒ(ŷ, y)`
        return f"{unicode(left)} is a function that nothing here defines"
    if isinstance(left, s.Name) and (place := _raised_to(left, equation)):
        return f"{place} may be a place or a part of the name"
    if isinstance(left, s.Name):
        read = outline.naming.read(left)
        if not read.items and read.power is None and any(map(_sum_of_letters, left.sub)):
            return f"{read.key} stands at a place that is computed"
    if isinstance(left, s.Product) and "_" in left.span.text and _letters_only(left):
        return "its left side is a product"
    if isinstance(left, s.Product) and _is_differential(left):
        return "it is about differentials"
    if isinstance(left, s.Product) and (word := _spelt(left, outline)):
        return f"{word} may be a word or a product"
    if isinstance(left, s.Product) and not _applied(left) and _plain_letters(equation, outline):
        return "its left side is a product"
    use = outline.use(left)
    if isinstance(left, s.Call) and (word := _named_element(left)):
        return f"it is about one element, “{word}”, that nothing here numbers"
    if isinstance(left, s.Call) and unicode(left.function) in MATRIX_FUNCTIONS:
        return "its left side is no name"
    if not isinstance(left, s.Call) or use is None or use.kind != "tensor":
        return ""
    numbering = _numbering(outline)
    for argument in left.arguments:
        if any(n.sub and replace(n, sub=()) == argument for n in equation.every(s.Name)):
            return f"{unicode(argument)} is an index here, and has indices"
        if (
            isinstance(argument, s.Name)
            and argument.base in "XYZ"
            and _is_called_only(argument, outline)
        ):
            return f"{unicode(argument)} is an argument here, and no index"
        if isinstance(argument, s.Name) and argument.base in "xyzuv" and argument not in numbering:
            if not argument.sub:
                return f"{unicode(argument)} is an argument here, and no index"
            if not any(n == argument for side in equation.sides[1:] for n in side.walk()):
                return f"{unicode(argument)} stands on the left side only"
    return ""


def _letters_only(product: s.Product) -> bool:
    """`H_k l`: letters side by side, which no claim begins with."""
    names = [f for f in product.factors if isinstance(f, s.Name) and f.base.isascii()]
    return len(names) == len(product.factors) and any(f.bare and f.base.islower() for f in names)


def _named_element(call: s.Call) -> str:
    """The dobj of `α(dobj, prefer, w)`: a word in the place of an index."""
    words = [a.base for a in call.arguments if isinstance(a, s.Name) and not a.sub and not a.sup]
    words = words if len(call.arguments) > 1 else []
    return next((w for w in words if len(w) > 2 and w.isalpha() and w.isascii()), "")


def _is_called_only(name: s.Name, outline: Outline) -> bool:
    """The X of `H(X) = …`: a random variable, which stands in round brackets alone."""
    held = sum(call.arguments.count(name) for call in s.every(outline.statements, s.Call))
    return held == list(s.every(outline.statements, s.Name)).count(name)


def _raised_to(left: s.Name, equation: s.Equation) -> str:
    """The L of `z_L = a^L z_0`."""
    last = {n.base for n in left.sub if isinstance(n, s.Name) and n.bare} & LAST
    above = (script for name in equation.every(s.Name) for script in name.sup)
    powers = {n.base for n in s.every(above, s.Name)}
    return next(iter(last & powers), "")


def _sum_of_letters(script: s.Expression) -> bool:
    """The `(ℓ + k)` of `z_{(ℓ+k)}`."""
    inner = s.inner(script)
    return isinstance(inner, s.Add) and len(inner.every(s.Name)) > 1


def _convolves(node: s.Expression) -> bool:
    """The `(f * g)` of `(f * g)(t) = …`."""
    factors = (
        node.body.factors if isinstance(node, s.Group) and isinstance(node.body, s.Product) else ()
    )
    return bool(factors) and all(
        isinstance(f, s.Name) and f.base in FUNCTION_LETTERS for f in factors
    )


def _applied(product: s.Product) -> bool:
    """`A x`: a matrix and a vector, by their letters."""
    first, last = product.factors[0], product.factors[-1]
    if not isinstance(first, s.Name) or not isinstance(last, s.Name):
        return False
    return is_capital(first.base) and not is_capital(last.base)


def _spelt(left: s.Product, outline: Outline) -> str:
    """The BLEU of `BLEU = BP exp(…)`: capitals one right behind the other, of which some stand nowhere else."""
    names = [f for f in left.factors if isinstance(f, s.Name) and f.bare and is_capital(f.base)]
    near = pairwise(names)
    if len(names) < max(3, len(left.factors)) or any(a.span.end != b.span.start for a, b in near):
        return ""
    every = [n.base for n in s.every(outline.statements, s.Name)]
    alone = any(every.count(name.base) == 1 for name in names)
    return "".join(name.base for name in names) if alone else ""


def _plain_letters(equation: s.Equation, outline: Outline) -> bool:
    """`p V = N k T`: letters without scripts, brackets and bold type, of which nothing else is said."""
    nodes = [n for side in equation.sides for n in side.walk()]
    known = outline.defined | outline.declared | outline.bracketed
    return all(
        isinstance(n, s.Product | s.Number)
        or (isinstance(n, s.Name) and n.bare and not n.font and n.base not in known)
        for n in nodes
    )


def _numbering(outline: Outline) -> set[s.Expression]:
    """What stands in square brackets, below a name or below a Σ: the indices."""
    places = [i for n in s.every(outline.statements, s.Index) for i in n.items]
    places += [i for n in s.every(outline.statements, s.Name) for i in n.scripts]
    places += [i for n in s.every(outline.statements, s.Reduction) for i in n.under]
    return set(s.every(places, s.Name))


def _exponents(nodes: Iterable[s.Node]) -> set[int]:
    """What stands above Euler's number: no label, but a value."""
    names = (n for n in nodes if isinstance(n, s.Name) and n.base == "e" and not n.sub)
    return s.ids(script for name in names for script in name.sup)


def _convolved(one: s.Name, two: s.Name) -> bool:
    """The `x * K` of `y = x * K`: two whole things, one of them a kernel by its letter."""
    whole = not any(n.sub or n.sup or is_greek(n.base) for n in (one, two))
    return whole and starred(one, two) and bool({one.base, two.base} & KERNELS)


KERNELS = frozenset("Kkw")
"""Letters of what something is convolved with."""


def _is_function_name(node: s.Expression) -> bool:
    """The σ and tanh of `(σ, σ, σ, tanh)^⊤ W [h; x]`, which nothing is given to."""
    return isinstance(node, s.Name) and node.bare and node.base in BUILT_IN


def _foreign_node(node: s.Node, outline: Outline) -> str:
    match node:
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
        case s.Product(factors=(s.Name() as one, s.Name() as two)) if _convolved(one, two):
            return f"{unicode(one)} * {unicode(two)} may be a convolution"
        case s.ListLiteral() if any(map(_is_function_name, node.items)):
            return "it lists functions"
        case s.Name() if node.base.endswith((".shape", ".size", ".ndim")):
            return "it is about shapes"
        case s.Name() if node.base == "𝔼":
            return "it holds an expectation"
        case s.Name() if node.base in OPERATORS and not _on_a_left_side(node, outline):
            return f"it uses {node.base}"
        case s.Name(base="e", sup=(exponent,)) if _imaginary(exponent, outline):
            return "it uses complex numbers"
        case s.Name(base="e", sub=(), sup=(s.Name(),)) if _on_a_left_side(node, outline):
            return "e is a name here, and may be Euler's number"
        case s.Name() if node.base in _SETS and node.base not in outline.declared:
            return f"{node.base} is a set or a structure"
        case s.Index() | s.Call() | s.Product() if _expects(node, outline):
            return "it holds an expectation"
        case s.Index() if node.base in outline.heads and any(map(_is_bold, node.items)):
            return "it is about a function of vectors"
        case s.Call() if node.word not in BUILT_IN and any(map(_is_moment, node.arguments)):
            return "it is about continuous time"
        case s.Name(font="bold", sup=(s.Name() as power,)) if _is_exponent(node, power, outline):
            return "it takes a power of a matrix"
        case s.Name(sub=(s.Name() as word,)) if _half_indices(word, outline):
            return f"{unicode(node)} has letters below that may be indices"
        case s.Call(function=s.Name(base="exp"), arguments=(only,)) if _bare_capital(only, outline):
            return "it may take the exponential of a matrix"
        case s.Call(function=s.Name(base="abs")) if any(map(_is_matrix, node.arguments)):
            return "it uses a determinant"
        case s.Expectation() if not _speaks_of_tokens(node):
            return "it holds an expectation"
        case s.Reduction(operator="argmin" | "argmax") if _over_parameters(node):
            return "it is about the best parameters" if not _speaks_of_tokens(node) else ""
    return ""


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
    lefts = [st.left for st in outline.statements]
    return any(isinstance(left, s.Name) and replace(left, sub=()) == name for left in lefts)


def _imaginary(exponent: s.Expression, outline: Outline) -> bool:
    """The i of `e^{i m θ}`, which numbers nothing."""
    factors = s.factors(exponent)
    return s.Name("i") in factors and "i" not in outline.naming.live


def _bare_capital(node: s.Expression, outline: Outline) -> bool:
    """The ΔA of `exp(ΔA)`, the A of `exp(t A)`, of which nothing says how many indices it has."""
    last = node.factors[-1] if isinstance(node, s.Product) else node
    if not isinstance(last, s.Name) or last.sub or last.sup:
        return False
    letter = last.base.lstrip("Δ")
    known = outline.bracketed | set(outline.declared) | set(outline.sizes)
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
    return bare in s.every(outline.statements, s.Name)


def _half_indices(word: s.Name, outline: Outline) -> bool:
    """The `ijkl` of `y_{il} = x_{ijkl} a_{jk}`, of which only i and l are indices for sure."""
    letters = word.base if word.bare and not word.font and word.base not in WORDS else ""
    known = {letter for letter in letters if letter in outline.naming.live}
    return 1 < len(letters) <= 4 and letters.islower() and 1 < len(known) < len(set(letters))


def _is_bold(item: s.Expression) -> bool:
    return isinstance(item, s.Name) and item.font == "bold"


def _first(part: s.Expression) -> str:
    if isinstance(part, s.Product):
        part = part.factors[0]
    return part.base if isinstance(part, s.Name) and not part.sub else ""


def _is_differential(node: s.Product) -> bool:
    """`η g dt`: a d before a letter, which is no factor."""
    return any(a == s.Name("d") and isinstance(b, s.Name) for a, b in pairwise(node.factors))


def _is_moment(argument: s.Expression) -> bool:
    """The `t + Δt` and `t + n Δt` of `z(t + Δt)`."""
    terms = argument.terms if isinstance(argument, s.Add) else ()
    factors = [f for t in terms for f in s.factors(t)]
    return any(isinstance(f, s.Name) and f.base[:1] == "Δ" and len(f.base) > 1 for f in factors)


def _over_parameters(node: s.Reduction) -> bool:
    letters = [n.base for under in node.under for n in under.every(s.Name)]
    return any(letter in GROUPS or letter in "θωφψ" for letter in letters)


def _speaks_of_tokens(node: s.Node) -> bool:
    """Whether a loss is about `P(w_t | w_0, …)`: a model of tokens in a row."""
    return any(
        any(_in_a_row(a) for a in (*n.arguments, *(n.given or ()))) for n in node.every(s.Call)
    )


def _in_a_row(argument: s.Expression) -> bool:
    return isinstance(argument, s.Dots) or (isinstance(argument, s.Name) and bool(argument.sub))


def _expects(node: s.Node, outline: Outline) -> bool:
    """`E[X^2]`, `E (g - μ)^2`, `E_b ‖g‖`: an E that is no tensor of the program."""
    parts: Sequence[s.Expression] = ()
    if isinstance(node, s.Product):
        parts = _leading(node.factors[:-1])
    elif isinstance(node, s.Index):
        parts = (node.base,)
    elif isinstance(node, s.Call):
        parts = (node.function,)
    expecting = any(isinstance(part, s.Name) and part.base == "E" for part in parts)
    return expecting and not _known_e(outline) and not _embeds(node, outline)


def _embeds(node: s.Node, outline: Outline) -> bool:
    """`E y_{t-1}` beside `W s_{t-1}`: one matrix among others that are multiplied with vectors."""

    own = _map(node)
    products = s.every(outline.statements, s.Product)
    return own is not None and any(_map(other) not in (None, own) for other in products)


def _map(node: s.Node) -> s.Name | None:
    """The W of `W s_{t-1}`."""
    factors = node.factors if isinstance(node, s.Product) else ()
    if len(factors) != 2 or not all(isinstance(f, s.Name) and not f.sup for f in factors):
        return None
    matrix, vector = (f for f in factors if isinstance(f, s.Name))
    maps = is_capital(matrix.base) and not is_capital(vector.base) and bool(vector.sub)
    return matrix if maps else None


def _leading(factors: tuple[s.Expression, ...]) -> tuple[s.Expression, ...]:
    """The factors up to the first capital: behind a matrix an E is another one, `W E y`."""
    for number, factor in enumerate(factors):
        if isinstance(factor, s.Name) and is_capital(factor.base):
            return factors[: number + 1]
    return factors


def _known_e(outline: Outline) -> bool:
    """Whether the program has a tensor E: declared, or with two indices somewhere, or one on a left side."""
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
    return "E" in outline.declared or read or defined


def _opaque(use: Use, outline: Outline) -> str:
    """A function that nothing here computes."""
    key = use.reference.key
    named = use.kind == "function" and (not outline.is_function(key) or _derived(key, outline))
    if named and key not in MATRIX_FUNCTIONS and not _activation(use):
        return f"{key} is a function that nothing here defines"
    if use.call is None or use.call.function in outline.heads:
        return ""  # `RMS(a) = …`: what stands on a left side is no product
    nested = isinstance(use.call.arguments[0], s.Call) if use.call.arguments else False
    if use.kind == "factor" and (nested or key not in outline.bare) and _atom(use.call):
        return f"{key}(…) may be a call or a product"
    return ""


def _derived(key: str, outline: Outline) -> bool:
    """Whether a function is defined by a derivative or an expectation, which nothing computes."""
    known = outline.functions.get(key)
    return known is not None and any(
        isinstance(n, s.Expectation) or (isinstance(n, s.Name) and n.base in ("∂", "∇", "𝔼"))
        for n in known.body.walk()
    )


def _probable(use: Use, outline: Outline) -> str:
    """A probability that nothing here computes."""
    if use.kind == "probability" and use.call is not None and not _computed(use.call, outline):
        return f"the probability {use.reference.key} is computed by nothing here"
    if use.kind == "function" and use.call is not None and use.call.given is not None:
        return f"the score {use.reference.key}(… | …) is computed by nothing here"
    return ""


def _density(equation: s.Equation, outline: Outline) -> str:
    """Why a density or distribution on the left side is not that of an index."""
    left = equation.sides[0]
    if isinstance(left, s.Call):
        groups = [a for a in left.arguments if isinstance(a, s.Name) and a.base in GROUPS]
        if groups and left.function.base in PROBABILITY:  # also where a bare p stands elsewhere
            return "it is about a distribution of parameters"
    use = outline.use(equation.sides[0])
    if use is None or use.kind != "probability" or use.call is None:
        return ""
    right = s.inner(equation.sides[-1])
    asked = {n.stem for a in use.call.arguments for n in a.every(s.Name)}
    if not isinstance(right, s.Reduction) and not any(n.stem in asked for n in right.every(s.Name)):
        # `p(y | x) = σ(w^⊤ x)`, of a y that is 0 or 1
        return f"it gives the probability of one value of {unicode(use.call.arguments[0])}"
    for argument in use.call.arguments:
        name = argument.base if isinstance(argument, s.Index) else argument
        if not isinstance(name, s.Name):
            continue
        if density(equation, use.call):
            # `p(y_i | x_i) = exp(-(y_i - w x_i)^2)`: y_i is a number, and i is no value of it.
            if isinstance(argument, s.Index) or name.sub:
                return "it is a density of numbers that have indices"
        elif name is argument and name.accents and name in _bases(outline):
            return f"{unicode(name)} is a structure"
        elif name is argument and name.bare and name.base not in outline.naming.bound:
            for side in equation.sides[1:]:
                for inner in uses(outline, side):
                    key = inner.reference.key
                    # The vector of a word is e, whoever learns it.
                    if key == "e" or key in outline.defined:
                        continue
                    # `u_o` is that of the word o; `s(o)` may be anything.
                    if inner.reference.items == (name,) and not inner.reference.scripts:
                        return f"{key}({unicode(name)}) is a function that nothing here defines"
    return ""


def _bases(outline: Outline) -> set[s.Expression]:
    """What square brackets stand behind."""
    return {node.base for node in s.every(outline.statements, s.Index)}


def _computed(call: s.Call, outline: Outline) -> bool:
    """Whether an equation without further probabilities says how what is predicted is distributed."""
    predicted = _letters(call.arguments)
    return any(
        d.probability is not None
        and _accents(d.probability) == _accents(call)
        and _letters(d.probability.arguments) == predicted
        and not any(use.kind == "probability" for use in uses(outline, d.body))
        for d in outline.definitions
    )


def _accents(call: s.Call) -> tuple[str, ...]:
    """What tells P̃ from P."""
    return call.function.accents


def _letters(arguments: Iterable[s.Expression]) -> set[str]:
    bases = (a.base if isinstance(a, s.Index) else a for a in arguments)
    return {b.base for b in bases if isinstance(b, s.Name)}


def _activation(use: Use) -> bool:
    """`φ(W x + b)`, `g(W_a a)`: a letter that stands before a sum or product of matrices; and any `φ(z)`."""
    call = use.call
    if call is None or len(call.arguments) != 1 or not activates(call):
        return False
    return call.word in "φσ" or maps(call.arguments[0])  # `φ_l` too


def _atom(call: s.Call) -> bool:
    """Brackets around one name: nobody writes a product so."""
    if len(call.arguments) != 1:
        return False
    only = call.arguments[0]
    return isinstance(only, s.Name | s.Index | s.Call) or (
        isinstance(only, s.Number) and call.given is None
    )


def _word(statement: s.Equation, outline: Outline) -> str:
    """A word that is neither defined nor indexed, and so no name of a tensor.

    `price = w_{area} area + b` has a word on the left too, and is about numbers with long names.
    """
    left = statement.sides[0]
    if isinstance(left, s.Name) and len(left.base) > 2 and left.font == "roman" and not left.sub:
        return ""
    for name in (n for side in statement.sides[1:] for n in _terms(side)):
        base, key = name.base, outline.naming.read(name).key
        known = outline.defined | outline.declared | outline.bracketed | BUILT_IN
        if len(base) > 2 and base.isascii() and base.isalpha() and key not in known:
            return f"it holds the word “{base}”"
    return ""


def _terms(node: s.Expression) -> Iterator[s.Name]:
    """The names that stand in sums and products, in no brackets but round ones."""
    if isinstance(node, s.Name):
        yield node
    elif isinstance(node, s.Add | s.Product | s.Negative | s.Fraction | s.Group):
        for child in node.children():
            if isinstance(child, s.Expression):
                yield from _terms(child)
