r"""What a sentence says that a name is: a matrix, a vector, a state, a number.

    where $W$ is the weight matrix          matrix
    the context vector $c_t$                vector
    $h_t$: hidden state at step $t$         state     a vector, most likely
    a learning rate $\eta$                  number
    a gate $g_i \in (0, 1)$                 number
    a sequence of vectors $x_1, …, x_T$     vector    each of them
    权重矩阵 $W$, la matriz $W$             matrix

Only the words beside a formula are looked at, and only nouns that hardly mean anything else: the last of those
before the first preposition, `the vector of labels`, `an entry of the matrix`. Inference weighs it with the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from indicial.notation.markup import Display
from indicial.notation.tokens import Token

_NOUNS: dict[str, tuple[str, ...]] = {
    "matrix": (
        "matrix", "matrices", "matrizen", "matrice", "matrici", "matriz", "matrizes", "matris", "matriks", "матрица",
        "矩阵", "矩陣", "行列", "행렬",
    ),
    "vector": (
        "vector", "vectors", "feature vectors", "vektor", "vektoren", "vecteur", "vecteurs", "vettore", "vettori",
        "vectores", "vetor", "vetores", "vektör", "вектор", "векторы", "向量", "ベクトル", "벡터",
    ),
    "state": (
        "hidden state", "hidden states", "cell state", "cell states", "encoder state", "encoder states",
        "decoder state", "decoder states", "memory cell", "embedding", "embeddings", "representation",
        "representations", "annotation", "annotations", "forget gate", "input gate", "output gate",
        "update gate", "reset gate", "隐藏状态", "隐状态", "隱藏狀態", "隠れ状態", "은닉 상태",
    ),
    "number": (
        "scalar", "scalars", "number", "constant", "constants", "coefficient", "rate", "temperature", "loss",
        "dimension", "dimensionality", "length", "hyperparameter", "threshold", "real number",
        "step size", "entry", "element", "component", "angle", "frequency", "mass", "price", "distance",
        "time constant", "strength", "attention score", "attention weight", "scaling factor", "skalar", "scalaire",
        "escalar", "scalare", "скаляр", "标量", "標量", "スカラー", "스칼라",
    ),
}  # fmt: skip
"""The nouns that say what a name is."""

_KIND = {noun: kind for kind, nouns in _NOUNS.items() for noun in nouns}
_WORD = r"[^\W\d_][\w'’-]*"
_NAME = (
    r"(?:\\(?:mathbf|boldsymbol|bm|mathrm|text|textbf|hat|bar|tilde|vec|overline|widetilde|widehat|mathcal|"
    r"overrightarrow|overleftarrow|overset|underline)\b\s*)*(?:\\[A-Za-z]+|[A-Za-z]|[\u0370-\u03ff]|\{)"
)
_FORMULA = r"(?:\$[^$\n]{1,40}\$|\\\([^$\n]{1,40}?\\\))"
_LISTED = rf"(?:(?!\$[^$\n]*\\times){_FORMULA})"
_AND = r"(?:\s*(?:,|and|or|und|et|y|e|&)\s*(?:and\s+)?)"
_CJK_AND = r"(?:\s*[、和与與]\s*)"
_IS = "is|be|denotes|represents|stands for|ist|est|es|è|é|bezeichnet|désigne|representa|représente"
_ARE = "are|be|denote|represent|stand for|sind|sont|son|sono|são"
_BEHIND = re.compile(
    rf"(?:\s*[*_]{{0,2}}\s*(?:(?:{_IS}|:|—|–|--?|=|\|)\s|[,(]?\s*(?=(?:the|an?)\s))"
    rf"|(?:{_AND}{_FORMULA})*\s*[*_]{{0,2}}\s*(?:{_ARE}|:|—|–|--?)\s)\s*[*_]{{0,2}}"
    rf"(?:both|here|also|simply|just|respectively,?)?\s*((?:{_WORD}[ \t]+){{0,6}}?{_WORD})"
    r"(?=\s*(?:[.,;:()*|\n]|$|\b(?:of|for|at|that|which|with|in|from|to|where|and|between|on|used|whose|against|"
    r"into|than|like|about|under|"
    r"associated|corresponding|connecting|containing|learned|shared|obtained|per|by|as|over|after|before|mapping|"
    r"de|des|du|del|della|di|da|do|der|von|für|mit|aus|que|con|com|avec|qui|pour|para|im|en)\b))"
)
_BEFORE = re.compile(rf"((?:{_WORD}[ \t]+)?{_WORD})[*_]{{0,2}}\s+(?:{_LISTED}{_AND})*$")
_CJK = "|".join(sorted((noun for noun in _KIND if noun[0] > "\u2fff"), key=len, reverse=True))
_CJK_BEHIND = re.compile(
    rf"(?:{_CJK_AND}{_FORMULA})*\s*(?:是|为|為|表示|代表|:|：|は|는|은)[^，。、,.;；()（）\n]{{0,12}}?({_CJK})"
    r"(?=\s*(?:[，。、,.;；()（）\n]|$|です|である|입니다|이다))"
)
_CJK_BEFORE = re.compile(rf"({_CJK})\s*(?:{_FORMULA}{_CJK_AND})*$")
"""The same where nothing stands between words: 权重矩阵 $W$, and not 词向量的维度 $d$."""
_NUMBERS = re.compile(
    r"(?:\\in\b|∈)\s*(?:\\left\s*)?(?:[(\[][^()\[\]]*,[^()\[\]]*[)\]]|\\\{[^{}]*\\\}|"
    r"(?:\\mathbb\s*\{?\s*[NZR]\s*\}?|[ℕℤℝ])(?:\s*[_^]\s*(?:\{[^{}]*[+>0][^{}]*\}|\+))?)\s*$"
    r"|(?:<|>|\\leq?\b|\\geq?\b|≤|≥)\s*-?\d[\d.]*\s*$"
)
"""What only numbers are: `∈ (0, 1)`, `∈ \\{0, 1\\}`, `∈ ℝ_+`, `> 0`; not `∈ {0, 1}^K`."""
_RELATIONS = frozenset({"\\in", "∈", "<", ">", "\\le", "\\leq", "\\ge", "\\geq", "≤", "≥"})
_SEQUENCE = re.compile(r"\\(?:[lc]?dots|dotsc)\b|…|\.\.\.")
_NO_NAME = re.compile(
    r"=|\\in\b|∈|\\sum|\\frac|[+<>≤≥~|]|\\leq?\b|\\geq?\b|\\sim|\\to\b|\\times|\\cdot|\\odot"
)
PLACE = re.compile(r"\b(?:time|step|timestep|at|position|index|layer)\s+$")
"""What stands before a letter that numbers: `at time $t$, a vector …` is not about t."""
_CAPITAL = re.compile(r"(?:\\(?:mathbf|boldsymbol|bm)\s*)?\{?\s*[A-Z]\s*\}?")
"""The H of `the hidden states $H$`: all of them, one in each row."""
_FAR = 160


def told(item: Display) -> str:
    """What the words around a formula say that it is; nothing if they do not, or if it is no name."""
    text = item.body.text
    numbers = _NUMBERS.search(text)
    if len(text) <= _FAR // 2 and numbers and re.match(rf"\s*{_NAME}", text):
        # All the elements of a δ may be in {0, 1}; a y_i is one.
        all_of_it = "\\{" in numbers[0] and "_" not in text[: numbers.start()]
        return "" if all_of_it else "number"
    opened = r"\s*(?:\\\{|\()?" if _SEQUENCE.search(text) else ""
    if len(text) > _FAR // 2 or _NO_NAME.search(text) or not re.match(rf"{opened}\s*{_NAME}", text):
        return ""
    whole = item.span.source.text
    if PLACE.search(whole, max(0, item.span.start - 20), item.span.start):
        return ""
    text_before = whole[max(0, item.span.start - _FAR) : item.span.start]
    behind = [p.match(whole, item.span.end, item.span.end + _FAR) for p in (_BEHIND, _CJK_BEHIND)]
    before = [p.search(text_before) for p in (_BEFORE, _CJK_BEFORE)]
    phrases = [found.group(1) for found in (*behind, *before) if found is not None]
    said = _agreed(map(_noun, phrases))
    several = all(phrase.endswith("s") for phrase in phrases if _noun(phrase))
    return "matrix" if said == "state" and several and _CAPITAL.fullmatch(text.strip()) else said


def subject(tokens: list[Token]) -> list[Token]:
    r"""What a formula in a sentence is about: the g_i of `g_i \in (0, 1)`, the x_1 of `\{x_1, …, x_T\}`."""
    end = next((n for n, token in enumerate(tokens) if token.text in _RELATIONS), len(tokens))
    tokens = tokens[:end]
    if not any(_SEQUENCE.fullmatch(token.text) for token in tokens):
        return tokens
    first = next((n for n, t in enumerate(tokens) if t.text not in ("\\{", "(")), 0)
    comma = next((n for n, t in enumerate(tokens) if t.text == ","), len(tokens))
    return tokens[first:comma]


def _noun(phrase: str) -> str:
    """The kind of thing that a phrase names by its last words: `a learnable weight matrix`."""
    words = phrase.lower().split()
    if words[0][0] > "\u2fff":
        return _KIND.get(phrase, "")
    return _KIND.get(" ".join(words[-2:])) or _KIND.get(words[-1], "")


def _agreed(said: Iterable[str]) -> str:
    """What is said, if it is one thing."""
    found = {kind for kind in said if kind}
    if found == {"vector", "state"}:
        return "vector"
    return found.pop() if len(found) == 1 else ""
