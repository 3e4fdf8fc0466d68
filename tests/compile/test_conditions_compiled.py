"""Conditions and powers of indices, compiled: the interpreter, the loop and kernels agree."""

from __future__ import annotations

import pytest
from agreeing import Ways

from indicial.compile.native import toolchain
from indicial.program.program import Program

PROGRAMS = {
    "and, or, not": "y[t] = x[t] [t ≤ 2 and not x[t] > 0 or t = 4]",
    "not of a value": "y[t] = Σ_{s ≤ t and not x[s] = x[t]} x[s]",
    "or below a softmax": "y[t] = Σ_s a[t,s] x[s]\na[t,s] = softmax_{s ≤ t or s = 3} x[s] x[t]",
    "not below a softmax": "y[t] = Σ_s a[t,s] x[s]\na[t,s] = softmax_{s ≤ t and not s = 1} x[s] x[t]",
    "a product with a condition": "y[t] = M [t = 2] x[t] + c [not t < 2]",
    "a decay": "y[t] = Σ_{t' ≤ t} σ(c)^(t-t') x[t']",
    "a power of time": "constant a = 0.9\ny[t] = x[t] a^(t-1) + a^{T-t}",
    "in a recurrence": "y[t] = c y[t-1] + x[t] [not (t = 1 or x[t] > 0) and t < 4] + 0.5^(t+1)",
}


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_ways_agree(name: str) -> None:
    program = Program.of_text(f"input x[t]\n{PROGRAMS[name]}")
    assert not program.errors, program.errors[0].render()
    Ways(program.code, ["y"]).agree({"T": 6}, members=2)
