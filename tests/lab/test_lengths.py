"""What a text costs by its length."""

from pathlib import Path

import numpy as np
import pytest

import indicial
from indicial.data.prepare_columns import prepare_columns
from indicial.lab.comparison import draw_lengths, losses_by_length, parted
from indicial.tasks.columns import ColumnTask
from indicial.tasks.forms import form_of

BAG = """input x[s] in U
input w[t] in V
m[j] = mean_s a[x[s],j]
P(w[t] | x, w[0], …, w[t-1]) = softmax_{w_t} b[w_t,J] (m[J] + c[w[t-1],J])
loss = 1/T Σ_t -ln P(w_t | …)
"""


def test_rows_are_parted_by_length() -> None:
    lengths = np.repeat([2, 3, 5, 9], 4)
    found = parted(lengths, 0.5 * lengths**2.0)  # n/2 nats for each of n tokens
    assert found == [(n, pytest.approx(n / 2)) for n in (2, 3, 5, 9)]
    assert parted(np.array([4]), np.array([2.0])) == [(4, 0.5)]
    many = np.arange(1, 1000)
    found = parted(many, np.ones(len(many)))
    assert len(found) == 8
    assert found[0] == (pytest.approx(63, abs=1), pytest.approx(1 / 63, rel=0.02))


def test_the_parts_make_up_the_validation_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    terms = {"world_size": 30, "max_steps": 1, "set": {"J": "3"}, "out": "run"}
    run = indicial.train(indicial.load(BAG), data="phrasebook", **terms)
    slots = form_of(run.program).slots
    data = prepare_columns(slots, ["phrasebook"], world_size=30)
    found = losses_by_length(run, data)
    task = ColumnTask(run.program, data, context=run.number("context"), batch_size=2)
    lengths = np.diff(np.asarray(data.validation.columns["w"].starts))
    assert [n for n, _ in found] == sorted(set(lengths.tolist()))
    tokens = [n * (lengths == n).sum() for n, _ in found]
    mean = sum(t * nats for t, (_, nats) in zip(tokens, found, strict=True)) / sum(tokens)
    assert mean == pytest.approx(task.validate(run.module("best")).per_token, rel=1e-5)
    paths = draw_lengths({"bag": [found]}, tmp_path, "a title")
    assert [path.name for path in paths] == ["lengths.png", "lengths.svg"]
    assert "length of the text" in paths[1].read_text(encoding="utf-8")
