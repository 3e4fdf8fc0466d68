"""`model.py` beside the module it came from, in a Python that has no Indicial."""

import json
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch

from indicial import load
from indicial.cli import main
from indicial.compile.module.module import ProgramModule
from indicial.designs.hand import hand
from indicial.export.checking import check_torch, read_model
from indicial.export.torch_file import export_torch, torch_file
from indicial.program.messages import IndicialError
from tests.compile.module.modules import random
from tests.decode.models import model
from tests.decode.runs import make_run

MODELS = [
    "rnn_lm", "trigram", "causal_cnn", "transformer", "gpt2", "lstm+language_model",
    "stacked+language_model_stack",
]  # fmt: skip

ALONE = """
import json, sys
sys.path = [p for p in sys.path if p]
sys.modules["indicial"] = None          # an import of it fails
import torch
sys.path.insert(0, sys.argv[1])
from model import Model
made = Model(sys.argv[1] + "/model.safetensors")
tokens = torch.tensor(json.loads(sys.argv[2]))
with torch.no_grad():
    P, loss = made(tokens), made.loss(tokens)
    state, out = made.begin(len(tokens))
    steps = [out]
    for t in range(tokens.shape[1] - 1):
        state, out = made.step(state, tokens[:, t])
        steps.append(out)
print(json.dumps({"P": P.tolist(), "loss": loss.item(), "steps": torch.stack(steps, 1).tolist()}))
"""


@pytest.mark.parametrize("name", MODELS)
def test_file_gives_what_the_module_gives(name: str, tmp_path: Path) -> None:
    module = single(name)
    made = export_torch(module, tmp_path / "model.py")
    exported = read_model(tmp_path / "model.py")
    tokens = torch.randint(5, (3, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        right = module(w=tokens, want=["P"])["P"]
        assert torch.allclose(exported(tokens), right, atol=1e-6)
        assert torch.allclose(exported.loss(tokens), module(w=tokens).loss, rtol=1e-6)
        state, out = exported.begin(3)
        for t in range(9):
            assert torch.allclose(out, right[:, t], atol=1e-6)
            state, out = exported.step(state, tokens[:, t])
    assert check_torch(module, made, tmp_path / "model.py") < 1e-5


def test_runs_where_there_is_no_indicial(tmp_path: Path) -> None:
    module = single("lstm+language_model")
    export_torch(module, tmp_path / "model.py")
    tokens = [[1, 0, 3, 2], [4, 4, 1, 0]]
    found = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path), json.dumps(tokens)],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    told = json.loads(found.stdout)
    with torch.no_grad():
        right = module(w=torch.tensor(tokens), want=["P", "loss"])
    assert np.allclose(told["P"], right["P"], atol=1e-6)
    assert np.allclose(told["steps"], right["P"], atol=1e-6)
    assert np.isclose(told["loss"], right.loss, rtol=1e-6)


def test_gradients_are_the_modules(tmp_path: Path) -> None:
    module = single("rnn_lm")
    export_torch(module, tmp_path / "model.py")
    exported = read_model(tmp_path / "model.py")
    tokens = torch.randint(5, (3, 9))
    module(w=tokens).loss.backward()
    exported.loss(tokens).backward()
    for key, parameter in module.named_parameters():
        assert torch.allclose(parameter.grad, exported.get_parameter(key).grad, atol=1e-6), key


def test_too_long_a_text_is_refused() -> None:
    with pytest.raises(ValueError, match="T is 40 at most"):
        space: dict[str, object] = {}
        exec(torch_file(single("transformer")).text, space)
        space["Model"]()(torch.zeros(1, 41, dtype=torch.long))  # type: ignore[operator]


def test_a_model_without_steps_says_why() -> None:
    made = torch_file(random(load("bidirectional").compile(sizes={"J": 2, "K": 3})))
    assert isinstance(made.steps, str) and "\n" not in made.steps
    assert re.search(r"looks ahead at \S+ \[looks-ahead\]$", made.steps)  # whole, though it is long
    assert "def step(" not in made.text


def test_damaged_weights_are_noticed(tmp_path: Path) -> None:
    module = single("rnn_lm")
    made = export_torch(module, tmp_path / "model.py")
    with torch.no_grad():
        next(module.parameters()).add_(1)
    with pytest.raises(IndicialError, match="other numbers"):
        check_torch(module, made, tmp_path / "model.py")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, _ = make_run(tmp_path / "run", "rnn_lm")
    assert main(["export", str(run.folder), "--format", "torch"]) == 0
    told = capsys.readouterr().out
    assert "Model.forward(w) → P" in told and "Model.step(state, w) → state, P" in told
    assert "it was run: its numbers differ" in told
    assert (run.folder / "model.safetensors").is_file()
    assert main(["export", str(run.folder), "--format", "torch", "--length", "3"]) == 2


def single(name: str) -> ProgramModule:
    """A small model in 32 bits, with distributions that are far from even."""
    return deepcopy(model(name)).float()


def test_a_design_is_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design = hand("position")
    saved = design.save(tmp_path / "mine.json")
    assert main(["export", str(saved), "--format", "torch"]) == 0
    assert "Model.forward(w) → y" in capsys.readouterr().out
    made = read_model(tmp_path / "mine.py")
    with torch.no_grad():
        found = made(torch.tensor([[1, 2, 0]]))
    np.testing.assert_allclose(found[0], design.run("BCA")["y"], atol=1e-5)
    assert main(["export", str(saved), "--format", "torch", "--checkpoint", "last"]) == 2
    assert main(["export", str(tmp_path / "positon"), "--format", "torch"]) == 2
