"""A grammar small enough to write down all that it says."""

import math
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from indicial.data.world.grammar import Choice, Derivation, Grammar, Phrase, choice
from indicial.data.world.rendering import Rendering
from indicial.data.world.world import END, Reader

TEMPLATES = {
    "says": "{who}:nsubj {what} .:punct",
    "cat": "the:det cat|cats",
    "that": "the:det cat|cats ( that:nsubj {what} ):acl:relcl",
    "sleeps": "sleeps|sleep",
    "sees": "sees|see {who}:obj",
}


def expand(phrase: Phrase) -> Iterator[Choice]:
    """Cats sleep and see cats; the number agrees; clauses one deep."""
    category, form, _, depth = phrase
    if category == "start":
        for number in ("common", "plural"):
            who, what = Phrase("cat", number, "", "0"), Phrase("does", number, "", "0")
            yield choice(1 if number == "common" else 3, "says", who=who, what=what)
    elif category == "cat":
        yield choice(2, "cat")
        if depth == "0":
            yield choice(1, "that", what=Phrase("does", form, "", "1"))
    else:
        yield choice(1, "sleeps")
        if depth == "0":
            yield choice(2, "sees", who=Phrase("cat", "plural", "", "0"))


@pytest.fixture
def grammar() -> Grammar:
    return Grammar(Phrase("start"), expand)


@pytest.fixture
def rendering(grammar: Grammar) -> Rendering:
    return Rendering(grammar, lambda rule: TEMPLATES[rule.name])


def everything(grammar: Grammar, phrase: Phrase) -> Iterator[tuple[float, Derivation]]:
    """All derivations of a phrase with their probabilities, by enumeration."""
    for rule in grammar.rules(phrase):
        found = [(rule.probability, ())]
        for child in rule.children:
            more = list(everything(grammar, child))
            found = [(p * q, (*done, d)) for p, done in found for q, d in more]  # type: ignore[misc]
        for probability, children in found:
            yield probability, Derivation(rule, children)


def test_probabilities_of_all_sentences_add_up_to_one(
    grammar: Grammar, rendering: Rendering
) -> None:
    sentences = {" ".join(rendering.words(d)): p for p, d in everything(grammar, grammar.start)}
    assert len(sentences) == 2 * 2 * (1 + 2)  # number, clause or not, sleeps or sees two
    assert sentences["the cat sleeps ."] == pytest.approx(1 / 4 * 2 / 3 * 1 / 3)
    assert math.fsum(sentences.values()) == pytest.approx(1, abs=1e-12)


def test_entropy_and_length_are_those_of_the_enumeration(
    grammar: Grammar, rendering: Rendering
) -> None:
    every = list(everything(grammar, grammar.start))
    assert grammar.entropy() == pytest.approx(-sum(p * math.log(p) for p, _ in every))
    lengths = sum(p * len(rendering.words(d)) for p, d in every)
    assert rendering.words_per_sentence() == pytest.approx(lengths)
    for probability, derivation in every:
        assert derivation.log_probability == pytest.approx(math.log(probability))


def test_samples_have_these_probabilities(grammar: Grammar, rendering: Rendering) -> None:
    rng = random.Random(0)
    seen = Counter(" ".join(rendering.words(grammar.sample(rng))) for _ in range(20000))
    for probability, derivation in everything(grammar, grammar.start):
        count = seen[" ".join(rendering.words(derivation))]
        deviation = math.sqrt(20000 * probability * (1 - probability))
        assert abs(count - 20000 * probability) < 4 * deviation


def test_next_words_are_those_of_the_enumeration(grammar: Grammar, rendering: Rendering) -> None:
    reader = Reader(rendering)
    sentences = [(p, rendering.words(d)) for p, d in everything(grammar, grammar.start)]
    prefixes = {tuple(words[:n]) for _, words in sentences for n in range(len(words) + 1)}
    for prefix in sorted(prefixes):
        true: Counter[str] = Counter()
        for probability, words in sentences:
            if tuple(words[: len(prefix)]) == prefix:
                true[[*words, END][len(prefix)]] += probability  # type: ignore[assignment]
        total = sum(true.values())
        expected = {word: share / total for word, share in true.items()}
        assert reader.next_words(reader.after(prefix)) == pytest.approx(expected)


def test_reading_gives_back_the_derivation(grammar: Grammar, rendering: Rendering) -> None:
    reader = Reader(rendering)
    for _, derivation in everything(grammar, grammar.start):
        ways = [w for w in reader.after(tuple(rendering.words(derivation))) if not w.stack]
        assert [reader.derivation(way.rules) for way in ways] == [derivation]


def test_two_derivations_of_one_sentence_are_both_found() -> None:
    """An ambiguous grammar: so the test that the worlds have no such sentence can fail."""

    def twice(phrase: Phrase) -> Iterator[Choice]:
        yield choice(1, "one" if phrase.category == "start" else "hay")
        if phrase.category == "start":
            yield choice(3, "other", part=Phrase("part"))

    texts = {"one": "hay", "other": "{part}", "hay": "hay"}
    reader = Reader(Rendering(Grammar(Phrase("start"), twice), lambda rule: texts[rule.name]))
    assert [way.probability for way in reader.after(("hay",))] == [0.25, 0.75]


def test_phrases_are_all_that_occur(grammar: Grammar) -> None:
    cats = [Phrase("cat", form, "", "0") for form in ("common", "plural")]
    does = [Phrase("does", form, "", d) for form in ("common", "plural") for d in "01"]
    assert sorted(grammar.phrases()) == sorted([grammar.start, *cats, *does])
