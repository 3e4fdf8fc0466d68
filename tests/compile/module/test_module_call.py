"""Calling a module: against the oracle with and without a batch, and what is said when it does not fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from modules import close, compiled, inputs, oracle, program

from indicial import IndicialError, load

MODELS = [
    "ugrnn",
    "lstm",
    "transformer",
    "gpt2",
    "bidirectional",
    "captioning_features",
    "language_cnn",
]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [(), (2,)], ids=["one", "batch"])
def test_every_defined_tensor_is_the_oracles(name: str, batch: tuple[int, ...]) -> None:
    module = compiled(name).eval()
    given = inputs(module, *batch)
    want = list(dict.fromkeys(s.target for s in module.code.statements))
    found, expected = module(given, want=want), oracle(module, given)
    assert list(found) == want
    for defined in want:
        value = expected.loss if defined == module.code.loss else expected[defined]
        assert found[defined].shape == np.shape(value)
        close(found[defined], value)


def test_what_comes_by_itself() -> None:
    assert list(compiled("ugrnn")(torch.randn(4, 2).double())) == ["h"]
    assert list(compiled("lstm")(torch.randn(4, 2).double())) == ["c", "h"]
    module = compiled("transformer")
    found = module(inputs(module, 2))
    assert list(found) == ["loss"]
    assert found.loss.shape == ()
    assert compiled("stacked").wanted == ("h",)
    assert compiled("encoder").wanted == ("L",)


def test_any_spelling() -> None:
    module = compiled("transformer")
    given = inputs(module, 2)
    found = module(given, want=["alpha", "\\tilde h"])
    assert list(found) == ["α", "h̃"]
    assert found["alpha"] is found["α"] is found[r"\alpha"]
    assert "alpha" in found
    assert module.parameter("W^{ Q }") is module.parameter("W^Q") is module.W_Q
    with pytest.raises(KeyError, match=r"P was not asked for \(want=\[\"P\"\]\)"):
        module(given)["P"]


def test_one_input_with_a_batch_and_one_without() -> None:
    module = compiled("captioning_features")
    alone, together = inputs(module), inputs(module, 2)
    mixed = {"M": alone["M"], "w": together["w"]}
    found = module(mixed, want=["h", "loss"])
    expected = oracle(module, mixed, want=["h", "loss"])
    close(found["h"], expected["h"])
    close(found["loss"], expected.loss)


def test_what_does_not_depend_on_a_batch_has_none() -> None:
    source = """
        input x[t,k]
        input y[k]
        z[k] = a[k] y[k]
        c[k] = a[k]^2
        h[t,k] = x[t,k] + z[k] + c[k]
    """
    module = load(source).compile(K=3, dtype=torch.float64)
    x, y = torch.randn(4, 5, 3).double(), torch.randn(3).double()
    found = module(x=x, y=y, want=["z", "c", "h"])
    assert {n: tuple(v.shape) for n, v in found.items()} == {"z": (3,), "c": (3,), "h": (4, 5, 3)}
    close(found["h"], oracle(module, {"x": x, "y": y})["h"])


def test_a_batch_that_is_written() -> None:
    source = load(
        "input x[b,t,k]\nh[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])\nloss = Σ_b h[b,0,0]^2"
    )
    module = source.compile(J=3, K=2, dtype=torch.float64)
    x = torch.randn(4, 5, 2).double()
    found, expected = module(x, want=["h", "loss"]), oracle(module, {"x": x})
    close(found["h"], expected["h"])
    close(found.loss, expected.loss)
    with pytest.raises(IndicialError, match="the text writes its batch"):
        module(x, lengths=[5] * 4)


def test_no_inputs() -> None:
    module = load("parameter a[i]\ny[i] = 2 a[i]").compile(I=3, start={"a": 1.0})
    assert module()["y"].tolist() == [2, 2, 2]
    assert load("α[t_1,t_2] = softmax_{t_2 ≤ t_1} -(t_1-t_2)^2").compile(T=4)()["α"].shape == (4, 4)


def test_noise_is_drawn_in_every_call() -> None:
    module = load("input x[t]\nz[t] ~ N(0, 4)\ny[t] = x[t] + z[t]").compile().eval()
    torch.manual_seed(0)
    y = module(torch.zeros(2, 20_000))["y"]
    assert y.std().item() == pytest.approx(2, rel=0.02)
    assert not torch.equal(y[0], y[1])
    assert torch.equal(
        module(torch.zeros(3), draws={"z": [1.0, 2.0, 3.0]})["y"], torch.tensor([1.0, 2, 3])
    )


def test_only_the_inputs_that_are_needed() -> None:
    module = compiled("captioning_features")
    given = inputs(module, 2)
    with pytest.raises(IndicialError, match=r"the input M\[x,y,k\] was not given"):
        module(w=given["w"])
    simple = load("input x[i], y[i]\na[i] = 2 x[i]\nb[i] = a[i] y[i]").compile()
    assert simple(x=torch.ones(3), want=["a"])["a"].tolist() == [2, 2, 2]


def test_lists_and_arrays_are_taken() -> None:
    module = compiled("ugrnn")
    x = [[0.5, 1.0], [0.25, -1.0]]
    expected = module(torch.tensor(x).double())["h"]
    assert torch.equal(module(x)["h"], expected)
    assert torch.equal(module(x=np.array(x, dtype=np.float32))["h"], expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_tokens_of_any_integer_type(dtype: torch.dtype) -> None:
    module = compiled("transformer")
    w = inputs(module, 2)["w"]
    assert torch.equal(module(w.to(dtype)).loss, module(w).loss)


# ---------------------------------------------------------------------- lengths


@pytest.mark.parametrize("name", ["ugrnn", "transformer", "bidirectional", "blank_rnn"])
def test_lengths(name: str) -> None:
    module = compiled(name).eval()
    given = inputs(module, 3)
    want = list(dict.fromkeys(s.target for s in module.code.statements))
    lengths = [2, 5, 1]
    found = module(given, want=want, lengths=lengths)
    expected = oracle(module, given, lengths={"T": lengths})
    assert torch.equal(module(given, lengths={"T": torch.tensor(lengths)})[module.wanted[0]],
                       found[module.wanted[0]])  # fmt: skip
    for defined in want:
        value = expected.loss if defined == module.code.loss else expected[defined]
        there = ~np.isnan(value)
        close(found[defined][torch.tensor(there)], value[there] if np.ndim(value) else value)


def test_padding_may_hold_any_token() -> None:
    module = compiled("transformer")
    w = inputs(module, 2)["w"]
    padded = w.clone()
    padded[0, 3:] = -100
    assert torch.equal(module(padded, lengths=[3, 5]).loss, module(w, lengths=[3, 5]).loss)


# ---------------------------------------------------------------------- draws


def test_dropout_is_drawn_while_training() -> None:
    module = compiled("gpt2")
    given = inputs(module, 2)
    torch.manual_seed(1)
    first, second = module(given).loss, module(given).loss
    torch.manual_seed(1)
    assert torch.equal(module(given).loss, first)
    assert not torch.equal(first, second)
    module.eval()
    assert torch.equal(module(given).loss, module(given).loss)


def test_given_masks_are_the_oracles() -> None:
    module = compiled("gpt2")
    given = inputs(module, 2)
    generator = torch.Generator().manual_seed(0)
    masks = {
        "dropout_1": torch.rand(2, 5, 3, generator=generator).double(),
        "dropout_2": torch.rand(2, 2, 2, 5, 5, generator=generator).double(),
        "dropout_3": torch.rand(2, 5, 3, generator=generator).double(),  # one for all examples
        "dropout_4": torch.rand(2, 2, 5, 3, generator=generator).double(),
    }
    for mode in (module.train(), module.eval()):
        found = mode(given, draws=masks, want=["P", "loss"])
        expected = oracle(module, given, draws=masks, want=["P", "loss"])
        close(found["P"], expected["P"])
        close(found.loss, expected.loss)


def test_masks_keep_the_mean() -> None:
    module = load("input x[i]\nconstant p = 0.25\ny[i] = dropout(x[i], p)").compile()
    torch.manual_seed(0)
    y = module(torch.ones(40_000))["y"]
    assert y.unique().tolist() == [0, pytest.approx(4 / 3)]
    assert y.mean().item() == pytest.approx(1, abs=0.02)
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)


def test_a_mask_for_each_element_of_the_left_side() -> None:
    """Of a number alone: units are dropped at all times at once."""
    text = "input x[t,j]\nm[j] = dropout(1, 0.5)\ny[t,j] = m[j] x[t,j]"
    module = load(text).compile(J=50)
    torch.manual_seed(0)
    y = module(torch.ones(2, 4, 50))["y"]
    assert torch.equal(y, y[:, :1].expand_as(y))
    assert y.unique().tolist() == [0, 2] and not torch.equal(y[0], y[1])
    assert torch.equal(module.eval()(torch.ones(4, 50))["y"], torch.ones(4, 50))


def test_the_largest_of_sums_over_windows() -> None:
    """What is outside adds nothing to a sum, and leaves out no element of the maximum around it."""
    text = "input c[i] in A\nrange Δi = -1..1\ns[d] = max_i W[ΔI,K,d] a[c[i+ΔI],K]"
    module = load(text).compile(A=4, K=2, D=3, dtype=torch.float64)
    W, a = module.get_parameter("W").detach(), module.get_parameter("a").detach()
    c = torch.tensor([1, 3, 0, 2])
    padded = torch.zeros(6, 2).double()
    padded[1:5] = a[c]
    each = torch.stack([torch.einsum("wkd,wk->d", W, padded[i : i + 3]) for i in range(4)])
    close(module(c)["s"], each.amax(0).numpy())


# ---------------------------------------------------------------------- sizes


def test_positions_have_room_for_the_longest() -> None:
    module = compiled("transformer")
    for T in (1, 3, 5):
        given = inputs(module, 2, T=T)
        close(module(given).loss, oracle(module, given).loss)


def test_a_size_of_the_call_follows_its_letter() -> None:
    module = program("transformer").compile(J=4, K=2, I=3, D=4, V=5, L=1, T=4)
    assert module.parameter("W^V").shape == (1, 2, 3, 4)
    module = program("transformer").compile(
        J=4, K=2, I=3, D=4, V=5, L=1, T=4, sizes={"I_{Value}": 7}
    )
    assert module.parameter("W^V").shape == (1, 2, 7, 4)
    assert module.parameter("W^O").shape == (1, 4, 14)


def test_without_parameters_no_size_is_needed() -> None:
    module = load("input x[t,k]\ny[t] = Σ_k x[t,k]").compile()
    assert module(torch.ones(2, 3))["y"].tolist() == [3, 3]
    assert module(torch.ones(1, 4, 5))["y"].tolist() == [[5] * 4]


DECAY = "input x[t,j]\ny[t,j] = Σ_{s ≤ t} a^(t-s) x[s,j]"


def test_a_length_that_is_taken_as_the_inputs() -> None:
    """Nothing ties the t of y to that of x; y still ends where each text ends, however long T may be."""
    module = load(DECAY).compile(J=2, T=9, start={"a": 0.5}, dtype=torch.float64)
    assert "T_y" not in module.sizes.known
    x = torch.randn(2, 5, 2, dtype=torch.float64)
    y = module(x=x, lengths={"T": [5, 3]})["y"]
    assert y.shape == (2, 5, 2)
    assert not y[1, 3:].any()
    torch.testing.assert_close(y[1, :3], module(x=x[1, :3])["y"])
    expected = torch.zeros(2, dtype=torch.float64)
    for t in range(5):
        expected = 0.5 * expected + x[0, t]
        torch.testing.assert_close(y[0, t], expected)


def test_a_length_of_its_own() -> None:
    module = load(DECAY).compile(J=2, T_y=7, start={"a": 0.5})
    assert module(x=torch.ones(3, 2))["y"].shape == (7, 2)
