"""Columns by the names of inputs: bound, divided, encoded; rows that cannot be read are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from indicial.data.binding import Slot, bind, slots
from indicial.data.codings import Text, Units
from indicial.data.column_rows import load_codings
from indicial.data.prepare_columns import prepare_columns
from indicial.library.loading import load
from indicial.program.messages import IndicialError
from indicial.training.shared_data import find_again

TAGS = """
input x[t] in V
input y[t] in C
input head[t] in T
h[t] = a[x[t]]
loss = Σ_t (h[t] + h[head[t]] - b[y[t]])^2
"""


def translation() -> tuple[Slot, ...]:
    return slots(load("bahdanau").code, {"w"})


def pairs(folder: Path, count: int = 60) -> list[tuple[str, str]]:
    rows = [(f"der Hund {n} läuft", f"the dog {n} runs") for n in range(count)]
    (folder / "a.de").write_text("".join(f"{x}\n" for x, _ in rows), encoding="utf-8")
    (folder / "a.en").write_text("".join(f"{w}\n" for _, w in rows), encoding="utf-8")
    table = "german\tenglish\n" + "".join(f"{x}\t{w}\n" for x, w in rows)
    (folder / "a.tsv").write_text(table, encoding="utf-8")
    return rows


def test_slots_by_their_equations() -> None:
    found = slots(load(TAGS).code, {"y"})
    assert [slot.kind for slot in found] == ["units", "units", "places"]
    assert [slot.kind for slot in slots(load("captioning_features").code)] == ["image", "text"]
    assert [slot.written for slot in translation()] == ["x[t_{in}] in U", "w[t] in V"]


@pytest.mark.parametrize("form", ["files", "table"])
def test_line_aligned_files_and_a_table_give_the_same(tmp_path: Path, form: str) -> None:
    rows = pairs(tmp_path)
    what = (
        [f"x={tmp_path}/a.de", f"w={tmp_path}/a.en"] if form == "files" else [f"{tmp_path}/a.tsv"]
    )
    columns = {} if form == "files" else {"x": "german", "w": "english"}
    data = prepare_columns(translation(), what, columns, cache=tmp_path / "cache")
    shown = [
        (data.codings["x"].show(part.columns["x"].row(n)), data.codings["w"].show(part.columns["w"].row(n)))
        for part in (data.train, data.validation)
        for n in range(part.rows)
    ]  # fmt: skip
    assert sorted(shown) == sorted(rows)
    assert data.train.rows + data.validation.rows == 60 and data.validation.rows > 0
    assert isinstance(data.codings["x"], Text)
    assert data.codings["x"].to_json() != data.codings["w"].to_json()
    again = find_again(data.description, tmp_path / "cache")
    assert again is not None and again.train.digest == data.train.digest


def test_padding_and_lengths(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\tw\n" + "a\tb\na b c\td\n" * 20, encoding="utf-8")
    (tmp_path / "v.tsv").write_text("x\tw\na\tb\n", encoding="utf-8")
    data = prepare_columns(
        translation(), [f"{tmp_path}/a.tsv"], validation=[f"{tmp_path}/v.tsv"],
        tokens="characters", cache=tmp_path / "cache",
    )  # fmt: skip
    tokens, lengths = data.train.columns["x"].take(np.array([0, 1]))
    assert lengths is not None and lengths.tolist() == [2, 6]
    assert tokens[0, 1:].tolist() == [0] * 5 and tokens[1, 5] == 0 and (tokens[1, :5] > 0).all()
    cut, lengths = data.train.columns["x"].take(np.array([0, 1]), most=3)
    assert cut.shape == (2, 3) and lengths is not None and lengths.tolist() == [2, 3]


def test_inputs_that_share_a_vocabulary_share_their_tokens(tmp_path: Path) -> None:
    pairs(tmp_path)
    text = "input x[s] in V\ninput w[t] in V\nloss = Σ_{s,t} (a[x[s]] - a[w[t]])^2"
    what = [f"x={tmp_path}/a.de", f"w={tmp_path}/a.en"]
    data = prepare_columns(slots(load(text).code), what, cache=tmp_path / "cache")
    assert data.codings["x"].to_json() == data.codings["w"].to_json()


def test_bad_rows_are_counted_and_told_with_their_lines(tmp_path: Path) -> None:
    rows = [f"der Hund {n}\tthe dog {n}" for n in range(40)]
    rows[6], rows[20], rows[30] = "nur einer", "leer\t ", "ein\tone\ttoo many"
    (tmp_path / "a.tsv").write_text("x\tw\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "v.tsv").write_text("x\tw\neins\tone\n", encoding="utf-8")
    data = prepare_columns(
        translation(), [f"{tmp_path}/a.tsv"], validation=[f"{tmp_path}/v.tsv"], cache=tmp_path / "cache"
    )  # fmt: skip
    assert data.train.rows == 37
    (note,) = data.description["notes"]
    assert note.startswith("3 of 40 rows of the training part are left out:")
    for line in (8, 22, 32):
        assert f"a.tsv, line {line}: " in note


def test_files_that_do_not_stand_side_by_side(tmp_path: Path) -> None:
    pairs(tmp_path)
    (tmp_path / "short.en").write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(IndicialError, match=r"short\.en has 2 rows, and .*a\.de has more"):
        prepare_columns(
            translation(), [f"x={tmp_path}/a.de", f"w={tmp_path}/short.en"], cache=tmp_path / "cache"
        )  # fmt: skip


def test_inputs_without_a_column_are_shown_with_what_to_say(tmp_path: Path) -> None:
    pairs(tmp_path)
    with pytest.raises(IndicialError) as error:
        bind(translation(), [f"{tmp_path}/a.tsv"], {})
    assert "--column x=german --column w=english" in str(error.value)
    with pytest.raises(IndicialError, match="--data w=FILE"):
        bind(translation(), [f"x={tmp_path}/a.de"], {})
    with pytest.raises(IndicialError, match="has no column deutsch; it has german, english"):
        bind(translation(), [f"{tmp_path}/a.tsv"], {"x": "deutsch"})
    with pytest.raises(IndicialError, match=r"--data v=.*a\.de: the equations have no input v"):
        bind(translation(), [f"v={tmp_path}/a.de"], {})
    with pytest.raises(IndicialError, match="the equations have no input v"):
        bind(translation(), [f"{tmp_path}/a.tsv"], {"v": "german"})


def test_words_and_their_labels_have_one_length(tmp_path: Path) -> None:
    table = "x\ty\thead\nthe dog\tDET NOUN\t1 1\na cat\tDET NOUN\t1 1\nthe dog\tDET\t0 0\na dog\tDET NOUN\t1 7\n"
    (tmp_path / "a.tsv").write_text(table * 1 + "the dog\tDET NOUN\t1 1\n" * 20, encoding="utf-8")
    (tmp_path / "v.tsv").write_text("x\ty\thead\na horse\tDET NOUN\t1 1\n", encoding="utf-8")
    data = prepare_columns(
        slots(load(TAGS).code, {"y"}), [f"{tmp_path}/a.tsv"],
        validation=[f"{tmp_path}/v.tsv"], cache=tmp_path / "cache",
    )  # fmt: skip
    (note,) = data.description["notes"]
    assert (
        "line 4: x has 2 places, and y has 1" in note and "line 5: head: places are from 0" in note
    )
    words, tags = data.codings["x"], data.codings["y"]
    assert isinstance(words, Units) and isinstance(tags, Units)
    assert words.names == ("<unknown>", "a", "dog", "the") and tags.names == ("DET", "NOUN")
    # A word that was never seen may come; a label may not.
    assert words.show(data.validation.columns["x"].row(0)) == "a <unknown>"


def test_images_with_several_captions_each(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    colours = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
    for name, colour in colours.items():
        Image.new("RGB", (20, 10), colour).save(tmp_path / "photos" / f"{name}.png")
    lines = [f"{name}.png\tit is {name}, {how}" for name in colours for how in ("here", "there")]
    lines.append("black.png\tit is not there")
    (tmp_path / "a.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = prepare_columns(
        slots(load("captioning_features").code, {"w"}), [f"M={tmp_path}/photos", f"w={tmp_path}/a.tsv"],
        validation=0.3, sizes={"X": 8, "Y": 6}, cache=tmp_path / "cache",
    )  # fmt: skip
    assert data.train.rows + data.validation.rows == 6
    assert any("there is no file black.png" in note for note in data.description["notes"])
    # Captions of one image are on one side, and the image is stored once.
    for part in (data.train, data.validation):
        assert part.rows == 2 * len(part.columns["M"].values)
        images, _ = part.columns["M"].take(np.arange(part.rows))
        assert images.shape == (part.rows, 8, 6, 3)
        for number in range(part.rows):
            colour = ("red", "green", "blue")[int(images[number, 4, 3].argmax())]
            assert f"is {colour}" in data.codings["w"].show(part.columns["w"].row(number))


def test_numbers_that_are_not_of_order_one_are_scaled(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", x=random.normal(1000, 50, (200, 3)), y=random.normal(0, 1, 200))
    text = "input x[k]\ninput y\nŷ = v[K] x[K]\nloss = (y - ŷ)^2"
    data = prepare_columns(slots(load(text).code), [f"{tmp_path}/a.npz"], cache=tmp_path / "cache")
    x, _ = data.train.columns["x"].take(np.arange(data.train.rows))
    y, _ = data.train.columns["y"].take(np.arange(data.train.rows))
    assert np.allclose(x.mean(0), 0, atol=1e-4) and np.allclose(x.std(0), 1, atol=1e-3)
    assert np.array_equal(y, data.train.columns["y"].values)


def test_codings_are_read_again(tmp_path: Path) -> None:
    pairs(tmp_path)
    data = prepare_columns(
        translation(), [f"x={tmp_path}/a.de", f"w={tmp_path}/a.en"], cache=tmp_path / "cache"
    )
    data.save(tmp_path)
    found = load_codings(tmp_path)
    assert {n: c.to_json() for n, c in found.items()} == {n: c.to_json() for n, c in data.codings.items()}  # fmt: skip
    (tmp_path / "columns.json").write_text('{"format": 1, "inputs": {"x": {"kind": "words"}}}')
    with pytest.raises(IndicialError, match="is damaged"):
        load_codings(tmp_path)


def test_what_keeps_all_rows_out_is_told_and_not_how_they_are_parted(tmp_path: Path) -> None:
    lines = "\n".join(f"{n}.png\ta picture" for n in range(30))
    (tmp_path / "a.tsv").write_text(f"M\tw\n{lines}\n", encoding="utf-8")
    with pytest.raises(IndicialError) as found:
        prepare_columns(
            slots(load("captioning_features").code, {"w"}), [f"{tmp_path}/a.tsv"],
            sizes={"X": 8, "Y": 6, "K": 3}, cache=tmp_path / "cache",
        )  # fmt: skip
    first, second, *_ = str(found.value).splitlines()
    assert first.endswith("a.tsv: no row of the training part can be read:")
    assert second.endswith("line 2: M: there is no file 0.png")
