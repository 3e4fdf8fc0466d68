"""The texts of a program, kept so that they read the same where nothing else is."""

import json
from pathlib import Path

import pytest

import indicial
from indicial import library
from indicial.library import loading
from indicial.program.messages import IndicialError
from indicial.training.equations import Equations

DOCUMENT = """
# First
$$\\newcommand{\\x}{x[t,K]}$$
$$y[t,j] = W[j,K] \\x$$
# Second
$$z[t,i] = \\tanh(y[t,i])$$
"""


def there_and_back(program: indicial.Program) -> Equations:
    texts = Equations.from_json(json.loads(json.dumps(Equations.of(program).to_json())))
    again = texts.program()
    assert again.code == program.code
    assert again.title == program.title
    return texts


@pytest.mark.parametrize("name", ["gpt2", "ugcnn"])
def test_library(name: str) -> None:
    texts = there_and_back(indicial.load(name))
    written = library.path(name).read_text(encoding="utf-8")
    assert texts.texts == ((f"{name}.eq", written),)


def test_joined_and_filled() -> None:
    program = indicial.load("stacked", "L_x = 2", fills={"CELL": "gru"})
    texts = there_and_back(program)
    assert [name for name, _ in texts.texts] == ["stacked.eq", "text.eq"]
    assert texts.fills == {"CELL": "gru"}


def test_it_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells come from what was kept, also if the library has another one by now, or none."""
    program = indicial.load("stacked", fills={"CELL": "gru"})
    code = program.code
    texts = Equations.of(program)
    monkeypatch.setattr(library, "names", lambda: [])
    monkeypatch.setattr(loading, "resolve", lambda name: None)
    assert texts.program().code == code


def test_constants() -> None:
    text = "input x[t]\nconstant λ = 0.5\ny[t] = λ x[t]"
    program = indicial.load(text, constants={"λ": 0.25})
    texts = there_and_back(program)
    assert (texts.constants, texts.texts) == ({"λ": "0.25"}, (("text.eq", text),))
    assert program.code != indicial.load(text).code


def test_documents(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(DOCUMENT, encoding="utf-8")
    texts = there_and_back(indicial.load(path))
    assert texts.document
    assert texts.texts == (("notes.md", DOCUMENT),)  # no folders of this machine


def test_a_part_of_a_document_is_kept_as_it_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(DOCUMENT.replace("y[t,i]", "x[t,i]"), encoding="utf-8")
    second = indicial.load_document(path)[1]
    assert [
        s.tensor for t in second.code.statements for s in [t.body] if hasattr(s, "tensor")
    ] == []
    texts = there_and_back(second)
    assert [name for name, _ in texts.texts] == ["equations.eq"]
    assert "x[t,i]" in texts.texts[0][1] and "W" not in texts.texts[0][1]


def test_what_does_not_check_is_not_kept() -> None:
    with pytest.raises(IndicialError):
        Equations.of(indicial.load("y[t,j] = z[t,j] +"))
