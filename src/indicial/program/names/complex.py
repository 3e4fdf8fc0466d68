"""Complex numbers become pairs of real ones, before anything else is decided.

    z[t] = exp(a[t] + 1i b[t])      →  z^{re}[t] = exp(a[t]) cos(b[t])
                                       z^{im}[t] = exp(a[t]) sin(b[t])
    h[t] = λ h[t-1] + x[t], λ complex →  h^{re}[t] = λ^{re} h^{re}[t-1] - λ^{im} h^{im}[t-1] + x[t], h^{im}[t] = …
    y[t] = Re(c z[t])               →  y[t] = c z^{re}[t]

The unit is written `1i` (or `1j`), or `i` where that is no index of the equation and no name of the text. What
is computed from a complex number is complex, but for `Re`, `Im`, `|z|`; parameters and inputs are real:
`C^{re}[n] + 1i C^{im}[n]` is a complex parameter. A function that has no rule here is refused with the form to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, product

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program.messages import Messages
from indicial.program.names.letters import live_letters

Parts = tuple[s.Expression, s.Expression | None]
"""The real part, and the imaginary one; None for a real number."""
ONE, ZERO = s.Number("1"), s.Number("0")
PARTS = {"Re": 0, "Im": 1, "real": 0, "imag": 1, "ℜ": 0, "ℑ": 1}
FUNCTIONS = (*PARTS, "conj")
MOST = 6
"""More complex factors than this are too many to multiply out."""
FORM = "exp(a + 1i b) is exp(a) cos(b) + 1i exp(a) sin(b), and (a + 1i b)(c + 1i d) is a c - b d + 1i (a d + b c)"


def real(
    statements: Iterable[s.Statement], messages: Messages, document: bool
) -> list[s.Statement]:
    """The statements with two real equations for each complex one; in prose an `i` may be anything."""
    given = list(statements)
    found = _Complex(given, messages, document)
    if not any(found.uses(statement) for statement in given):
        return given
    return found.statements()


class _Refused(Exception):
    def __init__(self, what: str, span: Span) -> None:
        self.what = what
        self.span = span


class _Complex:
    def __init__(self, given: list[s.Statement], messages: Messages, document: bool) -> None:
        self.given = given
        self.document = document
        self.messages = messages
        self.own = {_stem(head) for statement in given for head in _heads(statement)}
        self.complex: set[str] = set()
        self.live: frozenset[str] = frozenset()

    def uses(self, statement: s.Statement) -> bool:
        self.live = live_letters(statement)
        return any(
            (isinstance(node, s.Name) and node.base == "i" and self.is_unit(node))
            or (isinstance(node, s.Product) and any(map(self.numbered, pairwise(node.factors))))
            or self.function(node) in FUNCTIONS
            for node in s.values(statement)
        )

    # ---- what is written ----

    def is_unit(self, node: s.Expression) -> bool:
        bare = isinstance(node, s.Name) and node.bare and node.base == "i"
        return bare and not self.document and "i" not in self.live | self.own

    def numbered(self, pair: tuple[s.Expression, s.Expression]) -> bool:
        """`1i`, `2j`: a letter directly behind a number; behind another than 1 it may be an index."""
        number, letter = pair
        if not isinstance(number, s.Number) or not isinstance(letter, s.Name) or not letter.bare:
            return False
        if letter.base not in ("i", "j") or number.span.end != letter.span.start:
            return False
        return number.text == "1" or letter.base not in self.live | self.own

    def function(self, node: s.Node) -> str:
        """The name of a function of complex numbers, if the text does not define it."""
        if not isinstance(node, s.Call):
            return ""
        name = node.function
        return name.base if name.bare and name_key(name) not in self.own else ""

    # ---- statements ----

    def statements(self) -> list[s.Statement]:
        count = -1
        while count < len(self.complex):
            count = len(self.complex)
            for statement in self.given:
                if (
                    isinstance(statement, s.Equation)
                    and _stem(statement.sides[0]) not in self.complex
                ):
                    try:
                        parts = self.sides(statement)
                    except _Refused:
                        continue
                    if any(imaginary is not None for _, imaginary in parts):
                        self.complex.add(_stem(statement.sides[0]))
        result: list[s.Statement] = []
        for statement in self.given:
            try:
                result += self.statement(statement)
            except _Refused as refused:
                self.messages.error(
                    "complex", f"{refused.what} of a complex number is not supported", refused.span,
                    hint=f"write its real and imaginary part as two names: {FORM}",
                )  # fmt: skip
        return result

    def sides(self, statement: s.Equation) -> list[Parts]:
        self.live = live_letters(statement)
        return [self.split(side) for side in statement.sides[1:]]

    def statement(self, statement: s.Statement) -> list[s.Statement]:
        if isinstance(statement, s.Claim):
            self.live = live_letters(statement)
            sides = [self.split(side) for side in statement.comparison.operands]
            return [
                replace(statement, comparison=replace(statement.comparison, operands=operands))
                for operands in _told_apart(sides)
            ]
        if not isinstance(statement, s.Equation):
            return [statement]
        left, stem = statement.sides[0], _stem(statement.sides[0])
        parts = self.sides(statement)
        if stem not in self.complex:
            return [replace(statement, sides=(left, *(part for part, _ in parts)))]
        if stem in ("loss", "ℒ") or not isinstance(s.head(left), s.Name):
            raise _Refused(f"the value {unicode(left)}", left.span)
        told = f"{stem} is complex: {stem}^{{re}} and {stem}^{{im}}"
        self.messages.note("complex-pair", told, left.span)
        return [
            replace(statement, sides=(_part(left, which), *values))
            for which, values in zip(("re", "im"), _told_apart(parts, both=True), strict=True)
        ]

    # ---- expressions ----

    def plain(self, node: s.Expression) -> s.Expression:
        """An expression that must be real here."""
        value, imaginary = self.split(node)
        if imaginary is not None:
            raise _Refused(
                f"`{unicode(node)}`, which stands here as a condition or an index", node.span
            )
        return value

    def split(self, node: s.Expression) -> Parts:
        if self.is_unit(node):
            return ZERO, replace(ONE, span=node.span)
        match node:
            case s.Number():
                return node, None
            case s.Name() | s.Index():
                return self.named(node)
            case s.Group(body):
                return self.each(node, [body], lambda parts: replace(node, body=parts[0]))
            case s.Add(terms):
                return self.sum(node, [self.split(term) for term in terms])
            case s.Negative(body):
                return self.each(node, [body], lambda parts: _minus(parts[0]))
            case s.Product(factors):
                return self.times(node, self.factors(factors))
            case s.Hadamard(factors):
                return self.times(node, [self.split(f) for f in factors])
            case s.Fraction(above, below):
                return self.quotient(node, self.split(above), self.split(below))
            case s.Power(base, exponent):
                return self.power(node, self.split(base), exponent)
            case s.Reduction(operator, body=body) if operator in ("sum", "mean"):
                return self.each(node, [body], lambda parts: replace(node, body=parts[0]))
            case s.Cases(branches):
                values = [value for value, _ in branches]
                return self.each(node, values, lambda parts: _cased(node, parts))
            case s.Call():
                return self.call(node)
        changed = node.rebuild(self.plain)
        return (node if changed == node else changed), None

    def named(self, node: s.Name | s.Index) -> Parts:
        euler = isinstance(node, s.Name) and node.base == "e" and "e" not in self.own
        if isinstance(node, s.Name) and euler and len(node.sup) == 1 and not node.sub:
            inner = self.split(node.sup[0])
            return self.exponential(node, inner) if inner[1] is not None else (node, None)
        if _stem(node) in self.complex:
            return _part(node, "re"), _part(node, "im")
        return node, None

    def each(self, node: s.Expression, inner: Sequence[s.Expression], made: object) -> Parts:
        """A linear rule applied to the real and to the imaginary parts."""
        assert callable(made)
        parts = [self.split(one) for one in inner]
        if all(imaginary is None for _, imaginary in parts):
            return made([value for value, _ in parts]), None
        return made([v for v, _ in parts]), made([ZERO if i is None else i for _, i in parts])

    def sum(self, node: s.Add, parts: list[Parts]) -> Parts:
        reals = [value for value, _ in parts if value != ZERO]
        imaginary = [i for _, i in parts if i is not None and i != ZERO]
        return _added(reals, node.span), _added(imaginary, node.span) if imaginary else None

    def factors(self, factors: Sequence[s.Expression]) -> list[Parts]:
        found: list[Parts] = []
        skip = False
        for n, factor in enumerate(factors):
            if skip:
                skip = False
                continue
            if n + 1 < len(factors) and self.numbered((factor, factors[n + 1])):
                found.append((ZERO, factor))
                skip = True
            else:
                found.append(self.split(factor))
        return found

    def times(self, node: s.Product | s.Hadamard, parts: list[Parts]) -> Parts:
        """Multiplied out, so that what occurs twice in the product occurs twice in each of its terms."""
        if all(imaginary is None for _, imaginary in parts):
            return replace(node, factors=tuple(value for value, _ in parts)), None
        if sum(i is not None and v != ZERO for v, i in parts) > MOST:
            raise _Refused("a product of so many factors", node.span)
        terms: tuple[list[s.Expression], list[s.Expression]] = ([], [])
        choices = [(0,) if i is None else (1,) if v == ZERO else (0, 1) for v, i in parts]
        for chosen in product(*choices):
            chosen_parts = [part[which] for part, which in zip(parts, chosen, strict=True)]
            factors = [p for p in chosen_parts if p is not None and p != ONE]
            if ZERO in factors:
                continue
            value: s.Expression = ONE
            if factors:
                grouped = tuple(_grouped(factor) for factor in factors)
                value = grouped[0] if len(grouped) == 1 else replace(node, factors=grouped)
            power = sum(chosen)
            terms[power % 2].append(_minus(value) if power % 4 > 1 else value)
        return _added(terms[0], node.span), _added(terms[1], node.span)

    def quotient(self, node: s.Fraction, above: Parts, below: Parts) -> Parts:
        if below[1] is None:
            value = replace(node, above=above[0], below=below[0])
            return value, None if above[1] is None else replace(
                node, above=above[1], below=below[0]
            )
        size = _added([_square(below[0]), _square(below[1])], node.span)
        one = s.Product((ONE, ONE), span=node.span)
        first, second = self.times(one, [above, (below[0], _minus(below[1]))])
        assert second is not None
        return replace(node, above=first, below=size), replace(node, above=second, below=size)

    def power(self, node: s.Power, base: Parts, exponent: s.Expression) -> Parts:
        if base[1] is None:
            return replace(node, base=base[0], exponent=self.plain(exponent)), None
        if not isinstance(exponent, s.Number) or exponent.text not in ("2", "3", "4"):
            raise _Refused(f"the power `{unicode(node)}`", node.span)
        return self.times(s.Product((ONE, ONE), span=node.span), [base] * int(exponent.text))

    def exponential(self, node: s.Expression, inner: Parts) -> Parts:
        value, angle = inner
        assert angle is not None
        turned = [s.Call(s.Name(f), (angle,), span=node.span) for f in ("cos", "sin")]
        if value == ZERO:
            return turned[0], turned[1]
        grown = s.Call(s.Name("exp"), (value,), span=node.span)
        cosine, sine = (s.Product((grown, turn), span=node.span) for turn in turned)
        return cosine, sine

    def call(self, node: s.Call) -> Parts:
        name = self.function(node)
        if name in FUNCTIONS and len(node.arguments) == 1:
            value, imaginary = self.split(node.arguments[0])
            if name == "conj":
                return value, None if imaginary is None else _minus(imaginary)
            other = ZERO if imaginary is None else imaginary
            return s.Group((value, other)[PARTS[name]], span=node.span), None
        if _stem(node) in self.complex:
            return _part(node, "re"), _part(node, "im")
        parts = [self.split(argument) for argument in node.arguments]
        if all(imaginary is None for _, imaginary in parts):
            return replace(node, arguments=tuple(value for value, _ in parts)), None
        ((value, imaginary), *rest) = parts
        if rest or imaginary is None or name not in ("exp", "abs"):
            raise _Refused(f"`{unicode(node.function)}`", node.span)
        if name == "exp":
            return self.exponential(node, (value, imaginary))
        squares = _added([_square(value), _square(imaginary)], node.span)
        return s.Call(s.Name("sqrt"), (squares,), span=node.span), None


def _heads(statement: s.Statement) -> tuple[s.Expression, ...]:
    if isinstance(statement, s.Equation):
        return statement.sides[:1]
    return statement.items if isinstance(statement, s.Declaration) else ()


def _stem(node: s.Expression) -> str:
    """The name without its subscripts, which may be indices."""
    base = s.head(node)
    return name_key(replace(base, sub=())) if isinstance(base, s.Name) else ""


def _part(node: s.Expression, which: str) -> s.Expression:
    if isinstance(node, s.Index):
        return replace(node, base=_part(node.base, which))
    name = node.function if isinstance(node, s.Call) else node
    assert isinstance(name, s.Name)
    made = replace(name, sup=(*name.sup, s.Name(which, span=name.span)))
    return replace(node, function=made) if isinstance(node, s.Call) else made


def _told_apart(parts: list[Parts], both: bool = False) -> list[tuple[s.Expression, ...]]:
    """The sides of the equation of real parts, and of that of imaginary ones, if there is one."""
    found = [tuple(value for value, _ in parts)]
    if both or any(imaginary is not None for _, imaginary in parts):
        found.append(tuple(ZERO if i is None else i for _, i in parts))
        for n, sides in enumerate(
            found
        ):  # 0 of the other part, so that its indices have their sizes
            others = found[1 - n]
            found[n] = tuple(
                s.Product((ZERO, s.Group(other)), span=other.span)
                if side == ZERO != other
                else side
                for side, other in zip(sides, others, strict=True)
            )
    return found


def _added(terms: list[s.Expression], span: Span) -> s.Expression:
    if not terms:
        return ZERO
    return terms[0] if len(terms) == 1 else s.Add(tuple(terms), span=span)


def _minus(node: s.Expression) -> s.Expression:
    if node == ZERO:
        return node
    return node.body if isinstance(node, s.Negative) else s.Negative(_grouped(node), span=node.span)


def _square(node: s.Expression) -> s.Expression:
    return s.Power(s.Group(node, span=node.span), s.Number("2"), span=node.span)


def _grouped(node: s.Expression) -> s.Expression:
    return (
        s.Group(node, span=node.span) if isinstance(node, s.Add | s.Negative | s.Product) else node
    )


def _cased(node: s.Cases, values: list[s.Expression]) -> s.Expression:
    pairs = zip(values, node.branches, strict=True)
    return replace(node, branches=tuple((value, condition) for value, (_, condition) in pairs))
