"""`indicial train`, as typed."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small import sentences

from indicial import IndicialError
from indicial.cli import main
from indicial.training.checkpoints import free_folder, read
from indicial.training.curves import read_metrics
from indicial.training.defaults import best_device
from indicial.training.loop import rehearse
from indicial.training.run import Run
from indicial.training.settings import Settings
from tests.training.small import CHOICES, small_data, small_module, small_task

QUICK = ("--max-steps", "4", "--set", "J=8", "--context", "16", "--batch-size", "4")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a text, and nothing from elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INDICIAL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_text("\n".join(sentences(120)) + "\n", encoding="utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["train", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def numbers(folder: str) -> list[object]:
    """What must not differ between a run and the same run stopped and resumed."""
    kept = ("step", "loss", "smoothed", "gradient_norm", "learning_rate", "tokens", "validation")
    return [
        {k: line[k] for k in kept if k in line} for line in read_metrics(f"{folder}/metrics.jsonl")
    ]


def test_what_the_checker_warns_of_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        "input w[t] in V",
        "h[t,j] = tanh(e[w[t-1],j])",
        "P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} (U[w_t,J] h[t,J] + b[J] h[t,J])",
    ]
    Path("own.eq").write_text("\n".join(lines), encoding="utf-8")
    status, _, err = run(capsys, "own.eq", "--data", "text.txt", *QUICK, "--out", "own")
    assert status == 0
    assert "own.eq:3:" in err and "so it cancels in the softmax" in " ".join(err.split())


def test_train_and_resume(here: Path, capsys: pytest.CaptureFixture[str], curves: None) -> None:
    status, out, _ = run(capsys, "ugrnn", "--data", "text.txt", *QUICK)
    assert status == 0
    assert "ugrnn + language_model" in out and "4 steps of 4 x 16 tokens" in out
    folder = Path("runs/ugrnn-text-1")
    found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert found["settings"]["max_steps"] == 4 and found["sizes"]["J"] == 8
    assert found["data"]["train"]["digest"]
    assert {"tokenizer.json", "metrics.jsonl", "curves.png"} <= {p.name for p in folder.iterdir()}
    assert Run.open(folder).checkpoint("last").step == 4

    # Half of it, as if it had been stopped; then the rest.
    status, _, _ = run(
        capsys, "ugrnn", "--data", "text.txt", *QUICK, "--out", "half", "--save-every", "2"
    )
    for checkpoint in Path("half/checkpoints").glob("step-00000004*"):
        checkpoint.rename(here / checkpoint.name)
    Path("half/tokenizer.json").unlink()  # it is made again, or nothing could be done with the run
    status, out, err = run(capsys, "--resume", "half")
    assert status == 0 and "going on after step 2" in out
    assert "note: half/tokenizer.json was missing, and was written again from the data" in err
    assert Run.open("half").tokenizer().size == Run.open(folder).tokenizer().size
    assert numbers("half") == numbers("runs/ugrnn-text-1")
    one, two = (Run.open(f).checkpoint("last").tensors for f in (folder, "half"))
    assert all(torch.equal(value, two[name]) for name, value in one.items())

    # Neither is ever written over, and resuming changes nothing that matters.
    status, _, err = run(capsys, "ugrnn", "--data", "text.txt", "--out", "half")
    assert status == 2 and "there is already a run in half. To continue it: --resume half" in err
    status, _, err = run(capsys, "--resume", "half", "--learning-rate", "1")
    assert status == 2 and "To train its weights in another way: --from half" in err
    status, _, err = run(capsys, "--resume", "half", "--set", "J=16")
    assert status == 2 and "--set J=16: half was begun with J=8, and" in err
    status, _, err = run(capsys, "gru", "--resume", "half")
    assert status == 2 and "gru: half was begun with ugrnn, and" in err
    status, _, err = run(capsys, "--resume", "half", "--max-steps", "3")
    assert status == 2 and "--max-steps 3: half has done 4 steps already" in err
    status, out, err = run(capsys, "--resume", "half")
    assert status == 0 and "all 4 steps are done; to train on: --max-steps" in err
    (here / "text.txt").write_text("\n".join(sentences(130)) + "\n", encoding="utf-8")
    status, _, err = run(capsys, "--resume", "half")
    assert status == 2 and "the data changed since half was begun" in err
    # One of a version that stored data otherwise says so.
    told = json.loads(Path("half/run.json").read_text(encoding="utf-8"))
    told["data"]["format"] -= 1
    Path("half/run.json").write_text(json.dumps(told), encoding="utf-8")
    status, _, err = run(capsys, "--resume", "half")
    assert status == 2 and "that stored data in another way" in err and "--from half" in err


def test_a_run_without_a_sound_checkpoint_is_left_as_it_is(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To begin anew would save over what may still be mended; before its first checkpoint it may."""
    assert run(capsys, "ugrnn", "--data", "text.txt", *QUICK, "--out", "one")[0] == 0
    for path in Path("one/checkpoints").glob("*/tensors.safetensors"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    before = {path: path.read_bytes() for path in Path("one").rglob("*") if path.is_file()}
    status, out, err = run(capsys, "--resume", "one", "--max-steps", "6")
    assert status == 2 and not out
    assert "no checkpoint in one/checkpoints can be used" in err and "--from RUN" in err
    assert "step-00000004 is damaged" in err and "step-00000000 is damaged" in err
    assert before == {p: p.read_bytes() for p in Path("one").rglob("*") if p.is_file()}
    shutil.rmtree("one/checkpoints")
    status, out, _ = run(capsys, "--resume", "one")
    assert status == 0 and Run.open("one").checkpoint("last").step == 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda found: found["settings"].update(seed=7), "(seed: then 0, now 7)"),
        (lambda found: found["settings"].update(learning_rate=0.5), "(learning_rate: then "),
        (lambda found: found["equations"][0].update(text=found["equations"][0]["text"] + "\n# ?"),
         "(the equations), so"),
    ],
)  # fmt: skip
def test_what_a_run_follows_from_is_not_changed_under_it(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[dict[str, Any]], None],
    told: str,
) -> None:
    assert run(capsys, "ugrnn", "--data", "text.txt", *QUICK, "--out", "one")[0] == 0
    path = Path("one/run.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    change(found)
    path.write_text(json.dumps(found), encoding="utf-8")
    status, _, err = run(capsys, "--resume", "one", "--max-steps", "5")
    assert status == 2 and "one/run.json was changed since the checkpoint of step 4" in err
    assert told in err and "--from one" in err


def test_a_run_goes_on_from_anywhere_with_data_that_moved(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(capsys, "ugrnn", "--data", "text.txt", *QUICK, "--out", "one")[0] == 0
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    status, _, err = run(capsys, "--resume", "../one", "--max-steps", "5")
    assert status == 0, err
    # The file is gone: its tokens are still in the cache, until they are not.
    (here / "text.txt").rename("moved.txt")
    status, _, err = run(capsys, "--resume", "../one", "--max-steps", "6")
    assert status == 0 and "text.txt is gone; what was made of it" in err
    monkeypatch.setenv("INDICIAL_CACHE", str(here / "another"))
    status, _, err = run(capsys, "--resume", "../one", "--max-steps", "7")
    assert status == 2 and "which is gone, and what was made of it is no longer in the cache" in err
    # Named anew, the same content is taken, and remembered; another is not.
    (here / "other.txt").write_text("\n".join(sentences(130)) + "\n", encoding="utf-8")
    status, _, err = run(capsys, "--resume", "../one", "--data", "../other.txt")
    assert status == 2 and "the data changed since ../one was begun (the training part: " in err
    status, _, err = run(capsys, "--resume", "../one", "--data", "moved.txt", "--max-steps", "7")
    assert status == 0, err
    monkeypatch.chdir(here)
    status, out, err = run(capsys, "--resume", "one", "--max-steps", "8")
    assert status == 0 and "going on after step 7" in out, err


def test_fine_tuning_takes_weights_sizes_and_tokens(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, _ = run(capsys, "gru", "--data", "text.txt", *QUICK, "--out", "one")
    (here / "more.txt").write_text("the bird sees cats\n" * 50 + "17\n", encoding="utf-8")
    few = ("--max-steps", "1", "--context", "16")
    status, _, err = run(capsys, "gru", "--from", "one", "--data", "more.txt", *few, "--out", "two")
    assert status == 0 and "from one, step 4: 10 of 10 tensors" in err
    one, two = (Run.open(folder) for folder in ("one", "two"))
    assert two.description.sizes == one.description.sizes
    assert (here / "one/tokenizer.json").read_text() == (here / "two/tokenizer.json").read_text()
    first = read(Path("two/checkpoints/step-00000000")).tensors
    best = one.checkpoint("best").tensors
    assert all(torch.equal(first[n], v) for n, v in best.items() if n.startswith("model/"))
    status, out, err = run(capsys, "--resume", "two", "--max-steps", "2")
    assert status == 0 and "going on after step 1" in out, err
    status, _, err = run(
        capsys, "lstm", "--from", "one", "--data", "more.txt", *few, "--out", "three"
    )
    assert status == 0 and "from one, step 4: 4 of 13 tensors; anew: W^{h,f}" in err
    status, _, err = run(capsys, "gru", "--from", "one", "--data", "more.txt", "--tokens", "bpe")
    assert status == 2 and "leave --tokens out" in err
    (here / "greek.txt").write_text("μῆνιν ἄειδε θεὰ\n" * 50, encoding="utf-8")
    status, _, err = run(capsys, "gru", "--from", "one", "--data", "greek.txt")
    assert status == 2 and "characters to learn from are unknown to one" in err
    status, _, err = run(capsys, "gru", "--from", "on", "--data", "more.txt")
    assert status == 2 and "there is no run on; did you mean one?" in err


def test_fine_tuning_takes_the_model_and_its_positions(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ("--set", "J=8", "--set", "L=1", "--set", "K=2", "--set", "λ=0.2")
    few = ("--max-steps", "1", "--batch-size", "4")
    status, _, _ = run(
        capsys,
        "gpt2",
        "focus",
        "--data",
        "text.txt",
        *few,
        *sizes,
        "--context",
        "16",
        "--out",
        "one",
    )
    assert status == 0
    status, out, err = run(capsys, "--from", "one", "--data", "text.txt", *few, "--out", "two")
    assert status == 0 and "; anew" not in err and "of 4 x 16 tokens" in out, err
    one, two = (Run.open(folder).description for folder in ("one", "two"))
    assert (two.sizes, two.equations) == (one.sizes, one.equations)
    # A cell has no positions, so nothing bounds its rows.
    status, _, err = run(
        capsys,
        "rnn",
        "--from",
        "one",
        "--data",
        "text.txt",
        *few,
        "--context",
        "24",
        "--out",
        "three",
    )
    assert status == 0 and "from one, step 1: 1 of" in err, err


def test_the_model_to_tune_is_a_file_that_is_gone(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.eq").write_text("input x[t,k]\nh[t,j] = tanh(W[j,K] x[t,K])", encoding="utf-8")
    status, _, err = run(capsys, "own.eq", "--data", "text.txt", *QUICK, "--out", "one")
    assert status == 0, err
    Path("own.eq").unlink()
    status, _, err = run(capsys, "--from", "one", "--data", "text.txt", *QUICK, "--out", "two")
    assert status == 0, err
    assert Run.open("two").program.code == Run.open("one").program.code


def test_patience_may_be_given_anew(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = ("--data", "text.txt", *QUICK, "--eval-every", "1", "--optimizer", "adamw")
    status, out, _ = run(
        capsys, "rnn", *quick, "--learning-rate", "50", "--patience", "1", "--out", "one"
    )
    assert status == 0 and "stopped, as validation got no better" in out
    status, out, err = run(capsys, "--resume", "one", "--patience", "9")
    assert status == 0 and "finished after step 4 of 4" in out, err
    assert Run.open("one").description.settings["patience"] == 9


def test_more_steps_need_be_said_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that was stopped on its way to them goes on to them."""
    assert run(capsys, "rnn", "--data", "text.txt", *QUICK, "--out", "a")[0] == 0
    more = ("--resume", "a", "--max-steps", "8")
    assert run(capsys, *more)[0] == 0
    for checkpoint in Path("a/checkpoints").glob("step-00000008*"):
        checkpoint.rename(here / checkpoint.name)
    status, out, err = run(capsys, "--resume", "a")
    assert status == 0 and "finished after step 8 of 8" in out
    assert "steps are done" not in err
    status, _, err = run(capsys, *more)
    assert status == 0 and "all 8 steps are done" in err


def test_a_run_of_standard_input_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its tokens in the cache; without them, with the same text."""
    text = (here / "text.txt").read_bytes()

    def resume(steps: int, piped: bytes, *more: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
        return run(capsys, "--resume", "piped", "--max-steps", str(steps), *more)

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    status, _, _ = run(capsys, "rnn", "--data", "-", *QUICK, "--out", "piped")
    assert status == 0
    assert resume(5, b"")[0] == 0
    (here / "cache").rename(here / "elsewhere")
    status, _, err = resume(6, b"")
    assert (
        status == 2 and "piped was trained on standard input, and its tokens are no longer" in err
    )
    assert "name a file that holds it: --data FILE (standard input is empty" in err
    assert resume(6, text)[0] == 0
    (here / "cache").rename(here / "nowhere")
    assert resume(7, b"", "--data", "text.txt")[0] == 0
    status, _, err = resume(8, b"something else " * 100, "--data", "-")
    assert status == 2 and "the data changed since piped was begun" in err
    assert Run.open("piped").checkpoint("last").step == 7


def test_settings_in_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "run.yaml").write_text(
        "model: rnn\ndata: text.txt\nset: {J: 8}\nmax-steps: 2\ncontext: 16\nout: a\n"
    )
    status, _, _ = run(capsys, "--config", "run.yaml", "--seed", "3")
    assert status == 0
    settings = Run.open("a").description.settings
    assert (settings["seed"], settings["max_steps"], settings["model"]) == (3, 2, ["rnn"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "text.txt"], "name what to train"),
        (["ugrnn"], "name the data to train on: --data PATH"),
        (["ugrn", "--data", "text.txt"], "did you mean ugrnn?"),
        (["ugrnn", "--data", "text.txt", "--device", "gpu"], "--device must be cpu, cuda, cuda:1 or mps"),
        (["ugrnn", "--data", "text.txt", "--precision", "bfloat16", "--device", "cpu"], "is for a GPU"),
        (["ugrnn", "--data", "nothing.txt"], "nothing.txt"),
        (["--resume"], "name the run"),
        (["--resume", "none"], "there is no run none"),
        (["ugrnn", "--data", "text.txt", "--out", "."], "holds other things"),
        (["ugrnn", "--data", "text.txt", "--world-size", "50"], "--world-size is for a built-in world"),
        (["ugrnn", "--data", "text.txt", "--seed", str(2**32)], "--seed takes a number up to 4,294,967,295"),
        (["ugrnn", "--data", "text.txt", "--learning-rate", "0"], "--learning-rate takes a number of at least 1e-12"),
        (["ugrnn", "--data", "text.txt", "--set", "V=5"], "leave it out (how many tokens bpe makes"),
        (["ugrnn", "--data", "text.txt", "--set", "T=5"], "use --context 5"),
        (["ugrnn", "--data", "text.txt", "--set", "J=99999999"], "the memory of this machine holds"),
        (["ugrnn", "--data", "text.txt", "--batch-size", "99999999"], "99,999,999 x 128 tokens is more than"),
        (["ugrnn", "--data", "text.txt", "--context", "9999", "--max-steps", "2"], "give a shorter --context"),
    ],
)  # fmt: skip
def test_calls_that_are_wrong(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == 2 and said in err and not out
    assert not (here / "runs").exists()


def test_what_was_left_out_of_the_data_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "folder").mkdir()
    (here / "text.txt").rename(here / "folder" / "text.txt")
    (here / "folder" / "picture.bin").write_bytes(bytes(range(256)))
    status, _, err = run(capsys, "rnn", "--data", "folder", *QUICK)
    assert status == 0 and "note: 1 file is not text and left out" in err


def test_a_text_too_short_to_learn_from_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "short.txt").write_text("abcde", encoding="utf-8")
    status, _, err = run(capsys, "rnn", "--data", "short.txt", "--max-steps", "2", "--set", "J=8")
    assert status == 0 and "tokens are few to learn from" in err and "--data people" in err
    status, _, err = run(capsys, "rnn", "--data", "text.txt", *QUICK)
    assert status == 0 and "are few" not in err


def test_tensorboard_is_asked_for_before_a_run_is_made(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was begun with it keeps it, or goes on without where it is missing."""
    quick = ("rnn", "--data", "text.txt", *QUICK, "--tensorboard", "--out", "a")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "torch.utils.tensorboard", None)
        status, _, err = run(capsys, *quick)
        assert status == 2 and "pip install 'indicial[tensorboard]'" in err
        assert not (here / "a").exists()
    assert run(capsys, *quick)[0] == 0
    logs = here / "a" / "tensorboard"
    assert len(list(logs.iterdir())) == 1
    assert run(capsys, "--resume", "a", "--max-steps", "5")[0] == 0
    assert len(list(logs.iterdir())) == 2
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    status, _, err = run(capsys, "--resume", "a", "--max-steps", "6")
    assert status == 0 and "note: --tensorboard needs the package tensorboard" in err


def test_the_largest_seed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "rnn", "--data", "text.txt", *QUICK, "--seed", str(2**32 - 1))
    assert status == 0, err


def test_a_closed_output_is_as_ctrl_c(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`indicial train … | head`: what was done is saved, and told where somebody may read it."""
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        status = main(["train", "rnn", "--data", "text.txt", *QUICK, "--max-steps", "9"])
        closed.flush()  # as at the end of the process; nothing is left that could not be written
    assert status == 130 and Run.open("runs/rnn-text-1").checkpoint("last").step == 1
    err = capsys.readouterr().err
    assert "stopped after step 1 of 9" in err and "Broken pipe" in err
    assert "to go on: indicial train --resume runs/rnn-text-1" in err
    monkeypatch.undo()
    monkeypatch.chdir(here)
    status, out, _ = run(capsys, "--resume", "runs/rnn-text-1")
    assert status == 0 and "going on after step 1" in out


@pytest.mark.parametrize(
    ("argument", "meant"),
    [
        ("--batch-sise", "--batch-size"),
        ("--lr", "--learning-rate"),
        ("--epochs", "--max-steps"),
        ("--n_layer", "--set L=4"),
        ("--dropout", "--set p=0.1"),
    ],
)
def test_an_unknown_option_gets_a_suggestion(
    capsys: pytest.CaptureFixture[str], argument: str, meant: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", "ugrnn", argument, "3"])
    assert end.value.code == 2
    assert f"there is no {argument}; did you mean {meant}?" in capsys.readouterr().err


def test_help_fits_and_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    out = capsys.readouterr().out
    assert "indicial train ugrnn --data people" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_new_run_has_a_free_name(here: Path) -> None:
    settings = Settings(model=("my/cell.eq", "focus"), data=("some data/book.txt",))
    assert str(free_folder(settings)) == "runs/cell-focus-book-1"
    (here / "runs/cell-focus-book-1").mkdir(parents=True)
    assert str(free_folder(settings)) == "runs/cell-focus-book-2"


def test_rehearsing_changes_nothing() -> None:
    task = small_task("gpt2", data=small_data(50))
    module = small_module(task)
    before = {n: p.clone() for n, p in module.named_parameters()}
    state = torch.random.get_rng_state()
    assert rehearse(task, module, CHOICES) > 0
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(p, before[n]) for n, p in module.named_parameters())
    assert all(p.grad is None for p in module.parameters())


def test_the_device_that_is_there() -> None:
    assert best_device("cpu") == "cpu"
    for wrong in ("cpu:7", "cpu:0"):
        with pytest.raises(
            IndicialError, match=f"--device {wrong}: there is one cpu; use --device cpu"
        ):
            best_device(wrong)
    if not torch.cuda.is_available():
        with pytest.raises(IndicialError, match="torch finds no such device"):
            best_device("cuda")
