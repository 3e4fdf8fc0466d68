"""The oracle against numpy: recurrences, conditions, places."""

from __future__ import annotations

import math

import numpy as np
import pytest
from by_numpy import normal, run_rnn, softmax_rows
from hand_built import (
    apply,
    attention,
    define,
    index,
    minus,
    plus,
    program,
    read,
    rnn,
    softmax,
    stack,
    tensor,
    times,
    total,
    ugrnn,
    value,
)

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
from indicial.program.meaning.interpret import interpret
from indicial.program.sizes import Size, Strided
from indicial.program.verify import verify

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
