"""What heads do: entropies, distances and shares against loops; subjects of verbs by hand."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch

from indicial import IndicialError, load
from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import make_tokenizer
from indicial.data.world import world
from indicial.inspect.structures import (
    HeadWeights,
    Parsed,
    Verb,
    padded,
    structures,
    targets_of,
    verbs,
    weights_of,
)


@pytest.fixture(scope="module")
def transformer() -> ProgramModule:
    torch.manual_seed(0)
    return load("transformer").compile(V=600, J=4, K=2, I=2, D=4, T=40, L=2).eval()


def test_weights_of_a_batch_are_those_of_its_texts(transformer: ProgramModule) -> None:
    tokens = torch.randint(600, (3, 6), generator=torch.Generator().manual_seed(0))
    heads = weights_of(transformer, {"w": tokens})
    assert [(one.layer, one.head) for one in heads] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    for text in range(3):
        alone = transformer(w=tokens[text], want=["α"])["α"].detach().numpy()
        for one in heads:
            assert one.layer is not None and one.head is not None
            np.testing.assert_allclose(one.weights[text], alone[one.layer - 1, one.head], atol=1e-6)


def test_entropy_and_distance() -> None:
    weights = np.array([[[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]])
    head = HeadWeights(1, 0, weights)
    for row in range(3):
        seen = [(w, row - column) for column, w in enumerate(weights[0, row]) if w]
        assert head.entropy()[0, row] == pytest.approx(-sum(w * math.log(w) for w, _ in seen))
        assert head.distance()[0, row] == pytest.approx(sum(w * d for w, d in seen))
        assert head.distance(2)[0, row] == pytest.approx(sum(w * d * d for w, d in seen))


@pytest.mark.parametrize(("term", "weight"), [("focus", "ℒ_{focus}"), ("near", "ℒ_{near}")])
def test_the_terms_of_the_library_are_means_of_these(term: str, weight: str) -> None:
    torch.manual_seed(0)
    module = load("transformer", term).compile(V=9, J=4, K=2, I=2, D=4, T=20, L=3).eval()
    tokens = torch.randint(9, (2, 20), generator=torch.Generator().manual_seed(1))
    own = module(w=tokens, want=[weight])[weight].detach().numpy()
    heads = weights_of(module, {"w": tokens})
    if term == "focus":
        mine = np.mean([one.entropy().mean(-1) for one in heads], axis=0)
    else:
        below = [one for one in heads if one.layer != 3]
        mine = np.mean([np.minimum(100, one.distance(2)).mean(-1) for one in below], axis=0)
    np.testing.assert_allclose(own, mine, rtol=1e-5)


def test_no_heads() -> None:
    module = load("rnn_lm").compile(V=5, J=3)
    with pytest.raises(IndicialError, match="rnn_lm has no head"):
        weights_of(module, {"w": torch.tensor([[1, 2]])})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Helen Kowalski was born in Lund .", [("was", "Helen Kowalski", [])]),
        (
            "the plumber whom the grooms whom the daughters never invite invite works in the cellar .",
            [
                ("works", "plumber", ["grooms", "daughters"]),
                ("invite", "grooms", ["plumber", "daughters"]),
                ("invite", "daughters", ["plumber", "grooms"]),
            ],
        ),
        ("English is spoken in Leeds .", [("is", "English", [])]),
        (
            "Lucia Parker , whom the aunt often visits , is a friend of Ursula Parker .",
            [("is", "Lucia Parker", ["aunt"]), ("visits", "aunt", ["Lucia Parker"])],
        ),
    ],
)
def test_subjects(text: str, expected: list[tuple[str, str, list[str]]]) -> None:
    people = world("people")
    (derivation,) = people.parses(text)
    words = text.split()

    def said(places: tuple[int, ...]) -> str:
        return " ".join(words[n] for n in places)

    found = verbs(words, people.dependencies(derivation))
    assert [(words[v.at], said(v.subject), [said(o) for o in v.others]) for v in found] == expected


def test_targets_by_hand() -> None:
    #          place 0 reads nothing; 1 a, 2 b, 3 a, 4 c, 5 a; before place 4's next word stands a verb
    sentence = Parsed(("a", "b", "a", "c", "a"), (Verb(4, (0,), ((1,), (2, 3))),))
    found = targets_of(sentence, later=1)
    assert {name: sorted(map(tuple, np.argwhere(m).tolist())) for name, m in found.items()} == {
        "itself": [(n, n) for n in range(2, 6)],
        "before": [(n, n - 1) for n in range(2, 6)],
        "first": [(n, 0) for n in range(2, 6)],
        "same": [(3, 1), (5, 1), (5, 3)],
        "subject": [(4, 1)],
        "noun": [(4, 2), (4, 3), (4, 4)],
    }
    assert found["noun"][4, 2:5].tolist() == [0.5, 0.5, 0.5]
    near = Parsed(sentence.words, (Verb(4, (2,), ()),))  # two words back is not afar
    assert not targets_of(near, later=1)["subject"].any()


def test_shares_of_a_world(transformer: ProgramModule) -> None:
    """Against plain loops over sentences and places."""
    village, draw = world("village"), random.Random(0)
    sentences = [Parsed.of(village.sentence(draw), village) for _ in range(12)]
    tokenizer = make_tokenizer("bpe", [" ".join(village.vocabulary)], whole_words=True)
    found = structures(transformer, sentences, tokenizer, later=1)
    weights = weights_of(transformer, {"w": padded(sentences, tokenizer)})
    for head, matrix in zip(found, weights, strict=True):
        before, same, commas = [], [], []
        for text, one in enumerate(sentences):
            for place in range(2, len(one.words) + 1):
                before.append(matrix.weights[text, place, place - 1])
                seen = [p for p in range(1, place + 1) if one.words[p - 1] in (",", ".")]
                commas.append(sum(matrix.weights[text, place, p] for p in seen))
                earlier = [p for p in range(1, place) if one.words[p - 1] == one.words[place - 1]]
                if earlier:
                    same.append(sum(matrix.weights[text, place, p] for p in earlier))
        assert head.shares["before"].share == pytest.approx(np.mean(before))
        assert head.shares["before"].places == len(before)
        assert head.shares["same"].share == pytest.approx(np.mean(same))
        assert head.kinds["punct"].share == pytest.approx(np.mean(commas))
    evens = [1 / (place + 1) for one in sentences for place in range(2, len(one.words) + 1)]
    assert found[0].shares["itself"].even == pytest.approx(np.mean(evens))
    # All words and the beginning together have all the weight.
    for head in found:
        words = sum(share.share for share in head.kinds.values())
        assert words + head.shares["first"].share == pytest.approx(1)
        assert sum(share.even for share in head.kinds.values()) == pytest.approx(1 - np.mean(evens))


def test_words_that_are_cut_are_refused() -> None:
    tokenizer = make_tokenizer("characters", ["ab"])
    with pytest.raises(IndicialError, match="3 tokens for the 2 words of 'a b'"):
        padded([Parsed(("a", "b"), ())], make_tokenizer("characters", ["a b"]))
    assert padded([Parsed(("a",), ())], tokenizer).tolist() == [[tokenizer.encode("a")[0], 0]]
