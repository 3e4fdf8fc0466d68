"""The arithmetic of the playground is what the interpreter computes of the same equations.

`web/test/attention.json` has cases, each with the equations that the page writes of it and what comes
of them; `web/test/attention.test.ts` compares the page with it, and here the interpreter is.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indicial.library.loading import load

CASES = Path(__file__).resolve().parents[2] / "web" / "test" / "attention.json"
STEP = 1e-5


def computed(text: str, queries: Any = None) -> dict[str, Any]:
    program = load(text)
    assert program.mistakes == []
    if queries is not None:
        lines = [
            f"constant q[m,i] = {queries}" if line.startswith("constant q") else line
            for line in text.splitlines()
        ]
        program = load("\n".join(lines))
    return {name: np.asarray(value) for name, value in program.interpret({}).items()}


@pytest.mark.parametrize("number", range(len(json.loads(CASES.read_text()))))
def test_the_interpreter_says_the_same(number: int) -> None:
    case = json.loads(CASES.read_text())[number]
    found = computed(case["equations"])
    assert np.allclose(found["s"], case["scores"], atol=1e-5)
    assert np.allclose(found["y"], case["output"], atol=1e-5)
    if "α" in found:
        assert np.allclose(found["α"], case["weights"], atol=1e-5)
    # The slope at the first query, by differences.
    queries = case["state"]["queries"]
    for i in range(2):
        moved = [[list(map(float, q)) for q in queries] for _ in range(2)]
        moved[0][0][i] += STEP
        moved[1][0][i] -= STEP
        plus, minus = (computed(case["equations"], q)["c"][0] for q in moved)
        slope = (plus - minus) / (2 * STEP)
        assert np.allclose(slope, [row[i] for row in case["slope"]], atol=1e-4)
