"""What the oracle says of cycles, and of arrays that are missing or do not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from by_numpy import normal, run_rnn
from hand_built import (
    apply,
    define,
    index,
    plus,
    program,
    read,
    rnn,
    softmax,
    tensor,
    times,
    total,
    value,
)

from indicial.notation.source import Source, Span
from indicial.program.ir import (
    Axis,
    Constant,
    Statement,
    Tensor,
)
from indicial.program.meaning.interpret import CycleError, InterpretError, evaluate, interpret
from indicial.program.sizes import Size, Strided
from indicial.program.verify import verify

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
        ({"x": [[1.0]]}, {}, {}, "the size J does not follow from what was given"),
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
