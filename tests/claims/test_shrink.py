"""What breaks a claim is small, and could have been drawn."""

import ast

import numpy as np
import pytest
from claiming import verdict

from indicial import load
from indicial.claims import values as shrinking
from indicial.claims.experiment import Experiment, shown
from indicial.claims.values import corners, exactly, shrink


def test_sizes_and_values_become_small() -> None:
    found = verdict("input x[t,i]\ny[t] = Σ_i x[t,i]\nclaim y[t] ≤ 2").broken
    assert found is not None
    assert dict(found.sizes) == {"T": 1, "I": 1}
    (value,) = found.draw.values()
    assert float(value.strip("[]")) in (3.0, 4.0)


def test_only_the_element_that_matters_stays() -> None:
    found = verdict("size I = 5\ninput x[i]\nclaim x[3] ≤ 0").broken
    assert found is not None
    assert found.draw == {"x": "[0, 0, 0, 1, 0]"}


def test_elements_with_a_name_or_a_number_stay() -> None:
    found = verdict("label a, b in N\ninput x[n]\nα[n] = softmax_n x[n]\nclaim α[a] = α[b]").broken
    assert found is not None
    assert dict(found.sizes) == {"N": 2}


def test_an_unread_name_is_not_shown() -> None:
    found = verdict("input x[i], z[i]\ny[i] = z[i]\nclaim x[0] ≤ 0").broken
    assert found is not None
    assert list(found.draw) == ["x"]


def test_rows_stay_orthonormal() -> None:
    text = "size N = 2\nμ[n,i] ~ orthonormal\nq[i] ~ N(0, 1)\nclaim μ[0,I] q[I] ≤ 0"
    code = load(text).code
    experiment = Experiment(code, code.tests[0])
    sizes = {"N": 2, "I": 3}
    values = experiment.draw(sizes, 50, np.random.default_rng(0))
    members = [{n: v[m] for n, v in values.items()} for m in range(50)]
    broken = [m for m in members if exactly(experiment, m, sizes) is not None]
    assert 10 < len(broken) < 40
    small, least = shrink(experiment, broken[0], sizes, seed=0)
    assert least == {"N": 2, "I": 2}
    np.testing.assert_allclose(small["μ"] @ small["μ"].T, np.eye(2), atol=1e-12)
    assert exactly(experiment, small, least) is not None


def test_what_is_uniform_stays_in_its_range() -> None:
    found = verdict("u[i] ~ uniform(1.05, 1.08)\nclaim u[i] ≤ 1.06").broken
    assert found is not None
    assert 1.06 < float(found.draw["u"].strip("[]")) <= 1.08


def test_what_is_shown_is_what_breaks_it() -> None:
    halves = verdict("input x[n]\nclaim floor(x[n]) = x[n]").broken
    assert halves is not None and halves.draw == {"x": "[0.5]"}
    narrow = verdict("input x[n]\nclaim x[n]^4 + 0.2499 ≥ x[n]^2").broken
    assert narrow is not None
    (x,) = ast.literal_eval(narrow.draw["x"])
    assert x**4 + 0.2499 < x**2
    assert float(narrow.left) == pytest.approx(x**4 + 0.2499, abs=1e-6)


def test_the_message_shows_place_values_and_draw() -> None:
    text = verdict("input x[t]\ny[t] = 2 x[t]\nclaim y[t] = x[t]").message().render()
    assert text == (
        "text.eq:3:7: error: this claim does not hold: 2 is not 1 (they differ by 1) at t\n"
        "    = 0 where T = 1 [claim]\n"
        "   3 | claim y[t] = x[t]\n"
        "     |       ^^^^ is 2\n"
        "     |              ^^^^ is 1\n"
        "  with x = [1]\n"
        "  hint: tried with seed 0; --seed tries other draws"
    )


@pytest.mark.parametrize(
    ("drawn", "low", "high", "bound"),
    [("uniform(1/2, 1)", 0.5, 1, 2), ("uniform(-2, 0.3)", -2, 0.3, 0.1), ("uniform", 0, 1, 1)],
)
def test_what_is_uniform_stays_between_its_ends(
    drawn: str, low: float, high: float, bound: float
) -> None:
    found = verdict(f"x[n] ~ {drawn}\nclaim Σ_n x[n] ≤ {bound}").broken
    assert found is not None
    values = ast.literal_eval(found.draw["x"])
    assert sum(values) > bound and all(low <= value <= high for value in values)
    assert all(round(value, 2) == value for value in values)


def test_what_is_uniform_between_other_ends_each_time_stays_as_it_is() -> None:
    """From 0 to n + 1: a 2 at n = 0 could not have been drawn."""
    found = verdict("x[n] ~ uniform(n, n + 1)\nclaim x[n] ≤ n + 1/2").broken
    assert found is not None
    values = ast.literal_eval(found.draw["x"])
    assert all(n <= value <= n + 1 for n, value in enumerate(values))


@pytest.mark.parametrize("claim", ["u ≤ 2.5 + z", "u ≥ 2.5 + z"])
def test_what_decides_the_ends_of_a_draw_stays_as_it_is(claim: str) -> None:
    """At x = 0 no u could be above 3, and a u of 0 could never be drawn."""
    found = verdict(f"input x\nz = x^2\nu ~ uniform(2 + z, 3 + z)\nclaim {claim}").broken
    assert found is not None
    x, u = float(found.draw["x"]), float(found.draw["u"])
    assert 2 + x**2 - 0.01 <= u <= 3 + x**2 + 0.01


def test_a_variance_and_a_chance_stay_as_they_are_and_a_mean_may_change() -> None:
    found = verdict("input m\ninput s\nz ~ N(m, s^2)\nclaim z ≤ m + 0.1 s").broken
    assert found is not None
    assert found.draw["m"] == "0" and found.draw["s"] != "0"
    chance = verdict("input p\nb ~ bernoulli(p^2)\nclaim b ≤ p").broken
    assert chance is not None and float(chance.draw["p"]) != 0


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.eye(3), "the identity (3 × 3)"),
        (np.eye(2, 3), "2 rows of the identity (3 × 3)"),
        (np.eye(3, 2), "[[1, 0], [0, 1], [0, 0]]"),
        (np.eye(1), "[[1]]"),
        (np.zeros((8, 8)), "[" + ", ".join(["[0, 0, 0, 0, 0, 0, 0, 0]"] * 8) + "]"),
        (np.zeros((5, 13)), "5 × 13 numbers"),
        (np.array(-0.0), "0"),
        (np.array([0.5, 2 / 3]), "[0.5, 0.6667]"),
    ],
)
def test_how_a_draw_is_shown(values: np.ndarray, text: str) -> None:
    assert shown(values) == text


def test_tokens_become_the_first() -> None:
    found = verdict("size T = 3\nsize V = 9\ninput w[t] in V\nclaim w[1] ≥ 3").broken
    assert found is not None
    assert found.draw == {"w": "[0, 0, 0]"}


def test_rows_that_are_orthonormal_have_room_in_a_stack_of_them() -> None:
    code = load("μ[k,n,i] ~ orthonormal\nclaim Σ_i μ[0,0,i]^2 = 1").code
    found = list(corners(code, 300_000))
    assert any(sizes["N"] > 2 for sizes in found)
    assert all(sizes["N"] <= sizes["I"] for sizes in found)


def test_what_the_interpreter_does_not_confirm_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = load("input x[i]\nclaim x[i] ≤ 0").code
    experiment, asked = Experiment(code, code.tests[0]), []

    def doubtful(experiment: Experiment, draw: object, sizes: object) -> object:
        asked.append(draw)
        return None if len(asked) < 2 else "broken"

    monkeypatch.setattr(shrinking, "exactly", doubtful)
    found = shrinking._broken_draw(experiment, {"I": 2}, 0)
    assert len(asked) == 2 and found is asked[1]
    monkeypatch.setattr(shrinking, "exactly", lambda *_: None)
    assert shrinking._broken_draw(experiment, {"I": 2}, 0) is None
