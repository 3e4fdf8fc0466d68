"""Library calls: the same values and gradients as without them, and where they are recognised."""

from __future__ import annotations

import pytest
import torch
from awkward import CONVOLUTIONS, text
from emitting import LEAST, agree, batch, code, defined, draw, model, tensors
from hypothesis import given
from hypothesis import strategies as st

from indicial import library
from indicial.compile.emit.calls import Finding
from indicial.compile.emit.helpers import slide
from indicial.compile.emit.source import Source, emit
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code


def last(program: Code) -> list[str]:
    """The loss, or what the last equation defines: nothing else is wanted."""
    return [program.loss if program.loss is not None else defined(program)[-1]]


def emitted(program: Code, want: list[str], patterns: bool = True) -> Source:
    options = {} if patterns else {"patterns": frozenset()}
    return emit(program, schedule(program, want), want, **options)  # type: ignore[arg-type]


def findings(program: str, want: list[str]) -> list[Finding]:
    return list(emitted(code(program), want).findings)


@pytest.mark.parametrize("name", library.names())
def test_calls_change_nothing(name: str) -> None:
    program = model(name)
    drawn = [draw(program, 3, seed, **LEAST.get(name, {})) for seed in range(2)]
    want = last(program)
    results = []
    for patterns in (False, True):
        source = emitted(program, want, patterns)
        parameters = {
            n: t.requires_grad_() for n, t in tensors(program, drawn[0].parameters).items()
        }
        inputs = tensors(program, batch([d.inputs for d in drawn]))
        found = source.run(parameters, inputs, drawn[0].sizes, {}, {})[want[0]]
        if found.requires_grad:
            (found * torch.arange(1, found.numel() + 1).reshape(found.shape)).sum().backward()
        results.append([found, *(t.grad for t in parameters.values() if t.grad is not None)])
    assert len(results[0]) == len(results[1])
    for plain, called in zip(*results, strict=True):
        torch.testing.assert_close(called, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    """Recognised, or said why not; in both ways what the oracle gives."""
    program = code(text(CONVOLUTIONS[name]))
    (found,) = emitted(program, ["y"]).findings
    reasons = {"one for each channel": "weights of its own", "two at once": "more than data"}
    assert reasons[name] in found.reason if name in reasons else found.recognised
    called, plain = emitted(program, ["y"]), emitted(program, ["y"], patterns=False)
    calls = ("F.conv", "slide(")
    assert any(call in called.text for call in calls) == found.recognised
    assert not any(call in plain.text for call in calls)
    for size in (1, 4, 40) if "slide(" in called.text else (1, 4):
        drawn = draw(program, size)
        given = tensors(program, drawn.parameters), tensors(program, batch([drawn.inputs]))
        results = [s.run(*given, drawn.sizes, {}, {})["y"] for s in (called, plain)]
        torch.testing.assert_close(*results, rtol=1e-9, atol=1e-9)


@given(st.data())
def test_slide_is_the_sum(data: st.DataObject) -> None:
    """By Fourier transforms and without, for all places that can be asked for and some beyond."""
    places = data.draw(st.integers(0, 90), "places")
    span = data.draw(st.integers(1, 90), "span")
    first = data.draw(st.integers(-20, places + span), "first")
    count = data.draw(st.integers(1, 120), "count")
    x, w = torch.randn(2, places, dtype=torch.float64), torch.randn(span, dtype=torch.float64)
    before = 20
    whole = torch.zeros(2, 400, dtype=torch.float64)
    for s in range(span):
        whole[:, before + s : before + s + places] += w[s] * x
    expected = whole[:, before + first : before + first + count]
    torch.testing.assert_close(slide(x, w, first, count), expected, rtol=1e-9, atol=1e-9)


EXPECTED = {
    "transformer": {"N": "layer norm", "h̃": "attention", "loss": "cross entropy"},
    "gpt2": {"N": "layer norm", "h̃": "attention", "y": "layer norm", "loss": "cross entropy"},
    "encoder_decoder": {"h^E": "attention", "h^Z": "attention", "h^X": "attention"},
    "self_attention": {"h̃": "attention"},
    "layer_norm": {"y": "layer norm"},
    "ugcnn": {"R": "convolution", "G": "convolution"},
    "causal_cnn": {"L": "convolution"},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_recognised_in_the_library(name: str) -> None:
    findings = emitted(model(name), last(model(name))).findings
    found = {(f.tensor, f.pattern) for f in findings if f.recognised}
    assert EXPECTED[name].items() <= found


ATTENTION = """
    input q[t,i], k[t,i], v[t,j]
    α[t_1,t_2] = softmax_{t_2 ≤ t_1} q[t_1,I] k[t_2,I] / 3
    y[t,j] = α[t,T'] v[T',j]
"""


def test_weights_that_are_wanted_are_computed() -> None:
    assert [f.recognised for f in findings(ATTENTION, ["y"])] == [True]
    (found,) = findings(ATTENTION, ["y", "α"])
    assert (
        str(found) == "near miss: attention, because the weights are wanted, so they are computed"
    )


def test_a_condition_that_is_not_causal_is_a_mask() -> None:
    lines = emitted(code(ATTENTION.replace("t_2 ≤ t_1", "t_2 ≥ t_1")), ["y"]).text
    assert "attn_mask=" in lines and "is_causal" not in lines


def test_a_scale_of_ones_own() -> None:
    assert "scale=1 / 3" in emitted(code(ATTENTION), ["y"]).text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("q[t_1,I] k[t_2,I] / 3", "k[t_2,I] q[t_1,I] / 3", ""),
        ("q[t_1,I] k[t_2,I] / 3", "(q[t_1,I] k[t_2,I] / 3 + t_2)", "something is added"),
        ("α[t,T'] v", "q[t,0] α[t,T'] v", "multiplied by something before the values are"),
        ("α[t,T'] v", "α[t,T'] p[t,T'] v", "multiplied by something before the values are"),
        ("α[t,T'] v[T',j]", "α[T',t] v[T',j]", None),
    ],
)
def test_attention_is_known_by_its_indices(old: str, new: str, reason: str | None) -> None:
    assert old in ATTENTION
    program = code(ATTENTION.replace(old, new) + "input p[t,s]" * ("p[" in new))
    found = [f.reason for f in emitted(program, ["y"]).findings if f.pattern == "attention"]
    assert found == [] if reason is None else len(found) == 1 and reason in found[0]
    assert reason != "" or found == [""]
    agree(program, 3)


LIKELIHOOD = """
    input w[t] in V
    input h[t,j]
    P[t,v] = softmax_v e[v,J] h[t-1,J]
    loss = Σ_{t ≥ 1} -ln P[t,w[t]]
"""


def test_a_likelihood_is_that_of_the_steps_that_count() -> None:
    program = code(LIKELIHOOD)
    source = emitted(program, ["loss"])
    assert [f.pattern for f in source.findings if f.recognised] == ["cross entropy"]
    assert "F.pad" not in source.text
    smooth = LIKELIHOOD.replace("-ln P[t,w[t]]", "-(ln P[t,w[t]] + 0.1 Σ_v ln P[t,v])")
    (found,) = (f for f in findings(smooth, ["loss"]) if f.pattern == "cross entropy")
    assert "the other logarithms" in found.reason
    for some in (program, code(smooth)):
        agree(some, 3)


def test_a_layer_norm_in_several_equations_and_without_a_batch() -> None:
    program = code(
        "parameter u[k]\nμ = mean_k u[k]\nd[k] = u[k] - μ\nv = mean_k d[k]^2\n"
        "y[k] = g[k] d[k]/sqrt(v + 1) + b[k]"
    )
    assert "F.layer_norm(u, (K,), g, b, eps=1)" in emitted(program, ["y"]).text
    agree(program, 3)


@pytest.mark.parametrize(
    ("equation", "reason"),
    [
        ("y[t,k] = (x[t,k] - mean_{k'} x[t,k'])/sqrt(mean_{k'} x[t,k']^2 + 1)", "not the variance"),
        (
            "y[t,k] = (x[t,k] - mean_{t'} x[t',k])/sqrt(mean_{t'} (x[t',k] - mean_{s} x[s,k])^2 + 1)",
            "not over the last axis",
        ),
    ],
)
def test_almost_a_layer_norm(equation: str, reason: str) -> None:
    (found,) = findings(f"input x[t,k]\n{equation}", ["y"])
    assert not found.recognised and reason in found.reason


@pytest.mark.parametrize(
    ("equation", "call"),
    [
        ("y[t,k] = x[t,k]/2 (1 + erf(x[t,k]/sqrt(2)))", "F.gelu(x)"),
        (
            "constant π = 3.141592653589793\n"
            "y[t,k] = 1/2 x[t,k] (1 + tanh(sqrt(2/π) (x[t,k] + 0.044715 x[t,k]^3)))",
            'F.gelu(x, approximate="tanh")',
        ),
        ("y[t,k] = 1/2 x[t,k] (1 + tanh(0.8 (x[t,k] + 0.044715 x[t,k]^3)))", "torch.tanh"),
    ],
)
def test_activations_written_out(equation: str, call: str) -> None:
    program = code(f"input x[t,k]\n{equation}")
    assert call in emitted(program, ["y"]).text
    agree(program, 3)


def test_additive_attention_has_no_keys() -> None:
    """Its scores are products with one vector for all positions, which the call knows nothing of."""
    program = code(
        "input x[t,j]\ninput z[s,j]\n"
        "α[t,s] = softmax_s v[M] tanh(W[M,J] x[t,J] + U[M,J] z[s,J])\nc[t,j] = α[t,S] z[S,j]"
    )
    (found,) = (f for f in emitted(program, ["c"]).findings if "attention" in f.pattern)
    assert not found.recognised and "not products of queries and keys" in found.reason
    called, plain = (emitted(program, ["c"], patterns) for patterns in (True, False))
    drawn = [draw(program, 3, seed) for seed in range(2)]
    p, x = tensors(program, drawn[0].parameters), tensors(program, batch([d.inputs for d in drawn]))
    one, other = (text.run(p, x, drawn[0].sizes, {}, {})["c"] for text in (called, plain))
    torch.testing.assert_close(one, other)


MAPS = "input x[t,k], z[t,k], q[t,j]\nR[t,j] = {}\ny[t,j] = tanh(R[t,j])"


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("W[j,K] x[t,K] + b[j]", "F.linear(x, W, b)"),
        ("b[j] + W[j,K] x[t,K]", "F.linear(x, W, b)"),
        ("cos(q[t,j]) + W[j,K] x[t,K] + q[t,j] - b[j]", "torch.cos(q) + q + F.linear(x, W, -b)"),
        ("W[j,K] x[t,K] + U[j,K] z[t,K] + b[j]", "F.linear(x, W) + F.linear(z, U, b)"),
        ("b[j] - W[j,K] x[t,K]", "b - F.linear(x, W)"),
        ("W[j,K] x[t,K] + q[t,j]", "F.linear(x, W) + q"),
        ("W[j,K] x[t,K] / 3", "F.linear(x, W / 3)"),
        ("W[j,K] x[t,K] / 3 + b[j]", "F.linear(x, W / 3, b)"),
    ],
)
def test_what_has_the_indices_of_a_map_is_its_bias(equation: str, expected: str) -> None:
    program = code(MAPS.format(equation))
    assert f"R = {expected}  #" in emitted(program, ["y"]).text
    agree(program, 3)


@pytest.mark.parametrize(
    ("equation", "maps"),
    [
        ("tanh(W[j,K] x[t,K] + b[j]) + cos(W[j,K'] x[t,K'])", 1),
        ("tanh(W[j,K] x[t,K] + b[j]) + cos(W[j,K'] x[t,K'] / 3)", 1),
        ("tanh(W[j,K] x[t,K] + b[j]) + cos(W[j,K] x[t-1,K] + b[j])", 2),
    ],
)
def test_a_map_that_is_read_twice_is_computed_once(equation: str, maps: int) -> None:
    program = code(MAPS.format(equation))
    text = emitted(program, ["y"]).text
    assert text.count("F.linear(x") + text.count("F.linear(F.pad") == maps, text
    agree(program, 3)
