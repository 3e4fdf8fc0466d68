"""`plot of …`: the numbers that are drawn, and the files; the distributions are known in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from indicial.claims.trying import pictures, plots, try_claims
from indicial.cli import main
from indicial.library.loading import load
from indicial.program.messages import IndicialError

TEXT = """
ε ~ N(1, 1/4)
x[i] ~ uniform(0, 2)
y[i] = ε + x[i]
plot of 2 ε
plot of y[i]
claim 0 ≤ x[i] ≤ 2
"""


def test_the_draws_are_distributed_as_the_text_says() -> None:
    number, vector = pictures(load(TEXT), seed=1)
    assert number.values.shape == (2000,) and vector.values.shape == (2000, 2)
    assert number.values.mean() == pytest.approx(2, abs=0.1)
    assert number.values.std() == pytest.approx(1, abs=0.1)
    assert vector.plane and not number.plane
    assert vector.values.mean(axis=0) == pytest.approx([2, 2], abs=0.1)
    covariance = np.cov(vector.values.T)
    assert covariance[0, 1] == pytest.approx(1 / 4, abs=0.05)
    assert covariance[0, 0] == pytest.approx(1 / 4 + 1 / 3, abs=0.08)


def test_sizes_seeds_and_draws_are_as_asked() -> None:
    program = load(TEXT)
    _, wide = pictures(program, sizes={"I": 5}, draws=10)
    assert wide.values.shape == (10, 5) and not wide.plane
    (one, _), (again, _), (other, _) = (pictures(program, seed=s, draws=10) for s in (1, 1, 2))
    assert np.array_equal(one.values, again.values) and not np.array_equal(one.values, other.values)


def test_a_plot_is_no_claim_and_no_equation() -> None:
    program = load(TEXT)
    assert [t.text for t in plots(program)] == ["2ε", "y[i]"]
    assert [v.test.text for v in try_claims([program])] == ["0 ≤ x[i]", "x[i] ≤ 2"]
    assert load(program.unicode()).unicode() == program.unicode()


def test_elements_that_are_no_plane_get_a_panel_each() -> None:
    (_, wide) = pictures(load(TEXT), sizes={"I": 5}, draws=10)
    panels = wide.figure().axes
    assert [panel.axison for panel in panels] == [True] * 5 + [False]
    assert [panel.get_xlabel() for panel in panels[:5]] == [f"i = {i}" for i in range(5)]
    assert wide.line().startswith("y[i]: mean [") and ", I = 5" in wide.line()
    (matrix,) = pictures(load("a[i,j] ~ N(0, 1)\nplot of a[i,j]"), sizes={"I": 2, "J": 3}, draws=9)
    assert matrix.figure().axes[4].get_xlabel() == "i = 1, j = 1"


def test_an_arrow_leads_from_nothing_to_the_mean_of_a_plane() -> None:
    vector, far = pictures(load("x[i] ~ N(0, 1)\ny[i] = 9 + x[i]\nplot of x[i]\nplot of y[i]"))
    (axes,) = far.figure().axes
    (arrow,) = (text for text in axes.texts if text.arrow_patch is not None)
    assert tuple(arrow.xyann) == (0, 0)
    assert arrow.xy == pytest.approx([9, 9], abs=0.2)
    assert not vector.figure().axes[0].texts  # its mean is nearly nothing


def test_a_plane_has_a_dot_for_each_draw_and_a_cross_at_their_mean() -> None:
    (vector,) = pictures(load("x[i] ~ N(0, 1)\nplot of x[i]"), draws=50)
    (axes,) = vector.figure().axes
    dots, cross = axes.collections
    np.testing.assert_array_equal(dots.get_offsets(), vector.values)
    np.testing.assert_allclose(cross.get_offsets(), [vector.values.mean(axis=0)])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("i = 0", "i = 1")
    first, second = (text.get_text() for text in axes.get_legend().get_texts())
    assert first == "draws" and second.startswith("mean (")


def test_what_is_not_drawn_cannot_be_plotted() -> None:
    with pytest.raises(IndicialError, match="how x is drawn is not said"):
        pictures(load("input x[i]\ny[i] = 2 x[i]\nplot of y[i]"))


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_command_writes_a_picture(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, out = tmp_path / "text.eq", tmp_path / f"y.{ending}"
    text.write_text(TEXT, encoding="utf-8")
    assert main(["plot", str(text), "y[0]", "--out", str(out), "--draws", "50"]) == 0
    assert capsys.readouterr().out.startswith("y[0]: mean ")
    assert out.stat().st_size > 1000
    assert main(["plot", str(text), "--out", str(out), "--draws", "50"]) == 0
    assert (tmp_path / f"y-2.{ending}").exists()
