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
from collections.abc import Callable, Iterator

from indicial.notation.arguments import ARGUMENTS, Prose
from indicial.notation.faults import Fault, warned
from indicial.notation.source import Span
from indicial.notation.vocabulary import ACCENTS

__all__ = ["RULES", "Prose", "contradictions"]


def contradictions(prose: Prose) -> list[Fault]:
    """What the rules find, in the order of the text."""
    found = [fault for rule in RULES for fault in rule(prose)]
    return sorted(found, key=lambda fault: fault.spans[0].start)


# ---------------------------------------------------------------------- names

_OWN = re.compile(r"(?<![A-Za-z\\_^{}])([A-Za-z])(\s*\[\s*\1\s*(?:,[^\[\]]*)?\])")

_OWN_IN_WORDS = re.compile(r"(?<![`\w\\])([a-z])(\[\1, ?[A-Z]\])(?!`)")
"""Written without dollars; there it must stand for another name with the same brackets."""


def own_index(prose: Prose) -> Iterator[Fault]:
    """`w[w,I]`: nothing is its own index."""
    found = [(m, prose.span(f, m)) for f, text in prose.texts() for m in _OWN.finditer(text)]
    found += [
        (match, Span(prose.source, match.start(), match.end()))
        for match in _OWN_IN_WORDS.finditer(prose.words)
    ]
    for match, span in found:
        letter, brackets = match.group(1), match.group(2)
        same = Counter(
            name
            for _, text in prose.texts()
            for name in re.findall(rf"([A-Za-z]){_spaced(brackets)}", text)
            if name != letter
        )
        meant = same.most_common(1)[0][0] if same else ""
        if meant or match.re is _OWN:
            yield warned(
                "own-index", f"{letter} is the tensor here, and its own index",
                span, hint=f"did you mean {meant}{brackets}?" if meant else "",
                write=f"{meant}{brackets}" if meant else "",
            )  # fmt: skip


def _spaced(text: str) -> str:
    """A pattern for the same signs, however they are spaced."""
    return r"\s*".join(re.escape(sign) for sign in text if not sign.isspace())


_CUT = re.compile(r"(?<![A-Za-z\\])([A-Z])_\{?\\(?:text|mathrm|textrm|rm)\s*\{([a-z]{2,})\}\}?")


def cut_word(prose: Prose) -> Iterator[Fault]:
    r"""`P_{\text{op}}` in a text that speaks of Pop."""
    for formula, text in prose.texts():
        for match in _CUT.finditer(text):
            word = "".join(match.groups())
            whole = rf"\\(?:text|mathrm|textrm|operatorname)\s*\{{\s*{word}\s*\}}"
            written = any(re.search(whole, other) for _, other in prose.texts())
            if written or re.search(rf"\b{word}\b", prose.words):
                yield warned(
                    "cut-word", f"{word} is cut in two here: a letter, and the rest below it",
                    prose.span(formula, match), write=f"\\text{{{word}}}",
                )  # fmt: skip


_SUB = r"\\?[A-Za-z]+"
_LESS = re.compile(rf"({_SUB})_\{{\s*([a-z])\s*-\s*([a-z])\s*\}}")


def pair_or_difference(prose: Prose) -> Iterator[Fault]:
    """`π_{i-j}` in one sentence, `π_{i,j}` in the next."""
    for formula, text in prose.texts("inline"):
        for match in _LESS.finditer(text):
            name, i, j = match.groups()
            pair = re.compile(rf"(?<![A-Za-z\\]){re.escape(name)}_\{{\s*{i}\s*,\s*{j}\s*\}}")
            for other, its_text in prose.texts("inline"):
                first, last = sorted((formula.span, other.span), key=lambda span: span.start)
                if other is formula or "\n\n" in (first.between(last) or ""):
                    continue
                if (again := pair.search(its_text)) is not None:
                    yield warned(
                        "pair-or-difference", f"{name} goes by the distance {i} - {j} in one place, by the "
                        f"pair {i}, {j} in the other", prose.span(other, again), prose.span(formula, match),
                        hint="write the same in both places",
                    )  # fmt: skip


_PLAIN_SUM = re.compile(
    r"\s*([a-z])\s*=\s*(?:\[\s*)?[a-z]_\{?([a-z])\}?(?:\s*[+,]\s*[a-z]_\{?\2\}?)+(?:\s*\])?\s*"
)


def lost_index(prose: Prose) -> Iterator[Fault]:
    """`z = x_i + p_i`, where z is nowhere an element or a vector of its own."""
    for formula, text in prose.texts("inline"):
        match = _PLAIN_SUM.fullmatch(text)
        if match is None:
            continue
        left, letter = match.groups()
        bound = any(
            re.search(rf"(?:\\sum|\\prod)[^$]*_\{{?[^}}]*{letter}", other)
            or re.search(rf"(?<![A-Za-z\\]){left}_", other)
            for _, other in prose.texts()
        )
        if not bound:
            yield warned(
                "lost-index", f"all on the right goes by {letter}, and {left} does not",
                prose.span(formula, match, 1), write=f"{left}_{letter}",
            )  # fmt: skip


# ---------------------------------------------------------------------- numbers of equations

_TAG = re.compile(r"\\tag\*?\{(\d+)\}")
_HEAD = re.compile(r"\\?[A-Za-z]+")


def equation_number(prose: Prose) -> Iterator[Fault]:
    r"""`the attention softmax (3)`, where the text calls α the attention and (3) is about P."""
    tagged = {m.group(1): f for f, text in prose.texts() for m in _TAG.finditer(text)}
    called = _called(prose) if tagged else {}
    for match in re.finditer(r"\((\d+)\)", prose.words):
        formula = tagged.get(match.group(1))
        if formula is None or not called:
            continue
        before = re.split(r"[.;:()\n]|  ", prose.words[: match.start()].rstrip())[-1]
        nouns = [w for w in re.split(r"[\s-]+", before.lower())[-6:] if w in called]
        if nouns and called[nouns[-1]] not in _HEAD.findall(formula.body.text):
            symbol = called[nouns[-1]]
            yield warned(
                "equation-number", f"({match.group(1)}) is not about {symbol}, which the text calls {nouns[-1]}",
                Span(prose.source, match.start(), match.end()), formula.span,
                hint="is another equation meant?",
            )  # fmt: skip


def _called(prose: Prose) -> dict[str, str]:
    r"""The words that stand before one letter only, more than once: `the attention $\alpha[…]$`."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for formula, text in prose.texts("inline"):
        head = _HEAD.match(text.strip())
        word = re.search(r"([A-Za-z]{4,})\s+$", prose.words[: formula.span.start])
        accent = head is not None and head.group()[1:] in ACCENTS
        if head is not None and word is not None and not accent:
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
    for formula, text in prose.texts():
        # In the words right before it: all of the text for each formula would take too long.
        begin = formula.span.start
        said = _ALMOST.search(prose.words, max(0, begin - 200), begin)
        equal = re.search(r"(?<![<>!:])=", text)
        if said is not None and equal is not None and not re.search(r"\\approx|\\simeq|≈", text):
            yield warned(
                "approximately", f"the sentence says {said.group(1)}, the formula says =",
                prose.span(formula, equal), Span(prose.source, said.start(1), said.end(1)),
                hint="write ≈", write=r"\approx",
            )  # fmt: skip


_LETTER = r"(?:\\[a-z]+|[a-z])"
_ONES = re.compile(
    rf"({_LETTER})_\{{?(\w)\}}?\s*(?:\\approx|≈|=)\s*\1_\{{?(\w)\}}?\s*(?:\\approx|≈|=)\s*1(?![\w./])"
)


def two_ones(prose: Prose) -> Iterator[Fault]:
    """`α_a ≈ α_b ≈ 1, α_i ≈ 0`, where α are weights."""
    if not re.search(r"\b(weights?|softmax|probabilit)", prose.words, re.IGNORECASE):
        return
    for formula, text in prose.texts():
        match = _ONES.search(text)
        if match is None or match.group(2) == match.group(3):
            continue
        letter = re.escape(match.group(1))
        if re.search(rf"{letter}_\{{?\w\}}?\s*(?:\\approx|≈|=)\s*0(?![\w./])", text):
            yield warned(
                "two-ones", "the others are 0, so these are shares of 1, and cannot both be 1",
                prose.span(formula, match), hint="equal shares of two are 1/2 each",
            )  # fmt: skip


_LARGE = re.compile(r"\b([A-Z]) is (?:a|the|some)\s+(?:very )?large\b")


def _weights(prose: Prose) -> set[str]:
    """The letters that the text calls weights."""
    weights = set(re.findall(rf"({_LETTER})_\{{?\w\}}?\s+\S*\s*weights?\b", prose.source.text))
    if re.search(r"\battention weights?\b", prose.words, re.IGNORECASE):
        summed = re.compile(r"\\sum.*?[a-z]_\{?\w\}?\s*(\\[a-z]+)_")
        weights |= {m.group(1) for _, text in prose.texts() if (m := summed.search(text))}
    return weights


def large_weight(prose: Prose) -> Iterator[Fault]:
    """`α_b ≈ M`, where α are weights and M is said to be large."""
    plain = re.sub(r"[$\\{}]", "", prose.source.text)
    large = set(_LARGE.findall(plain))
    weights = _weights(prose) if large else set()
    for formula in prose.formulas if weights else ():
        for letter in weights:
            said = re.match(
                rf"\s*{re.escape(letter)}_\{{?\w\}}?\s*=.*?\\approx\s*(?:\\epsilon\s*)?([A-Z])\s*(?:\\g+\b|$)",
                formula.body.text.strip(),
            )
            if said is not None and said.group(1) in large:
                yield warned(
                    "large-weight", f"{letter} is a weight, at most 1, and {said.group(1)} is said to be large",
                    formula.body, hint="is this the score, and the softmax left out?",
                )  # fmt: skip


def left_out(prose: Prose) -> Iterator[Fault]:
    """`α_i = k_i^⊤ q`, where α are weights and the text speaks of a softmax: this is the score."""
    if not re.search(r"\bsoftmax\b", prose.words, re.IGNORECASE) or _WITHOUT.search(prose.words):
        return
    large = {fault.spans[0] for fault in large_weight(prose)}
    weights = _weights(prose)
    for formula in prose.formulas if weights else ():
        for letter in weights:
            product = rf"\s*{re.escape(letter)}_\{{?\w\}}?\s*=\s*[a-z]_\{{?\w\}}?\s*\^\{{?\s*\\top\s*\}}?\s*[a-z]"
            said = re.match(rf"{product}(?:_\{{?\w\}}?)?\s*(?:\\approx|≈|=|,|$)", formula.body.text)
            if said is not None and formula.body not in large:
                yield warned(
                    "left-out", f"{letter} is a weight, and this is a score: the softmax is left out",
                    formula.body, hint="give scores another letter than weights",
                )  # fmt: skip


_WITHOUT = re.compile(
    r"\b(without|instead of|replac\w+|remov\w+|linear) (a |the )?(softmax|attention)", re.IGNORECASE
)

Rule = Callable[[Prose], Iterator[Fault]]
RULES: tuple[Rule, ...] = (
    own_index, cut_word, pair_or_difference, lost_index, equation_number, approximately, two_ones,
    large_weight, left_out, *ARGUMENTS,
)  # fmt: skip
