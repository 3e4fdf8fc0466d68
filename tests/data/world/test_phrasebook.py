"""Two languages of one world: right German, one translation both ways, and which word stands for which."""

import random

import numpy as np
import pytest

from indicial.data.world import world
from indicial.data.world.world import (
    PARTS,
    AlignmentScore,
    Link,
    Phrasebook,
    held_out,
    is_right,
    read_links,
)
from indicial.program.messages import IndicialError

BOOK = Phrasebook(world("people"))

TRANSLATIONS = {
    # the verb is second in a sentence, last in a clause, and some of it may stand at the end
    "the uncle invites the cheerful groom .": "der Onkel lädt den fröhlichen Bräutigam ein .",
    "the librarian who invites the man is awake .": "der Bibliothekar , der den Mann einlädt , ist wach .",
    "the monk often remembers himself .": "der Mönch behält sich selbst oft im Gedächtnis .",
    "Helen Kowalski was born in 1978 .": "Helen Kowalski wurde im Jahr 1978 geboren .",
    # the case is for the verb to say
    "the girl helps the boy .": "das Mädchen hilft dem Jungen .",
    "the girl avoids the boy .": "das Mädchen meidet den Jungen .",
    "the women whom the farmers thank are tired .": "die Frauen , denen von den Bauern gedankt wird , sind müde .",
    "the women whom the farmers love are tired .": "die Frauen , die von den Bauern geliebt werden , sind müde .",
    # adjectives and possessives agree with what is owned, and possessives with the owner
    "Albert Knight paints his black chair .": "Albert Knight streicht seinen schwarzen Stuhl an .",
    "Lucia Parker paints her blue clock .": "Lucia Parker streicht ihre blaue Uhr an .",
    "the kings feed their rabbits .": "die Könige füttern ihre Kaninchen .",
    # of a woman with a job
    "Helen Kowalski works as a tailor in Bergen .": "Helen Kowalski arbeitet in Bergen als Schneiderin .",
    "the mayor of Pisa is Karin Lambert .": "die Bürgermeisterin von Pisa ist Karin Lambert .",
    # places
    "the florists work in the market .": "die Floristen arbeiten auf dem Markt .",
    "the teacher works in the school .": "der Lehrer arbeitet in der Schule .",
    "the plumber works in the cellar .": "der Klempner arbeitet im Keller .",
    "Izmir lies in Turkey .": "Izmir liegt in der Türkei .",
}  # fmt: skip


@pytest.mark.parametrize(("english", "german"), TRANSLATIONS.items())
def test_translations_are_german(english: str, german: str) -> None:
    assert BOOK.translate(english) == german


@pytest.mark.parametrize("name", ["people", "village"])
def test_no_two_sentences_have_the_same_translation(name: str) -> None:
    book, rng = Phrasebook(world(name)), random.Random(3)
    rows = [book.row(book.world.grammar.sample(rng)) for _ in range(3000)]
    pairs = {(row["x"], row["w"]) for row in rows}
    assert len(pairs) == len({x for x, _ in pairs}) == len({w for _, w in pairs})


def test_every_word_but_articles_stands_for_exactly_one() -> None:
    for row in BOOK.rows("train", 500, seed=1):
        english, german = row["w"].split(), row["x"].split()
        sure = [link for link in read_links(row["alignment"]) if link.sure]
        for number, word in enumerate(english):
            meant = [german[link.source] for link in sure if link.target == number]
            assert len(meant) == 1 or (word in ("a", "an", "the") and not meant), row
            if word[0].isupper() and word == german[0]:
                assert meant == [word]  # the name that a sentence begins with


def test_links_of_a_sentence_by_hand() -> None:
    (derivation,) = BOOK.world.parses("Helen Kowalski was born in Lund .")
    row = BOOK.row(derivation)
    assert row["x"] == "Helen Kowalski wurde in Lund geboren ."
    assert row["alignment"] == "0-0 1-1 2-2 5-3 3-4 4-5 6-6"
    (derivation,) = BOOK.world.parses("the girl remembers herself .")
    row = BOOK.row(derivation)
    assert row["x"] == "das Mädchen behält sich selbst im Gedächtnis ."
    assert row["alignment"] == "0-0 1-1 2-2 5?2 6?2 3-3 4?3 7-4"


def test_parts_are_the_same_every_time_and_have_no_sentence_in_common() -> None:
    rows = {part: list(BOOK.rows(part, 300, seed=2)) for part in PARTS}
    assert rows["train"] == list(BOOK.rows("train", 300, seed=2))
    assert rows["train"] != list(BOOK.rows("train", 300, seed=3))
    texts = [{row["w"] for row in rows[part]} for part in PARTS]
    assert not texts[0] & texts[1] and not texts[0] & texts[2] and not texts[1] & texts[2]
    with pytest.raises(IndicialError, match="the parts of phrasebook are train, validation, new"):
        next(BOOK.rows("test", 1))


def test_training_has_the_verbs_and_objects_of_new_sentences_with_others_only() -> None:
    assert not any(row["new"] for row in BOOK.rows("train", 300))
    assert all(row["new"] for row in BOOK.rows("new", 20))
    (derivation,) = BOOK.world.parses("the monk admires the librarian .")
    assert held_out(derivation) == ["admire librarian"]
    (derivation,) = BOOK.world.parses("the librarian whom the monk admires is ill .")
    assert held_out(derivation) == ["admire librarian"]
    words = {word for row in BOOK.rows("train", 1500) for word in row["w"].split()}
    assert words & {"admire", "admires"} and words & {"librarian", "librarians"}


def test_training_has_every_word() -> None:
    """Of the world, which has few words in few sentences only; a rare one may not have come up."""
    book = Phrasebook(world("village"))
    train = {word for row in book.rows("train", 1500) for word in f"{row['x']} {row['w']}".split()}
    for part in ("validation", "new"):
        for row in book.rows(part, 60):
            assert set(f"{row['x']} {row['w']}".split()) <= train


def test_a_translation_is_right_or_not() -> None:
    row = {"w": "Izmir lies in Turkey ."}
    assert is_right(" Izmir lies in Turkey .\n", row)
    assert not is_right("Izmir lies in Norway .", row)


def test_alignment_error_is_that_of_the_paper() -> None:
    links = read_links("0-0 1-2 2-1 3?1")
    assert links == [Link(0, 0), Link(1, 2), Link(2, 1), Link(3, 1, False)]
    assert " ".join(map(str, links)) == "0-0 1-2 2-1 3?1"
    perfect = np.zeros((4, 4))
    perfect[0, 0] = perfect[1, 2] = perfect[2, 1] = perfect[3, 0] = 1  # row 3 is asked nothing
    score = AlignmentScore()
    score.add(perfect, links)
    assert score.error == 0 and score.share == 1
    # A = {0-0, 3-1, 0-2}: one sure, two possible; |A| = |S| = 3
    other = np.zeros((4, 4))
    other[0, 0] = other[1, 3] = other[2, 0] = 1
    score = AlignmentScore()
    score.add(other, links)
    assert score.error == pytest.approx(1 - (1 + 2) / (3 + 3))
    score.add(perfect, links)
    assert score.error == pytest.approx(1 - (4 + 5) / (6 + 6))
