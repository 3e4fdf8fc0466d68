r"""Derivatives in prose → names.

\frac{\partial L}{\partial W} = \delta x^\top     →  the name `∂L/∂W`, of W's kind, is defined
\frac{\partial a_i}{\partial z_k} = a_i (\delta_{ik} - a_k)     →  a number for each i and k
\frac{\partial L}{\partial h} \frac{\partial h}{\partial W}     →  `∂L/∂h ∂h/∂W`, a chain

A loss is a number, so its derivative by something is like that. Any other has the indices of what is
derived and of what it is derived by, which the name keeps as its ends (`vectors/` asks for them). A derivative
of which nothing says what its ends are keeps its ∂, and is for whoever tries derivations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.program.names.derivatives import (
    SIGNS,
    at_steps,
    derives,
    differentiated,
    is_gradient,
    of_a_step,
    varied,
)
from indicial.program.names.differentiating import NUMBERING, by_rules
from indicial.program.names.letters import COUNTING, LAST, WORDS, is_capital

LOSSES = frozenset(
    {"L", "ℒ", "J", "𝒥", "ℓ", "l", "E", "ℰ", "C", "𝒞", "S", "loss", "Loss", "cost", "RSS", "MSE", "SSE", "BCE"}
)  # fmt: skip
"""What is made small: numbers."""
ZERO = s.Number("0")
PART = "_·"
"""Behind the L of `∂L_t/∂W`, where `∂L/∂W` is something else."""
D = s.Name("d")


def named(statements: list[s.Statement]) -> list[s.Statement]:
    """The statements of a heading with names for their derivatives, wherever all of one have a name."""
    statements = [varied(st) if isinstance(st, s.Equation) else st for st in statements]
    if not any(map(derives, statements)):
        return statements
    found = [
        differentiated(st) if isinstance(st, s.Equation) and derives(st) else st
        for st in statements
    ]
    naming = _Naming(found)
    return [
        naming.named(new) or old if isinstance(new, s.Equation) and new is not old else old
        for old, new in zip(statements, found, strict=True)
    ]


class _Naming:
    """The names of the derivatives that stand under one heading."""

    def __init__(self, statements: list[s.Statement]) -> None:
        slopes = s.every(statements, s.Derivative)
        above = [n for slope in slopes if (n := _head(slope.above)) is not None]
        plain = {n.stem for n in above if not n.scripts}
        self.parts = plain & {n.stem for n in above if n.scripts}
        """What is differentiated as a whole, and in parts: the L of `∂L/∂W = Σ_t ∂L_t/∂W`."""
        pairs = [(s.head(slope.above), s.head(slope.below)) for slope in slopes]
        self.pairs = [(a, b) for a, b in pairs if isinstance(a, s.Name) and isinstance(b, s.Name)]
        steps = {(slope.above, slope.below) for slope in slopes if of_a_step(slope)}
        self.far = {a.stem for a, b in self.pairs if a.stem == b.stem and (a, b) not in steps}
        """What is differentiated by itself many steps before, `∂h_t/∂h_k`."""
        ends = [n for pair in self.pairs for n in pair]
        self.numbered = {(n.stem, i.base) for n in ends for x in n.scripts for i in x.every(s.Name)}
        """The ends of derivatives, with the letters that stand at them."""
        equations = [st for st in statements if isinstance(st, s.Equation)]
        lefts = (s.head(st.left) for st in equations)
        self.defined = {n.stem for n in lefts if isinstance(n, s.Name)}
        places = [i for n in s.every(statements, s.Name) for i in n.scripts]
        places += [i for n in s.every(statements, s.Index) for i in n.items]
        scripts = s.ids(node for place in places for node in place.walk())
        bound = {n.base for r in s.every(statements, s.Reduction) for n in s.every(r.under, s.Name)}
        values = [n for n in s.every(statements, s.Name) if id(n) not in scripts]
        self.values = (
            {n.base for n in values if n.scripts or n.base not in COUNTING} - bound - SIGNS
        )
        """The letters that are names of something: the h of `W_h`, beside `h_t`."""
        inner = [s.inner(i) for n in values for i in n.scripts]
        self.places = bound | {n.base for i in inner for n in i.every(s.Name)}
        """The letters that stand below or above a name."""

    def named(self, found: s.Equation) -> s.Equation | None:
        """An equation with names for its derivatives; None if it is about something else."""
        if found.guard is not None or {*found.relations} != {"="}:
            return None
        slopes = s.every(found.sides, s.Derivative)
        left = found.sides[0]
        by_elements = any(n.sub for n in found.every(s.Name)) and not any(
            map(_of_wholes, found.sides)
        )
        lone = {i.base for n in found.every(s.Name) for i in n.sub if isinstance(i, s.Name)}

        def change(node: s.Expression) -> s.Expression:
            if isinstance(node, s.Derivative):
                rule = by_rules(node, self._depending(node)) if _head(node.above) is None else None
                if rule is not None:
                    return change(rule)
                own = (
                    isinstance(left, s.Derivative)
                    and node == left
                    and (_own(node, found.sides[-1]) or of_a_step(node))
                )
                number = _is_loss(node.above) or is_gradient(node)
                sure = by_elements or own or number or self._known(node)
                name = self._name(node, lone) if sure else None
                return name or node
            return node if isinstance(node, s.Name) else node.rebuild(change)

        sides = list(map(change, at_steps(found).sides))
        if isinstance(left, s.Derivative) and sides[-1] == ZERO:
            sides.pop()  # where it vanishes is another matter
        open_ = any(side.every(s.Derivative) or _signs(side) for side in sides)
        if not slopes or len(sides) < 2 or open_:
            return None
        return replace(found, sides=tuple(sides), relations=("=",) * (len(sides) - 1))

    def _depending(self, slope: s.Derivative) -> set[s.Name]:
        """The names of which a derivative by the same thing stands under this heading."""
        by = slope.below.stem if isinstance(slope.below, s.Name) else None
        return {one.stem for one, two in self.pairs if two.stem == by}

    def _known(self, slope: s.Derivative) -> bool:
        """Whether anything says what both ends of a derivative are: their type, an index, an equation."""
        return all(
            isinstance(n := s.head(end), s.Name)
            and (n.font == "bold" or n.scripts or is_capital(n.base) or n.stem in self.defined)
            for end in (slope.above, slope.below)
        )

    def _name(self, slope: s.Derivative, lone: set[str]) -> s.Name | s.Index | None:
        """`∂L/∂W_{hh}` as one name, with the indices of both, those that they share once."""
        above, under = _head(slope.above, is_gradient(slope)), slope.below
        if above is None or not isinstance(under, s.Name) or under.base in ("t", "τ"):
            return None  # how something changes in time
        if any(isinstance(i, s.Product) for i in above.scripts + under.scripts):
            return None  # `a_{2j}` may be an element, or the j of a_2
        if self._ends_nothing(above) or self._ends_nothing(under):
            return None
        number = _is_loss(above) or is_gradient(slope)
        ends = (under,) if number else (above, under)
        if of_a_step(slope):  # by itself a step before: for each step one
            each = PART if above.stem in self.far else ""
            base = f"∂{unicode(above.stem)}{each}/∂{unicode(under.stem)}"
            return s.Name(base, (), 0, above.sub, above.sup, above.font, ends, span=slope.span)
        each = PART if above.scripts and above.stem in self.parts else ""
        labels = [self._labels(name, not number) for name in (above, under)]
        spelt = [
            _powered(s.Name(n.base, n.accents, n.primes, *scripts), n)
            for n, scripts in zip((above, under), labels, strict=True)
        ]
        taken = s.ids(i for scripts in labels for some in scripts for i in some)
        sub = _letters(tuple(i for i in above.sub + under.sub if id(i) not in taken), lone)
        sup = tuple(i for i in above.sup + under.sup if id(i) not in taken)
        sup = tuple(i for i in sup if not isinstance(i, s.Number))
        once = _once((*sub, *sup))
        sub, sup = (tuple(i for i in scripts if id(i) in once) for scripts in (sub, sup))
        base = f"∂{spelt[0]}{each}/∂{spelt[1]}"
        name = s.Name(base, (), 0, sub, sup, under.font, ends, span=slope.span)
        rare = {n.base for n in sub if isinstance(n, s.Name) and n.bare} <= NUMBERING - COUNTING
        if rare and len(sub) > 1:  # the a and b of `∂L/∂S_{ab}`, with which few people count
            return s.Index(replace(name, sub=()), sub, span=slope.span)
        return name

    def _ends_nothing(self, name: s.Name) -> bool:
        """The L of `∂E/∂z^{(L)}` without a `∂E/∂z^{(l)}`: a last layer of none."""
        inner = [s.inner(i) for i in name.scripts]
        last = [n.base.lower() for n in inner if isinstance(n, s.Name) and n.base in LAST]
        return any((name.stem, letter) not in self.numbered for letter in last)

    def _labels(
        self, name: s.Name, numbers: bool
    ) -> tuple[tuple[s.Expression, ...], tuple[s.Expression, ...]]:
        """What stands below and above a name and is a part of it: the hh of `W_{hh}`, the O of `a_i^{(O)}`."""

        def is_label(script: s.Expression) -> bool:
            inner = s.inner(script)
            if isinstance(inner, s.Number):  # the 2 of `σ^2` is a power
                return numbers and (inner is not script or script in name.sub)
            if isinstance(inner, s.TupleLiteral):
                return inner.every(s.Name) != []
            if not isinstance(inner, s.Name):
                return False
            word = inner.base
            if len(word) > 1 and (inner.font == "roman" or word in WORDS):
                return True  # `∇C_{in}`
            weighs = is_capital(name.base) or name.base == "b"  # not the c of the vector u_c
            if (word in self.values and weighs) or (is_capital(word) and word not in LAST):
                return True
            if isinstance(script, s.Group) and script.bracket == "[":
                return word not in COUNTING
            if len(word) == 2:  # `W_{xh}`, `W_{hh}`; but `S_{ab}`
                told = weighs and bool({*word} & self.values)
                counts = {*word} & (COUNTING | self.places)
                return not {*word} <= NUMBERING and (told or len({*word}) == 1 or not counts)
            return len(word) > 2

        sub, sup = (tuple(i for i in x if is_label(i)) for x in (name.sub, name.sup))
        return sub, sup


def abbreviated(statements: list[s.Statement]) -> list[s.Statement]:
    """`dX = dS W^⊤`, `dw = x dz`: for a derivative of the loss by X there stands dX, as programs call it.

    Where a `dt` or `dx` stands that nothing computes, it is about small changes.
    """
    found = [pair for p in s.every(statements, s.Product) for pair in _differences(p)]
    computed: dict[s.Name, list[set[s.Name]]] = {}
    for equation in (st for st in statements if isinstance(st, s.Equation)):
        if isinstance(equation.left, s.Product) and _differs(equation.left):
            products = s.every(equation.sides[1:], s.Product)
            needs = {n.stem for p in products for n in _differences(p) if not is_capital(n.base)}
            computed.setdefault(_differences(equation.left)[0].stem, []).append(needs)
    names = set(computed)
    while lacking := {n for n in names if not all(needs <= names for needs in computed[n])}:
        names -= lacking
    alone = len(found) == sum(map(len, computed.values()))  # `dZ = A - Y` alone may be anything
    if not names or (alone and all(is_capital(name.base) for name in names)):
        return statements
    names |= {name.stem for name in found if is_capital(name.base)}

    return _as_names(statements, D, names)


def shaped(statements: list[s.Statement]) -> list[s.Statement]:
    """`dx = da W^⊤`, `dW = x^⊤ da`: each has the shape of what it is called after, if that stands there too.

    Where only one is computed, it may be the width of a cell or a change.
    """
    names = s.every(statements, s.Name)
    lefts = [st.left for st in statements if isinstance(st, s.Equation)]
    computed = {n.stem for n in lefts if isinstance(n, s.Name) and _after(n) is not None}
    if len(computed) < 2:
        return statements
    scripts = s.ids(i for n in names for x in n.scripts for i in x.walk())
    places = s.ids(n.base for n in s.every(statements, s.Index)) | scripts
    known = {replace(n, sup=()) for n in names if id(n) not in places}

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name):
            own = _after(node)
            return replace(node, ends=(own,)) if own in known else node
        return node.rebuild(change)

    return s.with_sides(statements, change)


def _after(name: s.Name) -> s.Name | None:
    """The W_x of `dW_x`."""
    d, letter = name.base[:1], name.base[1:]
    if d != D.base or len(letter) != 1 or letter in "tτ" or name.ends:
        return None
    return replace(name, base=letter, sup=(), font="")


def varying(statements: list[s.Statement]) -> list[s.Statement]:
    """`δx_t = Σ_k c_{tk} b_k`: how much x_t changes, as one name, where a δ stands before names alone."""
    if not any(n.base == "δ" for n in s.every(statements, s.Name)):
        return statements
    delta = s.Name("δ")
    pairs = [pair for p in s.every(statements, s.Product) for pair in pairwise(p.factors)]
    found = [b for a, b in pairs if a == delta and isinstance(b, s.Name) and b.base.isascii()]
    lefts = [st.left for st in statements if isinstance(st, s.Equation)]
    defined = [x for x in lefts if isinstance(x, s.Product) and x.factors[0] == delta]
    alone = len(found) == list(s.every(statements, s.Name)).count(delta)
    if not alone or not any(len(left.factors) == 2 for left in defined):
        return statements

    return _as_names(statements, delta)


def _as_names(
    statements: list[s.Statement], sign: s.Name, of: set[s.Name] | None = None
) -> list[s.Statement]:
    """The d and the X of `dX` as one name, for some names or for all."""

    def change(node: s.Expression) -> s.Expression:
        if not isinstance(node, s.Product):
            return node if isinstance(node, s.Name) else node.rebuild(change)
        factors: list[s.Expression] = []
        for factor in map(change, node.factors):
            named = isinstance(factor, s.Name) and (of is None or factor.stem in of)
            if factors and factors[-1] == sign and named and isinstance(factor, s.Name):
                span = factors.pop().span.to(factor.span)
                base = sign.base + factor.base
                factor = replace(factor, base=base, span=span)
            factors.append(factor)
        return factors[0] if len(factors) == 1 else replace(node, factors=tuple(factors))

    return s.with_sides(statements, change)


def _differences(product: s.Product) -> list[s.Name]:
    """The S of `dS W`."""
    return [b for a, b in pairwise(product.factors) if a == D and isinstance(b, s.Name)]


def _differs(left: s.Product) -> bool:
    return len(left.factors) == 2 and bool(_differences(left))


def below(name: s.Name) -> s.Name | None:
    """The W_{hh} of `∂L/∂W_{hh}`, if L is a number; None for other names and derivatives."""
    if len(name.ends) != 1:
        return None
    (under,) = name.ends
    return replace(
        name, base=under.base, accents=under.accents, primes=under.primes, font=under.font, ends=()
    )


def _powered(stem: s.Name, name: s.Name) -> str:
    """The `σ^2` of `∂L/∂σ^2`, which is no derivative by σ."""
    return unicode(stem) + "".join(f"^{i.text}" for i in name.sup if isinstance(i, s.Number))


def _letters(scripts: tuple[s.Expression, ...], lone: set[str]) -> tuple[s.Expression, ...]:
    """The i and j of `W_{ij}`, where an i stands by itself too, or people number with both."""
    return tuple(
        replace(i, base=letter) if letter and isinstance(i, s.Name) else i
        for i in scripts
        for letter in (i.base if isinstance(i, s.Name) and _counted(i.base, lone) else [""])
    )


def _counted(word: str, lone: set[str]) -> bool:
    return bool(lone & {*word}) or (len(word) == 2 and {*word} <= NUMBERING and word != "in")


def _once(scripts: Sequence[s.Expression]) -> set[int]:
    """The scripts without the `l+1` that stands beside an `l`, and none of them twice."""
    lone = {n.base for i in scripts if isinstance(n := s.inner(i), s.Name)}
    kept: dict[s.Expression, int] = {}
    for script in scripts:
        inner = s.inner(script)
        shifted = isinstance(inner, s.Add) and {n.base for n in inner.every(s.Name)} <= lone
        if not shifted:
            kept.setdefault(inner, id(script))
    return set(kept.values())


def _head(above: s.Expression, gradient: bool = False) -> s.Name | None:
    """The J of `∂J(θ)/∂θ`; a function that is only a letter has nothing but a gradient."""
    if isinstance(above, s.Call) and above.given is None and above.word in LOSSES:
        parts = any(n.scripts for a in above.arguments for n in a.every(s.Name))
        return None if parts else above.function
    if not isinstance(above, s.Name):
        return None
    if above.base == "e" and above.sup and not above.sub:
        return None  # `e^{-x}`
    functions = "∂∇" if gradient or above.font == "bold" else "fgφψF∂∇"
    return above if above.base not in functions else None


def _is_loss(above: s.Expression) -> bool:
    head = _head(above)
    return head is not None and head.base in LOSSES and not head.accents


def _of_wholes(side: s.Expression) -> bool:
    """Whether a side has matrices or vectors as a whole, by their type or a capital without index."""
    turned = any(isinstance(n, s.Transpose | s.Norm | s.Hadamard) for n in side.walk())
    losses = s.ids(n.above for n in side.every(s.Derivative) if _is_loss(n.above))
    names = [n for n in s.values(side) if isinstance(n, s.Name) and id(n) not in losses]
    turned = turned or any(s.Name("T") in n.sup for n in names)
    return turned or any(n.font == "bold" or (is_capital(n.base) and not n.sub) for n in names)


def _signs(side: s.Expression) -> bool:
    """Whether signs of derivatives are left in a side."""
    return any(n.base in ("∂", "∇") for n in side.every(s.Name))


def _own(slope: s.Derivative, side: s.Expression) -> bool:
    """`∂ŷ/∂z = ŷ (1 - ŷ)`: what is derived, by itself, and beside it numbers and known functions."""
    ends = [n for part in (slope.above, slope.below) if isinstance(n := s.head(part), s.Name)]
    apart = s.ids(script for n in side.every(s.Name) for script in n.scripts)
    apart |= s.ids(call.function for call in side.every(s.Call))
    free = [n for n in side.every(s.Name) if id(n) not in apart]
    known = {n.stem for n in ends}
    plain = all((n.stem in known or n.base == "δ") and n.font != "bold" for n in free)
    at = {call.function.stem for call in side.every(s.Call) if call.arguments == (slope.below,)}
    return plain and ends[0].stem in {n.stem for n in free} | at  # the σ of `σ(x) (1 - σ(x))`
