r"""A statement of prose → why it is not about tensors, or nothing.

    \mathbb{E}_x[f(x)] = 0                  it holds an expectation (`notions.py`)
    y = h(z)                                h(…) may be a call or a product
    p(a | b) = p(b | a) p(a) / p(b)         the probability p is computed by nothing here
    T = \text{temperature}                  it holds the word “temperature”

Such a statement is left out before anything is inferred from it: what it says of its names, it says of
other things than tensors. In index notation with square brackets a function that is only named is a
hole, and is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.program.names.applied import is_said
from indicial.program.names.letters import COUNTING, GROUPS, LAST, PARAMETERS, is_capital, shifted
from indicial.program.names.naming import (
    ACTIVATIONS,
    APPLIED,
    FUNCTION_LETTERS,
    activates,
    maps,
)
from indicial.program.names.occurrences import uses
from indicial.program.names.outline import DISTRIBUTIONS, Outline
from indicial.program.names.sorting import density
from indicial.program.names.uses import BUILT_IN, PROBABILITY, Use
from indicial.program.prose.doubts import indexed
from indicial.program.prose.notions import is_differential, notion
from indicial.program.prose.places import normalised_over_its_place
from indicial.program.vectors.kinds import WEIGHTS
from indicial.program.vectors.labels import SELDOM_MATRICES, SHORTEST_WORD, runs, spelling
from indicial.program.vectors.leaves import MATRIX_FUNCTIONS, in_scripts, is_ones, is_so_many

TOP, STEP = s.Name("T"), s.Name("t")
OPERATORS = frozenset("πΠΦΨΓ𝒫")
"""Letters of projections and maps, before brackets."""


def foreign(statement: s.Statement, outline: Outline) -> str:
    """Why the statement is left out, or nothing."""
    if not isinstance(statement, s.Equation):
        return ""
    nodes = list(statement.walk())
    names = statement.every(s.Name)
    ones = [n for n in statement.every(s.Number) if is_ones(n)]
    if not all(map(is_so_many, ones)) and "bold" not in [n.font for n in names]:
        return "it uses a vector of ones"
    named = isinstance(right := statement.sides[-1], s.Call) and right.word in DISTRIBUTIONS
    if statement.draws and named and not _is_read(statement.left, outline):
        return "nothing here is computed from what it draws"
    if outline.spaces and _of_sizes(statement, outline):
        return "it says how sizes are related"
    asked = right.arguments if isinstance(right, s.Call) and right.word in PROBABILITY else ()
    left = _subscripted(statement.left)
    if statement.draws and asked and left not in map(_subscripted, asked):  # `y_t ~ p(y | θ_t)`
        return "it draws from what nothing here defines"
    if statement.relations == ("≈",) and isinstance(s.unsigned(right), s.Number):
        return "it says about how large something is"
    bases = [n.base for n in names]
    if quoted := [base for base in bases if base[0] in "\"“”«'"]:
        return f"it is about the word {quoted[0]}"
    if "∂" in bases and [n for n in names if n.base == "∂" and n.sub == (STEP,)]:
        return "it is about continuous time"
    if not {"∂", "∇"}.isdisjoint(bases):
        return ""  # it speaks about the others, which are read without it
    raised = [script for n in names if n.base == "e" and not n.sub for script in n.sup]
    labels = in_scripts(statement) - s.ids(raised)  # above Euler's number stands a value
    for node in nodes:
        if id(node) not in labels and (reason := notion(node, outline)):
            return reason
    products = [n for n in nodes if isinstance(n, s.Product) and is_differential(n)]
    alone = [n.body for n in nodes if isinstance(n, s.Group)]  # `(dz) ⊙ W`
    if len(products) > 1 or any(len(p.factors) == 2 and p in alone for p in products):
        return "it is about differentials"
    if _changes(statement):
        return "it is about derivatives"
    if reason := _left(statement, outline):
        return reason
    if word := _spelt_within(statement, outline):
        return f"{word} may be a word or a product"
    if reason := _density(statement, outline) or _counted(statement):
        return reason
    drawn = "~" in statement.relations
    turned = [n.body for n in statement.every(s.Transpose)]
    turned += [n.base for n in statement.every(s.Power) if n.exponent == TOP]
    for side in (*statement.sides, *raised):
        for use in uses(outline, side):
            if reason := _probable(use, outline) if not drawn else "":
                return reason
            if use.kind == "factor" and (use.call in turned or use.reference.key[0] in WEIGHTS):
                continue  # `δ^{(l)} (a^{(l-1)})^T`, `W^Q (x_j)`
            if use.call is not None and use.call.function.primes and _is_slope(use.call, statement):
                continue
            if reason := opaque(use, outline) if not indexed(statement) and not drawn else "":
                return reason
        for call in side.every(s.Call) if not indexed(statement) and not drawn else ():
            if reason := _no_table(call, statement, outline):
                return reason
    return _word(statement, outline)


def _subscripted(node: s.Expression) -> s.Expression:
    """`w[t]` → `w_t`."""
    if isinstance(node, s.Index) and isinstance(node.base, s.Name) and not node.base.sub:
        return replace(node.base, sub=node.items)
    return node


def _is_read(name: s.Expression, outline: Outline) -> bool:
    """The ε of `ε ~ N(0, I)` beside `z = μ + σ ⊙ ε`, or beside a claim about it."""
    others = (st for st in outline.statements if not isinstance(st, s.Equation) or not st.draws)
    return any(name in statement.walk() for statement in others)


def _is_slope(call: s.Call, equation: s.Equation) -> bool:
    """The `f'(z)` of `δ = (W^⊤ δ) ⊙ f'(z)`: of whatever function, it is one of a number."""
    return activates(call) and any(n.ends or n.base in "δΔ" for n in equation.every(s.Name))


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
    ends = {end for n in s.every(equation.sides[1:], s.Name) for end in n.ends}  # `-∂L/∂W`
    return marked and (itself in ends or any(itself in side.walk() for side in equation.sides[1:]))


def _of_sizes(equation: s.Equation, outline: Outline) -> bool:
    """`d_k = d_v = d / H`, beside `W ∈ ℝ^{d×d_k}`."""
    if outline.spaces.isdisjoint(equation.sides[:-1]) or equation.every(s.Call):
        return False
    return bool(s.every(equation.sides[1:], s.Name))


def _left(equation: s.Equation, outline: Outline) -> str:
    """Why the left side is nothing that an equation can define."""
    match equation.left:
        case s.Name() as name:
            return _left_name(name, equation, outline)
        case s.Call() as call:
            return _left_call(call, equation, outline)
        case s.Group(body=body) | s.Product(factors=(s.Number("1"), s.Group(body=body))) if (
            s.is_condition(body)
        ):
            return "it says what an indicator is"
        case s.Product() as product:
            return _left_product(product, equation, outline)
    return ""


def _left_name(left: s.Name, equation: s.Equation, outline: Outline) -> str:
    if left.base == "e" and left.sup and "e" not in outline.bracketed:
        return "its left side is a power"
    if any(isinstance(i, s.TupleLiteral | s.Product) for i in left.sub):
        return f"{unicode(left)} stands at a place that is computed"
    called = [c for c in s.every(equation.sides[1:], s.Call) if c.function == left]
    if any(len(c.arguments) > 1 for c in called):  # `ℒ = ℒ(ŷ, y)`
        return f"{unicode(left)} is a function that nothing here defines"
    if place := _raised_to(left, equation):
        return f"{place} may be a place or a part of the name"
    read = outline.naming.read(left)
    if not read.items and read.power is None and any(map(_sum_of_letters, left.sub)):
        return f"{read.key} stands at a place that is computed"
    return ""


def _left_product(left: s.Product, equation: s.Equation, outline: Outline) -> str:
    if _convolves(left.factors[0]):
        return "its left side is a product of functions"
    if "_" in left.span.text and _letters_only(left):
        return "its left side is a product"
    if is_differential(left):
        return "it is about differentials"
    words = [f.base for f in left.factors if isinstance(f, s.Name) and len(f.base) > 3]
    if words and words[0].isalpha():  # `Attention\\ Weights\\ α = …`
        return "its left side has words"
    pair = SELDOM_MATRICES.intersection(n.base for _, run in runs(left.factors[:2]) for n in run)
    if word := _spelt(left, outline, SHORTEST_WORD - bool(pair)):
        return f"{word} may be a word or a product"
    *letters, last = left.factors
    if isinstance(last, s.Call) and all(isinstance(f, s.Name) and not f.scripts for f in letters):
        word = "".join(f.base for f in (*letters, last.function) if isinstance(f, s.Name))
        if word in left.span.text:  # `lp(Y) = …`
            return f"{word} may be a word or a product"
    again = set(left.factors).intersection(s.every(equation.sides[1:], s.Name))  # `K A = λ A`
    if not again and not _applied(left) and _plain_letters(equation, outline):
        return "its left side is a product"
    return ""


def _left_call(left: s.Call, equation: s.Equation, outline: Outline) -> str:
    if word := _named_element(left):
        return f"it is about one element, “{word}”, that nothing here numbers"
    if unicode(left.function) in MATRIX_FUNCTIONS:
        return "its left side is no name"
    use = outline.use(left)
    if use is None or use.kind != "tensor":
        return ""
    names = equation.every(s.Name)
    numbering = _numbering(outline)
    for argument in left.arguments:
        if any(n.sub and replace(n, sub=()) == argument for n in names):
            return f"{unicode(argument)} is an index here, and has indices"
        if not isinstance(argument, s.Name):
            continue
        alone = argument.base in "xyzuv" and argument not in numbering
        random = argument.base in "XYZ" and _is_called_only(argument, outline)
        if random or (alone and not argument.sub):
            return f"{unicode(argument)} is an argument here, and no index"
        if argument.base in PARAMETERS and argument not in numbering:
            return f"{unicode(argument)} is an argument here, and no index"
        if alone and argument not in s.every(equation.sides[1:], s.Name):
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
    powers = {n.base for script in above for n in s.values(script) if isinstance(n, s.Name)}
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


def _spelt(product: s.Product, outline: Outline, shortest: int = SHORTEST_WORD) -> str:
    """The BLEU of `BLEU = BP exp(…)`: capitals one right behind the other, of which some stand nowhere else."""
    every = [n.base for n in s.every(outline.statements, s.Name)]
    for _, run in runs(product.factors):
        if len(run) >= shortest and any(every.count(name.base) == 1 for name in run):
            return spelling(run)
    return ""


_CAPITALS = re.compile(r"[A-Z]{3}")


def _spelt_within(equation: s.Equation, outline: Outline) -> str:
    """The MKT of `R = α + β MKT`."""
    if not _CAPITALS.search(equation.span.text):
        return ""
    left = equation.left
    beside = isinstance(left, s.Name) and len(left.base) >= SHORTEST_WORD and left.base.isupper()
    products = (n for side in equation.sides[1:] for n in side.every(s.Product))
    words = (
        _spelt(p, outline, SHORTEST_WORD - beside) for p in products
    )  # the BP of `BLEU = BP e`
    return next((word for word in words if word and (beside or SELDOM_MATRICES & set(word))), "")


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
    held = (a for call in s.every(outline.statements, s.Call) for a in call.arguments)
    stepped = {step[0] for a in held if (step := shifted(a)) is not None and step[1]}  # `α(t, u-1)`
    return stepped.union(s.every(places, s.Name))


def opaque(use: Use, outline: Outline) -> str:
    """A function that nothing here computes."""
    key = use.reference.key
    named = use.kind == "function" and (not outline.is_function(key) or _derived(key, outline))
    if named and key not in MATRIX_FUNCTIONS and not _activation(use, outline):
        return f"{key} is a function that nothing here defines"
    if use.call is None or use.call.function in outline.heads:
        return ""  # `RMS(a) = …`: what stands on a left side is no product
    if use.rest and use.reference.items:
        return ""  # `w_{jk} (x_i)_j`: an element of what is in brackets
    if key not in outline.bare and use.call.function.base in OPERATORS and use.kind == "factor":
        return f"{key}(…) may be a call or a product"
    if _multiplies(use.call.function, outline):
        return ""
    if use.kind == "factor" and _atom(use.call, key in outline.bare):
        return f"{key}(…) may be a call or a product"
    return ""


def _multiplies(name: s.Name, outline: Outline) -> bool:
    """The V of `V(u_a)`, beside `V x_2`: a matrix before what it multiplies, in brackets or not."""
    products = s.every(outline.statements, s.Product)
    return is_capital(name.base) and any(p.factors[0] == name for p in products)


def _no_table(call: s.Call, equation: s.Equation, outline: Outline) -> str:
    """`doc(w)`, `t_k(y_i, x)`: why round brackets that could hold indices hold arguments."""
    use = outline.use(call)
    if use is None or use.kind != "tensor" or call.function in outline.heads:
        return ""
    key, left = use.reference.key, equation.left
    numbering = _numbering(outline)
    if isinstance(left, s.Call):  # the c of `α_t(c) = Σ_{c'} trans(c', c)`
        numbering |= {a for a in left.arguments if isinstance(a, s.Name) and a.base in "abc"}
    places = len(call.arguments) + len(call.function.sub)
    if len(call.word) > 1 and key not in outline.defined and places < 2:
        return f"{key} is a function that nothing here defines"  # but `trans(c', c)` is a table
    if key not in outline.defined and _is_of_values(call, outline):
        return f"{key} is a function that nothing here defines"
    for argument in call.arguments:
        if isinstance(argument, s.Name) and argument.accents and is_capital(argument.base):
            return f"{key} is a function that nothing here defines"
        letter = isinstance(argument, s.Name) and argument.bare and argument.base not in COUNTING
        if letter and argument not in numbering and len(call.arguments) > 1:
            return f"{unicode(argument)} is an argument here, and no index"
    return ""


def _is_of_values(call: s.Call, outline: Outline) -> bool:
    """`μ(w_{ij})`, `φ(0, 1)`: of an element of a matrix, and of numbers alone; neither is a place."""
    if call.word in FUNCTION_LETTERS and all(isinstance(a, s.Number) for a in call.arguments):
        return True
    names = [a for a in call.arguments if isinstance(a, s.Name)]
    return len(call.arguments) == 1 and any(len(outline.naming.read(n).items) > 1 for n in names)


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


def _counted(equation: s.Equation) -> str:
    """`P(w_t | w_{t-1}) = C(w_{t-1} w_t) / C(w_{t-1})`: words that follow each other, and no product."""
    left = equation.left
    if not isinstance(left, s.Call) or left.given is None:
        return ""
    events = {n.stem for n in s.every((*left.arguments, *left.given), s.Name) if n.sub}
    for product in s.every(equation.sides[1:], s.Product):
        for one, two in pairwise(product.factors):
            if not isinstance(one, s.Name) or not isinstance(two, s.Name) or one.sup:
                continue  # `z_u^T z_v` is a product
            if {one.stem, two.stem} <= events:
                return f"it is about sequences of {one.base}"
    return ""


def _density(equation: s.Equation, outline: Outline) -> str:
    """Why a density or distribution on the left side is not that of an index."""
    left = equation.sides[0]
    if isinstance(left, s.Call):
        groups = [a for a in left.arguments if isinstance(a, s.Name) and a.base in GROUPS]
        if groups and left.function.base in PROBABILITY:  # also where a bare p stands elsewhere
            return "it is about a distribution of parameters"
        if left.word in PROBABILITY and normalised_over_its_place(left, equation.sides[-1]):
            return f"it gives the probability of one value of {unicode(left.arguments[0])}"
    use = outline.use(equation.sides[0])
    if use is None or use.kind != "probability" or use.call is None:
        return ""
    right = s.inner(equation.sides[-1])
    asked = {n.stem for a in use.call.arguments for n in a.every(s.Name)}
    if not isinstance(right, s.Reduction) and not any(n.stem in asked for n in right.every(s.Name)):
        # `p(y | x) = σ(w^⊤ x)`, of a y that is 0 or 1
        return f"it gives the probability of one value of {unicode(use.call.arguments[0])}"
    bases = {node.base for node in s.every(outline.statements, s.Index)}
    for argument in use.call.arguments:
        name = argument.base if isinstance(argument, s.Index) else argument
        if not isinstance(name, s.Name):
            continue
        if density(equation, use.call):
            # `p(y_i | x_i) = exp(-(y_i - w x_i)^2)`: y_i is a number, and i is no value of it.
            if isinstance(argument, s.Index) or name.sub:
                return "it is a density of numbers that have indices"
        elif name is argument and name.accents and name in bases:
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


def _computed(call: s.Call, outline: Outline) -> bool:
    """Whether an equation without further probabilities says how what is predicted is distributed."""
    predicted = _letters(call.arguments)
    return any(
        d.probability is not None
        and d.probability.function.accents == call.function.accents  # P̃ is not P
        and _letters(d.probability.arguments) == predicted
        and not any(use.kind == "probability" for use in uses(outline, d.body))
        for d in outline.definitions
    )


def _letters(arguments: Iterable[s.Expression]) -> set[str]:
    bases = (a.base if isinstance(a, s.Index) else a for a in arguments)
    return {b.base for b in bases if isinstance(b, s.Name)}


def _activation(use: Use, outline: Outline) -> bool:
    """`φ(W x + b)`, `g(W_a a)`: a letter that stands before a sum or product of matrices; and any `φ(z)`.

    So is `f(z)` where `z = W x + b`.
    """
    call = use.call
    if call is None or len(call.arguments) != 1 or not activates(call):
        return False
    known = call.word in "φσ" or call.word in ACTIVATIONS  # `φ_l` too
    (inside,) = call.arguments
    if known or call.function.font == APPLIED or maps(inside) or _weighs(inside) or is_said(call):
        return True
    weighed = (d.left for d in outline.definitions if maps(d.body) or _weighs(d.body))
    stems = {n.stem for n in map(s.head, weighed) if isinstance(n, s.Name)}
    head = s.head(inside)
    return isinstance(head, s.Name) and head.stem in stems


def _weighs(inside: s.Expression) -> bool:
    """`w^⊤ x + b`, `Σ_i w_i x_i + b`: products of names that are added up with something else."""
    terms = [s.inner(t) for t in inside.terms] if isinstance(inside, s.Add) else []
    bodies = [t.body if isinstance(t, s.Reduction) and t.operator == "sum" else t for t in terms]
    names = [[n for n in s.factors(body) if isinstance(n, s.Name | s.Transpose)] for body in bodies]
    weights = [found[0] for found in names if len(found) > 1]
    return any(isinstance(n := s.head(w), s.Name) and n.base in "wuvWUV" for w in weights)


def _atom(call: s.Call, bare: bool = False) -> bool:
    """Brackets around one name, `μ(x_i)`, or around a product of brackets, `ζ((1 - y) z)`: nobody writes a product so.

    If what stands before them is `bare` elsewhere, only the first.
    """
    if len(call.arguments) != 1:
        return False
    only = call.arguments[0]
    if isinstance(only, s.Call) and only.word not in BUILT_IN:
        return _atom(only)  # not `S (α (I - k k^⊤))`
    if isinstance(only, s.Product) and not (bare or is_capital(call.word)):
        return isinstance(only.factors[0], s.Group)
    return isinstance(only, s.Name | s.Index | s.Call) or (
        isinstance(only, s.Number) and call.given is None
    )


def _word(statement: s.Equation, outline: Outline) -> str:
    """A word that is neither defined nor indexed, and is all that a side says: `T = temperature`.

    `price = w_{area} area + b` and `v = w v + c (gbest - x)` are about numbers with long names.
    """
    known = outline.defined | outline.declared | outline.bracketed | BUILT_IN
    known |= {"loss", *(cell for cell, _ in outline.fills.values())}  # `CELL = gru`
    for side in statement.sides[1:]:
        names = list(_terms(side))
        words = [n.base for n in names if outline.naming.read(n).key not in known]
        words = [w for w in words if len(w) > 2 and w.isascii() and w.isalpha()]
        letters = any(isinstance(n, s.Name) and len(n.base) < 3 for n in side.walk())
        if words and not letters:
            return f"it holds the word “{words[0]}”"
    return ""


def _terms(node: s.Expression) -> Iterator[s.Name]:
    """The names that stand in sums and products, in no brackets but round ones."""
    if isinstance(node, s.Name):
        yield node
    elif isinstance(node, s.Add | s.Product | s.Negative | s.Fraction | s.Group):
        for child in node.children():
            if isinstance(child, s.Expression):
                yield from _terms(child)
