"""What was named → one program that can be trained, or what it lacks, in terms of the equations."""

from __future__ import annotations

from pathlib import Path

import pytest

from indicial import IndicialError, load
from indicial.library.loading import told_apart
from indicial.tasks.predictions import Probe, prediction, probe
from indicial.tasks.programs import trainable
from indicial.tasks.task import loss_terms


@pytest.mark.parametrize(
    ("names", "title", "task"),
    [
        ("ugrnn", "ugrnn + language_model", "language"),
        ("stacked", "stacked + language_model_stack", "language"),
        ("transformer focus", "transformer + focus", "language"),
        ("blank_rnn", "blank_rnn", "blank"),
        ("encoder", "encoder + masked", "blank"),
        ("bidirectional", "bidirectional + blank_log_loss", "blank"),
    ],
)
def test_a_head_is_joined_where_there_is_none(names: str, title: str, task: str) -> None:
    found = trainable(names.split())
    assert (found.program.title, found.task) == (title, task)
    assert found.program.mistakes == []
    assert found.program.code.loss is not None and prediction(found.program.code) is not None


def test_a_text_with_a_distribution_gets_its_log_loss() -> None:
    found = trainable(["lstm", "temperature", "x[t,k] = e[w[t],k]"])
    assert found.program.code.loss == "loss"


def test_a_text_with_a_loss_alone() -> None:
    text = "input w[t] in V\nloss = 1/T Σ_t (a[w[t]] - 1)^2"
    assert trainable([text]).task == "language"


@pytest.mark.parametrize(
    "name", ["bahdanau", "captioning_features", "encoder_decoder", "thought_vector"]
)
def test_a_program_with_several_inputs_is_for_columns(name: str) -> None:
    assert trainable([name]).task == "columns"
    with pytest.raises(IndicialError, match="is for the task columns"):
        trainable([name], task="language")


def test_sizes_constants_and_holes() -> None:
    found = trainable(["transformer", "focus"], {"J": "64", "lambda": "0.5"})
    assert found.sizes == {"J": 64}
    assert found.program.code.constants == {"λ": 0.5}
    found = trainable(["residual"], {"CELL": "lstm", "L": "3"})
    assert "CELL.c" in found.program.code.tensors and found.sizes == {"L": 3}


def test_a_whole_number_may_be_a_constant() -> None:
    assert told_apart([load("focus")], {"λ": "2", "K": "2"}) == ({"K": 2}, {"λ": "2"}, {})


@pytest.mark.parametrize(
    ("names", "given", "task", "said"),
    [
        ("v[t]=x[t,K]x[t,K]", {}, None, "they end in v[t])"),
        ("v[t]=x[t,K]x[t,K]", {}, None, "P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,J] h[t,J]"),
        ("ugrnn", {}, "blank", "two cells that give h⃗[t,j], h⃖[t,j]"),
        ("language_model", {}, None, "Add h[t,j] = …, or name a model that defines it"),
        ("focus", {}, None, "no parameters, so there is nothing to learn: they read loss, α[ℓ,k,t,t]"),
        ("bidirectional", {}, "language", "w[t] is predicted from w[t+1]"),
        ("blank_rnn", {}, "language", "--task blank"),
        ("ugrnn", {"J": "0.5"}, None, "--set J=0.5: J is a size of the model, a whole number from 1 to"),
        ("ugrnn", {"J": "0"}, None, "J is a size of the model"),
        ("ugrnn", {"J": "nan"}, None, "J is a size of the model"),
        ("ugrnn", {"J": "²"}, None, "J is a size of the model"),
        ("ugrnn", {"J": "1000000000"}, None, "a whole number from 1 to 999,999,999"),
        ("ugrnn", {"V": "many"}, None, "V is a size of the model"),
        ("transformer focus", {"λ": "much"}, None, "--set λ=much: λ is a constant of the equations, a number"),
        ("transformer focus", {"lambda": "nan"}, None, "--set lambda=nan: lambda is a constant"),
        ("transformer focus", {"λ": "1e999"}, None, "λ is a constant of the equations"),
        ("focus ugrnn", {"μ": "0.5"}, None, "not a constant of the equations (λ)"),
        ("ugrnn", {"Q": "5"}, None, "has no size Q; its sizes are T, V, J"),
        ("ugrnn", {"CELL": "gru"}, None, "no hole CELL"),
        ("stacked", {"CELL": "gruu"}, None, "unknown model gruu"),
        ("ugrn", {}, None, "did you mean ugrnn?"),
        ("rnn rnn", {}, None, "rnn is named twice"),
        ("./a.eq a.eq", {}, None, "a.eq is named twice"),
    ],
)  # fmt: skip
def test_what_lacks_is_said(names: str, given: dict[str, str], task: str | None, said: str) -> None:
    with pytest.raises(IndicialError) as error:
        trainable([f"input x[t,k]\n{n}" if "=" in n else n for n in names.split()], given, task)
    assert said in str(error.value)


def test_a_text_without_equations(tmp_path: Path) -> None:
    (tmp_path / "empty.eq").write_text("# to be written\n", encoding="utf-8")
    with pytest.raises(IndicialError, match=r"there are no equations in .*empty\.eq"):
        trainable([str(tmp_path / "empty.eq")])


def test_what_is_proposed_does_not_look_ahead() -> None:
    text = "input w[t] in V\nh[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])"
    with pytest.raises(IndicialError) as error:
        trainable([text])
    proposed = str(error.value).splitlines()[1]
    assert trainable([f"{text}\n{proposed}"]).task == "language"


def test_probabilities_of_the_word_behind_the_last() -> None:
    """As code for PyTorch shifts it; one word of a text would have no probability."""
    text = """
    input w[t] in V
    h[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])
    P(w_{t+1} | w_0, …, w_t) = softmax_{w_{t+1}} e[w_{t+1},J] h[t,J]
    loss = 1/(T-1) Σ_{t=0}^{T-2} -ln P(w_{t+1} | …)
    """
    with pytest.raises(IndicialError) as error:
        trainable([text])
    said, *proposed = str(error.value).splitlines()
    assert said.startswith("P is there for w[1], …, w[T], and a text has w[0], …, w[T-1]:")
    kept = [line for line in text.splitlines() if "w_{t+1}" not in line]
    assert trainable(["\n".join([*kept, *proposed])]).task == "language"


def test_b_stands_for_the_texts_of_a_batch() -> None:
    text = """
    input w[t] in V
    h[t,a] = tanh(W[a,B] h[t-1,B] + e[w[t],a])
    P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,A] h[t-1,A]
    """
    with pytest.raises(IndicialError, match=r"W\[a,b\] has the index b, .* call it something else"):
        trainable([text])
    assert trainable([text.replace("B", "C")]).task == "language"


@pytest.mark.parametrize(
    ("name", "ahead", "first"),
    [
        ("transformer", False, True),
        ("trigram", False, True),
        ("rnn_lm", False, True),
        ("gpt2", False, False),
        ("blank_rnn", True, True),
    ],
)
def test_how_a_program_uses_a_text(name: str, ahead: bool, first: bool) -> None:
    assert probe(load(name)) == Probe(looks_ahead=ahead, first_is_known=first)


def test_what_is_predicted_from_what() -> None:
    found = prediction(load("encoder", "masked").code)
    assert found is not None and found.blanked is not None and found.mask is not None
    names = (found.distribution.name, found.token.name, found.blanked.name, found.mask.name)
    assert names == ("P", "u", "w", "m")
    assert (found.vocabulary, found.length) == ("V", "T")
    assert prediction(load("ugrnn").code) is None


def test_terms_of_a_loss() -> None:
    assert loss_terms(load("transformer", "focus").code) == ("ℒ_{LM}", "ℒ_{focus}")
    assert loss_terms(load("transformer").code) == ()
    assert loss_terms(load("ugrnn").code) == ()


def test_a_model_that_predicts_some_of_the_words_is_refused() -> None:
    """Its top layer is shorter than the text: the other words would count as known."""
    with pytest.raises(IndicialError, match="says how likely 1 of 3 words are"):
        trainable(["language_cnn"])
    assert trainable(["causal_cnn"]).task == "language"
