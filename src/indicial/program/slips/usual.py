r"""Well-known formulas that differ from their usual form in one place.

    \frac{e^{x_i}}{\sum_j x_j}                         the exponential is missing below
    \sigma(x) = \frac{1}{1 + e^{x}}                    the minus is missing
    \mathrm{softmax}(QK/\sqrt{d_k})V                   K lacks its transpose
    m_t = \beta_1 m_{t-1} + (1 - \beta_2) g_t          the weights do not add up to 1
    \|y - Xw\|^2 - \lambda\|w\|^2                      the penalty is subtracted

`formulas.py` has the formulas, and what becomes of each by a slip; here are the rules that no pattern shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.program.names.letters import shifted
from indicial.program.slips.forms import Bound, Shape, fits, pattern, shape
from indicial.program.slips.formulas import LOSS, Wrong, all_wrong

CODE = "usual-form"


def unusual(equation: s.Equation) -> Iterator[Fault]:
    """The places where an equation differs from what it is usually."""
    sides = [shape(side) for side in equation.sides]
    yield from _wrong_forms(sides)
    for rule in (
        _averages,
        _penalties,
        _densities,
        _corrections,
        _feed_forward,
        _inverted,
        _largest,
        _other_letter,
        _undivided,
        _jacobian,
    ):
        yield from rule(equation)


@cache
def _by_root() -> Mapping[tuple[str, str], Sequence[Wrong]]:
    """What is written by slips, by the outermost sign."""
    found: dict[tuple[str, str], list[Wrong]] = {}
    for wrong in all_wrong():
        found.setdefault((wrong.form.kind, wrong.form.word), []).append(wrong)
    return found


def _wrong_forms(sides: Sequence[Shape]) -> Iterator[Fault]:
    told: set[str] = set()
    for number, side in enumerate(sides):
        for place in side.pieces:
            for wrong in _by_root().get((place.kind, place.word), ()):
                if wrong.text in told or not wrong.form.signs <= place.signs:
                    continue
                if (wrong.whole and place is not side) or (number == 0 and wrong.named):
                    continue
                if any(_meant_so(wrong, bound) for bound in _fits(wrong, sides, place)):
                    told.add(wrong.text)
                    spans = [place.node.span, *(x.node.span for x in sides[:1] if number)]
                    yield warned(CODE, wrong.text, *spans, hint=wrong.hint)


def _fits(wrong: Wrong, sides: Sequence[Shape], place: Shape) -> Iterator[Bound]:
    if wrong.called and (len(sides) < 2 or not re.match(wrong.called, _called(sides[0]))):
        return
    for start in fits(wrong.left, sides[0]) if wrong.left is not None else [{}]:
        yield from fits(wrong.form, place, start, part=not wrong.whole)


def _meant_so(wrong: Wrong, bound: Bound) -> bool:
    """A logarithm of a ratio has any sign, and so has one with a minus somewhere before it."""
    signed = {x for x in "YN" if x in bound and any(part.kind == "neg" for part in bound[x].pieces)}
    likely = "P" not in bound or (not signed and bound["P"].kind != "frac")
    return wrong.when(bound) and (likely or wrong.called != LOSS)


def _called(left: Shape) -> str:
    """The name of what an equation defines: `σ^2`, `MSE`, the `H` of `H(p, q)`, `L_CE`."""
    if left.kind == "pow":
        return _called(left.parts[0]) + "^" + left.parts[1].word
    if left.kind == "call" and isinstance(left.node, s.Call):
        return _called(shape(left.node.function))
    labels = [part.word for part in left.parts if left.kind == "name" and len(part.word) > 1]
    return "_".join([left.word, *labels])


# ---------------------------------------------------------------------- rules


def told_apart_below(one: s.Expression, other: s.Expression) -> bool:
    """`β_1` and `β_2`; but α^ℓ and α^{2ℓ} are of one α, and what has no script has no number."""
    if not isinstance(one, s.Name) or not isinstance(other, s.Name):
        return False
    alike = one.stem == other.stem and one.sup == other.sup
    return alike and bool(one.sub and other.sub) and one.sub != other.sub


def _averages(equation: s.Equation) -> Iterator[Fault]:
    """`m_t = β_1 m_{t-1} + (1 - β_2) g_t`: a running mean whose weights are of two names."""
    left = shape(equation.sides[0])
    for side in equation.sides[1:]:
        for bound in fits(pattern("B X + (1 - C) Y")[0], shape(side)):
            one, other = bound["B"], bound["C"]
            if not told_apart_below(one.node, other.node):
                continue
            if left.kind == "name" and bound["X"].kind == "name" and bound["X"].word == left.word:
                text = f"the weights of this mean are {unicode(one.node)} and 1 - {unicode(other.node)}"
                hint = "is one of them meant both times?"
                yield warned(CODE, text, other.node.span, one.node.span, hint=hint)
                return


def _penalties(equation: s.Equation) -> Iterator[Fault]:
    r"""`‖y - X w‖^2 - λ ‖w‖^2`: the error is to be small, and w to be large."""
    for node in equation.every(s.Add):
        for bound in fits(pattern(r"E - \lambda R")[0], shape(node), part=True):
            error, penalty, weight = bound["E"], bound["R"], bound["λ"]
            if weight.word not in ("λ", "α", "γ") or not (_squared(error) and _squared(penalty)):
                continue
            names = {part.word for part in penalty.pieces if part.kind == "name"}
            inside = {part.word for part in error.pieces if part.kind == "name"}
            if any(part.kind == "add" for part in error.pieces) and names & inside:
                text = "the penalty is subtracted: the larger it is, the smaller is the whole"
                sites = (x.node.span for x in (weight, error))
                yield warned(CODE, text, penalty.node.span, *sites, hint="is a plus meant?")
                return


def _squared(found: Shape) -> bool:
    """`‖w‖^2`, `1/n Σ_i (y_i - ŷ_i)^2`: a square, with numbers before it or not."""
    if found.kind == "mul":
        return _squared(found.parts[-1]) and all(
            p.kind in ("frac", "number") for p in found.parts[:-1]
        )
    if found.kind == "sum":
        return _squared(found.parts[-1])
    return (
        found.kind == "pow"
        and found.parts[1].word == "2"
        and found.parts[0].kind in ("norm", "add", "name")
    )


def _densities(equation: s.Equation) -> Iterator[Fault]:
    """`-1/2 y^⊤ (K + σ^2 I)^{-1} y - 1/2 log |K|`: one Gaussian, two covariances."""
    for side in equation.sides:
        parts = shape(side).pieces
        inverses = [
            p.parts[0]
            for p in parts
            if p.kind == "pow" and p.parts[1].kind == "neg" and p.parts[1].parts[0].word == "1"
        ]
        dets = [
            p.parts[0].parts[0] for p in parts
            if p.kind == "call" and p.word == "log" and p.parts[0].kind == "call" and p.parts[0].word in ("abs", "det")
        ]  # fmt: skip
        if (
            len(inverses) == len(dets) == 1
            and inverses[0].kind == "add"
            and dets[0] in inverses[0].parts
        ):
            text = "the determinant is of one matrix, the inverse of another"
            hint = "a Gaussian has one covariance: is a term missing in the determinant?"
            yield warned(CODE, text, dets[0].node.span, inverses[0].node.span, hint=hint)


def _corrections(equation: s.Equation) -> Iterator[Fault]:
    r"""`\hat m_t = m_t / (1 - β)`: the correction of a running mean lacks the power t."""
    left = equation.sides[0]
    if not isinstance(left, s.Name) or left.accents != ("hat",) or len(left.sub) != 1:
        return
    time = shifted(left.sub[0])
    counting = {n.base for i in left.scripts for n in i.every(s.Name)}  # the t of `\hat m_w^{(t)}`
    for bound in fits(pattern(r"\frac{x}{1 - b}")[0], shape(equation.sides[-1])):
        below = bound["b"]
        if (
            time
            and bound["x"].word == left.base
            and below.word == "β"
            and counting.isdisjoint(p.word for p in below.pieces)
        ):
            text = (
                f"{unicode(below.node)} lacks the power {time[0].base} that corrects a running mean"
            )
            yield warned(
                CODE, text, below.node.span, hint=f"is it meant to the power {time[0].base}?"
            )


def _feed_forward(equation: s.Equation) -> Iterator[Fault]:
    """`W_2 SiLU(W_1 x) ⊙ W_3 x`: products bind more than ⊙, so that W_2 is applied to one factor alone."""
    for node in equation.every(s.Hadamard):
        if len(node.factors) != 2:
            continue
        gated, other = node.factors
        for bound in fits(pattern("w G")[0], shape(gated)):
            called, weights = bound["G"], bound["w"]
            for inner in fits(pattern("w x")[0], shape(other)):
                same = called.kind == "call" and len(called.parts) == 1 and any(
                    fit["x"] == inner["x"] and fit["w"].word == weights.word
                    for fit in fits(pattern("w x")[0], called.parts[0])
                )  # fmt: skip
                if same and weights.word.isupper() and inner["w"].word == weights.word:
                    text = f"{unicode(weights.node)} is applied to one factor of ⊙ alone"
                    yield warned(
                        CODE,
                        text,
                        weights.node.span,
                        node.span,
                        hint="are brackets missing around a ⊙ b?",
                    )
                    return


def wrong_sides(display: Sequence[s.Equation], equations: Sequence[s.Equation]) -> Iterator[Fault]:
    """`Y = W X`, `∂L/∂X = ∂L/∂Y W^⊤`: the gradient of the second factor has the first on its left."""
    for row in display:
        factors = s.factors(row.sides[-1])
        gradient = below_slope(shape(row.sides[0]))
        if gradient is None or len(factors) != 2:
            continue
        products = [
            (shape(other.sides[0]), *map(shape, s.factors(term)))
            for other in equations if len(other.sides) == 2
            for term in s.terms(other.sides[1]) if len(s.factors(term)) == 2
        ]  # fmt: skip
        one, two = map(shape, factors)
        for whole, first, second in products:
            if not (first.word.isupper() and second.word.isupper()):
                continue
            turned = (
                gradient == second and below_slope(one) == whole and two == _turned(first)
            ) or (gradient == first and below_slope(two) == whole and one == _turned(second))
            if turned:
                text = f"these factors stand in the wrong order for a gradient by {unicode(gradient.node)}"
                hint = "with Y = A B the gradients are ∂L/∂A = ∂L/∂Y B^⊤ and ∂L/∂B = A^⊤ ∂L/∂Y"
                yield warned(CODE, text, row.sides[-1].span, whole.node.span, hint=hint)


def _turned(found: Shape) -> Shape:
    return Shape("transpose", "", (found,))


def below_slope(found: Shape) -> Shape | None:
    """The X of `∂L/∂X`."""
    if found.kind != "frac" or not all(
        p.kind == "mul" and p.parts[0].word == "∂" for p in found.parts
    ):
        return None
    return found.parts[1].parts[1] if len(found.parts[1].parts) == 2 else None


def _inverted(equation: s.Equation) -> Iterator[Fault]:
    """`P(a|b) = P(b|a) P(b) / P(a)`: the rule of Bayes with its two letters exchanged in one place."""
    left = equation.sides[0]
    for whole in map(s.inner, equation.sides[1:]):
        if not isinstance(left, s.Call) or not left.given or not isinstance(whole, s.Fraction):
            continue
        nodes = (*s.factors(s.inner(whole.above)), s.inner(whole.below))
        calls = [node for node in nodes if isinstance(node, s.Call)]
        if len(nodes) != 3 or len(calls) != 3 or len([c for c in calls if c.given]) != 1:
            continue
        turned, *alone = sorted(calls, key=lambda call: not call.given)
        found = [turned.arguments, turned.given, *(call.arguments for call in alone)]
        wanted = [left.given, left.arguments, left.arguments, left.given]
        if all(part in wanted for part in found) and found != wanted and turned is not calls[2]:
            text = "this is not the rule of Bayes: P(a|b) is P(b|a) P(a) / P(b)"
            yield warned(CODE, text, whole.span, left.span, hint="are two letters exchanged?")


def _largest(equation: s.Equation) -> Iterator[Fault]:
    """`ŷ = max_k P(k|x)`: a class is where a probability is largest, and not how large it is."""
    left, right = equation.left, s.inner(equation.sides[-1])
    hat = isinstance(left, s.Name) and left.base in "yck" and left.accents == ("hat",)
    if hat and isinstance(right, s.Reduction) and right.operator == "max" and len(right.under) == 1:
        calls = [f for f in s.factors(s.inner(right.body)) if isinstance(f, s.Call)]
        if calls and all(call.word in ("p", "P") for call in calls):
            text = f"{unicode(left)} is the largest probability here, and not the class that has it"
            yield warned(CODE, text, right.span, left.span, hint="is argmax meant?")


def _undivided(equation: s.Equation) -> Iterator[Fault]:
    """`σ^2 = Σ_i (x_i - μ)^2`: a variance is a mean of squares, and no sum."""
    called = _called(shape(equation.sides[0]))
    for side in equation.sides[1:]:
        sums = fits(pattern(r"\sum_i (x_i - m)^2")[0], shape(side))
        if called == "σ^2" and any(bound["m"].word == "μ" for bound in sums):
            text = "a variance is a mean of squares; this is their sum"
            yield warned(CODE, text, side.span, equation.sides[0].span, hint="is a 1/n missing?")


def _places(name: s.Expression) -> list[str]:
    """The i and j of `e_{ij}`, `e_{i,j}`."""
    scripts = name.sub if isinstance(name, s.Name) and not name.sup else ()
    bare = [i.base for i in scripts if isinstance(i, s.Name) and i.bare]
    return [c for base in bare for c in base] if len(bare) == len(scripts) else []


def _jacobian(equation: s.Equation) -> Iterator[Fault]:
    """`∂p_i/∂z_j = p_i (δ_{ij} - p_i)`: one of the two p is that of j."""
    slope = equation.sides[0]
    if not isinstance(slope, s.Fraction) or equation.guard is not None:
        return
    ends = [shape(end).parts[-1].node for end in (slope.above, slope.below) if shape(end).parts]
    letters = [place for end in ends for place in _places(end)]
    if (
        below_slope(shape(slope)) is None
        or len(ends) != 2
        or len(set(letters)) != 2
        or len(letters) != 2
    ):
        return
    match equation.sides[-1]:
        case s.Call(function=first, arguments=(bracket,)) | s.Product(factors=(first, bracket)):
            one: s.Expression = first  # `p_i (…)` looks like a call
        case _:
            return
    for bound in fits(pattern("D - y")[0], shape(bracket)):
        two, unit = (bound[x].node for x in "yD")
        names = [n for n in (one, two, ends[0]) if isinstance(n, s.Name)]
        if len({n.stem for n in names}) != 1 or len(names) != 3:
            continue
        alone = unit == s.Number("1")
        if not alone and not (isinstance(unit, s.Name) and unit.base in "δI" and unit.sub):
            continue
        fine = sorted(_places(one) + _places(two)) == sorted(letters)
        if not fine or alone or sorted(_places(unit)) != sorted(letters):
            text = f"this derivative is right neither where {letters[0]} is {letters[1]} nor where it is not"
            if alone:
                text = f"this is the derivative where {letters[0]} is {letters[1]} only"
            hint = f"p_{letters[0]} (δ_{{{letters[0]}{letters[1]}}} - p_{letters[1]}) is that of a softmax"
            yield warned(CODE, text, equation.sides[-1].span, slope.span, hint=hint)


def _other_letter(equation: s.Equation) -> Iterator[Fault]:
    """`σ(x) = 1 / (1 + e^{-z})`: the argument is x, and the right side has z."""
    left = equation.left.base if isinstance(equation.left, s.Index) else equation.left
    if not isinstance(left, s.Call) or len(left.arguments) != 1 or left.given is not None:
        return
    (argument,), right = left.arguments, equation.sides[1]
    small = isinstance(argument, s.Name) and argument.bare and argument.base.islower()
    activation = left.word in ("σ", "sigmoid", "softmax", "tanh", "Softmax", "Sigmoid")
    powers = any(n.base == "e" and n.sup for n in right.every(s.Name))
    powers = powers or any(c.word == "exp" for c in right.every(s.Call))
    if not small or not (activation or left is not equation.left) or not powers:
        return
    known = {c.word for c in right.every(s.Call)} <= {"exp"}
    over = {n for r in right.every(s.Reduction) for u in r.under for n in u.every(s.Name)}
    names = [
        n for n in s.values(right) if isinstance(n, s.Name) and n.base != "e" and n not in over
    ]
    if known and names and len({n.stem for n in names}) == 1 and names[0].stem != argument:
        text = f"the argument is {unicode(argument)}, and the right side has {unicode(names[0])}"
        yield warned(
            CODE, text, argument.span, names[0].span, hint="is one letter meant in both places?"
        )
