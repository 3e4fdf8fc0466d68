"""Templates: how a derivation becomes words, and which word each word depends on; those of English.

    english(rule "born_in")       →  "was:aux:pass born ( in:case {born_in} ):obl"
    english(rule "man", plural)   →  "man|men"

A template is a row of items: a word, the name of a part in braces, or a phrase in brackets. Behind
a colon stands the relation of the item to its head, one of Universal Dependencies; the one item without a relation is
the head. `has|have` is chosen by number, `his|her|their` by gender and number, and `a` becomes `an` before a
word that wants it.

A rendering is a function from rules to templates; another language is another such function.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from indicial.data.world import lists
from indicial.data.world.grammar import Derivation, Grammar, Phrase, Rule

FORMS = {"": 0, "common": 0, "masculine": 0, "feminine": 1, "plural": 2}
ITEM = re.compile(r"\{(\w+)\}|([^\s{}:]+)")


@dataclass(frozen=True)
class Item:
    """A word, the number of a child, or a phrase, with its relation ("" if it is the head)."""

    what: str | int | tuple[Item, ...]
    relation: str


class Dependency(NamedTuple):
    """A word's head, counted from 1 (0: the root), and its relation to it, as in CoNLL-U."""

    head: int
    relation: str


@dataclass(frozen=True, slots=True)
class Template:
    items: tuple[Item, ...]
    flat: tuple[str | int, ...]
    """Words and numbers of children in the order in which they are said."""

    @classmethod
    def of(cls, items: tuple[Item, ...]) -> Template:
        return cls(items, tuple(_flat(items)))


class Rendering:
    """A language for a grammar: `Rendering(grammar, english)`."""

    def __init__(self, grammar: Grammar, text: Callable[[Rule], str]) -> None:
        self.grammar = grammar
        self._text = text
        self._templates: dict[Rule, Template] = {}

    def template(self, rule: Rule) -> Template:
        if rule not in self._templates:
            text = self._text(rule)
            template = parse_template(text, rule.phrase.form, rule.parts)
            if "a:det" in text:
                template = Template.of(self._with_articles(template.items, rule))
            self._templates[rule] = template
        return self._templates[rule]

    def words(self, derivation: Derivation) -> list[str]:
        words: list[str] = []
        self._say(derivation, words)
        return words

    def dependencies(self, derivation: Derivation) -> list[Dependency]:
        """The dependency tree, one entry for each word."""
        found: list[tuple[int, str]] = []
        root = self._attach(derivation, found)
        found[root - 1] = (0, "root")
        return [Dependency(head, relation) for head, relation in found]

    def words_per_sentence(self) -> float:
        """The expected number of words, exactly."""
        return self.grammar.expectation(
            lambda rule: sum(isinstance(part, str) for part in self.template(rule).flat)
        )

    def vocabulary(self) -> list[str]:
        """All words that occur, sorted."""
        grammar = self.grammar
        templates = (self.template(r) for p in grammar.phrases() for r in grammar.rules(p))
        return sorted({part for t in templates for part in t.flat if isinstance(part, str)})

    def _say(self, derivation: Derivation, words: list[str]) -> None:
        rule = derivation.rule
        for part in (self._templates.get(rule) or self.template(rule)).flat:
            if isinstance(part, str):
                words.append(part)
            else:
                self._say(derivation.children[part], words)

    def _attach(self, derivation: Derivation, found: list[tuple[int, str]]) -> int:
        """Adds the words of a derivation; the number of its head word."""

        def attach(items: tuple[Item, ...]) -> int:
            heads = []
            for item in items:
                if isinstance(item.what, str):
                    found.append((0, ""))
                    heads.append(len(found))
                elif isinstance(item.what, int):
                    heads.append(self._attach(derivation.children[item.what], found))
                else:
                    heads.append(attach(item.what))
            top = next(n for n, item in zip(heads, items, strict=True) if not item.relation)
            for number, item in zip(heads, items, strict=True):
                if item.relation:
                    found[number - 1] = (top, item.relation)
            return top

        return attach(self.template(derivation.rule).items)

    def _with_articles(self, items: tuple[Item, ...], rule: Rule) -> tuple[Item, ...]:
        """`a` → `an` where the next word begins with a vowel; the next word must be certain."""
        result = []
        for number, item in enumerate(items):
            if item.what == "a" and self._first_word(items[number + 1], rule)[0] in "aeiou":
                item = Item("an", item.relation)
            elif isinstance(item.what, tuple):
                item = Item(self._with_articles(item.what, rule), item.relation)
            result.append(item)
        return tuple(result)

    def _first_word(self, item: Item, rule: Rule) -> str:
        if isinstance(item.what, str):
            return item.what
        if isinstance(item.what, tuple):
            return self._first_word(item.what[0], rule)
        return self._certain_word(rule.children[item.what])

    def _certain_word(self, phrase: Phrase) -> str:
        rules = self.grammar.rules(phrase)
        if len(rules) > 1:
            raise ValueError(f"a or an: {phrase} may begin with several words")
        return self._first_word(self.template(rules[0]).items[0], rules[0])


@cache
def parse_template(text: str, form: str, parts: tuple[str, ...]) -> Template:
    """A template for a rule with these parts, whose phrase has this form."""
    levels: list[list[Item]] = [[]]
    for token in text.split():
        if token == "(":
            levels.append([])
        elif token.startswith(")"):
            inner = tuple(levels.pop())
            levels[-1].append(Item(inner, token[2:]))
        else:
            levels[-1].append(_item(token, form, parts))
    items = tuple(levels.pop())
    for phrase in _phrases(items):
        heads = sum(not item.relation for item in phrase)
        if levels or heads != 1:
            raise ValueError(f"{heads} heads in a phrase, or brackets astray: {text!r}")
    return Template.of(items)


def _item(token: str, form: str, parts: tuple[str, ...]) -> Item:
    match = ITEM.match(token)
    if match is None:
        raise ValueError(f"{token!r} is no item of a template")
    part, words = match.groups()
    relation = token[match.end() + 1 :]
    if part:
        return Item(parts.index(part), relation)
    forms = words.split("|")
    if len(forms) == 2:  # a gender makes no difference
        forms.insert(0, forms[0])
    return Item(forms[FORMS[form]] if len(forms) > 1 else words, relation)


def _phrases(items: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    inner = [phrase for i in items if isinstance(i.what, tuple) for phrase in _phrases(i.what)]
    return [items, *inner]


def _flat(items: tuple[Item, ...]) -> list[str | int]:
    flat: list[str | int] = []
    for item in items:
        flat += _flat(item.what) if isinstance(item.what, tuple) else [item.what]
    return flat


TEMPLATES = {
    # sentences
    "person": "{all}",
    "remark": "{all}",
    "town": "{all}",
    "animal": "{all}",
    "thing": "{all}",
    "tells": "{name}:nsubj {fact} .:punct",
    "aside": "( {name} ,:punct ( who:nsubj {first} ):acl:relcl ,:punct ):nsubj {second} .:punct",
    "and": "{name}:nsubj {first} ( and:cc {second} ):conj .:punct",
    "apposition": "( {name} ,:punct ( a:det {job} ( from:case {town} ):nmod ):appos ,:punct ):nsubj {fact} .:punct",
    "aside_whom": "( {name} ,:punct ( whom:obj {other}:nsubj {deed} ):acl:relcl ,:punct ):nsubj {fact} .:punct",
    # facts of people
    "telling": "{fact}",
    "born_in": "was:aux:pass born ( in:case {born_in} ):obl",
    "born_in_year": "was:aux:pass born ( in:case {born_in} ):obl ( in:case {born_year} ):obl",
    "born_year": "was:aux:pass born ( in:case {born_year} ):obl",
    "comes_from": "comes ( from:case {comes_from} ):obl",
    "lives_in": "lives ( in:case {lives_in} ):obl",
    "has_a_house": "has ( a:det house ( in:case {lives_in} ):nmod ):obj",
    "lives_near": "lives ( near:case the:det {landmark} ( in:case {lives_in} ):nmod ):obl",
    "works_as": "works ( as:case a:det {works_as} ):obl",
    "is_a": "is:cop a:det {works_as}",
    "works_in": "works ( as:case a:det {works_as} ):obl ( in:case {lives_in} ):obl",
    "speaks": "speaks {speaks}:obj",
    "learned": "learned {learned}:obj",
    "speaks_both": "speaks ( {speaks} ( and:cc {learned} ):conj ):obj",
    "plays": "plays ( the:det {plays} ):obj",
    "plays_every": "plays ( the:det {plays} ):obj ( every:det {time} ):obl",
    "likes": "likes {likes}:obj",
    "eats_every": "eats {likes}:obj ( every:det {time} ):obl",
    "owns": "owns ( a:det {owns_in_colour}:amod {owns} ):obj",
    "handles": "{verb} ( his|her|their:nmod:poss {owns_in_colour}:amod {owns} ):obj",
    "keeps": "has ( a:det {keeps} ( called {calls_it}:xcomp ):acl ):obj",
    "cares_for": "{verb} ( his|her|their:nmod:poss {keeps} {calls_it}:appos ):obj",
    "married_to": "is:cop married ( to:case {other} ):obl",
    "self": "{verb} himself|herself|themselves:obj",
    "friend_of": "is:cop a:det friend ( of:case {other} ):nmod",
    # anybody
    "somebody": "{subject}:nsubj {doing} .:punct",
    "anybody": "{being}",
    "the": "the:det {such}",
    "noun": "{noun}",
    "adjective": "{adjective}:amod {noun}",
    "at": "{noun} {place}:nmod",
    "adjective_at": "{adjective}:amod {noun} {place}:nmod",
    "who": "{noun} ( who:nsubj {doing} ):acl:relcl",
    "whom": "{noun} ( whom:obj {other}:nsubj {deed} ):acl:relcl",
    "does_to": "{deed} {other}:obj",
    "does_to_self": "{deed} himself|herself|themselves:obj",
    "is_so": "is|are:cop {state}",
    "cares": "{verb} ( his|her|their:nmod:poss {animal} ):obj",
    "job_place": "works|work ( in:case the:det {works_in} ):obl",
    "job_deed": "{verb} {goods}:obj",
    "deed": "{verb}",
    "deed_when": "{adverb}:advmod {verb}",
    "place": "{preposition}:case {site}",
    "site": "the:det {landmark}",
    "site_in": "the:det {landmark} ( in:case {town} ):nmod",
    # towns, animals, things
    "lies_in": "{town}:nsubj lies ( in:case {country} ):obl .:punct",
    "famous_for": "{town}:nsubj is:cop known ( for:case its:nmod:poss {goods} ):obl .:punct",
    "mayor": "( the:det mayor ( of:case {town} ):nmod ):nsubj is:cop {mayor} .:punct",
    "spoken_in": "{language}:nsubj:pass is:aux:pass spoken ( in:case {town} ):obl .:punct",
    "eats_common": "( a:det {animal} ):nsubj eats {food}:obj .:punct",
    "eats_plural": "{animal}:nsubj eat {food}:obj .:punct",
    "sleeps_common": "( a:det {animal} ):nsubj sleeps ( in:case the:det {place} ):obl .:punct",
    "sleeps_plural": "{animal}:nsubj sleep ( in:case the:det {place} ):obl .:punct",
    "made_of": "( the:det {thing} ):nsubj:pass is:aux:pass made ( of:case {material} ):obl .:punct",
    "kept_in": "( the:det {thing} ):nsubj:pass is:aux:pass kept ( in:case the:det {place} ):obl .:punct",
}

VERBS = ("verb", "caring", "handling")
NOUNS = ("noun", "pet")


def english(rule: Rule) -> str:
    """The template of a rule; a rule without one is a word, and its name is that word."""
    if rule.name in TEMPLATES and rule.children:
        return TEMPLATES[rule.name]
    if rule.phrase.category == "name":
        first, *rest = rule.name.split()
        return " ".join([first, *(f"{word}:flat" for word in rest)])
    if rule.phrase.category in VERBS:
        return f"{third_person(rule.name)}|{rule.name}"
    if rule.phrase.category in NOUNS:
        return f"{rule.name}|{plural(rule.name)}"
    return rule.name


def third_person(verb: str) -> str:
    """`third_person("watch")` → `"watches"`."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x")) else "s")


def plural(noun: str) -> str:
    """`plural("woman")` → `"women"`; what is in no list has a plural like a verb's ending."""
    if noun in lists.PEOPLE_NOUNS:
        return lists.PEOPLE_NOUNS[noun][1]
    return third_person(noun)
