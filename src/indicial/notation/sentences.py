r"""Sentences and formulas of a document that contradict each other → faults.

    the word vector $w[w, I]$                         w is the tensor and its own index
    $E_{y \sim P_{\text{op}}}$ … $\text{Pop}$         a word that is cut in two
    the attention (3), where (3) defines P            a wrong number
    is approximately reduced to $c = a$               ≈ is meant
    $\alpha_a \approx \alpha_b \approx 1$             two weights cannot both be 1

None of these needs to know what a formula computes, so they are found in formulas inside sentences, and in
those that reason with ⇒ and ≫, as well. Each rule is silent where it is not certain.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from indicial.notation.faults import Fault
from indicial.notation.markup import Display
from indicial.notation.parse import parse_text
from indicial.notation.source import Source, Span
from indicial.notation.syntax import (
    Add,
    Equation,
    Expression,
    Fraction,
    Group,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Transpose,
)
from indicial.notation.vocabulary import ACCENTS


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
            text[start:end] = (c if c == "\n" else " " for c in text[start:end])
        return "".join(text)

    def span(self, formula: Display, match: re.Match[str], group: int = 0) -> Span:
        start = formula.body.start
        return Span(self.source, start + match.start(group), start + match.end(group))


def contradictions(prose: Prose) -> list[Fault]:
    """What the rules find, in the order of the text."""
    found = [fault for rule in RULES for fault in rule(prose)]
    return sorted(found, key=lambda fault: fault.spans[0].start)


def _fault(code: str, message: str, *spans: Span, hint: str = "") -> Fault:
    return Fault(code, message, spans, hint, severity="warning")


# ---------------------------------------------------------------------- names

_OWN = re.compile(r"(?<![A-Za-z\\_^{}])([A-Za-z])(\s*\[\s*\1\s*(?:,[^\[\]]*)?\])")

_OWN_IN_WORDS = re.compile(r"(?<![`\w\\])([a-z])(\[\1, ?[A-Z]\])(?!`)")
"""Written without dollars; there it must stand for another name with the same brackets."""


def own_index(prose: Prose) -> Iterator[Fault]:
    """`w[w,I]`: nothing is its own index."""
    found = [(m, prose.span(f, m)) for f in prose.formulas for m in _OWN.finditer(f.body.text)]
    found += [
        (match, Span(prose.source, match.start(), match.end()))
        for match in _OWN_IN_WORDS.finditer(prose.words)
    ]
    for match, span in found:
        letter, brackets = match.group(1), match.group(2)
        same = Counter(
            name
            for other in prose.formulas
            for name in re.findall(rf"([A-Za-z]){_spaced(brackets)}", other.body.text)
            if name != letter
        )
        meant = same.most_common(1)[0][0] if same else ""
        if meant or match.re is _OWN:
            yield _fault(
                "own-index", f"{letter} is the tensor here, and its own index",
                span, hint=f"did you mean {meant}{brackets}?" if meant else "",
            )  # fmt: skip


def _spaced(text: str) -> str:
    """A pattern for the same signs, however they are spaced."""
    return r"\s*".join(re.escape(sign) for sign in text if not sign.isspace())


_CUT = re.compile(r"(?<![A-Za-z\\])([A-Z])_\{?\\(?:text|mathrm|textrm|rm)\s*\{([a-z]{2,})\}\}?")


def cut_word(prose: Prose) -> Iterator[Fault]:
    r"""`P_{\text{op}}` in a text that speaks of Pop."""
    for formula in prose.formulas:
        for match in _CUT.finditer(formula.body.text):
            word = "".join(match.groups())
            whole = rf"\\(?:text|mathrm|textrm|operatorname)\s*\{{\s*{word}\s*\}}"
            written = any(re.search(whole, other.body.text) for other in prose.formulas)
            if written or re.search(rf"\b{word}\b", prose.words):
                yield _fault(
                    "cut-word", f"{word} is cut in two here: a letter, and the rest below it",
                    prose.span(formula, match), hint=f"write \\text{{{word}}}",
                )  # fmt: skip


_SUB = r"\\?[A-Za-z]+"
_LESS = re.compile(rf"({_SUB})_\{{\s*([a-z])\s*-\s*([a-z])\s*\}}")


def pair_or_difference(prose: Prose) -> Iterator[Fault]:
    """`π_{i-j}` in one sentence, `π_{i,j}` in the next."""
    for formula in prose.formulas:
        if formula.kind != "inline":
            continue
        for match in _LESS.finditer(formula.body.text):
            name, i, j = match.groups()
            pair = re.compile(rf"(?<![A-Za-z\\]){re.escape(name)}_\{{\s*{i}\s*,\s*{j}\s*\}}")
            for other in prose.formulas:
                near = prose.source.text[
                    min(formula.span.end, other.span.end) : max(
                        formula.span.start, other.span.start
                    )
                ]
                if other is formula or other.kind != "inline" or "\n\n" in near:
                    continue
                if (again := pair.search(other.body.text)) is not None:
                    yield _fault(
                        "pair-or-difference", f"{name} goes by the distance {i} - {j} in one place, by the "
                        f"pair {i}, {j} in the other", prose.span(other, again), prose.span(formula, match),
                        hint="write the same in both places",
                    )  # fmt: skip


_PLAIN_SUM = re.compile(
    r"\s*([a-z])\s*=\s*(?:\[\s*)?[a-z]_\{?([a-z])\}?(?:\s*[+,]\s*[a-z]_\{?\2\}?)+(?:\s*\])?\s*"
)


def lost_index(prose: Prose) -> Iterator[Fault]:
    """`z = x_i + p_i`, where z is nowhere an element or a vector of its own."""
    for formula in prose.formulas:
        match = _PLAIN_SUM.fullmatch(formula.body.text) if formula.kind == "inline" else None
        if match is None:
            continue
        left, letter = match.groups()
        bound = any(
            re.search(rf"(?:\\sum|\\prod)[^$]*_\{{?[^}}]*{letter}", other.body.text)
            or re.search(rf"(?<![A-Za-z\\]){left}_", other.body.text)
            for other in prose.formulas
        )
        if not bound:
            yield _fault(
                "lost-index", f"all on the right goes by {letter}, and {left} does not",
                prose.span(formula, match, 1), hint=f"write {left}_{letter}",
            )  # fmt: skip


# ---------------------------------------------------------------------- numbers of equations

_TAG = re.compile(r"\\tag\*?\{(\d+)\}")
_HEAD = re.compile(r"\\?[A-Za-z]+")


def equation_number(prose: Prose) -> Iterator[Fault]:
    r"""`the attention softmax (3)`, where the text calls α the attention and (3) is about P."""
    tagged = {m.group(1): f for f in prose.formulas for m in _TAG.finditer(f.body.text)}
    called = _called(prose) if tagged else {}
    for match in re.finditer(r"\((\d+)\)", prose.words):
        formula = tagged.get(match.group(1))
        if formula is None or not called:
            continue
        before = re.split(r"[.;:()\n]|  ", prose.words[: match.start()].rstrip())[-1]
        nouns = [w for w in re.split(r"[\s-]+", before.lower())[-6:] if w in called]
        if nouns and called[nouns[-1]] not in _HEAD.findall(formula.body.text):
            symbol = called[nouns[-1]]
            yield _fault(
                "equation-number", f"({match.group(1)}) is not about {symbol}, which the text calls {nouns[-1]}",
                Span(prose.source, match.start(), match.end()), formula.span,
                hint="is another equation meant?",
            )  # fmt: skip


def _called(prose: Prose) -> dict[str, str]:
    r"""The words that stand before one letter only, more than once: `the attention $\alpha[…]$`."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for formula in prose.formulas:
        head = _HEAD.match(formula.body.text.strip())
        word = re.search(r"([A-Za-z]{4,})\s+$", prose.words[: formula.span.start])
        accent = head is not None and head.group()[1:] in ACCENTS
        if formula.kind == "inline" and head is not None and word is not None and not accent:
            found[word.group(1).lower()][head.group()] += 1
    return {
        word: next(iter(letters))
        for word, letters in found.items()
        if len(letters) == 1 and sum(letters.values()) > 1
    }


# ---------------------------------------------------------------------- what sentences say of values

_ALMOST = re.compile(
    r"\b(approximately|roughly|almost)\s+(?:reduce[sd]? to|equal to|equals|becomes)\s*$"
)


def approximately(prose: Prose) -> Iterator[Fault]:
    """`is approximately reduced to $c = a$`."""
    for formula in prose.formulas:
        # In the words right before it: all of the text for each formula would take too long.
        begin = formula.span.start
        said = _ALMOST.search(prose.words, max(0, begin - 200), begin)
        text = formula.body.text
        equal = re.search(r"(?<![<>!:])=", text)
        if said is not None and equal is not None and not re.search(r"\\approx|\\simeq|≈", text):
            yield _fault(
                "approximately", f"the sentence says {said.group(1)}, the formula says =",
                prose.span(formula, equal), Span(prose.source, said.start(1), said.end(1)),
                hint="write ≈",
            )  # fmt: skip


_LETTER = r"(?:\\[a-z]+|[a-z])"
_ONES = re.compile(
    rf"({_LETTER})_\{{?(\w)\}}?\s*(?:\\approx|≈|=)\s*\1_\{{?(\w)\}}?\s*(?:\\approx|≈|=)\s*1(?![\w./])"
)


def two_ones(prose: Prose) -> Iterator[Fault]:
    """`α_a ≈ α_b ≈ 1, α_i ≈ 0`, where α are weights."""
    if not re.search(r"\b(weights?|softmax|probabilit)", prose.words, re.IGNORECASE):
        return
    for formula in prose.formulas:
        match = _ONES.search(formula.body.text)
        if match is None or match.group(2) == match.group(3):
            continue
        letter = re.escape(match.group(1))
        if re.search(rf"{letter}_\{{?\w\}}?\s*(?:\\approx|≈|=)\s*0(?![\w./])", formula.body.text):
            yield _fault(
                "two-ones", "the others are 0, so these are shares of 1, and cannot both be 1",
                prose.span(formula, match), hint="equal shares of two are 1/2 each",
            )  # fmt: skip


_LARGE = re.compile(r"\b([A-Z]) is (?:a|the|some)\s+(?:very )?large\b")


def large_weight(prose: Prose) -> Iterator[Fault]:
    """`α_b ≈ M`, where α are weights and M is said to be large."""
    plain = re.sub(r"[$\\{}]", "", prose.source.text)
    large = set(_LARGE.findall(plain))
    weights = set(re.findall(rf"({_LETTER})_\{{?\w\}}?\s+\S*\s*weights?\b", prose.source.text))
    if re.search(r"\battention weights?\b", prose.words, re.IGNORECASE):
        weights |= {
            m.group(1)
            for f in prose.formulas
            if (m := re.search(r"\\sum.*?[a-z]_\{?\w\}?\s*(\\[a-z]+)_", f.body.text))
        }
    for formula in prose.formulas:
        for letter in weights:
            said = re.match(
                rf"\s*{re.escape(letter)}_\{{?\w\}}?\s*=.*?\\approx\s*(?:\\epsilon\s*)?([A-Z])\s*(?:\\g+\b|$)",
                formula.body.text.strip(),
            )
            if said is not None and said.group(1) in large:
                yield _fault(
                    "large-weight", f"{letter} is a weight, at most 1, and {said.group(1)} is said to be large",
                    formula.body, hint="is this the score, and the softmax left out?",
                )  # fmt: skip


# ---------------------------------------------------------------------- formulas that reason

_ARROWS = re.compile(r"\\Rightarrow|\\implies|⇒|\\xrightarrow\s*\{")
_FAR = re.compile(r"\\ggg?\b|≫|⋙")


def unnumbered(prose: Prose) -> Iterator[Fault]:
    """`k_a^⊤ q_1 ≫ k_i^⊤ q ⇒ q_1 = M k_a`: the q in the middle is q_1."""
    for formula in prose.formulas:
        text = formula.body.text
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
                    yield _fault(
                        "unnumbered", f"{name}_{digit} is compared and found, and here stands {name}",
                        prose.span(formula, found[0]), hint=f"write {name}_{digit}",
                    )  # fmt: skip


_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z]|\d+|[^\s{}\\]")
_IDLE = frozenset({r"\left", r"\right", r"\quad", r"\ "})


def _tokens(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if token not in _IDLE]


def substitution(prose: Prose) -> Iterator[Fault]:
    r"""`\xrightarrow{q_i = Q x_i}`: what stands behind the arrow is what stood before it, with q_i put in."""
    before = ""
    for formula in prose.formulas:
        if formula.kind == "inline":
            continue
        text, start = formula.body.text, 0
        while (arrow := text.find(r"\xrightarrow{", start)) >= 0:
            inside = arrow + len(r"\xrightarrow{")
            end = _closing(text, inside)
            old = re.split(r"\\Rightarrow|⇒", text[start:arrow])[-1]
            rest = re.split(r"\\Rightarrow|⇒|\\xrightarrow", text[end + 1 :])[0]
            new = _put_in(_tokens(old if old.strip() else before), _tokens(text[inside:end]))
            found = _tokens(rest)
            differing = [n for n, (a, b) in enumerate(zip(new, found, strict=False)) if a != b]
            if len(new) == len(found) and len(differing) == 1:
                at = formula.body.start + end + 1
                at += len(rest) - len(rest.lstrip())
                yield _fault(
                    "substitution", f"put in, {text[inside:end].strip()} gives {new[differing[0]]} where "
                    f"{found[differing[0]]} stands ({_around(found, differing[0])})",
                    Span(prose.source, at, at + len(rest.strip())),
                    hint=f"should it be {_around(new, differing[0])}?",
                )  # fmt: skip
            start = end + 1
        before = re.split(r"\\Rightarrow|⇒", text[start:])[-1]


def _closing(text: str, start: int) -> int:
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place
    return len(text)


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
    for formula in prose.formulas:
        text = formula.body.text
        if not _FAR.search(text) or formula.kind == "inline":
            continue
        ends = [
            m.span() for m in re.finditer(rf"{_FAR.pattern}|{_ARROWS.pattern}|\\checkmark", text)
        ]
        cuts = [(0, 0), *ends, (len(text), len(text))]
        for (_, start), (end, _) in pairwise(cuts):
            side = text[start:end].strip()
            body = _expression(side)
            if body is None:
                continue
            columns = {n.body for n in body.walk() if isinstance(n, Transpose)}
            if _shape(body, columns) == "":
                at = formula.body.start + text.index(side, start)
                yield _fault(
                    "rank", "a row is multiplied by a row, or a column by a column, here",
                    Span(prose.source, at, at + len(side)), hint="is a ^⊤ too many, or missing?",
                )  # fmt: skip
                break


def _expression(side: str) -> Expression | None:
    """A side of a comparison, if it reads."""
    if r"\top" not in side and "⊤" not in side:
        return None
    parsed = parse_text(f"z = {side}", "side", latex=True)
    if parsed.faults or parsed.skipped or len(parsed.statements) != 1:
        return None
    (statement,) = parsed.statements
    return statement.sides[-1] if isinstance(statement, Equation) else None


def _shape(node: Expression, columns: set[Expression]) -> str | None:
    """`row`, `column`, `matrix`, `number`; None if it is open, nothing if it fits in no way."""
    match node:
        case Number():
            return "number"
        case Name():
            greek = len(node.base) == 1 and "α" <= node.base <= "ω"
            return "column" if node in columns else "number" if greek else None
        case Group():
            return _shape(node.body, columns)
        case Negative():
            return _shape(node.body, columns)
        case Power():
            return "number" if _shape(node.base, columns) == "number" else None
        case Transpose():
            turned = {"column": "row", "row": "column"}
            inner = _shape(node.body, columns)
            return turned.get(inner, inner) if inner else inner
        case Fraction():
            return _shape(node.above, columns) if _shape(node.below, columns) == "number" else None
        case Add():
            shapes = {_shape(term, columns) for term in node.terms}
            return shapes.pop() if len(shapes) == 1 else "" if "" in shapes else None
        case Product():
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


Rule = Callable[[Prose], Iterator[Fault]]
RULES: tuple[Rule, ...] = (
    own_index, cut_word, pair_or_difference, lost_index, equation_number, approximately, two_ones,
    large_weight, unnumbered, substitution, rows_and_columns,
)  # fmt: skip
