"""German for the derivations of a world, with the English words that each of its words stands for.

    derivation = world("people").parses("Helen Kowalski was born in Lund .")[0]
    " ".join(map(str, German(world).words(derivation)))  →  "Helen Kowalski wurde in Lund geboren ."
    [word.sure for word in …]                            →  [(0,), (1,), (2,), (4,), (5,), (3,), (6,)]

Each rule has a template, as in English, with words in another order: a verb is the second thing of a main
clause and the last one of a relative clause, and `whom she visits` is `who is visited by her`. A template is
a row of

    geboren=born        a word that stands for the word `born` of the English template
    selbst≈himself      the same, but the word has another that stands for it more closely
    der:such/dat=the    a word that agrees with a part (`.`: with the phrase itself) in a case
    {other/acc}         a part in a case; a part without one has the case of the whole
    {colour~thing/acc+} an adjective that agrees with a part, + after `ein` and `sein`
    {deed.participle}   a part in a way of its own: a clause with the verb last, a piece of a verb
    *wurde=was          the verb, which goes to the end of a relative clause
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from indicial.data.world import lists
from indicial.data.world.grammar import Derivation, Rule
from indicial.data.world.lists import GERMAN_ADJECTIVES, GERMAN_NOUNS, GERMAN_VERBS, WOMEN, WORDS
from indicial.data.world.rendering import Rendering, english

TEMPLATES = {
    # sentences
    "tells": "{name} {fact} .=.",
    "aside": "{name} ,=, rel:./nom=who {first.last} ,=,2 {second} .=.",
    "and": "{name} {first} und=and {second} .=.",
    "apposition": "{name} ,=, ein:./nom=a {job.job} aus=from {town} ,=,2 {fact} .=.",
    "aside_whom": "{name} ,=, rel:./whom=whom von {other/dat} {deed.adverb} {deed.participle} "
    "wird:.≈deed ,=,2 {fact} .=.",
    # facts of people
    "born_in": "*wurde=was in=in {born_in} geboren=born",
    "born_in_year": "*wurde=was im=in2 Jahr≈in2 {born_year} in=in {born_in} geboren=born",
    "born_year": "*wurde=was im=in Jahr≈in {born_year} geboren=born",
    "comes_from": "*kommt=comes aus=from {comes_from}",
    "lives_in": "*wohnt=lives in=in {lives_in}",
    "has_a_house": "*hat=has ein=a Haus=house in=in {lives_in}",
    "lives_near": "*wohnt=lives nahe=near der:landmark/dat=the {landmark/dat} in=in {lives_in}",
    "works_as": "*arbeitet=works als=as {works_as.job}",
    "is_a": "*ist=is {works_as.job}",
    "works_in": "*arbeitet=works in=in {lives_in} als=as {works_as.job}",
    "speaks": "*spricht=speaks {speaks}",
    "learned": "*lernte=learned {learned}",
    "speaks_both": "*spricht=speaks {speaks} und=and {learned}",
    "plays": "*spielt=plays {plays}",
    "plays_every": "*spielt=plays jeden=every {time} {plays}",
    "likes": "*mag=likes {likes}",
    "eats_every": "*isst=eats jeden=every {time} {likes}",
    "owns": "*besitzt=owns ein:owns/acc=a {owns_in_colour~owns/acc+} {owns/acc}",
    "handles": "*{verb} sein:owns/acc=his {owns_in_colour~owns/acc+} {owns/acc} {verb.prefix}",
    "keeps": "*hat=has ein:keeps/acc=a {keeps/acc} namens=called {calls_it}",
    "cares_for": "*{verb} sein:keeps/acc=his {keeps/acc} {calls_it}",
    "married_to": "*ist=is mit=to {other} verheiratet=married",
    "self": "*{verb} sich=himself selbst≈himself {verb.prefix}",
    "friend_of": "*ist=is ein:./nom=a Freund:.=friend von=of {other}",
    # anybody
    "somebody": "{subject} {doing} .=.",
    "the": "der:such=the {such}",
    "adjective": "{adjective~noun} {noun}",
    "at": "{noun} {place}",
    "adjective_at": "{adjective~noun} {noun} {place}",
    "who": "{noun} , rel:noun/nom=who {doing.last} ,",
    "whom": "{noun} , rel:noun/whom=whom von {other/dat} {deed.adverb} {deed.participle} "
    "wird:noun≈deed ,",
    "does_to": "*{deed} {deed.adverb} {other/object} {deed.prefix}",
    "does_to_self": "*{deed} sich=himself selbst≈himself {deed.adverb} {deed.prefix}",
    "is_so": "*ist:.=is {state}",
    "cares": "*{verb} sein:animal/acc=his {animal/acc}",
    "job_place": "*arbeitet:.=works in:works_in=in+the {works_in/dat}",
    "job_deed": "*{verb} {goods/acc} {verb.prefix}",
    "deed": "{verb}",
    "deed.adverb": "",
    "deed_when": "{verb}",
    "deed_when.adverb": "{adverb}",
    "place": "{preposition} {site/dat}",
    "site": "der:landmark/dat=the {landmark/dat}",
    "site_in": "der:landmark/dat=the {landmark/dat} in=in {town}",
    # towns, animals, things
    "lies_in": "{town} liegt=lies in=in {country} .=.",
    "famous_for": "{town} ist=is für=for sein:goods/acc=its {goods/acc} bekannt=known .=.",
    "mayor": "der:mayor/nom=the Bürgermeister:mayor=mayor von=of {town} ist=is {mayor} .=.",
    "spoken_in": "in=in {town} wird=is {language} gesprochen=spoken .=.",
    "eats_common": "ein:animal/nom=a {animal} frisst=eats {food} .=.",
    "eats_plural": "{animal} fressen=eat {food} .=.",
    "sleeps_common": "ein:animal/nom=a {animal} schläft=sleeps in:place=in+the {place/dat} .=.",
    "sleeps_plural": "{animal} schlafen=sleep in:place=in+the {place/dat} .=.",
    "made_of": "der:thing/nom=the {thing} ist=is aus=of {material} gemacht=made .=.",
    "kept_in": "der:thing/nom=the {thing} wird=is in:place=in+the2 {place/dat} aufbewahrt=kept .=.",
}  # fmt: skip
"""A rule that is not here and has parts is its only part."""

GENDERS = "mfnp"
CASES = {
    "der": {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem den"},
    "rel": {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem denen"},
    "": {"nom": "- e - e", "acc": "en e - e", "dat": "em er em en"},
}
"""By case and gender; "" are the endings of ein and sein."""
WEAK = {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en"}
MIXED = {"nom": "er e es en", "acc": "en e es en", "dat": "en en en en"}
FORMS = {
    "ist": ("ist", "ist", "sind"),
    "wird": ("wird", "wird", "werden"),
    "arbeitet": ("arbeitet", "arbeitet", "arbeiten"),
    "Freund": ("Freund", "Freundin", "Freunde"),
    "Bürgermeister": ("Bürgermeister", "Bürgermeisterin", "Bürgermeister"),
}
"""Masculine and neuter, feminine, plural."""
FUSED = {"in": "im", "an": "am"}
"""With `dem`."""


@dataclass(frozen=True)
class GermanWord:
    text: str
    sure: tuple[int, ...] = ()
    """The English words that it stands for, counted from 0."""
    possible: tuple[int, ...] = ()
    """Those that another word stands for more closely."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Place:
    """What a part is asked to be where it stands."""

    case: str = "nom"
    way: str = ""
    ending: str = ""
    """Of an adjective."""
    woman: bool = False


@dataclass(frozen=True)
class _Token:
    verb: bool
    part: str = ""
    way: str = ""
    with_part: str = ""
    case: str = ""
    mixed: bool = False
    word: str = ""
    sign: str = ""
    keys: tuple[str, ...] = ()


_PART = re.compile(r"\{(\w+)(?:\.(\w+))?(?:~(\w+))?(?:/(\w+))?(\+?)\}")
_WORD = re.compile(r"([^:=≈]+)(?::([\w.]+)(?:/(\w+))?)?(?:([=≈])(\S+))?")


class German:
    """The second language of a world."""

    def __init__(self, rendering: Rendering) -> None:
        self._english = rendering

    def words(self, derivation: Derivation) -> list[GermanWord]:
        own: dict[tuple[int, ...], list[int]] = {}
        self._places(derivation, (), own, [0])
        return list(_tidy(list(_Sentence(own).say(derivation, (), _Place()))))

    def _places(
        self, node: Derivation, path: tuple[int, ...], own: dict[tuple[int, ...], list[int]],
        count: list[int],
    ) -> None:  # fmt: skip
        """Where the English words of each rule stand, in the order of its template."""
        own[path] = []
        for item in self._english.template(node.rule).flat:
            if isinstance(item, str):
                own[path].append(count[0])
                count[0] += 1
            else:
                self._places(node.children[item], (*path, item), own, count)


@dataclass
class _Sentence:
    own: dict[tuple[int, ...], list[int]]

    def say(self, node: Derivation, path: tuple[int, ...], place: _Place) -> Iterator[GermanWord]:
        if not node.children:
            yield from self._leaf(node, path, place)
            return
        last = place.way == "last"
        tokens = _tokens(_template(node.rule, place.way))
        kept = [t for t in tokens if not (last and (t.verb or t.way == "prefix"))]
        for token in kept:
            yield from self._token(token, node, path, place)
        if last:
            for token in (t for t in tokens if t.verb):
                yield from self._token(token, node, path, place, "final")

    def _token(
        self, token: _Token, node: Derivation, path: tuple[int, ...], place: _Place, way: str = ""
    ) -> Iterator[GermanWord]:
        case = self._case(token.case, node) if token.case else place.case
        if not token.part:
            for number, text in enumerate(self._inflected(token, node, case)):
                yield self._linked(text, token, node, path, number)
            return
        number = node.rule.parts.index(token.part)
        ending = ""
        if token.with_part:
            gender = _gender(node.part(token.with_part))
            ending = _of(MIXED if token.mixed else WEAK, case, gender)
        woman = node.rule.phrase.form == "feminine"
        inner = _Place(case, way or token.way or ("" if token.verb else place.way), ending, woman)
        yield from self.say(node.children[number], (*path, number), inner)

    def _case(self, case: str, node: Derivation) -> str:
        """The case of an object, or of the pronoun for it in a passive clause, is for the verb to say."""
        if case not in ("object", "whom"):
            return case
        governed = GERMAN_VERBS[_verb(node).rule.name].case
        return "nom" if case == "whom" and governed == "acc" else governed

    def _inflected(self, token: _Token, node: Derivation, case: str) -> list[str]:
        """A word as it agrees with a part; `in dem` is one word in German, `in der` are two."""
        word, part = token.word, token.with_part
        if not part:
            return [word]
        gender = _gender(node if part == "." else node.part(part))
        if word in ("ein", "sein"):
            owned = word == "sein" and node.rule.phrase.form in ("feminine", "plural")
            return [("ihr" if owned else word) + _of(CASES[""], case, gender)]
        if word == "in":
            preposition = GERMAN_NOUNS[_noun(node.part(part))].preposition
            if gender in "mn" and preposition in FUSED:
                return [FUSED[preposition]]
            return [preposition, _of(CASES["der"], "dat", gender)]
        if word == "wird" and GERMAN_VERBS[_verb(node).rule.name].case == "dat":
            return ["wird"]  # ihnen wird geholfen
        if word in FORMS:
            return [FORMS[word]["mfp".index(gender.replace("n", "m"))]]
        return [_of(CASES[word], case, gender)]

    def _linked(
        self, text: str, token: _Token, node: Derivation, path: tuple[int, ...], number: int
    ) -> GermanWord:
        if not token.sign:
            return GermanWord(text)
        if token.keys == ("deed",):
            found = list(self.own[_path_to_verb(node, path)])
        else:
            names = _keys(english(node.rule))
            found = [self.own[path][names.index(key)] for key in token.keys]
        if token.word == "in" and len(found) == 2 and text not in FUSED.values():
            found = [found[number]]
        return (
            GermanWord(text, tuple(found))
            if token.sign == "="
            else GermanWord(text, (), tuple(found))
        )

    def _leaf(self, node: Derivation, path: tuple[int, ...], place: _Place) -> Iterator[GermanWord]:
        words = _word(node, place).split()
        positions = self.own[path]
        if len(words) == len(positions) and place.way != "prefix":
            yield from (GermanWord(w, (n,)) for w, n in zip(words, positions, strict=True))
            return
        for number, word in enumerate(words, 1):
            closest = number == len(words) and place.way != "prefix"
            some = tuple(positions)
            yield GermanWord(word, some) if closest else GermanWord(word, (), some)


def _word(node: Derivation, place: _Place) -> str:
    """A word of the lexicon in the form that its place asks for."""
    category, form, *_ = node.rule.phrase
    name = node.rule.name
    if category in ("verb", "caring", "handling"):
        return GERMAN_VERBS[name].form(place.way, form == "plural")
    if place.ending:
        return GERMAN_ADJECTIVES[name] + place.ending
    if place.way == "job" and place.woman:
        return WOMEN.get(name, GERMAN_NOUNS[name].one + "in")
    if name in GERMAN_NOUNS and category != "name":
        return GERMAN_NOUNS[name].form(place.case, form == "plural")
    return WORDS.get(name, name)


def _template(rule: Rule, way: str) -> str:
    found = TEMPLATES.get(f"{rule.name}.{way}", TEMPLATES.get(rule.name))
    return found if found is not None else f"{{{rule.parts[0]}}}"


@cache
def _tokens(template: str) -> tuple[_Token, ...]:
    return tuple(map(_token, template.split()))


def _token(text: str) -> _Token:
    verb, text = text.startswith("*"), text.removeprefix("*")
    if match := _PART.fullmatch(text):
        part, way, with_part, case, mixed = match.groups(default="")
        return _Token(verb, part, way, with_part, case, bool(mixed))
    match = _WORD.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no item of a German template")
    word, with_part, case, sign, keys = match.groups(default="")
    return _Token(verb, with_part=with_part, case=case, word=word, sign=sign,
                  keys=tuple(keys.split("+")) if keys else ())  # fmt: skip


@cache
def _keys(template: str) -> tuple[str, ...]:
    """The words of an English template, as German ones name them: `in`, and the second one `in2`."""
    found: list[str] = []
    for item in template.split():
        if item[0] not in "{()":
            word = item.split(":")[0].split("|")[0]
            again = sum(key.rstrip("2") == word for key in found)
            found.append(word + ("2" if again else ""))
    return tuple(found)


def _verb(node: Derivation) -> Derivation:
    return node.part("deed").part("verb")


def _path_to_verb(node: Derivation, path: tuple[int, ...]) -> tuple[int, ...]:
    deed = node.part("deed")
    return (*path, node.rule.parts.index("deed"), deed.rule.parts.index("verb"))


def _noun(node: Derivation) -> str:
    return node.rule.phrase.about or node.rule.name


def _gender(node: Derivation) -> str:
    """What agrees with a phrase: m, f, n, or p for the plural."""
    category, form, about, _ = node.rule.phrase
    if form == "plural":
        return "p"
    if category == "name":
        return "f" if about.split()[0] in lists.FEMALE else "m"
    if category in ("person", "fact"):
        return "f" if form == "feminine" else "m"
    return GERMAN_NOUNS[_noun(node)].gender if _noun(node) in GERMAN_NOUNS else "m"


def _of(table: dict[str, str], case: str, gender: str) -> str:
    return table[case].split()[GENDERS.index(gender)].removeprefix("-")


def _tidy(words: list[GermanWord]) -> Iterator[GermanWord]:
    """Of several marks at the end of clauses one stays: the comma, or the full stop."""
    for word, following in zip(words, [*words[1:], GermanWord("")], strict=True):
        if not (word.text == "," and following.text in (",", ".")):
            yield word
