"""Rows of batches: each token once in evaluation, pure functions of (seed, step) in training."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.data.corpus import Corpus, Rows, shuffled
from indicial.program.messages import IndicialError

EOS = 0


def corpus_of(lengths: list[int]) -> Corpus:
    """Documents of these lengths, `<EOS>` included; every other token is its own place."""
    starts = np.cumsum([0, *lengths])
    tokens = np.arange(starts[-1])
    tokens[starts[1:] - 1] = EOS
    return Corpus(tokens.astype(np.uint32), starts, 0, 0, 0, 0, "")


def is_document_start(corpus: Corpus, place: int) -> bool:
    return place in set(corpus.starts.tolist())


lengths = st.lists(st.integers(1, 30), min_size=1, max_size=40)
layouts = st.sampled_from(["documents", "stream"])


@given(lengths, st.integers(2, 12), layouts, st.integers(1, 4), st.data())
def test_evaluation_counts_each_token_once(
    lengths: list[int], context: int, layout: str, batch_size: int, data: st.DataObject
) -> None:
    corpus = corpus_of(lengths)
    stride = data.draw(st.integers(1, context - 1))
    counted: list[int] = []
    for block in Rows(corpus, context, layout=layout).in_order(batch_size, stride):
        assert block.counted is not None
        assert block.tokens.shape == block.counted.shape
        assert len(block.tokens) <= batch_size
        for row, counts in zip(block.tokens, block.counted, strict=True):
            counted.extend(row[counts].tolist())
    assert counted == corpus.tokens.tolist()


@given(lengths, st.integers(2, 12), layouts, st.data())
def test_what_counted_tokens_are_predicted_from(
    lengths: list[int], context: int, layout: str, data: st.DataObject
) -> None:
    """A token that counts follows enough of its document: all of it, or what the stride leaves."""
    corpus = corpus_of(lengths)
    stride = data.draw(st.integers(1, context - 1))
    rows = Rows(corpus, context, layout=layout)
    for begin, first, end in (
        rows._documents(stride) if layout == "documents" else rows._stream(stride)
    ):
        assert begin <= first < end <= min(begin + context, len(corpus))
        for place in range(first, end):
            document = max(s for s in corpus.starts.tolist() if s <= place)
            behind = place - begin
            assert behind >= min(place - document, context - stride)
            if layout == "documents" and place - document < context:
                assert begin <= document


@given(st.integers(1, 300), st.integers(0, 2**64 - 1))
def test_shuffled_is_a_permutation(count: int, key: int) -> None:
    assert sorted(shuffled(np.arange(count), count, key).tolist()) == list(range(count))


def test_shuffled_is_even() -> None:
    """Each number stands at each place about equally often: χ² over 4000 keys."""
    count, keys = 6, 4000
    table = np.zeros((count, count))
    for key in range(keys):
        table[np.arange(count), shuffled(np.arange(count), count, key * 977)] += 1
    expected = keys / count
    chi_squared = ((table - expected) ** 2 / expected).sum()
    assert chi_squared < 60  # 25 degrees of freedom: exceeded once in 10,000 times


@pytest.mark.parametrize("layout", ["documents", "stream"])
def test_rows_are_pieces_of_the_corpus(layout: str) -> None:
    corpus = corpus_of([3, 5, 2, 7, 4] * 20)
    rows = Rows(corpus, 8, seed=3, layout=layout)
    for step in range(60):
        for row in rows.batch(step, 4).tokens:
            start = next(int(token) - i for i, token in enumerate(row) if token != EOS)
            assert row.tolist() == np.roll(corpus.tokens, -start)[:8].tolist()
            if layout == "documents":
                assert is_document_start(corpus, start)


def test_an_epoch_of_a_stream_has_every_window_once() -> None:
    corpus = corpus_of([1005])
    rows = Rows(corpus, 10, seed=1)
    assert (rows.layout, len(rows)) == ("stream", 100)
    for epoch in range(3):
        seen = [rows.batch(epoch * 100 + step, 1).tokens for step in range(100)]
        counts = np.bincount(np.concatenate(seen).ravel())
        assert counts.sum() == 1000
        assert counts[1:].max() == 1


def test_every_document_comes_up() -> None:
    corpus = corpus_of([3, 5, 2, 7, 4] * 20)
    rows = Rows(corpus, 8, seed=0)
    assert rows.layout == "documents"
    seen = np.bincount(
        np.concatenate([rows.batch(step, 8).tokens.ravel() for step in range(100)]),
        minlength=len(corpus),
    )
    assert (seen[corpus.tokens[corpus.tokens != EOS]] > 0).all()


def test_steps_seeds_and_epochs_differ() -> None:
    corpus = corpus_of([4000])
    batches = [
        Rows(corpus, 8, seed=seed).batch(step, 4).tokens.tobytes()
        for seed in range(3)
        for step in range(300)  # more than two epochs
    ]
    assert len(set(batches)) == len(batches)


def test_ranks_share_a_batch() -> None:
    rows = Rows(corpus_of([3, 5, 2] * 50), 8)
    whole = rows.batch(5, 10).tokens
    for of in (1, 2, 3, 5):
        shares = [rows.batch(5, 10, rank, of).tokens for rank in range(of)]
        assert np.array_equal(np.concatenate(shares), whole)


def test_another_process_makes_the_same_batch() -> None:
    code = (
        "import numpy as np; from indicial.data.corpus import Rows\n"
        "from indicial.data.corpus import Corpus\n"
        "corpus = Corpus(np.arange(999, dtype=np.uint16), np.array([0, 999]), 0, 0, 0, 0, '')\n"
        "print(Rows(corpus, 7, seed=5).batch(123, 3).tokens.tolist())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    corpus = Corpus(np.arange(999, dtype=np.uint16), np.array([0, 999]), 0, 0, 0, 0, "")
    assert said.strip() == str(Rows(corpus, 7, seed=5).batch(123, 3).tokens.tolist())


def test_layout_follows_the_documents() -> None:
    assert Rows(corpus_of([5] * 100), 8).layout == "documents"
    assert Rows(corpus_of([5] * 100 + [13]), 8).layout == "documents"  # 5 of 513 out of reach
    assert Rows(corpus_of([5] * 100 + [14]), 8).layout == "stream"  # 6 of 514


def test_a_short_corpus() -> None:
    corpus = corpus_of([3, 2])
    with pytest.raises(
        IndicialError, match=r"context is 8 tokens.* are 5: .*--context \(at most 5\)"
    ):
        Rows(corpus, 8).batch(0, 2)
    [block] = Rows(corpus, 8).in_order()
    assert block.tokens.tolist() == [corpus.tokens.tolist()]
    for row in Rows(corpus, 5).batch(0, 20).tokens.tolist():
        assert row in ([0, 1, 0, 3, 0], [3, 0, 0, 1, 0])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda c: Rows(c, 1), "at least 2 tokens"),
        (lambda c: Rows(c, 4, layout="rows"), "auto or documents or stream, not as 'rows'"),
        (lambda c: Rows(c, 4).in_order(stride=4), "with a context of 4 it is from 1 to 3"),
    ],
)
def test_wrong_calls(make: object, said: str) -> None:
    with pytest.raises(IndicialError, match=said):
        make(corpus_of([5, 5]))  # type: ignore[operator]
