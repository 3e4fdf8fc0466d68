"""How like their references texts are: BLEU and chrF by sacreBLEU, CIDEr for captions.

>>> likeness(["a dog runs"], [["a dog is running", "a dog runs"]])
Likeness(figures={'BLEU': 100.0, 'chrF': 100.0, 'CIDEr': …}, signature='nrefs:2|case:mixed|…')

Texts are compared as they are read, detokenised, so that figures can be set beside those of others; the
signature says how. CIDEr (Vedantam et al. 2015, in the form CIDEr-D) is there where there are several references.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from indicial.program.messages import IndicialError

NGRAMS = 4
SPREAD = 6.0
"""Of the Gaussian by which CIDEr-D punishes another length, in words."""
WORD = re.compile(r"\w+(?:'\w+)?")

Grams = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Likeness:
    """Figures by name, from 0 to 100, and CIDEr from 0 to 10; and sacreBLEU's word on how they were made."""

    figures: dict[str, float]
    signature: str


def likeness(
    texts: Sequence[str], references: Sequence[Sequence[str]], lowercase: bool = False
) -> Likeness:
    """Scores of a whole set of texts, each beside its references."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise IndicialError(
            "BLEU and chrF are computed by sacreBLEU, which is not installed: "
            "pip install 'indicial[scores]'"
        ) from None

    most = max(map(len, references))
    streams: Any = [  # None where a text has fewer references than another
        [several[n] if n < len(several) else None for several in references] for n in range(most)
    ]
    # Whether a full stop stands by itself is how the data are: a note on it is for nobody here.
    bleu, chrf = BLEU(lowercase=lowercase, force=True), CHRF(lowercase=lowercase)
    figures = {
        "BLEU": float(bleu.corpus_score(list(texts), streams).score),
        "chrF": float(chrf.corpus_score(list(texts), streams).score),
    }
    if most > 1:
        figures["CIDEr"] = cider(texts, references)
    return Likeness(figures, str(bleu.get_signature()))


def cider(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """CIDEr-D: cosines of n-grams weighted by how few of the sets of references have them.

    >>> round(cider(["a red cup", "two dogs"], [["a red cup"] * 2, ["two dogs"] * 2]), 6)
    4.166667
    """
    sets = [[_grams(one) for one in several] for several in references]
    having: Grams = Counter(gram for several in sets for gram in set().union(*several))
    whole = math.log(len(sets))

    def weights(grams: Grams) -> list[dict[tuple[str, ...], float]]:
        found: list[dict[tuple[str, ...], float]] = [{} for _ in range(NGRAMS)]
        for gram, count in grams.items():
            found[len(gram) - 1][gram] = count * (whole - math.log(max(1, having[gram])))
        return found

    total = 0.0
    for text, several in zip(texts, sets, strict=True):
        made = _grams(text)
        total += sum(_cosine(made, weights(made), one, weights(one)) for one in several) / len(
            several
        )
    return 10 * total / len(texts)


def _grams(text: str) -> Grams:
    words = WORD.findall(text.lower())
    return Counter(
        tuple(words[n : n + size])
        for size in range(1, NGRAMS + 1)
        for n in range(len(words) - size + 1)
    )


def _cosine(
    made: Grams,
    weighted: list[dict[tuple[str, ...], float]],
    other: Grams,
    others: list[dict[tuple[str, ...], float]],
) -> float:
    """The mean over n of the cosines, what is repeated more often than there counting no more."""
    longer = sum(c for g, c in made.items() if len(g) == 1) - sum(
        c for g, c in other.items() if len(g) == 1
    )
    found = 0.0
    for one, two in zip(weighted, others, strict=True):
        norm = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in two.values()))
        if norm:
            found += sum(min(v, two.get(g, 0.0)) * two.get(g, 0.0) for g, v in one.items()) / norm
    return found / NGRAMS * math.exp(-(longer**2) / (2 * SPREAD**2))
