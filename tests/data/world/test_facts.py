"""Facts: enough of them, in accord with one another, and what sentences say is true."""

import os
import re
import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest

from indicial.data.world import world
from indicial.data.world.grammar import TOLD, Phrase, Rule


def test_there_are_enough() -> None:
    w = world("people")
    assert len(w.facts) >= 1000
    assert len({(f.subject, f.relation) for f in w.facts}) == len(w.facts)
    # those that follow from others or from a name not counted
    derived = {"gender", "comes_from", "speaks", "has_language"}
    assert sum(f.relation not in derived for f in w.facts) >= 1000
    assert len(set(w.knowledge.people)) == 80


@pytest.mark.parametrize("name", ["people", "village"])
def test_facts_agree_with_one_another(name: str) -> None:
    facts = world(name).knowledge
    for person in facts.people:
        country = facts.value(facts.value(person, "born_in"), "lies_in")
        assert facts.value(person, "comes_from") == country
        assert facts.value(person, "speaks") == facts.value(country, "has_language")
        assert facts.value(person, "learned") != facts.value(person, "speaks")
        assert facts.value(person, "friend_of") != person
        if facts.has(person, "married_to"):
            assert facts.value(facts.value(person, "married_to"), "married_to") == person


SAID = {
    "born_in": r"^(\w+ \w+) .*\bwas born in ([A-Z]\w+)",
    "born_year": r"^(\w+ \w+) .*\bborn in (?:[A-Z]\w+ in )?(\d+)",
    "lives_in": r"^(\w+ \w+) .*\blives (?:near the \w+ )?in (\w+)",
    "works_as": r"^(\w+ \w+) .*\bworks as an? (\w+)",
    "owns": r"^(\w+ \w+) .*\bowns a \w+ (\w+)",
    "owns_in_colour": r"^(\w+ \w+) .*\bowns a (\w+)",
    "married_to": r"^(\w+ \w+) .*\bis married to (\w+ \w+)",
    "friend_of": r"^(\w+ \w+) .*\bis a friend of (\w+ \w+)",
    "calls_it": r"^(\w+ \w+) .*\bcalled (\w+)",
    "famous_for": r"^(\w+) is known for its (\w+)",
    "has_mayor": r"^the mayor of (\w+) is (\w+ \w+)",
    "lies_in": r"^(\w+) lies in (\w+)",
}
"""What some facts look like in English, found by other means than the grammar."""


def test_what_sentences_say_is_true() -> None:
    w = world("people")
    found: Counter[str] = Counter()
    for text in islice(w.sentences(7), 10000):
        for relation, pattern in SAID.items():
            match = re.search(pattern, text)
            if match and not re.search(r", whom .*" + re.escape(match[2]) + ".* ,", text):
                assert w.knowledge.value(match[1], relation) == match[2], text
                found[relation] += 1
    assert set(found) == set(SAID)
    assert min(found.values()) > 50, found


def test_every_fact_is_told_often_enough_to_be_learned() -> None:
    """Of the person least spoken of, each fact at least 20 times in 200 000 sentences."""
    w = world("people")
    person = w.knowledge.people[-1]
    for relation in TOLD:
        if relation == "married_to" and not w.knowledge.has(person, relation):
            continue
        told = Phrase("fact", w.knowledge.value(person, "gender"), person, relation)

        def tells(rule: Rule, told: Phrase = told) -> float:
            return float(rule.phrase == told)

        assert 200_000 * w.grammar.expectation(tells) > 20


def test_the_same_in_every_process() -> None:
    """Neither facts nor sentences depend on the order of hashes."""
    code = (
        "from itertools import islice; from indicial.data.world import world; w = world('village');"
        "print(w.facts, list(islice(w.sentences(3), 200)), w.vocabulary, w.entropy())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
