"""What two designs are compared by: the products, whatever their factors and the order of heads."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indicial
from indicial import IndicialError
from indicial.designs.circuits import circuits
from indicial.designs.comparison import Comparison
from indicial.designs.design import Design
from indicial.designs.hand import hand
from indicial.designs.matching import assign
from tests.designs.test_design import selects

SEEDS = st.integers(0, 2**32 - 1)
HEADS, INNER, WIDTH = 3, 2, 4


def heads(seed: int) -> Design:
    """Several heads that read numbers, with W^O."""
    random = np.random.default_rng(seed)
    shape = (HEADS, INNER, WIDTH)
    return indicial.design(
        "self_attention", Q=random.normal(size=shape), K=random.normal(size=shape),
        V=random.normal(size=shape), O=random.normal(size=(WIDTH, HEADS * INNER)),
    )  # fmt: skip


def one_head(seed: int) -> Design:
    random = np.random.default_rng(seed)
    return indicial.design(
        "selects", Q=random.normal(size=(2, 5)), K=random.normal(size=(2, 5)),
        V=random.normal(size=(3, 5)), positions=random.normal(size=(4, 2)),
    )  # fmt: skip


def changed(design: Design, **arrays: np.ndarray) -> Design:
    names = {"Q": "W^Q", "K": "W^K", "V": "W^V", "O": "W^O", "pos": "pos"}
    return replace(design, arrays={**design.arrays, **{names[n]: a for n, a in arrays.items()}})


def same(one: Comparison, other: Comparison) -> bool:
    pairs = list(zip(one.parts, other.parts, strict=True))
    return all(a.what == b.what for a, b in pairs) and all(
        np.allclose([*a.sizes, a.cosine or 0, a.difference], [*b.sizes, b.cosine or 0, b.difference],
                    rtol=1e-6, atol=1e-8)
        for a, b in pairs
    )  # fmt: skip


def invertible(random: np.random.Generator, size: int) -> np.ndarray:
    turn = np.linalg.qr(random.normal(size=(size, size)))[0]
    return turn * random.uniform(0.5, 2, size)


@given(SEEDS)
def test_the_costs_are_least(seed: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 6))
    costs = random.integers(-5, 5, (size, size)).astype(float)
    found = assign(costs)
    assert sorted(found) == list(range(size))
    least = min(
        sum(costs[n, m] for n, m in enumerate(order))
        for order in itertools.permutations(range(size))
    )
    assert sum(costs[n, m] for n, m in enumerate(found)) == least


@settings(max_examples=15)
@given(SEEDS)
def test_heads_in_another_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    one, other = heads(seed), heads(seed + 1)
    order = random.permutation(HEADS)
    a = other.arrays
    joint = a["W^O"].reshape(WIDTH, HEADS, INNER)[:, order].reshape(WIDTH, -1)
    moved = changed(other, Q=a["W^Q"][order], K=a["W^K"][order], V=a["W^V"][order], O=joint)
    assert same(indicial.compare(one, other), indicial.compare(one, moved))
    assert same(indicial.compare(other, one), indicial.compare(moved, one))
    assert str(indicial.compare(one, other)) == str(indicial.compare(one, moved))


@settings(max_examples=15)
@given(SEEDS)
def test_factors_are_free(seed: int) -> None:
    random = np.random.default_rng(seed)
    one, other = heads(seed), heads(seed + 1)
    a = other.arrays
    m = np.stack([invertible(random, INNER) for _ in range(HEADS)])
    n = np.stack([invertible(random, INNER) for _ in range(HEADS)])
    joint = a["W^O"].reshape(WIDTH, HEADS, INNER).transpose(1, 0, 2) @ np.linalg.inv(n)
    turned = changed(
        other,
        Q=m @ a["W^Q"],
        K=np.linalg.inv(m).transpose(0, 2, 1) @ a["W^K"],
        V=n @ a["W^V"],
        O=joint.transpose(1, 0, 2).reshape(WIDTH, -1),
    )
    assert same(indicial.compare(one, other), indicial.compare(one, turned))


@settings(max_examples=15)
@given(SEEDS)
def test_what_no_output_depends_on_is_not_compared(seed: int) -> None:
    """Other vectors for the positions, and a number for all tokens of the key."""
    random = np.random.default_rng(seed)
    one, other = one_head(seed), one_head(seed + 1)
    a = other.arrays
    turn = invertible(random, 2)
    matrices = {}
    for name in "QKV":
        array = a[f"W^{name}"].copy()
        array[:, 3:] = array[:, 3:] @ turn
        matrices[name] = array
    matrices["K"][:, :3] += random.normal(size=(2, 1))
    moved = changed(other, **matrices, pos=a["pos"] @ np.linalg.inv(turn).T)
    for tokens in ((0,), (1, 2, 0), (2, 2, 0, 1)):
        np.testing.assert_allclose(selects(moved, tokens), selects(other, tokens), atol=1e-8)
    assert same(indicial.compare(one, other), indicial.compare(one, moved))


@settings(max_examples=15)
@given(SEEDS)
def test_a_change_of_a_product_is_seen(seed: int) -> None:
    random = np.random.default_rng(seed)
    one, other = one_head(seed), one_head(seed + 1)
    before = indicial.compare(one, other)
    for name in ("Q", "K", "V"):
        array = other.arrays[f"W^{name}"].copy()
        array[random.integers(len(array)), random.integers(3)] += 0.5
        assert not same(before, indicial.compare(one, changed(other, **{name: array})))


def test_scores_are_what_the_softmax_sees() -> None:
    """On every pair of a token and a position, up to a number for each query."""
    design = one_head(5)
    found, a = circuits(design), design.arrays
    x = np.array([[*np.eye(3)[v], *a["pos"][p]] for v in range(3) for p in range(4)])
    own = (x @ a["W^Q"].T) @ (x @ a["W^K"].T).T / np.sqrt(2)
    pairs = np.array([[*np.eye(3)[v], *np.eye(4)[p]] for v in range(3) for p in range(4)])
    made = pairs @ found.scores[0] @ pairs.T
    np.testing.assert_allclose(made, own - own.mean(1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(pairs @ found.values[0].T, x @ a["W^V"].T, atol=1e-12)


# ---------------------------------------------------------------------- what is said


def test_sentences_follow_the_numbers() -> None:
    design = hand("position")
    half = changed(design, K=0.5 * design.arrays["W^K"])
    against = changed(design, K=-design.arrays["W^K"])
    token = np.zeros((1, 7))
    token[0, 0] = 10
    by_token = changed(design, K=token)
    said = indicial.compare(design, half).sentences()
    assert "Scores of tokens for positions have the same pattern (cosine 1.000)" in said[1]
    assert "0.5 times as large" in said[1]
    assert "opposite pattern (cosine -1.000)" in indicial.compare(design, against).sentences()[1]
    said = indicial.compare(design, by_token).sentences()
    assert "matter in “the second” (100% of all) and hardly in “the first” (0.0%)" in said[0]
    assert "matter in “the first” (100% of all)" in said[1]
    assert "as large in both" in said[4]
    assert list(indicial.compare(design, half).factor_sentences()) == []
    turned = changed(design, Q=-design.arrays["W^Q"], K=-design.arrays["W^K"])
    assert "W^Q itself looks different (cosine -1.000)" in next(
        indicial.compare(design, turned).factor_sentences()
    )


def test_the_report_fits_into_80_columns() -> None:
    text = str(indicial.compare(hand("unique"), changed(hand("unique"), V=np.ones((2, 5)))))
    assert max(map(len, text.splitlines())) <= 80


def test_what_cannot_be_compared() -> None:
    with pytest.raises(IndicialError, match="differ in tokens, positions, outputs or heads"):
        indicial.compare(hand("content"), hand("position"))
    learned = indicial.load("transformer").compile(V=3, J=4, K=2, I=2, D=4, T=4, L=1)
    arrays = {n: learned.parameter(n).detach().double().numpy() for n in learned.state_keys}
    design = Design(indicial.load("transformer"), learned.sizes.known, arrays, ("A", "B", "C"))
    with pytest.raises(IndicialError, match="one"):
        indicial.compare(design, design)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_figure(ending: str, tmp_path: Path) -> None:
    comparison = indicial.compare(hand("position"), replace(one_head(1), name="another"))
    path = comparison.figure(tmp_path / f"both.{ending}")
    if ending == "svg":
        text = path.read_text(encoding="utf-8")
        assert "weights on ABCA" in text and "another" in text
        assert comparison.figure(tmp_path / "again.svg").read_text(encoding="utf-8") == text
    with pytest.raises(IndicialError, match=r"ends in \.svg, \.png or \.pdf"):
        comparison.figure(tmp_path / "both.txt")


def test_a_figure_of_several_heads(tmp_path: Path) -> None:
    path = indicial.compare(heads(0), heads(1)).figure(tmp_path / "both.svg")
    assert "pair 2" in path.read_text(encoding="utf-8")
