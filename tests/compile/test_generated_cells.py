"""Cells made at random: the interpreter, the emitted loop and the kernels agree.

`INDICIAL_CELLS=200` tries that many; by default there are few, as each costs kernels.
"""

from __future__ import annotations

import os

import pytest
from agreeing import Ways, recurrences
from cells import cell

from indicial.compile.native import routine, toolchain
from indicial.compile.passes.scan import Unsupported
from indicial.compile.schedule.schedule import ScheduleError
from indicial.program.ir import Code
from indicial.program.program import Program

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

COUNT = int(os.environ.get("INDICIAL_CELLS", "12"))
FEW = 6
"""Those of `make test`."""
SIZES = {"T": 5, "J": 3, "K": 2, "N": 4, "V": 5, "L": 2}


def code_of(seed: int) -> Code:
    program = Program.of_text(cell(seed))
    assert not program.errors, cell(seed) + program.errors[0].render()
    return program.code


def ways_of(seed: int) -> Ways:
    """All tensors are wanted of every other cell, so that kernels also have some to themselves."""
    code = code_of(seed)
    names = [name for name in ("h", "c", "o", "d") if code.of(name)]
    return Ways(code, None if seed % 2 else names)


@pytest.mark.parametrize(
    "seed", [*range(FEW), *(pytest.param(n, marks=pytest.mark.long) for n in range(FEW, COUNT))]
)
def test_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routine, "ROWS", seed % 3)  # inside of loops, or before them
    ways = ways_of(seed)
    sizes = {name: SIZES.get(name, 3) for name in ways.code.sizes}
    ways.agree(sizes, members=2, seed=seed)
    ways.agree({**sizes, "T": 1}, members=1, seed=seed)
    if seed % 8 == 0:
        ways.agree(dict.fromkeys(sizes, 1), members=1, seed=seed)


def refusals(ways: Ways) -> list[str]:
    """Why loops over time, or their gradients, have no kernel."""
    found = [reason for _, reason in ways.ready.refused]
    for recurrence in recurrences(ways.ready.plan):
        try:
            recurrence.backward(recurrence.differentiable)
        except (Unsupported, ScheduleError) as reason:
            found.append(f"backwards: {reason}")
    return found


def test_kernels_run_nearly_all_cells() -> None:
    count = max(COUNT, 20)
    refused = {seed: reasons for seed in range(count) if (reasons := refusals(ways_of(seed)))}
    assert len(refused) <= count // 20, refused


def test_attention_over_a_past_that_no_input_enters() -> None:
    text = """
        input x[t,j]
        A[t,r] = softmax_{r < t} h[t-1,J] h[r,J]
        C[t,j] = Σ_{r < t} A[t,r] h[r,j]
        h[t,j] = 0.5 h[t-1,j] + tanh(C[t,j]) b[j] + a[j]
        o[t,j] = h[t,j] + x[t,j]
    """
    program = Program.of_text("\n".join(line.strip() for line in text.strip().splitlines()))
    ways = Ways(program.code, ["h", "o"])
    assert not refusals(ways)
    ways.agree({"T": 5, "J": 3}, members=2)
