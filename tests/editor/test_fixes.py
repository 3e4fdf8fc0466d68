"""What a hint says to write is offered as a change, and the change mends the text."""

import pytest

from indicial.editor.reading import find

CASES = {
    "did you mean": ("input speed[t]\ny[t] = speeed[t] + 1\n", "speeed", "speed"),
    "a name with scripts": (
        "input x[t,k]\ny[t,j] = W_{out}[j,K] x[t,K]\nz[t,j] = W_{otu}[j,K] x[t,K]\n",
        "W_{otu}", "W_{out}",
    ),
    "a word": ("input x[t,k]\nClaim x[t,k]^2 >= 0\n", "Claim", "claim"),
    "a function": ("input x[t]\ny[t] = 2 tnah(x[t] + 1)\n", "tnah", "tanh"),
    "an index": ("input x[t,k]\ny[t,j] = W[j,K] x[T-1,K]\n", "T-1", "t"),
    "a whole read": ("input x[b,t,k]\ny[b,t,j] = W[j,K] x[t,K]\n", "x[t,K]", "x[b,t,K]"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_hint_that_is_a_fix(case: str) -> None:
    text, old, new = CASES[case]
    (wrong,) = [d for d in find(text, "a.eq").diagnostics if d.fix is not None]
    assert wrong.fix is not None
    start, end, put = wrong.fix
    mended = text[:start] + put + text[end:]
    assert mended == text.replace(old, new, 1) if text.count(old) == 1 else new in mended
    assert wrong.code not in [d.code for d in find(mended, "a.eq").diagnostics]


def test_what_does_not_help_is_not_offered() -> None:
    """`did you mean R?`, where R would be wrong as well: the hint is shown, and nothing is changed."""
    text = "input x[t,k]\ny[t] = tanh(x[t], 2)\nz[t] = x[t]\n"
    found = find(text, "a.eq").diagnostics
    assert found
    assert all(d.fix is None for d in found)
