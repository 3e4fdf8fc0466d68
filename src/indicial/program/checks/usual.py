r"""Well-known formulas that differ from their usual form in one place.

    \frac{e^{x_i}}{\sum_j x_j}                         the exponential is missing below
    \sigma(x) = \frac{1}{1 + e^{x}}                    the minus is missing
    \mathrm{softmax}(QK/\sqrt{d_k})V                   K lacks its transpose
    m_t = \beta_1 m_{t-1} + (1 - \beta_2) g_t          the weights do not add up to 1
    \|y - Xw\|^2 - \lambda\|w\|^2                      the penalty is subtracted

A form is listed as the slip has it, so that no variant of the usual one is taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import name_key, unicode
from indicial.program.checks.forms import Bound, Shape, fits, pattern, shape
from indicial.program.names.letters import shifted

CODE = "usual-form"


@dataclass(frozen=True)
class Form:
    """What is written by a slip, and what is said of it."""

    wrong: str
    text: str
    hint: str
    left: str = ""
    """What the left side has to be called, if it matters."""
    whole: bool = False
    """The form is all of a side, and not a piece of it."""
    when: Callable[[Bound], bool] = lambda bound: True


def _matrices(*letters: str) -> Callable[[Bound], bool]:
    """Whether these are matrices without any index: Q, `Q_h`, `\\mathbf Q`, but no `q_i`."""
    return lambda bound: all(bound[x].word[:1].isupper() for x in letters)


def _words(**words: str) -> Callable[[Bound], bool]:
    """Whether names are called so: m̂ and v̂, μ and σ."""
    return lambda bound: all(
        isinstance(node := bound[letter].node, s.Name)
        and name_key(replace(node, sub=(), sup=())) == word
        for letter, word in words.items()
    )


def _behind(row: Shape, column: Shape) -> bool:
    """Whether a vector stands behind another: small letters with an index."""
    small = all(x.word[:1].islower() and x.parts for x in (row, column))
    return small and row.node.span.end < column.node.span.start


LOSS = r"(?i)(b?ce|nll|.*loss|.*entropy|h|j|cost)$"
GROWS = "this density grows with the distance from its mean"
POSITIVE = (
    r"Y \log P", r"\sum_i Y \log P", r"N \sum_i Y \log P", r"\sum_i \sum_j Y \log P", r"N \sum_i \sum_j Y \log P",
    r"Y \log P + (1 - Y) \log(1 - P)", r"\sum_i (Y \log P + (1 - Y) \log(1 - P))",
    r"N \sum_i (Y \log P + (1 - Y) \log(1 - P))",
)  # fmt: skip

FORMS = (
    Form(r"\frac{\exp(x_i)}{\sum_j x_j}", "the numerator of this softmax has an exponential, its denominator has none",
         "is an exponential missing in the sum?"),
    Form(r"\frac{x_i}{\sum_j \exp(x_j)}", "the denominator of this softmax has an exponential, its numerator has none",
         "is an exponential missing in the numerator?"),
    Form(r"\mathrm{softmax}(\exp(A))", "a softmax takes the exponential itself; here it is taken twice",
         "leave out one of them"),
    Form(r"\frac{\mathrm{softmax}(A)}{v}", "the attention weights are divided by the values here",
         "weights are multiplied by values", when=lambda bound: bound["v"].word == "V"),
    Form(r"\mathrm{softmax}(\frac{q k}{A}) V", "the second matrix of the scores lacks its transpose",
         "is its transpose meant?", when=_matrices("q", "k")),
    Form(r"\mathrm{softmax}(q k) V", "the second matrix of the scores lacks its transpose",
         "is its transpose meant?", when=_matrices("q", "k")),
    Form(r"\frac{\mathrm{softmax}(q k^\top)}{\sqrt{d}}", "the root divides the weights here, and not the scores",
         "is it meant inside the softmax?"),
    Form(r"\sigma(x) = \frac{1}{1 + \exp(x)}", "this is the sigmoid of the argument with the other sign",
         "is a minus missing in the exponent?"),
    Form(r"\sigma(x) = \frac{\exp(-x)}{1 + \exp(-x)}", "this is the sigmoid of the argument with the other sign",
         "is a minus too much in the numerator?"),
    Form(r"A x^\top (1 - y^2)", "a column stands to the right of a row here", "is ⊙ or a diagonal matrix meant?",
         when=lambda bound: _behind(bound["x"], bound["y"])),
    Form(r"\sigma'(x) = \sigma(x) (1 + \sigma(x))", "the derivative of the sigmoid has a minus here",
         "is 1 - σ(x) meant?"),
    Form(r"\tanh'(x) = 1 - \tanh(x)", "the derivative of tanh has a square here", "is tanh(x)^2 meant?"),
    Form(r"\frac{N}{M} \sum_i (x_i - m)", "this mean of differences lacks its square", "is a square missing?",
         left=r"(?i)(R?MSE|Var|σ\^?2|s\^?2).*"),
    Form(r"\frac{m}{v + e}", "an average of gradients is divided by that of their squares, and not by its root",
         "is a square root missing?", when=_words(m="m̂", v="v̂")),
    Form(r"\frac{x - m}{s^2 + e}", "what is less its mean is divided by the variance, and not by its root",
         "is a square root missing?", when=_words(m="μ", s="σ")),
    *(Form(rf"\exp(\frac{{1}}{{2}} (x - m)^\top {matrix}^{{-1}} (x - m))", GROWS,
           "is a minus missing in the exponent?") for matrix in (r"\Sigma", "S", "A", "C", "K")),
    Form(r"\exp(\frac{(x - m)^2}{2 s^2})", GROWS,
         "is a minus missing in the exponent?"),
    Form(r"\exp(\frac{\|x - y\|^2}{A})", "this grows with the distance", "is a minus missing in the exponent?"),
    Form(r"\mathrm{softmax}(\frac{q k^\top}{d}) V", "the scores are divided by a size here, and not by its root",
         "is a square root missing?", when=lambda bound: bound["d"].word.startswith("d")),
    Form(r"= (1 - z) a + (1 - z) b", "the two weights of this mean do not add up to 1",
         "is one of them meant without 1 - ?"),
    Form(r"\frac{a b}{\|a\| + \|b\|}", "the lengths are added here: a cosine has their product",
         "is the product of the lengths meant?"),
    *(Form(f"= {form}", "this loss lacks its minus: logarithms of probabilities are negative", "is a minus missing?",
           left=LOSS) for form in POSITIVE),
    Form(r"= \exp(N \sum_i \log P)", "this perplexity lacks its minus: logarithms of probabilities are negative",
         "is a minus missing in the exponent?", left=r"(?i)(pp|ppl|perplexity)$"),
)  # fmt: skip


def unusual(equation: s.Equation) -> Iterator[Fault]:
    """The places where an equation differs from what it is usually."""
    sides = [shape(side) for side in equation.sides]
    for form in FORMS:
        yield from _told(form, sides)
    for rule in (_averages, _penalties, _densities, _corrections, _feed_forward):
        yield from rule(equation)


def _told(form: Form, sides: Sequence[Shape]) -> Iterator[Fault]:
    if form.left and (len(sides) < 2 or not re.match(form.left, _called(sides[0]))):
        return
    *left, wrong = pattern(form.wrong.removeprefix("= "))
    whole = left or form.wrong.startswith("=")
    for side in sides[1:] if left or form.left else sides:
        for place in (side,) if whole else side.pieces:
            if place.kind != wrong.kind != "name":
                continue
            for start in fits(left[0], sides[0]) if left else [{}]:
                for bound in fits(wrong, place, start, part=not left):
                    if form.when(bound) and _certain(form, bound):
                        yield warned(CODE, form.text, place.node.span, hint=form.hint)
                        return


def _certain(form: Form, bound: Bound) -> bool:
    """A logarithm of a ratio has any sign, and so has one with a minus somewhere before it."""
    signed = {x for x in "YN" if x in bound and any(part.kind == "neg" for part in bound[x].pieces)}
    return form.left != LOSS or (not signed and bound["P"].kind != "frac")


def _called(left: Shape) -> str:
    """The name of what an equation defines: `σ^2`, `MSE`, the `H` of `H(p, q)`."""
    if left.kind == "pow":
        return left.parts[0].word + "^" + left.parts[1].word
    return left.word


# ---------------------------------------------------------------------- rules


def _told_apart_below(one: s.Expression, other: s.Expression) -> bool:
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
            if not _told_apart_below(one.node, other.node):
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
                yield warned(
                    CODE, text, penalty.node.span, error.node.span, hint="is a plus meant?"
                )
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
    for bound in fits(pattern(r"\frac{x}{1 - b}")[0], shape(equation.sides[-1])):
        below = bound["b"]
        if (
            time
            and bound["x"].word == left.base
            and below.word == "β"
            and time[0].base not in (p.word for p in below.pieces)
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
        gradient = _below_slope(shape(row.sides[0]))
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
                gradient == second and _below_slope(one) == whole and two == _turned(first)
            ) or (gradient == first and _below_slope(two) == whole and one == _turned(second))
            if turned:
                text = f"these factors stand in the wrong order for a gradient by {unicode(gradient.node)}"
                hint = "with Y = A B the gradients are ∂L/∂A = ∂L/∂Y B^⊤ and ∂L/∂B = A^⊤ ∂L/∂Y"
                yield warned(CODE, text, row.sides[-1].span, whole.node.span, hint=hint)


def _turned(found: Shape) -> Shape:
    return Shape("transpose", "", (found,))


def _below_slope(found: Shape) -> Shape | None:
    """The X of `∂L/∂X`."""
    if found.kind != "frac" or not all(
        p.kind == "mul" and p.parts[0].word == "∂" for p in found.parts
    ):
        return None
    return found.parts[1].parts[1] if len(found.parts[1].parts) == 2 else None
