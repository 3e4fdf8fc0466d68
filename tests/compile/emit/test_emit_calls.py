"""What a source is called with: draws, tokens that are none, a written batch, other sizes, tracing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from emitting import batch, code, compare, draw, model, source, tensors

from indicial import load
from indicial.compile.native import toolchain
from indicial.notation.source import Source, Span
from indicial.program.ir import Read
from indicial.program.meaning.interpret import interpret
from indicial.program.rewrite import rebuild


def test_dropout_masks_are_draws() -> None:
    """With the batch in front, or one for all members; where there is none it is 1."""
    program = model("encoder")
    drawn = [draw(program, 3, seed) for seed in range(2)]
    generator = np.random.default_rng(0)
    inputs, sizes = batch([d.inputs for d in drawn]), drawn[0].sizes
    for members in ((2,), ()):
        masks = {
            name: generator.integers(0, 2, (*members, *array.shape)) / 0.9
            for name, array in drawn[0].draws.items()
        }
        text = source(program, draws=frozenset(masks))
        given = tensors(program, drawn[0].parameters), tensors(program, inputs)
        found = text.run(*given, sizes, {}, tensors(program, masks))
        expected = interpret(program, inputs, drawn[0].parameters, sizes=sizes, draws=masks)
        compare(found, expected)
    assert "dropout" not in source(program).text.partition("def run")[2].replace("dropout(", "")


@pytest.mark.parametrize("past", ["t-1", "t+1"])
def test_only_the_mask_tells_how_many_examples_there_are(past: str) -> None:
    program = code(
        f"input x[t,k]\nh[t,k] = tanh(dropout(h[{past},k], 0.3) + b[k])\ny[t,k] = x[t,k] h[t,k]"
    )
    drawn = [draw(program, 3, seed, T=4) for seed in range(2)]
    masks = {"dropout_1": np.random.default_rng(0).integers(0, 2, (2, 4, 3)) / 0.7}
    inputs, parameters = batch([d.inputs for d in drawn]), drawn[0].parameters
    expected = interpret(program, inputs, parameters, sizes=drawn[0].sizes, draws=masks)
    text = source(program, ["h"], draws=frozenset(masks))
    p, m = tensors(program, parameters), tensors(program, masks)
    compare(text.run(p, {}, drawn[0].sizes, {}, m), expected)


def test_a_token_that_is_none() -> None:
    """It embeds as zeros, and its loss term is left out; any negative number says so."""
    program = model("log_loss")
    drawn = draw(program, 3, T=4)
    parameters = tensors(program, drawn.parameters)
    inputs = tensors(program, batch([drawn.inputs]))
    text = source(program, ["P", "loss"])
    whole = text.run(parameters, inputs, drawn.sizes, {}, {})
    w = inputs["w"].clone()
    w[0, 1], w[0, 3] = -1, -100
    found = text.run(parameters, {**inputs, "w": w}, drawn.sizes, {}, {})
    terms = [-whole["P"][0, t, w[0, t]].log() for t in (0, 2)]
    torch.testing.assert_close(found["loss"][0], sum(terms))
    embedded = code("input w[t] in V\ny[t,j] = e[w[t],j] + e[w[t-1],j]")
    e = torch.randn(3, 2, dtype=torch.float64)
    y = source(embedded).run({"e": e}, {"w": torch.tensor([[-7, 2]])}, {"V": 3, "J": 2}, {}, {})[
        "y"
    ]
    torch.testing.assert_close(y[0], torch.stack([torch.zeros(2, dtype=e.dtype), e[2]]))


WRITTEN = """
    input x[b,t,k]
    h[b,t,k] = tanh(a[k] h[b,t+1,k] + x[b,t,k])
    y[b,k] = Σ_t h[b,t,k] / T
    z[k] = Σ_b y[b,k]
"""


def test_a_written_batch() -> None:
    program = code(WRITTEN)
    drawn = draw(program, 3, B=2)
    given = tensors(program, drawn.parameters), tensors(program, drawn.inputs)
    for lengths in ({}, {"T": [2, 3]}):
        sizes = {n: v for n, v in drawn.sizes.items() if n not in lengths}
        expected = interpret(program, drawn.inputs, drawn.parameters, sizes=sizes, lengths=lengths)
        text = source(program, ragged=frozenset(lengths))
        told = {n: torch.tensor(v) for n, v in lengths.items()}
        compare(text.run(*given, drawn.sizes, told, {}), expected)


def test_names_do_not_reach_the_text() -> None:
    """Whatever a name is made of, an identifier is letters, digits and words of a list."""
    program = code("input x[t,k]\ny[t,k] = W^{a'b,\\tilde{c}}[k] x[t,k] + import[k]")
    text = source(program).text
    assert 'p["import"]' in text
    compile(text, "text", "exec")


NASTY = [
    '"]\nraise SystemExit\n#',
    "a\\",
    "__import__('os')",
    "\x00\ud800",
    "def",
    "p",
    "{}",
    "é\u2028",
]


@pytest.mark.parametrize("name", NASTY)
def test_nasty_names(name: str) -> None:
    """The name of a tensor, of an index, and in the equation above the line."""
    program = code("input x[t,k]\ny[t,k] = W[k] x[t,k]")
    (statement,) = program.statements
    body = rebuild(
        statement.body,
        leaf=lambda e: replace(e, tensor=name) if isinstance(e, Read) and e.tensor == "W" else e,
    )
    span = Span(Source("", f"y = {name}"), 0, 4 + len(name))
    tensors_ = {name if n == "W" else n: t for n, t in program.tensors.items()}
    tensors_[name] = replace(tensors_[name], name=name)
    nasty = replace(
        program, tensors=tensors_, statements=(replace(statement, body=body, span=span),)
    )
    x, w = torch.ones(1, 2, 3), torch.arange(3.0)
    found = source(nasty).run({name: w}, {"x": x}, {"T": 2, "K": 3}, {}, {})
    torch.testing.assert_close(found["y"], x * w)


def test_single_precision_stays_single() -> None:
    program = model("encoder")
    drawn = draw(program, 2)
    parameters = {n: t.float() for n, t in tensors(program, drawn.parameters).items()}
    inputs = tensors(program, batch([drawn.inputs]))
    found = source(program).run(parameters, inputs, drawn.sizes, {}, {})
    assert {v.dtype for v in found.values()} == {torch.float32}


@pytest.mark.parametrize(
    "name", ["gpt2", pytest.param("encoder_decoder", marks=pytest.mark.long), "causal_cnn"]
)
def test_export_with_open_sizes(name: str) -> None:
    """A source without a loop over time is traced once, and runs at other batches and lengths."""
    program = model(name)
    text = source(program, [program.loss] if program.loss else ["L"])
    small, large = draw(program, 3, T=4), draw(program, 3, seed=1, T=6)
    lengths = {"T": torch.export.Dim("T", min=3), "S": torch.export.Dim("S", min=3)}
    parameters = tensors(program, small.parameters)
    positions = [n for n in parameters if n.startswith("pos")]

    class Module(torch.nn.Module):
        def forward(self, p: dict[str, torch.Tensor], x: dict[str, torch.Tensor]) -> torch.Tensor:
            (value,) = text.run({**parameters, **p}, x, small.sizes, {}, {}).values()
            return value

    def given(drawn: object, count: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        inputs = tensors(program, batch([drawn.inputs] * count))  # type: ignore[attr-defined]
        room = tensors(program, {n: drawn.parameters[n] for n in positions})  # type: ignore[attr-defined]
        return room, inputs

    members = torch.export.Dim("B", min=2)
    letters = {n: program.tensors[n].axes[0].extent.name for n in (*positions, *small.inputs)}
    shapes = (
        {n: {0: lengths[letters[n]]} for n in positions},
        {n: {0: members, 1: lengths[letters[n]]} for n in small.inputs},
    )
    if "S" in program.sizes:
        shapes[1]["x"][1] = lengths["S"]
    exported = torch.export.export(Module(), given(small, 2), dynamic_shapes=shapes).module()
    for arguments in (given(small, 2), given(large, 3)):
        torch.testing.assert_close(exported(*arguments), Module()(*arguments))


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
def test_golden_texts(golden: Callable[[str, str], None]) -> None:
    """What is printed is meant to be read."""
    for name, want in (("transformer", "loss"), ("lstm", "h"), ("ugcnn", "L"), ("rnn_lm", "loss")):
        golden(f"emitted_{name}.txt", source(model(name), [want]).text)
    ragged = source(model("bidirectional"), ["h"], ragged=frozenset({"T"}))
    golden("emitted_bidirectional_lengths.txt", ragged.text)


WINDOW = """input x[t,j]
α[t_1,t_2] = softmax_{t_1-3 < t_2 ≤ t_1} 1/√J x[t_1,J] x[t_2,J]
y[t,j] = α[t,T] x[T,j]"""


def test_places_are_compared_as_whole_numbers() -> None:
    """In bfloat16 there is no 257: step 259 would look at 4 steps, or at 2."""
    module = load(WINDOW).compile(J=1, dtype=torch.bfloat16)
    weights = module(x=torch.zeros(300, 1, dtype=torch.bfloat16), want=["α"])["α"]
    t = torch.arange(300)
    near = (t[:, None] - 3 < t) & (t <= t[:, None])
    assert torch.equal(weights > 0, near)


def test_only_helpers_that_are_called_are_brought_along() -> None:
    text = load(WINDOW).torch_source()
    assert "scaled_dot_product_attention" in text
    assert "masked_softmax" not in text
