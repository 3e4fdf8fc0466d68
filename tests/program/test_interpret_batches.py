"""The oracle on tokens, batches and lengths."""

from __future__ import annotations

import numpy as np
import pytest
from by_numpy import normal, run_language_model
from hand_built import (
    apply,
    attention,
    define,
    language_model,
    plus,
    program,
    read,
    rnn,
    size_value,
    tensor,
    times,
    total,
    value,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from indicial.program.meaning.interpret import InterpretError, interpret
from indicial.program.program import Program
from indicial.program.sizes import Size

# ---- tokens ----


def test_a_language_model_and_its_loss() -> None:
    w, e = [2, 0, 4, 4, 1], normal(5, 3)
    result = interpret(language_model(), {"w": w}, {"e": e})
    np.testing.assert_allclose(result.loss, run_language_model(w, e), rtol=1e-12)
    assert result["loss"].shape == ()


def test_no_token_before_the_text() -> None:
    """`e[w[t-1]]` and `ln P[t,w[t-1]]` at `t = 0`: the gather is 0, the loss term left out."""
    code = program(
        [
            tensor("input", "w t", values=Size.of("V")),
            tensor("parameter", "e v"),
            tensor("parameter", "P t v", probability=True),
            tensor("defined", "h t"),
            tensor("defined", "s"),
            tensor("defined", "same t"),
            tensor("defined", "inside t"),
        ],
        [
            define("h t", read("e", read("w", "t-1"))),
            define("s", total("t", apply("ln", read("P", "t", read("w", "t-1"))))),
            define("same t", apply("=", read("w", "t-1"), 0.0)),
            define("inside t", apply("=", read("w", read("w", "t-1")), 0.0)),
        ],
    )
    e, P = normal(3), np.abs(normal(3, 3))
    result = interpret(code, {"w": [1, 0, 2]}, {"e": e, "P": P})
    assert result["h"].tolist() == [0, e[1], e[0]]
    np.testing.assert_allclose(result["s"], np.log(P[1, 1]) + np.log(P[2, 0]))
    assert result["same"].tolist() == [0, 0, 1]  # no token is not token 0
    assert result["inside"].tolist() == [0, 1, 0]  # nor is what stands where no token says


def test_a_token_out_of_the_vocabulary() -> None:
    with pytest.raises(
        InterpretError, match=r"w\[2\] is token 5, outside the vocabulary \(V = 5\)"
    ):
        interpret(language_model(), {"w": [0, 1, 5]}, {"e": normal(5, 3)})


def test_changing_a_token_never_changes_its_own_probability() -> None:
    e = normal(5, 3)
    first = interpret(language_model(), {"w": [2, 0, 4]}, {"e": e}, want=["P"])["P"]
    other = interpret(language_model(), {"w": [2, 0, 3]}, {"e": e}, want=["P"])["P"]
    assert first.tolist() == other.tolist()


# ---- batches and lengths ----


def test_a_batch_is_each_example_alone() -> None:
    x, W, U = normal(2, 7, 4), normal(3, 3), normal(3, 4)
    x[0, 3:] = np.nan  # padding is never read
    result = interpret(rnn(), {"x": x}, {"W": W, "U": U}, lengths={"T": [3, 7]})["h"]
    alone = [interpret(rnn(), {"x": x[m, :n]}, {"W": W, "U": U})["h"] for m, n in ((0, 3), (1, 7))]
    assert result[0, :3].tolist() == alone[0].tolist()
    assert np.isnan(result[0, 3:]).all()
    assert result[1].tolist() == alone[1].tolist()


def test_the_loss_of_a_batch_is_the_mean() -> None:
    w, e = [[2, 0, 4, 99], [1, 1, 3, 0]], normal(5, 3)
    result = interpret(language_model(), {"w": w}, {"e": e}, lengths={"T": [3, 4]})
    expected = [run_language_model([2, 0, 4], e), run_language_model(w[1], e)]
    np.testing.assert_allclose(result["loss"], expected, rtol=1e-12)
    np.testing.assert_allclose(result.loss, np.mean(expected), rtol=1e-12)


def test_what_does_not_depend_on_inputs_is_not_stacked() -> None:
    code = program(
        [
            tensor("input", "x t"),
            tensor("parameter", "a i"),
            tensor("defined", "y t"),
            tensor("defined", "b i"),
            tensor("defined", "p t"),
            tensor("defined", "n"),
        ],
        [
            define("y t", plus(read("x", "t"), read("p", "t"))),
            define("b i", times(2.0, read("a", "i"))),
            define("p t", value("t")),
            define("n", size_value("T")),
        ],
    )
    result = interpret(code, {"x": np.zeros((2, 4))}, {"a": [1.0]}, lengths={"T": [2, 4]})
    assert {name: array.shape for name, array in result.items()} == {
        "y": (2, 4),
        "b": (1,),
        "p": (4,),
        "n": (2,),  # each example has its own T
    }
    assert result["n"].tolist() == [2, 4]
    assert interpret(code, {"x": np.zeros((2, 4))}, {"a": [1.0]})["n"].shape == ()


def test_a_written_batch_index_with_lengths() -> None:
    """`h[b,t] = h[b,t+1] + x[b,t]` starts at each example's own end; `m[b] = mean_t`."""
    code = program(
        [tensor("input", "x b t"), tensor("defined", "h b t"), tensor("defined", "m b")],
        [
            define("h b t", plus(read("h", "b", "t+1"), read("x", "b", "t"))),
            define("m b", total("t", read("x", "b", "t"), operator="mean")),
        ],
    )
    x = np.array([[1.0, 2.0, 100.0], [1.0, 2.0, 3.0]])
    result = interpret(code, {"x": x}, {}, lengths={"T": [2, 3]})
    np.testing.assert_equal(result["h"], [[3, 2, np.nan], [6, 5, 3]])
    assert result["m"].tolist() == [1.5, 2]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_any_lengths(lengths: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    q, v = generator.normal(size=(2, len(lengths), max(lengths), 2))
    result = interpret(attention(), {"q": q, "v": v}, {}, lengths={"T": lengths})
    for member, n in enumerate(lengths):
        alone = interpret(attention(), {"q": q[member, :n], "v": v[member, :n]}, {})
        assert result["y"][member, :n].tolist() == alone["y"].tolist()


def test_tokens_of_one_vocabulary_have_one_size() -> None:
    """`in V` twice is the same V: one table serves both, and no size V_u is left over."""
    text = "input s[t] in V, u[t'] in V\ny[t] = e[s[t]] + Σ_{t'} f[u[t']]"
    code = Program.of_text(text).code
    assert [name for name in code.sizes if name.startswith("V")] == ["V"]
    assert code.tensors["s"].values == code.tensors["u"].values == code.tensors["e"].axes[0].extent
    with pytest.raises(InterpretError, match="V = 3"):
        interpret(code, {"s": [0, 1], "u": [0, 3]}, {"e": normal(3), "f": normal(3)})
