"""Tokens → statements, with every slip of the text in one go.

>>> parsed = parse_text("h[t,j] = G[t,j] h[t-1,j]  # a gate")
>>> len(parsed.statements), parsed.faults, parsed.skipped
(1, (), ())

`parse` never raises: a row that does not read becomes a Fault, a formula that is no equation of
tensors a Skipped. Time is linear in the number of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from indicial.notation.commands import interpret_commands
from indicial.notation.expressions import ExpressionParser
from indicial.notation.faults import Fault, Refusal, Skipped
from indicial.notation.node import Node
from indicial.notation.printers import name_key
from indicial.notation.rows import LINES, NO_SLIP, split_rows, too_many
from indicial.notation.source import Source, Span, cover
from indicial.notation.statements import RowParser
from indicial.notation.syntax import Name, Statement
from indicial.notation.tokens import LONGEST, Token, tokenize

DEEPEST = 150
"""So many nodes may stand below each other; brackets alone make fewer."""


@dataclass(frozen=True)
class Parsed:
    """What a text says, what is wrong with it, what was left out, and its comments."""

    statements: tuple[Statement, ...]
    faults: tuple[Fault, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    comments: tuple[Span, ...] = ()


def parse(
    tokens: Sequence[Token], latex: bool, claims: bool = False, words: frozenset[str] = frozenset()
) -> Parsed:
    """The statements of a token list, as `tokenize` makes it (macros expanded by now).

    With `claims`, every row is one, whether it says so or not; `words` are names of several letters.
    """
    for token in tokens:
        if token.kind == "endless":
            return Parsed((), (_endless(token),))
    comments = tuple(t.span for t in tokens if t.kind == "comment")
    kept = loop_signs(interpret_commands([t for t in tokens if t.kind != "comment"], latex, words))
    rows, faults = split_rows(kept, latex)
    if len(rows) > LINES:
        return Parsed((), (too_many(len(rows), rows[LINES].tokens[0].span),))
    statements: list[Statement] = []
    skipped = [Skipped(f.spans[0], f.message) for f in faults if f.code == NO_SLIP]
    faults = [f for f in faults if f.code != NO_SLIP]
    for row in rows:
        parser = RowParser(row, latex, claims)
        try:
            parser.run()
        except Refusal as refusal:
            whole = cover(t.span for t in row.tokens)
            if refusal.skip:
                skipped.append(Skipped(whole, refusal.fault.message))
            else:
                faults.append(replace(refusal.fault, row=whole))
        for statement in parser.statements:
            if _too_deep(statement):
                faults.append(_deep(statement.span))
            else:
                statements.append(statement)
        skipped += parser.skipped
    faults.sort(key=lambda fault: fault.spans[0].start)
    return Parsed(tuple(statements), tuple(faults), tuple(skipped), comments)


def _too_deep(statement: Statement) -> bool:
    """Whether a tree is deeper than what comes after can walk: `x/2/2/…` nests without a bracket."""
    level: list[Node] = [statement]
    for _ in range(DEEPEST):
        level = [child for node in level for child in node.children()]
        if not level:
            return False
    return True


def _endless(token: Token) -> Fault:
    return Fault(
        "length",
        f"notation of {token.text} characters; {LONGEST:,} is the limit",
        (token.span,),
        "write lines or terms that are alike as one, with an index",
    )


def _deep(place: Span) -> Fault:
    return Fault(
        "nesting",
        f"operations are nested more than {DEEPEST} deep",
        (place,),
        "give an inner part a name of its own",
    )


def parse_text(text: str, name: str = "<text>", latex: bool = False) -> Parsed:
    """`parse` for a string.

    >>> parse_text("c_1 = v_a, c_2 = v_b").statements[1].sides[0]
    Name(base='c', accents=(), primes=0, sub=(Number(text='2'),), sup=())
    """
    source = Source(name, text)
    return parse(tokenize(source, 0, len(text), latex), latex)


def parse_name(text: str) -> Name | None:
    """A name in any spelling, or None if the text is something else."""
    tokens = tokenize(Source("<name>", text), 0, len(text), latex=False)
    rows, faults = split_rows(interpret_commands(tokens, latex=False), latex=False)
    if faults or len(rows) != 1:
        return None
    parser = ExpressionParser(rows[0].tokens, latex=False)
    try:
        expression = parser.factor()
    except Refusal:
        return None
    return expression if isinstance(expression, Name) and parser.done() else None


def canonical_name(text: str) -> str:
    """Any spelling of a name → its key; what is no name comes back as it is.

    >>> canonical_name("tau"), canonical_name("W^{h, R}"), canonical_name("h_in")
    ('τ', 'W^{h,R}', 'h_{in}')
    """
    name = parse_name(text)
    return text.strip() if name is None else name_key(name)


def loop_signs(tokens: list[Token]) -> list[Token]:
    r"""`+` and `=` side by side are one relation, also as `\mathrel{+}=`; not the `-` of `x^- = A x`."""
    result: list[Token] = []
    for token in tokens:
        result.append(token)
        if token.kind != "sign" or token.text != "=":
            continue
        texts = [t.text for t in result[-5:]]
        if len(texts) > 1 and texts[-2] in ("+", "-") and texts[-3:-2] not in (["^"], ["_"]):
            count = 2
        elif len(texts) == 5 and texts[0] == "\\mathrel" and texts[2] in ("+", "-"):
            count = 5
        else:
            continue
        sign = texts[-2] if count == 2 else texts[2]
        span = result[-count].span.to(token.span)
        result[-count:] = [replace(token, text=sign + "=", span=span)]
    return result
