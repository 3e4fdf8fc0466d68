r"""What a sentence says of the shape of a name, read as if `∈ ℝ^{…}` were written there.

    let $A$ be an $n \times m$ matrix        $A \in \mathbb{R}^{n \times m}$
    $W$ (of size $V \times d$)               $W \in \mathbb{R}^{V \times d}$
    $Z$ and $A$ are $(n, m)$                 $Z, A \in \mathbb{R}^{n \times m}$
    a vector $x$ of dimension $d$            $x \in \mathbb{R}^{d}$
    the $d$-dimensional vector $x$           $x \in \mathbb{R}^{d}$
    $W: n \times m$                          $W \in \mathbb{R}^{n \times m}$

Only what stands right beside a formula counts: a token `from a vocabulary of size $V$` has another shape.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indicial.notation.markup import Display
from indicial.notation.source import Source, Span
from indicial.notation.telling import PLACE
from indicial.notation.tokens import Token, tokenize

_FAR, _LONGEST = 120, 60
"""How far a shape may stand from a name; how long the formula of the name may be."""

_NAME = re.compile(
    r"\s*(?:\\(?:mathbf|boldsymbol|bm|mathrm|vec|hat|bar|tilde|mathcal|overline)\b\s*)*\{?\s*(?:\\[A-Za-z]+|[^\W\d_])"
)
_NO_NAME = re.compile(r"[=<>≤≥~]|\\(?:in|leq?|geq?|sim|to|times|cdot|sum|frac)\b")
_FORMULA = r"(?:\$[^$\n]{1,40}\$|\\\([^$\n]{1,40}?\\\))"
_SIZE = re.compile(
    rf"(?P<formula>{_FORMULA})|`?(?P<listed>[(\[][^()\[\]\n$]{{1,40}}[)\]])`?"
    r"|\b(?P<plain>[A-Z\d]\w{0,9}(?:\s*[×x]\s*[A-Z\d]\w{0,9}){1,3})\b"
)
"""Where a shape may stand: `$n \\times m$`, `(n, m)`, `3 × 4`."""
_BETWEEN_SIZES = re.compile(r"\\times\b|×|,|(?<=[\w})\s])x(?=\s*[A-Z\d])")
_PART = re.compile(r"\s*(?:[^=<>≤≥~:;.$\s]|\s(?=[^A-Za-z]|[A-Z\d]\b)){1,30}\s*")

_ALSO = rf"(?:(?:\s*(?:,|and|or|,\s*and|、|和)\s*{_FORMULA})+\s*(?=are|have|be|all|both|:|均|都))?"
"""Other names, of which the same is said: `$Z$, $A$ and $B$ are`."""
_WORD = r"(?!(?:of|from|in|to|for|by|and|or|per|over)\b)[^\W\d_][\w'’-]*"
_IS = r"(?:is|are|be|being|denotes?|has|have|having|ist|est|es|:|—|–|--?|=|,|\(|\|)"
_SHAPE = r"(?:shapes?|size|sizes|dimensions?|dimensionality|dim|formato|Größe|tamaño|taille|形状|大小|维度)"
_ARTICLE = r"(?:an?|the|eine?|une?|uma?|una)"
_OF_EACH = r"(?:\s+(?:of|for|at)\s+(?:an?|one|each|every|the)\s+(?:(?:single|whole)\s+)?(?:time\s+)?[a-z]+)?"
"""`the input $x$ of one step has shape $(n, d)$`."""
_TOLD = re.compile(
    rf"[*_]{{0,2}}{_ALSO}[*_]{{0,2}}{_OF_EACH}\s*(?:{_IS}\s*){{0,2}}(?:{_WORD},?\s+){{0,4}}"
    rf"(?:(?:of|has|have|with)\s+)?(?:{_ARTICLE}\s+)?{_SHAPE}\s*(?:is|are|of|为|是|:|=|\()?\s*"
)
"""`is the input of shape`, `(of size`, `has the dimensions`."""
_VECTOR = re.compile(
    rf"[*_]{{0,2}}{_ALSO}[*_]{{0,2}}\s*(?:{_IS}\s*)?(?:{_ARTICLE}\s+)?(?:(?!all|one|zero){_WORD}\s+){{0,2}}"
    r"vectors?\s+(?:of|with)\s+(?:length|size|dimension|dimensionality)\s*"
)
"""`is a column vector of length`."""
_BARE = re.compile(
    rf"[*_]{{0,2}}{_ALSO}[*_]{{0,2}}\s*(?:{_IS}\s*)?(?:{_ARTICLE}\s+)?(?:{_WORD}\s+){{0,2}}"
)
_EQUALS = re.compile(
    rf"[*_]{{0,2}}{_ALSO}[*_]{{0,2}}\s*(?:(?:is|are|be|:|=|\|)\s*|\(\s*)[*_]{{0,2}}"
)
_ARE = re.compile(r"\s+are\b")
"""Behind one name it is about something else: `the derivatives of $f$ are $n \\times m$ matrices`."""
_LISTED = re.compile(r"(?:\$|\\\))\s*(?:,|and|or|,\s*and)\s*$")
_THING = re.compile(
    r"[-\s]+(?:dimensional\s+)?(?:(?!identity|unit)[^\W\d_][\w-]*\s+){0,2}"
    r"(?:matri(?:x|ces|z|zes|zen|ce)|tensors?|arrays?|矩阵|行列)(?![ \t]*\$(?!\$))",
    re.IGNORECASE,
)
_DIMENSIONAL = re.compile(r"\s*-?\s*dimensional\s+(?:[^\W\d_][\w-]*\s+){0,2}vectors?")
_ENDS = re.compile(
    r"\s*(?:[.,;:)|*\n]|$|\\\\|(?:and|or|where|with|for|while|so|since|which|that|in|when|as|whose|respectively)\b)"
)
_OWN = re.compile(
    r"\s*(?P<name>[^=:,]{1,30}?)\s*:\s*(?P<size>[^=:]+)"
    r"|\s*\\(?:text|mathrm|operatorname|texttt)\s*\{\s*(?:shape|size|dim)\s*\}\s*"
    r"\(\s*(?P<inner>[^()=]{1,20})\s*\)\s*=\s*(?P<shape>.+)"
)
"""What says it all by itself: `W: n × m`, `shape(W) = (n, m)`."""


def stated_shape(item: Display) -> Span | None:
    """The place where a text says what shape a formula has, if the formula is a name or some names."""
    text, source = item.body.text, item.span.source
    if len(text) > _LONGEST or not _NAME.match(text):
        return None
    if own := _OWN.fullmatch(text):
        place = _place(item, own, "size" if own["size"] else "shape")
        maps = "\\to" in place.text or "arrow" in place.text
        return place if len(_sizes(place.text)) > 1 and not maps else None
    if _NO_NAME.search(text) or PLACE.search(
        source.text, max(0, item.span.start - 20), item.span.start
    ):
        return None
    several = "," in text or _LISTED.search(
        source.text, max(0, item.span.start - 8), item.span.start
    )
    behind = several or not _ARE.match(source.text, item.span.end)
    return (behind and _behind(source, item.span.end)) or _before(source, item.span.start)


def _behind(source: Source, start: int) -> Span | None:
    """The `$(n, m)$` of ` has shape $(n, m)$`."""
    whole = source.text
    paragraph = whole.find("\n\n", start, start + _FAR)
    end = paragraph if paragraph >= 0 else min(len(whole), start + _FAR)
    for size in _SIZE.finditer(whole, start, end):
        count = len(_sizes(size[0]))
        between, behind = (start, size.start()), whole[size.end() : size.end() + _FAR]
        one = count == 1 and size["listed"] is None
        if (
            (count > 1 and _TOLD.fullmatch(whole, *between))
            or (count > 1 and _BARE.fullmatch(whole, *between) and _THING.match(behind))
            or (count > 1 and _EQUALS.fullmatch(whole, *between) and _ENDS.match(behind))
            or (one and _VECTOR.fullmatch(whole, *between))
            or (one and _BARE.fullmatch(whole, *between) and _DIMENSIONAL.match(behind))
        ):
            return Span(source, size.start(), size.end())
    return None


def _before(source: Source, end: int) -> Span | None:
    r"""The `$n \times m$` of `an $n \times m$ matrix `."""
    start = max(0, end - _FAR)
    for size in _SIZE.finditer(source.text, start, end):
        between = source.text[size.end() : end].removesuffix(" ")
        count = len(_sizes(size[0]))
        pattern = _THING if count > 1 else _DIMENSIONAL
        if count and pattern.fullmatch(between):
            return Span(source, size.start(), size.end())
    return None


def _sizes(text: str) -> list[str]:
    """The n and m of `$(n, m)$` and of `n × m`; none, if that is no shape."""
    text = text.strip("`$ ").removeprefix(r"\(").removesuffix(r"\)").strip()
    listed = text[:1] in ("(", "[") and text[-1:] in (")", "]")
    parts = _BETWEEN_SIZES.split(text[1:-1] if listed else text)
    if listed and not parts[-1].strip():
        return ["", *parts[:-1]] if len(parts) == 2 else parts[:-1]  # `(n,)` is a list of one
    if not listed and len(parts) > 1 and "," in text:
        return []  # `n, m` names two sizes
    return parts if all(_PART.fullmatch(part) and part.strip() for part in parts) else []


def in_space(tokens: Sequence[Token], item: Display, shape: Span) -> list[Token]:
    r"""The tokens of a formula and of its shape, as those of `W \in \mathbb{R}^{n \times m}`."""
    if own := _OWN.fullmatch(item.body.text):
        name = _place(item, own, "name" if own["name"] else "inner")
        names = [t for t in tokens if name.start <= t.span.start and t.span.end <= name.end]
    else:
        names = list(tokens)
    sizes = _in_brackets(tokenize(shape.source, shape.start, shape.end, latex=True))
    at = Span(shape.source, shape.start, shape.start)
    space = [
        Token("command", r"\in", at),
        Token("command", r"\mathbb", at),
        Token("letter", "R", at),
    ]
    raised = [Token("sign", "^", at), Token("sign", "{", at), *sizes, Token("sign", "}", at)]
    return [*names, *space, *raised]


def _in_brackets(tokens: Sequence[Token]) -> list[Token]:
    """`$[n, m]$` → `(n, m)`, which says the same above an ℝ."""
    found = [t for t in tokens if t.text not in ("$", "`", r"\(", r"\)", r"\left", r"\right")]
    if found[0].text == "[" and found[-1].text == "]":
        found = [replace(found[0], text="("), *found[1:-1], replace(found[-1], text=")")]
    if not any(t.text in (",", "×", r"\times") for t in found):  # `K x D`
        found = [
            replace(t, text="×", kind="sign") if t.text == "x" and t.space else t for t in found
        ]
    return [t for n, t in enumerate(found) if t.text != "," or found[n + 1].text != ")"]


def _place(item: Display, found: re.Match[str], group: str) -> Span:
    start = item.body.start
    return Span(item.body.source, start + found.start(group), start + found.end(group))
