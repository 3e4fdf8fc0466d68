"""Trees over sentences: trained from CoNLL-U, scored by the official rules, written as CoNLL-U again."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.cli import main
from indicial.data.codings import Spelling, coding_of
from indicial.data.treebanks import Sentence, is_tree, sentences, written
from indicial.lab.compare import train
from indicial.library.loading import load
from indicial.tasks.forms import form_of
from indicial.tasks.programs import trainable
from indicial.tasks.task import Edges

PARSER = """
input x[t] in V
input c[t,i] in A
input tag[t] in G
input head[t] in T
input relation[t] in R
z[t,j] = e[x[t],j] + max_i W[j,K] a[c[t,i],K]
h[t,j] = tanh(z[t,j] + N[ΔT,j] z[t+ΔT,j])
range Δt = -1..1
P^T(tag_t | x, c) = softmax_{tag_t} S[tag_t,J] h[t,J]
P^R(relation_t | x, c, head) = softmax_{relation_t} D[relation_t,J] h[t,J] + Q[relation_t,J] h[head[t],J]
P^H(head_t = s | x, c) = softmax_s cases { U[J,J'] h[t,J] h[s,J'] if s ≠ t, r[J] h[t,J] otherwise }
loss = 1/T Σ_t (-ln P^H(head_t | x, c) - ln P^R(relation_t | x, c, head) - ln P^T(tag_t | x, c))
"""


def sentence(drawn: random.Random) -> dict[str, list[object]]:
    """the dog sees the old cat .   →  its words, tags and links"""
    words: list[tuple[str, str, object, str]] = []

    def phrase(relation: str) -> list[tuple[str, str, object, str]]:
        noun = drawn.choice(["dog", "cat", "bird", "Fish"])
        old = [("old", "ADJ", noun, "amod")] * drawn.randrange(2)
        return [("the", "DET", noun, "det"), *old, (noun, "NOUN", "sees", relation)]

    words = [*phrase("nsubj:pass"), ("sees", "VERB", "sees", "root"), *phrase("obj")]
    words.append((".", "PUNCT", "sees", "punct"))
    forms = [word[0] for word in words]

    def place(at: int, of: object) -> int:
        behind = [n for n in range(at, len(forms)) if forms[n] == of]
        return behind[0] if behind else forms.index(str(of))

    heads: list[object] = [place(n, word[2]) for n, word in enumerate(words)]
    return {
        "form": list(forms),
        "upos": [w[1] for w in words],
        "head": heads,
        "deprel": [w[3] for w in words],
    }


def conllu(count: int, seed: int) -> str:
    drawn = random.Random(seed)
    return "".join(written(sentence(drawn)) for _ in range(count))


def official(gold: str, system: str) -> dict[str, float]:
    """UAS and LAS as the shared task of 2018 defines them where the words are given: over all words, the head's
    number, and of the relation what stands before a colon. Written without anything of the package."""
    words = [
        [line.split("\t") for line in text.splitlines() if line[:1].isdigit()]
        for text in (gold, system)
    ]
    assert [word[1] for word in words[0]] == [word[1] for word in words[1]]
    heads = [a[6] == b[6] for a, b in zip(*words, strict=True)]
    both = [
        right and a[7].split(":")[0] == b[7].split(":")[0]
        for right, a, b in zip(heads, *words, strict=True)
    ]
    tags = [a[3] == b[3] for a, b in zip(*words, strict=True)]
    count = len(heads)
    return {"UAS": sum(heads) / count, "LAS": sum(both) / count, "tag accuracy": sum(tags) / count}


def test_what_is_predicted_in_which_order() -> None:
    form = form_of(trainable([PARSER]).program)
    assert [(p.slot.name, p.kind, p.after) for p in form.parts] == [
        ("tag", "tags", ()), ("relation", "tags", ("head",)), ("head", "places", ()),
    ]  # fmt: skip
    assert [[p.slot.name for p in stage] for stage in form.stages] == [
        ["tag", "head"],
        ["relation"],
    ]
    assert [slot.name for slot in form.given] == ["x", "c"]
    assert "relation from x, c and head: tagging" in form.says


def test_one_prediction_is_as_it_was() -> None:
    form = form_of(load("bahdanau"))
    assert form.prediction is not None and len(form.parts) == 1
    assert form.target is not None and form.target.name == "w"


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_edges_are_counted_by_the_official_rules(count: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    names = ("nsubj", "nsubj:pass", "obl", "obl:tmod", "root")
    true, found = (
        np.stack([drawn.integers(0, 3, count), drawn.integers(0, len(names), count)]) for _ in "ab"
    )
    edges = Edges(names)
    tally = edges.begin()
    edges.add(tally, true[:, : count // 2], found[:, : count // 2])
    edges.add(tally, true[:, count // 2 :], found[:, count // 2 :])
    lines = [
        "".join(f"{n}\tw\t_\t_\t_\t_\t{h}\t{names[r]}\t_\t_\n" for n, (h, r) in enumerate(one.T, 1))
        for one in (true, found)
    ]
    expected = official(*lines)
    assert edges.figures(tally) == pytest.approx({n: expected[n] for n in ("UAS", "LAS")})


def test_words_are_spelt_from_both_ends() -> None:
    coding = coding_of(Spelling(["", "<unknown>", *"abcdef"], 4).to_json(), "here")
    found = coding.encode(["ab", "abcdef", "x"])
    assert found.tolist() == [[2, 3, 0, 0], [2, 3, 6, 7], [1, 0, 0, 0]]


def test_a_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trained, measured and asked; what it writes gives the scores that are told."""
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("parser.eq").write_text(PARSER, encoding="utf-8")
    Path("train.conllu").write_text(conllu(200, 0))
    gold = conllu(30, 1) + written(
        {"form": ["dog"], "upos": ["NOUN"], "head": [0], "deprel": ["root"]}
    )
    Path("dev.conllu").write_text(gold)
    train(
        "parser.eq", data="train.conllu", validation=("dev.conllu",), max_steps=25, eval_every=25, quiet=True,
        out="run", batch_size=32, set={"J": "16", "K": "8"},
    )  # fmt: skip
    lines = [
        " ".join(s.cells["form"]) for s in sentences(gold.splitlines()) if isinstance(s, Sentence)
    ]
    Path("dev.txt").write_text("\n".join(lines) + "\n")
    assert main(["evaluate", "run", "--data", "dev.conllu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = official(gold, answered(capsys, "x=dev.txt"))
    assert {name: told[name] for name in expected} == pytest.approx(expected)
    assert expected["LAS"] > 0.3  # it has learned something
    # The same words from CoNLL-U: what is said of them there is not read.
    assert official(gold, answered(capsys, "dev.conllu")) == expected
    assert main(["generate", "run", "--input", "x=the dog sees the cat", "--format", "arcs"]) == 0
    *arcs, words = capsys.readouterr().out.strip("\n").splitlines()
    assert words.split() == ["the", "dog", "sees", "the", "cat"] and any(
        "━" in line for line in arcs
    )


def answered(capsys: pytest.CaptureFixture[str], given: str) -> str:
    assert main(["generate", "run", "--input", given, "--format", "conllu"]) == 0
    text = capsys.readouterr().out
    for found in sentences(text.splitlines(keepends=True)):
        assert isinstance(found, Sentence) and is_tree(found.cells["head"])
    return text
