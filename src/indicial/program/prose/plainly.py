r"""A statement of prose → the same with what its author leaves to the reader.

Z = f(X, A) = softmax(…)             →  Z = softmax(…)         a second name says nothing
l(y, ŷ) = -Σ_j y_j log ŷ_j           →  l = -Σ_j y_j log ŷ_j   a number, of vectors
h_t = A(t) h_{t-1}                   →  h_t = A_t h_{t-1}
s = cases { h^⊤ q, h^⊤ W q }          →  two equations          one of them is chosen
L = -Σ_i y_i ln p_i + (1 - y_i) …    →  L = -Σ_i (y_i ln p_i + (1 - y_i) …)
α_{ij} = e^{e_{ij}} / Σ_k e^{e_{ik}} →  … exp(e_{ij}) …        an e that scores, and Euler's number
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.program.names.letters import (
    COUNTING,
    OFTEN_VECTORS,
    index_name,
    is_capital,
    is_lone,
    shifted,
)
from indicial.program.names.naming import FUNCTION_LETTERS, activates
from indicial.program.names.outline import Outline
from indicial.program.names.uses import BUILT_IN, PROBABILITY
from indicial.program.prose.foreign import opaque
from indicial.program.prose.places import by_number, by_places
from indicial.program.prose.sets import over_members
from indicial.program.vectors.spelling import softmax_elements
from indicial.program.vectors.sums import bound_apart, primes_apart, reaching, summed

TIME = s.Name("t")


def plainly(statement: s.Statement, sketch: Outline) -> s.Statement:
    """A statement of prose, as it is meant; `sketch` is of all that stand with it."""
    named = widths(labelled(without_dots(statement)), sketch)
    placed = by_places(by_steps(named, sketch), sketch)
    of_members = over_members(placed, sketch)
    shared = without_shared(one_size(softmax_elements(of_members), sketch), sketch)
    named = without_lists(without_arguments(without_names(shared, sketch), sketch), sketch)
    meant = stepping(discounts(exponentials(below(named), sketch)))
    bound = primes_apart(bound_apart(reaching(by_number(at_time(meant), sketch))))
    return summed(bound, prose=True)


def without_dots(statement: s.Statement) -> s.Statement:
    """`y_t = φ_1 y_{t-1} + ⋯ + φ_p y_{t-p} = Σ_j φ_j y_{t-j}`: what dots leave to the reader, the last side says."""
    if not isinstance(statement, s.Equation) or len(statement.sides) < 3:
        return statement
    said = [
        n
        for n, side in enumerate(statement.sides)
        if not n or s.Dots() not in s.terms(s.inner(side))
    ]
    whole = len(said) > 1 and said[-1] == len(statement.sides) - 1
    return statement.only(said) if whole and len(said) < len(statement.sides) else statement


def labelled(statement: s.Statement) -> s.Statement:
    """`b_j(k)^{\\text{new}}`: nothing is raised to a word, which tells whose b this is."""

    def change(node: s.Expression) -> s.Expression:
        match node:
            case s.Power(base=s.Call() | s.Index() as base, exponent=s.Name() as word):
                name = s.head(base)
                if isinstance(name, s.Name) and not name.sup and len(word.base) > 1 and word.font:
                    own = replace(name, sup=(word,))
                    return replace(_with_head(base, own), span=node.span)
        return node.rebuild(change)

    return statement.rebuild(change) if statement.every(s.Power) else statement


def widths(statement: s.Statement, outline: Outline) -> s.Statement:
    """The `\\sqrt{d_h}` of scores: the width of a head, whatever runs over h. Degrees have two: `√d_i √d_j`."""
    held = [c.arguments[0] for c in statement.every(s.Call) if c.word == "sqrt"]
    rooted = {n for n in held if isinstance(n, s.Name) and n.base == "d" and len(n.sub) == 1}
    numbered = COUNTING - {"k"}  # the degree d_i of a node, in `Σ_j A_{ij} h_j / √d_i`
    below = {i.base for n in rooted for i in n.sub if isinstance(i, s.Name)}
    if len(rooted) != 1 or below & numbered or not below & outline.naming.live:
        return statement
    others = {n for n in s.every(outline.statements, s.Name) if n.base == "d" and n.sub}
    if others != rooted:
        return statement

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node in rooted and is_lone(node.sub[0]):
            label = node.sub[0]
            assert isinstance(label, s.Name)
            return replace(node, sub=(replace(label, font="roman"),))
        return node.rebuild(change)

    return statement.rebuild(change)


def _with_head(node: s.Expression, name: s.Name) -> s.Expression:
    """`b(k)` with another name before its brackets."""
    if isinstance(node, s.Index):
        return replace(node, base=_with_head(node.base, name))
    return replace(node, function=name) if isinstance(node, s.Call) else name


def with_steps(statements: Sequence[s.Statement]) -> list[s.Statement]:
    """`f = σ(W_f x_t + b_f)`, `c_t = f ⊙ c_{t-1}`: f is one for each t, as what it is computed from.

    Only of names that stand nowhere with a step: `y = h_T` and `ŷ = W h_t` beside `ŷ_t` say something else. The label
    of `P_{vocab} = softmax(W s_t)` is none.
    """
    above: dict[s.Name, bool] = {}
    for statement in statements:
        if isinstance(statement, s.Equation) and not statement.draws:
            left, right = statement.left, statement.sides[1:]
            letter = isinstance(left, s.Name) and len(left.base) == 1 and not _beyond_label(left)
            if isinstance(left, s.Name) and letter and _at_steps(right):
                above[left] = not any(_at_step(n.sub) for n in s.every(right, s.Name))
    scripted = {_labelled(n) for n in s.every(statements, s.Name) if _beyond_label(n)}
    missing = {name for name in above if name not in scripted}
    if not missing:
        return list(statements)

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name):
            step = (replace(TIME, span=node.span),)
            if node in missing and above[node] and not node.sub:
                return replace(node, sup=step)
            return replace(node, sub=(*node.sub, *step)) if node in missing else node
        return node.rebuild(change)

    return [st.rebuild(change) if isinstance(st, s.Equation) else st for st in statements]


def _labelled(name: s.Name) -> s.Name:
    """The `P_{vocab}` of `P_{vocab,t}`."""
    return replace(name, sub=tuple(filter(_is_label, name.sub)), sup=())


def _beyond_label(name: s.Name) -> bool:
    """Whether a name has a script that is no label of a whole word."""
    return bool(name.sup) or not all(map(_is_label, name.sub))


def _is_label(script: s.Expression) -> bool:
    return isinstance(script, s.Name) and script.font == "roman" and len(script.base) > 2


def _at_steps(sides: Sequence[s.Expression]) -> bool:
    """Whether something there is read at a step t that nothing there runs over."""
    names = s.every(sides, s.Name)
    bound = [n for r in s.every(sides, s.Reduction) for u in r.under for n in u.every(s.Name)]
    steps = [n for n in names if _at_step(n.sub) or _at_step(n.sup)]
    vectors = any(n.base in OFTEN_VECTORS for n in steps)
    plain = (n for side in sides for n in s.values(side))
    return vectors and TIME not in bound and TIME not in plain


def _at_step(scripts: Sequence[s.Expression]) -> bool:
    """The `t`, `t-1` and `(t)` that stand at a name."""
    return any(found[0] == TIME for i in scripts if (found := shifted(i)) is not None)


def exponentials(statement: s.Statement, outline: Outline) -> s.Statement:
    """`e^{e_{ij}}`, where e is a name as well: what is raised to something that is computed is Euler's number."""
    if not any(n.base == "e" and n.sup for n in statement.every(s.Name)):
        return statement
    if not any(n.base == "e" and n.sub for n in s.every(outline.statements, s.Name)):
        return statement

    def change(node: s.Expression) -> s.Expression:
        match node:
            case s.Name(base="e", sub=(), accents=(), primes=0, sup=(power,)):
                plain = isinstance(power, s.Name) and not power.sub  # a label, as in `e^t`
                if not plain and not isinstance(power, s.Group | s.Star | s.Number):
                    name = s.Name("exp", span=node.span)
                    return s.Call(name, (power.rebuild(change),), span=node.span)
        return node.rebuild(change)

    return statement.rebuild(change)


def by_steps(statement: s.Statement, sketch: Outline) -> s.Statement:
    """`Ā = exp(ΔA)`, `B̄ = (I - Δ/2 A)^{-1} ΔB`: Δ is the length of a step, and no difference."""
    if not any(n.base.startswith("Δ") for n in statement.every(s.Name)):
        return statement
    names = {*s.every(sketch.statements, s.Name)}
    if not any(_of_a_step(n, names) for n in statement.every(s.Name)):
        return statement
    powers = [n.sup for n in names if n.base == "e" and n.sup]
    calls = [c.arguments for c in s.every(sketch.statements, s.Call) if c.word == "exp"]
    raised = (n for inside in (*powers, *calls) for n in s.every(inside, s.Name))
    alone = s.Name("Δ") in statement.every(s.Name)
    if not alone and not any(_of_a_step(n, names) for n in raised):
        return statement

    def apart(name: s.Name) -> tuple[s.Expression, ...]:
        return s.Name("Δ", span=name.span), replace(name, base=name.base[1:])

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Product):
            factors = (
                apart(f) if isinstance(f, s.Name) and _of_a_step(f, names) else (change(f),)
                for f in node.factors
            )
            return replace(node, factors=tuple(f for some in factors for f in some))
        if isinstance(node, s.Name) and _of_a_step(node, names):
            return s.Product(apart(node), span=node.span)
        if isinstance(node, s.Name) and node.base == "e" and not node.sub:
            return replace(node, sup=tuple(map(change, node.sup)))
        return node if isinstance(node, s.Name) else node.rebuild(change, keep=("function",))

    return statement.rebuild(change)


def _of_a_step(name: s.Name, names: Collection[s.Name]) -> bool:
    """The ΔA that is a name of its own by its spelling; and the Δa_n of `(e^{Δa_n} - 1) / a_n`."""
    if len(name.base) != 2 or name.base[0] != "Δ":
        return False
    return is_capital(name.base[1]) or replace(name, base=name.base[1]) in names


def stepping(statement: s.Statement) -> s.Statement:
    """`a^{(L)} = g(θ^{(L)} a^{(L-1)})`, for any layer L: a capital that is stepped is no last one."""
    left = s.head(statement.left) if isinstance(statement, s.Equation) else None
    if not isinstance(statement, s.Equation) or not isinstance(left, s.Name):
        return statement
    capitals = [n for i in left.scripts if isinstance(n := s.inner(i), s.Name) and n.bare]
    again = [n for n in s.every(statement.sides[1:], s.Name) if n.base == left.base]
    steps = [shifted(i) for n in again for i in n.scripts]
    stepped = {step[0] for step in steps if step is not None and step[1] == -1}
    letter = next((n for n in capitals if n in stepped and n.base.isupper()), TIME)
    small = letter.base.lower()
    if letter is TIME or any(n.base == small for n in statement.every(s.Name)):
        return statement

    def change(node: s.Expression) -> s.Expression:
        if node == letter:
            return replace(letter, base=small, span=node.span)
        if isinstance(node, s.Name):
            sub, sup = (tuple(map(change, scripts)) for scripts in (node.sub, node.sup))
            return replace(node, sub=sub, sup=sup)
        return node.rebuild(change)

    return statement.rebuild(change)


def below(statement: s.Statement) -> s.Statement:
    """`J^{(t)} = -Σ_j y_{t,j} ln ŷ_{t,j}`: what stands below on the right is `J_t`."""
    left = statement.left if isinstance(statement, s.Equation) else None
    if not isinstance(statement, s.Equation) or not isinstance(left, s.Name) or left.sub:
        return statement
    letter = (
        s.inner(left.sup[0]) if len(left.sup) == 1 and isinstance(left.sup[0], s.Group) else None
    )
    right = s.every(statement.sides[1:], s.Name)
    if letter is None or not is_lone(letter) or any(n.sup == left.sup for n in right):
        return statement
    if not any(letter in n.sub for n in right):
        return statement
    name = replace(left, sub=(letter,), sup=())
    return replace(statement, sides=(name, *statement.sides[1:]))


def discounts(statement: s.Statement) -> s.Statement:
    """The `1 - β^k` of an optimiser, whatever else has a k above it: nobody numbers discounts there."""
    if not any(n.sup and "α" <= n.base <= "ω" for n in statement.every(s.Name)):
        return statement

    def change(node: s.Expression) -> s.Expression:
        match node:
            case s.Add(
                terms=(s.Number(text="1") as one, s.Negative(body=s.Name() as name) as less)
            ):
                greek = "α" <= name.base <= "ω" and not name.accents
                if greek and len(name.sup) == 1 and index_name(s.inner(name.sup[0])) is not None:
                    power = s.Power(replace(name, sup=()), s.inner(name.sup[0]), span=name.span)
                    return replace(node, terms=(one, replace(less, body=power)))
        return node.rebuild(change)

    return statement.rebuild(change)


def one_size(statement: s.Statement, outline: Outline) -> s.Statement:
    """`Σ_{k=1}^{2N} z_k`, where N stands in 2N alone: as many as there are of z, whatever they call it."""
    ends = [r.upper for r in statement.every(s.Reduction) if isinstance(r.upper, s.Product)]
    doubled = {end.factors[1]: end for end in ends if _is_multiple(end)}
    if not doubled:
        return statement
    every: list[s.Expression] = list(s.every(outline.statements, s.Name))
    whole = {end for name, end in doubled.items() if every.count(name) == _count(end, outline)}

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Product) and node in whole:
            return replace(node.factors[1], span=node.span)
        return node if isinstance(node, s.Name) else node.rebuild(change)

    return statement.rebuild(change) if whole else statement


def _is_multiple(node: s.Product) -> bool:
    """`2N`."""
    match node.factors:
        case (s.Number(), s.Name(base=base) as name):
            return name.bare and is_capital(base)
    return False


def _count(product: s.Product, outline: Outline) -> int:
    return s.every(outline.statements, s.Product).count(product)


def without_shared(statement: s.Statement, outline: Outline) -> s.Statement:
    """`p_k(x) = e^{z_k(x)} / Σ_j e^{z_j(x)}`: all of it is of one x, which stands nowhere else."""
    calls = [c for c in statement.every(s.Call) if c.word not in BUILT_IN or c.function.scripts]
    if not any(map(_shared, calls)) or any(
        isinstance(a, s.Call) for c in calls for a in c.arguments
    ):
        return statement
    every = [c for c in s.every(outline.statements, s.Call) if _shared(c) is not None]
    names = list(s.every(outline.statements, s.Name))
    arguments = [_shared(c) for c in every]
    idle = {
        x
        for x in set(map(_shared, calls))
        if x is not None and names.count(x) == arguments.count(x) > 1
    }
    # Functions of a number are no tensors: `f(x) = g(x) h(x)`.
    heads = {c.function for c in every if _shared(c) in idle}
    tensors = any(_numbers_values(f) for f in heads) or any(
        isinstance(f, s.Name) and is_capital(f.base) and f not in heads
        for product in s.every(outline.statements, s.Product)
        if any(isinstance(c, s.Call) and _shared(c) in idle for c in product.factors)
        for f in product.factors
    )
    if not idle or not tensors:
        return statement

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Call) and _shared(node) in idle:
            return replace(node.function, span=node.span)
        return node if isinstance(node, s.Name) else node.rebuild(change)

    return statement.rebuild(change)


def _shared(call: s.Call) -> s.Name | None:
    """The x of `z_k(x)`, if it may be what everything there is of."""
    match call:
        case s.Call(function=function, arguments=(s.Name(sub=(), sup=()) as x,), given=None):
            own = function.base not in BUILT_IN | PROBABILITY and not "α" <= function.base <= "ω"
            own = own or bool(function.scripts)
            return x if own and x.base in "xyzuv" and not x.accents else None
    return None


def _numbers_values(function: s.Name) -> bool:
    """`q_{m,i}`: a function with a value for each index."""
    return any(isinstance(i, s.Name) and i.base in COUNTING for i in function.sub)


def without_names(statement: s.Statement, outline: Outline) -> s.Statement:
    """`Z = f(X, A) = softmax(…)` without the side that only gives it a second name."""
    if not isinstance(statement, s.Equation) or len(statement.sides) < 3:
        return statement
    if _renames(statement, outline):
        return statement.only(range(1, len(statement.sides)))
    kept = [0, *(n for n in range(1, len(statement.sides)) if not _names(statement, n, outline))]
    return statement.only(kept) if len(kept) > 1 else statement


def _renames(equation: s.Equation, outline: Outline) -> bool:
    """`p(x_t = k | y) = ŷ_t = …`, `A_l(x) = V' = …`: the left side is a function that nothing else is said of."""
    left, second = equation.sides[0], equation.sides[1]
    if not isinstance(left, s.Call) or not isinstance(second, s.Name) or second.sup:
        return False
    heads = [n for n in s.every(outline.statements, s.Name) if n.base == left.word]
    defined = [st for st in outline.statements if isinstance(st, s.Equation) and st.left == second]
    return len(heads) == 1 and not defined


def without_arguments(statement: s.Statement, outline: Outline) -> s.Statement:
    """`l(y, ŷ) = -Σ_j y_j log ŷ_j`: a number, of vectors whose elements stand on the right.

    Where it is called it is always of these: `y = x / RMS(x)` is `y = x / RMS`.
    """
    calls = outline.calls_defined.intersection(statement.every(s.Call))
    if not calls:
        return statement
    names = {call: _of_elements(call, outline) for call in calls}

    def change(node: s.Expression) -> s.Expression:
        name = names.get(node) if isinstance(node, s.Call) else None
        return replace(name, span=node.span) if name is not None else node.rebuild(change)

    return statement.rebuild(change)


def without_lists(statement: s.Statement, outline: Outline) -> s.Statement:
    """`Λ[P, H] = …` beside `P_{ij}`: square brackets that list what Λ is of, and no places."""
    left = statement.left if isinstance(statement, s.Equation) else None
    if not isinstance(left, s.Index) or not isinstance(left.base, s.Name):
        return statement
    names = [i for i in left.items if isinstance(i, s.Name)]
    whole = any(is_capital(i.base) and i.bare and i.base in outline.bracketed for i in names)
    if not whole or len(names) < len(left.items):
        return statement

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Index) and node.base == left.base:
            return replace(left.base, span=node.span)
        return node.rebuild(change)

    return statement.rebuild(change)


def _of_elements(left: s.Call, outline: Outline) -> s.Name | None:
    """The name of a function that is always of the same things, if their elements or others define it."""
    equations = [st for st in outline.statements if isinstance(st, s.Equation)]
    alternatives = [st for st in equations if st.left == left]
    function = left.function
    held = (*left.arguments, *(left.given or ()))
    called = [c for c in s.every(outline.statements, s.Call) if c.function == function]
    bases = [n.base for n in held if isinstance(n, s.Name)]
    # `s(X, ỹ)` beside `s(X, y)` is another value of the same.
    same = all(
        [n.base for n in c.arguments if isinstance(n, s.Name)] == bases for c in called if c != left
    )
    random = function.base in "EHI" and set(bases) <= set("XYZ")
    right = {n for st in alternatives for n in s.every(st.sides[1:], s.Name)}
    numbered = {n.base for n in s.every(outline.statements, s.Name) if n.sub}
    # `P(x) = Σ_k α_T(k)`: of all x_t, whose letters stand nowhere on the right
    whole = left.given is None and set(bases) <= numbered - {n.base for n in right}
    if function.base in BUILT_IN or not same or random:
        return None
    if function.base in PROBABILITY and not (whole and len(bases) == len(held)):
        return None
    elements = {(n.base, n.accents) for n in right if n.sub or _in_brackets(n.sup)}

    def idle(argument: s.Expression) -> bool:
        """`f(x) = softmax(z)`, `L(θ | y) = Σ_i y_i ln h_i`: x is read elsewhere, and y by its elements."""
        if not isinstance(argument, s.Name):
            return False
        if argument.sub or (argument.sup and function.sup):
            # the y_i of `L_i(θ, y_i)`, and not the t_{out} of `h_{out}(t_{out})`
            letters = {i for i in argument.scripts if not isinstance(i, s.Number)}
            own = letters <= set(function.scripts) and argument.base not in COUNTING
            return own and argument in right
        if (argument.base, argument.accents) in elements:
            return True
        known = argument.accents or argument.base in COUNTING
        return bool(right) and argument not in right and not known

    return function if all(map(idle, held)) else None


def _in_brackets(above: Sequence[s.Expression]) -> bool:
    """The `(i)` of `y^{(i)}`."""
    return any(isinstance(i, s.Group) and index_name(i.body) is not None for i in above)


def at_time(statement: s.Statement) -> s.Statement:
    """`h_t = A(t) h_{t-1}`: a capital before a bracket with t, beside names with t below, is `A_t`."""
    if not isinstance(statement, s.Equation) or not any(
        call.arguments == (TIME,) for call in statement.every(s.Call)
    ):
        return statement
    left = statement.left
    if not isinstance(left, s.Name) or left.sub != (TIME,):
        return statement

    def change(node: s.Expression) -> s.Expression:
        match node:
            case s.Call(function=s.Name(sub=(), sup=()) as name, arguments=arguments):
                if arguments == (TIME,) and len(name.base) == 1 and name.base.isupper():
                    return replace(name, sub=(TIME,), span=node.span)
        return node.rebuild(change)

    return statement.rebuild(change)


def _names(equation: s.Equation, number: int, outline: Outline) -> bool:
    """Whether a side is a function that nothing here defines, of names alone."""
    side = s.unsigned(equation.sides[number])
    if isinstance(side, s.Index) and number < len(equation.sides) - 1:
        side = side.base  # `p_k = f(x)_k = …`
    if isinstance(side, s.Call) and side.word in ("log", "ln") and len(side.arguments) == 1:
        side = s.inner(side.arguments[0])  # `L = -log p(y | x) = …`
        if isinstance(side, s.Call) and side.given is None:
            return False
    if not isinstance(side, s.Call):
        return False
    if not all(isinstance(a, s.Name | s.Comparison) for a in side.arguments):
        return False
    if side.given is not None:  # the p of `ŷ_o = p(o | c) = exp(…) / …`
        return number < len(equation.sides) - 1 and isinstance(equation.left, s.Name | s.Call)
    use = outline.use(side)
    if use is None or use.kind == "probability" or use.reference.key in outline.defined:
        return False
    return bool(opaque(use, outline)) or use.reference.key in FUNCTION_LETTERS


def with_arguments(statements: Iterable[s.Statement]) -> Iterator[s.Statement]:
    """`a = f(z) = f(w^⊤ x + b)` says what z is: `z = w^⊤ x + b` and `a = f(z)`."""
    statements = list(statements)
    defined = {st.left for st in statements if isinstance(st, s.Equation)}
    for statement in statements:
        sides = statement.sides[1:] if isinstance(statement, s.Equation) else ()
        calls = [side for side in sides if isinstance(side, s.Call) and activates(side)]
        named = [c for c in calls if isinstance(c.arguments[0], s.Name)]
        others = [c for c in calls if c not in named]
        if not isinstance(statement, s.Equation) or len(named) != 1 or not others:
            yield statement
            continue
        (call,) = named
        name = call.arguments[0]
        if name in defined or any(c.function != call.function for c in others):
            yield statement
            continue
        values = tuple(c.arguments[0] for c in others)
        equals = ("=",) * len(values)
        yield replace(statement, sides=(name, *values), relations=equals, label="")
        kept = tuple(side for side in statement.sides if side not in others)
        yield replace(statement, sides=kept, relations=statement.relations[: len(kept) - 1])


def offers(statements: Iterable[s.Statement]) -> Iterator[s.Statement]:
    r"""Behind one brace, with words for names or with none, stand equations of which one is chosen.

    `score = \begin{cases} h^⊤ s & \text{dot} \\ h^⊤ W s & \text{general} \end{cases}`
    """
    for statement in statements:
        cases = s.inner(statement.sides[-1]) if isinstance(statement, s.Equation) else None
        if not isinstance(statement, s.Equation) or not isinstance(cases, s.Cases):
            yield statement
            continue
        branches, text = cases.branches, cases.span.source.text
        named = {c is None or (isinstance(c, s.Name) and len(c.base) > 1) for _, c in branches}
        gaps = [text[a.span.end : b.span.start] for (a, _), (b, _) in pairwise(branches)]
        # `\{ a \\ + b`: what is too long for one line.
        goes_on = any("+" in gap for gap in gaps) or any(
            isinstance(v, s.Negative) for v, _ in branches[1:]
        )
        same = len({c is None for _, c in branches}) == 1
        if named != {True} or goes_on or not same or len(branches) < 2:
            yield statement
            continue
        for value, _ in branches:
            yield replace(statement, sides=(*statement.sides[:-1], value), span=value.span)
