"""`explain --schedule`: what runs at once, what step by step, by what, and which calls were found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from indicial import library, load
from indicial.cli import main
from indicial.compile.emit.source import emit
from indicial.compile.explain.schedule_page import schedule_page
from indicial.compile.module.sizes import outcomes
from indicial.compile.native import toolchain
from indicial.compile.pipeline import planned
from indicial.compile.schedule.schedule import schedule
from indicial.program.messages import columns
from indicial.program.program import Program

Golden = Callable[[str, str], None]

kernels = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

CUBE = """
input x[r,s,t]
h[r,s,t] = tanh(w_1 h[r-1,s,t] + w_2 h[r,s-1,t] + w_3 h[r,s,t-1] + x[r,s,t])
"""

GRID = """
input x[s,t]
h[s,t] = tanh(w_1 h[s-1,t] + w_2 h[s,t-1] + x[s,t])
"""
LINEAR = """
input x[t,k]
G[t,j] = σ(W[j,K] x[t,K])
h[t,j] = G[t,j] h[t-1,j] + (1-G[t,j]) U[j,K] x[t,K]
"""


DECAY = """
input x[t,k]
g[t,i] = σ(G[i,K] x[t,K])
S[t,i,j] = g[t,i] S[t-1,i,j] + (W[i,K] x[t,K]) (V[j,K] x[t,K])
h[t,j] = (Q[I,K] x[t,K]) S[t,I,j]
"""
EXPERTS = """
input x[t,k]
g[t,e] = C[e,K] x[t,K]
p[t,e] = softmax_{top_k(g[t,e], 2) = 1} g[t,e]
h[t,j] = p[t,E] W[E,j,K] x[t,K]
"""


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDICIAL_NATIVE", "0")


@kernels
@pytest.mark.parametrize(
    "name", ["ugrnn", "gru", "stacked", "transformer", "bahdanau", "language_cnn"]
)
def test_golden(name: str, golden: Golden) -> None:
    golden(f"schedule_{name}.txt", schedule_page(load(name)))


@kernels
def test_a_loop_inside_a_loop(golden: Golden) -> None:
    golden("schedule_grid.txt", schedule_page(Program.of_text(GRID.strip())))


@kernels
def test_a_loop_that_no_kernel_runs(golden: Golden) -> None:
    golden("schedule_cube.txt", schedule_page(Program.of_text(CUBE.strip())))


@kernels
def test_a_linear_recurrence(golden: Golden) -> None:
    golden("schedule_linear.txt", schedule_page(Program.of_text(LINEAR.strip())))


@kernels
def test_a_state_that_fades(golden: Golden) -> None:
    golden("schedule_decay.txt", schedule_page(Program.of_text(DECAY.strip())))


def test_what_is_largest_is_said_as_it_was_written() -> None:
    assert "[top_k(g[t,e], 2) = 1]" in schedule_page(Program.of_text(EXPERTS.strip()))


@pytest.mark.usefixtures("without_kernels")
def test_without_a_compiler(golden: Golden) -> None:
    pages = [schedule_page(p) for p in (load("stacked"), Program.of_text(LINEAR.strip()))]
    golden("schedule_without_kernels.txt", "\n\n\n".join(pages))


@pytest.mark.parametrize("name", library.names())
def test_every_model(name: str) -> None:
    """All equations are there, once, and every line fits."""
    program = load(name)
    page = schedule_page(program)
    lines = page.split("\nlibrary calls")[0].split("\nnear misses")[0].splitlines()
    assert max(columns(line) for line in page.splitlines()) <= 80
    wanted = [program.code.loss] if program.code.loss else outcomes(
        program.code, schedule(program.code)
    )  # fmt: skip
    for step in schedule(program.code, wanted).steps:
        for statement in step.statements():
            left = [line for line in lines if line.lstrip().startswith(f"{statement.target}[")]
            assert left or f"{statement.target} = " in page


@pytest.mark.long
@pytest.mark.usefixtures("without_kernels")
def test_library_calls_of_all_models(golden: Golden) -> None:
    """A pattern that stops matching, or matches something new, shows here."""
    lines = []
    for name in library.names():
        code = load(name).code
        want = [code.loss] if code.loss else list(outcomes(code, schedule(code)))
        ready = planned(code, want)
        found = emit(ready.code, ready.plan, want).findings
        lines += [f"{name}: {f.tensor}: {f}" for f in dict.fromkeys(found)]
    golden("library_calls.txt", "\n".join(lines))


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "rnn", "--schedule"]) == 0
    assert "scanned t forward" in capsys.readouterr().out
    assert main(["explain", "rnn", "--schedule", "--json"]) == 2
    assert "not with --json" in capsys.readouterr().err
    assert main(["explain", "rnn", "--schedule", "--gradient"]) == 2
