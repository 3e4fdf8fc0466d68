"""What is emitted, for every model of the library: the texts themselves, and what must hold of them."""

from __future__ import annotations

import re

import pytest

import indicial
from indicial import library
from indicial.compile.native import toolchain
from indicial.compile.native.arranging import build
from indicial.compile.native.routine import Native
from indicial.compile.pipeline import planned

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")


@pytest.mark.parametrize("name", library.names())
def test_the_text_of_every_model(name: str, golden) -> None:
    golden(f"source_{name}.txt", indicial.load(name).torch_source())


def test_one_product_for_query_key_and_value() -> None:
    text = indicial.load("transformer").torch_source()
    inside = text[text.index("for l in") :]
    assert inside.count("linears(N, ") == inside.count("linears(") == 1
    # The output and the words; the network is two, with a ReLU between them.
    assert (inside.count("F.linear("), inside.count("relu_network(")) == (2, 1)


@pytest.mark.parametrize("name", library.names())
def test_no_loop_over_time(name: str) -> None:
    """Loops that are left are those over layers."""
    text = indicial.load(name).torch_source().partition("def run")[2]
    assert set(re.findall(r"^ *for (\w+) in", text, re.M)) <= {"l", "l_", "l_2"}


@pytest.mark.parametrize("name", ["bahdanau", "captioning_features", "rnn_lm", "thought_vector"])
def test_a_start_is_put_before_its_recurrence_without_padding_it(name: str) -> None:
    text = indicial.load(name).torch_source()
    assert "torch.cat([" in text or name == "bahdanau"  # which reads no start after its loop
    assert not re.search(r"torch\.cat\(\[.*F\.pad", text)


@pytest.mark.parametrize(
    "name", ["ugrnn", "gru", "lstm", "bahdanau", "captioning_features", "stacked"]
)
def test_a_step_is_products_and_loops(name: str) -> None:
    """No call but of products inside the loop over steps, and each gate's weights in one."""
    code = indicial.load(name).code
    want = [code.loss] if code.loss else [code.statements[-1].target]
    for call in planned(code, want).plan.calls():
        recurrence = call.function
        for part in recurrence.forward.parts:
            if not isinstance(part, Native):
                continue
            kernel = build(part.code, part.loop, part.same, part.keep, fixed={})
            steps = kernel.text[kernel.text.index("for (long v") :].partition("free(")[0]
            called = set(re.findall(r"\b(\w+)\(", steps))
            language = {"for", "if", "long", "__builtin_inf", "multiply", "slot"}
            inlined = {c for c in called if c.endswith("_float") or c.startswith("lanes_")}
            assert not called - language - inlined
