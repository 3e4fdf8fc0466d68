"""What may be said in a world, and how likely: the rules, made from the facts.

    Syntax(facts).expand(Phrase("fact", "feminine", "Maria Keller", "born"))
        →  Choice(4, "born_in", {"born_in": Phrase("word", about="Oslo")}), …

Two kinds of sentence take most of the room. Some speak of a person by name, and what they say is
true: whoever knows the facts can foretell it. Others speak of anybody (`the farmers whom the tall
doctor near the bridge visits admire themselves`), and whoever follows the grammar can foretell the
forms. The rest tells of towns, animals and things. Sentences are independent of one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indicial.data.world import lists
from indicial.data.world.facts import Facts
from indicial.data.world.grammar import Choice, Phrase

DEEPEST = "2"
"""How deep relative clauses go: those in a clause as deep as this have none of their own."""

TOLD = {
    "born": 5,
    "lives_in": 4,
    "works_as": 4,
    "speaks": 3,
    "plays": 3,
    "likes": 3,
    "owns": 4,
    "keeps": 4,
    "married_to": 2,
    "friend_of": 2,
    "self": 2,
}
"""What is told of a person, and how often."""

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
            yield Choice(1, phrase.about)
        else:
            yield from (Choice(1, word) for word in self._words(phrase.category))

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
            yield Choice(0.62 * weight / sum(fame), "person", {"all": about})
        for form, share in BEINGS.items():
            yield Choice(0.26 * share, "remark", {"all": Phrase("remark", form)})
        kinds = (
            ("town", 0.07, facts.towns),
            ("animal", 0.02, facts.animals),
            ("thing", 0.03, facts.things),
        )
        for category, share, subjects in kinds:
            for subject in subjects:
                about = Phrase(category, "", subject)
                yield Choice(share / len(subjects), category, {"all": about})

    # People by name, and what is true of them.

    def _person(self, phrase: Phrase) -> Iterator[Choice]:
        """One fact, or two different ones: the first in a clause aside, or both side by side."""
        _, form, person, _ = phrase
        name = {"name": Phrase("name", "", person)}
        anything = Phrase("telling", form, person)
        yield Choice(6, "tells", {**name, "fact": anything})
        told = self._told(person)
        for first, often in told.items():
            second = Phrase("telling", form, person, first)
            parts = {**name, "first": Phrase("fact", form, person, first), "second": second}
            yield Choice(7 * often / sum(told.values()), "aside", parts)
            yield Choice(3 * often / sum(told.values()), "and", parts)
        job, town = self._value(person, "works_as"), self._value(person, "born_in")
        more = Phrase("telling", form, person, "works_as")
        yield Choice(3, "apposition", {**name, "job": job, "town": town, "fact": more})
        for by, share in BEINGS.items():
            others = {"other": Phrase("anybody", by, "", DEEPEST), "deed": Phrase("deed", by)}
            yield Choice(2 * share, "aside_whom", {**name, **others, "fact": anything})

    def _told(self, person: str, besides: str = "") -> dict[str, int]:
        """What there is to tell of a person, besides what is told already, and how often."""
        lacking = "" if self.facts.has(person, "married_to") else "married_to"
        return {r: often for r, often in TOLD.items() if r not in (besides, lacking)}

    def _telling(self, phrase: Phrase) -> Iterator[Choice]:
        _, form, person, besides = phrase
        for relation, often in self._told(person, besides).items():
            yield Choice(often, "telling", {"fact": Phrase("fact", form, person, relation)})

    def _value(self, subject: str, relation: str, category: str = "word", form: str = "") -> Phrase:
        return Phrase(category, form, self.facts.value(subject, relation))

    def _fact(self, phrase: Phrase) -> Iterator[Choice]:
        """The ways to say a fact of a person, each with what it needs to know."""
        _, form, person, relation = phrase

        def say(weight: float, name: str, *relations: str, **parts: Phrase) -> Choice:
            known = {r: self._value(person, r) for r in relations}
            return Choice(weight, name, {**known, **parts})

        match relation:
            case "born":
                yield say(4, "born_in", "born_in")
                yield say(2, "born_in_year", "born_in", "born_year")
                yield say(2, "born_year", "born_year")
                yield say(2, "comes_from", "comes_from")
            case "lives_in":
                yield say(4, "lives_in", "lives_in")
                yield say(1, "has_a_house", "lives_in")
                yield say(1, "lives_near", "lives_in", landmark=Phrase("landmark"))
            case "works_as":
                yield say(2, "works_as", "works_as")
                yield say(1, "is_a", "works_as")
                yield say(2, "works_in", "works_as", "lives_in")
            case "speaks":
                yield say(2, "speaks", "speaks")
                yield say(2, "learned", "learned")
                yield say(2, "speaks_both", "speaks", "learned")
            case "plays":
                yield say(2, "plays", "plays")
                yield say(2, "plays_every", "plays", time=Phrase("time"))
            case "likes":
                yield say(3, "likes", "likes")
                yield say(1, "eats_every", "likes", time=Phrase("time"))
            case "owns":
                handling = Phrase("handling", form)
                yield say(2, "owns", "owns", "owns_in_colour")
                yield say(3, "handles", "owns", "owns_in_colour", verb=handling)
            case "keeps":
                yield say(2, "keeps", "keeps", "calls_it")
                yield say(3, "cares_for", "keeps", "calls_it", verb=Phrase("caring", form))
            case "married_to" | "friend_of":
                other = self._value(person, relation, "name")
                yield say(1, relation, other=other)
            case "self":
                yield say(1, "self", verb=Phrase("verb", form))

    # Anybody.

    def _remark(self, phrase: Phrase) -> Iterator[Choice]:
        """A sentence on each noun that has the form."""
        for noun in self._nouns(phrase.form):
            subject = Phrase("being", phrase.form, noun, "0")
            yield Choice(
                1,
                "somebody",
                {"subject": subject, "doing": Phrase("doing", phrase.form, noun, "0")},
            )

    def _nouns(self, form: str) -> list[str]:
        facts = self.facts
        nouns = [noun for noun in facts.nouns if form in (facts.value(noun, "gender"), "plural")]
        return nouns + (facts.jobs if form in ("common", "plural") else [])

    def _anybody(self, phrase: Phrase) -> Iterator[Choice]:
        for noun in self._nouns(phrase.form):
            yield Choice(1, "anybody", {"being": Phrase("being", phrase.form, noun, phrase.limit)})

    def _being(self, phrase: Phrase) -> Iterator[Choice]:
        yield Choice(1, "the", {"such": phrase._replace(category="such")})

    def _such(self, phrase: Phrase) -> Iterator[Choice]:
        """`tall doctor near the bridge`: one clause or place at most, so that all is plain."""
        _, form, noun, depth = phrase
        head = {"noun": Phrase("noun", form, noun)}
        adjective, place = {"adjective": Phrase("adjective")}, {"place": Phrase("place")}
        yield Choice(6, "noun", head)
        yield Choice(4, "adjective", {**adjective, **head})
        yield Choice(3, "at", {**head, **place})
        yield Choice(3, "adjective_at", {**adjective, **head, **place})
        if depth < DEEPEST:
            often = 6 if depth == "0" else 2
            yield Choice(
                often, "who", {**head, "doing": Phrase("doing", form, noun, deeper(depth))}
            )
            for by, share in BEINGS.items():
                others = {
                    "other": Phrase("anybody", by, "", deeper(depth)),
                    "deed": Phrase("deed", by),
                }
                yield Choice(2 * often * share, "whom", {**head, **others})

    def _doing(self, phrase: Phrase) -> Iterator[Choice]:
        """What somebody does. It may end in a clause about somebody else, so nothing follows it."""
        _, form, noun, depth = phrase
        deed = {"deed": Phrase("deed", form)}
        for whom, share in BEINGS.items():
            yield Choice(
                5 * share, "does_to", {**deed, "other": Phrase("anybody", whom, "", deeper(depth))}
            )
        yield Choice(2, "is_so", {"state": Phrase("state")})
        if form != "common":
            yield Choice(4, "does_to_self", deed)
            yield Choice(
                2, "cares", {"verb": Phrase("caring", form), "animal": Phrase("pet", form)}
            )
        if self.facts.has(noun, "does"):
            yield Choice(4, "job_place", {"works_in": self._value(noun, "works_in")})
            verb = self._value(noun, "does", "verb", form)
            yield Choice(4, "job_deed", {"verb": verb, "goods": self._value(noun, "does_it_to")})

    def _deed(self, phrase: Phrase) -> Iterator[Choice]:
        verb = {"verb": Phrase("verb", phrase.form)}
        yield Choice(2, "deed", verb)
        yield Choice(1, "deed_when", {"adverb": Phrase("adverb"), **verb})

    def _place(self, _: Phrase) -> Iterator[Choice]:
        yield Choice(1, "place", {"preposition": Phrase("preposition"), "site": Phrase("site")})

    def _site(self, _: Phrase) -> Iterator[Choice]:
        yield Choice(2, "site", {"landmark": Phrase("landmark")})
        for town in self.facts.towns:
            parts = {"landmark": Phrase("landmark"), "town": Phrase("word", "", town)}
            yield Choice(2 / len(self.facts.towns), "site_in", parts)

    # Towns, animals, things.

    def _town(self, phrase: Phrase) -> Iterator[Choice]:
        town = phrase.about
        name = {"town": Phrase("word", "", town)}
        country = self._value(town, "lies_in")
        language = self._value(country.about, "has_language")
        yield Choice(2, "lies_in", {**name, "country": country})
        yield Choice(2, "famous_for", {**name, "goods": self._value(town, "famous_for")})
        yield Choice(2, "mayor", {**name, "mayor": self._value(town, "has_mayor", "name")})
        yield Choice(1, "spoken_in", {"language": language, **name})

    def _animal(self, phrase: Phrase) -> Iterator[Choice]:
        for weight, form in ((1, "common"), (2, "plural")):
            animal = {"animal": Phrase("pet", form, phrase.about)}
            yield Choice(
                weight, f"eats_{form}", {**animal, "food": self._value(phrase.about, "eats")}
            )
            sleeps = self._value(phrase.about, "sleeps_in")
            yield Choice(weight, f"sleeps_{form}", {**animal, "place": sleeps})

    def _thing(self, phrase: Phrase) -> Iterator[Choice]:
        thing = {"thing": Phrase("word", "", phrase.about)}
        yield Choice(1, "made_of", {**thing, "material": self._value(phrase.about, "made_of")})
        yield Choice(1, "kept_in", {**thing, "place": self._value(phrase.about, "kept_in")})


def deeper(depth: str) -> str:
    """The depth of a clause inside; at the deepest it is the same, for there is no clause in it."""
    return str(min(int(depth) + 1, int(DEEPEST)))
