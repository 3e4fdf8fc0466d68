"""What a student wrote in a gap → the sheet's statement with that in its place, and nothing else.

    claim work of h = ___      2 J^2 T              the claim with another right side
                               $2J^2T$, 2J^{2}T     LaTeX reads the same
                               2 J^2 T for T < 1    refused: more than what stands in the gap

The statement is read as a whole and compared with that of the sheet: all of it must be the same but
for the gap. So an answer can neither add a condition nor define anything that is given.

An answer in vector style → the same with its indices, as the sheet writes them.

    W^{QK}[k,j_1,j_2] = ___       (W^Q)^⊤ W^K / √I       W^Q[k,H,j_1] W^K[k,H,j_2] / √I
    claim z[t_1,t_2] = ___        x_{t_1}^⊤ M x_{t_2}    x[t_1,H] M[H,H'] x[t_2,H']

It is read as any text in vector style is (`program/vectors`). The sheet tells how many indices each name has, so
nothing is guessed. Subscripts are its first indices; if it lacks more than two, the first ones are those of the
left side.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase

from indicial.exercises.asking import Gap, Line
from indicial.notation import syntax as s
from indicial.notation.node import Expression
from indicial.notation.parse import parse_name, parse_text
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Source, Span
from indicial.program.ir import Code
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.messages import Messages
from indicial.program.vectors.conflicts import Outside
from indicial.program.vectors.unwritten import juxtaposed
from indicial.program.vectors.vectors import rewrite

ANSWER = s.Name("answer")


def indexed(answer: Expression, left: Sequence[s.Name], code: Code) -> Expression | None:
    """The answer with its indices; None if no name in it lacks any, or if it does not fit."""
    for outer in (False, True):
        known = _Known(code, list(left), outer)
        written = known.plain(answer)
        if not known.lacks:
            return None
        for count in range(min(2, len(left)) + 1):
            if (found := known.read(written, count)) is not None:
                return found
    return None


@dataclass
class _Known:
    """The tensors of a sheet as vector style knows names: a letter with the indices that are written below it."""

    code: Code
    left: list[s.Name]
    outer_too: bool = False
    """Indices of the left side are left out as well: `G ⊙ h_{t-1}` for `G[t,j]`."""
    letters: dict[str, s.Name] = field(default_factory=dict)
    """What each letter stands for."""
    others: set[str] = field(default_factory=set)
    """Names that are no tensors: numbers."""
    lacks: bool = False
    """Whether a name was without its brackets."""

    def plain(self, node: Expression) -> Expression:
        match node:
            case s.Name():
                return self._name(node)
            case s.Call(function=s.Name() as matrix, arguments=(argument,), given=None) if (
                name_key(matrix) in self.code.tensors
            ):
                return s.Product((self._name(matrix), s.Group(self.plain(argument))))
            case s.Transpose(body=s.Call(function=s.Name() as matrix, arguments=(argument,))) if (
                name_key(matrix) in self.code.tensors  # `A (B)^⊤`
            ):
                turned = s.Transpose(s.Group(self.plain(argument)))
                return s.Product((self._name(matrix), turned))
            case s.Call(function=s.Name() as function) if name_key(function) in FUNCTIONS:
                return replace(node, arguments=tuple(map(self.plain, node.arguments)))
            case (
                s.Group() | s.Transpose() | s.Negative() | s.Add() | s.Hadamard() | s.Product()
                | s.Fraction() | s.Power() | s.Reduction()
            ):  # fmt: skip
                return node.rebuild(self.plain)
        return node

    def _name(self, node: s.Name) -> Expression:
        """A tensor of the sheet by its letter, or a name as it is."""
        turned = node.sup[-1:] == (s.Name("T"),) and name_key(node) not in self.code.tensors
        node = replace(node, sup=node.sup[:-1]) if turned else node
        for count in range(len(node.sub), -1, -1):  # `G_{2,t}` is G_2 at t
            bare, given = replace(node, sub=node.sub[:count]), list(node.sub[count:])
            tensor = self.code.tensors.get(name_key(bare))
            if tensor is None or len(given) > len(tensor.axes):
                continue
            rest = [axis.letter for axis in tensor.axes[len(given) :]]
            mine = {name_key(name): name for name in self.left}
            also = self.outer_too and len(rest) == 2 and rest[0] in list(mine)[:-1]
            self.lacks = self.lacks or bool(tensor.axes)
            given += [mine[letter] for letter in rest[: 1 if also else -2] if letter in mine]
            found = s.Name(self._letter(bare), sub=tuple(given))
            return s.Transpose(found) if turned else found
        self.others.add(name_key(node))
        return node

    def _letter(self, bare: s.Name) -> str:
        """Its own, or one that is free."""
        for letter, other in self.letters.items():
            if other == bare:
                return letter
        taken = {*self.letters, *self.code.tensors, *map(name_key, self.left)} - {bare.base}
        small = (c for c in (bare.base, *ascii_lowercase) if c.islower() and c not in taken)
        letter = next(small, bare.base)
        self.letters[letter] = bare
        return letter

    def read(self, written: Expression, count: int) -> Expression | None:
        """The same in index notation, if it has so many open indices: the last of the left side."""
        first = len(self.left) - count
        ranks = dict.fromkeys([*self.code.sizes, *self.code.tensors, *self.others], 0)
        ranks |= {c: len(self.code.tensors[name_key(n)].axes) for c, n in self.letters.items()}
        ranks[ANSWER.base] = len(self.left)
        declared: list[s.Statement] = [s.Declaration("matrix", (s.Name("unseen"),))]
        for name, rank in ranks.items():
            known = parse_name(name) or s.Name(name)
            item = s.Index(known, (s.Name("i"),) * rank) if rank else known
            declared.append(s.Declaration("input", (item,)))
        target = replace(ANSWER, sub=tuple(self.left[:first]))
        given = [*declared, s.Equation((target, written), ("=",))]
        for statements in (given, juxtaposed(given, beside=True)):
            messages = Messages()
            try:
                found = rewrite(statements, messages, False, []).statements
            except Outside:
                continue
            sides = next((x.sides for x in found if isinstance(x, s.Equation)), ())
            if messages.items or len(sides) != 2:
                continue
            ends = sides[0].items[first:] if isinstance(sides[0], s.Index) else ()
            fits = len(ends) == count and all(_alike(x, ends) for x in sides[1].every(s.Hadamard))
            if fits:
                return self._restored(sides[1], dict(zip(ends, self.left[first:], strict=True)))
        return None

    def _restored(self, node: Expression, ends: Mapping[Expression, s.Name]) -> Expression:
        """The names of the sheet again, and the indices of the left side."""
        if node in ends:
            return ends[node]
        if isinstance(node, s.Name) and node.base in self.letters and not (node.sup or node.primes):
            bare = self.letters[node.base]
            items = tuple(self._restored(item, ends) for item in node.sub)
            return s.Index(bare, items) if items else bare
        made = node.rebuild(lambda child: self._restored(child, ends))
        return s.Product(made.factors) if isinstance(made, s.Hadamard) else made


def _alike(product: s.Hadamard, ends: Sequence[Expression]) -> bool:
    """Whether its factors have the same open indices, or none."""
    each = [{end for end in ends if end in factor.walk()} for factor in product.factors]
    return len({frozenset(one) for one in each if one}) < 2


def free_letters(node: Expression, code: Code) -> list[s.Name]:
    """The indices that stand in brackets, in their order, without those that are summed."""
    found: dict[s.Name, None] = {}
    for part in node.every(s.Index):
        for item in part.items:
            if (
                isinstance(item, s.Name)
                and item.base[:1].islower()
                and name_key(item) not in code.tensors
            ):
                found.setdefault(item)
    return list(found)


LONGEST = 4_000
"""Signs of an answer that are read."""
HOLE = s.Name("gap")
TRUE = {"true", "holds", "yes", "right", "correct", "wahr", "t"}
FALSE = {"false", "fails", "no", "wrong", "f", "not", "does not hold", "doesn't hold"}
_DOLLARS = re.compile(r"^(?:\$\$|\$|\\\(|\\\[)(.*?)(?:\$\$|\$|\\\)|\\\])$", re.DOTALL)

_TEXT = re.compile(r"\\(?:text|mathrm|textrm)\{([^{}]*)\}")


class Unread(Exception):
    """Why an answer does not read, in words for the one who wrote it."""


@dataclass(frozen=True)
class Read:
    """An answer that reads: the statement that it makes."""

    statement: s.Statement
    answer: s.Expression
    source: Source


def cleaned(text: str) -> str:
    """An answer without the dollars around it, on one line, without signs that nobody sees."""
    seen = "".join(
        sign if sign.isspace() or unicodedata.category(sign)[0] != "C" else "" for sign in text
    )
    seen = " ".join(seen.split()).strip("`").strip()
    while (found := _DOLLARS.match(seen)) is not None:
        seen = found[1].strip()
    return seen.strip()


def verdict_word(text: str) -> str | None:
    """`true` or `false` in any of their spellings."""
    word = _TEXT.sub(r"\1", text).strip(" .:*_$").lower()
    return "true" if word in TRUE else "false" if word in FALSE else None


def read_answer(gap: Gap, line: Line, text: str, code: Code | None = None) -> Read:
    """The sheet's statement with an answer in its gap; with `code`, in vector style too."""
    short = cleaned(text)
    if not short:
        raise Unread("there is nothing in it that can be read")
    if len(short) > LONGEST:
        raise Unread(f"it has {len(short):,} signs; {LONGEST:,} is the limit")
    bare = _TEXT.sub(r"\1", short)
    if "\\" not in bare:  # `3 \text{parameters of } h`
        short = bare
    if "\\" in short or re.search(r"[\^_]\{[^{}]*\s[^{}]*\}", short):
        short = _from_latex(short, code)
    if code is not None and gap.kind != "constant":
        short = _with_indices(short, gap, code)
    number = line.gaps.index(gap)
    around = (
        "".join(_around(line, number, before=True)),
        "".join(_around(line, number, before=False)),
    )
    source = Source("answer", f"{around[0]}{short}{around[1]}")
    begins = len(around[0])
    parsed = parse_text(source.text, source.name)
    if parsed.faults:
        fault = parsed.faults[0]
        raise Unread(_told(short, fault.spans[0].start - begins, fault.message, fault.hint))
    if parsed.skipped or len(parsed.statements) != 1:
        raise Unread(f"`{short}` is more than what stands in the place of the gap")
    statement = parsed.statements[0]
    answer, rest = taken(statement, gap)
    known, same = taken(gap.statement, gap)
    if answer is None or known is None or _without(rest) != _without(same):
        raise Unread(
            f"`{short}` is more than what stands in the place of the gap: what is around it stays as "
            "it is"
        )
    return Read(_own(statement, source), answer, source)


def _around(line: Line, number: int, before: bool) -> Sequence[str]:
    """What stands on one side of a gap, other gaps as the sheet answers them."""
    parts = [part for pair in zip(line.around, (*line.gaps, None), strict=True) for part in pair]
    texts = [part.key if isinstance(part, Gap) else part or "" for part in parts]
    at = 2 * number + 1
    return texts[:at] if before else texts[at + 1 :]


def _from_latex(text: str, code: Code | None) -> str:
    """An expression of LaTeX in the plain notation; as it is where that does not read.

    A word is a product of letters there, but students write `Key` for what the sheet calls so.
    """
    for name in code.tensors if code is not None else ():
        if re.fullmatch(r"[A-Za-z]{2,}", name):
            text = re.sub(rf"(?<![\\A-Za-z{{]){name}(?![A-Za-z}}])", rf"\\text{{{name}}}", text)
    parsed = parse_text(f"q = {text}", "answer", latex=True)
    if parsed.faults or parsed.skipped or len(parsed.statements) != 1:
        return text
    statement = parsed.statements[0]
    if not isinstance(statement, s.Equation) or len(statement.sides) != 2 or statement.guard:
        return text
    return unicode(statement.sides[1])


def with_hole(statement: s.Statement, gap: Gap, hole: s.Name) -> s.Statement:
    """The statement with a name in the place of the gap."""
    return taken(statement, gap, hole)[1] or statement


def _with_indices(text: str, gap: Gap, code: Code) -> str:
    """An answer in vector style with the indices of the sheet; any other as it is."""
    parsed = parse_text(f"q = {text}", "answer")
    if (
        parsed.faults
        or len(parsed.statements) != 1
        or not isinstance(parsed.statements[0], s.Equation)
    ):
        return text
    rest = taken(gap.statement, gap)[1]
    other: s.Expression | None = None
    if isinstance(rest, s.Equation):
        other = rest.sides[0]
    elif isinstance(rest, s.Claim):
        other = rest.comparison.operands[1 if gap.side == 0 else gap.side - 1]
    sides = parsed.statements[0].sides
    if other is None or len(sides) != 2:
        return text
    found = indexed(sides[1], free_letters(other, code), code)
    return text if found is None else unicode(found)


def taken(
    statement: s.Statement | None, gap: Gap, hole: s.Name = HOLE
) -> tuple[s.Expression | None, s.Statement | None]:
    """What stands in the gap of a statement, and the statement with a hole there."""
    match statement, gap.kind:
        case s.Claim(comparison=comparison), "value" | "bound":
            operands = list(comparison.operands)
            if gap.side >= len(operands):
                return None, statement
            answer, operands[gap.side] = operands[gap.side], hole
            return answer, replace(
                statement, comparison=replace(comparison, operands=tuple(operands))
            )
        case s.Equation(sides=sides), "definition":
            found = sides[-1] if len(sides) == 2 else sides[1]
            return found, replace(statement, sides=(sides[0], hole), relations=("=",))
        case s.Declaration(value=value), "constant":
            return value, replace(statement, value=hole)
    return None, statement


def _without(statement: s.Statement | None) -> s.Statement | None:
    """Labels take no part in what a statement says."""
    return replace(statement, label="") if isinstance(statement, s.Equation) else statement


def _own(statement: s.Statement, source: Source) -> s.Statement:
    """The statement with a span in the answer, by which it is known."""
    return replace(statement, span=Span(source, 0, len(source.text)))


def _told(text: str, at: int, message: str, hint: str) -> str:
    """A fault with a caret below the place, where that is inside the answer."""
    said = f"it does not read: {message}" + (f" ({hint})" if hint else "")
    if not 0 <= at <= len(text) or len(text) > 72:
        return said
    return f"{said}\n  {text}\n  {' ' * at}^"


def definitions(texts: Sequence[str], known: set[str]) -> tuple[list[s.Statement], list[str]]:
    """The lines that students add: new names are defined; names of the sheet are left alone, and told."""
    kept: list[s.Statement] = []
    refused: list[str] = []
    for text in texts:
        short = cleaned(text)
        if not short or len(short) > LONGEST:
            continue
        latex = "\\" in short
        for statement in parse_text(short, "answer", latex).statements:
            if not isinstance(statement, s.Equation) or statement.relations != ("=",):
                continue
            name = _name(statement.sides[0])
            if name is None:
                continue
            if name in known:
                refused.append(
                    f"{name} is given by the sheet: your line `{short[:60]}` is not used"
                )
            else:
                kept.append(_own(statement, Source("answer", short)))
    return kept, refused


def _name(node: s.Expression) -> str | None:
    while isinstance(node, s.Index | s.Call):
        node = node.base if isinstance(node, s.Index) else node.function
    return name_key(node) if isinstance(node, s.Name) else None
