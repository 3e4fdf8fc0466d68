"""What is drawn is drawn as the text says."""

import numpy as np
import pytest
from claiming import verdict, verdicts

from indicial import load
from indicial.claims.experiment import HOLDS, UNTRIED, Experiment
from indicial.claims.running import _with_corners


def drawn(text: str, name: str, sizes: dict[str, int], count: int = 4000) -> np.ndarray:
    """Draws of a name that the claim of a text is about."""
    code = load(text).code
    experiment = Experiment(code, code.tests[0])
    return experiment.draw(sizes, count, np.random.default_rng(0))[name]


def test_the_second_number_is_the_variance() -> None:
    values = drawn("ε ~ N(1, 1/4)\nclaim ε ≤ 9", "ε", {})
    assert values.mean() == pytest.approx(1.0, abs=0.03)
    assert values.std() == pytest.approx(0.5, abs=0.02)


def test_uniform_and_bernoulli() -> None:
    low = drawn("u[i] ~ uniform(-1, 3)\nclaim u[i] ≤ 9", "u", {"I": 2})
    assert (low.min(), low.max()) == (pytest.approx(-1, abs=0.01), pytest.approx(3, abs=0.01))
    ones = drawn("z ~ bernoulli(1/4)\nclaim z ≤ 1", "z", {})
    assert set(np.unique(ones)) == {0.0, 1.0}
    assert ones.mean() == pytest.approx(0.25, abs=0.03)


def test_orthonormal_rows_point_everywhere() -> None:
    rows = drawn("μ[n,i] ~ orthonormal\nclaim μ[n,i] ≤ 1", "μ", {"N": 2, "I": 3})
    np.testing.assert_allclose(
        rows @ rows.swapaxes(1, 2), np.broadcast_to(np.eye(2), (4000, 2, 2)), atol=1e-12
    )
    np.testing.assert_allclose(rows.mean(0), 0, atol=0.05)
    np.testing.assert_allclose((rows**2).mean(0), 1 / 3, atol=0.02)


def test_more_rows_than_their_length_are_refused() -> None:
    found = verdict("size N = 3\nsize I = 2\nμ[n,i] ~ orthonormal\nclaim μ[n,i] ≤ 1")
    assert found.status == UNTRIED
    assert "3 rows of length 2" in found.found


def test_permutations() -> None:
    orders = drawn("π[t] ~ permutation\ninput x[t]\nclaim x[π[0]] ≤ 9", "π", {"T": 3})
    assert (np.sort(orders, axis=1) == np.arange(3)).all()
    assert len(np.unique(orders, axis=0)) == 6


def test_a_mean_that_is_drawn_itself() -> None:
    text = "μ[i] ~ N(0, 4)\nk[i] ~ N(μ[i], 1/100)\nd[i] = k[i] - μ[i]\n"
    found = verdicts(
        text + "claim variance of k[0] ≈ 4.01 within 0.3\n"
        "claim variance of d[0] ≈ 0.01 within 0.001\n"
        "claim mean of d[i] ≈ 0 within 0.01"
    )
    assert [v.status for v in found] == [HOLDS] * 3


def test_one_element_drawn_and_the_others_defined() -> None:
    text = """
    size N = 3
    k[n] = 5
    k[0] ~ N(1, 1/2)
    claim k[n] = 5 for n > 0
    claim mean of k[0] ≈ 1 within 0.05
    claim variance of k[0] ≈ 1/2 within 0.05
    """
    assert [v.status for v in verdicts(text)] == [HOLDS] * 3


def test_an_element_with_a_name_has_an_equation_of_its_own() -> None:
    text = "label a, b in N\nε ~ N(3, 1)\nk[n] = 1\nk[a] = ε\n"
    found = verdicts(text + "claim k[b] = 1\nclaim mean of k[a] ≈ 3 within 0.1")
    assert [v.status for v in found] == [HOLDS, HOLDS]


def test_open_names_have_corners_among_their_draws() -> None:
    values = drawn("input x[i]\nclaim x[i] ≤ 99", "x", {"I": 2}, 800)
    assert (values == np.round(values)).all(axis=1).any()
    assert (values == 0).any()
    assert np.abs(values).max() > 8


LAYERS = "input x[i]\nh_0[i] = x[i]\nh_{ℓ+1}[i] = W_{ℓ+1}[i,I'] h_ℓ[I']\nsize I = 4\nsize L = 2\n"


def test_which_draws_are_corners() -> None:
    """Of eight one is rounded, one sparse, one five times as large; the others stay."""
    drawn = np.random.default_rng(0).normal(size=(16, 40))
    found = _with_corners(drawn.copy(), np.random.default_rng(1))
    np.testing.assert_array_equal(found[[1, 9]], np.round(drawn[[1, 9]]))
    np.testing.assert_array_equal(found[[5, 13]], 5 * drawn[[5, 13]])
    sparse = found[[3, 11]] / drawn[[3, 11]]
    assert set(sparse.ravel()) == {0.0, 1.0}
    others = [n for n in range(16) if n % 8 not in (1, 3, 5)]
    np.testing.assert_array_equal(found[others], drawn[others])


@pytest.mark.parametrize("left", ["W[ℓ,i,j]", "W_ℓ[i,j]", "W_{ℓ+1}[i,j]"])
def test_every_layer_is_drawn(left: str) -> None:
    """W has the layers 1 and 2; however the draw counts them, the last is drawn like the first."""
    weights = drawn(f"{LAYERS}{left} ~ N(0, 1)\nclaim h_L[i] ≤ 9", "W", {"I": 4, "L": 2})
    assert weights.shape == (4000, 2, 4, 4)
    np.testing.assert_allclose(weights.var(axis=0), 1.0, atol=0.12)


def test_a_layer_that_is_not_drawn_is_told() -> None:
    program = load(f"{LAYERS}W_1[i,j] ~ N(0, 1)")
    (warning,) = [m for m in program.messages if m.severity == "warning"]
    assert warning.text == "W is drawn at ℓ = 1 only, but has 1..L"


@pytest.mark.parametrize("declared", ["input x[t]\n", ""])
def test_a_window_does_not_widen_what_is_drawn(declared: str) -> None:
    """x is drawn at 0..T-1; beyond it is 0, as for any input."""
    text = f"{declared}x[t] ~ N(0, 1)\nrange Δt = -1..1\ny[t] = Σ_{{Δt}} x[t+Δt] + x[t-2]"
    program = load(text)
    (axis,) = program.code.tensors["x"].axes
    assert (str(axis.lower), str(axis.extent)) == ("0", "T")
    x = np.array([1.0, 10.0, 100.0])
    y = program.interpret({}, {}, draws={"x": x})["y"]
    assert y.tolist() == [11.0, 111.0, 111.0]
