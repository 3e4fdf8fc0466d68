"""ONNX files, run by onnxruntime at batches and lengths that were not traced."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from safetensors.numpy import load_file

from indicial import load
from indicial.cli import main
from indicial.designs.hand import hand
from indicial.export import onnx_file
from indicial.export.checking import opened
from indicial.export.onnx_file import OnnxExport, begin_path, export_onnx
from indicial.program.messages import IndicialError
from tests.decode.models import model
from tests.decode.runs import make_run


@pytest.fixture(scope="module")
def lstm(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnnxExport, Path]:
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    return export_onnx(deepcopy(model("lstm+language_model")).float(), path), path


def test_a_recurrence_is_a_scan(lstm: tuple[OnnxExport, Path]) -> None:
    found, path = lstm
    assert found.missing == ()
    assert [file.path.name for file in found.files] == ["model.onnx", "model-step.onnx"]
    made = onnx.load(path)
    onnx.checker.check_model(made, full_check=True)
    assert [node.op_type for node in made.graph.node].count("Scan") == 1


@pytest.mark.parametrize(("batch", "length"), [(1, 1), (4, 2), (2, 19)])
def test_any_batch_and_length(lstm: tuple[OnnxExport, Path], batch: int, length: int) -> None:
    _, path = lstm
    tokens = torch.randint(5, (batch, length))
    with torch.no_grad():
        right = deepcopy(model("lstm+language_model")).float()(w=tokens, want=["P"])["P"]
    (found,) = opened(path).run(None, {"w": tokens.numpy()})
    assert np.allclose(found, right, atol=1e-6)


def test_step_by_step_from_the_file_of_the_beginning(lstm: tuple[OnnxExport, Path]) -> None:
    """What somebody does who has the files and nothing else."""
    _, path = lstm
    step = opened(path.with_name("model-step.onnx"))
    state = load_file(begin_path(path))
    out = state.pop("P")
    tokens = [1, 0, 3, 2, 4]
    with torch.no_grad():
        right = deepcopy(model("lstm+language_model")).float()(
            w=torch.tensor([tokens]), want=["P"]
        )["P"]
    for t, token in enumerate(tokens):
        assert np.allclose(out, right[:, t], atol=1e-6)
        found = step.run(None, {"w": np.array([token]), **state})
        after = {o.name: value for o, value in zip(step.get_outputs(), found, strict=True)}
        out, state = after["P"], {name: after[f"{name}_next"] for name in state}


@pytest.mark.long
def test_attention_is_traced(tmp_path: Path) -> None:
    module = deepcopy(model("transformer", L=1)).float()
    found = export_onnx(module, tmp_path / "model.onnx")
    assert found.missing == ()
    forward, step = found.files
    assert forward.difference < 1e-5 and step.difference < 1e-5
    assert forward.inputs[0].shape == ("batch", "length")
    assert [port.shape[3] for port in step.inputs[1:]] == ["past", "past"]


def test_what_looks_both_ways_needs_a_length(tmp_path: Path) -> None:
    module = deepcopy(model("blank_rnn")).float()
    with pytest.raises(IndicialError) as refused:
        export_onnx(module, tmp_path / "model.onnx")
    without, *_, why, remedy = str(refused.value).splitlines()
    assert without == "nothing could be exported"
    assert why.startswith("  without model.onnx: it goes along the text step by step")
    assert remedy == "    say --length N to have it for texts of exactly N tokens"
    assert not (tmp_path / "model.onnx").exists()


@pytest.mark.long
def test_what_looks_both_ways_has_a_file_for_a_length(tmp_path: Path) -> None:
    module = deepcopy(model("blank_rnn")).float()
    found = export_onnx(module, tmp_path / "model.onnx", length=4)
    assert found.files[0].inputs[0].shape == ("batch", 4)
    assert found.files[0].difference < 1e-5
    assert [missing.name for missing in found.missing] == ["model-step.onnx"]


@pytest.mark.long
def test_a_state_that_grows_needs_a_length(tmp_path: Path) -> None:
    lines = [
        "input w[t] in V",
        "h[t,j] = tanh(e[w[t],j] + Σ_{s < t} a[j] h[s,j])",
        "P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J]",
    ]
    module = load("\n".join(lines)).compile(V=3, J=2)
    found = export_onnx(module, tmp_path / "model.onnx")
    assert [file.path.name for file in found.files] == ["model-step.onnx"]
    (missing,) = found.missing
    assert missing.lines()[1] == "  say --length N to have it for texts of exactly N tokens"
    found = export_onnx(module, tmp_path / "model.onnx", length=3)
    assert found.files[0].inputs[0].shape == ("batch", 3) and found.missing == ()


def test_packages_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = onnx_file.importlib.util.find_spec
    monkeypatch.setattr(
        onnx_file.importlib.util,
        "find_spec",
        lambda name, *more: None if name.startswith("onnx") else there(name, *more),
    )
    run, _ = make_run(tmp_path / "run", "rnn_lm")
    assert main(["export", str(run.folder), "--format", "onnx"]) == 2
    assert "pip install indicial[onnx]" in capsys.readouterr().err


def test_one_head_without_an_axis_for_heads(tmp_path: Path) -> None:
    found = export_onnx(hand("position").compiled(), tmp_path / "head.onnx", length=4)
    assert found.files[0].difference < 1e-5
