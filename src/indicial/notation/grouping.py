r"""Tokens that stand together, as they are meant; and which runs of letters are one name.

{a \over b}         →  \frac{a}{b}
a {=} b             →  a = b             braces that keep nothing together
PE_{pos} = …        →  PE is a word      a product defines nothing
\text{KV Cache} = …  →  so is `KV Cache`  words on a left side are a name
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from indicial.notation.rows import CLOSERS, CLOSING
from indicial.notation.signs import ANY_SIGN, KEYS, RELATION_SIGNS
from indicial.notation.tokens import Token, is_sign


def fractions(tokens: Sequence[Token]) -> Sequence[Token]:
    r"""`{a \over b}` → `\frac{a}{b}`, as plain TeX writes it."""
    if "\\over" not in [token.text for token in tokens]:
        return tokens
    made: list[Token] = []
    opened: list[int] = []
    for token in tokens:
        if token.text == "{":
            opened.append(len(made))
        elif token.text == "}" and opened:
            opened.pop()
        if token.text == "\\over" and opened:
            made.insert(opened[-1], replace(token, text="\\frac"))
            made += [replace(token, kind="sign", text=brace) for brace in "}{"]
            opened = [place if place < opened[-1] else place + 1 for place in opened]
        else:
            made.append(token)
    return made


def without_idle_braces(tokens: list[Token]) -> list[Token]:
    """`{\\color{red} a = b}`, `a {=} b`: braces around a relation keep nothing together."""
    dropped: set[int] = set()
    opened: list[int] = []
    related: set[int] = set()
    for i, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in CLOSERS:
            opened.append(i)
        elif token.text in CLOSING and opened:
            start = opened.pop()
            free = start == 0 or i == start + 2 or _ends_nothing(tokens[start - 1])
            operator = i == start + 2 and is_sign(tokens[start + 1], "+-·*/⊙")  # `t{-}1`
            if operator and start > 0 and _ends_nothing(tokens[start - 1]) and token.text == "}":
                dropped |= {start, i}
            if start in related and free and (tokens[start].text, token.text) == ("{", "}"):
                dropped |= {start, i}
                related |= set(opened[-1:])
        elif token.text in RELATION_SIGNS and opened:
            related.add(opened[-1])
    return [t for i, t in enumerate(tokens) if i not in dropped] if dropped else tokens


def _ends_nothing(token: Token) -> bool:
    """Whether a brace behind this token begins something of its own, and no script or argument."""
    if token.kind == "sign":
        return token.text not in ("_", "^", "}", "]")  # `\\sqrt[3]{…}`
    return token.kind not in ("command", "begin")


def own_words(tokens: Sequence[Token]) -> frozenset[str]:
    """The runs of letters that are one name: `PE_{…} = …` and `wkv_t = …`, since a product defines nothing.

    So is one that stands in a list below a name as well: the `pos` of `PE_{(pos,2i)} = sin(pos/…)`.
    """
    found = set(_phrases(tokens))
    begun, read = set[str](), set[str]()
    scripts: list[bool] = []  # for each brace that is open, whether a script stands in it
    for start, end, begins in _runs(tokens, scripts):
        word = "".join([t.text for t in tokens[start:end]])
        if len(word) == 2 and word[0] == "d":
            # The dL of `\\frac{dL}{dW}` is a differential, whatever begins the row.
            begins_row = begins and tokens[start - 1].text != "{"
            (begun if begins_row else read).add(word if tokens[start - 1].text != "{" else "dt")
        below = end < len(tokens) and tokens[end].text == "_"
        listed = any(scripts) and tokens[start - 1].text in ("(", ",") and len(word) > 2
        long = len(word) > 2 or (len(word) == 2 and word.isupper())
        cased = word.isupper() or word.islower()
        if cased and (listed or (begins and below and long)):
            found.add(word)
    return frozenset(found | _slopes(begun, read))


def _slopes(begun: set[str], read: set[str]) -> set[str]:
    """The `dz` of `dz = da * g'(z)` and `dW = dz a^T`: what a row defines and another reads is no differential."""
    return begun | read if begun & read and "dt" not in read else set()


def _phrases(tokens: Sequence[Token]) -> Iterator[str]:
    """The words of `\\text{KV Cache} = …`, where they are all of a left side."""
    begins = True
    for i, token in enumerate(tokens):
        if begins and token.kind == "command" and token.text in ("\\text", "\\mathrm", "\\textrm"):
            end = next((k for k in range(i, len(tokens)) if tokens[k].text == "}"), i)
            inside, behind = tokens[i + 2 : end], tokens[end + 1 : end + 3]
            signs = [ANY_SIGN.get(t.text, "") for t in behind if t.text != "&"]
            plain = all(t.kind == "letter" for t in inside)
            words = "".join(" " * t.space + t.text for t in inside).split()
            if signs[:1] == ["="] and plain and 1 < len(words) < 4 and KEYS.isdisjoint(words):
                yield " ".join(words)
        begins = token.kind in ("row", "newline") or token.text == "&"


def phrase_name(words: str) -> str:
    """The name that several words are: `KV Cache` → `KVCache`."""
    several = words.split()
    return "".join(w[0].upper() + w[1:] for w in several) if len(several) > 1 else words


def _runs(tokens: Sequence[Token], scripts: list[bool]) -> Iterator[tuple[int, int, bool]]:
    """Where two letters or more stand side by side, and whether a row begins there."""
    begins, i, count = True, 0, len(tokens)
    while i < count:
        token, end = tokens[i], i + 1
        if token.kind == "letter":
            while end < count and tokens[end].kind == "letter" and not tokens[end].space:
                end += 1
            if end > i + 1:
                yield i, end, begins
            begins = False
        elif token.text == "{":
            scripts.append(i > 0 and tokens[i - 1].text in ("_", "^"))
        elif token.text == "}" and scripts:
            scripts.pop()
        elif token.text == "\\begin":
            begins = True
            while end < count and tokens[end - 1].text != "}":
                end += 1
        elif token.kind in ("row", "newline") or token.text in ("\\\\", "&"):
            begins = True
        elif token.kind == "sign":
            begins = False
        i = end
