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
from indicial.designs.comparison import Comparison, _columns, _outputs, assign
from indicial.designs.design import Design
from indicial.designs.hand import hand
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


# ---------------------------------------------------------------------- language models

READ = {
    "joined": "x[t,C] = e[w[t-1],J]; pos[t,P]",
    "added": "x[t,c] = e[w[t-1],c] + pos[t,c]",
    "alone": "x[t,c] = e[w[t-1],c]",
    "ahead": "x[t,c] = e[w[t-1],c] + pos[t,c]",
}
LANGUAGE = """
input w[t] in V
Query[t,i] = W^Q[i,C] x[t,C]
Key[t,i] = W^K[i,C] x[t,C]
Value[t,j] = W^V[j,C] x[t,C]
α[t_1,t_2] = softmax_{t_2 ≤ t_1} 1/√I Query[t_1,I] Key[t_2,I]
y[t,j] = α[t,T] Value[T,j]
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} U[w_t,J] y[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
"""
TOKENS, PLACES, VECTOR = 3, 4, 2


def language(seed: int, how: str) -> Design:
    """One head with learned vectors for its tokens, which reads w[t-1] and looks back."""
    random = np.random.default_rng(seed)
    text = READ[how] + LANGUAGE
    if how != "alone":
        text = "parameter pos[t,p]\n" + text if how == "joined" else "parameter pos[t,c]\n" + text
    if how == "ahead":
        text = text.replace("softmax_{t_2 ≤ t_1}", "softmax_{t_2}").partition("P(w[t]")[0]
        text += "P[t,v] = softmax_v U[v,J] y[t,J]\n"
    wide = 2 * VECTOR if how == "joined" else VECTOR
    arrays = {
        "e": (TOKENS, VECTOR), "pos": (PLACES, VECTOR), "U": (TOKENS, VECTOR),
        "W^Q": (2, wide), "W^K": (2, wide), "W^V": (VECTOR, wide),
    }  # fmt: skip
    if how == "alone":
        del arrays["pos"]
    drawn = {name: random.normal(size=shape) for name, shape in arrays.items()}
    return indicial.design(text, sizes={"T": PLACES}, **drawn)


@pytest.mark.parametrize("how", READ)
def test_products_of_a_language_model_give_its_weights_and_words(how: str) -> None:
    design = language(3, how)
    found = circuits(design)
    assert found.output == "P" and found.factors["output"] == "U"
    names = list(found.labels)
    for tokens in ((0,), (2, 1), (1, 1, 0)):
        places = []
        for place, token in enumerate((None, *tokens)):
            feature = np.zeros(len(names))
            if token is not None:
                feature[token] = 1
            elif how == "alone":
                feature[names.index("·")] = 1
            if how != "alone":
                feature[TOKENS + place] = 1
            places.append(feature)
        x = np.array(places)
        scores = x @ found.scores[0] @ x.T
        if how != "ahead":
            scores[np.triu_indices(len(x), 1)] = -np.inf
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        odds = weights @ x @ found.values[0].T
        told = design.reading(tokens).values(["α", "P"])
        np.testing.assert_allclose(told["α"], weights, atol=1e-12)
        words = np.exp(odds) / np.exp(odds).sum(-1, keepdims=True)
        np.testing.assert_allclose(told["P"], words, atol=1e-12)


@pytest.mark.parametrize("how", READ)
def test_what_no_word_depends_on_is_not_compared(how: str) -> None:
    """Other vectors, a score for all tokens, a number for all words: the same P, the same report."""
    random = np.random.default_rng(0)
    one, other = language(1, how), language(2, how)
    a = dict(other.arrays)
    turn = invertible(random, VECTOR)
    inverse = np.linalg.inv(turn)
    half = slice(VECTOR, None) if how == "joined" else slice(None)
    for name in ("W^Q", "W^K", "W^V"):
        a[name] = a[name].copy()
        a[name][:, half] = a[name][:, half] @ turn
    if how != "alone":
        a["pos"] = a["pos"] @ inverse.T
    if how in ("added", "ahead", "alone"):
        a["e"] = a["e"] @ inverse.T
    if how in ("added", "ahead"):  # from the tokens to the positions that have one
        step = random.normal(size=VECTOR)
        a["e"], a["pos"] = a["e"] + step, a["pos"].copy()
        a["pos"][1:] -= step
    a["U"] = a["U"] + random.normal(size=VECTOR)
    moved = replace(other, arrays=a)
    told = [made.reading((2, 0, 1)).values(["α", "P"]) for made in (other, moved)]
    for name in ("α", "P"):
        np.testing.assert_allclose(told[0][name], told[1][name], atol=1e-8)
    assert same(indicial.compare(one, other), indicial.compare(one, moved))
    a["W^K"][0, 0] += 0.5
    assert not same(indicial.compare(one, other), indicial.compare(one, replace(other, arrays=a)))


@pytest.mark.parametrize("factor", [1e30, 1e-30, 1e100, 1e-100])
def test_any_factor(factor: float) -> None:
    one, other = heads(0), heads(1)
    arrays = {name: factor * array for name, array in other.arrays.items()}
    found = indicial.compare(one, replace(other, arrays=arrays))
    plain = indicial.compare(one, replace(other, arrays={**other.arrays}))
    assert [part.cosine for part in plain.parts if part.what == "Scores"] != []
    for part in found.parts:
        assert part.cosine is not None and np.isfinite([*part.sizes, part.difference]).all()
    assert "nan" not in str(found) and "inf" not in str(found)
    again = indicial.compare(replace(one, arrays=arrays), replace(other, arrays=arrays))
    assert [part.cosine for part in again.parts] == pytest.approx([1.0] * len(again.parts))
    if factor == 1e100:
        with pytest.raises(IndicialError, match="larger than numbers can be"):
            indicial.compare(one, replace(other, arrays={n: 1e60 * a for n, a in arrays.items()}))


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


def test_the_report_fits_into_80_columns() -> None:
    text = str(indicial.compare(hand("unique"), changed(hand("unique"), V=np.ones((2, 5)))))
    assert max(map(len, text.splitlines())) <= 80


def test_what_cannot_be_compared() -> None:
    with pytest.raises(
        IndicialError, match="content by hand has 6 positions and position by hand 4"
    ):
        indicial.compare(hand("content"), hand("position"))
    learned = indicial.load("transformer").compile(V=3, J=4, K=2, I=2, D=4, T=4, L=1)
    arrays = {n: learned.parameter(n).detach().double().numpy() for n in learned.state_keys}
    design = Design(indicial.load("transformer"), learned.sizes.known, arrays, ("A", "B", "C"))
    with pytest.raises(IndicialError, match="one"):
        indicial.compare(design, design)


@pytest.mark.parametrize("ending", ["svg", pytest.param("png", marks=pytest.mark.long)])
def test_a_figure(ending: str, tmp_path: Path) -> None:
    comparison = indicial.compare(hand("position"), replace(one_head(1), name="another"))
    path = comparison.figure(tmp_path / f"both.{ending}")
    if ending == "svg":
        text = path.read_text(encoding="utf-8")
        assert "weights on ABCA" in text and "another" in text
        assert comparison.figure(tmp_path / "again.svg").read_text(encoding="utf-8") == text
    with pytest.raises(IndicialError, match=r"ends in \.svg, \.png or \.pdf"):
        comparison.figure(tmp_path / "both.txt")


def test_a_figure_of_several_heads() -> None:
    comparison = indicial.compare(heads(0), heads(1))
    assert all(column.title.endswith(", pair 2") for column in _columns(comparison, 2))


def test_a_figure_shows_products_as_they_are_and_outputs_by_their_tokens(tmp_path: Path) -> None:
    """No query at positions, so no scores there; an output for each token is called by it."""
    one = hand("position")
    comparison = indicial.compare(one, one, text="ABCA")
    (products,) = comparison.circuits[0].products
    assert not products[3:].any() and (products[:3, 3] == products.max()).all()
    columns = {c.title.split()[0]: c for c in [*_columns(comparison, 0), *_outputs(comparison)]}
    assert columns["query"].title == "query times key" and not columns["query"].arrays[0][3:].any()
    assert columns["outputs"].columns == columns["value"].rows == ("A", "B", "C")
    (column,) = (
        c
        for c in _columns(indicial.compare(hand("unique"), hand("unique")), 0)
        if "value" in c.title
    )
    assert column.rows == ("0", "1")
