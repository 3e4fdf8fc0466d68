"""One row → its statements: a declaration, a claim, or equations with their labels and guards.

input w[t] in V, x[t,k]                two declarations
claim a ≈ b within 0.01 for t > 0      a claim
claim false: a = b                     a claim that does not hold, and says so
Sum: c = a + b, d = c for t > 0        two equations, the first with a label, the second a guard
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.claims import ClaimParser
from indicial.notation.expressions import FUNCTION_NAMES, ExpressionParser
from indicial.notation.faults import GAP, Refusal, Skipped
from indicial.notation.literals import numbers
from indicial.notation.lookahead import (
    begins_guard,
    is_relation,
    label_end,
    label_text,
    next_is_equation,
    no_equation,
    numbered,
    ranges,
    side_by_side,
    strip,
    top_level,
    with_spaces_told,
    without_frame,
    without_idle_spaces,
    without_number,
    without_words,
)
from indicial.notation.names import stretch
from indicial.notation.reasoning import clauses
from indicial.notation.rows import Row
from indicial.notation.separators import with_commas, with_joins, with_separators
from indicial.notation.signs import EQUATION_SIGNS
from indicial.notation.source import Span, cover
from indicial.notation.tokens import Token, is_sign
from indicial.notation.vocabulary import KEYWORDS, REDUCTIONS, SPACE

_NAME_STARTS = frozenset({"letter", "word", "text"})
_CONNECTIVES = frozenset({"with", "so", "then", "thus", "hence", "while", "where", "such that"})
"""Words of `\\text` between two equations of a row."""
_SPELT = {"in": "∈", "notin": "∉"}
_LETTERS = {
    **{word: word[0] for word in ("key", "keys", "value", "values", "query", "queries")},
    **{word: word[0] for word in ("weight", "weights", "bias")},
    **dict.fromkeys(("input", "inputs"), "x"),
    **dict.fromkeys(("target", "targets"), "y"),
}
_NO_LABEL = frozenset(REDUCTIONS) | FUNCTION_NAMES


class RowParser:
    """One row: a declaration, a claim, or equations with their labels and guards."""

    def __init__(self, row: Row, latex: bool, claims: bool = False) -> None:
        self.latex = latex
        self.all_claims = claims
        self.tokens = [
            replace(t, kind="quad") if t.kind == "text" and t.text in _CONNECTIVES else t
            for t in row.tokens
            if t.kind != "newline"
        ]
        self.statements: list[s.Statement] = []
        self.skipped: list[Skipped] = []

    def run(self) -> None:
        tokens = self.tokens
        strip(tokens)
        if self.latex:
            tokens = self.tokens = without_frame(without_number(without_words(tokens)))
            strip(tokens)
            tokens = self.tokens = with_spaces_told(tokens)
        if all(is_sign(token, "…&") for token in tokens):
            return  # nothing, or `\\vdots` between two rows
        self.refuse_gap()
        tokens = self.tokens = with_commas(with_separators(with_joins(tokens), self.latex))
        reason = no_equation(tokens)
        if reason:
            where = cover(t.span for t in self.tokens)
            self.skipped.append(Skipped(where, reason, clauses(self.tokens, self.latex)))
            return
        self.drop_loop_header()
        self.split_claim_words()
        tokens = self.tokens
        first = tokens[0].text
        named = len(tokens) > 1 and tokens[0].kind in ("word", "text")
        if self.all_claims and not any(map(is_relation, top_level(self.tokens))):
            self.skip("it states no equation")
        elif self.all_claims or (named and first == "claim" and self.claims()):
            self.claim()
        elif named and first == "plot" and tokens[1].text == "of" and len(tokens) > 2:
            self.plot()
        elif named and first in KEYWORDS and self.declares():
            self.declaration(first)
        else:
            self.equations()

    def refuse_gap(self) -> None:
        """`claim work = ___`: a handout, not filled in yet."""
        if self.latex:
            return
        for first, second, third in zip(
            self.tokens, self.tokens[1:], self.tokens[2:], strict=False
        ):
            if first.text == second.text == third.text == "_":
                raise Refusal(GAP, "there is a gap here", (first.span.to(third.span),),
                              "write the answer in the place of `___`")  # fmt: skip

    def drop_loop_header(self) -> None:
        """`for j, i: h[j] += …`: an equation holds for all its indices anyway."""
        tokens = self.tokens
        if is_sign(tokens[0], "∀"):
            ends = [t for t in top_level(tokens) if is_sign(t, ",:") or t.kind == "quad"]
            rest = tokens[tokens.index(ends[0]) + 1 :] if ends else []
            if any(map(is_relation, top_level(rest))):
                self.tokens = [*rest, *tokens[: tokens.index(ends[0])]]
            return
        if tokens[0].text != "for" or tokens[0].kind not in ("key", "text", "word"):
            return
        end = 1
        while end + 1 < len(tokens) and tokens[end].kind in ("letter", "word"):
            end += 1
            while end + 1 < len(tokens) and (
                is_sign(tokens[end], "_'") or is_sign(tokens[end - 1], "_")
            ):
                end += 1
            if not is_sign(tokens[end], ","):
                break
            end += 1
        if end < len(tokens) and (tokens[end].kind == "quad" or is_sign(tokens[end], ":")):
            end += 1
        if 1 < end < len(tokens) and not is_relation(tokens[end]):
            self.tokens = tokens[end:]

    def split_claim_words(self) -> None:
        """`\\text{claim std of } x`: one token for each word."""
        first = self.tokens[0]
        if first.kind == "text" and (self.all_claims or first.text.startswith("claim ")):
            words = first.text.split()
            self.tokens[:1] = [Token("text", word, first.span, first.space) for word in words]

    def skip(self, reason: str) -> None:
        self.skipped.append(Skipped(cover(t.span for t in self.tokens), reason))

    # ---------------------------------------------------------------- declarations, claims

    def declares(self) -> bool:
        """`size J = 2`, but not `size = 2`; in LaTeX `\\text{input } x = …` is a label, and
        `\\text{parameter } a[v] = 0` says what it begins with."""
        second = self.tokens[1]
        if second.kind not in (*_NAME_STARTS, "command", "sigma"):
            return False
        if self.latex and self.tokens[0].text not in ("constant", "size", "range"):
            begins = is_sign(self.tokens[-2], "=") and self.tokens[-1].kind == "number"
            return "=" not in {t.text for t in self.tokens} or (
                begins and self.tokens[0].text == "parameter"
            )
        return True

    def claims(self) -> bool:
        """`claim (a) = b` claims; `claim = 2`, `claim[t] = 2` define something of that name."""
        second = self.tokens[1]
        tensor = is_sign(second, "[(") and not second.space and self.tokens[0].kind == "word"
        return not tensor and not is_sign(second, "_^'") and not is_relation(second)

    def declaration(self, keyword: str) -> None:
        parser = ExpressionParser(self.tokens, self.latex)
        parser.i = 1
        start = parser.peek()
        items: list[s.Expression] = []
        while True:
            items.append(parser.factor())
            if not isinstance(items[-1], s.Name | s.Index | s.Call):
                raise Refusal("declaration", "only a name can be declared",
                              (items[-1].span,))  # fmt: skip
            domain = value = None
            relation = parser.relation()
            if relation == "∈":
                domain = parser.interval()
                relation = parser.relation()
            if relation == "=":
                value = parser.expression(conditions=False)
            elif relation is not None:
                raise parser.unexpected(parser.tokens[parser.i - 1], "`=` or `in`")
            if domain or value or parser.done():
                span = parser.since(start)
                self.statements.append(
                    s.Declaration(keyword, tuple(items), domain, value, span=span)
                )
                items = []
            if parser.done():
                return
            parser.expect(",")
            start = start if items else parser.peek()

    def claim(self) -> None:
        self.tokens = [token for token in self.tokens if token.kind != "quad"]
        parser = ClaimParser(self.tokens, self.latex)
        false, comparison, tolerance = parser.stated()
        if not parser.done() and not begins_guard(parser.peek()):
            raise parser.unexpected(parser.peek(), "`within`, `for` or the end of the claim")
        guard = self.guard(parser)
        span = parser.since(self.tokens[0])
        self.statements.append(s.Claim(comparison, tolerance, guard, false, span=span))

    def plot(self) -> None:
        """`plot of α[a]`."""
        parser = ExpressionParser(self.tokens, self.latex)
        parser.i = 2
        shown = parser.expression(conditions=False)
        if not parser.done():
            raise parser.unexpected(parser.peek(), "the end of what is plotted")
        span = parser.since(self.tokens[0])
        self.statements.append(s.Claim(s.Comparison((shown,), (), span=shown.span), span=span))

    # ---------------------------------------------------------------- equations

    def equations(self) -> None:
        label = self.take_label()
        self.tokens = side_by_side(without_idle_spaces(self.tokens))
        relations = {_SPELT.get(t.text, t.text) for t in top_level(self.tokens) if is_relation(t)}
        if not relations:
            if not self.listed(label) and not self.described():
                self.skip("it states no equation")
        elif not relations & EQUATION_SIGNS:
            if "∈" not in relations or not self.spaces():
                self.skip("it states a range" if "∈" in relations else "it is an inequality")
        else:
            parser = ExpressionParser(self.tokens, self.latex)
            while not parser.done():
                self.equation(parser, label)
                label = ""

    def described(self) -> bool:
        r"""`W^u, W^f \quad \text{Recurrent weights}`: names, and words about them; nothing is lost with them."""
        words = next((i for i, t in enumerate(self.tokens) if t.kind == "text"), 0)
        named = (t.kind in _NAME_STARTS or is_sign(t, "_^{},'") for t in self.tokens[:words])
        listed = any(is_sign(t, ",") for t in top_level(self.tokens[:words]))
        return self.latex and listed and all(named)

    def listed(self, label: str) -> bool:
        """`Keys: {[1, 2], [0, 3]}`: numbers behind a word that everyone has a letter for are its values."""
        letter = _LETTERS.get("".join(label.lower().split()[-1:]))
        if letter is None:
            return False
        parser = ExpressionParser(self.tokens, self.latex)
        try:
            values = parser.factor()
            numbers(values)
        except (Refusal, TypeError):
            return False
        if not parser.done() or not isinstance(values, s.ListLiteral):
            return False
        name = s.Name(letter, span=values.span)
        self.statements.append(s.Equation((name, values), ("=",), None, label, span=values.span))
        return True

    def spaces(self) -> bool:
        """`W ∈ ℝ^{m×n}, x and y ∈ ℝ^n`: what the names are; False if it says something else."""
        parser = ExpressionParser(self.tokens, self.latex)
        found: list[s.Statement] = []
        items: list[s.Expression] = []
        start = parser.peek()
        try:
            while not parser.done():
                items.append(parser.factor())
                if parser.relation() == "∈":
                    domain = parser.sum()
                    if not is_space(domain):
                        return False
                    span = parser.since(start)
                    found.append(s.Declaration(SPACE, tuple(items), domain, span=span))
                    items = []
                while not parser.done() and (is_sign(parser.peek(), ",;.") or _joins(parser)):
                    parser.i += 1
        except Refusal:
            return False
        self.statements += found
        return bool(found) and not items

    def take_label(self) -> str:
        """A text before the left side: `Attention: α[…] = …`, `\\text{Attention } α[…] = …`."""
        colon = label_end(self.tokens)
        if colon is not None:
            label = label_text(self.tokens[:colon])
            del self.tokens[: colon + 1]
            return label
        first, second = self.tokens[0], self.tokens[1:2]
        if first.kind == "text" and first.text not in _NO_LABEL and second:
            starts = second[0].kind in ("letter", "word", "text", "command", "sigma", "quad")
            if starts or (" " in first.text and not is_relation(second[0])):
                del self.tokens[0]
                return first.text
        return ""

    def equation(self, parser: ExpressionParser, label: str) -> None:
        start = parser.peek()
        sides: list[s.Expression] = []
        relations: list[str] = []
        if is_relation(start):
            sides.append(s.Dots(span=Span(start.span.source, start.span.start, start.span.start)))
        else:
            sides.append(parser.expression(conditions=False))
        while (relation := parser.relation()) is not None:
            sign = parser.tokens[parser.i - 1]
            relations.append(relation)
            if parser.done() or is_relation(parser.peek()):
                raise Refusal("syntax", f"nothing follows `{sign.text}`", (sign.span,))
            sides.append(parser.expression(conditions=False))
        span = parser.since(start)
        guard = self.guard(parser)
        if parser.left_open:
            sides, relations = _without_places(sides, relations)
        stretches = {"<", "≤", ":"} & {token.text for token in self.tokens}
        for name in s.every(sides, s.Name) if stretches else ():
            if stretch(name) is not None:
                text = f"{name.span.text} stands for many steps at once"
                raise Refusal("syntax", text, (name.span,), skip=True)
        if not relations:
            raise Refusal("syntax", "this part has no relation", (span,),
                          "a comma outside brackets separates equations")  # fmt: skip
        if "∈" in relations[1:] and is_space(sides[relations.index("∈") + 1]):
            end = relations.index("∈")  # `H = φ(X W) ∈ ℝ^{n×h}` also says what H is
            self.statements.append(s.Declaration(SPACE, (sides[0],), sides[end + 1], span=span))
            sides, relations = sides[: end + 1], relations[:end]
        elif "∈" in relations[1:] and _is_range(sides[-1]) and self.latex:
            sides, relations = sides[:-1], relations[:-1]  # `c = tanh(x) ∈ [-1, 1]^2`
        elif relations == ["∈"] and _is_range(sides[-1]) and self.statements and self.latex:
            return  # `v = W h, \\quad v ∈ [0, 1]`
        if self.latex and relations[-1] == "~" and "=" in relations:
            # `y = a x \\;\\; x \\sim N(0, 1)`: what is drawn stands behind the equation, after a small space.
            before, drawn = _last_factor(sides[-2])
            if before is not None:
                self.statements.append(s.Equation((drawn, sides[-1]), ("~",), span=span))
                sides, relations = [*sides[:-2], before], relations[:-1]
        if set(relations) <= EQUATION_SIGNS:
            sides_, relations_ = tuple(sides), tuple(relations)
            self.statements.append(s.Equation(sides_, relations_, guard, label, span=span))
        else:
            reason = "it states a range" if "∈" in relations else "it is an inequality"
            self.skipped.append(Skipped(span, reason))

    def guard(self, parser: ExpressionParser) -> s.Expression | None:
        """The condition behind an equation; stands at the next equation or the end afterwards."""
        separated = False
        offers: Token | None = None
        while is_sign(parser.peek(), ",;") or parser.peek().kind == "quad" or _joins(parser):
            separated = True
            offers = parser.peek() if _joins(parser) else offers
            parser.i += 1
        if parser.done():
            return None
        token = parser.peek()
        word = begins_guard(token)
        if (
            offers
            and offers.text == "or"
            and not word
            and not next_is_equation(parser.tokens, parser.i)
        ):
            text = "it leaves a choice"  # `f = σ(a) or exp(a)`
            raise Refusal("syntax", text, (offers.span,), skip=True)
        if not word and not separated:
            raise parser.unexpected(token, "an operator, a relation or the end")
        if word and token.text == "where":
            behind = parser.i + 1
            while parser.tokens[behind].kind == "quad":
                behind += 1
            if next_is_equation(parser.tokens, behind):
                parser.i = behind
                return None
        if not word and next_is_equation(parser.tokens, parser.i):
            return None
        while (begins_guard(parser.peek()) or parser.peek().kind == "quad") and not parser.done():
            parser.i += 1
        if is_sign(token, "∀") and ranges(parser.tokens[parser.i + 1 :]):
            parser.i += 1  # `∀ c  1 ≤ c ≤ A`
        if numbered(parser.tokens[parser.i :]):
            parser.i = len(parser.tokens) - 1  # all that it can be
            return None
        if self.latex and parser.done():
            return None  # `…, where` at the end of a row: it goes on in the next
        condition = parser.condition(commas=True)
        if self.latex and is_sign(token, "∀") and is_sign(parser.peek(), ":"):
            parser.i = len(parser.tokens) - 1  # `∀ i: 0 ≤ w_i ≤ 1` is said of what is computed
        if parser.peek().text == "where" and next_is_equation(parser.tokens, parser.i + 1):
            parser.i += 1
        elif not parser.done():
            raise parser.unexpected(parser.peek(), "the end of the condition")
        parts = condition.parts if isinstance(condition, s.Conjunction) else (condition,)
        # `∀ i` on its own restricts nothing.
        kept: list[s.Expression] = []
        for part in parts:
            if not self.said(part, kept):
                kept.append(part)
        real = tuple(part for part in kept if s.is_condition(part))
        if not word and not real and kept:
            raise Refusal("syntax", "this part has no relation", (condition.span,),
                          "a comma outside brackets separates equations")  # fmt: skip
        if len(real) < 2:
            return real[0] if real else None
        return s.Conjunction(real, span=condition.span)

    def said(self, part: s.Expression, before: list[s.Expression]) -> bool:
        """`…, where W, U ∈ ℝ^{m×n}`: no condition, but what U is, and the W that stands before it."""
        if not isinstance(part, s.Comparison) or part.operators != ("∈",):
            return False
        name, domain = part.operands
        if not is_space(domain):
            return False
        names = [name]
        while before and isinstance(before[-1], s.Name):
            names.append(before.pop())
        self.statements.append(s.Declaration(SPACE, tuple(names), domain, span=part.span))
        return True


def _without_places(
    sides: list[s.Expression], relations: list[str]
) -> tuple[list[s.Expression], list[str]]:
    r"""`α_m = softmax_m(k_\bullet^⊤ q) = …` without the side that leaves a place open."""
    kept = [i for i, side in enumerate(sides) if s.Name("•") not in side.every(s.Name)]
    if len(kept) < 2 or kept[0]:
        raise Refusal(
            "syntax", "it leaves a place open", (cover(x.span for x in sides),), skip=True
        )
    return [sides[i] for i in kept], [relations[i - 1] for i in kept[1:]]


def is_space(node: s.Expression) -> bool:
    """`ℝ`, `ℝ^d`, `R^{m×n}`."""
    return isinstance(node, s.Name) and (node.base == "ℝ" or (node.base == "R" and bool(node.sup)))


def _is_range(node: s.Expression) -> bool:
    """`[-1, 1]^2`, `(0, 1)`, `\\{0, 1\\}^n`: between what numbers something lies."""
    inside = node.base if isinstance(node, s.Power) else node
    items = (
        inside.items if isinstance(inside, s.ListLiteral | s.TupleLiteral | s.SetLiteral) else ()
    )
    numbers_ = [item.body if isinstance(item, s.Negative) else item for item in items]
    return len(items) == 2 and all(isinstance(item, s.Number) for item in numbers_)


def _last_factor(side: s.Expression) -> tuple[s.Expression | None, s.Expression]:
    """`a + b x` → `a + b` and `x`, the last factor; None if there is but one."""
    if isinstance(side, s.Add):
        before, last = _last_factor(side.terms[-1])
        return before and replace(side, terms=(*side.terms[:-1], before)), last
    if not isinstance(side, s.Product):
        return None, side
    *factors, last = side.factors
    return (factors[0] if len(factors) == 1 else replace(side, factors=tuple(factors))), last


def _joins(parser: ExpressionParser) -> bool:
    return parser.peek().kind == "key" and parser.peek().text in ("and", "or")
