"""Costs as formulas: equal to what the oracle counts, and to what the lecture notes say."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
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
from hypothesis import given, settings
from hypothesis import strategies as st

import indicial
from indicial.library.loading import load
from indicial.program.checks import timing
from indicial.program.cost.conditions import Domain
from indicial.program.cost.cost import cost, order
from indicial.program.cost.dependence import latest_reads, latest_return, longest_chain
from indicial.program.ir import Apply, Axis, Code, Constant, Join, Part, Select, Statement, Tensor
from indicial.program.meaning.arrays import stored_extents
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.sizes import Size, Strided
from indicial.program.verify import verify


def counted(code: Code, sizes: dict[str, int]) -> int:
    """The operations that the oracle needs at these sizes, whatever the numbers."""
    verify(code)
    arrays = {
        t.name: np.zeros([extent.value(sizes) for extent in stored_extents(t)])
        for t in code.tensors.values()
        if t.role != "defined"
    }
    return interpret(code, arrays, {}, sizes=sizes).operations


def check(code: Code, low: int = 2, high: int = 4) -> None:
    """The formula is the count, at many sizes."""
    found = cost(code)
    assert found.work_exact
    names = sorted(code.sizes)
    for values in product(range(low, high), repeat=len(names)):
        sizes = dict(zip(names, values, strict=True))
        assert found.work.value(sizes) == counted(code, sizes), (str(found.work), sizes)
    sizes = dict(zip(names, range(5, 5 + len(names)), strict=True))
    assert found.work.value(sizes) == counted(code, sizes)


# ---- work ----


@pytest.mark.parametrize(
    "code",
    [rnn(), ugrnn(), attention(), attention("<"), language_model(), stack()],
    ids=["rnn", "ugrnn", "attention", "strict attention", "language model", "stack"],
)
def test_work_is_what_the_oracle_counts(code: Code) -> None:
    check(code)


LIBRARY = sorted(path.stem for path in (Path(indicial.__file__).parent / "library").glob("*.eq"))


@pytest.mark.parametrize("name", LIBRARY)
def test_work_of_the_library(name: str) -> None:
    code = load(name).code
    verify(code)
    found = cost(code)
    for size in (2, 3):
        sizes = small_sizes(code, size)
        drawn = sample(code, sizes)
        result = interpret(code, drawn.inputs, drawn.parameters, sizes=sizes, draws=drawn.draws)
        work = found.work.value(sizes)
        assert work == result.operations if found.work_exact else work >= result.operations


def test_formulas_read_as_on_the_blackboard() -> None:
    found = cost(rnn())
    assert str(found.parameters) == "J² + J K"
    assert str(found.work) == "2 J² T + 2 J K T + 2 J T"
    assert str(found.memory) == "J T"
    assert found.state == {"t": Size.of("J")}
    assert order(found.work, {"T"}) == "O(T)"
    assert str(found.backward_work) == "4 J² T + 4 J K T + 4 J T"


def test_a_causal_softmax_is_half_the_square() -> None:
    found = cost(attention())
    # i multiplications and additions, a division; an exponential, an addition, a division; the sum
    assert str(found.work_by_tensor["α"]) == "I T² + I T + 2 T² + 2 T"
    assert str(found.work_by_tensor["y"]) == "2 I T²"


def test_a_shared_sum_counts_once() -> None:
    """`m` of layer norm does not depend on `j`, and is computed once for all of them."""
    mean = total(index("i", 0, Size.of("J")), read("x", "t", "i"), operator="mean")
    code = program(
        [tensor("input", "x t j"), tensor("defined", "y t j")],
        [define("y t j", plus(read("x", "t", "j"), apply("neg", mean)))],
    )
    assert str(cost(code).work) == "2 J T + T"
    check(code)


def test_a_statement_with_a_number_takes_its_elements_away() -> None:
    code = program(
        [tensor("input", "x t j"), tensor("defined", "h t j")],
        [
            define("h 0 j", Constant(1.0)),
            define("h T-1 j", apply("exp", read("x", 0, "j"))),
            define("h t j", plus(read("h", "t-1", "j"), read("x", "t", "j"))),
        ],
    )
    assert str(cost(code).work) == "J T - J"
    check(code)


def test_guards_and_cases() -> None:
    later = apply(">", value("s"), value("t"))
    x = read("x", "t", "s")
    cases = Select(
        (
            (apply("=", value("t"), value("s")), apply("exp", x)),
            (apply("<", value("t"), 1.0), plus(x, x, x)),
        ),
        total("i", times(x, read("z", "i"))),
    )
    code = program(
        [
            tensor("input", "x t s:T"),
            tensor("input", "z i"),
            tensor("defined", "α t s:T"),
            tensor("defined", "β t s:T"),
            tensor("defined", "γ t s:T"),
        ],
        [
            define("α t s", Constant(0.0), later, [index("t"), index("s", 0, Size.of("T"))]),
            define("α t s", plus(x, x), None, [index("t"), index("s", 0, Size.of("T"))]),
            define(
                "γ t s",
                plus(x, x),
                apply("≠", value("t"), value("s")),
                [index("t"), index("s", 0, Size.of("T"))],
            ),
        ],
    )
    check(program([t for t in code.tensors.values() if t.name != "β"], code.statements))
    both = program(
        list(code.tensors.values()),
        [*code.statements, define("β t s", cases, None, [index("t"), index("s", 0, Size.of("T"))])],
    )
    check(both)


def test_a_join_counts_each_part_on_its_own() -> None:
    i, j = index("i"), index("j")
    body = Join(
        define("c n", Constant(0)).left[0],
        (
            Part(i, apply("exp", read("a", "i"))),
            Part(j, total("k", times(read("b", "j"), read("d", "k")))),
        ),
    )
    n = index("n", 0, Size.of("I") + Size.of("J"))
    code = program(
        [
            tensor("input", "a i"),
            tensor("input", "b j"),
            tensor("input", "d k"),
            tensor("defined", "c n:I+J"),
        ],
        [define("c n", body, indices=[n])],
    )
    assert str(cost(code).work) == "2 J K + I"
    check(code)


def test_an_unusual_condition_gives_an_upper_bound() -> None:
    squares = apply("<", times(value("i"), value("i")), value("t"))
    code = program(
        [tensor("input", "x i"), tensor("parameter", "p t"), tensor("defined", "y t")],
        [define("y t", total("i", apply("exp", read("x", "i")), squares))],
    )
    found = cost(code)
    assert not found.work_exact
    assert str(found.work) == "2 I T"
    assert counted(code, {"I": 4, "T": 5}) < 40


def strided() -> Code:
    axes = (Axis("ℓ", Size(), Size.of("L") + 1), Axis("t", Size(), Size.of(Strided("T", 2, "ℓ"))))
    inner = [index("ℓ", 0, Size.of("L")), index("t", 0, Size.of(Strided("T", 2, "ℓ", 1)))]
    return program(
        [tensor("input", "x t"), Tensor("h", axes, "defined")],
        [
            define("h 0 t", read("x", "t")),
            define("h ℓ+1 t", plus(read("h", "ℓ", "2t"), read("h", "ℓ", "2t+1")), indices=inner),
        ],
    )


def test_a_stride_keeps_the_work_linear() -> None:
    found = cost(strided())
    assert str(found.work) == "L + T"  # T/2 + T/4 + … and a rounding at each layer
    assert str(found.memory) == "L + 2 T + 1"
    assert not found.work_exact
    assert not found.memory_exact
    for T, L in product(range(1, 20), range(1, 6)):
        assert found.work.value({"T": T, "L": L}) >= counted(strided(), {"T": T, "L": L})


SIGNS = ["=", "≠", "<", "≤", ">", "≥"]


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.sampled_from(SIGNS), st.integers(-2, 2), st.booleans()), max_size=2),
    st.tuples(st.integers(-1, 1), st.integers(-1, 1)),
    st.sampled_from([{"i"}, {"j"}, {"i", "j"}]),
)
def test_counting_points(
    conditions: list[tuple[str, int, bool]], lowers: tuple[int, int], keep: set[str]
) -> None:
    """Against enumeration: conditions `i sign j + c` and `i sign c` on two ranges of T."""
    T = 9
    ranges = [index("i", lowers[0], Size.of("T")), index("j", lowers[1], Size.of("T") - 1)]
    domain = Domain(tuple(ranges))
    points = [
        (i, j) for i in range(lowers[0], lowers[0] + T) for j in range(lowers[1], lowers[1] + T - 1)
    ]
    compare = {
        "=": lambda a, b: a == b, "≠": lambda a, b: a != b, "<": lambda a, b: a < b,
        "≤": lambda a, b: a <= b, ">": lambda a, b: a > b, "≥": lambda a, b: a >= b,
    }  # fmt: skip
    for sign, c, pair in conditions:
        right = plus(value("j"), float(c)) if pair else Constant(float(c))
        domain = domain.where(Apply(sign, (value("i"), right)))
        points = [(i, j) for i, j in points if compare[sign](i, j + c if pair else c)]
    found = domain.project(keep).count
    real = len({tuple(v for v, n in zip(p, "ij", strict=True) if n in keep) for p in points})
    if found.exact:
        assert found.size.value({"T": T}) == real
    else:
        assert found.size.value({"T": T}) >= real
    if len(conditions) <= 1 and keep == {"i", "j"}:
        assert found.exact


# ---- parallel time ----


def transformer(recurrent: bool = False, only_past: bool = False) -> Code:
    """Layers of attention; if asked, each recurrent, each summing over the past only."""
    layer = index("ℓ", 0, Size.of("L"))
    i = index("i", 0, Size.of("J"))
    score = total(i, times(read("Q", "ℓ", "t", "i"), read("K", "ℓ", "t_2", "i")))
    causal = apply("≤", value("t_2"), value("t"))
    mixed = total(
        "t_2",
        times(read("α", "ℓ", "t", "t_2"), read("h", "ℓ", "t_2", "j")),
        causal if only_past else None,
    )
    body = plus(
        mixed, read("h", "ℓ", "t", "j"), *([read("h", "ℓ+1", "t-1", "j")] if recurrent else [])
    )
    of = [layer, index("t"), index("j")]
    return program(
        [
            tensor("input", "x t j"),
            tensor("parameter", "W i:J j"),
            tensor("defined", "Q ℓ:L t j"),
            tensor("defined", "K ℓ:L t j"),
            tensor("defined", "α ℓ:L t t_2"),
            tensor("defined", "h ℓ:L+1 t j"),
            tensor("defined", "y t j"),
        ],
        [
            define("h 0 t j", read("x", "t", "j")),
            define("h ℓ+1 t j", body, indices=of),
            define(
                "Q ℓ t j",
                total(i, times(read("W", "j", "i"), read("h", "ℓ", "t", "i"))),
                indices=of,
            ),
            define(
                "K ℓ t j",
                total(i, times(read("W", "i", "j"), read("h", "ℓ", "t", "i"))),
                indices=of,
            ),
            define(
                "α ℓ t t_2",
                softmax("t_2", score, causal),
                indices=[layer, index("t"), index("t_2")],
            ),
            define("y t j", apply("tanh", read("h", "L", "t", "j"))),
        ],
    )


def two_axes(*reads: tuple[str, str]) -> Code:
    """`h[ℓ,t] = Σ h[reads]`."""
    body = plus(*(read("h", *places) for places in reads), 1.0)
    return program(
        [tensor("defined", "h ℓ:L t")],
        [define("h ℓ t", body, indices=[index("ℓ", 0, Size.of("L")), index("t")])],
    )


def test_the_order_of_the_lecture_notes() -> None:
    assert order(cost(rnn()).parallel_time) == "O(T)"
    assert order(cost(ugrnn()).parallel_time) == "O(T)"
    assert str(cost(stack()).parallel_time) == "L + T"
    assert str(cost(transformer()).parallel_time) == "L"
    assert str(cost(attention()).parallel_time) == "1"
    assert str(cost(strided()).parallel_time) == "L"
    assert all(cost(code).parallel_time_exact for code in (rnn(), stack(), transformer()))


def test_the_work_of_a_transformer() -> None:
    check(transformer(), 2, 4)
    assert order(cost(transformer()).work, {"T", "L"}) == "O(L T²)"
    assert cost(transformer()).state == {"ℓ": Size.of("T") * Size.of("J")}


def test_attention_over_what_a_recurrence_makes() -> None:
    # The sum reads all of the layer below, zeros of α or not; with a condition it reads the past.
    assert str(cost(transformer(recurrent=True)).parallel_time) == "L T"
    assert str(cost(transformer(recurrent=True, only_past=True)).parallel_time) == "L + T"
    check(transformer(only_past=True), 2, 3)


@pytest.mark.parametrize(
    ("reads", "time"),
    [
        ([("ℓ-1", "t"), ("ℓ", "t-1")], "L + T"),
        ([("ℓ-1", "t"), ("ℓ", "t+1")], "L + T"),  # backwards in time
        ([("ℓ-1", "t+1"), ("ℓ", "t-1")], "L + T"),  # a skewed front: 2ℓ + t
        ([("ℓ-1", "t-1")], "L"),
        ([("ℓ-1", "T-1"), ("ℓ", "t-1")], "L T"),  # a layer begins where the one before it ended
        ([("ℓ-1", "2t")], "L"),
    ],
)
def test_scans_of_two_axes(reads: list[tuple[str, str]], time: str) -> None:
    found = longest_chain(two_axes(*reads))
    assert (str(found.steps), found.exact) == (time, True)


def test_layers_that_wait_for_each_other_multiply() -> None:
    """Whole-text sums between recurrent layers: a layer starts when the last has ended."""
    s = index("s", 0, Size.of("T"))
    body = plus(read("h", "ℓ", "t-1"), total(s, read("h", "ℓ-1", "s")))
    code = program(
        [tensor("defined", "h ℓ:L t")],
        [define("h ℓ t", body, indices=[index("ℓ", 0, Size.of("L")), index("t")])],
    )
    assert str(cost(code).parallel_time) == "L T"


def test_chains_add_and_what_is_side_by_side_does_not() -> None:
    def scan(name: str, step: str, source: str) -> tuple[Tensor, Statement]:
        return tensor("defined", f"{name} t"), define(
            f"{name} t", plus(read(name, step), read(source, "t"))
        )

    parts = [scan("f", "t-1", "x"), scan("g", "t+1", "x")]
    both = program([tensor("input", "x t"), *(t for t, _ in parts)], [s for _, s in parts])
    assert str(cost(both).parallel_time) == "T"
    parts = [scan("f", "t-1", "x"), scan("g", "t+1", "f")]
    chain = program([tensor("input", "x t"), *(t for t, _ in parts)], [s for _, s in parts])
    assert str(cost(chain).parallel_time) == "2 T"
    assert order(cost(chain).parallel_time) == "O(T)"


def test_a_softmax_does_not_read_only_its_own_element() -> None:
    """Inside the softmax `t` is another `t` than on the left: no scan over it."""
    code = program(
        [tensor("defined", "p t")], [define("p t", softmax("t", read("p", "t")))], sizes={"T": 3}
    )
    found = longest_chain(code)
    assert (str(found.steps), found.exact) == ("T", False)


def test_order() -> None:
    T, L, J = Size.of("T"), Size.of("L"), Size.of("J")
    assert order(T * T * J + 3 * T * L + L + 5) == "O(J T² + L T)"
    assert order(T * T * J + 3 * T * L + L + 5, {"T", "L"}) == "O(L T + T²)"
    assert order(J, {"T"}) == "O(1)"
    assert order(Size.of(Strided("T", 2, "", 1)) * J, {"T"}) == "O(T)"


@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.integers(-3, 1)),
        max_size=12,
    )
)
def test_the_latest_that_is_read_on_any_way(steps: list[tuple[str, str, int]]) -> None:
    """Against all ways of at most as many reads as there are tensors, one read after the other."""
    ways: dict[str, dict[str, float]] = {}
    for here, there, lag in steps:
        ways.setdefault(here, {})[there] = lag
    longest = [{(n, n): 0.0} for n in "abcde"]
    back = -np.inf
    for paths in longest:
        ((start, _),) = paths
        reached = {start: 0.0}
        for _ in range(5):
            onward: dict[str, float] = {}
            for here, so_far in reached.items():
                for there, lag in ways.get(here, {}).items():
                    onward[there] = max(so_far + lag, onward.get(there, -np.inf))
            reached = onward
            for there, lag in reached.items():
                paths[start, there] = max(lag, paths.get((start, there), -np.inf))
            back = max(back, reached.get(start, -np.inf))
    assert latest_return(ways) == (back if back <= 0 else np.inf)
    if back <= 0:
        for paths in longest:
            ((start, _), *_) = paths
            assert latest_reads(start, ways) == {there: lag for (_, there), lag in paths.items()}


def long_circle(equations: int) -> str:
    chain = "".join(f"a{n}[t,j] = tanh(a{n - 1}[t,j])\n" for n in range(1, equations))
    return f"input x[t,j]\na0[t,j] = x[t,j] + a{equations - 1}[t-1,j]\n{chain}"


def test_a_circle_of_many_equations_keeps_one_step() -> None:
    found = longest_chain(load(long_circle(100)).code)
    assert str(found.steps) == "T" and {t: str(n) for t, n in found.state.items()} == {"t": "J"}


def test_a_circle_that_is_too_long_to_be_found_is_a_recurrence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was not looked at is no reason for a warning; a read beside the circle still is."""
    monkeypatch.setattr(timing, "PATHS", 10)
    text = long_circle(20)
    assert load(text).mistakes == []
    (found,) = load(f"{text}y[t,j] = 2 a3[t-1,j]").mistakes
    assert found.code == "shifted-read" and "y reads a3" in found.text
