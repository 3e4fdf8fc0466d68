"""What may be said in a world, and how likely: the rules, made from the facts.

    Syntax(facts).expand(Phrase("fact", "masculine", "Hans Shaw", "born"))
        →  choice(4, "born_in", born_in=Phrase("word", about="York")), …

Two kinds of sentence take most of the room. Some speak of a person by name, and what they say is
true: whoever knows the facts can foretell it. Others speak of anybody (`the farmers whom the tall
doctor near the bridge visits admire themselves`), and whoever follows the grammar can foretell the
forms. The rest tells of towns, animals and things. Sentences are independent of one another.

Abstract syntax with probabilities: what may be said, before any words.

    grammar = Grammar(Phrase("sentence"), expand)
    derivation = grammar.sample(random.Random(1))
    derivation.log_probability      # the sum over its choices
    grammar.entropy()               # of all derivations, in nats: exact

A phrase is a category with features; a rule makes smaller phrases of it. `expand` says by which
rules, and no phrase may contain itself, so that there are finitely many derivations. Choices are
independent of one another given the phrase. If in addition no two derivations give the same words,
which is for a rendering to see to, then all that is said here of derivations holds of sentences.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from indicial.data.world import lists
from indicial.data.world.facts import Facts


class Phrase(NamedTuple):
    """What is to be said: `Phrase("fact", "masculine", "Hans Shaw", "born")`."""

    category: str
    form: str = ""
    """What agreement needs to know: masculine, feminine, common (gender unknown) or plural."""
    about: str = ""
    limit: str = ""
    """Whatever else decides which rules there are."""


class Choice(NamedTuple):
    """A rule as it is written down: its weight among those of its phrase, name and parts."""

    weight: float
    name: str
    parts: dict[str, Phrase]


def choice(weight: float, name: str, /, **parts: Phrase) -> Choice:
    """`choice(2, "lies_in", town=…, country=…)`; the parts are drawn in this order."""
    return Choice(weight, name, parts)


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    phrase: Phrase
    name: str
    probability: float
    log_probability: float
    parts: tuple[str, ...]
    children: tuple[Phrase, ...]


class Derivation(NamedTuple):
    """A rule, and how each of its children goes on."""

    rule: Rule
    children: tuple[Derivation, ...]

    @property
    def log_probability(self) -> float:
        return math.fsum(rule.log_probability for rule in self.rules())

    def rules(self) -> Iterator[Rule]:
        """All choices, from the top."""
        yield self.rule
        for child in self.children:
            yield from child.rules()

    def part(self, name: str) -> Derivation:
        return self.children[self.rule.parts.index(name)]


class Grammar:
    def __init__(self, start: Phrase, expand: Callable[[Phrase], Iterable[Choice]]) -> None:
        self.start = start
        self._expand = expand
        self._known: dict[Phrase, tuple[list[float], tuple[Rule, ...]]] = {}

    def rules(self, phrase: Phrase) -> tuple[Rule, ...]:
        """The ways to say a phrase; their probabilities add up to one."""
        return self._options(phrase)[1]

    def phrases(self) -> list[Phrase]:
        """All that may occur, each behind those that contain it for the first time."""
        found = {self.start: None}
        waiting = [self.start]
        while waiting:
            for rule in self.rules(waiting.pop()):
                fresh = [child for child in rule.children if child not in found]
                found.update(dict.fromkeys(fresh))
                waiting += fresh
        return list(found)

    def sample(self, rng: random.Random) -> Derivation:
        return self._sample(self.start, rng.random)

    def expectation(self, of: Callable[[Rule], float]) -> float:
        """The mean over derivations of the sum of `of(rule)` over their rules, exactly."""
        known: dict[Phrase, float] = {}

        def mean(phrase: Phrase) -> float:
            if phrase not in known:
                known[phrase] = math.fsum(
                    rule.probability * (of(rule) + sum(map(mean, rule.children)))
                    for rule in self.rules(phrase)
                )
            return known[phrase]

        return mean(self.start)

    def entropy(self) -> float:
        """Nats per derivation: by the chain rule the expected surprise of its choices."""
        return self.expectation(lambda rule: -rule.log_probability)

    def _options(self, phrase: Phrase) -> tuple[list[float], tuple[Rule, ...]]:
        if phrase not in self._known:
            choices = [choice for choice in self._expand(phrase) if choice.weight]
            total = math.fsum(choice.weight for choice in choices)
            rules = tuple(_rule(phrase, choice, total) for choice in choices)
            bounds = list(accumulate(rule.probability for rule in rules))
            self._known[phrase] = [*bounds[:-1], 1.0], rules  # whatever the rounding made of 1
        return self._known[phrase]

    def _sample(self, phrase: Phrase, draw: Callable[[], float]) -> Derivation:
        bounds, rules = self._known.get(phrase) or self._options(phrase)
        rule = rules[bisect_right(bounds, draw())] if len(rules) > 1 else rules[0]
        if not rule.children:
            return Derivation(rule, ())
        return Derivation(rule, tuple([self._sample(child, draw) for child in rule.children]))


def _rule(phrase: Phrase, choice: Choice, total: float) -> Rule:
    probability = choice.weight / total
    return Rule(
        phrase,
        choice.name,
        probability,
        math.log(probability),
        tuple(choice.parts),
        tuple(choice.parts.values()),
    )


DEEPEST = "2"
"""How deep relative clauses go: those in a clause as deep as this have none of their own."""

TOLD = {
    "born": (5, "4 born_in: born_in; 2 born_in_year: born_in born_year; 2 born_year: born_year; "
             "2 comes_from: comes_from"),
    "lives_in": (4, "4 lives_in: lives_in; 1 has_a_house: lives_in; 1 lives_near: lives_in landmark=landmark"),
    "works_as": (4, "2 works_as: works_as; 1 is_a: works_as; 2 works_in: works_as lives_in"),
    "speaks": (3, "2 speaks: speaks; 2 learned: learned; 2 speaks_both: speaks learned"),
    "plays": (3, "2 plays: plays; 2 plays_every: plays time=time"),
    "likes": (3, "3 likes: likes; 1 eats_every: likes time=time"),
    "owns": (4, "2 owns: owns owns_in_colour; 3 handles: owns owns_in_colour verb=handling"),
    "keeps": (4, "2 keeps: keeps calls_it; 3 cares_for: keeps calls_it verb=caring"),
    "married_to": (2, "1 married_to: other=name"),
    "friend_of": (2, "1 friend_of: other=name"),
    "self": (2, "1 self: verb=verb"),
}  # fmt: skip
"""What is told of a person: how often, and in which ways, each with how often it is chosen, its rule and the parts
of that. A part is what is true of the person, `born_in`, or a phrase of a category, `verb=caring`."""
AGREEING = ("verb", "caring", "handling")
"""Categories whose words agree with the person."""

BEINGS = {"common": 0.3, "masculine": 0.2, "feminine": 0.2, "plural": 0.3}
"""The forms of those who have no name, and how often. The gender of a job's name is not known."""


class Syntax:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.start = Phrase("sentence")
        self._categories = {
            "sentence": self._sentence,
            "person": self._person,
            "telling": self._telling,
            "fact": self._fact,
            "remark": self._remark,
            "anybody": self._anybody,
            "being": self._being,
            "such": self._such,
            "doing": self._doing,
            "deed": self._deed,
            "place": self._place,
            "site": self._site,
            "town": self._town,
            "animal": self._animal,
            "thing": self._thing,
        }

    def expand(self, phrase: Phrase) -> Iterator[Choice]:
        """The choices of a phrase. A phrase of any other category is a word of that category."""
        if phrase.category in self._categories:
            yield from self._categories[phrase.category](phrase)
        elif phrase.about:
            yield choice(1, phrase.about)
        else:
            yield from (choice(1, word) for word in self._words(phrase.category))

    def _words(self, category: str) -> Sequence[str]:
        words = {
            "verb": lists.VERBS,
            "caring": lists.CARE,
            "handling": lists.HANDLING,
            "adverb": lists.ADVERBS,
            "adjective": lists.ADJECTIVES,
            "state": lists.STATES,
            "preposition": lists.PREPOSITIONS,
            "landmark": lists.SITES,
            "time": lists.TIMES,
        }
        return {"pet": self.facts.animals}.get(category) or self.facts.few(words[category])

    def _sentence(self, _: Phrase) -> Iterator[Choice]:
        facts = self.facts
        fame = [(rank + 10) ** -0.5 for rank in range(len(facts.people))]
        for person, weight in zip(facts.people, fame, strict=True):
            about = Phrase("person", facts.value(person, "gender"), person)
            yield choice(0.62 * weight / sum(fame), "person", all=about)
        for form, share in BEINGS.items():
            yield choice(0.26 * share, "remark", all=Phrase("remark", form))
        kinds = (
            ("town", 0.07, facts.towns),
            ("animal", 0.02, facts.animals),
            ("thing", 0.03, facts.things),
        )
        for category, share, subjects in kinds:
            for subject in subjects:
                about = Phrase(category, "", subject)
                yield choice(share / len(subjects), category, all=about)

    # People by name, and what is true of them.

    def _person(self, phrase: Phrase) -> Iterator[Choice]:
        """One fact, or two different ones: the first in a clause aside, or both side by side."""
        _, form, person, _ = phrase
        name = {"name": Phrase("name", "", person)}
        anything = Phrase("telling", form, person)
        yield choice(6, "tells", **name, fact=anything)
        told = self._told(person)
        for first, often in told.items():
            fact, besides = (
                Phrase("fact", form, person, first),
                Phrase("telling", form, person, first),
            )
            for weight, how in ((7, "aside"), (3, "and")):
                share = weight * often / sum(told.values())
                yield choice(share, how, **name, first=fact, second=besides)
        job, town = self._value(person, "works_as"), self._value(person, "born_in")
        more = Phrase("telling", form, person, "works_as")
        yield choice(3, "apposition", **name, job=job, town=town, fact=more)
        for by, share in BEINGS.items():
            other, deed = Phrase("anybody", by, "", DEEPEST), Phrase("deed", by)
            yield choice(2 * share, "aside_whom", **name, other=other, deed=deed, fact=anything)

    def _told(self, person: str, besides: str = "") -> dict[str, int]:
        """What there is to tell of a person, besides what is told already, and how often."""
        lacking = "" if self.facts.has(person, "married_to") else "married_to"
        return {r: often for r, (often, _) in TOLD.items() if r not in (besides, lacking)}

    def _telling(self, phrase: Phrase) -> Iterator[Choice]:
        _, form, person, besides = phrase
        for relation, often in self._told(person, besides).items():
            yield choice(often, "telling", fact=Phrase("fact", form, person, relation))

    def _value(self, subject: str, relation: str, category: str = "word", form: str = "") -> Phrase:
        return Phrase(category, form, self.facts.value(subject, relation))

    def _fact(self, phrase: Phrase) -> Iterator[Choice]:
        """The ways to say a fact of a person, each with what it needs to know."""
        for way in TOLD[phrase.limit][1].split("; "):
            rule, _, listed = way.partition(": ")
            often, name = rule.split()
            parts = [part.partition("=") for part in listed.split()]
            yield choice(
                int(often), name, **{part: self._of(phrase, part, c) for part, _, c in parts}
            )

    def _of(self, phrase: Phrase, part: str, category: str) -> Phrase:
        """A part of a fact, by the table."""
        if category == "name":
            return self._value(phrase.about, phrase.limit, "name")
        if category:
            return Phrase(category, phrase.form if category in AGREEING else "")
        return self._value(phrase.about, part)

    # Anybody.

    def _remark(self, phrase: Phrase) -> Iterator[Choice]:
        """A sentence on each noun that has the form."""
        for noun in self._nouns(phrase.form):
            subject = Phrase("being", phrase.form, noun, "0")
            doing = Phrase("doing", phrase.form, noun, "0")
            yield choice(1, "somebody", subject=subject, doing=doing)

    def _nouns(self, form: str) -> list[str]:
        facts = self.facts
        nouns = [noun for noun in facts.nouns if form in (facts.value(noun, "gender"), "plural")]
        return nouns + (facts.jobs if form in ("common", "plural") else [])

    def _anybody(self, phrase: Phrase) -> Iterator[Choice]:
        for noun in self._nouns(phrase.form):
            being = Phrase("being", phrase.form, noun, phrase.limit)
            yield choice(1, "anybody", being=being)

    def _being(self, phrase: Phrase) -> Iterator[Choice]:
        yield choice(1, "the", such=phrase._replace(category="such"))

    def _such(self, phrase: Phrase) -> Iterator[Choice]:
        """`tall doctor near the bridge`: one clause or place at most, so that all is plain."""
        _, form, noun, depth = phrase
        head = Phrase("noun", form, noun)
        adjective, place = Phrase("adjective"), Phrase("place")
        yield choice(6, "noun", noun=head)
        yield choice(4, "adjective", adjective=adjective, noun=head)
        yield choice(3, "at", noun=head, place=place)
        yield choice(3, "adjective_at", adjective=adjective, noun=head, place=place)
        if depth < DEEPEST:
            often = 6 if depth == "0" else 2
            doing = Phrase("doing", form, noun, deeper(depth))
            yield choice(often, "who", noun=head, doing=doing)
            for by, share in BEINGS.items():
                other, deed = Phrase("anybody", by, "", deeper(depth)), Phrase("deed", by)
                yield choice(2 * often * share, "whom", noun=head, other=other, deed=deed)

    def _doing(self, phrase: Phrase) -> Iterator[Choice]:
        """What somebody does. It may end in a clause about somebody else, so nothing follows it."""
        _, form, noun, depth = phrase
        deed = Phrase("deed", form)
        for whom, share in BEINGS.items():
            other = Phrase("anybody", whom, "", deeper(depth))
            yield choice(5 * share, "does_to", deed=deed, other=other)
        yield choice(2, "is_so", state=Phrase("state"))
        if form != "common":
            yield choice(4, "does_to_self", deed=deed)
            yield choice(2, "cares", verb=Phrase("caring", form), animal=Phrase("pet", form))
        if self.facts.has(noun, "does"):
            yield choice(4, "job_place", works_in=self._value(noun, "works_in"))
            verb = self._value(noun, "does", "verb", form)
            yield choice(4, "job_deed", verb=verb, goods=self._value(noun, "does_it_to"))

    def _deed(self, phrase: Phrase) -> Iterator[Choice]:
        verb = Phrase("verb", phrase.form)
        yield choice(2, "deed", verb=verb)
        yield choice(1, "deed_when", adverb=Phrase("adverb"), verb=verb)

    def _place(self, _: Phrase) -> Iterator[Choice]:
        yield choice(1, "place", preposition=Phrase("preposition"), site=Phrase("site"))

    def _site(self, _: Phrase) -> Iterator[Choice]:
        landmark, towns = Phrase("landmark"), self.facts.towns
        yield choice(1, "site", landmark=landmark)
        for town in towns:
            name = Phrase("word", "", town)
            yield choice(1 / len(towns), "site_in", landmark=landmark, town=name)

    # Towns, animals, things.

    def _town(self, phrase: Phrase) -> Iterator[Choice]:
        town = phrase.about
        name = Phrase("word", "", town)
        country = self._value(town, "lies_in")
        language = self._value(country.about, "has_language")
        yield choice(2, "lies_in", town=name, country=country)
        yield choice(2, "famous_for", town=name, goods=self._value(town, "famous_for"))
        yield choice(2, "mayor", town=name, mayor=self._value(town, "has_mayor", "name"))
        yield choice(1, "spoken_in", language=language, town=name)

    def _animal(self, phrase: Phrase) -> Iterator[Choice]:
        for weight, form in ((1, "common"), (2, "plural")):
            animal = Phrase("pet", form, phrase.about)
            food = self._value(phrase.about, "eats")
            place = self._value(phrase.about, "sleeps_in")
            yield choice(weight, f"eats_{form}", animal=animal, food=food)
            yield choice(weight, f"sleeps_{form}", animal=animal, place=place)

    def _thing(self, phrase: Phrase) -> Iterator[Choice]:
        thing = Phrase("word", "", phrase.about)
        yield choice(1, "made_of", thing=thing, material=self._value(phrase.about, "made_of"))
        yield choice(1, "kept_in", thing=thing, place=self._value(phrase.about, "kept_in"))


def deeper(depth: str) -> str:
    """The depth of a clause inside; at the deepest it is the same, for there is no clause in it."""
    return str(min(int(depth) + 1, int(DEEPEST)))
