r"""Formulas that argue (⇒, ≫, ≈) and contradict themselves, or what the text says before → faults.

    k_a^⊤ q_1 ≫ k_i^⊤ q ⇒ q_1 = M k_a                  the q in the middle is q_1
    k_a^⊤ q ≫ k_i^⊤ q for i ∉ {a, b}                   b is left out, and nothing is said of it
    f(q_2) \xrightarrow{q_i = Q x_i} f(Q x_3)           not what is put in
    k ~ N(μ, μ μ^⊤) ⇒ k ~ N(1, 1/2)                    a vector that is drawn as a number
    α_a ≈ ε_a μ_a^⊤ q ≈ ε M                            ε_a has become ε

None of them is read as an equation; the rules look at their letters, and are silent where these do not decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.macros import Braces
from indicial.notation.markup import Display
from indicial.notation.parse import parse_text
from indicial.notation.source import Source, Span

DISPLAYED = ("display", "cell", "said")
"""The kinds of formulas that do not stand inside a sentence."""


_SHOWN = re.compile(r"[^\n]")


@dataclass(frozen=True)
class Prose:
    """A text, its formulas in order, and the words around them."""

    source: Source
    formulas: Sequence[Display]

    @cached_property
    def words(self) -> str:
        """The text with blanks in the place of formulas, so that offsets stay."""
        text = list(self.source.text)
        for formula in self.formulas:
            start, end = formula.span.start, formula.span.end
            text[start:end] = _SHOWN.sub(" ", self.source.text[start:end])
        return "".join(text)

    def texts(self, *kinds: str) -> Iterator[tuple[Display, str]]:
        """The formulas with what stands in them; only those of some kinds, if any are named."""
        return ((f, f.body.text) for f in self.formulas if not kinds or f.kind in kinds)

    def span(self, formula: Display, match: re.Match[str], group: int = 0, behind: int = 0) -> Span:
        """The place of a match in the text of a formula, or in what stands `behind` a place of it."""
        start = formula.body.start + behind
        return Span(self.source, start + match.start(group), start + match.end(group))


_ARROWS = re.compile(r"\\Rightarrow|\\implies|⇒|\\xrightarrow\s*\{")
_FAR = re.compile(r"\\ggg?\b|≫|⋙")


def unnumbered(prose: Prose) -> Iterator[Fault]:
    """`k_a^⊤ q_1 ≫ k_i^⊤ q ⇒ q_1 = M k_a`: the q in the middle is q_1."""
    for formula, text in prose.texts():
        pieces = re.split(r"\\Rightarrow|\\implies|⇒", text)
        for number, piece in enumerate(pieces[:-1]):
            sides = _FAR.split(piece)
            if len(sides) != 2:
                continue
            for name, digit in re.findall(r"(?<![A-Za-z\\])([a-z])_\{?(\d)\}?", sides[0]):
                bare = rf"(?<![A-Za-z\\_{{]){name}(?![A-Za-z_\[({{^'])"
                defined = re.match(rf"\s*{name}_\{{?{digit}\}}?\s*=", pieces[number + 1])
                found = list(re.finditer(bare, text))
                if defined and len(found) == 1 and re.search(bare, sides[1]):
                    yield warned(
                        "unnumbered", f"{name}_{digit} is compared and found, and here stands {name}",
                        prose.span(formula, found[0]), write=f"{name}_{digit}",
                    )  # fmt: skip


_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z]|\d+|[^\s{}\\]")
_IDLE = frozenset({r"\left", r"\right", r"\quad", r"\ "})


def _tokens(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if token not in _IDLE]


def substitution(prose: Prose) -> Iterator[Fault]:
    r"""`\xrightarrow{q_i = Q x_i}`: what stands behind the arrow is what stood before it, with q_i put in."""
    before = ""
    for formula, text in prose.texts(*DISPLAYED):
        start = 0
        while (arrow := text.find(r"\xrightarrow{", start)) >= 0:
            inside = arrow + len(r"\xrightarrow{")
            end = Braces(text).closing(inside - 1) or len(text)
            old = re.split(r"\\Rightarrow|⇒", text[start:arrow])[-1]
            rest = re.split(r"\\Rightarrow|⇒|\\xrightarrow", text[end + 1 :])[0]
            new = _put_in(_tokens(old if old.strip() else before), _tokens(text[inside:end]))
            found = _tokens(rest)
            differing = [n for n, (a, b) in enumerate(zip(new, found, strict=False)) if a != b]
            if len(new) == len(found) and len(differing) == 1:
                at = formula.body.start + end + 1
                at += len(rest) - len(rest.lstrip())
                yield warned(
                    "substitution", f"put in, {text[inside:end].strip()} gives {new[differing[0]]} where "
                    f"{found[differing[0]]} stands ({_around(found, differing[0])})",
                    Span(prose.source, at, at + len(rest.strip())),
                    hint=f"should it be {_around(new, differing[0])}?",
                )  # fmt: skip
            start = end + 1
        before = re.split(r"\\Rightarrow|⇒", text[start:])[-1]


def _put_in(tokens: list[str], rule: list[str]) -> list[str]:
    """The tokens with `q_2` replaced as `q_i = Q x_i` says; nothing if that is no such rule."""
    relation = next((n for n, t in enumerate(rule) if t in ("=", r"\approx")), 0)
    left, right = rule[:relation], rule[relation + 1 :]
    if len(left) != 3 or left[1] != "_" or not left[2].isalpha() or left[2] not in right:
        return []
    result: list[str] = []
    used = False
    n = 0
    while n < len(tokens):
        if tokens[n] == left[0] and tokens[n + 1 : n + 2] == ["_"] and n + 2 < len(tokens):
            result += [tokens[n + 2] if token == left[2] else token for token in right]
            used, n = True, n + 3
        else:
            result.append(tokens[n])
            n += 1
    return result if used else []


def _around(tokens: list[str], place: int) -> str:
    start = place
    while start > 0 and tokens[start - 1] in ("_", "^"):
        start -= 2
    return "".join(tokens[max(0, start) : place + 1])


SHAPES = {
    ("row", "column"): "number",
    ("column", "row"): "matrix",
    ("matrix", "column"): "column",
    ("row", "matrix"): "row",
    ("matrix", "matrix"): "matrix",
}


def rows_and_columns(prose: Prose) -> Iterator[Fault]:
    """`⇒ u^⊤ (u v^⊤) v^⊤ ≫ …`: a row, a matrix and a row are no product."""
    for formula, text in prose.texts(*DISPLAYED):
        if not _FAR.search(text):
            continue
        signs = rf"{_FAR.pattern}|{_ARROWS.pattern}|\\checkmark"
        ends = [m.span() for m in re.finditer(signs, text)]
        cuts = [(0, 0), *ends, (len(text), len(text))]
        for (_, start), (end, _) in pairwise(cuts):
            side = text[start:end].strip()
            body = _expression(side)
            if body is None:
                continue
            columns = {n.body for n in body.walk() if isinstance(n, s.Transpose)}
            if _shape(body, columns) == "":
                at = formula.body.start + text.index(side, start)
                yield warned(
                    "rank", "a row is multiplied by a row, or a column by a column, here",
                    Span(prose.source, at, at + len(side)), hint="is a ^⊤ too many, or missing?",
                )  # fmt: skip
                break


def _expression(side: str) -> s.Expression | None:
    """A side of a comparison, if it reads."""
    if r"\top" not in side and "⊤" not in side:
        return None
    parsed = parse_text(f"z = {side}", "side", latex=True)
    if parsed.faults or parsed.skipped or len(parsed.statements) != 1:
        return None
    (statement,) = parsed.statements
    return statement.sides[-1] if isinstance(statement, s.Equation) else None


def _shape(node: s.Expression, columns: set[s.Expression]) -> str | None:
    """`row`, `column`, `matrix`, `number`; None if it is open, nothing if it fits in no way."""
    match node:
        case s.Number():
            return "number"
        case s.Name():
            greek = len(node.base) == 1 and "α" <= node.base <= "ω"
            return "column" if node in columns else "number" if greek else None
        case s.Group():
            return _shape(node.body, columns)
        case s.Negative():
            return _shape(node.body, columns)
        case s.Power():
            return "number" if _shape(node.base, columns) == "number" else None
        case s.Transpose():
            turned = {"column": "row", "row": "column"}
            inner = _shape(node.body, columns)
            return turned.get(inner, inner) if inner else inner
        case s.Fraction():
            return _shape(node.above, columns) if _shape(node.below, columns) == "number" else None
        case s.Add():
            shapes = {_shape(term, columns) for term in node.terms}
            return shapes.pop() if len(shapes) == 1 else "" if "" in shapes else None
        case s.Product():
            shape: str | None = "number"
            for factor in node.factors:
                other = _shape(factor, columns)
                if shape is None or other is None or "" in (shape, other):
                    return "" if "" in (shape, other) else None
                if "number" in (shape, other):
                    shape = other if shape == "number" else shape
                else:
                    shape = SHAPES.get((shape, other), "")
            return shape
    return None


# ---------------------------------------------------------------------- labels

_SCRIPT = re.compile(r"_\{?([a-z])\}?(?![A-Za-z0-9])")
_EXCEPT = re.compile(r"([a-z])\s*(?:\\notin|∉)\s*\\\{([^{}]*)\\\}")


def excluded(prose: Prose) -> Iterator[Fault]:
    """`k_a^⊤ q ≫ k_i^⊤ q, i ∉ {a, b}`: of b nothing is said, though it may be as large."""
    for formula, text in prose.texts():
        cuts = [0, *(m.end() for m in _ARROWS.finditer(text)), len(text)]
        for start, end in pairwise(cuts):
            clause = text[start:end]
            far, left_out = _FAR.search(clause), _EXCEPT.search(clause)
            if far is None or left_out is None or len(_FAR.findall(clause)) > 1:
                continue
            larger = set(_SCRIPT.findall(clause[: far.start()]))
            smaller = set(_SCRIPT.findall(clause[far.end() : left_out.start()]))
            letters = re.findall(r"[a-z]", left_out.group(2))
            unsaid = [x for x in letters if x not in larger]
            if smaller == {left_out.group(1)} and unsaid and larger & set(letters):
                only = ", ".join(x for x in letters if x in larger)
                yield warned(
                    "excluded", f"{', '.join(unsaid)} is left out as well, and only {only} is said to be large",
                    prose.span(formula, left_out, behind=start),
                    hint=f"write {left_out.group(1)} ≠ {only}",
                    write=f"{left_out.group(1)} \\neq {only}" if "," not in only else "",
                )  # fmt: skip


_GREEK = re.compile(
    r"\\(epsilon|varepsilon|delta|eta|lambda|gamma|kappa|rho|tau)(?![A-Za-z])(?:_\{?([a-z])\}?)?"
)


def lost_label(prose: Prose) -> Iterator[Fault]:
    """`≈ ε_a μ_a^⊤ q ≈ ε M`: between two steps ε_a has become ε."""
    for formula, text in prose.texts(*DISPLAYED):
        if r"\sum" in text or not re.search(r"\\approx|≈", text):
            continue
        relations = (m.span() for m in re.finditer(r"\\approx|≈|=", text))
        cuts = [(0, 0), *relations, (len(text), len(text))]
        sides = [(end, text[end:start]) for (_, end), (start, _) in pairwise(cuts)]
        for (_, one), (at, two) in pairwise(sides[1:]):
            before = {m.groups() for m in _GREEK.finditer(one)}
            for match in _GREEK.finditer(two):
                name, label = match.groups()
                labels = {x for other, x in before if other == name}
                after = {m.group(2) for m in _GREEK.finditer(two) if m.group(1) == name}
                label = next(iter(labels), None)
                # A label stands below other names of that side too; an index of a sum does not get here.
                if after == {None} and len(labels) == 1 and label and len(_SCRIPT.findall(one)) > 1:
                    yield warned(
                        "lost-label", f"\\{name}_{label} has become \\{name} in this step",
                        prose.span(formula, match, behind=at),
                        write=f"\\{name}_{label}",
                    )  # fmt: skip


# ---------------------------------------------------------------------- draws

_DRAWN = re.compile(r"([a-z](?:_\{?\w\}?)?)\s*(?:\\sim|∼)\s*(?:\\mathcal\s*\{?\s*N\s*\}?|N|𝒩)\s*\(")
_NUMBER = re.compile(r"[-\s\d.,/{}]*(?:\\frac\s*\{?\s*\d\s*\}?\s*\{?\s*\d\s*\}?)?[\s\d.}]*")


def drawn_number(prose: Prose) -> Iterator[Fault]:
    r"""`k_a ∼ N(μ_a, μ_a μ_a^⊤)` and then `k_a ∼ N(1, ½)`: a vector, drawn as a number."""
    vectors: dict[str, Span] = {}
    for formula, text in prose.texts():
        for match in _DRAWN.finditer(text):
            name = re.sub(r"[{}\s]", "", match.group(1))
            rest = text[match.end() :]
            if re.match(r"[^∼]*?\\top|[^∼,]*,\s*[^)]*\bI\b", rest.split(r"\sim")[0]):
                vectors.setdefault(name, prose.span(formula, match))
            elif name in vectors and _NUMBER.fullmatch(rest.split(")")[0]):
                end = match.end() + rest.find(")") + 1
                start = formula.body.start
                yield warned(
                    "drawn-number", f"{name} is a vector, and here it is drawn as a number",
                    Span(prose.source, start + match.start(), start + end), vectors[name],
                    hint="give the number a name of its own: ε ∼ N(1, 1/2), k = ε μ",
                )  # fmt: skip


ARGUMENTS = (
    unnumbered, substitution, rows_and_columns, excluded, lost_label, drawn_number,
)  # fmt: skip
