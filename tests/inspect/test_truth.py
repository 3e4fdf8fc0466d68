"""Models in worlds whose truth is known: what they say, where they look, and how that is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import indicial
from indicial.cli import main
from indicial.data.world import world_table
from indicial.data.world.scenes import owners
from indicial.data.world.world import AlignmentScore, read_links
from indicial.inspect.attention import Look, Side, attend, true_of, truth_page
from indicial.inspect.attention_views import draw_on_picture, lit, picture_blocks
from indicial.inspect.subjects import column_subject
from indicial.program.messages import IndicialError
from indicial.training.run import Run

CAPTIONS = """input I[x,y,c]
input w[t] in V
range Δx = -1..1
range Δy = -1..1
F[x,y,k] = ReLU(W^F[ΔX,ΔY,C,k] I[4x+ΔX,4y+ΔY,C] - B^F[k])
h[t,j] = tanh(W^w[j,D] e[w[t-1],D] + W^h[j,J'] h[t-1,J'])
α[t,x,y] = softmax_{x,y} h[t,J] W^{key}[J,K] F[x,y,K]
c[t,k] = α[t,X,Y] F[X,Y,k]
P(w[t] | I, w[0], …, w[t-1]) = softmax_{w_t} e[w_t,D] (W^o[D,J] h[t,J] + W^c[D,K] c[t,K])
loss = 1/T Σ_t -ln P(w_t | …)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models that have learned next to nothing."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "captions.eq").write_text(CAPTIONS, encoding="utf-8")
    small = ["--world-size", "20", "--max-steps", "1"]
    for model, world, sizes in (
        ("bahdanau", "phrasebook", ["J=4", "N=4", "M=4", "I=4"]),
        (str(folder / "captions.eq"), "scenes", ["K=4", "J=4", "D=4"]),
    ):
        told = [word for size in sizes for word in ("--set", size)]
        assert main(["train", model, "--data", world, *small, *told, "--out", str(folder / world)]) == 0  # fmt: skip
    return {world: folder / world for world in ("phrasebook", "scenes")}


def test_what_is_right_and_where_words_look(runs: dict[str, Path]) -> None:
    """One row at a time, as `attend` has it, gives the same score."""
    run = Run.open(runs["phrasebook"])
    (truth,) = true_of(run, count=3, seed=5, parts=["validation"])
    rows = list(world_table("phrasebook").rows("validation", 3, seed=5))
    assert [one.row for one in truth.said] == rows
    assert truth.right == sum(one.text.split() == one.row["w"].split() for one in truth.said) / 3
    score = AlignmentScore()
    for row in rows:
        seen = column_subject(run, {"x": row["x"], "w": row["w"]})
        (look,) = attend(seen.subject)
        assert list(seen.links) == read_links(row["alignment"])
        score.add(look.weights, read_links(row["alignment"]))
    (looked,) = truth.looks
    assert looked.title == "α"
    for name in ("error", "share"):
        assert getattr(looked.score, name) == pytest.approx(getattr(score, name), abs=1e-6)
    assert "alignment error" in "\n".join(truth_page([truth]))


def test_heads_are_called_as_attend_calls_them(tmp_path: Path) -> None:
    """Layers are counted as the equations count them, from 1 here, so `attend --layer` takes what was told."""
    sizes = [word for size in ("J=4", "L=2", "K=2", "I=2", "D=4") for word in ("--set", size)]
    small = ["--world-size", "20", "--max-steps", "1", "--out", str(tmp_path / "run")]
    assert main(["train", "encoder_decoder_prenorm", "--data", "phrasebook", *small, *sizes]) == 0
    (truth,) = true_of(tmp_path / "run", count=1, parts=["validation"])
    row = truth.said[0].row
    looks = attend(column_subject(tmp_path / "run", {"x": row["x"], "w": row["w"]}).subject)
    across = {one.title for one in looks if one.rows.name != one.columns.name}
    assert {one.title for one in truth.looks} == across
    assert "α^X, layer 2, head 1" in across


def test_captions_are_judged_by_the_picture(runs: dict[str, Path]) -> None:
    found = true_of(runs["scenes"], count=4, parts=["validation", "new"])
    assert [truth.part for truth in found] == ["validation", "new"]
    for truth in found:
        assert all(one.right == (not one.why) for one in truth.said)
        assert truth.to_json()["rows"] == 4


def test_with_beams_what_beams_find_is_judged(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (truth,) = true_of(runs["scenes"], {"num_beams": 3}, count=4, parts=["validation"])
    inputs = [{"I": one.row["I"]} for one in truth.said]
    found = indicial.generate(str(runs["scenes"]), inputs=inputs, num_beams=3)
    assert [one.text for one in truth.said] == [str(one) for one in found]
    how = ["--world-size", "4", "--num-beams", "3"]
    capsys.readouterr()
    assert main(["evaluate", str(runs["scenes"]), "--data", "scenes", *how]) == 0
    assert next(one.text for one in truth.said if not one.right) in capsys.readouterr().out


def test_a_run_on_other_data_has_no_truth(runs: dict[str, Path], monkeypatch: Any) -> None:
    run = Run.open(runs["scenes"])
    monkeypatch.setitem(run.description.data, "name", "photos")
    with pytest.raises(IndicialError, match="was not trained on phrasebook or scenes"):
        true_of(run)
    with pytest.raises(IndicialError, match="--row is for the rows of a built-in world"):
        column_subject(run, {}, row=0)


# ---------------------------------------------------------------------- what is read


def test_inputs_by_their_names(runs: dict[str, Path]) -> None:
    seen = column_subject(runs["phrasebook"], {"x": "Oslo liegt in Norwegen ."})
    source, target = seen.subject.texts
    assert source.labels[-2:] == [" .", "<EOS>"]
    assert target.reading.name == "w" and target.labels[-1] == "<EOS>"
    with pytest.raises(IndicialError, match="say what x is: --input x=…"):
        column_subject(runs["phrasebook"], {})
    with pytest.raises(IndicialError, match="there is no input y; there are x, w"):
        column_subject(runs["phrasebook"], {"x": "Oslo", "y": "a"})
    with pytest.raises(IndicialError, match=r"--input I: there is no file none\.png"):
        column_subject(runs["scenes"], {"I": "none.png"})


def test_nothing_is_predicted_behind_the_end(runs: dict[str, Path]) -> None:
    row = {"x": "Oslo liegt in Norwegen .", "w": "Oslo is in Norway ."}
    seen = column_subject(runs["phrasebook"], row)
    (look,) = attend(seen.subject)
    assert look.rows.labels[-1].endswith("→ <EOS>")
    assert len(look.weights) == len(look.rows) == len(seen.subject.texts[1].tokens)


def test_a_picture_from_a_file_is_that_of_the_row(runs: dict[str, Path], tmp_path: Path) -> None:
    from PIL import Image

    (row,) = world_table("scenes").rows("validation", 1, seed=1)
    Image.fromarray(row["I"]).save(tmp_path / "scene.png")
    np.save(tmp_path / "scene.npy", row["I"])
    for name in ("scene.png", "scene.npy"):
        seen = column_subject(runs["scenes"], {"I": str(tmp_path / name), "w": row["w"]})
        np.testing.assert_array_equal(seen.picture, row["I"])
    again = column_subject(runs["scenes"], {"w": row["w"]}, row=0)
    np.testing.assert_array_equal(again.picture, row["I"])
    looks = attend(again.subject)
    assert looks[0].weights.shape == (8, 8)
    assert [look.at.split(" → ")[-1] for look in looks if look.at][:3] == row["w"].split()[:3]


# ---------------------------------------------------------------------- as pictures


def test_a_picture_is_bright_where_a_word_looks() -> None:
    picture = np.full((32, 32, 3), 200, np.uint8)
    np.testing.assert_array_equal(lit(picture, np.full((8, 8), 1 / 64)), picture)
    weights = np.zeros((8, 8))
    weights[1, 6] = 1.0
    found = lit(picture, weights)
    assert found[4:8, 24:28].mean() > 120 > 2 * found[16:, :16].mean()
    assert found[16:, :16].max() < 30
    # where a weight is does not depend on how fine the picture is
    down, across = np.unravel_index(lit(np.full((64, 64, 1), 255), weights).argmax(), (64, 64))
    assert (down // 8, across // 8) == (1, 6)


def looks_of(count: int, side: int = 4) -> list[Look]:
    rng = np.random.default_rng(0)
    sides = Side("x", ("",) * side), Side("y", ("",) * side)
    return [
        Look("α", None, None, rng.dirichlet(np.ones(side * side)).reshape(side, side), *sides, f"{n} a → word{n}")
        for n in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "width"), [(1, 80), (5, 40), (12, 80)])
def test_blocks_stand_side_by_side(count: int, width: int) -> None:
    looks = looks_of(count)
    lines = picture_blocks(looks, width=width)
    assert max(map(len, lines[1:])) <= width
    text = "\n".join(lines)
    assert all(f"word{n}" in text for n in range(count))
    assert text.count("██") >= count  # the largest weight of each word is a full block
    first = [line[:8].ljust(8) for line in lines[2:6]]
    full = np.array([[cell == "█" for cell in line[::2]] for line in first])
    assert full[np.unravel_index(looks[0].weights.argmax(), (4, 4))]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_row_of_pictures_is_drawn(tmp_path: Path, ending: str) -> None:
    picture = owners([])[:, :, None].repeat(3, 2).astype(np.uint8)
    path = draw_on_picture(looks_of(3), picture, tmp_path / f"words.{ending}", "a title")
    assert path.stat().st_size > 1000
    if ending == "svg":
        assert "word2" in path.read_text(encoding="utf-8")


def test_the_commands(runs: dict[str, Path], tmp_path: Path, capsys: Any) -> None:
    book, scenes = str(runs["phrasebook"]), str(runs["scenes"])
    capsys.readouterr()
    assert main(["attend", book, "--input", "x=Oslo liegt in Norwegen .", "--target", "Oslo"]) == 0
    assert "each row (w) looks at the columns (x)" in capsys.readouterr().out
    figure = str(tmp_path / "alignment.svg")
    assert main(["attend", book, "--row", "2", "--figure", figure]) == 0
    assert main(["attend", scenes, "--row", "1"]) == 0
    assert "where the model looks as it says each word" in capsys.readouterr().out
    figure = str(tmp_path / "words.png")  # of two words, not of two hundred that it makes
    assert main(["attend", scenes, "--row", "1", "--target", "a dog", "--figure", figure]) == 0
    capsys.readouterr()
    assert main(["evaluate", scenes, "--data", "scenes", "--sentences", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [part["part"] for part in told["truth"]] == ["validation", "new"]
