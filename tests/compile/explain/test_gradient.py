"""`explain --gradient`: equations that read like those of a text, and that a text could hold."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from indicial import library, load
from indicial.cli import main
from indicial.compile.explain.blackboard import equation
from indicial.compile.explain.gradient import folded, gradient
from indicial.notation.parse import parse_text
from indicial.program.messages import columns
from indicial.program.program import Program

Golden = Callable[[str, str], None]


@pytest.mark.parametrize(
    "name", ["ugrnn", "gru", "lstm", "rnn_lm", "self_attention", "transformer", "stacked", "near"]
)
def test_golden(name: str, golden: Golden) -> None:
    golden(f"gradient_{name}.txt", gradient(load(name)))


def equations(page: str) -> list[str]:
    """The equations of a page, each in one line."""
    body = page.split("outside its range", 1)[-1]
    return [line.strip() for line in re.sub(r"\n {6}", " ", body).splitlines() if line[:2] == "  "]


@pytest.mark.parametrize("name", library.names())
def test_every_model(name: str) -> None:
    page = gradient(load(name))
    assert max(columns(line) for line in page.splitlines()) <= 80
    found = equations(page)
    assert found
    for line in found:
        parsed = parse_text(line)
        assert (len(parsed.statements), parsed.faults, parsed.skipped) == (1, (), ()), line


def test_each_parameter_comes_last_and_once() -> None:
    page = gradient(load("lstm"))
    last = page.split("parameters\n")[1].splitlines()
    parameters = [n for n, t in load("lstm").code.tensors.items() if t.role == "parameter"]
    assert len(last) == len(parameters)
    assert all("Σ_t" in line for line in last)


def test_a_start_is_said_once() -> None:
    page = gradient(load("rnn_lm"))
    assert len(re.findall(r"^  h̄\[", page, re.MULTILINE)) == 1
    assert "h̄^{start}[j] = h̄[-1,j]" in page


def test_nothing_to_change() -> None:
    page = gradient(Program.of_text("input w[t] in V\nn[t] = w[t] + 1"))
    assert "there is no gradient" in page


def shown(text: str) -> str:
    (statement,) = Program.of_text(text).code.statements
    return equation(statement)


@pytest.mark.parametrize(
    "line",
    [
        "y[t,j] = W[j,I] x[t-1,I] - B[j]",
        "y[t,j] = x[t,j]^2 + 1/2 x[0,j]",
        "y[t,j] = Σ_{s,s<t} x[s,j]",
        "y[t] = max_j x[t,j]",
        "y[t,j] = softmax_j x[t,j]",
        "y[t,j] = cases { x[t,j] if t > 0, 2 otherwise }",
        "y[t,j] = 1/sqrt(J) tanh(x[t,j] x[t,0])",
        "y[t] = Σ_j x[t,j]^2",
        "y[t,j] = -(U[j,I] x[t,I]) x[t,j] (V[j,I] x[t,I])",
    ],
)
def test_what_is_written_reads_as_it_was(line: str) -> None:
    assert shown(f"input x[t,j]\n{line}") == line


def test_lines_break_between_terms() -> None:
    lines = folded("y[t] = " + " + ".join(f"W[J,j] x_{n}[t+1,J]" for n in range(6)), 40)
    assert all(columns(line) <= 40 for line in lines)
    assert all(line.lstrip().startswith("+ ") for line in lines[1:])


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "rnn", "--gradient"]) == 0
    assert "step by step, t downwards" in capsys.readouterr().out
    assert main(["explain", "rnn", "--gradient", "--json"]) == 2
    assert "not with --json" in capsys.readouterr().err


def test_it_needs_no_torch() -> None:
    program = (
        "import sys; from indicial.cli import main; main(['explain', 'rnn', '--gradient']); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
