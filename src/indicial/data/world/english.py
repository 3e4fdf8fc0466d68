"""English: a template for each rule, and the forms of words.

    english(rule "born_in")       →  "was:aux:pass born ( in:case {born_in} ):obl"
    english(rule "man", plural)   →  "man|men"

Relations between words are those of Universal Dependencies.
"""

from __future__ import annotations

from indicial.data.world import lists
from indicial.data.world.grammar import Rule

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
