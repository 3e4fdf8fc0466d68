"""The notebook front end, in IPython's own shell."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.utils.capture import capture_output

from indicial.program.program import Program
from tests.shells import fresh_shell, shown

CELL = "input x[t,k]\nh[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])"


@pytest.fixture
def shell() -> Iterator[Any]:
    with fresh_shell() as made:
        yield made


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


def test_claims_of_a_cell_are_tried(shell: Any) -> None:
    (output,) = shown(shell, "%%indicial p\ninput x[n]\ny = Σ_n x[n]^2\nclaim y ≥ 0\nclaim y ≥ 1")
    assert "p:3: claim holds: y ≥ 0" in output["text/plain"]
    assert "error: this claim does not hold" in output["text/plain"]
    assert "border-left" in output["text/html"]


def test_parts_are_read_together(shell: Any) -> None:
    first = "%%indicial shares 1\nconstant M = 3\nα[n] = softmax_n M x[n]"
    (output,) = shown(shell, first)
    assert "α[n] = softmax_n M x[n]" in output["text/plain"]
    assert r"\begin{aligned}" in output["text/html"]
    (output,) = shown(shell, "%%indicial shares 2\nclaim α[n] ≤ M/3")
    assert "shares 2:2: claim holds: α[n] ≤ M/3" in output["text/plain"]
    assert shell.user_ns["shares"].code.tensors["α"].role == "defined"
    (output,) = shown(shell, first.replace("M = 3", "M = 1"))
    (below,) = output["text/plain"].split("This changes in the cells below:")[1:]
    assert "shares 2:2:7: error: this claim does not hold" in below
    assert "This changes in the cells below:" in output["text/html"]


def test_a_cell_of_constants_says_nothing(shell: Any) -> None:
    assert shown(shell, "%%indicial shares 1\nconstant M = 3") == []


def test_a_part_that_is_run_too_early(shell: Any) -> None:
    (output,) = shown(shell, "%%indicial shares 2\nclaim α[n] ≤ 1")
    assert "part 1 of shares must be run first" in output["text/plain"]
    assert "shares" not in shell.user_ns


def test_seed_and_draws(shell: Any) -> None:
    cell = "x[i] ~ N(0, 1)\nclaim x[i]^2 ≥ 0"
    (output,) = shown(shell, f"%%indicial drawn 1 --seed 3 --draws 60\n{cell}")
    assert "least margin" in output["text/plain"] and "60 draws" in output["text/plain"]
    (output,) = shown(shell, f"%%indicial drawn 1 --draws 0\n{cell}")
    assert "name of a variable" in output["text/plain"]


def test_a_line_runs_the_command(shell: Any, tmp_path: Path) -> None:
    path = tmp_path / "a b.eq"
    path.write_text("input x[i]\ny[i] = 2 x[i]\n", encoding="utf-8")
    with capture_output() as captured:
        assert shell.run_cell(f'%indicial check "{path}"').success
        assert shell.run_cell("%indicial chek").success
        assert shell.run_cell("%indicial check 'a").success
    assert "1 equation in 1 program: no mistakes" in captured.stdout
    assert "%indicial cannot read" in captured.stdout
    assert "chek" in captured.stderr
