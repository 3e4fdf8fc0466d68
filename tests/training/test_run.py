"""The folder of a run: made, opened again, and refused in words."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import indicial
from indicial.program.messages import IndicialError
from indicial.training import run as module
from indicial.training.checkpoints import TENSORS, Checkpoint
from indicial.training.equations import Equations
from indicial.training.run import Description, Run, load_weights

SIZES = {"J": 4, "K": 3}


def description() -> Description:
    program = indicial.load("ugrnn")
    return Description(
        Equations.of(program), SIZES, "language", {"max_steps": 7}, {"train": {"digest": "a"}}
    )


def saved(folder: Path, steps: tuple[int, ...] = (1, 2, 3), best: int = 2) -> Run:
    """A run whose weights are all the number of the step."""
    run = Run.create(folder, description())
    weights = {f"model/{k}": v for k, v in run.program.compile(sizes=SIZES).state_dict().items()}
    for step in steps:
        tensors = {name: torch.full_like(value, step) for name, value in weights.items()}
        run.checkpoints.save(Checkpoint(step, tensors), best=step == best)
    return run


def test_there_and_back(tmp_path: Path) -> None:
    made = Run.create(tmp_path / "runs" / "one", description())
    found = Run.open(tmp_path / "runs" / "one")
    assert found.description == made.description
    assert found.program.code == indicial.load("ugrnn").code
    text = json.loads((tmp_path / "runs" / "one" / "run.json").read_text(encoding="utf-8"))
    assert text["format"] == 1
    assert text["equations"][0]["name"] == "ugrnn.eq" and "tanh" in text["equations"][0]["text"]
    assert text["versions"].keys() == {"indicial", "torch", "python"}
    assert Run.open(tmp_path / "runs" / "one" / "run.json").folder == tmp_path / "runs" / "one"


def test_modules(tmp_path: Path) -> None:
    saved(tmp_path / "run")
    run = Run.open(tmp_path / "run")
    state = torch.get_rng_state()
    for which, value in (("best", 2.0), ("last", 3.0)):
        found = run.module(which)
        assert not found.training
        assert {w.item() for p in found.parameters() for w in p.unique()} == {value}
    assert torch.equal(state, torch.get_rng_state()), "opening a run moved the random state"
    assert run.module()(x=torch.zeros(5, 3))["h"].shape == (5, 4)


def test_without_a_best_one_the_last_is_taken(tmp_path: Path) -> None:
    saved(tmp_path / "run", best=0)
    assert Run.open(tmp_path / "run").checkpoint("best").step == 3


def test_no_checkpoint(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", description())
    with pytest.raises(IndicialError, match="has no checkpoint to use"):
        Run.open(tmp_path / "run").module()
    run = saved(tmp_path / "other", (1,))
    (run.folder / "checkpoints" / "step-00000001" / TENSORS).unlink()
    with pytest.raises(IndicialError, match=r"no checkpoint to use\n.*tensors.safetensors is miss"):
        Run.open(run.folder).module()
    with pytest.raises(IndicialError, match="no checkpoint 'bets'; there are best and last"):
        run.module("bets")


def test_weights_of_another_model(tmp_path: Path) -> None:
    found = saved(tmp_path / "run").checkpoint()
    with pytest.raises(IndicialError, match=r"step 2 does not fit the equations: .*W_hR"):
        load_weights(indicial.load("ugrnn").compile(J=5, K=3), found)
    with pytest.raises(IndicialError, match=r"does not fit the equations: .*W_hf"):
        load_weights(indicial.load("lstm").compile(J=4, K=3), found)


def test_tokenizer(tmp_path: Path) -> None:
    from indicial.data.tokenizers import make_tokenizer

    tokenizer = make_tokenizer("characters", ["abba"])
    Run.create(tmp_path / "run", description(), tokenizer)
    found = Run.open(tmp_path / "run").tokenizer()
    assert found.encode("abba") == tokenizer.encode("abba")
    Run.create(tmp_path / "without", description())
    with pytest.raises(IndicialError, match=r"without has no tokenizer.json"):
        Run.open(tmp_path / "without").tokenizer()


def test_the_tokenizer_of_another_run(tmp_path: Path) -> None:
    from indicial.data.tokenizers import make_tokenizer

    made = replace(description(), data={"vocabulary": 5})
    run = Run.create(tmp_path / "run", made, make_tokenizer("characters", ["abba"]))
    with pytest.raises(IndicialError, match=r"tokenizer.json has 4 tokens, .* trained with 5"):
        run.tokenizer()
    run.mend(make_tokenizer("characters", ["abc"]))
    assert run.tokenizer().size == 5


def test_numbers_among_the_settings(tmp_path: Path) -> None:
    made = replace(description(), settings={"context": 12, "seed": "many"})
    run = Run.create(tmp_path / "run", made)
    assert run.number("context") == 12 and run.number("batch_size", 8) == 8
    for name, value in {"seed": "'many'", "stride": "None"}.items():
        with pytest.raises(
            IndicialError, match=rf"says that {name} is {value}, which is not a number"
        ):
            run.number(name)


def test_a_folder_that_is_taken(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", description())
    with pytest.raises(
        IndicialError, match=r"there is already a run in .*\. To continue it: --resume"
    ):
        Run.create(tmp_path / "run", description())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    with pytest.raises(IndicialError, match="holds other things"):
        Run.create(tmp_path / "other", description())
    (tmp_path / "empty").mkdir()
    Run.create(tmp_path / "empty", description())


def test_what_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("runs/names-1", "runs/names-2", "runs/people"):
        Run.create(name, description())
    Path("notes.txt").write_text("")
    cases = {
        "runs/nmaes-2": "there is no run runs/nmaes-2; did you mean runs/names-2?",
        "names-1": "there is no run names-1; did you mean runs/names-1?",
        "runs": "runs is not a run: it has no run.json; there are runs/names-1, runs/names-2, runs/people",
        "notes.txt": "notes.txt is a file; a run is a folder with a run.json",
        "elsewhere/x": "there is no run elsewhere/x; there are runs/names-1, runs/names-2, runs/people",
    }
    for folder, says in cases.items():
        with pytest.raises(IndicialError) as found:
            Run.open(folder)
        assert str(found.value) == says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('"format": 1', '"format": 2'), "newer indicial (format 2"),
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: "[]", "is damaged"),
        (
            lambda text: json.dumps({**json.loads(text), "settings": [1]}),
            "settings is [1], where names",
        ),
        (
            lambda text: json.dumps({**json.loads(text), "data": {"train": 5}}),
            "train is 5, where names",
        ),
        (lambda text: "", "is damaged"),
        (lambda text: text.replace('"sizes"', '"size"'), "says nothing about 'sizes'"),
    ],
)
def test_a_damaged_description(tmp_path: Path, change: object, says: str) -> None:
    Run.create(tmp_path / "run", description())
    path = tmp_path / "run" / "run.json"
    assert callable(change)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(IndicialError) as found:
        Run.open(tmp_path / "run")
    assert says in str(found.value)


def test_only_the_first_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "writes", lambda: False)
    Run.create(tmp_path / "run", description())
    assert not list(tmp_path.iterdir())


def test_two_cannot_train_in_one_folder(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", description())
    with (
        run.claimed(),
        pytest.raises(IndicialError, match="is being trained by another process"),
        Run.open(tmp_path / "run").claimed(),
    ):
        raise AssertionError("both have it")
    with Run.open(tmp_path / "run").claimed():
        pass


def test_a_folder_that_was_left_while_a_file_was_written_is_a_beginning(tmp_path: Path) -> None:
    for beside in (["tokenizer.json"], ["columns.json"], []):
        folder = tmp_path / "-".join(["run", *beside])
        folder.mkdir()
        for name in (".indicial-x7.json", ".run.json", *beside):
            (folder / name).write_text("{}")
        assert Run.create(folder, description()).folder == folder
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    with pytest.raises(IndicialError, match="holds other things"):
        Run.create(mine, description())
