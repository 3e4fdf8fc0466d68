"""What a student wrote in a gap → the sheet's statement with that in its place, and nothing else.

    claim work of h = ___      2 J^2 T              the claim with another right side
                               $2J^2T$, 2J^{2}T     LaTeX reads the same
                               2 J^2 T for T < 1    refused: more than what stands in the gap

The statement is read as a whole and compared with that of the sheet: all of it must be the same but
for the gap. So an answer can neither add a condition nor define anything that is given.

An answer in vector style → the same with its indices, as the sheet writes them.

    W^{QK}[k,j_1,j_2] = ___       (W^Q)^⊤ W^K / √I       Σ_{i'} W^Q[k,i',j_1] W^K[k,i',j_2] / √I
    claim z[t_1,t_2] = ___        x_{t_1}^⊤ M x_{t_2}    Σ_{j',j''} x[t_1,j'] M[j',j''] x[t_2,j'']

The sheet tells how many indices each name has, so nothing is guessed: a name without brackets is a
number, a column or a matrix by the indices that it lacks. Subscripts are its first indices; if it lacks
more than two, the first ones are those of the left side. Two columns side by side are multiplied element
by element.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from indicial.exercises.gaps import Gap, Line
from indicial.notation import syntax as s
from indicial.notation.node import Expression
from indicial.notation.parse import parse_name, parse_text
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Source, Span
from indicial.program.ir import Code
from indicial.program.meaning.functions import FUNCTIONS


class Unfit(Exception):
    """The shapes of an answer do not go together, or it is not in vector style."""


@dataclass(frozen=True)
class Value:
    """An expression with the indices that are open in it: none, one or two."""

    body: Expression
    axes: tuple[s.Name, ...] = ()
    row: bool = False


def indexed(answer: Expression, left: Sequence[s.Name], code: Code) -> Expression | None:
    """The answer with its indices; None if no name in it lacks any, or if it does not fit."""
    for outer in (False, True):
        writer = _Writer(code, list(left), outer)
        try:
            found = writer.value(answer)
        except Unfit:
            continue
        if not writer.used:
            return None
        if len(found.axes) <= len(left):
            break
    else:
        return None
    ends = left[len(left) - len(found.axes) :]
    body = found.body
    for axis, letter in zip(found.axes, ends, strict=True):
        body = _renamed(body, axis, letter)
    return body


@dataclass
class _Writer:
    code: Code
    left: list[s.Name]
    outer_too: bool = False
    """Indices of the left side are left out as well: `G ⊙ h_{t-1}` for `G[t,j]`."""
    used: bool = False
    taken: set[s.Name] = field(default_factory=set)

    def fresh(self, letter: str) -> s.Name:
        """A new index for an axis that the sheet calls by this letter: j, j', j'', …"""
        known = parse_name(letter)
        if known is None:
            raise Unfit
        found = s.Name(known.base)
        while found in self.taken or found in self.left:
            found = replace(found, primes=found.primes + 1)
        self.taken.add(found)
        return found

    def value(self, node: Expression) -> Value:
        match node:
            case s.Name():
                return self.name(node)
            case s.Group(body=body):
                inner = self.value(body)
                return replace(inner, body=s.Group(inner.body))
            case s.Call(function=s.Name() as matrix, arguments=(argument,), given=None) if (
                name_key(matrix) in self.code.tensors
            ):
                return self.product(self.value(matrix), self.value(argument))
            case s.Transpose(
                body=s.Call(function=s.Name() as matrix, arguments=(argument,), given=None)
            ) if name_key(matrix) in self.code.tensors:  # `A (B)^⊤`
                return self.product(self.value(matrix), self.transposed(self.value(argument)))
            case s.Transpose(body=body):
                return self.transposed(self.value(body))
            case s.Negative(body=body):
                inner = self.value(body)
                return replace(inner, body=s.Negative(inner.body))
            case s.Add(terms=terms):
                return self.alike([self.value(term) for term in terms], s.Add)
            case s.Hadamard(factors=factors):
                return self.alike([self.value(factor) for factor in factors], s.Product)
            case s.Product(factors=factors):
                found = self.value(factors[0])
                for factor in factors[1:]:
                    found = self.product(found, self.value(factor))
                return found
            case s.Fraction(above=above, below=below):
                over = self.value(above)
                return replace(over, body=s.Fraction(over.body, self.number(below)))
            case s.Power(base=base, exponent=exponent):
                return Value(s.Power(self.number(base), exponent))
            case s.Call(function=s.Name() as function, arguments=(argument,), given=None) if (
                name_key(function) in FUNCTIONS
            ):
                inner = self.value(argument)
                return replace(inner, body=s.Call(function, (inner.body,)))
            case s.Reduction(operator="softmax", under=(), body=body):
                inner = self.value(body)
                if not inner.axes:
                    raise Unfit
                return replace(
                    inner, body=s.Reduction("softmax", inner.axes[-1:], None, inner.body)
                )
            case s.Reduction(body=body):
                inner = self.value(body)
                return replace(inner, body=replace(node, body=inner.body))
        return Value(node)

    def number(self, node: Expression) -> Expression:
        found = self.value(node)
        if found.axes:
            raise Unfit
        return found.body

    def name(self, node: s.Name) -> Value:
        """A tensor of the sheet with the indices that it lacks, or a name as it is."""
        key = name_key(node)
        if key in self.code.tensors and not self.code.tensors[key].axes:
            return Value(node)
        turned = bool(node.sup) and node.sup[-1:] == (s.Name("T"),) and key not in self.code.tensors
        plain = replace(node, sup=node.sup[:-1]) if turned else node
        for count in range(len(plain.sub), -1, -1):  # `G_{2,t}` is G_2 at t
            bare = replace(plain, sub=plain.sub[:count])
            tensor = self.code.tensors.get(name_key(bare))
            if tensor is None:
                continue
            given = [self.place(item) for item in plain.sub[count:]]
            lacking = len(tensor.axes) - len(given)
            if lacking < 0:
                continue
            if lacking == 2 and self.outer_too:
                first = tensor.axes[len(given)].letter
                if any(name_key(name) == first for name in self.left[:-1]):
                    given.append(self.outer(first))
                    lacking = 1
            rest = [axis.letter for axis in tensor.axes[len(given) :]]
            outer = [self.outer(letter) for letter in rest[: max(0, lacking - 2)]]
            axes = tuple(self.fresh(letter) for letter in rest[len(outer) :])
            self.used = self.used or bool(axes or outer or given)
            found = Value(s.Index(bare, (*given, *outer, *axes)) if tensor.axes else bare, axes)
            return self.transposed(found) if turned else found
        return Value(node)

    def place(self, item: Expression) -> Expression:
        """The `w_t` of `e_{w_t}` is `w[t]`."""
        if isinstance(item, s.Name) and item.sub:
            bare = replace(item, sub=())
            tensor = self.code.tensors.get(name_key(bare))
            if tensor is not None and len(tensor.axes) == len(item.sub):
                return s.Index(bare, item.sub)
        return item

    def outer(self, letter: str) -> s.Name:
        """The index of the left side that is called so."""
        found = [name for name in self.left if name_key(name) == letter]
        if not found:
            raise Unfit
        return found[0]

    def transposed(self, value: Value) -> Value:
        if len(value.axes) == 2:
            return replace(value, axes=value.axes[::-1])
        return replace(value, row=not value.row)

    def alike(
        self, values: Sequence[Value], make: Callable[[tuple[Expression, ...]], Expression]
    ) -> Value:
        """Element by element; numbers go with anything."""
        shaped = [value for value in values if value.axes]
        if not shaped:
            return Value(make(tuple(v.body for v in values)))
        axes = shaped[0].axes
        if any(len(value.axes) != len(axes) for value in shaped):
            raise Unfit
        bodies = []
        for value in values:
            body = value.body
            for mine, theirs in zip(value.axes, axes, strict=False):
                body = _renamed(body, mine, theirs)
            bodies.append(body)
        return Value(make(tuple(bodies)), axes, shaped[0].row)

    def product(self, a: Value, b: Value) -> Value:
        """A product of matrices, columns and rows."""
        if not a.axes or not b.axes:
            shaped = a if a.axes else b
            return replace(shaped, body=_times(a.body, b.body))
        columns = len(a.axes) == len(b.axes) == 1
        if columns and a.row == b.row:
            return self.alike([a, b], s.Product)
        if columns and not a.row:  # a column times a row
            return Value(_times(a.body, b.body), (*a.axes, *b.axes))
        if (len(a.axes) == 1 and not a.row) or (len(b.axes) == 1 and b.row):
            raise Unfit
        summed = a.axes[-1]
        body = s.Reduction(
            "sum", (summed,), None, _times(a.body, _renamed(b.body, b.axes[0], summed))
        )
        axes = (*a.axes[:-1], *b.axes[1:])
        return Value(s.Group(body), axes, row=len(axes) == 1 and len(a.axes) == 1)


def _times(a: Expression, b: Expression) -> Expression:
    parts = [s.Group(x) if isinstance(x, s.Add | s.Negative) else x for x in (a, b)]
    return s.Product(tuple(parts))


def _renamed(node: Expression, old: s.Name, new: Expression) -> Expression:
    """The expression with one index in the place of another."""
    if node == old:
        return new
    return node.rebuild(lambda child: _renamed(child, old, new))


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
