r"""Signs and brackets that join, list or call: what stands in a row's brackets, before it is parsed.

[a ‖ b], [a | b]                    →  [a; b]              two vectors joined
h = [a; b] = a ⊕ b                  →  h = [a; b] = [a; b]
\{0 … N-1\}                         →  \{0, …, N-1\}
a[\mathbf x_m, \mathbf x_n]          a function is called
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from indicial.notation.lookahead import is_relation, nesting, with_depths
from indicial.notation.tokens import Token, is_sign

_JOINING = re.compile(
    r"concatenat[^.$]{0,60}\$?\s*(?:\\oplus|⊕)|(?:\\oplus|⊕)[^.]{0,60}concatenat", re.IGNORECASE
)


@lru_cache(maxsize=8)
def speaks_of_joining(text: str) -> bool:
    """Whether a text says that its ⊕ concatenates."""
    return _JOINING.search(text) is not None


_SEPARATORS = frozenset({"‖", "|", "mid", "⊕"})
MATRICES = frozenset("WUV")
"""Letters whose brackets hold what they multiply."""
_RANDOM = frozenset({"E", "P", "p", "H", "I", "Pr", "Var", "Cov", "D"})
"""What a bar in brackets behind them conditions or compares: `E[x | y]`, `D[p ‖ q]`."""


def calls_of_bold(name: str, tokens: Sequence[Token], start: int) -> bool:
    r"""Whether square brackets hold bold names and no index: `a[\mathbf x_m, \mathbf x_n]` calls a function.

    Behind a matrix several of them are joined, `W [\mathbf h, \mathbf x]`.
    """
    items: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[start:]:
        depth += nesting(token)
        if depth == 0:
            break
        if depth == 1 and is_sign(token, ","):
            items.append([])
        elif depth > 1 or not is_sign(token, "["):
            items[-1].append(token)
    bold = all(item and item[0].font == "bold" and _is_atom(item) for item in items)
    capitals = len(items) == 1 and items[0][0].text.isupper() if bold else False
    return (
        bold
        and name not in _RANDOM | {"𝔼"}
        and (capitals or not name[:1].isupper() or len(name) > 1)
    )


def _is_atom(tokens: Sequence[Token]) -> bool:
    """One name with its scripts, and an index in round brackets."""
    return all(
        depth or i == 0 or is_sign(t, "_^{}'()") or is_sign(tokens[i - 1], "_^")
        for i, (t, depth) in enumerate(with_depths(tokens))
    )


def with_separators(tokens: Sequence[Token], latex: bool) -> list[Token]:
    """A bar that is alone in its bracket opens nothing: `[a ‖ b]`, `[a | b]` are `[a; b]`, two vectors joined.

    So do several in square brackets that all stand between names: `[a ‖ b ‖ c]`, `[a ⊕ b]`. In round
    brackets a ‖ compares: `KL(p ‖ q)` keeps it, as the sign `∥`; but `W(a ‖ b)` multiplies. In plain
    text only ‖ joins.
    """
    separators = _SEPARATORS if latex else ("‖",)
    found = list(tokens)
    open_: list[tuple[int, list[int]]] = [(-1, [])]
    for i, token in enumerate(tokens):
        step = nesting(token)
        if step > 0:
            open_.append((i, []))
        elif step < 0 and len(open_) > 1:
            _separate(found, *open_.pop())
        elif token.kind == "sign" and token.text in separators:
            open_[-1][1].append(i)
    while open_:
        _separate(found, *open_.pop())
    return found


def _separate(tokens: list[Token], opener: int, bars: list[int]) -> None:
    if not bars:
        return  # before anything looks back: a row may have thousands of brackets
    text = tokens[opener].text if opener >= 0 else ""
    head = _head(tokens, opener)
    if text == "[" and head not in _RANDOM:
        joins = all(_joins(*tokens[i - 1 : i + 2]) for i in bars)
    else:
        joins = text == "(" and head in MATRICES and [tokens[i].text for i in bars] == ["‖"]
    double = [i for i in bars if tokens[i].text == "‖"]
    if not joins and (len(double) != 1 or text in ("{", "\\{")):
        return
    for i in bars if joins else double:
        tokens[i] = replace(tokens[i], text=";" if joins or text != "(" else "∥")


def _head(tokens: Sequence[Token], opener: int) -> str:
    """The W of `W_f^{(l)} [`: what the bracket stands behind."""
    i = opener - 1
    while i > 0 and (is_sign(tokens[i - 1], "_^") or is_sign(tokens[i], "}")):
        depth = 0
        while i > 0:
            depth -= nesting(tokens[i])
            if depth <= 0:
                break
            i -= 1
        i -= 1 + is_sign(tokens[i - 1], "_^")
    return tokens[i].text if i >= 0 and tokens[i].kind in ("letter", "word", "text") else ""


def with_joins(tokens: list[Token]) -> list[Token]:
    r"""`h = [a; b] = a ⊕ b`, or with a text that says so: a side of ⊕ is two vectors joined."""
    if "⊕" not in [t.text for t in tokens]:
        return tokens
    signs = [t for t, depth in with_depths(tokens) if not depth and is_sign(t, "⊕")]
    shown = any(depth and is_sign(t, ";") for t, depth in with_depths(tokens)) if signs else False
    if not signs or not (shown or speaks_of_joining(signs[0].span.source.text)):
        return tokens
    made: list[Token] = []
    side: list[Token] = []
    for token, depth in (*with_depths(tokens), (signs[0], -1)):
        if depth < 0 or (not depth and is_relation(token)):
            made += _joined(side) if any(t in signs for t in side) else side
            made += [token] if not depth else []
            side = []
        else:
            side.append(token)
    return made


def _joined(side: list[Token]) -> list[Token]:
    """`a ⊕ b` → `[a; b]`."""
    if any(not depth and is_sign(t, "+-*·/⊙,") for t, depth in with_depths(side)):
        return side
    ends = [replace(side[0], kind="sign", text=bracket) for bracket in "[]"]
    middle = [
        replace(t, text=";") if not depth and is_sign(t, "⊕") else t
        for t, depth in with_depths(side)
    ]
    return [ends[0], *middle, ends[1]]


def with_commas(tokens: Sequence[Token]) -> list[Token]:
    """`\\{0 … N-1\\}` is `\\{0, …, N-1\\}`."""
    if not [token for token in tokens if token.text == "…"]:
        return list(tokens)
    found: list[Token] = []
    openers: list[str] = []
    for i, token in enumerate(tokens):
        step = nesting(token)
        if step > 0:
            openers.append(token.text)
        elif step < 0 and openers:
            openers.pop()
        inside = is_sign(token, "…") and openers[-1:] == ["\\{"] and i + 1 < len(tokens)
        comma = replace(token, text=",")
        dots = inside and _joins(tokens[i - 1], token, tokens[i + 1])
        found += [comma, token, comma] if dots else [token]
    return found


def _joins(before: Token, bar: Token, behind: Token) -> bool:
    """Whether a bar stands behind one thing and before another."""
    ends = before.kind != "sign" or before.text in ")]}'⊤…"
    return ends and (behind.kind != "sign" or behind.text in ("(", "{", "…"))
