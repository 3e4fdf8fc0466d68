"""What the tokens of a row show before they are parsed: where its parts begin and end.

    Sum: c = a + b, \\quad d = c for t > 0
    ^label        ^separates two equations   ^begins a guard

Only what stands outside all brackets and environments counts. Each answer takes one pass.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from indicial.notation.rows import STEP
from indicial.notation.signs import (
    CONDITION_WORDS,
    EQUATION_SIGNS,
    LABEL_SIGNS,
    LOGIC_SIGNS,
    NO_EQUATION,
    RELATION_SIGNS,
)
from indicial.notation.tokens import Token, is_sign

_NESTING = ("begin", "end")
_CONSTRAINING = frozenset({"s.t", "s.t.", "subject to"})
_OUTER = re.compile(r"\b(outer|tensor|kronecker)[- ]product", re.IGNORECASE)
_ARROWS = ("\\xrightarrow", "\\xleftarrow")


@lru_cache(maxsize=8)
def speaks_of_outer(text: str) -> bool:
    """Whether a text says what its ⊗ is: the outer product of two vectors."""
    return _OUTER.search(text) is not None


def is_relation(token: Token) -> bool:
    if token.kind == "key":
        return token.text in ("in", "notin")
    return token.kind == "sign" and token.text in RELATION_SIGNS


def begins_guard(token: Token) -> bool:
    """`for`, `if`, `∀`: a condition follows."""
    return (token.kind == "key" and token.text in CONDITION_WORDS) or is_sign(token, "∀")


def nesting(token: Token) -> int:
    """1 for what opens a bracket or an environment, -1 for what closes one."""
    if token.kind == "sign":
        return STEP.get(token.text, 0)
    return (token.kind == "begin") - (token.kind == "end")


def no_equation(tokens: Sequence[Token]) -> str:
    """Why a row cannot be an equation: a sign that reasons, points or compares otherwise.

    ∧, ∨ and ¬ are logic unless they join comparisons, in brackets or behind a `for`.
    """
    if any(t.kind == "text" and t.text.lower() in _CONSTRAINING for t in tokens):
        return "it states constraints"
    if not [t for t in tokens if t.text in NO_EQUATION or t.text in _ARROWS]:
        return ""
    compares = any(depth > 0 and is_relation(token) for token, depth in with_depths(tokens))
    guarded = False
    labels = {id(arrow) for arrow in (*_between_labels(tokens), *_alone_in_scripts(tokens))}
    for token, depth in with_depths(tokens):
        guarded = guarded or begins_guard(token)
        if token.kind == "command" and token.text in _ARROWS:
            return NO_EQUATION["→"]
        if token.kind == "sign" and token.text in NO_EQUATION:
            if id(token) in labels:
                continue
            conditional = guarded or (depth > 0 and compares)
            if not (conditional and token.text in LOGIC_SIGNS.values()):
                return NO_EQUATION[token.text]
    return ""


def _between_labels(tokens: Sequence[Token]) -> Iterator[Token]:
    """The arrow of `W_{h \\to y}`, which tells one name from another; of `m_{i \\to j}`, with indices, none."""
    for k in range(3, len(tokens) - 1):
        one, arrow, other = tokens[k - 1 : k + 2]
        script = is_sign(tokens[k - 2], "{") and is_sign(tokens[k - 3], "_^")
        names = {one.kind, other.kind} <= {"letter", "word", "text"}
        if (
            is_sign(arrow, "→")
            and script
            and names
            and not {one.text, other.text} & set("ijklmnst")
        ):
            yield arrow


def _alone_in_scripts(tokens: Sequence[Token]) -> Iterator[Token]:
    """The arrow of `\\mathrm{Att}_{\\leftrightarrow}` and `h^\\rightarrow`, which is a label."""
    for k in range(1, len(tokens)):
        if tokens[k].text in LABEL_SIGNS and tokens[k].kind == "sign":
            open_ = is_sign(tokens[k - 1], "{") and is_sign(tokens[k + 1], "}") if k > 1 else False
            if is_sign(tokens[k - 2 if open_ else k - 1], "_^"):
                yield tokens[k]


def with_depths(tokens: Iterable[Token]) -> Iterator[tuple[Token, int]]:
    """Each token with the number of brackets and environments that are open after it."""
    depth = 0
    for token in tokens:
        if token.kind in _NESTING:
            depth += nesting(token)
        elif token.kind == "sign" and token.text in STEP:
            depth += STEP[token.text]  # as `nesting` says, which would be asked of all signs
        yield token, depth


def top_level(tokens: Iterable[Token]) -> list[Token]:
    """The tokens outside all brackets and environments."""
    return [token for token, depth in with_depths(tokens) if depth == 0]


def holds_condition(tokens: Sequence[Token], start: int) -> bool:
    """Whether the bracket that opens at `start` holds a comparison: `[t = k]`, not `[t, k]`."""
    depth = 0
    for position in range(start, len(tokens)):
        depth += nesting(tokens[position])
        if depth == 0:
            return False
        script = is_sign(tokens[position - 1], "_^")  # the `in` of `t_in` is a name
        if depth == 1 and is_relation(tokens[position]) and not script:
            return True
    return False


def holds_value(tokens: Sequence[Token], start: int, functions: Container[str]) -> bool:
    """Whether the bracket that opens at `start` holds a function's value, which is no index: `[ln x]`."""
    for position in range(start, len(tokens)):
        token = tokens[position]
        if token.text == "]":
            return False
        if token.kind == "word" and token.text in functions:
            return True
    return False


def set_apart(tokens: Sequence[Token], start: int) -> bool:
    r"""Whether a thin space stands before a bracket, so that it is a factor: `G_k\,[m_{k+1} - m_k]`."""
    before, opening = tokens[start - 1].span, tokens[start].span
    between = before.source.text[before.end : opening.start]
    return any(space in between for space in ("\\,", "\\;", "\\:"))


def without_idle_spaces(tokens: Sequence[Token]) -> list[Token]:
    """Keeps a wide space only where it separates two equations, or one from its guard."""
    if not [token for token in tokens if token.kind == "quad"]:
        return list(tokens)
    kept: list[Token] = []
    ahead = _segments_ahead(tokens)
    related = False
    for i, (token, depth) in enumerate(with_depths(tokens)):
        related = related or (depth == 0 and is_relation(token))
        if token.kind == "quad":
            last = kept[-1] if kept else None
            goes_on = last is None or last.kind == "quad" or _goes_on(last) or is_sign(last, ",;")
            if depth or goes_on or not related or not ahead[i]:
                continue
        kept.append(token)
    return kept


def strip(tokens: list[Token]) -> None:
    """Takes away the punctuation and wide spaces at both ends, in place."""
    while tokens and (is_sign(tokens[-1], ",.;") or tokens[-1].kind == "quad"):
        tokens.pop()
    while tokens and (tokens[0].kind == "quad" or is_sign(tokens[0], ",;")):
        tokens.pop(0)


def without_words(tokens: list[Token]) -> list[Token]:
    r"""The row without the words around it: `\text{where } a = b \quad \text{as before}`."""
    if tokens and tokens[0].kind == "key" and tokens[0].text in ("where", "and", "or"):
        tokens = tokens[1:]
    tokens = tokens[: _aside(tokens)]
    while len(tokens) > 3 and tokens[-1].kind == "text" and not is_sign(tokens[-2], "_^"):
        apart = tokens[-2].kind == "quad" or is_sign(tokens[-2], ",;.") or tokens[-2].kind == "text"
        attribute = is_sign(tokens[-2], ".") and not tokens[-1].space  # `z.\\mathrm{grad}`
        if (attribute or not apart) and is_one_word(tokens[-1].text):
            break
        tokens = tokens[:-1]
        while tokens and (tokens[-1].kind in ("quad", "key") or is_sign(tokens[-1], ",;")):
            tokens = tokens[:-1]
    if not any(_connects(token) for token in tokens):
        return tokens
    related = [
        i for i, (t, depth) in enumerate(with_depths(tokens)) if not depth and is_relation(t)
    ]
    return [
        Token("quad", t.text, t.span, t.space)
        if _connects(t) and not depth and related and related[0] < i < related[-1]
        else t
        for i, (t, depth) in enumerate(with_depths(tokens))
    ]


def is_one_word(text: str) -> bool:
    """Whether words of `\\text` may be a name: `softmax`, and not `input gate` or `输入门`."""
    return " " not in text and not any("\u3040" <= sign <= "\u9fff" for sign in text)


def _aside(tokens: list[Token]) -> int:
    r"""Where words begin that say something beside an equation: `a = b \quad \text{rank by } a`."""
    if not [t for t in tokens if t.kind == "text"] or not [t for t in tokens if t.kind == "quad"]:
        return len(tokens)
    related = [i for i, t in enumerate(tokens) if is_relation(t)]
    for i, (token, depth) in enumerate(with_depths(tokens)):
        words = related and related[-1] < i and i + 1 < len(tokens) and tokens[i + 1].kind == "text"
        if words and depth == 0 and token.kind == "quad" and not tokens[i + 1].text.startswith("("):
            return i
    return len(tokens)


_CONNECTIVES = frozenset(
    {"hence", "thus", "so", "then", "therefore", "with", "gives", "namely", "also", "but", "while", "i.e"}
)  # fmt: skip


def _connects(token: Token) -> bool:
    """Whether words may stand between two equations: `a = b \\text{ so that } c = d`."""
    return token.kind == "text" and (" " in token.text or token.text.lower() in _CONNECTIVES)


def without_number(tokens: list[Token]) -> list[Token]:
    r"""The row without the number that it has in a list or on the page: `1.\; u = x`, `u = x \quad (3)`."""
    texts = [t.text for t in tokens[:3]]
    if len(tokens) > 3 and tokens[0].kind == "number" and texts[1] == "." and not tokens[1].space:
        tokens = tokens[2:]
    elif len(tokens) > 4 and texts[::2] == ["(", ")"] and _numbers(tokens[1], tokens[3]):
        tokens = tokens[3:]
    if tokens and is_sign(tokens[-1], ")]"):
        tokens = tokens[: _remark(tokens)]
    return tokens[: _spoken(tokens)]


def _spoken(tokens: list[Token]) -> int:
    r"""Where words in a bracket begin, with letters among them: `a = b \qquad \text{(of step } i \text{)}`."""
    if tokens and tokens[-1].kind in ("text", "sign") and tokens[-1].text.endswith(")"):
        for i in range(len(tokens) - 1, 1, -1):
            if is_relation(tokens[i]):
                break
            words = tokens[i].kind == "text" and tokens[i].text.startswith("(")
            if words and tokens[i - 1].kind == "quad" and any(map(is_relation, tokens[: i - 1])):
                return i - 1
    return len(tokens)


def without_frame(tokens: list[Token]) -> list[Token]:
    r"""The row without square brackets around all of it, `[ h = W x ]`: what is left of `\[ h = W x \]`."""
    if len(tokens) < 3 or not is_sign(tokens[0], "[") or not is_sign(tokens[-1], "]"):
        return tokens
    inside, depth = tokens[1:-1], 0
    for token in inside:
        depth += nesting(token)
        if depth < 0:
            return tokens
    return inside if any(map(is_relation, top_level(inside))) else tokens


def _remark(tokens: list[Token]) -> int:
    """Where a bracket without a relation begins that stands behind a wide space: `a = b \\quad (L_2)`.

    Of square brackets only those with words in them are a remark.
    """
    depth = 0
    for i in range(len(tokens) - 1, 0, -1):
        depth -= nesting(tokens[i])
        if is_relation(tokens[i]) and depth == 0:
            break
        if depth == 0:
            told = any(map(is_relation, tokens[i:]))  # `(\text{minimum } = k)` is told in words
            if told and tokens[i + 1].kind != "text":
                break
            words = all(t.kind in ("text", "key") for t in tokens[i + 1 : -1])
            remark = is_sign(tokens[i], "([" if words else "(") and tokens[i - 1].kind == "quad"
            related = any(map(is_relation, tokens[:i])) and not is_relation(tokens[max(i - 2, 0)])
            return i - 1 if remark and related else len(tokens)
    return len(tokens)


_ORDERS = frozenset("<>≤≥≠")


def with_spaces_told(tokens: list[Token]) -> list[Token]:
    r"""`q = x W \quad (W \in \mathbb R^{m×n})`: what names are, said in brackets, is said behind a `where`.

    What is said of many at once, `(W^\bullet \in …)`, is left out. `\quad (1 \le i \le n)` is a condition.
    """
    if not tokens or not is_sign(tokens[-1], ")"):
        return tokens
    depth, start = 0, len(tokens)
    for start in range(len(tokens) - 1, 0, -1):
        depth -= nesting(tokens[start])
        if depth == 0:
            break
    inside, before = tokens[start + 1 : -1], tokens[:start]
    relations = [t.text for t in inside if is_relation(t)]
    if not before or before[-1].kind != "quad":
        return tokens
    if not is_sign(tokens[start], "(") or not any(map(is_relation, before)):
        return tokens
    if relations and {*relations} <= _ORDERS:
        return [*before, replace(tokens[start], kind="key", text="for"), *inside]
    if {*relations} != {"∈"}:
        return tokens
    if any(t.text == "•" for t in inside):
        return before[:-1]
    return [*before, replace(tokens[start], kind="key", text="where"), *inside]


def _numbers(inner: Token, following: Token) -> bool:
    """Whether `(4)` before something is a number of the row: a digit, or a letter with a wide space."""
    starts = following.kind in ("letter", "word", "command", "sigma", "text")
    return (inner.kind == "number" and starts) or (
        inner.kind == "letter" and following.kind == "quad"
    )


def side_by_side(tokens: list[Token]) -> list[Token]:
    """`a, b = c, d` as two equations: `a = c, b = d`."""
    signs = [i for i, (t, depth) in enumerate(with_depths(tokens)) if depth == 0 and is_relation(t)]
    if len(signs) != 1 or tokens[signs[0]].text not in EQUATION_SIGNS:
        return tokens
    left, right = _listed(tokens[: signs[0]]), _listed(tokens[signs[0] + 1 :])
    if len(left) < 2 or len(left) != len(right) or not all((*left, *right)):
        return tokens
    if any(begins_guard(t) or is_sign(t, "…") for t in tokens):
        return tokens
    relation, comma = tokens[signs[0]], replace(tokens[signs[0]], text=",")
    return [
        token
        for one, other in zip(left, right, strict=True)
        for token in (*one, relation, *other, comma)
    ][:-1]


def _listed(tokens: Sequence[Token]) -> list[list[Token]]:
    """The parts between commas outside all brackets."""
    parts: list[list[Token]] = [[]]
    for token, depth in with_depths(tokens):
        if depth == 0 and is_sign(token, ","):
            parts.append([])
        elif token.kind != "quad" or depth:
            parts[-1].append(token)
    return parts


def _segments_ahead(tokens: Sequence[Token]) -> list[bool]:
    """For each token: does a condition, or something with a relation, follow until the next
    separator? Read from the back, so that it takes one pass."""
    answers = [False] * len(tokens)
    depth, related = 0, False
    following: Token | None = None
    for i in range(len(tokens) - 1, -1, -1):
        token = tokens[i]
        depth -= nesting(token)
        if depth == 0 and (token.kind == "quad" or is_sign(token, ",")):
            answers[i] = following is not None and (
                begins_guard(following) or (related and not _goes_on(following))
            )
            related = False
        else:
            related = related or (depth == 0 and is_relation(token))
        if token.kind != "quad":
            following = token
    return answers


def next_is_equation(tokens: Sequence[Token], start: int) -> bool:
    """Does the part up to the next separator hold `=`, and is it no `i = 1, …, n`?"""
    depth, found = 0, False
    if numbered(tokens[start:]):
        return False
    part = [t.text for t in tokens[start : start + 4] if t.kind != "eof"]
    if len(part) == 3 and part[1] == "=" and {part[0], part[2]} <= set("ijklmnst"):
        return False  # `y_{ij} = 0, \\quad i = j`: a condition
    for i in range(start, len(tokens)):
        token = tokens[i]
        if token.kind == "eof":
            break
        depth += nesting(token)
        if depth == 0 and is_relation(token):
            if token.text not in EQUATION_SIGNS:
                return found and token.text == "∈"  # `y = W x ∈ ℝ^d`
            found = True
        if depth == 0 and (is_sign(token, ",;") or token.kind == "quad"):
            return found and not _goes_to(tokens, i + 1)
    return found


def ranges(tokens: Sequence[Token]) -> bool:
    """`1 ≤ j ≤ N, …`: what begins with a number and compares."""
    return len(tokens) > 2 and tokens[0].kind == "number" and is_sign(tokens[1], "<≤")


def numbered(tokens: Sequence[Token]) -> bool:
    """`i = 1, 2, 3`: the numbers that an index goes through, to the end of the row."""
    row = [t for t in tokens[:40] if t.kind != "eof"]
    if len(row) < 5 or row[0].kind != "letter" or not is_sign(row[1], "="):
        return False
    commas = all(is_sign(t, ",") for t in row[3::2])
    return commas and len(row) % 2 == 1 and all(t.kind == "number" for t in row[2::2])


def _goes_to(tokens: Sequence[Token], start: int) -> bool:
    """The `…, n` or `2, …, n` behind `i = 1,`."""
    if tokens[start].kind == "number" and is_sign(tokens[start + 1], ","):
        start += 2
    return is_sign(tokens[start], "…")


def label_end(tokens: Sequence[Token]) -> int | None:
    """Where the colon of `Attention: α[…] = …` stands."""
    for i, (token, depth) in enumerate(with_depths(tokens)):
        if depth == 0 and is_sign(token, ":"):
            return i
        if depth == 0 and is_relation(token):
            return None
    return None


def label_text(tokens: Iterable[Token]) -> str:
    """Words, numbers and round brackets as they stood; anything else says nothing in a label."""
    kinds = ("letter", "word", "text", "key", "number")
    kept = [t for t in tokens if t.kind in kinds or is_sign(t, "()")]
    return "".join((" " if t.space else "") + t.text for t in kept).strip()


def _goes_on(token: Token) -> bool:
    return is_relation(token) or is_sign(token, "+-·*/⊙")
