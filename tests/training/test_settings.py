"""Settings from the command line and from YAML: the same names, checked the same way."""

from __future__ import annotations

from pathlib import Path

import pytest

from indicial import IndicialError
from indicial.training.settings import OPTIONS, OTHER_NAMES, Settings, read_config


def test_every_option_is_a_field_and_the_other_way_round() -> None:
    fields = {name.rstrip("_") for name in Settings.__dataclass_fields__}
    assert fields == set(OPTIONS)
    assert {name.replace("-", "_").split()[0] for name in OTHER_NAMES.values()} <= set(OPTIONS)


def test_values_as_typed() -> None:
    found = Settings.read(
        {"model": ["ugrnn"], "batch-size": "64", "learning_rate": "1e-3", "set": ["J=256", "λ=0.1"],
         "clip_each": True, "from": "runs/a", "minutes": None}
    )  # fmt: skip
    assert found == Settings(
        model=("ugrnn",),
        batch_size=64,
        learning_rate=1e-3,
        set={"J": "256", "λ": "0.1"},
        clip_each=True,
        from_="runs/a",
    )
    assert found.said()["from"] == "runs/a"
    assert Settings.read(found.said()) == found


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("batch-sise", "3", "no setting batch-sise; did you mean batch-size?"),
        ("lr", "3", "no setting lr; did you mean learning-rate?"),
        ("block_size", "3", "did you mean context?"),
        ("n_embd", "3", "did you mean set?"),
        ("qwertz", "3", "there are accumulate, average, batch-size"),
        ("batch_size", "3.5", "--batch-size takes a whole number; got 3.5"),
        ("batch_size", "0", "--batch-size takes a number of at least 1; got 0"),
        (
            "vocabulary",
            "1000000000",
            "--vocabulary takes a number up to 10,000,000; got 1000000000",
        ),
        ("world_size", "99999999999999", "--world-size takes a number up to 1,000,000,000"),
        ("batch_size", "many", "--batch-size takes a number; got many"),
        ("max_steps", True, "--max-steps takes a number"),
        ("learning_rate", "nan", "--learning-rate takes a number"),
        ("learning_rate", "-1", "of at least 1e-12"),
        ("optimizer", "adam", "takes one of adamw, muon; got adam; did you mean adamw?"),
        ("clip_each", "yes", "is either on or off: true or false"),
        ("set", ["J"], "--set takes NAME=VALUE, such as J=256"),
        ("set", ["J=8", "L=2", "J=16"], "--set says J twice, 8 and 16: keep one of them"),
    ],
)
def test_what_is_wrong_is_said(name: str, value: object, said: str) -> None:
    with pytest.raises(IndicialError) as error:
        Settings.read({name: value})
    assert said in str(error.value)


def test_a_file_has_the_same_names(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: [transformer, focus]\ndata: book.txt\nbatch-size: 64\n"
        "learning_rate: 1e-3\nset: {J: 256, λ: 0.1}\n",
        encoding="utf-8",
    )
    found = read_config(path)
    assert found == Settings(
        model=("transformer", "focus"), data=("book.txt",), batch_size=64, learning_rate=1e-3,
        set={"J": "256", "λ": "0.1"},
    )  # fmt: skip
    typed = Settings.read({"batch_size": "8", "set": ["J=2"], "model": None})
    both = typed.over(found)
    assert (both.batch_size, both.model, both.learning_rate) == (8, ("transformer", "focus"), 1e-3)
    assert both.set == {"J": "2", "λ": "0.1"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("batch-sise: 3", "run.yaml: there is no setting batch-sise; did you mean batch-size?"),
        ("- a\n- b", "must hold lines `name: value`"),
        ("a: [", "is not valid YAML"),
        ("batch-size: many", "run.yaml: --batch-size takes a number"),
        (
            "seed: 1\nout: a\nseed: 2",
            "run.yaml: seed is set in line 1 and again in line 3: keep one",
        ),
        ("batch-size: 8\nbatch_size: 8", "batch_size is set in line 1 and again in line 2"),
        ("set:\n  J: 8\n  L: 2\n  J: 16", "run.yaml: J is set in line 2 and again in line 4"),
        ("out: [a, b]", "run.yaml: --out takes one word; got ['a', 'b']"),
        ("data: {a: b}", "--data takes one word"),
        ("data: [book.txt, no]", "--data takes a word: put it in quotes; got False"),
        ("set: {CELL: }", "--set takes a word: put it in quotes; got None"),
        (f"seed: {'9' * 5000}", "is not valid YAML"),
        ("out: 2026-13-45", "is not valid YAML: month must be in 1..12"),
        ("resume: first", "run.yaml: --resume belongs on the command line, not in a file"),
    ],
)
def test_a_file_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(IndicialError) as error:
        read_config(path)
    assert said in str(error.value)


def test_a_file_that_is_not_there_or_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(IndicialError, match="cannot read"):
        read_config(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("set: {λ: 1}".encode("utf-16"))
    with pytest.raises(IndicialError, match=r"latin\.yaml is not UTF-8 text"):
        read_config(tmp_path / "latin.yaml")
    with pytest.raises(IndicialError, match="cannot read /dev/zero: it has more than"):
        read_config(Path("/dev/zero"))
    (tmp_path / "empty.yaml").write_text("# nothing\n", encoding="utf-8")
    assert read_config(tmp_path / "empty.yaml") == Settings()
