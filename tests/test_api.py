"""The public interface: it is what docs/api.md says, and has the words of the command line."""

import inspect
import re
from pathlib import Path

import pytest

import indicial
from indicial.cli import _parser
from indicial.program.messages import IndicialError
from indicial.training.settings import Settings

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
CELL = """
input x[t,k]
G[t,j] = σ(W[j,I] h[t-1,I] + U[j,K] x[t,K] - B[j])
h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) tanh(V[j,K] x[t,K])
"""
QUICK = {"data": "village", "world_size": 300, "max_steps": 2, "set": {"J": 8}, "quiet": True}


def test_dir_shows_what_there_is_and_nothing_else() -> None:
    assert {n for n in dir(indicial) if not n.startswith("__")} == set(indicial.__all__)
    for name in indicial.__all__:
        assert getattr(indicial, name).__name__ == name


def test_what_is_computed_is_shown_by_its_shapes() -> None:
    program = indicial.load("y[j] = W[j,I] x[I]\nloss = Σ_j y[j]")
    found = program.interpret({"x": [1, 2, 3]}, {"W": [[1, 2, 3], [4, 5, 6]]})
    assert repr(found) == "Result(y: (2,), loss: ())"


def test_the_page_names_everything() -> None:
    for name in indicial.__all__:
        assert re.search(rf"\b{name}\b", PAGE), name
    for kind in (indicial.Program, indicial.Run, indicial.Design):
        section = PAGE[PAGE.index(f"| of a `{kind.__name__}`") :].split("\n\n")[0]
        for name, _ in inspect.getmembers(kind, callable):
            named = name.startswith("_") or name in INTERNAL
            assert named or re.search(rf"\b{name}\b", section), f"{kind.__name__}.{name}"


INTERNAL = {
    "as_filling", "claimed", "codings", "create", "judged", "keep_setting", "mend", "mended", "number",
    "of_text", "open", "silenced",
}  # fmt: skip
"""For the package itself; `Run.open` stands in the text of the page."""


@pytest.mark.parametrize("command", ["train", "generate", "evaluate", "compare", "design"])
def test_a_command_is_a_function_of_that_name(command: str) -> None:
    commands = next(a for a in _parser()._actions if a.dest == "command").choices
    assert command in commands and command in indicial.__all__


def test_a_program_is_trained_and_the_run_speaks(tmp_path: Path) -> None:
    told: list[int] = []

    class Counting(indicial.training.watchers.Watcher):
        def stepped(self, report: object) -> None:
            told.append(report.step)

    run = indicial.train(indicial.load(CELL), out=tmp_path / "a", watchers=[Counting()], **QUICK)
    assert told == [1, 2]
    assert run.summary.reason == "finished" and run.summary.folder == tmp_path / "a"
    (text,) = run.generate("the", max_new_tokens=3, temperature=0)
    (again,) = indicial.generate(tmp_path / "a", "the", max_new_tokens=3, temperature=0)
    assert str(text) == str(again) and str(text).startswith("the")
    one = run.evaluate("village", sentences=20)
    assert one.scores == indicial.evaluate(str(tmp_path / "a"), "village", sentences=20).scores
    assert run.trace("h", "the dog")["h"].shape[1] == 8
    on = indicial.train(resume=run, max_steps=3, quiet=True)
    assert on.summary.step == 3 and on.folder == run.folder


def test_fine_tuning_uses_the_equations_that_the_run_keeps(tmp_path: Path) -> None:
    path = tmp_path / "cell.eq"
    path.write_text(CELL + "constant λ = 1\n", encoding="utf-8")
    first = indicial.train(path, out=tmp_path / "first", **QUICK)
    path.unlink()
    tuned = indicial.train(from_=first, out=tmp_path / "tuned", **{**QUICK, "set": {}})
    assert tuned.program.code == first.program.code
    assert tuned.description.sizes == first.description.sizes


def test_settings_are_those_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(IndicialError, match="there is no setting batchsize; did you mean batch-si"):
        indicial.train("rnn", data="village", batchsize=3)
    with pytest.raises(IndicialError, match="--batch-size takes a whole number"):
        indicial.train("rnn", data="village", batch_size=1.5)
    with pytest.raises(IndicialError, match="name the data to train on"):
        indicial.train("rnn")
    config = tmp_path / "run.yaml"
    config.write_text("data: village\nworld-size: 300\nmax-steps: 2\nset: {J: 8}\n")
    run = indicial.train("rnn", config=config, max_steps=1, out=tmp_path / "r", quiet=True)
    assert run.summary.step == 1
    assert Settings.kept(run.description.settings).world_size == 300


def test_designs_and_models_are_compared_by_one_word() -> None:
    hand = indicial.design("position")
    assert str(indicial.compare(hand, "position")) == str(hand.compare(hand))
    with pytest.raises(IndicialError, match="seeds is not for this"):
        indicial.compare(hand, hand, seeds=2)
    with pytest.raises(IndicialError, match="text is for two designs"):
        indicial.compare("rnn", "gru", text="ABC", data="village")
    with pytest.raises(IndicialError, match="neither a design nor a run"):
        indicial.compare(hand, "gru")
