"""Matrices that are turned or inverted, in brackets: `A^⊤[j,I]`, `A^T[j,I]`, `A^{-1}[j,I]`.

A^⊤[j,I] x[I]       →  A[I,j] x[I]
A^T[j,I]            →  A[I,j], if there is an A[·,·] in the program; else A^T is a name
τ^{-1}[t]           →  1 / τ[t]
A^{-1}[t,j,I]       →  a tensor of that name, which the equations of an elimination define:

    p[k] = argmax_{r ≥ k} |G[k-1,r,k]|                            the pivot
    S[k,i,j] = rows k and p[k] of G[k-1,·,·] exchanged            R the same of H
    G[k,i,j] = S[k,i,j] - S[k,i,k] S[k,k,j] / S[k,k,k]            row k divided by its pivot
    H[k,i,j] = R[k,i,j] - S[k,i,k] R[k,k,j] / S[k,k,k]            begins as 1, ends as the inverse

A^{exp}[t,j,I]      →  the exponential of A, which vector style writes so: a series of A / 64, squared six times

So an inverse is equations like any other: it has a gradient, a cost, a kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.parse import parse_text
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program.messages import Messages
from indicial.program.names.letters import MADE_FAMILY, family, index_name

INVERSE = s.Negative(s.Number("1"))
EXPONENTIAL = s.Name("exp", font="roman")
"""What stands above a matrix whose exponential is meant."""
TERMS, SQUARINGS = 10, 6
"""Of the series: exact to single precision for matrices whose entries add up to 30 in each row."""
LETTERS = tuple(MADE_FAMILY.replace("_", "'" * n + "_") for n in range(4))
"""The step, row and column of the elimination, and a row below the step."""


def regular(statements: Iterable[s.Statement], messages: Messages) -> list[s.Statement]:
    """The statements without turned and inverted matrices in brackets."""
    return _Matrices(list(statements), messages).statements()


class _Matrices:
    def __init__(self, given: list[s.Statement], messages: Messages) -> None:
        self.given = given
        self.messages = messages
        self.own = {key for statement in given for key in _introduced(statement)}
        """What the text defines or declares under its own name, `A^{-1}[i,j] = …` included."""
        self.known = {
            name_key(node.base)
            for statement in given
            for node in statement.every(s.Index)
            if isinstance(node.base, s.Name) and len(node.items) > 1
        }
        self.before = len(
            {key for key in self.own if key.startswith("inverse") and key.endswith(".1")}
        )
        """How many inverses have their equations already."""
        self.made = 0
        self.added: list[s.Statement] = []

    def statements(self) -> list[s.Statement]:
        turned = [
            statement if isinstance(statement, s.Declaration) else self.statement(statement)
            for statement in self.given
        ]
        return [*turned, *self.added]

    def statement(self, statement: s.Statement) -> s.Statement:
        if not any(self.marked(n) for n in statement.every(s.Index)):
            return statement
        if isinstance(statement, s.Equation):
            left = statement.sides[0]
            head = left if isinstance(left, s.Name | s.Index | s.Call) else self.expression(left)
            sides = (head, *map(self.expression, statement.sides[1:]))
            # Left as it is where nothing is turned: what is known of it need not be asked again.
            return statement if sides == statement.sides else replace(statement, sides=sides)
        if isinstance(statement, s.Claim):
            comparison = statement.comparison
            operands = tuple(map(self.expression, comparison.operands))
            return replace(statement, comparison=replace(comparison, operands=operands))
        return statement

    def marked(self, node: s.Index) -> bool:
        base = node.base
        if not isinstance(base, s.Transpose) and not (isinstance(base, s.Name) and base.sup):
            return False
        name, turned, inverted = self.read(base)
        return name is not None and (turned or bool(inverted))

    def expression(self, node: s.Expression) -> s.Expression:
        node = node.rebuild(self.expression)
        if not isinstance(node, s.Index):
            return node
        name, turned, inverted = self.read(node.base)
        if name is None or not (turned or inverted):
            return node
        *outer, row, column = node.items if len(node.items) > 1 else (*node.items, *node.items)
        if len(node.items) == 1:
            if turned or not inverted:
                return node
            plain = s.Index(name, node.items, span=node.span)
            return s.Fraction(s.Number("1", span=node.span), plain, span=node.span)
        if turned:
            row, column = column, row
        if not inverted:
            return s.Index(name, (*outer, row, column), span=node.span)
        below = [i for i in name.sub if isinstance(i, s.Name) and index_name(i) is not None]
        if len(below) < len(name.sub):
            self.messages.error(
                "inverse", f"the inverse of {unicode(name)} is not supported", node.span,
                hint="give the matrix a name on a line of its own, and take the inverse of that",
            )  # fmt: skip
            return s.Index(name, (*outer, row, column), span=node.span)
        made = replace(name, sup=(*name.sup, inverted))
        if name_key(made) not in self.own:
            self.own.add(name_key(made))
            self.made += 1
            letters = [_letter(item) for item in outer]
            define = _series if inverted == EXPONENTIAL else _elimination
            self.added += define(self.before + self.made, name, made, below, letters, node.span)
        return s.Index(made, (*outer, row, column), span=node.span)

    def read(self, base: s.Expression) -> tuple[s.Name | None, bool, s.Expression | None]:
        """The matrix itself, whether it is turned, and what says that its inverse or exponential is meant."""
        turned = isinstance(base, s.Transpose)
        if isinstance(base, s.Transpose):
            base = base.body.body if isinstance(base.body, s.Group) else base.body
        if not isinstance(base, s.Name):
            return None, False, None
        if name_key(base) in self.own or not base.sup:
            return base, turned, None
        last = base.sup[-1]
        without = replace(base, sup=base.sup[:-1])
        if isinstance(last, s.Name) and last == EXPONENTIAL and last.font == EXPONENTIAL.font:
            return without, turned, EXPONENTIAL
        if isinstance(last, s.Negative) and last.body == s.Number("1"):
            return without, turned, INVERSE
        if isinstance(last, s.Name) and last.bare and last.base == "-" and turned:
            return without, True, INVERSE  # `A^{-⊤}`
        letter = isinstance(last, s.Name) and last.bare and last.base == "T"
        if letter and name_key(without) in self.known | self.own:
            return without, not turned, None
        return base, turned, None


def _elimination(
    number: int,
    name: s.Name,
    inverse: s.Name,
    below: Sequence[s.Name],
    outer: Sequence[str],
    span: Span,
) -> list[s.Statement]:
    """The equations, in letters that nobody else uses; on the way are `inverse1.1` to `inverse1.5`."""
    k, i, j, r = LETTERS
    front = "".join(f"{letter}," for letter in (*map(unicode, below), *outer))
    place = f"[{''.join(f'{letter},' for letter in outer)}{i},{j}]"
    p, S, R, G, H = "pSRGH"

    def exchanged(of: str) -> str:
        old = f"{of}[{front}{k}-1"
        return (
            f"cases {{ {old},{p}[{front}{k}],{j}] if {i} = {k}, {old},{k},{j}] if {i} = {p}[{front}{k}], "
            f"{old},{i},{j}] otherwise }}"
        )

    def reduced(of: str) -> str:
        row = f"{of}[{front}{k},{k},{j}] / {S}[{front}{k},{k},{k}]"
        rest = f"{of}[{front}{k},{i},{j}] - {S}[{front}{k},{i},{k}] {row}"
        return f"cases {{ {row} if {i} = {k}, {rest} otherwise }}"

    lines = [
        f"{p}[{front}{k}] = argmax_{{{r} ≥ {k}}} |{G}[{front}{k}-1,{r},{k}]|",
        f"{S}[{front}{k},{i},{j}] = {exchanged(G)}",
        f"{R}[{front}{k},{i},{j}] = {exchanged(H)}",
        f"{G}[{front}-1,{i},{j}] = A{place}",
        f"{H}[{front}-1,{i},{j}] = [{i} = {j}]",
        f"{G}[{front}{k},{i},{j}] = {reduced(S)}",
        f"{H}[{front}{k},{i},{j}] = {reduced(R)}",
        f"X{place} = Σ_{{{k}}} [{k} = max_{{{r}}} {r}] {H}[{front}{k},{i},{j}]",
    ]
    inner = [s.Name(f"inverse{number}.{n}") for n in range(1, 6)]
    named = dict(zip("pSRGH", inner, strict=True)) | {"A": name, "X": inverse}
    return _placed(lines, named, span)


def _series(
    number: int,
    name: s.Name,
    exponential: s.Name,
    below: Sequence[s.Name],
    outer: Sequence[str],
    span: Span,
) -> list[s.Statement]:
    """The same of an exponential: 1 + B (1 + B/2 (1 + B/3 …)) of B = A / 64, and its square, six times."""
    i, j, r, _ = LETTERS
    front = "".join(f"{letter}," for letter in (*map(unicode, below), *outer))
    outside = "".join(f"{letter}," for letter in outer)
    steps = [f"E{n}" for n in range(TERMS + SQUARINGS - 1)]  # the last is the exponential itself
    lines = [f"E0[{front}{i},{j}] = [{i} = {j}] + A[{outside}{i},{j}] / {TERMS * 2**SQUARINGS}"]
    for n in range(1, len(steps)):
        before = f"E{n - 1}[{front}{r},{j}]"
        if n < TERMS:
            scaled = f"A[{outside}{i},{r}] {before} / {(TERMS - n) * 2**SQUARINGS}"
            lines.append(f"E{n}[{front}{i},{j}] = [{i} = {j}] + Σ_{{{r}}} {scaled}")
        else:
            lines.append(f"E{n}[{front}{i},{j}] = Σ_{{{r}}} E{n - 1}[{front}{i},{r}] {before}")
    lines.append(
        f"X[{outside}{i},{j}] = Σ_{{{r}}} {steps[-1]}[{front}{i},{r}] {steps[-1]}[{front}{r},{j}]"
    )
    inner = {step: s.Name(f"exponential{number}.{n}") for n, step in enumerate(steps, 1)}
    return _placed(lines, inner | {"A": name, "X": exponential}, span)


def _placed(lines: list[str], named: Mapping[str, s.Name], span: Span) -> list[s.Statement]:
    """The equations of some lines, under names that nobody else uses."""

    def placed(node: s.Expression) -> s.Expression:
        """Under its own name, and as if it stood at the inverse: nobody wrote these lines."""
        if isinstance(node, s.Index) and isinstance(node.base, s.Name):
            items = tuple(map(placed, node.items))
            return s.Index(replace(named[_spelt(node.base)], span=span), items, span=span)
        return replace(node.rebuild(placed), span=span)

    parsed = parse_text("\n".join(lines), "inverse")
    equations = [e for e in parsed.statements if isinstance(e, s.Equation)]
    return [replace(e, sides=tuple(map(placed, e.sides)), span=span) for e in equations]


def _spelt(name: s.Name) -> str:
    """`E12`, however it was taken apart."""
    return name.base + "".join(i.text for i in name.sub if isinstance(i, s.Number))


def _letter(item: s.Expression) -> str:
    """`t` for `t-1`: what the matrices of one inverse are told apart by."""
    for node in item.every(s.Name):
        if index_name(node) is not None:
            return family(node)
    return "t"


def _introduced(statement: s.Statement) -> Iterable[str]:
    heads: tuple[s.Expression, ...] = ()
    if isinstance(statement, s.Equation):
        heads = statement.sides[:1]
    elif isinstance(statement, s.Declaration):
        heads = statement.items
    for head in heads:
        head = s.head(head)
        if isinstance(head, s.Name):
            yield name_key(head)
