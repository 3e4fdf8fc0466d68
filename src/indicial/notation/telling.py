r"""What a sentence says that a name is: a matrix, a vector, a state, a number.

    where $W$ is the weight matrix          matrix
    the context vector $c_t$                vector
    $h_t$: hidden state at step $t$         state     a vector, most likely
    a learning rate $\eta$                  number

Only the words beside a formula are looked at, and only nouns that hardly mean anything else: the last of those
before the first preposition, `the vector of labels`, `an entry of the matrix`. Inference weighs it with the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from indicial.notation.markup import Display

_NOUNS: dict[str, tuple[str, ...]] = {
    "matrix": ("matrix", "matrices"),
    "vector": ("vector", "vectors"),
    "state": (
        "hidden state", "hidden states", "cell state", "cell states", "encoder state", "encoder states",
        "decoder state", "decoder states", "memory cell", "embedding", "embeddings", "representation",
        "representations", "annotation", "annotations", "forget gate", "input gate", "output gate",
        "update gate", "reset gate",
    ),
    "number": (
        "scalar", "scalars", "number", "constant", "constants", "coefficient", "rate", "temperature", "loss",
        "dimension", "dimensionality", "length", "hyperparameter", "threshold", "real number",
        "step size", "entry", "element", "component", "angle", "frequency", "mass", "price", "distance",
        "time constant", "strength",
    ),
}  # fmt: skip
"""The nouns that say what a name is."""

_KIND = {noun: kind for kind, nouns in _NOUNS.items() for noun in nouns}
_NAME = (
    r"(?:\\(?:mathbf|boldsymbol|bm|mathrm|text|textbf|hat|bar|tilde|vec|overline|widetilde|widehat|mathcal|"
    r"overrightarrow|overleftarrow|overset|underline)\b\s*)*(?:\\[A-Za-z]+|[A-Za-z]|[\u0370-\u03ff]|\{)"
)
_FORMULA = r"(?:\$[^$\n]{1,40}\$|\\\([^$\n]{1,40}?\\\))"
_AND = r"(?:\s*(?:,|and|or|&)\s*(?:and\s+)?)"
_BEHIND = re.compile(
    rf"(?:\s*[*_]{{0,2}}\s*(?:(?:is|be|denotes|represents|stands for|:|—|–|--?)\s|[,(]?\s*(?=(?:the|an?)\s))"
    rf"|(?:{_AND}{_FORMULA})*\s*[*_]{{0,2}}\s*(?:are|be|denote|represent|stand for|:|—|–|--?)\s)\s*[*_]{{0,2}}"
    r"(?:both|here|also|simply|just|respectively,?)?\s*((?:[A-Za-z][\w'’-]*[ \t]+){0,6}?[A-Za-z][\w'’-]*)"
    r"(?=\s*(?:[.,;:()*\n]|$|\b(?:of|for|at|that|which|with|in|from|to|where|and|between|on|used|whose|against|"
    r"into|than|like|about|under|"
    r"associated|corresponding|connecting|containing|learned|shared|obtained|per|by|as|over|after|before|mapping)\b))"
)
_BEFORE = re.compile(
    rf"((?:[A-Za-z][\w'’-]*[ \t]+)?[A-Za-z][\w'’-]*)[*_]{{0,2}}\s+(?:{_FORMULA}{_AND})*$"
)
_NO_NAME = re.compile(
    r"=|\\in\b|∈|\\sum|\\frac|[+<>≤≥~|]|\\leq?\b|\\geq?\b|\\sim|\\to\b|\\times|\\cdot|\\odot"
)
_PLACE = re.compile(r"\b(?:time|step|timestep|at|position|index|layer)\s+$")
"""What stands before a letter that numbers: `at time $t$, a vector …` is not about t."""
_FAR = 160


def told(item: Display) -> str:
    """What the words around a formula say that it is; nothing if they do not, or if it is no name."""
    text = item.body.text
    if len(text) > _FAR // 2 or _NO_NAME.search(text) or not re.match(rf"\s*{_NAME}", text):
        return ""
    whole = item.span.source.text
    if _PLACE.search(whole, max(0, item.span.start - 20), item.span.start):
        return ""
    behind = _BEHIND.match(whole, item.span.end, item.span.end + _FAR)
    before = _BEFORE.search(whole[max(0, item.span.start - _FAR) : item.span.start])
    said = [_noun(found.group(1)) for found in (behind, before) if found is not None]
    return _agreed(said)


def _noun(phrase: str) -> str:
    """The kind of thing that a phrase names by its last words: `a learnable weight matrix`."""
    words = phrase.lower().split()
    return _KIND.get(" ".join(words[-2:])) or _KIND.get(words[-1], "")


def _agreed(said: Iterable[str]) -> str:
    """What is said, if it is one thing."""
    found = {kind for kind in said if kind}
    if found == {"vector", "state"}:
        return "vector"
    return found.pop() if len(found) == 1 else ""
