"""Every causal model of the library: T steps are the same as all of it at once."""

from __future__ import annotations

import pytest
import torch
from walking import compare, decoder, walk

from indicial import library, load
from indicial.compile.native import toolchain
from indicial.compile.stepping.causal import LookAhead
from tests.compile.module.modules import compiled, inputs, random, small

MODELS = [
    "answer", "bahdanau", "captioning", "captioning_features", "causal_cnn", "cross_attention", "encoder_decoder",
    "encoder_decoder_prenorm", "experts", "gpt2", "gru", "language_model", "language_model_stack", "layer_norm",
    "log_loss", "lstm", "masked", "mlp", "random_synthesizer",
    "positions_concatenated", "positions_learned", "positions_sinusoidal", "residual", "rms_norm",
    "rnn", "rnn_lm", "stacked", "temperature", "thought_vector", "transformer", "transformer_bilinear",
    "transformer_joined", "transformer_relative", "transformer_rotary", "trigram", "ugrnn",
]  # fmt: skip
AHEAD = [
    "bidirectional", "blank_log_loss", "blank_rnn", "encoder", "language_cnn", "merged_attention", "perceiver",
    "positions_relative", "selects", "self_attention", "synthesizer_dense", "synthesizer_random",
]  # fmt: skip
EMITTED = {"answer", "captioning"}  # whose steps no kernel takes: they read pages and pictures
NO_STEPS = {"argmax_attention", "focus", "near", "ugcnn"}  # several indices, none of them generated


@pytest.mark.parametrize("name", MODELS)
def test_steps_are_the_whole(name: str) -> None:
    module = compiled(name).eval()
    for batch in ((), (2,)):
        given = inputs(module, *batch)
        with torch.no_grad():
            whole = module(given, want=decoder(module).stepping.outputs)
            found = sum(compare(state, whole, batch) for state in walk(module, given, batch))
        assert found == 5 * len(whole)
    if toolchain.available():  # a step is one kernel
        made = decoder(module).natives.made.values()
        assert [kernel is None for kernel in made] == [name in EMITTED] * len(made) != []


@pytest.mark.parametrize("name", ["rnn_lm", "transformer", "encoder_decoder_prenorm", "causal_cnn"])
def test_with_gradients_caches_are_no_others(name: str) -> None:
    module = compiled(name).eval()
    given = inputs(module, 2)
    whole = module(given, want=["P"])
    assert sum(compare(state, whole, (2,)) for state in walk(module, given, (2,))) == 5


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("stacked", "lstm"),
        ("residual", "gru"),
        ("captioning_features", "gru"),
        ("bahdanau", "lstm"),
    ],
)
def test_other_cells(name: str, cell: str) -> None:
    program = load(name, fills={"CELL": cell})
    module = random(program.compile(**small(program), dtype=torch.float64))
    given = inputs(module, 2)
    with torch.no_grad():
        whole = module(given, want=decoder(module).stepping.outputs)
        found = sum(compare(state, whole, (2,)) for state in walk(module, given, (2,)))
    assert found == 5 * len(whole)


def test_one_step() -> None:
    for name in ("rnn_lm", "causal_cnn", "gpt2"):
        module = compiled(name).eval()
        given = inputs(module, T=1)
        with torch.no_grad():
            states = list(walk(module, given))
            assert compare(states[0], module(given, want=["P"])) == 1
        assert len(states) == 2


def test_all_models_are_here() -> None:
    assert {*MODELS, *AHEAD, *NO_STEPS} == set(library.names())


@pytest.mark.parametrize("name", AHEAD)
def test_looking_ahead_names_the_read(name: str, golden) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(LookAhead) as error:
        compiled(name).begin()
    golden(f"stepping/{name}.txt", str(error.value))
