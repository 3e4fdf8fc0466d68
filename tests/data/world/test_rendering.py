"""Templates, English forms, and dependency trees."""

import random
from itertools import pairwise

import pytest

from indicial.data.world import world
from indicial.data.world.grammar import Choice, Grammar, Phrase, choice
from indicial.data.world.rendering import TEMPLATES, Rendering, parse_template, plural, third_person


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("masculine", ("has", "his", "own")),
        ("feminine", ("has", "her", "own")),
        ("plural", ("have", "their", "own")),
    ],
)
def test_words_follow_the_form(form: str, words: tuple[str, ...]) -> None:
    text = "has|have ( his|her|their:nmod:poss own ):obj"
    assert parse_template(text, form, ()).flat == words


def test_parts_and_relations_of_a_template() -> None:
    template = parse_template("was:aux:pass born ( in:case {town} ):obl", "", ("who", "town"))
    assert template.flat == ("was", "born", "in", 1)
    was, born, place = template.items
    assert (was.relation, born.relation, place.relation) == ("aux:pass", "", "obl")


@pytest.mark.parametrize(
    "text", ["two heads", "no:det head:amod", "( a:det b:c ):obj d", "( open", "x {unknown}:obj"]
)
def test_templates_that_are_wrong(text: str) -> None:
    with pytest.raises(ValueError):
        parse_template(text, "", ("part",))


@pytest.mark.parametrize(("noun", "article"), [("baker", "a"), ("actor", "an")])
def test_the_article_fits_the_word(noun: str, article: str) -> None:
    def expand(phrase: Phrase) -> list[Choice]:
        if phrase.category == "start":
            return [choice(1, "is", job=Phrase("job"))]
        return [choice(1, noun)]

    grammar = Grammar(Phrase("start"), expand)
    rendering = Rendering(grammar, lambda r: "is:cop a:det {job}" if r.name == "is" else r.name)
    assert rendering.words(grammar.sample(random.Random(0))) == ["is", article, noun]


def test_forms_of_words() -> None:
    assert [third_person(v) for v in ("visit", "watch", "envy", "buy", "miss", "wash")] == [
        "visits",
        "watches",
        "envies",
        "buys",
        "misses",
        "washes",
    ]
    assert [plural(n) for n in ("woman", "baker", "duchess")] == ["women", "bakers", "duchesses"]


def test_every_template_is_used() -> None:
    grammar = world("village").grammar
    used = {r.name for phrase in grammar.phrases() for r in grammar.rules(phrase) if r.children}
    assert used == set(TEMPLATES)


def test_a_tree_as_one_would_draw_it() -> None:
    w = world("people")
    text = "the farmers whom the tall nurse near the bridge in Oslo often visits are happy ."
    (derivation,) = w.parses(text)
    tree = [
        (word, text.split()[d.head - 1] if d.head else "", d.relation)
        for word, d in zip(text.split(), w.dependencies(derivation), strict=True)
    ]
    assert tree == [
        ("the", "farmers", "det"),
        ("farmers", "happy", "nsubj"),
        ("whom", "visits", "obj"),
        ("the", "nurse", "det"),
        ("tall", "nurse", "amod"),
        ("nurse", "visits", "nsubj"),
        ("near", "bridge", "case"),
        ("the", "bridge", "det"),
        ("bridge", "nurse", "nmod"),
        ("in", "Oslo", "case"),
        ("Oslo", "bridge", "nmod"),
        ("often", "visits", "advmod"),
        ("visits", "farmers", "acl:relcl"),
        ("are", "happy", "cop"),
        ("happy", "", "root"),
        (".", "happy", "punct"),
    ]


def test_dependencies_are_trees_without_crossing() -> None:
    w, rng = world("people"), random.Random(2)
    for _ in range(500):
        sentence = w.sentence(rng)
        heads = [d.head for d in w.dependencies(sentence.derivation)]
        assert len(heads) == len(sentence.words)
        assert heads.count(0) == 1
        for number in range(1, len(heads) + 1):
            seen = set()
            while number:
                assert number not in seen, sentence
                seen.add(number)
                number = heads[number - 1]
        arcs = [sorted((h, n)) for n, h in enumerate(heads, 1) if h]
        crossing = [(a, b, c, d) for a, b in arcs for c, d in arcs if a < c < b < d]
        assert crossing == [], sentence


def test_no_a_before_a_vowel() -> None:
    sentences = world("people").sentences(4)
    for _ in range(5000):
        words = next(sentences).split()
        for article, word in pairwise(words):
            if article in ("a", "an"):
                assert (word[0] in "aeiou") == (article == "an"), (article, word)
