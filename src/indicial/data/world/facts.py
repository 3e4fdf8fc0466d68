"""What is true in a world: made once from a seed, and never changed.

    facts = make_facts(PEOPLE)
    facts.records[80]                    →  Fact("Hans Shaw", "born_in", "York")
    facts.value("Hans Shaw", "born_in")  →  "York"

A fact is a subject, a relation and a value, all of them words. Grammar, renderings, questions and
pictures read them; none adds to them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from indicial.data.world import lists


class Fact(NamedTuple):
    subject: str
    relation: str
    value: str


@dataclass(frozen=True)
class Recipe:
    """How much there is of what: a world is made of the first entries of each list."""

    name: str
    seed: int
    people: int
    towns: int
    jobs: int
    nouns: int
    """Nouns for people that tell the gender."""
    kinds: int
    """Animals; there are twice as many things."""
    words: int
    """Adjectives, verbs, foods and the like, of each at most so many."""


PEOPLE = Recipe("people", 1, people=80, towns=42, jobs=30, nouns=20, kinds=10, words=40)
VILLAGE = Recipe("village", 2, people=12, towns=6, jobs=6, nouns=6, kinds=4, words=6)
RECIPES = {recipe.name: recipe for recipe in (PEOPLE, VILLAGE)}


@dataclass(frozen=True)
class Facts:
    """The facts of a world, and who and what there is."""

    recipe: Recipe
    people: list[str]
    """The most talked-about first."""
    towns: list[str]
    countries: list[str]
    jobs: list[str]
    nouns: list[str]
    animals: list[str]
    things: list[str]
    records: list[Fact] = field(default_factory=list)
    _values: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)

    def add(self, subject: str, relation: str, value: str) -> None:
        self.records.append(Fact(subject, relation, value))
        self._values[subject, relation] = value

    def value(self, subject: str, relation: str) -> str:
        """`value("Oslo", "lies_in")` → `"Norway"`; KeyError where there is no such fact."""
        return self._values[subject, relation]

    def has(self, subject: str, relation: str) -> bool:
        return (subject, relation) in self._values

    def few(self, words: Sequence[str]) -> list[str]:
        """As many words of a list as the world is large."""
        return list(words[: self.recipe.words])


def make_facts(recipe: Recipe) -> Facts:
    """All facts of a world; the same recipe gives the same facts everywhere."""
    rng = random.Random(f"facts of {recipe.name} {recipe.seed}")
    towns = list(lists.TOWNS)[: recipe.towns]
    women, men = (
        [(given, gender) for given in names[: recipe.words]]
        for names, gender in ((lists.FEMALE, "feminine"), (lists.MALE, "masculine"))
    )
    people = _name_people(rng, recipe.people, women + men)
    facts = Facts(
        recipe,
        people=list(people),
        towns=towns,
        countries=list(dict.fromkeys(lists.TOWNS[town] for town in towns)),
        jobs=list(lists.JOBS)[: recipe.jobs],
        nouns=list(lists.PEOPLE_NOUNS)[: recipe.nouns],
        animals=list(lists.ANIMALS)[: recipe.kinds],
        things=list(lists.THINGS)[: 2 * recipe.kinds],
    )
    for person, gender in people.items():
        facts.add(person, "gender", gender)
    _add_lives(rng, facts)
    _add_pairs(rng, facts)
    _add_places(rng, facts)
    _add_kinds(facts)
    return facts


def deal(rng: random.Random, words: Sequence[str], count: int) -> list[str]:
    """Values for `count` subjects, each word about as often: packs, shuffled and dealt out."""
    dealt: list[str] = []
    while len(dealt) < count:
        dealt += shuffled(rng, words)
    return dealt[:count]


def shuffled(rng: random.Random, words: Sequence[str]) -> list[str]:
    """In another order; from `random()` alone, which gives the same in every version of Python."""
    return [word for _, word in sorted((rng.random(), word) for word in words)]


def _name_people(
    rng: random.Random, count: int, given: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """So many different full names, each with its gender."""
    gender = dict(given)
    surnames = lists.SURNAMES[: max(4, count // 2)]
    people: dict[str, str] = {}
    while len(people) < count:
        firsts = deal(rng, list(gender), count)
        lasts = deal(rng, surnames, count)
        for first, last in zip(firsts, lasts, strict=True):
            people.setdefault(f"{first} {last}", gender[first])
    return dict(islice(people.items(), count))


def _add_lives(rng: random.Random, facts: Facts) -> None:
    """What each person is, has and likes."""
    choices = {
        "born_in": facts.towns,
        "born_year": facts.few(lists.YEARS),
        "lives_in": facts.towns,
        "works_as": facts.jobs,
        "plays": facts.few(lists.INSTRUMENTS),
        "likes": facts.few(lists.FOODS),
        "owns": facts.things,
        "owns_in_colour": facts.few(lists.COLOURS),
        "keeps": facts.animals,
        "calls_it": facts.few(lists.PET_NAMES),
    }
    for relation, values in choices.items():
        for person, value in zip(facts.people, deal(rng, values, len(facts.people)), strict=True):
            facts.add(person, relation, value)
    for person in facts.people:
        country = lists.TOWNS[facts.value(person, "born_in")]
        facts.add(person, "comes_from", country)
        facts.add(person, "speaks", lists.LANGUAGES[country])
        foreign = [lists.LANGUAGES[other] for other in facts.countries if other != country]
        facts.add(person, "learned", foreign[int(rng.random() * len(foreign))])


def _add_pairs(rng: random.Random, facts: Facts) -> None:
    """Who is married to whom (two people in three are), and who is whose friend (everybody)."""
    order = shuffled(rng, facts.people)
    for first, second in zip(order[0::3], order[1::3], strict=False):
        facts.add(first, "married_to", second)
        facts.add(second, "married_to", first)
    circle = shuffled(rng, facts.people)
    for person, friend in zip(circle, [*circle[1:], circle[0]], strict=True):
        facts.add(person, "friend_of", friend)


def _add_places(rng: random.Random, facts: Facts) -> None:
    famous = deal(rng, [lists.JOBS[job][2] for job in facts.jobs], len(facts.towns))
    mayors = shuffled(rng, facts.people)
    for town, product, mayor in zip(facts.towns, famous, mayors, strict=False):
        facts.add(town, "lies_in", lists.TOWNS[town])
        facts.add(town, "famous_for", product)
        facts.add(town, "has_mayor", mayor)
    for country in facts.countries:
        facts.add(country, "has_language", lists.LANGUAGES[country])


def _add_kinds(facts: Facts) -> None:
    for job in facts.jobs:
        place, verb, goods = lists.JOBS[job]
        facts.add(job, "works_in", place)
        facts.add(job, "does", verb)
        facts.add(job, "does_it_to", goods)
    for noun in facts.nouns:
        facts.add(noun, "gender", lists.PEOPLE_NOUNS[noun][0])
    for animal in facts.animals:
        food, place = lists.ANIMALS[animal]
        facts.add(animal, "eats", food)
        facts.add(animal, "sleeps_in", place)
    for thing in facts.things:
        material, place = lists.THINGS[thing]
        facts.add(thing, "made_of", material)
        facts.add(thing, "kept_in", place)
