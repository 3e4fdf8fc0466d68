"""States that are matrices: kernels take tiles of them through time, and agree with the oracle."""

from __future__ import annotations

import pytest
from agreeing import Ways, recurrences
from test_kernels_lengths import Ragged

from indicial.compile.native import toolchain
from indicial.compile.native.routine import Tiled
from indicial.program.program import Program

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

TEXTS = {
    "a number": "S[t,i,j] = 0.9 S[t-1,i,j] + k[t,i] v[t,j]\nh[t,j] = q[t,I] S[t,I,j]",
    "a number of the step": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = σ(v[t,j]) q[t,I] S[t,I,j] / (1 + a[t])
    """,
    "one for each key": """
        S[t,i,j] = σ(k[t,i]) S[t-1,i,j] + q[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "one for each value": """
        S[t,i,j] = σ(v[t,j]) S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "one for each element": """
        S[t,i,j] = exp(-softplus(k[t,i]) exp(A[i,j])) S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j] + D[j] v[t,j]
    """,
    "an erased key": """
        S[t,i,j] = S[t-1,i,j] + a[t] k[t,i] (v[t,j] - k[t,I] S[t-1,I,j])
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "an erased key after a decay": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] (v[t,j] - a[t] k[t,I] S[t-1,I,j])
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "a stabilised memory": """
        m[t] = max(a[t] + m[t-1], q[t,0])
        p[t] = exp(q[t,0] - m[t])
        d[t] = exp(a[t] + m[t-1] - m[t])
        S[t,i,j] = d[t] S[t-1,i,j] + p[t] k[t,i] v[t,j]
        n[t,i] = d[t] n[t-1,i] + p[t] k[t,i]
        h[t,j] = q[t,I] S[t,I,j] / max(abs(n[t,I] q[t,I]), 1)
    """,
    "a start": """
        S[-1,i,j] = A[i,j]
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "an erased key and a start": """
        S[-1,i,j] = A[i,j]
        S[t,i,j] = S[t-1,i,j] + a[t] k[t,i] (v[t,j] - k[t,I] S[t-1,I,j])
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "from the end": """
        S[t,i,j] = a[t] S[t+1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "the step before": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = q[t,I] S[t-1,I,j] + k[t,I] q[t,I] v[t,j]
    """,
    "two readers": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        h[t,j] = tanh(q[t,I] S[t,I,j]) + k[t,I] S[t,I,j]
    """,
    "both indices summed": """
        S[t,i,j] = a[t] S[t-1,i,j] + k[t,i] v[t,j]
        n[t] = Σ_{i,j} S[t,i,j] S[t,i,j]
        h[t,j] = q[t,I] S[t,I,j] / √(1 + n[t])
    """,
    "a bounded state": """
        S[t,i,j] = tanh(a[t] S[t-1,i,j] + k[t,i] v[t,j] + B[i])
        h[t,j] = q[t,I] S[t,I,j]
    """,
    "cases": """
        S[t,i,j] = max(a[t] S[t-1,i,j], k[t,i] v[t,j])
        h[t,i] = S[t,i,J] v[t,J]
    """,
    "heads": """
        S[t,n,i,j] = σ(b[n]) S[t-1,n,i,j] + k[t,i] W[n,i] v[t,j]
        h[t,n,j] = q[t,I] S[t,n,I,j]
    """,
    "heads that come together": """
        S[t,n,i,j] = σ(b[n]) S[t-1,n,i,j] + k[t,i] W[n,i] v[t,j]
        h[t,j] = q[t,I] S[t,N,I,j] b[N]
    """,
}


def program(text: str) -> Program:
    inputs = ["q[t,i]", "k[t,i]", "v[t,j]", "a[t]"]
    lines = [line.strip() for line in text.strip().splitlines()]
    made = Program.of_text("\n".join([*(f"input {x}" for x in inputs), *lines]))
    assert not made.errors, made.errors[0].render()
    return made


def ways_of(text: str) -> Ways:
    ways = Ways(program(text).code, ["h"])
    found = [r for r in recurrences(ways.ready.plan) if "h" in "".join(r.outputs)]
    assert any(isinstance(part, Tiled) for r in found for part in r.forward.parts)
    assert all("S" not in r.kept for r in found)
    return ways


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_tiles_agree(text: str) -> None:
    ways = ways_of(text)
    sizes = {**dict.fromkeys(ways.code.sizes, 2), "T": 7, "I": 3, "J": 5}
    ways.agree(sizes, members=2)
    ways.agree({**sizes, "T": 1}, members=1)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_of_different_lengths(text: str) -> None:
    ragged = Ragged(program(text).code, 1)
    ragged.ways = Ways(ragged.code, ["h"])
    ragged.check()
