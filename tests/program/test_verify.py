"""Sound code passes; each kind of fault is named. And what the printer shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hand_built import (
    apply,
    attention,
    define,
    index,
    language_model,
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

from indicial.program.ir import Affine, Code, Constant, Flat, Index, Join, Part, Select, Statement
from indicial.program.rewrite import free_indices, is_constant
from indicial.program.show import show, show_expression
from indicial.program.sizes import Size, Strided
from indicial.program.verify import MalformedCode, verify


@pytest.mark.parametrize("make", [rnn, ugrnn, attention, language_model, stack])
def test_sound_code_passes(make: Callable[[], Code]) -> None:
    verify(make())


def with_body(body: object) -> Code:
    return program(
        [tensor("input", "x t k"), tensor("defined", "h t")],
        [define("h t", body)],  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (read("x", "t"), r"h: x\[t\] has 1 place, but the tensor has 2 axes"),
        (read("x", "t", "k"), "h: index k is not bound"),
        (read("z", "t"), "h: reads z, which does not exist"),
        (apply("sigmoid", 1.0), "h: unknown function 'sigmoid'"),
        (apply("/", 1.0), "h: / cannot have 1 arguments"),
        (total("k", read("x", "t", "k"), operator="median"), "h: unknown operator 'median'"),
        (total("t k", read("x", "t", "k"), operator="argmax"), "argmax is over one index, not 2"),
        (total("k k", read("x", "t", "k")), "h: binds k, k: one or more, each once"),
        (total(index("k", 0, Size.of("Q")), read("x", "t", "k")), "h: unknown size Q"),
        (softmax("k", read("x", "t", "k")), "the softmax's index k is not bound outside"),
        (read("x", "t", Affine((("t", 1), ("t", -1)))), "is not collected"),
        (
            total(index("k", 0, Size.of(Strided("T", 2, "ℓ"))), read("x", "t", "k")),
            "needs the index ℓ, which is not bound there",
        ),
        (Join(Affine(), ()), "a join of nothing"),
    ],
)
def test_faults_of_an_expression(body: object, message: str) -> None:
    with pytest.raises(MalformedCode, match=message):
        verify(with_body(body))


def test_faults_of_a_statement() -> None:
    code = with_body(Constant(1.0))
    (statement,) = code.statements
    t = index("t")

    def problems(*statements: Statement) -> list[str]:
        with pytest.raises(MalformedCode) as caught:
            verify(replace(code, statements=statements))
        return caught.value.problems

    assert problems(replace(statement, target="g"))[-1].startswith("g: a statement defines it")
    assert problems(replace(statement, left=())) == [
        "h: h has 0 places, but the tensor has 1 axis",
        "h: nothing on the left says the value of t",
    ]
    twice = Affine((("t", 2),))
    assert problems(replace(statement, left=(twice,))) == [
        "h: 2t on the left is no index, index plus number, or number"
    ]
    assert problems(replace(statement, indices=(t, t)))[0].startswith("h: index t stands twice")
    assert problems() == ["h: defined, but by no statement"]


def test_all_problems_come_together() -> None:
    with pytest.raises(MalformedCode) as caught:
        verify(with_body(plus(read("z"), read("x", "t", "k"))))
    assert len(caught.value.problems) == 2


def test_free_indices() -> None:
    body = total("i", times(read("W", "j", "i"), read("h", "t-1", "i")))
    assert free_indices(body) == {"j", "t"}
    assert free_indices(softmax("i", read("h", "t", "i"))) == {"i", "t"}
    assert free_indices(read("e", read("w", "t"), "i")) == {"t", "i"}
    layers = Index("t", Size(), Size.of(Strided("T", 2, "ℓ")))
    assert free_indices(total(layers, read("x", "t"))) == {"ℓ"}
    join = Join(Affine.of("n"), (Part(index("i"), read("a", "t", "i")),))
    assert free_indices(join) == {"n", "t"}
    assert free_indices(read("f", Flat((index("k"), index("i"))))) == {"k", "i"}
    cases = Select(((apply("<", value("t"), 3.0), read("x", "k")),), value("j"))
    assert free_indices(cases) == {"t", "k", "j"}


def test_constant() -> None:
    assert is_constant(apply("/", 1.0, apply("sqrt", 2.0)))
    assert not is_constant(apply("/", 1.0, read("λ")))


def test_show() -> None:
    assert show(rnn()) == (
        "size J\n"
        "size K\n"
        "size T\n"
        "input x[t: 0..T-1, k: 0..K-1]\n"
        "parameter W[j: 0..J-1, i: 0..J-1]\n"
        "parameter U[j: 0..J-1, k: 0..K-1]\n"
        "defined h[t: 0..T-1, j: 0..J-1]\n"
        "h[t,j] = tanh(sum{i: 0..J-1}(W[j,i] * h[t-1,i]) + sum{k: 0..K-1}(U[j,k] * x[t,k]))"
        "    for t: 0..T-1, j: 0..J-1\n"
    )


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (times(plus(1.0, read("a")), read("b")), "(1 + a) * b"),
        (plus(times(2.0, read("a")), apply("neg", read("b"))), "2 * a + -b"),
        (plus(plus(read("a"), read("b")), read("c")), "(a + b) + c"),
        (apply("^", apply("neg", read("a")), 2.0), "(-a)^2"),
        (apply("neg", apply("^", read("a"), 2.0)), "-a^2"),
        (read("e", read("w", "t-1"), "i"), "e[w[t-1],i]"),
        (read("f", "t", Flat((index("k"), index("i")))), "f[t,(k,i)]"),
        (
            softmax("t_2", read("s", "t_2"), apply("≤", value("t_2"), value("t_1"))),
            "softmax{t_2: 0..T-1 where ⟨t_2⟩ ≤ ⟨t_1⟩}(s[t_2])",
        ),
        (Select(((apply("<", value("t"), 3.0), read("a")),), read("b")), "cases(a if ⟨t⟩ < 3; b)"),
        (Join(Affine.of("n"), (Part(index("i"), read("a", "i")),)), "join{n}({i: 0..I-1} a[i])"),
    ],
)
def test_show_expression(expression: object, text: str) -> None:
    assert show_expression(expression) == text  # type: ignore[arg-type]
