"""The tasks on a small text: batches, losses, validation; and that a model is a distribution."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from indicial.tasks.language import Blank
from indicial.tasks.predictions import Measure
from indicial.training.display import score_words
from indicial.training.training import Training
from tests.training.small import CHOICES, small_data, small_module, small_task

DATA = small_data()
QUICK = replace(CHOICES, max_steps=20, learning_rate=0.03)

MODELS = [
    "trigram", "rnn", "ugrnn", "gru", "lstm", "rnn_lm", "stacked", "residual lstm", "causal_cnn",
    "transformer", "gpt2", "transformer focus",
]  # fmt: skip


def named(name: str) -> tuple[list[str], dict[str, str]]:
    """`residual lstm` → the stack with that cell."""
    what = name.split()
    return (
        (what[:1], {"CELL": what[1]})
        if what[0] in ("stacked", "residual") and what[1:]
        else (what, {})
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_a_distribution_and_learns(name: str) -> None:
    """Texts that have ended and beginnings that have not share the probability 1."""
    what, given = named(name)
    task = small_task(*what, given=given, data=DATA)
    module = small_module(task, V=3)
    with torch.no_grad():
        for parameter in module.parameters():  # also those that begin at 0
            parameter.normal_()
    assert task.prediction is not None
    measure = Measure(module, task.prediction)
    end, total = 0, 0.0
    for length in (1, 2, 3):
        texts = np.array(list(product(range(3), repeat=length)))
        led = np.insert(texts, 0, end, axis=1) if task.leads else texts
        nats = measure({"w": torch.from_numpy(led)})[:, led.shape[1] - length :].sum(1)
        before = (texts[:, :-1] != end).all(1)
        finished = before & (texts[:, -1] == end)
        counted = finished if length < 3 else before
        total += float(torch.exp(-nats.double())[torch.from_numpy(counted)].sum())
    assert total == pytest.approx(1, abs=1e-5)

    training = Training(task, small_module(task, J=16, I=16), QUICK)
    losses = [training.step().loss for _ in range(20)]
    assert losses[-1] < losses[0] - 0.3


def test_a_batch_is_a_function_of_its_step() -> None:
    one, two = (small_task("ugrnn", data=DATA) for _ in range(2))
    _ = one.batch(0)
    assert torch.equal(one.batch(7).inputs["w"], two.batch(7).inputs["w"])
    assert not torch.equal(one.batch(7).inputs["w"], two.batch(8).inputs["w"])
    parts = [one.batch(7, rank, 2).inputs["w"] for rank in (0, 1)]
    assert torch.equal(torch.cat(parts), one.batch(7).inputs["w"])
    assert sum(one.batch(7, rank, 2).count for rank in (0, 1)) == one.batch(7).count


@pytest.mark.parametrize("name", ["ugrnn", "gpt2"])
def test_validation_counts_each_token_once(name: str) -> None:
    task = small_task(name, data=DATA)
    module = small_module(task)
    nats = 0.0
    module.eval()
    for block in task.checked.in_order(task.batch_size):
        tokens = torch.from_numpy(block.tokens)
        led = torch.cat([torch.zeros(len(tokens), 1, dtype=torch.int64), tokens], 1)
        with torch.no_grad():
            P = module(w=led if task.leads else tokens, want=["P"])["P"]
        P = P[:, 1:] if task.leads else P
        of_words = P.gather(-1, tokens[..., None])[..., 0]
        assert block.counted is not None
        nats -= float(of_words.log()[torch.from_numpy(block.counted)].double().sum())
    module.train()
    scores = task.validate(module)
    assert module.training
    assert scores.count == len(DATA.validation)
    assert scores.nats == pytest.approx(nats, rel=1e-5)
    assert scores.characters == DATA.validation.characters
    assert scores.words == DATA.validation.words + DATA.validation.documents
    some = task.validate(module, most=100)
    assert 100 <= some.count < 100 + 8 * 24


def test_a_model_that_cannot_know_the_first_word_is_shown_the_end_before_it() -> None:
    task = small_task("gpt2", data=DATA)
    batch = task.batch(0)
    assert task.leads and (batch.inputs["w"][:, 0] == DATA.tokenizer.eos).all()
    assert batch.inputs["w"].shape == (8, 24) and batch.count == 8 * 23
    assert task.describe() == {"context": 24, "begins_with_eos": True, "layout": "documents"}


def test_a_first_word_without_a_probability() -> None:
    """In rows of running text too: an infinite loss of one word would hide all others."""
    text = """
    input w[t] in V
    h[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])
    P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J] for t ≥ 1
    loss = 1/(T-1) Σ_{t ≥ 1} -ln P(w_t | …)
    """
    one = replace(DATA.validation, starts=DATA.validation.starts[[0, -1]])
    for data in (DATA, replace(DATA, train=one, validation=one)):
        task = small_task(text, data=data)
        assert task.leads and (task.batch(0).inputs["w"][:, 0] == data.tokenizer.eos).all()
        scores = task.validate(small_module(task))
        assert scores.count == len(data.validation) and 2 < scores.per_token < 4
    assert task.rows.layout == "stream"


def test_a_loss_without_probabilities() -> None:
    task = small_task("input w[t] in V\nloss = 1/T Σ_t (a[w[t]] - 1)^2", data=DATA)
    module = small_module(task)
    with torch.no_grad():
        module.parameter("a").fill_(3.0)
    scores = task.validate(module)
    assert scores.per_token == pytest.approx(4.0)
    # Nothing is known of probabilities, so nothing is said that only they have.
    assert scores.to_json().keys() == {"loss", "nats", "tokens"}
    assert score_words(scores) == ["loss 4.000"]


# ---------------------------------------------------------------------- blanks


def test_words_are_blanked() -> None:
    task = small_task("encoder", data=DATA)
    assert isinstance(task, Blank)
    blank = DATA.tokenizer.size
    assert task.sizes == {"V": blank + 1}
    batch = task.batch(3)
    u, w, m = (batch.inputs[name] for name in "uwm")
    assert torch.equal(w == blank, m == 1) and batch.count == m.sum()
    assert torch.equal(w[m == 0], u[m == 0])
    assert (m.sum(1) >= 1).all() and 0.05 < m.mean() < 0.3
    assert torch.equal(task.batch(3).inputs["w"], w)
    assert not torch.equal(task.batch(4).inputs["m"], m)


@pytest.mark.parametrize("name", ["encoder", "blank_rnn", "bidirectional"])
def test_a_blank_language_model_learns(name: str) -> None:
    task = small_task(name, data=DATA)
    module = small_module(task, J=16, I=16)
    training = Training(task, module, QUICK)
    before = task.validate(module).per_token
    for _ in range(20):
        training.step()
    after = task.validate(module)
    assert after.per_token < before - 0.3
    assert after.count == len(DATA.validation) if name != "encoder" else after.count < 400


def test_blanks_have_no_entropy_to_come_near_to() -> None:
    """Seen from both sides, a word may cost less than the text allows for from one."""
    assert small_task("blank_rnn", data=DATA).scores(1.0, 1).entropy is None
    assert small_task("blank_rnn", data=DATA).about.entropy is None


def test_terms_are_told_one_by_one() -> None:
    task = small_task("transformer", "focus", given={"λ": "0.5"}, data=DATA)
    module = small_module(task)
    loss, terms = task.loss(module, task.batch(0))
    assert list(terms) == ["ℒ_{LM}", "ℒ_{focus}"]
    assert loss.item() == pytest.approx(float(terms["ℒ_{LM}"] + 0.5 * terms["ℒ_{focus}"]))
    assert not any(value.requires_grad for value in terms.values())


def test_a_character_that_is_not_known_counts_in_full() -> None:
    """Its token, and then any other character of Unicode is as likely: no bits are saved by not knowing."""
    strange = DATA.validation.tokens.copy()
    strange[[3, 11]] = DATA.tokenizer.unknown
    data = replace(DATA, validation=replace(DATA.validation, tokens=strange))
    task = small_task("ugrnn", data=data)
    module = small_module(task).eval()
    knowing = copy(DATA.tokenizer)
    knowing.unknown = None
    bare = small_task("ugrnn", data=replace(data, tokenizer=knowing))
    others = 0x110000 - 0x800 - (DATA.tokenizer.size - 2)
    counted, plain = (which.validate(module) for which in (task, bare))
    assert counted.nats - plain.nats == pytest.approx(2 * np.log(others), rel=1e-5)
    assert counted.count == plain.count and counted.characters == plain.characters
