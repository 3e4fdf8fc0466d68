"""Claims about costs: exact where polynomials can be compared, tried at many sizes elsewhere."""

import pytest
from claiming import verdict, verdicts

from indicial import load
from indicial.claims.costs import MOST_TRIED, _grid
from indicial.claims.experiment import HOLDS, REFUTED, UNTRIED

RNN = "input x[t,k]\nh[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K] - B[j])\n"
MERGED = """
input x[t,j]
Query[k,t,i] = W^Q[k,i,J] x[t,J]
Key[k,t,i] = W^K[k,i,J] x[t,J]
α[k,t_1,t_2] = softmax_{t_2} Query[k,t_1,I] Key[k,t_2,I]
W^{QK}[k,j,j'] = W^Q[k,I,j] W^K[k,I,j']
"""


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("parameters = J^2 + J K + J", HOLDS),
        ("parameters = J^2 + J K", REFUTED),
        ("parameters ≤ 2 J^2 + J K", HOLDS),
        ("parameters < 2 J^2 + J K", REFUTED),
        ("parameters ≥ J^2 + J", HOLDS),
        ("elements of W = J^2", HOLDS),
        ("elements of h = J T", HOLDS),
        ("memory = J T", HOLDS),
        ("parallel time = O(T)", HOLDS),
        ("parallel time = T", HOLDS),
        ("parallel time = O(1)", REFUTED),
        ("parallel time ≤ O(T^2)", HOLDS),
        ("parallel time = O(T^2)", REFUTED),
        ("work = O(T)", HOLDS),
        ("work = O(T J^2 + T J K)", HOLDS),
        ("work ≤ O(T J K)", REFUTED),
        ("work ≥ O(T)", HOLDS),
        ("work ≥ O(T^2)", REFUTED),
        ("work > O(T)", REFUTED),
        ("work > O(1)", HOLDS),
        ("work < O(T^2)", HOLDS),
        ("work < O(T)", REFUTED),
        ("work ≠ O(T^2)", HOLDS),
        ("memory ≤ O(T J) ≤ work", HOLDS),
        ("T^2 ≥ 2 T - 1", HOLDS),
        ("T^2 ≥ 2 T", REFUTED),
        ("parameters of lstm = 4 J^2 + 4 J K + 4 J", HOLDS),
        ("parameters of gru > parameters", HOLDS),
        ("parameters of nothing = 1", UNTRIED),
    ],
)
def test_a_recurrence(claim: str, status: str) -> None:
    assert {one.status for one in verdicts(f"{RNN}claim {claim}")} == {status}


def test_a_growth_says_what_was_found() -> None:
    found = verdict(f"{RNN}claim work ≥ O(T^2)")
    assert "is O(T), not ≥ O(T²)" in found.found
    assert found.broken is not None
    assert (found.broken.left, found.broken.right) == ("O(T)", "O(T²)")
    turned = verdict(f"{RNN}claim O(T^2) ≤ work")
    assert turned.found == found.found and turned.broken is not None
    assert (turned.broken.left, turned.broken.right) == ("O(T²)", "O(T)")


def test_a_name_of_the_program_is_not_its_cost() -> None:
    held, memory = verdicts("input x[t]\nwork = Σ_t x[t]\nclaim work = Σ_t x[t]\nclaim memory = 1")
    assert (held.status, memory.status) == (HOLDS, HOLDS)
    assert "draws" in held.found


def test_a_proof_says_so() -> None:
    proved = verdict(f"{RNN}claim parameters ≤ 2 J^2 + J K")
    assert proved.found == "J² + J K + J ≤ 2 J² + J K, at all sizes"
    tried = verdict(f"{RNN}claim T^2 ≥ T sqrt(T)")
    assert "tried at 6 sizes" in tried.found


def test_merging_pays_from_half_the_width() -> None:
    found = verdicts(
        MERGED + "claim parameters of α = 2 I J K\n"
        "claim elements of W^{QK} = K J^2\n"
        "claim elements of W^{QK} ≤ parameters of α for J ≤ 2 I\n"
        "claim elements of W^{QK} > parameters of α for J > 2 I\n"
        "claim elements of W^{QK} = parameters of α for J = 2 I\n"
        "claim false: elements of W^{QK} ≤ parameters of α\n"
    )
    assert all(v.as_stated for v in found)
    broken = found[-1].broken
    assert broken is not None
    assert broken.sizes["J"] > 2 * broken.sizes["I"]


def test_the_sizes_that_break_it_are_small() -> None:
    found = verdict(f"{RNN}claim parameters = J^2 + J K").broken
    assert found is not None
    assert set(found.sizes.values()) == {1}
    assert (found.left, found.right, found.difference) == ("3", "2", "1")


def test_the_sizes_that_break_it_are_the_least() -> None:
    """Between the sizes that are tried, 8 and 64, each is brought down by itself."""
    broken = verdict("input x[n]\nclaim N ≤ 20").broken
    assert broken is not None and broken.sizes == {"N": 21}
    broken = verdict(f"{RNN}claim parameters ≤ 30").broken
    assert broken is not None
    J, K = broken.sizes["J"], broken.sizes["K"]
    assert J * J + J * K + J > 30
    assert (J - 1) ** 2 + (J - 1) * (K + 1) <= 30 and J * J + J * (K - 1) + J <= 30


def test_a_second_size_of_a_letter_is_the_first() -> None:
    text = "size N = 8\ny[n] = a[n]\nz[n] = b[n]\n"
    assert verdict(f"{text}claim elements of z = 8").status == HOLDS


def test_work_of_a_part_is_what_explain_says() -> None:
    program = load(RNN + "y[t] = Σ_j h[t,j]")
    work = program.cost.work_by_tensor
    assert (
        verdict(f"{RNN}y[t] = Σ_j h[t,j]\nclaim work of h = {work['h']}".replace("²", "^2")).status
        == HOLDS
    )


def test_sizes_of_the_text_hold_where_nothing_is_proved() -> None:
    assert verdict(f"size J = 1\n{RNN}claim J^2 T ≤ J T").status == HOLDS
    assert verdict(f"{RNN}claim J^2 T ≤ J T", sizes={"J": 1}).status == HOLDS
    assert verdict(f"{RNN}claim J^2 T ≤ J T").status == REFUTED


def test_nearly_is_within_what_is_said() -> None:
    text = f"size J = 10\n{RNN}claim ln(J/0.01) ≈ 6.9 within "
    assert verdict(f"{text}0.01").status == HOLDS  # ln 1000 = 6.9078
    assert verdict(f"{text}0.005").status == REFUTED
    assert verdict(f"{RNN}claim J + 1 ≈ J within K").status == HOLDS
    assert verdict(f"{RNN}claim J + 2 ≈ J within K").status == REFUTED


def test_a_parallel_time_says_what_it_counts() -> None:
    """Three functions a step: T steps still, and the verdict says what a step is."""
    text = "input x[t]\ng[t] = σ(h[t-1] + x[t])\nh[t] = tanh(g[t]) h[t-1]\n"
    holds, broken, growth = verdicts(
        f"{text}claim parallel time = T\nclaim parallel time = 3 T\nclaim parallel time = O(T)"
    )
    counted = "(steps that wait for each other, each counted as 1)"
    assert holds.found == f"T is T, at all sizes {counted}"
    assert broken.found == f"T against 3 T {counted}"
    assert growth.found == "T is O(T)"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("parameters = J for J < 0", "does the condition hold"),
        ("parameters / (J - J) = 1", "are both sides finite numbers"),
    ],
)
def test_why_nothing_was_tried(claim: str, why: str) -> None:
    found = verdict(f"{RNN}claim {claim}")
    assert found.status == UNTRIED
    assert found.found == f"at none of the sizes that were tried {why}"


def test_sizes_of_one_letter_are_one_unless_the_claim_tells_them_apart() -> None:
    """`explain` says 2 I J, though nothing ties the i of v to the i of q."""
    text = "input L[t,j]\nq[t,i] = W^Q[i,J] L[t,J]\nv[t,i] = W^V[i,J] L[t,J]\n"
    for claim, status in (("2 I J", HOLDS), ("3 I J", REFUTED), ("I J + I_v J", HOLDS)):
        assert verdict(f"{text}claim parameters = {claim}").status == status, claim


def test_a_claim_may_name_a_number_that_is_defined() -> None:
    assert verdict("input x\ny = 2 x\nclaim parameters = y - y").status == UNTRIED


@pytest.mark.parametrize("count", [1, 5, 6, 7])
def test_many_sizes_are_tried_at_fewer_values(count: int) -> None:
    names = [f"N_{n}" for n in range(count)]
    tried = list(_grid(names, {"N_0": 7}))
    assert {len(sizes) for sizes in tried} == {count} and len(tried) <= MOST_TRIED
    assert all(sizes["N_0"] == 7 for sizes in tried)
    assert len({sizes[names[-1]] for sizes in tried}) == {1: 1, 5: 6, 6: 6, 7: 4}[count]
