r"""Formulas that everybody knows, and what becomes of them by a slip.

    \frac{\exp(x_i)}{\sum_j \exp(x_j)}        →   \frac{\exp(x_i)}{\sum_j x_j}      it lacks an exponential
    \sigma(x) = \frac{1}{1 + \exp(-x)}        →   \frac{1}{1 + \exp(x)}             it lacks a minus
    \frac{m}{\sqrt{v} + e}                    →   \frac{m}{v + e}                   it lacks a square root

A formula is listed as it is right; its slips are made from it: each leaves out one minus, square, root, exponential or
transpose, or turns one sign. Which of them are slips whatever else is meant is said with each formula (`kinds`). Few
slips are no such change, and are listed as they are written (`OTHERS`). For the patterns see `forms.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.names.letters import COUNTING
from indicial.program.slips.forms import UNORDERED, Bound, Shape, fits, pattern

Condition = Callable[[Bound], bool]


def _always(bound: Bound) -> bool:
    return True


@dataclass(frozen=True)
class Formula:
    """One that everybody knows, as it is right; `= …` is all of a side."""

    right: str
    name: str
    kinds: str
    """Which changes are slips: those of `LOST`, and `sign`."""
    called: str = ""
    """What the left side has to be called, if it matters."""
    when: Condition = _always


@dataclass(frozen=True)
class Wrong:
    """What is written by a slip, and what is said of it."""

    form: Shape
    text: str
    hint: str
    left: Shape | None = None
    called: str = ""
    whole: bool = False
    """The form is all of a side, and not a piece of it."""
    when: Condition = _always

    @property
    def named(self) -> bool:
        """Whether the left side matters."""
        return bool(self.called) or self.left is not None


def _matrices(*letters: str) -> Condition:
    """Whether these are matrices without any index: Q, `Q_h`, `\\mathbf Q`, but no `q_i`."""
    return lambda bound: all(bound[x].word[:1].isupper() for x in letters)


def _words(**words: str) -> Condition:
    """Whether names are called so: m̂ and v̂, μ and σ."""
    return lambda bound: all(
        isinstance(node := bound[letter].node, s.Name)
        and name_key(replace(node, sub=(), sup=())) in word.split()
        for letter, word in words.items()
    )


def _behind(bound: Bound) -> bool:
    """Whether a column y stands behind a row x: small letters with an index."""
    row, column = bound["x"], bound["y"]
    small = all(x.word[:1].islower() and x.parts for x in (row, column))
    return small and row.node.span.end < column.node.span.start


def _targets(bound: Bound) -> bool:
    """Whether Y is what is to be predicted, and P a probability, by their names."""
    return bound["Y"].word in ("y", "t") and _likely(bound)


def _likely(bound: Bound) -> bool:
    """Whether P is a probability by its name: `p_i`, `ŷ`, `P(y|x)`, a softmax."""
    found = bound["P"]
    return found.word in ("p", "P", "q", "π", "softmax", "σ", "yhat", "phat", "ptilde")


LOSS = (
    r"(?i)(b?ce|nll|.*loss|.*entropy|h|j|cost|"
    r"[lℒℓj]_(b?ce|nll|\w*nce|xent|\w*contrast\w*|cls|m?lm|\w*entropy|\w*cross\w*|focal))$"
)
VARIANCE = r"(?i)(R?MSE|Var|σ\^2|s\^2|.*_MSE)"

_LIKELIHOODS = (
    r"Y \log P", r"\sum_i Y \log P", r"N \sum_i Y \log P", r"\sum_i \sum_j Y \log P", r"N \sum_i \sum_j Y \log P",
    r"(Y \log P + (1 - Y) \log(1 - P))", r"\sum_i (Y \log P + (1 - Y) \log(1 - P))",
    r"N \sum_i (Y \log P + (1 - Y) \log(1 - P))",
)  # fmt: skip

FORMULAS = (
    Formula(r"\frac{\exp(x_i)}{\sum_j \exp(x_j)}", "softmax", "exp"),
    Formula(r"\frac{\exp(A)}{\sum_j \exp(B)}", "softmax", "exp", when=lambda b: _alike(b["A"], b["B"])),
    Formula(r"\sigma(x) = \frac{1}{1 + \exp(-x)}", "sigmoid", "minus sign"),
    Formula(r"\sigma(x) = \frac{\exp(x)}{1 + \exp(x)}", "sigmoid", "sign"),
    Formula(r"\sigma(x) = \frac{\exp(x)}{\exp(x) + 1}", "sigmoid", "sign"),
    Formula(r"\sigma'(x) = \sigma(x) (1 - \sigma(x))", "derivative of the sigmoid", "minus"),
    Formula(r"\tanh'(x) = 1 - \tanh(x)^2", "derivative of tanh", "minus square"),
    Formula(r"\frac{N}{M} \sum_i (x_i - m)^2", "mean of squares", "square", VARIANCE),
    Formula(r"\sqrt{\frac{N}{M} \sum_i x_i^2}", "root mean square", "square", r"(?i)rms"),
    Formula(r"1 - \frac{\sum_i (y_i - A)^2}{\sum_i (y_i - B)^2}", "coefficient of determination", "square sign"),
    Formula(r"\frac{m}{\sqrt{v} + e}", "step of Adam", "root", when=_words(m="m̂", v="v̂")),
    Formula(r"\frac{x - m}{\sqrt{s^2 + e}}", "normalisation", "root minus square", when=_words(m="μ", s="σ")),
    *(Formula(rf"\exp(-\frac{{1}}{{2}} (x - m)^\top {matrix}^{{-1}} (x - m))", "density", "minus transpose")
      for matrix in (r"\Sigma", "S", "A", "C", "K")),
    Formula(r"\exp(-\frac{(x - m)^2}{2 s^2})", "density", "minus square"),
    Formula(r"\frac{1}{\sqrt{2 p s^2}} \exp(-\frac{(x - m)^2}{2 s^2})", "density", "root", when=_words(p="π")),
    Formula(r"\exp(-\frac{\|x - y\|^2}{A})", "kernel", "minus"),
    Formula(r"\mathrm{softmax}(\frac{q k^\top}{\sqrt{d}}) V", "attention", "root",
            when=lambda b: b["d"].word[0] in "dD"),
    Formula(r"\mathrm{softmax}(\frac{q k^\top}{A}) V", "attention", "transpose", when=_matrices("q", "k")),
    Formula(r"\mathrm{softmax}(q k^\top) V", "attention", "transpose", when=_matrices("q", "k")),
    *(Formula(f"= -{form}", "loss", "minus", LOSS) for form in _LIKELIHOODS),
    Formula(r"= -\log P", "loss", "minus", LOSS, when=_likely),
    Formula(r"= -\log \frac{\exp(A)}{\sum_i B}", "loss", "minus", LOSS),
    Formula(r"Y \log P + (1 - Y) \log(1 - P)", "binary cross entropy", "minus sign"),
    Formula(r"-Y \log P - (1 - Y) \log(1 - P)", "binary cross entropy", "minus"),
    Formula(r"= -\sum_i P \log P", "entropy", "minus", r"(?i)(h|entropy)$"),
    Formula(r"= \exp(-N \sum_i \log P)", "perplexity", "minus", r"(?i)(pp|ppl|perplexity)$"),
    *(Formula(rf"= -{form}", "cross entropy", "log", LOSS, when=_targets) for form in (
        r"\sum_i Y \log P", r"(Y \log P + (1 - Y) \log(1 - P))", r"N \sum_i (Y \log P + (1 - Y) \log(1 - P))")),
    Formula(r"= -\frac{1}{2} \sum_j (1 + \log s^2 - m^2 - s^2)", "divergence of two Gaussians", "minus",
            r"(?i)(D_KL|KL|KLD|[Lℒ]_KL)$"),
    Formula(r"1 + \log s^2 - m^2 - s^2", "divergence of two Gaussians", "minus sign"),
    Formula(r"\sqrt{a} X + \sqrt{1 - a} E", "mixture of a signal and noise", "root minus"),
    Formula(r"\mathrm{clip}(A, 1 - e, 1 + e)", "clipped ratio", "minus sign"),
    Formula(r"\max(0, 1 - y F)", "hinge loss", "minus", when=_words(y="y")),
    *(Formula(rf"r + \gamma {v}(A) - {v}(B)", "temporal difference", "minus sign", r"δ") for v in "VQ"),
    *(Formula(rf"= {name}_t + g l A_{{t+1}}", "advantage", "sign", r"A(hat)?$") for name in (r"\delta",)),
    Formula(r"(A^\top A)^{-1} A^\top Y", "solution of least squares", "transpose"),
    Formula(r"\begin{bmatrix} \cos A & -\sin A \\ \sin A & \cos A \end{bmatrix}", "rotation", "minus"),
)  # fmt: skip

OTHERS = (
    (r"\mathrm{softmax}(\exp(A))", "a softmax takes the exponential itself; here it is taken twice",
     "leave out one of them", lambda b: b["A"].word not in COUNTING),  # the e^t of scores e_i^t
    (r"\frac{\mathrm{softmax}(A)}{v}", "the attention weights are divided by the values here",
     "weights are multiplied by values", lambda b: b["v"].word == "V"),
    (r"\frac{\mathrm{softmax}(q k^\top)}{\sqrt{d}}", "the root divides the weights here, and not the scores",
     "is it meant inside the softmax?", _always),
    (r"A x^\top (1 - y^2)", "a column stands to the right of a row here", "is ⊙ or a diagonal matrix meant?", _behind),
    (r"\sigma(x) = \frac{\exp(-x)}{1 + \exp(-x)}", "this is the sigmoid of the argument with the other sign",
     "is a minus too much in the numerator?", _always),
    (r"= (1 - z) a + (1 - z) b", "the two weights of this mean do not add up to 1",
     "is one of them meant without 1 - ?", _always),
    (r"\log A = \frac{B}{\log z}", "the logarithm of a quotient is a difference, and no quotient",
     "is the logarithm subtracted?", lambda b: b["z"].word == "Z"),
    (r"\frac{a b}{\|a\| + \|b\|}", "the lengths are added here: a cosine has their product",
     "is the product of the lengths meant?", _always),
)  # fmt: skip


def _alike(one: Shape, other: Shape) -> bool:
    """Whether two exponents are the same but for their indices: `s(h_i, h_j)` and `s(h_i, h_k)`."""
    if one.kind == other.kind == "name":
        return one.word == other.word and bool(one.parts)
    alike = one.kind == other.kind and one.word == other.word and len(one.parts) == len(other.parts)
    return alike and bool(one.parts) and all(map(_alike, one.parts, other.parts))


LOST = {
    "minus": "minus",
    "square": "square",
    "root": "square root",
    "exp": "exponential",
    "log": "logarithm",
    "transpose": "transpose",
}


def _changed(right: Shape) -> Iterator[tuple[str, Shape]]:
    """The forms that differ from one in one place, each with the kind of the change."""
    inside = right.parts[0] if right.parts else right
    if right.kind == "neg":
        yield "minus", inside
    elif right.kind == "pow" and right.parts[1].word == "2":
        yield "square", inside
    elif right.kind == "transpose":
        yield "transpose", inside
    elif right.kind == "call" and right.word in ("sqrt", "exp", "log"):
        yield {"sqrt": "root"}.get(right.word, right.word), inside
    for number, part in enumerate(right.parts):
        turned = [("sign", Shape("neg", "", (part,)))]
        plus = right.kind == "add" and number > 0 and part.kind != "neg"
        for kind, new in (*_changed(part), *(turned if plus else ())):
            flat = new.parts if new.kind == right.kind in UNORDERED else (new,)
            parts = (*right.parts[:number], *flat, *right.parts[number + 1 :])
            yield kind, replace(right, parts=parts)


@cache
def all_wrong() -> tuple[Wrong, ...]:
    """What is written by slips, of all formulas."""
    found: list[Wrong] = []
    sound = [(f, pattern(f.right.removeprefix("= "))) for f in FORMULAS]
    for formula, (*left, right) in sound:
        for kind, form in _changed(right):
            if kind not in formula.kinds.split():
                continue
            lost = LOST.get(kind)
            text = (
                f"this {formula.name} lacks a {lost}"
                if lost
                else f"a sign of this {formula.name} is turned"
            )
            text = text.replace("a exp", "an exp")
            hint = (
                f"is a {lost} missing?".replace("a exp", "an exp")
                if lost
                else "is a minus too much?"
            )
            whole = bool(left) or formula.right.startswith("=")
            found.append(
                Wrong(
                    form, text, hint, left[0] if left else None, formula.called, whole, formula.when
                )
            )
    for written, text, hint, when in OTHERS:
        *left, form = pattern(written.removeprefix("= "))
        whole = bool(left) or written.startswith("=")
        found.append(Wrong(form, text, hint, left[0] if left else None, "", whole, when))
    return tuple(w for w in found if not any(_same(w, parts) for _, parts in sound))


def _same(wrong: Wrong, right: tuple[Shape, ...]) -> bool:
    """Whether what a slip makes of one formula is another one: `σ(x) = e^x / (1 + e^x)`."""
    return wrong.left is not None and any(fits(right[-1], wrong.form))
