"""What a kernel does in one go: loops that are joined, products that are made once."""

from indicial import load
from indicial.compile.native.body import body
from indicial.compile.native.projections import Gathered, Projection, projections
from indicial.compile.native.stages import Fused, stages
from indicial.compile.native.writing.writer import c_product
from indicial.compile.schedule.schedule import schedule


def loops(text: str, want: str) -> list[list[str]]:
    """The names that each loop within a step computes."""
    code = load(text).code
    (loop,) = schedule(code, [want]).loops()
    found = stages(body(code, loop, frozenset()), [want])
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


def test_numbers_of_a_product_in_c_are_multiplied_out() -> None:
    assert c_product("4", "n0", "8") == "32 * n0"
    assert (c_product("n0", "n1"), c_product("2", "0", "n0"), c_product()) == ("n0 * n1", "0", "1")
