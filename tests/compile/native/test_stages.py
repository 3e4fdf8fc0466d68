"""What a kernel does in one go: loops that are joined, products that are made once."""

from types import SimpleNamespace
from typing import cast

import pytest
import torch

from indicial import load
from indicial.compile.native.projections import Gathered, Given, Projection, projections
from indicial.compile.native.reading.body import Body, body
from indicial.compile.native.reading.stages import Fused, Matmul, products_of_step, stages
from indicial.compile.native.writing.rows import surely_inside
from indicial.compile.native.writing.writer import Writer, c_product
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Affine, Axis, Index
from indicial.program.sizes import Size


def step(text: str, want: str, weights: str = "") -> Body:
    """What a step of the one loop computes."""
    code = load(text).code
    (loop,) = schedule(code, [want]).loops()
    return body(code, loop, frozenset(weights.split()))


def loops(text: str, want: str) -> list[list[str]]:
    """The names that each loop within a step computes."""
    found = stages(step(text, want), [want])
    assert all(isinstance(stage, Fused) for stage in found)
    return [[s.target for s in stage.statements] for stage in found if isinstance(stage, Fused)]


def test_letters_may_differ_in_one_loop() -> None:
    gate = "input x[t,j]\ng[t,i] = σ(a[i] h[t-1,i] + x[t,i])\n"
    assert loops(gate + "h[t,j] = g[t,j] h[t-1,j] + x[t,j]", "h") == [["g", "h"]]
    assert loops(gate + "h[t,j] = g[t,j] h[t-1,j] + 1/2 g[t,j-1]", "h") == [["g"], ["h"]]


def test_a_product_that_is_part_of_a_sum_is_made_once() -> None:
    code = load(
        "input x[t,k], z[t,k]\np[t,j] = W[j,K] x[t,K]\nq[t,j] = U[j,K] z[t,K]\n"
        "y[t,j] = p[t,j] + q[t,j]\nr[t,j] = V[j,K] x[t,K]\n"
    ).code
    weights = {"U", "V", "W"}
    parts, left = projections(code, code.statements, weights, {"x", "z", *weights})
    gathered, alone = parts
    assert isinstance(gathered, Gathered) and [t.target for t in gathered.terms] == ["p", "q"]
    assert isinstance(alone, Projection) and [o.target for o in alone.outputs] == ["r"]
    assert left == []


def test_a_sum_of_products_is_the_same_with_operands_side_by_side_or_not() -> None:
    code = load(
        "input x[t,k], z[t,i], u[t,k]\np[t,j] = W[j,K] x[t,K]\nq[t,j] = U[j,I] z[t,I]\n"
        "r[t,j] = V[K,j] u[t,K]\ny[t,j] = p[t,j] + q[t,j] + r[t,j]\n"
    ).code
    weights = {"U", "V", "W"}
    ((gathered,), _) = projections(code, code.statements, weights, {"x", "z", "u", *weights})
    given = {n: torch.randn(2, 4, w).double() for n, w in {"x": 3, "z": 2, "u": 3}.items()}
    given |= {"W": torch.randn(5, 3).double(), "U": torch.randn(5, 2).double()}
    given |= {"V": torch.randn(3, 5).double()}
    expected = given["x"] @ given["W"].T + given["z"] @ given["U"].T + given["u"] @ given["V"]
    beside = {"x|z|u": torch.cat([given["x"], given["z"], given["u"]], 2)}
    for known in (given, given | beside):
        torch.testing.assert_close(gathered.run(Given(known, {"J": 5, "T": 4}))["y"], expected)


STATES = "input x[t,j]\nc[t,j] = tanh(h[t-1,j]) x[t,j]\n"


def test_products_that_are_added_up_are_one() -> None:
    sums = "p[t,j] = W[j,I] h[t-1,I]\nq[t,j] = U[j,I] c[t-1,I]\nh[t,j] = tanh(p[t,j] + q[t,j])"
    (product, _) = stages(step(STATES + sums, "h", "W U"), ["h"])
    assert isinstance(product, Matmul)
    (output,) = product.outputs
    assert [term.weight.tensor for term in output.terms] == ["W", "U"]
    kept = stages(step(STATES + sums, "h", "W U"), ["h", "p"])  # p is wanted by itself
    assert sum(isinstance(stage, Matmul) for stage in kept) == 2


@pytest.mark.parametrize(
    ("term", "product"),
    [
        ("W[j,I] h[t-1,I]", True),
        ("Σ_{i,k} W[j,i] M[t,i,k]", False),
        ("Σ_{i,k} W[j,i,k] h[t-1,i]", False),
        ("Σ_{i,k} W[j,i,k] M[t,i,k]", True),
    ],
)
def test_a_product_has_all_that_is_summed_in_both_factors(term: str, product: bool) -> None:
    text = f"input x[t,j]\nM[t,i,k] = x[t,i] h[t-1,k]\np[t,j] = {term}\nh[t,j] = p[t,j] + M[t,j,0]"
    assert bool(products_of_step(step(text, "h", "W"))) == product


def test_numbers_of_a_product_in_c_are_multiplied_out() -> None:
    assert c_product("4", "n0", "8") == "32 * n0"
    assert (c_product("n0", "n1"), c_product("2", "0", "n0"), c_product()) == ("n0 * n1", "0", "1")


@pytest.mark.parametrize(
    ("place", "lower", "expected"),
    [
        (Affine((), Size.of(4)), -1, False),  # behind the last element of -1..3
        (Affine((), Size.of(3)), -1, True),
        (Affine((), Size.of(-1)), -1, True),
        (Affine.of("j"), 0, True),
        (Affine.of("j", 1), 0, False),
        (Affine.of("j", -1), -1, True),
        (Affine((("j", -1),), Size.of(4)), 0, True),
        (Affine.of("k"), 0, False),
        (Affine((), Size.of("T") - 1), 0, False),  # a member may have no steps
    ],
)
def test_only_what_is_surely_inside_is_read_without_asking(
    place: Affine, lower: int, expected: bool
) -> None:
    """Along an axis of five elements, where j has five values."""
    here = cast(Writer, SimpleNamespace(bound=(Index("j", Size(), Size.of(5)),)))
    axis = Axis("t", Size.of(lower), Size.of(5))
    assert surely_inside(here, place, axis) == expected
