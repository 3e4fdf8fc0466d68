"""The worlds: exact probabilities, hard enough, and messages for what is not said in them."""

import math
import random
from collections import Counter
from itertools import islice

import pytest

from indicial.data.world import Sentence, World, world, worlds
from indicial.program.messages import IndicialError


def test_worlds_by_name() -> None:
    assert worlds() == ["people", "village"]
    assert world("people") is world("people")
    with pytest.raises(IndicialError, match=r"no world 'peeple'.*did you mean 'people'\?"):
        world("peeple")


def test_there_are_enough_words() -> None:
    w = world("people")
    assert len(w.vocabulary) >= 500
    seen = {word for text in islice(w.sentences(1), 40000) for word in text.split()}
    assert seen == set(w.vocabulary)


@pytest.mark.parametrize("name", worlds())
def test_every_sentence_has_one_derivation(name: str) -> None:
    w, rng = world(name), random.Random(11)
    for _ in range(2000):
        sentence = w.sentence(rng)
        assert w.parses(str(sentence)) == [sentence.derivation]
        assert w.log_probability(str(sentence)) == pytest.approx(sentence.log_probability)


@pytest.mark.parametrize("name", worlds())
def test_no_two_ways_to_a_beginning_go_on_alike(name: str) -> None:
    """Two ways with the same rest would make all sentences of that rest ambiguous."""
    w, rng = world(name), random.Random(12)
    for _ in range(200):
        words = tuple(w.sentence(rng).words)
        for length in range(len(words) + 1):
            stacks = [way.stack for way in w._reader.after(words[:length])]
            assert len(stacks) == len(set(stacks)), words[:length]


@pytest.mark.parametrize(("name", "count"), [("people", 60000), ("village", 30000)])
def test_entropy_and_length_are_those_of_samples(name: str, count: int) -> None:
    w, rng = world(name), random.Random(5)
    nats = words = 0.0
    for _ in range(count):
        sentence = w.sentence(rng)
        nats -= sentence.log_probability
        words += len(sentence.words)
    assert nats / count == pytest.approx(w.entropy(), rel=0.005)
    assert words / count == pytest.approx(w.words_per_sentence(), rel=0.005)
    assert w.nats_per_word() == pytest.approx(w.entropy() / (w.words_per_sentence() + 1))


@pytest.mark.parametrize("name", worlds())
def test_next_words_multiply_to_the_probability(name: str) -> None:
    w, rng = world(name), random.Random(3)
    for _ in range(20):
        sentence = w.sentence(rng)
        total = 0.0
        for n, word in enumerate([*sentence.words, ""]):
            following = w.next_words(" ".join(sentence.words[:n]))
            assert math.fsum(following.values()) == pytest.approx(1)
            total += math.log(following[word])
        assert total == pytest.approx(sentence.log_probability)


def distance(w: World, sentence: Sentence) -> int:
    """How many words stand between the subject of a sentence without names and its verb."""
    tree = w.dependencies(sentence.derivation)
    root = next(n for n, d in enumerate(tree, 1) if not d.head)
    subject = next(n for n, d in enumerate(tree, 1) if (d.head, d.relation) == (root, "nsubj"))
    return root - subject - 1


def test_number_agrees_over_ten_words_and_more() -> None:
    """Both numbers, with verbs that show it; the form is that of the subject, by its own list."""
    w, rng = world("people"), random.Random(9)
    far: Counter[str] = Counter()
    for _ in range(20000):
        sentence = w.sentence(rng)
        remark = sentence.derivation.children[0].rule
        if remark.name == "somebody" and distance(w, sentence) >= 10:
            far["many" if remark.phrase.form == "plural" else "one"] += 1
    assert far["one"] > 100 and far["many"] > 50, far


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        (
            "the farmers whom the tall nurse near the bridge in Oslo often visits admire themselves .",
            "the farmers whom the tall nurse near the bridge in Oslo often visits admires themselves .",
            "word 14, 'admires', cannot come after 'the farmers whom .* visits'",
        ),
        (
            "the queen whom the men who know the king near the bridge help admires herself .",
            "the queen whom the men who know the king near the bridge help admires himself .",
            "word 15, 'himself',",
        ),
        ("the baker bakes bread .", "the baker bakes soup .", "word 4, 'soup', .* 'bread'"),
        ("the baker bakes bread .", "the baker bakes bread", r"it cannot end after .* is '\.'"),
        ("the baker bakes bread .", "the baker bakes bread . .", "word 6, .* is 'the end'"),
        ("the baker bakes bread .", "", r"it cannot end at the start; .* other words\)"),
        (
            "the baker bakes bread .",
            "Bread is good .",
            "word 1, 'Bread', cannot come at the start",
        ),
    ],
)
def test_what_is_no_sentence_is_said_with_its_place(right: str, wrong: str, place: str) -> None:
    w = world("people")
    assert w.log_probability(right) < 0
    with pytest.raises(IndicialError, match=f"not a sentence of the world 'people': .*{place}"):
        w.log_probability(wrong)


def test_no_trigram_comes_near() -> None:
    """The best trigram of these very sentences, which no trigram can beat on others, loses 0.2 more.

    Counts fitted to the texts they are measured on flatter; the more texts the less. So this is
    a bound from below, and it grows with the number of texts.
    """
    w, rng = world("people"), random.Random(1)
    trigrams: Counter[tuple[str, str, str]] = Counter()
    nats = 0.0
    for _ in range(25000):
        sentence = w.sentence(rng)
        nats -= sentence.log_probability
        words = ["", "", *sentence.words, ""]
        trigrams.update(zip(words, words[1:], words[2:], strict=False))
    bigrams: Counter[tuple[str, str]] = Counter()
    for (first, second, _), count in trigrams.items():
        bigrams[first, second] += count
    loss = -sum(n * math.log(n / bigrams[t[:2]]) for t, n in trigrams.items())
    assert (loss - nats) / sum(trigrams.values()) > 0.3


def test_a_seed_tells_the_sentences() -> None:
    w = world("village")
    first, again, other = (list(islice(w.sentences(seed), 50)) for seed in (1, 1, 2))
    assert first == again
    assert len(set(first) & set(other)) < 25
    assert all(len(text.split()) == text.count(" ") + 1 for text in first)
    assert list(islice(w.sentences(-1), 50)) != first
