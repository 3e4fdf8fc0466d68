"""Rows: which tokens make one line of the blackboard, and whether their brackets match.

    \\begin{aligned} a &= f(x) \\\\ &= y \\\\ b &= 2 \\end{aligned}   →   [a = f(x) = y], [b = 2]

A row that begins with a relation or an operator, or that a bracket or an operator leaves open,
is joined to its neighbour. A row whose brackets do not match gets a fault and is left out, so that
the other rows are still read.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from indicial.notation.faults import Fault
from indicial.notation.signs import CONDITION_WORDS, EQUATION_SIGNS, RELATION_SIGNS
from indicial.notation.source import Span
from indicial.notation.tokens import Token, is_sign
from indicial.notation.vocabulary import KEYWORDS

NO_SLIP = "no-slip"
"""The code of a row that is left out, and is right."""

NESTING = 60
"""How deep brackets may stand inside each other."""
SIGNS = 1_000_000
"""The most of one equation: a hundred thousand terms, and a minute of work."""
LINES = 30_000
"""The most of one program, which a document divided by headings has many of: half a minute."""

CLOSERS = {"(": ")", "[": "]", "{": "}", "\\{": "\\}", "⟨": "⟩", "⌊": "⌋", "⌈": "⌉", "|(": "|)",
           "‖(": "‖)"}  # fmt: skip
_OPENERS = {closer: opener for opener, closer in CLOSERS.items()}
CLOSING = frozenset(_OPENERS) | {"null"}
_SPELLING = {"\\{": "\\{", "|(": "\\left|", "‖(": "\\left\\|", "|)": "\\right|", "‖)": "\\right\\|"}

INNER = frozenset(
    {"cases", "dcases", "rcases", "matrix", "bmatrix", "pmatrix", "vmatrix", "Bmatrix", "Vmatrix",
     "smallmatrix"}
)  # fmt: skip
"""Environments that are a part of an expression; `array` is one inside brackets."""

_OPERATORS = frozenset("+-·*⊙⊘/⊗")
_GOES_ON = _OPERATORS | RELATION_SIGNS | {",", ";", "mid"}


@dataclass
class Row:
    """Tokens that belong together, and the brackets among them that have no partner.

    `opened` and `closed` stand outside all others, so a neighbouring row may hold the partner;
    `wrong` are pairs of different kinds, `lost` and `extra` lack a partner inside other brackets.
    """

    tokens: list[Token] = field(default_factory=list)
    opened: list[Token] = field(default_factory=list)
    closed: list[Token] = field(default_factory=list)
    wrong: list[tuple[Token, Token]] = field(default_factory=list)
    lost: list[Token] = field(default_factory=list)
    extra: list[Token] = field(default_factory=list)
    depth: int = 0
    equation: bool = False

    @property
    def broken(self) -> bool:
        """Brackets that no neighbour can mend."""
        return bool(self.wrong or self.lost or self.extra)

    def extend(self, other: Row) -> None:
        self.tokens += other.tokens
        # A bracket left open here may be closed there.
        for token in other.closed:
            if self.opened and (
                token.text == "null" or CLOSERS.get(self.opened[-1].text) == token.text
            ):
                self.opened.pop()
            else:
                self.closed.append(token)
        self.depth = max(self.depth, len(self.opened) + other.depth)
        self.opened += other.opened
        self.wrong += other.wrong
        self.lost += other.lost
        self.extra += other.extra
        self.equation = self.equation or other.equation


STEP = {**dict.fromkeys(CLOSERS, 1), **dict.fromkeys(CLOSING, -1)}
"""1 for a sign that opens a bracket, -1 for one that closes one."""


def split_rows(tokens: Iterable[Token], latex: bool) -> tuple[list[Row], list[Fault]]:
    """The joined rows of a text, and a fault for every bracket without its partner."""
    trimmed = (_trimmed(piece) for piece in _pieces(list(tokens), latex))
    pieces = [_examine(piece, latex) for piece in trimmed if piece]
    closing = [False] * (len(pieces) + 1)  # whether a bracket is closed before the next equation
    for k in range(len(pieces) - 1, -1, -1):
        closing[k] = not pieces[k].equation and (bool(pieces[k].closed) or closing[k + 1])
    rows: list[Row] = []
    for k, piece in enumerate(pieces):
        if rows and _joins(rows[-1], piece, latex, closing[k]):
            # A piece whose own brackets are wrong is told about alone: its neighbours stay good.
            if piece.broken or (piece.closed and not rows[-1].opened):
                rows.insert(len(rows) - 1, piece)
            else:
                rows[-1].extend(piece)
        else:
            rows.append(piece)
    good: list[Row] = []
    faults: list[Fault] = []
    for row in rows:
        found = _bracket_faults(row, latex)
        faults += found
        if not found:
            good.append(row)
    return good, faults


def too_many(count: int, place: Span) -> Fault:
    """What a program of so many lines is told; `place` is the first line over the limit."""
    told = f"a program of {count:,} lines; {LINES:,} is the limit"
    hint = "divide it by headings, or write lines that are alike as one, with an index"
    return Fault("length", told, (place,), hint)


def _pieces(tokens: list[Token], latex: bool) -> list[list[Token]]:
    """Tokens cut at `\\\\` and, in plain text, at the end of a line; `&` that only aligns goes."""
    braces = sum((t.text == "{") - (t.text == "}") for t in tokens if t.kind == "sign")
    pieces: list[list[Token]] = [[]]
    depth = 0  # of braces and brackets: a row inside \substack{…} or an array is none of ours
    brackets = 0
    environments: list[bool] = []
    tokens, systems = _systems(tokens)
    for token in tokens:
        kind, text = token.kind, token.text
        inner = any(environments[-1:])
        if kind == "begin":
            environments.append(
                inner
                or (text in INNER and id(token) not in systems)
                or (text in ("array", "aligned") and brackets > 0)
            )
            if environments[-1]:
                pieces[-1].append(token)
        elif kind == "end":
            if environments and environments.pop():
                pieces[-1].append(token)
        elif kind == "row" and not inner and (depth <= 0 or braces != 0):
            pieces.append([])
            brackets = 0
        elif kind == "newline":
            if not inner:
                pieces.append([])
        elif text == "&" and kind == "sign" and not inner:
            pieces[-1].append(token)
        else:
            if kind == "sign":
                depth += (text == "{") - (text == "}")
                brackets += STEP.get(token.text, 0)
            pieces[-1].append(token)
    return [_aligned(piece) for piece in pieces]


def _systems(tokens: list[Token]) -> tuple[list[Token], set[int]]:
    r"""Several equations behind one brace, `\begin{cases} x_k &= A x_{k-1} \\ y_k &= C x_k \end{cases}`.

    The brace goes, if it is a `\left\{`; the beginnings of such environments are told.
    """
    systems: set[int] = set()
    braces: set[int] = set()
    ends = [i for i, token in enumerate(tokens) if token.kind == "end"]
    for i, token in enumerate(tokens):
        if token.kind != "begin":
            continue
        brace = i > 0 and is_sign(tokens[i - 1], {"\\{"})
        last = i - brace - 1
        while last >= 0 and tokens[last].kind == "quad":
            last -= 1
        begins = last < 0 or tokens[last].kind in ("begin", "end", "row", "newline")
        wanted = ("array", "aligned") if brace else ("cases", "dcases", "rcases")
        if token.text in wanted and begins:
            at = bisect(ends, i)
            if at == len(ends) or not _states_equations(tokens[i + 1 : (end := ends[at])]):
                continue
            systems.add(id(token))
            if brace:
                braces |= {id(t) for t in (tokens[i - 1], *tokens[end + 1 : end + 2])}
    return [t for t in tokens if id(t) not in braces], systems


def _states_equations(tokens: list[Token]) -> bool:
    """Whether every row has an `=` in the place where a case has its value."""
    rows: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "row":
            rows.append([])
        elif token.kind not in ("quad", "newline"):
            rows[-1].append(token)
    for row in filter(None, rows):
        signs = [t.text for t in row if is_sign(t, EQUATION_SIGNS | {"&"})]
        if signs[:1] != ["="] and signs[:2] != ["&", "="]:
            return False
        if signs[0] == "&" and not any(
            is_sign(a, {"&"}) and is_sign(b, {"="}) for a, b in pairwise(row)
        ):
            return False
    return any(rows)


def _aligned(piece: list[Token]) -> list[Token]:
    """The piece without its `&`; one between two equations (`a &= b & c &= d`) is a wide space."""
    kept: list[Token] = []
    depth, environments, related = 0, 0, False
    for i, token in enumerate(piece):
        sign = token.kind == "sign"
        environments += (token.kind == "begin") - (token.kind == "end")
        if sign and not environments:
            depth += STEP.get(token.text, 0)
        if not (sign and token.text == "&") or environments:
            kept.append(token)
            related = related or (is_sign(token, RELATION_SIGNS) and not depth)
            continue
        beside = (*kept[-1:], *piece[i + 1 : i + 2])
        if related and depth == 0 and not any(is_sign(t, RELATION_SIGNS | {"&"}) for t in beside):
            kept.append(Token("quad", "&", token.span, token.space))
            related = False
    return kept


def _examine(tokens: list[Token], latex: bool) -> Row:
    """Matches the brackets of one piece."""
    row = Row(tokens)
    stack: list[Token] = []
    kinds = dict.fromkeys(CLOSERS, 0)
    strays: list[tuple[Token | None, Token]] = []
    conditional = False
    for token in tokens:
        if token.kind == "key" and token.text in CONDITION_WORDS:
            conditional = True
        if token.kind != "sign":
            continue
        text = token.text
        if text in CLOSERS:
            stack.append(token)
            kinds[text] += 1
            row.depth = max(row.depth, len(stack))
        elif text in CLOSING:
            opener = _OPENERS.get(text) or (stack[-1].text if stack else "")
            if not kinds.get(opener):
                strays.append((stack[-1] if stack else None, token))
                continue
            # What stands between the two and is still open was forgotten.
            while stack[-1].text != opener:
                kinds[stack[-1].text] -= 1
                row.lost.append(stack.pop())
            kinds[opener] -= 1
            stack.pop()
        elif text in EQUATION_SIGNS and not stack and not conditional:
            row.equation = True
    # `f[x)`: a bracket that stays open, with a wrong one inside it, is one slip and not two.
    still_open = {id(token) for token in stack}
    for around, token in strays:
        if around is None:
            row.closed.append(token)
        elif id(around) in still_open:
            still_open.remove(id(around))
            row.wrong.append((around, token))
        else:
            row.extra.append(token)
    row.opened = [token for token in stack if id(token) in still_open]
    return row


def _joins(before: Row, piece: Row, latex: bool, closing: bool) -> bool:
    """Whether the piece goes on with the row before it; `closing` if it or a later one closes a bracket."""
    if before.broken or before.closed:
        return False
    first, last = piece.tokens[0], before.tokens[-1]
    declares = not latex and first.kind == "word" and first.text in (*KEYWORDS, "claim")
    if before.opened:
        if latex:
            return closing or is_sign(first, _OPERATORS)
        return not declares and not piece.equation
    if is_sign(first, EQUATION_SIGNS) or is_sign(first, _OPERATORS):
        return True
    if declares:
        return False
    if is_sign(last, _GOES_ON):
        return not (latex and last.text in (",", ";")) or not piece.equation
    return False


def _trimmed(piece: list[Token]) -> list[Token]:
    r"""Without what only spaces out at both ends: `\\quad + b` and `{} + b` go on as `+ b` does."""
    start, end = 0, len(piece)
    while start < end:
        if piece[start].kind == "quad":
            start += 1
        elif [token.text for token in piece[start : start + 2]] == ["{", "}"]:
            start += 2
        else:
            break
    while end > start and piece[end - 1].kind == "quad":
        end -= 1
    return piece[start:end]


def _bracket_faults(row: Row, latex: bool) -> list[Fault]:
    if latex and (reason := _no_slip(row)):
        return [Fault(NO_SLIP, reason, (row.tokens[0].span.to(row.tokens[-1].span),))]
    faults: list[Fault] = []
    start, end = row.tokens[0].span, row.tokens[-1].span

    def say(text: str, hint: str, *spans: Span, code: str = "bracket") -> None:
        faults.append(Fault(code, text, spans, hint))

    def closing(opener: Token) -> str:
        return f"close it with `{_SPELLING.get(CLOSERS[opener.text], CLOSERS[opener.text])}`"

    for opener, closer in row.wrong:
        text = f"`{_spell(opener)}` is closed by `{_spell(closer)}`"
        say(text, closing(opener), opener.span, closer.span)
    for closer in (*row.closed, *row.extra):
        text = f"`{_spell(closer)}` closes nothing"
        say(text, "remove it, or open a bracket before it", closer.span)
    for opener in (*row.lost, *row.opened):
        text = f"`{_spell(opener)}` is never closed"
        say(text, closing(opener), opener.span, Span(end.source, end.end, end.end))
    if len(faults) > NESTING:  # no slip of the hand
        more = f"{faults[0].message}; {len(faults) - 1:,} more brackets have no partner either"
        return [replace(faults[0], message=more)]
    if not faults and len(row.tokens) > SIGNS:
        text = f"an equation of {len(row.tokens):,} signs; {SIGNS:,} is the limit"
        say(text, "give parts of it names of their own", start, code="length")
    if not faults and row.depth > NESTING:
        text = f"brackets are nested {row.depth} deep; {NESTING} is the limit"
        say(text, "give an inner part a name of its own", start.to(end), code="nesting")
    return faults


def _no_slip(row: Row) -> str:
    r"""What brackets without a partner may mean: `\left. f \right|_{x=0}`, `[0, 1)`, `\ln(1 + {x)}`."""
    strays = (*row.closed, *row.extra)
    if any(token.text in ("|)", "‖)") for token in strays):
        return "it is taken at a value"
    if strays and _in_words(row, strays):
        return "its brackets stand in words"
    pairs = [*row.wrong, *zip(row.lost, strays, strict=False)]  # the latter inside braces
    whole = len(row.lost) == len(strays)
    if pairs and whole and all(_is_interval(row.tokens, *pair) for pair in pairs):
        return "it holds an interval"
    closers = sorted(token.text for token in strays)
    if row.lost and closers == sorted(CLOSERS[token.text] for token in row.lost):
        return "its brackets and braces cross"
    return ""


def _in_words(row: Row, strays: tuple[Token, ...]) -> bool:
    r"""Whether all were opened in words: `\text{(the input } x)`."""
    words = "".join(t.text for t in row.tokens if t.kind == "text")
    opened = words.count("(") - words.count(")")
    return len(strays) <= opened and all(token.text == ")" for token in strays)


def _is_interval(tokens: list[Token], opener: Token, closer: Token) -> bool:
    """Whether `[0, 1)` stands behind no name, with one comma inside."""
    start, end = tokens.index(opener), tokens.index(closer)
    before = tokens[start - 1] if start else None
    named = before is not None and before.kind in ("letter", "word", "text", "sigma")
    inside = [t.text for t in tokens[start + 1 : end]]
    return not named and inside.count(",") == 1


def _spell(token: Token) -> str:
    return "\\right." if token.text == "null" else _SPELLING.get(token.text, token.text)
