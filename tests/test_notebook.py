"""The notebook front end, in IPython's own shell."""

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from indicial.program.program import Program

CELL = "input x[t,k]\nh[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])"


@pytest.fixture
def shell() -> Iterator[Any]:
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.history_manager.enabled = False
    with capture_output():
        result = made.run_cell("%load_ext indicial")
    assert result.success
    yield made
    InteractiveShell.clear_instance()


def shown(shell: Any, cell: str) -> list[dict[str, str]]:
    with capture_output() as captured:
        assert shell.run_cell(cell).success
    return [output.data for output in captured.outputs]


def test_a_cell_defines_a_program(shell: Any) -> None:
    (output,) = shown(shell, f"%%indicial cell\n{CELL}")
    assert isinstance(shell.user_ns["cell"], Program)
    assert r"\begin{aligned}" in output["text/html"]
    assert "h[t,j] = tanh" in output["text/plain"]


def test_without_a_name_it_is_program(shell: Any) -> None:
    shown(shell, f"%%indicial\n{CELL}")
    assert list(shell.user_ns["program"].code.tensors)[:2] == ["x", "h"]


def test_latex_needs_no_declarations(shell: Any) -> None:
    shown(shell, "%%indicial p\n$$y[j] = \\tanh(W[j,I] x[I])$$")
    assert shell.user_ns["p"].code.tensors["x"].role == "input"


def test_mistakes_keep_their_carets_and_define_nothing(shell: Any) -> None:
    (output,) = shown(shell, "%%indicial bad\ninput x[t,k]\nh[t,j] = W[j,K] x[t]  # a < b & c")
    assert "bad" not in shell.user_ns
    assert "<pre" in output["text/html"] and "^" in output["text/html"]
    assert "a &lt; b &amp; c" in output["text/html"]


def test_a_name_that_is_none(shell: Any) -> None:
    for name in ("two words", "for", "3"):
        (output,) = shown(shell, f"%%indicial {name}\n{CELL}")
        assert "name of a variable" in output["text/plain"]


def test_an_empty_cell(shell: Any) -> None:
    (output,) = shown(shell, "%%indicial\n# nothing here")
    assert "no equation" in output["text/plain"]


def test_what_is_no_equation_is_said_to_be_skipped(shell: Any) -> None:
    (output,) = shown(shell, "%%indicial none\nx[t] < 1")
    assert "none" not in shell.user_ns
    assert "no equation" in output["text/plain"]


def test_programs_show_themselves_typeset(shell: Any) -> None:
    shown(shell, f"%%indicial cell\n{CELL}")
    formats, _ = shell.display_formatter.format(shell.user_ns["cell"])
    assert formats["text/latex"].startswith("$$\n\\begin{aligned}")
    assert "&amp;=" in formats["text/html"]
    assert "input" not in formats["text/latex"]
