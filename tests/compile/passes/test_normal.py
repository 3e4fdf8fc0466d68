"""Normal form keeps the meaning, and every statement in it is one of four things."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from pass_programs import AWKWARD, code, programs

from indicial.compile.passes.algebra import first_contraction, ranked_by
from indicial.compile.passes.forms import Distribution, Pointwise, Product, Reduction, form
from indicial.compile.passes.normal import normal
from indicial.library import names
from indicial.library.loading import load
from indicial.program.ir import Code, Read, Reduce
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.show import show_expression, show_statement
from indicial.program.verify import verify


def assert_kept(before: Code, sizes: tuple[int, ...] = (1, 2, 3)) -> Code:
    """The normal form of a code, after making sure that it is one and means the same."""
    after = normal(before)
    verify(after)
    for statement in after.statements:
        assert form(statement) is not None, show_statement(statement)
    for size in sizes:
        drawn = sample(before, small_sizes(before, size), seed=size)
        values = [
            interpret(
                code,
                drawn.inputs,
                drawn.parameters,
                sizes=drawn.sizes,
                draws=drawn.draws,
                want=[s.target for s in before.statements],
            )
            for code in (before, after)
        ]
        for name in values[0]:
            np.testing.assert_allclose(values[1][name], values[0][name], 1e-9, 1e-9, err_msg=name)
    return after


@pytest.mark.parametrize(
    ("fixed", "pair"),
    [((), (1, 2)), ((2,), (1, 2)), ((0,), (1, 2)), ((0, 1), (1, 2)), ((1, 2), (0, 1))],
)
def test_which_two_of_three_matrices_are_multiplied_first(
    fixed: tuple[int, ...], pair: tuple[int, int]
) -> None:
    """The last two, unless both are parameters: A[i,J] B[J,K] C[K,l]."""
    factors = [frozenset("iJ"), frozenset("JK"), frozenset("Kl")]
    found = first_contraction(factors, "JK", fixed)
    assert found is not None and found[:2] == pair


@pytest.mark.parametrize(
    "body", ["1 + Σ_i x[i]", "exp(max_i x[i])", "Σ_i exp(x[i])", "max_i 2 x[i]"]
)
def test_what_is_not_in_normal_form(body: str) -> None:
    (statement,) = load(f"input x[i]\ny = {body}").code.statements
    assert form(statement) is None


@pytest.mark.parametrize("model", names())
def test_library(model: str) -> None:
    assert_kept(load(model).code)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_programs(name: str) -> None:
    assert_kept(code(AWKWARD[name]))


@given(programs())
@settings(max_examples=30)
def test_generated_programs(text: str) -> None:
    assert_kept(code(text), (1, 3))


def lines(after: Code) -> list[str]:
    return [show_statement(s).partition("    for ")[0] for s in after.statements]


def test_one_parameter_and_one_operand() -> None:
    after = normal(code(AWKWARD["gated product"]))
    assert lines(after) == [
        "G^{(1)}[t,j] = sum{K: 0..K-1}(A[j,K] * x[t,K])",
        "G[t,j] = σ(G^{(1)}[t,j])",
        "h^{(1)}[t,I] = G[t,I] * h[t-1,I]",
        "h^{(2)}[t,j] = sum{I: 0..K-1}(W[j,I] * h^{(1)}[t,I])",
        "h[t,j] = tanh(h^{(2)}[t,j] + x[t,j])",
    ]


def test_a_chain_of_matrices_is_multiplied_from_the_data() -> None:
    after = normal(code(AWKWARD["three matrices"]))
    assert lines(after) == [
        "y^{(1)}[t,L] = sum{K: 0..K-1}(C[L,K] * x[t,K])",
        "y^{(2)}[t,J] = sum{L: 0..L-1}(B[J,L] * y^{(1)}[t,L])",
        "y[t,i] = sum{J: 0..J-1}(A[i,J] * y^{(2)}[t,J])",
    ]


def test_a_sum_with_a_product_in_it_is_taken_term_by_term() -> None:
    after = assert_kept(code("input x[t,k]\ny[i] = Σ_{t,j} (A[i,j] x[t,j] + b[j])"))
    assert lines(after) == [
        "y^{(1)}[j] = sum{t: 0..T-1}(x[t,j])",
        "y^{(2)}[i] = sum{j: 0..K-1}(A[i,j] * y^{(1)}[j])",
        "y^{(3)} = sum{t: 0..T-1, j: 0..K-1}(b[j])",
        "y[i] = y^{(2)}[i] + y^{(3)}",
    ]


def test_equal_parts_are_one_tensor() -> None:
    after = normal(code(AWKWARD["one part twice"]))
    assert [s.target for s in after.statements] == ["y^{(1)}", "y^{(2)}", "y^{(3)}", "y", "z"]
    assert isinstance(after.of("z")[0].body, Read)


def test_scales_and_conditions() -> None:
    after = normal(code("input x[t,k]\ny[t,j] = 1/√K Σ_{k≤t} x[t,k] W[j,k]\nm[t] = max_k x[t,k]"))
    forms = {s.target: form(s) for s in after.statements}
    product = forms["y"]
    assert isinstance(product, Product)
    assert show_expression(product.scale) == "1 / sqrt(⟨K⟩)"
    assert [read.tensor for read in product.factors] == ["x", "W"]
    assert isinstance(forms["m"], Reduction)


def test_kinds() -> None:
    after = normal(code(AWKWARD["masked softmax"]))
    assert isinstance(form(after.of("α")[0]), Distribution)
    assert isinstance(form(after.of("y")[0]), Product)
    guarded = normal(code(AWKWARD["guarded softmax"]))
    # The guard takes elements away after the normalisation, so the whole has its own tensor.
    assert all(isinstance(form(s), Pointwise) for s in guarded.of("α"))


def test_only_the_given_targets() -> None:
    before = code(AWKWARD["gated product"])
    after = normal(before, ["G"])
    assert after.of("h") == before.of("h")
    assert len(after.of("G^{(1)}")) == 1


def test_new_names_do_not_clash() -> None:
    after = assert_kept(code("input x[t,k]\nR^{(1)}[t] = x[t,0]\nR[t,k] = tanh(W[k,J] x[t,J])"))
    assert "R^{(2)}" in after.tensors


@pytest.mark.parametrize(
    ("counted", "by"),
    [
        ("x[e_2] > x[e] or (x[e_2] = x[e] and e_2 < e)", "x[e]"),
        ("x[2 e_2] > x[2 e] or (x[2 e_2] = x[2 e] and e_2 < e)", "x[2e]"),
        ("x[2 e_2] > x[e] or (x[2 e_2] = x[e] and e_2 < e)", None),  # two things are compared
        ("x[e_2] > x[e] or (x[e_2] = z[e] and e_2 < e)", None),
        ("x[e_2] > x[e] or (x[e_2] = x[e] and e < e_2)", None),  # of those alike, the last is first
        ("x[e_2] > x[e] or (x[e_2] = x[e] and e_2 < f)", None),
    ],
)
def test_what_counts_the_larger_ones_is_a_rank(counted: str, by: str | None) -> None:
    text = f"input x[e]\ninput z[e]\nr[e,f] = Σ_{{e_2}} [{counted}]"
    (statement,) = load(text).code.of("r")
    (count,) = statement.body.every(Reduce)
    found = ranked_by(count)
    assert (found and (show_expression(found[0]), found[1])) == (by and (by, "e"))
