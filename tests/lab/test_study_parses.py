"""Heads as finders of relations: against links that are known, and against counting by hand."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from indicial import IndicialError
from indicial.data.treebanks import written
from indicial.inspect.pictures import Link, arcs_figure, arcs_text, levels
from indicial.lab.compare import train
from indicial.lab.studies import parses
from indicial.lab.studies.relations import (
    ALL,
    FAR,
    Reader,
    Tree,
    attachment,
    chance,
    combine,
    count,
    count_distances,
    features,
    joined,
    likeness,
    trees_of,
    word_weights,
)
from indicial.program.program import Program
from indicial.tasks.programs import trainable
from indicial.training.run import Run
from tests.lab.test_studies import FILES, nobody, run

TREES = [
    Tree(
        ("the", "dog", "sees", "a", "cat"), (1, 2, 2, 4, 2), ("det", "nsubj", "root", "det", "obj")
    ),
    Tree(
        ("he", "sees", "the", "old", "dog"),
        (1, 1, 4, 4, 1),
        ("nsubj", "root", "det", "amod", "obj"),
    ),
]


def even(tree: Tree) -> Any:
    return np.full((len(tree.words), len(tree.words)), 1 / len(tree.words))


def looking(tree: Tree) -> Any:
    """Every word looks at its head."""
    return np.eye(len(tree.words))[list(tree.heads)]


def test_pieces_are_joined_to_words() -> None:
    weights = np.arange(9.0).reshape(1, 3, 3)  # pieces: two of word 0, one of word 1
    expected = [[(0 + 1 + 3 + 4) / 2, (2 + 5) / 2], [6 + 7, 8]]
    assert joined(weights, [0, 0, 1])[0].tolist() == expected


def test_links_that_are_there_are_found() -> None:
    weights = [np.stack([even(tree), looking(tree), looking(tree).T]) for tree in TREES]
    counts = count(weights, TREES)
    assert counts.total[ALL] == 8 and counts.total["det"] == 3
    for relation, total in counts.total.items():
        assert counts.right[relation][0, 1] == total  # looks
        assert counts.right[relation][1, 2] == total  # is looked at
    assert counts.best("obj") == (0, 1) and counts.accuracy("obj", (0, 1)) == 1


def test_distances_and_chance() -> None:
    counts = count_distances(TREES)
    # By hand: det +1, +1, +2; nsubj +1, +1; obj -2, -3; amod +1.
    assert counts.right["det"][FAR + 1] == 2 and counts.right["det"][FAR + 2] == 1
    assert counts.right["obj"][FAR - 2] == 1 and counts.best(ALL) == (FAR + 1,)
    assert counts.accuracy(ALL, counts.best(ALL)) == 5 / 8
    assert counts.right[ALL][FAR] == 0  # nobody is its own head
    assert chance(TREES)["det"] == pytest.approx(1 / 4)


def test_heads_together_give_the_tree() -> None:
    weights = [np.stack([even(tree), 0.5 * even(tree) + 0.5 * looking(tree)]) for tree in TREES]
    known = [features(tree, own, False) for tree, own in zip(TREES, weights, strict=True)]
    assert attachment(known, TREES, combine(known, TREES)) == 1
    alone = [features(tree, None, True) for tree in TREES]
    assert attachment(alone, TREES, combine(alone, TREES)) < 1


def test_a_tree_is_most_like_a_tree() -> None:
    assert likeness([looking(tree)[None] for tree in TREES]) == pytest.approx(1)
    # Of the ten pairs of five words, a tree has four.
    assert likeness([even(tree)[None] for tree in TREES]) == pytest.approx(0.4)


# ---------------------------------------------------------------------- arcs


def test_arcs_do_not_cross_those_below() -> None:
    links = [Link(0, 1), Link(1, 2), Link(4, 2), Link(3, 4), Link(5, 2)]
    found = levels(links)
    assert [found[link] for link in links] == [1, 1, 2, 1, 3]


def test_arcs_in_a_terminal() -> None:
    words = ["the", "dog", "sleeps", "here"]
    links = [Link(0, 1, "det"), Link(1, 2, "nsubj", 0.2), Link(2, 2, "root"), Link(3, 0, "", 0.3)]
    lines = arcs_text(words, links).splitlines()
    assert lines[-1].split() == words and len(lines) == 3
    assert "━det━" in lines[1] and "─nsubj─" in lines[1] and "root" not in "".join(lines)
    # An arc stands above its words.
    begin, end = lines[0].index("┌"), lines[0].index("┐")
    assert lines[-1][begin] in "the" and lines[-1][end] in "here"


def test_arcs_are_as_thick_as_their_weight() -> None:
    figure = arcs_figure(
        ["a", "b", "c"], [Link(0, 1, "x", 0.2), Link(1, 2, "y", 0.8)], [Link(2, 1, right=False)]
    )
    thin, thick, below = figure.axes[0].patches
    assert thick.get_linewidth() == pytest.approx(4 * thin.get_linewidth())
    assert below.get_edgecolor() != thick.get_edgecolor()


# ---------------------------------------------------------------------- the study


def treebank(folder: Path) -> Path:
    drawn = random.Random(0)
    folder.mkdir()
    for part, number in (("train", 60), ("dev", 30)):
        trees = [drawn.choice(TREES) for _ in range(number)]
        texts = (written({"form": t.words, "head": t.heads, "deprel": t.relations}) for t in trees)
        (folder / f"en-ud-{part}.conllu").write_text("".join(texts))
    return folder


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDICIAL_NATIVE", "0")
    torch.set_num_threads(1)
    return treebank(tmp_path / "bank")


def test_a_run_of_ones_own(bank: Path) -> None:
    sentences = trees_of(bank, "train", 10**6, 99)
    Path("text.txt").write_text("".join(" ".join(tree.words) + "\n" for tree in sentences))
    train(
        "transformer", data="text.txt", max_steps=1, quiet=True, out="run", context=32, batch_size=2,
        tokens="bytes", set={"J": "8", "L": "1", "K": "2"},
    )  # fmt: skip
    reader = Reader(Run.open("run"))
    tokens, owners = reader.pieces(TREES[0].words)
    assert tokens == Run.open("run").tokenizer().encode(" ".join(TREES[0].words))
    assert [owners.count(n) for n in range(5)] == [
        3,
        4,
        5,
        2,
        4,
    ]  # the blank belongs to the word behind it
    (weights,), titles = word_weights(reader, TREES[:1])
    assert weights.shape == (2, 5, 5) and titles == ["1.0", "1.1"]
    assert np.triu(weights[0], 1).max() == 0  # it looks back
    study = parses.Parses(replace(parses.QUICK, data="bank", chosen=8, counted=8), "run")
    done, said = run(study, Path("s"), nobody)
    assert done and "beside distances" in said and "the tree that the heads of run give" in said
    assert {path.name for path in Path("s").iterdir()} >= FILES | {"arcs-0.png", "arcs-0.svg"}
    found = json.loads(Path("s/study.json").read_text(encoding="utf-8"))["measured"]
    assert found["distances"]["relations"][ALL][3] == 1
    assert 0 <= found["model"]["relations"]["det"][0] <= 1


LABELS = """
input x[t] in V
input relation[t] in R
α[t,s] = softmax_s e[x[t],J] W[J,J'] e[x[s],J']
h[t,j] = Σ_s α[t,s] e[x[s],j]
P(relation_t | x) = softmax_{relation_t} U[relation_t,J] h[t,J]
loss = 1/T Σ_t -ln P(relation_t | x)
"""


def test_the_words_of_a_model_that_says_labels_of_them(bank: Path) -> None:
    Path("labels.eq").write_text(LABELS, encoding="utf-8")
    terms = {"batch_size": 4, "quiet": True, "max_steps": 1}
    train("labels.eq", data="bank/en-ud-train.conllu", set={"J": "4"}, out="run", **terms)
    reader = Reader(Run.open("run"))
    assert (reader.text, reader.later) == ("x", 0)
    (weights,), _ = word_weights(reader, TREES[:1])
    e, W = (reader.module.parameter(name).detach() for name in "eW")
    x = e[torch.tensor(reader.pieces(TREES[0].words)[0])]
    torch.testing.assert_close(torch.tensor(weights[0]), (x @ W @ x.T).softmax(1).double())


def test_what_is_trained(bank: Path) -> None:
    """The head that is taught looks from the later word of a link at the earlier one: against loops."""
    trials = parses.Parses(replace(parses.QUICK, data="bank")).trials(Path("s"))
    assert len(trials) == 2 * 6
    program: Program = trainable(("transformer", parses.TAUGHT), {"λ": "1"}).program
    module = program.compile(J=4, L=1, K=2, I=2, V=9, T=6, D=4, dtype=torch.float64).eval()
    torch.manual_seed(0)
    w, head = torch.randint(0, 9, (5,)), torch.tensor([1, 2, 2, 4, 2])
    found = module(w=w, head=head, want=["α", "ℒ_{tree}", "ℒ_{LM}", "ℒ_{total}"])
    expected = 0.0
    for word, own in enumerate(head.tolist()):
        later, earlier = max(word, own), min(word, own)
        if later != earlier and later + 1 < 5:  # the last word is predicted, and read by nobody
            expected -= float(found["α"][0, 0, later + 1, earlier + 1].log()) / 5
    assert float(found["ℒ_{tree}"]) == pytest.approx(expected)
    assert float(found["ℒ_{total}"]) == pytest.approx(expected + float(found["ℒ_{LM}"]))


def test_a_folder_without_trees(tmp_path: Path) -> None:
    with pytest.raises(IndicialError, match="there is no such folder"):
        trees_of(tmp_path / "none", "train", 1, 9)
    with pytest.raises(IndicialError, match=r"\*train\*.conllu; there is none"):
        trees_of(tmp_path, "train", 1, 9)
