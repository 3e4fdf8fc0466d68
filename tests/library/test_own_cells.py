"""Cells of one's own fill holes as those of the library do."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import indicial
from indicial.cli import main
from indicial.program.messages import IndicialError
from indicial.training.equations import Equations

MGU = """
input x[t,k]
f[t,j] = σ(W^f[j,K] x[t,K] + U^f[j,I] h[t-1,I] + b^f[j])
c[t,j] = tanh(W^c[j,K] x[t,K] + U^c[j,I] f[t,I] h[t-1,I] + b^c[j])
h[t,j] = (1 - f[t,j]) h[t-1,j] + f[t,j] c[t,j]
"""
HOST = """
input x[t,k]
CELL = NAME
h[t,J] = CELL(h[t-1,J], x[t,K])
"""
VECTORS = "$$h_t = \\tanh(W x_t + U h_{t-1} + b)$$"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and nothing said of other places."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INDICIAL_PATH", raising=False)
    return tmp_path


def host(name: str, path: str = "host.eq") -> str:
    Path(path).write_text(HOST.replace("NAME", name))
    return path


def values(program: indicial.Program) -> np.ndarray:
    """h for parameters that are drawn by their names, whatever stands before these."""
    random = np.random.default_rng(0)
    sizes = {"J": 3, "K": 2}
    drawn = {
        tensor.name.rpartition(".")[2]: tensor
        for tensor in program.code.tensors.values()
        if tensor.role == "parameter"
    }
    given = {}
    for key in sorted(drawn):
        shape = [sizes[str(axis.extent)] for axis in drawn[key].axes]
        given[drawn[key].name] = random.normal(size=shape)
    return np.asarray(program.interpret({"x": random.normal(size=(4, 2))}, given)["h"])


def test_a_hole_with_a_cell_computes_what_the_cell_computes(folder: Path) -> None:
    Path("mgu.eq").write_text(MGU)
    alone = values(indicial.load("mgu.eq"))
    for name in ("mgu", "mgu.eq"):
        np.testing.assert_allclose(values(indicial.load(host(name))), alone)
    for given in ("mgu.eq", Path("mgu.eq"), folder / "mgu.eq", indicial.load("mgu.eq")):
        filled = indicial.load(host("gru"), fills={"CELL": given})
        np.testing.assert_allclose(values(filled), alone)


def test_a_cell_in_vector_style_that_declares_nothing(folder: Path) -> None:
    Path("plain.md").write_text(VECTORS)
    program = indicial.load(host("gru"), fills={"CELL": "plain.md"})
    same = "input x[t,k]\nh[t,j] = tanh(W[j,K] x[t,K] + U[j,I] h[t-1,I] + b[j])"
    np.testing.assert_allclose(values(program), values(indicial.load(same)))


def test_a_name_is_looked_for_beside_the_text_then_in_the_path_then_in_the_library(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_state = "input x[t,k]\nh[t,j] = PART h[t-1,j] + W[j,K] x[t,K]"
    places = {"beside": "0.1", "first": "0.2", "second": "0.3"}
    for place, part in places.items():
        Path(place).mkdir()
        Path(place, "gru.eq").write_text(one_state.replace("PART", part))
    text = host("gru", "beside/host.eq")
    monkeypatch.setenv("INDICIAL_PATH", os.pathsep.join(["", "nowhere", "first", "second"]))
    for place in places:
        assert f"{places[place]} h[t-1,j]" in filled_text(text)
        Path(place, "gru.eq").unlink()
    assert indicial.load(text).code == indicial.load(host("gru")).code
    assert len(indicial.load(text).code.statements) > 1  # the library's


def filled_text(path: str) -> str:
    from indicial.notation.printers import unicode

    return unicode(indicial.load(path).statements)


def test_the_library_is_not_filled_by_what_lies_about(folder: Path) -> None:
    """`stacked` says ugrnn, and means its own neighbour."""
    usual = indicial.load("stacked").code
    Path("ugrnn.eq").write_text(MGU)
    Path("stacked.eq").write_text("y = 1")
    assert indicial.load("stacked").code == usual


def test_a_word_with_an_underscore(folder: Path) -> None:
    Path("my_cell.eq").write_text(MGU)
    assert not indicial.load(host("my_cell")).mistakes


def test_programs_keep_their_cells_when_they_are_joined_and_stored(folder: Path) -> None:
    Path("mgu.eq").write_text(MGU)
    cell = indicial.load("mgu.eq")
    program = indicial.load("stacked", fills={"CELL": cell})
    Path("mgu.eq").unlink()
    joined = indicial.load(program, "language_model_stack")
    kept = Equations.from_json(Equations.of(joined).to_json())
    assert kept.program().code == joined.code
    assert list(kept.cells) == ["mgu"]


def test_two_cells_of_one_name(folder: Path) -> None:
    both = "input x[t,k]\ng[t,J] = A(g[t-1,J], x[t,K])\nh[t,J] = B(h[t-1,J], x[t,K])"
    text = both.replace("A(", "AA(").replace("B(", "BB(")
    for place, sign in (("one", "+"), ("two", "-")):
        Path(place).mkdir()
        Path(place, "cell.eq").write_text(f"input x[t,k]\nh[t,j] = h[t-1,j] {sign} x[t,j]")
    program = indicial.load(text, fills={"AA": "one/cell.eq", "BB": "two/cell.eq"})
    found = program.interpret({"x": [[1.0], [2.0]]}, {})
    assert found["g"].tolist() == [[1], [3]]
    assert found["h"].tolist() == [[-1], [-3]]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mgu", None, "unknown model mgu"),
        ("mgu.eq", None, "there is no such file"),
        ("host", None, "fills a hole with itself"),
        ("wrong", "input x[t,k]\nh[t,j] = tnah(h[t-1,j] + x[t,j])", "wrong.eq:2:10: error: unknown"),
        ("line", "input x[t,k]\ny[t,k] = x[t,k]", "line is not a cell"),
    ],
)  # fmt: skip
def test_what_fills_nothing_is_told(folder: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        Path(f"{name}.eq").write_text(text)
    with pytest.raises(IndicialError, match=said):
        assert indicial.load(host(name)).code


def test_the_commands_take_paths(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mycell.eq").write_text(MGU)
    assert main(["check", "stacked", "--set", "CELL=mycell.eq"]) == 0
    assert main(["explain", "stacked", "--set", "CELL=mycell.eq"]) == 0
    assert "CELL.U^f[ℓ,j_1,j_2]" in capsys.readouterr().out


def test_a_program_is_no_word(folder: Path) -> None:
    with pytest.raises(IndicialError, match="takes one word"):
        indicial.train("stacked", set={"CELL": indicial.load("gru")}, data="village")
