"""The oracle against numpy, and the rules of the language page one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hand_built import (
    apply,
    attention,
    define,
    index,
    language_model,
    minus,
    plus,
    program,
    read,
    rnn,
    size_value,
    softmax,
    stack,
    tensor,
    times,
    total,
    ugrnn,
    value,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indicial.notation.source import Source, Span
from indicial.program.ir import (
    Axis,
    Constant,
    Flat,
    Join,
    Part,
    Select,
    Statement,
    Tensor,
)
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.meaning.interpret import CycleError, InterpretError, evaluate, interpret
from indicial.program.sizes import Size, Strided
from indicial.program.verify import verify

random = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return random.normal(size=shape)


def run_rnn(x: np.ndarray, W: np.ndarray, U: np.ndarray) -> np.ndarray:
    h, state = [], np.zeros(len(W))
    for step in x:
        state = np.tanh(W @ state + U @ step)
        h.append(state)
    return np.array(h).reshape(len(x), len(W))


def softmax_rows(a: np.ndarray) -> np.ndarray:
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# ---- recurrences ----


def test_rnn() -> None:
    x, W, U = normal(7, 4), normal(3, 3), normal(3, 4)
    result = interpret(rnn(), {"x": x}, {"W": W, "U": U})
    np.testing.assert_allclose(result["h"], run_rnn(x, W, U), rtol=1e-12)
    assert result.lowers == {"h": (0, 0)}
    # For each of 7 · 3 elements: 2 · 3 + 2 · 4 in the two sums, an addition, a tanh.
    assert result.operations == 21 * (6 + 8 + 2)


def test_ugrnn() -> None:
    p = {f"{a}^{b}": normal(3, n) for a, n in (("W", 3), ("U", 4)) for b in "RG"}
    p |= {"B^R": normal(3), "B^G": normal(3)}
    x = normal(6, 4)
    result = interpret(ugrnn(), {"x": x}, p)
    h = np.zeros(3)
    for t in range(6):
        R = np.tanh(p["W^R"] @ h + p["U^R"] @ x[t] - p["B^R"])
        G = 1 / (1 + np.exp(-(p["W^G"] @ h + p["U^G"] @ x[t] - p["B^G"])))
        h = G * h + (1 - G) * R
        np.testing.assert_allclose(result["h"][t], h, rtol=1e-12)
        np.testing.assert_allclose(result["G"][t], G, rtol=1e-12)


def test_a_long_recurrence_needs_no_deep_stack() -> None:
    x = normal(5000, 1)
    W, U = normal(2, 2), normal(2, 1)
    code = rnn()
    last = program(
        [*code.tensors.values(), tensor("defined", "last j")],
        [define("last j", read("h", "T-1", "j")), *code.statements],
    )
    result = interpret(last, {"x": x}, {"W": W, "U": U}, want=["last"])
    np.testing.assert_allclose(result["last"], run_rnn(x, W, U)[-1], rtol=1e-9)


def test_a_stack_of_layers() -> None:
    x, W, U = normal(5, 2), normal(3, 2, 2), normal(3, 2, 2)
    result = interpret(stack(), {"x": x}, {"W": W, "U": U})
    h = x
    for layer in range(3):
        np.testing.assert_allclose(result["h"][layer], h, rtol=1e-12)
        h = run_rnn(h, W[layer], U[layer])
    np.testing.assert_allclose(result["h"][3], h, rtol=1e-12)


def test_a_statement_with_a_number_is_the_start() -> None:
    """`h[-1] = 5` stands outside the range of `t`; `g[0] = 7` inside, and wins."""
    code = program(
        [tensor("input", "x t"), tensor("defined", "h t"), tensor("defined", "g t")],
        [
            define("h -1", Constant(5.0)),
            define("h t", plus(read("h", "t-1"), read("x", "t"))),
            define("g 0", Constant(7.0)),
            define("g t", plus(read("g", "t-1"), read("x", "t"))),
        ],
    )
    result = interpret(code, {"x": [1.0, 2.0, 3.0]}, {})
    assert result["h"].tolist() == [6, 8, 11]
    assert result["g"].tolist() == [7, 9, 12]


def test_a_backward_recurrence() -> None:
    code = program(
        [tensor("input", "x t"), tensor("defined", "h t")],
        [define("h t", plus(read("h", "t+1"), read("x", "t")))],
    )
    assert interpret(code, {"x": [1.0, 2.0, 3.0]}, {})["h"].tolist() == [6, 5, 3]


# ---- conditions, guards, cases ----


@pytest.mark.parametrize("sign", ["≤", "<"])
def test_causal_attention(sign: str) -> None:
    q, v = normal(6, 4), normal(6, 4)
    result = interpret(attention(sign), {"q": q, "v": v}, {})
    scores = np.where(np.tri(6, 6, 0 if sign == "≤" else -1), q @ q.T / 2, -np.inf)
    expected = np.zeros((6, 6))
    rows = slice(0 if sign == "≤" else 1, None)  # the first row of `<` is a softmax over nothing
    expected[rows] = softmax_rows(scores[rows])
    np.testing.assert_allclose(result["α"], expected, atol=1e-12)
    np.testing.assert_allclose(result["y"], expected @ v, atol=1e-12)


def test_a_guard_wins_and_does_not_renormalise() -> None:
    later = apply(">", value("t_2"), value("t_1"))
    code = program(
        [tensor("input", "s t_1 t_2"), tensor("defined", "α t_1 t_2")],
        [
            define("α t_1 t_2", Constant(0.0), guard=later),
            define("α t_1 t_2", softmax("t_2", read("s", "t_1", "t_2"))),
        ],
    )
    s = normal(4, 4)
    expected = softmax_rows(s) * np.tri(4)
    np.testing.assert_allclose(interpret(code, {"s": s}, {})["α"], expected, rtol=1e-12)


def test_cases() -> None:
    x = read("x", "t")
    body = Select(((apply(">", x, 1.0), Constant(1.0)), (apply("<", x, -1.0), Constant(-1.0))), x)
    code = program([tensor("input", "x t"), tensor("defined", "y t")], [define("y t", body)])
    given_x = np.array([-3.0, -0.5, 0.5, 3.0])
    assert interpret(code, {"x": given_x}, {})["y"].tolist() == np.clip(given_x, -1, 1).tolist()


def test_a_condition_on_a_computed_value_asks_only_for_what_is_needed() -> None:
    """`y[t] = y[t+1] if g[t] > 0 else x[t]`: were `g` guessed, `y` would be asked beyond need."""
    pick = Select(((apply(">", read("g", "t"), 0.0), read("y", "t")),), read("x", "t"))
    code = program(
        [tensor("input", "x t"), tensor("defined", "g t"), tensor("defined", "y t")],
        [
            define("y t", Select(((apply("≤", read("g", "t"), 0.0), pick),), read("y", "t"))),
            define("g t", minus(apply("abs", read("x", "t")))),
        ],
    )
    assert interpret(code, {"x": [1.0, 2.0]}, {})["y"].tolist() == [1, 2]


def test_reductions() -> None:
    odd = apply(
        "=", plus(value("i"), minus(times(2.0, apply("floor", apply("/", value("i"), 2.0))))), 1.0
    )
    names = ["sum", "prod", "max", "min", "mean", "argmax", "argmin"]
    code = program(
        [tensor("input", "x i"), *(tensor("defined", f"{n}{c}") for n in names for c in ("", "'"))],
        [define(n, total("i", read("x", "i"), operator=n)) for n in names]
        + [define(f"{n}'", total("i", read("x", "i"), odd, operator=n)) for n in names],
    )
    x = np.array([3.0, -1.0, 3.0, 2.0, 2.0])
    result = interpret(code, {"x": x}, {})
    found = [float(result[n]) for n in names]
    assert found == [9, -36, 3, -1, 1.8, 0, 1]
    assert [float(result[f"{n}'"]) for n in names] == [1, -2, 2, -1, 0.5, 3, 1]
    nothing = interpret(code, {"x": []}, {})
    found = [float(nothing[n]) for n in names]
    np.testing.assert_equal(found, [0, 1, -np.inf, np.inf, np.nan, np.nan, np.nan])


# ---- places ----


def test_a_window_reads_zero_outside() -> None:
    body = total(index("Δt", -1, 3), times(read("W", "Δt+1"), read("x", "2t+Δt")))
    half = Tensor("y", (Axis("t", Size(), Size.of("U")),), "defined")
    code = program(
        [tensor("input", "x t"), tensor("parameter", "W d:3"), half],
        [Statement("y", define("y t", body).left, (index("t", 0, Size.of("U")),), body)],
        sizes={"U": 3},
    )
    x, W = normal(6), normal(3)
    padded = np.concatenate([[0], x, [0]])
    expected = [W @ padded[2 * t : 2 * t + 3] for t in range(3)]
    np.testing.assert_allclose(interpret(code, {"x": x}, {"W": W})["y"], expected, rtol=1e-12)


def test_stride_two_halves_every_layer() -> None:
    """`h[ℓ+1,t] = h[ℓ,2t] + h[ℓ,2t+1]` over `⌈T/2^{ℓ+1}⌉` positions."""
    axes = (Axis("ℓ", Size(), Size.of("L") + 1), Axis("t", Size(), Size.of(Strided("T", 2, "ℓ"))))
    layer = index("ℓ", 0, Size.of("L"))
    inner = index("t", 0, Size.of(Strided("T", 2, "ℓ", 1)))
    code = program(
        [tensor("input", "x t"), Tensor("h", axes, "defined")],
        [
            define("h 0 t", read("x", "t")),
            define(
                "h ℓ+1 t",
                plus(read("h", "ℓ", "2t"), read("h", "ℓ", "2t+1")),
                indices=[layer, inner],
            ),
        ],
    )
    verify(code)
    result = interpret(code, {"x": [1.0, 2.0, 3.0, 4.0, 5.0]}, {}, sizes={"L": 3})["h"]
    nan = math.nan
    expected = [[1, 2, 3, 4, 5], [3, 7, 5, nan, nan], [10, 5, nan, nan, nan], [15] + [nan] * 4]
    np.testing.assert_equal(result, expected)


def test_joining_and_flattening() -> None:
    i, j = index("i"), index("j")
    n = index("n", 0, Size.of("I") + Size.of("J"))
    join = Join(
        define("c n", Constant(0)).left[0], (Part(i, read("a", "i")), Part(j, read("b", "j")))
    )  # type: ignore[arg-type]
    flat = Flat((i, j))
    code = program(
        [
            tensor("input", "a i"),
            tensor("input", "b j"),
            tensor("defined", "c n:I+J"),
            Tensor("f", (Axis("n", Size(), Size.of("I") * Size.of("J")),), "defined"),
            tensor("defined", "back i j"),
        ],
        [
            define("c n", join, indices=[n]),
            Statement("f", (flat,), (i, j), times(read("a", "i"), read("b", "j"))),
            define("back i j", read("f", flat)),
        ],
    )
    verify(code)
    a, b = normal(2), normal(3)
    result = interpret(code, {"a": a, "b": b}, {})
    assert result["c"].tolist() == [*a, *b]
    assert result["f"].tolist() == np.outer(a, b).ravel().tolist()
    assert result["back"].tolist() == np.outer(a, b).tolist()


# ---- tokens ----


def run_language_model(w: list[int], e: np.ndarray) -> float:
    h = np.zeros(e.shape[1])
    terms = []
    for token in w:
        terms.append(np.log(softmax_rows(e @ h)[token]))
        h = h + e[token]
    return -float(np.mean(terms))


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
        ],
        [
            define("h t", read("e", read("w", "t-1"))),
            define("s", total("t", apply("ln", read("P", "t", read("w", "t-1"))))),
            define("same t", apply("=", read("w", "t-1"), 0.0)),
        ],
    )
    e, P = normal(3), np.abs(normal(3, 3))
    result = interpret(code, {"w": [1, 0, 2]}, {"e": e, "P": P})
    assert result["h"].tolist() == [0, e[1], e[0]]
    np.testing.assert_allclose(result["s"], np.log(P[1, 1]) + np.log(P[2, 0]))
    assert result["same"].tolist() == [0, 0, 1]  # no token is not token 0


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


# ---- cycles ----


def test_a_cycle_is_shown() -> None:
    source = Source("cell.eq", "h[t] = G[t]\nG[t] = h[t]")
    h = Statement(
        "h",
        define("h t", Constant(0)).left,
        (index("t"),),
        read("G", "t"),
        span=Span(source, 0, 11),
    )
    g = Statement("G", h.left, h.indices, read("h", "t"), span=Span(source, 12, 23))
    code = program([tensor("defined", "h t"), tensor("defined", "G t")], [h, g])
    with pytest.raises(CycleError, match=r"h\[0\] → G\[0\] → h\[0\]") as caught:
        interpret(code, {}, {}, sizes={"T": 3})
    assert [span.line for span in caught.value.spans] == [1, 2]


def test_a_cycle_through_a_sum() -> None:
    code = program(
        [tensor("defined", "h t")],
        [
            define(
                "h t",
                total(
                    index("s", 0, Size.of("T")), read("h", "s"), apply("≤", value("s"), value("t"))
                ),
            )
        ],
    )
    with pytest.raises(CycleError, match=r"h\[0\] → h\[0\]"):
        interpret(code, {}, {}, sizes={"T": 2})


def test_what_is_not_reached_is_no_cycle() -> None:
    code = program(
        [tensor("defined", "h t")],
        [
            define(
                "h t",
                total(
                    index("s", 0, Size.of("T")),
                    plus(1.0, read("h", "s")),
                    apply("<", value("s"), value("t")),
                ),
            )
        ],
    )
    assert interpret(code, {}, {}, sizes={"T": 5})["h"].tolist() == [0, 1, 3, 7, 15]


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


# ---- what was given ----


def test_shapes_that_disagree() -> None:
    with pytest.raises(
        InterpretError,
        match=r"^U has 4 elements along k \(axis 2\), but x has 5 along k \(axis 2\)$",
    ):
        interpret(rnn(), {"x": normal(7, 5)}, {"W": normal(3, 3), "U": normal(3, 4)})


@pytest.mark.parametrize(
    ("inputs", "parameters", "options", "message"),
    [
        ({}, {"W": [[1.0]], "U": [[1.0]]}, {"sizes": {"T": 2}}, "the input x was not given"),
        ({"x": [[1.0]]}, {"V": [1.0]}, {}, "V was given, but the program has no such tensor"),
        ({"x": [[1.0]], "h": [[1.0]]}, {}, {}, "h was given, but the equations define it"),
        ({"x": [1.0]}, {}, {}, r"x was given with 1 axis, but x\[t,k\] has 2"),
        ({"x": [[1.0]]}, {}, {"sizes": {"Q": 1}}, "the program has no size Q"),
        (
            {"x": [[1.0]]},
            {},
            {"sizes": {"T": 2}},
            r"x has 1 element along t \(axis 1\), but size T is 2",
        ),
        ({"x": [[1.0]]}, {}, {"lengths": {"T": [1]}}, "no input has a batch axis"),
        ({"x": [[[1.0]]]}, {}, {"lengths": {"T": [1, 1]}}, r"differs \(x: 1, lengths of T: 2\)"),
        ({"x": [[1.0]]}, {}, {}, "nothing that was given says how large J is"),
        ({"x": [[1.0]]}, {}, {"want": ["g"]}, "the program has no tensor g"),
    ],
)
def test_what_is_missing_or_too_much(inputs, parameters, options, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InterpretError, match=message):
        interpret(rnn(), inputs, parameters, **options)


def test_a_size_is_solved_from_a_formula() -> None:
    code = program(
        [tensor("input", "x n:2J+1"), tensor("defined", "y j")], [define("y j", read("x", "2j"))]
    )
    assert interpret(code, {"x": [0.0, 1.0, 2.0, 3.0, 4.0]}, {})["y"].tolist() == [0, 2]
    with pytest.raises(InterpretError, match="no size J makes 2 J \\+ 1 that"):
        interpret(code, {"x": [0.0, 1.0]}, {})


def test_constants_are_known_and_can_be_replaced() -> None:
    code = program(
        [tensor("constant", "λ"), tensor("constant", "a i"), tensor("defined", "y i")],
        [define("y i", times(read("λ"), read("a", "i")))],
    )
    code = replace(code, constants={"λ": 0.5, "a": (2.0, 4.0)})
    assert interpret(code, {}, {})["y"].tolist() == [1, 2]
    assert interpret(code, {"λ": 2.0}, {})["y"].tolist() == [4, 8]


def test_a_stride_without_a_layer() -> None:
    """`y[t] = x[2t]` over `⌈T/2⌉` positions."""
    half = Size.of(Strided("T", 2, "", 1))
    code = program(
        [tensor("input", "x t"), Tensor("y", (Axis("t", Size(), half),), "defined")],
        [define("y t", read("x", "2t"), indices=[index("t", 0, half)])],
    )
    verify(code)
    assert interpret(code, {"x": [1.0, 2.0, 3.0]}, {})["y"].tolist() == [1, 3]


def test_one_expression() -> None:
    x, W, U = normal(3, 4), normal(2, 2), normal(2, 4)
    found = evaluate(rnn(), times(2.0, read("h", 2, "j")), {"j": 1}, {"x": x}, {"W": W, "U": U})
    np.testing.assert_allclose(found, 2 * run_rnn(x, W, U)[2, 1])


def test_softmax_of_large_scores() -> None:
    code = program(
        [tensor("input", "s i"), tensor("defined", "p i")],
        [define("p i", softmax("i", read("s", "i")))],
    )
    assert interpret(code, {"s": [1e4, 1e4, -1e4]}, {})["p"].tolist() == [0.5, 0.5, 0]


# ---- functions ----

NUMPY = {
    "+": np.add,
    "*": np.multiply,
    "/": np.divide,
    "^": np.float_power,  # np.power takes the square root where b is 0.5: of -inf that is nan
    "neg": np.negative,
    "tanh": np.tanh,
    "exp": np.exp,
    "ln": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "cos": np.cos,
    "sin": np.sin,
    "floor": np.floor,
    "min": np.minimum,
    "max": np.maximum,
    "ReLU": lambda a: np.maximum(a, 0.0),
    "softplus": lambda a: np.logaddexp(0.0, a),
}
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    3.0,
    -3.0,
    710.0,
    -1e308,
    1e308,
    math.inf,
    -math.inf,
    math.nan,
]


@pytest.mark.parametrize("name", NUMPY)
@given(
    st.one_of(st.floats(), st.sampled_from(SPECIAL)),
    st.one_of(st.floats(), st.sampled_from(SPECIAL)),
)
@example(-math.inf, 0.5)
def test_functions_are_numpys(name: str, a: float, b: float) -> None:
    arguments = (a, b) if getattr(NUMPY[name], "nin", 1) == 2 else (a,)
    with np.errstate(all="ignore"):
        expected = NUMPY[name](*map(np.float64, arguments))
    np.testing.assert_allclose(FUNCTIONS[name](*arguments), expected, rtol=1e-12)


@given(st.floats(allow_nan=False))
def test_sigmoid_and_gelu_stay_in_bounds(a: float) -> None:
    assert 0 <= FUNCTIONS["σ"](a) <= 1
    assert math.isclose(FUNCTIONS["σ"](a) + FUNCTIONS["σ"](-a), 1)
    assert FUNCTIONS["GELU"](a) >= -0.17
    if abs(a) < 5:
        exact = 0.5 * a * (1 + math.erf(a / math.sqrt(2)))
        assert math.isclose(FUNCTIONS["GELU"](a), exact, rel_tol=1e-6, abs_tol=1e-12)
