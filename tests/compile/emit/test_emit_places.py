"""`argmax` and `argmin` are the places of what `max` and `min` give, at -∞ and with nan too."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from emitting import code, compare, defined, source

from indicial.program.ir import Code
from indicial.program.meaning.interpret import interpret

TEXT = """
input x[t,k]
range Δt = -1..1
a[t] = argmax_k x[t,k]
b[t] = argmin_{k ≥ 1} x[t,k]
d[t] = argmax_{s ≤ t} x[s,0]
f[t] = argmin_{s ≥ t} x[s,1]
g[t] = argmax_{Δt} x[t+Δt,0]
h[t] = argmin_{Δt} x[t+Δt,1]
m[t] = max_{s ≤ t} x[s,0]
n[t] = x[d[t],0]
"""
INF, NAN = float("inf"), float("nan")
ROWS = {
    "-∞": [[-INF, -INF, -INF]],
    "∞": [[INF, INF, INF]],
    "nan": [[NAN, NAN, NAN]],
    "a nan behind": [[1.0, NAN, 2.0]],
    "two rows": [[-INF, INF, -INF], [-INF, INF, INF]],
    "a nan later": [[2.0, 1.0, NAN], [NAN, NAN, 0.0], [3.0, NAN, NAN]],
    "ties": [[1.0, 2.0, 2.0], [1.0, 2.0, 1.0], [0.0, 3.0, 0.0]],
}


def sizes_of(program: Code, steps: int) -> dict[str, int]:
    """No tensor ties the t of d[t] to that of x[t,k]: it has a size of its own."""
    return {name: steps if name.startswith(("T", "S")) else 3 for name in program.sizes}


@pytest.mark.parametrize("name", ROWS)
def test_places(name: str) -> None:
    x = np.array([ROWS[name]])
    program = code(TEXT)
    sizes = sizes_of(program, x.shape[1])
    expected = interpret(program, {"x": x}, {}, sizes=sizes)
    found = source(program).run({}, {"x": torch.tensor(x)}, sizes, {}, {})
    compare(found, {of: expected[of] for of in defined(program)})


def test_the_place_of_a_maximum_has_it() -> None:
    """By another way: what stands at the place is the maximum, nan where that is nan."""
    x = np.array([[-INF, 1, 1], [NAN, -INF, 0], [2, NAN, NAN], [-INF, -INF, -INF]])
    program = code(TEXT)
    sizes = sizes_of(program, 4)
    found = source(program).run({}, {"x": torch.tensor(x[None])}, sizes, {}, {})
    places = found["a"][0].numpy()
    np.testing.assert_array_equal(x[range(4), places], x.max(1))
    assert places.tolist() == [1, 0, 1, 0]
    np.testing.assert_array_equal(found["n"], found["m"])
