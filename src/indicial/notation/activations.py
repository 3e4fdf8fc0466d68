r"""What a sentence says that a function is.

    where $\phi$ is the hyperbolic tangent          φ is tanh
    - $\sigma_g$: sigmoid function                  σ_g is σ
    the rectifier $\sigma(\cdot)$                   σ is ReLU, and no sigmoid
    with $f = \tanh$                                f is tanh
    $\phi$ is a nonlinearity such as tanh           nothing: another may be meant
    $\sigma$ is a nonlinearity                      σ is any function, and not the sigmoid

Only what stands right beside a formula counts, and only where it names one function and no other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from indicial.notation.markup import Display

_WORDS = {
    "σ": r"(?:logistic[- ])?sigmoid|logistic(?=[ -]?function|[ ,.;)]|$)|sigmoide|sigmoïde|sigmoidale?",
    "tanh": r"\\?tanh|hyperbolic[- ]tangent|tangente[- ]h[yi]perb[óo]li(?:que|ca)|tangens[- ]hyperbolicus",
    "ReLU": r"relu\b|rectifier|rectified[- ]linear(?:[- ]unit|[- ]activation)?",
    "softmax": r"softmax",
    "GELU": r"gelu\b|gaussian error linear unit",
    "SiLU": r"silu\b|swish",
    "softplus": r"softplus",
    "ELU": r"elu\b|exponential linear unit",
}  # fmt: skip
"""Each function with the words for it."""
_KNOWN = {word: re.compile(rf"(?:{pattern})", re.IGNORECASE) for word, pattern in _WORDS.items()}
_ANY = "|".join(f"(?:{pattern})" for pattern in _WORDS.values())
_SET = (
    r"(?:\[\[|\\(?:mathrm|text|textrm|operatorname|mathbf|texttt|mathit)\s*\{?\s*|[$*_`]|\\\(|\\)*"
)
"""What a word may be set in."""
_KIND = (
    r"(?:the|an?|our|la|le|el|die|der|l')?\s*(?:(?:standard|usual|logistic|element-?wise|component-?wise|point-?wise|"
    r"fonction|función|funktion|activation|nonlinear|non-linear|function|nonlinearity|non-linearity|called|applied)\s+)*"
)
_IS = (
    r"(?:is|be|denotes|represents|means|stands for|are|as|est|es|ist|bezeichnet|désigne|denota|:|=|,|—|–|\(|(?=the\s))"
    r"(?:\s+(?:here|always|again|taken to be|chosen to be|chosen as|set to|defined as))?"
)
_END = (
    r"(?!(?:\s+(?:function|activation|nonlinearity|non-linearity))*[\s})$\]]*"
    r"(?:or\b|,?\s*and\b|/|\(?\d?\s*-|of\b|cross|over\b|layer|unit|with temperature))"
)
_BEHIND = re.compile(rf"\s*[*_|]*\s*{_IS}\s*{_KIND}{_SET}(?P<word>{_ANY})\b{_END}", re.IGNORECASE)
_ANY_FUNCTION = re.compile(
    rf"\s*[*_|]*\s*{_IS}\s*(?:some|any|{_KIND})\s*"
    r"(?:[a-z-]+\s+){0,3}?(?:activation|non-?linearity|non-?linear\s+function|transfer\s+function)",
    re.IGNORECASE,
)
_OPEN_BEFORE = re.compile(
    r"\b(?:activation(?:\s+function)?|non-?linearity|non-?linear\s+function|transfer\s+function)\s+$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"(?<!or )(?<!/)\b(?P<word>{_ANY})(?:\s+(?:activation|function|nonlinearity|non-linearity|unit|operator))*\s+$",
    re.IGNORECASE,
)
_LETTER = (
    r"(?:\\(?:mathbf|boldsymbol|bm|mathrm|mathcal)\s*\{?\s*)?"
    r"(?:\\(?:sigma|phi|varphi|psi|rho|gamma)(?![A-Za-z])|[σφϕψρfghaγ])\}?"
)
_SCRIPT = r"(?:\s*[_^]\s*(?:\{[^{}$=]{1,30}(?:\{[^{}]*\})?\}|\w))*"
_ARGUMENT = r"(?:\s*(?:\\left)?\(\s*(?:\\cdot|·|\.|\\bullet|[a-z]|\\?[a-z]+)\s*(?:\\right)?\))?"
_FUNCTION = re.compile(rf"\s*(?P<name>{_LETTER}{_SCRIPT})\s*{_ARGUMENT}\s*")
_EQUAL = re.compile(
    rf"{_FUNCTION.pattern}(?:=|:=|\\equiv|≡)\s*{_SET}(?P<word>{_ANY})\}}*{_ARGUMENT}\s*",
    re.IGNORECASE,
)
_DEFINED = re.compile(
    rf"\s*(?P<name>{_LETTER}{_SCRIPT})\s*\(\s*(?P<of>[a-z])\s*\)\s*=(?P<body>[^=]+)"
)
_SIGMOID = re.compile(r"\\(?:t|d)?frac|/|\^\s*\{?\s*-\s*1")
_OFTEN = re.compile(
    r"\b(?:e\.g|such as|like|typically|usually|often|for example|for instance|say|or|if|could|suggests?)\b"
)
_FAR = 80
ANY = "σ_act"
"""What a σ is that is no sigmoid, but any activation."""


def said_function(item: Display) -> tuple[str, str] | None:
    """The name in a formula of a sentence, and the function that it is; None if nothing says so."""
    text, whole = item.body.text, item.span.source.text
    if len(text) > _FAR:
        return None
    if (equal := _EQUAL.fullmatch(text)) is not None:
        return equal["name"], _function(equal["word"])
    lone = _FUNCTION.fullmatch(text)
    if lone is None:
        return None
    behind = _BEHIND.match(whole, item.span.end, item.span.end + _FAR)
    before = _BEFORE.search(whole[max(0, item.span.start - _FAR) : item.span.start])
    said = {_function(found["word"]) for found in (behind, before) if found is not None}
    doubtful = behind is not None and _OFTEN.search(whole[item.span.end : behind.end() + 20])
    if len(said) == 1 and not doubtful:
        return lone["name"], said.pop()
    return (lone["name"], ANY) if _is_open(lone["name"], item) else None


def _is_open(name: str, item: Display) -> bool:
    """Whether a σ is said to be an activation, and by no word which."""
    whole, start, end = item.span.source.text, item.span.start, item.span.end
    before, behind = whole[max(0, start - _FAR) : start], whole[end : end + _FAR]
    said = _ANY_FUNCTION.match(behind) or _OPEN_BEFORE.search(before)
    return (
        name.strip("{} ") in ("\\sigma", "σ")
        and said is not None
        and not _KNOWN["σ"].search(before.rpartition(". ")[2] + behind.partition(". ")[0])
    )


def defines_called(item: Display, displays: Sequence[Display]) -> bool:
    """`$f(z) = \\max(0, z)$` in a sentence, where a display has an `f(…)` and none says what it is."""
    defined = _DEFINED.fullmatch(item.body.text) if len(item.body.text) <= _FAR else None
    if defined is None or not re.search(
        rf"(?<![A-Za-z\\]){defined['of']}(?![A-Za-z])", defined["body"]
    ):
        return False
    if "σ" in defined["name"].replace("\\sigma", "σ") and _SIGMOID.search(defined["body"]):
        return False  # what it is anyway
    if any(re.search(rf"(?<![A-Za-z\\]){defined['of']}\s*_", d.body.text) for d in displays):
        return False  # the x of `ρ(x)` beside x_k is the vector
    before = item.span.source.text[max(0, item.span.start - _FAR) : item.span.start]
    if _OFTEN.search(before.rpartition(". ")[2]):
        return False
    called = rf"{re.escape(defined['name'].strip())}\s*(?:\\left|\\[bB]igg?l?)?\s*\("
    calls = [c for d in displays for c in re.finditer(called, d.body.text)]
    given = rf"{called}\s*\w\s*\)\s*=[^=]"
    return bool(calls) and not any(re.search(given, d.body.text) for d in displays)


def _function(word: str) -> str:
    return next(name for name, known in _KNOWN.items() if known.fullmatch(word))
